"""Places in trees by isl's names; the answers are those that isl gives, typed by hand."""

import pytest

import polyvolta.isl as isl
from polyvolta.sched import Schedule as Plain
from polyvolta.sched import dependences, nest, schedule
from polyvolta.sets import PolyvoltaError

TREE = isl.Schedule(
    """{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }", child: {
    schedule: "[N] -> [{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]", permutable: 1, coincident: [ 1, 0 ] } }"""
)
BAND = TREE.get_root().child(0)
TWO = isl.Schedule(
    """{ domain: "{ A[i] : 0 <= i < 4; B[] }", child: { sequence: [
    { filter: "{ A[i] : i > 2 }", child: { schedule: "[{ A[i] -> [(i)] }]" } },
    { filter: "{ A[i] : i <= 2 }" }, { filter: "{ B[] }" } ] } }"""
)
T = isl.schedule_node_type


def loops(node):
    return isl.AstBuild.alloc().node_from_schedule(node.get_schedule()).to_C_str()


def times(node):
    return node.band_get_partial_schedule_union_map()


def test_where_a_node_is():
    root = TREE.get_root()
    assert (root.get_type(), root.n_children(), root.has_parent(), str(T.band)) == (
        T.domain, 1, False, "schedule_node_type.band")  # fmt: skip
    leaf = BAND.child(0)
    assert (BAND.get_schedule_depth(), leaf.get_schedule_depth(), leaf.get_tree_depth()) == (0, 2, 2)
    assert leaf.parent() == BAND == leaf.get_shared_ancestor(BAND) and leaf.grandparent() == root == leaf.root()
    assert leaf.get_child_position() == 0 and leaf.get_ancestor_child_position(root) == 0
    assert leaf.get_parent_type() is T.band and not leaf.has_children()
    one = TWO.get_root().child(0).child(1)
    assert one.has_next_sibling() and one.next_sibling().get_child_position() == 2
    assert one.previous_sibling().get_child_position() == 0 and not one.next_sibling().has_next_sibling()
    assert root.grandchild(0, 0) == leaf and root.first_child() == BAND
    assert BAND.is_equal(TREE.get_root().child(0)) and not BAND.is_equal(root)


def test_what_a_node_says():
    assert (BAND.band_n_member(), BAND.band_get_permutable()) == (2, True)
    assert [BAND.band_member_get_coincident(k) for k in (0, 1)] == [True, False]
    assert times(BAND).is_equal(isl.UnionMap("{ S[i, j] -> [i, j] }"))
    assert BAND.get_universe_domain() == isl.UnionSet("{ S[i, j] }")
    leaf = TWO.get_root().child(0).child(0).child(0).child(0)
    assert leaf.get_prefix_schedule_union_map().is_equal(isl.UnionMap("{ A[i] -> [i] : i > 2 }"))
    assert leaf.get_prefix_schedule_relation().is_equal(isl.UnionMap("{ A[3] -> [3] }"))
    assert leaf.get_domain().is_equal(isl.UnionSet("{ A[3] }"))
    assert leaf.parent().get_subtree_schedule_union_map().is_equal(isl.UnionMap("{ A[i] -> [i] }"))
    assert TWO.get_map().is_equal(
        isl.UnionMap("{ A[i] -> [0, i] : i > 2; A[i] -> [1, 0] : i <= 2; B[] -> [2, 0] }"))  # fmt: skip
    assert leaf.ancestor(2).filter_get_filter().is_equal(isl.UnionSet("{ A[i] : i > 2 }"))
    assert TWO.get_root().domain_get_domain() == TWO.get_domain()
    options = BAND.band_set_ast_build_options(isl.UnionSet("{ separate[0]; unroll[1] }"))
    assert options.band_get_ast_build_options().is_equal(isl.UnionSet("{ separate[0]; unroll[1] }"))
    assert options.band_member_get_ast_loop_type(1) is isl.ast_loop_type.unroll
    assert BAND.band_member_set_ast_loop_type(0, isl.ast_loop_type.separate).band_member_get_ast_loop_type(0) == 3
    assert BAND.band_get_ast_build_options().is_empty()


