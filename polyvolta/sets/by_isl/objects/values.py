"""isl's numbers, points and names: integers, tuples and texts of Python's that have isl's methods as well.

What isl's methods give here is one of these, so that `v.to_python()` and `p.get_coordinate_val(kind, 0)` of a program
that was written for isl find their way; to all else they are an `int`, a `tuple` and a `str`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import gcd
from typing import TYPE_CHECKING, Any, Self

from ...errors import EmptySet, NotAffine, NotSupported, UnknownName, kind_of
from ...values import kinds
from ...values.named import Named, by_isl
from ...values.space import Space, renamed, whole
from ..arguments import checks_arguments
from .context import DEFAULT_CONTEXT, Context
from .lists import ListOf, dump
from .numbers import BOTH, Number, NumberType, made, pair, read


@checks_arguments
class Val(int, metaclass=NumberType):
    """An integer with the methods of isl's numbers; of a fraction, of an infinity or NaN `Val` makes a `Number`.

    >>> v = Val("17")
    >>> v == 17, v.to_python(), v.mod(5), (v + 1).is_pos(), v.div(2)
    (True, 17, 2, True, Val("17/2"))
    >>> Val("infty") > v, isinstance(Val("1/2"), Val)
    (True, True)
    """

    def __new__(cls, value: object = 0, context: object = None) -> Any:  # noqa: ANN401 - or a `Number`
        """The number that a value or a text is; isl's context, before or behind it, means nothing.

        Raises
        ------
        NotSupported : it is none.
        """
        if context is not None and pair(value) is None and not isinstance(value, str):
            value = context  # isl's order, Val(context, number)
        found = read(value) if isinstance(value, str) else pair(value)
        if found is None:
            raise NotSupported(f"a Val is a number, not {value!r}", hint='Val("17"), Val("1/2"), Val("infty")')
        if isinstance(found, tuple):
            found = super().__new__(cls, found[0]) if found[1] == 1 else made(*found)
        return found

    def __reduce__(self) -> tuple[object, ...]:
        """A copy is a number of its class."""
        return type(self), (int(self),)

    @classmethod
    def read_from_str(cls, *given: Any) -> Any:  # noqa: ANN401
        """The number that a text says, the last of what is `given`; see `Val`."""
        return cls(given[-1])

    int_from_si = int_from_ui = read_from_str

    @classmethod
    def zero(cls, context: object = None) -> Val:
        """0; see `Val`."""
        return cls(0)

    @classmethod
    def one(cls, context: object = None) -> Val:
        """1; see `Val`."""
        return cls(1)

    @classmethod
    def negone(cls, context: object = None) -> Val:
        """-1; see `Val`."""
        return cls(-1)

    @classmethod
    def infty(cls, context: object = None) -> Number:
        """What is greater than all others; see `Val`."""
        return Number(1, 0)

    @classmethod
    def neginfty(cls, context: object = None) -> Number:
        """What is less than all others; see `Val`."""
        return Number(-1, 0)

    @classmethod
    def nan(cls, context: object = None) -> Number:
        """What is no number; see `Val`."""
        return Number(0, 0)

    def to_python(self) -> int:
        """Python's number; see `Val`."""
        return int(self)

    def to_str(self) -> str:
        """Its text; see `Val`."""
        return str(int(self))

    get_num_si = to_python

    def get_den_val(self) -> Val:
        """The denominator, 1; see `Val`."""
        return Val(1)

    def get_den_si(self) -> int:
        """The denominator, 1; see `Val`."""
        return 1

    def get_ctx(self) -> Context:
        """isl's context, which means nothing; see `Val`."""
        return DEFAULT_CONTEXT

    def copy(self) -> Val:
        """The number itself; see `Val`."""
        return self

    def gcd(self, other: int) -> Val:
        """The greatest common divisor; see `Val`."""
        return Val(gcd(self, integer(other)))

    def gcdext(self, other: int) -> tuple[Val, Val, Val]:
        """The greatest common divisor, and what to multiply both numbers with so that their sum is that; see `Val`.

        >>> Val(12).gcdext(18)
        (6, -1, 1)
        """
        found, other = self.gcd(other), integer(other)
        ours, its, one, two = (1, 0), (0, 1), abs(self), abs(other)  # factors of which one and two are the sums
        while two:
            times, rest = divmod(one, two)
            ours, its = its, (ours[0] - times * its[0], ours[1] - times * its[1])
            one, two = two, rest
        signs = self.sgn(), Val(other).sgn()
        return found, Val(ours[0] * signs[0]), Val(ours[1] * signs[1])

    def is_divisible_by(self, other: int) -> bool:
        """Whether it is a multiple; see `Val`."""
        return self % integer(other) == 0 if other else self == 0

    def sgn(self) -> int:
        """-1, 0 or 1; see `Val`."""
        return (self > 0) - (self < 0)


