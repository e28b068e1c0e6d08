"""CLooG's input files as the maps that isl's `codegen` takes: `benchmarks/loops.py` reads `.cloog` files by this.

A file has a language, the context, the domains of the statements, each a union of polyhedra, and perhaps a scattering
for each statement. A polyhedron is a matrix: a row has 0 for an equality or 1 for `>= 0`, coefficients, and a constant.
Its columns are, in newer files after a line of six numbers,

    output dimensions, input dimensions, existentials, parameters

and in older ones, after a line of two, dimensions and parameters, a scattering's own dimensions first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

WORDS = {"in", "max", "min", "mod", "and", "or", "not", "exists"}  # no names of parameters here


@dataclass
class Matrix:
    """Rows, their length, the number of output dimensions if it is said, and of existentials."""

    rows: list[list[int]]
    width: int
    out: int | None
    exists: int

    def dims(self, params: int) -> int:
        """The dimensions in all, if none is an existential."""
        return self.width - 2 - params

    def text(self, dims: Sequence[str], params: Sequence[str]) -> str:
        """The constraints."""
        fresh = [f"e{k}" for k in range(self.exists)]
        names = [*dims, *fresh, *params, ""]
        rows = [f"{_sum(row[1:], names)} {'>=' if row[0] else '='} 0" for row in self.rows]
        body = " and ".join(rows) or "0 = 0"
        return f"(exists {', '.join(fresh)} : {body})" if fresh else f"({body})"


class Reader:
    """The lines of a file, one after another, without comments."""

    def __init__(self, text: str) -> None:
        lines = (line.split("#")[0].strip() for line in text.splitlines())
        self.lines = [line for line in lines if line]

    def peek(self) -> list[str]:
        """The words of the next line."""
        return self.lines[0].split() if self.lines else []

    def next(self) -> list[str]:
        """The words of the next line, which is read."""
        return self.lines.pop(0).split()

    def count(self) -> int:
        """A number, whatever follows it."""
        return int(self.next()[0])

    def union(self) -> list[Matrix]:
        """Matrices behind their number, which is left out where it is one."""
        return [self.matrix() for _ in range(self.count() if len(self.peek()) == 1 else 1)]

    def matrix(self) -> Matrix:
        """One matrix."""
        head = [int(word) for word in takewhile(str.isdigit, self.next())]
        rows = [[int(word) for word in self.next()[: head[1]]] for _ in range(head[0])]
        return Matrix(rows, head[1], head[2], head[4]) if len(head) >= 6 else Matrix(rows, head[1], None, 0)

    def names(self, many: int) -> list[str] | None:
        """So many names, if a flag says that they follow; their line may be empty where there are none."""
        return self.next() if self.lines and self.count() and many else None


def map_and_context(path: Path) -> str:
    """The scattering within the domains, and the context, as two lines.

    Without scattering the statements are in the order of their iterators, shorter vectors padded with zeros.

    Raises
    ------
    ValueError, IndexError : the file is not in this format, or has no statements.
    """
    reader = Reader(path.read_text(errors="replace"))
    reader.next()  # the language
    header = reader.peek() if len(reader.peek()) > 1 else reader.lines[1].split()
    if not all(re.fullmatch(r"-?\d+", word) for word in header):
        raise ValueError("the context is no matrix")
    context = reader.union()
    n = int(header[5]) if len(header) >= 6 else int(header[1]) - 2
    params = [p + "_" * (p in WORDS) for p in reader.names(n) or [f"p{k}" for k in range(n)]][:n]
    domains = []
    for _ in range(reader.count()):
        domains.append(reader.union())
        if len(reader.peek()) > 1:
            reader.next()  # future options
    reader.names(len(domains))
    scattering = [reader.union() for _ in range(reader.count())] if reader.lines else []
    maps = []
    for k, domain in enumerate(domains):
        first = domain[0]
        iterators = [f"i{d}" for d in range(first.dims(n) if first.out is None else first.out)]
        inside = " or ".join(m.text(iterators, params) for m in domain)
        for times in scattering[k] if scattering else [None]:
            if times is None:
                where, values = "0 = 0", iterators
            else:
                width = times.dims(n) - len(iterators) if times.out is None else times.out
                values = [f"c{d}" for d in range(width)]
                where = times.text([*values, *iterators], params)
            maps.append((f"S{k + 1}[{', '.join(iterators)}]", values, f"{where} and ({inside})"))
    if not maps:
        raise ValueError("no statements")
    width = max(len(values) for _, values, _ in maps)
    texts = [f"{s} -> [{', '.join([*v, *['0'] * (width - len(v))])}] : {where}" for s, v, where in maps]
    given = " or ".join(m.text([], params) for m in context)
    prefix = f"[{', '.join(params)}] -> "
    return f"{prefix}{{ {'; '.join(texts)} }}\n{prefix}{{ : {given} }}"


def _sum(coefficients: Sequence[int], names: Sequence[str]) -> str:
    return " + ".join(f"{c}*{n}" if n else str(c) for c, n in zip(coefficients, names, strict=True) if c) or "0"
