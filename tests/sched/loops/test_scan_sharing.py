"""Which statements share a loop, and what the loop knows: no tests where bounds and strides can say it."""

from itertools import permutations

import pytest

from polyvolta.sched.loops.ast import Block, Call, For, If, within
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import budget
from polyvolta.sets.budgets import left
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import assert_scans, deviation


def tree(domain, *bands, options=""):
    """Bands below one another, each a list of members as texts."""
    below = ""
    for members in reversed(bands):
        child = f", child: {below}" if below else ""
        chosen = f', options: "{options}"' if options else ""
        below = f'{{ schedule: "[{", ".join(f"{{ {m} }}" for m in members)}]"{chosen}{child} }}'
    return Schedule.parse(f'{{ domain: "{domain}", child: {below} }}')


def lines(schedule, *sizes):
    """The loops, which must visit the instances of the tree in its order at some sizes."""
    found = scan(schedule)
    for size in sizes:
        assert deviation(schedule, found, size) is None
    return [line for line in str(found).split("\n") if line and not line.startswith("#")]


def nested(body, depth=0):
    """The greatest number of loops around anything, and whether there is a condition."""
    most, tests = depth, False
    for node in body:
        if not isinstance(node, Call):
            assert isinstance(node, (For, If, Block))
            inner, found = nested(within(node), depth + isinstance(node, For))
            most, tests = max(most, inner), tests or found or isinstance(node, If)
    return most, tests


SIZES = [{"N": n} for n in (0, 1, 7, 8, 33)]


def test_scaled_tiles_have_the_bound_of_the_partial_tile():
    got = tree("[N] -> { S[i] : 0 <= i < N }", ["S[i] -> [(8*floor(i/8))]"], ["S[i] -> [(i - 8*floor(i/8))]"])
    assert lines(got, *SIZES) == [
        "for (int c0 = 0; c0 < N; c0 += 8)",
        "  for (int c1 = 0; c1 < min(8, N - c0); c1 += 1)",
        "    S(c0 + c1);",
    ]


def test_two_levels_of_scaled_tiles_have_no_conditions():
    got = tree(
        "[N] -> { S[i] : 0 <= i < N }",
        ["S[i] -> [(16*floor(i/16))]"],
        ["S[i] -> [(4*floor((i mod 16)/4))]"],
        ["S[i] -> [(i mod 4)]"],
    )
    lines(got, *SIZES)
    assert nested(scan(got).body) == (3, False)


def test_a_number_on_the_grid_keeps_the_stride():
    got = tree("[N] -> { T[i] : 0 <= i < N; S[] }", ["T[i] -> [(8*floor(i/8))]; S[] -> [(16)]"])
    assert "\n".join(lines(got, *SIZES)).count("c0 += 8)\n") == 2  # before 16 and behind it


def test_a_number_where_a_loop_begins_is_before_it():
    """In integers: no multiple of 8 is below 0 where i is not."""
    got = tree("[N] -> { T[i] : 0 <= i < N; S[] }", ["T[i] -> [(8*floor(i/8))]; S[] -> [(0)]"])
    found = lines(got, *SIZES)
    assert found[0] == "S();" and found[1].endswith("c0 += 8)")


@pytest.mark.parametrize("options", ["", "{ atomic[0]; atomic[1]; atomic[2] }"])
def test_statements_that_run_one_after_another_share_no_loop(options):
    got = tree(
        "[N] -> { A[]; B[i] : 0 <= i < N; C[i, j] : 0 <= i < N and 0 <= j < N; D[] }",
        ["A[] -> [(0)]; B[i] -> [(1)]; C[i, j] -> [(2)]; D[] -> [(3)]"]
        + ["A[] -> [(0)]; B[i] -> [(i)]; C[i, j] -> [(i)]; D[] -> [(7)]"]
        + ["A[] -> [(0)]; B[i] -> [(0)]; C[i, j] -> [(j)]; D[] -> [(5)]"],
        options=options,
    )
    assert lines(got, *SIZES) == [
        "A();",
        "for (int c1 = 0; c1 < N; c1 += 1)",
        "  B(c1);",
        "for (int c1 = 0; c1 < N; c1 += 1)",
        "  for (int c2 = 0; c2 < N; c2 += 1)",
        "    C(c1, c2);",
        "D();",
    ]


