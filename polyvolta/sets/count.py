"""Counting and listing the integer points of bounded sets.

Pieces are made disjoint first. The points of one piece are counted by splitting its variables into groups
that share no constraint, whose counts multiply; a group of one variable is an interval or a residue class,
counted in closed form; a larger group fixes its narrowest variable to each of its values. So boxes and
strides cost nothing per point, and the worst case is an enumeration of all but one dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from . import conjunct as cj
from . import simplex
from .conjunct import Conjunct
from .errors import Unbounded, UnknownName, nearest
from .relation import Relation


def concrete(relation: Relation, params: dict[str, int]) -> Relation:
    """The relation with its parameters given numbers and projected out.

    Raises
    ------
    Unbounded : a parameter has no value.
    """
    unknown = [p for p in params if p not in relation.params]
    if unknown:
        raise UnknownName(f"no parameter is called {unknown[0]!r}", where=str(relation), hint=nearest(unknown[0], relation.params))
    fixed = relation.fix(**params) if params else relation
    missing = [p for p in relation.params if p not in params]
    live = [p for p in missing if any(_uses(c, relation.params.index(p)) for _, cs in fixed.parts for c in cs)]
    if live:
        raise Unbounded(
            f"the parameter {live[0]} has no value", where=str(relation), hint=f"give one: {live[0]}=..."
        )
    return fixed.project_out_params(*relation.params).known_divs()


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


def count(relation: Relation, params: dict[str, int]) -> int:
    """See `Relation.count`.

    >>> from polyvolta.sets import Set
    >>> Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < 1000000 and j mod 4 = 1 }").count(N=1000000)
    250000000000
    """
    total = 0
    for space, cs in concrete(relation, params).parts:
        for c in disjoint(cs):
            total += _count(c, space.dims)
    return total


def _count(c: Conjunct, names: tuple[str, ...]) -> int:
    rows = _System(c.n + len(c.divs), c.eqs, tuple(c.all_ineqs()))
    _check_bounded(c, names)
    return _count_rows(rows)


def _check_bounded(c: Conjunct, names: tuple[str, ...]) -> None:
    tableau = _tableau(c.n + len(c.divs), c.eqs, tuple(c.all_ineqs()))
    for d in range(c.n):
        row = tuple(int(k == 1 + d) for k in range(1 + c.n + len(c.divs)))
        if tableau.minimum(row) is None or tableau.maximum(row) is None:
            raise Unbounded(f"the dimension {names[d]} is unbounded", where=str(names), hint="intersect with bounds first")


def _tableau(n: int, eqs: tuple, ineqs: tuple) -> simplex.Tableau:
    tableau = simplex.Tableau(n)
    for r in eqs:
        tableau.add_eq(r)
    for r in ineqs:
        tableau.add_ineq(r)
    return tableau


class _System(tuple):
    """(n, eqs, ineqs), hashable, for the memo of counts."""

    def __new__(cls, n: int, eqs: tuple, ineqs: tuple) -> _System:
        return tuple.__new__(cls, (n, tuple(sorted(eqs)), tuple(sorted(ineqs))))


@lru_cache(maxsize=1 << 14)
def _count_rows(system: _System) -> int:
    """The number of integer solutions; the system is bounded."""
    n, eqs, ineqs = system
    c = cj.normalise(n, (), eqs, ineqs)
    if c is None or c.is_empty:
        return 0
    # equalities with a unit coefficient define a variable: it adds no points
    solved = {next(k for k in range(n, 0, -1) if abs(r[k]) == 1) for r in c.eqs if any(abs(v) == 1 for v in r[1:])}
    plain = [r for r in c.eqs if not any(abs(v) == 1 for v in r[1:])]
    if solved and not plain and not any(r[k] for r in c.ineqs for k in solved):
        free = [k for k in range(1, n + 1) if k not in solved]
        return _product(len(free), (), tuple((r[0], *(r[k] for k in free)) for r in c.ineqs))
    return _product(n, c.eqs, c.ineqs)


def _product(n: int, eqs: tuple, ineqs: tuple) -> int:
    """Independent groups of variables multiply."""
    group = list(range(n + 1))

    def find(k: int) -> int:
        while group[k] != k:
            k = group[k]
        return k

    for r in (*eqs, *ineqs):
        used = [k for k in range(1, n + 1) if r[k]]
        for k in used[1:]:
            group[find(k)] = find(used[0])
    total = 1
    for root in {find(k) for k in range(1, n + 1)}:
        members = [k for k in range(1, n + 1) if find(k) == root]
        mine = lambda rows: tuple((r[0], *(r[k] for k in members)) for r in rows if any(r[k] for k in members))  # noqa: E731, B023
        total *= _group(len(members), mine(eqs), mine(ineqs))
        if not total:
            return 0
    return total


def _group(n: int, eqs: tuple, ineqs: tuple) -> int:
    if n == 1:
        low = max(-(r[0] // r[1]) for r in ineqs if r[1] > 0)
        high = min(r[0] // -r[1] for r in ineqs if r[1] < 0)
        if not eqs:
            return max(0, high - low + 1)
    bounds = _ranges(n, eqs, ineqs)
    if bounds is None:
        return 0
    k, (low, high) = min(enumerate(bounds), key=lambda t: t[1][1] - t[1][0])
    total = 0
    for value in range(low, high + 1):
        cut = lambda r: (r[0] + r[1 + k] * value, *r[1 : 1 + k], *r[2 + k :])  # noqa: E731, B023
        total += _count_rows(_System(n - 1, tuple(map(cut, eqs)), tuple(map(cut, ineqs))))
    return total


def _ranges(n: int, eqs: tuple, ineqs: tuple) -> list[tuple[int, int]] | None:
    tableau = _tableau(n, eqs, ineqs)
    if tableau.empty:
        return None
    out = []
    for k in range(n):
        row = tuple(int(j == 1 + k) for j in range(n + 1))
        low, high = tableau.minimum(row), tableau.maximum(row)
        out.append((-(-low[0] // low[1]), high[0] // high[1]))
    return out


def points(relation: Relation, params: dict[str, int]) -> Iterator[tuple[int, ...]]:
    """See `Relation.points`.

    >>> from polyvolta.sets import Set
    >>> list(Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j <= i }").points(N=2))
    [(0, 0), (1, 0), (1, 1)]
    """
    found: set[tuple[int, ...]] = set()
    for space, cs in concrete(relation, params).parts:
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
    tableau = _tableau(width, c.eqs, tuple(c.all_ineqs()))
    if tableau.empty:
        return
    row = tuple(int(k == 1) for k in range(1 + width))
    low, high = tableau.minimum(row), tableau.maximum(row)
    for value in range(-(-low[0] // low[1]), high[0] // high[1] + 1):
        cut = lambda r: (r[0] + r[1] * value, *r[2:])  # noqa: E731, B023
        rest = cj.normalise(n - 1, [(d[0], cut(d[1])) for d in c.divs], map(cut, c.eqs), map(cut, c.ineqs))
        if rest is not None and not rest.is_empty:
            yield from _walk(rest, (*prefix, value))



