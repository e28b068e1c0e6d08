"""A cluster as one block: what its blocks do together, in the words of a block's warps, memory and barriers.

The blocks of a cluster run at the same time, each with warps, shared memory and barriers of its own, and reach those of
the others: a box comes to several of them, a thread arrives in another one's phase. All that is what the warps of one
block do. So a kernel whose grid is made of clusters means the same as its *unfolded* kernel, whose blocks are the
clusters:

    shared_A, full          one for each block: shared_A.0, shared_A.1, full.0, full.1, their memories side by side
    roles                   those of each block on warps of their own
    blockIdx.x              c*blockIdx.x + its place in the cluster
    places of a block, one after the other    those of its cluster
    a box for several       a box for each of them
    a barrier of the cluster, of a block      of the block, of a part of it
    an exchange whose parts other blocks read  one of the block: each block's are so many buffers further

The interpreter runs it, and proofs are about it; the text is that of the kernel as it is. Blocks end each by itself,
and with them their memory: where nothing makes one wait for the others, its warps `Leave`, and whoever reaches its
barriers after that is refused.

A block's warps begin at a whole number of warpgroups, and its memory at a whole number of a box's patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import lcm

from polyvolta.cuda.ir.accesses import Access, Operation
from polyvolta.cuda.ir.engines.clusters import ALONE, AXES, blocks, members, of_clusters, placed
from polyvolta.cuda.ir.engines.phases import Phase
from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK_BYTES,
    LANES,
    Arrive,
    AwaitGrids,
    Barrier,
    BoxCopy,
    ByIdentity,
    ExchangeLoad,
    ExchangeStore,
    InitBarriers,
    KernelIR,
    Loop,
    Op,
    ReleaseGrids,
    Role,
    Roles,
    SharedOperand,
    Stmt,
    Tiles,
    When,
)
from polyvolta.cuda.ir.memories import Memories, PhaseBarriers, SharedTile
from polyvolta.cuda.ir.walk import IrPath, inner, operations, put, walk
from polyvolta.cuda.target.boxes import SWIZZLES
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.simplify import simplify

THREAD = "thread"
"""A thread's number in its block of the cluster."""
ALIGN = max(s.align for s in SWIZZLES)
"""Chunks that a block's shared memory is a whole number of."""
PART = "part"
"""The scope of a barrier of one block among those of a cluster."""
OF_BLOCK = " of block "
"""In a role's name, before the rank of its block."""


@dataclass(frozen=True, slots=True)
class Leave(Operation):
    """The threads of a block of the cluster end; its barriers are gone when all of them have.

    Parameters
    ----------
    rows : its rows of barriers.
    warps : how many of the block have to come here.
    """

    rows: tuple[str, ...]
    warps: int
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return ()

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "its block ends"


