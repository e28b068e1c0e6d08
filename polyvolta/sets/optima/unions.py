"""The best of several optima at each input: how the optimum of a union comes of those of its pieces.

Optima are inputs and values (`Valued`) as long as they are compared: the outputs are no dimensions, so that nothing is
projected. Any two pieces of different optima are compared where both are, and from each goes where the other beats it;
of two alike, the first stays. So each is cut by pieces as they were given and not by what others left of these, of
which there are many more, and it is cut once; what the rows at hand make one is made one at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from ..budgets import remembered
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct, Row, lifted, moved_divs, shared_divs
from ..conjuncts.implies import cut, plainly_apart, subtract
from ..conjuncts.project import prune, with_known_divs
from ..engine import integer
from ..engine.rows import combine, dot, negate, replaced
from ..hulls.coalesce import plainly_coalesced

Divs = tuple[tuple[int, Row], ...]
Order = tuple[list[Row], list[Row]]  # equalities and inequalities


class Valued(NamedTuple):
    """Inputs, and the values of the outputs there: rows over (const, inputs, divs of their own)."""

    domain: Conjunct
    divs: Divs
    values: tuple[Row, ...]


def best(optima: Sequence[Sequence[Valued]], sign: int) -> list[Valued]:
    """The best of some optima at each input, of which each has one value there; of those that are alike, the first.

    Inputs with the same values may overlap. O(pieces^2) comparisons, and a difference with all that beat it for each.
    """
    if len(optima) == 1:
        return list(optima[0])
    pieces = _told_once(optima)
    knives: list[list[Conjunct]] = [[] for _ in pieces]
    for j, (values, later, y) in enumerate(pieces):
        for i, (others, earlier, x) in enumerate(pieces[:j]):
            apart = values == others or earlier == later >= 0 or plainly_apart(x.domain, y.domain)
            both = None if apart else cj.conjoin(x.domain, y.domain)
            point = None if both is None else cj.sample(both)
            if both is None or point is None:
                continue
            divs, gaps = _gaps(x, y, sign)
            worse, rest = _compared(both, point, divs, tuple(gaps))
            for beaten, winner, orders, kept in ((knives[i], y, worse, rest), (knives[j], x, rest, worse)):
                if orders:  # wholly, or in some of the orders
                    beaten += [_knife(winner.domain, divs, order) if kept else winner.domain for order in orders]
    left = [
        p._replace(domain=c) for (*_, p), found in zip(pieces, knives, strict=True) for c in _without(p.domain, found)
    ]
    return fused([p._replace(domain=c) for p in left if (c := prune(p.domain)) is not None])


def _told_once(optima: Sequence[Sequence[Valued]]) -> list[tuple[int, int, Valued]]:
    """The pieces of optima, those with the same values as few as rows at hand make them, each behind two numbers.

    Pieces with one first number have the same values, those with one second number lie apart; -1 says nothing. Optima
    of parts that are alike, as of the accesses of a stencil, have most of their values in common.
    """
    alike: dict[tuple, list[tuple[int, Valued]]] = {}
    for at, optimum in enumerate(optima):
        for p in optimum:
            alike.setdefault((p.divs, p.values), []).append((at, p))
    told = []
    for number, some in enumerate(alike.values()):
        if len(some) > 1 and all(p.domain.known for _, p in some):
            whole = plainly_coalesced(tuple([p.domain for _, p in some]))
            some = [(-1, some[0][1]._replace(domain=c)) for c in whole] if len(whole) < len(some) else some
        told += [(number, at, p) for at, p in some]
    return told


def fused(pieces: Sequence[Valued]) -> list[Valued]:
    """The same, the pieces with the same values as few as rows at hand make them.

    What one optimum leaves of another is cut along the bounds of what beat it, also where the outputs are the same.
    """
    alike: dict[tuple, list[Conjunct]] = {}
    for at, (domain, divs, values) in enumerate(map(_solved, pieces)):
        alike.setdefault((divs, values) if domain.known else (divs, values, at), []).append(domain)
    return [Valued(c, key[0], key[1]) for key, cs in alike.items() for c in plainly_coalesced(tuple(cs))]


def _solved(p: Valued) -> Valued:
    """The values without the inputs that an equality gives: with i = 0 those of `2i` and 0 are the same."""
    if p.divs or not p.domain.eqs:
        return p
    base, values = 1 + p.domain.n, p.values
    for row in p.domain.eqs:
        if any(row[base:]):
            continue
        last = max(compress(range(base), row))
        if row[last] in (1, -1):
            image = [-row[last] * v for v in row[:base]]
            image[last] = 0
            values = tuple([tuple(replaced(v, last, image)) for v in values])
    return p._replace(values=values)


def _without(c: Conjunct, knives: Sequence[Conjunct]) -> list[Conjunct]:
    """What is left of a conjunct beside some knives, in each of which it has points."""
    left = [c]
    for knife in sorted(knives, key=lambda k: len(k.eqs) + len(k.ineqs)):
        for k in map(_plain, with_known_divs(knife)) if left else ():
            left = [piece for x in left for piece in (cut if x == c and knife.known else subtract)(x, k)]
    return left


def _plain(c: Conjunct) -> Conjunct:
    """The same points, the inequalities without floors that the equalities give: `N <= i` beside i = 3 floor(i/3).

    What is cut off along such a row has no floor, and is more often one with its neighbours. It is no normal form.
    """
    base, rows = 1 + c.n, c.ineqs
    for eq in c.eqs:
        col = max(compress(range(len(eq)), eq))
        if col >= base:
            rows = tuple([combine(1, r, -(r[col] // eq[col]), eq) if r[col] % eq[col] == 0 else r for r in rows])
    return c if rows is c.ineqs else Conjunct(c.n, c.divs, c.eqs, rows)


def _knife(c: Conjunct, divs: Divs, order: Order) -> Conjunct:
    """The conjunct in an order that occurs, whose rows come last: behind cuts along the others they say less."""
    k = _ordered(c, divs, order)
    return Conjunct(k.n, k.divs, k.eqs, tuple(sorted(k.ineqs, key=lambda r: r not in c.ineqs)))


def _gaps(x: Valued, y: Valued, sign: int) -> tuple[Divs, list[Row]]:
    """For each output how much better y's value is than x's, and the divs that these rows have."""
    n = x.domain.n
    if not x.divs and not y.divs:
        divs: tuple = ()
        pairs = zip(x.values, y.values, strict=True)
    else:
        divs, columns = shared_divs(Conjunct(n, x.divs, (), ()), Conjunct(n, y.divs, (), ()))
        base, width = 1 + n, 1 + n + len(divs)
        own = ((*v, *(0,) * (width - len(v))) for v in x.values)
        pairs = zip(own, [moved_divs(v, base, columns, width) for v in y.values], strict=True)
    gaps = [tuple([sign * (b - a) for a, b in zip(v, w, strict=True)]) for v, w in pairs]
    if divs and not any(any(g[1 + n :]) for g in gaps):
        return (), [g[: 1 + n] for g in gaps]
    return divs, gaps


@remembered(1 << 12)
def _compared(both: Conjunct, point: Row, divs: Divs, gaps: tuple[Row, ...]) -> tuple[list[Order], list[Order]]:
    """The orders of two values that occur where both are: those in which the second is better, and the others.

    An order is one of the first outputs that differ and how they do, or that none does. `point` is one of both.
    """
    at = lifted(divs, point)
    found = [dot(gap, at) for gap in gaps]
    first = next((k for k, gap in enumerate(found) if gap), len(gaps))  # the order of the point occurs
    better: list[Order] = []
    rest: list[Order] = []
    alike: list[Row] = []
    for k, gap in enumerate(gaps):
        if not any(gap[1:]):  # everywhere as far apart
            if gap[0]:
                _add_rest(better if gap[0] > 0 else rest, alike)
                return better, rest
            continue
        for orders, way in ((better, gap), (rest, negate(gap))):
            strict = (way[0] - 1, *way[1:])
            if (k == first and way == (gap if found[k] > 0 else negate(gap))) or _occurs(both, divs, [], [strict]):
                orders.append(([*alike], [strict]))
        alike.append(gap)
        if not (k < first or _occurs(both, divs, [gap], [])):
            return better, rest
        if k < len(gaps) - 1:
            both = _ordered(both, divs, ([gap], []))
    _add_rest(rest, alike)
    return better, rest


def _add_rest(orders: list[Order], alike: list[Row]) -> None:
    """One order more, that of being alike in some outputs; the last is in one with that where it differs strictly."""
    if orders and alike and orders[-1][0] == alike[:-1]:
        ((const, *strict),) = orders[-1][1]
        orders[-1] = alike[:-1], [(const + 1, *strict)]
    else:
        orders.append((alike, []))


def _occurs(c: Conjunct, divs: Divs, eqs: Sequence[Row], ineqs: Sequence[Row]) -> bool:
    """Whether a conjunct has a point where more rows hold, over its dimensions and some divs; without a normal form."""
    wide = _beside(c, divs, eqs, ineqs)
    return not integer.is_empty(c.n + len(wide.divs), wide.eqs, wide.all_ineqs())


def _ordered(c: Conjunct, divs: Divs, order: Order) -> Conjunct:
    """The conjunct with the rows of an order that occurs there, over its dimensions and these divs."""
    eqs, ineqs = order
    if not eqs and not ineqs:
        return c
    wide = _beside(c, divs, eqs, ineqs)
    if not eqs and not divs:
        return cj.sure(cj.made_stronger(c.n, c.divs, c.eqs, c.ineqs, wide.ineqs[len(c.ineqs) :]))
    return cj.sure(cj.normalise(c.n, wide.divs, wide.eqs, wide.ineqs))


def _beside(c: Conjunct, divs: Divs, eqs: Sequence[Row], ineqs: Sequence[Row]) -> Conjunct:
    """The conjunct with more rows, over its dimensions and these divs, not normalised."""
    base, gap, pad = 1 + c.n, (0,) * len(c.divs), (0,) * len(divs)

    def moved(row: Row) -> Row:
        return (*row[:base], *gap, *row[base:])

    own, bounds = ([(*r, *pad) for r in rows] for rows in (c.eqs, c.ineqs))
    wide = (*c.divs, *[(den, moved(row)) for den, row in divs])
    return Conjunct(c.n, wide, (*own, *map(moved, eqs)), (*bounds, *map(moved, ineqs)))
