"""Memory promotion: the copies between global memory, shared memory and registers enter the tree.

Which data each level of the schedule touches is asked of the access relations: the inverse of the bands above
a level, followed by the access, is the level's *footprint*; its box hull is a tile, at an offset in the outer
members, of constant size (the paper's "Global, Shared and Register Data Tiles"). From the block's footprint of
an operand come the loads, global memory to registers, 128 bits a thread and cyclic over the block's threads,
and the stores to shared memory; from the warp's footprints, contracted by the macro-MMA's shape, the operand
fragments, the accumulator fragments and the stores of the result.

Each copy is a statement whose instances an Extension node adds, and a `Movement` that says what an instance
does, in expressions of its own dimensions. What is known here of the statement: it is a
contraction of two operands to a result of two dimensions, and a macro-MMA performs a tile of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.kernel_ir import CHUNK
from polyvolta.cuda.macro_mma import MacroMma
from polyvolta.cuda.movements import Movement, Tile
from polyvolta.graph.statements import Access, Statement
from polyvolta.sched.passes.split import split
from polyvolta.sched.tree import Band, Extension, Filter, Member, Node, Path, Schedule
from polyvolta.sched.tree import Sequence as InOrder
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.box import box_hull
from polyvolta.sets.build import RowBuilder
from polyvolta.sets.conjunct import reindex, universe
from polyvolta.sets.simplify import simplify
from polyvolta.sets.space import Space, distinct


class CannotPromote(CudaError):
    """A data tile that cannot be copied as asked."""

    id = "PV512"


@dataclass(frozen=True, slots=True)
class Promotion:
    """The promoted tree, its movements by statement, and its tiles by operand."""

    schedule: Schedule
    movements: Mapping[str, Movement]
    tiles: Mapping[str, Tile]


@dataclass(frozen=True, slots=True)
class Levels:
    """Where the bands of a mapped and strip-mined tree are: block (with the k tiles), warp, strip and point."""

    block: Path = (0,)
    warp: Path = (0, 0)
    strip: Path = (0, 0, 0)
    point: Path = (0, 0, 0, 0)


def promote(
    fine: Schedule,
    contracted: Schedule,
    statement: Statement,
    orders: Mapping[str, tuple[int, ...]],
    macro: MacroMma,
    threads: int,
    context: Set,
    levels: Levels = Levels(),
) -> Promotion:
    """Insert the copies that the operands and the result of a contraction need.

    Parameters
    ----------
    fine : the tree before domain contraction, whose instances are the scalar ones.
    contracted : the tree to insert into.
    orders : memory order of each tensor's dimensions.
    threads : of a block.
    context : what may be assumed of the sizes.

    Raises
    ------
    CannotPromote : a tile that is not full, or not a multiple of 8 values along its contiguous dimension.
    """
    p = _Promoter(fine, contracted, statement, orders, macro, threads, context, levels)
    return p.run()


class _Promoter:
    def __init__(self, fine, contracted, statement, orders, macro, threads, context, levels) -> None:  # noqa: ANN001
        self.fine, self.tree, self.statement, self.macro = fine, contracted, statement, macro
        self.orders, self.threads, self.context, self.levels = orders, threads, context, levels
        self.movements: dict[str, Movement] = {}
        block, warp = fine.band(levels.block), fine.band(levels.warp)
        strip = fine.band(levels.strip)
        taken = (*context.param_names, *statement.iterators)
        self.names = distinct(("by", "bx", "kt", "wy", "wx", "ks", "c", "t", "f", "f0", "f1"), taken)
        by, bx, kt, wy, wx, ks, self.c, self.t, self.f, self.f0, self.f1 = self.names
        s = statement.name
        self.outer = _dims(block.members[:2], s, (by, bx))
        self.tile = (*self.outer, *_dims(block.members[2:], s, (kt,)))
        warps = _dims(warp.members, s, (wy, wx, wx + "'"))
        self.result = (*self.outer, *(d for d in warps if d[0] is not None))
        self.full = (*self.tile, *warps, *_dims(strip.members, s, (wy + "'", wx + "'", ks)))
        self.domain = statement.domain.intersect_params(context)
        self.operands = [a for a in statement.reads if a.tensor != statement.write.tensor]

    # ---- footprints

    def footprint(self, dims: Sequence[tuple[str | None, Aff]], access: Access) -> Map:
        """{ [outer members] -> tensor[element] }: what the instances at given outer members touch."""
        named = [(d, e) for d, e in dims if d is not None]
        names = (*self.domain.param_names, *self.statement.iterators, *(d for d, _ in named))
        c = RowBuilder(names).conjunct([("eq", e - var(d)) for d, e in named])
        space = Space(Tuple(self.statement.name, self.statement.iterators), Tuple(None, tuple(d for d, _ in named)))
        members = Map._of(self.domain.param_names, [(space, (c,))]).intersect_domain(self.domain)
        return members.reverse().apply_range(access.relation)

    def tile_of(self, access: Access, operand: str, block_dims, warp_dims) -> tuple[Tile, Map, Map]:  # noqa: ANN001
        extents = dict(zip(self.contracted_iterators(), self.macro.shape))
        block, warp = self.footprint(block_dims, access), self.footprint(warp_dims, access)
        boxes = []
        for footprint in (block, warp):
            box = box_hull(footprint)
            if not box.relation(footprint).is_subset(footprint):
                raise CannotPromote(
                    f"the tile of {access.tensor} is not full: its box reaches beyond what is accessed",
                    where=str(footprint),
                    hint="sizes must be multiples of the block tile",
                )
            boxes.append(box)
        order = self.orders[access.tensor]
        if boxes[0].size[order[-1]] % CHUNK:
            raise CannotPromote(f"the tile of {access.tensor} is no multiple of {CHUNK} along its contiguous dimension")
        copies = -(-prod(boxes[0].size) // CHUNK // self.threads)
        fragment = tuple(extents[i] for i in access.index)
        return Tile(access.tensor, order, operand, boxes[0], boxes[1], copies, fragment), block, warp

    def contracted_iterators(self) -> tuple[str, str, str]:
        """The iterators that the macro-MMA's m, n and k tile: the result's two, and the reduction."""
        m, n = self.statement.write.index
        (k,) = (i for i in self.statement.iterators if i not in (m, n))
        return m, n, k

    # ---- statements

    def add(self, name: str, dims: Sequence[str], kind: str, **what: object) -> str:
        self.movements[name] = Movement(name, tuple(dims), kind, **what)
        return name

    def instances(self, name: str, dims: Sequence[str], prefix: Sequence[str | None], of: Set, bounds) -> Map:  # noqa: ANN001
        """The extension { [outer members] -> name[dims] }.

        The leading `dims` are a point of `of`, further ones keep to `bounds`, pairs (expression, extent); `prefix`
        names the dimension that each outer member equals, None for a member that is constant.
        """
        inputs = tuple(d + "@" if d else f"_{k}" for k, d in enumerate(prefix))
        out = Tuple(name, tuple(dims))
        anything = Set._of(of.param_names, [(of.space, (universe(len(of.param_names) + len(of.space.out.dims)),))])
        of = of.gist(anything.intersect_params(self.context))
        n_par = len(of.param_names)
        lead = tuple(range(n_par + len(of.space.out.dims)))
        wide = tuple(reindex(c, n_par + len(dims), lead) for c in of.parts[0][1])
        inside = [b for e, extent in bounds for b in (("ge", e), ("ge", extent - 1 - e))]
        box = RowBuilder((*of.param_names, *dims)).conjunct(inside)
        instances = Set._of(of.param_names, [(Space(None, out), wide)]) & Set._of(
            of.param_names, [(Space(None, out), (box,))]
        )
        here = [("eq", var(i) - var(d)) for i, d in zip(inputs, prefix) if d]
        above = RowBuilder((*of.param_names, *inputs, *dims)).conjunct(here)
        return Map._of(of.param_names, [(Space(Tuple(None, inputs), out), (above,))]).intersect_range(instances)

    def run(self) -> Promotion:
        tiles = {}
        extensions: dict[str, list[Map]] = {"outer": [], "strip": []}
        loads, stores, fragments = [], [], []
        tile_dims = [d for d, _ in self.tile]
        full_dims = [d for d, _ in self.full if d is not None]
        for access, operand in zip(self.operands, "ab", strict=True):
            tile, block, warp = self.tile_of(access, operand, self.tile, self.full)
            tiles[operand] = tile
            local, q, total = self.copy_index(tile)
            self.check_cover(tile, local, q, total)
            dims = (*tile_dims, self.c, self.t)
            names = {
                "kind": "global_load",
                "tensor": tile.tensor,
                "element": (var(self.c),),
                "operand": operand,
            }
            loads.append(self.add(f"load_{tile.tensor}", dims, index=_plus(tile.block.offset, local), **names))
            stores.append(self.add(f"store_{tile.tensor}", dims, index=local, **{**names, "kind": "shared_store"}))
            bounds = ((var(self.t), self.threads), (var(self.c), tile.copies), (q, total))
            for name in (loads[-1], stores[-1]):
                extensions["outer"].append(self.instances(name, dims, tile_dims[:2], block.domain(), bounds))
            origin = self.fragment_origin(tile, var(self.f))
            local_origin = tuple(o - b for o, b in zip(_plus(tile.warp.offset, origin), tile.block.offset))
            dims = (*full_dims, self.f)
            fragments.append(self.add(f"frag_{tile.tensor}", dims, "fragment_load", tensor=tile.tensor,
                                      index=local_origin, element=(var(self.f),), operand=operand))  # fmt: skip
            bounds = ((var(self.f), prod(tile.fragments)),)
            prefix = [d for d, _ in self.full]
            extensions["strip"].append(self.instances(fragments[-1], dims, prefix, warp.domain(), bounds))
            barriers = block.domain()
        syncs = []
        for name in ("sync_write", "sync_read"):
            syncs.append(self.add(name, tile_dims, "barrier"))
            extensions["outer"].append(self.instances(name, tile_dims, tile_dims[:2], barriers, ()))
        tiles["d"], zero, store, found = self.accumulator()
        extensions["outer"] += found
        self.contraction(tiles)
        tree = self.tree_with(loads, stores, syncs, fragments, zero, store, extensions)
        return Promotion(tree, self.movements, tiles)

    def accumulator(self) -> tuple[Tile, str, str, list[Map]]:
        """The accumulator fragments: zeroed before, stored after everything else of a block."""
        access = self.statement.write
        tile, _, warp = self.tile_of(access, "d", self.outer, self.result)
        dims = (*(d for d, _ in self.result), self.f0, self.f1)
        element = (var(self.f0), var(self.f1))
        origin = tuple(e * f for e, f in zip(element, tile.fragment))
        zero = self.add(f"zero_{tile.tensor}", dims, "zero", tensor=tile.tensor, element=element, operand="d")
        store = self.add(f"store_{tile.tensor}", dims, "store", tensor=tile.tensor, element=element,
                         index=_plus(tile.warp.offset, origin), operand="d")  # fmt: skip
        bounds = tuple(zip(element, tile.fragments))
        outer = [d for d, _ in self.outer]
        return (
            tile,
            zero,
            store,
            [self.instances(n, dims, outer, warp.domain(), bounds) for n in (zero, store)],
        )

    def copy_index(self, tile: Tile) -> tuple[tuple[Aff, ...], Aff, int]:
        """The tile-local element of a thread's copy number c: chunks are dealt out cyclically, line by line."""
        line_dim, run_dim = tile.order
        width = tile.block.size[run_dim] // CHUNK
        q = var(self.c) * self.threads + var(self.t)
        ranges = {self.t: (0, self.threads - 1), self.c: (0, tile.copies - 1)}
        local = [aff(0), aff(0)]
        local[line_dim], local[run_dim] = simplify(q // width, ranges), simplify(q % width * CHUNK, ranges)
        return tuple(local), q, tile.block.size[line_dim] * width

    def check_cover(self, tile: Tile, local: Sequence[Aff], q: Aff, total: int) -> None:
        """Prove, by enumeration, that the threads' copies of 8 values cover a tile and touch each element once.

        Raises
        ------
        CannotPromote : an element is missed, copied twice or outside of the tile.
        """
        copies, threads = np.meshgrid(np.arange(tile.copies), np.arange(self.threads), indexing="ij")
        values = {self.c: copies, self.t: threads}
        runs = tile.order[-1]
        index = [
            np.asarray(e.evaluate(values))[..., None] + np.arange(CHUNK) * (d == runs) for d, e in enumerate(local)
        ]
        done = np.broadcast_to((np.asarray(q.evaluate(values)) < total)[..., None], (*copies.shape, CHUNK))
        first, second = (np.broadcast_to(x, done.shape)[done] for x in index)
        rows, cols = tile.block.size
        inside = ((first >= 0) & (first < rows) & (second >= 0) & (second < cols)).all()
        if not inside or not np.array_equal(np.sort(first * cols + second), np.arange(rows * cols)):
            raise CannotPromote(f"the copies of {tile.tensor}'s tile do not cover its {rows}x{cols} elements once each")

    @staticmethod
    def fragment_origin(tile: Tile, f: Aff) -> tuple[Aff, ...]:
        """The element of the warp's tile where fragment number f starts; fragments are numbered row by row."""
        origin, rest = [], f
        ranges = {n: (0, prod(tile.fragments) - 1) for n in f.names()}
        for k, (count, extent) in enumerate(zip(tile.fragments, tile.fragment)):
            inner = prod(tile.fragments[k + 1 :])
            origin.append(simplify(rest // inner % count, ranges) * extent)
        return tuple(origin)

    def contraction(self, tiles: Mapping[str, Tile]) -> None:
        """What an instance of the contracted statement does: which fragments its macro-MMA works on."""
        of_member = {d: e for d, e in self.full if d is not None}
        places = {}
        for operand, access in zip("abd", (*self.operands, self.statement.write), strict=True):
            tile = tiles[operand]
            offset = tuple(o.subs(of_member) for o in tile.warp.offset)
            place = [(var(i) - o) // f for i, o, f in zip(access.index, offset, tile.fragment)]
            if operand != "d":
                linear = aff(0)
                for e, count in zip(place, tile.fragments):
                    linear = linear * count + e
                place = [linear]
            places[operand] = tuple(place)
        s = self.statement
        self.movements[s.name] = Movement(
            s.name,
            s.iterators,
            "mma",
            s.write.tensor,
            element=(*places["d"], *places["a"], *places["b"]),
            operand="d",
        )

    # ---- the tree

    def tree_with(self, loads, stores, syncs, fragments, zero, store, extensions) -> Schedule:  # noqa: ANN001
        s = self.statement.name
        tree = split(self.tree, self.levels.block, 2)
        outer = tree.band(self.levels.block)
        tiles = outer.child
        strip = tree.band((*self.levels.strip, 0))
        point = strip.child
        warp = tree.band((*self.levels.warp, 0))
        kt = self.tile[-1][0]
        f = var(self.f)

        fragment_band = _band([(n, (f,)) for n in fragments], unroll=True, child=_sequence(fragments))
        strip_kids = InOrder(
            (
                Filter(tuple(fragments), fragment_band),
                Filter((s,), _unrolled(point)),
            )
        )
        compute = Band(warp.members, Band(_unrolled(strip).members, Extension(_union(extensions["strip"]), strip_kids),
                                          strip.permutable), warp.permutable)  # fmt: skip

        def copies(names: list[str]) -> Node:
            threads = _band([(n, (var(self.t),)) for n in names], name="linearId", child=_sequence(names))
            return _band([(n, (var(self.c),)) for n in names], unroll=True, child=threads)

        pipeline = InOrder(
            (
                Filter(tuple(loads), copies(loads)),
                Filter((syncs[0],)),
                Filter(tuple(stores), copies(stores)),
                Filter((syncs[1],)),
                Filter((s,), compute),
            )
        )
        added = (*loads, *stores, *syncs)
        loop = Band(tuple(_with(m, [(n, var(kt)) for n in added]) for m in tiles.members), pipeline, tiles.permutable)
        whole = InOrder(
            (
                Filter((zero,), self.result_band(warp, zero)),
                Filter((*loads, *stores, *syncs, s), loop),
                Filter((store,), self.result_band(warp, store)),
            )
        )
        block = Band(outer.members, Extension(_union(extensions["outer"]), whole), outer.permutable)
        return tree.replace(self.levels.block, block)

    def result_band(self, warp: Band, name: str) -> Node:
        """Over the warps, then over the accumulator fragments of one."""
        dims = [d for d, _ in self.result[len(self.outer) :]]
        mapped = [m for m in warp.members if m.name]
        members = tuple(Member(((name, var(d)),), True, m.name) for d, m in zip(dims, mapped, strict=True))
        points = tuple(Member(((name, var(d)),), True, None, True) for d in (self.f0, self.f1))
        return Band(members, Band(points))


def _dims(members: Sequence[Member], statement: str, names: Sequence[str]) -> tuple[tuple[str | None, Aff], ...]:
    """(name, expression) of band members for a statement; the name is None for a constant one."""
    out = []
    for m, name in zip(members, names, strict=True):
        e = m.of(statement)
        out.append((None if e.is_constant else name, e))
    return tuple(out)


def _plus(a: Sequence[Aff], b: Sequence[Aff]) -> tuple[Aff, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _band(exprs, name: str | None = None, unroll: bool = False, child: Node | None = None) -> Band:  # noqa: ANN001
    """A one-member band over several statements."""
    return Band((Member(tuple((s, e) for s, (e,) in exprs), True, name, unroll),), child)


def _sequence(names: Sequence[str]) -> Node:
    return InOrder(tuple(Filter((n,)) for n in names))


def _with(member: Member, exprs: Sequence[tuple[str, Aff]]) -> Member:
    return Member((*member.exprs, *exprs), member.coincident, member.name, member.unroll)


def _unrolled(band: Band) -> Band:
    return Band(tuple(Member(m.exprs, m.coincident, m.name, True) for m in band.members), band.child, band.permutable)


def _union(maps: Sequence[Map]) -> Map:
    out = maps[0]
    for m in maps[1:]:
        out = out | m
    return out
