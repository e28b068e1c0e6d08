"""Strides of unions beside islpy: none that only points of two pieces have together, and each holds at all points."""

import random

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

UNIONS = ["{ [i, j] : i = 2j and 0 <= j < 5; [3, 7] }", "{ [0, 0]; [3, 5]; [7, 1] }", "{ [4]; [12]; [0] }",
          "{ [i] : i = 4 or i mod 4 = 0 }", "{ [i] : i mod 4 = 1; [i] : i mod 8 = 1 }", "{ [i] : i = 6; [i] : i = 9 }",
          "{ [i] : i mod 4 = 1; [i] : i mod 4 = 3 }", "{ [i, j] : (i + j) mod 4 = 0; [i, j] : i mod 2 = j mod 2 = 0 }",
          "{ [i, j] : i mod 2 = 0 and (i + j) mod 6 = 0 }", "{ [i, j] : (i - 7j) mod 32 = 0; [i, j] : i = 7j }",
          "{ [i, j] : exists e : i = 4e and 0 <= e < 5; [3, j] : j mod 2 = 0 }"]  # fmt: skip


@pytest.mark.parametrize("text", UNIONS)
def test_strides_of_unions_are_isls(text):
    s, t = ours.Set(text), isl.Set(text)
    for k in range(t.dim(isl.dim_type.set)):
        assert s.get_stride(k) == t.get_stride(k).to_python()


@pytest.mark.parametrize("text", ["{ A[j] -> [i] : i = 3j; A[j] -> [i] : i = 3j + 6 }", "{ A[j] -> [4]; A[j] -> [8] }",
                                  "{ A[j] -> [i] : (i - 5j) mod 9 = 2; A[j] -> [5j + 2] }"])  # fmt: skip
def test_strides_of_outputs_are_isls(text):
    found, wanted = (library.Map(text).get_range_stride_info(0) for library in (ours, isl))
    assert found.get_stride() == wanted.get_stride().to_python()
    assert str(found.get_offset()).replace("*", "") == str(wanted.get_offset())


def piece(draw):
    """A point, a line, or points on a grid, some of them near each other."""
    a, b, c, m = (draw.randrange(-3, 4), draw.randrange(-3, 4), draw.randrange(6), draw.choice([2, 3, 4, 6]))
    return draw.choice([f"i = {c} and j = {a}", f"i = {a}j + {c}", f"({a}i + {b}j) mod {m} = {c % m}",
                        f"i mod {m} = 0 and ({a}i + {b}j) mod {m} = 0",
                        f"i mod {m} = 1 and 0 <= j <= i < 9"])  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_a_stride_holds_at_all_points_and_is_isls_or_more(seed):
    draw = random.Random(seed)
    text = f"{{ {'; '.join(f'[i, j] : {piece(draw)}' for _ in range(draw.randrange(1, 4)))} }}"
    s, t = ours.Set(text), isl.Set(text)
    for k in range(2):
        info = s.get_stride_info(k)
        stride, wanted = info.get_stride(), t.get_stride(k).to_python()
        offset = isl.PwAff(str(info.get_offset()))
        at = isl.PwAff.var_on_domain(isl.LocalSpace.from_space(t.get_space()), isl.dim_type.set, k).sub(offset)
        assert t.is_subset(at.mod_val(isl.Val(int(stride))).zero_set()), text
        dt, hull = isl.dim_type, isl.Map.from_range(isl.Set(str(s.affine_hull())))
        determined = hull.move_dims(dt.in_, 0, dt.out, 1 - k, 1).is_single_valued()
        assert determined or stride % wanted == 0, (text, k)
