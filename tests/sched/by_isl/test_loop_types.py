"""Loop types of bands and of what they isolate, beside isl's."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")
BOTH = (ours, isl)
ONE = '{ domain: "{ S[i] : 0 <= i < 12 }", child: { schedule: "[{ S[i] -> [(i)] }]"%s } }'
TWO = """{ domain: "[N] -> { S[i, j] : 0 <= i, j < N }", child: {
    schedule: "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]", options: "%s" } }"""
TWO %= "[N] -> { isolate[[] -> [a, b]] : N >= 3 and 0 <= a <= b <= 2; unroll[0]; atomic[1]; [isolate[] -> unroll[1]] }"
APART = "isolate[[] -> [a]] : 4 <= a < 6"


def band(m, text):
    return m.Schedule(text).get_root().child(0)


def same(node, theirs):
    """Options as isl's, the types that are asked for too, also after the text was read again."""
    text = str(theirs.band_get_ast_build_options())
    assert node.band_get_ast_build_options().is_equal(ours.UnionSet(text)), (str(node), text)
    read = ours.Schedule(str(node.get_schedule())).get_root()
    for k in node.at:
        read = read.child(k)
    for again in (node, read):
        for k in range(theirs.band_n_member()):
            for ask in ("band_member_get_ast_loop_type", "band_member_get_isolate_ast_loop_type"):
                assert getattr(again, ask)(k).name == isl.ast_loop_type(getattr(theirs, ask)(k)).name


def code(m, node):
    return m.AstBuild.from_context(m.Set("{ : }")).node_from_schedule(node.get_schedule()).to_C_str()


@pytest.mark.parametrize("kind", ["unroll", "atomic", "separate", "default"])
def test_what_nothing_is_isolated_by_has_a_type_all_the_same(kind):
    found = [band(m, ONE % "").band_member_set_isolate_ast_loop_type(0, getattr(m.ast_loop_type, kind)) for m in BOTH]
    same(*found)
    assert code(ours, found[0]) == code(isl, found[1]) == code(isl, band(isl, ONE % ""))
    same(*(node.band_set_ast_build_options(m.UnionSet(f"{{ {APART} }}")) for m, node in zip(BOTH, found, strict=True)))


@pytest.mark.parametrize("options", [f"{APART}", f"{APART}; unroll[0]", f"{APART}; [isolate[] -> unroll[0]]", ""])
@pytest.mark.parametrize("kind", ["unroll", "default"])
def test_another_type_leaves_that_of_the_isolated_part(options, kind):
    text = ONE % (f', options: "{{ {options} }}"' if options else "")
    found = [band(m, text).band_member_set_ast_loop_type(0, getattr(m.ast_loop_type, kind)) for m in BOTH]
    same(*found)
    assert code(ours, found[0]) == code(isl, found[1])
    more = [
        n.band_member_set_isolate_ast_loop_type(0, m.ast_loop_type.unroll) for m, n in zip(BOTH, found, strict=True)
    ]
    if options:
        same(*more)
    assert code(ours, more[0]) == code(isl, more[1])


def test_both_bands_of_a_split_one_isolate():
    found = [band(m, TWO).band_split(1) for m in BOTH]
    same(*found)
    same(*(node.child(0) for node in found))
    here, there = (node.band_get_ast_isolate_option() for node in found)
    assert isl.Set(str(here)).is_equal(there)


def test_tiles_and_points_have_the_types_of_the_band():
    text = ONE % ', options: "{ unroll[0]; [isolate[] -> atomic[0]] }"'
    found = []
    for m in BOTH:
        node = band(m, text)
        found.append(node.band_tile(m.MultiVal.zero(node.band_get_space()).set_val(0, m.Val(4))))
    same(*found)
    same(*(node.child(0) for node in found))
