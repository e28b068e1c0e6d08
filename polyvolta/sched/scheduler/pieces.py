"""The dependences that are still to be satisfied, convex piece by convex piece.

A band satisfies the pairs of instances to which it gives different times; those of equal times are left to what stands
below. `left` is exactly these: a piece goes when its distance is at least 1 everywhere in some member, stays as it is
where all distances are 0, and is cut down otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.dependence.pairs import among
from polyvolta.sched.scheduler.farkas import cone
from polyvolta.sched.scheduler.problem import Edge, Forms, distance
from polyvolta.sets import Set
from polyvolta.sets.budgets import remembered
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.engine.rows import Row, negate

DATA = ("RAW", "WAR", "WAW")
NEAR, VALID = ("RAW", "proximity"), (*DATA, "validity", "conditional validity")
COINCIDENT = (*DATA, "coincidence")


@dataclass(frozen=True, slots=True)
class Piece:
    """A conjunct of one or several dependences over (parameters, source, sink), statements by number.

    Parameters
    ----------
    labels : (kind, array) of the dependences it is part of; of conditions, and of what is valid on these, the array is
        what both belong to, "" if nothing is said.
    """

    source: int
    sink: int
    conjunct: Conjunct
    labels: tuple[tuple[str, str], ...]

    @property
    def arc(self) -> tuple[int, int]:
        return self.source, self.sink

    @property
    def near(self) -> bool:
        """Whether the sink uses what the source made, so that they are better close together."""
        return _kinds(self.labels)[0]

    @property
    def valid(self) -> bool:
        """Whether the source has to run first."""
        return _kinds(self.labels)[1]

    @property
    def coincident(self) -> bool:
        """Whether members that run source and sink at two times are not coincident."""
        return _kinds(self.labels)[2]

    @property
    def conditional(self) -> frozenset[str]:
        """The arrays whose conditions have to be local if the source may run later; none if it has to run first."""
        return _conditions(self.labels)[0]

    @property
    def conditions(self) -> frozenset[str]:
        """The arrays of which it is a condition, local where source and sink run at one time."""
        return _conditions(self.labels)[1]

    def edge(self, number: dict[int, int]) -> Edge:
        """The piece for an integer program that numbers statements otherwise."""
        return Edge(number[self.source], number[self.sink], cone(self.conjunct), *_kinds(self.labels))


@lru_cache(maxsize=1 << 10)
def _kinds(labels: tuple[tuple[str, str], ...]) -> tuple[bool, bool, bool]:
    """Whether a piece is to be near, is valid, is coincident."""
    kinds = {kind for kind, _ in labels}
    return not kinds.isdisjoint(NEAR), not kinds.isdisjoint(VALID), not kinds.isdisjoint(COINCIDENT)


@lru_cache(maxsize=1 << 10)
def _conditions(labels: tuple[tuple[str, str], ...]) -> tuple[frozenset[str], frozenset[str]]:
    """On conditions of which arrays a piece is valid, of which it is a condition."""
    always = any(kind in VALID and kind != "conditional validity" for kind, _ in labels)
    found = [frozenset([a for k, a in labels if k == kind]) for kind in ("conditional validity", "condition")]
    return frozenset() if always else found[0], found[1]


def pieces_of(
    dependences: Iterable[Dependence], number: dict[str, int], params: tuple[str, ...], domain: Set | None = None
) -> tuple[Piece, ...]:
    """The pieces of all dependences between numbered statements; equal ones once, empty ones not.

    Parameters
    ----------
    domain : the instances that count, if there may be others in the dependences.
    """
    instances = {} if domain is None else {s.out.name or "": cs for s, cs in domain.align_params(params).parts}
    found: dict[tuple[int, int, Conjunct], dict[tuple[str, str], None]] = {}
    inside: dict[tuple[tuple[str, str], tuple[Conjunct, ...]], Sequence[Conjunct]] = {}  # constraints are often alike
    for d in dependences:
        for space, conjuncts in d.relation.align_params(params).parts:
            names = (space.inp.name if space.inp else None) or "", space.out.name or ""
            if names[0] in number and names[1] in number:
                split, n = len(params) + space.n_in, len(params) + space.n_in + space.n_out
                sides = ((names[0], range(len(params), split)), (names[1], range(split, n)))
                kept = conjuncts if domain is None else inside.get((names, conjuncts))
                if kept is None:
                    kept = inside[names, conjuncts] = _inside(conjuncts, sides, instances, len(params))
                for c in kept:
                    found.setdefault((number[names[0]], number[names[1]], c), {})[d.kind, d.array] = None
    return tuple([Piece(s, t, c, tuple(labels)) for (s, t, c), labels in found.items() if not cone(c).empty])


Sides = tuple[tuple[str, range], ...]
"""A statement, and the dimensions of a piece that are its iterators: of the source, of the sink."""


def _inside(
    pieces: Sequence[Conjunct], sides: Sides, instances: dict[str, tuple[Conjunct, ...]], params: int
) -> Sequence[Conjunct]:
    """The pairs of which both are instances."""
    n = sides[-1][1].stop
    knives = [[cj.reindex(k, n, (*range(params), *at)) for k in instances[name]] for name, at in sides]
    return [part for c in pieces for part in among(c, knives)]


def within(pieces: Sequence[Piece], group: Iterable[int]) -> tuple[Piece, ...]:
    """The pieces between statements of a group."""
    group = set(group)
    return tuple([p for p in pieces if p.source in group and p.sink in group])


def left(pieces: Iterable[Piece], deltas: Iterable[Sequence[Row]]) -> tuple[Piece, ...]:
    """What is left of each piece where all its distances, one form a member, are 0. Exact."""
    out = []
    for p, forms in zip(pieces, deltas):
        edge = cone(p.conjunct)
        if any(edge.positive(f) or (not p.valid and edge.positive(negate(f))) for f in forms):
            continue
        moving = [f for f in forms if not edge.vanishes(f)]
        c: Conjunct | None = p.conjunct
        if moving:
            pad = (0,) * len(p.conjunct.divs)
            c = cj.normalise(c.n, c.divs, (*c.eqs, *[(*f, *pad) for f in moving]), c.ineqs)
        if c is not None and not c.is_empty:
            out.append(p if c is p.conjunct else replace(p, conjunct=c))
    return tuple(out)


def parted(pieces: Iterable[Piece], deltas: Iterable[Sequence[Row]]) -> frozenset[str]:
    """The arrays of conditions that are not local: some distance, one form a member, is not 0. Exact."""
    found: set[str] = set()
    for p, forms in zip(pieces, deltas):
        if p.conditions - found and not all(_never_positive(p, f) and _never_positive(p, negate(f)) for f in forms):
            found |= p.conditions
    return frozenset(found)


def reversed_in(pieces: Iterable[Piece], deltas: Iterable[Sequence[Row]]) -> frozenset[str]:
    """The arrays of which a pair is valid on conditions, and runs in the other order in some member. Exact."""
    found: set[str] = set()
    for p, forms in zip(pieces, deltas):
        if p.conditional - found and not all(_never_positive(p, negate(f)) for f in forms):
            found |= p.conditional
    return frozenset(found)


def unconditional(pieces: tuple[Piece, ...], arrays: frozenset[str]) -> tuple[Piece, ...]:
    """The pieces; those valid on conditions of these arrays are valid in any case, as one of these is not local."""
    if not arrays:
        return pieces
    settled = {("conditional validity", a): ("validity", a) for a in arrays}
    return tuple([replace(p, labels=tuple([settled.get(x, x) for x in p.labels])) for p in pieces])


def always_zero(p: Piece, delta: Row) -> bool:
    """Whether a distance is 0 at all pairs of instances. Exact."""
    if not p.valid or p.conditional:
        return _never_positive(p, delta) and _never_positive(p, negate(delta))
    edge = cone(p.conjunct)
    if edge.vanishes(delta):
        return True
    if edge.attains(delta):  # if there is a point, of which an integral vertex is one
        return not edge.integral and p.conjunct.is_empty
    return _never_positive(p, delta)


def _never_positive(p: Piece, delta: Row) -> bool:
    c = p.conjunct
    away = cj.normalise(c.n, c.divs, c.eqs, (*c.ineqs, (delta[0] - 1, *delta[1:], *(0,) * len(c.divs))))
    return away is None or away.is_empty


def distances(rows: Sequence[Forms], p: Piece, number: dict[int, int], depths: Sequence[int]) -> list[Row]:
    """The distance of a piece in each member."""
    source, sink = number[p.source], number[p.sink]
    return [distance(source, sink, forms, depths) for forms in rows]


@remembered(1 << 10)
def steps(c: Conjunct, depth: int) -> tuple[Row, ...]:
    """How far apart, iterator by iterator, the two are at the generators of a piece of one statement; not where they
    are at one place."""
    found, sink = cone(c), 1 + c.n - depth
    generators = [*found.lines, *found.rays, *[m for group in found.moves for m in group]]
    if found.base is not None:
        generators.append(found.base)
    apart = [tuple([y - x for x, y in zip(g[sink - depth : sink], g[sink:])]) for g in generators]
    return tuple([step for step in apart if any(step)])
