"""Measuring operations of polyvolta beside isl's: in one process, turn by turn, on inputs made anew.

Every repetition makes its inputs outside the timed region, for both libraries, because isl keeps what it learns of a
set (emptiness, redundancy, samples) with the set. polyvolta keeps what it learns with interned values, which survive
the parsing, so it is timed twice: `first` has every memo of the package emptied before the inputs are made, `again`
has them as a session has them. The ratios are to isl's time. Times are processor time of the thread, medians; reading
that clock adds about a microsecond to both.
"""

from __future__ import annotations

import argparse
import functools
import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl


@dataclass(frozen=True)
class Side:
    """What is timed in one library: `op(*read())`, without the reading."""

    read: Callable[[], tuple]
    op: Callable


@dataclass(frozen=True)
class Row:
    """One operation in both libraries; the first word of its name is its number."""

    name: str
    ours: Side
    isls: Side


def memos() -> list:
    """Every memo of the package that has been imported, but the tables of isl's names, which a process makes once."""
    found = [f for f in gc.get_objects() if isinstance(f, functools._lru_cache_wrapper)]
    return [f for f in found if (f.__module__ or "").startswith("polyvolta") and "of_isl" not in f.__module__]


def once(side: Side) -> float:
    """Seconds of the operation on freshly made inputs."""
    inputs = side.read()
    start = time.thread_time_ns()
    result = side.op(*inputs)
    seconds = (time.thread_time_ns() - start) / 1e9
    del result
    return seconds


def measured(r: Row, repeat: int) -> tuple[float, float, float]:
    """Median seconds of isl, of polyvolta with its memos emptied, and of polyvolta as it stands."""
    times: tuple[list[float], ...] = ([], [], [])
    once(r.ours)  # imports, and the allocator
    known = memos()
    gc.disable()
    for _ in range(repeat):
        times[0].append(once(r.isls))
        for memo in known:
            memo.cache_clear()
        times[1].append(once(r.ours))
        times[2].append(once(r.ours))
    gc.enable()
    return tuple(statistics.median(t) for t in times)  # type: ignore[return-value]


def main(doc: str | None, rows: Sequence[Row], repeat: int, groups: Mapping[str, Sequence[str]] | None = None) -> None:
    """Measure the rows that the command line asks for and print a Markdown table.

    Parameters
    ----------
    groups : heading -> numbers of the rows over which further means are printed.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=repeat)
    parser.add_argument("--only", default="", help="row numbers, separated by commas")
    args = parser.parse_args()
    wanted = set(filter(None, args.only.split(",")))
    print(f"isl {isl.version.VERSION_TEXT}; microseconds")
    print(f"| {'operation':40} |    isl |   first | ratio |   again | ratio |")
    print(f"|{'-' * 42}|-------:|--------:|------:|--------:|------:|")
    ratios: dict[str, tuple[float, float]] = {}
    for r in rows:
        number = r.name.split()[0]
        if wanted and number not in wanted:
            continue
        theirs, first, again = measured(r, args.repeat)
        ratios[number] = first / theirs, again / theirs
        print(
            f"| {r.name:40} | {theirs * 1e6:6.1f} | {first * 1e6:7.1f} | {first / theirs:5.1f} "
            f"| {again * 1e6:7.1f} | {again / theirs:5.2f} |",
            flush=True,
        )
    for heading, numbers in {"": tuple(ratios), **(groups or {})}.items():
        for k, kind in enumerate(("first", "again")):
            found = [ratios[n][k] for n in numbers if n in ratios]
            if found:
                mean = math.exp(statistics.fmean(map(math.log, found)))
                where = f"{heading}, {kind}" if heading else kind
                print(f"{where}: geometric mean {mean:.2f}, largest ratio {max(found):.1f}, {len(found)} rows")
