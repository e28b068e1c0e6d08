"""Every element of an output is written exactly once: by one block, by one thread of it, in one store.

In two steps, as the kernel does it. Within a block, elements are numbers: each store adds the offsets of its threads'
values to a count, and at the end the count is one on a box, the block's tile, whatever way a block took through the
program, for full tiles and for partial ones. Over all blocks, tiles are symbolic: the tile of block (x, y) starts at
[128*y, 128*x], say, and that the tiles of a grid meet every element of [0, M) x [0, N) once, for all sizes, is a
statement about a relation from elements to blocks,

    { [M, N, i, j] -> [x, y] : 128*y <= i < 128*y + 128 and ... and [x, y] in the grid }

which has a block for each element and is single-valued. The set core decides both.

With a split K several warps have a part of each element; that only one of them stores the sum is in the count.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from polyvolta.cuda.ir_walk import IrPath, walk
from polyvolta.cuda.kernel_ir import CHUNK, LANES, GlobalStore, GlobalTensor, KernelIR
from polyvolta.cuda.verify.conditions import Condition
from polyvolta.cuda.verify.report import Verdict
from polyvolta.cuda.verify.symbolic import Here, Undecided
from polyvolta.cuda.verify.watching import Watching
from polyvolta.graph.dag import Graph
from polyvolta.sets import Aff, Map, Set, aff, var
from polyvolta.sets.build import RowBuilder
from polyvolta.sets.space import Space, Tuple

PROOF = "written_once"
BLOCKS = tuple(f"blockIdx.{axis}" for axis in "xyz")


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
    """Counts the stores to each element of the outputs."""

    proofs = (PROOF,)

    def __init__(self, ir: KernelIR, graph: Graph | None = None) -> None:
        self.ir = ir
        self.outputs = {t.name: t for t in ir.tensors if t.written}
        self.paths: list[IrPath] = []
        self.tiles: dict[str, tuple[tuple[Aff, ...], tuple[int, ...]]] = {}  # output -> start and extents
        self.proved: set[tuple] = set()
        self.done = False

    def start(self, ir: KernelIR) -> Writes:
        """Nothing is written."""
        return Writes({name: Counted() for name in self.outputs})

    def step(self, state: Writes, here: Here) -> None:
        """A store."""
        op = here.op
        if not isinstance(op, GlobalStore) or op.tensor not in self.outputs:
            return
        counted, parts = state.of[op.tensor], [here.split(e) for e in op.index]
        start = tuple(symbolic for symbolic, _ in parts)
        if counted.start is None:
            counted.start = start
        if start != counted.start or any(e.names() - {*BLOCKS, *self.ir.sizes} for e in start):
            raise Undecided(f"the stores to {op.tensor} start at {_index(counted.start)} and at {_index(start)}")
        run = np.arange(CHUNK)
        offsets = [n[..., None] + (run if d == op.along else 0 * run) for d, (_, n) in enumerate(parts)]
        if here.mask is not None:
            offsets = [x[here.mask] for x in offsets]
        at = np.stack([x.ravel() for x in offsets])
        counted.hold(tuple(map(int, at.min(1))), tuple(map(int, at.max(1))))
        if here.path not in self.paths:
            self.paths.append(here.path)
        place = tuple(x - o for x, o in zip(at, counted.origin, strict=True))
        new = np.zeros(counted.counts.shape, np.int64)
        np.add.at(new, place, 1)
        again = (new + counted.counts > 1) & (new > 0)
        if again.any() and not self.done:
            self.twice(here, op, counted, again, parts)
        counted.counts = np.minimum(counted.counts + new, 2).astype(np.uint8)
        counted.stores[new > 0] = self.paths.index(here.path)

    def twice(self, here: Here, op: GlobalStore, counted: Counted, again: np.ndarray, parts: list) -> None:
        """An element that is written a second time; where that is inside of the tensor, for some sizes."""
        assert counted.start is not None
        place = np.argwhere(again)[0]
        offset = [int(p) + o for p, o in zip(place, counted.origin, strict=True)]
        where = inside(self.outputs[op.tensor], counted.start, offset)
        point = here.point(*where)
        if point is None:
            return
        reached = np.ones((self.ir.warps, LANES), bool) if here.mask is None else here.mask.copy()
        for d, (_, numbers) in enumerate(parts):
            ahead = offset[d] - numbers
            reached = reached & (ahead >= 0) & (ahead < (CHUNK if d == op.along else 1))
        warp, lane = (int(x) for x in np.argwhere(reached)[-1])
        address = f"{op.tensor}[{', '.join(str(v) for v in _evaluated(counted.start, offset, point))}]"
        before = self.paths[counted.stores[tuple(place)]] if counted.counts[tuple(place)] else here.path
        self.done = True
        what = f"{address} is written a second time, by warp {warp}, lane {lane}"
        here.refute(PROOF, what, where=where, warp=warp, lane=lane, address=address, other=before)

    def finish(self, state: Writes, here: Here) -> None:
        """What a block has written in all is a box, and the boxes of all blocks are the output."""
        for name, counted in state.of.items():
            if not self.done:
                self.complete(here, self.outputs[name], counted)

    def complete(self, here: Here, tensor: GlobalTensor, counted: Counted) -> None:
        """One output."""
        if counted.start is None:
            self.unwritten(here, tensor, *self.tile_of(here, tensor))
            return
        missing = np.argwhere(counted.counts == 0)
        if len(missing):
            offset = [int(p) + o for p, o in zip(missing[0], counted.origin, strict=True)]
            where = inside(tensor, counted.start, offset)
            if (point := here.point(*where)) is not None:
                self.never(here, tensor, _evaluated(counted.start, offset, point), where)
                return
        key = tensor.name, counted.start, counted.origin, counted.counts.shape
        if key in self.proved:
            return
        self.proved.add(key)
        start = tuple(s + o for s, o in zip(counted.start, counted.origin, strict=True))
        self.tiles[tensor.name] = start, counted.counts.shape
        self.partition(here, tensor, start, counted.counts.shape)

    def tile_of(self, here: Here, tensor: GlobalTensor) -> tuple[tuple[Aff, ...], tuple[int, ...]]:
        """The tile of blocks that write, for a message about one that doesn't; any element if none does."""
        return self.tiles.get(tensor.name, (tuple(aff(0) for _ in tensor.dims), ()))

    def unwritten(self, here: Here, tensor: GlobalTensor, start: tuple[Aff, ...], shape: tuple[int, ...]) -> None:
        """A block that writes nothing is wrong where its tile has an element inside."""
        where = inside(tensor, start, [0] * len(start))
        if (point := here.point(*where)) is not None:
            self.never(here, tensor, _evaluated(start, [0] * len(start), point), where)

    # ---- all blocks

    def partition(self, here: Here, tensor: GlobalTensor, start: tuple[Aff, ...], shape: tuple[int, ...]) -> None:
        """Each element of the tensor is in the tile of exactly one block."""
        ir = self.ir
        index = tuple(f"element.{d}" for d in range(len(start)))
        sizes = [var(n) - low for n in ir.sizes if (low := ir.ranges.get(n, (0, None))[0]) is not None]
        sizes += [-(var(n) % m) for n, m in ir.context]
        elements = [e for i, n in zip(index, map(extent, tensor.dims), strict=True) for e in (var(i), n - 1 - var(i))]
        grid = [e for b, n in zip(BLOCKS, ir.grid, strict=True) for e in (var(b), n - 1 - var(b))]
        tile = [e for i, s, n in zip(index, start, shape, strict=True) for e in (var(i) - s, s + n - 1 - var(i))]
        known = (*ir.sizes, *index)
        to_block = _map(known, BLOCKS, [*sizes, *elements, *grid, *tile])
        without = _set(known, [*sizes, *elements]).subtract(to_block.domain())
        if not without.is_empty():
            point = dict(zip(known, without.sample_point(), strict=True))
            fixed = tuple(e for n in ir.sizes for e in (var(n) - point[n], point[n] - var(n)))
            self.never(here, tensor, [point[i] for i in index], fixed)
        elif not to_block.is_single_valued():
            self.several(here, tensor, (*sizes, *elements), (*grid, *tile), known)

    def several(
        self, here: Here, tensor: GlobalTensor, elements: tuple[Aff, ...], tile: tuple[Aff, ...], known: tuple[str, ...]
    ) -> None:
        """An element in the tiles of two blocks."""
        others = {b: var(f"other.{b}") for b in BLOCKS}
        names = (*known, *BLOCKS, *(f"other.{b}" for b in BLOCKS))
        for d, b in enumerate(BLOCKS):  # the first coordinate in which they differ
            same = [e for x in BLOCKS[:d] for e in (var(x) - others[x], others[x] - var(x))]
            more = [*elements, *tile, *(e.subs(others) for e in tile), *same, others[b] - var(b) - 1]
            found = Condition(names, (frozenset(),)).point(*more)
            if found is None:
                continue
            element = [found[f"element.{k}"] for k in range(len(tensor.dims))]
            address = f"{tensor.name}[{', '.join(map(str, element))}]"
            theirs = ", ".join(str(found[f"other.{x}"]) for x in BLOCKS)
            here_is = tuple(e for n in (*self.ir.sizes, *BLOCKS) for e in (var(n) - found[n], found[n] - var(n)))
            self.report(here, f"{address} is written by block ({theirs}), too", address, here_is)
            return

    # ---- counter-examples

    def never(self, here: Here, tensor: GlobalTensor, element: list[int], where: tuple[Aff, ...]) -> None:
        """An element that nobody writes."""
        address = f"{tensor.name}[{', '.join(map(str, element))}]"
        self.report(here, f"{address} is written by nobody", address, where)

    def report(self, here: Here, what: str, address: str, where: tuple[Aff, ...]) -> None:
        """A counter-example that is found at the end, at a store to the output."""
        tensor = address.partition("[")[0]
        stores = [p for p in self.paths if _at(self.ir, p).tensor == tensor]
        self.done = True
        here.path = stores[0] if stores else here.path
        here.refute(PROOF, what, where=where, address=address)

    def shown(self, proof: str) -> Verdict:
        """What is shown, with the tile of every output."""
        parts = []
        for name, (start, shape) in self.tiles.items():
            letters = "ij"[: len(shape)] if len(shape) <= 2 else [f"i{d}" for d in range(len(shape))]
            box = " and ".join(f"{s} <= {i} < {s + n}" for i, s, n in zip(letters, start, shape, strict=True))
            all_of = " and ".join(f"0 <= {i} < {n}" for i, n in zip(letters, self.outputs[name].dims, strict=True))
            index = ", ".join(letters)
            parts.append(
                f"{{ {name}[{index}] -> [blockIdx.x, blockIdx.y, blockIdx.z] : {box} }} has exactly one block for "
                f"{all_of}; its {self.ir.threads} threads write each of {' x '.join(map(str, shape))} elements once"
            )
        grid = ", ".join(map(str, self.ir.grid))
        what = "every element of an output is written exactly once, by one store of one thread of one block"
        return Verdict(what, "; ".join([*parts, f"grid ({grid})"]))


