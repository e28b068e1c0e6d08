"""Checks: bound launches, streams, threads, CUDA graphs, the cache of cubins, the examples."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from features_common import ROOT, SIZES, Within, check, close, environment, exact_of, need, operands, product

import polyvolta as pv


@check
def bind_is_the_call_and_costs_microseconds() -> str:
    import torch

    kernel = product()
    a, b = operands(100, 70, 50)
    ta, tb = torch.from_numpy(a).cuda(), torch.from_numpy(np.ascontiguousarray(b.T)).cuda().T
    c = torch.zeros((100, 70), dtype=torch.float16, device="cuda")
    bound = kernel.bind(ta, tb, out=c)
    bound()
    torch.cuda.synchronize()
    assert torch.equal(c, kernel(ta, tb))
    times = {}
    for name, call in (("bound", bound), ("call", lambda: kernel(ta, tb, out=c))):
        best = float("inf")
        for _ in range(20):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(50):
                call()
            best = min(best, (time.perf_counter() - start) / 50)
        times[name] = best * 1e6
    return ", ".join(f"{name} {t:.1f} us" for name, t in times.items())


@check
def calls_again_are_right_and_refuse_the_same() -> str:
    """Each kind of call twice, the second from its plan; what is wrong is refused then, too."""
    import torch

    kernel, worst = product(), 0.0
    for m, n, k in SIZES * 3:
        a, b = operands(m, n, k, m + n)
        for ld, offset in ((k, 0), (k + 8, 8), (k + 1, 3)):
            left, right = Within(a, "C", ld, offset), Within(b, "F", ld, offset)
            out = Within((m, n), "C", n + 5, offset)
            kernel(left.inner, right.inner, out=out.inner)
            worst = max(worst, close(out.numpy(), exact_of(a, b)))
            worst = max(worst, close(kernel(left.inner, right.inner).cpu(), exact_of(a, b)))
            for array in (left, right, out):
                array.intact()
    plans = len(kernel._plans)
    assert plans <= 6 * len(SIZES), plans
    t = torch.ones((64, 64), dtype=torch.float16, device="cuda")
    assert (kernel(t, t.T, out=torch.zeros_like(t)) == 64).all()
    assert (kernel(t, torch.nn.Parameter(t.T, False)) == 64).all()
    for wrong in (
        lambda: kernel(t, t.T, out=t), lambda: kernel(t, t.clone().requires_grad_().T), lambda: kernel(t, t.float().T),
        lambda: kernel(t, t), lambda: kernel(t, t.T.cpu()), lambda: kernel(t, t.T[:-1]),
    ):  # fmt: skip
        try:
            wrong()
        except pv.PolyvoltaError:
            continue
        raise AssertionError("not refused")
    assert len(kernel._plans) <= plans + 2
    return f"{plans} plans, worst error {worst:.1e}"


@check
def calls_again_on_other_streams_wait() -> str:
    import torch

    kernel, side = product(), torch.cuda.Stream()
    a = torch.zeros((64, 64), dtype=torch.float16, device="cuda")
    c = torch.zeros_like(a)
    for turn in range(1, 4):  # torch works on its default stream, the kernel elsewhere
        torch.cuda._sleep(100_000_000)
        a += 1
        kernel(a, a.T, out=c, stream=side)
        side.synchronize()
        assert (c == 64 * turn * turn).all(), (turn, c.flatten()[:4])
    with torch.cuda.stream(side):
        for turn in range(4, 7):
            torch.cuda._sleep(100_000_000)
            a += 1
            d = kernel(a, a.T) + 1
            assert (d == 64 * turn * turn + 1).all()
    return None


@check
def calls_again_with_arrays_of_cupy_and_numba() -> str:
    from numba import cuda

    kernel = product()
    a, b = operands(100, 60, 40)
    da, db, dc = cuda.to_device(a), cuda.to_device(b), cuda.device_array((100, 60), np.float16)
    worst = 0.0
    for _ in range(3):
        kernel(da, db, out=dc)
        results = dc, kernel(da, db)
        worst = max(worst, *(close(c.copy_to_host(), exact_of(a, b)) for c in results))
    assert len(kernel._plans) == 2, kernel._plans._plans
    need("cupy")
    import cupy

    ca, cb = cupy.asarray(a), cupy.asfortranarray(cupy.asarray(b))
    for _ in range(3):
        worst = max(worst, close(kernel(ca, cb).get(), exact_of(a, b)))
        kernel(ca, cb, out=dc)
        worst = max(worst, close(dc.copy_to_host(), exact_of(a, b)))
    assert len(kernel._plans) == 4, kernel._plans._plans
    return f"worst error {worst:.1e}"


@check
def bind_keeps_arrays_alive_and_reads_them_again() -> str:
    import torch

    kernel = product()
    ta = torch.ones((64, 64), dtype=torch.float16, device="cuda")
    c = torch.zeros((64, 64), dtype=torch.float16, device="cuda")
    bound = kernel.bind(ta, torch.ones((64, 64), dtype=torch.float16, device="cuda").T, out=c)
    noise = [torch.randn((64, 64), device="cuda").half() for _ in range(50)]
    bound()
    assert (c == 64).all() and noise
    ta *= 2
    bound()
    assert (c == 128).all()
    kernel.bind(ta[:0], ta.T, out=c[:0])()
    return None


@check
def bind_in_another_thread() -> str:
    import threading

    import torch

    kernel = product()
    ta = torch.ones((64, 64), dtype=torch.float16, device="cuda")
    c, wrong = torch.zeros((64, 64), dtype=torch.float16, device="cuda"), []
    bound = kernel.bind(ta, ta.T, out=c)

    def use() -> None:
        try:
            bound()
            kernel(ta, ta.T)
        except BaseException as e:  # noqa: BLE001
            wrong.append(e)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    torch.cuda.synchronize()
    assert not wrong, wrong
    assert (c == 64).all()
    return "4 threads"


@check
def streams_of_torch() -> str:
    import torch

    kernel, stream = product(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        ta = torch.zeros((64, 64), dtype=torch.float16, device="cuda")
        c = torch.zeros_like(ta)
        torch.cuda._sleep(100_000_000)
        ta += 1
        kernel(ta, ta.T, out=c, stream=stream)
        bound = kernel.bind(ta, ta.T, out=c, stream=stream)
        torch.cuda._sleep(100_000_000)
        ta += 1
        bound()
        c += 1
    stream.synchronize()
    assert (c == 257).all(), c.flatten()[:4]
    return None


@check
def the_current_stream_of_torch() -> str:
    import torch

    kernel, stream = product(), torch.cuda.Stream()
    ta = torch.zeros((64, 64), dtype=torch.float16, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        ta += 1
        c = kernel(ta, ta.T) + 1
        torch.cuda._sleep(100_000_000)
        ta += 1
        d = torch.zeros_like(ta)
        kernel.bind(ta, ta.T, out=d)()
        d += 1
    stream.synchronize()
    assert (c == 65).all() and (d == 257).all(), (c.flatten()[:4], d.flatten()[:4])
    return None


@check
def streams_of_numba() -> str:
    from numba import cuda

    kernel, stream = product(), cuda.stream()
    a, b = operands(100, 60, 40)
    c = cuda.device_array((100, 60), np.float16, stream=stream)
    with cuda.pinned(a):
        da, db = cuda.to_device(a, stream=stream), cuda.to_device(b, stream=stream)
        kernel(da, db, out=c, stream=stream)
        kernel.bind(da, db, out=c, stream=stream)()
    return f"error {close(c.copy_to_host(stream=stream), exact_of(a, b)):.1e}"


@check
def streams_of_cupy() -> str:
    need("cupy")
    import cupy

    kernel, stream = product(), cupy.cuda.Stream(non_blocking=True)
    with stream:
        a = cupy.ones((64, 64), cupy.float16)
        c = cupy.zeros((64, 64), cupy.float16)
        kernel(a, a.T, out=c, stream=stream)
    stream.synchronize()
    assert (c == 64).all()
    return None


@check
def cuda_graph_of_torch() -> str:
    import torch

    kernel, side = product(), torch.cuda.Stream()
    ta = torch.ones((64, 64), dtype=torch.float16, device="cuda")
    c, d = torch.zeros_like(ta), torch.zeros_like(ta)
    first = kernel.bind(ta, ta.T, out=c, stream=side)
    second = kernel.bind(c, ta.T, out=d, stream=side)
    with torch.cuda.stream(side):
        first()
        second()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        first()
        second()
    c.zero_(), d.zero_()
    torch.cuda.synchronize()
    assert (d == 0).all()  # captured, not run
    graph.replay()
    torch.cuda.synchronize()
    assert (c == 64).all() and (d == 4096).all()
    ta.fill_(0.5)
    graph.replay()
    torch.cuda.synchronize()
    assert (c == 16).all() and (d == 512).all()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(100):
        graph.replay()
    end.record()
    end.synchronize()
    return f"two kernels a replay, {10 * start.elapsed_time(end):.1f} us"


@check
def tiles_above_48_kib() -> str:
    import torch

    options = pv.Options(block_tile=(128, 128, 64), buffers=2)
    kernel, worst = product(options), 0.0
    for m, n, k in SIZES:
        a, b = operands(m, n, k)
        ta, tb = torch.from_numpy(a).cuda(), torch.from_numpy(np.ascontiguousarray(b.T)).cuda().T
        c = torch.zeros((m, n), dtype=torch.float16, device="cuda")
        kernel.bind(ta, tb, out=c)()
        worst = max(worst, close(c.cpu(), exact_of(a, b)))
    return f"{kernel.ir.shared_bytes} bytes, worst error {worst:.1e}"


@check
def cache_across_processes() -> str:
    code = (
        "import time, polyvolta as pv\n"
        "M, N, K = pv.sizes('M N K')\n"
        "k = pv.compile(pv.tensor('A', (M, K)) @ pv.tensor('B', (K, N), layout='col'))\n"
        "from polyvolta.cuda.run import launch\n"
        "start = time.perf_counter(); k.loaded(); print(time.perf_counter() - start)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        env = environment(POLYVOLTA_CACHE_DIR=folder, POLYVOLTA_CACHE_SIZE="1G")
        times = []
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
            times.append(float(done.stdout.split()[-1]))
        entries = len([*Path(folder).glob("*.pvcubin")])
    assert entries == 1, entries
    return "load: " + ", ".join(f"{1000 * t:.0f} ms" for t in times)


@check
def examples() -> str:
    said = []
    for name in ("matmul", "device_function", "numba_mma", "timing"):
        command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "False" not in done.stdout, done.stdout
        said.append(f"{name}: {done.stdout.splitlines()[-1]}")
    return "; ".join(said)
