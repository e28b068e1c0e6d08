"""Affine lattices: the grids on which integer points lie.

The integer solutions of equalities are `origin + sum t_j * basis[j]` over integers t (`integer.solve_equalities`).
So are, with a smaller lattice, the integer points of a polyhedron: it may be flat, because inequalities hold with
equality everywhere (a linear program each tells), or because it is so thin that all its integer points lie in a
subspace that the rational ones leave. The latter is found by looking for integer points on either side of a form
that is constant on all points seen: each such question raises the dimension of what is seen, or lowers that of
what is left, so n of them do. A polyhedron that holds a unit cube needs none of this, and that is one linear
program.

Joining lattices adds the difference of their origins to the generators, which is how strides arise: the join of
the points 0 and 4 is `i mod 4 = 0`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import compress, count

from ..budgets import remembered, spend
from ..engine.floors import Defined, defined, near
from ..engine.integer import Lattice, Point, pushed, sample, solve_equalities
from ..engine.residues import spanning
from ..engine.rows import Row, dot, evaluate, negate, normal_eq, normal_ineq, picker, replaced, substitute_all
from ..engine.simplex import Tableau, tight_slacks
from . import conjunct as cj
from .conjunct import Conjunct
from .inequalities import opposites
from .project import prune

FAR = 100  # divisors below this are tried as steps along an axis that lead to a further point
SIZES = 4  # different lengths of such steps


def of_points(n: int, eqs: Sequence[Row], ineqs: Sequence[Row]) -> Lattice | None:
    """The lattice that the equalities give which hold at all integer points; None when there is no point.

    Exact: its affine span is the least that contains the points. The points need not generate the lattice.

    >>> of_points(2, (), ((2, 3, -3), (1, -3, 3), (0, 1, 0)))
    ((0, 0), ((1, 1),))
    """
    found = _plainly_solved(n, eqs, ineqs) or _solved(n, eqs, ineqs)
    if found is None:
        return None
    outer, inside = found
    m, rows = len(outer[1]), []
    for row in inside:
        tight = normal_ineq(row)
        if tight is False:
            return None
        if tight is not True:
            rows.append(tight)
    inner = _of_full(m, list(dict.fromkeys(rows)))
    if inner is None or (len(inner[1]) == m and not any(inner[0])):
        return inner and outer
    return _composed(outer, inner)


@remembered(1 << 10)
def with_equalities(c: Conjunct) -> Conjunct | None:
    """The conjunct with all equalities that its integer points satisfy; None if it has none."""
    found = of_points(c.n + len(c.divs), c.eqs, c.all_ineqs())
    if found is None or len(found[1]) == c.n + len(c.divs) - len(c.eqs):
        return found and c
    flat = cj.normalise(c.n, c.divs, (*c.eqs, *equalities(c.n + len(c.divs), found)), c.ineqs)
    return flat and prune(flat)


def _solved(n: int, eqs: Sequence[Row], ineqs: Sequence[Row]) -> tuple[Lattice, Iterable[Row]] | None:
    """The solutions of equalities, and the inequalities in the coordinates of that lattice; None without solution."""
    found = solve_equalities(n, eqs)
    if found is None:
        return None
    origin, basis = found
    images = [(o, *[b[i] for b in basis]) for i, o in enumerate(origin)]
    return found, substitute_all(ineqs, images, len(basis))


def _plainly_solved(n: int, eqs: Sequence[Row], ineqs: Sequence[Row]) -> tuple[Lattice, Iterable[Row]] | None:
    """`_solved` where each equality gives a column that no other row mentions; None where not.

    So are normal conjuncts: their inequalities speak of the other columns, which are the coordinates.

    >>> lattice, rows = _plainly_solved(3, [(5, 2, 0, -1)], [(0, 1, 1, 0)])
    >>> lattice, list(rows)
    (((0, 0, 5), ((1, 0, 2), (0, 1, 0))), [(0, 1, 1)])
    """
    uses = [len(column) - column.count(0) for column in zip(*eqs, *ineqs, strict=True)]
    given: dict[int, list[int]] = {}  # column -> what it is
    for eq in eqs:
        col = next((k for k in range(n, 0, -1) if uses[k] == 1 and eq[k] in (1, -1)), 0)
        if not col:
            return None
        given[col] = [-eq[col] * v for v in eq]
    free = [k for k in range(1, n + 1) if k not in given]
    origin = tuple([given[k][0] if k in given else 0 for k in range(1, n + 1)])
    basis = []
    for f in free:
        vector = [0] * n
        vector[f - 1] = 1
        for k, value in given.items():
            vector[k - 1] = value[f]
        basis.append(tuple(vector))
    return (origin, tuple(basis)), map(picker((0, *free)), ineqs)


def _of_full(n: int, ineqs: list[Row]) -> Lattice | None:
    """`of_points` without equalities."""
    everything = ((0,) * n, tuple([(0,) * j + (1,) + (0,) * (n - 1 - j) for j in range(n)]))
    upright = _along_slabs(n, ineqs)
    if _has_corner(n, upright):
        return everything
    fat = Tableau(n)
    for row in upright:
        sizes = [abs(v) for v in row[1:]]
        fat.add_ineq((row[0] - (sum(sizes) + 1) // 2 - max(sizes), *row[1:]))
        if fat.empty:
            break
    else:
        return everything  # a point, rounded, and its neighbours along all axes are inside
    tab = Tableau(n)
    for row in ineqs:
        tab.add_ineq(row)
    if tab.empty:
        return None
    begun = ineqs, tab.mark()
    tight = [row for row, t in zip(ineqs, tight_slacks(tab, 0, len(ineqs)), strict=True) if t]
    if tight:
        return of_points(n, tight, ineqs)
    said = defined(n, ineqs)
    first, points = near(n, ineqs, tab, said), None
    guessed = first is not None
    if not guessed:
        points = spanning(n, tab, said)
        first = next(points, None) if points is not None else sample(n, (), ineqs, begun=begun)
    if first is None:
        return None
    moves = _moves(n, ineqs, first, said)
    still = _constant(n, moves)
    if guessed and still:
        points = spanning(n, tab, said)
    if points is not None and still:
        for other in points:
            move = [y - x for x, y in zip(first, other, strict=True)]
            if any(dot(form, move) for form in still):
                moves.append(tuple(move))
                still = _constant(n, moves)
                if not still:
                    break
        return solve_equalities(n, [(-dot(form, first), *form) for form in still])
    while still:
        form = still[0]
        value = dot(form, first)
        for row in ((-value - 1, *form), (value - 1, *negate(form))):
            other = sample(n, (), (*ineqs, row), begun=begun)
            if other is not None:
                moves.append(tuple([y - x for x, y in zip(first, other, strict=True)]))
                still = _constant(n, moves)
                break
        else:
            return of_points(n, [(-value, *form)], ineqs)
    return everything


def _constant(n: int, moves: Sequence[Row]) -> Sequence[Row]:
    """The forms that some moves leave as they are."""
    return _whole(solve_equalities(n, [(0, *d) for d in moves]))[1]


def _moves(n: int, ineqs: Sequence[Row], start: Point, said: Defined) -> list[Row]:
    """Differences to other points, found without a search: steps along each axis, after which floors are as they are.

    O(rows) for each step. Where these span all, nothing else has to be looked for.

    >>> rows = [(0, 1, -4), (3, -1, 4), (9, -1, 0)]  # q = floor(x/4) and x <= 9
    >>> _moves(2, rows, (2, 0), defined(2, rows))
    [(1, 0), (-1, 0), (4, 1), (-4, -1)]
    """
    order, divs, _ = said
    places = {k: at for at, k in enumerate(order)}
    free = n - len(divs)
    sizes = [1, *sorted({den for den, _ in divs if den < FAR})][:SIZES]
    spend(1 + free * len(sizes) * len(ineqs) // 16)
    found = []
    for at in range(free):
        for size in sizes:
            for step in (size, -size):
                x = [start[k] + (step if k == order[at] else 0) for k in order[:free]]
                for den, row in divs:
                    x.append(evaluate(row, x) // den)
                other = [x[places[k]] for k in range(n)]
                if all(evaluate(row, other) >= 0 for row in ineqs):
                    found.append(tuple([y - z for y, z in zip(other, start, strict=True)]))
    return found


def _has_corner(n: int, ineqs: Sequence[Row]) -> bool:
    """Whether a point is at hand that has, along each axis, a neighbour on one of its sides. No proof if not.

    It is looked for where rows are not nearly tight, but between the two sides of a slab, which may be one step apart.
    O(size), no linear program.

    >>> _has_corner(2, [(0, 1, 0), (3, -1, 0), (0, 0, 1), (1, 0, -1)]), _has_corner(1, [(0, 1), (0, -1)])
    (True, False)
    """
    normals = {row[1:] for row in ineqs}
    steps = [max(map(abs, row[1:]), default=0) for row in ineqs]  # what one step takes from a row at most
    inner = [r if negate(r[1:]) in normals else (r[0] - v, *r[1:]) for r, v in zip(ineqs, steps, strict=True)]
    point = pushed(n, inner, 4)
    if point is None:
        return False
    up: set[int] = set()  # the axes along which a row forbids the neighbour on that side
    down: set[int] = set()
    for row, step in zip(ineqs, steps, strict=True):
        room = evaluate(row, point)
        if room < 0:
            return False
        if room < step:
            for i in compress(range(1, len(row)), row[1:]):
                if abs(row[i]) > room:
                    (up if row[i] < 0 else down).add(i)
    return up.isdisjoint(down)


def _along_slabs(n: int, ineqs: Sequence[Row]) -> Sequence[Row]:
    """The rows in coordinates in which slabs 0 <= f <= c are parallel to an axis, where a unit coefficient allows.

    So a tile 0 <= i - 128a <= 127 has the size that it has, and is not thin in the direction of a. Thin slabs come
    first: of a tile within a tile the inner one, and of 0 <= x <= 127 within 0 <= 128a + x <= 4095 x, which stays.

    >>> _along_slabs(2, [(0, -128, 1), (127, 128, -1), (0, 0, 1), (999, 0, -1)])  # over a and i
    [(0, 0, 1), (127, 0, -1), (0, 128, 1), (999, -128, -1)]
    >>> inner = [(0, 0, 1), (127, 0, -1), (0, 128, 1), (4095, -128, -1)]
    >>> _along_slabs(2, inner) is inner
    True
    """
    used: set[int] = set()
    known = {row[1:]: row[0] for row in ineqs}
    width = {key: known[key] + known[opposite] for key, opposite in opposites(known).items()}
    keys = known.keys()  # of the rows as they are
    for key in sorted(width, key=width.__getitem__):
        at = next((j for j, v in enumerate(key, 1) if v in (1, -1) and j not in used), 0) if key in keys else 0
        if at:
            used.add(at)
            if key.count(0) < n - 1:  # else it is parallel to that axis
                image = [0, *[-key[at - 1] * v for v in key]]
                image[at] = key[at - 1]  # x_at = f - the rest
                ineqs = [tuple(replaced(row, at, image)) for row in ineqs]
                keys = {row[1:] for row in ineqs}
    return ineqs


def _composed(outer: Lattice, inner: Lattice) -> Lattice:
    """The lattice of the outer one's points whose coordinates are in the inner one."""
    origin, basis = outer

    def image(t: Point) -> Point:
        return tuple([sum([c * b[i] for c, b in zip(t, basis, strict=True)]) for i in range(len(origin))])

    start = tuple([o + s for o, s in zip(origin, image(inner[0]), strict=True)])
    return start, tuple([image(t) for t in inner[1]])


