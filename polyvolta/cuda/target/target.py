"""Targets: what a GPU architecture allows, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from polyvolta.cuda.errors import UnknownTarget
from polyvolta.cuda.target.checks import COUNT, SIZES, BadTarget, each, every, of, settle, spelled, whole
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import KINDS, Instruction
from polyvolta.cuda.target.macro_mma import Composition
from polyvolta.cuda.target.warpgroup import Family, WarpgroupMma
from polyvolta.display.shown import Brief
from polyvolta.sets import nearest

_RULES = {
    "name": spelled("name that the compiler has for an architecture", "'sm_80'", r"sm_[0-9]{2,3}[af]?"),
    **dict.fromkeys(("threads", "registers", "block_registers", "shared_bytes"), COUNT),
    "grid": SIZES,
    "macro_mmas": every(Composition, "(macro,)"),
    "multiprocessors": COUNT,
    "block_tile": SIZES,
    "warp_side": COUNT,
    "spare": each("three ints that are not negative", "(60, 8, 3)", whole(0), 3),
    "spare_formulas": each("three ints that are not negative", "(14, 4, 9)", whole(0), 3),
    "spare_copies": each("two ints that are not negative", "(16, 2)", whole(0), 2),
    "copies": each("tuple of widths in bytes", "(16, 8, 4)", COUNT.fits),
    **dict.fromkeys(("buffers", "fragments", "group"), COUNT),
    "families": every(Family, "(WGMMA,)"),
    "cluster": COUNT,
    "dependent_launch": of(bool, "True or False", "True"),
}


@dataclass(frozen=True, slots=True, repr=False)
class Target(Brief):
    """An architecture.

    Parameters
    ----------
    name : for the compiler, e.g. "sm_70".
    threads : most threads of a block.
    registers : most 32-bit registers of a thread.
    block_registers : registers that a block's threads share.
    shared_bytes : most shared memory of a block.
    grid : most blocks along x, y and z.
    macro_mmas : what its instructions make; the first one is the default.
    multiprocessors : of a GPU; a grid of fewer blocks leaves some without work.
    block_tile : the default: what one multiprocessor computes from few loads.
    warp_side : most rows and columns of a warp's default tile.
    spare : registers that the compiler needs beside those of values, so that it spills none: for a kernel of one
        product, how many more for each further product, and for how many of these at most. Measured with ptxas 12.9 on
        sm_70: a product with 192 registers of values takes 238 to 252, and with 208 it spills; of two in one
        accumulator 184 pass and 192 spill, as what the second loop loads from is at hand during the first. More than
        four need no more than four. On sm_80, whose copies take no registers, a product with 192 takes 250; with a
        prologue's copies on their way 208 pass in 245 to 254, and 224 spill.
    spare_formulas : registers more for each tensor that a prologue reads, and for each function of an epilogue's
        formula from the fifth on, and for each matrix that the epilogue reaches across its lines, value by value:
        with 192 registers of values and one such matrix sm_80 lacks 2 to 4.
    spare_copies : how many asynchronous copies a thread makes for a k tile without more registers than `spare`, and how
        many each further one takes, for addresses and for what a guard says. On sm_80 a sum of two, in 192 registers of
        values, spills none with 16 copies, and with 32 it lacks 28 to 31.
    copies : bytes that one asynchronous copy from global to shared memory can move, the widest first; () where there
        are none, and copies go through registers.
    buffers : the default for how many buffers of shared memory an operand has.
    fragments : likewise for how many registers of fragments; two let those of the next strip be loaded ahead.
    group : likewise for how many rows of blocks are computed together, for the second-level cache's sake.
    families : products of a warpgroup, each for many widths.
        Their operands come by boxes of tensors, which it copies by itself (TMA) and counts the bytes of with barriers.
    cluster : most blocks of a cluster, which share one another's memory; 1 where there are none.
    dependent_launch : whether a kernel may be launched while the one before it on the stream still runs, and waits for
        that one's end itself (programmatic dependent launch).

    Raises
    ------
    BadTarget : a field is something else.

    >>> import polyvolta as pv
    >>> target = pv.targets["sm_80"]
    >>> target.name, target.shared_bytes, target.registers
    ('sm_80', 166912, 255)
    """

    name: str
    threads: int
    registers: int
    block_registers: int
    shared_bytes: int
    grid: tuple[int, int, int]
    macro_mmas: tuple[Composition, ...]
    multiprocessors: int
    block_tile: tuple[int, int, int] = (128, 128, 32)
    warp_side: int = 64
    spare: tuple[int, int, int] = (60, 8, 3)
    spare_formulas: tuple[int, int, int] = (0, 0, 0)
    spare_copies: tuple[int, int] = (0, 0)
    copies: tuple[int, ...] = ()
    buffers: int = 1
    fragments: int = 1
    group: int = 1
    families: tuple[Family, ...] = ()
    cluster: int = 1
    dependent_launch: bool = False

    def __post_init__(self) -> None:
        settle(self, _RULES, BadTarget)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of 16-bit elements that it multiplies, such as ("half", "bfloat16")."""
        return tuple(dict.fromkeys(kind for m in (*self.macro_mmas, *self.families) for kind in m.kinds))

    @property
    def macro_names(self) -> tuple[str, ...]:
        """The names of the macro-MMAs, the default one first; those of families are in `families`."""
        return tuple(m.name for m in self.macro_mmas)

    def has(self, name: object) -> bool:
        """Whether a macro-MMA is called so, its own or one of a family.

        `name` is one such as "m16n32k16".

        >>> import polyvolta as pv
        >>> pv.targets["sm_80"].has("m16n32k16"), pv.targets["sm_80"].has("m1n1k1")
        (True, False)
        """
        return name in self.macro_names or any(name in family.names for family in self.families)

    def of_kind(self, kind: str) -> Target:
        """The target with what multiplies one kind of elements alone; itself where it knows no other.

        `kind` is "half" or "bfloat16"; without instructions for it there are no macro-MMAs.

        >>> import polyvolta as pv
        >>> pv.targets["sm_80"].of_kind("bfloat16").kinds
        ('bfloat16',)
        """
        return self if self.kinds == (kind,) else _of_kind(self, kind)

    def macro_mma(self, name: str) -> Composition | WarpgroupMma:
        """A macro-MMA by its name, such as "m16n32k16", or "m64n128k16" of a family.

        Raises
        ------
        UnknownTarget : there is none of that name; suggests the nearest.

        >>> import polyvolta as pv
        >>> pv.targets["sm_80"].macro_mma("m16n32k16").shape
        (16, 32, 16)
        """
        for m in self.macro_mmas:
            if m.name == name:
                return m
        for family in self.families:
            if found := family.named(name):
                return found
        known = (*self.macro_names, *(n for family in self.families for n in family.names))
        raise UnknownTarget(f"{self.name} has no macro-MMA called {name!r}", hint=nearest(str(name), known))

    def spare_registers(
        self, products: int, prologue: int = 0, functions: int = 0, across: int = 0, copies: int = 0
    ) -> int:
        """Registers that the compiler needs in a kernel beside those of values; see `spare` and what is named like it.

        Parameters
        ----------
        products : how many it has.
        prologue : tensors that one product's prologues read, at most.
        functions : of the epilogue's largest formula.
        across : matrices that the epilogue reaches across their lines.
        copies : that a thread makes asynchronously for a k tile, at most.

        >>> import polyvolta as pv
        >>> pv.targets["sm_80"].spare_registers(products=1)
        58
        """
        first, more, most = self.spare
        tensor, function, matrix = self.spare_formulas
        free, copy = self.spare_copies
        formulas = tensor * prologue + function * max(0, functions - 4) + matrix * across
        return first + more * min(products - 1, most) + formulas + copy * max(0, copies - free)

    def check(self) -> None:
        """Refuse a target that no kernel can be made for.

        Raises
        ------
        BadTarget : says what is wrong: two macro-MMAs of one name, an instruction whose maps do not give every element
            of its matrices to one value, registers that are half full, types that kernels don't have.

        Cost: some milliseconds for each instruction.

        >>> import polyvolta as pv
        >>> pv.targets["sm_80"].check()
        """
        for problem in _problems(self):
            raise BadTarget(f"{self.name!r} is no target: {problem}", hint=_HINT)

    def _facts(self) -> list[tuple[str, object]]:
        from polyvolta.cuda.shown.targets import target_facts

        return target_facts(self)

    def _html(self) -> str:
        from polyvolta.cuda.shown.targets import target

        return target(self)

    def _title(self) -> str:
        return self.name


