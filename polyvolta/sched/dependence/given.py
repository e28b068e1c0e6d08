"""Dependences as they are given, as objects or as a relation of instances, and which of them fit some statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import add

from polyvolta.sched.dependence.model import Dependence, Kind
from polyvolta.sched.errors import BadProgram
from polyvolta.sched.wrapped import labelled
from polyvolta.sets import Map
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.conjuncts.implies import subtract
from polyvolta.sets.errors import kind_of


def fitting(dependences: Iterable[Dependence] | Map, iterators: Mapping[str, tuple[str, ...]]) -> list[Dependence]:
    """The dependences between statements with these iterators; those of other statements are left out.

    A relation is of instances that must run before others.

    Raises
    ------
    BadProgram : what is given are no dependences, or a relation is not between instances of its source and its sink.

    >>> order = Map("{ S[i] -> S[i + 1]; S[i] -> S[i]; S[i] -> T[i]; T[i] -> U[i] }")
    >>> for d in fitting(order, {"S": ("i",), "T": ("i",)}):
    ...     print(d.kind, d.relation)
    validity { S[i] -> S[i + 1] }
    validity { S[i] -> T[i] }
    """
    if isinstance(dependences, Map):
        dependences = of_relation("validity", dependences)
    given = tuple(dependences) if isinstance(dependences, Iterable) else (dependences,)
    if isinstance(dependences, Dependence) or not all(isinstance(d, Dependence) for d in given):
        wrong = dependences
        if isinstance(dependences, (list, tuple)):
            wrong = next(d for d in given if not isinstance(d, Dependence))
        raise BadProgram(
            f"dependences are several objects Dependence, not {kind_of(wrong)}" + " alone" * (wrong is dependences),
            hint="dependences(program) finds those of a program; a Map is of instances that must run before others",
        )
    out = [d for d in given if d.source in iterators and d.sink in iterators]
    for d in out:
        for space, _ in d.relation.parts:
            for side, name in ((space.inp, d.source), (space.out, d.sink)):
                if side is None or (side.name or "") != name or len(side.dims) != len(iterators[name]):
                    raise BadProgram(
                        f"the dependence relates {side}, its statement is {name}[{', '.join(iterators[name])}]",
                        where=str(d),
                    )
    return out


def of_relation(kind: Kind, given: Map, array: str = "") -> list[Dependence]:
    """One dependence for each pair of statements of a relation, without the pairs of an instance with itself."""
    given, out = labelled(given), []
    for space, conjuncts in given.parts:
        pieces = conjuncts
        if space.inp is not None and space.inp.key == space.out.key:
            pieces = tuple([p for c in conjuncts for p in _of_two(c, len(given.param_names), space.n_out)])
        alone = len(given.parts) == 1 and pieces == conjuncts
        relation = given if alone else Map._of(given.param_names, [(space, pieces)])
        if relation.parts and relation.parts[0][1]:
            source = (space.inp.name if space.inp else None) or ""
            out.append(Dependence(kind, array, source, space.out.name or "", relation))
    return out


def _of_two(c: Conjunct, params: int, dims: int) -> tuple[Conjunct, ...]:
    """What a conjunct over (parameters, source, sink) has of pairs of two instances, in disjoint pieces."""
    if _apart(c, 1 + params, dims):
        return (c,)
    same = _same(params, dims)
    return subtract(c, same) if cj.conjoin(c, same) is not None else (c,)


def _apart(c: Conjunct, first: int, dims: int) -> bool:
    """Whether plainly no pair is an instance and itself: a row is a constant where sink and source are the same, and
    does not hold. So it is where the distance is constant."""
    middle, end = first + dims, first + 2 * dims
    for rows, equal in ((c.eqs, True), (c.ineqs, False)):
        for row in rows:
            if row[0] if equal else row[0] < 0:
                source, sink = row[first:middle], row[middle:end]
                if not any(map(add, source, sink)) and not any(row[1:first]) and not any(row[end:]):
                    return True
    return False


@lru_cache(maxsize=64)
def _same(params: int, dims: int) -> Conjunct:
    """The pairs of an instance and itself."""
    rows = []
    for k in range(1 + params, 1 + params + dims):
        row = [0] * (1 + params + 2 * dims)
        row[k], row[k + dims] = 1, -1
        rows.append(tuple(row))
    found = cj.normalise(params + 2 * dims, (), rows, ())
    assert found is not None, "homogeneous equations have the solution 0"
    return found
