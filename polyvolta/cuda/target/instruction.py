"""Tensor-core instructions as data: who makes a product together, its shape, its types, and which lane holds what.

`mma.sync.m8n8k4` multiplies 8x4 by 4x8 in each of a warp's four quad-pairs: lanes 4q..4q+3 and 16+4q..16+4q+3 are
quad-pair q. `mma.sync.m16n8k16` is one product of all 32 lanes. A `Scope` says which it is: { [lane] -> [unit] } gives
each lane the product that it takes part in, and there are `units` of them side by side. Within its unit, a lane's
values are elements of A, B and D by the maps a, b and d. All else follows from these: the PTX name, the registers
of its operands, its operations, what disassemblers call it.

Source: PTX ISA, "Matrix Fragments for mma.m8n8k4" and its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from polyvolta.cuda.target.checks import COUNT, SIZES, BadTarget, Rule, each, function, known_names, of, settle
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff, aff, var

LANES = 32  # of a warp
LAYOUTS = ("row", "col")
LANE, I = var("lane"), var("i")
KINDS = {"f16": "half", "bf16": "bfloat16", "f32": "float"}
"""Element types of PTX -> what registers of the kernel IR call them."""


_SCOPE_RULES = {
    "name": of(str, "name of a group of lanes", "'quad-pair'"),
    "unit": of(IndexMap, "map { [lane] -> [unit] }", "IndexMap((('lane', 32),), (('unit', lane // 4),))"),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which lanes make a product together.

    Parameters
    ----------
    name : of such a group of lanes, for texts.
    unit : { [lane] -> [unit] }, the group that each lane of a warp is in.

    Raises
    ------
    BadTarget : another kind of map, or groups that are not numbered from 0.

    >>> QUAD_PAIR.units, QUAD_PAIR.lanes(1)
    (4, (4, 5, 6, 7, 20, 21, 22, 23))
    """

    name: str
    unit: IndexMap

    def __post_init__(self) -> None:
        settle(self, _SCOPE_RULES, BadTarget)
        what = f"the map of {self.name}s"
        object.__setattr__(self, "unit", function(self.unit, (("lane", LANES),), ("unit",), what))
        met = {self.of(lane) for lane in range(LANES)}
        if met != set(range(len(met))):
            raise BadTarget(f"{self.name}s are numbered {', '.join(map(str, sorted(met)))}", where=str(self.unit),
                            hint="number them from 0 on")  # fmt: skip

    @property
    def units(self) -> int:
        """How many groups a warp has; each makes a product of its own."""
        return _units(self)

    def of(self, lane: int) -> int:
        """The unit of a lane."""
        return int(self.unit.evaluate({self.unit.inputs[0][0]: lane})[0])

    def lanes(self, unit: int) -> tuple[int, ...]:
        """The lanes of a unit."""
        return tuple(lane for lane in range(LANES) if self.of(lane) == unit)


@lru_cache(maxsize=64)
def _units(scope: Scope) -> int:
    return 1 + max(scope.of(lane) for lane in range(LANES))


