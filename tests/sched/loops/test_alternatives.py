"""What alternatives in a loop need of sizes is asked before it, so that a long one does not run for nothing.

Nor is there a loop of two numbers in a row in which conditions ask which of them it is.
"""

import pytest

from polyvolta.sched.loops.ast import AnyOf, Call, For, If, within
from polyvolta.sched.loops.hoisting.either import needed_around
from polyvolta.sched.loops.hoisting.plain import under
from polyvolta.sched.loops.parts.alternatives import asks_which
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import aff, var
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

LONG = (1000, 1), (1000, 3), (90, 40)  # sizes N and M


def guarded(guard, band="[{ S[i] -> [(i)] }]"):
    return f"""{{ domain: "[N, M] -> {{ S[i] : 0 <= i <= N }}", child: {{ schedule: "{band}",
      child: {{ guard: "[N, M] -> {{ {guard} }}" }} }} }}"""


@pytest.mark.parametrize(
    "tree, before, inside, tests",
    [
        (
            guarded("[p] : M = 0; [p] : 2M + N = 3 + (p mod 8)", "[N, M] -> [{ S[i] -> [(1 - N - 2i)] }]"),
            "(M == 0 || 2 * M + N <= 10)",
            "if (M == 0 || ((2 * M + N - c0 - 3) % 8 == 0 && 2 * M + N >= 3))",
            (3, 3, 1),
        ),
        (
            guarded("[p] : N = 2M; [p] : M = 3 + (p mod 4)"),
            "(2 * M == N || (M >= 3 && M <= 6))",
            "if (2 * M == N || (M - c0 + 1) % 4 == 0)",
            (3, 3008, 4),
        ),
        (
            guarded("[p] : M = 1 and N mod 2 = 1; [p] : M = 3 + (p mod 4)"),
            "((M == 1 && (N + 1) % 2 == 0) || M >= 3)",
            "if (M == 1 || (M - c0 + 1) % 4 == 0)",
            (4, 3007, 1),
        ),
        (
            guarded("[p] : N mod 3 = 2; [p] : M <= 3 + (p mod 4)"),
            "((N + 1) % 3 == 0 || M <= 6)",
            "if ((N + 1) % 3 == 0 || c0 % 4 + 3 >= M)",
            (3006, 3006, 2),
        ),
        (
            guarded("[p] : M = 0; [p] : N mod 2 = 0 and p >= N - M and p <= M"),
            "(M == 0 || (N % 2 == 0 && N <= 2 * M))",
            "if (M == 0 || (M + c0 >= N && c0 <= M))",
            (4, 4, 4),
        ),
    ],
)
def test_what_each_alternative_needs_of_sizes_is_asked_once(tree, before, inside, tests):
    """By an equality, a step, small sizes or what else few sizes have; and what that says is not asked inside."""
    tree = Schedule.parse(tree)
    found = scan(tree)
    text = str(found)
    assert before in text and inside in text
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in range(-1, 11) for m in range(-1, 8))
    assert tuple(counted(found.body, {"N": n, "M": m}) for n, m in LONG) == tests


@pytest.mark.parametrize(
    "guard",
    [
        "[p] : M = 0; [p] : M = 1 + (p mod 4)",  # M is 0 to 4, as is said before
        "[p] : M <= N + 3; [p] : M <= p and N mod 2 = 0",  # a longer loop needs no less
        "[p] : N mod 4 = p mod 4; [p] : N >= 4",
    ],
)
def test_what_holds_anyway_where_a_loop_is_long_is_not_asked_before_it(guard):
    tree = Schedule.parse(guarded(guard))
    found = scan(tree)
    assert "||" not in str(found).split("for")[0]
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in range(-1, 11) for m in range(-1, 8))


