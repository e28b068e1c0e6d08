"""Loops without an end: their texts as isl writes them, where they stand, and what runs first, by brute force."""

import random
import re
import subprocess
from collections import Counter
from dataclasses import replace
from itertools import islice
from shutil import which
from textwrap import indent

import numpy as np
import pytest

from polyvolta.isl import AstBuild, UnionMap
from polyvolta.sched import (
    Band,
    Domain,
    Filter,
    Leaf,
    Mark,
    Member,
    Program,
    Schedule,
    Sequence,
    build,
    execute,
    run,
    scan,
    to_c,
    to_python,
)
from polyvolta.sched.by_isl.bands import band_of
from polyvolta.sched.errors import BadSchedule, NotScannable
from polyvolta.sched.loops.ast import Call, For, endless
from polyvolta.sets import Map, Set, Unbounded, aff, var
from tests.sched.loops.endless import drawn, steps_of, wrong
from tests.sets.brute import FACTOR

TREES = 150

# as islpy 2026.2.2 prints them, node_from_schedule_map(...).to_C_str()
ISL = {
    "{ S[i] -> [i] : i >= 0 }": """
for (int c0 = 0; 1; c0 += 1)
  S(c0);
""",
    "{ S[i] -> [-i] : i <= 0 }": """
for (int c0 = 0; 1; c0 += 1)
  S(-c0);
""",
    "[N, M] -> { S[i] -> [i] : i >= N and i >= M }": """
for (int c0 = max(N, M); 1; c0 += 1)
  S(c0);
""",
    "[N] -> { S[i] -> [i] : i >= N and N > 0 }": """
if (N >= 1)
  for (int c0 = N; 1; c0 += 1)
    S(c0);
""",
    "{ S[i] -> [i] : i >= 0 and i mod 3 = 1 }": """
for (int c0 = 1; 1; c0 += 3)
  S(c0);
""",
    "[N] -> { S[i] -> [i] : i >= N and i mod 3 = 1 }": """
for (int c0 = 3 * floord(N + 1, 3) + 1; 1; c0 += 3)
  S(c0);
""",
    "{ S[i] -> [0] : i >= 0 }": """
for (int c1 = 0; 1; c1 += 1)
  S(c1);
""",
    "{ S[i, j] -> [i, j] : i >= 0 and j >= 0 }": """
for (int c0 = 0; 1; c0 += 1)
  for (int c1 = 0; 1; c1 += 1)
    S(c0, c1);
""",
    "{ S[i, j] -> [i, j] : 0 <= j < 10 and i >= j }": """
for (int c0 = 0; 1; c0 += 1)
  for (int c1 = 0; c1 <= min(9, c0); c1 += 1)
    S(c0, c1);
""",
    "{ S[i, j] -> [i + j, i] : i >= 0 and j >= 0 }": """
for (int c0 = 0; 1; c0 += 1)
  for (int c1 = 0; c1 <= c0; c1 += 1)
    S(c1, c0 - c1);
""",
    "{ S[i] -> [floor(i/4), i] : i >= 2 }": """
for (int c0 = 0; 1; c0 += 1)
  for (int c1 = max(2, 4 * c0); c1 <= 4 * c0 + 3; c1 += 1)
    S(c1);
""",
    "{ S[i] -> [i, 0] : i >= 0; T[i] -> [i, 1] : i >= 5 }": """
for (int c0 = 0; 1; c0 += 1) {
  S(c0);
  if (c0 >= 5)
    T(c0);
}
""",
    "{ S[i] -> [i, 0] : i >= 0; T[i] -> [i, 1] : 0 <= i <= 5 }": """
for (int c0 = 0; 1; c0 += 1) {
  S(c0);
  if (c0 <= 5)
    T(c0);
}
""",
    "{ S[i] -> [2i, 0] : i >= 0; T[i] -> [3i, 1] : i >= 0 }": """
for (int c0 = 0; 1; c0 += 1) {
  if (c0 % 2 == 0)
    S(c0 / 2);
  if (c0 % 3 == 0)
    T(c0 / 3);
}
""",
    "{ S[i, j] -> [i, j] : i >= 0 and 2j >= i; T[i, j] -> [i, j] : 0 <= i and j = 7 }": """
for (int c0 = 0; 1; c0 += 1) {
  if (c0 >= 15)
    T(c0, 7);
  for (int c1 = (c0 + 1) / 2; 1; c1 += 1) {
    S(c0, c1);
    if (c1 == 7)
      T(c0, 7);
  }
}
""",
}

