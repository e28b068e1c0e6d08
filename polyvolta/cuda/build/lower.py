"""From a scanned, promoted tree to the kernel IR: calls of statements become operations.

A call `load_A(blockIdx.y, blockIdx.x, c2, c3, linearId)` and the statement's `Movement` together say what happens: the
movement's operations with the call's arguments put in for its dimensions. Nothing else is decided here but where the
guards go.

A movement that may reach outside of a tensor says under which conditions it doesn't, and these speak of the block and
the k tile, not of the loops of the copies. So there are two versions of such code, one for full tiles without any guard
and one for partial tiles, and the choice between them stands around the largest loops that it doesn't depend on:

    if (M >= 128 * blockIdx.y + 128 && K >= 32 * c2 + 64) {
      for (int c3 = 0; ...) load_A(...);             // every value is inside
    } else {
      for (int c3 = 0; ...) load_A_guarded(...);
    }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from math import prod
from types import MappingProxyType
from typing import NoReturn

from polyvolta.cuda.build.promotion.makers import ONE_WARP, Makers
from polyvolta.cuda.build.promotion.model import CONSUMER, PART_OF_CLUSTER, PER_THREAD, Movement, Promotion, Turns
from polyvolta.cuda.build.promotion.nests import conjunction
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.engines.clusters import ALONE, Extents
from polyvolta.cuda.ir.kernel_ir import (
    LANES,
    AwaitGrids,
    Barrier,
    GlobalLoad,
    GlobalTensor,
    InitBarriers,
    KernelIR,
    Loop,
    Op,
    ReleaseGrids,
    Role,
    Roles,
    Stmt,
    Tiles,
    Wgmma,
    When,
)
from polyvolta.cuda.ir.walk import operations, put
from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Bound, Call, Extreme, For, If
from polyvolta.sched.loops.scan import Scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Set, Tuple, aff, var
from polyvolta.sets.text.show_expressions import PAPER_ASCII, show_aff
from polyvolta.sets.values.simplify import Range, interval, simplify
from polyvolta.sets.values.space import Space

FULL = "a full tile: everything is inside"


class NotLowered(CudaError):
    """Loops that the kernel's language cannot say: bounds or conditions with alternatives."""

    id = "PV516"


