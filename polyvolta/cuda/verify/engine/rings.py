"""Rings of slots, said relative to the trip: in a loop over k tiles, slot (c2 + 1) mod 3 is "the next one".

A ring comes round after as many trips as it has slots, and the machine would run that many before a state repeats. But
nothing in the loop knows which slot is which: all that it says of them is (c2 + a) mod S. So the slots may be numbered
anew in each trip, from the one at c2 mod S on. Then the loop's body says `a mod S`, a number, in every trip, and
between two trips the ring *turns*: what was slot 1 is slot 0. A state that repeats in these terms repeats in fact,
turned.

That is so where the loop reaches what the ring occupies only by such slots, and has floors in c2 nowhere else, not
even the same ones (sets of registers that trips take in turn do not turn with the ring); other loops are run with the
slots' own numbers. Behind the loop the slots have their own numbers again, by cases of c2 mod S unless it is all one.

A ring may go on where another loop has left it: then its slots are (c2 + n + a) mod S, n being how many tiles there
were before, such as ceil(K/64), or those of a block's tiles before. At the beginning of the loop nobody knows which
slot is which, nor at its end; it is no matter if all slots are alike then, and undecided if not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, KernelIR, Loop, Op, When
from polyvolta.cuda.ir.walk import operations, put, walk
from polyvolta.cuda.verify.engine.symbols import BLOCKS, all_blocks, tile_names
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.aff import Floor

Turn = Mapping[str, int]  # tile -> by how many slots: slot r gets what slot r + n had


@dataclass(frozen=True, slots=True)
class Rings:
    """The rings of a loop.

    Parameters
    ----------
    loop : with numbers in place of slots.
    slots : of each tile that is a ring, how many.
    adrift : whether it goes on where nobody knows.
    """

    loop: Loop
    slots: Mapping[str, int]
    adrift: bool = False

    def turned(self, by: int) -> Turn:
        """Every ring turned by so many slots."""
        return {tile: by % count for tile, count in self.slots.items()}


@runtime_checkable
class Turning(Protocol):
    """A client whose states say things of slots, or nothing."""

    def turn(self, state: object, by: Turn) -> None:
        """Number the slots of some tiles anew."""
        ...


def rings_of(loop: Loop, ir: KernelIR) -> Rings | None:
    """The rings of a loop over k tiles; None where it has none, or what it says of its variable isn't that alone.

    >>> from polyvolta.cuda.ir.kernel_ir import Barrier
    >>> rings_of(Loop("c2", (aff(0),), (aff(9),), 1, False, (Barrier(),)), None) is None
    True
    """
    found = [a for op in operations(loop.body) for a in op.accesses(ir) if a.space == "shared"]
    said = {a.slot for a in found if loop.var in a.slot.names()}
    slots = {a.array: ir.tile(a.array).buffers for a in found if a.slot in said}
    relative = {e: of_trip(e, loop, ir, slots[a.array]) for a in found if (e := a.slot) in said}
    bases = {base for base, _ in relative.values()}
    if not slots or not _slots_alone(loop, ir) or not all(e.is_constant for e in loop.lower) or len(bases) > 1:
        return None
    (base,) = bases
    counts = {e: count for e, (_, count) in relative.items() if count is not None}
    if base is None or base.names() - {*ir.sizes, *BLOCKS, *tile_names(ir)}:
        return None
    for a in found:
        ring = a.array in slots
        if ring and (a.slot not in said or a.slot_chunks or relative[a.slot][1] != slots[a.array]):
            return None
        mine = _span(ir, a.array)
        if any(a.array != other and not _apart(mine, _span(ir, other)) for other in slots):
            return None
    fixed = put(loop.body, lambda e: _number(e, loop.var, base, counts[e]) if e in said else e)
    return Rings(replace(loop, body=fixed), slots, adrift=not base.is_constant)


def of_trip(slot: Aff, loop: Loop, ir: KernelIR, count: int) -> tuple[Aff | None, int | None]:
    """The n and S of a slot (c2 + n + a) mod S, n without a constant; None of another one."""
    if (period := turns_with(slot, loop.var)) is not None and slot.names() == {loop.var}:
        return aff(0), period
    line = _line(slot, loop.var, count)
    if line is None:
        return None, None
    known = all_blocks(ir, (loop.var,))
    if not (known.holds(slot) and known.holds(count - 1 - slot)):
        return None, None
    rest = line - var(loop.var)
    return (None, None) if loop.var in rest.names() else (rest - rest.const, count)


def _line(slot: Aff, name: str, count: int) -> Aff | None:
    """The e of e - S * floor(...), the one floor in a variable."""
    floors = [(x, c) for x, c in slot.terms if isinstance(x, Floor) and name in x.num.names()]
    if len(floors) != 1 or floors[0][1] != -count:
        return None
    return slot + count * Aff(((floors[0][0], 1),))


def _number(slot: Aff, name: str, base: Aff, count: int) -> Aff:
    """A slot relative to the one of (c2 + base) mod S."""
    if base.is_constant:
        return slot.subs({name: aff(0)})
    line = _line(slot, name, count)
    assert line is not None
    return aff((line - base - var(name)).const % count)


def turns_with(slot: Aff, name: str) -> int | None:
    """The S of an expression (name + ...) mod S; None of another one.

    >>> from polyvolta.sets import var
    >>> turns_with((var("c2") + 2) % 3, "c2"), turns_with(var("c2") + 2, "c2"), turns_with((2 * var("c2")) % 3, "c2")
    (3, None, None)
    """
    floors = [x for x, _ in slot.terms if isinstance(x, Floor) and name in x.num.names()]
    if len(floors) != 1:
        return None
    (floor,) = floors
    rest = floor.num - floor.num.subs({name: aff(0)})
    one = len(rest.terms) == 1 and rest.terms[0] == (name, 1) and not rest.const
    return floor.den if one and slot == floor.num - floor.den * Aff(((floor, 1),)) else None


def _slots_alone(loop: Loop, ir: KernelIR) -> bool:
    """Whether floors in a loop's variable are slots and nothing else: the one slot of an operation, said once in it.

    An index of registers or of a tensor may be the same expression; it doesn't turn with the ring. Of an operation that
    reaches several tiles each may have its slot.
    """
    for _, s in walk(loop.body):
        control = (*s.lower, *s.upper) if isinstance(s, Loop) else s.conditions if isinstance(s, When) else None
        found: list[Aff] = []
        put(s if control is None else control, lambda e, found=found: found.append(e) or e)
        floors = [e for e in found if any(isinstance(x, Floor) and loop.var in x.num.names() for x, _ in e.terms)]
        slots = [a.slot for a in s.accesses(ir) if a.space == "shared"] if isinstance(s, Op) else []
        if any(floors.count(e) > slots.count(e) for e in floors) or len(floors) > max(1, len(slots)):
            return False
    return True


def _span(ir: KernelIR, tile: str) -> tuple[int, int]:
    t = ir.tile(tile)
    return t.start, t.start + t.buffers * t.chunks


def _apart(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[1] <= b[0] or b[1] <= a[0]


def places(ir: KernelIR, by: Turn, size: int) -> np.ndarray:
    """For every piece of `size` bytes of a block's shared memory the one whose contents it has after a turn."""
    found = np.arange(ir.shared_bytes // size)
    for name, n in by.items():
        tile, per_chunk = ir.tile(name), CHUNK_BYTES // size
        first, count = tile.start * per_chunk, tile.chunks * per_chunk
        whole = found[first : first + tile.buffers * count].reshape(tile.buffers, count)
        found[first : first + tile.buffers * count] = np.roll(whole, -n, 0).ravel()
    return found
