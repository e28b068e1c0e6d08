"""Index arithmetic in 32 bits: with no sizes that a launch takes does an `int` of the CUDA text overflow.

Expressions of the IR are of integers, those of the text of ints. What they say is the same as long as every sum, and
every part of one, stays below 2^31 in either direction. That is decided here without running anything: the terms of an
expression that add up, and apart from them those that are taken away, each as large as it can be; the C text adds them
in some order, and no partial sum is outside of the two. What the text divides before it adds (`ir.ints`) is divided
here. Sizes and block indices stay symbols, so that 128 * blockIdx.y is known to be less than M + 128; names of threads
and of unrolled loops are as large as their ranges say.

Offsets into a matrix, line * ld + run, are computed in 64 bits: lines are `long long`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.block_order import MOST_BLOCKS
from polyvolta.cuda.ir.ints import Ints
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    BoxCopy,
    Inside,
    KernelIR,
    Loop,
    Op,
    Part,
    Roles,
    Stmt,
    Tiles,
    Wgmma,
    When,
)
from polyvolta.cuda.ir.walk import inner as below
from polyvolta.cuda.verify.accesses.extremes import reach
from polyvolta.cuda.verify.engine.addresses import slot_chunks
from polyvolta.cuda.verify.engine.symbols import all_blocks, loops_over_tiles
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.aff import Floor, Xor
from polyvolta.sets.values.simplify import Range, interval

INT = 2**31 - 1
LARGEST = 2**31 - 2**13
"""Of a size that a kernel takes: ints hold the ends of the next tiles, too."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """A case in which an int of the text would be too large.

    Parameters
    ----------
    sum : of terms in sizes, block indices and k tiles and a number for the rest, such as "128*blockIdx.y + 135".
    value : what it comes to, beyond an int.
    point : the sizes, block indices and variables of loops over k tiles.
    """

    sum: str
    value: int
    point: Mapping[str, int]


def overflow(ir: KernelIR, largest: int = LARGEST) -> Overflow | None:
    """A case with sizes up to `largest` in which an int overflows; None: there is none.

    Where there is none, no order of adding up overflows. A case is of a sum whose terms are each as large as they
    can be; names of threads that are never all so large at once may make it one that C's own order doesn't have.
    """
    for loops, symbolic, const in _highest(dict.fromkeys(_sums(ir))):
        value: int | None = symbolic.const + const if symbolic.is_constant else None
        point: Mapping[str, int] | None = {} if value is None or value > INT else None
        if value is None:
            known = [*(largest - var(n) for n in ir.sizes), *_of_tiles(ir, largest)]
            for loop in loops:  # the value behind the last trip's is computed, too
                known += [var(loop.var) - e for e in loop.lower] + [e + loop.step - var(loop.var) for e in loop.upper]
            here = all_blocks(ir, tuple(loop.var for loop in loops)).given(*known)
            point = None if here.holds(INT - const - symbolic) else here.point(symbolic + const - INT - 1)
            value = None if point is None else int(symbolic.evaluate(point)) + const  # type: ignore[call-overload]
        if point is not None and value is not None:
            return Overflow(str(symbolic + const), value, point)
    return None


def _of_tiles(ir: KernelIR, largest: int) -> Iterator[Aff]:
    """What a launch sees to where a block computes several tiles, each `e >= 0`: that there are no more than half as
    many places as ints, and that what is counted over tiles, this one with them, is no larger than a size may be; of
    k tiles, in values of k."""
    for s in loops_over_tiles(ir):
        yield MOST_BLOCKS // 2 - var(s.turn) - s.step
        for name, e in s.counters:
            depth = max((atom.den for atom, _ in e.terms if isinstance(atom, Floor)), default=1)
            yield largest - depth * (var(name) + s.step * e)


Sum = tuple[tuple[Loop, ...], Aff, int]  # inside of these loops, their bodies left out, a symbolic part and a number


def _highest(sums: Iterable[Sum]) -> Iterator[Sum]:
    """Of sums with one symbolic part the greatest."""
    best: dict[tuple[tuple[Loop, ...], Aff], int] = {}
    for loops, symbolic, const in sums:
        best[loops, symbolic] = max(const, best.get((loops, symbolic), const))
    yield from ((*key, const) for key, const in best.items())


# ---- the expressions of the text


def _sums(ir: KernelIR) -> Iterator[Sum]:
    """What adds up in each expression that the text computes in ints."""
    ints = Ints.of(ir)
    for e in (*(e for _, e in ir.derived), *ir.grid):
        yield from _parts(e, (), ir.ranges, ints)
    yield from _body(ir, ir.body, (), ir.ranges, ints)


def _body(
    ir: KernelIR, body: tuple[Stmt, ...], loops: tuple[Loop, ...], ranges: Mapping[str, Range], ints: Ints
) -> Iterator[Sum]:
    for s in body:
        if isinstance(s, Loop):
            lows, highs = ([e.const for e in ends if e.is_constant] for ends in (s.lower, s.upper))
            unrolled = len(lows) + len(highs) == len(s.lower) + len(s.upper)
            starts = [low for e in s.lower if (low := interval(e, ranges)[0]) is not None]
            inner = {**ranges, s.var: (max(starts, default=None), min(highs) if unrolled else None)}
            head = replace(s, body=())  # which is all that counts of a loop around, and quickly compared
            open_ = not unrolled or ir.resident > 0  # a quotient of it and of what has no bound of its own
            around = (*(x for x in loops if x.var != s.var), head) if open_ else loops
            for e in (*s.lower, *s.upper):
                yield from _parts(e, loops, ranges, ints)
            yield from _parts(var(s.var) + s.step, around, inner, ints)
            yield from _body(ir, s.body, around, inner, ints)
        elif isinstance(s, When):
            for e in s.conditions:
                for case in ints.cases(e)[1]:
                    yield from _parts(case, loops, ranges, ints)
            yield from _body(ir, (*s.body, *s.orelse), loops, ranges, ints)
        elif isinstance(s, Tiles):
            counted = ((s.turn, aff(1)), *s.counters)
            for name, e in counted:
                yield from _parts(var(name) + s.step * e, loops, {**ranges, name: (0, None)}, ints)
            yield from _body(ir, s.body, loops, {**ranges, **{n: (0, None) for n, _ in counted}}, ints)
        elif isinstance(s, Roles):
            yield from _body(ir, below(s), loops, ranges, ints)
        else:
            for e in _expressions(ir, s, ints):
                yield from _parts(e, loops, ranges, ints)


def _expressions(ir: KernelIR, op: Op, ints: Ints) -> Iterator[Aff]:
    """The expressions of an operation, as the text computes them."""
    for access in op.accesses(ir):
        yield from access.given
        yield from (e + _end(access, d) for d, e in enumerate(access.index))
        if access.space == "shared":
            yield slot_chunks(access, ir.tile(access.array)) * access.slot
    if isinstance(op, Arrive | Await | BoxCopy):
        yield from (op.phase.slot, op.phase.number)
    if isinstance(op, Wgmma):
        yield from (ir.tile(x.tile).chunks * x.buffer + x.start for _, x in op.shared)
        yield from (case for e in op.adds for case in ints.cases(e)[1])
    for inside in _insides(op):
        tests = (e - x - step for e, x, step in zip(inside.extents, inside.index, _further(inside), strict=True))
        yield from (case for e in tests for case in ints.cases(e)[1])


def _end(access: Access, d: int) -> int:
    """How much further than the index it is computed: a guard compares the end of the values with the extent."""
    if access.space == "registers" or access.proxy != "generic":
        return 0
    return max(access.values, 1 + int(np.max(reach(access, d)[1])))


def _further(inside: Inside) -> list[int]:
    """How much further than the index it is compared, along each dimension."""
    if inside.own is None:
        return [0] * len(inside.index)
    grid = np.meshgrid(*(np.arange(n) for _, n in inside.own.inputs))
    found = inside.own.evaluate(dict(zip((name for name, _ in inside.own.inputs), grid, strict=True)))
    return [int(np.max(x)) for x in found]


def _insides(part: Any) -> Iterator[Inside]:
    """What an operation compares with extents, wherever it has it among its parts."""
    if isinstance(part, Inside):
        yield part
    elif isinstance(part, Part):
        for f in fields(part):  # type: ignore[arg-type]
            yield from _insides(getattr(part, f.name))
    elif isinstance(part, tuple):
        for x in part:
            yield from _insides(x)


def _parts(e: Aff, loops: tuple[Loop, ...], ranges: Mapping[str, Range], ints: Ints) -> Iterator[Sum]:
    """What adds up in an expression, what is taken away, and so on in what its quotients divide."""
    sums = [aff(max(e.const, 0)), aff(max(-e.const, 0))]  # added; taken away
    for m, num, den, rest in ints.parts(e - e.const):
        if den is not None:
            sums[m < 0] += abs(m) * (den - 1)
            yield from _parts(num, loops, ranges, ints)
            continue
        for atom, c in rest.terms:
            one = Aff(((atom, 1),))
            low, high = interval(one, ranges)
            if low is None:
                raise Undecided(f"how far {one} goes down isn't known", where=str(e))
            sums[c < 0] += abs(c) * (one if high is None else max(high, 0))
            sums[c > 0] += abs(c) * max(-low, 0)
            match atom:
                case Floor(num=inner, den=by):
                    yield from _parts(ints.dividend(inner, by)[0], loops, ranges, ints)
                case Xor(left=left, right=right):
                    yield from _parts(left, loops, ranges, ints)
                    yield from _parts(right, loops, ranges, ints)
    yield from ((loops, total - total.const, total.const) for total in sums)
