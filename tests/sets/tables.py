"""Truth tables: what a relation of the library means, read off its rows by numpy alone.

`table` evaluates every row of every conjunct at every point of a window, one axis per parameter and dimension, and
knows nothing of how the relation came about. With truth tables every operation is a law about arrays: projecting is
`any` over an axis, reversing a map is `moveaxis`. A row is a sum of arrays along the axes that it uses, so that it
costs the points of those alone, and the table of a conjunct is kept for the next law that meets the same rows. Values
are int64, and float64 where existentials are searched; that they are exact there is checked.
"""

from functools import lru_cache, reduce
from itertools import product

import numpy as np

LOW, HIGH = -3, 4  # drawn sets live in this box ...
WINDOW = range(LOW - 1, HIGH + 2)  # ... and are looked at in this window
PARAMS = range(-1, 4)
FAR = 60  # how far an existential without bounds of its own is searched
EXACT = 2**50  # of float64
LARGE = 2**62  # of int64
MOST = 2**22  # rows that are looked at at once


def shape(n_params, n_dims):
    """The shape of a table."""
    return (len(PARAMS),) * n_params + (len(WINDOW),) * n_dims


@lru_cache(maxsize=64)
def axes(n_params, n_dims):
    """One coordinate array per parameter and dimension, for broadcasting."""
    return tuple(np.meshgrid(*map(np.array, [PARAMS] * n_params + [WINDOW] * n_dims), indexing="ij", sparse=True))


def conjunct_table(c, n_params):
    """The truth table of one conjunct, from its rows; not to be written to."""
    return _rows_table(n_params, c.n, tuple(c.eqs), tuple(c.ineqs), tuple(c.divs))


@lru_cache(maxsize=512)
def _rows_table(n_params, n, eqs, ineqs, divs):
    """The truth table of equalities, inequalities and divs."""
    found = np.ones(shape(n_params, n - n_params), bool)
    _narrow(found, [np.int64(1), *axes(n_params, n - n_params)], eqs, ineqs, divs)
    found.flags.writeable = False
    return found


def holds(c, points):
    """Which of the points, rows (1, dims...), lie in a conjunct."""
    return holds_rows(c.eqs, c.ineqs, c.divs, points)


def holds_rows(eqs, ineqs, divs, points):
    """At which of the points, rows (1, dims...), equalities, inequalities and divs hold."""
    found = np.ones(len(points), bool)
    _narrow(found, list(points.T.astype(np.int64)), eqs, ineqs, divs)
    return found


