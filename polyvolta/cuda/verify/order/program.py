"""A kernel as a row of things in time: accesses to shared memory, and what orders them.

Every thread of a block runs one program. For the order of two accesses little of it matters: the accesses to shared
memory, barriers, commits, waits, and the loops and conditions around these. So the program is read as *nodes*: unrolled
loops are written out, conditions on threads become masks, conditions on sizes and k tiles become constraints on
instances. A condition both sides of which touch the same is none: the versions for full and for partial tiles are one.

Nodes become *events*. An event is a set of statement instances with one place in the text: its dimensions are the
variables of the loops around it, its domain says for which values it happens. Accesses of one kind that follow one
another are one event, whose `touches` are the accesses. The instants of an event are vectors,

    [position, c2, position in the body of c2, ...]

and the order of the program is their lexicographic order, the same for all threads: see `before`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from polyvolta.cuda.ir.accesses import Access, Operation
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, Loop, Roles, Stmt, Tiles, When
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.symbols import parts, thread_numbers, trips
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, aff, var

Constraints = frozenset[Aff]  # each e >= 0
ALWAYS: tuple[Constraints, ...] = (frozenset(),)
MOST_CASES = 16  # of a condition that differs between threads
READ, STORE, COPY, COMMIT, WAIT, BARRIER, FENCE = "read", "store", "copy", "commit", "wait", "barrier", "warp barrier"
REGISTERS = "registers"  # what readers of roles look at
ACCESSES = (READ, STORE, COPY)


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """An access to shared memory with the values of the unrolled loops around it.

    Parameters
    ----------
    mask : bool [warp, 32], the threads that make it; None: all.
    """

    path: IrPath
    access: Access
    loops: Mapping[str, int]
    mask: np.ndarray | None

    def like(self, other: Touch) -> bool:
        """Whether another one reaches the same places by the same threads."""
        used = {n for e in self.access.expressions for n in e.names()}
        same = all(self.loops.get(n) == other.loops.get(n) for n in used)
        return same and self.access == other.access and _alike(self.mask, other.mask)


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Statement instances of one place in the text.

    Parameters
    ----------
    name : its tuple's, such as "wait1".
    kind : READ, STORE, COPY (the issue of asynchronous copies), COMMIT, WAIT, BARRIER or FENCE, a warp's barrier.
    path : where it stands, or begins.
    dims : the variables of the symbolic loops around.
    at : its position in the program, in the body of the first of these loops, and so on; one more than `dims`.
    domain : for which values of `dims` and of the sizes it happens: a union of conjunctions.
    touches : what accesses reach.
    mask : of what is no access the threads that take part; None: all.
    pending : of a wait how many groups may be on their way.
    ops : the operations that it stands for, with numbers for unrolled loops, where readers need these (`roles`).
    tile : of the tiles that a block computes one after the other the one that it belongs to (`tiles`); None: to none.
    """

    name: str
    kind: str
    path: IrPath
    dims: tuple[str, ...]
    at: tuple[int, ...]
    domain: tuple[Constraints, ...]
    touches: tuple[Touch, ...] = ()
    mask: np.ndarray | None = None
    pending: int = 0
    ops: tuple[Operation, ...] = ()
    tile: int | None = None


@dataclass(slots=True, eq=False)
class Leaf:
    """An operation, or a part of it, in the order of the program."""

    kind: str
    path: IrPath
    mask: np.ndarray | None
    touch: Touch | None = None
    pending: int = 0
    where: tuple[Constraints, ...] = ALWAYS
    op: Operation | None = None
    tile: int | None = None


@dataclass(slots=True, eq=False)
class Repeat:
    """A loop that stays a symbol."""

    loop: Loop
    lower: tuple[Aff, ...]
    upper: tuple[Aff, ...]
    path: IrPath
    body: list[Leaf | Repeat]
    where: tuple[Constraints, ...] = ALWAYS


Node = Leaf | Repeat


def events_of(ir: KernelIR) -> tuple[Event, ...]:
    """The events of a kernel in the order of its text.

    Raises
    ------
    Undecided : a condition or bound that mixes threads and sizes in a way that has no exact answer here.
    """
    return as_events(Reader(ir).body(ir.body, (), 0, {}, None))


# ---- the program as nodes


