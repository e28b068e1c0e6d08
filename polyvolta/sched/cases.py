"""Expressions of bands that are given by cases, as isl's piecewise schedules have them.

    BAND: S[i] -> [(i if i < 8; 2*i - 8 if i >= 8)]

A `Cases` stands for an expression of one statement: sets of its instances, disjoint, and an expression for each.
What a pass does to expressions it does to each of them. What needs conjunctions of constraints makes a statement of
each case (`by_cases`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from polyvolta.sched.errors import BadSchedule
from polyvolta.sets import Aff, Set, aff
from polyvolta.sets.text.show import piece_texts
from polyvolta.sets.text.show_expressions import ISL, Style, show_aff


@dataclass(frozen=True, slots=True)
class Cases:
    """An expression of the instances of a statement by cases.

    Parameters
    ----------
    pieces : (instances, expression in their iterators and the parameters); the sets are disjoint.
    """

    pieces: tuple[tuple[Set, Aff], ...]

    is_constant = False

    def map(self, f: Callable[[Aff], Aff]) -> Cases:
        """The same cases, `f` of each expression."""
        return Cases(tuple((when, f(e)) for when, e in self.pieces))

    def _with(self, other: Cases | Aff | int, f: Callable[[Aff, Aff], Aff]) -> Cases:
        """f of both, where both have a case."""
        if not isinstance(other, Cases):
            value = aff(other)
            return self.map(lambda e: f(e, value))
        both = [(a & b, f(e, g)) for a, e in self.pieces for b, g in other.pieces]
        return Cases(tuple((when, e) for when, e in both if not when.is_empty()))

    def __add__(self, other: Cases | Aff | int) -> Cases:
        return self._with(other, lambda e, f: e + f)

    def __sub__(self, other: Cases | Aff | int) -> Cases:
        return self._with(other, lambda e, f: e - f)

    def __rsub__(self, other: Aff | int) -> Cases:
        return self._with(other, lambda e, f: f - e)

    __radd__ = __add__

    def __neg__(self) -> Cases:
        return self.map(lambda e: -e)

    def __mul__(self, factor: int) -> Cases:
        return self.map(lambda e: e * factor)

    __rmul__ = __mul__

    def __floordiv__(self, den: int) -> Cases:
        return self.map(lambda e: e // den)

    def __mod__(self, den: int) -> Cases:
        return self.map(lambda e: e % den)

    def names(self) -> set[str]:
        """The names in the expressions, and the parameters of the cases."""
        return {n for when, e in self.pieces for n in (*e.names(), *when.param_names)}

    def without_xor(self) -> Cases:
        """The same with exclusive-ors written out."""
        return self.map(lambda e: e.without_xor())

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value of an instance, given by the names of its iterators and the parameters."""
        for when, e in self.pieces:
            point = [values[d] for d in when.space.dims]
            if when.contains(point, **{p: values[p] for p in when.param_names}):
                return e.evaluate(values)
        raise BadSchedule("an instance is in no case of an expression", where=str(self))

    @property
    def terms(self) -> tuple:
        """There are none: raises `BadSchedule`, for this is no single expression."""
        raise self._several()

    def rewrite(self, _: object) -> Aff:
        """Raises `BadSchedule`, for this is no single expression."""
        raise self._several()

    subs = rewrite

    def _several(self) -> BadSchedule:
        return BadSchedule(
            "an expression by cases stands where a single one is needed",
            where=str(self),
            hint="split the statement by filters, one for each case",
        )

    def __str__(self) -> str:
        return shown(self, ISL)


def shown(e: Aff | Cases, style: Style) -> str:
    """An expression, or its cases, in a style.

    >>> from polyvolta.sets import var
    >>> shown(Cases(((Set("{ S[i] : i < 8 }"), var("i")), (Set("{ S[i] : i >= 8 }"), 2 * var("i") - 8))), ISL)
    '(i if i <= 7; 2*i - 8 if i >= 8)'
    """
    if not isinstance(e, Cases):
        return show_aff(e, style)
    texts = [f"{show_aff(f, style)} if {' or '.join(conditions(when, style))}" for when, f in e.pieces]
    return f"({'; '.join(texts)})"


def conditions(when: Set, style: Style) -> list[str]:
    """The formulas of the pieces of a set, its dimensions by their names."""
    texts = piece_texts(when, replace(style, inline=False))
    return [t.partition(" : ")[2] or "true" for t in texts] or ["false"]
