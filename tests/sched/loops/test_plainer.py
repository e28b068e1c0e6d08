"""Loops in fewer words that ask no more: two values in place, what both branches do, and turns that count by one."""

from itertools import product

import pytest

from polyvolta.sched.loops.ast import AnyOf, Call, Choice, Extreme, For, If
from polyvolta.sched.loops.parts.alternatives import asks_less
from polyvolta.sched.loops.plainer.by_one import by_one
from polyvolta.sched.loops.plainer.common import without_common
from polyvolta.sched.loops.plainer.twice import said_once
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import aff, var
from tests.sched.loops import counting
from tests.sched.loops.oracle import deviation

N, T, c0 = var("N"), var("T"), var("c0")
A, B, R, S = (Call(name, ()) for name in "ABRS")
SOME, OTHER = ("ge", N - 5), ("eq", N - 7)

EDGES = """{ domain: "[N, p, P] -> { S[i] : 0 <= i < N; F[] : p = 0; L[] : p = P - 1; G[] : p > 0; H[] : p < P - 1 }",
  child: { schedule: "[N, p, P] -> [{ S[i] -> [(i)]; F[] -> [(0)]; L[] -> [(N - 1)]; G[] -> [(-1)]; H[] -> [(N)] },
    { S[i] -> [(1)]; F[] -> [(0)]; L[] -> [(2)]; G[] -> [(0)]; H[] -> [(2)] }]" } }"""
EVENTS = """{ domain: "[T, M, a, b, c, d] -> { R[t, i] : 0 <= t < T and 0 <= i < M; A[t] : 0 <= t < T and a > 0;
    B[t] : 0 <= t < T and b > 0; C[t] : 0 <= t < T and c > 0; D[t] : 0 <= t < T and d > 0 }", child: {
  schedule: "[T, M, a, b, c, d] -> [{ R[t, i] -> [(t)]; A[t] -> [(t)]; B[t] -> [(t)]; C[t] -> [(t)]; D[t] -> [(t)] },
    { R[t, i] -> [(i)]; A[t] -> [(M - 1)]; B[t] -> [(M - 2)]; C[t] -> [(M - 3)]; D[t] -> [(M - 4)] },
    { R[t, i] -> [(0)]; A[t] -> [(1)]; B[t] -> [(1)]; C[t] -> [(1)]; D[t] -> [(1)] }]" } }"""
LEAPFROG = """{ domain: "[T, N] -> { E[t, i] : 0 <= t < T and 0 <= i < N; H[t, i] : 0 <= t < T and 0 <= i < N }",
  child: { schedule: "[T, N] -> [{ E[t, i] -> [(2t)]; H[t, i] -> [(2t + 1)] },
    { E[t, i] -> [(i)]; H[t, i] -> [(i)] }]" } }"""
SKEWED = """{ domain: "[T, N] -> { R[t, i] : 0 <= t < T and 1 <= i < N - 1 and i mod 2 = 0;
    B[t, i] : 0 <= t < T and 1 <= i < N - 1 and i mod 2 = 1 }", child: { schedule: "[T, N] -> [
    { R[t, i] -> [(floor(t/4))]; B[t, i] -> [(floor(t/4))] },
    { R[t, i] -> [(floor((2t + i)/16))]; B[t, i] -> [(floor((2t + 1 + i)/16))] }]", child: { schedule: "[T, N] -> [
    { R[t, i] -> [(2t)]; B[t, i] -> [(2t + 1)] }, { R[t, i] -> [(2t + i)]; B[t, i] -> [(2t + 1 + i)] }]" } } }"""
WAVE = """{ domain: "[T, N] -> { R[t, i, j] : 0 <= t < T and 0 < i < N - 1 and 0 < j < N - 1 and (i + j) mod 2 = 0;
    B[t, i, j] : 0 <= t < T and 0 < i < N - 1 and 0 < j < N - 1 and (i + j) mod 2 = 1 }", child: {
  schedule: "[T, N] -> [{ R[t, i, j] -> [(2t + i)]; B[t, i, j] -> [(2t + i + 1)] },
    { R[t, i, j] -> [(i)]; B[t, i, j] -> [(i)] }, { R[t, i, j] -> [(j)]; B[t, i, j] -> [(j)] }]" } }"""

CYCLIC = """{ domain: "[N, p] -> { S[q, i] : 0 <= i < N and i mod 4 = p and floor(i/2) mod 6 = q }", child: {
  schedule: "[N, p] -> [{ S[q, i] -> [(q)] }, { S[q, i] -> [(i)] }]" } }"""


def found(text, *values, context=None):
    """The loops of a tree, which are right at some values."""
    tree = Schedule.parse(text)
    made = scan(tree, context)
    for v in values:
        assert deviation(tree, made, v) is None, v
    return made


