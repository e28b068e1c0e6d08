"""Two pieces told apart by a segment: from a point of one to a point of the other, over an integer point of neither.

Most pairs of pieces cannot be fused, and most of these show it at once: walk from a point of A along the coordinates
to where a row of B fails, likewise from a point of B, and look at the segment between both ends. On it every row is
affine, so A's rows fail from some place on, B's up to some place, and where the first place comes before the second,
the integer points between are in neither. A conjunction holds at all integer points between two of its own, so no
conjunct over the same floors is the union of both.

This takes a few sums for each row, a tenth of what linear programs for the same rows take, and says nothing where it
finds no such segment. `between` looks further, from more points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from math import gcd
from operator import neg
from typing import NamedTuple

from ..budgets import remembered, spend
from ..conjuncts import conjunct as cj
from ..conjuncts import lattice
from ..conjuncts.conjunct import Conjunct, lifted
from ..conjuncts.frame import Frame, Member
from ..engine.integer import solve_equalities
from ..engine.rows import Row, dot, negate
from .between import periods, strides
from .slices import Slices

FAR = 30  # steps of a walk where nothing ends it
TRIES = 3  # points between two pieces that may be in a third one
PAIRS = 15  # of pieces between which such points are looked for, of either kind
Opened = tuple[list[int], list[int]]


class _End(NamedTuple):
    """A point (1, x, q) of a piece, and the values of rows there: those of A, then those of B."""

    point: Row
    values: list[int]


class _Move(NamedTuple):
    """What a step adds to a point and to the values of rows, and the column of a dimension that it changes."""

    step: Row
    slopes: list[int]
    lead: int


class _Walk:
    """A piece, whose rows are the values `own` of an end, and the steps along it."""

    def __init__(self, own: slice, steps: Sequence[int], moves: Sequence[_Move]) -> None:
        self.own, self.steps, self.moves = own, steps, moves

    def down(self, end: _End, target: int) -> _End:
        """From a point of the piece to one at which a row, given its number, is less; the same if none is found."""
        point, values = end
        for step, slopes, _ in self.moves:
            slope = slopes[target]
            if slope:
                room, up = FAR, slope < 0
                for x, v in zip(values[self.own], slopes[self.own], strict=True):
                    if v and (v < 0) is up and x < room * abs(v):
                        room = x // abs(v)
                if room:
                    t = room if up else -room
                    values = [x + t * v for x, v in zip(values, slopes, strict=True)]
                    point = tuple([x + t * v for x, v in zip(point, step, strict=True)])
        return _End(point, values)

    def endless(self) -> Iterator[_Move]:
        """The steps, or opposites of them, that lead from every point of the piece to another one."""
        for move in self.moves:
            own = move.slopes[self.own]
            if max(own, default=0) <= 0:
                yield _Move(negate(move.step), [*map(neg, move.slopes)], move.lead)
            if min(own, default=0) >= 0:
                yield move

    def beside(self, end: _End, p: Row) -> _End | None:
        """A point of the piece near another one, even multiples of the steps away from P, if one is found."""
        for step, slopes, lead in self.moves:
            if (end.point[lead] - p[lead]) // self.steps[lead - 1] % 2:
                for t in (1, -1):
                    values = [x + t * v for x, v in zip(end.values, slopes, strict=True)]
                    if min(values[self.own]) >= 0:
                        end = _End(tuple([x + t * v for x, v in zip(end.point, step, strict=True)]), values)
                        break
                else:
                    return None
        return end


def parting(
    a: Member, b: Member, start: Row, other: Row, opened: Opened | None = None, steps: Sequence[int] | None = None
) -> Iterator[Row]:
    """Integer points (1, x, q) of neither of two members of a frame, on segments from A to B; none says nothing.

    Each proves that no conjunct is the union of A and B. Let p be in A and q in B, each dimension of q - p a multiple
    of its stride s: 1, or with floors a number along multiples of which all floors of both members are affine
    (`between.strides`). Let g be the greatest common divisor of these multiples. The points z_j = p + j (q - p)/g,
    0 <= j <= g, are integer and multiples of strides apart, so every row r of either is r(p) + j (r(q) - r(p))/g at
    z_j, its floors included. A row of A, not negative at p, that is negative at z_j is so at all later ones; a row of
    B likewise at all earlier ones. A point that is found is a z_j where one of each is. A conjunct of rows over the
    same columns that contains A and B contains all z_j, so it isn't their union.

    Or let d be a step of strides that no row of A falls along. A conjunct that contains A has no row that does either:
    it would fail at p + j d for a large j. So it contains q + j d for all j >= 0, and the point is one of these. The
    same with A and B exchanged.

    The members learn of rows that fail at ends. Cost: O(rows * dimensions) for each row of either, and O(rows) for each
    pair of ends.

    Parameters
    ----------
    start, other : a point of A and one of B, with the values of the divs.
    opened : `unsaid` of both, where that is known.
    steps : the strides, where floors of others count as well.

    >>> from polyvolta.sets import Set
    >>> from polyvolta.sets.conjuncts.frame import Frame
    >>> ((_, cs),) = Set("{ [i, j] : 0 <= i <= 9 and 0 <= j <= 3; [i, j] : 0 <= i <= 3 and 0 <= j <= 9 }").parts
    >>> next(parting(*Frame(cs).members, (1, 0, 0), (1, 0, 0)))
    (1, 5, 4)
    """
    spend()
    size, rows = len(a.statements), (*a.statements, *b.statements)
    open_a, open_b = opened or unsaid(a, b)
    if not open_a or not open_b:  # one says all that the other does
        return
    steps = steps or strides((a, b))
    if a.frame.divs:
        moved = _on_steps(b, other, start, steps)
        if moved is None:
            return
        other = moved
    moves = _moves(a, steps, rows)
    here = _Walk(slice(size), steps, moves)
    there = _Walk(slice(size, len(rows)), steps, moves if _freely(a) and _freely(b) else _moves(b, steps, rows))
    q = _End(other, [dot(r, other) for r in rows])
    found = [end for k in open_a if min((end := there.down(q, k)).values[:size]) < 0]
    ends = [*{end.point: end for end in found}.values()]  # many walks lead to one
    if ends:
        yield from _out(ends, here, there)
        p = _End(start, [dot(r, start) for r in rows])
        others: dict[Row, _End] = {}
        for k in open_b:
            end = here.down(p, size + k)
            if min(end.values[size:]) < 0 and end.point not in others:
                others[end.point] = end
                yield from _between(end, ends, here, there)
        left = [*others.values()]
        yield from _out(left, there, here)
        a.deny([b.statements[k] for k in open_b if any(end.values[size + k] < 0 for end in left)])
    b.deny([a.statements[k] for k in open_a if any(end.values[k] < 0 for end in ends)])


def several(pieces: Sequence[Conjunct]) -> bool:
    """Whether it is plain that no conjunct over the floors of pieces, and of the grid of all, is their union.

    The pieces have points and known divs. A point of none is seen between two of them. Few pairs are looked at, those
    with the first piece before others: where these say nothing, most unions are convex.

    >>> from polyvolta.sets import Set
    >>> several(Set("{ [i] : 0 <= i <= 4; [i] : 6 <= i <= 9 }").parts[0][1])
    True
    >>> several(Set("{ [i] : 0 <= i <= 4; [i] : 6 <= i <= 9; [5] }").parts[0][1])
    False
    """
    frame = Frame(pieces)
    if Slices(frame).several([(frame.members[i], frame.members[j]) for i, j in _some_pairs(len(pieces))]):
        return True
    steps = [1] * frame.n
    if frame.divs:
        grids = [grid for c in pieces if (grid := lattice.of_conjunct(c)) is not None]
        frame = Frame((*pieces, lattice.conjunct(frame.n, lattice.joined(grids))))
        steps = periods(frame.members)
    members = frame.members[: len(pieces)]
    found = _between_pairs(members, pieces, steps)
    return any(not any(m.holds(z) for m in members) for z in found)


def _between_pairs(members: Sequence[Member], pieces: Sequence[Conjunct], steps: Sequence[int]) -> Iterator[Row]:
    """Points of neither between two pieces."""
    starts: dict[int, Row | None] = {}

    def start(at: int) -> Row | None:
        if at not in starts:
            point = cj.sample(pieces[at])
            starts[at] = None if point is None else lifted(members[at].frame.divs, point)
        return starts[at]

    for i, j in _some_pairs(len(pieces)):
        a, b = members[i], members[j]
        opened = unsaid(a, b)
        if not settled(a, b, opened) and (p := start(i)) and (q := start(j)):
            yield from islice(parting(a, b, p, q, opened, steps), TRIES)


def _some_pairs(count: int) -> list[tuple[int, int]]:
    """A few pairs of as many pieces: those with the first one, and of many pieces some that stand far from it."""
    first = islice(combinations(range(count), 2), PAIRS)
    return list(dict.fromkeys((*first, *[(k, k + count // 2) for k in range(min(PAIRS, count // 2))])))


def settled(a: Member, b: Member, opened: Opened) -> bool:
    """Whether it is plain that two members are one: one says all that the other does, or they are side by side."""
    open_a, open_b = opened
    return not open_a or not open_b or seam(a, b, opened) is not None


def seam(a: Member, b: Member, opened: Opened) -> tuple[Row, Row] | None:
    """The rows of two members that are all that either says more than the other, where every point satisfies one.

    Then what they say besides is their union.
    """
    open_a, open_b = opened
    if len(open_a) == len(open_b) == 1:
        r, s = a.statements[open_a[0]], b.statements[open_b[0]]
        if r[0] + s[0] >= -1 and r[1:] == negate(s[1:]):
            return r, s
    return None


def _out(ends: Sequence[_End], one: _Walk, other: _Walk) -> Iterator[Row]:
    """Points of neither of two pieces that lie behind ends of the other one, along endless steps of the one."""
    for step, slopes, _ in one.endless() if ends else ():
        for point, values in ends:
            leaving = [x // -v + 1 for x, v in zip(values[other.own], slopes[other.own], strict=True) if v < 0]
            t = min(leaving, default=0)
            if t and any(x + t * v < 0 for x, v in zip(values[one.own], slopes[one.own], strict=True)):
                yield tuple([x + t * v for x, v in zip(point, step, strict=True)])


def _between(near: _End, fars: Sequence[_End], here: _Walk, there: _Walk) -> Iterator[Row]:
    """Points of neither on segments between an end of one piece and those of the other."""
    for far in fars:
        for p, q in _pairs(near, far, here, there):
            z = _over(p, q, here.own.stop, here.steps)
            if z is not None:
                yield z


def _pairs(near: _End, far: _End, here: _Walk, there: _Walk) -> Iterator[tuple[_End, _End]]:
    """Two ends, and either of them moved so that the middle of both is an integer point."""
    yield near, far
    moved = there.beside(far, near.point)
    if moved is not None and moved is not far:
        yield near, moved
    moved = here.beside(near, far.point)
    if moved is not None and moved is not near:
        yield moved, far


def unsaid(a: Member, b: Member) -> Opened:
    """The numbers of the rows of either of two members that the other one doesn't state."""
    return _unsaid(a, b), _unsaid(b, a)


