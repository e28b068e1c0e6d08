"""Existentials written in two ways: inclusions that are seen without a projection, and those that only look so."""

import random

import pytest

from polyvolta.sets import Map, Set, budget
from polyvolta.sets.conjuncts.alike import alike
from polyvolta.sets.conjuncts.project import _without_rising
from polyvolta.sets.conjuncts.witness import witnessed

LATER = (  # one set, whose second existential is shifted by the first
    "[n] -> { A[x, y] : exists e: 0 < e <= 5 and -3 + 2n - x <= 2e <= 4 + 2n - x and 5e < y - x and 11e >= 2 + 9n - 5x "
    "and 5*floor((-2n - x + y + 2e)/5) >= -1 + 3n - 5x + 2y - 5e }",
    "[n] -> { A[x, y] : exists e, f: 1 <= e <= 5 and 2n - x - 3 <= 2e <= 2n - x + 4 and "
    "3n - 5f - x + y - 4 <= 3e <= 3n - 5f - x + y and 5e < y - x and 8n - 5f - 5x + 2y - 1 <= 10e "
    "and 9n - 5x + 2 <= 11e }",
)
ALIKE = (  # floors of which n + j = 3q + 1 makes one, up to a sign and q
    "[n] -> { [i, j] : (n + j) mod 3 = 1 and exists e: 0 <= e <= 6 and 7e <= i + n <= 7e + 3 + floor((i + j)/3) }",
    "[n] -> { [i, j] : (n + j) mod 3 = 1 and exists e: 0 <= e <= 6 and "
    "7e <= i + n <= 7e + 3 + (n + j - 1)/3 - floor((n - i + 1)/3) }",
)


def piece(text):
    ((_, (c,)),) = Set(text).parts
    return c


@pytest.mark.parametrize("texts", [LATER, ALIKE])
def test_two_writings_of_one_set_are_seen_to_be_equal(texts):
    """The first took 13,000 steps and more than 200,000 with two pieces."""
    one, other = map(Set, texts)
    with budget(4000):
        assert one.is_equal(other) and other.is_equal(one) and one <= other
        assert one.subtract(other).is_empty() and other.subtract(one).is_empty()


def test_existentials_are_functions_of_others():
    one, other = (
        piece("{ [x, y] : exists e: 0 <= y - 5e + 2x <= 3 }"),
        piece("{ [x, y] : exists e: 0 <= y - 5e - 3x <= 3 }"),
    )
    smaller = piece("{ [x, y] : exists e: 1 <= y - 5e + 2x <= 2 and x >= 0 }")
    if not one.known:
        assert witnessed(one, other) and witnessed(other, one)
        assert witnessed(smaller, other) and not witnessed(other, smaller)


def test_rows_that_existentials_lift_say_nothing():
    """With e + f = g, g alone is bounded from both sides; f goes as far down as it likes."""
    ((_, (c,)),) = Set("{ [x, y] : exists e, f: x <= 4e + 4f <= x + 2 and y <= -4e and y - x <= -8e - 4f }").parts
    assert c == piece("{ [x, y] : exists g: x <= 4g <= x + 2 }")
    assert Map("{ [x] -> [y] : exists e, f: x <= 4e + 4f <= y and 7e <= y }").is_equal(
        Map("{ [x] -> [y] : exists g: x <= 4g <= y }")
    )
    ((_, (c,)),) = Set("{ [x, y] : exists e, f: x <= 4e + 6f <= x + 1 and y <= 6e + 4f <= y + 1 }").parts
    assert _without_rising(c) is None


def drawn(rng, names):
    """A condition on x and y with existentials, each beside 0..3 by a row that has them."""
    text = []
    for k, name in enumerate(names):
        den = rng.choice((2, 3, 4, 5))
        others = " + ".join(f"{rng.randint(-3, 3)}*{o}" for o in ("x", "y", *names[:k]))
        text.append(f"0 <= {others} + {rng.randint(-2, 2)} - {den}*{name} <= {rng.randint(0, den)}")
        if rng.random() < 0.5:
            text.append(f"{rng.randint(-4, 0)} <= {name} <= {rng.randint(1, 4)}")
    return " and ".join(text)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_pairs_are_compared_as_their_points_are(seed):
    """Each with a shifted copy of itself, which it equals, and with others, of which it may be a part."""
    rng = random.Random(seed)
    box = "-6 <= x <= 6 and -6 <= y <= 6"
    for _ in range(12):
        first, second = drawn(rng, ("e", "f")), drawn(rng, ("e", "f"))
        a, b = (Set(f"{{ [x, y] : {box} and exists e, f: {t} }}") for t in (first, second))
        moved = first.replace("f", f"(f + {rng.randint(-2, 2)}*e + {rng.randint(-2, 2)}*x)")
        same = Set(f"{{ [x, y] : {box} and exists e, f: {moved} }}")
        assert a.is_equal(same) and same <= a
        there, others = set(a.points()), set(b.points())
        assert (a <= b) == (there <= others) and (b <= a) == (others <= there)
        assert set((a - b).points()) == there - others


def test_equal_floors():
    """floor((6 + x)/4) is 1 + floor((2 + x)/4), and floor((1 - x)/4) is -floor((2 + x)/4)."""
    divs = ((4, (2, 1)), (4, (6, 1, 0)), (4, (1, -1, 0, 0)))
    assert list(alike(1, divs, lambda row: row)) == [(3, (1, 0, 1, 0, 0)), (4, (0, 0, -1, 0, 0))]
