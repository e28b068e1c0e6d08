"""isl's tuples of a space that are no functions: what `MultiVal` and `MultiId` have in common.

A tuple of Python's that knows its space: one member of each dimension, of a map's space of each output. What changes
the space, a product, a factor, another name, is the method of `Space`, and takes the members along.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self

from ...errors import SetSyntaxError, SpaceMismatch, UnknownName, kind_of
from ...values import kinds
from ...values.named import Named, by_isl
from ...values.space import PARAMS, Space, Tuple, fresh, position, renamed, whole
from .lists import ListOf
from .spaces import between, every, is_equal, known, range_, through
from .spaces import text as space_text

if TYPE_CHECKING:
    from ...values.set import Set


class Multi(tuple, metaclass=Named):
    """Members of a space; see the module, and `vectors` for the two kinds of members."""

    _space: Space
    written: ClassVar[re.Pattern[str]]
    """A member in a text."""
    example: ClassVar[str]

    def __new__(cls, members: Iterable[Any] | str, space: Space | None = None) -> Self:
        """The members of a space, or those that a text says.

        Raises
        ------
        SpaceMismatch : they are not as many as the dimensions.
        """
        if isinstance(members, str) or space is None:
            return cls.read_from_str(members)
        self = super().__new__(cls, [cls.member(m) for m in members])
        if not isinstance(space, Space):
            raise SpaceMismatch(f"a Space is needed, not {kind_of(space)}", where=str(space), hint="s.get_space()")
        if len(self) != space.n_out:
            raise SpaceMismatch(f"{len(self)} members are given of {space.n_out} dimensions", where=str(space))
        self._space = space
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """A copy keeps the space."""
        return type(self), (tuple(self), self.space)

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    def _no_operand(self, other: object) -> Never:
        """Refuse the signs by which tuples are put together: isl's have none."""
        what = type(self).__name__
        raise TypeError(f"a {what} has no + and *, as in isl: methods combine members, and tuple(...) is a plain tuple")

    __add__ = __radd__ = __mul__ = __rmul__ = _no_operand  # type: ignore[assignment]

    @classmethod
    def member(cls, value: Any) -> Any:  # noqa: ANN401
        """What a value is as a member."""
        raise NotImplementedError

    @classmethod
    def read_from_str(cls, *given: Any) -> Self:  # noqa: ANN401
        """The members that a text says, the last of what is `given`; isl's context means nothing.

        Raises
        ------
        SetSyntaxError : it is no such text.
        """
        text = given[-1]
        if isinstance(text, cls):
            return text
        if not isinstance(text, str):
            raise SetSyntaxError(f"a {cls.__name__} is made of a text, not of {kind_of(text)}", hint=cls.example)
        members: list[str] = []
        head, brace, tail = text.partition("{")
        taken = {*re.findall(r"\w+", head)}

        def placed(found: re.Match[str]) -> str:
            members.append(found[0])
            return fresh(f"i{len(members) - 1}", taken)

        space = _space_of(head + brace + cls.written.sub(placed, tail))
        names = tuple([fresh(f"i{k}", taken) for k in range(len(members))])
        if space is None or space.out.dims != names:
            raise SetSyntaxError(f"this is no text of a {cls.__name__}", where=text, hint=cls.example)
        return cls(tuple(members), space)

    @property
    def space(self) -> Space:
        """What it is of."""
        return self._space

    @property
    def param_names(self) -> tuple[str, ...]:
        """The parameters of its space."""
        return self.space.param_names or ()

    def get_space(self) -> Space:
        """Its space."""
        return self.space

    def size(self) -> int:
        """How many members there are."""
        return len(self)

    def get_at(self, pos: int) -> Any:  # noqa: ANN401
        """The member at a position.

        Raises
        ------
        UnknownName : there is no such position.
        """
        if whole(pos) is None or pos < 0:
            raise UnknownName(f"there is no member at position {pos!r}", where=str(self))
        return self[position(pos, self.space.out.dims, str(self), "member")]

    def set_at(self, pos: int, member: Any) -> Self:  # noqa: ANN401
        """With another member at a position; see `get_at`."""
        self.get_at(pos)
        return type(self)(tuple([member if k == pos else m for k, m in enumerate(self)]), self.space)

    def get_list(self) -> ListOf:
        """The members as a list."""
        return ListOf(self)

    def to_str(self) -> str:
        """isl's text of it."""
        return space_text(Space(self.space.inp, renamed(self.space.out, map(str, self)), self.space.param_names))

    __str__ = to_str


def _space_of(text: str) -> Space | None:
    """The space of which a text has all points; None of another text."""
    from ...values.set import Set

    if ":" in text or ";" in text:
        return None
    points: Set = Set(text)
    one = len(points.parts) == 1
    return points.get_space() if one and every(points.space).is_subset(points) else None  # type: ignore[attr-defined]


# ---- other spaces


def keeping(name: str) -> Callable[..., Any]:
    """A method of spaces that changes names or parameters, and leaves the members."""

    def method(self: Multi, *args: Any) -> Multi:  # noqa: ANN401
        return type(self)(tuple(self), getattr(self.space, name)(*args))

    method.__doc__ = f"The same members in another space; see `Space.{name}`."
    return method


def need(self: Multi, other: Any) -> Multi:  # noqa: ANN401
    """Another value of the same class.

    Raises
    ------
    SpaceMismatch : it is of another one.
    """
    if type(other) is not type(self):
        raise SpaceMismatch(f"a {type(self).__name__} is needed, not {kind_of(other)}", where=str(other))
    return other