def inside(tensor: GlobalTensor, start: tuple[Aff, ...], offset: list[int]) -> tuple[Aff, ...]:
    """When an element is one of the tensor's, each `e >= 0`."""
    at = [s + o for s, o in zip(start, offset, strict=True)]
    return tuple(c for e, n in zip(at, tensor.dims, strict=True) for c in (e, extent(n) - 1 - e))


def extent(n: str | int) -> Aff:
    return var(n) if isinstance(n, str) else aff(n)


def _at(ir: KernelIR, path: IrPath) -> GlobalStore:
    found = dict(walk(ir.body))[path]
    assert isinstance(found, GlobalStore)
    return found


def _evaluated(start: tuple[Aff, ...], offset: list[int], point: Mapping[str, int]) -> list[int]:
    return [int(s.evaluate(point)) + o for s, o in zip(start, offset, strict=True)]  # type: ignore[call-overload]


def _index(parts: tuple[Aff, ...]) -> str:
    return f"[{', '.join(map(str, parts))}]"


def _set(names: tuple[str, ...], constraints: list[Aff]) -> Set:
    c = RowBuilder(names).conjunct([("ge", e) for e in constraints])
    return Set._of((), [(Space(None, Tuple(None, names)), () if c is None else (c,))])


def _map(ins: tuple[str, ...], outs: tuple[str, ...], constraints: list[Aff]) -> Map:
    c = RowBuilder((*ins, *outs)).conjunct([("ge", e) for e in constraints])
    return Map._of((), [(Space(Tuple(None, ins), Tuple(None, outs)), () if c is None else (c,))])


CLIENTS = (WrittenOnce,)
