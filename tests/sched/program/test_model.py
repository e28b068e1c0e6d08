"""Programs as values: what they refuse, and what they look like."""

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from polyvolta.sched.errors import BadProgram, BadSchedule
from polyvolta.sched.program import Access, Program, Statement, nest_from_source
from polyvolta.sched.tree import Band, Domain, Extension, Filter, Guard, Leaf, Mark, Member, Schedule, Sequence, SetNode
from polyvolta.sets import Map, Set, var

STEPS = nest_from_source(
    """
    def steps(x, y, alpha, N):
        assert N >= 1
        total = 0.0
        for i in range(N):
            total += alpha * x[i]
            y[i] = total if i > 0 else x[0]
    """
)


def test_a_program_goes_to_another_process():
    copy = pickle.loads(pickle.dumps(STEPS))
    assert copy == STEPS == deepcopy(STEPS) and copy.function is None
    x, y, found = [1.0, 2.0], [0.0, 0.0], np.zeros(2)
    STEPS(x=x, y=y, alpha=2.0, N=2)
    copy(x=np.array(x), y=found, alpha=2.0, N=2)
    assert y == list(found) == [1.0, 6.0]


def test_the_text_of_a_program():
    assert (
        str(STEPS)
        == """\
steps(x, y, alpha, N)
  S1[]
    total = 0.0
    writes total
  S2[i] : 0 ≤ i < N
    total += alpha * x[i]
    reads  total; x[i]
    writes total
  S3[i] : 0 ≤ i < N
    y[i] = total if i > 0 else x[0]
    reads  total : i ≥ 1; x[0] : i = 0
    writes y[i]
  local total
  given N ≥ 1
  order
    SEQUENCE
      FILTER: S1[]
      FILTER: S2[i]; S3[i]
        BAND: S2[i] → [i];
              S3[i] → [i]
          SEQUENCE
            FILTER: S2[i]
            FILTER: S3[i]"""
    )


def test_other_forms():
    assert repr(STEPS) == "<Program steps: S1, S2, S3; print it>"
    assert "<pre>steps(x, y, alpha, N)\n" in STEPS._repr_html_()
    assert "&lt;" in STEPS._repr_html_()
    assert str(STEPS.statement("S2")).splitlines()[0] == "S2[i] : 0 ≤ i < N"


def test_a_program_is_a_value():
    with pytest.raises(FrozenInstanceError):
        STEPS.name = "other"
    with pytest.raises(TypeError):
        STEPS.functions["x"] = 1
    assert replace(STEPS, function=None) == STEPS
    assert hash(replace(STEPS, function=None)) == hash(STEPS)
    assert replace(STEPS, name="other") != STEPS


def test_the_statement_of_a_name():
    assert STEPS.statement("S2").body == "total += alpha * x[i]"
    with pytest.raises(BadProgram, match="no statement is called 'S22'") as caught:
        STEPS.statement("S22")
    assert caught.value.hint == "did you mean 'S2'?"


def test_accesses_are_of_instances_only():
    domain = Set("[N] -> { S[i] : 0 <= i < N }")
    s = Statement("S", ("i",), domain, (Access("A", Map("{ S[i] -> A[i + 1] }")),), ())
    assert s.reads[0].relation.is_equal(Map("[N] -> { S[i] -> A[i + 1] : 0 <= i < N }"))


def test_accesses_of_other_statements():
    domain = Set("{ S[i] : 0 <= i < 9 }")
    for relation in (
        "{ S[i] -> B[i] }",
        "{ T[i] -> A[i] }",
        "{ S[i, j] -> A[i] }",
        "{ S[i] -> A[i]; S[i] -> B[i] }",
        "{ S[i] -> [i] }",
    ):
        with pytest.raises(BadProgram, match="an access of S"):
            Statement("S", ("i",), domain, (Access("A", Map(relation)),), ())
    for access in (Access("A", "{ S[i] -> A[i] }"), Map("{ S[i] -> A[i] }"), "A"):
        with pytest.raises(BadProgram, match="an access of S is an array and a Map") as caught:
            Statement("S", ("i",), domain, (), (access,))
        assert caught.value.hint == 'Access("A", Map("{ S[i] -> A[...] }"))'
    with pytest.raises(BadProgram, match="the domain of S is a Set, not a str"):
        Statement("S", ("i",), "{ S[i] }", (), ())
    with pytest.raises(BadProgram, match="the domain of T"):
        Statement("T", ("i",), domain, (), ())
    with pytest.raises(BadProgram, match="the domain of S"):
        Statement("S", ("i", "j"), domain, (), ())


def test_parameters_that_the_domain_does_not_have():
    domain = Set("[N] -> { S[i] : 0 <= i < N }")
    order = Schedule(Domain(domain))
    foreign = Statement("S", ("i",), domain, (Access("A", Map("[M] -> { S[i] -> A[M - i] }")),), ())
    with pytest.raises(BadProgram, match="an access of S speaks of M, no parameter of the domain"):
        Program("p", (foreign,), order, Set("{ : }"))
    both = domain.align_params(("N", "M"))
    assert Program("p", (foreign,), Schedule(Domain(both)), Set("{ : }")).reads.param_names == ("N", "M")
    with pytest.raises(BadProgram, match="the context speaks of M, no parameter of the domain"):
        Program("p", (Statement("S", ("i",), domain, (), ()),), order, Set("[M] -> { : M > 3 }"))


