"""Points between two pieces that are in neither: a reason, found without a search, why no conjunct is their union.

A conjunction of affine rows is convex: with two integer points it has every integer point of the segment between
them. So two pieces make no one where a segment from a point of the first to one of the second leaves the first
before it enters the second, and an integer point lies in the gap. Both ends are read off the rows.

Floors are affine along steps that are multiples of their periods, whatever constant is added inside of them. So on
such steps the same is true of conjuncts with floors, and only these are looked at.

The points to start from are found by walking as far as the piece goes, along a basis of its integer points. Where
most pairs of many pieces cannot be fused, as with the cells of a piecewise function, this says so in a fraction of
the time that linear programs take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import gcd

from ..budgets import spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct, Div
from ..conjuncts.frame import Frame, Member
from ..engine.integer import Point, solve_equalities
from ..engine.rows import Row, dot, negate

FAR = 60  # steps of a walk where nothing ends it
MANY = 40  # points of a piece
EACH = 3  # of them that are alike modulo twice the step
PAIRS = 40  # of points that are looked at for two pieces

Alike = dict[Point, list[Row]]  # points (1, x, q) of a frame, by what x leaves modulo twice the step


@lru_cache(maxsize=1 << 12)
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
        speeds = [(v, r) for r in rows if (v := dot(r, move))]
        for p in list(found):
            if len(found) > MANY:
                break
            values = [(v, dot(r, p)) for v, r in speeds]
            high = min([FAR, *[x // -v for v, x in values if v < 0]])
            low = max([-FAR, *[-(x // v) for v, x in values if v > 0]])
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


def sorted_points(frame: Frame, points: Iterable[Point], step: int) -> Alike:
    """Some of the points, which stand in a frame with known divs, as `gap` takes them."""
    alike: Alike = {}
    for p in points:
        kept = alike.setdefault(tuple([x % (2 * step) for x in p]), [])
        if len(kept) < EACH:
            kept.append(lifted(frame.divs, p))
    return alike


def together(a: Alike, b: Alike) -> Alike:
    """Points of two pieces as those of one."""
    return a | {key: [*a.get(key, ()), *points][:EACH] for key, points in b.items()}


def gap(a: Member, b: Member, alike_a: Alike, alike_b: Alike, step: int) -> bool:
    """Whether an integer point between points of two pieces, some steps from each, is in neither of them.

    A False says nothing. O(rows) for each pair of points.
    """
    end, left = 1 + a.frame.n, PAIRS
    for key in alike_a.keys() & alike_b.keys():
        for p in alike_a[key]:
            for q in alike_b[key]:
                way = [y - x for x, y in zip(p, q, strict=True)]
                steps = gcd(*way[1:end]) // step
                if steps > 1 and not any(v % steps for v in way):
                    move = [v // steps for v in way]
                    last = _end(a, p, move, steps)
                    if last + _end(b, q, [-v for v in move], steps) < steps - 1:
                        behind = tuple([x + (last + 1) * v for x, v in zip(p, move, strict=True)])
                        if behind == lifted(a.frame.divs, behind[1:end]):
                            return True
        left -= len(alike_a[key]) * len(alike_b[key])
        if left < 0:
            break
    return False


def lifted(divs: Sequence[Div], point: Sequence[int]) -> Row:
    """A point (1, x, q) with the values of known divs."""
    columns = [1, *point]
    for div in divs:
        columns.append(0 if div is None else dot(div[1], columns) // div[0])
    return tuple(columns)


def _end(m: Member, p: Row, move: Sequence[int], most: int) -> int:
    """The last of at most so many steps from a point of a member that is in it."""
    for row in m.eqs:
        if dot(row, move):
            return 0
    for row in m.ineqs:
        v = dot(row, move)
        if v < 0:
            most = min(most, dot(row, p) // -v)
    return most
