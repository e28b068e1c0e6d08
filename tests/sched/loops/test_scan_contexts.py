"""What a context says of members holds where instances come by; it is no reason to run some where there are none."""

import pytest

from polyvolta.sched import Schedule, insert_context, scan
from polyvolta.sched.errors import BadArgument, NotScannable
from polyvolta.sets import Set, budget
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import assert_scans, deviation

ONE = Set("[N] -> { : N >= 1 }")


def parsed(domain, band, context):
    return Schedule.parse(
        f'{{ domain: "{domain}", child: {{ schedule: "[N] -> [{band}]", child: {{ context: "{context}" }} }} }}'
    )


def test_a_context_of_members_with_known_values_does_not_stand_for_the_domain():
    """S[i] exists for N = 1 alone; that 2i <= 2 there says nothing about N = 3."""
    tree = parsed("[N] -> { S[i] : N <= i and i >= 0 and 2*i <= N + 1 }", "{ S[i] -> [(2*i)] }", "{ [p] : p <= 2 }")
    assert_scans(tree, [{"N": n} for n in (1, 2, 3)], ONE)


def test_pieces_of_a_domain_keep_their_conditions_above_a_context():
    domain = "[N] -> { S[i] : N >= 3 and i = N; S[i] : N <= 1 and i = N }"
    tree = parsed(domain, "{ S[i] -> [(i + 1)] }", "{ [p] : p = 4 }")
    assert_scans(tree, [{"N": n} for n in (2, 3)])


def test_a_context_below_many_cases_takes_few_steps():
    """Where more than one case says that an instance comes by, none of them is tested: two are enough to see."""
    tree = Schedule.parse("""{ domain:
        "[N, M] -> { S[i, j, k] : N - 1 <= i <= 3 and N <= j <= N + 2 and j <= k <= j + 1 }",
        child: { filter: "[M] -> { S[i, j, k] : (M - j) mod 3 <> 2; S[i, j, k] : j mod 3 = 0 }", child: {
        extension: "[N, M] -> { [] -> X[x] : N <= 4 and M <= x <= M + 1 }", child: { schedule:
            "[{ S[i, j, k] -> [(floor(k/4))]; X[x] -> [(floor(x/4))] },
             { S[i, j, k] -> [(k mod 4)]; X[x] -> [(x mod 4)] }]",
        child: { context: "[N, M] -> { [p0, p1] : N >= -1 and M >= 1 and p1 >= 0 }" } } } } }""")
    with budget(40_000):
        scan(tree)
    assert_scans(
        tree, [{"N": n, "M": m} for n in (-1, 3) for m in (1, 2, 3)], Set("[N, M] -> { : N >= -1 and M >= 1 }")
    )


def test_a_context_of_sizes_is_trusted():
    tree = parsed("[N] -> { S[i] : 0 <= i < N }", "{ S[i] -> [(i)] }", "[N] -> { [p] : N >= 1 }")
    found = assert_scans(tree, [{"N": n} for n in (1, 2, 3)])
    assert "if" not in str(found)


PROMISE = """{ domain: "[N] -> { S[i] : 0 <= i < N }", child: { sequence: [
    { filter: "[N] -> { S[i] : N >= 5 }", child: { context: "[N] -> { [] : N >= 5 }",
      child: { schedule: "[{ S[i] -> [(i)] }]" } } },
    { filter: "[N] -> { S[i] : N <= 4 }", child: { schedule: "[{ S[i] -> [(-i)] }]" } } ] } }"""


def test_a_context_of_sizes_is_trusted_below_a_filter_that_lets_nothing_pass_at_others():
    """As by isl: where N <= 4 no instance comes by, and the first loop runs all the same; a guard is tested."""
    promised = assert_scans(Schedule.parse(PROMISE), [{"N": n} for n in (5, 9)])
    assert str(promised).startswith("for (int c0 = 0; c0 < N; c0 += 1)\n  S(c0);\nif (N <= 4)")
    tested = assert_scans(Schedule.parse(PROMISE.replace("context", "guard")), [{"N": n} for n in (3, 5, 9)])
    assert str(tested).startswith("if (N >= 5) {")


def test_a_context_at_the_top_is_as_good_as_one_that_is_given():
    """With N >= 1 known the quotient is C's own; else it would be floord(N + 3, 4)."""
    text = (
        '{ domain: "[N] -> { S[i] : 0 <= i < N }", child: { context: "[N] -> { : N >= 1 }", '
        'child: { schedule: "[N] -> [{ S[i] -> [(floor(i/4))] }]" } } }'
    )
    found = assert_scans(Schedule.parse(text), [{"N": n} for n in (1, 4, 9)])
    assert "c0 < (N + 3) / 4" in str(found)


