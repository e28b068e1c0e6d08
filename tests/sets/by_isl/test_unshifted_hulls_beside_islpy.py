"""The hull of constraints at hand is isl's: an equality is one of dimensions, whatever floors it is kept with."""

import random

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

TEXTS = ["{ [i, j] : i = 2j and 0 <= j < 5; [3, 7] }", "{ [i, j] : i = 2j; [3, 7] }", "{ [i, j] : i = 2j; [3, 1] }",
         "{ [i, j] : 3i = 2j and 0 <= i < 9; [i, j] : i = 0 and 0 <= j < 9 }",
         "{ [i, j] : i mod 2 = 0 and j = i; [i, j] : i = j }",
         "{ [i, j] : j = floor(i/2) and 0 <= i < 9; [i, j] : j = 0 and 0 <= i < 9 }",
         "[n] -> { [i, j] : 2i = 3j + n; [i, j] : i = n and j = 0 and n > 0 }",
         "{ [i, j] : i = 2j and j mod 2 = 0; [i, j] : i = 2j and j > 3 }", "{ [0, 0]; [3, 5]; [7, 1] }"]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_the_hull_is_isls(text):
    hull = ours.Set(text).unshifted_simple_hull()
    assert hull.is_equal(ours.Set(str(isl.Set(text).unshifted_simple_hull())))


def line(draw):
    a, b, c, low = draw.randrange(-3, 4), draw.randrange(1, 4), draw.randrange(-4, 5), draw.randrange(-3, 4)
    return draw.choice([f"{b}j = {a}i + {c}", f"j = {a}i + {c} and i >= {low}", f"i = {c} and j = {low}",
                        f"{b}j >= {a}i + {c} and i >= {low}"])  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_the_hull_of_lines_is_in_isls(seed):
    draw = random.Random(seed)
    text = f"{{ {'; '.join(f'[i, j] : {line(draw)}' for _ in range(2))} }}"
    hull, s, wanted = ours.Set(text).unshifted_simple_hull(), ours.Set(text), isl.Set(text).unshifted_simple_hull()
    assert s.is_subset(hull)
    assert hull.is_subset(ours.Set(str(wanted))), (text, str(hull), str(wanted))
