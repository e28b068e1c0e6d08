"""Preimages of sets of rational points under affine functions, whose values may be fractions."""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, Any

from ..errors import NotSupported, SpaceMismatch
from ..values.build import row_of
from ..values.space import PARAMS, Space
from . import polyhedron as ph

if TYPE_CHECKING:
    from .polyhedron import Row
    from .rational import RationalSet


def preimage(self: RationalSet, function: Any) -> RationalSet:  # noqa: ANN401
    """{ x : function(x) is in this set }, of rational points x; exact, linear.

    `function` has a tuple of values, each of them one affine expression everywhere, over a number or not.

    >>> import polyvolta.isl as isl
    >>> triangle = isl.Set("{ rat: B[i, j] : 0 <= i and 0 <= j <= 3 - i }")
    >>> print(triangle.preimage(isl.MultiAff("{ A[a, b] -> B[a/2, b/6] }")))
    { rat: A[a, b] : a >= 0 and 0 <= b <= 18 - 3*a }

    Raises
    ------
    SpaceMismatch : this is no such function, or it leads elsewhere.
    NotSupported : a value has cases or is rounded.
    """
    from ..functions.rational import lifted

    space = getattr(function, "space", None)
    if not isinstance(space, Space) or not hasattr(function, "__len__"):
        raise SpaceMismatch("a preimage needs a function", where=str(function))
    key = Space(None, space.out).key
    if key not in {s.key for s, _ in self.parts}:
        raise SpaceMismatch("the function leads elsewhere", where=f"function: {space}\nhere: {self}")
    params = tuple(dict.fromkeys((*self.param_names, *function.param_names)))
    inp, values = space.inp or PARAMS, []
    for f in function:
        member = lifted(f.align_params(params))
        inp = member.num.inp
        values.append((_row(member), member.den))
    n = len(params) + len(inp.dims)
    found = [_pulled(p, values, len(params), n) for p in self.align_params(params)._find(key)]
    return self._of(params, [(Space(None, inp), tuple([p for p in found if p is not None]))])


def _row(member: Any) -> Row:  # noqa: ANN401
    """The numerator of a value as a row over parameters and inputs."""
    cells = member.num.cells
    row = row_of(cells[0][1][0], member.num.names) if len(cells) == 1 and member.nan.is_empty() else None
    if row is None or cells[0][0].eqs or cells[0][0].ineqs:
        raise NotSupported("a preimage of rational points is one under affine functions, without cases and floors",
                           where=str(member))  # fmt: skip
    return row


def _pulled(p: ph.Polyhedron, values: list[tuple[Row, int]], n_par: int, n: int) -> ph.Polyhedron | None:
    """A polyhedron with values for its dimensions, of which each row is multiplied by a positive number."""
    common = lcm(*[den for _, den in values])

    def moved(row: Row) -> Row:
        out = [common * v for v in row[: 1 + n_par]] + [0] * (n - n_par)
        for c, (value, den) in zip(row[1 + n_par :], values, strict=True):
            out = [x + c * (common // den) * v for x, v in zip(out, value, strict=True)]
        return tuple(out)

    return ph.polyhedron(n, map(moved, p.eqs), map(moved, p.ineqs), map(moved, p.strict))
