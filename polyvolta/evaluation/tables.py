"""What rows come to: geometric means of ratios, the least of them, and at how many sizes they are below 1.

A ratio is the library's time over ours: above 1 we are faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from polyvolta.display.code import Markdown
from polyvolta.display.shown import Record
from polyvolta.evaluation.benchmarks import BENCHMARKS, Benchmark, Reported
from polyvolta.evaluation.records import Row

CHOICES = {
    "default": "the model's first", "tuned": "tuned", "plain": "tuned, plain launches", "space": "best of the space",
}  # fmt: skip
"""Ours: what of a row, and what tables call it."""
SIDES = {"chain": "the library's unfused chain", "best": "the best that the library offers"}
"""Theirs, likewise."""


CELLS = "A cell has the geometric mean / the least / at how many sizes it is below 1."


@dataclass(frozen=True, slots=True)
class Summary(Record):
    """Ratios of some sizes.

    Attributes
    ----------
    geomean, least, most : of the ratios.
    below : how many are below 1.
    count : how many there are.
    """

    geomean: float
    least: float
    most: float
    below: int
    count: int


def summary(ratios: Iterable[float]) -> Summary | None:
    """What ratios come to; None of none. NaN is none.

    >>> summary([2.0, 0.5, math.nan])
    Summary(geomean=1.0, least=0.5, most=2.0, below=1, count=2)
    """
    there = [r for r in ratios if not math.isnan(r)]
    if not there:
        return None
    mean = math.exp(math.fsum(map(math.log, there)) / len(there))
    return Summary(mean, min(there), max(there), sum(r < 1 for r in there), len(there))


def ratio(row: Row, side: str, choice: str) -> float:
    """The library's time over ours; NaN where one of them wasn't taken."""
    return getattr(row, f"{side}_us") / getattr(row, f"{choice}_us")


def of_benchmarks(rows: Sequence[Row], target: str) -> Iterator[tuple[Benchmark, list[Row]]]:
    """The rows of a target, benchmark by benchmark."""
    for b in BENCHMARKS:
        if some := [r for r in rows if r.target == target and r.benchmark == b.name]:
            yield b, some


def targets_of(rows: Iterable[Row]) -> list[str]:
    """The targets in rows, in the order in which they come."""
    return list(dict.fromkeys(r.target for r in rows))


def named(b: Benchmark, side: str, rows: Sequence[Row]) -> str:
    """Who the library is on a side: of its best what is the best most times, without its number."""
    if side != "best":
        return b.chain
    names = [r.best.partition(", number ")[0] for r in rows if r.best]
    return max(dict.fromkeys(names), key=names.count) if names else SIDES[side]


def over_library(rows: Sequence[Row], target: str) -> str:
    """A Markdown table of all benchmarks of a target, beside either side of the library, and what the paper reports.

    What cells have is said by `CELLS`.
    """
    head = ["benchmark", "beside", "sizes", *CHOICES.values(), "tuned, most", "the paper's, GV100"]
    lines = []
    for b, some in of_benchmarks(rows, target):
        for side in SIDES:
            found = {choice: summary(ratio(r, side, choice) for r in some) for choice in CHOICES}
            if (tuned := found["tuned"]) is None:
                continue
            paper = _reported(b.reported) if side == "chain" else ""
            cells = [_cell(s, tuned.count) for s in found.values()]
            lines.append([b.title, named(b, side, some), str(tuned.count), *cells, f"{tuned.most:.2f}", paper])
    return markdown(head, lines)


def of_choices(rows: Sequence[Row], target: str) -> str:
    """A Markdown table of what choices lose: the model's beside the tuned one, both beside the space's best."""
    head = ["benchmark", "choice", "beside", "geomean of speeds", "least", "within 2 %", "within 6 %", "sizes"]
    pairs = (("default", "tuned", "the model's first", "tuned"), ("tuned", "space", "tuned", "best of the space"),
             ("default", "space", "the model's first", "best of the space"))  # fmt: skip
    lines = []
    for b, some in of_benchmarks(rows, target):
        for ours, beside, *words in pairs:
            speeds = [getattr(r, f"{beside}_us") / getattr(r, f"{ours}_us") for r in some]
            if (found := summary(speeds)) is None:
                continue
            near = [f"{sum(s >= 1 - share for s in speeds)}" for share in (0.02, 0.06)]
            lines.append([b.title, *words, f"{found.geomean:.3f}", f"{found.least:.3f}", *near, str(found.count)])
    return markdown(head, lines)


def behind(rows: Iterable[Row], count: int = 10, choice: str = "tuned") -> list[tuple[Row, str, float]]:
    """The rows at which we are most behind, the worst first, each with the side and the ratio."""
    def worst(row: Row) -> tuple[float, str]:
        found = {side: ratio(row, side, choice) for side in SIDES}
        return min((r, side) for side, r in found.items() if not math.isnan(r))

    timed = [r for r in rows if not all(math.isnan(ratio(r, side, choice)) for side in SIDES)]
    found = sorted(((*worst(r), r) for r in timed), key=lambda x: x[:2])
    return [(row, side, value) for value, side, row in found[:count]]


def of_behind(rows: Sequence[Row], target: str, count: int = 10) -> str:
    """A Markdown table of the sizes at which we are most behind, all benchmarks together."""
    head = ["benchmark", "M x N x K", "library", "its time over ours", "ours, us", "TFLOP/s", "options"]
    titles = {b.name: b for b in BENCHMARKS}
    lines = []
    for row, side, value in behind((r for r in rows if r.target == target), count):
        b, size = titles[row.benchmark], " x ".join(map(str, row.sizes))
        rate = f"{1e-6 * b.operations(row.sizes) / row.tuned_us:.0f}"
        theirs = row.best if side == "best" else b.chain
        lines.append([b.title, size, theirs, f"{value:.3f}", f"{row.tuned_us:.1f}", rate, row.tuned])
    return markdown(head, lines)


def gone_through(rows: Sequence[Row], target: str) -> str:
    """How much of the space was gone through, in a sentence; nothing where none was."""
    counts = [r.spaced for r in rows if r.target == target and r.spaced]
    if not counts:
        return ""
    sizes, least, most = len({r.sizes for r in rows if r.target == target and r.spaced}), min(counts), max(counts)
    many = f"{least}" if least == most else f"{least} to {most}"
    return f"The space was gone through at {sizes} sizes, {many} tilings at each."


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Markdown:
    """A table.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    bars: Callable[[Sequence[str]], str] = lambda cells: f"| {' | '.join(cells)} |"  # noqa: E731
    return Markdown("\n".join([bars(head), "|" + "---|" * len(head), *map(bars, lines)]))


def _cell(found: Summary | None, count: int) -> str:
    """Of as many sizes as were timed, unless it says otherwise.

    >>> _cell(Summary(1.05, 0.9, 1.3, 2, 20), 100)
    '1.050 / 0.900 / 2 of 20'
    """
    if found is None:
        return ""
    of = "" if found.count == count else f" of {found.count}"
    return f"{found.geomean:.3f} / {found.least:.3f} / {found.below}{of}"


def _reported(paper: Reported | None) -> str:
    """What the paper says, in a cell.

    >>> print(_reported(Reported(0.985, 0.78, 1.75, 32)))
    0.985 / 0.78 / 68, most 1.75
    """
    if paper is None:
        return ""
    mean = "-" if paper.geomean is None else f"{paper.geomean:g}"
    return f"{mean} / {paper.least:.2f} / {100 - paper.ahead}, most {paper.most:.2f}"
