"""What loop variables are called: like nothing else in the tree, the program or the language of the text."""

import shutil
import subprocess

import numpy as np
import pytest

from polyvolta.sched import Band, Domain, Member, Schedule, execute, run, scan, to_c, to_python
from polyvolta.sched.emit.rename import cleared
from polyvolta.sched.loops.ast import Call, For
from polyvolta.sched.passes import tile
from polyvolta.sched.program import nest, nest_from_source
from polyvolta.sched.program.model import Program
from polyvolta.sets import Set, aff, var

COMPILED = pytest.param("c", marks=pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"))
LANGUAGES = pytest.mark.parametrize("using", ["python", COMPILED])


def one_band(domain, *exprs):
    s = Set(domain)
    name = s.parts[0][0].out.name
    return Schedule(Domain(s, Band(tuple(Member(((name, e),)) for e in exprs), permutable=True)))


def called(text, **values):
    """The instances that a Python text calls."""
    found = []
    exec(text, {"S": lambda *args: found.append(("S", args)), **values})  # noqa: S102
    return found


def sums(program, using, schedule=None, rows=5, columns=7):
    """Running a program that adds 1 to each element counts how often each is visited."""
    A = np.zeros((rows, columns))
    sizes = dict(zip([p for p in program.arguments if p != "A"], (rows, columns), strict=True))
    execute(program, schedule, using=using, A=A, **sizes)
    return A


# ---- parameters


def test_a_parameter_called_like_a_loop_variable():
    tree = one_band("[c0] -> { S[i] : 0 <= i < c0 }", var("i"))
    assert str(scan(tree)) == "for (int c0_ = 0; c0_ < c0; c0_ += 1)\n  S(c0_);"
    assert called(to_python(scan(tree)), c0=3) == run(scan(tree), c0=3) == [("S", (k,)) for k in range(3)]


def test_a_tile_and_a_parameter_of_one_name_are_not_added_up():
    tree = tile(one_band("[c0, c0_] -> { S[i] : 0 <= i < c0 and c0_ >= 0 }", var("i")), (0,), (4,))
    assert set(scan(tree).ranges) == {"c0", "c0_", "c0__", "c1"}
    assert run(scan(tree), c0=6, c0_=0) == [("S", (k,)) for k in range(6)]


@LANGUAGES
@pytest.mark.parametrize("sizes", [None, (4, 3)])
def test_a_nest_over_c0_and_c1(using, sizes):
    @nest
    def clash(A, c0, c1):
        for i in range(c0):
            for j in range(c1):
                A[i, j] += 1.0

    order = clash.schedule
    if sizes:
        order = Schedule(order.root)
        order = order.replace((0,), Band(order.band((0,)).members, order.band((0,)).child, permutable=True))
        order = tile(order, (0,), sizes)
    assert (sums(clash, using, order) == 1).all()


@LANGUAGES
@pytest.mark.parametrize("names", [("min", "max"), ("floord", "modd"), ("int", "c2"), ("N", "max"), ("range", "N")])
def test_parameters_called_like_functions_and_words_of_the_text(using, names):
    m, n = names
    if m == "range":  # no function in Python could say it
        S = f"[{m}, {n}] -> {{ S[i, j] : 0 <= i < {m} and 0 <= j < {n} }}"
        program = Program.parse(S, "{ S[i, j] -> A[i, j] }", "{ S[i, j] -> A[i, j] }", bodies="A[i, j] += 1.0")
    else:
        program = nest_from_source(
            f"def f(A, {m}, {n}):\n for i in range({m}):\n  for j in range({n}):\n   A[i, j] += 1.0\n"
        )
    order = Band(tuple(Member((("S", var(v)),)) for v in "ij"), permutable=True)
    tiled = tile(Schedule(Domain(program.domain, order)), (0,), (2, 3))
    A = np.zeros((5, 7))
    execute(program, tiled, using=using, A=A, **{m: 5, n: 7})
    assert (A == 1).all()


@LANGUAGES
@pytest.mark.parametrize("name", ["min", "max", "floord"])
def test_arrays_and_scalars_called_like_functions_of_the_text(using, name):
    program = nest_from_source(f"def f({name}, M):\n for i in range(M):\n  {name}[i] += 1.0\n")
    order = tile(Schedule(Domain(program.domain, Band((Member((("S", var("i")),)),), permutable=True))), (0,), (2,))
    A = np.zeros(5)
    execute(program, order, using=using, **{name: A, "M": 5})
    assert (A == 1).all()


def test_a_python_text_imports_what_a_parameter_hides():
    tree = tile(one_band("[range] -> { S[i] : 0 <= i < range }", var("i")), (0,), (4,))
    text = to_python(tree)
    assert text.startswith("from builtins import range as range_\n")
    assert called(text, range=6) == [("S", (k,)) for k in range(6)]


# ---- statements, arrays, scalars, functions, mapped names


def test_a_statement_called_like_a_loop_variable():
    tree = one_band("{ c0[i] : 0 <= i < 2 }", var("i"))
    assert to_c(tree) == "for (int c0_ = 0; c0_ < 2; c0_ += 1)\n  c0(c0_);"


@LANGUAGES
def test_arrays_scalars_and_programs_called_like_loop_variables(using):
    @nest
    def c1(c0, c2, c0_, N):
        for i in range(N):
            for j in range(N):
                c0[i, j] = c0_ * c2[j, i] + i

    given, at = np.arange(9.0).reshape(3, 3), np.zeros((3, 3))
    execute(c1, using=using, c0=at, c2=given, c0_=2.0, N=3)
    np.testing.assert_array_equal(at, 2 * given.T + np.arange(3)[:, None])


@LANGUAGES
def test_a_program_called_like_a_function_that_it_calls(using):
    program = Program.parse("[N] -> { S[i] : 0 <= i < N }", "{ S[i] -> a[i] }", "{ S[i] -> a[i] }",
                            bodies="a[i] = max(a[i], min(i, 1.5))", name="max")  # fmt: skip
    a = np.zeros(4)
    execute(program, using=using, a=a, N=4)
    np.testing.assert_array_equal(a, [0, 1, 1.5, 1.5])


@LANGUAGES
def test_an_array_called_like_a_mapped_name(using):
    @nest
    def fill(blockIdx_x, N):
        for i in range(N):
            blockIdx_x[i] += 1.0

    band = fill.schedule.band((0,))
    mapped = fill.schedule.replace((0,), Band((Member(band.members[0].exprs, name="blockIdx.x"),)))
    a = np.zeros(4)
    execute(fill, mapped, using=using, blockIdx_x=a, N=4)
    assert (a == 1).all()


def test_only_the_loop_is_renamed():
    """In loops made by hand the bounds of a loop speak of the name outside."""
    loop = For("N", (aff(0),), (var("N") - 1,), 1, False, (Call("S", (var("N"),)),))
    assert to_python(loop) == "for N_ in range(N):\n    S(N_)"


def test_names_that_nothing_else_has_are_counted():
    assert "c0_" not in to_c(one_band("[N] -> { S[i, j] : 0 <= i, j < N }", var("i"), var("j")))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("gamma", {}),
        ("exp", {}),
        ("f", {"linux": 1.5}),
        ("f", {"asm": 1.5, "typeof": 2}),
        ("f", {"a_1": 0.5, "a_2": 2}),
    ],
)
@LANGUAGES
def test_names_that_c_and_its_library_have_already(using, name, arguments):
    more = "".join(f", {n}" for n in arguments)
    total = " + ".join(["math.exp(a[i, 0])", *arguments])
    program = nest_from_source(f"def {name}(a{more}, N):\n for i in range(N):\n  a[i, 0] = {total}\n")
    a = np.ones((3, 2))
    execute(program, using=using, a=a, N=3, **arguments)
    np.testing.assert_array_equal(a[:, 0], [np.exp(1.0) + sum(arguments.values())] * 3)