def test_tiles_count_in_steps_of_their_size():
    tiled = BAND.band_tile([32, 8])
    assert times(tiled).is_equal(isl.UnionMap("{ S[i, j] -> [32*floor(i/32), 8*floor(j/8)] }"))
    assert times(tiled.child(0)).is_equal(isl.UnionMap("{ S[i, j] -> [i mod 32, j mod 8] }"))
    assert tiled.child(0).band_get_permutable() and tiled.band_member_get_coincident(0)
    assert loops(tiled).startswith("for (int c0 = 0; c0 < N; c0 += 32)\n  for (int c1 = 0; c1 < N; c1 += 8)")
    forbidden = BAND.band_set_permutable(0).band_tile([2, 2])  # nothing is known of dependences
    assert not forbidden.band_get_permutable() and not forbidden.child(0).band_get_permutable()


def test_dependences_that_a_tree_knows_are_respected():
    @nest
    def waves(A, N):
        for i in range(1, N):
            for j in range(N - 1):
                A[i, j] = A[i - 1, j + 1]

    node = schedule(waves, fuse="max").get_root().child(0)
    skewed = node.get_schedule().with_dependences(dependences(waves))
    wrong = isl.UnionMap("[N] -> { S[i, j] -> [i, j] }")
    band = isl.ScheduleNode(isl.Schedule.from_domain(skewed.domain), (0,)).insert_partial_schedule(wrong)
    known = band.get_schedule().with_dependences(dependences(waves))
    with pytest.raises(PolyvoltaError, match="dependence"):
        isl.ScheduleNode(known, (0,)).band_tile([4, 4])


@pytest.mark.parametrize(("changed", "wanted"), [
    (BAND.band_scale([2, 3]), "{ S[i, j] -> [2i, 3j] }"),
    (BAND.band_scale_down([2, 3]), "{ S[i, j] -> [floor(i/2), floor(j/3)] }"),
    (BAND.band_mod([2, 3]), "{ S[i, j] -> [i mod 2, j mod 3] }"),
    (BAND.band_shift(isl.MultiUnionPwAff("[{ S[i, j] -> [(1)] }, { S[i, j] -> [(i)] }]")),
     "{ S[i, j] -> [i + 1, j + i] }"),
    (BAND.band_split(1), "{ S[i, j] -> [i] }"),
    (BAND.band_split(1).child(0), "{ S[i, j] -> [j] }"),
    (BAND.band_split(1).band_sink(), "{ S[i, j] -> [j] }"),
    (BAND.child(0).insert_partial_schedule(isl.MultiUnionPwAff("[{ S[i, j] -> [(i + j)] }]")),
     "{ S[i, j] -> [i + j] }"),
    (TREE.insert_partial_schedule(isl.UnionMap("{ S[i, j] -> [i + j] }")).get_root().child(0),
     "{ S[i, j] -> [i + j] }"),
])  # fmt: skip
def test_other_bands(changed, wanted):
    assert times(changed).is_equal(isl.UnionMap(wanted))


@pytest.mark.parametrize("flags", ["", ", permutable: 1", ", permutable: 1, coincident: [ 1, 0 ]"])
def test_a_band_sinks_without_dependences_whatever_its_flags_say(flags):
    islpy, found = pytest.importorskip("islpy"), []
    tree = '{ domain: "{ S[i, j] : 0 <= i, j < 9 }", child: { schedule: "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]"'
    for m in (islpy, isl):
        node = m.Schedule(f"{tree}{flags} }} }}").get_root().child(0).band_split(1).band_sink()
        found.append((str(node.get_schedule().get_map()), node.band_member_get_coincident(0)))
    assert isl.UnionMap(found[0][0]).is_equal(isl.UnionMap(found[1][0])) and found[0][1] == found[1][1]


