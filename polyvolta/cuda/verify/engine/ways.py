"""Ways through a program: what is known on each, and what each client of the symbolic machine knows there.

Where a condition is open a way forks; where two have equal states after it, they are one again, for the values of both.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.symbolic import State


@dataclass(slots=True)
class Way:
    """One way through the program so far: a condition and each client's state."""

    condition: Condition
    states: list[State]

    def copy(self, condition: Condition) -> Way:
        return Way(condition, [s.copy() for s in self.states])

    @property
    def key(self) -> Hashable:
        return tuple(s.key() for s in self.states)


def joined(ways: list[Way]) -> list[Way]:
    """Ways with equal states as one, for the values of all of them."""
    if len(ways) < 2:
        return ways
    by_key: dict[Hashable, Way] = {}
    for way in ways:
        key = way.key
        if key in by_key:
            by_key[key].condition = by_key[key].condition.union(way.condition)
        else:
            by_key[key] = way
    return list(by_key.values())


def any_of(conditions: list[Condition]) -> Condition:
    """What any of some conditions allows."""
    first, *more = conditions
    for condition in more:
        first = first.union(condition)
    return first


def rejoined(ways: list[Way], whole: Condition) -> list[Way]:
    """The ways that a condition's values went apart into; if their states are equal, as the one that they were."""
    ways = joined(ways)
    return [Way(whole, ways[0].states)] if len(ways) == 1 else ways
