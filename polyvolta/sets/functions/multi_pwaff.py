"""`MultiPwAff`: piecewise quasi-affine functions to tuples, and reading maps as such functions.

    [N] -> { S[i] -> A[(floor(i/32)), (i mod 32)] : 0 <= i < N; S[i] -> A[(0), (i)] : i < 0 }

All outputs share the domain and its cells, which is what isl calls a `PwMultiAff`; both names mean this class. A
single output is `m[k]`, a `PwAff`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..budgets import metered_class
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.project import project
from ..errors import NotAffine, SpaceMismatch
from ..optima.lexrel import folded_optimum, optimum, optimum_cells, union_cells
from ..optima.outputs import not_a_function, solved_outputs
from ..values.aff import Aff
from ..values.build import affs_of, expression
from ..values.shape import of_values
from ..values.space import PARAMS, Space, Tuple, distinct, position
from .cells import Cell, apart, disjoint
from .piecewise import Piecewise, check_function, shared
from .pwaff import ONE, PwAff
from .pwparse import parse_piecewise

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set


@metered_class
class MultiPwAff(Piecewise):
    """A piecewise quasi-affine function of parameters and one tuple of inputs to a tuple of integers.

    >>> tile = MultiPwAff("{ S[i] -> A[floor(i/32), i mod 32] : i >= 0 }")
    >>> tile(i=70)
    (2, 6)
    >>> print(tile[1])
    { S[i] -> [(i mod 32)] : i >= 0 }
    >>> tile.as_map().is_injective()
    True
    """

    __slots__ = ()
    _noun = "MultiPwAff"

    def __init__(self, text: str, context: object = None) -> None:
        if isinstance(text, MultiPwAff):  # isl has several classes for what is one here
            self._be(text)
            return
        self._fill(*parse_piecewise(text))

    @classmethod
    def of(cls, *functions: PwAff, name: str | None = None) -> MultiPwAff:
        """The tuple of some functions on one space, where all have values, called `name`.

        Raises
        ------
        SpaceMismatch : there is none, or they are on different spaces.

        >>> f = PwAff("{ S[i] -> [i // 4] : i >= 0 }")
        >>> print(MultiPwAff.of(f, f + 1, name="A"))
        { S[i] -> A[(floor(i/4)), (floor(i/4) + 1)] : i >= 0 }
        """
        if not functions:
            raise SpaceMismatch("a tuple of functions needs at least one", hint='write MultiPwAff("{ S[i] -> A[] }")')
        for f in functions:
            check_function(f, "a tuple of functions")
        whole = functions[0]
        for f in functions[1:]:
            whole = MultiPwAff._side_by_side(whole, f)
        space = Space(whole.inp, Tuple(name, _outs(len(functions))))
        return cls._of(whole.param_names, space, whole.cells)

    @property
    def pieces(self) -> tuple[tuple[Set, tuple[Aff, ...]], ...]:
        """(domain, expressions) pairs; domains are disjoint."""
        groups: dict[tuple[Aff, ...], list] = {}
        for c, values in self.cells:
            groups.setdefault(values, []).append(c)
        return tuple((self._set(cs), values) for values, cs in groups.items())

    def __len__(self) -> int:
        return self.space.n_out

    def __getitem__(self, k: int | str) -> PwAff:
        """One output, by position or name; its pieces are merged where they can be (see `coalesce`)."""
        at = position(k, self.space.out.dims, str(self.space), "output")
        space = Space(self.inp, ONE)
        return PwAff._of(self.param_names, space, ((c, (values[at],)) for c, values in self.cells)).coalesce()

    def __iter__(self) -> Iterator[PwAff]:
        return (self[k] for k in range(len(self)))

    # ---- arithmetic, elementwise

    def __add__(self, other: MultiPwAff) -> MultiPwAff:
        """The elementwise sum, where both have values; O(m n) conjunctions."""
        return self._pointwise(other, "a sum", lambda x, y: x + y)

    def __sub__(self, other: MultiPwAff) -> MultiPwAff:
        return self._pointwise(other, "a difference", lambda x, y: x - y)

    def __neg__(self) -> MultiPwAff:
        """The function with the opposite sign, in the same cells.

        >>> from polyvolta.sets import MultiPwAff
        >>> print(-MultiPwAff("{ [i] -> [i + 1] }"))
        { [i] -> [(-i - 1)] }
        """
        return self * -1

    neg = __neg__

    def __mul__(self, factor: int) -> MultiPwAff:
        """Every output times a number."""
        return self._with((c, tuple(e * _integer(factor) for e in values)) for c, values in self.cells)

    __rmul__ = __mul__

    def __floordiv__(self, den: int) -> MultiPwAff:
        """The floor of every output over a positive number."""
        return self._with((c, tuple(e // _integer(den) for e in values)) for c, values in self.cells)

    def __mod__(self, den: int) -> MultiPwAff:
        """The remainder of every output in 0 <= r < den."""
        return self._with((c, tuple(e % _integer(den) for e in values)) for c, values in self.cells)

    # ---- products

    def range_product(self, other: MultiPwAff) -> MultiPwAff:
        """x -> [this(x) -> other(x)], where both have values; O(m n) conjunctions.

        `other` is a function of the same inputs.

        >>> from polyvolta.sets import MultiPwAff
        >>> print(MultiPwAff("{ [i] -> [i + 1] }").range_product(MultiPwAff("{ [i] -> [2i] }")))
        { [i] -> [[(i + 1)] -> [(2*i)]] }
        """
        return self._side_by_side(other, wrapped=True)

    def flat_range_product(self, other: MultiPwAff) -> MultiPwAff:
        """x -> (this(x), other(x)) in one anonymous tuple, where both have values; O(m n) conjunctions.

        >>> f = MultiPwAff("{ S[i] -> A[i + 1] : i >= 0 }")
        >>> print(f.flat_range_product(MultiPwAff("[N] -> { S[k] -> [N - k, 0] }")))
        [N] -> { S[i] -> [(i + 1), (N - i), (0)] : i >= 0 }
        """
        return self._side_by_side(other)

    def product(self, other: MultiPwAff) -> MultiPwAff:
        """[x -> y] -> [this(x) -> other(y)]; O(m n) conjunctions.

        `other` is any function.

        >>> from polyvolta.sets import MultiPwAff
        >>> print(MultiPwAff("{ [i] -> [i + 1] }").product(MultiPwAff("{ [j] -> [2j] }")))
        { [[i] -> [j]] -> [[(i + 1)] -> [(2*j)]] }
        """
        check_function(other, "a product")
        params = tuple(dict.fromkeys([*self.param_names, *other.param_names]))
        a, b = self.align_params(params), other.align_params(params)
        n_left = len(a.inp.dims)
        dims = distinct((*a.inp.dims, *b.inp.dims), params)
        a, b = a._renamed(dims[:n_left]), b._renamed(dims[n_left:])
        n_par, n = len(params), len(params) + len(dims)
        right = (*range(n_par), *range(n_par + n_left, n))
        cells: list[Cell] = []
        for c, left in a.cells:
            for d, values in b.cells:
                both = cj.conjoin(cj.reindex(c, n, tuple(range(n_par + n_left))), cj.reindex(d, n, right))
                if both is not None and not both.is_empty:
                    cells.append((both, left + values))
        inp = Tuple(None, dims, Space(a.inp, b.inp))
        return self._of(params, Space(inp, of_values(a.space.out, b.space.out, True, (*params, *dims))), cells)

    def _side_by_side(self: Piecewise, other: Piecewise, wrapped: bool = False) -> MultiPwAff:
        """The outputs of both in one anonymous tuple, which wraps theirs if asked to."""
        a, b = self._aligned(other, "a range product")
        out = of_values(a.space.out, b.space.out, wrapped, (*a.param_names, *a.inp.dims))
        return MultiPwAff._of(a.param_names, Space(a.inp, out), ((c, x + y) for c, x, y in a._joined(b)))


shared(MultiPwAff, "__add__ __sub__ range_product flat_range_product product union_add is_equal pullback")
shared(MultiPwAff, "pullback_multi_aff pullback_multi_pw_aff pullback_pw_multi_aff")


def _integer(value: Any) -> int:
    """A factor or divisor."""
    if not hasattr(value, "__index__"):
        raise NotAffine(f"the outputs of a MultiPwAff are multiplied and divided by integers, not by {value!r}")
    return value.__index__()


def _outs(n: int) -> tuple[str, ...]:
    return tuple(f"o{k}" for k in range(n))


# ---- from maps and sets


def as_multi_pw_aff(self: Map) -> MultiPwAff:
    """A single-valued map as a function (isl's `as_pw_multi_aff`, which is the same method).

    Exact. Where equalities give the outputs, only the domain has to be computed; else one parametric lexmin a
    conjunct.

    Raises
    ------
    NotAFunction : some input has several outputs.
    SpaceMismatch : the map has several spaces.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ [a, b] -> [32a + b] : 0 <= b < 32 }").reverse().as_multi_pw_aff())
    { [i0] -> [(floor(i0/32)), (i0 mod 32)] }
    """
    space = self.space
    inp = space.inp or PARAMS
    names = (*self.param_names, *inp.dims)
    cells: list[Cell] = []
    for c in self.parts[0][1]:
        if not c.is_empty:
            cells += _read(self, space, c, names)
    return MultiPwAff._of(self.param_names, space, disjoint(names, cells, self) if len(cells) > 1 else cells)


def _read(self: Map, space: Space, c: Conjunct, names: tuple[str, ...]) -> list[Cell]:
    from ..layouts.recognise_layout import inverse_cell

    rows = solved_outputs(c, len(self.param_names), space)
    if rows is not None:
        table = affs_of(c, (*names, *space.out.dims))
        domain = project(c, tuple(range(len(names), c.n)))
        values = tuple(expression(r, table) for r in rows)
        return [(domain, values)] if domain is not None else []
    alone = self._of(self.param_names, [(space, (c,))])
    back = inverse_cell(alone)
    if back is not None:
        return [back]
    if not alone.is_single_valued():
        raise not_a_function(self, "some input has several outputs")
    return optimum_cells(c, len(names), -1, names, space)


def lexmin_pw_multi_aff(self: Relation) -> MultiPwAff:
    """The lexicographically smallest point (of each image, for a map) as a function; see `lexmin`.

    A set gives a function of its parameters. Exact; cost and errors as `lexmin`.

    >>> from polyvolta.sets import Map
    >>> print(Map("[N] -> { S[i] -> A[j] : i <= 4j and 0 <= j < N }").lexmin_pw_multi_aff())
    [N] -> { S[i] -> A[(max(floor((i + 3)/4), 0))] : N >= 1 and i <= 4*N - 4 }
    """
    return _optimal(self, -1)


def lexmax_pw_multi_aff(self: Relation) -> MultiPwAff:
    """The lexicographically largest point (of each image, for a map) as a function; see `lexmin_pw_multi_aff`.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i, j] : 0 <= j <= i < N }").lexmax_pw_multi_aff())
    [N] -> { [(N - 1), (N - 1)] : N >= 1 }
    """
    return _optimal(self, 1)


def _optimal(self: Relation, sign: int) -> MultiPwAff:
    from ..values.map import Map

    space = self.space
    inp = space.inp or PARAMS
    names = (*self.param_names, *inp.dims)
    whole = Space(inp, space.out)
    cs = self.parts[0][1]
    if len(cs) == 1:
        return MultiPwAff._of_folded(self.param_names, whole, folded_optimum(cs[0], len(names), sign, names, space))
    if not names:
        return as_multi_pw_aff(Map._of((), [(whole, optimum(self, sign).parts[0][1])]))
    cells = union_cells(cs, len(names), sign, names, space)
    left = zip(apart([c for c, _ in cells]), cells, strict=True)
    return MultiPwAff._of(self.param_names, whole, [(c, values) for cs, (_, values) in left for c in cs]).coalesce()


PwMultiAff = MultiPwAff  # isl's name of a function whose outputs share their cells
