"""Nests read from C: the program is the one of the nest in Python, and what C means otherwise is refused."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from examples.polybench import KERNELS
from polyvolta.sched import Program, compile_c, nest_from_source, schedule, tile, to_c
from polyvolta.sched.errors import NoReader, NotAffineProgram
from polyvolta.sched.loops.notation.c import MACROS

GEMM = """
/* C = a A B + b C,
   as PolyBench has it */
#include <math.h>
void gemm(int M, int N, int K, double a, double b, double A[M][K], double B[K][N], double C[M][N])
{
  int i, j, k;
#pragma scop
  for (i = 0; i < M; ++i) {
    for (j = 0; j < N; j++)
      C[i][j] *= b;                                 // scaled
    for (k = 0; k < K; k++)
      for (j = 0; N > j; j += 1)
        C[i][j] += a * A[i][k] * B[k][j];
  }
#pragma endscop
}
"""


def test_without_pycparser_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pycparser", None)
    with pytest.raises(NoReader, match="needs pycparser") as error:
        Program.from_c(GEMM)
    assert "polyvolta[c]" in error.value.hint


pycparser = pytest.importorskip("pycparser")


def inside(body, head="int N, int M, double s, double A[N][N], double x[N], int n[N]"):
    return Program.from_c(f"void f({head}) {{\n{body}\n}}")


def test_a_product_is_the_one_of_python():
    python = nest_from_source("""
def gemm(M, N, K, a, b, A, B, C):
    for i in range(M):
        for j in range(N):
            C[i, j] *= b
        for k in range(K):
            for j in range(N):
                C[i, j] += a * A[i, k] * B[k, j]
""")
    assert Program.from_c(GEMM) == python


@pytest.mark.parametrize("name", [n for n in KERNELS if n not in ("nussinov", "deriche", "adi")])
def test_what_is_printed_in_c_is_read_again(name):
    """Loops of `to_c` through the compiler's reader and back; as many instances, and the same elements."""
    program = KERNELS[name].program
    text = to_c(program.schedule, program, macros=False)
    assert not re.search(r"\b(min|max|floord|modd)\(", re.sub(r"= .*;", "", text))  # which the reader wouldn't know
    text = re.sub(r"^  (double \w+) = 0;$", r"  \1;", text, flags=re.M)  # of its own: no statements
    again = Program.from_c(re.sub(r"\[\]", "[1]", text))
    assert len(again.statements) == len(program.statements)
    for s, t in zip(program.statements, again.statements):
        assert [a.array for a in t.accesses] == [a.array for a in s.accesses]
        sizes = dict.fromkeys(program.params, 4)
        assert count(t, sizes) == count(s, sizes)


def test_macros_that_loops_are_printed_with_are_read_with_them():
    """Tiles, with their `floord` and `min`; and all four, of which a text may have more than it uses."""
    copy = Program.from_c("""void f(int N, double A[N][N], double B[N]) {
      for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) A[i][j] = B[j]; }""")
    tiles = tile(schedule(copy), (0,), (32, 32))
    text, bare = to_c(tiles, copy), to_c(tiles, copy, macros=False)
    head = text.split("\n\n")[0]
    assert head.count("#define") == 2
    assert Program.from_c(text) == Program.from_c(bare)
    others = "\n".join(MACROS[name] for name in ("modd", "max"))
    assert Program.from_c(f"{head}\n{others}\n{bare}") == Program.from_c(bare)


def count(statement, sizes):
    """How many instances there are at some sizes, and which elements each access touches."""
    known = lambda r: {p: sizes[p] for p in r.param_names}  # noqa: E731
    touched = [a.relation.range() for a in statement.accesses]
    return len(list(statement.domain.points(**known(statement.domain)))), [list(r.points(**known(r))) for r in touched]


@pytest.mark.parametrize(
    ("loop", "points"),
    [
        ("for (int i = 0; i < N; i++)", [0, 1, 2, 3, 4]),
        ("for (int i = 1; i <= N - 1; ++i)", [1, 2, 3, 4]),
        ("for (int i = N - 1; i >= 0; i--)", [0, 1, 2, 3, 4]),
        ("for (int i = N - 1; i > 1; i -= 2)", [2, 4]),
        ("for (int i = 0; N > i; i = i + 3)", [0, 3]),
        ("for (int i = 0; i < N; i++) if (i != 2 && !(i > 3 || i == 0))", [1, 3]),
        ("for (int i = 0; i < N; i++) if ((i - 7) % 3 == 0 && i % 2)", [1]),
        ("for (int i = 0; i < N; i++) if ((i - 7) % 3 != 0 || !(i % 4))", [0, 2, 3, 4]),
        ("for (int i = floord(N, 3); i < N; i++) if (modd(i - 7, 3) < 2 && floord(i - 6, 2) > -2)", [4]),
        ("for (int i = 010 - 8; i < 0x3; i++)", [0, 1, 2]),
    ],
)
def test_loops_count_as_those_of_c(loop, points):
    found = inside(f"{loop} x[i] = s;")
    assert [i for (i,) in found.domain.points(**dict.fromkeys(found.params, 5))] == points


