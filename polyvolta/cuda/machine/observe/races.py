"""Races: two accesses to one address, one of which writes, with nothing to order them; and copies without a wait.

Of a kernel whose threads alone reach shared memory `cuda.shadow` keeps who wrote and who read each place since the last
barrier. Where copy engines and tensor cores do, phases, groups and fences order accesses, too: `order.parties` follows
what each thread knows to be over. Between blocks there is no barrier at all, so in global memory every element of an
output is one thread's to write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.ir.engines.unfolded import OF_BLOCK
from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, BoxCopy, BoxStore, KernelIR, Roles, Wgmma
from polyvolta.cuda.ir.walk import IrPath, inner, walk
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.observer import Finding, Observer, byte_text, short, times
from polyvolta.cuda.machine.observe.order.accumulators import NOT_READY, REGISTERS, RUNNING
from polyvolta.cuda.machine.observe.order.barriers import Order, SinceBarriers
from polyvolta.cuda.machine.observe.order.parties import BetweenParties, past_threads
from polyvolta.cuda.machine.observe.order.records import UNFENCED
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.machine.reach import EngineReach, GlobalReach, Reach
from polyvolta.cuda.machine.shadow import (
    NO_WAIT,
    READ_AFTER_WRITE,
    READ_BEFORE_ARRIVAL,
    WRITE_AFTER_READ,
    WRITE_BEFORE_ARRIVAL,
    Conflicts,
)
from polyvolta.cuda.machine.strands import parts_of
from polyvolta.cuda.text.places import Place, Places
from polyvolta.sets import PolyvoltaError

VERBS = {
    READ_AFTER_WRITE: ("reads", "wrote"), WRITE_AFTER_READ: ("writes", "read"),
    READ_BEFORE_ARRIVAL: ("reads", "copied to"), WRITE_BEFORE_ARRIVAL: ("writes", "copied to"),
    NO_WAIT: ("ends", "copied to"),
}  # fmt: skip
ENGINES = {BoxCopy: "has a box copied to", BoxStore: "has a box stored from", Wgmma: "multiplies"}
"""What threads have done past the threads, in words."""
BARRIER, ORDERED = "a barrier", "a barrier, a phase or a wait"
FEW = 4096  # operations that are remembered, for races with copies that were issued long ago


@dataclass(frozen=True, slots=True)
class Race:
    """Accesses of two places that collide.

    Parameters
    ----------
    kind : "read after write", "write after read" or "write after write", in the order in which they came here; "read
        before arrival" or "write before arrival", of an asynchronous copy that its thread hadn't waited for, or of a
        box whose phase it hadn't; "copy without a wait"; "unfenced", of what a thread wrote and an engine may not see;
        "product still running" and "registers not ready", of accumulators.
    array : what the later access reaches: a tile, or a tensor; of accumulators the element.
    count : how many pairs of accesses, each to a piece of memory.
    place, other : of the later access and of the earlier one.
    address : of the first pair, in words: a byte of the block's shared memory, or an element of the tensor.
    block, thread : blockIdx and linearId of the later access of the first pair.
    other_block, other_thread : and of the earlier one.
    byte : of a block's shared memory, that of `address`; None in a tensor, and of registers.
    between : the operations of the blocks from the earlier access of the first pair to the later one, both included; a
        single one where both are the same operation; () for accesses of two blocks, and where a barrier was between
        that orders them.
    role, other_role : the roles of the two threads, with the numbers of their warpgroups; "" where there are no roles.
    """

    kind: str
    array: str
    count: int
    place: Place
    other: Place
    address: str
    block: tuple[int, int, int]
    thread: int
    other_block: tuple[int, int, int]
    other_thread: int
    byte: int | None = None
    between: tuple[Place, ...] = ()
    role: str = ""
    other_role: str = ""

    @property
    def unordered(self) -> bool:
        """Whether nothing orders the two; else a tensor's element is written twice, with a barrier between."""
        return self.byte is not None or self.block != self.other_block or bool(self.between)

    @property
    def what(self) -> str:
        """The race in words."""
        if self.past_threads:
            return f"{self.kind}: {self._between_parties}; block {self.block}; {times(self.count, 'such pair')}"
        now, before = VERBS.get(self.kind, ("writes", "wrote"))
        warp, lane = divmod(self.thread, LANES)
        other_warp, other_lane = divmod(self.other_thread, LANES)
        if self.kind == NO_WAIT:
            return (
                f"{self.kind}: lane {lane} of warp {warp} copies to {self.address} and never waits for it; "
                f"block {self.block}; {times(self.count, 'such piece')}"
            )
        elsewhere = f" of block {self.other_block}" if self.other_block != self.block else ""
        apart = "with no barrier between" if self.unordered else "though each element is one thread's to write"
        if self.kind in (READ_BEFORE_ARRIVAL, WRITE_BEFORE_ARRIVAL):
            apart = "and has not waited for it"
        return (
            f"{self.kind}: lane {lane} of warp {warp} {now} {self.address}, which lane {other_lane} of warp "
            f"{other_warp}{elsewhere} {before}, {apart}; block {self.block}; "
            f"{times(self.count, 'such pair')}"
        )

    @property
    def past_threads(self) -> bool:
        """Whether not only barriers order such accesses: the threads have roles, or engines reach the place."""
        return bool(self.role or self.other_role) or self._engines != (None, None)

    @property
    def verbs(self) -> tuple[str, str]:
        """What the two do at the address, in words, as something that is going on."""
        kinds = {READ_AFTER_WRITE: ("reads", "writes"), READ_BEFORE_ARRIVAL: ("reads", "writes"),
                 WRITE_AFTER_READ: ("writes", "reads"), RUNNING: ("touches", "touches"),
                 NOT_READY: ("touches", "touches")}  # fmt: skip
        plain = kinds.get(self.kind, ("writes", "writes"))
        return tuple(e or p for e, p in zip(self._engines, plain, strict=True))  # type: ignore[return-value]

    @property
    def who(self) -> tuple[str, str]:
        """The two in words: a thread, or the warpgroup that multiplies."""
        return _who(self.role, self.thread, self.place), _who(self.other_role, self.other_thread, self.other)

    @property
    def _engines(self) -> tuple[str | None, str | None]:
        return ENGINES.get(type(self.place.stmt)), ENGINES.get(type(self.other.stmt))

    @property
    def _between_parties(self) -> str:
        """The race in words, where phases, groups and fences order what barriers don't."""
        (mine, its), (who, other) = self.verbs, self.who
        other = other if self.other_block == self.block else f"{other} of block {self.other_block}"
        if self.kind == NO_WAIT:
            return f"{who} {mine} {self.address}, and nobody waits for it"
        if self.kind == UNFENCED:
            return f"{who} {mine} {self.address}, which {other} has written, and no fence of that thread is between"
        if self.kind == RUNNING:
            return f"{who} {mine} {self.address}, and {other} {its} with it and has not waited for that"
        if self.kind == NOT_READY and self.place == self.other:
            return f"{who} {mine} with {self.address}, and no fence of registers came before"
        if self.kind == NOT_READY:
            return f"{who} {mine} with {self.address}, and no fence of registers came after {other} touched it"
        if self.byte is None:
            return f"{who} {mine} {self.address}, which {other} has written"
        return f"{who} {mine} {self.address}, and nothing says that what {other} {its} there is over"


