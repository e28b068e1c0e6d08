"""What a place in a tree means, against instances that are enumerated and sent down the tree one by one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.sched.errors import BadPath, BadSchedule
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sets import Map, NotAFunction, Set, aff
from tests.sched.loops.draw import tree as drawn
from tests.sched.views.trees import DOMAIN, FUSED, band, filters, tree


def points(relation, values):
    """The tuples of a relation and its points at given parameters."""
    known = {p: values[p] for p in relation.param_names}
    for space, pieces in relation.parts:
        one = relation._of(relation.param_names, [(space, pieces)])
        if not one.is_empty():
            yield from ((space, p) for p in set(one.points(**known)))


def runs(node, arrived, values, k=None):
    """(node, its instances as (statement, point, names, members above, time above)) for a node and all below."""
    if isinstance(node, Domain):
        arrived = [(s.out.name, p, s.out.dims, (), ()) for s, p in points(node.domain, values)]
        below = arrived
    elif isinstance(node, Filter):
        below = [a for a in arrived if a[0] in node.statements and passes(node.instances, a, values)]
    elif isinstance(node, Extension):
        n = next((s.n_in for s, _ in node.extension.parts), 0)
        at = k or ()
        added = [(s.out.name, p[n:], s.out.dims, p[:n], spread(at, p[:n])) for s, p in points(node.extension, values)]
        below = arrived + added
    elif isinstance(node, Band):
        below = []
        for s, p, dims, members, time in arrived:
            here = {**values, **dict(zip(dims, p, strict=True))}
            at = tuple(m.of(s).evaluate(here) for m in node.members)
            below.append((s, p, dims, members + at, time + at))
    else:
        below = arrived
    yield node, arrived
    many = len(node.children) > 1
    for number, child in enumerate(node.children):
        went = [(s, p, d, m, (*t, number)) for s, p, d, m, t in below] if many else below
        layout = (k or ()) + ((None,) * len(node.members) if isinstance(node, Band) else (number,) if many else ())
        yield from runs(child, went, values, layout)


def passes(instances, arrived, values):
    s, p, *_ = arrived
    if instances is None:
        return True
    one = instances.only(s)
    return bool(one.parts) and one.contains(p, **{n: values[n] for n in one.param_names})


def spread(layout, members):
    """The time above an extension: the members' values with the positions between them."""
    members = iter(members)
    return tuple(next(members) if p is None else p for p in layout)


@settings(max_examples=40)
@given(st.binary(min_size=40, max_size=160))
def test_instances_prefixes_and_times_are_those_of_the_instances_one_by_one(data):
    tested = drawn(data)
    schedule, values = tested.schedule, tested.values[0]
    length = max((s.n_out for s, _ in schedule.to_map().parts), default=0)
    times = set()
    for (at, node), (same, arrived) in zip(schedule.walk(), runs(schedule.root, [], values), strict=True):
        assert node is same
        if at:
            assert {(s.out.name, p) for s, p in points(schedule.instances_at(at), values)} == {a[:2] for a in arrived}
            assert {a[0] for a in arrived} <= set(schedule.statements_at(at))
            prefixes = {(s.inp.name, p) for s, p in points(schedule.prefix_schedule(at), values)}
            assert prefixes == {(s, p + members) for s, p, _, members, _ in arrived}
        if isinstance(node, Leaf):
            times |= {(s, p + t + (0,) * (length - len(t))) for s, p, _, _, t in arrived}
    assert {(s.inp.name, p) for s, p in points(schedule.to_map(), values)} == times


@settings(max_examples=60)
@given(st.binary(min_size=40, max_size=160))
def test_every_tree_that_is_drawn_is_a_schedule(data):
    schedule = drawn(data).schedule
    assert schedule.check_structure() is schedule


def test_a_prefix_is_one_expression_for_each_member_above():
    schedule = tree(FUSED, band(filters(S1=band(None, S1="k"), S2=None), S1="i, j", S2="i, j"))
    assert schedule.prefix((0, 0)) == {"S1": (aff("i"), aff("j")), "S2": (aff("i"), aff("j"))}
    assert schedule.prefix((0, 0, 0, 0, 0)) == {"S1": (aff("i"), aff("j"), aff("k"))}


