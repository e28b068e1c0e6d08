"""Ampere's instructions for tests, and macro-MMAs of them whose fragments take loads of every width.

Nothing of it is registered: kernels are compiled for `SM_80` itself.
"""

from polyvolta.cuda.target.target import WARP, Composition, Instruction, Interleave, Target, owned
from polyvolta.sets import var

LANE, I = var("lane"), var("i")
GROUP, THREAD = LANE // 4, LANE % 4


def _bit(n):
    return I // 2**n % 2


def _instruction(k, a_k, b_k):
    return Instruction(
        (16, 8, k), ("row", "col"), owned(k // 2, row=GROUP + 8 * _bit(1), k=a_k), owned(k // 4, k=b_k, col=GROUP),
        owned(4, row=GROUP + 8 * _bit(1), col=2 * THREAD + _bit(0)), WARP,
    )  # fmt: skip


M16N8K16 = _instruction(16, 2 * THREAD + _bit(0) + 8 * _bit(2), 2 * THREAD + _bit(0) + 8 * _bit(1))
M16N8K8 = _instruction(8, 2 * THREAD + _bit(0), 2 * THREAD + _bit(0))
R4, R3 = ("r0", "r1", "r2", "r3"), ("r0", "r1", "r2")


def _made(instruction, rows, cols, *ks):
    return Composition((instruction,), Interleave(rows, cols, ks))


COMPOSITIONS = {  # what one load of a fragment brings, in bits
    "128": _made(M16N8K16, R4, (*R3, "s0"), "r0", "r3", "s0", "r1", "r2"),
    "64": _made(M16N8K16, R4, (*R3, "s0"), "r0", "r3", "r1", "r2"),
    "32": _made(M16N8K16, R4, (*R3, "s0"), "r0", "r1", "r2", "r3"),
    "16": _made(M16N8K16, R4, (*R3, "s0"), "r1", "r2", "r3", "r0"),
    "64 of four": _made(M16N8K16, (*R4, "s0"), ("s0", *R3, "s1"), "r0", "r3", "r1", "r2"),
    "64 in two steps": _made(M16N8K8, R4, (*R3, "s0"), "r0", "s0", "r1", "r2"),
    "32 of k8": _made(M16N8K8, R4, (*R3, "s0"), "r0", "r1", "r2"),
    "32, two values": _made(M16N8K8, (*R4, "s0"), R3, "r0", "r1", "r2"),
}
ACCESSES = {
    "128": 8,
    "64": 4,
    "32": 2,
    "16": 1,
    "64 of four": 4,
    "64 in two steps": 4,
    "32 of k8": 2,
    "32, two values": 2,
}


def target(composition):
    """An sm_80 with that macro-MMA alone."""
    return Target("sm_80", 1024, 255, 65536, 163 * 1024, (2**31 - 1, 65535, 65535), (composition,), 108)
