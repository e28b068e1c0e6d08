"""Random schedule trees, decoded from bytes: a zero byte always means the simplest choice.

One to three statements of no to three dimensions; domains with parametric and triangular bounds, strides, floors,
equalities, alternatives, perhaps empty; bands of any quasi-affine expressions, injective or not, tiled or not, with
loop types and isolated parts; sequences and sets of filters, which split statements or instances; marks, guards,
contexts that hold, extensions. A tree is kept small enough to be enumerated.
"""

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sets import Map, Set, aff, var
from tests.sched.loops.oracle import Meaning
from tests.sets.draw import Source

LENGTH = 160
LARGEST = 500  # instances of a tree that is run


@dataclass(frozen=True)
class Statement:
    """A statement on its way down the tree: its instances so far as a formula, and the members above."""

    name: str
    dims: tuple[str, ...]
    where: str
    prefix: tuple = ()
    added: bool = False  # by an extension


@dataclass(frozen=True)
class Drawn:
    """A tree, the values of the parameters at which it is run, and what it means there."""

    schedule: Schedule
    context: Set
    values: tuple[dict, ...]
    meanings: tuple[Meaning, ...]

    def __repr__(self):
        return f"{self.schedule}\ncontext {self.context}\nat {list(self.values)}"


@dataclass
class Hand:
    """What draws a tree."""

    source: Source
    params: tuple[str, ...]
    rich: bool = True  # whether guards, extensions and the like are drawn
    extensions: int = 0
    indices: int = 0
    domains: list = field(default_factory=list)

    @property
    def head(self):
        return f"[{', '.join(self.params)}] -> " if self.params else ""

    # ---- expressions and formulas

    def expression(self, names, depth=1):
        """A quasi-affine expression with small numbers."""
        s = self.source
        if not names:
            return aff(s.of((0, 1, -1, 2))) + (var(s.of(self.params)) if self.params and s.below(4) == 3 else 0)
        a = var(s.of(names))
        kind = s.below(10) if depth else s.below(5)
        if kind < 2:
            return a
        if kind == 2:
            return a * s.of((-1, 2, 3, -2)) + s.of((0, 1, -1, 3))
        b = var(s.of((*names, *self.params)))
        if kind == 3:
            return a * s.of((1, 1, 2, -1, 3, -2)) + b * s.of((1, -1, 2)) + s.of((0, 1, -1))
        if kind == 4:
            return a + s.of((1, -1, 5)) if s.below(3) else aff(s.of((0, 1, 2)))
        inner = self.expression(names, depth - 1)
        d = s.of((2, 3, 4))
        if kind in (5, 6):
            return inner // d
        if kind == 7:
            return inner % d
        if kind == 8:
            return inner - d * (inner // d) + s.of((0, 1))
        return d * (inner // d) + b * s.of((0, 1, -1))

    def atom(self, names):
        """A comparison."""
        s = self.source
        e = self.expression(names)
        kind = s.below(6)
        if kind == 0:
            return f"{e} >= {s.of((0, 1, 2, -1))}"
        if kind == 1:
            return f"{e} <= {s.of((3, 2, 1, 4, 0))}"
        if kind == 2:
            d = s.of((2, 3))
            return f"({e}) mod {d} = {s.below(d)}"
        if kind == 3:
            return f"{e} = {s.of((0, 1, 2))}"
        if kind == 4:
            return f"{e} != {s.of((1, 0, 2))}"
        return f"{e} <= {self.expression((*names, *self.params), 0)}"

    def formula(self, names):
        """A condition: a comparison, or two of them."""
        a = self.atom(names)
        kind = self.source.below(6)
        if kind < 3:
            return a
        return f"({a} {'or' if kind == 5 else 'and'} {self.atom(names)})"

    def domain(self, dims):
        """A bounded formula on some dimensions."""
        s = self.source
        parts = []
        for k, d in enumerate(dims):
            outer = (*dims[:k], *self.params)
            kind = s.below(9) if outer else s.below(3)
            o = s.of(outer) if outer else ""
            width = s.of((3, 2, 5, 1, 4)) if len(dims) < 3 else s.of((2, 3, 1))
            low = s.of((0, 0, 1, -2))
            parts.append(
                (
                    f"{low} <= {d} <= {low + width}",
                    f"0 <= {d} <= {width}",
                    f"{low} <= 2*{d} <= {width + 3}",
                    f"{low} <= {d} < {o}",
                    f"{o} <= {d} <= {o} + {width - 1}",
                    f"0 <= {d} <= {o}",
                    f"{o} - 1 <= {d} <= {width}",
                    f"{low} <= 2*{d} and 2*{d} < {o} + 2",
                    f"{o} <= 2*{d} <= {o} + {width + 1}",
                )[kind]
            )
        names = (*dims, *self.params)
        if names:
            parts += [self.atom(names) for _ in range(s.of((0, 0, 0, 1, 1, 2)))]
        if s.below(24) == 23:
            parts.append("false")
        return " and ".join(parts) or "true"

    def statement(self, name):
        s = self.source
        dims = ("i", "j", "k")[: s.of((2, 1, 2, 1, 3, 0))]
        where = self.domain(dims)
        if s.below(6) == 5:
            where = f"(({where}) or ({self.domain(dims)}))"
        return Statement(name, dims, where)

    # ---- nodes

    def node(self, active, depth):
        """A subtree for the statements that are on their way."""
        s = self.source
        if depth == 0 or not active:
            return Leaf()
        plain = ("band", "leaf", "band", "sequence", "band", "band", "sequence", "filter", "set")
        kinds = (*plain, *plain, "mark", "guard", "extension", "context", "guard") if self.rich else plain
        rank = len(active[0].prefix)
        kind = s.of(kinds)
        if kind == "leaf" and not rank and s.below(8):  # most trees have a band
            kind = "band"
        if rank >= 5 and kind == "band":
            kind = "sequence"
        match kind:
            case "leaf":
                return Leaf()
            case "band":
                return self.band(active, depth)
            case "sequence" | "set":
                return self.branches(active, depth, Sequence if kind == "sequence" else SetNode)
            case "filter":
                return self.branches(active, depth, Sequence)
            case "mark":
                return Mark(s.of(("here", "kernel")), self.node(active, depth - 1))
            case "guard":
                guard = Set(f"{self.head}{{ [{', '.join(_names(rank))}] : {self.guard(rank)} }}")
                return Guard(guard, self.node(active, depth - 1))
            case "context":  # its set is found when the tree is there
                return Context(Set(f"{self.head}{{ [{', '.join(_names(rank))}] }}"), self.node(active, depth - 1))
            case "extension":
                return self.extension(active, depth)

    def guard(self, rank):
        names = (*_names(rank), *self.params)
        return self.formula(names) if names else "true"

    def band(self, active, depth):
        s = self.source
        members = [
            Member(
                tuple((a.name, self.expression(a.dims)) for a in active),
                coincident=s.below(4) == 3,
                loop_type=self.loop_type(),
            )
            for _ in range(s.of((1, 2, 1, 2, 3)))
        ]
        tiles = s.of((None, None, None, 2, 3, 4))
        if tiles is not None:
            point = s.of(("mod", "all"))
            members = [m.map(lambda _, e: e // tiles) for m in members] + [
                m.map(lambda _, e: e % tiles if point == "mod" else e) for m in members
            ]
            members = [self.finite(m, k >= len(members) // 2) for k, m in enumerate(members)]
        members = [self.mapped(m) for m in members]
        below = tuple(replace(a, prefix=(*a.prefix, *(m.of(a.name) for m in members))) for a in active)
        rank = len(active[0].prefix)
        isolate = None
        if s.below(8) == 7:
            isolate = Set(
                f"{self.head}{{ [{', '.join(_names(rank + len(members)))}] : {self.isolated(rank, len(members))} }}"
            )
            if s.below(2):
                members = [replace(m, isolated_type=s.of(("separate", "atomic", "default"))) for m in members]
        split = s.below(2) and tiles is not None and isolate is None
        child = self.node(below, depth - 1)
        half = len(members) // 2
        if split:
            return Band(tuple(members[:half]), Band(tuple(members[half:]), child))
        return Band(tuple(members), child, False, isolate)

    def mapped(self, m):
        """The member as an index that is given, with values from 0 on, now and then."""
        s = self.source
        if not self.rich or m.loop_type != "default" or s.below(16) != 15:
            return m
        self.indices += 1
        d = s.of((2, 3, 4))
        return replace(m.map(lambda _, e: e % d), name=f"t{self.indices}", coincident=True)

    def loop_type(self):
        return self.source.of(("default",) * 9 + ("atomic", "separate", "separate"))

    def finite(self, m, point):
        """Unrolling is asked for of loops inside a tile alone."""
        return replace(m, loop_type="unroll") if point and self.source.below(8) == 7 else m

    def isolated(self, rank, members):
        """Bounds of some of a band's own members."""
        s = self.source
        parts = []
        for name in _names(rank + members)[rank:]:
            low = s.of((1, 0, 2))
            high = s.of((f"{name} <= {low + 2}", *(f"{name} + 1 <= {p}" for p in self.params)))
            parts += s.of(((f"{low} <= {name}", high), (high,), ()))
        return " and ".join(parts) or "true"

    def branches(self, active, depth, kind):
        """Filters that share out the instances: by statement, and some statements in two halves."""
        s = self.source
        shares = []
        for a in active:
            if a.dims and s.below(3) == 2:
                f = self.formula((*a.dims, *self.params))
                shares += [(a, f), (a, f"not ({f})")]
            else:
                shares.append((a, None))
        if len(shares) > 2 and s.below(2):  # two statements go the same way
            shares.sort(key=lambda _: s.below(5))
            groups = [shares[:2], *([x] for x in shares[2:])]
            if shares[0][0].name == shares[1][0].name:
                groups = [[x] for x in shares]
        else:
            groups = [[x] for x in shares]
            if len(groups) > 1 and s.below(2):
                groups.reverse()
        children = []
        for group in groups:
            some = None
            if any(f is not None for _, f in group):
                texts = [f"{a.name}[{', '.join(a.dims)}] : {f or 'true'}" for a, f in group]
                some = Set(f"{self.head}{{ {'; '.join(texts)} }}")
            below = tuple(replace(a, where=f"({a.where}) and ({f})") if f else a for a, f in group)
            children.append(Filter(tuple(a.name for a, _ in group), self.node(below, depth - 1), some))
        return kind(tuple(children))

    def extension(self, active, depth):
        """A new statement, some instances of it at every prefix that instances reach."""
        s = self.source
        self.extensions += 1
        name = f"X{self.extensions}"
        rank = len(active[0].prefix)
        p = _names(rank)
        extra = s.of(
            (f"0 <= x <= {s.of((1, 2, 0))}", *(f"{q} <= x <= {q} + {s.of((1, 2))}" for q in (*p, *self.params)))
        )
        shared = s.below(4) == 3  # the same instances again and again
        dims = ("x",) if shared else (*(f"y{k}" for k in range(rank)), "x")
        same = "" if shared else "".join(f" and {d} = {q}" for d, q in zip(dims, p))
        parts = []
        for a in active:
            if not a.added:
                there = " and ".join([f"({a.where})", *(f"{q} = {e}" for q, e in zip(p, a.prefix, strict=True))])
                there = f"(exists ({', '.join(a.dims)} : {there}))" if a.dims else there
                parts.append(f"[{', '.join(p)}] -> {name}[{', '.join(dims)}] : {there} and {extra}{same}")
        if not parts:
            return Leaf()
        added = Map(f"{self.head}{{ {'; '.join(parts)} }}")
        below = (*active, Statement(name, dims, "true", active[0].prefix, True))
        return Extension(added, self.branches(below, depth, Sequence) if s.below(4) else self.node(below, depth - 1))


def _names(rank):
    return tuple(f"p{k}" for k in range(rank))


VALUES = (3, 4, 1, 0, 6, 2, 5, -1)


def tree(data, rich=True):
    """The tree that some bytes stand for."""
    s = Source(data)
    params = s.of((("N",), ("N",), ("N", "M"), ()))
    hand = Hand(s, params, rich)
    active = tuple(hand.statement(name) for name in ("S", "T", "U")[: s.of((1, 2, 1, 2, 3))])
    chosen = [dict(zip(params, (s.of(VALUES) for _ in params))) for _ in range(3)]
    if not params:
        chosen = [{}]
    root = hand.node(active, s.of((3, 2, 4, 3, 5)))
    pieces = "; ".join(f"{a.name}[{', '.join(a.dims)}] : {a.where}" for a in active)
    schedule = Schedule(Domain(Set(f"{hand.head}{{ {pieces} }}"), root))
    found = [(v, Meaning(schedule, v)) for v in chosen]
    found = [(v, m) for v, m in found if m.order.size <= LARGEST] or found[:1]
    values, meanings = tuple(v for v, _ in found), tuple(m for _, m in found)
    plain, schedule = schedule, known(schedule, values, meanings, s)
    if schedule is not plain:  # that the contexts hold is checked
        meanings = tuple(Meaning(schedule, v) for v in values)
    bounds = [f"{p} >= {min(v[p] for v in values)}" for p in params if s.below(3) == 2]
    return Drawn(schedule, Set(f"{hand.head}{{ : {' and '.join(bounds)} }}"), values, meanings)


def known(schedule, values, meanings, s):
    """The tree with contexts that say something true of the values at which it is run: of all instances below the band
    above, so that it holds wherever loops may come."""
    for path, node in list(schedule.walk()):
        if isinstance(node, Context):
            above = max((at for at in schedule.bands() if at == path[: len(at)]), default=(), key=len)
            here = [prefix for m in meanings for prefix in m.reached.get((*above, 0), ())]
            columns = [*zip(*here, strict=True)] or [()] * len(node.context.space.dims)
            columns += [tuple(v[p] for v in values) for p in node.context.param_names]
            parts = []
            for name, column in zip((*node.context.space.dims, *node.context.param_names), columns, strict=True):
                if column:
                    low, high = f"{name} >= {min(column)}", f"{name} <= {max(column)}"
                    parts += s.of(((), (low,), (high,), (low, high)))
            head = f"[{', '.join(node.context.param_names)}] -> " if node.context.param_names else ""
            dims = ", ".join(node.context.space.dims)
            context = Set(f"{head}{{ [{dims}] : {' and '.join(parts)} }}")
            schedule = schedule.replace(path, Context(context, node.child))
    return schedule


def trees(rich=True):
    """Hypothesis' strategy for drawn trees."""
    return st.binary(min_size=LENGTH, max_size=LENGTH).map(lambda data: tree(data, rich))
