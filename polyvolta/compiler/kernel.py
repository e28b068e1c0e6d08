"""A compiled kernel: its trees, its text, and the ways to run it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.arguments import LARGEST
from polyvolta.compiler.arguments import TooLarge as TooLarge
from polyvolta.compiler.options import Options
from polyvolta.compiler.stages import Stages
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.target.target import Target
from polyvolta.graph.binding import bind
from polyvolta.graph.dag import Graph
from polyvolta.sched.tree import Schedule
from polyvolta.sets import PolyvoltaError, UnknownName, nearest

if TYPE_CHECKING:
    from polyvolta.cuda.machine.stepping import TraceStep
    from polyvolta.cuda.run.launch import LoadedKernel
    from polyvolta.cuda.run.nvrtc import Cubin, Resources
    from polyvolta.cuda.run.prepared import Nothing, Prepared
    from polyvolta.cuda.verify.report.report import Report


MOST_CONFIGS = 1024  # launch configurations that a kernel remembers: one takes 8 us to make


class NotAMultiple(PolyvoltaError, ValueError):
    """A size that is no multiple of its tile, in a kernel without guards whose arrays can't be padded."""

    id = "PV403"


class MissingSize(PolyvoltaError, TypeError):
    """A launch configuration was asked for without all sizes, or with a wrong one."""

    id = "PV404"


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """What a launch needs: blocks (x, y, z), threads of a block (x, y, z), bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """The result of `compile`; call it with arrays.

    It takes arrays of any sizes, and views into larger arrays. Its text moves eight values of a tensor at once; for
    arrays whose address or leading dimension doesn't allow that, `variant` has the text with narrower accesses,
    printed and compiled when it is needed.

    Parameters
    ----------
    graph, target, options : what it was compiled from.
    stages : every intermediate schedule tree by stage name, in order.
    ir : the kernel IR, its definition.
    source : CUDA C++, one self-contained text.
    """

    graph: Graph
    target: Target
    options: Options
    stages: Stages = field(hash=False)
    ir: KernelIR = field(hash=False)
    source: str
    _variants: dict[tuple[int, ...], Kernel] = field(default_factory=dict, compare=False, repr=False)
    _loaded: dict[tuple, LoadedKernel] = field(default_factory=dict, compare=False, repr=False)
    _configs: dict[tuple[int, ...], LaunchConfig] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Of the C function."""
        return self.ir.name

    @property
    def schedule(self) -> Schedule:
        """The tree of the last stage."""
        return self.stages[next(reversed(self.stages))]

    def __repr__(self) -> str:
        return f"<Kernel {self.name} for {self.target.name}: {'; '.join(map(str, self.graph.statements))}>"

    def launch_config(self, /, **sizes: int) -> LaunchConfig:
        """Grid, block and shared memory for given sizes, inferred from the mapped schedule dimensions.

        A result without elements has a grid with a 0 in it: there is nothing to launch.

        Raises
        ------
        MissingSize : a size is missing, unknown or no int >= 0.
        TooLarge : a size, or a number of blocks, that doesn't fit.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
        >>> kernel = pv.compile(product, options=pv.Options(block_tile=(128, 128, 32)))
        >>> kernel.launch_config(M=513, N=255, K=64).grid
        (2, 5, 1)
        """
        checked = self.check_sizes(sizes)
        key = tuple(checked.values())
        if key not in self._configs:
            if len(self._configs) >= MOST_CONFIGS:
                self._configs.clear()
            self._configs[key] = self._config(checked)
        return self._configs[key]

    def _config(self, sizes: dict[str, int]) -> LaunchConfig:
        from polyvolta.compiler.run import padded_sizes

        sizes = padded_sizes(self, sizes)
        blocks_along: list[Any] = [e.evaluate(sizes) for e in self.ir.grid]
        x, y, z = map(int, blocks_along)
        for axis, blocks, most in zip("xyz", (x, y, z), self.target.grid):
            if blocks > most:
                raise TooLarge(
                    f"{blocks} blocks along {axis}, {self.target.name} has at most {most}",
                    where=", ".join(f"{n} = {v}" for n, v in sizes.items()),
                    hint="a larger block_tile",
                )
        return LaunchConfig((x, y, z), (self.ir.threads, 1, 1), self.ir.shared_bytes)

    def check_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The kernel's sizes, each an int >= 0 that an `int` holds."""
        for name in sizes:
            if name not in self.ir.sizes:
                raise MissingSize(f"the kernel has no size {name!r}", hint=nearest(name, self.ir.sizes))
        for name in self.ir.sizes:
            value = sizes.get(name)
            if value is None:
                raise MissingSize(
                    f"the size {name} is missing", hint=f"launch_config({', '.join(f'{n}=...' for n in self.ir.sizes)})"
                )
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
                raise MissingSize(f"the size {name} is an int, at least 0, not {value!r}")
            if value > LARGEST:
                raise TooLarge(f"the size {name} is an int of 32 bits, at most {LARGEST}, not {value}")
        return {name: int(sizes[name]) for name in self.ir.sizes}

    def variant(self, /, **align: int) -> Kernel:
        """The kernel for narrower accesses to some of its tensors, as a call makes it for arrays that need it.

        Parameters
        ----------
        align : by tensor name how many values one access moves: 8, 4, 2 or 1. The others have what this kernel has.

        Raises
        ------
        UnknownName : no tensor of that name.
        BadOption : another number.

        Cost: that of printing, once for each combination.
        """
        from polyvolta.compiler.options import BadOption
        from polyvolta.cuda.run.views import narrowed
        from polyvolta.cuda.text.printer import print_cuda

        now = {t.name: t.align for t in self.ir.tensors}
        for name, width in align.items():
            if name not in now:
                raise UnknownName(f"the kernel has no tensor {name!r}", hint=nearest(name, now))
            if width not in (8, 4, 2, 1):
                raise BadOption(f"an access to {name} moves 8, 4, 2 or 1 values, not {width!r}")
        wanted = {**now, **align}
        if wanted == now:
            return self
        key = tuple(wanted.values())
        if key not in self._variants:
            ir = narrowed(self.ir, wanted)
            self._variants[key] = replace(self, ir=ir, source=print_cuda(ir), _variants={}, _loaded={})
        return self._variants[key]

    def compiled(self, arch: str | None = None) -> Cubin:
        """Machine code with the compiler's log, for the kernel's target or another architecture."""
        from polyvolta.cuda.run.nvrtc import compile_cubin

        return compile_cubin(self.source, arch or self.target.name, name=self.name)

    def cubin(self) -> bytes:
        """Machine code for the kernel's target; needs NVRTC, no GPU.

        Raises
        ------
        CompilerMissing, CompileFailed, UnsupportedArch : see `polyvolta.cuda.errors`.
        """
        return self.compiled().image

    def resources(self) -> Resources:
        """Registers, spills and memory of the machine code for the target, with the dynamic shared memory."""
        found = self.compiled().resources(self.name)
        return replace(found, shared_bytes=found.shared_bytes + self.ir.shared_bytes)

    def loaded(self, align: Mapping[str, int] | None = None) -> LoadedKernel:
        """The machine code on the current GPU, loaded once, of the variant for such accesses."""
        from polyvolta.cuda.run import launch

        align = align or {}
        key = (launch.current_device(), *[align.get(t.name, t.align) for t in self.ir.tensors])
        if key not in self._loaded:
            variant = self.variant(**align)
            image = variant.compiled(launch.device_arch()).image
            self._loaded[key] = launch.load(image, self.name, self.ir.shared_bytes)
        return self._loaded[key]

    def __call__(self, /, *arrays: Any, out: Any = None, stream: Any = None, **named: Any) -> Any:
        """Run the kernel: on the GPU if there is one, else interpreted.

        Parameters
        ----------
        arrays : fp16 arrays in the order in which the tensors first appear, or by name: numpy arrays, or arrays
            on the GPU (torch, cupy, numba: CUDA array interface or DLPack). Each has its tensor's shape, and its
            values are next to one another along the dimension that its layout runs along; views into larger arrays
            will do. Scalars are numbers.
        out : where the results go, an array or a sequence of one for each output (None: allocate it); by default all
            are allocated.
        stream : of numba, torch or cupy, or the driver's handle, on a GPU. By default the one on which the first
            array's library works now: torch's or cupy's current stream, else the legacy default stream.

        Returns
        -------
        The result, for several outputs a tuple of them in the order asked for.

        Raises
        ------
        ArrayMismatch, BadArguments, BadArray : shapes, sizes, dtypes, layouts or memory that do not fit; an output
            that overlaps another array.
        TooLarge : more than 32-bit sizes or the target's grid hold.
        TooLong : there is no GPU, and the interpreter would take more than ten minutes; see `interpret`.
        """
        from polyvolta.compiler.run import run

        return run(self, bind(self.graph, arrays, named), out, stream)

    def interpret(
        self,
        /,
        *arrays: Any,
        out: Any = None,
        hook: Any = None,
        observe: str | Iterable[str] | None = (),
        patience: float | None = None,
        **named: Any,
    ) -> Any:
        """Run the kernel's IR in lockstep on the CPU, numpy arrays in and out; `hook` sees every operation.

        Parameters
        ----------
        arrays, named, out : as of a call; numpy arrays.
        hook : called as hook(machine, op, values) after each operation; see `polyvolta.cuda.machine.interpreter.interpret`.
        observe : what to look for meanwhile, some of "bank_conflicts", "races", "coalescing", "bounds",
            "uninitialised", "divergence", "values" and "counts", or "all"; nothing by default, at no cost: with () the
            array itself is returned.
        patience : seconds that it may take; by default ten minutes. A run that would take longer ends after a second,
            with an error that says how long, and smaller sizes.

        Returns
        -------
        The result, as of a call; with `observe` an `Observations`, which has it as `.result` and draws what was seen,
        `.picture("bank_conflicts")`.

        Raises
        ------
        UnknownName, BadObserve : nothing, or something that is no name, is observed so.
        NothingToObserve : the kernel has nothing of the kind.
        BadHook, BadPatience : a hook that can't be called, a patience that is no number of seconds.
        OutOfBounds, Diverged, NotAChunk : the kernel is wrong, and no observer takes note of it.
        TooLong : all would take longer than the patience.
        ArrayMismatch, BadArguments, BadArray, TooLarge : as of a call.
        """
        from polyvolta.compiler.run import interpreted

        return interpreted(self, bind(self.graph, arrays, named), out, hook, observe, patience)

    def trace(self, /, *arrays: Any, block: tuple[int, ...] = (0, 0), **named: Any) -> Iterator[TraceStep]:
        """Run one block step by step: each with its tree node, its CUDA line, and what each warp reads and writes.

        Parameters
        ----------
        arrays, named : as of a call; numpy arrays.
        block : blockIdx x, y and, if it isn't 0, z.

        Returns
        -------
        An iterator over the steps, each made when it is asked for. The results are the steps' own: no array of the
        caller's is written to.

        Raises
        ------
        BadBlock : it is none, or not in the grid for these sizes; names the nearest one.
        ArrayMismatch, BadArguments, BadArray, TooLarge : as of a call. All are raised at once, not at the first step.
        """
        from polyvolta.compiler.run import traced

        return traced(self, bind(self.graph, arrays, named), block)

    def verify(self, only: str | Iterable[str] | None = None) -> Report:
        """Prove, for all sizes, that the kernel is right: nothing races, no bank conflict, every element covered once.

        Parameters
        ----------
        only : names of proofs, such as "bounds", "bounds, fresh" or ("bounds", "fresh"), at least one; by default all
            that the kernel has a meaning for.

        Returns
        -------
        A report. It prints as a table, with a counter-example below for every statement that is refuted: sizes, block,
        warp, lane, what is touched, the line of the CUDA text and the node of the tree. For programs there are
        `report.ok`, `report.proofs` and `report["bounds"]`. What has no exact answer is in `report.undecided`, each
        with its reason; then the report isn't ok.

        Raises
        ------
        UnknownProof : a name that no proof has.
        NoMeaning : a proof was asked for by name that says nothing about this kernel.
        IllFormed : the kernel's IR means nothing that could be proved or refuted.

        Cost: some tenths of a second, up to several seconds for kernels of many operations.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
        >>> report = kernel.verify(("bank_conflicts", "dependences"))
        >>> report.ok, [p.id for p in report.proofs]
        (True, ['dependences', 'bank_conflicts'])
        >>> report["dependences"].sizes
        'all M >= 1, N >= 1, K >= 0'
        """
        from polyvolta.cuda.verify.verify import verify

        return verify(self.ir, self.graph, self.stages, only)

    def bind(self, /, *arrays: Any, out: Any, stream: Any = None, **named: Any) -> Prepared | Nothing:
        """A launch on these arrays with everything done beforehand: call the result with nothing, as often as wanted.

        Each call puts one run on the stream and returns, after one call of the driver; nothing is checked, allocated
        or waited for. Calls may be captured in a CUDA graph. What writes the arrays must run on the same stream, or
        be waited for: streams of other libraries are looked at once, here. The arrays are kept alive.

        Parameters
        ----------
        arrays, out, stream, named : as in a call; `out` is given, and all arrays are on the GPU.

        Raises
        ------
        as a call does; NoGpu where there is none, NotAMultiple for arrays that would have to be padded.

        Notes
        -----
        A timing loop, with torch arrays a, b and c:

            launch = kernel.bind(a, b, out=c, stream=torch.cuda.current_stream())
            launch()                                    # compiled, loaded and warm
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(100):
                launch()
            end.record()
            end.synchronize()
            print(start.elapsed_time(end) / 100, "ms")
        """
        from polyvolta.compiler.run import bound_launch

        return bound_launch(self, bind(self.graph, arrays, named), out, stream)

    def device_function(self, /, shared: str = "auto", **align: int) -> Any:
        """The kernel as a device function for a user's own `@cuda.jit` kernel, bit-equal to the kernel.

        It is called by all threads of a block, in a grid of `launch_config`, with the kernel's arguments: the sizes,
        the scalars, then for each tensor a pointer and the leading dimension (none for a vector). It returns 0.

        Parameters
        ----------
        shared : "static": shared memory of its own, up to 48 KiB; "dynamic": that of the launch, `shared_bytes` of
            `launch_config`; "auto": static if it fits. A launch with more than 48 KiB is numba's to refuse unless
            the user's kernel went through `with_shared` of `polyvolta.cuda.numba_helpers`.
        align : narrower accesses, as in `variant`.

        Raises
        ------
        NumbaMissing : numba-cuda is not installed.
        NotADeviceFunction : more than 48 KiB of static shared memory.

        Notes
        -----
        Two of them in one user's kernel have different names: `compile(..., name=...)`.

        With `address` of `polyvolta.cuda.numba_helpers`:

            matmul = kernel.device_function()

            @cuda.jit(launch_bounds=kernel.ir.threads)    # so that a block's registers are enough for its threads
            def mine(a, b, c):
                matmul(a.shape[0], b.shape[1], a.shape[1], address(a), a.shape[1], address(b), ...)
        """
        from polyvolta.cuda.run.device_function import declare

        variant = self.variant(**align)
        return declare(variant.ir, variant.source, shared)
