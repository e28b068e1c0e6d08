"""What each operation of the kernel IR does to a batch of blocks: gathers, scatters, and a little arithmetic.

Where in memory comes from `access`; each effect gives that back, for those who watch. An operation that is defined
elsewhere has its effect entered in `EFFECTS`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES
from polyvolta.cuda.machine.access import apply, further, owned, reaches, which
from polyvolta.cuda.machine.asynchrony import units
from polyvolta.cuda.machine.errors import NoProduct, OutOfBounds
from polyvolta.cuda.machine.machine import POISON, Effect, Machine
from polyvolta.cuda.machine.reach import GlobalReach, Mask, Reaches, SharedReach
from polyvolta.cuda.target.descriptors import in_registers
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.matrix_load import MatrixLoad, MatrixStore
from polyvolta.graph.functions.formats import cast, widened
from polyvolta.graph.functions.meaning import evaluate

R = TypeVar("R", GlobalReach, SharedReach)


def _only(found: Reaches, kind: type[R]) -> R:
    """The one reach of an operation."""
    (at,) = found
    assert isinstance(at, kind)
    return at


# ---- global memory


def _global_load(m: Machine, op: kir.GlobalLoad, mask: Mask) -> Reaches:
    found = reaches(m, op, mask)
    at = _only(found, GlobalReach)
    memory, target = m.tensors[op.tensor], m.element(op.target)
    if at.in_order:
        target[...] = memory.runs[at.first]
        return found
    if at.inside is None:
        target[...] = memory.values[at.elements]
        return found
    values = np.zeros(target.shape, target.dtype)
    values[at.inside] = memory.values[at.elements[at.inside]]
    _write(target, values, at.mask)
    return found


def _global_store(m: Machine, op: kir.GlobalStore, mask: Mask) -> Reaches:
    found = reaches(m, op, mask)
    at = _only(found, GlobalReach)
    memory = m.tensors[op.tensor]
    values = cast(m.element(op.source), memory.values.dtype)  # to nearest even
    if at.in_order:
        memory.runs[at.first] = values
        return found
    active = ... if at.inside is None else at.inside
    memory.values[at.elements[active]] = values[active]
    return found


# ---- registers


def _zero(m: Machine, op: kir.Zero, mask: Mask) -> Reaches:
    _write(m.element(op.target), 0, mask)
    return ()


def _scale(m: Machine, op: kir.Scale, mask: Mask) -> Reaches:
    target = m.element(op.target)
    _write(target, target * np.float32(op.factor), mask)
    return ()


def _pointwise(m: Machine, op: kir.Pointwise, mask: Mask) -> Reaches:
    operands = [widened(m.element(x)) if isinstance(x, kir.Element) else np.float32(m.values[x]) for x in op.operands]
    values = evaluate(op.formula, operands)
    target = m.element(op.target)
    if op.inside is not None:
        index, extents = m.at(op.inside.index), m.at(op.inside.extents)
        own = op.inside.own
        more = further(len(index), op.inside.along, CHUNK) if own is None else owned(own, CHUNK)
        inside = which(m, index, extents, more, None, CHUNK)
        values = np.where(inside, values, np.float32(0))
    _write(target, cast(values, target.dtype), mask)
    return ()


# ---- shared memory


def _shared_store(m: Machine, op: kir.SharedStore, mask: Mask) -> Reaches:
    found = reaches(m, op, mask)
    at = _only(found, SharedReach)
    _scatter(m.memory.reshape(-1, CHUNK), _rows(m, at, 0), m.element(op.source), at.mask)
    return found


def _shared_load(m: Machine, op: kir.SharedLoad, mask: Mask) -> Reaches:
    found = reaches(m, op, mask)
    at = _only(found, SharedReach)
    _write(m.element(op.target), m.memory.reshape(-1, CHUNK).take(_rows(m, at, 0), 0), at.mask)
    return found


def _fragment_load(m: Machine, op: kir.FragmentLoad, mask: Mask) -> Reaches:
    found = reaches(m, op, mask)
    at = _only(found, SharedReach)
    groups = m.element(op.target).reshape(*m.shape, -1, op.access)
    for g in range(len(at.units)):
        _write(groups[..., g, :], m.memory.reshape(-1, op.access).take(_rows(m, at, g), 0), at.mask)
    return found


def _load_matrix(m: Machine, op: kir.LoadMatrix, mask: Mask) -> Reaches:
    """What the instruction does: chunks from where lanes say, then its own distribution; no ownership map is asked."""
    found = reaches(m, op, mask)
    at = _only(found, SharedReach)
    who, each = handed(op.load, op.count, op.transposed), 2 * op.count
    target, rows = m.element(op.target).view(np.uint16), m.memory.view(np.uint16).reshape(-1, CHUNK)
    for n in range(len(at.units)):
        named = rows.take(_rows(m, at, n), 0).reshape(*m.shape[:2], LANES * CHUNK)
        _write(target[..., each * n : each * (n + 1)], named.take(who, 2), mask)
    return found


def _store_matrix(m: Machine, op: kir.StoreMatrix, mask: Mask) -> Reaches:
    """What the instruction does: values over chunks by its own distribution, chunks to where lanes say."""
    found = reaches(m, op, mask)
    at = _only(found, SharedReach)
    who, each, lines = handed(op.store, op.count, op.transposed), 2 * op.count, 8 * op.count
    values = cast(m.element(op.source), POISON[m.ir.kind].dtype).view(np.uint16)
    rows, taking = m.memory.view(np.uint16).reshape(-1, CHUNK), ... if at.mask is None else at.mask[..., :lines]
    for n in range(len(at.units)):
        named = np.empty((*m.shape[:2], lines * CHUNK), np.uint16)
        named[..., who.reshape(-1)] = values[..., each * n : each * (n + 1)].reshape(*m.shape[:2], -1)
        place = _rows(m, at, n)[..., :lines]
        rows[place[taking]] = named.reshape(*m.shape[:2], lines, CHUNK)[taking]
    return found


@lru_cache(maxsize=16)
def handed(load: MatrixLoad | MatrixStore, count: int, transposed: bool) -> np.ndarray:
    """Which of the values that a warp's lanes name, lane * 8 + place, each value of each lane is, or becomes:
    [lane, value]."""
    source, place = apply(load.distribution(count, transposed), np.arange(LANES)[:, None], np.arange(2 * count))
    return np.asarray(source * CHUNK + place)


def _async_copy(m: Machine, op: kir.AsyncCopy, mask: Mask) -> Reaches:
    read, write = found = reaches(m, op, mask)
    assert isinstance(read, GlobalReach) and isinstance(write, SharedReach)
    m.copies.issue(m, read, write)
    return found


# ---- tensor cores


def _mma(m: Machine, op: kir.Mma, mask: Mask) -> Reaches:
    d = m.element(op.d)
    a, b = (x.reshape(-1, LANES * x.shape[-1]) for x in (m.element(op.a), m.element(op.b)))
    for values, at_a, at_b, at_d in gathers(op.macro):
        # [warp, unit, row, k] @ [warp, unit, k, column], back to [warp, lane, value]
        left, right = (widened(x).astype(np.float64) for x in (a.take(at_a, 1), b.take(at_b, 1)))
        product = (left @ right).astype(np.float32)
        product = product.reshape(len(a), -1).take(at_d, 1).reshape(*m.shape, -1)
        if isinstance(values, slice):
            _write(d[..., values], d[..., values] + product, mask)
        else:
            before = d[..., values]
            d[..., values] = before + product if mask is None else np.where(mask[..., None], before + product, before)
    return ()


@lru_cache(maxsize=64)
def gathers(macro: MacroMma) -> tuple[tuple[Any, np.ndarray, np.ndarray, np.ndarray], ...]:
    """Each instruction of a macro-MMA as gathers, from the instruction's own ownership maps.

    Returns, for each step: the values of the accumulator fragment that it works on, a slice where they are
    consecutive; where the units' matrices A [unit, row, k] and B [unit, k, column] lie in a warp's fragments
    (lane * values of a fragment + value); where each lane's accumulator values [lane, value] lie in the units'
    products [unit, row, column].

    Raises
    ------
    NoProduct : an element of a unit's A or B is no lane's.
    """
    lane = np.arange(LANES)[:, None]
    instruction, steps = macro.instruction, []
    (unit,) = apply(instruction.unit, lane)
    rows, cols, depth = instruction.shape
    for step in macro.steps:
        at = np.full((instruction.units, rows, depth), -1), np.full((instruction.units, depth, cols), -1)
        sides = zip("AB", at, (instruction.a, instruction.b), (step.a, step.b), macro.values[:2], strict=True)
        for name, matrix, own, values, width in sides:
            matrix[unit, *apply(in_registers(own), lane, np.arange(len(values)))] = lane * width + np.array(values)
            if (matrix < 0).any():
                number, line, run = (int(x) for x in np.argwhere(matrix < 0)[0])
                raise NoProduct(
                    f"{instruction.title}: no lane has {name}[{line}, {run}] of {instruction.scope.name} {number}",
                    where=str(own),
                )
        row, col = apply(instruction.d, lane, np.arange(len(step.d)))
        at_d = (unit * rows + row) * cols + col
        consecutive = step.d == tuple(range(step.d[0], step.d[0] + len(step.d)))
        values = slice(step.d[0], step.d[-1] + 1) if consecutive else np.array(step.d)
        steps.append((values, *at, at_d))
    return tuple(steps)


# ---- exchange


def _exchange_store(m: Machine, op: kir.ExchangeStore, mask: Mask) -> Reaches:
    ex, fragment = op.exchange, cast(m.element(op.source), POISON[op.exchange.kind].dtype)
    found = reaches(m, op, mask)
    at = _only(found, SharedReach)
    pieces = m.memory.reshape(-1, CHUNK).view(fragment.dtype).reshape(-1, len(ex.pieces[0]))
    for n, values in enumerate(ex.pieces):
        _scatter(pieces, _rows(m, at, n), fragment[..., values], at.mask)
    return found


def _exchange_load(m: Machine, op: kir.ExchangeLoad, mask: Mask) -> Reaches:
    ex, target = op.exchange, m.element(op.target)
    found = reaches(m, op, mask)
    total: Any = None
    for at in found:  # a part each
        assert isinstance(at, SharedReach)
        loaded = [m.memory.reshape(-1, CHUNK).take(_rows(m, at, n), 0) for n in range(len(at.units))]
        run = np.concatenate([x.view(POISON[ex.kind].dtype) for x in loaded], -1)[..., ex.words]
        total = run if total is None else widened(total) + widened(run)
    _write(target, cast(total, target.dtype), found[-1].mask)
    return found


def _take_run(m: Machine, op: kir.TakeRun, mask: Mask) -> Reaches:
    number = m.number(op.round, "the round of a run")
    if not 0 <= number < op.runs.rounds:
        raise OutOfBounds(f"run {number} of {op.source.array}, whose lanes have {op.runs.rounds} each")
    (values,) = op.runs.picks.evaluate({"round": number, "v": np.arange(CHUNK)})
    _write(m.element(op.target), m.element(op.source)[..., values], mask)
    return ()


def _order(
    m: Machine, op: kir.Barrier | kir.CommitCopies | kir.WaitCopies | kir.AwaitGrids | kir.ReleaseGrids, mask: Mask
) -> Reaches:
    return ()  # who must be there, what is closed and what is waited for: the machine does it for whatever says so


EFFECTS: dict[type, Effect] = {
    kir.Zero: _zero,
    kir.Scale: _scale,
    kir.GlobalLoad: _global_load,
    kir.Pointwise: _pointwise,
    kir.SharedStore: _shared_store,
    kir.SharedLoad: _shared_load,
    kir.FragmentLoad: _fragment_load,
    kir.Mma: _mma,
    kir.ExchangeStore: _exchange_store,
    kir.ExchangeLoad: _exchange_load,
    kir.GlobalStore: _global_store,
    kir.TakeRun: _take_run,
    kir.Barrier: _order,
    kir.LoadMatrix: _load_matrix,
    kir.StoreMatrix: _store_matrix,
    kir.AsyncCopy: _async_copy,
    kir.CommitCopies: _order,
    kir.WaitCopies: _order,
    kir.AwaitGrids: _order,
    kir.ReleaseGrids: _order,
    **units.EFFECTS,
}


def _write(target: np.ndarray, values: Any, mask: Mask) -> None:
    """target[...] = values, where the threads take part."""
    np.copyto(target, values, where=True if mask is None else mask[..., None])


def _scatter(rows: np.ndarray, place: np.ndarray, values: np.ndarray, mask: Mask) -> None:
    """rows[place] = values, where the threads take part."""
    active = ... if mask is None else mask
    rows[place[active]] = values[active]


def _rows(m: Machine, at: SharedReach, access: int) -> np.ndarray:
    """The units of one access in the memories of all blocks."""
    return at.rows(m.shape, m.memory.shape[1], access)
