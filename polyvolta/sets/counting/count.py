"""Counting and listing the integer points of bounded sets.

Points in several pieces are made to count once (module `disjoint`). Existentials are made floors, unless they
have so few values that listing is cheaper. Equalities are solved over the integers, which leaves free integers t under
inequalities, as many points as there are solutions t. Groups of t that share no inequality multiply:

- a group of one is an interval;
- a group of two is a polygon (module `polygon`);
- a larger group is summed one variable at a time (module `summation`), which costs nothing per point either;
- where that would take too many residues, the group is cut along its narrowest form into slices of one variable
  less, and the slices are counted.

So only needles with many variables and large coefficients are enumerated, a slice and not a point a step, and
under the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import groupby
from math import isinf, prod
from operator import mul
from typing import TYPE_CHECKING

from ..budgets import metered, remembered, spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.implies import box
from ..conjuncts.project import with_known_divs
from ..engine import integer, simplex
from ..engine.rows import Row, evaluate, strongest, substitute_all
from ..errors import NotSupported, SpaceMismatch, Unbounded, UnknownName, nearest
from .disjoint import counted_once, is_box
from .polygon import ends, polygon
from .summation import RESIDUES, Summation, size, values

if TYPE_CHECKING:
    from ..values.relation import Relation

PER_STEP = 64  # values that are listed for one step
CANDIDATES = 4096  # corners of a box that is rather listed than reasoned about, where there are existentials


def concrete(relation: Relation, params: dict[str, int]) -> Relation:
    """The relation with its parameters given numbers and projected out.

    Raises
    ------
    UnknownName : a value is given to something that is no parameter.
    Unbounded : a parameter has no value, neither given nor by an equality of every piece (`pinned`).
    """
    if not relation.param_names and not params:
        return relation
    unknown = [p for p in params if p not in relation.param_names]
    if unknown:
        raise UnknownName(
            f"no parameter is called {unknown[0]!r}",
            where=str(relation),
            hint=nearest(unknown[0], relation.param_names),
        )
    fixed = relation.fix(**params) if params else relation
    missing = [p for p in relation.param_names if p not in params]
    live = [p for p in missing if any(cj.uses(c, relation.param_names.index(p)) for _, cs in fixed.parts for c in cs)]
    live = [p for p in live if pinned(fixed, p) is None]
    if live:
        raise Unbounded(f"the parameter {live[0]} has no value", where=str(relation), hint=f"give one: {live[0]}=...")
    return fixed.project_out_params(*relation.param_names)


def pinned(relation: Relation, param: str) -> int | None:
    """The one number that a parameter can be by the equalities of every piece; None where there is none, or two.

    >>> from polyvolta.sets import Set
    >>> pinned(Set("[N, M] -> { [i] : N = 2M and M = 3 }"), "N")
    6
    >>> pinned(Set("[N] -> { [i] : N = 3; [i] : N = 4 }"), "N") is None
    True
    """
    column = relation.param_names.index(param)
    found: set[int] = set()
    for _, pieces in relation.parts:
        for c in pieces:
            solved = integer.solve_equalities(c.n + len(c.divs), c.eqs)
            if solved is None:
                continue
            origin, basis = solved
            if any(direction[column] for direction in basis):
                return None
            found.add(origin[column])
    return found.pop() if len(found) == 1 else None


def count(self: Relation, /, **params: int) -> int:
    """The number of integer points, with the parameters given.

    `params` are the values of the parameters by name; one that the relation says itself, as after `fix`, need not be.

    Exact. Nothing is enumerated but slices of polytopes in three and more variables with large coefficients.

    Raises
    ------
    Unbounded : a dimension is unbounded, or a parameter has no value.

    >>> from polyvolta.sets import Set
    >>> Set("[N] -> { [i, j] : 0 <= j <= i < N and i mod 3 = 1 }").count(N=10**9)
    166666666500000000
    >>> Set("[N] -> { [i, j] : 0 <= j <= i < N }").fix(N=4).count()
    10
    """
    total = 0
    for space, cs in concrete(self, params).parts:
        for c, sign in counted_once(cs):
            total += sign * _count(c, space.dims)
    return total


def check_bounded(c: Conjunct, names: tuple[str, ...], n_keep: int = 0) -> None:
    """Raise `Unbounded` when a dimension from the `n_keep`-th on has infinitely many values for the same first ones.

    The conjunct is not empty; `names` are those of its dimensions. Two linear programs per dimension, on the cone of
    the directions in which it recedes.
    """
    cone = simplex.Tableau(c.n + len(c.divs))
    for k in range(n_keep):
        cone.add_eq(_unit(k, cone.n))
    for r in c.eqs:
        cone.add_eq((0, *r[1:]))
    for r in c.all_ineqs():
        cone.add_ineq((0, *r[1:]))
    for d in range(n_keep, c.n):
        row = _unit(d, cone.n)
        if cone.minimum(row) is None or cone.maximum(row) is None:
            raise Unbounded(
                f"the dimension {names[d]} is unbounded",
                where=f"[{', '.join(names[n_keep:])}]",
                hint="intersect with bounds first",
            )


def _unit(d: int, n: int) -> Row:
    return tuple([int(k == 1 + d) for k in range(1 + n)])


@remembered(1 << 12)
def _count(c: Conjunct, names: tuple[str, ...]) -> int:
    """The points of one conjunct. Known divs are functions of the point, so they count as variables."""
    if is_box(c) and not any(isinf(end) for ends in box(c) for end in ends):
        return prod(max(0, int(high) - int(low) + 1) for low, high in box(c))
    if not c.known:
        few = _sieved(c)
        return sum(_count(d, names) for d in with_known_divs(_bounded(c, names))) if few is None else few
    lattice = integer.solve_equalities(c.n + len(c.divs), c.eqs)
    if lattice is None:
        return 0
    origin, basis = lattice
    images = [(o, *[b[k] for b in basis]) for k, o in enumerate(origin)]
    rows = _tidy(substitute_all(c.all_ineqs(), images, len(basis)))
    if rows is None:
        return 0
    single = {(r[1 + k] > 0, k) for k in range(len(basis)) for r in rows if r[1 + k] and not _others(r, 1 + k)}
    if len(single) < 2 * len(basis):
        if _bounded(c, names).is_empty:
            return 0
    return _solutions(len(basis), rows)


def _bounded(c: Conjunct, names: tuple[str, ...]) -> Conjunct:
    """The conjunct, checked to be bounded unless it is empty."""
    if not c.is_empty:
        check_bounded(c, names)
    return c


def _sieved(c: Conjunct) -> int | None:
    """The points of a conjunct that has few, with few values of its existentials: all are listed. None else."""
    lattice = integer.solve_equalities(c.n + len(c.divs), c.eqs)
    if lattice is None:
        return 0
    origin, basis = lattice
    n = len(basis)
    images = [(o, *[b[k] for b in basis]) for k, o in enumerate(origin)]
    rows = _tidy(substitute_all(c.all_ineqs(), images, n))
    ranges = [] if rows is None else _spans(n, rows)
    if rows is None or ranges is None:
        return 0 if rows is None else None
    order = [k for _, k in sorted((size(r), k) for k, r in enumerate(ranges))]
    if prod(map(size, ranges)) > CANDIDATES:
        return None
    ranges = [ranges[k] for k in order]
    images = [(i[0], *[i[1 + k] for k in order]) for i in images[: c.n]]
    found: list[tuple[int, ...]] = [()]
    shuffled = [(r[0], *[r[1 + k] for k in order]) for r in rows]
    for k, span in enumerate(ranges):
        mine = [(r[0], r[1 : 1 + k], r[1 + k]) for r in shuffled if r[1 + k] and not any(r[2 + k :])]
        mine = [row for row in mine if any(row[1])]  # the span keeps what speaks of this one alone
        found = [(*p, v) for p in found for v in (_within(span, p, mine) if mine else span)]
        spend(1 + len(found) // 4)
    return len({tuple([evaluate(i, p) for i in images]) for p in found})


def _within(span: range, point: tuple[int, ...], rows: Iterable[tuple[int, Row, int]]) -> range:
    """The values x of a range at which no row (const, head, a), const + head . point + a*x, is negative."""
    low, high = span.start, span.stop - 1
    for const, head, a in rows:
        b = const + sum(map(mul, head, point))
        if a > 0:
            end = -(b // a)
            low = end if end > low else low
        else:
            end = b // -a
            high = end if end < high else high
    return range(low, high + 1)


def _spans(n: int, rows: Iterable[Row]) -> list[range] | None:
    """The values between the least and the greatest of each variable; None if one is unbounded."""
    tableau = simplex.Tableau(n)
    for r in rows:
        tableau.add_ineq(r)
    out = []
    for d in range(n):
        span = values(tableau, _unit(d, n))
        if span is None:
            return None
        out.append(span)
    return out


def _others(row: Row, k: int) -> bool:
    """Whether the row has another variable than the k-th."""
    return any(row[1:k]) or any(row[k + 1 :])


def _tidy(rows: Iterable[Row]) -> tuple[Row, ...] | None:
    """The inequalities, tightened, the strongest of parallel ones, sorted; None for a contradiction."""
    best = strongest(rows)
    return None if best is None else tuple(sorted((c, *key) for key, c in best.items()))


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
    members: dict[int, list[int]] = {}
    for k in range(1, n + 1):
        members.setdefault(find(k), []).append(k)
    answer = 1
    for own in sorted(members.values(), key=len):
        mine = [r for r in rows if any(r[k] for k in own)]
        own = _ordered(own, mine) if len(own) > 2 else own
        answer *= _group(len(own), tuple(sorted([(r[0], *[r[k] for k in own]) for r in mine])))
        if not answer:
            return 0
    return answer


def _ordered(own: Sequence[int], rows: Sequence[Row]) -> list[int]:
    """Variables in an order that what the rows say of each gives, not its number.

    What is counted of `a < b < c` is then known of `c < a < b`: the pieces of a union are often alike but for names.
    Each variable is told by the rows that it is in, and those by what is in them, twice over; any order is right.
    """
    told: dict[int, object] = dict.fromkeys(own, 0)
    for _ in range(2):
        of_row = [(r[0], sorted([(told[k], r[k]) for k in own if r[k]])) for r in rows]
        found = {k: sorted([(r[k], of) for r, of in zip(rows, of_row, strict=True) if r[k]]) for k in own}
        ranks = {repr(key): place for place, key in enumerate(sorted(found.values()))}
        told = {k: ranks[repr(found[k])] for k in own}
    return sorted(own, key=lambda k: (told[k], k))


def _group(n: int, rows: tuple[Row, ...]) -> int:
    spend()
    if n == 1:
        low, high = ends(rows)
        return max(0, high - low + 1)
    return polygon(rows) if n == 2 else _body(n, rows)


@remembered(1 << 12)
def _body(n: int, rows: tuple[Row, ...]) -> int:
    """The number of solutions in three and more variables."""
    try:
        found = Summation((), [f"t{k}" for k in range(n)], RESIDUES).of((), rows)
    except NotSupported:
        return _slices(n, rows)
    return sum(int(value) for _, p in found for value in p.values())


# ---- slices


def _slices(n: int, rows: tuple[Row, ...]) -> int:
    """Sum over the values of the narrowest form: a variable, or what a pair of opposite rows bounds."""
    tableau = simplex.Tableau(n)
    for r in rows:
        tableau.add_ineq(r)
    if tableau.empty:
        return 0
    forms = {tuple([int(j == k) for j in range(n)]) for k in range(n)}
    forms |= {r[1:] for r in rows if 1 in r[1:] and any(o[1:] == tuple([-v for v in r[1:]]) for o in rows)}
    spans = [(form, span) for form in sorted(forms) if (span := values(tableau, (0, *form))) is not None]
    form, span = min(spans, key=lambda t: size(t[1]))
    spend(4 * size(span))
    k = form.index(1)
    total = 0
    for value in span:
        image = [-v for v in form]  # the variable k by the others, where the form has this value
        cut = [[a + r[1 + k] * b for a, b in zip(r, (value, *image), strict=True)] for r in rows]
        total += _solutions(n - 1, _tidy((*r[: 1 + k], *r[2 + k :]) for r in cut))
    return total


# ---- listing


def points(self: Relation, /, **params: int) -> Iterator[tuple[int, ...]]:
    """The integer points of one tuple in lexicographic order, with the parameters given; inputs before outputs.

    `params` are the values of the parameters by name.

    Exact and lazy: errors are raised by the call, points are found when they are asked for, with an emptiness test
    per prefix of a point, except in a box.

    Raises
    ------
    SpaceMismatch : there are points in several tuples: ask `only(name)` for those of one.
    Unbounded : a dimension is unbounded, or a parameter has no value.
    BudgetExceeded : the points that were asked for took too many steps.

    >>> from polyvolta.sets import Set
    >>> list(Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j <= i }").points(N=2))
    [(0, 0), (1, 0), (1, 1)]
    """
    parts = [(s, [c for c in cs if not c.is_empty]) for s, cs in concrete(self, params).parts]
    found = [(s, live) for s, live in parts if live]
    if len(found) > 1:
        raise SpaceMismatch(
            "coordinates alone do not tell to which tuple a point belongs",
            where="; ".join(str(s) for s, _ in found),
            hint="list one tuple after the other: s.only(name).points()",
        )
    for space, live in found:
        for c in live:
            check_bounded(c, space.dims)
    return _points([c for _, live in found for c in live])


@metered
def _points(pieces: list[Conjunct]) -> Iterator[tuple[int, ...]]:
    """The points of some conjuncts in order, each once."""
    for point, _ in groupby(merge(*(_walk(c, ()) for c in pieces))):
        yield point


def _walk(c: Conjunct, prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The points of a conjunct, one dimension fixed at a time."""
    n, width = c.n, c.n + len(c.divs)
    if not n:
        yield prefix
        return
    if is_box(c):
        yield from _boxed([range(int(a), int(b) + 1) for a, b in box(c)], prefix)
        return
    tableau = simplex.Tableau(width)
    for r in c.eqs:
        tableau.add_eq(r)
    for r in c.all_ineqs():
        tableau.add_ineq(r)
    span = values(tableau, _unit(0, width)) or range(0)
    if n == 1 and c.known:
        yield from ((*prefix, value) for value in _paid(span) if cj.holds(c, (value,)))
        return
    for value in span:
        spend()
        fixed = partial(_fixed, value)
        divs = [None if d is None else (d[0], fixed(d[1])) for d in c.divs]
        rest = cj.normalise(n - 1, divs, map(fixed, c.eqs), map(fixed, c.ineqs))
        if rest is not None and not rest.is_empty:
            yield from _walk(rest, (*prefix, value))


def _boxed(ranges: list[range], prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The points of a box; ranges are never listed, so that the first point of a huge one costs no more."""
    first, *rest = ranges
    for value in _paid(first):
        if rest:
            yield from _boxed(rest, (*prefix, value))
        else:
            yield (*prefix, value)


def _paid(span: range) -> Iterator[int]:
    """The values of a range, a step for every few of them."""
    for start in range(span.start, span.stop, PER_STEP):
        spend()
        yield from range(start, min(start + PER_STEP, span.stop))


def _fixed(value: int, row: Row) -> Row:
    """The row where the first variable is a number."""
    return (row[0] + row[1] * value, *row[2:])
