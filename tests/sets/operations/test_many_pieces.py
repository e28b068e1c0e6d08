"""Intersections of so many pieces that their operands are coalesced first; beside isl."""

from __future__ import annotations

import pytest

from polyvolta.sets import Set
from polyvolta.sets.operations import algebra

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
