"""Marks that want loops parallel, in vectors or unrolled: which pragma stands where, and what is refused.

Whether a wish is legal is checked against a brute force: two iterations of a loop conflict if they touch one element
and one of them writes it.
"""

import re
import shutil
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polyvolta.sched import (
    Mark,
    Program,
    Schedule,
    build,
    compile_c,
    execute,
    insert_mark,
    interchange,
    isolate_full_tiles,
    nest,
    parallelise,
    scan,
    schedule,
    set_loop_type,
    skew,
    split,
    tile,
    to_c,
    unroll,
    unroll_and_jam,
    vectorise,
)  # fmt: skip
from polyvolta.sched.emit.c.compiler import library
from polyvolta.sched.errors import BadPath, BadSchedule, BadTile, IllegalTransformation, NoCompiler
from polyvolta.sched.wishes import Wish, wish

in_c = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@nest
def product_of(A, B, C, M, N, K):
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]


@nest
def smooth(A, B, T, N):
    for t in range(T):  # noqa: B007
        for i in range(1, N - 1):
            B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
        for i in range(1, N - 1):
            A[i] = (B[i - 1] + B[i] + B[i + 1]) / 3.0


def lines(text):
    return [line.strip() for line in text.splitlines()]


def above(text, loop):
    """What stands in the line above a loop that begins so."""
    found = lines(text)
    return [found[k - 1] for k, line in enumerate(found) if line.startswith(loop)]


# ---- words


@pytest.mark.parametrize(
    ("mark", "pragma"),
    [
        ("parallel", "#pragma omp parallel for"),
        ("omp parallel for", "#pragma omp parallel for"),
        ("#pragma omp parallel for", "#pragma omp parallel for"),
        ("vectorise", "#pragma omp simd"),
        ("vectorize", "#pragma omp simd"),
        ("simd", "#pragma omp simd"),
        ("omp  simd", "#pragma omp simd"),
        ("omp parallel for simd", "#pragma omp parallel for simd"),
        ("unroll", "#pragma GCC unroll 8"),
        ("unroll 4", "#pragma GCC unroll 4"),
        ("GCC unroll 16", "#pragma GCC unroll 16"),
    ],
)
def test_the_words_of_openmp_and_gcc_are_known(mark, pragma):
    assert wish(mark).pragma == pragma


@pytest.mark.parametrize("mark", ["tiles", "unroll 0", "unroll it", "parallel part", "Parallel", ""])
def test_other_marks_are_names(mark):
    assert wish(mark) is None


@pytest.mark.parametrize(
    "mark", ["unroll x", "unroll -1", "unroll 0", "vectorise 4", "omp task", "ivdep", "gcc unroll 4", "paralel", "Simd"]
)
def test_a_mark_that_is_nearly_a_wish_is_refused(mark):
    with pytest.raises(BadSchedule, match="no wish that a loop can have") as error:
        to_c(insert_mark(schedule(smooth), (0,), mark))
    assert "unroll 4" in error.value.hint and mark in error.value.where


def test_names_that_are_no_wishes_stay_comments():
    for mark in ("tiles", "kernel", "thread", "members: blockIdx.x, unroll", "loop of S"):
        assert f"// {mark}" in to_c(insert_mark(schedule(smooth), (0,), mark))


# ---- pragmas


def test_each_pragma_stands_above_its_loop_and_marks_that_are_names_are_comments():
    tree = vectorise(tile(schedule(product_of), (0,), [8, 16, 4]), (0, 0), "j")
    tree = parallelise(insert_mark(tree, (0,), "tiles"), (0, 0))
    text = to_c(scan(tree, "[M, N, K] -> { : M >= 1 and N >= 1 and K >= 1 }"), product_of)
    assert above(text, "for (int c0") == ["#pragma omp parallel for"]
    assert above(text, "for (int c4") == ["#pragma omp simd"]
    assert text.count("#pragma") == 2 and text.count("// tiles") == 1 and "vectorise" not in text


def test_a_loop_that_is_both_has_one_pragma():
    tree = split(schedule(product_of), (0,), 1)
    tree = insert_mark(insert_mark(tree, (0,), "simd"), (0,), "parallel")
    assert above(to_c(tree), "for (int c0") == ["#pragma omp parallel for simd"]


