"""The times that a run reaches an operation, told apart as far as registers and shared memory go.

A kernel's loop over k tiles comes to the same operations again and again, and with them to the same places: what was
seen of these once needs no second look. Of each such *instance* it is kept where it goes, for all clients of a run.

An asynchronous copy is complete, to the machine, when it is issued. That all the orders in which a GPU may complete
copies come to the same is what `verify.order` proves.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.addresses import Addresses
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff


class Reached(Protocol):
    """An operation that a run has come to (`symbolic.Here`)."""

    path: IrPath
    op: Any
    loops: dict[str, int]

    @property
    def instance(self) -> tuple: ...

    def values(self, *of: Aff) -> tuple[int, ...]: ...

    def numbers(self, e: Aff) -> np.ndarray: ...


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

    def accesses(self, here: Reached) -> tuple[Access, ...]:
        """What the operation touches.

        Raises
        ------
        Undecided : an access past the threads, of a copy engine or a tensor core; what orders those is not known.
        """
        found = self._accesses.get(here.path)
        if found is None:
            found = here.op.accesses(self.ir)
            for a in found:
                if a.proxy != "generic":
                    raise Undecided(f"{a.kind} of {a.array}, {a.proxy}: what orders it, is not known here")
            self._accesses[here.path] = found
        return found

    def key(self, here: Reached) -> tuple:
        """See `Here.instance`."""
        found = self._open.get(here.path)
        if found is None:
            numeric = self.threads | here.loops.keys()
            places = (e for a in self.accesses(here) if a.space != "global" for e in a.expressions)
            found = self._open[here.path] = tuple(e for e in dict.fromkeys(places) if not e.names() <= numeric)
        return (here.path, *here.loops.values(), *here.values(*found))

    def addresses(self, here: Reached) -> tuple[Addresses, ...]:
        """See `Here.addresses`."""
        shared = [a for a in self.accesses(here) if a.space == "shared"]
        if not shared:
            return ()
        key = here.instance
        if key not in self._addresses:
            for e in (e for a in shared for e in a.given):
                here.number(e)  # one for all threads: undecided if it isn't
            self._addresses[key] = tuple(Addresses(self.ir, a, here.numbers) for a in shared)
        return self._addresses[key]
