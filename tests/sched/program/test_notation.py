"""Programs from relations, and trees from schedules that are one map."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.sched import run, scan
from polyvolta.sched.dependence import dependences
from polyvolta.sched.errors import BadArgument, BadProgram, BadSchedule, TreeSyntaxError
from polyvolta.sched.passes import insert_context
from polyvolta.sched.program import Program, instances
from polyvolta.sched.program.from_map import schedule_of_map
from polyvolta.sets import Map, Set

DOMAIN = "[M, N, K] -> { I[i, j] : 0 <= i < M and 0 <= j < N; S[i, j, k] : 0 <= i < M and 0 <= j < N and 0 <= k < K }"
READS = "{ S[i, j, k] -> C[i, j]; S[i, j, k] -> A[i, k]; S[i, j, k] -> B[k, j] }"
WRITES = "{ I[i, j] -> C[i, j]; S[i, j, k] -> C[i, j] }"
BODIES = {"I": "C[i, j] = beta * C[i, j]", "S": "C[i, j] += A[i, k] * B[k, j]"}


def tree(schedule, domain=DOMAIN):
    """The tree of a map, without its domain."""
    lines = schedule_of_map(Map(schedule), Set(domain)).show(ascii=True).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("  ") and line[2] != " ")
    return "\n".join(lines[first:])


def gemm(**more):
    reads = READS.replace("{ S", "{ I[i, j] -> C[i, j]; S", 1)
    return Program.parse(DOMAIN, reads, WRITES, bodies=BODIES, name="gemm", **more)


def test_statements_accesses_and_arguments():
    program = gemm()
    assert [s.name for s in program.statements] == ["I", "S"]
    assert program.statement("S").iterators == ("i", "j", "k")
    assert [a.array for a in program.statement("S").reads] == ["C", "A", "B"]
    assert program.arrays == ("C", "A", "B")
    assert program.params == ("M", "N", "K")
    assert program.arguments == ("C", "A", "B", "M", "N", "K", "beta")


def test_without_an_order_statements_run_one_after_another():
    schedule = gemm().schedule
    assert schedule == gemm(schedule="{ I[i, j] -> [0, i, j, 0]; S[i, j, k] -> [1, i, j, k] }").schedule
    n = 2 * 2
    ran = instances(schedule, M=2, N=2, K=2)
    assert [s for s, _ in ran] == ["I"] * n + ["S"] * 2 * n
    assert [p for _, p in ran[:n]] == sorted(p for _, p in ran[:n])


def test_unions_of_accesses():
    program = Program.parse(
        "{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9 }",
        "{ S[i] -> A[i]; T[i] -> A[i + 1] }",
        "{ S[i] -> B[i] }",
        may_writes="{ S[i] -> A[0]; T[i] -> B[0] : i > 4 }",
        kills="{ T[i] -> B[i] }",
    )
    assert program.reads.is_equal(Map("{ S[i] -> A[i] : 0 <= i < 9; T[i] -> A[i + 1] : 0 <= i < 9 }"))
    assert program.must_writes.is_equal(Map("{ S[i] -> B[i] : 0 <= i < 9 }"))
    assert program.may_writes.is_equal(Map("{ S[i] -> A[0] : 0 <= i < 9; T[i] -> B[0] : 4 < i < 9 }"))
    assert program.writes.is_equal(program.must_writes | program.may_writes)
    assert program.kills.is_equal(Map("{ T[i] -> B[i] : 0 <= i < 9 }"))
    assert [a.must for a in program.statement("S").writes] == [True, False]


def test_values_of_sets_are_taken_as_they_are():
    program = Program.parse(Set(DOMAIN), Map(READS), Map(WRITES), gemm().schedule, context=Set("[M] -> { : M > 1 }"))
    assert program.schedule == insert_context(gemm().schedule, (0,), Set("[M, N, K] -> { : M > 1 }"))
    assert program.context.is_equal(Set("[M, N, K] -> { : M > 1 }"))


def test_an_order_as_a_tree_and_as_its_text():
    schedule = gemm().schedule
    assert gemm(schedule=schedule).schedule == schedule
    text = schedule.to_isl()
    assert gemm(schedule=text).schedule == schedule
    assert gemm(schedule=schedule.to_isl(block=True)).schedule == schedule
    with pytest.raises(BadSchedule, match=r"misses I\[0, 0\] for M = 1, N = 1, K = 0"):
        gemm(schedule=text.replace("0 <= i < M and 0 <= j < N;", "1 <= i < M and 0 <= j < N;"))


# ---- trees


def test_the_last_constants_of_interleaved_statements_are_a_sequence_below_their_loops():
    assert (
        tree("{ I[i, j] -> [0, i, 0, j, 0, 0, 0]; S[i, j, k] -> [0, i, 0, j, 1, k, 0] }")
        == """\
  BAND: I[i, j] -> [i, j];
        S[i, j, k] -> [i, j]
    SEQUENCE
      FILTER: I[i, j]
      FILTER: S[i, j, k]
        BAND: S[i, j, k] -> [k]"""
    )


def test_constants_that_are_the_same_and_parameters_of_a_single_time_say_nothing():
    assert tree("[N] -> { S[i] -> [7, N, i, 0] }", "[N] -> { S[i] : 0 <= i < N }") == "  BAND: S[i] -> [i]"


def test_statements_that_take_turns_share_a_band():
    domain = "{ S[i] : 0 <= i < 3; T[i] : 0 <= i < 3 }"
    assert tree("{ S[i] -> [2i]; T[i] -> [2i + 1] }", domain) == "  BAND: S[i] -> [2*i];\n        T[i] -> [2*i + 1]"


def test_three_statements_two_of_them_together():
    domain = "{ S[i] : 0 <= i < 3; T[i] : 0 <= i < 3; U[i] : 0 <= i < 3 }"
    assert (
        tree("{ S[i] -> [0, i, 1]; T[i] -> [1, 0, i]; U[i] -> [0, i, 0] }", domain)
        == """\
  SEQUENCE
    FILTER: S[i]; U[i]
      BAND: S[i] -> [i];
            U[i] -> [i]
        SEQUENCE
          FILTER: U[i]
          FILTER: S[i]
    FILTER: T[i]
      BAND: T[i] -> [i]"""
    )


def test_tiled_and_skewed_times():
    domain = "[N] -> { S[t, i] : 0 <= t < N and 0 <= i < N }"
    assert tree("{ S[t, i] -> [floor(t/4), floor((t + i)/4), t, t + i] }", domain) == (
        "  BAND: S[t, i] -> [floor(t/4), floor((i + t)/4), t, i + t]"
    )


def test_times_by_cases_that_a_sequence_parts():
    domain = Set("{ S[i] : 0 <= i < 6; T[i] : 0 <= i < 2 }")
    times = Map("{ S[i] -> [0, i] : i < 3; S[i] -> [1, -i] : i >= 3; T[i] -> [1, i - 4] }")
    ran = instances(schedule_of_map(times, domain))
    assert [(s, *p) for s, p in ran] == [
        ("S", 0), ("S", 1), ("S", 2), ("S", 5), ("S", 4), ("T", 0), ("S", 3), ("T", 1),
    ]  # fmt: skip


@st.composite
def times(draw):
    """Two or three statements of two iterators with times of four dimensions."""
    parts = []
    for s in ("S", "T", "U")[: draw(st.integers(2, 3))]:
        row = []
        for _ in range(4):
            a, b, c = (draw(st.integers(-1, 1)) for _ in range(3))
            row.append(
                draw(st.sampled_from((str(draw(st.integers(0, 2))), f"{a}*i + {b}*j + {c}", "floor((i + j)/2)")))
            )
        parts.append(f"{s}[i, j] -> [{', '.join(row)}]")
    return parts


@given(times())
@settings(max_examples=60, deadline=None)
def test_the_tree_has_the_order_of_the_map(parts):
    domain = Set("{ " + "; ".join(f"{p[0]}[i, j] : 0 <= i < 3 and 0 <= j < 3" for p in parts) + " }")
    schedule = Map("{ " + "; ".join(parts) + " }")
    ran = instances(schedule_of_map(schedule, domain))
    when = {}
    for p in parts:
        for point in schedule.only(p[0]).intersect_domain(domain.only(p[0])).points():
            when[p[0], point[:2]] = point[2:]
    assert set(ran) == set(when) and len(ran) == len(when)
    at = [when[x] for x in ran]
    assert at == sorted(at)


# ---- running


def test_the_bodies_run_in_the_order():
    program = gemm()
    rng = np.random.default_rng(0)
    A, B, C = rng.random((3, 2)), rng.random((2, 4)), rng.random((3, 4))
    expected = A @ B + 2.0 * C
    assert program(C, A, B, M=3, N=4, K=2, beta=2.0) is None
    assert np.allclose(C, expected, rtol=1e-15, atol=1e-15)


def test_scalars_and_local_arrays():
    program = Program.parse(
        "[N] -> { S[i] : 0 <= i < N; T[] : N > 0; U[i] : 0 <= i < N }",
        "{ S[i] -> x[i]; S[i] -> t[]; T[] -> t[]; T[] -> u[i] : i = 0; U[i] -> t[] }",
        "{ S[i] -> t[]; T[] -> r[]; U[i] -> u[i] }",
        "[N] -> { S[i] -> [0, i]; U[i] -> [1, i]; T[] -> [2, 0] }",
        bodies={"S": "t += x[i]", "U": "u[i] = t * t", "T": "r = sqrt(u[0]) + t"},
        local=("t", "u"),
    )
    assert program.arguments == ("x", "r", "N")
    r = np.zeros(())
    program([1.0, 2.0, 3.0], r, 3)
    assert r == 12.0


def test_the_order_matters():
    text = "[N] -> { S[i] : 0 < i < N }", "{ S[i] -> A[i - 1] }", "{ S[i] -> A[i] }"
    up = Program.parse(*text, bodies="A[i] = A[i - 1]")
    down = Program.parse(*text, "{ S[i] -> [-i] }", bodies="A[i] = A[i - 1]")
    first, second = [1, 2, 3], [1, 2, 3]
    up(first, 3)
    down(second, 3)
    assert first == [1, 1, 1] and second == [1, 1, 2]


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, "no value for A, N"),
        (([1], 2, 3), {}, "3 arguments for 2"),
        (([1],), {"n": 2}, "no argument is called 'n'"),
        (([1], 2), {"N": 2}, "N is given twice"),
        (([1], 2.5), {}, "the parameter N is an integer, not 2.5"),
        (([1], 0), {}, "N = 0 is outside of the context"),
    ],
)
def test_calls_that_do_not_fit(args, named, message):
    program = Program.parse(
        "[N] -> { S[i] : 0 <= i < N }", writes="{ S[i] -> A[i] }", bodies="A[i] = 0", context="[N] -> { : N > 0 }"
    )
    with pytest.raises(BadArgument, match=message):
        program(*args, **named)


def test_a_scalar_that_is_written_is_an_array():
    program = Program.parse("{ S[] }", writes="{ S[] -> s[] }", bodies="s = 2")
    with pytest.raises(BadArgument, match="s is written: it is an array without dimensions, not a float") as caught:
        program(0.0)
    s = eval(caught.value.hint, {"numpy": np})
    program(s)
    assert s == 2


def test_what_a_body_raises_comes_with_its_instance():
    program = Program.parse("{ S[i] : 0 <= i < 4 }", writes="{ S[i] -> A[i] }", bodies="A[i] = 1 / (2 - i)")
    with pytest.raises(ZeroDivisionError) as caught:
        program([0] * 4)
    assert caught.value.__notes__ == ["in S[2]: A[i] = 1 / (2 - i)"]


def test_instances_are_listed_of_a_schedule():
    program = Program.parse("{ S[i] : 0 <= i < 4 }")
    with pytest.raises(BadArgument, match="of a Schedule, not of a Program") as caught:
        instances(program)
    assert caught.value.hint == "instances(program.schedule, ...)"


def test_a_program_without_bodies_does_not_run():
    with pytest.raises(BadProgram, match="S has no body"):
        Program.parse("{ S[i] : 0 <= i < 3 }")()


# ---- what does not fit

STRIPE = "[N] -> { Stmt[i] : 0 <= i < N }"
WRONG = [
    ({"reads": "{ Smt[i] -> A[i] }"}, BadProgram, "the statement Smt[i], which has no domain", "did you mean 'Stmt'?"),
    ({"writes": "{ Stmt[i, j] -> A[i] }"}, BadProgram, "the writes have Stmt[i, j], the domain Stmt[i]", ""),
    ({"reads": "{ Stmt[i] -> [i] }"}, BadProgram, "an array is a tuple with a name", "S[i] -> A[i]"),
    ({"reads": "{ Stmt[i] -> A[i] }", "writes": "{ Stmt[i] -> A[i, i] }"}, BadProgram, "A has 2 subscripts", ""),
    ({"reads": "{ Stmt[i] -> Acc[i] }", "kills": "{ Stmt[i] -> Ac[i] }"}, BadProgram, "reads or writes Ac", "'Acc'"),
    (
        {"reads": "{ Stmt[i] -> Acc[i] }", "bodies": "Ac[i] = 0"},
        BadProgram,
        "uses Ac, to which it has no access",
        "'Acc'",
    ),
    ({"reads": "{ Stmt[i] -> A[i] }", "bodies": "x = A[i]"}, BadProgram, "uses x, to which it has no access", ""),
    (
        {"reads": "{ Stmt[i] -> A[i] }", "bodies": "A[i] = sqt(2)"},
        BadProgram,
        "calls sqt, which is not known",
        "functions=",
    ),
    (
        {"writes": "{ Stmt[i] -> A[i] }", "bodies": "A[j] = 0"},
        BadProgram,
        "a subscript in the body of Stmt has j, which is no iterator and no parameter",
        "known: i, N",
    ),
    ({"writes": "{ Stmt[i] -> N[i] }"}, BadProgram, "N is an array and a parameter", ""),
    ({"writes": "{ Stmt[i] -> i[i] }", "bodies": "i[i] = 0"}, BadProgram, "i is an array and an iterator", ""),
    ({"bodies": "A[i] = = 2"}, BadProgram, "the body of Stmt is no Python", ""),
    ({"bodies": {"Stmt": 3}}, BadProgram, "the body of Stmt is a text, not an int", "A[i] = 0"),
    ({"bodies": ["A[i] = 0"]}, BadProgram, "texts by the names of statements, not a list", "bodies={"),
    ({"schedule": 5}, BadProgram, "an order is a map or a tree, not an int", "{ S[i] -> [i] }"),
    ({"bodies": {"Smt": "pass"}}, BadProgram, "a body for Smt, which has no domain", "did you mean 'Stmt'?"),
    ({"local": ("t",)}, BadProgram, "the local array t is accessed by no statement", ""),
    ({"schedule": "{ Stm[i] -> [i] }"}, BadSchedule, "orders Stm[i], which is no statement", "did you mean 'Stmt'?"),
    ({"schedule": "{ Stmt[i, j] -> [i] }"}, BadSchedule, "the schedule has Stmt[i, j], the program Stmt[i]", ""),
    ({"schedule": "{ Stmt[i] -> [i] : i != 5 }"}, BadSchedule, "the schedule misses Stmt[5] for N = 6", ""),
    ({"schedule": "{ Stmt[i] -> [t] : t >= i }"}, BadSchedule, "an instance of Stmt has several times", ""),
]


BY_CASES = [
    "{ Stmt[i] -> [i] : i < 3; Stmt[i] -> [7 - i] : i > 2 }",
    "{ Stmt[i] -> [i, 0] : i < 3; Stmt[i] -> [7 - i, i] : i > 2 }",
    "{ Stmt[i] -> [i mod 2, 1, i] : i < 3; Stmt[i] -> [1, 0, 9 - i] : i = 4; Stmt[i] -> [1, i] : i = 3 or i > 4 }",
]


@pytest.mark.parametrize("times", BY_CASES)
def test_times_by_cases_make_a_member_by_cases(times):
    """The instances by the relation's own times, each evaluated at its point."""
    tree = Program.parse(STRIPE, schedule=times).schedule
    n = 9
    one = {i: Map(times).intersect_domain(Set(f"{{ Stmt[{i}] }}")).range().sample_point() for i in range(n)}
    width = max(map(len, one.values()))
    order = sorted(range(n), key=lambda i: (*one[i], *[0] * (width - len(one[i]))))
    assert [point[0] for _, point in run(scan(tree), N=n)] == order
    assert tree == Program.parse(STRIPE, schedule=tree).schedule


