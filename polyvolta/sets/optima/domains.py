"""The domains of optima, without bounds of floors that say nothing."""

from __future__ import annotations

from ..budgets import bounded, spend
from ..conjuncts.conjunct import Conjunct
from ..errors import BudgetExceeded
from ..hulls.gist import irredundant

FOR_FLOORS = 400  # steps (some 5 ms) to see that a domain needs no bound of a floor


def without_needless_floors(domain: Conjunct) -> Conjunct:
    """The domain of an optimum, which has a point, without bounds that the others imply over the integers.

    That there is a value where one is rounded down is such a bound: with N, T >= 1 there is always a number from T up
    to T + 2*ceil(N/2) - 2. It stays where that takes many steps to see. Looked for only where bounds speak of floors.

    >>> from polyvolta.sets import Set
    >>> s = Set("[N, T] -> { [t, i] : 0 <= t < T and t <= i < N + t and (i - t) mod 2 = 0 }")
    >>> print(s.dim_max("i").domain())
    [N, T] -> { : N >= 1 and T >= 1 }
    """
    base = 1 + domain.n
    if not domain.divs or not any(any(r[base:]) for r in domain.ineqs):
        return domain
    try:
        return bounded(FOR_FLOORS, irredundant, domain)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return domain