def echelon(vectors: Iterable[Point]) -> tuple[Point, ...]:
    """A basis of what the vectors generate over the integers, each leading entry positive and below the last one's.

    Euclid's algorithm on rows; entries above a leading one are reduced by it.

    >>> echelon([(4, 2), (6, 3), (0, 5)])
    ((2, 1), (0, 5))
    """
    rows: list[Sequence[int]] = [v for v in vectors if any(v)]
    if _is_echelon(rows):
        return tuple(map(tuple, rows))
    out: list[Sequence[int]] = []
    for col in range(len(rows[0]) if rows else 0):
        live = [r for r in rows if r[col]]
        if not live:
            continue
        rest = [r for r in rows if not r[col]]
        while len(live) > 1:
            lead = min(live, key=lambda r: abs(r[col]))
            left = [lead]
            for r in live:
                if r is not lead:
                    q = r[col] // lead[col]
                    r = [x - q * y for x, y in zip(r, lead, strict=True)]
                    (left if r[col] else rest).append(r)
            live = left
        lead = live[0] if live[0][col] > 0 else [-v for v in live[0]]
        for at, r in enumerate(out):
            q = r[col] // lead[col]
            if q:
                out[at] = [x - q * y for x, y in zip(r, lead, strict=True)]
        out.append(lead)
        rows = [r for r in rest if any(r)]
    return tuple(map(tuple, out))


