"""How large the coefficients of a row may be.

A member `10 i + j` of 0 <= j < 10 runs the loops over i and j as one: nothing is gained by it, and neither can be
tiled, mapped or run in parallel by itself any more. A row is valid with such a coefficient where one with smaller ones
is not, as the step from the last j of one i to the first of the next is forward in it. So a coefficient is at most half
of how far each *other* iterator of its statement goes, rounded up, the other iterators staying what they are. There
is no such bound where that has no end, as with sizes that are parameters, nor in a row that is to satisfy as many
dependences as it can; there the iterator that others are larger than is left out, as long as any is satisfied without.

isl has the same bounds (option `schedule_treat_coalescing`, on by default) and others that are given, one for
coefficients and one for constants (`schedule_max_coefficient`, `schedule_max_constant_term`).

How far iterators go is asked only for a row that has a coefficient other than -1, 0 and 1, as few have; but at once
where all sizes are numbers, as programs without the bounds may take hundreds of times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from polyvolta.sched.scheduler.problem import Forms, within
from polyvolta.sets.engine.rows import Row

Extents = Callable[[int, int], int]
"""How far an iterator of a statement goes at most, both by number; -1 where that has no end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is asked of all rows.

    Parameters
    ----------
    coefficient, constant : how large those of parameters and iterators may be, and constants; negative for any.
    coalesce : whether a member may run several loops as one.
    """

    coefficient: int = -1
    constant: int = -1
    coalesce: bool = False

    def of(self, depths: Sequence[int], params: int, extents: Extents) -> Forms:
        """The limits of each statement's rows."""
        given = [self.coefficient] * (self.coefficient >= 0)
        found = []
        for k, depth in enumerate(depths):
            halves = [_half(extents(k, j)) for j in range(depth)] if depth > 1 and not self.coalesce else []
            others = [[half for i, half in enumerate(halves) if i != j and half] for j in range(depth)]
            own = [min([*some, *given], default=-1) for some in others]
            found.append((self.constant, *[self.coefficient] * params, *own))
        return tuple(found)

    def exceeded(self, rows: Iterable[Forms], depths: Sequence[int], params: int, extents: Extents) -> Forms | None:
        """The limits; None where some rows keep them."""
        if self.coefficient < 0 and self.constant < 0:
            if self.coalesce or not any(
                0 < _half(extents(k, i)) < abs(form[1 + params + j])
                for forms in rows
                for k, form in enumerate(forms)
                for j in _scaled(form, params)
                for i in range(depths[k])
                if i != j
            ):
                return None
        found = self.of(depths, params, extents)
        return None if all(within(forms, found) for forms in rows) else found


def _half(far: int) -> int:
    """Half of how far an iterator goes, rounded up; 0, no limit, where that is nowhere or has no end."""
    return -(-max(0, far) // 2)


def _scaled(form: Row, params: int) -> list[int]:
    """The iterators with a coefficient other than -1, 0 and 1."""
    return [j for j, x in enumerate(form[1 + params :]) if x not in (-1, 0, 1)]


def without_coalesced(forms: Forms, limits: Forms | None, params: int, extents: Extents) -> Forms | None:
    """Limits by which an iterator that a row runs as one loop with another is in none any longer; None where it runs
    none so."""
    for k, form in enumerate(forms):
        if _scaled(form, params):
            c = form[1 + params :]
            most = max(map(abs, c))
            for i, x in enumerate(c):
                if x and abs(x) < most and 0 < abs(x) * _half(extents(k, i)) < most:
                    rows = [list(row) for row in limits or [(-1,) * len(f) for f in forms]]
                    rows[k][1 + params + i] = 0
                    return tuple(map(tuple, rows))
    return None
