"""What stands before a loop: conditions on what is outside of it, and the bounds that these leave.

A condition is worth a test where it holds for all lanes of a loop, where the bounds become shorter by it, or where the
loop would run for nothing without. What the bounds ensure by themselves is not tested, and neither is what is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass, field
from itertools import chain
from math import inf

from polyvolta.sched.loops.ast import Condition, comparisons
from polyvolta.sched.loops.conditions import (
    alike,
    any_of,
    beyond,
    elsewhere,
    exactly,
    has_rows,
    implied,
    length,
    loosened,
    stated,
    uncovered,
    widest,
)
from polyvolta.sched.loops.hoisting.met import met
from polyvolta.sched.loops.hoisting.needs import seldom, whole
from polyvolta.sched.loops.rows.bounds import Bounds, bounds, nearer
from polyvolta.sched.loops.rows.known import Known, sides
from polyvolta.sched.loops.rows.lanes import Group, Lane, classes
from polyvolta.sched.loops.rows.lengths import longest, single, single_of_integers
from polyvolta.sched.loops.rows.linear import FLOOR, LOOP, Key, System, coefficient, negated
from polyvolta.sched.loops.rows.pieces import Value
from polyvolta.sched.loops.spans.ends import CASES, FEW, MOST
from polyvolta.sched.loops.spans.turns import holds_bands
from polyvolta.sched.loops.state import State
from polyvolta.sched.loops.writer import Writer
from polyvolta.sched.tree import Leaf, LoopType, Member, Node

BRIEF = 1  # steps of an innermost loop that tests hardly more than is tested before it


@dataclass(frozen=True, slots=True)
class Bounded:
    """The bounds of a loop, and what stands before it.

    Parameters
    ----------
    value : the only one that the member has, if there is no loop.
    state : what is known behind the conditions.
    where : for each class of values what its lanes say of what is outside, if bounds have cases.
    """

    bounds: Bounds
    value: Value | None
    state: State
    where: list[System] | None
    conditions: tuple[Condition, ...]


@dataclass(slots=True)
class Around:
    """The members of a band, or the iterators that are left at a leaf, and what stands before the loop of each.

    Parameters
    ----------
    columns : of each member, 0 where all active statements have the same constant.
    regions : the pieces of what the band isolates, of each its shadow at each member.
    child : the node below, which says what may run first at equal values.
    """

    writer: Writer
    members: List[Member]
    columns: List[int]
    regions: List[List[System]] = field(default=(), kw_only=True)
    child: Node | None = field(default=None, kw_only=True)

    def loop_type(self, k: int, lanes: list[Lane]) -> LoopType:
        """How code is generated for member k: lanes in a region that the band isolates may have another type."""
        m = self.members[k]
        inside = m.isolated_type is not None and any(len(lane.left) < len(self.regions) for lane in lanes)
        found = m.isolated_type if inside and m.isolated_type is not None else m.loop_type
        return "separate" if found == "default" and self.writer.cells else found

    def settled(self, k: int, lanes: list[Lane]) -> bool:
        """Whether no member from k on has a loop: then there is none that could be isolated."""
        columns = [(j, col) for j, col in enumerate(self.columns) if j >= k and col]
        return all(any(coefficient(r, col) for r, _ in lane.shadows[j].eqs) for lane in lanes for j, col in columns)

    def innermost(self, k: int, lanes: list[Lane]) -> bool:
        """Whether there is no loop inside of that of member k."""
        return self.settled(k + 1, lanes) and (self.child is None or not holds_bands(self.child))

    def atomic(self, k: int, lanes: list[Lane]) -> int:
        """The number of the next loop inside of that of member k, if that is atomic; 0 elsewhere."""
        inner = next((j for j, col in enumerate(self.columns) if j > k and col), 0)
        return inner if inner and self.loop_type(inner, lanes) == "atomic" else 0

    def flatter(self, lanes: list[Lane], k: int, known: Known) -> list[Lane]:
        """Lanes of a loop with what their integers leave of loops, if this is found in few steps."""
        flat = lambda kn, lane: lane.flatter(k, self.columns, kn, len(lanes) == 1)  # noqa: E731
        return [self.writer.searched(lane, flat, known, lane) for lane in lanes]

    def conditions(self, lanes: list[Lane], state: State) -> tuple[list[Lane], System]:
        """The lanes that may have instances here, and the conditions on what is outside that they share."""
        known = state.known
        kept, each = [], []
        for lane in lanes:
            rows = beyond(known, lane.piece.system, state.outer)
            if has_rows(rows) and known.excludes_exactly(rows):
                continue
            kept.append(lane)
            each.append(rows)
        return kept, alike(each)

    def sharpen(self, k: int, lanes: list[Lane], shared: System, known: Known) -> None:
        """Make conditions on sizes that lanes share as strong as all of them need it: of 1 <= i < N it is N >= 2."""
        if shared.ineqs:
            each = [lane.around(k, self.columns[k], known).ineqs for lane in lanes]
            for key, const in shared.ineqs.items():
                shared.ineqs[key] = min(const, max([some.get(key, const) for some in each]))

    def bounded(
        self, k: int, lanes: list[Lane], shadows: list[System], where: list[System] | None, state: State
    ) -> Bounded | None:
        """The bounds of a loop, and the conditions before it by which they are as short as they can be.

        Parameters
        ----------
        lanes : those that have instances here.
        shadows : of the classes of their values, each with what `where` says of it.
        where : see the method of that name.

        None where nothing runs.
        """
        col, near = self.columns[k], self.writer.parted
        b = bounds(state.known, shadows, col, where, near)
        if b is None:
            return None
        around = self.around(k, lanes, state, b) if len(lanes) > 1 else System()
        around.mods += whole(state.known, shadows[0], col) if len(shadows) == 1 else []
        if outermost(state):
            around.add(self.unusual(k, lanes, state, b))
        conditions: tuple[Condition, ...] = ()
        if has_rows(around):
            conditions, state = self.tested(around, state)
            where = None if where is None else [beyond(state.known, there) for there in where]
            b = bounds(state.known, shadows, col, where, near) or b
        if len(shadows) == 1 and len(b.low) + len(b.high) > 2:
            rows, simpler = self.simpler(shadows[0], col, b, state)
            if simpler is not None:
                if state.known.excludes_exactly(rows):  # the integers leave none, as of N = 1 mod 3 and 0 <= 5*N <= 2
                    return None
                b = simpler
                more, state = self.tested(rows, state)
                conditions += more
        value = single(state.known, b, shadows, col)
        if where is None and self.writer.parted:
            rows, narrower = self.narrower(k, lanes, shadows, b, state, value)
            if narrower is not None:
                b = narrower
                more, state = self.tested(rows, state)
                value = single(state.known, b, shadows, col)
                conditions += more
        if value is None and len(shadows) == 1 and self.writer.parted:
            value = self.writer.searched(None, single_of_integers, state.known, b, col)
        if outermost(state):  # last, for no bound becomes shorter by it
            more, state = self.tested(self.unmet(k, lanes, state), state)
            conditions += more
            b = nearer(state.known, b, shadows, col) if value is None and self.writer.parted else b
        return Bounded(b, value, state, where, conditions)

    def tested(self, rows: System, state: State) -> tuple[tuple[Condition, ...], State]:
        """The rows as conditions, and the state behind them."""
        if not has_rows(rows):
            return (), state
        return stated(state.known.columns, rows, self.writer.tidy), state.knowing(rows)

    def around(self, k: int, lanes: list[Lane], state: State, b: Bounds) -> System:
        """Conditions outside of a loop that some lanes have and the others imply, if the loop does not ensure them."""
        whole = self.writer.parted and len(classes(lanes, k, self.columns[k])) > 1
        each = [self.outside(k, lane, state, whole) for lane in lanes]
        return self.unensured(k, implied(state.known, each), state, b)

    def unensured(self, k: int, rows: System, state: State, b: Bounds) -> System:
        """The rows without the inequalities that hold where loop k runs; changes them."""
        if rows.ineqs:
            loop = b.within(state.known, self.columns[k])
            rows.ineqs = {key: const for key, const in rows.ineqs.items() if not loop.implies(key, const)}
        return rows

    def unusual(self, k: int, lanes: list[Lane], state: State, b: Bounds) -> System:
        """Conditions on sizes without which an outermost loop runs for nothing, and that hold but at small ones.

        Of one size as its integers are: 4 has no j in N <= j, i = 2 or 3 <= N + 1 - 2*floor(j/2), 3 and less have.
        """
        each = []
        for lane in lanes:
            aside, rows = lane.around(k, self.columns[k], state.known), System()
            rows.ineqs = {key: const for key, const in aside.ineqs.items() if seldom(state.known, key, const)}
            if not aside.exact and self.writer.parted:
                rows = self.writer.searched(rows, self.of_integers, state.known, lane, rows)
            if self.unensured(k, rows, state, b).everywhere:
                return rows
            each.append(rows)
        return beyond(state.known, each[0]) if len(each) == 1 else implied(state.known, each)

    def of_integers(self, known: Known, lane: Lane, rows: System) -> System:
        """Rows on sizes with numbers as tight as the integers of a lane are."""
        out = rows.copy()
        for col in {key[0][0] for key in rows.ineqs if len(key) == 1}:
            lane.tighten(out, col, known, rows.ineqs)
        return out

    def unmet(self, k: int, lanes: list[Lane], state: State) -> System:
        """Conditions on sizes without which an outermost loop runs for nothing, by remainders that projecting loses."""
        each = []
        for lane in lanes:
            aside = lane.around(k, self.columns[k], state.known)
            found = self.exactly(k, lane, state)
            if found is None:
                return System()
            rows = beyond(state.known.given(aside), found)
            rows.ineqs = {key: const for key, const in rows.ineqs.items() if of_remainders(state.known, key)}
            each.append(rows)
        return implied(state.known, each)

    def exactly(self, k: int, lane: Lane, state: State) -> System | None:
        """What a lane says of sizes over the integers where an outermost loop runs for nothing without; None elsewhere.

        There is an i with 4*floor((i + 3)/4) - 4 <= N and M <= 2*i <= M + 2 at some M <= 2*N + 8 only.
        """
        if lane.around(k, self.columns[k], state.known).exact:
            return None
        return self.writer.searched(None, self.sharper, state.known, lane, k, self.outside(k, lane, state, True))

    def sharper(self, known: Known, lane: Lane, k: int, rows: System) -> System | None:
        """Rows on sizes as the integers have them, where they say more by remainders, and are hardly more; else None.

        What else they say is of few sizes, and what loop k ensures as it runs needs no test.
        """
        found = [beyond(known, s) for s in exactly(known.columns, lane.piece.system, tuple(self.columns[k:]))]
        if len(found) != 1 or length(found[0]) > length(rows) + 1:
            return None
        more = beyond(known.given(rows), found[0])
        if more.mods:
            return found[0]
        for key, const in more.every_ge():
            if of_remainders(known, key):
                there = lane.shadows[k].copy()
                there.ge(negated(key), -const - 1)
                if not known.surely_excludes(there):
                    return found[0]
        return None

    def outside(self, k: int, lane: Lane, state: State, whole: bool) -> System:
        """What a lane says of what is outside of loop k; as a whole, that the loops inside run is a part of that."""
        known = state.known
        if whole:
            return beyond(known, lane.around(k, self.columns[k], known))
        return beyond(known, lane.piece.system, state.outer)

    def where(self, group: Group, k: int, state: State) -> list[list[System]] | None:
        """For each class of a group what its lanes say of what is outside; None where bounds have no cases.

        One of a few systems, or what all of more imply; of an atomic loop, which no hole cuts, as integers have it.
        """
        each = classes(group.lanes, k, self.columns[k])
        if len(each) == 1 or group.cell is not None or not self.writer.parted:
            return None
        atomic, out = self.loop_type(k, group.lanes) == "atomic", []
        for some in each:
            exact = [self.exactly(k, lane, state) if atomic else None for lane in some]
            said = [s or self.outside(k, lane, state, True) for s, lane in zip(exact, some, strict=True)]
            said = widest(state.known, said) if all(map(has_rows, said)) else [System()]
            if len(said) > 1 and (len(said) > MOST or not uncovered(state.known, said)):
                said = [implied(state.known, said)]
            out.append(said)
        for there in (there for said in out for there in said):
            there.untie()
        return out

    def several(self, k: int, lanes: list[Lane], b: Bounds, state: State) -> list[System] | None:
        """What lanes that say the same of a loop say of what is outside; None where the loop needs no test before it.

        A loop of any length does if they say different things: what runs inside has its own tests, or bounds. None that
        runs a few times, but an outermost one, or if there are loops inside.
        """
        if b.limited and not fixed(b, state) and self.innermost(k, lanes):
            return None
        where = [self.outside(k, lane, state, True) for lane in lanes]
        if fixed(b, state):
            return where
        for there in where:
            self.unensured(k, there, state, b)
        return where if all(map(has_rows, where)) and len(widest(state.known, where)) > 1 else None

    def somewhere(
        self, where: list[System], b: Bounds, state: State, values: List[System] = ()
    ) -> tuple[Condition, ...]:
        """The condition that one of some systems holds, if the loop may run where none does.

        Of more than a few, only where no bound says it. In a loop without a limit not if none holds at small sizes
        alone: to look for values there costs less than to ask at each iteration at all sizes.

        Parameters
        ----------
        values : what lanes of an outermost loop say of it; a system is left out where the others don't hold and
            integers leave these none (`met`), if the condition is no longer then.
        """
        if not all(map(has_rows, where)):
            return ()
        each, where = where, widest(state.known, where)
        if len(where) > CASES or (len(where) > FEW and b.choosing(FEW)):
            return ()
        there = [state.known.given(loop) for loop in b.cases()]
        nowhere = (known.given(place) for known in there for place in elsewhere(known, where, state.either))
        some = next(nowhere, None)
        if some is None or (state.unlimited and few_sizes(state.known, chain((some,), nowhere))):
            return ()
        found = self.one_of(where, state.known)
        fewer = self.writer.searched(each, met, state.known, each, values) if values and len(where) > 1 else each
        if len(fewer) < len(each):
            shorter = self.one_of(widest(state.known, fewer), state.known)
            found = shorter if comparisons(shorter) <= comparisons(found) else found
        return found

    def one_of(self, where: list[System], known: Known) -> tuple[Condition, ...]:
        """The condition that one of some systems holds."""
        where = widest(known, loosened(known, where))
        return any_of([stated(known.columns, there, self.writer.tidy) for there in where])

    def simpler(self, shadow: System, col: int, b: Bounds, state: State) -> tuple[System, Bounds | None]:
        """Conditions outside of a loop, which its bounds ensure as they are, if enough bounds are spared with them."""
        aside = shadow.without((col,))
        aside.eqs, aside.mods = [], []
        rows = beyond(state.known, aside)
        if not rows.ineqs or rows.empty:
            return rows, None
        found = bounds(state.known.given(rows), [shadow], col)
        spared = 0 if found is None else len(b.low) + len(b.high) - len(found.low) - len(found.high)
        return rows, found if 2 * spared >= len(rows.ineqs) else None

    def narrower(
        self, k: int, lanes: list[Lane], shadows: List[System], b: Bounds, state: State, value: Value | None
    ) -> tuple[System, Bounds | None]:
        """Conditions outside without which nothing runs in a loop, where they are worth a test before it.

        They are if the loop runs but a few times under them, and there is no limit without; if it is an outermost one
        that always runs a number of times, often for nothing, where they are as integers have them (odd N + i and
        6 <= 2*i <= N + 1 have none at N = 5), or that has a loop between numbers inside, which runs in each of its
        iterations. And where what is inside is written out: no loop would ensure them, and each iteration
        had to test them. Or if they speak of loops outside, which others share, and there is no limit without: to this
        loop, or to how often one outside comes by for nothing. `value` is the one of the loop, if it has at most one.
        """
        rows, col = System(), self.columns[k]
        once = value is None and outermost(state)
        always, shared = once and fixed(b, state), value is None and state.shared
        inner = [j for j in range(k + 1, len(self.members)) if self.columns[j]]
        written = isinstance(self.child, Leaf) and inner and all(self.loop_type(j, lanes) == "unroll" for j in inner)
        bounded = b.bounded(1) and b.bounded(-1)
        worth = written or always or (bounded and (shared or not b.limited))
        if len(shadows) == 1 and (worth or once):
            aside = System(self.around_one(k, lanes, shadows[0], state.known).ineqs.items())
            rows = self.unensured(k, beyond(state.known, aside), state, b)
            if always and rows.ineqs and self.writer.parted and not shadows[0].exact:
                each = [self.writer.searched(rows, self.of_integers, state.known, lane, rows) for lane in lanes]
                rows.ineqs = {key: max([some.ineqs[key] for some in each]) for key in rows.ineqs}
            always = always or bool(once and inner and rows.ineqs and self.of_numbers(inner[0], lanes, b, col, state))
        if not (worth or always):
            return rows, None
        late: dict[Key, int] = {}
        brief = shared and rows.ineqs and self.innermost(k, lanes)
        span = longest(state.known, b, col) if brief else None
        several = span is None or span[1] > BRIEF
        for key, const in rows.ineqs.items() if shared else ():
            if any(LOOP <= c < FLOOR for c, _ in key):
                elsewhere = without_it(state.known, key, const)
                if (several and idles(state, elsewhere, key)) or longest(elsewhere, b, col) is None:
                    late[key] = const
        if late and not (written or always):
            rows.ineqs = late
            return rows, bounds(state.known.given(rows), shadows, col)
        if not rows.ineqs or rows.empty or not (written or always or longest(state.known, b, col) is None):
            return rows, None
        known = state.known.given(rows)
        found = bounds(known, shadows, col)
        return rows, found if found is None or written or always or longest(known, found, col) is not None else None

    def of_numbers(self, j: int, lanes: List[Lane], b: Bounds, col: int, state: State) -> bool:
        """Whether loop j, the next inside of one with some bounds, runs from one number to a greater one."""
        mine = self.columns[j]
        found = bounds(b.within(state.known, col), [lane.shadows[j] for lane in lanes], mine)
        if found is None or len(found.low) != 1 or len(found.high) != 1:
            return False
        (low, least, a), (high, most, h) = found.low[0], found.high[0]
        return len(low) == len(high) == 1 and least // a + most // h >= found.step

    def around_one(self, k: int, lanes: list[Lane], shadow: System, known: Known) -> System:
        """What the one shadow of some lanes says of what is outside of loop k; not to be changed."""
        col = self.columns[k]
        if shadow is lanes[0].shadows[k]:
            return lanes[0].around(k, col, known)
        return implied(known, [lane.around(k, col, known) for lane in lanes])


def without_it(known: Known, key: Key, const: int) -> Known:
    """What is known where a row `>= 0` does not hold."""
    return known.given(sides(key, const)[1])


def idles(state: State, known: Known, key: Key) -> bool:
    """Whether a loop outside, the innermost in a row, may run any number of times by what is known where it fails."""
    col = max(c for c, _ in key if c < FLOOR)
    for case in next((cases for cases in state.either if any(col in s.columns() for s in cases)), (System(),)):
        there = known.given(case)
        if all(there.greatest((), low) == inf for low in there.ineqs if coefficient(low, col) > 0):
            return True
    return False


def few_sizes(known: Known, places: Iterable[Known]) -> bool:
    """Whether some places have no sizes but small ones, of one at least that may be large elsewhere."""
    sizes = [known.columns.ids[name] for name in known.columns.sizes]
    large = [c for c in sizes if known.greatest((), ((c, 1),)) == inf]
    return bool(large) and all(place.greatest((), ((c, 1),)) < inf for place in places for c in large)


def of_remainders(known: Known, key: Key) -> bool:
    """Whether there is a floor in a row."""
    return any(c in known.columns.floors for c, _ in key)


def fixed(b: Bounds, state: State) -> bool:
    """Whether a loop is an outermost one that always runs a number of times."""
    return b.limited and len(b.low) == len(b.high) == 1 and outermost(state)


def outermost(state: State) -> bool:
    """Whether there is no loop outside."""
    return not any(e.terms for e in state.prefix)
