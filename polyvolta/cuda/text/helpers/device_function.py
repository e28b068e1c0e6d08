"""Device functions of a kernel's text: how one is written, and the collection that a text needs.

A `DeviceFunction` knows its comment, its signature, its lines and the other functions that it calls. A text asks
`DeviceFunctions` for the name of each one that it calls; asked for the same twice, it gives the same name, and asked
for another one of that name it finds a new name. What was asked for is printed, and nothing else.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from polyvolta.cuda.text.c_expr import c_expr
from polyvolta.sets import Aff, aff, var, xor
from polyvolta.sets.values.aff import Xor
from polyvolta.sets.values.simplify import Range

WIDTH = 120
INLINE = "static __device__ __forceinline__"


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function of the text.

    Parameters
    ----------
    name : as it is called, unless the name is taken.
    result : its type.
    parameters : types and names.
    body : lines, not indented.
    about : the comment above it, paragraphs divided by newlines.
    needs : the functions that it calls, by names that are theirs alone.
    """

    name: str
    result: str
    parameters: tuple[str, ...]
    body: tuple[str, ...]
    about: str = ""
    needs: tuple[DeviceFunction, ...] = ()

    def __str__(self) -> str:
        """The definition in C, lines at most 120 wide where they can be.

        >>> print(DeviceFunction("twice", "int", ("int x",), ("return 2 * x;",), "2x"))
        // 2x
        static __device__ __forceinline__ int twice(int x) {
          return 2 * x;
        }
        """
        head = f"{INLINE} {self.result}{'' if self.result.endswith('*') else ' '}{self.name}("
        signature = wrapped(head + ", ".join(self.parameters) + ") {", "    ")
        body = [line for text in self.body for line in wrapped(f"  {text}", " " * (6 + len(text) - len(text.lstrip())))]
        return "\n".join([*comment(self.about), *signature, *body, "}"])


GLUE = "\N{NO-BREAK SPACE}"
"""A space in a comment where no line is broken."""


def comment(text: str, indent: str = "") -> list[str]:
    """Lines of a comment; a line is broken where it says so, in a map before its bounds, else between words.

    Of maps and bands no expression and no bound is broken, but after commas and semicolons.
    """
    mark = f"{indent}// "
    lines: list[str] = []
    for part in "\n".join(_divided(part, WIDTH - len(mark)) for part in text.splitlines()).splitlines():
        glued = re.sub(_INNER, GLUE, part) if part.lstrip().startswith(("{", ":", "BAND: ")) else part
        if max(map(len, glued.split(" "))) > WIDTH - len(mark):
            glued = part
        lines += textwrap.wrap(
            glued, WIDTH, initial_indent=mark, subsequent_indent=mark, break_long_words=False, break_on_hyphens=False
        )
    return [line.replace(GLUE, " ") for line in lines]


def _divided(part: str, width: int) -> str:
    """A map that is too long for a line with its bounds on the next one, and what it leads to on one of its own."""
    if not part.startswith("{") or len(part) <= width:
        return part
    function, *bounds = re.sub(r"^(\{.*) : (.*)$", r"\1\n    : \2", part).splitlines()
    return "\n".join([function if len(function) <= width else function.replace(" -> [", "\n    -> [", 1), *bounds])


_INNER = r"(?<=\S) (?=\S)(?<![,;] )(?!->|: |and )"
"""A space in a map or a band's functions that belongs to a term: not after a comma, nor before an arrow or a bound."""


def wrapped(line: str, more: str) -> list[str]:
    """A line of code in pieces of at most 120 characters, broken after commas and before operators.

    It is broken outside of as many parentheses as can be, there rather after a comma, and as late as can be.

    Parameters
    ----------
    more : what the further pieces start with.

    >>> wrapped("  f(" + "a, " * 40 + "b);", "    ")[1]
    '    a, b);'
    >>> wrapped("  x = f(" + "a, " * 20 + "b) + g(" + "a, " * 20 + "b);", "    ")[1]
    '    + g(a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, b);'
    """
    out = []
    while len(line) > WIDTH:
        if not (at := _break(line)):
            break
        out.append(line[:at])
        line = more + line[at:].lstrip()
    return [*out, line]


def _break(line: str) -> int:
    """Where a line that is too long is broken; 0 where it can't be."""
    depth, best, at = 0, (0, 0), 0  # of parentheses; the place found and how bad it is
    start = len(line) - len(line.lstrip()) + 8
    for found in re.finditer(r'"[^"]*"|[(\[{]|[)\]}]|, | (?:[-+*/?:]|&&|\|\|) ', line):
        token = found[0]
        if found.start() >= WIDTH:
            break
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif token[0] != '"' and found.start() >= start:
            rank = depth, (token != ", ") + (token in (" * ", " / "))
            if not at or rank <= best:
                best, at = rank, found.start() + (token == ", ")
    return at


def places(at: Sequence[Aff], ranges: Mapping[str, Range], name: str = "at") -> tuple[list[str], list[str]]:
    """Several indices as C: where the others are made of the first and constants, a line gives it a name.

    >>> from polyvolta.sets import var
    >>> places([2 * var("k"), 2 * var("k") + 6], {})
    (['const int at = 2 * k;'], ['at', 'at + 6'])
    """
    named = [_named(e, at[0], name) for e in at]
    if any(e == n for e, n in zip(at[1:], named[1:])) or len(at) == 1 or not at[0].terms:
        return [], [c_expr(e, ranges) for e in at]
    known = {**ranges, name: (0, None)}
    return [f"const int {name} = {c_expr(at[0], ranges)};"], [c_expr(e, known) for e in named]


def _named(e: Aff, whole: Aff, name: str) -> Aff:
    """An expression with a name where another one stands in it: plus a constant, or in an exclusive-or."""
    if (e - whole).is_constant:
        return e - whole + var(name)
    total = aff(e.const)
    for atom, c in e.terms:
        if isinstance(atom, Xor) and whole in (atom.left, atom.right):
            other = atom.right if atom.left == whole else atom.left
            total = total + c * xor(var(name), other, atom.bits)
        else:
            total = total + Aff(((atom, c),))
    return total


class DeviceFunctions:
    """The device functions that a text calls, in the order in which they must stand."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self.taken = set(taken)
        self.names: dict[DeviceFunction, str] = {}

    def name(self, function: DeviceFunction) -> str:
        """What a function is called in the text."""
        if function not in self.names:
            for inner in function.needs:
                self.name(inner)
            name, number = function.name, 2
            while name in self.taken:
                name, number = f"{function.name}_{number}", number + 1
            self.taken.add(name)
            self.names[function] = name
        return self.names[function]

    def texts(self) -> list[str]:
        """The definitions, each calling what it needs by its name here."""
        return [str(self.renamed(function)) for function in self.names]

    def renamed(self, function: DeviceFunction) -> DeviceFunction:
        """A function with its name in this text, and those of what it calls."""
        body = function.body
        for inner in function.needs:
            if self.names[inner] != inner.name:
                body = tuple(re.sub(rf"\b{inner.name}\(", f"{self.names[inner]}(", line) for line in body)
        return replace(function, name=self.names[function], body=body)
