"""What a kernel takes: its name and its arguments' names, its tensors, and what may be assumed of its sizes."""

from __future__ import annotations

from math import lcm

from polyvolta.compiler.arguments import LARGEST, TooLarge
from polyvolta.compiler.compiled import NotAMultiple
from polyvolta.compiler.tiling import Tiling
from polyvolta.cuda.ir.kernel_ir import GlobalTensor
from polyvolta.cuda.text.names import ENGINE_NAMES, FUNCTIONS_OF_C, KERNEL_NAMES, NOT_FOR_KERNELS
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Size
from polyvolta.graph.errors import BadName
from polyvolta.graph.expr import shape_text
from polyvolta.graph.functions.formats import FORMATS
from polyvolta.graph.plans.plans import Plan
from polyvolta.sets import Set

DEFAULT_NAME = "kern0"
CALL_NAMES = ("out", "stream", "hook", "observe", "patience", "block")  # a Kernel's arguments beside the tensors


def check_names(graph: Graph, name: str) -> None:
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


def check_engine_names(graph: Graph) -> None:
    """Nor those that the text of a kernel has whose tiles come by boxes."""
    for user in (*graph.arrays, *graph.params, *graph.scalars):
        if ENGINE_NAMES.fullmatch(user):
            raise BadName(f"{user!r} is a name that the text of a kernel with boxes uses itself",
                          hint=f"try {user + '_'!r}, or a macro_mma whose operands threads copy")  # fmt: skip


def check_sizes(graph: Graph) -> None:
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
