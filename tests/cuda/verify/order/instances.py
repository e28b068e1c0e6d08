"""A kernel with roles as a graph of instances, for sizes that are numbers: an oracle without any relation.

Every thread's program is written out: its operations in their order, with the values of loops. Each operation begins
and ends; an edge says that the one is before the other in whatever order things happen:

    end -> begin               of a thread's next operation
    begin -> phase             of an arrival, or a box, that a phase needs; phase -> end of who waits for it
    begin -> meeting -> end    of a barrier, for all threads that meet
    begin -> done -> end       of a product by all its warpgroup's threads, and of a wait that covers it

What is reached from where is all that is certain. A cycle is a deadlock.
"""

from collections import defaultdict
from functools import cached_property

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    Barrier,
    BoxCopy,
    KernelIR,
    Loop,
    Roles,
    Tiles,
    Wgmma,
    WgmmaCommit,
    WgmmaWait,
    When,
)

GROUP = 128  # threads of a warpgroup


def program(ir: KernelIR, thread: int, sizes: dict[str, int], turns: int = 1) -> list[tuple]:
    """What a thread of block (0, 0, 0) does: (path, operation, values of all names); so many tiles, if blocks compute
    several, as if all were at one place."""
    values = {**sizes, "blockIdx.x": 0, "blockIdx.y": 0, "blockIdx.z": 0, "linearId": thread}
    for name, e in ir.derived:
        values[name] = e.evaluate(values)
    out: list[tuple] = []

    def run(body, at, first=0):
        for k, s in enumerate(body, first):
            path = (*at, k)
            match s:
                case Loop():
                    low = max(e.evaluate(values) for e in s.lower)
                    for v in range(low, min(e.evaluate(values) for e in s.upper) + 1, s.step):
                        values[s.var] = v
                        run(s.body, path)
                    values.pop(s.var, None)
                case When():
                    holds = all(e.evaluate(values) >= 0 for e in s.conditions)
                    run(s.body if holds else s.orelse, path, 0 if holds else len(s.body))
                case Tiles():
                    for turn in range(s.first, turns, s.step):
                        values[s.turn] = turn
                        values.update((n, turn * e.evaluate(values)) for n, e in s.counters)
                        run(s.body, path)
                    for n in (s.turn, *(n for n, _ in s.counters)):
                        values.pop(n, None)
                case Roles():
                    number = 0
                    for role in s.roles:
                        if role.first <= thread // 32 < role.first + role.warps:
                            run(role.body, path, number)
                        number += len(role.body)
                case _:
                    out.append((path, s, dict(values)))

    run(ir.body, ())
    return out


