"""Contraction: which instances stay, and what their dependences are, by enumeration."""

from dataclasses import replace
from itertools import product

import pytest

from polyvolta.sched import Band, Domain, Member, Schedule
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.passes import contract, insert_sequence, reflagged
from polyvolta.sched.passes.mapping.contract import between_tiles
from polyvolta.sets import Map, Set, Tuple, var
from tests.sched.passes.brute import before, instances, times

i, j = var("i"), var("j")
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


DOMAIN = Set("{ S[i, j] : 0 <= i < 8 and 0 <= j < 8; T[i] : 0 <= i < 8 }")
BANDS = ((i, j), (j, i), (i + j, i), (i + j, -j), (i - j, i), (2 * i + j, j))


def stands(instance, factors):
    """The instance that stands for the tile of another one."""
    s, point = instance
    by = [factors.get(d, 1) for d in "ij"] if s == "S" else [1]
    return s, tuple(x // f * f for x, f in zip(point, by))


def dependence(text):
    relation = Map(text).intersect_domain(DOMAIN).intersect_range(DOMAIN)
    (space, _), *_ = relation.parts
    return Dependence("RAW", "A", space.inp.name, space.out.name, relation)


def between(d, factors):
    """The pairs of tiles of which one has an instance that depends on one of the other."""
    found = {(stands(a, factors), stands(b, factors)) for a, b in pairs(d.relation)}
    return {(a, b) for a, b in found if a != b}


@pytest.mark.parametrize("text, factors", list(product(RELATIONS, FACTORS)))
def test_dependences_between_tiles_are_those_between_their_instances(text, factors):
    d = dependence(text)
    found = between_tiles((d,), {Tuple("S", ("i", "j")): factors})
    assert {p for one in found for p in pairs(one.relation)} == between(d, factors)


@pytest.mark.parametrize("factors", FACTORS)
def test_the_tiles_that_stay(factors):
    new = contract(Schedule(Domain(DOMAIN)), "S", factors)
    assert set(instances(new)) == {stands(a, factors) for a in instances(Schedule(Domain(DOMAIN)))}


@pytest.mark.parametrize("exprs, rows", list(product(BANDS, (8, 7))))
def test_contraction_is_refused_exactly_when_two_tiles_would_run_in_the_wrong_order(exprs, rows):
    """Also where 7 rows leave the last tiles partial."""
    members = tuple(Member((("S", e),)) for e in exprs)
    domain = DOMAIN.only("S") & Set(f"{{ S[i, j] : i < {rows} }}")
    partial = rows != 8
    tree = Schedule(Domain(domain, Band(members)), ())
    time = times(tree)
    for text, factors in product(RELATIONS[:4], FACTORS):
        d = dependence(text)
        d = replace(d, relation=d.relation.intersect_domain(domain).intersect_range(domain))
        if not all(before(time[a], time[b]) for a, b in pairs(d.relation)):
            continue
        try:
            later = times(contract(replace(tree, dependences=()), "S", factors, partial=partial))
        except IllegalTransformation:  # a tile that spans several iterations of an outer band
            continue
        ordered = all(before(later[a], later[b]) for a, b in between(d, factors))
        try:
            contract(replace(tree, dependences=(d,)), "S", factors, partial=partial)
        except IllegalTransformation:
            assert not ordered, (text, factors)
        else:
            assert ordered, (text, factors)


def test_tiles_that_depend_on_one_another_both_ways_are_refused():
    """Along i + j, S[i, j] and S[i + 1, j - 1] are in one iteration; their tiles of two i are not."""
    wave = Dependence("RAW", "A", "S", "S", Map("{ S[i, j] -> S[i + 1, j - 1] : 0 <= i < 7 and 1 <= j < 8 }"))
    members = tuple(Member((("S", e),)) for e in (i + j, i))
    tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 8 and 0 <= j < 8 }"), Band(members)), (wave,))
    with pytest.raises(
        IllegalTransformation, match=r"contracting breaks a dependence: S\[0, 1\] must run before S\[0, 0\]"
    ):
        contract(tree, "S", {"i": 2})


def test_flags_hold_for_what_stays():
    """Distance (1, 1) is none along i - j; between tiles of two i it is."""
    step = Dependence("RAW", "A", "S", "S", Map("{ S[i, j] -> S[i + 1, j + 1] : 0 <= i < 7 and 0 <= j < 7 }"))
    members = tuple(Member((("S", e),)) for e in (j, i - j))
    tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 8 and 0 <= j < 8 }"), Band(members)), (step,))
    assert [m.coincident for m in reflagged(tree).band((0,)).members] == [False, True]
    new = contract(reflagged(tree), "S", {"i": 2})
    assert [m.coincident for m in new.band((0,)).members] == [False, False]
    assert not new.band((0,)).permutable


