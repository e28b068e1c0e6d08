"""Members that are digits, of a parameter or of an iterator: no loop where two inequalities leave one value."""

from itertools import permutations

import pytest

from polyvolta.sched import Schedule, scan
from polyvolta.sched.loops.ast import Call, For, If, within
from tests.sched.loops.oracle import assert_scans


def tree(domain, rows):
    """A tree of one band over one statement."""
    name = domain[domain.index("S[") : domain.index("]", domain.index("S[")) + 1]
    params = domain[: domain.index("{")]
    band = ", ".join(f"{{ {name} -> [({row})] }}" for row in rows)
    return Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "{params}[{band}]" }} }}')


def nodes(body):
    for node in body:
        yield node
        yield from nodes(within(node))


SECONDS = "[s] -> { S[h, t, m] : s = 30h + 6t + m and 0 <= h <= 3 and 0 <= t <= 4 and 0 <= m <= 5 }"
PENCE = "[s] -> { S[h, t, m] : s = 6h + 2t + m + 1 and 0 <= h <= 3 and 0 <= t <= 2 and 0 <= m <= 1 }"
GAPS = "[s] -> { S[h, t, m] : s = 30h + 7t + 2m and 0 <= h <= 3 and 0 <= t <= 3 and 0 <= m <= 2 }"


@pytest.mark.parametrize("order", list(permutations("htm")), ids="".join)
@pytest.mark.parametrize("domain", [SECONDS, PENCE], ids=["30, 6, 1", "6, 2, 1"])
def test_digits_of_a_parameter_are_its_quotients_and_remainders(domain, order):
    found = tree(domain, order)
    made = list(nodes(scan(found).body))
    assert sum(isinstance(node, Call) for node in made) == 1
    assert not any(isinstance(node, For) for node in made)
    assert_scans(found, [{"s": s} for s in range(-3, 125)])


@pytest.mark.parametrize("order", list(permutations("htm")), ids="".join)
def test_digits_that_leave_numbers_out(order):
    """t is what is left of 30 divided by 7, but not of all numbers: m must be even, and 2 at most."""
    assert_scans(tree(GAPS, order), [{"s": s} for s in range(-3, 125)])


def test_the_quotient_beyond_a_remainder_is_a_number_where_there_is_one():
    found = tree("[N] -> { S[i, j] : 0 <= i <= 1 and i < N and 0 <= j < N }", ["floor((i mod 4)/3)", "i mod 4", "j"])
    assert not any(isinstance(node, If) for node in nodes(scan(found).body))
    assert "%" not in str(scan(found))
    assert_scans(found, [{"N": n} for n in range(-1, 4)])


def test_a_quotient_of_two_values_stays_a_loop():
    found = tree("[N] -> { S[i] : 3 <= i <= 4 and i < N }", ["i mod 4"])
    assert_scans(found, [{"N": n} for n in range(7)])


def test_outermost_loops_of_a_fixed_number_of_iterations_are_tested_before():
    found = tree("[N] -> { S[i, j] : 0 <= i <= 7 and 0 <= j <= i and j <= 3 - N }", ["i mod 4", "j"])
    (test,) = scan(found).body
    assert isinstance(test, If)
    assert "if (N <= 3)" in str(scan(found)).splitlines()
    assert_scans(found, [{"N": n} for n in range(-5, 6)])


def test_a_loop_that_ends_with_a_parameter_is_not():
    """Its own test says that there is nothing, once."""
    found = tree("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }", ["i", "j"])
    (loop,) = scan(found).body
    assert isinstance(loop, For)