def lower(
    name: str,
    schedule: Schedule,
    scan: Scan,
    promotion: Promotion,
    tensors: tuple[GlobalTensor, ...],
    sizes: tuple[str, ...],
    scalars: tuple[str, ...] = (),
    context: tuple[tuple[str, int], ...] = (),
    dependent: bool = False,
) -> KernelIR:
    """The kernel that a scanned, promoted tree describes.

    Parameters
    ----------
    name : of the C function.
    schedule : the tree that was scanned, for comments and errors.
    sizes, scalars, tensors : the kernel's arguments.
    context : what is required of the sizes, pairs (size, multiple).
    dependent : whether it may start while the grids before it run.

    Raises
    ------
    NotLowered : a bound or a condition of the loops has alternatives.

    Cost: some simplifications for each call, a few milliseconds.
    """
    threads = promotion.threads
    own: dict[str, Range] = {"linearId": (0, threads - 1), "lane": (0, LANES - 1), "warp": (0, threads // LANES - 1)}
    if promotion.producing:
        own["rank"] = (0, promotion.makers.warps * LANES - 1)
    if (turns := promotion.turns) is not None:
        own |= dict.fromkeys((turns.turn, *(name for name, _ in turns.counters)), (0, None))
    ranges: dict[str, Range] = {**scan.ranges, **own}
    before = (AwaitGrids("await_grids"), ReleaseGrids("release_grids")) if dependent else ()
    rows, cols = promotion.cluster
    lowering = _Lowering(schedule, promotion.movements, ranges, promotion.roles, turns, promotion.registers,
                         (cols, rows, promotion.parts), promotion.grid)  # fmt: skip
    body = lowering.body(scan.body, before)
    grid = tuple(scan.extents.get(f"blockIdx.{axis}", aff(1)) for axis in "xyz")
    return KernelIR(
        name,
        sizes,
        tensors,
        promotion.arrays.tiles,
        promotion.arrays.registers,
        threads,
        derived_names(scan, promotion.makers, bool(promotion.producing)),
        {n: (low, high) for n, (low, high) in lowering.ranges.items() if low is not None},
        (grid[0], grid[1], grid[2]),
        context,
        body,
        scalars,
        barriers=promotion.arrays.barriers,
        maps=promotion.arrays.maps,
        dependent=dependent,
        cluster=lowering.cluster,
    )


def derived_names(scan: Scan, makers: Makers = ONE_WARP, roles: bool = False) -> tuple[tuple[str, Aff], ...]:
    """lane and warp from linearId, and the warp's indices as digits of its number, x fastest, z slowest; likewise a
    thread's rank in its warpgroup, and the warpgroup's indices.

    Parameters
    ----------
    roles : whether there are warps behind those that make products, whose digits begin again.

    >>> extents = {"linearId": aff(256), "warpIdx_x": aff(2), "warpIdx_y": aff(2), "warpIdx_z": aff(2)}
    >>> for name, e in derived_names(Scan((), extents))[1:]:
    ...     print(name, "=", e)
    warp = floor(linearId/32)
    warpIdx_x = warp mod 2
    warpIdx_y = floor(warp/2) mod 2
    warpIdx_z = floor(warp/4)
    """
    out = [("lane", var("linearId") % LANES), ("warp", var("linearId") // LANES)]
    rest = var("warp")
    if makers.warps > 1:
        out.append(("rank", var("linearId") % (makers.warps * LANES)))
        rest = rest // makers.warps
    y, x, z = makers.names
    mapped = [name for name in (x, y, z) if name in scan.extents]
    left = prod(scan.extents[name].const for name in mapped)
    for name in mapped:
        extent = scan.extents[name].const
        left //= extent
        out.append((name, rest % extent if left > 1 or roles else rest))
        rest = rest // extent
    return tuple(out)


# ---- full and partial tiles


@dataclass(frozen=True, slots=True)
class Item:
    """A statement of the IR in two versions.

    Parameters
    ----------
    partial : for any tile.
    full : for full tiles, those where all of `conditions` hold; the same thing where there are none.
    inside : the body of a condition, whose choice may be made inside it.
    """

    partial: Stmt
    full: Stmt
    conditions: tuple[Aff, ...] = ()
    inside: tuple[Item, ...] = ()


def chosen(items: Iterable[Item]) -> tuple[Stmt, ...]:
    """The statements, with a choice between the versions for full and partial tiles around neighbours that have it."""
    out: list[Stmt] = []
    for differ, group in groupby(items, key=lambda i: bool(i.conditions)):
        run = tuple(group)
        if not differ:
            out += [i.partial for i in run]
        elif len(run) == 1 and run[0].inside:
            assert isinstance(run[0].partial, When)
            out.append(replace(run[0].partial, body=chosen(run[0].inside)))
        else:
            conditions = all_conditions(run)
            uniform = not any(e.names() & PER_THREAD for e in conditions)
            full, partial = tuple(i.full for i in run), tuple(i.partial for i in run)
            out.append(When(conditions, full, uniform, FULL, partial))
    return tuple(out)


def all_conditions(items: Iterable[Item]) -> tuple[Aff, ...]:
    """The conditions of all items together."""
    return tuple(dict.fromkeys(e for i in items for e in i.conditions))


def both(items: Iterable[Item], around: Callable[[tuple[Stmt, ...]], Stmt], inside: bool = False) -> Item:
    """A loop or a condition around the partial and around the full versions."""
    items = tuple(items)
    partial, full = (around(tuple(getattr(i, version) for i in items)) for version in ("partial", "full"))
    return Item(partial, full, all_conditions(items), items if inside else ())


def without_guards(stmt: Op | Loop) -> Op | Loop:
    """An operation, or a loop of them, where everything is inside of its tensor."""
    if isinstance(stmt, Loop):
        return replace(stmt, body=tuple(map(without_guards, stmt.body)))  # type: ignore[arg-type]
    return stmt.unguarded()


# ---- loops, conditions, calls


def rounded(e: Aff, ranges: Mapping[str, Range]) -> Aff:
    """A form that is at least 0 where `e` is, without the part of it that can't make up for a step of the rest.

    >>> print(rounded(2 * var("k") + var("z"), {"z": (0, 1)}), rounded(var("k") - 32 * var("b") - 32, {}))
    k k - 32*b - 32
    """
    step = max((abs(c) for _, c in e.terms), default=1)
    whole = Aff(tuple((x, c // step) for x, c in e.terms if not c % step), 0)
    rest = e - whole * step
    low, high = interval(rest, ranges)
    return e if low is None or high is None or low // step != high // step else whole + low // step


class _Lowering:
    def __init__(
        self, schedule: Schedule, movements: Mapping[str, Movement], ranges: Mapping[str, Range],
        roles: Mapping[str, tuple[int, int]] = MappingProxyType({}), turns: Turns | None = None,
        registers: Mapping[str, int] = MappingProxyType({}), cluster: Extents = ALONE,
        grid: Mapping[str, Aff] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.schedule, self.movements, self.ranges, self.roles = schedule, movements, dict(ranges), roles
        self.turns, self.registers, self.cluster, self.grid = turns, registers, cluster, dict(grid)

    def body(self, nodes: tuple[Ast, ...], before: tuple[Op, ...] = ()) -> tuple[Stmt, ...]:
        """The kernel's program: what the blocks of roles hold is theirs, behind the beginning of their barriers.

        Parameters
        ----------
        before : what all threads do before they reach global memory.
        """
        parts = {n.mark: n for n in marked(nodes) if n.mark in self.roles}
        if not parts:
            return *before, *chosen(self.items(nodes))
        made = [role for name in self.roles for role in self.role(name, parts[name])]
        init = When((-var("linearId"),), (InitBarriers("init"),), False, "one thread begins the barriers' phases")
        if self.cluster == ALONE:
            return init, Barrier("block", "sync_init"), *before, Roles(tuple(made))
        met, behind = self.met(made)
        sync = Barrier("cluster", "sync_init")
        return init, sync, *before, Roles(met), *behind, Barrier("cluster", "sync_end")

    def met(self, roles: Sequence[Role]) -> tuple[tuple[Role, ...], tuple[Stmt, ...]]:
        """The roles up to where one of them meets the other blocks of the cluster, which all warps do, and what that
        one does from there on."""
        out: list[Role] = []
        behind: tuple[Stmt, ...] = ()
        for role in roles:
            at = next((k for k, s in enumerate(role.body) if isinstance(s, Barrier) and s.scope == "cluster"), None)
            if at is not None:
                mine = (var("warp") - role.first,) if role.first else ()
                mine += (role.first + role.warps - 1 - var("warp"),)
                behind = (*behind, role.body[at], When(mine, role.body[at + 1 :], False, role.name))
                role = replace(role, body=role.body[:at])
            out.append(role)
        return tuple(out), behind

    def role(self, name: str, part: Block) -> Iterator[Role]:
        """A role's program: that of one tile, or of one after the other and what is behind them.

        Consumers that take turns at tiles are as many roles.
        """
        body, turns, (first, warps) = chosen(self.items(part.body)), self.turns, self.roles[name]
        registers = self.registers.get(name, 0)
        if turns is None:
            yield Role(name, first, warps, body, registers)
            return
        takers, closing = (turns.takers, turns.closing) if name == CONSUMER else (1, ())
        for n in range(takers):
            tiles = Tiles(turns.turn, turns.counters, body, n, takers)
            own = warps // takers
            yield Role(f"{name}{n}" if takers > 1 else name, first + own * n, own, (tiles, *closing), registers)

    def items(self, nodes: tuple[Ast, ...]) -> list[Item]:
        """The statements of a part of the code."""
        return [i for n in nodes for i in self.item(n)]

    def item(self, node: Ast) -> Iterator[Item]:
        match node:
            case Block():
                yield from self.items(node.body)
            case For(v, lower, upper, step, unroll, inner):
                lows, highs = self.single(lower, node), self.single(upper, node)
                known = self.ranges
                if len(lows) == len(highs) == 1 and lows[0].is_constant:  # another loop may have the same name
                    self.ranges = {**known, v: (lows[0].const, highs[0].const if highs[0].is_constant else None)}
                elif len(lows) == len(highs) == 1 and lows[0].names() | highs[0].names() == {PART_OF_CLUSTER}:
                    known = {**known, v: (interval(lows[0], known)[0], interval(highs[0], known)[1])}
                    self.ranges = known
                items = self.items(inner)
                self.ranges = {**self.ranges, v: known[v]}
                unroll = unroll or _fills(lows, highs, items)
                around = partial(Loop, v, lows, highs, step, unroll, comment=self.loop_comment(node))
                if any(v in e.names() for e in all_conditions(items)):
                    done = around(body=chosen(items))
                    yield Item(done, done)
                else:
                    yield both(items, lambda body: around(body=body))
            case If(stated, inner):
                assert not node.other, "scans for kernels are not parted, and have no other branches"
                conditions: list[Aff] = []
                for c in stated:
                    if isinstance(c, AnyOf):
                        self.refuse("a condition with alternatives", node, "a filter or a guard in one piece")
                    kind, e = c
                    both_ways = (e, -e) if kind == "eq" else (rounded(e, self.ranges),)
                    conditions += [c for c in both_ways if not self.holds(c)]
                if not conditions:
                    yield from self.items(inner)
                    return
                differs = any(e.names() & PER_THREAD for e in conditions)
                comment = self.comment(inner)
                yield both(self.items(inner), lambda b: When(tuple(conditions), b, not differs, comment), inside=True)
            case Call(name, args):
                yield from self.call(self.movements[name], args)

    def call(self, m: Movement, args: tuple[Aff, ...]) -> Iterator[Item]:
        """A movement's operations with the call's arguments put in."""
        values = dict(zip(m.dims, args, strict=True))
        for op in m.ops:
            if isinstance(op, Loop):
                self.ranges[op.var] = (op.lower[0].const, op.upper[0].const)
        made: dict[Aff, Aff] = {}

        def at_call(e: Aff) -> Aff:
            if e not in made:
                made[e] = simplify(e, self.ranges, values)
            return made[e]

        full = [(e, *interval(e, self.ranges)) for e in map(at_call, m.full)]
        never = any(high is not None and high < 0 for _, _, high in full)
        unsure = () if never else tuple(e for e, low, _ in full if low is None or low < 0)
        for op in m.ops:
            stmt = put(op, at_call)
            if isinstance(stmt, Wgmma):  # from some strip on accumulators count in any trip
                stmt = replace(stmt, adds=tuple(e for e in stmt.adds if not self.holds(e)))
            inside = without_guards(stmt) if full and not never else stmt
            yield Item(stmt if unsure else inside, inside, unsure)

    def holds(self, e: Aff) -> bool:
        """Whether `e >= 0` for all values of its names."""
        low, _ = interval(e, self.ranges)
        return (low is not None and low >= 0) or (bool(self.grid) and self.of_grid(e))

    def of_grid(self, e: Aff) -> bool:
        """Whether `e >= 0` for all blocks of a grid of whole clusters: what a block beyond the result has in common
        with the others of its cluster."""
        own = [n for n in e.names() if n in self.grid]
        if not own or not e.names() <= {*self.grid, *(x for n in own for x in self.grid[n].names())}:
            return False
        names = tuple(sorted({x for n in own for x in (n, *self.grid[n].names(), *e.names())}))
        rows = [("ge", x) for n in own for x in (var(n), self.grid[n] - 1 - var(n))]
        against = conjunction(names, [*rows, ("ge", -e - 1)])
        return Set._of((), [(Space(None, Tuple(None, names)), against)]).is_empty()

    def single(self, bounds: tuple[Bound, ...], loop: For) -> tuple[Aff, ...]:
        """Bounds that are one expression each."""
        if not bounds:
            raise NotLowered(
                "a kernel has no form for a loop that never ends",
                where=self.schedule.marked(loop.at),
                hint="bound the domain of the statements",
            )

        def one(b: Bound) -> Aff:
            if not isinstance(b, Aff):
                kind = f"is a {b.kind}imum" if isinstance(b, Extreme) else "differs by conditions"
                self.refuse(f"a bound that {kind}", loop, '"separate" loops')
            return b

        return tuple(map(one, bounds))

    def refuse(self, what: str, node: For | If, instead: str) -> NoReturn:
        """A kernel's loops and conditions are plainer than those of a scan."""
        raise NotLowered(
            f"a kernel has no form for {what}, which the loops of this tree have",
            where=self.schedule.marked(node.at),
            hint=f"statements whose instances differ share this place of the tree; {instead} would do without",
        )

    # ---- comments

    def loop_comment(self, loop: For) -> str:
        """The band member that a loop scans, by statement, and what happens if that is one thing."""
        member = self.schedule.band(loop.at).members[loop.member]
        by_expr: dict[str, list[str]] = {}
        table = dict(member.exprs)
        called = [s for s in _called(loop.body) if s in table]
        for s in [s for s in called if self.movements[s].phrase] or called:  # barriers go without saying
            e = table[s]
            by_expr.setdefault(show_aff(e, PAPER_ASCII) if isinstance(e, Aff) else str(e), []).append(s)
        what = self.comment(loop.body)
        text = "; ".join(f"{', '.join(names)} -> {e}" for e, names in by_expr.items())
        return f"BAND: {text}" + (f"  ({what})" if what and ";" not in what else "")

    def comment(self, inner: tuple[Ast, ...]) -> str:
        """What the statements below a loop or condition do, in the order in which they first come."""
        phrases = dict.fromkeys(self.movements[n].phrase for n in _called(inner))
        phrases.pop("", None)
        return "; ".join(phrases)


def _fills(lows: tuple[Aff, ...], highs: tuple[Aff, ...], items: Iterable[Item]) -> bool:
    """Whether a loop is the few trips that fill a ring of copies, before what computes: unrolled, none tests what of it
    runs in it, and the fragments that the last one loads are not loaded under a condition. Where the sum's length is
    known, the trips that multiply have constant bounds, too, and are as many as it takes. What goes through registers
    is one trip's at a time: of unrolled trips the compiler would hold all, and lack registers."""
    ops = [op for item in items for op in operations((item.full,))]
    constant = all(e.is_constant for e in (*lows, *highs))
    through_registers = any(isinstance(op, GlobalLoad) for op in ops)
    return constant and any(op.commits for op in ops) and not any(op.product for op in ops) and not through_registers


def marked(nodes: tuple[Ast, ...]) -> Iterator[Block]:
    """The marked parts of some code, wherever they stand."""
    for n in nodes:
        if isinstance(n, Block):
            yield n
        yield from marked(n.body) if not isinstance(n, Call) else ()


def _called(nodes: tuple[Ast, ...]) -> list[str]:
    out: dict[str, None] = {}
    for n in nodes:
        out.update(dict.fromkeys([n.statement] if isinstance(n, Call) else _called(n.body)))
    return list(out)
