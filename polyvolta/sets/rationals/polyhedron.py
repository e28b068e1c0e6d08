"""Convex polyhedra of rational points, whose faces are there or not.

A polyhedron over n dimensions (parameters, then those of the tuple) has integer rows `(const, dim_1 .. dim_n)`: of
`eqs` each says `= 0`, of `ineqs` `>= 0`, of `strict` `> 0`. The negation of `r >= 0` is `-r > 0`, so with strict rows
the complement of a polyhedron is a union of polyhedra again, which it is not with closed ones alone.

Every polyhedron here has a point, and one form. Its equalities say of what the others are affine functions, with
whatever inequalities hold with equality everywhere among them; no inequality mentions a dimension that they solve for,
and none can be left out. That makes rows of facets unique, and equal polyhedra equal objects, but for strict rows that
take away less than a facet: of `x, y >= 0`, both `x + y > 0` and `x + 2y > 0` take the corner.

With strict rows a system has a point when its closed one has, and no strict row is 0 throughout that: between a point
where one is positive and one where another is, both are. So one tableau decides whether there is a point, and finds
the implied equalities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd

from ..budgets import remembered, spend
from ..engine import cone
from ..engine.rows import Row, combine, dot, negate, picker
from ..engine.simplex import Tableau, redundant_rows, tight_slacks

Point = tuple[Fraction, ...]

MANY = 100  # rows that eliminating one of several dimensions makes, where a double description is faster


@dataclass(frozen=True, slots=True)
class Polyhedron:
    """The points with `eqs` = 0, `ineqs` >= 0 and `strict` > 0, in normal form; `polyhedron` makes one."""

    n: int
    eqs: tuple[Row, ...] = ()
    ineqs: tuple[Row, ...] = ()
    strict: tuple[Row, ...] = ()

    def holds(self, point: Sequence[int | Fraction]) -> bool:
        """Whether a point is in it; one evaluation a row."""
        return (
            not any(_at(r, point) for r in self.eqs)
            and all(_at(r, point) >= 0 for r in self.ineqs)
            and all(_at(r, point) > 0 for r in self.strict)
        )


@lru_cache(maxsize=64)
def universe(n: int) -> Polyhedron:
    """All points of n dimensions."""
    return Polyhedron(n)


@remembered(1 << 12)
def _normal(n: int, eqs: tuple[Row, ...], ineqs: Sequence[Row], strict: Sequence[Row]) -> Polyhedron | None:
    solved = _solved(eqs)
    while solved is not None:
        rows = _strongest(solved, ineqs, strict)
        if rows is None:
            return None
        tab = Tableau(n)
        for row in solved:
            tab.add_eq(row)
        for row in rows:
            tab.add_ineq(row)
        if tab.empty:
            return None
        zero = dict(zip(rows, tight_slacks(tab, len(solved), len(rows))))
        if any(zero[row] and is_strict for row, is_strict in rows.items()):
            return None
        tight = [row for row in rows if zero[row]]
        if not tight:
            return Polyhedron(n, solved, *_irredundant(n, solved, rows))
        solved = _solved((*solved, *tight))
        ineqs, strict = ([r for r in rows if not zero[r] and rows[r] is kind] for kind in (False, True))
    return None


def polyhedron(
    n: int, eqs: Iterable[Row] = (), ineqs: Iterable[Row] = (), strict: Iterable[Row] = ()
) -> Polyhedron | None:
    """The polyhedron of some rows in normal form; None if it has no point. Exact, two linear programs a row.

    >>> polyhedron(1, (), [(0, 2), (9, -2)], [(5, -1)])
    Polyhedron(n=1, eqs=(), ineqs=((0, 1), (9, -2)), strict=())
    >>> polyhedron(1, (), [(0, 1)], [(0, -1)]) is None
    True
    """
    return _normal(n, tuple(eqs), tuple(ineqs), tuple(strict))


def _primitive(row: Sequence[int]) -> Row:
    g = gcd(*row)
    return tuple([c // g for c in row]) if g > 1 else tuple(row)


def _at(row: Row, point: Sequence[int | Fraction]) -> int | Fraction:
    return row[0] + dot(row[1:], point)  # pyright: ignore[reportArgumentType]


def _solved(eqs: Iterable[Row]) -> tuple[Row, ...] | None:
    """The equalities, each solved for a dimension, its last one, that the others don't mention; None without solution.

    >>> _solved([(0, 1, -1), (0, 1, 1)])
    ((0, 1, 0), (0, 0, 1))
    """
    done: dict[int, Row] = {}
    for row in eqs:
        row = without(row, done.items())
        col = last(row)
        if not col:
            if row[0]:
                return None
            continue
        row = row if row[col] > 0 else negate(row)
        done = {k: without(other, [(col, row)]) for k, other in done.items()}
        done[col] = row
    return tuple([done[col] for col in sorted(done)])


def last(row: Row) -> int:
    """The last dimension that a row mentions, 0 for none."""
    return max((k for k in range(1, len(row)) if row[k]), default=0)


def without(row: Row, solved: Iterable[tuple[int, Row]]) -> Row:
    """A positive multiple of the row, plus multiples of equalities, each of which takes a column out of it."""
    for col, eq in solved:
        if row[col]:
            row = combine(abs(eq[col]), row, -row[col] if eq[col] > 0 else row[col], eq)
    return _primitive(row)


def _strongest(eqs: Iterable[Row], ineqs: Iterable[Row], strict: Iterable[Row]) -> dict[Row, bool] | None:
    """The inequalities in terms of the columns that are not solved for, each with whether it is strict.

    Of parallel ones the strongest; None if one never holds.
    """
    solved = [(last(eq), eq) for eq in eqs]
    best: dict[Row, tuple[Fraction, bool, Row]] = {}
    for is_strict, rows in ((False, ineqs), (True, strict)):
        for row in rows:
            row = without(row, solved)
            g = gcd(*row[1:])
            if not g:
                if row[0] < is_strict:
                    return None
                continue
            key, bound = tuple([c // g for c in row[1:]]), Fraction(row[0], g)
            old = best.get(key)
            if old is None or bound <= old[0]:  # strict ones come last
                best[key] = (bound, is_strict, row)
    return {row: is_strict for _, is_strict, row in sorted(best.values(), key=lambda b: b[2][1:], reverse=True)}


def _irredundant(n: int, eqs: Sequence[Row], rows: dict[Row, bool]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The inequalities and strict ones that can't be left out, of a system with a point and no implied equality.

    Rows of facets are those that the closed system needs. A strict row beyond them is needed when it is 0 somewhere.
    """
    gone = dict(zip(rows, redundant_rows(n, eqs, list(rows))))
    ineqs, strict = ([r for r in rows if not gone[r] and rows[r] is kind] for kind in (False, True))
    more = [row for row in rows if gone[row] and rows[row]]
    for row in more.copy():
        rest = [r for r in more if r != row]
        if not has_point(n, (*eqs, row), ineqs, (*strict, *rest)):
            more = rest
    return tuple(ineqs), (*strict, *more)


