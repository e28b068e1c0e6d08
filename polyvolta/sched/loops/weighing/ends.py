"""Ends of outermost loops apart, where code made without asks much there for what has nothing at them.

    S[i] -> [i, 3] for -1 <= i <= n - 3,                   for (c0 = -1; c0 <= min(0, n - 3); c0++) S(c0);
    T[i] -> [i, 2], U[i] -> [i, 5] for 1 <= i < n    ->     for (c0 = 1; c0 < n; c0++) ...

Where statements begin or end a few values before others, each asks at these whether it has any, and loops inside run
for all of them. At large sizes that is little; at small ones a loop has hardly any other value. Loops are cut there in
another scan (`alone.at_ends`), and which code is better is found by running both at a few small sizes: what is called
and in which order is the same whatever they say. Cost: that scan, where much is tested for nothing and there is an end
to cut, and the code of one statement once more for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from polyvolta.sched.loops.ast import Ast
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.weighing.large import places
from polyvolta.sched.loops.weighing.sizes import FEWER, MORE, SHARE, counted

SIZES = (1, 1), (2, 2), (3, 3), (5, 5), (9, 9), (1, 4), (4, 1), (7, 3)  # at which codes are run, in turn
SMALL = 3  # of them, the smallest, at which much is tested for nothing if it is anywhere
FEW = 3  # tests for nothing, up to which they are left
PART = 1 / 3  # of all tests for nothing are many
DENSE = 4  # tests for each call, and so many beside, are few


def late(known: Known, body: Sequence[Ast]) -> bool:
    """Whether code tests much for nothing at one of the smallest sizes."""
    each = (counted(body, at) for at in places(known, SIZES[:SMALL]))
    return any(idle > max(FEW, PART * tests) for tests, idle, _ in each)


def sooner(known: Known, some: Sequence[Ast], others: Sequence[Ast]) -> bool:
    """Whether code tests two thirds as much as other code at one of these, or less, and hardly more at any.

    It may test more where that is little for each call, as beside code that has one size written out, if it tests but
    two thirds as much in all.
    """
    each = [(counted(some, at), counted(others, at)) for at in places(known, SIZES)]
    much = [(a, b) for (a, _, _), (b, _, _) in each if b < inf]
    less = sum([a for a, _ in much]) <= FEWER * sum([b for _, b in much])
    for (a, _, calls), (b, _, _) in each:
        if a > b + max(MORE, SHARE * b) and not (less and a <= DENSE * (1 + calls)):
            return False
    return any(idle > FEW and a <= FEWER * b for (a, _, _), (b, idle, _) in each)
