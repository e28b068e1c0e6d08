"""Distance vectors of a dependence under a schedule, as sets; see `legality` for what is decided on them."""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.dependences.model import Dependence
from polyvolta.sets import Aff, Map, Set, var
from polyvolta.sets.build import RowBuilder
from polyvolta.sets.space import Space, Tuple


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
