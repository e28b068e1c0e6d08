"""isl's lists, all of one class: a list of Python's that has isl's methods as well."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import cmp_to_key, reduce
from typing import Any, Self

from ...errors import EmptySet, SetSyntaxError, UnknownName
from ...values.space import whole
from ..arguments import checks_arguments

ELEMENTS = (
    "Aff", "AstExpr", "AstNode", "BasicMap", "BasicSet", "Constraint", "Id", "Map", "MultiAff", "PwAff", "PwMultiAff",
    "PwQPolynomial", "PwQPolynomialFold", "QPolynomial", "Set", "UnionMap", "UnionPwAff", "UnionPwMultiAff", "UnionSet",
    "Val",
)  # fmt: skip
"""The classes of isl of which there are lists, `AffList` and so on."""


def dump(self: object) -> None:
    """Write the text of a value to the standard error."""
    print(self, file=sys.stderr)


class Listing(type):
    """The type of lists, of which those of one class are any list: there is one class of lists, but for their texts."""

    def __instancecheck__(cls, value: object) -> bool:
        return type.__instancecheck__(ListOf, value)


@checks_arguments
class ListOf(list[Any], metaclass=Listing):
    """A list with the methods of isl's, which give another list where Python's change this one.

    >>> sizes = ListOf.alloc(None, 2).add(3).add(4)
    >>> sizes, sizes.n_val(), sizes.get_at(1), sizes.get_val(0), sizes.concat([5]), sizes.drop(0, 1), len(sizes)
    ([3, 4], 2, 4, 3, [3, 4, 5], [4], 2)
    """

    _read: Callable[[str], Any] | None = None  # of a text, in a class whose elements are of one kind

    def __init__(self, elements: Iterable[Any] | str = (), context: object = None) -> None:
        """A list of some elements, or in a class whose elements are of one kind that isl's text says."""
        super().__init__(type(self).read_from_str(elements) if isinstance(elements, str) else elements)

    def __hash__(self) -> int:  # type: ignore[override]
        """Of the elements; isl's methods change no list, and who does by Python's finds it no more."""
        return hash(tuple(self))

    def __reduce__(self) -> tuple[object, ...]:
        """A list of the one class, as which those of others pass, too: these are made when they are asked for."""
        return ListOf, (list(self),)

    @classmethod
    def read_from_str(cls, *text: object) -> Self:
        """The list that isl's text says, `({ [i] : i > 0 },{ [0] })`; a context before it means nothing.

        Raises
        ------
        SetSyntaxError : it is no list; of an element, see the element's class.
        """
        said = str(text[-1] if text else "").strip()
        if cls._read is None or said[:1] + said[-1:] != "()":
            hint = "({ [0] },{ [1] })"
            raise SetSyntaxError("a list is in parentheses, its elements with commas between", where=said, hint=hint)
        found, depth = [""], 0
        for c in said[1:-1]:
            depth += (c in "([{") - (c in ")]}")
            if c == "," and not depth:
                found.append("")
            else:
                found[-1] += c
        return cls([cls._read(element.strip()) for element in found] if found != [""] else [])

    @classmethod
    def alloc(cls, context: object = None, size: int = 0) -> Self:
        """An empty list; isl's context and the number of elements that are to come mean nothing."""
        return cls()

    def add(self, element: object) -> Self:
        """The list with one more element at its end."""
        return type(self)([*self, element])

    def concat(self, other: Iterable[object]) -> Self:
        """The elements of two lists."""
        return type(self)([*self, *other])

    def drop(self, first: int, n: int) -> Self:
        """The list without some elements that follow each other."""
        self._at(first + n, len(self) + 1)
        return type(self)([*self[: self._at(first, len(self) + 1)], *self[first + n :]])

    def set_at(self, index: int, element: object) -> Self:
        """The list with another element at a position, which is there."""
        found = type(self)(self)
        found[self._at(index, len(self))] = element
        return found

    def insert(self, index: int, element: object) -> Self:  # type: ignore[override]
        """The list with one more element at a position."""
        at = self._at(index, len(self) + 1)
        return type(self)([*self[:at], element, *self[at:]])

    def copy(self) -> Self:
        """A list of the same elements."""
        return type(self)(self)

    def clear(self) -> Self:  # type: ignore[override]
        """A list without elements."""
        return type(self)()

    def reverse(self) -> Self:  # type: ignore[override]
        """The list from its end."""
        return type(self)(self[::-1])

    def get_at(self, index: int) -> Any:  # noqa: ANN401
        """The element at a position."""
        return self[self._at(index, len(self))]

    def _at(self, position: int, n: int) -> int:
        """A position of n, which isl counts from 0 alone."""
        if (at := whole(position)) is None or not 0 <= at < n:
            raise UnknownName(f"position {position!r} is not in the list", where=self.to_str(), hint=f"there are {n}")
        return at

    def swap(self, first: int, second: int) -> Self:
        """The list with two elements in each other's places."""
        return self.set_at(first, self.get_at(second)).set_at(second, self.get_at(first))

    def sort(self, order: Callable[[Any, Any], int] | None = None, **named: Any) -> Any:  # noqa: ANN401 - or None
        """The list in an order, a function that is less than 0 of two in order; without one Python's own `sort`."""
        if order is None:
            return super().sort(**named)
        return type(self)(sorted(self, key=cmp_to_key(order)))

    def size(self) -> int:
        """How many elements there are."""
        return len(self)

    def to_str(self) -> str:
        """isl's text of it; Python's is `str(x)`."""
        return f"({','.join(map(str, self))})"

    dump = dump

    def get_ctx(self) -> Any:  # noqa: ANN401
        """isl's context, which means nothing here."""
        from .context import DEFAULT_CONTEXT

        return DEFAULT_CONTEXT

    def foreach(self, f: Callable[[Any], object]) -> None:
        """Call a function with each element."""
        for element in self:
            f(element)

    def map(self, f: Callable[[Any], Any]) -> Self:
        """The list of what a function makes of each element."""
        return type(self)([f(element) for element in self])

    def every(self, test: Callable[[Any], object]) -> bool:
        """Whether a test holds of all elements."""
        return all(test(element) for element in self)

    def union(self) -> Any:  # noqa: ANN401
        """The union of the elements, sets or relations, of which there is one at least."""
        return self._folded("union")

    def intersect(self) -> Any:  # noqa: ANN401
        """The intersection of the elements, sets or relations, of which there is one at least."""
        return self._folded("intersect")

    def min(self) -> Any:  # noqa: ANN401
        """The least of the elements, functions, of which there is one at least, where all have values."""
        return self._folded("min")

    def max(self) -> Any:  # noqa: ANN401
        """The greatest of the elements, functions, of which there is one at least, where all have values."""
        return self._folded("max")

    def coefficients(self) -> Self:
        """Of each element, a set, the coefficients of the constraints that hold of its points."""
        return self.map(lambda element: element.coefficients())

    def _folded(self, name: str) -> Any:  # noqa: ANN401
        if not self:
            raise EmptySet(f"an empty list has no {name}", hint="the list needs one element at least")
        return reduce(lambda x, y: getattr(x, name)(y), self)