@pytest.mark.parametrize(("given", "kind", "message", "hint"), WRONG, ids=[w[2] for w in WRONG])
def test_parts_that_do_not_fit(given, kind, message, hint):
    with pytest.raises(kind) as caught:
        Program.parse(STRIPE, **given)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_context_has_no_dimensions():
    with pytest.raises(BadProgram, match="parameters alone"):
        Program.parse(STRIPE, context="[N] -> { [i] : i < N }")


def test_domains_that_are_none():
    for domain, message in (
        ("{ [i] : i = 0 }", "a tuple with a name, not [i]"),
        ("{ S[i] : i = 0; S[i, j] : i = j = 0 }", "the statement S has S[i] and S[i, j]"),
        ("{ [S[i] -> T[j]] : i = j = 0 }", "a tuple with a name"),
        ("{ }", "at least one statement"),
    ):
        with pytest.raises(BadProgram) as caught:
            Program.parse(domain)
        assert message in caught.value.message


def test_one_body_for_several_statements():
    with pytest.raises(BadProgram, match="one body for several statements"):
        Program.parse(DOMAIN, bodies="C[i, j] = 0")


def test_statements_without_instances_need_no_time():
    domain = "{ S[i] : 0 <= i < 3; T[i] : false }"
    assert Program.parse(domain, schedule="{ S[i] -> [i]; U[i] -> [0] : false }").statement("T").domain.is_empty()
    with pytest.raises(BadSchedule, match=r"misses S\[0\]"):
        Program.parse(domain, schedule="{ T[i] -> [i] }")


