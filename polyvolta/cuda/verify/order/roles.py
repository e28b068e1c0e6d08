"""A kernel with roles as rows of things in time, one for each kind of threads.

The warps of a role run its body and nothing else; what a warpgroup issues as one, its products, four warps do. So the
program is read as events (`program`), and the threads of a block are told apart: by the role, in it by the warpgroup,
and there by what they take part in, as the one that releases slots and those that only multiply. All threads of such a
*party* run the same; the order of a program is that of each of them.

Beside accesses there are the events of what orders roles: arrivals in phases of barriers and waits for these, boxes
that are asked for, products with their groups and waits, boxes that are stored with theirs, fences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from polyvolta.cuda.ir.accesses import Access, Operation
from polyvolta.cuda.ir.engines.boxes import BoxCopy, BoxStore, CommitStores, ProxyFence, WaitStores
from polyvolta.cuda.ir.engines.phases import Arrive, Await, InitBarriers, Phase
from polyvolta.cuda.ir.engines.warpgroups import WARPS, Wgmma, WgmmaCommit, WgmmaFence, WgmmaWait
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, Roles
from polyvolta.cuda.ir.unfolded import PART, Leave, warps_of_block
from polyvolta.cuda.ir.walk import IrPath, elements, operations, put, walk
from polyvolta.cuda.verify.engine.symbols import of_grid, of_sizes
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.counts import Counts
from polyvolta.cuda.verify.order.program import BARRIER, FENCE, READ, STORE, Event, Leaf, Reader, Touch, as_events
from polyvolta.sets import Aff, aff

INIT, ARRIVE, AWAIT, LEAVE = "init", "arrival", "await", "leave"
BOX, TAKE, CLOSE_BOXES, WAIT_BOXES = "box", "stored box", "close of boxes", "wait for boxes"
PRODUCT, CLOSE, DONE, READY = "product", "close", "done", "ready"
PROXY, REGISTERS, ROLE, WARPGROUP = "proxy fence", "registers", "role barrier", "warpgroup barrier"
OF_PART = "part barrier"
MEETINGS = (BARRIER, OF_PART, ROLE, WARPGROUP)
IN_FLIGHT = (BOX, TAKE, PRODUCT)
TOUCHING = (READ, STORE, *IN_FLIGHT)
PLAIN = {InitBarriers: INIT, Arrive: ARRIVE, Await: AWAIT, CommitStores: CLOSE_BOXES, WaitStores: WAIT_BOXES,
         ProxyFence: PROXY, WgmmaCommit: CLOSE, WgmmaWait: DONE, WgmmaFence: READY, Leave: LEAVE}  # fmt: skip
ORDERING = {"block": BARRIER, PART: OF_PART, "role": ROLE, "warpgroup": WARPGROUP, "warp": FENCE}
OF_ENGINES = {BoxCopy: BOX, BoxStore: TAKE, Wgmma: PRODUCT}
LOOSE = (READ, STORE, TAKE, REGISTERS)
PARTING = (LEAVE, ARRIVE, AWAIT, BOX, TAKE, CLOSE_BOXES, WAIT_BOXES, PRODUCT, CLOSE, DONE, READY, PROXY, *MEETINGS)


@dataclass(slots=True)
class RoleReader(Reader):
    """Reads a kernel with roles.

    Attributes
    ----------
    accumulators : the register arrays that products write.
    """

    accumulators: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        Reader.__post_init__(self)
        products = (op for op in operations(self.ir.body) if isinstance(op, Wgmma))
        self.accumulators = frozenset(e.array for op in products for e in op.d)

    def operation(
        self, op: Operation, path: IrPath, loops: Mapping[str, int], mask: np.ndarray | None
    ) -> Iterator[Leaf]:
        if op.commits or op.awaits is not None:
            raise Undecided("groups of asynchronous copies in a kernel with roles")
        table = {n: aff(v) for n, v in loops.items()}
        own = put(op, lambda e: e.subs(table)) if table else op
        kind = OF_ENGINES.get(type(op))
        for access in op.accesses(self.ir):
            if access.space == "shared":
                touch = Touch(path, access, loops, mask)
                yield Leaf(self.kind(access, kind), path, mask, touch, op=own if kind else None)
        if kind is None and any(e.array in self.accumulators for e in elements(op)):
            yield Leaf(REGISTERS, path, mask, op=own)
        if type(op) in PLAIN:
            yield Leaf(PLAIN[type(op)], path, mask, None, getattr(op, "pending", 0), op=own)
        if op.orders is not None:
            yield Leaf(ORDERING[op.orders], path, mask)

    @staticmethod
    def kind(access: Access, engine: str | None) -> str:
        """Of an access to shared memory what event it is."""
        if engine is not None:
            return engine
        if (access.proxy, access.when) != ("generic", "issue"):
            raise Undecided(f"{access.kind} of {access.array} that is done later: what orders it, is not known here")
        return STORE if access.writes else READ


def has_roles(ir: KernelIR) -> bool:
    """Whether a kernel has roles, or anything that orders them."""
    kinds = (*PLAIN, *OF_ENGINES)
    return bool(ir.barriers) or any(isinstance(s, Roles) or type(s) in kinds for _, s in walk(ir.body))


@dataclass(frozen=True, slots=True, eq=False)
class Party:
    """Threads of a block that take part in the same events.

    Parameters
    ----------
    number : its number among the kernel's.
    role : their role; "" of threads without.
    strand : which of the block's roles, or of a role's warpgroups.
    mask : bool [warp, 32].
    kind : equal for parties of one role that take part in the same events.
    warps : of each block of a cluster, whose blocks are one here; 0 where they aren't.
    """

    number: int
    role: str
    strand: int
    mask: np.ndarray
    kind: int
    warps: int = 0

    @property
    def first(self) -> tuple[int, int]:
        """One of its threads: warp, lane."""
        warp, lane = np.argwhere(self.mask)[0]
        return int(warp), int(lane)

    def takes(self, event: Event) -> bool:
        """Whether its threads take part in an event that isn't an access of some of them."""
        return event.mask is None or bool(event.mask[self.first])

    @property
    def threads(self) -> int:
        return int(np.count_nonzero(self.mask))


