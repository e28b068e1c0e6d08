"""Roles, phases, boxes and products of warpgroups in the machine: right in any order, and what is broken is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    Barrier,
    BoxCopy,
    InitBarriers,
    KernelIR,
    Op,
    Roles,
    Wgmma,
    WgmmaCommit,
    WgmmaFence,
    WgmmaWait,
    When,
)
from polyvolta.cuda.ir.walk import put, walk
from polyvolta.cuda.machine.asynchrony.units import lockstep
from polyvolta.cuda.machine.errors import BadPhase, Deadlock, LeftBehind
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.target.boxes import Swizzle
from polyvolta.sets import aff, var
from tests.cuda.hopper_kernels import product
from tests.cuda.ir.ir_example import rewritten
from tests.cuda.ir.ring_example import exact, problem

KINDS = ("lazy", "eager", 0, 1)
SIZES = {"M": 40, "N": 72, "K": 300}
LAYOUTS = [(a, b, c) for a in ("row", "col") for b in ("row", "col") for c in ("row", "col")]


def run(ir: KernelIR, sizes: dict[str, int], copies: str | int = "lazy", **more) -> dict[str, np.ndarray]:
    tensors = problem(ir, sizes)
    interpret(ir, tensors, sizes, copies=copies, **more)
    return tensors


def is_right(ir: KernelIR, sizes: dict[str, int], copies: str | int = "lazy") -> bool:
    tensors = run(ir, sizes, copies)
    return np.array_equal(tensors["C"], exact(tensors))  # sums are exact in fp32


# ---- right ones


@pytest.mark.parametrize("copies", KINDS)
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_rings_of_all_lengths(stages, copies):
    assert is_right(product(stages), SIZES, copies)


@pytest.mark.parametrize("depth", [0, 1, 63, 64, 65, 129])
@pytest.mark.parametrize("copies", ["lazy", 4])
def test_few_tiles(depth, copies):
    assert is_right(product(3), {"M": 9, "N": 17, "K": depth}, copies)


@pytest.mark.parametrize("copies", KINDS)
def test_two_warpgroups(copies):
    ir = product(3, 2, (256, 64, 32), reuse=True)
    assert is_right(ir, {"M": 200, "N": 40, "K": 200}, copies)


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_all_layouts(layouts):
    for align, copies in ((8, "lazy"), (1, 7)):
        assert is_right(product(2, 1, (64, 64, 64), layouts, align=align), {"M": 70, "N": 61, "K": 100}, copies)


@pytest.mark.parametrize("widths", [(64, 32), (32, 128), (0, 64), (128, 0)])
@pytest.mark.parametrize("layouts", [("row", "col", "row"), ("col", "row", "row")])
def test_all_swizzles(layouts, widths):
    ir = product(2, 1, (64, 64, 64), layouts, tuple(map(Swizzle, widths)))
    assert is_right(ir, {"M": 33, "N": 50, "K": 70}, 3)


def test_against_float64_with_values_that_round():
    rng, ir, sizes = np.random.default_rng(5), product(3), {"M": 64, "N": 64, "K": 512}
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 512), (512, 64)))
    tensors = {"A": a, "B": np.asfortranarray(b), "C": np.full((64, 64), np.nan, np.float16)}
    interpret(ir, tensors, sizes, copies="random")
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    bound = 2.0**-11 * np.abs(wanted) + 512 * 2.0**-24 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
    assert (np.abs(tensors["C"] - wanted) <= bound).all()


def test_what_is_drawn_at_random_depends_on_the_seed_alone():
    def seen(copies):
        found = []
        run(product(2), {"M": 64, "N": 64, "K": 200}, copies, hook=lambda m, op, values: found.append(m.path))
        return found

    assert seen(3) == seen(3) != seen(4)
    assert seen("random") == seen(0)
    assert seen("lazy") != seen("eager")


# ---- broken ones


def changed(kind: type, statement: str, change: Callable[[Op], Op | None]) -> Callable[[KernelIR], KernelIR]:
    """The operations of a kind and a name are something else; None: nothing."""
    def of(ir):
        made = rewritten(ir, lambda op: change(op) if isinstance(op, kind) and op.statement == statement else op)
        assert made != ir
        return made

    return of


def without(kind: type, statement: str) -> Callable[[KernelIR], KernelIR]:
    return changed(kind, statement, lambda op: None)


def phase(op: Arrive | Await | BoxCopy, slot: int = 0, number: int = 0) -> Op:
    """The operation with another slot and phase."""
    p = op.phase
    return replace(op, phase=replace(p, slot=(p.slot + slot) % 3, number=p.number + number))


def arrivals(row: int, more: int) -> Callable[[KernelIR], KernelIR]:
    def of(ir):
        rows = list(ir.barriers)
        rows[row] = replace(rows[row], arrivals=rows[row].arrivals + more)
        return replace(ir, barriers=tuple(rows))

    return of


def shorter(ir: KernelIR) -> KernelIR:
    """The producer leaves a tile early."""
    *before, roles = ir.body
    consumer, producer = roles.roles
    (lane,) = producer.body
    (loop,) = lane.body
    lane = replace(lane, body=(replace(loop, upper=(loop.upper[0] - 1,)),))
    return replace(ir, body=(*before, replace(roles, roles=(consumer, replace(producer, body=(lane,))))))


BROKEN = {
    "no wait for the boxes": (without(Await, "full"), {"lazy", "eager", 0}),
    "no wait for a free slot": (without(Await, "free"), set(KINDS)),
    "a tile is released early": (changed(WgmmaWait, "done", lambda op: replace(op, pending=2)), {"lazy"}),
    "an arrival too many is wanted": (arrivals(1, 1), set(KINDS)),
    "an arrival too few is wanted": (arrivals(1, -1), set(KINDS)),
    "the boxes want an arrival more": (arrivals(0, 1), set(KINDS)),
    "too few bytes": (changed(Arrive, "expect", lambda op: replace(op, bytes=op.bytes - 16)), set(KINDS)),
    "too many bytes": (changed(Arrive, "expect", lambda op: replace(op, bytes=op.bytes + 16)), set(KINDS)),
    "bytes of a box alone": (changed(Arrive, "expect", lambda op: replace(op, bytes=op.bytes // 2)), set(KINDS)),
    "no wait at the end": (without(WgmmaWait, "all_done"), set(KINDS)),
    "no commit": (without(WgmmaCommit, "commit"), {"lazy", 0, 1}),
    "no fence of registers": (without(WgmmaFence, "fence"), set(KINDS)),
    "waits for two phases later": (changed(Await, "full", lambda op: phase(op, number=2)), set(KINDS)),
    "waits for two phases before": (changed(Await, "full", lambda op: phase(op, number=-2)), set(KINDS)),
    "waits for a free slot a phase late": (changed(Await, "free", lambda op: phase(op, number=1)), set(KINDS)),
    "waits for a free slot a phase early": (changed(Await, "free", lambda op: phase(op, number=-1)), set(KINDS)),
    "waits for another slot": (changed(Await, "full", lambda op: phase(op, slot=1)), {0, 1}),
    "releases another slot": (changed(Arrive, "release", lambda op: phase(op, slot=1)), set(KINDS)),
    "boxes for another slot": (changed(BoxCopy, "box_A", lambda op: phase(op, slot=1)), set(KINDS)),
    "boxes to another buffer": (
        changed(BoxCopy, "box_A", lambda op: replace(op, buffer=(op.buffer + 1) % 3)), set(KINDS)),
    "boxes of another tile": (
        changed(BoxCopy, "box_A", lambda op: replace(op, index=(op.index[0], op.index[1] + 64))), set(KINDS)),
    "barriers never begin": (without(InitBarriers, "init"), set(KINDS)),
    "no barrier after the beginning": (without(Barrier, "begun"), set(KINDS)),
    "the producer leaves early": (shorter, set(KINDS)),
    "a descriptor starts elsewhere": (
        changed(Wgmma, "product", lambda op: replace(op, a=replace(op.a, start=op.a.start + 8))), set(KINDS)),
    "a descriptor has another swizzle": (
        changed(Wgmma, "product", lambda op: replace(
            op, a=replace(op.a, descriptor=replace(op.a.descriptor, swizzle=Swizzle(64))))), set(KINDS)),
    "a descriptor has another stride": (
        changed(Wgmma, "product", lambda op: replace(
            op, b=replace(op.b, descriptor=replace(op.b.descriptor, stride=32)))), set(KINDS)),
}  # fmt: skip


def seen_by(ir: KernelIR, sizes: dict[str, int]) -> set[str | int]:
    """The kinds of runs in which something is wrong."""
    found: set[str | int] = set()
    for copies in KINDS:
        try:
            if not is_right(ir, sizes, copies):
                found.add(copies)
        except CudaError:
            found.add(copies)
    return found


@pytest.mark.parametrize("name", BROKEN)
def test_broken_kernels_are_seen(name):
    change, wanted = BROKEN[name]
    found = seen_by(change(product(3)), {"M": 64, "N": 64, "K": 520})
    assert found >= wanted and found, found


def test_a_deadlock_says_where_everybody_stands():
    with pytest.raises(Deadlock) as stuck:
        run(arrivals(1, 1)(product(2)), {"M": 64, "N": 64, "K": 400})
    text = str(stuck.value)
    assert "PV533" in text
    assert "consumer at Await full with t = 2 waits for phase 1 of full[0], which misses 1 of 1 arrivals" in text
    assert "producer at Await free with t = 2 waits for phase 0 of empty[0], which misses 1 of 2 arrivals" in text


@pytest.mark.parametrize(("name", "wrong", "text"), [
    ("barriers never begin", BadPhase, r"hasn't begun"),
    ("no barrier after the beginning", BadPhase, r"has begun with no barrier of the block since"),
    ("too few bytes", BadPhase, r"has 16 bytes more than it expects"),
    ("waits for two phases later", BadPhase, r"it waits for phase 2 of full\[0\] while phase 0 is current"),
    ("no wait at the end", LeftBehind, r"while products run"),
])  # fmt: skip
def test_errors_say_what(name, wrong, text):
    with pytest.raises(wrong, match=text):
        run(BROKEN[name][0](product(3)), {"M": 64, "N": 64, "K": 200})


def test_a_warpgroup_that_releases_for_both():
    """With one arrival where there are two, somebody overwrites what the other one still reads."""
    ir = arrivals(1, -1)(product(2, 2, (128, 64, 64)))
    assert seen_by(ir, {"M": 128, "N": 64, "K": 520}) == set(KINDS)


def test_an_await_is_a_wait_also_without_roles():
    """All threads in one strand: each waits for what one of them has asked for."""
    ir = product(1)
    *before, roles = ir.body
    boxes = roles.roles[1].body[0].body[0].body[1:]
    assert isinstance(roles, Roles) and [type(op) for op in boxes] == [Arrive, BoxCopy, BoxCopy]
    given = {"t": aff(0)}
    fill = tuple(_at(op, given) for op in boxes)
    wait = _at(roles.roles[0].body[1].body[0], given)
    body = (*before, When((-var("linearId"),), fill, uniform=False), wait)
    found = []
    sizes = {"M": 64, "N": 64, "K": 64}
    for copies in KINDS:
        tensors = problem(ir, sizes)
        interpret(replace(ir, body=body), tensors, sizes, copies=copies,
                  hook=lambda m, op, values: found.append((type(op), m.memory[0, :512].copy())))  # fmt: skip
        kind, memory = found[-1]
        assert kind is Await
        rows = memory.reshape(64, 8, 8)
        for r in range(64):
            for c in range(8):
                assert np.array_equal(rows[r, c ^ r % 8], tensors["A"][r, 8 * c : 8 * c + 8])


def _at(op: Op, given) -> Op:
    return put(op, lambda e: e.subs(given))


def test_blocks_whose_loops_differ_run_one_by_one():
    ir = product(2)
    assert lockstep(ir)
    *before, roles = ir.body
    tiles = next(s for _, s in walk((roles,)) if getattr(s, "var", "") == "t").upper[0]
    per_block = replace(roles, roles=tuple(
        replace(r, body=_with_bounds(r.body, tiles, tiles - var("blockIdx.x"))) for r in roles.roles))  # fmt: skip
    made = replace(ir, body=(*before, per_block))
    assert not lockstep(made)
    sizes = {"M": 64, "N": 128, "K": 200}
    for copies in KINDS:
        tensors = run(made, sizes, copies)
        whole, less = tensors["A"].astype(float), tensors["A"][:, :192].astype(float)
        wanted = np.hstack([whole @ tensors["B"][:, :64], less @ tensors["B"][:192, 64:]])
        assert np.array_equal(tensors["C"], wanted.astype(np.float16))


def _with_bounds(body, old, new):
    return tuple(
        replace(s, **({"upper": (new,)} if getattr(s, "upper", ()) == (old,) else {}),
                body=_with_bounds(s.body, old, new)) if hasattr(s, "body") else s
        for s in body
    )  # fmt: skip
