"""Figures of an evaluation, as PNG and SVG: speed-ups over the library, sorted, and the roofline.

A figure of speed-ups has a panel for each benchmark. Bars are the tuned kernels' speed-ups, sorted: up from 1 where we
are ahead, down from 1 where not, on a logarithmic axis: half as fast is as far from 1 as twice as fast. Dots are
the model's first choice at the same sizes, diamonds the best of the space where that was gone through. Beside it
stands what the paper reports for its own chip and library: from the least to the most, a line at the geometric mean.

matplotlib is imported when the first figure is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyvolta.evaluation.benchmarks import Benchmark, Reported
from polyvolta.evaluation.errors import NoFigures
from polyvolta.evaluation.records import Row
from polyvolta.evaluation.tables import SIDES, named, of_benchmarks, ratio, summary, targets_of

AHEAD, BEHIND, SPACE, INK, GREY, MIDDLE, PALE = (
    "#2f6f9f", "#c8553d", "#e0a100", "#1d1d1f", "#5a5a5e", "#8a8a8e", "#d9d9de"
)  # fmt: skip
TICKS = (0.25, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 2.5, 3, 4)
STYLE = {
    "font.family": "sans-serif", "font.size": 9, "axes.titlesize": 10.5, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.edgecolor": MIDDLE, "axes.labelcolor": INK, "text.color": INK,
    "xtick.color": GREY, "ytick.color": GREY, "axes.spines.top": False, "axes.spines.right": False,
    "svg.fonttype": "none", "svg.hashsalt": "polyvolta", "figure.dpi": 100, "savefig.dpi": 170,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Roof:
    """What a chip can do at most.

    Attributes
    ----------
    operations : a second, of its tensor cores.
    bytes : a second, of its memory.
    text : both, for a legend.
    """

    operations: float
    bytes: float
    text: str


def drawn(rows: Sequence[Row], folder: Path, roof_of: Callable[[str, str], Roof | None]) -> Iterator[Path]:
    """Draw all figures of some rows into a folder; the files, each when it is there.

    Parameters
    ----------
    roof_of : by a GPU's name and a target; None: there is no roof in its figure.

    Raises
    ------
    NoFigures : matplotlib is missing, there are no rows, or a file can't be written.
    """
    plt = _pyplot()
    if not rows:
        raise NoFigures("there is nothing to draw", hint="an evaluation has to run first: polyvolta bench")
    for target in targets_of(rows):
        figures = {f"speedup-{target}": speedups(rows, target, "chain")}
        if any(not math.isnan(r.best_us) for r in rows if r.target == target):
            figures[f"beside-best-{target}"] = speedups(rows, target, "best")
        figures[f"roofline-{target}"] = roofline(rows, target, roof_of)
        for name, figure in figures.items():
            for kind in ("png", "svg"):
                yield save(figure, folder / f"{name}.{kind}")
            plt.close(figure)


def save(figure: Any, path: Path) -> Path:
    """Write a figure, of the kind that the path's suffix says; the same figure makes the same file.

    Raises
    ------
    NoFigures : it can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _pyplot().rc_context(STYLE):
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as wrong:
        raise NoFigures(f"{path} can't be written: {wrong.strerror}", hint="another folder") from wrong
    return path


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise NoFigures("figures need matplotlib", hint="pip install 'polyvolta[plot]'") from None
    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt

    return plt


# ---- speed-ups -------------------------------------------------------------------------------------------------


