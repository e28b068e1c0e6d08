"""When the instances of a schedule tree run.

The members of the bands above a node, outermost first, give each instance that reaches it a prefix of its time; a
context, guard, extension or isolated part speaks of the values of these members. Read to the leaves, with the position
of each child of a sequence put between, that is the schedule as one map, `to_map`: an instance runs before another
where its time is lexicographically smaller.
"""

from __future__ import annotations

from collections.abc import Iterable

from polyvolta.sched.cases import Cases
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.nodes import Band, Expansion, Extension, Filter, Leaf, Node, Path, Sequence, SetNode
from polyvolta.sched.structure.expansion import contracted
from polyvolta.sched.structure.reach import declared, instances_at, names_of, of_groups, way
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, aff


def prefix(schedule: Schedule, at: Path) -> dict[str, tuple[Aff, ...]]:
    """For each statement that reaches a node the expressions of the members above it.

    An instance that an extension adds gets the members' values as expressions of its own.

    Raises
    ------
    BadPath : the path leaves the tree.
    BadSchedule : a band above has no expression for a statement that has instances.
    NotAFunction : an extension adds an instance for several values of the members above; `prefix_schedule` has them.
    """
    found: dict[str, tuple[Aff, ...]] = dict.fromkeys(names_of(declared(schedule)), ())
    for depth, node in enumerate(way(schedule, at)[:-1]):
        match node:
            case Filter(statements):
                found = {s: es for s, es in found.items() if s in statements}
            case Extension(extension):
                for space, pieces in extension.parts:
                    added = Map._of(extension.param_names, [(space, pieces)]).reverse()
                    found[str(space.out.name)] = added.as_affs() if space.n_in else ()
            case Expansion(contraction):
                above, below = (instances_at(schedule, at[: depth + k]) for k in (0, 1))
                found = contracted(found, contraction, above, below)
            case Band() if node.members:
                for s in sorted(set(found).difference(node.statements)):
                    _without_place(s, instances_at(schedule, at[:depth]).only(s))
                    del found[s]
                found = {s: es + node.schedule(s) for s, es in found.items()}
    return found


def _without_place(statement: str, instances: Set | Map) -> None:
    """Refuse a statement of which a band has no expression, unless it has no instances."""
    if not instances.is_empty():
        raise BadSchedule(f"a band has no expression for {statement}", hint="check_structure() shows where")


def prefix_schedule(schedule: Schedule, at: Path) -> Map:
    """The instances that reach a node -> the values of the members above it; instances that an extension adds get the
    values for which it adds them. Exact; cost: linear in the tree, besides the sets.

    Raises
    ------
    BadPath : the path leaves the tree.
    """
    schedule.node(at)
    times = _Times(schedule, positions=False)
    node = schedule.root
    for k in at:
        times = times.through(node, None)
        node = node.children[k]
    return times.map()


def to_map(schedule: Schedule) -> Map:
    """The whole tree as one map, instances -> time: the values of the band members with the positions of the children
    of sequences and sets (where there are several) between them, padded with zeros at the end to one length.

    A set's children may run in any order; their positions are one of them. Conditions that guards add are no part of
    the order. Exact; cost: linear in the tree, besides the sets.

    >>> tree = Schedule.parse('''{ domain: "{ S[i] : 0 <= i < 8; T[] }", child: { sequence: [
    ...     { filter: "{ T[] }" }, { filter: "{ S[i] }", child: { schedule: "[{ S[i] -> [(i)] }]" } } ] } }''')
    >>> print(tree.to_map())
    { T[] -> [0, 0]; S[i] -> [1, i] : 0 <= i <= 7 }
    """
    leaves: list[_Times] = []

    def walk(node: Node, times: _Times) -> None:
        if isinstance(node, Leaf):
            leaves.append(times)
        for k, child in enumerate(node.children):
            walk(child, times.through(node, k if len(node.children) > 1 else None))

    walk(schedule.root, _Times(schedule, positions=True))
    length = max(len(t.layout) for t in leaves)
    return _united([t.padded(length).map() for t in leaves])


