"""The other side: what a user of torch would run, and a clock that treats both sides alike.

A side's time at a size is that of a CUDA graph of many launches one after the other, divided by their number: the host
takes no part in it. Graphs take turns, two replays each in a round, and medians are taken, so that a GPU which slows
down or speeds up meanwhile does so for all. Data is random: zeros would be faster.

torch is imported here alone, and by whoever calls.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from polyvolta.evaluation.benchmarks import Benchmark, Sizes
from polyvolta.evaluation.errors import NoLibrary
from polyvolta.tuner.errors import DoesNotFit

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.cuda.run.nvrtc import Cubin
    from polyvolta.cuda.target.target import Target

Launch = Callable[[], object]
Arrays = Mapping[str, Any]
TENSORS = {"A": "MK", "B": "KN", "P": "MK", "Q": "KN", "bias": "MN", "vector": "N", "C": "MN", "R": "MN", "relu": "MK"}
"""Arrays of a size: inputs of all benchmarks, two results, and room for the relu of A."""


def torch() -> Any:
    """The library.

    Raises
    ------
    NoLibrary : it isn't installed, or finds no GPU.
    """
    try:
        import torch
    except ImportError:
        raise NoLibrary("torch isn't installed, whose kernels ours are timed beside",
                        hint="pip install torch; tables and figures of a CSV file need none: polyvolta bench --report",
                        ) from None  # fmt: skip
    if not torch.cuda.is_available():
        raise NoLibrary("torch finds no GPU", hint="a build of torch with CUDA, and a driver that is new enough for it")
    return torch


class Library(Protocol):
    """What stands on the other side."""

    name: str

    def chain(self, benchmark: Benchmark, arrays: Arrays) -> Launch:
        """The unfused chain of kernels."""
        ...

    def more(self, benchmark: Benchmark, arrays: Arrays, gpu: Gpu, count: int) -> dict[str, Any]:
        """What the library offers beyond, by name: graphs of `count` launches."""
        ...


class Torch:
    """torch: cuBLAS, cublasLt's fused epilogue, and pointwise kernels."""

    def __init__(self) -> None:
        found = torch()
        self.name = f"torch {found.__version__}"

    def chain(self, benchmark: Benchmark, arrays: Arrays) -> Launch:
        """The unfused chain of kernels."""
        t = torch()
        a, b, c, r = (arrays[name] for name in ("A", "B", "C", "R"))
        steps: dict[str, list[Launch]] = {
            "gemm": [lambda: t.mm(a, b, out=c)],
            "relu_gemm": [
                lambda: t.clamp_min(a, 0, out=arrays["relu"]),
                lambda: t.mm(arrays["relu"], b, out=c),
            ],
            "gemm_bias_relu": [
                lambda: t.mm(a, b, out=c), lambda: t.add(c, arrays["bias"], out=c), lambda: t.relu_(c),
            ],
            "gemm_vector_relu": [
                lambda: t.mm(a, b, out=c), lambda: t.add(c, arrays["vector"], out=c), lambda: t.relu_(c),
            ],
            "add": [
                lambda: t.mm(a, b, out=c), lambda: t.mm(arrays["P"], arrays["Q"], out=r),
                lambda: t.add(c, r, out=c),
            ],
        }  # fmt: skip
        return one_after_the_other(steps[benchmark.name])

    def more(self, benchmark: Benchmark, arrays: Arrays, gpu: Gpu, count: int) -> dict[str, Any]:
        """What a careful user writes, and what cublasLt fuses."""
        t = torch()
        a, b, c = (arrays[name] for name in ("A", "B", "C"))
        found: dict[str, dict[str, Launch]] = {
            "gemm_bias_relu": {
                "addmm, relu": one_after_the_other(
                    [lambda: t.addmm(arrays["bias"], a, b, out=c), lambda: t.relu_(c)]
                ),
            },
            "gemm_vector_relu": {
                "cublasLt's fused epilogue": lambda: t._addmm_activation(arrays["vector"], a, b, out=c),
            },
            "add": {
                "mm, addmm": one_after_the_other(
                    [lambda: t.mm(a, b, out=c), lambda: t.addmm(c, arrays["P"], arrays["Q"], out=c)]
                ),
            },
        }
        return {name: gpu.graph(launch, count) for name, launch in found.get(benchmark.name, {}).items()}


def one_after_the_other(steps: list[Launch]) -> Launch:
    """A launch of several."""

    def run() -> None:
        for step in steps:
            step()

    return run


