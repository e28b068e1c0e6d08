"""Sizes at which a statement has nothing are told apart where code for all of them tests much for few calls."""

from contextlib import suppress
from itertools import product
from math import inf

import pytest

import polyvolta.sched.loops.scan as scans
from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import FROM_ZERO, Call, Choice, For, If
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.loops.walk import Scanner
from polyvolta.sched.loops.weighing.sizes import counted as weighed
from polyvolta.sched.loops.weighing.sizes import is_atomic
from polyvolta.sched.tree import Schedule
from polyvolta.sets import BudgetExceeded, PolyvoltaError, aff, budget, var
from tests.sched.campaign import data_of
from tests.sched.loops.counting import counted
from tests.sched.loops.draw import tree
from tests.sched.loops.oracle import deviation

# (tree, the most tests at values of all sizes)
APART = {
    "a stride that one statement has alone where the other has nothing": (
        """{ domain: "[N] -> { S[i] : -1 <= i <= 2 and (N + i) mod 2 = 1;
                               T[i, j] : 1 <= i < N and 0 <= j < i }", child: { schedule:
             "[{ S[i] -> [(i)]; T[i, j] -> [(j + 1)] }]", child: { schedule:
             "[{ S[i] -> [(floor((i + 1)/4))]; T[i, j] -> [(floor((1 - i)/2))] }]" } } }""",
        {0: 4, 1: 4, 2: 2, 3: 27, 9: 114},
    ),
    "bounds that are extremes, of which one statement alone has none": (
        """{ domain: "[N] -> { S[i] : 0 <= i <= 2; T[i] : N - 1 <= i <= 3 }", child: { schedule:
             "[N] -> [{ S[i] -> [(floor((N + i)/8))]; T[i] -> [(floor(i/4))] }]", child: { schedule:
             "[N] -> [{ S[i] -> [(floor((N + i)/4))]; T[i] -> [(floor(i/2))] }]", child: { schedule:
             "[{ S[i] -> [(4i)]; T[i] -> [(i + 5)] }]", options: "{ separate[0] }" } } } }""",
        {5: 9, 9: 9, 40: 9},
    ),
    "code that is found in few steps, in which searches are as long as in the code before": (
        """{ domain: "[N] -> { S[i, j] : N - 2 <= i <= 1 and j = 2; T[i] : 0 <= i <= N }", child: { schedule:
             "[{ S[i, j] -> [(i)]; T[i] -> [(i)] }, { S[i, j] -> [(j)]; T[i] -> [(floor((i + 1)/3))] },
               { S[i, j] -> [(-1)]; T[i] -> [(i - 1)] }]" } }""",
        {0: 10, 3: 15, 9: 12, 40: 43, 100: 103},
    ),
    "an atomic loop inside of one that is none, which is one in each case": (
        """{ domain: "[N] -> { S[i] : N mod 2 = 0 and N - 1 <= i <= 5; T[i, j] : N - 1 <= i <= 1 and 0 <= j <= 4 }",
             child: { schedule: "[N] -> [{ S[i] -> [(2*floor(i/2) - N)]; T[i, j] -> [(2*floor(j/2))] },
               { S[i] -> [(0)]; T[i, j] -> [(j mod 4)] }, { S[i] -> [(i)]; T[i, j] -> [((1 - i) mod 3)] }]",
             options: "{ atomic[1] }" } }""",
        {0: 127, 2: 94, 4: 11, 6: 7, 40: 1},
    ),
    "sizes without which code of neither has anything": (
        """{ domain: "[N] -> { S[i] : N <= 4 and (N + i) mod 3 = 1 and N <= i <= 4; T[i] : N - 2 <= i <= 3 }", child: {
             schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }, { S[i] -> [(2*i)]; T[i] -> [(i)] }]" } }""",
        {0: 50, 2: 4, 4: 5, 6: 1, 40: 1},
    ),
    "odd sizes, at which loops of one run for nothing, and ask for it in those of the other": (
        """{ domain: "[N] -> { S[i, j] : N mod 2 = 0 and N <= 2i <= N + 2 and 0 <= j <= 1;
                               T[i] : 1 <= i <= 4 }", child: {
             schedule: "[{ S[i, j] -> [(j)]; T[i] -> [(i mod 4)] },
               { S[i, j] -> [(floor((2i + 1)/3))]; T[i] -> [(i)] }]", options: "{ separate[1] }" } }""",
        {1: 6, 2: 29, 3: 6, 4: 35, 5: 6, 10: 35, 40: 30},
    ),
    "even sizes, which code asks for at few of the others that are odd as well": (
        """{ domain: "[N, M] -> { S[i, j] : M mod 2 = 0 and 0 <= i <= N and N <= j <= N + 3; U[i] : M <= 2i <= M + 5 }",
             child: { schedule: "[N, M] -> [{ S[i, j] -> [(floor(j/2))]; U[i] -> [(2i - M - 1)] },
               { S[i, j] -> [(j)]; U[i] -> [(2N - 2i + 1)] }]", options: "{ separate[0] }", child: { schedule:
             "[N, M] -> [{ S[i, j] -> [(floor(i/4))]; U[i] -> [(2N + i - 1)] },
               { S[i, j] -> [(M + 4*floor((3i)/4))]; U[i] -> [(i - M + 1)] }]", options: "{ atomic[0] }", child: {
             schedule: "[{ S[i, j] -> [(i)]; U[i] -> [(i)] }]", child: { sequence: [
             { filter: "{ S[i, j] }" }, { filter: "{ U[i] }" } ] } } } } }""",
        {0: 60, 1: 5, 3: 5, 4: 121, 9: 5, 40: 521},
    ),
    "a remainder of 4, of which the three others leave one call": (
        """{ domain: "[N, M] -> { S[]; T[i, j, k] : N mod 4 = 3 and 0 <= i <= 3 and -2 <= j < M and 0 <= k <= 2 }",
             child: { schedule: "[N] -> [{ S[] -> [(floor(N/3))]; T[i, j, k] -> [(floor((2 - j)/3) - 1)] },
               { S[] -> [(0)]; T[i, j, k] -> [(floor((j + 2)/3) + 1)] }]", options: "{ separate[0] }", child: {
             schedule: "[N] -> [{ S[] -> [(N)]; T[i, j, k] -> [(-j - 1)] }, { S[] -> [(1)]; T[i, j, k] -> [(j + 5)] }]",
             options: "{ unroll[0] }" } } }""",
        {0: 1, 1: 1, 2: 1, 3: 126, 4: 1, 7: 221, 40: 1},
    ),
    "a remainder of 3, where of the others one has a call and one none": (
        """{ domain: "[N, M] -> { S[i, j] : N mod 3 = 1 and 0 <= i <= N and i <= 2j <= i + 6; T[] : N mod 3 <= 1 }",
             child: { schedule: "[M] -> [{ S[i, j] -> [(i + 5)]; T[] -> [(M - 1)] },
               { S[i, j] -> [(floor(i/4))]; T[] -> [(2)] }]", options: "{ separate[0] }", child: { sequence: [
             { filter: "{ T[] }" }, { filter: "{ S[i, j] }" } ] } } }""",
        {0: 2, 1: 17, 2: 2, 3: 2, 4: 34, 5: 2, 9: 2, 40: 234},
    ),
    "three remainders of 6, without which a loop has an iteration or none": (
        """{ domain: "[N] -> { S[]; T[i] : N - 1 <= i <= 2; U[i, j] : N mod 6 >= 3 and 0 <= i <= N and 0 <= j <= 1 }",
             child: { schedule: "[{ S[] -> [(1)]; T[i] -> [(i mod 3)]; U[i, j] -> [(2*(j mod 2))] }]", child: { set: [
             { filter: "{ U[i, j] }" }, { filter: "{ T[i] }" }, { filter: "{ S[] }" } ] } } }""",
        {0: 16, 1: 15, 2: 11, 3: 25, 5: 28, 6: 3, 7: 3, 9: 36, 40: 98},
    ),
    "remainders of one size, where others of another one leave a call": (
        """{ domain: "[N, M] -> { S[] : M mod 3 = 2; T[i] : (N + 1) mod 3 >= 1 and N <= 2i <= N + 6 }", child: {
             schedule: "[{ S[] -> [(1)]; T[i] -> [(i mod 3)] }, { S[] -> [(1)]; T[i] -> [(i mod 2)] }]", child: { set: [
             { filter: "{ T[i] }" }, { filter: "{ S[] }" } ] } } }""",
        {0: 24, 1: 24, 2: 2, 3: 24, 5: 2, 40: 24},
    ),
    "remainders of a sum, which small sizes alone ask for nothing": (
        """{ domain: "[N, M] -> { S[i] : (M + N) mod 3 = 0 and 0 <= i < N; T[] }", child: { schedule:
             "[N, M] -> [{ S[i] -> [((i + 1) mod 2)]; T[] -> [(M)] }]", options: "{ separate[0] }", child: { schedule:
             "[{ S[i] -> [(floor(i/2))]; T[] -> [(0)] }]", child: { sequence: [
             { filter: "{ S[i] }" }, { filter: "{ T[] }" } ] } } } }""",
        {0: 7, 1: 1, 2: 1, 3: 16, 4: 1, 9: 22, 40: 1},
    ),
    "remainders that small sizes ask for at much, and large ones are asked for once": (
        """{ domain: "[N] -> { S[i] : 0 <= i <= N; T[i] : N mod 3 = 0 and N <= i <= 2 }", child: { schedule:
             "[{ S[i] -> [(3i)]; T[i] -> [(i)] }, { S[i] -> [(i + 1)]; T[i] -> [(floor((-i)/4))] }]", child: { sequence:
             [ { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } }""",
        {0: 9, 1: 4, 2: 5, 3: 6, 4: 7, 5: 8, 6: 9, 40: 43},
    ),
}


