"""Trees for tests: written down in one line a node, and compared up to how their sets are written."""

from dataclasses import fields

from polyvolta.sched.tree import Band, Domain, Filter, Leaf, Member, Schedule, Sequence
from polyvolta.sets import Map, Set, aff

DOMAIN = "[M, N, K] -> { S[i, j, k] : 0 <= i < M and 0 <= j < N and 0 <= k < K }"
FUSED = "[M, N, K] -> { S1[i, j, k] : 0 <= i < M and 0 <= j < N and 0 <= k < K; S2[i, j] : 0 <= i < M and 0 <= j < N }"


def tree(domain, child=None):
    """A schedule of a domain."""
    return Schedule(Domain(Set(domain), child or Leaf()))


def band(child=None, /, names="", **rows):
    """A band: `band(child, S="i//32, j", names="blockIdx.x, -")`."""
    table = {s: [aff(e.strip()) for e in row.split(",")] for s, row in rows.items()}
    width = len(next(iter(table.values())))
    called = [n.strip() for n in names.split(",")] if names else ["-"] * width
    members = tuple(
        Member(tuple((s, es[k]) for s, es in table.items()), name=None if called[k] == "-" else called[k])
        for k in range(width)
    )
    return Band(members, child or Leaf())


def filters(**children):
    """A sequence of a filter for each statement."""
    return Sequence(tuple(Filter((s,), child or Leaf()) for s, child in children.items()))


def alike(a, b):
    """Whether two values of a tree say the same, whatever way their sets are written."""
    if isinstance(a, (Set, Map)):
        return type(a) is type(b) and a.is_equal(b) and [s for s, _ in a.parts] == [s for s, _ in b.parts]
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(alike, a, b))
    if hasattr(a, "children"):
        return type(a) is type(b) and all(alike(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return a == b
