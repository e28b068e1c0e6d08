"""Differences of planes that a normal form tells by floors: against lists of points, and by counts of pieces."""

import itertools
import random

import pytest

from polyvolta.sets import Set
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.implies import in_planes

BOX = "-4 <= i <= 4 and -4 <= j <= 4 and -4 <= k <= 4"
INSIDE = list(itertools.product(range(-4, 5), repeat=3))


def rows(rng):
    """Conditions of one plane or two, of steps of either, and of a bound now and then."""
    form = lambda: " + ".join(f"{rng.choice((-5, -3, -2, -1, 1, 2, 3, 4, 6))}*{x}" for x in "ijk")  # noqa: E731
    said = [f"{form()} = {rng.randrange(-5, 6)}"]
    if rng.random() < 0.3:
        said.append(f"{form()} = {rng.randrange(-5, 6)}")
    if rng.random() < 0.4:
        said.append(f"{form()} >= {rng.randrange(-5, 6)}")
    if rng.random() < 0.3:
        said.append(f"({form()}) mod {rng.choice((2, 3, 4))} = 1")
    return " and ".join(said)


def points(s):
    ((_, cs),) = s.parts
    return [[p for p in INSIDE if cj.holds(c, p)] for c in cs]


@pytest.mark.parametrize("block", range(6))
def test_pieces_of_a_difference_are_disjoint_and_have_its_points(block):
    rng = random.Random(block)
    told = 0
    for _ in range(20):
        whole, *knives = Set(f"{{ [i, j, k] : {BOX} }}"), *[Set(f"{{ [i, j, k] : {rows(rng)} }}") for _ in range(2)]
        left = whole
        for knife in knives:
            ((_, cs),) = knife.parts
            for c in cs:
                planes = in_planes(c)
                told += planes is not None
                planes = planes or c
                assert all(cj.holds(c, p) == cj.holds(planes, p) for p in INSIDE), knife
            left = left.subtract(knife)
        found = points(left)
        wanted = [p for p in INSIDE if not any(k.contains(p) for k in knives)]
        assert sorted(p for some in found for p in some) == wanted, knives
    assert told > 10


@pytest.mark.parametrize(("shift", "in_cone"), [(3, 7), (7, 5)])
def test_a_plane_cuts_the_pieces_that_it_meets_in_two(shift, in_cone):
    """A cube without planes: in as many pieces as isl's, and as much of each in the context of a cone."""
    left = Set("{ [i, j, k] : 0 <= i < 50 and 0 <= j < 50 and 0 <= k < 50 }")
    for n in range(1, 5):
        left -= Set(f"{{ [i, j, k] : {n}i + {2 * n - 2 + shift}j - {n + 1}k = {10 * n - 10 + shift} }}")
    ((_, cs),) = left.parts
    assert len(cs) == 8
    assert not any(c.divs for c in cs)
    cone = Set("{ [i, j, k] : i < j < k }")
    short = left.gist(cone)
    assert len(short.parts[0][1]) == in_cone
    assert (short & cone).is_equal(left & cone)


def test_steps_stay_steps():
    """A line that goes in steps of two has floors; and what is left of a plane has both of its steps."""
    ((_, (c,)),) = Set("{ [i, j, k] : k = i + j and i mod 2 = 0 }").parts
    assert in_planes(c) is None
    plane = Set("{ [i, j, k] : 2i + 3j = 6k }")
    assert len((Set("{ [i, j, k] }") - plane).parts[0][1]) == 2
    left = plane - Set("{ [i, j, k] : 2i + 3j = 6k and 5j = 3k }")
    ((_, cs),) = left.parts
    box = [p for p in itertools.product(range(-12, 13), repeat=3) if 2 * p[0] + 3 * p[1] == 6 * p[2]]
    found = [p for c in cs for p in box if cj.holds(c, p)]
    assert sorted(found) == [p for p in box if 5 * p[1] != 3 * p[2]]
