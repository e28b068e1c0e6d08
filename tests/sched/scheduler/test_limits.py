"""Coefficients are no larger than limits say, bands begin with a parallel member where asked for, all of it valid."""

import random
from functools import reduce
from itertools import product
from operator import or_
from typing import Any

import pytest

from examples.polybench import KERNELS
from polyvolta.sched import dependences, schedule
from polyvolta.sched.scheduler.determined import extent, numeric
from polyvolta.sched.scheduler.limits import Limits, without_coalesced
from polyvolta.sched.tree import Band
from polyvolta.sets import Map, Set
from tests.sched.scheduler.brute import check


def bands(tree):
    """The members of each band, as texts, and whether they are coincident, from outside in."""
    found = [node for _, node in tree.walk() if isinstance(node, Band)]
    return [[(str(m.exprs[0][1]), m.coincident) for m in band.members] for band in found]


def largest(tree):
    """The largest coefficient of an iterator in each band of several members."""
    found = [node for _, node in tree.walk() if isinstance(node, Band) and len(node.members) > 1]
    return [max(abs(c) for m in band.members for _, e in m.exprs for _, c in e.terms or [("", 0)]) for band in found]


def members(tree):
    return [[text for text, _ in band] for band in bands(tree)]


def test_how_far_an_iterator_goes_is_what_points_say():
    rng = random.Random(7)
    for _ in range(60):
        rows = [f"{rng.randint(0, 2)} <= a <= 5", f"{rng.randint(-2, 2)} <= b <= {rng.randint(2, 6)}"]
        rows += [f"{rng.randint(-2, 2)}a + {rng.randint(-2, 2)}b <= {rng.randint(0, 6)}" for _ in range(2)]
        if rng.random() < 0.3:
            rows.append(f"(a + b) mod {rng.randint(2, 3)} = 0")
        s = Set(f"{{ S[a, b] : {' and '.join(rows)} }}")
        points = [p for p in product(range(6), range(-2, 7)) if s.contains(p)]
        if len(s.pieces) != 1:
            continue
        for k in range(2):
            apart = [q[k] - p[k] for p in points for q in points if p[1 - k] == q[1 - k]]
            assert extent(s, k) == max(apart, default=0)


def test_an_iterator_without_end_and_one_of_several_pieces():
    assert extent(Set("[M, N] -> { S[a] : M <= a < N }"), 0) == -1
    assert extent(Set("[N] -> { S[a, b] : 0 <= 2a < N and 2a <= b <= 2a + 3 }"), 0) == 1
    assert extent(Set("[N] -> { S[a] : N <= a <= N + 3 }"), 0) == 3
    assert extent(Set("{ S[a] : 0 <= a <= 2 or 7 <= a <= 9 }"), 0) == 9
    assert extent(Set("{ S[a] : false }"), 0) == 0


@pytest.mark.parametrize(("text", "is_numeric"), [
    ("{ S[a] : 0 <= a < 9 }", True), ("[N] -> { S[a] : N = 3 and 0 <= a < 9 }", True),
    ("[N] -> { S[a] : 0 <= a < N }", False), ("[N] -> { S[a] : a = N }", False),
    ("[N] -> { S[a] : 0 <= a < floor(N/2) }", False)])  # fmt: skip
def test_sizes_are_numbers_where_no_row_has_an_open_parameter(text, is_numeric):
    s = Set(text)
    assert numeric(s.parts[0][1][0], len(s.param_names)) == is_numeric


def test_limits_are_half_of_how_far_others_go():
    sizes = {(0, 0): 9, (0, 1): 4, (0, 2): -1}
    limits = Limits()
    assert limits.of((3,), 1, lambda k, j: sizes[k, j]) == ((-1, -1, 2, 5, 2),)
    assert Limits(3, 7).of((3,), 1, lambda k, j: sizes[k, j]) == ((7, 3, 2, 3, 2),)
    row = ((0, 0, 3, 1, 1),)
    assert limits.exceeded([row], (3,), 1, lambda k, j: sizes[k, j]) is not None
    assert Limits(coalesce=True).exceeded([row], (3,), 1, lambda k, j: sizes[k, j]) is None
    assert limits.exceeded([((0, 8, 1, 5, 0),)], (3,), 1, lambda k, j: sizes[k, j]) is None
    assert without_coalesced(row, None, 1, lambda k, j: sizes[k, j]) == ((-1, -1, -1, 0, -1),)
    assert without_coalesced(((0, 0, 2, 1, 1),), None, 1, lambda k, j: sizes[k, j]) is None


COUNTER = "{ S[i, j] -> S[i, j + 1]; S[i, 19] -> S[i + 1, 0] }"


def test_a_loop_over_all_instances_in_order_is_none_unless_it_may_be():
    domain = Set("{ S[i, j] : 0 <= i < 10 and 0 <= j < 20 }")
    assert members(schedule(domain, validity=Map(COUNTER))) == [["i"], ["j"]]
    assert members(schedule(domain, validity=Map(COUNTER), coalesce=True)) == [["i", "19*i + j"]]


def test_a_coefficient_that_skews_is_kept():
    valid = Map("{ S[t, i] -> S[t + 1, j] : i - 2 <= j <= i + 2 }")
    assert members(schedule(Set("{ S[t, i] : 0 <= t < 50 and 0 <= i < 50 }"), validity=valid)) == [["t", "i + 2*t"]]


