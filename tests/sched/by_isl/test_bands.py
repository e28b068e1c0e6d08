"""Bands of relations, how loops are asked for, and dependences without an order; the answers are typed by hand."""

import pytest

import polyvolta.isl as isl
from polyvolta.sched.by_isl.bands import band_of, map_of
from polyvolta.sets import Aff, Map, PolyvoltaError, Set, aff, var

BUILD = isl.AstBuild.alloc()
SOME = Set("{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 2; U[] }")


def test_what_has_fewer_outputs_gets_zeros():
    times = Map("{ S[i] -> [i, 1, 2]; T[i] -> [7 - i]; U[] -> [] }")
    band = band_of(times, SOME)
    assert [len(band.schedule(name)) for name in "STU"] == [3, 3, 3]
    assert map_of(band, SOME).is_equal(
        Map("{ S[i] -> [i, 1, 2] : 0 <= i < 9; T[i] -> [7 - i, 0, 0] : 0 <= i < 2; U[] -> [0, 0, 0] }"))  # fmt: skip
    assert band_of(Map("{ U[] -> [] }"), SOME.only("U")).members == ()


def test_a_function_in_pieces_has_cases_where_its_values_differ():
    pieces = Map("{ S[i] -> [i, 0] : i < 3; S[i] -> [-i, 0] : 3 <= i < 5; S[i] -> [i, 2] : i >= 5 }")
    band = band_of(pieces, SOME.only("S"))
    assert map_of(band, SOME.only("S")).is_equal(pieces.intersect_domain(SOME))
    halves = band_of(Map("{ S[i] -> [i, 0] : i < 3; S[i] -> [i, 1] : i >= 3 }"), SOME.only("S"))
    first, second = halves.schedule("S")
    assert first == var("i")
    assert {str(e): set(when.intersect(SOME).points()) for when, e in second.pieces} == {
        "0": {(0,), (1,), (2,)}, "1": {(3,), (4,), (5,), (6,), (7,), (8,)}}  # fmt: skip


def test_a_statement_whose_names_are_not_the_relations():
    band = band_of(Map("{ S[a, b] -> [b, a] }"), Set("{ S[b, a] : 0 <= b < a < 4 }"))
    assert band.schedule("S") == (var("a"), var("b"))


def test_what_has_no_integer_instance_needs_no_time():
    some = Set("[N] -> { S[i] : 0 <= i < 4; T[i] : 2i = 1 and i < N }") | Set(
        "[N] -> { U[i] : N <= 2i < N + 1 and N mod 2 = 1 }"
    )
    band = band_of(Map("{ S[i] -> [3, i] }"), some)
    assert map_of(band, some).is_equal(Map("{ S[i] -> [3, i] : 0 <= i < 4 }"))


def test_only_instances_have_one_time():
    odd = Set("{ S[i] : 0 <= i < 9 and i mod 2 = 1 }")
    band = band_of(Map("{ S[i] -> [t] : 0 <= i - 2t < 3 }"), odd)  # of even i there are two
    assert map_of(band, odd).is_equal(Map("{ S[i] -> [floor(i/2)] }").intersect_domain(odd))
    for text in ("{ S[i] -> [t] : 0 <= i - 2t < 3 }", "{ S[i] -> [i] : i < 8 }"):
        with pytest.raises(PolyvoltaError, match="several times|no time"):
            band_of(Map(text), SOME.only("S"))


TWO = isl.UnionMap("[N] -> { S[i, j] -> [i, j] : 0 <= i < N and 0 <= j <= i }")


@pytest.mark.parametrize("names, outer, inner", [
    (["i", "j"], "i", "j"), (["i"], "i", "c1"), (["i", "j", "k"], "i", "j"), (["c1", "c0"], "c1", "c0"),
])  # fmt: skip
def test_loops_are_called_as_asked(names, outer, inner):
    made = BUILD.set_iterators(names).node_from_schedule_map(TWO).to_C_str()
    loop = "for (int {0} = 0; {0} {1}; {0} += 1)\n"
    first, second = loop.format(outer, "< N"), loop.format(inner, f"<= {outer}")
    assert made == f"{first}  {second}    S({outer}, {inner});\n"


def test_names_of_loops_are_told_from_parameters():
    two = isl.UnionMap("[c0] -> { S[i, j] -> [i, j] : 0 <= i < c0 and 0 <= j <= i }")
    plain = BUILD.node_from_schedule_map(two)  # whose own names are not the parameter's either
    assert plain.for_get_iterator().to_C_str() != "c0"
    named = BUILD.set_iterators(["a", "b"]).node_from_schedule_map(two)
    assert named.for_get_cond().to_C_str() == "a < c0" and named.for_get_body().for_get_cond().to_C_str() == "b <= a"
    for names, other in ((["c0"], "c0, and so is a parameter"), (["c1"], "c1, and so is another loop")):
        with pytest.raises(PolyvoltaError, match=f"an iterator is to be called {other}"):
            BUILD.set_iterators(names).node_from_schedule_map(two)
    for words in (["i", "2"], ["a b"], ["i", "i"]):
        with pytest.raises(PolyvoltaError, match="different words"):
            BUILD.set_iterators(words)


