"""The double description of polyhedral cones (Motzkin, Raiffa, Thompson and Thrall 1953).

A cone is the solutions of inequalities `row . y >= 0`, or the nonnegative combinations of *rays* and all
combinations of *lines*. `generators` goes from the first to the second, one inequality at a time: while some line
crosses the new hyperplane, one such line becomes a ray and everything else is moved into the hyperplane along it;
then the rays on the wrong side go, and each adjacent pair of rays on either side leaves one on the hyperplane. Rays
are adjacent when no third one lies on every hyperplane that both lie on.

A polyhedron is the cone of (x0, x) with the rows' constants as coefficients of x0, and x0 >= 0. The cone of the
valid inequalities of some generators is described by those generators as rows, so the same procedure leads back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from ..budgets import spend
from .rows import Row, dots, negate, units

Generators = tuple[list[Row], list[Row]]


def generators(n: int, rows: Iterable[Row]) -> Generators:
    """(lines, rays) of the cone of the y in n dimensions with all `row . y >= 0`; rays extreme modulo lines.

    Exact; at worst exponential in n, quadratic in the rays a step, which the budget counts.

    >>> generators(2, [(1, 0), (1, 1)])
    ([], [(1, -1), (0, 1)])
    """
    lines: list[Row] = list(units(n))
    rays: list[tuple[Row, int]] = []  # with the set of rows that vanish on it, as bits
    for k, row in enumerate(rows):
        bit = 1 << k
        along = dots(row, lines)
        if any(along):
            p = next(filter(None, along))
            at = along.index(p)
            pivot = lines.pop(at) if p > 0 else negate(lines.pop(at))
            del along[at]
            p = abs(p)
            lines = [_onto(v, line, p, pivot) if v else line for v, line in zip(along, lines)]
            across = dots(row, [ray for ray, _ in rays])
            moved = [(_onto(v, ray, p, pivot) if v else ray, z | bit) for v, (ray, z) in zip(across, rays)]
            rays = [*moved, (pivot, bit - 1)]
            continue
        across = dots(row, [ray for ray, _ in rays])
        values = [(v, ray, zeros) for v, (ray, zeros) in zip(across, rays)]
        above = [v for v in values if v[0] > 0]
        below = [v for v in values if v[0] < 0]
        if not below:
            rays = [(ray, zeros | bit if not v else zeros) for v, ray, zeros in values]
            continue
        kept = [(ray, zeros) for _, ray, zeros in above]
        kept += [(ray, zeros | bit) for v, ray, zeros in values if not v]
        spend(1 + len(above) * len(below) // 64)
        least = n - len(lines) - 2  # hyperplanes that adjacent rays share
        effort, every = len(rays) // 64, [zeros for _, zeros in rays]
        for v, ray, zeros in above:
            near = [(w, y, shared) for w, y, z in below if (shared := zeros & z).bit_count() >= least]
            if effort:
                spend(effort * len(near))
            for w, other, shared in near:
                if sum([shared & z == shared for z in every]) == 2:
                    mixed = [v * y - w * x for x, y in zip(ray, other, strict=True)]
                    kept.append((_primitive(mixed), shared | bit))
        rays = kept
    return lines, [ray for ray, _ in rays]


def _onto(v: int, vector: Row, p: int, pivot: Row) -> Row:
    """The vector moved along the pivot until a row vanishes on it that is v on the vector and p > 0 on the pivot."""
    return _primitive([p * x - v * y for x, y in zip(vector, pivot, strict=True)])


def _primitive(vector: Sequence[int]) -> Row:
    g = gcd(*vector)
    return tuple([x // g for x in vector]) if g > 1 else tuple(vector)


def of_polyhedron(n: int, eqs: Iterable[Row], ineqs: Iterable[Row]) -> Generators:
    """The generators (x0, x) of a polyhedron: those with x0 > 0 are its vertices x / x0, the others directions.

    >>> of_polyhedron(1, (), [(0, 1), (3, -2)])
    ([], [(1, 0), (2, 3)])
    """
    both = [r for row in eqs for r in (row, negate(row))]
    return generators(n + 1, [(1, *[0] * n), *both, *ineqs])


def to_polyhedron(n: int, lines: Iterable[Row], rays: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """(equalities, inequalities) of the least closed polyhedron with these generators (x0, x).

    >>> to_polyhedron(1, [], [(1, 0), (2, 3)])
    ([], [(3, -2), (0, 1)])
    """
    rows = [*dict.fromkeys(rays), *[r for line in dict.fromkeys(lines) for r in (line, negate(line))]]
    eqs, ineqs = generators(n + 1, rows)
    return eqs, [r for r in ineqs if any(r[1:])]