def _who(role: str, thread: int, place: Place) -> str:
    warp, lane = divmod(thread, LANES)
    if isinstance(place.stmt, Wgmma):  # all of its threads together
        return role or f"warpgroup {warp // WARPS}"
    return f"{role}, warp {warp}, lane {lane}" if role else f"lane {lane} of warp {warp}"


@dataclass(frozen=True, slots=True, repr=False)
class Races(Shown):
    """The races, by their two places; and what is between accesses that don't race."""

    rows: tuple[Race, ...]
    by: str = BARRIER

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(Finding("races", r.what, (r.place, r.other), r.count) for r in self.rows)

    @property
    def tables(self) -> tuple[Table, ...]:
        columns = ("line", "after line", "race", "where", ">warp.lane", ">after", ">pairs")
        rows = tuple(
            (short(r.place), short(r.other), r.kind, r.address, "{}.{}".format(*divmod(r.thread, LANES)),
             "{}.{}".format(*divmod(r.other_thread, LANES)), f"{r.count:,}")
            for r in self.rows
        )  # fmt: skip
        note = "" if rows else f"Whenever two threads reach one address and one of them writes, {self.by} is between."
        title = "races: no barrier between" if self.by == BARRIER else "races: nothing orders the two"
        return (Table(title, columns, rows, note),)


