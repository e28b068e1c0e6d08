"""isl's dim_max_val and dim_min_val optimise over the parameters, too: beside islpy."""

import random

import pytest

import polyvolta.isl as ours
from polyvolta.sets import budget

isl = pytest.importorskip("islpy")


def drawn(rng):
    """A set of two parameters and two dimensions, in one or two pieces, which may be empty or unbounded."""

    def row():
        terms = rng.sample(["n", "m", "x", "y", "floor(x/3)", "(y mod 4)"], rng.randint(1, 3))
        form = " + ".join(f"{rng.randint(-3, 3)}*{t}" for t in terms)
        return f"{form} {rng.choice(['<=', '>=', '<=', '>=', '='])} {rng.randint(-9, 9)}"

    pieces = [" and ".join(row() for _ in range(rng.randint(2, 6))) for _ in range(rng.randint(1, 2))]
    return f"[n, m] -> {{ [x, y] : {' or '.join(pieces)} }}"


@pytest.mark.parametrize("seed", range(6))
def test_values_of_random_sets(seed):
    rng = random.Random(seed)
    for _ in range(20):
        text = drawn(rng)
        mine, theirs = ours.Set(text), isl.Set(text)
        for k in (0, 1):
            for name in ("dim_max_val", "dim_min_val"):
                assert str(getattr(mine, name)(k)) == str(getattr(theirs, name)(k)), (text, k, name)


def test_no_function_of_the_parameters_is_made():
    s = ours.Set("[n, m] -> { [x, y, z] : 3x + 5y - 7z = n and 0 <= x, y, z <= m }")
    with budget(100):
        found = [str(f(k)) for f in (s.dim_max_val, s.dim_min_val) for k in range(3)]
    assert found == ["infty"] * 3 + ["0"] * 3
