"""Whether integers exist that satisfy rows: exactly, at many points at once, by numpy alone.

At every point the rows `sums + e @ coefficients` have the same coefficients, so what depends on these alone is found
once. The steps:

1. *Equalities* give an unknown each. Multiples of one unknown are taken from others until the equality has one alone,
   h*e + s = 0: it has a value where h divides s.
2. *Directions* d in which no row falls: rows that rise need not be looked at, for with e also e + t*d is a solution,
   and with t large enough those rows hold. Then nothing changes along d, and there is an unknown less.
3. What is left is bounded at every point. *One* unknown is decided by its bounds; of several the narrowest takes all
   its values, whose bounds come from the other rows, by propagation or by Fourier and Motzkin's elimination.

Nothing is looked for in a box of one's own choice. What would take too long, or leave int64, is `Undecided`.
"""

from functools import lru_cache
from itertools import combinations, permutations
from math import gcd

import numpy as np

MOST = 2**22  # rows that are looked at at once
TOTAL = 2**26  # and in all, for the values of one unknown
WIDE = 240  # values of an unknown that are tried without looking for a narrower one
COMBINED = 4000  # rows of an elimination
EXACT = 2**50  # of float64
LARGE = 2**62  # of int64


class Undecided(Exception):
    """It would take too long to find out."""


def some(sums, coefficients, equalities=0):
    """Whether integers e exist with sums + e @ coefficients >= 0, = 0 in the first `equalities` columns, for each row.

    Both are arrays of integers; every row of `sums` is a point, every row of `coefficients` an unknown.
    """
    found = np.zeros(len(sums), bool)
    at, sums, coefficients = _solved(np.asarray(sums, np.int64), np.asarray(coefficients, np.int64), equalities)
    kept, rows = _bounded(tuple(map(tuple, coefficients.T.tolist())), len(coefficients))
    found[at] = _search(sums[:, kept], _unknowns(rows, len(kept)))
    return found


def _unknowns(rows, count):
    """The coefficients of so many rows as an array, a row for every unknown."""
    return np.array(rows, np.int64).reshape(count, -1).T if count else np.zeros((0, 0), np.int64)


def _plus(sums, values, coefficients):
    """sums + values * coefficients, a column of values and a row of coefficients."""
    if _largest(sums) + _largest(values) * _largest(coefficients) >= LARGE:
        raise Undecided
    return sums + values[:, None] * coefficients


def _largest(array):
    return int(np.abs(array).max(initial=0))


# ---- what coefficients alone decide


