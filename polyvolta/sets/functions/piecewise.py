"""Piecewise quasi-affine functions: what `PwAff` and `MultiPwAff` share.

A function is a list of *cells*: a conjunct over (parameters, inputs) and, for its points, one quasi-affine
expression per output. Cells are disjoint, so that the value at a point is that of the only cell that holds it, and
where no cell does the function is undefined. Pointwise operations conjoin every cell of one operand with every cell
of the other; the emptiness test that drops a conjunction is exact, so results stay small.

Expressions speak of parameters and inputs by name. Two operands are brought to common parameters and to the names
of the first one's inputs beforehand: as everywhere in this package, names of dimensions never decide what an
operation means.

Values are integers. Where isl would make `i/2` a rational value, this library raises an error: write `i // 2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..budgets import metered_class
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.project import with_known_divs
from ..errors import OutsideDomain, SpaceMismatch, UnknownName, kind_of, nearest
from ..operations.algebra import conjoin_all
from ..values.aff import Aff, var
from ..values.named import Named, OverParams, Shown, by_isl, listed, update_persistent_hash
from ..values.shape import need_set
from ..values.space import PARAMS, Space, Tuple, distinct, renamed
from .cells import Cell, Piece, Values, agree, apart, atoms_of, disjoint, holds, knives, refined, where, without
from .extreme import Extreme
from .within import gist_cells

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set


@metered_class
class Piecewise(Shown, metaclass=Named):
    """A piecewise quasi-affine function; immutable."""

    __slots__ = ("_cells", "folded", "param_names", "space")
    param_names: tuple[str, ...]
    space: Space
    folded: tuple[Piece, ...]
    _cells: tuple[Cell, ...] | None
    _takes_over: ClassVar[tuple[str, ...]] = ()  # the classes beside whose functions it computes
    _noun: ClassVar[str]  # the class, of isl's one that derives from it that

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    @classmethod
    def _of(cls, params: tuple[str, ...], space: Space, cells: Iterable[Cell]) -> Self:
        """A function of disjoint cells; those with equal expressions stand together."""
        self = object.__new__(cls)
        self._fill(params, space, cells)
        return self

    def _fill(self, params: tuple[str, ...], space: Space, cells: Iterable[Cell]) -> None:
        found = tuple(cells)
        if len(found) > 1:
            grouped: dict[Values, dict[Conjunct, None]] = {}
            for c, values in found:
                grouped.setdefault(values, {})[c] = None
            found = tuple([(c, values) for values, cs in grouped.items() for c in cs])
        self.param_names, self.space, self._cells = params, space.knowing(params), found
        self.folded = tuple([(c, tuple([Extreme((e,)) for e in values])) for c, values in found])

    def _be(self, other: Piecewise) -> None:
        """Have what another function has."""
        self.param_names, self.space = other.param_names, other.space
        self.folded, self._cells = other.folded, other._cells

    @classmethod
    def _of_folded(cls, params: tuple[str, ...], space: Space, pieces: Iterable[Piece]) -> Self:
        """A function of disjoint pieces whose values may be minima and maxima."""
        self = object.__new__(cls)
        self.param_names, self.space = params, space.knowing(params)
        self.folded, self._cells = tuple(pieces), None
        return self

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The pieces with every minimum and maximum split into its cases; computed when it is first asked for."""
        if self._cells is None:
            found: list[Cell] = []
            for c, values in self.folded:
                for cases in product(*(v.cases() for v in values)):
                    atoms = [atom for when, _ in cases for atom in when]
                    part = refined(c, self.names, atoms) if atoms else c
                    if part is not None:
                        found.append((part, tuple(e for _, e in cases)))
            self._cells = tuple(found)
        return self._cells

    def __bool__(self) -> bool:
        if Named.as_islpy:
            return True
        raise SpaceMismatch("a function has no truth value", where=str(self), hint="ask f.domain().is_empty()")

    def __hash__(self) -> int:
        return hash(self.space.key if Named.as_islpy else (self.param_names, self.space.key))

    def __eq__(self, other: object) -> bool:
        """Same parameters, spaces, cells and expressions: cheap; implies `is_equal`, not conversely."""
        if not isinstance(other, Piecewise) or self._noun != other._noun or self.space.key != other.space.key:
            return False
        params = self.param_names == other.param_names
        if params and set(self.cells) == set(other._renamed(self.inp.dims).cells):
            return True
        function: Any = self
        return Named.as_islpy and function.is_equal(other)

    def __str__(self) -> str:
        from .pwshow import show_piecewise

        return show_piecewise(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    update_persistent_hash = update_persistent_hash

    def _repr_html_(self) -> str:
        from ..text.notebook import html

        return html(str(self))

    # ---- structure

    @property
    def inp(self) -> Tuple:
        """The tuple of inputs; empty for a function of parameters alone."""
        return self.space.inp or PARAMS

    @property
    def names(self) -> tuple[str, ...]:
        """The names that expressions may use: parameters, then inputs."""
        return (*self.param_names, *self.inp.dims)

    @property
    def n_pieces(self) -> int:
        """How many different values there are, a minimum or maximum counting as one."""
        return len({values for _, values in self.folded})

    def domain(self) -> Set:
        """The points where the function has a value; linear. A function of parameters alone has one in `params()`.

        >>> from polyvolta.sets import MultiPwAff
        >>> print(MultiPwAff("{ [i] -> [i + 1] : i > 0 }").domain())
        { [i] : i >= 1 }
        """
        return self._set(c for c, _ in self.folded)

    def _set(self, cs: Iterable[Conjunct]) -> Set:
        from ..values.set import Set

        return Set._of(self.param_names, [(Space(None, self.inp), tuple(cs))])

    def _with(self, cells: Iterable[Cell]) -> Self:
        return self._of(self.param_names, self.space, cells)

    def _renamed(self, dims: tuple[str, ...]) -> Self:
        """The same function of inputs with other names."""
        table = {a: b for a, b in zip(self.inp.dims, dims, strict=True) if a != b}
        if not table:
            return self
        space = Space(renamed(self.inp, dims), self.space.out)
        return self._of(self.param_names, space, ((c, tuple(_rename(e, table) for e in vs)) for c, vs in self.cells))

    def align_params(self, params: Iterable[str] | OverParams) -> Self:
        """The same function with a longer list of parameters, on which it does not depend; linear.

        `params` are names, or a set, relation or function whose parameters they are; see `Set.align_params`.

        >>> from polyvolta.sets import MultiPwAff
        >>> MultiPwAff("{ [i] -> [i + 1] }").align_params(["N"]).param_names
        ('N',)

        Raises
        ------
        UnknownName : see `Set.align_params`.
        """
        wanted = tuple(dict.fromkeys([*listed(params, self), *self.param_names]))
        if wanted == self.param_names:
            return self
        free = self._renamed(distinct(self.inp.dims, wanted))
        n = len(wanted) + len(free.inp.dims)
        places = (*(wanted.index(p) for p in self.param_names), *range(len(wanted), n))
        return self._of(wanted, free.space, ((cj.reindex(c, n, places), vs) for c, vs in free.cells))

    def _aligned(self, other: Piecewise, what: str) -> tuple[Self, Piecewise]:
        """Both with the same parameters and the same names of inputs."""
        check_function(other, what)
        if self.inp.key != other.inp.key:
            raise SpaceMismatch(f"{what} needs two functions on one space", where=f"{self.space}\n{other.space}")
        if self.param_names == other.param_names:
            return self, other if self.inp.dims == other.inp.dims else other._renamed(self.inp.dims)
        params = tuple(dict.fromkeys([*self.param_names, *other.param_names]))
        a, b = self.align_params(params), other.align_params(params)
        return a, b._renamed(a.inp.dims)

    # ---- values

    def __call__(self, /, *point: object, **values: object) -> object:
        """The value where the inputs, given in order or by name, and the parameters have these values; see `eval`."""
        if point:
            return self.eval(point, **values)
        check_named(values, self.names, self)
        return self._value([_coordinate(values[n], n) for n in self.names])

    def eval(self, /, point: Sequence[object] = (), **params: object) -> object:
        """The value at a point: numbers, or numpy arrays of integers (then elementwise, in their own arithmetic).

        Exact for Python ints; O(constraints).

        Raises
        ------
        OutsideDomain : the function has no value at some point.
        SpaceMismatch : the point has another number of coordinates.
        UnknownName : a parameter has no value, or there is none of that name.

        `params` are the values of parameters by name; a `Point` may know some, and gives a `Val`.

        >>> from polyvolta.sets import MultiPwAff
        >>> MultiPwAff("[N] -> { [i] -> [i + N, 2i] }").eval((3,), N=4)
        (7, 6)
        """
        from ..by_isl.objects.values import Point, Val

        found = self(**self._at(point, params))
        return Val(found) if isinstance(found, int) and isinstance(point, Point) else found

    def _at(self, point: Sequence[object], params: Mapping[str, object]) -> dict[str, object]:
        """The values by name of a point's coordinates, of its parameters, and of those that are given; see `eval`."""
        dims = self.inp.dims
        if isinstance(point, str) or not hasattr(point, "__len__"):
            raise SpaceMismatch(
                f"a point is a tuple of {len(dims)} coordinates, not {point!r}",
                where=str(self.space),
                hint=f"write eval(({', '.join(dims)}{',' * (len(dims) == 1)}), ...)",
            )
        if len(point) != len(dims):
            raise SpaceMismatch(
                f"a point of {len(dims)} coordinates is needed, not {len(point)}", where=str(self.space)
            )
        given = [d for d in dims if d in params]
        if given and point:
            raise SpaceMismatch(f"{given[0]} has two values", where=str(self.space))
        known = {p: v for p, v in getattr(point, "params", {}).items() if p in self.param_names}
        return {**dict(zip(dims, point, strict=True)), **known, **params}

    def _value(self, at: Sequence[object]) -> object:
        named = dict(zip(self.names, at, strict=True))
        found: Any = False
        totals: list[Any] = [0] * self.space.n_out
        for c, values in self.folded:
            for part in with_known_divs(c):
                inside = holds(part, at) & (not found if isinstance(found, bool) else ~found)
                if inside is False:
                    continue
                found = found | inside
                totals = [t + inside * e.evaluate(named) for t, e in zip(totals, values, strict=True)]
        every = getattr(found, "all", None)
        if not (every() if every else found):
            shown = ", ".join(f"{k}={v}" for k, v in named.items())
            raise OutsideDomain("the function has no value there", where=f"{shown}\n{self}", hint="see domain()")
        return self._result(totals)

    def _result(self, totals: list[object]) -> object:
        return tuple(totals)

    # ---- domains

    def intersect_domain(self, domain: Set) -> Self:
        """The function at points of `domain` alone (of parameters and inputs); O(m n) conjunctions.

        Pieces of the domain that overlap are made disjoint first, as the function's are: O(n^2) emptiness tests.

        Raises
        ------
        SpaceMismatch : `domain` is of another space.

        >>> from polyvolta.sets import MultiPwAff, Set
        >>> print(MultiPwAff("{ [i] -> [i + 1] }").intersect_domain(Set("{ [i] : i > 0 }")))
        { [i] -> [(i + 1)] : i >= 1 }
        """
        a, cs = self._against(domain, "a restriction")
        parts = [c for c, _ in disjoint(a.names, ((c, ()) for c in cs), domain)]
        return a._with((d, vs) for c, vs in a.cells for d in conjoin_all([c], parts) if not d.is_empty)

    def intersect_params(self, context: Set) -> Self:
        """The function for parameter values in `context` alone, a set without dimensions.

        >>> from polyvolta.sets import MultiPwAff, Set
        >>> print(MultiPwAff("[N] -> { [i] -> [i + N] }").intersect_params(Set("[N] -> { : N > 0 }")))
        [N] -> { [i] -> [(N + i)] : N >= 1 }
        """
        return self.intersect_domain(self._set([cj.universe(len(self.names))]).intersect_params(context))

    def subtract_domain(self, domain: Set) -> Self:
        """The function outside `domain`; exact, as `Set.subtract`.

        >>> from polyvolta.sets import MultiPwAff, Set
        >>> print(MultiPwAff("{ [i] -> [i + 1] }").subtract_domain(Set("{ [i] : i > 0 }")))
        { [i] -> [(i + 1)] : i <= 0 }
        """
        a, cs = self._against(domain, "a restriction")
        cut = knives(cs)
        return a._with((d, vs) for c, vs in a.cells for d in without(c, cut))

    def _against(self, domain: Set, what: str) -> tuple[Self, tuple[Conjunct, ...]]:
        """This over all parameters of both, and the conjuncts of a set in the space of the inputs."""
        need_set(domain, what)
        if domain.parts and domain.space.key != (None, self.inp.key):
            raise SpaceMismatch(f"{what} needs a set of inputs", where=f"{self.space}\n{domain.space}")
        a = self.align_params(domain.param_names)
        return a, tuple(c for _, cs in domain.align_params(a.param_names).parts for c in cs)

    def gist(self, context: Set) -> Self:
        """A simpler function that agrees with this one wherever `context` holds; cost as `coalesce`, then `Set.gist`.

        Elsewhere its value is any, which is why pieces may overlap there.

        >>> from polyvolta.sets import MultiPwAff, Set
        >>> print(MultiPwAff("{ [i] -> [i + 1] : i > 0 }").gist(Set("{ [i] : i > 0 }")))
        { [i] -> [(i + 1)] }
        """
        need_set(context, "a gist")
        a, cs = self._against(context.coalesce() if len(context.pieces) > 1 else context, "a gist")
        return a._with(gist_cells(a.names, a.cells, cs, a._set))

    def coalesce(self) -> Self:
        """The same function in fewer pieces: cells of equal expressions merge, and so do those whose expressions
        agree on the other's points.

        Exact; O(m^2) emptiness tests, then as `Set.coalesce`.

        >>> from polyvolta.sets import MultiPwAff
        >>> print(MultiPwAff("{ [i] -> [0] : i < 0; [i] -> [0] : i >= 0 }").coalesce())
        { [i] -> [(0)] }
        """
        groups: list[tuple[Values, list[Conjunct]]] = []
        for c, values in self.cells:
            for k, (others, cs) in enumerate(groups):
                if values == others or agree(self.names, [c], values, others):
                    cs.append(c)
                    break
                if agree(self.names, cs, values, others):
                    groups[k] = (values, [*cs, c])
                    break
            else:
                groups.append((values, [c]))
        done = ((vs, self._set(cs).coalesce()) for vs, cs in groups)
        merged = ((vs, apart([c for _, cs in found.parts for c in cs])) for vs, found in done)
        return self._with((c, vs) for vs, left in merged for cs in left for c in cs)

    # ---- two functions

    def _joined(self, other: Piecewise) -> Iterator[tuple[Conjunct, Values, Values]]:
        """The points where both have values; operands are aligned already."""
        for c, a in self.cells:
            for d, b in other.cells:
                both = cj.conjoin(c, d)
                if both is not None and not both.is_empty:
                    yield both, a, b

    def _pointwise(self, other: Piecewise, what: str, f: Callable[[Aff, Aff], Aff]) -> Self:
        a, b = self._same_outputs(other, what)
        return a._with((c, tuple(map(f, x, y))) for c, x, y in a._joined(b))

    def _same_outputs(self, other: Piecewise, what: str) -> tuple[Self, Piecewise]:
        check_function(other, what)
        if self.space.out.key != other.space.out.key:
            raise SpaceMismatch(f"{what} needs functions to one space", where=f"{self.space}\n{other.space}")
        return self._aligned(other, what)

    def union_prefer(self, other: Self) -> Self:
        """This function where it has a value, elsewhere the other: a union with priority to the left.

        >>> from polyvolta.sets import PwAff
        >>> print(PwAff("{ [i] -> [1] : i > 3 }").union_prefer(PwAff("{ [i] -> [i] }")))
        { [i] -> [(1)] : i >= 4; [i] -> [(i)] : i <= 3 }
        """
        a, b = self._same_outputs(other, "a union")
        cut = knives(c for c, _ in a.folded)
        return a._with([*a.cells, *((d, vs) for c, vs in b.cells for d in without(c, cut))])

    def union_add(self, other: Self) -> Self:
        """The sum where both have values, elsewhere the one that has one; exact (isl's `union_add`).

        `other` is a function of the same space.

        >>> from polyvolta.sets import MultiPwAff
        >>> print(MultiPwAff("{ [i] -> [i] : i > 0 }").union_add(MultiPwAff("{ [i] -> [1] : i < 9 }")))
        { [i] -> [(max(i + 1, 1))] : i <= 8; [i] -> [(i)] : i >= 9 }
        """
        return self._united(other, self._pointwise(other, "a union", lambda x, y: x + y))

    def _united(self, other: Piecewise, both: Piecewise) -> Self:
        """`both` where both have values, elsewhere the one that has one."""
        a, b = self._same_outputs(other, "a union")
        cells = list(both.align_params(a.param_names)._renamed(a.inp.dims).cells)
        for mine, theirs in ((a, b), (b, a)):
            cut = knives(c for c, _ in theirs.folded)
            cells += [(d, vs) for c, vs in mine.cells for d in without(c, cut)]
        return a._with(cells)

    def is_equal(self, other: Self) -> bool:
        """Whether both have the same domain and the same values there; exact, O(m n) emptiness tests.

        `other` is a function of the same space.

        >>> from polyvolta.sets import MultiPwAff
        >>> MultiPwAff("{ [i] -> [2i] }").is_equal(MultiPwAff("{ [j] -> [j + j] }"))
        True
        """
        check_function(other, "a comparison")
        if self.space.key != other.space.key:
            return False
        a, b = self._aligned(other, "a comparison")
        if not all(agree(a.names, [c], x, y) for c, x, y in a._joined(b)):
            return False
        return a.domain().is_equal(b.domain())

    def as_map(self) -> Map:
        """The function as a single-valued map, with its graph's constraints; linear.

        >>> from polyvolta.sets import MultiPwAff
        >>> print(MultiPwAff("{ [i] -> [i + 1] : i > 0; [i] -> [0] : i <= 0 }").as_map())
        { [i] -> [i + 1] : i >= 1; [i] -> [0] : i <= 0 }
        """
        from ..values.map import Map

        outs = distinct(self.space.out.dims, self.names)
        names = (*self.names, *outs)
        places = tuple(range(len(self.names)))
        found = []
        for c, values in self.cells:
            graph = where(names, [("eq", e - var(o)) for e, o in zip(values, outs, strict=True)])
            found.append(graph and cj.conjoin(cj.reindex(c, len(names), places), graph))
        space = Space(self.inp, renamed(self.space.out, outs))
        return Map._of(self.param_names, [(space, tuple(c for c in found if c is not None))])

    def pullback(self, inner: Piecewise) -> Self:
        """The function after another one: x -> this(inner(x)), where that has a value.

        Exact, by substitution; O(m n) conjunctions. isl's `pullback_multi_pw_aff`.

        Raises
        ------
        SpaceMismatch : the other one's outputs are not in this one's input space.

        >>> from polyvolta.sets import MultiPwAff, PwAff
        >>> f = PwAff("{ A[x] -> [floor(x/32)] : x >= 0 }")
        >>> print(f.pullback(MultiPwAff("{ S[i] -> A[64i + 5] }")))
        { S[i] -> [(2*i)] : i >= 0 }
        """
        check_function(inner, "a pullback")
        if self.inp.key != inner.space.out.key:
            raise SpaceMismatch("the inner function does not lead here", where=f"{inner.space}\n{self.space}")
        params = tuple(dict.fromkeys([*inner.param_names, *self.param_names]))
        inner, outer = inner.align_params(params), self.align_params(params)
        cells: list[Cell] = []
        for c, images in inner.cells:
            table = dict(zip(outer.inp.dims, images, strict=True))
            for d, values in outer.cells:
                for part in with_known_divs(d):
                    atoms = [(kind, e.subs(table)) for kind, e in atoms_of(part, outer.names)]
                    both = refined(c, inner.names, atoms)
                    if both is not None:
                        cells.append((both, tuple(e.subs(table) for e in values)))
        return self._of(params, Space(inner.inp, self.space.out), cells)

    pullback_multi_aff = pullback_multi_pw_aff = pullback_pw_multi_aff = pullback


def check_named(values: Mapping[str, object], names: Sequence[str], where: object) -> None:
    """Refuse values by name of other names than these.

    Raises
    ------
    UnknownName
    """
    extra = [n for n in values if n not in names]
    missing = [n for n in names if n not in values]
    if extra or missing:
        name, text = (extra or missing)[0], "is not a parameter or input" if extra else "has no value"
        hint = nearest(name, names) if extra else f"give one: {name}=..."
        raise UnknownName(f"{name!r} {text}", where=str(where), hint=hint)


def check_function(value: object, what: str) -> None:
    """Raise `SpaceMismatch` unless the value is a piecewise function."""
    if not isinstance(value, Piecewise):
        raise SpaceMismatch(
            f"{what} needs a PwAff or MultiPwAff, not {kind_of(value)}",
            where=f"{value!r}",
            hint="a map becomes one by as_multi_pw_aff()",
        )


def shared(cls: type, names: str) -> None:
    """Let some methods of a class leave it to another argument that takes over, one of fractions, say, to compute."""
    for name in names.split():
        setattr(cls, name, left_to_others(name, getattr(cls, name)))


def left_to_others(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which another argument computes that takes over and has it; without it that is the joint function.

    For the graph of such an argument has no values that are fractions, and is none of its members.
    """

    @wraps(f)
    def method(self: Any, *others: Any, **named: Any) -> Any:  # noqa: ANN401
        noun = getattr(self, "_noun", None)
        special = [noun in getattr(type(other), "_takes_over", ()) for other in others]
        if not any(special):
            return f(self, *others, **named)
        taking = others[special.index(True)]._taking(self)
        if hasattr(type(taking), name):
            return getattr(taking, name)(*others, **named)
        return f(self, *[x.joint() if own else x for x, own in zip(others, special, strict=True)], **named)

    return method


def _coordinate(value: Any, name: str) -> object:
    """A Python int, or an array of integers."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("i", "u") and getattr(value, "ndim", 0):
        return value
    if kind in ("", "i", "u") and hasattr(value, "__index__"):
        return value.__index__()
    raise SpaceMismatch(f"{name} is an integer or an array of integers, not {value!r}")


def _rename(e: Aff, table: dict[str, str]) -> Aff:
    return e.rewrite(lambda name: var(table.get(name, name)))
