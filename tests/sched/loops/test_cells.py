"""All shared loops are cut where that tests much less: rules that cut them one by one have not found what does."""

from itertools import product

import pytest

from polyvolta.sched.loops import scan as scanning
from polyvolta.sched.loops.ast import length
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.loops.weighing.cells import longest
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

CUT = {  # (tree, tests at values of N as loops are, and as they would be if shared)
    "two values that one has alone before others, for whose numbers a loop inside runs at small sizes, too": (
        """{ domain: "[N] -> { A[k] : 1 <= k < N; C[k] : 1 <= k < N; F[k] : 1 <= k < N; D[k, i] : 0 <= i < k < N }",
             child: { schedule: "[{ A[k] -> [(k)]; C[k] -> [(k)]; F[k] -> [(k)]; D[k, i] -> [(k - 2)] },
               { A[k] -> [(k)]; C[k] -> [(2)]; F[k] -> [(5)]; D[k, i] -> [(3)] },
               { A[k] -> [(1)]; C[k] -> [(0)]; F[k] -> [(2)]; D[k, i] -> [(i)] }]" } }""",
        {2: 11, 4: 34, 9: 108, 40: 1100},
        {2: 2, 4: 152, 9: 329, 40: 1941},
    ),
    "values of a member inside of an atomic one, each of which asks who is there": (
        """{ domain: "[N] -> { S[i] : 0 <= i <= 3; T[i] : 0 <= i <= N; T[i] : N - 1 <= i <= 3 }", child: { schedule:
             "[N] -> [{ S[i] -> [(floor((N + 2*floor(i/2))/4))]; T[i] -> [(floor((N + 3*i + 1)/4))] },
               { S[i] -> [(floor((i + 1)/2) - 1)]; T[i] -> [(0)] }]", options: "{ atomic[0] }", child: { schedule:
             "[N] -> [{ S[i] -> [(N + 2*floor(i/2))]; T[i] -> [(N + 3*i + 1)] }, { S[i] -> [(2*i - 1)];
               T[i] -> [(0)] }]", options: "{ atomic[0] }", child: { set: [ { filter: "{ S[i] }" },
             { filter: "[N] -> { T[i] : N = 2 }" }, { filter: "[N] -> { T[i] : N <= 1; T[i] : N >= 3 }" } ] } } } }""",
        {1: 42, 3: 59, 9: 82, 40: 289},
        {1: 155, 3: 175, 9: 318, 40: 1113},
    ),
}

APART = {  # (tree, tests at values of N and M as loops are, and as they would be if shared)
    "a statement that is in a part of the loop outside alone, for which every iteration inside asks": (
        """{ domain: "[N, M] -> { B[i, j] : 0 <= i < M and 0 <= j < M and j mod 2 = 0;
             A[i, j] : 1 <= i < N and 0 <= j < N and 6*floor(j/6) + 2 <= j <= 6*floor(j/6) + 3 }", child: { schedule:
             "[N, M] -> [{ A[i, j] -> [(i + N)]; B[i, j] -> [(i)] },
               { A[i, j] -> [(2j + 2N)]; B[i, j] -> [(4*floor(j/2) + 1)] }]" } }""",
        {(9, 9): 238, (40, 1): 4066, (1, 24): 342, (2, 40): 886},
        {(9, 9): 235, (40, 1): 4063, (1, 24): 2377, (2, 40): 6583},
    ),
    "the same beside one more, where as many tests are left at the opposite sizes": (
        """{ domain: "[N, M] -> { C[i] : 0 <= i < N; B[i, j] : j mod 2 = 0 and 0 <= i < M and 0 <= j < M;
             A[i, j] : 1 <= i < N and 2 <= j mod 6 <= 3 and 0 <= j < N }", child: { schedule:
             "[N, M] -> [{ C[i] -> [(i)]; B[i, j] -> [(i)]; A[i, j] -> [(N + i)] },
               { C[i] -> [(2*N)]; B[i, j] -> [(4*floor(j/2) + 1)]; A[i, j] -> [(2*N + 2*j)] }]" } }""",
        {(9, 9): 247, (40, 1): 4106, (1, 24): 345, (2, 40): 890},
        {(9, 9): 245, (40, 1): 4104, (1, 24): 2320, (2, 40): 6387},
    ),
    "steps of a statement that is alone where remainders leave the other none": (
        """{ domain: "[N, M] -> { B[i] : (M + N) mod 4 = 3 and i mod 3 = 1 and 1 <= i < M - N;
             A[i, j] : 0 <= i < M + N and 4 <= j < M mod 7 }", child: { schedule: "[N, M] -> [{ B[i] -> [(3*floor(i/3) +
             1)]; A[i, j] -> [(i)] }, { B[i] -> [(N)]; A[i, j] -> [(j)] }, { B[i] -> [(1)]; A[i, j] -> [(0)] }]" } }""",
        {(5, 5): 33, (9, 9): 2, (6, 61): 494, (2, 21): 9, (6, 77): 27},
        {(5, 5): 33, (9, 9): 2, (6, 61): 462, (2, 21): 126, (6, 77): 474},
    ),
}


