"""A kernel's loops say less than a scan's: marked parts are lowered as their bodies, alternatives are refused."""

import pytest

from polyvolta.cuda.kernel_ir import Barrier, Loop
from polyvolta.cuda.lower import NotLowered, _Lowering
from polyvolta.cuda.movements import Movement
from polyvolta.sched.codegen.ast import AnyOf, Block, Call, Extreme, For, If
from polyvolta.sched.tree import Band, Domain, Member, Schedule
from polyvolta.sets import Set, aff, var

SYNC = Call("sync", ())


@pytest.fixture
def lowering():
    from types import SimpleNamespace

    tree = Schedule(Domain(Set("{ sync[i] : 0 <= i < 4 }"), Band((Member((("sync", aff("i")),)),))))
    movement = SimpleNamespace(kind="barrier", dims=(), index=(), element=(), tensor="A", statement="sync")
    assert set(vars(movement)) <= set(Movement.__dataclass_fields__)
    return _Lowering(tree, SimpleNamespace(movements={"sync": movement}), None, None, {})


def loop(*body, upper=None):
    return For("c0", (aff(0),), (upper or aff(3),), 1, False, body, (0,))


def test_a_marked_part_is_its_body(lowering):
    (found,) = lowering.body((loop(Block("stage", (SYNC, SYNC))),))
    assert isinstance(found, Loop)
    assert found.body == (Barrier("sync"), Barrier("sync"))


@pytest.mark.parametrize(
    ("node", "what"),
    [
        (loop(SYNC, upper=Extreme("max", (var("N"), var("M")))), "a bound that is a maximum"),
        (If((AnyOf(((("ge", var("N")),), (("ge", var("M")),))),), (SYNC,), (0,)), "a condition with alternatives"),
    ],
)
def test_alternatives_are_refused(lowering, node, what):
    with pytest.raises(NotLowered, match=what) as error:
        lowering.body((node,))
    assert "<-- here" in str(error.value)
