"""Ownership maps: against the PTX tables typed as bits, against the paper's figures, and as a working product."""

import numpy as np
import pytest

from polyvolta.cuda.errors import UnknownTarget
from polyvolta.cuda.target.macro_mma import Interleave
from polyvolta.cuda.target.registry import targets
from polyvolta.cuda.target.volta import m8n8k4
from polyvolta.sets import UnknownName, var
from tests.cuda.macros import COMPOSITIONS, MACRO_MMAS, interleaved, m16n16k8, macro_mma

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


def facts_m16n16k8(a, b, lane, i):
    """The elements of A, B and D that value i of a lane is, as the tables of the facts say."""
    l2, l3, l4 = bit(lane, 2), bit(lane, 3), bit(lane, 4)
    k_of_column = (lane & 3) + 4 * (i >> 2)  # "l & 3, and that plus 4"
    at_a = ((lane & 3) + 4 * l2 + 8 * l4, i) if a == "row" else (4 * l2 + 8 * l4 + i % 4, k_of_column)
    at_b = (i, (lane & 3) + 4 * l4 + 8 * l3) if b == "col" else (k_of_column, 4 * l4 + 8 * l3 + i % 4)
    at_d = ((lane & 1) + (i & 2) + 4 * l2 + 8 * l4, (i & 1) + (lane & 2) + (i & 4) + 8 * l3)
    return at_a, at_b, at_d


def facts_m32n32k8(a, b, lane, i):
    """Likewise; operands have 16 values in groups of eight that lie side by side, D 32: i + 8 (mn + 2 mm)."""
    l2, l3, l4 = bit(lane, 2), bit(lane, 3), bit(lane, 4)
    half, j = divmod(i % 16, 8)
    row, col, k = 16 * l4 + 8 * l2, 16 * l4 + 8 * l3, 4 * half + (lane & 3)
    at_a = (row + 4 * half + (lane & 3), j) if a == "row" else (row + j, k)
    at_b = (j, col + 4 * half + (lane & 3)) if b == "col" else (k, col + j)
    mm, mn = bit(i, 4), bit(i, 3)
    at_d = (
        16 * l4 + 8 * l2 + 4 * mm + (i & 2) + (lane & 1),
        8 * l3 + 4 * mn + (lane & 2) + 16 * (i >> 2 & 1) + (i & 1),
    )
    return at_a, at_b, at_d


FACTS = {"m16n16k8": facts_m16n16k8, "m32n32k8": facts_m32n32k8}
ALL = [(name, a, b) for name in MACRO_MMAS for a, b in LAYOUTS]


@pytest.mark.parametrize(("name", "a", "b"), ALL)
def test_the_composed_maps_are_those_of_the_facts(name, a, b):
    macro = MACRO_MMAS[name](a, b)
    for lane in range(32):
        for i in range(macro.values[2]):
            at = {"lane": lane, "i": i}
            at_a, at_b, at_d = FACTS[name](a, b, lane, i)
            assert macro.d.evaluate(at) == at_d
            if i < macro.values[0]:
                assert macro.a.evaluate(at) == at_a
                assert macro.b.evaluate(at) == at_b


@pytest.mark.parametrize(("name", "a", "b"), ALL)
def test_accumulators_are_owned_once_and_operands_covered(name, a, b):
    macro = MACRO_MMAS[name](a, b)
    m, n, k = macro.shape
    assert macro.d == MACRO_MMAS[name]().d  # "the distribution of the accumulator matrix remains the same"
    owned = lambda own, count: [own.evaluate({"lane": x, "i": i}) for x in range(32) for i in range(count)]  # noqa: E731
    of_a, of_b, of_d = (owned(own, count) for own, count in zip((macro.a, macro.b, macro.d), macro.values))
    assert sorted(of_d) == [(r, c) for r in range(m) for c in range(n)]
    assert set(of_a) == {(r, x) for r in range(m) for x in range(k)}
    assert set(of_b) == {(x, c) for x in range(k) for c in range(n)}


