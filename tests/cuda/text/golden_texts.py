"""The kernels whose CUDA text is kept for people to review, one for each idiom and layout.

    python -m tests.cuda.text.golden_texts        writes tests/cuda/text/golden/*.cu anew

Read the difference before committing it: these texts are what a user is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import polyvolta as pv
from polyvolta.cuda.text.printer import print_cuda

FOLDER = Path(__file__).parent / "golden"
M, N, K, L = pv.sizes("M N K L")


@dataclass(frozen=True)
class Case:
    """A graph, the options that it is compiled with (None: the default rule's), its tensors' alignment, the target."""

    graph: Callable[[], object]
    options: pv.Options | None = None
    align: int = 8
    target: str = "sm_70"

    @cache  # noqa: B019  # cases live as long as the program
    def kernel(self) -> pv.Kernel:
        return pv.compile(self.graph(), self.target, self.options)

    def text(self) -> str:
        ir = self.kernel().ir
        if self.align == 8:
            return self.kernel().source
        return print_cuda(replace(ir, tensors=tuple(replace(t, align=self.align) for t in ir.tensors)))


def product(a: str = "row", b: str = "col", left: str = "A", right: str = "B", depth: object = K, dtype="float16"):
    return pv.tensor(left, (M, depth), layout=a, dtype=dtype) @ pv.tensor(right, (depth, N), layout=b, dtype=dtype)


def bias_relu(dtype="float16"):
    return pv.relu(product(dtype=dtype) + pv.tensor("bias", (N,), dtype=dtype))


def gelu_residual():
    """A scalar, a function with a shared subexpression, a column vector and a matrix."""
    scaled = pv.scalar("alpha") * product()
    return pv.gelu(scaled + pv.tensor("bias", (M, 1))) + pv.tensor("residual", (M, N))


def transposed_residual():
    """What is added lies the other way round; rounds of a 32x32 fragment."""
    return product("col", "row") + pv.tensor("residual", (M, N), layout="col")


def prologue():
    """A formula that is not 0 at 0, of a matrix and a vector along k."""
    a = pv.sigmoid(pv.tensor("A", (M, K)) + pv.tensor("shift", (K,)))
    return a @ pv.tensor("B", (K, N), layout="col")


def two_products():
    return pv.relu(product() - 0.5 * product("row", "col", "P", "Q", L))


def apart():
    """Two products that need accumulators of their own."""
    return product() * pv.sigmoid(product("row", "col", "P", "Q", L))


SPLIT = pv.Options(block_tile=(64, 64, 32), warp_tile=(32, 64, 32), split_k=2)
CASES = {
    "plain_row_col": Case(product),
    "plain_row_row": Case(lambda: product("row", "row")),
    "plain_col_row": Case(lambda: product("col", "row")),
    "plain_col_col": Case(lambda: product("col", "col")),
    "plain_col_row_m16n16k8": Case(lambda: product("col", "row"), pv.Options(macro_mma="m16n16k8")),
    "whole_tiles": Case(product, pv.Options(partial="pad")),
    "narrow_accesses": Case(product, align=2),
    "epilogue_bias_relu": Case(bias_relu),
    "epilogue_gelu_residual": Case(gelu_residual),
    "epilogue_transposed_residual": Case(transposed_residual),
    "prologue_sigmoid": Case(prologue),
    "two_products_one_accumulator": Case(two_products),
    "two_products_apart": Case(apart),
    "split_k": Case(product, SPLIT),
    "two_buffers": Case(product, pv.Options(buffers=2)),
    "sm_75_row_col": Case(product, target="sm_75"),
    "sm_75_col_row": Case(lambda: product("col", "row"), target="sm_75"),
    "sm_80_row_col": Case(product, target="sm_80"),
    "sm_80_col_row": Case(lambda: product("col", "row"), target="sm_80"),
    "sm_80_whole_tiles": Case(product, pv.Options(partial="pad"), target="sm_80"),
    "sm_80_narrow_accesses": Case(product, align=4, target="sm_80"),
    "sm_80_bias_relu_bfloat16": Case(lambda: bias_relu("bfloat16"), target="sm_80"),
    "sm_80_split_k": Case(product, SPLIT, target="sm_80"),
    "sm_80_two_products_one_accumulator": Case(two_products, target="sm_80"),
}


def path(name: str) -> Path:
    return FOLDER / f"{name}.cu"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.cu"):
        if old.stem not in CASES:
            old.unlink()
    for name, case in CASES.items():
        path(name).write_text(case.text())


if __name__ == "__main__":
    main()
