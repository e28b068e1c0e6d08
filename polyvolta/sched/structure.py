"""What a place in a schedule tree means, and whether a tree is a schedule at all.

The instances that reach a node are those of the domain that all filters above let through, and those that extensions
above add. The members of the bands above it, outermost first, give each of them a prefix of its time; a context, guard,
extension or isolated part speaks of the values of these members. Read to the leaves, with the position of each child of
a sequence put between, that is the schedule as one map, `to_map`: an instance runs before another where its time is
lexicographically smaller.

`check_structure` refuses trees that leave an instance without a place or give it two. The passes keep these laws; trees
written by hand or by other programs may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import ParamSpec, TypeVar

from polyvolta.sched.cases import Cases
from polyvolta.sched.errors import BadArgument, BadSchedule
from polyvolta.sched.example import example
from polyvolta.sched.nodes import (
    Band,
    Context,
    Domain,
    Expansion,
    Extension,
    Filter,
    Guard,
    Leaf,
    Node,
    Path,
    Sequence,
    SetNode,
    relations,
)
from polyvolta.sched.passes.mapping.expansion import contracted
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, aff, nearest
from polyvolta.sets.errors import kind_of

P = ParamSpec("P")
T = TypeVar("T")


# ---- what is a tree


def need_schedule(given: object, doing: str, more: str = ", ...") -> None:
    """Refuse what is no tree.

    Parameters
    ----------
    doing : the function that takes one.
    more : what it takes besides, for the hint.

    Raises
    ------
    BadArgument : it is something else; a program has two trees to take.
    """
    if not isinstance(given, Schedule):
        hint = "schedule(program) and Schedule.parse(text) make one"
        if hasattr(given, "schedule"):
            written, better = f"{doing}(program.schedule{more})", f"{doing}(schedule(program){more})"
            hint = f"{written} is of the order as written, {better} of a better one"
        raise BadArgument(f"{doing} takes a Schedule, not {kind_of(given)}", hint=hint)


def of_a_tree(f: Callable[P, T]) -> Callable[P, T]:
    """The function, whose first argument, `schedule`, is refused where it is none.

    Raises
    ------
    BadArgument : see `need_schedule`.
    """

    @wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if args or "schedule" in kwargs:
            need_schedule(args[0] if args else kwargs["schedule"], f.__name__)
        return f(*args, **kwargs)

    return call


# ---- places


def way(schedule: Schedule, at: Path) -> list[Node]:
    """The nodes from the root down to the one at a path, that one included.

    Raises
    ------
    BadPath : the path leaves the tree.
    """
    schedule.node(at)
    nodes = [schedule.root]
    for k in at:
        nodes.append(nodes[-1].children[k])
    return nodes


def declared(schedule: Schedule) -> Set:
    """The instances that are there at the root: none above an extension, of a tree that is to be grafted."""
    return Set._of((), []) if isinstance(schedule.root, Extension) else schedule.domain


def statements_at(schedule: Schedule, at: Path) -> tuple[str, ...]:
    """The statements that reach a node."""
    found = names_of(declared(schedule))
    for node in way(schedule, at)[:-1]:
        match node:
            case Filter(statements):
                found = tuple(s for s in found if s in statements)
            case Extension(extension):
                found += names_of(extension)
            case Expansion(_, expansion):
                found = names_of(_expanded(expansion, found))
    return found


def instances_at(schedule: Schedule, at: Path) -> Set:
    """The instances that reach a node. Cost: one intersection for each filter above that has a set."""
    found = declared(schedule)
    for node in way(schedule, at)[:-1]:
        match node:
            case Filter():
                found = passed(found, node)
            case Extension(extension):
                found = found | added_by(extension)
            case Expansion(_, expansion):
                found = expansion_of(found, expansion)
    return found


def expansion_of(found: Set, expansion: Map) -> Set:
    """What the groups among some instances stand for."""
    here = _expanded(expansion, names_of(found))
    return added_by(here.intersect_domain(found)) if here.parts else Set._of((), [])


def _expanded(expansion: Map, groups: Iterable[str]) -> Map:
    """The expansion of some groups."""
    wanted = set(groups)
    return Map._of(expansion.param_names, [p for p in expansion.parts if p[0].source.name in wanted])


def added_by(extension: Map) -> Set:
    """The instances that an extension adds, with their iterators called as there: the range may lose primes."""
    own = {s.out.name: s.out for s, _ in extension.parts}
    there = extension.range()
    return Set._of(there.param_names, [(replace(s, out=own[s.out.name]), cs) for s, cs in there.parts])


def passed(instances: Set, node: Filter) -> Set:
    """The instances that a filter lets through."""
    found = only(instances, node.statements)
    return found if node.instances is None else found & node.instances


def only(instances: Set, statements: Iterable[str]) -> Set:
    """The instances of some statements."""
    wanted = set(statements)
    return Set._of(instances.param_names, [p for p in instances.parts if p[0].out.name in wanted])


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
            case Band():
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
    values for which it adds them. Exact; cost: linear in the tree, besides the sets."""
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
            case Band():
                for s in sorted(set(self.maps).difference(node.statements)):
                    _without_place(s, self.maps[s])
                maps = {s: self._then(m, s, node.schedule(s)) for s, m in self.maps.items() if s in node.statements}
                return self._with(maps, self.layout + (None,) * len(node.members))
            case Sequence() | SetNode() if position is not None and self.positions:
                return self.then(position)
            case Expansion(_, expansion):
                new = self._with({}, self.layout)
                for space, pieces in _expanded(expansion, self.maps).parts:
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


