"""Schedule trees: in which order the instances of statements run, as an immutable tree.

After Verdoolaege et al., "Schedule Trees" (IMPACT 2014). Reading from the root, every node says one thing
about the instances that reach it:

    Domain      which instances there are
    Context     what is known of the parameters and of the band members above
    Band        in what order they run: a tuple of quasi-affine expressions per statement, one loop a member
    Filter      only these statements, or these instances of them, go this way
    Sequence    the children run one after another;   SetNode: in any order
    Mark        a name to find this place by
    Extension   instances that the tree adds here, such as copies between memories
    Guard       conditions that the generated code tests here
    Expansion   what the groups of instances stand for of which the tree above speaks
    Leaf        nothing more to say: the instances run

A node is addressed by its path, the child numbers from the root. A transformation is a pure function from a
`Schedule` to a new one; unchanged subtrees are shared. The nodes themselves are in `polyvolta.sched.nodes`; what a
place in a tree means (`prefix`, `to_map`, `check_structure`) is in `polyvolta.sched.structure`, and how trees look as
text and pictures in `polyvolta.sched.views`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import TYPE_CHECKING, Any, Literal, Self

from polyvolta.display.shown import Shown
from polyvolta.display.text import for_terminal
from polyvolta.sched.errors import BadPath, BadSchedule
from polyvolta.sched.members import LoopType, Member
from polyvolta.sched.nodes import (
    NODES,
    Band,
    Below,
    Context,
    Domain,
    Expansion,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Node,
    Path,
    Sequence,
    SetNode,
    with_children,
)
from polyvolta.sched.wrapped import statements
from polyvolta.sets import Aff, Map, Set, nearest
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.sched.dependence.model import Dependence
    from polyvolta.sched.program.model import Program
    from polyvolta.sched.views.diff import Diff

__all__ = [
    "Band",
    "Context",
    "Domain",
    "Expansion",
    "Extension",
    "Filter",
    "Guard",
    "Leaf",
    "LoopType",
    "Mark",
    "Member",
    "Node",
    "Path",
    "Schedule",
    "Sequence",
    "SetNode",
    "with_children",
]


class _Looked(type):
    """The type of the class, on which isl's methods of a tree are looked up as well, `Schedule.get_root(tree)`."""

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(cls, name: str) -> object:
            if not (name.startswith("_") or name in cls.__annotations__):  # of fields dataclasses ask for defaults
                from polyvolta.sched.by_isl.trees import METHODS

                if name in METHODS:
                    return METHODS[name]
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)


