"""C and Python texts of loops: what people read, and that executing them calls what the loops say."""

import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.emit.python.text import to_python
from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import AnyOf, Block, Call, Extreme, For, If
from polyvolta.sched.loops.scan import Scan
from polyvolta.sets import aff, var
from tests.sched.emit.draw_loops import PARAMS, loops
from tests.sets.brute import examples

LENGTH = 120
CHOICES = [dict(zip(PARAMS, point)) for point in zip(*PARAMS.values())]
c0, c1, N, M = map(var, ("c0", "c1", "N", "M"))


def loop(name, low, high, *body, step=1, unroll=False, coincident=False):
    return For(name, (aff(low),), (aff(high),), step, unroll, body, coincident=coincident)


def called(text, values):
    """The calls that a Python text makes."""
    calls = []
    say = {s: (lambda *args, s=s: calls.append((s, args))) for s in ("S", "T")}
    exec(text, {**values, **say})  # noqa: S102
    return calls


@examples(300)
@given(st.binary(min_size=LENGTH, max_size=LENGTH))
def test_python_text_calls_what_the_loops_say(data):
    scan = loops(data)
    text = to_python(scan)
    for values in CHOICES:
        assert called(text, values) == run(scan, values), text


HARNESS = """
#include <stdio.h>
static void call(const char *name, int n, const long *args) {
  printf("%s", name);
  for (int k = 1; k < n; k++) printf(" %ld", args[k]);
  printf("\\n");
}
#define S(...) call("S", sizeof((long[]){0, ##__VA_ARGS__}) / sizeof(long), (long[]){0, ##__VA_ARGS__})
#define T(...) call("T", sizeof((long[]){0, ##__VA_ARGS__}) / sizeof(long), (long[]){0, ##__VA_ARGS__})
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_c_text_calls_what_the_loops_say(tmp_path):
    """Sixty random loops, in one program that prints its calls."""
    import random

    scans = [loops(random.Random(k).randbytes(LENGTH)) for k in range(60)]
    parts, names = [HARNESS], ", ".join(f"int {p}" for p in PARAMS)
    macros = {line for s in scans for line in to_c(s).splitlines() if line.startswith("#define")}
    parts += sorted(macros)
    for k, scan in enumerate(scans):
        parts.append(f"static void run{k}({names}) {{\n{to_c(scan, macros=False)}\n}}")
    parts.append("int main(void) {")
    for k in range(len(scans)):
        parts += [f'run{k}({", ".join(str(v[p]) for p in PARAMS)}); puts("end");' for v in CHOICES]
    (tmp_path / "loops.c").write_text("\n".join([*parts, "}"]))
    subprocess.run(["gcc", "-w", "-o", tmp_path / "loops", tmp_path / "loops.c"], check=True)
    printed = subprocess.run([tmp_path / "loops"], capture_output=True, text=True, check=True).stdout
    runs = [part.split("\n")[:-1] for part in printed.split("end\n")]
    at = 0
    for scan in scans:
        for values in CHOICES:
            expected = [" ".join([s, *map(str, args)]) for s, args in run(scan, values)]
            assert runs[at] == expected, (values, to_c(scan))
            at += 1
    assert len(macros) == 4  # all of floord, modd, min and max have been used


def test_macros_are_defined_when_they_are_used():
    small = For("c0", (aff(0),), (aff(31), N - 1), 1, False, (Call("S", (c0,)),))
    assert to_c(small) == (
        "#define min(x, y) ((y) < (x) ? (y) : (x))\n\nfor (int c0 = 0; c0 < min(32, N); c0 += 1)\n  S(c0);"
    )


def test_division_is_plain_where_nothing_is_negative():
    call = Call("S", ((N + 3) // 4, N % 8, (c0 - 5) // 4, (M - 1) // 2))
    scan = Scan((loop("c0", 5, 9, call),), {}, {"N": (0, None), "c0": (5, 9)})
    line = to_c(scan, macros=False).splitlines()[-1].strip()
    assert line == "S((N + 3) / 4, N % 8, (c0 - 5) / 4, floord(M + 1, 2) - 1);"


def test_the_bounds_around_tell_signs():
    """c0 >= 0 follows from the loop, no range is given."""
    assert "S(c0 / 4);" in to_c(loop("c0", 0, N - 1, Call("S", (c0 // 4,))))


def test_a_ceiling_is_written_as_one():
    assert to_c(Scan((Call("S", (-((-N) // 4),)),), {}, {"N": (0, None)})) == "S((N + 3) / 4);"
    assert to_python(Call("S", (-((-N) // 4),))) == "S((N + 3) // 4)"


def test_a_residue_needs_no_macro():
    body = If((("eq", (M - c0) % 3),), (Call("S", (c0,)),))
    assert "if ((M - c0) % 3 == 0)" in to_c(loop("c0", 0, 9, body), macros=False).replace("(-c0 + M)", "(M - c0)")


def test_branches_stand_in_braces_unless_each_is_one_line():
    s, t = (Call(name, ()) for name in "ST")
    both, deeper = If((("ge", N - 3),), (s,), (), (t,)), If((("ge", N - 3),), (s, t), (), (If((("eq", N),), (t,)),))
    assert to_c(both) == "if (N >= 3)\n  S();\nelse\n  T();"
    assert to_c(deeper) == "if (N >= 3) {\n  S();\n  T();\n} else if (N == 0) {\n  T();\n}"
    assert to_python(deeper) == "if N >= 3:\n    S()\n    T()\nelif N == 0:\n    T()"
    third = replace(both, other=(If((("eq", N),), (t,), (), (s, t)),))
    assert to_python(third) == "if N >= 3:\n    S()\nelif N == 0:\n    T()\nelse:\n    S()\n    T()"


def test_the_inner_condition_of_two_has_the_other_branch():
    """In braces, without which gcc warns of what is meant."""
    both = If((("ge", N - 3),), (Call("S", ()),), (), (Call("T", ()),))
    outer = If((("ge", M),), (loop("c0", 0, 9, both),))
    lines = to_c(outer).split("\n")
    assert (lines[0], lines[1:3], lines[-1]) == (
        "if (M >= 0) {",
        ["  for (int c0 = 0; c0 < 10; c0 += 1)", "    if (N >= 3)"],
        "}",
    )


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (("ge", N - c0 - 1), "c0 < N"),
        (("ge", c0 - N), "c0 >= N"),
        (("ge", c0 - 1), "c0 >= 1"),
        (("ge", 3 - c0), "c0 <= 3"),
        (("ge", N - c0 - 4), "c0 + 4 <= N"),
        (("ge", c0 - N - 1), "c0 > N"),
        (("eq", c0 - N + 1), "c0 + 1 == N"),
        (("eq", c0 % 3 - 1), "c0 % 3 == 1"),
        (AnyOf(((("ge", c0 - 5),), (("eq", c0),))), "c0 >= 5 || c0 == 0"),
        (AnyOf(((("ge", c0 - 5), ("ge", N - c0)), (("eq", c0),))), "(c0 >= 5 && c0 <= N) || c0 == 0"),
    ],
)
def test_conditions_read_as_people_write_them(condition, text):
    nest = loop("c0", 0, 9, If((condition,), (Call("S", (c0,)),)))
    assert f"if ({text})\n" in to_c(nest)
    assert f"if {text.replace('||', 'or').replace('&&', 'and')}:\n" in to_python(nest)


NEST = loop(
    "c0", 0, N - 1,
    Block("tile", (loop("c1", 1, c0, Call("S", (c0, c1)), step=4, unroll=True), Call("T", (c0,)))),
    coincident=True,
)  # fmt: skip


def test_c_is_laid_out_for_reading():
    assert (
        to_c(NEST, parallel="openmp", integer="long")
        == """\
