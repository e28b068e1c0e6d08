"""From a graph to a kernel: a short list of tree -> tree passes, each a figure of the paper.

    initial ... contracted   compute decomposition: which instance runs where (module `decompose`)
    promoted                 copies between global memory, shared memory and registers
    prefetched               the copies of later tiles run during the computation on this one
    roles                    who copies and who multiplies, of kernels in which these are different warps
    persistent               blocks that compute several tiles, one after the other
    clustered                blocks that share what they read
    grouped                  the order in which blocks start, where it isn't row by row

Every intermediate tree is kept under its stage name. The last one is scanned for loops, these are lowered to the kernel
IR, and that is printed. Nothing here depends on what the graph computes: that is in its `Plan`, which says what is
multiplied, what is applied to the operands before and to the results after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import gcd, lcm, prod
from typing import TYPE_CHECKING, Any, overload

from polyvolta.compiler.arguments import LARGEST, TooLarge
from polyvolta.compiler.compiled import NotAMultiple
from polyvolta.compiler.decompose import decompose
from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.model.sizes import BadSizes
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import Options, Origin, complete, informed
from polyvolta.compiler.remembered.find import remembered
from polyvolta.compiler.rule.warpgroups import shares
from polyvolta.compiler.shown.stages import sentences
from polyvolta.compiler.stages import Stages
from polyvolta.compiler.tiling import BadOption, Tiling
from polyvolta.compiler.variants.compiling import compile_over
from polyvolta.cuda.arch import AUTO
from polyvolta.cuda.build.lower import lower
from polyvolta.cuda.build.promotion.assemble import awaited, prefetched, promote, split
from polyvolta.cuda.build.promotion.makers import makers_of
from polyvolta.cuda.build.promotion.model import BLOCK
from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.cuda.ir.kernel_ir import CHUNK, AsyncCopy, BoxStore, GlobalTensor
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.registry import target_of
from polyvolta.cuda.target.target import Target
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.cuda.text.names import ENGINE_NAMES, FUNCTIONS_OF_C, KERNEL_NAMES, NOT_FOR_KERNELS
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Given, Size, by_name
from polyvolta.graph.errors import BadName
from polyvolta.graph.expr import shape_text, show
from polyvolta.graph.functions.formats import FORMATS
from polyvolta.graph.names import check_name
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.plans.loops import shared_loops
from polyvolta.graph.plans.plans import Plan
from polyvolta.graph.tensors import inputs_of
from polyvolta.sched import Schedule
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.nodes import Mark
from polyvolta.sets import Set
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.compiler.arguments import Host
    from polyvolta.compiler.variants.kernels import VariedKernel
    from polyvolta.graph.dag import Outputs
    from polyvolta.graph.expr import Expr
    from polyvolta.graph.outputs import Output

    One = Expr | Output
    Several = tuple[One, One, *tuple[One, ...]]
    """At least two outputs: that a list, a dict or a graph has more than one is no part of its type."""

DEFAULT_NAME = "kern0"
CALL_NAMES = ("out", "stream", "hook", "observe", "patience", "block")  # a Kernel's arguments beside the tensors


@overload
def compile(  # noqa: A001
    outputs: One, target: str | Target | None = ..., options: Options | None = ..., *,
    name: str | None = ..., progress: Callable[[str], None] | None = ..., sizes: Given[int] | None = ...,
    over: Given[tuple[int, int] | int] | None = ..., variants: None = ...,
) -> Kernel[Host]: ...  # fmt: skip
@overload
def compile(  # noqa: A001
    outputs: Several, target: str | Target | None = ..., options: Options | None = ..., *,
    name: str | None = ..., progress: Callable[[str], None] | None = ..., sizes: Given[int] | None = ...,
    over: Given[tuple[int, int] | int] | None = ..., variants: None = ...,
) -> Kernel[tuple[Host, ...]]: ...  # fmt: skip
@overload
def compile(  # noqa: A001
    outputs: Outputs | Graph, target: str | Target | None = ..., options: Options | None = ..., *,
    name: str | None = ..., progress: Callable[[str], None] | None = ..., sizes: Given[int] | None = ...,
    over: Given[tuple[int, int] | int] | None = ..., variants: None = ...,
) -> Kernel[Any]: ...  # fmt: skip
@overload
def compile(  # noqa: A001
    outputs: One, target: str | Target | None = ..., options: Options | None = ..., *,
    name: str | None = ..., progress: Callable[[str], None] | None = ..., over: Given[tuple[int, int] | int],
    variants: int,
) -> VariedKernel[Host]: ...  # fmt: skip
@overload
def compile(  # noqa: A001
    outputs: Several, target: str | Target | None = ..., options: Options | None = ..., *,
    name: str | None = ..., progress: Callable[[str], None] | None = ..., over: Given[tuple[int, int] | int],
    variants: int,
) -> VariedKernel[tuple[Host, ...]]: ...  # fmt: skip
@overload
def compile(  # noqa: A001
    outputs: Outputs | Graph, target: str | Target | None = ..., options: Options | None = ..., *,
    name: str | None = ..., progress: Callable[[str], None] | None = ..., over: Given[tuple[int, int] | int],
    variants: int,
) -> VariedKernel[Any]: ...  # fmt: skip
def compile(  # noqa: A001
    outputs: Outputs | Graph,
    target: str | Target | None = AUTO,
    options: Options | None = None,
    *,
    name: str | None = None,
    progress: Callable[[str], None] | None = None,
    sizes: Given[int] | None = None,
    over: Given[tuple[int, int] | int] | None = None,
    variants: int | None = None,
) -> Kernel[Any] | VariedKernel[Any]:
    """A tensor-core kernel for matrix products with pointwise operations before and after.

    Parameters
    ----------
    outputs : what the kernel computes: one expression or several, some made by `output`, or by name; or their graph.
    target : the architecture the kernel is made for, or its name in `pv.targets`; by default "auto": the newest of
        these that the GPU at hand runs, and without a GPU the first, sm_70.
    options : tiles and more; what isn't given, the rule of `polyvolta.compiler.rule.defaults` chooses. The kernel's
        `options` are all.
    name : of the C function; "kern0" by default.
    progress : called with each stage's name when the stage is reached.
    sizes : of the products, by name or by `Size`, that the kernel is to be fast for; it takes any others, too. Without
        options, those that `tune` found the fastest are taken, if it was asked for these sizes on the GPU at hand. Else
        options that aren't given are the first choice of `Options.space` for these, and so they are on targets with
        warpgroups where the graph's sizes are numbers and no tiles are given.
    over : for each size the range (least, largest), or one number, for which the kernel is to be good: options that
        aren't given are those with which the model predicts the least time there, by the geometric mean. The kernel
        takes any sizes all the same.
    variants : how many tilings it may have for these ranges, at least 1; one of them is taken at each launch, as its
        `decisions` say. If missing, it is a kernel of one tiling.

    Raises
    ------
    Unsupported : a graph outside the idioms: says which operation, and what would be possible.
    MixedDtypes : tensors of two element types.
    UnknownTarget, BadTarget, NoInstruction, BadOption : what there is no target for, or what the target does not have.
    BadName : a name that the kernel uses itself.
    BadRange, BadVariants : of `over` and `variants`: ranges that are empty, missing, or of no size of the graph's; both
        `over` and `sizes`.
    NotAMultiple : with `partial="pad"`, a size given as a number that its tile does not divide.
    TooLarge : a size given as a number that is beyond what an `int` of the kernel's text can count.
    BadSizes : of `sizes` one is missing, unknown, or no number.

    Cost: about a quarter of a second, 0.1 s more for each product beyond the first, no compiler involved; with `over`
    a second or two for a look at all tilings, and as much as a kernel for each of the variants.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    >>> print(kernel.stages["block_tiled"])
    DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
      BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]
        BAND: S[i, j, k] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, k - 32⌊k/32⌋]
    """
    if isinstance(target, Options):
        raise BadOption("the options stand where the target is expected", hint="pass them as options=...")
    if options is not None and not isinstance(options, Options):
        raise BadOption(f"options is {kind_of(options)}", hint="pass pv.Options(block_tile=..., ...)")
    graph = Graph.of(outputs)
    target = target_of(AUTO if target is None else target)
    name = check_name(DEFAULT_NAME if name is None else name, "kernel")
    _check_names(graph, name)
    _check_sizes(graph)
    sizes, over = _by_name(sizes), _by_name(over)
    _check_asked(sizes)
    given = options or Options()
    if over is None and variants is None:
        found = None if given.given else remembered(graph, target, sizes or {})
        taken = found or informed(graph, target, given, sizes)
        how = "tuning" if found else "rule" if taken is given else "model"
        return _told(_made(graph, target, taken, name, progress, given=given), given, how, sizes)

    def make(options: Options, name: str) -> Kernel:
        _check_names(graph, name)
        return _told(_made(graph, target, options, name, progress, given=given), given, "ranges", None)

    return compile_over(graph, target, given, name, make, over, variants, sizes)


def _told(kernel: Kernel, given: Options, how: str, sizes: Mapping[str, int] | None) -> Kernel:
    """The kernel, whose options say where they come from."""
    origin = Origin(given.given, how, kernel.graph, kernel.target, sizes)
    object.__setattr__(kernel.options, "origin", origin)  # they are the kernel's own, made by `complete`
    return kernel


def _by_name(given: Any) -> Any:
    """What is given for sizes, by name; other values stay, for who refuses them."""
    return by_name(given) if isinstance(given, Mapping) else given


def _check_asked(sizes: Mapping[str, int] | None) -> None:
    """The values of `sizes`; their names are compared with the graph's by who uses them.

    Raises
    ------
    BadSizes, TooLarge
    """
    if sizes is None:
        return
    if not isinstance(sizes, Mapping):
        raise BadSizes(f"sizes is {kind_of(sizes)}", hint='pass sizes={"M": 512, ...}')
    for name, value in sizes.items():
        if isinstance(value, int) and value > LARGEST:
            raise TooLarge(f"the size {name} is an int of 32 bits, at most {LARGEST}", where=str(value))


def _made(
    graph: Graph,
    target: Target,
    options: Options,
    name: str,
    progress: Callable[[str], None] | None = None,
    otherwise: _WithoutBoxes | None = None,
    given: Options | None = None,
) -> Kernel:
    """See `compile`; threads alone reach the tensors before `otherwise`, none of which is an operand by boxes.

    Parameters
    ----------
    given : the options that somebody gave; None: those.
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
        _check_engine_names(graph)
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
                self.made[None] = _made(self.graph, self.target, others, self.name)
            return self.made[None]
        key = self.before | plain
        if key not in self.made:
            found = (k for had, k in self.made.items() if had is not None and had <= key and key.isdisjoint(k.boxed))
            self.made[key] = next(found, None) or self._boxed_less(key)
        return self.made[key]

    def _boxed_less(self, plain: frozenset[str]) -> Kernel:
        """By boxes but for some tensors; where that leaves others without, too, it is the kernel made for those."""
        kernel = _made(self.graph, self.target, self.options, self.name, otherwise=replace(self, before=plain))
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


