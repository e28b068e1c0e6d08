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

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.compiler.model.columns import Array, Columns, columns_of
from polyvolta.compiler.model.sizes import work_of
from polyvolta.compiler.model.traffic import VALUE, ceil_div, fetched, from_memory, outside, tiles
from polyvolta.cuda.target.instruction import WARPGROUP
from polyvolta.display.shown import Record
from polyvolta.display.text import for_terminal
from polyvolta.graph.dims import by_name

if TYPE_CHECKING:
    from polyvolta.compiler.needs import Needs, Work
    from polyvolta.compiler.tiling import Tiling
    from polyvolta.cuda.target.chips import Chip
    from polyvolta.cuda.target.target import Target

LINE = 128
"""Bytes of a line of L2."""
SUM = 4
"""Of an accumulator."""
AT_ONCE = 0.5
"""Tiles that are on their way where copies don't run ahead."""
KEPT = 0.6
"""The share of L2 in which operands stay, beside results on their way out."""


@dataclass(frozen=True, slots=True)
class Cost(Record):
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
    power : what clocks that fall add.
    waves : tiles of the busiest multiprocessor, as a number.
    """

    launch: float
    fill: float
    main: float
    feeding: float
    finish: float
    reduction: float
    memory: float
    power: float
    waves: int

    @property
    def seconds(self) -> float:
        """The sum of the parts."""
        return _whole(self)

    def __str__(self) -> str:
        parts = ", ".join(f"{f.name} {1e6 * getattr(self, f.name):.1f}" for f in fields(self)[:-1])
        return for_terminal(f"{1e6 * self.seconds:.1f} us in {self.waves} waves: {parts}")

    def _facts(self) -> list[tuple[str, object]]:
        parts = [(f.name, f"{1e6 * getattr(self, f.name):.2f} us") for f in fields(self)[:-1]]
        return [("in all", f"{1e6 * self.seconds:.2f} us"), *parts, ("waves", self.waves)]

    def _title(self) -> str:
        return "what a launch is predicted to take"


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
    power: Array
    waves: Array

    @property
    def seconds(self) -> Array:
        return _whole(self)

    def __getitem__(self, at: int) -> Cost:
        parts = {f.name: float(getattr(self, f.name)[at]) for f in fields(self)}
        waves = int(parts.pop("waves"))
        return Cost(waves=waves, **parts)


def _whole(c: Cost | Costs) -> Any:
    """The sum of the parts."""
    return c.launch + c.fill + c.main + c.feeding + c.finish + c.reduction + c.memory + c.power


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
    return predict_all(columns, needs, chip, work_of(needs, by_name(sizes or {})))[0]


def predict_all(c: Columns, needs: Needs, chip: Chip, work: Work) -> Costs:
    """What all tilings of some columns are predicted to take, each at one size, or each at its own.

    Parameters
    ----------
    work : the sizes; or likewise with an array for each number, as long as the columns.

    Cost: some 100 µs for a thousand.
    """
    fitted, grid = chip.fitted(c.scope), _grid(c, work, chip)
    steps = sum(ceil_div(ceil_div(d, c.depth), c.parts) for d in work.depths)
    multiply, full, alone, zeros = _step(c, needs, work, chip, grid)
    start = fitted.block + fitted.latency + np.where(grid.size > 1, fitted.meet, 0)
    finish, reduction = _ends(c, needs, chip)

    rounds, in_turn = ceil_div(grid.turns, grid.beside), c.turns > 1
    begun = np.where(c.persistent, 1, rounds)  # what a block does before its first tile, so many times
    own = begun * start + rounds * (steps * alone + reduction + finish)
    both = start + finish + np.maximum(grid.turns * steps * alone, ceil_div(grid.turns, 2) * (steps * alone + finish))
    one = np.where(in_turn, both, own)
    for_all = start + finish + reduction + grid.turns * steps * full
    overlaps = (for_all > one) | in_turn
    busy = np.maximum(one, for_all) + steps * zeros
    memory = _memory(c, needs, work, chip, grid)
    main = grid.turns * steps * multiply
    whole = norm(fitted.sharp, busy, memory)
    power = fitted.power * grid.blocks * steps * multiply / grid.reach

    fill = np.where(overlaps, start, begun * start)
    done, added = (np.where(overlaps, time, rounds * time) for time in (finish, reduction))
    feeding = busy - main - fill - added - done
    return Costs(np.full(len(c), fitted.launch), fill, main, feeding, done, added, whole - busy, power, grid.turns)


@dataclass(frozen=True, slots=True)
class _Grid:
    """The blocks of a launch: rows and columns of tiles, blocks, those of a cluster, multiprocessors for them, tiles of
    the busiest one, multiprocessors that have some, blocks that these have at a time."""

    down: Array
    across: Array
    blocks: Array
    size: Array
    reach: Array
    turns: Array
    active: Array
    beside: Array


def _grid(c: Columns, work: Work, chip: Chip) -> _Grid:
    down, across = tiles(c, work.rows, work.cols)
    blocks, size = down * across * c.parts, c.high * c.wide * c.parts
    reach = np.empty(len(c))
    for n, lasting in {*zip(size.tolist(), c.persistent.tolist(), strict=True)}:
        reach[(size == n) & (c.persistent == lasting)] = chip.reachable(int(n), bool(lasting))
    turns = ceil_div(blocks, reach)
    return _Grid(down, across, blocks, size, reach, turns, np.minimum(blocks, reach), np.minimum(c.beside, turns))


def _step(c: Columns, needs: Needs, work: Work, chip: Chip, grid: _Grid) -> tuple[Array, Array, Array, Array]:
    """Seconds of a step along K: multiplying alone; of a block among others; of a block alone; and what zeros beside
    the tensors add to it."""
    fitted, second = chip.fitted(c.scope), chip.clock
    multiply = c.rows * c.cols * c.depth / (chip.rate(c.scope) * fitted.tensor * second)
    shared = (c.read + VALUE * c.depth * (c.rows + c.cols)) / (chip.shared_width * fitted.shared * second)
    left, right = _ragged(c, needs, work, fitted.ragged)
    port = np.minimum(chip.l2_width * second, chip.l2_bandwidth / grid.active) * fitted.l2
    l2 = fetched(c, fitted.far * left, right) / port
    together = np.where(c.high * c.wide > 1, fitted.together, 0)
    kept, rewritten = _computed(c, needs)
    computed = kept * fitted.prologue + rewritten * fitted.rewrite
    stops = np.where(kept > 0, c.strips * fitted.strip, 0) + np.where(rewritten > 0, fitted.back, 0)
    apart = (rewritten == 0) & (c.scope == WARPGROUP.name)  # one maker multiplies while another one doesn't
    before = computed / np.maximum(c.strips, 1)  # of the first strip; others' come while products are computed
    own = multiply / np.where(apart, c.makers, 1) + before + stops + fitted.trip + together
    ring = (fitted.latency + l2) / np.maximum(c.ahead, AT_ONCE) + together
    full = norm(fitted.sharp, multiply, shared, l2, computed) * (1 + fitted.crowd * (grid.beside - 1))
    alone = norm(fitted.sharp, multiply, shared, l2, own, ring)
    beyond, edges = outside(c, work.rows, work.cols, grid.down, grid.across)
    share = np.where(edges > 0, np.maximum(1, grid.turns * edges / grid.blocks), 0)  # a multiprocessor's tiles there
    return multiply, full, alone, share * beyond / grid.turns / fitted.outside


def _ends(c: Columns, needs: Needs, chip: Chip) -> tuple[Array, Array]:
    """Seconds from a tile's last product to its results in memory, and of adding up the parts of a split K."""
    fitted, second, values = chip.fitted(c.scope), chip.clock, c.rows * c.cols
    matrices = needs.outputs + needs.matrices
    moved = VALUE * values * matrices / (chip.l2_width * second * fitted.store) + fitted.piece * c.pieces * matrices
    computed = needs.functions * values / 1000 * fitted.function
    across = min(needs.across, needs.matrices)
    single = np.where(c.swap == (needs.layout == "col"), across, needs.matrices - across)
    loaded = needs.matrices * c.pieces * fitted.operand + (c.pieces > 0) * single * values / 1000 * fitted.single
    by_threads = needs.operands - np.where(c.boxed, needs.matrices, 0)
    loaded = np.where(c.boxed, 0, loaded) + fitted.latency * (by_threads > 0)
    finish = fitted.finish + moved + computed + loaded
    added = SUM * values * (c.parts - 1) / c.parts / (chip.shared_width * second * fitted.exchange)
    return finish, np.where(c.parts > 1, fitted.meet + added, 0)


