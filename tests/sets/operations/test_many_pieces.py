"""Intersections and compositions of many pieces, beside isl: operands are coalesced first, or pairs left out."""

from __future__ import annotations

import random

import pytest

from polyvolta.sets import Map, Set, budget
from polyvolta.sets.operations import algebra, compose

BOX = " and ".join(f"0 <= {d} <= 9" for d in "cdef")


def slabs(sign: str, more: str = "") -> str:
    """23 slabs without a gap, across one another for the two signs; many rows, of which no box tells any apart."""
    pieces = (f"[a, b, c, d, e, f] : {4 * k} <= a {sign} b <= {4 * k + 3} and {BOX}{more}" for k in range(23))
    return "{ " + "; ".join(pieces) + " }"


def test_operands_are_coalesced_where_many_pairs_of_their_pieces_may_meet():
    isl = pytest.importorskip("islpy")
    texts = slabs("+"), slabs("-")
    both = Set(texts[0]) & Set(texts[1])
    assert len(both.pieces) <= 23  # not 23 * 23
    whole = isl.Set(f"{{ [a, b, c, d, e, f] : 0 <= a + b <= 91 and 0 <= a - b <= 91 and {BOX} }}")
    assert isl.Set(str(both)).is_equal(whole)


@pytest.mark.parametrize("steps", [0, 40])
def test_an_operand_that_takes_too_many_steps_stays_as_it_is(monkeypatch, steps):
    isl = pytest.importorskip("islpy")
    texts = (
        "{ [i, j] : 0 <= i + j <= 4 and 0 <= i <= 3; [i, j] : 5 <= i + j <= 9 and 0 <= i <= 5; [i, j] : i = 2j }",
        "[N] -> { [i, j] : 0 <= i - j <= N; [i, j] : N < i - j <= 7; [i, j] : exists(k : i + j = 3k and 0 <= k <= N) }",
    )
    for name, value in (("MANY", 4), ("DEAR", 0), ("FOR_A_PAIR", steps)):
        monkeypatch.setattr(algebra, name, value)
    both = Set(texts[0]) & Set(texts[1])
    assert isl.Set(str(both)).is_equal(isl.Set(texts[0]).intersect(isl.Set(texts[1])))


def test_an_operand_that_is_in_more_pieces_once_existentials_are_spelt_out_stays(monkeypatch):
    for name, value in (("MANY", 4), ("DEAR", 0), ("coalesced", lambda own: (*own, *own))):
        monkeypatch.setattr(algebra, name, value)
    sides = [tuple(Set(f"{{ [i, j] : i = {n}j; [i, j] : i >= 3; [i, j] : j >= 3 }}").parts[0][1]) for n in "23"]
    assert [*algebra._fewer(*sides)] == sides


@pytest.mark.parametrize("n", ["", "N + "])
def test_compositions_of_many_pieces_leave_out_what_numbers_tell_apart(n):
    """It was a projection for each of 10,000 pairs, of which few meet."""
    isl = pytest.importorskip("islpy")
    rng = random.Random(len(n))
    first = [(rng.randint(0, 60), rng.randint(0, 9), rng.randint(0, 9)) for _ in range(30 if n else 100)]
    texts = (
        "[N] -> { " + "; ".join(f"[i] -> [{n}i + {b}, {c}] : {a} <= i <= {a + 3}" for a, b, c in first) + " }",
        "[N] -> { " + "; ".join(f"[{c}, i] -> [{n}{a}, i] : {b} <= i" for a, b, c in first) + " }",
        "[N] -> { " + "; ".join(f"[i, {c}] -> [i - {b}] : {n}{a} <= i <= {a + 3}" for a, b, c in first) + " }",
    )
    for k, other in enumerate(texts[1:]):
        with budget(60_000):
            found = Map(texts[0]).apply_range(Map(other))
        assert isl.Map(str(found)).is_equal(isl.Map(texts[0]).apply_range(isl.Map(other))), k


@pytest.mark.parametrize("seed", range(3))
def test_compositions_are_the_same_by_each_pair(seed, monkeypatch):
    rng = random.Random(seed)

    def text(names):
        x, y = names
        low, high = rng.randint(-3, 9), rng.randint(0, 9)
        return rng.choice([f"2{x} = {low}", f"{x} = {low}", f"{low} <= 3{x} <= {high}", f"{y} >= {low}", f"{x} <= {y}"])

    for _ in range(5):
        maps = [
            Map("{ " + "; ".join(f"[x, y] -> [y, x] : {text('xy')} and {text('yx')}" for _ in range(10)) + " }")
            for _ in range(2)
        ]
        found = maps[0].apply_range(maps[1])
        with monkeypatch.context() as patch:
            patch.setattr(compose, "MANY", 1000)
            assert maps[0].apply_range(maps[1]) == found
