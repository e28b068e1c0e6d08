"""Calls of a statement at a place: pieces that can be called by the same arguments are one call.

for atomic c0 and c1: S(0, c1) where c0 = 0, S(c0, 0) where c1 = 0     S(c0, c1) where c0 = 0 or c1 = 0
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import FLOOR, LOOP, plus
from polyvolta.sched.loops.rows.pieces import Piece, Value
from polyvolta.sched.tree import Band, Path, Schedule

Calls = tuple[list[Value], list[Piece]]  # what the iterators are, and the pieces of which that is so


def below_atomic(schedule: Schedule, at: Path) -> bool:
    """Whether a loop above a place is atomic, at all of its values or at some."""
    above = [schedule.node(at[:k]) for k in range(len(at))]
    return any("atomic" in (m.loop_type, m.isolated_type) for b in above if isinstance(b, Band) for m in b.members)


def in_few_calls(known: Known, pieces: Sequence[Piece], schedule: Schedule, at: Path) -> list[Calls]:
    """The pieces of one statement by what its iterators are, in the columns outside, at all instances of some of them.

    Each is by itself, unless a loop around the place is atomic, where code stands once. A piece says 0 where c0 is 0.
    Here another one may say c0, or the loop itself is it, which is right for both: then one call is for both, under the
    condition that one of them is here. Its copies would be told apart by as many tests. Cost: linear programs for each
    couple and each iterator whose values are written in several ways.
    """
    out: list[Calls] = []
    if len(pieces) < 2 or not below_atomic(schedule, at):
        return [(list(piece.images.values()), [piece]) for piece in pieces]
    for piece in pieces:
        for k, (values, some) in enumerate(out):
            both = _of_all(known, values, [*some, piece])
            if both is not None:
                out[k] = both, [*some, piece]
                break
        else:
            out.append((list(piece.images.values()), [piece]))
    return out


def _of_all(known: Known, first: Sequence[Value], pieces: Sequence[Piece]) -> list[Value] | None:
    """What the iterators are at all instances of some pieces, as one of them says it, or a loop; None where none is."""
    found: list[Value] = []
    loops: list[Value] = [(((c, 1),), 0, 1) for c in sorted(pieces[-1].system.columns()) if LOOP <= c < FLOOR]
    for d, value in zip(pieces[0].images, first, strict=True):
        for candidate in dict.fromkeys([value, *(p.images[d] for p in pieces), *loops]):
            if all(_equal(known, p, candidate, p.images[d]) for p in pieces):
                found.append(candidate)
                break
        else:
            return None
    return found


def _equal(known: Known, piece: Piece, a: Value, b: Value) -> bool:
    """Whether two values are one wherever a piece has an instance."""
    if a == b:
        return True
    (key, const, den), (other, shift, e) = a, b
    return known.given(piece.system).implies_zero(plus(e, key, -den, other), e * const - den * shift)