def test_every_loop_that_a_band_becomes_has_the_pragma():
    """Two statements whose ranges differ, apart."""
    program = Program.parse(
        "[N] -> { S[i] : 0 <= i < N; T[i] : N <= i < 2N }", bodies={"S": "a[i] = 1.0", "T": "b[i] = 2.0"},
        schedule="{ S[i] -> [i]; T[i] -> [i] }",
    )  # fmt: skip
    text = to_c(parallelise(program.schedule.with_dependences(program), (0,)), program)
    assert len(above(text, "for (int c0")) == 2
    assert set(above(text, "for (int c0")) == {"#pragma omp parallel for"}


def test_openmp_for_all_puts_no_second_one_inside():
    text = to_c(parallelise(schedule(product_of), (0,)), product_of, parallel="openmp")
    assert text.count("#pragma omp parallel for") == 1
    inner = split(schedule(product_of), (0,), 1)
    inner = parallelise(inner, (0, 0))
    assert to_c(inner, product_of, parallel="openmp").count("#pragma omp parallel for") == 2  # both were asked for


def test_a_mark_that_was_read_from_text_counts():
    tree = vectorise(schedule(product_of), (0,), "j")
    again = Schedule.parse(tree.to_isl())
    assert [n.name for _, n in again.walk() if isinstance(n, Mark)] == ["vectorise"]
    assert to_c(again, product_of) == to_c(tree, product_of)
    assert "#pragma omp simd" in to_c(again, product_of)


def test_loops_alone_say_nothing_of_marks():
    tree = parallelise(schedule(product_of), (0,))
    assert to_c(scan(tree).body).startswith("// parallel\n")


# ---- refusals, against all pairs of iterations


def conflicts(program, tree, at, sizes):
    """Whether two iterations of the loop of a one-member band, those around it equal, touch one element."""
    (below,) = tree.band(at).members
    seen = {}
    for s in program.statements:
        outer = tree.prefix(at)[s.name]
        accesses = [(a, a in s.writes) for a in s.accesses]
        space = [range(-1, max(sizes.values()) + 1)] * len(s.iterators)
        for point in product(*space):
            here = {**sizes, **dict(zip(s.iterators, point))}
            if not s.domain.contains(point, **sizes):
                continue
            around = tuple(e.evaluate(here) for e in outer)
            for a, writes in accesses:
                element = tuple(e.evaluate(here) for e in a.relation.as_affs())
                seen.setdefault((around, a.array, element), []).append((below.of(s.name).evaluate(here), writes))
    return any(w and t != u for found in seen.values() for t, w in found for u, _ in found)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("name", ["parallel", "vectorise"])
def test_exactly_the_loops_without_conflicts_are_taken(order, name):
    tree = split(split(interchange(schedule(product_of), (0,), order), (0,), 1), (0, 0), 1)
    for at in [(0,), (0, 0), (0, 0, 0)]:
        marked = insert_mark(tree, at, name)
        wrong = conflicts(product_of, tree, at, {"M": 2, "N": 3, "K": 2})
        assert wrong == (order[len(at) - 1] == 2)
        for program in (product_of, None):
            if wrong:
                with pytest.raises(IllegalTransformation, match="breaks a dependence: S.* must run before S"):
                    to_c(marked, program)
            else:
                assert "#pragma" in to_c(marked, program)


def test_a_tree_that_was_changed_around_its_mark_is_asked_again():
    """The loop over i of one time step is parallel; skewed along time, and outermost, it is not."""
    tree = schedule(smooth)  # skewed: neither member is parallel
    wave = split(skew(tile(tree, (0,), [4, 8]), (0,), 0, 1), (0,), 1)
    marked = parallelise(wave, (0, 0))
    assert "#pragma omp parallel for" in to_c(marked, smooth)
    outside = insert_mark(wave, (0,), "parallel")
    with pytest.raises(IllegalTransformation, match="the mark 'parallel' breaks a dependence") as error:
        to_c(outside, smooth)
    assert "MARK: parallel" in error.value.where and "<-- here" in error.value.where


