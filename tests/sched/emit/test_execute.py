"""Programs computing under schedules, in Python and in C: results, interfaces, and what is refused.

Every nest here is run as it was written, by Python, and the generated code must leave the same bits behind.
"""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest

from polyvolta.sched import build, execute
from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.errors import BadArgument, BadProgram, BadSchedule, NoCompiler, NotTranslatable
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.passes import contract, insert_context, map_members, tile
from polyvolta.sched.program import nest
from polyvolta.sched.program.model import Program
from polyvolta.sched.scheduler import schedule as best
from polyvolta.sched.tree import Band, Context, Domain, Extension, Filter, Guard, Member, Schedule, Sequence
from polyvolta.sets import Map, Set, var

COMPILED = pytest.param("c", marks=pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"))
LANGUAGES = pytest.mark.parametrize("using", ["python", COMPILED])
in_c = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@nest
def gemm(A, B, C, alpha, M, N, K):
    for i in range(M):
        for j in range(N):
            C[i, j] = 0.0
            for k in range(K):
                C[i, j] += alpha * A[i, k] * B[k, j]


@nest
def filters(x, y, N):
    """A recurrence through a scalar, functions, a choice on data, integers in expressions, a floor in a subscript."""
    for i in range(1, N):
        mean = (x[i] + x[i - 1]) / 2
        y[i] = math.sqrt(abs(mean)) if mean > 0.0 else min(mean, -1.0, i - 3) * i
        y[i // 2] += math.exp(-(x[i] ** 2)) / (i + 1) - 7 // i + (-i) % 4


@nest
def counts(n, h, N):
    """Integers."""
    for i in range(N):
        h[i] = (n[i] * 5 - 7) // 3 + n[i] % 4 + (i - 3) % 5 - (n[i] if n[i] > i else -i)


def random(*shape, dtype=np.float64):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


def assert_same(program, using, schedule=None, **arguments):
    """Runs the nest and the generated code on copies; the arrays that they leave behind are the same bits."""
    copies = [{k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()} for _ in range(2)]
    program(**copies[0])
    execute(program, schedule, using=using, **copies[1])
    for name, value in copies[0].items():
        np.testing.assert_array_equal(value, copies[1][name], name)


# ---- results


@LANGUAGES
def test_a_product_is_the_nests(using):
    assert_same(gemm, using, A=random(5, 7), B=random(7, 4), C=random(5, 4), alpha=0.3, M=5, N=4, K=7)


@LANGUAGES
def test_scalars_functions_choices_and_integers(using):
    assert_same(filters, using, x=random(23), y=random(23), N=23)


@LANGUAGES
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_integers_divide_as_python_does(using, dtype):
    numbers = np.arange(-9, 12, dtype=dtype)
    assert_same(counts, using, n=numbers, h=np.zeros(21, dtype), N=21)


@LANGUAGES
@pytest.mark.skipif(np.__version__ < "2", reason="numpy 1 makes doubles of singles and numbers")
def test_single_precision_stays_single(using):
    x, y = random(23, dtype=np.float32), random(23, dtype=np.float32)

    @nest
    def smooth(x, y, a, N):
        for i in range(1, N - 1):
            y[i] = 0.1 * x[i - 1] + a * x[i] + x[i + 1] / 3
            y[i] *= 1.7
            y[i] -= x[i] * i

    assert_same(smooth, using, x=x, y=y, a=0.7, N=23)


@LANGUAGES
def test_another_order_computes_the_same(using):
    """The first index of the output runs fastest, and in tiles of 3."""

    @nest
    def outer(a, b, C, M, N):
        for i in range(M):
            for j in range(N):
                C[i, j] += a[i] * b[j]

    (path,) = outer.schedule.bands()
    band = outer.schedule.band(path)
    i, j = band.schedule("S")
    exprs = (j // 3, i // 3, j, i)
    tiled = outer.schedule.replace(path, Band(tuple(Member((("S", e),)) for e in exprs), band.child))
    assert_same(outer, using, tiled, a=random(8), b=random(10), C=random(8, 10), M=8, N=10)
    assert "// 3" in build(outer, tiled).text or "3 *" in build(outer, tiled).text


@LANGUAGES
def test_a_local_array_is_made_and_starts_with_zeros(using):
    program = Program.parse(
        "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }",
        "{ S[i] -> a[i]; S[i] -> t[i + 1]; T[i] -> t[i + 1] }",
        "{ S[i] -> t[i + 1]; T[i] -> a[i] }",
        bodies={"S": "t[i + 1] += 2 * a[i]", "T": "a[i] = t[i + 1]"},
        local=("t",),
    )
    a = random(6)
    expected = 2 * a
    execute(program, a=a, N=6, using=using)
    np.testing.assert_array_equal(a, expected)


@LANGUAGES
def test_an_array_without_dimensions_carries_a_sum(using):
    program = Program.parse(
        "[N] -> { S[i] : 0 <= i < N }",
        "{ S[i] -> a[i]; S[i] -> total[] }",
        "{ S[i] -> total[] }",
        bodies="total += a[i]",
    )
    total = np.zeros(())
    execute(program, a=np.arange(5.0), total=total, N=5, using=using)
    assert total == 10


@in_c
def test_c_takes_parts_of_larger_arrays():
    big = random(9, 20)
    assert_same(gemm, "c", A=big[2:7, 3:10], B=big[:7, 5:9], C=random(5, 4), alpha=2.0, M=5, N=4, K=7)
    C = np.zeros((6, 12))
    execute(gemm, A=big[2:7, 3:10], B=big[:7, 5:9], C=C[:5, 4:8], alpha=1.0, M=5, N=4, K=7, using="c")
    np.testing.assert_allclose(C[:5, 4:8], big[2:7, 3:10] @ big[:7, 5:9])
    assert not C[5].any() and not C[:, :4].any() and not C[:, 8:].any()


@in_c
def test_coincident_loops_run_in_parallel():
    @nest
    def outer(a, b, C, M, N):
        for i in range(M):
            for j in range(N):
                C[i, j] += a[i] * b[j]

    (path,) = outer.schedule.bands()
    band = outer.schedule.band(path)
    members = tuple(replace(m, coincident=True) for m in band.members)
    compiled = build(outer, outer.schedule.replace(path, replace(band, members=members)), using="c", parallel=True)
    assert compiled.text.count("#pragma omp parallel for\n  for (long c0") == 1
    C = np.zeros((30, 20))
    compiled(a=np.arange(30.0), b=np.arange(20.0), C=C, M=30, N=20)
    np.testing.assert_array_equal(C, np.outer(np.arange(30.0), np.arange(20.0)))


def twice(value):
    return 2 * value


@nest
def doubled(a, N):
    for i in range(N):
        a[i] = twice(a[i])


def test_python_runs_any_function():
    assert_same(doubled, "python", a=random(5), N=5)


# ---- texts


def test_the_python_text_is_a_function_of_the_arguments():
    assert (
        build(gemm).text
        == """\
def gemm(A, B, C, alpha, M, N, K):
    for c0 in range(M):
        for c1 in range(N):
            C[c0, c1] = 0.0
            for c2 in range(K):
                C[c0, c1] += alpha * A[c0, c2] * B[c2, c1]"""
    )


def test_the_c_text_is_a_function_in_c99():
    assert (
        to_c(scan(gemm.schedule, gemm.context), gemm)
        == """\
void gemm(int M, int N, int K, int A_1, int B_1, int C_1, const double A[][A_1],
          const double B[][B_1], double C[][C_1], double alpha)
{
  for (int c0 = 0; c0 < M; c0 += 1)
    for (int c1 = 0; c1 < N; c1 += 1) {
      C[c0][c1] = 0.0;
      for (int c2 = 0; c2 < K; c2 += 1)
        C[c0][c1] += alpha * A[c0][c2] * B[c2][c1];
    }
}"""
    )


def test_subscripts_are_added_up():
    @nest
    def shifted(a, b, N):
        for i in range(2, N):
            b[i - 2] = a[2 * i - 1] + i

    assert "b[c0 - 2] = a[2 * c0 - 1] + c0" in build(shifted).text
    (path,) = shifted.schedule.bands()
    (e,) = shifted.schedule.band(path).schedule("S")
    early = shifted.schedule.replace(path, Band((Member((("S", e - 2),)),)))
    assert "b[c0] = a[2 * c0 + 3] + (c0 + 2)" in build(shifted, early).text


def test_loop_variables_keep_clear_of_arguments():
    @nest
    def scaled(c0, N):
        for i in range(N):
            c0[i] *= 3

    assert_same(scaled, "python", c0=random(4), N=4)
    assert "for c0_ in range(N)" in build(scaled).text


@in_c
def test_words_of_c_are_spelled_otherwise():
    @nest
    def double(register, int_1, N):
        for i in range(N):
            register[i] += int_1[i, 0]

    assert_same(double, "c", register=random(4), int_1=random(4, 2), N=4)


# ---- refusals

GOOD = {"A": np.ones((5, 7)), "B": np.ones((7, 4)), "C": np.ones((5, 4)), "alpha": 1.0, "M": 5, "N": 4, "K": 7}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": None}, "C is an array, not None"),
        ({"C": [[0.0] * 4] * 5}, r"C is an array, not a list"),
        ({"A": np.ones(5)}, "A has 2 dimensions in gemm, not 1"),
        ({"K": 7.0}, "the parameter K is an integer, not 7.0"),
        ({"alpha": "x"}, "alpha is a number, not a str"),
        ({"N": 5}, "touches C from 0 to 4 in dimension 1, whose size is 4"),
        ({"a": 1}, "'a' is no argument of gemm"),
    ],
)
def test_arguments_that_do_not_fit(change, message):
    with pytest.raises(BadArgument, match=message):
        execute(gemm, **{**GOOD, **change})


def test_missing_arguments_are_named():
    without = lambda *names: {k: v for k, v in GOOD.items() if k not in names}  # noqa: E731
    with pytest.raises(BadArgument, match="the arguments alpha, K of gemm are missing"):
        execute(gemm, **without("alpha", "K"))
    with pytest.raises(BadArgument, match="the argument alpha of gemm is missing"):
        execute(gemm, **without("alpha"))


def test_a_name_that_is_nearly_right_is_suggested():
    with pytest.raises(BadArgument) as error:
        execute(gemm, **GOOD, alpa=2)
    assert "did you mean 'alpha'?" in str(error.value)


def test_reading_before_the_first_element_is_refused():
    """Python would take the last one."""
    before = Program.parse("[N] -> { S[i] : 0 <= i < N }", "{ S[i] -> a[i - 1] }", "{ S[i] -> a[i] }",
                           bodies="a[i] = a[i - 1]")  # fmt: skip
    with pytest.raises(BadArgument, match="touches a from -1 to 4 in dimension 0"):
        execute(before, a=np.zeros(5), N=5)


def test_parameters_outside_of_the_context():
    program = Program.parse("[N] -> { S[i] : 0 <= i < N }", None, "{ S[i] -> a[i] }", context="[N] -> { : N >= 3 }",
                            bodies="a[i] = 1.0")  # fmt: skip
    with pytest.raises(BadArgument, match="assumes"):
        execute(program, a=np.zeros(5), N=2)


def test_a_program_without_bodies_is_not_run():
    program = Program.parse("[N] -> { S[i] : 0 <= i < N }", None, "{ S[i] -> a[i] }")
    with pytest.raises(BadProgram, match="the body of S is not known"):
        execute(program, a=np.zeros(5), N=5)


def test_a_read_only_array_is_not_written():
    C = np.ones((5, 4))
    C.flags.writeable = False
    with pytest.raises(BadArgument, match="C is written"):
        execute(gemm, **{**GOOD, "C": C})


@in_c
def test_c_refuses_functions_of_python():
    with pytest.raises(NotTranslatable, match="a call of twice") as error:
        execute(doubled, a=np.ones(3), N=3, using="c")
    assert error.value.where == "a[i] = twice(a[i])\n       ^^^^^"


@in_c
@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((5, 4), order="F"), "do not lie row by row"),
        (np.ones((5, 8))[:, ::2], "do not lie row by row"),
        (np.ones((5, 4), np.float16), "elements of C are float16"),
        (np.ones((5, 4), ">f8"), "elements of C are >f8"),
    ],
)
def test_c_refuses_arrays_that_are_none_of_c(array, message):
    with pytest.raises(BadArgument, match=message):
        execute(gemm, **{**GOOD, "C": array}, using="c")


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    tripled = Program.parse("[N] -> { S[i] : 0 <= i < N }", None, "{ S[i] -> a[i] }", bodies="a[i] = 3")
    with pytest.raises(NoCompiler, match="no C compiler"):
        execute(tripled, a=random(8), N=8, using="c")


