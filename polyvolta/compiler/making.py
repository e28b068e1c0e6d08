"""From a graph to a kernel: a short list of tree -> tree passes, each a figure of the paper.

    initial ... contracted   compute decomposition: which instance runs where (module `passes.decompose`)
    promoted                 copies between global memory, shared memory and registers
    prefetched               the copies of later tiles run during the computation on this one
    roles                    who copies and who multiplies, of kernels in which these are different warps
    swapped ... grouped      marks that say how blocks are numbered and started (module `passes.marks`)

Every intermediate tree is kept under its stage name. The last one is scanned for loops, these are lowered to the kernel
IR, and that is printed. Nothing here depends on what the graph computes: that is in its `Plan`, which says what is
multiplied, what is applied to the operands before and to the results after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import gcd, prod

from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import Options, complete
from polyvolta.compiler.passes.decompose import decompose
from polyvolta.compiler.passes.marks import clustered, grouped, persistent, swapped
from polyvolta.compiler.rule.warpgroups import shares
from polyvolta.compiler.shown.stages import sentences
from polyvolta.compiler.signature import check_engine_names, context_of, multiples_of, tensors_of
from polyvolta.compiler.stages import Stages
from polyvolta.cuda.build.lower import lower
from polyvolta.cuda.build.promotion.assemble import awaited, prefetched, promote, split
from polyvolta.cuda.build.promotion.makers import makers_of
from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.cuda.ir.kernel_ir import CHUNK, AsyncCopy, BoxStore, GlobalTensor
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.target import Target
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.graph.dag import Graph
from polyvolta.graph.expr import show
from polyvolta.graph.functions.formats import FORMATS
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.plans.loops import shared_loops
from polyvolta.graph.tensors import inputs_of
from polyvolta.sched import Schedule
from polyvolta.sched.loops.scan import scan


def made(
    graph: Graph,
    target: Target,
    options: Options,
    name: str,
    progress: Callable[[str], None] | None = None,
    otherwise: _WithoutBoxes | None = None,
    given: Options | None = None,
) -> Kernel:
    """The kernel of a graph for a target; options that are missing are chosen by the rule.

    Parameters
    ----------
    name : of the C function, which is none of the graph's own.
    progress : called with each stage's name.
    otherwise : what makes kernels with fewer boxes, if this is such a one: threads alone reach the tensors before it.
    given : the options that somebody gave, where `options` has more; None: these.

    Raises
    ------
    NoInstruction, BadOption : what the target does not have.
    NotAMultiple, BadName : see `signature`.
    """
    given, options = given or options, complete(options, needs_of(plan(graph, options.accumulators)), target)
    asked, graph = graph, graph.turned() if options.swap else graph
    idiom, tiling = plan(graph, options.accumulators), options.mapped
    plain = otherwise.before if otherwise else frozenset[str]()
    multiples = multiples_of(graph, idiom, tiling)
    context = context_of(graph, idiom, multiples)
    stages: dict[str, Schedule] = {}

    def reach(stage: str, schedule: Schedule) -> Schedule:
        if not stages or schedule != next(reversed(stages.values())):
            stages[stage] = schedule
            if progress is not None:
                progress(stage)
        return schedule

    macro = target.of_kind(FORMATS[graph.dtype].kind).macro_mma(options.macro_mma)
    makers = makers_of(macro)
    if isinstance(macro, WarpgroupMma):
        check_engine_names(graph)
    loops = shared_loops(idiom.contractions) if isinstance(macro, WarpgroupMma) else ()
    together = [[c.statement.name for c in loop] for loop in loops]
    fine, contracted = decompose(
        graph, tiling, macro.shape, context, reach, makers.result(macro.shape), makers.names, together
    )
    tensors = tensors_of(graph)
    limit, asynchronous = options.shared_limit(target), bool(target.copies)
    reached = {n: replace(t, align=CHUNK // 2) if n in plain or _ends_within(t) else t for n, t in tensors.items()}
    promotion = promote(fine, contracted, idiom, reached, tiling, macro, context, limit, asynchronous)
    reach("promoted", promotion.schedule)
    tree = reach("prefetched", prefetched(promotion, context, options.prefetch))
    promotion = replace(awaited(promotion, tree), registers=shares(tiling, needs_of(idiom), target))
    order = BlockOrder(-(-options.group // tiling.cluster[0]))
    tree = reach("roles", split(promotion, tree))
    tree = reach("swapped", swapped(tree, idiom))
    blocks = prod(tiling.cluster) * promotion.parts
    clusters = target.multiprocessors * options.occupancy // blocks if options.persistent else 0
    tree = reach("persistent", persistent(tree, clusters, blocks > 1))
    tree = reach("clustered", clustered(tree, tiling.cluster, promotion.parts))
    tree = reach("grouped", grouped(tree, order, tiling.cluster, promotion.parts))
    scanned = scan(tree, context, promotion.extents, parted=False)
    ir = lower(
        name, tree, scanned, promotion, tuple(tensors.values()), graph.params, graph.scalars, tuple(multiples.items()),
        options.dependent_launch,
    )
    copied = {op.tensor for op in operations(ir.body) if isinstance(op, AsyncCopy)}
    copied |= {ir.box_map(op.map).tensor for op in operations(ir.body) if isinstance(op, BoxStore)}
    ir = replace(ir, tensors=tuple(_whole(t) if t.name in copied else t for t in ir.tensors))
    ir = replace(ir, about=_about(graph), block_order=order, occupancy=options.occupancy, resident=blocks * clusters)
    if ir.maps and otherwise is None:
        otherwise = _WithoutBoxes(asked, target, name, options, given)
    trees = Stages(stages, sentences(options, target))
    return Kernel(graph, target, options, trees, ir, print_cuda(ir), otherwise if ir.maps else None)


KEPT = ("accumulators", "group", "occupancy", "dependent_launch")
"""Options that mean the same to products of warps: of those given, a kernel for them has these, too."""


@dataclass(frozen=True, slots=True)
class _WithoutBoxes:
    """Makes the kernel of the same graph for arrays of which the copy engine doesn't take some, each once.

    Threads load and store those of the epilogue themselves. Operands of products are copied by them, too, for the
    target's other instructions, in tiles of which the rule chooses anew what was chosen, or given, for warpgroups.

    Parameters
    ----------
    graph, target, name : of all of them.
    options, given : all of the kernel with boxes, and those that were given for it.
    before : tensors that have no boxes already.
    made : by the tensors that have none; None: no tensor has any.
    """

    graph: Graph
    target: Target
    name: str
    options: Options
    given: Options
    before: frozenset[str] = frozenset()
    made: dict[frozenset[str] | None, Kernel] = field(default_factory=dict)

    def __call__(self, plain: frozenset[str]) -> Kernel:
        """Without boxes of some more tensors."""
        idiom = plan(self.graph, self.options.accumulators)
        operands = {a.tensor for c in idiom.contractions for side in (c.left, c.right) for a in side.accesses}
        if not plain.isdisjoint(operands):
            if None not in self.made:
                others = Options(**{n: getattr(self.given, n) for n in KEPT if n in self.given.given})
                others = complete(others, needs_of(idiom), replace(self.target, families=()))
                self.made[None] = made(self.graph, self.target, others, self.name)
            return self.made[None]
        key = self.before | plain
        if key not in self.made:
            found = (k for had, k in self.made.items() if had is not None and had <= key and key.isdisjoint(k.boxed))
            self.made[key] = next(found, None) or self._boxed_less(key)
        return self.made[key]

    def _boxed_less(self, plain: frozenset[str]) -> Kernel:
        """By boxes but for some tensors; where that leaves others without, too, it is the kernel made for those."""
        kernel = made(self.graph, self.target, self.options, self.name, otherwise=replace(self, before=plain))
        return next((k for k in self.made.values() if k.source == kernel.source), kernel)


def _ends_within(t: GlobalTensor) -> bool:
    """Whether a result's lines are known to end within a chunk, where boxes would be clipped further on."""
    extent = t.dims[t.order[-1]]
    return t.written and isinstance(extent, int) and extent % CHUNK > 0


def _whole(t: GlobalTensor) -> GlobalTensor:
    """A tensor that is copied asynchronously, in pieces that it is a whole number of: fewer values of an odd extent.

    Or stored by boxes, which are clipped by whole 16-byte units.
    """
    extent = t.dims[t.order[-1]]
    return replace(t, whole=True, align=gcd(t.align, extent) if isinstance(extent, int) else t.align)


def _about(graph: Graph) -> str:
    """What is computed, in a line: each output's expression, of long ones the inputs.

    >>> import polyvolta as pv
    >>> print(_about(Graph.of(pv.relu(pv.tensor("A", (8, 8)) @ pv.tensor("B", (8, 8))))))
    D = relu(A @ B)
    """
    texts = []
    for output, e in zip(graph.outputs, graph.roots, strict=True):
        text = show(e, 400)
        inputs = ", ".join(t.name for t in inputs_of([e]))
        texts.append(f"{output.name} = {text if len(text) <= 160 else f'... of {inputs}'}")
    return ", ".join(texts)
