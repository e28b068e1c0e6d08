"""Volta: `mma.sync.m8n8k4` in quad-pairs, for all four pairs of layouts, and the paper's macro-MMAs.

Limits are per block or thread, from the CUDA C++ Programming Guide's table of compute capabilities; how many
multiprocessors there are is the architecture's first product's, from its whitepaper (V100).

m16n16k8 has the interleave of the paper's second figure. That of m32n32k8 gives each quad eight consecutive rows and
columns, so that operands of either layout are loaded 128 bits at a time.

Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
"""

from __future__ import annotations

from polyvolta.cuda.target.instruction import LANE, QUAD_PAIR, I, Instruction, owned
from polyvolta.cuda.target.macro_mma import Composition, Interleave
from polyvolta.cuda.target.target import Target
from polyvolta.sets import Aff

HIGH = LANE // 16  # whether the lane is in the upper quad of its pair
ACROSS = LANE % 4  # in its quad


def m8n8k4(a_layout: str, b_layout: str) -> Instruction:
    """`mma.sync.aligned.m8n8k4` with fp32 accumulation, for one pair of operand layouts."""
    bit = lambda x, k: x // 2**k % 2  # noqa: E731
    lines: dict[bool, tuple[Aff, Aff]] = {True: (ACROSS + 4 * HIGH, I), False: (I + 4 * HIGH, ACROSS)}
    row, k = lines[a_layout == "row"]
    col, l = lines[b_layout == "col"]  # noqa: E741
    return Instruction(
        (8, 8, 4),
        (a_layout, b_layout),
        owned(4, row=row, k=k),
        owned(4, k=l, col=col),
        owned(8, row=LANE % 2 + 2 * bit(I, 1) + 4 * HIGH, col=4 * bit(I, 2) + 2 * bit(LANE, 1) + I % 2),
        QUAD_PAIR,
        slots=4,
        volatile=True,
    )


M8N8K4 = tuple(m8n8k4(a, b) for a, b in (("row", "col"), ("row", "row"), ("col", "row"), ("col", "col")))
M16N16K8 = Composition(M8N8K4, Interleave(("r0", "r1", "q0", "r2"), ("r0", "r1", "r2", "q1"), ("r0", "r1", "s0")))
M32N32K8 = Composition(
    M8N8K4, Interleave(("r0", "r1", "s0", "q0", "r2"), ("r0", "r1", "s0", "q1", "r2"), ("r0", "r1", "s0"))
)

SM_70 = Target(
    name="sm_70",
    threads=1024,
    registers=255,
    block_registers=65536,
    shared_bytes=96 * 1024,
    grid=(2**31 - 1, 65535, 65535),
    macro_mmas=(M16N16K8, M32N32K8),
    multiprocessors=80,
)