@pytest.mark.parametrize("name", APART)
def test_code_at_sizes_that_leave_a_statement_nothing_does_not_ask_for_it(name):
    text, most = APART[name]
    tree = Schedule.parse(text)
    found = scan(tree)
    for n in range(-3, 14):
        assert deviation(tree, found, dict.fromkeys(found.params, n)) is None
    assert {n: counted(found.body, dict.fromkeys(found.params, n)) for n in most} == most
    with budget(None):  # as steps are counted the code is the same, as long as they suffice
        assert scan(tree).body == found.body


def test_sizes_are_told_apart_where_steps_suffice_for_code_of_one_kind(shared_loops, monkeypatch):
    """The code of large sizes is made; small ones keep that of all, in which what they say is not asked again."""
    text, most = APART["sizes without which code of neither has anything"]
    within, made = scans._within, []

    def few(*given):
        made.append(given)
        if len(made) > 1:
            raise BudgetExceeded("no steps are left")
        return within(*given)

    monkeypatch.setattr(scans, "_within", few)
    tree = Schedule.parse(text)
    found = scan(tree)
    assert len(made) == 2
    assert all(deviation(tree, found, {"N": n}) is None for n in range(-3, 8))
    assert {n: counted(found.body, {"N": n}) for n in most} == {0: 51, 2: 39, 4: 4, 6: 2, 40: 2}
    assert "if (N <= 3) {" in str(found) and "N <= 5" not in str(found)


