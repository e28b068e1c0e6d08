"""Which tilings are tried at a size: the first without timing, a budget of the best guesses, and the whole space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from polyvolta.evaluation.benchmarks import Benchmark, Sizes

if TYPE_CHECKING:
    from polyvolta.compiler.options import Options
    from polyvolta.cuda.target.target import Target


class Choices(Protocol):
    """What is tried."""

    def first(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Options:
        """The choice that no timing takes part in."""
        ...

    def guesses(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """What a tuner times, best guesses first."""
        ...

    def space(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """Everything."""
        ...
