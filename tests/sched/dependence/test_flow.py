"""Dataflow against its definition, by enumeration, over random trees and accesses; and where the answer is known."""

import pytest
from hypothesis import given

from polyvolta.sched.dependence import dataflow
from polyvolta.sched.errors import BadProgram, BadSchedule
from polyvolta.sched.tree import Band, Domain, Filter, Member, Schedule, Sequence
from polyvolta.sets import BudgetExceeded, Map, Set, Unbounded, budget, var
from tests.sched.dependence.draw import programs
from tests.sched.dependence.oracle import Flow, pairs
from tests.sets.brute import examples


@given(programs())
@examples(120)
def test_every_source_is_the_last_one(drawn):
    try:
        with budget(20_000):
            found = dataflow(**drawn.accesses, order=drawn.schedule)
    except BudgetExceeded:  # one in a hundred of the drawn programs
        return
    for ways in drawn.ways:
        given_pairs = [pairs(m, ways.params) for m in drawn.accesses.values()]
        for name, expected in Flow(ways, *given_pairs).found.items():
            assert pairs(getattr(found, name), ways.params) == expected, name


DOMAIN = Set("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }")


def on(text):
    return Map(text).intersect_domain(DOMAIN)


def the(flow, name, text):
    assert getattr(flow, name).is_equal(Map(text)), getattr(flow, name)


def test_a_scalar_gets_its_value_from_the_same_iteration():
    flow = dataflow(on("{ T[i] -> a[] }"), on("{ S[i] -> a[] }"), order=Map("{ S[i] -> [i, 0]; T[i] -> [i, 1] }"))
    the(flow, "must", "[N] -> { S[i] -> T[i] : 0 <= i < N }")
    assert flow.may_no_source.is_empty()


def test_after_the_loop_it_is_the_last_iteration():
    flow = dataflow(on("{ T[i] -> a[] }"), on("{ S[i] -> a[] }"), order=Map("{ S[i] -> [0, i]; T[i] -> [1, i] }"))
    the(flow, "must", "[N] -> { S[N - 1] -> T[i] : 0 <= i < N }")


def test_a_possible_write_hides_nothing():
    order = Map("{ S[i] -> [i, 0]; T[i] -> [i, 1] }")
    reads, writes = on("{ T[i] -> a[] }"), on("{ S[i] -> a[] }")
    sure = on("{ S[i] -> a[] : i = 0 }")
    flow = dataflow(reads, sure, writes, order=order)
    the(flow, "must", "[N] -> { S[0] -> T[0] : N >= 1 }")
    the(flow, "may", "[N] -> { S[i] -> T[j] : 0 <= i <= j < N }")
    assert flow.may_no_source.is_empty()
    assert dataflow(reads, None, writes, order=order).may_no_source.is_equal(reads)


def test_a_kill_hides_and_is_no_source():
    order = Map("{ S[i] -> [i, 0]; T[i] -> [i, 1] }")
    reads, writes, kills = on("{ T[i] -> a[] }"), on("{ S[i] -> a[] }"), on("{ T[i] -> a[] : i >= 1 }")
    flow = dataflow(reads, on("{ S[i] -> a[] : i = 0 }"), kills=kills, order=order)
    the(flow, "must", "[N] -> { S[0] -> T[i] : 0 <= i <= 1 and i < N }")
    assert flow.may_no_source.is_empty()  # what was there before is dead, too
    assert dataflow(reads, kills=kills, order=order).may_no_source.is_equal(on("{ T[i] -> a[] : i <= 1 }"))
    the(dataflow(reads, writes, kills=kills, order=order), "must", "[N] -> { S[i] -> T[i] : 0 <= i < N }")


def test_elements_that_a_reversed_loop_left_behind():
    # for i: A[i] = ...  backwards; for i: ... = A[i//2]
    order = Map("[N] -> { S[i] -> [0, N - i]; T[i] -> [1, i] }")
    flow = dataflow(on("{ T[i] -> A[0] }"), on("{ S[i] -> A[floor(i/2)] }"), order=order)
    the(flow, "must", "[N] -> { S[0] -> T[i] : 0 <= i < N }")


