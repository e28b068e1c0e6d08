"""Box hulls: the smallest box of constant size, at a parametric offset, around each image of a map.

This is what memory promotion asks: which tile of an array do the instances of one block touch? For every
output dimension the constraints are projected onto it and the inputs; among the pairs of a lower and an upper
bound with a constant difference the closest pair gives offset and size. Exact as a bound (every point is
inside); whether the box is full is a question of equality that the caller can ask of `Box.relation`.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import conjunct as cj
from . import project as pj
from .aff import Aff, var
from .build import RowBuilder, affs_of, expression
from .conjunct import Conjunct, defining_rows
from .errors import Unbounded
from .map import Map


@dataclass(frozen=True, slots=True)
class Box:
    """For each input the box `offset <= output < offset + size`.

    Parameters
    ----------
    offset : one expression of inputs and parameters per output dimension.
    size : one positive number per output dimension.
    """

    offset: tuple[Aff, ...]
    size: tuple[int, ...]

    def relation(self, of: Map) -> Map:
        """The box as a map in the space of `of`, on its domain."""
        space = of.space
        names = (*of.param_names, *space.dims)
        constraints = []
        for dim, low, size in zip(space.out.dims, self.offset, self.size, strict=True):
            constraints += [("ge", var(dim) - low), ("ge", low + (size - 1) - var(dim))]
        c = RowBuilder(names).conjunct(constraints)
        return Map._of(of.param_names, [(space, (c,))]).intersect_domain(of.domain())


def box_hull(relation: Map) -> Box:
    """The box hull of a map's images.

    Raises
    ------
    Unbounded : an output dimension's extent is not bounded by a number.

    >>> from polyvolta.sets import Map
    >>> box = box_hull(Map("[N] -> { [b] -> A[i] : b = floor(i/32) and 0 <= i < N }"))
    >>> print(*box.offset, box.size)
    32*b (32,)
    """
    space = relation.space
    n_par = len(relation.param_names)
    n_in = n_par + space.n_in
    names = (*relation.param_names, *space.inp.dims)
    offsets, sizes = [], []
    for k, dim in enumerate(space.out.dims):
        drop = tuple(n_in + j for j in range(space.n_out) if j != k)
        bounds = None
        for c in relation.parts[0][1]:
            alone = pj.project(c, drop)
            if alone is None or alone.is_empty:
                continue
            found = _bounds(alone, (*names, dim))
            bounds = found if bounds is None else bounds & found
        best = min(bounds or (), key=lambda b: (b[1], str(b[0])), default=None)
        if best is None:
            raise Unbounded(f"the extent of {dim} is not bounded by a number", where=str(relation))
        offsets.append(best[0])
        sizes.append(best[1])
    return Box(tuple(offsets), tuple(sizes))


def _bounds(c: Conjunct, names: tuple[str, ...]) -> set[tuple[Aff, int]]:
    """All (offset, size) that pairs of rows of a conjunct give for its last dimension."""
    c = _spelt_out(c)
    last = c.n
    table = affs_of(c, names)
    rows = [*c.ineqs, *c.eqs, *(tuple(-v for v in r) for r in c.eqs)]
    hidden = {1 + c.n + k for k in _leaning(c)} | {col for col, e in table.items() if e is None}
    usable = [r for r in rows if r[last] and not any(r[col] for col in hidden)]
    out = set()
    for low in (r for r in usable if r[last] == 1):
        for high in (r for r in usable if r[last] == -1):
            if all(a + b == 0 for a, b in zip(low[1:], high[1:], strict=True)):
                without = (*low[:last], 0, *low[last + 1 :])
                out.add((expression(tuple(-v for v in without), table), low[0] + high[0] + 1))
    return out


def _leaning(c: Conjunct) -> list[int]:
    """The known divs that depend on the last dimension."""
    found: list[int] = []
    for k, div in enumerate(c.divs):
        if div is not None and (div[1][c.n] or any(div[1][1 + c.n + j] for j in found)):
            found.append(k)
    return found


def _spelt_out(c: Conjunct) -> Conjunct:
    """The conjunct, its inequalities freed of the divs that lean on the last dimension.

    An over-approximation: each such div, q = floor(e/d), is eliminated as a rational between (e - d + 1)/d
    and e/d, after Fourier and Motzkin. Equalities stay.

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("[N] -> { [i] : 0 <= i and i + 3*floor(i/3) < N }").parts
    >>> _spelt_out(c).ineqs
    ((0, 0, 1), (1, 1, -2))
    """
    width = 1 + c.n + len(c.divs)
    rows = list(c.ineqs)
    for k in reversed(_leaning(c)):
        col = 1 + c.n + k
        if not any(r[col] for r in rows):
            continue
        rows += defining_rows(c.divs[k], col, width)
        low, high = [r for r in rows if r[col] > 0], [r for r in rows if r[col] < 0]
        rows = [r for r in rows if not r[col]]
        rows += [tuple([-b[col] * x + a[col] * y for x, y in zip(a, b, strict=True)]) for a in low for b in high]
    return cj.normalise(c.n, c.divs, c.eqs, rows) or c