# which isl cannot generate either: "unbounded optimum"
REFUSED = [
    "{ S[i] -> [i] : i <= 0 }",
    "{ S[i] -> [i] }",
    "{ S[i] -> [-i] : i >= 0 }",
    "{ S[i, j] -> [i, j] : i >= 0 and j <= i }",
    "{ S[i, j] -> [i - j, i] : i >= 0 and j >= 0 }",
    "{ S[i, j] -> [i] : i >= 0 }",
    "{ S[i] -> [i] : i >= 0 or i <= -10 }",
    "{ S[i] -> [i, 0] : i >= 10; T[i] -> [i, 1] : i <= 5 }",
    "{ S[i] -> [0, i] : i >= 0; T[i] -> [1, i] : i <= 5 }",
]


def node(times, context="{ : }"):
    return AstBuild.from_context(Set(context)).node_from_schedule_map(UnionMap(times))


@pytest.mark.parametrize("times", ISL)
def test_texts_are_those_of_isl(times):
    assert node(times).to_C_str() == ISL[times].lstrip()


@pytest.mark.parametrize("times", REFUSED)
def test_what_has_no_beginning_is_refused_as_isl_does(times):
    with pytest.raises(NotScannable, match="has no lower bound"):
        node(times)


def test_what_bounds_it_from_above_is_said():
    with pytest.raises(NotScannable) as refused:
        node("{ S[i] -> [-i] : i >= 0 }")
    assert refused.value.hint == "the domain bounds member 0 from above only; with its negative the loop begins there"


def test_isl_says_1_where_a_loop_goes_on():
    loop = node("[N] -> { S[i] -> [i] : i >= N and i mod 3 = 1 }", "[N] -> { : N >= 0 }")
    said = loop.for_get_init(), loop.for_get_cond(), loop.for_get_inc(), loop.for_get_iterator()
    assert [e.to_C_str() for e in said] == ["3 * ((N + 1) / 3) + 1", "1", "3", "c0"]
    assert not loop.for_is_degenerate()


def test_what_never_runs_is_written():
    after = "for (int c1 = 0; c1 <= 5; c1 += 1)\n  T(c1);\n"
    found = node("{ S[i] -> [0, i] : i >= 0; T[i] -> [1, i] : 0 <= i <= 5 }").to_C_str()
    assert found == "{\n" + indent(ISL["{ S[i] -> [0] : i >= 0 }"].lstrip() + after, "  ") + "}\n"


@pytest.mark.parametrize(
    ("times", "text"),
    [
        (
            "[N, M] -> { S[i] -> [i] : i >= 0 and N > 0; T[i] -> [i] : 0 <= i < M }",
            "if (N >= 1) {\n  for (int c0 = 0; 1; c0 += 1) {\n"
            "    S(c0);\n    if (M >= c0 + 1)\n      T(c0);\n  }\n"
            "} else {\n  for (int c0 = 0; c0 < M; c0 += 1)\n    T(c0);\n}\n",
        ),
        (
            "[N] -> { S[i] -> [i] : i >= 0 and (N > 5 or N < -3) }",
            "if (N >= 6 || N <= -4)\n  for (int c0 = 0; 1; c0 += 1)\n    S(c0);\n",
        ),
        (
            "[N] -> { S[i] -> [i] : i >= 0 and exists e : N <= 3e <= N + 1 }",
            "if ((N + 2 - 3 * floord(N + 2, 3)) >= 1)\n  for (int c0 = 0; 1; c0 += 1)\n    S(c0);\n",
        ),
    ],
)
def test_it_stands_where_something_runs(times, text):
    """At sizes at which all instances are finitely many no loop goes on for ever, as none does in isl's loops."""
    assert node(times).to_C_str() == text


