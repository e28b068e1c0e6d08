"""isl's constraints, access information and loops as objects; the answers are isl's, typed by hand."""

import re

import pytest

import polyvolta.isl as isl
from polyvolta.sets import Map, PolyvoltaError, Set

CHAIN = isl.UnionMap("{ S[i] -> S[i + 1] }")
SOME = isl.UnionSet("[N] -> { S[i] : 0 <= i < N }")


def test_constraints_of_a_schedule():
    asked = isl.ScheduleConstraints.on_domain(SOME).set_validity(CHAIN).set_proximity(CHAIN).set_coincidence(CHAIN)
    tree = asked.set_context(isl.Set("[N] -> { : N > 0 }")).compute_schedule()
    assert tree.get_map().is_equal(isl.UnionMap("{ S[i] -> [i] }"))
    assert asked.get_validity() == asked.get_proximity() == asked.get_coincidence() == CHAIN
    assert asked.get_domain() == SOME and asked.get_context() == isl.Set("{ : }")
    again = isl.ScheduleConstraints.read_from_str(None, str(asked))
    assert again.get_domain().is_equal(SOME) and again.get_validity().is_equal(CHAIN)
    assert isl.ScheduleConstraints(str(asked)) == again
    moved = asked.apply(isl.UnionMap("{ S[i] -> T[-i] }"))
    assert moved.get_validity().is_equal(isl.UnionMap("{ T[i] -> T[i - 1] }"))
    assert moved.compute_schedule().get_map().is_equal(isl.UnionMap("{ T[i] -> [-i] }"))
    local = isl.UnionMap("{ S[i] -> S[i] }")
    held = asked.set_conditional_validity(local, CHAIN)
    assert held.get_conditional_validity() == CHAIN and held.get_conditional_validity_condition() == local


def test_conditions_with_tags_count():
    """A value of `D` lives until its use in `C`; where that is in another iteration, no `D` before it overwrites it."""
    domain = isl.UnionSet("[n] -> { C[k, i] : k < n and 0 <= i < k; D[k, i] : k < n and 0 <= i < k }")
    flow = isl.UnionMap("[n] -> { D[k, i] -> C[1 + k, k - i] : k <= -2 + n and 0 <= i < k }")
    near = isl.UnionMap("[n] -> { C[k, i] -> D[k, i] : k < n and 0 <= i < k }")
    lives = isl.UnionMap("[n] -> { [D[k, i] -> a[]] -> [C[1 + k, k - i] -> b[]] : k <= -2 + n and 0 <= i < k }")
    order = isl.UnionMap("[n] -> { [C[k, i] -> b[]] -> [D[m, k - 1 - i] -> a[]] : k <= m < n and 0 <= i < k }")
    asked = isl.ScheduleConstraints.on_domain(domain).set_validity(flow).set_proximity(near)
    times = asked.set_conditional_validity(lives, order).compute_schedule().get_map()
    turned = times.lex_ge_union_map(times).intersect(order.zip().domain().unwrap())
    assert turned.is_empty()
    free = asked.compute_schedule().get_map()
    assert not free.lex_ge_union_map(free).intersect(order.zip().domain().unwrap()).is_empty()


def test_pairs_without_a_condition_ask_nothing():
    """One of isl's tests: no condition is of the element A, whose pairs no schedule could respect."""
    domain = isl.UnionSet("{ S[i] : 0 <= i < 100; T[i] : 0 <= i < 100 }")
    flow = isl.UnionMap("{ S[i] -> S[i + 1] : 0 <= i < 99 }")
    lives = isl.UnionMap("{ [S[i] -> B[]] -> [S[i + 1] -> B[]] : 0 <= i < 99 }")
    order = isl.UnionMap("""{ [S[i] -> A[]] -> [T[j] -> A[]] : 0 <= j, i < 100 and i != j;
        [T[i] -> A[]] -> [S[j] -> A[]] : 0 <= j, i < 100 and i != j;
        [S[i] -> A[]] -> [S[i + 1] -> A[]] : 0 <= i < 99 }""")
    asked = isl.ScheduleConstraints.on_domain(domain).set_validity(flow).set_proximity(flow)
    times = asked.set_conditional_validity(lives, order).compute_schedule().get_map()
    assert times.lex_ge_union_map(times).intersect(flow).is_empty()


