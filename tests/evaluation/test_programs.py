"""The programs over the evaluation: a page of the docs made from rows, choices without a model, and counters."""

import re
from pathlib import Path

import behind
import evaluation
import pytest

import polyvolta as pv
from polyvolta.evaluation import records
from polyvolta.evaluation.benchmarks import BENCHMARKS, draw
from polyvolta.evaluation.spelling import read_options, spelled
from polyvolta.evaluation.tables import behind as worst
from polyvolta.evaluation.tables import of_choices, over_library
from tests.evaluation.made import row, rows

ROOT = Path(__file__).resolve().parents[2]


def test_the_docs_have_the_tables_of_the_measured_rows():
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    results = ROOT / "benchmarks" / "results"
    rows, profiled = records.read(results / "evaluation.csv"), behind.kept(results / "behind.csv")
    assert evaluation.filled(page, rows, profiled) == page


def test_a_page_is_filled_between_its_marks_and_nowhere_else():
    page = "a\n<!-- over_library sm_80 -->\nold\n<!-- end -->\nb\n<!-- of_choices sm_90a -->\n<!-- end -->\n"
    some = rows(2) + rows(2, "sm_80")
    made = evaluation.filled(page, some)
    assert made == (
        f"a\n<!-- over_library sm_80 -->\n{over_library(some, 'sm_80')}\n<!-- end -->\nb\n"
        f"<!-- of_choices sm_90a -->\n{of_choices(some, 'sm_90a')}\n<!-- end -->\n"
    )
    assert evaluation.filled(made, some) == made


@pytest.mark.parametrize("which", ["first guess", "last guess", "first choice"])
@pytest.mark.parametrize("b", BENCHMARKS, ids=lambda b: b.name)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_listed_choices_are_complete_and_legal(target, b, which):
    listed, known = evaluation.Listed(), pv.targets[target]
    guesses = listed.guesses(b, known, (512, 512, 512))
    assert len(guesses) > 8
    assert set(guesses) <= set(listed.space(b, known, (512, 512, 512)))
    options = listed.first(b, known, draw(1)[0]) if which == "first choice" else guesses[-(which == "last guess")]
    assert read_options(spelled(options)) == options
    assert pv.compile(b.expression, known, options).options == options


def counted(name: str, us: float) -> dict[str, str]:
    """What ncu says of a kernel, some of it."""
    return {"Kernel Name": name, "gpu__time_duration.sum": f"{1000 * us:,.2f}", "launch__grid_size": "132"}


def test_links_lead_to_the_figures_that_are_drawn():
    linked = set(re.findall(r"\(pictures/evaluation/(.*?)\)", evaluation.figures(rows(1), "sm_90a")))
    assert linked == {f"{name}-sm_90a.svg" for name in ("speedup", "beside-best", "roofline")}
    assert evaluation.figures([], "sm_90a") == ""


def test_counters_stand_beside_those_of_the_librarys_kernels():
    some = worst([row(K=64, chain_us=9.0, best_us=20.0), row(K=128, best_us=9.5)], 2)
    profiled = [counted(n, us) for n, us in (("kern0", 10), ("nvjet", 9), ("kern0", 11.5), ("splitk", 5), ("add", 4))]
    lines = [line.split(" | ") for line in behind.table(some, profiled).splitlines()[2:]]
    assert [(line[0], line[1], line[3], line[4]) for line in lines] == [
        ("| A @ B, 256 x 128 x 64", "0.900", "10.0", "132"), ("| ", "", "9.0", "132"),
        ("| A @ B, 256 x 128 x 128", "0.950", "11.5", "132"), ("| ", "", "5.0", "132"), ("| ", "", "4.0", "132"),
    ]  # fmt: skip
    assert lines[1][2] == "mm: nvjet"
    assert lines[3][2] == "cublasLt's best of 100, number 3: splitk"
    assert lines[0][5] == "?"


def test_counters_that_were_kept_make_the_same_table(tmp_path):
    some = [row(K=64, chain_us=9.0, best_us=20.0), row(K=128, best_us=9.5), row(K=192)]
    profiled = [counted(n, us) for n, us in (("kern0", 10), ("nvjet", 9), ("kern0", 11.5), ("splitk", 5))]
    page = "<!-- counters sm_90a -->\n<!-- end -->\n"
    cases = worst(some, 2)
    labelled = [behind.named(cases[n // 2]) | kernel for n, kernel in enumerate(profiled)]
    made = evaluation.filled(page, some, labelled)
    assert made.splitlines()[1:-1] == behind.table(cases, profiled).splitlines()
    fewer = evaluation.filled(page, some[1:], labelled)  # counters of a row that isn't there are nobody's
    assert fewer.splitlines()[1:-1] == behind.table(cases[1:], profiled[2:]).splitlines()
    assert len(evaluation.filled(page, some, profiled).splitlines()) == 4  # nor are those that don't say whose
    assert behind.kept(tmp_path / "none.csv") == []
    path = tmp_path / "behind.csv"
    path.write_text("Kernel Name,gpu__time_duration.sum\nkern0,\"10,000.00\"\n")
    assert behind.kept(path) == [{"Kernel Name": "kern0", "gpu__time_duration.sum": "10,000.00"}]


def test_cases_and_profiles_that_dont_fit_each_other_are_no_table():
    with pytest.raises(ValueError):
        behind.table(worst([row()]), [])
