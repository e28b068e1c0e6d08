"""Copies cover their tiles: each chunk is stored once for every k tile.

A copy into shared memory is a loop over rounds in which each thread stores a chunk, { [linearId, round] -> chunk }. It
is right if that is a bijection onto the chunks of the tile's box: a chunk that nobody stores keeps the last k tile's
values, one that two threads store is a race, one outside of the box belongs to somebody else.

What boxes bring is counted likewise, where the copy engine puts it.

Pieces of a result are another matter: matrices are stored to them one by one, and a box takes all of them at once. An
operand may have been there before; then each matrix is loaded, and its place stored to again. So are the chunks of an
operand that threads rewrite in its stage. There each chunk is looked at by itself.

The stores are counted, chunk by chunk and buffer by buffer. A copy is looked at when its first fragment is loaded: each
chunk of the box has one store by then, and the count starts again. A tile to which nothing was ever stored has no copy
that could be loaded; whether a later copy is the one that is due is said by `fresh`. What has been stored and
not loaded where nothing comes to the tile any more must be a whole copy too, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass
from math import gcd

import numpy as np

from polyvolta.cuda.ir.accesses import Access, Operation
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    KernelIR,
    LoadMatrix,
    Loop,
    SharedLoad,
    SharedTile,
    StoreMatrix,
)
from polyvolta.cuda.ir.walk import IrPath, operations, walk
from polyvolta.cuda.verify.engine.addresses import Addresses, byte_text, layout_of, table
from polyvolta.cuda.verify.engine.past_threads import Reach
from polyvolta.cuda.verify.engine.rings import Turn
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.watching import Watching, thread_of
from polyvolta.cuda.verify.report.records import Verdict
from polyvolta.graph.dag import Graph
from polyvolta.sets import Aff

PROOF = "copies"
LOADED = 3  # in place of a count: the chunk was stored, and loaded since


@dataclass(slots=True)
class Stored:
    """How often each chunk has been stored since the last copy to its buffer was loaded.

    Parameters
    ----------
    counts : tile -> [buffer, chunk], or smaller pieces if the kernel stores such; 2 stands for more, too, and `LOADED`
        for what was loaded by itself.
    begun : the tiles to which anything was stored, or to places that they have in common with others.
    """

    counts: dict[str, np.ndarray]
    begun: frozenset[str] = frozenset()

    def copy(self) -> Stored:
        return Stored({name: x.copy() for name, x in self.counts.items()}, self.begun)

    def key(self) -> Hashable:
        return self.begun, b"".join(x.tobytes() for x in self.counts.values())


class Copies(Watching):
    """Counts the stores to each chunk of the tiles."""

    proofs = (PROOF,)

    def __init__(self, ir: KernelIR, graph: Graph | None = None) -> None:
        self.ir, self.size = ir, stored_bytes(ir)
        self.tiles = {t.name: t for t in ir.tiles if t.layout is not None}
        self.results = {
            op.tile for op in operations(ir.body)
            if isinstance(op, StoreMatrix | SharedLoad) or isinstance(op, LoadMatrix) and op.operand == "c"
        }  # fmt: skip
        per_chunk = CHUNK_BYTES // self.size
        self.boxes = {n: box(table(layout_of(t)), t.chunks).repeat(per_chunk) for n, t in self.tiles.items()}
        self.places = overlaps(list(self.tiles.values()))
        self.shared = {
            name: frozenset(other for (one, _), met in self.places.items() if one == name for other, _ in met)
            for name in self.tiles
        }
        self.stores: dict[str, tuple[IrPath, Access]] = {}  # tile -> where it is stored
        self.rounds: dict[str, dict[tuple, int]] = {name: {} for name in self.tiles}  # instance -> threads
        self.last = last_uses(ir, self.tiles)
        self.outermost: dict[IrPath, bool] = {}  # loop -> whether it is in no other
        self.done = False

    def start(self, ir: KernelIR) -> Stored:
        """No tile has anything."""
        return Stored({n: np.zeros((t.buffers, len(self.boxes[n])), np.uint8) for n, t in self.tiles.items()})

    def step(self, state: Stored, here: Here) -> None:
        """What an operation loads of tiles, and stores to them."""
        if not any(self.by_elements(a) for a in here.accesses):
            return
        for reach in here.reaches:
            self.past_threads(state, here, reach)
        for x in here.addresses:
            if not self.by_elements(x.access):
                continue
            lanes = np.arange(LANES) < x.access.lanes
            taking = np.broadcast_to(lanes if here.mask is None else here.mask & lanes, x.slot.shape)
            for buffer in np.unique(x.slot[taking]).tolist():
                mask = taking & (x.slot == buffer)
                if x.access.writes:
                    self.store(state, here, x, buffer, mask)
                elif x.access.array in self.results:
                    self.taken(state, here, x, buffer, mask)
                else:
                    self.loaded(state, here, x.access.array, buffer)

    def taken(self, state: Stored, here: Here, x: Addresses, buffer: int, mask: np.ndarray) -> None:
        """Some chunks of a buffer are loaded, each of which was stored; then something else may be."""
        if not self.within(here, x, buffer, mask, "loads"):
            return
        tile, counts = self.tiles[x.access.array], state.counts[x.access.array][buffer]
        pieces = x.pieces(self.size) - (tile.start + buffer * tile.chunks) * (CHUNK_BYTES // self.size)
        own = np.unique(pieces[mask])
        missing = own[counts[own] == 0]
        if missing.size:
            what = f"chunk {int(missing[0]) * self.size // CHUNK_BYTES} is loaded, and nobody has stored it"
            self.refute(here, what, address=self.address(tile.name, int(missing[0]), buffer))
        counts[own] = LOADED

    def loaded(self, state: Stored, here: Here, array: str, buffer: int) -> None:
        """A buffer of a tile is loaded: a copy to it is over."""
        if array not in state.begun:
            self.refute(here, f"{array} is loaded, and nothing was ever stored there")
        for tile, number in self.places.get((array, buffer), ()):
            counts = state.counts[tile][number]
            if counts.any():
                self.whole(counts, here, tile, number)
                counts[:] = 0

    def past_threads(self, state: Stored, here: Here, x: Reach) -> None:
        """A box that comes to a tile, or goes from it, or an operand that is read."""
        if not x.writes:
            self.loaded(state, here, x.tile.name, x.buffer)
            return
        if x.outside is not None:
            what = f"a box reaches elements or chunks of buffer {x.buffer} that {x.tile.name} doesn't have"
            self.refute(here, what, warp=x.warp, lane=x.lane, address=x.tile.name)
            return
        (access,) = (a for a in here.accesses if self.by_elements(a))
        self.stores[x.tile.name] = here.path, access
        self.rounds[x.tile.name][here.instance] = 1
        per_chunk = CHUNK_BYTES // self.size
        chunks = x.own_chunks[:, ::CHUNK].reshape(-1, 1) * per_chunk + np.arange(per_chunk)
        self.counted(state, here, x.tile, x.buffer, chunks.ravel(), lambda number: (x.warp, x.lane))

    def by_elements(self, access: Access) -> bool:
        """Whether an access is to elements of a tile, and not to places in it, as an exchange's is."""
        return access.space == "shared" and access.array in self.tiles and access.places is None

    def store(self, state: Stored, here: Here, x: Addresses, buffer: int, mask: np.ndarray) -> None:
        """A round of a copy, by some threads to one buffer."""
        access, tile = x.access, self.tiles[x.access.array]
        if not self.within(here, x, buffer, mask, "stores to"):
            return
        self.stores[tile.name] = here.path, access
        self.rounds[tile.name][here.instance] = int(np.count_nonzero(mask))
        pieces = x.pieces(self.size) - (tile.start + buffer * tile.chunks) * (CHUNK_BYTES // self.size)

        def who(number: int) -> tuple[int, int]:
            return thread_of(mask & (pieces == number).any(-1))

        self.counted(state, here, tile, buffer, pieces[mask].ravel(), who)

    def within(self, here: Here, x: Addresses, buffer: int, mask: np.ndarray, does: str) -> bool:
        """Whether some threads stay inside of a buffer; else that is a counter-example."""
        if x.outside is None or not (mask & x.outside).any():
            return True
        warp, lane = thread_of(mask & x.outside)
        at = ", ".join(str(here.numbers(e)[warp, lane]) for e in x.access.index)
        what = f"warp {warp}, lane {lane} {does} [{at}] of buffer {buffer}, which {x.access.array} doesn't have"
        self.refute(here, what, warp=warp, lane=lane, address=f"{x.access.array}[{at}]")
        return False

    def counted(
        self, state: Stored, here: Here, tile: SharedTile, buffer: int, pieces: np.ndarray,
        who: Callable[[int], tuple[int, int]],
    ) -> None:  # fmt: skip
        """Pieces of a buffer are stored, each by somebody."""
        state.begun |= self.shared[tile.name]
        counts = state.counts[tile.name][buffer]
        new = np.bincount(pieces, minlength=len(counts))
        counts[counts == LOADED] *= new[counts == LOADED] == 0
        if (twice := (new + counts > 1) & (new > 0)).any():
            number = int(np.flatnonzero(twice)[0])
            warp, lane = who(number)
            chunk = number * self.size // CHUNK_BYTES
            what = f"chunk {chunk} is stored a second time before anybody loads it, by warp {warp}, lane {lane}"
            self.refute(here, what, warp=warp, lane=lane, address=self.address(tile.name, number, buffer))
        counts[new > 0] = np.minimum(counts + new, 2)[new > 0]

    def whole(self, counts: np.ndarray, here: Here, tile: str, buffer: int) -> None:
        """What has been stored to a buffer must be the whole box."""
        missing = self.boxes[tile] & ((counts == 0) | (counts == LOADED))
        if missing.any():
            piece = int(np.flatnonzero(missing)[0])
            number = piece * self.size // CHUNK_BYTES
            element = np.argwhere(table(layout_of(self.tiles[tile])) == number)[0]
            first = ", ".join(str(int(x)) for x in element)
            what = (
                f"chunk {number}, from element [{first}] of the tile on, is stored by nobody: "
                f"{np.count_nonzero(missing)} of {np.count_nonzero(self.boxes[tile])} chunks aren't"
            )
            at = self.stores[tile][0] if tile in self.stores else None
            self.refute(here, what, address=self.address(tile, piece, buffer), at=at)

    def turn(self, state: Stored, by: Turn) -> None:
        """Slots of rings are numbered anew."""
        for name, n in by.items():
            if name in state.counts:
                state.counts[name] = np.roll(state.counts[name], -n, 0)

    def leave(self, state: Stored, loop: Loop, last: Aff | None, here: Here) -> None:
        """Tiles that nothing comes to any more are done with: a ring's last copies, which nobody loads."""
        if here.path not in self.outermost:
            self.outermost[here.path] = not loops_around(self.ir, here.path)
        if self.outermost[here.path]:
            depth = len(here.path)
            self.over(state, here, [n for n, path in self.last.items() if path[:depth] <= here.path])

    def finish(self, state: Stored, here: Here) -> None:
        """What has been stored since the last loads is whole, or nothing."""
        self.over(state, here, self.tiles)

    def over(self, state: Stored, here: Here, tiles: Iterable[str]) -> None:
        """The end of some tiles: what has been stored since the last loads must be whole, or nothing."""
        for tile in tiles:
            for buffer, row in enumerate(state.counts[tile]):
                row[row == LOADED] = self.boxes[tile][row == LOADED]
                if row.any():
                    self.whole(row, here, tile, buffer)
                    row[:] = 0

    def refute(self, here: Here, what: str, at: IrPath | None = None, **more: object) -> None:
        """A counter-example, at the copy's store if it is found later."""
        if self.done:
            return
        self.done = True
        found, here.path = here.path, at or here.path
        here.refute(PROOF, what, other=found if at and found else None, **more)  # type: ignore[arg-type]
        here.path = found

    def address(self, tile: str, piece: int, buffer: int) -> str:
        """A chunk of a tile, or a piece of it, in words."""
        t = self.tiles[tile]
        return byte_text(self.ir, CHUNK_BYTES * (t.start + buffer * t.chunks) + self.size * piece, tile)

    def shown(self, proof: str) -> Verdict:
        """What is shown, with each copy's map."""
        parts = [self.copy_of(name) for name in self.tiles]
        statement = "every copy to shared memory stores each chunk of its tile exactly once for every k tile"
        return Verdict(statement, "; ".join(parts))

    def copy_of(self, tile: str) -> str:
        """The map of a copy, as a relation, and what it is onto."""
        rounds = self.rounds[tile].values()
        count = np.count_nonzero(self.boxes[tile])
        onto = f"a bijection onto the {count * self.size // CHUNK_BYTES} chunks of [{self.box(tile)}]"
        if tile not in self.stores:
            return f"{tile}: nothing is stored"
        path, access = self.stores[tile]
        if access.proxy != "generic":
            return f"{tile}: boxes of {access.instructions} lines of {access.width} values are {onto}"
        around = [s for s in loops_around(self.ir, path) if s.unroll]
        names = ", ".join(["linearId", *(loop.var for loop in around)])
        bounds = [f"0 <= linearId < {max(rounds)}"]
        bounds += [f"{x.lower[0]} <= {x.var} <= {x.upper[0]}" for x in around]
        index = ", ".join(map(str, access.index))
        return f"{tile}: {{ [{names}] -> [{index}] : {' and '.join(bounds)} }} is {onto}"

    def box(self, tile: str) -> str:
        layout = self.tiles[tile].layout
        assert layout is not None
        return ", ".join(f"0 <= {name} < {n}" for name, n in layout.inputs)


def last_uses(ir: KernelIR, tiles: Collection[str]) -> dict[str, IrPath]:
    """Where each tile is accessed last in the text, of those that are accessed."""
    found: dict[str, IrPath] = {}
    for path, op in walk(ir.body):
        if isinstance(op, Operation):
            used = (a.array for a in op.accesses(ir) if a.space == "shared" and a.array in tiles)
            found |= {name: max(path, found.get(name, ())) for name in used}
    return found


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


def stored_bytes(ir: KernelIR) -> int:
    """The bytes that every store to a tile is a whole number of, at most those of a chunk."""
    tiles = {t.name for t in ir.tiles if t.layout is not None}
    found = (a for op in operations(ir.body) for a in op.accesses(ir) if a.space == "shared" and a.writes)
    return gcd(CHUNK_BYTES, *(a.bytes for a in found if a.array in tiles))


def loops_around(ir: KernelIR, path: IrPath) -> list[Loop]:
    """The loops around a statement, outermost first."""
    by_path = dict(walk(ir.body))
    around = [by_path[path[:k]] for k in range(1, len(path))]
    return [s for s in around if isinstance(s, Loop)]


CLIENTS = (Copies,)
