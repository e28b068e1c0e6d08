"""How many tests loops make, counted as they run."""

from collections.abc import Mapping, Sequence

from polyvolta.sched.emit.run import bound, holds
from polyvolta.sched.loops.ast import AnyOf, Ast, Call, Condition, For, If


def counted(body: Sequence[Ast], values: Mapping[str, int]) -> int:
    """How many tests some loops make at some values: one for each entry of a loop, one for each comparison."""
    tests = 0
    for node in body:
        match node:
            case Call():
                pass
            case If(conditions, inner, other=other):
                made, true = compared(conditions, values)
                tests += made + counted(inner if true else other, values)
            case For():
                first, last = (f(bound(e, values) for e in ends) for f, ends in ((max, node.lower), (min, node.upper)))
                at = range(first, last + 1, node.step)
                tests += 1 + sum(1 + counted(node.body, {**values, node.var: x}) for x in at)
            case _:
                tests += counted(node.body, values)
    return tests


def compared(conditions: Sequence[Condition], values: Mapping[str, int]) -> tuple[int, bool]:
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
