"""isl's methods of spaces: what a space has, and other spaces made of it.

A space is that of all its points. Most methods are those of the set or map of all points, `Set.universe(space)`, and
give the space of what comes out. A space that is asked for its parameters must know them: `s.get_space()` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import SpaceMismatch, UnknownName, kind_of
from ...text.tokens import is_word
from ...values import kinds
from ...values.shape import spaced
from ...values.space import PARAMS, POINT, Space, Tuple, whole
from .values import Id, plain

if TYPE_CHECKING:
    from ...values.map import Map
    from ...values.relation import Relation
    from ...values.set import Set


def of_names(
    dims: Sequence[str] | None, in_: Sequence[str] | None, out: Sequence[str] | None, params: Sequence[str]
) -> Space:
    """See `Space.create_from_names`."""
    if (dims is None) == (in_ is None and out is None):
        raise SpaceMismatch("a space is of names of a set, or of those of a map's inputs and outputs",
                            hint='set=["i", "j"], or in_=["i"] and out=["j"]')  # fmt: skip
    sides = [tuple(names or ()) for names in ((dims,) if dims is not None else (in_, out))]
    outer = tuple(params)
    names = [n for side in (*sides, outer) for n in side]
    wrong = [n for n in names if not isinstance(n, str)]
    if wrong or len({*names}) < len(names):
        what = f"{wrong[0]!r} is no name" if wrong else "a name stands twice"
        raise UnknownName(what, where=", ".join(map(str, names)))
    for name in filter(is_word, names):
        raise UnknownName(f"{name!r} is no name", where=", ".join(names), hint="it is a word of the notation")
    return Space(Tuple(None, sides[0]) if dims is None else None, Tuple(None, sides[-1]), outer)


def counted(*numbers: int) -> Space:
    """The space of so many parameters, inputs and outputs, or so many parameters and dimensions of a set."""
    if any(whole(n) is None or n < 0 for n in numbers):
        raise UnknownName(f"numbers of dimensions are wanted, not {', '.join(map(repr, numbers))}")
    letters = ("p", "i") if len(numbers) == 2 else ("p", "i", "o")
    outer, *sides = (tuple(f"{letter}{k}" for k in range(n)) for letter, n in zip(letters, numbers))
    return Space(Tuple(None, sides[0]) if len(sides) == 2 else None, Tuple(None, sides[-1]), outer)


class LocalSpace(Space):
    """isl's space with existentials, of which a space here knows none: `from_space` gives the space itself.

    >>> from polyvolta.sets import Set
    >>> print(LocalSpace.from_space(Set("{ S[i, j] }").space))
    S[i, j]
    """

    __slots__ = ()

    @staticmethod
    def from_space(space: Space) -> Space:
        """The space itself.

        Raises
        ------
        SpaceMismatch : it is none.
        """
        every(space)
        return space


# ---- of a value, and the value of a space


def get_space(self: Any) -> Space:  # noqa: ANN401
    """Its one space, which knows the parameters."""
    return Space(self.space.inp, self.space.out, self.param_names)


def has_equal_space(self: Relation, other: Relation) -> bool:
    """Whether both have one space, with the same parameters in the same order."""
    return is_equal(get_space(self), get_space(other))


def get_domain_space(self: Any) -> Space:  # noqa: ANN401
    """The space of what a function is of, or of a set itself."""
    return Space(None, self.space.inp or PARAMS, self.param_names)


def every(space: Space) -> Set | Map:
    """All points of a space."""
    from ...values.map import Map
    from ...values.set import Set

    if not isinstance(space, Space):
        raise SpaceMismatch(f"a Space is needed, not {kind_of(space)}", where=str(space), hint="s.get_space()")
    return (Set if space.inp is None else Map).universe(space)


def of_all(space: Space, name: str) -> Callable[..., Any]:
    """A method of all points of a space.

    Raises
    ------
    SpaceMismatch : it is one of sets, and the space a map's, or the other way round.
    """
    found = getattr(every(space), name, None)
    if found is None:
        kind = "set" if space.inp is None else "map"
        raise SpaceMismatch(f"{name} is of no {kind}'s space", where=str(space))
    return found


def known(space: Space, *others: Space) -> tuple[str, ...] | None:
    """The parameters of some spaces together; None where one doesn't know its own."""
    if any(s.param_names is None for s in (space, *others)):
        return None
    return tuple(dict.fromkeys([p for s in (space, *others) for p in s.param_names or ()]))


