"""`compute_schedule` orders statements of one band where something is left between them alone; beside islpy."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

STAR = "((i' = i and (j' = j or j' = j - 1 or j' = j + 1)) or (j' = j and (i' = i - 1 or i' = i + 1)))"
PROGRAMS = {  # instances, and pairs in order
    "jacobi in two dimensions": (
        "[T, N] -> { S[t, i, j] : 0 <= t < T and 0 < i, j < N - 1; R[t, i, j] : 0 <= t < T and 0 < i, j < N - 1 }",
        f"{{ S[t, i, j] -> R[t, i', j'] : {STAR}; R[t, i, j] -> S[t + 1, i', j'] : {STAR} }}",
    ),
    "lu": (
        "[N] -> { S[k, i] : 0 <= k < i < N; R[k, i, j] : 0 <= k < i < N and k < j < N }",
        "{ S[k, i] -> R[k, i, j]; R[k, i, j] -> R[k + 1, i, j]; R[k, i, k + 1] -> S[k + 1, i];"
        " R[k, k + 1, j] -> R[k + 1, i, j]; R[k, k + 1, k + 1] -> S[k + 1, i] }",
    ),
    "each before the next of the other": (
        "[N] -> { S[i] : 0 <= i < N; R[i] : 0 <= i < N }", "{ S[i] -> R[i + 1]; R[i] -> S[i + 1] }"),
    "each before its own": ("[N] -> { S[i] : 0 <= i < N; R[i] : 0 <= i < N }", "{ S[i] -> R[i]; R[i] -> S[i + 1] }"),
}  # fmt: skip


def scheduled(m, name):
    domain, pairs = m.UnionSet(PROGRAMS[name][0]), m.UnionMap(PROGRAMS[name][1])
    pairs = pairs.intersect_domain(domain).intersect_range(domain)
    asked = m.ScheduleConstraints.on_domain(domain).set_validity(pairs).set_proximity(pairs)
    return asked.compute_schedule(), pairs


def kinds(m, name):
    found = []
    scheduled(m, name)[0].get_root().foreach_descendant_top_down(lambda n: found.append(n.get_type().name) or True)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_trees_have_the_nodes_of_isls(name):
    assert kinds(ours, name) == kinds(isl, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pairs_are_in_order(name):
    tree, pairs = scheduled(ours, name)
    times = tree.get_map()
    assert not pairs.is_empty() and pairs.is_subset(times.lex_lt_union_map(times))
