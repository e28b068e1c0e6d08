"""What rows come to in tables, and which are the worst."""

import math
import re

from polyvolta.evaluation.benchmarks import BENCHMARKS, benchmark
from polyvolta.evaluation.report import page
from polyvolta.evaluation.tables import behind, gone_through, of_behind, of_choices, over_library, summary
from tests.evaluation.made import row, rows


def cells(table, start):
    """Of the lines that begin so."""
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in table.splitlines()]
    return [line for line in lines if line[0] == start]


def test_a_table_has_geomean_least_and_how_many_are_below_one():
    some = [row(K=64, chain_us=5.0), row(K=128, chain_us=20.0), row(K=192, chain_us=10.0, space_us=8.0, spaced=9)]
    mm, best = cells(over_library(some, "sm_90a"), "A @ B")
    assert mm[:3] == ["A @ B", "mm", "3"]
    assert mm[3] == "0.800 / 0.400 / 2"  # 0.4, 1.6, 0.8
    assert mm[4] == "1.000 / 0.500 / 1"
    assert mm[6:] == ["1.250 / 1.250 / 0 of 1", "2.00", "0.985 / 0.78 / 68, most 1.75"]
    assert best[1] == "cublasLt's best of 100"
    assert best[4] == "1.050 / 1.050 / 0"


def test_a_benchmark_without_a_best_has_one_line_and_another_target_none():
    some = [row(benchmark="relu_gemm", best="", best_us=math.nan)]
    assert len(cells(over_library(some, "sm_90a"), "relu(A) @ B")) == 1
    assert over_library(some, "sm_80").count("\n") == 1


def test_choices_are_compared_with_each_other():
    some = [row(K=64), row(K=128, default_us=10.1, space_us=9.9, spaced=9)]
    first, tuned, both = cells(of_choices(some, "sm_90a"), "A @ B")
    assert first[1:] == ["the model's first", "tuned", f"{math.sqrt(0.8 / 1.01):.3f}", "0.800", "1", "1", "2"]
    assert tuned[1:] == ["tuned", "best of the space", "0.990", "0.990", "1", "1", "1"]
    assert both[3:5] == ["0.980", "0.980"]


def test_the_worst_come_first_whoever_is_ahead():
    some = [row(K=64, chain_us=9.0, best_us=9.5), row(K=128, chain_us=9.6, best_us=8.5), row(K=192, best_us=math.nan)]
    found = behind(some, 2)
    assert [(r.K, side, round(value, 3)) for r, side, value in found] == [(128, "best", 0.85), (64, "chain", 0.9)]
    table = cells(of_behind(some, "sm_90a"), "A @ B")
    assert [line[1:4] for line in table[:2]] == [
        ["256 x 128 x 128", "cublasLt's best of 100, number 3", "0.850"],
        ["256 x 128 x 64", "mm", "0.900"],
    ]
    assert behind([row(chain_us=math.nan, best_us=math.nan)]) == []


def test_how_much_of_the_space_was_gone_through_is_said():
    some = [row(K=64, spaced=80), row(K=128, spaced=79), row(K=192), row(K=64, benchmark="add", spaced=80)]
    assert gone_through(some, "sm_90a") == "The space was gone through at 2 sizes, 79 to 80 tilings at each."
    assert "79 to 80" in page(some)
    assert gone_through(some, "sm_80") == gone_through([row()], "sm_90a") == ""


def test_nothing_comes_to_nothing():
    assert summary([]) is None
    assert summary([math.nan]) is None
    assert page([]) == "\n"


def test_a_page_has_all_benchmarks_of_all_targets_and_no_nan():
    text = page(rows(4) + rows(2, "sm_80", 2.0))
    assert "nan" not in text
    heads = re.findall("^# .*$", text, re.M)
    assert heads == ["# sm_90a on NVIDIA H200, torch 2", "# sm_80 on NVIDIA H200, torch 2"]
    assert all(b.title in text for b in BENCHMARKS)


def test_work_is_counted_by_hand():
    m, n, k = 256, 384, 512
    assert benchmark("add").operations((m, n, k)) == 4 * m * n * k
    assert benchmark("gemm_bias_relu").bytes((m, n, k)) == 2 * (m * k + k * n + 2 * m * n)
    assert benchmark("gemm_vector_relu").bytes((m, n, k)) == 2 * (m * k + k * n + n + m * n)
    assert benchmark("add").bytes((m, n, k)) == 2 * (2 * m * k + 2 * k * n + m * n)
