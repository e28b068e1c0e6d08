"""Ownership: which lane holds which element of a fragment, and whether instructions and exchange agree with it.

A macro-MMA is a row of instructions, each of which multiplies small matrices A and B into a small D, one in every unit
of lanes: a quad-pair, or a warp. That the whole is `D += A B` is a fact about maps: where the instruction has each
lane's values, for A, B and D, and which elements of the larger fragments the macro-MMA says that they are. It is
checked for all lanes and values, 32 of one and a few of the other, so that it is exact:

- D's map is a bijection: each element of the result has one lane and one value.
- The instruction's own maps give every element of every unit's matrices to one value of one lane.
- Every instruction multiplies, in every unit, elements of A and B of one k, into the element of D with A's row and B's
  column; and over all instructions each element of D gets each k once.
- A's map gives each unit that owns a row of D each element of that row once, and no other unit; B's likewise, by
  columns.

The instruction's own maps are checked against what the manual says, written down here a second time; of an instruction
that isn't here, such as one that was added from outside, the report says that its maps are taken as they are. A
fragment load must hand out what the macro-MMA that uses it expects.

Matrix loads have a map of their own, the instruction's distribution; see `matrix_loads`.

A warpgroup's product takes its operands from shared memory, and who has what is a question about D alone: its map is
compared with the manual's, thread by thread of the 128, and is a bijection. That descriptors lead to the operands is a
proof of its own (`layouts`).

Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type", for mma.m16n8k8 and mma.m16n8k16,
and "Register Fragments for wgmma.mma_async.m64nNk16".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, FragmentLoad, KernelIR, LoadMatrix, Wgmma
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import Instruction
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.verify.engine.symbolic import Undecided
from polyvolta.cuda.verify.fragments.matrix_loads import relations, undelivered
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Verdict
from polyvolta.cuda.verify.values.declared import Product, products
from polyvolta.cuda.verify.values.exchanges import exchange
from polyvolta.cuda.verify.values.gathering import Wrong, held, table, text, unit_text
from polyvolta.graph.dag import Graph
from polyvolta.sched.tree import Schedule
from polyvolta.sets import aff


def manual(operand: str, layout: str, lane: int, value: int) -> tuple[int, int]:
    """The element of an operand of m8n8k4 that a lane's value is, as the PTX manual has it.

    Parameters
    ----------
    operand : "a", "b", or "d" of fp32.
    layout : "row" or "col"; of no matter for "d".

    >>> manual("a", "row", 17, 2), manual("b", "row", 17, 2), manual("d", "", 17, 5)
    ((5, 2), (1, 6), (5, 5))
    """
    low, high = lane % 4, 4 if lane >= 16 else 0
    if operand == "d":
        row = (value & 2) + (lane & 1)
        return row + high, (value & 4) + (lane & 2) + (value & 1)
    along_lane, along_value = low + high, value + high
    if operand == "a":
        return (along_lane, value) if layout == "row" else (along_value, low)
    return (value, along_lane) if layout == "col" else (low, along_value)


def manual_m16n8(operand: str, layout: str, lane: int, value: int) -> tuple[int, int]:
    """The same of m16n8k8 and m16n8k16, of which A is row-major and B column-major.

    >>> manual_m16n8("a", "row", 5, 6), manual_m16n8("b", "col", 5, 3), manual_m16n8("d", "", 5, 2)
    ((9, 10), (11, 1), (9, 2))
    """
    group, along = lane >> 2, 2 * (lane & 3) + (value & 1)
    if operand == "b":
        return along + 8 * (value >> 1), group
    across = group + 8 * (value >> 1 & 1)
    return across, along + (8 * (value >> 2) if operand == "a" else 0)


def manual_m64(thread: int, value: int) -> tuple[int, int]:
    """The element of D of m64nNk16 that a value of a warpgroup's thread is.

    >>> manual_m64(37, 6)
    (25, 10)
    """
    warp, lane = divmod(thread, LANES)
    return 16 * warp + (lane >> 2) + 8 * (value >> 1 & 1), 8 * (value >> 2) + 2 * (lane & 3) + (value & 1)


Element = Callable[[str, str, int, int], tuple[int, int]]


def manual_of(instruction: Instruction) -> tuple[np.ndarray, Element] | None:
    """The unit of each lane, and which element a value is; None for an instruction of which nothing is written here."""
    match instruction.shape, instruction.layouts, instruction.types:
        case (8, 8, 4), _, ("f16", "f16", "f32"):
            return np.arange(LANES) % 16 // 4, manual
        case (16, 8, 8 | 16), ("row", "col"), ("f16", "f16", "f16" | "f32") | ("bf16", "bf16", "f32"):
            return np.zeros(LANES, int), manual_m16n8
    return None


# ---- one macro-MMA


@lru_cache(maxsize=64)
def wrong_macro(macro: MacroMma) -> Wrong | None:
    """What is wrong with a macro-MMA, if something is.

    Cost: a few thousand steps, once for each macro-MMA.
    """
    return next(_faults(macro), None)


@lru_cache(maxsize=64)
def wrong_warpgroup(macro: MacroMma) -> Wrong | None:
    """What is wrong with a warpgroup's product, if something is."""
    return next(_warpgroup_faults(macro), None)


