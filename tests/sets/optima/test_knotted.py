"""Optima over existentials that many bounds hold: they stay existentials, and the answer is found in few steps."""

from itertools import product

import pytest

from polyvolta.sets import Map, Set, budget
from polyvolta.sets.optima.lexrel import _narrowed


def first(p, q, r, s):
    """The least o of the first set, by trial."""
    found = None
    for a in range(-1, min(q, s, r + 1) // 3 + 1):
        for b in range(-3, min(s + 1, r + 1, q) + 1):
            if 3 * a >= max(-s - 2, -r) and b >= max(-s, -r - 1) and (2 * a - 3 * b + 3) % 3 == 0:
                o = (2 * a - 3 * b + 3) // 3
                found = o if found is None else min(found, o)
    return found


def second(p, q, r, s):
    found = None
    for a in range(max(-q - 3, -r), min(p, q, r + 2) + 1):
        for b in range(-4, 5):
            if max(-q - 2, -p) <= 2 * b <= min(p, q + 3, r + 3):
                for c in range(-4, 5):
                    if -p - 1 <= 3 * c <= min(q, r) + a:
                        o = 2 * a - b + 3 * c
                        found = o if found is None else min(found, o)
    return found


KNOTS = [
    ("[p, q, r, s] -> { [o] : exists a, b : 3a <= q and 3a <= s and 3a <= r + 1 and 3a >= -s - 2 and 3a >= -r and "
     "b <= s + 1 and b <= r + 1 and b <= q and b >= -s and b >= -r - 1 and 3o = 2a - 3b + 3 and o >= -100 }", first),
    ("[p, q, r, s] -> { [o] : exists a, b, c : a <= q and a <= p and a <= r + 2 and a >= -q - 3 and a >= -r and "
     "2b <= p and 2b <= q + 3 and 2b <= r + 3 and 2b >= -q - 2 and 2b >= -p and 3c <= q + a and 3c <= r + a and "
     "3c >= -p - 1 and o = 2a - b + 3c }", second),
]  # fmt: skip


@pytest.mark.parametrize(("text", "least"), KNOTS)
def test_lexmin(text, least):
    with budget(60_000):
        found = Set(text).lexmin()
    for p, q, r, s in product(range(-1, 3), repeat=4):
        wanted = least(p, q, r, s)
        have = [o for o in range(-20, 21) if found.contains((o,), p=p, q=q, r=r, s=s)]
        assert have == ([] if wanted is None else [wanted]), (p, q, r, s)


CHAINS = (
    "{ [i, k, j] -> [a, b, c, d] : b mod 8 = 0 and k <= 255 and a <= 255 and c <= 255 and d <= 255 - j and "
    "255 - j <= 7d <= 7 - i and 240d <= 239 + a and 247d <= 247 + k - j and 247d <= 247 + k - b and 247d <= 247 + i "
    "and 248 - b <= 248d <= c and 254d >= i - a + b and 254d >= -a + b "
    "and 255d >= -i + a - b and 1792d >= -63736 + 257b }"
)  # a test of isl's, isl_test.c


def test_a_variable_of_two_values():
    """Cuts of all values together go on and on; with d = 0 and with d = 1 there is nothing to search.

    That is asked before a branch is searched for points, which alone takes longer.
    """
    with budget(3_000):
        found = Map(CHAINS).lexmin()
    assert len(found.pieces) == 2
    for i, k, j in product(range(-2, 9), (7, 8, 200, 248, 255, 256), range(246, 257)):
        options = []
        for b, d in product(range(0, 264, 8), (0, 1)):
            low, high = max(240 * d - 239, i + b - 254 * d, b - 254 * d), min(255, 255 * d + i + b)
            plain = k <= 255 and d <= 255 - j <= 7 * d <= 7 - i and 247 * d <= 247 + min(k - j, k - b, i)
            if plain and 248 - b <= 248 * d and 1792 * d >= 257 * b - 63736 and low <= high:
                options.append((low, b, 248 * d, d))
        image = found.fix(i=i, k=k, j=j).range()
        assert [p for p in options if image.contains(p)] == sorted(options)[:1]
        assert image.count() == min(len(options), 1)


ONE_VALUE = (
    "{ [i, k, j] -> [a, b, c, d] : b mod 8 = 0 and k < 256 and a <= 256 and c <= 256 and d <= 256 - j and "
    "256 - j <= 8d <= 8 - i and 242d <= 238 + a and 249d <= 249 + k - j and 249d <= 249 + k - b and 249d <= 249 + i "
    "and 249 - b <= 249d <= c and 255d >= i - a + b and 255d >= -a + b "
    "and 256d >= -i + a - b and 1792d >= -63736 + 258b }",
    "{ [0, k, j] -> [4, 0, 249, 1] : k <= 255 and 248 <= j <= k }",
)


def test_a_variable_that_is_at_one_integer_alone():
    """d is between two rational values with 1 alone in between; with d at 1 nothing takes cuts."""
    text, least = ONE_VALUE
    with budget(4_000):
        found = Map(text).lexmin()
    assert found.is_equal(Map(least))


@pytest.mark.parametrize("numbers", ["8 8 242 249", "7 7 240 247", "5 8 239 240", "8 7 100 248"])
def test_the_same_with_other_numbers_beside_islpy(numbers):
    isl = pytest.importorskip("islpy")
    a, b, c, d = numbers.split()
    text = ONE_VALUE[0].replace("8d <= 8 -", f"{a}d <= {b} -").replace("242d", f"{c}d").replace("249d", f"{d}d")
    with budget(40_000):
        assert isl.Map(str(Map(text).lexmin())).is_equal(isl.Map(text).lexmin())
        assert isl.Map(str(Map(text).lexmax())).is_equal(isl.Map(text).lexmax())


def test_no_integer_between_the_two_values():
    gap = Set("[p] -> { [x, y, z] : 0 <= y <= p and 0 <= z <= p and 2 + y <= 5x <= 3 - z }")
    ((_, (piece,)),) = gap.parts
    assert _narrowed(piece, 1, -1) == _narrowed(piece, 1, 1) == []
    assert gap.lexmin().is_empty()
