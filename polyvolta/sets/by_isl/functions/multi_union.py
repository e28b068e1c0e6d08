"""`MultiUnionPwAff` of `polyvolta.isl`, isl's functions of several tuples, which are union relations.

A tuple of no functions, `L[]`, has a value everywhere, or wherever a condition on parameters holds,
`(L[] : { : N > 0 })`, and a function may be of parameters alone, `{ [N] }`. Where one without functions meets another
function, or points, it is one on these.

>>> from polyvolta.sets import MultiPwAff, Set
>>> everywhere, f = MultiUnionPwAff("[N] -> (L[] : { : N > 0 })"), MultiUnionPwAff("A[{ S[i] -> [i] : i < 9 }]")
>>> print(everywhere, everywhere.range_product(f), sep="; ")
[N] -> (L[] : { : N >= 1 }); [N] -> { S[i] -> [L[] -> A[i]] : N >= 1 and i <= 8 }
>>> applied = everywhere.apply_multi_aff(MultiPwAff("[N] -> { L[] -> D[N] }"))
>>> print(everywhere.intersect_domain(Set("{ S[i] }")), applied)
[N] -> { S[i] -> L[] : N >= 1 } [N] -> { D[(N)] : N >= 1 }
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any

from ...errors import SetSyntaxError, SpaceMismatch
from ...functions.pwparse import FRACTION
from ...text.parse import INFINITE
from ...text.union_functions import is_tuple_of_functions, parse_functions
from ...values import kinds
from ...values.map import Map
from ...values.named import ByValue, dispatching
from ...values.set import Set
from ...values.shape import need_set
from ...values.space import PARAMS, Space
from ...values.unions import UnionMap, Unions, united
from ..dimensions.by_kind import set_dim_name
from ..relations import is_params, is_universe, member, plain_is_equal, spaces
from .fraction_texts import read
from .own_domains import OwnDomains, UnionMembers, have_one_domain, product, spliced
from .union_fractions import UnionFractions, functions_of, gathered, is_fractional
from .union_parts import spliced as values_put_in
from .unions import (
    alongside,
    applied,
    graph_of,
    is_everywhere,
    need_one_value,
    on_points,
    pulled_back,
    union,
    values_of,
)


class FunctionsType(ByValue, Unions):
    """The type of the class, of which all union relations are instances: what gives functions may give these."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (UnionMap, UnionFractions, UnionMembers))

    def __subclasscheck__(cls, other: type) -> bool:
        """Of the classes of those that are no relations, as `functools.singledispatch` asks."""
        return type.__subclasscheck__(cls, other) or other in (UnionFractions, UnionMembers)

    @property
    def _home(cls) -> type:  # type: ignore[override]
        return UnionMap

    def __call__(cls, text: Any, context: object = None) -> Any:  # noqa: ANN401
        """The function of a text, or that of another value; with fractions, or several domains, it is no relation."""
        if isinstance(text, UnionMembers):
            return text if cls is MultiUnionPwAff else cls(text.joint())
        if is_fractional(text):
            return gathered(functions_of(text), cls)
        try:
            apart = isinstance(text, str) and cls is MultiUnionPwAff and is_tuple_of_functions(text)
            return _read_apart(text) if apart else super().__call__(text)
        except SetSyntaxError as wrong:
            if wrong.message not in (FRACTION, INFINITE):
                raise
            return read(text, cls)

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        """What isl's names give that are looked up on the class is of it."""
        found = dispatching(cls, name, super().__getattr__(name))

        @wraps(found)
        def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            if name.startswith("from_") and len(args) == 1 and is_fractional(args[0]):
                return cls(args[0])
            value = found(*args, **named)
            if name == "from_union_map":  # a relation, of which nobody has asked whether it is a function
                value = united(Map(value))
            if name.startswith("from_") and isinstance(value, Map):
                return as_functions(value, cls)
            return cls(value) if isinstance(value, UnionMap) and type(value) is not cls else value

        return call