class Instances:
    """The graph of one block.

    Parameters
    ----------
    threads : those that are looked at: of each kind one in each warpgroup, of a warp's lanes one of the first two.
    turns : tiles that the block computes, if it is one that computes several.
    """

    def __init__(self, ir: KernelIR, sizes: dict[str, int], threads: list[int], turns: int = 1) -> None:
        self.ir, self.threads = ir, threads
        self.edges: dict[object, set] = defaultdict(set)
        self.at: dict[tuple, tuple] = {}  # (thread, path, loops) -> (thread, number)
        self.arrivals: dict[tuple, int] = defaultdict(int)
        self.bytes: dict[tuple, list[int]] = defaultdict(lambda: [0, 0])
        self.awaited: set[tuple] = set()
        self.touches: list[tuple] = []  # (writes, tile, buffer, begin, over)
        self.programs = {}
        for t in range(ir.threads):
            if t % 32 < 2:  # the other lanes of a warp do what its second one does
                self.programs[t] = program(ir, t, sizes, turns)
                for _, op, values in self.programs[t]:
                    self.count(op, values, 1 if t % 32 == 0 else 31)
            if t in threads:
                self.thread(t, self.programs[t])

    def phase(self, p, values) -> tuple:
        return "phase", p.barriers, p.slot.evaluate(values), p.number.evaluate(values)

    def count(self, op, values, threads: int) -> None:
        if isinstance(op, Arrive):
            self.arrivals[self.phase(op.phase, values)] += threads
            self.bytes[self.phase(op.phase, values)][0] += threads * op.bytes
        elif isinstance(op, BoxCopy):
            self.bytes[self.phase(op.phase, values)][1] += threads * self.ir.box_map(op.map).bytes

    def thread(self, t: int, ops: list[tuple]) -> None:
        last, groups, open_, meetings, products, warpgroup = None, [], [], 0, 0, 0
        for number, (path, op, values) in enumerate(ops):
            begin, end = ("begin", t, number), ("end", t, number)
            self.edges[begin].add(end)
            if last is not None:
                self.edges[last].add(begin)
            last = end
            loops = tuple(v for n, v in values.items() if n.startswith("c") or n in ("t", "part", "round"))
            self.at[t, path, loops] = t, number
            match op:
                case Arrive():
                    self.edges[begin].add(self.phase(op.phase, values))
                case Await():
                    p = self.phase(op.phase, values)
                    if p[-1] >= 0:
                        self.edges[p].add(end)
                        self.awaited.add(p)
                case BoxCopy():
                    p = self.phase(op.phase, values)
                    self.edges[begin].add(p)
                    self.touches.append((True, op.tile, op.buffer.evaluate(values), begin, p, path))
                case Barrier(scope="block"):
                    self.edges[begin].add(("meeting", meetings))
                    self.edges["meeting", meetings].add(end)
                    meetings += 1
                case Barrier(scope="warpgroup"):
                    self.edges[begin].add(("warpgroup", t // GROUP, warpgroup))
                    self.edges["warpgroup", t // GROUP, warpgroup].add(end)
                    warpgroup += 1
                case Wgmma():
                    done = "done", t // GROUP, products
                    products += 1
                    open_.append(done)
                    self.edges[begin].add(done)
                    for x in (op.a, op.b):
                        self.touches.append((False, x.tile, x.buffer.evaluate(values), begin, done, path))
                case WgmmaCommit():
                    groups.append(open_)
                    open_ = []
                case WgmmaWait(pending):
                    for done in (d for g in groups[: len(groups) - pending] for d in g):
                        self.edges[done].add(end)

    @cached_property
    def order(self) -> tuple[dict, np.ndarray] | None:
        """Numbers of nodes, and bool [node, node]: the one is before the other; None: there is a cycle."""
        nodes = dict.fromkeys([*self.edges, *(m for s in self.edges.values() for m in s)])
        number = {n: k for k, n in enumerate(nodes)}
        into = [0] * len(number)
        for s in self.edges.values():
            for m in s:
                into[number[m]] += 1
        ready, line = [n for n in number if not into[number[n]]], []
        while ready:
            n = ready.pop()
            line.append(n)
            for m in self.edges.get(n, ()):
                into[number[m]] -= 1
                if not into[number[m]]:
                    ready.append(m)
        if len(line) < len(number):
            return None
        before = np.zeros((len(number), len(number)), bool)
        for n in reversed(line):
            for m in self.edges.get(n, ()):
                before[number[n]] |= before[number[m]]
                before[number[n], number[m]] = True
        return number, before

    def before(self, one, other) -> bool:
        """Whether a node is before another one in any case."""
        number, before = self.order
        return one in number and other in number and bool(before[number[one], number[other]])

    @property
    def miscounted(self) -> bool:
        """Whether a phase gets something else than it waits for."""
        return any(
            self.arrivals[p] != self.ir.phases(p[1]).arrivals or self.bytes[p][0] != self.bytes[p][1]
            for p in {*self.arrivals, *self.bytes}
        )

    @property
    def stuck(self) -> bool:
        """Whether somebody waits for ever."""
        wanted = lambda p: self.ir.phases(p[1]).arrivals  # noqa: E731
        short = any(self.arrivals[p] < wanted(p) or self.bytes[p][0] > self.bytes[p][1] for p in self.awaited)
        return short or self.order is None

    @property
    def races(self) -> bool:
        """Whether boxes and products reach a buffer with nothing to say which is over first."""
        for k, (writes, tile, buffer, begin, over, path) in enumerate(self.touches):
            for wrote, other, slot, start, end, place in self.touches[k + 1 :]:
                if (tile, buffer) != (other, slot) or not (writes or wrote) or (writes and wrote and path != place):
                    continue
                if not self.before(over, start) and not self.before(end, begin):
                    return True
        return False
