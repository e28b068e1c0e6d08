"""Forms that strips determine: every solution of a system satisfies them."""

from itertools import product
from random import Random

import pytest

from polyvolta.sets.engine.strips import determined

REACH = range(-7, 8)


def strip(rng, n_par, n_var):
    """Two opposite inequalities, close to each other, or an equality twice."""
    row = [rng.randint(-9, 9), *(rng.randint(-4, 4) for _ in range(n_par))]
    row += [rng.choice([-8, -5, -3, -1, 0, 1, 2, 3, 6]) for _ in range(n_var)]
    width = rng.randint(0, 7)
    return [tuple(row), (width - row[0], *(-v for v in row[1:]))]


def value(row, point):
    return sum(a * b for a, b in zip(row, (1, *point), strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_every_solution_has_these_forms(seed):
    rng = Random(seed)
    n_par, n_var = 1, rng.choice([1, 2, 3])
    ineqs = [row for _ in range(rng.randint(1, 3)) for row in strip(rng, n_par, n_var)]
    eqs = strip(rng, n_par, n_var)[:1] if rng.random() < 0.3 else []
    forms = determined(n_par, eqs, ineqs)
    for point in product(REACH, repeat=n_par + n_var):
        if all(value(r, point) >= 0 for r in ineqs) and not any(value(r, point) for r in eqs):
            known = point[:n_par]
            for form, den, row in forms:
                assert value((0, *form), point[n_par:]) == value(row, known) // den
                known += (value(row, known) // den,)


def test_what_is_found_leads_to_more():
    """i = 17e + r, r = 5n + 2f with 0 <= f <= 1 and so on: each strip alone has several values."""
    rows = [
        (0, 0, 3, -5, 0), (2, 0, -3, 5, 0),  # 0 <= 3i - 5e <= 2
        (0, -7, 0, 9, -2), (1, 7, 0, -9, 2),  # 0 <= 9e - 7n - 2f <= 1
        (0, 0, 0, 0, 1), (1, 0, 0, 0, -1),  # 0 <= f <= 1
    ]  # fmt: skip
    forms = [form for form, _, _ in determined(1, [], rows)]
    assert len(forms) >= 2


def test_wide_strips_determine_nothing():
    assert determined(1, [], [(0, -1, 3), (3, 1, -3)]) == []
    assert determined(1, [], [(0, -1, 3), (2, 1, -3)]) == [((1,), 3, (2, 1))]
    assert determined(0, [], []) == []
