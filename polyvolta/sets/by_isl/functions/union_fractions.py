"""Functions of several tuples some of whose values are fractions, which no relation says: one function of each space.

isl divides before it rounds, `times.scale_down_multi_val(sizes).floor()`. What has integer values alone is a
`MultiUnionPwAff` or a `UnionPwMultiAff` again, a relation.

>>> from polyvolta.isl import MultiUnionPwAff
>>> half = MultiUnionPwAff("L[{ S[i] -> [(i)]; T[i] -> [(4)] }]").scale_down_val(2)
>>> print(half, half.floor(), half.scale_val(2), sep="; ")
{ S[i] -> L[(i)/2]; T[i] -> L[(2)] }; { S[i] -> L[floor(i/2)]; T[i] -> L[2] }; { S[i] -> L[i]; T[i] -> L[4] }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

from ...errors import SpaceMismatch, need_function
from ...functions.members import MultiFunction
from ...functions.multi_pwaff import MultiPwAff
from ...functions.piecewise import Piecewise, check_function
from ...functions.pwaff import PwAff
from ...functions.rational import RationalPwAff
from ...values import kinds
from ...values.map import Map
from ...values.named import Named, by_isl, update_persistent_hash
from ...values.set import Set
from ...values.shape import need_set
from ...values.space import PARAMS, Space, position
from ...values.unions import united
from ..objects.lists import ListOf
from ..objects.spaces import every
from ..relations import is_params
from .one_space import after, as_one, product, several, side_by_side, union_sum
from .union_parts import functions, with_other_points
from .unions import graph_of, inputs_of, need_values_in, values_of

if TYPE_CHECKING:
    from .multi_union import MultiUnionPwAff


def is_fractional(f: object) -> bool:
    """Whether it is a function with fractions, of one tuple or several."""
    return isinstance(f, (RationalPwAff, MultiFunction, UnionFractions))


def functions_of(f: Any) -> list[Any]:  # noqa: ANN401
    """The functions of one space each, to tuples.

    Raises
    ------
    SpaceMismatch : it is no function.
    """
    from .own_domains import UnionMembers

    if isinstance(f, UnionMembers):
        f = f.joint()
    if isinstance(f, UnionFractions):
        return list(f.functions)
    if isinstance(f, Map):
        return functions(f)
    if not is_fractional(f):
        check_function(f, "a function of several tuples")
    return [MultiFunction.of(f.space, [f]) if isinstance(f, (PwAff, RationalPwAff)) else f]


def gathered(parts: Iterable[Any], kind: Any) -> Any:  # noqa: ANN401
    """The function of several tuples of functions of one space each: of a kind where all values are integers.

    Those of the same space, which have no common points, are one function then, and those without points are none.
    """
    params: dict[str, None] = {}
    alike: dict[Any, list[Any]] = {}
    for f in parts:
        params.update(dict.fromkeys(f.param_names))
        if not f.domain().is_empty():
            alike.setdefault(f.space.key, []).append(f)
    whole = [f.joint() if isinstance(f, MultiFunction) and _of_integers(f) else f for f in map(as_one, alike.values())]
    if all(isinstance(f, MultiPwAff) for f in whole):
        return kind(reduce(lambda a, b: a | b, [f.as_map() for f in whole], Map._of(tuple(params), [])))
    return UnionFractions(whole, kind)


def _of_integers(f: MultiFunction) -> bool:
    return all(isinstance(member, PwAff) for member in f)


_OF_SPACE = frozenset(
    "find_dim_by_id find_dim_by_name get_dim_id get_id_dict get_range_tuple_id get_tuple_id get_tuple_name get_var_dict"
    " get_var_ids get_var_names get_var_names_not_none has_range_tuple_id has_tuple_id".split()
)
"""isl's names of what its space knows."""
_OF_EACH = frozenset(
    "drop_dims drop_unused_params factor_range flatten_range gist_params range_factor_domain range_factor_range"
    " reset_range_tuple_id set_range_tuple_id".split()
)
"""isl's names of what changes each function by itself."""


