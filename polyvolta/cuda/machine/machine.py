"""A batch of thread blocks in lockstep: their memories, their names, and control.

Values of the IR's expressions are numbers, where all threads agree, or arrays that broadcast to [block, warp,
lane]. A mask says which threads take part; it comes from the conditions around an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.engines.unfolded import PART, Unfolded
from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, LANES, KernelIR
from polyvolta.cuda.ir.walk import IrPath, inner
from polyvolta.cuda.machine.asynchrony.units import Units, needed
from polyvolta.cuda.machine.copies import Arrival, Copies
from polyvolta.cuda.machine.errors import Diverged, EarlyAccess, NotAChunk, OutOfBounds
from polyvolta.cuda.machine.memories import POISON as POISON
from polyvolta.cuda.machine.memories import Memory
from polyvolta.cuda.machine.reach import Index, Mask, Reaches
from polyvolta.cuda.machine.strands import Meeting, Strand, Wait, Weaver, crews, weave
from polyvolta.cuda.machine.turns.tiles import AXES, turns
from polyvolta.sets import Aff, PolyvoltaError

Hook = Callable[["Machine", kir.Op, Mapping[str, Any]], None]
Effect = Callable[["Machine", Any, Mask], Reaches]  # moves data, says where in memory
Faults = Callable[["Machine", PolyvoltaError, np.ndarray | None], bool]
"""Called with what is wrong and which threads [block, warp, lane] it is, None for all that take part; says whether it
took note of it. Else the error is raised."""


@dataclass(frozen=True, slots=True)
class Step:
    """An operation that a batch of blocks has taken.

    Parameters
    ----------
    path : where in the kernel's body it stands; see `ir_walk`.
    op : the operation.
    mask : which threads [block, warp, lane] took part, None: all.
    reach : where in memory, without the threads that were refused: one for each access that is not to registers; ()
        for what touches registers alone, or was refused as a whole.
    role : whose step it is, "" where there are no roles: a role, or a warpgroup of one with its number.
    """

    path: IrPath
    op: kir.Op
    mask: Mask
    reach: Reaches = ()
    role: str = ""


class Machine:
    """A batch of thread blocks in lockstep: their memories, their names, and the program's effect on them.

    Attributes
    ----------
    ir : the kernel.
    blocks : [3, block]: blockIdx.x, .y, .z of each block of the batch.
    unfolded : whose blocks these are, if they are clusters of another kernel's.
    launched : of a kernel whose blocks have several tiles, how many blocks there are; 0: each block of the batch has
        its place alone, as its first tile.
    shape : (blocks, warps, 32).
    tensors : name -> `Memory`, of the caller's arrays.
    memory : the blocks' shared memory, [block, chunk, 8] of the kernel's kind.
    shared : tile -> [block, chunk, 8], its part of `memory`, all buffers: a view.
    registers : array -> [block, warp, lane, *shape, width] of fp16 ("half"), fp32 ("float"), or bit patterns of
        bf16 in uint16 ("bfloat16").
    values : name -> a number (sizes, scalars, loop variables) or an array broadcastable to `shape`.
    path : of the statement that is being executed.
    copies : the asynchronous copies that are on their way.
    routes : what `access` keeps of the operations that were reached, by their identity and the array asked for.
    units : what works beside the threads; None where the kernel has nothing of the kind, or nothing is computed.
    behind : [block, warp, lane]: who has waited for the grids before; None where the kernel starts behind them anyway.
    strand : the threads whose turn it is, where they go at different paces; see `strands`.
    """

    computes: ClassVar[bool] = True

    def __init__(
        self,
        ir: KernelIR,
        tensors: Mapping[str, Memory],
        values: Mapping[str, Any],
        blocks: np.ndarray,
        effects: Mapping[type, Effect],
        hook: Hook | None = None,
        faults: Faults | None = None,
        arrival: Arrival = "lazy",
        launched: int = 0,
        unfolded: Unfolded | None = None,
    ) -> None:
        self.launched, self.unfolded = launched, unfolded or Unfolded(ir, ir, {})
        self.ir, self.tensors, self.blocks, self.effects, self.hook, self.faults = (
            ir, tensors, blocks, effects, hook, faults,
        )  # fmt: skip
        self.path: IrPath = ()
        self.routes: dict[tuple[int, str], Any] = {}
        self._accesses: dict[int, tuple[kir.Access, ...]] = {}
        self.shape: tuple[int, int, int] = (blocks.shape[1], ir.warps, LANES)
        self.behind = np.zeros(self.shape, bool) if ir.dependent else None
        first = tuple(int(x) for x in blocks[:, 0])
        self.weaver = Weaver(arrival, first)
        self.strand: Strand[Any] | None = None
        self.poison = POISON[ir.kind].view(np.uint16)  # the bits of what nobody wrote in shared memory
        self.memory = np.full((self.shape[0], ir.shared_bytes // CHUNK_BYTES, CHUNK), POISON[ir.kind])
        self.shared = {t.name: self.memory[:, t.start : t.start + t.buffers * t.chunks] for t in ir.tiles}
        self.units = None
        if self.computes and needed(ir):
            self.units = Units(ir, self.shape, self.memory.shape[1], arrival, first)
        self.copies = Copies(self.shape, arrival, first, self.units.proxies.wrote if self.units else None)
        self.registers: dict[str, np.ndarray] = {}
        for r in ir.registers:  # in memory, an element of all threads is contiguous; the axes are as documented
            array = np.full((*r.shape, *self.shape, r.width), POISON[r.kind])
            self.registers[r.name] = np.moveaxis(array, (-4, -3, -2), (0, 1, 2))
        self.values = names(ir, values, blocks)
        for name, _ in ir.derived:
            self._in_range(name, self.values[name])

    def run(self) -> None:
        """Execute the whole program, once."""
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[Step]:
        """Execute the program, once, operation by operation: each step is given out when it has been taken."""
        program = self._body(self.ir.body, None, ())
        if self.units is None:
            yield from program  # type: ignore[misc]
            return
        yield from weave(self, [Strand("", "", None, self.values, program)], self._hasten)
        self.units.end()

    # ---- control

    def _body(self, body: tuple[kir.Stmt, ...], mask: Mask, at: IrPath, first: int = 0) -> Iterator[Step | Wait]:
        for k, s in enumerate(body, first):
            self.path = (*at, k)
            if isinstance(s, kir.Loop):
                yield from self._loop(s, mask, (*at, k))
            elif isinstance(s, kir.When):
                holds = reduce(np.logical_and, (x >= 0 for x in self.at(s.conditions)), True)
                if s.uniform:
                    holds = self._uniform(holds, f"a condition marked uniform, all of {s.conditions} >= 0,")
                yield from self._guarded(s.body, mask, holds, (*at, k))
                if s.orelse:
                    yield from self._guarded(s.orelse, mask, np.logical_not(holds), (*at, k), len(s.body))
            elif isinstance(s, kir.Roles):
                yield from self._roles(s, mask, (*at, k), body[k + 1 - first :])
                return
            elif isinstance(s, kir.Tiles):
                yield from self._tiles(s, mask, (*at, k))
            else:
                if (self.strand is not None) and (wait := self._wait(s, mask)) is not None:
                    while not wait.over(self):
                        yield wait
                with np.errstate(all="ignore"):  # values may overflow, divide by zero and be NaN, as on a GPU
                    reach = self._effect(s, mask)
                if self.hook is not None:
                    self.hook(self, s, self.values)
                yield Step((*at, k), s, mask, reach, "" if self.strand is None else self.strand.name)

    def _roles(self, s: kir.Roles, mask: Mask, at: IrPath, behind: tuple[kir.Stmt, ...]) -> Iterator[Step | Wait]:
        """Each role's warps run its body and then what stands behind, the warps without a role that alone; loop
        variables are their own."""
        strands, warps = [], self.unfolded.warps
        bodies: dict[str, tuple[tuple[kir.Stmt, ...], int]] = {}  # of each role, and where its numbers begin
        for role in s.roles:
            bodies[role.name] = role.body, sum(len(body) for body, _ in bodies.values())
        for name, of, start, count in crews(s, self.shape[1], warps, self.unfolded.of.warps if behind else 0):
            own = np.zeros(self.shape, bool)
            own[:, start : start + count] = True if mask is None else mask[:, start : start + count]
            body, first = bodies.get(of, ((), 0))
            if own.any():
                steps = chain(self._body(body, own, at, first), self._body(behind, own, at[:-1], at[-1] + 1))
                strands.append(Strand(name, of, own, dict(self.values), steps, block=start // warps))
        yield from weave(self, strands, self._hasten)

    def _hasten(self) -> bool:
        return self.units is not None and self.units.engine.hasten(self)

    def _wait(self, op: kir.Op, mask: Mask) -> Wait | None:
        """What the threads at hand wait for before they take an operation."""
        strand = self.strand
        if strand is not None and strand.role and op.together in ("role", "block", PART):
            others = strand.met(op.together)
            strand.meetings[op.together] += 1
            every = 1 if op.together == PART else self.shape[1] // self.unfolded.warps
            threads = every * self.unfolded.of.warps * LANES
            whole = op.together == "role" or bool(sum(s.threads[0].sum() for s in others) == threads)
            alone = self.unfolded.ir is self.unfolded.of
            words = {PART: "block", "block": "block" if alone else "cluster"}.get(op.together, op.together)
            return Meeting(op.together, strand.meetings[op.together], others, whole, words)
        return None if self.units is None else self.units.wait(self, op, mask)

    def _effect(self, op: kir.Op, mask: Mask) -> Reaches:
        try:
            self._come_together(op, mask)
            if self.behind is not None:
                self._in_time(op, mask)
            if self.copies.pending.issued:
                self.copies.tick(self)
            if self.units is not None:
                self.units.tick(self)
            reach = self.effects[type(op)](self, op, mask)
            if self.units is not None:
                self.units.took(self, op, mask, reach)
            if op.commits:
                self.copies.commit(mask)
            if op.awaits is not None:
                self.copies.wait(self, op.awaits, mask)
            return reach
        except (OutOfBounds, Diverged, NotAChunk) as wrong:  # none of the threads can take part
            self.refuse(wrong, mask)
            return ()

    def _loop(self, loop: kir.Loop, mask: Mask, at: IrPath) -> Iterator[Step | Wait]:
        lower = self._uniform(reduce(np.maximum, self.at(loop.lower)), f"a lower bound of loop {loop.var}")
        upper = self._uniform(reduce(np.minimum, self.at(loop.upper)), f"an upper bound of loop {loop.var}")
        for trip in range(int(np.max((upper - lower) // loop.step)) + 1):
            self.values[loop.var] = lower + trip * loop.step
            holds = self.values[loop.var] <= upper
            self._in_range(loop.var, self.values[loop.var], holds)
            yield from self._guarded(loop.body, mask, holds, at)
        self.values.pop(loop.var, None)

    def _tiles(self, s: kir.Tiles, mask: Mask, at: IrPath) -> Iterator[Step | Wait]:
        """The tiles of all blocks, one after the other; names of the tile have its values within."""
        outer = dict(self.values)
        for found, has in turns(s, self.ir, outer, self.blocks, self.launched):
            self.values.update(found)
            for name in (s.turn, *(n for n, _ in s.counters)):
                self._in_range(name, found[name])
            yield from self._guarded(s.body, mask, has, at)
        for name in (*AXES, s.turn, *(n for n, _ in s.counters)):
            self.values.pop(name, None)
        self.values.update({name: outer[name] for name in AXES})

    def _guarded(
        self, body: tuple[kir.Stmt, ...], mask: Mask, holds: Any, at: IrPath, first: int = 0
    ) -> Iterator[Step | Wait]:
        """A body, for the threads where the condition holds too."""
        if np.all(holds):
            yield from self._body(body, mask, at, first)
        elif np.any(holds):
            both = np.broadcast_to(holds if mask is None else holds & mask, self.shape)
            if both.any():
                yield from self._body(body, both, at, first)

    def _in_range(self, name: str, value: Any, where: Any = True) -> None:
        """Refuse a name's value outside of what the kernel's `ranges` promise to its other readers."""
        low, high = self.ir.ranges.get(name, (None, None))
        bad = (low is not None and value < low) | (high is not None and value > high)
        if np.any(bad & where):
            text = f"{name} takes the values {np.unique(value)[:4].tolist()}, not in its range {low} .. {high}"
            self.refuse(OutOfBounds(text), np.broadcast_to(bad & where, self.shape))

    def _uniform(self, value: Any, what: str) -> Any:
        """A value as one number where all blocks agree, else [block, 1, 1]; the threads of a block must."""
        if np.ndim(value) == 0:
            return value if isinstance(value, int) else value.item()
        per_block = value[:, :1, :1]
        differ = np.broadcast_to(value != per_block, self.shape)
        if differ.any():
            text = f"{what} differs between the threads of block {self.block(differ)}"
            self.refuse(Diverged(text), np.broadcast_to(differ.any((1, 2), keepdims=True), self.shape))
            return value
        return per_block if (per_block != per_block[0]).any() else per_block.flat[0].item()

    def _come_together(self, op: kir.Op, mask: Mask) -> None:
        """Refuse an operation that only some threads of those take part in who must together."""
        strand = self.strand
        if op.together == "warpgroup":
            split = _split_warpgroups(np.ones(self.shape, bool) if mask is None else mask)
            self._split(op, split, "a warpgroup")
        elif mask is None or op.together == "thread":
            return
        elif op.together == PART and (strand is None or not strand.role):
            self._split(op, self._missing(mask), _THREADS[1])
        elif op.together != "warp" and strand is not None and strand.role:
            self._split(op, mask.any((1, 2), keepdims=True) & strand.threads & ~mask, f"the threads of {strand.name}")
        else:
            self.whole(op, mask, *_TOGETHER[op.together])

    def _in_time(self, op: kir.Op, mask: Mask) -> None:
        """Refuse an access to global memory by threads that haven't waited for the grids before."""
        assert self.behind is not None
        if isinstance(op, kir.AwaitGrids):
            self.behind |= True if mask is None else mask
        elif not self.behind.all() and (touched := [a.array for a in self.accesses(op) if a.space == "global"]):
            early = ~self.behind if mask is None else mask & ~self.behind
            if early.any():
                what = f"{title(op)}: block {self.block(early)} reaches {touched[0]}, and grids before may still run"
                self.refuse(EarlyAccess(what, hint="threads wait for these first (AwaitGrids)"), early)

    def whole(self, op: kir.Op, mask: np.ndarray, axes: tuple[int, ...], group: str) -> None:
        """Refuse an operation that only some threads of a warp, or of a block, take part in."""
        self._split(op, mask.any(axes, keepdims=True) & ~mask, group)

    def _missing(self, mask: np.ndarray) -> np.ndarray:
        """Of blocks of a cluster of which some threads take part the others."""
        own = mask.reshape(self.shape[0], -1, self.unfolded.warps, LANES)
        missing = own.any((2, 3), keepdims=True) & ~own
        missing[:, :, self.unfolded.of.warps :] = False  # no threads of any block
        return np.asarray(missing.reshape(self.shape))

    def _split(self, op: kir.Op, split: np.ndarray, group: str) -> None:
        """Refuse an operation that some threads miss, if any do."""
        if split.any():
            self.refuse(Diverged(f"{title(op)}: only part of {group} of block {self.block(split)} takes part"), split)

    def refuse(self, wrong: PolyvoltaError, threads: np.ndarray | None) -> None:
        """Raise an error, unless somebody takes note of it; it is about `threads` [block, warp, lane]."""
        if self.faults is None or not self.faults(self, wrong, threads):
            raise wrong

    def block(self, where: np.ndarray) -> tuple[int, ...]:
        """blockIdx of the first block of which a thread [block, warp, lane] is marked."""
        block, warp, _ = (int(n) for n in np.argwhere(where)[0])
        return self.who(block, warp * LANES)[0]

    def who(self, block: int, thread: int) -> tuple[tuple[int, int, int], int]:
        """blockIdx and linearId of a thread, by its block's number in the batch and by its own number there."""
        x, y, z = (int(n) for n in self.blocks[:, block])
        place, warp = self.unfolded.block((x, y, z), int(thread) // LANES)
        assert warp is not None
        return place, warp * LANES + int(thread) % LANES

    # ---- places

    def accesses(self, op: kir.Op) -> tuple[kir.Access, ...]:
        """What an operation of the kernel touches; asked for once."""
        found = self._accesses.get(id(op))
        if found is None:
            found = self._accesses[id(op)] = op.accesses(self.ir)
        return found

    def loops(self, block: int = 0, warp: int = 0) -> dict[str, int]:
        """The variables of the loops around the statement at hand, outermost first, in one warp of one block; and the
        number of its tile, of a block that has several."""
        found: dict[str, int] = {}
        body = self.ir.body
        for number in self.path:
            s = body[number]
            if isinstance(s, kir.Loop):
                found[s.var] = int(np.broadcast_to(self.values[s.var], self.shape)[block, warp, 0])
            elif isinstance(s, kir.Tiles):
                found[s.turn] = int(self.values[s.turn])
            body = inner(s)
        return found

    def at(self, index: tuple[Aff, ...]) -> Index:
        """Expressions at the names' present values."""
        return tuple([e.evaluate(self.values) for e in index])

    def number(self, e: Aff, what: str) -> int:
        """An expression on which all threads agree."""
        value: Any = e.evaluate(self.values)
        if np.ndim(value) and np.ptp(value):
            raise Diverged(f"{what} differs between threads: {e}")
        return int(np.max(value))

    def element(self, e: kir.Element) -> np.ndarray:
        """The values of a register element in every thread, [block, warp, lane, width]: a view."""
        return self.registers[e.array][(slice(None), slice(None), slice(None), *self.index(e.array, e.index))]

    def index(self, name: str, index: tuple[Aff, ...]) -> tuple[int, ...]:
        """Which element of a register array, on which all threads agree."""
        numbers = [self.number(x, f"an index of register array {name}") for x in index]
        extents = list(self.registers[name].shape[3:-1])
        if any(not 0 <= i < n for i, n in zip(numbers, extents, strict=True)):
            raise OutOfBounds(f"register {name}{numbers} is outside of {name}{extents}")
        return tuple(numbers)


_LANES, _THREADS = ((2,), "the lanes of a warp"), ((1, 2), "the threads")
_TOGETHER = {"warp": _LANES, **dict.fromkeys(("role", "block", "cluster"), _THREADS)}
"""Of operations that some threads take together: the axes of a mask, and who they are in words."""


def _split_warpgroups(mask: np.ndarray) -> np.ndarray:
    """The threads of those warpgroups of which only some take part, or that the block has in part."""
    blocks, warps, lanes = mask.shape
    groups = -(-warps // WARPS)
    padded = np.zeros((blocks, groups * WARPS, lanes), bool)
    padded[:, :warps] = mask
    padded = padded.reshape(blocks, groups, -1)
    split = padded.any(-1) & ~padded.all(-1)
    return np.broadcast_to(np.repeat(split, WARPS, 1)[:, :warps, None], mask.shape)


def names(ir: KernelIR, values: Mapping[str, Any], blocks: np.ndarray) -> dict[str, Any]:
    """The names' values at the start of a program; `values` of sizes and scalars, `blocks` as of a `Machine`."""
    out: dict[str, Any] = dict(values)
    for axis, numbers in zip("xyz", blocks, strict=True):
        out[f"blockIdx.{axis}"] = numbers[:, None, None]
    out["linearId"] = np.arange(ir.threads).reshape(1, -1, LANES)
    for name, e in ir.derived:
        out[name] = e.evaluate(out)
    return out


def title(op: kir.Op) -> str:
    """How messages name an operation."""
    return f"{type(op).__name__} {op.statement}".rstrip()
