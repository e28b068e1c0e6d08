"""What follows from each bound that a loop may have is no test in it."""

from polyvolta.sched.loops.ast import AnyOf, Block, Call, Choice, Extreme, For, If
from polyvolta.sched.loops.hoisting.decided import without_decided
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import aff, var
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

N, C = var("N"), var("c0")
LARGE = ("ge", N - 9)
ENDS = Extreme("max", (aff(0), Choice((LARGE,), N - 1, aff(0))))  # c0 <= 0, or N >= 9 and c0 <= N - 1


def known():
    columns = Columns(("N",))
    columns.loop(0)
    return Known(columns)


def without(*conditions, upper=ENDS, before=("eq", C)):
    """The other branch of a condition in a loop, in which others are asked."""
    inner = If(conditions, (Call("B", (C,)),))
    loop = For("c0", (aff(0),), (upper,), 1, False, (If((before,), (Call("A", ()),), (), (inner,)),))
    (made,) = without_decided(known(), (loop,))
    return made.body[0].other


def test_a_condition_that_each_possible_bound_says_is_no_test():
    assert without(LARGE) == (Call("B", (C,)),)
    assert without(("ge", N - 1 - C), LARGE) == (Call("B", (C,)),)
    assert without(AnyOf(((LARGE,), (("ge", 3 - N),)))) == (Call("B", (C,)),)


def test_what_a_possible_bound_does_not_say_is_asked():
    for c in (("ge", N - 10), ("ge", 5 - C)):
        assert without(c) == (If((c,), (Call("B", (C,)),)),)
        assert without(LARGE, c) == (If((c,), (Call("B", (C,)),)),)
    assert without(LARGE, before=("ge", C - 5)) == (If((LARGE,), (Call("B", (C,)),)),)  # c0 may be 0 there
    assert without(LARGE, upper=Extreme("max", (aff(1), N - 1))) == (If((LARGE,), (Call("B", (C,)),)),)


def test_a_statement_that_runs_wherever_a_loop_does_is_called_in_it():
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : 0 <= i <= 3; T[i] : N mod 3 = 2 and (N >= 11 or N <= 5) and 0 <= i < N }", child:
             { schedule: "[N] -> [{ S[i] -> [(floor(i/12))]; T[i] -> [(i)] }, { S[i] -> [(floor((i + 1)/3))];
               T[i] -> [(floor((i mod 2)/3))] }, { S[i] -> [(floor(i/3))]; T[i] -> [(floor((2*N + 3*i + 1)/12))] },
               { S[i] -> [(floor(i/4))]; T[i] -> [(3*i + 1)] }, { S[i] -> [(i + 1)]; T[i] -> [(i mod 2)] },
               { S[i] -> [(i)]; T[i] -> [(floor((2*N + 3*i + 1)/4))] }]",
             options: "[N] -> { isolate[[] -> [p0, p1, p2, p3, p4, p5]] : 0 <= p0 < N and p1 <= 4 and p2 <= 3 and
               1 <= p5 <= 3; [isolate[] -> atomic[0]]; [isolate[] -> separate[1]]; [isolate[] -> atomic[2]];
               [isolate[] -> separate[3]]; [isolate[] -> separate[4]]; [isolate[] -> separate[5]] }", child: {
             sequence: [ { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } }"""
    )
    found = scan(tree)
    for n in range(-2, 16):
        assert deviation(tree, found, {"N": n}) is None
    assert {n: counted(found.body, {"N": n}) for n in (5, 9, 11, 77)} == {5: 18, 9: 9, 11: 29, 77: 161}


def test_what_runs_nowhere_is_left_out():
    """Between n and n - 2 there is nothing; the other branch stays under the condition, unless it has nothing there."""
    never = For("c0", (N,), (N - 2,), 1, False, (Call("A", (C,)),))
    small, large, b = ("ge", 3 - N), ("ge", N - 4), Call("B", ())
    assert without_decided(known(), (never, b)) == (b,)
    assert without_decided(known(), (If((small,), (never,), (), (b,)),)) == (If((large,), (b,)),)
    assert without_decided(known(), (If((small,), (never,), (), (If((("ge", N - 9),), (b,)),)),)) == (
        If((("ge", N - 9),), (b,)),
    )
    assert without_decided(known(), (If((small,), (If((large,), (b,)),)),)) == ()
    assert without_decided(known(), (Block("mark", (never,)),)) == ()
    assert without_decided(known(), (If((small,), (never, If((("ge", N),), (b,)))),)) == (If((small, ("ge", N)), (b,)),)


def test_no_branch_of_a_checkerboard_runs_nowhere():
    """Which of two rows of every second value is first, by sizes, leaves three cases, of which one has no size."""
    board = "0 <= i < N and 0 <= j < M and (i + j +"
    tree = Schedule.parse(
        f"""{{ domain: "[N, M] -> {{ A[i, j] : {board} N) mod 2 = 0; B[i, j] : {board} M) mod 2 = 0 }}", child: {{
             schedule: "[{{ A[i, j] -> [(i)]; B[i, j] -> [(i)] }}, {{ A[i, j] -> [(j)]; B[i, j] -> [(j)] }}]" }} }}"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in range(-1, 5) for m in range(-1, 5))
    assert str(found).count("for (") == 2
