"""isl's union sets and union relations, `polyvolta.isl.UnionSet` and `UnionMap`: any tuple may lack a counterpart.

Two sets of one tuple each that differ are an error, for a name is misspelt as a rule; two unions are disjoint. They
have the methods of `Set` and `Map`, whose checks ask `single`, and what these give is a union, but what `ONE` lists.

>>> from polyvolta.isl import Set, UnionMap, UnionSet
>>> UnionSet("{ A[i] }").subtract(UnionSet("{ B[i] }"))
UnionSet('{ A[i] }')
>>> UnionSet("{ A[3] }").apply(UnionMap("{ B[i] -> A[i] }")).is_empty()
True
>>> UnionSet("{ A[i] }") == Set("{ A[i] }"), UnionMap("{ A[i] -> B[i] }").domain()
(True, UnionSet('{ A[i] }'))
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from inspect import isfunction, ismethod
from typing import Any, TypeVar

from ..errors import EmptySet, NoSpace, SpaceMismatch
from ..operations.algebra import in_spaces_with_points
from .map import Map
from .named import Named
from .relation import Relation
from .set import Set
from .space import PARAMS, Space

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type[Relation])

ONE = frozenset(
    "params as_set as_map extract_set extract_map sample get_set_list get_map_list foreach_set foreach_map every_set"
    " every_map get_basic_sets get_basic_maps get_basic_set_list get_basic_map_list foreach_basic_set"
    " foreach_basic_map".split()
)
"""Methods of unions that give, or call functions with, what is in one space: sets and relations, no unions."""


def united(value: Any) -> Any:  # noqa: ANN401
    """A set or a relation as a union; any other value as it is."""
    if not isinstance(value, Relation) or value._is_union:
        return value
    kind: Any = UnionMap if value._is_map else UnionSet
    return kind(value)


def gives_union(f: F) -> F:
    """The function, whose sets and relations are unions."""

    @wraps(f)
    def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        return united(f(*args, **named))

    return call  # type: ignore[return-value]


def _of_one(name: str) -> Callable[..., Any]:
    """The method of sets or relations, for unions."""

    def call(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        return getattr((Map if self._is_map else Set)(self), name)(*args, **named)

    call.__name__ = name
    return call


def _method(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    return _of_one(name) if name in ONE else gives_union(f)


def _of_unions(cls: C) -> C:
    """The class, with the public methods and operators that it inherits as methods of unions."""
    for name in dir(cls):
        if not name.startswith("_") or name in _OPERATORS:
            f = getattr(cls, name)
            if isfunction(f):
                setattr(cls, name, _method(name, f))
            elif ismethod(f):  # of the class
                setattr(cls, name, classmethod(gives_union(f.__func__)))
    return cls


_OPERATORS = frozenset(f"__{name}__" for name in "or and sub xor invert call".split())


class Unions(Named):
    """The class of the two: what isl's names give that are looked up on a class is a union."""

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        return _method(name, super().__getattr__(name))  # type: ignore[misc]


class _Universe:
    """All points of a space, of the class; of a union, all points of the tuples of its points, as isl's method gives.

    A tuple that has no point is in no union of isl's, so `u.subtract(v).universe()` lacks those that v takes away.
    """

    def __get__(self, value: Relation | None, cls: type[Relation]) -> Callable[..., Any]:
        of_space = gives_union(super(_Union, cls).universe)  # type: ignore[arg-type]
        if value is None:
            return partial(of_space)
        return lambda: of_space(in_spaces_with_points(value)).align_params(value.param_names)


class _Union(Relation):
    """What both share."""

    __slots__ = ()
    _is_union = _of_isl = True
    _one_tuple = False  # whether it is isl's function whose values lie in one tuple
    universe = _Universe()  # type: ignore[assignment]

    @classmethod
    def empty(cls, space: Any) -> Any:  # noqa: ANN401
        """A union of nothing, which knows the parameters of a space, and its tuples where it has those of the class.

        >>> from polyvolta.isl import UnionMap, UnionSet
        >>> UnionMap.empty(UnionSet("[N] -> { A[i]; B[i] }").get_space())
        UnionMap('[N] -> { }')
        """
        if isinstance(space, Space) and (space.out.of_params or (space.inp is not None) != cls._is_map):
            return united(cls._of((), ()).align_params(space.param_names or ()))
        return super().empty(space)

    empty_space = empty

    def get_space(self) -> Space:
        """isl's space of unions, which is that of the parameters alone, of however many tuples they are."""
        return Space(None, PARAMS, self.param_names)

    @property
    def space(self) -> Space:
        """The one space of a union of one tuple.

        Raises
        ------
        NoSpace : it has several tuples, or none.
        """
        try:
            return Relation.space.fget(self)  # type: ignore[attr-defined, no-any-return]
        except SpaceMismatch as wrong:
            raise NoSpace(wrong.message, where=wrong.where, hint=wrong.hint) from None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "space":  # Python asks here after the error of the property, which says why there is none
            return type(self).space.fget(self)  # type: ignore[attr-defined]
        if name in ONE:
            return _of_one(name).__get__(self)
        found = super().__getattr__(name)  # type: ignore[misc]
        return gives_union(found) if callable(found) else found


@_of_unions
class UnionSet(_Union, Set, metaclass=Unions):
    """A set of points of any tuples, isl's union set; see `Set`."""

    __slots__ = ()

    def sample_point(self, /, **params: int) -> Any:  # noqa: ANN401
        """A point of the first tuple that has one; see `Set.sample_point`."""
        for part in self.parts:
            with suppress(EmptySet):
                return Set._of(self.param_names, [part]).sample_point(**params)
        raise EmptySet("the set has no point", where=str(self), hint="ask is_empty() first")


@_of_unions
class UnionMap(_Union, Map, metaclass=Unions):
    """A relation between points of any tuples, isl's union map, and its functions of several tuples; see `Map`."""

    __slots__ = ()
