"""Truth tables: what a relation of the library means, read off its rows by numpy alone.

`table` evaluates every row of every conjunct at every point of a window, one axis per parameter and dimension, and
knows nothing of how the relation came about. With truth tables every operation is a law about arrays: projecting is
`any` over an axis, reversing a map is `moveaxis`. Values are float64, exact below 2**53, which is checked.
"""

from functools import lru_cache, reduce
from itertools import product

import numpy as np

LOW, HIGH = -3, 4  # drawn sets live in this box ...
WINDOW = range(LOW - 1, HIGH + 2)  # ... and are looked at in this window
PARAMS = range(-1, 4)
FAR = 60  # how far an existential without bounds of its own is searched
EXACT = 2.0**50


def shape(n_params, n_dims):
    """The shape of a table."""
    return (len(PARAMS),) * n_params + (len(WINDOW),) * n_dims


@lru_cache(maxsize=64)
def axes(n_params, n_dims):
    """One coordinate array per parameter and dimension, for broadcasting."""
    return tuple(np.meshgrid(*map(np.array, [PARAMS] * n_params + [WINDOW] * n_dims), indexing="ij", sparse=True))


@lru_cache(maxsize=64)
def _grid(n_params, n_dims):
    """All points of the window, one a row, with a leading 1."""
    columns = [np.broadcast_to(a, shape(n_params, n_dims)).ravel() for a in axes(n_params, n_dims)]
    return np.stack([np.ones(int(np.prod(shape(n_params, n_dims)))), *columns], axis=1)


def conjunct_table(c, n_params):
    """The truth table of one conjunct, from its rows."""
    return holds(c, _grid(n_params, c.n - n_params)).reshape(shape(n_params, c.n - n_params))


def holds(c, points):
    """Which of the points, rows (1, dims...), lie in a conjunct."""
    values = np.zeros((len(points), 1 + c.n + len(c.divs)))
    values[:, : 1 + c.n] = points
    unknown = []
    for k, div in enumerate(c.divs):
        if div is None:
            unknown.append(1 + c.n + k)
        else:
            den, row = div
            values[:, 1 + c.n + k] = np.floor_divide(values[:, : len(row)] @ np.array(row, float), float(den))
    rows = [*c.eqs, *(tuple(-v for v in r) for r in c.eqs), *c.ineqs]
    if not rows:
        return np.ones(len(points), bool)
    matrix = np.array(rows, float).T
    at_most = np.abs(values).max(axis=0, initial=0) @ np.abs(matrix)
    assert at_most.max(initial=0) < EXACT, f"too large for exact tables: {c}"
    sums = values @ matrix
    free = ~matrix[unknown].any(axis=0)
    found = (sums[:, free] >= 0).all(axis=1)
    if unknown:
        (at,) = found.nonzero()
        found[at] = _some(sums[at][:, ~free], matrix[unknown][:, ~free])
    return found


def _some(sums, coefficients):
    """Whether integers e exist with sums + e @ coefficients >= 0, for each row of `sums`.

    Bounds are propagated, the narrowest unknown is given all its values at once, and so on with the others.
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
