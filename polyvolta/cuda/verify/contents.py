"""What memories hold, followed through a kernel: every value read is what the graph says should be there.

This is a translation validation: the kernel runs on symbols (`symbolic`), each value in registers and shared memory
carries a tag that says what it is (`values`), and three statements are decided on the way.

fresh   what is read from shared memory was written there, for this k tile. A fragment's values must be the tile's
        elements: at tile-local element (r, c) lies the operand's element `origin` + (r, c), with one origin for all
        lanes of all warps. The products check that it is the tile that is due.
sums    every sum takes each k from 0 to K once (`products`, `sums`).
result  what is stored at an element is the graph's expression of that element (`results`).

What other kinds of proof decide is taken for granted here: that accesses are within bounds, that barriers separate
writes from reads. Values are real numbers; where they are rounded is in the kernel's text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyvolta.cuda import kernel_ir as kir
from polyvolta.cuda.ir_walk import IrPath
from polyvolta.cuda.kernel_ir import CHUNK, KernelIR, Loop
from polyvolta.cuda.verify import memories as mem
from polyvolta.cuda.verify import sums
from polyvolta.cuda.verify.empty_sums import Finished, Waiting
from polyvolta.cuda.verify.expressions import Meaning, extent_of
from polyvolta.cuda.verify.memories import HIGH, LOW, WHOLE, Memories
from polyvolta.cuda.verify.products import Products
from polyvolta.cuda.verify.results import check_store
from polyvolta.cuda.verify.symbolic import Here, Undecided
from polyvolta.cuda.verify.values import (
    UNKNOWN,
    Computed,
    Load,
    Scalar,
    Skeleton,
    Sum,
    Table,
    Tags,
    combinations,
    composed,
    element_text,
    leaves_of,
)
from polyvolta.graph.dag import Graph
from polyvolta.sets import Aff, var

Moved = tuple[Skeleton, tuple[int, ...]]  # a skeleton said anew, and what is added to its coordinates


class Contents:
    """The client of the symbolic machine that follows what memories hold."""

    proofs = ("fresh", "sums", "result")

    def __init__(self, ir: KernelIR, graph: Graph) -> None:
        self.ir, self.meaning, self.table = ir, Meaning(graph), Table()
        self.products = Products(self.table, self.meaning)
        self.finished: dict[IrPath, Finished] = {}

    # ---- the client's part

    def start(self, ir: KernelIR) -> Memories:
        """Memories that nothing was written to."""
        return Memories.of(ir)

    def step(self, state: Memories, here: Here) -> None:
        """An operation."""
        effect = EFFECTS.get(type(here.op))
        if effect is None:
            raise Undecided(f"what a {type(here.op).__name__} does to memories is not known here")
        state.settle()
        effect(self, state, here)

    def next_trip(self, state: Memories, loop: Loop, here: Here) -> None:
        """Tags said with the loop variable's next value."""
        replaced = var(loop.var) - loop.step

        def moved(skeleton: Skeleton) -> Moved:
            if isinstance(skeleton, Sum):
                total, problem = sums.next_trip(skeleton, loop.var, loop.step, self.meaning)
                sums.report(problem, here)
                return total, (0, 0)
            return substituted(skeleton, loop.var, replaced)

        self._rename(state, moved)

    def leave(self, state: Memories, loop: Loop, last: Aff | None, here: Here) -> None:
        """Sums without the loop variable; what was loaded for its tiles is known no more, and nobody should need it."""

        def moved(skeleton: Skeleton) -> Moved | None:
            if isinstance(skeleton, Sum):
                total = sums.left(skeleton, loop.var, last, self.meaning, here)
                over.append(total != skeleton)
                return total, (0, 0)
            names = {n for x in leaves_of(skeleton) if isinstance(x, Load) for b in x.base for n in b.names()}
            return None if loop.var in names else (skeleton, ())

        over: list[bool] = []
        self._rename(state, moved)
        finished = self.finished.setdefault(here.path, Finished())
        if any(over):
            finished.registers = {n: r.copy() for n, r in state.registers.items() if self._sums(r)}
        elif empty := frozenset(n for n, p in enumerate(self.meaning.products) if here.holds(-p.depth)):
            state.waiting = Waiting(finished, empty, self.table)

    def finish(self, state: Memories, here: Here) -> None:
        """Nothing is left to see when the program ends."""

    def _sums(self, tags: Tags) -> bool:
        return any(isinstance(self.table[int(k)], Sum) for k in np.unique(tags.kind) if k != UNKNOWN)

    def _rename(self, state: Memories, moved: Callable[[Skeleton], Moved | None]) -> None:
        known: dict[int, tuple[int, tuple[int, ...]]] = {}
        for tags in state.arrays():
            kinds = np.flatnonzero(np.bincount(tags.kind.ravel() + 1)) - 1
            new = np.arange(-1, max(int(kinds[-1]), 0) + 1, dtype=np.int32)  # number -> number, from -1 on
            shift = np.zeros((len(new), tags.at.shape[-1]), np.int32)
            for kind in (int(k) for k in kinds if k != UNKNOWN):
                if kind not in known:
                    found = moved(self.table[kind])
                    known[kind] = (UNKNOWN, ()) if found is None else (self.table.number(found[0]), found[1])
                number, by = known[kind]
                new[kind + 1] = number
                shift[kind + 1, : len(by)] = by
            if shift.any():
                tags.at += shift[tags.kind + 1]
            if (new != np.arange(-1, len(new) - 1)).any():
                tags.kind = new[tags.kind + 1]
                if UNKNOWN in new[1:]:
                    tags.at[tags.kind == UNKNOWN] = 0

    # ---- operations

    def zero(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.Zero)
        shape = state.element(op.target, here).kind.shape
        state.write(op.target, Tags(np.full(shape, self.table.zero, np.int32), np.zeros((*shape, 2), np.int32)), here)

    def scale(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.Scale)
        values = state.element(op.target, here)
        kinds = values.kind.copy()
        for (kind,), where in combinations([values.kind], here.mask):
            total = self.table[kind] if kind != UNKNOWN else None
            if not isinstance(total, Sum):
                here.refute("sums", f"{op.target.array} is scaled before anything was summed in it")
                continue
            kinds[... if where is None else where] = self.table.number(sums.scaled(total, op.factor))
        state.write(op.target, Tags(kinds, values.at), here)

    def global_load(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.GlobalLoad)
        parts = [here.split(e) for e in op.index]
        kind = self.table.number(Load(op.tensor, tuple(base for base, _ in parts)))
        along = [np.arange(CHUNK) * (d == op.along) for d in range(len(parts))]
        at = np.stack([x[..., None] + a for (_, x), a in zip(parts, along, strict=True)], -1).astype(np.int32)
        state.write(op.target, Tags(np.full(at.shape[:-1], kind, np.int32), at), here)

    def pointwise(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.Pointwise)
        operands = [state.element(x, here) if isinstance(x, kir.Element) else x for x in op.operands]
        arrays = [x for x in operands if isinstance(x, Tags)]
        shape = state.element(op.target, here).kind.shape
        if not arrays:  # a formula of scalars alone
            arrays_kinds = [np.zeros(shape, np.int32)]
        else:
            arrays_kinds = [x.kind for x in arrays]
        result = Tags.unknown(*shape)
        coordinates = [x.at for x in arrays]
        for kinds, where in combinations(arrays_kinds, here.mask):
            if arrays and UNKNOWN in kinds:
                name = [x.array for x in op.operands if isinstance(x, kir.Element)][kinds.index(UNKNOWN)]
                here.refute("result", f"{op.name} reads {name}, which nothing was loaded to", warp=0, lane=0)
                continue
            numbers = iter(kinds)
            parts = [Scalar(x) if isinstance(x, str) else self.table[next(numbers)] for x in operands]
            skeleton = composed(op.formula, parts)
            widths = [p.width for p in parts if not isinstance(p, Scalar)]
            at = [c[..., :w] for c, w in zip(coordinates, widths, strict=True)]
            joint = np.concatenate(at, -1) if at else np.zeros((*shape, 0), np.int32)
            if any(isinstance(p, Computed) and p.vanishes for p in parts):
                raise Undecided(f"{op.name} computes with what is an operand of a product already")
            skeleton = self._vanishing(skeleton, joint, where, here)
            made = Tags(np.full(shape, self.table.number(skeleton), np.int32), joint)
            if joint.shape[-1] < 2:
                made.at = np.concatenate([joint, np.zeros((*shape, 2 - joint.shape[-1]), np.int32)], -1)
            result.put((), made, where)
        state.write(op.target, result, here)

    def _vanishing(self, skeleton: Skeleton, at: np.ndarray, where: np.ndarray | None, here: Here) -> Skeleton:
        """The skeleton, marked if it is 0 beyond the k range of the product whose operand it is."""
        op = here.op
        assert isinstance(op, kir.Pointwise)
        if not isinstance(skeleton, Computed):
            return skeleton
        sides = [(s, which) for which in "ab" for s in self.meaning.sides(skeleton, which)]
        if not sides:
            if op.inside is not None:
                text = element_text(skeleton, at[0, 0, 0], self.meaning.arrays)
                here.refute("result", f"{text} is no operand of the graph's products", warp=0, lane=0)
            return skeleton
        side, which = sides[0]
        p = self.meaning.products[side.product]
        base, columns, extent = side.bases[1], side.columns[1], p.depth
        active = np.ones(at.shape[:-1], bool) if where is None else where
        if here.mask is not None:
            active = active & here.mask[..., None]
        k = at[..., columns[0]]
        if op.inside is None:
            inside = side.vanishes or here.holds(extent - 1 - base - int(k[active].max()))
            return Computed(skeleton.formula, skeleton.leaves, inside)
        vanishes = side.vanishes
        for d, (e, end) in enumerate(zip(op.inside.index, op.inside.extents, strict=True)):
            symbolic, numbers = here.split(e)
            place = numbers[..., None] + np.arange(CHUNK) * (d == op.inside.along)
            kept = []
            for own, column, size in zip(
                side.bases, side.columns, (extent_of(p.extents[0 if which == "a" else 1]), extent)
            ):
                wrong = (place != at[..., column[0]]) & active
                kept.append((symbolic == own and end == size, wrong))
            fits = [n for n, (same, wrong) in enumerate(kept) if same and not wrong.any()]
            if not fits:
                _, wrong = kept[1]
                warp, lane, value = np.argwhere(wrong if wrong.any() else active)[0]
                text = element_text(skeleton, at[warp, lane, value], self.meaning.arrays)
                edge = f"{symbolic + int(place[warp, lane, value])} < {end}"
                here.refute("result", f"{text} is kept where {edge}, and 0 elsewhere", warp=int(warp), lane=int(lane))
                vanishes = True  # said once
            vanishes = vanishes or 1 in fits
        return Computed(skeleton.formula, skeleton.leaves, vanishes)

    def shared_store(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.SharedStore)
        state.store(mem.stored_slots(op, here), state.element(op.source, here), here)

    def fragment_load(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.FragmentLoad)
        count = self.ir.register(op.target.array).width
        slots, local = mem.loaded_slots(op, here, count)
        values, halves, writers = state.load(slots)
        active = np.ones(slots.shape, bool) if here.mask is None else np.broadcast_to(here.mask[..., None], slots.shape)
        bad = ((values.kind == UNKNOWN) | (halves != WHOLE)) & active
        if bad.any():
            at = tuple(int(x) for x in np.argwhere(bad)[0])
            writer = state.writer(int(writers[at]))
            why = "before anything was written there" if writer is None else "where no value of this loop lies"
            if halves[at] != WHOLE:
                why = "where half of an fp32 value lies"
            self._unread(op, local, slots, at, why, here, writer)
        else:
            self._check_tile(op, values, local, slots, writers, active, state, here)
        state.write(op.target, values, here)

    def _check_tile(
        self,
        op: kir.FragmentLoad,
        values: Tags,
        local: tuple[np.ndarray, ...],
        slots: np.ndarray,
        writers: np.ndarray,
        active: np.ndarray,
        state: Memories,
        here: Here,
    ) -> None:
        """At each tile-local element lies the operand's, counted from one origin."""
        first: tuple | None = None
        for (kind,), where in combinations([values.kind], here.mask):
            sides = self.meaning.sides(self.table[kind], op.operand)
            chosen = active if where is None else where & active
            at = tuple(int(x) for x in np.argwhere(chosen)[0])
            if not sides:
                text = element_text(self.table[kind], values.at[at], self.meaning.arrays)
                here.refute(
                    "result", f"{op.tile} has {text}, no operand {op.operand} of a product", warp=at[0], lane=at[1]
                )
                return
            side = sides[0]
            line, depth = (values.at[..., c[0]] for c in side.columns)
            row, column = (line, depth) if op.operand == "a" else (depth, line)
            origin = (*side.bases, int(row[at]) - int(local[0][at]), int(column[at]) - int(local[1][at]))
            first = first or origin
            wrong = chosen & ((row - local[0] != first[2]) | (column - local[1] != first[3]))
            if origin[:2] != first[:2]:
                wrong = chosen
            if wrong.any():
                at = tuple(int(x) for x in np.argwhere(wrong)[0])
                found = element_text(self.table[kind], values.at[at], self.meaning.arrays)
                bases = first[:2] if op.operand == "a" else first[1::-1]
                due = ", ".join(str(b + o + int(x[at])) for b, o, x in zip(bases, first[2:], local, strict=True))
                why = f"where {found} lies, and element [{due}] of the operand is due"
                self._unread(op, local, slots, at, why, here, state.writer(int(writers[at])))
                return

    def _unread(
        self,
        op: kir.FragmentLoad,
        local: tuple[np.ndarray, ...],
        slots: np.ndarray,
        at: tuple[int, ...],
        why: str,
        here: Here,
        writer: Any,
    ) -> None:
        place = ", ".join(str(int(x[at])) for x in local)
        what = f"warp {at[0]}, lane {at[1]} reads {op.tile}[{place}] {why}"
        address = mem.slot_text(int(slots[at]), self.ir)
        here.refute("fresh", what, warp=at[0], lane=at[1], address=address, other=writer)

    def mma(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.Mma)
        d, a, b = (state.element(x, here) for x in (op.d, op.a, op.b))
        state.write(op.d, self.products.multiplied(here, d, a, b), here)

    def exchange_store(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.ExchangeStore)
        slots, order, size = mem.exchanged_slots(op, here)
        values = state.element(op.source, here).values(order)
        for half in range(size):
            state.store(slots + half, values, here, WHOLE if size == 1 else (LOW, HIGH)[half])

    def exchange_load(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.ExchangeLoad)
        parts = []
        for part in range(op.parts):
            slots, size = mem.gathered_slots(op, part, here)
            values, halves, writers = state.load(slots)
            bad = (values.kind == UNKNOWN) | (halves != (WHOLE if size == 1 else LOW))
            if size == 2:
                other, high, _ = state.load(slots + 1)
                width = max(values.at.shape[-1], other.at.shape[-1])
                bad |= (high != HIGH) | (other.kind != values.kind)
                bad |= (other.at[..., :width] != values.at[..., :width]).any(-1)
            if here.mask is not None:
                bad &= here.mask[..., None]
            if bad.any():
                at = tuple(int(x) for x in np.argwhere(bad)[0])
                writer = state.writer(int(writers[at]))
                why = "before anything was written there" if writer is None else "where no whole value lies"
                address = mem.slot_text(int(slots[at]), self.ir)
                what = f"warp {at[0]}, lane {at[1]} reads {op.buffer} {why}"
                here.refute("fresh", what, warp=at[0], lane=at[1], address=address, other=writer)
            parts.append(values)
        state.write(op.target, parts[0] if op.parts == 1 else self._summed(parts, here), here)

    def _summed(self, parts: list[Tags], here: Here) -> Tags:
        """The sum of the parts of a split K."""
        result = Tags(parts[0].kind.copy(), parts[0].at.copy())
        for kinds, where in combinations([p.kind for p in parts], here.mask):
            skeletons = [self.table[k] if k != UNKNOWN else None for k in kinds]
            if not all(isinstance(s, Sum) for s in skeletons):
                here.refute("sums", "what is added up is no sum of products", warp=0, lane=0)
                continue
            filled = [
                (s, p.at[..., :2]) for s, p in zip(skeletons, parts, strict=True) if isinstance(s, Sum) and s.terms
            ]
            total: Sum = self.table[self.table.zero]  # type: ignore[assignment]
            place = parts[0].at[..., :2] if not filled else filled[0][1]
            for s, at in filled:
                if total.terms and s.base != total.base:
                    here.refute("sums", "parts of different elements are added up", warp=0, lane=0)
                wrong = (at != place).any(-1)
                if where is not None:
                    wrong &= where
                if here.mask is not None:
                    wrong &= here.mask[..., None]
                if wrong.any():
                    spot = tuple(int(x) for x in np.argwhere(wrong)[0])
                    texts = [element_text(x, p[spot], self.meaning.arrays) for x, p in ((s, at), (filled[0][0], place))]
                    here.refute("sums", f"{texts[0]} is added to {texts[1]}", warp=spot[0], lane=spot[1])
                total, problem = sums.together(total, s, self.meaning)
                sums.report(problem, here)
            made = Tags(np.full(result.kind.shape, self.table.number(total), np.int32), place)
            result.put((), made, where)
        return result

    def global_store(self, state: Memories, here: Here) -> None:
        op = here.op
        assert isinstance(op, kir.GlobalStore)
        check_store(self.table, self.meaning, here, state.element(op.source, here))

    def barrier(self, state: Memories, here: Here) -> None:
        """Whether barriers are where they should be is shown elsewhere."""


