"""Copies cover their tiles: each chunk is stored once for every k tile.

A copy into shared memory is a loop over rounds in which each thread stores a chunk, { [linearId, round] -> chunk }. It
is right if that is a bijection onto the chunks of the tile's box: a chunk that nobody stores keeps the last k tile's
values, one that two threads store is a race, one outside of the box belongs to somebody else.

The stores are counted, chunk by chunk and buffer by buffer. A copy is looked at when its first fragment is loaded: each
chunk of the box has one store by then, and the count starts again. What has been stored and not loaded at the end must
be a whole copy too, or nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, FragmentLoad, KernelIR, Loop, SharedStore, SharedTile
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.verify.accesses.slots import Reaches
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.watching import Watching, thread_of
from polyvolta.cuda.verify.report.records import Verdict
from polyvolta.graph.dag import Graph

PROOF = "copies"


@dataclass(slots=True)
class Stored:
    """How often each chunk has been stored since the last copy to its buffer was loaded.

    Parameters
    ----------
    counts : tile -> [buffer, chunk]; 2 stands for more, too.
    """

    counts: dict[str, np.ndarray]

    def copy(self) -> Stored:
        return Stored({name: x.copy() for name, x in self.counts.items()})

    def key(self) -> Hashable:
        return b"".join(x.tobytes() for x in self.counts.values())


class Copies(Watching):
    """Counts the stores to each chunk of the tiles."""

    proofs = (PROOF,)

    def __init__(self, ir: KernelIR, graph: Graph | None = None) -> None:
        self.ir, self.reaches = ir, Reaches(ir, CHUNK_BYTES)
        self.tiles = {t.name: t for t in ir.tiles if t.layout is not None}
        self.boxes = {name: box(self.reaches.tables[name], t.chunks) for name, t in self.tiles.items()}
        self.places = overlaps(list(self.tiles.values()))
        self.stores: dict[str, IrPath] = {}  # tile -> where it is stored
        self.rounds: dict[str, dict[tuple, int]] = {name: {} for name in self.tiles}  # instance -> threads
        self.done = False

    def start(self, ir: KernelIR) -> Stored:
        """No tile has anything."""
        return Stored({n: np.zeros((t.buffers, t.chunks), np.uint8) for n, t in self.tiles.items()})

    def step(self, state: Stored, here: Here) -> None:
        """A store, or a load."""
        if isinstance(here.op, SharedStore):
            self.store(state, here, here.op)
        elif isinstance(here.op, FragmentLoad):
            for tile, buffer in self.places.get((here.op.tile, here.number(here.op.buffer)), ()):
                counts = state.counts[tile][buffer]
                if counts.any():
                    self.whole(counts, here, tile, buffer)
                    counts[:] = 0

    def store(self, state: Stored, here: Here, op: SharedStore) -> None:
        """A round of a copy."""
        reach, tile, buffer = self.reaches.at(here), self.tiles[op.tile], here.number(op.buffer)
        assert reach is not None
        mask = np.ones((self.ir.warps, LANES), bool) if here.mask is None else here.mask
        if reach.outside is not None and (mask & reach.outside).any():
            warp, lane = thread_of(mask & reach.outside)
            at = ", ".join(str(here.numbers(e)[warp, lane]) for e in op.index)
            what = f"warp {warp}, lane {lane} stores to [{at}] of buffer {buffer}, which {op.tile} doesn't have"
            self.refute(here, what, warp=warp, lane=lane, address=f"{op.tile}[{at}]")
            return
        self.stores[op.tile] = here.path
        self.rounds[op.tile][self.reaches.instances.at(here)] = int(np.count_nonzero(mask))
        counts = state.counts[op.tile][buffer]
        chunk = reach.slots[..., 0] - tile.start - buffer * tile.chunks
        new = np.bincount(chunk[mask], minlength=tile.chunks)
        if (twice := (new + counts > 1) & (new > 0)).any():
            number = int(np.flatnonzero(twice)[0])
            warp, lane = thread_of(mask & (chunk == number))
            what = f"chunk {number} is stored a second time before anybody loads it, by warp {warp}, lane {lane}"
            self.refute(here, what, warp=warp, lane=lane, address=self.address(op.tile, number, buffer))
        np.minimum(counts + new, 2, out=counts, casting="unsafe")

    def whole(self, counts: np.ndarray, here: Here, tile: str, buffer: int) -> None:
        """What has been stored to a buffer must be the whole box."""
        missing = self.boxes[tile] & (counts == 0)
        if missing.any():
            number = int(np.flatnonzero(missing)[0])
            element = np.argwhere(self.reaches.tables[tile] == number)[0]
            at = ", ".join(str(int(x)) for x in element)
            what = (
                f"chunk {number}, from element [{at}] of the tile on, is stored by nobody: "
                f"{np.count_nonzero(missing)} of {np.count_nonzero(self.boxes[tile])} chunks aren't"
            )
            self.refute(here, what, address=self.address(tile, number, buffer), at=self.stores.get(tile))

    def finish(self, state: Stored, here: Here) -> None:
        """What has been stored since the last loads is whole, or nothing."""
        for tile, counts in state.counts.items():
            for buffer, row in enumerate(counts):
                if row.any():
                    self.whole(row, here, tile, buffer)

    def refute(self, here: Here, what: str, at: IrPath | None = None, **more: object) -> None:
        """A counter-example, at the copy's store if it is found later."""
        if self.done:
            return
        self.done = True
        found, here.path = here.path, at or here.path
        here.refute(PROOF, what, other=found if at and found else None, **more)  # type: ignore[arg-type]
        here.path = found

    def address(self, tile: str, chunk: int, buffer: int) -> str:
        """A chunk of a tile, in words."""
        t = self.tiles[tile]
        return self.reaches.name(t.start + buffer * t.chunks + chunk, tile)

    def shown(self, proof: str) -> Verdict:
        """What is shown, with each copy's map."""
        parts = [self.copy_of(name) for name in self.tiles]
        statement = "every copy to shared memory stores each chunk of its tile exactly once for every k tile"
        return Verdict(statement, "; ".join(parts))

    def copy_of(self, tile: str) -> str:
        """The map of a copy, as a relation, and what it is onto."""
        rounds = self.rounds[tile].values()
        onto = f"a bijection onto the {np.count_nonzero(self.boxes[tile])} chunks of [{self.box(tile)}]"
        if (path := self.stores.get(tile)) is None:
            return f"{tile}: nothing is stored"
        around, store = enclosing(self.ir, path)
        names = ", ".join(["linearId", *(loop.var for loop in around)])
        assert isinstance(store, SharedStore)
        bounds = [f"0 <= linearId < {max(rounds)}"]
        bounds += [f"{x.lower[0]} <= {x.var} <= {x.upper[0]}" for x in around]
        index = ", ".join(map(str, store.index))
        return f"{tile}: {{ [{names}] -> [{index}] : {' and '.join(bounds)} }} is {onto}"

    def box(self, tile: str) -> str:
        layout = self.tiles[tile].layout
        assert layout is not None
        return ", ".join(f"0 <= {name} < {n}" for name, n in layout.inputs)


def overlaps(tiles: list[SharedTile]) -> dict[tuple[str, int], list[tuple[str, int]]]:
    """For each buffer of each tile those that have chunks of the block's memory in common with it, itself included."""
    spans = [(t.name, b, t.start + b * t.chunks, t.start + (b + 1) * t.chunks) for t in tiles for b in range(t.buffers)]
    return {
        (name, b): [(other, n) for other, n, first, end in spans if first < last and start < end]
        for name, b, start, last in spans
    }


def box(chunks: np.ndarray, count: int) -> np.ndarray:
    """Which chunks of a buffer a tile's elements lie in."""
    out = np.zeros(count, bool)
    out[chunks[(chunks >= 0) & (chunks < count)]] = True
    return out


def enclosing(ir: KernelIR, path: IrPath) -> tuple[list[Loop], object]:
    """The unrolled loops around a statement, outermost first, and the statement."""
    by_path = dict(walk(ir.body))
    around = [by_path[path[:k]] for k in range(1, len(path))]
    return [s for s in around if isinstance(s, Loop) and s.unroll], by_path[path]


CLIENTS = (Copies,)
