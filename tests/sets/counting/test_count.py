"""Counting and listing."""

import tracemalloc
from itertools import islice, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyvolta.sets import BudgetExceeded, Map, Set, SpaceMismatch, Unbounded, UnknownName, budget
from polyvolta.sets.counting.polygon import polygon


def test_counts_in_closed_form():
    assert Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < 10^0 }".replace("10^0", "1000000")).count(N=10**9) == 10**15
    assert Set("{ [i, j] : 0 <= i < 1000000 and j mod 4 = 1 and 0 <= j < 1000000 }").count() == 10**6 * 250_000
    assert Set("{ [i] : 0 <= i < 1000000 and i mod 64 >= 48 }").count() == 15625 * 16


@pytest.mark.parametrize("n", range(5))
def test_simplices(n):
    assert Set("[N] -> { [i, j, k] : 0 <= i <= j <= k < N }").count(N=n) == n * (n + 1) * (n + 2) // 6


def test_overlaps_count_once():
    s = Set("{ [i] : 0 <= i < 10; [i] : 5 <= i < 15; [i] : i mod 2 = 0 and 0 <= i < 20 }")
    assert s.count() == len(list(s.points())) == 15 + 2


def test_bank_conflicts():
    banks = Map("{ T[t] -> [floor(t/4), 8*(t mod 4)] : 0 <= t < 32 }").apply_range(
        Map("{ [r, c] -> [(36r + c) mod 32] }")
    )
    expected = {((36 * (t // 4) + 8 * (t % 4)) % 32,) for t in range(32)}
    assert set(banks.range().points()) == expected and banks.range().count() == len(expected) == 8


def test_points_come_in_order():
    assert list(Set("{ [i, j] : 0 <= i < 3 and i <= j < 3 }").points()) == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (2, 2),
    ]
    assert list(Map("[N] -> { [i] -> [2i] : 0 <= i < N }").points(N=3)) == [(0, 0), (1, 2), (2, 4)]
    assert list(Set("{ [] }").points()) == [()] and Set("{ : }").count() == 1


def test_nothing_bounded_nothing_counted():
    with pytest.raises(Unbounded, match="the dimension j is unbounded\n  \\[i, j\\]"):
        Set("{ [i, j] : 0 <= i < 4 and j >= 0 }").count()
    with pytest.raises(Unbounded, match="the dimension i is unbounded"):
        list(Set("{ [i] : i mod 2 = 0 }").points())
    with pytest.raises(Unbounded, match="the parameter N has no value"):
        Set("[N] -> { [i] : 0 <= i < N }").count()
    with pytest.raises(UnknownName, match="no parameter is called 'M'"):
        Set("[N] -> { [i] : 0 <= i < N }").count(M=3)
    assert Set("[N] -> { [i] : 0 <= i < 4 }").count() == 4
    with pytest.raises(Unbounded, match="the dimension i is unbounded"):
        Set("{ [i] : exists a, b : i = 3a + 5b and a >= 0 and b >= 0 }").count()


# ---- closed forms: nothing is enumerated

HUGE = 10**9
CLOSED = {
    "[N] -> { [i, j] : 0 <= j <= i < N }": HUGE * (HUGE + 1) // 2,
    "[N] -> { [i, j, k] : 0 <= i <= j <= k < N }": HUGE * (HUGE + 1) * (HUGE + 2) // 6,
    "[N] -> { [i, j] : 0 <= j <= i < N and i mod 3 = 1 }": 3 * (333333332 * 333333333 // 2) + 2 * 333333333,
    "[N] -> { [i, j] : 0 <= i < N and i <= j < 2N - i }": HUGE * (HUGE + 1),
    "[N] -> { [t, u, i, j] : t = floor(i/32) and u = floor(j/32) and 0 <= j <= i < N }": HUGE * (HUGE + 1) // 2,
    "[N] -> { [t, i] : 0 <= i < 32 and 0 <= 32t + i < N }": HUGE,
    "[N] -> { [t, u] : exists i, j : 0 <= j <= i < N and t = floor(i/32) and u = floor(j/32) }": (
        HUGE // 32 * (HUGE // 32 + 1) // 2
    ),
}


@pytest.mark.parametrize("text", CLOSED)
def test_a_thousand_million(text):
    with budget(3000):
        assert Set(text).count(N=HUGE) == CLOSED[text]


def test_large_coefficients():
    big = 10**100
    s = Set(f"[N] -> {{ [x, y] : 0 <= {big + 7}*x <= {2 * big + 3}*y + N and 0 <= y < N }}")
    assert s.count(N=10) == sum((10 + (2 * big + 3) * y) // (big + 7) + 1 for y in range(10))
    assert abs(s.count(N=big) - big**2) < 10 * big  # twice as high as wide
    with pytest.raises(BudgetExceeded):
        Set(
            f"{{ [x, y, z] : 0 <= {big + 7}*x <= {2 * big + 3}*y + 7z and 0 <= y <= {big} and 0 <= z <= {big}*y }}"
        ).count()
    knot = f"0 <= a <= {big} and 0 <= b <= {big} and i = 2a + 3b"
    assert Set(f"{{ [i] : exists a, b : {knot} }}").count() == 5 * big + 1 - 2


def test_unions_of_many_pieces():
    grid = Set("{ " + "; ".join(f"[{7 * i % 800}, {i}]" for i in range(800)) + " }")
    with budget(20_000):
        assert grid.count() == 800
    nested = Set("{ " + "; ".join(f"[i] : {k} <= i <= {2 * k}" for k in range(40)) + " }")
    assert nested.count() == 79
    covered = Set("{ " + "; ".join(f"[i, j] : {k} <= i < {k + 12} and 0 <= j <= i" for k in range(20)) + " }")
    assert covered.count() == sum(i + 1 for i in range(31))


def test_the_budget_ends_an_enumeration():
    needles = (
        "0 <= 10007a <= 20011b + 30013c + 40009d and 0 <= b <= N and 0 <= 50021c <= 60013b + 70001d and 0 <= d <= N"
    )
    with pytest.raises(BudgetExceeded, match="count"), budget(2000):
        Set(f"[N] -> {{ [a, b, c, d] : {needles} }}").count(N=10**6)


# ---- listing


def test_points_are_lazy_but_errors_are_not():
    s = Set("[N] -> { [i, j, k] : 0 <= i < N and 0 <= j <= i and i <= k <= i + j }")
    assert list(islice(s.points(N=10**9), 4)) == [(0, 0, 0), (1, 0, 1), (1, 1, 1), (1, 1, 2)]
    with pytest.raises(Unbounded):
        s.points()
    with pytest.raises(UnknownName):
        s.points(M=3)


def test_points_of_a_huge_box_are_not_stored():
    box = Set("{ [i, j] : 0 <= i, j < 100000000 }")
    tracemalloc.start()
    assert list(islice(box.points(), 2)) == [(0, 0), (0, 1)]
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
    with pytest.raises(BudgetExceeded, match="points"), budget(10):
        list(box.points())


def test_points_belong_to_one_tuple():
    union = Set("{ A[i] : 0 <= i < 2; B[i] : 0 <= i < 2 }")
    with pytest.raises(SpaceMismatch, match=r"only\(name\)"):
        union.points()
    assert list(union.only("A").points()) == [(0,), (1,)]
    assert list(Set("{ A[i] : 0 <= i < 2; B[i] : exists e : i = 2e and 1 <= i <= 1 }").points()) == [(0,), (1,)]


def test_points_of_overlaps_and_existentials():
    s = Set("{ [i] : 0 <= i < 5; [i] : exists a, b : i = 3a + 5b and 0 <= a <= 2 and 0 <= b <= 1 }")
    expected = sorted({*range(5), *(3 * a + 5 * b for a in range(3) for b in range(2))})
    assert [i for (i,) in s.points()] == expected and s.count() == len(expected)


# ---- laws


def law(n):
    return settings(
        max_examples=n, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )


@law(150)
@given(
    st.lists(
        st.tuples(st.integers(-9, 9), st.integers(-7, 7), st.integers(-7, 7)).filter(lambda r: any(r[1:])), max_size=4
    )
)
def test_polygons(rows):
    box = [(5, 1, 0), (5, -1, 0), (4, 0, 1), (6, 0, -1)]
    expected = sum(all(c + a * z + b * y >= 0 for c, a, b in rows) for z, y in product(range(-5, 6), range(-4, 7)))
    assert polygon((*box, *rows)) == expected


@law(50)
@given(st.lists(st.integers(-4, 4), min_size=6, max_size=6), st.sampled_from((2, 3, 5, 7)), st.integers(0, 6))
def test_images_are_counted_once(c, m, r):
    """The outputs of a map, existentials and all."""
    x, y = f"{c[0]}*i + {c[1]}*j", f"({c[2]}*i + {c[3]}*j + {c[4]}) mod {m}"
    triangle = f"0 <= i < 6 and 0 <= j <= i and x = {x} and y = {y} and x <= {r}"
    image = Set(f"{{ [x, y] : exists i, j : {triangle} }}")
    expected = {
        (c[0] * i + c[1] * j, (c[2] * i + c[3] * j + c[4]) % m)
        for i in range(6)
        for j in range(i + 1)
        if c[0] * i + c[1] * j <= r
    }
    assert image.count() == len(expected)
    assert list(image.points()) == sorted(expected)


def test_bounds_of_one_variable_that_contradict_one_another_leave_nothing():
    """l is 4*floor(l/3) - 4, so at most 8 and at least 12; it was taken to have -1 values at each of the others."""
    text = """[N] -> { A[i, k, l] : -3 <= i, k <= 4 and 0 <= l <= 4 and l = 4*floor(l/3) - 4 and
              k + l + floor((N + i + (i mod 2))/2) <= 3 }"""
    s = Set(text)
    box = [*product(range(-3, 5), range(-3, 5), range(5))]
    for n in (-3, 0, 4):
        wanted = [l for i, k, l in box if l == 4 * (l // 3) - 4 and k + l + (n + i + i % 2) // 2 <= 3]  # noqa: E741
        assert s.count(N=n) == s.cardinality()(N=n) == len(wanted) == 0
