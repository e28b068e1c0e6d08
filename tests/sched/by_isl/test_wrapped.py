"""Statements that are wrapped tuples, by isl's names: a tree calls them by labels, its users never see one."""

import pytest

import polyvolta.isl as isl
from polyvolta.sched import Schedule
from polyvolta.sched.dependence import dataflow

PAIRS = "{ [S[i] -> T[j]] : 0 <= i < 4 and 0 <= j < i; S[i] : 0 <= i < 4 }"
OUTER = isl.UnionMap("{ [S[i] -> T[j]] -> [i]; S[i] -> [i] }")
INNER = isl.UnionMap("{ [S[i] -> T[j]] -> [j]; S[i] -> [4] }")


def band():
    return isl.Schedule.from_domain(isl.UnionSet(PAIRS)).insert_partial_schedule(OUTER).get_root().child(0)


def test_nodes_take_and_give_plain_tuples():
    node = band().child(0).insert_partial_schedule(INNER)
    assert node.get_domain().is_equal(isl.UnionSet(PAIRS)) and node.root().domain_get_domain() == isl.UnionSet(PAIRS)
    both = isl.UnionMap("{ [S[i] -> T[j]] -> [i, j]; S[i] -> [i, 4] }")
    assert node.get_schedule().get_map().is_equal(both)
    assert node.root().get_subtree_schedule_union_map().is_equal(both.intersect_domain(isl.UnionSet(PAIRS)))
    assert node.get_prefix_schedule_union_map().is_equal(OUTER)
    assert node.band_get_partial_schedule().is_equal(INNER) and node.get_subtree_schedule_union_map().is_equal(INNER)
    pairs, few = isl.UnionSet("{ [S[i] -> T[j]] }"), isl.UnionSet("{ [S[i] -> T[j]] : j < 2 }")
    assert node.insert_filter(few).filter_get_filter().is_equal(few)
    sequence = band().child(0).order_before(pairs).parent().parent()
    assert [sequence.child(k).filter_get_filter() for k in range(2)] == [pairs, isl.UnionSet("{ S[i] }")]
    assert node.get_schedule().intersect_domain(few).get_domain().is_equal(few & isl.UnionSet(PAIRS))


def test_grafts_of_copies():
    copies = isl.UnionMap("{ [i] -> read[A[x] -> s[y]] : x = y = i }")
    node = band().child(0).graft_before(isl.ScheduleNode.from_extension(copies))
    assert node.ancestor(3).extension_get_extension() == copies
    loops = isl.AstBuild.alloc().node_from_schedule(node.get_schedule())
    assert "read(c0, c0);" in loops.to_C_str()


def test_callbacks_at_pairs():
    seen = []
    build, _ = isl.AstBuild.alloc().set_at_each_domain(lambda node, at: seen.append(at.get_schedule()) or node)
    tree = band().child(0).insert_partial_schedule(INNER).get_schedule()
    assert "S_T(c0, c1);" in build.node_from_schedule(tree).to_C_str()
    pairs = isl.UnionSet("{ [S[i] -> T[j]] : 0 <= j < i < 4 }")
    want = isl.UnionMap("{ [S[i] -> T[j]] -> [[[] -> [i]] -> [j]] }").intersect_domain(pairs)
    assert seen[0].is_equal(want) and seen[1].is_equal(isl.UnionMap("{ S[i] -> [i] : 0 <= i < 4 }"))
    build.node_from_schedule_map(OUTER.flat_range_product(INNER).intersect_domain(pairs))
    assert seen[2].is_equal(isl.UnionMap("{ [S[i] -> T[j]] -> [i, j] }").intersect_domain(pairs))


def test_schedules_of_pairs():
    pairs = isl.UnionSet("{ [S[i] -> R[j]] : 0 <= i, j < 9 }")
    chain = isl.UnionMap("{ [S[i] -> R[j]] -> [S[i + 1] -> R[j - 1]] }")
    times = isl.ScheduleConstraints.on_domain(pairs).set_validity(chain).compute_schedule().get_map()
    steps = chain.intersect_domain(pairs).intersect_range(pairs).apply_domain(times).apply_range(times)
    assert not steps.is_empty() and steps.deltas().is_subset(isl.Set("{ [0, x] : x >= 0; [x, y] : x > 0 }"))


def test_what_a_tree_does_not_have_never_runs():
    tree = Schedule.parse("""{ domain: "{ [S[i] -> R[]] : 0 <= i < 4; [S[i] -> W[]] : 0 <= i < 4 }", child: {
        schedule: "[{ [S[i] -> R[]] -> [(i)]; [S[i] -> W[]] -> [(i)] }]" } }""")
    reads, writes = isl.UnionMap("{ [S[i] -> R[]] -> A[i] }"), isl.UnionMap("{ [S[i] -> W[]] -> A[i + 1] }")
    want = isl.UnionMap("{ [S[i] -> W[]] -> [S[i + 1] -> R[]] : 0 <= i < 3 }")
    assert dataflow(reads, writes, order=tree).must.is_equal(want)
    info = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule(tree)
    full = info.compute_flow().get_full_must_dependence()
    assert full.range_factor_domain().is_equal(want)


# ---- the only statement, without a name

UNNAMED = "[n, m] -> { [i, j] -> %s : 0 <= i <= n and i <= j <= m }"


def test_loops_of_the_only_statement_without_a_name():
    """isl's own texts, typed by hand: a call has its indices alone."""
    build = isl.AstBuild.from_context(isl.Set("{ : }"))
    text = build.ast_from_schedule(isl.Map(UNNAMED % "[j, i]")).to_C_str()
    assert (
        text
        == """for (int c0 = 0; c0 <= m; c0 += 1)
  for (int c1 = 0; c1 <= min(n, c0); c1 += 1)
    (c1, c0);
"""
    )
    times = isl.Map.from_domain(isl.Set("[n] -> { [i] : 0 <= i < n }"))
    assert build.node_from_schedule_map(times).to_C_str() == "for (int c0 = 0; c0 < n; c0 += 1)\n  (c0);\n"


def test_callbacks_of_the_only_statement_without_a_name():
    seen = []

    def at(node, build):
        call = node.user_get_expr()
        seen.append(
            (build.get_schedule(), call.to_C_str(), call.get_op_arg(0).get_id().get_name(), call.get_op_n_arg())
        )
        return node

    build, _ = isl.AstBuild.from_context(isl.Set("{ : }")).set_at_each_domain(at)
    build.node_from_schedule_map(isl.UnionMap(UNNAMED % "[-i, j]"))
    ((times, text, name, count),) = seen
    assert (text, name, count) == ("(-c0, c1)", "", 3) and times.is_equal(isl.Map(UNNAMED % "[-i, j]"))
    with pytest.raises(isl.Error, match="has no name"):
        build.node_from_schedule_map(isl.UnionMap("{ [i] -> [i, 0] : 0 <= i < 3; A[i] -> [i, 1] : 0 <= i < 3 }"))
