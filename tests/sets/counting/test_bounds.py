"""Whether a polynomial is negative anywhere, and where its greatest value is: by enumeration."""

import random
from itertools import product

import numpy
import pytest

from polyvolta.isl import fold
from polyvolta.sets import PwQPolynomial
from polyvolta.sets.counting import bounds
from polyvolta.sets.counting.bounds import greatest, never_negative

NOWHERE = [
    "{ [i] -> 3 : i > 0 }",
    "[n] -> { [i] -> i : 0 <= i <= n }",
    "[n] -> { [i] -> n - i : i <= n }",
    "[n] -> { [i] -> 1/2 * i - 1/2 : i >= 1 }",
    "[n] -> { [i] -> n * i : i >= 0 and n >= 0 }",
    "[n] -> { [i] -> i * (n - i) : 0 <= i <= n }",
    "{ [i] -> i^2 - 2 * i + 1 : i >= 0 }",
]
SOMEWHERE = [
    "{ [i] -> -1 }",
    "{ [i] -> i - 1 : i >= 0 }",
    "[n] -> { [i] -> n - i : i <= n + 1 }",
    "[n] -> { [i] -> 1/2 * i - 1/2 : i >= 0 }",
    "[n] -> { [i] -> n * i - 1 : i >= 0 and n >= 0 }",
    "[n] -> { [i] -> -n * i : i >= 0 and n >= 0 }",
    "[n] -> { [i] -> n * i : 0 <= i <= 3 }",
    "{ [i] -> i^2 - 2 * i : i >= 0 }",
    # at 0 it is 0, at the other end, of more points than are looked at one by one, it is not
    "{ [i] -> i * (1999 - i) : 0 <= i <= 2000 }",
]


def values(text):
    """The values for sizes and dimensions between -6 and 6, and at 2000."""
    f = PwQPolynomial(text)
    for n in range(-6, 7) if f.param_names else (0,):
        given = {"n": n} if f.param_names else {}
        for where, p in f.pieces:
            yield from (p.evaluate({**given, "i": i}) for i in (*range(-6, 7), 2000) if where.contains((i,), **given))


@pytest.mark.parametrize("text", [*NOWHERE, *SOMEWHERE])
def test_never_negative(text):
    ((where, value),) = PwQPolynomial(text).pieces
    assert never_negative(value, where) == all(v >= 0 for v in values(text)) == (text in NOWHERE)


@pytest.mark.parametrize(
    "text",
    [
        "[n] -> { [i] -> n^5 * i^3 + n^2 * i : i >= 0 and n >= 0 }",
        "[n] -> { [i] -> n * i^3 - n^3 : i <= 0 and n <= 0 }",
        "[n] -> { [i] -> n^3 * floor((i + 1)/3) : i >= -1 and n >= 0 }",
    ],
)
def test_terms_of_known_signs_need_no_search(text, monkeypatch):
    """Of what degree ever, and where a search is cut short at once."""
    monkeypatch.setattr(bounds, "PROOF", 0)
    ((where, value),) = PwQPolynomial(text).pieces
    assert never_negative(value, where) and all(v >= 0 for v in values(text))
    assert not never_negative(-value, where) and not never_negative(value - 1, where)


def test_a_bound_below_another_one_by_signs_is_left_out():
    f = PwQPolynomial("[N] -> { [i, j, k] -> i^3 * j^2 + N * j * k : 0 <= i, j, k <= N }")
    assert str(f.bound(fold.max)[0]) == "[N] -> { max((N^3 + N^5)) : N >= 0 }"


def test_without_a_proof_it_is_not_said():
    ((where, value),) = PwQPolynomial("[n] -> { [i] -> n * i : i >= 0 and n >= 0 }").pieces
    assert not never_negative(value, where, proofs=0)
    assert never_negative(value - value, where, proofs=0)


@pytest.mark.parametrize("budget", [1, 10, 100])
def test_a_proof_that_is_cut_short_says_nothing(budget, monkeypatch):
    monkeypatch.setattr(bounds, "PROOF", budget)
    said = []
    for text in (*NOWHERE, *SOMEWHERE):
        ((where, value),) = PwQPolynomial(text).pieces
        said.append(never_negative(value, where))
        assert not said[-1] or text in NOWHERE, text
    assert budget > 1 or sum(said) < len(NOWHERE)  # some are cut short


@pytest.mark.parametrize(
    "text",
    [
        "[n] -> { [i] -> i^2 : -n <= i <= n }",
        "[n] -> { [i] -> i^2 - n * i : -1 <= i <= n + 2 }",
        "[n] -> { [i] -> -i^2 + 3 * i : 0 <= i <= n }",
        "[n] -> { [i] -> -i^2 : 2 <= i <= n }",
        "[n] -> { [i] -> -i^2 : -n <= i <= -2 }",
    ],
)
def test_exact_where_it_is_convex_or_a_concave_parabola(text):
    ((where, value),) = PwQPolynomial(text).pieces
    found = greatest(where, value)
    assert all(c.exact for c in found)
    for n in range(8):
        at = [value.evaluate({"n": n, "i": i}) for i in range(-20, 21) if where.contains((i,), n=n)]
        here = [c.value.evaluate({"n": n}) for c in found if not c.where.fix(n=n).is_empty()]
        assert max(here, default=None) == max(at, default=None)


