"""The nodes that operations on trees leave, and where they leave one, beside isl's."""

from random import Random

import pytest

import polyvolta.isl as ours
from polyvolta.sets import PolyvoltaError
from tests.sched.by_isl.running import runs

isl = pytest.importorskip("islpy")
BOTH = (ours, isl)
TWO = """{ domain: "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", child: {
    schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }]", child: { sequence: [
    { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } }"""
PLAIN = """{ domain: "{ A[]; B[]; C[] }", child: { sequence: [
    { filter: "{ A[] }" }, { filter: "{ B[] }" }, { filter: "{ C[] }" } ] } }"""
INSIDE = """{ domain: "{ A[]; B[]; C[] }", child: { sequence: [ { filter: "{ A[]; B[] }", child: {
    sequence: [ { filter: "{ A[] }" }, { filter: "{ B[] }" } ] } }, { filter: "{ C[] }" } ] } }"""
PARTS = """{ domain: "{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9; U[] }", child: { sequence: [
    { filter: "{ S[i] : i < 4 }", child: { schedule: "[{ S[i] -> [(-i)] }]" } },
    { filter: "{ S[i] : i >= 4; T[i]; U[] }", child: {
      schedule: "[{ S[i] -> [(floor(i/2))]; T[i] -> [(i)]; U[] -> [(3)] }]", child: { set: [
      { filter: "{ S[i]; U[] }" }, { filter: "{ T[i] }" } ] } } } ] } }"""


def kind(m, node):
    return m.schedule_node_type(node.get_type()).name


def shape(m, node):
    return (kind(m, node), *[shape(m, node.child(k)) for k in range(node.n_children())])


def place(node):
    found = []
    while node.has_parent():
        found.append(node.get_child_position())
        node = node.parent()
    return tuple(found[::-1])


def at(m, text, path):
    node = m.Schedule(text).get_root()
    for k in path:
        node = node.child(k)
    return node


def sets(m, *texts):
    found = m.UnionSetList.alloc(m.DEFAULT_CONTEXT, len(texts))
    for text in texts:
        found = found.add(m.UnionSet(text))
    return found


def graft(m, name, depth=0):
    members = ", ".join(f"t{k}" for k in range(depth))
    return m.ScheduleNode.from_extension(m.UnionMap(f"{{ [{members}] -> {name}[] }}"))


def empty(m):
    return m.MultiUnionPwAff("([] : { S[i]; T[i] })")


def same(here, there):
    """Node for node, at one place, with isl's times and the calls that the text of isl's tree makes here."""
    assert shape(ours, here.root()) == shape(isl, there.root()), f"\n{here.get_schedule()}\n{there.get_schedule()}"
    assert place(here) == place(there)
    tree, theirs = here.get_schedule(), there.get_schedule()
    assert ours.Schedule.parse(str(tree), check=False) == tree
    read = ours.Schedule.parse(str(theirs), check=False)
    assert tree.to_map().is_equal(read.to_map())
    if "extension" not in str(theirs):  # of which isl makes no map
        domain, found = theirs.get_domain(), isl.UnionMap(str(tree.get_map()))
        assert found.intersect_domain(domain).is_equal(theirs.get_map().intersect_domain(domain))
    calls = []
    for one in (tree, read):
        loops = ours.AstBuild.from_context(ours.Set("{ : }")).node_from_schedule(one)
        calls.append(sorted((name, args) for _, _, name, args in runs(loops, {"N": 5})))
    assert calls[0] == calls[1]