@dataclass(slots=True)
class Reader:
    """Reads a kernel's program as nodes."""

    ir: KernelIR
    threads: Mapping[str, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self.threads = thread_numbers(self.ir)

    def body(
        self, stmts: Sequence[Stmt], at: IrPath, first: int, loops: Mapping[str, int], mask: np.ndarray | None
    ) -> list[Node]:
        """The nodes of some statements, run by the threads of a mask with some values of the unrolled loops around."""
        out: list[Node] = []
        for k, s in enumerate(stmts, first):
            path = (*at, k)
            try:
                match s:
                    case Loop():
                        out += self.loop(s, path, loops, mask)
                    case When():
                        out += self.when(s, path, loops, mask)
                    case Roles():
                        out += self.roles(s, path, loops, mask)
                    case Tiles():
                        out += self.tiles(s, path, loops, mask)
                    case Operation():
                        out += self.operation(s, path, loops, mask)
                    case _:
                        raise Undecided(f"{type(s).__name__}: the order of what is in it is not known here")
            except Undecided as undecided:
                undecided.path = undecided.path or path
                raise
        return out

    def roles(self, s: Roles, path: IrPath, loops: Mapping[str, int], mask: np.ndarray | None) -> list[Node]:
        """The roles' bodies one after the other, each for its own warps."""
        out: list[Node] = []
        first = 0
        for role in s.roles:
            warp = np.arange(self.ir.warps)[:, None] - role.first
            own = np.broadcast_to((warp >= 0) & (warp < role.warps), (self.ir.warps, LANES))
            out += self.body(role.body, path, first, loops, own if mask is None else own & mask)
            first += len(role.body)
        return out

    def tiles(self, s: Tiles, path: IrPath, loops: Mapping[str, int], mask: np.ndarray | None) -> list[Node]:
        """The tiles of a block, which only readers of roles know."""
        raise Undecided("a block that computes several tiles, and has no roles")

    def operation(
        self, op: Operation, path: IrPath, loops: Mapping[str, int], mask: np.ndarray | None
    ) -> Iterator[Leaf]:
        for access in op.accesses(self.ir):
            if access.proxy != "generic":
                raise Undecided(f"{access.kind} of {access.array}, {access.proxy}: what orders it, is not known here")
            if access.space == "shared":
                kind = READ if not access.writes else STORE if access.when == "issue" else COPY
                if kind == READ and access.when != "issue":
                    raise Undecided(f"a read of {access.array} that is done later")
                yield Leaf(kind, path, mask, Touch(path, access, loops, mask))
        if op.orders is not None:
            yield Leaf(BARRIER if op.orders == "block" else FENCE, path, mask)
        if op.commits:
            yield Leaf(COMMIT, path, mask)
        if op.awaits is not None:
            yield Leaf(WAIT, path, mask, pending=op.awaits)

    def split(self, e: Aff, loops: Mapping[str, int]) -> tuple[Aff, np.ndarray]:
        """An expression as a symbolic part, without a constant, and numbers [warp, 32]."""
        bound = e.subs({n: aff(loops[n]) for n in e.names() & loops.keys()})
        own, symbolic = parts(bound, self.threads.keys())
        shape = self.threads["linearId"].shape
        numbers = np.asarray(own.evaluate(self.threads), np.int64)  # type: ignore[arg-type]
        return symbolic, np.broadcast_to(numbers, shape)

    def loop(self, s: Loop, path: IrPath, loops: Mapping[str, int], mask: np.ndarray | None) -> list[Node]:
        ends = [self.split(e, loops) for e in (*s.lower, *s.upper)]
        if any((numbers != numbers.flat[0]).any() for _, numbers in ends):
            raise Undecided(f"the bounds of loop {s.var} differ between threads")
        bounds = [symbolic + int(numbers.flat[0]) for symbolic, numbers in ends]
        lower, upper = tuple(bounds[: len(s.lower)]), tuple(bounds[len(s.lower) :])
        if (values := trips(s, lower, upper)) is not None:
            return [n for v in values for n in self.body(s.body, path, 0, {**loops, s.var: v}, mask)]
        inside = self.body(s.body, path, 0, {n: v for n, v in loops.items() if n != s.var}, mask)
        if inside and s.step > 1 and len(lower) > 1:
            raise Undecided(f"loop {s.var} begins at the largest of several values and goes in steps of {s.step}")
        return [Repeat(s, lower, upper, path, inside)] if inside else []

    def when(self, s: When, path: IrPath, loops: Mapping[str, int], mask: np.ndarray | None) -> list[Node]:
        out: list[Node] = []
        for threads, conditions in self.cases(s.conditions, loops):
            active = threads if mask is None else threads & mask
            if not active.any():
                continue
            chosen = None if active.all() else active
            yes = self.body(s.body, path, 0, loops, chosen)
            no = self.body(s.orelse, path, len(s.body), loops, chosen)
            if conditions is None:
                out += no
            elif _all_alike(yes, no):
                out += yes
            else:
                ways = tuple((*conditions[:k], -e - 1) for k, e in enumerate(conditions))
                out += [_given(n, (frozenset(conditions),)) for n in yes]
                out += [_given(n, tuple(map(frozenset, ways))) for n in no if ways]
        return out

    def cases(
        self, conditions: tuple[Aff, ...], loops: Mapping[str, int]
    ) -> Iterator[tuple[np.ndarray, tuple[Aff, ...] | None]]:
        """Some threads each with what a conjunction comes to for them: `e >= 0` of sizes and k tiles; None: never."""
        numbers = [self.split(e, loops) for e in conditions]
        rows = np.stack([n for _, n in numbers], -1).reshape(-1, len(numbers)) if numbers else np.zeros((1, 0), int)
        own = [k for k, (symbolic, _) in enumerate(numbers) if symbolic.is_constant]
        rows = rows.copy()
        rows[:, own] = rows[:, own] >= 0  # of threads alone: yes or no
        kinds, which = np.unique(rows, axis=0, return_inverse=True)
        if len(kinds) > MOST_CASES:
            raise Undecided(f"a condition comes to {len(kinds)} different ones for the threads of a block")
        shape = self.threads["linearId"].shape
        for number, row in enumerate(kinds):
            threads = np.broadcast_to((which.ravel() == number).reshape(-1), (shape[0] * shape[1],)).reshape(shape)
            open_ = tuple(s + int(row[k]) for k, (s, _) in enumerate(numbers) if k not in own)
            yield threads, open_ if all(row[k] for k in own) else None


def _alike(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is other or (one is not None and other is not None and bool((one == other).all()))


def _all_alike(ones: Sequence[Node], others: Sequence[Node]) -> bool:
    """Whether two rows of nodes are the same but for where they stand."""
    return len(ones) == len(others) and all(map(_same, ones, others))


def _same(a: Node, b: Node) -> bool:
    match a, b:
        case Leaf(), Leaf():
            touched = a.touch is b.touch or (a.touch is not None and b.touch is not None and a.touch.like(b.touch))
            alike = (a.kind, a.pending, a.where, a.op) == (b.kind, b.pending, b.where, b.op)
            return touched and alike and _alike(a.mask, b.mask)
        case Repeat(), Repeat():
            head = lambda r: (r.loop.var, r.lower, r.upper, r.loop.step, r.where)  # noqa: E731
            return head(a) == head(b) and _all_alike(a.body, b.body)
    return False


def _given(node: Node, where: tuple[Constraints, ...]) -> Node:
    return replace(node, where=both(where, node.where))


def both(a: tuple[Constraints, ...], b: tuple[Constraints, ...]) -> tuple[Constraints, ...]:
    """The conjunction of two unions of conjunctions, without what is plainly true or plainly empty."""
    joint = (frozenset(e for e in x | y if not (e.is_constant and e.const >= 0)) for x, y in product(a, b))
    return tuple(dict.fromkeys(c for c in joint if not any(e.is_constant for e in c)))


# ---- nodes as events


def as_events(nodes: Sequence[Node]) -> tuple[Event, ...]:
    """The events of a program's nodes, in their order."""
    return tuple(_events(nodes, (), (), ALWAYS, {}))


def _events(
    nodes: Sequence[Node], dims: tuple[str, ...], at: tuple[int, ...], where: tuple[Constraints, ...],
    counts: dict[str, int],
) -> Iterator[Event]:  # fmt: skip
    """The events of nodes below some loops."""
    k = 0
    for position, node in enumerate(nodes):
        if position < k:
            continue
        domain = both(where, node.where)
        if isinstance(node, Repeat):
            v, s = var(node.loop.var), node.loop.step
            if node.loop.var in dims:
                raise Undecided(f"a loop {node.loop.var} stands in a loop of that name")
            bounds = [v - e for e in node.lower] + [e - v for e in node.upper]
            bounds += [-((v - node.lower[0]) % s)] if s > 1 else []
            inside = both(domain, (frozenset(bounds),))
            yield from _events(node.body, (*dims, node.loop.var), (*at, position), inside, counts)
            continue
        k = position + 1
        touches: list[Touch] = [node.touch] if node.touch is not None else []
        ops = [node.op] if node.op is not None else []
        while (touches or node.kind == REGISTERS) and k < len(nodes) and _follows(node, nodes[k]):
            touches += [nodes[k].touch] if touches else []  # type: ignore[union-attr, list-item]
            further = nodes[k].op  # type: ignore[union-attr]
            ops += [further] if further is not None and further is not ops[-1] else []
            k += 1
        counts[node.kind] = counts.get(node.kind, 0) + 1
        name = f"{node.kind.replace(' ', '_')}{counts[node.kind]}"
        yield Event(name, node.kind, node.path, dims, (*at, position), domain, tuple(touches), node.mask, node.pending,
                    tuple(ops), node.tile)  # fmt: skip


def _follows(first: Leaf, node: Node) -> bool:
    """Whether an access is one event with the one before."""
    if not isinstance(node, Leaf) or (node.kind, node.where, node.tile) != (first.kind, first.where, first.tile):
        return False
    if first.op is None or node.op is None:
        return first.op is node.op
    one, other = (getattr(n.op, "phase", None) for n in (first, node))
    return one == other and _alike(first.mask, node.mask)
