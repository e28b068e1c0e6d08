"""Iterators that the others determine: `b` of the instances `S[a, b]` with `b = floor(a/4)`.

No loop is needed for one: where `a` is the same, so is `b`. `without` leaves them out of the instances and of what they
depend on, so that the scheduler makes no member for them, and none such as `a - 2b`, at which different instances would
run at one time. isl's scheduler does so as well (Verdoolaege, Janssens, "Scheduling for
PPCG", CW 706, 2017, on equalities; here whatever makes a value unique counts).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyvolta.sched.dependence.model import Dependence
from polyvolta.sets import Set, Unbounded, dim_type
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.optima.extent import least_value


def determined(statement: Set) -> tuple[int, ...]:
    """The positions of iterators that the other ones and the parameters determine, the last ones rather than the first.

    Of one statement, whose instances are one piece; of several, where the value would be by cases, all stay. Exact; an
    integer feasibility problem for each iterator.

    >>> determined(Set("{ S[a, b, c] : 0 <= a <= 9 and b = floor(a/2) and 4c <= a < 4c + 4 }"))
    (1, 2)
    >>> determined(Set("{ S[a, b] : 0 <= b <= a <= 9 }"))
    ()
    """
    n, params = len(statement.dims()), len(statement.param_names)
    found: list[int] = []
    for k in reversed(range(n)):
        pieces = statement.pieces
        if len(pieces) != 1 or len(found) == n - 1:
            break
        if not _two_values(statement.parts[0][1][0], params + k):
            statement = statement.project_out(dim_type.set, k, 1)
            found.append(k)
    return tuple(reversed(found))


def extent(statement: Set, k: int) -> int:
    """How far an iterator goes at most where the other ones and the parameters stay, -1 where that has no end.

    Of several pieces it is how far it goes in their simple hull. Exact; an integer program, or a look at the rows.

    >>> s = Set("[N] -> { S[a, b, c, d] : 0 <= a < N and 0 <= b <= 9 and b <= c <= b + 2 and d = a }")
    >>> [extent(s, k) for k in range(4)]
    [0, 2, 2, 0]
    >>> s = Set("[N] -> { S[a, b] : 0 <= a < N and 0 <= b <= 9 }")
    >>> [extent(s, k) for k in range(2)]
    [-1, 9]
    """
    if not statement.pieces:
        return 0
    hull = statement if len(statement.pieces) == 1 else statement.simple_hull()
    c, params = hull.parts[0][1][0], len(statement.param_names)
    return -1 if _grows(c, params, params + k) else _extent(c, params + k)


def _grows(c: Conjunct, params: int, at: int) -> bool:
    """Whether a dimension plainly goes further where all parameters are larger, from every point on."""
    if c.divs or any(row[1 + at] or sum(row[1 : 1 + params]) for row in c.eqs):
        return False
    return all(min(more := sum(row[1 : 1 + params]), more + row[1 + at]) >= 0 for row in c.ineqs)


def numeric(c: Conjunct, params: int) -> bool:
    """Whether no row but one that says its value, as `M = 20`, has a parameter."""
    tied = [row for row in c.eqs if len(row) - row.count(0) - bool(row[0]) > 1]
    return not any(any(row[1 : 1 + params]) for row in (*tied, *c.ineqs, *[div[1] for div in c.divs if div]))


def _extent(c: Conjunct, at: int) -> int:
    """How far apart points that differ in a dimension alone are at most, -1 where that has no end."""
    both = _on_a_line(c, at)
    if both is None:
        return 0
    n = c.n + 1 + len(both.divs)
    apart = [0] * (1 + n)
    apart[1 + at], apart[1 + c.n] = 1, -1
    try:
        return -(least_value(n, both.eqs, both.all_ineqs(), tuple(apart)) or 0)
    except Unbounded:
        return -1


def _on_a_line(c: Conjunct, at: int) -> Conjunct | None:
    """Pairs of points that differ in a dimension alone; that of the second one is the last."""
    n = c.n
    larger = cj.reindex(c, n + 1, (*range(at), n, *range(at + 1, n)))
    return cj.conjoin(cj.reindex(c, n + 1, tuple(range(n))), larger)


def _two_values(c: Conjunct, at: int) -> bool:
    """Whether points differ in a dimension alone."""
    n, both = c.n, _on_a_line(c, at)
    if both is None:
        return False
    row = [0] * (2 + n + len(both.divs))
    row[0], row[1 + at], row[1 + n] = -1, -1, 1
    apart = cj.normalise(n + 1, both.divs, both.eqs, (*both.ineqs, tuple(row)))
    return apart is not None and not apart.is_empty


def without(
    domain: Set, dependences: Sequence[Dependence], gone: Mapping[str, tuple[int, ...]]
) -> tuple[Set, list[Dependence]]:
    """The instances and what depends on what, without the iterators at some positions, by statement. Exact."""
    fewer = Set._of(domain.param_names, [])
    for s, _ in domain.parts:
        part = domain.only(s.out.name)
        for k in reversed(gone.get(s.out.name or "", ())):
            part = part.project_out(dim_type.set, k, 1)
        fewer |= part.rename(s.out.name)
    pairs = []
    for d in dependences:
        relation = d.relation.intersect_domain(domain).intersect_range(domain)
        for kind, statement in ((dim_type.in_, d.source), (dim_type.out, d.sink)):
            for k in reversed(gone.get(statement, ())):
                relation = relation.project_out(kind, k, 1)
        relation = relation.rename_domain(d.source).rename_range(d.sink)
        pairs.append(replace(d, relation=relation))
    return fewer, pairs