CHANGES = {
    "a filter above a sequence": (TWO, (0, 0), lambda m, n: n.insert_filter(m.UnionSet("{ S[i] }"))),
    "two filters in a row": (
        TWO,
        (0, 0),
        lambda m, n: n.insert_filter(m.UnionSet("{ S[i] }")).insert_filter(m.UnionSet("{ S[i] : i < 3; T[i] }")),
    ),
    "one of two filters deleted": (
        TWO,
        (0,),
        lambda m, n: (
            n.insert_filter(m.UnionSet("{ S[i] }")).insert_filter(m.UnionSet("{ S[i] : i < 3; T[i] }")).delete()
        ),
    ),
    "a filter of what is not there, too": (TWO, (0,), lambda m, n: n.insert_filter(m.UnionSet("{ S[i]; Q[i]; T[] }"))),
    "a filter of nothing that is there": (TWO, (0,), lambda m, n: n.insert_filter(m.UnionSet("{ S[i, j] }"))),
    "a filter of what does not come": (
        TWO,
        (0, 0, 0, 0),
        lambda m, n: n.insert_filter(m.UnionSet("{ S[i] : i < 3; T[i] }")),
    ),
    "a sequence of one": (TWO, (0, 0), lambda m, n: n.insert_sequence(sets(m, "{ S[i]; T[i] }"))),
    "a sequence at a leaf": (TWO, (0, 0, 0, 0), lambda m, n: n.insert_sequence(sets(m, "{ S[i] }", "{ T[i] }"))),
    "a sequence at a sequence": (
        TWO,
        (0, 0),
        lambda m, n: n.insert_sequence(sets(m, "{ S[i] : i < 3; T[i] }", "{ S[i] : i >= 3 }")),
    ),
    "a set at a band": (TWO, (0,), lambda m, n: n.insert_set(sets(m, "{ S[i] : i < 3 }", "{ T[i]; S[i] : i >= 3 }"))),
    "a sequence at a filter": (
        TWO,
        (0,),
        lambda m, n: (
            n.insert_filter(m.UnionSet("{ S[i] : i < 3; T[i] }")).insert_sequence(sets(m, "{ S[i] }", "{ T[i] }"))
        ),
    ),
    "first at a filter": (
        TWO,
        (0,),
        lambda m, n: n.insert_filter(m.UnionSet("{ S[i] : i < 3; T[i] }")).order_before(m.UnionSet("{ S[i] }")),
    ),
    "last of what is not there, too": (TWO, (0,), lambda m, n: n.order_after(m.UnionSet("{ S[i, j]; S[i]; Q[] }"))),
    "first of nothing that is there": (TWO, (0,), lambda m, n: n.order_before(m.UnionSet("{ Q[i] }"))),
    "last at a leaf of a sequence": (TWO, (0, 0, 0, 0), lambda m, n: n.order_after(m.UnionSet("{ S[i] : i < 3 }"))),
    "last around a sequence": (PLAIN, (0,), lambda m, n: n.order_after(m.UnionSet("{ A[] }"))),
    "first in a sequence": (INSIDE, (0, 0, 0), lambda m, n: n.order_before(m.UnionSet("{ B[] }"))),
    "first of all in a sequence": (INSIDE, (0, 0, 0, 1, 0), lambda m, n: n.order_before(m.UnionSet("{ B[] }"))),
    "grafts at a filter": (
        TWO,
        (0,),
        lambda m, n: n.insert_filter(m.UnionSet("{ S[i] : i < 3; T[i] }")).graft_before(graft(m, "X")),
    ),
    "two grafts": (PARTS, (0,), lambda m, n: n.graft_before(graft(m, "X")).graft_after(graft(m, "Y"))),
    "two grafts before": (TWO, (0,), lambda m, n: n.graft_before(graft(m, "X")).graft_before(graft(m, "Y"))),
    "one statement grafted twice": (
        TWO,
        (0, 0),
        lambda m, n: n.graft_before(graft(m, "sync", 1)).graft_after(graft(m, "sync", 1)),
    ),
    "one statement grafted in two branches": (
        TWO,
        (0, 0, 0, 0),
        lambda m, n: at(
            m, str(n.graft_before(graft(m, "sync", 1)).get_schedule()), (0, 0, 1, 0)
        ).graft_after(graft(m, "sync", 1)),
    ),
    "a read graft": (
        TWO,
        (0, 0, 0, 0),
        lambda m, n: n.graft_before(
            m.Schedule(
                '{ extension: "{ [t] -> X[x] : 0 <= x < 4 }", child: { schedule: "[{ X[x] -> [(x)] }]" } }'
            ).get_root()
        ),
    ),
    "a band of nothing": (TWO, (0,), lambda m, n: n.insert_partial_schedule(empty(m))),
    "bands of nothing at a leaf": (
        TWO,
        (0, 0, 0, 0),
        lambda m, n: n.insert_partial_schedule(m.MultiUnionPwAff("([] : { S[i] })")),
    ),
    "a band of nothing, ordered below": (
        TWO,
        (0,),
        lambda m, n: n.insert_partial_schedule(empty(m)).order_before(m.UnionSet("{ S[i] }")),
    ),
    "a band of nothing deleted": (TWO, (0,), lambda m, n: n.insert_partial_schedule(empty(m)).delete()),
    "all members split off": (TWO, (0,), lambda m, n: n.band_split(1)),
    "no member split off": (TWO, (0,), lambda m, n: n.band_split(0).child(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_nodes_are_isls(name):
    text, path, change = CHANGES[name]
    same(*(change(m, at(m, text, path)) for m in BOTH))


KEPT = "{ S[i] : i < 7; T[i] : i mod 3 > 0; U[] }"  # some of each: isl has what a filter drops come back, ordered twice
SOME = ["{ S[i] }", "{ T[i] }", "{ S[i] : i < 3 }", "{ S[i] : i < 3; T[i] : i >= 2 }", "{ T[i] : i mod 2 = 0; S[i] }"]


def drawn(rng):
    """A change of a node."""
    what, some, name = rng.randrange(7), rng.choice(SOME), rng.choice("XYZ")
    ways = (
        lambda m, n: n.insert_filter(m.UnionSet(KEPT)),
        lambda m, n: n.order_before(m.UnionSet(some)),
        lambda m, n: n.order_after(m.UnionSet(some)),
        lambda m, n: n.graft_before(graft(m, name, n.get_schedule_depth())),
        lambda m, n: n.graft_after(graft(m, name, n.get_schedule_depth())),
        lambda m, n: n.delete(),
        lambda m, n: n.sequence_splice_children(),
    )
    return ways[what]


@pytest.mark.parametrize("seed", range(40))
def test_nodes_of_several_changes_are_isls(seed):
    rng = Random(seed)
    text = rng.choice([TWO, PARTS])
    here, there = (m.Schedule(text).get_root() for m in BOTH)
    for _ in range(6):
        change, path = drawn(rng), ()
        node = there.root()
        while node.has_children() and rng.randrange(3):
            path = (*path, rng.randrange(node.n_children()))
            node = node.child(path[-1])
        try:
            new = change(isl, node)
        except isl.Error:
            continue
        try:
            changed = change(ours, ours.ScheduleNode(here.schedule, path))
        except PolyvoltaError:  # refused here: a copied extension, a statement that is there
            continue
        here, there = changed, new
    same(here, there)


def test_what_a_filter_drops_does_not_come_back():
    """A branch in which nothing of a statement is left keeps the filter that drops it; isl's order has T run again."""
    found = []
    for m in BOTH:
        node = at(m, TWO, (0,)).order_after(m.UnionSet("{ S[i] }")).root().child(0)
        node = node.insert_filter(m.UnionSet("{ S[i] }"))
        node = node.order_before(m.UnionSet("{ T[i] : i mod 2 = 0; S[i] }")).root().child(0)
        found.append(node.order_before(m.UnionSet("{ S[i] : i < 3 }")).get_schedule())
    assert set(found[0].get_map().domain().tuple_names) == {"S"}
    assert "T" in str(found[1].get_map())


def test_a_partial_schedule_is_of_all_that_comes():
    """isl inserts it, and refuses to make loops."""
    some = "[{ S[i] -> [(0)] }]"
    with pytest.raises(PolyvoltaError, match="some instances of T have no time"):
        at(ours, TWO, (0,)).insert_partial_schedule(ours.MultiUnionPwAff(some))
    node = at(isl, TWO, (0,)).insert_partial_schedule(isl.MultiUnionPwAff(some))
    with pytest.raises(isl.Error, match="not allowed to drop"):
        isl.AstBuild.from_context(isl.Set("{ : }")).node_from_schedule(node.get_schedule())


def test_a_branch_of_what_never_comes_has_nothing_below():
    """Where isl has a band of nothing there."""
    one = '{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }'
    parts = ["{ S[i] }", "{ Q[i] }"]
    here, there = (at(m, one, (0,)).insert_sequence(sets(m, *parts)).child(1).child(0) for m in BOTH)
    assert (kind(ours, here), kind(isl, there)) == ("leaf", "band")


@pytest.mark.parametrize("lost", [["{ S[i] }"], ["{ S[i] }", "{ S[i]; T[i] }"]])
def test_each_instance_is_in_one_branch(lost):
    with pytest.raises(PolyvoltaError, match="an instance would"):
        at(ours, TWO, (0,)).insert_sequence(sets(ours, *lost))


@pytest.mark.parametrize("ask", [
    "get_domain", "get_universe_domain", "get_prefix_schedule_union_map", "get_prefix_schedule_relation",
    "get_prefix_schedule_union_pw_multi_aff", "get_subtree_contraction", "get_subtree_expansion"])  # fmt: skip
def test_nothing_reaches_the_root(ask):
    here, there = (getattr(m.Schedule(TWO).get_root(), ask)() for m in BOTH)
    assert here.is_empty() and (isl.UnionSet if "domain" in ask else isl.UnionMap)(str(there)).is_empty()
    assert not getattr(at(ours, TWO, (0,)), ask)().is_empty()


def test_options_of_members_that_are_not_there_say_nothing():
    text = '{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)] }]", options: "{ %s }" } }'
    for said, wanted in (("separate[0]; atomic[1]", "separate[0]"), ("unroll[-1]", "")):
        for node in (at(ours, text % said, (0,)), at(ours, text % "", (0,)).band_set_ast_build_options(
            ours.UnionSet(f"{{ {said} }}"))):  # fmt: skip
            assert node.band_get_ast_build_options().is_equal(ours.UnionSet(f"{{ {wanted} }}"))


def test_a_graft_at_a_filter_that_drops_a_statement():
    node = at(ours, TWO, (0,)).insert_filter(ours.UnionSet("{ S[i] }")).graft_before(graft(ours, "X"))
    loops = ours.AstBuild.from_context(ours.Set("{ : }")).node_from_schedule(node.get_schedule())
    assert [name for _, _, name, _ in runs(loops, {"N": 2})] == ["X", "S", "S"]
    with pytest.raises(PolyvoltaError, match="is called X, as another one"):
        node.graft_after(ours.ScheduleNode.from_extension(ours.UnionMap("{ [] -> X[e] }")))


def test_a_band_below_a_filter_speaks_of_all_its_statements():
    here, there = (at(m, TWO, (0,)).insert_filter(m.UnionSet("{ S[i] }")).child(0) for m in BOTH)
    times = here.band_get_partial_schedule_union_map()
    assert isl.UnionMap(str(times)).is_equal(there.band_get_partial_schedule_union_map())
    assert here.get_domain().is_equal(ours.UnionSet(str(there.get_domain())))


def test_a_filter_that_drops_all_of_one_branch_becomes_a_part_of_both():
    one = '{ domain: "{ S[i] : 0 <= i < 4 }", child: { filter: "{ S[i] : i >= 2 }" } }'
    same(*(at(m, one, (0,)).insert_sequence(sets(m, "{ S[i] : i < 2 }", "{ S[i] : i >= 2 }")) for m in BOTH))