def test_points_before_and_behind_an_inner_loop_stand_outside_of_it():
    got = tree(
        "[N] -> { I[i] : 0 <= i < N; S[i, j] : 0 <= j < i < N; D[i] : 0 <= i < N }",
        ["I[i] -> [(i)]; S[i, j] -> [(i)]; D[i] -> [(i)]", "I[i] -> [(0)]; S[i, j] -> [(j)]; D[i] -> [(i)]"]
        + ["I[i] -> [(0)]; S[i, j] -> [(1)]; D[i] -> [(2)]"],
    )
    assert lines(got, *SIZES) == [
        "for (int c0 = 0; c0 < N; c0 += 1) {",
        "  I(c0);",
        "  for (int c1 = 0; c1 < c0; c1 += 1)",
        "    S(c0, c1);",
        "  D(c0);",
        "}",
    ]


def test_a_loop_is_cut_at_numbers_beside_it():
    got = tree(
        "[N] -> { L[i] : 0 <= i < N; P[]; Q[]; R[] }", ["L[i] -> [(i)]; P[] -> [(0)]; Q[] -> [(4)]; R[] -> [(8)]"]
    )
    assert lines(got, *SIZES) == [
        "P();",
        "for (int c0 = 0; c0 < min(4, N); c0 += 1)",
        "  L(c0);",
        "Q();",
        "for (int c0 = 4; c0 < min(8, N); c0 += 1)",
        "  L(c0);",
        "R();",
        "for (int c0 = 8; c0 < N; c0 += 1)",
        "  L(c0);",
    ]


def test_many_numbers_beside_a_nest_of_loops_have_calls_behind_it():
    names = "PQRSTU"
    got = tree(
        "[N] -> { L[i, j] : 0 <= i < N and 0 <= j < N; " + "; ".join(f"{name}[]" for name in names) + " }",
        [
            "L[i, j] -> [(i)]; " + "; ".join(f"{name}[] -> [({3 * k})]" for k, name in enumerate(names)),
            "L[i, j] -> [(j)]; " + "; ".join(f"{name}[] -> [(-1)]" for name in names),
        ],
    )
    found = lines(got, *SIZES)
    assert "for (int c0 = 0; c0 < N; c0 += 1) {" in found and "if (N <= 15) {" in found
    assert sum("for (int c0" in line for line in found) == 1


def test_a_number_before_and_behind_a_loop_at_it_cuts_out_what_that_has_there():
    got = tree(
        "[N] -> { L[i] : 0 <= i < N; P[]; Q[] }",
        ["L[i] -> [(i)]; P[] -> [(4)]; Q[] -> [(4)]", "L[i] -> [(1)]; P[] -> [(0)]; Q[] -> [(2)]"],
    )
    found = lines(got, *SIZES)
    assert found[:6] == [found[0], "  L(c0);", "P();", "if (N >= 5)", "  L(4);", "Q();"]


def test_a_row_and_a_diagonal_share_a_loop_where_they_meet():
    got = tree(
        "[N, M] -> { D[m, j] : m = M and 0 <= j < N; B[i] : 0 <= i < N }",
        ["D[m, j] -> [(m)]; B[i] -> [(i)]", "D[m, j] -> [(j)]; B[i] -> [(i)]"],
    )
    body = "\n".join(lines(got, *[{**size, "M": m} for size in SIZES for m in (-1, 0, 5, 40)]))
    assert body.count("for (int c0") == 1
    assert "if (c0 == M) {\n    for (int c1" in body and "} else {\n    B(c0);\n" in body


def test_a_filter_of_blocks_and_threads_makes_strides():
    got = Schedule.parse("""
domain: "[N] -> { S[i] : 0 <= i < N }"
child:
  context: "[b, t] -> { [] : 0 <= b < 4 and 0 <= t < 4 }"
  child:
    filter: "[b] -> { S[i] : (floor(i/8) - b) mod 4 = 0 }"
    child:
      schedule: "[{ S[i] -> [(8*floor(i/8))] }]"
      child:
        filter: "[t] -> { S[i] : (i - t) mod 4 = 0 }"
        child:
          schedule: "[{ S[i] -> [(i mod 8)] }]"
""")
    sizes = [{"N": n, "b": b, "t": t} for n in (0, 7, 90) for b in (0, 3) for t in (0, 2)]
    assert lines(got, *sizes)[0] == "for (int c0 = 8 * b; c0 < N; c0 += 32)"
    assert nested(scan(got).body) == (2, False)