def test_a_band_by_cases():
    cases = isl.UnionMap("{ S[i, j] -> [0, i] : j < 3; S[i, j] -> [1, j] : j >= 3 }")
    node = BAND.cut().insert_partial_schedule(cases)
    assert times(node).is_equal(cases)
    with pytest.raises(PolyvoltaError, match="have no time"):
        BAND.cut().insert_partial_schedule(isl.UnionMap("{ S[i, j] -> [0, i] : j < 3 }"))
    with pytest.raises(PolyvoltaError, match="several times"):
        BAND.cut().insert_partial_schedule(isl.UnionMap("{ S[i, j] -> [a] : 0 <= a <= i }"))


def test_orders():
    first = BAND.order_before(isl.UnionSet("{ S[i, j] : i < 3 }"))  # the place of the others
    assert (first.get_type(), first.get_tree_depth(), first.parent().get_child_position()) == (T.band, 3, 1)
    assert first.get_domain().is_equal(isl.UnionSet("[N] -> { S[i, j] : 3 <= i < N and 0 <= j < N }"))
    again = first.order_after(isl.UnionSet("{ S[i, j] : i > 10 }"))  # in the same sequence
    assert (again.get_tree_depth(), again.parent().get_child_position(), again.ancestor(2).n_children()) == (3, 1, 3)
    assert again.get_domain().is_equal(isl.UnionSet("[N] -> { S[i, j] : 3 <= i <= 10 and i < N and 0 <= j < N }"))
    last = BAND.order_after(isl.UnionSet("{ S[i, j] : i < 3 }"))
    assert last.parent().get_child_position() == 0
    assert BAND.order_before(isl.UnionSet("{ S[i, j] }")) is BAND
    parts = BAND.insert_sequence([isl.UnionSet("{ S[i, j] : i < 3 }"), isl.UnionSet("{ S[i, j] : i >= 3 }")])
    assert (parts.get_type(), parts.n_children(), parts.child(1).child(0).get_type()) == (T.sequence, 2, T.band)
    assert BAND.insert_set([isl.UnionSet("{ S[i, j] : i < 3 }"), isl.UnionSet("{ S[i, j] : i >= 3 }")]).get_type() == 10


def test_what_is_put_in_and_taken_out():
    mark = BAND.insert_mark("here")
    assert (mark.get_type(), mark.mark_get_id(), mark.child(0).get_type()) == (T.mark, "here", T.band)
    assert mark.delete() == BAND and BAND.cut().get_type() is T.leaf
    known = isl.Set("[N] -> { : N > 3 }")
    assert BAND.insert_context(known).context_get_context().is_equal(known)
    assert BAND.child(0).insert_guard(isl.Set("{ [i, j] : i >= 0 }")).get_type() is T.guard
    here = BAND.child(0).insert_filter(isl.UnionSet("{ S[i, j] : i < j }"))
    assert here.filter_get_filter().is_equal(isl.UnionSet("{ S[i, j] : i < j }"))
    assert here.is_subtree_anchored() is False
    for node in (TREE.get_root(), TWO.get_root().child(0).child(0)):
        with pytest.raises(PolyvoltaError, match="can't be left out"):
            node.delete()
        with pytest.raises(PolyvoltaError, match="can't be cut"):
            node.cut()


@pytest.mark.parametrize("before", [True, False])
def test_grafts(before):
    graft = isl.ScheduleNode.from_extension(isl.UnionMap("[N] -> { [i, j] -> copy[i] : j = 0 }"))
    leaf = BAND.child(0)
    node = leaf.graft_before(graft) if before else leaf.graft_after(graft)
    assert (node.get_type(), node.get_tree_depth(), node.parent().get_child_position()) == (T.leaf, 5, int(before))
    assert node.get_domain().is_equal(leaf.get_domain()) and node.ancestor(3).is_subtree_anchored()
    lines = [line.strip() for line in loops(node).splitlines()]
    assert lines.index("copy(c0);") == lines.index("S(c0, c1);") + (-1 if before else 2)
    assert node.ancestor(3).extension_get_extension().is_equal(isl.UnionMap("[N] -> { [i, j] -> copy[i] : j = 0 }"))


