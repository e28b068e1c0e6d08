"""Conditions with another branch, as isl's C has them."""

from itertools import product
from random import Random

import pytest

import polyvolta.isl as ours
from polyvolta.sched.errors import BadArgument
from tests.sched.by_isl.running import runs

TIMES = [
    "[n, m] -> { A[] -> [0] : n >= 5; B[] -> [1] : n < 5 and m > 3; C[] -> [2] : n < 5 and m <= 3; D[] -> [3] }",
    "[n, m] -> { A[i] -> [i, 0] : 0 <= i < 10 and n >= i; B[i] -> [i, 1] : 0 <= i < 10 and n >= i and m > 3;"
    " C[i] -> [i, 2] : 0 <= i < 10 and n >= i and m <= 3 }",
    "[n, m] -> { A[] -> [0] : n >= 5; B[] -> [1] : n = 3; C[] -> [2] : n = 2 }",
    "[n, m] -> { A[] -> [0] : n >= 5; B[] -> [1] : n >= 7; C[] -> [2] : n < 3 }",
    "[n] -> { A[i] -> [i, 0] : 0 <= i < n and i mod 2 = 0; B[i] -> [i - 1, 1] : 0 <= i < n and i mod 2 = 1 }",
    "[n, m] -> { A[i] -> [i, 0] : 0 <= i < 9; B[i] -> [i, 1] : 0 <= i < 9 and 2n > 3i }",
    "[n, m] -> { A[i] -> [i] : 0 <= i < 10 and n >= 5; B[i] -> [i] : 0 <= i < 10 and n < 5 }",
]


def loops(m, text, context="{ : }"):
    return m.AstBuild.from_context(m.Set(context)).node_from_schedule_map(m.UnionMap(text))


@pytest.mark.parametrize("text", TIMES)
def test_what_is_written_is_what_isl_writes(text):
    isl = pytest.importorskip("islpy")
    found, wanted = loops(ours, text), loops(isl, text)
    assert found.to_C_str() == wanted.to_C_str() and str(found) == str(wanted)


def test_a_chain_by_hand():
    node = loops(ours, TIMES[0]).block_get_children()[0]
    assert node.to_C_str() == "if (n >= 5) {\n  A();\n} else if (m >= 4) {\n  B();\n} else {\n  C();\n}\n"
    inner = node.if_get_else()
    assert (node.if_has_else(), inner.if_has_else_node()) == (True, True)
    assert (inner.if_get_cond().to_C_str(), inner.if_get_else_node().to_C_str()) == ("m >= 4", "C();\n")
    with pytest.raises(BadArgument, match="no other branch"):
        loops(ours, "[n] -> { A[] -> [0] : n >= 5 }").if_get_else()


def test_of_several_bounds_and_alternatives_by_hand():
    found = loops(ours, "[n, m] -> { A[] -> [0] : n >= 5 or m >= 6; B[] -> [1] : n < 5 and 0 <= m < 6 }").to_C_str()
    assert found == "if (n >= 5 || m >= 6) {\n  A();\n} else if (m >= 0) {\n  B();\n}\n"


def test_options_may_want_no_other_branch():
    ours.DEFAULT_CONTEXT.set_ast_build_allow_else(0)
    try:
        assert "else" not in loops(ours, TIMES[0]).to_C_str()
    finally:
        ours.DEFAULT_CONTEXT.set_ast_build_allow_else(1)


def seen(m):
    """What functions are asked about, and the kinds of all nodes."""
    found = []
    build = m.AstBuild.from_context(m.Set("{ : }"))
    asked = lambda node, build: (found.append(node.to_C_str()), node)[1]  # noqa: E731
    build, first = build.set_at_each_domain(asked)
    build, second = build.set_after_each_for(asked)
    node = build.node_from_schedule_map(m.UnionMap(TIMES[1]))
    kinds = []
    node.foreach_descendant_top_down(lambda n: (kinds.append(m.ast_node_type(n.get_type()).name), True)[1])
    return found, kinds


def test_functions_see_both_branches():
    found, kinds = seen(ours)
    assert found[-1].count("else") == 1 and len(found) == 4
    assert kinds == ["for_", "block", "user", "if_", "user", "user"]
    isl = pytest.importorskip("islpy")
    assert seen(isl) == (found, kinds)


def test_a_function_of_all_nodes_changes_both_branches():
    now = ours.AstNode.user_from_expr(ours.AstExpr.from_id(ours.Id("now")).call([]))
    new = loops(ours, TIMES[1]).map_descendant_bottom_up(lambda n: now if n.get_type() == now.get_type() else n)
    assert new.to_C_str().count("now();") == 3