def has_point(n: int, eqs: Iterable[Row], ineqs: Iterable[Row], strict: Sequence[Row]) -> bool:
    """Whether a system has a rational point; exact, at most a linear program for each strict row."""
    tab = Tableau(n)
    for row in strict:
        tab.add_ineq(row)
    for eq in eqs:
        tab.add_eq(eq)
    for row in ineqs:
        tab.add_ineq(row)
    return not tab.empty and not any(tight_slacks(tab, 0, len(strict)))


def sample(p: Polyhedron) -> Point:
    """A point of a polyhedron: a vertex of the closed one, or one as far from strict rows as it goes, at most 1.

    >>> sample(polyhedron(1, (), (), [(0, 1), (1, -2)]))
    (Fraction(1, 3),)
    """
    tab = Tableau(p.n + 1)
    for eq in p.eqs:
        tab.add_eq((*eq, 0))
    for row in p.ineqs:
        tab.add_ineq((*row, 0))
    for row in p.strict:
        tab.add_ineq((*row, -1))
    tab.add_ineq((1, *[0] * p.n, -1))
    tab.maximum((0, *[0] * p.n, 1))
    return tuple([Fraction(num, den) for num, den in tab.sample()[: p.n]])


def _rows(p: Polyhedron) -> list[tuple[Row, bool]]:
    """The inequalities that say what a polyhedron is, its equalities as two, each with whether it is strict."""
    both = [(r, False) for eq in p.eqs for r in (eq, negate(eq))]
    return [*both, *((r, False) for r in p.ineqs), *((r, True) for r in p.strict)]


