"""Where the matrices that an instruction multiplies lie in a warp's fragments, by the instruction's ownership maps.

An instruction has one product or several, each of its own *unit* of lanes: all 32 for most, a quad-pair for Volta's.
Its maps say which element of which unit's matrix each lane's values are. Turned round, they say which lane and which
value every element is to be taken from; that every element has exactly one is a condition on the maps, checked here.

The interpreter turns the maps round, too, with code of its own: a mistake in the one is then a difference between the
two judges, and no mistake of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import Instruction
from polyvolta.cuda.target.macro_mma import MacroMma

Wrong = tuple[str, int | None]  # what is wrong, and the lane


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """One instruction of a macro-MMA.

    Parameters
    ----------
    values : of the accumulator fragment that it works on, an index: a slice where they are consecutive.
    a, b : where the units' matrices lie in a warp's fragments, [unit, row, k] and [unit, k, column], each as
        lane * values of a fragment + value.
    d : of each lane's accumulator values [lane, value] the element of the products [unit, row, column], as a number.
    unit : and its unit.
    """

    values: Any
    a: np.ndarray
    b: np.ndarray
    d: np.ndarray
    unit: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Gathers:
    """The instructions of a macro-MMA in order; or what makes one multiply nothing that is defined."""

    steps: tuple[Gather, ...]
    wrong: Wrong | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Who holds the elements of one of an instruction's matrices.

    Parameters
    ----------
    elements : [lane, value, 3], the unit, row and column of each value.
    lane, value : [unit, row, column], who holds an element; the last one where several do.
    wrong : what keeps it from being one holder for each element.
    """

    elements: np.ndarray
    lane: np.ndarray
    value: np.ndarray
    wrong: Wrong | None


@lru_cache(maxsize=512)
def table(own: IndexMap) -> np.ndarray:
    """[lane, value, output]: what an ownership map says."""
    (lane, lanes), (value, count) = own.inputs
    found = own.evaluate({lane: np.arange(lanes)[:, None], value: np.arange(count)})
    return np.stack([np.broadcast_to(x, (lanes, count)) for x in found], axis=-1)


@lru_cache(maxsize=512)
def held(instruction: Instruction, operand: str) -> Held:
    """Who holds the elements of an operand, "a", "b" or "d"."""
    m, n, k = instruction.shape
    shape = (instruction.units, *{"a": (m, k), "b": (k, n), "d": (m, n)}[operand])
    elements = of_units(instruction, operand)
    flat = elements.reshape(-1, 3)
    lane, value = (np.full(shape, -1) for _ in range(2))
    inside = np.asarray(((flat >= 0) & (flat < shape)).all(-1))
    where = tuple(flat[inside].T)
    (lane[where], value[where]) = (x[inside] for x in np.divmod(np.arange(len(flat)), elements.shape[1]))
    times = np.zeros(shape, np.int64)
    np.add.at(times, where, 1)
    return Held(elements, lane, value, _wrong(instruction, operand, elements, inside, times, lane))


def _wrong(
    instruction: Instruction, operand: str, elements: np.ndarray, inside: np.ndarray, times: np.ndarray, lane: Any
) -> Wrong | None:
    """A value that is no element, an element that is nobody's, or that several values are."""
    name = instruction.title
    if not inside.all():
        at, value = divmod(int(np.flatnonzero(~inside)[0]), elements.shape[1])
        return f"value {value} of lane {at} is {text(operand, elements[at, value, 1:])}, which {name} has not", at
    if (times == 1).all():
        return None
    unit, row, col = (int(x) for x in np.argwhere(times != 1)[0])
    what = text(operand, (row, col)) + unit_text(instruction, unit)
    if not times[unit, row, col]:
        return f"{what} of {name} is no lane's", None
    return f"{what} of {name} is {times[unit, row, col]} values", int(lane[unit, row, col])


@lru_cache(maxsize=64)
def gathers(macro: MacroMma) -> Gathers:
    """Each instruction of a macro-MMA."""
    sides = [held(macro.instruction, operand) for operand in "abd"]
    for side in sides:
        if side.wrong is not None:
            return Gathers((), side.wrong)
    a, b, d = sides
    _, rows, cols = d.lane.shape
    found = []
    for number, step in enumerate(macro.steps):
        for side, values, width in zip(sides, (step.a, step.b, step.d), macro.values, strict=True):
            if len(values) != side.elements.shape[1] or not all(0 <= v < width for v in values):
                return Gathers((), (f"instruction {number} of {macro.name} takes values {values} of {width}", None))
        at_a, at_b = (
            side.lane * width + np.array(values)[side.value]
            for side, values, width in zip((a, b), (step.a, step.b), macro.values[:2], strict=True)
        )
        unit, row, col = np.moveaxis(d.elements, -1, 0)
        consecutive = step.d == tuple(range(step.d[0], step.d[0] + len(step.d)))
        values: Any = slice(step.d[0], step.d[-1] + 1) if consecutive else np.array(step.d)
        found.append(Gather(values, at_a, at_b, (unit * rows + row) * cols + col, unit))
    return Gathers(tuple(found))


@lru_cache(maxsize=64)
def of_matrices(macro: MacroMma) -> Gathers:
    """The one instruction of a product of matrices that lie in shared memory, A [row, k] and B [column, k].

    Threads have the result alone, where the macro-MMA's map says.
    """
    m, n, depth = macro.shape
    place = table(macro.d)
    inside = ((place >= 0) & (place < (m, n))).all(-1)
    if not inside.all():
        thread, value = (int(x) for x in np.argwhere(~inside)[0])
        what = f"value {value} of thread {thread} is {text('D', place[thread, value])}, which {macro.name} has not"
        return Gathers((), (what, None))
    a = depth * np.arange(m)[:, None] + np.arange(depth)
    b = depth * np.arange(n) + np.arange(depth)[:, None]
    d = place[..., 0] * n + place[..., 1]
    return Gathers((Gather(slice(0, d.shape[1]), a[None], b[None], d, np.zeros(d.shape, np.int64)),))


# ---- units


def of_units(instruction: Instruction, operand: str) -> np.ndarray:
    """[lane, value, 3]: the unit, the row and the column of each value of an operand."""
    found = table({"a": instruction.a, "b": instruction.b, "d": instruction.d}[operand])
    ((lane, lanes),) = instruction.unit.inputs
    (unit,) = instruction.unit.evaluate({lane: np.arange(lanes)})
    each = np.broadcast_to(np.broadcast_to(unit, (lanes,))[:, None, None], (*found.shape[:2], 1))
    return np.concatenate([each, found], -1)


def unit_text(instruction: Instruction, unit: int) -> str:
    """Which of an instruction's units it is, in words; "" if there is one."""
    return f" in {instruction.scope.name} {unit}" if instruction.units > 1 else ""


def text(name: str, at: Any) -> str:
    """An element in words."""
    row, col = (int(x) for x in at)
    return f"{name}[{row}, {col}]"