class Rows:
    """A kernel's events by parties, all expressions in numbers of tiles.

    Attributes
    ----------
    events : of the kernel, those of one role behind those of another.
    counts : the numbers of tiles.
    parties : the threads that run alike.
    loose : names of events that may happen for fewer sizes than is said here: what orders them is no matter of those.
    """

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir
        self.loose: set[str] = set()
        events = as_events(RoleReader(ir).body(ir.body, (), 0, {}, None))
        self.required = [*of_sizes(ir), *of_grid(ir)]
        said = [x for e in events for c in e.domain for x in c if e.kind not in LOOSE or x.names() & set(e.dims)]
        said += [x for e in events for op in e.ops if (p := phase_of(op)) is not None for x in (p.slot, p.number)]
        said += [t.access.slot.subs({n: aff(v) for n, v in t.loops.items()}) for e in events for t in e.touches]
        self.counts = Counts(said, ir.sizes, self.required)
        self.events = tuple(self._told(e) for e in events)
        self.parties = tuple(_parties(ir, self.events))

    def _told(self, e: Event) -> Event:
        domain = tuple(frozenset(map(self.counts.positive, c)) for c in e.domain)
        if e.kind in LOOSE:
            names = {*self.counts.params, *e.dims}
            kept = tuple(frozenset(x for x in c if x.names() <= names) for c in domain)
            if kept != domain:
                self.loose.add(e.name)
            domain = tuple(dict.fromkeys(kept))
        return replace(e, domain=domain, ops=tuple(map(self._phased, e.ops)))

    def _phased(self, op: Operation) -> Operation:
        p = phase_of(op)
        if p is None:
            return op
        told = Phase(p.barriers, self.counts(p.slot), self.counts(p.number))
        return replace(op, phase=told)  # type: ignore[call-arg]

    def of(self, *kinds: str) -> list[Event]:
        """The events of some kinds."""
        return [e for e in self.events if e.kind in kinds]

    @cached_property
    def strands(self) -> dict[int, list[Party]]:
        """The parties of each strand."""
        out: dict[int, list[Party]] = {}
        for p in self.parties:
            out.setdefault(p.strand, []).append(p)
        return out

    def party(self, thread: int) -> Party:
        """That of a thread."""
        return next(p for p in self.parties if p.mask.flat[thread])

    def position(self, phase: Phase) -> Aff:
        """Which of a row's phases it is: phase p of slot s is number S*p + s of all, S the slots."""
        return self.ir.phases(phase.barriers).slots * phase.number + phase.slot


def phase_of(op: Operation) -> Phase | None:
    """The phase that an operation speaks of."""
    return getattr(op, "phase", None)


def _parties(ir: KernelIR, events: Sequence[Event]) -> Iterator[Party]:
    shape, names = (ir.warps, LANES), {-1: ""}
    strand = np.full(shape, -1)
    number = 0
    for role in (r for _, s in walk(ir.body) if isinstance(s, Roles) for r in s.roles):
        whole = role.first % WARPS == 0 and role.warps % WARPS == 0
        for first in range(role.first, role.first + role.warps, WARPS if whole else role.warps):
            strand[first : first + (WARPS if whole else role.warps)] = number
            names[number] = role.name
            number += 1
    everybody = np.ones(shape, bool)
    masks = [everybody if e.mask is None else e.mask for e in events if e.kind in PARTING]
    columns = np.stack([np.broadcast_to(m, shape).ravel() for m in (strand, *masks)], -1).astype(int)
    rows, which = np.unique(columns, axis=0, return_inverse=True)
    kinds: dict[tuple, int] = {}
    for n, row in enumerate(rows):
        kind = kinds.setdefault((names[int(row[0])], *map(int, row[1:])), len(kinds))
        yield Party(n, names[int(row[0])], int(row[0]), (which.ravel() == n).reshape(shape), kind, warps_of_block(ir))
