"""Kernels whose blocks compute several tiles, as few blocks as make several turns of small matrices."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np

import polyvolta as pv
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text.printer import print_cuda

M, N, K = pv.sizes("M N K")
BLOCKS = 3
TILES = pv.Options(block_tile=(128, 64, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=3, group=2,
                   persistent=True)  # fmt: skip
WIDE = pv.Options(block_tile=(128, 192, 64), warp_tile=(64, 192, 64), macro_mma="m64n192k16", buffers=2, group=1,
                  persistent=True)  # fmt: skip
IN_TURN = replace(TILES, block_tile=(64, 64, 64), warp_tile=(64, 64, 64), pingpong=True)


def outputs(name: str, a: str = "row", b: str = "col", c: str = "row") -> Any:
    """What a kernel computes, by a few words."""
    A, B = pv.tensor("A", (M, K), layout=a), pv.tensor("B", (K, N), layout=b)
    R, bias = pv.tensor("R", (M, N), layout=c), pv.tensor("bias", (N,))
    product = A @ B
    match name:
        case "product":
            out = product
        case "residual":
            out = pv.relu(product + R)
        case "bias":
            out = pv.relu(product + bias)
        case "sum":
            out = product + pv.tensor("P", (M, K)) @ pv.tensor("Q", (K, N))
        case "operands":
            out = pv.relu(product + R) * pv.tensor("T", (M, N), layout=c)
        case "two":
            return pv.output(product, "C", layout=c), pv.output(pv.relu(product + R), "D", layout=c)
    return pv.output(out, "C", layout=c)


@cache
def plain(
    name: str, options: pv.Options = TILES, layouts: tuple[str, str, str] = ("row", "col", "row")
) -> pv.Kernel:
    """A kernel as it is compiled, for all that differ in the number of blocks alone."""
    return pv.compile(outputs(name, *layouts), target=SM_90A, options=options)


@cache
def compiled(
    name: str, layouts: tuple[str, str, str] = ("row", "col", "row"), options: pv.Options = TILES, blocks: int = BLOCKS
) -> pv.Kernel:
    """A kernel that at most so many blocks are launched of, or clusters of blocks."""
    kernel = plain(name, options, layouts)
    ir = replace(kernel.ir, resident=blocks * prod(kernel.ir.cluster))
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


def arrays(kernel: pv.Kernel, m: int, n: int, k: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Small whole numbers, of which sums are exact."""
    rng, sizes = np.random.default_rng(seed), {"M": m, "N": n, "K": k}
    out = {}
    for t in kernel.graph.inputs:
        shape = tuple(sizes[d.name] for d in t.dims)
        order = "F" if t.layout == "col" else "C"
        out[t.name] = np.asarray(rng.integers(-4, 5, shape).astype(np.float16), order=order)
    return out


def expected(name: str, layouts: tuple[str, str, str], given: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The results, by the graph's own meaning."""
    out = outputs(name, *layouts)
    found = pv.reference(list(out) if isinstance(out, tuple) else out, **given)
    return found if isinstance(found, tuple) else (found,)


def agrees(kernel: pv.Kernel, given: dict[str, np.ndarray], exact: tuple[np.ndarray, ...], copies: Any) -> bool:
    """Whether a run has these results."""
    found = kernel.interpret(**given, copies=copies)
    found = found if isinstance(found, tuple) else (found,)
    return all(np.array_equal(x, y) for x, y in zip(found, exact, strict=True))
