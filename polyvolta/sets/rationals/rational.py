"""Sets of rational points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..budgets import metered_class
from ..operations import dimensions
from . import duals, sides
from .points import RationalPoints
from .preimage import preimage

if TYPE_CHECKING:
    from ..values.set import Set


@metered_class
class RationalSet(RationalPoints["Set"]):
    """A set of rational points, from isl's notation: a union of polyhedra by space; parameters are rational, too.

    It is immutable, and exact: beside `<=` there is `<`, so that the complement of a closed half space is an open one.
    `Set(text)` gives one where the text says `rat:`.

    >>> s = RationalSet("{ rat: [i] : 0 <= 2i <= 9 }")
    >>> print(s.lexmax(), s - RationalSet("{ rat: [1:2] }"), s.integer_points())
    { rat: [i] : 2*i = 9 } { rat: [i] : 0 <= i < 1; rat: [i] : i > 2 and 2*i <= 9 } { [i] : 0 <= i <= 4 }
    """

    __slots__ = ()
    _is_pairs = False
    _noun = "RationalSet"
    _counted = "integer_points().count() counts those that are integers"
    _beside = "r.integer_points() is a Set, of the integer points of a RationalSet r"

    @classmethod
    def _integral(cls) -> type[Set]:
        from ..values.set import Set

        return Set

    def _kind(self) -> str:
        return "set of rational points"

    rename = dimensions.rename
    apply, unwrap, identity = sides.apply, sides.unwrap, sides.identity
    coefficients, solutions = duals.coefficients, duals.solutions
    preimage = preimage_multi_aff = preimage
