"""The loops of one band: from the outermost member to the innermost, group after group.

At each member the lanes are put into groups (`groups`), and each group gets a loop, a single value that needs none,
or its iterations written out. Conditions on what is outside go around the loop (`around`), and what the loop ensures is
known inside.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as List
from dataclasses import dataclass

from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.around import outermost
from polyvolta.sched.loops.ast import FROM_ZERO, Ast, Condition, For, comparisons, has_loops
from polyvolta.sched.loops.conditions import any_of, elsewhere, guarded, loosened, stated
from polyvolta.sched.loops.hoisting.needs import less, limiting, needed
from polyvolta.sched.loops.hoisting.tidy import tidied
from polyvolta.sched.loops.outer import Outer
from polyvolta.sched.loops.parts.alternatives import asks_less, asks_which, needed_cases
from polyvolta.sched.loops.parts.line import in_line
from polyvolta.sched.loops.parts.wholly import wholly
from polyvolta.sched.loops.plainer.by_one import by_one
from polyvolta.sched.loops.rows.bounds import Bounds, end
from polyvolta.sched.loops.rows.groups import CELLS, affordable, groups
from polyvolta.sched.loops.rows.interleave import interleaved
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Group, Lane, Parts, classes, valued
from polyvolta.sched.loops.rows.lengths import longest, span
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.pieces import Piece, Value
from polyvolta.sched.loops.rows.strides import stepping
from polyvolta.sched.loops.spans.cases import by_calls
from polyvolta.sched.loops.spans.endless import comes_by, endless_lanes, refuse
from polyvolta.sched.loops.spans.ends import ends
from polyvolta.sched.loops.spans.few import apart, beside_few, beside_others
from polyvolta.sched.loops.spans.holes import long
from polyvolta.sched.loops.spans.turns import beside_turns, cut_below, holds_bands
from polyvolta.sched.loops.spans.unions import Place, parted
from polyvolta.sched.loops.state import State
from polyvolta.sched.loops.weighing.gaps import apart as free_of_gaps
from polyvolta.sched.tree import LoopType
from polyvolta.sets import Aff, var

LONGEST = 4096  # iterations beyond which a loop is not written out
DOUBLED = 2  # loops in one another that are written out for their two values

Rule = Callable[[Known, Group, int, int], List[Group]]  # takes lanes apart


@dataclass(slots=True)
class BandLoops(Outer):
    """The loops of a band, or of the iterators that are left at a leaf, and what to do inside."""

    inside: Callable[[State], tuple[Ast, ...]]
    filtered: Callable[[List[Piece]], List[Piece]] = lambda _: ()  # what filters straight below let pass

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
        parts = self.cut(k, lanes, state.known)
        out: list[Ast] = []
        for part in parts:
            found = self.grouped(k, part, lanes, state)
            for n, (group, loop_type, joins, wide) in enumerate(found, 1):
                if loop_type == "atomic" and self.writer.parted:
                    one = in_line(state.known, group.lanes, k, self.columns, state.outer)
                    group = group if one is None else Group([one])  # noqa: PLW2901
                with self.writer.among(len(found) - n, joins, wide):
                    out += self.group(k, group, state, alone=len(parts) == len(found) == 1)
                self.writer.limit(out)
        return tuple(out)

    def grouped(
        self, k: int, part: list[Lane], lanes: list[Lane], state: State
    ) -> List[tuple[Group, LoopType, bool, bool]]:
        """The groups of a part of some lanes that share loop k, and how the loop of each is made: its type, whether
        cells are joined, and whether they are many.

        Lanes of one value that are in no region of an atomic loop (`cut`) need not have it. Where they are in no loop
        with those that need it, theirs is of the type that holds outside, and is cut as such a loop is: one over 0 and
        n would look for n in all that is between. What they are cut into stands where they stood, so the order stays.
        """
        loop_type, known, col = self.loop_type(k, part), state.known, self.columns[k]
        first = self.first(known, k)
        free = [lane for lane in part if self.loop_type(k, [lane]) != loop_type]
        cut = loop_type == "separate" and self.typed("separate", k + 1, part)
        self.writer.rough |= cut and not all(lane.shadows[k].exact for lane in part)
        joins, wide = self.writer.joins, self.writer.wide
        most = CELLS if self.writer.cells else affordable(self.writer.waiting)
        few = most if wide else CELLS
        found = groups(known, part, k, self.columns, loop_type, first, free, cut and joins, few)
        if found is None and not wide and most > CELLS:
            found = groups(known, part, k, self.columns, loop_type, first, free, cut, most)
            joins, wide = joins or found is not None, found is not None
        shared = found is None or loop_type == "default"
        if found is None:
            self.writer.unseparated([lane.piece.statement for lane in part], k, self.at)
            found = groups(known, part, k, self.columns, "core", first) or ()
        if shared and self.writer.parted:
            if self.child is None:
                found = [g for together in found for g in self.apart(free_of_gaps, known, together, k)]
            if self.child is None and self.settled(k + 1, lanes):
                found = [g for together in found for g in valued(together, k, col)]
            last = self.innermost(k, lanes)
            found = [p for g in found for p in self.parted(known, g, k, outermost(state), last)]
            if self.settled(k + 1, lanes):
                found = [p for g in found for p in self.tested_apart(known, g, k)]
        out: list[tuple[Group, LoopType, bool, bool]] = []
        for group in found:
            if loop_type == "atomic" and all(lane in free for lane in group.lanes):
                out += self.grouped(k, group.lanes, lanes, state)
            else:
                for one in self.beside_turns(known, group, k):
                    out.append((one, loop_type, joins, wide))  # noqa: PERF401
        return out

    def parted(self, known: Known, group: Group, k: int, once: bool, last: bool) -> List[Group]:
        """A group as several that have no holes, if these are found in few steps."""
        if len(group.lanes) < 2 or len(classes(group.lanes, k, self.columns[k])) < 2:
            return [group]
        self.writer.shares = True
        inside, first = self.typed("separate", k + 1, group.lanes), self.first(known, k)
        below = inside or (self.child is not None and cut_below(self.child))
        place = Place(once, last, inside, below, self.child is None, self.atomic(k, group.lanes))
        found = self.writer.searched([group], parted, known, group, k, self.columns, first, place)
        beside = lambda kn, g, k, _: beside_others(kn, g, k, self.columns, first, self.child)  # noqa: E731
        return [p for g in found for p in self.apart(beside, known, g, k)] if once else found

    def parted_anew(self, k: int, group: Group, state: State) -> List[Group]:
        """A group in a case of remainders as several that have no holes: others are there than without the case.

        Of S[] -> [0] and T[i] -> [i] for odd n no loop is cut at 0 for T, which half of the sizes lack; where n is odd
        one is. Short loops stay as they are. Cost: the search for these once more, for each case.
        """
        lanes, default = group.lanes, self.loop_type(k, group.lanes) == "default"
        if not (default and group.cell is None and long(state.known, [g.shadows[k] for g in lanes], self.columns[k])):
            return [group]
        return self.parted(state.known, group, k, outermost(state), self.innermost(k, lanes))

    def beside_turns(self, known: Known, group: Group, k: int) -> List[Group]:
        """A group as several in which an atomic loop inside has no holes, if these are found in few steps."""
        if not self.writer.parted or self.loop_type(k, group.lanes) in ("atomic", "unroll"):
            return [group]

        def cells(kn: Known) -> List[System]:
            inside = self.atomic_inside(k, group.lanes, kn)
            return [] if inside is None else beside_turns(kn, k, *inside)

        return apart(known, group, k, self.writer.searched([], cells, known))

    def tested_apart(self, known: Known, group: Group, k: int) -> List[Group]:
        """A group as several, if filters below tell few of its values from many, and that is found in few steps."""

        def beside(kn: Known) -> List[Group]:
            each = [self.filtered([lane.piece]) for lane in group.lanes]
            parts = [p for some in each if len(some) > 1 for p in some]
            shadows = [Lane.of(p, self.columns, kn, k).shadows[k] for p in parts]
            return apart(kn, group, k, beside_few(kn, shadows, self.columns[k]) or ())

        return self.writer.searched([group], beside, known)

    def apart(self, rule: Rule, known: Known, group: Group, k: int) -> List[Group]:
        """A group as several by a rule for where the order is free, if these are found in few steps."""
        if len(group.lanes) < 2:
            return [group]
        return self.writer.searched([group], lambda kn: rule(kn, group, k, self.columns[k]), known)

    def group(
        self, k: int, group: Group, state: State, sure: bool = False, decided: bool = False, alone: bool = False
    ) -> tuple[Ast, ...]:
        """The code for lanes that share a loop.

        Parameters
        ----------
        sure : one whose values have no end is known to have an instance.
        decided : this is a case of what is outside already (`outer_cases`).
        alone : no other group stands beside this one, which could share its conditions.
        """
        col, lanes = self.columns[k], group.lanes
        if self.writer.parted:
            lanes = [wholly(state.known, lane, k, col) for lane in self.flatter(lanes, k, state.known)]
        lanes, shared = self.conditions([lane for lane in lanes if not lane.empty], state)
        if alone and outermost(state):
            self.sharpen(k, lanes, shared, state.known)
        conditions, state = self.tested(shared, state)
        lanes = [lane for lane in lanes if not lane.empty]
        if not lanes:
            return ()
        unroll = self.loop_type(k, lanes) == "unroll"
        group = Group(lanes, group.cell)
        cases = self.outer_cases(k, group, state) if not decided else ()
        each: list[tuple[Ast, ...]] = []
        for case in cases:
            inside = state.knowing(case)
            left = [lane.copy() for lane in lanes if not inside.known.excludes(lane.shadows[k])]  # loops settle floors
            for lane in left:  # which more is known of: integers may leave a loop wider steps, if it is no short one
                lane.asked = lane.asked and not long(inside.known, [lane.shadows[k]], col)
            turns = self.in_turn(k, Group(left, group.cell), inside.known)
            turns = [part for g in turns for part in self.parted_anew(k, g, inside)] if case.mods else turns
            turns = [part for g in turns for part in self.beside_turns(inside.known, g, k)]
            each.append(tuple([node for g in turns for node in self.group(k, g, inside, sure, decided=True)]))
        if cases:
            return guarded(conditions, self.in_cases(cases, each, state.known), self.at)
        if not decided and (out := self.beside_calls(k, group, state, sure)):
            return guarded(conditions, out, self.at)
        if not unroll:
            group = interleaved(state.known, group, k, col)
            lanes = group.lanes
        shadows = group.classes(k, col)
        if group.cell is not None:
            cell = group.cell.copy()
            cell.mods += stepping(state.known, shadows, col)
            shadows = [cell]
        said, where = self.where(group, k, state), None
        if said is not None:
            shadows = [s.copy().add(there) for s, some in zip(shadows, said, strict=True) for there in some]
            where = [there for some in said for there in some]
        found = self.bounded(k, lanes, shadows, where, state)
        if found is None:
            return ()
        b, value, state, where = found.bounds, found.value, found.state, found.where
        conditions += found.conditions
        if not (b.bounded(1) and b.bounded(-1)):
            cases = self.unbounded(k, group, b, state, sure)
            if cases is not None:
                return guarded(conditions, cases, self.at)
            b.high, b.highs = [], []
        told: tuple[Condition, ...] = ()
        if value is None and b.bounded(-1):
            if where is None and len(lanes) > 1 and self.writer.parted:
                where = self.several(k, lanes, b, state)
            values = [lane.shadows[k] for lane in lanes] if outermost(state) else ()
            told = self.somewhere(where, b, state, values) if where is not None else ()
        if value is not None:
            body = self.at_value(k, group.parts, value, state)
        elif unroll:
            body = self.unrolled(k, group.parts, b, state)
            told = told if len(body) > comparisons(told) else ()  # what is written out asks no more by itself
        else:
            body = self.twice(k, group.parts, b, state)
            if not body:
                again = self.again(k, group.parts, b, state)
                body = self.loop(k, group.parts, b, state.sharing() if len(shadows) > 1 else state, bool(told))
                if again and asks_which(body, self.name(k)):
                    found = tidied(self.unrolled(k, again, b, state))
                    body, told = (found, ()) if asks_less(found, body) else (body, told)
        return guarded(conditions + told, body, self.at)

    def beside_calls(self, k: int, group: Group, state: State, sure: bool) -> tuple[Ast, ...]:
        """An atomic loop where what needs one may run, and calls of the others elsewhere; nothing where it runs always.

        Only if no band is below, of which code would be written twice.
        """
        lanes, known = group.lanes, state.known
        if not self.writer.parted or len(lanes) < 2 or self.loop_type(k, lanes) != "atomic":
            return ()
        if self.child is not None and holds_bands(self.child):
            return ()
        found = self.writer.searched(None, lambda kn: by_calls(kn, group, k, self.columns), known)
        if found is None:
            return ()
        there, elsewhere, alone = found
        here = Group([lane.copy() for lane in lanes], group.cell)
        out = self.group(k, here, state.knowing(there), sure, decided=True)
        out = guarded(stated(known.columns, there, self.writer.tidy), out, self.at)
        beside = state.knowing(elsewhere[0]) if len(elsewhere) == 1 else state
        some = self.group(k, Group([lane.copy() for lane in alone], group.cell), beside, sure, decided=True)
        conditions = any_of([stated(known.columns, case, self.writer.tidy) for case in elsewhere])
        return *out, *guarded(conditions, some, self.at)

    def at_value(self, k: int, parts: Parts, value: Value, state: State, again: bool = False) -> tuple[Ast, ...]:
        """The code at one value of the member, `again`: of several, for each of which lanes are projected anew.

        So they are at a single one that leaves loops inside values: of N <= 2*i <= N + 3 and i mod 3 = 0 it leaves one.
        """
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
            if self.writer.parted and not again:
                for lane, old in zip(fixed, lanes, strict=True):
                    if not lane.empty and old.resolves(k, self.columns):
                        lane.resolve(k, self.columns, state.known)
            out += self.moved(k, there).visit(k + 1, inside, state.below(e))
        return tuple(out)

    def twice(self, k: int, parts: Parts, b: Bounds, state: State) -> tuple[Ast, ...]:
        """A loop that has two values, a stride apart, written out if none is inside: numbers, without a test.

        Loops inside are seen once there is code for them. Of many such loops in one another a few are written out: code
        doubles with each, and so does what is looked at. None in the code of threads, whose compiler unrolls it.
        """
        writer = self.writer
        if writer.extents or not (writer.parted and b.step > 1 and b.low and b.high):
            return ()
        some = [*[(side, 1) for side in b.low], *[(side, -1) for side in b.high]]
        ends = [end(state.known, side, self.columns[k], sign, b.step, b.residue) for side, sign in some]
        if len(ends) != 2 or ends[0][0] or ends[1][0] or ends[1][1] - ends[0][1] != b.step or writer.doubled == DOUBLED:
            return ()
        writer.doubled += 1
        try:
            body = self.unrolled(k, parts, b, state)
        finally:
            writer.doubled -= 1
        return () if has_loops(body) else body

    def again(self, k: int, parts: Parts, b: Bounds, state: State) -> Parts:
        """Copies of the parts of a loop of two values in a row, to write them out; none of one that is to be a loop.

        Where conditions tell the two apart and few are left at either (`asks_less`), that is the calls of each. Code
        grows by those that both have. None in the code of threads, or above bands, of which code would be made twice.
        """
        writer, lanes = self.writer, [lane for _, some in parts for lane in some]
        if writer.extents or not writer.parted or b.step > 1 or b.lows or b.highs:
            return []
        if self.loop_type(k, lanes) == "atomic" or (self.child is not None and holds_bands(self.child)):
            return []
        found = longest(state.known, b, self.columns[k])
        return [(shift, [lane.copy() for lane in some]) for shift, some in parts] if found and found[1] == 1 else []

    def unrolled(self, k: int, parts: Parts, b: Bounds, state: State) -> tuple[Ast, ...]:
        """The iterations written out."""
        col, lanes = self.columns[k], [lane for _, some in parts for lane in some]
        shadows = Group(lanes).classes(k, col)
        if all(state.known.tableau(s.ineqs.items(), s.eqs).empty for s in shadows):
            return ()
        found = span(state.known, b, shadows, [lane.shadows[k] for lane in lanes], col)
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
            out += self.at_value(k, parts, (key, const + t * b.step, 1), state, True)
        return tuple(out)

    def loop(self, k: int, parts: Parts, b: Bounds, state: State, told: bool) -> tuple[Ast, ...]:
        """One loop; `told` if it stands under alternatives already."""
        m, col, known, writer = self.members[k], self.columns[k], state.known, self.writer
        name = self.name(k)
        once = outermost(state)
        low, high = ends(writer, known, col, 1, b, once), ends(writer, known, col, -1, b, once)
        inside = state.within(b, col)
        if writer.parted and b.step > 1 and len(low) == 1 and isinstance(low[0], Aff):  # from the first one of its step
            first = System([known.columns.row(var(name) - low[0])])
            if not all(inside.known.implies(*row) for row in first.ineqs.items()):
                inside = inside.knowing(first)
        with writer.ranging(name, low, high, b.step, known.columns.aff(*b.residue)):
            body: list[Ast] = []
            for shift, lanes in parts:
                inner = inside.below(var(name) + shift)
                for lane in lanes:
                    lane.shift = 0
                    lane.enter(k, self.columns, inner.known, writer.parted)
                body += (self.moved(k, (((col, 1),), shift, 1)) if shift else self).visit(k + 1, lanes, inner)
        if not body:
            return ()
        if b.low and b.high and longest(known, b, col) is None:
            narrower = b.limited_by(col, limiting(inside.known, body, col))
            if longest(known, narrower, col) is not None:
                b, low, high = narrower, *[ends(writer, known, col, sign, narrower, once) for sign in (1, -1)]
        rows = needed(known, inside.known, body, col, b.system(col))
        conditions = stated(known.columns, rows, writer.tidy)
        search = writer.parted and not told
        cases = needed_cases(known.given(rows), inside.known, body, col, b.system(col)) if search else ()
        if cases:
            body = [*less(body, any_of([stated(known.columns, s, writer.tidy) for s in cases]))]
            cases = loosened(known.given(rows), cases)
            conditions += any_of([stated(known.columns, s, writer.tidy) for s in cases])
        low = FROM_ZERO if low == FROM_ZERO else low
        loop = For(name, low, high, b.step, m.unroll, less(body, conditions), self.at, k, m.coincident)
        if len(parts) > 1 and b.step > 1 and writer.parted:
            loop = by_one(loop, known.columns.aff(*b.residue))
            writer.see(name, loop.lower, loop.upper)
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
