"""Statements whose ends no size orders: what their loops test, and that all run, by brute force."""

from itertools import product

import pytest

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.loops.weighing import cuts
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
    "three": ("A[i] : 0 <= i < n; B[i] : 0 <= i < m; C[i] : 0 <= 3i < m", 5, 45),
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


def test_many_statements_have_a_loop_of_the_first_one_and_of_what_is_left_of_each_other_one():
    """Cut at every end, each of five would stand in up to five loops."""
    domain = "; ".join(f"{s}[i] : 0 <= i < {k + 2}n + {k}m" for k, s in enumerate("ABCDE"))
    found = scan(tree(domain))
    assert str(found).count("for (") == 5
    assert counted(found.body, {"n": 40, "m": 40}) <= 750


APART = {  # ranges that end at sizes that nothing orders; the most tests at some of them
    "in a row": (
        "[R, s, e] -> { S[i] : s <= i < e; T[i] : e <= i < R; U[i] : 0 <= i < s }",
        {(1000, 10, 20): 1010, (5, 1000, 3): 1010, (40, 40, 40): 50},
    ),
    "in a circle": (
        "[n, m, p] -> { S[i] : n <= i < m; T[i] : m <= i < p; U[i] : p <= i < n }",
        {(5, 17, 40): 45, (17, 40, 5): 45, (40, 5, 17): 45, (40, 17, 5): 60},
    ),
    "in a circle, of steps": (
        "[n, m, p] -> { S[i] : n <= i < m; T[i] : m <= i < p; U[i] : p <= i < n and i mod 3 = 0 }",
        {(5, 17, 40): 45, (17, 40, 5): 45, (40, 5, 17): 45},
    ),
    "a gap between two": (
        "[A, B, D, E, F] -> { S[i] : A <= i < B; T[i] : D <= i < E; U[i] : F <= i < A }",
        {(10003, -4, 6, 7, 9998): 24, (0, 10, 100000, 100010, -10): 90},
    ),
    "every second one behind the others": (
        "[N, M, K] -> { S[i] : 0 <= i < K; T[i] : -N <= i < N - 1 and i mod 2 = 0; U[i] : 0 <= i < M }",
        {(400, 2, 1): 420, (2, 40, 1): 110, (40, 40, 40): 110},
    ),
    "from zero": (
        "[N, M, K] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < M; U[i] : 0 <= i < K }",
        {(400, 2, 1): 810, (1, 400, 2): 810, (40, 40, 40): 85},
    ),
}


@pytest.mark.parametrize("name", APART)
def test_loops_do_not_run_over_what_lies_between_ends_that_no_size_orders(name):
    domain, most = APART[name]
    member = "; ".join(f"{s}[i] -> [(i)]" for s in "STU")
    one = Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "[{{ {member} }}]" }} }}')
    found = scan(one)
    for values in product((-2, 1, 5), repeat=len(found.params)):
        assert deviation(one, found, dict(zip(found.params, values, strict=True))) is None
    names = domain[1 : domain.index("]")].split(", ")
    for values, limit in most.items():
        assert counted(found.body, dict(zip(names, values, strict=True))) <= limit


def test_loops_are_weighed_at_sizes_that_a_context_lets_be_large_alone():
    one = Schedule.parse("""{ domain: "[N, M] -> { S[i] : 0 <= i < N; T[i] : M <= i < 2M }", child: {
        schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }]" } }""")
    found = scan(one, context="[N, M] -> { : N >= 100 and M >= 100 }")
    for (n, m), limit in {(100, 3000): 3200, (3000, 100): 3200, (100, 100): 300}.items():
        assert deviation(one, found, {"N": n, "M": m}) is None
        assert counted(found.body, {"N": n, "M": m}) <= limit


def test_loops_are_not_cut_where_that_tests_more_at_sizes_that_are_alike():
    domain = "A[i] : 2i >= n and 3i <= m; B[i] : n <= 5i and 5i <= 2m; C[i] : 7i >= n and 7i <= 3m"
    assert counted(scan(tree(domain)).body, {"n": 100, "m": 100}) <= 40