def test_printers_write_both_branches():
    def writes(m):
        user = lambda p, o, n: p.start_line().print_str(f"/* {n.user_get_expr().to_C_str()} */").end_line()  # noqa: E731
        options, _ = m.AstPrintOptions.alloc(m.DEFAULT_CONTEXT).set_print_user(user)
        printer = m.Printer.to_str(m.DEFAULT_CONTEXT).set_output_format(m.format.C)
        return loops(m, TIMES[0]).print_(printer, options).get_str()

    assert "  /* A() */\n  } else if (m >= 4) {\n" in writes(ours)
    isl = pytest.importorskip("islpy")
    assert writes(ours) == writes(isl)


def drawn(seed):
    """(times, what runs for values of the parameters) of statements below random conditions."""
    rng = Random(seed)
    conditions = []
    for _ in range(5):
        one = lambda: rng.choice(("n {} {}", "m {} {}", "i {} {}", "n + i {} {}")).format(  # noqa: E731
            rng.choice(("<", ">=", "=", "<=", ">")), rng.randint(0, 4)
        )
        conditions.append(
            rng.choice((one(), f"{one()} and {one()}", f"({one()} or {one()})", f"i mod 2 = {rng.randint(0, 1)}"))
        )
    times = "; ".join(f"S{k}[i] -> [i, {k}] : 0 <= i < 4 and {c}" for k, c in enumerate(conditions))
    runs_so = [compile(c.replace("mod", "%").replace(" = ", " == "), "", "eval") for c in conditions]
    return f"[n, m] -> {{ {times} }}", lambda n, m: [
        (f"S{k}", [i]) for i in range(4) for k, c in enumerate(runs_so) if eval(c, {"i": i, "n": n, "m": m})
    ]


@pytest.mark.parametrize("seed", range(6))
def test_what_runs_stays(seed):
    text, wanted = drawn(seed)
    node = loops(ours, text)
    for n, m in product((-1, 2, 4), repeat=2):
        assert [(name, args) for _, _, name, args in runs(node, {"n": n, "m": m})] == wanted(n, m), node.to_C_str()
    assert ("else" in node.to_C_str()) == (seed != 2)  # none of whose conditions excludes the one before


def inside_leaves(m, times, inner):
    """Loops of times, at each leaf those of the inner ones."""
    build, _ = m.AstBuild.from_context(m.Set("{ : }")).set_create_leaf(
        lambda build: build.node_from_schedule_map(build.get_schedule().range_product(m.UnionMap(inner)))
    )
    return build.node_from_schedule_map(m.UnionMap(times))


def test_what_functions_give_keeps_its_branches():
    """Also where it speaks of parameters that nothing outside has."""
    inner = "[n, k] -> { A[] -> [0] : k >= 5; B[] -> [1] : k < 5; C[] -> [0] : k > n; D[] -> [1] : k <= n }"
    conditions = {"A": lambda n, k: k >= 5, "B": lambda n, k: k < 5, "C": lambda n, k: k > n, "D": lambda n, k: k <= n}
    for head in ("[n]", "[n, k]"):
        node = inside_leaves(ours, f"{head} -> {{ A[] -> [0]; B[] -> [0]; C[] -> [1]; D[] -> [1] }}", inner)
        assert node.to_C_str().count("else") == 2
        for n, k in product((-1, 3, 7), (-2, 4, 5, 8)):
            ran = [name for _, _, name, _ in runs(node, {"n": n, "k": k})]
            assert ran == [name for name, holds in conditions.items() if holds(n, k)]


def test_names_and_numbers_in_other_branches_are_those_of_c():
    text = loops(ours, "[n, for] -> { A[] -> [0] : n >= 5; while[i] -> [i + 1] : n < 5 and 0 <= i < for }").to_C_str()
    assert "c0 <= _for; " in text and "    _while(c0 - 1);\n" in text
    inner = "[n] -> { A[] -> [0] : n >= 5; B[i] -> [i] : n < 5 }"
    node = inside_leaves(ours, "[n] -> { A[] -> [0]; B[i] -> [0] : 0 <= i <= 3000000000 }", inner)
    assert "else {\n  for (long long c0 = 0;" in node.to_C_str()


def test_a_loop_to_the_greatest_of_many_bounds():
    """What is known there has a piece for each bound: none is divided by the others, which would be 4096."""
    names = [f"n{k}" for k in range(12)]
    times = "; ".join(f"S{k}[i] -> [i, {k}] : 0 <= i < n{k}" for k in range(12))
    lines = loops(ours, f"[{', '.join(names)}] -> {{ {times} }}").to_C_str().splitlines()
    assert lines[0].startswith("for (int c0 = 0; c0 < max(") and lines[-1] == "}"
    assert lines[1:-1] == [t for k in range(12) for t in (f"  if (n{k} >= c0 + 1)", f"    S{k}(c0);")]
