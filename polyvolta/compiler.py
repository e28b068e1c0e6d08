"""From a graph to a kernel: a short list of tree -> tree passes, each a figure of the paper.

    initial       one permutable band, outer dimensions parallel
    block_tiled   tiles of a thread block
    warp_tiled    tiles of a warp in those
    mapped        blockIdx and warpIdx in place of the parallel tile loops
    strip_mined   the warp's tile in strips of the macro-MMA's depth
    contracted    one instance stands for a macro-MMA
    promoted      copies between global memory, shared memory and registers
    prefetched    the copies of the next tile run during the computation on this one

Every intermediate tree is kept under its stage name. The last one is scanned for loops, these are lowered to
the kernel IR, and that is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm
from typing import TYPE_CHECKING

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.kernel_ir import GlobalTensor
from polyvolta.cuda.lower import lower
from polyvolta.cuda.macro_mma import MACRO_MMAS, MacroMma
from polyvolta.cuda.printer import KERNEL_NAMES, print_cuda
from polyvolta.cuda.promote import Levels, Promotion, promote
from polyvolta.cuda.target import Target, UnknownTarget, target_of
from polyvolta.graph.dag import Graph
from polyvolta.graph.errors import BadName
from polyvolta.graph.names import check_name
from polyvolta.graph.statements import Statement
from polyvolta.graph.tensors import Size, Tensor
from polyvolta.kernel import Kernel, NotAMultiple, Stages
from polyvolta.options import BadOption, Options
from polyvolta.sched import Schedule, initial
from polyvolta.sched.codegen.scan import scan
from polyvolta.sched.passes import contract, map_members, prefetch, tile
from polyvolta.sets import Set, nearest

if TYPE_CHECKING:
    from polyvolta.graph.expr import Expr

LEVELS = Levels()
PIPELINE = (0, 0, 0, 1, 0)  # the band over the k tiles in a promoted tree
COMPUTE_EARLY = (0, 4, 1, 2, 3)  # loads, computation, barrier, stores, barrier


CALL_NAMES = ("out", "stream", "hook")  # arguments of Kernel.__call__ and Kernel.interpret beside the tensors


class Unsupported(CudaError):
    """A graph for which no kernel is made (yet): says which node, and what would be possible."""

    id = "PV402"


def compile(  # noqa: A001
    outputs: Expr | Sequence[Expr],
    target: str | Target = "sm_70",
    options: Options | None = None,
    *,
    name: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Kernel:
    """A tensor-core kernel for a matrix product.

    Parameters
    ----------
    outputs : the product, `A @ B` with A row-major and B column-major, fp16.
    target : name of the architecture the kernel is made for.
    options : tiles; the default is a 128x128x32 block tile in 64x64x32 warp tiles.
    name : of the C function; "kern0" by default.
    progress : called with each stage's name when the stage is reached.

    Raises
    ------
    Unsupported : a graph that is no plain product, or other layouts.
    UnknownTarget, BadOption : what the target does not have.
    NotAMultiple : a size given as a number that its tile does not divide.

    Cost: a few tenths of a second, no compiler involved.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    >>> print(kernel.stages["block_tiled"])
    DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
      BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]
        BAND: S[i, j, k] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, k - 32⌊k/32⌋]
    """
    graph = Graph.of(outputs)
    if isinstance(target, Options):
        raise BadOption("the options stand where the target is expected", hint="pass them as options=...")
    target = target_of(target)
    if options is None:
        options = Options()
    if not isinstance(options, Options):
        raise BadOption(f"options is a {type(options).__name__}", hint="pass pv.Options(block_tile=..., ...)")
    statement = _contraction(graph)
    macro = _macro_mma(graph, statement, options, target)
    options.check(target, macro)
    name = check_name(name or "kern0", "kernel")
    _check_names(graph, name)
    multiples = _multiples(statement, options)
    context = _context(graph, multiples)

    stages = Stages()

    def reach(stage: str, schedule: Schedule) -> Schedule:
        stages[stage] = schedule
        if progress is not None:
            progress(stage)
        return schedule

    tree = reach("initial", initial(graph.statements))
    tree = reach("block_tiled", tile(tree, LEVELS.block, options.block_tile))
    tree = reach("warp_tiled", tile(tree, LEVELS.warp, options.warp_tile))
    tree = reach("mapped", _mapped(tree, statement.name))
    fine = reach("strip_mined", tile(tree, LEVELS.strip, (*options.warp_tile[:2], macro.shape[2])))
    tree = reach("contracted", contract(fine, statement.name, dict(zip(statement.iterators, macro.shape)), context))
    orders = {t.name: _order(t) for t in graph.arrays.values()}
    promotion = promote(fine, tree, statement, orders, macro, options.threads, context, LEVELS)
    reach("promoted", promotion.schedule)
    tree = reach("prefetched", _prefetched(promotion))
    result = scan(tree, context, {"linearId": options.threads})
    tensors = tuple(
        GlobalTensor(t.name, tuple(_dim(d) for d in t.dims), _order(t), t in graph.outputs)
        for t in (*graph.inputs, *graph.outputs)
    )
    sizes = tuple(dict.fromkeys(p for p in graph.params))
    ir = lower(name, tree, result, promotion, macro, tensors, sizes, tuple(multiples.items()))
    return Kernel(graph, target, options, stages, ir, print_cuda(ir))


def _contraction(graph: Graph) -> Statement:
    """The one statement of a graph that is a plain product of two different inputs."""
    if len(graph.statements) != 1 or not graph.statements[0].is_matmul:
        raise Unsupported(
            f"the graph has {len(graph.statements)} operations; one matrix product can be compiled",
            where=str(graph),
            hint="compile A @ B; pv.reference evaluates any graph",
        )
    (s,) = graph.statements
    operands = s.expression.args[1:]
    for e in operands:
        if not e.is_Indexed:
            raise Unsupported(
                f"the operand {e} of the product is computed, not loaded",
                where=str(graph),
                hint="compile A @ B",
            )
    if len(s.reads) != 3:
        raise Unsupported("both operands are the same tensor", where=str(graph), hint="give the two operands two names")
    return s


def _macro_mma(graph: Graph, statement: Statement, options: Options, target: Target) -> MacroMma:
    if options.macro_mma not in target.macro_mmas:
        raise UnknownTarget(
            f"{target.name} has no macro-MMA called {options.macro_mma!r}",
            hint=nearest(options.macro_mma, target.macro_mmas),
        )
    layouts = tuple(graph.arrays[a.tensor].layout for a in statement.reads[1:])
    if layouts != ("row", "col"):
        a, b = (x.tensor for x in statement.reads[1:])
        hint = f'declare {a} with layout="row" and {b} with layout="col"'
        raise Unsupported(
            f"the operands' layouts are {layouts[0]} and {layouts[1]}; row and col can be compiled",
            where="\n".join(graph.arrays[t].declaration() for t in (a, b)),
            hint=hint,
        )
    return MACRO_MMAS[options.macro_mma](*layouts)


def _check_names(graph: Graph, name: str) -> None:
    """The kernel's own names must not be taken by the user's."""
    for user in (*graph.arrays, *graph.params):
        if user == name:
            raise BadName(f"{user!r} is the kernel's name and a tensor's or size's", hint=f"try {user + '_'!r}")
    for user in (name, *graph.arrays, *graph.params):
        if KERNEL_NAMES.fullmatch(user):
            raise BadName(f"{user!r} is a name that the kernel's text uses itself", hint=f"try {user + '_'!r}")
        if user in CALL_NAMES:
            raise BadName(f"{user!r} is an argument of the kernel's call", hint=f"try {user + '_'!r}")


def _dim(d: int | Size) -> int | str:
    return d if isinstance(d, int) else d.name


def _order(t: Tensor) -> tuple[int, ...]:
    """Dimensions outermost first in memory."""
    return (0, 1) if t.layout == "row" else (1, 0)


def _multiples(statement: Statement, options: Options) -> dict[str, int]:
    """What each symbolic size must be a multiple of.

    Raises
    ------
    NotAMultiple : a size that is a number and no multiple of its tile.
    """
    out: dict[str, int] = {}
    for extent, size in zip(statement.extents, options.block_tile, strict=True):
        if isinstance(extent, Size):
            out[extent.name] = lcm(size, out.get(extent.name, 1))
        elif extent % size:
            raise NotAMultiple(
                f"the size {extent} is no multiple of the block tile's {size}",
                where=str(statement),
                hint=f"the nearest that work are {max(size, extent // size * size)} and {-(-extent // size) * size}",
            )
    return out


def _context(graph: Graph, multiples: dict[str, int]) -> Set:
    """What the kernel may assume of the sizes: positive, and multiples of their tiles."""
    facts = [f"{p} >= 1" for p in graph.params] + [f"{p} mod {m} = 0" for p, m in multiples.items()]
    prefix = f"[{', '.join(graph.params)}] -> " if graph.params else ""
    return Set(f"{prefix}{{ : {' and '.join(facts)} }}" if facts else "{ : }")


def _mapped(tree: Schedule, statement: str) -> Schedule:
    """Parallel members that are loops become indices: of the block for the outer band, of the warp below."""
    for at, names in (
        (LEVELS.block, ("blockIdx.y", "blockIdx.x")),
        (LEVELS.warp, ("warpIdx_y", "warpIdx_x")),
    ):
        members = tree.band(at).members
        chosen = {k: n for k, n in enumerate(names) if not members[k].of(statement).is_constant}
        tree = map_members(tree, at, chosen)
    return tree


def _prefetched(promotion: Promotion) -> Schedule:
    """The copies of the next k tile run one iteration ahead, the computation between its loads and stores."""
    movements = promotion.movements
    shared = frozenset(f"shared {m.tensor}" for m in movements.values() if m.kind == "shared_store")
    touches = {s: m.touches for s, m in movements.items()}
    band = promotion.schedule.band(PIPELINE)
    for s in band.statements:
        if movements[s].kind == "mma":  # with the fragment loads that its extension adds
            touches[s] = (shared, touches[s][1])
        elif movements[s].kind == "barrier":  # orders every access to shared memory before it and after it
            touches[s] = (shared, shared)
    ahead = {s: -1 for s in band.statements if movements[s].kind != "mma"}
    return prefetch(promotion.schedule, PIPELINE, ahead, COMPUTE_EARLY, touches)
