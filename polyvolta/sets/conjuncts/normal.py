"""The normal form of a conjunction: what two spellings of the same constraints have in common.

Six rewritings, each of which keeps the integer points, repeated until nothing changes:

1. *Equalities are solved.* One with a unit coefficient replaces a column everywhere. The column is the one
   that stands latest: an output is a function of inputs, not the other way round. A known div ranks just
   behind the latest dimension in it, so `o = floor(i/8)` stays a floor when o comes after i, while `b =
   floor(i/8)` with b before i becomes `8b <= i <= 8b + 7` and the div is gone.
2. *Unknown divs in an equality become known.* Euclid's algorithm on their columns leaves one, with a factor
   g; `g*q = e` says q = floor(e/g).
3. *Divs are reduced.* Nested floors flatten, multiples of the divisor leave, the gcd cancels, the first
   coefficient is positive; equal divs merge. `floor((8a + x)/16)` with 0 <= x < 8 is floor(a/2).
4. *Inequalities are tightened*: divided by the gcd of their coefficients, constants rounded down; of
   parallel ones the strongest stays; opposite ones may make an equality.
5. *Intervals round.* With 0 <= x <= 127, `128q + x >= 0` says no more and no less than q >= 0.
6. *Quotients are recognised* (module `recognise`): `0 <= i - 8q <= 7` with q after i is q = floor(i/8).

No linear program takes part: the cost is about rows^2 * columns, tens of microseconds for a typical conjunct.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from math import gcd

from ..budgets import spend
from ..engine.columns import Div, defining_rows
from ..engine.rows import Row, normal_eq, normal_ineq, strongest
from .equalities import Equalities
from .inequalities import Hidden, joined, normal_inequalities, opposed
from .plain import given_by, rewritten, scaled, solved
from .recognise import UNLIMITED, Intervals, from_equality, from_pair
from .rounding import round_rows, rounded

ROUNDS = 8  # one is enough as a rule; where two rewritings undo each other, the result is exact, not unique

Form = tuple[tuple[Div, ...], tuple[Row, ...], tuple[Row, ...]]
"""Divs, equalities and inequalities."""


def normal_form(n: int, divs: Sequence[Div], eqs: Iterable[Row], ineqs: Iterable[Row]) -> Form | None:
    """Divs, equalities and inequalities in normal form; None when they are plainly contradictory.

    Parameters
    ----------
    n : number of dimensions; rows are over (const, dims, divs), short ones are padded.
    divs : (den, row) of each known div, None for an unknown one, in any order without cycles.
    """
    eqs, ineqs = tuple(eqs), tuple(ineqs)
    rows, width = len(eqs) + len(ineqs) + 2 * len(divs), 1 + n + len(divs)
    spend(1 + rows * width * (1 + rows // 32) // 16)
    if not divs or (divs.count(None) == len(divs) <= len(eqs) and not scaled(eqs)):
        return _without_known(n, divs, eqs, ineqs)
    work = _Work(n, divs, eqs, ineqs)
    return work.frozen() if work.run() else None


def _without_known(n: int, divs: Sequence[Div], eqs: Sequence[Row], ineqs: Sequence[Row]) -> Form | None:
    """`normal_form` without known divs, as long as none turns up; with as many equalities as existentials at least."""
    pivots: set[int] | None = set()
    while True:
        if eqs:
            done = solved(n, len(divs), eqs, ineqs)
            if done is None:
                return None
            eqs, ineqs, unknown, pivots, wide = done
            divs = divs[:unknown]
            if wide:
                break
        plain = normal_inequalities(ineqs)
        if plain is None or isinstance(plain, tuple):
            return None if plain is None else ((), tuple(sorted(eqs)), plain)
        if not isinstance(plain, Hidden):
            break
        eqs, ineqs = [*eqs, *plain.eqs], plain.ineqs
    work = _Work(n, divs, eqs, ineqs)
    if pivots is not None:
        work.pivots, work.unsolved = pivots, False
    return work.frozen() if work.run() else None


def strengthened(
    n: int, divs: Sequence[Div], eqs: Sequence[Row], ineqs: Sequence[Row], more: Sequence[Row]
) -> Form | None:
    """A normal form of a conjunction in normal form with more inequalities: its equalities are solved already.

    As a rule that of `normal_form`; where two rewritings undo each other, an equal one.
    """
    width = 1 + n + len(divs)
    if not divs:
        spend(1 + (len(ineqs) + len(eqs)) * (width - (not eqs)) // 32)
        given = given_by(eqs) if eqs else []
        if given is not None:
            plain = joined(ineqs, rewritten(more, given))
            if plain is None or isinstance(plain, tuple):
                return None if plain is None else ((), tuple(eqs), plain)
            if isinstance(plain, Hidden):
                return _without_known(n, (), [*eqs, *plain.eqs], plain.ineqs)
            if not eqs:
                work = _Work(n, (), (), (*ineqs, *more))
                return work.frozen() if work.run() else None
    else:
        spend(1 + (len(ineqs) + len(eqs)) * width // 32)
    work = _Work(n, divs, eqs, more)
    if not work.resume(ineqs):
        return normal_form(n, divs, eqs, [*ineqs, *more])
    return work.frozen() if work.tighten() and (work.settled() or work.run()) else None


class _Work(Equalities):
    """The mutable state of one normalisation, and its rewritings."""

    slabs: list[tuple[Row, Row]]  # the opposite ones of the inequalities as `tighten` had them
    bounds: Intervals  # what the inequalities say as `tighten` left them

    def run(self) -> bool:
        """Rewrite until nothing changes; False for a contradiction."""
        if not self.unsolved or self.divs.count(None) < len(self.divs):
            self.tidy_divs()
        for _ in range(ROUNDS):
            if self.unsolved and not self.solve():
                return False
            self.tidy_divs()
            if self.unsolved:
                continue
            if not self.tighten():
                return False
            if self.settled():
                return True
        for _ in range(ROUNDS):  # it stays as it is, but equal divs must be one: others rely on it
            if self.unsolved and not self.solve():
                return False
            self.tidy_divs()
            if not self.unsolved:
                break
        return self.tighten()

    def settled(self) -> bool:
        """Whether nothing is left to rewrite, the inequalities being tightened; else something has been."""
        if not self.divs:
            return not (self.unsolved or self.recognise())
        if self.unsolved or self.round_divs() or self.recognise() or self.floors_alone():
            return False
        if len(self.used_divs()) < len(self.divs):
            self.sort_divs()  # a row that was dropped may have been the last to use a div
        return True

    # ---- inequalities

    def tighten(self) -> bool:
        """Reduce inequalities, keep the strongest of parallel ones; False for a contradiction."""
        known = self.divs.count(None) < len(self.divs)
        best = strongest(self.unfloored() if known else self.ineqs)
        if best is None:
            return False
        self.bounds = bounds = self.intervals(best)
        if len(best) > 1 and not round_rows(best, bounds):
            return False
        self.pairs, count, equal = {}, len(best), []
        self.slabs = opposed(best)
        for key, opposite in self.slabs:
            gap = best[key] + best[opposite]
            if gap < 0:
                return False
            if gap == 0:
                equal.append((key, opposite))
            if -gap - 1 in key:
                self.pairs[key] = opposite
            if -gap - 1 in opposite:
                self.pairs[opposite] = key
        if len(self.pairs) > 1:
            self.pairs = {key: self.pairs[key] for key in best if key in self.pairs}
        if len(equal) > 1:
            place = {key: k for k, key in enumerate(best)}
            equal.sort(key=lambda pair: min(place[key] for key in pair))
        for key, opposite in equal:
            self.eqs.append([best.pop(key), *key])
            self.unsolved = True
            del best[opposite]
        for low, high in self.definitions() if self.divs else ():
            above, below = best.get(low[1:]), best.get(high[1:])
            if (above is not None and above + high[0] < 0) or (below is not None and below + low[0] < 0):
                return False
            if above is not None and above >= low[0]:
                del best[low[1:]]
            if below is not None and below >= high[0]:
                del best[high[1:]]
        if len(best) < count:
            self.pairs = {k: o for k, o in self.pairs.items() if k in best and o in best}
        self.best = best
        self.ineqs = [[c, *key] for key, c in best.items()]
        return True

    def unfloored(self) -> Iterator[Sequence[int]]:
        """The inequalities, where a floor with a unit coefficient is what it is the floor of."""
        base = self.base
        for row in self.ineqs:
            if any(row[base:]):
                tight = normal_ineq(row)
                if not isinstance(tight, bool) and (1 in (tail := tight[base:]) or -1 in tail):
                    tight = self.without_unit_divs(tight)
                row = (tight - 1,) if isinstance(tight, bool) else tight
            yield row

    def definitions(self) -> Iterator[tuple[Row, Row]]:
        """The two rows that define each known div, what they are after the equalities, and those of digits.

        With i = 8p, `0 <= i - 32q <= 31` is `0 <= p - 4q <= 3`; so it is where p is floor(i/8).

        Rows of one column are not among them, since `bounds` has what these say, and simplifies floors by it: a row may
        leave only where it follows from what stays. With l = 3q, q = floor((k + 3l)/9) says `0 <= k <= 8`; beside a row
        `0 <= k <= 2` it becomes q = floor(l/3), which says nothing of k.
        """
        for k, div in enumerate(self.divs):
            if div is None:
                continue
            low, high = defining_rows(div, self.base + k, self.width)
            yield low, high
            if any(low[p] for p in self.pivots):
                low, high = (normal_ineq(self.reduced(row, self.eqs)) for row in (low, high))
                if isinstance(low, tuple) and isinstance(high, tuple) and low[1:].count(0) < self.width - 2:
                    yield low, high
        for coarse, r, const, fine in self.bounds.digits:
            row = [0] * self.width
            row[0], row[fine] = const, 1
            low, high = defining_rows((r, row), coarse, self.width)
            yield low, high

    def without_unit_divs(self, row: Row) -> Row | bool:
        """`f + floor(e/d) >= 0` as d*f + e >= 0, and `f - floor(e/d) >= 0` as d*f + d - 1 - e >= 0."""
        for col in range(self.width - 1, self.base - 1, -1):
            if row[col] not in (1, -1):
                continue
            div = self.divs[col - self.base]
            if div is None or any(div[1][p] for p in self.pivots):
                continue
            den, numerator = div
            if row[col] == 1:
                out = [den * f + e for f, e in zip(row, numerator, strict=True)]
            else:
                out = [den * f - e for f, e in zip(row, numerator, strict=True)]
                out[0] += den - 1
            out[col] = 0
            tight = normal_ineq(out)
            if tight is True or tight is False:
                return tight
            row = tight
        return row

    def floors_alone(self) -> bool:
        """Whether rounding has left a row of a floor alone, `floor(e/d) <= f`: the next round says it of `e`."""
        first, known = self.base, self.divs.count(None) < len(self.divs)
        units = [r for r in self.ineqs if 1 in r[first:] or -1 in r[first:]] if known else ()
        return any(self.without_unit_divs(tuple(r)) != tuple(r) for r in units)

    def round_divs(self) -> bool:
        """Simplify a div by the intervals of its argument; whether there was one."""
        if not self.divs or self.divs.count(None) == len(self.divs):
            return False
        best, bounds = self.best, self.bounds
        for k, div in enumerate(self.divs):
            if div is None:
                continue
            den, row = div
            bounds.limit = self.base + k
            below = best.get(tuple(row[1:])) if best else None
            above = None if below is None else best.get(tuple([-v for v in row[1:]]))
            if below is not None and above is not None and (row[0] - below) // den == (row[0] + above) // den:
                self.divs[k] = (1, [(row[0] - below) // den] + [0] * (self.width - 1))
                return True
            value = self.within_slab(k, den, row) if self.slabs else None
            if value is not None:
                self.divs[k] = (1, value)
                return True
            if not bounds.reach(bounds.limit):
                continue
            for g in {gcd(den, v) for v in row[1:] if v} | {den}:
                value = rounded(row, g, bounds) if g > 1 else None
                if value is not None:  # floor((g*U + R)/den) = floor((U + floor(R/g)) / (den/g))
                    self.divs[k] = (den // g, value)
                    return True
        return False

    def within_slab(self, k: int, den: int, row: Sequence[int]) -> list[int] | None:
        """What div k is by two opposite rows: floor(i/8) is b where `0 <= i - 8b <= 7`; None if none say it.

        Only dimensions before the latest one of the div: another one is the quotient, which `recognise` sees.
        """
        for key, opposite in self.slabs:
            least, most = self.best.get(key), self.best.get(opposite)
            if least is None or most is None or least + most >= den:
                continue
            for form, low, high in ((key, -least, most), (opposite, -most, least)):
                rest = [v - w for v, w in zip(row[1:], form, strict=True)]
                if any(v % den for v in rest) or (row[0] + low) // den != (row[0] + high) // den:
                    continue
                if max(compress(range(1, self.width), rest), default=0) < min(self.base, self.rank(self.base + k)[0]):
                    return [(row[0] + low) // den, *[v // den for v in rest]]
        return None

    def recognise(self) -> bool:
        """Write one quotient as a floor (see `recognise`); whether there was one."""
        best, pairs = self.best, self.pairs
        wide = scaled(self.eqs)
        if not pairs and not wide:
            return False
        self.forget()
        place = [*range(self.base), *[self.rank(col)[0] for col in range(self.base, self.width)]]
        unknown = frozenset(c for c, d in enumerate(self.divs, self.base) if d is None)
        found = from_pair(best, pairs, place, unknown)
        if found is not None:
            for key in found[:2]:
                del best[key]
            self.ineqs = [[c, *key] for key, c in best.items()]
            self.define(found[2])
            return True
        if not wide:
            return False
        self.bounds.limit = UNLIMITED
        for row in wide:
            col = next((p for p in self.pivots if row[p] in (1, -1)), 0)
            bounds = self.bounds.solved(row, best, col) if col else self.bounds
            quotient = from_equality(row, place, bounds, self.base, wide=bounds is self.bounds)
            if quotient is not None:
                self.define(quotient)
                return True
        return False

    def frozen(self) -> Form:
        """The result, sorted."""
        if not (self.divs or self.unsolved):  # what is solved is primitive
            return (), tuple(sorted(map(tuple, self.eqs))), tuple(sorted(map(tuple, self.ineqs)))
        base = self.base
        divs = tuple([None if d is None else (d[0], tuple(d[1][: base + k])) for k, d in enumerate(self.divs)])
        eqs = tuple(sorted(row for r in self.eqs if isinstance(row := normal_eq(r), tuple)))
        return divs, eqs, tuple(sorted(map(tuple, self.ineqs)))
