"""Single constraints on named dimensions: methods of `Set` and `Map`.

What a formula says in text, these say in a program: a value for a dimension, a bound, an order between two. Each adds
one row. Bounds are numbers, `Aff` values or text in the names of the relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..engine.rows import Row, combine
from ..errors import SpaceMismatch, UnknownName, nearest
from ..text.expressions import parse_aff
from ..values import kinds
from ..values.aff import Aff, var
from ..values.build import RowBuilder
from ..values.kinds import dim_type
from .algebra import conjoin_all
from .dimensions import column

if TYPE_CHECKING:
    from ..values.relation import Relation

R = TypeVar("R", bound="Relation")
Dim = str | int | dim_type  # a name or a position; isl's kind, before a position


def fix(self: R, values: Mapping[str | int, int] | None = None, /, **more: int) -> R:
    """The slice at the given values of parameters or dimensions, which stay in place; linear.

    `more` are values by name, as in `values`.

    With several tuples, those that lack a name stay whole.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < i }").fix(N=8, i=3))
    [N] -> { [3, j] : N = 8 and 0 <= j <= 2 }
    >>> print(Set("{ [i, j] : 0 <= j < i }").fix({0: 3}))
    { [3, j] : 0 <= j <= 2 }

    Raises
    ------
    UnknownName : no parameter or dimension of that name or position.
    """
    if values is not None and not isinstance(values, Mapping):
        raise SpaceMismatch(f"fix takes names or a mapping, not {values!r}", where=str(self), hint="fix(i=3)")
    out = self
    for name, value in {**(values or {}), **more}.items():
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise SpaceMismatch(f"{name} is fixed to an integer, not to {value!r}", where=str(self))
        if not isinstance(name, str):
            name = (*out.param_names, *out.space.dims)[column(out, name)]
        out = _fix_one(out, name, value.__index__())
    return out


def _fix_one(self: R, name: str, value: int) -> R:
    found = name in self.param_names
    parts = []
    for space, cs in self.parts:
        names = (*self.param_names, *space.dims)
        if name not in names:
            parts.append((space, cs))
            continue
        found = True
        row = [0] * (1 + len(names))
        row[0], row[1 + names.index(name)] = -value, 1
        knife = cj.normalise(len(names), (), [tuple(row)], ())
        parts.append((space, conjoin_all(cs, [cj.sure(knife)])))
    if not found:
        known = [*self.param_names, *(d for s, _ in self.parts for d in s.dims)]
        raise UnknownName(f"no parameter or dimension is called {name!r}", where=str(self), hint=nearest(name, known))
    return self._of(self.param_names, parts)


def lower_bound(self: R, dim: str | int, bound: int | str | Aff) -> R:
    """The points with dim >= bound; linear.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i] : i < N }").lower_bound("i", "N - 4"))
    [N] -> { [i] : N - 4 <= i < N }

    Raises
    ------
    UnknownName : no parameter or dimension of that name or position.
    SpaceMismatch : there are several tuples.
    """
    return with_row(self, "ge", _dimension(self, dim) - _bound(self, bound))


def upper_bound(self: R, dim: str | int, bound: int | str | Aff) -> R:
    """The points with dim <= bound; see `lower_bound`.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : i >= 0 }").upper_bound("i", 7))
    { [i] : 0 <= i <= 7 }
    """
    return with_row(self, "ge", _bound(self, bound) - _dimension(self, dim))


def equate(self: R, a: Dim, b: Dim, *more: Dim) -> R:
    """The points at which two dimensions or parameters are equal; linear.

    `a` and `b` are names or positions; with `more` all four are isl's kind and position of each.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[j, k] }").equate("i", "k"))
    { S[i] -> A[j, i] }

    Raises
    ------
    UnknownName : no parameter or dimension of that name or position.
    SpaceMismatch : there are several tuples.
    """
    left, right = _pair(self, a, b, *more)
    return with_row(self, "eq", left - right)


def order_lt(self: R, a: Dim, b: Dim, *more: Dim) -> R:
    """The points with a < b for two dimensions or parameters; see `equate`.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] }").order_lt("i", "j"))
    { [i, j] : i < j }
    """
    left, right = _pair(self, a, b, *more)
    return with_row(self, "ge", right - left - 1)


def order_le(self: R, a: Dim, b: Dim, *more: Dim) -> R:
    """The points with a <= b for two dimensions or parameters; see `equate`.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] }").order_le("i", "j"))
    { [i, j] : i <= j }
    """
    left, right = _pair(self, a, b, *more)
    return with_row(self, "ge", right - left)


def order_gt(self: R, a: Dim, b: Dim, *more: Dim) -> R:
    """The points with a > b for two dimensions or parameters; see `equate`.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] }").order_gt("i", "j"))
    { [i, j] : j < i }
    """
    left, right = _pair(self, a, b, *more)
    return with_row(self, "ge", left - right - 1)


def order_ge(self: R, a: Dim, b: Dim, *more: Dim) -> R:
    """The points with a >= b for two dimensions or parameters; see `equate`.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] }").order_ge("i", "j"))
    { [i, j] : j <= i }
    """
    left, right = _pair(self, a, b, *more)
    return with_row(self, "ge", left - right)


def _names(self: Relation) -> tuple[str, ...]:
    return (*self.param_names, *self.space.dims)


def _dimension(self: Relation, dim: str | int) -> Aff:
    return var(_names(self)[column(self, dim)])


def _pair(self: Relation, *dims: Dim) -> tuple[Aff, Aff]:
    found = [_dimension(self, d) for d in kinds.pair(self, dims)]
    if len(found) != 2:
        raise UnknownName(f"two dimensions are compared, not {len(found)}", where=str(self), hint="by name or position")
    return found[0], found[1]


def _bound(self: Relation, bound: int | str | Aff) -> Aff:
    if isinstance(bound, str):
        return parse_aff(bound, _names(self))
    if isinstance(bound, Aff):
        return bound
    if isinstance(bound, bool) or not hasattr(bound, "__index__"):
        raise SpaceMismatch(
            f"a bound is an integer, an expression or its text, not {bound!r}", where=str(self), hint='"N - 1"'
        )
    return Aff((), bound.__index__())


def with_row(self: R, kind: str, e: Aff) -> R:
    """The points where an expression is at least 0, for `ge`, or 0, for `eq`; of one space."""
    space = self.space
    row = RowBuilder(_names(self)).conjunct([(kind, e)])
    return self._of(self.param_names, [(space, conjoin_all(self.parts[0][1], [] if row is None else [row]))])


def drop_constraints_involving(self: R, *dims: str | int | dim_type) -> R:
    """Without the constraints that mention some dimensions or parameters, also inside a floor; linear.

    `dims` are names or positions.

    A superset of the points. Equalities that mention them are solved for them first, so that a constraint which only
    seems to mention them stays; otherwise this is no projection.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] : 0 <= i < 9 and 0 <= j < i and i mod 2 = 0 }").drop_constraints_involving("j"))
    { [i, j] : i mod 2 = 0 and 0 <= i <= 8 }

    Raises
    ------
    UnknownName : no parameter or dimension of that name or position.
    SpaceMismatch : there are several tuples.
    """
    space = self.space
    columns = {1 + column(self, d) for d in kinds.by_name(self, dims)}
    left = (_without_columns(c, columns) for c in self.parts[0][1])
    return self._of(self.param_names, [(space, tuple(c for c in left if c is not None))])


def _without_columns(c: Conjunct, columns: Iterable[int]) -> Conjunct | None:
    gone = set(columns)
    for k, div in enumerate(c.divs):
        if div is not None and any(v and col in gone for col, v in enumerate(div[1])):
            gone.add(1 + c.n + k)

    eqs, ineqs = list(c.eqs), list(c.ineqs)
    for col in sorted(gone):
        pivot = next((r for r in eqs if r[col]), None)
        if pivot is not None:
            eqs.remove(pivot)
            eqs, ineqs = [_cleared(r, pivot, col) for r in eqs], [_cleared(r, pivot, col) for r in ineqs]

    def free(row: Sequence[int]) -> bool:
        return not any(v and col in gone for col, v in enumerate(row))

    return cj.normalise(c.n, c.divs, filter(free, eqs), filter(free, ineqs))


def _cleared(row: Row, pivot: Row, col: int) -> Row:
    """A positive multiple of the row, plus a multiple of an equality, in which a column vanishes."""
    if not row[col]:
        return row
    up, down = abs(pivot[col]), row[col] * (1 if pivot[col] > 0 else -1)
    return combine(up, row, -down, pivot)
