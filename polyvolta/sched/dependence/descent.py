"""The way of pairs of instances down a schedule tree: where they part, and where they part wrongly.

What is asked of it, and what the answers mean, is said in `polyvolta.sched.legality`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import cast

from polyvolta.display.shown import Shown
from polyvolta.sched.by_cases import by_cases, parted_relation
from polyvolta.sched.dependence.given import fitting
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.dependence.order import Clock, clocks, parameters, preimage
from polyvolta.sched.dependence.pairs import Pairs, Time, Timed, among
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.example import small_point
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
    Node,
    Path,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sets import Aff, Map, Set
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.space import Space, Tuple


@dataclass(frozen=True, slots=True)
class Violation(Shown):
    """Two instances that a schedule runs in the wrong order.

    Parameters
    ----------
    dependence : what demands that `source` runs before `sink`.
    source, sink : the instances, such as "S[0, 0, 1]".
    params : the values of the parameters, by name.
    at : the node where the order goes wrong.
    member : if that is a band, the member.
    why : how they run instead, in a few words.

    >>> from polyvolta.sched import dependences, nest, violations
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> from dataclasses import replace
    >>> tree = chain.schedule
    >>> band = tree.band((0,))
    >>> backwards = replace(band.members[0], exprs=(("S", -band.members[0].of("S")),))
    >>> wrong, *_ = violations(tree.replace((0,), replace(band, members=(backwards,))), dependences(chain))
    >>> wrong.source, wrong.sink, wrong.at
    ('S[1]', 'S[2]', (0,))
    """

    dependence: Dependence
    source: str
    sink: str
    params: tuple[tuple[str, int], ...]
    at: Path
    member: int | None = None
    why: str = ""

    def __str__(self) -> str:
        d = self.dependence
        where = ", ".join(f"{n} = {v}" for n, v in self.params)
        of = f"{d.kind} dependence on {d.array}" if d.array else d.kind
        return f"{self.source} must run before {self.sink} ({of}), but {self.why}" + f" (for {where})" * bool(where)

    def _html(self) -> str:
        from polyvolta.display.page import said

        return said(str(self), "bad") + self.dependence._html()


@dataclass(slots=True)
class Descent:
    """The way down one tree."""

    schedule: Schedule
    dependences: Iterable[Dependence] | Map | None
    context: Set | None
    params: tuple[str, ...] = ()
    iterators: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pending: list[Pairs] = field(default_factory=list)
    whole: dict[Dependence, Dependence] = field(default_factory=dict)  # of a statement's cases -> as it was given

    def __post_init__(self) -> None:
        given = self.dependences if self.dependences is not None else self.schedule.dependences or ()
        split = by_cases(self.schedule.root)
        if split is not None:
            fits = fitting(given, {s.out.name or "": s.out.dims for s, _ in self.schedule.domain.parts})
            self.schedule = replace(self.schedule, root=split.root)
            for d in fits:
                for source, sink, relation in parted_relation(d.relation, split.cells, d.source, d.sink):
                    self.whole[replace(d, source=source, sink=sink, relation=relation)] = d
            given = tuple(self.whole)
        domain = self.schedule.domain
        self.iterators = {s.out.name or "": s.out.dims for s, _ in domain.parts}
        deps = fitting(given, self.iterators)
        known = () if self.context is None else self.context.param_names
        named = [*parameters(self.schedule), *known, *[p for d in deps for p in d.relation.param_names]]
        self.params = tuple(dict.fromkeys(named))
        for d in deps:
            relation = d.relation.align_params(self.params)
            if self.context is not None:
                relation = relation.intersect_params(self.context).align_params(self.params)
            self.pending += [Pairs(d, c) for _, cs in relation.parts for c in cs]
        self.pending = self.within(self.pending, domain)

    # ---- the walk

    def down(
        self, node: Node, at: Path, pending: list[Pairs], times: dict[str, tuple[Aff, ...]]
    ) -> Iterator[Violation]:
        """The violations at a node and below it of pairs that arrive there with equal times."""
        if not pending:
            return
        match node:
            case Leaf():
                for d, pairs in _grouped(pending):
                    yield from self.violation(d, pairs, at, None, "both run at the same time")
            case Band():
                left = pending
                for k, member in enumerate(node.members):
                    timed = self.timed(left, member)
                    yield from self.against(timed, member, at, k)
                    left = [z for t in timed if (z := t.equal()) is not None]
                if left:
                    yield from self.down(node.child, (*at, 0), left, _later(times, node))
            case Sequence() | SetNode():
                yield from self.parting(node, at, pending, times)
            case _:
                yield from self.down(node.child, (*at, 0), self.passing(node, pending, times), times)

    def reaching(self, at: Path) -> list[Pairs]:
        """The pairs with equal times in all that stands above a node."""
        node, pending, times = self.schedule.root, self.pending, {}
        for k in at:
            match node:
                case Band():
                    for member in node.members:
                        pending = [z for t in self.timed(pending, member) if (z := t.equal()) is not None]
                    times = _later(times, node)
                case Sequence() | SetNode():
                    pending = self.going(pending, node.children[k], node.children[k])
                case _:
                    pending = self.passing(node, pending, times)
            node = node.children[k]
        return [p for p in pending if not p.conjunct.is_empty]

    def passing(self, node: Node, pending: list[Pairs], times: dict[str, tuple[Aff, ...]]) -> list[Pairs]:
        """The pairs that go on below a node with one child that is no band."""
        match node:
            case Domain() | Mark() | Extension():
                return pending
            case Filter():
                return self.going(pending, node, node)
            case Context(known) | Guard(known):
                return self.within(pending, self.instances(known, times))
        raise TypeError(type(node).__name__)

    def parting(
        self, node: Sequence | SetNode, at: Path, pending: list[Pairs], times: dict[str, tuple[Aff, ...]]
    ) -> Iterator[Violation]:
        """The violations at and below a node with several children."""
        home: dict[str, list[int]] = {name: [] for name in self.iterators}
        for k, child in enumerate(node.children):
            gate = _gate(child)
            for name in self.iterators if gate is None else gate.statements:
                home.setdefault(name, []).append(k)
        ways: dict[tuple[int, int], list[Pairs]] = {}
        for p in pending:
            for way in product(home[p.dependence.source], home[p.dependence.sink]):
                ways.setdefault(way, []).append(p)
        for a, b in sorted(ways):
            if a < b and isinstance(node, Sequence):
                continue
            pairs = self.going(ways[a, b], node.children[a], node.children[b])
            if a == b:
                yield from self.down(node.children[a], (*at, a), pairs, times)
                continue
            why = "the sequence runs them the other way round" if a > b else ""
            if isinstance(node, SetNode):
                why = "the children of a set run in any order"
            for d, group in _grouped(pairs):
                yield from self.violation(d, group, at, None, why)

    def against(self, timed: list[Timed], member: Member, at: Path, k: int) -> Iterator[Violation]:
        """The violations in one member of a band."""
        why = f"member {k} of the band runs them the other way round"
        if member.name is not None:
            why = f"member {k}, mapped to {member.name}, runs them at once"
        signs = (-1,) if member.name is None else (-1, 1)
        wrong = [[w for t in timed if (w := t.signed(sign)) is not None] for sign in signs]
        if not any(wrong):
            return
        for d in {id(t.pairs.dependence): t.pairs.dependence for t in timed}.values():
            for some in wrong:
                told = list(self.violation(d, [w for w in some if w.dependence is d], at, k, why))
                yield from told
                if told:
                    break

    # ---- pairs

    def timed(self, pending: Iterable[Pairs], member: Member) -> list[Timed]:
        """Pairs with the times that a member gives them.

        Raises
        ------
        BadSchedule : it has no expression for a statement.
        """
        iterators = self.iterators
        times: dict[str, Time] = {s: (iterators[s], cast("Aff", e)) for s, e in member.exprs if s in iterators}
        out = []
        for p in pending:
            d = p.dependence
            for statement in (d.source, d.sink):
                if statement not in times:
                    raise BadSchedule(f"a band has no expression for {statement}", where=str(self.schedule))
            out.append(Timed(p, self.params, times[d.source], times[d.sink]))
        return out

    def going(self, pending: list[Pairs], first: Node, second: Node) -> list[Pairs]:
        """The pairs whose source goes by way of one child and whose sink by way of another."""
        a, b = _gate(first), _gate(second)
        pairs = [
            p
            for p in pending
            if (a is None or p.dependence.source in a.statements) and (b is None or p.dependence.sink in b.statements)
        ]
        if a is not None and a.instances is not None:
            pairs = self.within(pairs, a.instances, sinks=False)
        if b is not None and b.instances is not None:
            pairs = self.within(pairs, b.instances, sources=False)
        return pairs

    def within(self, pairs: list[Pairs], instances: Set, sources: bool = True, sinks: bool = True) -> list[Pairs]:
        """The pairs whose instances are in a set."""
        if not pairs:
            return []
        instances = instances.align_params(self.params)
        found = {s.out.name or "": cs for s, cs in instances.parts}
        head, out = len(self.params), []
        known: dict[tuple[str, str], list[list[Conjunct]]] = {}
        for p in pairs:
            source, sink = p.dependence.source, p.dependence.sink
            sides = known.get((source, sink))
            if sides is None:
                n = p.conjunct.n
                split = n - len(self.iterators[sink])
                ways = ((sources, source, range(head, split)), (sinks, sink, range(split, n)))
                sides = known[source, sink] = [
                    [cj.reindex(c, n, (*range(head), *places)) for c in found.get(name, ())]
                    for wanted, name, places in ways
                    if wanted
                ]
            out += [p if c is p.conjunct else replace(p, conjunct=c) for c in among(p.conjunct, sides)]
        return out

    def instances(self, known: Set, times: dict[str, tuple[Aff, ...]]) -> Set:
        """The instances whose times, the members above a node, are in a set."""
        parts = []
        for name, dims in self.iterators.items():
            clock = Clock(name, dims, ())
            parts.append((Space(None, Tuple(name, dims)), preimage(known, clock, times.get(name, ()), self.params)))
        return Set._of(self.params, parts)

    # ---- the example

    def violation(
        self, d: Dependence, pairs: list[Pairs], at: Path, member: int | None, why: str
    ) -> Iterator[Violation]:
        """One of the pairs, with small numbers, if there are any whose instances both run."""
        pairs = [p for p in pairs if not p.conjunct.is_empty]
        pieces = [p.conjunct for p in self.running(pairs) if not p.conjunct.is_empty] if pairs else []
        if pieces:
            point = small_point(pieces)
            n, split = len(self.params), len(self.params) + len(self.iterators[d.source])
            d = self.whole.get(d, d)
            source, sink = _instance(d.source, point[n:split]), _instance(d.sink, point[split:])
            yield Violation(d, source, sink, tuple(zip(self.params, point[:n], strict=True)), at, member, why)

    def running(self, pairs: list[Pairs]) -> list[Pairs]:
        """The pairs whose instances come to a leaf: no filter, guard or context further down excludes them."""
        parts = []
        for name, found in clocks(self.schedule, self.params).items():
            space, n = Space(None, Tuple(name, self.iterators[name])), len(self.params) + len(self.iterators[name])
            parts += [(space, (cj.universe(n),) if c.instances is None else c.instances) for c in found]
        return self.within(pairs, Set._of(self.params, parts))


def _instance(statement: str, values: Iterable[int]) -> str:
    return f"{statement}[{', '.join(map(str, values))}]"


def _gate(node: Node) -> Filter | None:
    """The filter at the head of a branch."""
    while isinstance(node, Mark):
        node = node.child
    return node if isinstance(node, Filter) else None


def _later(times: dict[str, tuple[Aff, ...]], band: Band) -> dict[str, tuple[Aff, ...]]:
    return {**times, **{s: (*times.get(s, ()), *band.schedule(s)) for s in band.statements}}


def _grouped(pairs: Iterable[Pairs]) -> list[tuple[Dependence, list[Pairs]]]:
    """By dependence, in order."""
    groups: dict[int, tuple[Dependence, list[Pairs]]] = {}
    for p in pairs:
        groups.setdefault(id(p.dependence), (p.dependence, []))[1].append(p)
    return list(groups.values())
