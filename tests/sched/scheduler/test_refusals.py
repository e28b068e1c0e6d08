"""What the scheduler is not given, or given for another program."""

import pytest

from polyvolta.sched.dependence import Dependence, dependences
from polyvolta.sched.errors import BadProgram, BadSchedule
from polyvolta.sched.program import nest_from_source
from polyvolta.sched.scheduler import schedule
from polyvolta.sets import Map

PROGRAM = nest_from_source("""
    def f(A, N):
        for i in range(1, N):
            A[i] = A[i - 1]
""")


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: schedule("f"), BadProgram, "a Program, or a Set of instances, not a str"),
        (lambda: schedule(PROGRAM.domain, validity=3), BadProgram, "validity is a Map, not"),
        (lambda: schedule(PROGRAM, dependences=[], proximity=Map("{ S[i] -> S[i] }")), BadProgram, "given twice"),
        (lambda: schedule(PROGRAM, "papper"), BadSchedule, "did you mean 'paper'"),
        (lambda: schedule(PROGRAM, None), BadSchedule, "known: paper, max, min"),
        (lambda: schedule(PROGRAM, explain=True), BadSchedule, "explain=print"),
        (lambda: schedule(PROGRAM, dependences=dependences(PROGRAM)[0]), BadProgram, "not a Dependence alone"),
        (lambda: schedule(PROGRAM, dependences=[given("{ S[i, j] -> S[i, j + 1] }")]), BadProgram, r"S\[i\]"),
    ],
)
def test_what_is_no_program_nor_a_choice_is_told(make, error, text):
    with pytest.raises(error, match=text):
        make()


def given(relation):
    return Dependence("RAW", "A", "S", "S", Map(relation))


def test_dependences_that_are_given_count_between_instances_of_the_program():
    """Outside of 1 <= i < N this relation goes backwards, too."""
    both = given("[N] -> { S[i] -> S[i + 1] : i >= 1; S[i] -> S[i - 1] : i <= 1 }")
    assert schedule(PROGRAM, dependences=[both]).root == schedule(PROGRAM).root
