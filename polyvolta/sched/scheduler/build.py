"""From bands and clusters to a tree.

    node     several statements: a set of what is not connected, a sequence of clusters, or one cluster's band
    band     the cluster's band; below it what its distances of 0 leave to be satisfied
    ordered  statements without loops left, in an order in which the dependences go forward

The recursion ends, as every band uses up an iterator of some statement or satisfies a dependence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import gcd

from polyvolta.sched.components import connected, strongly_connected
from polyvolta.sched.errors import NoSchedule
from polyvolta.sched.nodes import Band, Filter, Leaf, Member, Node, SetNode
from polyvolta.sched.nodes import Sequence as SequenceNode
from polyvolta.sched.scheduler.bands import (
    Found,
    Prior,
    extended,
    find_band,
    find_carrying_row,
    fresh_directions,
    most_parallel,
)
from polyvolta.sched.scheduler.determined import extent
from polyvolta.sched.scheduler.fusion import Explain, Fuse, Fusion, Group
from polyvolta.sched.scheduler.limits import Extents, Limits
from polyvolta.sched.scheduler.pieces import (
    Piece,
    always_zero,
    distances,
    left,
    parted,
    reversed_in,
    unconditional,
    within,
)
from polyvolta.sched.scheduler.problem import Edge, Forms
from polyvolta.sched.scheduler.written import as_written
from polyvolta.sets import Set
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.engine.rows import Row
from polyvolta.sets.values.aff import Aff, linear

Own = tuple[tuple[Piece, ...], tuple[Edge, ...]]
"""The pieces between the statements of a group, and the edges for its integer programs."""


ANY = Limits(coalesce=True)


@dataclass(frozen=True, slots=True)
class Builder:
    """What the recursion shares.

    Parameters
    ----------
    names, iterators : of the statements, which everything else calls by their number, in program order.
    domain : their instances.
    numeric : for each statement whether no parameter is open.
    written : the tree of the program's own order, if there is one.
    coincident : whether a band has a first member without distances, or is one row that carries as many as possible.
    explain : called with what makes the text of each step.
    failures : why statements kept that order; if it does not respect the dependences, there is no schedule.
    """

    names: tuple[str, ...]
    iterators: tuple[tuple[str, ...], ...]
    params: tuple[str, ...]
    domain: Set
    numeric: tuple[bool, ...]
    written: Node | None
    fuse: Fuse
    outer_parallel: bool
    negative: bool
    coincident: bool
    limits: Limits
    explain: Explain
    failures: list[NoSchedule] = field(default_factory=list)
    known: dict[tuple[int, int], int] = field(default_factory=dict)  # how far a statement's iterator goes

    # ---- the tree

    def tree(self, pieces: tuple[Piece, ...], fixed: Prior) -> Node:
        """The tree below the domain; `fixed` has the directions in which a statement's instances are all alike."""
        return self.node(tuple(range(len(self.names))), pieces, fixed, False)

    def node(self, group: Group, pieces: tuple[Piece, ...], prior: Prior, inside: bool) -> Node:
        """The tree of a group of statements; `prior` is by statement, `inside` tells whether there is a band above."""
        pieces = within(pieces, group)
        if len(group) == 1:
            return self.cluster(group, pieces, prior)
        finished = not any(fresh_directions(self.depths(group), self.chosen(prior, group)))
        apart = connected(group, [p.arc for p in pieces]) if self.fuse != "max" else [group]
        if len(apart) > 1 and not (finished and inside):
            self.explain(lambda: f"{' | '.join(map(self.text, apart))} do not depend on each other")
            return SetNode(tuple([self.branch(g, self.node(g, pieces, prior, inside)) for g in apart]))
        if finished:
            return self.ordered(group, pieces, prior)
        known: dict[Group, Own] = {}

        def own(g: Group) -> Own:
            if g not in known:
                known[g] = self.own(g, pieces)
            return known[g]

        fusion = Fusion(
            group,
            pieces,
            self.fuse,
            lambda g: self.found(g, own(g), prior),
            lambda g: self.parallel(g, own(g), prior),
            self.outer_parallel and self.negative,
            lambda g: fresh_directions(self.depths(g), self.chosen(prior, g)),
            self.depths,
            self.explain,
            self.text,
        )
        clusters = fusion.clusters()
        if len(clusters) == 1:
            return self.band(group, pieces, prior, fusion.known.get(group))
        across = self.between(clusters, pieces)
        known_bands = {} if across else fusion.known  # others were found while conditions could be local
        pieces = unconditional(pieces, across)
        self.explain(lambda: f"in sequence: {', '.join(map(self.text, clusters))}")
        return SequenceNode(
            tuple([self.branch(g, self.cluster(g, pieces, prior, known_bands.get(g))) for g in clusters])
        )

    def cluster(self, group: Group, pieces: tuple[Piece, ...], prior: Prior, found: Found | None = None) -> Node:
        """The tree of statements that belong together, whose band may be known."""
        pieces = within(pieces, group)
        if len(group) == 1 and not any(fresh_directions(self.depths(group), self.chosen(prior, group))):
            return self.leaf(group, pieces)
        return self.band(group, pieces, prior, found)

    def band(self, group: Group, pieces: tuple[Piece, ...], prior: Prior, found: Found | None = None) -> Node:
        """The band of a cluster, of one carrying row if there is no other, and what stands below."""
        found = found or self.found(group, self.own(group, pieces), prior)
        rows, still = found.rows, found.coincident
        if not rows:
            rows = self.carrying(group, pieces)
            still = (False,) * len(rows)
        if not rows and (self.coincident or self.limits != ANY):
            any_ = replace(self, coincident=False, limits=ANY)
            rows = any_.found(group, self.own(group, pieces), prior).rows
            still = (False,) * len(rows)
        if not rows:
            self.explain(lambda: f"{self.text(group)} keep the order in which they were written")
            why = "depends on itself" if len(group) == 1 else "depend on each other"
            why += " in a cycle that no loop takes apart"
            self.failures.append(self.impossible(group, pieces, why))
            if self.written is None:
                raise self.failures[-1]
            return as_written(self.written, tuple([self.names[v] for v in group]))
        number, depths = self.numbered(group), self.depths(group)
        deltas: list[list[Row]] = []  # but for those that are known to be 0
        flags = [True] * len(rows)
        for p in pieces:
            heeded = p.coincident and not p.conditional  # by the flags of the rows
            moving = []
            for k, delta in enumerate(distances(rows, p, number, depths)):
                if not (still[k] and heeded):
                    flags[k] = flags[k] and not (p.coincident and not always_zero(p, delta))
                    moving.append(delta)
            deltas.append(moving)
        members = []
        for forms, coincident in zip(rows, flags):
            exprs = tuple([(self.names[v], self.expression(v, form)) for v, form in zip(group, forms)])
            members.append(Member(exprs, coincident))
        self.explain(lambda: f"band of {self.text(group)}:")
        for m in members:
            self.explain(lambda m=m: self.describe_member(m))
        own = self.chosen(prior, group)
        for forms in rows:
            own = extended(own, forms, depths)
        mine = dict(zip(group, own))
        rest = unconditional(left(pieces, deltas), parted(pieces, deltas))
        for p in rest:
            self.explain(lambda p=p: f"  {self.describe(p)} is left at equal times")
        below = self.node(group, rest, tuple([mine.get(v, r) for v, r in enumerate(prior)]), True)
        return Band(tuple(members), below, permutable=True)

    def ordered(self, group: Group, pieces: tuple[Piece, ...], prior: Prior) -> Node:
        """Statements without loops left, one after another.

        Of those that depend on each other in a cycle one runs first at some times, another at others: a row that
        satisfies as many of these dependences as possible tells the times apart. Where statements share a band as
        isl's do, those between which nothing is left at equal times have no order then, as there: loops run them in
        that of the program.
        """
        if not pieces and self.fuse == "near":
            return Leaf()
        parts = strongly_connected(group, [p.arc for p in pieces if p.valid])
        if len(parts) == 1:
            return self.cluster(group, pieces, prior)
        return SequenceNode(tuple([self.branch(part, self.cluster(part, pieces, prior)) for part in parts]))

    def between(self, groups: Sequence[Group], pieces: Sequence[Piece]) -> frozenset[str]:
        """The arrays of conditions that are not local, as their ends are in two groups."""
        place = {v: g for g in groups for v in g}
        return frozenset().union(*[p.conditions for p in pieces if place[p.source] != place[p.sink]])

    def leaf(self, group: Group, pieces: Sequence[Piece]) -> Node:
        before = [p for p in pieces if p.valid]
        if before:
            raise self.impossible(group, before, "would have to run before itself")
        return Leaf()

    def branch(self, group: Group, below: Node) -> Filter:
        return Filter(tuple([self.names[v] for v in group]), below)

    # ---- rows

    def own(self, group: Group, pieces: Sequence[Piece]) -> Own:
        """The pieces between statements of a group, as edges, too."""
        number, own = self.numbered(group), within(pieces, group)
        return own, tuple([p.edge(number) for p in own])

    def found(self, group: Group, own: Own, prior: Prior) -> Found:
        """The band of a group; of two, with conditions that are local and without, the better one.

        Of the first, conditions of those arrays are local whose pairs run in the other order somewhere while a
        condition is not local: they are found one after another, beginning with none.
        """
        pieces, edges = own

        def band(edges: tuple[Edge, ...]) -> Found:
            depths, params = self.depths(group), len(self.params)
            given = depths, params, edges, self.chosen(prior, group), self.outer_parallel, self.negative
            limits = self.sized(group)
            found = find_band(*given, self.coincident, limits)
            limits = limits or self.limits.exceeded(found.rows, depths, params, self.extents(group))
            return found if limits is None else find_band(*given, self.coincident, limits)

        plain = band(edges)
        if not any(p.conditional for p in pieces):
            return plain
        number, depths = self.numbered(group), self.depths(group)
        local: frozenset[str] = frozenset()
        while True:
            free = band(tuple([
                replace(e, local=not local.isdisjoint(p.conditions), valid=e.valid and not p.conditional)
                for p, e in zip(pieces, edges)
            ]))  # fmt: skip
            deltas = [distances(free.rows, p, number, depths) for p in pieces]
            broken = parted(pieces, deltas) & reversed_in(pieces, deltas)
            if not broken:
                return max(plain, free, key=lambda f: (f.width, f.parallel))
            local |= broken

    def parallel(self, group: Group, own: Own, prior: Prior) -> int | None:
        """How many outer members of a group's band are parallel; None where it takes the band to tell."""
        pieces, edges = own
        if not self.outer_parallel or any(p.conditional for p in pieces):
            return None
        given = self.depths(group), len(self.params), edges, self.chosen(prior, group), self.negative
        return most_parallel(*given, self.sized(group))

    def carrying(self, group: Group, pieces: tuple[Piece, ...]) -> tuple[Forms, ...]:
        """A row that satisfies as many dependences as possible; none if none satisfies any.

        Where bands begin with a member without distances, so that those below may, these are all that a coincident
        member must not have; if none does, those that say what is valid.
        """
        number, every = self.numbered(group), pieces
        apart = None if self.limits.coalesce else self.extents(group)
        pieces = tuple([p for p in every if p.valid or (self.coincident and p.coincident)])
        edges = tuple([p.edge(number) for p in pieces])
        if self.coincident:  # what is behind such a row is nearer by simple loops than by skewed ones
            edges = tuple([replace(e, valid=True, near=False) for e in edges])
        found = find_carrying_row(self.depths(group), len(self.params), edges, self.negative, apart)
        if found is None:
            other = replace(self, coincident=False)
            return other.carrying(group, every) if self.coincident else ()
        forms, carried = _without_common_factor(*found, edges, self.depths(group))
        why = "no row is valid for all dependences and new, one is taken that satisfies"
        self.explain(lambda: f"{self.text(group)}: {why}")
        for k in carried:
            self.explain(lambda k=k: f"  {self.describe(pieces[k])}")
        return (forms,)

    def sized(self, group: Group) -> Forms | None:
        """The limits of a group's rows where all sizes are numbers; None where any row may do."""
        if self.limits.coalesce or not all(map(self.numeric.__getitem__, group)):
            return None
        return self.limits.of(self.depths(group), len(self.params), self.extents(group))

    def extents(self, group: Group) -> Extents:
        """How far the iterators of a group's statements go, found when it is asked for."""

        def of(k: int, j: int) -> int:
            v = group[k]
            if (v, j) not in self.known:
                self.known[v, j] = extent(self.domain.only(self.names[v]), j)
            return self.known[v, j]

        return of

    def expression(self, v: int, form: Row) -> Aff:
        """A form over (1, parameters, iterators) of a statement."""
        return linear(dict(zip((*self.params, *self.iterators[v]), form[1:], strict=True)), form[0])

    def numbered(self, group: Group) -> dict[int, int]:
        return {v: k for k, v in enumerate(group)}

    def depths(self, group: Group) -> tuple[int, ...]:
        return tuple([len(self.iterators[v]) for v in group])

    def chosen(self, prior: Prior, group: Group) -> Prior:
        return tuple([prior[v] for v in group])

    # ---- words

    def text(self, group: Group) -> str:
        return "+".join(self.names[v] for v in group)

    def describe(self, p: Piece) -> str:
        """A dependence in a few words."""
        kinds: dict[str, list[str]] = {}
        for kind, array in p.labels:
            kinds.setdefault(array, []).append(kind)
        what = "; ".join(", ".join(k) + f" on {array}" * bool(array) for array, k in kinds.items())
        return f"{self.names[p.source]} -> {self.names[p.sink]} ({what})"

    def describe_member(self, m: Member) -> str:
        """A member of a band in a line."""
        return f"  member {'; '.join(f'{s}: {e}' for s, e in m.exprs)}" + "  (parallel)" * m.coincident

    def impossible(self, group: Group, pieces: Sequence[Piece], why: str) -> NoSchedule:
        """The error that these dependences leave no schedule, with a pair of instances of each."""
        lines = []
        for p in pieces:
            point = cj.sample(p.conjunct)
            line = self.describe(p)
            if point is not None:
                n, ds = len(self.params), len(self.iterators[p.source])
                pair = point[n : n + ds], point[n + ds :]
                shown = [f"{self.names[v]}[{', '.join(map(str, x))}]" for v, x in zip(p.arc, pair)]
                line += f", for one {shown[0]} before {shown[1]}"
                if n:
                    line += " where " + ", ".join(f"{k} = {v}" for k, v in zip(self.params, point))
            lines.append(line)
        return NoSchedule(
            f"{', '.join(self.names[v] for v in group)} {why}",
            where="\n".join(lines),
            hint="the dependences form a cycle; those of a program that runs never do",
        )


def _without_common_factor(
    forms: Forms, carried: Sequence[int], edges: Sequence[Edge], depths: Sequence[int]
) -> tuple[Forms, Sequence[int]]:
    """A row divided by what all coefficients of several statements have in common, and what it still satisfies.

    `[2t]` of one statement and `[2t + 1]` of another are `[t]` of both: which of them runs first at one time is said
    below. Quotients rounded down keep their order. Where they would satisfy nothing, the row stays.
    """
    factor = gcd(*[x for form in forms for x in form[1:]])
    if len(forms) > 1 and factor > 1:
        smaller = tuple([tuple([x // factor for x in form]) for form in forms])
        kept = [k for k in carried if edges[k].cone.positive(edges[k].delta(smaller, depths))]
        if kept:
            return smaller, kept
    return forms, carried
