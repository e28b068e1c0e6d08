"""isl's matrices of integers, and sets and relations of one piece as matrices of their constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from ...conjuncts import conjunct as cj
from ...engine.rows import Row
from ...errors import SpaceMismatch, UnknownName
from ...values.kinds import is_kind
from ...values.space import Space, fresh, whole
from ..explicit import listed
from .spaces import every
from .values import Val, integer

if TYPE_CHECKING:
    from ...conjuncts.normal import Div
    from ...values.relation import Relation


class Mat(tuple[tuple[int, ...], ...]):
    """A matrix of integers: a tuple of its rows, with isl's methods; what changes one gives another.

    >>> m = Mat([(1, 2), (3, 4)])
    >>> m.product(m.transpose()), m.set_element_val(0, 0, 6).get_element_val(0, 0), m.rank(), m.rows(), m.cols()
    (Mat(((5, 11), (11, 25))), 6, 2, 2, 2)
    """

    _cols: int

    def __new__(cls, rows: Iterable[Sequence[int]], cols: int | None = None) -> Self:
        found = tuple(tuple(integer(x) for x in row) for row in rows)
        widths = {len(row) for row in found} | ({cols} if cols is not None else set())
        if len(widths) > 1:
            raise SpaceMismatch("the rows of a matrix have one length", where=str(found))
        self = tuple.__new__(cls, found)
        self._cols = next(iter(widths), 0)
        return self

    def __repr__(self) -> str:
        return f"Mat({tuple.__repr__(self)})"

    @classmethod
    def alloc(cls, context: object, rows: int, cols: int) -> Self:
        """A matrix of zeros; isl's context means nothing."""
        return cls([[0] * cols] * rows, cols)

    @classmethod
    def identity(cls, context: object, n: int) -> Self:
        """The matrix with ones on its diagonal, and zeros elsewhere."""
        return cls([[int(r == c) for c in range(n)] for r in range(n)], n)

    def rows(self) -> int:
        """How many rows there are."""
        return len(self)

    def cols(self) -> int:
        """How many columns there are."""
        return self._cols

    def copy(self) -> Self:
        """The matrix itself."""
        return self

    def get_element_val(self, row: int, col: int) -> Val:
        """The number in a row and a column."""
        return Val(self[self._at(row, len(self))][self._at(col, self._cols)])

    def set_element_val(self, row: int, col: int, value: int) -> Self:
        """The matrix with another number in a row and a column."""
        r, c = self._at(row, len(self)), self._at(col, self._cols)
        return type(self)([[value if (i, k) == (r, c) else x for k, x in enumerate(xs)] for i, xs in enumerate(self)])

    def _at(self, position: int, n: int) -> int:
        if (k := whole(position)) is None or not 0 <= k < n:
            raise UnknownName(f"position {position!r} is not in the matrix", where=repr(self), hint=f"there are {n}")
        return k

    def transpose(self) -> Self:
        """The matrix whose rows are the columns of this one."""
        return type(self)([[row[c] for row in self] for c in range(self._cols)], len(self))

    def product(self, other: Mat) -> Self:
        """The product, of as many columns as the other has rows."""
        if self._cols != len(other):
            raise SpaceMismatch(
                f"{self._cols} columns are multiplied by {len(other)} rows", where=f"{self!r}\n{other!r}"
            )
        columns = other.transpose()
        return type(self)([[sum(x * y for x, y in zip(row, c, strict=True)) for c in columns] for row in self],
                          other.cols())  # fmt: skip

    def concat(self, below: Mat) -> Self:
        """The rows of both."""
        return type(self)([*self, *below], self._cols)

    def is_equal(self, other: Mat) -> bool:
        """Whether both have the same rows and columns."""
        return self == other and self._cols == other.cols()

    def rank(self) -> int:
        """How many rows are independent; exact."""
        left, found = [[Fraction(x) for x in row] for row in self], 0
        for c in range(self._cols):
            pivot = next((k for k in range(found, len(left)) if left[k][c]), None)
            if pivot is None:
                continue
            left[found], left[pivot] = left[pivot], left[found]
            for k in range(found + 1, len(left)):
                factor = left[k][c] / left[found][c]
                left[k] = [x - factor * y for x, y in zip(left[k], left[found], strict=True)]
            found += 1
        return found


# ---- constraints


