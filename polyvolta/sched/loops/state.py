"""What is known on the way down the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import FLOOR, LOCAL, LOOP, System
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

    def outer(self, col: int) -> bool:
        """Whether a column stands for something outside of this place."""
        return col < LOOP + len(self.prefix) or FLOOR <= col < LOCAL

    def below(self, value: Aff) -> State:
        """The state below a band member that has a value."""
        return replace(self, prefix=(*self.prefix, value))

    def knowing(self, rows: System) -> State:
        """The state where some rows hold, too."""
        return replace(self, known=self.known.given(rows))

    def within(self, cases: Sequence[System]) -> State:
        """The state in a loop with several cases of bounds, one of which holds."""
        return replace(self, either=(*self.either, tuple(cases))) if len(cases) > 1 else self

    def with_pieces(self, pieces: list[Piece]) -> State:
        """The state with other instances."""
        return replace(self, pieces=tuple(pieces))

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that come this way, in order."""
        return tuple(dict.fromkeys(p.statement for p in self.pieces))

    def fail(self, schedule: Schedule, at: Path, kind: type[PolyvoltaError], what: str, hint: str) -> NoReturn:
        """Refuse the tree, its node marked."""
        raise kind(what, where=schedule.marked(at), hint=hint)
