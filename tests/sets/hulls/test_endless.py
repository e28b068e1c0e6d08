"""Pieces told apart behind one of them: never parts of one conjunct, and coalescing says the same without it."""

import random

import pytest

from polyvolta.sets import Set
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import holds, lifted
from polyvolta.sets.conjuncts.frame import Frame
from polyvolta.sets.hulls import coalesce, endless


def members(texts):
    """The pieces of a union, each with a point, in one frame; None where there is another number of them."""
    cs = [c for text in texts for _, found in Set(f"[N] -> {{ [i, j] : {text} }}").parts for c in found]
    points = [cj.sample(c) for c in cs]
    if len(cs) != len(texts) or None in points:
        return None
    frame = Frame(cs)
    for m, p in zip(frame.members, points, strict=True):
        m.points.append(lifted(frame.divs, p))
    return cs, frame.members


def between(a, b):
    return [*endless.behind(endless.ways(a), b), *endless.behind(endless.ways(b), a)]


def rows(rng):
    """Up to four rows with a parameter, a floor or a stride."""
    kinds = [
        lambda: f"{rng.choice('ij')} >= {rng.randint(-2, 4)}",
        lambda: f"{rng.choice('ij')} <= N + {rng.randint(-4, 4)}",
        lambda: f"{rng.choice('ij')} <= {rng.randint(3, 7)}",
        lambda: f"i + {rng.randint(-2, 2)}j >= {rng.randint(-3, 3)}",
        lambda: f"i mod {rng.choice([2, 3])} = {rng.randint(0, 1)}",
        lambda: f"floor((i + {rng.randint(-1, 1)}j)/3) <= j + {rng.randint(-1, 3)}",
        lambda: f"(j + N) mod 4 <= {rng.randint(1, 2)}",
    ]
    return " and ".join(rng.choice(kinds)() for _ in range(rng.randint(1, 4)))


def test_points_are_behind_a_piece_and_in_neither():
    rng, found = random.Random(5), 0
    for _ in range(60):
        pair = members([rows(rng), rows(rng)])
        for z in () if pair is None else between(*pair[1]):
            found += 1
            assert not any(holds(c, z[1:4]) for c in pair[0])
            assert not any(m.holds(z) for m in pair[1])
    assert found > 40


def test_parts_of_one_conjunct_are_not_told_apart():
    """Also where the row that cuts it in two speaks of floors that the frame of both may do without."""
    rng, asked = random.Random(6), 0
    for _ in range(60):
        whole, form = rows(rng), rng.choice(["i", "j - i", "i + j - N", "floor(i/3) + j", "i - 2*floor(i/2)"])
        c, over = rng.randint(-2, 3), rng.choice([1, 1, 0, -2])
        pair = members([f"{whole} and {form} >= {c}", f"{whole} and {form} <= {c - over}"])
        if pair is not None:
            asked += 1
            assert between(*pair[1]) == []
    assert asked > 30


@pytest.mark.parametrize("seed", range(2))
def test_coalesce_says_the_same_without_it(seed, monkeypatch):
    rng = random.Random(seed)
    cases = [Set("[N] -> { " + "; ".join(f"[i, j] : {rows(rng)}" for _ in range(3)) + " }") for _ in range(8)]

    def told():
        coalesce._coalesced.cache_clear()
        return [str(s.coalesce()) for s in cases]

    quick = told()
    monkeypatch.setattr(endless, "ways", lambda m: [])
    slow = told()
    coalesce._coalesced.cache_clear()
    assert quick == slow
