"""The symbolic machine against the interpreter: the operations that it sees are those that happen, for every size."""

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cli.gallery import idiom
from polyvolta.cuda.ir.kernel_ir import Barrier, FragmentLoad, Loop, SharedStore, When
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import var

SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16), "macro_mma": "m16n16k8"}
KERNELS = {
    "plain": (idiom("matmul"), {}),
    "two buffers": (idiom("matmul"), {"buffers": 2}),
    "split K": (idiom("epilogue"), {"split_k": 2, "warp_tile": (32, 16, 16)}),
    "sum": (idiom("sum"), {"buffers": 2}),
    "prologue": (idiom("prologue"), {}),
    "padded": (idiom("matmul"), {"partial": "pad"}),
}


class Stored:
    """Which buffers of which tiles were stored last: a state that goes round with the buffers."""

    def __init__(self, tiles=()):
        self.tiles = tuple(tiles)

    def copy(self):
        return Stored(self.tiles)

    def key(self):
        return self.tiles


class Watcher:
    """Writes down every operation with its path condition."""

    proofs = ("seen",)

    def __init__(self):
        self.seen = {}
        self.ended = []

    def start(self, ir):
        return Stored()

    def step(self, state, here):
        mask = b"" if here.mask is None else here.mask.tobytes()
        at = here.path, tuple(sorted(here.loops.items())), mask
        self.seen.setdefault(at, {})[here.condition.pieces] = here.condition
        if isinstance(here.op, SharedStore):
            state.tiles = (here.op.tile, here.number(here.op.buffer))

    def next_trip(self, state, loop, here):
        pass

    def leave(self, state, loop, last, here):
        assert last is not None and here.holds(var(loop.var) - last) and here.holds(last - var(loop.var))

    def finish(self, state, here):
        self.ended.append(here.condition)


def compiled(name):
    graph, options = KERNELS[name]
    return pv.compile(graph, options=pv.Options(**{**SMALL, **options}))


def happened(ir, sizes, block):
    """What one block does, by the interpreter's machine: (path, constant loops, mask), values of symbolic loops."""
    machine = Machine(ir, {}, dict(sizes), np.array(block).reshape(3, 1), dict.fromkeys(EFFECTS, lambda *_: None))
    constant = {s.var for s in ir_loops(ir.body) if s.unroll}
    for step in machine.steps():
        loops = {n: machine.values[n] for n in ir_vars(ir.body) if n in machine.values}
        mask = b"" if step.mask is None else step.mask[0].tobytes()
        yield (
            (step.path, tuple(sorted((n, v) for n, v in loops.items() if n in constant)), mask),
            {n: v for n, v in loops.items() if n not in constant},
        )


def ir_loops(body):
    for s in body:
        if isinstance(s, Loop | When):
            yield from [s] if isinstance(s, Loop) else []
            yield from ir_loops(s.body)
            yield from ir_loops(s.orelse) if isinstance(s, When) else ()


def ir_vars(body):
    return {s.var for s in ir_loops(body)}


def contains(condition, point):
    return any(all(e.evaluate(point) >= 0 for e in piece) for piece in condition.pieces)


@pytest.mark.parametrize("name", KERNELS)
def test_every_operation_that_happens_is_seen_and_every_one_that_is_seen_happens(name):
    ir, watcher = compiled(name).ir, Watcher()
    shown = run(ir, [watcher])
    assert not shown.findings and shown.trips <= 16 and len(watcher.ended) == shown.ways
    rng = np.random.default_rng(5)
    for _ in range(8):
        sizes = {n: int(rng.integers(1, 80)) for n in ir.sizes}
        sizes["K"] = int(rng.choice([0, 1, 15, 16, 17, 33, 100]))
        sizes.update({n: -(-sizes[n] // m) * m for n, m in ir.context})
        grid = [e.evaluate(sizes) for e in ir.grid]
        block = [int(rng.integers(0, n)) for n in grid]
        where = {**sizes, **{f"blockIdx.{a}": b for a, b in zip("xyz", block)}}
        for at, symbolic in happened(ir, sizes, block):
            assert any(contains(c, {**where, **symbolic}) for c in watcher.seen[at].values())
    for at, conditions in list(watcher.seen.items())[:: max(1, len(watcher.seen) // 8)]:
        for condition in conditions.values():
            point = condition.point()
            sizes = {n: point[n] for n in ir.sizes}
            symbolic = {n: v for n, v in point.items() if n not in sizes and "." not in n}
            block = [point[f"blockIdx.{a}"] for a in "xyz"]
            assert (at, symbolic) in list(happened(ir, sizes, block))


def test_ways_that_are_one_again_behind_a_later_statement_know_what_was_known_before():
    class Parted(Watcher):
        def step(self, state, here):
            super().step(state, here)
            state.tiles = () if here.path[0] else ("parted",)

    sync, watcher = Barrier(statement="sync"), Parted()
    body = (When((var("K") - 17,), (sync,)), When((var("K"),), (sync,)), sync)
    shown = run(replace(compiled("plain").ir, body=body), [watcher])
    assert len(watcher.seen[(1, 0), (), b""]) == 2 and shown.ways == 1
    (behind,) = watcher.seen[(2,), (), b""].values()
    assert len(behind.pieces) == 1 and behind.point()["K"] == 0 and behind.possible(var("K") - 17)
    assert watcher.ended == [behind]


def test_a_refutation_is_at_the_smallest_sizes_that_show_it():
    class Late(Watcher):
        def step(self, state, here):
            if isinstance(here.op, FragmentLoad):
                here.refute("seen", "a third k tile", where=(var("c2") - 2,), warp=1)

    ir = compiled("plain").ir
    assert any(isinstance(s, Loop) and s.var == "c2" for s in ir.body)
    found = run(ir, [Late()]).findings["seen"]
    assert {n: found.point[n] for n in ("M", "N", "K", "c2")} == {"M": 1, "N": 1, "K": 33, "c2": 2}
    assert found.what == "a third k tile" and found.warp == 1


def test_states_that_never_repeat_are_undecided():
    class Counting(Watcher):
        def step(self, state, here):
            pass

        def next_trip(self, state, loop, here):
            state.tiles = (len(state.tiles), *state.tiles)

    with pytest.raises(Undecided, match="c2 don't repeat"):
        run(compiled("plain").ir, [Counting()])


def test_an_index_that_mixes_threads_and_sizes_is_undecided():
    ir = compiled("plain").ir
    (loop,) = (s for s in ir.body if isinstance(s, Loop) and s.var == "c2")
    mixed = When(((var("lane") + var("K")) // 7,), loop.body, False)
    broken = replace(ir, body=(replace(loop, body=(mixed,)),))
    with pytest.raises(Undecided, match="mixes threads and sizes") as caught:
        run(broken, [Watcher()])
    assert caught.value.path == (0, 0)


def test_a_condition_of_threads_and_sizes_goes_apart_by_thread():
    ir, watcher = compiled("plain").ir, Watcher()
    by_warp = When((var("K") - 10 * var("warp") - 5,), (Barrier(),), False)
    run(replace(ir, body=(by_warp,)), [watcher])
    reached = {at[2].count(1) or 128: c for at, found in watcher.seen.items() for c in found.values()}
    assert {threads: (c.point()["K"], c.holds(34 - var("K"))) for threads, c in reached.items()} == {
        32: (5, True), 64: (15, True), 96: (25, True), 128: (35, False),
    }  # fmt: skip