def persistent(tree: Schedule, resident: int, clusters: bool = False) -> Schedule:
    """The tree with a mark around the band of the blocks that says how these are shared out, where there are fewer
    blocks than places: `resident`, or what a GPU has room for; 0: as many as there are places. Clusters are likewise.

    As with `grouped`, what is done at a place is the band's to say.
    """
    if not resident:
        return tree
    at = tree.find(level=BLOCK)[0]
    whole = f"cluster n of tiles by cluster n mod {resident} of blocks"
    what = whole if clusters else f"tile n by block n mod {resident}"
    return tree.replace(at, Mark(what, tree.node(at)))


def clustered(tree: Schedule, cluster: tuple[int, int], parts: int = 1) -> Schedule:
    """The tree with a mark around the band of the blocks that says which of them form clusters; alone it has none."""
    if cluster == (1, 1) and parts == 1:
        return tree
    at = tree.find(level=BLOCK)[0]
    more = f" for each of {parts} parts of K" if parts > 1 else ""
    return tree.replace(at, Mark(f"clusters of {cluster[0]} x {cluster[1]} blocks{more}", tree.node(at)))


def grouped(tree: Schedule, order: BlockOrder, cluster: tuple[int, int] = (1, 1), parts: int = 1) -> Schedule:
    """The tree with a mark around the band of the blocks that says in which order they start; row by row it has none.

    A mark changes nothing of what a schedule means: which blocks there are and what each does is the band's.
    """
    if order.plain:
        return tree
    alone = cluster == (1, 1) and parts == 1
    at = tree.find(level=BLOCK)[0]
    at = at if alone else at[:-1]  # around the mark of clusters
    return tree.replace(at, Mark(f"{'blocks' if alone else 'clusters'} in {order}", tree.node(at)))


