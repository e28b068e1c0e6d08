"""`polyvolta bench`: the paper's evaluation on the GPU at hand, from the command line to files in a folder.

Sizes that the folder's CSV file has are not measured again, so a run that was stopped goes on. On a terminal a bar says
how far it is and how long it will take; elsewhere each size is a line on stderr.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyvolta.cli import names, terminal, values
from polyvolta.cli.progress import Bar

if TYPE_CHECKING:
    from rich.console import Console

    from polyvolta.cuda.target.target import Target
    from polyvolta.evaluation.choices import Choices
    from polyvolta.evaluation.library import Library
    from polyvolta.evaluation.records import Row

WORDS = {"choosing": "choosing tilings", "compiling": "compiling and checking", "timing": "timing"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is evaluated.

    Attributes
    ----------
    benchmarks : names; all if empty.
    target : the kernels'.
    count, seed : of random sizes.
    spaced : at how many of them the whole space is gone through.
    minutes : after which no size is begun; as long as it takes if None.
    jobs : processes that compile; as many as there are cores if None.
    folder : for all files.
    """

    target: Target
    folder: Path
    benchmarks: tuple[str, ...] = ()
    count: int = 100
    seed: int = 7
    spaced: int = 20
    minutes: float | None = None
    jobs: int | None = None


def measure(err: Console, wanted: Wanted, choices: Choices, library: Library | None = None) -> bool:
    """Measure what the folder's CSV doesn't have; whether all of it is there then.

    Raises
    ------
    NoLibrary, NoGpu : what timing needs is missing; says what works without.
    BadRecords, UnknownBenchmark : see `polyvolta.evaluation.errors`; WrongResult, DoesNotFit : `tuner.errors`.
    """
    from polyvolta.evaluation import records
    from polyvolta.evaluation.benchmarks import BENCHMARKS, benchmark, draw
    from polyvolta.evaluation.course import Course
    from polyvolta.evaluation.library import Gpu, Torch
    from polyvolta.evaluation.report import CSV

    chosen = tuple(map(benchmark, wanted.benchmarks)) or BENCHMARKS
    path = wanted.folder / CSV
    done = {row.key for row in records.read(path)}
    _check_gpu()
    library, gpu = library or Torch(), Gpu()
    target = gpu.like_this(wanted.target)
    until = math.inf if wanted.minutes is None else time.monotonic() + 60 * wanted.minutes
    sizes = draw(wanted.count, wanted.seed)
    keys = {(gpu.name, target.name, b.name, s) for b in chosen for s in sizes}
    with Bar("loading", err) as bar:

        def reach(what: str, done: int, of: int) -> None:
            bar.reach(WORDS[what], done, of)

        course = Course(chosen, target, sizes, choices, library, gpu, wanted.spaced, wanted.jobs, progress=reach)
        for row in course.rows(done, until):
            records.append(path, [row])
            done.add(row.key)
            err.print(f"{'' if bar.is_shown else f'[{bar.share}] '}{line(row)}")
    for what, why in course.refused.items():
        err.print(f"left out: {what}: {why}", style="yellow")
    left = len(keys - done)
    if left:
        err.print(f"{left} of {len(keys)} are left; the same command goes on with them")
    return not left


def _check_gpu() -> None:
    """Say what works without a GPU, where there is none.

    Raises
    ------
    NoGpu
    """
    from polyvolta.cuda.run import gpu

    if not gpu.gpu_available():
        raise gpu.no_gpu("polyvolta bench --report makes tables and figures of a CSV file anywhere")


def line(row: Row) -> str:
    """A row for people."""
    from polyvolta.evaluation.tables import ratio

    beside = [f"{words} {value:.3f}" for words, value in (
        ("first", ratio(row, "chain", "default")), ("tuned", ratio(row, "chain", "tuned")),
        (f"beside {row.best}", ratio(row, "best", "tuned")),
    ) if not math.isnan(value)]  # fmt: skip
    size = " x ".join(f"{n:4}" for n in row.sizes)
    return f"{row.benchmark:16} {size}  {row.tuned_us:8.2f} us  {', '.join(beside)}"


def rows_of(folder: Path, only: Sequence[str] = ()) -> Sequence[Row]:
    """What a folder's CSV has, of some benchmarks alone if they are named.

    Raises
    ------
    UnknownBenchmark : a name of none.
    BadRecords : there are no such rows.
    """
    from polyvolta.evaluation.benchmarks import benchmark
    from polyvolta.evaluation.errors import BadRecords
    from polyvolta.evaluation.records import read
    from polyvolta.evaluation.report import CSV

    wanted = {benchmark(name).name for name in only}
    rows = [row for row in read(folder / CSV) if not wanted or row.benchmark in wanted]
    if not rows:
        of = f" of {', '.join(only)}" if only else ""
        raise BadRecords(f"{folder / CSV} has nothing measured{of}", hint="polyvolta bench, on a machine with a GPU")
    return rows


def check(only: Sequence[str]) -> None:
    """Refuse names of no benchmark.

    Raises
    ------
    UnknownBenchmark : suggests the nearest.
    """
    if not set(only) <= set(names.BENCHMARKS):
        from polyvolta.evaluation.benchmarks import benchmark

        for name in only:
            benchmark(name)


def report(out: Console, err: Console, folder: Path, only: Sequence[str] = (), json: bool = False) -> None:
    """The tables on stdout; the page and the figures into the folder, each file said on stderr.

    Parameters
    ----------
    only : names of benchmarks; all if empty.
    json : whether stdout gets the rows as data instead.

    Raises
    ------
    UnknownBenchmark : a name of none.
    BadRecords : the folder has no such rows, or can't be written.
    """
    from polyvolta.evaluation.errors import NoFigures
    from polyvolta.evaluation.report import page, written

    rows = rows_of(folder, only)
    if json:
        values.write(values.rows(rows))
    else:
        terminal.print_page(out, page(rows))
    with Bar("drawing", err):
        try:
            for path in written(rows, folder):
                terminal.put(err, f"wrote {path}")
        except NoFigures as missing:
            err.print(f"no figures: {missing.message}; {missing.hint}", style="yellow")
    if not json:
        out.print()