@pytest.mark.parametrize(
    "changed",
    [
        lambda n: n.band_mod([3, 3]),
        lambda n: n.band_scale([-1, 1]),
        lambda n: n.band_scale_down([3, 3]),
        lambda n: n.band_shift(isl.UnionMap("[N] -> { S[i, j] -> [N, 0] }")),
        lambda n: n.delete(),
        lambda n: n.insert_partial_schedule(isl.UnionMap("{ S[i, j] -> [j] }")),
    ],
)
def test_members_that_a_node_below_speaks_of_stay_as_they_are(changed):
    """isl refuses them; the extension would be of other values."""
    graft = isl.ScheduleNode.from_extension(isl.UnionMap("[N] -> { [i, j] -> copy[i] : j = 0 and 0 <= i < N }"))
    with pytest.raises(PolyvoltaError, match="would change what a node below speaks of: it is an Extension"):
        changed(BAND.child(0).graft_before(graft).root().child(0))


def test_a_tree_with_a_domain_is_grafted_at_all_times():
    graft = isl.Schedule('{ domain: "[m] -> { C[i] : 0 <= i < m; D[] }" }').get_root()
    node = BAND.child(0).graft_after(graft)
    added = node.ancestor(3).extension_get_extension()
    assert added.is_equal(isl.UnionMap("[m] -> { [i, j] -> C[k] : 0 <= k < m; [i, j] -> D[] }"))


def test_a_band_of_no_members_is_scaled_by_no_numbers():
    none = BAND.band_split(0)
    for change in (none.band_scale, none.band_scale_down, none.band_mod, none.band_tile):
        assert change([]).band_n_member() == 0


def test_members_times_any_numbers():
    assert times(BAND.band_scale([-2, 0])).is_equal(isl.UnionMap("[N] -> { S[i, j] -> [-2i, 0] }"))
    for given in ([2], [2, 3, 4], 2, "ab", [isl.Val("1/2"), 1], ["x", 0], [None, 1]):
        for change in (BAND.band_scale, BAND.band_scale_down, BAND.band_mod, BAND.band_tile):
            with pytest.raises(PolyvoltaError):
                change(given)


def test_what_is_isolated_is_of_the_members_above_and_the_own():
    inner = BAND.band_split(1).child(0)
    assert inner.band_get_ast_isolate_option().is_equal(isl.Set("{ isolate[[i] -> [j]] : false }"))
    some = isl.Set("[N] -> { isolate[[i] -> [j]] : j < N - i }")
    assert inner.band_set_ast_build_options(some.to_union_set()).band_get_ast_isolate_option().is_equal(some)


@pytest.mark.parametrize("name", ["", "L_1"])
def test_what_is_isolated_is_in_the_tuple_of_the_band(name):
    """Of one of another name isl isolates nothing."""
    text = f"""{{ domain: "{{ S[i, j] : 0 <= i, j < 9 }}", child: {{ schedule: "L_0[{{ S[i, j] -> [(i)] }}]", child: {{
        schedule: "{name}[{{ S[i, j] -> [(j)] }}]", options:
            "{{ isolate[[a] -> {name}[b]] : a > 3; unroll[0] }}" }} }} }}"""
    islpy = pytest.importorskip("islpy")
    assert f"isolate[[a] -> {name}[b]]" in str(isl.Schedule(text))

    def there(m, text):
        return str(m.Schedule(text).get_root().child(0).child(0).band_get_ast_isolate_option())

    read = there(islpy, str(isl.Schedule(text)))
    assert islpy.Set(there(isl, text)).is_equal(islpy.Set(read)) and islpy.Set(read).is_equal(
        islpy.Set(there(islpy, text)))  # fmt: skip


