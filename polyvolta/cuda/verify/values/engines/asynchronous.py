"""What boxes and products of warpgroups do to memories of tags, and what must hold for it.

To the machine both are complete when they are issued (`engine.instances`). A box brings a tensor's elements, or 0 for
those outside, to where the copy engine puts them; a product takes for its operands whatever lies where its descriptors
lead. That these are the tile's elements at the operand's place is looked at as with a fragment load (`reads`), and what
they sum to as with any other product (`products`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.verify.engine.addresses import layout_of
from polyvolta.cuda.verify.engine.memories import WHOLE, Memories
from polyvolta.cuda.verify.engine.past_threads import Reach
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.values.engines.knowledge import Knowledge
from polyvolta.cuda.verify.values.engines.phases import arrived, awaited
from polyvolta.cuda.verify.values.gathering import table
from polyvolta.cuda.verify.values.reads import Fragment, Read
from polyvolta.cuda.verify.values.results import check_box
from polyvolta.cuda.verify.values.values import UNKNOWN, Load, Tags


def _box_copy(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.BoxCopy)
    for reach in here.reaches:
        tensor, parts, numbers = _of_tensor(op, reach, here)
        kind = known.table.number(Load(tensor, parts))
        at = np.stack(numbers, -1).astype(np.int32)
        state.put(reach.values, Tags(np.full(at.shape[:-1], kind, np.int32), at), here)
        size = here.ir.box_map(op.map).bytes
        state.phases = arrived(state.phases, op.phase.barriers, op.phase.number, 0, -size, here)


def _of_tensor(
    op: kir.BoxCopy | kir.BoxStore, reach: Reach, here: Here
) -> tuple[str, tuple, tuple[np.ndarray, np.ndarray]]:
    """The tensor of a box, and of each index the symbolic part and the numbers [line, value]."""
    m = here.ir.box_map(op.map)
    order, box = here.ir.tensor(m.tensor).order, m.box
    steps = dict(zip(order, np.meshgrid(np.arange(box.lines), np.arange(box.run), indexing="ij"), strict=True))
    parts = [here.split(e) for e in op.index]
    numbers = [int(x[reach.warp, reach.lane]) + steps[d] for d, (_, x) in enumerate(parts)]
    return m.tensor, tuple(base for base, _ in parts), (numbers[0], numbers[1])


def _box_store(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.BoxStore)
    for reach in here.reaches:
        tensor, bases, numbers = _of_tensor(op, reach, here)
        values, halves, _ = state.load(reach.values)
        values.kind = np.where(halves == WHOLE, values.kind, np.int32(UNKNOWN))
        check_box(known.table, known.meaning, here.by(reach.warp, reach.lane), tensor, bases, numbers, values,
                  known.notes)  # fmt: skip


def _arrive(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.Arrive)
    count = here.ir.threads if here.mask is None else int(np.count_nonzero(here.mask))
    state.phases = arrived(state.phases, op.phase.barriers, op.phase.number, count, count * op.bytes, here)


def _await(known: Knowledge, state: Memories, here: Here) -> None:
    op = here.op
    assert isinstance(op, kir.Await)
    awaited(state.phases, op.phase.barriers, op.phase.number, here)


def _wgmma(known: Knowledge, state: Memories, here: Here) -> None:
    """Operands are read by warpgroup, and the product goes to the registers of their threads."""
    op = here.op
    assert isinstance(op, kir.Wgmma)
    if op.adds:
        raise Undecided("a product that adds where a condition holds should be said in simpler words")
    groups = sorted({r.warp for r in here.reaches})
    assert len(here.reaches) == len(groups) * len(op.shared)
    warps = np.concatenate([np.arange(w, w + WARPS) for w in groups])
    if here.mask is not None and not here.mask[warps].all():
        here.refute("sums", "only some threads of a warpgroup take part in a product", warp=int(groups[0]))
        return
    sides = [_operand(known, state, here, Fragment(x.tile, letter), here.reaches[n * len(groups) :][: len(groups)])
             for n, (letter, x) in enumerate(op.shared)]  # fmt: skip
    if isinstance(op.a, kir.Element):
        sides.insert(0, _matrix(op.macro, state.element(op.a, here)[warps]))
    parts = [state.element(e, here)[warps] for e in op.d]
    d = Tags(np.concatenate([p.kind for p in parts], -1), np.concatenate([p.at for p in parts], -2))
    made = known.products.of_warpgroups(here, np.array(groups), d, *sides)
    at = 0
    for e, before in zip(op.d, parts, strict=True):
        width = before.kind.shape[-1]
        new = state.element(e, here)
        width_at = max(new.at.shape[-1], made.at.shape[-1])
        kind, places = new.kind.copy(), np.zeros((*new.kind.shape, width_at), np.int32)
        places[..., : new.at.shape[-1]] = new.at
        kind[warps] = made.kind[..., at : at + width]
        places[warps] = 0
        places[warps, :, :, : made.at.shape[-1]] = made.at[..., at : at + width, :]
        state.write(e, Tags(kind, places), here)
        at += width


def _matrix(macro: MacroMma, held: Tags) -> Tags:
    """A left operand that warps hold [warp, lane, value], as matrices [warpgroup, row, k]."""
    rows, _, depth = macro.shape
    assert not isinstance(macro.a, InShared)
    own = table(macro.a)
    kind, at = (x.reshape(-1, *own.shape[:2], *x.shape[3:]) for x in (held.kind, held.at))
    found = Tags.unknown(len(kind), rows, depth)
    found.at = np.zeros((len(kind), rows, depth, at.shape[-1]), np.int32)
    place = tuple(np.moveaxis(own, -1, 0))
    found.kind[:, *place], found.at[:, *place] = kind, at
    return found


def _operand(known: Knowledge, state: Memories, here: Here, of: Fragment, mine: tuple[Reach, ...]) -> Tags:
    """What the warpgroups read of an operand, [warpgroup, row or column, k]: it is to be the tile's elements."""
    slots = np.stack([r.values for r in mine])
    local = tuple(np.stack([r.elements[d] for r in mine]) for d in (0, 1))
    values, halves, writers = state.load(slots)
    names = tuple(n for n, _ in layout_of(here.ir.tile(of.tile)).inputs)
    read = Read(of, values, local, slots, names, tuple(r.warp for r in mine))
    bad = (values.kind == UNKNOWN) | (halves != WHOLE)
    if bad.any():
        spot = tuple(int(x) for x in np.argwhere(bad)[0])
        writer = state.writer(int(writers[spot]))
        why = "before anything was written there" if writer is None else "where there is nothing that was loaded"
        read.refute(here, spot, why, writer)
    else:
        for spot, why, proofs, when in read.strays(known.table, known.meaning, ~bad, known.tiles):
            read.refute(here, spot, why, state.writer(int(writers[spot])), proofs, when)
    return values


def _orders(known: Knowledge, state: Memories, here: Here) -> None:
    """Whether fences, commits and waits are where they should be is shown elsewhere."""


EFFECTS: dict[type, Callable[[Knowledge, Memories, Here], None]] = {
    kir.BoxCopy: _box_copy,
    kir.BoxStore: _box_store,
    kir.Arrive: _arrive,
    kir.Await: _await,
    kir.Wgmma: _wgmma,
    kir.AwaitGrids: _orders,
    kir.ReleaseGrids: _orders,
    kir.InitBarriers: _orders,
    kir.ProxyFence: _orders,
    kir.CommitStores: _orders,
    kir.WaitStores: _orders,
    kir.WgmmaFence: _orders,
    kir.WgmmaCommit: _orders,
    kir.WgmmaWait: _orders,
}
"""What each operation of boxes, phases and warpgroups does."""
