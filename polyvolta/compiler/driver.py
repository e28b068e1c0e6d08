"""`compile`: what is asked for is checked, options that are missing are chosen, and a kernel is made, or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, overload

from polyvolta.compiler.arguments import LARGEST, TooLarge
from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.making import made
from polyvolta.compiler.model.sizes import BadSizes
from polyvolta.compiler.options import Options, Origin, informed
from polyvolta.compiler.remembered.find import remembered
from polyvolta.compiler.rule.values import BadOption
from polyvolta.compiler.signature import DEFAULT_NAME, check_names, check_sizes
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.compiler.variants.compiling import compile_over
from polyvolta.cuda.arch import AUTO
from polyvolta.cuda.target.registry import target_of
from polyvolta.cuda.target.target import Target
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Given, by_name
from polyvolta.graph.names import check_name
from polyvolta.sets.errors import kind_of, nearest

if TYPE_CHECKING:
    from polyvolta.compiler.arguments import Host
    from polyvolta.compiler.variants.kernels import VariedKernel
    from polyvolta.graph.dag import Outputs
    from polyvolta.graph.expr import Expr
    from polyvolta.graph.outputs import Output

    One = Expr | Output
    Several = tuple[One, One, *tuple[One, ...]]
    """At least two outputs: that a list, a dict or a graph has more than one is no part of its type."""

ARGUMENTS = ("outputs", "target", "options", "name", "progress", "sizes", "over", "variants")


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
    **unknown: object,
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
    unknown : none; options have a class of their own.

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
    BadSizes : of `sizes` one is missing, unknown, or no number; or one is given twice, in `over`, too.

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
    if unknown:
        raise _no_such(unknown)
    if isinstance(target, Options):
        raise BadOption("the options stand where the target is expected", hint="pass them as options=...")
    if options is not None and not isinstance(options, Options):
        raise BadOption(f"options is {kind_of(options)}", hint="pass pv.Options(block_tile=..., ...)")
    if progress is not None and not callable(progress):
        raise BadOption(f"progress is {kind_of(progress)}", hint="pass a function of a stage's name, such as print")
    graph = Graph.of(outputs)
    target = target_of(AUTO if target is None else target)
    name = check_name(DEFAULT_NAME if name is None else name, "kernel")
    check_names(graph, name)
    check_sizes(graph)
    asked, ranges = _by_name(sizes), _by_name(over)
    _check_asked(asked)
    given = options or Options()
    if over is None and variants is None:
        found = None if given.given else remembered(graph, target, asked or {})
        taken = found or informed(graph, target, given, asked)
        how = "tuning" if found else "rule" if taken is given else "model"
        return _told(made(graph, target, taken, name, progress, given=given), given, how, asked)

    def make(options: Options, name: str) -> Kernel:
        check_names(graph, name)
        return _told(made(graph, target, options, name, progress, given=given), given, "ranges", None)

    return compile_over(graph, target, given, name, make, ranges, variants, asked)


def _no_such(unknown: Mapping[str, object]) -> BadOption:
    """The error that `compile` takes no such keywords; of options it says where they belong."""
    if options := [f"{n}={v!r}" for n, v in unknown.items() if n in OPTIONS]:
        name = next(n for n in unknown if n in OPTIONS)
        return BadOption(f"{name} is no argument of compile, but an option",
                         hint=f"options=pv.Options({', '.join(options)})")  # fmt: skip
    name = next(iter(unknown))
    return BadOption(f"compile has no argument {name!r}", hint=nearest(name, (*ARGUMENTS, *OPTIONS)))


def _told(kernel: Kernel, given: Options, how: str, sizes: Mapping[str, int] | None) -> Kernel:
    """The kernel, whose options say where they come from."""
    origin = Origin(given.given, how, kernel.graph, kernel.target, sizes)
    object.__setattr__(kernel.options, "origin", origin)  # they are the kernel's own, made by `complete`
    return kernel


def _by_name(given: Any) -> Any:
    """What is given for sizes, by name; other values stay, for who refuses them.

    Raises
    ------
    BadSizes : a size is given twice.
    """
    return by_name(given, BadSizes) if isinstance(given, Mapping) else given


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