def test_a_bound_that_each_case_of_a_context_gives():
    """Neither m nor n is bounded, the smaller of them is."""
    text = """{ domain: "[m, n] -> { A[i] : 0 <= i < m and i < n }",
        child: { context: "[m, n] -> { : m <= %s or n <= 3 }",
        child: { schedule: "[{ A[i] -> [(i)] }]", options: "{ unroll[0] }" } } }"""
    found = assert_scans(Schedule.parse(text % 2), [{"m": m, "n": n} for m, n in ((1, 9), (2, 2), (9, 3), (0, 5))])
    assert "for" not in str(found)
    with pytest.raises(NotScannable, match="no constant bounds how often it runs"):
        assert_scans(Schedule.parse(text % "n"), [])


@pytest.mark.parametrize("never", ["[N] -> { : 1 = 0 }", "{ : false }", "{ }", "[N] -> { : N <= 3 and 2N = 7 }"])
def test_where_nothing_is_possible_there_is_no_code(never):
    domain = "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }"
    both = "{ S[i] -> [(i)]; T[i] -> [(i)] }"
    tree = Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "[{both}]" }} }}')
    assert scan(tree).body and scan(tree, never).body == ()
    if never != "{ }":
        assert scan(insert_context(tree, (0,), never)).body == ()
    below = "[N] -> { [p] : p < 0 and p > N and N > 0 }"
    text = f"""{{ domain: "{domain}", child: {{ sequence: [
        {{ filter: "{{ S[i] }}", child: {{ schedule: "[{both}]", child: {{ context: "{below}" }} }} }},
        {{ filter: "{{ T[i] }}", child: {{ schedule: "[{both}]" }} }} ] }} }}"""
    assert str(scan(Schedule.parse(text))) == "for (int c0 = 0; c0 < N; c0 += 1)\n  T(c0);"


def test_an_impossible_context_is_one_of_parameters_all_the_same():
    tree = parsed("[N] -> { S[i] : 0 <= i < N }", "{ S[i] -> [(i)] }", "{ [p] }")
    for never in ("{ [p] : false }", "{ S[i] : false }"):
        with pytest.raises(BadArgument, match="a context speaks of the parameters, of no tuple"):
            scan(tree, never)


def test_a_block_is_asked_for_alike_by_all_its_threads():
    """Where a thread's instances are those at a remainder, what is left of their tiles' is the block's congruence."""
    tree = Schedule.parse("""{ domain: "[N, b, t] -> { S[i, j] : 0 <= i, j < N; T[i, j] : 0 <= i, j < N }", child: {
        context: "[N, b, t] -> { [] : 0 <= b <= 3 and 0 <= t <= 32 }", child: {
        schedule: "[{ S[i, j] -> [(floor(i/33))]; T[i, j] -> [(floor(i/33))] }, { S[i, j] -> [(floor(j/33))]; T[i, j] ->
        [(floor(j/33))] }]", child: {
        filter: "[b] -> { S[i, j] : (floor(i/33) - b) mod 4 = 0; T[i, j] : (floor(i/33) - b) mod 4 = 0 }", child: {
        sequence: [
        { filter: "[t] -> { S[i, j] : t = i mod 33 }", child: { schedule: "[{ S[i, j] -> [(j mod 33)] }]" } },
        { filter: "[t] -> { T[i, j] : t = j mod 33 }", child: { schedule: "[{ T[i, j] -> [(i mod 33)] }]" } }
        ] } } } } }""")
    found = scan(tree)
    lines = str(found).splitlines()
    assert [line.strip() for line in lines if "%" in line and "define" not in line] == ["if ((b - c0) % 4 == 0)"]
    for at in ({"N": 70, "b": 1, "t": 3}, {"N": 40, "b": 0, "t": 32}):
        assert deviation(tree, found, at) is None


def test_a_value_of_a_loop_outside_that_a_context_promises_is_asked_for_so_that_the_loop_ends():
    """Beyond the third tile neither the guard nor the context lets anything come by."""
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : 0 <= i <= N }", child: {
             schedule: "[{ S[i] -> [(floor(i/8))] }, { S[i] -> [(i mod 8)] }]", child: { sequence: [
             { filter: "{ S[i] : i mod 8 <= 3 }", child: { guard: "{ [a, b] : a <= 2 }" } },
             { filter: "{ S[i] : i mod 8 >= 4 }", child: { context: "{ [a, b] : a = 0 }" } } ] } } }"""
    )
    loops = scan(tree)
    assert [counted(loops.body, {"N": n}) for n in (3, 20, 100, 1000)] == [11, 58, 67, 67]
    assert "else if (c0 == 0)" in str(loops)