def test_several_elements_of_one_access_have_their_own_sources():
    order = Map("{ S[i] -> [0, i]; T[i] -> [1, i] }")
    flow = dataflow(on("{ T[i] -> A[a] : i <= a <= i + 1 }"), on("{ S[i] -> A[i] }"), order=order)
    the(flow, "must", "[N] -> { S[a] -> T[i] : i <= a <= i + 1 and 0 <= i < N and a < N }")
    the(flow, "must_no_source", "[N] -> { T[N - 1] -> A[N] : N >= 1 }")


def test_elements_of_one_access_that_a_stride_tells_have_their_own_sources():
    order = Map("{ S[i] -> [0, i]; T[i] -> [1, i] }")
    reads = Map("{ T[i] -> A[a] : 0 <= i < 2 and i <= a <= i + 4 and (a - i) mod 2 = 0 }")
    flow = dataflow(reads, Map("{ S[i] -> A[i] : 0 <= i < 5 }"), order=order)
    the(flow, "must", "{ S[0] -> T[0]; S[2] -> T[0]; S[4] -> T[0]; S[1] -> T[1]; S[3] -> T[1] }")
    the(flow, "must_no_source", "{ T[1] -> A[5] }")


def test_an_order_must_have_a_time_for_every_statement():
    with pytest.raises(BadProgram, match="no time for T"):
        dataflow(on("{ T[i] -> a[] }"), on("{ S[i] -> a[] }"), order=Map("{ S[i] -> [i] }"))


def test_a_statement_without_instances_needs_no_time():
    order, nothing = Map("{ S[i] -> [i] }"), Map("[N] -> { T[i] -> a[] : 0 <= 2i < N and 2i >= N }")
    flow = dataflow(on("{ S[i] -> a[] }"), nothing, order=order)
    assert flow.must.is_empty() and flow.must_no_source.is_equal(on("{ S[i] -> a[] }"))
    tree = Schedule(Domain(DOMAIN.only("S"), Band((Member((("S", var("i")),)),))))
    flow = dataflow(nothing, on("{ S[i] -> a[] }"), order=tree)  # one statement, which the tree doesn't know
    assert flow.may.is_empty() and flow.may_no_source.is_empty()
    with pytest.raises(BadProgram, match="no time for T"):
        dataflow(on("{ T[i] -> a[] }"), on("{ S[i] -> a[] }"), order=tree)


@pytest.mark.parametrize(
    "order, error, text",
    [
        (Map("{ S[i] -> [t] : i <= t <= i + 1 }"), BadSchedule, "quasi-affine"),
        (Map("{ S[i, j] -> [i, j] }"), BadProgram, "the order is one of S.i, j., the accesses are those of S.i."),
        (Set("{ S[i] }"), BadSchedule, "not a Set"),
    ],
)
def test_an_order_gives_each_instance_one_time(order, error, text):
    with pytest.raises(error, match=text):
        dataflow(on("{ S[i] -> a[] }"), on("{ S[i] -> a[] }"), order=order)


def test_shorter_times_are_filled_up_with_zeros():
    reads, writes = on("{ T[i] -> a[] }"), on("{ S[i] -> a[] }")
    for short, times in (
        ("S[i] -> [i]; T[i] -> [i, 1]", "T[i] : i >= 0"),
        ("S[i] -> [i, 1]; T[i] -> [i]", "T[i] : i > 0"),
    ):
        found = dataflow(reads, writes, order=Map(f"{{ {short} }}"))
        assert found.must.range().is_equal(Set(f"{{ {times} }}") & DOMAIN.only("T"))


EVEN = Set("{ T[i] : 0 <= i <= 9 and i % 2 = 0; S[i] : 0 <= i <= 4 }")