def _given(name: str, f: Callable[..., Any], gives: Callable[[Any], Any] = bool) -> Callable[..., Any]:
    """A method of numbers that is a function of them, of the number itself and those that are given."""

    def method(self: Val, *others: Any) -> Any:  # noqa: ANN401
        found = f(int(self), *others)
        return found if found is NotImplemented else gives(found)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Val.{name}", f"{name} of numbers; see `Val`."
    return method


def integer(other: Any) -> int:  # noqa: ANN401
    """A number that is an integer.

    Raises
    ------
    NotAffine : it is none.
    """
    found = whole(other)
    if found is None:
        raise NotAffine(f"an integer is needed, not {other}", hint="v.is_int() asks for that")
    return found


def _mod(a: int, b: Any) -> int:  # noqa: ANN401
    """What is left by a division, of the sign of the divisor."""
    if integer(b) == 0:
        raise NotAffine("there is no remainder by 0", where=f"{a} mod {b}")
    return a % b


_WITH_NUMBERS: dict[str, Callable[..., Any]] = {
    "mod": _mod, "__add__": int.__add__, "__radd__": int.__radd__, "__sub__": int.__sub__,
    "__rsub__": int.__rsub__, "__mul__": int.__mul__, "__rmul__": int.__rmul__, "__mod__": int.__mod__,
    "__floordiv__": int.__floordiv__, "__neg__": int.__neg__, "__abs__": int.__abs__,
}  # fmt: skip
_ASKED: dict[str, Callable[..., Any]] = {
    "is_int": lambda n: True, "is_rat": lambda n: True, "is_infty": lambda n: False, "is_neginfty": lambda n: False,
    "is_nan": lambda n: False, "is_zero": lambda n: n == 0, "is_one": lambda n: n == 1, "is_negone": lambda n: n == -1,
    "is_pos": lambda n: n > 0, "is_neg": lambda n: n < 0, "is_nonneg": lambda n: n >= 0, "is_nonpos": lambda n: n <= 0,
}  # fmt: skip
for _name, _f in BOTH.items():
    setattr(Val, _name, _f)
for _name, _f in _WITH_NUMBERS.items():
    setattr(Val, _name, _given(_name, _f, Val))
for _name, _f in _ASKED.items():
    setattr(Val, _name, _given(_name, _f))