def _unsaid(m: Member, other: Member) -> list[int]:
    least = other.least
    return [k for k, r in enumerate(m.statements) if (const := least.get(r[1:])) is None or const > r[0]]


def _on_steps(m: Member, q: Row, p: Row, steps: Sequence[int]) -> Row | None:
    """A point of a member near its point Q that is multiples of the steps away from P, if one is found."""
    for k, step in enumerate(steps, 1):
        d = (p[k] - q[k]) % step
        if d:
            near = [lifted(m.frame.divs, (*q[1:k], q[k] + t, *q[k + 1 : 1 + m.frame.n])) for t in (d, d - step)]
            q = next(filter(m.holds, near), ())
            if not q:
                return None
    return q


def _freely(m: Member) -> bool:
    """Whether the steps along a member are those along the dimensions, as of any other one of its frame."""
    return not m.eqs or bool(m.frame.divs)


def _moves(m: Member, steps: Sequence[int], rows: Sequence[Row]) -> list[_Move]:
    """A step along each dimension; without floors along each direction that the equalities leave."""
    frame = m.frame
    if not _freely(m):
        return [_Move(x, [dot(r, x) for r in rows], lead) for x, lead in _directions(frame.n, m.eqs)]
    out = []
    for k, step in enumerate(steps, 1):
        move = frame.step(k, step)
        out.append(_Move(move, [dot(r, move) for r in rows] if frame.divs else [r[k] for r in rows], k))
    return out


@remembered(1 << 10)
def _directions(n: int, eqs: tuple[Row, ...]) -> list[tuple[Row, int]]:
    """A basis of the directions that equalities leave, each with its first column that is not 0."""
    lattice = solve_equalities(n, eqs)
    found = [(0, *direction) for direction in (() if lattice is None else lattice[1])]
    return [(x, next(k for k, v in enumerate(x) if v)) for x in found]


def _over(near: _End, far: _End, size: int, steps: Sequence[int]) -> Row | None:
    """The first point on the segment from an end in A to one in B at which rows of both fail; None if there is none."""
    p, q = near.point, far.point
    g = gcd(*[(y - x) // s for x, y, s in zip(p[1:], q[1:], steps, strict=False)])
    if g == 1:  # the ends alone
        return None
    first, last = g, 0  # the number of the first point that is not in A, and of the last one that is not in B
    for k, (x, y) in enumerate(zip(near.values, far.values, strict=True)):
        if k < size:
            if y < 0:
                first = min(first, x * g // (x - y) + 1)
        elif x < 0:
            last = max(last, (-x * g - 1) // (y - x))
    if not 0 < first <= last:
        return None
    return tuple([x + first * (y - x) // g for x, y in zip(p, q, strict=True)])
