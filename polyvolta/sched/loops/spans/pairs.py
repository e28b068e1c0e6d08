"""An outermost loop over two numbers, at which different statements run, is no loop.

    for (c0 = 0; c0 < 2; c0++) {          for (c1 = 0; c1 < n; c1++) S(0, c1);
      if (c0 == 1) T();             ->    T();
      for (c1 = 0; c1 < n; c1++)          for (c1 = 0; c1 < n; c1++) S(1, c1);
        S(c0, c1);
    }

What runs at both is written twice, and with the number in place of the variable: there is no test of it, and what a
statement needs of sizes at one of them, as of n >= 5 - 3*c0, is asked once. Loops inside stay as they are, for code
that doubles at each level is soon too much.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.order import ends


def both_values(shadows: Sequence[System], col: int) -> list[System] | None:
    """The two values, a number and the next one, of shadows that do not all have both; None where there are others."""
    found = [ends(s, col) for s in shadows]
    numbers = {end for both in found for end in both}
    low = min((n for n in numbers if n is not None), default=0)
    if numbers != {low, low + 1} or all(both == (low, low + 1) for both in found):
        return None
    out = [System(), System()]
    for n, cell in enumerate(out, low):
        cell.eq(((col, 1),), -n)
    return out
