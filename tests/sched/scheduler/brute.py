"""Whether a schedule keeps the order of conflicting accesses, and whether the flags of its bands are true, by running.

A loop nest is run by Python, which tells all accesses in order (`tests.sched.program.recorder`). Every two instances of
which both touch an element, one writing, must keep their order. Each instance is sent down the tree alone.
"""

from collections import defaultdict
from itertools import combinations

from polyvolta.sched.tree import Band, Filter, Leaf, Sequence, SetNode
from tests.sched.program.recorder import record


def conflicts(text, program, **sizes):
    """All pairs ((statement, point), (statement, point)) of instances that may not be exchanged, in their order."""
    names = [s.name for s in program.statements]
    touching = defaultdict(list)
    for event in record(text, program, **sizes):
        instance = names[event["statement"]], event["point"]
        for element in event["reads"] | set(event["writes"]):
            touching[element].append((instance, element in event["writes"]))
    found = {}
    for accesses in touching.values():
        for (a, writes), (b, overwrites) in combinations(accesses, 2):
            if writes or overwrites:
                found[a, b] = None
    return list(found)


def way(schedule, instance, sizes):
    """What an instance meets on its way down: (node, values of its members or number of the child)."""
    statement, point = instance
    dims = next(s.out.dims for s, _ in schedule.domain.parts if s.out.name == statement)
    values = {**sizes, **dict(zip(dims, point, strict=True))}
    node, met = schedule.root, []
    while not isinstance(node, Leaf):
        match node:
            case Band(members):
                met.append((node, tuple([m.of(statement).evaluate(values) for m in members])))
                node = node.child
            case Sequence(children) | SetNode(children):
                (k,) = [k for k, child in enumerate(children) if statement in child.statements]
                assert all(isinstance(child, Filter) and child.instances is None for child in children)
                met.append((node, k))
                node = children[k]
            case _:
                node = node.child
    return met


def check(schedule, pairs, **sizes):
    """All pairs keep their order, and all flags are true of them."""
    ways = {}
    for pair in pairs:
        for instance in pair:
            if instance not in ways:
                ways[instance] = way(schedule, instance, sizes)
    for first, second in pairs:
        ordered = False
        for (node, a), (_, b) in zip(ways[first], ways[second]):
            if isinstance(node, Band):
                distance = [y - x for x, y in zip(a, b, strict=True)]
                for member, d in zip(node.members, distance, strict=True):
                    assert d == 0 or not member.coincident, f"{first} and {second} are {d} apart in a coincident member"
                assert not node.permutable or min(distance) >= 0, f"{first} and {second} are {distance} apart"
            elif isinstance(node, SetNode):
                assert a == b, f"{first} and {second} go different ways in a set"
            if a != b:
                assert a < b, f"{second} runs before {first}"
                ordered = True
                break
        assert ordered, f"{first} and {second} run at the same time"