def test_what_one_statement_asks_and_all_others_imply_stands_outside():
    got = tree(
        "[N] -> { S[n, i, j] : 0 <= n < N and 8 <= i <= 14 and 0 <= j <= 4; U[n, i] : 0 <= n < N and 0 <= i <= 14; "
        "T[n, i, j] : 0 <= n < N and i = 10 and 0 <= j <= 4 }",
        ["S[n, i, j] -> [(n)]; T[n, i, j] -> [(n)]; U[n, i] -> [(n)]"],
        ["S[n, i, j] -> [(i)]; T[n, i, j] -> [(i)]; U[n, i] -> [(i)]"],
        ["S[n, i, j] -> [(j)]; T[n, i, j] -> [(j)]; U[n, i] -> [(9)]"],
    )
    assert lines(got, *SIZES)[:6] == [
        "for (int c0 = 0; c0 < N; c0 += 1)",
        "  for (int c1 = 0; c1 < 15; c1 += 1) {",
        "    if (c1 >= 8)",
        "      for (int c2 = 0; c2 < 5; c2 += 1) {",
        "        S(c0, c1, c2);",
        "        if (c1 == 10)",
    ]


def test_separate_loops_keep_the_stride_that_all_share():
    got = tree(
        "[N] -> { S[i] : 2 <= 2i <= N; T[i] : 4 <= 4i <= N }",
        ["S[i] -> [(2i)]; T[i] -> [(4i)]"],
        options="{ separate[x] }",
    )
    text = "\n".join(lines(got, *SIZES))
    assert "c0 += 2" in text and "c0 += 1" not in text and "% 2" not in text


def test_seven_ranges_are_separate_where_they_make_few_cells():
    names = "ABCDEFG"
    got = tree(
        "[N] -> { " + "; ".join(f"{n}[i] : 0 <= i < N - {k}" for k, n in enumerate(names)) + " }",
        ["; ".join(f"{n}[i] -> [(i)]" for n in names)],
        options="{ separate[x] }",
    )
    lines(got, *SIZES)
    assert not scan(got).notes


def test_a_value_off_the_grid_cuts_the_loop_and_leaves_the_stride():
    got = tree(
        "[N, P] -> { T[i] : 0 <= i < N; S[p] : p = P }",
        ["T[i] -> [(8*floor(i/8))]; S[p] -> [(p)]"],
        ["T[i] -> [(i)]; S[p] -> [(0)]"],
    )
    text = "\n".join(lines(got, *[{"N": n, "P": p} for n in (0, 1, 9, 24) for p in (-3, 0, 5, 8, 16, 30)]))
    assert text.count("for (int c0") == text.count("c0 += 8") == 2 and "c0 == P" not in text


def test_statements_at_different_residues_of_a_parameter_share_no_loop():
    got = tree(
        "[N] -> { T[i] : 0 <= i < N and N mod 2 = 0; S[i] : 0 <= i < N and N mod 2 = 1 }",
        ["T[i] -> [(i)]; S[i] -> [(2i)]"],
    )
    found = lines(got, *SIZES)
    assert [line for line in found if line[0] != " "] == ["if (N % 2 == 0) {", "} else {", "}"]
    assert "\n".join(found).count("for") == 2


def test_two_values_off_the_grid_cut_the_loop_and_leave_the_stride():
    got = tree("[N] -> { S[i] : -4 <= i < N; T[i] : 0 <= i <= 1 }", ["S[i] -> [(2*i)]; T[i] -> [(i)]"])
    found = lines(got, *[{"N": n} for n in (-5, -4, -2, 0, 1, 2, 9)])
    assert [line.partition("; ")[2] for line in found if "for" in line] == [
        "c0 <= min(-2, 2 * N - 2); c0 += 2)",
        "c0 <= 2 * N - 2; c0 += 2)",
    ]
    assert [line.strip() for line in found if "T(" in line] == ["T(0);", "T(1);"]
    assert "%" not in "\n".join(found)


def test_a_loop_of_three_statements_that_may_not_exist_is_tested_before():
    got = tree(
        "[N, M, K] -> { S[i] : K <= i <= 4K and M <= N; T[i] : N <= i <= N + K and N >= 5;"
        " U[i] : 3 <= i <= N + 1 and M >= 9 }",
        ["S[i] -> [(i)]; T[i] -> [(i)]; U[i] -> [(i)]"],
        options="{ atomic[0] }",
    )
    sizes = [{"N": n, "M": m, "K": k} for n in (-5, 0, 1, 5, 9) for m in (-4, 0, 6, 15) for k in (-1, 2, 4)]
    found = lines(got, *sizes)
    assert found[0].startswith("if (") and found[0].count(" || ") == 2
    assert found[1].startswith("  for (int c0 = ")