def _columns(value: Any, n_div: int, kinds: Sequence[Any]) -> list[int]:  # noqa: ANN401
    """Where the columns of a row of ours, 1, parameters, dimensions and existentials, are by kinds in an order.

    `value` has parameters and one space.

    Raises
    ------
    UnknownName : a kind is missing, or there twice.
    """
    space, n_par = value.space, len(value.param_names)
    first, last = 1 + n_par, 1 + n_par + len(space.dims)
    there = {"cst": range(1), "param": range(1, first), "div": range(last, last + n_div)}
    there |= {"out": range(first + space.n_in, last)} if space.inp is not None else {"out": range(first, last)}
    if space.inp is not None:
        there["in_"] = range(first, first + space.n_in)
    words = [("out" if k.name == "set" else k.name) if is_kind(k) else repr(k) for k in kinds]
    if sorted(words) != sorted(there):
        raise UnknownName(f"each kind of columns is needed once, {', '.join(sorted(there))}", where=str(space))
    return [at for word in words for at in there[word]]


def matrix(equal: bool) -> Callable[..., Mat]:
    """A method for the coefficients of the equalities of one piece, or of its inequalities, in columns by kinds."""

    def method(self: Relation, *kinds: Any) -> Mat:
        pieces = [c for _, cs in self.parts for c in cs]
        if len(self.parts) != 1 or len(pieces) > 1:
            raise SpaceMismatch("constraints are those of one piece", where=str(self), hint="s.get_basic_sets()")
        n = len(self.param_names) + len(self.space.dims)
        c = pieces[0] if pieces else cj.nothing(n)
        divs, eqs, ineqs = listed(c, 1 + n)
        order = _columns(self, len(divs), kinds)
        rows = eqs if equal else [*ineqs, *_floors(divs, 1 + n)]
        return Mat([[row[at] for at in order] for row in rows], len(order))

    what = "equalities, which are 0" if equal else "inequalities, which are at least 0, those that floors are known by"
    method.__doc__ = f"The coefficients of the {what}; a column each of 1, parameters, dimensions and existentials."
    return method


def _floors(divs: Sequence[Div], first: int) -> list[Row]:
    """What says of the floors which they are: 0 <= num - den * floor < den."""
    width, rows = first + len(divs), []
    for k, div in enumerate(divs, first):
        if div is not None:
            den, num = div
            rest = [*num, *[0] * (width - len(num))]
            rest[k] -= den
            rows += [tuple(rest), (den - 1 - rest[0], *[-x for x in rest[1:]])]
    return rows


def from_matrices(space: Space, equal: Mat, atleast: Mat, *kinds: Any) -> Any:  # noqa: ANN401
    """The points of a space at which the rows of one matrix are 0, and those of another at least 0, for some integers.

    Raises
    ------
    SpaceMismatch : the matrices have other numbers of columns than the space.
    """
    points: Any = every(space)
    taken = {*points.param_names, *points.space.dims}
    extra = equal.cols() - 1 - len(taken)
    if extra < 0 or equal.cols() != atleast.cols():
        raise SpaceMismatch(f"{equal.cols()} and {atleast.cols()} columns are given", where=str(space),
                            hint=f"1 + {len(taken)} are needed, and more of existentials")  # fmt: skip
    order = _columns(points, extra, kinds)
    names = []
    for k in range(extra):
        names.append(fresh(f"e{k}", taken))
        taken.add(names[-1])
    wider = points.add_dims(*names)
    eqs, ineqs = ([_placed(row, order) for row in rows] for rows in (equal, atleast))
    piece = cj.normalise(len(order) - 1, (), eqs, ineqs)
    found = wider._of(wider.param_names, [(wider.space, () if piece is None else (piece,))])
    return points._of(points.param_names, [(points.space, cs) for _, cs in found.project_out(*names).parts])


def _placed(row: Sequence[int], order: Sequence[int]) -> Row:
    """A row whose columns are in an order as one of ours."""
    found = [0] * len(order)
    for at, x in zip(order, row, strict=True):
        found[at] = x
    return tuple(found)


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set Map", "equalities_matrix", matrix(True)),
    ("Set Map", "inequalities_matrix", matrix(False)),
    ("Set Map", "from_constraint_matrices", from_matrices),
)
"""Classes, isl's names, and the method."""
