"""Figures: which there are, and that what they show is what rows say."""

import math
import sys
from xml.etree import ElementTree

import pytest

from polyvolta.evaluation.errors import BadRecords, NoFigures
from polyvolta.evaluation.figures import Roof, drawn, roofline, save, speedups
from polyvolta.evaluation.report import written
from polyvolta.evaluation.tables import ratio, summary
from tests.evaluation.made import row, rows


def roof_of(gpu, target):
    return Roof(9e14, 4.5e12, "made up") if gpu == "NVIDIA H200" else None


@pytest.fixture(autouse=True)
def plots():
    """matplotlib, and no figures left over."""
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


def bars(ax):
    """Where a panel's bars end."""
    return [p.get_y() + p.get_height() for p in ax.patches]


def test_bars_are_the_tuned_ratios_sorted_and_coloured_by_who_is_ahead():
    some = rows(9)
    mine = [r for r in some if r.benchmark == "add"]
    figure = speedups(some, "sm_90a", "chain")
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "A @ B", "relu(A) @ B", "relu(A @ B + bias)", "A @ B + P @ Q"
    ]  # fmt: skip
    ax = figure.axes[3]
    assert bars(ax) == pytest.approx(sorted(ratio(r, "chain", "tuned") for r in mine))
    colours = [p.get_facecolor() for p in ax.patches]
    assert len({c for c, end in zip(colours, bars(ax)) if end >= 1}) == 1
    assert {c for c, end in zip(colours, bars(ax)) if end < 1}.isdisjoint(
        {c for c, end in zip(colours, bars(ax)) if end >= 1}
    )
    found = summary(ratio(r, "chain", "tuned") for r in mine)
    assert f"geomean {found.geomean:.3f}" in ax.texts[0].get_text()
    assert f"below 1: {found.below} of 9" in ax.texts[0].get_text()


def test_dots_are_the_first_choices_in_the_bars_order():
    some = rows(7)
    ordered = sorted((r for r in some if r.benchmark == "gemm"), key=lambda r: ratio(r, "best", "tuned"))
    figure = speedups(some, "sm_90a", "best")
    assert [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()] == [
        "A @ B", "relu(A @ B + bias)", "A @ B + P @ Q", "relu(A @ B + vector)"
    ]  # fmt: skip
    first, space = (c.get_offsets().data[:, 1].tolist() for c in figure.axes[0].collections[:2])
    assert first == pytest.approx([ratio(r, "best", "default") for r in ordered])
    assert sum(not math.isnan(y) for y in space) == 4


def test_points_of_the_roofline_are_below_the_roof_at_their_intensity():
    some = rows(6)
    figure = roofline(some, "sm_90a", roof_of)
    assert len(figure.axes) == 4
    ax = figure.axes[0]
    roof = ax.lines[-1]
    assert max(roof.get_ydata()) == pytest.approx(900)
    ours = ax.collections[2].get_offsets().data
    gemms = [r for r in some if r.benchmark == "gemm"]
    m, n, k = gemms[0].sizes
    intensity, rate = m * n * k / (m * k + k * n + m * n), 2e-6 * m * n * k / gemms[0].tuned_us
    assert ours[0].tolist() == pytest.approx([intensity, rate])


def test_a_figure_makes_the_same_file_again_with_text_as_text(tmp_path):
    first, again = (save(roofline(rows(2), "sm_90a", roof_of), tmp_path / f"{n}.svg").read_bytes() for n in "ab")
    assert first == again
    assert ElementTree.fromstring(first).tag.endswith("svg")
    assert b"Roofline" in first


def test_a_figure_for_each_target_and_side_that_there_is(tmp_path):
    only = [row(benchmark="gemm_vector_relu", best="", best_us=math.nan, gpu="unknown")]
    paths = list(drawn(only, tmp_path, roof_of))
    assert [p.name for p in paths] == [f"{n}-sm_90a.{kind}" for n in ("speedup", "roofline") for kind in ("png", "svg")]
    assert all(p.read_bytes()[:4] == b"\x89PNG" for p in paths if p.suffix == ".png")


def test_without_rows_or_matplotlib_or_room_it_says_so(tmp_path, monkeypatch):
    with pytest.raises(NoFigures, match="nothing to draw"):
        list(drawn([], tmp_path, roof_of))
    (tmp_path / "file").touch()
    with pytest.raises(NoFigures, match="can't be written"):
        list(drawn([row()], tmp_path / "file", roof_of))
    with pytest.raises(BadRecords, match="can't be written"):
        list(written([row()], tmp_path / "file"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NoFigures, match="matplotlib") as missing:
        list(drawn([row()], tmp_path, roof_of))
    assert "polyvolta[plot]" in missing.value.hint
