"""Conjuncts that plainly have points in all directions, held to the points in small boxes."""

import random

from polyvolta.sched.points import in_all_directions
from polyvolta.sets.conjuncts.conjunct import normalise
from tests.sets.nearby import members


def moves(n, eqs, ineqs, reach):
    """Whether in each dimension two such points differ in that alone."""
    grid = members(n, eqs, ineqs, reach)
    return all((grid.sum(axis=k) > 1).any() for k in range(n))


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