@dataclass(frozen=True, eq=False)
class Unfolded:
    """A kernel whose blocks are the clusters of another one.

    Parameters
    ----------
    ir : the kernel.
    of : the other one.
    paths : where the statements of the other one stand, by the path of what they have become.
    memory : chunks of shared memory from one block to the next; 0: each block is alone.
    """

    ir: KernelIR
    of: KernelIR
    paths: Mapping[IrPath, IrPath]
    memory: int = 0

    def path(self, at: IrPath) -> IrPath:
        """Where a statement stands in the other kernel."""
        if self.ir is self.of:
            return at
        while at and at not in self.paths:
            at = at[:-1]
        return self.paths.get(at, at)

    def block(self, cluster: tuple[int, int, int], warp: int | None) -> tuple[tuple[int, int, int], int | None]:
        """The place of a block by that of its cluster and a warp of the unfolded kernel, and the block's own warp."""
        if self.ir is self.of:
            return cluster, warp
        rank, own = (0, warp) if warp is None else divmod(warp, _warps(self.of))
        return self.place(cluster, rank), own

    def place(self, cluster: tuple[int, int, int], rank: int) -> tuple[int, int, int]:
        """The place of a block by that of its cluster, and its rank."""
        if self.ir is self.of:
            return cluster
        place = list(members(self.of.cluster))[rank]
        x, y, z = (c * n + p for c, n, p in zip(cluster, self.of.cluster, place, strict=True))
        return x, y, z

    @property
    def warps(self) -> int:
        """How many warps from a block's first one to that of the next block in its cluster."""
        return self.ir.warps if self.ir is self.of else _warps(self.of)

    def array(self, name: str) -> tuple[str, int]:
        """What a tile, or a row of barriers, is called in the other kernel, and the rank of its block."""
        own, _, rank = name.partition(".")  # names of a kernel have no dots
        return own, int(rank or 0)

    def byte(self, at: int) -> tuple[int, int]:
        """The rank of the block that has a byte of shared memory, and which one of its own that is."""
        return divmod(at, self.memory * CHUNK_BYTES) if self.memory else (0, at)

    def again(self, at: IrPath) -> bool:
        """Whether a statement is a box for another block, of which the first one stands before."""
        return self.ir is not self.of and at not in self.paths and at[:-1] in self.paths and (
            isinstance(self._stmts[at], BoxCopy) and at[-1] > 0)  # fmt: skip

    @cached_property
    def _stmts(self) -> Mapping[IrPath, Stmt]:
        return dict(walk(self.ir.body))


def unfolded(ir: KernelIR) -> Unfolded:
    """A kernel of clusters as one whose blocks they are; one without clusters as it is. Costs some milliseconds, once.

    Raises
    ------
    NotUnfolded : roles within which a whole block, or all of the cluster, meets.
    """
    if ir.cluster == ALONE:
        return Unfolded(ir, ir, {})
    return _unfolded(ByIdentity(ir))


@lru_cache(maxsize=4)
def _unfolded(kept: ByIdentity) -> Unfolded:
    return _Unfolding(kept.ir).whole()


def warps_of_block(ir: KernelIR) -> int:
    """How many warps each block of a cluster has in an unfolded kernel; 0 in any other one."""
    for name, e in ir.derived[:1]:
        if name == THREAD:
            return next(n for n in range(1, ir.warps + 1) if e == var("linearId") % (n * LANES))
    return 0


