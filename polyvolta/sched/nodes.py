"""The nodes of schedule trees; `polyvolta.sched.tree` says what a tree means.

Every node is an immutable value with `children`, a tuple. What a node says is said of the instances that reach it:
those of the domain (and of extensions above) that the filters on the way let through.

A node that is made of other things than nodes, sets and expressions is refused with `BadSchedule`. Whether the nodes of
a tree fit each other is the question of `Schedule.check_structure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from polyvolta.display.shown import Shown
from polyvolta.display.text import WIDEST
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.members import Member, check
from polyvolta.sets import Aff, Map, Set
from polyvolta.sets.errors import kind_of
from polyvolta.sets.text.tokens import is_spelt

Path = tuple[int, ...]


def _check_child(node: object, what: str) -> None:
    if not isinstance(node, NODES):
        raise BadSchedule(f"below {what} stands a node, not {kind_of(node)}", where=repr(node), hint="such as Leaf()")


class Below(Shown):
    """A node, which shows itself as the tree from it on."""

    __slots__ = ()
    tree: Callable[[Any], Shown]  # a schedule of it; `polyvolta.sched.tree` says how, which knows of nodes

    def _html(self) -> str:
        return Below.tree(self)._html()

    def __str__(self) -> str:
        return str(Below.tree(self)) or type(self).__name__.upper()

    def __repr__(self) -> str:
        """What constructs it; where that is long, its first line as `print` shows it."""
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)  # type: ignore[attr-defined]
        if len(text := f"{type(self).__name__}({fields})") <= 3 * WIDEST:
            return text
        first, *more = str(self).split("\n")
        first = first if len(first) <= WIDEST - 30 else f"{first[: WIDEST - 34]} ..."
        return f"<{first}{'; print it' * bool(more)}>"


class Above(Below):
    """A node with one child."""

    __slots__ = ()
    child: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True, slots=True, repr=False)
class Leaf(Below):
    """The end of a branch.

    >>> from polyvolta.sched import schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> tree.band((0,)).child
    Leaf()
    """

    @property
    def children(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True, slots=True, repr=False)
class Band(Above):
    """A nest of loops; `permutable` when its members may be interchanged and tiled.

    Parameters
    ----------
    isolate : a set over (members of the bands above, outermost first, then this band's members): code for it is
        generated apart from the rest (full tiles from partial ones, say); isl's `isolate` option.
    name : what isl calls the tuple of the members; pet names every band.

    >>> from polyvolta.sched import schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> band = tree.band((0,))
    >>> band.permutable, [str(e) for e in band.schedule("S")]
    (True, ['i', 'j'])
    """

    members: tuple[Member, ...]
    child: Node = field(default_factory=Leaf)
    permutable: bool = False
    isolate: Set | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        check(self.members, tuple, "what a band has of members")
        for m in self.members:
            check(m, Member, "a member of a band")
        if self.isolate is not None:
            check(self.isolate, Set, "an isolated part")
        if self.name is not None and not (isinstance(self.name, str) and is_spelt(self.name)):
            raise BadSchedule("the name of a band is one word", where=repr(self.name), hint='such as "L_0"')
        _check_child(self.child, "a band")

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that the band orders."""
        return tuple(s for s, _ in self.members[0].exprs) if self.members else ()

    def schedule(self, statement: str) -> tuple[Aff, ...]:
        """The band's expressions for one statement.

        Raises
        ------
        BadSchedule : a member has none.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> [str(e) for e in tree.band((0,)).schedule("S")]
        ['i', 'j']
        """
        return tuple(m.of(statement) for m in self.members)


@dataclass(frozen=True, slots=True, repr=False)
class Domain(Above):
    """The instances of the tree; always the root.

    >>> from polyvolta.sched import schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> print(tree.root.domain)
    [N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }
    """

    domain: Set
    child: Node = field(default_factory=Leaf)

    def __post_init__(self) -> None:
        check(self.domain, Set, "a domain", 'Set("{ S[i] : 0 <= i < 8 }")')
        _check_child(self.child, "a domain")


@dataclass(frozen=True, slots=True, repr=False)
class Context(Above):
    """What is promised of the parameters and of the members of the bands above, as by isl; nothing tests it.

    What it says of parameters alone is taken to hold below, also where no instance comes by: a filter above does not
    protect the code from other sizes. What it says of members holds where instances come by. A `Guard` is tested.

    Parameters
    ----------
    context : a set over the members of the bands above, outermost first; without dimensions at the top.

    >>> from polyvolta.sched import insert_context, schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> print(insert_context(tree, (0,), Set("[N] -> { : N >= 8 }")))
    DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j ≤ i
      CONTEXT: N ≥ 8
        BAND: S[i, j] → [i, j]

    The promise drops the test of N >= 4, so that at N = 3, which it excludes, T runs:

    >>> from polyvolta.sched import Schedule, scan
    >>> print(scan(Schedule.parse('''{ domain: "[N] -> { S[]; T[] : N >= 4 }", child: { sequence: [
    ...     { filter: "{ S[] }" }, { filter: "{ T[] }", child: { context: "[N] -> { [] : N >= 8 }" } } ] } }''')))
    S();
    T();
    """

    context: Set
    child: Node = field(default_factory=Leaf)

    def __post_init__(self) -> None:
        check(self.context, Set, "a context", 'Set("[N] -> { : N > 0 }")')
        _check_child(self.child, "a context")


@dataclass(frozen=True, slots=True, repr=False)
class Filter(Above):
    """The instances that go this way: all that there are of some statements, or those of them in a set.

    Parameters
    ----------
    instances : None for all instances of the statements; a set that holds all of them becomes None.

    >>> from polyvolta.sched import insert_filter, schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> print(insert_filter(tree, (0,), "S"))
    DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j ≤ i
      FILTER: S[i, j]
        BAND: S[i, j] → [i, j]
    """

    statements: tuple[str, ...]
    child: Node = field(default_factory=Leaf)
    instances: Set | None = None

    def __post_init__(self) -> None:
        check(self.statements, tuple, "what a filter names", '("S1",)')
        for name in self.statements:
            check(name, str, "the name of a statement")
        _check_child(self.child, "a filter")
        if self.instances is None:
            return
        check(self.instances, Set, "what a filter lets through", 'Set("{ S[i] : i > 0 }")')
        every = all(any(not c.eqs and not c.ineqs for c in pieces) for _, pieces in self.instances.parts)
        if every and set(self.statements) == set(self.instances.tuple_names):
            object.__setattr__(self, "instances", None)


@dataclass(frozen=True, slots=True, repr=False)
class Sequence(Below):
    """Children, filters each, that run one after another.

    `children` is a tuple of nodes, as a rule filters; `BadSchedule` is raised for anything else.

    >>> from polyvolta.sched import nest
    >>> @nest
    ... def two(A, B, N):
    ...     for i in range(N):
    ...         A[i] = 1.0
    ...     for i in range(N):
    ...         B[i] = 2.0
    >>> print(two.schedule)
    DOMAIN: S1[i] : 0 ≤ i < N;
            S2[i] : 0 ≤ i < N
      SEQUENCE
        FILTER: S1[i]
          BAND: S1[i] → [i]
        FILTER: S2[i]
          BAND: S2[i] → [i]
    """

    children: tuple[Node, ...]

    def __post_init__(self) -> None:
        check(self.children, tuple, "what stands below a sequence", "(Filter(...), Filter(...))")
        for child in self.children:
            _check_child(child, "a sequence")


@dataclass(frozen=True, slots=True, repr=False)
class SetNode(Below):
    """Children, filters each, that run in any order.

    `children` is a tuple of nodes, as a rule filters; `BadSchedule` is raised for anything else.

    >>> from polyvolta.sched import Filter, Leaf, SetNode
    >>> len(SetNode((Filter(("S1",), Leaf()), Filter(("S2",), Leaf()))).children)
    2
    """

    children: tuple[Node, ...]

    def __post_init__(self) -> None:
        check(self.children, tuple, "what stands below a set", "(Filter(...), Filter(...))")
        for child in self.children:
            _check_child(child, "a set")


@dataclass(frozen=True, slots=True, repr=False)
class Mark(Above):
    """A name for this place.

    `name` is a text; `child` the node below.

    >>> from polyvolta.sched import insert_mark, schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> print(insert_mark(tree, (0,), "here"))
    DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j ≤ i
      MARK: here
        BAND: S[i, j] → [i, j]
    """

    name: str
    child: Node = field(default_factory=Leaf)

    def __post_init__(self) -> None:
        check(self.name, str, "the name of a mark")
        if len(self.name.splitlines()) > 1:
            raise BadSchedule("the name of a mark is one line", where=repr(self.name))
        _check_child(self.child, "a mark")


@dataclass(frozen=True, slots=True, repr=False)
class Extension(Above):
    """Instances added below this node, for each value of the band members above it that `extension` names.

    They run where an instance comes to the node, past all filters above; isl leaves open whether they run elsewhere.

    `extension` is a map from the band members above to the instances; `child` is the node below.

    >>> from polyvolta.sched import Extension
    >>> from polyvolta.sets import Map
    >>> print(Extension(Map("{ [c0] -> copy[x] : x = c0 }")).extension)
    { [c0] -> copy[c0] }
    """

    extension: Map
    child: Node = field(default_factory=Leaf)

    def __post_init__(self) -> None:
        check(self.extension, Map, "an extension", 'Map("{ [c0] -> A[x] : x = c0 }")')
        _check_child(self.child, "an extension")


@dataclass(frozen=True, slots=True, repr=False)
class Guard(Above):
    """A condition under which the subtree runs: a set over the members of the bands above, outermost first.

    `guard` is tested in the generated code; `child` is the node below.

    >>> from polyvolta.sched import Guard
    >>> from polyvolta.sets import Set
    >>> print(Guard(Set("[N] -> { : N >= 8 }")).guard)
    [N] -> { : N >= 8 }
    """

    guard: Set
    child: Node = field(default_factory=Leaf)

    def __post_init__(self) -> None:
        check(self.guard, Set, "a guard", 'Set("[N] -> { : N > 0 }")')
        _check_child(self.child, "a guard")


@dataclass(frozen=True, slots=True, repr=False)
class Expansion(Above):
    """Groups of instances, of which the tree above speaks, and what they stand for, of which it speaks below.

    Parameters
    ----------
    contraction : a function from the instances below to their groups.
    expansion : from the groups that come here to their instances; what comes here and has none ends here.

    >>> from polyvolta.sched import Expansion
    >>> from polyvolta.sets import Map
    >>> node = Expansion(Map("{ S[i] -> G[i // 2] }"), Map("{ G[j] -> S[i] : 2j <= i <= 2j + 1 }"))
    >>> print(node.contraction)
    { S[i] -> G[floor(i/2)] }
    """

    contraction: Map
    expansion: Map
    child: Node = field(default_factory=Leaf)

    def __post_init__(self) -> None:
        check(self.contraction, Map, "a contraction", 'Map("{ S[i] -> G[i // 2] }")')
        check(self.expansion, Map, "an expansion", 'Map("{ G[j] -> S[i] : 2j <= i <= 2j + 1 }")')
        _check_child(self.child, "an expansion")


Node = Leaf | Band | Domain | Context | Filter | Sequence | SetNode | Mark | Extension | Guard | Expansion
NODES = (Leaf, Band, Domain, Context, Filter, Sequence, SetNode, Mark, Extension, Guard, Expansion)


def relations(node: Node) -> Iterator[Set | Map]:
    """The sets and maps that a node is made of."""
    match node:
        case Domain(relation) | Context(relation) | Guard(relation) | Extension(relation):
            yield relation
        case Filter(instances=Set() as relation) | Band(isolate=Set() as relation):
            yield relation
        case Expansion(contraction, expansion):
            yield from (contraction, expansion)


def added(node: Node) -> Map | None:
    """What leads to the instances that a node adds, the members above or groups; None of one that adds none."""
    match node:
        case Extension(extension):
            return extension
        case Expansion(_, expansion):
            return expansion
    return None


def with_children(node: Node, children: tuple[Node, ...]) -> Node:
    """The node with other children.

    >>> with_children(Mark("here"), (Mark("below"),))
    Mark(name='here', child=Mark(name='below', child=Leaf()))
    """
    match node:
        case Leaf():
            return node
        case Sequence() | SetNode():
            return replace(node, children=children)
        case _:
            return replace(node, child=children[0])
