"""A place in a schedule tree, which is moved: the part of isl's `ScheduleNode` that changes no tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

from polyvolta.sched import tree
from polyvolta.sched.by_isl.kinds import schedule_node_type
from polyvolta.sched.by_isl.plain import Plain
from polyvolta.sched.by_isl.schedule import Schedule
from polyvolta.sched.errors import BadArgument, BadPath
from polyvolta.sched.tree import (
    Band,
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
)
from polyvolta.sets.errors import kind_of, need_function
from polyvolta.sets.values.space import whole

_KINDS: dict[type, schedule_node_type] = {
    kind: getattr(schedule_node_type, {"SetNode": "set"}.get(kind.__name__, kind.__name__.lower()))
    for kind in (Band, Context, Domain, Expansion, Extension, Filter, Leaf, Guard, Mark, Sequence, SetNode)
}


def need_node(value: object) -> None:
    """Refuse what is no node of a tree.

    Raises
    ------
    BadArgument : it is none.
    """
    if not isinstance(value, Standing):
        raise BadArgument(f"a ScheduleNode is needed, not {kind_of(value)}", where=str(value))


def with_params(schedule: tree.Schedule, space: Any) -> tree.Schedule:  # noqa: ANN401
    """The tree, whose domain has a space's parameters too; one with another root is as it was."""
    root = schedule.root
    if not isinstance(root, tree.Domain) or not getattr(space, "param_names", None):
        return schedule
    return schedule.replace((), replace(root, domain=root.domain.align_params(space)))


@dataclass(frozen=True, slots=True)
class Standing(Plain):
    """A node of a tree.

    Parameters
    ----------
    schedule : the tree.
    at : the path of the node.
    """

    schedule: tree.Schedule
    at: Path = ()

    def align_params(self, space: object) -> Self:
        """The node, in a tree whose domain has a space's parameters too."""
        return replace(self, schedule=with_params(self.schedule, space))

    @property
    def node(self) -> Node:
        """The node itself.

        Raises
        ------
        BadPath : the path leaves the tree.
        """
        return self.schedule.node(self.at)

    def _to(self, at: Path) -> Self:
        self.schedule.node(at)
        return replace(self, at=at)

    def _is(self, *kinds: type) -> Any:  # noqa: ANN401
        """The node, which is of one of some kinds."""
        node = self.node
        if not isinstance(node, kinds):
            wanted = " or ".join(k.__name__ for k in kinds)
            raise BadPath(f"the node at {list(self.at)} is {kind_of(node)}, no {wanted}",
                          where=self.schedule.marked(self.at))  # fmt: skip
        return node

    def _nowhere(self, what: str) -> NoReturn:
        raise BadPath(f"the node at {list(self.at)} has no {what}", where=self.schedule.marked(self.at))

    # ---- the tree and the place

    def get_schedule(self) -> Schedule:
        """The tree."""
        return Schedule.of(self.schedule)

    def get_type(self) -> schedule_node_type:
        """The kind of the node."""
        return _KINDS[type(self.node)]

    def get_parent_type(self) -> schedule_node_type:
        """The kind of the node above; of none, `schedule_node_type.error`."""
        return self.parent().get_type() if self.at else schedule_node_type.error

    def root(self) -> Self:
        """The root."""
        return replace(self, at=())

    def has_parent(self) -> bool:
        """Whether this is not the root."""
        return bool(self.at)

    def parent(self) -> Self:
        """The node above."""
        return self.ancestor(1)

    def grandparent(self) -> Self:
        """The node above that above."""
        return self.ancestor(2)

    def ancestor(self, generation: int) -> Self:
        """The node so many steps above.

        Raises
        ------
        BadPath : there is none.
        """
        if whole(generation) is None or not 0 <= generation <= len(self.at):
            self._nowhere(f"ancestor {generation} steps above" if generation != 1 else "parent")
        return self._to(self.at[: len(self.at) - generation])

    def n_children(self) -> int:
        """How many nodes stand below; a leaf counts."""
        return len(self.node.children)

    def has_children(self) -> bool:
        """Whether any node stands below."""
        return bool(self.node.children)

    def child(self, pos: int) -> Self:
        """A node below, by its number.

        Raises
        ------
        BadPath : there is none.
        """
        return self._to((*self.at, pos))

    get_child = child

    def first_child(self) -> Self:
        """The first node below."""
        return self.child(0)

    def grandchild(self, pos1: int, pos2: int) -> Self:
        """A node below a node below."""
        return self._to((*self.at, pos1, pos2))

    def get_child_position(self) -> int:
        """The number of the node among those below its parent."""
        return self.at[-1] if self.at else self._nowhere("parent")

    def get_ancestor_child_position(self, ancestor: Standing) -> int:
        """The number of the way that leads here below a node above.

        Raises
        ------
        BadPath : it is no node above.
        """
        need_node(ancestor)
        if self.at[: len(ancestor.at)] != ancestor.at or self.at == ancestor.at:
            self._nowhere(f"ancestor at {list(ancestor.at)}")
        return self.at[len(ancestor.at)]

    def get_shared_ancestor(self, other: Standing) -> Self:
        """The deepest node above both, or one of them.

        Raises
        ------
        BadArgument : the other is no node.
        """
        need_node(other)
        n = 0
        while n < min(len(self.at), len(other.at)) and self.at[n] == other.at[n]:
            n += 1
        return self._to(self.at[:n])

    def has_previous_sibling(self) -> bool:
        """Whether the parent has a child before this one."""
        return bool(self.at) and self.at[-1] > 0

    def has_next_sibling(self) -> bool:
        """Whether the parent has a child behind this one."""
        return bool(self.at) and self.at[-1] + 1 < self.parent().n_children()

    def previous_sibling(self) -> Self:
        """The child before this one."""
        return self._to((*self.at[:-1], self.at[-1] - 1)) if self.has_previous_sibling() else self._nowhere("sibling")

    def next_sibling(self) -> Self:
        """The child behind this one."""
        return self._to((*self.at[:-1], self.at[-1] + 1)) if self.has_next_sibling() else self._nowhere("sibling")

    def get_tree_depth(self) -> int:
        """How many nodes stand above."""
        return len(self.at)

    def get_schedule_depth(self) -> int:
        """How many members of bands stand above."""
        above = (self.schedule.node(self.at[:k]) for k in range(len(self.at)))
        return sum(len(node.members) for node in above if isinstance(node, Band))

    def is_equal(self, other: Standing) -> bool:
        """Whether both are one place in equal trees."""
        return self == other

    def foreach_descendant_top_down(self, f: Callable[[Self], object]) -> None:
        """Call a function with this node and those below it, and below none of which it says False."""
        need_function(f)
        if f(self) is not False:
            for k in range(self.n_children()):
                self.child(k).foreach_descendant_top_down(f)

    def foreach_ancestor_top_down(self, f: Callable[[Self], object]) -> None:
        """Call a function with the nodes above, from the root on."""
        for k in range(len(self.at)):
            f(self._to(self.at[:k]))

    def every_descendant(self, f: Callable[[Self], bool]) -> bool:
        """Whether a function holds of this node and of all below it."""
        return f(self) and all(self.child(k).every_descendant(f) for k in range(self.n_children()))
