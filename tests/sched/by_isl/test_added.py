"""What an extension below filters adds runs where an instance comes to it.

isl's loops run it there, and wherever else the code of the place runs: in one loop at all of its values, where the loop
is unrolled at those alone at which an instance comes by. So the calls here are those of isl's unrolled loops.
"""

import pytest

import polyvolta.isl as ours
from tests.sched.by_isl.running import runs

isl = pytest.importorskip("islpy")

BAND = """{ domain: "%s", child: { schedule: "[%s]"%s, child: %s } }"""
ADDED = """{ extension: "{ [t] -> X[t] }", child: { sequence: [ { filter: "{ X[t] }" }, { filter: "%s" } ] } }"""
BELOW = """{ filter: "{ S[i] : %s }", child: %s }"""
BESIDE = """{ sequence: [ { filter: "{ S[i] }" }, { filter: "{ T[i] }", child: %s } ] }""" % (ADDED % "{ T[i] }")
PAIR = "{ S[i] -> [(i)]; T[i] -> [(i)] }"
ONE = "{ S[i] -> [(i)] }"
TREES = {  # and the values at which X runs
    "below a filter": ("{ S[i] : 0 <= i < 4 }", ONE, BELOW % ("i >= 2", ADDED % "{ S[i] }"), [2, 3]),
    "below one filter of a sequence": ("{ S[i] : 0 <= i < 4; T[i] : i = 0 }", PAIR, BESIDE, [0]),
    "below two filters": (
        "{ S[i] : 0 <= i < 8 }",
        ONE,
        BELOW % ("i mod 2 = 0", BELOW % ("i >= 2", ADDED % "{ S[i] }")),
        [2, 4, 6],
    ),
    "behind another statement": ("{ S[i] : 0 <= i < 4; T[i] : i = 4 }", PAIR, BESIDE, [4]),
    "in a hole": ("{ S[i] : 0 <= i < 9; T[i] : i = 0 or i = 8 }", PAIR, BESIDE, [0, 8]),
}


def loops(m, name, options=""):
    domain, times, below, _ = TREES[name]
    said = f', options: "{{ {options}[0] }}"' if options else ""
    return m.AstBuild.from_context(m.Set("{ : }")).node_from_schedule(m.Schedule(BAND % (domain, times, said, below)))


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("options", ["", "unroll", "separate", "atomic"])
def test_what_is_added_runs_where_an_instance_comes_by(name, options):
    ran = [args for _, _, called, args in runs(loops(ours, name, options)) if called == "X"]
    assert ran == [[v] for v in TREES[name][-1]]


@pytest.mark.parametrize("name", TREES)
def test_unrolled_loops_of_isl_run_the_same(name):
    wanted = [line.strip() for line in loops(isl, name, "unroll").to_C_str().splitlines() if line.endswith(";")]
    ran = runs(loops(ours, name))
    assert [f"{called}({', '.join(map(str, args))});" for _, _, called, args in ran] == wanted


def test_a_loop_of_isl_runs_it_at_all_of_its_values():
    text = loops(isl, "below a filter").to_C_str()
    assert text == "for (int c0 = 0; c0 <= 3; c0 += 1) {\n  X(c0);\n  if (c0 >= 2)\n    S(c0);\n}\n"
    text = loops(isl, "below one filter of a sequence").to_C_str()
    assert text == "for (int c0 = 0; c0 <= 3; c0 += 1) {\n  S(c0);\n  X(c0);\n  if (c0 == 0)\n    T(0);\n}\n"
    text = loops(isl, "below one filter of a sequence", "separate").to_C_str()
    assert text.count("X(") == 1 and "  X(0);" in text
