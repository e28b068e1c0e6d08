"""A transformation is refused if and only if an instance would run too early, and the error names two such instances.

Random programs of two statements with random dependences, a random tree that respects them, random transformations.
Each is done twice: on the tree without demands (`dependences=()`), whose order is enumerated to find the pairs that the
dependences forbid; and on the tree with its dependences, which must give the same tree or be refused.
"""

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from polyvolta.sched import Band, Domain, Filter, Leaf, Member, Schedule, Sequence
from polyvolta.sched import passes as p
from polyvolta.sched.dependences.model import Dependence
from polyvolta.sched.errors import BadPath, BadSchedule, IllegalTransformation
from polyvolta.sched.passes.legal import reflagged
from polyvolta.sets import Map, Set, var
from tests.sched.passes.brute import before, instances, text, times

i, j = var("i"), var("j")
DOMAINS = ("0 <= i < 4 and 0 <= j < 4", "0 <= i < 4 and 0 <= j <= i", "0 <= i < 4 and i <= j < 4")


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
    return Set(f"{{ S[i, j] : {s}; T[i, j] : {t} }}")


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
    """A tree with dependences of constant distances, all of which it respects, and the pairs that they demand."""
    tree = Schedule(Domain(domain_of(draw), draw(st.sampled_from(SHAPES))))
    points = set(instances(tree))
    time = times(tree)
    found, demanded = [], set()
    vector = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
    statements = st.sampled_from("ST")
    for source, sink, (a, b) in draw(st.lists(st.tuples(statements, statements, vector), min_size=1, max_size=3)):
        pairs = pairs_of((source, sink, (a, b)), points)
        if not pairs or not all(before(time[x], time[y]) for x, y in pairs):
            continue
        whole = Map(f"{{ {source}[i, j] -> {sink}[i + {a}, j + {b}] }}")
        relation = whole.intersect_domain(tree.domain.only(source)).intersect_range(tree.domain.only(sink))
        found.append(Dependence("RAW", f"A{len(found)}", source, sink, relation))
        demanded |= pairs
    assume(found)
    tree = replace(tree, dependences=tuple(found))
    return reflagged(tree, *tree.bands()), frozenset(demanded)


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
    return draw(st.sampled_from(options))


@settings(max_examples=100)
@given(programs(), st.data())
def test_refused_exactly_when_a_pair_is_violated(program, data):
    tree, demanded = program
    for _ in range(3):
        op = operation(data.draw, tree)
        try:
            free = op(replace(tree, dependences=()))
        except (BadPath, BadSchedule, IllegalTransformation):  # a mapped member that was to be moved, say
            continue
        time = times(free)
        broken = {(a, b) for a, b in demanded if not before(time[a], time[b])}
        if broken:
            with pytest.raises(IllegalTransformation) as refusal:
                op(tree)
            named = re.search(r"(\w\[[^]]*\]) must run before (\w\[[^]]*\])", str(refusal.value))
            assert named.groups() in {(text(a), text(b)) for a, b in broken}
            assert "<-- here" in str(refusal.value)
        else:
            new = op(tree)
            assert times(new) == time
            assert new.dependences == tree.dependences
            flags_are_true(new, demanded)
            tree = new


def flags_are_true(tree, demanded):
    """Permutable bands and coincident members are what they claim to be."""
    for at in tree.bands():
        b = tree.band(at)
        above = [m for k in range(len(at)) if isinstance(n := tree.node(at[:k]), Band) for m in n.members]
        reach = set(instances(replace(tree, root=Domain(tree.instances_at(at)))))
        for a, c in demanded:
            if {a, c} <= reach and all(value(m, a) == value(m, c) for m in above):
                distances = [value(m, c) - value(m, a) for m in b.members]
                assert not b.permutable or min(distances) >= 0
                assert all(d == 0 for d, m in zip(distances, b.members) if m.coincident)


def value(member, instance):
    statement, (x, y) = instance
    return member.of(statement).evaluate({"i": x, "j": y})


def test_a_tree_that_was_illegal_before_is_said_to_be():
    back = Dependence("RAW", "A", "S", "S", Map("{ S[i, j] -> S[i, j - 1] : 0 <= i < 4 and 1 <= j < 4 }"))
    tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }"), band("S", (i, j))), (back,))
    with pytest.raises(IllegalTransformation, match="before tiling the schedule breaks a dependence already"):
        p.tile(tree, (0,), (2, 2))