@dataclass(frozen=True, slots=True)
class _Who:
    """A thread: blockIdx, linearId, and its role, with the rank of its block in a cluster."""

    block: tuple[int, int, int]
    thread: int
    role: str

    @property
    def name(self) -> str:
        """Its role alone."""
        return self.role.partition(OF_BLOCK)[0]

    @property
    def rank(self) -> int:
        return int(self.role.partition(OF_BLOCK)[2] or 0)


@dataclass
class _Tally:
    count: int
    address: str
    mine: _Who
    other: _Who
    byte: int | None = None
    between: tuple[IrPath, ...] = ()


class RaceObserver(Observer):
    """Keeps who touched what, and what orders that."""

    name = "races"
    order: Order

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.parties = past_threads(ir)
        self.paths = [path for path, _ in walk(ir.body)]
        self.numbers = {path: n for n, path in enumerate(self.paths)}
        self.tallies: dict[tuple[str, str, IrPath, IrPath], _Tally] = {}
        self.written: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # tensor -> thread of the grid, place; -1: nobody
        self.blocks: list[np.ndarray] = []  # of each batch, [3, block]
        self.before = 0  # blocks in earlier batches
        self.since: list[tuple[IrPath, int | None]] = []  # operations since the last barrier of whole blocks, by rank
        self.past: deque[tuple[IrPath, int | None]] = deque(maxlen=FEW)  # those before and after it

    def start(self, m: Machine) -> None:
        self.before = sum(b.shape[1] for b in self.blocks)
        self.blocks.append(m.blocks)
        self.since = []
        self.past.clear()
        self.roles = roles_of(m.ir)
        self.order = (BetweenParties if self.parties else SinceBarriers)(m.ir, m.shape[0], self.numbers)

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        taken = step.path, _rank(m, step)
        self.since.append(taken)
        self.past.append(taken)
        if step.op.orders == "block" and step.mask is None:
            self.since = []
        for at in step.reach:
            if at.access.space == "global" and at.access.writes:
                self._stored(m, step, at.access.array, *self._elements(m, at))
        for array, found in self.order.step(m, step, accesses):
            self._found(m, m.unfolded.array(array)[0], step.path, found)

    def end(self, m: Machine) -> None:
        for found in self.order.end(m):
            path = self.paths[found.place]
            op: Any = dict(walk(self.ir.body))[path]
            arrays = {a.array for a in op.accesses(self.ir) if a.space == "shared"}
            chunk = m.unfolded.byte(int(found.slot[0]) * self.order.slot)[1] // CHUNK_BYTES
            within = [t.name for t in self.ir.tiles if t.start <= chunk < t.start + t.buffers * t.chunks]
            self._found(m, next((n for n in within if n in arrays), min(arrays)), path, found)

    def ended(self, m: Machine, wrong: PolyvoltaError) -> bool:
        return bool(self.tallies)  # races say what is wrong before anybody waits for ever

    def _found(self, m: Machine, array: str, path: IrPath, found: Conflicts) -> None:
        """Conflicts of an operation, by the places with which it collides."""
        for place in np.unique(found.other_place):
            some = found.other_place == place
            first = int(np.argmax(some))
            block, slot = int(found.block[first]), int(found.slot[first])
            mine, other = (self._who(m, block, int(x[first])) for x in (found.thread, found.other_thread))
            registers, name = found.kind in REGISTERS, array.split("[")[0]
            byte, address = byte_text(m, block, int(found.thread[first]) // LANES, slot * self.order.slot, name)
            count = int(np.count_nonzero(some))
            tally = _Tally(count, array if registers else address, mine, other, None if registers else byte)
            self._add(found.kind, name, path, self.paths[place], tally)

    def _who(self, m: Machine, block: int, thread: int) -> _Who:
        """A thread, by its number in its block of the batch."""
        place, own = m.who(block, thread)
        return _Who(place, own, self.roles[thread // LANES])

    def _elements(self, m: Machine, at: Reach) -> tuple[np.ndarray, np.ndarray]:
        """The elements of a tensor that are stored, and for each the thread of the grid."""
        if isinstance(at, EngineReach):
            elements, thread = at.places, (at.block * m.ir.threads + at.thread)[:, None]
        else:
            assert isinstance(at, GlobalReach)
            elements, thread = at.elements, np.arange(m.shape[0] * m.ir.threads).reshape(*m.shape, 1)
        thread = np.broadcast_to(self.before * m.ir.threads + thread, elements.shape)
        return tuple(x.ravel() if at.inside is None else x[at.inside] for x in (elements, thread))  # type: ignore[return-value]

    def _stored(self, m: Machine, step: Step, tensor: str, elements: np.ndarray, thread: np.ndarray) -> None:
        """Elements of an output that another thread wrote already."""
        if tensor not in self.written:
            size = m.tensors[tensor].values.size
            self.written[tensor] = np.full(size, -1, np.int64), np.full(size, -1, np.int16)
        by, place = self.written[tensor]
        before, place_before = by[elements], place[elements]
        by[elements] = thread
        met = by[elements]
        clash = np.where((before >= 0) & (before != thread), before, np.where(met != thread, met, -1))
        place[elements] = self.numbers[step.path]
        bad = np.flatnonzero(clash >= 0)
        if len(bad):
            n = bad[0]
            other = place_before[n] if before[n] >= 0 else self.numbers[step.path]
            mine, others = (self._of_grid(m, int(t)) for t in (thread[n], clash[n]))
            tally = _Tally(len(bad), element(m, tensor, int(elements[n])), mine, others)
            self._add("write after write", tensor, step.path, self.paths[other], tally)

    def _of_grid(self, m: Machine, number: int) -> _Who:
        """A thread of the grid."""
        block, thread = divmod(number, m.ir.threads)
        x, y, z = (int(v) for v in np.concatenate(self.blocks, 1)[:, block])
        place, warp = m.unfolded.block((x, y, z), thread // LANES)
        assert warp is not None
        return _Who(place, warp * LANES + thread % LANES, self.roles[thread // LANES])

    def _add(self, kind: str, array: str, path: IrPath, other: IrPath, tally: _Tally) -> None:
        key = kind, array, path, other
        if key in self.tallies:
            self.tallies[key].count += tally.count
        else:
            if kind == NO_WAIT:
                tally.between = (other,)
            elif tally.byte is not None or tally.mine.block == tally.other.block:
                copied = kind in (READ_BEFORE_ARRIVAL, WRITE_BEFORE_ARRIVAL)
                steps = list(self.past) if copied or self.parties else self.since
                tally.between = _back(steps, other, {None, tally.mine.rank, tally.other.rank})
            self.tallies[key] = tally

    def seen(self, places: Places) -> Races:
        return Races(
            tuple(
                Race(kind, array, t.count, places[path], places[other], t.address, t.mine.block, t.mine.thread,
                     t.other.block, t.other.thread, t.byte, tuple(places[p] for p in t.between),
                     t.mine.name, t.other.name)
                for (kind, array, path, other), t in sorted(self.tallies.items(), key=lambda x: x[0][2:])
            ),
            ORDERED if self.parties else BARRIER,
        )  # fmt: skip


def roles_of(ir: KernelIR) -> tuple[str, ...]:
    """The role of each warp, with the number of its warpgroup where that has several; "" of one that has none."""
    found = [""] * ir.warps
    for _, s in walk(ir.body):
        for role in s.roles if isinstance(s, Roles) else ():
            for name, first, warps in parts_of(role):
                found[first : first + warps] = [name] * warps
    return tuple(found)


def role_at(ir: KernelIR, path: IrPath) -> str:
    """Whose statement it is: a role, "" where there are none."""
    around, body = None, ir.body
    for number in path:
        s = body[number]
        if isinstance(around, Roles):
            return [r.name for r in around.roles for _ in r.body][number]
        around, body = s, inner(s)
    return ""


def _rank(m: Machine, step: Step) -> int | None:
    """The rank of the block in its cluster whose step it is; None of several blocks."""
    if m.unfolded.ir is m.unfolded.of:
        return 0
    warps = range(m.shape[1]) if step.mask is None else np.flatnonzero(step.mask.any((0, 2))).tolist()
    ranks = {w // m.unfolded.warps for w in warps}
    return ranks.pop() if len(ranks) == 1 else None


def _back(since: list[tuple[IrPath, int | None]], other: IrPath, ranks: set[int | None]) -> tuple[IrPath, ...]:
    """The operations of some blocks from the last time at a place until the last one; () if it isn't among them."""
    steps = [path for path, rank in since if rank in ranks]
    if other not in steps:
        return ()
    back = steps[::-1].index(other)
    return tuple(steps[len(steps) - 1 - back :])


def element(m: Machine, tensor: str, number: int) -> str:
    """An element of a tensor by its number in memory."""
    index = list(m.tensors[tensor].strides)
    for d in sorted(range(len(index)), key=lambda d: -index[d]):  # the largest steps first
        index[d], number = divmod(number, index[d])
    return f"{tensor}[{', '.join(map(str, index))}]"
