"""Schedule domain contraction: one instance stands for a whole tile of instances.

    DOMAIN: S[i] : 0 ≤ i < M      =>      DOMAIN: S[i] : 16⌊i/16⌋ = i ∧ 0 ≤ i < M

The instances whose iterators are multiples of the tile stay, and each now performs what the instances of its
tile did; what that is (a macro-MMA) is for the statement's operation to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyvolta.sched.errors import BadTile
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Set, UnknownName, nearest, var
from polyvolta.sets.build import RowBuilder


def contract(schedule: Schedule, statement: str, factors: Mapping[str, int]) -> Schedule:
    """Keep the instances of a statement at multiples of `factors`, by iterator name.

    Raises
    ------
    BadTile : a factor is not positive.
    UnknownName : no such statement or iterator.
    """
    domain = schedule.domain
    parts = []
    known = [s.out.name for s, _ in domain.parts]
    if statement not in known:
        raise UnknownName(f"no statement is called {statement!r}", where=str(schedule), hint=nearest(statement, known))
    for space, pieces in domain.parts:
        part = Set._of(domain.params, [(space, pieces)])
        if space.out.name == statement:
            for name, factor in factors.items():
                if factor <= 0:
                    raise BadTile(f"a contraction factor is positive, not {factor}")
                if name not in space.out.dims:
                    raise UnknownName(f"{statement} has no iterator {name!r}", hint=nearest(name, space.out.dims))
            strides = [("eq", var(n) - f * (var(n) // f)) for n, f in factors.items() if f > 1]
            knife = RowBuilder((*domain.params, *space.out.dims)).conjunct(strides)
            part = part & Set._of(domain.params, [(space, (knife,))])
        parts += part.parts
    return Schedule(replace(schedule.root, domain=Set._of(domain.params, parts)))
