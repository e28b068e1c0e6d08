"""What each transformation does to the order of the instances: the definition, on every pair of instances.

A time is the list of what an instance meets on its way down the tree. Each transformation is a function of times:
tiling by s replaces a member x by x // s and, behind the other tile loops, x % s. So the transformed tree's order is
computed twice: from the transformed tree, and from the transformed times of the old one.
"""

import pytest
from hypothesis import given as every
from hypothesis import settings
from hypothesis import strategies as st

from polyvolta.sched import Band, Domain, Filter, Leaf, Mark, Member, Schedule, Sequence
from polyvolta.sched import passes as p
from polyvolta.sets import Map, Set, aff, var
from tests.sched.passes.brute import instances, order, ordered, times

i, j = var("i"), var("j")
FEW = settings(max_examples=20)
AT = (0, 0)  # the band that is transformed: members 1 and 2 of a time
EXPRESSIONS = (i, j, i + j, i - j, 2 * i - j, i // 2, (i + 2 * j) % 3, aff(1), j - 2 * (j // 2))
DOMAINS = (
    "{ S[i, j] : 0 <= i < 4 and 0 <= j < 3; T[i, j] : 0 <= i < 3 and 0 <= j <= i }",
    "{ S[i, j] : -2 <= i < 2 and 0 <= j < 4; T[i, j] : i = 2 and 0 <= j < 4 }",
    "{ S[i, j] : 0 <= i + j < 5 and 0 <= i < 4; T[i, j] : 0 <= i < 6 and i mod 2 = 0 and j = 1 }",
)
expressions = st.sampled_from(EXPRESSIONS)


@st.composite
def trees(draw, child="sequence"):
    """BAND [a] / BAND [b, c] / SEQUENCE of S and T, each with a BAND [d]; flags that allow everything."""

    def member():
        return Member((("S", draw(expressions)), ("T", draw(expressions))), coincident=True)

    kids = tuple(
        Filter((s,), Band((Member(((s, draw(expressions)),), coincident=True),), permutable=True)) for s in "ST"
    )
    below = Sequence(kids) if child == "sequence" else Band((member(),))
    inner = Band((member(), member()), below, permutable=True)
    domain = Set(draw(st.sampled_from(DOMAINS)))
    return Schedule(Domain(domain, Band((member(),), inner, permutable=True)))


def transformed(tree, f):
    """The order after a function of times, given as a function of (what is above, x, y, what is below)."""
    return ordered({a: tuple(f(t[:1], t[1][1], t[2][1], t[3:])) for a, t in times(tree).items()})


def loop(*values):
    return tuple(("then", v) for v in values)


sizes = st.integers(1, 4)


def given(*args, **kwargs):
    """A law on a few drawn trees."""
    return lambda test: FEW(every(*args, **kwargs)(test))


@given(trees(), sizes, sizes)
def test_tiling(tree, s, t):
    new = p.tile(tree, AT, (s, t))
    assert order(new) == transformed(tree, lambda a, x, y, b: (*a, *loop(x // s, y // t, x % s, y % t), *b))


@given(trees(), sizes)
def test_strip_mining_around_the_others(tree, s):
    new = p.strip_mine(tree, AT, {1: s})
    assert order(new) == transformed(tree, lambda a, x, y, b: (*a, *loop(y // s, x, y % s), *b))


@given(trees(), sizes)
def test_strip_mining_in_place_keeps_the_order(tree, s):
    assert order(p.strip_mine(tree, AT, {0: s}, nested=False)) == order(tree)


@given(trees())
def test_splitting_keeps_the_order(tree):
    new = p.split(tree, AT, 1)
    assert order(new) == order(tree)
    assert len(new.band(AT).members) == 1


@given(trees())
def test_interchange(tree):
    assert order(p.interchange(tree, AT, (1, 0))) == transformed(tree, lambda a, x, y, b: (*a, *loop(y, x), *b))


@given(trees(), st.integers(-3, 3))
def test_skewing_by_an_outer_member_keeps_the_order(tree, f):
    assert order(p.skew(tree, AT, 1, 0, f)) == order(tree)


@given(trees(), st.integers(0, 3))
def test_skewing_by_an_inner_member(tree, f):
    new = p.skew(tree, AT, 0, 1, f)
    assert order(new) == transformed(tree, lambda a, x, y, b: (*a, *loop(x + f * y, y), *b))


@given(trees(), st.integers(0, 1))
def test_reversal(tree, k):
    new = p.reverse(tree, AT, k)
    assert order(new) == transformed(
        tree, lambda a, x, y, b: (*a, *loop(x * (-1) ** (k == 0), y * (-1) ** (k == 1)), *b)
    )
    assert p.reverse(new, AT, k) == tree


@given(trees(), sizes, sizes)
def test_scaling_keeps_the_order(tree, s, t):
    assert order(p.scale(tree, AT, {0: s, 1: t})) == order(tree)


@given(trees(), st.integers(-3, 3), st.integers(-3, 3))
def test_shifting(tree, s, t):
    new = p.shift(tree, AT, 0, {"S": s, "T": t})
    time = times(tree)
    by = {"S": s, "T": t}
    moved = {a: (v[0], ("then", v[1][1] + by[a[0]]), *v[2:]) for a, v in time.items()}
    assert order(new) == ordered(moved)


@given(trees())
def test_sinking_runs_the_band_last(tree):
    assert order(p.sink(tree, AT)) == transformed(tree, lambda a, x, y, b: (*a, *b, *loop(x, y)))


@given(trees("band"))
def test_sinking_below_a_band(tree):
    assert order(p.sink(tree, AT)) == transformed(tree, lambda a, x, y, b: (*a, *b, *loop(x, y)))


@given(trees())
def test_distribution_puts_the_position_first_and_fusion_puts_it_back(tree):
    apart = p.distribute(tree, AT)
    assert order(apart) == transformed(tree, lambda a, x, y, b: (*a, b[0], *loop(x, y), *b[1:]))
    together = p.fuse(apart, AT, 2)
    assert order(together) == order(tree)
    assert p.fuse(p.distribute(tree, AT), AT).band(AT).statements == ("S", "T")


@given(trees())
def test_distribution_of_a_leaf(tree):
    leaf = tree.replace((*AT, 0), Leaf())
    new = p.distribute(leaf, AT, ("T", "S"))
    position = {"T": 0, "S": 1}
    assert order(new) == ordered({a: (t[0], ("then", position[a[0]]), *t[1:]) for a, t in times(leaf).items()})


@pytest.mark.parametrize("keep", [0, 1, 2])
@given(tree=trees())
def test_hoisting_puts_the_position_behind_the_members_that_stay(keep, tree):
    def moved(a, x, y, b):
        members = loop(x, y)
        return (*a, *members[:keep], b[0], *members[keep:], *b[1:])

    assert order(p.hoist(tree, AT, keep)) == transformed(tree, moved)


@given(trees())
def test_hoisting_goes_through_bands_and_marks(tree):
    marked = p.insert_mark(tree, AT, "points")
    new = p.hoist(marked, (0,), 0)
    assert order(new) == ordered({a: (t[3], *t[:3], *t[4:]) for a, t in times(tree).items()})
    assert len([1 for _, n in new.walk() if isinstance(n, Mark)]) == 2


@given(trees())
def test_statements_in_another_order(tree):
    def swapped(a, x, y, b):
        return (*a, *loop(x, y, 1 - b[0][1]), *b[1:])

    assert order(p.reorder(tree, (*AT, 0), (1, 0))) == transformed(tree, swapped)
    assert order(p.order_before(tree, (*AT, 0), "T")) == transformed(tree, swapped)
    assert order(p.order_after(tree, (*AT, 0), ("S",))) == transformed(tree, swapped)


SOME = ("{ S[i, j] : i >= 1; T[i, j] : j >= 1 }", "{ S[i, j] : (i + j) mod 2 = 0 }", "{ T[i, j] : i > j }")


@given(trees(), st.sampled_from(SOME))
def test_some_instances_before_the_rest(tree, text):
    some = Set(text)
    inside = {a: a[0] in some.tuple_names and some.only(a[0]).contains(a[1]) for a in instances(tree)}
    time = times(tree)
    for op, first in ((p.order_before, True), (p.order_after, False)):
        expected = {a: (t[0], ("then", int(inside[a] != first)), *t[1:]) for a, t in time.items()}
        assert order(op(tree, AT, some)) == ordered(expected)


@given(trees(), st.sampled_from(SOME))
def test_a_set_of_parts_orders_nothing_between_them(tree, text):
    some = Set(text)
    inside = {a: a[0] in some.tuple_names and some.only(a[0]).contains(a[1]) for a in instances(tree)}
    new = p.insert_set(tree, AT, [some, tree.domain - some])
    assert order(new) == ordered({a: (t[0], ("any", inside[a]), *t[1:]) for a, t in times(tree).items()})


@given(trees())
def test_what_says_nothing_about_the_order(tree):
    same = [
        p.insert_mark(tree, AT, "here"),
        p.unroll(tree, AT, (0, 1)),
        p.set_loop_type(tree, AT, 0, "separate"),
        p.insert_filter(tree, AT, ("S", "T")),
        p.insert_context(tree, AT, Set("{ [c] : c >= -99 }")),
        p.insert_guard(tree, AT, Set("{ [c] : c >= -99 }")),
        p.insert_extension(tree, AT, Map("{ [c] -> X[c] }")),
    ]
    assert all(order(new) == order(tree) for new in same)


@given(trees())
def test_a_mapped_member_orders_nothing(tree):
    new = p.map_members(tree, AT, {0: "threadIdx.x"})
    assert order(new) == transformed(tree, lambda a, x, y, b: (*a, ("any", x), *loop(y), *b))


@given(trees())
def test_doing_nothing_gives_an_equal_tree(tree):
    nothing = [
        p.interchange(tree, AT, (0, 1)),
        p.skew(tree, AT, 0, 1, 0),
        p.shift(tree, AT, 0, {"S": 0}),
        p.scale(tree, AT, {0: 1}),
        p.strip_mine(tree, AT, {}),
        p.reorder(tree, (*AT, 0), (0, 1)),
        p.hoist(tree, AT, 2),
        p.order_before(tree, AT, ()),
        p.order_after(tree, AT, ("S", "T")),
        p.order_before(tree, AT, Set("{ S[i, j] : i >= 99 }")),
        p.insert_sequence(tree, AT, [("S", "T")]),
        p.map_members(tree, AT, {}),
        p.unroll(tree, AT, 0, on=False),
        p.set_loop_type(tree, AT, 1, "default"),
        p.remove_mark(p.insert_mark(tree, AT, "x"), AT),
        p.sink(tree, (*AT, 0, 0, 0)),
    ]
    assert all(new == tree for new in nothing)
