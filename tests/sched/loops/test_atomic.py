"""Atomic loops have each statement once, as isl's do."""

from itertools import product

import pytest

import polyvolta.isl as ours
from polyvolta.sched.by_isl.bands import band_of
from polyvolta.sched.cases import Cases
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

isl = pytest.importorskip("islpy")

RIM = "0 <= i, j <= n and (i = 0 or j = 0 or i = n or j = n)"
DIAGONALS = "0 <= i, j < n and (i = j or i + j = n)"
HEAD = f'{{ domain: "[n] -> {{ S[i, j, k] : 0 <= k <= n and {RIM}; T[i, j, k] : 0 <= k <= n and {DIAGONALS} }}"'
BOTH = "{ S[i, j, k] -> [(%s)]; T[i, j, k] -> [(%s)] }"
PARTS = 'sequence: [ { filter: "{ S[i, j, k] }" }, { filter: "{ T[i, j, k] }" } ]'
BAND = f'schedule: "[n] -> [{BOTH % ("i", "i")}, {BOTH % ("j", "j")}]", options: "{{ atomic[x] }}"'
INNER = f'{{ schedule: "[n] -> [{BOTH % ("k", "k")}]", child: {{ {PARTS} }} }}'


def code(m, times, options):
    build = m.AstBuild.from_context(m.Set("{ : }")).set_options(m.UnionMap(options))
    return build.node_from_schedule_map(m.UnionMap(times)).to_C_str()


def test_a_relation_with_atomic_loops_has_one_nest_with_one_call():
    times = f"[n] -> {{ S[i, j] -> [i, j] : {RIM} }}"
    assert code(ours, times, "{ [i, j] -> atomic[x] }").splitlines() == [
        "for (int c0 = 0; c0 <= n; c0 += 1)",
        "  for (int c1 = 0; c1 <= n; c1 += 1)",
        "    if (c0 == 0 || c1 == 0 || c0 == n || c1 == n)",
        "      S(c0, c1);",
    ]
    assert code(ours, times, "{ }").count("S(") == 4


def test_a_condition_of_atomic_loops_stands_above_the_loops_inside():
    """isl's test codegen/disjuncts."""
    times = f"[n] -> {{ a[i, j, k, l] -> [i, j, 0, k, l] : 0 <= k, l <= n and {RIM}; "
    times += f"b[i, j, k, l] -> [i, j, 1, k, l] : 0 <= k, l <= n and {RIM} }}"
    found = code(ours, times, "{ [i, j, t, k, l] -> atomic[x] }")
    assert found.replace("c0 == 0 || c1 == 0 || c0 == n || c1 == n", "c1 == n || c0 == n || c1 == 0 || c0 == 0") == (
        code(isl, times, "{ [i, j, t, k, l] -> atomic[x] }")
    )


@pytest.mark.parametrize("child", [INNER, f"{{ {PARTS} }}"])
def test_below_an_atomic_loop_each_statement_is_called_once(child):
    """Also where a loop inside is of no type, and where no piece says the argument that is right for all of them."""
    text = f"{HEAD}, child: {{ {BAND}, child: {child} }} }}"
    if child != INNER:
        text = text.replace(", k]", "]").replace("0 <= k <= n and", "")
    tree = Schedule.parse(text)
    found = scan(tree)
    assert all(deviation(tree, found, {"n": n}) is None for n in range(5))
    for name in "ST":
        assert str(found).count(f"{name}(c0, c1") == str(found).count(f"{name}(") == 1


def test_values_of_a_relation_that_one_expression_says_are_no_cases():
    times = "[n] -> { S[i] -> [i] : i = 0 or i = n or 3 <= i <= 5; T[i] -> [0] : i < 0; T[i] -> [i] : i > 0 }"
    band = band_of(ours.UnionMap(times), ours.UnionMap(times).domain())
    assert str(dict(band.members[0].exprs)["S"]) == "i"
    assert isinstance(dict(band.members[0].exprs)["T"], Cases)


