"""Trees whose scan raised an error of Python's where few steps were left: any code made in them is right."""

import pytest

from polyvolta.sched.loops.scan import scan
from polyvolta.sets import budget
from tests.sched.campaign import data_of
from tests.sched.loops.draw import tree
from tests.sched.loops.oracle import deviation


@pytest.mark.parametrize(
    "seed, number",
    [
        (20261170, 81879),  # one case of sizes keeps code whose loop variables the scan of the other never met
        ("20261175", 2566),  # conditions around a part that hold nowhere: nothing limits a floor there
    ],
)
def test_code_of_few_steps_is_right(seed, number):
    drawn = tree(data_of(seed, number))
    with budget(10_000):
        found = scan(drawn.schedule, drawn.context)
    for values, meaning in zip(drawn.values, drawn.meanings, strict=True):
        assert deviation(drawn.schedule, found, values, meaning) is None
