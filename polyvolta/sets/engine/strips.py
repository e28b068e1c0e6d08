"""Forms that the parameters determine, found before an optimum is searched.

Compositions of floors and remainders bind their existentials tightly: `8e <= i <= 8e + 7` and `3n <= 17i <= 3n + 7`
leave one e and one i for every n, and no search is needed to say which. A *strip* is what two opposite inequalities
say, `0 <= g*f(x) + s(p) <= w` with a primitive form f of the variables and an affine form s of the parameters. If
w < g, then f is an integer that has one value at most,

    f = floor((w - s) / g)

a floor of parameters. Strips can be combined to rid a form of a variable, the widths adding up, as equalities are in an
elimination: these are strips without width. Each form found is such a strip again, and may let others follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from ..budgets import spend
from .rows import Row

MOST_STRIPS = 24  # that are combined with each other
MOST_FORMS = 12  # that are found

Strip = tuple[Row, int]  # 0 <= row <= width


def determined(n_par: int, eqs: Sequence[Row], ineqs: Sequence[Row]) -> list[tuple[Row, int, Row]]:
    """Forms of the variables with at most one value each: (form, g, row), the form being floor(row / g).

    Parameters
    ----------
    n_par, eqs, ineqs : rows over (const, params, variables), as for `lexopt.lexmin`.

    Returns
    -------
    Forms over the variables; rows over (const, params, forms found before). Every solution satisfies them all.

    Notes
    -----
    Exact but not complete; O(strips^2) combinations for each form that is found.

    Examples
    --------
    8e <= i <= 8e + 7 and 3n <= 17i <= 3n + 7, with the columns n, i, e: i = floor((3n + 7)/17), e = floor(i/8).

    >>> rows = [(0, 0, 1, -8), (7, 0, -1, 8), (0, -3, 17, 0), (7, 3, -17, 0)]
    >>> determined(1, [], rows)
    [((1, 0), 17, (7, 3)), ((0, 1), 8, (0, 0, 1))]
    """
    n_var = len((*eqs, *ineqs)[0]) - 1 - n_par if eqs or ineqs else 0
    strips = _given(n_par, eqs, ineqs)
    found: list[tuple[Row, int, Row]] = []
    known = {r[1 + n_par :] for r, w in strips if not w}
    while len(found) < MOST_FORMS:
        first = 1 + n_par + len(found)
        form = _first(_combined(strips, first), first, known)
        if form is None:
            break
        found.append(form)
        known.add(form[0])
        strips = [((*r[:first], 0, *r[first:]), w) for r, w in strips]
        strips.insert(0, ((*(0,) * first, -1, *form[0]), 0))
        strips = _reduced(strips, first + 1, n_var)
    return found


def _given(n_par: int, eqs: Sequence[Row], ineqs: Sequence[Row]) -> list[Strip]:
    """The strips of a system: its equalities and its pairs of opposite inequalities."""
    strips = [(r, 0) for r in eqs if any(r[1 + n_par :])]
    tight: dict[Row, int] = {}
    for r in ineqs:
        if any(r[1 + n_par :]):
            tight[r[1:]] = min(r[0], tight.get(r[1:], r[0]))
    for key, const in tight.items():
        other = tuple([-v for v in key])
        if key > other and other in tight:
            strips.append(((const, *key), const + tight[other]))
    return sorted(map(_tight, strips), key=lambda s: s[1])[:MOST_STRIPS]


def _tight(strip: Strip) -> Strip:
    """The strip with coefficients that have no common divisor, as tight as it is for integers."""
    row, width = strip
    g = gcd(*row[1:])
    if g < 2:
        return strip
    low = row[0] // g
    return (low, *[v // g for v in row[1:]]), low + (width - row[0]) // g


def _reduced(strips: list[Strip], first: int, n_var: int) -> list[Strip]:
    """The strips, those without width solved for a variable of coefficient 1 and put into the others."""
    out: list[Strip] = []
    left = list(strips)
    while left:
        row, width = left.pop(0)
        col = next((c for c in range(first, first + n_var) if abs(row[c]) == 1), None) if width == 0 else None
        if any(row[first:]):
            out.append((row, width))
        if col is None:
            continue
        left = [_without((r, w), (row, 0), col) if r[col] else (r, w) for r, w in left]
        out[:-1] = [_without((r, w), (row, 0), col) if r[col] else (r, w) for r, w in out[:-1]]
    return out


def _without(a: Strip, b: Strip, col: int) -> Strip:
    """The combination of two strips in which a column vanishes."""
    (r, v), (s, w) = a, b
    g = gcd(r[col], s[col])
    up, down = abs(s[col]) // g, r[col] // g * (-1 if s[col] > 0 else 1)
    const = 0 if down >= 0 else down * w  # what -s contributes is at least -w
    row = [up * x + down * y for x, y in zip(r, s, strict=True)]
    row[0] -= const
    return _tight((tuple(row), up * v + abs(down) * w))


def _combined(strips: list[Strip], first: int) -> Iterable[Strip]:
    """The strips, and those that two of them make without one of their variables."""
    yield from strips
    for k, a in enumerate(strips):
        for b in strips[:k]:
            spend()
            if a[1] or b[1]:
                yield from (_without(a, b, c) for c in range(first, len(a[0])) if a[0][c] and b[0][c])


def _first(strips: Iterable[Strip], first: int, known: set[Row]) -> tuple[Row, int, Row] | None:
    """The first form that a strip determines, and that is not known."""
    for row, width in strips:
        g = gcd(*row[first:])
        if not g or width >= g:
            continue
        sign = 1 if next(v for v in row[first:] if v) > 0 else -1
        form = tuple([sign * v // g for v in row[first:]])
        if form in known:
            continue
        if sign > 0:
            return form, g, (width - row[0], *[-v for v in row[1:first]])
        return form, g, row[:first]
    return None
