"""Dependences of statements and programs, what lives in and out: against enumeration and against memory itself."""

import math
from itertools import pairwise, product

import pytest

import polyvolta as pv
from polyvolta.graph.dag import Graph
from polyvolta.sched.dependence import dependences, flow, live_in, live_out
from polyvolta.sched.errors import BadProgram, BadSchedule
from polyvolta.sched.legality import violations
from polyvolta.sched.program import Program, nest, nest_from_source
from polyvolta.sets import Map, budget
from tests.sched.dependence.oracle import Ways, pairs


@pytest.fixture(scope="module")
def statements():
    M, N, K = pv.sizes("M N K")
    return Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))).statements


def test_reads_depend_on_the_last_write_and_writes_on_all_earlier_accesses(statements):
    instances = list(product(range(2), range(3), range(4)))
    pairs = {(*a, *b) for a, b in product(instances, repeat=2) if a[:2] == b[:2] and a[2] < b[2]}
    found = dependences(statements)
    assert {d.kind for d in found} == {"RAW", "WAR", "WAW"}
    for d in found:
        assert d.array == "C"
        expected = {p for p in pairs if p[5] == p[2] + 1} if d.kind == "RAW" else pairs
        assert set(d.relation.points(M=2, N=3, K=4)) == expected


def gemm(A, B, C, alpha, N, K):
    for i in range(N):
        for j in range(N):
            C[i, j] *= alpha
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]


def jacobi(A, B, T, N):
    for t in range(T):  # noqa: B007
        for i in range(1, N - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, N - 1):
            A[i] = B[i - 1] + B[i] + B[i + 1]


def seidel(A, T, N):
    for t in range(T):  # noqa: B007
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]


def lu(A, N):
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, N):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def cholesky(A, N):
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i])


def floyd_warshall(D, N):
    for k in range(N):
        for i in range(N):
            for j in range(N):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])


def scalar(x, y, N):
    for i in range(N):
        a = x[i]
        for j in range(i):
            a = a + y[j]
        y[i] = a


def backwards(A, N):
    for i in range(N - 1, -1, -1):
        A[i] = A[N - 1 - i]


def crossing(B, N):
    for t in range(N - 1):
        for i in range(t, N - 1):
            for j in range(N - 1):
                B[i + 2, 2 * i] = B[N - i, N - j]
                B[t + i, j + 1] = B[2 * j, i]
            B[t + 1, t + 2] += B[i + 1, 0]


NESTS = (gemm, jacobi, seidel, lu, cholesky, floyd_warshall, scalar, backwards, crossing)
SIZES = {crossing: 6}  # at 4 some of its dependences have no instance


def accesses(program, params, kind):
    """(instance, element) of all statements, in any order."""
    found = set()
    for s in program.statements:
        for a in getattr(s, kind):
            found |= pairs(a.relation, params)
    return found


@pytest.mark.parametrize("function", NESTS, ids=lambda f: f.__name__)
def test_dependences_of_a_nest_are_those_of_its_memory(function):
    program = nest(function)
    params = dict.fromkeys(program.params, SIZES.get(function, 4))
    ways = Ways(program.schedule, params)
    reads, writes = accesses(program, params, "reads"), accesses(program, params, "writes")
    touched = {e: [x for x, f in reads | writes if f == e] for _, e in reads | writes}

    memory, flows, lives_in = {}, set(), set()
    for x in sorted(ways.way, key=ways.way.get):  # the program runs: each element remembers who wrote it last
        for _, e in sorted(p for p in reads if p[0] == x):
            if e in memory:
                flows.add((e[0], memory[e], x))
            else:
                lives_in.add((x, e))
        memory.update((e, x) for y, e in writes if y == x)

    def ordered(first, second):
        return {
            (e[0], x, y) for e, xs in touched.items() for x in xs for y in xs
            if (x, e) in first and (y, e) in second and ways.before(x, y)
        }  # fmt: skip

    expected = {"RAW": flows, "WAR": ordered(reads, writes), "WAW": ordered(writes, writes)}
    found = {kind: set() for kind in expected}
    with budget(150_000):  # steps; `crossing` would take more if its reads were cut into pieces first
        all_of_them = dependences(program)
    for d in all_of_them:
        both = pairs(d.relation, params)
        assert both and {(x[0], y[0]) for x, y in both} == {(d.source, d.sink)}
        found[d.kind] |= {(d.array, x, y) for x, y in both}
    assert found == expected
    assert not any(violations(program.schedule, all_of_them))
    assert pairs(live_in(program), params) == lives_in
    assert pairs(live_out(program), params) == {(x, e) for e, x in memory.items() if e[0] not in program.local}
    assert pairs(flow(program).must, params) == {(x, y) for _, x, y in flows}


def last(A, B, N):
    for i in range(N):
        A[i] = 0
    for i in range(N):
        B[i] = A[3]


