"""What each operation of a kernel does to memories of tags, and what must hold for it.

The counterpart of `machine.operations`: there an operation moves and computes numbers, here tags. What is read must
have been written; a fragment must be the tile's elements at its place; operands of a macro-MMA must belong together
(`products`), parts of a split K be disjoint (`sums`), and what is stored be the graph's (`results`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import CHUNK
from polyvolta.cuda.verify.engine.addresses import byte_text, layout_of, offsets
from polyvolta.cuda.verify.engine.memories import HIGH, LOW, SLOT, WHOLE, Memories
from polyvolta.cuda.verify.engine.past_threads import SIDES
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.fragments.transfers import loaded
from polyvolta.cuda.verify.values import sums
from polyvolta.cuda.verify.values.engines import asynchronous
from polyvolta.cuda.verify.values.engines.knowledge import Knowledge
from polyvolta.cuda.verify.values.expressions import extent_of
from polyvolta.cuda.verify.values.gathering import table
from polyvolta.cuda.verify.values.reads import Read
from polyvolta.cuda.verify.values.results import check_store
from polyvolta.cuda.verify.values.values import (
    UNKNOWN,
    Computed,
    Load,
    Scalar,
    Skeleton,
    Sum,
    Tags,
    combinations,
    composed,
    element_text,
    is_narrowed,
    narrowed,
)
from polyvolta.graph.functions.formats import KINDS


def apply(known: Knowledge, state: Memories, here: Here) -> None:
    """The operation at which the machine stands.

    Raises
    ------
    Undecided : an operation that isn't known.
    """
    effect = EFFECTS.get(type(here.op))
    if effect is None:
        raise Undecided(f"what a {type(here.op).__name__} does to memories is not known here")
    effect(known, state, here)


def _zero(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.Zero)
    shape = state.element(op.target, here).kind.shape
    state.write(op.target, Tags(np.full(shape, known.table.zero, np.int32), np.zeros((*shape, 2), np.int32)), here)


def _scale(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.Scale)
    values = state.element(op.target, here)
    _exact(known, values, op.target.array, here)
    kinds = values.kind.copy()
    for (kind,), where in combinations([values.kind], here.mask):
        total = known.table[kind] if kind != UNKNOWN else None
        if not isinstance(total, Sum):
            here.refute("sums", f"{op.target.array} is scaled before anything was summed in it")
            continue
        made = sums.scaled(total, op.factor)
        if made is None:
            what = (
                f"{op.target.array} is scaled by {op.factor:g}, beyond the factors 2^-64 .. 2^64 that fp32 has room for"
            )
            here.refute("result", what)
            continue
        kinds[... if where is None else where] = known.table.number(made)
    state.write(op.target, Tags(kinds, values.at), here)


def _exact(known: Knowledge, values: Tags, name: str, here: Here) -> None:
    """Refute arithmetic with what was rounded to 16 bits before."""
    active = values.kind if here.mask is None else values.kind[here.mask]
    wrong = [k for k in np.unique(active) if k != UNKNOWN and is_narrowed(known.table[k])]
    if wrong:
        where = values.kind == wrong[0]
        if here.mask is not None:
            where &= here.mask[..., None]
        warp, lane, value = (int(x) for x in np.argwhere(where)[0])
        text = element_text(known.table[wrong[0]], values.at[warp, lane, value], known.meaning.names)
        form = KINDS[here.ir.kind].short
        what = f"{text} in {name} was rounded to {form}, and is computed with; the graph has fp32 there"
        here.refute("result", what, warp=warp, lane=lane)


def _rounded(known: Knowledge, values: Tags) -> Tags:
    """Values in 16 bits."""
    kinds = values.kind.copy()
    for kind in (int(k) for k in np.unique(kinds) if k != UNKNOWN):
        kinds[values.kind == kind] = known.table.number(narrowed(known.table[kind]))
    return Tags(kinds, values.at)


def _is_narrow(here: Here, element: kir.Element) -> bool:
    return here.ir.register(element.array).kind in kir.NARROW


def _global_load(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.GlobalLoad)
    state.write(op.target, _elements(known, here, state.element(op.target, here).kind.shape), here)


def _elements(known: Knowledge, here: Here, shape: tuple[int, ...]) -> Tags:
    """The elements of a tensor that an operation reads, of some shape [warp, lane, value]."""
    access = _of_tensor(here)
    parts = [here.split(e) for e in access.index]
    kind = known.table.number(Load(access.array, tuple(base for base, _ in parts)))
    numbers = (x[..., None] + more for (_, x), more in zip(parts, offsets(access), strict=True))
    at = np.stack([np.broadcast_to(x, shape) for x in numbers], -1).astype(np.int32)
    return Tags(np.full(at.shape[:-1], kind, np.int32), at)


def _of_tensor(here: Here) -> Access:
    """What a load or a store touches in global memory."""
    (found,) = (a for a in here.accesses if a.space == "global")
    return found


def _pointwise(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.Pointwise)
    operands = [state.element(x, here) if isinstance(x, kir.Element) else x for x in op.operands]
    arrays = [x for x in operands if isinstance(x, Tags)]
    for element, values in zip(op.operands, operands, strict=True):
        if isinstance(element, kir.Element) and isinstance(values, Tags):
            _exact(known, values, element.array, here)
    shape = state.element(op.target, here).kind.shape
    if not arrays:  # a formula of scalars alone
        arrays_kinds = [np.zeros(shape, np.int32)]
    else:
        arrays_kinds = [x.kind for x in arrays]
    result = Tags.unknown(*shape)
    coordinates = [x.at for x in arrays]
    for kinds, where in combinations(arrays_kinds, here.mask):
        if arrays and UNKNOWN in kinds:  # whoever uses the result will see
            continue
        numbers = iter(kinds)
        parts = [Scalar(x) if isinstance(x, str) else known.table[next(numbers)] for x in operands]
        skeleton = composed(op.formula, parts)
        widths = [p.width for p in parts if not isinstance(p, Scalar)]
        at = [c[..., :w] for c, w in zip(coordinates, widths, strict=True)]
        joint = np.concatenate(at, -1) if at else np.zeros((*shape, 0), np.int32)
        if any(isinstance(p, Computed) and p.vanishes for p in parts):
            raise Undecided(f"{op.name} computes with what is an operand of a product already")
        skeleton = _vanishing(known, skeleton, joint, where, here)
        if _is_narrow(here, op.target):
            skeleton = narrowed(skeleton)
        made = Tags(np.full(shape, known.table.number(skeleton), np.int32), joint)
        if joint.shape[-1] < 2:
            made.at = np.concatenate([joint, np.zeros((*shape, 2 - joint.shape[-1]), np.int32)], -1)
        result.put((), made, where)
    state.write(op.target, result, here)


def _vanishing(known: Knowledge, skeleton: Skeleton, at: np.ndarray, where: np.ndarray | None, here: Here) -> Skeleton:
    """The skeleton, marked if it is 0 beyond the k range of the product whose operand it is."""
    op = here.op
    assert isinstance(op, kir.Pointwise)
    if not isinstance(skeleton, Computed):
        return skeleton
    sides = [(s, which) for which in "ab" for s in known.meaning.sides(skeleton, which)]
    if not sides:
        if op.inside is not None:
            text = element_text(skeleton, at[0, 0, 0], known.meaning.names)
            here.refute("result", f"{text} is no operand of the graph's products", warp=0, lane=0)
        return skeleton
    side, which = sides[0]
    p = known.meaning.products[side.product]
    base, columns, extent = side.bases[1], side.columns[1], p.depth
    active = np.ones(at.shape[:-1], bool) if where is None else where
    if here.mask is not None:
        active = active & here.mask[..., None]
    k = at[..., columns[0]]
    if op.inside is None:
        inside = side.vanishes or here.holds(extent - 1 - base - int(k[active].max()))
        return replace(skeleton, vanishes=inside)
    vanishes = side.vanishes
    for d, (e, end) in enumerate(zip(op.inside.index, op.inside.extents, strict=True)):
        symbolic, numbers = here.split(e)
        more = np.arange(CHUNK) * (d == op.inside.along) if op.inside.own is None else table(op.inside.own)[..., d]
        place = numbers[..., None] + more
        kept = []
        for own, column, size in zip(
            side.bases, side.columns, (extent_of(p.extents[0 if which == "a" else 1]), extent)
        ):
            wrong = (place != at[..., column[0]]) & active
            kept.append((symbolic == own and end == size, wrong))
        fits = [n for n, (same, wrong) in enumerate(kept) if same and not wrong.any()]
        if not fits:
            _, wrong = kept[1]
            warp, lane, value = np.argwhere(wrong if wrong.any() else active)[0]
            text = element_text(skeleton, at[warp, lane, value], known.meaning.names)
            edge = f"{symbolic + int(place[warp, lane, value])} < {end}"
            here.refute("result", f"{text} is kept where {edge}, and 0 elsewhere", warp=int(warp), lane=int(lane))
            vanishes = True  # said once
        vanishes = vanishes or 1 in fits
    return replace(skeleton, vanishes=vanishes)


def _shared_store(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.SharedStore)
    if not _is_narrow(here, op.source):
        raise Undecided(f"{op.source.array} is stored to {op.tile}, whose values are {KINDS[here.ir.kind].short}")
    (at,) = here.addresses
    state.store(at.values(SLOT), state.element(op.source, here), here)


def _shared_load(known: Knowledge, state: Memories, here: Here) -> None:
    """A chunk of what was stored, as it is: what is computed with it is looked at where it is multiplied."""
    op = here.op
    assert isinstance(op, kir.SharedLoad)
    (at,) = here.addresses
    slots = at.values(SLOT)
    _fragment(known, state, here, slots, tuple(np.broadcast_to(x, slots.shape) for x in at.elements))


def _fragment_load(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.FragmentLoad)
    (at,) = here.addresses
    slots = at.values(SLOT)
    local = tuple(np.broadcast_to(x, slots.shape) for x in at.elements)
    _fragment(known, state, here, slots, local)


def _load_matrix(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.LoadMatrix)
    _fragment(known, state, here, *loaded(here, op, here.ir.register(op.target.array).width))


def _fragment(
    known: Knowledge, state: Memories, here: Here, slots: np.ndarray, local: tuple[np.ndarray, ...]
) -> None:
    """A fragment is what lies in slots, which is to be the tile's elements `local`, [warp, lane, value] each."""
    op = here.op
    assert isinstance(op, kir.FragmentLoad | kir.LoadMatrix | kir.SharedLoad)
    values, halves, writers = state.load(slots)
    loaded_by: Any = op  # of a `SharedLoad` nobody asks for its operand
    read = Read(loaded_by, values, local, slots, tuple(n for n, _ in layout_of(here.ir.tile(op.tile)).inputs))
    active = np.ones(slots.shape, bool) if here.mask is None else np.broadcast_to(here.mask[..., None], slots.shape)
    bad = ((values.kind == UNKNOWN) | (halves != WHOLE)) & active
    if bad.any():
        spot = tuple(int(x) for x in np.argwhere(bad)[0])
        writer = state.writer(int(writers[spot]))
        why = "before anything was written there" if writer is None else "where there is nothing that was loaded"
        if halves[spot] != WHOLE:
            why = "where half of an fp32 value lies"
        read.refute(here, spot, why, writer)
    elif not isinstance(op, kir.SharedLoad) and op.operand in SIDES:  # what else is loaded is looked at where it goes
        for spot, why, proofs, when in read.strays(known.table, known.meaning, active, known.tiles):
            read.refute(here, spot, why, state.writer(int(writers[spot])), proofs, when)
    state.write(op.target, values, here)


