"""Bands whose expressions are given by cases: read, written, run, compared and transformed as isl's trees have them."""

from dataclasses import replace

import pytest

from polyvolta.sched import Schedule, tile, violations
from polyvolta.sched.cases import Cases
from polyvolta.sched.dependence import dataflow
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import BadSchedule, TreeSyntaxError
from polyvolta.sets import Map, Set
from tests.sched.loops.oracle import assert_scans


def tree(domain, band, more=""):
    return Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "{band}"{more} }} }}')


LINE = "[N] -> { S[i] : 0 <= i < N; T[j] : 0 <= j < N }"
BANDS = [
    "[N] -> [{ S[i] -> [(i)] : i < 3; S[i] -> [(2i)] : i >= 3; T[j] -> [(j)] }]",
    "[N] -> [{ S[i] -> [(i)] : N <= 4; S[i] -> [(-i)] : N > 4; T[j] -> [(N - j)] }]",
    "[{ S[i] -> [(max(i, 3))]; T[j] -> [(j)] }, { S[i] -> [(i)]; T[j] -> [(0)] : j > 2; T[j] -> [(-j)] : j <= 2 }]",
    "[N] -> [{ S[i] -> [(i mod 2 = 0 ? 0 : 1)]; T[j] -> [(j)] }, { S[i] -> [(i)]; T[j] -> [(min(j, N - j))] }]",
    "[N] -> [{ S[i] -> [((i) : i mod 3 = 1; (2i) : i mod 3 != 1)]; T[j] -> [(2)] }]",
]


@pytest.mark.parametrize("band", BANDS)
def test_loops_run_the_cases_in_their_order(band):
    found = tree(LINE, band)
    assert_scans(found, [{"N": n} for n in (0, 1, 3, 4, 5, 8)])
    assert Schedule.parse(found.to_isl()).to_map().is_equal(found.to_map())
    assert "#" not in str(found) + found.to_isl()


def test_the_times_are_those_of_the_cases():
    found = tree(LINE, BANDS[0]).to_map()
    assert found.is_equal(
        Map("[N] -> { S[i] -> [i] : 0 <= i < 3 and i < N; S[i] -> [2i] : 3 <= i < N; T[j] -> [j] : 0 <= j < N }")
    )


def test_cases_that_hold_for_all_instances_are_single_expressions():
    found = tree("{ S[i] : 0 <= i < 9 }", "[{ S[i] -> [(i)] : i >= 0; S[i] -> [(2i)] : i < 0 }]")
    assert not isinstance(found.band((0,)).members[0].of("S"), Cases)


def test_statements_below_and_filters_of_instances():
    text = """{ domain: "[N] -> { S[i] : 0 <= i < N }", child: {
        schedule: "[N] -> [{ S[i] -> [(i)] : i < 4; S[i] -> [(3)] : i >= 4 }]", child: { sequence: [
            { filter: "[N] -> { S[i] : i mod 2 = 0 }", child: { schedule: "[{ S[i] -> [(-i)] }]" } },
            { filter: "[N] -> { S[i] : i mod 2 = 1 }" } ] } } }"""
    assert_scans(Schedule.parse(text), [{"N": n} for n in (2, 5, 9)])


def test_passes_treat_every_case_alike():
    found = tile(tree(LINE, BANDS[0]), (0,), [2])
    assert found.to_map().is_equal(
        Map("""[N] -> { S[i] -> [floor(i/2), i mod 2] : 0 <= i < 3 and i < N; S[i] -> [i, 0] : 3 <= i < N;
                        T[j] -> [floor(j/2), j mod 2] : 0 <= j < N }""")
    )
    assert_scans(found, [{"N": n} for n in (1, 4, 7)])


FLIP = tree("[N] -> { S[i] : 0 <= i < N }", "[N] -> [{ S[i] -> [(i)] : N <= 4; S[i] -> [(-i)] : N > 4 }]")
CHAIN = Dependence("RAW", "a", "S", "S", Map("[N] -> { S[i] -> S[i + 1] : 0 <= i < N - 1 }"))


def test_dependences_meet_every_case():
    (found,) = violations(FLIP, [CHAIN])
    assert found.dependence is CHAIN and found.source == "S[0]" and dict(found.params)["N"] > 4
    assert not list(violations(FLIP, [CHAIN], context=Set("[N] -> { : N <= 4 }")))
    back = replace(CHAIN, relation=CHAIN.relation.reverse())
    assert not list(violations(FLIP, [back], context=Set("[N] -> { : N > 4 }")))


def test_dataflow_in_an_order_by_cases():
    chain = Map("[N] -> { S[i] -> a[] : 0 <= i < N }")
    found = dataflow(chain, chain, order=FLIP).must
    assert found.is_equal(
        Map("[N] -> { S[i] -> S[i + 1] : 0 <= i < N - 1 and N <= 4; S[i] -> S[i - 1] : 0 < i < N and N > 4 }")
    )


def test_what_has_no_case_and_what_has_two():
    with pytest.raises(TreeSyntaxError, match="the expression for S does not cover its instances"):
        tree(LINE, "[{ S[i] -> [(i)] : i < 3; S[i] -> [(2i)] : i > 3; T[j] -> [(j)] }]")
    with pytest.raises(TreeSyntaxError, match="two expressions for an instance of S"):
        tree(LINE, "[{ S[i] -> [(i)] : i < 4; S[i] -> [(2i)] : i > 2; T[j] -> [(j)] }]")
    with pytest.raises(BadSchedule, match="a single one is needed"):
        FLIP.band((0,)).members[0].of("S").terms  # noqa: B018