def test_an_order_that_is_one_band():
    domain = "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }"
    for text in (
        "[N] -> [{ S[i] -> [(N - i)]; T[k] -> [(k)] }]",
        "[{ S[i] -> [(-i)]; T[i] -> [(-i)] }, { S[j] -> [j] ; T[i] -> [0] }]",
    ):
        found = Program.parse(domain, schedule=text).schedule
        assert len(found.band((0,)).members) == text.count("{")
        assert found.to_map().domain().is_equal(Set(domain))
    with pytest.raises(TreeSyntaxError, match="no statement is called U"):
        Program.parse(domain, schedule="[{ U[i] -> [(i)] }]")


def test_shorter_times_are_filled_up_with_zeros():
    domain = "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }"
    short = Program.parse(domain, schedule="{ S[i] -> [0]; T[i] -> [1, i] : i > 0; T[i] -> [2] : i <= 0 }").schedule
    long = Program.parse(domain, schedule="{ S[i] -> [0, 0]; T[i] -> [1, i] : i > 0; T[i] -> [2, 0] : i <= 0 }")
    assert short.to_map().is_equal(long.schedule.to_map())
    with pytest.raises(BadSchedule, match="tuples of one name"):
        Program.parse(domain, schedule="{ S[i] -> A[i]; T[i] -> B[i] }")


def test_fields_of_structures_are_arrays_of_wrapped_tuples():
    program = Program.parse(
        "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }",
        reads="{ T[i] -> s_f[s[i] -> f[3]] }",
        writes="{ S[i] -> s_f[s[i] -> f[j]] : 0 <= j < 8; S[i] -> s_g[s[i] -> g[]] }",
        schedule="{ S[i] -> [0, i]; T[i] -> [1, i] }",
    )
    (found,) = dependences(program)
    assert program.arrays == ("s_f", "s_g") and "s_f[s[i] → f[3]]" in str(program)
    assert (found.kind, found.array) == ("RAW", "s_f")
    assert found.relation.is_equal(Map("[N] -> { S[i] -> T[i] : 0 <= i < N }"))
    with pytest.raises(BadProgram, match="a tuple with a name"):
        Program.parse("{ S[i] : 0 <= i < 4 }", writes="{ S[i] -> [s[i] -> f[]] }")
