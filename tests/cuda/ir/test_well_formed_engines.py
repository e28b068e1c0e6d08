"""Barriers, boxes, products of warpgroups and roles that mean nothing are refused, with what and where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    Barrier,
    BoxCopy,
    BoxMap,
    BoxStore,
    InitBarriers,
    KernelIR,
    PhaseBarriers,
    Role,
    Roles,
    Wgmma,
    WgmmaWait,
)
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.target.boxes import Box, Swizzle
from polyvolta.sets import aff, var
from tests.cuda.hopper_kernels import product
from tests.cuda.ir.ir_example import rewritten

IR = product(2, 2, (128, 64, 64))


def test_a_right_one_is_well_formed():
    check(IR)
    check(product(3, 1, (128, 64, 32), ("col", "row", "col"), reuse=True))


def ops(kind: type, **fields) -> KernelIR:
    """Operations of a kind with other fields, each a function of the operation."""
    def change(op):
        return replace(op, **{n: f(op) for n, f in fields.items()}) if isinstance(op, kind) else op

    return rewritten(IR, change)


def roles(*changes) -> KernelIR:
    """The roles with other fields, one dict for each."""
    *before, s = IR.body
    assert isinstance(s, Roles)
    changed = tuple(replace(r, **c) for r, c in zip(s.roles, changes, strict=True))
    return replace(IR, body=(*before, replace(s, roles=changed)))


def barriers(**fields) -> KernelIR:
    return replace(IR, barriers=(replace(IR.barriers[0], **fields), *IR.barriers[1:]))


def maps(**fields) -> KernelIR:
    return replace(IR, maps=(replace(IR.maps[0], **fields), *IR.maps[1:]))


def phase(**fields):
    return lambda op: replace(op.phase, **fields)


def descriptor(**fields):
    return lambda op: replace(op.a, descriptor=replace(op.a.descriptor, **fields))


BAD = [
    (barriers(slots=0), r"full has 0 barriers"),
    (barriers(arrivals=0), r"wait for 0 arrivals"),
    (barriers(start=-1), r"from chunk -1 on"),
    (barriers(start=0), r"full and shared_A lie in the same bytes"),
    (barriers(start=IR.barriers[1].start), r"full and empty lie in the same bytes"),
    (barriers(name="empty"), r"'empty' can't name"),
    (replace(IR, barriers=()), r"no row of barriers|no barriers that could begin"),
    (maps(tensor="D"), r"none is called 'D'"),
    (maps(name="A"), r"'A' can't name"),
    (replace(IR, tensors=(replace(IR.tensors[0], align=4), *IR.tensors[1:])), r"multiples of 4 values, not of 8"),
    (maps(box=Box(256, 64, Swizzle(128))), r"a box of 256 lines of 64 values is larger than shared_A\[128, 64\]"),
    (ops(Await, phase=phase(barriers="half")), r"no row of barriers is called 'half'"),
    (ops(Await, phase=phase(slot=aff(2))), r"has 2 slots, not 2"),
    (ops(Await, phase=phase(number=aff(-2))), r"-2 is none"),
    (ops(Await, phase=phase(number=var("u"))), r"u has no value there"),
    (ops(Arrive, bytes=lambda op: 2**20), r"waits for 0 to 1048575 bytes"),
    (ops(BoxCopy, map=lambda op: "map_D"), r"no map is called 'map_D'"),
    (ops(BoxCopy, index=lambda op: op.index[:1]), r"A has two dimensions, not 1"),
    (ops(BoxCopy, tile=lambda op: "exchange"), r"no tile with a layout is called 'exchange'"),
    (rewritten(IR, lambda op: BoxStore(op.map, op.index, op.tile, op.place) if isinstance(op, BoxCopy) else op),
     r"A is no output"),
    (replace(IR, tiles=(replace(IR.tiles[0], order=(1, 0)), *IR.tiles[1:])),
     r"a box of 128 lines of 64 values is larger than shared_A\[128, 64\]"),
    (ops(Wgmma, d=lambda op: ()), r"no accumulators"),
    (ops(Wgmma, a=descriptor(major="mn")), r"reads operand a k-major, and its descriptor is mn-major"),
    (ops(Wgmma, a=lambda op: replace(op.a, origin=op.a.origin[:1])), r"shared_A has 2 dimensions, not 1"),
    (ops(Wgmma, a=lambda op: replace(op.a, tile="exchange")), r"no tile with a layout is called 'exchange'"),
    (replace(IR, registers=(replace(IR.registers[0], width=16), *IR.registers[1:])), r"has 32 values of m64n64k16"),
    (ops(WgmmaWait, pending=lambda op: 8), r"until 0 to 7 groups of products"),
    (ops(Barrier, scope=lambda op: "grid"), r"not of a grid"),
    (roles({}, {"first": 7}), r"consumer and producer have warps in common"),
    (roles({}, {"first": 9}), r"producer has 1 warps from 9 on, of 9"),
    (roles({"warps": 0}, {}), r"consumer has 0 warps"),
    (roles({}, {"name": "consumer"}), r"'consumer' can't name a role"),
    (roles({}, {"name": "a role"}), r"it is no identifier of C"),
    (roles({}, {"body": (Roles((Role("inner", 8, 1, ()),)),)}), r"there are roles within roles"),
]


@pytest.mark.parametrize(("ir", "text"), BAD, ids=[str(n) for n in range(len(BAD))])
def test_what_means_nothing_is_refused(ir, text):
    with pytest.raises(IllFormed, match=text):
        check(ir)


def test_other_types_are_refused():
    for ir in (barriers(slots="2"), maps(box=(64, 64)), replace(IR, barriers=(BoxMap("m", "A", Box(8, 64)),))):
        with pytest.raises(IllFormed, match="belongs"):
            check(ir)
    assert isinstance(IR.barriers[0], PhaseBarriers) and any(isinstance(s, InitBarriers) for s in IR.body[0].body)