def loop(low, high, step, *body):
    return For("c0", (low,), (high,), step, False, body)


# ---- two values


def test_a_loop_of_two_values_that_sizes_give_is_its_calls():
    values = [{"N": n, "p": p, "P": q} for n in range(-3, 5) for q in (1, 2, 3) for p in range(q)]
    made = found(EDGES, *values, context="[N, p, P] -> { : 0 <= p < P }")
    assert str(made).count("for (") == 1
    assert "if (N <= -1) { if (P == p + 1) L(); else if (N <= -2) H(); }" in " ".join(str(made).split())
    assert counting.counted(made.body, {"N": -5, "p": 0, "P": 2}) == 12


def test_calls_in_place_ask_no_more_than_a_loop_of_two_values():
    first = If((("ge", N - 2),), (S,))
    both = loop(N - 1, N, 1, If((("eq", c0 - N + 1),), (S,)), If((("eq", c0 - N),), (R,)))
    assert asks_less((first, R), (both,))
    assert asks_less((If((("ge", N - 1),), (first, R)),), (both,))
    assert not asks_less((first, If((("ge", N - 1),), (R,))), (both,))  # where it has no value, two tests
    assert not asks_less((If((SOME, OTHER), (R,)),), (both,))
    assert not asks_less((If((SOME,), (first, If((OTHER,), (A,)))), R), (both,))  # three comparisons for two
    assert not asks_less((loop(N - 1, N, 1, S), R), (both,))


# ---- both branches


@pytest.mark.parametrize(
    "conditions, body, other, said",
    [
        ((SOME,), (S, R), (R,), (If((SOME,), (S,)), R)),
        ((SOME,), (R, S), (R,), (R, If((SOME,), (S,)))),
        ((SOME,), (R, S, A), (R, B, A), (R, If((SOME,), (S,), (), (B,)), A)),
        ((SOME,), (R,), (R, S), (R, If((("ge", 4 - N),), (S,)))),
        ((OTHER,), (R,), (R, S), None),
        ((AnyOf(((SOME,), (OTHER,))),), (R,), (R, S), None),
        ((OTHER,), (R, S), (R,), (R, If((OTHER,), (S,)))),
        ((SOME,), (S, R), (R, S), None),
    ],
)
def test_what_both_branches_do_stands_once(conditions, body, other, said):
    node = If(conditions, body, (), other)
    assert said_once((A, node)) == (A, *((node,) if said is None else said))
    inside = loop(aff(0), N, 1, node)
    assert said_once((inside,)) == (loop(aff(0), N, 1, *((node,) if said is None else said)),)


def test_what_else_branches_share_is_behind_all_of_them():
    chain = If((SOME,), (A, R), (), (If((OTHER,), (B, R), (), (R,)),))
    assert said_once((chain,)) == (If((SOME,), (A,), (), (If((OTHER,), (B,)),)), R)


def test_code_without_branches_stays_itself():
    body = (loop(aff(0), N, 1, If((SOME,), (A,))), R)
    assert said_once(body) is body


def test_events_at_the_last_rows_are_beside_one_call_each():
    values = [dict(zip("TMabcd", (2, *of), strict=True)) for of in product((5, 7), *[(0, 1)] * 4)]
    made = found(EVENTS, *values, context="[M] -> { : M >= 5 }")
    assert str(made).count("R(") == 5
    assert "else" not in str(made)


# ---- alternatives

FEW, LEAST, MORE = ("ge", 2 - N), ("ge", -1 - N), ("ge", N - 3)  # N <= 2, N <= -1, N >= 3
EVEN, THIRD = ("eq", T % 2), ("eq", T % 3)


@pytest.mark.parametrize(
    "alternatives, said",
    [
        (((LEAST,), (EVEN, FEW), (THIRD, FEW)), (FEW, AnyOf(((LEAST,), (EVEN,), (THIRD,))))),
        (((EVEN, FEW), (FEW,), (THIRD, FEW)), (FEW,)),
        (((LEAST,), (EVEN, FEW)), None),  # one says it
        (((MORE,), (EVEN, FEW), (THIRD, FEW)), None),  # one does not need it
        ((("ge", N - 9),), None),
        (((("ge", N - 9),), (EVEN, MORE), (THIRD, MORE)), None),  # what holds at most sizes is one test more
        (((("ge", -1 - c0),), (EVEN, ("ge", 2 - c0)), (THIRD, ("ge", 2 - c0))), None),  # it is no size
    ],
)
def test_what_all_alternatives_need_of_few_sizes_is_asked_first(alternatives, said):
    known = Known(Columns(["N", "T"], ["N", "T"]))
    known.columns.loop(0)
    node = If((AnyOf(alternatives),) if isinstance(alternatives[0][0], tuple) else alternatives, (A,))
    found = without_common(known, (node, R))
    assert found == ((node if said is None else If(said, (A,))), R)
    assert said is not None or found[0] is node


