"""Expressions with their floors upright: the same values, one spelling."""

from itertools import product

from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sets import aff, var

N = var("N")


def test_upright_floors_have_the_same_values():
    columns = Columns(["N", "M"])
    for e in ((31 - N) // 32, (5 - 2 * N + var("M")) // 3, ((1 - N) // 2 + N) // 4, (-N) % 7 + 2 * ((-N) // 7)):
        assert all(columns.upright(e).evaluate({"N": n, "M": 4}) == e.evaluate({"N": n, "M": 4}) for n in range(-9, 40))


def test_floors_that_cancel_once_they_are_upright_leave_a_number():
    """floor(N/2) + floor((1 - N)/2) is 0 for every N, which only the upright form shows."""
    e = (N // 2 + (1 - N) // 2 + 3) // 4
    assert all(e.evaluate({"N": n}) == 0 for n in range(-5, 6))
    assert Columns(["N"]).upright(e) == aff(0)


def test_floors_that_are_a_row_apart_share_a_column_and_have_their_values():
    """floor((N + 4*M)/3) is floor((N + M)/3) + M, and floor((N + f + 3)/4) is f + M for f = floor((N - 4*M + 2)/3)."""
    columns = Columns(["N", "M"])
    f = (N - 4 * var("M") + 2) // 3
    terms = ((N + 4 * var("M")) // 3, (N + var("M")) // 3, (-N - var("M") + 2) // 3, f, (N + f + 3) // 4)
    for e in terms:
        found = columns.aff(*columns.row(e))
        for n, m in product(range(-9, 13), range(-5, 6)):
            assert found.evaluate({"N": n, "M": m}) == e.evaluate({"N": n, "M": m})
    assert len(columns.floors) == 2


def test_a_row_of_one_column_and_a_floor_of_it_bounds_the_column_where_it_rises_or_falls():
    columns = Columns(["N"])
    n, bounds = columns.name("N"), 0
    of = (2, 3, 4), (1, -1, 2, 3), (0, 1, 3), (-3, -1, 1, 2), (-2, -1, 1, 2), (-9, 0, 7)
    for d, a, c, v, w, const in product(*of):
        row = columns.floor(d, ((n, a),), c)
        key, rest = columns.of_one(((n, v), (row, w)), const)
        holds = [v * x + w * ((a * x + c) // d) + const >= 0 for x in range(-60, 61)]
        if len(key) == 1:
            ((col, sign),), bounds = key, bounds + 1
            assert col == n and holds == [sign * x + rest >= 0 for x in range(-60, 61)]
        else:  # it neither rises nor falls at each step, or says the same at all
            assert (key, rest) == (((n, v), (row, w)), const)
            gaps = {v + w * (((a * (x + 1) + c) // d) - (a * x + c) // d) for x in range(12)}
            assert min(gaps) < 0 < max(gaps) or gaps == {0}
    assert bounds > 500


def test_a_bound_by_a_floor_of_a_large_divisor_is_found_in_few_steps():
    columns = Columns(["N"])
    n, d = columns.name("N"), 2**40
    row = columns.floor(d, ((n, 1),), 0)
    assert columns.of_one(((n, 1), (row, d)), -d - 5) == (((n, 1),), -d)  # N + d*floor(N/d) >= d + 5
    assert columns.of_one(((n, -1), (row, -d)), d + 5) == (((n, -1),), d - 1)
