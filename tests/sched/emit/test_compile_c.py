"""Nests compiled for the processor: results, what is checked of arrays, the cache, and what is refused."""

import doctest
import shutil
import subprocess

import numpy as np
import pytest

from polyvolta.sched import Program, Schedule, aligned, compile_c, nest, schedule, tile, to_c
from polyvolta.sched.emit.c import compiler
from polyvolta.sched.errors import BadArgument, BadProgram, BadSchedule, NoCompiler, NotAffineProgram, NotTranslatable
from polyvolta.sets import code_cache

needs = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
LINE = '{ domain: "[N] -> { S[i] : 1 <= i < N }", child: { schedule: "[{ S[i] -> [(i)] }]" } }'


@nest
def smooth(A, B, N):
    for i in range(1, N - 1):
        B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache of the test's own, and nothing remembered."""
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYVOLTA_CACHE_SIZE", raising=False)
    compiler.library.cache_clear()
    return tmp_path


# ---- results


@needs
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_program_and_a_tree_of_it(dtype):
    A = np.random.default_rng(0).random(50).astype(dtype)
    found = []
    for run in (smooth, compile_c(smooth), compile_c(tile(schedule(smooth), (0,), [8]), smooth)):
        B = np.zeros(50, dtype)
        run(A=A, B=B, N=50)
        found.append(B)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


SCALED = Program.parse(
    "[N] -> { S[i] : 0 <= i < N }",
    bodies="A[i] = X[i] * s + X[i] * i\nA[i] += s\nB[i] = X[i] * (s / 3) if X[i] * s > 0.3 else K[i] / 3 * X[i] - K[i]",
)
of_c = compile_c(SCALED) if shutil.which("cc") else None


@needs
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "s",
    [0.7, np.float64(0.7), np.float32(0.7), np.array(0.7), 3, 2**31 + 1, np.int64(2**31 + 1), np.int16(3), np.int32(7)],
    ids=lambda s: f"{type(s).__name__} {s}",
)
def test_scalars_and_integers_meet_single_precision_as_numpys_do(dtype, s):
    """Python's numbers take on the precision of elements, numpy's doubles and integers make them double."""
    random = np.random.default_rng(1)
    X, K = random.random(200).astype(dtype), random.integers(1, 2**40, 200)
    found = []
    for run in (SCALED, of_c):
        A, B = np.zeros(200, dtype), np.zeros(200, dtype)
        run(A=A, B=B, X=X, K=K, s=s, N=200)
        found += [A, B]
    assert np.array_equal(found[0], found[2]) and np.array_equal(found[1], found[3])


@needs
def test_scalars_of_python_and_of_numpy_have_code_of_their_own():
    program = Program.parse("[N] -> { S[i] : 0 <= i < N }", bodies="A[i] = A[i] * s + A[i]")
    run, A = compile_c(program), np.full(1, np.float32(0.1))
    for s in (0.7, np.float64(0.7), 0.7):
        found = A.copy()
        run(A=found, s=s, N=1)
        assert found[0] == np.float32(A[0] * s + A[0])
    assert len(run._c) == 3  # arrays of doubles, too


@needs
def test_a_local_of_single_precision_takes_no_double():
    program = Program.parse("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", local=("t",),
                            schedule="{ S[i] -> [i, 0]; T[i] -> [i, 1] }",
                            bodies={"S": "t = A[i] * s", "T": "A[i] = t * t"})  # fmt: skip
    run, A = compile_c(program), np.full(3, 0.1, np.float32)
    run(A=A, s=0.7, N=3)
    assert A[0] == (np.float32(0.1) * 0.7) ** 2
    with pytest.raises(NotTranslatable, match="a double in t, a local of single precision") as error:
        run(A=A, s=np.float64(0.7), N=3)
    assert "float(s)" in error.value.hint


