"""Texts that isl reads, and those that isl has to read back; what is asked of dimensions that are not there."""

import pytest

import polyvolta.isl as isl

islpy = pytest.importorskip("islpy")

BARS = [
    ("Set", "{ [i] | i > 0 }"),
    ("Set", "{ [i] | i > 0 | i < -3 }"),
    ("Set", "{ [i, j] : (i + j) >= 3 | i = 7 }"),
    ("Map", "{ [i] -> [j] | i > 0 or j < 3 }"),
    ("UnionSet", "[n] -> { A[i] | i > 0; B[] | n > 3; C[i] : i = 4 | i = 6 }"),
    ("PwAff", "{ [i] -> [(i)] | i > 0 }"),
]


@pytest.mark.parametrize(("kind", "text"), BARS)
def test_a_bar_before_conditions(kind, text):
    assert getattr(islpy, kind)(str(getattr(isl, kind)(text))).is_equal(getattr(islpy, kind)(text))


@pytest.mark.parametrize("text", ["{ [i] : false }", "[n] -> { A[i] : false }"])
def test_an_optimum_of_nothing_is_read_back(text):
    found = isl.Set(text).dim_max(0)
    assert islpy.PwAff(str(found)).is_equal(islpy.Set(text).dim_max(0)) and isl.PwAff(str(found)).is_equal(found)


@pytest.mark.parametrize(("kind", "text"), [
    ("Set", "{ [abs] : abs > 3 }"), ("Set", "[abs] -> { abs[i] : 2abs > i }"),
    ("PwAff", "[abs] -> { [i] -> [2abs - i] }"),
])  # fmt: skip
def test_a_name_that_is_a_function_elsewhere(kind, text):
    own, theirs = getattr(isl, kind), getattr(islpy, kind)
    assert theirs(str(own(text))).is_equal(theirs(text)) and own(str(own(text))) == own(text)
    assert islpy.Set(str(isl.Set("{ [i] : i > 3 }").set_dim_name(isl.dim_type.set, 0, "abs"))).get_dim_name(
        islpy.dim_type.set, 0) == "abs"  # fmt: skip


ASKED = [
    "m.Set(S).has_dim_name(D.set, 5)", "m.Set(S).has_dim_name(D.param, 1)", "m.Set(S).has_dim_name(D.set, 1)",
    "m.Set(S).has_dim_id(D.set, 7)", "m.Set(S).get_space().has_dim_name(D.set, 7)", "m.Map(M).has_dim_name(D.in_, 2)",
    "m.Map(M).get_tuple_name(D.param)", "m.Map(M).get_space().get_tuple_name(D.param)",
    "m.MultiPwAff('{ A[i] -> B[(i)] }').get_tuple_name(D.param)",
]  # fmt: skip
NONE_FROM = ["project_out", "remove_dims", "eliminate", "drop_constraints_involving_dims"]
S, M = "[n] -> { A[i, j] : 0 <= i < n }", "[n] -> { A[i, j] -> B[k] : k < n }"


@pytest.mark.parametrize("call", ASKED)
def test_dimensions_and_names_that_are_not_there(call):
    ours, theirs = (eval(call, {"m": m, "D": m.dim_type, "S": S, "M": M}) for m in (isl, islpy))
    assert ours is theirs


@pytest.mark.parametrize("name", NONE_FROM)
def test_no_dimensions_from_past_the_end(name):
    for kind, text in (("Set", S), ("Map", M)):
        for where in ("set" if kind == "Set" else "in_", "param"):
            ours, theirs = (
                getattr(getattr(m, kind)(text), name)(getattr(m.dim_type, where), 5, 0) for m in (isl, islpy)
            )
            assert type(theirs)(str(ours)).is_equal(theirs)
    with pytest.raises(isl.Error):
        getattr(isl.Set(S), name)(isl.dim_type.set, 5, 1)


TREE = '{ domain: "[N] -> { S[i] : 0 <= i < N }", child: { schedule: "[N] -> [{ S[i] -> [(i)] }]" } }'


def test_trees_keep_parameters():
    for m in (isl, islpy):
        space = m.Set("[q] -> { : }").get_space()
        aligned = m.Schedule(TREE).align_params(space)
        assert aligned.get_domain().get_space().dim(m.dim_type.param) == 2
        assert aligned.get_root().child(0).align_params(space).get_type() == m.schedule_node_type.band
        assert m.Schedule(TREE).get_root().child(0).band_get_space().to_str() == "[N] -> { [i0] }"
        assert m.Schedule.empty(space).get_domain().get_space().dim(m.dim_type.param) == 1
    assert islpy.Schedule(str(isl.Schedule(TREE).align_params(isl.Set("[q] -> { : }").get_space()))).plain_is_equal(
        islpy.Schedule(TREE).align_params(islpy.Set("[q] -> { : }").get_space())
    )
