"""Runs in accumulator fragments: found where each lane has them, held against the ownership map value by value."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polyvolta.cuda.layouts.runs import fits, plan_runs
from polyvolta.cuda.target.macro_mma import Interleave
from polyvolta.cuda.target.registry import targets
from polyvolta.cuda.verify.fragments.taken_runs import wrong_runs
from polyvolta.sets import var, xor
from tests.cuda.macros import MACRO_MMAS

ROW, COL = (0, 1), (1, 0)
ROWS, KS = ("r0", "r1", "r2", "r3"), ("r0", "r1", "r2", "r3")
WIDE = {
    "columns": (Interleave(ROWS, ("r0", "s0", "s1", "r1", "r2"), KS), ROW),
    "columns the other way": (Interleave(ROWS, ("s0", "r0", "s1", "r2", "r1"), KS), ROW),
    "many columns": (Interleave((*ROWS, "s0"), ("r0", "s1", "s0", "r1", "r2", "s2"), KS), ROW),
    "rows": (Interleave(("r3", "s0", "s1", "r0", "r1", "r2"), ("r0", "r1", "r2"), KS), COL),
    "rows of sub-tiles alone": (Interleave(("s0", "s2", "s1", "r0", "r3", "r1", "r2"), ("r0", "r1", "r2"), KS), COL),
}


def wide(name="columns", kind="half"):
    interleave, order = WIDE[name]
    return targets["sm_80"].macro_mma("m16n32k16").of(interleave=interleave, kind=kind), order


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
@pytest.mark.parametrize("name", WIDE)
def test_every_element_is_in_one_place_of_one_run(name, kind):
    macro, order = wide(name, kind)
    runs = plan_runs(macro, order)
    rows, cols, _ = macro.shape
    assert runs.rounds == rows * cols // 32 // 8 and runs.along == order[1]
    held = {}
    for lane, r, v in product(range(32), range(runs.rounds), range(8)):
        (value,) = runs.picks.evaluate({"round": r, "v": v})
        row, col = runs.owns.evaluate({"lane": lane, "round": r})
        place = (row + v, col) if order == COL else (row, col + v)
        assert macro.d.evaluate({"lane": lane, "i": value}) == place
        held[place] = lane
    assert sorted(held) == list(product(range(rows), range(cols)))
    assert wrong_runs(runs, macro) is None


@pytest.mark.parametrize("name", WIDE)
def test_a_result_that_lies_the_other_way_has_no_runs(name):
    macro, order = wide(name)
    assert plan_runs(macro, order[::-1]) is None


@pytest.mark.parametrize(
    "macro", [m.of() for t in targets.values() for m in t.macro_mmas] + [m() for m in MACRO_MMAS.values()]
)
def test_fragments_whose_lanes_have_fewer_neighbours_have_none(macro):
    """What the ownership maps themselves say: lane 0 has no eight elements in a row, nor in a column."""
    (_, _), (_, count) = macro.d.inputs
    own = {macro.d.evaluate({"lane": 0, "i": i}) for i in range(count)}
    for order, step in ((ROW, (0, 1)), (COL, (1, 0))):
        whole = any(all((r + v * step[0], c + v * step[1]) in own for v in range(8)) for r, c in own)
        assert (plan_runs(macro, order) is not None) == whole


def broken(runs):
    r, v = var("round"), var("v")
    picks = lambda e: replace(runs, picks=replace(runs.picks, outputs=(("value", e),)))  # noqa: E731
    (now,) = runs.picks.exprs
    row, col = runs.owns.exprs
    yield "the other run", picks(now + 2 - 4 * r)
    yield "one value twice", picks(now - v % 2)
    yield "neighbours exchanged", picks(now + 1 - 2 * (v % 2))
    yield "beyond the fragment", picks(now + 16)
    yield "the next lane's", replace(runs, owns=replace(runs.owns, outputs=(("row", row), ("col", (col + 8) % 32))))
    yield "the other dimension", replace(runs, along=0)


@pytest.mark.parametrize("name", [name for name, _ in broken(plan_runs(*wide()))])
def test_wrong_runs_are_no_plan_and_are_refuted(name):
    macro, order = wide()
    runs = dict(broken(plan_runs(macro, order)))[name]
    assert not fits(runs, macro)
    what, _, here, _ = wrong_runs(runs, macro)
    assert what and here.keys() <= {"round"}


@pytest.mark.parametrize(("bit", "there"), [(1, True), (0, False), (2, False)])
def test_every_lane_counts(bit, there):
    """Lane 0 alone says nothing. Odd lanes with their two runs the other way round have a plan; not so odd lanes whose
    values are in another order within a run."""
    macro, order = wide()
    own = macro.d
    (lane, _), (value, _) = own.inputs
    turned = own.at(var(lane), xor(var(value), 2**bit * (var(lane) % 2), 4))
    own = replace(own, outputs=tuple((n, e) for (n, _), e in zip(own.outputs, turned, strict=True)))
    values = np.stack(np.broadcast_arrays(*own.evaluate({lane: np.arange(32)[:, None], value: np.arange(16)})), -1)
    assert len(np.unique(values.reshape(-1, 2), axis=0)) == 512
    macro = replace(macro, d=own)
    runs = plan_runs(macro, order)
    assert (runs is not None) == there
    assert runs is None or wrong_runs(runs, macro) is None