def through(name: str) -> Callable[..., Space]:
    """A method of spaces that is one of sets or maps, by isl's name or ours."""

    def method(self: Space, *args: Any) -> Space:  # noqa: ANN401
        if kinds.is_kind(next(iter(args), None)):
            kinds.of_kind(self, args[0])  # the parameters must be known where they are meant
        others = [a for a in args if isinstance(a, Space)]
        found = of_all(self, name)(*(every(a) if isinstance(a, Space) else a for a in args))
        there = known(self, *others) is not None
        return Space(found.space.inp, found.space.out, found.param_names if there else None)

    method.__doc__ = f"The space of what `{name}` makes of all points."
    return method


def with_inputs(name: str) -> Callable[..., Space]:
    """`through`, of a method that adds dimensions: of inputs, a set's space becomes a map's, as in isl."""
    added = through(name)

    def method(self: Space, kind: Any, *args: Any) -> Space:  # noqa: ANN401
        mapped = getattr(kind, "name", "") == "in_" and self.inp is None
        return added(between(PARAMS, self.out, self.param_names) if mapped else self, kind, *args)

    method.__doc__ = added.__doc__
    return method


# ---- questions


def is_set(self: Space) -> bool:
    """Whether it is a set's, of parameters alone included."""
    return self.inp is None


def is_map(self: Space) -> bool:
    """Whether it is a map's."""
    return self.inp is not None


def is_params(self: Space) -> bool:
    """Whether it is of parameters alone."""
    return self.inp is None and self.out.of_params


def has_equal_tuples(self: Space, other: Space) -> bool:
    """Whether both have the same tuples, whatever their dimensions are called."""
    return self.key == other.key


def has_equal_params(self: Space, other: Space) -> bool:
    """Whether both have the same parameters in the same order."""
    return kinds.of_kind(self, kinds.dim_type.param) == kinds.of_kind(other, kinds.dim_type.param)


def is_equal(self: Space, other: Space) -> bool:
    """Whether both have the same tuples and parameters."""
    return has_equal_tuples(self, other) and has_equal_params(self, other)


def side(self: Space, kind: Any) -> Tuple:  # noqa: ANN401
    """The tuple of a kind, dim_type.in_ or dim_type.out."""
    name = getattr(kind, "name", None)
    if name not in ("in_", "out", "set") or (name == "in_" and self.inp is None):
        raise UnknownName(f"{kind!r} is no tuple of the space", where=str(self), hint="dim_type.in_, dim_type.out")
    return self.source if name == "in_" else self.out


def tuple_is_equal(self: Space, kind: Any, other: Space, other_kind: Any) -> bool:  # noqa: ANN401
    """Whether two tuples are the same, whatever their dimensions are called."""
    return side(self, kind).key == side(other, other_kind).key


def get_tuple_name(self: Space, kind: Any) -> str | None:  # noqa: ANN401
    """The name of a tuple, None where it has none, as that of the parameters."""
    return None if getattr(kind, "name", None) == "param" else side(self, kind).name


def set_tuple_name(self: Space, kind: Any, name: str | None) -> Space:  # noqa: ANN401
    """With another name of a tuple."""
    tup = side(self, kind)
    renamed = Tuple(plain(name), tup.dims, tup.inner)
    inp, out = (renamed, self.out) if kind.name == "in_" else (self.inp, renamed)
    return Space(inp, out, self.param_names)


# ---- other spaces


def with_dim_name(self: Any, kind: Any, pos: int, name: str) -> Any:  # noqa: ANN401
    """With another name of a dimension."""
    return self.set_dim_name(kind, pos, name)


def at_side(name: str, kind: kinds.dim_type) -> Callable[..., Any]:
    """A method of tuples by kind, for the tuple of one kind."""

    def method(self: Any, *args: Any) -> Any:  # noqa: ANN401
        return getattr(self, name)(kind, *args)

    method.__doc__ = f"`{name}` of {kind.name.rstrip('_')}puts."
    return method


def params(self: Space) -> Space:
    """The space of its parameters alone."""
    return Space(None, PARAMS, self.param_names)