def test_what_is_known_of_names_ends_where_steps_are_missing_inside():
    """Code that was made before stays then, and its text would go by what holds of the code that was not made."""
    writer = Scanner(Schedule(_domain("i")), None, {})
    before, n = dict(writer.ranges), writer.columns.ids["N"]
    large = System()
    large.ge(((n, 1),), -5)
    with suppress(BudgetExceeded), writer.within(writer.known.given(large)):
        assert writer.ranges["N"] == (5, None)
        with writer.ranging("c0", (aff(1),), (aff(9),), 2, aff(1)):
            raise BudgetExceeded("no steps are left")
    assert writer.ranges == before and not writer.strides


def test_places_at_which_little_is_asked_anyway_do_not_keep_sizes_together():
    """With M = 5 S has nothing: where T has nothing, too, as at N = 3, few tests say so, and at N = 9 many find T."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j, k] : 2M <= N - 6 and M - 1 <= i <= 3 and -1 <= j <= 2 and 0 <= k <= j;
             S[i, j, k] : N - 2 <= 2M and M - 1 <= i <= 3 and -1 <= j <= 2 and 0 <= k <= j;
             T[i] : M <= N and 0 <= i <= 1 }", child: { context: "[N, M] -> { [] : N >= -1 and 2 <= M <= 5 }", child: {
             schedule: "[{ S[i, j, k] -> [(floor((i + 1)/2) - k - 1)]; T[i] -> [(floor((3i + 7)/8) - 1)] },
             { S[i, j, k] -> [(((1 - i) mod 2) + 1)]; T[i] -> [(0)] },
             { S[i, j, k] -> [(floor((-i)/2) + 2*floor((i + 1)/2))]; T[i] -> [(floor(i/2))] }]",
             options: "{ atomic[1] }" } } }"""
    )
    found = scan(tree)
    for n, m in product(range(-1, 20), range(2, 6)):
        assert deviation(tree, found, {"N": n, "M": m}) is None
    assert [counted(found.body, {"N": n, "M": 5}) for n in (3, 5, 9, 10, 40)] == [2, 5, 5, 5, 5]


