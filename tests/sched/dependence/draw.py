"""Random programs, read off bytes: small domains with parameters, trees of every kind of node, accesses to few arrays.

A zero byte is the simplest choice. A tree may be no order at all, instances may run at one time: dataflow and legality
have to be right about that, too.
"""

from dataclasses import dataclass

from hypothesis import strategies as st

from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.tree import Band, Context, Domain, Filter, Guard, Leaf, Mark, Member, Schedule, Sequence, SetNode
from polyvolta.sets import Map, Set, aff, var
from tests.sched.dependence.oracle import Ways
from tests.sets.draw import Source

LENGTH = 160
LARGEST = 40  # instances of a program: pairs of them are enumerated
ARRAYS = {"A": 1, "s": 0, "B": 2}
HEAD = "[N] -> "


@dataclass(frozen=True)
class Drawn:
    """A tree, accesses (sinks, sure and possible sources, kills), dependences, and the tree's instances at some N."""

    schedule: Schedule
    accesses: dict
    dependences: tuple
    ways: tuple

    def __repr__(self):
        lines = [f"{kind}: {m}" for kind, m in self.accesses.items()]
        lines += [str(d) for d in self.dependences]
        return "\n".join([str(self.schedule), *lines, f"at {[w.params for w in self.ways]}"])


