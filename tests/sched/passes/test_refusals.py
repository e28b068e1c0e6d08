"""A transformation is refused if and only if an instance would run too early, and the error names two such instances.

Random programs of two statements with random dependences, a random tree that respects them, random transformations.
Each is done twice: on the tree without demands (`dependences=()`), whose order is enumerated; and on the tree with its
dependences. If that gives a tree it is the same, and violates no pair; if it is refused, the pair that is named is
violated for the size that is named.
"""

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from polyvolta.sched import Band, Domain, Filter, Leaf, Member, Schedule, Sequence
from polyvolta.sched import passes as p
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import BadPath, BadSchedule, IllegalTransformation
from polyvolta.sched.legality import violations
from polyvolta.sched.passes.common.legal import reflagged
from polyvolta.sets import Map, Set, var
from tests.sched.passes.brute import before, instances, text, times
from tests.sets.brute import examples

i, j = var("i"), var("j")
DOMAINS = (
    "0 <= i < 4 and 0 <= j < 4",
    "0 <= i < 4 and 0 <= j <= i",
    "0 <= i < 4 and i <= j < 4",
    "0 <= i < N and 0 <= j < N",
    "0 <= i < N and 0 <= j < 3",
    "0 <= j <= i < N",
)
SIZES = (1, 2, 4)  # values of N that are enumerated


def band(statements, exprs, child=None):
    members = tuple(Member(tuple((s, e) for s in statements)) for e in exprs)
    return Band(members, Leaf() if child is None else child)


SHAPES = (
    band("ST", (i, j), Sequence((Filter(("S",)), Filter(("T",))))),
    Sequence((Filter(("S",), band("S", (i, j))), Filter(("T",), band("T", (i, j))))),
    band("ST", (i,), Sequence((Filter(("S",), band("S", (j,))), Filter(("T",), band("T", (j,)))))),
    band("ST", (i,), band("ST", (i + j,), Sequence((Filter(("T",)), Filter(("S",)))))),
)


def domain_of(draw):
    s, t = (draw(st.sampled_from(DOMAINS)) for _ in "ST")
    return Set(f"[N] -> {{ S[i, j] : {s}; T[i, j] : {t} }}")


def pairs_of(dependence, points):
    """The pairs of a dependence from its distance, with no set involved."""
    source, sink, (a, b) = dependence
    return {
        ((source, (x, y)), (sink, (x + a, y + b)))
        for s, (x, y) in points
        if s == source and (sink, (x + a, y + b)) in points
    }


@st.composite
def programs(draw):
    """A tree with dependences of constant distances that it respects, for all sizes, and those distances."""
    tree = Schedule(Domain(domain_of(draw), draw(st.sampled_from(SHAPES))))
    found, distances = [], []
    vector = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
    statements = st.sampled_from("ST")
    for source, sink, (a, b) in draw(st.lists(st.tuples(statements, statements, vector), min_size=1, max_size=3)):
        whole = Map(f"{{ {source}[i, j] -> {sink}[i + {a}, j + {b}] }}")
        relation = whole.intersect_domain(tree.domain.only(source)).intersect_range(tree.domain.only(sink))
        one = Dependence("RAW", f"A{len(found)}", source, sink, relation)
        if not relation.is_empty() and next(violations(tree, [one]), None) is None:
            found.append(one)
            distances.append((source, sink, (a, b)))
    assume(found)
    tree = replace(tree, dependences=tuple(found))
    for n in SIZES:
        assert not broken(tree, distances, n)
    return reflagged(tree, *tree.bands()), tuple(distances)


def demanded(tree, distances, n):
    """All pairs that dependences demand at a size."""
    points = set(instances(tree, N=n))
    return set().union(*(pairs_of(d, points) for d in distances))


def broken(tree, distances, n):
    """Those of them that a tree does not run in order."""
    time = times(tree, N=n)
    return {(a, b) for a, b in demanded(tree, distances, n) if not before(time[a], time[b])}


def operation(draw, tree):
    """A random transformation of a tree as a function of trees."""
    bands = tree.bands()
    sequences = [at for at, n in tree.walk() if isinstance(n, Sequence)]
    at = draw(st.sampled_from(bands))
    b = tree.band(at)
    n = len(b.members)
    member = draw(st.integers(0, n - 1))
    other = draw(st.integers(0, n - 1))
    number = draw(st.integers(-2, 2))
    sizes = [draw(st.integers(1, 3)) for _ in range(n)]
    order = draw(st.permutations(range(n)))
    statement = draw(st.sampled_from(b.statements))
    some = Set(f"{{ {statement}[i, j] : {draw(st.sampled_from(('i >= 1', 'j = 1', 'i + j >= 3')))} }}")
    options = [
        lambda t: p.tile(t, at, sizes),
        lambda t: p.strip_mine(t, at, {member: sizes[member]}),
        lambda t: p.strip_mine(t, at, {member: sizes[member]}, nested=False),
        lambda t: p.scale(t, at, {member: sizes[member]}),
        lambda t: p.split(t, at, member),
        lambda t: p.interchange(t, at, order),
        lambda t: p.skew(t, at, member, other, number),
        lambda t: p.reverse(t, at, member),
        lambda t: p.shift(t, at, member, {statement: number}),
        lambda t: p.sink(t, at),
        lambda t: p.distribute(t, at),
        lambda t: p.hoist(t, at, member),
        lambda t: p.map_members(t, at, {member: f"n{len(at)}"}),
        lambda t: p.order_before(t, at, some),
        lambda t: p.order_after(t, at, some),
        lambda t: p.insert_set(t, at, [some, t.domain - some]),
    ]
    for q in sequences:
        k = len(tree.node(q).children)
        options.append(lambda t, q=q, k=k: p.reorder(t, q, range(k)[::-1]))
        options.append(lambda t, q=q: p.fuse(t, q))
        options.append(lambda t, q=q: p.fuse(t, q, 1))
    return draw(st.sampled_from(options))


