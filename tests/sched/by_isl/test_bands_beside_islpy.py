"""Computed schedules beside islpy's: which statements share a band, its members, which of them are coincident."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

SQUARES = "[N] -> { S[i, j] : 0 <= i, j < N; T[i, j] : 0 <= i, j < N }"
LINES = "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N; U[i] : 0 <= i < N }"
# a domain, and pairs of instances of which the second uses what the first made
PROGRAMS = {
    "two sums that do not depend on each other": (SQUARES, "{ S[i, j] -> S[i + 1, j]; T[i, j] -> T[i, j + 1] }"),
    "a triangle and its diagonal": (
        "[N] -> { S[i, j] : 0 <= j <= i < N; T[i, j] : 0 <= j <= i < N }",
        "{ S[i, j] -> T[i, j]; S[j, j] -> T[i, j] }",
    ),
    "rows of what columns made": (SQUARES, "{ S[i, j] -> T[i, k] }"),
    "a transpose": (SQUARES, "{ S[i, j] -> T[j, i] }"),
    "what is far in one direction": (SQUARES, "{ S[i, j] -> T[0, j] }"),
    "one column of what is used along rows": (SQUARES, "{ S[i, 0] -> T[i, j] }"),
    "one element": (SQUARES, "{ S[0, 0] -> T[i, j] }"),
    "every other row": (SQUARES, "{ S[i, j] -> T[k, j] : i = 2k }"),
    "against each other": ("[N] -> { S[i] : 0 < i < N; T[i] : 0 < i < N }", "[N] -> { S[i] -> T[N - i] }"),
    "a pipeline": (LINES, "{ S[i] -> T[i + 1]; S[i] -> T[i - 1]; T[i] -> U[i + 1]; T[i] -> U[i - 1] }"),
    "steps of more than two": (LINES, "{ S[i] -> T[i]; S[i] -> T[i + 3]; T[i] -> U[i]; T[i] -> U[i + 2] }"),
    "a cycle and what uses it": (LINES, "{ S[i] -> T[i + 1]; T[i] -> S[i]; T[i] -> U[j] : j > i }"),
    "a matrix product": (
        "[N] -> { S[i, j] : 0 <= i, j < N; T[i, j, k] : 0 <= i, j, k < N }",
        "{ S[i, j] -> T[i, j, 0]; T[i, j, k] -> T[i, j, k + 1] }",
    ),
    "two matrix products": (
        "[N] -> { S[i, j, k] : 0 <= i, j, k < N; T[i, j, k] : 0 <= i, j, k < N }",
        "[N] -> { S[i, j, k] -> S[i, j, k + 1]; S[i, k, N - 1] -> T[i, j, k]; T[i, j, k] -> T[i, j, k + 1] }",
    ),
    "a vector and a matrix": (
        "[N] -> { S[i] : 0 <= i < N; T[i, j] : 0 <= i, j < N }",
        "{ S[i] -> T[i, j]; S[i] -> S[i + 1] }",
    ),
    "what would cost the other a loop": (
        SQUARES,
        "[N] -> { S[i, j] -> S[i, j + 1]; S[i, N - 1] -> T[k, l]; T[i, j] -> T[k, l] : k > i; T[i, j] -> T[i, j + 1] }",
    ),
    "what is aligned in one direction, beside what is in none": (
        "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < 4; T[i, j] : 0 <= i, j < N; U[i] : 0 <= i < N }",
        "{ S[i, j] -> S[i + 1, j]; S[i, j] -> T[j + 1, j + 3]; T[i, j] -> T[i, j + 1]; T[i, j] -> U[i + 1] }",
    ),
    "what is far, in a line beside what is close": (
        LINES,
        "[N] -> { S[i] -> T[k] : i = N - 1; S[0] -> U[3]; T[i] -> T[i + 1]; T[i] -> U[k] }",
    ),
    "a scalar beside what is close": (
        "[N] -> { S[]; T[i, j] : 0 <= i, j < N; U[i] : 0 <= i < N }",
        "[N] -> { S[] -> T[i, j]; S[] -> U[0]; T[i, j] -> U[i]; T[i, j] -> U[i + 3]; U[i] -> U[i + 1] }",
    ),
    "two scalars": (
        "[N] -> { S[]; T[]; U[i] : 0 <= i < 4 }",
        "[N] -> { S[] -> T[]; S[] -> U[N - 1]; T[] -> U[N - 1]; U[i] -> U[i + 1] }",
    ),
    "what is close, before what is far in all of a line": (
        "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < 4; T[i] : 0 <= i < N; U[i] : 0 <= i < N }",
        "[N] -> { S[i, j] -> T[i]; S[i, j] -> U[i - 1] : j = N - 1; T[i] -> U[k] : i mod 2 = 0 }",
    ),
    "two steps at most, three but for a remainder": (
        LINES,
        "{ S[i] -> T[k] : i <= k <= i + 3 and (i + k) mod 2 = 0 }",
    ),
    "a scalar": ("[N] -> { S[]; T[i] : 0 <= i < N; U[] }", "{ S[] -> T[0]; T[i] -> T[i + 1]; T[i] -> U[] }"),
    "a stencil": (
        "[N] -> { S[t, i] : 0 <= t, i < N; T[t, i] : 0 <= t, i < N }",
        "{ S[t, i] -> T[t, i + 1]; S[t, i] -> T[t, i - 1]; T[t, i] -> S[t + 1, i] }",
    ),
}  # fmt: skip


def bands(kinds, node):
    """(statements, band or None, members, coincident ones) of each band that is below no other."""
    if node.get_type() == kinds.band:
        members = range(node.band_n_member())
        flags = [bool(node.band_member_get_coincident(k)) for k in members]
        names = sorted(s.get_tuple_name() for s in sets(node.get_domain()))
        return [(names, bool(node.band_get_permutable()), len(flags), sum(flags))]
    return [b for k in range(node.n_children()) for b in bands(kinds, node.child(k))]


def sets(union):
    found = []
    union.foreach_set(found.append)
    return found


def computed(module, domain, pairs, coincidence):
    domain = module.UnionSet(domain)
    pairs = module.UnionMap(pairs).intersect_domain(domain).intersect_range(domain)
    asked = module.ScheduleConstraints.on_domain(domain).set_validity(pairs).set_proximity(pairs)
    tree = (asked.set_coincidence(pairs) if coincidence else asked).compute_schedule()
    return sorted(bands(module.schedule_node_type, tree.get_root()))


@pytest.mark.parametrize("coincidence", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_bands_are_those_of_islpy(name, coincidence):
    domain, pairs = PROGRAMS[name]
    assert computed(ours, domain, pairs, coincidence) == computed(isl, domain, pairs, coincidence)


def test_by_an_option_statements_that_lose_parallelism_stay_apart():
    domain, pairs = PROGRAMS["a pipeline"]
    assert len(computed(ours, domain, pairs, True)) == 1
    for module in (ours, isl):
        module.DEFAULT_CONTEXT.set_schedule_maximize_coincidence(1)
    try:
        assert computed(ours, domain, pairs, True) == computed(isl, domain, pairs, True)
        assert len(computed(ours, domain, pairs, True)) == 3
    finally:
        for module in (ours, isl):
            module.DEFAULT_CONTEXT.set_schedule_maximize_coincidence(0)


def test_what_is_only_to_be_in_order_shares_no_band():
    pairs = "{ S[i] -> T[i] }"
    for module in (ours, isl):
        asked = module.ScheduleConstraints.on_domain(module.UnionSet("{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9 }"))
        tree = asked.set_validity(module.UnionMap(pairs)).compute_schedule()
        assert tree.get_root().child(0).get_type() == module.schedule_node_type.sequence