# ---- texts without a program


WORDS = [  # a parameter, a statement, the loop variable, and how C and Python spell the first two
    ("int", "for", "c0", ("int_", "_for"), ("int", "_for")),
    ("N'", "S'", "c0", ("N_", "S_"), ("N_", "S_")),
    ("c0'", "while", "c0_", ("c0__", "_while"), ("c0_", "_while")),
    ("min_", "lambda", "min", ("min_", "lambda"), ("min_", "_lambda")),
    ("in", "is", "from", ("in", "is"), ("_in", "_is")),
    ("N", "S[A -> B]", "double", ("N", "S"), ("N", "S")),
    ("max", "modd", "if", ("max_", "modd_"), ("max", "modd")),
]


@pytest.mark.parametrize(("param", "statement", "variable", "c", "python"), WORDS)
def test_names_that_are_none_in_c_or_in_python(param, statement, variable, c, python, tmp_path):
    """The loops with other names, compiled and run, call what those with plain names do."""
    v, N = var(variable), var(param)
    loop = For(variable, (aff(1), N - 7), (N - 1, aff(6)), 1, False, (Call(statement, (v, 2 * N - v)),))
    expected = [args for _, args in run(loop, {param: 9})]
    assert expected == [(i, 18 - i) for i in range(2, 7)]
    found = []
    exec(to_python(loop), {python[1]: lambda *args: found.append(args), python[0]: 9})  # noqa: S102
    assert found == expected
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    call = f'static void {c[1]}(int a, int b) {{ printf("%d %d\\n", a, b); }}'
    text = f"#include <stdio.h>\n{call}\nint main(void) {{\nint {c[0]} = 9;\n{to_c(loop)}\nreturn 0;\n}}"
    (tmp_path / "loop.c").write_text(text)
    subprocess.run(["cc", "-o", tmp_path / "loop", tmp_path / "loop.c"], check=True)
    printed = subprocess.run([tmp_path / "loop"], capture_output=True, text=True, check=True).stdout
    assert [tuple(map(int, line.split())) for line in printed.splitlines()] == expected


def test_names_of_a_tree_that_are_none_in_c():
    s = Set("[N', int] -> { for[i] : 0 <= i < N' and i < int; S'[i] : 0 <= i < int }")
    tree = Schedule(Domain(s, Band((Member((("for", var("i")), ("S'", var("i")))),))))
    text = "for (int c0 = 0; c0 < int_; c0 += 1) {\n  if (c0 < N_)\n    _for(c0);\n  S_(c0);\n}"
    assert to_c(tree) == str(scan(tree)) == text
    assert to_python(tree) == "for c0 in range(int):\n    if c0 < N_:\n        _for(c0)\n    S_(c0)"


def test_mapped_names_stay_in_loops_without_a_program():
    member = Member((("for", var("i")),), name="blockIdx.x")
    tree = Schedule(Domain(Set("{ for[i] : 0 <= i < 8 }"), Band((member,))))
    assert to_c(tree) == "_for(blockIdx.x);"


def test_loops_under_other_names_keep_their_tree_and_what_it_is_marked_with():
    tree = Schedule.parse("""{ domain: "[int] -> { S[i] : 0 <= i < int }", child: { mark: "unroll 4", child: {
        schedule: "[{ S[i] -> [(i)] }]" } } }""")
    made = scan(tree)
    other = cleared(made, {"c0"})
    assert other.tree is tree and other.marked and other.largest == made.largest
    assert to_c(other) == to_c(made).replace("c0", "c0_") and "int_" in to_c(other) and "unroll" in to_c(other)
