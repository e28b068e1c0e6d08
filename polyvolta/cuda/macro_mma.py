"""Tensor-core instructions and the macro-MMAs composed from them.

`mma.sync.m8n8k4` multiplies 8x4 by 4x8 in each of a warp's four quad-pairs: lanes 4q..4q+3 and 16+4q..16+4q+3
are quad-pair q. A macro-MMA gives every quad-pair a part of a larger tile by an *interleave*: a map from
(quad-pair, row of the instruction) to the row of the tile, and one for columns. Its ownership maps are the
instruction's own maps followed by the interleave; nothing about the larger tile is typed in.

Source: PTX ISA, "Matrix Fragments for mma.m8n8k4"; the paper's section "Macro-MMA" and its second figure.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.index_map import IndexMap
from polyvolta.sets import Aff, var

LANE, I = var("lane"), var("i")
QUAD_PAIR = LANE % 16 // 4
HIGH = LANE // 16  # whether the lane is in the upper quad of its pair


@dataclass(frozen=True, slots=True)
class Instruction:
    """A warp-wide multiply-accumulate instruction.

    Parameters
    ----------
    name : the PTX mnemonic.
    shape : (m, n, k) of one quad-pair's product.
    layouts : of A and B, "row" or "col" each.
    a, b, d : {[lane, i] -> [row, k]}, {[lane, i] -> [k, col]}, {[lane, i] -> [row, col]} within a quad-pair.
    """

    name: str
    shape: tuple[int, int, int]
    layouts: tuple[str, str]
    a: IndexMap
    b: IndexMap
    d: IndexMap


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a macro-MMA: the values of each lane's fragments that it works on."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    d: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MacroMma:
    """A warp-level product composed of instructions.

    Parameters
    ----------
    name : m16n16k8, ...
    shape : (m, n, k).
    instruction : what it is made of.
    a, b, d : ownership maps {[lane, i] -> [row, k]}, {[lane, i] -> [k, col]}, {[lane, i] -> [row, col]}.
    steps : the instructions in order.
    """

    name: str
    shape: tuple[int, int, int]
    instruction: Instruction
    a: IndexMap
    b: IndexMap
    d: IndexMap
    steps: tuple[Step, ...]

    @property
    def values(self) -> tuple[int, int, int]:
        """How many values of A, B and D each lane holds."""
        return tuple(m.inputs[1][1] for m in (self.a, self.b, self.d))


def _own(n: int, **outputs: Aff) -> IndexMap:
    return IndexMap((("lane", 32), ("i", n)), tuple(outputs.items())).simplified()


def m8n8k4(a_layout: str, b_layout: str) -> Instruction:
    """`mma.sync.aligned.m8n8k4` with fp32 accumulation, for one pair of operand layouts."""
    in_quad = LANE % 4
    own_a = {"row": {"row": in_quad + 4 * HIGH, "k": I}, "col": {"row": I + 4 * HIGH, "k": in_quad}}
    own_b = {"col": {"k": I, "col": in_quad + 4 * HIGH}, "row": {"k": in_quad, "col": I + 4 * HIGH}}
    bit = lambda x, k: x // 2**k % 2  # noqa: E731
    return Instruction(
        f"mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.f32.f16.f16.f32",
        (8, 8, 4),
        (a_layout, b_layout),
        _own(4, **own_a[a_layout]),
        _own(4, **own_b[b_layout]),
        _own(8, row=LANE % 2 + 2 * bit(I, 1) + 4 * HIGH, col=4 * bit(I, 2) + 2 * bit(LANE, 1) + I % 2),
    )


def m16n16k8(a_layout: str = "row", b_layout: str = "col") -> MacroMma:
    """Four quad-pairs as 2 x 2 products of 8x8, k in two steps of 4 (the paper's second figure).

    Rows are interleaved in fours, so that each quad owns four consecutive rows; columns in eights.
    """
    instruction = m8n8k4(a_layout, b_layout)
    step = I // 4
    value = {"i": I % 4}

    def row_of(r: Aff) -> Aff:
        return r % 4 + 4 * (QUAD_PAIR % 2) + 8 * (r // 4)

    def col_of(c: Aff) -> Aff:
        return c + 8 * (QUAD_PAIR // 2)

    a_row, a_k = (e.subs(value) for e in instruction.a.exprs)
    b_k, b_col = (e.subs(value) for e in instruction.b.exprs)
    d_row, d_col = instruction.d.exprs
    quarter = lambda s: tuple(range(4 * s, 4 * s + 4))  # noqa: E731
    return MacroMma(
        "m16n16k8",
        (16, 16, 8),
        instruction,
        _own(8, row=row_of(a_row), k=a_k + 4 * step),
        _own(8, k=b_k + 4 * step, col=col_of(b_col)),
        _own(8, row=row_of(d_row), col=col_of(d_col)),
        tuple(Step(quarter(s), quarter(s), tuple(range(8))) for s in range(2)),
    )


MACRO_MMAS = {"m16n16k8": m16n16k8}