def _read_apart(text: str) -> Any:  # noqa: ANN401
    """The tuple of functions of a text, which keep their own domains; errors as of `_read`."""
    try:
        found = OwnDomains(text, True).whole()
    except SetSyntaxError as wrong:
        if wrong.message in (FRACTION, INFINITE):
            raise
        found = _read(text)
    return found if isinstance(found, UnionMembers) else MultiUnionPwAff(found)


def _read(text: str) -> Map:
    """The function of a text, which may say a relation that is one: functions print so, `{ S[i] -> [j] : 2j = i }`.

    A value that is a fraction is refused, which a relation would leave out.
    """
    try:
        return parse_functions(text)
    except SetSyntaxError as wrong:
        if wrong.message in (FRACTION, INFINITE):
            raise
        m = Map(text)
        if not m.is_single_valued():
            raise
        return m


class MultiUnionPwAff(UnionMap, metaclass=FunctionsType):
    """A function of points of any tuples, from isl's text of one; see the module, and `UnionMap` for its methods."""

    __slots__ = ()
    _one_tuple = True

    def __init__(self, text: str | Map, context: object = None) -> None:
        m = _read(text) if isinstance(text, str) else united(graph_of(text))
        self._fill(m.param_names, m.parts)

    @classmethod
    def zero(cls, space: Space) -> MultiUnionPwAff:
        """The values of a tuple of nothing, known everywhere.

        Raises
        ------
        SpaceMismatch : the tuple has dimensions, whose values would need a domain.
        """
        if space.out.dims or space.inp is not None:
            raise SpaceMismatch("a function that is known everywhere has no values", where=str(space))
        return cls(f"{space.out.name or ''}[]")

    def __str__(self) -> str:
        if len(self.parts) != 1 or not self.parts[0][0].source.of_params:
            return super().__str__()
        if not is_everywhere(self):
            return str(self.as_multi_pw_aff())
        known, tup = self.domain(), self.space.out
        head, brace, condition = str(known).partition("{")
        return head + (f"{tup}" if is_universe(known) else f"({tup} : {brace}{condition})")

    def get_space(self) -> Space:
        """The space of the values, of one tuple, as isl's of a `MultiUnionPwAff`; else that of the parameters."""
        out = {s.out.key: s.out for s, _ in self.parts}
        return Space(None, next(iter(out.values())) if len(out) == 1 else PARAMS, self.param_names)

    def get_union_pw_aff(self, pos: int) -> Any:  # noqa: ANN401
        """One of the functions, by its position."""
        return UnionPwMultiAff(member(self, pos))

    get_at = get_union_pw_aff

    def apply_pw_aff(self, f: Any) -> Any:  # noqa: ANN401
        """The value that a function has at the values of this one."""
        return UnionPwMultiAff(applied(self, f))

    apply_aff = apply_pw_aff

    def intersect_domain(self, points: Set) -> UnionMap:
        """The function at the points of a set alone, or, where it is one of parameters, for these."""
        if is_params(need_set(points, "a restriction of the domain")):
            return self.intersect_params(points)
        return UnionMap.intersect_domain(on_points(self, points), points)  # type: ignore[return-value]

    def gist(self, context: Any) -> UnionMap:  # noqa: ANN401
        """A simpler function that is this one at the points of a set; one without functions knows parameters alone.

        Of tuples of which the set has no points it has none: a relation that says nothing of them is no function.
        """
        if not isinstance(context, Set):
            return UnionMap.gist(self, context)  # type: ignore[return-value]
        if is_everywhere(self) or is_params(context):
            return self.gist_params(context.params())
        known = {s.out.key for s, cs in context.parts if not Set._of(context.param_names, [(s, cs)]).is_empty()}
        there = [part for part in self.parts if part[0].source.key in known]
        return UnionMap.gist(self._of(self.param_names, there), context)  # type: ignore[return-value]

    def gist_params(self, context: Set) -> UnionMap:
        """A simpler function that is this one for parameters in a set, nowhere if there are none; see `gist`."""
        there = self._of(self.param_names, ()) if context.is_empty() else self
        return UnionMap.gist_params(there, context)  # type: ignore[return-value]

    def _with_fractions(self, other: Any) -> UnionFractions:  # noqa: ANN401
        """The function at the points of another one, as one that may have fractions."""
        points = UnionFractions(functions_of(other), type(self)).domain()
        return UnionFractions(functions_of(on_points(self, points)), type(self))

    def _is_apart(self, other: Any) -> bool:  # noqa: ANN401
        """Whether another tuple of functions has values elsewhere, of which both have some to keep."""
        if isinstance(other, UnionMembers):
            return not self._is_domain()
        if type(self) is not MultiUnionPwAff or type(other) is not MultiUnionPwAff:
            return False
        return not (self._is_domain() or other._is_domain() or have_one_domain([self, other]))

    def range_splice(self, pos: int, other: Any) -> Any:  # noqa: ANN401
        """The values of another function put in at a position, where both have some."""
        return spliced(self, pos, other) if self._is_apart(other) else values_put_in(self, pos, other)

    def range_product(self, other: Any) -> UnionMap:  # noqa: ANN401
        """The values of both in one tuple that wraps theirs, where both have some; the other may be of one tuple."""
        if is_fractional(other):
            return self._with_fractions(other).range_product(other)
        if self._is_apart(other):
            return product(self, other, True)
        f, g = alongside(self, graph_of(other))
        return UnionMap.range_product(f, g)  # type: ignore[return-value]

    def flat_range_product(self, other: Any) -> UnionMap:  # noqa: ANN401
        """The values of both in one tuple, where both have some; the other may be of one tuple."""
        if is_fractional(other):
            return self._with_fractions(other).flat_range_product(other)
        if self._is_apart(other):
            return product(self, other, False)
        f, g = alongside(self, graph_of(other))
        return UnionMap.flat_range_product(f, g)  # type: ignore[return-value]

    def _factor(self, name: str) -> UnionMap:
        """One of the two sides of values that are wrapped pairs.

        Raises
        ------
        SpaceMismatch : they are no such pairs, of a function whose values lie in one tuple.
        """
        if self._one_tuple and self.parts and all(s.out.inner is None for s, _ in self.parts):
            raise SpaceMismatch("the values are no wrapped pairs", where=str(self))
        return getattr(UnionMap, name)(self)  # type: ignore[no-any-return]

    def range_factor_domain(self) -> UnionMap:
        """The first values, of values that are wrapped pairs; see `_factor`."""
        return self._factor("range_factor_domain")

    def range_factor_range(self) -> UnionMap:
        """The second values, of values that are wrapped pairs; see `_factor`."""
        return self._factor("range_factor_range")

    def factor_range(self) -> UnionMap:
        """The second values, of values that are wrapped pairs."""
        return self.range_factor_range()  # type: ignore[return-value]

    def drop_dims(self, kind: Any, first: int, n: int) -> UnionMap:  # noqa: ANN401
        """Without some of the values, or some parameters, of which it is the function where they are 0, as isl's.

        A tuple of no functions has a domain alone, which is projected.

        Raises
        ------
        SpaceMismatch : they are inputs, or a tuple has no such values.
        """
        if kind is kinds.dim_type.param and self._is_domain():
            return self.project_out(kind, first, n)
        if kind is kinds.dim_type.param:
            at = self.fix(dict.fromkeys(kinds.spread(self, kind, first, n), 0))
            return at.project_out(kind, first, n)
        if kind is kinds.dim_type.in_:
            raise SpaceMismatch("inputs of a function of several tuples stay", where=str(self))
        return union(self, [m.project_out(kind, first, n) for m in spaces(self)])  # type: ignore[return-value]

    def set_dim_name(self, kind: Any, pos: int, name: str) -> UnionMap:  # noqa: ANN401
        """The same values, one of them, or a parameter, under another name.

        Raises
        ------
        SpaceMismatch : the kind is another one.
        """
        if kind is kinds.dim_type.param:
            return set_dim_name(self, kind, pos, name)  # type: ignore[no-any-return]
        if kind not in (kinds.dim_type.out, kinds.dim_type.set):
            raise SpaceMismatch(f"a function of several tuples has none of kind {kind}", where=str(self))
        changed = [set_dim_name(m, kinds.dim_type.out, pos, name) for m in spaces(self)]
        return union(self, changed)  # type: ignore[return-value]

    set_dim_id = set_dim_name

    def get_dim_id(self, kind: Any, pos: int) -> Any:  # noqa: ANN401
        """The name of a value, or of a parameter."""
        return self.get_space().get_dim_id(kind, pos)  # type: ignore[attr-defined]

    def find_dim_by_name(self, kind: Any, name: str) -> int:  # noqa: ANN401
        """The position of a value, or of a parameter, of a name; -1 without one."""
        return self.get_space().find_dim_by_name(kind, name)  # type: ignore[attr-defined, no-any-return]

    find_dim_by_id = find_dim_by_name

    def _is_domain(self) -> bool:
        """Whether it is a tuple of no functions, of which isl knows a domain."""
        return not any(s.out.dims for s, _ in self.parts)

    def get_domain_space(self) -> Space:
        """The space of the points, which are of several tuples."""
        return Space(None, PARAMS, self.param_names)

    def set_tuple_id(self, kind: Any, name: str | None) -> UnionMap:  # noqa: ANN401
        """The same values in tuples of another name, whose kind, `dim_type.set`, is the only one that these have.

        Raises
        ------
        SpaceMismatch : the kind is another one.
        """
        if kind not in (kinds.dim_type.out, kinds.dim_type.set):
            raise SpaceMismatch(f"a function of several tuples has none of kind {kind}", where=str(self))
        return self._of(self.param_names, [(Space(s.inp, replace(s.out, name=name)), cs) for s, cs in self.parts])

    set_tuple_name = set_tuple_id

    def reset_tuple_id(self, kind: Any) -> UnionMap:  # noqa: ANN401
        """The same values in tuples without a name; see `set_tuple_id`."""
        return self.set_tuple_id(kind, None)

    def pullback_union_pw_multi_aff(self, inputs: Any) -> UnionMap:  # noqa: ANN401
        """The function of what another function gives; one that is known everywhere, for its parameters."""
        if is_everywhere(self):
            return self.intersect_params(graph_of(inputs).domain().params())
        return pulled_back(self, inputs)  # type: ignore[return-value]

    def plain_is_equal(self, other: Any) -> bool:  # noqa: ANN401
        """Whether both are written alike; of tuples of no functions, whether they are known at the same points."""
        if is_fractional(other):
            return False
        theirs = graph_of(other)
        if any(space.out.dims for space, _ in (*self.parts, *theirs.parts)):
            return plain_is_equal(self, theirs)
        same = values_of(self) == values_of(theirs) and is_everywhere(self) == is_everywhere(theirs)
        return same and self.domain().is_equal(theirs.domain())


