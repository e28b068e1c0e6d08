"""Boxes that are stored, fences between threads and engines, observers and steps of kernels with roles."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import (
    Access,
    AsyncCopy,
    Barrier,
    BoxCopy,
    BoxMap,
    BoxStore,
    CommitCopies,
    CommitStores,
    Element,
    GlobalLoad,
    GlobalTensor,
    KernelIR,
    Loop,
    ProxyFence,
    RegisterArray,
    SharedStore,
    SharedTile,
    WaitCopies,
    WaitStores,
    Wgmma,
    When,
)
from polyvolta.cuda.machine.access import instructions
from polyvolta.cuda.machine.errors import BadCopies, LeftBehind, NotAChunk, OutOfBounds
from polyvolta.cuda.machine.forecast import executions
from polyvolta.cuda.machine.interpreter import interpret, prepared_memory
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.observe.watch import OBSERVERS, Watch
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.machine.stepping import trace
from polyvolta.cuda.target.boxes import Box, Swizzle
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.text.places import Places
from polyvolta.sets import aff, var, xor
from tests.cuda.hopper_kernels import product
from tests.cuda.ir.ir_example import rewritten
from tests.cuda.ir.ring_example import exact, padded, problem

KINDS = ("lazy", "eager", 0, 1, 2)
SIZES = {"M": 70, "N": 65, "K": 200}
LINEAR = var("linearId")


# ---- from threads to a tensor by boxes


def copy_kernel(order: tuple[int, int] = (0, 1)) -> KernelIR:
    """B = A by 32 x 64 tiles of two warps: each thread moves four chunks to a swizzled tile, one stores it as a box."""
    names, extents = ("row", "col"), ((32, 64), (64, 32))[order[0]]
    line, run = (var(names[d]) for d in order)
    layout = IndexMap(tuple(zip(names, extents, strict=True)), (("chunk", 8 * line + xor(run // 8, line % 8, 3)),))
    chunk = LINEAR + 64 * var("c")
    local = [aff(0), aff(0)]
    local[order[0]], local[order[1]] = chunk // 8, 8 * (chunk % 8)
    corner = tuple(n * var(f"blockIdx.{axis}") for n, axis in zip(extents, "yx", strict=True))
    place, value = tuple(local), Element("value", (var("c"),))
    index = tuple(x + at for x, at in zip(corner, place, strict=True))
    moves = Loop("c", (aff(0),), (aff(3),), 1, True, (
        GlobalLoad(value, "A", index, order[1], True, "load"), SharedStore(value, "tile", place, statement="put")))
    store = (BoxStore("map_B", corner, "tile", (aff(0), aff(0)), statement="box"), CommitStores("commit"),
             WaitStores(0, "read"))  # fmt: skip
    return KernelIR(
        "copy", ("M", "N"),
        (GlobalTensor("A", ("M", "N"), order), GlobalTensor("B", ("M", "N"), order, written=True, whole=True)),
        (SharedTile("tile", 0, 256, layout, order),), (RegisterArray("value", "half", (4,)),), 64,
        (("lane", LINEAR % 32), ("warp", LINEAR // 32)), {},
        ((var("N") + extents[1] - 1) // extents[1], (var("M") + extents[0] - 1) // extents[0], aff(1)),
        body=(moves, ProxyFence("fence"), Barrier(statement="met"), When((-LINEAR,), store, uniform=False)),
        maps=(BoxMap("map_B", "B", Box(32, 64, Swizzle(128))),),
    )  # fmt: skip


def copied(ir: KernelIR, copies="lazy", sizes=(72, 88)) -> np.ndarray:
    """What B is where A is numbers from 0 on, all different; what lies between its lines stays as it was."""
    order = ir.tensors[0].order
    numbers = np.arange(sizes[0] * sizes[1]).astype(np.uint16).reshape(sizes).view(np.float16)
    a = padded(numbers, order, 8)
    b = padded(np.full(sizes, np.nan, np.float16), order, 8)
    around = b.base if order == (0, 1) else b.base
    before = around.copy()
    interpret(ir, {"A": a, "B": b}, dict(zip("MN", sizes, strict=True)), copies=copies)
    lines = around[:, : sizes[order[1]]]
    assert np.isnan(before[:, sizes[order[1]] :]).all() and np.isnan(around[:, sizes[order[1]] :]).all()
    assert lines.size == b.size
    return np.asarray(b.view(np.uint16).astype(int))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("copies", KINDS)
def test_boxes_are_stored_and_clipped(order, copies):
    assert np.array_equal(copied(copy_kernel(order), copies), np.arange(72 * 88).reshape(72, 88))


def test_what_is_not_fenced_is_not_seen():
    def part_of(op):
        return When((LINEAR - 32,), (op,), uniform=False) if isinstance(op, ProxyFence) else op

    assert (copied(rewritten(copy_kernel(), lambda op: None if isinstance(op, ProxyFence) else op)) == 0xFEAD).all()
    partly = copied(rewritten(copy_kernel(), part_of))
    assert (partly != 0xFEAD).any() and (partly == 0xFEAD).any()
    assert np.isin(np.flatnonzero((partly == 0xFEAD).all(1)) % 8, range(4)).all()  # lines of the first warp


@pytest.mark.parametrize("copies", KINDS)
def test_copies_of_threads_are_fenced_once_they_have_come(copies):
    ir = copy_kernel()
    moves, fence, met, store = ir.body
    load, put = moves.body
    issue = replace(moves, body=(AsyncCopy("A", load.index, load.along, "tile", put.index, guarded=True),))
    right = (issue, CommitCopies(), WaitCopies(0), fence, met, store)
    assert np.array_equal(copied(replace(ir, body=right), copies), np.arange(72 * 88).reshape(72, 88))
    wrong = copied(replace(ir, body=(issue, fence, CommitCopies(), WaitCopies(0), met, store)), copies)
    assert (wrong == 0xFEAD).any() == (copies != "eager")


def test_a_store_that_nobody_waits_for():
    ir = rewritten(copy_kernel(), lambda op: None if isinstance(op, WaitStores) else op)
    with pytest.raises(LeftBehind, match="a box of map_B is on its way"):
        copied(ir)
    ir = rewritten(copy_kernel(), lambda op: None if isinstance(op, CommitStores) else op)
    with pytest.raises(LeftBehind, match="PV534"):
        copied(ir)
    assert np.array_equal(copied(ir, "eager"), np.arange(72 * 88).reshape(72, 88))


def test_a_tile_that_is_written_before_a_box_was_read():
    """Two barriers and new values between the store and its wait: late reads see those."""
    ir = copy_kernel()
    moves, fence, met, store = ir.body
    issued, late = replace(store, body=store.body[:2]), replace(store, body=store.body[2:])
    clear = replace(moves, body=(replace(moves.body[1], source=Element("zero", (aff(0),))),))
    ir = replace(ir, registers=(*ir.registers, RegisterArray("zero", "half", (1,))),
                 body=(moves, fence, met, issued, Barrier(), clear, ProxyFence(), Barrier(), late))  # fmt: skip
    right = np.arange(72 * 88).reshape(72, 88)
    assert np.array_equal(copied(ir, "eager"), right)
    assert (copied(ir, "lazy") == 0xFEAD).all()


def test_boxes_that_don_t_fit_are_refused():
    def elsewhere(**fields):
        return rewritten(copy_kernel(), lambda op: replace(op, **fields) if isinstance(op, BoxStore) else op)

    with pytest.raises(OutOfBounds, match=r"a box of 32 x 64 leaves tile\[32, 64\]"):
        copied(elsewhere(place=(aff(1), aff(0))))
    with pytest.raises(OutOfBounds):
        copied(elsewhere(buffer=aff(1)))
    ir = copy_kernel()
    small = replace(ir, maps=(BoxMap("map_B", "B", Box(16, 64, Swizzle(128))),))
    assert (copied(small, sizes=(32, 64))[:16] == np.arange(1024).reshape(16, 64)).all()
    with pytest.raises(NotAChunk, match="no multiple of 128"):
        copied(rewritten(small, lambda op: replace(op, place=(aff(3), aff(0))) if isinstance(op, BoxStore) else op))


def test_other_kinds_of_runs_are_refused():
    with pytest.raises(BadCopies):
        interpret(product(2), problem(product(2), SIZES), SIZES, copies="late")


# ---- who watches


@pytest.mark.parametrize("copies", KINDS)
def test_observers_see_a_kernel_by_hand_whole(copies):
    ir = product(2, 1, (64, 64, 64))
    tensors, watch = problem(ir, SIZES), Watch(ir, [n for n in OBSERVERS if n != "values"])
    interpret(ir, tensors, SIZES, watch=watch, copies=copies)
    assert np.array_equal(tensors["C"], exact(tensors))
    found = watch.seen(Places(ir, pv.compile(pv.tensor("A", (8, 8)) @ pv.tensor("B", (8, 8))).schedule))
    assert not any(seen.findings for name, seen in found.items() if name != "bank_conflicts")
    counts = found["counts"]
    blocks, tiles = 4, 4
    assert counts.flops == blocks * tiles * 2 * 64**3
    assert counts.shared_memory.written == blocks * (tiles * 2 * 64 * 64 * 2 + 64 * 64 * 2)  # boxes; the exchange
    assert counts.shared_memory.read == blocks * (tiles * (1 + 4) * 64 * 64 * 2 + 64 * 64 * 2)  # B by each warp
    assert counts.k_tiles == blocks * tiles
    boxes = [r for r in found["coalescing"].rows if r.example is None]
    assert [(r.array, r.requests, r.width) for r in boxes] == [("A", blocks * tiles, 128), ("B", blocks * tiles, 128)]
    assert sum(r.asked for r in boxes) == counts.global_memory.read
    assert counts.global_memory.read == 2 * (2 * 70 * 200 + 2 * 65 * 200)  # by two columns, or rows, of blocks


def test_a_forecast_counts_what_a_run_takes():
    ir, blocks = product(3, 2, (128, 64, 32)), np.array([[0, 1], [0, 0], [0, 0]])
    memory, values = prepared_memory(ir, problem(ir, SIZES), SIZES)
    machine = Machine(ir, memory, values, blocks, EFFECTS)
    assert Counter(step.path for step in machine.steps()) == executions(ir, values, blocks)


# ---- step by step


def test_steps_name_their_role_and_what_it_moves():
    ir = product(2, 2, (128, 64, 64))
    schedule = pv.compile(pv.tensor("A", (8, 8)) @ pv.tensor("B", (8, 8))).schedule
    tensors = problem(ir, SIZES)
    steps = list(trace(ir, schedule, tensors, SIZES))
    assert Counter(s.role for s in steps).keys() == {"", "consumer 0", "consumer 1", "producer"}
    box = next(s for s in steps if isinstance(s.op, BoxCopy) and s.loops == {"t": 3})
    assert box.title.endswith("producer  box_A  t = 3")
    assert [str(t) for t in (*box.reads, *box.writes)] == ["A[0:70, 192:200]", "shared_A[0:128, 0:64] buffer 1"]
    assert box.reads[0].cut and not box.writes[0].cut and box.reads[0].bytes == 70 * 8 * 2
    made = next(s for s in steps if isinstance(s.op, Wgmma) and s.role == "consumer 1")
    touched = [[str(t) for t in made.reads if t.warp == warp] for warp in (4, 5)]
    assert touched[1] == ["acc", "shared_A[80:96, 0:16] buffer 0", "shared_B[0:16, 0:64] buffer 0"]
    assert np.isnan(made.values["acc"]).all()
    assert np.array_equal(np.flatnonzero(made.active.any(1)), range(4, 8))
    with_c = exact(tensors)[:, :64]
    assert np.array_equal(tensors["C"][:, :64], with_c)
    assert len(list(islice(trace(ir, schedule, problem(ir, SIZES), SIZES), 5))) == 5


def test_no_access_of_an_engine_has_lanes():
    """Observers, steps and pictures ask for warp-wide instructions: engines make none."""
    ir = product(2)
    memory, values = prepared_memory(ir, problem(ir, SIZES), SIZES)
    machine = Machine(ir, memory, values, np.zeros((3, 1), int), EFFECTS)
    engines = 0
    for step in machine.steps():
        if any(isinstance(a, Access) and a.proxy == "async" for a in machine.accesses(step.op)):
            engines += 1
            assert not list(instructions(machine, step.reach))
    assert engines