def test_many_steps_are_spared_where_sizes_are_numbers():
    """Without limits it took more than 400,000 steps, or more than two seconds, until there were rows."""
    lu = KERNELS["lu"].program
    domain = lu.domain.intersect_params(Set("[N] -> { : N = 20 }"))
    valid = reduce(or_, [d.relation for d in dependences(lu)])
    for most in largest(schedule(domain, validity=valid.intersect_domain(domain).intersect_range(domain))):
        assert most <= 9


def test_coefficients_and_constants_that_are_limited():
    domain = Set("[T, N] -> { S[t, i] : 0 <= t < T and 0 <= i < N }")
    valid = Map("{ S[t, i] -> S[t + 1, j] : i - 2 <= j <= i + 2 }")
    assert members(schedule(domain, validity=valid)) == [["t", "i + 2*t"]]
    assert members(schedule(domain, validity=valid, max_coefficient=2)) == [["t", "i + 2*t"]]
    assert bands(schedule(domain, validity=valid, coincidence=valid, max_coefficient=1)) == [
        [("t", False)],
        [("i", True)],
    ]
    both = Set("[N] -> { A[i] : 0 <= i < N; B[i] : 0 <= i < N }")
    near = Map("{ A[i] -> B[i - 3]; A[i] -> A[i + 1]; B[i] -> B[i + 1] }")
    given: dict[str, Any] = {"validity": near, "proximity": near, "fuse": "max"}
    assert "B[i] → [i + 3]" in str(schedule(both, **given))
    assert members(schedule(both, **given, max_constant=2)) == [["i"], ["i"]]


def test_each_band_begins_with_a_parallel_member_where_asked_for():
    domain, steps = Set("[N] -> { S[i, j] : 0 <= i, j < N }"), Map("{ S[i, j] -> S[i + 1, j]; S[i, j] -> S[i, j + 1] }")
    given: dict[str, Any] = {"validity": steps, "coincidence": steps, "proximity": steps}
    assert bands(schedule(domain, **given)) == [[("i", False), ("j", False)]]
    assert bands(schedule(domain, **given, outer_coincidence=True)) == [[("i + j", False)], [("i", True)]]
    assert bands(schedule(domain, outer_coincidence=True, coincidence=steps)) == [[("i + j", False)], [("i", True)]]


def test_what_no_member_makes_parallel_is_scheduled_as_without():
    both = Map("{ S[i] -> S[i + 1] }")
    found = schedule(
        Set("[N] -> { S[i] : 0 <= i < N }"),
        validity=both,
        coincidence=Map("{ S[i] -> S[i - 1] }"),
        outer_coincidence=True,
    )
    assert bands(found) == [[("i", False)]]


def test_a_factor_that_statements_share_is_none():
    """`[2t]` and `[2t + 1]` are `[t]`, and what runs first at one time is said below."""
    domain = Set("[T, N] -> { S[t, i] : 0 <= t < T and 0 <= i < N; R[t, i] : 0 <= t < T and 0 <= i < N }")
    steps = Map("{ S[t, i] -> R[t, j] : i - 1 <= j <= i + 1; R[t, i] -> S[t + 1, j] : i - 1 <= j <= i + 1 }")
    found = schedule(domain, validity=steps, coincidence=steps, outer_coincidence=True)
    assert bands(found) == [[("t", False)], [("i", True)], [("i", True)]]


@pytest.mark.parametrize("seed", range(4))
def test_random_constraints_of_numeric_sizes(seed):
    """All pairs are in order whatever is asked of rows, the limits are kept by bands, and flags are true."""
    rng = random.Random(seed)
    for _ in range(12):
        sizes = [rng.randint(2, 5) for _ in range(2)]
        domain = Set("{ " + "; ".join(f"{s}[i, j] : 0 <= i < {sizes[0]} and 0 <= j < {sizes[1]}" for s in "AB") + " }")
        points = list(product(range(sizes[0]), range(sizes[1])))
        arcs, pairs = [], []
        for _ in range(rng.randint(1, 4)):
            a, b = rng.choice(("AA", "BB", "AB"))
            di, dj = rng.choice([(0, 1), (1, 0), (1, -1), (1, 1 - sizes[1]), (0, 2), (1, 0)])
            if a != b:
                di, dj = rng.randint(-1, 1), rng.randint(-2, 2)
            arcs.append(f"{a}[i, j] -> {b}[i + {di}, j + {dj}]")
            pairs += [((a, p), (b, (p[0] + di, p[1] + dj))) for p in points if (p[0] + di, p[1] + dj) in points]
        valid = Map("{ " + "; ".join(arcs) + " }").intersect_domain(domain).intersect_range(domain)
        cases: list[dict[str, Any]] = [
            {},
            {"outer_coincidence": True},
            {"max_coefficient": 1, "max_constant": 1},
            {"coalesce": True},
        ]
        for asked in cases:
            tree = schedule(domain, rng.choice(("paper", "max", "min")), validity=valid, proximity=valid,
                            coincidence=valid, **asked)  # fmt: skip
            check(tree, pairs)
            if not asked.get("coalesce"):
                most = 1 if "max_coefficient" in asked else -(-(max(sizes) - 1) // 2)
                assert max(largest(tree), default=0) <= max(1, most)
            for _, node in tree.walk():
                if isinstance(node, Band) and len(node.members) > 1:
                    assert not asked.get("outer_coincidence") or node.members[0].coincident
