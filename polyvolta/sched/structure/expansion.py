"""Expansion nodes of isl's trees, taken out.

    { contraction: "{ S[i] -> G[(floor(i/2))] }", expansion: "{ G[j] -> S[i] : 2j <= i <= 2j + 1 }", child: ... }

Above such a node the tree speaks of groups G, below it of what they stand for. Here the statements below are those of
the whole tree: the domain gets the expansion of its groups, a filter what leads into it, and a band's expression for S
is the one for G after the contraction, by cases if that has several pieces. The order of the instances is the same.
Where a statement comes to a node on several ways, by itself and for groups, filters say which instances come on which,
and bands have cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TypeVar, cast

from polyvolta.sched.cases import Cases
from polyvolta.sched.nodes import Band, Domain, Expansion, Extension, Filter, Leaf, Member, Node, with_children
from polyvolta.sched.structure.reach import added_by, expansion_of, names_of, only, passed
from polyvolta.sets import Aff, Map, Set, var
from polyvolta.sets.values.space import Space, Tuple

R = TypeVar("R", Set, Map)
NO_MAP, NO_SET = Map._of((), []), Set._of((), [])


@dataclass(frozen=True, slots=True)
class Expansions:
    """What expansions below a node do.

    Parameters
    ----------
    contraction : instances of the statements below -> those of groups.
    expansion : instances of groups that come there -> those of the statements below.
    gone : what comes there, groups and what has no expansion and ends there.
    groups : the tuples of the groups, whose dimensions the expressions above use.
    """

    contraction: Map = NO_MAP
    expansion: Map = NO_MAP
    gone: Set = NO_SET
    groups: tuple[Tuple, ...] = ()

    def __or__(self, other: Expansions) -> Expansions:
        """Of several children."""
        return Expansions(
            self.contraction | other.contraction,
            self.expansion | other.expansion,
            self.gone | other.gone,
            (*self.groups, *other.groups),
        )

    def after(self, contraction: Map, expansion: Map, here: Set) -> Expansions:
        """What an expansion node with these below it does, to which some groups and other statements come."""
        return Expansions(
            contraction | composed(self.contraction, contraction),
            expansion.subtract_range(self.gone) | composed(expansion, self.expansion),
            here,
            tuple([space.out for space, _ in here.parts]),
        )

    def above(self, node: Node, here: Set, shared: frozenset[str]) -> tuple[Node, Expansions]:
        """A node above, its child done, in terms of the statements below; and what is left to do above it.

        Parameters
        ----------
        here : the instances that come to the node, groups among them.
        shared : the statements of which some instances come on other ways.
        """
        if not self.gone.parts and not (isinstance(node, Filter) and shared.intersection(node.statements)):
            return node, self
        match node:
            case Domain(domain):
                return replace(node, domain=self.expanded(domain)), Expansions()
            case Extension(extension):
                own = {s.out.key for s, _ in extension.parts}
                groups = [p for p in self.gone.parts if p[0].out.key not in own]
                others = [p for p in self.expansion.parts if p[0].inp and p[0].inp.key not in own]
                left = replace(
                    self,
                    expansion=Map._of(self.expansion.param_names, others),
                    gone=Set._of(self.gone.param_names, groups),
                )
                added = composed(extension, self.expansion)
                return replace(node, extension=filled(extension.subtract_range(self.gone)) | added), left
            case Filter(statements, child, instances):
                every = only(self.contraction.range(), statements)
                wanted = Set.universe(every) if every.parts else NO_SET
                if instances is not None:
                    wanted = _within(wanted, instances)
                into = self.contraction.intersect_range(wanted)
                come = dict.fromkeys(space.source.name for space, cs in into.parts if cs)
                below = (*statements, *(n for n in come if n is not None and n not in statements))
                gone = only(self.gone, statements)
                gone = gone if instances is None else _within(gone, instances)
                if shared.intersection(below):
                    instances = minus(passed(here, node), gone)
                given = None if instances is None else only(instances | into.domain(), below)
                expansion = self.expansion.intersect_domain(wanted)
                return Filter(below, child, given), replace(self, expansion=expansion, gone=gone)
            case Band():
                return replace(node, members=tuple([self.member(m, here) for m in node.members])), self
        return node, self

    def expanded(self, domain: Set) -> Set:
        """The instances of a domain with those of groups expanded."""
        return minus(domain, self.gone) | self.expansion.intersect_domain(domain).range()

    def member(self, m: Member, here: Set = NO_SET) -> Member:
        """The member with expressions for the statements below; of the instances that come by themselves its own."""
        exprs, known = dict(m.exprs), dict(m.exprs)
        for name in self.contraction.tuple_names:
            one = self.contraction.only(name)
            pieces: list[tuple[Set, Aff]] = []
            for space, cs in one.parts:
                e = known.get(space.out.name or "")
                if e is not None:
                    group = next(t for t in self.groups if t.name == space.out.name)
                    pieces += _through(Map._of(one.param_names, [(space, cs)]), e, group.dims)
            if pieces:
                own = minus(minus(only(here, [str(name)]), self.gone), one.domain())
                if own.parts and name in known:
                    pieces += [(when & own, e) for when, e in _cases(known[name], own)]
                exprs[str(name)] = Cases(tuple(pieces))
        return replace(m, exprs=tuple(exprs.items()))


def _cases(e: Aff | Cases, instances: Set) -> tuple[tuple[Set, Aff], ...]:
    """The cases of an expression, of which one that has none is one."""
    return e.pieces if isinstance(e, Cases) else ((instances, e),)


def _within(some: Set, other: Set) -> Set:
    """The intersection, of whatever tuples."""
    return some & other if {s.key for s, _ in some.parts} & {s.key for s, _ in other.parts} else NO_SET


def minus(some: Set, other: Set) -> Set:
    """The difference, of whatever tuples, without those of which nothing is left."""
    if not {s.key for s, _ in some.parts} & {s.key for s, _ in other.parts}:
        return some
    return filled(some - other)


def filled(some: R) -> R:
    """The same without the tuples of which nothing is left."""
    left = some.without_empty()
    return left._of(left.param_names, [p for p in left.parts if p[1]])


def composed(first: Map, second: Map) -> Map:
    """First one map, then the other; nothing where they don't meet."""
    shared = {s.out.key for s, _ in first.parts} & {s.inp.key for s, _ in second.parts if s.inp}
    return first.apply_range(second) if shared else NO_MAP


