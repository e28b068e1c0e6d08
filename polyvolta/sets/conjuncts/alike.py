"""Floors that equalities make one, up to a sign and what is added: they need not be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..engine.columns import Div
from ..engine.rows import Row


def alike(n: int, divs: Sequence[Div], solved: Callable[[Row], Row]) -> Iterator[tuple[int, Row]]:
    """The columns of known divs that are functions of earlier columns of others, with what they are.

    What is under each floor is reduced by the divisor after `solved` has substituted equalities in it, and floors of
    which that leaves one are one: with n + j = 3q + 1 there is floor((i + j)/3) = q - floor((n - i + 1)/3). Linear.

    Parameters
    ----------
    n : number of dimensions, whose columns stand before those of the divs.
    solved : a row after substitutions; asked after each column that is found, which it may substitute.
    """
    base, width = 1 + n, 1 + n + len(divs)
    found: dict[tuple[int, Row], tuple[int, int, Row]] = {}  # what is under it: column, sign, what it adds
    for col, div in enumerate(divs, base):
        if div is None:
            continue
        den, row = div
        row = solved((*row, *(0,) * (width - len(row))))
        sign = 1
        if 2 * next((v for v in (w % den for w in row[1:]) if v), 0) > den:
            sign, row = -1, (den - 1 - row[0], *[-v for v in row[1:]])  # floor(-x/d) = -floor((x + d - 1)/d)
        rest = tuple([v % den for v in row])
        whole = tuple([v // den for v in row])
        first, before, added = found.setdefault((den, rest), (col, sign, whole))
        if first != col:
            image = [sign * (v - w) for v, w in zip(whole, added, strict=True)]
            image[first] += sign * before
            if not image[col]:
                yield col, tuple(image)
