"""Rows made up, as an evaluation would have measured them."""

from __future__ import annotations

import math
import random

from polyvolta.evaluation.benchmarks import BENCHMARKS, draw
from polyvolta.evaluation.records import Row

OPTIONS = "128x256x64/64x256x64 m64n256k16 buffers=4 group=8 dependent_launch persistent"


def row(**changed) -> Row:
    """One, twice as fast as the chain and 5 % ahead of the best; other values as they are given."""
    values = {
        "gpu": "NVIDIA H200", "library": "torch 2", "target": "sm_90a", "benchmark": "gemm", "M": 256, "N": 128,
        "K": 64, "default_us": 12.5, "default": OPTIONS, "tuned_us": 10.0, "tuned": OPTIONS, "tried": 16,
        "plain_us": 11.0, "space_us": math.nan, "space": "", "spaced": 0, "chain_us": 20.0, "best_us": 10.5,
        "best": "cublasLt's best of 100, number 3", "error": 2.1e-4,
    }  # fmt: skip
    return Row(**values | changed)


def rows(count: int = 12, target: str = "sm_90a", slow: float = 1.0) -> list[Row]:
    """Of all benchmarks, ahead and behind, some with the whole space."""
    r, out = random.Random(5), []
    best = dict(zip([b.name for b in BENCHMARKS], ("cublasLt's best of 100, number 7", "", "addmm, relu", "mm, addmm",
                    "cublasLt's fused epilogue")))  # fmt: skip
    for b in BENCHMARKS:
        for n, (m, cols, k) in enumerate(draw(count)):
            tuned = slow * (3 + 1e6 * b.operations((m, cols, k)) / 6e14)
            times = {
                "tuned_us": tuned, "default_us": tuned * r.uniform(1, 1.2), "plain_us": tuned * 1.03,
                "chain_us": tuned * r.uniform(0.8, 1.9),
                "best_us": tuned * r.uniform(0.9, 1.1) if best[b.name] else math.nan,
                "space_us": tuned * r.uniform(0.97, 1) if n < 4 else math.nan,
            }  # fmt: skip
            out.append(row(target=target, benchmark=b.name, M=m, N=cols, K=k, best=best[b.name], **times))
    return out
