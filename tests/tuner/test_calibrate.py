"""Fitting a chip to times, without a GPU: times are those that another chip's figures say, with noise."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cli.commands import main
from polyvolta.compiler.model import predict_all
from polyvolta.compiler.model.columns import columns_of
from polyvolta.compiler.needs import Work
from polyvolta.cuda.devices import Gpu
from polyvolta.cuda.errors import NoGpu
from polyvolta.cuda.target.chips import Chip, chips, known
from polyvolta.cuda.target.registry import targets
from polyvolta.tuner import calibrate
from polyvolta.tuner.calibrate import SIZES, chosen, fitted, product
from polyvolta.tuner.errors import NothingTimed

SM_90A, H200 = targets["sm_90a"], chips["H200"]


def simulated(target, tilings, chip, noise=0.02):
    """Times that a chip would have."""
    _, needs = product()
    random, out = np.random.default_rng(5), []
    for columns in columns_of(tilings, needs, target):
        for s, (m, n, k) in enumerate(SIZES):
            seconds = predict_all(columns, needs, chip, Work(m, n, (k,))).seconds
            for tiling, t in zip(columns.tilings, seconds * np.exp(random.normal(0, noise, len(columns))), strict=True):
                out.append((tilings.index(tiling), s, float(t)))
    return out


def other(**figures):
    """An H200 of which some figures are other ones."""
    return H200.with_fitted("warpgroup", replace(H200.warpgroups, **figures))


@pytest.fixture(scope="module")
def tilings():
    return chosen(SM_90A, H200)


def test_what_is_timed_differs_in_all_that_is_fitted(tilings):
    assert 40 <= len(tilings) == len(set(tilings)) <= 80 and tilings == chosen(SM_90A, H200)
    for kind in ("persistent", "swap", "pingpong"):
        assert {getattr(t, kind) for t in tilings} == {False, True}
    assert {t.occupancy for t in tilings} >= {1, 2} and max(t.split_k for t in tilings) > 1
    assert any(t.cluster != (1, 1) for t in tilings)


def test_another_chips_figures_are_found(tilings):
    true = other(launch=4e-6, latency=1.2e-6, tensor=0.6, l2=1.2, piece=2e-7)
    found = fitted(SM_90A, H200, tilings, simulated(SM_90A, tilings, true))
    assert found.chip.measured and found.count == len(tilings) * len(SIZES)
    assert found.after.first.mean() < min(1.02, found.before.first.mean())
    for name in ("launch", "tensor"):
        assert getattr(found.chip.warpgroups, name) == pytest.approx(getattr(true.warpgroups, name), rel=0.25)
    assert found.chip.warps == H200.warps


def test_times_that_say_nothing_leave_a_chip_as_it_is(tilings):
    random = np.random.default_rng(2)
    times = simulated(SM_90A, tilings, H200, 0.0)
    mixed = [(t, s, x) for (t, s, _), x in zip(times, random.lognormal(-10, 1.5, len(times)), strict=True)
             if s % 2 == 0] + [(t, s, x) for t, s, x in times if s % 2]  # fmt: skip
    found = fitted(SM_90A, H200, tilings, mixed)
    assert found.chip == H200 and np.array_equal(found.before.first, found.after.first)


def test_too_few_times_are_refused(tilings):
    with pytest.raises(NothingTimed, match="3 kernels could be timed"):
        fitted(SM_90A, H200, tilings, [(n, 0, 1e-5) for n in range(3)])


def test_without_a_gpu_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(calibrate, "gpu_here", lambda: None)
    with pytest.raises(NoGpu, match=r"nothing can be timed: (?s:.)*polyvolta\[cuda12\](?s:.)*package's chips"):
        calibrate.calibrate("sm_90a")


def test_the_command_prints_data_and_keeps_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYVOLTA_CACHE_SIZE", raising=False)
    monkeypatch.setattr(calibrate, "gpu_here", lambda: Gpu(0, "NVIDIA H200", "sm_90", "GPU-0"))
    true = other(launch=3e-6, tensor=0.8)
    monkeypatch.setattr(calibrate, "timed", lambda target, gpu, tilings, say, _: simulated(target, tilings, true))
    known.kept.cache_clear()
    with pytest.raises(SystemExit) as left:
        main(["calibrate", "--target", "sm_90a", "--keep"])
    assert not left.value.code
    done = capsys.readouterr()
    chip = Chip.from_data(json.loads(done.out))
    assert chip.measured and chip.name == "H200" and chip != H200
    assert known.kept() == {"H200": chip} and "kept in" in done.err and "first choice" in done.err
    known.kept.cache_clear()


@pytest.mark.parametrize(("env", "message"), [
    ({"POLYVOLTA_CACHE_SIZE": "0"}, "the cache is switched off"),
    ({"POLYVOLTA_CACHE_DIR": "file/below"}, "can't be kept"),
], ids=str)  # fmt: skip
def test_the_command_says_before_it_measures_that_nothing_can_be_kept(monkeypatch, tmp_path, capsys, env, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("POLYVOLTA_CACHE_SIZE", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(calibrate, "calibrate", lambda *_: pytest.fail("measured"))
    with pytest.raises(SystemExit) as left:
        main(["calibrate", "--target", "sm_90a", "--keep"])
    assert left.value.code == 2 and message in capsys.readouterr().err
