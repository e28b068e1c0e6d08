"""Mutants of the copies: too short, twice, in a bad order, without their guards, astray in memory or in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    LANES,
    Element,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    KernelIR,
    Pointwise,
    SharedStore,
    Stmt,
    When,
)
from polyvolta.cuda.ir.walk import IrPath, operations, put
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, edited, in_k_loops, places
from polyvolta.sets import Aff, aff, var

SHARED = (SharedStore, FragmentLoad)
FIRST_BLOCK = {f"blockIdx.{axis}": 0 for axis in "xyz"}


@dataclass(frozen=True, slots=True)
class _Copy:
    """The copy of the first tile that is stored to: mutants of one copy break that one.

    Parameters
    ----------
    array : the registers through which it goes.
    line : the dimension of the tile across its lines, `lines` of them of `width` chunks each.
    loads, stores : where its operations are.
    """

    array: str
    line: int
    lines: int
    width: int
    loads: tuple[IrPath, ...]
    stores: tuple[IrPath, ...]


def _first_copy(ir: KernelIR) -> _Copy:
    found = next((op for op in operations(ir.body) if isinstance(op, SharedStore)), None)
    tile = ir.tile(found.tile) if found else None
    if found is None or tile is None or tile.layout is None:
        raise NothingToBreak(f"{ir.name} has no copies to shared memory", where=ir.about)
    array, (line, run) = found.source.array, tile.order
    loads = in_k_loops(ir, GlobalLoad, where=lambda op: op.target.array == array)
    stores = places(ir, SharedStore, where=lambda op: op.tile == tile.name)
    size = [extent for _, extent in tile.layout.inputs]
    return _Copy(array, line, size[line], size[run] // CHUNK, tuple(loads), tuple(stores))


def _row_short(ir: KernelIR) -> KernelIR:
    """The threads that hold the last line of a tile don't store it."""
    copy = _first_copy(ir)
    condition = lambda s: copy.lines - 2 - s.index[copy.line]  # noqa: E731
    return edited(ir, copy.stores, lambda s: (When((condition(s),), (s,), uniform=False),))


def _row_not_loaded(ir: KernelIR) -> KernelIR:
    """The threads that are to load the last line of a tile's tensor don't."""
    copy = _first_copy(ir)
    condition = lambda s: copy.lines - 2 - s.index[copy.line].subs(FIRST_BLOCK)  # noqa: E731
    return edited(ir, copy.loads, lambda s: (When((condition(s),), (s,), uniform=False),))


def _chunk_twice(ir: KernelIR) -> KernelIR:
    """The last line of a tile is stored over the one before it."""
    copy = _first_copy(ir)

    def change(s: Any) -> tuple[Stmt]:
        index = list(s.index)
        index[copy.line] = index[copy.line] - index[copy.line] // (copy.lines - 1)
        return (replace(s, index=tuple(index)),)

    return edited(ir, copy.stores, change)


