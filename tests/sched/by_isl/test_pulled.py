"""Trees pulled back along functions of other instances, beside islpy's, and what that refuses."""

import pytest

import polyvolta.isl as ours

SPLIT = (
    '{ domain: "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", child: { sequence: [ '
    '{ filter: "{ S[i] }", child: { schedule: "[{ S[i] -> [(i)] }]" } }, '
    '{ filter: "{ T[i] }", child: { schedule: "[{ T[i] -> [(i)] }]" } } ] } }'
)
SHARED = (
    '{ domain: "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", child: { '
    'schedule: "[{ S[i] -> [(i)]; T[i] -> [(i + 3)] }]", child: { sequence: [ '
    '{ filter: "{ S[i] }" }, { filter: "{ T[i] : i < 4 }" }, { filter: "{ T[i] : i >= 4 }" } ] } } }'
)
PLANE = (
    '{ domain: "[N] -> { S[i, j] : 0 <= i, j < N; T[i, j] : 0 <= i, j < N }", child: { schedule: "['
    "{ S[i, j] -> [(floor((i + j)/3))]; T[i, j] -> [(i)] }, { S[i, j] -> [(2j)]; T[i, j] -> [(i + j)] }]"
    '", permutable: 1, coincident: [1, 0] } }'
)
LINES = [
    "{ [S[i] -> r1[]] -> S[i]; [S[i] -> r2[]] -> S[i]; [T[i] -> r3[]] -> T[i] }",
    "{ S[i] -> S[i + 1] }",
    "{ S[i] -> T[i + 1]; T[i] -> S[i - 1] }",
    "{ A[i, j] -> S[i + j] : 0 <= i < 3; A[i, j] -> S[i] : i >= 3 and 0 <= j < 2; B[i] -> T[2i] }",
    "{ A[i] -> S[floor(i/2)]; T[i] -> T[i] }",
]
SQUARES = [
    "{ S[i, j] -> S[j, i]; T[i, j] -> T[i, j] }",
    "{ [S[i, j] -> x[]] -> S[i, j]; [T[i, j] -> y[]] -> T[i, j] }",
    "[N] -> { S[i] -> T[i, N - 1]; T[i, j] -> S[N - i - 1, j] }",
]


@pytest.mark.parametrize(
    ("tree", "function"), [(t, f) for t in (SPLIT, SHARED) for f in LINES] + [(PLANE, f) for f in SQUARES]
)
def test_instances_run_when_their_values_do(tree, function):
    isl = pytest.importorskip("islpy")
    theirs = isl.Schedule.read_from_str(isl.DEFAULT_CONTEXT, tree)
    theirs = theirs.pullback_union_pw_multi_aff(isl.UnionPwMultiAff(function))
    found = ours.Schedule(tree).pullback_union_pw_multi_aff(ours.UnionPwMultiAff(function))
    domain = isl.UnionSet(str(found.get_domain()))
    assert domain.is_equal(theirs.get_domain())
    times = isl.UnionMap(str(found.get_map())).intersect_domain(domain)
    assert times.is_equal(theirs.get_map().intersect_domain(domain))
    assert ours.Schedule(str(found)).get_map().is_equal(found.get_map())
    read = isl.Schedule.read_from_str(isl.DEFAULT_CONTEXT, str(found))
    assert read.get_map().intersect_domain(domain).is_equal(times)


@pytest.mark.parametrize("kind", ["PwMultiAff", "MultiAff", "UnionPwMultiAff"])
def test_functions_of_one_tuple_are_of_unions_too(kind):
    isl = pytest.importorskip("islpy")
    tree = '{ domain: "{ G[i] : 0 <= i < 9 }", child: { schedule: "[{ G[i] -> [(-i)] }]" } }'
    inner = '{ domain: "{ S[i, j] : 0 <= i < 9 and 0 <= j < 2 }", child: { schedule: "[{ S[i, j] -> [(j)] }]" } }'
    pulled, expanded = [], []
    for m in (ours, isl):
        function, outer = getattr(m, kind)("{ S[i, j] -> G[i] }"), m.Schedule(tree)
        pulled.append(outer.pullback_union_pw_multi_aff(function))
        expanded.append(outer.expand(function, m.Schedule(inner)))
    for mine, theirs in (pulled, expanded):
        domain = isl.UnionSet("{ S[i, j] : 0 <= i < 9 and 0 <= j < 2 }")
        times = isl.UnionMap(str(mine.get_map())).intersect_domain(domain)
        assert times.is_equal(theirs.get_map().intersect_domain(domain)) and not times.is_empty()
    with pytest.raises(ours.Error, match="not an int"):
        ours.Schedule(tree).pullback_union_pw_multi_aff(3)
    with pytest.raises(ours.Error, match="not a Set"):
        ours.Schedule(tree).expand(ours.Set("{ S[i] }"), ours.Schedule(inner))


def test_flags_of_bands_stay():
    found = ours.Schedule(PLANE).pullback_union_pw_multi_aff(ours.UnionPwMultiAff(SQUARES[0]))
    node = found.get_root().child(0)
    assert node.band_get_permutable()
    assert [node.band_member_get_coincident(k) for k in (0, 1)] == [True, False]


def test_what_is_no_function_is_refused():
    with pytest.raises(ours.PolyvoltaError, match="only a function is pulled back along"):
        ours.Schedule(SPLIT).pullback_union_pw_multi_aff(ours.UnionMap("{ A[] -> S[i] : 0 <= i < 2 }"))


def test_a_tree_without_expansions_contracts_nothing():
    node = ours.Schedule(SPLIT).get_root().child(0).child(0).child(0)
    assert node.get_subtree_contraction() == node.get_subtree_expansion() == ours.UnionMap("{ S[i] -> S[i] }")
