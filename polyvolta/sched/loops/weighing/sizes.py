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

Sizes may have remainders, too: of T[i] -> [i] and S[i] -> [i/3] for even n, code of all asks in loops of T whether S is
there, and runs loops that are S's alone. Where there are three or more what else one may be is no conjunction, and need
not be said: what lacks something is made of the statements that are left.

    S[] -> [n]                                                    if ((n + 1) % 4 == 0) {
    T[i, j] -> [-j, ...] for n mod 4 = 3, -2 <= j < m      ->       ...
                                                                  } else
                                                                    S();
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from math import inf, lcm

from polyvolta.sched.loops.ast import Ast, Call, If, asking, within
from polyvolta.sched.loops.conditions import has_rows, implied
from polyvolta.sched.loops.few_values import of_few_values
from polyvolta.sched.loops.hoisting.least import Run, Undecided
from polyvolta.sched.loops.hoisting.needs import required, seldom
from polyvolta.sched.loops.hoisting.plain import periodic
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known, sides
from polyvolta.sched.loops.rows.linear import LOCAL, Key, System
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.tree import Band, Node
from polyvolta.sets import Aff, BudgetExceeded
from polyvolta.sets.budgets import bounded
from polyvolta.sets.values.aff import Floor

FEW = 6  # tests for nothing, up to which they are left
PART, EACH = 1 / 3, 5  # of all tests for nothing are many where so many are made for each call
SEVERAL, DENSE = 4, 2  # calls that are fewer than several; tests for each of these that are many at large sizes
LESS = 0.5  # of the tests of other code are few enough there
FEWER = 0.65  # of them are if there are no more tests elsewhere
MORE, SHARE = 2, 0.1  # how many more, and which part of all, are not too many elsewhere
OTHERS = 3, 10  # the values of other sizes
FIRST = 0, 1  # how far from the first size of those at which one has nothing tests are looked at: of any remainder
NEAR = 0, 1, 4, 20  # how far from the first size on either side codes are compared
ALIKE = 200  # sizes among which those of some remainders are looked for
LONG = 600  # tests beyond which they are not counted
TRIED, ONCE = 2, 6  # sizes for which code is made; the same where only a call may be apart, which is soon made
WORTH = 2000  # steps to find what statements say of sizes

Case = tuple[System, tuple[Ast, ...]]  # rows over sizes, and the code where they hold
Said = tuple[Key, int, int]  # a row over sizes `>= 0`, with 0; or one that is a multiple of a number, with this
Kinds = Mapping[frozenset[Said], Sequence[Mapping[str, int]]]  # sizes, by which of some rows hold there
Places = Sequence[tuple[Mapping[str, int], float]]  # sizes, and the tests that are few enough there


def by_absence(
    known: Known,
    pieces: Sequence[Piece],
    body: tuple[Ast, ...],
    make: Callable[[System, Collection[int]], tuple[Ast, ...]],
    once: bool = False,
) -> tuple[Case, Case] | None:
    """Sizes, and all others, where some of the pieces have nothing, and the code of each; None where none is better.

    It is if it tests half as much there or less, and near them nowhere more than two tests or a tenth more; or two
    thirds as much, and nowhere more. Sizes are looked at where most tests are for nothing, as those of a loop or under
    a condition that calls nothing, whatever others are; and where fewer are, but many find each call (`_found_late`),
    if too many are not made by code that runs whole there, and is none of what the sizes lack (`_whole`). Large sizes
    are looked at before small ones: they are more; and those of remainders last, for other sizes may cut loops: one of
    them is, also where so many others have no better code that the rest is left (`_tried`). Places count at which
    anything is called, or more than a few tests are made: where little is asked to find nothing, nothing is to be
    spared. Remainders come again at all sizes, so that some places are enough, and what calls little there may have few
    tests for nothing, if all are many for each call: it tests much less at these, and less at the others.
    Where pieces say any, what is asked for nothing may depend on which of them hold of all sizes: each kind that there
    is has places (`_kinds`) that are looked at where others show nothing, and where codes are compared. It takes as
    many runs more, and other code where it is, of the trees that say so, a twentieth of random ones.
    If the code of the other sizes then would test more than that of all, or takes too many steps, they keep this: small
    ones, those of remainders, and all where the code of those at which one has nothing tests half as much.

    Parameters
    ----------
    make : the code where some rows hold, of the pieces of some numbers, which have all instances that there are; sizes
        at which that takes too many steps are not told apart.
    once : whether loops are to stand once (`atomic`): beside them stands one call alone.
    """
    others = _rows(known, pieces)
    kinds = _kinds(known, [row for row in others if _recurs(known.columns, row)])
    found = {row: each for row in others if (each := _for_nothing(known, row, body, kinds))}
    for row in _tried(sorted(found, key=lambda row: found[row][0]), known.columns, ONCE if once else TRIED):
        _, many, few = found[row]
        there, elsewhere = _sides(*row)
        rest = range(len(pieces)) if has_rows(elsewhere) else others[row]
        beside: tuple[Ast, ...] = ()
        with suppress(BudgetExceeded):
            beside = make(elsewhere, rest)
        less = _tests_less(beside, [*few, *[(at, FEWER * tests) for at, tests in many]])
        if not beside or not less or (once and not _one_call(beside)):
            continue
        much = _tests_less(beside, [(at, LESS * tests - 1) for at, tests in many])
        small, large = (list(_near(known, row, body, sign, much, kinds)) for sign in (1, -1))
        if _tests_less(beside, large):
            with suppress(BudgetExceeded):
                inside = make(there, range(len(pieces)))
                if inside and _tests_less(inside, small):
                    return (there, inside), (elsewhere, beside)
            if much or _recurs(known.columns, row) or seldom(known, *row[:2]):
                return (there, tuple(body)), (elsewhere, beside)
    return None


