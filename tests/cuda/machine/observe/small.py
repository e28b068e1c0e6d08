"""Small kernels for the observers, whole and broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import Loop, Stmt, When
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.text.printer import print_cuda

M, N, K = pv.sizes("M N K")
OPTIONS = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16), macro_mma="m16n16k8", buffers=1)


@cache
def product(b: str = "col", **more) -> Kernel:
    """C = A @ B with four warps a block, a macro-MMA each and two of them along k."""
    return pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout=b), options=replace(OPTIONS, **more))


def broken(kernel: Kernel, change: Callable[[Stmt], Stmt | tuple[Stmt, ...] | None]) -> Kernel:
    """The kernel with each operation replaced by what a function makes of it; None: nothing."""
    body = kernel.ir.body
    for path, s in sorted(walk(body), reverse=True, key=lambda x: x[0]):
        if not isinstance(s, Loop | When) and (new := change(s)) != s:
            body = replaced(body, path, () if new is None else new if isinstance(new, tuple) else (new,))
    assert body != kernel.ir.body
    ir = replace(kernel.ir, body=body)
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


def operands(kernel: Kernel, m: int, n: int, k: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays of the kernel's layouts, multiples of 1/8 so that sums are exact."""
    rng, sizes = np.random.default_rng(seed), {"M": m, "N": n, "K": k}
    out = {}
    for t in kernel.graph.inputs:
        array = rng.integers(-16, 17, [sizes[str(d)] for d in t.dims]) / 8
        out[t.name] = np.array(array, np.float16, order="F" if t.layout == "col" else "C")
    return out


def line_of(kernel: Kernel, text: str) -> int:
    """The number of the one line of the CUDA text that has some text in it."""
    (found,) = [n for n, line in enumerate(kernel.source.split("\n"), 1) if text in line]
    return found