@pytest.mark.parametrize("text", ["i <= 5", "i <= 3", "i mod 2 = 0", "j >= 1", "i >= 4 and j <= 3", "i + j <= 7"])
@pytest.mark.parametrize("factors", FACTORS)
def test_filters_keep_tiles_together(text, factors):
    """Refused exactly if two instances of one tile go different ways."""
    some = Set(f"{{ S[i, j] : {text} }}") & DOMAIN.only("S")
    tree = insert_sequence(Schedule(Domain(DOMAIN.only("S"))), (0,), [some, DOMAIN.only("S") - some])
    way = {a: some.contains(a[1]) for a in instances(tree)}
    apart = any(way[a] != way[stands(a, factors)] for a in way)
    if apart:
        with pytest.raises(IllegalTransformation, match="a filter tells the instances of a tile of"):
            contract(tree, "S", factors)
    else:
        assert len(instances(contract(tree, "S", factors))) == len({stands(a, factors) for a in way})


@pytest.mark.parametrize("exprs, kept", [((j, i), True), ((i + j, i - j), False)])
def test_without_dependences_flags_stay_where_they_surely_hold(exprs, kept):
    members = tuple(Member((("S", e),), coincident=True) for e in exprs)
    tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 8 and 0 <= j < 8 }"), Band(members, permutable=True)))
    band = contract(tree, "S", {"i": 2}).band((0,))
    assert [band.permutable, *(m.coincident for m in band.members)] == [kept] * 3


# ---- partial tiles

SHAPES = (
    "{ S[i, j] : 0 <= i < 7 and 0 <= j < 8 }",
    "{ S[i, j] : 0 <= i < 8 and 0 <= j < 1 }",
    "{ S[i, j] : 1 <= i < 8 and 0 <= j < 8 }",
    "{ S[i, j] : 0 <= j < 8 and 0 <= i <= j }",
    "{ S[i, j] : 0 <= i < 8 and i <= j < 8 }",
    "{ S[i, j] : 0 <= i < 8 and 0 <= j < 8 and (i < 4 or j >= 5) }",
    "{ S[i, j] : 0 <= i < 8 and 0 <= j < 8 and i mod 4 = 0 }",
    "{ S[i, j] : 0 <= i < 8 and 0 <= j < 8 and not (i = 2 and j = 3) }",
)


@pytest.mark.parametrize("text, factors", list(product(SHAPES, FACTORS[:4])))
def test_a_partial_tile_needs_its_base_point_alone(text, factors):
    tree = Schedule(Domain(Set(text)))
    points = set(instances(tree))
    bases = {stands(p, factors) for p in points}
    reached = {("S", (x + a, y + b)) for _, (x, y) in bases & points
               for a, b in product(range(factors.get("i", 1)), range(factors.get("j", 1)))}  # fmt: skip
    for partial, legal in ((True, bases <= points), (False, bases <= points and reached <= points)):
        if legal:
            assert set(instances(contract(tree, "S", factors, partial=partial))) == bases
        else:
            with pytest.raises(IllegalTransformation, match="tile"):
                contract(tree, "S", factors, partial=partial)


@pytest.mark.parametrize("m", [1, 15, 16, 17, 33])
def test_any_size_has_its_started_tiles(m):
    """For a symbolic size, and what the size then is."""
    tree = Schedule(Domain(Set("[M] -> { S[i] : 0 <= i < M }")))
    new = contract(tree, "S", {"i": 16}, "[M] -> { : M >= 1 }", partial=True)
    here = new.domain.intersect_params(Set(f"[M] -> {{ : M = {m} }}"))
    assert [p for (p,) in here.points(M=m)] == list(range(0, m, 16))
    with pytest.raises(IllegalTransformation, match=r"(?s)reaches beyond the domain.*partial=True"):
        contract(tree, "S", {"i": 16}, "[M] -> { : M >= 1 }")


def test_a_tile_that_starts_outside_is_said_to():
    with pytest.raises(IllegalTransformation, match=r"no tile of {'i': 4} that stays has S\[[123]\]"):
        contract(Schedule(Domain(Set("{ S[i] : 1 <= i < 8 }"))), "S", {"i": 4}, partial=True)
