"""Accesses of statements, each with the times at which its instances run: what dataflow and conflicts are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from polyvolta.sched.dependence.order import Clock, Clocks
from polyvolta.sched.errors import BadProgram
from polyvolta.sets import Map, nearest
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.space import Tuple

Kind = Literal["must", "may", "kill"]


@dataclass(frozen=True, slots=True)
class Accesses:
    """One conjunct of an access relation, over (parameters, instance, element), and when its instances run.

    Parameters
    ----------
    kind : as what it takes part, if it is a source.
    """

    kind: Kind
    clock: Clock
    instance: Tuple
    array: Tuple
    conjunct: Conjunct

    def elsewhere(self, other: Accesses) -> bool:
        """Whether plainly no element is accessed by both: they are of two arrays, or of two rows of one that are told
        apart by a constant. O(dimensions of the array)."""
        if self.array.key != other.array.key:
            return True
        n = len(self.array.dims)
        for x, y in zip(_fixed(self.conjunct, n), _fixed(other.conjunct, n)):
            if x != y and x is not None and y is not None:
                return True
        return False


@lru_cache(maxsize=1 << 12)
def _fixed(c: Conjunct, last: int) -> tuple[int | None, ...]:
    """The values of the last dimensions, None of those that no equality gives one."""
    values: list[int | None] = [None] * last
    first = 1 + c.n - last
    for row in c.eqs:
        at = [k for k in range(1, len(row)) if row[k]]
        if len(at) == 1 and first <= at[0] <= c.n and row[at[0]] in (1, -1):
            values[at[0] - first] = -row[0] * row[at[0]]
    return tuple(values)


def accesses(m: Map, kind: Kind, times: Clocks, params: tuple[str, ...]) -> list[Accesses]:
    """The conjuncts of an access relation, by the clocks of their instances.

    Raises
    ------
    BadProgram : the order has no time for a statement that accesses something, or not for as many iterators.
    """
    out = []
    for space, cs in m.align_params(params).parts:
        assert space.inp is not None
        name = space.inp.label
        if name not in times:
            if all(c.is_empty for c in cs):
                continue
            raise BadProgram(
                f"the order has no time for {name}, which accesses {space.out}", hint=nearest(name, list(times))
            )
        for clock in times[name]:
            if len(clock.iterators) != len(space.inp.dims):
                raise BadProgram(
                    f"the order is one of {name}[{', '.join(clock.iterators)}], the accesses are those of {space.inp}"
                )
            for c in cs:
                for piece in _at(clock, c, len(params)):
                    out.append(Accesses(kind, clock, space.inp, space.out, piece))
    return out


def _at(clock: Clock, c: Conjunct, n_par: int) -> list[Conjunct]:
    """The accesses of a conjunct by the instances that a clock is for."""
    if clock.instances is None:
        return [c]
    n = n_par + len(clock.iterators)
    tail = (0,) * (c.n - n + len(c.divs))
    rows, eqs, out = set(c.ineqs), set(c.eqs), []
    for d in clock.instances:
        if not d.divs and rows.issuperset([r + tail for r in d.ineqs]) and eqs.issuperset([r + tail for r in d.eqs]):
            return [c]
        both = cj.conjoin(c, cj.reindex(d, c.n, tuple(range(n))))
        if both is not None and not both.is_empty:
            out.append(both)
    return out
