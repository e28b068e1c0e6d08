"""From a schedule that is one relation to the tree that a person would draw.

    { S1[i] -> [0, i, 0]; S2[i, j] -> [1, i, j] }       SEQUENCE
                                                          FILTER: S1   BAND: S1[i] -> [i]
                                                          FILTER: S2   BAND: S2[i, j] -> [i, j]

The relation gives every instance a time, a tuple of integers, in lexicographic order. Reading its dimensions from the
left: one that is the same number for all statements says nothing and is left out; one that is a number for each
statement, not always the same, is a sequence; any other one is a member of a band. Where a statement's times are
given by cases, each case is followed alone until a sequence has parted it from the others; the members before have an
expression by cases. The tree orders the instances exactly as the relation does; those of equal time end in one leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polyvolta.sched.cases import Cases
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.example import example
from polyvolta.sched.structure.times import padded
from polyvolta.sched.tree import Band, Domain, Filter, Leaf, Member, Node, Schedule, Sequence
from polyvolta.sets import Aff, Map, NotAFunction, Set, nearest, var
from polyvolta.sets.values.space import Space, Tuple


@dataclass(frozen=True, slots=True)
class _Case:
    """The times of some instances of a statement.

    Parameters
    ----------
    instances : None for all that there are.
    """

    statement: str
    times: tuple[Aff, ...]
    instances: Set | None = None


def schedule_of_map(times: Map, domain: Set) -> Schedule:
    """The tree of a schedule that is a union map, on a domain; shorter times are filled up with zeros.

    Raises
    ------
    BadSchedule : an instance has no time, or several; the times are tuples of different names.

    Cost: a set difference and the reading of a function for each statement.

    >>> domain = Set("[N] -> { S1[i] : 0 <= i < N; S2[i, j] : 0 <= i < N and 0 <= j < N }")
    >>> print(schedule_of_map(Map("{ S1[i] -> [i, 0, 0]; S2[i, j] -> [i, 1, j] }"), domain).show(ascii=True))
    DOMAIN: S1[i] : 0 <= i < N;
            S2[i, j] : 0 <= i < N and 0 <= j < N
      BAND: S1[i] -> [i];
            S2[i, j] -> [i]
        SEQUENCE
          FILTER: S1[i]
          FILTER: S2[i, j]
            BAND: S2[i, j] -> [j]
    """
    tuples = {s.out.name: s.out for s, _ in domain.parts}
    times = Map._of(times.param_names, [(s, cs) for s, cs in times.parts if any(not c.is_empty for c in cs)])
    for space, _ in times.parts:
        inp = space.inp
        assert inp is not None
        name = inp.name
        if name not in tuples:
            hint = nearest(str(name), map(str, tuples))
            raise BadSchedule(f"the schedule orders {inp}, which is no statement", where=str(times), hint=hint)
        if inp.key != tuples[name].key:
            raise BadSchedule(f"the schedule has {inp}, the program {tuples[name]}", where=str(times))
    names = dict.fromkeys(s.out.name for s, _ in times.parts)
    if len(names) > 1:
        raise BadSchedule(
            "times are compared, so that they are tuples of one name",
            where=str(times),
            hint="a time is written [i, 0, j]",
        )
    times = padded(times)
    width = max((s.n_out for s, _ in times.parts), default=0)
    cases = [case for name, tup in tuples.items() for case in _cases(times.only(name), domain.only(name), tup)]
    return Schedule(Domain(domain, _Build(width, times).node(cases, 0)))


def _cases(times: Map, domain: Set, tup: Tuple) -> Iterable[_Case]:
    """The times of one statement as expressions in its iterators."""
    name = str(tup.name)
    missing = domain - times.domain() if times.parts else domain
    if not missing.is_empty():
        raise BadSchedule(f"the schedule misses {example(missing)}", where=str(times))
    if not times.parts:  # a statement without instances has no place
        return
    times = times.align_params(domain.param_names)
    names = dict(zip(times.space.inp.dims, map(var, tup.dims), strict=True))  # type: ignore[union-attr]

    def own(e: Aff) -> Aff:
        return e.rewrite(lambda n: names.get(n) or var(n))

    for relation in (times, times.intersect_domain(domain)):
        try:
            yield _Case(name, tuple(map(own, relation.as_affs())))
            return
        except NotAFunction:
            continue
    try:
        function = times.intersect_domain(domain).as_multi_pw_aff()
    except NotAFunction as error:
        raise BadSchedule(f"an instance of {name} has several times", where=str(times)) from error
    for where, values in function.pieces:
        here = Set._of(where.param_names, [(Space(None, tup), cs) for _, cs in where.parts])
        yield _Case(name, tuple(map(own, values)), here)


class _Build:
    def __init__(self, width: int, times: Map) -> None:
        self.width, self.times = width, times

    def node(self, cases: list[_Case], depth: int) -> Node:
        """The tree of some instances from a dimension of their times on."""
        members: list[Member] = []
        child: Node = Leaf()
        while depth < self.width:
            column = [c.times[depth] for c in cases]
            depth += 1
            if all(e.is_constant for e in column):
                if len(set(column)) > 1:
                    child = self.sequence(cases, depth)
                    break
            elif len(set(column)) > 1 or not self.outer(column[0]):
                members.append(self.member(cases, depth - 1))
        return Band(tuple(members), child) if members else child

    def outer(self, e: Aff) -> bool:
        """Whether an expression is one number for all instances."""
        return e.names() <= set(self.times.param_names)

    def sequence(self, cases: list[_Case], depth: int) -> Sequence:
        """One child for each number that the dimension before `depth` takes."""
        children = []
        for number in sorted({c.times[depth - 1].const for c in cases}):
            here = [c for c in cases if c.times[depth - 1].const == number]
            statements = tuple(dict.fromkeys(c.statement for c in here))
            given = [c.instances for c in here if c.instances is not None]
            whole = [c.statement for c in here if c.instances is None]
            instances = None
            if given:
                instances = given[0]
                for more in (*given[1:], *(self.everything(s) for s in whole)):
                    instances = instances | more
            children.append(Filter(statements, self.node(here, depth), instances))
        return Sequence(tuple(children))

    def everything(self, statement: str) -> Set:
        return Set.universe(self.times.only(statement).domain())

    def member(self, cases: list[_Case], k: int) -> Member:
        """The member of a dimension: an expression for each statement, by cases where it has several."""
        found: dict[str, dict[Aff, Set | None]] = {}
        for c in cases:
            exprs = found.setdefault(c.statement, {})
            e, here = c.times[k], c.instances
            before = exprs.get(e)
            exprs[e] = before | here if before is not None and here is not None else here
        return Member(tuple((s, _joined(exprs)) for s, exprs in found.items()))


def _joined(exprs: Mapping[Aff, Set | None]) -> Aff | Cases:
    """One expression, or each with its instances."""
    if len(exprs) == 1:
        return next(iter(exprs))
    return Cases(tuple((here, e) for e, here in exprs.items() if here is not None))


def textual_order(domain: Set) -> Node:
    """The statements one after another, each in the lexicographic order of its iterators."""
    found = []
    for space, _ in domain.parts:
        name = str(space.out.name)
        members = tuple(Member(((name, var(d)),)) for d in space.out.dims)
        found.append((name, Band(members) if members else Leaf()))
    if len(found) == 1:
        return found[0][1]
    return Sequence(tuple(Filter((name,), node) for name, node in found))
