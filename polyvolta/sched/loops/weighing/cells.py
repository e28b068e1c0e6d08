"""Code whose loops are cut wherever statements begin or end, where code of shared loops tests much for each call.

    for (c0 = 0; c0 <= n + 2; c0++) {                   for (c0 = 0; c0 <= 1; c0++) S(c0);
      if (c0 <= n) S(c0);                        ->     for (c0 = 2; c0 <= n; c0++) { S(c0); T(c0 - 2); }
      if (c0 >= 2) T(c0 - 2);                           ...
    }

Loops of which a tree says nothing are shared where that costs little, as rules tell one by one. Where code tests
several times as much as it calls nevertheless, another scan takes all such loops for separate ones: a loop for each
combination of statements, in which none asks whether it is there. Which code is better is found by running both at a
few small sizes: what is called and in which order is the same whatever they say. Cost: that scan, where tests are many,
until its code is several times as long, and a text that is longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, prod

from polyvolta.sched.loops.ast import Ast, length
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.weighing.large import places
from polyvolta.sched.loops.weighing.sizes import counted

SIZES = (1, 1), (2, 2), (3, 3), (5, 5), (9, 9), (1, 4), (4, 1), (7, 3), (40, 3)  # at which codes are run, in turn
APART = (1, 21), (2, 21), (21, 1), (21, 2)  # the same, one small beside the other
LONG = 4000  # tests beyond which they are not counted
SOME, MOST = 200, 2000  # the same, beyond which code is not looked at: at the former sizes, and at these
FEW, EACH, LITTLE = 10, 6, 4  # tests that are few, and few more for each call; so many are where others are better
LESS, TOTAL = 0.4, 0.55  # of them at one size, and in all or on average, are worth another text
LONGER, ALIKE = 1.5, 0.75  # times the length up to which so much of them in all, or on average, is
HARDLY, MORE = 1.1, 2  # times as many, and so many, are hardly more
TIMES, SHORT = 4, 30  # times the length, and what is short anyway
UNTIDY = 1.25  # times as long as it is at last code may be before it is tidied


def dense(known: Known, body: Sequence[Ast]) -> bool:
    """Whether code makes several tests for each call at a small size, up to the first one at which they are many; or
    where one size is small beside another: what statements have there differs most, and no size alike shows it.
    """
    for at in places(known, SIZES):
        tests, _, calls = counted(body, at, SOME)
        if tests == inf:
            break
        if tests > FEW + EACH * calls:
            return True
    each = (counted(body, at, MOST) for at in places(known, APART))
    return any(FEW + EACH * calls < tests < inf for tests, _, calls in each)


def longest(body: Sequence[Ast]) -> float:
    """How long other code may be before it is tidied, which leaves most of it."""
    return UNTIDY * _most(body)


def _most(body: Sequence[Ast]) -> int:
    """How long other code may be."""
    return max(TIMES * length(body), SHORT)


def denser(known: Known, body: Sequence[Ast], other: Sequence[Ast]) -> bool:
    """Whether code tests much more than other code at one of these sizes, and in all or on average.

    At none it tests less, but for a few tests, or where the others are few for their calls, too. Of code that is hardly
    longer less is enough in all. Where one size is small beside another tests are many: all are those with either of
    these, as one such place would outweigh the other.
    """
    if length(other) > _most(body):
        return False
    alike, apart = ([*_both(known, body, other, sizes)] for sizes in (SIZES, APART))
    both = [*alike, *apart]
    if not any(b <= LESS * a and a > FEW + EACH * calls for a, b, calls in both):
        return False
    mean = prod([(b + 1) / (a + 1) for a, b, _ in both]) ** (1 / len(both))
    whole = [[*alike, one] for one in apart] or [alike]
    most = TOTAL if length(other) > LONGER * length(body) else ALIKE
    if min(mean, *[sum([b for _, b, _ in some]) / max(1, sum([a for a, _, _ in some])) for some in whole]) > most:
        return False
    return all(b <= max(HARDLY * a + MORE, FEW + LITTLE * calls) for a, b, calls in both)


def _both(
    known: Known, body: Sequence[Ast], other: Sequence[Ast], sizes: Sequence[tuple[int, int]]
) -> Iterator[tuple[float, float, int]]:
    """How many tests code makes at some sizes, and other code, and the calls; where those of the former are counted."""
    for at in places(known, sizes):
        tests, _, calls = counted(body, at, LONG)
        if tests < inf:
            yield tests, counted(other, at, LONG)[0], calls
