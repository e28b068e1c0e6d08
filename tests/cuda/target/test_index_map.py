"""Index maps: numbers, expressions and relations agree; one or several inputs."""

from __future__ import annotations

import numpy as np
import pytest

from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Map, var
from tests.cuda.macros import MACRO_MMAS

LANE, ROUND = var("lane"), var("round")
RUNS = IndexMap((("lane", 32), ("round", 4)), (("row", 8 * ROUND + LANE // 4), ("col", 8 * (LANE % 4))))


def test_a_lane_and_a_round_are_two_inputs():
    """The 32 x 32 fragment's runs of eight, as the exchange of a row-major result hands them out."""
    own = plan_exchange(MACRO_MMAS["m32n32k8"](), "half", (0, 1)).owns
    assert own == RUNS
    assert str(own) == (
        "{ [lane, round] -> [row = 8*round + floor(lane/4), col = 8*(lane mod 4)] : 0 <= lane < 32 and 0 <= round < 4 }"
    )
    assert own.ranges == {"lane": (0, 31), "round": (0, 3)}


def test_it_is_the_relation_that_it_prints():
    expected = Map(
        "{ [l, r] -> [row, col] : 0 <= l < 32 and 0 <= r < 4 and row = 8r + floor(l/4) and col = 8(l mod 4) }"
    )
    assert RUNS.relation.is_equal(expected)
    assert RUNS.relation.is_injective()


def test_numbers_and_arrays_evaluate_alike():
    lane, round_ = (x.ravel() for x in np.meshgrid(np.arange(32), np.arange(4), indexing="ij"))
    rows, cols = RUNS.evaluate({"lane": lane, "round": round_})
    each = [RUNS.evaluate({"lane": a, "round": b}) for a, b in zip(lane.tolist(), round_.tolist())]
    assert each == list(zip(rows.tolist(), cols.tolist()))


def test_inputs_may_be_expressions_or_numbers():
    row, col = RUNS.at(LANE, 2)
    assert (str(row), str(col)) == ("floor(lane/4) + 16", "8*(lane mod 4)")
    row, _ = RUNS.at(var("t") % 32, var("c"))
    assert str(row) == "8*c + (floor(t/4) mod 8)"


def test_every_input_needs_a_value():
    with pytest.raises(ValueError, match="shorter"):
        RUNS.at(LANE)
