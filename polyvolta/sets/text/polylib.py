"""PolyLib's notation for sets and relations, which isl reads, too: matrices, a row for each constraint.

    3 4            rows and columns
    0 1 -1 0       0 for an equality; what the dimensions have before them, the constant: i0 - i1 = 0
    1 1  0 -1      1 for an inequality: i0 - 1 >= 0
    1 -1 0 163

Four numbers more in the first line say how many of the columns are outputs, inputs, existentials and parameters, in
this order; without them all are dimensions of a set. Where a number stands alone in the first line, so many matrices
follow, one a piece. `#` begins a comment. Dimensions are called i0, i1, ..., outputs of a relation o0, parameters p0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..errors import SetSyntaxError

BEGINS = re.compile(r"\s*(#.*\n\s*)*\d")  # a text of this notation, and of no other

Line = tuple[str, list[int]]
"""A line and its numbers."""


def in_isls_notation(text: str) -> str:
    """The same set or relation in isl's notation. Cost: linear in the text.

    Raises
    ------
    SetSyntaxError : with the line, and what was expected.

    >>> in_isls_notation("2 4 # rows and columns" + chr(10) + "1 1 0 0" + chr(10) + "0 1 -2 1")
    '[] -> { [i0, i1] : i0 >= 0 and i0 - 2*i1 + 1 = 0 }'
    """
    lines = _lines(text)
    first = next(lines)
    many = len(first[1]) == 1
    count = first[1][0] if many else 1
    if count < 1:
        raise SetSyntaxError("at least one matrix is needed", where=first[0])
    pieces = [_piece(next(lines, ("", [])) if many else first, lines) for _ in range(count)]
    rest = next(lines, None)
    if rest is not None:
        raise SetSyntaxError(
            "expected the end of the text", where=rest[0], hint="the first line says how many rows there are"
        )
    most = max(params for params, _ in pieces)
    return f"[{', '.join(_names('p', most))}] -> {{ {'; '.join(text for _, text in pieces)} }}"


def _lines(text: str) -> Iterator[Line]:
    """The lines with numbers."""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            try:
                yield line, [int(w) for w in words]
            except ValueError:
                raise SetSyntaxError("expected integers", where=line, hint="a row is written 1 2 -1 0") from None


def _piece(head: Line, lines: Iterator[Line]) -> tuple[int, str]:
    """How many parameters a matrix has, and its part of the text."""
    where, numbers = head
    if len(numbers) not in (2, 6) or min(numbers) < 0:
        raise SetSyntaxError(
            "expected the numbers of rows and columns", where=where, hint="after them there may be four more"
        )
    rows, columns, n_out, n_in, n_local, n_params = (
        numbers if len(numbers) == 6 else (*numbers, numbers[1] - 2, 0, 0, 0)
    )
    names = [*_names("o" if n_in else "i", n_out), *_names("i", n_in), *_names("e", n_local), *_names("p", n_params)]
    if len(names) != columns - 2:
        raise SetSyntaxError(f"of {columns} columns {columns - 2} are dimensions, not {len(names)}", where=where)
    said = [_constraint(next(lines, ("", [])), columns, names) for _ in range(rows)]
    formula = " and ".join(said)
    if n_local:
        formula = f"exists ({', '.join(_names('e', n_local))} : {formula or 'true'})"
    out = f"[{', '.join(names[:n_out])}]"
    space = f"[{', '.join(names[n_out : n_out + n_in])}] -> {out}" if n_in else out
    return n_params, f"{space} : {formula}" if formula else space


def _constraint(line: Line, columns: int, names: Sequence[str]) -> str:
    where, row = line
    if len(row) != columns or row[0] not in (0, 1):
        raise SetSyntaxError(
            f"expected a row of {columns} numbers", where=where, hint="the first is 0 for =, 1 for >= 0"
        )
    terms = [(v, f"{'' if abs(v) == 1 else f'{abs(v)}*'}{n}") for v, n in zip(row[1:], names, strict=False) if v]
    if row[-1] or not terms:
        terms.append((row[-1], str(abs(row[-1]))))
    shown = "".join(f" {'-' if v < 0 else '+'} {t}" for v, t in terms)
    shown = shown[3:] if shown.startswith(" + ") else f"-{shown[3:]}"
    return f"{shown} {'=' if row[0] == 0 else '>='} 0"


def _names(letter: str, n: int) -> list[str]:
    return [f"{letter}{k}" for k in range(n)]
