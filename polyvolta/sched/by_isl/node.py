"""A place in a schedule tree as an object, isl's `ScheduleNode`: the tree and the path of a node.

What moves gives another place in the same tree; what changes the tree gives the same place in a new one, where the node
is that was put there.

>>> from polyvolta.isl import Schedule
>>> tree = Schedule("{ domain: '{ S[i] : 0 <= i < 64 }', child: { schedule: '[{ S[i] -> [(i)] }]' } }")
>>> node = tree.get_root().first_child()
>>> node.get_type().name, node.band_n_member(), node.get_tree_depth()
('band', 1, 1)
>>> print(node.band_tile([32]).to_str(), end="")
domain: "{ S[i] : 0 <= i <= 63 }"
child:
  # YOU ARE HERE
  schedule: "[{ S[i] -> [(32*floor(i/32))] }]"
  child:
    schedule: "[{ S[i] -> [(i mod 32)] }]"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from polyvolta.sched import passes
from polyvolta.sched.by_isl.banded import Banded
from polyvolta.sched.by_isl.bands import band_of, unbounded, universe
from polyvolta.sched.by_isl.grouping import grouped, subtree_contraction, subtree_expansion
from polyvolta.sched.by_isl.standing import need_node
from polyvolta.sched.errors import BadPath, BadSchedule
from polyvolta.sched.passes.common.places import inserted_at
from polyvolta.sched.passes.common.subtree import anchor, not_anchored
from polyvolta.sched.passes.mapping.context import put_guard
from polyvolta.sched.passes.mapping.extension import as_read
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
    Schedule,
    SetNode,
)
from polyvolta.sched.tree import Sequence as SequenceNode
from polyvolta.sched.views.isl_write import to_isl
from polyvolta.sched.wrapped import labelled, plain
from polyvolta.sets import Id, Map, Set, Space
from polyvolta.sets.by_isl.functions.multi_union import MultiUnionPwAff
from polyvolta.sets.by_isl.keywords import take_keywords
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.unions import gives_union


@take_keywords
@dataclass(frozen=True, slots=True, repr=False)
class ScheduleNode(Banded):
    """A node of a tree; see `Standing` for the ways to others, `Banded` for what bands have."""

    @staticmethod
    def from_domain(domain: Set) -> ScheduleNode:
        """The root of a tree that orders none of some instances."""
        return ScheduleNode(Schedule.from_domain(domain))

    @staticmethod
    def from_extension(extension: Map) -> ScheduleNode:
        """The root of a tree to be grafted: what it adds, for values of the members above."""
        return ScheduleNode(Schedule(Extension(as_read(labelled(extension)))))

    def map_descendant_bottom_up(self, f: Callable[[ScheduleNode], ScheduleNode]) -> ScheduleNode:
        """The tree after a function of each node below this one, and of this one, children first."""
        here = self
        for k in range(self.n_children()):
            here = ScheduleNode(here.child(k).map_descendant_bottom_up(f).schedule, self.at)
        return f(here)

    # ---- what it says

    @gives_union
    def get_domain(self) -> Set:
        """The instances that reach the node."""
        return plain(self._arriving())

    @gives_union
    def get_universe_domain(self) -> Set:
        """All instances of the statements that reach the node."""
        return universe(self.get_domain())

    @gives_union
    def get_prefix_schedule_union_map(self) -> Map:
        """Instances -> the values of the members above, whether the domain has them or not, as far as filters let."""
        return plain(unbounded(self.schedule).prefix_schedule(self.at))

    def get_prefix_schedule_multi_union_pw_aff(self) -> MultiUnionPwAff:
        """The same as a function."""
        return MultiUnionPwAff(self.get_prefix_schedule_union_map())

    get_prefix_schedule_union_pw_multi_aff = get_prefix_schedule_union_map

    @gives_union
    def get_prefix_schedule_relation(self) -> Map:
        """The instances that reach the node -> the values of the members above."""
        return plain(self.schedule.prefix_schedule(self.at))

    @gives_union
    def get_subtree_schedule_union_map(self) -> Map:
        """Instances -> their times from here on, whether the domain has them or not, as far as filters below let."""
        if isinstance(self.node, Domain):
            return plain(self.schedule.to_map())
        return plain(Schedule(Domain(universe(self._arriving()), self.node)).to_map())

    @gives_union
    def get_subtree_contraction(self) -> Map:
        """What the expansions below lead to -> the instances that come here; each of these itself without any."""
        return plain(subtree_contraction(self.node, universe(self._arriving())))

    @gives_union
    def get_subtree_expansion(self) -> Map:
        """The instances that come here -> what the expansions below lead to."""
        return plain(subtree_expansion(self.node, universe(self._arriving())))

    @gives_union
    def expansion_get_contraction(self) -> Map:
        """The groups of the instances below an expansion."""
        return plain(self._is(Expansion).contraction)

    @gives_union
    def expansion_get_expansion(self) -> Map:
        """What the groups above an expansion stand for."""
        return plain(self._is(Expansion).expansion)

    @gives_union
    def domain_get_domain(self) -> Set:
        """What a domain has of instances."""
        return plain(self._is(Domain).domain)

    def context_get_context(self) -> Set:
        """What a context says."""
        return self._is(Context).context

    def guard_get_guard(self) -> Set:
        """What a guard tests."""
        return self._is(Guard).guard

    @gives_union
    def extension_get_extension(self) -> Map:
        """What an extension adds."""
        return plain(self._is(Extension).extension)

    @gives_union
    def filter_get_filter(self) -> Set:
        """What a filter lets through."""
        found = self._is(Filter)
        if found.instances is not None:
            return plain(found.instances)
        return self.child(0).get_universe_domain()

    def mark_get_id(self) -> Id:
        """The name of a mark, with the object that was put there."""
        name = self._is(Mark).name
        return name if isinstance(name, Id) else Id(name)

    # ---- other trees

    def insert_partial_schedule(self, schedule: Map) -> ScheduleNode:
        """A band above the node, of a function of the instances.

        Raises
        ------
        BadSchedule : the function has no values, or not one for each instance.
        IllegalTransformation : a node here or below speaks of the members above it.
        """
        inserted_at(self.schedule, self.at)
        not_anchored(self.schedule, self.at, "another band above")
        band = band_of(schedule, self._arriving())
        if not band.members and not schedule.is_empty():
            raise BadSchedule("a band orders by something: this function has no values", where=str(schedule))
        return self._put(replace(band, child=self.node))

    def insert_context(self, context: Set) -> ScheduleNode:
        """A context above the node."""
        return self._through(passes.insert_context, context)

    def insert_guard(self, guard: Set) -> ScheduleNode:
        """A guard above the node, which may drop instances: the loops test it."""
        return self._through(put_guard, guard)

    def insert_mark(self, name: str) -> ScheduleNode:
        """A mark above the node."""
        return self._through(passes.insert_mark, name)

    def insert_filter(self, instances: Set) -> ScheduleNode:
        """A filter above the node, which may drop instances."""
        return self._through(passes.insert_filter, labelled(instances), True)

    def group(self, name: str) -> ScheduleNode:
        """The tree whose nodes above speak of one statement, an instance of which is all that comes here at once.

        Its iterators are the values of the members above; an expansion above the node says what it stands for. The
        tree has no dependences. The place of this node, below the expansion.

        Raises
        ------
        BadPath : the node is the root, or a child of a sequence or set.
        BadSchedule : another statement has the name, or it is no word; no instances come here, or one at several times.
        """
        return ScheduleNode(*grouped(self.schedule, self.at, name))

    def insert_sequence(self, filters: Sequence[Set]) -> ScheduleNode:
        """A sequence above the node, with a copy of it below each of some filters."""
        return self._through(passes.insert_sequence, [*map(labelled, filters)])

    def insert_set(self, filters: Sequence[Set]) -> ScheduleNode:
        """The same in any order."""
        return self._through(passes.insert_set, [*map(labelled, filters)])

    def sequence_splice_child(self, pos: int) -> ScheduleNode:
        """The sequence with the children of another one, below one of its filters, in the place of that child.

        Raises
        ------
        BadSchedule : no sequence stands there.
        """
        around = self._is(SequenceNode)
        if not 0 <= pos < len(around.children):
            raise BadSchedule(f"there is no child at position {pos}", where=self.schedule.marked(self.at))
        gate = around.children[pos]
        if not isinstance(gate, Filter) or not isinstance(gate.child, SequenceNode):
            raise BadSchedule("the child is no sequence", where=self.schedule.marked((*self.at, pos)))
        inside = (_within(child, gate) for child in gate.child.children)
        children = (*around.children[:pos], *inside, *around.children[pos + 1 :])
        return ScheduleNode(self.schedule.replace(self.at, SequenceNode(children)), self.at)

    def sequence_splice_children(self) -> ScheduleNode:
        """The same of all children that are sequences."""
        found, around = self, self._is(SequenceNode)
        for k in reversed(range(len(around.children))):
            gate = around.children[k]
            if isinstance(gate, Filter) and isinstance(gate.child, SequenceNode):
                found = found.sequence_splice_child(k)
        return found

    def order_before(self, instances: Set) -> ScheduleNode:
        """Some instances run before the others; the place where these are now."""
        return self._ordered(passes.order_before, instances, 1)

    def order_after(self, instances: Set) -> ScheduleNode:
        """Some instances run after the others; the place where these are now."""
        return self._ordered(passes.order_after, instances, 0)

    def _ordered(self, order: Callable[..., Schedule], instances: Set, others: int) -> ScheduleNode:
        new = order(self.schedule, self.at, labelled(instances))
        if new is self.schedule:
            return self
        around, pair = self.schedule.node(self.at[:-2]) if len(self.at) > 1 else None, new.node(self.at).children
        gate = self.schedule.node(self.at[:-1]) if around is not None else None
        if not isinstance(around, SequenceNode) or not isinstance(gate, Filter):
            return ScheduleNode(new, (*self.at, others, 0))
        k = self.parent().get_child_position()  # in a sequence the two take the place of the one
        children = (*around.children[:k], *(_within(child, gate) for child in pair), *around.children[k + 1 :])
        new = self.schedule.replace(self.at[:-2], SequenceNode(children))
        return ScheduleNode(new, (*self.at[:-2], k + others, 0))

    def graft_before(self, graft: ScheduleNode) -> ScheduleNode:
        """What a tree below an extension adds, before what arrives here; the place where this node is now.

        Of a tree with a domain all instances are added, for all values of the members above.
        """
        return self._grafted(graft, before=True)

    def graft_after(self, graft: ScheduleNode) -> ScheduleNode:
        """The same, behind what arrives here."""
        return self._grafted(graft, before=False)

    def _grafted(self, graft: ScheduleNode, before: bool) -> ScheduleNode:
        need_node(graft)
        root = graft.root()._is(Extension, Domain)
        if isinstance(root, Domain):
            above = ", ".join(f"i{k}" for k in range(self.get_schedule_depth()))
            added = Map.from_domain_and_range(Set(f"{{ [{above}] }}"), root.domain)
            called = [s.out for s, _ in root.domain.parts]  # as the tree below calls the iterators, with their primes
            added = Map._of(
                added.param_names, [(Space(s.inp, t), cs) for (s, cs), t in zip(added.parts, called, strict=True)]
            )
        else:
            added = root.extension
        new = passes.insert_extension(self.schedule, self.at, added, root.child, before)
        own = self.node
        if isinstance(own, SequenceNode):  # the pass puts the graft among its children, isl beside it
            among = new.node((*self.at, 0)).children
            rest = Filter(self.schedule.statements_at(self.at), own)
            pair = (among[0], rest) if before else (rest, among[-1])
            new = new.replace((*self.at, 0), SequenceNode(pair))
        return ScheduleNode(new, (*self.at, 0, 1 if before else 0, 0))

    def is_subtree_anchored(self) -> bool:
        """Whether the node, or one below it, speaks of the members above it."""
        return anchor(self.node) is not None

    def delete(self) -> ScheduleNode:
        """The tree without the node; the child is in its place.

        Raises
        ------
        BadPath : it is the root, or its children or its place need it.
        IllegalTransformation : it is a band, and a node below speaks of its members.
        """
        node = self.node
        if isinstance(node, Band):
            not_anchored(self.schedule, self.at, "deleting a band")
        above = self.schedule.node(self.at[:-1]) if self.at else None
        plain = len(node.children) == 1 and not isinstance(node, Domain)
        if not plain or isinstance(above, SequenceNode | SetNode):
            raise BadPath(f"{kind_of(node)} here can't be left out", where=self.schedule.marked(self.at))
        return self._put(node.children[0])

    def cut(self) -> ScheduleNode:
        """The tree without the node and all below it: a leaf is in its place.

        Raises
        ------
        BadPath : it is the root, or a child of a sequence or set.
        """
        if not self.at or isinstance(self.schedule.node(self.at[:-1]), SequenceNode | SetNode):
            raise BadPath(f"{kind_of(self.node)} here can't be cut", where=self.schedule.marked(self.at))
        return self._put(Leaf())

    def __str__(self) -> str:
        return str(self.get_schedule())

    def __repr__(self) -> str:
        return f'ScheduleNode("{self}")'

    def to_str(self) -> str:
        """isl's text of the tree, a key a line, with a comment above the node; of the root the tree's in one line."""
        return to_isl(self.schedule, block=True, at=self.at) if self.at else str(self)


def _within(node: Node, gate: Filter) -> Node:
    """A filter that lets through no more than another one."""
    assert isinstance(node, Filter)
    if gate.instances is None:
        return node
    instances = gate.instances if node.instances is None else gate.instances & node.instances
    names = tuple(n for n in node.statements if n in gate.statements)
    return replace(node, statements=names, instances=Set._of(
        instances.param_names, [part for part in instances.parts if part[0].out.name in names]))  # fmt: skip
