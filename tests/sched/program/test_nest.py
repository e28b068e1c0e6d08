"""Loop nests as programs, against what Python does when it runs them: the same instances in the same order, and of each
instance the same elements read and written."""

import itertools

import pytest

from polyvolta.sched.program import instances, nest_from_source
from tests.sched.program.recorder import record

NESTS = {
    "gemm": """
        def gemm(A, B, C, M, N, K):
            for i in range(M):
                for j in range(N):
                    C[i, j] = 0.0
                    for k in range(K):
                        C[i, j] += A[i, k] * B[k, j]
        """,
    "jacobi in one array": """
        def jacobi(A, T, N):
            for t in range(T):
                for i in range(1, N - 1):
                    A[(t + 1) % 2, i] = (A[t % 2, i - 1] + A[t % 2, i] + A[t % 2, i + 1]) / 3.0
        """,
    "jacobi with two arrays": """
        def jacobi(A, B, T, N):
            for t in range(T):
                for i in range(1, N - 1):
                    B[i] = A[i - 1] + A[i] + A[i + 1]
                for i in range(1, N - 1):
                    A[i] = B[i]
        """,
    "lu, rows of rows": """
        def lu(A, N):
            for i in range(N):
                for j in range(i):
                    for k in range(j):
                        A[i][j] -= A[i][k] * A[k][j]
                    A[i][j] /= A[j][j]
                for j in range(i, N):
                    for k in range(i):
                        A[i][j] -= A[i][k] * A[k][j]
        """,
    "cholesky": """
        def cholesky(A, N):
            for i in range(N):
                for j in range(i):
                    for k in range(j):
                        A[i, j] -= A[i, k] * A[j, k]
                    A[i, j] /= A[j, j]
                for k in range(i):
                    A[i, i] -= A[i, k] * A[i, k]
                A[i, i] = sqrt(abs(A[i, i]))
        """,
    "convolution": """
        def convolution(x, w, y, N, K):
            for i in range(N - K + 1):
                y[i] = 0.0
                for k in range(K):
                    y[i] += x[i + k] * w[k]
        """,
    "two-dimensional convolution with strides": """
        def convolution(x, w, y, N):
            for i in range(0, N - 2, 2):
                for j in range(0, N - 2, 2):
                    for p in range(3):
                        for q in range(3):
                            y[i // 2, j // 2] += x[i + p, j + q] * w[p, q]
        """,
    "strides from a parameter": """
        def strided(A, L, N):
            for i in range(L, N, 3):
                A[i] = i * 1.0
        """,
    "counting down": """
        def down(A, N):
            for i in range(N - 1, -1, -1):
                for j in range(N, i, -2):
                    A[j] = A[i] + 1.0
        """,
    "counting down by three from a maximum": """
        def down(A, N, M):
            for i in range(max(N, M), min(N, M), -3):
                A[i] = 2 * A[i]
        """,
    "bounds by minimum and maximum": """
        def banded(A, x, y, N):
            for i in range(N):
                for j in range(max(0, i - 1), min(N, i + 2)):
                    y[i] += A[i, j] * x[j]
        """,
    "bounds that are a union": """
        def union(A, N, M):
            for i in range(min(N, 3), max(N, M) + 1):
                A[i] = 0.0
        """,
    "disjunctive conditions": """
        def choose(A, B, N):
            for i in range(N):
                for j in range(N):
                    if i < 2 or j > i + 1 or (i + j) % 3 == 0:
                        A[i, j] = B[j]
                    elif not 1 <= j <= 2:
                        A[i, j] = B[i]
                    else:
                        B[i] = 1.0
                    B[j] += 1.0
        """,
    "not equal, chained, and a truth of integers": """
        def odd(A, N):
            for i in range(N):
                if i != 3 and 1 < i <= N - 1:
                    A[i] = 1.0
                if i % 2:
                    A[i] += 2.0
        """,
    "floors and remainders": """
        def blocks(A, B, N):
            for i in range(N):
                A[i // 4, i % 4] = B[(3 * i + 1) // 2] + B[-(-i // 2)] + B[7 * (i // 7)]
        """,
    "division by negative numbers, shifts, powers": """
        def signs(A, B, N):
            for i in range(N):
                A[i // -3 + N, i % -3 + 2] = B[i >> 1, i << 1, 2 ** 3 * i]
        """,
    "subscripts by cases": """
        def clamped(A, B, N):
            for i in range(N):
                A[i] = B[min(i + 1, N - 1)] + B[max(i - 1, 0)] + B[abs(i - 2)] + B[min(i, 3) % 2]
        """,
    "choices below affine conditions": """
        def bordered(A, B, N):
            for i in range(N):
                A[i] = (B[i - 1] if i > 0 else 0.0) + (B[i + 1] if i < N - 1 else B[0])
        """,
    "scalars": """
        def dot(A, x, y, alpha, N):
            for i in range(N):
                total = 0.0
                for j in range(N):
                    product = A[i, j] * x[j]
                    total += alpha * product
                y[i] = total
        """,
    "statements beside loops": """
        def steps(A, N):
            A[0] = 1.0
            for i in range(1, N):
                A[i] = A[i - 1]
            A[N] = A[N - 1] if N > 0 else 0.0
            if N > 2:
                A[1] = A[2]
        """,
    "one statement that runs once": """
        def once(A):
            A[0] = A[1]
        """,
    "triangles": """
        def triangular(L, x, b, N):
            for i in range(N):
                x[i] = b[i]
                for j in range(i):
                    x[i] -= L[i, j] * x[j]
                x[i] = x[i] / L[i, i]
        """,
    "a wavefront": """
        def wavefront(A, N):
            for d in range(2 * N - 1):
                for i in range(max(0, d - N + 1), min(N, d + 1)):
                    A[i, d - i] = (A[i - 1, d - i] if i > 0 else 0.0) + (A[i, d - i - 1] if d > i else 0.0)
        """,
    "empty loops and documentation": '''
        def documented(A, N):
            """What it does."""
            for i in range(N):
                """Nothing."""
                pass
            for i in range(N):
                A[i] = 1.0
            if N > 100000 and N < 5:
                A[0] = 3.0
            return
        ''',
    "functions": """
        def functions(A, B, N):
            for i in range(N):
                A[i] = max(B[i], math.exp(-B[i])) + pow(B[i + 1], 2) + min(A[i], 1.0, B[0])
        """,
    "annotations": """
        def annotated(A: "float[:]", N: int) -> None:
            for i in range(N):
                x: float = A[i]
                A[i] = x * x
        """,
}