@needs
def test_integers_wrap_as_numpys_do():
    run = compile_c(Schedule.parse(LINE), "a[i] = a[i] * a[i - 1]")
    a = np.full(70, 3)
    expected = a.copy()
    with np.errstate(over="ignore"):
        for i in range(1, 70):
            expected[i] = expected[i] * expected[i - 1]
    run(a=a, N=70)
    assert np.array_equal(a, expected) and (a < 0).any()


@needs
def test_flags_reach_the_compiler_and_may_round_otherwise():
    """a * b + c with a * b = 1 - 2**-106 rounded: 0 twice rounded, -2**-106 once."""
    body = "c[i] = a[i] * b[i] + c[i]"
    args = {"a": [0, 1 + 2.0**-53 * 2], "b": [0, 1 - 2.0**-53 * 2], "c": [0, -1.0]}
    found = {}
    for contract in ("off", "fast"):
        run = compile_c(Schedule.parse(LINE), body, flags=[f"-ffp-contract={contract}"])
        arrays = {name: np.array(v, float) for name, v in args.items()}
        run(**arrays, N=2)
        found[contract] = arrays["c"][1]
    assert found["off"] == (1 + 2.0**-52) * (1 - 2.0**-52) - 1.0
    assert found["fast"] in (found["off"], -(2.0**-104))  # on a processor that has the fused operation


@needs
def test_the_example_of_the_docstring():
    """It is skipped where the docstrings are run, as not every machine has a compiler."""
    text = compile_c.__doc__.replace("# doctest: +SKIP", "")
    found = doctest.DocTestParser().get_doctest(text, {"compile_c": compile_c}, "compile_c", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(found) == (0, 8)


# ---- arrays


@needs
def test_arrays_that_share_elements_are_refused_unless_they_are_only_read():
    run = compile_c(smooth)
    line = np.arange(20.0)
    with pytest.raises(BadArgument, match="A and B share elements") as error:
        run(A=line, B=line, N=20)
    assert "restrict=False" in error.value.hint
    with pytest.raises(BadArgument, match="share elements"):
        run(A=line[:12], B=line[8:], N=12)
    run(A=line[::2].copy(), B=line[10:], N=10)
    run(A=line[:10], B=line[10:], N=10)  # halves of one array
    free = compile_c(smooth, restrict=False)
    free(A=line[:12], B=line[8:], N=12)
    assert "restrict" not in free.text

    @nest
    def add(x, y, z, N):
        for i in range(N):
            z[i] = x[i] + y[i]

    z = np.zeros(4)
    compile_c(add)(x=line[:4], y=line[:4], z=z, N=4)
    assert np.array_equal(z, 2 * line[:4])


@needs
def test_columns_that_lie_between_one_another_share_nothing():
    pairs = np.arange(40.0).reshape(10, 2, 2)
    run = compile_c(
        Schedule.parse('{ domain: "{ S[i, j] : 0 <= i < 10 and 0 <= j < 2 }", '
                       'child: { schedule: "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]" } }'),
        "B[i, j] = A[i, j]",
    )  # fmt: skip
    run(A=pairs[:, 0], B=pairs[:, 1])
    assert np.array_equal(pairs[:, 0], pairs[:, 1])


@needs
def test_alignment_is_checked_and_made():
    run = compile_c(smooth, align=64)
    assert run.text.count("__builtin_assume_aligned") == 2
    A, B = aligned(np.arange(9.0)), aligned(np.zeros(9))
    run(A=A, B=B, N=9)
    assert np.array_equal(B[1:-1], (A[:-2] + A[1:-1] + A[2:]) / 3.0)
    with pytest.raises(BadArgument, match="takes A to start at a multiple of 64 bytes") as error:
        run(A=aligned(np.arange(10.0))[1:], B=B, N=9)
    assert "aligned(A, 64)" in error.value.hint


@needs
def test_the_programs_own_arrays_are_aligned_too():
    program = Program.parse("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", local=("t",),
                            bodies={"S": "t[i] = 2 * a[i]", "T": "a[i] = t[i]"})  # fmt: skip
    a = aligned(np.arange(6.0), 4096)
    compile_c(program, align=4096)(a=a, N=6)
    assert np.array_equal(a, 2 * np.arange(6.0))


@pytest.mark.parametrize("shape", [(), (0,), (3, 5), (2, 0, 4)])
@pytest.mark.parametrize("align", [1, 16, 4096])
def test_aligned_copies(shape, align):
    array = np.asarray(np.random.default_rng(0).random(shape), np.float32)
    made = aligned(array, align)
    assert np.array_equal(made, array) and made.dtype == array.dtype and made.flags.c_contiguous
    assert not made.size or made.ctypes.data % align == 0
    assert not np.may_share_memory(made, array)


# ---- the cache


@needs
def test_what_was_compiled_is_kept_for_the_next_process(kept, monkeypatch):
    calls, run = [], subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: (calls.append(a), run(*a, **k))[1])
    compile_c(smooth)
    compiler.library.cache_clear()  # as another process
    B = np.zeros(9)
    compile_c(smooth)(A=np.arange(9.0), B=B, N=9)
    assert B[1] == 1.0 and len(calls) == 1 and code_cache.usage().entries == 1
    compile_c(smooth, flags=["-O1"])
    assert len(calls) == 2 and code_cache.usage().entries == 2
    for path in kept.iterdir():
        path.write_bytes(path.read_bytes()[:-1])  # torn
    compiler.library.cache_clear()
    compile_c(smooth)(A=np.arange(9.0), B=B, N=9)
    assert len(calls) == 3