def swapped(tree: Schedule, idiom: Plan) -> Schedule:
    """The tree with a mark around the band of the blocks that says which members are a macro-MMA's rows and columns;
    the result's own have none.

    The band is what it is: members are in the order in which statements have their iterators.
    """
    product = idiom.contractions[0].statement
    if not product.is_turned:
        return tree
    m, n, _ = product.iterators
    at = tree.find(level=BLOCK)[0]
    return tree.replace(at, Mark(f"macro-MMAs have {m} as rows (m), {n} as columns (n)", tree.node(at)))


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


def _check_names(graph: Graph, name: str) -> None:
    """The kernel's own names must not be taken by the user's."""
    users = (*graph.arrays, *graph.params, *graph.scalars)
    if name in FUNCTIONS_OF_C:
        raise BadName(f"{name!r} can't name a kernel: it is a function of C or CUDA", hint=f"try {name + '_kernel'!r}")
    if name in NOT_FOR_KERNELS:
        raise BadName(f"{name!r} can't name a kernel: NVRTC trips over it", hint=f"try {name + '_kernel'!r}")
    for user in users:
        if user == name:
            raise BadName(f"{user!r} is the kernel's name and a tensor's or size's", hint=f"try {user + '_'!r}")
    for user in users if name == DEFAULT_NAME else (name, *users):
        if KERNEL_NAMES.fullmatch(user):
            raise BadName(f"{user!r} is a name that the kernel's text uses itself", hint=f"try {user + '_'!r}")
        if user in CALL_NAMES:
            raise BadName(f"{user!r} is an argument of the kernel's call", hint=f"try {user + '_'!r}")


