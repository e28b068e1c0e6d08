"""isl's names for what functions of several tuples are made of: the function of each space, each value, one everywhere.

See `unions`; these names are no attributes of `Map`, either.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from ...errors import SpaceMismatch
from ...functions.members import MultiFunction
from ...values.space import POINT, Space, position
from ...values.unions import united
from ..made import number_on_domain, numbers_on_domain, param_on_domain
from ..objects.lists import gives_list
from ..objects.spaces import every
from ..objects.values import Val, integer
from ..objects.vectors import MultiVal
from ..relations import all_of, each, has_one_space, in_space, itself, member, number, same, spaces
from .unions import applied, from_list, graph_of, inputs_of, need_values_in, union

if TYPE_CHECKING:
    from ...values.map import Map
    from ...values.set import Set


def functions(self: Map) -> list[Any]:
    """The functions of one space each."""
    return [m.as_pw_multi_aff() for m in spaces(self)]  # type: ignore[attr-defined]


def values(self: Map) -> list[Any]:
    """The functions of one value each, of one space each."""
    return [f[0] for f in functions(self)]


def extracted(one: bool) -> Callable[[Map, Space], Any]:
    """A method that gives the function in one space, of nothing one without values."""

    def method(self: Map, space: Space) -> Any:  # noqa: ANN401
        found = in_space(self, space) if space.inp is not None else _on(self, space)
        f = found.as_pw_multi_aff()  # type: ignore[attr-defined]
        return f[0] if one else f

    method.__doc__ = "The function in one space: a map's, or that of its inputs."
    return method


def _on(self: Map, space: Space) -> Map:
    """The pairs of which the inputs are in a space.

    Raises
    ------
    SpaceMismatch : the function has no such inputs.
    """
    wanted = every(space).space.out.key
    found = [part for part in self.parts if part[0].source.key == wanted]
    if not found:
        raise SpaceMismatch("the function has no such inputs", where=f"{self}\n{space}")
    return self._of(self.param_names, found)


def on_values(change: Callable[..., Any]) -> Callable[..., Map]:
    """A method that changes the values of the function of each space."""

    def method(self: Map, *args: Any) -> Map:
        given = args[0] if args else None
        wanted = getattr(getattr(given, "space", None), "out", None)
        need_values_in(self, {wanted.key} if wanted is not None else set(), given, "a number for each value")
        changed = [change(f, *args) for f in functions(self)]
        if self._is_union and any(isinstance(f, MultiFunction) for f in changed):
            from .union_fractions import gathered

            return gathered(changed, kind_of_functions(self))
        return union(self, [getattr(f, "joint", lambda f=f: f)().as_map() for f in changed])

    method.__doc__ = "The function whose values are changed; of a union, fractions may come out."
    return method


def kind_of_functions(self: Map) -> Any:  # noqa: ANN401
    """The class of functions of several tuples that a union of relations is of."""
    from .multi_union import MultiUnionPwAff

    return type(self) if issubclass(type(self), MultiUnionPwAff) else MultiUnionPwAff


def scaled(self: Map, numbers: Any) -> Map:  # noqa: ANN401
    """The function whose values are multiplied by some numbers, of a `MultiVal` those in its tuple alone.

    Raises
    ------
    SpaceMismatch : there are others alone.
    """
    wanted = getattr(getattr(numbers, "space", None), "out", None)
    there = [part for part in self.parts if wanted is None or part[0].out.key == wanted.key]
    if self.parts and not there:
        raise SpaceMismatch("no values are in the tuple of the numbers", where=f"{self}\n{numbers}")
    return on_values(lambda f, n: f.scale_multi_val(n))(self._of(self.param_names, there), numbers)


def greatest(name: str) -> Callable[[Map], Any]:
    """A method for the greatest or least of all values of one dimension, infinite where nothing bounds them."""

    def method(self: Map) -> Any:  # noqa: ANN401
        return getattr(self.range().project_onto(0), f"dim_{name}")(0) if self.parts else Val("NaN")

    method.__doc__ = f"The {name} of all values, of one dimension; NaN of none."
    return method


def bound_to(self: Map, name: str) -> Set:
    """The points of each space at which the value is that of a parameter."""
    found = [f.bind_id(name) for f in values(self)]
    return reduce(lambda a, b: a | b, found, self.domain()._of((), []))


def with_value(self: Map, pos: int, f: Any) -> Map:  # noqa: ANN401
    """With another function in the place of a value."""
    given = members(self)
    position(pos, self.parts[0][0].out.dims if given else (), str(self), "value")
    given[pos] = f
    return from_list(Space(None, self.parts[0][0].out), given)


def members(self: Map) -> list[Any]:
    """The functions of one value each, of several spaces."""
    return [member(self, k) for k in range(len(self.parts[0][0].out.dims))] if self.parts else []


def without_name(self: Map) -> Map:
    """The same values in tuples without a name."""
    return union(self, [m.rename_range(None) for m in spaces(self)])


def spliced(self: Map, at: int, other: Map) -> Map:
    """The values of another function of the same inputs put in at a position."""
    n = len(members(self))
    if not 0 <= at <= n:
        raise SpaceMismatch(f"{at} is no position of {n} values", where=str(self))
    both = self.flat_range_product(other)
    found = members(both)
    order = [*found[:at], *found[n:], *found[at:n]]
    return reduce(lambda f, g: f.flat_range_product(g), order) if order else both


def with_other_points(self: Any, f: Any) -> Any:  # noqa: ANN401
    """The function with that of some other points; `union_add` adds the values of both where both have some.

    Raises
    ------
    SpaceMismatch : both have a value at one point.
    """
    if not self.domain().is_disjoint(united(f.domain())):
        raise SpaceMismatch("both have a value at one point", where=f"{self}\n{f}", hint="f.union_add(g) adds them")
    return self.union_add(f)


# ---- one function on all points of several spaces


def on_domain(value: Callable[[Set, Any], Any]) -> Callable[[Set, Any], Map]:
    """A function that makes the function of the points of a set, of several spaces, with one value.

    Raises
    ------
    NotAffine : the value is a number that is no integer, or has such; functions of several tuples have integers alone.
    """

    def made(domain: Set, given: Any) -> Map:
        from ...values.map import Map

        for given_number in given if isinstance(given, MultiVal) else () if isinstance(given, str) else (given,):
            integer(given_number)
        return union(Map._of(domain.param_names, []), [value(s, given).as_map() for s in spaces(domain)])

    made.__doc__ = "The function of the points of a set whose value is given: a number, a parameter, or numbers."
    return made


def constant_on_domain(domain: Set, f: Any) -> Map:  # noqa: ANN401
    """The function of the points of a set whose values are those of a function without inputs.

    Raises
    ------
    SpaceMismatch : the function has inputs, of which nobody says which are meant.
    """
    from ...values.map import Map

    if any(key != POINT.key for key in inputs_of(f)):
        raise SpaceMismatch("a function of parameters alone is needed", where=str(f),
                            hint='PwAff("[n] -> { [n] }")')  # fmt: skip
    return Map.from_domain_and_range(domain, graph_of(f).range())


def from_union_set(points: Set) -> Map:
    """The function without inputs whose value is the one point of a set for each choice of the parameters."""
    from ...values.map import Map

    return Map.from_range(points)  # type: ignore[attr-defined]


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Map", "get_pw_multi_aff_list", gives_list(functions)),
    ("Map", "foreach_pw_multi_aff", each(functions)),
    ("Map", "every_pw_multi_aff", all_of(functions)),
    ("Map", "n_pw_multi_aff", number(functions)),
    ("Map", "extract_pw_multi_aff extract_multi_pw_aff", extracted(False)),
    ("Map", "isa_pw_multi_aff", has_one_space),
    ("Map", "get_pw_aff_list", gives_list(values)),
    ("Map", "foreach_pw_aff", each(values)),
    ("Map", "every_pw_aff", all_of(values)),
    ("Map", "n_pw_aff", number(values)),
    ("Map", "extract_pw_aff", extracted(True)),
    ("Map", "add_pw_multi_aff add_pw_aff", with_other_points),
    ("Map", "apply_union_pw_multi_aff apply_aff", applied),
    ("Map", "floor", itself),
    ("Map", "scale_val", on_values(lambda f, n: f.scale_val(n))),
    ("Map", "scale_down_val", on_values(lambda f, n: f.scale_down_val(n))),
    ("Map", "mod_val", on_values(lambda f, n: f % integer(n))),
    ("Map", "scale_multi_val", scaled),
    ("Map", "scale_down_multi_val", on_values(lambda f, n: f.scale_down_multi_val(n))),
    ("Map", "mod_multi_val", on_values(lambda f, n: f.mod_multi_val(n))),
    ("Map", "max_val", greatest("max_val")),
    ("Map", "min_val", greatest("min_val")),
    ("Map", "bind_id", bound_to),
    ("Map", "set_at set_union_pw_aff", with_value),
    ("Map", "range_splice", spliced),
    ("Map", "reset_range_tuple_id", without_name),
    ("Map", "get_list", gives_list(members)),
    ("Map", "subtract_domain_union_set", same("subtract_domain")),
    ("Map", "val_on_domain", on_domain(number_on_domain)),
    ("Map", "param_on_domain_id", on_domain(param_on_domain)),
    ("Map", "multi_val_on_domain", on_domain(numbers_on_domain)),
    ("Map", "aff_on_domain pw_aff_on_domain multi_aff_on_domain pw_multi_aff_on_domain", constant_on_domain),
    ("Map", "from_union_set", from_union_set),
)
"""Classes, isl's names, and the method."""