class UnionPwMultiAff(MultiUnionPwAff):
    """isl's `UnionPwAff` and `UnionPwMultiAff`: the same functions, whose space is that of the parameters alone."""

    __slots__ = ()
    _one_tuple = False
    get_space = UnionMap.get_space

    def _is_domain(self) -> bool:
        return False  # isl's has the function where the parameters are 0, whatever its tuples are

    def plain_is_equal(self, other: Any) -> bool:  # noqa: ANN401
        """Whether both are written alike, in whichever order they have their parameters, as isl's."""
        graph = graph_of(other)
        params = tuple(dict.fromkeys((*self.param_names, *graph.param_names)))
        return plain_is_equal(self.align_params(params), type(self)(graph).align_params(params))


def as_functions(f: Any, kind: Any = MultiUnionPwAff) -> Any:  # noqa: ANN401
    """The function, or the relation that is one, of one of the two classes.

    Raises
    ------
    NotAFunction : a relation has several values at one point.
    SpaceMismatch : the values lie in several tuples, of a `MultiUnionPwAff`.
    """
    if kind._one_tuple and len(values_of(f)) > 1:
        raise SpaceMismatch("the values of the functions lie in several tuples", where=str(f),
                            hint="a UnionPwMultiAff takes them")  # fmt: skip
    if is_fractional(f):
        return gathered(functions_of(f), kind)
    graph = graph_of(f)
    return kind(need_one_value(graph) if type(f) in (Map, UnionMap) else graph)