def _through(contraction: Map, e: Aff | Cases, dims: tuple[str, ...]) -> list[tuple[Set, Aff]]:
    """The cases of an expression of a group after the contraction of one statement to it."""
    out = []
    groups = e.pieces if isinstance(e, Cases) else ((None, e),)
    for when, f in groups:
        here = contraction if when is None else contraction.intersect_range(when)
        function = here.as_multi_pw_aff()
        for instances, values in function.pieces:
            out.append((instances, f.subs(dict(zip(dims, values, strict=True)))))
    return out


def expanded(root: Node) -> Node:
    """The tree, whose root is a domain, without expansions: of the statements below them; itself if it has none.

    >>> from polyvolta.isl import Schedule
    >>> pairs = "contraction: '{ S[i] -> G[(floor(i/2))] }', expansion: '{ G[j] -> S[i] : 2j <= i <= 2j + 1 }'"
    >>> band = f"schedule: '[{{ G[j] -> [(-j)] }}]', child: {{ {pairs} }}"
    >>> tree = Schedule(f"{{ domain: '{{ G[j] : 0 <= j < 3 }}', child: {{ {band} }} }}")
    >>> print(expanded(tree.root))
    DOMAIN: S[i] : 0 ≤ i ≤ 5
      BAND: S[i] → [-⌊i/2⌋]
    """
    if not _expands(root):
        return root
    ways = Counter(name for some in _brought(root) for name in names_of(some))
    shared = frozenset([name for name, n in ways.items() if n > 1])
    return without_groups(_walked(root, NO_SET, Expansions(), shared)[0])


def contracted(
    found: dict[str, tuple[Aff, ...]], contraction: Map, groups: Set, instances: Set
) -> dict[str, tuple[Aff, ...]]:
    """The expressions of the members above an expansion for the instances below it, from those for the groups."""
    through = Expansions(contraction, groups=tuple([s.out for s, _ in groups.parts]))
    depth = max(map(len, found.values()), default=0)
    above = [Member(tuple([(s, es[k]) for s, es in found.items() if k < len(es)])) for k in range(depth)]
    below = [dict(through.member(m).exprs) for m in above]
    own = {str(s.out.name): s.out for s, _ in instances.parts}
    return {
        name: tuple([cast("Aff", _single(es[name], t, instances)) for es in below if name in es])
        for name, t in own.items()
    }


