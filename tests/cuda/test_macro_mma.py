"""Ownership maps: against the PTX tables typed as bits, against the paper's figures, and as a working product."""

import numpy as np
import pytest

from polyvolta.cuda.macro_mma import m8n8k4, m16n16k8

LAYOUTS = [(a, b) for a in ("row", "col") for b in ("row", "col")]


def bit(x, k):
    return x >> k & 1


# Figure 1 (m8n8k4, quad-pair 0) and the left half of figure 2 (m16n16k8), rows typed from the paper, with the
# misprinted rows as errata.md corrects them. In figure 2 each cell is two columns wide.
FIGURE_1 = """
0 0 2 2 0 0 2 2
1 1 3 3 1 1 3 3
0 0 2 2 0 0 2 2
1 1 3 3 1 1 3 3
16 16 18 18 16 16 18 18
17 17 19 19 17 17 19 19
16 16 18 18 16 16 18 18
17 17 19 19 17 17 19 19
"""
FIGURE_2 = """
0 2 0 2 8 10 8 10
1 3 1 3 9 11 9 11
0 2 0 2 8 10 8 10
1 3 1 3 9 11 9 11
4 6 4 6 12 14 12 14
5 7 5 7 13 15 13 15
4 6 4 6 12 14 12 14
5 7 5 7 13 15 13 15
16 18 16 18 24 26 24 26
17 19 17 19 25 27 25 27
16 18 16 18 24 26 24 26
17 19 17 19 25 27 25 27
20 22 20 22 28 30 28 30
21 23 21 23 29 31 29 31
20 22 20 22 28 30 28 30
21 23 21 23 29 31 29 31
"""


def table(text):
    return [[int(x) for x in line.split()] for line in text.strip().splitlines()]


def owners(own, lanes):
    return {own.evaluate({"lane": lane, "i": i}): lane for lane in lanes for i in range(8)}


def test_the_instructions_accumulator_is_the_papers_first_figure():
    owner = owners(m8n8k4("row", "col").d, [0, 1, 2, 3, 16, 17, 18, 19])
    assert [[owner[r, c] for c in range(8)] for r in range(8)] == table(FIGURE_1)


def test_the_macro_mmas_accumulator_is_the_papers_second_figure():
    owner = owners(m16n16k8().d, range(32))
    expected = [[lane for lane in row for _ in range(2)] for row in table(FIGURE_2)]
    assert [[owner[r, c] for c in range(16)] for r in range(16)] == expected


@pytest.mark.parametrize(("a", "b"), LAYOUTS)
def test_the_instructions_maps_are_ptxs(a, b):
    ins = m8n8k4(a, b)
    for lane in range(32):
        high = bit(lane, 4)
        for i in range(4):
            at = {"lane": lane, "i": i}
            expected_a = (lane % 4 + 4 * high, i) if a == "row" else (i + 4 * high, lane % 4)
            expected_b = (lane % 4, i + 4 * high) if b == "row" else (i, lane % 4 + 4 * high)
            assert ins.a.evaluate(at) == expected_a
            assert ins.b.evaluate(at) == expected_b
        for i in range(8):
            row, col = (lane & 1) + (i & 2) + 4 * high, (i & 4) + (lane & 2) + (i & 1)
            assert ins.d.evaluate({"lane": lane, "i": i}) == (row, col)


def test_the_composed_maps_are_those_of_the_facts():
    macro = m16n16k8("row", "col")
    for lane in range(32):
        for i in range(8):
            at = {"lane": lane, "i": i}
            assert macro.a.evaluate(at) == ((lane & 3) + 4 * bit(lane, 2) + 8 * bit(lane, 4), i)
            assert macro.b.evaluate(at) == (i, (lane & 3) + 4 * bit(lane, 4) + 8 * bit(lane, 3))
            row = (lane & 1) + (i & 2) + 4 * bit(lane, 2) + 8 * bit(lane, 4)
            assert macro.d.evaluate(at) == (row, (i & 1) + (lane & 2) + (i & 4) + 8 * bit(lane, 3))


@pytest.mark.parametrize(("a", "b"), LAYOUTS)
def test_accumulators_are_owned_once_and_operands_covered(a, b):
    macro = m16n16k8(a, b)
    assert macro.d == m16n16k8().d  # "the distribution of the accumulator matrix remains the same"
    elements = lambda own: {own.evaluate({"lane": x, "i": i}) for x in range(32) for i in range(8)}  # noqa: E731
    assert elements(macro.d) == {(r, c) for r in range(16) for c in range(16)}
    assert elements(macro.a) == {(r, k) for r in range(16) for k in range(8)}
    assert elements(macro.b) == {(k, c) for k in range(8) for c in range(16)}


def test_the_accumulators_map_is_proved_bijective():
    assert m16n16k8().d.relation.is_bijective()


@pytest.mark.parametrize(("a", "b"), LAYOUTS)
def test_its_steps_multiply_matrices(a, b):
    """Every quad-pair multiplies what its lanes hold, by the instruction's maps; together that is A @ B."""
    macro, rng = m16n16k8(a, b), np.random.default_rng(0)
    left, right = rng.standard_normal((16, 8)), rng.standard_normal((8, 16))
    result = np.zeros((16, 16))
    ins = macro.instruction
    for step in macro.steps:
        for q in range(4):
            lanes = [4 * q + x for x in range(4)] + [16 + 4 * q + x for x in range(4)]
            x, y = np.full((8, 4), np.nan), np.full((4, 8), np.nan)
            for lane in lanes:
                for i, (va, vb) in enumerate(zip(step.a, step.b)):
                    x[ins.a.evaluate({"lane": lane, "i": i})] = left[macro.a.evaluate({"lane": lane, "i": va})]
                    y[ins.b.evaluate({"lane": lane, "i": i})] = right[macro.b.evaluate({"lane": lane, "i": vb})]
            z = x @ y
            for lane in lanes:
                for i, vd in enumerate(step.d):
                    result[macro.d.evaluate({"lane": lane, "i": vd})] += z[ins.d.evaluate({"lane": lane, "i": i})]
    np.testing.assert_allclose(result, left @ right, rtol=1e-12)