@pytest.mark.parametrize("text", ["[n] -> { [i, j] -> i * j : 0 <= i <= n and 0 <= j <= i }",
                                  "[n, m] -> { [i, j] -> n * i - m * j : 0 <= i <= 2 and -i <= j <= 3 }"])  # fmt: skip
def test_two_dimensions(text):
    ((where, value),) = PwQPolynomial(text).pieces
    found = greatest(where, value)
    names = where.param_names
    for sizes in product(range(-2, 4), repeat=len(names)):
        given = dict(zip(names, sizes))
        at = [value.evaluate({**given, "i": i, "j": j}) for i, j in where.points(**given)]
        here = [c.value.evaluate(given) for c in found if not c.where.fix(**given).is_empty()]
        assert max(here, default=None) == max(at, default=None)


BOUNDED = [
    "[n] -> { [i, j] -> i * j : j = n - i and 0 <= i <= n }",
    "[n] -> { [i, j] -> i^2 * j : 0 <= j <= n and i + 2j = n }",
    "[n] -> { [i, j] -> i * j - i : 2j = 3i and 0 <= i <= n }",
    "[n] -> { [i, j] -> i - j^2 : 3j = 2n + i and 0 <= i <= n }",
    "[n] -> { [i, j] -> i^2 * j : 0 <= i <= n and 0 <= j <= 5 and 2i + j = n }",
    "[n] -> { [i, j] -> i * j : i + j mod 3 = 0 and 0 <= i <= n and 0 <= j <= 2 }",
    "[n] -> { [i] -> floor(i/3) * (n - i) : 0 <= i <= n }",
    "[n] -> { [i] -> (i mod 4) * (n - i) + floor(i/2) : 0 <= i <= n + 2 }",
    "[n] -> { [i, j] -> i^2 * j - n * j^2 : 0 <= i <= n and 0 <= j <= n }",
    "[n] -> { [i] -> i^3 - n * i^2 + 2 * i : -n <= i <= n }",
    "[n] -> { [i, j] -> n * i * j - j^3 : -2 <= i <= 1 and i <= j <= n }",
    "[n] -> { [i] -> n * i^2 - 5 * i : n <= i <= n + 6 }",
]


@pytest.mark.parametrize("text", BOUNDED)
@pytest.mark.parametrize("steps", [24, 3, 0])
def test_no_value_is_above_all_candidates(text, steps):
    """One that is exact is a value itself. Few steps may say less."""
    for where, value in PwQPolynomial(text).pieces:
        found = greatest(where, value, steps)
        for n in range(-2, 8):
            dims = where.dims()
            at = [value.evaluate({"n": n, **dict(zip(dims, p, strict=True))}) for p in where.points(n=n)]
            here = [(c.value.evaluate({"n": n}), c.exact) for c in found if not c.where.fix(n=n).is_empty()]
            assert all(exact for _, exact in here) or text != BOUNDED[0] or not steps
            infinite = any(str(v) == "infty" for v, _ in here)
            assert all(not exact for v, exact in here if str(v) == "infty")
            if at:
                assert infinite or max(v for v, _ in here) >= max(at)
                assert all(v <= max(at) for v, exact in here if exact)
            assert steps > 0 or infinite or not at


def drawn(rng):
    """Rows and a polynomial in i and j, as texts that Python reads, too."""
    low, high = rng.choice(["0", "-n", "-2", "n - 5", "3"]), rng.choice(["n", "n + 2", "4", "2*n", "3*n - 1"])
    tie = rng.choice(["", "j == 2*i - n", "2*j == i + 1", "i == n - 3*j", "j == n", "2*j == 3*i", "i + j == 2"])
    rows = [f"i >= {low}", f"i <= {high}", *([tie] if tie else [])]
    if not tie or rng.random() < 0.3:
        rows.append(f"j >= {rng.choice(['0', '-i', '-3', 'i - 4'])}")
        rows.append(f"j <= {rng.choice(['i', 'n', '2*i + 1', 'i + 40'])}")
    powers = ["i", "j", "n", "i*j", "n*i", "n*j", "i**2", "j**2", "i**2*j", "j**3", "n*i*j"]
    return rows, " + ".join(f"{rng.choice([1, -1, 2, -3])}*{p}" for p in rng.sample(powers, rng.randint(1, 3)))


@pytest.mark.parametrize("seed", range(6))
def test_random_polynomials(seed):
    """No value is above all candidates, and exact ones are values; every point is tried."""
    rng, exact = random.Random(seed), 0
    i, j = numpy.meshgrid(range(-25, 26), range(-60, 76))
    for _ in range(6):
        rows, value = drawn(rng)
        text = f"[n] -> {{ [i, j] -> {value.replace('**', '^')} : {' and '.join(rows).replace('==', '=')} }}"
        found = [c for where, p in PwQPolynomial(text).pieces for c in greatest(where, p)]
        for n in range(-3, 7):
            names = {"i": i, "j": j, "n": n}
            inside = numpy.logical_and.reduce([eval(row, {}, names) for row in rows])
            values = set((eval(value, {}, names) + 0 * i)[inside].tolist())
            here = [(c.value.evaluate({"n": n}), c.exact) for c in found if not c.where.fix(n=n).is_empty()]
            assert all(v in values for v, is_exact in here if is_exact), (text, n)
            if any(str(v) == "infty" for v, _ in here):
                continue
            assert bool(here) == bool(values) and (not here or max(here)[0] >= max(values)), (text, n)
            exact += len(here)
    assert exact > 10
