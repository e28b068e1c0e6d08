"""Pairs of instances of a dependence, and how far apart the two run in one expression of a schedule.

The distance of a pair is the time of the sink less that of the source. Three questions are asked of it: where is it 0,
can it be negative, can it be positive. Most answers need no search. What the equalities of the pairs say is put into
the distance first: with i' = i nothing is left of floor(i'/128) - floor(i/128), whatever the bounds. Where something is
left, floors are compared in couples, for floor(a/d) >= floor(b/d) where a >= b; only then integer programming decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from polyvolta.sched.dependence.model import Dependence
from polyvolta.sets import Aff, var
from polyvolta.sets.budgets import remembered
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.conjuncts.implies import doubtful, implied
from polyvolta.sets.engine.rows import Row, negate, normal_eq, normal_ineq, replaced, solved_for
from polyvolta.sets.values.aff import Atom, Floor, linear
from polyvolta.sets.values.build import RowBuilder, affs_of, expression

Time = tuple[tuple[str, ...], Aff]
"""Iterators, and an expression in them and the parameters."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of instances of one dependence: a conjunct over (parameters, source, sink).

    Parameters
    ----------
    floors : what floors are equal to, because the times so far are equal. It follows from the conjunct, where it can be
        hard to see.
    """

    dependence: Dependence
    conjunct: Conjunct
    floors: tuple[tuple[Atom, Aff], ...] = ()


class Timed:
    """Pairs at the times of their instances in one expression of a schedule."""

    __slots__ = ("pairs", "params", "row", "sink", "source")

    def __init__(self, pairs: Pairs, params: tuple[str, ...], source: Time, sink: Time) -> None:
        self.pairs, self.params, self.source, self.sink = pairs, params, source, sink
        self.row = _row(pairs.conjunct, params, source, sink)

    def equal(self) -> Pairs | None:
        """The pairs with equal times, which may turn out to be none; the same object where these are all."""
        pairs, row = self.pairs, self.row
        c = pairs.conjunct
        if row is not None:
            if not any(row[1:]):
                return None if row[0] else pairs
            zero = normal_eq(row)
            if isinstance(zero, bool):  # never, over the integers
                return None
            if not doubtful(c, _half((row[0] - 1, *row[1:]))):  # the sink comes later: most often
                return None
            both = cj.conjoin(c, Conjunct(c.n, (), (zero,), ()))
            return None if both is None else replace(pairs, conjunct=both)
        delta = self.distance()
        if delta.is_constant:
            return None if delta.const else pairs
        knife = _knife(self.names(), delta, 0)
        both = None if knife is None else cj.conjoin(c, knife)
        return None if both is None else replace(pairs, conjunct=both, floors=(*pairs.floors, *_isolated(delta)))

    def names(self) -> tuple[str, ...]:
        """What the dimensions of the pairs are called."""
        return _names(self.params, self.source[0], self.sink[0])

    def distance(self) -> Aff:
        """The distance after what is known of dimensions and floors."""
        delta = _solved_distance(self.pairs.conjunct, self.params, self.source, self.sink)
        for atom, value in self.pairs.floors:
            v = delta.coefficient(atom)
            if v:
                delta = delta + (value - Aff(((atom, 1),))) * v
        return delta

    def signed(self, sign: int) -> Pairs | None:
        """The pairs, if there are any, whose sink comes earlier (sign -1) or later (1)."""
        c = self.pairs.conjunct
        row = self.row
        if row is not None:
            if not any(row[1:]):
                return self.pairs if row[0] * sign > 0 and not c.is_empty else None
            return self._positive(row if sign > 0 else negate(row))
        delta = self.distance() * sign
        if delta.is_constant:
            return self.pairs if delta.const > 0 and not c.is_empty else None
        if _never_positive(c, self.params, self.source[0], self.sink[0], delta):
            return None
        knife, other = _knife(self.names(), delta, 1), _knife(self.names(), delta, -2)
        if knife is None or (other is not None and implied(c, other)):
            return None
        both = cj.conjoin(c, knife)
        return None if both is None or both.is_empty else replace(self.pairs, conjunct=both)

    def _positive(self, row: Row) -> Pairs | None:
        """The pairs, if there are any, on which a form over (1, dimensions), no constant, is positive."""
        c = self.pairs.conjunct
        other = _half(negate(row))
        if not doubtful(c, other) or implied(c, other):
            return None
        both = cj.conjoin(c, _half((row[0] - 1, *row[1:])))
        return None if both is None or both.is_empty else replace(self.pairs, conjunct=both)


def _half(row: Row) -> Conjunct:
    """The half space in which a form that is not constant is at least 0."""
    tight = normal_ineq(row)
    assert not isinstance(tight, bool), "a form that is not constant"
    return Conjunct(len(row) - 1, (), (), (tight,))


@lru_cache(maxsize=1 << 12)
def _row(c: Conjunct, params: tuple[str, ...], source: Time, sink: Time) -> Row | None:
    """The distance over (1, dimensions) after what the equalities of the pairs say; None where it has floors."""
    out = [0] * (1 + c.n + len(c.divs))
    at = 1 + len(params)
    for (own, e), first, sign in ((source, at, -1), (sink, at + len(source[0]), 1)):
        out[0] += sign * e.const
        for atom, v in e.terms:
            if atom in own:
                out[first + own.index(atom)] += sign * v
            elif atom in params:
                out[1 + params.index(atom)] += sign * v
            else:
                return None
    plain, row = out[: 1 + c.n], out
    for col, image in _images(c):
        if row[col]:
            row = replaced(row, col, image)
    return tuple(plain if any(row[1 + c.n :]) else row[: 1 + c.n])


@lru_cache(maxsize=1 << 12)
def _images(c: Conjunct) -> tuple[tuple[int, Row], ...]:
    """What equalities say of their last columns, the last equality first: column, and a form that is equal to it."""
    out = []
    for eq in reversed(c.eqs):
        col = max([k for k, v in enumerate(eq) if v])
        if col and eq[col] in (1, -1):
            out.append((col, solved_for(eq, col)))
    return tuple(out)


def _names(params: tuple[str, ...], xs: tuple[str, ...], ys: tuple[str, ...]) -> tuple[str, ...]:
    """What the dimensions of pairs are called; those of the sink differ from those of the source."""
    return (*params, *xs, *[f"{y}#" for y in ys])


@lru_cache(maxsize=1 << 12)
def _delta(source: Time, sink: Time) -> Aff:
    """The distance."""
    (_, e), (ys, f) = source, sink
    return f.rewrite(lambda n: var(f"{n}#") if n in ys else var(n)) - e


@remembered(1 << 12)
def _knife(names: tuple[str, ...], delta: Aff, sign: int) -> Conjunct | None:
    """The points where an expression is > 0 (sign 1), 0, or <= 0 (sign -2)."""
    row = ("ge", delta - 1) if sign == 1 else ("ge", -delta) if sign else ("eq", delta)
    return RowBuilder(names).conjunct([row])


@remembered(1 << 12)
def _solved_distance(c: Conjunct, params: tuple[str, ...], source: Time, sink: Time) -> Aff:
    """The distance after what the equalities of the pairs say of dimensions."""
    dims = _solved(c, _names(params, source[0], sink[0]))
    delta = _delta(source, sink)
    return delta.rewrite(lambda n: dims.get(n) or var(n)) if dims else delta


@remembered(1 << 12)
def _solved(c: Conjunct, names: tuple[str, ...]) -> dict[str, Aff]:
    """What the equalities say of dimensions, each in terms of those before it."""
    table = affs_of(c, names)
    dims: dict[str, Aff] = {}
    for row in c.eqs:
        used = [k for k in range(1, len(row)) if row[k]]
        col = next((k for k in reversed(used) if k <= c.n), 0)
        if col and row[col] in (1, -1) and all(_free(table[k], names[col - 1]) for k in used if k > c.n):
            dims[names[col - 1]] = expression(solved_for(row, col), table)
    return dims


def _free(e: Aff | None, name: str) -> bool:
    """Whether an expression is known and does not depend on a dimension."""
    return e is not None and name not in e.names()


def _isolated(zero: Aff) -> list[tuple[Atom, Aff]]:
    """A floor in an expression that is 0, and what it is equal to."""
    for atom, v in reversed(zero.terms):
        if isinstance(atom, Floor) and v in (1, -1):
            return [(atom, Aff(((atom, 1),)) - zero * v)]
    return []


def _never_positive(c: Conjunct, params: tuple[str, ...], xs: tuple[str, ...], ys: tuple[str, ...], e: Aff) -> bool:
    """Whether it is plain that an expression is at most 0 for all pairs; a search is not made."""
    rest: dict[Atom, int] = {}
    lower: list[tuple[Floor, int]] = []
    upper: list[tuple[Floor, int]] = []
    for atom, v in e.terms:
        if isinstance(atom, Floor):
            (upper if v > 0 else lower).append((atom, abs(v)))
        else:
            rest[atom] = v
    forms = [-linear(rest, e.const)]
    for atom, v in upper:
        match = next((b for b in lower if b[1] == v and b[0].den == atom.den), None)
        if match is None:
            return False
        lower.remove(match)
        forms.append(match[0].num - atom.num)
    if lower:
        return False
    rows = [("ge", f) for f in forms if not (f.is_constant and f.const >= 0)]
    knife = RowBuilder(_names(params, xs, ys)).conjunct(rows)
    return not rows or (knife is not None and knife.known and not doubtful(c, knife))


def among(c: Conjunct, sides: Sequence[Sequence[Conjunct]]) -> list[Conjunct]:
    """The pairs that are in some of the pieces of each side, conjuncts over pairs; `c` itself where these are all."""
    single = [knives[0] for knives in sides if len(knives) == 1 and knives[0].known]
    if len(single) == len(sides) == 2 and implied(c, _both(*single)):  # as a rule, and quicker at once
        return [c]
    left = [c]
    for knives in sides:
        left = [both for some in left for both in _met(some, knives)]
    return left


@remembered(1 << 10)
def _both(a: Conjunct, b: Conjunct) -> Conjunct:
    """The rows of both sides: of many dependences these are the same."""
    return cj.juxtaposed(a, b)


def _met(c: Conjunct, knives: Sequence[Conjunct]) -> list[Conjunct]:
    """What some conjuncts, the pieces of a set, have of one; itself where one of them holds it."""
    if any(k.known and implied(c, k) for k in knives):
        return [c]
    return [both for k in knives if (both := cj.conjoin(c, k)) is not None]


def different(c: Conjunct, n_par: int, n: int) -> list[Conjunct]:
    """The pairs of two instances of one statement, in two runs of `n` dimensions from `n_par` on, that differ."""
    out = []
    for k in range(n_par, n_par + n):
        ahead = [0] * (1 + c.n + len(c.divs))
        ahead[1 + k], ahead[1 + k + n] = 1, -1
        if tuple(ahead) in c.eqs or tuple(-v for v in ahead) in c.eqs:
            continue
        for sign in (1, -1):
            row = (-1, *(sign * v for v in ahead[1:]))
            part = cj.normalise(c.n, c.divs, c.eqs, (*c.ineqs, row))
            if part is not None and not part.is_empty:
                out.append(part)
    return out
