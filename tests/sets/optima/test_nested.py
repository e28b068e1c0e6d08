"""Optima of sets with several remainders that depend on one another: exact, in few steps and few pieces."""

from itertools import product

import pytest

from polyvolta.sets import Map, OutsideDomain, PwAff, Set, budget

BOX = "-3 <= i <= 4 and -3 <= j <= 4"
ALONG = "-3 <= i <= 4 and N <= j <= N + 7"
NESTED = [  # the window, the formula, and what it says
    (BOX, "(not ((-N + j + 2) mod 6 = 1) or not ((j + 2*floor((5N + i + 2((-3N + j - 4) mod 3))/6) + 2) mod 6 = 1))",
     lambda i, j, N, M: (j + 2 - N) % 6 != 1 or (j + 2 * ((5 * N + i + 2 * ((j - 4 - 3 * N) % 3)) // 6) + 2) % 6 != 1),
    (BOX, "(N + 2i + 3((2j - N) mod 4)) mod 6 = 2",
     lambda i, j, N, M: (N + 2 * i + 3 * ((2 * j - N) % 4)) % 6 == 2),
    (BOX, "(5i + 3floor((j + 2N + 1)/4)) mod 6 <= 1 and (j - 2((N + i) mod 3)) mod 4 = 3",
     lambda i, j, N, M: (5 * i + 3 * ((j + 2 * N + 1) // 4)) % 6 <= 1 and (j - 2 * ((N + i) % 3)) % 4 == 3),
    (ALONG, "((3i + j + 3 + 2((2i + 5j - 5) mod 2)) mod 6 = 2 or 3j + i - 5 <= 7)",
     lambda i, j, N, M: (3 * i + j + 3 + 2 * ((2 * i + 5 * j - 5) % 2)) % 6 == 2 or 3 * j + i - 5 <= 7),
    (ALONG, "((i + 1 - ((-2i - 4 + 2floor((-j + i - 5)/3)) mod 6)) mod 4 != 2 or "
            "(-2i - j - 3 + 2((-2j + 4 + ((-2j + i) mod 6)) mod 3)) mod 4 = 0)",
     lambda i, j, N, M: (i + 1 - ((2 * ((i - j - 5) // 3) - 2 * i - 4) % 6)) % 4 != 2
     or (-2 * i - j - 3 + 2 * ((-2 * j + 4 + (-2 * j + i) % 6) % 3)) % 4 == 0),
    (ALONG, "(-3j + i + 2 + 3floor((N + 3i - 1 + 3((2j + 5i + 1) mod 2))/2)) mod 4 = 1 and "
            "(3N + 2j + 5 - floor((-3i + 2N + 1)/6)) mod 3 = 1",
     lambda i, j, N, M: (i + 2 - 3 * j + 3 * ((N + 3 * i - 1 + 3 * ((2 * j + 5 * i + 1) % 2)) // 2)) % 4 == 1
     and (3 * N + 2 * j + 5 - (2 * N - 3 * i + 1) // 6) % 3 == 1),
    ("0 <= i < 12 and i <= j < N", "((5j + N + 1 + floor((2N + 3 + 3((2i + 5j + 5) mod 6))/6)) mod 6 = 4 or "
     "(-3j - 1 - ((-3N + j + 2 + ((3j + N + 3) mod 4)) mod 6)) mod 3 = 2)",
     lambda i, j, N, M: (5 * j + N + 1 + (2 * N + 3 + 3 * ((2 * i + 5 * j + 5) % 6)) // 6) % 6 == 4
     or (-3 * j - 1 - ((j + 2 - 3 * N + (3 * j + N + 3) % 4) % 6)) % 3 == 2),
    ("0 <= i < N and -3 <= j <= 4", "(3M - 2 + 3floor((-2j + N + 3)/6)) mod 4 <= 0 and "
     "2M - 3j + 3 - floor((-3M + 2N - 3 + ((M - j + 2) mod 2))/4) > 5j + 3",
     lambda i, j, N, M: (3 * M - 2 + 3 * ((N + 3 - 2 * j) // 6)) % 4 <= 0
     and 2 * M - 3 * j + 3 - (2 * N - 3 * M - 3 + (M - j + 2) % 2) // 4 > 5 * j + 3),
    ("0 <= i < 12 and i <= j < N", "((3j + 5M - 3 + 3floor((2N - 2 + 3((2M - 3i - 5) mod 6))/6)) mod 2 = 1 or "
     "(2j - 2 + ((-2M + j - 3) mod 2)) mod 3 = 1)",
     lambda i, j, N, M: (3 * j + 5 * M - 3 + 3 * ((2 * N - 2 + 3 * ((2 * M - 3 * i - 5) % 6)) // 6)) % 2 == 1
     or (2 * j - 2 + (j - 3 - 2 * M) % 2) % 3 == 1),
]  # fmt: skip


def text(window, formula):
    return f"[{'N, M' if 'M' in formula else 'N'}] -> {{ [i, j] : {window} and {formula} }}"


def members(window, holds, n, m):
    """The points of a window where the formula holds."""
    if window == BOX:
        points = product(range(-3, 5), repeat=2)
    elif window == ALONG:
        points = product(range(-3, 5), range(n, n + 8))
    elif "j < N" in window:
        points = ((i, j) for i in range(12) for j in range(i, n))
    else:
        points = product(range(n), range(-3, 5))
    return [(i, j) for i, j in points if holds(i, j, n, m)]


def parameters(formula):
    if "M" in formula:
        return [(n, m) for n in (-1, 0, 1, 2, 5, 7, 12, 13, 19) for m in (-7, -2, -1, 0, 1, 3, 4, 8)]
    return [(n, 0) for n in range(-7, 38)]


@pytest.mark.parametrize(("window", "formula", "holds"), NESTED)
@pytest.mark.parametrize("pick", [min, max])
def test_lexicographic(window, formula, holds, pick):
    with budget(60_000):
        whole = Set(text(window, formula))
        found = whole.lexmin() if pick is min else whole.lexmax()
    for n, m in parameters(formula):
        values = {"N": n, "M": m} if "M" in formula else {"N": n}
        points = members(window, holds, n, m)
        assert set(found.points(**values)) == ({pick(points)} if points else set()), (n, m)


@pytest.mark.parametrize(("window", "formula", "holds"), NESTED)
@pytest.mark.parametrize("pick", [min, max])
def test_least_and_greatest_value(window, formula, holds, pick):
    with budget(150_000):
        whole = Set(text(window, formula))
        found = whole.min("i - 2j") if pick is min else whole.max("i - 2j")
    assert isinstance(found, PwAff)
    for n, m in parameters(formula)[::3]:
        values = {"N": n, "M": m} if "M" in formula else {"N": n}
        points = members(window, holds, n, m)
        try:
            have = found.eval((), **values)
        except OutsideDomain:
            have = None
        assert have == (pick(i - 2 * j for i, j in points) if points else None), (n, m)


def test_what_is_the_same_for_all_parameters_is_one_piece():
    window, formula, _ = NESTED[0]
    assert str(Set(text(window, formula)).lexmax()) == "[N] -> { [4, 4] }"


def test_a_union_of_one_parameter_is_told_by_few_floors():
    window, formula, _ = NESTED[3]
    assert len(Set(text(window, formula)).lexmin().pieces) == 2


def test_an_input_counts_as_a_parameter():
    m = Map("{ [x] -> [i, j] : -3 <= i, j <= 4 and (x + 2i + 3((2j - x) mod 4)) mod 6 = 2 }")
    with budget(20_000):
        first, last = m.lexmin(), m.lexmax()
    for x in range(-13, 30):
        images = [p for p in product(range(-3, 5), repeat=2) if (x + 2 * p[0] + 3 * ((2 * p[1] - x) % 4)) % 6 == 2]
        assert [p for p in images if first.contains((x, *p))] == images[:1], x
        assert [p for p in images if last.contains((x, *p))] == images[-1:], x