@pytest.mark.parametrize("tagged", [True, False])
def test_conditions_of_other_statements_ask_nothing(tagged):
    """Relations of one pair of statements each, which have none in common, are unions here as any others."""
    lives, order = "A[i] -> A[i + 1] : 0 <= i < 4", "B[i] -> B[i - 1] : 0 < i <= 4; B[i] -> B[i + 1] : 0 <= i < 4"
    if tagged:
        lives, order = (re.sub(r"(\w\[[^]]*\])", r"[\1 -> x[]]", text) for text in (lives, order))
    asked = isl.ScheduleConstraints.on_domain(Set("{ A[i] : 0 <= i <= 4; B[i] : 0 <= i <= 4 }"))
    for some in (order, order.split(";")[0]):
        held = asked.set_conditional_validity(Map(f"{{ {lives} }}"), Map(f"{{ {some} }}"))
        assert held.compute_schedule() == asked.compute_schedule()


def test_statements_share_a_band_as_isls_do():
    both = isl.UnionSet("[N] -> { S[i, j] : 0 <= i, j < N; T[i] : 0 <= i < N }")
    after = isl.UnionMap("[N] -> { S[i, j] -> T[i] : j = N - 1 and 0 <= i < N }")
    tree = isl.ScheduleConstraints.on_domain(both).set_validity(after).set_proximity(after).compute_schedule()
    band = tree.get_root().child(0)
    assert band.get_type() is isl.schedule_node_type.band and band.get_universe_domain().n_set() == 2


ACCESSES = (
    isl.UnionAccessInfo.from_sink(isl.UnionMap("{ T[i] -> a[i] : 0 <= i < 8; T[i] -> a[i + 1] : 0 <= i < 8 }"))
    .set_must_source(isl.UnionMap("{ S[i] -> a[i] : 0 <= i < 8 }"))
    .set_may_source(isl.UnionMap("{ U[i] -> a[2i] : 0 <= i < 4 }"))
    .set_kill(isl.UnionMap("{ K[] -> a[3] }"))
)
FOUND = {
    "get_must_dependence": "{ S[i] -> T[i] : i in { 1, 5, 7 }; S[i] -> T[i - 1] : i in { 1, 5, 7 } }",
    "get_may_dependence": """{ S[i] -> T[i] : 0 <= i < 8 and i != 3; S[i] -> T[i - 1] : 1 <= i < 8 and i != 3;
                            U[i] -> T[2i] : 0 <= i < 4; U[i] -> T[2i - 1] : 1 <= i < 4 }""",
    "get_full_must_dependence": """{ S[i] -> [T[i] -> a[i]] : i in { 1, 5, 7 };
                                  S[i] -> [T[i - 1] -> a[i]] : i in { 1, 5, 7 } }""",
    "get_must_no_source": "{ T[7] -> a[8] }",
    "get_may_no_source": "{ T[7] -> a[8] }",
}


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("name", FOUND)
def test_what_dataflow_finds(name, tree):
    text = FOUND[name].replace("i in { 1, 5, 7 }", "(i = 1 or i = 5 or i = 7)")
    if tree:
        order = isl.Schedule("""{ domain: "{ S[i] : 0 <= i < 8; U[i] : 0 <= i < 4; K[]; T[i] : 0 <= i < 8 }",
            child: { sequence: [ { filter: "{ S[i] }" }, { filter: "{ U[i] }" }, { filter: "{ K[] }" },
            { filter: "{ T[i] }" } ] } }""")
        found = ACCESSES.set_schedule(order).compute_flow()
    else:
        times = isl.UnionMap("{ S[i] -> [0, i]; U[i] -> [1, i]; K[] -> [2]; T[i] -> [3, i] }")
        found = ACCESSES.set_schedule_map(times).compute_flow()
    assert getattr(found, name)().is_equal(isl.UnionMap(text))
    full = found.get_full_may_dependence()
    assert full.range_factor_domain().is_equal(found.get_may_dependence())