class _Times:
    """The times so far of the instances that reach a node: statement -> map to (members and positions above)."""

    __slots__ = ("layout", "maps", "positions", "tuples")

    def __init__(self, schedule: Schedule, positions: bool) -> None:
        self.positions = positions
        self.layout: tuple[int | None, ...] = ()  # None for a member, else the position
        self.maps: dict[str, Map] = {}
        self.tuples: dict[str, Tuple] = {}
        if isinstance(schedule.root, Extension):  # whose inputs are members above that nobody knows yet
            self.layout = (None,) * max((s.n_in for s, _ in schedule.root.extension.parts), default=0)
        for s, cs in (there := declared(schedule)).parts:
            self._add(s.out, Map.from_affs(s.out, ()).intersect_domain(Set._of(there.param_names, [(s, cs)])))

    def _add(self, tup: Tuple, times: Map) -> None:
        """The times of a statement, whose iterators the tree calls as its declaration does; a map's may lose primes."""
        if tup.name is not None:
            self.maps[tup.name], self.tuples[tup.name] = times, tup

    def _with(self, maps: dict[str, Map], layout: tuple[int | None, ...]) -> _Times:
        new = object.__new__(_Times)
        new.positions, new.maps, new.layout, new.tuples = self.positions, maps, layout, dict(self.tuples)
        return new

    def through(self, node: Node, position: int | None) -> _Times:
        """The times below a node, in the child at `position` of a sequence."""
        match node:
            case Filter():
                maps = {s: m for s, m in self.maps.items() if s in node.statements}
                if node.instances is not None:
                    maps = {s: m.intersect_domain(node.instances.only(s)) for s, m in maps.items()}
                return self._with({s: m for s, m in maps.items() if m.parts}, self.layout)
            case Band() if node.members:
                for s in sorted(set(self.maps).difference(node.statements)):
                    _without_place(s, self.maps[s])
                maps = {s: self._then(m, s, node.schedule(s)) for s, m in self.maps.items() if s in node.statements}
                return self._with(maps, self.layout + (None,) * len(node.members))
            case Sequence() | SetNode() if position is not None and self.positions:
                return self.then(position)
            case Expansion(_, expansion):
                new = self._with({}, self.layout)
                for space, pieces in of_groups(expansion, self.maps).parts:
                    assert space.inp is not None
                    one = Map._of(expansion.param_names, [(space, pieces)]).reverse()
                    own = str(space.out.name)
                    times = one.apply_range(self.maps[str(space.inp.name)])
                    new._add(space.out, new.maps[own] | times if own in new.maps else times)
                return new
            case Extension(extension):
                new = self._with(dict(self.maps), self.layout)
                names = [f"c{k}" for k in range(sum(p is None for p in self.layout))]
                members = iter(names)
                outputs = [aff(next(members)) if p is None else aff(p) for p in self.layout]
                spread = Map.from_affs(Tuple(None, tuple(names)), outputs)
                for space, pieces in extension.parts:
                    one = Map._of(extension.param_names, [(space, pieces)])
                    new._add(space.out, one.reverse().apply_range(spread))
                return new
        return self

    def _then(self, m: Map, statement: str, affs: Iterable[Aff]) -> Map:
        tup, affs = self.tuples[statement], list(affs)
        if not any(isinstance(e, Cases) for e in affs):
            return m.flat_range_product(Map.from_affs(tup, [e.without_xor() for e in affs]))
        for e in affs:
            pieces = e.pieces if isinstance(e, Cases) else ((m.domain(), e),)
            parts = [Map.from_affs(tup, [f.without_xor()]).intersect_domain(when) for when, f in pieces]
            m = m.flat_range_product(_united(parts))
        return m

    def then(self, position: int) -> _Times:
        maps = {s: self._then(m, s, [aff(position)]) for s, m in self.maps.items()}
        return self._with(maps, (*self.layout, position))

    def padded(self, length: int) -> _Times:
        times = self
        while len(times.layout) < length:
            times = times.then(0)
        return times

    def map(self) -> Map:
        """All of them in one map."""
        return _united(list(self.maps.values()))


def _united(maps: list[Map]) -> Map:
    total = maps[0] if maps else Map._of((), [])
    for m in maps[1:]:
        total = total | m
    return total


def padded(times: Map) -> Map:
    """A map to time vectors with the shorter ones filled up with zeros; linear.

    >>> print(padded(Map("{ S[i] -> [i]; T[] -> [3, 1] }")))
    { S[i] -> [i, 0]; T[] -> [3, 1] }
    """
    length = max((s.n_out for s, _ in times.parts), default=0)
    out = Map._of(times.param_names, [])
    for space, pieces in times.parts:
        one = Map._of(times.param_names, [(space, pieces)])
        if space.inp is not None and space.n_out < length:
            zeros = [aff(0)] * (length - space.n_out)
            one = one.flat_range_product(Map.from_affs(space.inp, zeros))
        out = out | one
    return out
