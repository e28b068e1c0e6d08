"""Index maps: relations with a box for domain, kept as the expressions that people read.

An ownership map `{ [lane, i] -> [row, col] }`, a shared-memory layout, a swizzle: each is a function from a few
bounded indices to a few others. `IndexMap` holds its quasi-affine expressions; `relation` is the same thing as
a `Map`, for proofs, and `evaluate` as numbers, for the interpreter.

What a lane does in several rounds is a function of both, { [lane, round] -> ... }: `at` puts in a lane's expression and
a loop's variable, `evaluate` numbers or arrays of one shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from polyvolta.display.shown import Record
from polyvolta.sets import Aff, Map, Tuple, var
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.simplify import simplify
from polyvolta.sets.values.space import Space


@dataclass(frozen=True, slots=True)
class IndexMap(Record):
    """A function of bounded indices.

    Parameters
    ----------
    inputs : (name, extent): the index runs over 0 <= name < extent.
    outputs : (name, expression in the inputs).

    >>> from polyvolta.sets import var
    >>> l = var("lane")
    >>> print(IndexMap((("lane", 32),), (("row", l // 4), ("col", l % 4))))
    { [lane] -> [row = floor(lane/4), col = lane mod 4] : 0 <= lane < 32 }
    >>> runs = IndexMap((("lane", 32), ("round", 4)), (("row", 8 * var("round") + l // 4), ("col", 8 * (l % 4))))
    >>> print(*runs.at(l, 3), runs.evaluate({"lane": 5, "round": 3}))
    floor(lane/4) + 24 8*(lane mod 4) (25, 8)
    """

    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, Aff], ...]

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The inclusive range of each input."""
        return {name: (0, extent - 1) for name, extent in self.inputs}

    def __getitem__(self, output: str) -> Aff:
        return dict(self.outputs)[output]

    @property
    def exprs(self) -> tuple[Aff, ...]:
        """The output expressions in order."""
        return tuple(e for _, e in self.outputs)

    @property
    def relation(self) -> Map:
        """The map as a relation between anonymous tuples."""
        return _relation(self)

    def evaluate(self, values: Mapping[str, object]) -> tuple:
        """The outputs at given inputs: numbers or arrays of integers."""
        return tuple(e.evaluate(values) for e in self.exprs)

    def at(self, *indices: Aff | int) -> tuple[Aff, ...]:
        """The outputs at inputs that are expressions themselves, one for each input in order."""
        table = {name: e for (name, _), e in zip(self.inputs, indices, strict=True)}
        return tuple(e.subs(table) for e in self.exprs)

    def simplified(self) -> IndexMap:
        """The same function with expressions simplified by the inputs' ranges."""
        return IndexMap(self.inputs, tuple((n, simplify(e, self.ranges)) for n, e in self.outputs))

    def __str__(self) -> str:
        inputs = ", ".join(n for n, _ in self.inputs)
        outputs = ", ".join(f"{n} = {e}" for n, e in self.outputs)
        bounds = " and ".join(f"0 <= {n} < {x}" for n, x in self.inputs)
        return f"{{ [{inputs}] -> [{outputs}] : {bounds} }}"

    def _facts(self) -> list[tuple[str, object]]:
        return [("inputs", ", ".join(f"0 <= {n} < {x}" for n, x in self.inputs)), *self.outputs]

    def _title(self) -> str:
        return "an index map"


@lru_cache(maxsize=4096)
def _relation(m: IndexMap) -> Map:
    names = tuple(n for n, _ in m.inputs)
    outs = tuple(n if n not in names else n + "'" for n, _ in m.outputs)
    constraints = [("eq", e - var(o)) for o, (_, e) in zip(outs, m.outputs)]
    for name, extent in m.inputs:
        constraints += [("ge", var(name)), ("ge", extent - 1 - var(name))]
    c = RowBuilder((*names, *outs)).conjunct(constraints)
    pieces = () if c is None else (c,)
    return Map._of((), [(Space(Tuple(None, names), Tuple(None, outs)), pieces)])