def test_full_dependences_tell_elements_apart():
    """Of two elements that one sink reads each has its own last source."""
    info = isl.UnionAccessInfo.from_sink(isl.UnionMap("{ T[] -> a[0]; T[] -> a[1] }"))
    info = info.set_must_source(isl.UnionMap("{ A[] -> a[0]; A[] -> a[1]; B[] -> a[1] }"))
    found = info.set_schedule_map(isl.UnionMap("{ A[] -> [0]; B[] -> [1]; T[] -> [2] }")).compute_flow()
    assert found.get_must_dependence().is_equal(isl.UnionMap("{ A[] -> T[]; B[] -> T[] }"))
    assert found.get_full_must_dependence().is_equal(isl.UnionMap("{ A[] -> [T[] -> a[0]]; B[] -> [T[] -> a[1]] }"))


def test_without_an_order_nothing_runs():
    names = [f"get_{sure}_{what}" for sure in ("must", "may") for what in ("dependence", "no_source")]
    names += ["get_full_must_dependence", "get_full_may_dependence"]
    for m in (isl, pytest.importorskip("islpy")):
        info = m.UnionAccessInfo.from_sink(m.UnionMap("{ T[i] -> a[i] }"))
        found = info.set_must_source(m.UnionMap("{ S[i] -> a[i] : 0 <= i < 8 }")).compute_flow()
        assert all(getattr(found, name)().is_empty() for name in names)
        assert not any("a[" in str(getattr(found, name)()) for name in names)


def test_a_tree_without_instances_has_no_full_dependences():
    """Its bands have no expression for the accesses, of which there are none."""
    tree = isl.Schedule("""{ domain: "{ S[i] : 0 <= i < -1 }", child: { schedule: "[{ S[i] -> [(i)] }]", child: {
        sequence: [ { filter: "{ S[i] }", child: { schedule: "[{ S[i] -> [(-i)] }]" } } ] } } }""")
    accesses = isl.UnionMap("{ S[i] -> a[i] }").intersect_domain(tree.get_domain())
    flow = isl.UnionAccessInfo.from_sink(accesses).set_must_source(accesses).set_schedule(tree).compute_flow()
    assert flow.get_full_must_dependence().is_empty()
    assert flow.get_full_may_dependence().is_empty()


@pytest.mark.parametrize("children", ["set", "sequence"])
def test_full_dependences_with_the_order_of_a_tree_are_isls(children):
    islpy, found = pytest.importorskip("islpy"), []
    tree = """{ domain: "[n] -> { A[i] : 0 <= i < n; T[i] : 0 <= i < n }", child: { KIND: [
        { filter: "{ A[i] }", child: { schedule: "[n] -> [{ A[i] -> [(i)] }]" } },
        { filter: "{ T[i] }", child: { schedule: "[n] -> [{ T[i] -> [(-i)] }]" } } ] } }"""
    for m in (isl, islpy):
        info = m.UnionAccessInfo.from_sink(
            m.UnionMap("[n] -> { T[i] -> a[i - 1] : 0 < i < n; A[i] -> a[0] : 0 <= i < n }")
        )
        info = info.set_must_source(m.UnionMap("[n] -> { A[i] -> a[i] : 0 <= i < n; T[i] -> a[i] : 0 <= i < n }"))
        flow = info.set_schedule(m.Schedule(tree.replace("KIND", children))).compute_flow()
        found.append([flow.get_full_must_dependence(), flow.get_full_may_dependence(), flow.get_must_no_source()])
    for ours, theirs in zip(*found, strict=True):
        assert islpy.UnionMap(str(ours)).is_equal(theirs)
    assert found[0][0].get_space().is_params() and not found[0][0].is_empty()


def test_pairs_of_statements_that_the_domain_lacks_ask_nothing_of_a_schedule():
    chain = isl.UnionMap("{ S[i] -> S[i - 1]; S[i] -> T[i]; T[i] -> S[i + 1] }")
    asked = isl.ScheduleConstraints.on_domain(isl.UnionSet("[n] -> { S[i] : 0 <= i < n }")).set_validity(chain)
    times = asked.set_proximity(chain).compute_schedule().get_map()
    assert times.is_equal(isl.UnionMap("{ S[i] -> [-i] }"))
    assert asked.get_validity().is_equal(chain)


