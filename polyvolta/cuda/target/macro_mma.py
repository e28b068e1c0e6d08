"""Macro-MMAs: warp-level products composed of tensor-core instructions.

A macro-MMA gives every unit of the instruction (a quad-pair, or the whole warp) one or more products of a larger tile,
its *sub-tiles*, in one or more *steps* along k, by an `Interleave`: which bit of (unit, sub-tile, row of the
instruction) is which bit of the tile's row, likewise for columns, and which bit of (step, the instruction's k) is which
bit of the tile's k. Its ownership maps are the instruction's own maps followed by the interleave; nothing about the
larger tile is typed in. All rows of A and of the result go the same way, and so do all k of A and B: the accumulator's
map does not depend on the layouts of A and B, and the sum over k on no order of k.

A lane's values of an operand are numbered as they lie in memory: values along the contiguous dimension first. So eight
(or four) consecutive values are what one 128-bit (64-bit) load brings. An instruction that wants k = 2t, 2t + 1,
2t + 8 and 2t + 9 in lane t gets four consecutive values, once k is permuted for both operands.

Source: the paper's section "Macro-MMA" and its second figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby, permutations, product

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.target.checks import Rule, each, every, of, settle, spelled
from polyvolta.cuda.target.descriptors import InShared, in_registers
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import LANE, LANES, LAYOUTS, I, Instruction, held_values, owned
from polyvolta.cuda.target.matrix_load import MatrixLoad
from polyvolta.display.shown import Brief, Record
from polyvolta.sets import Aff, UnknownName, aff, nearest, var
from polyvolta.sets.values.simplify import simplify


class NoInstruction(CudaError, ValueError):
    """No instruction takes operands that lie so."""

    id = "PV517"


class BadComposition(CudaError, ValueError):
    """An interleave that doesn't fit its instruction, or instructions that don't fit one another."""

    id = "PV518"


@dataclass(frozen=True, slots=True)
class Step(Record):
    """One instruction of a macro-MMA: the values of each lane's fragments that it works on."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    d: tuple[int, ...]


_BIT = spelled("bit", "'r0'", "[rqs][0-9]{1,2}")
_BITS = each("tuple of bits, r, q or s and a number", "('r0', 'r1', 'q0', 's0')", _BIT.fits)


@dataclass(frozen=True, slots=True)
class Interleave(Record):
    """Where the bits of a tile's row, column and k come from, the lowest bit first.

    Parameters
    ----------
    rows, cols, ks : for each bit its source and which bit of it: "r" is the instruction's own row (column, k), "q" the
        number of the unit, "s" the number of the sub-tile, of the step along k.

    Raises
    ------
    BadComposition : something else than such bits.

    >>> paper = Interleave(("r0", "r1", "q0", "r2"), ("r0", "r1", "r2", "q1"), ("r0", "r1", "s0"))
    >>> print(paper.row(var("r"), var("q"), var("s")))
    r + 4*floor(r/4) + 4*(q mod 2)
    >>> paper.shape, paper.subtiles
    ((16, 16, 8), (1, 1, 2))
    """

    rows: tuple[str, ...]
    cols: tuple[str, ...]
    ks: tuple[str, ...]

    def __post_init__(self) -> None:
        settle(self, dict.fromkeys(("rows", "cols", "ks"), _BITS), BadComposition)

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """The bits of rows, columns and k."""
        return self.rows, self.cols, self.ks

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, n, k) of the tile."""
        m, n, k = (2 ** len(bits) for bits in self.sides)
        return m, n, k

    @property
    def subtiles(self) -> tuple[int, int, int]:
        """How many sub-tiles each unit has along rows and columns, and steps along k."""
        m, n, k = (2 ** sum(bit[0] == "s" for bit in bits) for bits in self.sides)
        return m, n, k

    def row(self, r: Aff, q: Aff, s: Aff) -> Aff:
        """The tile's row of the instruction's row r in sub-tile s of unit q."""
        return _placed(self.rows, {"r": r, "q": q, "s": s})

    def col(self, r: Aff, q: Aff, s: Aff) -> Aff:
        """The tile's column, likewise."""
        return _placed(self.cols, {"r": r, "q": q, "s": s})

    def k(self, r: Aff, s: Aff) -> Aff:
        """The tile's k of the instruction's k in step s."""
        return _placed(self.ks, {"r": r, "s": s})


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


