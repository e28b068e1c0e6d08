"""Products of warpgroups: on their way from when they are issued until they are waited for.

Each product is done at some moment between the two: then tensor cores read both operands from shared memory, where
their descriptors say, swizzled by addresses, and no layout is asked. Products of a warpgroup on one accumulator are
done in order. From issue to the wait for all of them the accumulator's registers hold `POISON`; what is summed up
meanwhile is kept here.

Registers that threads have touched since the warpgroup's last `WgmmaFence` tensor cores may see or not: a product on
accumulators, or of an operand in registers, that aren't fenced gives `POISON`. So do values of shared memory that
threads wrote and haven't fenced. An operand in registers is read when the product is done, as one in shared memory is:
what threads have written over it until then is what counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES, Element, KernelIR, SharedOperand, Wgmma
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.machine.asynchrony.engine import Times, swizzled
from polyvolta.cuda.machine.asynchrony.proxies import NOBODY, Proxies
from polyvolta.cuda.machine.copies import Pending
from polyvolta.cuda.machine.errors import Diverged, LeftBehind, OutOfBounds
from polyvolta.cuda.machine.memories import POISON, Blocks
from polyvolta.cuda.machine.reach import Mask
from polyvolta.cuda.machine.tables import apply
from polyvolta.cuda.target.descriptors import Descriptor
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.functions.formats import widened

Index = tuple[int, ...]
Reached = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of some warpgroups: the block of the batch, the first thread, chunks of the block's memory [warpgroup, chunk]."""
SIDES = ("a", "b")


@dataclass(eq=False, slots=True)
class _Product:
    """A product of some warpgroups.

    Parameters
    ----------
    op : what is multiplied.
    array, indices : the accumulators' fragments.
    starts : of the operands in shared memory the chunk at which the descriptor starts, [block, warpgroup].
    a : of a left operand in registers its index.
    adds : of which warpgroups it is added to what was there, [block, warpgroup].
    spoiled : which warpgroups' registers were not fenced, likewise.
    left : of which warpgroups it isn't done yet, [block, warpgroup].
    due : when it is done, likewise.
    """

    op: Wgmma
    array: str
    indices: tuple[Index, ...]
    starts: dict[str, np.ndarray]
    a: Index | None
    adds: np.ndarray
    spoiled: np.ndarray
    left: np.ndarray
    due: np.ndarray | None


