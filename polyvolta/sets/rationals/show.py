"""Printing sets and relations of rational points, in isl's notation: what is printed parses back to an equal object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..engine.rows import Row, negate
from ..text.show import readable_names, tuple_text
from ..text.show_expressions import ISL, show_aff
from ..values.aff import Aff, var
from ..values.build import expression
from ..values.space import Space
from .polyhedron import Polyhedron, last

if TYPE_CHECKING:
    from .points import RationalPoints


def show(s: RationalPoints[Any]) -> str:
    """The set or relation in isl's notation; a space without a point is `A[i] : false`.

    >>> from polyvolta.sets import RationalSet
    >>> print(RationalSet("{ rat: A[i] : i < 0 < i; rat: C[i] : 0 <= 2i <= 3 }"))
    { rat: A[i] : false; rat: C[i] : i >= 0 and 2*i <= 3 }
    """
    s = readable_names(s)
    head = f"[{', '.join(s.param_names)}] -> " if s.param_names else ""
    texts: list[str] = []
    for space, ps in s.parts:
        texts += [_piece(s.param_names, space, p) for p in ps] or [f"{tuple_text(space, {}, ISL)} : false".lstrip()]
    if len(s.parts) > 1:  # isl reads a bare `:` only where it stands alone
        texts = [f"[] {t}".removesuffix(" :") if t.startswith(":") else t for t in texts]
    return f"{head}{{ {'; '.join(f'rat: {t}' for t in texts)} }}" if texts else f"{head}{{ }}"


def _piece(params: Sequence[str], space: Space, p: Polyhedron) -> str:
    names = (*params, *space.dims)
    table: dict[int, Aff] = {k: var(name) for k, name in enumerate(names, 1)}
    inline: dict[str, str] = {}
    texts: list[tuple[int, int, str]] = []  # in order of the dimensions, equalities first
    for eq in p.eqs:
        col = last(eq)
        rest = expression(negate((*eq[:col], *[0] * (len(eq) - col))), table)
        known = len(params) + (space.n_in if col > len(params) + space.n_in else 0)  # outputs are said in inputs
        if eq[col] == 1 and col > len(params) and not any(eq[1 + known : col]):
            inline[names[col - 1]] = show_aff(rest)
        else:
            texts.append((col, 0, f"{_times(eq[col], names[col - 1])} = {show_aff(rest)}"))
    texts += [(col, 1, text) for col, text in _bounds(p, names, table)]
    tuples = tuple_text(space, inline, ISL)
    body = " and ".join(text for _, _, text in sorted(texts, key=lambda t: t[:2]))
    return (f"{tuples} : {body}" if body else tuples) if tuples else f": {body}".rstrip()


def _bounds(p: Polyhedron, names: Sequence[str], table: dict[int, Aff]) -> Iterator[tuple[int, str]]:
    """The inequalities, each of its last dimension; a lower and an upper bound of one multiple stand together."""
    found: dict[tuple[int, int], tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {}
    for rows, sign in ((p.ineqs, "="), (p.strict, "")):
        for row in rows:
            col = last(row)
            up = row[col] < 0
            rest: Row = tuple([0 if k == col else c if up else -c for k, c in enumerate(row)])
            text = show_aff(expression(rest, table))
            found.setdefault((col, abs(row[col])), ([], []))[up].append((text, sign))
    for (col, c), (low, high) in sorted(found.items()):
        x = _times(c, names[col - 1])
        pairs = min(len(low), len(high))
        for (a, a_sign), (b, b_sign) in zip(low[:pairs], high[:pairs]):
            yield col, f"{a} <{a_sign} {x} <{b_sign} {b}"
        yield from ((col, f"{x} >{sign} {a}") for a, sign in low[pairs:])
        yield from ((col, f"{x} <{sign} {b}") for b, sign in high[pairs:])


def _times(c: int, name: str) -> str:
    return name if c == 1 else f"{c}*{name}"