def test_a_dependence_holds_in_the_context_of_its_program():
    found = dependences(nest(last, context="[N] -> { : N >= 4 }"))
    assert [str(d) for d in found] == ["RAW A  [N] -> { S1[i] -> S2[i'] : N >= 4 and i = 3 and 0 <= i' < N }"]


@pytest.mark.parametrize("given", ["S", None, [1], nest(last).domain, nest(last).statements])
def test_dependences_are_those_of_a_program(given):
    for question in (dependences, flow, live_in, live_out):
        with pytest.raises(BadProgram, match="of a Program or of the statements of a graph, not of"):
            question(given)


def test_the_table_of_dependences():
    found = dependences(nest(backwards))
    assert str(found) == (
        "RAW  A  [N] -> { S[i] -> S[N - i - 1] : 0 <= i < N and N <= 2*i }\n"
        "WAR  A  [N] -> { S[i] -> S[N - i - 1] : 0 <= i < N and N <= 2*i }"
    )
    assert "<td>WAR</td>" in found._repr_html_()
    assert str(dependences(nest(zero))) == "no dependences"


def zero(A, N):
    for i in range(N):
        A[i] = 0


SQUARE = "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }"


@pytest.mark.parametrize(
    ("domain", "reads", "writes", "order", "pair"),
    [
        (SQUARE, "{ S[i, j] -> A[i, j] }", "{ S[i, j] -> A[i, j - 1] }", "{ S[i, j] -> [i] }", ("S[0, 0]", "S[0, 1]")),
        (SQUARE, "{ }", "{ S[i, j] -> A[i] }", "{ S[i, j] -> [i + 2j] }", None),
        (SQUARE, "{ }", "{ S[i, j] -> A[i] }", "{ S[i, j] -> [floor(j/2)] }", ("S[0, 1]", "S[0, 0]")),
        (SQUARE, "{ S[i, j] -> A[i, j] }", "{ S[i, j] -> A[i, j] }", "{ S[i, j] -> [i] }", None),
        (SQUARE, "{ S[i, j] -> A[j, i] }", "{ S[i, j] -> B[i, j] }", "{ S[i, j] -> [0] }", None),
        ("{ S[]; T[] }", "{ S[] -> a[] }", "{ T[] -> a[] }", "{ S[] -> [0]; T[] -> [0] }", ("S[]", "T[]")),
        ("{ S[]; T[] }", "{ S[] -> a[] }", "{ T[] -> a[] }", "{ S[] -> [0]; T[] -> [1] }", None),
        (
            "{ S[]; T[] }",
            "{ S[] -> a[] }",
            "{ T[] -> a[] }",
            '{ domain: "{ S[]; T[] }", child: { set: [ { filter: "{ S[] }" }, { filter: "{ T[] }" } ] } }',
            ("S[]", "T[]"),
        ),
    ],
)
def test_an_order_that_leaves_a_conflict_open_is_refused(domain, reads, writes, order, pair):
    program = Program.parse(domain, reads, writes, order)
    if pair is None:
        dependences(program)
        return
    with pytest.raises(BadSchedule) as caught:
        dependences(program)
    assert all(x in caught.value.message for x in pair)


def test_rows_that_constants_tell_apart_are_no_pairs():
    """80 loops, each from one row of an array to the next: 12,800 pairs of accesses, 160 of them to one row."""
    loops = [
        f"    for i in range(1, N - 1):\n        A[{k + 1}, i] = A[{k}, i - 1] + A[{k}, i + 1]" for k in range(80)
    ]
    program = nest_from_source("\n".join(["def f(A, N):", *loops]))
    found, names = dependences(program), [s.name for s in program.statements]
    assert [(d.kind, d.source, d.sink) for d in found] == [("RAW", a, b) for a, b in pairwise(names)]
    expected = {(i, j) for i, j in product(range(1, 5), repeat=2) if abs(i - j) == 1}
    assert all(set(d.relation.points(N=6)) == expected for d in found)


def test_a_write_that_only_may_happen_hides_no_write_before_it():
    program = Program.parse(
        "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N; U[i] : 0 <= i < N }",
        reads="{ U[i] -> A[i] }",
        writes="{ S[i] -> A[i] }",
        may_writes="{ T[i] -> A[i] : i >= 2 }",
        schedule="{ S[i] -> [i, 0]; T[i] -> [i, 1]; U[i] -> [i, 2] }",
    )
    found = flow(program)
    assert found.must.is_equal(Map("[N] -> { S[i] -> U[i] : 0 <= i < 2 and i < N }"))
    assert found.may.is_equal(Map("[N] -> { S[i] -> U[i] : 0 <= i < N; T[i] -> U[i] : 2 <= i < N }"))
    assert found.may_no_source.is_empty()
    raw = [d.relation for d in dependences(program) if d.kind == "RAW"]
    assert raw[0].union(*raw[1:]).is_equal(found.may)