def substituted(skeleton: Skeleton, name: str, replaced: Aff) -> Moved:
    """A skeleton with an expression for a name, and what that adds to its coordinates."""
    leaves, shifts = [], []
    for leaf in leaves_of(skeleton):
        if isinstance(leaf, Load) and any(name in b.names() for b in leaf.base):
            bases = [b.subs({name: replaced}) for b in leaf.base]
            leaves.append(Load(leaf.tensor, tuple(b - b.const for b in bases)))
            shifts += [b.const for b in bases]
        else:
            leaves.append(leaf)
            shifts += [0] * leaf.width
    made = Computed(skeleton.formula, tuple(leaves), skeleton.vanishes) if isinstance(skeleton, Computed) else leaves[0]
    return made, tuple(shifts)


EFFECTS: dict[type, Callable[[Contents, Memories, Here], None]] = {
    kir.Zero: Contents.zero,
    kir.Scale: Contents.scale,
    kir.GlobalLoad: Contents.global_load,
    kir.Pointwise: Contents.pointwise,
    kir.SharedStore: Contents.shared_store,
    kir.FragmentLoad: Contents.fragment_load,
    kir.Mma: Contents.mma,
    kir.ExchangeStore: Contents.exchange_store,
    kir.ExchangeLoad: Contents.exchange_load,
    kir.GlobalStore: Contents.global_store,
    kir.Barrier: Contents.barrier,
}

CLIENTS = (Contents,)