@dataclass(frozen=True, slots=True, repr=False)
class MacroMma(Brief):
    """A product of a warp, or of a warpgroup, composed of instructions.

    Parameters
    ----------
    name : m16n16k8, ...
    shape : (m, n, k).
    instruction : what it is made of.
    a, b, d : ownership maps {[lane, i] -> [row, k]}, {[lane, i] -> [k, col]}, {[lane, i] -> [row, col]}; A and B may be
        in shared memory instead.
    steps : the instructions in order.
    loads : the instruction that loads fragments of A and B; None: lanes load their own values.
    """

    name: str
    shape: tuple[int, int, int]
    instruction: Instruction
    a: IndexMap | InShared
    b: IndexMap | InShared
    d: IndexMap
    steps: tuple[Step, ...]
    loads: MatrixLoad | None = None

    @property
    def kind(self) -> str:
        """Of the elements of A and B: "half" or "bfloat16"."""
        return self.instruction.kind

    @property
    def values(self) -> tuple[int, int, int]:
        """How many values of A, B and D each lane holds."""
        return held_values(self.a, self.b, self.d)

    @property
    def slots(self) -> int:
        """Issue slots of a warp."""
        return self.instruction.slots * len(self.steps)

    @property
    def flops(self) -> int:
        """Operations of a warp, a multiply-add being two."""
        return self.instruction.flops * len(self.steps)

    def _facts(self) -> list[tuple[str, object]]:
        from polyvolta.cuda.shown.targets import macro_facts

        return macro_facts(self)

    def _html(self) -> str:
        from polyvolta.cuda.shown.targets import macro

        return macro(self)

    def _title(self) -> str:
        return self.name


_RULES = {
    "instructions": every(Instruction, "(mma,)"),
    "interleave": of(Interleave, "Interleave", "Interleave(rows, cols, ks)"),
    "loads": Rule("MatrixLoad or None", "LDMATRIX", lambda value: value is None or isinstance(value, MatrixLoad)),
}
PAIRS = tuple(product(LAYOUTS, LAYOUTS))
"""All pairs of layouts of A and B."""
RUN = 8  # 16-bit values of a 128-bit access


