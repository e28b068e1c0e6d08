"""What memories hold, followed through a kernel: every value read is what the graph says should be there.

This is a translation validation: the kernel runs on symbols (`symbolic`), each value in registers and shared memory
carries a tag that says what it is (`values`), and three statements are decided on the way.

fresh   what is read from shared memory was written there, for this k tile. A fragment's values must be the tile's
        elements: at tile-local element (r, c) lies the operand's element `origin` + (r, c), with one origin for all
        lanes of all warps. The products check that it is the tile that is due.
sums    every sum takes each k from 0 to K once (`products`, `sums`).
result  what is stored at an element is the graph's expression of that element (`results`).

What other kinds of proof decide is taken for granted here: that accesses are within bounds, that barriers separate
writes from reads. Values are real numbers, and fp32 is taken for them. fp16 and bf16 aren't: what was rounded to one
of them may be stored or multiplied by the tensor cores, and computed with no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK, KernelIR, Loop, StoreMatrix
from polyvolta.cuda.ir.walk import IrPath, arrays_of, operations
from polyvolta.cuda.verify.engine.memories import SHARED, SLOT, Memories
from polyvolta.cuda.verify.engine.rings import Turn, places
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.report.records import Verdict
from polyvolta.cuda.verify.values import sums
from polyvolta.cuda.verify.values.effects import apply
from polyvolta.cuda.verify.values.empty_sums import Finished, Waiting
from polyvolta.cuda.verify.values.engines.knowledge import Knowledge
from polyvolta.cuda.verify.values.engines.phases import entered, said_with
from polyvolta.cuda.verify.values.expressions import Meaning, extent_of
from polyvolta.cuda.verify.values.products import Products
from polyvolta.cuda.verify.values.values import UNKNOWN, Computed, Load, Skeleton, Sum, Table, Tags, leaves_of
from polyvolta.graph.dag import Graph
from polyvolta.sets import Aff, aff, var

Moved = tuple[Skeleton, tuple[int, ...]]  # a skeleton said anew, and what is added to its coordinates


class Contents:
    """The client of the symbolic machine that follows what memories hold."""

    proofs = ("fresh", "sums", "result")

    def __init__(self, ir: KernelIR, graph: Graph) -> None:
        self.ir = ir
        self.meaning, self.table = Meaning(graph), Table()
        self.known = Knowledge(self.meaning, self.table, Products(self.table, self.meaning))
        self.finished: dict[IrPath, Finished] = {}
        self.moves: dict[IrPath, Mapping[str, Moves]] = {}  # of loops
        stored = {name for op in operations(ir.body) for name in arrays_of(op, ir)[1]}
        self.unstored = [name for name in self.meaning.outputs if name not in stored]

    def start(self, ir: KernelIR) -> Memories:
        """Memories that nothing was written to."""
        return Memories.of(ir)

    def step(self, state: Memories, here: Here) -> None:
        """An operation."""
        state.settle()
        apply(self.known, state, here)

    def enter(self, state: Memories, loop: Loop, start: Aff, here: Here) -> None:
        """Tiles that are there before the loop, in the words of those that it loads itself.

        At c2 = 0 an element A[i, k] is A[i, 64*c2 + k]; so it can be compared with what a later trip loads.
        """
        since = var(loop.var) - start
        state.phases = entered(state.phases, loop, start)
        if here.path not in self.moves:
            self.moves[here.path] = moves_of(loop, self.ir)
        for name, moves in self.moves[here.path].items():
            state.own(name if name in state.registers else SHARED)
            self._rename([self._part(state, name)], lambda x, moves=moves: ahead(x, moves, loop.var, since))

    def _part(self, state: Memories, name: str) -> Tags:
        """What a register array or a tile holds, a view."""
        if name in state.registers:
            return state.registers[name]
        tile = self.ir.tile(name)
        return state.shared[CHUNK * tile.start : CHUNK * (tile.start + tile.buffers * tile.chunks)]

    def next_trip(self, state: Memories, loop: Loop, here: Here) -> None:
        """Tags said with the loop variable's next value."""
        replaced = var(loop.var) - loop.step

        def moved(skeleton: Skeleton) -> Moved:
            if isinstance(skeleton, Sum):
                total, problem = sums.next_trip(skeleton, loop.var, loop.step, self.meaning)
                sums.report(problem, here)
                return total, (0, 0)
            return substituted(skeleton, loop.var, replaced)

        state.own()
        state.phases = said_with(state.phases, loop.var, replaced)
        self._rename(state.arrays(), moved)

    def turn(self, state: Memories, by: Turn) -> None:
        """Slots of rings numbered anew."""
        state.turn(places(self.ir, by, SLOT))

    def leave(self, state: Memories, loop: Loop, last: Aff | None, here: Here) -> None:
        """Sums without the loop variable; what else the loop wrote is known no more, and nobody should need it.

        Where the sizes are numbers it is known: nothing may be refuted there that doesn't happen.
        """
        past = here.condition.value(var(loop.var)) if here.exact else None
        if past is None:
            self._forget(state, loop)
        state.phases = said_with(state.phases, loop.var, last if past is None else aff(past))
        over: list[bool] = []

        def moved(skeleton: Skeleton) -> Moved | None:
            if isinstance(skeleton, Sum):
                total = sums.left(skeleton, loop.var, last, self.meaning, here)
                over.append(total != skeleton)
                return total, (0, 0)
            if past is not None:
                return substituted(skeleton, loop.var, aff(past))
            names = {n for x in leaves_of(skeleton) if isinstance(x, Load) for b in x.base for n in b.names()}
            return None if loop.var in names else (skeleton, ())

        state.own()
        self._rename(state.arrays(), moved)
        finished = self.finished.setdefault(here.path, Finished())
        if any(over):
            finished.registers = {n: r.copy() for n, r in state.registers.items() if self._is_sum(r).any()}
        elif empty := frozenset(n for n, p in enumerate(self.meaning.products) if here.holds(-p.depth)):
            state.waiting = Waiting(finished, empty, self.table)

    def finish(self, state: Memories, here: Here) -> None:
        """An output that the kernel has no store to."""
        for name in self.unstored:
            what = f"nothing is ever stored to {name}, which the graph has as an output"
            nonempty = [extent_of(d) - 1 for t in self.meaning.graph.outputs if t.name == name for d in t.dims]
            here.refute("result", what, where=tuple(nonempty), address=name)

    def shown(self, proof: str) -> Verdict:
        """What is shown, with the relations of this kernel.

        Raises
        ------
        Undecided : a result whose formula can't be held against the graph's.
        """
        names, known = self.meaning.names, self.known
        if proof == "fresh":
            results = {op.tile for op in operations(self.ir.body) if isinstance(op, StoreMatrix)}
            tiles = [t.name for t in self.ir.tiles if t.layout is not None and t.name not in results]
            statement = f"what fragments read of {' and '.join(tiles)} was written there, for the k tile that is due"
            return Verdict(statement, "; ".join(n for t in tiles for n in known.tiles.get(t, ())))
        if proof == "sums":
            statement = f"each k of {' and of '.join(names)} is summed once, and none beyond; sums are fp32"
            return Verdict(statement, "; ".join(self._covered(n) for n in range(len(names))))
        for unknown in known.notes.unknown:
            raise unknown
        stored = ", ".join(self.meaning.outputs)
        relation = "; ".join(f"{self.meaning.text(name)}{self._computed(name)}" for name in self.meaning.outputs)
        statement = f"what is stored at an element of {stored} is the graph's expression of it, as real numbers"
        return Verdict(f"{statement}, before rounding", relation)

    def _covered(self, number: int) -> str:
        """How a product's k are summed."""
        p, masks = self.meaning.products[number], [*self.known.parts.get(number, ())]
        k = f"0 <= k < {p.depth}"
        tile = self.known.notes.covered.get(number)
        if tile is None:
            return f"{self.meaning.names[number]}: {{ {k} }}"
        text = f"{self.meaning.names[number]}: {{ k = {tile}*t + o : {k} and 0 <= o < {tile} }}"
        if len(masks) > 1:
            text += f", o of {len(masks)} parts: {' | '.join(map(sums.ranges, masks))}"
        return text

    def _computed(self, name: str) -> str:
        """How the kernel computes an output, if that is not how the graph writes it."""
        other = [*self.known.notes.computed.get(name, ())]
        return f", computed as {' or '.join(other)}" if other else ""

    def _is_sum(self, tags: Tags) -> np.ndarray:
        """Which values are sums, finished or not."""
        sums_ = [isinstance(x, Sum) for x in self.table.skeletons]
        return np.array([*sums_, False])[tags.kind]  # the last one is UNKNOWN's

    def _forget(self, state: Memories, loop: Loop) -> None:
        """What a loop wrote, sums apart, counts as never written: it belonged to its k tiles."""
        written = {name for op in operations(loop.body) for name in arrays_of(op, self.ir)[1]}
        state.own()
        for name in written & state.registers.keys():
            tags = state.registers[name]
            tags.forget(~self._is_sum(tags))
        for tile in (t for t in self.ir.tiles if t.name in written):
            part = slice(CHUNK * tile.start, CHUNK * (tile.start + tile.buffers * tile.chunks))
            tags = state.shared[part]
            gone = ~self._is_sum(tags)
            tags.forget(gone)
            state.halves[part][gone] = 0

    def _rename(self, arrays: Iterable[Tags], moved: Callable[[Skeleton], Moved | None]) -> None:
        """Say tags anew, in place: another skeleton, and so much more in its coordinates; None: it is forgotten."""
        known: dict[int, tuple[int, tuple[int, ...]]] = {}
        for tags in arrays:
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
                tags.kind[...] = new[tags.kind + 1]
                if UNKNOWN in new[1:]:
                    tags.forget(tags.kind == UNKNOWN)


