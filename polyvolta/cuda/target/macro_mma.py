"""Tensor-core instructions and the macro-MMAs composed from them.

`mma.sync.m8n8k4` multiplies 8x4 by 4x8 in each of a warp's four quad-pairs: lanes 4q..4q+3 and 16+4q..16+4q+3
are quad-pair q. A macro-MMA gives every quad-pair one or more such products of a larger tile, its *sub-tiles*, by
an `Interleave`: which bit of (quad-pair, sub-tile, row of the instruction) is which bit of the tile's row, and
likewise for columns. Its ownership maps are the instruction's own maps followed by the interleave; nothing about
the larger tile is typed in. All rows of A and of the result go the same way, so the accumulator's map does not depend
on the layouts of A and B.

A lane's values of an operand are numbered as they lie in memory: values along the contiguous dimension first.
So eight (or four) consecutive values are what one 128-bit (64-bit) load brings.

Source: PTX ISA, "Matrix Fragments for mma.m8n8k4"; the paper's section "Macro-MMA" and its second figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby, permutations

from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff, UnknownName, aff, nearest, var
from polyvolta.sets.values.simplify import simplify

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
class Interleave:
    """Where the bits of a tile's row and column numbers come from, the lowest bit first.

    Parameters
    ----------
    rows, cols : for each bit its source and which bit of it: "r" is the instruction's row (in `cols`: column), "q"
        the number of the quad-pair, "s" the number of the sub-tile.

    >>> paper = Interleave(("r0", "r1", "q0", "r2"), ("r0", "r1", "r2", "q1"))
    >>> print(paper.row(var("r"), var("q"), var("s")))
    r + 4*floor(r/4) + 4*(q mod 2)
    """

    rows: tuple[str, ...]
    cols: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n) of the tile."""
        return 2 ** len(self.rows), 2 ** len(self.cols)

    @property
    def subtiles(self) -> tuple[int, int]:
        """How many sub-tiles each quad-pair has along rows and columns."""
        m, n = (2 ** sum(bit[0] == "s" for bit in bits) for bits in (self.rows, self.cols))
        return m, n

    def row(self, r: Aff, q: Aff, s: Aff) -> Aff:
        """The tile's row of the instruction's row r in sub-tile s of quad-pair q."""
        return _placed(self.rows, {"r": r, "q": q, "s": s})

    def col(self, r: Aff, q: Aff, s: Aff) -> Aff:
        """The tile's column, likewise."""
        return _placed(self.cols, {"r": r, "q": q, "s": s})


def _placed(bits: tuple[str, ...], sources: Mapping[str, Aff]) -> Aff:
    """The number whose bits are the given bits of some sources; neighbours that stay neighbours move together."""
    top = {name: max((int(b[1:]) for b in bits if b[0] == name), default=0) for name in sources}
    e = aff(0)
    for (name, _), run in groupby(enumerate(bits), key=lambda kb: (kb[1][0], int(kb[1][1:]) - kb[0])):
        moved = [(at, int(bit[1:])) for at, bit in run]
        (at, low), (_, high) = moved[0], moved[-1]
        part = sources[name] // 2**low
        whole = name != "q" and high == top[name]  # the highest bit that there is
        e = e + 2**at * (part if whole else part % 2 ** (high - low + 1))
    return e


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
        return self.a.inputs[1][1], self.b.inputs[1][1], self.d.inputs[1][1]


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


