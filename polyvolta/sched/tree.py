"""Schedule trees: in which order the instances of statements run, as an immutable tree.

After Verdoolaege et al., "Schedule Trees" (IMPACT 2014). Reading from the root, every node says one thing
about the instances that reach it:

    Domain      which instances there are
    Context     what is known of the parameters
    Band        in what order they run: a tuple of quasi-affine expressions per statement, one loop a member
    Filter      only these statements go this way
    Sequence    the children run one after another;   SetNode: in any order
    Mark        a name to find this place by
    Extension   instances that the tree adds here, such as copies between memories
    Guard       conditions that the generated code tests here
    Leaf        nothing more to say: the instances run

A node is addressed by its path, the child numbers from the root. A transformation is a pure function from a
`Schedule` to a new one; unchanged subtrees are shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from polyvolta.sched.errors import BadPath
from polyvolta.sets import Aff, Map, Set

if TYPE_CHECKING:
    from polyvolta.sched.dependences.model import Dependence

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

    def map(self, f) -> Member:  # noqa: ANN001
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
        return tuple(s for s, _ in self.members[0].exprs)

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
    instances : None for all instances of the statements.
    """

    statements: tuple[str, ...]
    child: Node = field(default_factory=Leaf)
    instances: Set | None = None

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


@dataclass(frozen=True, slots=True, repr=False)
class Schedule:
    """A schedule tree as a value: printing, walking and replacing; made by the scheduler and the passes.

    Parameters
    ----------
    dependences : what every transformation of the tree is checked against; None when they are not known, and then a
        transformation goes by the flags of the bands. They are no part of the tree: neither printed nor compared.
    """

    root: Node
    dependences: tuple[Dependence, ...] | None = field(default=None, compare=False)

    @property
    def domain(self) -> Set:
        """The instances that the root declares."""
        return self.root.domain

    def node(self, at: Path) -> Node:
        """The node at a path.

        Raises
        ------
        BadPath : the path leaves the tree; the error shows the tree with the last node reached marked.
        """
        here = self.root
        for depth, k in enumerate(at):
            if not 0 <= k < len(here.children):
                raise BadPath(
                    f"path {list(at)} leaves the tree at step {depth}: the node has {len(here.children)} children",
                    where=self.marked(at[:depth]),
                )
            here = here.children[k]
        return here

    def replace(self, at: Path, new: Node) -> Schedule:
        """The schedule with the subtree at a path replaced."""
        self.node(at)

        def rebuild(node: Node, rest: Path) -> Node:
            if not rest:
                return new
            kids = list(node.children)
            kids[rest[0]] = rebuild(kids[rest[0]], rest[1:])
            return with_children(node, tuple(kids))

        return replace(self, root=rebuild(self.root, at))

    def walk(self, at: Path = ()) -> Iterator[tuple[Path, Node]]:
        """All nodes below a path with their paths, in reading order."""
        node = self.node(at)
        yield at, node
        for k in range(len(node.children)):
            yield from self.walk((*at, k))

    def bands(self) -> list[Path]:
        """The paths of the bands, outermost first."""
        return [at for at, node in self.walk() if isinstance(node, Band)]

    def band(self, at: Path) -> Band:
        """The band at a path.

        Raises
        ------
        BadPath : the node there is no band.
        """
        node = self.node(at)
        if not isinstance(node, Band):
            raise BadPath(f"the node at {list(at)} is a {type(node).__name__}, no Band", where=self.marked(at))
        return node

    def marked(self, at: Path) -> str:
        """The printed tree with the node at a path pointed out."""
        from polyvolta.sched.views.paper import show

        return show(self, marked=at)

    def show(self, ascii: bool = False) -> str:  # noqa: A002
        """The tree in the paper's notation, with an ASCII fallback."""
        from polyvolta.sched.views.paper import show

        return show(self, ascii=ascii)

    @staticmethod
    def parse(text: str) -> Schedule:
        """The tree that a text in isl's notation says; see `polyvolta.sched.views.isl_read`."""
        from polyvolta.sched.views.isl_read import parse

        return parse(text)

    def to_isl(self, block: bool = False, mapped: Literal["marks", "parameters"] = "marks") -> str:
        """The tree in isl's notation; see `polyvolta.sched.views.isl_write`."""
        from polyvolta.sched.views.isl_write import to_isl

        return to_isl(self, block, mapped)

    def __str__(self) -> str:
        return self.show()

    def __repr__(self) -> str:
        names = ", ".join(str(n) for n in self.domain.tuple_names) if isinstance(self.root, Domain) else "no domain"
        return f"<Schedule of {names}, {sum(1 for _ in self.walk())} nodes; print it>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"
