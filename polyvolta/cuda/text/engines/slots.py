"""Slots of a ring that turn with a loop, so that no trip computes a remainder to know its tile's place.

In a loop over k tiles that come by boxes the tile of trip c2 is in slot (c2 + tiles) % 3 of its ring, and in phase
(c2 + tiles) / 3 of the slot's barriers, of which the hardware knows the parity. Both are variables of the loop's own:

    for (int c2 = 0, slot = tiles % 3, parity = tiles / 3 % 2; ...) {
      await_phase(full + slot, parity);
      ...
      turn_slot_of_3(slot, parity);

A slot that is d further is (slot + d) % 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from polyvolta.cuda.ir.engines.phases import Phase
from polyvolta.cuda.ir.kernel_ir import Loop, Memories
from polyvolta.cuda.ir.walk import operations, put
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.sets import Aff, var
from polyvolta.sets.values.aff import Floor

SLOT, PARITY = "slot", "parity"


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a ring in a loop.

    Parameters
    ----------
    number : of a trip's tile among all of the ring, which grows by 1 in each trip.
    size : how many slots there are.
    """

    number: Aff
    size: int

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """Of the variables."""
        return {SLOT: (0, self.size - 1), PARITY: (0, 1)}

    def first(self, loop: Loop) -> tuple[Aff, Aff]:
        """Slot and parity in the first trip."""
        number = self.number.subs({loop.var: loop.lower[0]})
        return number % self.size, number // self.size % 2

    def put(self, part: Any) -> Any:
        """A part of the loop's body with the variables in place of remainders, and of phases' numbers.

        >>> from polyvolta.sets import var
        >>> slots = Slots(var("c2") + var("tiles"), 3)
        >>> print(slots.put(1024 * ((var("c2") + var("tiles")) % 3) + 2 * var("c8")))
        2*c8 + 1024*slot
        >>> print(slots.put((var("c2") + var("tiles") + 2) % 3))
        (slot + 2) mod 3
        """
        return put(part, self._put, {Phase: self._phase})

    def _phase(self, p: Phase) -> Phase:
        return replace(p, slot=self._put(p.slot), number=self._numbered(p.number))

    def _put(self, e: Aff) -> Aff:
        total = e
        for atom, c in e.terms:
            if (further := self._further(atom)) is not None and c % self.size == 0:
                slot = (var(SLOT) + further) % self.size if further % self.size else var(SLOT)
                total = total - Aff(((atom, c),)) + c // self.size * (self.number + further - slot)
        return total

    def _numbered(self, number: Aff) -> Aff:
        """A phase's number with the same parity."""
        total = number
        for atom, c in number.terms:
            if c == 1 and self._further(atom) == 0:
                total = total - Aff(((atom, c),)) + var(PARITY)
        return total

    def _further(self, atom: object) -> int | None:
        """d of floor((number + d)/size)."""
        if not isinstance(atom, Floor) or atom.den != self.size:
            return None
        apart = atom.num - self.number
        return apart.const if apart.is_constant else None


def turning(loop: Loop, ir: Memories) -> Slots | None:
    """The slots that a loop turns by one in each trip, if there are any.

    Those of the first phase that the loop's body names.
    """
    if loop.unroll or loop.step != 1 or len(loop.lower) != 1:
        return None
    for phase in (p for op in operations(loop.body) if (p := getattr(op, "phase", None)) is not None):
        size = ir.phases(phase.barriers).slots
        for atom, c in phase.slot.terms:
            if isinstance(atom, Floor) and (atom.den, c) == (size, -size) and phase.slot == atom.num % size:
                found = Slots(atom.num, size)
                if atom.num.subs({loop.var: var(loop.var) + 1}) == atom.num + 1:
                    return found
    return None


@cache
def turn(size: int) -> DeviceFunction:
    """The step to the next trip."""
    return DeviceFunction(
        f"turn_slot_of_{size}",
        "void",
        ("int &slot", "int &parity"),
        ("slot += 1;", f"if (slot == {size}) {{", "  slot = 0;", "  parity ^= 1;", "}"),
        f"the next trip's slot of {size}, and its phase's parity",
        (),
    )
