"""The nodes of schedule trees; `polyvolta.sched.tree` says what a tree means.

Every node is an immutable value with `children`, a tuple. What a node says is said of the instances that reach it:
those of the domain (and of extensions above) that the filters on the way let through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from polyvolta.sets import Aff, Map, Set

Path = tuple[int, ...]
LoopType = Literal["default", "atomic", "separate", "unroll"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a branch."""

    @property
    def children(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Member:
    """One dimension of a band.

    Parameters
    ----------
    exprs : (statement, expression in its iterators and the parameters), one for each statement of the band.
    coincident : whether its iterations are independent of one another (given those of outer members).
    name : what the dimension is mapped to, e.g. `blockIdx.y`; then it is no loop but an index that is given.
    unroll : whether the generated loop carries a request to the compiler to unroll it (`#pragma unroll`).
    loop_type : how code is generated for the dimension, isl's AST options: "atomic" is one loop whatever runs in it,
        "separate" one loop for every set of statements that run together, "unroll" no loop but its iterations written
        out.
    """

    exprs: tuple[tuple[str, Aff], ...]
    coincident: bool = False
    name: str | None = None
    unroll: bool = False
    loop_type: LoopType = "default"

    def of(self, statement: str) -> Aff:
        """The expression for one statement."""
        return dict(self.exprs)[statement]

    def map(self, f: Callable[[str, Aff], Aff]) -> Member:
        """The member with `f(statement, expression)` in place of each expression."""
        return replace(self, exprs=tuple((s, f(s, e)) for s, e in self.exprs))


@dataclass(frozen=True, slots=True)
class Band:
    """A nest of loops; `permutable` when its members may be interchanged and tiled.

    Parameters
    ----------
    isolate : a set over (members of the bands above, outermost first, then this band's members): code for it is
        generated apart from the rest (full tiles from partial ones, say); isl's `isolate` option.
    """

    members: tuple[Member, ...]
    child: Node = field(default_factory=Leaf)
    permutable: bool = False
    isolate: Set | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)

    @property
    def statements(self) -> tuple[str, ...]:
        return tuple(s for s, _ in self.members[0].exprs) if self.members else ()

    def schedule(self, statement: str) -> tuple[Aff, ...]:
        """The band's expressions for one statement."""
        return tuple(m.of(statement) for m in self.members)


@dataclass(frozen=True, slots=True)
class Domain:
    """The instances of the tree; always the root."""

    domain: Set
    child: Node = field(default_factory=Leaf)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the parameters and of the members of the bands above.

    Parameters
    ----------
    context : a set over the members of the bands above, outermost first; without dimensions at the top.
    """

    context: Set
    child: Node = field(default_factory=Leaf)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True, slots=True)
class Filter:
    """The instances that go this way: all that there are of some statements, or those of them in a set.

    Parameters
    ----------
    instances : None for all instances of the statements; a set that holds all of them becomes None.
    """

    statements: tuple[str, ...]
    child: Node = field(default_factory=Leaf)
    instances: Set | None = None

    def __post_init__(self) -> None:
        if self.instances is None:
            return
        every = all(any(not c.eqs and not c.ineqs for c in pieces) for _, pieces in self.instances.parts)
        if every and set(self.statements) == set(self.instances.tuple_names):
            object.__setattr__(self, "instances", None)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Children, filters each, that run one after another."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class SetNode:
    """Children, filters each, that run in any order."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A name for this place."""

    name: str
    child: Node = field(default_factory=Leaf)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True, slots=True)
class Extension:
    """Instances added below this node, for each value of the band members above it that `extension` names."""

    extension: Map
    child: Node = field(default_factory=Leaf)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition under which the subtree runs: a set over the members of the bands above, outermost first."""

    guard: Set
    child: Node = field(default_factory=Leaf)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


Node = Leaf | Band | Domain | Context | Filter | Sequence | SetNode | Mark | Extension | Guard


def with_children(node: Node, children: tuple[Node, ...]) -> Node:
    """The node with other children."""
    match node:
        case Leaf():
            return node
        case Sequence() | SetNode():
            return replace(node, children=children)
        case _:
            return replace(node, child=children[0])
