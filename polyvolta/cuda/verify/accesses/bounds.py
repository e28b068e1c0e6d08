"""Every access is inside: of its tensor, its tile, its register array.

Global memory: an index is a symbolic part, 128*blockIdx.y + 32*c2, and numbers of the threads. Its least and its
greatest value over all threads and rounds of an unrolled loop are compared with 0 and the extent by the set core, under
the condition that holds where the access stands: so a text without guards is inside since its condition says so, for
all sizes. An access with guards compares each value with the extents itself; that it isn't below 0 is left to prove.

Shared memory and registers: indices are numbers for every thread, checked one by one against the tile's box, its chunks
and buffers, the slots of the exchange, the shape of a register array. What copy engines and tensor cores reach for a
thread is checked alike, each element and the chunk that it is in.

A box may hang over its tensor, on any side: what is outside is 0, or isn't stored, and nothing there is accessed.

Two things that a text relies on come with it: names keep to the ranges from which the printer knows that C's division
is the floor, and no sum of ints overflows (`integers`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, Arrive, Await, BoxCopy, KernelIR, Loop, Phase
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.verify.accesses.extremes import Extremes
from polyvolta.cuda.verify.accesses.integers import INT, LARGEST, overflow
from polyvolta.cuda.verify.engine.addresses import Addresses, layout_of, slot_chunks, slots
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.past_threads import Reach
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.symbols import BLOCKS
from polyvolta.cuda.verify.engine.watching import Nothing, Stateless
from polyvolta.cuda.verify.report.records import CounterExample, Verdict
from polyvolta.graph.dag import Graph
from polyvolta.sets import Aff, var

PROOF = "bounds"


class Bounds(Stateless):
    """Looks where each access goes."""

    proofs = (PROOF,)

    def __init__(self, ir: KernelIR, graph: Graph | None = None) -> None:
        self.ir = ir
        self.extremes = Extremes(ir)
        self.seen: set[tuple] = set()
        self.condition: Condition | None = None
        self.done = False

    def step(self, state: Nothing, here: Here) -> None:
        """An operation; what isn't symbolic is looked at once."""
        key = *here.instance, None if here.mask is None else here.mask.tobytes()
        self.extremes.add(here)
        if self.condition is not here.condition:
            self.condition = here.condition
            self.symbolic_ranges(here)
        if key in self.seen:
            return
        if not self.seen:
            self.thread_ranges(here)
        self.seen.add(key)
        for name, value in here.loops.items():
            self.in_range(here, name, value, value)
        for access in here.accesses:
            if access.space == "registers":
                self.register(here, access)
        for x in here.addresses:
            self.slots(here, x)
        for x in here.addresses:
            if x.places is None:
                self.tile(here, x)
            else:
                self.exchange(here, x)
        for reach in here.reaches:
            self.past_threads(here, reach)
        if isinstance(here.op, Arrive | Await | BoxCopy):
            self.phase(here, here.op.phase)

    def next_trip(self, state: Nothing, loop: Loop, here: Here) -> None:
        """A trip is over; in some there was no operation, but conditions that count on ranges."""
        self.symbolic_ranges(here)

    def finish(self, state: Nothing, here: Here) -> None:
        """What has been collected of tensors is compared with their extents."""
        self.overflow  # noqa: B018, computed here, where time is taken
        found = self.extremes.outside()
        if found is None:
            return
        name = found.access.array
        address = f"{name}[{', '.join(map(str, found.element))}]"
        tensor = f"{name}[{', '.join(map(str, self.ir.tensor(name).dims))}]"
        what = f"warp {found.warp}, lane {found.lane} reaches {address}, outside of {tensor}"
        self.refute(found.here, what, address, (found.where,), found.warp, found.lane)

    # ---- shared memory

    def slots(self, here: Here, x: Addresses) -> None:
        """Slots that a tile has: of one with a layout they are its buffers."""
        tile, name = self.ir.tile(x.access.array), x.access.array
        count = slots(x.access, tile)
        where = self.first(here, ((x.slot < 0) | (x.slot >= count))[..., None])
        if where is None:
            return
        number = int(x.slot[where[:2]])
        if x.places is None:
            self.refute(here, f"buffer {number} of {name}, which has {count}", f"{name}, buffer {number}")
        else:
            self.outside(here, where, f"slot {number} of {name}", f"{count} slots")

    def tile(self, here: Here, x: Addresses) -> None:
        """Elements in the tile's box, and chunks in its buffer."""
        tile = self.ir.tile(x.access.array)
        extents = [n for _, n in layout_of(tile).inputs]
        if x.outside is None:
            return
        assert x.chunks is not None
        index = np.broadcast_arrays(*x.elements)
        outside = np.zeros(index[0].shape, bool)
        for at, n in zip(index, extents, strict=True):
            outside |= (at < 0) | (at >= n)
        if (where := self.first(here, outside)) is not None:
            place = ", ".join(str(int(at[where])) for at in index)
            self.outside(here, where, f"{tile.name}[{place}]", f"a tile of {' x '.join(map(str, extents))} elements")
            return
        chunk = np.broadcast_to(x.chunks, outside.shape)
        if (where := self.first(here, ((chunk < 0) | (chunk >= tile.chunks)) & ~outside)) is not None:
            self.outside(here, where, f"{tile.name} chunk {int(chunk[where])}", f"a buffer of {tile.chunks} chunks")

    def exchange(self, here: Here, x: Addresses) -> None:
        """Places that a slot has."""
        access, tile = x.access, self.ir.tile(x.access.array)
        count = slot_chunks(access, tile) * CHUNK_BYTES // access.bytes
        what = "piece" if access.writes else "vector"
        assert x.places is not None and x.slot is not None
        at = x.places + np.zeros((*x.slot.shape, 1), np.int64)
        if (where := self.first(here, (at < 0) | (at >= count))) is not None:
            place = f"{what} {int(at[where])} of a slot of {tile.name}"
            self.outside(here, where, place, f"{count} {what}s")

    def past_threads(self, here: Here, x: Reach) -> None:
        """Elements and chunks of a box, or of an operand."""
        tile, outside = x.tile, x.outside
        if outside is None:
            return
        if not 0 <= x.buffer < tile.buffers:
            what = f"buffer {x.buffer} of {tile.name}, which has {tile.buffers}"
            self.refute(here, what, f"{tile.name}, buffer {x.buffer}", (), x.warp, x.lane)
            return
        at = tuple(int(n) for n in np.argwhere(outside)[0])
        place = ", ".join(str(int(e[at])) for e in x.elements)
        extents = [n for _, n in layout_of(tile).inputs]
        if all(0 <= int(e[at]) < n for e, n in zip(x.elements, extents, strict=True)):
            address, of = f"{tile.name} chunk {int(x.own_chunks[at])}", f"a buffer of {tile.chunks} chunks"
        else:
            address, of = f"{tile.name}[{place}]", f"a tile of {' x '.join(map(str, extents))} elements"
        self.outside(here, (x.warp, x.lane), address, of)

    def phase(self, here: Here, phase: Phase) -> None:
        """A slot that a row of barriers has."""
        row = self.ir.phases(phase.barriers)
        for e in (phase.slot, row.slots - 1 - phase.slot):
            if not here.holds(e):
                self.refute(here, f"slot {phase.slot} of {row.name}, which has {row.slots}", row.name, (-e - 1,))

    # ---- registers and ranges

    def register(self, here: Here, e: Access) -> None:
        """An index of a register array, the same for all threads."""
        shape, at = self.ir.register(e.array).shape, [here.number(x) for x in e.index]
        if len(at) != len(shape) or any(not 0 <= x < n for x, n in zip(at, shape, strict=True)):
            name = f"{e.array}[{', '.join(map(str, at))}]"
            self.refute(here, f"{name} of {e.array}[{', '.join(map(str, shape))}]", name)

    def thread_ranges(self, here: Here) -> None:
        """What a thread's names are, against what the kernel says of them."""
        for name in ("linearId", *(n for n, _ in self.ir.derived)):
            numbers = here.numbers(var(name))
            self.in_range(here, name, int(numbers.min()), int(numbers.max()))

    def in_range(self, here: Here, name: str, low: int, high: int) -> None:
        least, most = self.ir.ranges.get(name, (None, None))
        if (least is not None and low < least) or (most is not None and high > most):
            wrong = low if least is not None and low < least else high
            self.refute(here, f"{name} is {wrong}, and the text relies on {least} .. {most}", name)

    def symbolic_ranges(self, here: Here) -> None:
        """Block indices and the variables of loops over k tiles, against what the kernel says of them."""
        for name in here.condition.names:
            if name in self.ir.sizes:
                continue
            low, high = self.ir.ranges.get(name, (None, None))
            rooms = [var(name) - low] if low is not None else []
            rooms += [high - var(name)] if high is not None else []
            for room in rooms:
                if not here.holds(room):
                    what = f"{name} leaves its range {low} .. {high}, which the text relies on"
                    self.refute(here, what, name, (-room - 1,))

    # ---- counter-examples

    def first(self, here: Here, bad: np.ndarray) -> tuple[int, ...] | None:
        """Where an array [warp, 32, n] says yes first, of the threads that take part."""
        if here.mask is not None:
            bad = bad & here.mask[..., None]
        return tuple(int(x) for x in np.argwhere(bad)[0]) if bad.any() else None

    def outside(self, here: Here, where: tuple[int, ...], address: str, of: str) -> None:
        warp, lane = where[:2]
        self.refute(here, f"warp {warp}, lane {lane} reaches {address}, outside of {of}", address, (), warp, lane)

    def refute(
        self,
        here: Here,
        what: str,
        address: str,
        where: tuple[Aff, ...] = (),
        warp: int | None = None,
        lane: int | None = None,
    ) -> None:
        if not self.done:
            self.done = True
            here.refute(PROOF, what, where=where, warp=warp, lane=lane, address=address)

    # ---- what is shown

    @cached_property
    def overflow(self) -> CounterExample | None:
        """A case in which an int of the text overflows, with sizes that a launch takes."""
        found = overflow(self.ir)
        if found is None:
            return None
        what = f"the int {found.sum} may come to {found.value}, and an int holds {INT} at most"
        sizes = {n: found.point[n] for n in self.ir.sizes if n in found.point}
        block = tuple(found.point[b] for b in BLOCKS if b in found.point)
        trips = {n: v for n, v in found.point.items() if n not in sizes and n not in BLOCKS}
        return CounterExample(what, sizes, block if len(block) == 3 else None, iteration=trips)

    def shown(self, proof: str) -> Verdict:
        """What is shown, with the indices of every tensor and the boxes of tiles and registers."""
        ir = self.ir
        parts = []
        boxed = {m.tensor for m in ir.maps}
        for t in (t for t in ir.tensors if t.name not in boxed or any(n == t.name for n, _ in self.extremes.spans)):
            index = ", ".join(self.extremes.spoken(t.name, d) for d in range(len(t.dims)))
            parts.append(f"{t.name}[{', '.join(map(str, t.dims))}] at [{index}]{guards(ir, t.name)}")
        parts += [f"{m.name}: boxes of {m.tensor}, which may hang over it" for m in ir.maps]
        parts += [f"{t.name}: {t.buffers} x {t.chunks} chunks of {ir.shared_bytes} bytes" for t in ir.tiles]
        parts += [f"{r.name}[{', '.join(map(str, r.shape))}]" for r in ir.registers]
        statement = "every access is within its tensor, its tile and its register array, and no index overflows an int"
        if ir.sizes:
            statement += f", with sizes up to {LARGEST}, the largest that a launch takes"
        return Verdict(statement, "; ".join(parts), self.overflow)


def guards(ir: KernelIR, tensor: str) -> str:
    """Whether accesses to a tensor have guards."""
    found = (a for op in operations(ir.body) for a in op.accesses(ir) if a.space == "global" and a.array == tensor)
    kinds = {a.guarded for a in found}
    return {(True,): ", guarded", (False, True): ", guarded unless the tile is full"}.get(tuple(sorted(kinds)), "")


CLIENTS = (Bounds,)
