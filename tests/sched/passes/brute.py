"""The order of a schedule tree's instances by enumeration: each is sent down the tree alone, and two are compared.

A time is the list of what an instance meets on its way down: ("then", v) for the value of a loop or the position in a
sequence, ("any", v) for the value of a mapped member or the position in a set. Two instances part where their times
first differ: there "then" orders them and "any" does not. Equal times are no order either.
"""

from itertools import product

from polyvolta.sched.tree import Band, Filter, Leaf, Sequence, SetNode


def instances(schedule, **params):
    """All instances of the domain, as (statement, point)."""
    domain = schedule.domain
    known = {p: v for p, v in params.items() if p in domain.param_names}
    return [(s.out.name, tuple(p)) for s, _ in domain.parts for p in domain.only(s.out.name).points(**known)]


def times(schedule, **params):
    """The time of every instance."""
    dims = {s.out.name: s.out.dims for s, _ in schedule.domain.parts}
    return {
        (s, p): tuple(_time(schedule.root, s, p, {**params, **dict(zip(dims[s], p, strict=True))}))
        for s, p in instances(schedule, **params)
    }


def _time(node, statement, point, values):
    match node:
        case Leaf():
            return
        case Band():
            for m in node.members:
                yield ("any" if m.name else "then", m.of(statement).evaluate(values))
            yield from _time(node.child, statement, point, values)
        case Sequence() | SetNode():
            ways = [k for k, c in enumerate(node.children) if _goes(c, statement, point, values)]
            assert len(ways) == 1, f"{statement}{list(point)} goes {len(ways)} ways"
            yield ("then" if isinstance(node, Sequence) else "any", ways[0])
            yield from _time(node.children[ways[0]], statement, point, values)
        case _:
            yield from _time(node.child, statement, point, values)


def _goes(child, statement, point, values):
    assert isinstance(child, Filter)
    if statement not in child.statements:
        return False
    if child.instances is None:
        return True
    some = child.instances
    return statement in some.tuple_names and some.only(statement).contains(
        point, **{p: values[p] for p in some.param_names}
    )


def before(a, b):
    """Whether a time is surely before another one."""
    for (kind, x), (_, y) in zip(a, b):
        if x != y:
            return kind == "then" and x < y
    return False


def order(schedule, **params):
    """All pairs of instances of which the first surely runs before the second."""
    return ordered(times(schedule, **params))


def ordered(time):
    """All pairs of instances of which the first has a time surely before the second's."""
    return {(a, b) for a, b in product(time, repeat=2) if before(time[a], time[b])}


def text(instance):
    """An instance as errors write it."""
    statement, point = instance
    return f"{statement}[{', '.join(map(str, point))}]"
