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
from polyvolta.sched.by_isl.fewer import below, branches, gate_of, gated, known_at, paired, within
from polyvolta.sched.by_isl.grouping import grouped, subtree_contraction, subtree_expansion
from polyvolta.sched.by_isl.plain import checks_arguments
from polyvolta.sched.by_isl.standing import need_node
from polyvolta.sched.errors import BadPath, BadSchedule
from polyvolta.sched.passes.common.legal import settled
from polyvolta.sched.passes.common.places import inserted_at, tuples_of
from polyvolta.sched.passes.common.subtree import anchor, not_anchored
from polyvolta.sched.passes.mapping.context import put_guard
from polyvolta.sched.passes.mapping.extension import as_read, fitting, with_iterators
from polyvolta.sched.passes.order.sequences import not_copied
from polyvolta.sched.structure.reach import as_declared, names_of
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
from polyvolta.sets.values.shape import need_map
from polyvolta.sets.values.unions import gives_union


@take_keywords
@checks_arguments
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
        return ScheduleNode(Schedule(Extension(as_read(labelled(need_map(extension, "an extension"), inputs=False)))))

    def map_descendant_bottom_up(self, f: Callable[[ScheduleNode], ScheduleNode]) -> ScheduleNode:
        """The tree after a function of each node below this one, and of this one, children first."""
        here = self
        for k in range(self.n_children()):
            here = ScheduleNode(here.child(k).map_descendant_bottom_up(f).schedule, self.at)
        return f(here)

    # ---- what it says

    @gives_union
    def get_domain(self) -> Set:
        """The instances that reach the node; none reach the root, which has them."""
        return plain(self._arriving()) if self.at else Set("{ }")

    @gives_union
    def get_universe_domain(self) -> Set:
        """All instances of the statements that reach the node."""
        return universe(self.get_domain())

    @gives_union
    def get_prefix_schedule_union_map(self) -> Map:
        """Instances -> the values of the members above, whether the domain has them or not, as far as filters let."""
        return plain(unbounded(self.schedule).prefix_schedule(self.at)) if self.at else Map("{ }")

    def get_prefix_schedule_multi_union_pw_aff(self) -> MultiUnionPwAff:
        """The same as a function; at the root one without values, which is known everywhere."""
        if not self.at:
            known = self.node.domain if isinstance(self.node, Domain) else self.get_domain()
            return MultiUnionPwAff("[]").align_params(known.param_names)
        return MultiUnionPwAff(self.get_prefix_schedule_union_map())

    get_prefix_schedule_union_pw_multi_aff = get_prefix_schedule_union_map

    @gives_union
    def get_prefix_schedule_relation(self) -> Map:
        """The instances that reach the node -> the values of the members above."""
        return plain(self.schedule.prefix_schedule(self.at)) if self.at else Map("{ }")

    @gives_union
    def get_subtree_schedule_union_map(self) -> Map:
        """Instances -> their times from here on, whether the domain has them or not, as far as filters below let."""
        if isinstance(self.node, Domain):
            return plain(self.schedule.to_map())
        return plain(Schedule(Domain(universe(self._arriving()), self.node)).to_map())

    @gives_union
    def get_subtree_contraction(self) -> Map:
        """What the expansions below lead to -> the instances that come here; each of these itself without any."""
        return plain(subtree_contraction(self.node, universe(self._arriving()))) if self.at else Map("{ }")

    @gives_union
    def get_subtree_expansion(self) -> Map:
        """The instances that come here -> what the expansions below lead to."""
        return plain(subtree_expansion(self.node, universe(self._arriving()))) if self.at else Map("{ }")

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
        BadSchedule : the function has no value for an instance, or several.
        IllegalTransformation : a node here or below speaks of the members above it.
        """
        inserted_at(self.schedule, self.at)
        not_anchored(self.schedule, self.at, "another band above")
        band = band_of(schedule, self._arriving())
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
        """A filter above the node, which may drop instances; of a node that is a filter, one in its place for both."""
        inserted_at(self.schedule, self.at)
        return self._put(below(gate_of(known_at(self.schedule, self.at, instances)), self.node))

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
        """A sequence above the node, with what is left of it below each of some filters.

        Raises
        ------
        BadSchedule : an instance that arrives is in none of the filters, or in two.
        IllegalTransformation : a dependence forbids it; or a node below speaks of the members above it.
        """
        return self._through(branches, filters, SequenceNode, "inserting a sequence")

    def insert_set(self, filters: Sequence[Set]) -> ScheduleNode:
        """The same in any order."""
        return self._through(branches, filters, SetNode, "inserting a set")

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
        inside = (within(child, gate) for child in gate.child.children if isinstance(child, Filter))
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
        return self._ordered(instances, True)

    def order_after(self, instances: Set) -> ScheduleNode:
        """Some instances run after the others; the place where these are now."""
        return self._ordered(instances, False)

    def _ordered(self, instances: Set, first: bool) -> ScheduleNode:
        tree, at, doing = self.schedule, self.at, "ordering some instances"
        inserted_at(tree, at)
        place = at[:-1] if self._in_a_sequence() else at
        pair = paired(tree, at, tree.node(place), instances, first)
        if not pair:
            return self
        not_copied(tree, at, doing)
        others = 1 if first else 0
        if place == at:
            new = settled(tree, tree.replace(at, SequenceNode(tuple(pair))), doing, at)
            return ScheduleNode(new, (*at, others, 0))
        new = self._beside(pair)  # the two take the place of the one
        return ScheduleNode(settled(tree, new, doing, at[:-2]), (*at[:-2], at[-2] + others, 0))

    def _in_a_sequence(self) -> bool:
        """Whether the node stands below a filter of a sequence."""
        above = [self.schedule.node(self.at[:-k]) for k in (1, 2) if len(self.at) > k - 1]
        return len(above) > 1 and isinstance(above[0], Filter) and isinstance(above[1], SequenceNode)

    def _beside(self, children: Sequence[Node]) -> Schedule:
        """The tree with other children of a sequence in place of the one that the node stands below."""
        around, k = self.schedule.node(self.at[:-2]), self.at[-2]
        return self.schedule.replace(
            self.at[:-2], SequenceNode((*around.children[:k], *children, *around.children[k + 1 :]))
        )

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
        come = self.schedule.instances_at(self.at)
        gone = [s for s in names_of(added) if come.only(s).is_empty()]  # which filters above may have dropped
        arrived = tuple([s for s in self.schedule.statements_at(self.at) if s not in gone])
        there, called = tuples_of(self.schedule), as_read(added)
        added, subtree = as_declared(called, there), root.child
        for (old, _), (new, _) in zip(called.parts, added.parts, strict=True):
            subtree = with_iterators(subtree, old.out, new.out)
        others = [str(s.out.name) for s, _ in added.parts if there.get(str(s.out.name), s.out) != s.out]
        added = fitting(self.schedule, self.at, added, {*arrived, *others})  # others may be added again
        mine = Filter(names_of(added), subtree)
        above = self.schedule.node(self.at[:-3]) if len(self.at) > 2 and self._in_a_sequence() else None
        if isinstance(above, Extension) and there.keys().isdisjoint(mine.statements):
            gate = self.schedule.node(self.at[:-1])  # beside others that are added there, as isl has them
            new = self._beside((mine, gate) if before else (gate, mine))
            new = new.replace(self.at[:-3], replace(new.node(self.at[:-3]), extension=above.extension | added))
            k = self.parent().get_child_position()
            return ScheduleNode(new, (*self.at[:-2], k + int(before), 0))
        (rest,) = gated([(Filter(arrived), self.node)])
        new = self.schedule.replace(self.at, Extension(added, SequenceNode((mine, rest) if before else (rest, mine))))
        return ScheduleNode(new, (*self.at, 0, 1 if before else 0, 0))

    def is_subtree_anchored(self) -> bool:
        """Whether the node, or one below it, speaks of the members above it, as any context and any guard may."""
        return anchor(self.node) is not None or any(
            isinstance(n, Context | Guard) for _, n in self.schedule.walk(self.at)
        )

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