def _for_nothing(
    known: Known, row: Said, body: Sequence[Ast], kinds: Kinds
) -> tuple[tuple[int, bool, float], Places, Places] | None:
    """Where code makes many tests for nothing, of places at which a row does not hold; how many elsewhere are not more;
    and before all this what says which of rows is to be tried first. None where there are no such places.
    """
    recurs = _recurs(known.columns, row)
    rounded = frozenset(known.columns.aff(row[0], 0).names() if recurs else ())
    large = not recurs and (seldom(known, *row[:2]) or _of_none(known, row))
    for where in _looked_at(known, row, kinds):
        each = [(at, counted(body, at)) for at in where]
        each = [(at, one) for at, one in each if one[2] or one[0] > FEW]  # elsewhere nothing runs, which is soon found
        said = [one for _, one in each if one[1] > FEW or (recurs and one[0] > max(FEW, EACH * one[2]))]
        if not said or (not recurs and len(said) < len(each)):
            continue
        many = [(at, one[0]) for at, one in each if one in said]
        few = [(at, one[0] - 1) for at, one in each if one not in said]
        if all(idle > tests - idle for tests, idle, _ in said):
            return (2 if recurs else 0, not large, -max([tests for tests, _, _ in said])), many, few
        if all(_found_late(*one, large) for one in said) and all(
            _whole(body, at, rounded) <= FEWER * tests for at, tests in many
        ):
            return (2 if recurs else 1, not large, -max([tests / max(1, n) for tests, _, n in said])), many, few
    return None


def _tried(rows: Sequence[Said], columns: Columns, most: int) -> Sequence[Said]:
    """The first of some rows, and the first of remainders behind, if none is among them: these leave statements out at
    sizes however large, whatever bounds say of small ones. Cost: code of one row more, where others are no better.
    """
    if any(_recurs(columns, row) for row in rows[:most]):
        return rows[:most]
    return [*rows[:most], *[row for row in rows[most:] if _recurs(columns, row)][:1]]


def is_atomic(node: Node, sizes: frozenset[str]) -> bool:
    """Whether a loop outside of all others may be one that is asked to be the only one.

    One inside a loop is so in each of its iterations, in whichever case of sizes. A member of sizes alone is no loop.
    """
    for m in node.members if isinstance(node, Band) else ():
        if (m.isolated_type or m.loop_type) == "atomic":  # what is not isolated stands beside what is, in several
            return True
        if not all(isinstance(e, Aff) and e.names() <= sizes for _, e in m.exprs):
            return False
    return any(is_atomic(child, sizes) for child in node.children)


def _one_call(body: Sequence[Ast]) -> bool:
    """Whether some code is one call, under conditions or not."""
    return len(body) == 1 and (
        isinstance(node := body[0], Call) or isinstance(node, If) and not node.other and _one_call(node.body)
    )


class _Parts(Run):
    """A run that says how many tests are made in each part of the code, by its identity."""

    __slots__ = ("made",)

    def __init__(self) -> None:
        super().__init__(LONG, LONG, True, False)
        self.made: dict[int, int] = {}

    def run(self, body: Sequence[Ast], values: Mapping[str, int]) -> None:
        for node in body:
            before = self.tests
            super().run((node,), values)
            self.made[id(node)] = self.made.get(id(node), 0) + self.tests - before


