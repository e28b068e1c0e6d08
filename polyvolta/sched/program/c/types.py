"""Types of C: what a declaration says of its name, and what an expression is for that.

An expression in Python rounds where numpy does, which is not always where C does: `0.1f` is a double to Python, and an
element of single precision stays single beside it. So an expression has a kind that says both what C takes it for and
what Python has at that place:

    int       an integer of Python's: an iterator, a size, a number        many     an element or a local, an integer
    double    a double                                                     float    an element, single in numpy, too
    single    a number of type float that Python has as a double of the same value
    rounded   the same, but Python has not rounded it: right only where it meets an element of single precision
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["int", "many", "double", "float", "single", "rounded"]
INTEGERS = ("int", "many")

NARROW = {"char", "short", "signed", "unsigned", "int", "long"}
STANDARD = {
    "size_t": "unsigned long", "ptrdiff_t": "long", "ssize_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long",
    "int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
    "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int", "uint64_t": "unsigned long",
}  # fmt: skip
PRELUDE = "".join(f"typedef {words} {name};" for name, words in STANDARD.items()) + '\n# 1 "C"\n'


@dataclass(frozen=True, slots=True)
class Number:
    """An expression in Python, in brackets where it is not one word, and its kind."""

    text: str
    kind: Kind

    @property
    def double(self) -> str:
        """The same as a double of Python's own."""
        if self.kind in ("double", "single"):
            return self.text
        return f"{self.text}.0" if self.text.isdigit() else f"float({self.text})"


@dataclass(frozen=True, slots=True)
class Name:
    """What a name is: its type in the words of C, without typedefs, and its role."""

    words: tuple[str, ...]
    role: Literal["array", "argument", "local", "iterator"]

    @property
    def whole(self) -> bool:
        """Whether it holds integers."""
        return {*self.words} <= NARROW

    @property
    def kind(self) -> Kind:
        """The kind of an expression that is this name, or an element of it."""
        if self.whole:
            return "int" if self.role in ("argument", "iterator") else "many"
        if self.words == ("double",):
            return "double"
        return "float" if self.role == "array" else "rounded"


def typedefs(tree: Any) -> dict[str, Any]:  # noqa: ANN401 - pycparser's tree
    """What each typedef of a text stands for."""
    return {node.name: node.type for node in tree.ext if type(node).__name__ == "Typedef"}


def words_of(kind: Any, known: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:  # noqa: ANN401
    """The words of a type without its typedefs, of the element if it is an array's; and whether it is."""
    array = False
    while True:
        match type(kind).__name__:
            case "ArrayDecl" | "PtrDecl":
                array, kind = True, kind.type
            case "TypeDecl" | "Typename":
                kind = kind.type
            case "IdentifierType" if len(kind.names) == 1 and kind.names[0] in known:
                kind = known[kind.names[0]]
            case "IdentifierType":
                return tuple(kind.names), array
            case other:
                return (other.lower(),), array
