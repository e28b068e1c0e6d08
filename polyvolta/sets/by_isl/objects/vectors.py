"""isl's tuples of numbers of a space, `MultiVal`: sizes of tiles, factors of the values of a function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from ...errors import SetSyntaxError, SpaceMismatch, UnknownName
from ...values.space import Space
from .values import Val


class MultiVal(tuple[Val, ...]):
    """Numbers of a space, one of each dimension: a tuple of them with isl's methods.

    >>> sizes = MultiVal.read_from_str("{ [4, 2] }").set_val(1, 8)
    >>> print(sizes, sizes.get_val(1), sizes.size(), sizes == (4, 8))
    { [4, 8] } 8 2 True
    """

    space: Space

    def __new__(cls, numbers: Iterable[int] | str, space: Space | None = None) -> Self:
        """The numbers of a space, or those that a text says; see `MultiVal`.

        Raises
        ------
        SpaceMismatch : they are not as many as the dimensions.
        NotSupported : one is no number.
        """
        if isinstance(numbers, str) or space is None:
            return cls.read_from_str(numbers)
        self = super().__new__(cls, [Val(n) for n in numbers])
        if len(self) != len(space.out.dims):
            raise SpaceMismatch(f"{len(self)} numbers are given of {len(space.out.dims)} dimensions", where=str(space))
        self.space = space
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """A copy keeps the space."""
        return type(self), (tuple(self), self.space)

    @classmethod
    def read_from_str(cls, *given: Any) -> Self:  # noqa: ANN401
        """The numbers that a text says, the last of what is `given`.

        Raises
        ------
        SetSyntaxError : it is no text of one point.
        """
        from ...values.set import Set

        point = Set(given[-1])
        if not point.is_singleton():
            raise SetSyntaxError("a text of numbers is needed", where=str(given[-1]), hint='"{ [4, 2] }"')
        return cls(point.sample_point(), point.space)

    @classmethod
    def zero(cls, space: Space) -> Self:
        """0 of each dimension of a space."""
        return cls([0] * len(space.out.dims), space)

    @classmethod
    def from_val_list(cls, space: Space, numbers: Iterable[int]) -> Self:
        """The numbers of a list, as many as the dimensions of a space."""
        return cls(numbers, space)

    def get_space(self) -> Space:
        """Its space."""
        return self.space

    def size(self) -> int:
        """How many numbers there are."""
        return len(self)

    def dim(self, kind: Any) -> int:  # noqa: ANN401
        """How many numbers there are; none of parameters."""
        return len(self) if getattr(kind, "name", "") in ("out", "set") else 0

    def get_val(self, pos: int) -> Val:
        """The number at a position.

        Raises
        ------
        UnknownName : there is no such position.
        """
        if not 0 <= pos < len(self):
            raise UnknownName(f"there is no number at position {pos}", where=str(self))
        return self[pos]

    get_at = get_val

    def set_val(self, pos: int, number: int) -> Self:
        """With another number at a position; see `get_val`."""
        self.get_val(pos)
        return type(self)((number if k == pos else n for k, n in enumerate(self)), self.space)

    set_at = set_val

    def scale_val(self, factor: int) -> Self:
        """Each number times another one."""
        return type(self)((n * factor for n in self), self.space)

    def to_str(self) -> str:
        """isl's text of them."""
        return f"{{ {self.space.out.name or ''}[{', '.join(map(str, self))}] }}"

    __str__ = to_str
