"""Points between two pieces that are in neither: a reason, found without a search, why no conjunct is their union.

A conjunction of affine rows is convex: with two integer points it has every integer point of the segment between
them. So two pieces make no one where an integer point midway between a point of the first and one of the second is in
neither. A row is there the mean of what it is at both ends, so pairs of ends are chosen by the values of rows: for
each piece there must be a row that is negative in the middle.

Floors are affine along steps that are multiples of their periods, whatever constant is added inside of them. So on
such steps the same is true of conjuncts with floors. An end that is no even number of steps from the other one is
moved, by less than two steps, towards the other points of its piece.

The points to start from are found by walking as far as the piece goes, along a basis of its integer points. Where
most pairs of many pieces cannot be fused, as with the cells of a piecewise function, this says so in a fraction of
the time that linear programs take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import lcm
from operator import add, sub

from ..budgets import remembered, spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct, lifted
from ..conjuncts.frame import Member
from ..engine.integer import Point, solve_equalities
from ..engine.rows import Row, dot, negate, values_at

FAR = 60  # steps of a walk where nothing ends it
MANY = 40  # points of a piece
ENDS = 24  # of them that are ends of a segment
LINES = 12  # of points that may be further ones, and of lines to each
TRIES = 12  # of segments, by how far outside of both pieces their middle is


@remembered(1 << 12)
def walked(c: Conjunct) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Points of a conjunct with known divs that are far from one another, and points beside it; none if it has none.

    >>> from polyvolta.sets import Set
    >>> inside, outside = walked(Set("{ [i] : 0 <= i <= 9 }").parts[0][1][0])
    >>> sorted(inside), sorted(outside)
    ([(0,), (1,), (8,), (9,)], [(-1,), (10,)])
    """
    lattice = solve_equalities(c.n + len(c.divs), c.eqs)
    moves = [(0, *direction) for direction in (() if lattice is None else lattice[1])]
    start = _inside(c, moves)
    if start is None:
        return (), ()
    spend(2)
    rows = c.all_ineqs()
    found, beside = {lifted(c.divs, start): None}, []
    for move in moves:
        if len(found) > MANY:
            break
        starts = list(found)
        columns = list(zip(*starts, strict=True))
        lows, highs = [[-FAR] * len(starts)], [[FAR] * len(starts)]
        for r in rows:
            v = dot(r, move)
            if v < 0:
                highs.append([x // -v for x in values_at(r, columns)])
            elif v:
                lows.append([-(x // v) for x in values_at(r, columns)])
        for p, some, others in zip(starts, zip(*lows, strict=True), zip(*highs, strict=True), strict=True):
            if len(found) > MANY:
                break
            low, high = max(some), min(others)
            for t in (high, low, high - 1, low + 1):
                if low <= t <= high:
                    found[tuple([x + t * y for x, y in zip(p, move, strict=True)])] = None
            for t in (high + 1, low - 1):
                if abs(t) < FAR:
                    beside.append(tuple([x + t * y for x, y in zip(p, move, strict=True)][1 : 1 + c.n]))
    inside = dict.fromkeys([p[1 : 1 + c.n] for p in found])
    return tuple(inside), tuple([p for p in dict.fromkeys(beside) if p not in inside])


def _inside(c: Conjunct, moves: Sequence[Row]) -> Point | None:
    """A point of a conjunct, where there is one from which each of the moves leads to points of it."""
    width = {row[1:]: row[0] for row in c.ineqs}
    rows = []
    for row in c.ineqs:
        room, opposite = sum([abs(dot(row, move)) for move in moves]), width.get(negate(row[1:]))
        rows.append((row[0] - room, *row[1:]) if opposite is None or opposite + row[0] >= 2 * room else row)
    if not c.divs or all(not any(row[1 + c.n :]) for row in c.ineqs):
        point = cj.sample(Conjunct(c.n, c.divs, c.eqs, tuple(rows)))
        if point is not None:
            return point
    return cj.sample(c)


def strides(members: Sequence[Member]) -> list[int]:
    """For each dimension a number such that the floors of members of a frame are affine along multiples of these.

    Where equalities speak of floors, dimensions hang on one another by more than floors, and it is one number for all.

    >>> from polyvolta.sets import Set
    >>> from polyvolta.sets.conjuncts.frame import Frame
    >>> ((_, cs),) = Set("{ [i, j] : i mod 4 <= 1; [i, j] : 2 <= 5j + 2*floor(i/3) }").parts
    >>> strides(Frame(cs).members)
    [12, 1]
    """
    frame = members[0].frame
    base, found = 1 + frame.n, periods(members)
    if frame.definitions and any(any(r[base:]) for m in members for r in m.eqs):
        return [lcm(*found)] * frame.n
    return found


def periods(members: Sequence[Member]) -> list[int]:
    """For each dimension the least such number, whatever equalities say."""
    frame = members[0].frame
    found = [1] * frame.n
    for col in frame.known([r for m in members for r in (*m.eqs, *m.ineqs)]) if frame.definitions else ():
        period, dims = frame.periods[col]
        for k in dims:
            found[k - 1] = lcm(found[k - 1], period)
    return found


def gap(a: Member, b: Member, steps: Sequence[int]) -> Row | None:
    """An integer point midway between known points of two members of a frame that is in neither, if one is found.

    A None says nothing. O(rows) for each known point, and for each of a few pairs of them.

    Parameters
    ----------
    steps : for each dimension a number, of which two points are to differ by even multiples; see `strides`.
    """
    ends = _pairs(a, b)
    divs, end = a.frame.divs, 1 + a.frame.n
    centre_a, centre_b = ([sum(column) // len(m.points) for column in zip(*m.points, strict=True)] for m in (a, b))
    for p, q in ends:
        for here, there in ((p, _aligned(b, q, p, steps, centre_b)), (_aligned(a, p, q, steps, centre_a), q)):
            if here is not None and there is not None:
                z = lifted(divs, [(x + y) // 2 for x, y in zip(here[1:end], there[1:end], strict=True)])
                if not a.holds(z) and not b.holds(z):
                    return z
    return None


def further(a: Member, b: Member, near: Iterable[Row] = ()) -> bool:
    """Whether an integer point (1, x, q) is found that is in neither member, but in the convex hull of both.

    Floors are further coordinates of the hull. A False says nothing. Points to try are those `near` both, and those in
    the middle of known ones. One is in the hull where a line from a known point of one member through it meets the
    other: O(rows) for each of a few lines.
    """
    divs, end = a.frame.divs, 1 + a.frame.n
    middles = [lifted(divs, [(x + y) // 2 for x, y in zip(p[1:end], q[1:end], strict=True)]) for p, q in _pairs(a, b)]
    for z in islice(dict.fromkeys((*middles, *near)), LINES):
        if not a.holds(z) and not b.holds(z):
            for m, other in ((a, b), (b, a)):
                spend()
                rows = [(dot(r, z), m.values(r)) for r in (*other.statements, *a.frame.given)]
                failing = [(v, values) for v, values in rows if v < 0]  # a line that meets the other mends these
                for k in range(min(len(m.points), LINES)):
                    if all(values[k] < v for v, values in failing) and _meets([(v, vs[k]) for v, vs in rows]):
                        return True
    return False


def stray(hull: Member, a: Member, b: Member, moves: Sequence[Point]) -> bool:
    """Whether one of some moves leads from a known point of two members to a point of a hull that is in neither.

    A False says nothing. O(rows) for each move from a few known points of each.
    """
    divs, end = hull.frame.divs, 1 + hull.frame.n
    seen = {p[1:end] for p in (*a.points[:LINES], *b.points[:LINES])}
    seen.update([tuple(map(f, p, move)) for p in list(seen) for move in moves for f in (add, sub)])
    spend(1 + len(seen) // 16)
    return any(hull.holds(z) and not a.holds(z) and not b.holds(z) for z in (lifted(divs, p) for p in seen))


def alone(c: Conjunct, eqs: Sequence[Row], ineqs: Sequence[Row], within: Sequence[Member]) -> set[Row]:
    """Inequalities of a conjunct of which each alone fails at a point that is seen beside it: they are needed.

    The points are those where walks leave it, so most of them are behind one row. O(rows) for each of them.

    Parameters
    ----------
    eqs, ineqs : its rows over the columns of a frame.
    within : members of that frame; each point is in one of them.

    >>> from polyvolta.sets import Set
    >>> from polyvolta.sets.conjuncts.frame import Frame
    >>> ((_, (c, all)),) = Set("{ [i] : 0 <= i <= 9 and i <= 20; [i] : i >= -5 }").parts
    >>> m, within = Frame((c, all)).members
    >>> sorted(alone(c, m.eqs, (*m.ineqs, (20, -1)), [within]))
    [(0, 1), (9, -1)]
    """
    found = set[Row]()
    divs = within[0].frame.divs if within else ()
    for x in () if None in divs else walked(c)[1]:
        z = lifted(divs, x)
        failing = [row for row in ineqs if dot(row, z) < 0]
        if len(failing) == 1 and failing[0] not in found and not any(dot(row, z) for row in eqs):
            if any(m.holds(z) for m in within):
                found.add(failing[0])
    return found


def _meets(values: Iterable[tuple[int, int]]) -> bool:
    """Whether all rows hold somewhere behind the end of a segment; given are their values there and at its start."""
    low, above, high, below = 0, 1, 1, 0  # from low / above to high / below as many times the segment's length behind
    for v, start in values:
        slope = v - start
        if v < 0:
            if slope <= 0:
                return False
            if -v * above > low * slope:
                low, above = -v, slope
        elif slope < 0 and v * below < high * -slope:
            high, below = v, -slope
    return low * below <= high * above


def _pairs(a: Member, b: Member) -> list[tuple[Row, Row]]:
    """Known points of either such that a row of each fails in the middle, by how far the lesser of both fails."""
    rows_a, rows_b = _cut(a, b), _cut(b, a)
    if not rows_a or not rows_b:
        return []
    spend()
    fars = [(j, *_at(b, j, rows_a, rows_b)) for j in _ends(b, rows_b, rows_a)]
    found = []
    for i in _ends(a, rows_a, rows_b):
        near_a, near_b = _at(a, i, rows_a, rows_b)
        for j, far_a, far_b in fars:
            in_a = min(map(add, near_a, far_a))
            if in_a < 0 and (in_b := min(map(add, near_b, far_b))) < 0:
                found.append((max(in_a, in_b), i, j))
    return [(a.points[i], b.points[j]) for _, i, j in sorted(found)[:TRIES]]


def _at(m: Member, k: int, *groups: Sequence[Row]) -> list[list[int]]:
    """What the rows of each group are at the k-th known point of a member."""
    return [[m.values(r)[k] for r in rows] for rows in groups]


def _cut(a: Member, b: Member) -> list[Row]:
    """Rows of A that fail at a known point of B."""
    least = b.least
    rows = [r for r in a.statements if (const := least.get(r[1:])) is None or const > r[0]]
    return [r for r in rows if min(b.values(r), default=0) < 0]


def _ends(m: Member, own: Sequence[Row], others: Sequence[Row]) -> list[int]:
    """For each row of another piece the known points where it is least, also together with a row of its own."""
    near = [min(values) for values in zip(*map(m.values, own), strict=True)]
    found = {}
    for row in others:
        values = m.values(row)
        both = list(map(add, values, near))
        found[values.index(min(values))] = found[both.index(min(both))] = None
    return list(found)


def _aligned(m: Member, q: Row, p: Row, steps: Sequence[int], centre: Sequence[int]) -> Row | None:
    """A point of a member near its point Q that is even multiples of the steps away from P, if one is found."""
    moved = []
    for k, step in enumerate(steps, 1):
        d = (p[k] - q[k]) % (2 * step)
        moved.append(q[k] + d - 2 * step * (d != 0 and q[k] > centre[k]))
    if moved == [*q[1 : 1 + len(moved)]]:
        return q
    z = lifted(m.frame.divs, moved)
    return z if m.holds(z) else None