@examples(60)
@given(programs(), st.data())
def test_refused_exactly_when_a_pair_is_violated(program, data):
    tree, distances = program
    for _ in range(3):
        op = operation(data.draw, tree)
        try:
            free = op(replace(tree, dependences=()))
        except (BadPath, BadSchedule, IllegalTransformation):  # a mapped member that was to be moved, say
            continue
        try:
            new = op(tree)
        except IllegalTransformation as refusal:
            a, b = re.search(r"(\w\[[^]]*\]) must run before (\w\[[^]]*\])", str(refusal)).groups()
            size = re.search(r"for N = (\d+)", str(refusal))
            wrong = broken(free, distances, int(size.group(1)) if size else 0)
            assert (a, b) in {(text(x), text(y)) for x, y in wrong}
            assert "<-- here" in str(refusal)
            continue
        assert new.dependences == tree.dependences
        for n in SIZES:
            assert times(new, N=n) == times(free, N=n)
            assert not broken(new, distances, n)
        flags_are_true(new, distances, SIZES[-1])
        tree = new


def flags_are_true(tree, distances, n):
    """Permutable bands and coincident members are what they claim to be."""
    pairs = demanded(tree, distances, n)
    for at in tree.bands():
        b = tree.band(at)
        above = [m for k in range(len(at)) if isinstance(x := tree.node(at[:k]), Band) for m in x.members]
        reach = set(instances(replace(tree, root=Domain(tree.instances_at(at))), N=n))
        for a, c in pairs:
            if {a, c} <= reach and all(value(m, a) == value(m, c) for m in above):
                ahead = [value(m, c) - value(m, a) for m in b.members]
                assert not b.permutable or min(ahead) >= 0
                assert all(d == 0 for d, m in zip(ahead, b.members) if m.coincident)


def value(member, instance):
    statement, (x, y) = instance
    return member.of(statement).evaluate({"i": x, "j": y})


def test_a_tree_that_was_illegal_before_is_said_to_be():
    back = Dependence("RAW", "A", "S", "S", Map("{ S[i, j] -> S[i, j - 1] : 0 <= i < 4 and 1 <= j < 4 }"))
    tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), band("S", (i, j))), (back,))
    with pytest.raises(IllegalTransformation, match="before tiling the schedule breaks a dependence already"):
        p.tile(tree, (0,), (2, 2))


def test_a_mapped_member_stays_behind_the_loop_that_orders_its_iterations():
    """Distance (1, 1): the loop over i satisfies it, so that j may be mapped behind it, but not in front."""
    diagonal = Dependence("RAW", "A", "S", "S", Map("{ S[i, j] -> S[i + 1, j + 1] : 0 <= i < 3 and 0 <= j < 3 }"))
    tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), band("S", (i, j))), (diagonal,))
    tree = reflagged(tree, (0,))
    assert tree.band((0,)).permutable
    assert p.interchange(tree, (0,), (1, 0)) != tree
    mapped = p.map_members(tree, (0,), {"j": "threadIdx.x"})
    with pytest.raises(IllegalTransformation, match="must run before"):
        p.interchange(mapped, (0,), (1, 0))
    with pytest.raises(IllegalTransformation, match="must run before"):
        p.map_members(p.interchange(tree, (0,), (1, 0)), (0,), {"j": "threadIdx.x"})


def test_bands_below_have_to_order_what_a_shifted_band_does_no_more():
    """A loop over i carries S[i, j] -> T[i + 1, j + 1]; with T an iteration earlier the loop over j below has to."""
    relation = Map("{ S[i, j] -> T[i + 1, j + 1] : 0 <= i < 3 and 0 <= j < 3 }")
    domain = Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4; T[i, j] : 0 <= i < 4 and 0 <= j < 4 }")
    tree = Schedule(Domain(domain, band("ST", (i,), band("ST", (j,)))), (Dependence("RAW", "A", "S", "T", relation),))
    tree = reflagged(tree)
    assert tree.band((0, 0)).members[0].coincident
    assert not p.shift(tree, (0,), 0, {"T": -1}).band((0, 0)).members[0].coincident


@pytest.mark.parametrize("amounts, kept", [({"S": 1, "T": 1}, True), ({"T": 1}, False)])
def test_shifting_without_dependences_keeps_flags_only_where_they_surely_hold(amounts, kept):
    inner = replace(band("ST", (j,)), permutable=True)
    outer = replace(band("ST", (i, i + j), inner), permutable=True)
    outer = replace(outer, members=tuple(replace(m, coincident=True) for m in outer.members))
    tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4; T[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), outer))
    new = p.shift(tree, (0,), 0, amounts).band((0,))
    assert [new.permutable, *(m.coincident for m in new.members)] == [kept] * 3
    assert new.child.permutable
