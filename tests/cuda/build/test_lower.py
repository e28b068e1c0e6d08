"""From loops to the kernel IR: arguments put in, guards chosen, and what a kernel's loops can't say refused."""

import pytest

from polyvolta.cuda.build.lower import FULL, NotLowered, _Lowering, chosen, derived_names
from polyvolta.cuda.build.promotion.model import Movement
from polyvolta.cuda.ir.kernel_ir import Barrier, Element, GlobalStore, Loop, When
from polyvolta.cuda.ir.walk import operations
from polyvolta.sched.loops.ast import AnyOf, Block, Call, Choice, Extreme, For, If
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.tree import Band, Domain, Member, Schedule
from polyvolta.sets import Set, aff, var

SYNC = Call("sync", ())
RANGES = {"blockIdx.y": (0, None), "N": (1, None), "lane": (0, 31), "c0": (0, 3), "c1": (0, 3)}


def write(name, *full):
    """A guarded store at [16 i + lane], inside where conditions on the block b hold."""
    at = 16 * var("i") // 4 + var("lane")
    op = GlobalStore(Element("run", (aff(0),)), "C", (at,), 0, True, name)
    return Movement(name, ("b", "i"), (op,), tuple(map(aff, full)), "runs -> global memory")


@pytest.fixture
def lowering():
    movements = {
        "sync": Movement("sync", (), (Barrier("block", "sync"),)),
        "write": write("write", "N - 64*b - 64"),
        "other": write("other", "N - 64*b - 64", "N - 100"),
        "always": write("always", "N - 1"),
        "never": write("never", "-1", "N - 64*b - 64"),
        "deep": write("deep", "N - 16*i"),
    }
    names = tuple(movements)
    domain = Set("{ " + "; ".join(f"{n}[i, j] : 0 <= i < 4 and 0 <= j < 4" for n in names) + " }")
    members = tuple(Member(tuple((n, var(i)) for n in names)) for i in "ij")
    return _Lowering(Schedule(Domain(domain, Band(members))), movements, RANGES)


def loop(*body, member=0, upper=None):
    return For(f"c{member}", (aff(0),), (upper or aff(3),), 1, False, body, (0,), member)


def call(name, i="c0"):
    return Call(name, (var("blockIdx.y"), aff(i)))


def lowered(lowering, *nodes):
    return chosen(lowering.items(nodes))


def test_a_marked_part_is_its_body(lowering):
    (found,) = lowered(lowering, loop(Block("stage", (SYNC, SYNC))))
    assert isinstance(found, Loop)
    assert found.body == (Barrier("block", "sync"),) * 2


def test_arguments_are_put_in_and_simplified(lowering):
    (found,) = lowered(lowering, call("always", "floor(c0/2)"))
    assert found.index == (aff("4*floor(c0/2) + lane"),)


def test_the_choice_stands_around_the_largest_loops_that_it_does_not_depend_on(lowering):
    (found,) = lowered(lowering, loop(SYNC, loop(call("write", "c1"), member=1)))
    assert isinstance(found, When)
    assert (found.conditions, found.uniform, found.comment) == ((aff("N - 64*blockIdx.y - 64"),), True, FULL)
    assert [op.guarded for op in operations(found.body) if isinstance(op, GlobalStore)] == [False]
    assert [op.guarded for op in operations(found.orelse) if isinstance(op, GlobalStore)] == [True]
    assert [type(s) for s in found.body] == [type(s) for s in found.orelse] == [Loop]


def test_a_condition_on_a_loop_is_tested_inside_it(lowering):
    (found,) = lowered(lowering, loop(SYNC, call("deep")))
    assert isinstance(found, Loop)
    sync, choice = found.body
    assert isinstance(sync, Barrier)
    assert choice.conditions == (aff("N - 16*c0"),)


def test_neighbours_share_a_choice(lowering):
    """Where the conditions of both hold neither needs guards; what needs none in between separates them."""
    (found,) = lowered(lowering, call("write"), call("other"))
    assert found.conditions == (aff("N - 64*blockIdx.y - 64"), aff("N - 100"))
    assert len(found.body) == len(found.orelse) == 2
    assert [type(s) for s in lowered(lowering, call("write"), SYNC, call("write"))] == [When, Barrier, When]


def test_the_choice_goes_inside_a_condition_that_stands_alone(lowering):
    stated = If((("ge", var("N") - 5),), (SYNC, call("write")), (0,))
    (found,) = lowered(lowering, stated)
    assert found.conditions == (aff("N - 5"),)
    assert found.orelse == ()
    assert [type(s) for s in found.body] == [Barrier, When]


def test_what_is_always_inside_has_no_guard_and_what_never_is_keeps_it(lowering):
    always, never = lowered(lowering, call("always"), call("never"))
    assert (always.guarded, never.guarded) == (False, True)


def test_without_conditions_an_operation_is_as_promotion_made_it(lowering):
    lowering.movements["write"] = Movement("write", ("b", "i"), lowering.movements["write"].ops)
    (found,) = lowered(lowering, call("write"))
    assert found.guarded


def test_a_condition_that_threads_disagree_on_is_not_uniform(lowering):
    stated = (If((("ge", aff(e)),), (SYNC,), (0,)) for e in ("linearId - 3", "N - 3"))
    assert [s.uniform for s in lowered(lowering, *stated)] == [False, True]


def test_rounds_are_loops_of_a_movement(lowering):
    op = GlobalStore(Element("run", (var("r"),)), "C", (var("i") + var("r"),), 0)
    rounds = Loop("r", (aff(0),), (aff(3),), 1, True, (op,))
    lowering.movements["all"] = Movement("all", ("b", "i"), (rounds,))
    (found,) = lowered(lowering, call("all", "2*c0"))
    assert found.body[0].index == (aff("2*c0 + r"),)
    assert lowering.ranges["r"] == (0, 3)


@pytest.mark.parametrize(
    ("node", "what"),
    [
        (loop(SYNC, upper=Extreme("max", (var("N"), var("M")))), "a bound that is a maximum"),
        (loop(SYNC, upper=Choice((("ge", var("N")),), var("N"), var("M"))), "a bound that differs by conditions"),
        (If((AnyOf(((("ge", var("N")),), (("ge", var("M")),))),), (SYNC,), (0,)), "a condition with alternatives"),
    ],
)
def test_alternatives_are_refused(lowering, node, what):
    with pytest.raises(NotLowered, match=what) as error:
        lowered(lowering, node)
    assert "<-- here" in str(error.value)


def test_a_loop_that_never_ends_is_refused(lowering):
    with pytest.raises(NotLowered, match="a loop that never ends") as error:
        lowered(lowering, For("c0", (aff(0),), (), 1, False, (SYNC,), (0,)))
    assert "<-- here" in str(error.value)


def test_warps_of_one_part_are_consecutive():
    extents = {"linearId": aff(256), "warpIdx_x": aff(2), "warpIdx_y": aff(2), "warpIdx_z": aff(2)}
    values = {"linearId": 5 * 32 + 3}
    for name, e in derived_names(Scan((), extents)):
        values[name] = e.evaluate(values)
    assert values == {"linearId": 163, "lane": 3, "warp": 5, "warpIdx_x": 1, "warpIdx_y": 0, "warpIdx_z": 1}
