"""Every element of an output is written exactly once: by one block, by one thread of it, in one store.

In two steps, as the kernel does it. Within a block, elements are numbers: each store adds the offsets of its threads'
values to a count, and at the end the count is one on a box, the block's tile, whatever way a block took through the
program, for full tiles and for partial ones. Over all blocks, tiles are symbolic: the tile of block (x, y) starts at
[128*y, 128*x], say, and that the tiles of a grid meet every element of [0, M) x [0, N) once, for all sizes, is decided
by the set core (`block_tiles`). Which block is at which place of the grid is its order, a bijection (`block_order`).
Where blocks compute several places, "block" is the tile at a place, and each place is some block's, in one turn.

With a split K several warps have a part of each element; that only one of them stores the sum is in the count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import LANES, GlobalTensor, KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.coverage.arguments import asked
from polyvolta.cuda.verify.coverage.block_order import left_out, misplaced, shown, shown_shares
from polyvolta.cuda.verify.coverage.block_tiles import Point, Tile, Way, different, extent, inside, not_once, writers
from polyvolta.cuda.verify.engine.addresses import offsets
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.symbols import BLOCKS, all_blocks, of_sizes
from polyvolta.cuda.verify.engine.turns import whole_of
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.engine.watching import Watching
from polyvolta.cuda.verify.report.records import CounterExample, Verdict
from polyvolta.graph.dag import Graph
from polyvolta.sets import Aff, var

PROOF = "written_once"


@dataclass(slots=True)
class Counted:
    """How often a block has written the elements of one output.

    Parameters
    ----------
    start : the symbolic part of the stores' indices; None before the first one.
    origin : the offset from there at which `counts` begins.
    counts : of elements, by offset; 2 stands for more.
    stores : the number of the store that wrote each, in the list of places.
    """

    start: tuple[Aff, ...] | None = None
    origin: tuple[int, ...] = ()
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    stores: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int16))

    def copy(self) -> Counted:
        return Counted(self.start, self.origin, self.counts.copy(), self.stores.copy())

    def key(self) -> Hashable:
        return self.start, self.origin, self.counts.shape, self.counts.tobytes()

    def hold(self, low: tuple[int, ...], high: tuple[int, ...]) -> None:
        """Make room for offsets from `low` to `high`."""
        if not self.origin:
            shape = tuple(b - a + 1 for a, b in zip(low, high, strict=True))
            self.origin, self.counts, self.stores = low, np.zeros(shape, np.uint8), np.zeros(shape, np.int16)
        before = [max(o - a, 0) for o, a in zip(self.origin, low, strict=True)]
        after = [max(b - o - n + 1, 0) for b, o, n in zip(high, self.origin, self.counts.shape, strict=True)]
        if any(before) or any(after):
            self.counts, self.stores = (
                np.pad(x, list(zip(before, after, strict=True))) for x in (self.counts, self.stores)
            )
            self.origin = tuple(o - b for o, b in zip(self.origin, before, strict=True))


@dataclass(slots=True)
class Writes:
    """What a block has written, by output."""

    of: dict[str, Counted]

    def copy(self) -> Writes:
        return Writes({name: c.copy() for name, c in self.of.items()})

    def key(self) -> Hashable:
        return tuple(c.key() for c in self.of.values())


class WrittenOnce(Watching):
    """Counts the stores to each element of the outputs: the graph's, whether the kernel has heard of them or not."""

    proofs = confirmed = (PROOF,)

    def __init__(self, ir: KernelIR, graph: Graph | None = None) -> None:
        self.ir = ir
        written = [t for t in ir.tensors if t.written] if graph is None else [t for t in asked(graph) if t.written]
        self.outputs = {t.name: t for t in written}
        self.paths: list[IrPath] = []
        self.stored: dict[str, IrPath] = {}  # output -> where it is stored first
        self.ways: dict[str, list[Way]] = {name: [] for name in self.outputs}
        self.ends: list[Here] = []  # of these ways
        self.asked: dict[tuple[str, Tile], Point | None] = {}
        self.tiles: dict[str, Tile] = {}
        self.done = False

    def start(self, ir: KernelIR) -> Writes:
        """Nothing is written."""
        return Writes({name: Counted() for name in self.outputs})

    def step(self, state: Writes, here: Here) -> None:
        """What an operation stores to outputs."""
        for access in here.accesses:
            if access.space == "global" and access.writes and access.array in self.outputs:
                self.store(state, here, access)

    def store(self, state: Writes, here: Here, access: Access) -> None:
        """The stores of all threads to one output."""
        name = access.array
        counted, parts = state.of[name], [here.split(e) for e in access.index]
        start = tuple(symbolic for symbolic, _ in parts)
        if counted.start is None:
            counted.start = start
        if start != counted.start or any(e.names() - {*BLOCKS, *self.ir.sizes} for e in start):
            raise Undecided(f"the stores to {name} start at {_index(counted.start)} and at {_index(start)}")
        places = [n[..., None] + more for (_, n), more in zip(parts, offsets(access), strict=True)]
        if here.mask is not None:
            places = [x[here.mask] for x in places]
        at = np.stack([x.ravel() for x in places])
        counted.hold(tuple(map(int, at.min(1))), tuple(map(int, at.max(1))))
        if here.path not in self.paths:
            self.paths.append(here.path)
        self.stored.setdefault(name, here.path)
        place = tuple(x - o for x, o in zip(at, counted.origin, strict=True))
        new = np.zeros(counted.counts.shape, np.int64)
        np.add.at(new, place, 1)
        again = (new + counted.counts > 1) & (new > 0)
        if again.any() and not self.done:
            self.twice(here, access, counted, again, parts)
        counted.counts = np.minimum(counted.counts + new, 2).astype(np.uint8)
        counted.stores[new > 0] = self.paths.index(here.path)

    def twice(self, here: Here, access: Access, counted: Counted, again: np.ndarray, parts: list) -> None:
        """An element that is written a second time; where that is inside of the tensor, for some sizes."""
        assert counted.start is not None
        for place in np.argwhere(again):
            offset = [int(p) + o for p, o in zip(place, counted.origin, strict=True)]
            where = inside(self.outputs[access.array], tuple(s + o for s, o in zip(counted.start, offset, strict=True)))
            point = here.point(*where)
            if point is not None:
                break
        else:
            return
        taking = np.ones((self.ir.warps, LANES), bool) if here.mask is None else here.mask
        each = zip(parts, offsets(access), offset, strict=True)
        there = np.all(np.broadcast_arrays(*(n[..., None] + more == x for (_, n), more, x in each)), 0)
        reached = taking & there.any(-1)
        warp, lane = (int(x) for x in np.argwhere(reached)[-1])
        address = f"{access.array}[{', '.join(str(v) for v in _evaluated(counted.start, offset, point))}]"
        before = self.paths[counted.stores[tuple(place)]] if counted.counts[tuple(place)] else here.path
        self.done = True
        what = f"{address} is written a second time, by warp {warp}, lane {lane}"
        here.refute(PROOF, what, where=tuple(where), warp=warp, lane=lane, address=address, other=before)

    def finish(self, state: Writes, here: Here) -> None:
        """What a block has written in all; when all ways through the program are there, what all blocks have."""
        for name, counted in state.of.items():
            tile, holes = None, counted.counts == 0
            if counted.start is not None:
                start = tuple(s + o for s, o in zip(counted.start, counted.origin, strict=True))
                tile = Tile(start, counted.counts.shape)
            self.ways[name].append(Way(here.condition, tile, holes))
        self.ends.append(here)
        seen = here.condition
        for end in self.ends[:-1]:
            seen = seen.union(end.condition)
        if not self.done and all_blocks(self.ir).within(seen):
            for tensor in self.outputs.values():
                self.compare(tensor, self.ways[tensor.name])

    # ---- all blocks

    def compare(self, tensor: GlobalTensor, ways: list[Way]) -> None:
        """One tile partitions the tensor, and on every way a block writes that."""
        tiles = [tile for tile in dict.fromkeys(way.tile for way in ways) if tile is not None]
        whole = next((tile for tile in tiles if self.once(tensor, tile) is None), None)
        if whole is not None and not any(True for way in ways for _ in different(way, tensor, whole)):
            self.tiles[tensor.name] = whole
            return
        doubtful = (point for point in self.doubtful(tensor, ways, tiles if whole is None else [whole]))
        if not any(self.refuted(tensor, ways, point) for point in doubtful):
            raise Undecided(f"the blocks' tiles of {tensor.name} differ, and no element is found that shows it")

    def doubtful(self, tensor: GlobalTensor, ways: list[Way], tiles: list[Tile]) -> Iterator[Point]:
        """Elements that may not be written once, each with sizes."""
        for tile in tiles:
            if (point := self.once(tensor, tile)) is not None:
                yield point
        for way in ways:
            for tile in tiles:
                yield from different(way, tensor, tile)
        for end in self.ends:
            if not tiles and (some := end.point(*(extent(n) - 1 for n in tensor.dims))) is not None:
                yield {**some, **{f"element.{d}": 0 for d in range(len(tensor.dims))}}

    def once(self, tensor: GlobalTensor, tile: Tile) -> Point | None:
        """See `not_once`; each tile is asked about once."""
        key = tensor.name, tile
        if key not in self.asked:
            self.asked[key] = not_once(self.ir, tensor, tile)
        return self.asked[key]

    def refuted(self, tensor: GlobalTensor, ways: list[Way], point: Point) -> bool:
        """Report an element that isn't written once, if it is so."""
        at = tuple(point[f"element.{d}"] for d in range(len(tensor.dims)))
        blocks = writers(self.ir, ways, point, at)
        where = tuple(
            e for n in (*self.ir.sizes, *BLOCKS) if n in point for e in (var(n) - point[n], point[n] - var(n))
        )
        end = next((end for end in self.ends if end.point(*where) is not None), None)
        if len(blocks) == 1 or end is None:
            return False
        address = f"{tensor.name}[{', '.join(map(str, at))}]"
        who = " and by block ".join(str(b) for b in blocks[:2])
        self.done, end.path = True, self.stored.get(tensor.name, end.path)
        what = f"{address} is written by {f'block {who}' if blocks else 'nobody'}"
        end.refute(PROOF, what, where=where, address=address)
        if not blocks and (found := end.machine.findings.get(PROOF)) is not None:  # no block has to do with it
            sizes = {n: v for n, v in found.point.items() if n in self.ir.sizes}
            end.machine.findings[PROOF] = replace(found, point=sizes)
        return True

    def shown(self, proof: str) -> Verdict:
        """What is shown, with the tile of every output."""
        what = "every element of an output is written exactly once, by one store of one thread of one block"
        grid = ", ".join(map(str, self.ir.grid))
        if not self.ends and (case := self.no_block()) is not None:
            return Verdict(what, f"grid ({grid})", case)
        if (case := misplaced(self.ir.block_order)) is not None:
            return Verdict(what, f"grid ({grid}), blocks in {self.ir.block_order}", case)
        if self.ir.resident and (case := left_out(whole_of(self.ir))) is not None:
            return Verdict(what, f"grid ({grid}), shared out among {self.ir.resident} blocks", case)
        if self.ends and not self.done and self.tiles.keys() != self.outputs.keys():
            raise Undecided("the ways through the program don't cover all blocks")
        parts = []
        for name, tile in self.tiles.items():
            start, shape = tile.start, tile.shape
            letters = "ij"[: len(shape)] if len(shape) <= 2 else [f"i{d}" for d in range(len(shape))]
            box = " and ".join(f"{s} <= {i} < {s + n}" for i, s, n in zip(letters, start, shape, strict=True))
            all_of = " and ".join(f"0 <= {i} < {n}" for i, n in zip(letters, self.outputs[name].dims, strict=True))
            index = ", ".join(letters)
            parts.append(
                f"{{ {name}[{index}] -> [blockIdx.x, blockIdx.y, blockIdx.z] : {box} }} has exactly one block for "
                f"{all_of}, in the grid ({grid}); its {self.ir.threads} threads write each of "
                f"{' x '.join(map(str, shape))} elements once"
            )
        harmless = "a grid may have more blocks: their elements lie outside, and aren't stored"
        if not self.ir.block_order.plain:
            parts.append(shown(self.ir.block_order))
        if self.ir.resident:
            parts.append(shown_shares(self.ir))
        return Verdict(what, "; ".join([*parts, harmless]))

    def no_block(self) -> CounterExample | None:
        """An element of an output, where no block ever comes to the end of the program."""
        sizes = Condition(self.ir.sizes, (frozenset(of_sizes(self.ir)),))
        for t in self.outputs.values():
            if (point := sizes.point(*(extent(n) - 1 for n in t.dims))) is not None:
                address = f"{t.name}[{', '.join('0' for _ in t.dims)}]"
                return CounterExample(f"{address} is written by nobody: no block runs", point, address=address)
        return None


def _evaluated(start: tuple[Aff, ...], offset: list[int], point: Mapping[str, int]) -> list[int]:
    return [int(s.evaluate(point)) + o for s, o in zip(start, offset, strict=True)]  # type: ignore[call-overload]


def _index(parts: tuple[Aff, ...]) -> str:
    return f"[{', '.join(map(str, parts))}]"


CLIENTS = (WrittenOnce,)
