"""Rows with points cut out, windows by sizes, and statements that sizes switch on: what code tests, and how long it is.

isl's code asks for each statement in one loop. Ours has what one has alone apart, where that is worth its text.
"""

from itertools import product

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Set
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation


def tree(params: str, statements: dict[str, tuple[str, str]]) -> Schedule:
    """A band of the values that statements have, each under a condition."""
    domain = "; ".join(f"{s} : {holds}" for s, (_, holds) in statements.items())
    each = zip(*[values.split(", ") for values, _ in statements.values()], strict=True)
    members = ["; ".join(f"{s} -> [({e})]" for s, e in zip(statements, one, strict=True)) for one in each]
    band = f"[{params}] -> [" + ", ".join(f"{{ {m} }}" for m in members) + "]"
    return Schedule.parse(f'{{ domain: "[{params}] -> {{ {domain} }}", child: {{ schedule: "{band}" }} }}')


def lines(found) -> int:
    """How many lines of code there are, without macros."""
    return len([line for line in str(found).splitlines() if line and not line.startswith("#")])


def row(k: int, holds: str = "0 <= t < T and 0 <= i < N") -> tuple[str, str]:
    """Statement number k of each point of a row."""
    return f"t, i, {k}", f"0 <= t < T and 0 <= i < N and {holds}"


def test_switches_are_asked_for_in_one_loop_not_in_a_version_of_it_for_each():
    """Where all six are off no part is entered, and where T is 0 nothing is asked but for N."""
    some = {f"{s}[t, i]": row(1 + k, f"{s} >= 1 and t mod {k + 2} = 0") for k, s in enumerate("ABCDEF")}
    one = tree("T, N, A, B, C, D, E, F", {"S[t, i]": row(0), **some})
    found = scan(one)
    off = dict.fromkeys("ABCDEF", 0)
    for at in ({"T": 7, "N": 2, **off}, {"T": 7, "N": 2, **off, "C": 1, "F": 3}, {"T": 13, "N": 1, **off, "A": 2}):
        assert deviation(one, found, at) is None
    assert str(found).count("for (") == 2
    assert counted(found.body, {"T": 0, "N": 5, **off}) == 2
    assert counted(found.body, {"T": 40, "N": 0, **off}) == 1


def test_of_rows_of_several_loops_a_size_of_0_is_asked_for_before_them():
    some = {f"{s}[t, i]": row(1 + k, f"{a} <= i < {b}") for k, (s, a, b) in enumerate(("Aab", "Bbc", "Ccd", "Dde"))}
    one = tree("T, N, a, b, c, d, e", {"S[t, i]": row(0), **some})
    found = scan(one)
    for ends in ((0, 2, 4, 6, 8), (3, 1, 5, 2, 7), (5, 4, 3, 2, 1), (-2, 9, 1, 4, 3)):
        at = dict(zip("abcde", ends, strict=True))
        assert all(deviation(one, found, {"T": 2, "N": n, **at}) is None for n in (0, 1, 6))
        assert counted(found.body, {"T": 40, "N": 0, **at}) == 1


def test_points_that_nothing_orders_are_not_all_cut_out_of_a_row():
    """Two of three, whichever is first, would leave seven loops, which test three quarters of what three do."""
    points = {f"{s}[t]": (f"t, {s}, {k}", f"0 <= t < T and 0 <= {s} < N") for k, s in enumerate("ABC", 1)}
    one = tree("T, N, A, B, C", {"S[t, i]": row(0), **points})
    found = scan(one)
    for a, b, c in product((-1, 0, 3), repeat=3):
        assert deviation(one, found, {"T": 2, "N": 4, "A": a, "B": b, "C": c}) is None
    assert lines(found) <= 25
    assert str(found).count("for (") == 3
    assert counted(found.body, {"T": 1, "N": 40, "A": 3, "B": 20, "C": 11}) <= 1 + 2 + 4 * 40
    four = tree("T, N, A, B, C, D", {"S[t, i]": row(0), **points, "D[t]": ("t, D, 4", "0 <= t < T and 0 <= D < N")})
    found = scan(four)  # as isl's code, of which one point is a test of five at each value
    for at in product((-1, 2), repeat=4):
        assert deviation(four, found, {"T": 1, "N": 4, **dict(zip("ABCD", at, strict=True))}) is None
    assert str(found).count("for (") == 2


def test_a_size_that_is_promised_to_be_0_at_least_is_looked_at_there():
    """isl's code has 38 tests for N = 40 and p = 0, where no value is asked whether p is 1 or more."""
    one = tree("N, p, P", {"S[i]": ("i, 0", "p <= i < N - 1 and p >= 1"), "R[i]": ("i, 1", "2 <= i < N - 2")})
    found = scan(one, context=Set("[N, p, P] -> { : 0 <= p < P }"))
    for n, p in product((0, 1, 4, 5, 6, 9), range(5)):
        assert deviation(one, found, {"N": n, "p": p, "P": 6}) is None
    assert counted(found.body, {"N": 40, "p": 0, "P": 40}) == 38
    assert counted(found.body, {"N": 5, "p": 0, "P": 5}) == 3


def test_a_loop_is_cut_at_one_value_of_another_one_that_sizes_may_leave_out():
    """No value of a row is asked whether it is M, where that is the last but one and N says whether it is there."""
    one = tree("M, N", {"S[]": ("M, 0", "N >= 5"), "R[i]": ("i + 2, 1", "0 <= i < M and N mod 2 = 0")})
    found = scan(one, context=Set("[M, N] -> { : M >= 1 }"))
    for m, n in product((1, 2, 3, 7), (0, 3, 4, 5, 6, 8)):
        assert deviation(one, found, {"M": m, "N": n}) is None
    assert counted(found.body, {"M": 40, "N": 10}) <= 40 + 10
    assert counted(found.body, {"M": 40, "N": 4}) <= 40 + 10