@lru_cache(maxsize=64)
def _of_kind(target: Target, kind: str) -> Target:
    macro_mmas = tuple(m.of_kind(kind) for m in target.macro_mmas if kind in m.kinds)
    families = tuple(f.of_kind(kind) for f in target.families if kind in f.kinds)
    return replace(target, macro_mmas=macro_mmas, families=families)


_HINT = "docs/extending.md goes through one; the PTX manual has the tables of its instructions"


def _problems(t: Target) -> Iterator[str]:
    if not t.macro_mmas:
        yield "it has no macro-MMA"
    if len(set(t.macro_names)) < len(t.macro_mmas):
        yield f"two of its macro-MMAs have one name: {', '.join(t.macro_names)}"
    maps: set[tuple] = set()  # members of a family share theirs
    for m in (*t.macro_mmas, *(m for family in t.families for m in family)):
        for instruction in m.instructions:
            what = instruction.scope, instruction.types, instruction.a, instruction.b, instruction.d
            if what in maps:
                continue
            maps.add(what)
            yield from (f"{instruction.name}: {problem}" for problem in _of_instruction(instruction))


def _of_instruction(ins: Instruction) -> Iterator[str]:
    """What of an instruction's maps is no distribution of its matrices, each element to one value of its unit."""
    m, n, k = ins.shape
    for operand, own, shape in (("A", ins.a, (m, k)), ("B", ins.b, (k, n)), ("D", ins.d, (m, n))):
        if isinstance(own, InShared):
            continue
        owners = ownership_counts(ins, own, shape)
        if owners is None:
            yield f"the map of {operand} leads outside of {shape[0]}x{shape[1]}"
        elif (owners != 1).any():
            unit, row, col = (int(x) for x in np.argwhere(owners != 1)[0])
            what = f"{operand}[{row}, {col}] of {ins.scope.name} {unit}"
            yield f"{what} is {owners[unit, row, col]} values of the lanes, not one"
    for operand, count in zip("AB", ins.values):
        if count % 2:
            yield f"a lane has {count} values of {operand}, and registers hold 16-bit values in pairs"
    a, b, d = (KINDS.get(kind) for kind in ins.types)
    if a != b or a not in ("half", "bfloat16") or d != "float":
        yield f"kernels multiply fp16 or bf16 and accumulate in fp32, the types are {', '.join(ins.types)}"


def ownership_counts(ins: Instruction, own: IndexMap, shape: tuple[int, int]) -> np.ndarray | None:
    """[unit, row, column]: how many values of a unit's lanes each element of an operand is; None if one is outside."""
    (lane, lanes), (value, count) = own.inputs
    at = np.arange(lanes)[:, None]
    row, col = (np.broadcast_to(x, (lanes, count)) for x in own.evaluate({lane: at, value: np.arange(count)}))
    unit = np.broadcast_to(ins.unit.evaluate({ins.unit.inputs[0][0]: at})[0], (lanes, count))
    if not ((row >= 0) & (row < shape[0]) & (col >= 0) & (col < shape[1])).all():
        return None
    owners = np.zeros((ins.units, *shape), np.int64)
    np.add.at(owners, (unit, row, col), 1)
    return owners
