"""Code of many cells in one another, made with fewer if that is much less and tests hardly more.

    for 14j <= i + 120, 3k <= 2i - 7j, ...       what is so is cut by each value of i and j at which another statement
                                                 may begin: a loop in 40 cells for seven statements, in each of 12

A loop that is `separate` has a cell for all that statements say differently of it, and so have those inside, in each of
its cells. Where values are not all of a statement's, as of 3k <= i <= 2k + 9, cells hold what they don't promise, and
are many. Such code is made again, whose loops are cut by what is exact alone (`rows.groups`). Which code is better is
found by estimating what both test at a few sizes: what is called and in which order is the same whatever they say.
Cost: another scan of code that is large and cut by what is not exact, and the loops' values at some numbers, so many
at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from polyvolta.sched.loops.ast import Ast, Block, Call, For, If, length
from polyvolta.sched.loops.hoisting.least import Run, Undecided, number
from polyvolta.sched.loops.rows.known import Known

MANY = 256  # loops, conditions and calls, up to which code is not large
HALF = 0.5  # of them are much less
HARDLY = 1.1  # times as many tests are hardly more
SIZES = (3, 3), (10, 10), (40, 40), (3, 40), (40, 3)  # at which both are estimated, in turn
SOME = 6  # values of a loop that are looked at
MOST = 4000  # times that some code is, beyond which it is not known what it tests: they are 6**n in n loops


def large(body: Sequence[Ast]) -> bool:
    """Whether code is large."""
    return length(body) > MANY


def better(known: Known, some: Sequence[Ast], others: Sequence[Ast]) -> bool:
    """Whether some code is half as much as other code with the same calls, and tests hardly more at any of a few sizes.

    It is not where what it tests is not known from numbers, as under what a machine has values for, or by few of them.
    """
    if length(some) > HALF * length(others):
        return False
    try:
        each = [tuple([_tests(body, at, iter(range(MOST))) for body in (some, others)]) for at in places(known, SIZES)]
    except Undecided:
        return False
    return bool(each) and all(a <= HARDLY * b for a, b in each)


def places(known: Known, sizes: Sequence[tuple[int, int]]) -> Iterator[dict[str, int]]:
    """Of sizes, all alike or two in turn, those at which what is known of them holds."""
    columns = known.columns
    for both in sizes if columns.sizes else sizes[:1]:
        named = {name: both[k % 2] for k, name in enumerate(sorted(columns.sizes, key=columns.ids.__getitem__))}
        if known.allows({columns.ids[name]: size for name, size in named.items()}):
            yield named


def _tests(body: Sequence[Ast], values: Mapping[str, int], looks: Iterator[int]) -> float:
    """About how many tests code makes: of a long loop a few values are looked at, for all of them.

    Parameters
    ----------
    looks : which end where it is undecided.
    """
    if next(looks, None) is None:
        raise Undecided
    total = 0.0
    for node in body:
        match node:
            case Call():
                pass
            case If(conditions, inside, _, other):
                run = Run(inf)
                total += _tests(inside if run.hold(conditions, values) else other, values, looks) + run.tests
            case For(name, lower, upper, step, _, inside) if upper:
                low = max([number(e, values) for e in lower])
                n = max(0, (min([number(e, values) for e in upper]) - low) // step + 1)
                total += 1 + n
                seen = range(n) if n <= SOME else [(2 * k + 1) * n // (2 * SOME) for k in range(SOME)]
                if n and not all(isinstance(one, Call) for one in inside):
                    each = [_tests(inside, {**values, name: low + k * step}, looks) for k in seen]
                    total += sum(each) * n / len(each)
            case Block(_, inside):
                total += _tests(inside, values, looks)
            case _:  # a loop without an end
                raise Undecided
    return total
