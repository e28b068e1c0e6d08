"""`wgmma`: the products of a warpgroup, one family of instructions m64nNk16 with N = 8, 16, ..., 256.

The 128 threads of four warps multiply 64 x 16 by 16 x N values and add the product to an accumulator in their
registers. B comes from shared memory by a descriptor, K-major or N-major; A likewise, or from registers, where each
warp holds the fragment of `mma.m16n8k16` of its 16 rows. For any N the accumulator's map is one formula, so a family is
data for all of them: `of` gives the product for one N, as a macro-MMA of one instruction that passes and texts treat
like any other.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operation using wgmma.mma_async".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from polyvolta.cuda.target.boxes import SWIZZLES, Swizzle
from polyvolta.cuda.target.checks import COUNT, SIZES, BadTarget, Rule, each, of, settle, whole
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import KINDS, LANES, LAYOUTS, THREAD, WARPGROUP, I, Instruction, owned
from polyvolta.cuda.target.macro_mma import PAIRS, MacroMma, NoInstruction, Step
from polyvolta.display.shown import Brief, Record
from polyvolta.sets import UnknownName, nearest

ROWS, DEPTH = 64, 16
SHARED, REGISTERS = "shared", "registers"
_THREADS = WARPGROUP.threads
_WARP, _GROUP, _PAIR, _LOWER = THREAD // LANES, THREAD % LANES // 4, 2 * (THREAD % 4), I // 2 % 2
A_FRAGMENT = owned(8, _THREADS, row=16 * _WARP + _GROUP + 8 * _LOWER, k=8 * (I // 4) + _PAIR + I % 2)
"""{ [thread, i] -> [row, k] }: A in registers."""


def accumulator(columns: int) -> IndexMap:
    """{ [thread, i] -> [row, col] } of a product of so many columns.

    >>> print(*accumulator(16).exprs, sep="; ")
    floor(thread/4) + 8*floor(thread/32) + 8*(floor(i/2) mod 2); 8*floor(i/4) + (i mod 2) + 2*(thread mod 4)
    """
    return owned(columns // 2, _THREADS, row=16 * _WARP + _GROUP + 8 * _LOWER, col=8 * (I // 4) + _PAIR + I % 2)


@lru_cache(maxsize=2048)
def wgmma(
    columns: int,
    kind: str = "f16",
    layouts: tuple[str, str] = ("row", "col"),
    a: str = SHARED,
    swizzles: tuple[Swizzle, ...] = SWIZZLES,
) -> Instruction:
    """`wgmma.mma_async.sync.aligned.m64nNk16` of "f16" or "bf16" with fp32 accumulation.

    Parameters
    ----------
    columns : N.
    layouts : of A and B, which say whether they are K-major in shared memory.
    a : where A is, "shared" or "registers".

    >>> made = wgmma(96, "bf16", ("col", "col"))
    >>> print(made.name, made.a.transposed, made.b.transposed, made.values, made.opcode)
    wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 1 0 (0, 0, 48) HGMMA.64x96x16.F32.BF16
    """
    (a_layout, b_layout), majors = layouts, ("k", "mn")
    held = InShared(majors[a_layout == "col"], swizzles) if a == SHARED else A_FRAGMENT
    b = InShared(majors[b_layout == "row"], swizzles)
    shape = ROWS, columns, DEPTH
    return Instruction(shape, layouts, held, b, accumulator(columns), WARPGROUP, (kind, kind, "f32"), volatile=True)


@dataclass(frozen=True, slots=True, repr=False)
class WarpgroupMma(Brief):
    """The product of a warpgroup for one N, for every pair of layouts and kind of elements; `of` makes macro-MMAs.

    It has the attributes of a `Composition` that passes ask for: name, shape, values, layouts, kinds, of_kind, of.
    """

    instructions: tuple[Instruction, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.instructions[0].shape

    @property
    def name(self) -> str:
        return self.instructions[0].family

    @property
    def values(self) -> tuple[int, int, int]:
        """How many values of A, B and D each thread holds."""
        return self.instructions[0].values

    @property
    def from_registers(self) -> WarpgroupMma:
        """The same with A in registers.

        >>> WGMMA.of(64).from_registers == WGMMA.of(64, REGISTERS)
        True
        """
        return replace(self, instructions=tuple(replace(i, a=A_FRAGMENT) for i in self.instructions))

    @property
    def layouts(self) -> tuple[tuple[str, str], ...]:
        return tuple(dict.fromkeys(i.layouts for i in self.instructions))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(i.kind for i in self.instructions))

    def of_kind(self, kind: str) -> WarpgroupMma:
        """For one kind of elements alone.

        Raises
        ------
        NoInstruction : there is none.
        """
        if kind not in self.kinds:
            raise NoInstruction(f"{self.name} multiplies {' or '.join(self.kinds)}, not {kind}",
                                hint="a tensor's dtype, or another target")  # fmt: skip
        return replace(self, instructions=tuple(i for i in self.instructions if i.kind == kind))

    def of(self, a_layout: str = "row", b_layout: str = "col", kind: str | None = None) -> MacroMma:
        """The macro-MMA for a pair of layouts: one instruction. Its maps are of a warpgroup's threads.

        Raises
        ------
        UnknownName : no layout is called so.
        NoInstruction : there is no instruction for the pair or kind.
        """
        for layout in (a_layout, b_layout):
            if layout not in LAYOUTS:
                raise UnknownName(f"no layout is called {layout!r}", hint=nearest(layout, LAYOUTS))
        for made in self.of_kind(kind or self.kinds[0]).instructions:
            if made.layouts == (a_layout, b_layout):
                a, b, d = (tuple(range(n)) for n in made.values)
                return MacroMma(self.name, self.shape, made, made.a, made.b, made.d, (Step(a, b, d),))
        raise NoInstruction(f"{self.name} multiplies no {a_layout}.{b_layout}", hint="a tensor's layout")

    def _facts(self) -> list[tuple[str, object]]:
        from polyvolta.cuda.shown.targets import composition_facts

        return composition_facts(self)

    def _html(self) -> str:
        from polyvolta.cuda.shown.targets import composition

        return composition(self)

    def _title(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Spare(Record):
    """Registers that the compiler needs beside accumulators, so that it spills none.

    Measured with ptxas 12.9, beside 128 accumulators and with 168 registers a thread in all: A @ B takes 154 of them;
    with a vector, or a matrix that lies as the result does, in sums, products and relu it takes all 168 and spills
    none. It lacks 3 to 5 for two results that are computed from a vector, for a scalar beside a matrix, for a matrix
    where both are column-major; 2 to 18 for two matrices, or one that lies across; 14 for gelu, 25 for exp beside a
    vector; one for a matrix, of clusters whose blocks compute tile after tile. What lacks any goes to tiles with half
    the accumulators, so that how much it lacks is not the point.

    Parameters
    ----------
    always : in any kernel.
    function : for each of an epilogue's formula from the fifth on.
    special : for each of them that is more than an instruction.
    across : for each matrix that lies across the result.
    operand : for each operand of the epilogue from the second on.
    matrix, vector : if there is one among them.
    turned : for matrices where the result is column-major, too.
    scalar : for each.
    result : for each that is computed, from the second on.
    beside : for each function of a formula from the third on, beside a matrix.
    lasting : for each output from the second on, of blocks that compute tile after tile.
    together : of such blocks, if they form clusters.
    tall : for each of the macro-MMA's rows of tiles from the second on, beside a matrix.
    in_turn : of warpgroups that take turns, beside a matrix; without them 64x208 spills, beside 104 accumulators.
    """

    always: int = 36
    function: int = 4
    special: int = 3
    across: int = 9
    operand: int = 8
    matrix: int = 4
    vector: int = 2
    turned: int = 5
    scalar: int = 1
    result: int = 3
    beside: int = 1
    lasting: int = 8
    together: int = 1
    tall: int = 9
    in_turn: int = 32

    def __post_init__(self) -> None:
        settle(self, dict.fromkeys(self.__slots__, Rule("int that is not negative", "4", whole(0))), BadTarget)


_RULES = {
    "columns": each("tuple of multiples of 8", "tuple(range(8, 257, 8))",
                    lambda n: isinstance(n, int) and n > 0 and n % 8 == 0),
    "types": each("tuple of element types of PTX", "('f16', 'bf16')", lambda kind: kind in KINDS),
    "swizzles": each("tuple of swizzles", "(Swizzle(128),)", lambda s: isinstance(s, Swizzle)),
    "block_tile": SIZES,
    "buffers": COUNT,
    "spare": of(Spare, "Spare", "Spare(always=36)"),
    **dict.fromkeys(("producer", "least", "accumulators"), COUNT),
    "title": Rule("name", "'m64nNk16'", lambda s: isinstance(s, str)),
    "prologues": Rule("bool", "True", lambda v: isinstance(v, bool)),
}  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Family(Brief):
    """The products of a warpgroup for all N.

    Parameters
    ----------
    columns : every N.
    types : of elements, as PTX writes them.
    swizzles : of operands in shared memory.
    title : what people call it.
    block_tile : the default: what one multiprocessor computes from few loads.
    buffers : most buffers of shared memory that an operand has by default.
    spare : registers that the compiler needs beside accumulators, so that it spills none.
    producer : registers of a thread that has boxes brought, where a block's are shared out: the fewest that there can
        be, with which none is spilled.
    least : registers beside accumulators of one product with which ptxas takes it, of those that all threads have when
        a block starts: 64x208 is refused with 128, and told to need 130.
    prologues : whether operands may be computed on the way.
    accumulators : most arrays that products of a kernel add to.

    >>> WGMMA.of(128).values, WGMMA.named("m64n200k16").shape, WGMMA.named("m64n4k16")
    ((0, 0, 64), (64, 200, 16), None)
    """

    columns: tuple[int, ...] = tuple(range(8, 257, 8))
    types: tuple[str, ...] = ("f16", "bf16")
    swizzles: tuple[Swizzle, ...] = SWIZZLES
    title: str = "m64nNk16"
    block_tile: tuple[int, int, int] = (128, 256, 64)
    buffers: int = 6
    spare: Spare = Spare()
    producer: int = 24
    least: int = 26
    prologues: bool = True
    accumulators: int = 3

    def __post_init__(self) -> None:
        settle(self, _RULES, BadTarget)

    def __hash__(self) -> int:
        return hash((self.title, self.types, self.buffers))  # of what is short, for products remembered

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of elements, as registers of the kernel IR have them."""
        return tuple(KINDS[t] for t in self.types)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all its products, the narrowest first."""
        return tuple(_by_name(self.columns))

    def of(self, columns: int, a: str = SHARED) -> WarpgroupMma:
        """The product of so many columns; A in "shared" memory or in "registers".

        Raises
        ------
        NoInstruction : there is none; says the nearest.
        """
        if columns not in self.columns or a not in (SHARED, REGISTERS):
            near = min(self.columns, key=lambda n: abs(n - columns))
            raise NoInstruction(f"{self.title} has no N = {columns!r} with A in {a}",
                                hint=f"N = {near}, A in {SHARED} or {REGISTERS}")  # fmt: skip
        return _member(self, columns, a)

    def named(self, name: str) -> WarpgroupMma | None:
        """The product of that name, A in shared memory; None if there is none."""
        columns = _by_name(self.columns).get(name)
        return None if columns is None else self.of(columns)

    def of_kind(self, kind: str) -> Family:
        """For one kind of elements alone."""
        return replace(self, types=tuple(t for t in self.types if KINDS[t] == kind))

    def __iter__(self) -> Iterator[WarpgroupMma]:
        return (self.of(n) for n in self.columns)

    def _facts(self) -> list[tuple[str, object]]:
        columns = f"{self.columns[0]} to {self.columns[-1]}"
        rest = [(n, getattr(self, n)) for n in self.__dataclass_fields__ if n not in ("columns", "title")]
        return [("columns (N)", columns), *rest]

    def _title(self) -> str:
        return self.title


@lru_cache(maxsize=64)
def _by_name(columns: tuple[int, ...]) -> dict[str, int]:
    """The numbers of columns by the names of their products."""
    return {f"m{ROWS}n{n}k{DEPTH}": n for n in columns}


@lru_cache(maxsize=1024)
def _member(family: Family, columns: int, a: str) -> WarpgroupMma:
    pairs = product(family.types, PAIRS)
    return WarpgroupMma(tuple(wgmma(columns, kind, pair, a, family.swizzles) for kind, pair in pairs))


WGMMA = Family()