SIZES = {"N": (0, 1, 4, 7), "M": (0, 2, 5), "K": (1, 3), "T": (2,), "L": (0, 2)}


@pytest.mark.parametrize("name", NESTS)
def test_a_nest_is_what_python_runs(name):
    text = NESTS[name]
    program = nest_from_source(text)
    live = [s.name for s in program.statements]
    scalars = {a: 2.0 for a in program.arguments if a not in (*program.arrays, *program.params)}
    for values in itertools.product(*(SIZES[p] for p in program.params)):
        sizes = dict(zip(program.params, values, strict=True))
        seen = record(text, program, **sizes, **scalars)
        ran = [(live[e["statement"]], e["point"]) for e in seen]
        assert instances(program.schedule, **sizes) == ran
        touched = {s: table(program.statement(s), sizes) for s in live}
        for event, (s, point) in zip(seen, ran, strict=True):
            reads, writes = touched[s]
            assert reads.get(point, set()) == event["reads"]
            assert writes.get(point, set()) == set(event["writes"]) and len(event["writes"]) == 1


def table(statement, sizes):
    """Two dicts: which elements each instance reads, and which it writes."""
    tables = []
    for accesses in (statement.reads, statement.writes):
        table = {}
        for a in accesses:
            n = len(statement.iterators)
            for p in a.relation.points(**{k: sizes[k] for k in a.relation.param_names}):
                table.setdefault(p[:n], set()).add((a.array, p[n:]))
        tables.append(table)
    return tables


def test_names_follow_the_text():
    assert [s.name for s in nest_from_source(NESTS["gemm"]).statements] == ["S1", "S2"]
    assert [s.name for s in nest_from_source(NESTS["convolution"]).statements] == ["S1", "S2"]
    assert [s.name for s in nest_from_source(NESTS["one statement that runs once"]).statements] == ["S"]
    assert [s.name for s in nest_from_source("def f(S1, N):\n for i in range(N): S1[i] = 0.0").statements] == ["T"]


def test_roles_of_names():
    program = nest_from_source(NESTS["scalars"])
    assert program.params == ("N",)
    assert program.local == ("total", "product")
    assert program.arguments == ("A", "x", "y", "alpha", "N")
    assert set(program.arrays) == {"A", "x", "y", "total", "product"}


def test_parameters_come_in_the_order_of_the_arguments():
    assert nest_from_source("def f(A, P, Q):\n for i in range(Q):\n  for j in range(P): A[i, j] = 0.0").params == (
        "P",
        "Q",
    )