def test_without_dependences_the_flags_decide():
    tree = schedule(product_of)
    alone = Schedule.parse(tree.to_isl())
    assert alone.dependences is None
    assert "#pragma omp simd" in to_c(vectorise(alone, (0,), "j"))
    with pytest.raises(IllegalTransformation, match="does not say"):
        vectorise(alone, (0,), "k")
    flat = Schedule.parse('{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }')
    with pytest.raises(IllegalTransformation, match="the band does not say"):
        to_c(insert_mark(flat, (0,), "parallel"))


def test_the_programs_dependences_count_and_not_what_a_tree_says():
    """A tree whose flags are set by hand, and wrong."""
    sums = Program.parse("[N] -> { S[i] : 0 < i < N }", bodies="a[i] += a[i - 1]")
    lying = Schedule.parse("""
domain: "[N] -> { S[i] : 0 < i < N }"
child: { mark: parallel, child: { schedule: "[{ S[i] -> [(i)] }]", coincident: [ 1 ] } }
""")
    assert "#pragma omp" in to_c(lying)
    for call in (lambda: to_c(lying, sums), lambda: compile_c(lying, sums)):
        with pytest.raises(IllegalTransformation, match=r"S\[1\] must run before S\[2\]"):
            call()


def flagged(tree, at, member):
    """A tree that calls one member of a band coincident, and no other."""
    band = tree.band(at)
    members = [replace(m, coincident=n == member) for n, m in enumerate(band.members)]
    return tree.replace(at, replace(band, members=tuple(members)))


@pytest.mark.parametrize(("member", "legal"), [(0, True), (1, True), (2, False)])
def test_flags_are_checked_where_openmp_believes_them(member, legal):
    tree = flagged(schedule(product_of), (0,), member)
    calls = [lambda: to_c(tree, product_of, parallel="openmp"), lambda: to_c(tree, parallel="openmp")]
    for call in [*calls, lambda: build(product_of, tree, using="c", parallel=True).text]:
        if legal:
            assert call().count("#pragma omp parallel for") == 1
        else:
            with pytest.raises(IllegalTransformation, match=r"member 2, .* breaks a dependence: S.* must run before S"):
                call()
    assert "#pragma" not in to_c(tree, product_of)


def test_a_flag_inside_of_a_parallel_loop_is_not_asked_for():
    tree = flagged(split(schedule(product_of), (0,), 1), (0, 0), 1)
    assert to_c(flagged(tree, (0,), 0), product_of, parallel="openmp").count("#pragma omp parallel for") == 1
    with pytest.raises(IllegalTransformation, match="member 1"):
        to_c(flagged(tree, (0,), None), product_of, parallel="openmp")


def test_the_programs_dependences_count_and_not_a_flag():
    sums = Program.parse("[N] -> { S[i] : 0 < i < N }", bodies="a[i] = a[i - 1] + 1")
    lying = flagged(sums.schedule, (0,), 0)
    assert "#pragma omp" in to_c(lying, parallel="openmp")  # nobody knows better
    for call in (lambda: to_c(lying, sums, parallel="openmp"), lambda: compile_c(lying, sums, parallel=True)):
        with pytest.raises(IllegalTransformation, match=r"S\[1\] must run before S\[2\]"):
            call()


def test_a_flag_is_asked_for_of_each_band_whose_loops_do_the_same():
    """Of even i alone, as of 4, one j uses what another one made."""
    lines = Program.parse("[N] -> { S[i, j] : 0 <= i < N and 0 < j < N }", bodies="a[i][j] = a[4][j - 1]")
    band = "child: { schedule: '[{ S[i, j] -> [(j)] }]', coincident: [1] }"
    tree = Schedule.parse(f"""{{ domain: "[N] -> {{ S[i, j] : 0 <= i < N and 0 < j < N }}", child: {{
        schedule: "[{{ S[i, j] -> [(i)] }}]", child: {{ sequence: [
        {{ filter: "{{ S[i, j] : i mod 2 = 1 }}", {band} }},
        {{ filter: "{{ S[i, j] : i mod 2 = 0 }}", {band} }} ] }} }} }}""")
    with pytest.raises(IllegalTransformation, match=r"S\[4, 1\] must run before S\[4, 2\]"):
        to_c(tree, lines, parallel="openmp")