def test_what_an_extension_adds_has_the_prefix_for_which_it_is_added():
    added = Sequence((Filter(("A",), band(None, A="x")), Filter(("S",), band(None, S="j"))))
    schedule = tree(
        "{ S[i, j] : 0 <= i, j < 8 }", band(Extension(Map("{ [a] -> A[x] : 2a <= x <= 2a + 1 }"), added), S="i")
    )
    assert schedule.prefix((0, 0, 0, 0, 0, 0)) == {"A": (aff("x//2"), aff("x"))}
    several = schedule.replace((0, 0), Extension(Map("{ [a] -> A[x] : 0 <= x < 4 }"), added))
    with pytest.raises(NotAFunction):
        several.prefix((0, 0, 0))


def test_finding_nodes():
    schedule = tree(DOMAIN, band(Mark("tile", Mark("point")), S="i, j, k"))
    assert schedule.find(Mark) == [(0, 0), (0, 0, 0)]
    assert schedule.find(mark="point") == [(0, 0, 0)]
    assert schedule.marks == {"tile": (0, 0), "point": (0, 0, 0)}
    assert schedule.parent((0, 0)) == (0,)
    with pytest.raises(BadPath, match="no mark is called 'tiel'") as caught:
        schedule.find(mark="tiel")
    assert caught.value.hint == "did you mean 'tile'?"
    with pytest.raises(BadPath, match="the root has no parent"):
        schedule.parent(())


PATHS = {
    (0, 0, 2): (
        "path [0, 0, 2] leaves the tree at step 2: the node at [0, 0] has 2 children",
        "    SEQUENCE   <-- here",
        "0 is FILTER: S1[i, j, k]; 1 is FILTER: S2[i, j]",
    ),
    (0, 0, 1, 0, 0): (
        "path [0, 0, 1, 0, 0] leaves the tree at step 4: the node at [0, 0, 1, 0] has no children",
        "",
        "the longest path this way is [0, 0, 1, 0]",
    ),
    (1,): (
        "path [1] leaves the tree at step 0: the node at [] has 1 child",
        "DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;   <-- here",
        "0 is BAND: S1[i, j, k] → [i, j];",
    ),
    (-1,): ("path [-1] leaves the tree at step 0: the node at [] has 1 child", "", "0 is BAND: S1[i, j, k] → [i, j];"),
    ("a",): ("a path is made of child numbers, not of 'a'", "", ""),
}


@pytest.mark.parametrize("at", PATHS)
def test_a_path_that_leaves_the_tree_says_where_and_what_there_is(at):
    message, line, hint = PATHS[at]
    with pytest.raises(BadPath) as caught:
        tree(FUSED, band(filters(S1=None, S2=None), S1="i, j", S2="i, j")).node(at)
    assert caught.value.message == message
    assert line in caught.value.where.splitlines() or not line
    assert caught.value.hint == hint


def halves(first, second, kind=Sequence):
    """S in two filters."""
    return tree(
        "[N] -> { S[i] : 0 <= i < N }",
        kind(tuple(Filter(("S",), Leaf(), Set(f"[N] -> {{ S[i] : {c} }}")) for c in (first, second))),
    )