class Products:
    """The products of a batch of blocks.

    Attributes
    ----------
    sums : array -> [block, warp, lane, *shape, width], what accumulators are whose registers hold `POISON`.
    running : array -> [*shape, block, warpgroup], how many products on each haven't been waited for.
    held : likewise, whether products have it, from the first one to a wait for all.
    touched : array -> [*shape, block, warp], whether threads have touched it since their last fence.
    """

    def __init__(self, ir: KernelIR, shape: tuple[int, int, int], times: Times, proxies: Proxies) -> None:
        self.shape, self.times, self.proxies = shape, times, proxies
        self.groups = shape[1] // WARPS
        self.pending: Pending[_Product] = Pending(shape)
        self.last = np.zeros((shape[0], self.groups), np.int64)  # when a warpgroup's newest product is due
        products = [op for op in operations(ir.body) if isinstance(op, Wgmma)]
        arrays, held = ({e.array for op in products for e in of(op)} for of in (lambda op: op.d, lambda op: op.held))
        extents = {r.name: r.shape for r in ir.registers if r.name in arrays}
        self.sums: dict[str, np.ndarray] = {}
        self.running = {n: np.zeros((*s, shape[0], self.groups), np.int64) for n, s in extents.items()}
        self.held = {n: np.zeros(x.shape, bool) for n, x in self.running.items()}
        self.touched = {r.name: np.ones((*r.shape, *shape[:2]), bool) for r in ir.registers if r.name in held}

    def issue(self, m: Blocks, op: Wgmma, mask: Mask) -> tuple[Reached, ...]:
        """Some warpgroups, each whole, have a product made; what is read of A and of B."""
        who = self._groups(mask)
        array, indices = op.d[0].array, tuple(m.index(e.array, e.index) for e in op.d)
        starts = {letter: self._start(m, op, x, who) for letter, x in op.shared}
        a = m.index(op.a.array, op.a.index) if isinstance(op.a, Element) else None
        if array not in self.sums:
            self.sums[array] = m.registers[array].copy()
        spoiled = np.zeros(who.shape, bool)
        for index in indices:
            spoiled |= self._begin(m, array, index, who)
        if a is not None:
            spoiled |= self._unfenced(op.a.array, a, who)  # type: ignore[union-attr]
        due = self.times.due(who.shape)
        if due is not None:
            due = self.last = np.where(who, np.maximum(due, self.last), self.last)
        adds = self._adds(m, op, who)
        made = _Product(op, array, indices, starts, a, adds, spoiled, who, due)
        if self.times.eager:
            self._make(m, made, who)
        else:
            for index in indices:
                registers = m.registers[array][:, : self.groups * WARPS, :, *index]
                np.copyto(registers, POISON["float"], where=_threads(who)[..., None])
        self.pending.issue(made, mask)
        block, group = np.nonzero(who)
        return tuple(
            (block, WARPS * LANES * group,
             chunks_read(x.descriptor, *_side(op, x), starts[letter][who], m.memory.shape[1]))
            for letter, x in op.shared
        )

    def _begin(self, m: Blocks, array: str, index: Index, who: np.ndarray) -> np.ndarray:
        """A product on a fragment of the accumulators begins; the first one with what the registers hold.

        Returns which warpgroups haven't fenced it, [block, warpgroup].
        """
        warps, registers = self.groups * WARPS, m.registers[array][:, :, :, *index]
        sums = registers if self.times.eager else self.sums[array][:, :, :, *index]
        fresh = _threads(who & ~self.held[array][index])
        np.copyto(sums[:, :warps], registers[:, :warps], where=fresh[..., None])
        self.held[array][index] |= who
        self.running[array][index] += who
        return self._unfenced(array, index, who)

    def _unfenced(self, array: str, index: Index, who: np.ndarray) -> np.ndarray:
        """Which warpgroups have touched a register element since their last fence, [block, warpgroup]."""
        touched = self.touched[array][index][:, : self.groups * WARPS]
        return np.asarray(touched.reshape(*who.shape, WARPS).any(2))

    def fence(self, mask: Mask) -> None:
        """Some warpgroups' registers are ready."""
        warps = np.ones(self.shape[:2], bool) if mask is None else mask.any(2)
        for touched in self.touched.values():
            touched &= ~warps

    def touch(self, array: str, index: Index, mask: Mask) -> None:
        """Threads touch a register element, by other operations than products."""
        self.touched[array][index] |= True if mask is None else mask.any(2)

    def commit(self, mask: Mask) -> None:
        """Some warpgroups close a group."""
        self.pending.commit(mask)

    def wait(self, m: Blocks, newest: int, mask: Mask) -> None:
        """Some warpgroups wait for all their groups but the newest; who waits for all has the accumulators back."""
        for product, arrived in self.pending.wait(newest, mask):
            who = self._groups(arrived)
            self._make(m, product, who & product.left)
            for index in product.indices:
                self.running[product.array][index] -= who
        if not newest:
            self._hand_back(m, self._groups(mask))

    def _hand_back(self, m: Blocks, who: np.ndarray) -> None:
        """Some warpgroups' accumulators are their threads', those on which no product runs."""
        for array, held in self.held.items():
            for index in zip(*np.nonzero(held.any((-2, -1))), strict=True):
                back = who & held[index] & (self.running[array][index] == 0)
                if not self.times.eager:
                    registers, sums = (x[array][:, : self.groups * WARPS, :, *index] for x in (m.registers, self.sums))
                    np.copyto(registers, sums, where=_threads(back)[..., None])
                held[index] &= ~back

    def tick(self, m: Blocks) -> None:
        """An operation is about to be taken: what is due is done."""
        for one in self.pending.issued:
            product = one.what
            if product.due is not None and (now := product.left & (product.due <= self.times.clock)).any():
                self._make(m, product, now)

    def end(self) -> None:
        """The blocks end.

        Raises
        ------
        LeftBehind : before all products were waited for.
        """
        if self.pending.issued:
            op = self.pending.issued[0].what.op
            raise LeftBehind(f"a block ends while products run: {' '.join(('Wgmma', op.statement))}",
                             hint="a wait for all of them stands before the end")  # fmt: skip

    def _groups(self, mask: Mask) -> np.ndarray:
        """Which warpgroups take part, [block, warpgroup]; each is whole or not there at all."""
        if mask is None:
            return np.ones((self.shape[0], self.groups), bool)
        return np.asarray(mask[:, : self.groups * WARPS : WARPS, 0])

    def _adds(self, m: Blocks, op: Wgmma, who: np.ndarray) -> np.ndarray:
        """Which warpgroups' products are added to their accumulators, [block, warpgroup]."""
        warps = self.groups * WARPS
        holds = np.ones((self.shape[0], warps, LANES), bool)
        for e in op.adds:
            holds &= np.broadcast_to(np.asarray(e.evaluate(m.values)) >= 0, self.shape)[:, :warps]
        holds = holds.reshape(self.shape[0], self.groups, WARPS * LANES)
        if (who & (holds != holds[..., :1]).any(-1)).any():
            raise Diverged(f"Wgmma {op.statement}: the threads of a warpgroup differ in whether accumulators count")
        return np.asarray(holds[..., 0])

    def _start(self, m: Blocks, op: Wgmma, x: SharedOperand, who: np.ndarray) -> np.ndarray:
        """The chunk of the blocks' shared memory at which a descriptor starts, [block, warpgroup]."""
        tile = m.ir.tile(x.tile)
        buffer, start = (np.broadcast_to(e.evaluate(m.values), self.shape) for e in (x.buffer, x.start))
        first = (tile.start + buffer * tile.chunks + start)[:, : self.groups * WARPS]
        first = first.reshape(self.shape[0], self.groups, WARPS * LANES)
        apart = who & (first != first[..., :1]).any(-1)
        if apart.any():
            raise Diverged(f"Wgmma {op.statement}: the threads of a warpgroup name several places of {x.tile}")
        outside = (buffer < 0) | (buffer >= tile.buffers)
        outside = outside[:, : self.groups * WARPS].reshape(first.shape).any(-1) & who
        last, first = int(_reads(x.descriptor, *_side(op, x)).max()), first[..., 0]
        outside |= who & ((first < 0) | (first + last >= m.memory.shape[1]))
        if outside.any():
            raise OutOfBounds(f"Wgmma {op.statement}: a descriptor of {x.tile} leaves shared memory, or its "
                              f"{tile.buffers} buffers", where=f"block {m.block(_threads(outside))}")  # fmt: skip
        return np.where(who, first, 0)

    def _make(self, m: Blocks, one: _Product, who: np.ndarray) -> None:
        """A product is done, of some warpgroups."""
        one.left = one.left & ~who
        block, group = np.nonzero(who)
        if not len(block):
            return
        op = one.op
        sides = {letter: _operand(m, self.proxies.writer, op, x, block, one.starts[letter][block, group])
                 for letter, x in op.shared}  # fmt: skip
        if one.a is not None:
            sides["a"] = _fragments(m, op, one.a, block, group)
        product = (sides["a"] @ sides["b"].swapaxes(1, 2)).astype(np.float32)  # of [warpgroup, 64, k] and [..., n, k]
        row, col = _owned(op.macro)
        added = product[:, row, col].reshape(len(block), WARPS, LANES, -1)
        added[one.spoiled[block, group]] = POISON["float"]
        warp = WARPS * group[:, None] + np.arange(WARPS)
        arrays = m.registers if self.times.eager else self.sums
        parts = np.split(added, len(one.indices), axis=-1)
        adds = one.adds[block, group][:, None, None, None]
        for index, part in zip(one.indices, parts, strict=True):
            sums, at = arrays[one.array][:, :, :, *index], (block[:, None], warp)
            sums[at] = np.where(adds, sums[at] + part, part)