@pytest.mark.parametrize(
    ("made", "kind", "message"),
    [
        (lambda t: insert_mark(t, (0,), "vectorise"), BadSchedule, "speaks of one loop, and stands above 3"),
        (lambda t: insert_mark(t, (0,), "unroll 4"), BadSchedule, "speaks of one loop, and stands above 3"),
        (lambda t: insert_mark(t, (0, 0), "parallel"), BadSchedule, "below it stands no band"),
        (lambda t: insert_mark(insert_mark(split(t, (0,), 1), (0,), "unroll 2"), (0,), "parallel"), BadSchedule,
         "a loop is unrolled, or it is parallel"),
        (lambda t: insert_mark(split(t, (0,), 1), (0,), "unroll 70000"), BadSchedule, "65534 times at most"),
        (lambda t: parallelise(t, (0,), "k"), IllegalTransformation, "running it on several cores breaks"),
        (lambda t: vectorise(t, (0,)), IllegalTransformation, "running it in vectors breaks"),
        (lambda t: vectorise(t, (0,), "q"), BadPath, "no member 'q'"),
        (lambda t: vectorise(t, (0, 0)), BadPath, "no Band"),
        (lambda t: unroll_and_jam(t, (0,), {"i": 0}), BadTile, "written out 0 times"),
        (lambda t: unroll_and_jam(t, (0,), {"i": 1.5}), BadTile, "written out 1.5 times"),
        (lambda t: unroll_and_jam(t, (0,), {"q": 2}), BadPath, "no member 'q'"),
    ],
)  # fmt: skip
def test_what_is_refused(made, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        to_c(made(schedule(product_of)), product_of)


def test_wishes_of_several_marks_are_joined():
    assert Wish(parallel=True) | Wish(vector=True) == Wish(True, True)


# ---- results


@in_c
def test_marked_and_unrolled_code_computes_the_same_bits():
    tree = tile(schedule(product_of), (0,), [8, 16, 8])
    tree = unroll_and_jam(interchange(tree, (0, 0), [0, 2, 1]), (0, 0), {0: 4, 1: 2})
    tree = parallelise(vectorise(tree, (0, 0), 2), (0,))
    run = compile_c(tree, product_of, flags=["-Wall", "-Werror"])
    assert "+= A[8 * c0 + 4 * c3 + 3]" in run.text
    for M, N, K in [(16, 32, 16), (1, 1, 1), (13, 21, 9), (7, 40, 5), (0, 3, 3)]:
        random = np.random.default_rng(M)
        A, B, C = random.random((M, K)), random.random((K, N)), random.random((M, N))
        expected = C.copy()
        product_of(A, B, expected, M, N, K)
        run(A=A, B=B, C=C, M=M, N=N, K=K)
        assert np.array_equal(C, expected)


@in_c
def test_gcc_takes_every_pragma_where_it_stands():
    """With all warnings as errors, and loops that are one statement of another."""
    tree = split(split(schedule(product_of), (0,), 1), (0, 0), 1)
    pragmas = {
        "parallel": "omp parallel for",
        "omp parallel for simd": "omp parallel for simd",
        "simd": "omp simd",
        "unroll 4": "GCC unroll 4",
    }
    for name, pragma in pragmas.items():
        for at in ((0,), (0, 0)):
            run = compile_c(insert_mark(tree, at, name), product_of, flags=["-Wall", "-Werror"])
            assert run.text.count("#pragma") == run.text.count(f"#pragma {pragma}\n") == 1
    run = compile_c(insert_mark(tree, (0, 0, 0), "unroll"), product_of, flags=["-Wall", "-Werror"])
    assert run.text.count("#pragma") == run.text.count("#pragma GCC unroll 8\n") == 1


@in_c
@pytest.mark.parametrize("pragma", ["omp parallell for", "unrol 4", "omp simd\n  a[0] = 1;"])
def test_all_warnings_as_errors_find_a_pragma_that_is_wrong(pragma):
    text = f"void f(int *a) {{\n  #pragma {pragma}\n  for (int i = 0; i < 4; i++) a[i] = i;\n}}"
    library(text)  # otherwise it is ignored
    with pytest.raises(NoCompiler, match="refuses the text"):
        library(text, ("-fopenmp", "-Wall", "-Werror"))


@in_c
def test_a_member_that_is_to_be_unrolled_says_so_as_gcc_reads_it():
    """A pragma is for one loop alone: where it runs on several cores, that counts."""
    tree = split(unroll(flagged(schedule(product_of), (0,), 1), (0,), (1, 2)), (0,), 1)
    for parallel, pragmas in ((False, 2), (True, 1)):
        text = compile_c(tree, product_of, parallel=parallel, flags=["-Wall", "-Werror"]).text
        assert text.count("#pragma GCC unroll 8") == pragmas and text.count("#pragma omp") == parallel
    assert to_c(tree).count("#pragma unroll") == 2  # loops alone are for any compiler


def test_unroll_and_jam_of_a_band_that_is_not_permutable_is_refused():
    with pytest.raises(IllegalTransformation):
        unroll_and_jam(schedule_of_rows(), (0,), {"t": 2})


def schedule_of_rows():
    """A stencil in place, in the order of its text: the loops may not be interchanged."""
    rows = Program.parse("[T, N] -> { S[t, i] : 0 <= t < T and 0 < i < N - 1 }", bodies="a[i] = a[i - 1] + a[i + 1]")
    return rows.schedule.with_dependences(rows)


# ---- loads first


def unrolled(program, size=3):
    """The program in its own order, iterations written out by threes."""
    tree = tile(program.schedule, program.schedule.bands()[0], [size])
    return set_loop_type(tree, tree.bands()[1], 0, "unroll")


@in_c
@pytest.mark.parametrize("seed", range(3))
def test_loads_first_read_no_element_that_is_written_before(seed):
    """Recurrences whose reads meet the writes of other iterations side by side, or do not; against Python."""
    random = np.random.default_rng(seed)
    p, q, u, v = (int(k) for k in random.integers(-3, 4, 4))
    program = Program.parse(
        "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", schedule="{ S[i] -> [i, 0]; T[i] -> [i, 1] }",
        bodies={"S": f"a[i + {p + 3}] = a[i + {q + 3}] * 0.5 + a[i + {u + 3}]", "T": f"b[i] += a[i + {v + 3}]"},
    )  # fmt: skip
    a, b = random.random(30), np.zeros(30)
    mine = {"a": a.copy(), "b": b.copy()}
    execute(program, a=a, b=b, N=23)
    run = compile_c(unrolled(program), program)
    run(**mine, N=23)
    assert np.array_equal(mine["a"], a) and np.array_equal(mine["b"], b)


def test_what_may_be_written_in_the_iteration_is_not_loaded_first():
    apart = Program.parse("[N] -> { S[i] : 0 <= i < N }", bodies="a[i] = a[i + 5] + a[i + 1]")
    text = to_c(scan(unrolled(apart), "[N] -> { : N mod 3 = 0 }"), apart, restrict=True)
    assert re.findall(r"const double r\d = (a\[.*\]);", text) == [f"a[3 * c0 + {k}]" for k in (5, 6, 7, 3)]
    assert "a[3 * c0] = r0 + a[3 * c0 + 1];" in lines(text)
    assert "const double r" not in to_c(scan(unrolled(apart)), apart)  # arrays may be one


@pytest.mark.parametrize(("bound", "apart"), [("i + 2 <= k", True), ("0 <= k", False)])
def test_conditions_around_tell_elements_apart(bound, apart):
    """Elements i and i + 1 are written, element k is read: in the triangle it is another, in the square it may not."""
    program = Program.parse(
        f"[N] -> {{ S[i, k] : 0 <= i < N and {bound} and k < N }}", bodies="a[i] += b[k, i] * a[k]",
        schedule="{ S[i, k] -> [k, i] }",
    )  # fmt: skip
    tree = tile(split(program.schedule, (0,), 1), (0, 0), [2])
    text = to_c(set_loop_type(isolate_full_tiles(tree, (0, 0)), (0, 0, 0), 0, "unroll"), program, restrict=True)
    loaded = re.findall(r"const double r\d = a\[c0\];", text)
    assert bool(loaded) == apart, text
