"""What the checks of `gpu_features.py` share: kernels, operands, arrays amid poison, the register of checks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import polyvolta as pv

CHECKS: dict[str, Callable[[], str | None]] = {}
ROOT = Path(__file__).resolve().parents[1]
SKIPPED = 77  # exit status of a check that can't run here
M, N, K = pv.sizes("M N K")
SMALL = pv.Options(block_tile=(64, 64, 32))
SIZES = [(1, 1, 1), (7, 17, 129), (64, 64, 32), (100, 50, 75), (129, 65, 31), (256, 192, 128), (1000, 333, 77)]
POISON = 0x7E5A  # a NaN that no computation makes


def environment(**more: str) -> dict[str, str]:
    """Of a process that finds this package behind what the caller's PYTHONPATH has, a numpy that fits numba, say."""
    paths = [os.environ.get("PYTHONPATH"), str(ROOT)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **more}


def check(f: Callable[[], str | None]) -> Callable[[], str | None]:
    """Enter a check under its name; it returns what is worth saying, or raises."""
    CHECKS[f.__name__] = f
    return f


def tensors(a_layout: str = "row", b_layout: str = "col") -> tuple[Any, Any]:
    return pv.tensor("A", (M, K), layout=a_layout), pv.tensor("B", (K, N), layout=b_layout)


def product(options: pv.Options = SMALL, **more: Any) -> Any:
    A, B = tensors()
    return pv.compile(A @ B, options=options, **more)


def operands(m: int, n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    return a, np.asfortranarray(b)


def close(c: Any, exact: np.ndarray) -> float:
    """The relative error; raises if it is too large or anything is NaN."""
    c = np.asarray(c, np.float64)
    assert c.shape == exact.shape, (c.shape, exact.shape)
    error = float(np.linalg.norm(c - exact) / max(np.linalg.norm(exact), 1e-30))
    assert error <= 5e-4, f"relative error {error:.2e}"
    return error


def exact_of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


class Within:
    """An array in GPU memory (torch's) amid poison: `inner` starts `offset` values after a 256-byte boundary."""

    def __init__(self, values: np.ndarray | tuple[int, int], order: str, ld: int, offset: int) -> None:
        import torch

        shape = values if isinstance(values, tuple) else values.shape
        lines, run = shape if order == "C" else shape[::-1]
        self.memory = torch.full((256 + offset + lines * ld + 256,), POISON, dtype=torch.int16, device="cuda")
        flat = self.memory.view(torch.float16)[256 + offset :]
        inner = flat.as_strided((lines, run), (ld, 1))
        self.inner = inner if order == "C" else inner.T
        if not isinstance(values, tuple):
            self.inner.copy_(torch.from_numpy(np.ascontiguousarray(values)).cuda())
        self.touched = torch.zeros_like(self.memory, dtype=torch.bool)
        part = self.touched[256 + offset :].as_strided((lines, run), (ld, 1))
        part[...] = True

    def intact(self) -> None:
        """Raise if anything outside of the array has changed."""
        changed = ((self.memory != POISON) & ~self.touched).sum().item()
        assert not changed, f"{changed} values around the array were written"

    def numpy(self) -> np.ndarray:
        return self.inner.cpu().numpy()


def need(*modules: str) -> None:
    for name in modules:
        try:
            __import__(name)
        except ImportError as wrong:
            print(wrong)
            sys.exit(SKIPPED)