def _memory(c: Columns, needs: Needs, work: Work, chip: Chip, grid: _Grid) -> Array:
    """Seconds of reading and writing memory, less what L2 still has of a run before."""
    kept = KEPT * chip.l2_bytes
    length = sum(np.asarray(d, float) for d in work.depths)
    brought = from_memory(c, grid.down, grid.across, grid.active * c.beside / c.parts, length, kept)
    moved = brought + VALUE * (needs.outputs + needs.matrices) * np.asarray(work.rows, float) * work.cols
    return np.clip(moved / kept - 1, 0, 1) * moved / (chip.dram_bandwidth * chip.fitted(c.scope).dram)


def _ragged(c: Columns, needs: Needs, work: Work | Any, more: float) -> tuple[Array, Array]:
    """By how much more L2 delivers for an operand whose lines don't start at multiples of its own lines."""
    length = work.depths[0]
    extents = {"left": (work.rows, length), "right": (length, work.cols)}
    layouts: dict[str, str] = dict(zip(("left", "right"), needs.layouts[0], strict=True))
    found = {side: np.where(np.asarray(both[layouts[side] == "row"]) * VALUE % LINE > 0, more, 1.0)
             for side, both in extents.items()}  # fmt: skip
    along, across = (np.where(c.swap, found[a], found[b]) for a, b in (("right", "left"), ("left", "right")))
    return along, across


def _computed(c: Columns, needs: Needs) -> tuple[Array, Array]:
    """Thousands of values of operands that a block computes on the way in a step: of the one along the macro-MMA's
    rows, which go to registers, and of the other one, which are written back."""
    left, right = (max(bool(pair[side]) for pair in needs.prologues) for side in (0, 1))
    kept, rewritten = np.where(c.swap, right, left), np.where(c.swap, left, right)
    return kept * c.rows * c.depth / 1000, rewritten * c.cols * c.depth / 1000
