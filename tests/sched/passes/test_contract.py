"""Contraction: which instances stay, and what their dependences are, by enumeration."""

from itertools import product

import pytest

from polyvolta.sched import Band, Domain, Member, Schedule
from polyvolta.sched.dependences.model import Dependence
from polyvolta.sched.passes import contract
from polyvolta.sets import Map, Set, var

N = 8
FACTORS = ({"i": 2}, {"j": 4}, {"i": 4, "j": 2}, {"i": 8, "j": 1}, {})
RELATIONS = (
    "{ S[i, j] -> S[i + 1, j] }",
    "{ S[i, j] -> S[i, j + 3] }",
    "{ S[i, j] -> S[i + 1, j - 1] }",
    "{ S[i, j] -> S[i, k] : k > j }",
    "{ S[i, j] -> T[i] }",
    "{ T[i] -> S[i, j] : j >= 1 }",
    "{ T[i] -> T[i + 1] }",
)


def pairs(relation):
    """All pairs of a relation between instances."""
    (space, _), *_ = relation.parts
    n = space.n_in
    return {((space.inp.name, x[:n]), (space.out.name, x[n:])) for x in relation.wrap().points()}


@pytest.mark.parametrize("text, factors", list(product(RELATIONS, FACTORS)))
def test_dependences_between_tiles_are_those_between_their_instances(text, factors):
    box = " and ".join(f"0 <= {d} < 8" for d in "ij")
    domain = Set(f"{{ S[i, j] : {box}; T[i] : 0 <= i < 8 }}")
    relation = Map(text).intersect_domain(domain).intersect_range(domain)
    (space, _), *_ = relation.parts
    dependence = Dependence("RAW", "A", space.inp.name, space.out.name, relation)
    member = Member((("S", var("i")), ("T", var("i"))))
    new = contract(Schedule(Domain(domain, Band((member,))), (dependence,)), "S", factors)

    def stands(instance):
        s, point = instance
        by = [factors.get(d, 1) for d in "ij"] if s == "S" else [1]
        return s, tuple(x // f * f for x, f in zip(point, by))

    kept = {stands(("S", x)) for x in product(range(N), repeat=2)} | {("T", (x,)) for x in range(N)}
    found = {(s, tuple(x)) for s in ("S", "T") for x in new.domain.only(s).points()}
    assert found == kept
    demanded = {(stands(a), stands(b)) for a, b in pairs(relation)}
    expected = {(a, b) for a, b in demanded if a != b}
    assert {p for d in new.dependences for p in pairs(d.relation)} == expected
