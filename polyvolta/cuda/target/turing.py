"""Turing: `mma.sync.m16n8k8` of the whole warp on fp16, and `ldmatrix`.

Limits are per block or thread, from the CUDA C++ Programming Guide's table of compute capabilities; how many
multiprocessors there are is the TU102's, from its whitepaper.

Source: PTX ISA, "Matrix Fragments for mma.m16n8k8".
"""

from __future__ import annotations

from polyvolta.cuda.target.instruction import LANE, WARP, I, Instruction, owned
from polyvolta.cuda.target.macro_mma import Composition, Interleave
from polyvolta.cuda.target.matrix_load import LDMATRIX
from polyvolta.cuda.target.target import Target
from polyvolta.sets import Aff

GROUP, THREAD = LANE // 4, LANE % 4


def bit(n: int) -> Aff:
    """Bit n of a value's number."""
    return I // 2**n % 2


def m16n8k8(kind: str) -> Instruction:
    """`mma.sync.aligned.m16n8k8` on "f16" or "bf16" with fp32 accumulation."""
    return Instruction(
        (16, 8, 8),
        ("row", "col"),
        owned(4, row=GROUP + 8 * bit(1), k=2 * THREAD + bit(0)),
        owned(2, k=2 * THREAD + bit(0), col=GROUP),
        owned(4, row=GROUP + 8 * bit(1), col=2 * THREAD + bit(0)),
        WARP,
        (kind, kind, "f32"),
    )


ROWS, COLS = ("r0", "r1", "r2", "r3"), ("r0", "r1", "r2")
KS = ("r0", "r1", "r2", "s0")

SM_75 = Target(
    name="sm_75",
    threads=1024,
    registers=255,
    block_registers=65536,
    shared_bytes=64 * 1024,
    grid=(2**31 - 1, 65535, 65535),
    macro_mmas=(
        Composition((m16n8k8("f16"),), Interleave(ROWS, (*COLS, "s0", "s1"), KS), LDMATRIX),  # m16n32k16
        Composition((m16n8k8("f16"),), Interleave(ROWS, (*COLS, "s0"), KS), LDMATRIX),  # m16n16k16
    ),
    multiprocessors=72,
)
