"""Fitted figures of a chip from times of kernels: weighted least squares on logarithms.

What matters is the order of tilings at one size, so that a size's mean error counts little, and tilings that take much
longer than its best count less the slower they are. Figures are positive, so that the search goes in their logarithms:
Levenberg's and Marquardt's steps, with derivatives by differences, and errors beyond some percent count linearly, as
single times may be disturbed. A weak pull to where the search began holds figures that the times say nothing about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from polyvolta.compiler.model.columns import Array, Columns
from polyvolta.compiler.model.cost import predict_all
from polyvolta.compiler.needs import Needs, Work
from polyvolta.display.shown import Record

if TYPE_CHECKING:
    from polyvolta.cuda.target.chips import Chip

LIMITS = {"sharp": (1.5, 20.0), "tensor": (0.3, 1.0), "ragged": (1.0, 4.0), "far": (1.0, 4.0),
          "trip": (1e-9, 1e-6)}  # fmt: skip
"""Between which some figures lie: exponents and shares."""
DISTURBED = 0.08
"""Error from which on one counts linearly."""
NEAR = 2.0
"""Tilings that take longer than so many times the best of their size don't count."""
POWER = 4
"""Of a tiling's nearness to the best, in its weight."""
LEVEL = 0.03
"""Weight of a size's mean error, beside those of its tilings."""
PULL = 2e-3
STEP = 0.02
"""In a logarithm, of differences."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Times of tilings at some sizes.

    Parameters
    ----------
    needs : of the graph.
    columns : a tiling for each time.
    work : its sizes, as columns.
    seconds : the times.
    size : the number of its size, from 0 on.
    """

    needs: Needs
    columns: Columns
    work: Work
    seconds: Array
    size: Array

    @property
    def best(self) -> Array:
        """The least time of each size."""
        found = np.full(int(self.size.max()) + 1, np.inf)
        np.minimum.at(found, self.size, self.seconds)
        return found

    def of(self, sizes: Collection[int]) -> Measured:
        """Those at some sizes, which are numbered anew."""
        kept = sorted(sizes)
        where = np.nonzero(np.isin(self.size, kept))[0]
        return replace(self.take(where), size=np.searchsorted(kept, self.size[where]))

    def take(self, where: Array) -> Measured:
        """Some of them."""
        work = Work(self.work.rows[where], self.work.cols[where], tuple(d[where] for d in self.work.depths))  # type: ignore[index]
        return Measured(self.needs, self.columns.take(where), work, self.seconds[where], self.size[where])

    def predicted(self, chip: Chip) -> Array:
        """What the model says instead, in seconds."""
        return predict_all(self.columns, self.needs, chip, self.work).seconds


def measured(
    needs: Needs, columns: Columns, sizes: Sequence[tuple[int, int, tuple[int, ...]]],
    times: Sequence[tuple[int, int, float]],
) -> Measured:  # fmt: skip
    """Times as columns.

    Parameters
    ----------
    columns : the tilings.
    sizes : rows, columns and depths.
    times : (tiling, size, seconds), by numbers of both.
    """
    tiling, size, seconds = (np.array(x) for x in zip(*times, strict=True))
    rows, cols, depths = zip(*sizes, strict=True)
    table = [np.array(x, float)[size] for x in (rows, cols, *zip(*depths, strict=True))]
    return Measured(needs, columns.take(tiling), Work(table[0], table[1], tuple(table[2:])), seconds, size)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Quality(Record):
    """How well the model's order serves, each size by itself.

    Parameters
    ----------
    first : the time of the model's first choice over the best's, of each size.
    among : likewise the least time of its first sixteen.
    """

    first: Array
    among: Array

    def __str__(self) -> str:
        return (
            f"{len(self.first)} sizes: first choice {geomean(self.first):.3f} of the best's time, at most "
            f"{self.first.max():.2f}; within 2 % is one of the first 16 at {np.sum(self.among <= 1.02)}"
        )


def quality(data: Measured, chip: Chip, count: int = 16) -> Quality:
    """How well the model orders what was measured."""
    predicted, best = data.predicted(chip), data.best
    first, among = np.empty(len(best)), np.empty(len(best))
    for size, least in enumerate(best):
        here = np.nonzero(data.size == size)[0]
        order = here[np.argsort(predicted[here], kind="stable")]
        first[size] = data.seconds[order[0]] / least
        among[size] = data.seconds[order[:count]].min() / least
    return Quality(first, among)


def geomean(ratios: Array) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def fit(chip: Chip, data: Sequence[Measured], names: Sequence[str], rounds: int = 12) -> Chip:
    """The chip with figures for which the model's errors are least.

    Parameters
    ----------
    data : times of tilings of one scope.
    names : of the figures that are fitted; the others stay.

    Cost: twice as many predictions a round as there are names.
    """
    scope, near = data[0].columns.scope, [_near(d) for d in data]
    at: Array = np.log([getattr(chip.fitted(scope), n) for n in names])
    start, limits = at, np.log([LIMITS.get(n, (1e-12, 1e15)) for n in names])
    low, high = limits.T

    def made(x: Array) -> Chip:
        return chip.with_fitted(scope, replace(chip.fitted(scope), **dict(zip(names, np.exp(x).tolist(), strict=True))))

    def errors(x: Array) -> Array:
        return np.concatenate([*_errors(near, made(x)), PULL / len(x) ** 0.5 * (x - start)])

    found = errors(at)
    damping, gain = 1e-2, 0.0
    for _ in range(rounds):
        steps = STEP * np.eye(len(at))
        slopes = np.stack([(errors(at + s) - errors(at - s)) / (2 * STEP) for s in steps], axis=1)
        square, slope = slopes.T @ slopes, slopes.T @ found
        for _ in range(8):
            step: Array = -np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), slope)
            to: Array = np.clip(at + np.clip(step, -0.7, 0.7), low, high)
            if np.sum((there := errors(to)) ** 2) < np.sum(found**2):
                break
            damping *= 4
        else:
            break
        gain = float(1 - np.sum(there**2) / np.sum(found**2))
        at, found, damping = to, there, max(damping / 5, 1e-6)
        if gain < 1e-4:
            break
    return made(at)


def _near(data: Measured) -> Measured:
    """Without what takes far longer than the best of its size."""
    return data.take(np.nonzero(data.seconds < NEAR * data.best[data.size])[0])


def _errors(data: Sequence[Measured], chip: Chip) -> Iterator[Array]:
    """What is squared: each tiling's error beside its size's mean, and these means."""
    for d in data:
        count = int(d.size.max()) + 1
        weight = (d.best[d.size] / d.seconds) ** POWER
        weight /= np.bincount(d.size, weight, count)[d.size]  # sizes count the same
        error = np.log(d.predicted(chip) / d.seconds)
        mean = np.bincount(d.size, weight * error, count)
        apart = error - mean[d.size]
        linear = np.sqrt(DISTURBED / np.maximum(np.abs(apart), DISTURBED))
        yield np.sqrt(weight / count) * linear * apart
        yield (LEVEL / count) ** 0.5 * mean
