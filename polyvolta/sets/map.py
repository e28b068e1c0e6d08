"""Maps: relations between integer points."""

from __future__ import annotations

from . import conjunct as cj
from . import project as pj
from .aff import Aff
from .algebra import conjoin_all, filled
from .budgets import metered_class
from .errors import SpaceMismatch
from .relation import Relation
from .set import Set
from .space import Space, Tuple, distinct, renamed


@metered_class
class Map(Relation):
    """A relation between integer points, from isl's notation.

    >>> T = Map("{ S[i, j] -> [floor(i/32), j mod 8] }")
    >>> T.is_single_valued()
    True
    """

    __slots__ = ()
    _is_map = True

    def _side(self, keep_out: bool) -> Set:
        parts = []
        n_par = len(self.param_names)
        for space, cs in self.parts:
            n_in = space.n_in
            drop = range(n_par, n_par + n_in) if keep_out else range(n_par + n_in, n_par + len(space.dims))
            done = (pj.project(c, tuple(drop)) for c in cs)
            tup = space.out if keep_out else space.inp
            tup = renamed(tup, distinct(tup.dims, self.param_names))
            parts.append((Space(None, tup), tuple(c for c in done if c is not None)))
        return Set._of(self.param_names, parts)

    def domain(self) -> Set:
        """The inputs that are related to something; exact, m projections."""
        return self._side(keep_out=False)

    def range(self) -> Set:
        """The outputs that something is related to; exact, m projections."""
        return self._side(keep_out=True)

    def reverse(self) -> Map:
        """Inputs and outputs swapped. Linear."""
        parts = []
        n_par = len(self.param_names)
        for space, cs in self.parts:
            n_in, n_out = space.n_in, space.n_out
            places = (
                *range(n_par),
                *range(n_par + n_out, n_par + n_out + n_in),
                *range(n_par, n_par + n_out),
            )
            swapped = tuple(cj.reindex(c, c.n, places) for c in cs)
            parts.append((_spaced(space.out, space.inp, self.param_names), swapped))
        return Map._of(self.param_names, parts)

    def _restrict(self, sets: Set, on_input: bool) -> Map:
        if not isinstance(sets, Set):
            raise SpaceMismatch("a restriction needs a Set", where=str(sets))
        a, b = self._aligned(sets)
        n_par = len(a.param_names)
        parts = []
        for space, cs in a.parts:
            tup = space.inp if on_input else space.out
            first = n_par if on_input else n_par + space.n_in
            places = (*range(n_par), *range(first, first + len(tup.dims)))
            found = b._find((None, tup.key))
            wide = [cj.reindex(c, n_par + len(space.dims), places) for c in found]
            parts.append((space, conjoin_all(cs, wide)))
        return a._of(a.param_names, [p for p in parts if p[1]] or parts[:1])

    def intersect_domain(self, sets: Set) -> Map:
        """The pairs whose input is in the set; O(m n) conjunctions."""
        return self._restrict(sets, True)

    def intersect_range(self, sets: Set) -> Map:
        """The pairs whose output is in the set; O(m n) conjunctions."""
        return self._restrict(sets, False)

    def apply_range(self, other: Map) -> Map:
        """First this, then the other: { x -> z : x -> y here and y -> z there }. O(m n) projections; exact.

        Raises
        ------
        SpaceMismatch : no range tuple of this is a domain tuple of the other.
        """
        self._check_kind(other, "a composition")
        a, b = self._aligned(other)
        n_par = len(a.param_names)
        parts = []
        for left, cs in a.parts:
            for right, ds in b.parts:
                if left.out.key != right.inp.key:
                    continue
                n_in, n_mid, n_out = left.n_in, left.n_out, right.n_out
                width = n_par + n_in + n_out + n_mid
                mid = tuple(range(n_par + n_in + n_out, width))
                first = (*range(n_par + n_in), *mid)
                second = (*range(n_par), *mid, *range(n_par + n_in, n_par + n_in + n_out))
                done = [pj.compose(c, d, width, first, second, mid) for c in cs for d in ds]
                parts.append((_spaced(left.inp, right.out, a.param_names), filled(done)))
        if not parts and a.parts and b.parts:
            raise SpaceMismatch(
                "nothing of the first map's range is in the second map's domain", where=f"{self}\n{other}"
            )
        return Map._of(a.param_names, parts)

    def apply_domain(self, other: Map) -> Map:
        """Replace inputs by their images: { z -> y : x -> y here and x -> z there }; see `apply_range`."""
        return self.reverse().apply_range(other).reverse()

    def __call__(self, sets: Set) -> Set:
        """The image of a set; see `Set.apply`."""
        return sets.apply(self)

    def is_single_valued(self) -> bool:
        """Whether no input has two outputs.

        Exact. Free where equalities give the outputs; else this^-1 . this must lie in the identity.
        """
        from .lexrel import solved_outputs

        apart = len({s.inp.key for s, _ in self.parts}) == len(self.parts) and all(len(cs) <= 1 for _, cs in self.parts)
        if apart and all(solved_outputs(c, len(self.param_names), s) is not None for s, cs in self.parts for c in cs):
            return True
        return self.reverse().apply_range(self).is_subset(self.range().identity())

    def is_injective(self) -> bool:
        """Whether no output has two inputs; exact, see `is_single_valued`."""
        return self.reverse().is_single_valued()

    def is_bijective(self) -> bool:
        """Whether inputs and outputs are in one-to-one correspondence; exact, see `is_single_valued`."""
        return self.is_single_valued() and self.is_injective()

    def deltas(self) -> Set:
        """{ y - x } over all pairs x -> y of one space; exact, m projections.

        >>> print(Map("{ S[i, j] -> S[i + 1, j - 2] }").deltas())
        { [1, -2] }
        """
        space = self.space
        if space.n_in != space.n_out:
            raise SpaceMismatch("differences need as many inputs as outputs", where=str(space))
        n_par, n = len(self.param_names), space.n_in
        width = n_par + 3 * n
        rows = []
        for d in range(n):
            row = [0] * (1 + width)
            row[1 + n_par + d], row[1 + n_par + n + d], row[1 + n_par + 2 * n + d] = 1, 1, -1
            rows.append(tuple(row))
        knife = cj.normalise(width, (), rows, ())
        places = (*range(n_par), *range(n_par + n, width))
        both = conjoin_all((cj.reindex(c, width, places) for c in self.parts[0][1]), [knife])
        done = (pj.project(c, tuple(range(n_par + n, width))) for c in both)
        out = Tuple(None, distinct((f"d{d}" for d in range(n)), self.param_names))
        return Set._of(self.param_names, [(Space(None, out), tuple(c for c in done if c is not None))])

    def wrap(self) -> Set:
        """The pairs as points of the wrapped space `[in -> out]`; linear."""
        parts = [(Space(None, Tuple(None, s.dims, s)), cs) for s, cs in self.parts]
        return Set._of(self.param_names, parts)

    def as_affs(self) -> tuple[Aff, ...]:
        """The outputs as quasi-affine expressions of the inputs and parameters.

        Exact wherever the map is defined. Free where equalities give the outputs, else one parametric lexmin.

        >>> print(*Map("{ [a, b] -> [32a + b] : 0 <= b < 32 }").reverse().as_affs())
        floor(i0/32) i0 mod 32

        Raises
        ------
        NotAFunction : some input has several outputs, or no single expression gives them.
        """
        from .lexrel import output_affs

        return output_affs(self)


def _spaced(inp: Tuple, out: Tuple, params: tuple[str, ...]) -> Space:
    """A map space whose dimension names are distinct."""
    names = distinct((*inp.dims, *out.dims), params)
    return Space(renamed(inp, names[: len(inp.dims)]), renamed(out, names[len(inp.dims) :]))
