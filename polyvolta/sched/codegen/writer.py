"""Expressions as the loops write them: simplified by what is known of names and loop variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from polyvolta.sched.codegen.ast import Bound
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.aff import Floor
from polyvolta.sets.simplify import simplify

Ranges = dict[str, tuple[int | None, int | None]]


class Writer:
    """The ranges of what has a name while the loops are made.

    Parameters
    ----------
    ranges : of parameters, of names that members are mapped to, and of the loop variables outside.
    """

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.seen: Ranges = {}  # of loop variables, over all loops of that name
        self.strides: dict[str, tuple[int, int]] = {}  # loops above: residue + step * integer

    def tidy(self, e: Aff) -> Aff:
        """An expression simplified by the ranges of names and loop variables."""
        if not any(isinstance(a, Floor) for a, _ in e.terms) and not any(
            self.ranges.get(a, (None, 0))[0] == self.ranges.get(a, (None, 0))[1] for a, _ in e.terms
        ):
            return e
        return simplify(e, self.ranges)

    def argument(self, e: Aff) -> Aff:
        """`tidy`, for what is known of strides, too: a loop variable is `residue + step * integer`."""
        counted = {v: aff(r) + s * var(v) for v, (s, r) in self.strides.items() if v in e.names()}
        if not counted:
            return self.tidy(e)
        ranges = dict(self.ranges)
        for v, (s, r) in self.strides.items():
            low, high = ranges[v]
            ranges[v] = (None if low is None else (low - r) // s, None if high is None else (high - r) // s)
        e = simplify(e, ranges, counted)
        whole = sum((c // self.strides[a][0] * (var(a) - self.strides[a][1]) for a, c in e.terms
                     if a in counted and c % self.strides[a][0] == 0), aff(0))  # fmt: skip
        rest = Aff(tuple((a, c) for a, c in e.terms if not (a in counted and c % self.strides[a][0] == 0)), e.const)
        return whole + rest.subs({v: (var(v) - r) // s for v, (s, r) in self.strides.items() if v in counted})

    @contextmanager
    def ranging(
        self, name: str, low: Sequence[Bound], high: Sequence[Bound], step: int, residue: Aff
    ) -> Iterator[None]:
        """What is known of a loop's variable while its body is made."""
        now = (
            max((e.const for e in low if isinstance(e, Aff) and e.is_constant), default=None),
            min((e.const for e in high if isinstance(e, Aff) and e.is_constant), default=None),
        )
        if None not in now and now[0] > now[1]:  # it never runs
            now = (now[0], now[0])
        self.ranges[name], self.seen[name] = now, _either(self.seen.get(name, now), now)
        if step > 1 and residue.is_constant:
            self.strides[name] = (step, residue.const)
        yield
        del self.ranges[name]  # the next loop of that name has its own range and stride
        self.strides.pop(name, None)


def _either(a: tuple[int | None, int | None], b: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    """The range that holds both."""
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    high = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return low, high
