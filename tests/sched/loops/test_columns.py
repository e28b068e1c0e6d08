"""Expressions with their floors upright: the same values, one spelling."""

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
