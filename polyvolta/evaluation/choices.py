"""Which tilings are tried at a size: the first without timing, a budget of the best guesses, and the whole space.

The space has a thousand tilings or more, and so many kernels are too many for a size. Where not all of it is gone
through, half are what the model ranks first, half are spread evenly over the space whatever it ranks, the same ones at
all sizes: a model that overlooks something so can't hide it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from polyvolta.compiler.options import Options
from polyvolta.evaluation.benchmarks import Benchmark, Sizes
from polyvolta.tuner.candidates import worth_timing

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


def spread(items: Sequence[T], count: int, key: Callable[[T], Any]) -> list[T]:
    """So many of some things, or one less: half of them the first ones, half spread evenly over their order by a key.

    >>> spread([7, 1, 9, 2, 8, 4, 3, 6, 5, 0], 4, key=lambda n: n)
    [7, 1, 4, 9]
    """
    if count >= len(items):
        return list(items)
    front, rest = list(items[: -(-count // 2)]), count // 2
    every = sorted(items, key=key)
    step = len(items) / max(1, rest)
    return list(dict.fromkeys([*front, *(every[int((n + 1) * step) - 1] for n in range(rest))]))


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
    _others: Iterator[Options] = field(default_factory=lambda: iter(()))

    def first(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Options:
        """That which `compile` takes for these sizes."""
        return self._ranked(benchmark, target, sizes, 1)[0]

    def guesses(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """The budget's, as the tuner has them."""
        return worth_timing(self._ranked(benchmark, target, sizes, self.budget), self.budget)

    def space(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """All, or half of them the first and half spread over all."""
        found = self._ranked(benchmark, target, sizes, None)
        return found if self.most is None else spread(found, self.most, key=astuple)

    def _ranked(self, benchmark: Benchmark, target: Target, sizes: Sizes, count: int | None) -> list[Options]:
        """The first so many; the three of them ask one after the other for the same ones."""
        if self._of != (key := (benchmark.name, target, sizes)):
            known = dict(zip("MNK", sizes, strict=True))
            self._of, self._found, self._others = key, [], Options.space(benchmark.expression, target, known)
        self._found += islice(self._others, None if count is None else max(0, count - len(self._found)))
        return self._found[:count]
