"""A warp's macro-MMAs of one strip as one call: unrolled loops over the fragments of its rows and of its columns.

    for c7 in rows:                              hmma_row_col(hmma_C, hmma_A[0], hmma_B[0]);
      for c8 in columns:
        C[c7][c8] += A[0][c7] @ B[0][c8]

All of them are for different accumulators, so their order, and that of their instructions, is free: the function that
is called goes through the instructions of the whole strip in an order that reads few operands (`helpers.mma.products`).
Instructions that compilers must leave where they stand keep the loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polyvolta.cuda.ir.kernel_ir import Element, Loop, Memories, Mma, Stmt
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class Strip:
    """The products of all fragments of A with all of B.

    Parameters
    ----------
    op : of the loops.
    rows, cols : how many fragments of A and of B there are.
    a, b, d : what is in the array of the fragments before the number of one of them; () where that is all.
    paths : of the loops' statements below the outer one.
    """

    op: Mma
    rows: int
    cols: int
    a: tuple[Aff, ...]
    b: tuple[Aff, ...]
    d: tuple[Aff, ...]
    paths: tuple[IrPath, ...]


def strip_of(loop: Loop, ir: Memories) -> Strip | None:
    """The strip that a loop is, if it is one and its instructions may be put in another order.

    Rows and columns are numbered from 0 on, all that the arrays have; what stands before these numbers in an index is
    the same for all.
    """
    loops: list[Loop] = []
    inner: Stmt = loop
    while isinstance(inner, Loop):
        if not inner.unroll or len(inner.body) != 1 or not all(e.is_constant for e in (*inner.lower, *inner.upper)):
            return None
        loops.append(inner)
        (inner,) = inner.body
    if not isinstance(inner, Mma) or inner.macro.instruction.volatile or len(loops) > 2:
        return None
    points = list(_points(loops))
    *_, rows, cols = ir.register(inner.d.array).shape
    wanted = [(m, n) for m in range(rows) for n in range(cols)]
    numbers = [(*_tail(inner.d, at, 2), *_tail(inner.a, at, 1), *_tail(inner.b, at, 1)) for at in points]
    if numbers != [(m, n, m, n) for m, n in wanted]:
        return None
    if any(ir.register(e.array).shape[-1] != n for e, n in ((inner.a, rows), (inner.b, cols))):
        return None
    paths = tuple(path for path, _ in walk((loop,)) if len(path) > 1)
    outer = (inner.a.index[:-1], inner.b.index[:-1], inner.d.index[:-2])
    if any(e.names() & {s.var for s in loops} for index in outer for e in index):
        return None
    return Strip(inner, rows, cols, *outer, tuple(path[1:] for path in paths))


def _points(loops: list[Loop], at: dict[str, int] | None = None) -> Iterator[dict[str, int]]:
    """The values of the loops' variables, in order."""
    if not loops:
        yield at or {}
        return
    first, *rest = loops
    lows, highs = ([e.const for e in bounds] for bounds in (first.lower, first.upper))
    for value in range(max(lows), min(highs) + 1, first.step):
        yield from _points(rest, {**(at or {}), first.var: value})


def _tail(e: Element, at: dict[str, int], count: int) -> tuple[int | None, ...]:
    """The last indices of an element at some values; None for one that depends on more."""
    found = [i.subs(at) for i in e.index[-count:]]
    return tuple(i.const if i.is_constant else None for i in found)