WARP = Scope("warp", IndexMap((("lane", LANES),), (("unit", aff(0)),)))
QUAD_PAIR = Scope("quad-pair", IndexMap((("lane", LANES),), (("unit", LANE % 16 // 4),)))


def owned(values: int, **outputs: Aff | int) -> IndexMap:
    """An ownership map { [lane, i] -> [...] } of so many values a lane, its outputs in order.

    Raises
    ------
    BadTarget : the number of values is no positive int, there is no output, or one depends on something else.

    >>> print(owned(2, row=LANE // 4, col=2 * (LANE % 4) + I))
    { [lane, i] -> [row = floor(lane/4), col = i + 2*(lane mod 4)] : 0 <= lane < 32 and 0 <= i < 2 }
    """
    if not COUNT.fits(values):
        raise BadTarget(f"a lane has {values!r} values, which is no positive int", hint="owned(4, row=..., k=...)")
    if not outputs:
        raise BadTarget("an ownership map without outputs leads nowhere", hint=f"owned({values}, row=..., k=...)")
    exprs = {name: aff(e) for name, e in outputs.items()}
    known_names(exprs.values(), ("lane", "i"), "an ownership map")
    return IndexMap((("lane", LANES), ("i", values)), tuple(exprs.items())).simplified()


_PLACES = {"a": ("row", "k"), "b": ("k", "col"), "d": ("row", "col")}


_RULES = {
    "shape": SIZES,
    "layouts": each("two layouts of A and B", "('row', 'col')", lambda value: value in LAYOUTS, 2),
    **{
        operand: of(IndexMap, f"ownership map {{ [lane, i] -> [{', '.join(outputs)}] }}",
                    f"owned(values, {', '.join(f'{name}=...' for name in outputs)})")
        for operand, outputs in _PLACES.items()
    },
    "scope": of(Scope, "scope", "WARP, or QUAD_PAIR, or a Scope of your own"),
    "types": each("three element types of A, B and D", "('f16', 'f16', 'f32')", lambda v: isinstance(v, str), 3),
    "slots": COUNT,
    "volatile": Rule("True or False", "False", lambda value: isinstance(value, bool)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instruction:
    """A multiply-accumulate instruction of a warp, `mma.sync`, for one pair of operand layouts.

    Parameters
    ----------
    shape : (m, n, k) of one unit's product.
    layouts : of A and B, "row" or "col" each.
    a, b, d : { [lane, i] -> [row, k] }, { [lane, i] -> [k, col] }, { [lane, i] -> [row, col] }: which element of its
        unit's matrices each value of a lane is. Outputs are told apart by their names, and may be given in any order.
        Values 2r and 2r + 1 of a 16-bit operand share register r.
    scope : whose product it is.
    types : of the elements of A, B and D (and so of C), as PTX writes them.
    slots : issue slots that one takes; m8n8k4 is four machine instructions.
    volatile : whether compilers leave it where it stands among loads and barriers. Its results are values and nothing
        else, so that none need; ptxas schedules those of sm_70 best where they stand.

    Raises
    ------
    BadTarget : a field is something else, or a map leads from or to other indices.

    >>> from polyvolta.cuda.target.volta import M8N8K4
    >>> print(M8N8K4[0].name, M8N8K4[0].units, M8N8K4[0].flops)
    mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 4 2048
    """

    shape: tuple[int, int, int]
    layouts: tuple[str, str]
    a: IndexMap
    b: IndexMap
    d: IndexMap
    scope: Scope = WARP
    types: tuple[str, str, str] = ("f16", "f16", "f32")
    slots: int = 1
    volatile: bool = False

    def __post_init__(self) -> None:
        settle(self, _RULES, BadTarget)
        for operand, outputs in _PLACES.items():
            own = function(getattr(self, operand), (("lane", LANES), ("i", None)), outputs, f"the map of {operand}")
            object.__setattr__(self, operand, own)

    @property
    def family(self) -> str:
        """The shape as PTX writes it: what instructions for several layouts have in common."""
        return "m{}n{}k{}".format(*self.shape)

    @property
    def title(self) -> str:
        """What people call it."""
        return f"mma.{self.family}"

    @property
    def name(self) -> str:
        """The PTX instruction."""
        a, b, d = self.types
        return ".".join(("mma.sync.aligned", self.family, *self.layouts, d, a, b, d))

    @property
    def opcode(self) -> str:
        """What disassemblers call the machine instructions that it becomes."""
        shape, kind = "".join(map(str, self.shape)), ".BF16" if self.types[0] == "bf16" else ""
        return f"HMMA.{shape}.{self.types[2].upper()}{kind}"

    @property
    def kind(self) -> str:
        """Of the elements of A and B, as registers of the kernel IR have them."""
        return KINDS.get(self.types[0], self.types[0])

    @property
    def unit(self) -> IndexMap:
        """{ [lane] -> [unit] }: which of the products side by side a lane takes part in."""
        return self.scope.unit

    @property
    def units(self) -> int:
        """How many products are made side by side."""
        return self.scope.units

    @property
    def values(self) -> tuple[int, int, int]:
        """How many values of A, B and D a lane has."""
        return self.a.inputs[1][1], self.b.inputs[1][1], self.d.inputs[1][1]

    @property
    def flops(self) -> int:
        """Operations of a warp's instruction, a multiply-add being two."""
        m, n, k = self.shape
        return 2 * m * n * k * self.units