Moves = Mapping[str, tuple[int, ...]]  # tensor -> how far its loads move in each dimension, a step of the variable


def moves_of(loop: Loop, ir: KernelIR) -> Mapping[str, Moves]:
    """How far what a loop brings to each register array and tile moves when its variable goes up by 1.

    That is followed from the loads of tensors on, from array to array, and known where all that come to an array move
    alike, and move at all. One tensor may move in two ways, as A does in A @ A.
    """
    found: dict[str, dict[str, set[tuple[int, ...]]]] = {}
    ops = [op for op in operations(loop.body) if op.product is None]
    while True:
        before = sum(len(ways) for own in found.values() for ways in own.values())
        for op in ops:
            read, written = arrays_of(op, ir)
            loads = [a for a in op.accesses(ir) if a.space == "global" and not a.writes]
            moved = [(a.array, tuple(dict(e.terms).get(loop.var, 0) for e in a.index)) for a in loads]
            moved += [(t, way) for name in read for t, ways in found.get(name, {}).items() for way in ways]
            for name in written:
                for tensor, way in moved:
                    found.setdefault(name, {}).setdefault(tensor, set()).add(way)
        if before == sum(len(ways) for own in found.values() for ways in own.values()):
            break
    alike = {
        name: {tensor: one for tensor, (one, *more) in own.items() if any(one) and not more}
        for name, own in found.items()
    }
    return {name: own for name, own in alike.items() if own}


def ahead(skeleton: Skeleton, moves: Moves, name: str, since: Aff) -> Moved:
    """A skeleton in the words of the loads of a loop with variable `name`, which is `since` behind its start: at
    c2 = 0 an element A[i, k] is A[i, 64*c2 + k]."""
    leaves = leaves_of(skeleton)
    if not any(isinstance(x, Load) and x.tensor in moves for x in leaves):
        return skeleton, (0,) * sum(x.width for x in leaves)
    made, shifts = [], []
    for x in leaves:
        if not isinstance(x, Load):
            made.append(x)
            shifts += [0] * x.width
            continue
        steps = moves.get(x.tensor, (0,) * x.width)
        bases = [b if name in b.names() else b + c * since for b, c in zip(x.base, steps, strict=True)]
        made.append(Load(x.tensor, tuple(b - b.const for b in bases)))
        shifts += [b.const for b in bases]
    return (replace(skeleton, leaves=tuple(made)) if isinstance(skeleton, Computed) else made[0]), tuple(shifts)


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
    made = replace(skeleton, leaves=tuple(leaves)) if isinstance(skeleton, Computed) else leaves[0]
    return made, tuple(shifts)


CLIENTS = (Contents,)
