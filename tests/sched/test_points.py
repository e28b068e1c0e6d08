"""Conjuncts that plainly have points, held to the library's search."""

import random

from polyvolta.sched.points import is_empty, unbounded
from polyvolta.sets.conjuncts.conjunct import normalise
from polyvolta.sets.engine import integer


def test_what_plainly_has_points_has_some():
    rng = random.Random(5)
    found = set()
    for _ in range(2000):
        n = rng.randint(1, 4)
        row = lambda: tuple(rng.choice((-3, -1, 0, 0, 1, 2)) for _ in range(1 + n))  # noqa: B023, E731
        eqs, ineqs = [row() for _ in range(rng.choice((0, 0, 1, 2)))], [row() for _ in range(rng.randint(0, 5))]
        c = normalise(n, (), eqs, ineqs)
        empty = integer.is_empty(n, eqs, ineqs)
        assert c is not None or empty
        if c is not None:
            assert is_empty(c) == empty, (eqs, ineqs)
            found.add((unbounded(c.ineqs), bool(c.eqs), empty))
    assert {(True, False, False), (True, True, False), (False, True, True), (False, False, True)} <= found