def test_perfectly_nested_loops_are_one_band_and_others_are_not():
    text = """
    def f(A, N):
        for i in range(N):
            for j in range(N, 0, -1):
                A[i, j] = 0.0
                A[j, i] = 1.0
            for j in range(N):
                A[i, j] += 1.0
    """
    assert (
        nest_from_source(text).schedule.show(ascii=True).split("\n", 3)[3]
        == """\
  BAND: S1[i, j] -> [i];
        S2[i, j] -> [i];
        S3[i, j] -> [i]
    SEQUENCE
      FILTER: S1[i, j]; S2[i, j]
        BAND: S1[i, j] -> [-j];
              S2[i, j] -> [-j]
          SEQUENCE
            FILTER: S1[i, j]
            FILTER: S2[i, j]
      FILTER: S3[i, j]
        BAND: S3[i, j] -> [j]"""
    )


def test_a_choice_on_data_reads_both_sides():
    program = nest_from_source("def f(A, B, alpha, N):\n for i in range(N): A[i] = B[i] if A[i] > alpha else B[i + 1]")
    assert len(program.statements[0].reads) == 3
    assert all(a.relation.domain().is_equal(program.domain) for a in program.statements[0].reads)
    assert program.params == ("N",)  # alpha is compared with data, and stays a scalar


def test_what_is_compared_in_a_choice_is_a_parameter_only_if_it_is_one_elsewhere():
    text = "def f(A, B, alpha, n):\n for i in range(3): A[i] = B[i] if alpha > 0 else 1.0\n {}"
    assert nest_from_source(text.format("")).params == ()
    program = nest_from_source(text.format("for j in range(alpha): A[j + n] = 0.0"))
    assert program.params == ("alpha", "n")
    (read,) = program.statements[0].reads
    assert str(read.relation.domain().params()) == "[alpha, n] -> { : alpha >= 1 }"


def test_two_readings_of_one_element_are_one_access():
    program = nest_from_source("def f(A, B, N):\n for i in range(N): A[i] = B[i] * B[i]")
    assert [a.array for a in program.statements[0].reads] == ["B"]


def test_the_context_is_asserted_or_given():
    text = "def f(A, M, N):\n assert N >= 4\n assert M % 2 == 0, 'even'\n for i in range(N): A[i, M] = 0.0"
    assert str(nest_from_source(text).context) == "[M, N] -> { : M mod 2 = 0 and N >= 4 }"
    program = nest_from_source(text, context="[N] -> { : N <= 9 }")
    assert str(program.context) == "[M, N] -> { : M mod 2 = 0 and 4 <= N <= 9 }"
    assert "given" in str(program)


def test_bodies_say_what_an_instance_does():
    text = "def f(A, B, N):\n for i in range(N):\n  A[i][i // 2] += 2 * SCALE * B[i - OFF] - math.pi * abs(B[i])"
    program = nest_from_source(text, {"SCALE": 0.5, "OFF": -1})
    assert program.statements[0].body == "A[i, i // 2] += 2 * 0.5 * B[i - -1] - 3.141592653589793 * abs(B[i])"
    assert set(program.functions) == {"abs"}


def test_a_scalar_that_is_never_used_is_not_local():
    assert nest_from_source("def f(A, N):\n if N > N: x = 1.0\n for i in range(N): A[i] = 1.0").local == ()


@pytest.mark.parametrize(
    ("loops", "body", "shown"),
    [
        ("for i in range(N, 0, -2):", "A[i] = A[i - 1]", "A[i - 1]"),
        ("for i in range(0, N, 3):", "A[i] = A[i // 3]", "A[⌊i/3⌋]"),
        ("for i in range(1, N, 3):", "A[i] = A[i // 2]", "A[⌊i/2⌋]"),
        ("for i in range(N):\n  for j in range(i, N, 2):", "A[i, j] = B[i, j]", "B[i, j]"),
        ("for i in range(0, N, 1000):", "A[i] = A[i + 7]", "A[i + 7]"),
    ],
)
def test_accesses_of_loops_with_steps_are_shown_as_they_were_written(loops, body, shown):
    text = f"def f(A, B, N):\n {loops}\n   {body}"
    (s,) = nest_from_source(text).statements
    assert f"reads  {shown}\n" in str(s)
    assert str(s).endswith(f"writes {body.split(' = ')[0]}")


def test_a_name_has_one_spelling():
    text = str(nest_from_source("def f(A, min):\n  for max in range(min): A[max] = 1.0"))
    assert "S[max] : 0 ≤ max < min" in text
    assert "_m" not in text
