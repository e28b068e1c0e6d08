"""Relations that run an instance at several times, as isl's schedule maps may: `{ sync[] -> [i] : 0 <= i < 4 }`.

A tree runs an instance once. So the pair of an instance and a time is the instance while loops are made, a statement
with the dimensions of both, and the loops call it without those of the time.

>>> from polyvolta.isl import AstBuild, UnionMap
>>> loops = AstBuild.alloc().node_from_schedule_map(UnionMap("{ sync[] -> [i] : 0 <= i < 4 }"))
>>> print(loops.to_C_str(), end="")
for (int c0 = 0; c0 <= 3; c0 += 1)
  sync();
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.loops.ast import Ast, Call, mapped
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.structure.times import padded
from polyvolta.sched.tree import Domain, Schedule
from polyvolta.sched.wrapped import labelled
from polyvolta.sets import Map, Set, Space


def once_each(times: Map) -> Map:
    """The relation of pairs of an instance and a time, of statements some instance of which has several; else itself.

    >>> print(once_each(Map("{ S[i] -> [j] : 0 <= j < i < 9; T[] -> [9] }")))
    { S[i, j] -> [j] : i <= 8 and 0 <= j < i; T[] -> [9] }
    """
    if times.is_single_valued():
        return times
    times = labelled(times, outputs=False)
    found = Map("{ }")
    for name in dict.fromkeys(space.source.name for space, _ in times.parts):
        own = padded(times.only(name))
        if not own.is_single_valued():
            pairs = own.range_map().flatten_domain()
            parts = [(Space(replace(s.source, name=name), s.out), cs) for s, cs in pairs.parts]
            own = Map._of(pairs.param_names, parts)
        found = found | own
    return found


def called_again(made: Scan, instances: Set) -> Scan:
    """The loops of pairs as those of the instances, which are of the tree's domain again."""
    width = {space.out.name or "": space.n_out for space, _ in instances.parts}
    return replace(made, body=tuple(_called(node, width) for node in made.body), tree=Schedule(Domain(instances)))


def _called(node: Ast, width: dict[str, int]) -> Ast:
    if isinstance(node, Call):
        return replace(node, args=node.args[: width[node.statement]])
    return mapped(node, lambda body: tuple(_called(inner, width) for inner in body))
