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
from polyvolta.cuda.ir.engines.unfolded import PART, Leave, warps_of_block
from polyvolta.cuda.ir.engines.warpgroups import WARPS, Wgmma, WgmmaCommit, WgmmaFence, WgmmaWait
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, Roles, Tiles
from polyvolta.cuda.ir.walk import IrPath, elements, operations, put, walk
from polyvolta.cuda.verify.engine.symbols import BLOCKS, of_grid, of_sizes
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.counts import Counts
from polyvolta.cuda.verify.order.program import (
    BARRIER,
    FENCE,
    READ,
    REGISTERS,
    STORE,
    Event,
    Leaf,
    Node,
    Reader,
    Touch,
    as_events,
)
from polyvolta.cuda.verify.order.tiles import View
from polyvolta.sets import Aff, aff

INIT, ARRIVE, AWAIT, LEAVE = "init", "arrival", "await", "leave"
BOX, TAKE, CLOSE_BOXES, WAIT_BOXES = "box", "stored box", "close of boxes", "wait for boxes"
PRODUCT, CLOSE, DONE, READY = "product", "close", "done", "ready"
PROXY, ROLE, WARPGROUP = "proxy fence", "role barrier", "warpgroup barrier"
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
    view : the tiles of a block that are read, of a kernel with such.
    held : the register arrays that products read or write some time later.
    """

    view: View | None = None
    held: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        Reader.__post_init__(self)
        products = (op for op in operations(self.ir.body) if isinstance(op, Wgmma))
        self.held = frozenset(e.array for op in products for e in op.held)

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
        if kind is None and any(e.array in self.held for e in elements(op)):
            yield Leaf(REGISTERS, path, mask, op=own)
        if type(op) in PLAIN:
            yield Leaf(PLAIN[type(op)], path, mask, None, getattr(op, "pending", 0), op=own)
        if op.orders is not None:
            yield Leaf(ORDERING[op.orders], path, mask)

    def tiles(self, s: Tiles, path: IrPath, loops: Mapping[str, int], mask: np.ndarray | None) -> list[Node]:
        """The bodies of the tiles that are read, one behind the other, each at the same place of the text."""
        assert self.view is not None
        out: list[Node] = []
        for turn in (t for t in self.view.turns if t.in_turn(s)):
            names = turn.names(s)
            if mixed := {f"blockIdx.{axis}" for axis in "xyz"} & {n for e in names.values() for n in e.names()}:
                raise Undecided(f"the number of k tiles depends on {', '.join(sorted(mixed))}")
            body = put(s.body, lambda e, names=names: e.subs(names) if e.names() & names.keys() else e)
            out += [_of_tile(n, turn.number) for n in self.body(body, path, 0, loops, mask)]
        return out

    @staticmethod
    def kind(access: Access, engine: str | None) -> str:
        """Of an access to shared memory what event it is."""
        if engine is not None:
            return engine
        if (access.proxy, access.when) != ("generic", "issue"):
            raise Undecided(f"{access.kind} of {access.array} that is done later: what orders it, is not known here")
        return STORE if access.writes else READ


def _of_tile(node: Node, number: int) -> Node:
    """A node as one of a tile."""
    if isinstance(node, Leaf):
        return replace(node, tile=number)
    return replace(node, body=[_of_tile(n, number) for n in node.body])


def _gathered(nodes: Sequence[Node]) -> list[Node]:
    """Nodes in an order in which more of them are one event: accesses of one kind, and what touches registers, where
    nothing else is between. To all else it is no matter which of these comes first."""
    out: list[Node] = []
    groups: dict[tuple, list[Node]] = {}
    for n in nodes:
        leaf = n if isinstance(n, Leaf) and n.kind in (READ, STORE, REGISTERS) else None
        if leaf is None or len({leaf.kind, *(kind for kind, *_ in groups)} - {REGISTERS}) > 1:
            out += [x for group in groups.values() for x in group]
            groups = {}
        if leaf is not None:
            groups.setdefault((leaf.kind, leaf.where, leaf.tile), []).append(leaf)
        else:
            out.append(n if isinstance(n, Leaf) else replace(n, body=_gathered(n.body)))
    return out + [x for group in groups.values() for x in group]


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
    first : one of its threads: warp, lane.
    """

    number: int
    role: str
    strand: int
    mask: np.ndarray
    kind: int
    warps: int = 0
    first: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        warp, lane = np.argwhere(self.mask)[0]
        object.__setattr__(self, "first", (int(warp), int(lane)))

    def takes(self, event: Event) -> bool:
        """Whether its threads take part in an event that isn't an access of some of them."""
        return event.mask is None or bool(event.mask[self.first])

    def reaches(self, event: Event) -> bool:
        """Whether any of its threads takes part in an event, of which some threads may make other accesses."""
        masks = [t.mask for t in event.touches] or [event.mask]
        return any(m is None or bool((m & self.mask).any()) for m in masks)

    @property
    def threads(self) -> int:
        return int(np.count_nonzero(self.mask))


