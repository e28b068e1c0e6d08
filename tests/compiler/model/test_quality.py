"""The order that the model gives, beside times that were measured and not fitted to; and fitting itself."""

from __future__ import annotations

from dataclasses import replace

import model
import numpy as np
import pytest

from polyvolta.compiler.model.fitting import fit, geomean, measured, quality
from polyvolta.cuda.target.chips import chips


@pytest.fixture(scope="module")
def tables():
    return model.read()


def test_the_file_has_what_it_says(tables):
    assert [(name, len(t.sizes), len(t.data.columns.tilings)) for name, t in tables.items()] == [
        ("A @ B", 122, 47441), ("A @ B, later", 100, 11401), ("relu(A @ B + bias)", 100, 25134),
        ("A @ B + P @ Q", 31, 2872), ("relu(A) @ B", 101, 28190), ("relu(A) @ B, later", 100, 17426)
    ]  # fmt: skip
    for table in tables.values():
        assert table.data.seconds.min() > 1e-6 and table.data.seconds.max() < 0.1


@pytest.mark.parametrize(("name", "most"), [("A @ B", 1.045), ("relu(A @ B + bias)", 1.06), ("A @ B + P @ Q", 1.045),
                                              ("relu(A) @ B", 1.05)])
def test_the_first_choice_is_near_the_best_at_sizes_that_were_held_out(tables, name, most):
    found = quality(tables[name].half(1), chips["H200"])
    assert geomean(found.first) < most
    assert np.mean(found.among <= 1.02) > 0.9


def test_the_first_choice_alone_keeps_up_with_the_library(tables):
    table = tables["A @ B"]
    found, best = quality(table.half(1), chips["H200"]), table.half(1).best
    assert geomean(table.library[1::2] / (found.first * best)) > 0.98


def test_an_order_without_the_model_is_far_behind(tables):
    """What the figures above are worth: the tiling that is best on the whole at the other sizes, for all of them."""
    data, other = tables["A @ B"].half(1), tables["A @ B"].half(0)
    slower = {}
    for tiling, ratio in zip(other.columns.tilings, other.seconds / other.best[other.size], strict=True):
        slower.setdefault(tiling, []).append(ratio)
    most = max(map(len, slower.values()))
    best = min((t for t, r in slower.items() if len(r) == most), key=lambda t: geomean(np.array(slower[t])))
    here = np.array([t == best for t in data.columns.tilings])
    assert geomean(data.seconds[here] / data.best[data.size[here]]) > 1.2


def test_figures_are_found_again(tables):
    """Times that a chip would have, with noise: fitting from elsewhere finds a chip that orders them as well."""
    data = tables["A @ B"].data.of(range(0, 122, 12))
    true = chips["H200"]
    noise = np.exp(np.random.default_rng(3).normal(0, 0.02, len(data.seconds)))
    made = replace(data, seconds=data.predicted(true) * noise)
    names = ("launch", "block", "latency", "tensor", "l2", "piece")
    wrong = {"launch": 4e-6, "block": 2e-7, "latency": 2e-6, "tensor": 0.6, "l2": 1.0, "piece": 5e-7}
    off = true.with_fitted("warpgroup", replace(true.warpgroups, **wrong))
    before, found = (np.log(made.predicted(c) / made.seconds).std() for c in (off, fit(off, [made], names)))
    assert before > 0.15 > 0.03 > found


def test_measured_times_become_columns(tables):
    data = tables["A @ B"].data
    sizes, times = [(64, 128, (256,)), (8, 8, (8,))], [(1, 0, 2e-6), (0, 1, 3e-6)]
    one = measured(data.needs, data.columns.take([0, 5]), sizes, times)
    assert one.columns.tilings == (data.columns.tilings[5], data.columns.tilings[0])
    assert one.work.rows.tolist() == [64, 8] and one.work.depths[0].tolist() == [256, 8]
    assert one.best.tolist() == [2e-6, 3e-6]