def conjoin(p: Polyhedron, q: Polyhedron) -> Polyhedron | None:
    """The points of both; None if there is none."""
    return polyhedron(p.n, (*p.eqs, *q.eqs), (*p.ineqs, *q.ineqs), (*p.strict, *q.strict))


def subtract(p: Polyhedron, q: Polyhedron) -> list[Polyhedron]:
    """The points of p that are not in q, as disjoint polyhedra: those that violate a row of q, and none before it."""
    if conjoin(p, q) is None:
        return [p]
    out, ineqs, strict = [], list(p.ineqs), list(p.strict)
    for row, is_strict in _rows(q):
        outside = (negate(row),)
        violated = ((*ineqs, *outside), strict) if is_strict else (ineqs, (*strict, *outside))
        piece = polyhedron(p.n, p.eqs, *violated)
        if piece is not None:
            out.append(piece)
            (strict if is_strict else ineqs).append(row)
    return out


def subtract_all(pieces: Iterable[Polyhedron], knives: Iterable[Polyhedron]) -> list[Polyhedron]:
    """The points of some polyhedra that are in none of others."""
    left = list(pieces)
    for knife in knives:
        left = [rest for p in left for rest in subtract(p, knife)]
    return left


# ---- columns


def reindex(p: Polyhedron, n: int, places: tuple[int, ...]) -> Polyhedron:
    """The polyhedron over n dimensions, its own dimension d standing at position `places[d]`; those new are free."""
    source = [p.n + 1] * n  # a zero behind the row
    for d, place in enumerate(places):
        source[place] = 1 + d
    take = picker((0, *source))
    eqs, ineqs, strict = ([take((*r, 0)) for r in rows] for rows in (p.eqs, p.ineqs, p.strict))
    if list(places) == sorted(places):
        return Polyhedron(n, tuple(eqs), tuple(ineqs), tuple(strict))
    moved = polyhedron(n, eqs, ineqs, strict)
    assert moved is not None
    return moved


def project(p: Polyhedron, columns: tuple[int, ...]) -> Polyhedron:
    """The polyhedron without some dimensions: all points below its own. Exact.

    A dimension that an equality has is put in from that. Else by Fourier and Motzkin each lower bound is held against
    each upper one: between two there is a number when the one is at most the other, or less than it if either is
    strict. Where that makes many rows, vertices are projected instead. At worst exponential in the dimensions.

    >>> project(polyhedron(2, (), [(0, 0, 1), (0, 1, -1)], [(3, -1, 0)]), (1,))
    Polyhedron(n=1, eqs=(), ineqs=((0, 1),), strict=((3, -1),))
    """
    left = set(columns)
    while left:
        col = min(left, key=lambda k: _cost(p, 1 + k))
        if _cost(p, 1 + col) > MANY * (1 if len(left) > 1 else 4):
            p = _by_generators(p, [1 + k for k in range(p.n) if k not in left])
            break
        left.remove(col)
        done = _eliminated(p, 1 + col)
        assert done is not None
        p = done
    take = picker((0, *[1 + k for k in range(p.n) if k not in columns]))
    eqs, ineqs, strict = (tuple([take(r) for r in rows]) for rows in (p.eqs, p.ineqs, p.strict))
    return Polyhedron(p.n - len(set(columns)), eqs, ineqs, strict)


