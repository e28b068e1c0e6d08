"""isl's methods of spaces that make what lives in one: functions, numbers and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...errors import SpaceMismatch, UnknownName, nearest
from ...values.shape import spaced
from ...values.space import PARAMS, Space, Tuple
from .spaces import between, every, known, of_all
from .values import plain
from .vectors import MultiId, MultiVal

if TYPE_CHECKING:
    from ...functions.multi_pwaff import MultiPwAff
    from ...functions.pwaff import PwAff


def of_members(space: Space, functions: Iterable[Any]) -> Any:  # noqa: ANN401
    """The function to a tuple, wrapped or not, whose values are those of some functions with one.

    Raises
    ------
    SpaceMismatch : they are not as many as the dimensions, or of other inputs.
    """
    from ...functions.members import MultiFunction
    from ...functions.multi_pwaff import MultiPwAff
    from ...functions.rational import RationalPwAff

    members = list(functions)
    if len(members) != space.n_out:
        raise SpaceMismatch(f"{len(members)} functions are given of {space.n_out} dimensions", where=str(space))
    if not members:
        graph: Any = every(_of_map(space))
        return graph.as_pw_multi_aff()
    inp = _of_map(space).source
    if any(f.space.source.key != inp.key for f in members):
        raise SpaceMismatch("the functions have other inputs", where=f"{space}\n{members[0].space}")
    if any(isinstance(f, RationalPwAff) for f in members):
        found = MultiFunction.of(Space(inp, space.out), members)
    else:
        whole = MultiPwAff.of(*members)
        shown = spaced(whole.space.source, space.out, whole.param_names)
        found = MultiPwAff._of(whole.param_names, shown, whole.cells)
    return found.align_params([*(space.param_names or ()), *found.param_names])


def _of_map(space: Space) -> Space:
    """The space, of a set's that of the functions of parameters alone to it."""
    return space if space.inp is not None else between(PARAMS, space.out, space.param_names)


def constants(domain: Space, out: Tuple, numbers: Iterable[Any]) -> Any:  # noqa: ANN401
    """The function on a set's space that has the same values everywhere, which may be fractions."""
    from ..made import number_on_domain

    points = _points(domain)
    return of_members(between(domain.out, out, domain.param_names), [number_on_domain(points, n) for n in numbers])


def _points(domain: Space) -> Any:  # noqa: ANN401
    """All points of a set's space.

    Raises
    ------
    SpaceMismatch : it is a map's.
    """
    if isinstance(domain, Space) and domain.inp is not None:
        raise SpaceMismatch("a function is on a set's space", where=str(domain), hint="s.domain()")
    return every(domain)


def zero(self: Space) -> PwAff:
    """The function that is 0 on a set's space."""
    from ...functions.pwaff import PwAff

    return PwAff.on(_points(self), 0)


def parameter(self: Space, name: str) -> PwAff:
    """The function on a set's space that is one of the parameters.

    Raises
    ------
    UnknownName : the space has none of that name.
    """
    from ...functions.pwaff import PwAff
    from ...values.aff import var

    there = self.param_names or ()
    if name not in there:
        raise UnknownName(f"no parameter is called {name!r}", where=str(self), hint=nearest(str(name), there))
    return PwAff.on(_points(self), var(plain(name)))


def zeros(self: Space) -> MultiPwAff:
    """The function that is 0 in each dimension: of a map's space on its inputs, of a set's on parameters alone."""
    space = _of_map(self)
    return constants(Space(None, space.source, self.param_names), self.out, [0] * self.n_out)


def with_values(self: Space, numbers: MultiVal) -> MultiPwAff:
    """The function on a set's space whose values are some numbers."""
    if not isinstance(numbers, MultiVal):
        raise SpaceMismatch("a MultiVal is needed", where=str(numbers), hint='MultiVal("{ A[4, 2] }")')
    params = known(self, numbers.space)
    return constants(Space(None, self.out, params) if self.inp is None else self, numbers.space.out, numbers)


def identical(self: Space) -> MultiPwAff:
    """The function of each point of a set's space to itself."""
    return _points(self).identity().as_pw_multi_aff()


def function(name: str) -> Callable[[Space], MultiPwAff]:
    """A method for the function that a map of all points of a space is."""

    def method(self: Space) -> MultiPwAff:
        return of_all(self, name)().as_pw_multi_aff()

    method.__doc__ = f"`{name}` of all pairs, as a function."
    return method


def of_unions(self: Space, functions: Iterable[Any]) -> Any:  # noqa: ANN401
    """The function of several tuples with the values of some functions; see `functions.unions.from_list`."""
    from ..functions.multi_union import as_functions
    from ..functions.unions import from_list

    return as_functions(from_list(self, functions))


def of_numbers(self: Space, numbers: Iterable[int]) -> MultiVal:
    """Some numbers, as many as a space has dimensions."""
    return MultiVal(tuple(numbers), self)


def of_ids(self: Space, names: Iterable[str]) -> MultiId:
    """Some names, as many as a space has dimensions."""
    return MultiId(tuple(names), self)


def zero_multi_union_pw_aff(self: Space) -> Any:  # noqa: ANN401
    """The values of a tuple of nothing, known everywhere; see `MultiUnionPwAff.zero`."""
    from ..functions.multi_union import MultiUnionPwAff

    return MultiUnionPwAff.zero(self)


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Space", "zero_aff_on_domain", zero),
    ("Space", "param_aff_on_domain_id", parameter),
    ("Space", "zero_multi_aff zero_multi_pw_aff", zeros),
    ("Space", "multi_aff_on_domain_multi_val", with_values),
    ("Space", "identity_multi_aff_on_domain identity_multi_pw_aff_on_domain", identical),
    ("Space", "identity_pw_multi_aff_on_domain", identical),
    ("Space", "domain_map_multi_aff domain_map_pw_multi_aff", function("domain_map")),
    ("Space", "range_map_multi_aff range_map_pw_multi_aff", function("range_map")),
    ("Space", "multi_aff multi_pw_aff", of_members),
    ("Space", "multi_union_pw_aff", of_unions),
    ("Space", "multi_val", of_numbers),
    ("Space", "multi_id", of_ids),
    ("Space", "zero_multi_union_pw_aff", zero_multi_union_pw_aff),
    ("Space", "zero_multi_val", lambda self: MultiVal.zero(self)),
)
"""Classes, isl's names, and the method."""
