"""The paper's evaluation on the GPU at hand, beside cuBLAS, cublasLt's best of 100 and what it fuses.

    python benchmarks/evaluation.py [--target sm_90a] [--out FOLDER]      100 sizes of all benchmarks, tables, figures
    python benchmarks/evaluation.py --out FOLDER                          again: goes on where it was stopped
    python benchmarks/evaluation.py --out FOLDER --report                 tables and figures alone; no GPU
    python benchmarks/evaluation.py --listed                              of the tilings of `ways.py`, without a model
    python benchmarks/evaluation.py --out FOLDER --docs docs/evaluation.md --pictures docs/pictures/evaluation
                                                                          writes them into a page, between its marks

The same as `polyvolta bench`, which an installed package has, but for the library's side: that is `gpu_baselines.py`,
whose cublasLt tries all that its heuristic offers, as our side tries what the model offers.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import behind
import ways
from searched_library import Given

import polyvolta as pv
from polyvolta.cli import terminal
from polyvolta.cli.work import benching
from polyvolta.compiler.options import Options, default_options
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.target.target import Target
from polyvolta.evaluation import records, tables
from polyvolta.evaluation.benchmarks import Benchmark, Sizes
from polyvolta.evaluation.choices import Ranked
from polyvolta.evaluation.report import CSV
from polyvolta.graph.dag import Graph


class Listed:
    """Choices from the lists of `ways.py`, and the rule's for sizes that are known; no model."""

    def first(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Options:
        """The rule's."""
        return default_options(Graph.of(benchmark.sized(sizes)), target)

    def guesses(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """The list's, for the target."""
        computed = benchmark.name == "relu_gemm"
        if not self._by_warpgroups(target, computed):
            return legal(benchmark, target, ways.ways(ways.OF_WARPS))
        listed = ways.ways(ways.OF_WARPGROUPS if benchmark.name == "gemm" else ways.FUSED)
        if computed:  # in registers, which take turns; with swap it is the other operand, and rewritten
            listed += tuple(o for o in ways.ways(ways.OF_WARPGROUPS) if not o["swap"] and o not in listed)
        return legal(benchmark, target, [o | {"fragments": 2} if computed and not o["swap"] else o for o in listed])

    @staticmethod
    def _by_warpgroups(target: Target, computed: bool) -> bool:
        return bool(target.families) and (target.families[0].prologues or not computed)

    def space(self, benchmark: Benchmark, target: Target, sizes: Sizes) -> Sequence[Options]:
        """Both lists."""
        some = list(self.guesses(benchmark, target, sizes))
        if target.families and benchmark.name != "relu_gemm":
            some += legal(benchmark, target, ways.ways(ways.OF_WARPGROUPS) + ways.ways(ways.FUSED))
        return list(dict.fromkeys(some))


def legal(benchmark: Benchmark, target: Target, listed: Sequence[dict[str, Any]]) -> list[Options]:
    """Listed options, completed for a target by its rule; without those that it refuses."""
    graph, out = Graph.of(benchmark.expression), []
    for given in listed:
        with contextlib.suppress(BadOption):
            out.append(default_options(graph, target, Options(**given)))
    return out


# ---- a page of the docs ----------------------------------------------------------------------------------------

FIGURES = {
    "speedup": "speed-up over the unfused chain", "beside-best": "speed-up over the best that the library offers",
    "roofline": "roofline",
}  # fmt: skip


def figures(rows: Sequence[records.Row], target: str) -> str:
    """Links to the figures of a target, beside the page."""
    there = any(r.target == target for r in rows)
    return "\n\n".join(f"![{target}: {words}](pictures/evaluation/{name}-{target}.svg)"
                       for name, words in FIGURES.items() if there)  # fmt: skip


TABLES = {
    "over_library": tables.over_library, "of_choices": tables.of_choices, "gone_through": tables.gone_through,
    "of_behind": tables.of_behind, "figures": figures,
}  # fmt: skip
MARK = re.compile(r"(<!-- (\w+) (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, rows: Sequence[records.Row], profiled: Sequence[dict[str, str]] = ()) -> str:
    """A page with what is between marks `<!-- over_library sm_90a -->` and `<!-- end -->` made anew from rows.

    Parameters
    ----------
    profiled : what `behind.py` has kept of counters, for the mark `counters`.

    >>> print(filled("<!-- of_choices sm_90a -->\\n<!-- end -->", []).splitlines()[1][:24])
    | benchmark | choice | b
    """
    counters = {"counters": lambda rows, target: behind.of_rows(rows, target, profiled)}
    return MARK.sub(lambda m: f"{m[1]}{(TABLES | counters)[m[2]](rows, m[3])}\n{m[4]}", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_90a", choices=("sm_80", "sm_90a"), help="whose instructions")
    parser.add_argument("--only", default="", help="benchmarks, separated by commas")
    parser.add_argument("--sizes", type=int, default=100, help="how many random sizes")
    parser.add_argument("--seed", type=int, default=7, help="of the sizes")
    parser.add_argument("--space", type=int, default=20, help="at how many sizes the whole space is gone through")
    parser.add_argument("--space-most", type=int, default=200, help="tilings of the space at most; 0: all")
    parser.add_argument("--budget", type=int, default=16, help="tilings that are timed at each size")
    parser.add_argument("--listed", action="store_true", help="the tilings of `ways.py` in place of the model's")
    parser.add_argument("--minutes", type=float, help="after which no size is begun")
    parser.add_argument("--jobs", type=int, help="kernels that are compiled side by side")
    parser.add_argument("--out", type=Path, default=Path("evaluation"), help="folder of all files")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--bare", action="store_true", help="measure, and leave tables and figures for later")
    parser.add_argument("--docs", type=Path, help="a page whose tables are made anew")
    parser.add_argument("--pictures", type=Path, help="folder that figures are copied to")
    args = parser.parse_args()
    out, err = terminal.console(), terminal.console(stderr=True)
    whole = True
    if not args.report and args.docs is None:
        names = tuple(filter(None, args.only.split(",")))
        target = pv.targets[args.target]
        wanted = benching.Wanted(target, args.out, names, args.sizes, args.seed, args.space, args.minutes, args.jobs)
        choices = Listed() if args.listed else Ranked(args.budget, args.space_most or None)
        whole = benching.measure(err, wanted, choices, Given())
    if args.docs is not None:
        rows, profiled = records.read(args.out / CSV), behind.kept(args.out / behind.CSV_OF_COUNTERS)
        args.docs.write_text(filled(args.docs.read_text(encoding="utf-8"), rows, profiled), encoding="utf-8")
    elif not args.bare:
        benching.report(out, err, args.out)
    if args.pictures is not None:
        for path in sorted(args.out.glob("*.svg")):
            args.pictures.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, args.pictures / path.name)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