def counted(n: int, what: str) -> str:
    """How many there are, for a message.

    >>> counted(1, "member"), counted(0, "member")
    ('1 member', '0 members')
    """
    return f"{n} {what}{'s' * (n != 1)}"


def names_of(instances: Set | Map) -> tuple[str, ...]:
    """The statements that a set has instances of, or that an extension adds; "" for a tuple without a name."""
    return tuple(dict.fromkeys(s.out.name or "" for s, _ in instances.parts))


# ---- whether a tree is a schedule


def check_structure(schedule: Schedule) -> None:
    """Refuse a tree that is no schedule; see `Schedule.check_structure`.

    A filter that is no child of a sequence or set narrows on purpose (PPCG's say which instances a thread runs), so
    what it drops is not missed; nor is what a child drops for some values of parameters that it alone speaks of, as isl
    writes such a filter with that of the child around it.

    Cost: linear in the tree, and a subtraction for each filter that has a set.
    """
    _Check(schedule).node(schedule.root, (), Set._of((), []), {}, 0)


class _Check:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.iterators: set[str] = set()  # of any statement
        self.params: set[str] = set()
        for _, node in schedule.walk():
            for r in relations(node):
                self.params |= set(r.param_names)
                if isinstance(node, Domain | Filter | Extension | Expansion):
                    self.iterators |= {d for s, _ in r.parts for d in s.out.dims}

    def bad(self, at: Path, message: str, hint: str = "") -> BadSchedule:
        return BadSchedule(message, where=self.schedule.marked(at), hint=hint)

    def node(self, node: Node, at: Path, instances: Set, tuples: dict[str, Tuple], depth: int) -> None:
        match node:
            case Domain(domain):
                if at:
                    raise self.bad(at, "a domain stands at the root alone", "an Extension adds instances below it")
                instances, tuples = domain, self.declared(at, [s.out for s, _ in domain.parts], {})
            case _ if not at:
                raise self.bad(at, f"the root is {kind_of(node)}; a tree begins with its domain")
            case Context(s) | Guard(s):
                self.fits(at, s, depth, f"a {type(node).__name__.lower()}")
            case Filter():
                self.filter(at, node, tuples)
                instances = passed(instances, node)
            case Sequence() | SetNode():
                self.children(at, node, instances, tuples)
            case Extension(extension):
                for space, _ in extension.parts:
                    if space.inp is None or space.inp.name is not None or len(space.inp.dims) != depth:
                        raise self.bad(
                            at, f"an extension here is a map from the {counted(depth, 'member')} above, not {space}"
                        )
                tuples = self.declared(at, [s.out for s, _ in extension.parts], tuples)
                instances = instances | extension.range()
            case Expansion(contraction, expansion):
                instances, tuples = self.expansion(at, contraction, expansion, instances, tuples)
            case Band():
                self.band(at, node, instances, tuples, depth)
                depth += len(node.members)
        for k, child in enumerate(node.children):
            self.node(child, (*at, k), instances, tuples, depth)

    def expansion(
        self, at: Path, contraction: Map, expansion: Map, groups: Set, tuples: dict[str, Tuple]
    ) -> tuple[Set, dict[str, Tuple]]:
        """The instances below an expansion and their tuples."""
        for space, _ in expansion.parts:
            own = tuples.get(str(space.inp and space.inp.name))
            if own is None or space.inp is None or own.key != space.inp.key:
                raise self.bad(at, f"no statement {space.inp} comes here")
        here = expansion_of(groups, expansion)
        back = _expanded(contraction.reverse(), names_of(groups)).reverse()
        back = back.intersect_domain(here) if back.parts and here.parts else back
        fits = back.is_single_valued() and here.is_subset(back.domain())
        if here.parts and not (fits and back.is_equal(expansion.reverse().intersect_domain(here))):
            raise self.bad(at, "the contraction is no function that leads back along the expansion")
        return here, self.declared(at, [*{s.out.name: s.out for s, _ in expansion.parts}.values()], {})

    def declared(self, at: Path, new: list[Tuple], tuples: dict[str, Tuple]) -> dict[str, Tuple]:
        tuples = dict(tuples)
        for t in new:
            if t.name is None:
                raise self.bad(at, f"the tuple {t} has no name", "a statement is written S[i, j]")
            if t.name in tuples:
                raise self.bad(at, f"a second statement is called {t.name}")
            tuples[t.name] = t
        return tuples

    def fits(self, at: Path, s: Set, depth: int, what: str) -> None:
        for space, _ in s.parts:
            if space.out.name is not None or len(space.out.dims) != depth:
                raise self.bad(
                    at,
                    f"{what} here is a set over the {counted(depth, 'member')} above, not over {space.out}",
                    "{ [c0, c1] : ... }",
                )

    def filter(self, at: Path, node: Filter, tuples: dict[str, Tuple]) -> None:
        if len(set(node.statements)) < len(node.statements):
            raise self.bad(at, "the filter names a statement twice")
        for s in node.statements:
            if s not in tuples:
                raise self.bad(at, f"no statement is called {s}", nearest(s, tuples))
        for space, _ in node.instances.parts if node.instances is not None else ():
            if space.out.name not in node.statements:
                raise self.bad(at, f"the filter's set has {space.out}, which is none of its statements")
            if space.out.key != tuples[space.out.name].key:
                raise self.bad(at, f"the statement is {tuples[space.out.name]}, not {space.out}")

    def children(self, at: Path, node: Sequence | SetNode, instances: Set, tuples: dict[str, Tuple]) -> None:
        """The filters below a sequence or set share the instances out among them."""
        what = "sequence" if isinstance(node, Sequence) else "set"
        if not node.children:
            raise self.bad(at, f"a {what} without children")
        for k, child in enumerate(node.children):
            if not isinstance(child, Filter):
                raise self.bad((*at, k), f"the children of a {what} are filters, not {kind_of(child)}")
            self.filter((*at, k), child, tuples)
        for s in names_of(instances):
            left, own = instances.only(s), []
            for k, child in enumerate(node.children):
                if not isinstance(child, Filter) or s not in child.statements:
                    continue
                one = passed(instances, child).only(s)
                if not (twice := one - left).is_empty():
                    raise self.bad((*at, k), f"the filters overlap: {example(twice)} is in an earlier one too")
                left = left - one
                if new := [p for p in one.param_names if p not in instances.param_names]:
                    own.append((one, new))
            for one, new in own if not left.is_empty() else ():
                left = left - one.project_out_param(*new)
            if not left.is_empty():
                raise self.bad(at, f"no child of the {what} has {example(left)}", "every instance needs a place")

    def band(self, at: Path, node: Band, instances: Set, tuples: dict[str, Tuple], depth: int) -> None:
        if not node.members:
            raise self.bad(at, "a band without members")
        for k, m in enumerate(node.members):
            table = dict(m.exprs)
            if len(table) < len(m.exprs):
                raise self.bad(at, f"member {k} has two expressions for a statement")
            for s in names_of(instances):
                if s not in table and not instances.only(s).is_empty():
                    raise self.bad(at, f"member {k} of the band has no expression for {s}", "every statement needs one")
            for s, e in m.exprs:
                if s not in tuples:
                    raise self.bad(at, f"no statement is called {s}", nearest(s, tuples))
                own = tuples[s].dims
                wrong = sorted(e.names() & (self.iterators - self.params - set(own)))
                if wrong:
                    raise self.bad(at, f"{wrong[0]} is no iterator of {tuples[s]}", nearest(wrong[0], own))
        if node.isolate is not None:
            self.fits(at, node.isolate, depth + len(node.members), "an isolated part")
