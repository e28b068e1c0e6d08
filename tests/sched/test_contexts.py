"""What is assumed of parameters is a set or its text, whoever asks."""

import pytest

from polyvolta.sched import check, contract, isolate_full_tiles, scan, schedule, tile, violations
from polyvolta.sched.errors import BadArgument
from polyvolta.sets import Map, Set, SetSyntaxError

LINE = Set("[N] -> { S[i] : 0 <= i < N }")
NEXT = Map("{ S[i] -> S[i + 1] }")
TREE = schedule(LINE, validity=NEXT)
TAKERS = {
    "schedule": lambda context: str(schedule(LINE, validity=NEXT, context=context)),
    "scan": lambda context: str(scan(TREE, context)),
    "violations": lambda context: str(list(violations(TREE, context=context))),
    "isolate_full_tiles": lambda context: str(isolate_full_tiles(tile(TREE, (0,), (4,)), (0,), context)),
    "contract": lambda context: str(contract(TREE, "S", {"i": 4}, context, partial=True)),
    "check": lambda context: str(check(TREE, context=context)),
}


@pytest.mark.parametrize("taker", TAKERS.values(), ids=TAKERS)
def test_a_text_is_the_set_that_it_says(taker):
    text = "[N] -> { : N > 3 }"
    assert taker(text) == taker(Set(text))


def test_the_context_counts():
    assert "N ≥ 4" in TAKERS["schedule"]("[N] -> { : N > 3 }")
    assert "N ≥ 4" not in TAKERS["schedule"](None)


@pytest.mark.parametrize("taker", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize("context", [3, NEXT, ["[N] -> { : N > 3 }"]], ids=["number", "map", "list"])
def test_what_is_neither_is_refused(taker, context):
    with pytest.raises(BadArgument, match="a context is a Set or its text, not ") as refused:
        taker(context)
    assert "[N] -> { : N >= 1 }" in refused.value.hint


@pytest.mark.parametrize("taker", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize("context", ["{ Q[a] : a > 3 }", "[N] -> { [N] : N > 3 }", "{ Q[] }"])
def test_what_speaks_of_a_tuple_is_refused(taker, context):
    """A tree with it could not be scanned, nor its text be read."""
    with pytest.raises(BadArgument, match="of the parameters, of no tuple"):
        taker(context)


@pytest.mark.parametrize("taker", TAKERS.values(), ids=TAKERS)
def test_a_text_that_is_no_set(taker):
    with pytest.raises(SetSyntaxError):
        taker("N > 3")