def speedups(rows: Sequence[Row], target: str, side: str) -> Any:
    """A figure of all benchmarks of a target beside one side of the library; see the module."""
    plt = _pyplot()
    panels = [(b, timed) for b, some in of_benchmarks(rows, target)
              if (timed := [r for r in some if not math.isnan(ratio(r, side, "tuned"))])]  # fmt: skip
    if side == "chain":  # the paper's
        panels = [(b, some) for b, some in panels if b.reported is not None] or panels
    if not panels:
        raise NoFigures("no row has a time to be drawn", hint="an evaluation has to run first: polyvolta bench")
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            lines, columns, figsize=(5.6 * columns, 2.9 * lines + 0.8), squeeze=False, layout="constrained"
        )
        figure.get_layout_engine().set(h_pad=0.09, hspace=0.03)
        values = [ratio(r, side, c) for _, some in panels for r in some for c in ("tuned", "default", "space")]
        papers = [b.reported for b, _ in panels if b.reported and side == "chain"]
        limits = _limits([*values, *(x for p in papers for x in (p.least, p.most))])
        for ax, (b, some) in zip(axes.flat, panels):
            _panel(ax, b, some, side, limits)
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        for ax in axes[:, 0]:
            ax.set_ylabel("speed-up")
        _legend(figure, panels, side)
        first = panels[0][1][0]
        figure.suptitle(f"Speed-up over {SIDES[side]}: {target} kernels on an {first.gpu}, {first.library}",
                        x=0.01, ha="left", fontsize=11.5)  # fmt: skip
    return figure


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """What the axes show: all values, and 1 well inside."""
    there = [v for v in values if not math.isnan(v)]
    return min(0.85, min(there) / 1.05), max(1.2, max(there) * 1.12)


def _panel(ax: Any, b: Benchmark, rows: Sequence[Row], side: str, limits: tuple[float, float]) -> None:
    ordered = sorted(rows, key=lambda r: ratio(r, side, "tuned"))
    tuned, first, space = ([ratio(r, side, c) for r in ordered] for c in ("tuned", "default", "space"))
    at = range(len(ordered))
    colours = [AHEAD if x >= 1 else BEHIND for x in tuned]
    ax.set_yscale("log")
    ax.bar(at, [x - 1 for x in tuned], bottom=1, width=0.82, color=colours, lw=0, zorder=2)
    ax.scatter(at, first, s=7, color=INK, lw=0, zorder=4)
    ax.scatter(at, space, s=17, marker="D", facecolor="none", edgecolor=SPACE, lw=1.1, zorder=5)
    ax.axhline(1, color=INK, lw=0.9, zorder=3)
    found = summary(tuned)
    assert found is not None
    ax.axhline(found.geomean, color=AHEAD, lw=1, ls=(0, (5, 3)), zorder=1)
    ax.set_title(b.title)
    ax.set_title(f"beside {named(b, side, rows)}", loc="right", fontsize=8.5, fontweight="normal", color=GREY)
    words = f"geomean {found.geomean:.3f}\nleast {found.least:.3f}\nbelow 1: {found.below} of {found.count}"
    ax.text(0.014, 0.965, words, transform=ax.transAxes, va="top", fontsize=8, color=GREY, linespacing=1.45, zorder=6,
            bbox={"facecolor": "white", "alpha": 0.85, "lw": 0, "pad": 1.5})  # fmt: skip
    ax.set_ylim(*limits)
    ax.set_yticks([t for t in TICKS if limits[0] <= t <= limits[1]], minor=False)
    ax.set_yticks([], minor=True)
    ax.yaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.grid(axis="y", color=PALE, lw=0.6, zorder=0)
    ax.set_axisbelow(True)
    ax.set_xticks([])
    ax.set_xlabel(f"{len(ordered)} sizes, sorted", labelpad=3)
    room = 0.1 * len(ordered) + 1
    reported = b.reported if side == "chain" else None
    ax.set_xlim(-0.02 * len(ordered) - 0.6, len(ordered) - 0.4 + (room if reported else 0.02 * len(ordered)))
    if reported:
        _paper(ax, reported, len(ordered) - 0.4 + 0.6 * room, 0.16 * room)


def _paper(ax: Any, reported: Reported, x: float, half: float) -> None:
    """What the paper reports, beside the bars."""
    ax.fill_between([x - half, x + half], reported.least, reported.most, color=PALE, lw=0, zorder=2)
    if reported.geomean:
        ax.plot([x - 1.4 * half, x + 1.4 * half], [reported.geomean] * 2, color=MIDDLE, lw=2, zorder=3)
    ax.annotate("paper", (x, reported.most), xytext=(0, 2), textcoords="offset points", ha="center", va="bottom",
                fontsize=7, color=GREY)  # fmt: skip


