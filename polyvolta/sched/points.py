"""Whether a conjunct has points in all directions, where that takes no search.

A column that all rows allow to grow, or all to fall, is as large as it takes to satisfy them. It goes with the rows
that it is in: N with 0 <= i < N, then i with i >= 0. Of domains whose sizes are parameters no row is left in the end.
"""

from __future__ import annotations

from polyvolta.sets.budgets import remembered
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.engine.rows import unbounded


@remembered(1 << 12)
def in_all_directions(c: Conjunct) -> bool:
    """Whether plainly, in each dimension, there are points that differ in that alone.

    Columns that are as large as it takes for two values of another one, or of their own, are so for both at once.

    >>> from polyvolta.sets import Set
    >>> [in_all_directions(c) for _, cs in Set("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < 1 }").parts for c in cs]
    [True, False]
    """
    return not (c.eqs or c.divs) and unbounded(c.ineqs)