def test_an_alternative_that_is_asked_next_is_asked_once():
    known = Known(Columns(["N", "T"], ["N", "T"]))
    both, inner = AnyOf(((MORE,), (FEW, EVEN))), If((MORE,), (A,), (), (B,))
    asked = If((MORE,), (A,), (), (If((FEW, EVEN), (B,)),))
    assert without_common(known, (If((THIRD, both), (inner,)), R)) == (If((THIRD,), (asked,)), R)
    assert without_common(known, (If((both,), (inner,)),)) == (asked,)
    swapped = If((FEW, EVEN), (A,), (), (B,))
    assert without_common(known, (If((both,), (swapped,)),)) == (If((FEW, EVEN), (A,), (), (If((MORE,), (B,)),)),)
    for body in (
        (If((both,), (inner,), (), (R,)),),  # where none holds there is another branch
        (If((both,), (inner, R)),),
        (If((both,), (If((MORE,), (A,)),)),),
        (If((AnyOf(((MORE,), (FEW,), (EVEN,))),), (inner,)),),
        (If((AnyOf(((MORE,), (MORE,))),), (inner,)),),
    ):
        assert without_common(known, body) is body


# ---- turns


def test_a_loop_of_turns_counts_by_one():
    made = found(LEAPFROG, *[{"T": t, "N": n} for t in (0, 1, 3) for n in (0, 1, 4)])
    assert str(made).startswith("for (int c0 = 0; c0 < T; c0 += 1) {\n")
    assert "E(c0, c1);" in str(made)
    assert made.ranges["c0"] == (0, None)


def test_bounds_and_conditions_are_divided():
    inside = If((("ge", 2 * N - 3 - c0),), (Call("E", (c0 // 2,)),))
    found = by_one(loop(aff(4), Extreme("min", (2 * T - 1, 2 * N)), 2, inside), aff(0))
    assert (found.lower, found.step) == ((aff(2),), 1)
    assert found.upper == (Extreme("min", (T - 1, N)),)
    assert found.body == (If((("ge", N - 2 - c0),), (Call("E", (c0,)),)),)


@pytest.mark.parametrize("residue", [aff(1), N, N + 1])
def test_values_of_a_residue_are_counted_from_it(residue):
    body = Call("E", ((c0 - residue) // 2,))
    found = by_one(loop(residue + 2 * T, residue + 4 * N + 1, 2, body), residue)
    assert (found.lower, found.upper, found.body) == ((T,), (2 * N,), (Call("E", (c0,)),))


@pytest.mark.parametrize(
    "low, high, arg",
    [
        (aff(0), 2 * T, c0),  # E(2*c0) is longer
        (aff(0), N, c0 // 2),  # the last one would be a quotient
        (N, 2 * T, c0 // 2),
        (aff(1), 2 * T, c0 // 2),  # it begins elsewhere
        (Choice((SOME,), aff(0), aff(2)), 2 * T, c0 // 2),
    ],
)
def test_a_loop_that_would_not_be_shorter_stays(low, high, arg):
    node = loop(low, high, 2, Call("E", (arg,)))
    assert by_one(node, aff(0)) is node


# ---- what is not exact


def test_iterators_that_loops_determine_are_no_parts():
    """Loops over i may run for nothing at some t, as may the parts at each of its four values in a tile."""
    made = found(SKEWED, *[{"T": t, "N": n} for t in (1, 4, 9) for n in (2, 3, 8, 21)])
    assert str(made).count("for (") == 5
    assert counting.counted(made.body, {"T": 9, "N": 40}) == 457


def test_sizes_that_leave_one_value_leave_wider_steps():
    made = found(WAVE, *[{"T": t, "N": n} for t in (0, 1, 3) for n in (2, 3, 4, 6)])
    assert "if (N == 3) {\n  for (int c0 = 1; c0 < 2 * T; c0 += 2)\n    R((c0 - 1) / 2, 1, 1);\n}" in str(made)


def test_what_a_loop_begins_with_is_known_inside():
    """As c0 is p/2 at least, the first i from 2*c0 on in steps of 4 is p or more."""
    values = [{"N": n, "p": p} for n in (0, 1, 5, 12, 31) for p in range(4)]
    made = found(CYCLIC, *values, context="[N, p] -> { : 0 <= p < 4 }")
    assert "for (int c1 = p + 4 * ((2 * c0 - p + 3) / 4); c1 < N; c1 += 4)" in str(made)
