"""Ownership: which lane holds which element of a fragment, and whether instructions and exchange agree with it.

A macro-MMA is a row of instructions, each of which multiplies in every quad-pair a small A by a small B into a small D.
That the whole is `D += A B` is a fact about maps: where the instruction has each lane's values, for A, B and D, and
which elements of the larger fragments the macro-MMA says that they are. It is checked for all lanes and values, 32 of
one and a few of the other, so that it is exact:

- D's map is a bijection: each element of the result has one lane and one value.
- A's map gives each quad-pair that owns a row of D each element of that row once, and no other quad-pair; B's likewise,
  by columns.
- Every instruction multiplies, in every quad-pair, elements of A and B of one k, into the element of D with A's row and
  B's column; and over all instructions each element of D gets each k once.

The instruction's own maps are checked against what the manual says, written down here a second time. A fragment load
must hand out what the macro-MMA that uses it expects.

Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, FragmentLoad, KernelIR, Mma
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import Instruction
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.verify.report.report import CounterExample, NoMeaning, Verdict
from polyvolta.cuda.verify.values.exchanges import exchange
from polyvolta.graph.dag import Graph
from polyvolta.sched.tree import Schedule

QUAD_PAIR = np.arange(LANES) % 16 // 4
PAIRS = 4

Wrong = tuple[str, int | None]  # what is wrong, and the lane


# ---- maps as tables


@lru_cache(maxsize=512)
def table(own: IndexMap) -> np.ndarray:
    """[lane, value, output]: what an ownership map says."""
    (lane, lanes), (value, count) = own.inputs
    found = own.evaluate({lane: np.arange(lanes)[:, None], value: np.arange(count)})
    return np.stack([np.broadcast_to(x, (lanes, count)) for x in found], axis=-1)


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


# ---- one macro-MMA


@lru_cache(maxsize=64)
def wrong_macro(macro: MacroMma) -> Wrong | None:
    """What is wrong with a macro-MMA, if something is.

    Cost: a few thousand steps, once for each macro-MMA.
    """
    return next(_faults(macro), None)


def _faults(macro: MacroMma) -> Iterator[Wrong]:
    yield from _instruction(macro.instruction)
    m, n, k = macro.shape
    yield from _bijection(macro.d, (m, n))
    d = table(macro.d)
    for name, own, side, shape in (("A", macro.a, 0, (m, k)), ("B", macro.b, 1, (k, n))):
        yield from _operand(name, table(own), side, shape, d)
    yield from _steps(macro)


def _instruction(instruction: Instruction) -> Iterator[Wrong]:
    """Differences between an instruction's maps and the manual's."""
    layouts = dict(zip("ab", instruction.layouts, strict=True))
    for operand, own in (("a", instruction.a), ("b", instruction.b), ("d", instruction.d)):
        found = table(own)
        for lane, value in np.ndindex(*found.shape[:2]):
            wanted = manual(operand, layouts.get(operand, ""), lane, value)
            if tuple(found[lane, value]) != wanted:
                yield (
                    f"value {value} of lane {lane} is {operand}{wanted} of {instruction.name}, "
                    f"not {_element(operand, found[lane, value])}",
                    lane,
                )


def _bijection(own: IndexMap, shape: tuple[int, int]) -> Iterator[Wrong]:
    """Elements of a fragment that no value is, or several are."""
    found = table(own)
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for lane, value in np.ndindex(*found.shape[:2]):
        at = int(found[lane, value, 0]), int(found[lane, value, 1])
        if not all(0 <= x < s for x, s in zip(at, shape, strict=True)):
            yield f"value {value} of lane {lane} is {_element('D', at)}, outside of the fragment", lane
        elif at in seen:
            before = seen[at]
            yield f"{_element('D', at)} is value {before[1]} of lane {before[0]} and value {value} of lane {lane}", lane
        seen[at] = lane, value
    missing = next((at for at in np.ndindex(*shape) if at not in seen), None)
    if missing is not None:
        yield f"{_element('D', missing)} is no lane's", None


def _operand(name: str, own: np.ndarray, side: int, shape: tuple[int, int], d: np.ndarray) -> Iterator[Wrong]:
    """Elements of an operand that a quad-pair which needs them hasn't, has twice, or doesn't need."""
    for pair in range(PAIRS):
        mine = QUAD_PAIR == pair
        lines = np.unique(d[mine][..., side])
        held = Counter((int(x), int(y)) for x, y in own[mine].reshape(-1, 2))
        other = range(shape[1 - side])
        needed = {(int(x), y) if side == 0 else (y, int(x)) for x in lines for y in other}
        for at in sorted(needed | held.keys()):
            if (held[at] == 1) != (at in needed):
                lane = _holder(own, mine, at)
                why = "needs it" if at in needed else "has no use for it"
                yield f"quad-pair {pair} holds {_element(name, at)} {held[at]} times, and {why}", lane


def _holder(own: np.ndarray, lanes: np.ndarray, at: tuple[int, int]) -> int | None:
    """The last of some lanes that holds an element."""
    found = np.flatnonzero(((own == at).all(-1)).any(-1) & lanes)
    return int(found[-1]) if len(found) else None


def _steps(macro: MacroMma) -> Iterator[Wrong]:
    """Products of instructions that go to the wrong element, come twice or don't come."""
    m, n, k = macro.shape
    rows, cols, depth = macro.instruction.shape
    a, b, d = table(macro.a), table(macro.b), table(macro.d)
    times = np.zeros((m, n, k), np.int64)
    for number, step in enumerate(macro.steps):
        here = f"instruction {number} of {macro.name}"
        for pair in range(PAIRS):
            left = _gathered(macro.instruction.a, step.a, a, pair, (rows, depth))
            right = _gathered(macro.instruction.b, step.b, b, pair, (depth, cols))
            result = _gathered(macro.instruction.d, step.d, d, pair, (rows, cols))
            if left is None or right is None or result is None:
                yield f"{here}: quad-pair {pair} lacks an operand's value", None
                return
            for r, c in np.ndindex(rows, cols):
                row, col = (int(x) for x in result[r, c])
                for x in range(depth):
                    (ar, ak), (bk, bc) = left[r, x], right[x, c]
                    if (ar, bc) != (row, col) or ak != bk:
                        product = f"{_element('A', (ar, ak))} by {_element('B', (bk, bc))}"
                        yield (
                            f"{here} multiplies {product} for {_element('D', (row, col))} in quad-pair {pair}",
                            4 * pair,
                        )
                        return
                    times[row, col, ak] += 1
    if (times != 1).any():
        row, col, x = (int(v) for v in np.argwhere(times != 1)[0])
        yield f"{_element('D', (row, col))} gets the product of k = {x} {times[row, col, x]} times", None


