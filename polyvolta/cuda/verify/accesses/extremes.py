"""How far the indices of accesses to tensors go: the least and the greatest of all threads, by symbolic part.

A kernel has hundreds of accesses when its loops are unrolled, and few symbolic indices: the rounds of a copy differ in
numbers alone. So the extremes are collected first, for each access of the text and each condition under which it is
reached, and the set core is asked once for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK, GlobalLoad, GlobalStore, KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.watching import taking_part, thread_of
from polyvolta.sets import Aff, aff, var

Access = GlobalLoad | GlobalStore


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or the greatest value of one coordinate.

    Parameters
    ----------
    number : what is added to the symbolic part.
    here : where it is taken, and with which values of the unrolled loops.
    parts : the index there: of each coordinate the symbolic part, and the numbers of the threads.
    """

    number: int
    here: Here
    parts: tuple[tuple[Aff, np.ndarray], ...]


@dataclass(frozen=True, slots=True)
class Outside:
    """An access that leaves its tensor: where, by which thread, at which element, and for which values."""

    here: Here
    where: Aff
    warp: int
    lane: int
    element: tuple[int, ...]


class Extremes:
    """Collects how far accesses go.

    Parameters
    ----------
    ir : the kernel.
    """

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir
        self.found: dict[tuple[IrPath, int, Aff, int, bool], Extreme] = {}
        self.conditions: dict[int, Condition] = {}  # by their numbers, which stay theirs while they are here
        self.spans: dict[tuple[str, int], dict[Aff, tuple[int, int]]] = {}

    def add(self, here: Here, op: Access) -> None:
        """One access, of the threads that take part."""
        parts = tuple(here.split(e) for e in op.index)
        self.conditions[id(here.condition)] = here.condition
        for d, (symbolic, numbers) in enumerate(parts):
            taking = taking_part(here.mask, numbers)
            low, high = int(taking.min()), int(taking.max())
            for upper, number in ((False, low), (True, high)):
                key = here.path, d, symbolic, id(here.condition), upper
                known = self.found.get(key)
                if known is None or (number > known.number if upper else number < known.number):
                    here.loops = dict(here.loops)  # as they are now
                    self.found[key] = Extreme(number, here, parts)
            spans, last = self.spans.setdefault((op.tensor, d), {}), high + reach(op, d)
            least, most = spans.get(symbolic, (low, last))
            spans[symbolic] = min(low, least), max(last, most)

    def outside(self) -> Outside | None:
        """The first access that leaves its tensor, if one does; and the collection is empty again."""
        found, self.found = self.found, {}
        for (_, d, symbolic, _, upper), extreme in found.items():
            op = extreme.here.op
            assert isinstance(op, Access)
            if upper and op.guarded:
                continue  # each value is compared with the extent
            more = reach(op, d) if upper else 0
            last = symbolic + extreme.number + more
            room = extent(self.ir, op, d) - 1 - last if upper else last
            if not extreme.here.holds(room):
                return outside(extreme, d, -room - 1, more)
        return None

    def spoken(self, tensor: str, d: int) -> str:
        """Between which values a coordinate keeps, "128*blockIdx.y + (0 .. 127)"; of several symbolic parts each."""
        spans = self.spans.get((tensor, d), {})
        return " or ".join(dict.fromkeys(_span(symbolic, *ends) for symbolic, ends in spans.items()))


def outside(extreme: Extreme, d: int, where: Aff, more: int) -> Outside:
    """The access that makes an extreme outside, at some values for which it is."""
    here = extreme.here
    own = extreme.parts[d][1] == extreme.number
    warp, lane = thread_of(own if here.mask is None else own & here.mask)
    point = here.point(where)
    assert point is not None
    element = [int(s.evaluate(point)) + int(n[warp, lane]) for s, n in extreme.parts]  # type: ignore[call-overload]
    element[d] += more
    return Outside(here, where, warp, lane, tuple(element))


def reach(op: Access, d: int) -> int:
    """How many values further along a dimension an access goes."""
    return CHUNK - 1 if op.along == d else 0


def extent(ir: KernelIR, op: Access, d: int) -> Aff:
    """The extent of an access's tensor."""
    n = ir.tensor(op.tensor).dims[d]
    return var(n) if isinstance(n, str) else aff(n)


def _span(symbolic: Aff, low: int, high: int) -> str:
    if symbolic.is_constant:
        return f"{symbolic.const + low} .. {symbolic.const + high}"
    return f"{symbolic} + ({low} .. {high})" if low < high else f"{symbolic + low}"