def test_remainders_and_other_sizes_are_those_that_a_context_leaves():
    """Of N from 0 to 2 N mod 4 <= 1 is N <= 1, and no M is greater than 2: at N = 2 T is alone, in steps of two."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j] : N mod 4 <= 1 and 0 <= i <= M and i <= j <= i + 4; T[i] : -2 <= i <= 4 }",
             child: { context: "[N, M] -> { [] : 0 <= N <= 2 and 1 <= M <= 2 }", child: { schedule:
             "[{ S[i, j] -> [(j)]; T[i] -> [(2*floor((1 - i)/2) - 2)] }]", child: { sequence: [
             { filter: "{ S[i, j] }" }, { filter: "{ T[i] : i >= 0 }" }, { filter: "{ T[i] : i < 0 }" } ] } } } }"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in (0, 1, 2) for m in (1, 2))
    assert [counted(found.body, {"N": n, "M": 2}) for n in (0, 1, 2)] == [80, 80, 24]


@pytest.mark.parametrize(("outer", "apart"), [("i", True), ("N", False), ("3", False)])
def test_an_atomic_loop_outside_of_all_others_is_the_only_one(outer, apart):
    """Where N is 5 or more S alone has anything; a member that has one value is no loop outside of the atomic one."""
    assert is_atomic(_domain(outer), frozenset("N")) is not apart


def _domain(outer):
    return Schedule.parse(
        f"""{{ domain: "[N] -> {{ S[i] : 0 <= i < 3; T[i] : N - 1 <= i <= 3 }}", child: {{ schedule:
              "[N] -> [{{ S[i] -> [({outer})]; T[i] -> [({outer})] }}, {{ S[i] -> [(4*i)]; T[i] -> [(i + 5)] }}]",
              options: "{{ atomic[1] }}" }} }}"""
    ).root


def test_no_other_code_is_made_where_most_tests_are_of_code_that_runs_whole(monkeypatch):
    """Of sizes beyond 5 no T is called: S is found by as many tests of its own as before, whatever becomes of T."""
    made = []
    within = scans._within
    monkeypatch.setattr(scans, "_within", lambda *given: made.append(given) or within(*given))
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : 0 <= i <= 40; T[i] : 50 <= i <= 52 and N <= 5 }", child: { schedule:
             "[{ S[i] -> [(i)]; T[i] -> [(i)] }]", child: { guard: "{ [a] : a mod 5 = 1 or a mod 5 = 3 or a mod 7 = 2 or
             a mod 7 = 4 or a mod 3 = 0 or a >= 50 }" } } }"""
    )
    found = scan(tree)
    assert not made
    assert all(deviation(tree, found, {"N": n}) is None for n in (5, 6))


def test_of_two_sizes_each_may_be_told_apart():
    """At M = 1 others have no column, and at N = 1 one has no row, which each column would ask for again."""
    tree = Schedule.parse("""{ domain: "[N, M] -> { S[i, j] : 0 <= j < i < N; T[i, j] : 0 <= i < M and 0 <= j < N;
        U[i, j] : 0 <= i < N and 0 <= j < M and j mod 3 = 1 }", child: { schedule:
        "[{ S[i, j] -> [(floor(i/5))]; T[i, j] -> [(floor(j/5))]; U[i, j] -> [(floor((i - 1)/5))] }]", child: {
        schedule: "[{ S[i, j] -> [(i + j)]; T[i, j] -> [(i + j)]; U[i, j] -> [(i + j + 4)] },
        { S[i, j] -> [(i)]; T[i, j] -> [(j)]; U[i, j] -> [(i - 1)] }]", child: { sequence: [ { filter: "{ T[i, j] }" },
        { filter: "{ S[i, j] }" }, { filter: "{ U[i, j] }" } ] } } } }""")
    found, most = scan(tree), {(1, 1): 11, (1, 90): 125, (3, 90): 1047, (9, 9): 420}
    for n, m in ((0, 4), (1, 1), (1, 7), (2, 9), (4, 0), (6, 1), (6, 2), (7, 5)):
        assert deviation(tree, found, {"N": n, "M": m}) is None
    assert {(n, m): counted(found.body, {"N": n, "M": m}) for n, m in most} == most


