"""In which cases of what is outside the loop of a member is made, and what runs first there.

A case is worth code of its own where a loop is shorter by it, or is none (`spans.cases`, `spans.few`). The cases are
disjoint, and together they are everything that is known outside.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass, field

from polyvolta.sched.loops.ast import Ast
from polyvolta.sched.loops.conditions import guarded, stated
from polyvolta.sched.loops.isolation import Isolation
from polyvolta.sched.loops.parts.below import Below
from polyvolta.sched.loops.rows.groups import groups
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Group, Lane
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.order import First
from polyvolta.sched.loops.spans.alone import beyond_others
from polyvolta.sched.loops.spans.cases import by_presence, by_sizes, by_strides, by_tests, by_values, by_widths
from polyvolta.sched.loops.spans.few import by_order
from polyvolta.sched.loops.spans.shadows import valued
from polyvolta.sched.loops.spans.turns import by_turns
from polyvolta.sched.loops.state import State
from polyvolta.sched.tree import Path


@dataclass(slots=True)
class Outer(Isolation):
    """The members of a band, and the cases in which the loop of each is made.

    Parameters
    ----------
    below : what is below the band; None at a leaf, and where no loop is looked at again.
    """

    at: Path
    below: Below | None = field(default=None, kw_only=True)

    def typed(self, loop_type: str, k: int, lanes: list[Lane], end: int | None = None) -> bool:
        """Whether the loop of some member from k on, and before the end, is of a type."""
        return any(col and self.loop_type(j, lanes) == loop_type for j, col in [*enumerate(self.columns)][k:end])

    def outer_cases(self, k: int, group: Group, state: State) -> List[System]:
        """Cases of what is outside in which a loop, or an atomic one inside, is shorter; empty where there are none."""
        if len(group.lanes) < 2 or not self.writer.parted:
            return ()
        if self.loop_type(k, group.lanes) == "unroll" and not self.typed("unroll", 0, group.lanes, k):
            return self.writer.searched([], lambda kn: by_presence(kn, group, k, self.columns[k], False), state.known)
        if self.loop_type(k, group.lanes) == "atomic":
            found = self.writer.searched([], lambda kn: by_values(kn, group, k, self.columns), state.known)
            if found or not self.regions:
                return found
            return self.writer.searched([], lambda kn: beyond_others(kn, group, k, self.columns), state.known)
        if self.loop_type(k, group.lanes) not in ("default", "separate"):
            return ()
        search, known = self.writer.searched, state.known
        found = search([], lambda kn: self.by_turns(k, group.lanes, kn), known)  # holes may grow: before strides
        found = found or search([], lambda kn: by_order(kn, group, k, self.columns), known)
        found = found or search([], lambda kn: by_strides(kn, group, k, self.columns, state.outer), known)
        if not self.settled(k, group.lanes):
            found = [s for case in found or (System(),) for s in self.sized(k, group.lanes, case, known) or (case,)]
            found = found if len(found) > 1 else []
        if found:
            return found
        unrolls, settled = self.typed("unroll", k + 1, group.lanes), self.settled(k, group.lanes)
        inside = not (unrolls or settled or self.innermost(k, group.lanes)) and self.typed("atomic", 0, group.lanes, k)
        if unrolls or inside:
            return search([], lambda kn: by_presence(kn, group, k, self.columns[k], inside), known)
        if self.innermost(k, group.lanes) and not settled:
            return search([], lambda kn: by_tests(kn, group, k, self.columns[k], state.outer), known)
        return ()

    def by_turns(self, k: int, lanes: list[Lane], known: Known) -> List[System]:
        """Cases in which an atomic loop inside has no holes."""
        inside = self.atomic_inside(k, lanes, known)
        return [] if inside is None else by_turns(known, k, *inside)

    def atomic_inside(self, k: int, lanes: list[Lane], known: Known) -> tuple[List[Lane], int, List[int], First] | None:
        """Lanes of several statements, the number of the next loop inside of that of member k, all columns, and what
        runs first where these are equal; None where that loop is not atomic.

        It is one of this band or, inside of its last loop, the first one of a band straight below.
        """
        if len({lane.piece.statement for lane in lanes}) < 2:
            return None
        if inner := self.atomic(k, lanes):
            return lanes, inner, self.columns, self.first(known, inner)
        if self.below is None or any(self.columns[k + 1 :]):
            return None
        found = self.below.atomic(known, lanes, k, self.columns)
        return None if found is None else (*found[:3], self.first(known, found[1], found[3]))

    def sized(self, k: int, lanes: list[Lane], case: System, known: Known) -> List[System]:
        """Small sizes and all others within a case, where a loop is shorter then, or alone; empty where it is not."""
        there = known.given(case)
        inside = lanes if case.everywhere else [one for one in lanes if not there.surely_excludes(one.shadows[k])]
        search = self.writer.searched
        found = search([], lambda kn: by_sizes(kn, inside, k, self.columns) or [], there)
        found = found or search([], lambda kn: by_widths(kn, inside, k, self.columns), there)
        return [case.copy().add(sizes) for sizes in found]

    def in_turn(self, k: int, group: Group, known: Known) -> List[Group]:
        """Lanes of one value each in the order of these, as a case of what is outside may say; others as a group."""
        loop_type = "atomic" if self.loop_type(k, group.lanes) == "atomic" else "default"
        some = all if loop_type == "default" else any
        if group.cell is not None or not some(valued(lane.shadows[k], self.columns[k]) for lane in group.lanes):
            return [group]
        return groups(known, group.lanes, k, self.columns, loop_type, self.first(known, k)) or [group]

    def in_cases(self, cases: List[System], each: List[tuple[Ast, ...]], known: Known) -> tuple[Ast, ...]:
        """The code of cases that are everything, which may be the same in all."""
        if all(some == each[0] for some in each):
            return each[0]
        tests = [stated(known.columns, case, self.writer.tidy) for case in cases]
        return tuple([n for test, some in zip(tests, each, strict=True) for n in guarded(test, some, self.at)])