@pytest.mark.parametrize(
    "writes, may, kills, sure, possible",
    [
        ("{ T[i] -> a[] }", None, None, "{ T[8] -> S[i] : 0 <= i <= 4 }", "{ T[8] -> S[i] : 0 <= i <= 4 }"),
        (None, "{ T[i] -> a[] : i >= 5 }", None, "{ }", "{ T[i] -> S[k] : 6 <= i <= 8 and i % 2 = 0 and 0 <= k <= 4 }"),
        ("{ T[i] -> a[] : i < 7 }", None, "{ T[i] -> a[] : i % 2 = 1 }", "{ T[6] -> S[i] : 0 <= i <= 4 }",
         "{ T[6] -> S[i] : 0 <= i <= 4 }"),
        ("{ T[i] -> a[] : i % 2 = 1 }", None, None, "{ }", "{ }"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_order_never_runs(writes, may, kills, sure, possible):
    # for i in range(0, 10, 2): T[i]    for i in range(5): S[i], whose accesses are said of any integers
    loops = [Filter((s,), Band((Member(((s, var("i")),)),))) for s in "TS"]
    tree = Schedule(Domain(EVEN, Sequence(tuple(loops))))
    times = Map("{ T[i] -> [0, i]; S[i] -> [1, i] }").intersect_domain(EVEN)
    given_maps = [m and Map(m) for m in (writes, may, kills)]
    for order in (tree, times):
        flow = dataflow(Map("{ S[i] -> a[] }"), *given_maps, order=order)
        the(flow, "must", sure)
        the(flow, "may", possible)
        the(flow, "may_no_source", "{ }" if sure != "{ }" else "{ S[i] -> a[] : 0 <= i <= 4 }")
    with pytest.raises(BadProgram, match="no time for U"):
        dataflow(Map("{ U[i] -> a[] }"), *given_maps, order=tree)
    with pytest.raises(BadProgram, match="the accesses are those of S.i, j."):
        dataflow(Map("{ S[i, j] -> a[] }"), *given_maps, order=tree)


TIES = [  # times, sure, possible, kills -> the statements whose values S surely gets, and may get
    ("T[] -> [0]; U[] -> [0]; S[] -> [1]", "TU", "", "", "", "TU"),
    ("T[] -> [0]; U[] -> [0]; V[] -> [-1]; S[] -> [1]", "TUV", "", "", "", "TU"),
    ("T[] -> [0]; U[] -> [0]; V[] -> [1]; S[] -> [2]", "TUV", "", "", "V", "V"),
    ("T[] -> [0]; U[] -> [0]; S[] -> [1]", "T", "U", "", "", "TU"),
    ("T[] -> [0]; U[] -> [0]; S[] -> [1]", "", "TU", "", "", "TU"),
    ("T[] -> [0]; U[] -> [0]; S[] -> [1]", "T", "", "U", "", "T"),
    ("T[] -> [0]; U[] -> [0]; S[] -> [1]", "", "T", "U", "", "T"),
    ("T[] -> [0]; U[] -> [0]; V[] -> [-1]; S[] -> [1]", "TV", "", "U", "", "T"),
    ("T[] -> [0]; S[] -> [1]", "T", "", "T", "T", "T"),  # an instance writes what it has killed
    ("T[] -> [0]; S[] -> [1]", "T", "T", "", "T", "T"),
    ("T[] -> [1]; U[] -> [0]; S[] -> [1]", "TU", "", "", "U", "U"),
]


def at_one(statements):
    return Map("{ " + "; ".join(f"{s}[] -> a[]" for s in statements) + " }")


@pytest.mark.parametrize("times, sure, possible, kills, must, may", TIES)
def test_of_sources_in_no_order_none_is_sure(times, sure, possible, kills, must, may):
    found = dataflow(at_one("S"), at_one(sure), at_one(possible), at_one(kills), order=Map(f"{{ {times} }}"))
    assert set(found.must.domain().tuple_names) == set(must), found
    assert set(found.may.domain().tuple_names) == set(may), found


def test_instances_of_one_statement_tie_where_only_others_are_in_order():
    reads, writes = Map("{ S[i] -> a[] : 0 <= i < 3 }"), Map("{ T[i, j] -> a[] : 0 <= i, j < 3; U[] -> a[] }")
    found = dataflow(reads, writes, order=Map("{ S[i] -> [i, 1]; T[i, j] -> [i, 0]; U[] -> [1, 0] }"))
    assert found.must.is_empty()
    assert found.may.is_equal(Map("{ T[i, j] -> S[i] : 0 <= i, j < 3; U[] -> S[1] }"))
    alone = dataflow(
        reads, Map("{ T[i, j] -> a[] : 0 <= j <= i < 3 }"), order=Map("{ S[i] -> [i, 1]; T[i, j] -> [i, 0] }")
    )
    the(alone, "must", "{ T[0, 0] -> S[0] }")


def test_accesses_with_tags_and_nested_arrays():
    """Statements and arrays that are wrapped are told apart by all that they wrap."""
    reads = Map("{ [S[i] -> R[]] -> A[A[i] -> f[]] : 0 <= i < 3; [S[i] -> Q[]] -> A[A[i] -> g[]] : 0 <= i < 3 }")
    writes = Map("{ [T[i] -> W[]] -> A[A[i] -> f[]] : 0 <= i < 2; [S[i] -> W[]] -> A[A[i] -> g[]] : i >= 0 }")
    order = Map("{ [S[i] -> R[]] -> [i, 1]; [S[i] -> Q[]] -> [i, 1]; [S[i] -> W[]] -> [i, 2]; [T[i] -> W[]] -> [i] }")
    found = dataflow(reads, writes, order=order)
    the(found, "must", "{ [T[i] -> W[]] -> [S[i] -> R[]] : 0 <= i < 2 }")
    the(found, "must_no_source", "{ [S[2] -> R[]] -> A[A[2] -> f[]]; [S[i] -> Q[]] -> A[A[i] -> g[]] : 0 <= i < 3 }")


def test_the_children_of_a_set_tie():
    tree = Schedule.parse("""{ domain: "{ S[]; T[i] : 0 <= i <= 1; U[] }", child: { sequence: [
        { filter: "{ T[i]; U[] }", child: { set: [ { filter: "{ T[i] }", child: { schedule: "[{ T[i] -> [(i)] }]" } },
                                                   { filter: "{ U[] }" } ] } }, { filter: "{ S[] }" } ] } }""")
    found = dataflow(at_one("S"), Map("{ T[i] -> a[]; U[] -> a[] }").intersect_domain(tree.domain), order=tree)
    assert found.must.is_empty()
    the(found, "may", "{ T[1] -> S[]; U[] -> S[] }")


def test_accesses_are_maps():
    with pytest.raises(BadProgram, match="accesses are a Map from instances to elements, not a str"):
        dataflow("{ S[i] -> a[] }", order=Map("{ S[i] -> [i] }"))
    with pytest.raises(BadProgram, match="not a Set"):
        dataflow(on("{ S[i] -> a[] }"), Set("{ S[i] }"), order=Map("{ S[i] -> [i] }"))


def test_of_infinitely_many_sources_there_may_be_a_last_one():
    reads, writes = on("{ S[i] -> a[] }"), Map("{ T[i] -> a[] }")
    backwards = dataflow(reads, writes, order=Map("{ S[i] -> [0]; T[i] -> [-i] }"))
    the(backwards, "must", "[N] -> { T[1] -> S[i] : 0 <= i < N }")
    with pytest.raises(Unbounded, match=r"infinitely many T\[i\] access an element of a before S\[i\] does"):
        dataflow(reads, writes, order=Map("{ S[i] -> [0, 0]; T[i] -> [-1, i] }"))


def test_a_map_in_pieces_and_a_tree_that_filters_instances_are_orders_too():
    pieces = Map("[N] -> { S[i] -> [0, -i] : i >= 2; S[i] -> [1, i] : i < 2 }")
    flow = dataflow(on("{ S[i] -> a[] }"), on("{ S[i] -> a[] }"), order=pieces)
    the(flow, "must", "[N] -> { S[i] -> S[i - 1] : 3 <= i < N; S[2] -> S[0] : N >= 3; S[0] -> S[1] : N >= 2 }")
    early, late = Set("[N] -> { S[i] : i >= 2 }"), Set("[N] -> { S[i] : i < 2 }")
    loops = [Band((Member((("S", e),)),)) for e in (-var("i"), var("i"))]
    children = tuple(Filter(("S",), loop, some) for loop, some in zip(loops, (early, late)))
    tree = Schedule(Domain(DOMAIN.only("S"), Sequence(children)))
    again = dataflow(on("{ S[i] -> a[] }"), on("{ S[i] -> a[] }"), order=tree)
    assert again.must.is_equal(flow.must) and again.may_no_source.is_equal(flow.may_no_source)
