"""The loops of one band: from the outermost member to the innermost, group after group.

At each member the lanes are put into groups (`groups`), and each group gets a loop, a single value that needs none,
or its iterations written out. Conditions on what is outside that all lanes of a group share go around the loop, and
what the loop ensures is known inside.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as List
from dataclasses import dataclass, replace

from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.ast import Ast, Condition, For
from polyvolta.sched.loops.conditions import (
    any_of,
    beyond,
    guarded,
    has_rows,
    implied,
    loosened,
    stated,
    uncovered,
    widest,
)
from polyvolta.sched.loops.hoisting.needs import less, needed, seldom, whole
from polyvolta.sched.loops.rows.bounds import (
    Bounds,
    bounds,
    constant_span,
    end,
    longest,
    single,
    stepping,
)
from polyvolta.sched.loops.rows.groups import Group, classes, groups, isolated
from polyvolta.sched.loops.rows.interleave import Parts, interleaved
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import FLOOR, LOOP, Key, System, coefficient, negated
from polyvolta.sched.loops.rows.order import First
from polyvolta.sched.loops.rows.pieces import Value
from polyvolta.sched.loops.spans.endless import comes_by, elsewhere, endless_lanes, refuse
from polyvolta.sched.loops.spans.ends import CASES, FEW, ends
from polyvolta.sched.loops.spans.turns import holds_bands, runs_before, runs_first
from polyvolta.sched.loops.spans.unions import parted
from polyvolta.sched.loops.state import State
from polyvolta.sched.loops.writer import Writer
from polyvolta.sched.tree import Leaf, LoopType, Member, Node, Path
from polyvolta.sets import var

LONGEST = 4096  # iterations beyond which a loop is not written out


@dataclass(slots=True)
class BandLoops:
    """The members of a band, or the iterators that are left at a leaf, and what to do inside.

    Parameters
    ----------
    columns : of each member, 0 where all active statements have the same constant.
    regions : the pieces of what the band isolates, of each its shadow at each member.
    child : the node below, which says what may run first at equal values.
    """

    writer: Writer
    at: Path
    members: List[Member]
    columns: List[int]
    inside: Callable[[State], tuple[Ast, ...]]
    regions: List[List[System]] = ()
    child: Node | None = None

    def visit(self, k: int, lanes: list[Lane], state: State) -> tuple[Ast, ...]:
        """The code for members k, k + 1, ..."""
        if not lanes:
            return ()
        if k == len(self.members):
            return self.inside(state.with_pieces([lane.piece for lane in lanes]))
        m, col = self.members[k], self.columns[k]
        if m.name:
            return self.visit(k + 1, lanes, state.below(var(m.name)))
        if not col:
            return self.visit(k + 1, lanes, state.below(m.of(lanes[0].piece.statement)))
        parts = [lanes]
        for r, shadows in enumerate(() if self.settled(k, lanes) else self.regions):
            parts = [p for part in parts for p in isolated(state.known, part, r, k, col, shadows[k])]
        out: list[Ast] = []
        for part in parts:
            loop_type = self.loop_type(k, part)
            first = self.first(state.known)
            found = groups(state.known, part, k, self.columns, loop_type, first)
            shared = loop_type == "default"
            if found is None:
                names = ", ".join(dict.fromkeys(lane.piece.statement for lane in part))
                note = f"the ranges of {names} along member {k} of the band at {self.at} are too many to separate"
                self.writer.notes += [] if note in self.writer.notes else [note]
                found = groups(state.known, part, k, self.columns, "core", first) or ()
                shared = True
            if shared and self.writer.parted:
                once = not any(e.names() for e in state.prefix)
                last = not any(self.columns[k + 1 :]) and (self.child is None or not holds_bands(self.child))
                found = [p for g in found for p in self.parted(state.known, g, k, once, last)]
            for group in found:
                out += self.group(k, group, state)
        return tuple(out)

    def parted(self, known: Known, group: Group, k: int, once: bool, last: bool) -> List[Group]:
        """A group as several that have no holes, if these are found in few steps."""
        if len(classes(group.lanes, k, self.columns[k])) < 2:
            return [group]
        places = k, self.columns
        return self.writer.searched([group], lambda kn: parted(kn, group, *places, self.first(kn), once, last), known)

    def settled(self, k: int, lanes: list[Lane]) -> bool:
        """Whether no member from k on has a loop: then there is none that could be isolated."""
        columns = [(j, col) for j, col in enumerate(self.columns) if j >= k and col]
        return all(any(coefficient(r, col) for r, _ in lane.shadows[j].eqs) for lane in lanes for j, col in columns)

    def loop_type(self, k: int, lanes: list[Lane]) -> LoopType:
        """How code is generated for member k: lanes in a region that the band isolates may have another type."""
        m = self.members[k]
        inside = m.isolated_type is not None and any(len(lane.left) < len(self.regions) for lane in lanes)
        return m.isolated_type if inside and m.isolated_type is not None else m.loop_type

    def first(self, known: Known) -> First:
        """What says whether one piece may run before another at equal values of all members."""
        child = self.child

        def may(a: Lane, b: Lane) -> bool:
            if child is None:
                return False
            if runs_first(child, a.piece.statement, b.piece.statement):
                return True
            return self.writer.parted and runs_before(child, a.piece, b.piece, known)

        return may

    def group(self, k: int, group: Group, state: State, sure: bool = False) -> tuple[Ast, ...]:
        """The code for lanes that share a loop; `sure`: one whose values have no end is known to have an instance."""
        col, known = self.columns[k], state.known
        lanes, shared = self.conditions(group.lanes, state)
        if not lanes:
            return ()
        if has_rows(shared):
            conditions = stated(known.columns, shared, self.writer.tidy)
            state = state.knowing(shared)
            known = state.known
        else:
            conditions = ()
        lanes = [lane for lane in lanes if not lane.empty]
        unroll = self.loop_type(k, lanes) == "unroll"
        parts = [(0, lanes)] if unroll else interleaved(known, lanes, k, col)
        group = Group([lane for _, some in parts for lane in some], group.cell if len(parts) == 1 else None)
        shadows = group.classes(k, col)
        if group.cell is not None:
            cell = group.cell.copy()
            cell.mods += stepping(known, shadows, col)
            shadows = [cell]
        where = self.where(group, k, state)
        if where is not None:
            shadows = [s.copy().add(there) for s, there in zip(shadows, where, strict=True)]
        b = bounds(known, shadows, col, where)
        if b is None:
            return ()
        around = self.around(k, lanes, state, b) if len(lanes) > 1 else System()
        around.mods += whole(known, shadows[0], col) if len(shadows) == 1 else []
        if not any(e.names() for e in state.prefix):
            around.add(self.unusual(k, lanes, state, b))
        if has_rows(around):
            state = state.knowing(around)
            known = state.known
            conditions += stated(known.columns, around, self.writer.tidy)
            where = None if where is None else [beyond(known, there) for there in where]
            b = bounds(known, shadows, col, where) or b
        if len(shadows) == 1 and len(b.low) + len(b.high) > 2:
            shared, simpler = self.simpler(shadows[0], col, b, state)
            if simpler is not None:
                b, state = simpler, state.knowing(shared)
                known = state.known
                conditions += stated(known.columns, shared, self.writer.tidy)
        value = single(known, b, shadows, col)
        if where is None and self.writer.parted:
            shared, narrower = self.narrower(k, lanes, shadows, b, state, value)
            if narrower is not None:
                b, state = narrower, state.knowing(shared)
                known = state.known
                value = single(known, b, shadows, col)
                conditions += stated(known.columns, shared, self.writer.tidy)
        if not (b.bounded(1) and b.bounded(-1)):
            cases = self.unbounded(k, Group(lanes, group.cell), b, state, sure)
            if cases is not None:
                return guarded(conditions, cases, self.at)
            b.high, b.highs = [], []
        if value is None and b.bounded(-1):
            if where is None and len(lanes) > 1 and self.writer.parted:
                where = self.several(k, lanes, b, state)
            conditions += self.somewhere(where, b, state) if where is not None else ()
        if value is not None:
            body = self.at_value(k, parts, value, state)
        elif unroll:
            body = self.unrolled(k, lanes, b, state)
        else:
            body = self.loop(k, parts, b, state.sharing() if len(shadows) > 1 else state)
        return guarded(conditions, body, self.at)

    def conditions(self, lanes: list[Lane], state: State) -> tuple[list[Lane], System]:
        """The lanes that may have instances here, and the conditions on what is outside that they share."""
        known = state.known
        kept, each = [], []
        for lane in lanes:
            rows = beyond(known, lane.piece.system, state.outer)
            if has_rows(rows) and (rows.empty or known.excludes(rows)):
                continue
            kept.append(lane)
            each.append(rows)
        shared = System()
        if each:
            first = each[0]
            shared.eqs = [r for r in first.eqs if all(r in e.eqs for e in each)]
            shared.ineqs = {r: c for r, c in first.ineqs.items() if all(e.ineqs.get(r) == c for e in each)}
            shared.mods = [r for r in first.mods if all(r in e.mods for e in each)]
        return kept, shared

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
        """Conditions on sizes without which an outermost loop runs for nothing, and that hold but at small ones."""
        each = []
        for lane in lanes:
            aside, rows = lane.around(k, self.columns[k], state.known), System()
            rows.ineqs = {key: const for key, const in aside.ineqs.items() if seldom(state.known, key, const)}
            if self.unensured(k, rows, state, b).everywhere:
                return rows
            each.append(rows)
        return beyond(state.known, each[0]) if len(each) == 1 else implied(state.known, each)

    def outside(self, k: int, lane: Lane, state: State, whole: bool) -> System:
        """What a lane says of what is outside of loop k; as a whole, that the loops inside run is a part of that."""
        known = state.known
        if whole:
            return beyond(known, lane.around(k, self.columns[k], known))
        return beyond(known, lane.piece.system, state.outer)

    def where(self, group: Group, k: int, state: State) -> list[System] | None:
        """For each class of a group what its lanes say of what is outside; None where bounds have no cases."""
        each = classes(group.lanes, k, self.columns[k])
        if len(each) == 1 or group.cell is not None or not self.writer.parted:
            return None
        out = []
        for some in each:
            said = [self.outside(k, lane, state, True) for lane in some]
            there = said[0] if len(said) == 1 else implied(state.known, said)
            there.untie()
            out.append(there)
        return out

    def several(self, k: int, lanes: list[Lane], b: Bounds, state: State) -> list[System] | None:
        """What lanes that say the same of a loop say of what is outside; None where the loop needs no test before it.

        A loop of any length does if they say different things: what runs inside has its own tests, or bounds.
        """
        if b.limited and not fixed(b, state):
            return None
        where = [self.outside(k, lane, state, True) for lane in lanes]
        if fixed(b, state):
            return where
        for there in where:
            self.unensured(k, there, state, b)
        return where if all(map(has_rows, where)) and len(widest(state.known, where)) > 1 else None

    def somewhere(self, where: list[System], b: Bounds, state: State) -> tuple[Condition, ...]:
        """The condition that one of some systems holds, if the loop may run where none does.

        Of more than a few, only where no bound says it.
        """
        if not all(map(has_rows, where)):
            return ()
        where = widest(state.known, where)
        if len(where) > CASES or (len(where) > FEW and b.choosing):
            return ()
        if not any(uncovered(state.known.given(loop), where, state.either) for loop in b.cases()):
            return ()
        where = widest(state.known, loosened(state.known, where))
        return any_of([stated(state.known.columns, there, self.writer.tidy) for there in where])

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
        that always runs a number of times, often for nothing. And where what is inside is written out: no loop would
        ensure them, and each iteration had to test them. Or if they speak of loops outside, which others share, and
        there is no limit without. `value` is the one of the loop, if it has at most one.
        """
        rows, col = System(), self.columns[k]
        runs = value is None and (state.shared or fixed(b, state))
        always, shared = runs and fixed(b, state), runs and state.shared
        inner = [j for j in range(k + 1, len(self.members)) if self.columns[j]]
        written = isinstance(self.child, Leaf) and inner and all(self.loop_type(j, lanes) == "unroll" for j in inner)
        bounded = b.bounded(1) and b.bounded(-1)
        if len(shadows) == 1 and (written or always or (bounded and (shared or not b.limited))):
            aside = System()
            aside.ineqs = self.around_one(k, lanes, shadows[0], state.known).ineqs
            rows = self.unensured(k, beyond(state.known, aside), state, b)
        late = {r: c for r, c in rows.ineqs.items() if shared and any(LOOP <= c < FLOOR for c, _ in r)}
        late = {r: c for r, c in late.items() if longest(without_it(state.known, r, c), b, col) is None}
        if late and not (written or always):
            rows.ineqs = late
            return rows, bounds(state.known.given(rows), shadows, col)
        if not rows.ineqs or rows.empty or not (written or always or longest(state.known, b, col) is None):
            return rows, None
        known = state.known.given(rows)
        found = bounds(known, shadows, col)
        return rows, found if found is None or written or always or longest(known, found, col) is not None else None

    def around_one(self, k: int, lanes: list[Lane], shadow: System, known: Known) -> System:
        """What the one shadow of some lanes says of what is outside of loop k; not to be changed."""
        col = self.columns[k]
        if shadow is lanes[0].shadows[k]:
            return lanes[0].around(k, col, known)
        return shadow.without((col,), known.low, known.high)

    def at_value(self, k: int, parts: Parts, value: Value, state: State, again: bool = False) -> tuple[Ast, ...]:
        """The code at one value of the member, `again`: of several, for each of which lanes are projected anew."""
        out: list[Ast] = []
        for shift, lanes in parts:
            fixed = [lane.fix(k, self.columns[k], *value) for lane in lanes]
            key, const, den = value
            there = (key, const + den * shift, den)
            e = self.writer.tidy(state.known.columns.aff(*there))
            inside = [lane for lane in fixed if not lane.empty]
            for lane in inside if again else ():
                if lane.piece.system.mods or lane.piece.locals():
                    lane.piece.fix_floors()
                    lane.project(self.columns, state.known, k + 1)
            out += self.moved(k, there).visit(k + 1, inside, state.below(e))
        return tuple(out)

    def moved(self, k: int, value: Value) -> BandLoops:
        """The nest with a value put in for a member in what it isolates."""
        regions = [[s.copy() for s in shadows] for shadows in self.regions]
        for s in [s for shadows in regions for s in shadows]:
            s.replace(self.columns[k], *value)
            s.mod(*value)
        return replace(self, regions=regions) if regions else self

    def unrolled(self, k: int, lanes: list[Lane], b: Bounds, state: State) -> tuple[Ast, ...]:
        """The iterations written out."""
        col = self.columns[k]
        shadows = Group(lanes).classes(k, col)
        if all(state.known.tableau(list(s.every_ge())).empty for s in shadows):
            return ()
        found = None if b.lows or b.highs else longest(state.known, b, col)
        found = found or constant_span(state.known, shadows, col, b.step)
        found = found or constant_span(state.known, [lane.shadows[k] for lane in lanes], col, b.step)
        if found is None:
            what = f"the loop {self.name(k)} cannot be unrolled: no constant bounds how often it runs"
            state.fail(self.writer.schedule, self.at, NotScannable, what, "unroll a member within a tile")
        side, steps = found
        if steps > LONGEST:
            what = f"the loop {self.name(k)} would be unrolled {steps + 1} times"
            state.fail(self.writer.schedule, self.at, NotScannable, what, "tile it, and unroll within a tile")
        key, const = end(state.known, side, col, 1, b.step, b.residue)
        out: list[Ast] = []
        for t in range(steps + 1):
            out += self.at_value(k, [(0, lanes)], (key, const + t * b.step, 1), state, True)
        return tuple(out)

    def loop(self, k: int, parts: Parts, b: Bounds, state: State) -> tuple[Ast, ...]:
        """One loop."""
        m, col, known, writer = self.members[k], self.columns[k], state.known, self.writer
        name = self.name(k)
        low, high = ends(writer, known, col, 1, b), ends(writer, known, col, -1, b)
        inside = state.within(b, col)
        with writer.ranging(name, low, high, b.step, known.columns.aff(*b.residue)):
            body: list[Ast] = []
            for shift, lanes in parts:
                inner = inside.below(var(name) + shift)
                for lane in lanes:
                    if lane.piece.floors and lane.piece.promote(inner.outer) and k + 1 < len(self.members):
                        lane.project(self.columns, inner.known, k + 1)
                nest = self.moved(k, (((col, 1),), shift, 1)) if shift else self
                body += nest.visit(k + 1, lanes, inner)
        if not body:
            return ()
        conditions = stated(known.columns, needed(known, inside.known, body, col, b.system(col)), writer.tidy)
        loop = For(name, low, high, b.step, m.unroll, less(body, conditions), self.at, k, m.coincident)
        return guarded(conditions, (loop,), self.at)

    def name(self, k: int) -> str:
        """The variable of a member's loop."""
        return str(self.writer.columns.affs[self.columns[k]])

    def unbounded(self, k: int, group: Group, b: Bounds, state: State, sure: bool) -> tuple[Ast, ...] | None:
        """The code of lanes some of which never end, where one of those has an instance and where none has.

        None if one is `sure` to have one, or has one wherever this runs. Refuses what has no lower bound.
        """
        known = state.known
        possible = [lane for lane in group.lanes if not known.excludes_exactly(lane.piece.system, few=1000)]
        if len(possible) < len(group.lanes):
            return self.group(k, Group(possible), state)
        if not b.bounded(1):
            refuse(self.writer.schedule, self.at, self.name(k), k, group.lanes, b)
        if sure:
            return None
        lasting = endless_lanes(group.lanes, k, self.columns[k])
        found = comes_by(known, lasting, [col for col in self.columns[k:] if col])
        if found is None:
            return None
        out: tuple[Ast, ...] = ()
        if found:
            there = state.knowing(found[0]) if len(found) == 1 else state
            conditions = any_of([stated(known.columns, s, self.writer.tidy) for s in loosened(known, found)])
            here = Group([lane.copy() for lane in group.lanes], group.cell)  # loops settle floors of their lanes
            out = guarded(conditions, self.group(k, here, there, True), self.at)
        others = [lane for lane in group.lanes if lane not in lasting]
        for place in elsewhere(known, found) if others else ():
            some = self.group(k, Group([lane.copy() for lane in others]), state.knowing(place))
            out += guarded(stated(known.columns, place, self.writer.tidy), some, self.at)
        return out


def without_it(known: Known, key: Key, const: int) -> Known:
    """What is known where a row `>= 0` does not hold."""
    opposite = System()
    opposite.ge(negated(key), -const - 1)
    return known.given(opposite)


def fixed(b: Bounds, state: State) -> bool:
    """Whether a loop is an outermost one that always runs a number of times."""
    return b.limited and len(b.low) == len(b.high) == 1 and not any(e.names() for e in state.prefix)
