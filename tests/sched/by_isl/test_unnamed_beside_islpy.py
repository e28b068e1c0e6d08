"""The only statement of a tree may have no name: it is scheduled, printed, read, changed and scanned, beside islpy."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

INSTANCES = ["{ [] }", "{ [i] : 0 <= i < 10 }", "[n] -> { [i, j] : 0 <= i < n and 0 <= j < i }"]


def scheduled(m, instances, validity="{ }"):
    asked = m.ScheduleConstraints.on_domain(m.UnionSet(instances)).set_validity(m.UnionMap(validity))
    return asked.set_proximity(m.UnionMap(validity)).compute_schedule()


def loops(m, s):
    return m.AstBuild.from_context(m.Set("{ : }")).node_from_schedule(s).to_C_str()


@pytest.mark.parametrize("instances", INSTANCES)
def test_schedules_of_one_statement_without_a_name(instances):
    mine, theirs = scheduled(ours, instances), scheduled(isl, instances)
    assert isl.UnionMap(str(mine.get_map())).is_equal(theirs.get_map())
    assert isl.UnionSet(str(mine.get_domain())).is_equal(theirs.get_domain())
    assert loops(ours, mine).strip() == loops(isl, theirs).strip()
    read = isl.Schedule(str(mine))
    assert read.get_map().is_equal(theirs.get_map()) and loops(isl, read) == loops(isl, theirs)
    again = ours.Schedule(str(mine))
    assert str(again) == str(mine) and again.get_map().is_equal(mine.get_map())
    assert str(ours.Schedule(str(theirs)).get_map()) == str(mine.get_map())


@pytest.mark.parametrize("validity", [
    "{ [i, j] -> [i + 1, j - 1] }", "{ [i, j] -> [i, j + 1] }", "{ [i, j] -> [i + 1, 9 - j] }",
])  # fmt: skip
def test_dependences_of_a_statement_without_a_name(validity):
    instances = "{ [i, j] : 0 <= i, j < 10 }"
    mine, named = scheduled(ours, instances, validity), scheduled(
        ours, instances.replace("[i", "S[i"), validity.replace("[", "S[")
    )
    assert str(mine) == str(named).replace("S[", "[")
    assert loops(ours, mine) == loops(ours, named).replace("S(", "(")
    times, deps = isl.UnionMap(str(mine.get_map())), isl.UnionMap(validity)
    pairs = deps.intersect_domain(isl.UnionSet(instances)).intersect_range(isl.UnionSet(instances))
    late = times.reverse().apply_range(pairs).apply_range(times)
    assert late.is_subset(isl.UnionMap("{ [a, b] -> [c, d] : a < c or (a = c and b < d) }"))


def changes(m):
    """The loops of trees that are made from one by its nodes."""
    s = scheduled(m, "{ [i] : 0 <= i < 100 }")
    band = s.get_root().child(0)
    sizes = m.MultiVal.read_from_str(*(() if m is ours else (m.DEFAULT_CONTEXT,)), "{ [8] }")
    if m is isl:
        sizes = isl.MultiVal.from_val_list(band.band_get_space(), isl.ValList.alloc(isl.DEFAULT_CONTEXT, 1).add(8))
    parts = [m.UnionSet("{ [i] : i < 50 }"), m.UnionSet("{ [i] : i >= 50 }")]
    if m is isl:
        filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, 2)
        for part in parts:
            filters = filters.add(part)
    else:
        filters = ours.UnionSetList(parts)
    trees = [band.band_tile(sizes), band.insert_sequence(filters), band.child(0).insert_mark(m.Id("here"))]
    made = [str(t.get_schedule().get_map()) for t in trees], [loops(m, t.get_schedule()) for t in trees]
    seen = str(band.band_get_partial_schedule()), str(band.get_domain()), str(s.get_root().get_domain())
    return made, seen


def test_nodes_of_a_tree_without_a_name():
    (maps, texts), seen = changes(ours)
    (their_maps, their_texts), their_seen = changes(isl)
    for a, b in zip(maps, their_maps, strict=True):
        assert isl.UnionMap(a).is_equal(isl.UnionMap(b))
    assert [t.replace("c0 <= 96", "c0 <= 99") for t in texts] == their_texts
    assert isl.UnionSet(seen[1]).is_equal(isl.UnionSet(their_seen[1]))
    assert isl.UnionSet(seen[2]).is_equal(isl.UnionSet(their_seen[2]))
    assert seen[0] == "{ [i] -> [i] }" and their_seen[0] == "[{ [i] -> [(i)] }]"


@pytest.mark.parametrize("instances", ["{ [i] : 0 <= i < 3; A[i] : i = 1 }", "{ [i] : i = 1; [i, j] : i = j = 1 }"])
def test_one_of_several_needs_a_name(instances):
    with pytest.raises(ours.Error, match=r"^\[PV307\] the tuple \[i(, j)?\] has no name"):
        scheduled(ours, instances)
    with pytest.raises(ours.Error, match=r"the tuple \[i(, j)?\] has no name"):
        ours.Schedule(f'{{ domain: "{instances}" }}')