TIMES = isl.UnionMap("[N] -> { S[i] -> [i, 0] : 0 <= i < N; T[i] -> [i, 1] : 0 <= i < N and i mod 2 = 0 }")


def test_loops():
    loop = isl.AstBuild.alloc().node_from_schedule_map(TIMES)
    assert loop.to_C_str() == (
        "for (int c0 = 0; c0 < N; c0 += 1) {\n  S(c0);\n  if (c0 % 2 == 0)\n    T(c0);\n}\n")  # fmt: skip
    assert loop.get_type() is isl.ast_node_type.for_ and not loop.for_is_degenerate()
    parts = (loop.for_get_iterator(), loop.for_get_init(), loop.for_get_cond(), loop.for_get_inc())
    assert [e.to_C_str() for e in parts] == ["c0", "0", "c0 < N", "1"]
    body = loop.for_get_body()
    first, second = body.block_get_children()
    assert body.get_type() is isl.ast_node_type.block and first.user_get_expr().to_C_str() == "S(c0)"
    assert second.if_get_cond().to_C_str() == "c0 % 2 == 0" and not second.if_has_else_node()
    assert second.if_get_then_node().user_get_expr().to_C_str() == "T(c0)"
    seen = []
    loop.foreach_descendant_top_down(lambda n: seen.append(n.get_type().name))
    assert seen == ["for_", "block", "user", "if_", "user"]
    with pytest.raises(PolyvoltaError, match="of type for_"):
        loop.if_get_cond()


def test_what_is_known_and_asked_of_loops():
    build = isl.AstBuild.from_context(isl.Set("[N] -> { : N = 3 }")).restrict(isl.Set("{ : }"))
    text = build.set_options(isl.UnionMap("{ [i, j] -> unroll[0] }")).node_from_schedule_map(TIMES).to_C_str()
    assert text == "{\n  S(0);\n  T(0);\n  S(1);\n  S(2);\n  T(2);\n}\n"
    some = build.set_options(isl.UnionMap("{ [0, j] -> unroll[0] }")).node_from_schedule_map(TIMES).to_C_str()
    assert some.startswith("{\n  S(0);\n  T(0);\n  for (int c0 = 1; c0 <= 2; c0 += 1)")
    named = isl.AstBuild.alloc().set_iterators(["t"]).node_from_schedule_map(TIMES)
    assert named.for_get_iterator().to_C_str() == "t" and "T(t);" in named.to_C_str()
    marked = isl.Schedule("""{ domain: "{ S[i] : 0 <= i < 4 }", child: { mark: "here", child: {
        schedule: "[{ S[i] -> [(i)] }]", coincident: [ 1 ] } } }""")
    node = isl.AstBuild.alloc().node_from_schedule(marked)
    assert node.mark_get_id() == "here" and node.mark_get_node().for_is_coincident()


@pytest.mark.parametrize("call", [
    lambda: isl.AstBuild.alloc().node_from_schedule_map("{ S[i] -> [i] }"),
    lambda: isl.AstBuild.alloc().set_options("{ [i] -> unroll[0] }"),
    lambda: isl.AstBuild.alloc().set_iterators(["a", "a"]),
    lambda: isl.AstBuild.alloc().set_iterators(["N"]).node_from_schedule_map(TIMES),
    lambda: isl.ScheduleConstraints.on_domain(CHAIN),
    lambda: isl.ScheduleConstraints(CHAIN),
    lambda: isl.ScheduleConstraints.on_domain(SOME).set_validity(SOME),
    lambda: isl.UnionAccessInfo.from_sink(SOME), lambda: ACCESSES.set_kill(None),
    lambda: isl.ScheduleConstraints.read_from_str("{ validity: '{ S[i] -> S[i] }' }"),
])  # fmt: skip
def test_what_is_none_is_refused(call):
    with pytest.raises(PolyvoltaError):
        call()


TREE = (
    isl.Schedule("""{ domain: "{ S[i] : 0 <= i < 9; T[] }", child: { sequence: [ { filter: "{ S[i] }" },
    { filter: "{ T[] }" } ] } }""")
    .get_root()
    .child(0)
)
BUILD, TEXT = isl.AstBuild.from_context(isl.Set("{ : }")), "{ S[i] }"


