"""Integer points: does a system of equalities and inequalities over Z have a solution, and which.

Four ideas, from cheap to dear, each exact:

1. *Equalities are solved, not relaxed.* All integer solutions of `A x = b` are `origin + sum t_j basis_j`
   with free integers t (unimodular elimination). In the coordinates t every inequality is divided by its gcd
   and its constant floored, which alone empties `{3x - 3y + 2 >= 0, -3x + 3y - 1 >= 0}`. Inequalities that a
   simplex proves to be equalities go the same way, until the polyhedron is full-dimensional.
2. *Fat polyhedra are easy.* If the polyhedron shrunk by half a unit cube (each constant less `ceil(sum |c| /
   2)`) has a rational point, rounding that point satisfies all rows.
3. *Unbounded directions are free.* Let C be the recession cone and Z the rows that vanish on all of C. The
   lattice spanned by the normals of Z is the only place where integrality can fail: choose unimodular
   coordinates in which Z speaks of the first r only. Z is bounded there; and above each of its integer
   points the other rows have a full-dimensional recession cone, so idea 2 finds a point. Hence: non-empty
   iff Z is.
4. *Thin polytopes have a thin direction.* A bounded polyhedron without an integer point has a small width
   along some integer vector (Khinchin). Generalised basis reduction (Lovasz and Scarf 1992) finds a short
   one with LPs as its only norm; branching on its few values leaves problems of one dimension less.

Before the search, `residues` decides systems whose variables are mostly floors of a few others, or guesses a point of
them, and in up to three variables the corners are tried: a needle's tip is often an integer point.

The search is finite; a step budget (module `budgets`) bounds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import compress
from operator import neg
from typing import Any

from ..budgets import metered, spend, weight
from . import residues
from .basis import thin_direction
from .floors import roundings
from .rows import Row, cornered, dot, evaluate, normal_eq, strongest, substitute_all
from .simplex import Tableau, tight_slacks

Point = tuple[int, ...]
Lattice = tuple[Point, tuple[Point, ...]]
Begun = tuple[list[Row], Any]

FLAT = 3  # up to so many variables, corners are tried before any search


def solve_equalities(n: int, eqs: Sequence[Row]) -> Lattice | None:
    """All integer solutions of the equalities as `x = origin + sum t_j * basis[j]`; None when there is none.

    The basis spans the whole solution lattice. Equalities with a unit coefficient are eliminated first, the
    sparsest of them leading, so that coefficients stay small; the others by Euclid's algorithm on columns.
    Cost O(len(eqs) * n^2) times the length of Euclid's algorithm; exact.

    >>> solve_equalities(2, ((1, 2, -3),))
    ((-2, -1), ((3, 2),))
    >>> solve_equalities(2, ((1, 2, -4),)) is None
    True
    """
    forms: list[Sequence[int]] = [[0] * (i + 1) + [1] + [0] * (n - i - 1) for i in range(n)]  # x_i over (const, t)
    free = list(range(1, n + 1))
    todo = list(map(normal_eq, eqs))
    while True:
        if False in todo:
            return None
        clean = [eq for eq in todo if type(eq) is tuple]
        if not clean:
            return tuple([f[0] for f in forms]), tuple([tuple([f[j] for f in forms]) for j in free])
        row = min(clean, key=_effort) if len(clean) > 1 else clean[0]
        k = min([j for j in free if row[j]], key=lambda j: abs(row[j]))
        c = row[k]
        spend(1 + n * (n + len(clean)) * weight(c) // 256)
        # u = t_k + sum of rounded quotients: replaces t_k, leaving remainders of at most |c| / 2
        half, size, sign = abs(c), 2 * abs(c), 1 if c > 0 else -1
        image = [(j, q) for j, v in enumerate(row) if v and j != k and (q := -((2 * v + half) // size) * sign)]
        if half == 1:
            free.remove(k)
            clean.remove(row)
        forms = [_moved(r, k, image, half == 1) if r[k] else r for r in forms]
        todo = [normal_eq(_moved(r, k, image, half == 1)) if r[k] else r for r in clean]


def _effort(row: Row) -> tuple[bool, int]:
    """How unwelcome an equality is as the next to be solved."""
    return (1 not in row[1:] and -1 not in row[1:], -row.count(0))


def _moved(row: Sequence[int], k: int, image: Sequence[tuple[int, int]], gone: bool) -> list[int]:
    """The row with column k replaced by itself, unless it is `gone`, and multiples of other columns."""
    c = row[k]
    out = list(row)
    if gone:
        out[k] = 0
    for j, v in image:
        out[j] += c * v
    return out


@metered
def is_empty(n: int, eqs: Sequence[Row], ineqs: Sequence[Row], tidy: bool = False) -> bool:
    """Whether there is no integer point.

    Systems without rows, with contradicting parallel rows or with bounds only are decided in O(size), those in the
    plane where a corner of few rows is near a point without a search; otherwise as `sample`. Exact; under a budget.

    Parameters
    ----------
    tidy : whether rows are known to be tight, none parallel to another, none with its opposite an equality.

    >>> is_empty(2, (), ((2, 3, -3), (-1, -3, 3), (0, 1, 0), (100, -1, 0)))
    True
    """
    if not eqs and (not ineqs or (n == 2 and cornered(ineqs))):
        return False
    return _solve(n, eqs, ineqs, tidy) is None


@metered
def sample(
    n: int,
    eqs: Sequence[Row],
    ineqs: Sequence[Row],
    tidy: bool = False,
    begun: Begun | None = None,
    tried: bool = False,
) -> Point | None:
    """An integer point, or None when there is none.

    Exact. Polynomially many LPs for a fixed number of variables, usually one or none; exponential in the
    number of variables at worst, hence under a budget. `tidy` as for `is_empty`.

    Parameters
    ----------
    begun : the first inequalities, and the mark of a tableau after they were added, one by one.
    tried : whether `pushed` has found none among tidy inequalities.

    >>> sample(2, (), ((0, 0, 1), (-100000, 300000, -299999), (200000, -300000, 299998)))
    (100000, 100000)
    """
    return _solve(n, eqs, ineqs, tidy, begun, tried)


def _solve(
    n: int,
    eqs: Sequence[Row],
    ineqs: Sequence[Row],
    tidy: bool = False,
    begun: Begun | None = None,
    tried: bool = False,
) -> Point | None:
    """`sample`: solve equalities, tighten, look for new equalities, and so on; then search what is full."""
    spend(1 + n * (len(eqs) + len(ineqs)) // 64)
    maps: list[Lattice] = []
    while True:
        if eqs:
            lattice = solve_equalities(n, eqs)
            if lattice is None:
                return None
            maps.append(lattice)
            origin, basis = lattice
            n = len(basis)
            images = [(o, *[b[i] for b in basis]) for i, o in enumerate(origin)]
            ineqs = substitute_all(ineqs, images, n)
        if not tidy:
            tidied = _tidy(ineqs)
            if tidied is None:
                return None
            ineqs, eqs = tidied
            if eqs:
                continue
        point, tab = None if tried else pushed(n, ineqs), None
        tidy = tried = False
        if point is None:
            tab, done = Tableau(n), 0
            if begun is not None and not maps and ineqs[: len(begun[0])] == begun[0]:
                done = len(begun[0])
                tab.rollback(begun[1])
            for row in ineqs[done:]:
                tab.add_ineq(row)
                if tab.empty:
                    return None
            point = _rounded(tab.sample(), ineqs)
            if point is None and n <= FLAT:
                point = _at_corners(n, ineqs, tab)
        if point is None and tab is not None:
            tight = tight_slacks(tab, 0, len(ineqs))
            eqs = [row for row, t in zip(ineqs, tight, strict=True) if t]
            if eqs:
                continue
            decided, point = residues.search(n, ineqs, tab, sample)
            if not decided:
                point = _full(n, ineqs, tab)
        if point is None:
            return None
        for origin, basis in reversed(maps):
            moves = _combination(point, basis, len(origin))
            point = tuple([o + m for o, m in zip(origin, moves, strict=True)])
        return point


def _tidy(ineqs: Sequence[Row]) -> tuple[list[Row], list[Row]] | None:
    """Tightened inequalities, the strongest of each normal, and the opposite pairs that make an equality.

    None on a contradiction between a row and itself or its opposite. O(size).
    """
    best = strongest(ineqs)
    if best is None:
        return None
    eqs = []
    for normal, c in best.items():
        opposite = best.get(tuple(map(neg, normal)))
        if opposite is not None and c + opposite <= 0:
            if c + opposite < 0:
                return None
            eqs.append((c, *normal))
    return [(c, *normal) for normal, c in best.items()], eqs


def pushed(n: int, ineqs: Iterable[Row], rounds: int = 2) -> Point | None:
    """A point found by pushing, or None, which proves nothing; O(size).

    It starts as the one nearest to 0 within the bounds of each coordinate. Then every row that fails moves a
    coordinate, if possible one without a bound, far enough; in the last round no row may fail.
    """
    low: list[int | None] = [None] * n
    high: list[int | None] = [None] * n
    others = []
    point = [0] * n
    alone = n - 1  # so many zeros leave one variable
    for row in ineqs:
        c, key = row[0], row[1:]
        if key.count(0) != alone:
            others.append((c, key))
        elif 1 in key:
            k = key.index(1)
            if (least := low[k]) is None or least < -c:
                low[k] = -c
                if c < 0:
                    point[k] = -c
                if (most := high[k]) is not None and most < -c:
                    return None
        elif -1 in key:
            k = key.index(-1)
            if (most := high[k]) is None or most > c:
                high[k] = c
                if c < 0:
                    point[k] = c
                if (least := low[k]) is not None and least > c:
                    return None
        else:
            others.append((c, key))
    used = [*compress(range(n), point)]  # coordinates that are not 0, or were not
    for _ in range(rounds):
        settled = True
        for value, key in others:
            for k in used:
                value += key[k] * point[k]
            if value < 0:
                settled = False
                k = _push(key, -value, point, low, high)
                if k < 0:
                    return None
                if k not in used:
                    used.append(k)
        if settled:
            return tuple(point)
    return None


def _push(coefficients: Row, lack: int, point: list[int], low: Sequence[int | None], high: Sequence[int | None]) -> int:
    """Move one coordinate so that the form gains `lack`; which one, -1 if there is none with room for it."""
    found = -1
    for k, c in enumerate(coefficients):
        if c:
            limit = high[k] if c > 0 else low[k]
            if limit is None:
                found = k
                break
            if found < 0 and abs(limit - point[k]) * abs(c) >= lack:
                found = k
    if found >= 0:
        c = coefficients[found]
        point[found] += -(-lack // c) if c > 0 else lack // c
    return found


def _rounded(vertex: Sequence[tuple[int, int]], ineqs: Sequence[Row]) -> Point | None:
    """The vertex rounded to nearest, down or up, if one of them satisfies all rows."""
    for point in roundings(vertex):
        if all(evaluate(row, point) >= 0 for row in ineqs):
            return tuple(point)
    return None


def _at_corners(n: int, ineqs: Sequence[Row], tab: Tableau) -> Point | None:
    """A corner where a coordinate is extreme, rounded, if one satisfies all rows; at most 2 n LPs."""
    for sign in (1, -1):
        for i in range(n):
            if tab.maximum([0] * (i + 1) + [sign] + [0] * (n - i - 1)) is not None:
                point = _rounded(tab.sample(), ineqs)
                if point is not None:
                    return point
    return None


def _full(n: int, ineqs: Sequence[Row], tab: Tableau) -> Point | None:
    """An integer point of a full-dimensional polyhedron (ideas 2 to 4 of the module)."""
    fat = Tableau(n)
    cone = Tableau(n)
    for row in ineqs:
        if not fat.empty:
            fat.add_ineq((row[0] - (sum(map(abs, row[1:])) + 1) // 2, *row[1:]))
        cone.add_ineq((0, *row[1:]))
    if not fat.empty:
        return tuple([(2 * a + b) // (2 * b) for a, b in fat.sample()])
    flat = tight_slacks(cone, 0, len(ineqs))
    rank, columns = _column_form(n, [row[1:] for row, f in zip(ineqs, flat, strict=True) if f])
    if rank == n and all(flat):
        return _branch(n, ineqs, tab)
    rows = [(row[0], *[dot(row[1:], u) for u in columns]) for row in ineqs]
    first = _solve(rank, (), [row[: rank + 1] for row, f in zip(rows, flat, strict=True) if f])
    if first is None:
        return None
    above = [(evaluate(row[: rank + 1], first), *row[rank + 1 :]) for row, f in zip(rows, flat, strict=True) if not f]
    rest = _solve(n - rank, (), above)
    assert rest is not None
    return _combination(first + rest, columns, n)


def _combination(y: Sequence[int], columns: Sequence[Sequence[int]], n: int) -> Point:
    """The vector sum y_j * columns[j] of n entries."""
    return tuple([sum([t * u[i] for t, u in zip(y, columns, strict=True)]) for i in range(n)])


def _column_form(n: int, normals: Sequence[Row]) -> tuple[int, list[list[int]]]:
    """Unimodular columns u such that all normals vanish on u[rank:]; (rank, u). Euclid's algorithm; exact."""
    columns = [[int(i == j) for i in range(n)] for j in range(n)]
    rank = 0
    for a in normals:
        values = [dot(a, u) for u in columns]
        while True:
            live = [j for j in range(rank, n) if values[j]]
            if len(live) < 2:
                break
            k = min(live, key=lambda j: abs(values[j]))
            for j in live:
                if j != k:
                    q = (2 * values[j] + values[k]) // (2 * values[k])
                    values[j] -= q * values[k]
                    columns[j] = [x - q * y for x, y in zip(columns[j], columns[k], strict=True)]
        if live:
            columns[rank], columns[live[0]] = columns[live[0]], columns[rank]
            rank += 1
    return rank, columns


