"""Where `==` asks for the points, as in islpy, values of the same points have one hash, however they are written."""

import random

import pytest

import polyvolta.isl as ours
from polyvolta.sets.values.named import Named

EQUAL = [
    (ours.Set, "{ [i] : i >= 2 }", "{ [i] : 2i >= 3 }"),
    (ours.Set, "{ [i] : 0 <= i <= 5 }", "{ [i] : 0 <= i <= 3; [i] : 4 <= i <= 5 }"),
    (ours.Set, "[N] -> { S[i] : 0 <= i < N }", "[M, N] -> { S[j] : 0 <= j < N }"),
    (ours.Set, "[M, N] -> { S[i] : M < i < N }", "[N, M] -> { S[i] : M < i < N }"),
    (ours.Set, "{ [i] : i mod 2 = 0 }", "{ [i] : exists(k : i = 2k) }"),
    (ours.Set, "{ [i, j] : exists(a, b : i = 3a + 5b and 0 <= a <= j and b >= 0) }",
     "{ [i, j] : exists(b, a : i - 3a = 5b and 0 <= a <= j and 2b >= -1) }"),
    (ours.UnionSet, "{ A[i]; B[i] : 1 = 0 }", "{ A[i] }"),
    (ours.Map, "{ [i] -> [i + 1] : i >= 0 }", "{ [i] -> [j] : j = i + 1 and 2i > -1 }"),
    (ours.Set, "{ [i, j] : 0 < i < j and j < 2 }", "{ [i, j] : false }"),
    (ours.PwAff, "[N] -> { [i] -> [i] }", "{ [i] -> [i] }"),
    (ours.PwAff, "{ [i] -> [(2*i)/4] }", "{ [i] -> [i/2] }"),
    (ours.MultiPwAff, "{ [i] -> [i, 3] : i >= 2 }", "{ [i] -> [i, 3] : 2i >= 3 }"),
    (ours.MultiPwAff, "{ [i] -> [(2*i)/4, 3] }", "{ [i] -> [i/2, 3] }"),
]  # fmt: skip


@pytest.fixture
def as_islpy(monkeypatch):
    monkeypatch.setattr(Named, "as_islpy", True)


@pytest.mark.parametrize(("kind", "one", "two"), EQUAL)
def test_equal_values_are_one_key(as_islpy, kind, one, two):
    a, b = kind(one), kind(two)
    assert a == b and hash(a) == hash(b) and a in {b} and {a: 1}[b] == 1


@pytest.mark.parametrize("seed", range(25))
def test_sets_by_other_ways_have_one_hash(as_islpy, seed):
    draw = random.Random(seed)
    rows = [f"{draw.randrange(-3, 4)}i + {draw.randrange(-3, 4)}j {draw.choice(['>=', '<='])} {draw.randrange(-9, 30)}"
            for _ in range(4)]  # fmt: skip
    s = ours.Set(f"[n] -> {{ [i, j] : {rows[0]} and {rows[1]} and i <= n; [i, j] : {rows[2]} and {rows[3]} }}")
    cut = ours.Set("[m, n] -> { [i, j] : i + j > 7 }")
    for other in (s.coalesce(), (s - cut) | (s & cut), s.make_disjoint(), s.align_params(["m", "n"])):
        assert s == other and hash(s) == hash(other)


def test_a_hash_of_how_a_value_is_written_is_left(monkeypatch):
    a, b = ours.Set("{ [i] : 0 <= i <= 5 }"), ours.Set("{ [i] : 0 <= i <= 3; [i] : 4 <= i <= 5 }")
    before = hash(a)
    assert before != hash(b)
    monkeypatch.setattr(Named, "as_islpy", True)
    assert hash(a) == hash(b)
    monkeypatch.setattr(Named, "as_islpy", False)
    assert hash(a) == before


def test_other_sets_mostly_have_other_hashes(as_islpy):
    sets = [ours.Set(f"[N] -> {{ [i, j] : {a} <= i < {b} and i <= j <= N }}") for a in range(3) for b in range(4, 8)]
    assert len(set(map(hash, sets))) > 8
