"""Integer rows: the one data structure under every set.

A row is a tuple of ints `(const, c1, ..., cn)` and means the affine form `const + c1*x1 + ... + cn*xn`. Read
as an equality it says `= 0`, as an inequality `>= 0`. Over the integers two rewritings cost nothing and cut
much:

- an inequality whose coefficients share a factor g is divided by it and its constant *floored*: `2x - 1 >=
  0` becomes `x - 1 >= 0`, which is stronger over the rationals and the same over the integers;
- an equality whose coefficients share a factor that does not divide the constant has no solution at all.

The negation of an integer inequality is again one: not `r >= 0` is `-r - 1 >= 0`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from math import gcd
from operator import add, itemgetter, mul, neg, sub
from typing import overload

Row = tuple[int, ...]

FEW = 6  # rows in the plane, up to which all their corners are tried; of more, one in ten shows a point that way


def picker(columns: Sequence[int]) -> Callable[[Sequence[int]], Row]:
    """The function that takes these entries of a row, in this order.

    >>> picker((2, 0))((5, 6, 7)), picker((1,))((5, 6, 7))
    ((7, 5), (6,))
    """
    if len(columns) > 1:
        return itemgetter(*columns)
    return lambda row: tuple([row[k] for k in columns])


def normal_ineq(row: Sequence[int]) -> Row | bool:
    """The tightest inequality with the same integer solutions; True or False when there is no variable in it.

    Cost O(n) gcds; exact over the integers.

    >>> normal_ineq((-1, 2, 4)), normal_ineq((3, 0, 0)), normal_ineq((-1, 0, 0))
    ((-1, 1, 2), True, False)
    """
    g = gcd(*row[1:])
    if g == 1:
        return row if type(row) is tuple else tuple(row)
    if g == 0:
        return row[0] >= 0
    return tuple([c // g for c in row])


def strongest(rows: Iterable[Sequence[int]]) -> dict[Row, int] | None:
    """The inequalities, tightened, the strongest of parallel ones: coefficients -> constant; None if one never holds.

    >>> strongest([(-1, 2, 0), (3, 1, 0), (5, 0, 0)])
    {(1, 0): -1}
    """
    best: dict[Row, int] = {}
    for row in rows:
        key, const = tuple(row[1:]), row[0]
        g = gcd(*key)
        if g != 1:
            if not g:
                if const < 0:
                    return None
                continue
            key, const = tuple([c // g for c in key]), const // g
        if best.setdefault(key, const) > const:
            best[key] = const
    return best


def normal_eq(row: Sequence[int]) -> Row | bool:
    """The primitive equality, first variable coefficient positive; True for `0 = 0`, False if unsolvable.

    Cost O(n) gcds; exact over the integers.

    >>> normal_eq((4, -2, 6)), normal_eq((1, 2, 4)), normal_eq((0, 0))
    ((-2, 1, -3), False, True)
    """
    tail = row[1:]
    g = gcd(*tail)
    if g == 0:
        return row[0] == 0
    if row[0] % g:
        return False
    lead = next(filter(None, tail))
    if g == 1:
        return tuple(row) if lead > 0 else tuple(map(neg, row))
    if lead < 0:
        g = -g
    return tuple([c // g for c in row])


def combine(a: int, ra: Sequence[int], b: int, rb: Sequence[int]) -> Row:
    """The row `a*ra + b*rb`.

    >>> combine(2, (1, 0), -1, (3, 5))
    (-1, -5)
    """
    if a == 1 == b:
        return tuple(map(add, ra, rb))
    return tuple([a * x + b * y for x, y in zip(ra, rb, strict=True)])


def negate(row: Sequence[int]) -> Row:
    """The row `-row`."""
    return tuple(map(neg, row))


def complement(row: Sequence[int]) -> Row:
    """The inequality that holds at exactly those integer points where `row >= 0` does not.

    >>> complement((0, 1))
    (-1, -1)
    """
    out = list(map(neg, row))
    out[0] -= 1
    return tuple(out)


def dot(a: Iterable[int], b: Iterable[int]) -> int:
    """The sum of products of two equally long vectors."""
    return sum(map(mul, a, b))


@lru_cache(maxsize=64)
def units(n: int) -> tuple[Row, ...]:
    """The unit vectors.

    >>> units(2)
    ((1, 0), (0, 1))
    """
    return tuple([(0,) * k + (1,) + (0,) * (n - 1 - k) for k in range(n)])


def dots(row: Sequence[int], vectors: Iterable[Sequence[int]]) -> list[int]:
    """The products `dot(row, v)` of a row that has few entries with many vectors.

    >>> dots((2, 0, -1), [(1, 5, 1), (0, 5, 4)])
    [1, -4]
    """
    places = list(compress(range(len(row)), row))
    if len(places) == 2:
        j, k = places
        a, b = row[j], row[k]
        return [a * v[j] + b * v[k] for v in vectors]
    if len(places) == 1:
        (k,) = places
        a = row[k]
        return [a * v[k] for v in vectors]
    return [sum(map(mul, row, v)) for v in vectors]


def evaluate(row: Sequence[int], point: Sequence[int]) -> int:
    """The value of the row at an integer point.

    >>> evaluate((1, 2, 3), (10, 100))
    321
    """
    return row[0] + sum(map(mul, row[1:], point))


def values_at(row: Sequence[int], columns: Sequence[Sequence[int]]) -> list[int]:
    """The values of the row at some points (1, x), at least one, which are given by columns.

    O(points) for each entry of the row that is not 0.

    >>> values_at((1, 2, 3), [(1, 1), (10, 0), (100, 5)])
    [321, 16]
    """
    const = row[0]
    terms = [(row[k], columns[k]) for k in compress(range(1, len(row)), row[1:])]
    if not terms:
        return [const] * len(columns[0])
    v, xs = terms[0]
    if len(terms) == 1:
        return [const + v * x for x in xs]
    w, ys = terms[1]
    found = [const + v * x + w * y for x, y in zip(xs, ys, strict=True)]
    for v, xs in terms[2:]:
        found = [s + v * x for s, x in zip(found, xs, strict=True)]
    return found


def substitute(row: Sequence[int], images: Sequence[Sequence[int]], width: int) -> Row:
    """The row after every variable i is replaced by the affine form `images[i]` of `width` new variables.

    Cost O(nonzero coefficients * width).

    >>> substitute((1, 2, 3), ((0, 1), (5, -1)), 1)
    (16, -1)
    """
    out = [row[0]] + [0] * width
    for c, image in zip(row[1:], images, strict=True):
        if c == 1:
            out = list(map(add, out, image))
        elif c:
            out = [a + c * b for a, b in zip(out, image, strict=True)]
    return tuple(out)


def substitute_all(rows: Iterable[Sequence[int]], images: Sequence[Sequence[int]], width: int) -> list[Row]:
    """`substitute` for several rows; O(entries of the images that are not 0) for each entry of a row that is not 0.

    >>> substitute_all([(1, 2, 3)], ((0, 1), (5, -1)), 1)
    [(16, -1)]
    """
    terms = [[(k, v) for k, v in enumerate(image) if v] for image in images]
    out = []
    for row in rows:
        new = [row[0], *(0,) * width]
        for c, image in zip(row[1:], terms, strict=True):
            if c:
                for k, v in image:
                    new[k] += c * v
        out.append(tuple(new))
    return out


@overload
def replaced(row: Row, k: int, image: Sequence[int]) -> Row: ...
@overload
def replaced(row: Sequence[int], k: int, image: Sequence[int]) -> Sequence[int]: ...
def replaced(row: Sequence[int], k: int, image: Sequence[int]) -> Sequence[int]:
    """The row with entry k replaced by the form `image` over the same entries, which may mention k itself.

    Cost O(n), nothing when entry k is 0.

    >>> replaced((1, 2, 3), 1, (5, 0, 1))
    (11, 0, 5)
    """
    c = row[k]
    if not c:
        return row
    if c == 1:
        out = list(map(add, row, image))
    elif c == -1:
        out = list(map(sub, row, image))
    else:
        out = [a + c * b for a, b in zip(row, image, strict=True)]
    out[k] -= c
    return tuple(out)


def solved_for(eq: Sequence[int], k: int) -> Row:
    """What an equality says entry k, whose coefficient is 1 or -1, to be equal to.

    >>> solved_for((5, 2, -1), 2), solved_for((5, 1, 2), 1)
    ((5, 2, 0), (-5, 0, -2))
    """
    out = list(eq) if eq[k] < 0 else list(map(neg, eq))
    out[k] = 0
    return tuple(out)


def unbounded(rows: Sequence[Row]) -> bool:
    """Whether plainly all rows `>= 0` hold where some columns are as large as it takes, whatever the others are.

    A column that all rows allow to grow, or all to fall, satisfies those that it is in. O(size) for each round of them.

    >>> unbounded([(0, 0, 1), (-1, 1, -1)]), unbounded([(0, 1, 0), (7, -1, 0)])
    (True, False)
    """
    signs = [{k if row[k] > 0 else -k for k in compress(range(1, len(row)), row[1:])} for row in rows]
    while signs:
        every = set().union(*signs)
        free = every.difference(map(neg, every))
        if not free:
            return False
        signs = [s for s in signs if free.isdisjoint(s)]
    return True


def cornered(rows: Sequence[Row]) -> bool:
    """Whether the point nearest to where two of a few rows in the plane are 0 satisfies them all.

    Then there is an integer point, be it the tip of a needle; a False says nothing. O(rows^3) products, no fractions.

    >>> cornered([(0, 0, 1), (-100000, 300000, -299999), (200000, -300000, 299998)]), cornered([(-1, 2, 0), (1, -2, 0)])
    (True, False)
    """
    if len(rows) > FEW:
        return False
    for k, (c, a, b) in enumerate(rows):
        for f, d, e in rows[:k]:
            det = a * e - b * d
            if det:
                x, y = (2 * (b * f - c * e) + det) // (2 * det), (2 * (c * d - a * f) + det) // (2 * det)
                for w, u, v in rows:
                    if w + u * x + v * y < 0:
                        break
                else:
                    return True
    return False


def falls(row: Row, rows: Sequence[Row]) -> bool:
    """Whether some variable takes `row` below any bound from every point at which `rows` hold, which keep holding.

    So they do not imply it where they have a point; it may be one of them itself. O(size); a False says nothing.

    >>> falls((0, 1, 0), [(5, -1, 0), (0, 0, 1)]), falls((0, 1, 0), [(2, 1, 0)])
    (True, False)
    """
    for k in compress(range(1, len(row)), row[1:]):
        v = row[k]
        for r in rows:
            if v * r[k] > 0 and r is not row:
                break
        else:
            return True
    return False