def domain(self: Space) -> Space:
    """The space of a map's inputs."""
    return Space(None, side(self, kinds.dim_type.in_), self.param_names)


def range_(self: Space) -> Space:
    """The space of a map's outputs; that of a set is itself, as in isl."""
    return Space(None, self.out, self.param_names)


def between(inp: Tuple | None, out: Tuple, params: tuple[str, ...] | None) -> Space:
    """The space of these tuples and parameters, whose names are made distinct."""
    found = spaced(inp, out, params or ())
    return Space(found.inp, found.out, params)


def set_tuple(self: Space) -> Tuple:
    """The one tuple of a set's space.

    Raises
    ------
    SpaceMismatch : it is a map's.
    """
    if self.inp is not None:
        raise SpaceMismatch("a set's space is needed, not a map's", where=str(self), hint="s.domain(), s.range()")
    return self.out


def map_from_set(self: Space) -> Space:
    """The space of the maps from a set's space to itself."""
    return between(set_tuple(self), self.out, self.param_names)


def map_from_domain_and_range(self: Space, other: Space) -> Space:
    """The space of the maps from one set's space to another's."""
    return between(set_tuple(self), set_tuple(other), known(self, other))


def from_domain(self: Space) -> Space:
    """The space of the maps from a set's space to a tuple of nothing."""
    return between(set_tuple(self), POINT, self.param_names)


def from_range(self: Space) -> Space:
    """The space of the maps from a tuple of nothing to a set's space."""
    return between(POINT, set_tuple(self), self.param_names)


def range_product(self: Space, other: Space) -> Space:
    """The space of the maps to the outputs of two as a pair, or of the pairs of two sets."""
    return through("product" if self.inp is None else "range_product")(self, other)


def with_params(self: Space, other: Any) -> Space:  # noqa: ANN401
    """With the parameters of another space in front of its own."""
    found = every(self).align_params(other)
    return Space(found.space.inp, found.space.out, found.param_names)


def add_param_id(self: Space, name: str) -> Space:
    """With one more parameter, the last."""
    return with_params(self, [*kinds.of_kind(self, kinds.dim_type.param), plain(name)])


def text(self: Space) -> str:
    """isl's text of it, with the parameters if it knows some; of these alone it says that they are no tuple's."""
    shown = ":" if self.inp is None and self.out.of_params else str(self)
    params = f"[{', '.join(self.param_names)}] -> " if self.param_names else ""
    return f"{params}{{ {shown} }}"


# ---- names as isl's identifiers, of spaces and of what has one


def get_dim_id(self: Any, kind: Any, pos: int) -> Id:  # noqa: ANN401
    """The name of a dimension."""
    return Id(kinds.spread(self, kind, pos)[0])


def get_var_ids(self: Any, kind: Any) -> list[Id]:  # noqa: ANN401
    """The names of the dimensions of a kind."""
    return [Id(n) for n in kinds.of_kind(self, kind)]


def get_id_dict(self: Any, kind: Any = None) -> dict[Id, Any]:  # noqa: ANN401
    """For each name the kind of the dimension and its position; of one kind if it is given."""
    from ..dimensions.by_kind import get_var_dict

    return {Id(name): at for name, at in get_var_dict(self, kind).items()}


def find_dim_by_id(self: Any, kind: Any, name: str) -> int:  # noqa: ANN401
    """The position of a dimension of a kind, -1 where none has the name."""
    from ..dimensions.by_kind import find_dim_by_name

    return find_dim_by_name(self, kind, str(name))


def has_dim(self: Any, kind: Any, pos: int) -> bool:  # noqa: ANN401
    """Whether a dimension has a name: each has, and none where there is no dimension."""
    return 0 <= pos < len(kinds.of_kind(self, kind))


def get_tuple_id(self: Any, kind: Any = kinds.dim_type.out) -> Id:  # noqa: ANN401
    """The name of a tuple.

    Raises
    ------
    UnknownName : it has none.
    """
    name = side(one_space(self, kind), kind).name
    if name is None:
        raise UnknownName("the tuple has no name", where=str(self), hint="get_tuple_name gives None then")
    return Id(name)


def has_tuple(self: Any, kind: Any = kinds.dim_type.out) -> bool:  # noqa: ANN401
    """Whether a tuple has a name."""
    return side(one_space(self, kind), kind).name is not None


