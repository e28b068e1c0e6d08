"""Which tilings are tried at a size: the first without timing, a budget of the best guesses, and the whole space.

The space has thousands of tilings, and thousands of kernels are too many for a size. Where not all of it is gone
through, half are what the model ranks first, half are spread evenly over what it ranks behind: a model that overlooks
something so can't hide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from polyvolta.compiler.options import Options
from polyvolta.evaluation.benchmarks import Benchmark, Sizes

if TYPE_CHECKING:
    from polyvolta.cuda.target.target import Target

T = TypeVar("T")


class Choices(Protocol):
    """What is tried."""

    def first(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Options:
        """The choice that no timing takes part in."""
        ...

    def guesses(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """What a tuner times, best guesses first."""
        ...

    def space(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """Everything, or so many of it."""
        ...


def spread(items: Sequence[T], count: int) -> list[T]:
    """So many of some things in an order: half of them the first ones, half spread evenly over those behind.

    >>> spread(range(20), 8)
    [0, 1, 2, 3, 7, 11, 15, 19]
    """
    if count >= len(items):
        return list(items)
    front, behind = items[: -(-count // 2)], items[-(-count // 2) :]
    step = len(behind) / max(1, count // 2)
    return [*front, *(behind[int((n + 1) * step) - 1] for n in range(count // 2))]


@dataclass(slots=True)
class Ranked:
    """The model's choices: its first, its best guesses, and so many of all.

    Parameters
    ----------
    budget : guesses of a size.
    most : tilings of the space of a size; None: all.
    """

    budget: int = 16
    most: int | None = 200
    _of: object = None
    _found: list[Options] = field(default_factory=list)
    _others: Iterator[Options] = iter(())

    def first(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Options:
        """That which `compile` takes for these sizes."""
        return self._ranked(benchmark, target, sizes, 1)[0]

    def guesses(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """The budget's."""
        return self._ranked(benchmark, target, sizes, self.budget)

    def space(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """All, or half of them the first and half spread over the others."""
        found = self._ranked(benchmark, target, sizes, None)
        return found if self.most is None else spread(found, self.most)

    def _ranked(self, benchmark: Benchmark, target: Target, sizes: Sizes, count: int | None) -> list[Options]:
        """The first so many; the three of them ask one after the other for the same ones."""
        if self._of != (key := (benchmark.name, target, sizes)):
            known = dict(zip("MNK", sizes, strict=True))
            self._of, self._found, self._others = key, [], Options.space(benchmark.expression, target, **known)
        self._found += islice(self._others, None if count is None else max(0, count - len(self._found)))
        return self._found[:count]
