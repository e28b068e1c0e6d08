"""Order, dataflow and dependences by enumeration: every instance, every pair, at given parameters.

What a tree says of two instances is read off their ways down. Dataflow is its definition, read literally:

    may   source -> sink, the source touches the element and runs before, and no sure source and no kill runs between
    must  of these the sure sources that everything else of these, and every kill that is left, runs before
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from polyvolta.sched.tree import Band, Context, Domain, Extension, Filter, Guard, Leaf, Mark, Sequence, SetNode


class Ways:
    """The instances of a tree at values of its parameters, and which of two runs first."""

    def __init__(self, schedule, params):
        self.schedule, self.params = schedule, dict(params)
        self.dims = {s.out.name: s.out.dims for s, _ in schedule.domain.parts}
        self.way = {}
        self.reached = {}  # node -> instances that come there
        for name, point in points(schedule.domain, self.params):
            way = self.down(schedule.root, (), name, point, (), ())
            if way is not None:
                self.way[name, point] = way

    def down(self, node, at, name, point, way, above):
        """The steps of an instance: (how, number) at each node that orders; None if it does not get to a leaf."""
        self.reached.setdefault(at, {})[name, point] = len(way)
        below = (*at, 0)
        match node:
            case Leaf():
                return way
            case Domain() | Mark() | Extension():
                return self.down(node.child, below, name, point, way, above)
            case Context(known, child) | Guard(known, child):
                n = known.space.n_out
                return (
                    self.down(child, below, name, point, way, above) if holds(known, above[:n], self.params) else None
                )
            case Filter(statements, child, chosen):
                if name not in statements or (chosen is not None and not inside(chosen, name, point, self.params)):
                    return None
                return self.down(child, below, name, point, way, above)
            case Band(members, child):
                values = []
                for m in members:
                    value = m.of(name).evaluate({**self.params, **dict(zip(self.dims[name], point))})
                    way += (("any" if m.name else "less", value),)
                    values.append(value)
                return self.down(child, below, name, point, way, (*above, *values))
            case Sequence(children) | SetNode(children):
                how = "less" if isinstance(node, Sequence) else "any"
                found = [self.down(c, (*at, k), name, point, (*way, (how, k)), above) for k, c in enumerate(children)]
                return next((w for w in found if w is not None), None)
        raise TypeError(type(node).__name__)

    def before(self, x, y):
        for (how, a), (_, b) in zip(self.way[x], self.way[y]):
            if a != b:
                return how == "less" and a < b
        return False


def points(s, params):
    known = {p: v for p, v in params.items() if p in s.param_names}
    return [(space.out.name, p) for space, _ in s.parts for p in s.only(space.out.name).points(**known)]


def pairs(m, params):
    """The pairs of a map, each of them (name, point)."""
    known = {p: v for p, v in params.items() if p in m.param_names}
    out = set()
    for space, pieces in m.parts:
        n = len(space.inp.dims)
        for p in m._of(m.param_names, [(space, pieces)]).wrap().points(**known):
            out.add(((space.inp.name, p[:n]), (space.out.name, p[n:])))
    return out


def between(m, ways):
    """The pairs of a map whose two instances run."""
    domain = ways.schedule.domain
    inside = [m.only(n).intersect_domain(domain.only(n)) for n in m.tuple_names]
    out = set()
    for part in inside:
        (sink,) = {s.out.name for s, _ in part.parts}
        found = pairs(part.intersect_range(domain.only(sink)), ways.params)
        out |= {(x, y) for x, y in found if x in ways.way and y in ways.way}
    return out


def holds(s, point, params):
    return s.contains(point, **{p: v for p, v in params.items() if p in s.param_names})


def inside(s, name, point, params):
    return name in s.tuple_names and holds(s.only(name), point, params)


@dataclass
class Flow:
    """Dataflow by its definition."""

    ways: Ways
    sinks: set
    sure: set
    possible: set = field(default_factory=set)
    kills: set = field(default_factory=set)

    def at(self, accesses):
        """The instances that touch an element, by element."""
        out = defaultdict(set)
        for x, e in accesses:
            if x in self.ways.way:
                out[e].add(x)
        return out

    @cached_property
    def found(self):
        before = self.ways.before
        must, may, surely_none, perhaps_none = set(), set(), set(), set()
        sure, possible, kills = self.at(self.sure), self.at(self.possible), self.at(self.kills)
        for e, sinks in self.at(self.sinks).items():
            hiding = sure[e] | kills[e]
            for x in sinks:
                earlier = {s for s in sure[e] | possible[e] | kills[e] if before(s, x)}
                seen = {s for s in earlier if not any(h in earlier and before(s, h) for h in hiding)}
                sources = seen & (sure[e] | possible[e])
                certain = {s for s in sources & sure[e] if all(before(m, s) for m in seen - {s})}
                may |= {(s, x) for s in sources}
                must |= {(s, x) for s in certain}
                if not earlier & hiding:
                    perhaps_none.add((x, e))
                if not earlier:
                    surely_none.add((x, e))
        return {"must": must, "may": may, "must_no_source": surely_none, "may_no_source": perhaps_none}
