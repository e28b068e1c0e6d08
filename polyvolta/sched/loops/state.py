"""What is known on the way down the tree."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NoReturn

from polyvolta.sched.loops.rows.bounds import Bounds
from polyvolta.sched.loops.rows.columns import outside
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import LOOP, Key, System
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Aff, PolyvoltaError


@dataclass(frozen=True, slots=True)
class State:
    """The instances that come this way, what holds here, and the values of the band members above.

    Parameters
    ----------
    either : for each loop above whose bounds are extremes what may bound it; one of these systems holds.
    shared : whether a loop above runs over values that not all of its instances have.
    """

    pieces: tuple[Piece, ...]
    known: Known
    prefix: tuple[Aff, ...] = ()
    either: tuple[tuple[System, ...], ...] = ()
    shared: bool = False

    def outer(self, key: Key) -> bool:
        """Whether a row speaks of nothing but what is outside of this place."""
        return outside(key, len(self.prefix))

    def nowhere(self, lane: Lane, col: int) -> bool:
        """Whether a lane contradicts what is known: its values, or outside of them an equality, as N = 1 for even N.

        Parameters
        ----------
        col : the column of its outermost loop, 0 where there is none.
        """
        if lane.shadows:
            around = lane.around(0, col, self.known) if col else lane.shadows[0]
            if self.known.nowhere or self.known.excludes(around):
                return True
        rows = self.outside(lane.piece)
        return not rows.everywhere and self.known.excludes_exactly(rows)

    def outside(self, piece: Piece) -> System:
        """The rows of a piece that speak of nothing but what is outside of this place."""
        system, rows = piece.system, System()
        rows.eqs = [row for row in system.eqs if self.outer(row[0])]
        rows.mods = [row for row in system.mods if self.outer(row[0])]
        rows.ineqs = {key: const for key, const in system.ineqs.items() if self.outer(key)}
        rows.empty = system.empty
        return rows

    def below(self, value: Aff) -> State:
        """The state below a band member that has a value."""
        return State(self.pieces, self.known, (*self.prefix, value), self.either, self.shared)

    def knowing(self, rows: System) -> State:
        """The state where some rows hold, too."""
        return State(self.pieces, self.known.given(rows), self.prefix, self.either, self.shared)

    def within(self, b: Bounds, col: int) -> State:
        """The state in a loop, of whose cases of bounds one holds if there are several."""
        cases = tuple(b.cases()) if b.lows or b.highs else ()
        either = (*self.either, cases) if len(cases) > 1 else self.either
        return State(self.pieces, b.within(self.known, col), self.prefix, either, self.shared)

    def with_pieces(self, pieces: list[Piece]) -> State:
        """The state with other instances."""
        return State(tuple(pieces), self.known, self.prefix, self.either, self.shared)

    def sharing(self) -> State:
        """The state in a loop over values that not all of its instances have."""
        return self if self.shared else State(self.pieces, self.known, self.prefix, self.either, True)

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that come this way, in order."""
        return tuple(dict.fromkeys(p.statement for p in self.pieces))

    @property
    def unlimited(self) -> bool:
        """Whether a loop outside has values that no number bounds."""
        loops = [self.known.columns.ids[name] for e in self.prefix for name in e.names()]
        return any(self.known.greatest((), ((c, sign),)) == inf for c in loops if c >= LOOP for sign in (1, -1))

    def fail(self, schedule: Schedule, at: Path, kind: type[PolyvoltaError], what: str, hint: str) -> NoReturn:
        """Refuse the tree, its node marked."""
        raise kind(what, where=schedule.marked(at), hint=hint)
