"""How much loops test: loop tests and comparisons of conditions, counted as they run, against numbers found by hand.

The trees are small ones of causes that random trees had; each must also visit its instances in order.
"""

import pytest

from polyvolta.sched.emit.run import bound, holds
from polyvolta.sched.loops.ast import AnyOf, Call, For, If
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.oracle import deviation


def counted(body, values):
    """How many tests some loops make at some values: one for each entry of a loop, one for each comparison."""
    tests = 0
    for node in body:
        match node:
            case Call():
                pass
            case If(conditions, inner):
                made, true = compared(conditions, values)
                tests += made + (counted(inner, values) if true else 0)
            case For():
                first, last = (f(bound(e, values) for e in ends) for f, ends in ((max, node.lower), (min, node.upper)))
                at = range(first, last + 1, node.step)
                tests += 1 + sum(1 + counted(node.body, {**values, node.var: x}) for x in at)
            case _:
                tests += counted(node.body, values)
    return tests


def compared(conditions, values):
    """How many comparisons decide that all of some conditions hold, from left to right, and whether they do."""
    made = 0
    for c in conditions:
        if isinstance(c, AnyOf):
            true = False
            for case in c.alternatives:
                some, true = compared(case, values)
                made += some
                if true:
                    break
        else:
            made, true = made + 1, holds(c, values)
        if not true:
            return made, False
    return made, True


# (tree, values of N, the most tests at each)
TREES = {
    "a stride where a parameter is odd": (
        """{ domain: "[N] -> { S[i] : (N - i - floor((N + 2i)/4)) mod 3 = 1 and 0 <= 2i <= N + 1 }",
             child: { schedule: "[{ S[i] -> [(i)] }]" } }""",
        {0: 1, 40: 1, 41: 13},
    ),
    "a guard that asks for an odd parameter in two ways": (
        """{ domain: "[N] -> { S[i] : 0 <= 2i <= N + 1 }",
             child: { schedule: "[N] -> [{ S[i] -> [(floor((N + 2*floor((1 - i)/2) + 2)/4))] }, { S[i] -> [(i)] }]",
             child: { schedule: "[N] -> [{ S[i] -> [((N + 2*floor((1 - i)/2) + 2) mod 4)] }]",
             options: "{ unroll[0] }", child: {
             guard: "{ [p0, p1, p2] : p2 = 1 and p1 >= 4; [p0, p1, p2] : p2 = 1 and p1 <= 2 }" } } } }""",
        {40: 1, 41: 84},
    ),
    "a remainder that is the number itself": (
        """{ domain: "{ S[j] : 0 <= j <= 1 }",
             child: { schedule:
             "[{ S[j] -> [(floor((1 - 2j)/3))] }, { S[j] -> [(j mod 2)] }, { S[j] -> [(1 - 2j)] }]" } }""",
        {0: 7},
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_loops_test_no_more_than_they_need(name):
    text, most = TREES[name]
    tree = Schedule.parse(text)
    found = scan(tree)
    for n in {*range(-2, 12), *most} if "N" in text else (0,):
        assert deviation(tree, found, {"N": n} if "N" in text else {}) is None
    assert {n: counted(found.body, {"N": n}) for n in most} == most
