"""What is known on the way down the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import Key, System, outside
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Aff, PolyvoltaError


@dataclass(frozen=True, slots=True)
class State:
    """The instances that come this way, what holds here, and the values of the band members above.

    Parameters
    ----------
    either : for each loop above whose bounds are extremes what may bound it; one of these systems holds.
    """

    pieces: tuple[Piece, ...]
    known: Known
    prefix: tuple[Aff, ...] = ()
    either: tuple[tuple[System, ...], ...] = ()

    def outer(self, key: Key) -> bool:
        """Whether a row speaks of nothing but what is outside of this place."""
        return outside(key, len(self.prefix))

    def nowhere(self, lane: Lane) -> bool:
        """Whether a lane contradicts what is known: its values, or outside of them an equality, as N = 1 for even N."""
        system, rows = lane.piece.system, System()
        rows.eqs = [row for row in system.eqs if self.outer(row[0])]
        rows.mods = [row for row in system.mods if self.outer(row[0])]
        if lane.shadows and self.known.excludes(lane.shadows[0]):  # a band may have no members
            return True
        return not rows.everywhere and self.known.excludes_exactly(rows)

    def below(self, value: Aff) -> State:
        """The state below a band member that has a value."""
        return State(self.pieces, self.known, (*self.prefix, value), self.either)

    def knowing(self, rows: System) -> State:
        """The state where some rows hold, too."""
        return State(self.pieces, self.known.given(rows), self.prefix, self.either)

    def within(self, cases: Sequence[System]) -> State:
        """The state in a loop with several cases of bounds, one of which holds."""
        if len(cases) < 2:
            return self
        return State(self.pieces, self.known, self.prefix, (*self.either, tuple(cases)))

    def with_pieces(self, pieces: list[Piece]) -> State:
        """The state with other instances."""
        return State(tuple(pieces), self.known, self.prefix, self.either)

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that come this way, in order."""
        return tuple(dict.fromkeys(p.statement for p in self.pieces))

    def fail(self, schedule: Schedule, at: Path, kind: type[PolyvoltaError], what: str, hint: str) -> NoReturn:
        """Refuse the tree, its node marked."""
        raise kind(what, where=schedule.marked(at), hint=hint)
