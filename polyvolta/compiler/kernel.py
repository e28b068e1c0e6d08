"""A compiled kernel and the ways to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from polyvolta.compiler.compiled import Compiled
from polyvolta.compiler.run import run
from polyvolta.graph.binding import bind

if TYPE_CHECKING:
    from polyvolta.compiler.arguments import Array, HostArray
    from polyvolta.cuda.machine.observe.observations import Observations
    from polyvolta.cuda.machine.stepping import Trace
    from polyvolta.cuda.run.prepared import Nothing, Prepared
    from polyvolta.cuda.verify.report.report import Report


R = TypeVar("R")
"""What a kernel gives for numpy arrays: an array of one output, a tuple of several."""


@dataclass(frozen=True, slots=True, repr=False)
class Kernel(Compiled, Generic[R]):
    """The result of `compile`; call it with arrays.

    It takes arrays of any sizes, and views into larger arrays. `Compiled` has what it is made of: trees, text and
    machine code.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    >>> kernel = pv.compile(product)
    >>> kernel.name, kernel.target.name, list(kernel.stages)[:2]
    ('kern0', 'sm_70', ['initial', 'block_tiled'])
    """

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
        """Run the kernel: on the GPU if there is one, else interpreted.

        Parameters
        ----------
        arrays : arrays in the order in which the tensors first appear, or by name: in host memory of numpy, of torch,
            or of whatever exports DLPack; or on the GPU (torch, cupy, numba: CUDA array interface or DLPack). Each has
            its tensor's element type (fp16; bf16 of torch, or of ml_dtypes in numpy arrays), its shape, and its values
            are next to one another along the dimension that its layout runs along; views into larger arrays will do.
            Scalars are numbers.
        out : where the results go, an array or a sequence of one for each output (None: allocate it); by default all
            are allocated.
        stream : of numba, torch or cupy, or the driver's handle, on a GPU. By default the one on which the first
            array's library works now: torch's or cupy's current stream, else the legacy default stream.

        Returns
        -------
        The result, an array of the first input's library; for several outputs a tuple of them in the order asked for.

        Raises
        ------
        ArrayMismatch, BadArguments, BadArray : shapes, sizes, dtypes, layouts or memory that do not fit; an output
            that overlaps another array.
        TooLarge : more than 32-bit sizes or the target's grid hold.
        TooLong : there is no GPU, and the interpreter would take more than ten minutes; see `interpret`.

        Notes
        -----
        Cost, of the host: some hundred microseconds for the first call with arrays of such shapes, strides, types and
        alignment on a stream, where the machine code is there; ten to twenty for each one after it with arrays of
        torch, cupy or numba (`polyvolta.compiler.plans`), most of it the library's and the driver's. `bind` does with
        less.
        """
        return run(self, arrays, named, out, stream)

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
        self,
        /,
        *arrays: Any,
        out: Any = None,
        hook: Any = None,
        observe: str | Iterable[str] | None = (),
        patience: float | None = None,
        copies: str | int = "lazy",
        **named: Any,
    ) -> Any:
        """Run the kernel's IR in lockstep on the CPU, arrays in host memory in and out; `hook` sees every operation.

        Parameters
        ----------
        arrays, named, out : as of a call; in host memory.
        hook : called as hook(machine, op, values) after each operation; see
            `polyvolta.cuda.machine.interpreter.interpret`.
        observe : what to look for meanwhile, some of "bank_conflicts", "races", "coalescing", "bounds",
            "uninitialised", "divergence", "values", "counts" and "phases", or "all"; nothing by default, at no cost:
            with () the array itself is returned.
        patience : seconds that it may take; by default ten minutes. A run that would take longer ends after a second,
            with an error that says how long, and smaller sizes.
        copies : when asynchronous copies arrive and asynchronous products are done: "lazy", when they are waited for,
            which shows most of what is wrong with a wait; "eager", at once; "random", or an int, the seed of random
            times. Roles of warps take turns likewise. What is right with all of them is for observers to say, and for
            proofs. A kernel that has nothing of the kind doesn't care.

        Returns
        -------
        The result, as of a call; with `observe` an `Observations`, which has it as `.result` and draws what was seen,
        `.picture("bank_conflicts")`.

        Raises
        ------
        UnknownName, BadObserve : nothing, or something that is no name, is observed so.
        NothingToObserve : the kernel has nothing of the kind.
        BadHook, BadPatience : a hook that can't be called, a patience that is no number of seconds.
        BadCopies : no time at which copies could arrive.
        OutOfBounds, Diverged, NotAChunk, BadPhase, Deadlock, LeftBehind : the kernel is wrong, and no observer takes
            note of it.
        TooLong : all would take longer than the patience.
        ArrayMismatch, BadArguments, BadArray, TooLarge : as of a call.

        >>> import numpy as np
        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
        >>> a, b = np.eye(3, dtype=np.float16), np.asfortranarray(np.full((3, 2), 2, np.float16))
        >>> kernel.interpret(a, b)
        array([[2., 2.],
               [2., 2.],
               [2., 2.]], dtype=float16)
        >>> seen = kernel.interpret(a, b, observe=("races", "bank_conflicts"))
        >>> seen.ok, seen.result.shape
        (True, (3, 2))
        """
        from polyvolta.compiler.run import interpreted

        return interpreted(self, bind(self.graph, arrays, named), out, hook, observe, patience, copies)

    def trace(
        self, /, *arrays: Array, block: tuple[int, ...] = (0, 0), copies: str | int = "lazy", **named: Array
    ) -> Trace:
        """Run one block step by step: each with its tree node, its CUDA line, and what each warp reads and writes.

        Parameters
        ----------
        arrays, named : as of a call; in host memory.
        block : blockIdx x, y and, if it isn't 0, z.
        copies : when asynchronous copies arrive, and whose turn it is where warps have roles; see `interpret`.

        Returns
        -------
        A sequence of steps, each made when it is asked for and kept, some 10 KB: `trace[16]`, `trace[16:19]`, `len`; a
        notebook shows it with a slider. Where warps have roles, its `next("producer")` is the next step of one of them,
        and `standing` where each stands. The results are the steps' own: no array of the caller's is written to.

        Raises
        ------
        BadBlock : it is none, or not in the grid for these sizes; names the nearest one.
        ArrayMismatch, BadArguments, BadArray, TooLarge : as of a call. All are raised at once, not at the first step.

        >>> import numpy as np
        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
        >>> a, b = np.eye(3, dtype=np.float16), np.asfortranarray(np.full((3, 2), 2, np.float16))
        >>> step = next(kernel.trace(a, b, block=(0, 0)))
        >>> step.number, step.block
        (0, (0, 0, 0))
        """
        from polyvolta.compiler.run import traced

        return traced(self, bind(self.graph, arrays, named), block, copies)

    def verify(
        self, only: str | Iterable[str] | None = None, progress: Callable[[str, int, int], None] | None = None
    ) -> Report:
        """Prove, for all sizes, that the kernel is right: nothing races, no bank conflict, every element covered once.

        Parameters
        ----------
        only : names of proofs, such as "bounds", "bounds, fresh" or ("bounds", "fresh"), at least one; by default all
            that the kernel has a meaning for.
        progress : called as progress(name, done, total) when a proof begins: its name, and how many are done.

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

        return verify(self.ir, self.graph, self.stages, only, progress)

    def bind(
        self, /, *arrays: Array, out: Array | Sequence[Array], stream: Any = None, **named: Array
    ) -> Prepared | Nothing:
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
        the scalars, then for each tensor a pointer and the leading dimension (none for a vector). It returns 0. Nobody
        looks at these: what the text's first lines require of pointers, leading dimensions, and lengths of lines that
        are copied asynchronously, is the caller's to see to, or for narrower accesses.

        There is no barrier at its end. A barrier of the block, `cuda.syncthreads()`, stands behind a call before other
        threads' results are read, before the next such call, and before shared memory is used again. Which tile of
        the result is the block's is said by `place_of_block` of `polyvolta.cuda.numba_helpers`.

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
        WrongGpu : there is a GPU, and it can't run the kernel.

        Notes
        -----
        Two of them in one user's kernel have different names: `compile(..., name=...)`.

        With `address` of `polyvolta.cuda.numba_helpers`:

            matmul = kernel.device_function()

            @cuda.jit(launch_bounds=kernel.ir.threads)    # so that a block's registers are enough for its threads
            def mine(a, b, c):
                matmul(a.shape[0], b.shape[1], a.shape[1], address(a), a.shape[1], address(b), ...)
                cuda.syncthreads()                        # behind it, the block's tile of c
        """
        from polyvolta.cuda.run import launch
        from polyvolta.cuda.run.device_function import declare

        if launch.gpu_available():
            limits = launch.device_limits(launch.current_device())
            launch.check_block(self.name, self.target.name, limits, self.ir.threads, self.ir.shared_bytes)
        variant = self if self.ir.maps else self.variant(**align)  # of boxes none is a function, and is refused
        return declare(variant.ir, variant.source, shared)