def test_alternatives_without_what_those_around_them_say():
    n, i, m = ("ge", var("n") - 3), ("eq", var("i")), ("eq", var("m"))
    around = AnyOf(((m,), (n,)))
    assert under(AnyOf(((m,), (n, i))), (around,)) == (AnyOf(((m,), (i,))),)
    assert under(AnyOf(((m, i), (n, i))), (around,)) == (AnyOf(((m, i), (n, i))),)
    assert under(around, (around,)) == ()
    assert under(n, (around,)) == (n,)


def of_two(options):
    """T at 1 and 2 of the first member, for one value each or two where N is 0 or 1."""
    return f"""{{ domain: "[N] -> {{ S[i, j, k] : N <= i <= N + 2 and i - 1 <= j <= 1 and 1 <= k < N;
      T[i] : 1 <= i <= 3; T[i] : 0 <= i <= N }}", child: {{ schedule: "[
      {{ S[i, j, k] -> [(k)]; T[i] -> [(i - 3*floor((i + 2)/3) + 2)] }},
      {{ S[i, j, k] -> [(-2k - 3*floor((-2k)/3))]; T[i] -> [(4*floor(i/4))] }}]", options: "{options}", child: {{
      sequence: [ {{ filter: "{{ S[i, j, k] }}" }}, {{ filter: "{{ T[i] : 2*floor(i/2) < i }}" }},
      {{ filter: "{{ T[i] : 2*floor(i/2) = i }}" }} ] }} }} }}"""


def test_two_numbers_that_conditions_tell_apart_are_written_out():
    """With a loop from 1 to 2 there were 11 and 17 tests at 0 and 1; an atomic one stays."""
    tree = Schedule.parse(of_two("{ separate[0] }"))
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n}) is None for n in range(-1, 14))
    assert [counted(found.body, {"N": n}) for n in (0, 1, 2)] == [5, 11, 10]
    atomic = Schedule.parse(of_two("{ atomic[0] }"))
    found = scan(atomic)
    assert sum(isinstance(node, For) and node.var == "c0" for node in every(found.body)) == 1
    assert all(deviation(atomic, found, {"N": n}) is None for n in range(-1, 14))


def every(body):
    return [node for one in body for node in (one, *every(within(one)))]


def test_which_loops_are_of_values_that_conditions_ask_for():
    call, asked = Call("S", (var("c0"),)), ("eq", var("c0") - 1)
    told = (If((asked,), (call,)), call)
    assert asks_which(loop(told), "c0") and asks_which((If((("ge", var("N")),), loop(told)),), "c0")
    assert not asks_which(loop((call,)), "c0")
    assert not asks_which(loop((If((("ge", var("N")),), (call,)),)), "c0")
    assert not asks_which(loop((*told, *loop((call,), "c1"))), "c0")
    assert not asks_which((*loop(told), call), "c0")


def loop(body, name="c0"):
    return (For(name, (aff(1),), (aff(2),), 1, False, body),)


def test_alternatives_that_all_needs_under_a_condition_of_sizes_in_a_loop_stand_there():
    """S asks for one of two sizes, and T's bounds say one: nothing runs under the condition where neither is so."""
    N, M = var("N"), var("M")  # noqa: N806
    either = AnyOf(((("ge", 7 - M),), (("ge", 8 - N),)))
    few = For("c1", (M,), (aff(7),), 1, False, (Call("T", (var("c1"),)),))
    asks = For("c1", (aff(0),), (aff(2),), 1, False, (If((either,), (Call("S", (var("c1"),)),)), few))
    beside, odd = Call("U", (var("c0"),)), (("eq", N % 2 - 1),)
    loop = lambda *body: For("c0", (aff(0),), (N,), 1, False, body)  # noqa: E731
    columns = Columns(["N", "M"], ["N", "M"])
    known = Known(columns)
    columns.loop(0), columns.loop(1)
    before = loop(If(odd, (asks,)), beside)
    (after,) = needed_around(known, (before,), ())
    assert after == loop(If(odd, (If((either,), (asks,)),)), beside)
    at_values = (loop(If((("ge", var("c0") - 3),), (asks,)), beside),)  # at each of which it would be a test more
    assert needed_around(known, at_values, ()) is at_values
