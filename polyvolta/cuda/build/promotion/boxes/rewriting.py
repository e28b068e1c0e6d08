"""A right operand that is computed on the way: threads rewrite its stage in shared memory.

        FILTER: full[by, bx, kt]             until all bytes have come
        FILTER: apply_B[by, bx, kt, wy, c, t]
          BAND: apply_B → [warpgroupIdx_y, rank]
            BAND: apply_B → [c]
        FILTER: seen_B[by, bx, kt]           what was written is there for the tensor cores
        FILTER: sync_B[by, bx, kt]           until all have written
        ...
        FILTER: S[i, j, k]

Tensor cores take a right operand from shared memory alone. So the threads of all warpgroups that multiply share out the
chunks of the tile, cyclically: each loads some, computes, and stores them where they were. Products of the tile before
run on meanwhile. A fence makes what a thread stored seen past the threads, and a barrier of all who multiply stands
between the last store and the first product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from polyvolta.cuda.build.promotion.boxes.loop import BoxedLoop
from polyvolta.cuda.build.promotion.model import (
    WARP,
    CannotPromote,
    Movement,
    operation_name,
    staging_name,
)
from polyvolta.cuda.build.promotion.strips import grouped
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    Barrier,
    Element,
    Inside,
    Op,
    Pointwise,
    ProxyFence,
    RegisterArray,
    SharedLoad,
    SharedStore,
)
from polyvolta.sched.nodes import Band, Filter, Member, Node
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.simplify import Range, interval, simplify
from polyvolta.sets.values.space import distinct

Bounds = tuple[tuple[Aff, int], ...]
RANK = "rank"


@dataclass(frozen=True, slots=True)
class Step:
    """What stands below one filter of a k tile's sequence.

    Parameters
    ----------
    movements : of its statements.
    node : the loops below it.
    bounds : of the statements' own dimensions, by statement: pairs (e, extent), 0 <= e < extent.
    """

    movements: tuple[Movement, ...]
    node: Node | None = None
    bounds: Mapping[str, Bounds] = field(default_factory=dict)

    @property
    def filter(self) -> Filter:
        """The filter of its statements, with its loops."""
        names = tuple(m.statement for m in self.movements)
        return Filter(names) if self.node is None else Filter(names, self.node)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The right operand of a product, rewritten where it lies.

    Parameters
    ----------
    loop : the k loop.
    threads : of a warpgroup.
    """

    loop: BoxedLoop
    threads: int

    @property
    def extents(self) -> list[int]:
        """How many warpgroups there are along each of them."""
        nest = self.loop.nest
        return [1 + (interval(nest.members[k].of(nest.statement), {})[1] or 0) for k in self.loop.mapped]

    @property
    def names(self) -> tuple[str, str]:
        """Of a copy's number, and of a thread's in its warpgroup."""
        nest = self.loop.nest
        c, t = distinct(("c", "t"), (*(n for n in nest.names if n), *nest.iterators, *nest.real.param_names))
        return c, t

    @property
    def chunks(self) -> int:
        """Of a tile."""
        rows, cols = self.loop.sides[1].block.size
        return rows * cols // CHUNK

    @property
    def copies(self) -> int:
        """Chunks that each thread rewrites, at most: of the last ones not all threads have one."""
        return -(-self.chunks // (self.threads * prod(self.extents)))

    @property
    def name(self) -> str:
        return self.loop.sides[1].operand.name

    @property
    def registers(self) -> RegisterArray:
        return RegisterArray(staging_name(self.name), self.loop.macro.kind, (self.copies,))

    def chunk(self) -> tuple[Aff, dict[str, Range]]:
        """The number of the chunk in the names of the copy, the warpgroup and the thread, and what these range over."""
        c, t = self.names
        number, ranges = var(c), dict[str, Range]({c: (0, self.copies - 1), t: (0, self.threads - 1)})
        for k, n in zip(self.loop.mapped, self.extents, strict=True):
            own = str(self.loop.nest.names[k])
            number, ranges[own] = n * number + var(own), (0, n - 1)
        return self.threads * number + var(t), ranges

    def local(self) -> tuple[Aff, Aff]:
        """The first element of that chunk in the tile. Panels of boxes come one after the other: so threads that are
        neighbours have chunks that are neighbours in memory, and no bank conflicts."""
        (number, ranges), side = self.chunk(), self.loop.sides[1]
        line, run = side.order
        lines, width = side.block.size[line], side.plan.box.run // CHUNK
        panel, place = number // (lines * width), number % (lines * width)
        if side.plan.box.run == side.block.size[run]:  # one panel
            panel, place = aff(0), number
        at = {line: place // width, run: CHUNK * (width * panel + place % width)}
        return simplify(at[0], ranges), simplify(at[1], ranges)

    def steps(self) -> tuple[Step, ...]:
        """What stands between the wait for a tile and its products."""
        loop, (c, t) = self.loop, self.names
        nest, side = loop.nest, loop.sides[1]
        operand = side.operand
        of_groups = tuple(str(nest.names[k]) for k in self.loop.mapped)
        local, (number, _) = self.local(), self.chunk()
        ranges = (*zip(of_groups, self.extents, strict=True), (c, self.copies), (t, self.threads))
        _check_cover(local, number, ranges, side.block.size, side.order[1], operand.name)
        apply = f"apply_{operand.name}"
        target, place = Element(staging_name(operand.name), (var(c),)), (side.tile, local, loop.slot)
        called = operation_name(operand.formula, f"prologue_{operand.name}")
        ops: tuple[Op, ...] = (
            SharedLoad(target, *place, apply),
            Pointwise(target, called, operand.formula, (target, *operand.scalars), self._inside(local), apply),
            SharedStore(target, *place, apply),
        )
        phrase = f"the prologue of {operand.name}, in its stage"
        made = Movement(apply, (*loop.outer, *of_groups, c, t), ops, (), phrase)
        uneven = ((number, self.chunks),) if self.chunks % (self.threads * prod(self.extents)) else ()
        bounds = (*((var(n), x) for n, x in ranges), *uneven)
        by = [Member(((apply, var(n)),), True, nest.members[k].name, level=WARP)
              for n, k in zip(of_groups, self.loop.mapped)]  # fmt: skip
        by.append(Member(((apply, var(t)),), True, RANK))
        node = grouped([(made, self.copies, c)])
        if uneven:  # the loop is everybody's, and its last trip some threads'
            assert isinstance(node, Band)
            node = Band(node.members, Band(tuple(by)))
        else:
            node = Band(tuple(by), node)
        seen = loop.single(f"seen_{operand.name}", ProxyFence())
        sync = loop.single(f"sync_{operand.name}", Barrier("role"))
        return Step((made,), node, {apply: bounds}), Step((seen,)), Step((sync,))

    def _inside(self, local: tuple[Aff, Aff]) -> Inside | None:
        """Which values of a chunk lie in the product's k range; None where nothing need be said."""
        loop, side = self.loop, self.loop.sides[1]
        if not side.masked:
            return None
        index = side.block.offset[0].subs(loop.here) + local[0]
        extent = aff(str(loop.contraction.statement.extents[2]))
        return Inside((index,), (extent,), 0 if side.order[1] == 0 else None)


def _check_cover(
    local: tuple[Aff, Aff], number: Aff, names: tuple[tuple[str, int], ...], size: tuple[int, ...], run: int, what: str
) -> None:
    """Prove, by enumeration, that the threads' chunks cover a tile and touch each element once.

    Raises
    ------
    CannotPromote : an element is missed, touched twice or outside of the tile.
    """
    grid = np.meshgrid(*(np.arange(n) for _, n in names), indexing="ij")
    values = {name: x.ravel() for (name, _), x in zip(names, grid, strict=True)}
    chunk, row, col = (np.broadcast_to(np.asarray(e.evaluate(values)), grid[0].size) for e in (number, *local))
    there = chunk < prod(size) // CHUNK
    row, col = row[there], col[there]
    found = row * size[1] + col
    chunks = np.arange(size[0] * size[1]).reshape(size)
    first = chunks[:, ::CHUNK] if run == 1 else chunks[::CHUNK]
    inside = ((row >= 0) & (row < size[0]) & (col >= 0) & (col < size[1])).all()
    if not inside or not np.array_equal(np.sort(found), np.sort(first.ravel())):
        raise CannotPromote(f"threads don't rewrite each of the {size[0]}x{size[1]} elements of {what}'s tile once")
