"""What a call costs the host: microseconds from the call to its return, beside torch's own product.

    python benchmarks/host_overhead.py [--targets sm_70,sm_80,sm_90a] [--repeat 40] [--stubs]

A loop of calls on a product small enough that the GPU keeps up with it, timed by the clock; the least of all rounds.
"new sizes" are first calls, for which no plan is there, of a kernel whose machine code is loaded. With `--stubs` it
runs without a GPU: arrays of torch in host memory, or objects with their attributes where it isn't installed, and a
driver that does nothing; what is left is Python's part. The exit status is 1 where a full call takes more than 20 us.
"""

from __future__ import annotations

import argparse
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import polyvolta as pv
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.target.registry import targets

TARGETS = {**targets, SM_90A.name: SM_90A}
MOST = 20.0  # us of a full call
SIZE = (128, 128, 64)
M, N, K = pv.sizes("M N K")


def best(call: Callable[[], Any], repeat: int, finish: Callable[[], Any], count: int = 50) -> float:
    """Microseconds a call, of the fastest round."""
    least = float("inf")
    for _ in range(repeat):
        finish()
        start = time.perf_counter()
        for _ in range(count):
            call()
        least = min(least, time.perf_counter() - start)
    return least / count * 1e6


def kernels(name: str) -> dict[str, Any]:
    target, options = TARGETS[name], pv.Options(block_tile=(64, 64, 32))
    A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    bias = pv.tensor("bias", (N,))
    return {
        "A @ B": pv.compile(A @ B, options=options, target=target),
        "A @ B, column-major": pv.compile(pv.output(A @ B, layout="col"), options=options, target=target),
        "relu(A @ B * alpha + bias)": pv.compile(
            pv.relu(A @ B * pv.scalar("alpha") + bias), options=options, target=target
        ),
        "of three variants": pv.compile(A @ B, target=target, over=dict.fromkeys("MNK", (64, 8192)), variants=3),
    }


