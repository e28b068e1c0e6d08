"""Gists of equalities, floors and existentials in contexts of these, by truth tables."""

import random

import numpy as np
import pytest

from polyvolta.sets import Set
from tests.sets.tables import table


def linear(rng, names, most=3):
    return " + ".join([f"{rng.randint(-most, most)}{v}" for v in rng.sample(names, rng.choice([1, 2, 2]))])


def drawn(rng, names):
    """Some rows that hold of three dimensions at a few places, at least."""
    d, v = rng.choice([2, 3, 4, 6]), rng.choice(names)
    kinds = [
        f"{v} = {rng.randint(-1, 3)}",
        f"{linear(rng, names)} = {rng.randint(-1, 1)}",
        f"({linear(rng, names, 2)}) mod {d} = {rng.randrange(d)}",
        f"floor(({linear(rng, names)})/{d}) = {rng.choice(names)}",
        f"floor(({linear(rng, names)})/{d}) <= {linear(rng, names, 1)}",
        f"{linear(rng, names)} >= {rng.randint(-3, 1)}",
        f"{linear(rng, names)} >= {rng.randint(-3, 1)}",
        f"(exists e : {v} <= 3e + {rng.choice(names)} and 2e <= {linear(rng, names, 1)} and 0 <= e <= 3)",
    ]
    return " and ".join(rng.sample(kinds, rng.choice([1, 2, 3])))


@pytest.mark.parametrize("seed", range(3))
def test_a_gist_has_the_points_of_the_set_within_the_context(seed):
    rng, names, shorter, meet = random.Random(seed), ["i", "j", "k"], 0, 0
    rows = lambda s: sum(len(c.eqs) + len(c.ineqs) for _, cs in s.parts for c in cs)  # noqa: E731
    for _ in range(80):
        pieces = [[drawn(rng, names) for _ in range(rng.choice([1, 1, 2]))] for _ in range(2)]
        this, context = (Set("{ " + "; ".join(f"[i, j, k] : {p}" for p in some) + " }") for some in pieces)
        if context.is_empty() or this.is_empty():
            continue
        short, within = this.gist(context), table(context)
        assert np.array_equal(table(short) & within, table(this) & within), (this, context, short)
        meet += (table(this) & within).any()
        shorter += rows(short) < rows(this)
    assert shorter > 10 and meet > 20