def test_a_language_that_is_none():
    with pytest.raises(BadArgument, match="no language"):
        execute(gemm, **GOOD, using="fortran")


def test_extensions_have_no_bodies():
    schedule = gemm.schedule
    copy = Extension(
        Map("{ [] -> X[i] : 0 <= i < 3 }"), Sequence((Filter(("X",)), Filter(("S1", "S2"), schedule.root.child)))
    )
    with pytest.raises(BadSchedule, match=r"the extension adds X\[0\] for M = 0, .*, which has no body"):
        build(gemm, schedule.replace((0,), copy))


# ---- trees that are not the program's

steps = Program.parse("[N] -> { S[i] : 0 <= i < N }", None, "{ S[i] -> a[i] }", bodies="a[i] = i + 1.0")


def over(domain, *between):
    """A tree over other instances, with nodes between the domain and the band."""
    child = Band((Member((("S", var("i")),)),))
    for node in reversed(between):
        child = node(child)
    return Schedule(Domain(Set(domain), child))


@LANGUAGES
@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (over("[N] -> { S[i] : 0 <= i < N - 1 }"), r"the tree misses S\[0\] for N = 1"),
        (over("[N] -> { S[i] : 0 <= i < N + 200000 }"), r"the tree runs S\[0\] for N = 0"),
        (over("[N] -> { S[i] : 0 <= i < N and N >= 3 }"), r"the tree misses S\[0\] for N = 1"),
        (over("[N] -> { S[i, j] : 0 <= i < N and j = 0 }"), r"instances S\[i, j\]"),
        (over("[N] -> { T[i] : 0 <= i < N }"), "no statement T|no expression"),
        (over("[N, T] -> { S[i] : 0 <= i < N + T }"), "the tree (runs|misses)"),
        (
            over("[N] -> { S[i] : 0 <= i < N }", lambda c: Filter(("S",), c, Set("{ S[i] : i >= 1 }"))),
            r"S\[0\] for N = 1 of the program does not pass",
        ),
        (
            over("[N] -> { S[i] : 0 <= i < N }", lambda c: Guard(Set("[N] -> { : N >= 4 }"), c)),
            r"S\[0\] for N = 1 of the program does not pass",
        ),
        (
            over("[N] -> { S[i] : 0 <= i < N }", lambda c: Extension(Map("[N] -> { [] -> S[i] : i = N }"), c)),
            "a second statement is called S",
        ),
    ],
)
def test_a_tree_runs_exactly_the_instances_of_the_program(using, tree, message):
    with pytest.raises(BadSchedule, match=message) as error:
        execute(steps, tree, using=using, a=np.zeros(5), N=5)
    assert "DOMAIN" in error.value.where