def test_no_loop_needs_a_name():
    node = BUILD.set_iterators(["i"]).node_from_schedule_map(isl.UnionMap("{ S[] -> [] }"))
    assert node.to_C_str() == "S();\n"


THREE = isl.UnionMap("{ S[i, j] -> [i, j] : 0 <= i < 2 and 0 <= j < 3 }")


def loops(options):
    """The members that have loops when options are asked for."""
    text = BUILD.set_options(isl.UnionMap(options)).node_from_schedule_map(THREE).to_C_str()
    return [k for k in range(2) if f"int c{k} =" in text]


@pytest.mark.parametrize("options, left", [
    ("{ [i, j] -> unroll[0] }", [1]),
    ("{ [i, j] -> unroll[1] }", [0]),
    ("{ [i, j] -> unroll[x] : 0 <= x < 2 }", []),
    ("{ [i, j] -> unroll[x] }", []),
    ("{ [i, j] -> unroll[2] }", [0, 1]),  # there is no such member
    ("{ [i, j] -> unroll[1, 0] }", [0, 1]),  # an option is of one member
    ("{ [i, j] -> unroll[] }", [0, 1]),
    ("{ [i, j] -> unrolled[0] }", [0, 1]),  # no option of loops
    ("{ [i, j] -> atomic[0]; [i, j] -> unroll[1] }", [0]),
    ("{ [i, j] -> unroll[i] : 0 <= i < 2 }", [0, 1]),  # each at other times
    ("{ [i, j] -> unroll[x] : x = 0 and 0 <= i < 2 and 0 <= j < 3 or x = 1 and j = 1 }", []),  # a loop is cut in three
    ("{ [i, j] -> unroll[x] : x = 0 and 0 <= i < 2 and 0 <= j < 3 or x = 1 and j = 7 }", [1]),
    ("{ }", [0, 1]),
])  # fmt: skip
def test_options_of_all_times_are_those_of_a_member(options, left):
    assert loops(options) == left


@pytest.mark.parametrize("option", [
    "unroll[0] : i < 2", "unroll[0] : i >= n + 1", "atomic[0] : i < 5", "separate[0] : i >= 5",
    "separate[x] : i >= 5", "separate[0] : j >= 5"])  # fmt: skip
def test_options_of_some_times_are_isls(option):
    islpy = pytest.importorskip("islpy")
    times = "[n] -> { A[i, j] -> [i, j] : 0 <= i < n and i <= j < i + 3; B[i] -> [i, i] : 2 <= i < n + 3 }"
    texts = []
    for m in (islpy, isl):
        build = m.AstBuild.from_context(m.Set("[n] -> { : n >= 5 }"))
        build = build.set_options(m.UnionMap(f"[n] -> {{ [i, j] -> {option} }}"))
        texts.append(build.node_from_schedule_map(m.UnionMap(times)).to_C_str())
    assert texts[0] == texts[1]


def test_options_at_times_of_a_shorter_tuple_change_nothing():
    times = isl.UnionMap("[n] -> { A[i] -> [i, i] : 0 <= i < n; B[i] -> [i] : 0 <= i < n }")
    asked = BUILD.set_options(isl.UnionMap("{ [i] -> unroll[0] : i < 2 }"))
    assert asked.node_from_schedule_map(times) == BUILD.node_from_schedule_map(times)


def test_several_choices_of_times_are_none():
    both = isl.UnionMap("{ [i, j] -> unroll[0] : i = 0; [i, j] -> separate[0] : i = 1 }")
    assert BUILD.set_options(both).node_from_schedule_map(THREE) == BUILD.node_from_schedule_map(THREE)


def test_what_is_known_adds_up():
    known = isl.AstBuild.from_context(isl.Set("[N] -> { : N <= 1 }")).restrict(isl.Set("[N] -> { : N >= 1 }"))
    assert known.node_from_schedule_map(TWO).to_C_str() == "S(0, 0);\n"
    assert BUILD.restrict(isl.Set("[N] -> { : N = 1 }")).node_from_schedule_map(TWO).to_C_str() == "S(0, 0);\n"