def test_integers_alone_leave_one_value():
    """5i + 1 modulo 3 is 1 - i and i modulo 4 is i, where i is 0 or 1."""
    got = tree("{ S[i] : 0 <= i <= 1 }", ["S[i] -> [((5*i + 1) mod 3)]", "S[i] -> [((i mod 4) + 1)]"])
    assert lines(got, {}) == ["for (int c0 = 0; c0 < 2; c0 += 1)", "  S(-c0 + 1);"]


def test_an_outermost_loop_of_fixed_length_is_tested_before_where_none_may_exist():
    got = tree(
        "[N, M, K] -> { S[i] : 2*M <= 1 - N and K <= i < M; S[i] : M mod 2 = 1 and K <= i <= N }",
        ["S[i] -> [(i mod 4)]", "S[i] -> [(i)]"],
    )
    sizes = [{"N": n, "M": m, "K": k} for n in (-9, -1, 0, 5, 8) for m in (-2, 1, 4, 5) for k in (-1, 0, 3)]
    found = lines(got, *sizes)
    assert found[0] == "if ((2 * M + N <= 1 && K < M) || ((M + 1) % 2 == 0 && K <= N))"
    assert found[1] == "  for (int c0 = 0; c0 < 4; c0 += 1) {"


def test_a_stronger_condition_stands_inside_a_weaker_one():
    got = tree(
        "[N] -> { S[i] : 0 <= i < N; T[i] : 1 <= i < N; U[i] : 2 <= i < N; V[i] : 1 <= i < N; W[i] : 0 <= i < N }",
        ["S[i] -> [(i)]; T[i] -> [(i)]; U[i] -> [(i)]; V[i] -> [(i)]; W[i] -> [(i)]"],
        ["S[i] -> [(0)]; T[i] -> [(1)]; U[i] -> [(2)]; V[i] -> [(3)]; W[i] -> [(4)]"],
    )
    assert lines(got, *SIZES) == [
        "for (int c0 = 0; c0 < N; c0 += 1) {",
        "  S(c0);",
        "  if (c0 >= 1) {",
        "    T(c0);",
        "    if (c0 >= 2)",
        "      U(c0);",
        "    V(c0);",
        "  }",
        "  W(c0);",
        "}",
    ]


def test_a_weaker_condition_that_comes_later_stands_around_a_stronger_one():
    got = tree(
        "[N] -> { S[i] : 0 <= i < N; U[] : N >= 4; T[i] : 1 <= i < N }",
        ["S[i] -> [(i)]; U[] -> [(3)]; T[i] -> [(i)]"],
        ["S[i] -> [(0)]; U[] -> [(1)]; T[i] -> [(2)]"],
    )
    assert lines(got, *SIZES) == [
        "for (int c0 = 0; c0 < N; c0 += 1) {",
        "  S(c0);",
        "  if (c0 >= 1) {",
        "    if (c0 == 3)",
        "      U();",
        "    T(c0);",
        "  }",
        "}",
    ]


def test_statements_between_many_sizes_take_few_steps():
    sizes = "ABCD"
    domains = "; ".join(
        f"S{k}[i, j] : {k % 3} <= i <= {sizes[k % 4]} and {k % 5} <= j <= {sizes[(k + 1) % 4]} and "
        f"{1 + k % 2}i <= {sizes[(k + 2) % 4]} + j"
        for k in range(12)
    )
    members = ", ".join("{ " + "; ".join(f"S{k}[i, j] -> [({e})]" for k in range(12)) + " }" for e in "ij")
    filters = ", ".join(f'{{ filter: "{{ S{k}[i, j] }}" }}' for k in range(12))
    below = f'{{ schedule: "[{members}]", child: {{ sequence: [ {filters} ] }} }}'
    schedule = Schedule.parse(f'{{ domain: "[A, B, C, D] -> {{ {domains} }}", child: {below} }}')
    with budget(1_000_000):
        before = left()
        found = scan(schedule)
        assert before - left() < 190_000  # 164,000; with a linear program for each row that others may imply 214,000
    assert len(found.body) > 1