def _mixed(rows, k, first):
    """The rows with multiples of unknowns taken from others, and signs and places changed, until row k has no more than
    one of those from `first` on, that one; the new unknowns are integers where the old ones are."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    while True:
        used = sorted([c for c in columns[first:] if c[k]], key=lambda c: abs(c[k]))
        if len(used) < 2:
            break
        for column in used[1:]:
            q = column[k] // used[0][k]
            column[:] = [a - q * b for a, b in zip(column, used[0])]
    columns[first:] = sorted(columns[first:], key=lambda c: not c[k])
    return list(zip(*columns, strict=True))


def _solved(sums, coefficients, equalities):
    """Without the equalities, which come first: (the points where they can hold, sums and coefficients there)."""
    at = np.arange(len(sums))
    for k in range(equalities):
        if coefficients[:, k].any():
            coefficients = np.array(_mixed(coefficients.T.tolist(), k, 0), np.int64).T
            h = coefficients[0, k]
            here = sums[:, k] % h == 0
            at, sums = at[here], sums[here]
            sums, coefficients = _plus(sums, -(sums[:, k] // h), coefficients[0]), coefficients[1:]
        else:
            here = sums[:, k] == 0
            at, sums = at[here], sums[here]
    return at, sums[:, equalities:], coefficients[:, equalities:]


@lru_cache(maxsize=256)
def _bounded(rows, n):
    """Of inequalities in n unknowns: (which of them count, the coefficients in unknowns that these bound)."""
    kept = list(range(len(rows)))
    while n:
        mixed, rank = rows, 0
        for k in range(len(rows)):  # only the first `rank` unknowns occur in the rows up to k
            if any(mixed[k][rank:]):
                mixed = _mixed(mixed, k, rank)
                rank += 1
        if rank < n:
            rows, n = [row[:rank] for row in mixed], rank
            if not n:
                break
        for d in _directions(rows, n):
            rise = [sum(a * b for a, b in zip(row, d, strict=True)) for row in rows]
            if min(rise) >= 0 and any(rise):
                break
        else:
            break
        kept = [k for k, r in zip(kept, rise, strict=True) if not r]
        rows = [row for row, r in zip(rows, rise, strict=True) if not r]
        if not rows:
            n = 0
    return kept, tuple(map(tuple, rows))


def _directions(rows, n):
    """The directions along which n - 1 rows that have no other in common stay as they are: the cone of those in which
    no row falls has one of them unless it is empty, if only 0 changes no row."""
    for some_rows in combinations(sorted({tuple(r) for r in rows if any(r)}), n - 1):
        d = [(-1) ** k * _determinant([r[:k] + r[k + 1 :] for r in map(tuple, some_rows)]) for k in range(n)]
        if any(d):
            g = gcd(*d)
            yield [v // g for v in d]
            yield [-v // g for v in d]


def _determinant(m):
    """By its first row."""
    if not m:
        return 1
    return sum((-1) ** k * v * _determinant([r[:k] + r[k + 1 :] for r in m[1:]]) for k, v in enumerate(m[0]) if v)


def _shortened(coefficients):
    """The coefficients of other unknowns, in which the old ones are integral and the other way round.

    A multiple of one row is taken from another while that makes it shorter, as Lagrange reduces a basis of two.
    """
    rows = coefficients.tolist()

    def product(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    again = True
    while again:
        again = False
        for a, b in permutations(range(len(rows)), 2):
            q = round(product(rows[a], rows[b]) / max(product(rows[b], rows[b]), 1))
            less = [x - q * y for x, y in zip(rows[a], rows[b], strict=True)]
            if product(less, less) < product(rows[a], rows[a]):
                rows[a], again = less, True
    return np.array(rows, np.int64)


@lru_cache(maxsize=256)
def _projected(rows, k):
    """What the rows say of unknown k alone: (sums of them with factors > 0, the coefficients of k), or None.

    Fourier and Motzkin: a row with x > 0 and one with x < 0 add up to one without x. Of such sums only those of at most
    t + 1 rows are needed after t unknowns (Chernikov).
    """
    n = len(rows[0])
    found = [(row, tuple([int(i == j) for j in range(len(rows))])) for i, row in enumerate(rows)]
    for t, x in enumerate([x for x in range(n) if x != k], 2):
        up, down = ([f for f in found if f[0][x] * sign > 0] for sign in (1, -1))
        rest = {f[1]: f[0] for f in found if not f[0][x]}
        if len(up) * len(down) > 10 * COMBINED:
            return None
        for a, fa in up:
            for b, fb in down:
                factors = [-b[x] * p + a[x] * q for p, q in zip(fa, fb, strict=True)]
                if len(factors) - factors.count(0) <= t:
                    g = gcd(*factors)
                    row = tuple([(-b[x] * p + a[x] * q) // g for p, q in zip(a, b, strict=True)])
                    rest[tuple([v // g for v in factors])] = row
        found = [(row, factors) for factors, row in rest.items()]
        if len(found) > COMBINED:
            return None
    return np.array([f for _, f in found], np.int64).reshape(-1, len(rows)), np.array([row[k] for row, _ in found])


# ---- what is decided at every point


def _search(sums, coefficients):
    """`some` of inequalities that bound all unknowns."""
    found = np.zeros(len(sums), bool)
    owner = np.arange(len(sums))
    while True:
        alone = ~coefficients.any(axis=0)
        if alone.any():
            here = (sums[:, alone] >= 0).all(axis=1)
            owner, sums, coefficients = owner[here], sums[here][:, ~alone], coefficients[:, ~alone]
        if not len(coefficients) or not len(owner):
            break
        low, high = _propagated(sums, coefficients)
        here = (low <= high).all(axis=1)
        owner, sums, low, high = owner[here], sums[here], low[here], high[here]
        if len(coefficients) == 1 or not len(owner):  # one unknown is decided by its bounds
            break
        width = high - low + 1
        k = int(width.sum(axis=0).argmin())
        if width[:, k].max() <= WIDE:
            start, width = low[:, k].astype(np.int64), width[:, k].astype(np.int64)
        else:
            coefficients, k, start, width = _narrowest(sums, coefficients)
        total = int(width.sum())
        if total > MOST and len(owner) > 1:
            for part in np.array_split(np.arange(len(owner)), min(len(owner), -(-total // MOST))):
                found[owner[part][_search(sums[part], coefficients)]] = True  # an owner may have several rows
            return found
        row = np.repeat(np.arange(len(owner)), width)
        e = start[row] + np.arange(len(row)) - np.repeat(width.cumsum() - width, width)
        owner, sums = owner[row], _plus(sums[row], e, coefficients[k])
        coefficients = np.delete(coefficients, k, axis=0)
    found[owner] = True
    return found


def _propagated(sums, coefficients):
    """Bounds of the unknowns, for each row of `sums`: what each inequality says, a few times over; perhaps infinite."""
    n = len(coefficients)
    if _largest(sums) >= EXACT:
        raise Undecided
    low, high = np.full((len(sums), n), -np.inf), np.full((len(sums), n), np.inf)
    for _ in range(3 if n > 1 else 1):
        for column, row in zip(sums.T, coefficients.T, strict=True):
            used = row.nonzero()[0]
            most = {k: row[k] * (high if row[k] > 0 else low)[:, k] for k in used}
            if any(
                np.abs(m, where=np.isfinite(m), out=np.zeros_like(m)).max(initial=0) >= EXACT for m in most.values()
            ):
                raise Undecided
            for k in used:
                rest = sum((most[j] for j in used if j != k), column)
                if row[k] > 0:
                    low[:, k] = np.maximum(low[:, k], np.ceil(-rest / row[k]))
                else:
                    high[:, k] = np.minimum(high[:, k], np.floor(rest / -row[k]))
    return low, high


def _narrowest(sums, coefficients):
    """(coefficients, the unknown of fewest values, the first of these and how many there are, for each point)."""
    best = None
    for basis in (coefficients, _shortened(coefficients)):
        rows = tuple(map(tuple, basis.T.tolist()))
        for k in range(len(basis)):
            found = _projected(rows, k)
            if found is None:
                continue
            factors, row = found
            if _largest(sums) * max(map(sum, factors.tolist())) >= LARGE:
                raise Undecided
            said = sums @ factors.T
            low = (-(said[:, row > 0] // row[row > 0])).max(axis=1)
            high = (said[:, row < 0] // -row[row < 0]).min(axis=1)
            width = np.maximum(high - low + 1, 0)
            width[(said[:, row == 0] < 0).any(axis=1)] = 0
            if best is None or width.sum() < best[3].sum():
                best = basis, k, low, width
    if best is None or best[3].max() > MOST or best[3].sum() > TOTAL:
        raise Undecided
    return best
