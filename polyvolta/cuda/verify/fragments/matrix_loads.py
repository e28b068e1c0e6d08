"""Matrix loads and stores: whether what the lanes of a warp get by `ldmatrix`, or give by `stmatrix`, is what their
ownership map says.

Who names a line of shared memory and who gets its values are two things. By the instruction's distribution a value of
a lane is one place of the line that another lane names; so the values of a fragment are

    { [lane, i] -> [source, place] }  followed by  { [lane, n] -> [row, k] }, `place` further along the line

and that must be the ownership map, { [lane, i] -> [row, k] }, of all 32 lanes and all values. The distribution itself
is compared with what the manual says, written down here a second time.

A matrix store is the same turned round, values going where the load has them from.

Source: PTX ISA, "Warp-level matrix load instruction: ldmatrix", "Warp-level matrix store instruction: stmatrix".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR, LoadMatrix, StoreMatrix
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import MatrixLoad, MatrixStore
from polyvolta.cuda.verify.report.records import CounterExample
from polyvolta.cuda.verify.values.gathering import table, text

OF_MANUAL = ("ldmatrix", "stmatrix")  # what the manual below is about
Moved = LoadMatrix | StoreMatrix


def manual(transposed: bool, lane: int, value: int) -> tuple[int, int]:
    """Whose line a value of a lane is from, and its place in it, as the PTX manual has it for .m8n8.b16.

    A thread t gets elements 2 (t mod 4) and the next one of row t / 4 of each matrix; with .trans of its column t / 4.
    The rows of matrix j are those that threads 8j to 8j + 7 name.

    >>> manual(False, 5, 3), manual(True, 5, 3)
    ((9, 3), (11, 1))
    """
    matrix, across, along = value >> 1, lane >> 2, 2 * (lane & 3) + (value & 1)
    return (8 * matrix + along, across) if transposed else (8 * matrix + across, along)


def matrix_loads(ir: KernelIR) -> Iterator[tuple[IrPath, Moved]]:
    """The matrix loads and stores of a kernel, with where they stand."""
    return ((at, s) for at, s in walk(ir.body) if isinstance(s, LoadMatrix | StoreMatrix))


def _of(s: Moved) -> MatrixLoad | MatrixStore:
    """The instruction."""
    return s.load if isinstance(s, LoadMatrix) else s.store


def relations(ir: KernelIR) -> list[str]:
    """What each kind of matrix load composes, in words; [] without any."""
    found = dict.fromkeys((_of(s).name(s.count, s.transposed), s.tile, _share(s), s.lines) for _, s in matrix_loads(ir))
    return [f"{name} of {tile}: {share} of the lines {lines}" for name, tile, share, lines in found]


def undelivered(ir: KernelIR) -> tuple[CounterExample, IrPath] | None:
    """A matrix load that brings a lane something else than its ownership map says."""
    for at, s in matrix_loads(ir):
        case = None
        if _of(s).title in OF_MANUAL:
            case = _unlike_manual(_share(s), s.transposed)
        case = case or _misdelivered(_share(s), s.lines, s.ownership, ir.tile(s.tile).order[-1],
                                    s.operand if isinstance(s, LoadMatrix) else "d", s.tile)  # fmt: skip
        if case is not None:
            return case, at
    return None


def _share(s: Moved) -> IndexMap:
    """{ [lane, i] -> [source, place] }: which value of which lane's line each value of an instruction is."""
    return _of(s).distribution(s.count, s.transposed)


@lru_cache(maxsize=64)
def _unlike_manual(share: IndexMap, transposed: bool) -> CounterExample | None:
    """A value that a distribution takes from another place than the manual."""
    given = table(share)
    for lane, value in np.ndindex(*given.shape[:2]):
        wanted, (source, place) = manual(transposed, lane, value), given[lane, value]
        if (source, place) != wanted:
            what = f"value {value} of lane {lane} is value {wanted[1]} of the line that lane {wanted[0]} names"
            return CounterExample(f"{what}, not value {place} of lane {source}'s", lane=lane)
    return None


@lru_cache(maxsize=256)
def _misdelivered(
    share: IndexMap, lines: IndexMap, ownership: IndexMap, run: int, operand: str, tile: str
) -> CounterExample | None:
    """A value that distribution and lines bring, and the ownership map has elsewhere; `run`: the lines' dimension."""
    shares, named, wanted = table(share), table(lines), table(ownership)
    each, values = shares.shape[1], wanted.shape[1]
    if values != each * named.shape[1]:
        what = f"{named.shape[1]} instructions bring a lane {each * named.shape[1]} values"
        return CounterExample(f"{what}, and it owns {values}", address=tile)
    i = np.arange(values)
    source, place = shares[:, i % each, 0], shares[:, i % each, 1]
    given = named[source, i // each].copy()
    given[..., run] += place
    wrong = np.argwhere((given != wanted).any(-1))
    if not len(wrong):
        return None
    lane, value = (int(x) for x in wrong[0])
    name, number = operand.upper(), value // each
    what = (
        f"value {value} of lane {lane} is value {place[lane, value]} of the line that lane {source[lane, value]} names "
        f"in instruction {number}, {text(name, given[lane, value])}; it owns {text(name, wanted[lane, value])}"
    )
    return CounterExample(what, lane=lane, address=f"{tile}, fragment {text(name, given[lane, value])}")