#pragma omp parallel for
for (long c0 = 0; c0 < N; c0 += 1) {
  // tile
  #pragma unroll
  for (long c1 = 1; c1 <= c0; c1 += 4)
    S(c0, c1);
  T(c0);
}"""
    )


def test_python_is_laid_out_for_reading():
    assert (
        to_python(NEST)
        == """\
for c0 in range(N):
    # tile
    for c1 in range(1, c0 + 1, 4):
        S(c0, c1)
    T(c0)"""
    )


def test_a_scan_shows_its_c():
    scan = Scan((NEST,), {}, {})
    assert str(scan) == to_c(scan)
    assert "c1 &lt;= c0" in scan._repr_html_()


def test_bounds_of_unions_nest():
    union = For(
        "c0", (Extreme("min", (aff(0), N)),), (Extreme("max", (aff(3), N - 1, M - 1)),), 1, False, (Call("S", ()),)
    )
    assert "c0 = min(0, N); c0 < max(4, max(N, M));" in to_c(union)
    assert "range(min(0, N), max(4, N, M))" in to_python(union)


def test_a_bound_of_many_values_is_read_by_a_compiler_in_no_time():
    """The macros write each argument twice: forty of them in one another were 2^40 times the last one's text."""
    many = tuple(N * k for k in range(40))
    text = to_c(For("c0", (Extreme("min", many),), (aff(3),), 1, False, (Call("S", ()),)))
    depth = max(text[:k].count("(") - text[:k].count(")") for k in range(text.index("c0 = "), text.index(";")))
    assert text.count("min(") - 1 == 39 and depth <= 8


def test_mapped_names_are_loops_of_the_python_text():
    mapped = Scan((Call("S", (var("blockIdx.x"),)),), {"blockIdx.x": N}, {})
    assert to_python(mapped) == "for blockIdx_x in range(N):\n    S(blockIdx_x)"
    assert to_c(mapped) == "S(blockIdx.x);"
