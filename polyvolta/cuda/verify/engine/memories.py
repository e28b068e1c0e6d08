"""What registers and shared memory hold while a kernel runs on symbols, and what loads and stores move.

Shared memory is one row of slots, two bytes each: a tag, the half of it that lies there (fp32 values take two slots),
and, for messages, who wrote it last. Tiles, buffers and the exchange are places in it, as their layouts say
(`addresses`), so that what overlaps overwrites.
"""

from __future__ import annotations

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, Element, KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.values.empty_sums import Waiting, settle
from polyvolta.cuda.verify.values.engines.phases import Lines, at_start
from polyvolta.cuda.verify.values.values import Tags

SLOT = 2  # bytes
WHOLE, LOW, HIGH = 0, 1, 2  # what a slot holds of a value
SHARED = ""  # the name of shared memory among the arrays


class Memories:
    """All memories of a block at one place of the program; a state of the symbolic machine.

    Attributes
    ----------
    registers : by array, [*shape, warp, lane, value].
    shared : [slot].
    halves : int8 [slot], WHOLE, LOW or HIGH.
    writers : [slot], the number of the place that wrote it last in `places`; not a part of the state.
    phases : which phases of barriers are complete.
    waiting : what sums over no k may be called; see `empty_sums`.
    """

    __slots__ = ("_borrowed", "_keys", "halves", "phases", "places", "registers", "shared", "waiting", "writers")

    def __init__(self, registers: dict[str, Tags], shared: Tags, halves: np.ndarray, writers: np.ndarray) -> None:
        self.registers, self.shared, self.halves, self.writers = registers, shared, halves, writers
        self.places: list[IrPath] = []
        self.phases: Lines = {}
        self.waiting: Waiting | None = None
        self._borrowed: set[str] = set()  # the arrays that copies have, too
        self._keys: dict[str, tuple] = {}  # of arrays that have not changed since

    @classmethod
    def of(cls, ir: KernelIR) -> Memories:
        """Memories that nothing was written to."""
        registers = {r.name: Tags.unknown(*r.shape, ir.warps, LANES, r.width) for r in ir.registers}
        slots = ir.shared_bytes // SLOT
        made = cls(registers, Tags.unknown(slots), np.zeros(slots, np.int8), np.full(slots, -1, np.int16))
        made.phases = at_start(ir)
        return made

    def copy(self) -> Memories:
        """Memories of their own; an array is copied when one of the two changes it."""
        self.settle()
        made = Memories(dict(self.registers), self.shared, self.halves, self.writers)
        made.places, made.phases, made._keys = self.places, self.phases, dict(self._keys)
        self._borrowed, made._borrowed = ({SHARED, *self.registers} for _ in range(2))
        return made

    def key(self) -> tuple:
        """Equal for memories that hold the same."""
        self.settle()
        for name, tags in self.registers.items():
            if name not in self._keys:
                self._keys[name] = tags.key()
        if SHARED not in self._keys:
            self._keys[SHARED] = self.shared.key(), self.halves.tobytes()
        return (*(self._keys[name] for name in self.registers), self._keys[SHARED], *self.phases.items())

    def settle(self) -> None:
        """Say sums over no k as those that are over all k."""
        if self.waiting is not None:
            before = dict(self.registers)
            settle(self.registers, self.waiting)
            for name in (n for n, tags in before.items() if self.registers[n] is not tags):
                self._borrowed.discard(name)
                self._keys.pop(name, None)
            self.waiting = None

    def own(self, *names: str) -> None:
        """Some arrays are about to change, by default all."""
        for name in names or (SHARED, *self.registers):
            self._keys.pop(name, None)
            if name not in self._borrowed:
                continue
            self._borrowed.discard(name)
            if name == SHARED:
                self.shared, self.halves, self.writers = self.shared.copy(), self.halves.copy(), self.writers.copy()
            else:
                self.registers[name] = self.registers[name].copy()

    def arrays(self) -> tuple[Tags, ...]:
        """Every array of tags."""
        return (*self.registers.values(), self.shared)

    def turn(self, slots: np.ndarray) -> None:
        """Let slots of shared memory hold what others did: slot n what slot `slots[n]` held."""
        self.own(SHARED)
        self.shared = Tags(self.shared.kind[slots], self.shared.at[slots])
        self.halves, self.writers = self.halves[slots], self.writers[slots]

    # ---- registers

    def element(self, element: Element, here: Here) -> Tags:
        """A register array's element in all threads, [warp, lane, value]."""
        return self.registers[element.array][self._index(element, here)]

    def write(self, element: Element, values: Tags, here: Here) -> None:
        """Write an element in the threads that take part."""
        where = None if here.mask is None else np.broadcast_to(here.mask[..., None], values.kind.shape)
        self.own(element.array)
        self.registers[element.array].put(self._index(element, here), values, where)

    def _index(self, element: Element, here: Here) -> tuple[int, ...]:
        shape = here.ir.register(element.array).shape
        loops = here.loops
        index = tuple(
            int(e.evaluate(loops)) if e.names() <= loops.keys() else here.number(e)  # type: ignore[call-overload]
            for e in element.index
        )
        for e, i, n in zip(element.index, index, shape, strict=True):
            if not 0 <= i < n:
                here.refute("result", f"{element.array}[{e}] is {element.array}[{i}], of {n} elements")
        return tuple(min(max(i, 0), n - 1) for i, n in zip(index, shape, strict=True))

    # ---- shared memory

    def store(self, slots: np.ndarray, values: Tags, here: Here, halves: int = WHOLE) -> None:
        """Write values to slots, arrays [warp, lane, value], for the threads that take part."""
        active = (slots >= 0) & (slots < len(self.halves))
        if here.mask is not None:
            active &= here.mask[..., None]
        at = slots[active]
        self.own(SHARED)
        self.shared.scatter(at, Tags(values.kind[active], values.at[active]))
        self.halves[at] = halves
        self.writers[at] = self._place(here)

    def _place(self, here: Here) -> int:
        """The number of the place where the machine stands."""
        if here.path not in self.places:
            self.places.append(here.path)
        return self.places.index(here.path)

    def put(self, slots: np.ndarray, values: Tags, here: Here) -> None:
        """Write values to slots, arrays of any one shape, past the threads."""
        inside = (slots >= 0) & (slots < len(self.halves))
        at = slots[inside]
        self.own(SHARED)
        self.shared.scatter(at, Tags(values.kind[inside], values.at[inside]))
        self.halves[at] = WHOLE
        self.writers[at] = self._place(here)

    def load(self, slots: np.ndarray) -> tuple[Tags, np.ndarray, np.ndarray]:
        """The values in slots, the halves of values that they are, and their writers; -1 outside of the memory."""
        inside = (slots >= 0) & (slots < len(self.halves))
        at = np.where(inside, slots, 0)
        found = self.shared.take(at)
        if not inside.all():
            found.kind = np.where(inside, found.kind, np.int32(-1))
        return found, self.halves.take(at), self.writers.take(at)

    def writer(self, number: int) -> IrPath | None:
        """The place of a writer, for a message."""
        return self.places[number] if 0 <= number < len(self.places) else None
