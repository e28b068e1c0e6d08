"""GPUs as data: what is refused, which one a kernel is made for, what is kept on this computer."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from polyvolta.cuda.devices import Gpu
from polyvolta.cuda.target.chips import BadChip, Chip, Fitted, chip_of, chips, known
from polyvolta.cuda.target.registry import targets


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch, tmp_path):
    monkeypatch.setattr(known, "gpu_here", lambda: None)
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYVOLTA_CACHE_SIZE", raising=False)
    known.kept.cache_clear()
    yield
    known.kept.cache_clear()


PEAKS = {"V100": 125, "T4": 65 / 1.59 * 1.25, "A100": 312, "A10": 125, "L4": 121, "L40S": 362, "RTX 4090": 165}
"""TFLOP/s of 16-bit products in data sheets."""


@pytest.mark.parametrize("name", PEAKS)
def test_rates_are_those_of_data_sheets(name):
    chip = chips[name]
    ((_, rate),) = chip.rates
    assert 2e-12 * chip.multiprocessors * chip.clock * rate == pytest.approx(PEAKS[name], rel=0.02)
    assert not chip.measured


def test_the_h200_was_measured_and_says_so():
    assert chips["H200"].measured and not chips["H100"].measured
    assert chips["H200"].rate("warpgroup") == 2048 and chips["H200"].rate("something") == 1300


@pytest.mark.parametrize("name", chips)
def test_a_chip_is_data_and_comes_back(name):
    assert Chip.from_data(json.loads(json.dumps(chips[name].as_data()))) == chips[name]


def test_which_chip_kernels_are_made_for(monkeypatch):
    assert [chip_of(t).name for t in targets.values()][:4] == ["V100", "T4", "A100", "H200"]
    assert chip_of(targets["sm_80"], "NVIDIA H200").name == "H200"
    assert chip_of(targets["sm_90a"], "NVIDIA A100-SXM4-80GB").name == "H200"  # doesn't run them
    assert chip_of(targets["sm_80"], "NVIDIA A100-SXM4-80GB").name == "A100"
    assert chip_of(targets["sm_80"], "NVIDIA L40S").name == "L40S"  # not L4
    assert chip_of(targets["sm_70"], "some other GPU").name == "V100"
    monkeypatch.setattr(known, "gpu_here", lambda: Gpu(0, "NVIDIA GeForce RTX 4090", "sm_89", "GPU-0"))
    assert chip_of(targets["sm_80"]).name == "RTX 4090"
    assert chip_of(replace(targets["sm_80"], name="sm_86")).name == "RTX 4090"
    monkeypatch.setattr(known, "gpu_here", lambda: None)
    assert chip_of(replace(targets["sm_80"], name="sm_86")).name == "H200"


def test_what_was_kept_goes_before(tmp_path):
    own = replace(chips["H200"], clock=1e9)
    path = known.keep(own)
    assert path.startswith(str(tmp_path)) and chip_of(targets["sm_90a"], "NVIDIA H200") == own
    other = known.keep(replace(chips["A100"], source="measured here"))
    assert other == path and chip_of(targets["sm_80"], "A100").measured
    assert chip_of(targets["sm_90a"], "NVIDIA H200") == own


def test_a_cache_that_is_switched_off_keeps_no_chips(monkeypatch):
    known.keep(replace(chips["H200"], clock=1e9))
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "0")
    known.kept.cache_clear()
    assert known.kept() == {} and chip_of(targets["sm_90a"], "NVIDIA H200") == chips["H200"]
    with pytest.raises(known.NotKept, match="switched off"):
        known.keep(chips["H200"])


def test_a_folder_that_can_not_be_made_keeps_no_chips(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert known.kept() == {}
    with pytest.raises(known.NotKept, match="can't be kept"):
        known.keep(chips["H200"])


@pytest.mark.parametrize("text", ["", "{", "[1]", "[{}]", '{"a": 1}', "null", '[{"name": "H200"}]'])
def test_a_file_of_something_else_counts_as_none(tmp_path, text):
    (tmp_path / known.FILE).write_text(text)
    assert known.kept() == {}
    assert chip_of(targets["sm_90a"], "NVIDIA H200") == chips["H200"]


def test_an_unreadable_file_counts_as_none(tmp_path):
    (tmp_path / known.FILE).mkdir()
    assert known.kept() == {}


@pytest.mark.parametrize(
    "change",
    [{"clock": 0}, {"clock": float("inf")}, {"multiprocessors": 1.5}, {"rates": ()}, {"rates": (("warp", -1),)},
     {"name": ""}, {"warps": None}, {"neighbours": (0,)}, {"l2_bytes": True}],
)  # fmt: skip
def test_what_is_no_chip_is_refused(change):
    with pytest.raises(BadChip):
        replace(chips["H200"], **change)


def test_figures_are_above_zero():
    with pytest.raises(BadChip, match="latency"):
        Fitted(latency=-1e-6)


@pytest.mark.parametrize("data", [None, [], {"name": "x"}, {**chips["T4"].as_data(), "more": 1},
                                  {**chips["T4"].as_data(), "warps": {"speed": 1}},
                                  {**chips["T4"].as_data(), "rates": 3}])  # fmt: skip
def test_data_of_something_else_is_refused(data):
    with pytest.raises(BadChip):
        Chip.from_data(data)


def test_clusters_lie_in_groups_of_neighbours():
    """Counted: whole clusters of each group of multiprocessors, one after the other."""
    chip = chips["H200"]
    for blocks in (1, 2, 4, 8):
        counted = sum(1 for group in chip.neighbours for first in range(0, group - blocks + 1, blocks)) * blocks
        assert chip.reachable(blocks) == counted
    assert chips["A100"].reachable(1) == 108
