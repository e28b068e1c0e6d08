"""Conditional validity: bands as wide as isl's, and live ranges that never overlap, by listing all instances.

A condition is a value's way from its definition to a use, and a pair that is valid on conditions says that a use is
over before the next value is defined. Where such a pair runs in the other order, so do the live ranges at its two ends:
from the definitions that the use has, and to the uses that the definition has, all with the pair's tag.
"""

from random import Random

import pytest

from polyvolta.sched import passes
from polyvolta.sched.emit.run import run
from polyvolta.sched.errors import NoSchedule
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.scheduler import schedule
from polyvolta.sets import Map, Set

N = 3
SQUARES = "[n] -> { A[i, j] : 0 <= i, j < n; B[i, j] : 0 <= i, j < n }"
# of Verdoolaege and Cohen, "Live-Range Reordering", figure 7: a temporary t, and x, the sum of a row
FLOW = "[n] -> { A[i, j] -> B[i, j] : 0 <= i, j < n; B[i, j] -> B[i, j + 1] : 0 <= i < n and 0 <= j < n - 1 }"
USES = [("t", "A[i, j] -> B[i, j]", "0 <= i, j < n"), ("x", "B[i, j] -> B[i, j + 1]", "0 <= i < n and 0 <= j < n - 1")]
REUSES = [
    ("t", "B[i, j] -> A[i, k]", "0 <= i < n and 0 <= j < k < n"),
    ("t", "B[i, j] -> A[k, l]", "0 <= i < k < n and 0 <= j, l < n"),
    ("x", "B[i, j] -> B[i, k]", "0 <= i, j, k < n and j < k"),
]


def said(some, tagged=True):
    """Pairs as one relation, with their tags or without."""
    parts = []
    for tag, pairs, when in some:
        ends = [f"[{end} -> {tag}[]]" if tagged else end for end in pairs.split(" -> ")]
        parts.append(" -> ".join(ends) + " : " + when)
    return Map(f"[n] -> {{ {'; '.join(parts)} }}")


def scheduled(uses, reuses, tagged=True, **more):
    conditions = {"conditional_validity": reuses, "conditional_validity_condition": uses}
    return schedule(Set(SQUARES), **more, **{name: said(some, tagged) for name, some in conditions.items()})


def widths(tree):
    return [len(tree.band(at).members) for at in tree.bands()]


def listed(some):
    """Pairs of instances with their tags, for n = N."""
    for tag, pairs, when in some:
        for before, after in _instances(Map(f"[n] -> {{ {pairs} : {when} }}").intersect_domain(Set(SQUARES))):
            yield tag, before, after


def _instances(pairs):
    inside = pairs.intersect_range(Set(SQUARES))
    for space, _ in inside.parts:
        source, sink = space.inp, space.out
        for values in inside.wrap().points(n=N):
            values = tuple(values)
            cut = len(source.dims)
            yield (source.name, values[:cut]), (sink.name, values[cut:])


def overlapping(tree, uses, reuses):
    """The pairs valid on conditions that run in the other order while the live ranges at their ends overlap."""
    time = {instance: k for k, instance in enumerate(run(scan(tree), n=N))}
    uses = list(listed(uses))
    for tag, use, new in listed(reuses):
        if use != new and time[new] < time[use]:
            definitions = [time[a] for t, a, b in uses if (t, b) == (tag, use)]
            others = [time[b] for t, a, b in uses if (t, a) == (tag, new)]
            if max([time[new], *others]) >= min([time[use], *definitions]):
                yield tag, use, new


def test_conditions_of_other_tags_need_not_be_local():
    """The sum of a row leaves its iteration; what is said of the temporary needs values of the temporary to stay."""
    flow = Map(FLOW)
    assert widths(scheduled(USES, REUSES, validity=flow, proximity=flow)) == [2]
    assert widths(scheduled(USES, REUSES, False, validity=flow, proximity=flow))[0] == 1


def test_what_has_no_condition_is_not_asked_for():
    """isl's own example: nothing orders what S and T have of A, and S[i] -> S[i + 1] is one pair of A's and of B's."""
    domain = Set("{ S[i] : 0 <= i < 100; T[i] : 0 <= i < 100 }")
    tree = schedule(
        domain,
        validity=Map("{ S[i] -> S[i + 1] : 0 <= i < 99 }"),
        conditional_validity_condition=Map("{ [S[i] -> B[]] -> [S[i + 1] -> B[]] : 0 <= i < 99 }"),
        conditional_validity=Map(
            "{ [S[i] -> A[]] -> [T[k] -> A[]] : 0 <= i, k < 100 and i != k;"
            " [T[i] -> A[]] -> [S[k] -> A[]] : 0 <= i, k < 100 and i != k;"
            " [S[i] -> A[]] -> [S[i + 1] -> A[]] : 0 <= i < 99 }"
        ),
    )
    assert widths(tree) == [1]


def test_a_pair_that_is_a_condition_and_valid_on_it():
    pair = [("x", "A[i, j] -> A[i, j - 1]", "0 <= i < n and 1 <= j < n")]
    tree = scheduled(pair, pair)
    assert not list(overlapping(tree, pair, pair))


ENDS = ("i, j", "i, j + 1", "i + 1, j", "j, i", "i, k", "k, j", "k, l", "i + 1, k")
WHEN = ("i < k", "j < k", "k < i", "k < j", "k != i", "l < j", "j < i", "i = j", "true")


def drawn(random):
    """Some uses and reuses of one or two arrays, and what is valid anyway."""

    def pair(tag):
        source, sink, end = random.choice("AB"), random.choice("AB"), random.choice(ENDS)
        names = {*"ijkltrue"} if end == "k, l" else {*"ijtrue", *end}
        when = random.choice([w for w in WHEN if {*w} - {*" <!="} <= names])
        return tag, f"{source}[i, j] -> {sink}[{end}]", when

    tags = random.choice(("t", "tx", "txy"))
    uses = [pair(random.choice(tags)) for _ in range(random.randint(1, 3))]
    reuses = [pair(random.choice(tags)) for _ in range(random.randint(1, 4))]
    return uses, reuses


@pytest.mark.parametrize("seed", range(12))
def test_live_ranges_do_not_overlap(seed):
    """Of random pairs, also when the outer band is tiled; the other way round some would."""
    random, checked = Random(seed), 0
    for _ in range(12):
        uses, reuses = drawn(random)
        try:
            tree = scheduled(uses, reuses)
        except NoSchedule:
            continue
        assert not list(overlapping(tree, uses, reuses)), (uses, reuses)
        if tree.bands():
            at = tree.bands()[0]
            tiled = passes.tile(tree, at, (2,) * len(tree.band(at).members))
            assert not list(overlapping(tiled, uses, reuses)), (uses, reuses)
        checked += 1
    assert checked
