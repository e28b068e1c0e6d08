"""How far the indices of accesses to tensors go: the least and the greatest of all threads, by symbolic part.

A kernel has hundreds of accesses when its loops are unrolled, and few symbolic indices: the rounds of a copy differ in
numbers alone. So the extremes are collected first, for each access of the text and each condition under which it is
reached, and the set core is asked once for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.engine.addresses import owned
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.watching import taking_part, thread_of
from polyvolta.sets import Aff, aff, var


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or the greatest value of one coordinate.

    Parameters
    ----------
    number : what is added to the symbolic part.
    here : where it is taken, and with which values of the unrolled loops.
    access : whose it is.
    parts : the index there: of each coordinate the symbolic part, and the numbers of the threads.
    ends : how far each thread goes in this coordinate, [warp, 32].
    """

    number: int
    here: Here
    access: Access
    parts: tuple[tuple[Aff, np.ndarray], ...]
    ends: np.ndarray


@dataclass(frozen=True, slots=True)
class Outside:
    """An access that leaves its tensor: where, by which thread, at which element, and for which values."""

    here: Here
    access: Access
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
        self.found: dict[tuple[IrPath, int, int, Aff, int, bool], Extreme] = {}
        self.conditions: dict[int, Condition] = {}  # by their numbers, which stay theirs while they are here
        self.spans: dict[tuple[str, int], dict[Aff, tuple[int, int]]] = {}

    def add(self, here: Here) -> None:
        """What an operation touches in tensors, by the threads that take part."""
        for n, access in enumerate(here.accesses):
            if access.space == "global" and access.proxy == "generic":  # boxes may hang over their tensors
                self.conditions[id(here.condition)] = here.condition
                parts = tuple(here.split(e) for e in access.index)
                for d, (symbolic, numbers) in enumerate(parts):
                    first, last = (numbers + x for x in reach(access, d))
                    ends = int(taking_part(here.mask, first).min()), int(taking_part(here.mask, last).max())
                    for upper in (False, True):
                        key = here.path, n, d, symbolic, id(here.condition), upper
                        known = self.found.get(key)
                        if known is None or (ends[1] > known.number if upper else ends[0] < known.number):
                            here.loops = dict(here.loops)  # as they are now
                            self.found[key] = Extreme(ends[upper], here, access, parts, last if upper else first)
                    spans = self.spans.setdefault((access.array, d), {})
                    least, most = spans.get(symbolic, ends)
                    spans[symbolic] = min(ends[0], least), max(ends[1], most)

    def outside(self) -> Outside | None:
        """The first access that leaves its tensor, if one does; and the collection is empty again."""
        found, self.found = self.found, {}
        for (_, _, d, symbolic, _, upper), extreme in found.items():
            if upper and extreme.access.guarded:
                continue  # each value is compared with the extent
            end = symbolic + extreme.number
            room = extent(self.ir, extreme.access, d) - 1 - end if upper else end
            if not extreme.here.holds(room):
                return outside(extreme, d, -room - 1)
        return None

    def spoken(self, tensor: str, d: int) -> str:
        """Between which values a coordinate keeps, "128*blockIdx.y + (0 .. 127)"; of several symbolic parts each."""
        spans = self.spans.get((tensor, d), {})
        return " or ".join(dict.fromkeys(_span(symbolic, *ends) for symbolic, ends in spans.items()))


def outside(extreme: Extreme, d: int, where: Aff) -> Outside:
    """The access that makes an extreme outside, at some values for which it is."""
    here = extreme.here
    own = extreme.ends == extreme.number
    warp, lane = thread_of(own if here.mask is None else own & here.mask)
    point = here.point(where)
    assert point is not None
    numbers = [extreme.ends if n == d else x for n, (_, x) in enumerate(extreme.parts)]
    element = [
        int(s.evaluate(point)) + int(x[warp, lane])  # type: ignore[call-overload]
        for (s, _), x in zip(extreme.parts, numbers, strict=True)
    ]
    return Outside(here, extreme.access, where, warp, lane, tuple(element))


@lru_cache(maxsize=256)
def _reach(own: IndexMap, d: int) -> tuple[np.ndarray, np.ndarray]:
    return owned(own)[d].min(-1), owned(own)[d].max(-1)


def reach(access: Access, d: int) -> tuple[int, int] | tuple[np.ndarray, np.ndarray]:
    """From where to where an access goes along a dimension, counted from its index; of each lane if they differ."""
    if access.own is not None:
        return _reach(access.own, d)
    return 0, access.values - 1 if access.along == d else 0


def extent(ir: KernelIR, access: Access, d: int) -> Aff:
    """The extent of an access's tensor."""
    n = ir.tensor(access.array).dims[d]
    return var(n) if isinstance(n, str) else aff(n)


def _span(symbolic: Aff, low: int, high: int) -> str:
    if symbolic.is_constant:
        return f"{symbolic.const + low} .. {symbolic.const + high}"
    return f"{symbolic} + ({low} .. {high})" if low < high else f"{symbolic + low}"