def test_what_stands_at_one_value_of_a_size_is_asked_for_another_one_and_both_once():
    """Where M is 1 loops find nothing below N = 5; others ask for that, too, and none does before M."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j] : 1 <= i and 2i <= M + 1 and 1 <= j and 2j <= N + 1 and j mod 3 = 0; T[] }",
             child: { schedule: "[N, M] -> [{ S[i, j] -> [(floor((M + 2i + 2)/3) - 1)]; T[] -> [(0)] }]", child: {
             schedule: "[N, M] -> [{ S[i, j] -> [(M + 2i - 1)]; T[] -> [(2)] },
                                   { S[i, j] -> [((1 - j) mod 2)]; T[] -> [(2)] }]", options: "{ unroll[0] }", child: {
             sequence: [ { filter: "{ T[] }" }, { filter: "{ S[i, j] }" } ] } } } }"""
    )
    found, most = scan(tree), {(1, 1): 1, (4, 1): 1, (1, 40): 1, (5, 1): 9, (5, 40): 193, (40, 1): 14, (40, 40): 293}
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in (1, 4, 5, 6, 9, 13) for m in (0, 1, 2, 5))
    assert {(n, m): counted(found.body, {"N": n, "M": m}) for n, m in most} == most


def test_a_size_is_told_apart_also_where_nothing_runs_at_some_others():
    """At M = 5 there is no S, and at N < M no T: there is nothing to test then, and much for nothing at N >= M."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j, k] : (2M <= N - 6 or N - 2 <= 2M) and M - 1 <= i <= 3 and -1 <= j <= 2 and
             0 <= k <= j; T[i] : M <= N and 0 <= i <= 1 }", child: { context: "[N, M] -> { [] : N >= -1 and
             2 <= M <= 5 }", child: { schedule:
             "[{ S[i, j, k] -> [(floor((i + 1)/2) - k - 1)]; T[i] -> [(floor((3i + 7)/8) - 1)] },
               { S[i, j, k] -> [(2 - i - 2*floor((1 - i)/2))]; T[i] -> [(0)] },
               { S[i, j, k] -> [(i - k)]; T[i] -> [(i)] }]" } } }"""
    )
    found, most = scan(tree), {(3, 5): 2, (5, 5): 5, (10, 5): 5, (40, 5): 5}
    assert all(
        deviation(tree, found, {"N": n, "M": m}) is None for n in (-1, 2, 3, 5, 8, 10, 12, 16) for m in range(2, 6)
    )
    assert {(n, m): counted(found.body, {"N": n, "M": m}) for n, m in most} == most