ROWS = """{ domain: "[N, M, K] -> { S[j, i] : 0 <= j < 4 and 0 <= i < N; T[j, i] : 0 <= j < 4 and 0 <= i < M;
    U[j, i] : 0 <= j < 4 and M <= i < K }", child: { schedule: "[{ S[j, i] -> [(j)]; T[j, i] -> [(j)];
    U[j, i] -> [(j)] }, { S[j, i] -> [(i)]; T[j, i] -> [(i)]; U[j, i] -> [(i)] }]" } }"""
STENCIL = """{ domain: "[N, T] -> { S[t, i] : 0 <= t < T and 1 <= i < N - 1; R[t, i] : 0 <= t < T and 1 <= i < N - 1 }",
    child: { schedule: "[{ S[t, i] -> [(t)]; R[t, i] -> [(t)] }, { S[t, i] -> [(2t + i)]; R[t, i] -> [(2t + i + 1)] }]"
    } }"""


def test_innermost_loops_are_cut_as_outermost_ones_are():
    found = scan(Schedule.parse(ROWS))
    for values in product((-2, 0, 1, 5), repeat=3):
        assert deviation(Schedule.parse(ROWS), found, dict(zip("NMK", values, strict=True))) is None
    for n, m, k in ((200, 2, 1), (2, 200, 1), (2, 1, 200)):
        assert counted(found.body, {"N": n, "M": m, "K": k}) <= 4 * (2 * 200 + 10) + 5


def test_what_a_loop_asks_of_sizes_at_each_iteration_is_asked_before_it():
    found = scan(Schedule.parse(STENCIL))
    for n, steps in product((0, 2, 3, 6), (0, 1, 4)):
        assert deviation(Schedule.parse(STENCIL), found, {"N": n, "T": steps}) is None
    assert counted(found.body, {"N": 2, "T": 90}) == 1


ONE = {  # trees whose loops end at one size, and numbers; the most tests at sizes N and M
    "numbers at all sizes beside a range at some": (
        """{ domain: "[N, M] -> { S[]; T[]; U[i, j] : -2 <= i < M and N - 1 <= j <= 1 }", child: { schedule:
              "[{ S[] -> [(1)]; T[] -> [(-1)]; U[i, j] -> [(i)] }]" } }""",
        {(2, 40): 137, (0, 40): 221, (3, 40): 1},
    ),
    "a number at sizes of which the range says nothing": (
        """{ domain: "[N, M] -> { S[] : M <= 11; T[i] : N - 1 <= i <= 4 }", child: { schedule: "[{ S[] -> [(0)];
              T[i] -> [(floor((2 - 2*i)/3) - 1)] }, { S[] -> [(0)]; T[i] -> [(-2*i - 3*floor((2 - 2*i)/3))] }]" } }""",
        {(20, 3): 3, (77, 10): 3, (1, 1): 17},
    ),
}


@pytest.mark.parametrize("name", ONE)
def test_loops_that_end_at_one_size_are_cut_where_that_tests_more_nowhere(name):
    text, most = ONE[name]
    found = scan(Schedule.parse(text))
    for n, m in product((-2, 0, 1, 2, 5, 7), (-3, 0, 1, 2, 12)):
        assert deviation(Schedule.parse(text), found, {"N": n, "M": m}) is None
    for (n, m), limit in most.items():
        assert counted(found.body, {"N": n, "M": m}) <= limit


def test_a_weighing_that_takes_too_many_steps_leaves_loops_as_they_were_found(monkeypatch):
    """Three by the rules, five by weighing, and not the one that they were before."""
    monkeypatch.setattr(cuts, "STEPS", 0)
    one = tree(TREES["three"][0])
    found = scan(one)
    assert str(found).count("for (") == 3
    for n, m in product(SIZES, SIZES):
        assert deviation(one, found, {"n": n, "m": m}) is None


