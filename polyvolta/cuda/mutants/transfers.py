"""Mutants of what asynchronous copies and `ldmatrix` move: from where, to where, and which lane gets what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    AsyncCopy,
    KernelIR,
    LoadMatrix,
    Stmt,
    TakeRun,
    When,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, edited, places
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import LINES
from polyvolta.sets import Aff, aff, var, xor

TOUCHES = (AsyncCopy, LoadMatrix)


# ---- copies


def _first_tile(ir: KernelIR) -> tuple[str, int, int]:
    """The first tile that is copied to asynchronously; its dimension across lines; how many lines it has."""
    found = next((op for op in operations(ir.body) if isinstance(op, AsyncCopy)), None)
    layout = ir.tile(found.tile).layout if found else None
    if found is None or layout is None:
        raise NothingToBreak(f"{ir.name} copies nothing asynchronously", where=ir.about)
    line = ir.tile(found.tile).order[0]
    return found.tile, line, layout.inputs[line][1]


def _placed(ir: KernelIR, change: Callable[[Aff, int], Aff], across: bool) -> KernelIR:
    """Copies to the first tile at other places: another line, of so many, or another start along the line."""
    name, line, _ = _first_tile(ir)
    tile = ir.tile(name)
    assert tile.layout is not None
    d = line if across else tile.order[-1]

    def moved(s: Any) -> tuple[Stmt]:
        assert tile.layout is not None
        place = [change(e, tile.layout.inputs[d][1]) if n == d else e for n, e in enumerate(s.place)]
        return (replace(s, place=tuple(place)),)

    return edited(ir, places(ir, AsyncCopy, where=lambda op: op.tile == name), moved)


def _row_short(ir: KernelIR) -> KernelIR:
    """The threads that are to copy the last line of a tile don't."""
    name, line, lines = _first_tile(ir)
    at = places(ir, AsyncCopy, where=lambda op: op.tile == name)
    return edited(ir, at, lambda s: (When((lines - 2 - s.place[line],), (s,), uniform=False),))


def _no_zeros(ir: KernelIR) -> KernelIR:
    """Tiles that a tensor's edge cuts are not copied at all: of copies of full and of partial tiles the latter go."""
    partial = lambda s: any(isinstance(op, AsyncCopy) and op.guarded for op in operations(s.orelse))  # noqa: E731
    return edited(ir, places(ir, When, where=partial), lambda s: (replace(s, orelse=()),))


def _full(ir: KernelIR, change: Callable[[Aff], Aff | None]) -> KernelIR:
    """Other conditions of what counts as a full tile of copies; None for a condition that is dropped."""

    def test(s: Any) -> bool:
        return any(isinstance(op, AsyncCopy) and op.guarded for op in operations(s.orelse))

    def loosened(s: Any) -> tuple[Stmt]:
        return (replace(s, conditions=tuple(e for c in s.conditions if (e := change(c)) is not None)),)

    return edited(ir, places(ir, When, where=test), loosened)


def _of_blocks(condition: Aff) -> bool:
    return any(name.startswith("blockIdx") for name in condition.names())


def _astray(ir: KernelIR) -> KernelIR:
    """Copies begin one value further along the run."""

    def change(s: Any) -> tuple[Stmt]:
        return (replace(s, index=tuple(e + 1 if d == s.along else e for d, e in enumerate(s.index))),)

    return edited(ir, places(ir, AsyncCopy), change)


def _in_order(ir: KernelIR) -> KernelIR:
    """All lanes copy the pieces of their chunks one after the other, where chunks have pieces."""

    def in_pieces(s: AsyncCopy) -> bool:
        return s.pieces(ir.tensor(s.tensor).align) is not None

    return edited(ir, places(ir, AsyncCopy, where=in_pieces), lambda s: (replace(s, turn=None),))


def _other_tile(ir: KernelIR) -> KernelIR:
    """Copies of one operand go to the other operand's tile, where both have as many lines of as many values."""
    tiles = list(dict.fromkeys(op.tile for op in operations(ir.body) if isinstance(op, AsyncCopy)))
    shapes = [tuple(ir.tile(t).layout.inputs[d][1] for d in ir.tile(t).order) for t in tiles if ir.tile(t).layout]  # type: ignore[union-attr]
    if len(tiles) < 2 or shapes[0] != shapes[1]:
        raise NothingToBreak(f"{ir.name} has no two tiles of one shape", where=ir.about)
    (one, other), turned = tiles[:2], ir.tile(tiles[0]).order != ir.tile(tiles[1]).order

    def change(s: Any) -> tuple[Stmt]:
        return (replace(s, tile=other, place=s.place[::-1] if turned else s.place),)

    return edited(ir, places(ir, AsyncCopy, where=lambda op: op.tile == one), change)


# ---- matrices