def _warpgroup_faults(macro: MacroMma) -> Iterator[Wrong]:
    (_, threads), (_, values) = macro.d.inputs
    m, n, depth = macro.shape
    if (m, depth, threads, values) != (64, 16, 4 * LANES, n // 2):
        what = f"{macro.name} of {m} x {n} x {depth} by {threads} threads of {values} values"
        yield f"{what} is no product of the manual", None
        return
    found = table(macro.d)
    for thread, value in np.ndindex(*found.shape[:2]):
        wanted, own = manual_m64(thread, value), (int(found[thread, value, 0]), int(found[thread, value, 1]))
        if own != wanted:
            what = f"value {value} of thread {thread} is {text('D', wanted)} of {macro.name}, not {text('D', own)}"
            yield what, thread % LANES
    yield from _bijection(macro.d, (m, n))
    if not isinstance(macro.a, InShared):
        yield from _left_in_registers(macro, macro.a)


def _left_in_registers(macro: MacroMma, own: IndexMap) -> Iterator[Wrong]:
    """Where a left operand in registers isn't what the manual has: each warp has a fragment of 16 rows."""
    if [n for _, n in own.inputs] != [4 * LANES, 8]:
        yield f"operand A of {macro.name} is held by {own.inputs}", None
        return
    found = table(own)
    for thread, value in np.ndindex(*found.shape[:2]):
        warp, lane = divmod(thread, LANES)
        row, k = manual_m16n8("a", "row", lane, value)
        if tuple(map(int, found[thread, value])) != (wanted := (16 * warp + row, k)):
            what = f"value {value} of thread {thread} is {text('A', wanted)} of {macro.name}"
            yield f"{what}, not {text('A', found[thread, value])}", lane


def _faults(macro: MacroMma) -> Iterator[Wrong]:
    yield from _instruction(macro.instruction)
    m, n, k = macro.shape
    yield from _bijection(macro.d, (m, n))
    yield from _steps(macro)
    for operand, own, shape in (("a", macro.a, (m, k)), ("b", macro.b, (k, n))):
        yield from _operand(macro, operand, table(own), shape)


def _instruction(instruction: Instruction) -> Iterator[Wrong]:
    """Differences between an instruction's maps and the manual's; elements that nobody or several have."""
    layouts = dict(zip("ab", instruction.layouts, strict=True))
    if (known := manual_of(instruction)) is not None:
        unit, element = known
        for operand in "abd":
            found = held(instruction, operand).elements
            for lane, value in np.ndindex(*found.shape[:2]):
                wanted = element(operand, layouts.get(operand, ""), lane, value)
                own = tuple(int(x) for x in found[lane, value])
                if own[1:] != wanted:
                    what = f"value {value} of lane {lane} is {operand}{wanted} of {instruction.name}"
                    yield f"{what}, not {text(operand, own[1:])}", lane
                if own[0] != unit[lane]:
                    yield f"lane {lane} isn't{unit_text(instruction, own[0])}", lane
    for operand in "abd":
        if (wrong := held(instruction, operand).wrong) is not None:
            yield wrong


def _bijection(own: IndexMap, shape: tuple[int, int]) -> Iterator[Wrong]:
    """Elements of a fragment that no value is, or several are."""
    found = table(own)
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for lane, value in np.ndindex(*found.shape[:2]):
        at = int(found[lane, value, 0]), int(found[lane, value, 1])
        if not all(0 <= x < s for x, s in zip(at, shape, strict=True)):
            yield f"value {value} of lane {lane} is {text('D', at)}, outside of the fragment", lane
        elif at in seen:
            before = seen[at]
            yield f"{text('D', at)} is value {before[1]} of lane {before[0]} and value {value} of lane {lane}", lane
        seen[at] = lane, value
    missing = next((at for at in np.ndindex(*shape) if at not in seen), None)
    if missing is not None:
        yield f"{text('D', missing)} is no lane's", None


def _operand(macro: MacroMma, operand: str, own: np.ndarray, shape: tuple[int, int]) -> Iterator[Wrong]:
    """Elements of an operand that a unit which needs them hasn't, has twice, or doesn't need."""
    name, side = operand.upper(), "ab".index(operand)
    unit_of, results = (_units(macro, which) for which in (operand, "d"))
    if (unit_of < 0).any():
        lane, value = (int(x) for x in np.argwhere(unit_of < 0)[0])
        yield f"no instruction takes value {value} of lane {lane}, {text(name, own[lane, value])}", lane
        return
    d, other = table(macro.d), range(shape[1 - side])
    for unit in range(macro.instruction.units):
        mine = unit_of == unit
        lines = np.unique(d[results == unit][..., side])
        count = Counter((int(x), int(y)) for x, y in own[mine])
        needed = {(int(x), y) if side == 0 else (y, int(x)) for x in lines for y in other}
        for at in sorted(needed | count.keys()):
            if (count[at] == 1) != (at in needed):
                holders = np.argwhere((own == at).all(-1) & mine)
                lane = int(holders[-1][0]) if len(holders) else None
                why = "needs it" if at in needed else "has no use for it"
                who = unit_text(macro.instruction, unit).removeprefix(" in ") or "the warp"
                yield f"{who} holds {text(name, at)} {count[at]} times, and {why}", lane


def _units(macro: MacroMma, operand: str) -> np.ndarray:
    """The unit for which each lane's values of a fragment are, [lane, value]; -1 for none."""
    own = held(macro.instruction, operand).elements[..., 0]
    out = np.full((len(own), macro.values["abd".index(operand)]), -1)
    for step in macro.steps:
        out[:, list(getattr(step, operand))] = own
    return out


def _steps(macro: MacroMma) -> Iterator[Wrong]:
    """Products of instructions that go to the wrong element, come twice or don't come."""
    times = np.zeros(macro.shape, np.int64)
    a, b, d = (table(own) for own in (macro.a, macro.b, macro.d))
    for number, step in enumerate(macro.steps):
        here = f"instruction {number} of {macro.name}"
        sides = [
            _gathered(macro.instruction, operand, values, own)
            for operand, values, own in zip("abd", (step.a, step.b, step.d), (a, b, d), strict=True)
        ]
        left, right, result = sides
        if left is None or right is None or result is None:
            yield f"{here} lacks an operand's value", None
            return
        (ar, ak), (bk, bc), (row, col) = (np.moveaxis(x, -1, 0) for x in (left, right, result))
        ar, ak = (x[:, :, None] for x in (ar, ak))  # [unit, row, column, k], or 1 there
        bk, bc = (x.swapaxes(1, 2)[:, None] for x in (bk, bc))
        row, col = row[..., None], col[..., None]
        wrong = (ar != row) | (bc != col) | (ak != bk)
        if wrong.any():
            unit, r, c, x = (int(v) for v in np.argwhere(wrong)[0])
            product = f"{text('A', left[unit, r, x])} by {text('B', right[unit, x, c])}"
            where = unit_text(macro.instruction, unit)
            lane = int(held(macro.instruction, "d").lane[unit].min())
            yield f"{here} multiplies {product} for {text('D', result[unit, r, c])}{where}", lane
            return
        np.add.at(times, tuple(np.broadcast_arrays(row, col, ak)), 1)
    if (times != 1).any():
        row, col, x = (int(v) for v in np.argwhere(times != 1)[0])
        yield f"{text('D', (row, col))} gets the product of k = {x} {times[row, col, x]} times", None


def _gathered(
    instruction: Instruction, operand: str, values: tuple[int, ...], fragment: np.ndarray
) -> np.ndarray | None:
    """[unit, row, column, 2]: the macro-MMA's element that each element of an instruction's matrices is."""
    own = held(instruction, operand)
    if own.elements.shape[1] != len(values) or not all(0 <= v < fragment.shape[1] for v in values):
        return None
    return fragment[own.lane, np.array(values)[own.value]]


# ---- a kernel


def ownership(ir: KernelIR, graph: Graph, stages: Mapping[str, Schedule]) -> Verdict:
    """Whether the macro-MMAs of a kernel are products, and fragments are loaded as they want them.

    Raises
    ------
    NoMeaning : the kernel has no matrix product.
    Undecided : a product isn't one of register elements, or fragments are loaded to one array for several products in
        different ways.
    """
    of = products(ir)
    macros = list(dict.fromkeys(p.macro for p in of))
    if not macros:
        raise NoMeaning("the kernel has no matrix product")
    if all(p.of_warpgroup for p in of):
        return _warpgroups(ir, of, macros)
    if any(p.of_warpgroup for p in of):
        raise Undecided("products of warps and of warpgroups in one kernel")
    wrong = ((p, fault) for p in of if (fault := wrong_macro(p.macro)) is not None)
    found = next(((CounterExample(what, lane=lane), p.path) for p, (what, lane) in wrong), None)
    found = found or undelivered(ir) or _astray(ir, of)
    names = " and ".join(dict.fromkeys(m.name for m in macros))
    scopes = " or ".join(dict.fromkeys(m.instruction.scope.name for m in macros))
    statement = (
        f"{names} is D += A B: D's map is a bijection, every {scopes} has each element of A and B that it needs once, "
        "the instructions multiply each k into each element once, and fragments are loaded as the product wants them"
    )
    taken = dict.fromkeys(m.instruction.name for m in macros if manual_of(m.instruction) is None)
    if taken:
        statement += f"; the maps of {' and '.join(taken)} are taken as they are, for want of a manual to compare with"
    relation = "; ".join(f"{m.name} of {len(m.steps)} {m.instruction.name}: A {m.a}, B {m.b}, D {m.d}" for m in macros)
    if matrices := relations(ir):
        statement += "; what a matrix load distributes of the lines that lanes name is what its lanes own"
        relation = "; ".join((relation, *matrices))
    case, at = found if found is not None else (None, None)
    return Verdict(statement, relation, case, at)


def _warpgroups(ir: KernelIR, of: list[Product], macros: list[MacroMma]) -> Verdict:
    """The same of products that warpgroups make."""
    names = " and ".join(dict.fromkeys(m.name for m in macros))
    statement = (
        f"{names} is D += A B of a warpgroup: D's map is the manual's and a bijection, each element of D is one value "
        "of one of 128 threads, and these values are the accumulators in order"
    )
    relation = "; ".join(f"{m.name}: D {m.d}" for m in macros)
    if matrices := relations(ir):
        statement += "; what a matrix load or store distributes of the lines that lanes name is what its lanes own"
        relation = "; ".join((relation, *matrices))
    wrong = ((p, fault) for p in of if (fault := wrong_warpgroup(p.macro) or _out_of_order(p)) is not None)
    found = next(((CounterExample(what, lane=lane), p.path) for p, (what, lane) in wrong), None) or undelivered(ir)
    case, at = found if found is not None else (None, None)
    return Verdict(statement, relation, case, at)


def _out_of_order(p: Product) -> Wrong | None:
    """Accumulators that aren't one behind the other: the instruction takes its registers in the order of D's values."""
    assert isinstance(p.op, Wgmma)
    for n, (one, other) in enumerate(zip(p.op.d, p.op.d[1:])):
        steps = [y - x for x, y in zip(one.index, other.index, strict=True)]
        if one.array != other.array or steps != [*(aff(0) for _ in steps[1:]), aff(1)]:
            name = f"{other.array}[{', '.join(map(str, other.index))}]"
            return f"element {n + 1} of the accumulators, {name}, isn't the one behind element {n}", None
    return None


def _astray(ir: KernelIR, of: list[Product]) -> tuple[CounterExample, IrPath] | None:
    """A fragment load that no product wants so, or a product that wants its fragments otherwise than all loads do.

    Raises
    ------
    Undecided : an array with several kinds of loads and products, of which each has its counterpart.
    """
    loads: dict[tuple[str, str], list[tuple[IrPath, FragmentLoad | LoadMatrix]]] = {}
    for at, s in walk(ir.body):
        if isinstance(s, FragmentLoad | LoadMatrix):
            loads.setdefault((s.operand, s.target.array), []).append((at, s))
    several = None
    for (operand, array), mine in loads.items():
        macros = list(dict.fromkeys(p.macro for p in of if (p.a if operand == "a" else p.b) == array))
        cases = [[_mismatch(s, m) for m in macros] for _, s in mine]
        for (at, _), row in zip(mine, cases, strict=True):
            if not row:
                return CounterExample(f"no product takes {array} for its operand {operand}"), at
            if all(row):
                return row[0], at  # type: ignore[return-value]
        for column in zip(*cases, strict=True):
            if all(column):
                return column[0], mine[0][0]  # type: ignore[return-value]
        if any(case is not None for row in cases for case in row):
            several = f"{array} is loaded for several products that have its values in different lanes"
    if several is not None:
        raise Undecided(f"{several}, and which load is for which of them isn't known")
    return None


def _mismatch(load: FragmentLoad | LoadMatrix, macro: MacroMma) -> CounterExample | None:
    """A value that a fragment load brings to another lane than a product expects."""
    wanted, given = table(macro.a if load.operand == "a" else macro.b), table(load.ownership)
    if wanted.shape != given.shape:
        return CounterExample(f"{load.target.array} has {given.shape[1]} values a lane, not {wanted.shape[1]}")
    if (wanted == given).all():
        return None
    lane, value, _ = (int(x) for x in np.argwhere(wanted != given)[0])
    name = load.operand.upper()
    what = (
        f"value {value} of lane {lane} is loaded from {text(name, given[lane, value])} of the fragment; "
        f"{macro.name} takes it for {text(name, wanted[lane, value])}"
    )
    return CounterExample(what, lane=lane, address=f"{load.tile}, fragment {text(name, given[lane, value])}")


Prover = Callable[[KernelIR, Graph, Mapping[str, Schedule]], Verdict]
PROVERS: dict[str, Prover] = {"ownership": ownership, "exchange": exchange}
"""Proof -> the function that decides it."""