def _compared(name: str) -> Callable[[ListOf, Iterable[Any]], Any]:
    def method(self: ListOf, other: Iterable[Any]) -> Any:  # noqa: ANN401
        found = [getattr(f, name)(g) for f in self for g in other]
        if not found:
            raise EmptySet(f"an empty list has no {name}", hint="both lists need one element at least")
        return reduce(lambda x, y: x & y, found)

    method.__doc__ = f"Where `{name}` holds of each element, a function, and each one of another list."
    return method


for _name in ("eq_set", "ge_set", "gt_set", "le_set", "lt_set", "ne_set"):
    setattr(ListOf, _name, _compared(_name))


def list_of(element: str, read: Callable[[str], Any] | None) -> type[ListOf]:
    """The class of lists of an isl's class, whose elements are read from texts by a function, if any is."""
    said = {"_read": read and staticmethod(read), "__doc__": f"A list of `{element}`s."}
    return type(f"{element}List", (ListOf,), said)


def _of_one(cls: type[ListOf], element: object) -> ListOf:
    return cls([element])


for _element in ELEMENTS:
    _word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _element).lower()
    setattr(ListOf, f"n_{_word}", ListOf.size)
    setattr(ListOf, f"get_{_word}", ListOf.get_at)
    setattr(ListOf, f"set_{_word}", ListOf.set_at)
    setattr(ListOf, f"from_{_word}", classmethod(_of_one))


def gives_list(method: Callable[..., Iterable[Any]]) -> Callable[..., ListOf]:
    """A method whose list has isl's methods."""

    def found(self: Any, *args: Any) -> ListOf:  # noqa: ANN401
        return ListOf(method(self, *args))

    found.__doc__ = method.__doc__
    return found
