"""What benchmarks/loops.py says of sizes at which contexts do not hold, and of codes that make different calls."""

import shutil
from itertools import product

import pytest

from polyvolta.sched import Schedule
from polyvolta.sched.tree import Context
from tests.sched.campaign import data_of
from tests.sched.loops.draw import tree
from tests.sched.loops.oracle import Meaning
from tests.sched.loops.test_scan_contexts import PROMISE

isl = pytest.importorskip("islpy")
loops = pytest.importorskip("loops")


def holds(schedule, at):
    """Whether all contexts have values, and hold of the instances that reach them, one by one."""
    contexts = [node.context.params() for _, node in schedule.walk() if isinstance(node, Context)]
    if any(c.fix(**{p: at[p] for p in c.param_names}).is_empty() for c in contexts):
        return False
    try:
        Meaning(schedule, at)
    except AssertionError:
        return False
    return True


def test_the_sizes_at_which_contexts_hold_are_those_of_enumeration():
    seen = 0
    for number in range(200):
        drawn = tree(data_of(9001, number))
        schedule, params = drawn.schedule, list(drawn.values[0])
        if not any(isinstance(node, Context) for _, node in schedule.walk()):
            continue
        found = loops.held(isl.Schedule(schedule.to_isl()))
        for values in product(range(-2, 9, 2), repeat=len(params)):
            head = f"[{', '.join(params)}] -> " if params else ""
            where = " and ".join(f"{p} = {v}" for p, v in zip(params, values, strict=True)) or "true"
            one = isl.Set(f"{head}{{ : {where} }}")
            assert holds(schedule, dict(zip(params, values, strict=True))) != found.intersect(one).is_empty(), number
        seen += 1
    assert seen >= 10


def test_a_context_holds_at_no_sizes_but_its_own_though_a_filter_lets_nothing_pass_at_others():
    found = loops.held(isl.Schedule(PROMISE))
    assert found.is_equal(isl.Set("[N] -> { : N >= 5 }"))
    found = loops.held(isl.Schedule(PROMISE.replace("[] : N >= 5", "[] : N >= 7")))
    assert found.is_equal(isl.Set("[N] -> { : N >= 7 }"))


LOOP = '{ domain: "[N] -> { S[i, j] : 0 <= i < N and j = -i }", child: { schedule: "[{ S[i, j] -> [(i)] }]" } }'
FULL = "for (int c0 = 0; c0 < N; c0 += 1)\n  S(c0, -c0);"
LESS = "for (int c0 = 0; c0 < N - 1; c0 += 1)\n  S(c0, -c0);"
OTHER = "for (int c0 = 0; c0 < N; c0 += 1)\n  S(c0, c0);"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("ours", "isls", "why"),
    [
        (FULL, FULL, ""),
        (FULL, LESS, "isl's is wrong at {'N': 5}: 5 calls, isl's 4"),
        (OTHER, FULL, "OURS IS WRONG at {'N': 5}: 5 calls, isl's 5"),
        (LESS, OTHER, "BOTH ARE WRONG at {'N': 5}: 4 calls, isl's 5"),
    ],
)
def test_where_calls_differ_it_says_whose_are_wrong(ours, isls, why):
    one = loops.Input("kind", "name", LOOP, Schedule.parse(LOOP), ours=ours, isls=isls, params=("N",), points=[[5]])
    loops.measure([one], "cc")
    assert one.why == why
    assert one.counts == [(6 - (ours == LESS), 6 - (isls == LESS))]


def test_sizes_are_given_in_turn_and_are_the_nearest_in_the_context():
    context = isl.Set("[N, M, p] -> { : N >= 1 and 0 <= p < 8 and M >= N }")
    assert loops.point(context, ["N", "M", "p"], [-4, 40]) == [1, 40, 0]
    assert loops.point(context, ["N", "M", "p"], [90, 1]) == [90, 90, 7]
    assert loops.point(context, ["N", "M", "p"], [9]) == [9, 9, 7]
