"""Small kernels to draw, compiled once."""

from dataclasses import replace
from functools import cache

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import replaced, walk


@cache
def matmul(block=(32, 32, 16), warp=(16, 16, 16), a="row", b="col", c="row", sizes="M N K", **options) -> Kernel:
    M, N, K = (int(n) if n.isdigit() else pv.sizes(n) for n in sizes.split())
    product = pv.tensor("A", (M, K), layout=a) @ pv.tensor("B", (K, N), layout=b)
    return pv.compile(pv.output(product, layout=c), options=pv.Options(block_tile=block, warp_tile=warp, **options))


def changed(ir: KernelIR, kind: type, number: int, *new) -> KernelIR:
    """The IR with other statements in place of the n-th one of a kind; `new` may be functions of it."""
    at, op = [(at, s) for at, s in walk(ir.body) if isinstance(s, kind)][number]
    return replace(ir, body=replaced(ir.body, at, tuple(n(op) if callable(n) else n for n in new)))
