"""Which points in a small box satisfy rows, by looking at each."""

import numpy as np


def members(n, eqs, ineqs, reach):
    """Which points with coordinates of at most `reach` satisfy the rows, constants first."""
    point = np.indices((2 * reach + 1,) * n, np.int16).reshape(n, -1) - reach
    at = lambda row: row[0] + sum((v * x for v, x in zip(row[1:], point, strict=True) if v), np.zeros(1, np.int16))  # noqa: E731
    holds = np.ones(point.shape[1], bool)
    for row in eqs:
        holds &= at(row) == 0
    for row in ineqs:
        holds &= at(row) >= 0
    return holds.reshape((2 * reach + 1,) * n)


def has_point(n, eqs, ineqs, reach):
    """Whether a point with coordinates of at most `reach` satisfies the rows."""
    return bool(members(n, eqs, ineqs, reach).any())
