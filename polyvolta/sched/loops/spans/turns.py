"""Whose turn it is first where all members of a band are equal, as nodes below say, and which parts need no turns.

    S[i] -> [i/8, i] for 0 <= i < 4, T[] -> [0, N],    if (N < 0) T, then the values of S; if (N >= 4) T after them;
    where the second member is atomic              else one loop with both: none that runs from 4 to N
    S[i] -> [i, i/2], T[i] -> [i, 20], likewise    a loop of S, then T, to 41, and one of T, then S

An atomic loop is one for each loop outside that is not: that may be several, by which of the statements end before
others begin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import combinations, compress, permutations
from math import inf

from polyvolta.sched.loops.conditions import beyond
from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.rows.bounds import bounds
from polyvolta.sched.loops.rows.columns import Row, Value, total
from polyvolta.sched.loops.rows.groups import cells, groups
from polyvolta.sched.loops.rows.known import Known, sides
from polyvolta.sched.loops.rows.lanes import Group, Lane
from polyvolta.sched.loops.rows.lengths import several
from polyvolta.sched.loops.rows.linear import Key, System, coefficient, local, negated
from polyvolta.sched.loops.rows.linear import dense as laid_out
from polyvolta.sched.loops.rows.order import Compared, First, ends
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.spans.holes import long, many
from polyvolta.sched.loops.spans.shadows import dense, span, within
from polyvolta.sched.tree import Band, Context, Filter, Guard, Leaf, Mark, Member, Node, SetNode
from polyvolta.sched.tree import Sequence as SequenceNode
from polyvolta.sets import Aff, BudgetExceeded
from polyvolta.sets.budgets import bounded
from polyvolta.sets.engine.simplex import Tableau

CASES = 6  # cases of what is outside beyond which an atomic loop is one
PARTS = 4  # loops around atomic ones that are made of one
STEPS = 15_000  # of a search for these, beyond which it is one

Interval = tuple[int | None, int | None]  # from where to where, None where it has no end


def runs_first(node: Node, a: str, b: str) -> bool:
    """Whether all instances of a statement that come to a node may run before all of another one's.

    Children of a set run in any order, even by turns: it is only in one that both come to that they are ordered, and
    they must be so in each of these. In a sequence no child of the first one is behind one of the other, either, so
    that both come to one child at most. Statements of which filters leave any are asked for, not what these leave.
    A mark stands before each.
    """
    match node:
        case Leaf():
            return True
        case Filter() | Context() | Guard() | Mark():
            return runs_first(node.child, a, b)
        case Band():
            values = [(dict(m.exprs).get(a), dict(m.exprs).get(b)) for m in node.members if not m.name]
            pairs = [
                (p, q)
                for p, q in values
                if isinstance(p, Aff) and isinstance(q, Aff) and p.is_constant and q.is_constant
            ]
            if len(pairs) < len(node.members):
                return False
            order = next((p.const - q.const for p, q in pairs if p != q), 0)
            return order < 0 or (order == 0 and runs_first(node.child, a, b))
        case SequenceNode() | SetNode():
            filters = [_let_through(c) for c in node.children if isinstance(c, Filter)]
            if len(filters) < len(node.children):
                return False
            mine, other = ({k for k, names in enumerate(filters) if s in names} for s in (a, b))
            if isinstance(node, SequenceNode) and max(mine, default=0) > min(other, default=0):
                return False
            return all(runs_first(node.children[k], a, b) for k in mine & other)
    return False


def _let_through(node: Filter) -> set[str]:
    """The statements of which a filter names any instance."""
    if node.instances is None:
        return {*node.statements}
    return {space.out.name or "" for space, some in node.instances.parts if some}


def runs_before(node: Node, a: Piece, b: Piece, known: Known, equal: System | None = None) -> bool:
    """Whether all instances of a piece that come to a node may run before all of another one's, as far as rows say.

    In tiles of k, where S[k] -> [k] for k < K and T[] -> [K], each S is before T in a tile that has both. Cost: a
    linear program for each member; integers are asked, within some steps, where rationals would have another order,
    and where the nodes below a band have it, whether all its members are equal for any: if not, these nodes say
    nothing. S[i, j] -> [i] and T[j] -> [-j] are both 0 where j is 0, which it isn't if outside of them it is odd.
    Parts of one statement, which do the same, are compared as far as members say what is equal of each by itself.

    Parameters
    ----------
    equal : rows that speak of both, of members above that are equal.
    """
    if isinstance(node, Filter | Context | Guard | Mark):
        return runs_before(node.child, a, b, known, equal)
    if not isinstance(node, Band) or (equal is None and a.locals() & b.locals()):
        if runs_first(node, a.statement, b.statement):
            return True
        return equal is not None and _never(known, [a.system, b.system, equal])
    a, b, equal = a.copy(), b.copy(), System() if equal is None else equal.copy()
    for m in node.members:
        p, q = (_value(piece, dict(m.exprs).get(piece.statement)) for piece in (a, b))
        if m.name or p is None or q is None:
            return False
        key, const, den = total([(1, q), (-1, p)])
        least = (_least(known, [a.system, b.system, equal], key) + const) / den
        if least > 0:
            return True
        if least <= -1 and not _never(known, [a.system, b.system, equal], negated(key), -const - den):
            return False
        equal.eq(key, const)
    if a.statement != b.statement:
        return runs_before(node.child, a, b, known, equal)
    a.restrict(equal)
    b.restrict(equal)
    return runs_before(node.child, a, b, known)


def _value(piece: Piece, e: object) -> Value | None:
    """The value of a member that is an expression; floors of what is outside are columns of their own."""
    if not isinstance(e, Aff):
        return None
    piece.value(e)
    piece.promote(lambda key: not local(key))
    return piece.value(e)


def _never(known: Known, systems: Sequence[System], key: Key = (), const: int = 0) -> bool:
    """Whether a row is negative at all integers at which some systems hold, as far as a few steps say.

    Without a row, whether the systems hold at none.
    """
    both = System()
    for s in systems:
        both.add(s)
    both.ge(key, const)
    return known.surely_excludes(both)


def _least(known: Known, systems: Collection[System], key: Key) -> float | Fraction:
    """The least value of a row where some systems hold, over the rationals; inf where they hold at no place."""
    columns = {c for s in systems for c in s.columns()}.union(c for c, _ in key)
    floors = [c for c in columns if c in known.columns.floors]
    rows = [row for s in systems for row in s.every_ge()]
    rows += [row for c in floors for row in known.columns.floor_rows(c)]
    columns.update(c for row, _ in rows for c, _ in row)
    place = {c: 1 + k for k, c in enumerate(sorted(columns))}
    tab = Tableau(len(place))
    for row in (*rows, *[row for row in known.ineqs.items() if all(c in place for c, _ in row[0])]):
        tab.add_ineq(laid_out(place, *row))
    if tab.empty:
        return inf
    found = tab.minimum(laid_out(place, key, 0))
    return -inf if found is None else Fraction(*found)


def holds_bands(node: Node) -> bool:
    """Whether there is a band at or below a node."""
    return isinstance(node, Band) or any(map(holds_bands, node.children))


def cut_below(node: Node) -> bool:
    """Whether there is a separate loop at or below a node: it is cut wherever one of its statements has values."""
    own = isinstance(node, Band) and any(m.loop_type == "separate" for m in node.members)
    return own or any(map(cut_below, node.children))


def atomic_below(node: Node, statements: Collection[str]) -> bool:
    """Whether there is an atomic loop at or below a node to which several of some statements come."""
    if isinstance(node, Filter):
        statements = [s for s in statements if s in node.statements]
    if len(statements) < 2:
        return False
    own = isinstance(node, Band) and any(m.loop_type == "atomic" for m in node.members)
    return own or any(atomic_below(child, statements) for child in node.children)


def meet(
    known: Known,
    lanes: Sequence[Lane],
    members: Sequence[Member],
    columns: Sequence[int],
    regions: Sequence[Sequence[System]],
) -> bool:
    """Whether two of some lanes may be in one atomic loop of a band: at equal values outside of it, not at one in it.

    Parameters
    ----------
    columns : of the members' loops, 0 for those that have none.
    regions : the shadows of what the band isolates; loops that are in it in part have the types that hold there.
    """

    areas = [shadows[-1] for shadows in regions]
    isolated = [a for a in lanes if any(not known.excludes(a.shadows[-1].copy().add(area)) for area in areas)]

    def together(a: Lane, b: Lane) -> bool:
        for k, (m, col) in enumerate(zip(members, columns, strict=True)):
            mine, other = (ends(lane.shadows[k], col) if col else (0, 0) for lane in (a, b))
            if mine[0] is not None and mine[0] == mine[1] == other[0] == other[1]:
                continue
            there = m.isolated_type not in (None, m.loop_type) and (a in isolated or b in isolated)
            if there:
                within = _hull([ends(lane.shadows[k], col) for lane in isolated])
                if _apart(mine, within) or _apart(other, within):  # before or after all that is isolated
                    return False
            if (m.isolated_type if there else m.loop_type) == "atomic":
                return True
            if _apart(mine, other):
                return False
        return False

    return any(together(a, b) for a, b in combinations(lanes, 2))


def asked_of_each(
    known: Known,
    members: Sequence[Member],
    columns: Sequence[int],
    regions: Sequence[Sequence[System]],
    lane: Lane,
    parts: Sequence[Lane],
) -> bool:
    """Whether an atomic loop asks for each of some parts of a lane that is not exact, which it would find at once.

    In it parts that meet are told apart at each of its values. The lane has one value in each loop inside there, and
    takes a test at most: of 5*i <= 2*c0 - 2 <= 5*i + 2 a value of c0 leaves one of i. Where loops inside have several,
    the parts test less. Cost: loops are entered up to the atomic one, as where code is made of them.

    Parameters
    ----------
    members, columns, regions : as of `meet`.
    """
    if lane.empty or lane.exact or len(parts) < 2 or not meet(known, parts, members, columns, regions):
        return False
    lane = lane.copy()
    for k, (m, col) in enumerate(zip(members, columns, strict=True)):
        if col:
            known = known.given(lane.shadows[k])
            lane.enter(k, columns, known)
            if "atomic" in (m.loop_type, m.isolated_type):
                return lane.empty or several(known, lane.shadows[k + 1 :], columns[k + 1 :]) == 0
    return False


def as_one(known: Known, columns: Sequence[int], lanes: Sequence[Lane], others: Sequence[Lane]) -> bool:
    """Whether two lanes, whose instances are those of a third one, are worth to be that: it has no more loops than
    either, or than one of them and the other one would be tested, in a loop that both have or for sizes.

    i = 6 beside 1 <= i <= 5 is one test at one value of i mod 5, where both were a loop at each value; 3 <= i <= 9
    beside 1 <= i <= 2 is a loop at each already. At the end of others' loop an instance has no test, but for i = n - 1
    if that is 7 at most and the others run to n.

    One that is exact is no part of one that isn't, of which each value is tested. Where one is before the other in the
    first loop, two are two, too, if a lane besides has values where one of them has and none where the other has: a
    loop over that lane and half of what is one would test both at each value.

    Parameters
    ----------
    lanes, others : the two and the third; the other lanes of the band.
    """
    if any(lane.empty for lane in lanes):
        return False
    one, other, whole = lanes
    if (one.shadows[-1].exact or other.shadows[-1].exact) and not whole.shadows[-1].exact:
        return False
    a, b, both = [several(known, lane.shadows, columns) for lane in lanes]
    if both > max(a, b):
        return False
    k, col = next(((k, col) for k, col in enumerate(columns) if col), (0, 0))
    in_turn = bool(col) and _in_turn(known, one, other, columns)
    if in_turn and any(_meets(known, one, o, k) != _meets(known, other, o, k) for o in others if not o.empty):
        return False
    if both <= min(a, b) or not in_turn:
        return True
    there = known.given(whole.around(k, col, known))
    return not all(there.implies(*row) for row in lanes[a > b].around(k, col, known).every_ge())


def _meets(known: Known, a: Lane, b: Lane, k: int) -> bool:
    """Whether two lanes may have values of loop k in common."""
    return not known.excludes(a.shadows[k].copy().add(b.shadows[k]))


def _in_turn(known: Known, a: Lane, b: Lane, columns: Sequence[int]) -> bool:
    """Whether one of two lanes is before the other in the first loop of which they say different things."""
    for k, col in enumerate(columns):
        if col and a.said(k, col) != b.said(k, col):
            compared = Compared(known, k, columns, None)
            return compared.precedes(a, b) or compared.precedes(b, a)
    return False


def _hull(each: Sequence[Interval]) -> Interval:
    """The least interval that has all of some."""
    lows, highs = zip(*each, strict=True)
    return None if None in lows else min(lows), None if None in highs else max(highs)


def _apart(a: Interval, b: Interval) -> bool:
    """Whether one of two intervals ends before the other begins."""
    return any(x is not None and y is not None and x < y for x, y in ((a[1], b[0]), (b[1], a[0])))


# ---- an atomic loop with holes, and where it has none


def by_turns(known: Known, k: int, lanes: Sequence[Lane], j: int, columns: Sequence[int], first: First) -> list[System]:
    """Cases by which statements end in the atomic loop j before others begin, if it has no holes in one that has all.

    Empty where it has none without, where there is no such case, and where all others have holes but at small sizes.
    """
    if not _holed(_inside(known, lanes, k, columns[k]), lanes, j, columns, first):
        return []
    everywhere = System()  # so that the cases are everything
    found = cells(known, [everywhere, *_overlaps(known, lanes, k, j, columns)], CASES) or []
    turns, usual, every = False, set[bool](), {lane.piece.statement for lane in lanes}
    for case in found if len(found) > 1 else ():
        there = known.given(case)
        here = [lane for lane in lanes if not there.excludes_exactly(lane.shadows[k])]
        filled = _filled(_inside(there, here, k, columns[k]), here, j, columns, first)
        turns |= filled and {lane.piece.statement for lane in here} == every
        if not any(seldom(known, *row) for row in case.ineqs.items()):
            usual.add(filled or bool(beside_turns(there, k, here, j, columns, first)))
    return [beyond(known, case) for case in found] if turns and usual != {False} else []


def beside_turns(
    known: Known, k: int, lanes: Sequence[Lane], j: int, columns: Sequence[int], first: First | None
) -> list[System]:
    """Values of loop k, in order, that are to be loops of their own, if the atomic loop j inside has holes in one that
    has all, and has none, but at values between numbers, where statements end in it before others begin; else none.

    Of S[i] -> [i, i/2] and T[i] -> [i, 20] S is before T up to i = 39, and behind it from i = 42 on: one loop would run
    from 20 to i/2 at each i. Of S[i] -> [i, 0], T[i] -> [i, i + 1] and U[i, j] -> [i, j] for 0 <= i < 2 and 0 <= j < 3
    it is S and T from i = 2 on. They are disjoint, in order and everything, so what runs is as it was. Cost: some
    linear programs, of an atomic loop with holes alone; what is inside is written up to `PARTS` times.
    """
    col = columns[k]
    inside = _inside(known, lanes, k, col)
    if not _holed(inside, lanes, j, columns, first):
        return []
    found = [beyond(inside, s) for by in (0, 1) for s in _overlaps(known, lanes, k + 1, j, columns, by)]
    varying = known.columns.floors_of(col)  # of rows with these one side need not be before the other
    rows = dict.fromkeys(row for s in found for row in s.every_ge() if coefficient(row[0], col))
    rows = [row for row in rows if varying.isdisjoint(c for c, _ in row[0])]
    upper = [row if coefficient(row[0], col) > 0 else (negated(row[0]), -row[1] - 1) for row in rows]

    def filled(some: Sequence[Lane]) -> bool:
        return _filled(_inside(known, some, k, col), some, j, columns, first)

    with suppress(BudgetExceeded):
        return bounded(STEPS, _cut, known, System(), lanes, [*dict.fromkeys(upper)], k, col, filled, PARTS) or []
    return []


def _cut(
    known: Known,
    cell: System,
    lanes: Sequence[Lane],
    rows: Sequence[Row],
    k: int,
    col: int,
    filled: Callable[[Sequence[Lane]], bool],
    most: int,
) -> list[System] | None:
    """A system, which some lanes are within, as several below and from the values on at which some of the rows hold, at
    most so many, which are filled, but for values between numbers; None where that is not so. Two that are filled are
    better than more.
    """
    best: tuple[list[tuple[System, list[Lane]]], list[bool]] | None = None
    for key, const in rows if most > 1 else ():
        each = [(side, within(known, lanes, [side], k, col)) for side in reversed(sides(key, const))]
        if not all(some for _, some in each):
            continue
        parts = [(cell.copy().add(side), some[0]) for side, some in each]
        full = [filled(some) for _, some in parts]
        if not any(many(known, lane.shadows[k], col) for _, some in compress(parts, full) for lane in some):
            continue
        if all(full):
            return [there for there, _ in parts]
        best = best or (parts, full)
    if best is None:
        return None
    out: list[System] = []
    for part, full in zip(*best, strict=True):
        more = None if full else _cut(known, *part, rows, k, col, filled, most - 1)
        if not (full or more) and any(span(lane.shadows[k], col) is None for lane in part[1]):
            return None
        out += more or [part[0]]
    return out


def _inside(known: Known, lanes: Sequence[Lane], k: int, col: int) -> Known:
    """What is known in loop k over lanes: one from c0 - 1 to 1 inside has few values, for c0 is -2 at least there."""
    b = bounds(known, [lane.shadows[k] for lane in lanes], col)
    return known if b is None else b.within(known, col)


def _sparse(known: Known, lanes: Sequence[Lane], j: int, col: int) -> bool:
    """Whether a loop over lanes may be long, and run through many values that none has."""
    return long(known, [lane.shadows[j] for lane in lanes], col) and not dense(known, lanes, j, col)


def _holed(known: Known, lanes: Sequence[Lane], j: int, columns: Sequence[int], first: First | None) -> bool:
    """Whether an atomic loop over lanes runs through many values that none has."""
    each = [some for _, some in Group([*lanes]).parts]
    return any(_sparse(known, some, j, columns[j]) and not _filled(known, some, j, columns, first) for some in each)


def _filled(known: Known, lanes: Sequence[Lane], j: int, columns: Sequence[int], first: First | None) -> bool:
    """Whether no atomic loop over lanes runs through many values that none has: in the order in which these run, those
    that are shifted against others, which run behind them, by themselves.
    """
    each = [g for _, some in Group([*lanes]).parts for g in groups(known, some, j, columns, "atomic", first) or ()]
    return not any(_sparse(known, some.lanes, j, columns[j]) for some in each)


def _overlaps(
    known: Known, lanes: Sequence[Lane], k: int, j: int, columns: Sequence[int], by: int = 0
) -> Iterator[System]:
    """For each two lanes of different statements, where outside of loop k one may have a value of loop j that is not
    before one of the other, or is so much beyond it.
    """
    col, twin = columns[j], known.columns.twin(columns[j])
    gone = {twin, *filter(None, columns[k : j + 1])}
    for a, b in permutations(lanes, 2):
        if a.piece.statement != b.piece.statement and a.shift == b.shift:
            both = b.shadows[j].copy()
            both.replace(col, ((twin, 1),), 0)
            both.add(a.shadows[j]).ge(((col, 1), (twin, -1)), -by)
            rows = beyond(known, both.without(gone, known.low, known.high))
            rows.mods = []
            if not rows.empty:
                yield rows
