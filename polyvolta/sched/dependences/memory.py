"""Dependences between statement instances, and whether a schedule respects them.

A dependence is a relation from instances to instances that touch the same element, one of them writing. Here
they are memory-based: every ordered pair counts, which is exact for legality and for coincidence. Which of a
pair runs first is read from the order of the statements and, within one, from the order of its iterators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Protocol

from polyvolta.sched.dependences.model import Dependence
from polyvolta.sets import Aff, Map, Set, var
from polyvolta.sets.build import RowBuilder
from polyvolta.sets.space import Space, Tuple


class Accessing(Protocol):
    """What is needed of a statement here."""

    name: str
    iterators: tuple[str, ...]
    domain: Set
    reads: tuple
    write: object


def dependences(statements: Sequence[Accessing]) -> tuple[Dependence, ...]:
    """All memory-based dependences of statements that run in the given order, each in iterator order.

    Exact; one composition per pair of accesses to the same array, one conjunct per iterator depth.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.dag import Graph
    >>> M, N, K = pv.sizes("M N K")
    >>> graph = Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)))
    >>> [(d.kind, d.array) for d in dependences(graph.statements)]
    [('RAW', 'C'), ('WAR', 'C'), ('WAW', 'C')]
    """
    out = []
    for (p, s), (q, t) in product(enumerate(statements), repeat=2):
        if p > q:
            continue
        for kind, a, b in _conflicts(s, t):
            pairs = a.relation.apply_range(b.relation.reverse())
            if p == q:
                pairs = pairs & _before(s)
            pairs = pairs.without_empty()
            if not pairs.is_empty():
                out.append(Dependence(kind, a.tensor, s.name, t.name, pairs))
    return tuple(out)


def _conflicts(s: Accessing, t: Accessing) -> Iterable[tuple[str, object, object]]:
    yield from (("RAW", s.write, r) for r in t.reads if r.tensor == s.write.tensor)
    yield from (("WAR", r, t.write) for r in s.reads if r.tensor == t.write.tensor)
    if s.write.tensor == t.write.tensor:
        yield ("WAW", s.write, t.write)


def _before(s: Accessing) -> Map:
    """Pairs of instances of one statement in lexicographic order."""
    inp = Tuple(s.name, s.iterators)
    later = tuple(i + "'" for i in s.iterators)
    names = (*s.iterators, *later)
    pieces = []
    for depth in range(len(s.iterators)):
        same = [("eq", var(a) - var(b)) for a, b in zip(s.iterators[:depth], later)]
        pieces.append(RowBuilder(names).conjunct([*same, ("ge", var(later[depth]) - var(s.iterators[depth]) - 1)]))
    return Map._of((), [(Space(inp, Tuple(s.name, later)), tuple(pieces))])


def distances(dependence: Dependence, source: Sequence[Aff], sink: Sequence[Aff], context: Set | None = None) -> Set:
    """How much later the sink runs than the source in each schedule dimension: a set of difference vectors.

    `source` and `sink` are the schedules' expressions for the two statements, of equal length.
    """
    relation = dependence.relation if context is None else dependence.relation.intersect_params(context)
    return _delta_map(relation, source, sink)


def _delta_map(relation: Map, source: Sequence[Aff], sink: Sequence[Aff]) -> Set:
    space = relation.space
    params = relation.param_names
    later = dict(zip((d.rstrip("'") for d in space.out.dims), space.out.dims))
    dims = tuple(f"d{k}" for k in range(len(source)))
    names = (*params, *space.dims, *dims)
    constraints = [
        ("eq", b.rewrite(lambda n: var(later.get(n, n) if n not in params else n)) - a - var(d))
        for a, b, d in zip(source, sink, dims)
    ]
    knife = RowBuilder(names).conjunct(constraints)
    wide = Map._of(params, [(Space(space.inp, Tuple(None, dims)), ())])
    from polyvolta.sets import conjunct as cj
    from polyvolta.sets import project as pj

    n = len(params) + len(space.dims)
    done = []
    for c in relation.parts[0][1]:
        both = cj.conjoin(cj.reindex(c, len(names), tuple(range(n))), knife)
        if both is not None:
            done.append(pj.project(both, tuple(range(len(params), n))))
    return Set._of(params, [(Space(None, wide.space.out), tuple(c for c in done if c is not None))])


def negative_at(delta: Set, member: int) -> Set:
    """The difference vectors that are negative in one member."""
    dims = delta.space.out.dims
    knife = RowBuilder((*delta.param_names, *dims)).conjunct([("ge", -var(dims[member]) - 1)])
    return delta & Set._of(delta.param_names, [(delta.space, (knife,))])


def nonzero_at(delta: Set, member: int) -> Set:
    """The difference vectors that are not zero in one member."""
    dims = delta.space.out.dims
    d = var(dims[member])
    knives = tuple(RowBuilder((*delta.param_names, *dims)).conjunct([("ge", e - 1)]) for e in (d, -d))
    return delta & Set._of(delta.param_names, [(delta.space, knives)])