def _whole(body: Sequence[Ast], at: Mapping[str, int], rounded: Collection[str] = ()) -> int:
    """How many tests at some sizes are made by code of which all is called there; of sizes at which it can be run.

    Code that is made without what has nothing there makes about as many, whatever becomes of the others.

    Parameters
    ----------
    rounded : sizes of which remainders are told there: code that asks for floors of these is other code with that.
    """
    run = _Parts()
    run.run(body, at)

    def whole(node: Ast) -> bool:
        if isinstance(node, Call):
            return id(node) in run.met
        told = rounded and any(_rounds(e, rounded) for e in asking(node))
        return not told and all(map(whole, within(node)))

    def total(some: Sequence[Ast]) -> int:
        return sum(
            [run.made.pop(id(n), 0) if whole(n) else 0 if isinstance(n, Call) else total(within(n)) for n in some]
        )

    return total(body)


def _rounds(e: Aff, names: Collection[str]) -> bool:
    """Whether an expression has a floor in which one of some names is."""
    return any(isinstance(atom, Floor) and not atom.num.names().isdisjoint(names) for atom, _ in e.terms)


def _found_late(tests: float, idle: int, calls: int, large: bool) -> bool:
    """Whether many tests find each call, a third of them for nothing, or find each of several calls at large sizes."""
    dense = large and calls > SEVERAL and tests > FEW + DENSE * calls
    return idle > tests - idle or dense or (idle > PART * tests and tests > EACH * calls)


def _near(
    known: Known, row: Said, body: Sequence[Ast], sign: int, much: bool, kinds: Kinds
) -> Iterator[tuple[Mapping[str, int], float]]:
    """Sizes near those where a row begins to hold (sign 1), or not to, and the tests that other code may make there."""
    recurs = _recurs(known.columns, row)
    for held, where in kinds.items():
        if not recurs or (row in held) == (sign > 0):
            for at in where if recurs else places(known, row, FIRST, sign, where):
                yield at, _enough(counted(body, at)[0], much)
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


def _rows(known: Known, pieces: Sequence[Piece]) -> dict[Said, list[int]]:
    """What holds of sizes in some of some pieces: bounds of one, or remainders; and the numbers of the pieces that say
    no such thing, of which there are some. A floor may be another one where pieces are of another scan.
    """
    each: list[dict[Said, None]] = []
    with suppress(BudgetExceeded):
        for piece in pieces:
            gone = {c for c in piece.system.columns() if c >= LOCAL}
            s = of_few_values(known, bounded(WORTH, piece.system.without, gone, known.low, known.high).copy())
            rows = [row for row in (*((*row, 0) for row in s.ineqs.items()), *s.mods) if _of_size(piece.columns, row)]
            rows = [row for row in rows if known.columns.agree(piece.columns, row[0])]
            each.append(
                dict.fromkeys(r for r in rows if not (known.implies_mod(*r) if r[2] else known.implies(*r[:2])))
            )
        every = dict.fromkeys(row for rows in each for row in rows)
        others = {row: [k for k, rows in enumerate(each) if row not in rows] for row in every}
        return {row: some for row, some in others.items() if some}
    return {}


def _of_size(columns: Columns, row: Said) -> bool:
    """Whether a row bounds a size, or is of remainders of sizes, so that some values of one of these satisfy it."""
    key = row[0]
    one = any(abs(v) == 1 and c not in columns.floors for c, v in key)
    return one and columns.of_sizes(key) and (len(key) == 1 or _recurs(columns, row))


def _recurs(columns: Columns, row: Said) -> bool:
    """Whether a row over sizes holds for some remainders of them alone."""
    return bool(row[2]) or (len(row[0]) > 1 and periodic(columns.aff(row[0], 0)))


def _of_none(known: Known, row: Said) -> bool:
    """Whether a row over one size fails at 0 alone, which is promised to be the least: others may be large there."""
    (col, v), *others = row[0]
    return not others and v == 1 and row[1:] == (-1, 0) and known.low.get(col) == 0 and len(known.columns.sizes) > 1


def _sides(key: Key, const: int, d: int) -> tuple[System, System]:
    """Where a row holds, and where it does not: a system each, which says nothing where that is no conjunction."""
    if not d:
        return sides(key, const)
    return System(mods=[(key, const, d)]), System(mods=[(key, const + 1, d)] if d == 2 else ())


