"""Whether a conjunct has points, where that takes no search.

A column that all rows allow to grow, or all to fall, is as large as it takes to satisfy them. It goes with the rows
that it is in: N with 0 <= i < N, then i with i >= 0. Of domains whose sizes are parameters no row is left in the end,
nor of most dependences: an equality says one column, of which nothing else speaks, in terms of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.engine.rows import Row


@lru_cache(maxsize=1 << 12)
def is_empty(c: Conjunct) -> bool:
    """Whether a conjunct has no point: `c.is_empty`, which is asked where it is not plain to see.

    >>> from polyvolta.sets import Set
    >>> domain, = Set("[N] -> { S[i, j] : 0 <= i < N and j = i + 1 }").parts[0][1]
    >>> is_empty(domain), unbounded(domain.ineqs)
    (False, True)
    """
    if not c.divs and unbounded(c.ineqs):
        for row in c.eqs:
            if not _aside(row, c):
                break
        else:
            return False
    return c.is_empty


def _aside(row: Row, c: Conjunct) -> bool:
    """Whether an equality says its last column, of which no other row speaks, in terms of others."""
    k = max([k for k, v in enumerate(row) if v], default=0)
    return k > 0 and row[k] in (1, -1) and len([r for r in (*c.eqs, *c.ineqs) if r[k]]) == 1


@lru_cache(maxsize=1 << 12)
def in_all_directions(c: Conjunct) -> bool:
    """Whether plainly, in each dimension, there are points that differ in that alone.

    Columns that are as large as it takes for two values of another one, or of their own, are so for both at once.

    >>> from polyvolta.sets import Set
    >>> [in_all_directions(c) for _, cs in Set("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < 1 }").parts for c in cs]
    [True, False]
    """
    return not (c.eqs or c.divs) and unbounded(c.ineqs)


def unbounded(rows: Sequence[Row]) -> bool:
    """Whether plainly all rows `>= 0` hold where some columns are as large as it takes, whatever the others are.

    >>> unbounded([(0, 0, 1), (-1, 1, -1)]), unbounded([(0, 1, 0), (7, -1, 0)])
    (True, False)
    """
    count = 0
    while rows and len(rows) != count:
        count = len(rows)
        for k in range(1, len(rows[0])):
            column = [row[k] for row in rows if row[k]]
            if column and (min(column) > 0 or max(column) < 0):
                rows = [row for row in rows if not row[k]]
    return not rows