def test_an_element_without_a_name():
    """Expressions of functions whose results have no name, and of those that have one."""
    at = isl.MultiPwAff("[n] -> { A[(n + 1)] }")
    assert BUILD.access_from_multi_pw_aff(at).to_C_str() == "A[n + 1]"
    assert BUILD.call_from_multi_pw_aff(at).to_C_str() == "A(n + 1)"
    assert BUILD.call_from_multi_pw_aff(isl.MultiPwAff("[n] -> { [(n + 1)] }")).to_C_str() == "(n + 1)"


def test_without_an_order_there_is_no_source_of_any_access():
    info = isl.UnionAccessInfo.from_sink(isl.UnionMap("{ T[i] -> a[i] : 0 <= i < 8; T[i] -> a[i + 1] : 0 <= i < 8 }"))
    info = info.set_must_source(isl.UnionMap("{ S[i] -> a[i] : 0 <= i < 8; T[i] -> a[i + 3] }"))
    found = info.set_kill(isl.UnionMap("{ K[] -> a[3] }")).compute_flow()
    assert found.get_full_must_dependence().is_empty() and found.get_full_may_dependence().is_empty()


def test_zeros_are_expressions():
    band = band_of(Map("{ S[i] -> [i, 0]; T[i] -> [i] }"), SOME - Set("{ U[] }"))
    assert band.schedule("T") == (var("i"), aff(0)) and all(isinstance(e, Aff) for e in band.schedule("S"))


@pytest.mark.parametrize(("scale", "shift", "tiles", "points"), [  # the table of isl's own tests
    (False, False, "floor(i/32), floor(j/32)", "i, j"),
    (True, False, "32*floor(i/32), 32*floor(j/32)", "i, j"),
    (False, True, "floor(i/32), floor(j/32)", "i mod 32, j mod 32"),
    (True, True, "32*floor(i/32), 32*floor(j/32)", "i mod 32, j mod 32"),
])  # fmt: skip
def test_tiles_are_scaled_and_points_shifted_as_asked(scale, shift, tiles, points):
    times = isl.MultiUnionPwAff("[{ S[i, j] -> [i] }, { S[i, j] -> [j] }]")
    tree = isl.Schedule.from_domain(isl.UnionSet("[n] -> { S[i, j] : 0 <= i, j < n }")).insert_partial_schedule(times)
    node = tree.get_root().child(0).band_tile([32, 32], scale_tile_loops=scale, shift_point_loops=shift)
    for found, wanted in ((node, tiles), (node.child(0), points)):
        assert found.band_get_partial_schedule_union_map().is_equal(isl.UnionMap(f"{{ S[i, j] -> [{wanted}] }}"))
    loops, seen = isl.AstBuild.from_context(isl.Set("[n] -> { : n = 40 }")).node_from_schedule(node.get_schedule()), []
    loops.foreach_descendant_top_down(lambda n: seen.append(n.get_type()) or True)
    assert seen.count(isl.ast_node_type.for_) == 4


@pytest.mark.parametrize("options", ["{ separate[0] }", "{ separate[0]; unroll[1] }", "{ atomic[x] }", "{ }"])
@pytest.mark.parametrize("name", ["", "L_0"])
@pytest.mark.parametrize("shifts", [0, 1])
def test_both_bands_of_tiles_have_its_name_and_types_of_loops(options, name, shifts):
    other = pytest.importorskip("islpy")
    times = f"[N] -> {name}[{{ A[i, j] -> [(i)] }}, {{ A[i, j] -> [(j)] }}]"
    band = f'{{ schedule: "{times}", permutable: 1, coincident: [1, 0], options: "{options}" }}'
    found = []
    for lib in (other, isl):
        lib.DEFAULT_CONTEXT.set_tile_shift_point_loops(shifts)
        node = lib.Schedule(f'{{ domain: "[N] -> {{ A[i, j] : 0 <= i, j < N }}", child: {band} }}').get_root().child(0)
        sizes = lib.MultiVal.zero(node.band_get_space()).set_val(0, lib.Val(4)).set_val(1, lib.Val(8))
        node = node.band_tile(sizes)
        lib.DEFAULT_CONTEXT.set_tile_shift_point_loops(1)
        said = []
        for at in (node, node.child(0)):
            wanted = other.UnionSet(at.band_get_ast_build_options().to_str())
            said.append((at.band_get_space().get_tuple_name(lib.dim_type.set), at.band_get_permutable(), wanted))
        found.append((said, other.UnionMap(node.get_schedule().get_map().to_str())))
    (theirs, its), (ours, mine) = found
    assert its.is_equal(mine) and all(a[:2] == b[:2] and a[2].is_equal(b[2]) for a, b in zip(theirs, ours, strict=True))