def _threads(who: np.ndarray) -> np.ndarray:
    """[block, warpgroup] for each thread of theirs: [block, warp, lane]."""
    return np.repeat(np.repeat(who, WARPS, 1)[..., None], LANES, 2)


def _side(op: Wgmma, x: SharedOperand) -> tuple[int, int]:
    """An operand's extents, that of k last."""
    m, n, k = op.macro.shape
    return (m if x is op.a else n), k


@lru_cache(maxsize=256)
def _reads(d: Descriptor, mn: int, k: int) -> np.ndarray:
    """[r, k]: chunks from the start on, before the swizzle."""
    (chunk,) = apply(d.reads(mn, k), np.arange(mn)[:, None], np.arange(k))
    return np.asarray(np.broadcast_to(chunk, (mn, k)))


@lru_cache(maxsize=256)
def _different(d: Descriptor, mn: int, k: int) -> np.ndarray:
    """The same without what values of one chunk have in common, [chunk]."""
    return np.unique(_reads(d, mn, k))


def chunks_read(d: Descriptor, mn: int, k: int, start: np.ndarray, memory: int) -> np.ndarray:
    """What operands that start at some chunks have in a shared memory of so many chunks: [operand, chunk]."""
    return np.asarray(swizzled(d.swizzle, memory)[start[:, None] + _different(d, mn, k)] % memory)


