"""Vertices of a polyhedron that depends on parameters, and for which of these there are which: its cells.

Where as many rows as there are dimensions are 0, and determine these, is a point that moves with the parameters. It is
a vertex for those at which it satisfies the other rows, too: its *domain*. Vertices whose domain has fewer dimensions
than that of the whole are left out, as in isl: where they are, others are at the same place. A *cell* is a largest
domain inside which the same vertices are there; cells meet in faces, and cover all parameters with points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..budgets import spend
from ..engine.rows import negate
from .polyhedron import Polyhedron, Row, conjoin, has_point, last, polyhedron, project, subtract, without


@dataclass(frozen=True)
class Corner:
    """A vertex over m parameters.

    Parameters
    ----------
    values : of each dimension a row (const, param_1 .. param_m, c): `(const + param_1 * p_1 + ...) / c`, c > 0.
    domain : the parameters for which it is one, over m dimensions.
    """

    values: tuple[Row, ...]
    domain: Polyhedron


def corners(p: Polyhedron, m: int) -> list[Corner]:
    """The vertices of a polyhedron over m parameters and its dimensions; strict rows count as closed ones.

    Exact. At worst all choices of as many rows as there are dimensions; those that no point satisfies are not pursued.

    >>> triangle = polyhedron(3, (), [(0, 0, 1, 0), (0, 0, 0, 1), (0, 1, -1, -2)])
    >>> [c.values for c in corners(triangle, 1)]
    [((0, 0, 1), (0, 1, 2)), ((0, 1, 1), (0, 0, 1)), ((0, 0, 1), (0, 0, 1))]
    """
    rows = (*p.ineqs, *p.strict)
    whole = project(p, tuple(range(m, p.n)))
    found: dict[tuple[Row, ...], Corner] = {}

    def chosen(k: int, solved: dict[int, Row]) -> Iterator[dict[int, Row]]:
        """The ways to solve for the dimensions that are left, with rows from k on."""
        spend(1)
        if len(solved) == p.n - m:
            yield solved
            return
        for j in range(k, len(rows)):
            row = without(rows[j], solved.items())
            col = last(row)
            if col > m and has_point(p.n, (*p.eqs, *solved.values(), row), p.ineqs, ()):
                row = row if row[col] < 0 else negate(row)
                yield from chosen(j + 1, {**{c: without(r, [(col, row)]) for c, r in solved.items()}, col: row})

    of_params = [(last(eq), (*eq, 0)) for eq in whole.eqs]
    start = {last(r): negate(r) for r in p.eqs if last(r) > m}
    for solved in chosen(0, start):
        values = tuple([(*solved[col][: 1 + m], -solved[col][col]) for col in range(m + 1, p.n + 1)])
        values = tuple([without(v, of_params) for v in values])
        if values not in found:
            left = [without(row, solved.items())[: 1 + m] for row in rows]
            domain = polyhedron(m, whole.eqs, left)
            if domain is not None and len(domain.eqs) == len(whole.eqs):
                found[values] = Corner(values, domain)
    return list(found.values())


def chambers(whole: Polyhedron, domains: Sequence[Polyhedron]) -> list[tuple[Polyhedron, tuple[int, ...]]]:
    """The cells into which domains cut the whole, each with which of the domains it is in.

    A part that is in no cell so far is narrowed to the inside of each domain that it meets there; all of it is then in
    these and outside of the others, and the cell is what these have in common.
    """
    out: list[tuple[Polyhedron, tuple[int, ...]]] = []
    todo = [whole]
    while todo:
        part, cell, ids = todo[-1], whole, []
        for k, domain in enumerate(domains):
            spend(1)
            inside = polyhedron(part.n, (*part.eqs, *domain.eqs), part.ineqs, (*part.strict, *domain.ineqs))
            if inside is not None:
                part, ids = inside, [*ids, k]
                cell = _both(cell, domain)
        out.append((cell, tuple(ids)))
        left = [rest for p in todo for rest in subtract(p, cell)]
        todo = [p for p in left if len(p.eqs) == len(whole.eqs)]  # the others are faces of cells
    return out


def _both(p: Polyhedron, q: Polyhedron) -> Polyhedron:
    """What two polyhedra that meet have in common."""
    found = conjoin(p, q)
    assert found is not None
    return found
