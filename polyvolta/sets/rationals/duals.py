"""Farkas' lemma: the affine constraints that hold on a set, as a set, and the way back.

The inequality `w + y . x >= 0` holds at all x of a polyhedron exactly when it holds at its vertices, where `w` counts
too, along its rays, and with equality along its lines. So the coefficients (w, y) form a cone that has a row for each
vertex and ray, and an equality for each line. The double description gives these, and leads back: of a set of
coefficients each vertex and ray is a constraint on x. Going there and back closes a polyhedron, for `>=` can't say
that a face is not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

from ..conjuncts.conjunct import Conjunct
from ..engine import cone
from ..errors import NotSupported, SpaceMismatch
from ..values.shape import spaced
from ..values.space import Space, Tuple, renamed
from .polyhedron import Polyhedron, conjoin, minimal, polyhedron, project, universe

if TYPE_CHECKING:
    from ..values.set import Set
    from .rational import RationalSet

NAME, CONSTANT, PREFIX = "coefficients", "c_cst", "c_"  # isl's


def coefficients(self: RationalSet) -> RationalSet:
    """The coefficients of all affine constraints `c_cst + c_N*N + c_i*i >= 0` that hold at every point.

    Exact; a double description of each piece. Strict rows count as closed ones. Parameters stand among the
    coefficients of the wrapped tuple, as in isl: every constraint holds where there is no point.

    Raises
    ------
    SpaceMismatch : there are several tuples.

    >>> from polyvolta.sets import RationalSet
    >>> print(RationalSet("{ rat: [i] : 0 <= i <= 10 }").coefficients())
    { rat: coefficients[[c_cst] -> [c_i]] : c_cst >= 0 and 10*c_i >= -c_cst }
    """
    return _of_pieces(type(self), self.param_names, self.space, self.parts[0][1])


def coefficients_of_set(self: Set) -> RationalSet:
    """See `Set.coefficients`; of a union those of each tuple."""
    from .rational import RationalSet

    if self._is_union and len(self.parts) != 1:
        found = [coefficients_of_set(type(self)._of(self.param_names, [part])).parts for part in self.parts]
        return RationalSet._of((), [part for parts in found for part in parts])
    space = self.space  # which says that there are several tuples, or none
    pieces = [relaxed(c, self, "coefficients") for c in self.parts[0][1]]
    return _of_pieces(RationalSet, self.param_names, space, pieces)


def relaxed(c: Conjunct, s: Set, what: str) -> Polyhedron | None:
    """The rational points that satisfy the rows of a conjunct of a set; None if there are none.

    A floor that is a sum of dimensions is none: `2j = i` is `i mod 2 = 0 and j = floor(i/2)`, too.

    Raises
    ------
    NotSupported : a row has another floor or existential; `what` are of others alone.
    """
    divs = range(1 + c.n, 1 + c.n + len(c.divs))
    said = {k for row in c.eqs for k in divs if abs(row[k]) == 1 and not any(row[j] for j in divs if j != k)}
    if len(said) < len(divs):
        hint = "convex_hull() has none, if it has no stride"
        raise NotSupported(f"{what} are of constraints without floors and existentials", where=str(s), hint=hint)
    p = polyhedron(c.n + len(divs), c.eqs, c.all_ineqs())
    return p and project(p, tuple([k - 1 for k in divs]))


def _of_pieces(
    kind: type[RationalSet], params: tuple[str, ...], space: Space, pieces: Iterable[Polyhedron | None]
) -> RationalSet:
    """The coefficients of what holds on all of some polyhedra over parameters and the dimensions of a space."""
    first = Tuple(None, (CONSTANT, *(PREFIX + p for p in params)))
    second = renamed(space.out, [PREFIX + d for d in space.out.dims])
    inner = spaced(first, second, ())
    n = len(inner.dims)
    dual = universe(n)
    for p in pieces:
        if p is not None:
            lines, rays = cone.of_polyhedron(p.n, p.eqs, (*p.ineqs, *p.strict))
            more = minimal(n, [(0, *g) for g in lines], [(0, *g) for g in rays])
            dual = more if dual == universe(n) else conjoin(dual, more)
            assert dual is not None  # all of them have the point 0
    return kind._of((), [(Space(None, Tuple(NAME, inner.dims, inner)), (dual,))])


def solutions(self: RationalSet) -> RationalSet:
    """The points at which all affine constraints hold whose coefficients are in the set; see `coefficients`.

    Exact; a double description of each piece. Of several tuples of coefficients those of each.

    Raises
    ------
    SpaceMismatch : a tuple is not one of coefficients, `[[c_cst, ...] -> [...]]`, or there is none.

    >>> from polyvolta.sets import RationalSet
    >>> print(RationalSet("{ rat: coefficients[[c] -> [a]] : c >= 0 and 10a + c >= 0 }").solutions())
    { rat: [a] : 0 <= a <= 10 }
    """
    each = [self._of(self.param_names, [part]) for part in self.parts]
    if len(each) > 1:
        return reduce(lambda a, b: a | b, map(solutions, each))
    inner = self.space.out.inner
    if inner is None or not inner.n_in or self.param_names:
        wanted = "coefficients[[c_cst, c_N] -> [c_i]], without parameters"
        raise SpaceMismatch("solutions are of coefficients", where=str(self), hint=f"these live in {wanted}")
    params = tuple([d.removeprefix(PREFIX) for d in inner.source.dims[1:]])
    out = renamed(inner.out, [d.removeprefix(PREFIX) for d in inner.out.dims])
    n = len(inner.dims) - 1
    found: Polyhedron | None = universe(n)
    for p in self.parts[0][1]:
        lines, rays = cone.of_polyhedron(p.n, p.eqs, (*p.ineqs, *p.strict))
        more = polyhedron(n, [g[1:] for g in lines], [g[1:] for g in rays])
        found = found and more and conjoin(found, more)
    space = spaced(None, out, params)
    return self._of(params, [(space, () if found is None else (found,))])
