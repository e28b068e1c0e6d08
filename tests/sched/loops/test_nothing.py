"""Sizes that leave loops nothing are asked for before them: a size of 0, and those between which no multiple is."""

import pytest

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation


def tiles(statement):
    """What a block of two and a thread of eight have of a row in tiles of eight, full ones apart."""
    return f"""{{ filter: "[b] -> {{ {statement}[i, j] : floor(j/8) mod 2 = b }}", child: {{ schedule:
        "[{{ {statement}[i, j] -> [(j - (j mod 8))] }}]",
        options: "[P] -> {{ isolate[[a] -> [c]] : c mod 8 = 0 and 0 <= c <= P - 8 }}", child: {{
        filter: "[t] -> {{ {statement}[i, j] : j mod 8 = t }}", child: {{
        schedule: "[{{ {statement}[i, j] -> [(j)] }}]" }} }} }} }}"""


def plain(statement):
    """All of a row."""
    return f"""{{ filter: "{{ {statement}[i, j] }}", child: {{ schedule: "[{{ {statement}[i, j] -> [(j)] }}]" }} }}"""


def rows(part):
    """Two statements, one after the other in each of N rows."""
    return Schedule.parse(
        f"""{{ domain: "[N, P] -> {{ A[i, j] : 0 <= i < N and 0 <= j < P; B[i, j] : 0 <= i < N and 0 <= j < P }}",
             child: {{ context: "[N, P, b, t] -> {{ [] : P >= 0 and 0 <= b <= 1 and 0 <= t <= 7 }}", child: {{
             schedule: "[{{ A[i, j] -> [(i)]; B[i, j] -> [(i)] }}]", child: {{
             sequence: [ {part("A")}, {part("B")} ] }} }} }} }}"""
    )


@pytest.mark.parametrize("part, most", [(tiles, (1, 47, 57)), (plain, (28, 46, 416))])
def test_a_size_of_0_stands_before_loops_that_ask_at_each_iteration(part, most):
    """A nest without conditions inside stays as it is written, as in isl's code."""
    tree = rows(part)
    found = scan(tree)
    for b, t in ((0, 0), (1, 1)):
        for n, p in ((0, 5), (3, 0), (3, 1), (2, 9), (2, 26)):
            assert deviation(tree, found, {"N": n, "P": p, "b": b, "t": t}) is None
    each = [counted(found.body, {"N": n, "P": p, "b": 0, "t": 0}) for n, p in ((9, 0), (9, 1), (5, 40))]
    assert tuple(each) == most


def test_a_multiple_that_sizes_leave_is_asked_for_before_the_loops_over_its_parts():
    """Diagonals of tiles of 4 by blocks b and threads t: d - i is 4*b - t mod 8, and less than M."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[d, i] : 0 <= i < N and d - M < i <= d }", child: {
             context: "[N, M, b, t] -> { [] : 1 <= N and 1 <= M and 0 <= b <= 1 and 0 <= t <= 3 }", child: {
             filter: "[b] -> { S[d, i] : floor(d/4) mod 2 = b and floor(i/4) mod 2 = 0 }", child: {
             schedule: "[{ S[d, i] -> [(floor(d/4))] }, { S[d, i] -> [(floor(i/4))] }]", child: {
             filter: "[t] -> { S[d, i] : d mod 4 = 0 and i mod 4 = t }", child: {
             schedule: "[{ S[d, i] -> [(d mod 4)] }, { S[d, i] -> [(i mod 4)] }]" } } } } } }"""
    )
    found = scan(tree)
    for n in (1, 6, 13):
        for m in range(1, 11):
            for b in (0, 1):
                for t in (0, 1, 3):
                    assert deviation(tree, found, {"N": n, "M": m, "b": b, "t": t}) is None
    sizes = {(1, 0, 0): 33, (1, 0, 1): 1, (1, 1, 0): 1, (2, 1, 3): 27, (8, 1, 2): 32}
    assert {at: counted(found.body, {"N": 33, **dict(zip("Mbt", at, strict=True))}) for at in sizes} == sizes


@pytest.mark.parametrize(
    "beside, where, added, tests",
    [
        ("", "M + 2 * N >= 4", "", (1, 551, 871, 3148)),
        (
            "S[i] : 0 <= i <= 1; ",
            "M + 2 * N >= 4",
            "[o, p, q] -> X[o, x] : 1 <= o <= 2 and p = 0 and q = 0 and 0 <= x <= 1; ",
            (10, 560, 880, 3157),
        ),
    ],
)
def test_sizes_that_leave_nothing_stand_before_loops_with_what_an_extension_adds(beside, where, added, tests):
    """X comes where T does, or S: loops of T alone need what T does, also beside S, which has no size."""
    zeros = ("S[i] -> [(0)]; " if beside else "",) * 2
    outer = "S[i] -> [(i + 1)]; " if beside else ""
    tree = Schedule.parse(
        f"""{{ domain: "[N, M] -> {{ {beside}T[i, j, k] : -1 <= i <= 3 and 0 <= j <= N and -2 <= k < M and
                                     2N + k >= 3 }}", child: {{ schedule: "[N, M] -> [{{ {outer}T[i, j, k] -> [(0)] }},
             {{ {zeros[0]}T[i, j, k] -> [(floor((j + 4*floor((k - 2i + 1)/4))/3))] }},
             {{ {zeros[1]}T[i, j, k] -> [(-2k mod 3)] }}]", child: {{
             extension: "[N, M] -> {{ {added}[o, p, q] -> X[o, x] : o = 0 and N >= 1 and 2N + M >= 4 and M >= -1 and
                         -N - M - 4 <= p <= N + M + 4 and 0 <= q <= 2 and 0 <= x <= 1 }}", child: {{ sequence: [
             {'{ filter: "{ S[i] }" },' if beside else ""}
             {{ filter: "{{ T[i, j, k] }}", child: {{
                schedule: "[{{ T[i, j, k] -> [(i)] }}, {{ T[i, j, k] -> [(j)] }}]" }} }},
             {{ filter: "{{ X[o, x] }}" }} ] }} }} }} }}"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in (-1, 0, 1, 3) for m in (-2, -1, 0, 1, 4))
    assert str(found).count(f"if ({where})") == 1
    assert tuple(counted(found.body, {"N": n, "M": n}) for n in (1, 2, 3, 9)) == tests


def test_a_size_that_rows_of_points_need_together_stands_before_loops_of_rows():
    """A and B are at points of a row of N, which has none where N = 0: no step of time asks for them then."""
    tree = Schedule.parse(
        """{ domain: "[T, N, a, b] -> { S[t, i] : 0 <= t < T and 0 <= i < N; A[t] : 0 <= t < T and 0 <= a < N;
                                        B[t] : 0 <= t < T and 0 <= b < N }", child: {
             schedule: "[T, N, a, b] -> [{ S[t, i] -> [(t)]; A[t] -> [(t)]; B[t] -> [(t)] },
             { S[t, i] -> [(i)]; A[t] -> [(a)]; B[t] -> [(b)] }]", child: { sequence: [
             { filter: "{ S[t, i] }" }, { filter: "{ A[t] }" }, { filter: "{ B[t] }" } ] } } }"""
    )
    found = scan(tree)
    for n, a, b in ((0, 0, 0), (1, 0, 0), (4, 1, 3), (4, 3, 1), (4, 2, 2), (4, -1, 5), (-1, 0, 0)):
        assert deviation(tree, found, {"T": 3, "N": n, "a": a, "b": b}) is None
    assert counted(found.body, {"T": 100, "N": 0, "a": 0, "b": 0}) == 1
