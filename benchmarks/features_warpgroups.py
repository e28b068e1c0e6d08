"""Checks: kernels whose operands come by boxes, products of warpgroups; launched like all others, on Hopper alone."""

from __future__ import annotations

import sys
from itertools import product as cross
from typing import Any

import numpy as np
from features_common import SIZES, SKIPPED, K, M, N, Within, check, close, exact_of, operands, tensors

import polyvolta as pv
from polyvolta.cuda.arch import runs_on
from polyvolta.cuda.run import launch
from polyvolta.cuda.target.hopper import SM_90A

TILES = pv.Options(block_tile=(128, 128, 64), buffers=3)


def hopper() -> None:
    """Skip on other GPUs."""
    if not runs_on(SM_90A.name, launch.device_arch()):
        print(f"{launch.device_arch()} doesn't run {SM_90A.name}")
        sys.exit(SKIPPED)


def made(outputs: Any, options: pv.Options | None = TILES) -> Any:
    kernel = pv.compile(outputs, target=SM_90A, options=options)
    assert kernel.boxed, kernel.options
    return kernel


def by_boxes(kernel: Any) -> bool:
    """Whether the newest kind of call went to the kernel with boxes."""
    *_, plan = kernel._plans._plans.values()
    return bool(plan.pack.parameters.maps)


def order(layout: str) -> str:
    return "C" if layout == "row" else "F"


def run(shape: tuple[int, ...], layout: str) -> int:
    """Values of a line."""
    return shape[-1] if layout == "row" else shape[0]


