"""Tensor-core instructions as data: who makes a product together, its shape, its types, and who holds what, or where.

`mma.sync.m8n8k4` multiplies 8x4 by 4x8 in each of a warp's four quad-pairs: lanes 4q..4q+3 and 16+4q..16+4q+3 are
quad-pair q. `mma.sync.m16n8k16` is one product of all 32 lanes. A `Scope` says which it is: { [lane] -> [unit] } gives
each lane the product that it takes part in, and there are `units` of them side by side. Within its unit, a lane's
values are elements of A, B and D by the maps a, b and d. All else follows from these: the PTX name, the registers
of its operands, its operations, what disassemblers call it.

`wgmma` is a product of the 128 threads of a warpgroup: its maps have a thread where those of a warp have a lane, and
each of its four warps has the same share of it, some rows further (`of_warp`). It reads B, and A as well if asked, from
shared memory; such an operand has no map but a place, `InShared`, and descriptors say where.

Source: PTX ISA, "Matrix Fragments for mma.m8n8k4" and its neighbours, "Register Fragments and Shared Memory Matrix
Layouts" of wgmma.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from polyvolta.cuda.target.boxes import LANES as LANES
from polyvolta.cuda.target.checks import COUNT, SIZES, BadTarget, Rule, each, function, known_names, of, settle
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.display.shown import Brief, Record
from polyvolta.sets import Aff, aff, var

WARPS = 4  # of a warpgroup
LAYOUTS = ("row", "col")
LANE, THREAD, I = var("lane"), var("thread"), var("i")
KINDS = {"f16": "half", "bf16": "bfloat16", "f32": "float"}
"""Element types of PTX -> what registers of the kernel IR call them."""


_SCOPE_RULES = {
    "name": of(str, "name of a group of lanes", "'quad-pair'"),
    "unit": of(IndexMap, "map { [lane] -> [unit] }", "IndexMap((('lane', 32),), (('unit', lane // 4),))"),
    "threads": COUNT,
}


def _counted(threads: int) -> str:
    """What numbers the threads that a scope is cut from."""
    return "lane" if threads == LANES else "thread"


@dataclass(frozen=True, slots=True)
class Scope(Record):
    """Which lanes make a product together.

    Parameters
    ----------
    name : of such a group of lanes, for texts.
    unit : { [lane] -> [unit] }, the group that each lane of a warp is in; of more threads { [thread] -> [unit] }.
    threads : that it is cut from, those of a warp or of several.

    Raises
    ------
    BadTarget : another kind of map, or groups that are not numbered from 0.

    >>> QUAD_PAIR.units, QUAD_PAIR.lanes(1)
    (4, (4, 5, 6, 7, 20, 21, 22, 23))
    """

    name: str
    unit: IndexMap
    threads: int = LANES

    def __post_init__(self) -> None:
        settle(self, _SCOPE_RULES, BadTarget)
        what = f"the map of {self.name}s"
        object.__setattr__(self, "unit", function(self.unit, ((self.index, self.threads),), ("unit",), what))
        met = {self.of(lane) for lane in range(self.threads)}
        if met != set(range(len(met))):
            raise BadTarget(f"{self.name}s are numbered {', '.join(map(str, sorted(met)))}", where=str(self.unit),
                            hint="number them from 0 on")  # fmt: skip

    @property
    def index(self) -> str:
        """What numbers its threads in maps: "lane" of a warp, "thread" of several."""
        return _counted(self.threads)

    @property
    def units(self) -> int:
        """How many groups a warp has; each makes a product of its own."""
        return _units(self)

    def of(self, lane: int) -> int:
        """The unit of a lane."""
        return int(self.unit.evaluate({self.unit.inputs[0][0]: lane})[0])

    def lanes(self, unit: int) -> tuple[int, ...]:
        """The lanes of a unit."""
        return tuple(lane for lane in range(self.threads) if self.of(lane) == unit)


@lru_cache(maxsize=64)
def _units(scope: Scope) -> int:
    return 1 + max(scope.of(lane) for lane in range(scope.threads))


WARP = Scope("warp", IndexMap((("lane", LANES),), (("unit", aff(0)),)))
QUAD_PAIR = Scope("quad-pair", IndexMap((("lane", LANES),), (("unit", LANE % 16 // 4),)))
WARPGROUP = Scope("warpgroup", IndexMap((("thread", WARPS * LANES),), (("unit", aff(0)),)), WARPS * LANES)


def owned(values: int, threads: int = LANES, /, **outputs: Aff | int) -> IndexMap:
    """An ownership map { [lane, i] -> [...] } of so many values a lane, its outputs in order.

    Of the threads of several warps it is { [thread, i] -> [...] }.

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
    exprs, index = {name: aff(e) for name, e in outputs.items()}, _counted(threads)
    known_names(exprs.values(), (index, "i"), "an ownership map")
    return IndexMap(((index, threads), ("i", values)), tuple(exprs.items())).simplified()


