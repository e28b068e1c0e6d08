"""Trees of fewer instances, beside isl's: the same nodes, the same times, and a text that is read again."""

from itertools import product

import pytest

import polyvolta.isl as ours
from polyvolta.sched import nest, schedule, tile
from polyvolta.sets import Set

isl = pytest.importorskip("islpy")

TREES = {
    "two": """{ domain: "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", child: {
        schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }]",
        child: { sequence: [ { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } }""",
    "parts": """{ domain: "{ S[i] : 0 <= i < 4 ; T[i] : 0 <= i < 4; U[] }", child: { sequence: [
        { filter: "{ S[i] : i < 2}" },
        { filter: "{ S[i] : i >= 2; T[i]}", child: { set: [ { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } },
        { filter: "{ U[] }", child: { mark: "here", child: { schedule: "[{ U[] -> [(0)] }]" } } } ] } }""",
    "added": """{ domain: "{ S[i] : 0 <= i < 4 ; T[i] : 0 <= i < 4}", child: {
        schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }]", child: { sequence: [ { filter: "{ S[i] }" },
        { filter: "{ T[i] }", child: { extension: "{ [t] -> X[] }", child: {
          sequence: [ { filter: "{ X[] }" }, { filter: "{ T[i] }" } ] } } } ] } } }""",
    "filtered": """{ domain: "{ S[i] : 0 <= i < 4; T[i] : 0 <= i < 3 }", child: { filter: "{ T[i] : i >= 2 }",
        child: { mark: "m", child: { schedule: "[{ T[i] -> [(i)] }]" } } } }""",
    "marked": """{ domain: "{ S[i] : 0 <= i < 4; T[i] : 0 <= i < 3 }", child: { mark: "o", child: { set: [
        { filter: "{ T[i] : i >= 2 }", child: { mark: "m", child: { schedule: "[{ T[i] -> [(i)] }]" } } },
        { filter: "{ S[i]; T[i] : i < 2 }" } ] } } }""",
}
DOMAINS = ["{ S[i] }", "{ T[i] }", "{ S[i] : i < 2; T[i] : i >= 1 }", "{ S[i] : i < 2; U[] }", "{ S[i] : i >= 2 }",
           "[N] -> { S[i] : N > 3 }", "{ S[i] : i = 2; T[i] }", "{ S[i]; T[i]; U[] }"]  # fmt: skip


def kinds(m, tree):
    found = []
    name = lambda n: (found.append(m.schedule_node_type(n.get_type()).name), True)[1]  # noqa: E731
    tree.get_root().foreach_descendant_top_down(name)
    return found


@pytest.mark.parametrize(("name", "domain"), [*product(TREES, DOMAINS)])
def test_nodes_and_times_are_isls(name, domain):
    tree, theirs = (m.Schedule(TREES[name]).intersect_domain(m.UnionSet(domain)) for m in (ours, isl))
    if theirs.get_domain().is_empty():
        assert str(tree) in ('{ domain: "{ }" }', '{ domain: "[N] -> { }" }')
        return
    again = ours.Schedule.parse(tree.to_str(), check=name != "filtered")
    assert again == tree and str(tree) == tree.to_str()
    assert kinds(ours, tree) == kinds(isl, theirs) == kinds(isl, isl.Schedule(str(tree)))
    if name != "added":  # of whose tree isl makes no map
        theirs = theirs.get_map().intersect_domain(theirs.get_domain())
        assert isl.UnionMap(str(tree.get_map().intersect_domain(tree.get_domain()))).is_equal(theirs)


def test_a_statement_that_is_gone_is_nowhere():
    tree = ours.Schedule(TREES["two"])
    few = tree.intersect_domain(ours.UnionSet("{ S[i] }"))
    band = "[N] -> [{ S[i] -> [(i)] }]"
    assert str(few) == f'{{ domain: "[N] -> {{ S[i] : 0 <= i < N }}", child: {{ schedule: "{band}" }} }}'
    assert str(few.get_map()) == "{ S[i] -> [i] }"
    assert "T" not in str(few.get_root().child(0).band_tile([4]))
    for gone in ("{ Q[i] }", "{ S[i] : i < 0 }"):
        none = tree.intersect_domain(ours.UnionSet(gone))
        assert none.get_domain().is_empty() and none.get_root().child(0).get_type() is ours.schedule_node_type.leaf
        assert ours.Schedule(str(none)) == none


@nest
def chain(A, B, N):
    for i in range(N):
        A[i] = 1.0
    for i in range(N):
        B[i] = A[i]


def test_dependences_of_a_statement_that_is_gone_are_gone():
    tree = schedule(chain).with_dependences(chain)
    assert tree.dependences
    few = tree.intersect_domain(Set("{ S1[i] }"))
    assert few.dependences == () and tile(few, (0,), [4]).check_structure()


def test_expansions_of_what_is_left():
    tree = ours.Schedule(
        """{ domain: "{ G[j] : 0 <= j < 4; H[j] : 0 <= j < 4 }", child: {
        schedule: "[{ G[j] -> [(j)]; H[j] -> [(j)] }]",
        child: { contraction: "{ S[i] -> G[(floor(i/2))]; T[i] -> H[(i)] }",
        expansion: "{ G[j] -> S[i] : 2j <= i <= 2j + 1; H[j] -> T[i] : i = j }", child: { sequence: [
        { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } } }"""
    )
    few = tree.intersect_domain(ours.UnionSet("{ G[j] : j < 2 }"))
    assert kinds(ours, few) == ["domain", "band", "expansion", "leaf"] and "T" not in str(few)
    assert (
        few.get_map()
        .intersect_domain(ours.UnionSet("{ S[i] : 0 <= i < 4 }"))
        .is_equal(ours.UnionMap("{ S[i] -> [floor(i/2)] : 0 <= i < 4 }"))
    )
