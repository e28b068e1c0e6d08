"""Windows of a remainder inside tiles of its divisor, each with bounds of its own.

Where c0 is floor(i/20), what (i + 7) mod 20 <= 9 keeps of a tile is its end and its beginning: floor((i + 7)/20) is
c0 + 1 at its end and c0 before, and at either the remainder is a row. No loop runs through what is between to test it.
Where c0 is floor(i/10) the end is in odd tiles and the beginning in even ones.

The same of floors that have few values between numbers, tiles or not: of [floor(-i/4) + floor(j/4), 4*floor(j/4) - i]
for 0 <= i <= 2 and 1 <= j <= 4 all j but the last one are before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations
from math import gcd, lcm

from polyvolta.sched.loops.rows.columns import Value, total
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane, linked
from polyvolta.sched.loops.rows.linear import Key, System, coefficient, local, negated
from polyvolta.sched.loops.rows.order import Compared
from polyvolta.sched.loops.rows.pieces import NEAR, Piece
from polyvolta.sched.loops.rows.steps import tabled, whole_span
from polyvolta.sets.engine.simplex import Tableau

FEW = 8  # parts of a piece at single values of iterators, or of floors
LONG = 4  # iterations of a loop beside which the one around it hardly counts


def one_by_one(
    piece: Piece,
    names: Collection[str],
    outer: Callable[[Key], bool],
    lane_of: Callable[[Piece], Lane],
    most: int = FEW,
) -> list[Lane] | None:
    """Exact lanes of the parts of a piece at single values of iterators; None where they are not exact, or not few.

    Loops over S[i] -> [(i + 2) mod 3, floor(3*i/2)] run too far, and test what i is. Of 0 <= i <= 2 each has its place.

    Parameters
    ----------
    names : the iterators.
    lane_of : makes a lane of a part.
    """
    out: list[Lane] = []
    for part in piece.at_values(names, outer, most):
        lane = lane_of(part)
        if lane.empty:
            continue
        some = [lane] if lane.exact else one_by_one(part, names, outer, lane_of, most - len(out))
        if some is None:
            return None
        out += some
    return out if 0 < len(out) <= most else None


def determined(known: Known, lane: Lane, columns: Sequence[int]) -> bool:
    """Whether loops determine all iterators, without floors, and those inside of one that runs too far are long.

    Then nothing is tested inside, they seldom run for nothing, and one test of a loop around is little. Of [2t, 2t + i]
    for even i it is so: parts at single values of t would be the loop over 2t written out, each with the loop over i.
    Cost: a linear program for each lower bound of a loop inside.

    Parameters
    ----------
    columns : of the band's loops.
    """
    piece, mine = lane.piece, lane.piece.system.columns()
    if piece.locals() or any(not mine.isdisjoint(known.columns.floors_of(col)) for col in columns if col):
        return False
    first = next((k for k, s in enumerate(lane.shadows) if not s.exact), len(columns))
    inside = zip(lane.shadows[first + 1 :], columns[first + 1 :], strict=True)
    return all(_long(known, s, col) for s, col in inside if col)


def _long(known: Known, s: System, col: int) -> bool:
    """Whether a loop may have more than a few iterations, wherever its step begins, by what its shadow says."""
    rows = [*s.every_ge()]
    step = lcm(*[d // gcd(d, v) for key, _, d in s.mods if (v := coefficient(key, col))])
    each = [(key, const, v) for key, const in rows if (v := coefficient(key, col)) > 0]
    return all(known.greatest(rows, key) + const >= v * (LONG * step - 1) for key, const, v in each)


def in_windows(
    known: Known,
    whole: Sequence[Lane],
    each: Sequence[list[Lane]],
    taken: list[bool],
    columns: Sequence[int],
    free: Sequence[int],
) -> None:
    """Take lanes in parts, a window each, where these take turns in some loop; note in `taken` which are.

    Other lanes may be together with a part, as the like window of another statement; if they are with two of a lane,
    one loop would have both, and test at each value which it is.

    Parameters
    ----------
    whole, each, taken : the lanes, their parts, and whether these are taken.
    columns : of the band's loops.
    free : those of these, 0 for others, that stand beside one another: not atomic ones.
    """
    tested = [n for n, lane in enumerate(whole) if not (taken[n] or lane.empty or lane.shadows[-1].exact)]
    if not tested:
        return
    cut = {n: some for n in tested if (some := windows(whole[n], columns, known))}
    there = [some if turn else [lane] for lane, some, turn in zip(whole, each, taken, strict=True)]
    compared = [Compared(known, k, free, None) for k, col in enumerate(free) if col]

    def together(a: Lane, b: Lane) -> bool:
        return not any(one.precedes(a, b) or one.precedes(b, a) for one in compared)

    while cut:
        lanes = [one for n, some in enumerate(there) for one in cut.get(n, some) if not one.empty]
        parts = linked(lanes, together)
        chained = {n for n, some in cut.items() if any(sum(one in part for one in some) > 1 for part in parts)}
        if not chained:
            break
        cut = {n: some for n, some in cut.items() if n not in chained}
    for n, some in cut.items():
        each[n][:], taken[n] = some, True


def windows(lane: Lane, columns: Sequence[int], known: Known, most: int = FEW) -> list[Lane] | None:
    """Lanes, exact in the innermost loop, of the parts of one at values of floors beside those that loops have; None
    where they are not, or not few.

    Parameters
    ----------
    columns : of the band's loops.
    """
    out: list[Lane] = []
    for part in _beside(lane.piece):
        each = Lane.of(part, columns, known, rounds=lane.rounds)
        if not each.empty:
            some = [each] if each.shadows[-1].exact else windows(each, columns, known, most - len(out))
            if some is None:
                return None
            out += some
    return out if 0 < len(out) <= most else None


def at_floors(
    known: Known,
    whole: Sequence[Lane],
    each: Sequence[list[Lane]],
    taken: list[bool],
    columns: Sequence[int],
    free: Sequence[int],
) -> None:
    """Take lanes in parts at values of floors between numbers, where these take turns; note in `taken` which are.

    They take turns in a loop that has others inside, so that these need no test of what part it is. Where that is in
    the innermost one other lanes must not be together with two parts: the test would be one for each. An instance has
    one value of each floor, so it is in one of the parts. Cost: two linear programs a floor, shadows of a few parts.

    Parameters
    ----------
    whole, each, taken, columns, free : as of `in_windows`.
    """
    some = [n for n, lane in enumerate(whole) if not (taken[n] or lane.empty or lane.shadows[-1].exact)]
    if not some:
        return
    last = max([k for k, col in enumerate(free) if col], default=0)
    places = [Compared(known, 0, [col if k < last else 0 for k, col in enumerate(free)], None)]
    places.append(Compared(known, 0, free, None))
    for n in some:
        others = [one for k, some in enumerate(each) if k != n for one in some if not one.empty]
        parts = _in_turn(known, whole[n], columns, places, others, FEW)
        if len(parts) > 1:
            each[n][:], taken[n] = parts, True


def _in_turn(
    known: Known, lane: Lane, columns: Sequence[int], places: Sequence[Compared], others: Sequence[Lane], most: int
) -> list[Lane]:
    """At most so many parts of a lane at values of floors, which take turns in loops around others, or in all; itself
    if there are none.
    """

    def turns(a: Lane, b: Lane, where: Compared) -> bool:
        return where.precedes(a, b) or where.precedes(b, a)

    for parts in _by_floors(lane.piece):
        each = [Lane.of(part, columns, known, rounds=lane.rounds) for part in parts]
        each = [one for one in each if not one.empty]
        if not 1 < len(each) <= most:
            continue
        outer, inner = (all(turns(a, b, where) for a, b in combinations(each, 2)) for where in places)
        if outer or (inner and all(sum(not turns(one, o, places[1]) for one in each) < 2 for o in others)):
            out: list[Lane] = []
            for k, one in enumerate(each):
                left = most - len(out) - len(each) + k + 1
                exact = one.shadows[-1].exact
                out += [one] if exact else _in_turn(known, one, columns, places, others, left)
            return out
    return [lane]


def _by_floors(piece: Piece) -> Iterator[list[Piece]]:
    """The parts of a piece at the values of each floor of one local column that are few and between numbers."""
    mine = [v for v in piece.floors.values() if v[2] == 1 and _single(v[0])]
    if not mine:
        return
    place, tab = tabled(piece.system)
    found = [] if tab.empty else [(span, v) for v in mine if (span := _span(tab, place, v)) is not None]
    for (begin, end), (key, const, _) in sorted(found, key=lambda one: one[0][1] - one[0][0]):
        if begin < end:
            col, sign = key[-1]
            out = []
            for n in range(begin, end + 1):
                part = piece.copy()
                part.replace(col, *total([(sign, ((), n, 1)), (-sign, (key[:-1], const, 1))]))
                part.settle()
                part.fix_floors()
                out += [] if part.system.empty else [part]
            yield out


def _single(key: Key) -> bool:
    """Whether a row has one local column, and that once."""
    return local(key) and abs(key[-1][1]) == 1 and not local(key[:-1])


def _wide(piece: Piece, key: Key) -> bool:
    """Whether the innermost loop in a row has more values than a few, as far as two inequalities say."""
    col, rows = key[-1][0], {k: const for k, const in piece.system.ineqs.items() if not local(k)}
    each = [const + rows[negated(k)] for k, const in rows.items() if coefficient(k, col) and negated(k) in rows]
    return min(each, default=NEAR) >= NEAR


def _beside(piece: Piece) -> Iterator[Piece]:
    """A piece at each value of a floor with one local column, counted from one of that divisor, or of a multiple,
    that has none; or of one of its parts, each remainder that this leaves by itself.

    Where c0 is floor(i/10), floor(i/20) is c0/2 at even ones and (c0 - 1)/2 at odd ones. It is the floor with the
    fewest such values; none where no floor has few. A loop of a few iterations stays as it is.
    """
    mine = [(d, v) for (d, f, _), v in piece.floors.items() if v[2] == 1 and _single(v[0]) and _wide(piece, f)]
    others = [(d, v) for (d, _, _), v in piece.floors.items() if not local(v[0])]
    pairs = [(v, [total([(e // d, w)])]) for d, v in mine for e, w in others if e % d == 0]
    for d, v in mine:
        for e, (key, const, den) in others:
            if d % e == 0 and 1 < d // e <= NEAR:
                pairs.append((v, [(key, const - den * r, den * (d // e)) for r in range(d // e)]))
    if not pairs:
        return
    place, tab = tabled(piece.system)
    found: list[tuple[int, Value, list[tuple[Value, int, int]]]] = []
    for v, some in pairs if not tab.empty else ():
        spans = [(w, *span) for w in some if (span := _span(tab, place, total([(1, v), (-1, w)])))]
        if len(spans) == len(some):
            found.append((sum(end + 1 - begin for _, begin, end in spans), v, spans))
    for _, (key, const, _), spans in sorted(found, key=lambda f: f[0])[:1]:
        col, sign = key[-1]
        for w, n in [(w, n) for w, begin, end in spans for n in range(begin, end + 1)]:
            part = piece.copy()
            if len(spans) > 1:
                part.system.mod(*w)
            part.replace(col, *total([(sign, w), (-sign, (key[:-1], const - n, 1))]))
            part.settle()
            part.fix_floors()
            if not part.system.empty:
                yield part


def _span(tab: Tableau, place: Mapping[int, int], value: Value) -> tuple[int, int] | None:
    """From which number to which a value is; None where it may have more than a few."""
    found = whole_span(place, tab, *value) if all(c in place for c, _ in value[0]) else None
    return None if found is None or found[1] - found[0] >= NEAR else found
