"""What clients of the symbolic machine have in common where they keep little or nothing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, Loop
from polyvolta.cuda.verify.engine.rings import Turn
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.sets import Aff


class Watching:
    """A client that has nothing to say when a trip, a loop or the program ends."""

    def next_trip(self, state: Any, loop: Loop, here: Here) -> None:
        """A trip is over."""

    def leave(self, state: Any, loop: Loop, last: Aff | None, here: Here) -> None:
        """A loop is over."""

    def finish(self, state: Any, here: Here) -> None:
        """The program is over."""

    def turn(self, state: Any, by: Turn) -> None:
        """Slots of rings are numbered anew."""


class Nothing:
    """The state of a client that looks at each operation by itself."""

    def copy(self) -> Nothing:
        return self

    def key(self) -> Hashable:
        return None


class Stateless(Watching):
    """A client that looks at each operation by itself."""

    def start(self, ir: KernelIR) -> Nothing:
        """Nothing is known, nor will be."""
        return Nothing()


def taking_part(mask: np.ndarray | None, numbers: np.ndarray) -> np.ndarray:
    """The numbers [warp, 32] of the threads that take part, on one axis."""
    return numbers.ravel() if mask is None else numbers[mask]


def thread_of(where: np.ndarray) -> tuple[int, int]:
    """Warp and lane of the first thread for which a bool [warp, 32, ...] says yes."""
    first = int(np.flatnonzero(where.reshape(where.shape[0] * LANES, -1).any(1))[0])
    return divmod(first, LANES)


def listed(counts: Mapping[str, object]) -> str:
    """Names with what belongs to each: "A: 3; B: 4"."""
    return "; ".join(f"{name}: {what}" for name, what in counts.items())
