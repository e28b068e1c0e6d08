"""How far a set reaches: bounded or not, the box of constants around it, a single point or several.

A polyhedron with an integer point is unbounded along a dimension when its *recession cone* leaves 0 there: the
directions that satisfy every row without its constant. They are rational, a multiple of one is an integer step, so
there are then integer points as far out as one likes. For a set with parameters the steps keep those fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..engine import integer
from ..engine.rows import Row, evaluate, negate
from ..engine.simplex import Tableau
from ..errors import Unbounded
from ..operations.algebra import live
from ..values.space import Space, Tuple

if TYPE_CHECKING:
    from ..values.relation import Relation
    from ..values.set import Set

R = TypeVar("R", bound="Relation")


def is_bounded(self: Relation) -> bool:
    """Whether there are finitely many points for each choice of parameters.

    Exact; an emptiness test and two linear programs per dimension for each conjunct.

    Raises
    ------
    BudgetExceeded : an emptiness test took too many steps.

    >>> from polyvolta.sets import Set
    >>> Set("[N] -> { [i, j] : 0 <= i < N and i <= j <= 2i }").is_bounded(), Set("{ [i, j] : i >= j }").is_bounded()
    (True, False)
    """
    n_par = len(self.param_names)
    return not any(_unbounded(c, n_par) for _, c in live(self))


def _unbounded(c: Conjunct, fixed: int) -> list[int]:
    """The dimensions along which a conjunct with a point is unbounded, the first `fixed` ones kept."""
    n = c.n + len(c.divs)
    cone = Tableau(n)
    for row in [(0, *[int(j == k) for j in range(n)]) for k in range(fixed)] + [(0, *r[1:]) for r in c.eqs]:
        cone.add_eq(row)
    for row in c.all_ineqs():
        cone.add_ineq((0, *row[1:]))
    units = [(k, (0, *[int(j == k) for j in range(n)])) for k in range(fixed, c.n)]
    return [k for k, unit in units if cone.maximum(unit) is None or cone.minimum(unit) is None]


def endless(c: Conjunct, fixed: int, sign: int) -> int | None:
    """The first dimension after `fixed` ones without a bound, below if `sign` is negative, where those before it stay.

    None where each has one.

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("{ [i, j] : 0 <= i <= j }").parts
    >>> endless(c, 0, -1), endless(c, 0, 1)
    (None, 0)
    """
    n = c.n + len(c.divs)
    units = [(0, *[int(j == k) for j in range(n)]) for k in range(c.n)]
    cone = Tableau(n)
    for row in (*units[:fixed], *[(0, *r[1:]) for r in c.eqs]):
        cone.add_eq(row)
    for row in c.all_ineqs():
        cone.add_ineq((0, *row[1:]))
    for k in range(fixed, c.n):
        if cone.maximum(units[k] if sign > 0 else negate(units[k])) is None:
            return k
        cone.add_eq(units[k])
    return None


def bounding_box(self: R) -> R:
    """The least box of constants around the points of each space, for all parameter values together.

    Exact over the integers: a linear program and a binary search by integer points for each bound. Existentials and
    parameters are looked at as they are, nothing is projected.

    Raises
    ------
    Unbounded : a dimension is not bounded by numbers.
    BudgetExceeded : a search for an integer point took too many steps.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] : 3 <= 2i <= 9 and i <= 2j <= 3i; [9, 0] }").bounding_box())
    { [i, j] : 2 <= i <= 9 and 0 <= j <= 6 }
    """
    n_par = len(self.param_names)
    parts = []
    for space, cs in self.parts:
        pieces = [c for c in cs if not c.is_empty]
        for c in pieces:
            loose = [k - n_par for k in _unbounded(c, 0) if k >= n_par]
            if loose:
                names = ", ".join(space.dims[k] for k in loose)
                raise Unbounded(f"there is no bound on {names}", where=str(self), hint="fix parameters, or intersect")
        rows = []
        for k in range(n_par, n_par + len(space.dims)):
            unit = tuple([int(j == k) for j in range(n_par + len(space.dims))])
            for key in (unit, negate(unit)) if pieces else ():
                rows.append((-min(minimum(c, (0, *key)) for c in pieces), *key))
        box = cj.normalise(n_par + len(space.dims), (), (), rows) if pieces else None
        parts.append((space, (box,) if box is not None else ()))
    return self._of(self.param_names, parts)


def minimum(c: Conjunct, row: Row) -> int:
    """The least integer value of a row over the dimensions, which is bounded below, at a conjunct with a point.

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("{ [i, j] : 3 <= 2i <= 9 and 3j >= 2i + 2 }").parts
    >>> minimum(c, (0, 0, 1))
    2
    """
    return integer_minimum(c.n + len(c.divs), c.eqs, c.all_ineqs(), (*row, *[0] * len(c.divs)))


def integer_minimum(n: int, eqs: Sequence[Row], rows: Sequence[Row], row: Row) -> int:
    """The least integer value of a row, which is bounded below, at the integer points, of which there is one."""
    least = least_value(n, eqs, rows, row)
    assert least is not None
    return least


def least_value(n: int, eqs: Sequence[Row], rows: Sequence[Row], row: Row) -> int | None:
    """The least integer value of a row at the integer points; None where there is no point.

    A linear program; where its vertex is no integer point, a binary search between its value and a sample's.

    Raises
    ------
    Unbounded : there are points, and no least value.

    >>> least_value(2, (), ((0, 2, -1), (0, 0, 1), (-3, 0, 2)), (0, 1, 0))  # 2x >= y, y >= 0, 2y >= 3
    1
    """
    tab = Tableau(n)
    for eq in eqs:
        tab.add_eq(eq)
    for r in rows:
        tab.add_ineq(r)
    if tab.empty:
        return None
    least = tab.minimum(row)
    if least is not None and all(d == 1 for _, d in tab.sample()):
        return least[0]
    point = integer.sample(n, eqs, rows)
    if point is None:
        return None
    if least is None:  # with an integer point, as far out as one likes there are others
        raise Unbounded("the value has no bound")
    low, high = -(-least[0] // least[1]), evaluate(row, point)
    while low < high:
        middle = (low + high) // 2
        found = integer.sample(n, eqs, (*rows, (middle - row[0], *negate(row[1:]))))
        if found is None:
            low = middle + 1
        else:
            high = evaluate(row, found)
    return low


def is_box(self: Relation) -> bool:
    """Whether in each space, for each choice of the parameters, the points are all those between a bound and another.

    Exact; without parameters a bounding box and a comparison, else a projection for each dimension and a comparison.
    Bounds may be functions of the parameters. An unbounded set is no box, and an empty one is none, as in isl.

    Raises
    ------
    BudgetExceeded : as `bounding_box`, `project_onto` and `is_equal`.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i, j] : 0 <= i < 4 and j = 1 }").is_box(), Set("{ [i] : 0 <= i < 4 and i mod 2 = 0 }").is_box()
    (True, False)
    >>> Set("[N] -> { [i, j] : 0 <= i, j < N }").is_box(), Set("[N] -> { [i, j] : 0 <= i <= j < N }").is_box()
    (True, False)
    """
    if self.is_empty():
        return False
    if self.param_names:
        return is_bounded(self) and all(_between(s).is_subset(s) for s in _flat(self))
    try:
        box = bounding_box(self)
    except Unbounded:
        return False
    return box.is_subset(self)


def is_singleton(self: Relation) -> bool:
    """Whether there is at most one point for each choice of the parameters, in all spaces together: isl's question.

    So an empty set is one, and `s.is_singleton() and not s.is_empty()` asks for a point. Exact, as `is_single_valued`.

    Raises
    ------
    BudgetExceeded : an emptiness test took too many steps.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i] : 3 < 2i < 6; [2] }").is_singleton(), Set("{ A[]; B[] }").is_singleton()
    (True, False)
    >>> Set("[N] -> { [i] : i = N }").is_singleton(), Set("{ [i] : false }").is_singleton()
    (True, True)
    """
    from ..values.map import Map

    nothing = Tuple(None, ())
    points = [(Space(nothing, s.out if s.inp is None else Tuple(None, s.dims, s)), cs) for s, cs in self.parts]
    return Map._of(self.param_names, points).is_single_valued()


def _flat(self: Relation) -> Iterator[Set]:
    """The points of each space, as sets of tuples without a name."""
    from ..values.set import Set

    for space, cs in self.parts:
        yield Set._of(self.param_names, [(Space(None, Tuple(None, space.dims)), cs)])


def _between(s: Set) -> Set:
    """For each choice of the parameters, the points whose dimensions each lie between two values that occur."""
    from ..values.map import Map

    below, above = Map("{ [a] -> [b] : a >= b }"), Map("{ [a] -> [b] : a <= b }")
    lines = [line.apply(below) & line.apply(above) for line in map(s.project_onto, s.dims())]
    return reduce(lambda whole, line: whole.flat_product(line), lines) if lines else s
