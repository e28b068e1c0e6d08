"""Checks: arrays of every library, views and widths of access, results, sizes, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from features_common import SIZES, SMALL, N, Within, check, close, exact_of, need, operands, product, tensors

import polyvolta as pv


@check
def sizes_in_torch() -> str:
    import torch

    kernel, worst = product(), 0.0
    for m, n, k in SIZES:
        a, b = operands(m, n, k)
        ta, tb = torch.from_numpy(a).cuda(), torch.from_numpy(np.ascontiguousarray(b.T)).cuda().T
        c = kernel(ta, tb)
        assert isinstance(c, torch.Tensor) and c.is_contiguous()
        worst = max(worst, close(c.cpu().numpy(), exact_of(a, b)))
    return f"{len(SIZES)} sizes, worst error {worst:.1e}"


@check
def views_and_misalignment() -> str:
    kernel, rng, worst = product(), np.random.default_rng(3), 0.0
    for step in (8, 4, 2, 1, 1, 2, 4, 8, 1, 8):
        for m, n, k in SIZES:
            a, b = operands(m, n, k, step)
            lds = [-(-x // step) * step + step * int(rng.integers(0, 5)) for x in (k, k, n)]
            offsets = [step * int(rng.integers(0, 9)) for _ in range(3)]
            wa, wb = Within(a, "C", lds[0], offsets[0]), Within(b, "F", lds[1], offsets[1])
            wc = Within((m, n), "C", lds[2], offsets[2])
            kernel(wa.inner, wb.inner, out=wc.inner)
            worst = max(worst, close(wc.numpy(), exact_of(a, b)))
            for w in (wa, wb, wc):
                w.intact()
            assert np.array_equal(wa.numpy(), a) and np.array_equal(wb.numpy(), b)
    return f"{10 * len(SIZES)} cases, {len(kernel._variants) + 1} variants, worst error {worst:.1e}"


@check
def all_layouts_from_views() -> str:
    worst = 0.0
    for la in ("row", "col"):
        for lb in ("row", "col"):
            A, B = tensors(la, lb)
            kernel = pv.compile(A @ B, options=SMALL)
            for step in (8, 1):
                for m, n, k in SIZES[:5]:
                    a, b = operands(m, n, k)
                    wa = Within(a, "C" if la == "row" else "F", -(-(k if la == "row" else m) // step) * step + 8, 8)
                    wb = Within(b, "C" if lb == "row" else "F", -(-(n if lb == "row" else k) // step) * step + 8, 8)
                    wc = Within((m, n), "C", -(-n // step) * step + step, step)
                    kernel(wa.inner, wb.inner, out=wc.inner)
                    worst = max(worst, close(wc.numpy(), exact_of(a, b)))
                    for w in (wa, wb, wc):
                        w.intact()
    return f"worst error {worst:.1e}"


@check
def numba_arrays() -> str:
    from numba import cuda

    kernel, worst = product(), 0.0
    for m, n, k in SIZES:
        a, b = operands(m, n, k)
        c = kernel(cuda.to_device(a), cuda.to_device(b))
        assert cuda.is_cuda_array(c)
        worst = max(worst, close(c.copy_to_host(), exact_of(a, b)))
    return f"worst error {worst:.1e}"


@check
def cupy_arrays() -> str:
    need("cupy")
    import cupy

    kernel, worst = product(), 0.0
    for m, n, k in SIZES:
        a, b = operands(m, n, k)
        large = cupy.zeros((m + 3, k + 5), cupy.float16)
        large[2 : m + 2, 3 : k + 3] = cupy.asarray(a)
        c = kernel(large[2 : m + 2, 3 : k + 3], cupy.asfortranarray(cupy.asarray(b)))
        assert isinstance(c, cupy.ndarray)
        worst = max(worst, close(c.get(), exact_of(a, b)))
    return f"worst error {worst:.1e}"


@check
def numpy_arrays() -> str:
    kernel, worst = product(), 0.0
    for m, n, k in SIZES:
        a, b = operands(m, n, k)
        large = np.full((m + 2, n + 3), np.nan, np.float16)
        out = large[1 : m + 1, 2 : n + 2]
        assert kernel(a, b, out=out) is out
        worst = max(worst, close(out, exact_of(a, b)))
        assert np.isnan(large).sum() == large.size - out.size
        assert np.linalg.norm(kernel.interpret(a, b).astype(float) - out) <= 5e-4 * np.linalg.norm(out.astype(float))
    return f"worst error {worst:.1e}"


@check
def several_results_and_scalars() -> str:
    import torch

    A, B = tensors()
    C = A @ B
    D = pv.relu(C * pv.scalar("alpha") + pv.tensor("bias", (N,)))
    kernel, worst = pv.compile([C, D], options=SMALL), 0.0
    for m, n, k in SIZES:
        a, b = operands(m, n, k)
        bias = np.random.default_rng(1).standard_normal(n).astype(np.float16)
        on_gpu = [torch.from_numpy(x).cuda() for x in (a, np.ascontiguousarray(b.T), bias)]
        mine = torch.empty((m, n), dtype=torch.float16, device="cuda")
        c, d = kernel(on_gpu[0], on_gpu[1].T, alpha=-0.5, bias=on_gpu[2], out=(mine, None))
        assert c is mine
        exact = exact_of(a, b)
        worst = max(worst, close(c.cpu(), exact))
        error = np.abs(d.cpu().numpy() - np.maximum(-0.5 * exact + bias, 0)).max()
        assert error <= 2e-2, error
    return f"worst error {worst:.1e}"


@check
def empty_dimensions() -> str:
    import torch

    kernel = product()
    for m, n, k in ((0, 5, 3), (5, 0, 3), (0, 0, 0), (5, 3, 0), (64, 64, 0)):
        a = torch.ones((m, k), dtype=torch.float16, device="cuda")
        b = torch.ones((n, k), dtype=torch.float16, device="cuda").T
        c = kernel(a, b, out=torch.full((m, n), 7, dtype=torch.float16, device="cuda"))
        assert tuple(c.shape) == (m, n) and (c == 0).all()
        assert kernel(np.ones((m, k), np.float16), np.ones((k, n), np.float16, order="F")).shape == (m, n)
    A, B = tensors()
    biased = pv.compile(A @ B + pv.tensor("bias", (N,)), options=SMALL)
    bias = torch.arange(3, dtype=torch.float16, device="cuda")
    empty = torch.ones((4, 0), dtype=torch.float16, device="cuda")
    assert (biased(empty, empty[:3].T, bias) == bias).all()
    return "M, N or K of 0"


@check
def padding() -> str:
    import torch

    kernel, worst = product(pv.Options(block_tile=(64, 64, 32), partial="pad")), 0.0
    for m, n, k in SIZES:
        a, b = operands(m, n, k)
        wa, wb, wc = Within(a, "C", k + 3, 1), Within(b, "F", k + 1, 3), Within((m, n), "C", n + 5, 2)
        kernel(wa.inner, wb.inner, out=wc.inner)
        torch.cuda.synchronize()
        worst = max(worst, close(wc.numpy(), exact_of(a, b)), close(kernel(a, b), exact_of(a, b)))
        for w in (wa, wb, wc):
            w.intact()
    return f"worst error {worst:.1e}"


@check
def refusals() -> str:
    import torch

    kernel = product()
    large = torch.zeros((64, 256), dtype=torch.float16, device="cuda")
    b = torch.zeros((64, 64), dtype=torch.float16, device="cuda").T
    a = large[:, :64]
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("overlap", lambda: kernel(a, b, out=large[:, 32:96])),
        ("overlap of itself", lambda: kernel(a, b, out=a)),
        ("strided", lambda: kernel(large[:, ::4], b)),
        ("wrong layout", lambda: kernel(a.T, b)),
        ("repeated lines", lambda: kernel(a[:1].expand(64, 64), b)),
        ("float32", lambda: kernel(a.float(), b)),
        ("one on the host", lambda: kernel(a.cpu().numpy(), b)),
        ("out on the host", lambda: kernel(a, b, out=np.zeros((64, 64), np.float16))),
        ("bind on the host", lambda: kernel.bind(a.cpu().numpy(), b.cpu().numpy(), out=np.zeros((64, 64), "f2"))),
        ("shape", lambda: kernel(a, b, out=large[:, :65])),
        ("requires grad", lambda: kernel(a.clone().requires_grad_(), b)),
        ("missing scalar", lambda: pv.compile(tensors()[0] @ tensors()[1] * pv.scalar("s"), options=SMALL)(a, b)),
    ]
    for what, call in calls:
        try:
            call()
        except pv.PolyvoltaError:
            continue
        raise AssertionError(f"{what} was not refused")
    kernel(a, b, out=large[:, 64:128])  # interleaved, no overlap
    return f"{len(calls)} refused"
