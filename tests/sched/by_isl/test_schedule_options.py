"""isl's options of the scheduler: bands beside islpy's with each of those that do something here."""

import pytest

import polyvolta.isl as ours
from polyvolta.sets.by_isl.objects.context import DEFAULTS

isl = pytest.importorskip("islpy")

SQUARE = "[N] -> { S[i, j] : 0 <= i, j < N }"
FORWARD = "{ S[i, j] -> S[i + 1, j]; S[i, j] -> S[i, j + 1] }"
LINE = "[T, N] -> { S[t, i] : 0 <= t < T and 0 < i < N }"
STENCIL = "{ S[t, i] -> S[t + 1, j] : i - 1 <= j <= i + 1 }"
RED_BLACK = "{ S[t, i] -> R[t, j] : i - 1 <= j <= i + 1; R[t, i] -> S[t + 1, j] : i - 1 <= j <= i + 1 }"
CASES = [
    (SQUARE, FORWARD),
    ("{ S[i, j] : 0 <= i < 10 and 0 <= j < 20 }", "{ S[i, j] -> S[i, j + 1]; S[i, 19] -> S[i + 1, 0] }"),
    ("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < 4 }", "{ S[i, j] -> S[i, j + 1]; S[i, 3] -> S[i + 1, 0] }"),
    ("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < 2 }", "{ S[i, j] -> S[i, j + 1]; S[i, 1] -> S[i + 1, 0] }"),
    ("{ S[i, j, k] : 0 <= i < 10 and 0 <= j < 20 and 0 <= k < 4 }",
     "{ S[i, j, k] -> S[i, j, k + 1]; S[i, j, 3] -> S[i, j + 1, 0]; S[i, 19, 3] -> S[i + 1, 0, 0] }"),
    ("{ C[i, j] : 2 <= i <= 3999 and 0 <= j < i }",  # isl's carry_bounded_coefficients.sc
     "{ C[i, j] -> C[i, j + 1] : i <= 3999 and 0 <= j <= i - 2; C[i, i - 1] -> C[i + 1, 0] : 1 <= i <= 3998 }"),
    (LINE, STENCIL),
    (LINE, "{ S[t, i] -> S[t, i + 1]; S[t, i] -> S[t + 1, i - 2] }"),
    (LINE[:-1] + "; R[t, i] : 0 <= t < T and 0 < i < N }", RED_BLACK),
]  # fmt: skip
OPTIONS = [
    {}, {"treat_coalescing": 0}, {"outer_coincidence": 1}, {"max_coefficient": 1}, {"max_constant_term": 0},
    {"outer_coincidence": 1, "max_coefficient": 20}]  # fmt: skip


@pytest.fixture(autouse=True)
def as_they_were():
    yield
    for m in (isl, ours):
        for name in DEFAULTS:
            if name.startswith("schedule"):
                getattr(m.DEFAULT_CONTEXT, f"set_{name}")(DEFAULTS[name])


def bands(m, domain, pairs, options):
    """Each band of a schedule: its members' relation, and which are coincident."""
    for name, value in options.items():
        getattr(m.DEFAULT_CONTEXT, f"set_schedule_{name}")(value)
    pairs = m.UnionMap(pairs)
    asked = m.ScheduleConstraints.on_domain(m.UnionSet(domain)).set_validity(pairs)
    asked, found = asked.set_coincidence(pairs).set_proximity(pairs), []

    def walk(node):
        if node.get_type() == m.schedule_node_type.band:
            flags = [bool(node.band_member_get_coincident(k)) for k in range(node.band_n_member())]
            found.append((isl.UnionMap(str(node.band_get_partial_schedule_union_map())), flags))
        for k in range(node.n_children()):
            walk(node.child(k))

    walk(asked.compute_schedule().get_root())
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ", ".join(o) or "none")
@pytest.mark.parametrize(("domain", "pairs"), CASES)
def test_bands_are_isls(domain, pairs, options):
    here, there = bands(ours, domain, pairs, options), bands(isl, domain, pairs, options)
    assert [flags for _, flags in here] == [flags for _, flags in there]
    split = [{str(m) for m in [x for u, _ in side for x in parts(u)]} for side in (here, there)]
    assert split[0] == split[1]


def parts(union):
    found = []
    union.foreach_map(lambda m: found.append(m.drop_unused_params()))
    return found


def test_an_outer_row_that_makes_the_inner_one_parallel():
    found = bands(ours, SQUARE, FORWARD, {"outer_coincidence": 1})
    assert [flags for _, flags in found] == [[False], [True]]
    assert found[0][0].is_equal(isl.UnionMap("{ S[i, j] -> [i + j] }"))


def test_where_isl_refuses_there_is_a_schedule_without_a_parallel_member():
    """Coincident pairs go backwards, so no row has both before each other: isl carries nothing, and fails."""
    ours.DEFAULT_CONTEXT.set_schedule_outer_coincidence(1)
    asked = ours.ScheduleConstraints.on_domain(ours.UnionSet("[N] -> { S[i] : 0 <= i < N }"))
    asked = asked.set_validity(ours.UnionMap("{ S[i] -> S[i + 1] }"))
    asked = asked.set_coincidence(ours.UnionMap("{ S[i] -> S[i - 1] }"))
    found = asked.compute_schedule().get_root().child(0)
    assert str(found.band_get_partial_schedule_union_map()) == "{ S[i] -> [i] }"
