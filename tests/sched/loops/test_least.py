"""What is left at the least value of a size is written out where many tests find it, and not elsewhere."""

import pytest

from polyvolta.sched import Schedule, scan
from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import AnyOf, Block, Call, Choice, Extreme, For, If
from polyvolta.sched.loops.hoisting.least import least_apart
from polyvolta.sched.loops.notation.c import c_text
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.scan import scanned
from polyvolta.sets import Set, aff, var
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

N, M, C, D = map(var, ("N", "M", "c0", "c1"))


def known(least=1, most=None):
    """What is known where N has a least value, M none."""
    columns, rows = Columns(["N", "M"], ["N", "M"]), System()
    columns.loop(0)
    columns.loop(1)
    columns.loop(2)
    rows.ge(((columns.ids["N"], 1),), -least)
    if most is not None:
        rows.ge(((columns.ids["N"], -1),), most)
    return Known(columns).given(rows)


def loop(name, low, high, *body):
    return For(name, (aff(low),), (aff(high),), 1, False, body)


def below(condition, *body):
    return If((condition,), body)


def nest(*more):
    """Three calls of A at N = 1, none of B: eleven tests find them."""
    a = below(("ge", 2 - C), Call("A", (C, M + C)))
    return loop("c0", 0, N + 1, a, loop("c1", C + 3, 3 * N - 1, Call("B", (C, D))), *more)


def test_calls_at_the_least_size_stand_in_the_other_branch():
    node, (made,) = nest(), least_apart(known(), (nest(),))
    assert made == If((("ge", N - 2),), (node,), (), tuple(Call("A", (aff(v), M + v)) for v in range(3)))
    assert counted((made,), {"N": 1, "M": 7}) == 1
    for n in range(1, 5):
        assert run(made, N=n, M=7) == run(node, N=n, M=7)


def test_a_mark_stands_around_both():
    (made,) = least_apart(known(), (Block("mark", (nest(),)),))
    assert isinstance(made, Block) and isinstance(made.body[0], If) and len(made.body[0].other) == 3


@pytest.mark.parametrize("bound", [Extreme("min", (3 * N - 1, aff(2))), 3 * N - 1])
def test_extremes_and_alternatives_are_decided(bound):
    either = below(AnyOf(((("eq", C - 1),), (("ge", C - 2),))), Call("A", (C,)))
    node = For("c0", (aff(0),), (bound,), 1, False, (either, loop("c1", 1, N - 1, Call("B", (C, D)))))
    (made,) = least_apart(known(), (node,))
    assert isinstance(made, If) and made.other == (Call("A", (aff(1),)), Call("A", (aff(2),)))


@pytest.mark.parametrize(
    ("there", "body"),
    [
        (known(), (loop("c0", 0, N - 1, Call("A", (C,)), loop("c1", 1, N - 1, Call("B", (C, D)))),)),  # few tests
        (
            known(3),
            (loop("c0", 0, N, Call("A", (C,))), *(loop("c1", v, N, Call("B", (D,))) for v in (4, 5))),
        ),  # few each
        (known(), (loop("c0", 0, 7 * N, below(("ge", 0 * C), Call("A", (C,)))),)),  # many calls
        (known(), (loop("c0", 0, 9, below(("ge", 2 - C - N), Call("A", (C,)))),)),  # all of them are called there
        (known(), (nest(below(("ge", M), Call("B", (C, C)))),)),  # undecided: M may be anything
        (known(), (nest(loop("c1", 0, M, Call("B", (C, D)))),)),
        (known(), (nest(For("c1", (Choice((("ge", M),), aff(0), aff(9)),), (aff(0),), 1, False, ())),)),
        (known(), (nest(Block("mark", (Call("B", (C, C)),))),)),  # a mark stays around what it is of
        (known(), (nest(For("c1", (aff(0),), (), 1, False, (Call("B", (C, D)),))),)),  # never ends
        (known(), (nest(loop("c1", 0, 200, below(("ge", aff(-1)), Call("B", (C, D))))),)),  # too many tests
        (known(1, 9), (nest(),)),  # N is between numbers
        (known(0), (loop("c0", 1, N, Call("A", (C,))),)),  # nothing is called at N = 0 ...
    ],
)
def test_other_code_stays(there, body):
    if there.low[there.columns.ids["N"]] == 0:
        body = (below(("ge", N - 1), *body),)  # ... as its guard says
    assert least_apart(there, body) == body


def test_nothing_is_written_out_at_a_size_that_another_one_leaves_out():
    """N is 1 or more by itself, and 2 or more where 3N >= M for M >= 5."""
    there, rows = known(), System()
    n, m = (there.columns.ids[name] for name in "NM")
    rows.ge(((n, 3), (m, -1)), 0)
    rows.ge(((m, 1),), -5)
    assert least_apart(there.given(rows), (nest(),)) == (nest(),)


def test_a_condition_that_the_end_decides_is_asked_around_a_loop():
    """Of N <= 1 there is T at N = 1, S below it alone: as many tests there as before."""
    s, t = below(("ge", -N), Call("S", (C,))), below(("eq", C - 1), Call("T", (C,)))
    node = loop("c0", 0, 2, s, t)
    (first,) = least_apart(Known(known().columns), (If((("ge", N - 2),), (Call("S", (N,)),), (), (node,)),))
    assert isinstance(first, If)
    (made,) = first.other
    assert made == If((("ge", -N),), (loop("c0", 0, 2, *s.body, t),), (), (Call("T", (aff(1),)),))
    assert counted((first,), {"N": 1, "M": 0}) == 2