def test_numbers_choices_and_functions():
    program = inside("""
  for (int i = 0; i < N; i++) {
    double t = 0.1f + sqrt(fabs(x[i])) / 3;
    x[i] = t > 1.5e0 ? fmax(t, (double)i / 2) : -pow(t, 2.0) * (double)s;
    n[i]++;
  }""")
    x, n = np.array([1.0, 16.0, 81.0]), np.zeros(3, int)
    program(N=3, M=1, s=2.0, A=None, x=x, n=n)
    t = [float(np.float32(0.1)) + v / 3 for v in (1.0, 4.0, 9.0)]
    assert np.array_equal(x, [-(t[0] ** 2) * 2, -(t[1] ** 2) * 2 if t[1] <= 1.5 else max(t[1], 0.5), max(t[2], 1.0)])
    assert np.array_equal(n, [1, 1, 1])


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_c_compiler_computes_the_same(tmp_path):
    """The text as it stands, by the compiler alone, beside what we make of it."""
    import ctypes

    (tmp_path / "f.c").write_text(GEMM)
    command = ["cc", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "f.c", "-o", "f.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    A, B, C = (np.random.default_rng(k).random(s) for k, s in enumerate([(3, 5), (5, 4), (3, 4)]))
    ours = C.copy()
    compile_c(Program.from_c(GEMM))(M=3, N=4, K=5, a=0.7, b=0.3, A=A, B=B, C=ours)
    f, P = ctypes.CDLL(str(tmp_path / "f.so")).gemm, ctypes.c_void_p
    f(3, 4, 5, ctypes.c_double(0.7), ctypes.c_double(0.3), *(P(x.ctypes.data) for x in (A, B, C)))
    assert np.array_equal(C, ours)


NEAR = "for (int i = 1; i < N - 1; i++) {{ {} }}"
DOUBLES, SINGLES = (f"int N, {t} x[N], {t} y[N]" for t in ("double", "float"))
SAME = {
    "typedef": ("typedef int T; typedef double E;", "T N, E x[N], E y[N]",
                "T q = i; E t = q; y[i] = q * 0.5 + t * x[i];"),
    "hexadecimal": ("", DOUBLES, "y[i] = x[i] * 0x1p3 + 0x1.8p-1 + 0x1.fp1f;"),
    "no NaN": ("", DOUBLES, "y[i] = fmax(x[i], 0.5) + fmin(0.25, x[i + 1]) + fmax(i, 2) / 4;"),
    "functions": ("", DOUBLES,
                  "y[i] = pow(fabs(x[i]), 1.5) + floor(x[i] * 3) / 2 + ceil(i) / 4 + trunc(-x[i]) + abs(i - 3);"),
    "truth": ("", DOUBLES, "y[i] = (x[i] && i) + (x[i] > 0.3 || !x[i - 1]) - (x[i] < x[i + 1]) * 0.5"
                         " + (x[i] + 1 && x[i - 1] ? 7 : 8);"),
    "negated": ("", DOUBLES, "double t = 0; int k = 0; y[i] = -t; x[i] = -k;"),
    "single beside double": ("", SINGLES, "y[i] = x[i] * 0.1 + x[i - 1] / 3.0; y[i] *= 0.7;"),
    "single": ("", SINGLES, "y[i] = (x[i] * 0.1f + x[i - 1]) / 3 + i * x[i + 1] - fabsf(x[i]);"
                            " y[i] += sqrtf(fabsf(x[i])) * x[i];"),
    "comparisons of single": ("", SINGLES, "x[i] = 0.1; y[i] = (x[i] < 0.1) + 2 * (x[i] == 0.1f) + 4 * (x[i] > 0.1);"),
    "single to double": ("", "int N, float x[N], double y[N]",
                         "double t = x[i]; y[i] = t * t + x[i] * x[i] + (double)x[i] / 3 + 0.1f + (float)0.7;"),
    "choices of single": ("", "int N, float x[N], double y[N]",
                          "y[i] = (x[i] > 0.5f ? x[i] : 0) * x[i - 1] + (x[i] > 0.5 ? x[i] : 0.1) * 0.3;"),
    "an array of integers": ("", "int N, double x[N], int y[N]",
                             "y[i] = x[i] * 100; y[i] += x[i] * 7.5; int k = y[i]; y[i] = k + 1;"),
}  # fmt: skip


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", SAME)
def test_numbers_are_those_of_the_c_compiler(name, tmp_path):
    """Bit for bit, by Python instance by instance and by what we compile."""
    import ctypes

    before, head, body = SAME[name]
    text = f"{before}\n#include <math.h>\n#include <stdlib.h>\nvoid f({head}) {{\n{NEAR.format(body)}\n}}"
    (tmp_path / "f.c").write_text(text)
    command = ["cc", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "f.c", "-o", "f.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    types = [np.dtype({"float": "f4", "int": "i4"}.get(t, "f8")) for t in re.findall(r"(\w+) [xy]\[", head)]
    given = [(np.random.default_rng(k).random(24) * 2 - 0.5).astype(t) for k, t in enumerate(types)]
    if types[0].kind == "f":
        given[0][5:7] = 0
    if name == "no NaN":
        given[0][9:12] = np.nan
    P = ctypes.c_void_p
    expected = [a.copy() for a in given]
    ctypes.CDLL(str(tmp_path / "f.so")).f(24, *(P(a.ctypes.data) for a in expected))
    program = Program.from_c(text)
    for run in (program, compile_c(program)):
        found = [a.copy() for a in given]
        run(N=24, x=found[0], y=found[1])
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
    real = {n: {"f4": "float", "i4": "int"}.get(t.str[1:], "double") for n, t in zip("xy", types, strict=True)}
    printed = to_c(program.schedule, program, real=real)
    (tmp_path / "g.c").write_text(f"#include <math.h>\n#include <stdlib.h>\n{printed}")
    subprocess.run([*command[:5], "g.c", "-o", "g.so", "-lm", "-Wall", "-Werror"], cwd=tmp_path, check=True)
    found = [a.copy() for a in given]
    ctypes.CDLL(str(tmp_path / "g.so")).f(24, *(P(a.ctypes.data) for a in found))
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_typedefs_are_resolved():
    head = "typedef int T;\ntypedef T S; typedef float R;\n"
    assert Program.from_c(head + "void f(S n, T a[n]) { for (size_t i = 0; i < n; i++) a[i] = 3; }").params == ("n",)
    for body, message in (("T q = i; a[i] = q / 2;", "rounds towards zero"),
                          ("a[i] = b[i] / 2;", "rounds towards zero"),
                          ("R q = i; a[i] = q;", "q is float"), ("a[i] = (S)a[i];", "a cast to int")):  # fmt: skip
        with pytest.raises(NotAffineProgram, match=message) as error:
            Program.from_c(f"{head}void f(T n, double a[n], S b[n]) {{\nfor (T i = 0; i < n; i++) {{ {body} }} }}")
        assert "line 4" in error.value.where and error.value.hint


@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        ("float s, float a[N]", "a[i] = s * 2.0f * a[i];", "single precision of what is no element"),
        ("float s, double a[N]", "a[i] = s;", "single precision of what is no element"),
        ("float s, float a[N]", "a[i] = s * 2.0;", "single precision of what is no element"),
        ("float a[N]", "double t = a[i]; a[i] = t * t;", "t is double, and a local has the precision"),
        ("float a[N]", "float t = a[i]; a[i] = t * t;", "t is float, and a local"),
        ("float a[N], int n[N]", "a[i] = a[i] * n[i];", "an integer of an array beside"),
        ("float a[N]", "a[i] = expf(a[i]);", "unknown function 'expf'"),
    ],
)
def test_single_precision_that_python_has_not_is_refused(head, body, message):
    with pytest.raises(NotAffineProgram, match=message) as error:
        inside(f"for (int i = 0; i < N; i++) {{\n{body} }}", f"int N, {head}")
    assert error.value.where.startswith("line 3\n") and error.value.hint


def test_a_syntax_error_has_its_line_and_column():
    for text, where in (("void f(", "line 1:8"), ("\nvoid f(int N) {\n  N 3;\n}", "line 3:5"), ("", "")):
        with pytest.raises(NotAffineProgram) as error:
            Program.from_c(text)
        assert error.value.where.startswith(where)


def test_one_of_several_functions():
    two = "void f(int N, double x[N]) { x[0] = 1; }\nvoid g(int N, double x[N]) { x[N - 1] = 2; }"
    assert Program.from_c(two, "g").name == "g"
    for name, message in ((None, "the text has 2 functions"), ("h", "no function is called 'h'")):
        with pytest.raises(NotAffineProgram, match=message):
            Program.from_c(two, name)


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("for (int i = 0; i < N; i++)\n x[i / 2] = 1;", "rounds towards zero", "line 3"),
        ("for (int i = 0; i < N; i++) x[i % 4] = 1;", "rounds towards zero", "line 2"),
        ("for (int i = 0; i < N; i++) if (i % 4 == 1) x[i] = 1;", "rounds towards zero", "line 2"),
        ("if (s % 2 == 0) x[0] = 1;", "a remainder of s and 2", "line 2"),
        ("x[0] = floord(N, M);", "floord divides an integer by a positive number", "line 2"),
        ("for (int i = 0; i < N; i++) n[i] /= 2;", "rounds towards zero", "line 2"),
        ("for (int i = 0; i < N; i++) x[i] = i / 2;", "rounds towards zero", "line 2"),
        ("for (int i = 0; i < N; i++)\n\n x[n[i]] = 1;", "depends on data", "line 4\n    x[n[i]] = 1;\nin Python"),
        ("for (int i = 0; i < N; i *= 2) x[i] = 1;", "moves by a number", "line 2"),
        ("for (int i = 0; i < N; i += M) x[i] = 1;", "moves by a number", "line 2"),
        ("for (int i = 0; i > N; i++) x[i] = 1;", "no end that it surely reaches", "line 2"),
        ("for (int i = 0; i != N; i++) x[i] = 1;", "no end that it surely reaches", "line 2"),
        ("for (int i = 0; x[i] < s; i++) x[i] = 1;", "compares its iterator", "line 2"),
        ("while (s > 0) x[0] = 1;", "While has no translation", "line 2"),
        ("double y[10];\nx[0] = 1;", "the array y is made in the nest", "line 2"),
        ("for (int i = 0; i < N; i++) { int t = x[i] * 2.5;\n x[i] = t; }", "t is int, and drops", "line 2"),
        ("int t = 0;\nfor (int i = 0; i < N; i++) {\nt += x[i]; x[i] = t; }", "t is int, and drops", "line 4"),
        ("long t = 3; x[0] = t;", "t is long, and a local", "line 2"),
        ("x[0] = abs(N) / 2;", "rounds towards zero", "line 2"),
        ("x[0] = min(N, 7) / 2;", "rounds towards zero", "line 2"),
        ("x[0] = abs(x[1]);", "abs of a floating number drops", "line 2"),
        ("x[0] = round(s);", "unknown function 'round'", "line 2"),
        ("x[0] = 1.0f / 3.0f;", "single precision of what is no element", "line 2"),
        ("x[0] = (float)s;", "single precision", "line 2"),
        ("x[0] = expf(s);", "unknown function 'expf'", "line 2"),
        ("x[0] = sqrtf(s);", "single precision", "line 2"),
        ("float t = s; x[0] = t;", "t is float, and a local", "line 2"),
        ("x[0] = 1.0L;", "more than double precision", "line 2"),
        ("long double t = 1.0;", "t is of type long double", "line 2"),
        ("double t = 1;\n{ double t = 2; }\nx[0] = t;", "hides another", "line 3"),
        ("double range = 1; x[0] = range;", "range is a word of Python", "line 2"),
        ("x[0] = N - 2u;", "never negative in C", "line 2"),
        ("for (size_t i = 0; i < N; i++) x[i] = -i;", "never negative in C", "line 2"),
        ("x[0] = a.b(3);", "unknown function", "line 2"),
        ("x[0] = e;", "unknown name 'e'", "line 2"),
        ("for (int i = 0; i < s; i++) x[i] = 1;", "the end s is no integer", "line 2"),
        ("for (double t = 0; t < N; t++) x[0] = t;", "counts in integers", "line 2"),
        ("for (unsigned i = 3; i >= 0; i--) x[i] = 1;", "never less than 0", "line 2"),
        ("x[0] = s << 2;", "<< has no translation", "line 2"),
        ("x[0] = (int)s;", "a cast", "line 2"),
        ("x[0] = *x;", "\\* has no translation", "line 2"),
        ("double lambda = 1;", "lambda is a word of Python", "line 2"),
        ("x[0] = wonder(s);", "unknown function 'wonder'", "line 2"),
        ("x[0] = 1 1;", "this is no C", "line 2"),
        ("#define Q 3\nx[0] = Q;", "#define is the preprocessor's", "line 2"),
        ("#define min(x, y) ((x) < (y) ? (x) : (y))", "#define is the preprocessor's", "line 2"),
    ],
)
def test_what_is_refused_with_its_line(body, message, line):
    with pytest.raises(NotAffineProgram, match=message) as error:
        inside(body)
    assert line in error.value.where


def test_what_is_no_text_and_what_has_no_function():
    refused = {3: "is a str, not an int", "void f(": "this is no C", "int x;": "the text has 0 functions"}
    for text, message in refused.items():
        with pytest.raises(NotAffineProgram, match=message):
            Program.from_c(text)