def calls(torch: Any, target: str, device: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is timed for a target."""
    m, n, k = SIZE
    half = {"dtype": torch.float16, "device": device}
    a, b, c = torch.empty((m, k), **half), torch.empty((n, k), **half).T, torch.empty((m, n), **half)
    bias = torch.empty((n,), **half)
    wide = torch.empty((m, 2 * n), **half)
    astray = torch.empty((m, k + 1), **half)[:, 1:]
    made = kernels(target)
    plain, turned, fused, varied = made.values()
    other = torch.cuda.Stream() if device == "cuda" else 77
    bound = plain.bind(a, b, out=c)
    yield "A @ B, bound launch", bound
    yield "A @ B", lambda: plain(a, b)
    yield "A @ B, by name", lambda: plain(A=a, B=b)
    yield "A @ B, out=", lambda: plain(a, b, out=c)
    yield "A @ B, out= the half of a matrix that has A in its other half", _halves(plain, wide, b, m, n, k)
    yield "A @ B, column-major", lambda: turned(a, b)
    yield "relu(A @ B * alpha + bias)", lambda: fused(a, b, 0.5, bias)
    yield "A @ B, on a stream that isn't torch's current one", lambda: plain(a, b, out=c, stream=other)
    fresh = iter(range(1, 10**9))
    large = torch.empty((4 * m, k), **half)
    yield "A @ B, a misaligned view", lambda: plain(astray, b)
    yield "of three variants, bound launch", varied.bind(a, b, out=c)
    yield "of three variants, out=", lambda: varied(a, b, out=c)
    yield "A @ B, new sizes", lambda: plain(large[: 1 + next(fresh) % (4 * m)], b, stream=None)
    yield "of three variants, new sizes", lambda: varied(large[: 1 + next(fresh) % (4 * m)], b, stream=None)


def _halves(kernel: Any, wide: Any, b: Any, m: int, n: int, k: int) -> Callable[[], Any]:
    left, right = wide[:, :k], wide[:, n:]
    return lambda: kernel(left, b, out=right)


def table(torch: Any, names: list[str], device: str, repeat: int, finish: Callable[[], Any]) -> float:
    """Prints; the slowest full call that has a plan, in microseconds."""
    rows: dict[str, list[float]] = {}
    for target in names:
        for name, call in calls(torch, target, device):
            for _ in range(3):
                call()
            new = name.endswith("new sizes")
            rows.setdefault(name, []).append(best(call, 2 if new else repeat, finish))
    if device == "cuda":
        m, n, k = SIZE
        a, b, c = (torch.empty(s, dtype=torch.float16, device=device) for s in ((m, k), (k, n), (m, n)))
        for name, call in (("torch.mm", lambda: torch.mm(a, b)), ("torch.mm, out=", lambda: torch.mm(a, b, out=c))):
            call()
            rows[name] = [best(call, repeat, finish)] * len(names)
    print(f"| us of the host | {' | '.join(names)} |\n| --- |{' ---: |' * len(names)}")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(f'{us:.1f}' for us in row)} |")
    ours = [row for name, row in rows.items() if not name.startswith("torch") and not name.endswith("new sizes")]
    return max(us for row in ours for us in row)


# ---- without a GPU


class Array:
    """What is read of a torch tensor, where torch isn't installed."""

    device = type("Device", (), {"index": 0})()
    requires_grad = False
    dtype = "float16"

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], ptr: int) -> None:
        self.shape, self.strides, self.ptr = shape, strides, ptr

    data_ptr = lambda self: self.ptr  # noqa: E731
    stride = lambda self: self.strides  # noqa: E731
    is_neg = lambda self: False  # noqa: E731
    T = property(lambda self: Array(self.shape[::-1], self.strides[::-1], self.ptr))

    def new_empty_strided(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        return Array(shape, strides, 1 << 40)

    def __getitem__(self, part: Any) -> Array:
        parts = part if isinstance(part, tuple) else (part, slice(None))
        ranges = [range(n)[p] for n, p in zip(self.shape, parts)]
        skip = sum(r.start * s for r, s in zip(ranges, self.strides))
        return Array(tuple(len(r) for r in ranges), self.strides, self.ptr + 2 * skip)


def stubs() -> tuple[Any, str]:
    """torch, real or not, and a driver that does nothing."""
    from polyvolta.compiler import arguments
    from polyvolta.compiler.compiled import Compiled
    from polyvolta.cuda.run import device_memory, gpu, launch, prepared, tensor_maps
    from polyvolta.cuda.run.device_array import DeviceArray

    try:
        import torch
    except ImportError:
        Array.__module__ = "torch"
        places = iter(range(1 << 30, 1 << 60, 1 << 24))
        torch = types.SimpleNamespace(
            Tensor=Array, nn=types.SimpleNamespace(Parameter=None), _C=types.SimpleNamespace(), float16="float16",
            empty=lambda shape, **_: Array(shape, device_memory.compact(shape), next(places)),
        )  # fmt: skip
        sys.modules["torch"] = torch
    torch._C._cuda_getCurrentRawStream = lambda device: 0

    def view(a: Any, stream: Any = None) -> DeviceArray:
        return DeviceArray(a.data_ptr(), tuple(a.shape), tuple(a.stride()), "float16", False, a)

    succeeded = (0,)
    driver = types.SimpleNamespace(
        cuLaunchKernel=lambda *call: succeeded, CUfunction=lambda number: number, CUstream=lambda number: number
    )
    gpu._missing, gpu.several_gpus = (lambda: None), (lambda: False)
    prepared._driver = lambda: driver
    tensor_maps._function = lambda: lambda *told: 0
    launch.as_device_view, launch.current_stream, launch.wait = view, (lambda a: 0), (lambda ours, theirs: None)
    arguments.is_device_array = lambda a: True
    Compiled.loaded = lambda self, align=None: types.SimpleNamespace(entry=self.name, handle=1, dependent=False)
    return torch, "cpu"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default=",".join(targets), help="separated by commas")
    parser.add_argument("--repeat", type=int, default=40, help="rounds of 50 calls")
    parser.add_argument("--stubs", action="store_true", help="without a GPU: Python's part")
    options = parser.parse_args()
    if options.stubs:
        torch, device = stubs()
        finish: Callable[[], Any] = lambda: None  # noqa: E731
        print(f"stubs, arrays of {'torch ' + torch.__version__ if hasattr(torch, '__version__') else 'none'}")
    else:
        import torch

        device, finish = "cuda", torch.cuda.synchronize
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    slowest = table(torch, options.targets.split(","), device, options.repeat, finish)
    print(f"\nthe slowest full call takes {slowest:.1f} us, at most {MOST:.0f} are wanted")
    return int(slowest > MOST)


if __name__ == "__main__":
    sys.exit(main())