def test_parts_of_another_kind():
    s = Statement("S", ("i",), Set("{ S[i] : 0 <= i < 4 }"), (), ())
    with pytest.raises(BadProgram, match="not a Schedule and a str"):
        Program("p", (s,), Schedule(Domain(s.domain)), "{ : }")
    with pytest.raises(BadProgram, match="not None and a Set"):
        Program("p", (s,), None, Set("{ : }"))


# ---- orders

DOMAIN = Set("[N] -> { S[i] : 0 <= i < N; T[i, j] : 0 <= i < N and 0 <= j < N }")
STATEMENTS = (
    Statement("S", ("i",), DOMAIN.only("S"), (), ()),
    Statement("T", ("i", "j"), DOMAIN.only("T"), (), ()),
)


def ordered(root):
    return Program("p", STATEMENTS, Schedule(root), Set("{ : }"))


def band(*statements, child=None):
    return Band((Member(tuple((s, var("i")) for s in statements)),), child or Leaf())


WHOLE = Domain(DOMAIN, band("S", "T"))
HALF = Set("{ T[i, j] : i >= 3 }")
OTHER = Set("{ T[i, j] : i < 3 }")


def test_orders_of_every_instance():
    ordered(WHOLE)
    ordered(Domain(DOMAIN))
    ordered(Domain(DOMAIN, Mark("here", Sequence((Filter(("T",), band("T")), Filter(("S",)))))))
    ordered(
        Domain(DOMAIN, SetNode((Filter(("S", "T"), Leaf(), HALF | Set("{ S[i] }")), Filter(("T",), Leaf(), OTHER))))
    )
    equal = Set("[N] -> { S[i] : 0 <= i <= N - 1; T[i, j] : 0 <= i <= N - 1 and 0 <= j < N and 0 < N }")
    ordered(Domain(equal, band("S", "T")))


@pytest.mark.parametrize(
    ("root", "message"),
    [
        (band("S", "T"), "the root is a Band"),
        (Domain(DOMAIN.only("S")), "misses T[0, 0] for N = 1, and every other instance of T"),
        (Domain(DOMAIN & Set("{ S[i] : i != 2; T[i, j] }")), "misses S[2] for N = 3"),
        (Domain(DOMAIN | Set("[N] -> { S[i] : i = N }")), "orders S[0] for N = 0, which is no instance"),
        (Domain(DOMAIN | Set("{ U[i] : i = 0 }")), "orders instances of U, which is no statement"),
        (Domain(Set("[N] -> { S[i, j] : 0 <= i, j < N }") | DOMAIN.only("T")), "has S[i, j], the program S[i]"),
        (Domain(DOMAIN, band("S")), "no expression for T"),
        (Domain(DOMAIN, Sequence((Filter(("S",)),))), "no child of the sequence has T[0, 0]"),
        (Domain(DOMAIN, Sequence((Filter(("S", "T")), Filter(("T",))))), "the filters overlap: T[0, 0]"),
        (
            Domain(DOMAIN, Sequence((Filter(("S", "T"), Leaf(), HALF | Set("{ S[i] }")),))),
            "no child of the sequence has T[0, 0]",
        ),
        (Domain(DOMAIN, Sequence((Filter(("S", "T")), Filter(("T",), Leaf(), HALF)))), "the filters overlap: T[3, 0]"),
        (Domain(DOMAIN, Sequence((band("S", "T"),))), "the children of a sequence are filters, not a Band"),
        (Domain(DOMAIN, Extension(Map("{ [] -> U[i] : i = 0 }"))), "a program's own order has no Extension"),
        (Domain(DOMAIN, Guard(Set("{ [] : }"))), "a program's own order has no Guard"),
        (Domain(DOMAIN, Filter(("S",), band("S"))), "misses T[0, 0] for N = 1"),
        (
            Domain(DOMAIN, band("S", "T", child=Filter(("S", "T"), Leaf(), HALF | Set("{ S[i] }")))),
            "misses T[0, 0] for",
        ),
    ],
)
def test_orders_that_are_none(root, message):
    with pytest.raises(BadSchedule) as caught:
        ordered(root)
    assert message in caught.value.message
    assert caught.value.where


def test_the_place_is_marked():
    with pytest.raises(BadSchedule) as caught:
        ordered(Domain(DOMAIN, Mark("here", Sequence((Filter(("S",), band("S")), Filter(("T",), band("S")))))))
    marked = [line for line in caught.value.where.splitlines() if "<-- here" in line]
    assert len(marked) == 1 and "BAND: S" in marked[0]


def test_programs_that_are_none():
    with pytest.raises(BadProgram, match="at least one statement"):
        Program("p", (), Schedule(Domain(DOMAIN)), Set("{ : }"))
    with pytest.raises(BadProgram, match="two statements are called S"):
        Program("p", (STATEMENTS[0],) * 2, Schedule(Domain(DOMAIN.only("S"))), Set("{ : }"))
