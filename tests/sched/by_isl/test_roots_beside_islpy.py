"""What isl says where there is nothing: above the root of a tree, and of a build that no callback got."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")
TREE = """{ domain: "[n] -> { A[i] : 0 <= i < n; B[i] : 0 <= i < 4 }",
  child: { schedule: "[{ A[i] -> [(i)]; B[i] -> [(i)] }]" } }"""


def root(m):
    return m.Schedule.read_from_str(m.DEFAULT_CONTEXT, TREE).get_root()


def test_nothing_is_above_the_root():
    for m in (ours, isl):
        assert root(m).get_parent_type() == m.schedule_node_type.error
        assert root(m).child(0).get_parent_type() == m.schedule_node_type.domain


def test_times_at_the_root_are_without_values_and_known_everywhere():
    for m in (ours, isl):
        f = root(m).get_prefix_schedule_multi_union_pw_aff()
        assert f.get_space().dim(m.dim_type.set) == 0 and f.get_space().dim(m.dim_type.param) == 1
        both = f.flat_range_product(root(m).child(0).band_get_partial_schedule())
        times = m.UnionMap.from_multi_union_pw_aff(both)
        assert times.is_equal(m.UnionMap("{ A[i] -> [i]; B[i] -> [i] }"))


@pytest.mark.parametrize("context", ["[n] -> { : n > 3 }", "{ : }"])
def test_a_build_without_loops_has_the_space_of_the_parameters(context):
    found, wanted = (m.AstBuild.from_context(m.Set(context)).get_schedule_space() for m in (ours, isl))
    for m, space in ((ours, found), (isl, wanted)):
        assert space.is_params() and space.dim(m.dim_type.param) == context.count("[")


def test_methods_of_a_tree_are_looked_up_on_the_class_as_well():
    for name in dir(isl.Schedule):
        assert name.startswith("_") or callable(getattr(ours.Schedule, name)), name
    for m in (ours, isl):
        tree = m.Schedule.read_from_str(m.DEFAULT_CONTEXT, TREE)
        ((domain,), (times,)) = (list(map(f, [tree])) for f in (m.Schedule.get_domain, m.Schedule.get_map))
        assert domain.is_equal(m.UnionSet("[n] -> { A[i] : 0 <= i < n; B[i] : 0 <= i < 4 }"))
        assert times.is_equal(m.UnionMap("[n] -> { A[i] -> [i]; B[i] -> [i] }"))
    assert not hasattr(ours.Schedule, "no_such_method")