@pytest.mark.parametrize("name", APART)
def test_loops_are_cut_where_many_tests_find_little_at_sizes_far_apart(name, request):
    text, most, without = APART[name]
    tree = Schedule.parse(text)
    found = scan(tree)
    for n, m in product((-1, 0, 1, 2, 3, 4, 6, 9), (0, 1, 2, 3, 5, 7, 12, 21)):
        assert deviation(tree, found, {"N": n, "M": m}) is None
    assert {(n, m): counted(found.body, {"N": n, "M": m}) for n, m in most} == most
    request.getfixturevalue("shared_loops")
    shared = scan(tree)
    assert {(n, m): counted(shared.body, {"N": n, "M": m}) for n, m in without} == without


@pytest.mark.parametrize("name", CUT)
def test_loops_are_cut_where_few_of_many_tests_find_something(name, request):
    text, most, without = CUT[name]
    tree = Schedule.parse(text)
    found = scan(tree)
    for n in range(-2, 14):
        assert deviation(tree, found, {"N": n}) is None
    assert {n: counted(found.body, {"N": n}) for n in most} == most
    request.getfixturevalue("shared_loops")
    shared = scan(tree)
    assert {n: counted(shared.body, {"N": n}) for n in without} == without


def test_loops_that_test_little_are_shared():
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", child: { schedule:
             "[{ S[i] -> [(i)]; T[i] -> [(i + 1)] }]" } }"""
    )
    assert str(scan(tree)).count("for (") == 1


def test_loops_stay_shared_where_that_is_asked_for():
    text, *_ = CUT[
        "two values that one has alone before others, for whose numbers a loop inside runs at small sizes, too"
    ]
    found = scan(Schedule.parse(text), parted=False)
    assert all(str(found).count(f"{s}(") == 1 for s in "ACFD")


def test_code_whose_loops_are_all_cut_is_given_up_as_soon_as_it_is_too_long(monkeypatch):
    """Of ten statements in two members it is ten times as long as that of shared loops: most time goes to tidy it."""
    lengths: list[float] = []

    def seen(known, body):
        lengths.append(length(body))
        return found(known, body)

    found = scanning.needed_by_all
    monkeypatch.setattr(scanning, "needed_by_all", seen)
    statements = [f"S{k}" for k in range(10)]
    domain = "; ".join(f"{s}[i, j] : 0 <= i < N and 0 <= j < M" for s in statements)
    rows = ["; ".join(f"{s}[i, j] -> [({i} + {k})]" for k, s in enumerate(statements)) for i in "ij"]
    tree = Schedule.parse(
        f"""{{ domain: "[N, M] -> {{ {domain} }}", child: {{ schedule: "[{{ {rows[0]} }}, {{ {rows[1]} }}]" }} }}"""
    )
    loops = scan(tree)
    for n, m in ((1, 1), (3, 12), (11, 2)):
        assert deviation(tree, loops, {"N": n, "M": m}) is None
    assert lengths and max(lengths) <= longest(loops.body)