def test_loops_elsewhere_are_made_of_what_was_not_changed():
    """The loop of S and T settles what floors of c0 are; where T has no instance S has a loop of its own."""
    d = "[N] -> { S[i] : -1 <= i <= 5 and i mod 2 = 1; T[i] : i >= 1 and N <= 2 and i mod 3 = 2 }"
    times = Map("[N] -> { S[i] -> [1 + 2i, i]; T[i] -> [2i, i] }").intersect_domain(Set(d))
    band = band_of(times, Set(d))
    band = replace(band, members=tuple(replace(m, loop_type="atomic") for m in band.members))
    found = scan(Schedule(Domain(Set(d), band)))
    assert list(steps_of(found.body, {"N": 3}, [99])) == [("S", (i,)) for i in (-1, 1, 3, 5)]
    first = [("S", (-1,)), ("S", (1,)), ("T", (2,)), ("S", (3,)), ("T", (5,)), ("S", (5,)), ("T", (8,)), ("T", (11,))]
    assert list(islice(steps_of(found.body, {"N": 2}, [99]), 8)) == first


def test_a_last_iteration_that_only_a_context_has():
    """The context excludes the piece without an end, but only by its cases."""
    tree = nest("[N] -> { S[i] : 0 <= i < N or (5 <= N <= 9 and i >= 0) }", "i")
    found = scan(tree, "[N] -> { : N <= 4 or N >= 10 }")
    assert not endless(found.body)
    assert endless(scan(tree).body)


def nest(domain, *members, loop_type="default"):
    domain = Set(domain)
    exprs = [tuple((s, aff(m)) for s in domain.tuple_names) for m in members]
    return Schedule(Domain(domain, Band(tuple(Member(e, loop_type=loop_type) for e in exprs))))


def test_no_loop_without_an_end_is_unrolled():
    with pytest.raises(NotScannable, match="cannot be unrolled"):
        scan(nest("{ S[i] : i >= 0 }", "i", loop_type="unroll"))


def test_a_tree_goes_on_below_and_beside():
    children = tuple(Filter((s,), Band((Member(((s, var("i")),)),))) for s in "ST")
    found = scan(Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N; T[i] : i >= 4 }"), Sequence(children))))
    assert str(found) == "for (int c0 = 0; c0 < N; c0 += 1)\n  S(c0);\nfor (int c0 = 4; 1; c0 += 1)\n  T(c0);"


# ---- in any order of statements, by brute force


def test_what_runs_first():
    tally = Counter()
    for seed in range(int(TREES * FACTOR)):
        rng = random.Random(seed)
        statements = drawn(rng)
        texts = [s.text() for s in statements]
        domain, times = ("[N] -> { " + "; ".join(t[k] for t in texts) + " }" for k in (0, 1))
        loop_type = rng.choice(("default", "default", "default", "atomic", "separate"))
        instances = Set(domain)
        if instances.is_empty():
            continue
        band = band_of(Map(times).intersect_domain(instances), instances)
        band = replace(band, members=tuple(replace(m, loop_type=loop_type) for m in band.members))
        try:
            found = scan(Schedule(Domain(instances, band)))
        except NotScannable as error:
            assert "has no lower bound" in error.message
            tally["refused"] += 1
            continue
        tally["endless" if endless(found.body) else "finite"] += 1
        for n in (-4, 0, 1, 5):
            reason = wrong(statements, found, n)
            assert reason is None, f"{seed}, at N = {n}: {reason}\n{domain}\n{times}\n{found}"
    assert tally["endless"] > TREES * FACTOR / 2, tally
    assert tally["refused"] < TREES * FACTOR / 5, tally


# ---- texts that run


LOOPS = """[N] -> { S[i, j] -> [i + j, 0, j] : i >= N and 0 <= j <= i and i mod 2 = 1;
                   T[i] -> [i, 1, 0] : i >= 2 }"""


class Enough(Exception):
    """As many calls as were asked for."""


@pytest.mark.parametrize("n", [-3, 0, 4])
def test_python_text(n):
    found, calls = node(LOOPS).scan, []

    def call(name):
        def made(*args):
            if len(calls) == 200:
                raise Enough
            calls.append((name, args))

        return made

    text = to_python(found)
    with pytest.raises(Enough):
        exec(text, {"S": call("S"), "T": call("T"), "N": n})  # noqa: S102
    assert calls == list(islice(steps_of(found.body, {"N": n}, [10**6]), 200))


def test_python_counts_from_where_it_begins():
    loop = For("c0", (var("N"), aff(2)), (), 3, False, (Call("S", (var("c0"),)),))
    assert to_python(loop) == "c0 = max(2, N)\nwhile True:\n    S(c0)\n    c0 += 3"
    assert to_python(For("c0", (aff(0),), (), 1, False, ())) == "c0 = 0\nwhile True:\n    pass\n    c0 += 1"