@dataclass(frozen=True, slots=True, repr=False)
class Schedule(Shown, metaclass=_Looked):
    """A schedule tree as a value: printing, walking and replacing; made by the scheduler and the passes.

    Parameters
    ----------
    root : the first node, a Domain; or isl's text of a tree.
    dependences : what every transformation of the tree is checked against; None when they are not known, and then a
        transformation goes by the flags of the bands. They are no part of the tree: neither printed nor compared.

    Raises
    ------
    BadSchedule : the root is no node. Whether the nodes fit each other is checked by `check_structure`.
    TreeSyntaxError : a text is no tree.

    >>> from polyvolta.sched import schedule
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> print(tree)
    DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j ≤ i
      BAND: S[i, j] → [i, j]
    """

    root: Node
    dependences: tuple[Dependence, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.root, str):
            object.__setattr__(self, "root", type(self).parse(self.root).root)
        if not isinstance(self.root, NODES):
            raise BadSchedule(
                f"the root of a tree is a node, not {kind_of(self.root)}",
                where=repr(self.root),
                hint='Schedule(Domain(Set("{ S[i] : 0 <= i < 8 }"))), or Schedule.parse(text)',
            )

    @property
    def domain(self) -> Set:
        """The instances that the root declares.

        Raises
        ------
        BadSchedule : the root is no Domain.
        """
        if not isinstance(self.root, Domain):
            raise BadSchedule(f"the root is {kind_of(self.root)}, no Domain", where=self.marked(()))
        return self.root.domain

    # ---- places

    def node(self, at: Path) -> Node:
        """The node at a path.

        Raises
        ------
        BadPath : the path leaves the tree; the error shows the tree with the last node reached marked and says which
            children it has.

        >>> tree = Schedule.parse('{ domain: "{ S[] }", child: { mark: "here" } }')
        >>> tree.node((0,))
        Mark(name='here', child=Leaf())
        """
        if not isinstance(at, (tuple, list)):
            raise BadPath(
                f"a path is a tuple of child numbers, not {kind_of(at)}", where=repr(at), hint="such as (0, 1)"
            )
        here = self.root
        for depth, k in enumerate(at):
            children = here.children
            if not _is_number(k):
                raise BadPath(f"a path is made of child numbers, not of {k!r}", where=self.marked(at[:depth]))
            if not 0 <= k < len(children):
                raise self._no_child(at, depth, here)
            here = children[k]
        return here

    def _no_child(self, at: Path, depth: int, here: Node) -> BadPath:
        from polyvolta.sched.views.paper import heads

        n = len(here.children)
        count = f"{n or 'no'} {'child' if n == 1 else 'children'}"
        way = _plain(at[:depth])
        listed = [f"{k} is {text}" for k, text in enumerate(heads(self, at[:depth]))]
        return BadPath(
            f"path {_plain(at)} leaves the tree at step {depth}: the node at {way} has {count}",
            where=self.marked(at[:depth]),
            hint="; ".join(listed) or f"the longest path this way is {way}",
        )

    def parent(self, at: Path) -> Path:
        """The path of the node above a path.

        `at` is the path.

        Raises
        ------
        BadPath : the root has no parent, or the path leaves the tree.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> tree.parent((0, 0))
        (0,)
        """
        self.node(at)
        if not at:
            raise BadPath("the root has no parent", where=self.marked(()))
        return at[:-1]

    def replace(self, at: Path, new: Node) -> Schedule:
        """The schedule with the subtree at a path replaced. Linear in the path; the rest of the tree is shared.

        Raises
        ------
        BadPath : the path leaves the tree.
        BadSchedule : what is put there is no node. What the new tree means is not checked: see `check_structure`.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> from dataclasses import replace
        >>> tree.replace((0,), replace(tree.band((0,)), permutable=False)).band((0,)).permutable
        False
        """
        self.node(at)

        def rebuild(node: Node, rest: Path) -> Node:
            if not rest:
                return new
            kids = list(node.children)
            kids[rest[0]] = rebuild(kids[rest[0]], rest[1:])
            return with_children(node, tuple(kids))

        return replace(self, root=rebuild(self.root, at))

    def walk(self, at: Path = ()) -> Iterator[tuple[Path, Node]]:
        """All nodes below a path with their paths, in reading order; the one at the path first.

        Raises
        ------
        BadPath : the path leaves the tree.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> [(path, type(node).__name__) for path, node in tree.walk()]
        [((), 'Domain'), ((0,), 'Band'), ((0, 0), 'Leaf')]
        """
        return _walk(tuple(_plain(at)), self.node(at)) if at else _walk((), self.root)

    def bands(self) -> list[Path]:
        """The paths of the bands, outermost first.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> tree.bands()
        [(0,)]
        """
        return [at for at, node in self.walk() if isinstance(node, Band)]

    def band(self, at: Path) -> Band:
        """The band at a path.

        Raises
        ------
        BadPath : the node there is no band.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> tree.band((0,)).permutable
        True
        """
        node = self.node(at)
        if not isinstance(node, Band):
            raise BadPath(f"the node at {_plain(at)} is {kind_of(node)}, no Band", where=self.marked(at))
        return node

    def find(self, kind: type | None = None, *, mark: str | None = None, level: str | None = None) -> list[Path]:
        """The paths of the nodes of a kind, of marks by name, or of bands with a member of a level, in reading order.

        >>> tree = Schedule.parse('{ domain: "{ S[] }", child: { mark: "here" } }')
        >>> tree.find(Mark), tree.find(mark="here")
        ([(0,)], [(0,)])

        Raises
        ------
        BadPath : there is no mark or level of that name, or no such kind.
        """
        if kind is not None and kind not in NODES:
            hint = nearest(str(kind), [n.__name__ for n in NODES])
            raise BadPath(f"a kind of node is one of the classes, not {kind!r}", hint=hint)
        found = [at for at, n in self.walk() if kind is None or isinstance(n, kind)]
        if mark is not None:
            found = [at for at in found if isinstance(n := self.node(at), Mark) and n.name == mark]
            if not found:
                raise BadPath(f"no mark is called {mark!r}", where=str(self), hint=nearest(mark, self.marks))
        if level is not None:
            levels = {at: {m.level for m in n.members} for at in found if isinstance(n := self.node(at), Band)}
            found = [at for at, its in levels.items() if level in its]
            if not found:
                known = [name for its in levels.values() for name in its if name]
                raise BadPath(f"no member is of level {level!r}", where=str(self), hint=nearest(level, known))
        return found

    @property
    def marks(self) -> dict[str, Path]:
        """The names of the marks and where each stands first."""
        found: dict[str, Path] = {}
        for at, node in self.walk():
            if isinstance(node, Mark):
                found.setdefault(node.name, at)
        return found

    def with_dependences(self, given: Program | Iterable[Dependence] | Map | None) -> Schedule:
        """The same tree, of which every transformation is checked against some dependences.

        Parameters
        ----------
        given : a program, whose dependences are computed, or dependences, or a relation of instances that must run
            before others; None for none known.

        Raises
        ------
        BadProgram : what is given has no dependences, or they are of statements with other iterators.

        Cost: that of `dependences`, for a program.

        >>> from polyvolta.sched.program import Program
        >>> sums = Program.parse("{ S[i] : 0 <= i < 8 }", "{ S[i] -> a[] }", "{ S[i] -> a[] }")
        >>> tree = Schedule.parse(sums.schedule.to_isl())
        >>> tree.dependences, len(tree.with_dependences(sums).dependences)
        (None, 3)
        >>> len(tree.with_dependences(Map("{ S[i] -> S[i + 1] }")).dependences)
        1
        """
        from polyvolta.sched.dependence import dependences
        from polyvolta.sched.dependence.given import fitting
        from polyvolta.sched.program import Program

        if given is None:
            return replace(self, dependences=None)
        iterators = {s.out.name or "": s.out.dims for s, _ in self.domain.parts}
        found = dependences(given) if isinstance(given, Program) else given
        return replace(self, dependences=tuple(fitting(found, iterators)))

    # ---- what a place means

    def statements_at(self, at: Path) -> tuple[str, ...]:
        """The statements that reach a node, those that extensions above add among them.

        Raises
        ------
        BadPath : the path leaves the tree.

        `at` is the path of a node.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> tree.statements_at((0,))
        ('S',)
        """
        from polyvolta.sched.structure.reach import statements_at

        return statements_at(self, at)

    def instances_at(self, at: Path) -> Set:
        """The instances that reach a node.

        Raises
        ------
        BadPath : the path leaves the tree.

        `at` is the path of a node.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> print(tree.instances_at((0,)))
        [N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }
        """
        from polyvolta.sched.structure.reach import instances_at

        return instances_at(self, at)

    def prefix(self, at: Path) -> dict[str, tuple[Aff, ...]]:
        """For each statement that reaches a node the expressions of the band members above it, outermost first.

        `at` is the path of a node.

        Raises
        ------
        BadPath : the path leaves the tree.
        BadSchedule : a band above has no expression for a statement that has instances.
        NotAFunction : an extension adds an instance for several values of the members above; use `prefix_schedule`.

        >>> tree = Schedule.parse('{ domain: "{ S[i] : 0 <= i < 8 }", child: { schedule: "[{ S[i] -> [(2i)] }]" } }')
        >>> tree.prefix((0, 0))
        {'S': (Aff('2*i'),)}
        """
        from polyvolta.sched.structure.times import prefix

        return prefix(self, at)

    def prefix_schedule(self, at: Path) -> Map:
        """The instances that reach a node -> the values of the band members above it.

        Raises
        ------
        BadPath : the path leaves the tree.
        BadSchedule : a band above has no expression for a statement that has instances.

        `at` is the path of a node.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> print(tree.prefix_schedule((0, 0)))
        [N] -> { S[i, j] -> [i, j] : 0 <= i < N and 0 <= j <= i }
        """
        from polyvolta.sched.structure.times import prefix_schedule

        return prefix_schedule(self, at)

    def to_map(self) -> Map:
        """The whole tree as one map, instances -> time; see `polyvolta.sched.structure`.

        Raises
        ------
        BadSchedule : a band has no expression for a statement that has instances, or there is no domain.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> print(tree.to_map())
        [N] -> { S[i, j] -> [i, j] : 0 <= i < N and 0 <= j <= i }
        """
        from polyvolta.sched.structure.times import to_map

        return to_map(self)

    def check_structure(self) -> Schedule:
        """The schedule itself, if it is one; see `polyvolta.sched.structure`.

        Raises
        ------
        BadSchedule : a node where it can't stand, filters that overlap or miss an instance, a band without an
            expression for a statement; the tree is shown with the culprit marked.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> tree.check_structure()
        <Schedule of S, 3 nodes; print it>
        """
        from polyvolta.sched.structure.check import check_structure

        check_structure(self)
        return self

    # ---- isl's names

    @classmethod
    def read_from_str(cls, *text: Any) -> Self:  # noqa: ANN401
        """The tree that a text in isl's notation says: `parse`, by isl's name.

        Parameters
        ----------
        text : the text; a context of isl before it means nothing here.

        Raises
        ------
        TreeSyntaxError, BadSchedule : see `parse`.

        >>> Schedule.read_from_str('{ domain: "{ S[] }" }')
        <Schedule of S, 2 nodes; print it>
        """
        return cls(cls.parse(text[-1] if text else "").root)

    @classmethod
    def from_domain(cls, domain: Set) -> Self:
        """The tree that orders none of some instances.

        Parameters
        ----------
        domain : the instances.

        Raises
        ------
        BadSchedule : a statement has no name, or that of another one.

        >>> print(Schedule.from_domain(Set("{ S[i] : 0 <= i < 8 }")))
        DOMAIN: S[i] : 0 ≤ i ≤ 7
        """
        return cls(Domain(statements(domain)))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """isl's methods, which are no attributes of the class; see `polyvolta.sched.by_isl`."""
        if not name.startswith("_"):
            from polyvolta.sched.by_isl.trees import METHODS

            if name in METHODS:
                return MethodType(METHODS[name], self)
        raise AttributeError(f"a Schedule has no attribute {name!r}", name=name, obj=self)

    # ---- how it looks

    def marked(self, at: Path) -> str:
        """The printed tree with the node at a path pointed out; a leaf, which is not printed else, by a line.

        >>> print(Schedule.parse('{ domain: "{ S[] }", child: { mark: "here" } }').marked((0, 0)))
        DOMAIN: S[]
          MARK: here
            LEAF   <-- here
        """
        from polyvolta.sched.views.paper import show

        return show(self, marked=tuple(at))

    def show(self, ascii: bool = False) -> str:  # noqa: A002
        """The tree in the paper's notation, with an ASCII fallback, in whole lines.

        Linear, besides what writing the sets costs.

        >>> tree = Schedule.parse('{ domain: "{ S[i] : 0 <= i < 8 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }')
        >>> print(tree.show(ascii=True))
        DOMAIN: S[i] : 0 <= i <= 7
          BAND: S[i] -> [i]
        """
        from polyvolta.sched.views.paper import show

        return show(self, ascii=ascii)

    @staticmethod
    def parse(text: str, check: bool = True) -> Schedule:
        """The tree that a text in isl's notation says; see `polyvolta.sched.views.isl_read`.

        Raises
        ------
        TreeSyntaxError : the text is no tree; shows the line with a caret.
        BadSchedule : the tree is no schedule, and `check` is set.
        """
        from polyvolta.sched.views.isl_read import parse

        return parse(text, check)

    def to_isl(self, block: bool = False, mapped: Literal["marks", "parameters"] = "marks") -> str:
        """The tree in isl's notation; see `polyvolta.sched.views.isl_write`.

        Parameters
        ----------
        block : one key a line, as PPCG and pet keep trees in files, instead of one line.
        mapped : how members that are mapped to an index of the GPU are told: by marks, which `parse` reads, or as the
            parameters and filters that PPCG makes of them.

        Raises
        ------
        BadSchedule : a band speaks of a statement that nothing declares; a mark has a quote in its name.
        BadArgument : `mapped` is another word.

        >>> print(Schedule.parse('{ domain: "{ S[] }", child: { mark: "here" } }').to_isl())
        { domain: "{ S[] }", child: { mark: "here", child: { leaf } } }
        """
        from polyvolta.sched.views.isl_write import to_isl

        return to_isl(self, block, mapped)

    def __str__(self) -> str:
        """As `show`, with lines that are too long for a terminal folded where one is printed to."""
        return for_terminal(self.show())

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.domain.tuple_names)) if isinstance(self.root, Domain) else "no domain"
        count = sum(1 for _ in self.walk())
        return f"<Schedule of {names or 'nothing'}, {count} node{'s' * (count != 1)}; print it>"

    def __rich__(self) -> Any:  # noqa: ANN401
        """The tree in colours, for `rich.print`."""
        from polyvolta.sched.views.terminal import rich_tree

        return rich_tree(self)

    def _html(self) -> str:
        """The tree for notebooks, as nodes that fold; see `polyvolta.sched.views.html`."""
        from polyvolta.sched.views.html import html

        return html(self)

    def to_latex(self, document: bool = False) -> str:
        r"""The tree typeset as in the paper's figures; see `polyvolta.sched.views.latex`.

        `document`: whether it is one of its own, not a part of one.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> print(tree.to_latex().splitlines()[0])
        DOMAIN: $S[i, j] : 0 \le i < N \land 0 \le j \le i$ \\
        """
        from polyvolta.sched.views.latex import latex

        return latex(self, document)

    def to_dot(self) -> str:
        """The tree as a graph for Graphviz; see `polyvolta.sched.views.dot`.

        >>> from polyvolta.sched import schedule
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> print(tree.to_dot()[:16])
        digraph schedule
        """
        from polyvolta.sched.views.dot import dot

        return dot(self)

    def diff(self, old: Schedule) -> Diff:
        """What changed from `old` to this tree; see `polyvolta.sched.views.diff`.

        >>> from polyvolta.sched import schedule, tile
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> print(tile(tree, (0,), (32, 32)).diff(tree))
          DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j ≤ i
        ┃   BAND: S[i, j] → [⌊i/32⌋, ⌊j/32⌋]
        ┃     BAND: S[i, j] → [i - 32⌊i/32⌋, j - 32⌊j/32⌋]
        """
        from polyvolta.sched.views.diff import diff

        return diff(old, self)


def _is_number(k: object) -> bool:
    """Whether something is an integer of any make, numpy's among them."""
    return not isinstance(k, bool) and (isinstance(k, int) or (hasattr(k, "__index__") and not hasattr(k, "__len__")))


def _walk(at: Path, node: Node) -> Iterator[tuple[Path, Node]]:
    """A node and all below it with their paths, in reading order."""
    todo = [(at, node)]
    while todo:
        at, node = todo.pop()
        yield at, node
        children = node.children
        for k in range(len(children) - 1, -1, -1):
            todo.append(((*at, k), children[k]))


def _plain(at: Iterable[Any]) -> list:
    """A path as plain integers, for messages; what is none stays as it is."""
    return [int(k) if _is_number(k) else k for k in at]


Below.tree = Schedule
