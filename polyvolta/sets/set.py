"""Sets of integer points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import conjunct as cj
from . import project as pj
from .algebra import conjoin_all, filled
from .budgets import metered_class
from .errors import SpaceMismatch
from .relation import Relation
from .space import Space, Tuple, distinct, renamed

if TYPE_CHECKING:
    from .map import Map


@metered_class
class Set(Relation):
    """A set of integer points, from isl's notation.

    >>> S = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")
    >>> S.count(N=4)
    6
    """

    __slots__ = ()
    _is_map = False

    def __bool__(self) -> bool:
        raise SpaceMismatch("a set has no truth value", where=str(self), hint="ask not s.is_empty()")

    def apply(self, relation: Map) -> Set:
        """The image under a map; exact, O(m n) projections.

        Raises
        ------
        SpaceMismatch : no tuple of this set is in the map's domain.

        >>> from polyvolta.sets import Map
        >>> print(Set("{ S[i] : 0 <= i < 70 }").apply(Map("{ S[i] -> [floor(i/32)] }")))
        { [i0] : 0 <= i0 <= 2 }
        """
        if not getattr(relation, "_is_map", False):
            raise SpaceMismatch("a set is applied to a Map", where=str(relation))
        if (
            self.parts
            and relation.parts
            and not {s.out.key for s, _ in self.parts} & {s.inp.key for s, _ in relation.parts}
        ):
            mine = "; ".join(str(s) for s, _ in self.parts)
            theirs = "; ".join(str(s) for s, _ in relation.parts)
            raise SpaceMismatch("no tuple of the set is in the map's domain", where=f"set: {mine}\nmap: {theirs}")
        a, b = self._aligned(relation)
        n_par = len(a.param_names)
        parts = []
        for space, cs in b.parts:
            n = n_par + len(space.dims)
            inside = tuple(range(n_par + space.n_in))
            drop = inside[n_par:]
            everywhere = tuple(range(n))
            done = [pj.compose(c, d, n, everywhere, inside, drop) for c in cs for d in a._find((None, space.inp.key))]
            tup = renamed(space.out, distinct(space.out.dims, a.param_names))
            parts.append((Space(None, tup), filled(done)))
        return Set._of(a.param_names, [p for p in parts if p[1]] or parts[:1])

    def complement(self) -> Set:
        """The points of the same spaces that are not in this set; exact, by subtraction.

        >>> print(Set("{ [i] : 0 <= i < 10 }").complement())
        { [i] : i <= -1; [i] : i >= 10 }
        """
        everything = [(s, (cj.universe(len(self.param_names) + s.n_out),)) for s, _ in self.parts]
        return Set._of(self.param_names, everything).subtract(self)

    def identity(self) -> Map:
        """The map from each point to itself; linear."""
        from .map import Map

        parts = []
        for space, cs in self.parts:
            n_par, n = len(self.param_names), len(space.dims)
            width = n_par + 2 * n
            same = [(0, *[(k == n_par + d) - (k == n_par + n + d) for k in range(width)]) for d in range(n)]
            equal = cj.normalise(width, (), same, ())
            wide = (cj.reindex(c, width, tuple(range(n_par + n))) for c in cs)
            out = renamed(space.out, distinct(space.out.dims, (*self.param_names, *space.out.dims)))
            parts.append((Space(space.out, out), conjoin_all(wide, [equal])))
        return Map._of(self.param_names, parts)

    def rename(self, name: str | None) -> Set:
        """The same points in a tuple of another name; the set has one tuple. Linear."""
        space = self.space
        return Set._of(
            self.param_names, [(Space(None, Tuple(name, space.out.dims, space.out.inner)), self.parts[0][1])]
        )