def one_space(self: Any, kind: Any) -> Space:  # noqa: ANN401
    """Its space, or of a function of several tuples, whose values are in one, any with that tuple."""
    if isinstance(self, Space):
        return self
    parts: Any = self.parts if hasattr(type(self), "parts") else ()
    several = len(parts) > 1 and parts[0][0].inp is not None and getattr(kind, "name", None) in ("out", "set")
    return parts[0][0] if several and len({s.out.key for s, _ in parts}) == 1 else self.space


_ALL = "Set Map PwAff MultiPwAff Space Multi"
METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set RationalSet RationalMap Map PwAff MultiPwAff", "get_space", get_space),
    ("Set Map Constraint", "get_local_space", lambda self: self.get_space()),
    ("PwAff", "get_domain_local_space", get_domain_space),
    ("Set Map", "has_equal_space", has_equal_space),
    ("PwAff MultiPwAff", "set_dim_id", with_dim_name),
    *(
        ("Map Space", f"{verb}_{side}_tuple_id", at_side(f"{verb}_tuple_id", kind))
        for verb in ("get", "has", "set")
        for side, kind in (("domain", kinds.dim_type.in_), ("range", kinds.dim_type.out))
    ),
    *(
        ("MultiPwAff Multi", f"{verb}_range_tuple_id", at_side(f"{verb}_tuple_id", kinds.dim_type.out))
        for verb in ("get", "has", "set", "reset")
    ),
    ("PwAff MultiPwAff Multi", "get_domain_space", get_domain_space),
    (_ALL, "get_dim_id", get_dim_id),
    (f"{_ALL} Point", "get_var_ids", get_var_ids),
    (f"{_ALL} Point", "get_id_dict", get_id_dict),
    ("Set Map MultiPwAff Space Multi", "find_dim_by_id", find_dim_by_id),
    ("Set Map Space", "has_dim_name", has_dim),
    ("Set Map PwAff Space", "has_dim_id", has_dim),
    ("Set Map PwAff MultiPwAff Space Multi", "get_tuple_id", get_tuple_id),
    ("Set Map PwAff MultiPwAff Space Multi", "has_tuple_id", has_tuple),
    ("Set RationalSet RationalMap Map MultiPwAff Space", "has_tuple_name", has_tuple),
    ("Space", "is_set", is_set),
    ("Space", "is_map", is_map),
    ("Space", "is_params", is_params),
    ("Space", "has_equal_tuples", has_equal_tuples),
    ("Space", "has_equal_params", has_equal_params),
    ("Space", "is_equal", is_equal),
    ("Space", "tuple_is_equal", tuple_is_equal),
    ("Space", "get_tuple_name", get_tuple_name),
    ("Space", "set_tuple_name set_tuple_id", set_tuple_name),
    ("Space", "reset_tuple_id", lambda self, kind: set_tuple_name(self, kind, None)),
    ("Space", "params", params),
    ("Space", "domain", domain),
    ("Space", "range", range_),
    ("Space", "map_from_set", map_from_set),
    ("Space", "map_from_domain_and_range", map_from_domain_and_range),
    ("Space", "from_domain", from_domain),
    ("Space", "from_range", from_range),
    ("Space", "align_params", with_params),
    ("Space", "is_wrapping", lambda self: self.inp is None and self.out.inner is not None),
    ("Space", "copy", lambda self: self),
    ("Space", "universe_set universe_map", every),
    ("Space", "drop_all_params", lambda self: Space(self.inp, self.out, ())),
    ("Space", "add_param_id", add_param_id),
    ("Space", "match", lambda self, kind, other, its: kinds.of_kind(self, kind) == kinds.of_kind(other, its)),
    ("Space", "to_str", text),
    *(
        ("Space", name, through(name))
        for name in (
            "move_dims",
            "set_dim_name",
            "reverse",
            "wrap",
            "unwrap",
            "curry",
            "uncurry",
            "zip",
            "range_curry",
            "product",
            "domain_product",
            "range_reverse",
        )
    ),
    *(("Space", name, with_inputs(name)) for name in ("add_dims", "insert_dims")),
    ("Space", "drop_dims", through("remove_dims")),
    ("Space", "range_product", range_product),
    ("Space", "set_dim_id", through("set_dim_name")),
)
"""Classes, isl's names, and the method."""
