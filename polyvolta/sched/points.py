"""Whether a conjunct has points, where that takes no search.

A column that all rows allow to grow, or all to fall, is as large as it takes to satisfy them. It goes with the rows
that it is in: N with 0 <= i < N, then i with i >= 0. Of domains whose sizes are parameters no row is left in the end,
nor of most dependences: an equality says one column, of which nothing else speaks, in terms of others.
"""

from __future__ import annotations

from functools import lru_cache

from polyvolta.sets.conjuncts.conjunct import Conjunct, far_out
from polyvolta.sets.engine.rows import unbounded


def is_empty(c: Conjunct) -> bool:
    """Whether a conjunct has no point: `c.is_empty`, which is asked where it is not plain to see.

    >>> from polyvolta.sets import Set
    >>> domain, = Set("[N] -> { S[i, j] : 0 <= i < N and j = i + 1 }").parts[0][1]
    >>> is_empty(domain), unbounded(domain.ineqs)
    (False, True)
    """
    if c._empty is None and far_out(c):
        c._empty = False
    return c.is_empty


@lru_cache(maxsize=1 << 12)
def in_all_directions(c: Conjunct) -> bool:
    """Whether plainly, in each dimension, there are points that differ in that alone.

    Columns that are as large as it takes for two values of another one, or of their own, are so for both at once.

    >>> from polyvolta.sets import Set
    >>> [in_all_directions(c) for _, cs in Set("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < 1 }").parts for c in cs]
    [True, False]
    """
    return not (c.eqs or c.divs) and unbounded(c.ineqs)
