"""Piecewise functions within a context: fewer cells, fewer conditions, simpler expressions.

Outside the context the values are any, so

- the points of a cell that count are those in the context. They may lie on a grid, as `x = 2` or `x mod 4 = 3` say.
  In the grid's coordinates `x = 4 t + 3` an expression has simpler floors, or none, and it is put back in terms of x
  where its coefficients allow that;
- two cells become one where the expression of one has the right values at the points of the other that count;
- what a cell says, and what it says together with the context, mean the same. The shorter gist is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd, lcm
from typing import TYPE_CHECKING

from ..conjuncts import conjunct as cj
from ..conjuncts import lattice
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.lattice import with_equalities
from ..conjuncts.project import with_known_divs
from ..engine.integer import Lattice
from ..hulls.coalesce import coalesce_conjuncts
from ..hulls.gist import gist_conjunct
from ..values.aff import Aff, Floor, aff, linear, var
from ..values.simplify import simplify, weight
from .cells import Cell, Values, agree, without

if TYPE_CHECKING:
    from ..values.set import Set

Rational = tuple[Aff, int]
"""An expression over a positive number; its values are integers."""


def gist_cells(
    names: Sequence[str], cells: Sequence[Cell], context: Sequence[Conjunct], points: Callable[[list[Conjunct]], Set]
) -> list[Cell]:
    """Cells with the same values in the context, as few and as simple as is seen; elsewhere they may overlap.

    `points` makes the set of some conjuncts over the names.
    """
    groups: list[tuple[Values, list[Conjunct], list[Conjunct]]] = []  # values, whole cells, what of them counts
    for c, values in cells:
        inside = [both for k in context if (both := cj.conjoin(c, k)) is not None and not both.is_empty]
        if not inside:
            continue
        for at, (others, whole, counts) in enumerate(groups):
            if values == others or agree(names, inside, values, others):
                groups[at] = (others, [*whole, c], [*counts, *inside])
                break
            if agree(names, counts, values, others):
                groups[at] = (values, [*whole, c], [*counts, *inside])
                break
        else:
            groups.append((values, [c], inside))
    out: list[Cell] = []
    for values, whole, counts in groups:
        short = tuple([simpler(e, names, counts) for e in values])
        short = tuple(
            [simplify(e, points(counts)) if any(isinstance(a, Floor) for a, _ in e.terms) else e for e in short]
        )
        out += [(d, short) for d in _domain(whole, counts, tuple(context))]
    return out


def _domain(whole: list[Conjunct], counts: list[Conjunct], context: tuple[Conjunct, ...]) -> list[Conjunct]:
    """The shorter gist of some cells: as they are, or with what the context says of them."""
    found = []
    for pieces in (whole, map(with_equalities, counts)):
        known = coalesce_conjuncts(tuple([p for c in pieces if c is not None for p in with_known_divs(c)]))
        if len(known) > 1 and not any(without(k, known) for k in context):
            return [cj.universe(known[0].n)]
        found.append([d for c in known if (d := gist_conjunct(c, context)) is not None])
    return min(found, key=_length)


def _length(pieces: Sequence[Conjunct]) -> tuple[int, ...]:
    divs = sum([len(c.divs) for c in pieces])
    return len(pieces), sum([len(c.eqs) + len(c.ineqs) for c in pieces]) + divs, divs


# ---- expressions on a grid


def simpler(e: Aff, names: Sequence[str], pieces: Sequence[Conjunct]) -> Aff:
    """An expression of no more atoms with the same values at the points of some pieces that are not empty.

    >>> from polyvolta.sets import Set
    >>> ((_, cs),) = Set("{ [x, y] : x mod 4 = 3 and y = 5 }").parts
    >>> print(simpler(aff("4*floor(x/4) + (x + y) mod 2 + floor(y/2)"), ("x", "y"), cs))
    x - 1
    """
    if e.is_constant:
        return e
    grids = [g for c in pieces if (g := lattice.of_conjunct(c)) is not None]
    if not grids:
        return e
    origin, basis = grid = lattice.joined(grids)
    if len(basis) == len(origin) and lattice.index(grid)[1] == 1:
        return e
    steps = [f"t{k}" for k in range(len(basis))]
    places = {
        name: linear({t: b[i] for t, b in zip(steps, basis, strict=True) if b[i]}, origin[i])
        for i, name in enumerate(names)
    }
    found = _in_space(e.subs(places), _back(grid, names, steps))
    return e if found is None or weight(found) > weight(e) else found


def _back(grid: Lattice, names: Sequence[str], steps: Sequence[str]) -> dict[str, Rational]:
    """The coordinates of a point of the grid as rational expressions of it."""
    origin, basis = grid
    out: dict[str, Rational] = {}
    for k, t in enumerate(steps):
        lead = next(i for i, v in enumerate(basis[k]) if v)
        parts = [((var(names[lead]) - origin[lead]), 1, 1)]
        parts += [(*out[s], -basis[j][lead]) for j, s in enumerate(steps[:k]) if basis[j][lead]]
        num, den = _sum(parts)
        out[t] = _reduced(num, den * basis[k][lead])
    return out


def _in_space(e: Aff, back: dict[str, Rational]) -> Aff | None:
    """An expression of the coordinates of a grid, in terms of the points; None where fractions are left."""
    found = quotient(e, back)
    return found[0] if found is not None and found[1] == 1 else None


def quotient(e: Aff, back: Mapping[str, Rational]) -> Rational | None:
    """An expression whose names stand for quotients, as one; None of an exclusive or."""
    parts: list[tuple[Aff, int, int]] = [(aff(e.const), 1, 1)]
    for atom, c in e.terms:
        match atom:
            case str():
                parts.append((*back[atom], c))
            case Floor(inner, den):
                inside = quotient(inner, back)
                if inside is None:
                    return None
                parts.append((inside[0].floordiv(inside[1] * den), 1, c))
            case _:
                return None
    return _reduced(*_sum(parts))


def _sum(parts: Sequence[tuple[Aff, int, int]]) -> Rational:
    """The sum of `factor * num / den` over triples (num, den, factor)."""
    den = lcm(*[d for _, d, _ in parts])
    total = aff(0)
    for num, d, factor in parts:
        total = total + num * (factor * (den // d))
    return total, den


def _reduced(num: Aff, den: int) -> Rational:
    g = gcd(den, num.const, *[c for _, c in num.terms])
    return (Aff(tuple([(a, c // g) for a, c in num.terms]), num.const // g), den // g) if g > 1 else (num, den)