@dataclass(frozen=True, slots=True, repr=False)
class Composition(Brief):
    """A macro-MMA for every pair of layouts and kind of elements that its instructions take: `of` makes them.

    Parameters
    ----------
    instructions : of one shape and scope, one for each pair of layouts and kind of elements.
    interleave : the preferred one.
    loads : the instruction that loads fragments, which then may lie in shared memory in any layout: it distributes
        the values as the one for matrix products wants them. None: lanes load their own values.

    Attributes
    ----------
    name, shape : of the macro-MMA, such as "m16n16k8" and (16, 16, 8).
    values : how many values of A, B and D each lane holds.

    Raises
    ------
    BadComposition : something else than instructions and an interleave, or they don't fit one another.

    >>> from polyvolta.cuda.target.volta import M32N32K8
    >>> M32N32K8.name, M32N32K8.values, M32N32K8.of("col", "row").slots
    ('m32n32k8', (16, 16, 32), 32)
    """

    instructions: tuple[Instruction, ...]
    interleave: Interleave
    loads: MatrixLoad | None = None
    name: str = field(init=False, compare=False)
    shape: tuple[int, int, int] = field(init=False, compare=False)
    values: tuple[int, int, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        settle(self, _RULES, BadComposition)
        for problem in _misfits(self.instructions, self.interleave):
            raise BadComposition(problem, where=str(self.interleave), hint="each bit of the instruction stands once")
        m, n, k = self.interleave.subtiles
        a, b, d = self.instructions[0].values
        object.__setattr__(self, "shape", self.interleave.shape)
        object.__setattr__(self, "name", "m{}n{}k{}".format(*self.interleave.shape))
        object.__setattr__(self, "values", (a * m * k, b * n * k, d * m * n))

    def __hash__(self) -> int:
        return hash((self.interleave, self.loads, len(self.instructions)))  # of what is short, for plans remembered

    @property
    def layouts(self) -> tuple[tuple[str, str], ...]:
        """The pairs of layouts of A and B that there is an instruction for."""
        return PAIRS if self.loads else tuple(dict.fromkeys(i.layouts for i in self.instructions))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of elements of A and B, such as ("half", "bfloat16")."""
        return tuple(dict.fromkeys(i.kind for i in self.instructions))

    def of_kind(self, kind: str) -> Composition:
        """The macro-MMA for one kind of elements alone; itself where there is no other.

        Raises
        ------
        NoInstruction : there is no instruction for that kind.
        """
        if self.kinds == (kind,):
            return self
        if kind not in self.kinds:
            raise NoInstruction(
                f"{self.name} is made of {self.instructions[0].title}, which multiplies {' or '.join(self.kinds)}, "
                f"not {kind}",
                hint="a tensor's dtype, or another macro-MMA or target",
            )
        return replace(self, instructions=tuple(i for i in self.instructions if i.kind == kind))

    def of(
        self,
        a_layout: str = "row",
        b_layout: str = "col",
        interleave: Interleave | None = None,
        kind: str | None = None,
    ) -> MacroMma:
        """The macro-MMA for a pair of operand layouts, "row" or "col" each; by default with the preferred interleave.

        Parameters
        ----------
        kind : of the elements; by default that of the first instruction.

        Raises
        ------
        UnknownName : no layout is called so.
        NoInstruction : there is no instruction for the pair, or for that kind of elements.
        BadComposition : another interleave that doesn't fit.
        """
        for layout in (a_layout, b_layout):
            if layout not in LAYOUTS:
                raise UnknownName(f"no layout is called {layout!r}", hint=nearest(layout, LAYOUTS))
        for instruction in self.of_kind(kind or self.kinds[0]).instructions:
            if self.loads or instruction.layouts == (a_layout, b_layout):
                return compose(instruction, interleave or self.interleave, self.loads)
        pairs = " or ".join(".".join(pair) for pair in self.layouts)
        raise NoInstruction(
            f"{self.name} is made of {self.instructions[0].title}, which multiplies {pairs}, not {a_layout}.{b_layout}",
            hint="a tensor's layout, or another macro-MMA or target",
        )

    def orders(self, side: int) -> tuple[tuple[str, ...], ...]:
        """The ways to interleave rows (side 0) or columns (1): the preferred one, then others, least changes first.

        The lowest bits stay that are bits of a lane's own values in some layout: they are what one load brings. Where
        another instruction loads fragments, the first is the one, if any, with which a lane has eight values of the
        result in a row, so that they can be stored without an exchange.

        >>> from polyvolta.cuda.target.ampere import SM_80
        >>> SM_80.macro_mma("m16n32k16").orders(1)[:2]
        (('r0', 's0', 's1', 'r1', 'r2'), ('r0', 'r1', 'r2', 's0', 's1'))
        """
        bits = self.interleave.sides[side]
        if self.loads:
            kept = {f"r{b}" for b in _in_lane(self.instructions[0].d, side)}
            mine = tuple(b for b in bits if b[0] == "s" or b in kept)
            wide = (*mine, *(b for b in bits if b not in mine))
            others = permutations(bits)
            return tuple(dict.fromkeys((wide, *others) if 2 ** len(mine) >= RUN else others))
        own = {f"r{b}" for i in self.instructions for b in _in_lane(in_registers((i.a, i.b)[side]), side)}
        kept = next((n for n, bit in enumerate(bits) if bit not in own), len(bits))
        others = permutations(bits[kept:])  # in the order of `bits` first
        return tuple((*bits[:kept], *rest) for rest in others)

    def _facts(self) -> list[tuple[str, object]]:
        from polyvolta.cuda.shown.targets import composition_facts

        return composition_facts(self)

    def _html(self) -> str:
        from polyvolta.cuda.shown.targets import composition

        return composition(self)

    def _title(self) -> str:
        return self.name


def _in_lane(own: IndexMap, dimension: int) -> Iterator[int]:
    """The bits of an element's coordinate that a lane's own values differ in, of an operand of an instruction."""
    (lane, _), (value, count) = own.inputs
    first = own.evaluate({lane: 0, value: 0})[dimension]
    for b in range((count - 1).bit_length()):
        apart = own.evaluate({lane: 0, value: 2**b})[dimension] - first
        if apart > 0 and apart & (apart - 1) == 0:
            yield apart.bit_length() - 1


def _misfits(instructions: tuple[Instruction, ...], interleave: Interleave) -> Iterator[str]:
    """What of an interleave does not fit the instructions."""
    if not instructions:
        yield "a macro-MMA is made of an instruction, and there is none"
        return
    first, *others = instructions
    for i in instructions:
        if isinstance(i.a, InShared) or isinstance(i.b, InShared):
            yield f"{i.name} reads operands from shared memory, where no lane holds values to interleave"
            return
    common = lambda i: (i.shape, i.scope, i.types[2], i.values, i.d)  # noqa: E731
    for i in others:
        if common(i) != common(first):
            yield f"{i.name} and {first.name} differ in more than their operands' layouts and kind"
    if len({(i.layouts, i.kind) for i in instructions}) < len(instructions):
        yield f"two of the instructions {first.title} take the same layouts"
    sizes = {**dict(zip("mnk", first.shape)), "units": first.units}
    sizes.update(zip(("values of A", "values of B", "values of D"), first.values))
    for what, size in sizes.items():
        if size & (size - 1):
            yield f"{first.title} has {what} = {size}, no power of 2"
    units = first.units.bit_length() - 1
    wanted = [f"q{b}" for b in range(units)]
    if sorted(bit for bits in (interleave.rows, interleave.cols) for bit in bits if bit[0] == "q") != wanted:
        yield f"the bits of {first.units} units are {wanted or 'none'}, each in rows or columns once"
    for what, bits, size in zip(("rows", "cols", "ks"), interleave.sides, first.shape, strict=True):
        count = sum(bit[0] == "s" for bit in bits)
        own = sorted(bit for bit in bits if bit[0] != "q" or what == "ks")
        fit = sorted([f"r{b}" for b in range(size.bit_length() - 1)] + [f"s{b}" for b in range(count)])
        if own != fit:
            yield f"{what} {bits} are no order of the bits {fit}"


@lru_cache(maxsize=256)
def compose(instruction: Instruction, interleave: Interleave, loads: MatrixLoad | None = None) -> MacroMma:
    """The macro-MMA of an interleave: every unit multiplies its sub-tiles, step by step along k.

    A lane's values are numbered as they lie in memory, where it loads them itself; in the order of the instructions'
    registers where another instruction loads them.

    Raises
    ------
    BadComposition : the interleave doesn't fit.
    """
    for problem in _misfits((instruction,), interleave):
        raise BadComposition(problem, where=str(interleave))
    count_m, count_n, k_steps = interleave.subtiles
    inner, s, step = var("inner"), var("s"), var("step")
    (unit,) = instruction.unit.at(LANE)
    a_row, a_k = in_registers(instruction.a).at(LANE, inner)
    b_k, b_col = in_registers(instruction.b).at(LANE, inner)
    n_d = instruction.values[2]
    d_row, d_col = instruction.d.at(LANE, I % n_d)
    a = {"row": interleave.row(a_row, unit, s), "k": interleave.k(a_k, step)}
    b = {"k": interleave.k(b_k, step), "col": interleave.col(b_col, unit, s)}
    a_layout, b_layout = instruction.layouts
    n_a, n_b, _ = instruction.values
    a_run, b_run = "k" if a_layout == "row" else "row", "k" if b_layout == "col" else "col"
    a_map, a_at = _operand(a, None if loads else a_run, n_a, count_m, k_steps)
    b_map, b_at = _operand(b, None if loads else b_run, n_b, count_n, k_steps)
    d_map = owned(
        n_d * count_m * count_n,
        row=interleave.row(d_row, unit, I // (n_d * count_n)),
        col=interleave.col(d_col, unit, I // n_d % count_n),
    )
    steps = tuple(
        Step(a_at[mm, k], b_at[mn, k], tuple(range(n_d * (mm * count_n + mn), n_d * (mm * count_n + mn + 1))))
        for k in range(k_steps)
        for mm in range(count_m)
        for mn in range(count_n)
    )
    name = "m{}n{}k{}".format(*interleave.shape)
    return MacroMma(name, interleave.shape, instruction, a_map, b_map, d_map, steps, loads)


def _operand(
    place: Mapping[str, Aff], run: str | None, count: int, subtiles: int, k_steps: int
) -> tuple[IndexMap, dict[tuple[int, int], tuple[int, ...]]]:
    """An operand's ownership map, and the values that each (sub-tile, k step) multiplies.

    `place` is the element in terms of the lane, which of the instruction's `count` values `inner` is, the sub-tile `s`
    and the step `step`. The bits of these three are the bits of a value's number, in the order of the places that they
    lead to, along dimension `run` first; without it in the order in which they stand here.
    """
    parts = {"inner": count, "s": subtiles, "step": k_steps}
    where = IndexMap((("lane", LANES), *parts.items()), tuple(place.items()))
    origin = {"lane": 0, **dict.fromkeys(parts, 0)}
    bits = [(n, k) for n, size in parts.items() for k in range((size - 1).bit_length())]

    def distance(bit: tuple[str, int]) -> tuple[int, int]:
        """How far a bit leads across lines, then along them."""
        there = where.evaluate({**origin, bit[0]: 2 ** bit[1]})
        apart = {d: x - x0 for d, x, x0 in zip(place, there, where.evaluate(origin))}
        return sum(x for d, x in apart.items() if d != run), apart[run or ""]

    number = {bit: at for at, bit in enumerate(sorted(bits, key=distance) if run else bits)}
    values = {n: _placed_bits([number[n, k] for k in range((c - 1).bit_length())]) for n, c in parts.items()}
    ranges = {"lane": (0, LANES - 1), "i": (0, 2 ** len(bits) - 1)}
    own = owned(2 ** len(bits), **{d: simplify(e, ranges, values) for d, e in place.items()})
    part_of = IndexMap((("i", 2 ** len(bits)),), tuple(values.items()))
    held: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i in range(2 ** len(bits)):
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
