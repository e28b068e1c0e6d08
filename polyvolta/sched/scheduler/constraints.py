"""What a schedule is to respect, said as isl says it: validity, proximity, coincidence, conditional validity.

    validity               pairs of which the first runs before the second, or both at one time and in that order below
    proximity              pairs that are better near one another, in whichever order
    coincidence            pairs that a member has to run at one time for its iterations to be independent
    conditional validity   pairs that are valid, or whose conditions are local: each pair of the condition, such as a
                           value's definition and its use, runs at one time in the whole band

Conditions and what depends on them may have isl's tags, `[S[i] -> x[]] -> [T[j] -> x[]]`, by which isl tells which
belong together: here what is valid may be left out where all conditions of a band are local, whatever their tags, and
so less often.

Each is a union relation between instances. Pairs outside the domain are dropped, and so are those of an instance with
itself, which no order can part. The dependences of a program are all three of the first, but for anti and output
dependences, which need not be near.

Source: S. Verdoolaege, G. Janssens, "Scheduling for PPCG" (CW 706, 2017); of conditional validity S. Verdoolaege, A.
Cohen, "Live-Range Reordering" (IMPACT 2016).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
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

KINDS: dict[str, Kind] = {
    "validity": "validity",
    "proximity": "proximity",
    "coincidence": "coincidence",
    "conditional_validity": "conditional validity",
    "conditional_validity_condition": "condition",
}


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of a schedule, by isl's names; None for those that there are none of.

    >>> c = Constraints(validity=Map("{ S[i] -> S[i + 1]; S[i] -> S[i] }"))
    >>> for d in c.dependences():
    ...     print(d.kind, d.relation)
    validity { S[i] -> S[i + 1] }
    """

    validity: Map | None = None
    proximity: Map | None = None
    coincidence: Map | None = None
    conditional_validity: Map | None = None
    conditional_validity_condition: Map | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, name) is not None for name in KINDS)

    def dependences(self, statements: Collection[str] = ()) -> list[Dependence]:
        """One dependence for each kind and pair of statements, without the pairs of an instance with itself.

        Parameters
        ----------
        statements : the names of those whose instances may be pairs, which are no tags.

        Raises
        ------
        BadProgram : a constraint is no Map.
        """
        out = []
        for name, kind in KINDS.items():
            given = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, str):
                given = Map(given)
            if not isinstance(given, Map):
                raise BadProgram(f"{name} is a Map, not {kind_of(given)}", where=repr(given))
            given = labelled(_untagged(given, statements) if name.startswith("conditional") else given)
            for space, conjuncts in given.parts:
                pieces = conjuncts
                if space.inp is not None and space.inp.key == space.out.key:
                    pieces = tuple([p for c in conjuncts for p in _of_two(c, len(given.param_names), space.n_out)])
                alone = len(given.parts) == 1 and pieces == conjuncts
                relation = given if alone else Map._of(given.param_names, [(space, pieces)])
                if relation.parts and relation.parts[0][1]:
                    source = (space.inp.name if space.inp else None) or ""
                    out.append(Dependence(kind, "", source, space.out.name or "", relation))
        return out


def _untagged(given: Map, statements: Collection[str]) -> Map:
    """The pairs without isl's tags, which are what pairs of nameless tuples have behind their instances."""
    out = given
    for space, _ in given.parts:
        sides = (space.source, space.out)
        if all(t.inner is not None and t.name is None and t.label not in statements for t in sides):
            every = Map.universe(space)
            out = out.subtract(every).union(given.intersect(every).zip().domain().unwrap())
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
