"""How long a run will take: counted beforehand, measured while it starts.

What a batch of blocks executes is known without any data: loops and conditions depend on sizes and on which blocks
these are. So the operations of all batches can be counted by walking the loops alone, and once each place has run for a
moment its time is known. A run that would take hours ends after a second, with the sizes that would not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any
from warnings import warn

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop, Roles, Stmt, Tiles, When
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.machine.errors import TooLong
from polyvolta.cuda.machine.machine import Step, names
from polyvolta.cuda.machine.strands import parts_of
from polyvolta.cuda.machine.turns.tiles import batch, launched, turns
from polyvolta.sets import Aff

WARN = 60  # seconds that interpreting may take without a warning
LIMIT = 600  # and without an error, unless the caller is more patient
MOMENT = 1.0  # seconds to measure
OVERHEAD = 3e-5  # seconds that an operation takes for the smallest batch
EACH = 64  # trips of a long loop that are walked at its start, in its middle and at its end


def executions(
    ir: KernelIR, values: Mapping[str, Any], blocks: np.ndarray, count: int = 0, exact: bool = False
) -> Counter[IrPath]:
    """How often each operation is executed for a batch of blocks.

    Parameters
    ----------
    values : of sizes and scalars.
    blocks : [3, block], their blockIdx.
    count : how many blocks are launched, where each has several tiles.
    exact : whether each trip is walked on which something depends, and each tile.

    Notes
    -----
    Exact but, without `exact`, for loops of more than three times `EACH` trips whose conditions change with the trip:
    of the trips in their middle some stand for all; and of more than three tiles of a block one does for those in the
    middle.
    """
    def tiles(s: Tiles, values: Mapping[str, Any]) -> Turns:
        return list(turns(s, ir, values, blocks, count))

    return _count(ir.body, names(ir, values, blocks), True, (), Walk(tiles, exact))


Turns = list[tuple[dict[str, Any], np.ndarray]]
"""Of each of a batch's tiles the names' values, and which blocks have it."""


@dataclass(frozen=True, slots=True)
class Walk:
    """How a body is walked: which tiles there are, and whether some stand for all."""

    tiles: Callable[[Tiles, Mapping[str, Any]], Turns]
    exact: bool


def _count(
    body: tuple[Stmt, ...], values: dict[str, Any], mask: Any, at: IrPath, how: Walk, first: int = 0
) -> Counter[Any]:
    out: Counter[Any] = Counter()
    for k, s in enumerate(body, first):
        if isinstance(s, Loop):
            out += _loop(s, values, mask, (*at, k), how)
        elif isinstance(s, When):
            tests: list[Any] = [e.evaluate(values) for e in s.conditions]
            holds = reduce(np.logical_and, (x >= 0 for x in tests), True)
            if np.any(both := np.logical_and(holds, mask)):
                out += _count(s.body, values, both, (*at, k), how)
            if s.orelse and np.any(both := np.logical_and(np.logical_not(holds), mask)):
                out += _count(s.orelse, values, both, (*at, k), how, len(s.body))
        elif isinstance(s, Tiles):
            every = how.tiles(s, values)
            some = sorted({0, len(every) // 2, len(every) - 1}) if every else []
            weights = _shares(len(every), len(some))
            if how.exact:
                some, weights = [*range(len(every))], [1] * len(every)
            for number, weight in zip(some, weights, strict=True):
                found, has = every[number]
                inside = _count(s.body, {**values, **found}, np.logical_and(has, mask), (*at, k), how)
                out += Counter({path: n * weight for path, n in inside.items()})
        elif isinstance(s, Roles):
            start = 0
            for role in s.roles:
                inside = _count(role.body, values, mask, (*at, k), how, start)
                for _ in parts_of(role):
                    out += inside
                start += len(role.body)
        else:
            out[(*at, k)] += 1
    return out


def _loop(loop: Loop, values: dict[str, Any], mask: Any, at: IrPath, how: Walk) -> Counter[IrPath]:
    lowers: list[Any] = [e.evaluate(values) for e in loop.lower]
    uppers: list[Any] = [e.evaluate(values) for e in loop.upper]
    lower, upper = reduce(np.maximum, lowers), reduce(np.minimum, uppers)
    trips = int(np.max((upper - lower) // loop.step)) + 1
    if trips <= 0:
        return Counter()
    every: list[tuple[range, float]] = [(range(trips), 1.0)]
    if loop.var not in _names(loop.body):
        every = [(range(1), float(trips))]
    elif trips > 3 * EACH and not how.exact:
        middle = range(EACH, trips - EACH, max((trips - 2 * EACH) // EACH, 1))
        every = [(range(EACH), 1.0), (middle, (trips - 2 * EACH) / len(middle)), (range(trips - EACH, trips), 1.0)]
    out: dict[IrPath, float] = {}
    for some, weight in every:
        for trip in some:
            value = lower + trip * loop.step
            here = np.logical_and(mask, value <= upper)
            if np.any(here):
                for path, n in _count(loop.body, {**values, loop.var: value}, here, at, how).items():
                    out[path] = out.get(path, 0.0) + n * weight
    return Counter({path: round(n) for path, n in out.items()})


def _names(body: tuple[Stmt, ...]) -> set[str]:
    """The names on which loops and conditions in a body depend."""
    affs: list[Aff] = []
    for _, s in walk(body):
        if isinstance(s, Loop):
            affs += [*s.lower, *s.upper]
        elif isinstance(s, When):
            affs += s.conditions
    return {n for e in affs for n in e.names()}


class Forecast:
    """Measures a run for a moment, then says how long all of it takes.

    Parameters
    ----------
    ir, values : the kernel, and what its sizes and scalars are.
    grid : numbers of places along x, y and z.
    batch : how many blocks run together.
    patience : seconds that all may take; None: `LIMIT`.
    clock : gives the time in seconds.
    """

    def __init__(
        self,
        ir: KernelIR,
        values: Mapping[str, Any],
        grid: Sequence[int],
        batch: int,
        patience: float | None,
        clock: Callable[[], float],
    ) -> None:
        self.ir, self.values, self.grid, self.batch = ir, values, grid, batch
        self.patience, self.clock = LIMIT if patience is None else patience, clock
        self.runs: Counter[IrPath] = Counter()
        self.seconds: dict[IrPath, float] = {}
        self.start = self.last = clock()
        self.measuring = True
        self.blocks = min(batch, prod(launched(ir, grid)))  # that run while it measures

    def step(self, step: Step) -> None:
        """An operation was executed; after a moment of them, what all will take.

        Raises
        ------
        TooLong

        Warns
        -----
        RuntimeWarning : more than `WARN` seconds.
        """
        now = self.clock()
        self.runs[step.path] += 1
        self.seconds[step.path] = self.seconds.get(step.path, 0.0) + now - self.last
        self.last = now
        if now - self.start >= MOMENT:
            self.measuring = False
            self._decide()

    def _decide(self) -> None:
        seconds = self.expected(self.values, self.grid)
        if seconds <= min(WARN, self.patience):
            return
        limit = self.patience if seconds > self.patience else WARN
        smaller = self._smaller(limit)
        long = f"interpreting {self.ir.name} on these arrays takes about {duration(seconds)}"
        if seconds > self.patience:
            raise TooLong(
                long,
                where=f"longer than {duration(self.patience)}",
                hint=(f"{smaller}; or " if smaller else "") + f"interpret(..., patience={60 * -(-seconds // 60):.0f})",
                smaller=smaller,
            )
        warn(f"{long}; {smaller}" if smaller else long, RuntimeWarning, stacklevel=8)  # the caller of a kernel

    def expected(self, values: Mapping[str, Any], grid: Sequence[int]) -> float:
        """Seconds of a run for some sizes, from what was measured."""
        count = prod(launched(self.ir, grid))
        batches = -(-count // self.batch)
        kinds = sorted({0, batches // 2, batches - 1}) if count else []
        mean = sum(self.seconds.values()) / sum(self.runs.values())
        total = 0.0
        for n, number in zip(kinds, _shares(batches, len(kinds)), strict=True):
            blocks = batch(self.ir, grid, n * self.batch, min((n + 1) * self.batch, count))
            share = blocks.shape[1] / self.blocks
            for path, times in executions(self.ir, values, blocks, count).items():
                each = self.seconds[path] / self.runs[path] if self.runs[path] else mean
                total += number * times * (min(each, OVERHEAD) + max(each - OVERHEAD, 0) * share)
        return total

    def _smaller(self, limit: float) -> str:
        """The largest sizes, each halved equally often, that take less than a limit; "" if there are none."""
        multiples = dict(self.ir.context)
        sizes = {n: self.values[n] for n in self.ir.sizes}
        while any(n > multiples.get(name, 1) for name, n in sizes.items()):
            sizes = {name: _halved(n, multiples.get(name, 1)) for name, n in sizes.items()}
            values = {**self.values, **sizes}
            grid: list[Any] = [g.evaluate(sizes) for g in self.ir.grid]
            if (seconds := self.expected(values, grid)) <= limit:
                words = ", ".join(f"{name} = {n}" for name, n in sizes.items())
                return f"{words} would take about {duration(seconds)}"
        return ""


def _shares(batches: int, kinds: int) -> list[int]:
    """For how many batches the first, one in the middle and the last one stand."""
    return [1] * kinds if kinds < 3 else [1, batches - 2, 1]


def _halved(n: int, multiple: int) -> int:
    return max(-(-n // (2 * multiple)) * multiple, multiple) if n else 0


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(0.4), duration(90), duration(1200), duration(9000)
    ('less than a second', '90 seconds', '20 minutes', '2 hours')
    """
    if seconds < 1:
        return "less than a second"
    if seconds < 1.5:
        return "a second"
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"