@pytest.mark.skipif(which("gcc") is None, reason="no C compiler")
def test_c_text(tmp_path):
    found = node(LOOPS).scan
    text = str(to_c(found))
    macros, loops = text.split("\n\n", 1)
    calls = "\n".join(
        f'static void {s}({args}) {{ if (left-- == 0) exit(0); printf("{s} {form}\\n", {values}); }}'
        for s, args, form, values in (("S", "int i, int j", "%d %d", "i, j"), ("T", "int i", "%d", "i"))
    )
    code = f"#include <stdio.h>\n#include <stdlib.h>\n{macros}\nstatic int left = 200;\n{calls}\n"
    code += f"int main(void) {{ int N = 1;\n{loops}\nreturn 0; }}\n"
    (tmp_path / "loops.c").write_text(code)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "loops", tmp_path / "loops.c"], check=True)
    out = subprocess.run([tmp_path / "loops"], check=True, capture_output=True, text=True, timeout=20).stdout
    got = [(line[0], tuple(map(int, re.findall(r"-?\d+", line)))) for line in out.splitlines()]
    assert got == list(islice(steps_of(found.body, {"N": 1}, [10**6]), 200))


# ---- running


def counting():
    return Program.parse(
        "[N] -> { S[i] : i >= 0 and N >= 3; T[i] : 0 <= i < N }", "{ S[i] -> a[i]; T[i] -> b[i] }",
        "{ S[i] -> a[i]; T[i] -> b[i] }", schedule="{ S[i] -> [1, i]; T[i] -> [0, i] }",
        bodies={"S": "a[i] = a[i] + 1", "T": "b[i] = b[i] + 1"},
    )  # fmt: skip


@pytest.mark.parametrize("using", ["python", "c"])
def test_what_never_ends_is_refused_before_it_begins(using):
    if using == "c" and which("gcc") is None:
        pytest.skip("no C compiler")
    a, b, made = np.zeros(5), np.zeros(5), build(counting(), using=using)
    made(a=a, b=b, N=2)
    for _ in range(2):
        with pytest.raises(Unbounded, match="S has infinitely many instances with N=4"):
            made(a=a, b=b, N=4)
    made(a=a, b=b, N=1)
    assert (a == 0).all()
    assert b.tolist() == [2, 1, 0, 0, 0]


def test_execute_refuses_it_too():
    a, b = np.zeros(5), np.zeros(5)
    with pytest.raises(Unbounded, match="infinitely many"):
        execute(counting(), a=a, b=b, N=3)
    assert not b.any()


def test_a_list_of_instances_has_an_end():
    found = scan(counting().schedule)
    assert run(found, N=2) == [("T", (0,)), ("T", (1,))]
    with pytest.raises(Unbounded, match="the loop c0 never ends"):
        run(found, N=3)


# ---- cores and vectors


def test_openmp_runs_no_such_loop_at_once():
    """Its iterations are counted before it begins; loops inside it may run on several cores."""
    members = tuple(Member((("S", var(x)),), coincident=True) for x in "ij")
    tree = Schedule(Domain(Set("{ S[i, j] : i >= 0 and 0 <= j <= i }"), Band(members)), dependences=())
    assert to_c(scan(tree), parallel="openmp") == (
        "for (int c0 = 0; 1; c0 += 1)\n"
        "  #pragma omp parallel for\n"
        "  for (int c1 = 0; c1 <= c0; c1 += 1)\n"
        "    S(c0, c1);"
    )


@pytest.mark.parametrize("mark", ["parallel", "vectorise"])
def test_a_mark_that_wants_it_is_refused(mark):
    band = Mark(mark, Band((Member((("S", var("i")),), coincident=True),), Leaf()))
    tree = Schedule(Domain(Set("{ S[i] : i >= 0 }"), band), dependences=())
    with pytest.raises(BadSchedule, match="wants the iterations of c0 at once, and there is no last one"):
        to_c(scan(tree))


def test_which_code_has_a_loop_without_an_end():
    body = scan(nest("{ S[i] : i >= 0 or -9 <= i <= -4 }", "i")).body
    assert [endless((node,)) for node in body] == [False, True]
    assert endless(body)
