"""Bounds stay where a definition says them only by what they made of it.

With l = 3q and q = floor((k + 3l)/9) the definition says 0 <= k <= 8. Where 0 <= k <= 2 it is q = floor(l/3), and then
it says nothing of k any more: the definition may not take away the row that has made it simple.
"""

import random
from itertools import product

import numpy as np
import pytest

from polyvolta.sets import Set
from polyvolta.sets.conjuncts.normal import normal_form, strengthened
from tests.sets.tables import holds_rows

GRIDS = {n: np.array([(1, *p) for p in product(range(-9, 12), repeat=n)]) for n in (2, 3)}


@pytest.mark.parametrize(
    "text, holds",
    [
        (
            "{ A[k,l] : -3 <= k <= 4 and -3 <= l <= 4 and floor((k + 3l)/3) mod 3 = 0 and l mod 3 = 0 }",
            lambda k, l: -3 <= k <= 4 and -3 <= l <= 4 and (k + 3 * l) // 3 % 3 == 0 == l % 3,
        ),
        (
            "{ A[i,k] : -3 <= i <= 4 and -3 <= k <= 4 and (2k + floor((i + 5)/6) - 1) mod 6 = 0 }",
            lambda i, k: -3 <= i <= 4 and -3 <= k <= 4 and (2 * k + (i + 5) // 6 - 1) % 6 == 0,
        ),
        (
            "{ A[n,i] : -9 <= n <= 9 and 0 <= i <= 2 and (n + 3*floor(i/3)) mod 2 = 1 }",
            lambda n, i: 0 <= i <= 2 and (n + 3 * (i // 3)) % 2 == 1 and -9 <= n <= 9,
        ),
        (
            "{ A[i,j] : 0 <= i <= 3 and 0 <= j <= 3 and j >= 1 and (3*floor((j + 2)/3) - i + 3) mod 2 = 0 }",
            lambda i, j: 0 <= i <= 3 and 1 <= j <= 3 and (3 * ((j + 2) // 3) - i + 3) % 2 == 0,
        ),
    ],
)
def test_points(text, holds):
    read = Set(text)
    for s in (read, Set(str(read)), read.coalesce()):
        assert sorted(s.points()) == sorted(p for p in product(range(-9, 12), repeat=2) if holds(*p)), str(s)


def test_points_with_a_bound_put_in_later():
    whole = Set("{ A[i,j] : -3 <= i <= 4 and -3 <= j <= 0 and (j - floor((i - 3j - 5)/3) + 5) mod 4 = 0 }")
    want = [(i, j) for i in range(2, 5) for j in range(-3, 1) if (j - (i - 3 * j - 5) // 3 + 5) % 4 == 0]
    assert sorted(whole.lower_bound("i", 2).points()) == want


def drawn(rng):
    """(dimensions, divs, equalities, inequalities): floors of sums that have multiples of them."""
    n, m = rng.choice((2, 2, 3)), rng.choice((1, 1, 1, 2, 3))
    width, dims = 1 + n + m, [*range(1, 1 + n)]
    divs, eqs, ineqs = [], [], []

    def row(const, terms):
        out = [const] + [0] * (width - 1)
        for col, c in terms:
            out[col] += c
        return tuple(out)

    for q in range(1 + n, width):
        rng.shuffle(dims)
        x, y, g, h = *dims[:2], rng.choice((2, 2, 3, 3, 4)), rng.choice((2, 2, 3, 3, 4))
        terms = [(x, rng.choice((1, 1, 1, 1, -1, 2))), (y, g * rng.choice((1, 1, 1, -1, 2)))]
        if q > 1 + n and rng.random() < 0.5:
            terms.append((rng.randrange(1 + n, q), rng.choice((1, g, -1, g * h))))
        divs.append((g * h, row(rng.choice((0, 0, 0, 1, -1, g, g - 1, 2)), terms)[:q]))
        if rng.random() < 0.8:
            terms = [(y, 1), (q, -h * rng.choice((1, 1, 1, 1, 1, -1)))]
            if rng.random() < 0.25:
                terms.append((rng.randrange(1, width), rng.choice((1, -1, h, -h, g, -g))))
            eqs.append(row(rng.choice((0, 0, 0, 1, -1)), terms))
        for col in (x, y):
            if rng.random() < 0.5:
                low = rng.choice((0, 0, 0, 0, -1, 1))
                high = low + rng.choice((g - 1, g - 1, g - 1, g, 1, h - 1, g * h - 1))
                ineqs += [row(-low, [(col, 1)]), row(high, [(col, -1)])]
    if rng.random() < 0.4:
        a, b = rng.sample(range(1, width), 2)
        ineqs.append(row(rng.choice((0, 0, 1, 2, 3, 7)), [(a, rng.choice((1, -1, 3))), (b, rng.choice((1, -2, -4)))]))
    rng.shuffle(ineqs)
    return n, divs, eqs, ineqs


@pytest.mark.parametrize("seed", range(8))
def test_normal_forms(seed):
    rng = random.Random(seed)
    some = 0
    for _ in range(100):
        n, divs, eqs, ineqs = drawn(rng)
        grid = GRIDS[n]
        want = holds_rows(eqs, ineqs, divs, grid)
        found = normal_form(n, divs, eqs, ineqs)
        here = np.zeros(len(grid), bool) if found is None else holds_rows(found[1], found[2], found[0], grid)
        assert (here == want).all(), (n, divs, eqs, ineqs, found)
        some += want.any()
        half = normal_form(n, divs, eqs, ineqs[::2])
        if half is None:
            continue
        more = [(*r[: 1 + n], *[0] * len(half[0])) for r in ineqs[1::2] if not any(r[1 + n :])]
        want = holds_rows(half[1], [*half[2], *more], half[0], grid)
        found = strengthened(n, *half, more)
        here = np.zeros(len(grid), bool) if found is None else holds_rows(found[1], found[2], found[0], grid)
        assert (here == want).all(), (n, half, more, found)
    assert some > 30
