"""Full tiles are those that miss no time which iterators could have: enumerated over a box larger than the domain."""

from dataclasses import replace
from itertools import product

import pytest

from polyvolta.sched import Band, Domain, Filter, Leaf, Member, Schedule, Sequence
from polyvolta.sched.errors import BadPath
from polyvolta.sched.passes import hoist, insert_filter, isolate_full_tiles, skew, split, strip_mine, tile
from polyvolta.sets import Set, aff

BOX = range(-9, 24)


def nest(domain, **exprs):
    """BAND of all statements, above a SEQUENCE of them."""
    n = len(next(iter(exprs.values())))
    members = tuple(Member(tuple((s, aff(e[k])) for s, e in exprs.items()), True) for k in range(n))
    below = Sequence(tuple(Filter((s,)) for s in exprs)) if len(exprs) > 1 else Leaf()
    return Schedule(Domain(Set(domain), Band(members, below, permutable=True)), ())


def full_tiles(tree, at, params):
    """By enumeration: the tiles with an instance in which no statement misses a time."""
    above = [tree.band(at[:k]) for k in range(len(at)) if isinstance(tree.node(at[:k]), Band)]
    tiles, broken = set(), set()
    for space, _ in tree.domain.parts:
        s, dims = space.out.name, space.out.dims
        if s not in tree.statements_at(at):
            continue
        below = [n for _, n in tree.walk((*at, 0)) if isinstance(n, Band) and s in n.statements]
        head = [e for b in (*above, tree.band(at)) for e in b.schedule(s)]
        tail = [e for b in below for e in b.schedule(s)]
        there, possible = {}, {}
        domain = set(tree.domain.only(s).points(**{p: v for p, v in params.items() if p in tree.domain.param_names}))
        for x in product(BOX, repeat=len(dims)):
            values = {**params, **dict(zip(dims, x))}
            t, point = (tuple(e.evaluate(values) for e in part) for part in (head, tail))
            possible.setdefault(t, set()).add(point)
            if x in domain:
                there.setdefault(t, set()).add(point)
        tiles |= set(there)
        broken |= {t for t, points in possible.items() if points - there.get(t, set())}
    return tiles - broken


SQUARE = "0 <= i < N and 0 <= j < M"
CASES = {
    "a line": lambda: (tile(nest("[N] -> { S[i] : 0 <= i < N }", S="i"), (0,), (4,)), (0,)),
    "a square": lambda: (tile(nest(f"[N, M] -> {{ S[i, j] : {SQUARE} }}", S="ij"), (0,), (4, 3)), (0,)),
    "a triangle": lambda: (tile(nest("[N] -> { S[i, j] : 0 <= j <= i < N }", S="ij"), (0,), (3, 3)), (0,)),
    "from 1 on": lambda: (tile(nest("[N] -> { S[i] : 1 <= i < N - 1 }", S="i"), (0,), (4,)), (0,)),
    "strides": lambda: (tile(nest("[N] -> { S[i] : 0 <= i < N and i mod 2 = 0 }", S="i"), (0,), (4,)), (0,)),
    "a skewed band": lambda: (
        tile(skew(nest(f"[N, M] -> {{ S[i, j] : {SQUARE} }}", S="ij"), (0,), 1, 0), (0,), (3, 3)),
        (0,),
    ),
    "below another band": lambda: (
        tile(split(nest("[N] -> { S[i, j] : 0 <= j <= i < N }", S="ij"), (0,), 1), (0, 0), (4,)),
        (0, 0),
    ),
    "two levels": lambda: (tile(tile(nest("[N] -> { S[i] : 0 <= i < N }", S="i"), (0,), (6,)), (0, 0), (3,)), (0, 0)),
    "two statements": lambda: (
        tile(nest("[N, M] -> { S[i] : 0 <= i < N; T[i] : 2 <= i < M }", S="i", T="i"), (0,), (4,)),
        (0,),
    ),
    "statements of different depth": lambda: (
        tile(nest(f"[N, M] -> {{ S[i, j] : {SQUARE}; T[i] : 0 <= i < N }}", S="ij", T=("i", "M")), (0,), (3, 4)),
        (0,),
    ),
    "one of two branches": lambda: (
        tile(hoist(nest("[N, M] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < M }", S="i", T="i"), (0,), 0), (0, 1, 0), (4,)),
        (0, 1, 0),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_full_tiles_miss_nothing(case):
    tree, at = CASES[case]()
    found = isolate_full_tiles(tree, at).band(at).isolate
    for params in ({"N": 10, "M": 8}, {"N": 12, "M": 6}, {"N": 7, "M": 9}, {"N": 3, "M": 2}):
        known = {p: v for p, v in params.items() if p in found.param_names}
        assert set(found.points(**known)) == full_tiles(tree, at, params), params


def test_only_the_isolated_part_changes():
    tree, at = CASES["a square"]()
    new = isolate_full_tiles(tree, at)
    assert replace(new.band(at), isolate=None) == tree.band(at)
    new.check_structure()


def test_a_context_in_which_all_tiles_are_full():
    tree, at = CASES["a line"]()
    found = isolate_full_tiles(tree, at, Set("[N] -> { : N mod 4 = 0 }")).band(at).isolate
    everything = Set("[N] -> { [t] : 0 <= 4t < N and N mod 4 = 0 }")
    assert (found & Set("[N] -> { [t] : N mod 4 = 0 }")).is_equal(everything)


def test_a_member_that_is_not_tiled_may_be_as_long_as_it_is():
    """Strips of i around all of j: a strip is full when it has 4 rows, each with all of j."""
    tree = strip_mine(nest("[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M }", S="ij"), (0,), {"i": 4})
    found = isolate_full_tiles(tree, (0,)).band((0,)).isolate
    assert found.is_equal(Set("[N, M] -> { [t, 0] : 0 <= 4t and 4t + 4 <= N and M >= 1 }"))


def test_there_must_be_points():
    with pytest.raises(BadPath, match="no band below"):
        isolate_full_tiles(nest("{ S[i] : 0 <= i < 4 }", S="i"), (0,))


@pytest.mark.parametrize("text, full", [("i <= 5", {0}), ("i >= 6", {2, 3}), ("i mod 2 = 0", {0, 1, 2, 3})])
def test_a_filter_above_cuts_tiles_by_its_bounds_but_not_by_its_strides(text, full):
    line = nest("{ S[i] : 0 <= i < 16 }", S=["i"])
    tree = tile(insert_filter(line, (0,), Set(f"{{ S[i] : {text} }}"), narrow=True), (0, 0), (4,))
    assert {t for (t,) in isolate_full_tiles(tree, (0, 0)).band((0, 0)).isolate.points()} == full
