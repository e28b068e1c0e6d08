"""Projections whose existentials a single conjunct does without, and random ones: beside islpy and their forms."""

import random

import pytest

from polyvolta.sets import Map, Set

isl = pytest.importorskip("islpy")

COINS = "[n]->{[t]->[x]: exists a,b,c: t=2a+3b+7c and x=a+b+c and 0<=a,b,c<n}"


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lambda: Map(COINS).range(), "[n] -> { [x] : 0 <= x <= 3*n - 3 }"),
        (lambda: Set("[n,m]->{[i]: exists a,b: i=4a+6b and 0<=a<n and 0<=b<m}").params(),
         "[n, m] -> { : n >= 1 and m >= 1 }"),
        (lambda: Set("{[x,y]: 4<=13x-17y<=6 and 0<=x<=300 and y>=3}").params(), "{ : }"),
        (lambda: Set("{[x,y]: 4<=13x-17y<=6 and 0<=x<=2 and y>=1}").params(), "{ : false }"),
        (lambda: Set("[n]->{[x,y]: 4<=13x-17y<=6 and 0<=x<=n and y>=3}").params(), "[n] -> { : n >= 7 }"),
        (lambda: Set("[n]->{[i]: exists x,y,z: i=6x+10y+15z and 0<=x,y,z<n}").params(), "[n] -> { : n >= 1 }"),
        (lambda: Set("[n]->{[i,x,y]: 4<=13x-17y<=6 and 0<=x<=300 and y>=3 and 0<=i<n}").project_out("x", "y"),
         "[n] -> { [i] : 0 <= i < n }"),
    ],
)  # fmt: skip
def test_told_without_existentials(found, wanted):
    assert str(found()) == wanted


@pytest.mark.parametrize("seed", range(6))
def test_random_projections_have_the_points_of_isls(seed):
    rng = random.Random(seed)
    for _ in range(12):
        rows = []
        for _ in range(rng.randint(2, 3)):
            form = " + ".join(f"{rng.randint(-7, 7)}*{v}" for v in rng.sample(["n", "i", "x", "y", "z"], 4))
            low = rng.randint(-4, 4)
            rows.append(f"{low} <= {form} <= {low + rng.randint(0, 5)}")
        text = f"[n] -> {{ [i, x, y, z] : {' and '.join(rows)} and 0 <= x, y, z <= n + 3 }}"
        mine, theirs = Set(text), isl.Set(text)
        line, params = isl.Set(str(mine.project_out("x", "y", "z"))), isl.Set(str(mine.params()))
        wanted = theirs.project_out(isl.dim_type.set, 1, 3)
        for n in (-3, -1, 2, 5):
            at = isl.Set(f"[n] -> {{ [i] : n = {n} }}")
            assert line.intersect(at).is_equal(wanted.intersect(at)), (text, n)
            assert params.intersect(at.params()).is_equal(theirs.params().intersect(at.params())), (text, n)
