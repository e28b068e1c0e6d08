"""Pieces that overlap: a bound of one goes where the others have all that lies behind it.

The negation of a conjunction, `not (a and b)`, is written as `not a; not b`, which overlap. Beside `a and b` no two of
these three make one, and all of them are everything. So pieces are widened as cubes of a Boolean function are when it
is minimised (Brayton et al., "Logic minimization algorithms for VLSI synthesis", 1984): a row of a piece is left out
where what it kept out is in the union anyway, within the rows that hold on all pieces, and pieces that lie within the
wider one go. Only a widening that makes the union shorter is taken: disjoint pieces stay disjoint where nothing is
gained.

Rows that can go are guessed by points: few rows have only points of the union behind them, and these few are proved.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.frame import Frame, Member
from ..conjuncts.implies import implied, subtract
from ..conjuncts.project import prune
from ..engine.integer import Point
from ..engine.rows import Row, complement, dot, negate
from . import between


def widened(pieces: Sequence[Conjunct]) -> tuple[Conjunct, ...] | None:
    """Fewer pieces with the same points, one of them wider; None if none is found. They have points and known divs.

    Cost: for each row that another piece may take over from, a few points, and a difference where these say nothing.

    >>> from polyvolta.sets import Set
    >>> pieces = Set("{ [i, j] : i >= 0 and j >= 0; [i, j] : i < 0; [i, j] : j < 0 }").parts[0][1]
    >>> [(c.eqs, c.ineqs) for c in widened(pieces)]
    [((), ())]
    """
    frame = Frame(pieces)
    for c, member in zip(pieces, frame.members, strict=True):
        member.points = [between.lifted(frame.divs, x) for x in between.walked(c)[0]]
    every = dict.fromkeys([r for m in frame.members for r in m.statements])
    valid = dict.fromkeys([r for r in every if all(m.implies(r, exact=False) for m in frame.members)])
    hull = frame.conjunct((), valid)
    if hull is not None and _within(hull, pieces):
        return (prune(hull) or hull,)
    for at, (c, member) in enumerate(zip(pieces, frame.members, strict=True)):
        if len(c.eqs) - len(c.divs) == c.n:
            continue  # a point
        others = (*pieces[:at], *pieces[at + 1 :])
        outside = [between.lifted(frame.divs, x) for x in between.walked(c)[1] if not _holds(others, x)]
        rows = list(dict.fromkeys((*member.statements, *valid)))
        for row in [r for r in rows if r not in valid]:
            if row not in member.ineqs and not any(_begins_behind(m, row) for m in frame.members):
                continue
            rest = [r for r in rows if r != row]
            if any(dot(row, x) < 0 and all(dot(r, x) >= 0 for r in rest) for x in outside):
                continue
            behind = frame.conjunct((), [complement(row), *rest])
            if behind is None or _within(behind, others):
                rows = rest
        if not set(rows).issuperset(member.statements):
            wider = frame.conjunct((), rows)
            wider = wider and prune(wider)
            left = [] if wider is None else [p for p in others if not implied(p, wider)]
            if wider is not None and len(left) < len(others):
                return (*left, wider)
    return None


def _begins_behind(m: Member, row: Row) -> bool:
    """Whether a member has a row opposite to `row >= 0` that lets some points in behind it."""
    start, same = m.least.get(negate(row[1:])), m.least.get(row[1:])
    return start is not None and start >= -row[0] - 1 and (same is None or same > row[0])


def _holds(pieces: Sequence[Conjunct], x: Point) -> bool:
    """Whether a point is in one of the pieces."""
    return any(cj.holds(p, x) for p in pieces)


def _within(c: Conjunct, pieces: Sequence[Conjunct]) -> bool:
    """Whether every point of a conjunct is in one of the pieces."""
    point = cj.sample(c)
    if point is not None and not _holds(pieces, point):
        return False
    if not all(_holds(pieces, x) for x in between.walked(c)[0]):
        return False
    left = [c]
    for p in pieces:
        left = [rest for part in left for rest in subtract(part, p)]
    return all(part.is_empty for part in left)