def _store_matrix(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.StoreMatrix)
    values = state.element(op.source, here)
    slots, _ = loaded(here, op, values.kind.shape[-1])
    state.store(slots, _rounded(known, values), here)


def _async_copy(known: Knowledge, state: Memories, here: Here) -> None:
    """The values of a copy, which is complete when it is issued."""
    (at,) = here.addresses
    slots = at.values(SLOT)
    state.store(slots, _elements(known, here, slots.shape), here)


def _mma(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.Mma)
    d, a, b = (state.element(x, here) for x in (op.d, op.a, op.b))
    _exact(known, d, op.d.array, here)
    state.write(op.d, known.products.multiplied(here, d, a, b), here)


def _exchange_store(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.ExchangeStore)
    (at,) = here.addresses
    values = state.element(op.source, here).values(np.array(op.exchange.pieces).reshape(-1))
    slots, size = at.values(SLOT), at.access.item // SLOT
    if op.exchange.kind in kir.NARROW:
        values = _rounded(known, values)
    for half in range(size):
        state.store(slots + half, values, here, WHOLE if size == 1 else (LOW, HIGH)[half])


def _exchange_load(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.ExchangeLoad)
    if op.parts < 1:
        raise Undecided(f"{op.target.array} is loaded from {op.parts} parts of {op.buffer}")
    parts = []
    for part in here.addresses:
        slots, size = part.values(SLOT)[..., list(op.exchange.words)], part.access.item // SLOT
        values, halves, writers = state.load(slots)
        bad = (values.kind == UNKNOWN) | (halves != (WHOLE if size == 1 else LOW))
        if size == 2:
            other, high, _ = state.load(slots + 1)
            width = max(values.at.shape[-1], other.at.shape[-1])
            bad |= (high != HIGH) | (other.kind != values.kind)
            bad |= (other.at[..., :width] != values.at[..., :width]).any(-1)
        if here.mask is not None:
            bad &= here.mask[..., None]
        if bad.any():
            at = tuple(int(x) for x in np.argwhere(bad)[0])
            writer = state.writer(int(writers[at]))
            why = "before anything was written there" if writer is None else "where no whole value lies"
            address = byte_text(here.ir, SLOT * int(slots[at]))
            what = f"warp {at[0]}, lane {at[1]} reads {op.buffer} {why}"
            here.refute("fresh", what, warp=at[0], lane=at[1], address=address, other=writer)
        parts.append(values)
    if op.parts > 1:
        for values in parts:
            _exact(known, values, op.buffer, here)
    found = parts[0] if op.parts == 1 else _summed(known, parts, here)
    state.write(op.target, _rounded(known, found) if _is_narrow(here, op.target) else found, here)