class Rows:
    """A kernel's events by parties, all expressions in numbers of tiles.

    Attributes
    ----------
    events : of the kernel, those of one role behind those of another.
    view : of a block that computes several tiles those that are read.
    counts : the numbers of tiles.
    params, known : the parameters of all relations, and what is known of them, each `e >= 0`.
    parties : the threads that run alike.
    loose : names of events that may happen for fewer sizes than is said here: what orders them is no matter of those.
    """

    def __init__(self, ir: KernelIR, view: View | None = None) -> None:
        self.ir, self.view = ir, view
        self.loose: set[str] = set()
        events = as_events(_gathered(RoleReader(ir, view).body(ir.body, (), 0, {}, None)))
        free, tied = ((), ()) if view is None else (view.free, view.known)
        self.required = [*of_sizes(ir), *of_grid(ir)]
        said = [x for e in events for c in e.domain for x in c if e.kind not in LOOSE or x.names() & set(e.dims)]
        said += [x for e in events for op in e.ops if (p := phase_of(op)) is not None for x in (p.slot, p.number)]
        said += [t.access.slot.subs({n: aff(v) for n, v in t.loops.items()}) for e in events for t in e.touches]
        free, tied = self._spoken(events, free, tied)
        self.counts = Counts([*said, *tied], ir.sizes, self.required)
        self.params = (*self.counts.params, *free)
        self.known = (*self.counts.known, *map(self.counts.positive, tied))
        if view is not None and (mixed := set(BLOCKS) & set(self.params)):
            raise Undecided(f"what orders the tiles of a block depends on {', '.join(sorted(mixed))}")
        self.events = tuple(self._told(e) for e in events)
        self.parties = tuple(_parties(ir, self.events))

    def _spoken(
        self, events: Sequence[Event], free: Sequence[str], tied: Sequence[Aff]
    ) -> tuple[tuple[str, ...], tuple[Aff, ...]]:
        """Parameters of which any event speaks, or what ties them to such, and what ties them."""
        said = [self._numbered(x) for e in events for c in e.domain for x in c]
        said += [self.position(p) for e in events for op in e.ops if (p := phase_of(op)) is not None]
        said += [self._numbered(t.access.slot) for e in events for t in e.touches]
        names = {n for e in said for n in e.names()} & {*free}
        while more := {n for e in tied if e.names() & names for n in e.names() & {*free}} - names:
            names |= more
        return tuple(n for n in free if n in names), tuple(e for e in tied if e.names() & names)

    def _numbered(self, e: Aff) -> Aff:
        """An expression, or what is at least 0 whenever it is, in numbers of tiles."""
        return e if self.view is None else self.view.said(e)

    def _told(self, e: Event) -> Event:
        domain = tuple(frozenset(self.counts.positive(self._numbered(x)) for x in c) for c in e.domain)
        if e.kind in LOOSE:
            names = {*self.params, *e.dims}
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

    # ---- sizes of a case

    def sizes(self, params: Mapping[str, int]) -> dict[str, int]:
        """The smallest sizes with some values of the parameters, and with so many results that block 0 has the tiles
        that are read."""
        known = {n: v for n, v in params.items() if n in self.counts.params}
        last = 0 if self.view is None or self.view.any_two else self._number(len(self.view.turns) - 1)
        for extent in self.ir.grid if last else ():
            many = self.counts.lifted(known, [*self.required, extent - last - 1])
            if extent.names() and extent.evaluate(many) > last:  # type: ignore[operator]
                return many
        return self.counts.lifted(known, self.required)

    def block(self, sizes: Mapping[str, int], tile: int | None) -> tuple[int, ...] | None:
        """The place of a tile of block 0; None: it computes but one, or fewer."""
        if tile is None:
            return None
        grid = [int(e.evaluate(sizes)) for e in self.ir.grid]  # type: ignore[call-overload]
        if min(grid) < 1 or grid[0] * grid[1] * grid[2] <= self._number(tile):
            return None
        return tuple(int(x) for x in self.ir.block_order.blocks(grid, self._number(tile), self._number(tile) + 1)[:, 0])

    def turn(self, tile: int | None) -> dict[str, int]:
        """The name and the number of a tile, if it is one."""
        return {} if tile is None or self.view is None else {self.view.name: tile}

    def _number(self, tile: int) -> int:
        """Of a tile of block 0 its number among all places, where as many blocks run as may."""
        return max(self.ir.resident, 1) * tile

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
        """Which of a row's phases it is: phase p of slot s is number S*p + s of all, S the slots.

        Raises
        ------
        Undecided : a tile has a part of a phase.
        """
        e = self.ir.phases(phase.barriers).slots * phase.number + phase.slot
        if self.view is not None and any(c % self.view.period for a, c in e.terms if a in self.view.rounds):
            raise Undecided(f"the phases of {phase.barriers} aren't so many a tile")
        return self._numbered(e)


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
