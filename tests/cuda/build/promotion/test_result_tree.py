"""The tree of a promotion: what stands in a block's sequence, for people to read."""

import pytest

import polyvolta as pv
from polyvolta.sched.tree import Filter
from tests.cuda.build.promotion.kernels import SMALL, K, L, M, N, build

A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L)), pv.tensor("Q", (L, N))
BIAS = pv.tensor("bias", (N,))

PRODUCT = """\
        FILTER: exchange_C[i, j]; sync_C[i, j]; gather_C[i, j]; write_C[i, j]; free_C[i, j]
          BAND: exchange_C[i, j] → [warpIdx_y, warpIdx_x];
                sync_C[i, j] → [warpIdx_y, warpIdx_x];
                gather_C[i, j] → [warpIdx_y, warpIdx_x];
                write_C[i, j] → [warpIdx_y, warpIdx_x];
                free_C[i, j] → [warpIdx_y, warpIdx_x]
            BAND: exchange_C[i, j] → [i - 16⌊i/16⌋, j - 16⌊j/16⌋];
                  sync_C[i, j] → [i - 16⌊i/16⌋, j - 16⌊j/16⌋];
                  gather_C[i, j] → [i - 16⌊i/16⌋, j - 16⌊j/16⌋];
                  write_C[i, j] → [i - 16⌊i/16⌋, j - 16⌊j/16⌋];
                  free_C[i, j] → [i - 16⌊i/16⌋, j - 16⌊j/16⌋]
              SEQUENCE
                FILTER: exchange_C[i, j]
                FILTER: sync_C[i, j]
                FILTER: gather_C[i, j]
                FILTER: write_C[i, j]
                FILTER: free_C[i, j]"""

SPLIT = """\
              SEQUENCE
                FILTER: read_bias[i, j]
                  BAND: read_bias[i, j] → [warpIdx_z]
                FILTER: exchange_C[i, j]
                FILTER: sync_C[i, j]
                FILTER: gather_C[i, j]; S2[i, j]; write_D[i, j]
                  BAND: gather_C[i, j] → [warpIdx_z];
                        S2[i, j] → [warpIdx_z];
                        write_D[i, j] → [warpIdx_z]
                    SEQUENCE
                      FILTER: gather_C[i, j]
                      FILTER: S2[i, j]
                      FILTER: write_D[i, j]
                FILTER: free_C[i, j]"""


def text(built) -> list[str]:
    return str(built.promotion.schedule).splitlines()


def test_the_epilogue_of_a_product():
    assert "\n".join(text(build(A @ B, **SMALL))).endswith(PRODUCT)


def test_the_epilogue_of_a_split_sum():
    assert "\n".join(text(build(pv.relu(A @ B + BIAS), **SMALL, split_k=2))).endswith(SPLIT)


def test_there_is_a_result_where_nothing_is_summed():
    """The domain has the statement that stores a plain product, whatever K is."""
    lines = text(build(A @ B, **SMALL))
    assert (
        lines[1].strip() == "write_C[i, j] : 32⌊i/32⌋ < M ∧ 32⌊j/32⌋ < N ∧ i ≥ 0 ∧ j ≥ 0 ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j"
    )
    assert not any("→ write_C[i, j] :" in line for line in lines)


def parts(built) -> list[str]:
    """The last statement of each child of the block's sequence."""
    sequence = built.promotion.schedule.node((0, 0, 0))
    assert all(isinstance(child, Filter) for child in sequence.children)
    return [child.statements[-1] for child in sequence.children]


def test_the_parts_of_a_block_in_order():
    assert parts(build(pv.relu(A @ B) + P @ Q, **SMALL)) == ["zero_C", "S1", "zero_D", "S2", "free_D"]
    assert parts(build(A @ B - P @ Q * 0.5, **SMALL)) == ["zero_C", "S1", "scale_C", "S2", "free_C"]
    assert parts(build(A @ B + P @ Q, **SMALL)) == ["zero_C", "S1", "S2", "free_C"]


@pytest.mark.parametrize("outputs", [A @ B, pv.relu(A @ B + BIAS), pv.relu(A @ B) + P @ Q], ids=str)
@pytest.mark.parametrize("options", [SMALL, {**SMALL, "split_k": 2, "buffers": 2}], ids=["plain", "split"])
def test_promoted_trees_are_schedules(outputs, options):
    built = build(outputs, **options)
    for tree in (built.promotion.schedule, built.tree):
        assert tree.check_structure() is tree


def test_operands_that_the_epilogue_reads_again_have_registers_for_both():
    left, right = pv.tensor("A", (M, M)), pv.tensor("B", (M, M))
    built = build(pv.relu(left @ right + right) * left, **SMALL)
    assert {"run_A", "run_B", "private_A", "private_B"} <= {x.name for x in built.ir.registers}


def test_registers_have_names_of_their_own():
    """A tensor that two operands read, beside one that is called like the second copy of it would be."""
    a, b, x, a_x = (pv.tensor(name, (M, M)) for name in ("A", "B", "X", "A_X"))
    built = build((a + x) @ x + a_x @ b, **SMALL)
    names = [r.name for r in built.ir.registers]
    assert len(names) == len(set(names))
    assert all(name.isidentifier() for name in names)
    assert "private_A_X_2" in names
