"""isl's options of a context: their names and values beside islpy's, and what those that do something change."""

import pytest

import polyvolta.isl as ours
from polyvolta.sets.by_isl.objects.context import DEFAULTS

CONTEXT = ours.DEFAULT_CONTEXT
TREE = (
    '{ domain: "[N] -> { S[i, j] : 0 <= i, j < N; T[i] : 0 <= i < N }", child: { sequence: [ '
    '{ filter: "{ S[i, j] }", child: { schedule: "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]", permutable: 1 } }, '
    '{ filter: "{ T[i] }", child: { schedule: "[{ T[i] -> [(i)] }]" } } ] } }'
)


@pytest.fixture(autouse=True)
def as_they_were():
    yield
    for name, value in DEFAULTS.items():
        getattr(CONTEXT, f"set_{name}")(value)


def loops(m):
    """isl's C of the tree with its band tiled."""
    node = m.Schedule.read_from_str(m.DEFAULT_CONTEXT, TREE).get_root().child(0).child(0).child(0)
    sizes = m.ValList.from_val(m.Val(32)).add(m.Val(16))
    tree = node.band_tile(m.MultiVal.from_val_list(node.band_get_space(), sizes)).get_schedule()
    return m.AstBuild.from_context(m.Set("[N] -> { : N > 0 }")).node_from_schedule(tree).to_C_str()


def test_names_and_values_are_islpys():
    isl = pytest.importorskip("islpy")
    there = {n[4:]: getattr(isl.DEFAULT_CONTEXT, n)() for n in dir(isl.DEFAULT_CONTEXT) if n.startswith("get_")}
    assert there == DEFAULTS
    assert there == {name: getattr(CONTEXT, f"get_{name}")() for name in there}
    assert {n for n in dir(isl.DEFAULT_CONTEXT) if n[:4] in ("get_", "set_")} <= set(dir(CONTEXT))


@pytest.mark.parametrize(("name", "value"), [
    ("tile_shift_point_loops", 0), ("ast_iterator_type", "long"), ("ast_print_outermost_block", 0),
    ("ast_always_print_block", 1)])  # fmt: skip
def test_loops_are_isls_with_an_option(name, value):
    isl = pytest.importorskip("islpy")
    found = []
    for m in (isl, ours):
        context = m.DEFAULT_CONTEXT
        before, usual = getattr(context, f"get_{name}")(), loops(m)
        getattr(context, f"set_{name}")(value)
        found.append((usual, loops(m)))
        assert getattr(context, f"get_{name}")() == value
        getattr(context, f"set_{name}")(before)
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


def test_tiles_count_in_steps_of_one_by_an_option_and_an_argument_says_otherwise():
    node = ours.Schedule("{ domain: '{ S[i] : 0 <= i < 64 }', child: { schedule: '[{ S[i] -> [(i)] }]' } }")
    node = node.get_root().child(0)
    CONTEXT.set_tile_scale_tile_loops(0)
    assert node.band_tile([8]).get_schedule().get_map() == ours.UnionMap("{ S[i] -> [floor(i/8), i mod 8] }")
    scaled = node.band_tile([8], scale_tile_loops=True).get_schedule().get_map()
    assert scaled == ours.UnionMap("{ S[i] -> [8*floor(i/8), i mod 8] }")


def test_serialized_components_share_no_band():
    asked = ours.ScheduleConstraints.on_domain(ours.UnionSet("{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9 }"))
    pairs = ours.UnionMap("{ S[i] -> T[i] }")
    asked = asked.set_validity(pairs).set_proximity(pairs)
    kinds = ours.schedule_node_type
    assert asked.compute_schedule().get_root().child(0).get_type() == kinds.band
    CONTEXT.set_schedule_serialize_sccs(1)
    assert asked.compute_schedule().get_root().child(0).get_type() == kinds.sequence


@pytest.mark.parametrize("name", ["bound", "on_error", "schedule_algorithm"])
def test_the_values_of_options_have_islpys_names_and_numbers(name):
    isl = pytest.importorskip("islpy")
    here, there = getattr(ours, name), getattr(isl, name)
    assert {v.name: int(v) for v in here} == {n: getattr(there, n) for n in dir(there) if n.isupper()}
    for value in here:
        getattr(CONTEXT, f"set_{name}")(value)
        assert getattr(CONTEXT, f"get_{name}")() == getattr(there, value.name)


def test_what_is_no_option_says_so():
    with pytest.raises(AttributeError, match="isl has no option 'tile_loops'"):
        CONTEXT.set_tile_loops(1)
    with pytest.raises(AttributeError, match="no attribute 'tiles'"):
        CONTEXT.tiles  # noqa: B018


@pytest.mark.parametrize(("name", "value"), [("tile_scale_tile_loops", "no"), ("ast_iterator_type", 3)])
def test_an_option_is_a_number_or_a_text_as_its_default(name, value):
    with pytest.raises(ours.SpaceMismatch, match=f"{name} is such as"):
        getattr(CONTEXT, f"set_{name}")(value)
    assert getattr(CONTEXT, f"get_{name}")() == DEFAULTS[name]
