"""Loads first: what the statements of one iteration read, before any of them writes.

    for (j ...) {                                     for (j ...) {
      B[i][j] += A[k][i] * B[k][j];                     const double r0 = B[k][j];
      B[i + 1][j] += A[k][i + 1] * B[k][j];      =>     B[i][j] += A[k][i] * r0;
    }                                                   B[i + 1][j] += A[k][i + 1] * r0;
                                                      }

After a store to an array C has a compiler load every element of it again that it cannot tell from the one that was
stored. The bounds of the loops around often do tell: here that i + 1 < k. So an element that no statement of the
iteration writes is loaded into a variable of its own, once.

It is done where several statements stand side by side, as after `unroll_and_jam`, for the arrays that they write (what
is only read is `const restrict`). That two elements differ is an emptiness test: the loops' bounds, the conditions
around, and equal subscripts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from polyvolta.sched.emit.bodies import affine, body_of_call
from polyvolta.sched.emit.c.bodies import Translator
from polyvolta.sched.loops.ast import AnyOf, Bound, Call
from polyvolta.sched.loops.notation.expressions import CSpeller
from polyvolta.sets import Aff, var
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.build import Constraint, RowBuilder

Element = tuple[str, tuple[Aff, ...]]  # an array and its subscripts
MOST = 64  # statements side by side beyond which no questions are asked


class LoadsFirst:
    """Writes statements that stand side by side, what they read first.

    Parameters
    ----------
    translator : of the bodies.
    taken : names that variables must not have.
    """

    def __init__(self, translator: Translator, taken: Sequence[str]) -> None:
        self.translator, self.taken, self.count = translator, {*taken}, 0

    def lines(self, calls: Sequence[Call], speller: CSpeller) -> list[str]:
        """The lines of C that several calls stand for, in their order."""
        lines = [line for call in calls for line in self.translator.lines(call, speller)]
        found = [self.touched(call) for call in calls] if len(calls) <= MOST else [None]
        if any(f is None for f in found):
            return lines
        reads = dict.fromkeys(e for f in found for e in f[0])  # type: ignore[index]
        writes = dict.fromkeys(e for f in found for e in f[1])  # type: ignore[index]
        arrays = {array for array, _ in writes}
        around = list(_around(speller))
        loads = []
        for array, subscripts in reads:
            others = [w for a, w in writes if a == array]
            if array not in arrays or subscripts in others:
                continue
            if all(self.differ(subscripts, w, around) for w in others):
                text = self.text((array, subscripts), speller)
                name = self.fresh()
                loads.append(f"const {self.translator.types[array]} {name} = {text};")
                lines = [re.sub(rf"(?<![\w\]]){re.escape(text)}(?!\[)", name, line) for line in lines]
        return loads + lines

    def touched(self, call: Call) -> tuple[list[Element], list[Element]] | None:
        """The elements that a call reads and writes in any case; None where that is not known."""
        body, values = body_of_call(call, self.translator.program)
        reads: list[Element] = []
        writes: list[Element] = []
        for statement in body:
            if not isinstance(statement, ast.Assign | ast.AugAssign):
                return None
            for node in ast.walk(statement):
                if isinstance(node, ast.IfExp | ast.BoolOp):
                    return None
                if isinstance(node, ast.Subscript):
                    element = self.element(node, values)
                    if element is None:
                        return None
                    (reads if isinstance(node.ctx, ast.Load) else writes).append(element)
        return reads, writes

    def element(self, node: ast.Subscript, values: dict[str, Aff]) -> Element | None:
        """The element that a subscript names, if its subscripts are affine."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [affine(part, values) for part in parts]
        face = self.translator.face
        if not isinstance(node.value, ast.Name) or face.ranks.get(node.value.id) != len(parts) or None in found:
            return None
        return node.value.id, tuple(e for e in found if e is not None)

    def differ(self, one: Sequence[Aff], other: Sequence[Aff], around: list[Constraint]) -> bool:
        """Whether two elements of an array are never one here."""
        equal: list[Constraint] = [("eq", a - b) for a, b in zip(one, other, strict=True)]
        names = dict.fromkeys(n for _, e in (*around, *equal) for n in sorted(e.names()))
        made: Conjunct | None = RowBuilder(tuple(names)).conjunct([*around, *equal])
        return made is None or made.is_empty

    def text(self, element: Element, speller: CSpeller) -> str:
        """An element as bodies have it."""
        array, subscripts = element
        return self.translator.names.get(array, array) + "".join(f"[{speller.text(e)}]" for e in subscripts)

    def fresh(self) -> str:
        """A name that nothing else has."""
        while (name := f"r{self.count}") in self.taken:
            self.count += 1
        self.count += 1
        return name


def _around(speller: CSpeller) -> Iterator[Constraint]:
    """What the loops and conditions around a place ensure, as far as it is one conjunction."""
    for v, loop in speller.scope.items():
        yield from (("ge", var(v) - e) for e in _each(loop.lower))
        yield from (("ge", e - var(v)) for e in _each(loop.upper))
    yield from (c for c in speller.given if not isinstance(c, AnyOf))


def _each(bounds: Sequence[Bound]) -> Iterator[Aff]:
    return (b for b in bounds if isinstance(b, Aff))
