"""Two pieces whose convex hull has no further point: the case of coalescing that no row at hand decides.

If one conjunct says the same as two, then every row of it holds on both pieces, so it holds on the convex hull of
their rational polyhedra, and this hull has exactly the points of the union. So one candidate answers for all ways to
turn and to move rows: the hull, by double description. It is taken where the pieces look simplest.

- A div that an equality states goes: `y = floor(x/3) - 2 and x mod 3 = 1` is `x = 3 y + 7`, a plane beside others.
- Points on a grid are counted along the grid, the least one with the points of both: `x mod 8 = 0` is `x = 8 t`, and
  between 0 and 8 there is nothing. The points of `x mod 2 = 0` and `x = -1` are on the grid of all.
- Residues are a cycle. `e mod 3 = 2` and `e mod 3 = 0` are neighbours once they are read from 2 on: with
  `floor((e - 2)/3)` in place of `floor(e/3)`, the first are `e - 2 mod 3 = 0`, the second `e - 2 mod 3 = 1`.
- Floors are further coordinates of the hull, or they are forgotten; either may be the right thing to do.

Rows in coordinates of their own that hold on both pieces take no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..budgets import bounded, spend
from ..conjuncts import conjunct as cj
from ..conjuncts import lattice
from ..conjuncts.conjunct import Conjunct, Div, defining_rows, lifted
from ..conjuncts.frame import Frame, Member
from ..engine import cone
from ..engine.integer import Lattice, Point
from ..engine.rows import Row, dot, negate, replaced
from ..errors import BudgetExceeded
from . import between
from .covering import covers, valid_rows

WIDE = 6  # coordinates of a hull at most
LONG = 24  # rows of a piece at most
EFFORT = 700  # steps (some 15 ms) for a pair of pieces; the longest of 144 random fusions took 517

Pair = tuple[Conjunct, Conjunct]
Walked = tuple[tuple[Point, ...], tuple[Point, ...]]  # points of a piece, and points beside it
NOTHING: tuple[Walked, Walked] = ((), ()), ((), ())


def fused(a: Conjunct, b: Conjunct) -> Conjunct | None:
    """One conjunct with exactly the points of both, whose divs are known; None if there is none, or it is far to seek.

    Cost: a few double descriptions in the coordinates in which the pieces differ.
    """
    try:
        return bounded(EFFORT, lambda: next(_candidates(a, b), None))
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return None


def _candidates(a: Conjunct, b: Conjunct) -> Iterator[Conjunct]:
    plain = bare(a), bare(b)
    near = between.walked(a), between.walked(b)
    stated = restated(plain[0]), restated(plain[1])
    for pair in dict.fromkeys((plain, stated)):
        yield from _hulls(*pair, near)
        for turned in _turned(*pair):
            yield from _hulls(*turned, near)
    if any(any(r[1 + a.n :]) for c in plain for r in c.eqs):
        grids = [g for c in plain if (g := lattice.of_conjunct(c)) is not None]
        if len(grids) == 2:
            yield from _along(lattice.joined(grids), *plain)


# ---- hulls


def _hulls(a: Conjunct, b: Conjunct, near: tuple[Walked, Walked] = NOTHING) -> Iterator[Conjunct]:
    """The hull of both, without divs and with them, where it has no further point; `near` are points of each."""
    frame = Frame((a, b))
    p, q = frame.members
    if max(len(m.eqs) + len(m.ineqs) for m in frame.members) > LONG:
        return
    for m, (inside, _) in zip(frame.members, near, strict=True):
        m.points += [lifted(frame.divs, x) for x in inside[: between.ENDS]]
    points = [lifted(frame.divs, x) for _, beside in near for x in beside]
    if frame.divs and between.further(p, q, points):  # without floors it was asked before, and the hull is less work
        return
    cuts_q = [r for r in p.statements if not q.implies(r, False)]
    cuts_p = [r for r in q.statements if not p.implies(r, False)]
    if not cuts_p or not cuts_q:
        whole = a if not cuts_q else b
        yield cj.normalise(whole.n, whole.divs, whole.eqs, whole.ineqs) or whole
        return
    active = _active(frame, (*cuts_p, *cuts_q))
    if len(active) > WIDE:
        return
    corners = [_corners(m, active) for m in frame.members]
    if _far(frame.n, cuts_q, corners[1], active) or _far(frame.n, cuts_p, corners[0], active):
        return
    apart = set(range(1, frame.width)).difference(active)
    idle = [
        r for r in valid_rows(frame, p, q, {*cuts_p, *cuts_q}).statements if any(r[k] for k in apart) or not any(r[1:])
    ]
    dims = [k for k in active if k <= frame.n]
    most = sum(len(m.eqs) + len(m.ineqs) for m in frame.members) + len(frame.given)  # one of more rows is no simpler
    for columns in (dims, active) if len(dims) < len(active) else (active,):
        eqs, ineqs = _hull(frame.width, columns, active, corners)
        if len(eqs) + len(ineqs) + len(idle) > most:
            continue
        hull = Member(frame, eqs, (*ineqs, *idle))
        hull.points += [x for x in points if hull.holds(x)]
        if not all(p.holds(x) or q.holds(x) for x in hull.points):
            continue
        hull.points += (*p.points, *q.points)
        open_p, open_q = ([r for r in m.statements if not hull.implies(r, False)] for m in (p, q))
        if covers(hull, open_q, open_p):
            found = frame.conjunct(hull.eqs, hull.ineqs)
            if found is not None:
                yield found


def _active(frame: Frame, cuts: Sequence[Row]) -> list[int]:
    """The columns of rows that cut, and those that other rows tie to them."""
    rows = [r for m in frame.members for r in (*m.eqs, *m.ineqs)]
    groups = [{k for k, v in enumerate(r) if k and v} for r in (*rows, *frame.given)]
    found = {k for r in cuts for k, v in enumerate(r) if k and v}
    size = -1
    while len(found) > size:
        size = len(found)
        found.update(*[g for g in groups if not found.isdisjoint(g)])
    return sorted(found)


def _corners(m: Member, active: Sequence[int]) -> cone.Generators:
    """The generators (x0, x) of a piece in some of its columns, whose rows touch no others."""
    given = [r for r in (*m.ineqs, *m.frame.given, *_bounds(m, active)) if any(r[k] for k in active)]
    ineqs = [(r[0], *[r[k] for k in active]) for r in given]
    eqs = [(r[0], *[r[k] for k in active]) for r in m.eqs if any(r[k] for k in active)]
    return cone.of_polyhedron(len(active), eqs, ineqs)


def _bounds(m: Member, active: Sequence[int]) -> list[Row]:
    """Bounds of the divs, also of those that only the other piece mentions, rounded to integers."""
    out = []
    for k in active:
        if k > m.frame.n:
            for sign in (1, -1):
                row = [0] * m.frame.width
                row[k] = sign
                low = m.minimum(tuple(row))
                if low is not None:
                    out.append((-low, *row[1:]))
    return out


def _far(n: int, cuts: Sequence[Row], corners: cone.Generators, active: Sequence[int]) -> bool:
    """Whether all of a piece is at -2 or below of a row of the other: at -1 there are points of neither.

    Of a row with divs it is at -1 less a divisor.
    """
    lines, rays = corners
    for row in cuts:
        r, gap = (row[0], *[row[k] for k in active]), 1 + max(map(abs, row[1 + n :]), default=1)
        if not any(dot(r, g) for g in lines) and all(dot(r, g) <= -max(2, gap) * g[0] for g in rays):
            return True
    return False


def _hull(
    width: int, columns: Sequence[int], active: Sequence[int], corners: Sequence[cone.Generators]
) -> tuple[list[Row], list[Row]]:
    """Equalities and inequalities, over `width` columns, of the hull of generators over the active ones."""
    places = [0, *[1 + active.index(k) for k in columns]]

    def kept(g: Row) -> Row:
        return tuple([g[k] for k in places])

    lines = [kept(g) for found, _ in corners for g in found]
    rays = [kept(g) for _, found in corners for g in found]
    rows = cone.to_polyhedron(len(columns), filter(any, lines), filter(any, rays))

    def spread(r: Row) -> Row:
        out = [r[0], *[0] * (width - 1)]
        for k, v in zip(columns, r[1:], strict=True):
            out[k] = v
        return tuple(out)

    return list(map(spread, rows[0])), list(map(spread, rows[1]))


# ---- simpler pieces


def bare(c: Conjunct) -> Conjunct:
    """The conjunct, not normalised, without the known divs that an equality states.

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("{ [x, y] : x = 3y + 7 }").parts
    >>> c.divs, bare(c).divs, bare(c).eqs
    (((3, (0, 1, 0)),), (), ((-7, 1, -3),))
    """
    base = 1 + c.n
    for k in reversed(range(len(c.divs))):
        col, div = base + k, c.divs[k]
        stated = next((r for r in c.eqs if abs(r[col]) == 1 and not any(r[col + 1 :])), None)
        if div is None or stated is None:
            continue
        width = base + len(c.divs)
        image = tuple([0 if at == col else -stated[col] * v for at, v in enumerate(stated)])

        def without(row: Sequence[int], col: int = col, image: Row = image) -> Row:
            row = replaced((*row, *[0] * (len(image) - len(row))), col, image)
            return (*row[:col], *row[col + 1 :])

        ineqs = [without(r) for r in (*c.ineqs, *defining_rows(div, col, width))]
        divs: list[Div] = [d if d is None else (d[0], without(d[1])) for d in (*c.divs[:k], *c.divs[k + 1 :])]
        eqs = tuple([without(r) for r in c.eqs if r is not stated])
        said = tuple([r for r in ineqs if any(r[1:]) or r[0] < 0])
        return bare(Conjunct(c.n, tuple(divs), tuple([r for r in eqs if any(r)]), said))
    return c


def restated(c: Conjunct) -> Conjunct:
    """The conjunct, not normalised, each div that is a quotient by an equality as the floor of that.

    So `y = 5 - (x + 5) mod 8` speaks of `floor((x + y)/8)`, as others do that have another residue of x + y.

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("{ [x, y] : y = 5 - (x + 5) mod 8 }").parts
    >>> c.divs, c.eqs
    (((8, (5, 1, 0)),), ((0, 1, 1, -8),))
    >>> restated(c).divs, restated(c).eqs, len(restated(c).ineqs)
    (((8, (0, 1, 1, 0)),), ((0, 1, 1, -8),), 2)
    """
    base, width = 1 + c.n, 1 + c.n + len(c.divs)
    for k, div in enumerate(c.divs):
        row = next((r for r in c.eqs if div and abs(r[base + k]) == div[0] and not any(r[base + k + 1 :])), None)
        if div is None or row is None:
            continue
        den, col = div[0], base + k
        row = row if next(v for v in row[1:] if v) > 0 else negate(row)
        up = row[col] < 0  # den * q = row without q; else it is the opposite
        other: Div = (den, (0, *[v if at != col else 0 for at, v in enumerate(row) if at]))
        if not any(other[1]) or other[1][1:base] == div[1][1:base]:
            continue
        less = -(-row[0] // den)  # what the floor of the rest without a constant is less than q, or than -q
        given = defining_rows(div, col, width)

        def moved(r: Row, col: int = col, sign: int = 1 if up else -1, less: int = less) -> Row:
            r = (*r, *[0] * (width - len(r)))
            return (r[0] + sign * less * r[col], *[sign * v if at == col else v for at, v in enumerate(r) if at])

        divs = [d if d is None or at == k else (d[0], moved(d[1])) for at, d in enumerate(c.divs)]
        divs[k] = other
        c = Conjunct(c.n, tuple(divs), tuple(map(moved, c.eqs)), tuple(map(moved, (*c.ineqs, *given))))
    return c


def _turned(a: Conjunct, b: Conjunct) -> Iterator[Pair]:
    """Both with a div whose residues are read from another one on, where they meet across the div's own end."""
    frame = Frame((a, b))
    for k, div in enumerate(frame.divs):
        if div is None:
            continue
        at, (den, expr) = 1 + frame.n + k, div
        residue = tuple([v - den * (j == at) for j, v in enumerate(expr)])
        for high, low in ((0, 1), (1, 0)):
            top, bottom = frame.members[high], frame.members[low]
            start = top.minimum(residue) or 0
            if bottom.implies((start - 1 - residue[0], *negate(residue)[1:]), False):
                moved = (den, (expr[0] - start, *expr[1:]))
                pair = [_with_div(frame, m, at, moved, less=m is bottom) for m in frame.members]
                yield pair[0], pair[1]


