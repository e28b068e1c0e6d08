"""What tests of promotion start from: the k loops of a graph, and their operations carried out in numpy, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyvolta.compiler.options import Options
from polyvolta.compiler.passes.decompose import decompose
from polyvolta.compiler.signature import context_of, multiples_of, tensors_of
from polyvolta.cuda.build.promotion.footprints import together
from polyvolta.cuda.build.promotion.loops import operand_pieces
from polyvolta.cuda.build.promotion.model import Movement, Nest, Operands, accumulator_name
from polyvolta.cuda.build.promotion.nests import nest_of, widened
from polyvolta.cuda.build.promotion.pipeline import prefetched
from polyvolta.cuda.ir.kernel_ir import Barrier, FragmentLoad, GlobalLoad, Mma, Pointwise, SharedStore
from polyvolta.cuda.ir.memories import Arrays, RegisterArray
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.registry import target_of
from polyvolta.graph.dag import Graph
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.plans.plans import Plan
from polyvolta.sched.loops.ast import Block, Call, For, If
from polyvolta.sched.loops.scan import Scan, scan
from polyvolta.sched.nodes import Band, Domain, Extension, Filter, Member
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Set


@dataclass(frozen=True)
class Loops:
    """The k loops of a graph's products, and the trees that hold them alone."""

    graph: Graph
    plan: Plan
    options: Options
    context: Set
    nests: dict[str, Nest]
    operands: Operands
    promoted: Schedule

    @property
    def movements(self) -> dict[str, Movement]:
        return {m.statement: m for p in self.operands.pieces for m in p.movements}

    @property
    def prefetched(self) -> Schedule:
        return prefetched(self.promoted, self.movements, self.arrays, self.context, self.options.prefetch)

    @property
    def arrays(self) -> Arrays:
        """All that the operations name: the loops' own arrays, the tensors, and an accumulator for each product."""
        pieces, macros = self.operands.pieces, self.operands.macros
        accumulators = [
            RegisterArray(accumulator_name(c.accumulator), "float", (1, 1), m.values[2])
            for c, m in zip(self.plan.contractions, macros, strict=True)
        ]
        registers = (*(r for p in pieces for r in p.registers), *accumulators)
        return Arrays(tuple(tensors_of(self.graph).values()), tuple(t for p in pieces for t in p.tiles), registers)

    def scan(self, tree: Schedule) -> Scan:
        return scan(tree, self.context, {"linearId": self.options.threads_on(target_of())})


def loops_of(expr, **options) -> Loops:
    """The k loops of an expression's products; `partial="pad"` makes sizes multiples of tiles."""
    chosen = Options(**options)
    graph = Graph.of(expr)
    idiom = plan(graph, chosen.accumulators)
    context = context_of(graph, idiom, multiples_of(graph, idiom, chosen))
    macro = target_of().macro_mma(chosen.macro_mma)
    fine, contracted = decompose(graph, chosen, macro.shape, context)
    nests = {c.statement.name: nest_of(fine, c.statement.name, context) for c in idiom.contractions}
    operands = operand_pieces(nests, idiom, chosen, macro, chosen.threads_on(target_of()), context)
    return Loops(graph, idiom, chosen, context, nests, operands, _tree(contracted, nests, operands))


def _tree(contracted: Schedule, nests: dict[str, Nest], operands: Operands) -> Schedule:
    """BAND(by, bx) > EXTENSION > SEQUENCE of the loops."""
    tree = widened(contracted, nests.values(), dict.fromkeys(nests, operands.macros[0].shape))
    outer = tree.band((0,)).members[:2]
    members = tuple(Member(tuple((s, e) for s, e in m.exprs if s in nests), True, m.name) for m in outer)
    kids = InOrder(tuple(Filter(p.statements, p.node) for p in operands.pieces))
    added = together([e for p in operands.pieces for e in p.extensions])
    return Schedule(Domain(tree.domain, Band(members, Extension(added, kids))))


