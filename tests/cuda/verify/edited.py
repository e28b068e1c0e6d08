"""Small kernels of every idiom, edits that break one, what one client finds, and what concrete runs do: for tests."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

import polyvolta as pv
from polyvolta.cli.gallery import idiom
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.machine.interpreter import prepared_memory
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.engine.symbolic import Refutation

SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16), "macro_mma": "m16n16k8"}


def _outputs():
    M, N, K = pv.sizes("M N K")
    c = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    return pv.output(c, layout="col"), pv.output(pv.relu(c + pv.tensor("bias", (N,))), layout="col")


def _numbers():
    return pv.tensor("A", (50, 40)) @ pv.tensor("B", (40, 70))


KERNELS = {
    "plain": (lambda: idiom("matmul"), {}),
    "two buffers": (lambda: idiom("matmul", ("col", "row")), {"buffers": 2}),
    "split K": (lambda: idiom("epilogue"), {"split_k": 2, "warp_tile": (32, 16, 16)}),
    "split K, two buffers": (lambda: idiom("matmul"), {"split_k": 2, "warp_tile": (32, 16, 16), "buffers": 2}),
    "sum": (lambda: idiom("sum"), {}),
    "sum, two buffers": (lambda: idiom("sum"), {"buffers": 2}),
    "prologue": (lambda: idiom("prologue"), {}),
    "padded": (lambda: idiom("matmul"), {"partial": "pad"}),
    "larger macro-MMA": (lambda: idiom("epilogue", ("row", "row")),
                         {"macro_mma": "m32n32k8", "warp_tile": (32, 32, 16)}),
    "two outputs": (_outputs, {}),
    "numbers": (_numbers, {}),
    "idle threads": (lambda: idiom("prologue", ("row", "row")),
                     {"block_tile": (64, 16, 16), "warp_tile": (16, 16, 16)}),
}  # fmt: skip


@cache
def kernel(name: str) -> Kernel:
    """One of the small kernels."""
    graph, options = KERNELS[name]
    return pv.compile(graph(), options=pv.Options(**{**SMALL, **options}))


def found(client: Callable, ir: KernelIR) -> dict[str, Refutation]:
    """What a client has against a kernel."""
    return dict(run(ir, [client(ir, None)]).findings)


def paths(ir: KernelIR, kind: type, **fields: object) -> list:
    """Where statements of a kind stand, those with some fields."""
    return [p for p, s in walk(ir.body) if isinstance(s, kind) and all(getattr(s, n) == v for n, v in fields.items())]


def without(ir: KernelIR, path: tuple) -> KernelIR:
    """The kernel without a statement."""
    return replace(ir, body=replaced(ir.body, path, ()))


def changed(ir: KernelIR, path: tuple, **fields: object) -> KernelIR:
    """The kernel with some fields of a statement changed."""
    return replace(ir, body=replaced(ir.body, path, (replace(dict(walk(ir.body))[path], **fields),)))


def concrete(
    ir: KernelIR, sizes: dict[str, int], block: tuple[int, ...] = (0, 0, 0), forgiving: bool = False
) -> Machine:
    """The interpreter's machine for one block, on arrays of zeros; a forgiving one leaves out what it refuses."""
    arrays = {}
    for t in ir.tensors:
        shape = tuple(sizes[d] if isinstance(d, str) else d for d in t.dims)
        lines = tuple(shape[d] for d in t.order[:-1])
        memory = np.zeros((*lines, -(-shape[t.order[-1]] // 8) * 8), np.float16)[..., : shape[t.order[-1]]]
        arrays[t.name] = memory.T if t.order == (1, 0) else memory
    tensors, values = prepared_memory(ir, arrays, sizes, dict.fromkeys(ir.scalars, 1.0))
    machine = Machine(ir, tensors, values, np.array(block).reshape(3, 1), EFFECTS)
    machine.faults = (lambda *_: True) if forgiving else None
    return machine
