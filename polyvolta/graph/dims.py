"""Sizes: names of positive ints that are known only when a kernel is called.

A size is the parameter of the integer sets that a graph's statements are made of: `{ S[i, j, k] : 0 <= i < M and ... }`
ranges over every M at once, which is why one kernel serves all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never, NoReturn, TypeAlias, TypeVar

from polyvolta.display.shown import Shown
from polyvolta.graph.errors import BadSize, NotANumberYet
from polyvolta.graph.names import check_name
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Size(Shown):
    """A symbolic positive int; equal to every other `Size` of the same name.

    Whether it is less than something, and what it is, nobody knows before the kernel is called.

    >>> Size("M") < 3
    Traceback (most recent call last):
        ...
    polyvolta.graph.errors.NotANumberYet: [PV213] the size M has no value yet: M < 3
    hint: it is known when the kernel is called; for a fixed one, pv.tensor("A", (512, 64)) has numbers
    """

    name: str

    def __post_init__(self) -> None:
        check_name(self.name, "size")

    def __str__(self) -> str:
        return self.name

    def _html(self) -> str:
        from polyvolta.display.formulas import Name, mathml
        from polyvolta.display.page import words

        return mathml(Name(self.name), False) + words(", a size: known when a kernel is called", "faint")

    def _no_arithmetic(self, other: object) -> Size:
        raise BadSize(
            f"there is no arithmetic on sizes: {self.name} with {other!r}",
            hint="a dimension is one size or one int; give what you would compute a size of its own",
        )

    def _no_sign(self) -> Size:
        raise BadSize(
            f"there is no arithmetic on sizes, nor a sign of {self.name}", hint="a dimension is one size or one int"
        )

    if not TYPE_CHECKING:  # to a checker they have none
        __neg__ = __pos__ = __abs__ = __invert__ = _no_sign

    def _no_value(self, text: str) -> NotANumberYet:
        return NotANumberYet(
            f"the size {self.name} has no value yet: {text}",
            hint='it is known when the kernel is called; for a fixed one, pv.tensor("A", (512, 64)) has numbers',
        )

    def __lt__(self, other: object) -> NoReturn:
        raise self._no_value(f"{self.name} < {_plainly(other)}")

    def __le__(self, other: object) -> NoReturn:
        raise self._no_value(f"{self.name} <= {_plainly(other)}")

    def __gt__(self, other: object) -> NoReturn:
        raise self._no_value(f"{self.name} > {_plainly(other)}")

    def __ge__(self, other: object) -> NoReturn:
        raise self._no_value(f"{self.name} >= {_plainly(other)}")

    def __int__(self) -> NoReturn:
        raise self._no_value(f"it is no int, as in int({self.name}) or range({self.name})")

    __index__ = __int__

    def __float__(self) -> NoReturn:
        raise self._no_value(f"float({self.name})")

    if not TYPE_CHECKING:
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
        __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __pow__ = _no_arithmetic


def _plainly(x: object) -> str:
    """The other side of a comparison, in short."""
    text = str(x) if isinstance(x, Size) else repr(x)
    return text if len(text) <= 60 else f"{text[:57]}..."


Dim = int | Size

if TYPE_CHECKING:

    class Sizes(Size):
        """What `sizes` gives as checkers see it, who don't count the names in a text: a size that unpacks into sizes.

        At run time there is no such class: it is a `Size`, or a tuple of them.
        """

        def __iter__(self) -> Iterator[Size]: ...
        def __len__(self) -> int: ...
        def __getitem__(self, n: int) -> Size: ...


def sizes(names: str, *more: Never) -> Sizes:
    """Symbolic sizes from names between blanks or commas: a tuple of `Size`, of a single name the `Size` itself.

    There are no `more` of them than one text.

    Raises
    ------
    BadSize : no name at all, a name twice, or several texts.
    BadName : a name that can't stand in C++ or in a set.

    >>> M, N, K = sizes("M N K")
    >>> print(M, sizes("batch"))
    M batch
    """
    if more:
        words = " ".join(map(str, (names, *more)))
        raise BadSize("sizes takes one str of names, not several", hint=f'write sizes("{words}")')
    if not isinstance(names, str):
        raise BadSize(f"sizes takes one str of names, not {type(names).__name__}", hint='write sizes("M N K")')
    words = [w for w in re.split(r"[\s,]+", names) if w]
    if not words:
        raise BadSize("sizes was given no name", hint='write sizes("M N K")')
    if twice := [w for n, w in enumerate(words) if w in words[:n]]:
        raise BadSize(f"sizes was given {twice[0]!r} twice", where=names)
    made: Any = tuple(Size(w) for w in words)
    return made[0] if len(made) == 1 else made


V = TypeVar("V")
Given: TypeAlias = "Mapping[str, V] | Mapping[Size, V] | Mapping[Size | str, V]"
"""Something for each of some sizes, which are given themselves or by name."""


def by_name(sizes: Mapping[Any, V], error: Callable[..., Exception] = BadSize) -> dict[Any, V]:
    """Values for sizes, given for the sizes themselves or for their names, by name.

    Raises
    ------
    error : a size is given by itself and by its name.

    >>> M, N = sizes("M N")
    >>> by_name({M: 4, "N": 8})
    {'M': 4, 'N': 8}
    """
    found = {key.name if isinstance(key, Size) else key: value for key, value in sizes.items()}
    if len(found) < len(sizes):
        twice = next(key.name for key in sizes if isinstance(key, Size) and key.name in sizes)
        raise error(f"the size {twice} is given twice", hint="by itself, or by its name")
    return found


def joined(sizes: object, named: Mapping[str, V], error: Callable[..., Exception]) -> dict[str, V]:
    """What is given for sizes by a mapping, or None, and by keywords, by name.

    Raises
    ------
    error : `sizes` is no mapping, or stands among the keywords; or a size is given twice.

    >>> M, N = sizes("M N")
    >>> joined({M: 4}, {"N": 8}, BadSize)
    {'M': 4, 'N': 8}
    """
    if isinstance(named.get("sizes"), Mapping):  # of callers that take the mapping by its place
        raise error(f"the size called sizes is {kind_of(named['sizes'])}",
                    hint='pass a mapping of sizes by its place, without "sizes="')  # fmt: skip
    if sizes is None:
        return dict(named)
    if not isinstance(sizes, Mapping):
        raise error(f"sizes is {kind_of(sizes)}", hint='pass a mapping such as {"M": 512, ...}, or M=512')
    found: dict[str, V] = by_name(sizes, error)
    if twice := [n for n in found if n in named]:
        raise error(f"the size {twice[0]} is given twice", hint=f"in the mapping, or as {twice[0]}=...")
    return {**found, **named}