def along(root: Node, leaf: Expansions) -> Node:
    """The tree below a domain after what each leaf does."""
    return _walked(root, NO_SET, leaf, frozenset())[0]


def _expands(node: Node) -> bool:
    return isinstance(node, Expansion) or any(map(_expands, node.children))


def _brought(node: Node) -> Iterator[Set | Map]:
    """What brings instances to a node or those below it."""
    match node:
        case Domain(some) | Extension(some) | Expansion(_, some):
            yield some
    for child in node.children:
        yield from _brought(child)


def _walked(node: Node, here: Set, leaf: Expansions, shared: frozenset[str]) -> tuple[Node, Expansions]:
    """A node to which some instances come, and what is to be done above it; `shared` as for `Expansions.above`."""
    below = here
    match node:
        case Leaf():
            return node, leaf
        case Domain(some):
            below = some
        case Extension(some):
            below = here | added_by(some)
        case Filter():
            below = passed(here, node)
        case Expansion(contraction, expansion, child):
            led = expansion_of(here, expansion)
            found, left = _walked(child, led, leaf, shared)
            return found, left.after(_told_apart(contraction, led, shared), expansion, here)
    kids = [_walked(child, below, leaf, shared) for child in node.children]
    left = reduce(or_, [left for _, left in kids])
    node = with_children(node, tuple([child for child, _ in kids]))
    return left.above(_named(node, here) if isinstance(node, Band) else node, here, shared)


def _named(band: Band, here: Set) -> Band:
    """The band with its expressions as cases, which say what they call iterators: what declares these may go."""
    every = {s.out.name: Set.universe(Space(None, s.out)) for s, _ in here.parts}
    members = [
        replace(
            m,
            exprs=tuple([(s, Cases(((every[s], e),)) if s in every and isinstance(e, Aff) else e) for s, e in m.exprs]),
        )
        for m in band.members
    ]
    return replace(band, members=tuple(members))


def _told_apart(contraction: Map, led: Set, shared: frozenset[str]) -> Map:
    """A contraction, of some statements for the instances alone to which an expansion leads."""
    params = contraction.param_names
    others = Map._of(params, [p for p in contraction.parts if p[0].source.name not in shared])
    own = shared.intersection(names_of(led))
    of_led = Map._of(params, [p for p in contraction.parts if p[0].source.name in own])
    return others | of_led.intersect_domain(only(led, own)) if of_led.parts else others


def without_groups(root: Node) -> Node:
    """The tree without statements that nothing declares any more, and with cases only where there are several."""
    declared: dict[str, Tuple] = {}
    instances = NO_SET
    for some in _declared(root):
        declared |= {s.out.name or "": s.out for s, _ in some.parts}
        instances = instances | some
    return _cleared(root, declared, instances)


def _declared(node: Node) -> Iterator[Set]:
    if isinstance(node, Domain):
        yield node.domain
    if isinstance(node, Extension):
        yield node.extension.range()
    for child in node.children:
        yield from _declared(child)


def _cleared(node: Node, declared: dict[str, Tuple], instances: Set) -> Node:
    match node:
        case Filter(statements, _, given):
            left = tuple(s for s in statements if s in declared)
            if given is not None:
                given = Set._of(given.param_names, [p for p in given.parts if p[0].out.name in declared])
            node = Filter(left, node.child, given)
        case Band():
            members = []
            for m in node.members:
                exprs = tuple((s, _single(e, declared[s], instances)) for s, e in m.exprs if s in declared)
                members.append(replace(m, exprs=exprs))
            node = replace(node, members=tuple(members))
    return with_children(node, tuple(_cleared(child, declared, instances) for child in node.children))


def _single(e: Aff | Cases, own: Tuple, instances: Set) -> Aff | Cases:
    """The expression in the iterators of the declaration; a single one where a case has all instances."""
    if not isinstance(e, Cases):
        return e
    here = instances.only(own.name)
    pieces = []
    for when, f in e.pieces:
        table = {a: var(b) for a, b in zip(when.space.out.dims, own.dims, strict=True)}
        g = f.rewrite(lambda n, table=table: table.get(n) or var(n))
        if here.is_subset(when):
            return g
        if not when.is_disjoint(here):
            pieces.append((Set._of(when.param_names, [(Space(None, own), cs) for _, cs in when.parts]), g))
    return Cases(tuple(pieces))
