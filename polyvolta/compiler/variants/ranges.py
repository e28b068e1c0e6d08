"""Ranges of sizes: what a kernel is to be good for, and the sizes in them at which costs are looked at.

Costs go with ratios of sizes, so a sample is spread by their logarithms. A grid would have few different values along
each axis, all of them powers of the same number, and a tile that divides one of these divides most; so the points are
those of an additive sequence: point n has, along axis d, the fraction of n * g^-d, where g is the root of
x^(axes + 1) = x + 1 (the golden ratio of one axis). However many are taken, they fill the box evenly, and no two of
them agree along an axis (M. Roberts, The unreasonable effectiveness of quasirandom sequences, 2018). The corners of
the ranges go with them. The sample is the same each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import exp, log
from operator import index
from typing import TYPE_CHECKING

from polyvolta.compiler.arguments import LARGEST
from polyvolta.cuda.ir.kernel_ir import CHUNK
from polyvolta.display.shown import Record
from polyvolta.sets import PolyvoltaError, Set, nearest

if TYPE_CHECKING:
    from polyvolta.graph.dag import Graph

POINTS = 512
"""Of a sample, beside the corners."""
WHOLE = 8 * CHUNK
"""Sizes from here on are taken as whole chunks, of which all arrays can be copied."""


class BadRange(PolyvoltaError, ValueError):
    """A range of sizes that holds none, or is of no size of the kernel."""

    id = "PV421"


@dataclass(frozen=True, slots=True)
class Ranges(Record):
    """For each size of a graph the least and the largest one, both of them within.

    >>> ranges = Ranges(("M", "K"), ((64, 8192), (512, 512)))
    >>> print(ranges)
    64 <= M <= 8192, K = 512
    >>> len(ranges.sample(100)), ranges.sample(2)
    (94, ({'M': 64, 'K': 512}, {'M': 8192, 'K': 512}, {'M': 1280, 'K': 512}, {'M': 200, 'K': 512}))
    """

    names: tuple[str, ...]
    bounds: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return ", ".join(between(name, *ends) for name, ends in zip(self.names, self.bounds, strict=True))

    @property
    def domain(self) -> Set:
        """All sizes within, as a set."""
        facts = [between(name, *ends) for name, ends in zip(self.names, self.bounds, strict=True)]
        return Set(f"{{ [{', '.join(self.names)}] : {' and '.join(facts)} }}")

    def sample(self, points: int = POINTS) -> tuple[dict[str, int], ...]:
        """Some sizes within, spread by their logarithms: the corners first; each once."""
        axes = [axis for axis, (low, high) in enumerate(self.bounds) if low < high]
        steps = _steps(len(axes))
        found = dict.fromkeys(product(*(dict.fromkeys(pair) for pair in self.bounds)))
        for n in range(1, points + 1) if axes else ():
            sizes = [low for low, _ in self.bounds]
            for axis, step in zip(axes, steps, strict=True):
                sizes[axis] = _between(*self.bounds[axis], n * step % 1)
            found[tuple(sizes)] = None
        return tuple(dict(zip(self.names, sizes, strict=True)) for sizes in found)


def between(name: str, low: int | None, high: int | None) -> str:
    """A condition on one size, which has at least one end.

    >>> [between("M", *ends) for ends in ((1, 8), (8, 8), (None, 8), (9, None))]
    ['1 <= M <= 8', 'M = 8', 'M <= 8', 'M >= 9']
    """
    if low == high:
        return f"{name} = {low}"
    if low is None:
        return f"{name} <= {high}"
    return f"{name} >= {low}" if high is None else f"{low} <= {name} <= {high}"


def ranges_of(graph: Graph, over: object) -> Ranges:
    """What a user gave for the sizes of a graph, checked: for each a pair (least, largest), or one number.

    Raises
    ------
    BadRange : no mapping, or an empty one; a name that is no size of the graph's; a size without a range; a range that
        isn't of two ints, is empty, or not of what a kernel takes.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.dag import Graph
    >>> M, K = pv.sizes("M K")
    >>> graph = Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, 64)))
    >>> print(ranges_of(graph, {"M": (1, 64), "K": 512}))
    1 <= M <= 64, K = 512
    >>> ranges_of(graph, {"M": (64, 1), "K": 512})
    Traceback (most recent call last):
        ...
    polyvolta.compiler.variants.ranges.BadRange: [PV421] the range of M is empty: 64 is more than 1
      over = {'M': (64, 1), 'K': 512}
    hint: try (1, 64)
    """
    where = f"over = {over!r}"
    if not isinstance(over, Mapping):
        raise BadRange("over has a range for each size, by name", where=where, hint=_example(graph))
    if not graph.params:
        raise BadRange("all sizes of the graph are numbers, and over is of those that aren't", where=where,
                       hint="leave it out, or declare sizes: pv.sizes(...)")  # fmt: skip
    for name in over:
        if name not in graph.params:
            hint = nearest(name, graph.params) if isinstance(name, str) else _example(graph)
            raise BadRange(f"the graph has no size {name!r}", where=where, hint=hint)
    if missing := [name for name in graph.params if name not in over]:
        whole = len(missing) == len(graph.params)
        what = "over is empty" if not over else f"over has no range for {', '.join(missing)}"
        more = f"; a size that is always the same is one number, {missing[-1]}: 1024" * (not whole)
        raise BadRange(what, where=where, hint=_example(graph) + more)
    return Ranges(graph.params, tuple(_checked(name, over[name], where) for name in graph.params))


def _checked(name: str, given: object, where: str) -> tuple[int, int]:
    """A range's ends."""
    ends = given if isinstance(given, tuple | list) else (given, given)
    try:
        whole = [index(end) for end in ends if not isinstance(end, bool)]  # type: ignore[call-overload]
    except TypeError:
        whole = []
    if len(whole) != 2 or len(ends) != 2:
        raise BadRange(f"the range of {name} is two ints, the least and the largest size, or one int, not {given!r}",
                       where=where, hint=f"try {name}: (64, 8192)")  # fmt: skip
    low, high = whole
    if min(low, high) < 1:
        what = "there is nothing to compute for 0" if min(low, high) == 0 else f"{min(low, high)} is negative"
        raise BadRange(f"the range of {name} begins at 1 or later: {what}", where=where,
                       hint=f"try ({max(1, low)}, {max(1, low, high)})")  # fmt: skip
    if low > high:
        raise BadRange(f"the range of {name} is empty: {low} is more than {high}", where=where,
                       hint=f"try ({high}, {low})")  # fmt: skip
    if high > LARGEST:
        raise BadRange(f"the range of {name} ends at {high}, and a size is at most {LARGEST}", where=where)
    return low, high


def _example(graph: Graph) -> str:
    return f"try over={{{', '.join(f'{name!r}: (64, 8192)' for name in graph.params)}}}"


def _steps(axes: int) -> list[float]:
    """By how much each axis goes on from point to point: powers of the root of x^(axes + 1) = x + 1.

    >>> [round(step, 3) for step in (*_steps(1), *_steps(2))]
    [0.618, 0.755, 0.57]
    """
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (axes + 1))
    return [root**-d for d in range(1, axes + 1)]


def _between(low: int, high: int, part: float) -> int:
    """A size at some part of a range, by logarithms: from `WHOLE` on a multiple of a chunk, if the range has one near.

    >>> _between(1, 64, 0.5), _between(64, 8192, 0.5), _between(1001, 1003, 0.5)
    (8, 728, 1002)
    """
    exact = exp(log(low) + part * (log(high + 1) - log(low)))
    size = min(high, int(exact))
    whole = round(exact / CHUNK) * CHUNK
    return whole if size >= WHOLE and low <= whole <= high else size