def _operand(
    m: Blocks, writer: np.ndarray, op: Wgmma, x: SharedOperand, block: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """An operand as tensor cores read it now, [warpgroup, r, k] in fp64."""
    mn, k = _side(op, x)
    d = x.descriptor
    chunk = swizzled(d.swizzle, m.memory.shape[1])[start[:, None, None] + _reads(d, mn, k)] % m.memory.shape[1]
    value = (np.arange(k) if d.major == "k" else np.arange(mn)[:, None]) % CHUNK
    at = block[:, None, None], chunk, np.broadcast_to(value, (mn, k))
    bits = m.memory.view(np.uint16)[at]
    bits[writer[at] != NOBODY] = m.poison
    return np.asarray(widened(bits.view(m.memory.dtype)).astype(np.float64))


def _fragments(m: Blocks, op: Wgmma, index: Index, block: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A left operand as the warpgroups' registers have it now, [warpgroup, r, k] in fp64."""
    assert isinstance(op.a, Element)
    rows, _, depth = op.macro.shape
    (_, threads), (_, values) = op.macro.a.inputs  # type: ignore[union-attr]
    row, k = (np.broadcast_to(x, (threads, values))
              for x in apply(op.macro.a, np.arange(threads)[:, None], np.arange(values)))  # type: ignore[arg-type]
    warp = WARPS * group[:, None] + np.arange(WARPS)
    held = widened(m.registers[op.a.array][:, :, :, *index][block[:, None], warp])
    out = np.empty((len(block), rows, depth))
    out[:, row, k] = held.reshape(len(block), threads, values)
    return out


@lru_cache(maxsize=64)
def _owned(macro: MacroMma) -> tuple[np.ndarray, np.ndarray]:
    """[thread of a warpgroup, value]: row and column of the product."""
    (_, threads), (_, values) = macro.d.inputs
    row, col = apply(macro.d, np.arange(threads)[:, None], np.arange(values))
    row, col = (np.broadcast_to(x, (threads, values)) for x in (row, col))
    return row, col