def places(
    known: Known, row: Said, far: Iterable[int], sign: int, beside: Sequence[Mapping[str, int]] = ()
) -> Iterator[dict[str, int]]:
    """Sizes from 1 on at which a row holds (sign 1), or not: so far from the last ones where it does, others alike.

    One that is promised to be 0 at least is looked at there, too: it is the first of several owners, or no shift.

    Those of which numbers are known are as near to the others as these say, and those of some remainders are the next
    ones to them that have these, or others.

    Parameters
    ----------
    beside : what other sizes are, in turn.
    """
    key, const, d = row
    columns = known.columns
    ids = {columns.ids[name]: name for name in columns.sizes}
    col, v = next((c, v) for c, v in key if abs(v) == 1 and c in ids)
    value, recurs = columns.aff(key, const), _recurs(columns, row)
    for n in far:
        for others in beside or [dict.fromkeys(columns.sizes, k) for k in (OTHERS if len(ids) > 1 else OTHERS[:1])]:
            at = {c: known.nearest(c, others[name]) for c, name in ids.items()}
            if recurs:
                first = int(max(OTHERS[0], known.low.get(col, 0)))
                each = ({**at, col: k} for k in range(first, first + ALIKE))
                alike = (
                    at for at in each if _holds(value.evaluate({ids[c]: k for c, k in at.items()}), d) == (sign > 0)
                )
                at = next(islice(alike, n, None), {col: 0})
            else:
                at[col] = (-const * v if sign > 0 else (-const - 1) * v) + sign * v * n
            if at[col] >= (0 if known.low.get(col) == 0 else 1) and known.allows(at):
                yield {name: at[c] for c, name in ids.items()}


def where(known: Known, name: str, value: int) -> Iterator[dict[str, int]]:
    """Sizes of which one has a value, from 1 on, and others are alike."""
    return places(known, (((known.columns.ids[name], 1),), -value, 0), (0,), 1)


def _looked_at(known: Known, row: Said, kinds: Kinds) -> Iterator[Sequence[Mapping[str, int]]]:
    """Sizes at which a row does not hold, to be looked at together, until much is tested for nothing at some.

    Those that are so far from the others come first, and then each kind of remainders, which other sizes have where the
    row bounds one.
    """
    for far in FIRST:
        yield list(places(known, row, (far,), -1))
    if _recurs(known.columns, row):
        yield from [where for held, where in kinds.items() if row not in held]
    elif len(known.columns.sizes) > 1 and kinds:
        for where in kinds.values():
            yield list(places(known, row, FIRST[:1], -1, where))


def _kinds(known: Known, rows: Sequence[Said]) -> Kinds:
    """Sizes of each kind that there is of some rows of remainders, by those that hold there: the first from 1 and 3 on.

    So many sizes as the least common multiple of the moduli have all remainders; only the first are looked at where
    these are many. Sizes of which no row speaks are 1 and 3, where what is known of them says no other. It evaluates
    each row at as many places; codes are run at two of each kind.
    """
    columns, found = known.columns, dict[frozenset[Said], list[dict[str, int]]]()
    if not rows:
        return found
    values = [(row, columns.aff(row[0], row[1])) for row in rows]
    ids = {name: columns.ids[name] for name in columns.sizes}
    periods = dict.fromkeys(sorted(ids, key=ids.__getitem__), 1)
    for row, value in values:
        for name in value.names():
            periods[name] = lcm(periods[name], _period(columns, row[0], row[2] or 1))
    most = int(ALIKE ** (1 / len(ids)))
    for first in (1, OTHERS[0]):
        met = set[frozenset[Said]]()
        starts = [int(max(first, known.low.get(ids[name], first))) for name in periods]
        for some in product(*[range(k, k + min(most, p)) for k, p in zip(starts, periods.values(), strict=True)]):
            at = dict(zip(periods, some, strict=True))
            held = frozenset([row for row, value in values if _holds(value.evaluate(at), row[2])])
            if held not in met and known.allows({ids[name]: k for name, k in at.items()}):
                met.add(held)
                if at not in found.setdefault(held, []):
                    found[held].append(at)
    return found


def _period(columns: Columns, key: Key, d: int) -> int:
    """A number of which multiples may be added to sizes: whether a row holds, or is a multiple, stays the same."""
    for c, _ in key:
        if c in columns.floors:
            den, inner, _ = columns.floors[c]
            d = lcm(d, den * _period(columns, inner, 1))
    return d


def _holds(value: int, d: int) -> bool:
    """Whether a row of a value holds."""
    return value % d == 0 if d else value >= 0


def counted(body: Sequence[Ast], at: Mapping[str, int], long: int = LONG) -> tuple[float, int, int]:
    """How many tests code makes at some sizes, for nothing, and calls; any number where too many, or not told."""
    run = Run(long, long, True, False)
    with suppress(Undecided):
        run.run(body, at)
        return run.tests, run.idle, len(run.calls)
    return inf, 0, 0