def _legend(figure: Any, panels: Sequence[tuple[Benchmark, Sequence[Row]]], side: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    rows = [r for _, some in panels for r in some]
    entries: list[Any] = [
        Patch(color=AHEAD, label="tuned, ahead"),
        Patch(color=BEHIND, label="tuned, behind"),
        Line2D([], [], color=AHEAD, lw=1, ls=(0, (5, 3)), label="its geometric mean"),
        Line2D([], [], color=INK, marker="o", ms=3, lw=0, label="the model's first choice"),
    ]
    if any(not math.isnan(r.space_us) for r in rows):
        entries.append(
            Line2D([], [], color=SPACE, marker="D", ms=4.5, mfc="none", lw=0, label="best of the space")
        )
    if side == "chain" and any(b.reported for b, _ in panels):
        entries.append(Patch(color=PALE, label="the paper: least, mean, most (GV100)"))
    figure.legend(handles=entries, loc="outside lower left", ncols=len(entries), frameon=False, fontsize=8,
                  handletextpad=0.5, columnspacing=1.4)  # fmt: skip


# ---- roofline --------------------------------------------------------------------------------------------------


def roofline(rows: Sequence[Row], target: str, roof_of: Callable[[str, str], Roof | None]) -> Any:
    """Operations a second over operations a byte of the least traffic; tuned kernels and the library's chain."""
    plt = _pyplot()
    panels = [(b, some) for b, some in of_benchmarks(rows, target) if b.reported is not None]
    panels = panels or list(of_benchmarks(rows, target))
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    roof = roof_of(panels[0][1][0].gpu, target)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            lines, columns, figsize=(5.6 * columns, 2.9 * lines + 0.75), squeeze=False, layout="constrained",
            sharex=True, sharey=True,
        )  # fmt: skip
        figure.get_layout_engine().set(h_pad=0.09, hspace=0.03)
        for ax, (b, some) in zip(axes.flat, panels):
            _roofed(ax, b, some, roof)
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        for ax in axes[:, 0]:
            ax.set_ylabel("TFLOP/s")
        for ax in axes[-1, :]:
            ax.set_xlabel("operations for each byte of inputs and result")
        _roof_legend(figure, roof)
        first = panels[0][1][0]
        figure.suptitle(f"Roofline: {target} kernels on an {first.gpu}, {first.library}", x=0.01, ha="left",
                        fontsize=11.5)  # fmt: skip
    return figure


def _roofed(ax: Any, b: Benchmark, rows: Sequence[Row], roof: Roof | None) -> None:
    across = [b.operations(r.sizes) / b.bytes(r.sizes) for r in rows]
    ours, theirs = ([1e-6 * b.operations(r.sizes) / us for r, us in zip(rows, some)]
                    for some in ([r.tuned_us for r in rows], [r.chain_us for r in rows]))  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.vlines(across, theirs, ours, color=PALE, lw=0.9, zorder=1)
    ax.scatter(across, theirs, s=13, facecolor="white", edgecolor=MIDDLE, lw=0.9, zorder=2)
    ax.scatter(across, ours, s=13, color=AHEAD, lw=0, alpha=0.9, zorder=3)
    if roof is not None:
        ridge = roof.operations / roof.bytes
        x = [min(across) / 1.6, ridge, max(max(across), ridge) * 1.6]
        ax.plot(x, [1e-12 * min(roof.operations, roof.bytes * v) for v in x], color=INK, lw=1.3, zorder=4)
    ax.set_title(b.title)
    ax.grid(color=PALE, lw=0.6, which="major", zorder=0)
    ax.set_axisbelow(True)
    for axis, ticks in ((ax.xaxis, [2**n for n in range(3, 13)]), (ax.yaxis, (5, 10, 20, 50, 100, 200, 500, 1000))):
        axis.set_major_locator(_fixed(ticks))
        axis.set_minor_locator(_fixed(()))
        axis.set_major_formatter(lambda v, _: f"{v:g}")
    ax.tick_params(labelbottom=True)


def _fixed(ticks: Sequence[float]) -> Any:
    from matplotlib.ticker import FixedLocator

    return FixedLocator(list(ticks))


def _roof_legend(figure: Any, roof: Roof | None) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=AHEAD, marker="o", ms=4, lw=0, label="our tuned kernel"),
        Line2D([], [], color=MIDDLE, marker="o", ms=4, mfc="white", lw=0, label="the library's unfused chain"),
    ]
    if roof is not None:
        entries.append(Line2D([], [], color=INK, lw=1.3, label=roof.text))
    figure.legend(handles=entries, loc="outside lower left", ncols=len(entries), frameon=False, fontsize=8)
