"""A ring of k tiles, trip by trip: one thread of a kernel, its operations carried out as what they mean for tiles.

The kernel's loops are run with numbers. Of a copy only its tile counts, of a fragment its tile and strip. A buffer of
shared memory is *visible* with a tile, or not: a copy makes it unknown from the moment that it is issued; the wait for
its group makes it arrive; a barrier makes it visible. What a thread may not do is an AssertionError that says so.

Nothing of the compiler is used but the IR's own fields and the values of its expressions.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Barrier,
    CommitCopies,
    FragmentLoad,
    GlobalLoad,
    LoadMatrix,
    Loop,
    Mma,
    SharedStore,
    WaitCopies,
    When,
)


@dataclass
class Trace:
    """What happened, and what there is at the moment.

    Parameters
    ----------
    depth : of a tile of K, and of one strip.
    k_of : the tensors' dimension along K, by name.
    """

    sizes: dict
    depth: tuple[int, int]
    k_of: dict
    buffers: dict = field(default_factory=dict)  # (tile array, slot) -> [tile, group or None, visible, arrived]
    read: set = field(default_factory=set)  # buffers that were read since the last barrier
    groups: list = field(default_factory=list)  # tiles of each committed group, oldest first
    issued: set = field(default_factory=set)
    registers: dict = field(default_factory=dict)
    products: dict = field(default_factory=lambda: defaultdict(list))
    staged: dict = field(default_factory=dict)
    stored: dict = field(default_factory=dict)  # tiles that were stored from registers, in order, by tile array
    pending: list = field(default_factory=list)  # (pending, groups committed, group needed by the next reads)
    awaited: int = 0  # how many groups are complete
    barriers: int = 0

    def run(self, body, names) -> None:
        for s in body:
            match s:
                case Loop():
                    low = max(e.evaluate(names) for e in s.lower)
                    high = min(e.evaluate(names) for e in s.upper)
                    for value in range(low, high + 1, s.step):
                        self.run(s.body, {**names, s.var: value})
                case When():
                    holds = all(e.evaluate(names) >= 0 for e in s.conditions)
                    self.run(s.body if holds else s.orelse, names)
                case _:
                    self.step(s, names)

    def step(self, op, names) -> None:
        at = lambda e: int(e.evaluate(names))  # noqa: E731
        match op:
            case AsyncCopy():
                tile = at(op.index[self.k_of[op.tensor]]) // self.depth[0]
                self.overwritten(op.tile, at(op.buffer), tile)
                self.buffers[op.tile, at(op.buffer)] = [tile, len(self.groups), False, False]
                self.issued.add(tile)
            case CommitCopies():
                self.groups.append(frozenset(self.issued))
                self.issued = set()
            case WaitCopies(pending):
                complete = len(self.groups) - pending
                self.awaited = max(self.awaited, complete)
                self.pending.append((pending, len(self.groups)))
                for held in self.buffers.values():
                    if held[1] is not None and held[1] < complete:
                        held[3] = True
            case GlobalLoad():
                self.staged[op.target.array] = at(op.index[self.k_of[op.tensor]]) // self.depth[0]
            case SharedStore():
                tile = self.staged[op.source.array]
                self.overwritten(op.tile, at(op.buffer), tile)
                self.buffers[op.tile, at(op.buffer)] = [tile, None, False, True]
                self.stored[op.tile] = tuple(dict.fromkeys((*self.stored.get(op.tile, ()), tile)))
            case Barrier(scope="block"):
                self.barriers += 1
                self.read = set()
                for held in self.buffers.values():
                    held[2] = held[3]
            case LoadMatrix() | FragmentLoad():
                slot = op.tile, at(op.buffer)
                tile, _, visible, arrived = self.buffers[slot]
                assert arrived, f"{slot} is read before tile {tile} has arrived"
                assert visible, f"{slot} is read before a barrier after tile {tile} arrived"
                self.read.add(slot)
                k = at(op.origin[1 if op.operand == "a" else 0])
                self.registers[op.target.array, tuple(map(at, op.target.index))] = tile, k // self.depth[1]
            case Mma():
                a, b = (self.registers[e.array, tuple(map(at, e.index))] for e in (op.a, op.b))
                assert a == b, f"tiles and strips {a} of A by {b} of B"
                self.products[op.d.array, tuple(map(at, op.d.index))].append(a)

    def overwritten(self, array, slot, tile) -> None:
        assert (array, slot) not in self.read, f"buffer {slot} of {array} is overwritten while others may read it"
        held = self.buffers.get((array, slot))  # a tile is copied in several parts
        assert held is None or held[3] or held[0] == tile, f"buffer {slot} of {array} is overwritten on its way"


def traced(kernel, sizes) -> Trace:
    """The trace of thread 0 of block (0, 0)."""
    ir = kernel.ir
    depth = kernel.options.step[2], kernel.target.macro_mma(kernel.options.macro_mma).shape[2]
    shared = [kernel.graph.inputs[n] for n in range(len(kernel.graph.inputs))]
    k_of = {t.name: [str(d) for d in t.dims].index("K") for t in shared if "K" in map(str, t.dims)}
    names = {**sizes, **dict.fromkeys(("linearId", "blockIdx.x", "blockIdx.y"), 0)}
    for name, e in ir.derived:
        names[name] = int(e.evaluate(names))
    trace = Trace(sizes, depth, k_of)
    trace.run(ir.body, names)
    return trace
