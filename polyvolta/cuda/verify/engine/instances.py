"""The times that a run reaches an operation, told apart as far as registers and shared memory go.

A kernel's loop over k tiles comes to the same operations again and again, and with them to the same places: what was
seen of these once needs no second look. Of each such *instance* it is kept where it goes, for all clients of a run.

An asynchronous copy is complete, to the machine, when it is issued, and so are boxes and products. That all the orders
in which a GPU may complete them come to the same is what `verify.order` proves.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import KernelIR, Wgmma
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.addresses import Addresses
from polyvolta.cuda.verify.engine.past_threads import Reach, reaches
from polyvolta.sets import Aff


class Reached(Protocol):
    """An operation that a run has come to (`symbolic.Here`)."""

    at: IrPath
    op: Any
    loops: dict[str, int]
    mask: np.ndarray | None

    @property
    def instance(self) -> tuple: ...

    def values(self, *of: Aff) -> tuple[int, ...]: ...

    def numbers(self, e: Aff) -> np.ndarray: ...

    def number(self, e: Aff) -> int: ...


class Instances:
    """What a run knows of its operations' accesses.

    Parameters
    ----------
    ir : the kernel.
    threads : the names that are numbers of each thread.
    """

    def __init__(self, ir: KernelIR, threads: Collection[str]) -> None:
        self.ir, self.threads = ir, frozenset(threads)
        self._accesses: dict[IrPath, tuple[Access, ...]] = {}
        self._open: dict[IrPath, tuple[Aff, ...]] = {}
        self._addresses: dict[tuple, tuple[Addresses, ...]] = {}
        self._reaches: dict[tuple, tuple[Reach, ...]] = {}

    def accesses(self, here: Reached) -> tuple[Access, ...]:
        """What the operation touches."""
        found = self._accesses.get(here.at)
        if found is None:
            found = self._accesses[here.at] = here.op.accesses(self.ir)
        return found

    def key(self, here: Reached) -> tuple:
        """See `Here.instance`."""
        found = self._open.get(here.at)
        if found is None:
            numeric = self.threads | here.loops.keys()
            places = (e for a in self.accesses(here) if a.space != "global" for e in a.expressions)
            found = self._open[here.at] = tuple(e for e in dict.fromkeys(places) if not e.names() <= numeric)
        return (here.at, *here.loops.values(), *here.values(*found))

    def addresses(self, here: Reached) -> tuple[Addresses, ...]:
        """See `Here.addresses`."""
        shared = [a for a in self.accesses(here) if a.space == "shared" and a.proxy == "generic"]
        if not shared:
            return ()
        key = here.instance
        if key not in self._addresses:
            for e in (e for a in shared for e in a.given):
                here.number(e)  # one for all threads: undecided if it isn't
            self._addresses[key] = tuple(Addresses(self.ir, a, here.numbers) for a in shared)
        return self._addresses[key]

    def reaches(self, here: Reached) -> tuple[Reach, ...]:
        """See `Here.reaches`."""
        if all(a.proxy == "generic" for a in self.accesses(here)):
            return ()
        key = *here.instance, None if here.mask is None else here.mask.tobytes()
        if isinstance(here.op, Wgmma):
            key = *key, *here.values(*(x.start for _, x in here.op.shared))
        if key not in self._reaches:
            self._reaches[key] = reaches(self.ir, here.op, here.numbers, here.mask)
        return self._reaches[key]
