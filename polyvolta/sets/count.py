"""Counting and listing the integer points of bounded sets.

Pieces are made disjoint first. Equalities are solved over the integers, which leaves free integers t under
inequalities, as many points as there are solutions t. Groups of t that share no inequality multiply; a
group of one is an interval; a larger one is cut along its narrowest form into slices of one variable less.
So boxes and strides cost nothing per point, and the worst case is an enumeration of all but one dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from . import conjunct as cj
from . import integer, simplex
from .conjunct import Conjunct
from .errors import Unbounded, UnknownName, nearest
from .rows import Row, normal_ineq, substitute

if TYPE_CHECKING:
    from .relation import Relation


def concrete(relation: Relation, params: dict[str, int]) -> Relation:
    """The relation with its parameters given numbers and projected out.

    Raises
    ------
    Unbounded : a parameter has no value.
    """
    unknown = [p for p in params if p not in relation.param_names]
    if unknown:
        raise UnknownName(
            f"no parameter is called {unknown[0]!r}",
            where=str(relation),
            hint=nearest(unknown[0], relation.param_names),
        )
    fixed = relation.fix(**params) if params else relation
    missing = [p for p in relation.param_names if p not in params]
    live = [p for p in missing if any(_uses(c, relation.param_names.index(p)) for _, cs in fixed.parts for c in cs)]
    if live:
        raise Unbounded(f"the parameter {live[0]} has no value", where=str(relation), hint=f"give one: {live[0]}=...")
    return fixed.project_out_params(*relation.param_names).known_divs()


def _uses(c: Conjunct, dim: int) -> bool:
    return any(r[1 + dim] for r in (*c.eqs, *c.ineqs)) or any(d is not None and d[1][1 + dim] for d in c.divs)


def disjoint(pieces: tuple[Conjunct, ...]) -> list[Conjunct]:
    """The same points with every point in one conjunct; the divs must be known."""
    done: list[Conjunct] = []
    for c in pieces:
        left = [c]
        for other in pieces[: pieces.index(c)]:
            left = [p for q in left for p in cj.subtract(q, other)]
        done += left
    return [c for c in done if not c.is_empty]


def count(self: Relation, **params: int) -> int:
    """The number of integer points, with the parameters given.

    Exact. Boxes and strides cost nothing per point; at worst all but one dimension are enumerated.

    Raises
    ------
    Unbounded : a dimension is unbounded, or a parameter has no value.

    >>> from polyvolta.sets import Set
    >>> Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < 1000000 and j mod 4 = 1 }").count(N=1000000)
    250000000000
    """
    total = 0
    for space, cs in concrete(self, params).parts:
        for c in disjoint(cs):
            total += _count(c, space.dims)
    return total


def _count(c: Conjunct, names: tuple[str, ...]) -> int:
    """The points of one conjunct; its divs are functions of the point, so they count as variables."""
    if c.is_empty:
        return 0
    _check_bounded(c, names)
    lattice = integer.solve_equalities(c.n + len(c.divs), c.eqs)
    if lattice is None:
        return 0
    origin, basis = lattice
    images = [(o, *[b[k] for b in basis]) for k, o in enumerate(origin)]
    return _solutions(len(basis), _tidy(substitute(r, images, len(basis)) for r in c.all_ineqs()))


def _check_bounded(c: Conjunct, names: tuple[str, ...]) -> None:
    tableau = _tableau(c.n + len(c.divs), c.eqs, c.all_ineqs())
    for d in range(c.n):
        row = tuple([int(k == 1 + d) for k in range(1 + c.n + len(c.divs))])
        if not tableau.empty and (tableau.minimum(row) is None or tableau.maximum(row) is None):
            raise Unbounded(
                f"the dimension {names[d]} is unbounded",
                where=f"[{', '.join(names)}]",
                hint="intersect with bounds first",
            )


def _tableau(n: int, eqs: Iterable[Row], ineqs: Iterable[Row]) -> simplex.Tableau:
    tableau = simplex.Tableau(n)
    for r in eqs:
        tableau.add_eq(r)
    for r in ineqs:
        tableau.add_ineq(r)
    return tableau


def _tidy(rows: Iterable[Row]) -> tuple[Row, ...] | None:
    """The inequalities, tightened, the strongest of parallel ones, sorted; None for a contradiction."""
    best: dict[Row, int] = {}
    for row in rows:
        r = normal_ineq(row)
        if r is False:
            return None
        if r is not True:
            best[r[1:]] = min(r[0], best.get(r[1:], r[0]))
    return tuple(sorted((c, *key) for key, c in best.items()))


@lru_cache(maxsize=1 << 14)
def _solutions(n: int, rows: tuple[Row, ...] | None) -> int:
    """The number of integer solutions of bounded inequalities: independent groups of variables multiply."""
    if rows is None:
        return 0
    group = list(range(n + 1))

    def find(k: int) -> int:
        while group[k] != k:
            k = group[k]
        return k

    for r in rows:
        used = [k for k in range(1, n + 1) if r[k]]
        for k in used[1:]:
            group[find(k)] = find(used[0])
    product = 1
    for root in sorted({find(k) for k in range(1, n + 1)}):
        members = [k for k in range(1, n + 1) if find(k) == root]
        own = [(r[0], *[r[k] for k in members]) for r in rows if any(r[k] for k in members)]
        product *= _interval(own) if len(members) == 1 else _slices(len(members), own)
        if not product:
            return 0
    return product


def _interval(rows: list[Row]) -> int:
    low = max(-r[0] for r in rows if r[1] > 0)
    high = min(r[0] for r in rows if r[1] < 0)
    return max(0, high - low + 1)


def _slices(n: int, rows: list[Row]) -> int:
    """Sum over the values of the narrowest form: a variable, or what a pair of opposite rows bounds."""
    tableau = _tableau(n, (), rows)
    if tableau.empty:
        return 0
    forms = {tuple([int(j == k) for j in range(n)]) for k in range(n)}
    forms |= {r[1:] for r in rows if 1 in r[1:] and any(o[1:] == tuple([-v for v in r[1:]]) for o in rows)}
    choices = []
    for form in sorted(forms):
        low, high = tableau.minimum((0, *form)), tableau.maximum((0, *form))
        choices.append((high[0] // high[1] + (-low[0] // low[1]), -(-low[0] // low[1]), high[0] // high[1], form))
    _, low, high, form = min(choices)
    k = form.index(1)
    total = 0
    for value in range(low, high + 1):
        image = [-v for v in form]  # the variable k by the others, where the form has this value
        cut = [[a + r[1 + k] * b for a, b in zip(r, (value, *image), strict=True)] for r in rows]
        total += _solutions(n - 1, _tidy((*r[: 1 + k], *r[2 + k :]) for r in cut))
    return total


def points(self: Relation, **params: int) -> Iterator[tuple[int, ...]]:
    """The integer points in lexicographic order, with the parameters given; inputs before outputs.

    Exact; an emptiness test per prefix of a point. Raises as `count` does.

    >>> from polyvolta.sets import Set
    >>> list(Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j <= i }").points(N=2))
    [(0, 0), (1, 0), (1, 1)]
    """
    found: set[tuple[int, ...]] = set()
    for space, cs in concrete(self, params).parts:
        for c in cs:
            if not c.is_empty:
                _check_bounded(c, space.dims)
                found.update(_walk(c, ()))
    yield from sorted(found)


def _walk(c: Conjunct, prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The points of a conjunct, one dimension fixed at a time."""
    n, width = c.n, c.n + len(c.divs)
    if not n:
        yield prefix
        return
    tableau = _tableau(width, c.eqs, c.all_ineqs())
    if tableau.empty:
        return
    row = tuple([int(k == 1) for k in range(1 + width)])
    low, high = tableau.minimum(row), tableau.maximum(row)
    for value in range(-(-low[0] // low[1]), high[0] // high[1] + 1):
        fixed = partial(_fixed, value)
        divs = [(den, fixed(r)) for den, r in c.divs]
        rest = cj.normalise(n - 1, divs, map(fixed, c.eqs), map(fixed, c.ineqs))
        if rest is not None and not rest.is_empty:
            yield from _walk(rest, (*prefix, value))


def _fixed(value: int, row: Row) -> Row:
    """The row where the first variable is a number."""
    return (row[0] + row[1] * value, *row[2:])