def _branch(n: int, ineqs: Sequence[Row], tab: Tableau) -> Point | None:
    """An integer point of a polytope: fix the thinnest coordinate, or the first form of a reduced basis."""
    spans = []
    corners = []
    for i in range(n):
        unit = [0] * (n + 1)
        unit[i + 1] = 1
        num, den = _ends(tab.minimum(unit))
        low = -(-num // den)
        corners.append(tab.sample())
        num, den = _ends(tab.maximum(unit))
        corners.append(tab.sample())
        spans.append((num // den - low, i, low, num // den))
        if spans[-1][0] < 0:
            return None
    centre = [sum(Fraction(*c[i]) for c in corners) / len(corners) for i in range(n)]
    point = _rounded([c.as_integer_ratio() for c in centre], ineqs)
    if point is not None:
        return point
    span, i, low, high = min(spans)
    columns = [[int(k == j) for k in range(n)] for j in range(n)]
    if span > n + 2 and n > 1:  # else enumeration is cheaper than reduction
        form, columns = thin_direction(n, ineqs)
        num, den = _ends(tab.minimum((0, *form)))
        low = -(-num // den)
        num, den = _ends(tab.maximum((0, *form)))
        high = num // den
        ineqs = [(row[0], *[dot(row[1:], u) for u in columns]) for row in ineqs]
        i = 0
    for value in _outwards(low, high):
        slab = [(row[0] + value * row[i + 1], *row[1 : i + 1], *row[i + 2 :]) for row in ineqs]
        rest = _solve(n - 1, (), slab)
        if rest is not None:
            return _combination((*rest[:i], value, *rest[i:]), columns, n)
    return None


def _ends(end: tuple[int, int] | None) -> tuple[int, int]:
    """An end of a form's range on a polytope, which has one."""
    assert end is not None
    return end


def _outwards(low: int, high: int) -> Iterator[int]:
    """The integers low..high, the middle first."""
    middle = (low + high) // 2
    for d in range(high - low + 1):
        value = middle + (d + 1) // 2 * (1 if d % 2 else -1)
        if low <= value <= high:
            yield value
    if (high - low) % 2 and low <= high and middle + (high - low + 1) // 2 > high:
        yield low
