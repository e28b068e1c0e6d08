"""Conjuncts that plainly have points, held to the points in small boxes."""

import random

import numpy as np

from polyvolta.sched.points import in_all_directions, is_empty, unbounded
from polyvolta.sets.conjuncts.conjunct import normalise


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


def moves(n, eqs, ineqs, reach):
    """Whether in each dimension two such points differ in that alone."""
    grid = members(n, eqs, ineqs, reach)
    return all((grid.sum(axis=k) > 1).any() for k in range(n))


def test_what_plainly_has_points_has_some():
    """What is called empty has no point nearby; what is not has one, a little farther off where rows lean on others."""
    rng = random.Random(5)
    found = set()
    for _ in range(2000):
        n = rng.randint(1, 3)
        row = lambda: tuple(rng.choice((-3, -1, 0, 0, 1, 2)) for _ in range(1 + n))  # noqa: B023, E731
        eqs, ineqs = [row() for _ in range(rng.choice((0, 0, 1, 2)))], [row() for _ in range(rng.randint(0, 5))]
        c = normalise(n, (), eqs, ineqs)
        empty = c is None or is_empty(c)
        reaches = (10,) if empty else (3, 10, 40, 90)
        assert empty != any(has_point(n, eqs, ineqs, reach) for reach in reaches), (eqs, ineqs)
        if c is not None:
            found.add((unbounded(c.ineqs), bool(c.eqs), empty))
    assert {(True, False, False), (True, True, False), (False, True, True), (False, False, True)} <= found


def test_what_plainly_goes_in_all_directions_does():
    """And much else doesn't, all of what has no point among it."""
    rng = random.Random(11)
    found = set()
    for _ in range(1000):
        n = rng.randint(1, 3)
        row = lambda: tuple(rng.choice((-3, -1, 0, 0, 1, 2)) for _ in range(1 + n))  # noqa: B023, E731
        eqs, ineqs = [row() for _ in range(rng.choice((0, 0, 1)))], [row() for _ in range(rng.randint(0, 4))]
        c = normalise(n, (), eqs, ineqs)
        plainly = c is not None and in_all_directions(c)
        does = any(moves(n, eqs, ineqs, reach) for reach in (3, 10, 40))
        assert does or not plainly, (eqs, ineqs)
        found.add((plainly, does))
    assert found == {(True, True), (False, True), (False, False)}
