"""Statements whose ends no size orders: what their loops test, and that all run, by brute force."""

from itertools import product

import pytest

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Set
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

SIZES = -3, 1, 7
TREES = {  # and how many loops there are, and the most tests at n = 2, m = 40
    "ends of both": ("A[i] : n <= i <= 2m; B[i] : 2n <= i <= m", 3, 156),
    "quotients": ("A[i] : 2i >= n and 3i <= m; B[i] : n <= 5i and 5i <= 2m", 3, 45),
    "starts alone": ("A[i] : n <= i <= 49; B[i] : m <= i <= 49", 2, 98),
    "ends alone": ("A[i] : 0 <= 2i <= n; B[i] : 0 <= 3i <= m", 2, 30),
    "three": ("A[i] : 0 <= i < n; B[i] : 0 <= i < m; C[i] : 0 <= 3i < m", 3, 47),
}


def tree(domain: str) -> Schedule:
    names = [part.strip()[0] for part in domain.split(";")]
    member = "; ".join(f"{s}[i] -> [(i)]" for s in names)
    return Schedule.parse(f'{{ domain: "[n, m] -> {{ {domain} }}", child: {{ schedule: "[{{ {member} }}]" }} }}')


@pytest.mark.parametrize("name", TREES)
def test_statements_have_a_loop_of_one_and_what_is_left_of_the_others(name):
    domain, loops, most = TREES[name]
    found = scan(tree(domain))
    for n, m in product(SIZES, SIZES):
        assert deviation(tree(domain), found, {"n": n, "m": m}) is None
    assert str(found).count("for (") == loops
    assert "?" not in str(found).split("\n\n")[-1]
    assert counted(found.body, {"n": 2, "m": 40}) <= most


def test_what_a_context_orders_has_no_loop_of_its_own():
    found = scan(tree(TREES["ends of both"][0]), context=Set("[n, m] -> { : n >= 0 }"))
    assert str(found).count("for (") == 1


def test_many_statements_share_a_loop():
    """Of five, each would stand in up to five loops."""
    domain = "; ".join(f"{s}[i] : 0 <= i < {k + 2}n + {k}m" for k, s in enumerate("ABCDE"))
    assert str(scan(tree(domain))).count("for (") == 1