class Gpu:
    """The GPU at hand, and a clock for launches of both sides: CUDA graphs of one stream, arrays of torch.

    Raises
    ------
    NoLibrary : torch is missing, or finds no GPU.
    NoGpu : numba-cuda is missing, or finds none.
    """

    def __init__(self) -> None:
        from polyvolta.cuda.run import launch

        self._torch = torch()
        launch.require_gpu()
        self.arch = launch.device_arch()
        self.name = self._torch.cuda.get_device_name()
        self.stream = self._torch.cuda.Stream()

    def like_this(self, target: Target) -> Target:
        """A target with the multiprocessors and the shared memory of this GPU."""
        from polyvolta.cuda.run import launch

        device = launch.current_device()
        shared = launch.device_limits(device).shared_bytes
        return replace(target, shared_bytes=shared, multiprocessors=launch.multiprocessors(device))

    def arrays(self, sizes: Sizes, seed: int = 0) -> dict[str, Any]:
        """Random fp16 arrays of all benchmarks at a size; those of K x N lie by columns.

        Raises
        ------
        DoesNotFit
        """
        t = self._torch
        extent = dict(zip("MNK", sizes, strict=True))
        needed = 2 * sum(_count(dims, extent) for dims in TENSORS.values())
        needed += 8 * sum(_count(dims, extent) for dims in ("MK", "KN", "MN", "MN"))  # for `exact`
        free, _ = t.cuda.mem_get_info()
        free += t.cuda.memory_reserved() - t.cuda.memory_allocated()
        if needed > free:
            raise DoesNotFit(
                f"{' x '.join(map(str, sizes))} takes {needed / 2**30:.1f} GiB of the GPU's memory, of which "
                f"{free / 2**30:.1f} GiB are free", hint="smaller sizes")  # fmt: skip
        t.manual_seed(seed)
        made = {}
        for name, dims in TENSORS.items():
            shape = [extent[d] for d in (reversed(dims) if dims == "KN" else dims)]
            data = t.randn(*shape, device="cuda", dtype=t.float16)
            made[name] = data.T if dims == "KN" else data
        return made

    def bound(self, kernel: Kernel, benchmark: Benchmark, arrays: Arrays) -> Launch:
        """A launch of a kernel on the clock's stream."""
        return kernel.bind(*(arrays[n] for n, _ in benchmark.tensors), out=arrays["C"], stream=self.stream)

    def exact(self, benchmark: Benchmark, arrays: Arrays) -> Any:
        """The result in float64, by torch."""
        a, b, *more = (arrays[name].double() for name, _ in benchmark.tensors)
        if benchmark.name == "relu_gemm":
            a = a.clamp(min=0)
        product = a @ b
        if benchmark.products > 1:
            return product + more[0] @ more[1]
        return (product + more[0]).clamp(min=0) if more else product

    def load(self, kernel: Kernel, code: Cubin) -> None:
        """Load a kernel's machine code, for arrays that lie as well as its text wants them to."""
        kernel.loaded(code=code)

    def error(self, kernel: Kernel, benchmark: Benchmark, arrays: Arrays, right: Any) -> float:
        """Relative L2 error of a run whose result was NaN before; infinite where some of it still is."""
        arrays["C"].fill_(math.nan)
        kernel(*(arrays[name] for name, _ in benchmark.tensors), out=arrays["C"])
        error = float((arrays["C"].double() - right).norm() / right.norm())
        return math.inf if math.isnan(error) else error

    def graph(self, launch: Launch, count: int) -> Any:
        """A CUDA graph of `count` launches, two of which have run before."""
        cuda = self._torch.cuda
        cuda.synchronize()
        with cuda.stream(self.stream):
            launch()
            launch()
            self.stream.synchronize()
            made = cuda.CUDAGraph()
            made.capture_begin()
            try:
                for _ in range(count):
                    launch()
            finally:
                made.capture_end()
        return made

    def microseconds(self, graph: Any, count: int, replays: int = 2) -> list[float]:
        """Microseconds a launch of each replay."""
        event = self._torch.cuda.Event
        with self._torch.cuda.stream(self.stream):
            pairs = [(event(enable_timing=True), event(enable_timing=True)) for _ in range(replays)]
            for start, end in pairs:
                start.record()
                graph.replay()
                end.record()
            self.stream.synchronize()
        return [1e3 * start.elapsed_time(end) / count for start, end in pairs]


K = TypeVar("K")


def in_turn(gpu: Gpu, graphs: Mapping[K, Any], count: int, rounds: int = 5) -> dict[K, float]:
    """Median microseconds a launch of several graphs that take turns, each round beginning with another one."""
    times: dict[K, list[float]] = {name: [] for name in graphs}
    names = list(graphs)
    for n in range(rounds):
        at = n * len(names) // rounds
        for name in names[at:] + names[:at]:
            times[name] += gpu.microseconds(graphs[name], count)
    return {name: statistics.median(t) for name, t in times.items()}


def launches(benchmark: Benchmark, sizes: Sizes) -> int:
    """Launches in a graph: some milliseconds of work."""
    return max(5, min(20, int(1.2e12 / benchmark.operations(sizes))))


def _count(dims: str, extent: Mapping[str, int]) -> int:
    out = 1
    for d in dims:
        out *= extent[d]
    return out