def compose(name: str, interleave: Interleave, k_steps: int, a_layout: str, b_layout: str) -> MacroMma:
    """The macro-MMA of an interleave: every quad-pair multiplies its sub-tiles, `k_steps` instructions deep each."""
    instruction = m8n8k4(a_layout, b_layout)
    _, _, depth = instruction.shape
    count_m, count_n = interleave.subtiles
    inner, s, step = var("inner"), var("s"), var("step")
    a_row, a_k = (e.subs({"i": inner}) for e in instruction.a.exprs)
    b_k, b_col = (e.subs({"i": inner}) for e in instruction.b.exprs)
    d_row, d_col = (e.subs({"i": I % 8}) for e in instruction.d.exprs)
    a = {"row": interleave.row(a_row, QUAD_PAIR, s), "k": a_k + depth * step}
    b = {"k": b_k + depth * step, "col": interleave.col(b_col, QUAD_PAIR, s)}
    a_map, a_at = _operand(a, "k" if a_layout == "row" else "row", count_m, k_steps)
    b_map, b_at = _operand(b, "k" if b_layout == "col" else "col", count_n, k_steps)
    d_map = _own(
        8 * count_m * count_n,
        row=interleave.row(d_row, QUAD_PAIR, I // (8 * count_n)),
        col=interleave.col(d_col, QUAD_PAIR, I // 8 % count_n),
    )
    steps = tuple(
        Step(a_at[mm, k], b_at[mn, k], tuple(range(8 * (mm * count_n + mn), 8 * (mm * count_n + mn) + 8)))
        for k in range(k_steps)
        for mm in range(count_m)
        for mn in range(count_n)
    )
    return MacroMma(name, (*interleave.shape, depth * k_steps), instruction, a_map, b_map, d_map, steps)


def _operand(
    place: Mapping[str, Aff], run: str, subtiles: int, k_steps: int
) -> tuple[IndexMap, dict[tuple[int, int], tuple[int, ...]]]:
    """An operand's ownership map, and the values that each (sub-tile, k step) multiplies.

    `place` is the element in terms of the lane, the instruction's value `inner`, the sub-tile `s` and the step `step`.
    The bits of these three are the bits of a value's number, in the order of the places that they lead to.
    """
    parts = {"inner": 4, "s": subtiles, "step": k_steps}
    where = IndexMap((("lane", 32), *parts.items()), tuple(place.items()))
    origin = {"lane": 0, **dict.fromkeys(parts, 0)}
    bits = [(n, k) for n, count in parts.items() for k in range((count - 1).bit_length())]

    def distance(bit: tuple[str, int]) -> tuple[int, int]:
        """How far a bit leads across lines, then along them."""
        there = where.evaluate({**origin, bit[0]: 2 ** bit[1]})
        apart = {d: x - x0 for d, x, x0 in zip(place, there, where.evaluate(origin))}
        return sum(x for d, x in apart.items() if d != run), apart[run]

    number = {bit: at for at, bit in enumerate(sorted(bits, key=distance))}
    values = {n: _placed_bits([number[n, k] for k in range((c - 1).bit_length())]) for n, c in parts.items()}
    count = 2 ** len(bits)
    ranges = {"lane": (0, 31), "i": (0, count - 1)}
    own = _own(count, **{d: simplify(e, ranges, values) for d, e in place.items()})
    part_of = IndexMap((("i", count),), tuple(values.items()))
    held: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i in range(count):
        inner, s, step = part_of.evaluate({"i": i})
        held.setdefault((s, step), []).append((inner, i))
    return own, {key: tuple(i for _, i in sorted(pairs)) for key, pairs in held.items()}


def _placed_bits(numbers: list[int]) -> Aff:
    """The number made of the given bits of a value's number i, runs of bits together."""
    e = aff(0)
    for _, run in groupby(enumerate(numbers), key=lambda kb: kb[1] - kb[0]):
        (at, low), *more = run
        e = e + 2**at * (I // 2**low % 2 ** (1 + len(more)))
    return e


INTERLEAVES = {
    "m16n16k8": Interleave(("r0", "r1", "q0", "r2"), ("r0", "r1", "r2", "q1")),
    "m32n32k8": Interleave(("r0", "r1", "s0", "q0", "r2"), ("r0", "r1", "s0", "q1", "r2")),
}
"""For each macro-MMA the preferred interleave: the paper's second figure; and the one that gives each quad eight
consecutive rows and columns, so that operands of either layout are loaded 128 bits at a time."""
K_STEPS = 2
LAYOUTS = ("row", "col")


@lru_cache(maxsize=256)
def macro_mma(
    name: str, a_layout: str = "row", b_layout: str = "col", interleave: Interleave | None = None
) -> MacroMma:
    """A macro-MMA by name, for one pair of operand layouts ("row" or "col"); by default the preferred interleave.

    Raises
    ------
    UnknownName : no macro-MMA is called so, or no layout.

    >>> macro_mma("m32n32k8", "col", "row").shape
    (32, 32, 8)
    """
    if name not in INTERLEAVES:
        raise UnknownName(f"no macro-MMA is called {name!r}", hint=nearest(name, INTERLEAVES))
    for layout in (a_layout, b_layout):
        if layout not in LAYOUTS:
            raise UnknownName(f"no layout is called {layout!r}", hint=nearest(layout, LAYOUTS))
    return compose(name, interleave or INTERLEAVES[name], K_STEPS, a_layout, b_layout)


def orders(bits: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The ways to interleave the rows (columns) of a macro-MMA: the preferred one, then others, least changes first.

    The two lowest bits stay: they are the four rows that an instruction keeps together.
    """
    others = permutations(bits[2:])  # in the order of `bits` first
    return tuple((*bits[:2], *rest) for rest in others)


m16n16k8, m32n32k8 = (partial(macro_mma, name) for name in INTERLEAVES)
MACRO_MMAS = {"m16n16k8": m16n16k8, "m32n32k8": m32n32k8}
