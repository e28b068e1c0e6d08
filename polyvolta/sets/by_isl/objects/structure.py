"""isl's methods of spaces that ask for the tuples inside a tuple, or take them; see `spaces`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import SpaceMismatch, UnknownName
from ...values import kinds
from ...values.shape import flat
from ...values.space import POINT, Space, Tuple, whole
from .spaces import between, every, is_equal, known, of_all, side, through
from .values import plain

if TYPE_CHECKING:
    from ...values.map import Map

IN, OUT = kinds.dim_type.in_, kinds.dim_type.out


def of_maps(name: str) -> Callable[[Space], bool]:
    """A question that is one of maps, which a set's space answers with no."""

    def asked(self: Space) -> bool:
        return self.inp is not None and of_all(self, name)()

    asked.__doc__ = f"Whether it is a map's of which `{name}` holds."
    return asked


def is_product(self: Space) -> bool:
    """Whether its tuple is wrapped; of a map both."""
    return all(tup.inner is not None for tup in (self.inp, self.out) if tup is not None)


def is_side(kind: kinds.dim_type) -> Callable[[Space, Space], bool]:
    """A question of a set's space, whether it is that of a tuple of a map's."""

    def asked(self: Space, other: Space) -> bool:
        if self.inp is not None or other.inp is None:
            return False
        return self.out.key == side(other, kind).key and len({s.param_names or () for s in (self, other)}) == 1

    asked.__doc__ = f"Whether it is the set's space of another one's {kind.name.rstrip('_')}puts."
    return asked


def wrapped(kind: kinds.dim_type, at: str) -> Callable[[Space], Space]:
    """A method for one of the two tuples that a tuple wraps, as a set's space."""

    def method(self: Space) -> Space:
        inner = side(self, kind).inner
        if inner is None:
            raise SpaceMismatch("the tuple is not wrapped", where=str(self))
        return Space(None, inner.source if at == "inp" else inner.out, self.param_names)

    method.__doc__ = f"The {'first' if at == 'inp' else 'second'} tuple of its wrapped {kind.name.rstrip('_')}puts."
    return method


def factor(name: str, at: str) -> Callable[[Space], Space]:
    """A method for one of the two tuples that a tuple wraps; of a map's space for each tuple."""
    of_outputs = wrapped(OUT, at)

    def method(self: Space) -> Space:
        return of_outputs(self) if self.inp is None else through(name)(self)

    method.__doc__ = f"The {'first' if at == 'inp' else 'second'} of the tuples that each tuple wraps."
    return method


def flattened(kind: kinds.dim_type) -> Callable[[Space], Space]:
    """A method that makes a wrapped tuple one without a name; others stay."""

    def method(self: Space) -> Space:
        if kind is IN and self.inp is None:
            return self
        tup = side(self, kind)
        return self if tup.inner is None else with_side(self, kind, flat(tup))

    method.__doc__ = f"With {kind.name.rstrip('_')}puts that are not wrapped."
    return method


def with_side(self: Space, kind: kinds.dim_type, tup: Tuple) -> Space:
    """The space with another tuple of a kind."""
    return between(tup, self.out, self.param_names) if kind is IN else between(self.inp, tup, self.param_names)


def join(self: Space, other: Space) -> Space:
    """The space of a map and then another one, whose inputs are the outputs of the first.

    Raises
    ------
    SpaceMismatch : they are not.
    """
    if self.inp is None or other.inp is None or self.out.key != other.inp.key:
        raise SpaceMismatch("the outputs of the one are not the inputs of the other", where=f"{self}\n{other}")
    return between(self.inp, other.out, known(self, other))


def add_tuple(self: Space, name: str | None, n: int) -> Space:
    """The set's space of a tuple of so many dimensions, of a space of parameters; of a set's that of maps to it.

    Raises
    ------
    SpaceMismatch : it is a map's.
    UnknownName : the number is none.
    """
    if self.inp is not None:
        raise SpaceMismatch("a map's space has both of its tuples", where=str(self))
    number = whole(n)
    if number is None or number < 0:
        raise UnknownName(f"a number of dimensions is wanted, not {n!r}", where=str(self))
    if self.out.of_params:
        return between(None, Tuple(plain(name), tuple([f"i{k}" for k in range(number)])), self.param_names)
    return between(self.out, Tuple(plain(name), tuple([f"o{k}" for k in range(number)])), self.param_names)


def set_from_params(self: Space) -> Space:
    """The space of `[]`, of a space of parameters alone.

    Raises
    ------
    SpaceMismatch : it has a tuple.
    """
    if self.inp is not None or not self.out.of_params:
        raise SpaceMismatch("it is no space of parameters alone", where=str(self), hint="s.params()")
    return Space(None, POINT, self.param_names)


# ---- as a local space, without existentials


def intersect(self: Space, other: Space) -> Space:
    """The space itself, which the other one is, too.

    Raises
    ------
    SpaceMismatch : it is not.
    """
    if not is_equal(self, other):
        raise SpaceMismatch("the two spaces differ", where=f"{self}\n{other}")
    return self


def lifting(self: Space) -> Map:
    """The relation of each point of a set's space to itself and its existentials, of which there are none."""
    from ...values.map import Map
    from ...values.set import Set

    if self.inp is not None:
        raise SpaceMismatch("a map's space is not lifted", where=str(self))
    points: Any = every(self)
    return points.identity().range_product(Map.from_domain_and_range(points, Set("{ local[] }")))


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    *(
        ("Space", name, of_maps(name))
        for name in (
            "can_curry",
            "can_range_curry",
            "can_uncurry",
            "can_zip",
            "domain_is_wrapping",
            "range_is_wrapping",
        )
    ),
    *(
        ("Space", name, through(name))
        for name in (
            "domain_factor_domain",
            "domain_factor_range",
            "range_factor_domain",
            "range_factor_range",
            "domain_map",
            "range_map",
            "domain_reverse",
            "wrapped_reverse",
        )
    ),
    *(
        ("Space", f"{name}_wrapped_{word}", wrapped(kind, at))
        for name, kind in (("domain", IN), ("range", OUT))
        for word, at in (("domain", "inp"), ("range", "out"))
    ),
    *(
        ("Space", f"drop_{name}puts", lambda self, first, n, kind=kind: self.drop_dims(kind, first, n))
        for name, kind in (("in", IN), ("out", OUT))
    ),
    *(("Space", name, factor(name, at)) for name, at in (("factor_domain", "inp"), ("factor_range", "out"))),
    ("Space", "flatten_domain", flattened(IN)),
    ("Space", "flatten_range", flattened(OUT)),
    ("Space", "is_product", is_product),
    ("Space", "is_domain", is_side(IN)),
    ("Space", "is_range", is_side(OUT)),
    ("Space", "join", join),
    ("Space", "add_named_tuple_id_ui", add_tuple),
    ("Space", "add_unnamed_tuple_ui", lambda self, n: add_tuple(self, None, n)),
    ("Space", "set_from_params", set_from_params),
    ("Space", "to_local_space get_space", lambda self: self),
    ("Space", "space", property(lambda self: self)),  # type: ignore[arg-type]
    ("Space", "intersect", intersect),
    ("Space", "lifting", lifting),
)
"""Classes, isl's names, and the method."""