class UnionFractions(metaclass=Named):
    """A function of several tuples with fractions; see the module. It is immutable.

    `functions` are those of one space each, and `kind` the class of those of integers that it is made of.
    """

    __slots__ = ("functions", "kind")
    _takes_over = ("PwAff", "MultiPwAff")

    def __init__(self, parts: Iterable[Any], kind: type[MultiUnionPwAff]) -> None:
        given = list(parts)
        params = tuple(dict.fromkeys([p for f in given for p in f.param_names]))
        self.functions, self.kind = tuple([f.align_params(params) for f in given]), kind

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name in _OF_SPACE:
            return getattr(self.get_space(), name)
        if name in _OF_EACH:  # values of several tuples have inputs, behind which a factor is one of the range
            own = "range_factor_range" if name == "factor_range" else name
            return lambda *args: self._each(lambda f: getattr(several(f), own)(*args))
        return by_isl(self, name)

    @property
    def param_names(self) -> tuple[str, ...]:
        """The parameters of all functions."""
        return self.functions[0].param_names

    def __str__(self) -> str:
        texts = [str(f[0] if len(f) == 1 and f.space.out == f[0].space.out else f) for f in self.functions]
        head = f"[{', '.join(self.param_names)}] -> " if self.param_names else ""
        return f"{head}{{ {'; '.join([t.removeprefix(head)[2:-2] for t in texts])} }}"

    to_str = __str__

    def __repr__(self) -> str:
        return f"{self.kind.__name__}({str(self)!r})"

    def __hash__(self) -> int:
        return hash(frozenset([f.space.key for f in self.functions]))

    def __eq__(self, other: object) -> bool:
        """The same functions, as written."""
        if not isinstance(other, UnionFractions):
            return False
        return {*self.functions} == {*other.functions} or (Named.as_islpy and self.is_equal(other))

    __bool__ = Piecewise.__bool__
    update_persistent_hash = update_persistent_hash

    # ---- what it is of

    def get_space(self) -> Space:
        """The space of the values of a tuple of functions, else that of the parameters."""
        from .multi_union import UnionPwMultiAff

        out = PARAMS if issubclass(self.kind, UnionPwMultiAff) else self.functions[0].space.out
        return Space(None, out, self.param_names)

    def dim(self, kind: Any) -> int:  # noqa: ANN401
        """How many parameters or values there are."""
        return len(kinds.of_kind(self.get_space(), kind))

    def size(self) -> int:
        """How many values there are at a point."""
        return len(self.functions[0])

    def domain(self) -> Any:  # noqa: ANN401
        """The points where there is a value, of any tuple."""
        return united(reduce(lambda a, b: a | b, [f.domain() for f in self.functions]))

    def involves_nan(self) -> bool:
        """Whether a value is NaN somewhere."""
        return any(f.involves_nan() for f in self.functions)

    def is_equal(self, other: Any) -> bool:  # noqa: ANN401
        """Whether both have the same values at the same points, none of which is NaN."""
        theirs = {g.space.key: g for g in functions_of(other)}
        keys = [f.space.key for f in self.functions]
        return {*keys} == {*theirs} and all(f.is_equal(theirs[k]) for f, k in zip(self.functions, keys, strict=True))

    plain_is_equal = is_equal

    def as_map(self) -> Map:
        """The pairs of a point and integers, where all values are."""
        return united(reduce(lambda a, b: a | b, [f.as_map() for f in self.functions]))

    as_union_map = as_map

    def zero_union_set(self) -> Any:  # noqa: ANN401
        """The points at which all values are 0."""
        zeros = [reduce(lambda a, b: a & b, [g.eq_set(0) for g in f], f.domain()) for f in self.functions]
        return united(reduce(lambda a, b: a | b, zeros))

    def max_val(self) -> Any:  # noqa: ANN401
        """The greatest value, of one dimension, a fraction."""
        return reduce(lambda a, b: a.max(b), [f[0].max_val() for f in self.functions])

    def min_val(self) -> Any:  # noqa: ANN401
        """The least value, of one dimension, a fraction."""
        return reduce(lambda a, b: a.min(b), [f[0].min_val() for f in self.functions])

    # ---- its functions

    def get_union_pw_aff(self, pos: int) -> Any:  # noqa: ANN401
        """One of the values, by its position."""
        from .multi_union import UnionPwMultiAff

        return gathered([one for f in self.functions for one in functions_of(f[pos])], UnionPwMultiAff)

    get_at = get_union_pw_aff

    def get_pw_multi_aff_list(self) -> ListOf:
        """The functions of one space each."""
        return ListOf(self.functions)

    def get_pw_aff_list(self) -> ListOf:
        """The functions of one value each."""
        return ListOf([f[0] for f in self.functions])

    def foreach_pw_multi_aff(self, f: Callable[[Any], Any]) -> None:
        """Call a function with the functions of one space each."""
        need_function(f)
        for one in self.functions:
            f(one)

    def foreach_pw_aff(self, f: Callable[[Any], Any]) -> None:
        """Call a function with the functions of one value each."""
        need_function(f)
        for one in self.functions:
            f(one[0])

    def n_pw_multi_aff(self) -> int:
        """How many functions of one space each there are."""
        return len(self.functions)

    n_pw_aff = n_pw_multi_aff

    def extract_pw_multi_aff(self, space: Space) -> Any:  # noqa: ANN401
        """The function in a space, of nothing one without values."""
        wanted = every(space).space
        found = [f for f in self.functions if f.space.key == wanted.key]
        return found[0] if found else MultiPwAff._of(self.param_names, wanted, [])

    def extract_pw_aff(self, space: Space) -> Any:  # noqa: ANN401
        """The function of one value in a space; see `extract_pw_multi_aff`."""
        return self.extract_pw_multi_aff(space)[0]

    def copy(self) -> UnionFractions:
        """The function itself."""
        return self

    def as_multi_union_pw_aff(self) -> UnionFractions:
        """The same as a tuple of functions."""
        from .multi_union import MultiUnionPwAff

        return UnionFractions(self.functions, MultiUnionPwAff)

    # ---- other values

    def _each(self, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        return gathered(map(change, self.functions), self.kind)

    def set_union_pw_aff(self, pos: int, f: Any) -> Any:  # noqa: ANN401
        """With another function in the place of a value."""
        given = [self.get_union_pw_aff(k) for k in range(self.size())]
        given[position(pos, self.functions[0].space.out.dims, str(self), "value")] = f
        return gathered(side_by_side(self.functions[0].space.out, map(functions_of, given)), self.kind)

    set_at = set_union_pw_aff

    def range_splice(self, pos: int, other: Any) -> Any:  # noqa: ANN401
        """The values of another function of the same inputs put in at a position."""
        theirs = functions_of(other)
        pairs = [(f, g) for f in self.functions for g in theirs if f.inp.key == g.inp.key]
        return gathered([several(f).range_splice(pos, g) for f, g in pairs], self.kind)

    def bind_id(self, name: str) -> Any:  # noqa: ANN401
        """The points at which the value is that of a parameter."""
        return united(reduce(lambda a, b: a | b, [f[0].bind_id(name) for f in self.functions]))

    def get_domain_space(self) -> Space:
        """The space of the points, which are of several tuples."""
        return Space(None, PARAMS, self.param_names)

    def floor(self) -> Any:  # noqa: ANN401
        """The greatest integers that are not above the values."""
        return self._each(lambda f: f.floor())

    def neg(self) -> Any:  # noqa: ANN401
        """The values with the other sign."""
        return self._each(lambda f: -f)

    def scale_val(self, number: Any) -> Any:  # noqa: ANN401
        """The values times a number."""
        return self._each(lambda f: f.scale_val(number))

    def scale_down_val(self, number: Any) -> Any:  # noqa: ANN401
        """The values by a number."""
        return self._each(lambda f: f.scale_down_val(number))

    def mod_val(self, number: Any) -> Any:  # noqa: ANN401
        """The remainders of the values by a number."""
        return self._each(lambda f: MultiFunction.of(f.space, [g % number for g in f]) if len(f) else f)

    def scale_multi_val(self, numbers: Any) -> Any:  # noqa: ANN401
        """The values times a number each."""
        return self._each(lambda f: f.scale_multi_val(numbers))

    def scale_down_multi_val(self, numbers: Any) -> Any:  # noqa: ANN401
        """The values by a number each."""
        return self._each(lambda f: f.scale_down_multi_val(numbers))

    def mod_multi_val(self, numbers: Any) -> Any:  # noqa: ANN401
        """The remainders of the values by a number each."""
        return self._each(lambda f: f.mod_multi_val(numbers))

    def _paired(self, other: Any, both: Callable[[Any, Any], Any]) -> Any:  # noqa: ANN401
        theirs = functions_of(other)
        pairs = [(f, g) for f in self.functions for g in theirs if f.space.key == g.space.key]
        return gathered([both(f, g) for f, g in pairs], self.kind)

    def add(self, other: Any) -> Any:  # noqa: ANN401
        """The sum where both have values, in one space."""
        need_values_in(self, values_of(other), other, "a sum")
        return self._paired(other, lambda f, g: f + g)

    def sub(self, other: Any) -> Any:  # noqa: ANN401
        """The difference where both have values, in one space."""
        need_values_in(self, values_of(other), other, "a difference")
        return self._paired(other, lambda f, g: f - g)

    def union_add(self, other: Any) -> Any:  # noqa: ANN401
        """The sum where both have values, and where one has some, these."""
        need_values_in(self, values_of(other), other, "a sum")
        theirs = {g.space.key: g for g in functions_of(other)}
        mine = {f.space.key: f for f in self.functions}
        return gathered(
            [union_sum([d[key] for d in (mine, theirs) if key in d]) for key in {**mine, **theirs}], self.kind
        )

    add_pw_aff = add_pw_multi_aff = with_other_points

    def _product(self, other: Any, name: str) -> Any:  # noqa: ANN401
        theirs = functions_of(other)
        pairs = [(f, g) for f in self.functions for g in theirs if f.inp.key == g.inp.key]
        return gathered([product(f, g, name) for f, g in pairs], self.kind)

    def range_product(self, other: Any) -> Any:  # noqa: ANN401
        """The values of both in one tuple that wraps theirs, where both have some."""
        return self._product(other, "range_product")

    def flat_range_product(self, other: Any) -> Any:  # noqa: ANN401
        """The values of both in one tuple, where both have some."""
        return self._product(other, "flat_range_product")

    def set_dim_name(self, kind: Any, pos: int, name: str) -> Any:  # noqa: ANN401
        """The same values, one of them, or a parameter, under another name.

        Raises
        ------
        SpaceMismatch : the kind is another one.
        """
        if kind is kinds.dim_type.in_:
            raise SpaceMismatch("a function of several tuples has no inputs that have names", where=str(self))
        param = kind is kinds.dim_type.param
        return self._each(lambda f: several(f).set_dim_name(kind if param else kinds.dim_type.out, pos, name))

    set_dim_id = set_dim_name

    def set_tuple_id(self, kind: Any, name: str | None) -> Any:  # noqa: ANN401
        """The same values in tuples of another name."""
        return self._each(lambda f: f.set_tuple_id(kinds.dim_type.out, name))

    set_tuple_name = set_tuple_id

    def reset_tuple_id(self, kind: Any) -> Any:  # noqa: ANN401
        """The same values in tuples without a name."""
        return self._each(lambda f: f.reset_tuple_id(kinds.dim_type.out))

    # ---- other points

    def _where(self, points: Set, change: Callable[[Any, Set], Any], others: bool) -> Any:  # noqa: ANN401
        """The functions changed with the points of their tuples, of which `others` have none."""
        need_set(points, "a restriction of the domain")
        found = []
        for f in self.functions:
            own = [part for part in points.parts if part[0].out.key == f.inp.key]
            if own:
                found.append(change(f, Set._of(points.param_names, own)))
            elif others:
                found.append(f)
        return gathered(found, self.kind)

    def intersect_domain(self, points: Set) -> Any:  # noqa: ANN401
        """The function at the points of a set alone, or for parameters of a set."""
        if is_params(need_set(points, "a restriction of the domain")):
            return self.intersect_params(points)
        return self._where(points, lambda f, own: f.intersect_domain(own), False)

    def subtract_domain(self, points: Set) -> Any:  # noqa: ANN401
        """The function outside of a set."""
        return self._where(points, lambda f, own: f.subtract_domain(own), True)

    intersect_domain_union_set, subtract_domain_union_set = intersect_domain, subtract_domain

    def gist(self, points: Set) -> Any:  # noqa: ANN401
        """A simpler function that agrees with this one at the points of a set, or for parameters of one.

        Of tuples of which the set has no points it has none.
        """
        if is_params(need_set(points, "a gist")):
            return self.gist_params(points)
        return self._where(points, lambda f, own: f.gist(own), False)

    def intersect_params(self, context: Set) -> Any:  # noqa: ANN401
        """The function for parameters of a set alone."""
        return self._each(lambda f: f.intersect_params(context))

    def align_params(self, params: Any) -> Any:  # noqa: ANN401
        """The same function with a longer list of parameters."""
        return self._each(lambda f: f.align_params(params))

    def coalesce(self) -> Any:  # noqa: ANN401
        """The same function in fewer pieces."""
        return self._each(lambda f: f.coalesce())

    def pullback_union_pw_multi_aff(self, inputs: Any) -> Any:  # noqa: ANN401
        """The function of what another function gives, where these are points."""
        theirs = functions_of(graph_of(inputs))
        found = [f.pullback(g) for f in self.functions for g in theirs if g.space.out.key == f.inp.key]
        return gathered(found, self.kind)

    def apply(self, f: Any) -> Any:  # noqa: ANN401
        """The values that a function has at the values of this one."""
        need_values_in(self, inputs_of(f), f, "a function of the values")
        pairs = [(own, g) for own in self.functions for g in functions_of(f) if own.space.out.key == g.inp.key]
        return gathered([after(own, g) for own, g in pairs], self.kind)

    apply_aff = apply_pw_aff = apply_multi_aff = apply_pw_multi_aff = apply