@pytest.mark.parametrize("call", [
    *(lambda name=name: getattr(TREE.child(0).child(0), name)(TEXT) for name in (
        "insert_filter", "order_before", "order_after", "insert_sequence", "insert_partial_schedule", "graft_before",
        "every_descendant", "foreach_ancestor_top_down", "map_descendant_bottom_up")),
    lambda: TREE.sequence_splice_child(TEXT), lambda: TREE.insert_set(3), lambda: isl.ScheduleNode.from_extension(TEXT),
    *(lambda name=name: getattr(BUILD, name)(TEXT) for name in (
        "expr_from_pw_aff", "expr_from_set", "access_from_pw_multi_aff", "call_from_pw_multi_aff", "restrict",
        "from_context", "node_from_schedule")),
    lambda: BUILD.set_iterators(3), lambda: isl.UnionAccessInfo(3), lambda: ACCESSES.set_schedule(3),
    lambda: isl.AstExpr.from_id(isl.Id("a")).call(3), lambda: isl.AstExpr.from_id(isl.Id("a")).substitute_ids(TEXT),
])  # fmt: skip
def test_an_argument_of_another_kind_is_named(call):
    with pytest.raises(PolyvoltaError, match=r"not (a str|an int|a Set and a str)|no member 0"):
        call()


def test_the_module_has_the_names_of_the_sets():
    assert isl.Set("{ [i] }").is_universe() and issubclass(isl.BasicSet, isl.Set) and "ScheduleNode" in dir(isl)
    with pytest.raises(AttributeError, match="a tuple of numbers"):
        isl.Vec  # noqa: B018


def test_what_methods_give_has_a_name_to_ask_for():
    s = isl.BasicSet("{ [i, j] : 0 <= i <= j < 4 }")
    assert isinstance(s.to_set().get_simple_fixed_box_hull(), isl.FixedBox)
    assert isinstance(s.to_set().get_stride_info(0), isl.StrideInfo)
    assert isinstance(s.compute_vertices(), isl.Vertices)
    expr = isl.AstExpr.from_id("i").add(isl.AstExpr.from_val(1))
    assert expr.substitute_ids(isl.IdToAstExpr({"i": isl.AstExpr.from_id("k")})).to_C_str() == "k + 1"


@pytest.mark.parametrize("text, wrong", [
    ("{ [i] : 0 <= i < 3; B[j] : j = 0 }", r"the tuple \[i\] has no name"),
    ("{ A[i] : 0 <= i < 3; A[i, j] : i = j = 0 }", "a second statement is called A"),
])  # fmt: skip
def test_statements_have_names_of_their_own(text, wrong):
    instances = isl.UnionSet(text)
    for make in (isl.Schedule.from_domain, isl.ScheduleNode.from_domain,
                 lambda some: isl.AstBuild.alloc().node_from_schedule_map(some.identity())):  # fmt: skip
        with pytest.raises(PolyvoltaError, match=wrong):
            make(instances)


def test_the_full_dependences_of_a_tree_beside_an_access_that_never_is():
    """A sink without instances has no time in the tree, and needs none."""
    for lib in (isl, *_islpy()):
        read = lib.UnionMap("[n] -> { S[i] -> A[i] : 0 < i < n; S[i] -> B[i] : 0 < i < n < 0 }")
        times = lib.MultiUnionPwAff("[n] -> [{ S[i] -> [(i)] }]")
        tree = lib.Schedule.from_domain(lib.UnionSet("[n] -> { S[i] : 0 <= i < n }")).insert_partial_schedule(times)
        writes = lib.UnionMap("[n] -> { S[i] -> A[i + 1] : 0 <= i < n }")
        info = lib.UnionAccessInfo.from_sink(read).set_must_source(writes)
        full = lib.UnionMap(str(info.set_schedule(tree).compute_flow().get_full_must_dependence()))
        assert full.is_equal(lib.UnionMap("[n] -> { S[i] -> [S[i + 1] -> A[i + 1]] : 0 <= i < n - 1 }"))


def _islpy():
    try:
        return (__import__("islpy"),)
    except ImportError:
        return ()