def _matrices(ir: KernelIR, operand: str, change: Callable[[LoadMatrix], LoadMatrix]) -> KernelIR:
    """The matrix loads of an operand, "a", "b" or "" for both, changed."""
    at = places(ir, LoadMatrix, where=lambda op: operand in ("", op.operand))
    return edited(ir, at, lambda s: (change(s),))


def _of_lines(lines: IndexMap, lane: Callable[[Aff], Aff]) -> IndexMap:
    """The lines that other lanes name."""
    (name, _), _ = lines.inputs
    return IndexMap(lines.inputs, tuple((d, e.subs({name: lane(var(name))})) for d, e in lines.outputs))


def _lines(lane: Callable[[Aff], Aff]) -> Callable[[LoadMatrix], LoadMatrix]:
    return lambda s: replace(s, lines=_of_lines(s.lines, lane))


def _several(ir: KernelIR, count: int) -> KernelIR:
    """A kernel that loads so many matrices, or more, with one instruction."""
    if not any(isinstance(op, LoadMatrix) and op.count >= count for op in operations(ir.body)):
        raise NothingToBreak(f"{ir.name} loads fewer than {count} matrices at once", where=ir.about)
    return ir


def _halved(s: LoadMatrix) -> LoadMatrix:
    """Half as many matrices with each instruction, the first ones twice."""
    if s.count == 1:
        return s
    (lane, lanes), (n, instructions) = s.lines.inputs
    first = {n: var(n) // 2, lane: var(lane) % (LINES * s.count // 2)}
    outputs = tuple((d, e.subs(first)) for d, e in s.lines.outputs)
    return replace(s, count=s.count // 2, lines=IndexMap(((lane, lanes), (n, 2 * instructions)), outputs))


def _other_strip(ir: KernelIR) -> KernelIR:
    """A's fragments are of the strips of a k tile in reverse order."""

    def change(s: LoadMatrix) -> LoadMatrix:
        layout, k = ir.tile(s.tile).layout, 1
        assert layout is not None
        depth = 1 + max(x for _, x in _image(s.ownership))
        return replace(s, origin=(s.origin[0], layout.inputs[k][1] - depth - s.origin[k]))

    return _matrices(ir, "a", change)


def _image(own: IndexMap) -> set[tuple[int, ...]]:
    """The elements that an ownership map leads to."""
    (lane, lanes), (value, values) = own.inputs
    return {own.evaluate({lane: n, value: i}) for n in range(lanes) for i in range(values)}


def _exchanged_owners(s: LoadMatrix) -> LoadMatrix:
    """The ownership map says that neighbouring lanes have each other's values; what they load stays."""
    lane = s.ownership.inputs[0][0]
    outputs = tuple((d, e.subs({lane: xor(var(lane), aff(1), 5)})) for d, e in s.ownership.outputs)
    return replace(s, ownership=replace(s.ownership, outputs=outputs))


# ---- results


def _runs(ir: KernelIR, change: Callable[[TakeRun], TakeRun]) -> KernelIR:
    return edited(ir, places(ir, TakeRun), lambda s: (change(s),))


def _pairs_swapped(s: TakeRun) -> TakeRun:
    (r, _), (v, _) = s.runs.picks.inputs
    outputs = tuple((d, e.subs({v: xor(var(v), aff(1), 3)})) for d, e in s.runs.picks.outputs)
    return replace(s, runs=replace(s.runs, picks=replace(s.runs.picks, outputs=outputs)))


def _other_round(s: TakeRun) -> TakeRun:
    return replace(s, round=s.runs.rounds - 1 - s.round)


MUTANTS = (
    Mutant(
        "asynchronous copy one row short",
        "the threads that are to copy the last line of a tile don't",
        ("copies",), ("uninitialised",), TOUCHES, _row_short,
    ),
    Mutant(
        "last row of copies over the one before",
        "the last line of a tile is copied to where the one before it goes",
        ("copies",), ("races", "uninitialised"), TOUCHES,
        lambda ir: _placed(ir, lambda e, n: e - e // (n - 1), True),
    ),
    Mutant(
        "copies to other chunks of their line",
        "the chunks of a line are copied to its places in reverse order",
        ("fresh",), ("values",), (), lambda ir: _placed(ir, lambda e, n: n - CHUNK - e, False),
    ),
    Mutant(
        "copies half a chunk further",
        "copies go to the second half of a chunk and the first half of the next",
        ("alignment",), ("bounds",), TOUCHES, lambda ir: _placed(ir, lambda e, n: e + CHUNK // 2, False),
    ),
    Mutant(
        "copies to the other operand's tile",
        "both operands are copied to one tile, and nothing to the other",
        ("copies",), ("races", "uninitialised"), TOUCHES, _other_tile,
    ),
    Mutant(
        "copies astray",
        "asynchronous copies of 16 bytes begin one value further, at no multiple of 16 bytes",
        ("alignment",), ("bounds",), (AsyncCopy,), _astray,
    ),
    Mutant(
        "pieces of copies in order",
        "all lanes begin with the first piece of their chunks, and leave the banks between alone",
        ("bank_conflicts",), ("bank_conflicts",), (AsyncCopy,), _in_order,
    ),
    Mutant(
        "copies without guards",
        "copies of partial tiles don't test what is inside of the tensor",
        ("bounds",), ("bounds",), (AsyncCopy,),
        lambda ir: edited(ir, places(ir, AsyncCopy, where=lambda op: op.guarded), lambda s: (s.unguarded(),)),
    ),
    Mutant(
        "full tile of copies off by one",
        "a tile of a matrix that lacks its last line counts as full, and is copied whole",
        ("bounds",), ("bounds",), (AsyncCopy,), lambda ir: _full(ir, lambda e: e + 1 if _of_blocks(e) else e),
    ),
    Mutant(
        "k tile of copies not tested",
        "whether the last k tile is full is not tested before it is copied whole",
        ("bounds",), ("bounds",), (AsyncCopy,), lambda ir: _full(ir, lambda e: e if _of_blocks(e) else None),
    ),
    Mutant(
        "partial tiles not copied",
        "tiles that a tensor's edge cuts are not copied, and filled with zeros, but left as they are",
        ("copies", "fresh"), ("uninitialised",), TOUCHES, _no_zeros,
    ),
    Mutant(
        "matrices of A the other way",
        "A's matrices are transposed where they should not be, or are not where they should",
        ("ownership",), ("values",), (LoadMatrix,),
        lambda ir: _matrices(ir, "a", lambda s: replace(s, transposed=not s.transposed)),
    ),
    Mutant(
        "matrices of B the other way",
        "B's matrices are transposed where they should not be, or are not where they should",
        ("ownership",), ("values",), (LoadMatrix,),
        lambda ir: _matrices(ir, "b", lambda s: replace(s, transposed=not s.transposed)),
    ),
    Mutant(
        "lanes name their neighbours' lines",
        "of each two lanes one names the line that the other should",
        ("ownership",), ("values",), (LoadMatrix,),
        lambda ir: _matrices(ir, "a", _lines(lambda lane: xor(lane, aff(1), 5))),
    ),
    Mutant(
        "two matrices exchanged",
        "of each two matrices of B the lanes name the other one's lines",
        ("ownership",), ("values",), (LoadMatrix,),
        lambda ir: _matrices(_several(ir, 2), "b", _lines(lambda lane: xor(lane, aff(LINES), 5))),
    ),
    Mutant(
        "the first matrix for all",
        "all lanes name lines of the first matrix of an instruction",
        ("ownership",), ("values",), (LoadMatrix,),
        lambda ir: _matrices(_several(ir, 2), "a", _lines(lambda lane: lane % LINES)),
    ),
    Mutant(
        "half of the matrices twice",
        "each instruction brings half of the matrices, and the next one brings them again",
        ("ownership",), ("values",), (LoadMatrix,), lambda ir: _matrices(_several(ir, 2), "b", _halved),
    ),
    Mutant(
        "A's strips in reverse order",
        "products take the strips of A's k tile from its end, those of B's from its beginning",
        ("sums",), ("values",), (), _other_strip,
    ),
    Mutant(
        "matrices beyond the tile",
        "the lines of matrices are named one line further",
        ("bounds",), ("bounds",), (LoadMatrix,),
        lambda ir: _matrices(ir, "", lambda s: replace(s, origin=tuple(
            e + 1 if d == ir.tile(s.tile).order[0] else e for d, e in enumerate(s.origin)))),
    ),
    Mutant(
        "lines across chunks",
        "the lines of matrices begin half a chunk further, and end in the next chunk",
        ("alignment",), ("bounds",), (LoadMatrix,),
        lambda ir: _matrices(ir, "a", lambda s: replace(s, origin=tuple(
            e + CHUNK // 2 if d == ir.tile(s.tile).order[-1] else e for d, e in enumerate(s.origin)))),
    ),
    Mutant(
        "owners that lines don't give",
        "lanes get what they should, and the ownership map, by which proofs go, says something else",
        ("ownership",), (), (LoadMatrix,), lambda ir: _matrices(ir, "a", _exchanged_owners),
    ),
    Mutant(
        "runs with pairs exchanged",
        "accumulators are stored without an exchange, each two values of a run in each other's place",
        ("exchange",), ("values",), (), lambda ir: _runs(ir, _pairs_swapped),
    ),
    Mutant(
        "runs of another round",
        "each lane's runs are stored in reverse order",
        ("result",), ("values",), (), lambda ir: _runs(ir, _other_round),
    ),
)  # fmt: skip