def _check_engine_names(graph: Graph) -> None:
    """Nor those that the text of a kernel has whose tiles come by boxes."""
    for user in (*graph.arrays, *graph.params, *graph.scalars):
        if ENGINE_NAMES.fullmatch(user):
            raise BadName(f"{user!r} is a name that the text of a kernel with boxes uses itself",
                          hint=f"try {user + '_'!r}, or a macro_mma whose operands threads copy")  # fmt: skip


def _check_sizes(graph: Graph) -> None:
    """Sizes given as numbers have the limit that those of a launch have."""
    for t in graph.arrays.values():
        for d in t.dims:
            if isinstance(d, int) and d > LARGEST:
                raise TooLarge(f"the size {d} is an int of 32 bits, at most {LARGEST}", where=shape_text(t))


def tensors_of(graph: Graph) -> dict[str, GlobalTensor]:
    """The kernel's tensors by name: inputs, then outputs.

    >>> import polyvolta as pv
    >>> M, K = pv.sizes("M K")
    >>> tensors_of(Graph.of(pv.tensor("A", (M, K), layout="col") @ pv.tensor("B", (K, 8))))["A"]
    GlobalTensor(name='A', dims=('M', 'K'), order=(1, 0), written=False, align=8, kind='half', whole=False)
    """
    out = {}
    for t in (*graph.inputs, *graph.outputs):
        dims = tuple(d if isinstance(d, int) else d.name for d in t.dims)
        order = tuple(range(len(dims)))
        out[t.name] = GlobalTensor(t.name, dims, order if t.layout == "row" else order[::-1], t in graph.outputs,
                                  kind=FORMATS[t.dtype].kind)  # fmt: skip
    return out


def multiples_of(graph: Graph, idiom: Plan, options: Tiling) -> dict[str, int]:
    """What each symbolic size must be a multiple of: of nothing, unless partial tiles are to be padded, to whole
    clusters where blocks form some.

    Raises
    ------
    NotAMultiple : a size that is a number and no multiple of its tile.
    """
    out: dict[str, int] = {}
    if options.partial != "pad":
        return out
    whose = "block" if options.cluster == (1, 1) else "cluster"
    step = tuple(n * c for n, c in zip(options.step, (*options.cluster, 1), strict=True))
    for s in (c.statement for c in idiom.contractions):
        for extent, size in zip(s.extents, step, strict=True):
            if isinstance(extent, Size):
                out[extent.name] = lcm(size, out.get(extent.name, 1))
            elif extent % size:
                near = dict.fromkeys((max(size, extent // size * size), -(-extent // size) * size))
                raise NotAMultiple(
                    f"the size {extent} is no multiple of the {whose}'s {size}",
                    where=str(s),
                    hint=f'partial="guard" takes any size; {_nearest_that_work(list(near))}',
                )
    return {p: out[p] for p in graph.params if p in out}


def _nearest_that_work(sizes: list[int]) -> str:
    return f"the nearest that work{'s is' if len(sizes) == 1 else ' are'} {' and '.join(map(str, sizes))}"


def context_of(graph: Graph, idiom: Plan, multiples: dict[str, int]) -> Set:
    """What the kernel may assume of the sizes: nothing is computed for an empty result, and tiles may divide them.

    A size along which products only sum up may be 0: the sum is 0 then.
    """
    result = {str(d) for c in idiom.contractions for d in c.statement.extents[:2]}
    facts = [f"{p} >= {1 if p in result else 0}" for p in graph.params]
    facts += [f"{p} mod {m} = 0" for p, m in multiples.items()]
    prefix = f"[{', '.join(graph.params)}] -> " if graph.params else ""
    return Set(f"{prefix}{{ : {' and '.join(facts)} }}" if facts else "{ : }")