def _narrow(found, columns, eqs, ineqs, divs):
    """Clear the entries at which rows or divs do not hold; a column is what a coefficient is multiplied with, any
    array that broadcasts to `found`, and None for an existential."""
    largest = [int(np.abs(x).max(initial=0)) for x in columns]
    for div in divs:
        if div is None:
            columns.append(None)
            largest.append(0)
        else:
            den, row = div
            columns.append(_sum(row, columns, largest) // den)
            largest.append(sum(abs(c) * m for c, m in zip(row, largest)) // den + 1)
    unknown = [k for k, x in enumerate(columns) if x is None]
    searched = []
    for rows, holds_ in ((eqs, np.equal), (ineqs, np.greater_equal)):
        for row in rows:
            if any(row[k] for k in unknown):
                searched += (row, tuple(-v for v in row)) if holds_ is np.equal else (row,)
            else:
                np.logical_and(found, holds_(_sum(row, columns, largest), 0), out=found)
    if searched:
        at = found.nonzero()
        known = [(k, np.broadcast_to(x, found.shape)[at]) for k, x in enumerate(columns) if x is not None]
        assert all(sum(abs(v) * m for v, m in zip(r, largest)) < EXACT for r in searched), "too large for exact tables"
        sums = np.stack([sum((r[k] * x for k, x in known), np.zeros(len(at[0]))) for r in searched], axis=1)
        found[at] = _some(sums, np.array([[r[k] for r in searched] for k in unknown], float))


def _sum(row, columns, largest):
    """A row at the points: the sum of its columns, each times its coefficient."""
    assert sum(abs(c) * m for c, m in zip(row, largest)) < LARGE, f"too large for exact tables: {row}"
    total = np.int64(0)
    for c, x in zip(row, columns):
        if c:
            total = total + c * x
    return total


def _some(sums, coefficients):
    """Whether integers e exist with sums + e @ coefficients >= 0, for each row of `sums`.

    Bounds are propagated, the narrowest unknown is given all its values at once, and so on with the others. Where these
    would be more than `MOST` rows, they are looked at in portions, for memory.
    """
    found = np.zeros(len(sums), bool)
    owner = np.arange(len(sums))
    while len(coefficients) and len(owner):
        low, high = _bounds(sums, coefficients)
        (at,) = (low <= high).all(axis=1).nonzero()
        owner, sums, low, high = owner[at], sums[at], low[at], high[at]
        if len(coefficients) == 1 or not len(at):  # one unknown is decided by its bounds
            break
        narrow = int((high - low).sum(axis=0).argmin())
        start, stop = low[:, narrow], high[:, narrow]
        far = stop - start > 4 * FAR
        start, stop = np.where(far, np.maximum(start, -FAR), start), np.where(far, np.minimum(stop, FAR), stop)
        width = np.maximum(stop - start + 1, 0).astype(int)
        if width.sum() > MOST and len(owner) > 1:
            for part in np.array_split(np.arange(len(owner)), min(len(owner), -(-width.sum() // MOST))):
                found[owner[part][_some(sums[part], coefficients)]] = True  # an owner may have several rows
            return found
        row = np.repeat(np.arange(len(owner)), width)
        e = start[row] + np.arange(len(row)) - np.repeat(width.cumsum() - width, width)
        owner, sums = owner[row], sums[row] + e[:, None] * coefficients[narrow]
        coefficients = np.delete(coefficients, narrow, axis=0)
    found[owner] = True
    return found


def _bounds(sums, coefficients):
    """Bounds of the unknowns, for each row of `sums`: what each inequality says, a few times over."""
    n = len(coefficients)
    low, high = np.full((len(sums), n), -1e6), np.full((len(sums), n), 1e6)
    for _ in range(3 if n > 1 else 1):
        for column, c in zip(sums.T, coefficients.T, strict=True):
            most = np.maximum(c * low, c * high)
            for k in c.nonzero()[0]:
                rest = column + most.sum(axis=1) - most[:, k]
                if c[k] > 0:
                    low[:, k] = np.maximum(low[:, k], np.ceil(-rest / c[k]))
                else:
                    high[:, k] = np.minimum(high[:, k], np.floor(rest / -c[k]))
    return low, high


def table(relation, key=None):
    """The truth table of a relation of one space (or of its part with that space key), parameters first.

    None for a relation without a space.
    """
    parts = [(s, cs) for s, cs in relation.parts if key is None or s.key == key]
    if not parts:
        return None
    assert len(parts) == 1, f"several spaces: {relation}"
    ((space, cs),) = parts
    n_params = len(relation.param_names)
    empty = np.zeros(shape(n_params, len(space.dims)), bool)
    return reduce(np.logical_or, (conjunct_table(c, n_params) for c in cs), empty)


def value(e, at):
    """The value of an expression of the library where names have values (numbers or arrays)."""
    total = np.int64(e.const)
    for atom, c in e.terms:
        if isinstance(atom, str):
            part = at[atom]
        elif hasattr(atom, "den"):
            part = value(atom.num, at) // atom.den
        else:
            part = value(atom.left, at) ^ value(atom.right, at)
        total = total + c * part
    return total


def function_table(f):
    """Where a piecewise function of the library is defined, and its values there."""
    n_params, n_dims = len(f.param_names), len(f.names) - len(f.param_names)
    at = dict(zip(f.names, axes(n_params, n_dims), strict=True))
    where, values = np.zeros(shape(n_params, n_dims), bool), np.zeros(shape(n_params, n_dims), np.int64)
    for domain, e in f.pieces:
        here = table(domain)
        assert not (where & here).any(), f"pieces overlap: {f}"
        where |= here
        values = np.where(here, value(e, at), values)
    return where, values


# ---- reading tables


def points(array):
    """The coordinates of the true entries of a table without parameters."""
    return [tuple(WINDOW[k] for k in at) for at in np.argwhere(array)]


def instances(array, n_params):
    """(parameter values, table) for every choice of parameters."""
    for at in product(range(len(PARAMS)), repeat=n_params):
        yield tuple(PARAMS[k] for k in at), array[at]


def first_true(array, n_keep, last=False):
    """The table that keeps, along the axes after `n_keep`, the lexicographically first (last) true entry alone."""
    flat = array.reshape(*array.shape[:n_keep], -1)
    if last:
        flat = flat[..., ::-1]
    keep = np.zeros_like(flat)
    np.put_along_axis(keep, flat.argmax(axis=-1)[..., None], True, axis=-1)
    keep &= flat
    return (keep[..., ::-1] if last else keep).reshape(array.shape)
