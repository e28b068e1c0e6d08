"""Fragments of a result by `stmatrix`: rounded, in pairs, to the lines that lanes name.

Where lines start is computed as for `ldmatrix`, see `helpers.matrix_load`: layout o (origin + lines).
"""

from __future__ import annotations

from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, LANES, SharedTile, StoreMatrix
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import MatrixStore
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.matrix_load import MATRICES, SHARED_ADDRESS, chunks_named, lines_named, places_in_c
from polyvolta.cuda.text.helpers.shared import LANE, extents, layout_name, shown
from polyvolta.cuda.text.helpers.values import ROUND_HALF2, declared, word


@lru_cache(maxsize=16)
def instruction(store: MatrixStore, count: int, transposed: bool) -> DeviceFunction:
    """The instruction: a register of each matrix to the lines that the warp's lanes name."""
    names = [f"r{n}" for n in range(count)]
    ins = ", ".join(f'"r"({name})' for name in names)
    braces = "{" + ", ".join(f"%{n}" for n in range(1, count + 1)) + "}"
    turned = "" if not transposed else ", transposed" if count == 1 else ", each transposed"
    matrix = "it" if count == 1 else "matrix l / 8"
    naming = f"; lane l{f' < {count * CHUNK}' * (count * CHUNK < LANES)} names line l % 8 of {matrix}"
    return DeviceFunction(
        f"store_matrix_x{count}{'_transposed' if transposed else ''}",
        "void",
        ("unsigned line", *(f"unsigned {name}" for name in names)),
        (
            f'asm volatile("{store.name(count, transposed)} [%0], {braces};"',
            f'             :: "r"(line), {ins} : "memory");',
        ),
        f"{MATRICES[count]} to shared memory{turned}, a register of each{naming}",
    )


def store_matrix(tile: SharedTile, op: StoreMatrix, kind: str, steps: tuple[int, ...]) -> DeviceFunction:
    """The store of one fragment: layout o (origin + lines), one instruction after the other.

    Parameters
    ----------
    kind : of the values, "half" or "float".
    steps : the origin's coordinates are multiples of these.
    """
    how = (op.store, op.count, op.transposed)
    return _store_matrix(tile.layout, tile.order, op.ownership, op.lines, *how, kind, steps)


@lru_cache(maxsize=256)
def _store_matrix(
    layout: IndexMap, order: tuple[int, ...], ownership: IndexMap, lines: IndexMap, store: MatrixStore, count: int,
    transposed: bool, kind: str, steps: tuple[int, ...],
) -> DeviceFunction:  # fmt: skip
    names = tuple(n for n, _ in layout.inputs)
    line, run = (names[d] for d in order)
    ranges = {**LANE, line: (0, None), run: (0, None)}
    values = ownership.inputs[1][1]
    made, places = places_in_c([p.scaled(CHUNK_BYTES) for p in chunks_named(layout, lines, steps)], ranges)
    single, float_ = instruction(store, count, transposed), kind == "float"
    for n, place in enumerate(places):
        pairs = range(2 * count * n, 2 * count * (n + 1), 2)
        registers = (f"round_half2(v[{i}], v[{i + 1}])" if float_ else word("v", i, i + 1, values) for i in pairs)
        made.append(f"{single.name}({place}, {', '.join(registers)});")
    given = declared("&v", values)
    given = given if "[" not in given else declared("(&v)", values)
    size = "x".join(map(str, extents(ownership)))
    where = "the line" if len(places) == 1 else "in store n the line"
    return DeviceFunction(
        f"store_fragment_{layout_name(order)}_swizzled",
        "void",
        ("half8 *tile", f"int {line}", f"int {run}", f"const float (&v)[{values}]" if float_ else f"const {given}",
         "int lane"),
        tuple(made),
        f"the lane's part of the {size} fragment at [{', '.join(names)}]{', rounded to fp16' * float_}, value n of it"
        f" at\n{shown(ownership, names)}\nfor it the lane names {where} that starts at\n{lines_named(lines, names)}",
        (SHARED_ADDRESS, *((ROUND_HALF2,) if float_ else ()), single),
    )  # fmt: skip
