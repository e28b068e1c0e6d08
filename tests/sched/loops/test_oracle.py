"""The oracle itself: it accepts every order that a tree allows and no other."""

from itertools import permutations

import pytest
from hypothesis import given

from polyvolta.sched.program.interpret import instances
from polyvolta.sched.tree import Band, Domain, Extension, Filter, Guard, Leaf, Member, Schedule, Sequence, SetNode
from polyvolta.sets import Map, Set, var
from tests.sched.loops.draw import trees
from tests.sched.loops.oracle import Meaning, wrong
from tests.sets.brute import examples

i, j = var("i"), var("j")


def allowed(schedule, **params):
    """The orders of its instances that a tree allows, as texts."""
    order = Meaning(schedule, params).order
    every = permutations(order.instances.elements())
    return {" ".join(s + "".join(map(str, p)) for s, p in run) for run in every if not wrong(order, list(run))}


def band(child=None, **exprs):
    return Band((Member(tuple(exprs.items())),), child or Leaf())


S, T = Filter(("S",)), Filter(("T",))
TWO = Set("{ S[i] : 0 <= i < 2; T[i] : 0 <= i < 2 }")


@pytest.mark.parametrize(
    ("child", "orders"),
    [
        (Sequence((Filter(("T",), band(T=-i)), Filter(("S",), band(S=i)))), {"T1 T0 S0 S1"}),
        (band(Sequence((T, S)), S=i, T=i), {"T0 S0 T1 S1"}),
        (band(SetNode((T, S)), S=i, T=i), {"T0 S0 T1 S1", "T0 S0 S1 T1", "S0 T0 T1 S1", "S0 T0 S1 T1"}),
        (band(Guard(Set("{ [t] : t >= 1 }"), Sequence((T, S))), S=i, T=i), {"T1 S1"}),
        (Filter(("S", "T"), band(S=i, T=i + 2), Set("{ S[1]; T[0]; T[1] }")), {"S1 T0 T1"}),
        (
            SetNode((Filter(("S",), band(S=i)), Filter(("T",), band(T=i)))),
            {"S0 S1 T0 T1", "S0 T0 S1 T1", "S0 T0 T1 S1", "T0 S0 S1 T1", "T0 S0 T1 S1", "T0 T1 S0 S1"},
        ),
        (
            Filter(("S",), band(Extension(Map("{ [t] -> X[t] : 0 <= t < 2 }"), Sequence((Filter(("X",)), S))), S=i)),
            {"X0 S0 X1 S1"},
        ),
    ],
)
def test_what_a_tree_allows(child, orders):
    assert allowed(Schedule(Domain(TWO, child))) == orders


def test_a_mapped_member_gives_no_order():
    two = Schedule(Domain(Set("{ S[i] : 0 <= i < 2 }"), Band((Member((("S", i),), name="t"),))))
    assert allowed(two) == {"S0 S1", "S1 S0"}


def test_instances_count():
    """Missing, doubled and foreign instances are all wrong."""
    order = Meaning(Schedule(Domain(Set("{ S[i] : 0 <= i < 2 }"), band(S=i))), {}).order
    right = [("S", (0,)), ("S", (1,))]
    assert not wrong(order, right)
    for run in (right[:1], [*right, ("S", (1,))], [*right, ("S", (2,))], [*right, ("T", (0,))], right[::-1]):
        assert wrong(order, run)


@examples(80)
@given(trees(rich=False))
def test_the_program_interpreters_order_is_allowed(drawn):
    """Two readings of trees that have nothing in common."""
    for values in drawn.values:
        assert wrong(Meaning(drawn.schedule, values).order, instances(drawn.schedule, **values)) is None