def test_a_contracted_tree_is_no_order_of_the_program():
    tree = contract(over("{ S[i] : 0 <= i < 64 }"), "S", {"i": 16})
    program = Program.parse("{ S[i] : 0 <= i < 64 }", None, "{ S[i] -> a[i] }", bodies="a[i] = i + 1.0")
    with pytest.raises(BadSchedule, match=r"the tree misses S\[1\]") as error:
        execute(program, tree, a=np.zeros(64))
    assert "an instance stands for a tile" in error.value.hint


@LANGUAGES
def test_a_guard_that_always_holds_and_other_words_for_the_same_instances(using):
    tree = over("[N] -> { S[i] : 0 <= i <= N - 1 and N >= 1 }", lambda c: Guard(Set("[N] -> { : N >= 1 }"), c))
    a = np.zeros(4)
    execute(steps, tree, using=using, a=a, N=4)
    np.testing.assert_array_equal(a, [1, 2, 3, 4])


@LANGUAGES
def test_what_the_tree_assumes_of_parameters_is_checked(using):
    """Without it, loops over full tiles would run beyond the array."""
    tree = over("[N] -> { S[i] : 0 <= i < N }", lambda c: Context(Set("[N] -> { : N mod 8 = 0 }"), c))
    with pytest.raises(BadArgument, match="the tree assumes"):
        execute(steps, tree, using=using, a=np.zeros(5), N=5)
    execute(steps, tree, using=using, a=np.zeros(8), N=8)


