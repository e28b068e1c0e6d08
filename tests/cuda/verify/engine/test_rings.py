"""Rings said relative to the trip: what is found is what is found with the slots' own numbers, in fewer trips."""

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import AsyncCopy, LoadMatrix, Loop, Mma
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.verify.engine import machine
from polyvolta.cuda.verify.engine.rings import places as turned_places
from polyvolta.cuda.verify.engine.rings import rings_of, turns_with
from polyvolta.cuda.verify.values.contents import Contents
from polyvolta.cuda.verify.verify import clients
from polyvolta.sets import aff, var
from tests.cuda.verify.edited import kernel
from tests.cuda.verify.rings import Ring, graph, ring

C2 = var("c2")


def loop_of(ir):
    return next(s for _, s in walk(ir.body) if isinstance(s, Loop) and s.var == "c2")


def slot(kind, change):
    """A ring whose copies, or loads, go to other slots."""
    ir = ring(Ring())
    return edited(ir, places(ir, kind), lambda s: (replace(s, buffer=change(s.buffer)),))


CASES = {
    "sound": lambda: ring(Ring()),
    "strips": lambda: ring(Ring(4, 3, 2, ("strips",))),
    "overlaid": lambda: ring(Ring(overlaid=True)),
    "copies a slot further": lambda: slot(AsyncCopy, lambda b: (b + 1) % 3),
    "loads from the slot before": lambda: slot(LoadMatrix, lambda b: (b + 2) % 3),
    "one slot": lambda: slot(AsyncCopy, lambda b: aff(0)),
    "fewer slots than the ring has": lambda: slot(AsyncCopy, lambda b: (C2 + 2) % 2),
    "a distance too far": lambda: ring(Ring(3, 3, 2)),
    "no copies of A": lambda: ring(Ring(trip=("wait", "sync", "copy B", "commit", "compute"))),
}


@pytest.mark.parametrize("name", CASES)
def test_relative_slots_find_what_absolute_ones_find(name, monkeypatch):
    ir, g = CASES[name](), pv.compile(graph()).graph
    found = machine.run(ir, [made(ir, g) for made in clients()])
    monkeypatch.setattr(machine, "rings_of", lambda *_: None)
    plain = machine.run(ir, [made(ir, g) for made in clients()])
    assert set(found.findings) == set(plain.findings)
    assert bool(found.findings) == (name not in ("sound", "strips", "overlaid"))
    assert found.trips <= plain.trips


def test_a_volta_ring_in_registers_and_shared_memory(monkeypatch):
    k = kernel("two buffers")
    assert rings_of(loop_of(k.ir), k.ir).slots == {"shared_A": 2, "shared_B": 2}
    report = k.verify()
    monkeypatch.setattr(machine, "rings_of", lambda *_: None)
    other = k.verify()
    assert report.ok and [p.relation for p in report.proofs] == [p.relation for p in other.proofs]


def test_long_rings_take_few_trips():
    ir, g = ring(Ring(8, 7, 6)), pv.compile(graph()).graph
    assert machine.run(ir, [made(ir, g) for made in clients()]).trips <= 8 + 9


def test_what_is_a_ring():
    ir = ring(Ring())
    found = rings_of(loop_of(ir), ir)
    slots = {s.buffer for _, s in walk(found.loop.body) if isinstance(s, AsyncCopy | LoadMatrix)}
    assert slots == {aff(0), aff(2)} and found.slots == {"shared_A": 3, "shared_B": 3}
    assert turns_with((C2 + var("c8") + 1) % 4, "c2") == 4
    assert turns_with((C2 // 2) % 4, "c2") is None and turns_with(C2 - 3 * (C2 // 3) + 1, "c2") is None
    assert rings_of(loop_of(slot(AsyncCopy, lambda b: (C2 + 2) % 2)), slot(AsyncCopy, lambda b: (C2 + 2) % 2)) is None
    turned = lambda s: (replace(s, target=replace(s.target, index=(C2 % 2, *s.target.index[1:]))),)  # noqa: E731
    far = edited(ir, places(ir, LoadMatrix), turned)
    assert rings_of(loop_of(far), far) is None


def test_a_turn_moves_whole_slots():
    ir = ring(Ring())
    a = ir.tile("shared_A")
    moved = turned_places(ir, {"shared_A": 1, "shared_B": 0}, 16)
    assert moved[a.start] == a.start + a.chunks and moved[a.start + 2 * a.chunks] == a.start
    assert np.array_equal(np.sort(moved), np.arange(len(moved)))
    assert (moved[ir.tile("shared_B").start :] == np.arange(len(moved))[ir.tile("shared_B").start :]).all()


def test_a_slots_number_elsewhere_is_no_slot():
    """Sums that trips take turns in, by the expression that a slot has: these are three accumulators, not one."""
    ir = ring(Ring(block=(16, 16)))
    turns = lambda s: (replace(s, d=replace(s.d, index=(C2 % 3, s.d.index[1]))),)  # noqa: E731
    registers = tuple(replace(r, shape=(3, 1)) if r.name == "hmma_C" else r for r in ir.registers)
    bad = replace(edited(ir, places(ir, Mma), turns), registers=registers)
    assert any(C2 % 3 == s.buffer for _, s in walk(bad.body) if isinstance(s, LoadMatrix))
    assert rings_of(loop_of(ir), ir) is not None and rings_of(loop_of(bad), bad) is None
    assert "sums" in machine.run(bad, [Contents(bad, pv.compile(graph()).graph)]).findings


def test_trips_of_an_inner_loop_by_a_slots_number():
    ir = ring(Ring())
    often = lambda s: (Loop("c11", (aff(0),), (C2 % 3,), 1, False, (s,)),)  # noqa: E731
    bad = edited(ir, places(ir, Mma), often)
    assert rings_of(loop_of(ir), ir) is not None and rings_of(loop_of(bad), bad) is None
