"""Decisions: the list against brute force, and that its boxes share out all sizes."""

from functools import cache
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.compiled import MissingSize
from polyvolta.compiler.variants.chosen import decide
from polyvolta.compiler.variants.decisions import Decisions, Rule, Slowdown
from polyvolta.compiler.variants.ranges import Ranges
from polyvolta.compiler.variants.reports import proved
from polyvolta.sets import Set

OPTIONS = [pv.Options(block_tile=(m, n, 32)) for m, n in ((32, 32), (64, 64), (128, 64), (128, 128), (256, 128))]
NAMES = ("rows", "cols", "depth")
AXES = *((name,) for name in NAMES), ("cols", "rows")
RANGES = Ranges(NAMES, ((16, 8192), (16, 8192), (64, 4096)))


def seconds(tiling, sizes):
    """An artificial cost: waves of 80 blocks, each as long as its tile is large, and longer where that is small."""
    (m, n, _), (rows, cols, depth) = tiling.block_tile, (sizes[name] for name in NAMES)
    waves = -(-rows // m) * -(-cols // n) / 80
    return max(1.0, waves) * (m * n + 20 * (m + n)) * (depth + 300)


def table(tilings, points):
    return np.array([[seconds(tiling, sizes) for tiling in tilings] for sizes in points])


@cache
def made(few, ranges=RANGES, axes=AXES):
    return decide(ranges, OPTIONS, table, few, axes)


@pytest.mark.parametrize("few", [1, 2, 3, 5])
def test_the_list_is_as_good_as_it_says_and_near_what_is_best_at_each_size(few):
    decisions, points = made(few), RANGES.sample()
    times = table(OPTIONS, points)
    taken = np.array([seconds(decisions.options[decisions.choose(**sizes)], sizes) for sizes in points])
    slower = taken / times.min(axis=1)
    assert decisions.slowdown.mean == pytest.approx(np.exp(np.log(slower).mean()))
    assert decisions.slowdown.worst == pytest.approx(slower.max()) and decisions.sampled == len(points)
    alone = times / times.min(axis=1, keepdims=True)
    assert decisions.of_one.mean == pytest.approx(np.exp(np.log(alone).mean(axis=0)).min())
    assert len(decisions.options) == len(set(decisions.options)) <= few
    assert {rule.variant for rule in decisions.rules} == set(range(len(decisions.options)))
    if few == 1:
        assert decisions.slowdown == decisions.of_one and len(decisions.rules) == 1
    else:
        assert decisions.slowdown.mean < 1 + 0.5 * (decisions.of_one.mean - 1)
        assert decisions.slowdown.mean <= made(few, axes=AXES[:3]).slowdown.mean


def test_where_one_size_alone_decides_the_choice_is_the_best_at_every_size_of_the_sample():
    """And between its points at all others but those that a cut might have gone through as well."""
    ranges = Ranges(NAMES, ((16, 8192), (512, 512), (1024, 1024)))

    def costs(tilings, points):
        return np.array([[1 + abs(np.log(100 * t.block_tile[0] / s["rows"])) for t in tilings] for s in points])

    decisions, points = decide(ranges, OPTIONS[:4:2], costs, 3), ranges.sample()
    best = costs(OPTIONS[:4:2], points).argmin(axis=1)
    assert [OPTIONS[:4:2][n] for n in best] == [decisions.options[decisions.choose(**sizes)] for sizes in points]
    assert len(decisions.rules) == 2 and decisions.slowdown == Slowdown(1.0, 1.0)


@pytest.mark.parametrize("few", [1, 3, 5])
def test_boxes_share_out_all_sizes(few):
    decisions = made(few)
    assert all(lemma.holds for lemma in decisions.proof()) and proved(decisions).proved
    union = decisions.rules[0].condition
    for rule in decisions.rules[1:]:
        union = union | rule.condition
    assert union.is_equal(Set("{ [rows, cols, depth, p] : rows >= 0 and cols >= 0 and depth >= 0 and p >= 0 }"))


def test_the_choice_is_that_of_the_sets():
    """At some of the corners of boxes, and beside them."""
    decisions = made(5)
    ends = [{end for rule in decisions.rules for end in rule.bounds[axis] if end is not None} for axis in range(4)]
    sides = {round(area**0.5) + d for area in ends[3] for d in (0, 1)}
    along = (ends[0] | sides, ends[1] | sides, ends[2])
    corners = list(product(*(sorted({0, 10**9} | numbers) for numbers in along)))
    for rows, cols, depth in corners[:: max(1, len(corners) // 50)]:
        point = Set(f"{{ [{rows}, {cols}, {depth}, {rows * cols}] }}")
        chosen = decisions.choose(rows=rows, cols=cols, depth=depth)
        assert [r.variant for r in decisions.rules if point.is_subset(r.condition)] == [chosen]
    assert len({decisions.choose(**dict(zip(NAMES, corner))) for corner in corners}) == len(decisions.options)


@pytest.mark.parametrize(
    "bounds, failing",
    [(((None, 511), (None, None), (None, None)), 0), (((None, 513), (None, None), (None, None)), 1)],
)
def test_gaps_and_overlaps_are_refuted(bounds, failing):
    rest = (513, None), (None, None), (None, None)
    rules = Rule(AXES[:3], bounds, 0), Rule(AXES[:3], rest, 1)
    decisions = Decisions(AXES[:3], rules, tuple(OPTIONS[:2]), RANGES, 1, Slowdown(1, 1), Slowdown(1, 1))
    lemmas = decisions.proof()
    assert [lemma.holds for lemma in lemmas] == [n != failing for n in range(2)]
    assert "51" in lemmas[failing].relation
    proof = proved(decisions)
    assert not proof.proved and lemmas[failing].relation in str(proof)


def test_sizes_are_checked():
    decisions = made(3)
    for sizes, words in (
        ({"rows": 1, "cols": 1}, "depth is missing"),
        ({"rows": 1, "cols": 1, "dept": 1}, "did you mean 'depth'"),
        ({"rows": -1, "cols": 1, "depth": 1}, "at least 0"),
        ({"rows": 1.5, "cols": 1, "depth": 1}, "at least 0"),
    ):
        with pytest.raises(MissingSize, match=words):
            decisions.choose(**sizes)
    assert decisions.choose(rows=np.int64(0), cols=0, depth=0) == decisions.choose(rows=1, cols=1, depth=1)


def test_it_reads_as_a_list():
    decisions = made(2, Ranges(NAMES, ((16, 8192), (4096, 4096), (64, 4096))), AXES[:3])
    lines = str(decisions).splitlines()
    assert lines[0] == "2 variants for 16 <= rows <= 8192, cols = 4096, 64 <= depth <= 4096"
    assert len(lines) == len(decisions.rules) + 8 and "with one for all" in lines[-1]
    for line, rule in zip(lines[2:], decisions.rules):
        assert line.split("  ")[1] == rule.words and line.endswith(f" {rule.variant}") and "cols" not in rule.words
    for n, (line, options) in enumerate(zip(lines[-4:-2], decisions.options)):
        assert line.split()[:2] == [str(n), "x".join(map(str, options.block_tile)) + ","]
    html = decisions._repr_html_()
    assert html.count("<tr>") == len(decisions.rules) + 4 and "&lt;=" in html
