"""How long a tiling takes, from what a chip does in a second: a sum of parts, each a few lines of arithmetic.

A multiprocessor has `turns` tiles, one after the other, the busiest one ⌈blocks / multiprocessors⌉. Of a tile's time
most is the main loop's, in which four things go on at once, and the slowest decides:

    multiplying      rows x cols x depth multiply-adds a step
    shared memory    what products read and copies write
    L2               what a block has brought, less what its cluster shares
    waiting          for the ring, which has `ahead` tiles on their way, each `latency` long; and for whoever multiplies
                     to go from one step to the next, while nobody else does

Before it the first tile has to come, and behind it results go to memory. A block alone on a multiprocessor leaves the
tensor cores idle meanwhile; blocks beside it, or a warpgroup that takes turns, don't. So time is the longer one of two
sums: that of what one block does one after the other, and that of what the multiprocessor has to do for all.

Times that overlap add by a norm, (a^p + b^p)^(1/p), which is a little above the longest of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.compiler.model.columns import Array, Columns, columns_of
from polyvolta.compiler.model.sizes import work_of
from polyvolta.compiler.model.traffic import VALUE, ceil_div, fetched, from_memory, outside, tiles

if TYPE_CHECKING:
    from polyvolta.compiler.needs import Needs, Work
    from polyvolta.compiler.tiling import Tiling
    from polyvolta.cuda.target.chips import Chip
    from polyvolta.cuda.target.target import Target

LINE = 128
"""Bytes of a line of L2."""
KEPT = 0.6
"""The share of L2 in which operands stay, beside results on their way out."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a launch is predicted to take, in seconds, by what takes it.

    Parameters
    ----------
    launch : the launch itself.
    fill : until the first tiles of operands are there, of all blocks that a multiprocessor runs one after the other.
    main : multiplying, at the rate of the tensor cores.
    feeding : what shared memory, L2, the ring and steps add to that.
    finish : results, from the last product to memory, as far as nothing else goes on meanwhile.
    reduction : adding up what blocks that split K have.
    memory : what reading and writing memory adds to all that.
    waves : tiles of the busiest multiprocessor, as a number.
    """

    launch: float
    fill: float
    main: float
    feeding: float
    finish: float
    reduction: float
    memory: float
    waves: int

    @property
    def seconds(self) -> float:
        """The sum of the parts."""
        return self.launch + self.fill + self.main + self.feeding + self.finish + self.reduction + self.memory

    def __str__(self) -> str:
        parts = ", ".join(f"{f.name} {1e6 * getattr(self, f.name):.1f}" for f in fields(self)[:-1])
        return f"{1e6 * self.seconds:.1f} us in {self.waves} waves: {parts}"


@dataclass(frozen=True, slots=True)
class Costs:
    """The parts of `Cost` as columns."""

    launch: Array
    fill: Array
    main: Array
    feeding: Array
    finish: Array
    reduction: Array
    memory: Array
    waves: Array

    @property
    def seconds(self) -> Array:
        return self.launch + self.fill + self.main + self.feeding + self.finish + self.reduction + self.memory

    def __getitem__(self, at: int) -> Cost:
        *parts, waves = (getattr(self, f.name)[at] for f in fields(self))
        return Cost(*map(float, parts), int(waves))


def norm(sharp: float, *times: Array) -> Array:
    """Times that overlap: a little above the longest of them.

    >>> norm(1, np.array([3.0]), np.array([4.0])).tolist(), norm(2, np.array([3.0]), np.array([4.0])).tolist()
    ([7.0], [5.0])
    """
    most = np.maximum.reduce(np.broadcast_arrays(*times))
    return most * sum((t / most) ** sharp for t in times) ** (1 / sharp)


def predict(tiling: Tiling, needs: Needs, target: Target, chip: Chip, sizes: Mapping[str, int] | None = None) -> Cost:
    """What a legal tiling is predicted to take.

    Parameters
    ----------
    needs : what the graph asks for.
    sizes : those that the graph has names for.

    Raises
    ------
    BadSizes : one is neither given nor a number of the graph.

    >>> from polyvolta.compiler.needs import Needs
    >>> from polyvolta.compiler.tiling import Tiling
    >>> from polyvolta.cuda.target.chips import chips
    >>> from polyvolta.cuda.target.registry import targets
    >>> tiling = Tiling((128, 256, 64), (64, 256, 64), "m64n256k16", 1, 4, "guard", "auto", 3, persistent=True)
    >>> needs = Needs(extents=(("M", "N", "K"),))
    >>> cost = predict(tiling, needs, targets["sm_90a"], chips["H200"], {"M": 4096, "N": 4096, "K": 4096})
    >>> cost.waves, 100e-6 < cost.seconds < 400e-6
    (4, True)
    """
    (columns,) = columns_of([tiling], needs, target)
    return predict_all(columns, needs, chip, work_of(needs, sizes or {}))[0]


def predict_all(c: Columns, needs: Needs, chip: Chip, work: Work | Mapping[str, Any]) -> Costs:
    """What all tilings of some columns are predicted to take, each at one size, or each at its own.

    Parameters
    ----------
    work : the sizes; or likewise with an array for each number, as long as the columns.

    Cost: some 100 µs for a thousand.
    """
    fitted, rows, cols, depths = chip.fitted(c.scope), work.rows, work.cols, work.depths
    down, across = tiles(c, rows, cols)
    blocks = down * across * c.parts
    size = c.high * c.wide * c.parts
    reach = np.vectorize(chip.reachable, otypes=[float])(size, c.persistent > 0)
    turns = ceil_div(blocks, reach)
    active = np.minimum(blocks, reach)
    beside = np.minimum(c.beside, turns)
    steps = sum(ceil_div(ceil_div(d, c.depth), c.parts) for d in depths)

    second = chip.clock
    multiply = c.rows * c.cols * c.depth / (chip.rate(c.scope) * fitted.tensor * second)
    shared = (c.read + VALUE * c.depth * (c.rows + c.cols)) / (chip.shared_width * fitted.shared * second)
    port = np.minimum(chip.l2_width * second, chip.l2_bandwidth / active) * fitted.l2
    l2 = fetched(c, *_ragged(c, needs, work, fitted.ragged)) / port
    computed = _computed(c, needs) * fitted.prologue
    full = norm(fitted.sharp, multiply, shared, l2) * (1 + fitted.crowd * (beside - 1)) + computed
    shares = np.where(c.high * c.wide > 1, fitted.together, 0)
    own = multiply / np.where(c.scope == "warpgroup", c.makers, 1) + fitted.trip + shares
    ring = fitted.latency / np.maximum(c.ahead - fitted.lag, 0.1) + shares
    alone = norm(fitted.sharp, multiply, shared, l2, own, ring) + computed

    beyond, edges = outside(c, rows, cols, down, across)
    zeros = beyond / turns / fitted.outside  # for the blocks that run at a time
    slower = norm(fitted.sharp, alone, zeros) - alone
    at_edges = steps * slower * np.where(edges > 0, np.maximum(1, turns * edges / blocks), 0)

    start = fitted.block + fitted.latency + np.where(size > 1, fitted.meet, 0)
    moved = VALUE * c.rows * c.cols * (needs.outputs + needs.matrices)
    finish = fitted.finish + moved / (chip.l2_width * second * fitted.store) + fitted.latency * (needs.operands > 0)
    finish = finish + fitted.piece * c.pieces * needs.outputs
    finish = finish + needs.functions * c.rows * c.cols * fitted.function / 1000
    adding = 4 * c.rows * c.cols * (c.parts - 1) / c.parts
    reduction = np.where(c.parts > 1, fitted.meet + adding / (chip.shared_width * second * fitted.exchange), 0)

    rounds = ceil_div(turns, beside)
    begun = np.where(c.persistent, 1, rounds)
    ended = np.where(c.turns > 1, 1, rounds)
    one = begun * start + rounds * (steps * alone + reduction) + ended * finish
    in_turn = c.turns > 1
    one = np.where(in_turn, start + finish + np.maximum(turns * steps * alone,
                                                        ceil_div(turns, 2) * (steps * alone + finish)), one)
    all_of_them = start + finish + reduction + turns * steps * full
    busy = np.maximum(one, all_of_them) + at_edges

    length = sum(np.asarray(d, float) for d in depths)
    out = VALUE * (needs.outputs + needs.matrices) * np.asarray(rows, float) * cols
    brought = from_memory(c, down, across, active * c.beside / c.parts, length, KEPT * chip.l2_bytes)
    cold = np.clip((brought + out) / (KEPT * chip.l2_bytes) - 1, 0, 1)  # what stays of the run before is not read again
    memory = cold * (brought + out) / (chip.dram_bandwidth * fitted.dram)
    main = turns * steps * multiply
    whole = norm(fitted.sharp, busy, memory)
    whole = whole * (1 + fitted.power * blocks * steps * multiply / (reach * whole))
    overlap = all_of_them > one
    fill = np.where(overlap, start, begun * start)
    adds = np.where(overlap, reduction, rounds * reduction)
    done = np.where(overlap, finish, np.where(in_turn, finish, ended * finish))
    feeding = busy - main - fill - adds - done
    last = blocks - (turns - 1) * reach  # that run at last
    hidden = fitted.early * c.dependent * np.clip((reach - last) / active, 0, 1)
    launch = fitted.launch - hidden * (fitted.launch + fitted.block)
    return Costs(launch, fill, main, feeding, done, adds, whole - busy, turns)


def _ragged(c: Columns, needs: Needs, work: Work | Any, more: float) -> tuple[Array, Array]:
    """By how much more L2 delivers for an operand whose lines don't start at multiples of its own lines."""
    length = work.depths[0]
    extents = {"left": (work.rows, length), "right": (length, work.cols)}
    layouts = dict(zip(("left", "right"), needs.layouts[0], strict=True))
    found = {side: np.where(np.asarray(extents[side][layouts[side] == "row"]) * VALUE % LINE > 0, more, 1.0)
             for side in extents}  # fmt: skip
    along, across = (np.where(c.swap, found[a], found[b]) for a, b in (("right", "left"), ("left", "right")))
    return along, across


def _computed(c: Columns, needs: Needs) -> Array:
    """Thousands of values of operands that a block computes on the way in a step."""
    left = max((a for a, _ in needs.prologues), default=0)
    right = max((b for _, b in needs.prologues), default=0)
    sides = np.where(c.swap, right, left) * c.rows + np.where(c.swap, left, right) * c.cols
    return sides * c.depth / 1000


def order(costs: Sequence[float] | Array) -> Array:
    """The places of costs from the least on; of equal ones the first first."""
    return np.argsort(np.asarray(costs), kind="stable")