@needs
def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(kept, monkeypatch):
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(kept / "file" / "below"))
    (kept / "file").write_text("")
    B = np.zeros(9)
    compile_c(smooth, flags=["-O2"])(A=np.arange(9.0), B=B, N=9)
    assert B[1] == 1.0
    assert (kept / "file").read_text() == ""


# ---- bodies


@needs
def test_a_tree_alone_with_bodies():
    tree = Schedule.parse("""
domain: "[N] -> { S[i] : 0 <= i < N; T[i] : 0 < i < N }"
child: { schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }]", child: { sequence: [
  { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } }
""")
    run = compile_c(tree, {"S": "a[i] = f * x[i]", "T": "total += a[i] * a[i - 1] if i > 1 else a[i]"})
    total, a, x = np.zeros(()), np.zeros(5), np.arange(1.0, 6.0)
    run(a=a, x=x, total=total, f=2.0, N=5)
    b = 2.0 * x
    assert np.array_equal(a, b) and total == b[1] + b[2] * b[1] + b[3] * b[2] + b[4] * b[3]


def test_what_bodies_access_is_what_one_would_write_down():
    """A choice by an affine condition is exact: a[-1] is not read."""
    domain = "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }"
    body = "c[i, j] += (a[i - 1] if i > 0 else b[2*j]) * math.exp(c[j, i]) * f"
    found = Program.parse(domain, bodies=body)
    written = Program.parse(
        domain,
        reads="[N] -> { S[i, j] -> c[i, j]; S[i, j] -> a[i - 1] : i > 0; S[i, j] -> b[2j] : i <= 0; "
              "S[i, j] -> c[j, i] }",
        writes="{ S[i, j] -> c[i, j] }", bodies=body,
    )  # fmt: skip
    assert found.reads == written.reads and found.writes == written.writes
    assert set(found.arguments) == set(written.arguments) == {"a", "b", "c", "f", "N"}
    assert found.params == ("N",)


def test_a_local_scalar_of_bodies():
    program = Program.parse("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", local=("s",),
                            schedule="{ S[i] -> [i, 0]; T[i] -> [i, 1] }",
                            bodies={"S": "s = a[i] + 1", "T": "a[i] = s * s"})  # fmt: skip
    assert str(program.writes) == "[N] -> { S[i] -> s[] : 0 <= i < N; T[i] -> a[i] : 0 <= i < N }"
    a = [1, 2]
    program(a, 2)
    assert a == [4, 9]