class Hand:
    """What draws."""

    def __init__(self, source, rich):
        self.source, self.rich = source, rich

    def expression(self, dims):
        s = self.source
        if not dims:
            return aff(s.of((0, 1)))
        a, b = var(s.of(dims)), var(s.of((*dims, "N")))
        return s.of((a, a + 1, a - 1, a + b, aff(0), a - b, -a, 2 * a, a // 2, a % 2, b - a, 2 * a + b))

    def condition(self, dims):
        s = self.source
        if not dims:
            return s.of(("N >= 2", "true"))
        d, e = s.of(dims), s.of((*dims, "N"))
        return s.of((f"{d} >= 1", f"{d} <= {e}", f"{d} mod 2 = 0", f"{d} = 1", f"{d} != 1", f"2*{d} <= N", f"{e} < 3"))

    def statement(self, name):
        """(name, dims, domain)."""
        s = self.source
        dims = ("i", "j", "k")[: s.of((2, 1, 2, 1, 0, 2, 3))]
        parts = []
        for k, d in enumerate(dims):
            o = s.of((*dims[:k], "N"))
            parts.append(
                s.of((f"0 <= {d} < N", f"0 <= {d} <= {o}", f"{o} <= {d} <= N", f"1 <= {d} <= 3", f"0 <= {d} < 2"))
            )
        if s.below(5) == 4:
            parts.append(self.condition(dims))
        return name, dims, " and ".join(parts) or "true"

    # ---- trees

    def tree(self, active, depth):
        s = self.source
        if not depth:
            return self.band(active, 0) if s.below(4) else Leaf()
        kinds = ("band", "sequence", "band", "sequence", "set", "split") + ("mark", "guard", "leaf") * self.rich
        match s.of(kinds):
            case "band":
                return self.band(active, depth)
            case "sequence" | "set" as kind:
                groups = [[a] for a in active]
                if len(groups) > 2 and s.below(2):
                    groups = [[*groups[0], *groups[1]], *groups[2:]]
                if s.below(2):
                    groups.reverse()
                children = [Filter(tuple(a[0] for a in g), self.tree(g, depth - 1)) for g in groups]
                return (Sequence if kind == "sequence" else SetNode)(tuple(children))
            case "split":
                here, there = [], []
                for name, dims, _ in active:
                    c = self.condition(dims)
                    here.append(f"{name}[{', '.join(dims)}] : {c}")
                    there.append(f"{name}[{', '.join(dims)}] : not ({c})")
                names = tuple(a[0] for a in active)
                sets = [Set(f"{HEAD}{{ {'; '.join(texts)} }}") for texts in (here, there)]
                return Sequence(tuple(Filter(names, self.tree(active, depth - 1), some) for some in sets))
            case "mark":
                return Mark("here", self.tree(active, depth - 1))
            case "guard":
                node = s.of((Guard, Context))
                return node(Set(f"{HEAD}{{ [] : N >= {s.of((1, 2, 3))} }}"), self.tree(active, depth - 1))
        return Leaf()

    def band(self, active, depth):
        s = self.source
        kind = s.below(8)
        rows = {}
        for name, dims, _ in active:
            own = [var(d) for d in dims]
            if kind == 1 and own:  # permuted
                own = own[1:] + own[:1]
            if kind == 2 and own:  # skewed
                own[-1] = own[0] + own[-1]
            if kind == 3 and own:  # reversed
                own[0] = -own[0]
            if kind == 4:  # tiled
                own = [e // 2 for e in own] + [e % 2 for e in own]
            if kind == 5:
                own = [self.expression(dims)]
            if kind == 6:
                own = own[:1]
            rows[name] = own
        width = max((len(r) for r in rows.values()), default=0) or 1
        for r in rows.values():
            r += [aff(0)] * (width - len(r))
        mapped = s.below(width) if self.rich and s.below(6) == 5 else None
        members = [
            Member(tuple((name, r[k]) for name, r in rows.items()), name="blockIdx.x" if k == mapped else None)
            for k in range(width)
        ]
        return Band(tuple(members), self.tree(active, depth - 1) if depth else Leaf())

    # ---- accesses and dependences

    def access(self, name, dims):
        s = self.source
        array = s.of(("A", "s", "B", "A"))
        subscripts = [self.expression(dims) for _ in range(ARRAYS[array])]
        where = self.condition(dims) if s.below(5) == 4 else "true"
        if array == "A" and s.below(6) == 5:  # two elements at once
            return f"{name}[{', '.join(dims)}] -> A[a] : {subscripts[0]} <= a <= {subscripts[0]} + 1 and {where}"
        return f"{name}[{', '.join(dims)}] -> {array}[{', '.join(map(str, subscripts))}] : {where}"

    def accesses(self, active, some):
        found = [self.access(name, dims) for name, dims, _ in active for _ in range(self.source.of(some))]
        return Map(f"{HEAD}{{ {'; '.join(found)} }}")

    def dependence(self, source, sink):
        """A relation between two statements: some distances, or anything later."""
        s = self.source
        (a, xs, _), (b, ys, _) = source, sink
        later = tuple(f"{y}1" for y in ys)
        parts = []
        for k, y in enumerate(later):
            e = xs[k] if k < len(xs) else s.of((*xs, "N"))
            parts.append(s.of((f"{y} = {e}", f"{y} = {e} + 1", f"{y} > {e}", f"{y} = {e} - 1", f"{y} >= {e}", "true")))
        if a == b:
            parts.append("(" + (" or ".join(f"{x} != {y}" for x, y in zip(xs, later, strict=True)) or "false") + ")")
        parts += [f"-8 <= {x} <= 8" for x in (*xs, *later)]
        text = f"{a}[{', '.join(xs)}] -> {b}[{', '.join(later)}] : {' and '.join(parts) or 'true'}"
        return Dependence("RAW", "A", a, b, Map(f"{HEAD}{{ {text} }}"))


def program(data, rich=True):
    """The program that some bytes stand for."""
    hand = Hand(Source(data), rich)
    s = hand.source
    active = [hand.statement(name) for name in ("S", "T", "U")[: s.of((1, 2, 1, 2, 3))]]
    text = "; ".join(f"{name}[{', '.join(dims)}] : {where}" for name, dims, where in active)
    schedule = Schedule(Domain(Set(f"{HEAD}{{ {text} }}"), hand.tree(active, s.of((1, 2, 0, 3)))))
    table = {
        "sinks": hand.accesses(active, (1, 2)),
        "must": hand.accesses(active, (1, 1, 2)),
        "may": hand.accesses(active, (0, 0, 1)),
        "kills": hand.accesses(active, (0, 0, 0, 1)),
    }
    table = {k: m.intersect_domain(schedule.domain) if m.parts else m for k, m in table.items()}
    found = tuple(hand.dependence(s.of(active), s.of(active)) for _ in range(2))
    ways = [Ways(schedule, {"N": n}) for n in (2, 4, 3, 1)]
    return Drawn(schedule, table, found, tuple([w for w in ways if len(w.way) <= LARGEST][:2]))


def programs(rich=True):
    """Hypothesis' strategy for drawn programs."""
    return st.binary(min_size=LENGTH, max_size=LENGTH).map(lambda data: program(data, rich))
