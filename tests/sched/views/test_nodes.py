"""Nodes are made of nodes, sets and expressions; everything else is refused where it is put in."""

import pytest

from polyvolta.sched.errors import BadArgument, BadPath, BadSchedule
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sched.views import diff
from polyvolta.sets import Map, Set, aff
from tests.sched.views.trees import band, tree

TEXT = "{ S[i] : 0 <= i < 4 }"
S = Set(TEXT)
I = Member((("S", aff("i")),))  # noqa: E741

WRONG = {
    "a root that is none": (lambda: Schedule(None), "the root of a tree is a node, not None"),
    "a text for a domain": (lambda: Domain("{ S[i] }"), "a domain is a Set, not a str"),
    "a text for a context": (lambda: Context("{ : }"), "a context is a Set, not a str"),
    "a text for a guard": (lambda: Guard("{ : }"), "a guard is a Set, not a str"),
    "a set for an extension": (lambda: Extension(S), "an extension is a Map, not a Set"),
    "a number for a mark": (lambda: Mark(3), "the name of a mark is a str, not an int"),
    "a mark of two lines": (lambda: Mark("a\nb"), "the name of a mark is one line"),
    "a text for a filter": (lambda: Filter("S1"), "what a filter names is a tuple, not a str"),
    "a set for a name": (lambda: Filter((S,)), "the name of a statement is a str, not a Set"),
    "a text for a filter's set": (
        lambda: Filter(("S",), Leaf(), "{ S[] }"),
        "what a filter lets through is a Set, not a str",
    ),
    "a list of children": (lambda: Sequence([Filter(("S",))]), "what stands below a sequence is a tuple, not a list"),
    "a child that is none": (lambda: SetNode((Leaf(), None)), "below a set stands a node, not None"),
    "one member alone": (lambda: Band(I), "what a band has of members is a tuple, not a Member"),
    "an expression for a member": (lambda: Band((aff("i"),)), "a member of a band is a Member, not an Aff"),
    "a text for an isolated part": (lambda: Band((I,), isolate="{ [a] }"), "an isolated part is a Set, not a str"),
    "a text for an expression": (lambda: Member((("S", "i"),)), "the expression for S is an Aff, not a str"),
    "a table of expressions": (lambda: Member({"S": aff("i")}), "what a member says of its statements is a tuple"),
    "one pair alone": (lambda: Member(("S", aff("i"))), "a member has pairs (statement, expression)"),
    "an unknown loop type": (lambda: Member(I.exprs, loop_type="unrol"), "no loop type is called 'unrol'"),
    "no node in place of one": (lambda: tree(TEXT).replace((0,), None), "below a domain stands a node, not None"),
}


@pytest.mark.parametrize("name", WRONG)
def test_parts_of_another_kind_are_refused(name):
    make, message = WRONG[name]
    with pytest.raises(BadSchedule) as caught:
        make()
    assert message in caught.value.message


def test_the_expression_of_a_statement():
    assert Band((I, I)).schedule("S") == (aff("i"), aff("i"))
    with pytest.raises(BadSchedule, match="no expression for S1") as caught:
        Band((I,)).schedule("S1")
    assert caught.value.hint == "did you mean 'S'?"


@pytest.mark.parametrize("at", [None, 0, "0", {0}])
def test_a_path_is_a_tuple(at):
    with pytest.raises(BadPath, match="a path is a tuple of child numbers, not "):
        tree(TEXT).node(at)


def test_a_leaf_is_pointed_out_by_a_line_of_its_own():
    with pytest.raises(BadPath) as caught:
        tree(TEXT, Mark("here")).node([0, 0, 0])
    assert caught.value.where == "DOMAIN: S[i] : 0 ≤ i ≤ 3\n  MARK: here\n    LEAF   <-- here"


def test_finding_what_is_no_kind_of_node():
    with pytest.raises(BadPath, match="one of the classes, not 'Band'"):
        tree(TEXT).find("Band")


def test_a_band_may_be_silent_of_a_statement_without_instances():
    schedule = tree("{ S[i] : 0 <= i < 4; T[] : false }", band(None, S="i"))
    assert schedule.check_structure().prefix((0, 0)) == {"S": (aff("i"),)}
    assert schedule.to_map().is_equal(Map("{ S[i] -> [i] : 0 <= i < 4 }"))
    assert not schedule.diff(schedule)


def test_a_band_may_not_be_silent_of_another():
    schedule = tree("{ S[i] : 0 <= i < 4; T[] }", band(None, S="i"))
    for read in (lambda: schedule.prefix((0, 0)), schedule.to_map, lambda: schedule.prefix_schedule((0, 0))):
        with pytest.raises(BadSchedule, match="no expression for T"):
            read()


def test_a_tree_that_is_a_leaf_has_every_form():
    leaf = Schedule(Leaf())
    assert str(leaf) == "LEAF"
    assert "LEAF" in leaf._repr_html_()
    assert "LEAF" in leaf.to_dot()
    assert leaf.to_latex() == "LEAF\n"
    assert leaf.to_isl() == "{ leaf }"
    assert not leaf.diff(leaf)
    assert leaf.diff(tree(TEXT)).changed == ((),)


def test_a_difference_is_one_of_two_schedules():
    with pytest.raises(BadArgument, match="two schedules, not of a str"):
        tree(TEXT).diff("S")
    with pytest.raises(BadArgument, match="two schedules, not of None"):
        diff(None, tree(TEXT))


def test_the_empty_tree():
    empty = tree("{ }")
    assert repr(empty) == "<Schedule of nothing, 2 nodes; print it>"
    assert empty.to_isl() == '{ domain: "{ }" }'
    assert Schedule.parse(empty.to_isl()) == empty