_PLACES = {"a": ("row", "k"), "b": ("k", "col"), "d": ("row", "col")}
_MAJORS = {"a": {"row": "k", "col": "mn"}, "b": {"row": "mn", "col": "k"}}
"""What lies side by side of an operand in a layout, as descriptors call it."""


def _held(operand: str, outputs: tuple[str, ...]) -> Rule:
    """An ownership map, or, of what is no result, a place in shared memory."""
    names = ", ".join(f"{name}=..." for name in outputs)
    kinds, more = ((IndexMap,), "") if operand == "d" else ((IndexMap, InShared), ", or InShared")
    words = f"ownership map {{ [lane, i] -> [{', '.join(outputs)}] }}{more}"
    return Rule(words, f"owned(values, {names})", lambda value: isinstance(value, kinds))


_RULES = {
    "shape": SIZES,
    "layouts": each("two layouts of A and B", "('row', 'col')", lambda value: value in LAYOUTS, 2),
    **{operand: _held(operand, outputs) for operand, outputs in _PLACES.items()},
    "scope": of(Scope, "scope", "WARP, or QUAD_PAIR, or a Scope of your own"),
    "types": each("three element types of A, B and D", "('f16', 'f16', 'f32')", lambda v: isinstance(v, str), 3),
    "slots": COUNT,
    "volatile": Rule("True or False", "False", lambda value: isinstance(value, bool)),
}  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Instruction(Brief):
    """A multiply-accumulate instruction, `mma.sync` of a warp or `wgmma` of a warpgroup, for a pair of operand layouts.

    Parameters
    ----------
    shape : (m, n, k) of one unit's product.
    layouts : of A and B, "row" or "col" each.
    a, b, d : { [lane, i] -> [row, k] }, { [lane, i] -> [k, col] }, { [lane, i] -> [row, col] }: which element of its
        unit's matrices each value of a lane is. Outputs are told apart by their names, and may be given in any order.
        Values 2r and 2r + 1 of a 16-bit operand share register r. Of a warpgroup they are { [thread, i] -> ... }; A and
        B may be `InShared` instead, K-major or not as their layout says.
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
    a: IndexMap | InShared
    b: IndexMap | InShared
    d: IndexMap
    scope: Scope = WARP
    types: tuple[str, str, str] = ("f16", "f16", "f32")
    slots: int = 1
    volatile: bool = False

    def __post_init__(self) -> None:
        settle(self, _RULES, BadTarget)
        for operand, outputs in _PLACES.items():
            held, inputs = getattr(self, operand), ((self.scope.index, self.scope.threads), ("i", None))
            if isinstance(held, InShared):
                self._lies(operand, held)
            else:
                object.__setattr__(self, operand, function(held, inputs, outputs, f"the map of {operand}"))

    def _lies(self, operand: str, held: InShared) -> None:
        """Refuse an operand in shared memory that lies otherwise than its layout says."""
        layout = self.layouts["ab".index(operand)]
        if held.major != _MAJORS[operand][layout]:
            raise BadTarget(f"{operand} in layout {layout} is {_MAJORS[operand][layout]}-major, not {held.major}-major",
                            hint=f"InShared({_MAJORS[operand][layout]!r})")  # fmt: skip

    @property
    def family(self) -> str:
        """The shape as PTX writes it: what instructions for several layouts have in common."""
        return "m{}n{}k{}".format(*self.shape)

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{'wgmma' if self.asynchronous else 'mma'}.{self.family}"

    @property
    def asynchronous(self) -> bool:
        """Whether it runs on beside the threads that issued it: what reads operands from shared memory does."""
        return isinstance(self.b, InShared)

    @property
    def name(self) -> str:
        """The PTX instruction; the layouts of `wgmma` are immediates, see `InShared.transposed`."""
        a, b, d = self.types
        if self.asynchronous:
            return ".".join(("wgmma.mma_async.sync.aligned", self.family, d, a, b))
        return ".".join(("mma.sync.aligned", self.family, *self.layouts, d, a, b, d))

    @property
    def opcode(self) -> str:
        """What disassemblers call the machine instructions that it becomes."""
        made, between = ("HGMMA", "x") if self.asynchronous else ("HMMA", "")
        shape, kind = between.join(map(str, self.shape)), ".BF16" if self.types[0] == "bf16" else ""
        return f"{made}.{shape}.{self.types[2].upper()}{kind}"

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
        """How many values of A, B and D a lane has; none of what is in shared memory."""
        return held_values(self.a, self.b, self.d)

    def of_warp(self, operand: str) -> IndexMap:
        """{ [lane, i] -> [...] }: what the lanes of the first warp hold of "a", "b" or "d".

        Of a warpgroup the others hold the same, each `warp_rows` further down: of A and D, which it has in registers.

        Raises
        ------
        BadTarget : the operand is in shared memory, or warps hold something else.
        """
        own = getattr(self, operand)
        if isinstance(own, InShared):
            raise BadTarget(f"no lane holds values of {operand} of {self.title}", hint="a descriptor says where it is")
        return own if self.scope.threads == LANES else _of_warp(own, self.warp_rows)

    @property
    def warp_rows(self) -> int:
        """The rows of a warp, if each has an equal share of them."""
        return self.shape[0] // (self.scope.threads // LANES)

    @property
    def flops(self) -> int:
        """Operations of a warp's instruction, a multiply-add being two."""
        m, n, k = self.shape
        return 2 * m * n * k * self.units

    def _facts(self) -> list[tuple[str, object]]:
        from polyvolta.cuda.shown.targets import instruction_facts

        return instruction_facts(self)

    def _title(self) -> str:
        return self.name


def held_values(a: IndexMap | InShared, b: IndexMap | InShared, d: IndexMap) -> tuple[int, int, int]:
    """How many values of each operand a lane has in registers."""
    first, second = (0 if isinstance(x, InShared) else x.inputs[1][1] for x in (a, b))
    return first, second, d.inputs[1][1]


@lru_cache(maxsize=256)
def _of_warp(own: IndexMap, rows: int) -> IndexMap:
    """The share of the first warp; the relation of all threads is that share, some rows further for each warp."""
    ((_, threads), inner), warp = own.inputs, var("warp")
    mine = IndexMap((("lane", LANES), inner), tuple(zip(dict(own.outputs), own.at(LANE, I), strict=True))).simplified()
    every = (("warp", threads // LANES), *mine.inputs)
    all_of_them = own.at(LANES * warp + LANE, I)
    apart = [e + rows * warp * (name == "row") for name, e in mine.outputs]
    given, wanted = (IndexMap(every, tuple(zip(dict(own.outputs), e, strict=True))) for e in (all_of_them, apart))
    if "row" not in dict(own.outputs) or not given.relation.is_equal(wanted.relation):
        raise BadTarget(f"the warps of a warpgroup don't hold the same, {rows} rows apart", where=str(own))
    return mine