def test_an_atomic_loop_stands_where_what_needs_it_runs():
    got = Schedule.parse(
        """{ domain: "[N, M] -> { S[] : N mod 4 >= 1; T[i] : -5 <= M <= 0 and 0 <= i <= 8 }", child: { schedule:
           "[{ S[] -> [(2)]; T[i] -> [(i)] }]", options: "{ atomic[0] }", child: { mark: "m" } } }"""
    )
    assert lines(got, *[{"N": n, "M": m} for n in (0, 1, 7) for m in (-6, -5, 0, 1, 9)]) == [
        "if (M >= -5 && M <= 0) {",
        "  for (int c0 = 0; c0 < 9; c0 += 1) {",
        "    // m",
        "    if (c0 == 2 && modd(N, 4) >= 1)",
        "      S();",
        "    T(c0);",
        "  }",
        "} else if (modd(N, 4) >= 1) {",
        "  // m",
        "  S();",
        "}",
    ]


def test_an_atomic_loop_is_one_where_others_have_two_places_without_it():
    band = ["S[] -> [(2)]; U[] -> [(4)]; T[i] -> [(i)]"]
    got = lines(
        tree("[M] -> { S[]; U[]; T[i] : M <= 0 and 0 <= i <= 8 }", band, options="{ atomic[0] }"), {"M": 0}, {"M": 1}
    )
    assert sum("for (" in line for line in got) == 1
    assert sum("S()" in line for line in got) == 1


def test_each_of_many_statements_has_the_many_values_that_it_has_alone_in_a_loop_of_its_own():
    """T is alone before 0 and U from 7 on, beside five statements between numbers, whatever they have in common."""
    spans = ((0, 2), (1, 3), (0, 4), (2, 5), (1, 6))
    few = [f"S{k}[i, j] : {low} <= i <= {high} and 0 <= j <= {k}" for k, (low, high) in enumerate(spans)]
    many = ["T[i, j] : M <= i <= 2 and 0 <= j <= 2", "U[i, j] : 0 <= i < N and 0 <= j <= 2"]
    names = ["S0", "S1", "S2", "S3", "S4", "T", "U"]
    members = ["; ".join(f"{s}[i, j] -> [({d})]" for s in names) for d in "ij"]
    tree = Schedule.parse(
        f"""{{ domain: "[N, M] -> {{ {"; ".join([*few, *many])} }}", child: {{
             schedule: "[{{ {members[0]} }}, {{ {members[1]} }}]", options: "{{ atomic[1] }}" }} }}"""
    )
    found = scan(tree)
    for n, m in ((0, 0), (3, 3), (9, 0), (0, -9), (9, -9)):
        assert deviation(tree, found, {"N": n, "M": m}) is None
    assert counted(found.body, {"N": 1000, "M": 0}) < 6 * 1000
    assert counted(found.body, {"N": 0, "M": -1000}) < 6 * 1000


def test_an_atomic_loop_is_none_beside_the_few_values_outside_at_which_statements_take_turns_in_it():
    """From i = 2 on S is before T, and no loop runs from 0 to i to find them; before there is U between."""
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : 0 <= i < N; T[i] : 1 <= i < N; U[i, j] : 0 <= i < 2 and 0 <= j < 3 }", child: {
             schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)]; U[i, j] -> [(i)] }, { S[i] -> [(0)]; T[i] -> [(i)];
             U[i, j] -> [(j)] }]", options: "{ atomic[1] }" } }"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n}) is None for n in range(-1, 7))
    assert {n: counted(found.body, {"N": n}) for n in (0, 1, 2, 3, 100)} == {0: 15, 1: 15, 2: 15, 3: 16, 100: 113}


TURNS = {  # values of a loop around, and of an atomic loop inside
    "halves and a number": ("S[i] -> [(i)]; T[i] -> [(i)]", "S[i] -> [(floor(i/2))]; T[i] -> [(11)]"),
    "forwards and backwards": ("S[i] -> [(i)]; T[i] -> [(i)]", "S[i] -> [(N - i)]; T[i] -> [(floor(i/2))]"),
    "thirds and halves": ("S[i] -> [(i)]; T[i] -> [(i)]", "S[i] -> [(floor(i/3))]; T[i] -> [(floor(i/2) - 4)]"),
    "strides": ("S[i] -> [(3i + 1)]; T[i] -> [(i)]", "S[i] -> [(i - 1)]; T[i] -> [(1)]"),
    "other strides": ("S[i] -> [(2i)]; T[i] -> [(3i)]", "S[i] -> [(i)]; T[i] -> [(9)]"),
    "several of one": ("S[i] -> [(floor(i/2))]; T[i] -> [(i)]", "S[i] -> [(i)]; T[i] -> [(4)]"),
}