@pytest.mark.parametrize("name", MACRO_MMAS)
def test_the_accumulators_map_is_proved_bijective(name):
    assert MACRO_MMAS[name]().d.relation.is_bijective()


def product(macro, left, right):
    """Every quad-pair multiplies what its lanes hold, by the instruction's maps."""
    result = np.zeros(macro.shape[:2])
    ins = macro.instruction
    for step in macro.steps:
        for q in range(4):
            lanes = [4 * q + x for x in range(4)] + [16 + 4 * q + x for x in range(4)]
            x, y = np.full((8, 4), np.nan), np.full((4, 8), np.nan)
            for lane in lanes:
                for i, (va, vb) in enumerate(zip(step.a, step.b, strict=True)):
                    x[ins.a.evaluate({"lane": lane, "i": i})] = left[macro.a.evaluate({"lane": lane, "i": va})]
                    y[ins.b.evaluate({"lane": lane, "i": i})] = right[macro.b.evaluate({"lane": lane, "i": vb})]
            z = x @ y
            for lane in lanes:
                for i, vd in enumerate(step.d):
                    result[macro.d.evaluate({"lane": lane, "i": vd})] += z[ins.d.evaluate({"lane": lane, "i": i})]
    return result


@pytest.mark.parametrize(("name", "a", "b"), ALL)
def test_its_steps_multiply_matrices(name, a, b):
    macro, rng = MACRO_MMAS[name](a, b), np.random.default_rng(0)
    m, n, k = macro.shape
    left, right = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    np.testing.assert_allclose(product(macro, left, right), left @ right, rtol=1e-12)


OTHERS = [
    (name, rows, cols)
    for name, made in COMPOSITIONS.items()
    for rows in made.orders(0)[::2]
    for cols in made.orders(1)[::3]
]


@pytest.mark.parametrize(("name", "rows", "cols"), OTHERS)
def test_any_interleave_multiplies_matrices(name, rows, cols):
    macro, rng = macro_mma(name, "col", "col", interleaved(name, rows, cols)), np.random.default_rng(1)
    m, n, k = macro.shape
    left, right = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    np.testing.assert_allclose(product(macro, left, right), left @ right, rtol=1e-12)


@pytest.mark.parametrize("name", MACRO_MMAS)
def test_the_preferred_interleave_is_the_first_candidate(name):
    made = COMPOSITIONS[name]
    for side in (0, 1):
        assert made.orders(side)[0] == made.interleave.sides[side]
        assert len(set(made.orders(side))) == len(made.orders(side)) == {4: 2, 5: 6}[len(made.orders(side)[0])]


@pytest.mark.parametrize(("name", "a", "b"), ALL)
def test_accumulators_of_a_step_are_neighbours(name, a, b):
    """The instruction's eight accumulators are one slice of the fragment, as its text takes them."""
    for step in MACRO_MMAS[name](a, b).steps:
        assert step.d == tuple(range(step.d[0], step.d[0] + 8))
        assert step.d[0] % 8 == 0
        for operand in (step.a, step.b):  # four values are two registers
            assert operand == tuple(range(operand[0], operand[0] + 4))


def test_an_interleave_reads_in_bits():
    paper = Interleave(("r0", "r1", "q0", "r2"), ("r0", "r1", "r2", "q1"), ("r0", "r1", "s0"))
    assert paper.shape == (16, 16, 8)
    assert paper.subtiles == (1, 1, 2)
    r, q, s = 0b110, 0b10, 0
    values = {"r": r, "q": q, "s": s}
    assert paper.row(var("r"), var("q"), var("s")).evaluate(values) == 0b1010  # r2 q0 r1 r0
    assert paper.col(var("r"), var("q"), var("s")).evaluate(values) == 0b1110  # q1 r2 r1 r0


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownTarget, match="m32n32k16") as error:
        targets["sm_70"].macro_mma("m32n32k16")
    assert "m32n32k8" in error.value.hint
    with pytest.raises(UnknownName, match="'column'"):
        macro_mma("m16n16k8", "column")