def test_a_band_may_have_no_members():
    node = BAND.insert_partial_schedule(isl.MultiUnionPwAff("[N] -> ([] : { S[i, j] })"))
    assert (node.get_type(), node.band_n_member(), node.child(0).get_schedule_depth()) == (T.band, 0, 0)
    assert node.child(0).node == BAND.node and node.get_schedule().get_map().is_equal(TREE.get_map())
    assert isl.Schedule(str(node.get_schedule())) == node.get_schedule() and loops(node) == loops(BAND)
    assert node.get_schedule().check_structure() == node.get_schedule()
    with pytest.raises(PolyvoltaError, match="a band without members"):
        Plain(node.get_schedule().root).check_structure()


def test_walks():
    seen = []
    TREE.foreach_schedule_node_top_down(lambda n: seen.append(n.get_type().name))
    assert seen == ["domain", "band", "leaf"]
    seen.clear()
    BAND.foreach_descendant_top_down(lambda n: seen.append(n.get_type().name) or False)
    BAND.child(0).foreach_ancestor_top_down(lambda n: seen.append(n.get_type().name))
    assert seen == ["band", "domain", "band"]  # not the leaf itself
    assert BAND.every_descendant(lambda n: n.get_tree_depth() > 0)
    tiled = TREE.map_schedule_node_bottom_up(lambda n: n.band_tile([4, 4]) if n.get_type() is T.band else n)
    assert [n.get_type().name for n in (tiled.get_root().child(0), tiled.get_root().grandchild(0, 0))] == ["band"] * 2


def test_trees_of_trees():
    a, b = (isl.Schedule.from_domain(isl.UnionSet(text)) for text in ("{ A[i] : 0 <= i < 4 }", "{ B[] }"))
    both = a.sequence(b).sequence(isl.Schedule.from_domain(isl.UnionSet("{ C[] }")))
    assert both.get_root().child(0).n_children() == 3
    assert both.get_map().is_equal(isl.UnionMap("{ A[i] -> [0]; B[] -> [1]; C[] -> [2] }"))
    assert a.set(b).get_root().child(0).get_type() is T.set and a.is_equal(a) and not a.is_equal(b)
    with pytest.raises(PolyvoltaError, match="instances of a statement"):
        a.sequence(a)
    few = TREE.intersect_domain(isl.UnionSet("{ S[i, j] : i < 5 }"))
    assert few.get_domain().is_equal(isl.UnionSet("[N] -> { S[i, j] : 0 <= i < 5 and i < N and 0 <= j < N }"))
    assert isl.Schedule.read_from_str(None, TREE.to_isl()) == TREE == isl.Schedule(TREE.to_isl())
    assert isl.Schedule(TREE.to_str()) == TREE
    assert isl.ScheduleNode.from_domain(isl.UnionSet("{ A[] }")).get_type() is T.domain
    with pytest.raises(AttributeError, match="a Schedule has no attribute 'get_rooot'"):
        TREE.get_rooot  # noqa: B018


@pytest.mark.parametrize("call", [
    lambda: TREE.get_root().parent(), lambda: TREE.get_root().get_child_position(), lambda: BAND.child(1),
    lambda: TREE.get_root().band_n_member(), lambda: BAND.mark_get_id(), lambda: BAND.next_sibling(),
    lambda: BAND.band_member_get_coincident(2), lambda: BAND.band_tile([3]), lambda: BAND.band_mod([3]),
    lambda: BAND.insert_partial_schedule("{ S[i] -> [i] }"), lambda: BAND.graft_before(BAND), lambda: BAND.ancestor(5),
    lambda: TREE.get_root().insert_partial_schedule(isl.UnionMap("{ S[i, j] -> [i] }")),
    lambda: BAND.get_ancestor_child_position(BAND),
    lambda: BAND.band_set_ast_build_options(isl.UnionSet("{ unrol[0] }")), lambda: isl.Schedule("{ domain: }"),
])  # fmt: skip
def test_what_is_not_there_is_refused(call):
    with pytest.raises(PolyvoltaError):
        call()


