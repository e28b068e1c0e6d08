"""The meaning of loops, and what is said when they cannot be run."""

import pytest

from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import AnyOf, Block, Call, Extreme, For, If
from polyvolta.sched.loops.scan import Scan
from polyvolta.sets import BudgetExceeded, NotAffine, UnknownName, aff, var

c0, N = var("c0"), var("N")
S = Call("S", (c0,))


def values(*body, **params):
    return [args[0] for _, args in run(body, **params)]


def loop(lower, upper, *body, step=1):
    return For("c0", lower, upper, step, False, body or (S,))


def test_a_loop_starts_at_its_greatest_lower_bound_and_ends_at_its_least_upper_bound():
    assert values(loop((aff(1), N - 3), (N, aff(7)), step=2), N=6) == [3, 5]


def test_a_bound_of_a_union_is_the_least_of_lower_and_the_greatest_of_upper_bounds():
    either = loop((Extreme("min", (aff(4), N)),), (Extreme("max", (aff(5), N + 1)),))
    assert values(either, N=2) == [2, 3, 4, 5]
    assert values(either, N=6) == [4, 5, 6, 7]


def test_conditions_hold_all_or_in_one_alternative():
    edge = AnyOf(((("eq", c0),), (("ge", c0 - 4), ("eq", c0 % 2))))
    assert values(loop((aff(0),), (N - 1,), If((edge,), (S,))), N=7) == [0, 4, 6]
    assert values(loop((aff(0),), (N - 1,), If((("ge", c0 - 3), ("ge", 4 - c0)), (S,))), N=7) == [3, 4]


def test_marked_parts_run_and_statements_follow_one_another():
    assert run((Block("both", (Call("S", ()), Call("T", (N,)))), Call("S", ())), {"N": 3}) == [
        ("S", ()),
        ("T", (3,)),
        ("S", ()),
    ]


def test_a_mapped_name_takes_all_its_values_unless_it_has_one():
    mapped = Scan((Call("S", (var("blockIdx.x"),)),), {"blockIdx.x": N // 2}, {})
    assert run(mapped, N=6) == [("S", (0,)), ("S", (1,)), ("S", (2,))]
    assert run(mapped, {"N": 6, "blockIdx.x": 1}) == [("S", (1,))]


def test_a_missing_parameter_is_named_with_the_nearest_given_one():
    with pytest.raises(UnknownName, match="the parameter N has no value") as error:
        run((loop((aff(0),), (N - 1,)),), n=3)
    assert "did you mean 'n'?" in str(error.value)


def test_a_value_is_an_integer():
    with pytest.raises(NotAffine, match="integer, not 2.5"):
        run((loop((aff(0),), (N - 1,)),), N=2.5)


def test_a_run_ends_at_its_limit():
    with pytest.raises(BudgetExceeded, match="more than 100 steps"):
        run((loop((aff(0),), (N - 1,)),), {"N": 10**9}, limit=100)
