"""Recognising quotients: `x = c*q + r with 0 <= r < c` says q = floor(x/c), whichever way it is written.

Two shapes are read, both exactly. A pair of inequalities `0 <= e - c*q <= c - 1` is q = floor(e/c). An
equality `f = g*U + R` with 0 <= R < g, where U stands later than f, says U = floor(f/g): so the inverse of
a fragment's layout, j = 2*(t mod 4) + (r mod 2), gives t mod 4 = floor(j/2) without any search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from ..engine.rows import Row

Range = tuple[int, int, dict[int, int]]
UNLIMITED = 1 << 60  # no column is so late


@dataclass(frozen=True, slots=True)
class Quotient:
    """`form = floor(numerator / den)`; both are rows, the form has no constant."""

    form: list[int]
    den: int
    numerator: list[int]


def from_pair(best: dict[Row, int], pairs: dict[Row, Row], place: Sequence[int]) -> tuple[Row, Row, Quotient] | None:
    """A pair of opposite inequalities that defines its latest column: their keys, and the quotient.

    Parameters
    ----------
    pairs : the keys of opposite ones, each that may define a column with the other.
    place : for each column the dimension that it depends on last; the defined column must be strictly the latest.
    """
    for key, opposite in pairs.items():
        const, other = best[key], best[opposite]
        if const + other < 1 or -(const + other + 1) not in key:
            continue
        col, *others = sorted(compress(range(1, 1 + len(key)), key), key=place.__getitem__, reverse=True)
        if key[col - 1] != -(const + other + 1) or (others and place[others[0]] >= place[col]):
            continue
        form, numerator = [0] * (1 + len(key)), [const, *key]
        form[col], numerator[col] = 1, 0
        return key, opposite, Quotient(form, const + other + 1, numerator)
    return None


def from_equality(row: list[int], place: Sequence[int], bounds: Intervals) -> Quotient | None:
    """The quotient that an equality says: `row = early + g*form + R`, where R keeps within g - 1.

    Only forms with a unit coefficient count: such a quotient can be solved for a column.

    Parameters
    ----------
    place : for each column the dimension that it depends on last; the form must lie strictly behind the early columns.
    bounds : see `Intervals`.
    """
    used = sorted(compress(range(1, len(row)), row[1:]), key=place.__getitem__)
    for g in sorted({abs(row[c]) for c in used} - {1}, reverse=True):
        rest = [c for c in used if row[c] % g]
        latest = max([place[c] for c in used if abs(row[c]) == g])
        first = 0
        if rest and not bounds.divs and not (rest[-1] in bounds.low and rest[-1] in bounds.high):
            first = len(rest)  # the latest has no range, so it cannot be late
        for k in range(first, len(rest) + 1):
            early, late = rest[:k], rest[k:]
            if early and latest <= place[early[-1]]:
                break
            for low, high, extra in bounds({c: row[c] for c in late}):
                if high - low >= g:
                    continue
                form = {c: row[c] for c in used if row[c] % g == 0 and (not early or place[c] > place[early[-1]])}
                numerator = [-v if c not in late and c not in form else 0 for c, v in enumerate(row)]
                numerator[0] -= low
                for c, v in extra.items():
                    form[c] = form.get(c, 0) + v
                if not any(v % g for v in form.values()) and any(abs(v) == g for v in form.values()):
                    return Quotient([form.get(c, 0) // g for c in range(len(row))], g, numerator)
    return None


class Intervals:
    """What bounds forms: the ranges of single columns, and the remainders `e - den*q` of known divs.

    Parameters
    ----------
    rows : inequalities `key . x + const >= 0`, tightened.
    divs : (column, den, row) of the known divs, those that depend on others first.
    """

    __slots__ = ("divs", "high", "limit", "low", "others")

    def __init__(self, rows: dict[Row, int], divs: Iterable[tuple[int, int, list[int]]]) -> None:
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
        self.divs = []
        for col, den, row in divs:
            terms = [(k, v) for k, v in enumerate(row) if k and v]
            if terms:  # one of a constant is still to be replaced
                self.divs.append((col, den, row[0], terms))

    def copy(self) -> Intervals:
        """Another that knows the same, and learns on its own."""
        other = object.__new__(Intervals)
        other.low, other.high, other.others = self.low.copy(), self.high.copy(), self.others
        other.limit, other.divs = self.limit, self.divs
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

    def __call__(self, form: dict[int, int]) -> Iterator[Range]:
        """(low, high, extra): the form less `extra` keeps within low..high, inclusive.

        First by the ranges of single columns, without extra. Then by remainders: one of a known div is bounded, so
        its part of the form is, with a multiple of the div set aside.
        """
        span = self.sum_range(form)
        if span is not None:
            yield *span, {}
        low = high = 0
        left, extra = form, {}
        for col, den, const, terms in self.divs:
            first, v = terms[0]
            c = left.get(first)
            if not c or c % v or col >= self.limit:
                continue
            m = c // v
            if len(terms) > 1 and any(left.get(k) != m * v for k, v in terms):
                continue
            if left is form:
                left = dict(form)
            for k, _ in terms:
                del left[k]
            extra[col] = left.pop(col, 0) + m * den
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
