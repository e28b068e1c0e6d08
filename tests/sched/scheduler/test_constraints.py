"""Schedules from isl's constraints: what each kind does, what must hold of every tree, and how wide bands are."""

import pytest

from polyvolta.sched.errors import BadProgram, NoSchedule
from polyvolta.sched.legality import violations
from polyvolta.sched.nodes import Band
from polyvolta.sched.program import nest_from_source
from polyvolta.sched.scheduler import schedule
from polyvolta.sched.scheduler.constraints import Constraints
from polyvolta.sets import Map, Set

LINE = "[N] -> { S[i] : 0 <= i < N }"
SQUARE = "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }"
TWO = "[N] -> { A[i] : 0 <= i < N; B[i] : 0 <= i < N }"


def found(domain, **constraints):
    return schedule(Set(domain), **{k: Map(v) for k, v in constraints.items()})


def bands(tree):
    """(width, coincident members) of each band, from the root down."""
    return [(len(b.members), sum(m.coincident for m in b.members)) for at in tree.bands() for b in (tree.band(at),)]


def all_of(relation):
    return dict.fromkeys(("validity", "proximity", "coincidence"), relation)


# domain, constraints, bands as isl finds them or wider
CASES = {
    "nothing": (SQUARE, {}, [(2, 2)]),
    "validity alone": (SQUARE, {"validity": "{ S[i, j] -> S[i + 1, j] }"}, [(2, 2)]),
    "coincidence": (SQUARE, {"validity": "{ S[i, j] -> S[i + 1, j] }", "coincidence": "{ S[i, j] -> S[i + 1, j] }"},
                    [(2, 1)]),
    "coincidence alone": (SQUARE, {"coincidence": "{ S[i, j] -> S[i, j + 1] }"}, [(2, 1)]),
    "an instance and itself": (LINE, {"validity": "{ S[i] -> S[i] }", "coincidence": "{ S[i] -> S[i] }"}, [(1, 1)]),
    "stencil": ("[N] -> { S[t, i] : 0 <= t < N and 0 <= i < N }",
                all_of("{ S[t, i] -> S[t + 1, i + 1]; S[t, i] -> S[t + 1, i]; S[t, i] -> S[t + 1, i - 1] }"),
                [(2, 0)]),
    "equalities": ("[N] -> { S[i, j, k, l] : j = i and k = 2 i and l = N and 0 <= i < N }", {}, [(1, 1)]),
    "a triangular copy": ("[N] -> { S[i, j, a, b] : a = i and b = j and 0 <= j <= i < N }", {}, [(2, 2)]),
    "a diagonal": ("[N] -> { S[i, j] : i + j = N and 0 <= i <= N }", {"validity": "{ S[i, j] -> S[i + 1, j - 1] }"},
                   [(1, 1)]),
    "a stride": ("[N] -> { S[i, j] : i = 2 j and 0 <= i < N }", {"coincidence": "{ S[i, j] -> S[i + 2, j + 1] }"},
                 [(1, 0)]),
    "near": (TWO, {"proximity": "{ A[i] -> B[i + 5] }"}, [(1, 1)]),
    "one waits": ("[N] -> { U[k, i, j] : 0 <= k < j < N and 0 <= i < N; D[k, i] : 0 <= k < N and 0 <= i < N }",
                  all_of("[N] -> { D[k, i] -> D[k, i + 1]; U[k, i, j] -> D[j, b] : j = k + 1 and 0 <= b < N;"
                         " D[k, i] -> U[k, a, j] : i = N - 1 and k < j < N and 0 <= a < N;"
                         " U[k, i, j] -> U[k + 1, i, j] }"), [(2, 0), (1, 0), (1, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bands(case):
    domain, constraints, wanted = CASES[case]
    tree = found(domain, **constraints)
    assert sorted(bands(tree)) == sorted(wanted)
    assert not list(violations(tree))


def test_proximity_chooses_the_shift():
    tree = found(TWO, proximity="{ A[i] -> B[i + 5] }")
    times = {s: str(e) for s, e in tree.band(tree.bands()[0]).members[0].exprs}
    assert times in ({"A": "i + 5", "B": "i"}, {"A": "i", "B": "i - 5"})


def test_conditional_validity_waits_for_its_condition():
    """A temporary: written by A, read by B, free again after that. One loop is parallel while values stay in it."""
    flow = "{ A[i] -> B[i] }"
    reuse = "[N] -> { B[i] -> A[j] : 0 <= i < j < N }"
    plain = found(TWO, validity="[N] -> { A[i] -> B[i]; B[i] -> A[j] : 0 <= i < j < N }", coincidence=flow)
    tree = found(TWO, validity=flow, coincidence=flow, conditional_validity=reuse, conditional_validity_condition=flow)
    assert bands(plain) == bands(tree) == [(1, 1)]
    back = "[N] -> { B[i] -> A[j] : 0 <= j < i < N }"
    only = {"conditional_validity": "[N] -> { B[i] -> A[j] : j != i and 0 <= i < N and 0 <= j < N }"}
    tree = found(TWO, validity=flow, coincidence=flow, conditional_validity_condition=flow, **only)
    assert bands(tree) == [(1, 1)] and not list(violations(tree))  # either order, for values stay in one iteration
    with pytest.raises(NoSchedule):
        found(TWO, validity=f"[N] -> {{ A[i] -> B[i]; B[i] -> A[j] : 0 <= j < i < N; {reuse[9:-2]} }}")
    assert found(TWO, validity=back)


def test_pairs_with_isls_tags_are_pairs_of_instances():
    """isl writes which access a pair is of beside the instance; the pairs of instances are what counts."""
    reuse = "{ [B[i] -> x[]] -> [A[j] -> x[]] : 0 <= j < i; [B[i] -> y[]] -> [A[j] -> y[]] : 0 <= i < j }"
    conditions = "{ [A[i] -> x[]] -> [B[i] -> x[]]; [A[i] -> y[]] -> [B[i] -> y[]] }"
    flow = "{ A[i] -> B[i] }"
    tagged = {"conditional_validity": reuse, "conditional_validity_condition": conditions}
    plain = {"conditional_validity": "{ B[i] -> A[j] : 0 <= j < i or 0 <= i < j }",
             "conditional_validity_condition": flow}  # fmt: skip
    tree = found(TWO, validity=flow, coincidence=flow, **tagged)
    assert tree == found(TWO, validity=flow, coincidence=flow, **plain)
    assert bands(tree) == [(1, 1)] and not list(violations(tree))
    with pytest.raises(BadProgram, match=r"no statement is called \[A -> x\]"):
        found(TWO, validity="{ [A[i] -> x[]] -> [B[i] -> x[]] }")


def test_the_context_stands_in_the_tree():
    tree = schedule(Set(LINE), context=Set("[N] -> { : N >= 4 }"))
    assert "N ≥ 4" in str(tree) and isinstance(tree.node(tree.bands()[0]), Band)


@pytest.mark.parametrize("kind", ["proximity", "coincidence"])
def test_what_a_program_needs_stays_beside_what_steers(kind):
    program = nest_from_source("def g(A, N):\n    for i in range(1, N):\n        A[i] = A[i - 1] + 1.0\n")
    tree = schedule(program, **{kind: Map("{ S[i] -> S[i + 1] }")})
    assert bands(tree) == bands(schedule(program)) == [(1, 0)]


def test_constraints_of_statements_that_there_are_not_are_refused():
    with pytest.raises(BadProgram, match="no statement is called a"):
        schedule(Set("{ A[i] : 0 <= i < 9; B[i] : 0 <= i < 9 }"), validity=Map("{ a[i] -> B[i] }"))


@pytest.mark.parametrize(
    "pairs",
    [
        "j = i + 1",
        "j >= i",
        "j > i",
        "j <= i + 1",
        "2 j = 2 i + 4",
        "j = N - i",
        "j = 2 i",
        "j - i = N",
        "j >= i + N",
        "(j - i) mod 2 = 1",
        "(j - i) mod 2 = 0",
        "exists a : j = i + 3 a + 1",
    ],
)
def test_pairs_of_an_instance_and_itself_are_dropped(pairs):
    relation = Map(f"[N] -> {{ S[i] -> S[j] : 0 <= i, j <= 6 and ({pairs}) }}")
    for n in (0, 3):
        found = {p for d in Constraints(validity=relation).dependences() for p in d.relation.points(N=n)}
        assert found == {(i, j) for i, j in relation.points(N=n) if i != j}