def _by_generators(p: Polyhedron, kept: Sequence[int]) -> Polyhedron:
    """The polyhedron with all columns free but some, by double description.

    With one dimension more, e with 0 <= e <= 1 and `r >= e` for each strict row, it is a closed polyhedron: the points
    are those above which e may be positive (R. Bagnara, P. Hill, E. Zaffanella, "Not necessarily closed convex
    polyhedra and the double description method", 2005). With an e there is any smaller one, so its projection, too,
    bounds e by 0 from below and by rows from above, of which each says that without e it is positive.
    """
    take = picker((0, *kept, p.n + 1))
    below = [(0, *[0] * p.n, 1), (1, *[0] * p.n, -1)]
    rows = [*((*r, 0) for r in p.ineqs), *((*r, -1) for r in p.strict), *below]
    lines, rays = cone.of_polyhedron(p.n + 1, [(*r, 0) for r in p.eqs], rows)
    eqs, ineqs = cone.to_polyhedron(len(kept) + 1, map(take, lines), map(take, rays))
    source = [len(kept) + 1] * p.n  # a zero, where a column is free
    for at, col in enumerate(kept, 1):
        source[col - 1] = at
    spread = picker((0, *source))
    wide = lambda found: [spread((*r[:-1], 0)) for r in found]  # noqa: E731
    closed, strict = wide(r for r in ineqs if not r[-1]), wide(r for r in ineqs if r[-1] < 0)
    if not p.strict:
        return minimal(p.n, wide(eqs), closed)
    done = polyhedron(p.n, wide(eqs), closed, strict)
    assert done is not None
    return done


def minimal(n: int, eqs: Iterable[Row], ineqs: Iterable[Row]) -> Polyhedron:
    """The polyhedron of rows that are known to have a point, none to leave out and no further equality."""
    solved = _solved(eqs)
    rows = solved is not None and _strongest(solved, ineqs, ())
    assert solved is not None and isinstance(rows, dict)
    return Polyhedron(n, solved, tuple(rows))


def _cost(p: Polyhedron, col: int) -> int:
    """How many rows it makes to eliminate a column."""
    if any(eq[col] for eq in p.eqs):
        return -1
    signs = [r[col] > 0 for r in (*p.ineqs, *p.strict) if r[col]]
    return signs.count(True) * signs.count(False) - len(signs)


def _eliminated(p: Polyhedron, col: int) -> Polyhedron | None:
    """The polyhedron with a column free."""
    pivot = next((eq for eq in p.eqs if eq[col]), None)
    if pivot is not None:
        by = [(col, pivot)]
        eqs = [without(eq, by) for eq in p.eqs if eq is not pivot]
        return polyhedron(p.n, eqs, [without(r, by) for r in p.ineqs], [without(r, by) for r in p.strict])
    kept: tuple[list[Row], list[Row]] = ([], [])
    low: list[tuple[Row, bool]] = []
    high: list[tuple[Row, bool]] = []
    for is_strict, rows in ((False, p.ineqs), (True, p.strict)):
        for row in rows:
            if not row[col]:
                kept[is_strict].append(row)
            else:
                (low if row[col] > 0 else high).append((row, is_strict))
    spend(1 + len(low) * len(high))
    for a, a_strict in low:
        for b, b_strict in high:
            kept[a_strict or b_strict].append(_primitive(combine(-b[col], a, a[col], b)))
    return polyhedron(p.n, p.eqs, *kept)


# ---- fewer pieces


def coalesce(pieces: Iterable[Polyhedron]) -> tuple[Polyhedron, ...]:
    """Fewer polyhedra with the same points: pairs whose union is one polyhedron become that, until there is none."""
    done: list[Polyhedron] = []
    todo = list(pieces)[::-1]
    while todo:
        p = todo.pop()
        for k, q in enumerate(done):
            both = _joined(q, p)
            if both is not None:
                del done[k]
                todo.append(both)
                break
        else:
            done.append(p)
    return tuple(done)


def _joined(p: Polyhedron, q: Polyhedron) -> Polyhedron | None:
    """The polyhedron with exactly the points of both, if there is one.

    The rows of either that hold on the other, strict ones if they do so strictly, make an envelope. Of closed
    polyhedra the union is convex exactly when it is the envelope (A. Bemporad, K. Fukuda, F. Torrisi, "Convexity
    recognition of the union of polyhedra", 2001); in any case a difference says whether it has other points.
    """
    rows: dict[Row, bool] = {}
    for one, other in ((p, q), (q, p)):
        for row, is_strict in _rows(one):
            if not has_point(p.n, other.eqs, other.ineqs, (*other.strict, negate(row))):
                meets = has_point(p.n, (*other.eqs, row), other.ineqs, other.strict)
                rows[row] = is_strict and not meets
    hull = polyhedron(p.n, (), [r for r, s in rows.items() if not s], [r for r, s in rows.items() if s])
    return hull if hull is not None and not subtract_all([hull], (p, q)) else None
