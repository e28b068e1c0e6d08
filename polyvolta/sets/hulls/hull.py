"""Hulls: one conjunct around a union, as tight as its kind allows.

- The *affine hull* has equalities only. It is computed on the grid of integer points (module `lattice`), so it is
  the least affine subspace that contains them, and it keeps strides: the hull of the points 0 and 4 is `i mod 4 = 0`.
  Equalities of several floors that all pieces say are kept, too.
- The *simple hull* has translates of the constraints at hand: each is moved out until it holds on every piece.
  The *unshifted* one has only those that hold as they are, each as tight as the grid of its conjunct allows
  (`j >= -4` beside `j mod 2 = 1` is j >= -3). Pieces that coalesce to a simple conjunct are their own hull.
- The *convex hull* is the rational one: of the rational solutions of all pieces, existentials forgotten. Inequalities
  are first as tight as the grid of their conjunct allows (`0 <= 2i <= 5` ends at 2, and beside `i mod 4 = 1` at 1).
  It is exact as such, by double description (module `cone`), which can take exponentially many rays.
- The *polyhedral hull* is the affine and the convex hull together.

Parameters count as dimensions: a hull may relate them. Hulls are taken of each space of a relation on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import TYPE_CHECKING, TypeVar

from ..budgets import bounded, spend
from ..conjuncts import conjunct as cj
from ..conjuncts import lattice
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.frame import Frame, Member
from ..conjuncts.implies import implied
from ..conjuncts.project import prune, with_known_divs
from ..engine import cone
from ..engine.rows import Row, combine, dot, negate, normal_ineq, substitute_all
from ..errors import BudgetExceeded
from . import boxes
from .coalesce import coalesce_conjuncts
from .parting import several

if TYPE_CHECKING:
    from ..values.relation import Relation

R = TypeVar("R", bound="Relation")

FOR_MERGING = 5_000  # steps (some 100 ms) to coalesce the pieces of a simple hull


def remove_redundancies(self: R) -> R:
    """Each conjunct without the inequalities that its others imply over the rationals.

    Exact; a linear program each. Constraints that only integrality makes redundant go with `gist` in the universe.

    Raises
    ------
    BudgetExceeded : the linear programs took too many steps.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] : 0 <= i <= j <= 9 and i + j >= -3 }").remove_redundancies())
    { [i, j] : i >= 0 and i <= j <= 9 }
    """
    return self._map_conjuncts(lambda c: None if c.is_empty else prune(c))


def detect_equalities(self: R) -> R:
    """Each conjunct with the equalities that all its integer points satisfy, said as equalities.

    Exact over the integers: a linear program each, and a few samples where all integer points of a full-dimensional
    polyhedron lie in a subspace.

    Raises
    ------
    BudgetExceeded : a search for integer points took too many steps.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] : 0 <= 3i - 3j <= 2 and 0 <= j <= 9 }").detect_equalities())
    { [i, j] : j = i and 0 <= i <= 9 }
    """
    return self._map_conjuncts(lattice.with_equalities)


def affine_hull(self: R) -> R:
    """The equalities and strides that all points satisfy, as one conjunct in each space.

    Exact over the integers: the least affine subspace with the points, parameters counted as dimensions. Strides are
    kept, those that equalities of the pieces and differences between pieces give, where isl's hull of a union
    forgets them. An equality of several floors that all pieces state is kept. A linear program for each inequality,
    few integer points to sample.

    Raises
    ------
    BudgetExceeded : a search for integer points took too many steps.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] : j = i + 1 and i <= 9; [20, 21] }").affine_hull())
    { [i, j] : j = i + 1 }
    >>> print(Set("{ [1]; [7]; [10] }").affine_hull())
    { [i0] : i0 mod 3 = 1 }
    >>> print(Set("[N] -> { [5*floor(N/3) + 3*floor(N/2)] : N > 4 }").affine_hull())
    [N] -> { [3*floor(N/2) + 5*floor(N/3)] }
    """
    return _hull(self, _affine)


def simple_hull(self: R) -> R:
    """One conjunct in each space around the points, of translates of the constraints at hand.

    It contains the points, the equalities of their affine hull hold, and it is no convex hull; where pieces coalesce
    to one that is as simple, it has no further point. Existentials are spelt out first. A linear program for each
    inequality and piece, and a coalescing.

    Raises
    ------
    BudgetExceeded : spelling out existentials, or the linear programs, took too many steps.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] : 0 <= i <= 3 and 0 <= j <= i; [i, j] : 5 <= i <= 7 and j = 9 }").simple_hull())
    { [i, j] : 0 <= i <= 7 and 0 <= j <= 9 and j <= i + 4 }
    """
    return _hull(self, lambda cs: _simple(cs, shift=True))


def unshifted_simple_hull(self: R) -> R:
    """One conjunct in each space around the points, of those constraints at hand that hold on all of them.

    It contains the simple hull. Existentials are spelt out first. A linear program for each inequality and piece.

    Raises
    ------
    BudgetExceeded : as `simple_hull`.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : 0 <= i <= 3; [i] : 5 <= i }").unshifted_simple_hull())
    { [i] : i >= 0 }
    """
    return _hull(self, lambda cs: _simple(cs, shift=False))


def convex_hull(self: R) -> R:
    """The integer points of the rational convex hull, as one conjunct without existentials in each space.

    Of the rational solutions, each inequality as tight as the grid of its conjunct allows: exact as such, closed, and
    not the hull of the integer points alone. Double description, exponential at worst, after Motzkin et al. (1953).

    Raises
    ------
    BudgetExceeded : the hull has too many vertices or facets.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [0, 0]; [i, j] : 0 <= j <= 4 and i = 3 }").convex_hull())
    { [i0, i1] : i0 <= 3 and 0 <= 3*i1 <= 4*i0 }
    """
    return _hull(self, _convex)


def polyhedral_hull(self: R) -> R:
    """The convex hull within the affine hull, which knows about integers: both as one conjunct in each space.

    Raises
    ------
    BudgetExceeded : as `convex_hull` and `affine_hull`.

    >>> from polyvolta.sets import Set
    >>> Set("{ [4]; [12]; [0] }").polyhedral_hull().is_equal(Set("{ [i] : 0 <= i <= 12 and i mod 4 = 0 }"))
    True
    """
    return _hull(self, lambda cs: _joined(_affine(cs), _convex(cs)))


def _hull(self: R, of: Callable[[list[Conjunct]], Conjunct]) -> R:
    parts = []
    for space, cs in self.parts:
        pieces: list[Conjunct] = []
        for c in cs:  # hulls begin with the first piece's grid, and may need no other
            if not c.is_empty if pieces else lattice.of_conjunct(c) is not None:
                pieces.append(c)
        parts.append((space, (of(pieces),) if pieces else ()))
    return self._of(self.param_names, parts)


def _joined(a: Conjunct, b: Conjunct) -> Conjunct:
    return cj.conjoin(a, b) or cj.nothing(a.n)


def _affine(cs: list[Conjunct]) -> Conjunct:
    hull = _grid(cs)
    if not any(c.known and any(any(r[1 + c.n :]) for r in c.eqs) for c in cs):
        return hull
    floors = _of_floors(cs)
    return floors if implied(floors, hull) else _joined(hull, floors)


def _grid(cs: list[Conjunct]) -> Conjunct:
    """The least grid with the points of all; others are not looked at once one has neighbours along all axes."""
    found = []
    for c in cs:
        grid = lattice.of_conjunct(c)
        if grid is not None:
            if lattice.is_everything(grid):
                return cj.universe(c.n)
            found.append(grid)
    return lattice.conjunct(cs[0].n, lattice.joined(found))


def _of_floors(cs: list[Conjunct]) -> Conjunct:
    """The equalities of several floors that hold on all pieces, as `i = 3*floor(N/2) + 5*floor(N/3)`.

    What merely says what one floor is bounds the dimensions, and is left out: `j = floor(i/2)`.
    """
    frame = Frame(cs)
    first, *others = frame.members
    eqs = [r for r in first.eqs if all(m.implies(r) and m.implies(negate(r)) for m in others)]
    tied = {k for r in eqs for k in _floors(r, frame.n) if len(_floors(r, frame.n)) > 1}
    kept = [r for r in eqs if not tied.isdisjoint(_floors(r, frame.n))]
    return frame.conjunct(kept, ()) or cj.nothing(frame.n)


def _floors(row: Row, n: int) -> list[int]:
    """The columns of the divs that a row mentions."""
    return [k for k in range(1 + n, len(row)) if row[k]]


def _simple(cs: list[Conjunct], *, shift: bool) -> Conjunct:
    cs = list(boxes.joined([p for c in cs for p in with_known_divs(c) if not p.is_empty]))
    whole = _merged(cs) if len(cs) > 1 else None
    if whole is not None:
        return _joined(_affine(cs), whole) if shift else whole
    hull = boxes.bounds(cs) or _of_rows(cs, shift)
    return _joined(_affine(cs), hull) if shift else hull


def _of_rows(cs: list[Conjunct], shift: bool) -> Conjunct:
    """The rows of pieces that hold on all of them, with `shift` also those that do where they are moved."""
    frame = Frame([_on_grid(c) for c in cs])
    members = frame.members
    best: dict[Row, int] = {}
    loose: set[Row] = set()  # linear parts without a least value on some piece
    for member in members:
        for row in member.statements:
            key = row[1:]
            if key in loose or (key in best and best[key] <= row[0]):
                continue
            unsure, least = members, None
            if shift and key not in best:
                lows = _lows(members, key)
                if lows is None:
                    loose.add(key)
                    continue
                unsure, least = [m for m, low in zip(members, lows, strict=True) if low < -row[0]], min(lows)
            if all(m.implies(row) for m in unsure):
                best[key] = row[0]
            elif least is not None:
                best[key] = -least
    hull = frame.conjunct((), [(c, *key) for key, c in best.items()]) or cj.nothing(frame.n)
    return prune(hull) or hull if len(cs) > 1 else hull


def _lows(members: Sequence[Member], key: Row) -> list[int] | None:
    """Lower bounds of a linear form on each of some pieces; None where it has none on one of them."""
    found = []
    for m in members:
        low = m.minimum((0, *key))
        if low is None:
            return None
        found.append(low)
    return found


def _merged(cs: list[Conjunct]) -> Conjunct | None:
    """The one conjunct that says the same as the pieces; None where there is none, or none that is as simple.

    It is as simple where it is shorter than a piece, or each of its rows is a translate of one at hand, or bounds a
    remainder.
    """
    if several(cs):
        return None
    try:
        found = bounded(FOR_MERGING, coalesce_conjuncts, tuple(cs))
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return None
    if len(found) != 1:
        return None
    frame = Frame((*cs, *found))
    *given, whole = frame.members
    known = {key for m in given for key in m.least} | {row[1:] for row in frame.given}
    if _size(found[0]) < max(map(_size, cs)) or whole.least.keys() <= known:
        return found[0]
    return None


def _size(c: Conjunct) -> int:
    """How much there is to read in a conjunct."""
    return 2 * len(c.eqs) + len(c.ineqs) + len(c.divs)


def _on_grid(c: Conjunct) -> Conjunct:
    """The conjunct, not normalised, its inequalities in the dimensions where equalities allow, tight on its grid.

    So it is with `floor(j/2) >= -2` beside `j mod 2 = 1`, which is j >= -3.

    >>> from polyvolta.sets import Set
    >>> _on_grid(Set("{ [j] : j >= -4 and j mod 2 = 1 }").parts[0][1][0]).ineqs
    ((3, 1, 0),)
    """
    base = 1 + c.n
    grid = lattice.of_conjunct(c) if c.eqs else None
    if grid is None:
        return c
    origin, basis = grid
    out = []
    for row in c.ineqs:
        flat = row
        for eq in reversed(c.eqs):
            q = max((k for k in range(base, len(eq)) if eq[k]), default=0)
            if q and flat[q]:
                flat = combine(abs(eq[q]), flat, -flat[q] if eq[q] > 0 else flat[q], eq)
        if any(flat[base:]):
            out.append(row)
            continue
        form = flat[1:base]
        step = gcd(*[dot(form, b) for b in basis])
        value = flat[0] + dot(form, origin)
        tight = (flat[0] - value % step if step else flat[0], *flat[1:])
        found = normal_ineq(tight)
        out.append(row if isinstance(found, bool) else found)
    return Conjunct(c.n, c.divs, c.eqs, tuple(out))


def _convex(cs: list[Conjunct]) -> Conjunct:
    n = cs[0].n
    lines: list[Row] = []
    rays: list[Row] = []
    for c in cs:
        more_lines, more_rays = _generators(c)
        lines += [line for line in more_lines if any(line)]
        rays += [ray for ray in more_rays if any(ray)]
    eqs, ineqs = cone.to_polyhedron(n, lines, rays)
    return cj.normalise(n, (), eqs, ineqs) or cj.nothing(n)


def _generators(c: Conjunct) -> cone.Generators:
    """What generates the dimensions' values of a conjunct with points, found in the coordinates of their grid.

    There the equalities are gone, and dividing a row by its coefficients' divisor tightens it to a value it takes.

    >>> from polyvolta.sets import Set
    >>> _generators(Set("{ [i] : -5 <= i <= 6 and i mod 4 = 1 }").parts[0][1][0])
    ([], [(1, 5), (1, -3)])
    """
    grid = lattice.of_points(c.n + len(c.divs), c.eqs, c.all_ineqs())
    assert grid is not None
    origin, basis = grid
    images = list(zip(origin, *basis, strict=True))
    tight = map(normal_ineq, substitute_all(c.all_ineqs(), images, len(basis)))
    rows = [row for row in tight if not isinstance(row, bool)]
    dims = [(1, *(0,) * len(basis)), *images[: c.n]]
    lines, rays = cone.of_polyhedron(len(basis), (), rows)
    return [tuple([dot(d, v) for d in dims]) for v in lines], [tuple([dot(d, v) for d in dims]) for v in rays]