@LANGUAGES
def test_what_the_tree_assumes_of_members_is_checked_where_instances_come_by(using):
    band = Band((Member((("S", var("i") // 4),)),))
    inner = Context(Set("[N] -> { [t] : 4t + 4 <= N }"), Band((Member((("S", var("i")),)),)))
    tree = Schedule(Domain(steps.domain, Band(band.members, inner)))
    with pytest.raises(BadArgument, match="the tree assumes"):
        execute(steps, tree, using=using, a=np.zeros(5), N=5)
    a = np.zeros(8)
    execute(steps, tree, using=using, a=a, N=8)
    np.testing.assert_array_equal(a, np.arange(1, 9))
    execute(steps, tree, using=using, a=a, N=0)


def test_arguments_in_the_wrong_places():
    with pytest.raises(BadArgument, match="takes a Program") as error:
        execute(steps.schedule, steps, a=np.zeros(5), N=5)
    assert "the program comes first" in error.value.hint
    with pytest.raises(BadArgument, match="a Schedule, not a Scan") as error:
        execute(steps, scan(steps.schedule), a=np.zeros(5), N=5)
    assert "the tree that was scanned" in error.value.hint


# ---- all cores


@in_c
def test_execute_runs_loops_in_parallel():
    arguments = {"A": random(5, 7), "B": random(7, 4), "alpha": 0.3, "M": 5, "N": 4, "K": 7}
    one, all_cores = np.zeros((5, 4)), np.zeros((5, 4))
    order = best(gemm)
    assert "#pragma omp parallel for" in build(gemm, order, using="c", parallel=True).text
    execute(gemm, order, using="c", C=one, **arguments)
    execute(gemm, order, using="c", parallel=True, C=all_cores, **arguments)
    np.testing.assert_array_equal(one, all_cores)


@pytest.mark.parametrize("call", [execute, build])
def test_python_runs_on_one_core(call):
    with pytest.raises(BadArgument, match="one iteration after another") as error:
        call(gemm, parallel=True)
    assert error.value.hint == "parallel=True needs using='c'"
    with pytest.raises(BadArgument, match="parallel is True or False, not 'cuda'"):
        call(gemm, using="c", parallel="cuda")


# ---- large numbers


@in_c
def test_a_tile_that_no_integer_of_c_holds():
    order = tile(over("[N] -> { S[i] : 0 <= i < N }"), (0,), (2**70,))
    with pytest.raises(NotTranslatable, match="does not fit 64 bits"):
        build(steps, order, using="c")
    a = np.zeros(4)
    execute(steps, order, a=a, N=4)
    np.testing.assert_array_equal(a, [1, 2, 3, 4])


@in_c
@pytest.mark.parametrize("size", [2**31 - 1, 2**40])
def test_a_large_tile_holds_all(size):
    a = np.zeros(4)
    execute(steps, tile(over("[N] -> { S[i] : 0 <= i < N }"), (0,), (size,)), using="c", a=a, N=4)
    np.testing.assert_array_equal(a, [1, 2, 3, 4])


@in_c
@pytest.mark.parametrize("value", [2**63 - 1, 2**63, -(2**63), 2**100])
def test_sizes_with_which_64_bits_overflow(value):
    """The loops are empty or would touch nothing; in Python they may run."""
    none = Program.parse("[N, M] -> { S[i] : 0 <= i < N and i < M }", None, "{ S[i] -> a[i] }", bodies="a[i] = 1.0")
    with pytest.raises(BadArgument, match="may not fit 64 bits"):
        execute(none, using="c", a=np.zeros(2), N=2, M=value)
    a = np.zeros(2)
    execute(none, a=a, N=2, M=value)
    assert (a == (1 if value > 0 else 0)).all()


@in_c
def test_a_scalar_that_64_bits_do_not_hold():
    scale = Program.parse("[N] -> { S[i] : 0 <= i < N }", None, "{ S[i] -> a[i] }", bodies="a[i] = x")
    with pytest.raises(BadArgument, match="x = 9223372036854775808 does not fit"):
        execute(scale, using="c", a=np.zeros(2), N=2, x=2**63)
    a = np.zeros(2)
    execute(scale, using="c", a=a, N=2, x=2**62)
    assert (a == 2.0**62).all()


@in_c
@pytest.mark.parametrize("body", [f"a[i] = {2**63}", f"a[{2**70} * i] = 1.0"])
def test_constants_of_a_body_that_64_bits_do_not_hold(body):
    large = Program.parse("[N] -> { S[i] : 0 <= i < N }", None, "{ S[i] -> a[i] }", bodies=body)
    with pytest.raises(NotTranslatable, match="an integer of more than 64 bits"):
        to_c(large.schedule, large)


@pytest.mark.parametrize(("using", "language"), [("python", "Python"), ("c", "C")])
def test_a_notebook_shows_the_code_that_runs(using, language):
    from html import unescape
    from re import sub

    made = build(Program.parse("[N] -> { S[i] : 0 <= i < N }", bodies={"S": "a[i] = 1.0"}), using=using)
    shown = made._repr_html_()
    assert f"in {language}<" in shown and shown.startswith('<div class="pv">')
    assert made.text.strip() in unescape(sub("<[^>]*>", "", shown))


@nest
def apart(x, y, z, N, M):
    for i in range(N):
        y[i] = x[i]
    for j in range(M):
        z[j] = z[j] + x[j]


def test_what_would_run_once_for_each_value_of_a_name_is_refused():
    """One statement is mapped, the other one stands beside it; both are mapped, and the results are right."""
    mapped = map_members(best(apart), (0, 0, 0), {0: "threadIdx.x"})
    with pytest.raises(BadSchedule, match="once for each of its values"):
        build(apart, insert_context(mapped, (0,), Set("[N] -> { : N >= 1 }")))
    both = map_members(mapped, (0, 1, 0), {0: "threadIdx.x"})
    x, y, z = np.arange(1.0, 5.0), np.zeros(4), np.ones(4)
    execute(apart, insert_context(both, (0,), Set("[N, M] -> { : N = M and M >= 1 }")), x=x, y=y, z=z, N=4, M=4)
    assert (y == x).all() and (z == x + 1).all()
