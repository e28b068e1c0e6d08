"""Sets and relations as matrices of their constraints, and matrices, beside islpy and its constraints."""

import random
from itertools import permutations, product

import numpy as np
import pytest

from polyvolta import isl

SETS = ["{ [i] : i > 3 }", "[n] -> { [i, j] : i = 2j + n and 0 <= i <= 3n }", "{ [i, j] }", "[n] -> { : n > 3 }",
        "[n] -> { A[i, j] : i = 2j + n and 0 <= i <= 3n and j mod 3 = 0 }", "{ [i] : 3 <= i mod 7 <= 4 and i < 50 }",
        "{ [i] : exists a, b : i = 4a + 6b and 0 <= a <= 5 and b >= a }", "{ [i] : 1 = 0 }",
        "{ [i] : exists a, b : 3a + 5b <= i <= 3a + 6b and 0 <= a <= 3b and 2b <= 7a }"]  # fmt: skip
MAPS = ["{ A[i] -> [j, k] : j = 2i + 1 and k > i }", "[n] -> { [i] -> [floor(i/3) + n] : i < n }"]


def kinds(lib, is_map):
    dim = lib.dim_type
    return [dim.cst, dim.param, *([dim.in_, dim.out] if is_map else [dim.set]), dim.div]


def numbers(m):
    return [[m.get_element_val(r, c).to_python() for c in range(m.cols())] for r in range(m.rows())]


@pytest.mark.parametrize("text", [*SETS, *MAPS])
def test_matrices_say_what_the_set_is(text):
    name = "BasicMap" if "] -> [" in text.partition("{")[2] else "BasicSet"
    value = getattr(isl, name)(text)
    for order in list(permutations(kinds(isl, name == "BasicMap")))[::7]:
        eqs, ineqs = value.equalities_matrix(*order), value.inequalities_matrix(*order)
        again = getattr(isl, name).from_constraint_matrices(value.get_space(), eqs, ineqs, *order)
        assert again.is_equal(value) and again.get_space() == value.get_space()


@pytest.mark.parametrize("text", [*SETS, *MAPS])
def test_matrices_beside_islpy(text):
    """Each library reads the rows of the other."""
    theirs = pytest.importorskip("islpy")
    name = "BasicMap" if "] -> [" in text.partition("{")[2] else "BasicSet"
    ours, isls = getattr(isl, name)(text), getattr(theirs, name)(text)
    for source, target, lib, like in ((ours, isls, isl, theirs), (isls, ours, theirs, isl)):
        found = []
        for method in ("equalities_matrix", "inequalities_matrix"):
            m = getattr(source, method)(*kinds(lib, name == "BasicMap"))
            copied = like.Mat.alloc(like.DEFAULT_CONTEXT, m.rows(), m.cols())
            for r, row in enumerate(numbers(m)):
                for c, x in enumerate(row):
                    copied = copied.set_element_val(r, c, like.Val(x))
            found.append(copied)
        again = getattr(like, name).from_constraint_matrices(
            target.get_space(), *found, *kinds(like, name == "BasicMap")
        )
        assert again.is_equal(target)


def test_matrices_compute_as_isls():
    theirs, found = pytest.importorskip("islpy"), []
    for lib in (isl, theirs):
        m = lib.Mat.alloc(lib.DEFAULT_CONTEXT, 2, 3)
        for k in range(6):
            m = m.set_element_val(k // 3, k % 3, lib.Val(k * k - 4))
        square = m.product(m.transpose())
        ones = lib.Mat.identity(lib.DEFAULT_CONTEXT, 2)
        below = square.copy().concat(ones)
        found.append([numbers(square), numbers(ones), numbers(below), below.rank(), square.rank(), m.cols(), m.rows(),
                      square.is_equal(square.copy()), ones.is_equal(square)])  # fmt: skip
    assert found[0] == found[1]


def test_the_rank_is_numpys():
    rng = random.Random(1)
    for rows, cols in product(range(5), repeat=2):
        for _ in range(6):
            m = [[rng.choice([0, 0, 1, -2, 3]) for _ in range(cols)] for _ in range(rows)]
            wanted = np.linalg.matrix_rank(np.array(m)) if rows and cols else 0
            assert isl.Mat(m, cols).rank() == wanted, m


def test_matrices_without_rows():
    zeros = isl.Mat.alloc(isl.DEFAULT_CONTEXT, 0, 3)
    assert numbers(zeros) == [] and zeros.cols() == 3 and isl.Mat([]).cols() == 0
    assert zeros.is_equal(isl.Mat([], 3)) and not zeros.is_equal(isl.Mat([], 2))
    assert numbers(isl.Mat.alloc(isl.DEFAULT_CONTEXT, 1, 2)) == [[0, 0]]


@pytest.mark.parametrize("call", [
    lambda: isl.Set("{ [i] }").equalities_matrix(*kinds(isl, False), 3),
    lambda: isl.Set("{ [i] : i < 3 or i > 5 }").equalities_matrix(*kinds(isl, False)),
    lambda: isl.Set("{ [i] }").equalities_matrix(isl.dim_type.cst, isl.dim_type.set, isl.dim_type.set),
    lambda: isl.Mat([(1, 2), (3,)]),
    lambda: isl.Mat([(1, 2)]).get_element_val(1, 0),
    lambda: isl.Mat([(1, 2)]).product(isl.Mat([(1, 2)])),
    lambda: isl.Mat([(1, 2)]).concat(isl.Mat([(1, 2, 3)])),
    lambda: isl.BasicSet.from_constraint_matrices(isl.Set("{ [i, j] }").space, isl.Mat([(1, 2)]), isl.Mat([], 2),
                                                  *kinds(isl, False)),
])  # fmt: skip
def test_what_fits_no_matrix_is_refused(call):
    with pytest.raises(isl.Error):
        call()
