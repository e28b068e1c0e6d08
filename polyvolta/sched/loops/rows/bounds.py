"""The bounds and the stride of one loop over what one or several shadows say of its column.

One shadow gives rows a*c + f >= 0, which are the bounds ceil(-f/a), and -b*c + f >= 0, floor(f/b); those that follow
from the others and from what is known outside are left out, by linear programs on one warm tableau. For several
shadows, the rows of each that hold on all others bound the union. Where no row does, the bound is the least of the
shadows' lower (the greatest of their upper) bounds, an `Extreme`; those of a shadow that has no values at some places
outside count where it has some, a `Choice`.

Its stride is what `strides` reads off the congruences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod

from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.linear import Congruence, Key, System, coefficient, least_of, negated, plus, without
from polyvolta.sched.loops.rows.strides import stride, stride_of_all
from polyvolta.sched.loops.rows.tableaus import ALMOST, Sparse

NEAR = 2  # values by which others may miss a bound that is moved for them
FAR = 8  # values that it leaves out at some places, or it isn't
ENDS = 4  # combinations of bounds of shadows beside which common ones are looked at
PLACES = 16  # systems that places at which one shadow alone has values may be

Side = tuple[Key, int, int]  # a row and the absolute value of its coefficient of the loop's column
Partial = tuple[System, list[Side]]  # bounds, and the conditions on what is outside under which they count


@dataclass(slots=True)
class Bounds:
    """What a loop runs over.

    Parameters
    ----------
    rows : bounds that are rows, lower and upper ones.
    lows, highs : the bounds of each shadow and where they count, if no row bounds the union: one of their extremes.
    step, residue : the values are `residue` modulo `step`.
    mods : congruences that the stride ensures.
    """

    low: list[Side]
    high: list[Side]
    lows: list[Partial]
    highs: list[Partial]
    step: int
    residue: Row
    mods: list[Congruence]
    tableau: Sparse | None
    _within: tuple[Known, Known] | None = None

    def cases(self) -> Iterator[System]:
        """The rows that may bound the loop, for each of its least lower and greatest upper bounds."""
        for low in [self.low] if self.low else [some for _, some in self.lows]:
            for high in [self.high] if self.high else [some for _, some in self.highs]:
                yield System([side[:2] for side in (*low, *high)])

    def bounded(self, sign: int) -> bool:
        """Whether the loop has a lower (sign 1) or an upper (-1) bound."""
        some, each = (self.low, self.lows) if sign == 1 else (self.high, self.highs)
        return bool(some or each and all(sides for _, sides in each))

    def choosing(self, few: int) -> bool:
        """Whether more than a few bounds on one side all count under conditions, and the other is what is beyond them.

        The same bound under several conditions is one: it counts where one of these holds.
        """
        sides = (self.lows, self.high), (self.highs, self.low)
        return any(
            len(other) == 1
            and len({tuple(of) for _, of in some}) > few
            and not any(there.everywhere for there, _ in some)
            for some, other in sides
        )

    @property
    def limited(self) -> bool:
        """Whether a lower and an upper bound are plainly a number apart."""
        opposite = [negated(key) for key, _, _ in self.high]
        return any(key in opposite for key, _, _ in self.low)

    def limited_by(self, col: int, some: Sequence[Side]) -> Bounds:
        """The bounds and some more sides, on each side that has rows."""
        low, high = ([side for side in some if sign * coefficient(side[0], col) > 0] for sign in (1, -1))
        return replace(self, low=self.low and [*self.low, *low], high=self.high and [*self.high, *high], _within=None)

    def system(self, col: int) -> System:
        """The rows that hold in the loop."""
        out = System([side[:2] for side in (*self.low, *self.high)], mods=self.mods)
        if self.step > 1:
            out.mod(plus(1, ((col, 1),), -1, self.residue[0]), -self.residue[1], self.step)
        return out

    def within(self, known: Known, col: int) -> Known:
        """What is known in the loop where that is known around it; the last answer is remembered.

        Of a bound with a divisor that is the number, too, that it is at least: of 5*c1 >= 3*c0 - 3 it is c1 >= 0.
        """
        if self._within is None or self._within[0] is not known:
            rows = self.system(col)
            for sign, sides in ((1, self.low), (-1, self.high)):
                for key, const, a in sides:
                    rest = without(key, col)
                    least = least_of(negated(rest), -const, known.low, known.high) if a > 1 and rest else None
                    if least is not None and least % a:
                        rows.ge(((col, sign),), -least // a)
            self._within = known, known.given(rows)
        return self._within[1]


def sides(system: System, col: int) -> tuple[list[Side], list[Side]]:
    """The lower and the upper bounds that a system states."""
    low, high = [], []
    for key, const in system.ineqs.items():
        for c, v in key:
            if c == col:
                (low if v > 0 else high).append((key, const, abs(v)))
                break
    for key, const in system.eqs:
        v = coefficient(key, col)
        if v:
            other = (negated(key), -const, abs(v))
            (low if v > 0 else high).append((key, const, abs(v)))
            (high if v > 0 else low).append(other)
    return low, high


def bounds(
    known: Known, shadows: Sequence[System], col: int, where: Sequence[System] | None = None, near: bool = False
) -> Bounds | None:
    """The bounds of a loop over the union of shadows that differ in what they say of its column.

    None where there is nothing to visit.

    Parameters
    ----------
    where : for each shadow conditions on what is outside without which it has no values.
    near : whether bounds are each shadow's own where those that hold on all are any distance from them all.
    """
    found = []
    for s, there in zip(shadows, where or [System()] * len(shadows), strict=True):
        one = _of_one(known, s, col)
        if one is not None:
            found.append((s, *one, there))
    if not found:
        return None
    if len(found) == 1:
        shadow, low, high, tab, _ = found[0]
        return Bounds(low, high, [], [], *stride(known, shadow, col), tab)
    low = _common(known, [(s, lo, there) for s, lo, _, _, there in found], col, near)
    high = _common(known, [(s, hi, there) for s, _, hi, _, there in found], col, near)
    tab = known.tableau([(k, c) for k, c, _ in (*low, *high)])
    low, high = _needed(tab, 0, low, len(high)), high
    tab = known.tableau([(k, c) for k, c, _ in (*low, *high)])
    high = _needed(tab, len(low), high, 0)
    step, residue = stride_of_all(known, [s for s, *_ in found], col)
    partial = [(_telling(known, there, lo, high), lo) for _, lo, _, _, there in found]
    lows = [] if low else _outermost(known, partial, col, 1)
    partial = [(_telling(known, there, hi, low), hi) for _, _, hi, _, there in found]
    highs = [] if high else _outermost(known, partial, col, -1)
    if len(lows) == 1:
        low, lows, tab = lows[0][1], [], None
    if len(highs) == 1:
        high, highs, tab = highs[0][1], [], None
    return Bounds(low, high, lows, highs, step, residue, [], tab)


def nearer(known: Known, b: Bounds, shadows: Sequence[System], col: int) -> Bounds:
    """The bounds with those of some shadow that others miss by a few values, moved by as much, if all are far off.

    Of 3 - 2*n <= i <= 1 with -27 <= i, and 0 <= i <= n/2 where n >= 1, the first bound holds on both as 2 - 2*n <= i: a
    loop from -27 on would find nothing up to there at small sizes. Some linear programs for each bound of a shadow.
    """
    rows, more = [(key, const) for key, const, _ in (*b.low, *b.high)], ([], [])
    for k, common in enumerate((b.low, b.high) if len(shadows) > 1 else ()):
        for key, const, a in [side for s in shadows for side in sides(s, col)[k]] if common else ():
            if all(key != other for other, *_ in (*common, *more[k])) and not known.ensures(rows, key, const + FAR * a):
                moved = _missed(known, shadows, key, const, NEAR * a)
                more[k].extend([] if moved is None else [(key, const + moved, a)])
    return replace(b, low=[*b.low, *more[0]], high=[*b.high, *more[1]], tableau=None) if any(more) else b


def _missed(known: Known, shadows: Sequence[System], key: Key, const: int, most: int) -> int | None:
    """By how much shadows miss a row `>= 0`; None where that is more than `most`."""
    missed = 0
    for s in shadows:
        tab = known.tableau(s.ineqs.items(), s.eqs)
        if not tab.always(key, const + missed):
            least = tab.minimum(tab.row(key, const)) if tab.always(key, const + most) else None
            if least is None:
                return None
            missed = -(least[0] // least[1])
    return missed


def _of_one(known: Known, shadow: System, col: int) -> tuple[list[Side], list[Side], Sparse | None] | None:
    if shadow.empty:
        return None
    low, high = sides(shadow, col)
    grid = known
    if shadow.mods:
        grid = known.given(System(mods=[row for row in shadow.mods if coefficient(row[0], col)]))
    if grid.residues:
        low = [(*grid.tight(key, const), a) for key, const, a in low]
        high = [(*grid.tight(key, const), a) for key, const, a in high]
    if len(low) <= 1 and len(high) <= 1:
        return low, high, None
    plain = known.plainly([(k, c) for k, c, _ in (*low, *high)], ())
    if plain == -inf:
        return None
    if plain is not None:
        fewer = _plainly_needed(known, low, high)
        more = None if fewer is None else _plainly_needed(known, high, fewer)
        if fewer is not None and more is not None:
            return fewer, more, None
    tab = known.tableau([(k, c) for k, c, _ in (*low, *high)])
    if tab.empty:
        return None
    first = tab.made - len(low) - len(high)
    slacks = {id(side): -(first + k + 1) for k, side in enumerate((*low, *high))}
    if len(low) > 1:
        low = _needed(tab, 0, low, len(high))
    if len(high) > 1:
        high = _needed(tab, 0, high, 0)
    if any(abs(v) > 1 for key, _, _ in (*low, *high) for _, v in key):
        integers = tab.copy()  # of both sides: what a lower bound that is left out implied is not left out, too
        low, high = _needed_of_integers(integers, low, slacks), _needed_of_integers(integers, high, slacks)
    return low, high, tab


def _needed(tab: Sparse, before: int, some: list[Side], behind: int) -> list[Side]:
    """Bounds without those that the other rows of the tableau imply; `behind` rows were added after them.

    Those of many columns are tried first.
    """
    if tab.empty:
        return some
    last = tab.made - behind
    order = sorted(range(len(some)), key=lambda k: (-len(some[k][0]), k))
    out = set()
    for k in order:
        slack = -(last - len(some) + k + 1)
        if len(some) - len(out) > 1 and tab.relaxed_implies(slack):
            out.add(k)
    return [side for k, side in enumerate(some) if k not in out]


def _plainly_needed(known: Known, some: list[Side], others: list[Side]) -> list[Side] | None:
    """`_needed`, of integers too; None where it takes linear programs."""
    for side in sorted(some, key=lambda t: -len(t[0])) if len(some) > 1 else ():
        rest = [t for t in some if t is not side]
        if rest:
            rows = [(k, c) for k, c, _ in (*rest, *others)]
            top = known.plainly(rows, negated(side[0]))
            if top is None:
                return None
            if top <= side[1]:
                some = rest
    return some


def _needed_of_integers(tab: Sparse, some: list[Side], slacks: Mapping[int, int]) -> list[Side]:
    """Bounds without those that never miss by as much as 1, given the others; all are in the tableau, which loses them.

    Parameters
    ----------
    slacks : the constraints of the tableau that they are, by their identities.
    """
    for side in sorted(some, key=lambda t: -len(t[0])):
        if len(some) > 1 and tab.relaxed_implies(slacks[id(side)], ALMOST):
            some = [t for t in some if t is not side]
    return some


def _common(
    known: Known, each: Sequence[tuple[System, list[Side], System]], col: int, near: bool = False
) -> list[Side]:
    """Bounds of some shadow that hold on all; none where they are far beyond all that counts at some places."""
    out: list[Side] = []
    tabs: list[Sparse | None] = [None] * len(each)
    for s, some, _ in each:
        for side in some:
            key, const, _ = side
            if side in out:
                continue
            for k, (other, its, _) in enumerate(each):
                if other is s:
                    continue
                stated = other.ineqs.get(key)
                if stated is not None and stated <= const:
                    continue
                tab = tabs[k]
                if tab is None:  # its bounds are those of its stride: 4 is 3 where values are odd
                    rows = other.ineqs | {key: const for key, const, _ in its}
                    tab = tabs[k] = known.tableau(rows.items(), other.eqs)
                if not tab.always(key, const):
                    break
            else:
                out.append(side)
    if out and _far(known, out, [(s.copy().add(there), some) for s, some, there in each], col):
        if _far(known, out, _alone(known, each), col) or (near and _far_from_all(known, out, each, col)):
            return []  # also where no other shadow has values, or where all have some
    best: dict[Key, Side] = {}
    for side in out:
        if side[0] not in best or side[1] < best[side[0]][1]:
            best[side[0]] = side
    return list(best.values())


def _alone(known: Known, each: Sequence[tuple[System, list[Side], System]]) -> list[tuple[System, list[Side]]]:
    """The shadows where they may have values and no other one is known to have any, and their bounds."""
    out = []
    for k, (s, some, where) in enumerate(each):
        places = [where]
        for j, (_, _, there) in enumerate(each):
            if j != k and len(places) < PLACES:
                places = [rest for place in places for rest in _outside(known, place, there)]
        out += [(s.copy().add(place), some) for place in places]
    return out


def _outside(known: Known, place: System, there: System) -> list[System]:
    """Disjoint systems of the values outside in one system at which another one does not hold; one, at worst."""
    if there.mods:
        beside = known.given(place)
        if not all(beside.implies_mod(*row) for row in there.mods):
            return [place]
    return difference(known, place, list(there.every_ge()))


def _far(known: Known, common: Sequence[Side], alone: Sequence[tuple[System, list[Side]]], col: int) -> bool:
    """Whether bounds are any distance from those of a shadow that may have values where no other one has."""
    gap = known.columns.twin(col)
    beyond = [(plus(1, key, -1, ((gap, 1),)), const) for key, const, _ in common]
    for s, some in alone:
        for key, const, _ in [side for side in some if side not in common]:
            tab = known.tableau([*s.ineqs.items(), (negated(key), -const), *beyond], s.eqs)
            if not tab.empty and tab.maximum(tab.row(((gap, 1),), 0)) is None:
                return True
    return False


def _far_from_all(
    known: Known, common: Sequence[Side], each: Sequence[tuple[System, list[Side], System]], col: int
) -> bool:
    """Whether bounds are any distance from the last value of a shadow behind which no other one has any.

    Of c = c0 for c0 <= n and of c <= 1 for 1 <= n it is c <= n: both have values at all places, and far from n.
    """
    gap = known.columns.twin(col)
    beyond = [(plus(1, key, -1, ((gap, 1),)), const) for key, const, _ in common]
    sides = [[side for side in some if side not in common] for _, some, _ in each]
    for last in product(*sides) if prod(map(len, sides)) <= ENDS else ():
        ends = [(negated(key), -const) for key, const, _ in last]
        for s, _, there in each:
            tab = known.tableau([*s.ineqs.items(), *there.ineqs.items(), *ends, *beyond], [*s.eqs, *there.eqs])
            if not tab.empty and tab.maximum(tab.row(((gap, 1),), 0)) is None:
                return True
    return False


def _telling(known: Known, where: System, some: list[Side], others: list[Side]) -> System:
    """The conditions without which bounds on one side leave something to a loop that has some bounds on the other."""
    out, ends = where.copy(), [(key, const) for key, const, _ in (*some, *others)]
    for key, const in where.ineqs.items() if others else ():
        if known.tableau([(negated(key), -const - 1), *ends]).empty:
            del out.ineqs[key]
    return out


def _outermost(known: Known, each: list[Partial], col: int, sign: int) -> list[Partial]:
    """The lower (sign 1) or upper (-1) bounds of shadows without those that are always within another one's."""
    values = [[end(known, side, col, sign, 1, ((), 0)) for side in some] for _, some in each]

    def within(p: int, q: int, known: Known) -> bool:
        def beyond(a: Row, b: Row) -> bool:
            return known.implies(plus(sign, b[0], -sign, a[0]), sign * (b[1] - a[1]))

        return bool(values[q]) and all(any(beyond(a, b) for b in values[p]) for a in values[q])

    kept = list(range(len(each)))
    for p in range(len(each) - 1, -1, -1):
        others = [q for q in kept if q != p and each[q][0].everywhere]
        where = each[p][0]
        there = known if where.everywhere or not others else known.given(where)
        if any(within(p, q, there) for q in others):
            kept.remove(p)
            continue
        for key, const in list(where.ineqs.items()) if others else ():
            elsewhere = known.given(System([(negated(key), -const - 1)]))
            if any(within(p, q, elsewhere) for q in others):
                del where.ineqs[key]
    return [each[k] for k in kept]


def outermost(known: Known, each: Sequence[Partial], col: int, sign: int) -> list[Side]:
    """One bound of each, wherever it counts, without those that are always within another one's."""
    plain = [(System(), [min(sides, key=lambda side: len(side[0]))]) for _, sides in each]
    return [sides[0] for _, sides in _outermost(known, plain, col, sign)]


def end(known: Known, side: Side, col: int, sign: int, step: int, residue: Row) -> Row:
    """The least (sign 1) or greatest (-1) value within one bound, in the residue class, as a row."""
    key, const, a = side
    rest, shift = known.columns.quotient(a, without(key, col), const)
    value = (negated(rest), -shift) if sign == 1 else (rest, shift)
    if step == 1:
        return value
    gap = plus(sign, residue[0], -sign, value[0]), sign * (residue[1] - value[1])
    jumps = known.columns.quotient(step, *gap)
    return plus(1, residue[0], -sign * step, jumps[0]), residue[1] - sign * step * jumps[1]
