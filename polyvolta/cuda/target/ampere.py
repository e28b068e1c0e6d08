"""Ampere: `mma.sync.m16n8k16` of the whole warp on fp16 and bf16, `ldmatrix`, asynchronous copies.

Limits are per block or thread, from the CUDA C++ Programming Guide's table of compute capabilities; how many
multiprocessors there are is the A100's, from its whitepaper. GPUs of 8.6 and 8.9 run the code of sm_80 but have less
shared memory (99 KB of a block): a launch says so.

Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".
"""

from __future__ import annotations

from polyvolta.cuda.target.instruction import WARP, Instruction, owned
from polyvolta.cuda.target.macro_mma import Composition, Interleave
from polyvolta.cuda.target.matrix_load import LDMATRIX
from polyvolta.cuda.target.target import Target
from polyvolta.cuda.target.turing import COLS, GROUP, ROWS, THREAD, bit, m16n8k8


def m16n8k16(kind: str) -> Instruction:
    """`mma.sync.aligned.m16n8k16` on "f16" or "bf16" with fp32 accumulation."""
    return Instruction(
        (16, 8, 16),
        ("row", "col"),
        owned(8, row=GROUP + 8 * bit(1), k=2 * THREAD + bit(0) + 8 * bit(2)),
        owned(4, k=2 * THREAD + bit(0) + 8 * bit(1), col=GROUP),
        owned(4, row=GROUP + 8 * bit(1), col=2 * THREAD + bit(0)),
        WARP,
        (kind, kind, "f32"),
    )


M16N8K16 = m16n8k16("f16"), m16n8k16("bf16")
M16N8K8 = m16n8k8("f16"), m16n8k8("bf16")
K16 = ("r0", "r1", "r2", "r3")

SM_80 = Target(
    name="sm_80",
    threads=1024,
    registers=255,
    block_registers=65536,
    shared_bytes=163 * 1024,
    grid=(2**31 - 1, 65535, 65535),
    macro_mmas=(
        Composition(M16N8K16, Interleave(ROWS, (*COLS, "s0", "s1"), K16), LDMATRIX),  # m16n32k16
        Composition(M16N8K16, Interleave(ROWS, (*COLS, "s0"), K16), LDMATRIX),  # m16n16k16
        Composition(M16N8K8, Interleave(ROWS, (*COLS, "s0"), ("r0", "r1", "r2")), LDMATRIX),  # m16n16k8
    ),
    multiprocessors=108,
    block_tile=(128, 128, 64),
    spare=(58, 2, 3),  # of ptxas 12.9: 192 registers of values take 246 to 252, with three products 254
    spare_formulas=(14, 4, 9),
    spare_copies=(16, 2),
    copies=(16, 8, 4),
    buffers=3,
    fragments=2,
    group=8,
)