def test_at_sizes_that_leave_one_call_of_atomic_loops_it_stands_beside_them():
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j, k] : 0 <= i and 2i <= M and 0 <= j <= 1 and N - 1 <= k <= 3; U[] }", child: {
             schedule: "[N, M] -> [{ S[i, j, k] -> [(floor((k - i)/8))]; U[] -> [(floor((N + 1)/2) - 1)] }]",
             options: "{ atomic[0] }", child: {
             schedule: "[N, M] -> [{ S[i, j, k] -> [(floor((k - i)/4))]; U[] -> [(N - 1)] }]",
             options: "{ atomic[0] }", child: {
             schedule: "[N, M] -> [{ S[i, j, k] -> [(N + 2j + 1)]; U[] -> [(1)] },
                                    { S[i, j, k] -> [(3 - 2k)]; U[] -> [(1)] }]",
             child: { sequence: [ { filter: "{ S[i, j, k] }" }, { filter: "{ U[] }" } ] } } } } }"""
    )
    found, text = scan(tree), str(scan(tree))
    assert "\nif (N <= 4" in text and text.endswith("} else {\n  U();\n}")
    assert text.count("for (int c0") == text.count("for (int c1") == 1
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in range(-3, 8) for m in (-1, 0, 1, 6, 9))
    assert counted(found.body, {"N": 9, "M": 9}) == 1


APART = {  # a member that is atomic where one has two values, what is isolated, and what orders them
    "one that is nowhere isolated runs between the values of the other": (
        "S[i] : i = 0 or i = 4; T[]",
        "{ S[i] -> [(floor(N/2))]; T[] -> [(floor((N + 1)/2))] }, { S[i] -> [(i)]; T[] -> [(floor((M + 1)/3))] }",
        "isolate[[] -> [a, b]] : a <= N and b >= 1; [isolate[] -> atomic[1]]",
    ),
    "one that is nowhere isolated runs after one that is": (
        "S[]; T[]; U[]",
        "{ S[] -> [(M)]; T[] -> [(M)]; U[] -> [(0)] }, { S[] -> [(N)]; T[] -> [(0)]; U[] -> [(floor((N + 1)/2))] }",
        "isolate[[] -> [a, b]] : b >= 2; atomic[0]; separate[1]; [isolate[] -> atomic[1]]",
    ),
}


@pytest.mark.parametrize("name", APART)
def test_what_is_known_not_to_be_isolated_keeps_its_place_in_an_atomic_loop(name):
    domain, band, options = APART[name]
    tree = Schedule.parse(
        f"""{{ domain: "[N, M] -> {{ {domain} }}", child: {{ schedule: "[N, M] -> [{band}]",
             options: "[N, M] -> {{ {options} }}" }} }}"""
    )
    found = scan(tree)
    assert [deviation(tree, found, {"N": n, "M": m}) for n in range(-4, 8) for m in range(-4, 8)] == [None] * 144


def test_an_atomic_loop_of_several_statements_two_of_which_end_alike_asks_once_whether_one_of_them_runs():
    """Three cases are too many to choose a bound for each that is none elsewhere, and their two bounds don't say it."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { A[i] : 0 <= i < N and (N + M) mod 3 = 0; B[i] : 1 <= i < M - N and N mod 5 >= 2;
                                  C[i] : 0 <= i < N - 2 and M mod 3 > 0 }", child: { schedule:
             "[N, M] -> [{ A[i] -> [(N - 1 - i)]; B[i] -> [(i)]; C[i] -> [(N - 1 - i)] }]", options: "{ atomic[0] }",
             child: { sequence: [ { filter: "{ A[i] }" }, { filter: "{ B[i] }" }, { filter: "{ C[i] }" } ] } } }"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n in range(-1, 9) for m in range(-1, 9))
    assert str(found).count("for (") == 1
    assert [counted(found.body, {"N": 1, "M": m}) for m in (3, 30, 300, 3000)] == [3, 3, 3, 3]


ATOMIC = """{ domain: "[N, M] -> { S[i] : M <= i < 4; T[i] : 0 <= i < N }", child: { schedule: "[
  { S[i] -> [(floor(i/4))]; T[i] -> [(floor(i/4))] }, { S[i] -> [(floor(i/2))]; T[i] -> [(floor(i/2))] },
  { S[i] -> [(i)]; T[i] -> [(i)] }]", options: "{ atomic[0] }" } }"""
PIECES = """{ domain: "[N, M] -> { S[i] : M - 1 <= i <= 2; S[i] : N >= 6 and 0 <= 2i <= N + 1;
    S[i] : N <= 2 and 0 <= 2i <= N + 1 }", child: { schedule: "[N] -> [{ S[i] -> [(floor((i + 1)/4))] },
  { S[i] -> [(floor((11 - N - 2i)/12) - 1)] }, { S[i] -> [(i + 1)] }]", options: "{ atomic[0]; atomic[2] }" } }"""


@pytest.mark.parametrize(
    "text, tests",
    [
        (ATOMIC, {(9, 0): 38, (40, 3): 124, (9, -40): 158}),
        (PIECES, {(1, 1): 23, (9, 9): 44, (40, 40): 92, (100, 100): 188}),
    ],
)
def test_what_is_in_an_atomic_loop_is_in_cases_of_its_values(text, tests):
    tree = Schedule.parse(text)
    found = scan(tree)
    assert len([line for line in str(found).splitlines() if "for (int c0" in line]) == 1
    assert all(deviation(tree, found, {"N": n, "M": m}) is None for n, m in product(range(-2, 11), range(-6, 7)))
    assert {(n, m): counted(found.body, {"N": n, "M": m}) for n, m in tests} == tests
