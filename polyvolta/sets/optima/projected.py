"""Projections whose existentials stay knotted, told without them where one conjunction does.

`project` removes one existential after the other. Where several hang on one another by coefficients beyond units, they
stay, although a plain bound may say the same: `x = a + b + c and 2a + 3b + 7c = t` with `0 <= a, b, c < n` leaves
`0 <= x <= 3n - 3` for some t. The least values of the existentials are functions of the point, on some pieces; where
these pieces, existentials forgotten, fuse to one again, that one is the projection.
"""

from __future__ import annotations

from functools import lru_cache

from ..budgets import bounded, spend
from ..conjuncts import conjunct as cj
from ..conjuncts import project as pj
from ..conjuncts.conjunct import Conjunct
from ..engine import integer
from ..engine.rows import Row, picker
from ..errors import BudgetExceeded
from ..hulls.coalesce import coalesced

LARGE = 10  # inequalities with existentials from which on they are worth some milliseconds
FOR_ONE = 2_000  # steps (some 40 ms) to tell a projection without existentials; those of small programs take some 200


def projected(c: Conjunct, drop: tuple[int, ...], large: int = LARGE) -> Conjunct | None:
    """`project`, then without knotted existentials where that is one conjunct, of no more divs; exact.

    The pieces are looked at where the existentials stand in `large` inequalities or more: few say little.
    """
    found = pj.project(c, drop)
    return found if found is None or found.known else _settled(found, large)


@lru_cache(maxsize=1 << 12)
def _settled(c: Conjunct, large: int) -> Conjunct | None:
    try:
        return bounded(FOR_ONE, _without_existentials, c, large)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return c


def _without_existentials(c: Conjunct, large: int) -> Conjunct | None:
    """See `projected`; the conjunct as it is where the pieces are no one."""
    rest = _without_alone(c)
    if rest is None or rest.known or len(rest.ineqs) < large:
        return rest
    found = coalesced((rest,))
    if not found:
        return None
    (one,) = found  # there are never more than before
    return one if one.known and len(one.divs) <= len(rest.divs) else rest


def _without_alone(c: Conjunct) -> Conjunct | None:
    """Without existentials of which no row speaks of a dimension too: some values do, or else there is no point.

    Groups of existentials that share rows are looked at by themselves, an integer program each.
    """
    base, width = 1 + c.n, 1 + c.n + len(c.divs)
    unknown = [base + k for k, d in enumerate(c.divs) if d is None]
    rows = (*c.eqs, *c.ineqs)
    gone: list[Row] = []
    while unknown:
        group, mine = {unknown[0]}, [r for r in rows if r[unknown[0]]]
        while not group.issuperset(joined := {col for r in mine for col in range(1, width) if r[col]}):
            group |= joined
            mine = [r for r in rows if any(r[col] for col in group)]
        unknown = [col for col in unknown if col not in group]
        if all(col >= base and c.divs[col - base] is None for col in group):
            take = picker([0, *sorted(group)])
            eqs, ineqs = ([take(r) for r in found if r in mine] for found in (c.eqs, c.ineqs))
            if integer.is_empty(len(group), eqs, ineqs):
                return None
            gone += mine
    if not gone:
        return c
    return cj.normalise(c.n, c.divs, *([r for r in found if r not in gone] for found in (c.eqs, c.ineqs)))