@pytest.mark.parametrize(
    ("bodies", "kind", "message"),
    [
        ("a[p[i]] = 1", NotAffineProgram, "not affine"),
        ("a[n] = 1", BadProgram, "a subscript has n, which is no iterator and no parameter"),
        ("a[i] = = 1", BadProgram, "is no Python"),
        ("a[i], b[i] = 1, 2", NotAffineProgram, "writes one element"),
        ("print(a[i])", NotAffineProgram, "a body is made of assignments"),
        ("a[i] = b[i] + b[i, i]", NotAffineProgram, "b has 2 subscripts here and 1 subscript elsewhere"),
        ("a[i] = wonder(a[i])", NotAffineProgram, "unknown function 'wonder'"),
        ({"T": "a[i] = 1"}, BadProgram, "a body for T"),
        ("i = 3", BadProgram, "i is an array and an iterator"),
    ],
)
def test_bodies_that_are_refused(bodies, kind, message):
    with pytest.raises(kind) as error:
        compile_c(Schedule.parse(LINE), bodies)
    assert message in str(error.value)


# ---- refusals


TREE = Schedule.parse(LINE)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: compile_c(TREE), BadArgument, "a tree does not say what its statements do"),
        (lambda: compile_c(smooth, TREE), BadArgument, "compile_c takes a Schedule, not a Program"),
        (lambda: compile_c("x", smooth), BadArgument, "compile_c takes a Schedule, not a str"),
        (lambda: compile_c(TREE, 3), BadArgument, "compile_c takes a Program, not an int"),
        (lambda: compile_c(TREE, smooth), BadSchedule, "the program"),
        (lambda: compile_c(smooth, align=48), BadArgument, "a power of two"),
        (lambda: compile_c(smooth, align=True), BadArgument, "a power of two"),
        (lambda: to_c(smooth.schedule, smooth, align=0), BadArgument, "a power of two"),
        (lambda: compile_c(smooth, flags="-O1"), BadArgument, "flags are texts in a list"),
        (lambda: compile_c(smooth, flags=[1]), BadArgument, "flags are texts in a list"),
        (lambda: compile_c(smooth, parallel="openmp"), BadArgument, "parallel is True or False"),
        (lambda: compile_c(smooth, restrict=1), BadArgument, "restrict is True or False"),
        (lambda: aligned([1.0]), BadArgument, "aligned takes an array, not a list"),
        (lambda: compile_c(TREE, "a[i] = f(a[i])"), NotAffineProgram, "unknown function"),
        (lambda: compile_c(TREE, "a[i] = round(a[i])"), NotTranslatable, "round"),
        (lambda: compile_c(Program.parse("{ S[i] : 0 <= i < 3 }", None, "{ S[i] -> a[i] }")), BadProgram, "not known"),
    ],
)  # fmt: skip
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert message in str(error.value)


@needs
def test_flags_that_the_compiler_does_not_know():
    with pytest.raises(NoCompiler, match="refuses the text") as error:
        compile_c(smooth, flags=["-fno-such-thing-at-all"])
    assert "no-such-thing" in error.value.where


def test_without_a_compiler(monkeypatch):
    compiler.library.cache_clear()
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NoCompiler, match="no C compiler is installed") as error:
        compile_c(smooth)
    assert error.value.where == "no-such-compiler"


def test_a_compiler_that_cannot_be_run(monkeypatch, tmp_path):
    compiler.library.cache_clear()
    (tmp_path / "cc").write_bytes(b"\x7fELF nothing that runs")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    with pytest.raises(NoCompiler, match="cannot be run"):
        compile_c(smooth)


@needs
def test_sizes_are_checked_at_the_call():
    run = compile_c(smooth)
    with pytest.raises(BadArgument, match="the program touches A"):
        run(A=np.zeros(3), B=np.zeros(9), N=9)