def _with_div(frame: Frame, m: Member, col: int, div: tuple[int, Row], less: bool) -> Conjunct:
    """A member with another div in a column, by one `less` than what was there, or equal; what it was is spelt out."""

    def moved(row: Row) -> Row:
        return (row[0] + row[col], *row[1:]) if less else row

    divs = [d if d is None else (d[0], moved(d[1])) for d in frame.divs]
    divs[col - 1 - frame.n] = div
    rows = (*m.ineqs, *frame.definitions[col])
    return Conjunct(frame.n, tuple(divs), tuple(map(moved, m.eqs)), tuple(map(moved, rows)))


# ---- along a grid


def _along(grid: Lattice, a: Conjunct, b: Conjunct) -> Iterator[Conjunct]:
    """`_hulls` in the coordinates of a grid with the points of both, in those of the space again."""
    origin, basis = grid
    n = a.n
    leads = [next(k for k, v in enumerate(r) if v) for r in basis]
    if len(basis) == n and all(r[k] == 1 for r, k in zip(basis, leads, strict=True)):
        return  # all points
    counted = [_counted(c, grid) for c in (a, b)]
    if counted[0] is None or counted[1] is None:
        return
    divs: list[Div] = []  # of each coordinate t_k: x[lead] = origin[lead] + sum of t_j basis[j][lead] over j <= k
    for k, (r, lead) in enumerate(zip(basis, leads, strict=True)):
        row = [-origin[lead], *[int(j == lead) for j in range(n)], *[-s[lead] for s in basis[:k]]]
        divs.append((r[lead], tuple(row)))
    eqs = [(-origin[i], *[int(j == i) for j in range(n)], *[-r[i] for r in basis]) for i in range(n)]
    for found in _hulls(bare(counted[0]), bare(counted[1])):

        def placed(row: Row) -> Row:
            return (row[0], *[0] * n, *row[1:])

        known = [(d[0], placed(d[1])) for d in found.divs if d is not None]
        pad = (0,) * len(known)
        rows = [(*r, *pad) for r in eqs] + [placed(r) for r in found.eqs]
        whole = cj.normalise(n, (*divs, *known), rows, [placed(r) for r in found.ineqs])
        if whole is not None and len(known) == len(found.divs):
            yield whole


def _counted(c: Conjunct, grid: Lattice) -> Conjunct | None:
    """The conjunct over the coordinates of a grid that has its points."""
    origin, basis = grid
    m, base = len(basis), 1 + c.n

    def counted(row: Row) -> Row:
        head = row[0] + dot(row[1:base], origin)
        return (head, *[dot(row[1:base], r) for r in basis], *row[base:])

    divs = [d if d is None else (d[0], counted(d[1])) for d in c.divs]
    return cj.normalise(m, divs, map(counted, c.eqs), map(counted, c.ineqs))