def test_a_remainder_of_a_sum_of_sizes_is_told_apart():
    """Three of four sums leave one call."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[]; T[i, j] : (N + M) mod 4 = 3 and 0 <= i <= 3 and -2 <= j < M }",
             child: { schedule: "[N] -> [{ S[] -> [(floor(N/3))]; T[i, j] -> [(floor((2 - j)/3) - 1)] },
               { S[] -> [(0)]; T[i, j] -> [(floor((j + 2)/3) + 1)] }]", options: "{ separate[0] }", child: { schedule:
             "[N] -> [{ S[] -> [(N)]; T[i, j] -> [(-j - 1)] }, { S[] -> [(1)]; T[i, j] -> [(j + 5)] }]",
             options: "{ unroll[0] }" } } }"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in range(-2, 6) for m in range(-2, 6))
    assert [counted(found.body, {"N": n, "M": m}) for n, m in ((1, 1), (4, 4), (3, 7), (40, 1), (9, 9))] == [1] * 5


def test_a_remainder_is_told_apart_where_two_small_sizes_are_not():
    """Code of N <= 4, and of N <= 6, tests no less, at which two statements have nothing; that of odd M does."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S0[i, j] : 0 <= i < N and 0 <= j < M and M mod 2 = 0;
             S1[i, j] : 1 <= i < N - 1 and 0 <= j < M and M mod 3 = 0; S2[i, j] : 2 <= i < N - 2 and 0 <= j < M and
             M mod 4 = 0; S3[i, j] : 3 <= i < N - 3 and 0 <= j < M and M mod 5 = 0 }", child: { schedule:
             "[{ S0[i, j] -> [(i)]; S1[i, j] -> [(i)]; S2[i, j] -> [(i)]; S3[i, j] -> [(i)] },
               { S0[i, j] -> [(j)]; S1[i, j] -> [(j)]; S2[i, j] -> [(j)]; S3[i, j] -> [(j)] }]", child: { sequence: [
             { filter: "{ S0[i, j] }" }, { filter: "{ S1[i, j] }" }, { filter: "{ S2[i, j] }" },
             { filter: "{ S3[i, j] }" } ] } } }"""
    )
    found, most = scan(tree), {(3, 3): 12, (9, 9): 186, (9, 15): 363, (40, 3): 487, (2, 40): 87}
    assert all(
        deviation(tree, found, {"N": n, "M": m}) is None for n in range(9) for m in (0, 1, 2, 3, 4, 5, 6, 12, 15)
    )
    assert {(n, m): counted(found.body, {"N": n, "M": m}) for n, m in most} == most


def test_there_is_no_code_where_a_floor_has_another_column_in_another_scan():
    tree = Schedule.parse("""{ domain: "[N] -> { S[] : N mod 3 <= 1 }" }""")
    scanner = Scanner(tree, None, {}, True)
    col, _ = scanner.columns.row(aff("floor(N/5)"))[0][0]
    columns = Columns(["N"], ["N"])
    same, other = columns.row(aff("N"))[0][0][0], columns.row(aff("floor(N/3)"))[0][0][0]
    assert col == other
    case = System()
    case.ge(((same, 1),), 0)
    assert scans._within(lambda: scanner, tree.root, columns, case, (0,))
    case.ge(((other, 1),), 0)
    assert not scans._within(lambda: scanner, tree.root, columns, case, (0,))


def test_a_bound_of_a_size_is_asked_for_at_all_remainders_of_others():
    """Where N is below 4 and M mod 4 is 2, U is alone; at no size of those that are looked at otherwise."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[] : M mod 4 = 1; T[i] : N >= 4 and M <= 2i <= M + 6;
             U[i] : N >= 3 and M mod 4 = 2 and 0 <= i <= M }", child: { schedule:
             "[{ S[] -> [(1)]; T[i] -> [(i mod 3)]; U[i] -> [(i mod 4)] },
               { S[] -> [(1)]; T[i] -> [(i mod 2)]; U[i] -> [(i)] }]", child: { set: [
             { filter: "{ T[i] }" }, { filter: "{ S[] }" }, { filter: "{ U[i] }" } ] } } }"""
    )
    found, most = (
        scan(tree),
        {(1, 1): 2, (1, 2): 4, (3, 1): 2, (3, 2): 14, (3, 6): 20, (4, 1): 17, (4, 6): 32, (9, 9): 17},
    )
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in (2, 3, 4, 5) for m in range(-2, 9))
    assert {(n, m): counted(found.body, {"N": n, "M": m}) for n, m in most} == most


@pytest.mark.parametrize("seed", [9101, 9102])
def test_tests_are_counted_as_they_are_made(seed):
    """All of them and those before each call, up to a number, though iterations that test the same are run once."""
    beyond = 0
    for number in range(24):
        try:
            found = scan(tree(data_of(seed, number), number % 2 == 0).schedule)
        except PolyvoltaError:
            continue
        for n in (0, 1, 3, 9) if not found.extents else ():
            at = dict.fromkeys(found.params, n)
            tests, calls = counted(found.body, at), [*run(found, at)]
            within = tests <= 60 and len(calls) <= 60
            assert weighed(found.body, at, 60)[::2] == ((tests, len(calls)) if within else (inf, 0))
            beyond += not within
    assert beyond


def test_iterations_differ_where_a_condition_of_a_bound_does():
    """Two values of an inner loop where c0 <= 2, and four elsewhere."""
    c0 = var("c0")
    last = Choice((("ge", 2 - c0),), aff(1), aff(3))
    inner = If((("ge", var("N") - 1),), (For("c1", FROM_ZERO, (last,), 1, False, (Call("S", (var("c1"),)),)),))
    body = (For("c0", FROM_ZERO, (aff(5),), 1, False, (inner,)),)
    assert weighed(body, {"N": 1}) == (counted(body, {"N": 1}), 0, 18)