class Machine:
    """One thread block that carries out calls of statements, all threads or all warps at once.

    Each operation is evaluated from its own relation: loads gather elements one by one, 0 outside of the tensor;
    shared memory is an array of chunks; a macro-MMA multiplies what the ownership maps say its values are. A race is a
    chunk that a thread stores and another one stores or reads before the next barrier.
    """

    def __init__(self, loops: Loops, arrays: dict[str, np.ndarray], scalars: dict[str, float], sizes: dict) -> None:
        self.loops, self.arrays, self.scalars, self.sizes = loops, arrays, scalars, dict(sizes)
        threads = loops.options.threads_on(target_of())
        self.warps = threads // 32
        pieces = loops.operands.pieces
        self.tiles = {t.name: t for p in pieces for t in p.tiles}
        self.shared = {n: np.full((t.buffers, t.chunks, 8), np.nan) for n, t in self.tiles.items()}
        self.registers = {r.name: np.full((*r.shape, threads, r.width), np.nan) for p in pieces for r in p.registers}
        self.results: dict[str, dict] = {}
        chunks = max(t.start + t.buffers * t.chunks for t in self.tiles.values())
        self.stored = np.full(chunks, -1)  # who stored, and who read, a chunk since the last barrier
        self.read = np.full(chunks, -1)
        self.races: list[str] = []
        self.thread = np.arange(threads)
        self.lane, warp = self.thread % 32, self.thread // 32
        y, x, z = loops.options.warps
        self.names = {"linearId": self.thread, "warpIdx_x": warp % x, "warpIdx_y": warp // x % y,
                      "warpIdx_z": warp // (x * y)}  # fmt: skip

    def run(self, nodes, names: dict) -> None:
        for n in nodes:
            match n:
                case Block(body=body):
                    self.run(body, names)
                case For(var, lower, upper, step, _, body):
                    low, high = max(self.at(e, names) for e in lower), min(self.at(e, names) for e in upper)
                    for v in range(low, high + 1, step):
                        self.run(body, {**names, var: v})
                case If(conditions, body, other=other):
                    holds = [self.at(e, names) >= 0 if kind == "ge" else self.at(e, names) == 0
                             for kind, e in conditions]  # fmt: skip
                    mask = np.logical_and.reduce([np.broadcast_to(h, self.thread.shape) for h in holds])
                    around = names.get("mask", np.ones(self.thread.shape, bool))
                    for branch, here in ((body, around & mask), (other, around & ~mask)):
                        assert here.all() or not here.any() or all(isinstance(x, Call | If) for x in branch)
                        if here.any():
                            self.run(branch, {**names, "mask": here})
                case Call(statement, args):
                    self.call(statement, [self.at(a, names) for a in args], names)

    def at(self, e, names: dict):
        value = e.evaluate({**self.sizes, **self.names, **names})
        array = np.asarray(value)
        return int(array) if array.ndim == 0 else int(array[0]) if (array == array[0]).all() else array

    def call(self, statement: str, args, names: dict) -> None:
        m = self.loops.movements[statement]
        values = {**self.sizes, **dict(zip(m.dims, args, strict=True))}
        mask = names.get("mask", np.ones(self.thread.shape, bool))
        for op in operations(m.ops):
            self.do(op, values, mask, args)

    def do(self, op, values: dict, mask: np.ndarray, args) -> None:
        of = lambda e: np.broadcast_to(e.evaluate(values), self.thread.shape)  # noqa: E731
        match op:
            case Barrier():
                self.stored[:], self.read[:] = -1, -1
            case GlobalLoad(target, tensor, index, along):
                places = [of(e) for e in index]
                self.put(target, of, mask, self.gather(self.arrays[tensor], places, along, op.guarded, mask))
            case Pointwise(target=target, operands=operands):
                inputs = [self.scalars[o] if isinstance(o, str) else self.get(o, of) for o in operands]
                result = np.broadcast_to(evaluate(op.formula, inputs, "float64"), (len(self.thread), 8)).copy()
                if op.inside is not None:
                    (index,), (extent,) = op.inside.index, op.inside.extents
                    k = of(index)[:, None] + np.arange(8) * (op.inside.along is not None)
                    result[k >= extent.evaluate(values)] = 0
                self.put(target, of, mask, result)
            case SharedStore(source, tile, index, buffer):
                layout = self.tiles[tile].layout
                (place,) = layout.evaluate(dict(zip((n for n, _ in layout.inputs), [of(e) for e in index])))
                b, place = int(of(buffer)[0]), np.broadcast_to(place, mask.shape)[mask]
                self.shared[tile][b, place] = self.get(source, of)[mask]
                self.note(tile, b, place, self.thread[mask], True)
            case FragmentLoad(target, tile, origin, _, own, access, buffer):
                b = int(of(buffer)[0])
                self.put(target, of, mask, self.fragment(tile, b, [of(e) for e in origin], own, access))
            case Mma():
                self.mma(op, of, args)

    def note(self, tile: str, buffer: int, place: np.ndarray, thread: np.ndarray, store: bool) -> None:
        t = self.tiles[tile]
        at = t.start + buffer * t.chunks + place
        assert (place < t.chunks).all() and buffer < t.buffers
        for known in (self.stored, self.read) if store else (self.stored,):
            if ((known[at] >= 0) & (known[at] != thread)).any():
                self.races.append(tile)
        if store:
            self.stored[at] = thread
        else:
            self.read[at] = np.where(self.read[at] >= 0, 10**6, thread)  # several may read

    def put(self, target, of, mask, value) -> None:
        index = tuple(of(e)[mask] for e in target.index)
        self.registers[target.array][(*index, self.thread[mask])] = value[mask]

    def get(self, source, of) -> np.ndarray:
        return self.registers[source.array][(*(of(e) for e in source.index), self.thread)]

    def gather(self, array, index, along, guarded, mask) -> np.ndarray:
        places = np.stack([x[:, None] + np.arange(8) * (d == along) for d, x in enumerate(index)])
        inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(places, array.shape)])
        assert guarded or inside[mask].all()
        safe = tuple(np.where(inside, p, 0) for p in places)
        return np.where(inside, array[safe], 0.0) if array.size else np.zeros(inside.shape)

    def fragment(self, tile, buffer, origin, own, access) -> np.ndarray:
        t = self.tiles[tile]
        out = np.empty((len(self.thread), own.inputs[1][1]))
        for i in range(out.shape[1]):
            first = i // access * access
            e0, e = (own.evaluate({"lane": self.lane, "i": v}) for v in (first, i))
            place = [o + x for o, x in zip(origin, e)]
            start = [o + x for o, x in zip(origin, e0)]
            names = [n for n, _ in t.layout.inputs]
            (chunk,) = t.layout.evaluate(dict(zip(names, start)))
            run = t.order[1]
            slot = start[run] % 8 + (i - first)  # what an access of `access` values brings
            same = all((p == s + (i - first) * (d == run)).all() for d, (p, s) in enumerate(zip(place, start)))
            assert same and (slot < 8).all()
            out[:, i] = self.shared[tile][buffer, chunk, slot]
            if i == first:
                self.note(tile, buffer, np.broadcast_to(chunk, self.thread.shape), self.thread, False)
        return out

    def mma(self, op: Mma, of, args) -> None:
        """The product of the tiles that all lanes of a warp own, and who owns a value twice agrees with himself."""
        m, n, k = op.macro.shape
        a, b = self.get(op.a, of), self.get(op.b, of)
        for w in range(self.warps):
            lanes = slice(32 * w, 32 * w + 32)
            left, right = (self.tile_of(x[lanes], own, s) for x, own, s in
                           ((a, op.macro.a, (m, k)), (b, op.macro.b, (k, n))))  # fmt: skip
            at = tuple(int(of(e)[32 * w]) for e in op.d.index)
            i, j = (int(np.broadcast_to(x, self.thread.shape)[32 * w]) for x in args[:2])
            sums = self.results.setdefault(op.d.array, {})
            done = sums.setdefault((w, at), [(i, j), np.zeros((m, n))])
            assert done[0] == (i, j)  # one fragment holds one tile of the result
            done[1] += left @ right

    @staticmethod
    def tile_of(values, own, shape) -> np.ndarray:
        out = np.full(shape, np.nan)
        for i in range(values.shape[1]):
            row, col = (np.broadcast_to(x, 32) for x in own.evaluate({"lane": np.arange(32), "i": i}))
            before = out[row, col]
            assert (np.isnan(before) | (before == values[:, i])).all()
            out[row, col] = values[:, i]
        assert not np.isnan(out).any()
        return out


def products(loops: Loops, tree: Schedule, arrays, sizes, scalars=None) -> tuple[dict[str, np.ndarray], list]:
    """What each accumulator holds in the end, as a matrix over all blocks; and races between barriers."""
    scanned = loops.scan(tree)
    first = loops.plan.contractions[0].statement
    m, n = (sizes.get(str(e), e) for e in first.extents[:2])
    grid = [int(scanned.extents.get(f"blockIdx.{x}", 1).evaluate(sizes)) if f"blockIdx.{x}" in scanned.extents else 1
            for x in "yx"]  # fmt: skip
    bm, bn = loops.options.block_tile[:2]
    out: dict[str, np.ndarray] = {}
    races: list = []
    for by in range(grid[0]):
        for bx in range(grid[1]):
            machine = Machine(loops, arrays, scalars or {}, sizes)
            machine.run(scanned.body, {"blockIdx.y": by, "blockIdx.x": bx})
            races += machine.races
            for array, sums in machine.results.items():
                whole = out.setdefault(array, np.zeros((grid[0] * bm, grid[1] * bn)))
                for (i, j), tile in sums.values():
                    whole[i : i + tile.shape[0], j : j + tile.shape[1]] += tile
    return {name: x[:m, :n] for name, x in out.items()}, races
