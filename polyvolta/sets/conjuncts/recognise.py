"""Recognising quotients: `x = c*q + r with 0 <= r < c` says q = floor(x/c), whichever way it is written.

Two shapes are read, both exactly. A pair of inequalities `0 <= e - c*q <= c - 1` is q = floor(e/c). An
equality `f = g*U + R` with 0 <= R < g, where U stands later than f, says U = floor(f/g): so the inverse of
a fragment's layout, j = 2*(t mod 4) + (r mod 2), gives t mod 4 = floor(j/2) without any search. What bounds R are
the ranges of columns, of what an equality gives, and of digits: floor(x/8) - 4*floor(x/32) is 0 to 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from math import gcd
from operator import neg
from typing import NamedTuple

from ..engine.rows import Row

Range = tuple[int, int, dict[int, int]]
UNLIMITED = 1 << 60  # no column is so late


class Quotient(NamedTuple):
    """`form = floor(numerator / den)`; both are rows, the form has no constant."""

    form: list[int]
    den: int
    numerator: list[int]


def from_pair(
    best: dict[Row, int], pairs: dict[Row, Row], place: Sequence[int], unknown: frozenset[int]
) -> tuple[Row, Row, Quotient] | None:
    """A pair of opposite inequalities that defines its latest column: their keys, and the quotient.

    Parameters
    ----------
    pairs : the keys of opposite ones, each that may define a column with the other.
    place : for each column the dimension that it depends on last; the defined column must be strictly the latest.
    unknown : columns of existentials. Of two with `0 <= x - 4e - 16f <= 3` there is e + 4f = floor(x/4).
    """
    for key, opposite in pairs.items():
        const, other = best[key], best[opposite]
        if const + other < 1 or -(const + other + 1) not in key:
            continue
        col, *others = sorted(compress(range(1, 1 + len(key)), key), key=place.__getitem__, reverse=True)
        if col in unknown:
            den = const + other + 1
            rest = [c for c in (col, *others) if key[c - 1] % den]
            if len(rest) <= len(others) and not unknown.intersection(rest):
                form = [0, *[0 if v % den else -v // den for v in key]]
                if any(form[c] in (1, -1) for c in unknown):
                    return key, opposite, Quotient(form, den, [const, *[v if v % den else 0 for v in key]])
            continue
        if key[col - 1] != -(const + other + 1) or (others and place[others[0]] >= place[col]):
            continue
        form, numerator = [0] * (1 + len(key)), [const, *key]
        form[col], numerator[col] = 1, 0
        return key, opposite, Quotient(form, const + other + 1, numerator)
    return None


def from_equality(
    row: list[int], place: Sequence[int], bounds: Intervals, base: int, strides: bool = True, wide: bool = False
) -> Quotient | None:
    """The quotient that an equality says: `row = early + g*form + R`, where R keeps within g - 1.

    Only forms with a unit coefficient count: such a quotient can be solved for a column.

    Parameters
    ----------
    place : for each column the dimension that it depends on last; the form must lie strictly behind the early columns.
    bounds : see `Intervals`.
    base : the column of the first div.
    strides : whether R may be nothing, so that the numerator is a multiple of g.
    wide : whether a form of several divs and no dimension counts where remainders of other divs bound R; it defines
        none of them.
    """
    used = sorted(compress(range(1, len(row)), row[1:]), key=place.__getitem__)
    for g in sorted({abs(row[c]) for c in used} - {1}, reverse=True):
        rest = [c for c in used if row[c] % g]
        latest = max([place[c] for c in used if abs(row[c]) == g])
        first = 0
        if rest and not bounds.divs and not (rest[-1] in bounds.low and rest[-1] in bounds.high):
            first = len(rest)  # the latest has no range, so it cannot be late
        for k in range(first, len(rest) + strides):
            early, late = rest[:k], rest[k:]
            if early and latest <= place[early[-1]]:
                break
            for low, high, extra in bounds({c: row[c] for c in late}, g):
                if high - low >= g:
                    continue
                form = {c: row[c] for c in used if row[c] % g == 0 and (not early or place[c] > place[early[-1]])}
                numerator = [-v if c not in late and c not in form else 0 for c, v in enumerate(row)]
                for c, v in extra.items():
                    form[c] = form.get(c, 0) + v
                if any(v % g for v in form.values()):
                    continue
                units = [c for c, v in form.items() if abs(v) == g]
                if units and (wide or not extra or min(units) < base or len([*filter(None, form.values())]) == 1):
                    numerator[0] = _plainest(numerator, g, numerator[0] - low, numerator[0] + g - 1 - high)
                    return Quotient([form.get(c, 0) // g for c in range(len(row))], g, numerator)
    return None


def _plainest(numerator: Sequence[int], g: int, least: int, most: int) -> int:
    """The constant of least..most with which floor(numerator/g) reads best, where all of them say the same.

    That is a multiple of g if there is one, so floor(x/32) and not floor((x + 7)/32); else the least one. It is chosen
    for the form whose first coefficient is positive, as the normal form writes floors: floor((k - x)/g) is
    -floor((x + g - 1 - k)/g).

    >>> _plainest([0, 1], 32, 0, 7), _plainest([0, -1], 32, 24, 31), _plainest([0, 1], 32, 3, 9)
    (0, 31, 3)
    """
    half = (g - 1) // 2
    first = next((v for v in numerator[1:] if v % g), 0)
    if (first + half) % g < half:
        k = most - (most + 1) % g  # the last one with g - 1 - k a multiple of g
        return k if k >= least else most
    k = least + -least % g
    return k if k <= most else least


def digits(divs: Sequence[tuple[int, int, Sequence[int]]]) -> list[tuple[int, int, int, int]]:
    """Pairs of divs that one number's digits lie between: (coarse, r, const, fine) is coarse = floor((fine + const)/r).

    Parameters
    ----------
    divs : (column, den, row) of known divs.

    >>> digits([(2, 8, (0, 1)), (3, 32, (17, 1))])
    []
    >>> digits([(2, 8, (0, 1)), (3, 32, (16, 1))])
    [(3, 4, 2, 2)]
    """
    found = []
    for coarse, wide, row in divs:
        for fine, den, other in divs:
            if den < wide and not wide % den and not (row[0] - other[0]) % den and row[1:] == other[1:]:
                found.append((coarse, wide // den, (row[0] - other[0]) // den, fine))
    return found


class Intervals:
    """What bounds forms: the ranges of single columns, and the remainders `e - den*q` of known divs.

    Parameters
    ----------
    rows : inequalities `key . x + const >= 0`, tightened.
    divs : (column, den, row) of the known divs, those that depend on others first.
    """

    __slots__ = ("digits", "divs", "high", "limit", "low", "others")

    def __init__(self, rows: dict[Row, int], divs: Sequence[tuple[int, int, list[int]]]) -> None:
        self.low: dict[int, int] = {}
        self.high: dict[int, int] = {}
        self.limit = UNLIMITED  # divs from this column on are not to be used
        self.others: list[Row] = []  # the rows of several variables
        low, high, others = self.low, self.high, self.others
        alone = len(next(iter(rows), ())) - 1  # so many zeros leave one variable
        for key, const in rows.items():
            if key.count(0) != alone:
                others.append(key)
            elif 1 in key:
                low[1 + key.index(1)] = -const
            else:
                high[1 + key.index(-1)] = const
        self.divs, self.digits = [], []
        if not divs:
            return
        for col, den, row in divs:
            terms = [(k, v) for k, v in enumerate(row) if k and v]
            if terms:  # one of a constant is still to be replaced
                self.divs.append((col, den, row[0], terms))
        self.digits = digits(divs) if len(divs) > 1 else []
        self.divs += [(col, r, const, [(fine, 1)]) for col, r, const, fine in self.digits]
        self.reckon()

    def reckon(self) -> None:
        """The ranges of divs, by those of what they are floors of."""
        for col, den, const, terms in reversed(self.divs) if self.low and self.high else ():
            span = None if col in self.low and col in self.high else self.sum_range(dict(terms))
            if span is not None:
                self.low.setdefault(col, (const + span[0]) // den)
                self.high.setdefault(col, (const + span[1]) // den)

    def solved(self, row: Sequence[int], best: dict[Row, int], col: int) -> Intervals:
        """What is known besides of a column that an equality gives: the range of what it equals.

        Only for what takes away no row, for the rows `best` that bound it may follow from this range.
        """
        sign = row[col]
        form = [-sign * v for v in row]
        form[col] = 0
        g = gcd(*form[1:])
        key = tuple([v // g for v in form[1:]]) if g else ()
        least, most = best.get(key), best.get(tuple(map(neg, key)))
        if least is None or most is None:
            return self
        other = self.copy()
        other.low[col], other.high[col] = form[0] - g * least, form[0] + g * most
        other.reckon()
        return other

    def copy(self) -> Intervals:
        """Another that knows the same, and learns on its own."""
        other = object.__new__(Intervals)
        other.low, other.high, other.others = self.low.copy(), self.high.copy(), self.others
        other.limit, other.divs, other.digits = self.limit, self.divs, self.digits
        return other

    def learn(self, key: Row, const: int) -> None:
        """Take note of an inequality in one variable."""
        if 1 in key:
            self.low[1 + key.index(1)] = -const
        else:
            self.high[1 + key.index(-1)] = const

    def reach(self, limit: int) -> bool:
        """Whether there may be something that bounds a form, divs before a column counted."""
        return bool(self.low and self.high) or bool(self.divs and self.divs[-1][0] < limit)

    def __call__(self, form: dict[int, int], g: int) -> Iterator[Range]:
        """(low, high, extra): the form less `extra`, which is a multiple of g, keeps within low..high, inclusive.

        First by the ranges of single columns, without extra. Then by remainders: one of a known div is bounded, so
        its part of the form is, with a multiple of the div set aside. Remainders as wide as g lead nowhere, and those
        that cancel a div of the form come first.
        """
        span = self.sum_range(form)
        if span is not None:
            yield *span, {}
        divs = [d for d in self.divs if d[3][0][0] in form and d[0] < self.limit]
        if not divs:
            return
        if len(divs) > 1:
            divs.sort(key=lambda d: d[0] not in form)
        low = high = 0
        left, extra = dict(form), {}
        for col, den, const, terms in divs:
            first, v = terms[0]
            c = left.get(first)
            if not c or c % v:
                continue
            m = c // v
            if abs(m) * (den - 1) >= g or (extra.get(col, 0) + left.get(col, 0) + m * den) % g:
                continue
            if len(terms) > 1 and any(left.get(k) != m * v for k, v in terms):
                continue
            for k, _ in terms:
                del left[k]
            extra[col] = extra.get(col, 0) + left.pop(col, 0) + m * den
            ends = (-m * const, m * (den - 1 - const))
            low, high = low + min(ends), high + max(ends)
        span = self.sum_range(left) if extra else None
        if span is not None:
            yield low + span[0], high + span[1], extra

    def sum_range(self, form: dict[int, int]) -> tuple[int, int] | None:
        """The range of a form by the ranges of its columns."""
        least = most = 0
        for col, c in form.items():
            low, high = self.low.get(col), self.high.get(col)
            if low is None or high is None:
                return None
            if c > 0:
                least, most = least + c * low, most + c * high
            else:
                least, most = least + c * high, most + c * low
        return least, most
