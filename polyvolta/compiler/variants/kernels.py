"""A kernel of several tilings, one of which is taken at each launch: `VariedKernel`.

It is run like any other kernel. A call finds its sizes in the shapes of its arrays, and compares them with the bounds
of `decisions`; what it then does is kept as a plan under those shapes, so that the next call like it compares nothing.
A bound launch is one of a variant.

What is of one text, one tree or one tiling, each of `variants` has for itself: where there are several, the kernel
names them instead of answering for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Never, Self, overload

from polyvolta.compiler.compiled import LaunchConfig, by_names
from polyvolta.compiler.kernel import Kernel, R
from polyvolta.compiler.plans import Plans
from polyvolta.compiler.run import bound_launch, interpreted, run, traced
from polyvolta.compiler.variants.decisions import Decisions
from polyvolta.compiler.variants.reports import VariedReport, proved
from polyvolta.display.shown import Shown
from polyvolta.display.text import brief, filled
from polyvolta.graph.binding import bind
from polyvolta.graph.dims import Given
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.compiler.arguments import Array, HostArray
    from polyvolta.compiler.options import Options
    from polyvolta.compiler.stages import Stages
    from polyvolta.cuda.ir.kernel_ir import KernelIR
    from polyvolta.cuda.machine.observe.observations import Observations
    from polyvolta.cuda.machine.stepping import Trace
    from polyvolta.cuda.run.nvrtc import Cubin, Resources
    from polyvolta.cuda.run.prepared import Nothing, Prepared
    from polyvolta.cuda.target.target import Target
    from polyvolta.graph.dag import Graph
    from polyvolta.sched.tree import Schedule


class SeveralAnswers(PolyvoltaError, AttributeError):
    """Something that each variant of a kernel has for itself was asked of the kernel."""

    id = "PV423"


@dataclass(frozen=True, slots=True)
class VariedKernel(Shown, Generic[R]):
    """The result of `compile(..., over=..., variants=...)`; call it with arrays, as a `Kernel`.

    Parameters
    ----------
    name : its own; the C functions have it with a number behind, where there are several.
    graph, target : what it was compiled from.
    decisions : which variant is taken for which sizes.
    variants : the kernels, each of which takes any sizes.

    Its methods are those of `Kernel`, of which each is about the variant that is taken; see `Kernel`.
    """

    name: str
    graph: Graph
    target: Target
    decisions: Decisions
    variants: tuple[Kernel[R], ...]
    _plans: Plans = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_plans", Plans(self.graph, self.variants[0].ir))  # their arguments are the same

    def __repr__(self) -> str:
        count = len(self.variants)
        what = f"{count} variant{'s' * (count > 1)} of {self.name} for {self.target.name}"
        return filled(f"<VariedKernel, {what}: {brief('; '.join(map(str, self.graph.statements)))}>")

    def _html(self) -> str:
        """What decides between the variants, and below it what each is; its own page has its stages and text."""
        from polyvolta.compiler.shown.kernel import brief
        from polyvolta.display.page import fold, heading
        from polyvolta.graph.shown.notebook import outputs

        count = len(self.variants)
        head = heading(self.name, f"{count} variant{'s' * (count > 1)} for {self.target.name}")
        pages = (fold(f"variant {n}", brief(kernel, f"kernel.variants[{n}]")) for n, kernel in enumerate(self.variants))
        return "".join((head, outputs(self.graph), self.decisions._html(), *pages))

    def serving(self, sizes: Mapping[str, int]) -> Kernel[R]:
        """The variant for some sizes, which aren't checked.

        See `VariedKernel.at`, which checks them.
        """
        return self.variants[self.decisions.taken(sizes)]

    def at(self, sizes: Given[int] | None = None, /, **named: int) -> Kernel[R]:
        """The variant that is taken for some sizes.

        Raises
        ------
        MissingSize : a size is missing, unknown, or no int >= 0.

        The sizes are those that a call finds in its arrays; see `Kernel.launch_config`.
        """
        return self.variants[self.decisions.choose(sizes, **named)]

    # ---- by the sizes

    @overload
    def __call__(
        self, /, *arrays: HostArray, out: HostArray | Sequence[HostArray | None] | None = ..., stream: Any = ...,
        **named: HostArray,
    ) -> R: ...  # fmt: skip
    @overload
    def __call__(
        self, /, *arrays: Array, out: Array | Sequence[Array | None] | None = ..., stream: Any = ..., **named: Array
    ) -> Any: ...
    def __call__(self, /, *arrays: Any, out: Any = None, stream: Any = None, **named: Any) -> Any:
        """Run the variant for these arrays' sizes, see `Kernel.__call__`. The first call of a kind costs the comparison
        of its sizes more, some microseconds; those after it nothing."""
        return run(self, arrays, named, out, stream)

    def bind(
        self, /, *arrays: Array, out: Array | Sequence[Array], stream: Any = None, **named: Array
    ) -> Prepared | Nothing:
        """A launch of the variant for these arrays' sizes, see `Kernel.bind`: its calls are those of any other."""
        bound = bind(self.graph, arrays, named)
        return bound_launch(self.serving(bound.sizes), bound, out, stream)

    @overload
    def interpret(
        self, /, *arrays: Array, out: Array | Sequence[Array | None] | None = ...,
        hook: Callable[..., object] | None = ..., observe: tuple[()] | None = ..., patience: float | None = ...,
        copies: str | int = ..., **named: Array,
    ) -> R: ...  # fmt: skip
    @overload
    def interpret(
        self, /, *arrays: Array, out: Array | Sequence[Array | None] | None = ...,
        hook: Callable[..., object] | None = ..., observe: str | Iterable[str], patience: float | None = ...,
        copies: str | int = ..., **named: Array,
    ) -> Observations: ...  # fmt: skip
    def interpret(
        self, /, *arrays: Any, out: Any = None, hook: Any = None, observe: str | Iterable[str] | None = (),
        patience: float | None = None, copies: str | int = "lazy", **named: Any,
    ) -> Any:  # fmt: skip
        """Run the IR of the variant for these arrays' sizes on the CPU, see `Kernel.interpret`."""
        bound = bind(self.graph, arrays, named)
        return interpreted(self.serving(bound.sizes), bound, out, hook, observe, patience, copies)

    def trace(
        self, /, *arrays: Array, block: tuple[int, ...] = (0, 0), copies: str | int = "lazy", **named: Array
    ) -> Trace:
        """The steps of one block of the variant for these arrays' sizes, see `Kernel.trace`."""
        bound = bind(self.graph, arrays, named)
        return traced(self.serving(bound.sizes), bound, block, copies)

    def launch_config(self, sizes: Given[int] | None = None, /, *unnamed: Never, **named: int) -> LaunchConfig:
        """Grid, block and shared memory of the variant for some sizes, see `Kernel.launch_config`."""
        found = self.check_sizes(by_names(sizes, unnamed, named, self.variants[0].ir.sizes))
        return self.serving(found).launch_config(found)

    def grid_on(
        self, multiprocessors: int, sizes: Mapping[str, int], clusters: int | None = None
    ) -> tuple[int, int, int]:
        """The blocks of a launch on a GPU, see `Kernel.grid_on`."""
        return self.serving(self.check_sizes(sizes)).grid_on(multiprocessors, sizes, clusters)

    def check_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The kernel's sizes, each an int >= 0 that an `int` holds.

        See `Kernel.check_sizes`.
        """
        return self.variants[0].check_sizes(sizes)

    # ---- of all

    def verify(self, only: str | Iterable[str] | None = None) -> VariedReport:
        """Prove, for all sizes, that each variant is right, see `Kernel.verify`, and that one is taken for each size.

        Cost: that of each variant.
        """
        return VariedReport(self.decisions, proved(self.decisions), tuple(k.verify(only) for k in self.variants))

    def variant(self, /, **align: int) -> Self:
        """The kernel for narrower accesses to some of its tensors, see `Kernel.variant`: each of its variants is."""
        narrow = tuple(kernel.variant(**align) for kernel in self.variants)
        same = all(a is b for a, b in zip(narrow, self.variants, strict=True))
        return self if same else replace(self, variants=narrow)

    # ---- of one

    @property
    def options(self) -> Options:
        """Of the one variant."""
        return self._one("options").options

    @property
    def stages(self) -> Stages:
        """Of the one variant."""
        return self._one("stages").stages

    @property
    def schedule(self) -> Schedule:
        """Of the one variant."""
        return self._one("schedule").schedule

    @property
    def ir(self) -> KernelIR:
        """Of the one variant."""
        return self._one("ir").ir

    @property
    def source(self) -> str:
        """CUDA C++ of the one variant."""
        return self._one("source").source

    def compiled(self, arch: str | None = None) -> Cubin:
        """Machine code of the one variant, see `Kernel.compiled`."""
        return self._one("compiled").compiled(arch)

    def cubin(self) -> bytes:
        """Machine code of the one variant, see `Kernel.cubin`."""
        return self._one("cubin").cubin()

    def resources(self) -> Resources:
        """Registers, spills and memory of the one variant, see `Kernel.resources`."""
        return self._one("resources").resources()

    def device_function(self, /, shared: str = "auto", **align: int) -> Any:
        """The one variant as a device function, see `Kernel.device_function`."""
        return self._one("device_function").device_function(shared, **align)

    def _one(self, what: str) -> Kernel[R]:
        """The only variant.

        Raises
        ------
        SeveralAnswers : there are several.
        """
        if len(self.variants) == 1:
            return self.variants[0]
        call = "(...)" if callable(getattr(Kernel, what, None)) else ""
        given = ", ".join(f"{name}=..." for name in self.decisions.names)
        raise SeveralAnswers(
            f"{self.name} has {len(self.variants)} variants, and each has {what} of its own",
            where=str(self.decisions.tables[0]),
            hint=f"kernel.variants[0].{what}{call}, or kernel.at({given}).{what}{call}",
        )