def up(n: int) -> int:
    """The next multiple of 8."""
    return -(-n // 8) * 8


@check
def warpgroups_all_layouts_sizes_and_views() -> str:
    """Aligned arrays by boxes, others by copies; everything around results poisoned; each kind twice."""
    hopper()
    worst, calls, boxed = 0.0, 0, 0
    for a_layout, b_layout, c_layout in cross(("row", "col"), repeat=3):
        A, B = tensors(a_layout, b_layout)
        kernel = made(pv.output(A @ B, "C", layout=c_layout))
        for m, n, k in (*SIZES, (520, 1048, 1000)):
            a, b = operands(m, n, k, m + n)
            exact, length = exact_of(a, b), run((m, k), a_layout)
            for ld, offset in ((up(length), 0), (up(length) + 8, 8), (up(length), 3), (up(length) + 1, 0)):
                left = Within(a, order(a_layout), ld, offset)
                right = Within(b, order(b_layout), up(run((k, n), b_layout)), 0)
                out = Within((m, n), order(c_layout), up(run((m, n), c_layout)), 0)
                for _ in range(2):
                    before = len(kernel._plans)
                    kernel(left.inner, right.inner, out=out.inner)
                    worst = max(worst, close(out.numpy(), exact))
                    if len(kernel._plans) > before:
                        single = (m if a_layout == "row" else k) == 1  # line, which has no next one
                        takes = offset % 8 == 0 and (ld % 8 == 0 or single)
                        assert by_boxes(kernel) == takes, (m, n, k, ld, offset)
                        boxed += takes
                    calls += 1
                for array in (left, right, out):
                    array.intact()
                odd = Within((m, n), order(c_layout), run((m, n), c_layout) + 3, 1)
                kernel(left.inner, right.inner, out=odd.inner)
                worst = max(worst, close(odd.numpy(), exact))
                odd.intact()
    return f"{calls} calls, {boxed} kinds by boxes, worst error {worst:.1e}"


@check
def warpgroups_default_options_epilogues_and_types() -> str:
    hopper()
    import torch

    worst = 0.0
    for name, tolerance in (("float16", 5e-4), ("bfloat16", 4e-3)):
        dtype = getattr(torch, name)
        A, B = pv.tensor("A", (M, K), dtype=name), pv.tensor("B", (K, N), layout="col", dtype=name)
        P, Q = pv.tensor("P", (M, K), dtype=name), pv.tensor("Q", (K, N), dtype=name)
        bias = pv.tensor("bias", (N,), dtype=name)
        for formula, names in ((lambda a, b: a @ b, "AB"), (lambda a, b, p, q: a @ b + p @ q, "ABPQ")):
            inputs = [{"A": A, "B": B, "P": P, "Q": Q}[n] for n in names]
            kernel = made(pv.relu(formula(*inputs) + bias), None)
            for m, n, k in (*SIZES, (777, 1001, 520), (2048, 1536, 1024)):
                shapes = [(m, k), (k, n), (m, k), (k, n)][: len(names)]
                arrays = []
                for at, shape in enumerate(shapes):
                    wide = torch.randn((shape[0], up(shape[1])), device="cuda").to(dtype)[:, : shape[1]]
                    if at == 1:  # column-major
                        wide = torch.randn((shape[1], up(shape[0])), device="cuda").to(dtype)[:, : shape[0]].T
                    arrays.append(wide)
                row = torch.randn((n,), device="cuda").to(dtype)
                exact = torch.relu(formula(*(x.double() for x in arrays)) + row.double())
                for _ in range(2):
                    found = kernel(*arrays, row).double()
                    error = float((found - exact).norm() / exact.norm().clamp_min(1e-30))
                    assert error <= tolerance, (name, names, m, n, k, error)
                    worst = max(worst, error)
                assert by_boxes(kernel), (m, n, k)
    return f"worst error {worst:.1e}"


@check
def warpgroups_empty_extents() -> str:
    hopper()
    import torch

    A, B = tensors()
    kernel = made(A @ B)
    for m, n, k in ((100, 72, 0), (0, 72, 64), (100, 0, 64), (0, 0, 0)):
        a, b = (torch.ones(s, dtype=torch.float16, device="cuda") for s in ((m, k), (n, k)))
        for _ in range(2):
            c = kernel(a, b.T)
            assert c.shape == (m, n) and (c == 0).all()
        out = torch.full((m, n), 7, dtype=torch.float16, device="cuda")
        kernel.bind(a, b.T, out=out)()
        assert (out == 0).all()
    return None


@check
def warpgroups_arrays_of_each_call() -> str:
    """Calls that share a plan have maps of their own arrays, whatever came before, and memory that is used again."""
    hopper()
    import torch

    A, B = tensors()
    kernel, worst = made(A @ B), 0.0
    rng = np.random.default_rng(3)
    for turn in range(300):
        m, n, k = (int(rng.choice(c)) for c in ((64, 200), (72, 264), (64, 136)))
        ld, offset = k + int(rng.choice((0, 8, 1))), int(rng.choice((0, 8, 1)))
        whole = torch.randn((m * ld + 64,), device="cuda").half()
        a, b = whole[offset:].as_strided((m, k), (ld, 1)), torch.randn((n, k), device="cuda").half().T
        c = kernel(a, b)
        error = float((c.double() - a.double() @ b.double()).norm() / (a.double() @ b.double()).norm())
        assert error <= 5e-4, (turn, m, n, k, ld, offset, error)
        worst = max(worst, error)
    return f"{len(kernel._plans)} plans for 300 calls, worst error {worst:.1e}"


@check
def warpgroups_bind_streams_and_graphs() -> str:
    """Bound launches of aligned and of misaligned arrays, captured in a graph, on a stream of their own."""
    hopper()
    import torch

    A, B = tensors()
    kernel, side = made(A @ B), torch.cuda.Stream()
    for offset in (0, 1):
        memory = torch.ones((128 * 128 + 8,), dtype=torch.float16, device="cuda")
        ta = memory[offset:].as_strided((128, 128), (128, 1))
        c, d = torch.zeros((128, 128), dtype=torch.float16, device="cuda"), torch.zeros_like(ta.contiguous())
        b = torch.ones_like(d).T
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(50_000_000)
            ta += 1
            kernel(ta, b, out=c, stream=side)
            first, second = kernel.bind(ta, b, out=c, stream=side), kernel.bind(c, b, out=d, stream=side)
            torch.cuda._sleep(50_000_000)
            ta += 1
            first()
            second()
            d += 1
        side.synchronize()
        assert (c == 384).all() and (d == torch.tensor(384.0 * 128 + 1).half().cuda()).all()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            first()
            second()
        for value in (1.0, 0.5):
            ta.fill_(value)
            c.zero_(), d.zero_()
            graph.replay()
            torch.cuda.synchronize()
            assert (c == 128 * value).all() and (d == 128 * 128 * value).all()
    return None


@check
def warpgroups_numpy_arrays_and_other_libraries() -> str:
    hopper()
    from numba import cuda

    A, B = tensors()
    kernel, worst = made(A @ B), 0.0
    for m, n, k in SIZES:
        a, b = operands(m, n, k)
        worst = max(worst, close(kernel(a, b), exact_of(a, b)))
        da, db = cuda.to_device(a), cuda.to_device(b)
        c = cuda.device_array((m, n), np.float16)
        kernel(da, db, out=c)
        worst = max(worst, close(c.copy_to_host(), exact_of(a, b)))
    return f"worst error {worst:.1e}"


@check
def warpgroups_interpreted_and_on_the_gpu_bit_for_bit() -> str:
    """Sums of small integers are exact in any order: both have the same bits."""
    hopper()
    import torch

    A, B = tensors()
    kernel, rng = made(A @ B), np.random.default_rng(2)
    for m, n, k in SIZES[:5]:
        a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((m, up(k)), (n, up(k))))
        a, b = a[:, :k], b[:, :k]
        ta, tb = (torch.zeros((x.shape[0], up(k)), dtype=torch.float16, device="cuda")[:, :k] for x in (a, b))
        ta.copy_(torch.from_numpy(a.copy())), tb.copy_(torch.from_numpy(b.copy()))
        assert np.array_equal(kernel(ta, tb.T).cpu().numpy(), kernel.interpret(a, b.T)), (m, n, k)
        assert by_boxes(kernel)
    return None