def _warps(ir: KernelIR) -> int:
    """Of a block of the cluster, whole warpgroups."""
    return -(-ir.warps // WARPS) * WARPS


@dataclass(frozen=True, slots=True)
class _Block:
    """One of a cluster: its rank, the first of its threads, and what its names are."""

    rank: int
    first: int
    table: Mapping[str, Aff]

    def name(self, name: str) -> str:
        return f"{name}.{self.rank}"


class _Unfolding:
    def __init__(self, ir: KernelIR) -> None:
        self.ir, self.paths = ir, {}
        self.warps = _warps(ir)
        self.threads = LANES * self.warps
        self.ranges = {**ir.ranges, **{f"blockIdx.{axis}": (0, None) for axis in "xyz"}}
        own = {"linearId": var(THREAD)}
        self.blocks = [
            _Block(rank, rank * self.threads, {**own, **self.placed(place)})
            for rank, place in enumerate(members(ir.cluster))
        ]
        self._made: dict[tuple[int, Aff], Aff] = {}
        gathers = [op for op in operations(ir.body) if isinstance(op, ExchangeLoad) and op.first is not None]
        self.read = frozenset(op.buffer for op in gathers)  # by other blocks, too
        unit = lcm(ALIGN, *(op.exchange.chunks for op in gathers))
        self.per = -(-ir.shared_bytes // (unit * CHUNK_BYTES)) * unit

    def placed(self, place: tuple[int, int, int]) -> dict[str, Aff]:
        """A block's names by its cluster's; along an axis with one cluster they are numbers."""
        found = dict(placed(place, self.ir.cluster))
        alone = [name for name, e, n in zip(AXES, self.ir.grid, self.ir.cluster, strict=True) if e == aff(n)]
        return {name: e.subs(dict.fromkeys(alone, aff(0))) for name, e in found.items()}

    def whole(self) -> Unfolded:
        ir = self.ir
        count, per = blocks(ir.cluster), self.per
        derived = [(THREAD, var("linearId") % self.threads)]
        derived += [(name, e.subs({"linearId": var(THREAD)})) for name, e in ir.derived]
        sides = dict(zip(AXES, ir.cluster, strict=True))
        ranges = {n: (low, high if high is None else (high + 1) // sides.get(n, 1) - 1)
                  for n, (low, high) in ir.ranges.items() if n in sides}  # fmt: skip
        ranges = {**ir.ranges, **ranges}
        ranges |= {"linearId": (0, count * self.threads - 1), THREAD: (0, self.threads - 1)}
        ranges["warp"] = (0, self.warps - 1)
        x, y, z = of_clusters(ir.grid, ir.cluster)
        made = replace(
            ir,
            tiles=(*(self.tile(t, b, per) for b in self.blocks for t in ir.tiles if t.name not in self.read),
                   *(replace(t, chunks=t.chunks + (count - 1) * per) for t in ir.tiles if t.name in self.read)),
            barriers=tuple(self.row(r, b, per) for b in self.blocks for r in ir.barriers),
            threads=count * self.threads,
            derived=tuple(derived),
            ranges=ranges,
            grid=(x, y, z),
            body=tuple(self.body()),
            cluster=ALONE,
            resident=ir.resident // count,
        )
        return Unfolded(made, ir, self.paths, per)

    @staticmethod
    def tile(t: SharedTile, b: _Block, per: int) -> SharedTile:
        return replace(t, name=b.name(t.name), start=t.start + b.rank * per)

    @staticmethod
    def row(r: PhaseBarriers, b: _Block, per: int) -> PhaseBarriers:
        return replace(r, name=b.name(r.name), start=r.start + b.rank * per)

    # ---- statements

    def body(self) -> Iterator[Stmt]:
        """The program of all blocks: roles side by side, all else one block after the other."""
        at = 0
        stays = [n for n, s in enumerate(self.ir.body) if isinstance(s, Barrier) and s.scope == "cluster"]
        for n, s in enumerate(self.ir.body):
            over = not any(m > n for m in stays)
            if isinstance(s, Barrier) and s.scope == "cluster":
                self.paths[(at,)] = (n,)
                made: list[Stmt] = [replace(s, scope="block")]
            elif isinstance(s, AwaitGrids | ReleaseGrids):
                self.paths[(at,)] = (n,)
                made = [s]
            elif isinstance(s, Roles):
                made = [self.roles(s, (n,), (at,), over)]
            else:
                made = [self.of_block(s, b, (n,), (at + b.rank,)) for b in self.blocks]
            yield from made
            at += len(made)

    def of_block(self, s: Stmt, b: _Block, old: IrPath, new: IrPath) -> Stmt:
        """A statement that the threads of one block run."""
        self.paths[new] = old
        mine = var("linearId") - b.first, b.first + LANES * self.ir.warps - 1 - var("linearId")
        return When(mine, (self.stmt(s, b, old, (*new, 0), PART),), False)

    def roles(self, s: Roles, old: IrPath, new: IrPath, over: bool) -> Roles:
        self.paths[new] = old
        made, at = [], 0
        for b in self.blocks:
            first = 0
            for role in s.roles:
                body = [self.stmt(x, b, (*old, first + k), (*new, at + k)) for k, x in enumerate(role.body)]
                if over:  # nobody waits for the others' end
                    body.append(Leave(tuple(b.name(r.name) for r in self.ir.barriers),
                                      sum(r.warps for r in s.roles), "leave"))
                made.append(Role(f"{role.name}{OF_BLOCK}{b.rank}", role.first + b.rank * self.warps, role.warps,
                                 tuple(body)))  # fmt: skip
                first, at = first + len(role.body), at + len(body)
        return replace(s, roles=tuple(made))

    def stmt(self, s: Stmt, b: _Block, old: IrPath, new: IrPath, scope: str = "") -> Stmt:
        """A statement in the words of one block."""
        self.paths[new] = old
        if isinstance(s, Op):
            return self.operation(s, b, scope)
        below = [self.stmt(x, b, (*old, k), (*new, k), scope) for k, x in enumerate(inner(s))]
        if isinstance(s, Loop):
            lower, upper = (tuple(self.at(e, b) for e in es) for es in (s.lower, s.upper))
            return replace(s, lower=lower, upper=upper, body=tuple(below))
        if isinstance(s, Tiles):  # what they add to counters is about sizes
            return replace(s, body=tuple(below))
        assert isinstance(s, When)  # roles stand outside of loops and conditions
        count = len(s.body)
        conditions = tuple(self.at(e, b) for e in s.conditions)
        return replace(s, conditions=conditions, body=tuple(below[:count]), orelse=tuple(below[count:]))

    def operation(self, op: Op, b: _Block, scope: str) -> Stmt:
        if isinstance(op, Barrier) and op.scope in ("block", "cluster"):
            return replace(op, scope=scope if op.scope == "block" and scope else "block")
        if isinstance(op, InitBarriers):
            rows = op.rows or tuple(r.name for r in self.ir.barriers)
            return replace(op, rows=tuple(map(b.name, rows)))
        mine = put(op, lambda e: self.at(e, b))
        if isinstance(mine, ExchangeStore | ExchangeLoad) and mine.buffer in self.read:
            return self.of_all(mine, b)
        if isinstance(mine, BoxCopy) and mine.to:
            return When((aff(0),), tuple(self.sent(mine, self.blocks[rank.const]) for rank in mine.to))
        if isinstance(mine, BoxCopy):
            return self.sent(mine, b)
        if isinstance(mine, Arrive) and mine.to is not None:
            return replace(mine, to=None, phase=self.phase(mine.phase, self.blocks[mine.to.const]))
        return self.named(mine, b)

    def of_all(self, op: ExchangeStore | ExchangeLoad, b: _Block) -> Op:
        """An operation on the exchange of all blocks."""
        further = self.per // op.exchange.chunks
        if isinstance(op, ExchangeLoad) and op.first is not None:
            first = self.at(op.first, b).const
            return replace(op, slot=op.slot + further * first, stride=further * op.stride, first=None)
        return replace(op, slot=op.slot + further * b.rank)

    def sent(self, op: BoxCopy, to: _Block) -> BoxCopy:
        """A box for one block."""
        return replace(op, to=(), tile=to.name(op.tile), phase=self.phase(op.phase, to))

    def named(self, op: Op, b: _Block) -> Op:
        """An operation on the own block's tiles and barriers."""
        tiles = {t.name for t in self.ir.tiles}
        return _renamed(op, lambda name: b.name(name) if name in tiles else name, lambda p: self.phase(p, b))

    @staticmethod
    def phase(p: Phase, b: _Block) -> Phase:
        return replace(p, barriers=b.name(p.barriers))

    def at(self, e: Aff, b: _Block) -> Aff:
        key = b.rank, e
        if key not in self._made:
            self._made[key] = simplify(e.subs(b.table), self.ranges) if e.names() & b.table.keys() else e
        return self._made[key]


def _renamed(part: Op, tile: Callable[[str], str], phase: Callable[[Phase], Phase]) -> Op:
    """An operation with other tiles and phases."""
    changed = {}
    for name in ("tile", "buffer"):
        if isinstance(value := getattr(part, name, None), str):
            changed[name] = tile(value)
    for name in ("a", "b"):
        if isinstance(value := getattr(part, name, None), SharedOperand):
            changed[name] = replace(value, tile=tile(value.tile))
    if isinstance(value := getattr(part, "phase", None), Phase):
        changed["phase"] = phase(value)
    return replace(part, **changed) if changed else part
