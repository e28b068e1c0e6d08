"""What is known of the sign of an expression while C is written."""

import pytest

from polyvolta.sched.loops.notation.expressions import CSpeller
from polyvolta.sets import var

N, M = var("N"), var("M")


@pytest.mark.parametrize(("ranges", "e", "known"), [
    ({}, N - 32 * (N // 32), True),  # a remainder is not negative, whatever is known of the name
    ({}, M + N - 32 * (N // 32), False),
    ({"M": (0, None)}, M + N - 32 * (N // 32), True),
    ({}, N, False), ({}, N // 2, False), ({"N": (-3, None)}, N + 3, True), ({"N": (-3, None)}, N + 2, False),
    ({"N": (None, 4)}, 4 - N, True), ({"N": (0, None)}, 4 - N, False), ({"N": (0, 2), "M": (1, 3)}, M - N, False),
])  # fmt: skip
def test_what_is_not_negative(ranges, e, known):
    assert CSpeller(ranges).unsigned(e) == known