def test_below_a_condition_the_least_size_is_apart_where_very_many_tests_find_little():
    """As at N = 1 in N >= 1: what has 14 tests there stays."""
    columns = known().columns
    wide = loop("c2", 0, 20, below(("ge", N - 2), Call("B", (var("c2"), N))))
    for body, apart in (((nest(),), False), ((nest(), wide), True)):
        (made,) = least_apart(Known(columns), (below(("ge", N - 1), *body),))
        assert isinstance(made, If) and (made.body != body) is apart
        for n in range(4):
            assert run((made,), N=n, M=7) == run((below(("ge", N - 1), *body),), N=n, M=7)


def test_a_guard_around_loops_without_calls_at_the_least_size_is_narrower():
    """N >= 1 is N >= 2: no test more."""
    node = loop("c0", 0, 9, below(("ge", N - 2), Call("A", (C,))))
    (made,) = least_apart(Known(known().columns), (below(("ge", N - 1), node),))
    assert made == below(("ge", N - 2), loop("c0", 0, 9, Call("A", (C,))))


def test_a_few_values_at_the_end_at_which_the_same_is_called_are_apart_together():
    """At N = 1, 2 and 3 A(0) alone; at N = 4, at which it is, too, loops find it: one condition tells three values."""
    find = loop("c0", 0, 6, below(("eq", C), Call("A", (C,))))
    wide = loop("c1", 5, N, loop("c2", 0, N, Call("B", (D, N))))
    body = (find, wide)
    (made,) = least_apart(known(), body)
    assert isinstance(made, If) and made.conditions == (("ge", N - 4),) and made.other == (Call("A", (aff(0),)),)
    for n in range(1, 8):
        assert run((made,), N=n, M=7) == run(body, N=n, M=7)
    (made,) = least_apart(known(), (find, loop("c1", N, 2, Call("B", (D, D))), *body))  # another one at each
    assert isinstance(made, If) and made.conditions == (("ge", N - 2),)


def test_the_next_size_is_apart_where_very_many_tests_are_left():
    """At N = 1 A(0) alone, at N = 2 A(1) alone: 17 tests at N = 3 are too few for one more, 100 are many."""
    find = loop("c0", 0, 7, below(("eq", C - N + 1), Call("A", (C,))))
    for most, apart in ((6, False), (100, True)):
        body = (find, For("c1", (aff(3),), (N,), 1, False, (loop("c2", 0, most, Call("B", (D, N))),)))
        (made,) = least_apart(known(), body)
        assert isinstance(made, If) and made.conditions == (("ge", N - 2),) and made.other == (Call("A", (aff(0),)),)
        inside = made.body[0]
        assert (isinstance(inside, If) and inside.other == (Call("A", (aff(1),)),)) is apart
        for n in range(1, 8):
            assert run((made,), N=n, M=7) == run(body, N=n, M=7)


def test_all_of_a_few_sizes_are_apart_where_each_loop_has_numbers():
    find = loop("c0", 0, 7, below(("ge", N - 2 - C), Call("A", (C,))))
    made = least_apart(known(3, 4), (find,))
    calls = [tuple(Call("A", (aff(v),)) for v in range(n - 1)) for n in (3, 4)]
    assert made == (If((("ge", 3 - N),), calls[0], (), calls[1]),)
    (made,) = least_apart(known(2, 4), (find,))
    assert isinstance(made, If) and made.conditions == (("ge", 2 - N),)
    for least, most in ((3, 8), (0, 1), (1, 3)):  # too many; 0; and nothing is called at 1
        assert least_apart(known(least, most), (find,)) == (find,)


CYCLIC = """[N] -> { D[p, k] : 0 <= k < N and k mod 8 = p and 0 <= p < 8;
                     A[p, k, i] : 0 <= k < i < N and k mod 8 = p and 0 <= p < 8;
                     B[p, k, j, i] : 0 <= k < j < N and j <= i < N and j mod 8 = p and 0 <= p < 8 }"""
COLUMNS = f"""{{ domain: "{CYCLIC}", child: {{ schedule: "[
    {{ D[p, k] -> [(p)]; A[p, k, i] -> [(p)]; B[p, k, j, i] -> [(p)] }},
    {{ D[p, k] -> [(k)]; A[p, k, i] -> [(k)]; B[p, k, j, i] -> [(k)] }},
    {{ D[p, k] -> [(0)]; A[p, k, i] -> [(1)]; B[p, k, j, i] -> [(2)] }},
    {{ D[p, k] -> [(0)]; A[p, k, i] -> [(i)]; B[p, k, j, i] -> [(j)] }},
    {{ D[p, k] -> [(0)]; A[p, k, i] -> [(0)]; B[p, k, j, i] -> [(i)] }}]" }} }}"""


def test_one_column_of_all_processors_is_called_by_one_test():
    """As isl's has it; at N = 1 seven tests find it in loops."""
    tree, promised = Schedule.parse(COLUMNS), Set("[N] -> { : N >= 1 }")
    found = scan(tree, promised)
    assert c_text(found, macros=False).endswith("} else {\n  D(0, 0);\n}")
    assert all(deviation(tree, found, {"N": n}) is None for n in range(1, 12))
    assert [counted(found.body, {"N": n}) for n in (1, 2)] == [1, 24]
    for other in (scan(tree), scanned(tree, promised, None, True, False)):  # not promised; no other branches
        assert "else" not in c_text(other, macros=False)