def _is_echelon(rows: Sequence[Sequence[int]]) -> bool:
    """Whether leading entries are positive and each stands behind the last one's and above entries reduced by it."""
    last, columns = -1, [*zip(*rows, strict=True)]
    for at, row in enumerate(rows):
        lead = next(compress(count(), row))
        if lead <= last or row[lead] < 0:
            return False
        above = columns[lead][:at]
        if any(above) and (min(above) < 0 or max(above) >= row[lead]):
            return False
        last = lead
    return True


def joined(lattices: Sequence[Lattice]) -> Lattice:
    """The least lattice with the points of all.

    >>> joined([((0, 0), ((0, 4),)), ((0, 2), ((0, 4),))])
    ((0, 0), ((0, 2),))
    """
    if len(lattices) == 1:
        return lattices[0]
    origin = lattices[0][0]
    generators = [b for _, basis in lattices for b in basis]
    generators += [tuple([y - x for x, y in zip(origin, o, strict=True)]) for o, _ in lattices[1:]]
    return origin, echelon(generators)


def is_everything(lattice: Lattice) -> bool:
    """Whether a lattice whose basis is an echelon has all points.

    >>> is_everything(((0, 5), ((1, 3), (0, 1)))), is_everything(((0, 5), ((1, 3), (0, 2))))
    (True, False)
    """
    origin, basis = lattice
    return len(basis) == len(origin) and all(b[k] == 1 for k, b in enumerate(basis))