def _summed(known: Knowledge, parts: list[Tags], here: Here) -> Tags:
    """The sum of the parts of a split K."""
    result = Tags(parts[0].kind.copy(), parts[0].at.copy())
    for kinds, where in combinations([p.kind for p in parts], here.mask):
        skeletons = [known.table[k] if k != UNKNOWN else None for k in kinds]
        if not all(isinstance(s, Sum) for s in skeletons):
            here.refute("sums", "what is added up is no sum of products", warp=0, lane=0)
            continue
        filled = [(s, p.at[..., :2]) for s, p in zip(skeletons, parts, strict=True) if isinstance(s, Sum) and s.terms]
        total: Sum = known.table[known.table.zero]  # type: ignore[assignment]
        place = parts[0].at[..., :2] if not filled else filled[0][1]
        for s, at in filled:
            if total.terms and s.base != total.base:
                here.refute("sums", "parts of different elements are added up", warp=0, lane=0)
            wrong = (at != place).any(-1)
            if where is not None:
                wrong &= where
            if here.mask is not None:
                wrong &= here.mask[..., None]
            if wrong.any():
                spot = tuple(int(x) for x in np.argwhere(wrong)[0])
                texts = [element_text(x, p[spot], known.meaning.names) for x, p in ((s, at), (filled[0][0], place))]
                here.refute("sums", f"{texts[0]} is added to {texts[1]}", warp=spot[0], lane=spot[1])
            for term in s.terms:
                known.parts.setdefault(term.product, {})[term.before or term.now] = None
            total, problem = sums.together(total, s, known.meaning)
            sums.report(problem, here)
        made = Tags(np.full(result.kind.shape, known.table.number(total), np.int32), place)
        result.put((), made, where)
    return result


def _global_store(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.GlobalStore)
    check_store(known.table, known.meaning, here, _of_tensor(here), state.element(op.source, here), known.notes)


def _take_run(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.TakeRun)
    number = here.number(op.round)
    if not 0 <= number < op.runs.rounds:
        here.refute("result", f"run {number} is taken of {op.source.array}, whose lanes have {op.runs.rounds} each")
        return
    (values,) = op.runs.picks.evaluate({"round": number, "v": np.arange(CHUNK)})
    state.write(op.target, state.element(op.source, here).values(values), here)


def _orders(known: Knowledge, state: Memories, here: Here) -> None:
    """Whether barriers, commits and waits are where they should be is shown elsewhere."""


EFFECTS: dict[type, Callable[[Knowledge, Memories, Here], None]] = {
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
    kir.Barrier: _orders,
    kir.LoadMatrix: _load_matrix,
    kir.StoreMatrix: _store_matrix,
    kir.AsyncCopy: _async_copy,
    kir.CommitCopies: _orders,
    kir.WaitCopies: _orders,
    **asynchronous.EFFECTS,
}