def test_marks_keep_the_objects_of_their_identifiers():
    here = object()
    tree = isl.Schedule('{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }')
    node = tree.get_root().child(0).insert_mark(isl.Id("m", here))
    assert node.mark_get_id() == "m" and node.mark_get_id().user is here
    loops = isl.AstBuild.alloc().node_from_schedule(node.get_schedule())
    assert loops.mark_get_id().user is here and loops.to_C_str().startswith("// m\nfor")
    assert node.get_schedule() == tree.get_root().child(0).insert_mark("m").get_schedule()
    assert 'mark: "m"' in node.get_schedule().to_str()


def test_sequences_in_sequences_are_spliced():
    text = (
        '{ domain: "{ A[]; B[]; C[]; D[] }", child: { sequence: [ { filter: "{ A[] }" }, { filter: "{ B[]; C[] }",'
        ' child: { sequence: [ { filter: "{ B[] }" }, { filter: "{ C[] }" } ] } }, { filter: "{ D[] }" } ] } }'
    )
    node = isl.Schedule(text).get_root().child(0)
    flat = "{ A[] -> [0]; B[] -> [1]; C[] -> [2]; D[] -> [3] }"
    for found in (node.sequence_splice_child(1), node.sequence_splice_children()):
        assert found.n_children() == 4 and found.get_schedule().get_map().is_equal(isl.UnionMap(flat))
    assert node.sequence_splice_children().sequence_splice_children().n_children() == 4
    for at, said in ((0, "no sequence"), (7, "no child at position 7")):
        with pytest.raises(isl.Error, match=said):
            node.sequence_splice_child(at)


def test_what_all_objects_have():
    node = isl.Schedule("{ domain: '{ A[] }' }").get_root()
    build = isl.AstBuild.alloc()
    for value in (node, node.get_schedule(), build, build.node_from_schedule(node.get_schedule())):
        assert value.copy() is value and value.get_ctx() == isl.DEFAULT_CONTEXT


@pytest.mark.parametrize(("call", "said"), [
    (lambda: BAND.ancestor("x"), "has no ancestor x steps above"),
    (lambda: BAND.get_shared_ancestor(3), "a ScheduleNode is needed, not an int"),
    (lambda: BAND.get_ancestor_child_position(None), "a ScheduleNode is needed, not None"),
    (lambda: BAND.graft_before(TREE), "a ScheduleNode is needed, not a Schedule"),
    (lambda: BAND.foreach_descendant_top_down(3), "an int is none"),
    (lambda: BAND.band_member_get_coincident("x"), "has no member 'x'"),
    (lambda: TREE.sequence(3), "Schedule.sequence needs a Schedule for other, not an int"),
])  # fmt: skip
def test_what_is_no_node_is_refused(call, said):
    with pytest.raises(PolyvoltaError, match=said):
        call()


ANCHORS = [
    'context: "[n] -> { [t] : n > 3 }"',
    'guard: "[n] -> { [t] : n > 3 }"',
    'mark: "m", child: { leaf }',
    'filter: "{ S[i] : i > 1 }"',
    'schedule: "[{ S[i] -> [(-i)] }]", options: "{ unroll[0] }"',
    'schedule: "[{ S[i] -> [(-i)] }]", options: "{ isolate[[t] -> [x]] : t < 4 }"',
]


@pytest.mark.parametrize("node", ANCHORS)
def test_contexts_guards_and_isolated_parts_are_anchored(node):
    """A context and a guard of sizes alone, too."""
    islpy = pytest.importorskip("islpy")
    text = '{ domain: "[n] -> { S[i] : 0 <= i < n }", child: { schedule: "[{ S[i] -> [(i)] }]", child: { NODE } } }'
    text = text.replace("NODE", node)
    for depth in range(4):
        ours, theirs = (m.Schedule(text).get_root() for m in (isl, islpy))
        for _ in range(depth):
            ours, theirs = ours.child(0), theirs.child(0)
        assert ours.is_subtree_anchored() == theirs.is_subtree_anchored()