@checks_arguments
class Point(tuple, metaclass=Named):
    """A point of a space: the tuple of its coordinates, with isl's methods; `foreach_point` calls with these.

    Attributes
    ----------
    space : whose point it is.
    params : values of parameters by name, where it is one of a set that has any.

    >>> from polyvolta.sets import Set
    >>> p = Set("{ S[i, j] : i = 3 and j = 2i }").sample_point()
    >>> p, p == (3, 6), p.get_coordinate_val(kinds.dim_type.set, 1)
    ((3, 6), True, 6)
    >>> print(p.to_set())
    { S[3, 6] }

    One that is made of a space with parameters by `zero`, or by the values of these, has values of them, too:

    >>> q = Point.zero(Set("[n] -> { S[i] : i < n }").get_space())
    >>> q.set_coordinate_val(kinds.dim_type.param, 0, 7).add_ui(kinds.dim_type.set, 0, 2).to_str()
    '[n = 7] -> { S[2] }'
    """

    _space: Space
    _params: tuple[int, ...]
    _void: bool

    def __new__(
        cls,
        coordinates: Iterable[int],
        space: Space,
        params: Iterable[int] | Mapping[str, int] = (),
        void: bool = False,
    ) -> Self:
        """The point of a space with some coordinates, and values of all parameters of the space, or of some by name.

        A `void` one has neither, and is none.
        """
        self = super().__new__(cls, coordinates)
        if isinstance(params, Mapping):
            space, params = Space(None, space.out, tuple(map(str, params))), params.values()
        self._space, self._params, self._void = space, tuple(params), void
        return self

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    @classmethod
    def zero(cls, space: Space) -> Self:
        """The point of a space with 0 in each dimension, and of each parameter that it knows; see `Point`."""
        return cls([0] * len(space.out.dims), space, [0] * len(space.param_names or ()))

    @classmethod
    def void(cls, space: Space) -> Self:
        """No point of a space; see `Point`."""
        return cls((), space, void=True)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy keeps the space."""
        return Point, (tuple(self), self._space, self._params, self._void)

    @property
    def space(self) -> Space:
        """Its space; see `Point`."""
        return self._space

    def get_space(self) -> Space:
        """Its space; see `Point`."""
        return self._space

    def _all(self) -> dict[str | int, int]:
        """The parameters that have values and the dimensions, by name.

        Raises
        ------
        EmptySet : it is void.
        """
        if self._void:
            raise EmptySet("what is void has no coordinates", hint="p.is_void() asks for that")
        return {**dict(zip(self.param_names, self._params)), **dict(zip(self._space.dims, self))}

    def get_coordinate_val(self, kind: Any, pos: int) -> Val:  # noqa: ANN401
        """One coordinate, of a dimension by kind and position; see `Point`.

        Raises
        ------
        UnknownName : there is no such dimension.
        EmptySet : it is void.
        """
        return Val(self._all()[kinds.spread(self, kind, pos)[0]])

    def set_coordinate_val(self, kind: Any, pos: int, value: int) -> Point:  # noqa: ANN401
        """With another coordinate; see `get_coordinate_val`."""
        known = {**self._all(), kinds.spread(self, kind, pos)[0]: value}
        return Point([known[d] for d in self._space.dims], self._space, [known[p] for p in self.param_names])

    def add_ui(self, kind: Any, pos: int, value: int) -> Point:  # noqa: ANN401
        """With a coordinate greater by a number; see `get_coordinate_val`."""
        return self.set_coordinate_val(kind, pos, self.get_coordinate_val(kind, pos) + value)

    def sub_ui(self, kind: Any, pos: int, value: int) -> Point:  # noqa: ANN401
        """With a coordinate less by a number; see `get_coordinate_val`."""
        return self.add_ui(kind, pos, -value)

    @property
    def params(self) -> dict[str, int]:
        """The values of parameters by name; see `Point`."""
        return dict(zip(self.param_names, self._params))

    @property
    def param_names(self) -> tuple[str, ...]:
        """The parameters that have values here; see `Point`."""
        return (self._space.param_names or ()) if self._params else ()

    def is_void(self) -> bool:
        """Whether it is no point; see `Point`."""
        return self._void

    def get_multi_val(self) -> Any:  # noqa: ANN401
        """The coordinates as a `MultiVal`; see `Point`."""
        from .vectors import MultiVal

        _ = self._all()
        return MultiVal(tuple(self), self._space)

    def to_set(self) -> Any:  # noqa: ANN401
        """The set of it alone; see `Point`."""
        from ...values.set import Set

        return Set.empty(self._space) if self._void else Set.universe(self._space).fix(self._all())

    def to_str(self) -> str:
        """isl's text of it; Python's, of a tuple, is `str(p)`; see `Point`."""
        if self._void:
            return "void"
        params = ", ".join(f"{p} = {n}" for p, n in zip(self.param_names, self._params))
        return f"{f'[{params}] -> ' if params else ''}{{ {renamed(self._space.out, map(str, self))} }}"

    def copy(self) -> Point:
        """The point itself; see `Point`."""
        return self


class Id(str):
    """A name with the methods of isl's identifiers, and an object of a user's if one is given.

    It is equal to the same name whatever stands with either: sets know names alone, and what they give has no object.
    Marks of a tree and the annotations of loops keep theirs.

    >>> x = Id("x0")
    >>> x.name, x.get_name(), x == Id(name="x0"), x.user
    ('x0', 'x0', True, None)
    >>> Id("x0", ["anything"]).user
    ['anything']
    """

    _user: object

    def __new__(cls, name: str | None = None, user: object = None, context: object = None) -> Self:
        """The identifier of a name, with an object; isl's context means nothing.

        Raises
        ------
        UnknownName : the name is none.
        """
        if not isinstance(name, str):
            raise UnknownName(f"an identifier is a text, not {kind_of(name)}")
        self = super().__new__(cls, name)
        self._user = None if isinstance(user, Context) else user
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """A copy keeps the object."""
        return Id, (str(self), self._user)

    @classmethod
    def read_from_str(cls, *given: Any) -> Self:  # noqa: ANN401
        """The identifier that a text is, the last of what is `given`; see `Id`."""
        return cls(given[-1])

    @property
    def name(self) -> str:
        """The name as a text; see `Id`."""
        return str(self)

    def get_name(self) -> str:
        """The name as a text; see `Id`."""
        return str(self)

    @property
    def user(self) -> object:
        """The object with it, None without any; see `Id`."""
        return self._user

    def get_user(self) -> object:
        """The object with it, None without any; see `Id`."""
        return self._user

    def get_ctx(self) -> Context:
        """isl's context, which means nothing; see `Id`."""
        return DEFAULT_CONTEXT

    def to_str(self) -> str:
        """The name as a text; see `Id`."""
        return str(self)

    def to_list(self) -> ListOf:
        """A list of it alone; see `Id`."""
        return ListOf([self])

    def dump(self) -> None:
        """Write the name to the standard error; see `Id`."""
        dump(self)


def plain(name: Any) -> Any:  # noqa: ANN401
    """A name as sets know it, a text alone; what is no identifier stays."""
    return str(name) if isinstance(name, Id) else name


def number(found: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose number has isl's methods."""

    def method(self: Any, *args: Any) -> Any:  # noqa: ANN401
        return Val(found(self, *args))

    method.__doc__ = found.__doc__
    return method