@pytest.mark.parametrize("text", ["L[{ S[i] -> [(i)]; T[i, j] -> [(j)] }, { S[i] -> [(0)]; T[i, j] -> [(i)] }]",
                                  "[{ S[i] -> [(i)]; T[i, j] -> [(j)] }]"])  # fmt: skip
def test_a_band_is_called_as_the_tuple_of_the_function_that_is_inserted(text):
    def made(m):
        tree = m.Schedule.from_domain(m.UnionSet("{ S[i] : 0 <= i < 9; T[i, j] : 0 <= i < 9 and 0 <= j < 9 }"))
        node = tree.insert_partial_schedule(m.MultiUnionPwAff(text)).get_root().child(0)
        return node.band_get_space().get_tuple_name(m.dim_type.set), node

    (ours, node), (theirs, _) = made(isl), made(pytest.importorskip("islpy"))
    assert ours == theirs
    again = isl.Schedule(str(node.get_schedule())).get_root().child(0)
    assert again.band_get_space().get_tuple_name(isl.dim_type.set) == theirs
    tiles = node.band_tile([4] * node.band_n_member())
    assert [n.band_get_space().get_tuple_name(isl.dim_type.set) for n in (tiles, tiles.child(0))] == [theirs, theirs]


def test_a_band_of_a_relation_to_several_tuples_has_no_name():
    tree = isl.Schedule.from_domain(isl.UnionSet("{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9 }"))
    node = tree.insert_partial_schedule(isl.UnionMap("{ S[i] -> A[i]; T[i] -> B[i] }")).get_root().child(0)
    assert node.band_get_space().get_tuple_name(isl.dim_type.set) is None


@pytest.mark.parametrize("pos", range(3))
def test_the_parts_of_a_band_with_a_name_have_none(pos):
    """Also where one of them has no members."""
    text = '{ domain: "{ S[i, j] }", child: { schedule: "L[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]" } }'

    def names(m):
        outer = m.Schedule(text).get_root().child(0).band_split(pos)
        return [n.band_get_space().get_tuple_name(m.dim_type.set) for n in (outer, outer.child(0))]

    assert names(isl) == names(pytest.importorskip("islpy")) == [None, None]


def test_a_band_is_shifted_where_no_instance_comes():
    text = """{ domain: "{ T[i] : 0 <= i <= 2 }", child: { sequence: [ { filter: "{ T[i] : i <= 3 }" },
      { filter: "{ T[i] : i >= 4 }", child: { schedule: "[{ T[i] -> [(i)] }]" } } ] } }"""

    def shifted(m):
        node = m.Schedule(text).get_root().child(0).child(1).child(0)
        return node.band_shift(m.MultiUnionPwAff("[{ T[i] -> [(2)] }]")).get_schedule()

    assert shifted(isl) == isl.Schedule(str(shifted(pytest.importorskip("islpy"))))
    assert "[(i + 2)]" in str(shifted(isl))


@pytest.mark.parametrize("domain", ["[N] -> { S[i] : i > 3 and i < 2 }", "{ }"])
def test_a_band_of_no_instances_has_its_members(domain):
    def made(m):
        tree = m.Schedule.from_domain(m.UnionSet(domain))
        return tree.insert_partial_schedule(m.MultiUnionPwAff("L[{ S[i] -> [(i)] }, { S[i] -> [(2i)] }]"))

    for m in (isl, pytest.importorskip("islpy")):
        assert m.Schedule.from_domain(m.UnionSet(domain)).get_map().is_empty()
        assert str(m.Schedule.from_domain(m.UnionSet(domain)).get_map()).count("S") == 0
        node = made(m).get_root().child(0)
        tiled = node.band_tile(m.MultiVal.zero(node.band_get_space()).set_val(0, m.Val(4)).set_val(1, m.Val(8)))
        assert node.band_n_member() == tiled.band_n_member() == tiled.child(0).band_n_member() == 2
        assert m.Schedule(str(made(m))).get_root().child(0).band_n_member() == 2
        build = m.AstBuild.from_context(m.Set("{ : }"))
        assert build.node_from_schedule(tiled.get_schedule()).to_C_str() == "{\n}\n"
    assert str(made(isl).get_map()) == ("{ S[i] -> [i, 2*i] }" if "S" in domain else "{ }")


def test_a_statement_without_instances_asks_for_no_members():
    tree = isl.Schedule.from_domain(isl.UnionSet("{ S[i] : false; T[i] }"))
    band = tree.insert_partial_schedule(isl.UnionMap("{ S[i] -> [i, 1, 2]; T[i] -> [3i] }")).get_root().child(0)
    assert band.band_n_member() == 1
    assert band.band_get_partial_schedule_union_map() == isl.UnionMap("{ S[i] -> [i]; T[i] -> [3i] }")
