"""Functions to tuples whose members have values each by itself: fractions, NaN, and a domain of its own.

    { S[i] -> A[((i)/2), (2*i : i >= 0)] }

isl's `MultiPwAff` is a tuple of functions, and has a value where all members have one. `polyvolta.isl` reads a
`MultiPwAff` where they have one domain and integer values, and a `MultiFunction` otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from math import lcm
from typing import TYPE_CHECKING, Any

from ..conjuncts.conjunct import Conjunct
from ..errors import NotAffine, SpaceMismatch
from ..text.formulas import Node, Tree, clauses, conjuncts
from ..values.aff import Aff
from ..values.named import Lacking, Named, by_isl, update_persistent_hash
from ..values.shape import of_values
from ..values.space import Space, Tuple, position, renamed
from .cells import Cell, disjoint
from .multi_pwaff import MultiPwAff
from .piecewise import Piecewise, check_function
from .pwaff import ONE, PwAff
from .pwparse import FunctionParser, Option
from .rational import RationalPwAff, involves_nan, lifted

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set


class MultiFunction(metaclass=Named):
    """A tuple of functions of one space; see the module. What it hasn't itself it has as its `joint` function.

    >>> f = read_functions("{ S[i] -> A[i/2, (2i : i >= 0)] }")
    >>> print(f, f.get_at(0), f.get_at(1).domain(), f.domain(), sep="; ")
    { S[i] -> A[(i)/2, ((2*i) : i >= 0)] }; { S[i] -> [(i)/2] }; { S[i] : i >= 0 }; { S[i] : i >= 0 }
    >>> print(f + f, f.set_at(0, f[1]).as_map(), sep="; ")
    { S[i] -> A[(i), ((4*i) : i >= 0)] }; { S[i] -> A[2*i, 2*i] : i >= 0 }
    """

    __slots__ = ("members", "space")
    _takes_over = ("PwAff", "MultiPwAff")

    def __init__(self, space: Space, members: Iterable[Any]) -> None:
        given = list(members)
        params = tuple(dict.fromkeys([p for f in given for p in f.param_names]))
        self.members = tuple([f._renamed(space.source.dims).align_params(params) for f in given])
        self.space = space.knowing(params)

    @classmethod
    def of(cls, space: Space, members: Iterable[Any], keep: bool = False) -> Any:  # noqa: ANN401 - or a MultiPwAff
        """The tuple, a `MultiPwAff` where all values are integers on one domain, if that is not to `keep` their own."""
        found = cls(space, members)
        plain = all(isinstance(f, PwAff) for f in found.members)
        if plain and (not found.members or (not keep and found._one_domain())):
            return found.joint()
        return found

    def _one_domain(self) -> bool:
        first, *others = [f.domain() for f in self.members]
        return all(set(d.parts[0][1]) == set(first.parts[0][1]) or d.is_equal(first) for d in others)

    @staticmethod
    def _taking(f: Any) -> Any:  # noqa: ANN401
        return lifted(f) if isinstance(f, (PwAff, RationalPwAff)) else MultiFunction(f.space, list(f))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        from ..text.of_isl import method

        if name.startswith("_") or method(MultiFunction, name):
            return by_isl(self, name)
        if not hasattr(MultiPwAff, name):
            raise Lacking(MultiPwAff, name)
        if callable(getattr(MultiPwAff, name)):
            return lambda *args, **named: getattr(self.joint(), name)(*args, **named)
        try:
            return getattr(self.joint(), name)
        except NotAffine as wrong:  # of which `hasattr` says that there is none
            raise AttributeError(str(wrong), name=name) from wrong

    # ---- structure

    @property
    def param_names(self) -> tuple[str, ...]:
        """The parameters of all members."""
        return self.space.param_names or ()

    @property
    def inp(self) -> Tuple:
        """The tuple of inputs."""
        return self.space.source

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, k: int | str) -> Any:  # noqa: ANN401
        """One of the functions, by position or name."""
        return self.members[position(k, self.space.out.dims, str(self.space), "output")]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.members)

    def __str__(self) -> str:
        from .pwshow import show_members

        return show_members(self)

    def __repr__(self) -> str:
        return f"MultiPwAff({str(self)!r})"

    def __hash__(self) -> int:
        return hash(self.space.key if Named.as_islpy else (self.space.key, self.members))

    def __eq__(self, other: object) -> bool:
        """The same members, as written."""
        if not isinstance(other, MultiFunction) or self.space.key != other.space.key:
            return False
        if self.members == MultiFunction(self.space, other.members).members:
            return True
        return Named.as_islpy and self.is_equal(other)

    __bool__ = Piecewise.__bool__
    update_persistent_hash = update_persistent_hash

    def joint(self) -> MultiPwAff:
        """The function where all members have a value.

        Raises
        ------
        NotAffine : some value is a fraction or NaN.
        """
        for f in self.members:
            if isinstance(f, RationalPwAff):
                raise NotAffine("a value is a fraction or NaN", where=str(self), hint="f.floor() is of integers")
        if not self.members:
            from ..values.map import Map

            return Map.universe(self.space).as_multi_pw_aff()
        f = MultiPwAff.of(*self.members)
        return MultiPwAff._of(f.param_names, Space(f.inp, self.space.out), f.cells)

    def domain(self) -> Set:
        """The points where all members have a value."""
        return reduce(lambda a, b: a & b, [f.domain() for f in self.members])

    def involves_nan(self) -> bool:
        """Whether a member is NaN somewhere."""
        return any(map(involves_nan, self.members))

    def is_equal(self, other: Any) -> bool:  # noqa: ANN401
        """Whether both have the same values at the same points, none of which is NaN.

        Each member is compared by itself, but where one of the two has one domain for all.
        """
        _need(other, "a comparison")
        if self.space.key != other.space.key:
            return False
        other = MultiFunction(other.space, other)
        plain = all(isinstance(f, PwAff) for f in (*self, *other))
        if plain and (self._one_domain() or other._one_domain()):
            return self.joint().is_equal(other.joint())
        return all(f.is_equal(g) for f, g in zip(self, other, strict=True))

    plain_is_equal = is_equal

    # ---- members

    def get_at(self, pos: int) -> Any:  # noqa: ANN401
        """One of the functions, by its position."""
        return self[pos]

    get_aff = get_pw_aff = get_union_pw_aff = get_at

    def set_at(self, pos: int, f: Any) -> Any:  # noqa: ANN401
        """With another function, of the same inputs, in the place of one."""
        if not isinstance(f, RationalPwAff):
            check_function(f, "a tuple of functions")
        if f.space.source.key != self.inp.key:
            raise SpaceMismatch("the functions have other inputs", where=f"{self.space}\n{f.space}")
        found: list[Any] = list(self.members)
        found[position(pos, self.space.out.dims, str(self.space), "output")] = f
        return self.of(self.space, found)

    set_aff = set_at

    def set_pw_aff(self, pos: int, f: Any) -> Any:  # noqa: ANN401
        """With another function in the place of one, on the domain of all where they have one; see `set_at`."""
        found = self.set_at(pos, f)
        return found.set_at(pos, f.intersect_domain(self.domain())) if self._one_domain() else found

    def size(self) -> int:
        """How many functions there are."""
        return len(self)

    def _each(self, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        return self.of(self.space, map(change, self.members))

    def _with_other(self, other: Any, combine: Callable[[Any, Any], Any]) -> Any:  # noqa: ANN401
        _need(other, "an operation of two functions")
        if self.space.key != other.space.key:
            raise SpaceMismatch("two functions of one space are needed", where=f"{self.space}\n{other.space}")
        return self.of(self.space, [combine(f, g) for f, g in zip(self, other, strict=True)])

    def __add__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with_other(other, lambda f, g: f + g)

    def __sub__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with_other(other, lambda f, g: f - g)

    def __neg__(self) -> Any:  # noqa: ANN401
        return self._each(lambda f: -f)

    neg = __neg__

    def min(self, other: Any) -> Any:  # noqa: ANN401
        """The lesser of each two values."""
        return self._with_other(other, lambda f, g: f.min(g))

    def max(self, other: Any) -> Any:  # noqa: ANN401
        """The greater of each two values."""
        return self._with_other(other, lambda f, g: f.max(g))

    def union_add(self, other: Any) -> Any:  # noqa: ANN401
        """The sum of each two values where both are, elsewhere the one that is."""
        return self._with_other(other, lambda f, g: f.union_add(g))

    def floor(self) -> Any:  # noqa: ANN401
        """The greatest integer that is not above each."""
        return self._each(lambda f: f.floor())

    def scale_val(self, number: Any) -> Any:  # noqa: ANN401
        """Each times a number."""
        return self._each(lambda f: lifted(f) * number)

    def scale_down_val(self, number: Any) -> Any:  # noqa: ANN401
        """Each by a number."""
        return self._each(lambda f: lifted(f) / number)

    def mod_val(self, number: int) -> Any:  # noqa: ANN401
        """The remainder of each by a number."""
        return self._each(lambda f: f % number)

    def intersect_domain(self, points: Set) -> Any:  # noqa: ANN401
        """The functions at the points of a set alone."""
        return self._each(lambda f: f.intersect_domain(points))

    def intersect_params(self, context: Set) -> Any:  # noqa: ANN401
        """The functions for parameters of a set alone."""
        return self._each(lambda f: f.intersect_params(context))

    def subtract_domain(self, points: Set) -> Any:  # noqa: ANN401
        """The functions outside of a set."""
        return self._each(lambda f: f.subtract_domain(points))

    def align_params(self, params: Any) -> Any:  # noqa: ANN401
        """The same functions with a longer list of parameters."""
        return MultiFunction(self.space, [f.align_params(params) for f in self.members])

    def gist(self, context: Set) -> Any:  # noqa: ANN401
        """Simpler functions that agree with these where the context holds."""
        return self._each(lambda f: f.gist(context))

    def coalesce(self) -> Any:  # noqa: ANN401
        """The same functions in fewer pieces."""
        return self._each(lambda f: f.coalesce())

    def pullback(self, inner: Any) -> Any:  # noqa: ANN401
        """The functions after another one; see `RationalPwAff.pullback`."""
        found = [lifted(f).pullback(inner) for f in self.members]
        return self.of(Space(inner.space.inp, self.space.out), found)

    pullback_multi_aff = pullback_multi_pw_aff = pullback_pw_multi_aff = pullback

    # ---- tuples

    def _factor(self, second: bool) -> Any:  # noqa: ANN401
        inner = self.space.out.inner
        if inner is None or inner.inp is None:
            raise SpaceMismatch("the values are no wrapped pairs", where=str(self))
        n = len(inner.inp.dims)
        out, own = (inner.out, self.members[n:]) if second else (inner.inp, self.members[:n])
        return self.of(Space(self.space.inp, out), own)

    def range_factor_domain(self) -> Any:  # noqa: ANN401
        """The first values of wrapped pairs, with the domains of these."""
        return self._factor(False)

    def range_factor_range(self) -> Any:  # noqa: ANN401
        """The second values of wrapped pairs, with the domains of these."""
        return self._factor(True)

    def range_product(self, other: Any) -> Any:  # noqa: ANN401
        """The values of both in one tuple that wraps theirs."""
        return self._product(other, True)

    def flat_range_product(self, other: Any) -> Any:  # noqa: ANN401
        """The values of both in one tuple."""
        return self._product(other, False)

    def _product(self, other: Any, wrapped: bool) -> Any:  # noqa: ANN401
        _need(other, "a product")
        if self.inp.key != other.inp.key:
            raise SpaceMismatch("two functions on one space are needed", where=f"{self.space}\n{other.space}")
        found = [*self.members, *other]
        taken = (*self.param_names, *other.param_names, *self.inp.dims)
        out = of_values(self.space.out, other.space.out, wrapped, taken)
        return self.of(Space(self.space.inp, out), found)

    def as_map(self) -> Map:
        """The graph: the pairs of a point and integers, where all members have one; see `RationalPwAff.as_map`."""
        m = reduce(lambda a, b: a.flat_range_product(b), [f.as_map() for f in self.members])
        return m._of(m.param_names, [(Space(s.inp, renamed(self.space.out, s.out.dims)), cs) for s, cs in m.parts])


def _need(value: object, what: str) -> None:
    """Raise `SpaceMismatch` unless the value is a function to a tuple, of fractions or not."""
    if not isinstance(value, MultiFunction):
        check_function(value, what)


# ---- reading


class _Members(FunctionParser):
    """A parser that keeps the cases of each output by itself, with their denominators; NaN is None."""

    special = False  # whether an output has fractions, or a condition of its own beside others

    def found(self, space: Space, when: list[Tree], members: list[list[Option]]) -> Any:  # noqa: ANN401
        return space, when, members

    def ratio(self, value: Aff, den: int, mark: int) -> Any:  # noqa: ANN401
        self.special |= den != 1
        return value, den

    def component(self) -> list[Option]:
        braced = self.toks[self.k : self.k + 3 : 2] == ["(", ")"]
        word = self.toks[self.k + braced]
        if word.lower() == "nan" and word not in self.scope:
            self.k += 3 if braced else 1
            self.special = True
            return [(Node("all", ()), (None,))]  # type: ignore[list-item]
        return super().component()

    def member(self, parts: list[tuple[Space, list[Tree], list[list[Option]]]], k: int) -> Any:  # noqa: ANN401
        """One of the functions, of the pieces of one space."""
        space = parts[0][0]
        names = (*self.params, *space.source.dims)
        cells: list[tuple[Conjunct, Any]] = []
        for other, when, members in parts:
            own = (*self.params, *other.source.dims)
            table = dict(zip(own, names, strict=True))
            for more, (value,) in members[k]:
                found: tuple[Conjunct, ...] = conjuncts(clauses(Node("all", (*when, more))), own)
                value: Any = value and (value[0].subs(table), value[1])
                cells += [(c, value) for c in found]
        den = lcm(*[v[1] for _, v in cells if v])
        numbers: list[Cell] = [(c, (v[0] * (den // v[1]),)) for c, v in cells if v]
        one = Space(space.inp, ONE)
        f = PwAff._of(self.params, one, disjoint(names, numbers, self.text.strip()))
        return RationalPwAff.of(f, den, f._set([c for c, v in cells if not v]) - f.domain())

    def points(self, parts: list[tuple[Space, list[Tree], list[list[Option]]]]) -> MultiPwAff:
        """The function without values of the pieces of one space, which are its domain."""
        found = [
            (c, ())
            for space, when, _ in parts
            for c in conjuncts(clauses(Node("all", tuple(when))), (*self.params, *space.source.dims))
        ]
        space = parts[0][0]
        names = (*self.params, *space.source.dims)
        return MultiPwAff._of(self.params, space, disjoint(names, found, self.text.strip()))


def _parsed(text: str) -> tuple[_Members, tuple[str, ...], list[Any]]:
    parser = _Members(text)
    params, parts = parser.everything()
    keys = {space.key: space for space, _, _ in parts}
    if len(keys) > 1:
        raise SpaceMismatch("a function has pieces in one space", where="\n".join(map(str, keys.values())))
    return parser, params, parts


def read_each(text: str) -> list[Any]:
    """The functions of each space that a text says, of several tuples; errors as of `MultiPwAff(text)`."""
    parser = _Members(text)
    _, parts = parser.everything()
    spaces: dict[Any, list[Any]] = {}
    for part in parts:
        spaces.setdefault(part[0].key, []).append(part)
    found: list[Any] = []
    for own in spaces.values():
        space = own[0][0]
        members = [parser.member(own, k) for k in range(space.n_out)]
        found.append(MultiFunction.of(space, members) if members else parser.points(own))
    return found


def read_function(text: str) -> Any:  # noqa: ANN401
    """The function of one value that a text says, whose values may be fractions or NaN; errors as of `PwAff(text)`.

    >>> print(read_function("{ [i] -> [i/2 + 1/3] : i > 0; [i] -> [NaN] : i < 0 }"))
    { [i] -> [(3*i + 2)/6] : i >= 1; [i] -> [NaN] : i <= -1 }
    """
    parser, _, parts = _parsed(text)
    if not parser.special:
        return PwAff(text)
    space = parts[0][0]
    if space.n_out != 1 or space.out.name or space.out.inner:
        raise SpaceMismatch("a PwAff has one anonymous output", where=str(space), hint="use MultiPwAff(...)")
    return parser.member(parts, 0)


def read_functions(text: str) -> Any:  # noqa: ANN401
    """The function to a tuple that a text says, each value by itself; errors as of `MultiPwAff(text)`."""
    parser, _, parts = _parsed(text)
    several = bool(parts) and (parts[0][0].n_out > 1 or parts[0][0].out.inner is not None)
    if not parser.special and not (parser.conditional and several):
        return MultiPwAff(text)
    space = parts[0][0]
    return MultiFunction.of(space, [parser.member(parts, k) for k in range(space.n_out)], bool(space.out.inner))
