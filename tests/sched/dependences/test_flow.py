"""Dataflow against its definition, by enumeration, over random trees and accesses."""

from hypothesis import given, settings

from polyvolta.sched.dependences import dataflow
from tests.sched.dependences.draw import programs
from tests.sched.dependences.oracle import Flow, pairs


@given(programs())
@settings(max_examples=60)
def test_every_source_is_the_last_one(drawn):
    found = dataflow(**drawn.accesses, order=drawn.schedule)
    for ways in drawn.ways:
        given_pairs = [pairs(m, ways.params) for m in drawn.accesses.values()]
        for name, expected in Flow(ways, *given_pairs).found.items():
            assert pairs(getattr(found, name), ways.params) == expected, name
