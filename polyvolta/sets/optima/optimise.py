"""The least and greatest value of an expression over a relation: methods of `Set` and `Map`.

A number is a linear program's, or a search's between it and that of a sample (`extent.least_value`). Where parameters
stay, or the inputs of a map, the expression becomes a dimension of its own, the first of those that are optimised.
Back substitution gives its optimum (`lexrel.foremost`); where it can't, the others are projected out, and that of the
one dimension that is left is parametric integer programming. A union takes the better of its pieces' optima.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..conjuncts import conjunct as cj
from ..conjuncts import project as pj
from ..conjuncts.conjunct import Conjunct, Row, defining_rows
from ..counting.count import concrete
from ..errors import EmptySet, SpaceMismatch, Unbounded, UnknownName, nearest
from ..text.parse import parse_cases
from ..values.aff import Aff, aff, var
from ..values.build import RowBuilder, row_of
from ..values.space import PARAMS, Space, position
from .extent import least_value
from .lexrel import folded_optimum, foremost

if TYPE_CHECKING:
    from ..functions.cells import Piece
    from ..functions.pwaff import PwAff
    from ..values.relation import Relation
    from ..values.set import Set

Expression = Aff | str | int


def min_(self: Relation, expression: Expression) -> int | PwAff:
    """The least value of an expression: a number, or for a set with parameters (for a map: per input) a `PwAff`.

    Exact; one projection and one parametric integer program a conjunct.

    Parameters
    ----------
    expression : an `Aff`, or a text such as "i + 2*j - N" in the names of dimensions and parameters.

    Raises
    ------
    Unbounded : there is no least value.
    EmptySet : there is no point, and no parameter.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i, j] : 0 <= i < 8 and i <= j < 9 }").min("j - 2i")
    -7
    >>> print(Set("[N] -> { [i, j] : 0 <= i < N and i <= j < 9 }").min("j - 2i"))
    [N] -> { [(max(1 - N, -8))] : N >= 1 }
    """
    return _best(self, expression, -1)


def max_(self: Relation, expression: Expression) -> int | PwAff:
    """The greatest value of an expression; see `min`.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i, j] : 0 <= i < 8 and i <= j < 9 }").max("i + 2*j")
    23
    """
    return _best(self, expression, 1)


def dim_min(self: Relation, dim: str | int) -> PwAff:
    """The least value of a dimension as a function of the parameters; for a map, that of an output per input.

    Exact; see `min`. A set without parameters has a function without arguments: `S.min(dim)` gives its number. Where
    there is no point the function has no value; that of an empty set prints as `{ }`.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { S[i, j] : 0 <= i < N and i < j < 10 }").dim_max("i"))
    [N] -> { [(min(N - 1, 8))] : N >= 1 }
    """
    return _best_dim(self, dim, -1)


def dim_max(self: Relation, dim: str | int) -> PwAff:
    """The greatest value of a dimension as a function of the parameters or inputs; see `dim_min`.

    `dim` is a name or a position, which stands among inputs and outputs; see `dim_min` for the errors.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i] : 0 <= i < N }").dim_max("i"))
    [N] -> { [(N - 1)] : N >= 1 }
    """
    return _best_dim(self, dim, 1)


def sample_point(self: Set, /, **params: int) -> tuple[int, ...]:
    """The coordinates of one point, for the given parameter values; exact, one search.

    `params` are the values of the parameters by name; without any they have some with which there is a point, and the
    `Point` that is given knows them.

    Raises
    ------
    Unbounded : some parameters have values, and others none.
    EmptySet : there is no point.

    >>> from polyvolta.sets import Set
    >>> Set("{ [x, y] : 3x + 5y = 1 and 0 <= x < 9 }").sample_point()
    (2, -1)
    """
    from ..by_isl.objects.values import Point

    _ = self.space
    names = () if params else self.param_names
    for _, cs in (concrete(self, params) if params else self).parts:
        for c in cs:
            point = cj.sample(c)
            if point is not None:
                return Point(point[len(names) :], self.space, dict(zip(names, point)) | params)
    raise _no_point(self)


def overall(f: PwAff, sign: int) -> int:
    """See `PwAff.min_val`: parameters are optimised over like inputs."""
    from ..by_isl.objects.values import Val

    found = [v for c, (e,) in f.cells if (v := extremal_value(c, f.names, e, sign, f)) is not None]
    if not found:
        raise EmptySet("the function has an empty domain", where=str(f))
    return Val(max(found, key=lambda v: v * sign))


def extremal_value(c: Conjunct, names: tuple[str, ...], e: Aff, sign: int, where: object) -> int | None:
    """The least (sign -1) or greatest value of an expression over a conjunct; None where this has no point."""
    builder, end = RowBuilder(names), c.n + len(c.divs)
    value = builder.sparse(e.without_xor())  # its floors are columns behind those of the conjunct
    n = end + len(builder.divs)

    def wide(sparse: dict[int, int]) -> Row:
        row = [0] * (n + 1)
        for col, v in sparse.items():
            row[col if col <= c.n else col + len(c.divs)] = v
        return tuple(row)

    pad = (0,) * (n - end)
    eqs, ineqs = ([(*r, *pad) for r in rows] for rows in (c.eqs, c.all_ineqs()))
    for k, (den, row) in enumerate(builder.divs):
        ineqs += defining_rows((den, wide(row)), 1 + end + k, 1 + n)
    try:
        least = least_value(n, eqs, ineqs, tuple([-sign * v for v in wide(value)]))
    except Unbounded:
        if c.is_empty:
            return None
        raise _unbounded(e, sign, where) from None
    return None if least is None else -sign * least


def _with_value(c: Conjunct, names: tuple[str, ...], e: Aff) -> Conjunct | None:
    """The points of a conjunct and the value of an expression, which is the last dimension."""
    graph = RowBuilder((*names, "?")).conjunct([("eq", e - var("?"))])
    return None if graph is None else cj.conjoin(cj.reindex(c, c.n + 1, tuple(range(c.n))), graph)


def _unbounded(e: Aff, sign: int, where: object) -> Unbounded:
    what, bound = ("least", ">=") if sign < 0 else ("greatest", "<=")
    hint = f"add a bound such as '{e} {bound} ...' to the constraints"
    return Unbounded(f"{e} has no {what} value", where=str(where), hint=hint)


def extremal_pieces(
    c: Conjunct, names: tuple[str, ...], e: Aff, n_fixed: int, sign: int, where: object
) -> Sequence[Piece]:
    """The least (sign -1) or greatest value of an expression over a conjunct: cells over the first dimensions."""
    row = row_of(e, names)
    pieces = None if row is None else foremost(c, row, n_fixed, sign, names[:n_fixed])
    if pieces is not None:
        return pieces
    at = next((d for d in range(n_fixed, c.n) if e == var(names[d])), c.n)  # the value is a dimension already
    both = c if at < c.n else _with_value(c, names, e)
    if both is None or both.is_empty:
        return []
    alone = pj.project(both, tuple([d for d in range(n_fixed, c.n) if d != at]))
    try:
        return folded_optimum(alone, n_fixed, sign, names[:n_fixed], where) if alone is not None else []
    except Unbounded:
        raise _unbounded(e, sign, where) from None


def _best(self: Relation, expression: Expression, sign: int) -> int | PwAff:
    space = self.space
    names = (*self.param_names, *space.dims)
    n_fixed = len(self.param_names) + space.n_in
    if not n_fixed:
        return greatest_value(self, expression, sign)
    cells = []
    for c in self.parts[0][1]:
        for when, e in expression_cases(self, expression, names):
            more = RowBuilder(names).conjunct(when)
            part = None if more is None else cj.conjoin(c, more)
            if part is not None:
                cells.append(extremal_pieces(part, names, e, n_fixed, sign, self))
    return _function(self, cells, sign)


def greatest_value(self: Relation, what: Expression, sign: int, dim: bool = False) -> int:
    """The greatest (sign -1: least) value of an expression, or of a dimension, for all parameters together.

    Parameters are optimised over as dimensions are, so no function of them is made: a linear program for each piece.

    Raises
    ------
    Unbounded : there is none.
    EmptySet : there is no point.
    """
    space = self.space
    names = (*self.param_names, *space.dims)
    if dim:
        what = var(space.out.dims[position(what, space.out.dims, str(space.out))])  # type: ignore[arg-type]
    values = []
    for when, e in expression_cases(self, what, names):
        more = RowBuilder(names).conjunct(when)
        for c in self.parts[0][1]:
            part = None if more is None else cj.conjoin(c, more)
            if part is not None and (value := extremal_value(part, names, e, sign, self)) is not None:
                values.append(value)
    if not values:
        raise _no_point(self)
    return max(values, key=lambda v: v * sign)


def expression_cases(self: Relation, expression: Expression, names: tuple[str, ...]) -> list:
    """(when, value) pairs of an expression that a user gave, checked against the names of a relation."""
    if isinstance(expression, str):
        return parse_cases(expression, names)
    if not isinstance(expression, (Aff, int)):
        raise SpaceMismatch(f"an expression is an Aff or a text, not {expression!r}", where=str(self))
    e = aff(expression)
    for name in e.names():
        if name not in names:
            raise UnknownName(
                f"no dimension or parameter is called {name!r}", where=str(self), hint=nearest(name, names)
            )
    return [((), e)]


def _best_dim(self: Relation, dim: str | int, sign: int) -> PwAff:
    space = self.space
    name = space.out.dims[position(dim, space.out.dims, str(space.out))]
    names = (*self.param_names, *space.dims)
    n_fixed = len(self.param_names) + space.n_in
    cells = [extremal_pieces(c, names, var(name), n_fixed, sign, self) for c in self.parts[0][1]]
    return _function(self, cells, sign)


def _function(self: Relation, groups: list[Sequence[Piece]], sign: int) -> PwAff:
    """The better of some functions of the parameters and inputs."""
    from ..functions.pwaff import ONE, PwAff

    space = Space(self.space.inp or PARAMS, ONE)
    best = PwAff._of_folded(self.param_names, space, groups[0] if groups else ())
    for pieces in groups[1:]:
        other = PwAff._of_folded(self.param_names, space, pieces)
        best = best.union_max(other) if sign > 0 else best.union_min(other)
    return best.coalesce() if len(groups) > 1 else best


def _no_point(self: Relation) -> EmptySet:
    return EmptySet("the set has no point", where=str(self), hint="ask is_empty() first")