SMALL = "{ S[i, j] : 0 <= i, j < 4; T[k] : 0 <= k < 4 }"
BAD = {
    "a root that is no domain": (Schedule(Mark("a")), "the root is a Mark; a tree begins with its domain"),
    "a second domain": (tree(SMALL, Domain(Set(SMALL))), "a domain stands at the root alone"),
    "a tuple without a name": (tree("{ [i] : 0 <= i < 4 }"), "the tuple [i] has no name"),
    "two statements of one name": (tree("{ S[i] : i = 0; S[] }"), "a second statement is called S"),
    "a sequence of bands": (
        tree("{ S[] }", Sequence((band(None, S="0"),))),
        "the children of a sequence are filters, not a Band",
    ),
    "a sequence of nothing": (tree("{ S[] }", Sequence(())), "a sequence without children"),
    "a statement without a place": (tree(SMALL, filters(S=None)), "no child of the sequence has T[0]"),
    "an instance without a place": (halves("i < 3", "i > 3"), "no child of the sequence has S[3] for N = 4"),
    "an instance with two": (
        halves("i < 4", "i >= 3", SetNode),
        "the filters overlap: S[3] for N = 4 is in an earlier one too",
    ),
    "a filter of an unknown statement": (tree(SMALL, Filter(("S", "U"))), "no statement is called U"),
    "a filter of another space": (
        tree(SMALL, Filter(("S",), Leaf(), Set("{ S[i] : i > 0 }"))),
        "the statement is S[i, j], not S[i]",
    ),
    "a filter whose set has others": (
        tree(SMALL, Filter(("S",), Leaf(), Set("{ T[i] : i > 0 }"))),
        "the filter's set has T[i], which is none of its statements",
    ),
    "a filter that names one twice": (tree(SMALL, Filter(("S", "S"))), "the filter names a statement twice"),
    "a band without members": (tree(SMALL, Band(())), "a band without members"),
    "a band without a statement": (tree(SMALL, band(None, S="i")), "member 0 of the band has no expression for T"),
    "a band with another": (tree(SMALL, band(None, S="i", T="k", U="0")), "no statement is called U"),
    "a member with two expressions": (
        tree("{ S[] }", Band((Member((("S", aff(0)), ("S", aff(1)))),))),
        "member 0 has two expressions for a statement",
    ),
    "a member without a statement": (
        tree(SMALL, Band((Member((("S", aff("i")), ("T", aff("k")))), Member((("S", aff("j")),))))),
        "member 1 of the band has no expression for T",
    ),
    "an iterator of another statement": (tree(SMALL, band(None, S="i", T="j")), "j is no iterator of T[k]"),
    "a context over too many members": (
        tree("{ S[] }", Context(Set("{ [a] : a > 0 }"))),
        "a context here is a set over the 0 members above, not over [a]",
    ),
    "a guard over too few members": (
        tree("{ S[] }", band(Guard(Set("[N] -> { : N > 0 }")), S="0")),
        "a guard here is a set over the 1 member above, not over []",
    ),
    "an isolated part over the wrong members": (
        tree("{ S[] }", Band((Member((("S", aff(0)),)),), isolate=Set("{ [a, b] }"))),
        "an isolated part here is a set over the 1 member above, not over [a, b]",
    ),
    "an extension from too few members": (
        tree("{ S[] }", band(Extension(Map("{ [] -> A[x] : x = 0 }")), S="0")),
        "an extension here is a map from the 1 member above, not [] -> A[x]",
    ),
    "an extension by a statement there is": (
        tree("{ S[] }", Extension(Map("{ [] -> S[] }"))),
        "a second statement is called S",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_tree_that_is_no_schedule_is_shown_with_the_culprit(name):
    schedule, message = BAD[name]
    with pytest.raises(BadSchedule) as caught:
        schedule.check_structure()
    assert caught.value.message == message
    assert "<-- here" in caught.value.where


def test_a_filter_by_itself_narrows_on_purpose():
    schedule = tree(SMALL, Filter(("S",), band(None, S="i")))
    assert schedule.check_structure().statements_at((0, 0)) == ("S",)


def test_a_child_narrows_by_parameters_of_its_own():
    """isl writes a filter below another one, PPCG's of threads, with it; what no thread runs has no place, though."""
    text = """{{ domain: "[n] -> {{ S[i] : 0 <= i < n; T[i] : 0 <= i < n }}", child: {{ sequence: [
        {{ filter: "[n, t] -> {{ S[i] : (i - t) mod 8 = 0 and 0 <= t < {} }}" }}, {{ filter: "{{ T[i] }}" }} ] }} }}"""
    eight = Schedule.parse(text.format(8))
    assert eight.instances_at((0, 0, 0)).is_equal(
        Set("[n, t] -> { S[i] : 0 <= i < n and (i - t) mod 8 = 0 and 0 <= t < 8 }")
    )
    with pytest.raises(BadSchedule, match=r"no child of the sequence has S\[4\]"):
        Schedule.parse(text.format(4))


def test_a_child_narrows_by_parameters_of_which_only_others_speak():
    """PPCG's copies are of a thread as well; what it says of them is said of no other statement."""
    text = """{ domain: "[n] -> { S[i] : 0 <= i < n }", child: { context: "[t] -> { [] : 0 <= t < 8 }", child: {
        extension: "[n, t] -> { [] -> copy[x] : 0 <= x < n and (x - t) mod 8 = 0 }", child: { sequence: [
        { filter: "{ copy[x] }" }, { filter: "[t] -> { S[i] : (i - t) mod 8 = 0 }" } ] } } } }"""
    assert Schedule.parse(text).instances_at((0, 0, 0, 1, 0)).only("S").is_equal(
        Set("[n, t] -> { S[i] : 0 <= i < n and (i - t) mod 8 = 0 }")
    )
    with pytest.raises(BadSchedule, match=r"no child of the sequence has S\[2\]"):
        Schedule.parse(text.replace("S[i] : (i - t) mod 8 = 0", "S[i] : (i - t) mod 8 = 0 and i != 2"))


def test_the_domain_of_a_tree_without_one():
    with pytest.raises(BadSchedule, match="the root is a Mark, no Domain"):
        _ = Schedule(Mark("a")).domain
