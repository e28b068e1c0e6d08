"""What steps and bounds say together: a multiple of 32 that is between -31 and 31 is 0.

    c0 = 0 mod 32, 0 <= i - c0 <= 31, i = c2 mod 32, 0 <= c2 <= 31                i is c0 + c2
    c0 = 0 mod 16, 0 <= i - c0 <= 15, 16*b <= i - 32*floor(i/32) <= 16*b + 15     c0 is 16*b modulo 32

Tiles of one loop in two ways are like that: those of a processor, or of a statement that runs along a diagonal. Two
congruences have one integer solution modulo their product, so one of 160 is taken apart into those of 32 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from math import gcd

from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.linear import (
    LOCAL,
    Ends,
    Key,
    System,
    coefficient,
    dense,
    least_of,
    local,
    negated,
    new_column,
    plus,
    without,
)
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded, left, remembered
from polyvolta.sets.conjuncts import lattice
from polyvolta.sets.engine.integer import Lattice
from polyvolta.sets.engine.rows import Row
from polyvolta.sets.engine.simplex import Tableau

WORTH = 1200  # steps that looking for equalities, or projecting all columns but one, may take

Grids = Mapping[int, tuple[int, int]]


def grids(system: System) -> dict[int, tuple[int, int]]:
    """Of columns the (r, g) for which the column + r is a multiple of g, as congruences say: of c0 = 16*b mod 32."""
    out: dict[int, tuple[int, int]] = {}
    for key, const, d in system.mods:
        for c, v in key:
            g = gcd(d, *[w for b, w in key if b != c]) if abs(v) == 1 else 1
            if g > out.get(c, (0, 1))[1]:
                out[c] = v * const % g, g
    return out


def zeros(system: System, columns: Collection[int]) -> Iterator[tuple[Key, int]]:
    """Rows that are 0 as bounds leave one multiple of what they are multiples of; by two linear programs each.

    Parameters
    ----------
    columns : of a congruence one of these or a local column is asked for.
    """
    steps = grids(system)
    found = list(_multiples(system, steps, columns)) if steps else []
    if not found:
        return
    place, tab = tabled(system)
    for g, key, const in () if tab.empty else found:
        found = whole_span(place, tab, key, const, g)
        if found is not None and found[0] == found[1]:
            zero = key, const - g * found[0]
            if zero not in system.eqs and (negated(key), -zero[1]) not in system.eqs:
                yield zero


def _multiples(system: System, steps: Grids, columns: Collection[int]) -> Iterator[tuple[int, Key, int]]:
    """Rows (g, key, const) that are multiples of g by two congruences, or by one and coefficients.

    Of j + 2*c1 = 0 mod 160 and c0 = 0 mod 32 comes j + 2*c1 - c0 = 0 mod 32.
    """
    for row, const, d in system.mods:
        for key, g in [(_modulo(row, g), g) for g in prime_powers(d)]:
            if len(key) > 1 and any(c >= LOCAL or c in columns for c, _ in key):
                for c, (shift, e) in steps.items():
                    if e % g == 0 and not coefficient(key, c):
                        yield from ((g, plus(1, key, sign, ((c, 1),)), const + sign * shift) for sign in (1, -1))
    for key in system.ineqs:
        if any(c >= LOCAL for c, _ in key) and negated(key) in system.ineqs:
            yield from _less_remainders(key, steps)


def _less_remainders(key: Key, steps: Grids) -> Iterator[tuple[int, Key, int]]:
    """A row less its remainder, where columns in steps have none; and less a column that one in steps is near to.

    j + 160*e - c0 less j is a multiple of 32; and i - 32*e - 16*b less i - c0 is one of 16.
    """
    whole = [steps[c][1] for c, _ in key if c in steps]
    last, v = key[-1]
    for g in prime_powers(abs(v)) if whole and last >= LOCAL else ():
        if all(e % g == 0 for e in whole):
            rest = tuple([t for t in _modulo(key, g) if t[0] not in steps])
            yield g, plus(1, key, -1, rest), sum(v * steps[c][0] for c, v in key if c in steps)
    single = [(c, v) for c, v in key if abs(v) == 1]
    if len(single) == 1 and single[0][0] >= LOCAL:
        ((c, sign),) = single
        for other, (shift, e) in steps.items():
            g = gcd(e, *[v for d, v in key if d != c])
            if g > 1 and not coefficient(key, other):
                yield g, plus(1, without(key, c), sign, ((other, 1),)), sign * shift


def _modulo(key: Key, d: int) -> Key:
    """A row with coefficients from -d/2 to d/2 that are the same modulo a number."""
    return tuple([(c, (v + d // 2) % d - d // 2) for c, v in key if v % d])


def prime_powers(d: int) -> Iterator[int]:
    """The powers of primes whose product is a number.

    >>> list(prime_powers(160))
    [32, 5]
    """
    p = 2
    while d > 1:
        p = p if p * p <= d else d
        power = 1
        while d % p == 0:
            d, power = d // p, power * p
        if power > 1:
            yield power
        p += 1


def landed(
    system: System, columns: Columns, some: Sequence[int], outer: Callable[[Key], bool], often: bool
) -> Iterator[tuple[Key, int]]:
    """Rows that are 0 of one of some columns, that no equality has, and of what is outside: its values have a stride,
    and one at most is between bounds.

    Of c0 + 2*c2 = 3 mod 4 and N <= 2*c2 <= N + 3 it is the greatest up to floor((N + 3)/2) that is floor((3 - c0)/2)
    modulo 2.

    Parameters
    ----------
    often : also where one always is, and of columns that equalities have with others: these are known by it, too.
    """
    for key, const, d in system.mods:
        free = [(c, v) for c, v in key if not outer(((c, v),))]
        g = gcd(d, free[0][1]) if len(free) == 1 else 0
        if not g or free[0][0] not in some or abs(free[0][1]) != g:
            continue
        ((col, v),) = free
        if any(coefficient(row, col) for row, _ in system.eqs if not often or outer(without(row, col))):
            continue
        f, shift = (without(key, col), const) if v > 0 else (negated(without(key, col)), -const)
        f, shift, step = (f, shift, d) if g == 1 else (*columns.quotient(g, f, shift), d // g)
        for row, low in system.ineqs.items():
            high, rest, a = system.ineqs.get(negated(row)), without(row, col), coefficient(row, col)
            if a > 0 and high is not None and (low + high) // a + 1 < step + often and outer(rest):
                # the column is -f - shift modulo the step, and at most the upper end
                end, most = (negated(rest), high) if a == 1 else columns.quotient(a, negated(rest), high)
                whole, more = columns.quotient(step, plus(1, f, 1, end), most + shift)
                yield plus(1, plus(1, ((col, 1),), 1, f), -step, whole), shift - step * more
                break


def equalities(system: System, known: Mapping[Key, int]) -> list[tuple[Key, int]] | None:
    """The rows that are 0 at all integer points of a system at which rows of its columns hold; None if it has none.

    Empty where the system says all of them, and where it takes too many steps to tell. A congruence has a column for
    its multiple, which rows may speak of.
    """
    cols, eqs = sorted(system.columns()), system.eqs[:]
    for key, const, d in system.mods:
        cols.append(new_column())
        eqs.append((plus(1, key, d, ((cols[-1], 1),)), const))
    n, place = len(cols), {c: 1 + k for k, c in enumerate(cols)}
    rows = [dense(place, *row) for row in system.ineqs.items()]
    rows += [dense(place, *row) for row in known.items() if all(c in place for c, _ in row[0])]
    found = _of_points(n, tuple([dense(place, *row) for row in eqs]), tuple(rows)) if left() >= WORTH else ()
    if found is None:
        return None
    if not found or len(found[1]) == n - len(eqs):
        return []
    return [
        (tuple([(c, v) for c, v in zip(cols, row[1:], strict=True) if v]), row[0])
        for row in lattice.equalities(n, found)
    ]


@remembered(1 << 10)  # a piece, and its lanes in each loop that leaves them as they are
def _of_points(n: int, eqs: Sequence[Row], ineqs: Sequence[Row]) -> Lattice | tuple[()] | None:
    """`lattice.of_points`; empty where that takes too many steps."""
    try:
        return bounded(WORTH, lattice.of_points, n, eqs, ineqs)
    except BudgetExceeded:
        return ()


def pinned(
    system: System, outer: Callable[[Key], bool], around: bool = False, columns: Collection[int] = ()
) -> Iterator[tuple[int, int, Key, int]]:
    """Local columns of which two inequalities leave one value of what is outside: (col, d, key, const) where that is
    floor((key . x + const)/d).

    Parameters
    ----------
    columns : others of which that is asked, too, and that no equality has.
    around : also by what is left of a column with bounds in steps on both sides as all others are projected away. Where
        0 <= 6*t - 2*N - c <= 1 and 0 <= c <= 2 that is N <= 3*t <= N + 1; without t, c mod 6 would be lost.
    """
    free = {col for col in columns if not any(coefficient(key, col) for key, _ in system.eqs)}
    for key, const in system.ineqs.items():
        col, v = next(((c, v) for c, v in key if c in free), key[-1]) if free else key[-1]
        if v < -1 and (col >= LOCAL or col in free):
            high, rest = system.ineqs.get(negated(key)), without(key, col)
            if high is not None and const + high < -v and outer(rest):
                yield col, -v, rest, const
    if around:
        terms = [term for key, _ in system.every_ge() for term in key]
        below, above = ({c for c, v in terms if sign * v > 1 and c >= LOCAL} for sign in (1, -1))
        inside = {c for c, _ in terms if not outer(((c, 1),))}
        for col in sorted(below & above):
            with suppress(BudgetExceeded):
                yield from pinned(bounded(WORTH, system.without, inside - {col}), outer)


def sums(system: System, outer: Callable[[Key], bool]) -> Iterator[tuple[Key, int, Key, int]]:
    """Sums of several columns inside, local ones among them, of which two inequalities leave one value of what is
    outside: (sum, d, key, const) where that is floor((key . x + const)/d).

    Of N <= 24*q - 6*c <= N + 3 it is 4*q - c = floor((N + 3)/6), so c has one value modulo 4. Cost: a look at each row.
    """
    for key, const in system.ineqs.items():
        high = system.ineqs.get(negated(key)) if len(key) > 1 and key[-1][0] >= LOCAL and key[-1][1] < -1 else None
        inside = [(c, v) for c, v in key if not outer(((c, v),))] if high is not None else ()
        d = gcd(*[v for _, v in inside]) if len(inside) > 1 else 0
        if high is not None and d > const + high:
            yield tuple([(c, -v // d) for c, v in inside]), d, tuple([t for t in key if t not in inside]), const


def multiples(system: System, outer: Callable[[Key], bool]) -> Iterator[tuple[Key, int, int, tuple[int, Key, int]]]:
    """Congruences of several columns inside whose multiple bounds leave one value of what is outside.

    (row, shift, d, (den, key, const)) where row . x + shift is d*floor((key . x + const)/den): of 0 <= i - 2*c0 <= 1,
    1 <= c1 <= 4 and c1 = i + 1 mod 4 it is i - c1 + 1 = 4*floor(c0/2). Cost: a projection for each congruence.
    """
    for row, shift, d in system.mods:
        inside = [(c, v) for c, v in row if not outer(((c, 1),))]
        units = [(c, v) for c, v in inside if abs(v) == 1]
        if len(inside) > 1 and units:
            (col, v), t, there = units[-1], new_column(), system.copy()
            there.replace(col, plus(-v, without(row, col), v * d, ((t, 1),)), -v * shift)
            with suppress(BudgetExceeded):
                left = bounded(WORTH, there.without, {c for c in there.columns() if not outer(((c, 1),))} - {t})
                yield from ((row, shift, d, (den, key, const)) for c, den, key, const in pinned(left, outer) if c == t)


def told(
    system: System, floors: Mapping[tuple[int, Key, int], tuple[Key, int, int]], outer: Callable[[Key], bool]
) -> Iterator[tuple[int, Key, int]]:
    """Columns of loops that are equal to what is outside, (col, key, const), by which arguments of floors are so, too.

    Of c3 = 3*f - N the floor of (c3 - 2*N)/9 is that of (f - N)/3, which is known outside: a loop over c4, where the
    floor's value is (c3 - 2*N - 3*c4)/9, has one value. Only floors whose values are not outside yet are looked at.
    What is put in is an equality of the rows, so instances are the same. Cost: a look at each equality and floor.
    """
    rows: dict[int, tuple[Key, int]] = {}
    for key, const in system.eqs if floors else ():
        inner = [(c, v) for c, v in key if not outer(((c, v),))]
        if len(inner) == 1 < len(key) and abs(inner[0][1]) == 1 and not local(key):
            ((col, v),) = inner
            rows[col] = plus(-v, without(key, col), 0, ()), -v * const
    found: set[int] = set()
    for (_, key, _), (value, _, _) in floors.items() if rows else ():
        inside = {c for c, v in key if not outer(((c, v),))}
        if inside <= rows.keys() and not outer(value):
            found |= inside
    yield from ((col, *rows[col]) for col in sorted(found))


def whole(system: System) -> bool:
    """Make bounds of columns those that integers have, by numbers that bound other columns; False, as no equality.

    Of 0 <= c0 <= 2 and 0 <= c0 + 3*c1 <= 14 that is 0 <= c1 <= 4, in the place of the rows. Where bounds are not always
    within one unit they stand beside them: of 0 <= c0 <= 7 and 0 <= c1 <= c0 + 8*t that is 0 <= t. Of a local column,
    for which no loop runs, what another one says of a column counts, too: of 0 <= j <= i <= 32*t + 31 it is 0 <= t.
    """
    before: dict[Key, int] = {}
    while not system.empty and system.ineqs != before:
        before, ends = dict(system.ineqs), system.ends()
        for col in system.columns():
            system.round_bounds(col, *ends)
    for col in system.columns():
        system.round_begins(col, *(_reached(system) if col >= LOCAL else system.ends()), several=True)
    return False


def _reached(system: System) -> tuple[Ends, Ends]:
    """Constant bounds of columns, also those by one other column: of 0 <= j <= i that is 0 <= i."""
    ends = system.ends()
    low, high = dict(ends[0]), dict(ends[1])
    for key, const in system.ineqs.items():
        for c, v in key if len(key) == 2 else ():
            least = least_of(negated(without(key, c)), -const, *ends) if v in (1, -1) else None
            if least is not None and v > 0:
                low[c] = max(low.get(c, least), least)
            elif least is not None:
                high[c] = min(high.get(c, -least), -least)
    return low, high


def of_multiples(system: System) -> System:
    """A system with what its rows say of multiples where numbers bound the rest; itself if that is no more.

    Of 3*q + c >= 0 and 0 <= c <= 2 comes q >= 0, also if q is c0 - e: c is at most what 3*q + c is. Rationals say that
    3*q >= -2. Instances are the same. Cost: a sum for each coefficient of a row.
    """
    out, low, high = None, None, None
    for key, const in system.ineqs.items():
        for g in {abs(v) for _, v in key} - {1} if len(key) > 2 else ():  # two are multiples, and one is not
            if low is None or high is None:
                low, high = system.ends()
            whole = tuple([(c, v // g) for c, v in key if v % g == 0])
            rest = tuple([(c, -v) for c, v in key if v % g])
            least = least_of(rest, -const, low, high) if rest and len(whole) > 1 else None
            if least is not None and least % g:
                out = out or system.copy()
                out.ge(whole, -least // g)
    return system if out is None else out


def beyond_remainders(system: System) -> System:
    """A system with the rows that are at least the remainder that they have by a congruence; itself if there are none.

    Of 0 <= j, 0 <= c <= 3 and j = c mod 4 comes c <= j. Rationals say c - 3 <= j, by which a loop over c begins with
    what is in no tile of j. Instances are the same. Cost: as many sums of rows as there are of these and remainders.
    """
    out = None
    for row, shift, d in system.mods:
        for sign in (1, -1):
            for key, low in system.ineqs.items():
                high = system.ineqs.get(negated(key))
                if high is None or not 0 < low + high < d:
                    continue
                wanted = plus(1, key, sign, row)
                for other, least in system.ineqs.items():
                    rest = plus(1, other, -1, wanted)
                    if other not in (key, negated(key)) and all(v % d == 0 for _, v in rest):
                        # other + least >= 0, key + low is a remainder, and their difference has one modulo d
                        at = (least - low - sign * shift) % d
                        begin = at - d * ((at + low + high) // d)
                        if begin > -low - high:
                            out = out or system.copy()
                            out.ge(plus(1, other, -1, key), least - low - begin)
    return system if out is None else out


def beyond_quotients(system: System) -> System:
    """A system with the rows of quotients that their remainders leave of other rows; itself if there are none.

    Of 0 <= i - 64*q <= 63 and 128*c0 <= i comes 2*c0 <= q: rationals say 128*c0 - 63 <= 64*q, by which a loop over
    i >= 64*q + 16*w begins up to 63 too early. Integers are the same: a row that has a divisor is one of multiples.
    Cost: as many sums of rows as there are of these and remainders of local columns.
    """
    out = None
    for key, low in system.ineqs.items():
        high, den = system.ineqs.get(negated(key)), abs(key[-1][1]) if local(key) else 1
        if high is None or not 0 < low + high < den or local(key[:-1]):
            continue
        for other, least in system.ineqs.items():
            rest = () if local(other) else plus(1, other, 1, key)
            g = gcd(*[v for _, v in rest])
            if g > 1 and other != negated(key) and (least + low) % g and den % g == 0:
                out = out or system.copy()
                out.ge(rest, least + low)
    return system if out is None else out


def one_multiple(system: System, low: Ends, high: Ends) -> Iterator[tuple[Key, int]]:
    """Rows that are 0 by congruences of which constant bounds leave one multiple.

    Parameters
    ----------
    low, high : bounds of columns besides those of the system.
    """
    if not system.mods:
        return
    least_of_all, most_of_all = system.ends()
    low = low | {c: max(v, low.get(c, v)) for c, v in least_of_all.items()}
    high = high | {c: min(v, high.get(c, v)) for c, v in most_of_all.items()}
    for key, const, d in system.mods:
        least, most = least_of(key, const, low, high), least_of(negated(key), -const, low, high)
        if least is not None and most is not None and -(-least // d) == -most // d:
            yield key, const - -most // d * d


def tied(
    system: System,
    floors: Mapping[tuple[int, Key, int], tuple[Key, int, int]],
    columns: Sequence[int],
    known: Mapping[Key, int],
) -> Iterator[tuple[Key, int]]:
    """Rows that are 0 of floors with local values, by linear programs; and of what is in steps beyond a member.

    Such as e where a member has the value i - 4*e and 0 <= i <= 1: floor(i/4), which is no floor of what is left.

    Parameters
    ----------
    known : inequalities that hold besides; those of columns of the system count. Of 0 <= k <= 8*p + 7 where p <= 15 is
        known outside floor(k/128) is 0.
    """
    locals_ = [(d, v) for (d, _, _), v in floors.items() if len(v[0]) and local(v[0]) and v[2] == 1]
    steps = dict.fromkeys({c for c in system.columns() if c >= LOCAL}, 0)
    for key, _ in system.every_ge() if steps else ():
        for c, v in key:
            if c in steps:
                steps[c] = gcd(steps[c], v)
    locals_ += [(0, (((c, 1),), 0, 1)) for c, g in steps.items() if g > 1]
    if not locals_:
        return
    place, tab = tabled(system, known)
    for den, (value, const, _) in () if tab.empty else locals_:
        said = {c for (d, _, _), v in floors.items() if d == den and not local(v[0]) for c, _ in v[0]}
        for other in ((), *(((c, sign),) for c in columns if c in said for sign in (-1, 1))):
            key = plus(1, value, 1, other)
            found = whole_span(place, tab, key, const, 1) if all(c in place for c, _ in key) else None
            if found is not None and found[0] == found[1]:
                yield key, const - found[0]


def tabled(system: System, known: Mapping[Key, int] = {}) -> tuple[dict[int, int], Tableau]:
    """The places of a system's columns in a tableau of it, and that; inequalities that are known of these are in it."""
    place = {c: 1 + k for k, c in enumerate(sorted(system.columns()))}
    tab = Tableau(len(place))
    for row in (*system.every_ge(), *[row for row in known.items() if all(c in place for c, _ in row[0])]):
        tab.add_ineq(dense(place, *row))
    return place, tab


def whole_span(place: Mapping[int, int], tab: Tableau, key: Key, const: int, den: int) -> tuple[int, int] | None:
    """From which whole number to which (key . x + const)/den is in a tableau; None where it has no end."""
    row = dense(place, key, const)
    low, high = tab.minimum(row), tab.maximum(row)
    if low is None or high is None:
        return None
    return -(-low[0] // (low[1] * den)), high[0] // (high[1] * den)


def strides_of(eqs: Sequence[tuple[Key, int]]) -> Iterator[tuple[Key, int, int]]:
    """The congruences of single columns that equalities make: c0 = 2*c1 + 1 says that c0 is odd."""
    for key, const in eqs:
        for c, v in key:
            step = gcd(*[w for d, w in key if d != c])
            if v in (1, -1) and step > 1:
                yield ((c, v),), const, step
