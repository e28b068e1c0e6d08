"""Sizes at which a statement has nothing, apart, if code made for all of them tests much there for nothing.

    S[i] -> [i] for -1 <= i <= 2 and odd i + n,           if (n >= 2) ...
    T[i, j] -> [i + 1, ...] for 1 <= j < i < n     ->     else
                                                            for (c0 = -n % 2; c0 <= 2; c0 += 2) S(c0);

What shares a loop is cut by the values of its variable, and sizes are told apart where a loop would be without a stride
or has holes. Of what that leaves some code asks at small sizes, or at large ones, for a statement that has nothing at
any of them: in bounds that are extremes of those of several, in conditions at each value, in loops inside. The size is
asked for once instead, and either code is made by itself, knowing it. Which code is better is found by running both at
a few numbers: what is called and in which order is the same whatever they say. Cost: one test more at other sizes, the
code of what runs at both kinds of sizes twice, and another scan where most tests are for nothing.

A size may be even or odd, too: of T[i] -> [i] and S[i] -> [i/3] for even n, code of all asks in loops of T whether S is
there, and runs loops that are S's alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from math import inf

from polyvolta.sched.loops.ast import Ast, Call, If, within
from polyvolta.sched.loops.conditions import implied
from polyvolta.sched.loops.few_values import of_few_values
from polyvolta.sched.loops.hoisting.least import Run, Undecided
from polyvolta.sched.loops.hoisting.needs import required, seldom
from polyvolta.sched.loops.rows.known import Known, sides
from polyvolta.sched.loops.rows.linear import LOCAL, Key, System
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

FEW = 6  # tests for nothing, up to which they are left
PART, EACH = 1 / 3, 5  # of all tests for nothing are many where so many are made for each call
SEVERAL, DENSE = 4, 2  # calls that are fewer than several; tests for each of these that are many at large sizes
LESS = 0.5  # of the tests of other code are few enough there
FEWER = 0.65  # of them are if there are no more tests elsewhere
MORE, SHARE = 2, 0.1  # how many more, and which part of all, are not too many elsewhere
OTHERS = 3, 10  # the values of other sizes
FIRST = 0, 1  # how far from the first size of those at which one has nothing tests are looked at: even or odd ones
NEAR = 0, 1, 4, 20  # how far from the first size on either side codes are compared
LONG = 600  # tests beyond which they are not counted
TRIED, ONCE = 2, 6  # sizes for which code is made; the same where only a call may be apart, which is soon made
WORTH = 2000  # steps to find what statements say of sizes

Case = tuple[System, tuple[Ast, ...]]  # rows over sizes, and the code where they hold
Said = tuple[Key, int, int]  # a row over a size `>= 0`, with 0; or one that is even, with 2
Places = Sequence[tuple[Mapping[str, int], float]]  # sizes, and the tests that are few enough there


def by_absence(
    known: Known,
    pieces: Sequence[Piece],
    body: tuple[Ast, ...],
    make: Callable[[System], tuple[Ast, ...]],
    once: bool = False,
) -> tuple[Case, Case] | None:
    """Sizes, and all others, where some of the pieces have nothing, and the code of each; None where none is better.

    It is if it tests half as much there or less, and near them nowhere more than two tests or a tenth more; or two
    thirds as much, and nowhere more. Sizes are looked at where most tests are for nothing, as those of a loop or under
    a condition that calls nothing, whatever others are; and where fewer are, but many find each call (`_found_late`),
    if too many are not made by code that runs whole there, and is none of what the sizes lack (`_whole`). Large sizes
    are looked at before small ones: they are more; and even and odd ones last, for other sizes may cut loops. Places
    count at which anything is called, or more than a few tests are made: where little is asked to find nothing, nothing
    is to be spared.
    If the code of the other sizes then would test more than that of all, or takes too many steps, they keep this: small
    ones, even and odd ones, and all where the code of those at which one has nothing tests half as much.

    Parameters
    ----------
    make : the code where some rows hold; sizes at which that takes too many steps are not told apart.
    once : whether loops are to stand once (`atomic`): beside them stands one call alone.
    """
    found: dict[Said, list[tuple[Mapping[str, int], float]]] = {}
    order: dict[Said, tuple[int, bool, float]] = {}
    for row, far in product(_rows(known, pieces), FIRST):
        if row in order:
            continue
        each = [(at, counted(body, at)) for at in places(known, row, (far,), -1)]
        each = [(at, one) for at, one in each if one[2] or one[0] > FEW]  # elsewhere nothing runs, which is soon found
        said = [one for _, one in each]
        if not said or not all(idle > FEW for _, idle, _ in said):
            continue
        large = not row[2] and seldom(known, *row[:2])
        if all(idle > tests - idle for tests, idle, _ in said):
            order[row] = row[2], not large, -max([tests for tests, _, _ in said])
        elif all(_found_late(*one, large) for one in said) and all(
            _whole(body, at) <= FEWER * tests for at, (tests, _, _) in each
        ):
            order[row] = row[2] or 1, not large, -max([tests / max(1, calls) for tests, _, calls in said])
        found[row] = [(at, tests) for at, (tests, _, _) in each]
    for row in sorted(order, key=lambda row: order[row])[: ONCE if once else TRIED]:
        there, elsewhere = _sides(*row)
        beside: tuple[Ast, ...] = ()
        with suppress(BudgetExceeded):
            beside = make(elsewhere)
        less = _tests_less(beside, [(at, FEWER * tests) for at, tests in found[row]])
        if not beside or not less or (once and not _one_call(beside)):
            continue
        much = _tests_less(beside, [(at, LESS * tests - 1) for at, tests in found[row]])
        small, large = (list(_near(known, row, body, sign, much)) for sign in (1, -1))
        if _tests_less(beside, large):
            with suppress(BudgetExceeded):
                inside = make(there)
                if inside and _tests_less(inside, small):
                    return (there, inside), (elsewhere, beside)
            if much or row[2] or seldom(known, *row[:2]):
                return (there, tuple(body)), (elsewhere, beside)
    return None


def _one_call(body: Sequence[Ast]) -> bool:
    """Whether some code is one call, under conditions or not."""
    return len(body) == 1 and (
        isinstance(node := body[0], Call) or isinstance(node, If) and not node.other and _one_call(node.body)
    )


class _Parts(Run):
    """A run that says how many tests are made in each part of the code, by its identity."""

    __slots__ = ("made",)

    def __init__(self) -> None:
        super().__init__(LONG, LONG, True)
        self.made: dict[int, int] = {}

    def run(self, body: Sequence[Ast], values: Mapping[str, int]) -> None:
        for node in body:
            before = self.tests
            super().run((node,), values)
            self.made[id(node)] = self.made.get(id(node), 0) + self.tests - before


def _whole(body: Sequence[Ast], at: Mapping[str, int]) -> int:
    """How many tests at some sizes are made by code of which all is called there; of sizes at which it can be run.

    Code that is made without what has nothing there makes about as many, whatever becomes of the others.
    """
    run = _Parts()
    run.run(body, at)

    def whole(node: Ast) -> bool:
        return id(node) in run.met if isinstance(node, Call) else all(map(whole, within(node)))

    def total(some: Sequence[Ast]) -> int:
        return sum(
            [run.made.pop(id(n), 0) if whole(n) else 0 if isinstance(n, Call) else total(within(n)) for n in some]
        )

    return total(body)


def _found_late(tests: float, idle: int, calls: int, large: bool) -> bool:
    """Whether many tests find each call, a third of them for nothing, or find each of several calls at large sizes."""
    dense = large and calls > SEVERAL and tests > FEW + DENSE * calls
    return idle > tests - idle or dense or (idle > PART * tests and tests > EACH * calls)


def _near(
    known: Known, row: Said, body: Sequence[Ast], sign: int, much: bool
) -> Iterator[tuple[Mapping[str, int], float]]:
    """Sizes near those where a row begins to hold (sign 1), or not to, and the tests that other code may make there."""
    for at in places(known, row, NEAR, sign):
        yield at, _enough(counted(body, at)[0], much)


def _enough(tests: float, much: bool) -> float:
    """How many tests code may make, without that which tells sizes apart, where other code makes so many: a few more
    if it tests much less elsewhere.
    """
    return tests + (max(MORE, SHARE * tests) if much else 0) - 1


def needed_in_all(known: Known, cases: Sequence[Case]) -> System:
    """Rows that code needs in each of some cases and that hold at small sizes alone: at others one test says so."""
    out = System()
    found = implied(known, [required(known.given(case), body).add(case) for case, body in cases])
    out.ineqs = {key: const for key, const in found.ineqs.items() if seldom(known, key, const)}
    return out


def _tests_less(body: Sequence[Ast], most: Places) -> bool:
    """Whether some code makes no more tests than so many at some sizes."""
    return all(counted(body, at)[0] <= tests for at, tests in most)


def _rows(known: Known, pieces: Sequence[Piece]) -> list[Said]:
    """What a number says of a size in one of some pieces and not in all, or that it is even or odd."""
    each: list[dict[Said, None]] = []
    with suppress(BudgetExceeded):
        for piece in pieces:
            gone = {c for c in piece.system.columns() if c >= LOCAL}
            s = of_few_values(known, bounded(WORTH, piece.system.without, gone, known.low, known.high).copy())
            rows = [(*row, 0) for row in s.ineqs.items() if not known.implies(*row)]
            rows += [row for row in s.mods if row[2] == 2 and not known.implies_mod(*row)]
            rows = [row for row in rows if len(row[0]) == 1 and known.columns.of_sizes(row[0])]
            each.append(
                dict.fromkeys(r for r in rows if abs(r[0][0][1]) == 1 and r[0][0][0] not in known.columns.floors)
            )
        all_rows = dict.fromkeys(row for rows in each for row in rows)
        return [row for row in all_rows if not all(row in rows for rows in each)]
    return []


def _sides(key: Key, const: int, d: int) -> tuple[System, System]:
    """Where a row holds, and where it does not: a system each."""
    if not d:
        return sides(key, const)
    there, elsewhere = System(), System()
    there.mod(key, const, d)
    elsewhere.mod(key, const + 1, d)
    return there, elsewhere


def places(known: Known, row: Said, far: Iterable[int], sign: int) -> Iterator[dict[str, int]]:
    """Sizes from 1 on at which a row holds (sign 1), or not: so far from the last ones where it does, others alike.

    Those of which numbers are known are as near to the others as these say, and those that are even, or odd, near them.
    """
    ((col, v),), const, d = row
    columns = known.columns
    first = -const * v if sign > 0 else (-const - 1) * v
    if d:
        first = max(OTHERS[0], known.low.get(col, 0))
        first += (v * first + const + (sign < 0)) % d
    for n in far:
        for other in OTHERS if len(columns.sizes) > 1 else OTHERS[:1]:
            ids = [columns.ids[name] for name in columns.sizes]
            at = {c: int(min(max(other, known.low.get(c, other)), known.high.get(c, other))) for c in ids}
            at[col] = first + d * n if d else first + sign * v * n
            rows = [r for r in known.ineqs.items() if all(c in at for c, _ in r[0])]
            if at[col] > 0 and all(k + sum([w * at[c] for c, w in key]) >= 0 for key, k in rows):
                yield {name: at[columns.ids[name]] for name in columns.sizes}


def counted(body: Sequence[Ast], at: Mapping[str, int], long: int = LONG) -> tuple[float, int, int]:
    """How many tests code makes at some sizes, for nothing, and calls; any number where too many, or not told."""
    run = Run(long, long, True)
    with suppress(Undecided):
        run.run(body, at)
        return run.tests, run.idle, len(run.calls)
    return inf, 0, 0