def _across(ir: KernelIR) -> KernelIR:
    """Neighbouring threads of a copy take chunks of neighbouring lines, not neighbouring chunks of a line."""
    copy, t = _first_copy(ir), var("linearId")
    threads, width = min(ir.threads, copy.lines * copy.width), copy.width
    lines = threads // width
    if threads % width or width == 1 or lines < LANES:
        raise NothingToBreak(f"a warp of {ir.name} copies whole lines anyway, or single chunks", where=ir.about)
    table = {t.terms[0][0]: width * (t % lines) + t // lines % width, (t // width).terms[0][0]: t % lines}
    turn = lambda e: sum((c * table.get(atom, Aff(((atom, 1),))) for atom, c in e.terms), aff(e.const))  # noqa: E731
    prologues = places(ir, Pointwise, where=lambda op: op.target.array == copy.array)
    operands = {e for s in operations(ir.body) if isinstance(s, Pointwise) and s.target.array == copy.array
                for e in s.operands}  # fmt: skip
    arrays = {copy.array, *(e.array for e in operands if isinstance(e, Element))}
    loads = in_k_loops(ir, GlobalLoad, where=lambda op: op.target.array in arrays)

    def change(s: Any) -> tuple[Stmt]:
        field = "inside" if isinstance(s, Pointwise) else "index"
        return (replace(s, **{field: put(getattr(s, field), turn)}),)

    return edited(ir, [*loads, *prologues, *copy.stores], change)


def _astray(ir: KernelIR) -> KernelIR:
    """Loads along the run begin one value further: no multiple of 16 bytes."""
    run = lambda op: ir.tensor(op.tensor).order[-1]  # noqa: E731
    at = places(ir, GlobalLoad, where=lambda op: op.along == run(op) and len(op.index) == 2)

    def change(s: Any) -> tuple[Stmt]:
        return (replace(s, index=tuple(e + 1 if d == run(s) else e for d, e in enumerate(s.index))),)

    return edited(ir, at, change)


def _unguarded(ir: KernelIR, kind: type) -> KernelIR:
    """Loads, or stores, of partial tiles as if everything were inside."""
    return edited(ir, places(ir, kind, where=lambda op: op.guarded), lambda s: (replace(s, guarded=False),))


def _full(ir: KernelIR, kind: type, change: Callable[[Aff], Aff | None]) -> KernelIR:
    """Other conditions of what counts as a full tile, where a kind of operation is guarded in the other tiles; None
    for a condition that is dropped."""

    def test(s: Any) -> bool:
        return any(isinstance(op, kind) and any(a.guarded for a in op.accesses(ir)) for op in operations(s.orelse))

    def loosened(s: Any) -> tuple[Stmt]:
        return (replace(s, conditions=tuple(e for c in s.conditions if (e := change(c)) is not None)),)

    return edited(ir, places(ir, When, where=test), loosened)


def _of_blocks(condition: Aff) -> bool:
    """Whether a condition is about the block's rows or columns, not about the k tile."""
    return any(name.startswith("blockIdx") for name in condition.names())


def _register_beyond(ir: KernelIR) -> KernelIR:
    """Stores to shared memory of the register behind the right one."""

    def change(s: Any) -> tuple[Stmt]:
        return (replace(s, source=replace(s.source, index=tuple(e + 1 for e in s.source.index))),)

    return edited(ir, places(ir, SharedStore), change)


def _other_chunk(ir: KernelIR) -> KernelIR:
    """Stores to shared memory of the registers in reverse order."""

    def change(s: Any) -> tuple[Stmt]:
        (count,) = ir.register(s.source.array).shape
        return (replace(s, source=replace(s.source, index=(count - 1 - s.source.index[0],))),)

    return edited(ir, places(ir, SharedStore), change)


def _beyond(ir: KernelIR, by: int, across: bool, access: tuple[int, ...] = (8, 4, 2, 1)) -> KernelIR:
    """Fragment loads of some widths further across the lines of a tile, or along them."""

    def change(s: Any) -> tuple[Stmt]:
        order = ir.tile(s.tile).order
        moved = order[0] if across else order[-1]
        return (replace(s, origin=tuple(e + by if d == moved else e for d, e in enumerate(s.origin))),)

    return edited(ir, places(ir, FragmentLoad, where=lambda op: op.access in access), change)


MUTANTS = (
    Mutant(
        "copy one row short",
        "the threads that hold the last line of a tile don't store it to shared memory",
        ("copies",), ("uninitialised",), SHARED, _row_short,
    ),
    Mutant(
        "load one row short",
        "the threads that are to load the last line of a tile don't, and store what their registers held before",
        ("result",), ("uninitialised",), (), _row_not_loaded,
    ),
    Mutant(
        "last row over the one before",
        "the last line of a tile is stored over the one before it",
        ("copies",), ("races", "uninitialised"), SHARED, _chunk_twice,
    ),
    Mutant(
        "copy across the lines",
        "neighbouring lanes load chunks of neighbouring lines: values are right, and memory moves more sectors",
        ("sectors",), ("coalescing",), (GlobalLoad,), _across,
    ),
    Mutant(
        "load astray",
        "128-bit loads begin one value further, at no multiple of 16 bytes",
        ("alignment",), ("bounds",), (GlobalLoad,), _astray,
    ),
    Mutant(
        "loads without guards",
        "loads of partial tiles don't test what is inside of the tensor",
        ("bounds",), ("bounds",), (GlobalLoad,), lambda ir: _unguarded(ir, GlobalLoad),
    ),
    Mutant(
        "stores without guards",
        "stores of partial tiles don't test what is inside of the tensor",
        ("bounds",), ("bounds",), (GlobalStore,), lambda ir: _unguarded(ir, GlobalStore),
    ),
    Mutant(
        "full tile of loads off by one",
        "a tile of a matrix that lacks its last line counts as full",
        ("bounds",), ("bounds",), (GlobalLoad,),
        lambda ir: _full(ir, GlobalLoad, lambda e: e + 1 if _of_blocks(e) else e),
    ),
    Mutant(
        "full tile of stores off by one",
        "a tile of the result that lacks its last line counts as full",
        ("bounds",), ("bounds",), (GlobalStore, GlobalLoad), lambda ir: _full(ir, GlobalStore, lambda e: e + 1),
    ),
    Mutant(
        "k tile not tested",
        "whether the last k tile is full is not tested",
        ("bounds",), ("bounds",), (GlobalLoad,),
        lambda ir: _full(ir, GlobalLoad, lambda e: e if _of_blocks(e) else None),
    ),
    Mutant(
        "another chunk's register",
        "threads store the chunks that they have loaded in reverse order",
        ("result",), ("values",), (), _other_chunk,
    ),
    Mutant(
        "beyond the registers",
        "stores to shared memory take the register behind the one that they should",
        ("bounds",), ("bounds",), (SharedStore,), _register_beyond,
    ),
    Mutant(
        "fragment beyond the tile",
        "fragments are loaded one line further",
        ("bounds",), ("bounds",), (FragmentLoad,),
        lambda ir: _beyond(ir, 1, True),
    ),
    Mutant(
        "fragment across chunks",
        "128-bit loads of fragments begin half a chunk further, across two chunks",
        ("alignment",), ("bounds",), (FragmentLoad,),
        lambda ir: _beyond(ir, 4, False, (CHUNK,)),
    ),
)  # fmt: skip