def index(lattice: Lattice) -> tuple[int, int]:
    """(dimension, product of the leading entries of its echelon basis): equal for translates."""
    basis = echelon(lattice[1])
    return len(basis), reduce(lambda a, b: a * b, (next(v for v in b if v) for b in basis), 1)


@remembered(1 << 12)
def of_conjunct(c: Conjunct) -> Lattice | None:
    """The lattice of the dimensions' values; None for an empty conjunct."""
    found = of_points(c.n + len(c.divs), c.eqs, c.all_ineqs())
    if found is None:
        return None
    return found[0][: c.n], echelon([b[: c.n] for b in found[1]])


def _whole(lattice: Lattice | None) -> Lattice:
    """A lattice that has a point, such as that of equalities without constants."""
    assert lattice is not None
    return lattice


def equalities(n: int, lattice: Lattice) -> list[Row]:
    """The equalities of the least affine subspace with the lattice's points; they say nothing of strides.

    >>> equalities(2, ((1, 3), ((2, 4),)))
    [(-1, -2, 1)]
    """
    origin, basis = lattice
    _, forms = _whole(solve_equalities(n, [(0, *b) for b in basis]))
    return [(-dot(f, origin), *f) for f in forms]


def conjunct(n: int, lattice: Lattice) -> Conjunct:
    """The points of a lattice, as a conjunct of equalities.

    >>> conjunct(2, ((1, 3), ((1, 2),))).eqs
    ((1, 2, -1),)
    """
    origin, vectors = lattice
    basis = echelon(vectors)
    leads = [next(compress(count(), b)) for b in basis]
    if all(b[k] == 1 for b, k in zip(basis, leads, strict=True)):  # the leading coordinates are the parameters t
        eqs = []
        for i in set(range(n)) - set(leads):
            row = [-origin[i], *[0] * n]
            row[1 + i] = 1
            for b, k in zip(basis, leads, strict=True):
                if b[i]:
                    row[0] += b[i] * origin[k]
                    row[1 + k] -= b[i]
            eqs.append(normal_eq(row))
        return Conjunct(n, (), tuple(sorted(eqs)), ())  # each gives its latest coordinate, which no other mentions
    eqs = equalities(n, lattice)
    _, whole = _whole(solve_equalities(n, [(0, *row[1:]) for row in eqs]))
    if index((origin, whole)) == index(lattice):  # no strides
        return cj.normalise(n, (), eqs, ()) or cj.nothing(n)
    eqs = [(-origin[i], *[int(k == i) for k in range(n)], *[-b[i] for b in basis]) for i in range(n)]
    return cj.normalise(n, [None] * len(basis), eqs, ()) or cj.nothing(n)