def product(name: str) -> Callable[[Any, Any], Any]:
    """A method for a pair of two, which wraps both tuples."""

    def method(self: Multi, other: Multi) -> Multi:
        other = need(self, other)
        return type(self)((*self, *other), getattr(self.space, name)(other.space))

    method.__doc__ = f"The members of both, in a tuple that wraps the two; see `Space.{name}`."
    return method


range_product = product("range_product")


def flat_range_product(self: Multi, other: Multi) -> Multi:
    """The members of both, in a tuple without a name."""
    return range_product(self, other).flatten_range()  # type: ignore[attr-defined]


def factor(name: str, of_maps: bool) -> Callable[[Any], Any]:
    """A method for the members of one of the two wrapped tuples, of sets or of maps."""

    def method(self: Multi) -> Multi:
        if (self.space.inp is not None) != of_maps:
            raise SpaceMismatch("the tuple is no product", where=str(self))
        space = getattr(self.space, name)()
        first = 0 if name.endswith("domain") else len(self) - space.n_out
        return type(self)(tuple(self)[first : first + space.n_out], space)

    method.__doc__ = f"The members of a part of a wrapped tuple; see `Space.{name}`."
    return method


def _among(first: Tuple, second: Tuple, pos: int, where: object) -> Tuple:
    """The dimensions of one tuple at a position among those of another one, without a name."""
    if whole(pos) is None or not 0 <= pos <= len(first.dims):
        raise UnknownName(f"position {pos!r} is out of range", where=str(where))
    return Tuple(None, (*first.dims[:pos], *second.dims, *first.dims[pos:]))


def range_splice(self: Multi, pos: int, other: Multi) -> Multi:
    """The members of another one at a position among its own, of the same inputs.

    Raises
    ------
    SpaceMismatch : the inputs differ.
    UnknownName : there is no such position.
    """
    other = need(self, other)
    inputs = [m.space.inp.key if m.space.inp else None for m in (self, other)]
    if inputs[0] != inputs[1]:
        raise SpaceMismatch("the two have other inputs", where=f"{self}\n{other}")
    out = _among(self.space.out, other.space.out, pos, self)
    members = (*self[:pos], *other, *self[pos:])
    return type(self)(members, between(self.space.inp, out, known(self.space, other.space)))


def splice(self: Multi, in_pos: int, out_pos: int, other: Multi) -> Multi:
    """The members, and the inputs, of another one at positions among its own; see `range_splice`."""
    other = need(self, other)
    ours, its = (m.space.inp or PARAMS for m in (self, other))
    inp = _among(ours, its, in_pos, self)
    out = _among(self.space.out, other.space.out, out_pos, self)
    members = (*self[:out_pos], *other, *self[out_pos:])
    return type(self)(members, between(inp, out, known(self.space, other.space)))


def drop_dims(self: Multi, kind: Any, first: int, n: int) -> Multi:  # noqa: ANN401
    """Without some dimensions of a kind, and their members."""
    space = through("remove_dims")(self.space, kind, first, n)
    kept = self[:first] + self[first + n :] if kind.name in ("out", "set") else tuple(self)
    return type(self)(kept, space)


def grown(name: str) -> Callable[..., Any]:
    """A method of spaces that adds parameters or inputs."""

    def method(self: Multi, kind: Any, *args: int) -> Multi:  # noqa: ANN401
        if getattr(kind, "name", None) not in ("param", "in_"):
            raise UnknownName("members are added by a product", where=str(self), hint="dim_type.param, dim_type.in_")
        return type(self)(tuple(self), getattr(self.space, name)(kind, *args))

    method.__doc__ = f"The same members with more parameters or inputs; see `Space.{name}`."
    return method


def involves_dims(self: Multi, kind: Any, first: int, n: int) -> bool:  # noqa: ANN401
    """Whether a member is of some dimensions: numbers are of none."""
    _ = kinds.spread(self, kind, first, n)
    return False


def without_inputs(self: Multi) -> Multi:
    """The same members in the set's space of the outputs."""
    return self if self.space.inp is None else type(self)(tuple(self), range_(self.space))


def plain_is_equal(self: Multi, other: Multi) -> bool:
    """Whether both have the same members and the same space."""
    return tuple(self) == tuple(need(self, other)) and is_equal(self.space, other.space)


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Multi", "copy", lambda self: self),
    *(
        ("Multi", name, keeping(name))
        for name in (
            "align_params",
            "from_range",
            "flatten_range",
            "reset_tuple_id",
            "set_dim_id",
            "set_dim_name",
            "set_tuple_id",
            "set_tuple_name",
        )
    ),
    ("Multi", "product", product("product")),
    ("Multi", "range_product", range_product),
    ("Multi", "flat_range_product", flat_range_product),
    ("Multi", "factor_range", factor("factor_range", of_maps=False)),
    ("Multi", "range_factor_domain", factor("range_factor_domain", of_maps=True)),
    ("Multi", "range_factor_range", factor("range_factor_range", of_maps=True)),
    ("Multi", "range_is_wrapping", lambda self: self.space.range_is_wrapping()),
    ("Multi", "range_splice", range_splice),
    ("Multi", "splice", splice),
    ("Multi", "drop_dims", drop_dims),
    ("Multi", "add_dims", grown("add_dims")),
    ("Multi", "insert_dims", grown("insert_dims")),
    ("Multi", "involves_dims", involves_dims),
    ("Multi", "project_domain_on_params", without_inputs),
    ("Multi", "plain_is_equal", plain_is_equal),
    ("Multi", "get_tuple_name", lambda self, kind: self.space.get_tuple_name(kind)),
)
"""Classes, isl's names, and the method."""
