"""isl's tuples of numbers of a space, `MultiVal`, and of names, `MultiId`; see `members`.

Numbers are sizes of tiles, or factors of the values of a function; names are what dimensions of a tuple are bound to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

from ...errors import NotAffine, SpaceMismatch
from ...values.space import Space
from ..arguments import checks_arguments
from .members import Multi, need
from .spaces import is_equal as same_space
from .spaces import known
from .values import Id, Val


@checks_arguments
class MultiVal(Multi):
    """Numbers of a space, one of each dimension: a tuple of them with isl's methods.

    >>> sizes = MultiVal.read_from_str("{ [4, 2] }").set_val(1, 8)
    >>> print(sizes, sizes.get_val(1), sizes.size(), sizes == (4, 8))
    { [4, 8] } 8 2 True
    >>> print(sizes.max(MultiVal("{ [infty, -1/2] }")).range_product(MultiVal("[n] -> { A[3] }")))
    [n] -> { [[infty, 8] -> A[3]] }
    """

    written: ClassVar = re.compile(
        r"(?:-\s*)?(?<![\w'])(?:\d+(?:\s*/\s*\d+)?|infty|infinity|nan)(?![\w'])(?!\s*\[)", re.IGNORECASE
    )
    example: ClassVar = '"{ A[4, 2] }"'

    @classmethod
    def member(cls, value: Any) -> Any:  # noqa: ANN401
        """A number as a `Val`."""
        return Val(value)

    @classmethod
    def zero(cls, space: Space) -> Self:
        """0 of each dimension of a space."""
        return cls([0] * len(space.out.dims), space)

    @classmethod
    def from_val_list(cls, space: Space, numbers: Iterable[int]) -> Self:
        """The numbers of a list, as many as the dimensions of a space."""
        return cls(numbers, space)

    get_val, set_val = Multi.get_at, Multi.set_at


@checks_arguments
class MultiId(Multi):
    """Names of a space, one of each dimension: a tuple of them with isl's methods, to bind dimensions to.

    >>> from polyvolta.sets import Set
    >>> names = MultiId("{ A[M, N] }").set_id(0, "K")
    >>> print(names, names.get_at(1), Set("{ A[i, j] : i < j }").bind(names))
    { A[K, N] } N [K, N] -> { : K < N }
    """

    written: ClassVar = re.compile(r"(?<![\w'])[A-Za-z_][\w']*(?![\w'])(?!\s*\[)")
    example: ClassVar = '"{ A[M, N] }"'

    @classmethod
    def member(cls, value: Any) -> Id:  # noqa: ANN401
        """A name as an `Id`, with its object."""
        return value if isinstance(value, Id) else Id(value)

    @classmethod
    def from_id_list(cls, space: Space, names: Iterable[str]) -> Self:
        """The names of a list, as many as the dimensions of a space."""
        return cls(tuple(names), space)

    get_id, set_id = Multi.get_at, Multi.set_at


def need_same_tuple(out: Any, numbers: Any, where: object) -> None:  # noqa: ANN401
    """Refuse numbers, or a function, of a space whose tuple is another one than that of some values or dimensions.

    Raises
    ------
    SpaceMismatch : it is another one; a list of numbers has none.
    """
    given = getattr(getattr(numbers, "space", None), "out", None)
    if given is not None and given.key != out.key:
        raise SpaceMismatch("the numbers are of another tuple", where=f"{where}\n{numbers}",
                            hint="a list of numbers fits any tuple")  # fmt: skip


# ---- arithmetic of numbers


def _like(self: MultiVal, other: Any, inputs: bool) -> MultiVal:  # noqa: ANN401
    """Numbers of the same tuple, and of the same `inputs` where they matter, or a list of as many.

    Raises
    ------
    SpaceMismatch : they are of another one.
    """
    if not isinstance(other, MultiVal):
        return MultiVal(tuple(other) if isinstance(other, Iterable) and not isinstance(other, str) else (), self.space)
    if self.space.out.key != other.space.out.key or (inputs and self.space.key != other.space.key):
        raise SpaceMismatch("the numbers are of different tuples", where=f"{self}\n{other}")
    return other


def of_two(name: str, alike: bool) -> Callable[[MultiVal, Any], MultiVal]:
    """A method that combines the numbers of two by a method of numbers.

    Two that are `alike` have one space, and the result the parameters of both; else the second are factors of a tuple.
    """

    def method(self: MultiVal, other: Any) -> MultiVal:  # noqa: ANN401
        other = _like(self, other, inputs=alike)
        params = known(self.space, other.space) if alike else self.space.param_names
        members = [getattr(a, name)(b) for a, b in zip(self, other)]
        return MultiVal(members, Space(self.space.inp, self.space.out, params))

    method.__doc__ = f"`{name}` of the two numbers of each dimension."
    return method


def of_each(name: str, factor: bool) -> Callable[..., MultiVal]:
    """A method that changes each number by a method of numbers, by another number; a factor is a fraction."""

    def method(self: MultiVal, *others: Any) -> MultiVal:  # noqa: ANN401
        given = [Val(v) for v in others]
        if factor and not (given[0].is_rat() and (name != "div" or given[0] != 0)):
            raise NotAffine(f"numbers are scaled by a fraction, not by {others[0]}", where=str(self))
        return MultiVal([getattr(v, name)(*given) for v in self], self.space)

    method.__doc__ = f"`{name}` of the number of each dimension."
    return method


def is_equal(self: MultiVal, other: MultiVal) -> bool:
    """Whether both have the same numbers, none of which is NaN, and the same space."""
    return same_space(self.space, need(self, other).space) and all(a.eq(b) for a, b in zip(self, other))


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    *(("MultiVal", name, of_two(name, alike=True)) for name in ("add", "sub", "min", "max")),
    *(
        ("MultiVal", f"{name}_multi_val", of_two(of, alike=False))
        for name, of in (("mod", "mod"), ("scale", "mul"), ("scale_down", "div"))
    ),
    *(
        ("MultiVal", name, of_each(of, factor))
        for name, of, factor in (
            ("neg", "neg", False),
            ("add_val", "add", False),
            ("mod_val", "mod", False),
            ("scale_val", "mul", True),
            ("scale_down_val", "div", True),
        )
    ),
    ("MultiVal", "is_equal plain_is_equal", is_equal),
    ("MultiVal", "is_zero", lambda self: all(v.is_zero() for v in self)),
    ("MultiVal", "involves_nan", lambda self: any(v.is_nan() for v in self)),
)
"""Classes, isl's names, and the method."""
