"""What was measured, a row for each benchmark, target and size, as a CSV file that grows while an evaluation runs.

A row is written at once, when its size is done. So an evaluation that was stopped goes on where it was: whatever is
measured on the GPU at hand is left out the second time. A last line that was cut off is measured again.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from polyvolta.display.shown import Record
from polyvolta.evaluation.benchmarks import Sizes
from polyvolta.evaluation.errors import BadRecords

NOT_TIMED = math.nan
Key = tuple[str, str, str, Sizes]


@dataclass(frozen=True, slots=True)
class Row(Record):
    """Times of one benchmark at one size; microseconds a launch, medians, all of them taken in turn.

    Attributes
    ----------
    gpu, library : names and versions.
    target, benchmark, M, N, K : what was run.
    default_us, default : of the choice without any timing, and its options (`spelling`).
    tuned_us, tuned, tried : the fastest of so many that were tried.
    plain_us : the fastest of those that were nearly `tuned`, that one among them, launched when the kernel before has
        ended, as the library's are.
    space_us, space, spaced : the fastest of the whole space, so many; NaN where it wasn't gone through.
    chain_us : the unfused chain of the library's kernels.
    best_us, best : the best that the library offers beyond, and what that is; NaN where there is nothing.
    error : of the tuned kernel's result, relative L2 against float64.
    """

    gpu: str
    library: str
    target: str
    benchmark: str
    M: int
    N: int
    K: int
    default_us: float
    default: str
    tuned_us: float
    tuned: str
    tried: int
    plain_us: float
    space_us: float
    space: str
    spaced: int
    chain_us: float
    best_us: float
    best: str
    error: float

    @property
    def sizes(self) -> Sizes:
        return self.M, self.N, self.K

    @property
    def key(self) -> Key:
        """What is measured once."""
        return self.gpu, self.target, self.benchmark, self.sizes


NAMES = tuple(f.name for f in fields(Row))
_READ = {"str": str, "int": int, "float": lambda text: float(text) if text else NOT_TIMED}


def read(path: Path) -> list[Row]:
    """The rows of a file, of several for one thing the last; none where there is no file.

    Raises
    ------
    BadRecords : a file of something else, or a line in its middle that is none.
    """
    if not path.exists():
        return []
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadRecords(f"{path} can't be read: {wrong}") from wrong
    whole = text[: text.rfind("\n") + 1]  # without a line that was cut off
    lines = list(csv.reader(io.StringIO(whole)))
    if not lines:
        return []
    if tuple(lines[0]) != NAMES:
        raise BadRecords(f"{path} is no file of an evaluation", where=f"its first line is {','.join(lines[0])[:100]}",
                         hint=f"one that starts with {','.join(NAMES[:4])},...; or another name")  # fmt: skip
    rows = {(row := _row(cells, f"{path}, line {n}")).key: row for n, cells in enumerate(lines[1:], 2)}
    return list(rows.values())


def _row(cells: Sequence[str], where: str) -> Row:
    try:
        return Row(*(_READ[str(f.type)](cell) for f, cell in zip(fields(Row), cells, strict=True)))
    except ValueError as wrong:
        raise BadRecords(f"a line of {len(cells)} cells says no measurement: {wrong}", where=where) from wrong


def append(path: Path, rows: Iterable[Row]) -> None:
    """Add rows to a file, each line whole; the first ones make it, and a line that was cut off goes.

    Raises
    ------
    BadRecords : it can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b") as file:
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            file.write(("" if whole else _text([NAMES])).encode() + _text(map(cells_of, rows)).encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as wrong:
        raise BadRecords(f"{path} can't be written: {wrong.strerror}", hint="another folder") from wrong


def cells_of(row: Row) -> list[str]:
    """A row as texts; times to a nanosecond, nothing for those that weren't taken."""
    return [_cell(value) for value in asdict(row).values()]


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.3f}" if value >= 1 else f"{value:.3g}"


def _text(lines: Iterable[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()
