"""Equalities that say a congruence by the quotients of several divisions, told by that congruence.

Normal rows have small numbers. So `(i + 3j) mod 6 = 1` is kept as `i = 3p + 1` and `j = 2q - p`, with the quotients
p = floor(i/3) and q = floor((i + 3j)/6). Where equalities say which remainder a division leaves, its quotient is a
fraction of the dimensions, and this may stand in its place. Then the second equality is the congruence itself, and the
first follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from math import gcd, lcm

from ..conjuncts.conjunct import Conjunct
from ..conjuncts.lattice import echelon
from ..engine.rows import Row, negate


def with_congruences(eqs: Sequence[Sequence[int]], c: Conjunct) -> list[tuple[Sequence[int], int]]:
    """Equalities of a conjunct, each as (row, 0), or as a congruence (row over the dimensions, modulus).

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("{ [i, j] : (i + 3j) mod 6 = 1 }").parts
    >>> c.eqs, with_congruences(c.eqs, c)
    (((-1, 1, 0, -3, 0), (0, 0, 1, 1, -2)), [((-1, 1, 3), 6)])
    """
    base = 1 + c.n
    out: list[tuple[Sequence[int], int]] = [(row, 0) for row in eqs]
    if not c.divs or not _several(eqs, c):
        return out
    quotients: dict[int, Row] = {}  # div column -> an equality of it and dimensions alone
    stated: dict[int, tuple[Row, int]] = {}  # what eqs[k] says as a congruence
    told, size = False, -1
    while len(quotients) > size:
        size = len(quotients)
        for k, row in enumerate(eqs):
            cols = [q for q in range(base, len(row)) if row[q] and q not in quotients]
            div = c.divs[cols[0] - base] if len(cols) == 1 else None
            if div is None:
                continue
            q, (den, num) = cols[0], div
            own = (*num[:q], -den, *[0] * (len(row) - q - 1))
            flat, wanted = _flat(row, quotients, base), _flat(own, quotients, base)
            flat = flat if flat[q] < 0 else negate(flat)
            rest = wanted[0] * flat[q] - flat[0] * wanted[q]  # the remainder, times what the division by den is
            if _parallel(flat, wanted) and 0 >= rest > -flat[q] * wanted[q]:
                quotients[q] = flat
                stated[k] = flat[:base], -flat[q]
                told |= not _parallel(row, own)
    if not told:  # each reads as a congruence by itself
        return out
    for k in stated:
        if sum(map(bool, eqs[k][base:])) > 1:
            out[k] = stated[k]
    gone = _implied(stated)
    return [found for k, found in enumerate(out) if k not in gone]


def _several(eqs: Sequence[Sequence[int]], c: Conjunct) -> bool:
    """Whether there may be a remainder to begin with, and an equality of several quotients."""
    base, several, remainders = 1 + c.n, False, False
    for row in eqs:
        quotients = row[base:]
        if (left := len(quotients) - quotients.count(0)) != 1:
            several |= left > 1
        elif not remainders:
            div = c.divs[next(compress(count(), quotients))]
            remainders = div is not None and [*map(bool, row[1:base])] == [*map(bool, div[1][1:base])]
        if several and remainders:
            return True
    return False


def _flat(row: Sequence[int], quotients: dict[int, Row], base: int) -> Row:
    """A primitive row with the same sign, in which known quotients are fractions of dimensions."""
    for q, given in quotients.items():
        if row[q]:
            up, factor = -given[q], row[q]
            row = [up * a + factor * b for a, b in zip(row, given, strict=True)]
    g = gcd(*row) or 1
    return tuple([v // g for v in row])


def _parallel(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether rows are multiples of one another, their constants aside."""
    at = next((k for k, v in enumerate(other) if v and k), 0)
    return all(a * other[at] == b * one[at] for a, b in zip(one[1:], other[1:], strict=True))


def _implied(stated: dict[int, tuple[Row, int]]) -> list[int]:
    """Congruences that follow from the others, found one after the other.

    Of a common modulus they are the combinations of the others and its multiples.
    """
    whole = lcm(*[m for _, m in stated.values()])
    wide = {k: tuple([whole // m * v for v in row]) for k, (row, m) in stated.items()}
    n = len(next(iter(wide.values())))
    units = [tuple([whole * (i == j) for i in range(n)]) for j in range(n)]
    out: list[int] = []
    for k, row in list(wide.items()):
        others = [*[r for j, r in wide.items() if j != k], *units]
        if echelon([*others, row]) == echelon(others):
            del wide[k]
            out.append(k)
    return out