def turns(name, separate, form):
    """A tree of these in one band, the loop around in one of its own, and in tiles besides."""
    outer, inner = TURNS[name]
    members = [outer, inner] if form == "one band" else [outer]
    if form == "tiles":
        members = [outer.replace("[(", "[(floor((").replace(")]", ")/4))]"), outer]
    types = [*(f"separate[{k}]" for k in range(len(members) - (form == "one band")) if separate)]
    types += ["atomic[1]"] if form == "one band" else []
    below = f', child: {{ schedule: "[N] -> [{{ {inner} }}]", options: "{{ atomic[0] }}" }}'
    return Schedule.parse(
        f"""{{ domain: "[N] -> {{ S[i] : 0 <= i <= N; T[i] : 0 <= i <= N }}", child: {{
             schedule: "[N] -> [{", ".join(f"{{ {m} }}" for m in members)}]", options: "{{ {"; ".join(types)} }}"
             {below if form != "one band" else ""} }} }}"""
    )


@pytest.mark.parametrize("form", ["one band", "two bands", "tiles"])
@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("name", TURNS)
def test_no_atomic_loop_grows_in_which_statements_are_in_order_from_a_value_outside_on(name, separate, form):
    """The loop outside is cut there: else one inside would run from one of them to the other one."""
    tree = turns(name, separate, form)
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n}) is None for n in (*range(-1, 14), 29, 37))
    assert counted(found.body, {"N": 1200}) < 4.2 * counted(found.body, {"N": 300})


def test_a_filter_that_lets_nothing_pass_in_a_loop_does_not_cut_it():
    """From t = 4 on M <= -1 has no instances: its ends cross there, and of no value are there two loops."""
    tree = Schedule.parse(
        """{ domain: "[M] -> { S[i] : 0 <= i <= 3; T[i, j] : 0 <= 2i <= M + 1 and 0 <= j <= 3 }", child: {
             schedule: "[{ S[i] -> [((2i) mod 3 + 1)]; T[i, j] -> [(2i + j - 1)] }]", child: { sequence: [
               { filter: "{ S[i] }" },
               { filter: "[M] -> { T[i, j] : M >= 0 }", child: { schedule: "[{ T[i, j] -> [(i)] }]" } },
               { filter: "[M] -> { T[i, j] : M <= -1 }", child: { schedule: "[{ T[i, j] -> [(i)] }]" } } ] } } }"""
    )
    assert_scans(tree, [{"M": m} for m in (-2, -1, 0, 1, 3, 8, 12)])


@pytest.mark.parametrize("order", [*permutations("STU")])
@pytest.mark.parametrize("options", ["atomic[0]", "separate[0]", ""])
def test_a_remainder_that_leaves_one_of_two_equal_values_gives_their_loop_no_stride(order, options):
    """S and U are at N, S at even ones alone: at odd ones U is beside the values of T, which have a stride of 8."""
    domain = {"S": "S[] : N mod 2 = 0", "T": "T[i] : 0 <= i <= 3", "U": "U[]"}
    values = {"S": "S[] -> [(N)]", "T": "T[i] -> [(8i)]", "U": "U[] -> [(N)]"}
    tree = Schedule.parse(
        f"""{{ domain: "[N] -> {{ {"; ".join(map(domain.get, order))} }}", child: {{
             schedule: "[N] -> [{{ {"; ".join(map(values.get, order))} }}]", options: "{{ {options} }}" }} }}"""
    )
    assert_scans(tree, [{"N": n} for n in range(-3, 28)])


@pytest.mark.parametrize("options", ["", "atomic[1]", "separate[1]", "atomic[0]; atomic[1]", "separate[0]"])
def test_nor_does_a_remainder_of_a_loop_outside(options):
    tree = Schedule.parse(
        f"""{{ domain: "{{ S[k] : 0 <= k < 9 and k mod 2 = 0; T[k, i] : 0 <= k < 9 and 0 <= i <= 3;
             U[k] : 0 <= k < 9 }}", child: {{ schedule: "[{{ S[k] -> [(k)]; T[k, i] -> [(k)]; U[k] -> [(k)] }},
             {{ S[k] -> [(k)]; T[k, i] -> [(8i)]; U[k] -> [(k)] }}]", options: "{{ {options} }}" }} }}"""
    )
    assert_scans(tree)
