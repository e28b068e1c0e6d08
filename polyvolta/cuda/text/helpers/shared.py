"""Shared-memory tiles: the swizzled store of a chunk and the load of an operand fragment.

Which chunk an element lies in is the tile's layout; which elements a lane wants is the fragment's ownership map. The
index that a load prints is their composition, simplified under what is known: lanes go from 0 to 31, and a
fragment's origin is a multiple of its extents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES, SharedTile
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.text.c_expr import c_expr, in_steps, narrowed
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.values import VECTORS, declared, vector
from polyvolta.sets import Aff, var
from polyvolta.sets.values.simplify import Range, simplify

LANE = {"lane": (0, LANES - 1)}


def layout_name(order: tuple[int, ...]) -> str:
    """ "row" when the last dimension is contiguous, else "col"."""
    return "row" if order[-1] == len(order) - 1 else "col"


def store(tile: SharedTile, operand: str) -> DeviceFunction:
    """The store of one chunk."""
    return _store(tile.layout, tile.order, operand)


@lru_cache(maxsize=256)
def _store(layout: IndexMap, order: tuple[int, ...], operand: str) -> DeviceFunction:
    line, run, chunk, ranges = chunk_at(layout, order)
    return DeviceFunction(
        f"store_shared_{operand}_{layout_name(order)}_swizzled",
        "void",
        ("half8 *tile", "half8 v", f"int {line}", f"int {run}"),
        (f"tile[{c_expr(chunk, ranges)}] = v;",),
        f"the chunk that starts at [{line}, {run}] of the tile:\n{layout}",
    )


def load(tile: SharedTile, operand: str) -> DeviceFunction:
    """The load of one chunk."""
    return _load(tile.layout, tile.order, operand)


@lru_cache(maxsize=256)
def _load(layout: IndexMap, order: tuple[int, ...], operand: str) -> DeviceFunction:
    line, run, chunk, ranges = chunk_at(layout, order)
    return DeviceFunction(
        f"load_shared_{operand}_{layout_name(order)}_swizzled",
        "half8",
        ("const half8 *tile", f"int {line}", f"int {run}"),
        (f"return tile[{c_expr(chunk, ranges)}];",),
        f"the chunk that starts at [{line}, {run}] of the tile:\n{layout}",
    )


def chunk_at(layout: IndexMap, order: tuple[int, ...]) -> tuple[str, str, Aff, Mapping[str, Range]]:
    """The names of a chunk's line and of its run, the chunk at these, and the range of each."""
    names = tuple(n for n, _ in layout.inputs)
    line, run = (names[d] for d in order)
    ranges: dict[str, Range] = {line: (0, None), run: (0, None)}
    return line, run, narrowed(in_steps(layout["chunk"], {run: CHUNK}, layout.ranges), ranges), ranges


def fragment_load(
    tile: SharedTile, operand: str, ownership: IndexMap, access: int, steps: tuple[int, ...]
) -> DeviceFunction:
    """The load of one operand fragment: layout o (origin + ownership), `access` values at a time.

    Parameters
    ----------
    steps : the origin's coordinates are multiples of these.
    """
    return _fragment_load(tile.layout, tile.order, operand, ownership, access, steps)


@lru_cache(maxsize=256)
def _fragment_load(
    layout: IndexMap, order: tuple[int, ...], operand: str, ownership: IndexMap, access: int, steps: tuple[int, ...]
) -> DeviceFunction:
    names = tuple(n for n, _ in layout.inputs)
    line, run = (names[d] for d in order)
    values = ownership.inputs[1][1]
    ranges = {**LANE, line: (0, None), run: (0, None)}
    at = []
    for first in range(0, values, access):
        own = {n: simplify(e.subs({"i": first}), LANE) for n, e in zip(names, ownership.exprs)}
        place = layout["chunk"]
        if access < CHUNK:
            place = CHUNK // access * place + var(run) // access % (CHUNK // access)
        at.append(narrowed(in_steps(place, dict(zip(names, steps)), LANE, own), ranges))
    base, index = _split(at, ranges)
    kind = VECTORS[access]
    tile = "tile" if access == CHUNK else f"(const {kind} *)tile"
    lines = [f"const {kind} *part = {tile} + {base};"] if base else [f"const {kind} *part = {tile};"]
    each = vector(values)
    single = values == each
    accesses = each // access  # of a vector
    for k in range(values // each):
        loaded = [f"part[{p}]" for p in index[k * accesses : (k + 1) * accesses]]
        more, made = _joined(loaded, each, access, "" if single else str(k))
        lines += [*more, f"v{'' if single else f'[{k}]'} = {made};"]
    size = "x".join(map(str, extents(ownership)))
    return DeviceFunction(
        f"hmma_load_{operand}_{layout_name(order)}_swizzled",
        "void",
        (declared("&v" if single else "(&v)", values), "const half8 *tile", f"int {line}", f"int {run}", "int lane"),
        tuple(lines),
        f"the lane's part of the {size} fragment at [{', '.join(names)}], value n of it at\n{shown(ownership, names)}",
    )


def _joined(loaded: Sequence[str], each: int, access: int, number: str) -> tuple[list[str], str]:
    """Statements and the expression that make a vector of `each` values of what accesses of `access` values loaded."""
    if each == access:
        return [], loaded[0]
    if access == 4:
        low, high = loaded
        names = f"low{number}", f"high{number}"
        return [f"const half4 {names[0]} = {low}, {names[1]} = {high};"], (
            f"make_uint4({', '.join(f'{n}.{x}' for n in names for x in 'xy')})"
        )
    pairs = loaded if access == 2 else [f"{low} | {high} << 16" for low, high in zip(loaded[::2], loaded[1::2])]
    return [], pairs[0] if each == 2 else f"make_uint{each // 2}({', '.join(pairs)})"


def shown(ownership: IndexMap, names: Sequence[str]) -> IndexMap:
    """An ownership map in the names of the tile's dimensions."""
    (lane, (_, values)) = ownership.inputs
    outputs = tuple((f"+{n}", e.subs({"i": var("n")})) for n, e in zip(names, ownership.exprs))
    return IndexMap((lane, ("n", values)), outputs)


def _split(at: Sequence[Aff], ranges: Mapping[str, Range]) -> tuple[str, list[str]]:
    """Indices as C, in two parts: what depends on the lane, if it is the same for all, and what does not.

    The first part is one address a thread, the second one a constant wherever a loop is unrolled.
    """
    parts = {_with_lane(e) for e in at}
    if len(parts) > 1:
        return "", [c_expr(e, ranges) for e in at]
    (lane,) = parts
    return c_expr(lane, ranges), [c_expr(e - lane, ranges) for e in at]


def _with_lane(e: Aff) -> Aff:
    """The terms that depend on the lane."""
    return Aff(tuple((a, c) for a, c in e.terms if "lane" in Aff(((a, c),)).names()))


@lru_cache(maxsize=256)
def extents(ownership: IndexMap) -> tuple[int, ...]:
    """How far a fragment goes in each dimension."""
    (lane, lanes), (value, values) = ownership.inputs
    places = [ownership.evaluate({lane: at, value: n}) for at in range(lanes) for n in range(values)]
    return tuple(1 + max(xs) for xs in zip(*places, strict=True))
