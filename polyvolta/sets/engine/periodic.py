"""Functions of one parameter, told anew: few pieces, each in one or two floors of it.

A search makes floors of floors as its cuts need them, and what they say together is often much less. Where there is
one parameter N, all points of a leaf are known (module `progressions`): progressions N = n + L*t with values w + s*t.
So the whole function is a table, by stretches of N and, within a stretch, by residues modulo a common period. It is
told as *runs*, residues side by side with values on a line,

    a <= N mod p <= b,    value = u + k*(N mod p) + s*floor(N/p),

where p is the least period, or the same for every g-th residue. Whether that is shorter than what was found is for the
caller to say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import lcm
from typing import NamedTuple

from ..budgets import spend
from .progressions import Progressions
from .rows import Row

MOST_SEGMENTS = 1500  # progressions of a function
LONGEST = 720  # a common period, and a stretch that is listed
STARTS = 24  # places at which runs around a circle are begun, for trial
STRIDES = 8
SHORT = 8  # a cost that need not be brought down
MOST_CUTS = 60

Vector = tuple[int, ...]
Form = tuple[Vector, Vector]  # value and slope: value + slope * t
Run = tuple[int, int, Vector, Vector, Vector]
Told = tuple[tuple[tuple[int, Row], ...], tuple[Row, ...], tuple[Row, ...], tuple[Row, ...]]
"""Divs, equalities, inequalities and values: `lexopt.Piece`."""


class _Segment(NamedTuple):
    """N = first + period * t, low <= N <= high (None: without end), values form[0] + t * form[1]."""

    first: int
    period: int
    low: int | None
    high: int | None
    form: Form

    def at(self, n: int) -> Vector:
        t = (n - self.first) // self.period
        return tuple([v + t * s for v, s in zip(*self.form, strict=True)])


class _Stretch(NamedTuple):
    """low <= N <= high, the values by residue modulo `period`: table[r] is the form at r + period*t."""

    low: int | None
    high: int | None
    period: int
    table: dict[int, Form]

    def at(self, n: int) -> Vector | None:
        form = self.table.get(n % self.period)
        return form and tuple([v + n // self.period * s for v, s in zip(*form, strict=True)])


def told(leaves: Iterable[tuple[Progressions, Sequence[Row]]]) -> list[Told] | None:
    """A function of one parameter by pieces; None if it takes too many.

    Parameters
    ----------
    leaves : progressions, the first column of which is the parameter, and the values there, rows over all columns.

    >>> lines = Progressions([[0, 1, 2], [0, 1, 1]], (3, 3), [(None, None)] * 3)  # N, and N less 0, 0 and 1
    >>> for divs, eqs, ineqs, values in told([(lines, ((0, 0, 1),))]):
    ...     print(divs, eqs, ineqs, values)
    ((3, (0, 1)),) () ((1, -1, 3),) ((0, 1, 0),)
    ((3, (0, 1)),) ((-2, 1, -3),) () ((1, 0, 3),)
    """
    return best([leaves], 1)


def best(functions: Iterable[Iterable[tuple[Progressions, Sequence[Row]]]], sign: int) -> list[Told] | None:
    """The lexicographically greatest (sign 1) or least value that some functions of one parameter have; see `told`."""
    found: list[_Stretch] | None = None
    for leaves in functions:
        segments = _segments(leaves)
        new = None if segments is None else _stretches(segments)
        found = new if found is None or new is None else _better(found, new, sign)
        if found is None:
            return None
    return [piece for stretch in _joined(found or ()) for piece in _shortest(stretch)]


def _better(a: Sequence[_Stretch], b: Sequence[_Stretch], sign: int) -> list[_Stretch] | None:
    """The better of two functions; None where values part at some N, or where it takes too long a table."""
    cuts = {s.low for s in (*a, *b) if s.low is not None} | {s.high + 1 for s in (*a, *b) if s.high is not None}
    ends = sorted(cuts)
    if len(ends) > MOST_CUTS:
        return None
    out = []
    for low, high in zip([None, *ends], [*[c - 1 for c in ends], None], strict=True):
        here = [next((s for s in group if _reaches(s, low, high)), None) for group in (a, b)]
        tables = [s for s in here if s is not None]
        if len(tables) == 2:
            both = _best_table(tables[0], tables[1], low, high, sign)
            if both is None:
                return None
            tables = [both]
        out += [_Stretch(low, high, s.period, s.table) for s in tables]
    return out


def _reaches(s: _Stretch, low: int | None, high: int | None) -> bool:
    """Whether a stretch holds all of these N, none of which is its end."""
    return (s.low is None or (low is not None and s.low <= low)) and (
        s.high is None or (high is not None and high <= s.high)
    )


def _best_table(a: _Stretch, b: _Stretch, low: int | None, high: int | None, sign: int) -> _Stretch | None:
    """The better of two tables on a stretch."""
    period = lcm(a.period, b.period)
    listed = low is not None and high is not None and high - low < period
    if listed:
        period = high - low + 1  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
    if period > LONGEST:
        return None
    table: dict[int, Form] = {}
    spend(1 + period // 8)
    for n in range(low, low + period) if listed and low is not None else range(period):
        forms = []
        for s in (a, b):
            value, form = s.at(n), s.table.get(n % s.period)
            if value is not None and form is not None:
                forms.append((value, tuple([0 if listed else v * (period // s.period) for v in form[1]])))
        if len(forms) == 2 and forms[0][1] != forms[1][1]:
            return None
        if forms:
            table[n % period] = max(forms, key=lambda form: [sign * v for v in form[0]])
    return _Stretch(low, high, period, table)


def cost(pieces: Iterable[Told]) -> int:
    """How much there is to read and to compute with."""
    return sum([1 + len(divs) + len(eqs) + len(ineqs) for divs, eqs, ineqs, _ in pieces])


def _segments(leaves: Iterable[tuple[Progressions, Sequence[Row]]]) -> list[_Segment] | None:
    out: list[_Segment] = []
    for lines, rows in leaves:
        if len(out) + len(lines) > MOST_SEGMENTS:
            return None
        period, column = lines.step[0], lines.columns[0]
        span = max(column) - min(column) + 1
        found = [lines.values(row) for row in rows]
        slopes = tuple([slope for _, slope in found])
        for k, (n, (low, high)) in enumerate(zip(column, lines.intervals, strict=True)):
            form = tuple([values[k] for values, _ in found]), slopes
            low, high = (None if t is None else n + period * t for t in (low, high))
            out.append(_Segment(n, period or span, low, high, form))
    return out


def _stretches(segments: Sequence[_Segment]) -> list[_Stretch] | None:
    """Stretches side by side that hold the function."""
    # a segment may begin anywhere after the value of N that it would have before its first, and end likewise
    windows = [(s.low - s.period + 1, s.low) for s in segments if s.low is not None]
    windows += [(s.high + 1, s.high + s.period) for s in segments if s.high is not None]
    cuts: list[int] = []
    for first, last in sorted(windows, key=lambda w: w[1]):
        if not cuts or cuts[-1] < first:
            cuts.append(last)
    if len(cuts) > MOST_CUTS:
        return None
    groups: list[list[_Segment]] = [[] for _ in range(len(cuts) + 1)]
    for s in segments:
        begin = 0 if s.low is None else bisect_left(cuts, s.low - s.period + 1) + 1
        end = len(cuts) if s.high is None else bisect_left(cuts, s.high + 1)
        for k in range(begin, end + 1):
            groups[k].append(s)
    out = []
    for group, low, high in zip(groups, [None, *cuts], [*[c - 1 for c in cuts], None], strict=True):
        table = _table(group, low, high) if group else ()
        if table is None:
            return None
        if table:
            out.append(_Stretch(low, high, *table))
    return out


def _table(group: Sequence[_Segment], low: int | None, high: int | None) -> tuple[int, dict[int, Form]] | None:
    """The period and the table on a stretch; a short one has a residue for each of its values."""
    period = lcm(*[s.period for s in group])
    table: dict[int, Form] = {}
    if low is not None and high is not None and high - low + 1 < period:
        period = high - low + 1
        for s in group if period <= LONGEST else ():
            for n in range(low + (s.first - low) % s.period, high + 1, s.period):
                table[n % period] = s.at(n), (0,) * len(s.form[0])
    elif period <= LONGEST:
        spend(1 + sum([period // s.period for s in group]) // 8)
        for s in group:
            slope = tuple([v * (period // s.period) for v in s.form[1]])
            for r in range(s.first % s.period, period, s.period):
                table[r] = s.at(r), slope
    return (period, table) if period <= LONGEST else None


def _joined(stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """Neighbours that are told by the table of one of them as one; what a neighbour tells goes to it."""
    out: list[_Stretch] = []
    for new in stretches:
        while out and new is not None:
            old = out[-1]
            if old.high is None or new.low != old.high + 1:
                break
            host = next((a for a, b in ((old, new), (new, old)) if _agrees(a, b)), None)
            if host is None:
                break
            new = _Stretch(old.low, new.high, host.period, host.table)
            out.pop()
        out.append(new)
    return out


def _agrees(a: _Stretch, b: _Stretch) -> bool:
    """Whether the table of a says the same as that of b where b is."""
    period = lcm(a.period, b.period)
    if b.low is not None and b.high is not None and b.high - b.low < 2 * period:
        return b.high - b.low < 2 * LONGEST and all(a.at(n) == b.at(n) for n in range(b.low, b.high + 1))
    return period <= LONGEST and all(a.at(n) == b.at(n) for n in range(2 * period))


def _shortest(stretch: _Stretch) -> list[Told]:
    """The pieces of a stretch, told in the shortest of the ways that there are."""
    low, high = stretch.low, stretch.high
    ends = _ends(low, high)
    options: list[list[Told]] = []
    period, table = _reduced(stretch.period, stretch.table)
    if low is not None and high is not None and high - low < LONGEST:
        values = {n - low: (v, (0,) * len(v)) for n in range(low, high + 1) if (v := stretch.at(n)) is not None}
        options.append([_straight(low, run) for run in _greedy(values, 0, high - low + 1)])
        if period > high - low:
            period, table = _repeating(values, low, high - low + 1)
    for stride in range(1, min(period, STRIDES) + 1):
        if period % stride == 0:
            told = []
            for r in range(stride):
                forms = {(k - r) // stride: form for k, form in table.items() if k % stride == r}
                told += [_piece(stride, r, period // stride, run, ends) for run in _around(forms, period // stride)]
            options.append(told)
    return min(options, key=cost)


def _reduced(period: int, table: dict[int, Form]) -> tuple[int, dict[int, Form]]:
    """The table modulo the least divisor of its period that will do."""
    whole = _Stretch(None, None, period, table)
    for p in range(1, period):
        if period % p == 0 and all(
            (other := table.get((r + p) % period)) is not None
            and other[1] == form[1]
            and all((b - a) * period == s * p for a, b, s in zip(form[0], whole.at(r + p) or (), form[1], strict=True))
            for r, form in table.items()
        ):
            share = period // p
            return p, {r: (v, tuple([x // share for x in s])) for r, (v, s) in table.items() if r < p}
    return period, table


def _repeating(values: dict[int, Form], low: int, length: int) -> tuple[int, dict[int, Form]]:
    """The least period, half the length at most, with which values at low, low + 1, ... repeat or go on evenly."""
    for p in range(1, length // 2 + 1):
        spend()
        slopes: dict[int, Vector] = {}
        for k in range(length - p):
            a, b = values.get(k), values.get(k + p)
            if a is None or b is None:
                if a is not b:
                    break
                continue
            slope = tuple([y - x for x, y in zip(a[0], b[0], strict=True)])
            if slopes.setdefault(k % p, slope) != slope:
                break
        else:
            found = {}
            for k, slope in slopes.items():
                t, r = divmod(low + k, p)
                found[r] = tuple([v - t * s for v, s in zip(values[k][0], slope, strict=True)]), slope
            return p, found
    return length, {(low + k) % length: form for k, form in values.items()}


def _at(forms: dict[int, Form], period: int, k: int) -> tuple[Vector, Vector] | None:
    """The value at position k, and the slope there."""
    form = forms.get(k % period)
    return form and (tuple([v + k // period * s for v, s in zip(*form, strict=True)]), form[1])


def _greedy(forms: dict[int, Form], first: int, period: int) -> list[Run]:
    """Runs once around, from position `first`: (start, count, value at the start, step, slope)."""

    def length(k: int) -> int:
        """Of the longest run from k."""
        begin = at[k - first]
        after = at[k - first + 1]
        if begin is None or after is None or after[1] != begin[1]:
            return 0 if begin is None else 1
        step = tuple([y - x for x, y in zip(begin[0], after[0], strict=True)])
        n = 2
        while (new := at[k - first + n]) is not None and new[1] == begin[1]:
            if any(z - y != d for y, z, d in zip(after[0], new[0], step, strict=True)):
                break
            after, n = new, n + 1
        return n

    at = [_at(forms, period, k) for k in range(first, first + period)] + [None, None]
    spend(1 + period // 4)
    out: list[Run] = []
    k = first
    while k < first + period:
        n = length(k)
        if n == 2 and length(k + 1) > 2:
            n = 1
        if n:
            value, slope = at[k - first] or ((), ())
            other = at[k - first + n - 1] or ((), ())
            step = tuple([(y - x) // max(n - 1, 1) for x, y in zip(value, other[0], strict=True)])
            out.append((k, n, value, step, slope))
        k += n or 1
    return out


def _around(forms: dict[int, Form], period: int) -> list[Run]:
    """As few runs as some starts give."""
    if not forms:
        return []
    breaks = [k for k in sorted(forms) if (k - 1) % period not in forms] or sorted(forms)
    return min([_greedy(forms, k, period) for k in breaks[:STARTS]], key=len)


def _ends(low: int | None, high: int | None) -> list[Row]:
    return [*([(-low, 1)] if low is not None else ()), *([(high, -1)] if high is not None else ())]


def _straight(low: int, run: Run) -> Told:
    """The piece of a run of N - low."""
    start, count, value, step, _ = run
    n = low + start
    if count == 1:
        return (), ((-n, 1),), (), tuple([(v, 0) for v in value])
    return (), (), ((-n, 1), (n + count - 1, -1)), tuple([(v - n * d, d) for v, d in zip(value, step, strict=True)])


def _piece(stride: int, r: int, period: int, run: Run, ends: Sequence[Row]) -> Told:
    """A run of m among the N = stride*m + r, modulo a period of m."""
    start, count, value, step, slope = run
    if count == 1 and period > 1:  # one residue: another stride
        stride, r, period, start = stride * period, stride * (start % period) + r, 1, start // period
    back = start // period  # the run is to begin within the first period
    value, start = tuple([v - back * s for v, s in zip(value, slope, strict=True)]), start - back * period
    divs: list[tuple[int, Row]] = []
    eqs: list[Row] = []
    ineqs = list(ends)
    m: Row = (0, 1)
    if stride > 1:
        divs.append((stride, (0, 1)))
        eqs.append((-r, 1, -stride))
        m = (0, 0, 1)
    whole = count == period
    if whole and all(d * period == s for d, s in zip(step, slope, strict=True)) or period == 1:
        rates = slope if period == 1 else step
        rows = [tuple([d * c for c in m]) for d in rates]
        rows = [(row[0] + v - d * start, *row[1:]) for row, v, d in zip(rows, value, rates, strict=True)]
    else:
        shifted = start + count > period or (start > 0 and start + count < period)
        origin = start if shifted else 0
        divs.append((period, (m[0] - origin, *m[1:])))
        place = (*(m[0] - origin, *m[1:]), -period)  # of N within the period
        if start > origin:
            ineqs.append((place[0] - (start - origin), *place[1:]))
        if not whole and start - origin + count < period:
            ineqs.append((start - origin + count - 1 - place[0], *[-c for c in place[1:]]))
        rows = []
        for v, d, s in zip(value, step, slope, strict=True):
            row = [d * c for c in place]
            row[0] += v - d * (start - origin)
            row[-1] += s
            rows.append(tuple(row))
    width = 2 + len(divs)

    def wide(row: Row) -> Row:
        return (*row, *(0,) * (width - len(row)))

    return tuple(divs), tuple(map(wide, eqs)), tuple(map(wide, ineqs)), tuple(map(wide, rows))