SIX = """{ domain: "[N, P, Q] -> { S[i, j] : 0 <= i, j < N and (i + j) mod 3 = 1; A[i] : 0 <= i < N; B[i] : 0 <= i < N;
    C[i] : 0 <= i < N; D[i] : 0 <= i < N; E[i] : 0 <= i < N; F[i] : 0 <= i < N }", child: { schedule: "[N, P, Q] -> [
    { S[i, j] -> [(i)]; A[i] -> [(i)]; B[i] -> [(i)]; C[i] -> [(i)]; D[i] -> [(i)]; E[i] -> [(i)]; F[i] -> [(i)] },
    { S[i, j] -> [(j)]; A[i] -> [(i)]; B[i] -> [(N - 1 - i)]; C[i] -> [(P)]; D[i] -> [(Q + 3i)]; E[i] -> [(2i)];
      F[i] -> [(i + 5)] }]" } }"""


def test_places_in_too_many_orders_leave_other_rules_their_steps():
    """Six places beside a stride are no loops each, and there is none to P, or to Q + 3i, that finds little."""
    one = Schedule.parse(SIX)
    found = scan(one)
    for n, p, q in ((7, 3, -4), (5, -3, 12), (6, 12, 1), (1, 0, 0), (-3, 5, 1)):
        assert deviation(one, found, {"N": n, "P": p, "Q": q}) is None
    far = [counted(found.body, {"N": 9, "P": p, "Q": q}) for p, q in ((4, 1), (10_000, 1), (4, 10_000), (-10_000, 1))]
    assert max(far) <= 2 * min(far)


PROMISED = {  # domains and contexts that order their sizes as they are named; the most tests at some of them
    "a refined patch": (
        "[s, e, N] -> { S[i] : 0 <= i < N; T[i] : 2s <= i < 2e }",
        "[s, e, N] -> { : 0 <= s <= e <= N }",
        "[{ S[i] -> [(2i)]; T[i] -> [(i)] }]",
        {(0, 2, 1000): 1010, (990, 1000, 1000): 1060, (40, 40, 40): 45},
    ),
    "three from zero": (
        "[A, B, C] -> { S[i] : 0 <= i < A; T[i] : 0 <= i < B; U[i] : 0 <= i < C }",
        "[A, B, C] -> { : 0 <= A <= B <= C }",
        "[{ S[i] -> [(i)]; T[i] -> [(i)]; U[i] -> [(i)] }]",
        {(0, 2, 1000): 1010, (990, 1000, 1000): 2010, (40, 40, 40): 125},
    ),
}


@pytest.mark.parametrize("name", PROMISED)
def test_loops_are_weighed_at_small_and_large_sizes_where_these_are_promised_an_order(name):
    domain, context, members, most = PROMISED[name]
    one = Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "{members}" }} }}')
    found = scan(one, context=context)
    names = domain[1 : domain.index("]")].split(", ")
    for values in product((0, 1, 3, 6), repeat=3):
        if list(values) == sorted(values):
            assert deviation(one, found, dict(zip(names, values, strict=True))) is None
    for values, limit in most.items():
        assert counted(found.body, dict(zip(names, values, strict=True))) <= limit


REMAINDERS = {  # what B has beyond A in the rows that are multiples of 4
    "in an order": "[N, M] -> { : 1 <= M <= N }",
    "a multiple": "[N, M] -> { : N = 4M and M >= 1 }",  # so that the last such row is N - 4
}


@pytest.mark.parametrize("name", REMAINDERS)
def test_a_statement_at_some_remainders_of_rows_has_a_loop_of_what_it_has_beyond_the_others(name):
    one = Schedule.parse("""{ domain: "[N, M] -> { A[i, j] : 0 <= i < N and 0 <= j < M; B[i, j] : 0 <= 4i < N and
        0 <= j < N }", child: { schedule: "[{ A[i, j] -> [(i)]; B[i, j] -> [(4i)] }, { A[i, j] -> [(j)];
        B[i, j] -> [(j)] }]" } }""")
    found = scan(one, context=REMAINDERS[name])
    for n, m in ((1, 1), (5, 3), (8, 2), (12, 3), (4, 1)):
        if name == "in an order" or n == 4 * m:
            assert deviation(one, found, {"N": n, "M": m}) is None
    assert "?" not in str(found).split("\n\n")[-1]
    assert counted(found.body, {"N": 80, "M": 20}) <= 81 + 80 * (21 + 20 + 1) + 20 * 61
