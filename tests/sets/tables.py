"""Truth tables: what a relation of the library means, read off its rows by numpy alone.

`table` evaluates every row of every conjunct at every point of a window, one axis per parameter and dimension, and
knows nothing of how the relation came about. With truth tables every operation is a law about arrays: projecting is
`any` over an axis, reversing a map is `moveaxis`. A row is a sum of arrays along the axes that it uses, so that it
costs the points of those alone, and the table of a conjunct is kept for the next law that meets the same rows. Values
are int64; that they are exact there is checked. Existentials are found exactly, in `existentials`.
"""

from functools import lru_cache, reduce
from itertools import product

import numpy as np

from tests.sets.existentials import Undecided, some

LOW, HIGH = -3, 4  # drawn sets live in this box ...
WINDOW = range(LOW - 1, HIGH + 2)  # ... and are looked at in this window
PARAMS = range(-1, 4)
LARGE = 2**62  # of int64


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
                searched.append(row)
            else:
                np.logical_and(found, holds_(_sum(row, columns, largest), 0), out=found)
    if searched:
        equalities = sum(any(row[k] for k in unknown) for row in eqs)
        at = found.nonzero()
        known = [None if x is None else np.broadcast_to(x, found.shape)[at] for x in columns]
        sums = np.stack([_sum(r, known, largest) + np.zeros(len(at[0]), np.int64) for r in searched], axis=1)
        found[at] = some(sums, [[r[k] for r in searched] for k in unknown], equalities)


def _sum(row, columns, largest):
    """A row at the points: the sum of its columns, each times its coefficient."""
    if sum(abs(c) * m for c, m in zip(row, largest)) >= LARGE:
        raise Undecided(f"too large for exact tables: {row}")
    total = np.int64(0)
    for c, x in zip(row, columns):
        if c and x is not None:
            total = total + c * x
    return total


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