def _gathered(
    own: IndexMap, values: tuple[int, ...], fragment: np.ndarray, pair: int, shape: tuple[int, int]
) -> np.ndarray | None:
    """[row, column, 2]: the macro-MMA's element that each element of an instruction's matrix is, in a quad-pair."""
    out = np.full((*shape, 2), -1)
    places = table(own)[QUAD_PAIR == pair]
    if places.shape[1] != len(values):
        return None
    out[places[..., 0], places[..., 1]] = fragment[QUAD_PAIR == pair][:, list(values)]
    return None if (out < 0).any() else out


def _element(name: str, at: object) -> str:
    row, col = (int(x) for x in at)  # type: ignore[attr-defined]
    return f"{name}[{row}, {col}]"


# ---- a kernel


def ownership(ir: KernelIR, graph: Graph, stages: Mapping[str, Schedule]) -> Verdict:
    """Whether the macro-MMAs of a kernel are products, and fragments are loaded as they want them.

    Raises
    ------
    NoMeaning : the kernel has no matrix product.
    """
    products = [(at, s) for at, s in walk(ir.body) if isinstance(s, Mma)]
    macros = list(dict.fromkeys(s.macro for _, s in products))
    if not macros:
        raise NoMeaning("the kernel has no matrix product")
    found: tuple[CounterExample, IrPath] | None = None
    for at, s in products:
        wrong = wrong_macro(s.macro)
        if wrong is not None:
            found = found or (CounterExample(wrong[0], lane=wrong[1]), at)
    users = {(name, e.array): s.macro for _, s in products for name, e in (("a", s.a), ("b", s.b))}
    for at, s in walk(ir.body):
        if isinstance(s, FragmentLoad) and found is None:
            case = _mismatch(s, users.get((s.operand, s.target.array)))
            found = None if case is None else (case, at)
    names = " and ".join(dict.fromkeys(m.name for m in macros))
    statement = (
        f"{names} is D += A B: D's map is a bijection, every quad-pair has each element of A and B that it needs once, "
        "the instructions multiply each k into each element once, and fragments are loaded as the product wants them"
    )
    relation = "; ".join(f"{m.name} of {len(m.steps)} {m.instruction.name}: A {m.a}, B {m.b}, D {m.d}" for m in macros)
    case, at = found if found is not None else (None, None)
    return Verdict(statement, relation, case, at)


def _mismatch(load: FragmentLoad, macro: MacroMma | None) -> CounterExample | None:
    """A value that a fragment load brings to another lane than its product expects."""
    if macro is None:
        return CounterExample(f"no product takes {load.target.array} for its operand {load.operand}")
    wanted, given = table(macro.a if load.operand == "a" else macro.b), table(load.ownership)
    if wanted.shape != given.shape:
        return CounterExample(f"{load.target.array} has {given.shape[1]} values a lane, not {wanted.shape[1]}")
    if (wanted == given).all():
        return None
    lane, value, _ = (int(x) for x in np.argwhere(wanted != given)[0])
    name = load.operand.upper()
    what = (
        f"value {value} of lane {lane} is loaded from {_element(name, given[lane, value])} of the fragment; "
        f"{macro.name} takes it for {_element(name, wanted[lane, value])}"
    )
    return CounterExample(what, lane=lane, address=f"{load.tile}, fragment {_element(name, given[lane, value])}")


Prover = Callable[[KernelIR, Graph, Mapping[str, Schedule]], Verdict]
PROVERS: dict[str, Prover] = {"ownership": ownership, "exchange": exchange}
"""Proof -> the function that decides it."""
