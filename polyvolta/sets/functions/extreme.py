"""Values of piecewise functions: one expression, or the least or greatest of several.

`min(128*b + 127, M - 1)` is one thing to a reader and to a loop bound. As pieces it would be two, and a tuple of such
values a piece for every combination. So a function keeps its minima and maxima as long as nobody has to look inside;
`options` then lists the cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..values.aff import Aff
from ..values.build import Constraint


class Extreme(NamedTuple):
    """The least (`sign` -1) or greatest (+1) of several expressions; with sign 0 a single one.

    >>> from polyvolta.sets import var
    >>> print(Extreme((var("i"), Aff((), 3)), 1))
    max(i, 3)
    """

    options: tuple[Aff, ...]
    sign: int = 0

    def __str__(self) -> str:
        texts = sorted((str(e) for e in self.options), key=lambda t: (t.lstrip("-").isdigit(), t))
        return f"{'min' if self.sign < 0 else 'max'}({', '.join(texts)})" if self.sign else texts[0]

    def evaluate(self, values: Mapping[str, object]) -> object:
        """The value at a point: numbers, or arrays elementwise."""
        found: list[Any] = [e.evaluate(values) for e in self.options]
        best, *others = found
        for v in others:
            better = v < best if self.sign < 0 else v > best
            best = best + better * (v - best)
        return best

    def cases(self) -> Iterator[tuple[list[Constraint], Aff]]:
        """(when, value) pairs of which exactly one holds at each point."""
        for k, e in enumerate(self.options):
            gaps = ((e - other) * self.sign - (j < k) for j, other in enumerate(self.options) if j != k)
            yield [("ge", gap) for gap in gaps], e
