"""Asynchronous copies and `ldmatrix` in the machine, against simulations thread by thread that share no code."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Barrier,
    CommitCopies,
    Element,
    GlobalTensor,
    KernelIR,
    LoadMatrix,
    RegisterArray,
    SharedTile,
    WaitCopies,
    When,
)
from polyvolta.cuda.machine.errors import BadCopies, OutOfBounds
from polyvolta.cuda.machine.interpreter import POISON, interpret
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.run.views import narrowed
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import aff, var
from tests.cuda.ir.ir_example import rewritten
from tests.cuda.ir.ring_example import exact, padded, problem, ring_ir
from tests.sets.brute import examples

T, LANE, N, ROW, K = (var(n) for n in ("linearId", "lane", "n", "row", "k"))
ARRIVALS = ["lazy", "eager", 0, 1, 2]
BITS = POISON["half"].view(np.uint16)


def run(ir: KernelIR, sizes: dict[str, int], copies="lazy", seed: int = 0) -> dict[str, np.ndarray]:
    """The tensors of a run; lines that end within a piece are copied in narrower ones, as calls do it."""
    ends = {t.name: gcd(t.align, sizes[t.dims[t.order[-1]]]) for t in ir.tensors if t.whole}
    ir = narrowed(ir, ends)
    tensors = problem(ir, sizes, seed)
    interpret(ir, tensors, sizes, copies=copies)
    return tensors


def is_right(tensors: dict[str, np.ndarray]) -> bool:
    return np.array_equal(tensors["C"], exact(tensors))


# ---- kernels through a ring


@pytest.mark.parametrize("layouts", [(a, b) for a in ("row", "col") for b in ("row", "col")])
@pytest.mark.parametrize("macro", ["m16n16k16", "m16n16k8"])
@pytest.mark.parametrize("copies", ARRIVALS)
def test_a_product_against_float64(layouts, macro, copies):
    for sizes in ({"M": 40, "N": 33, "K": 100}, {"M": 1, "N": 65, "K": 31}):
        assert is_right(run(ring_ir(layouts=layouts, macro=macro), sizes, copies))


@pytest.mark.parametrize("stages", [2, 3, 4, 7])
@pytest.mark.parametrize("depth", [0, 1, 32, 65, 300])
def test_rings_of_all_lengths_and_few_tiles(stages, depth):
    ir = ring_ir(stages=stages)
    for copies in ("lazy", 5):
        assert is_right(run(ir, {"M": 32, "N": 40, "K": depth}, copies))


@pytest.mark.parametrize("align", [8, 4, 2, 1])
@pytest.mark.parametrize("layouts", [("row", "col"), ("col", "row")])
def test_pieces_of_every_width(align, layouts):
    ir = ring_ir((64, 64, 32), (32, 32), align=align, layouts=layouts)
    for copies in ARRIVALS[:3]:
        assert is_right(run(ir, {"M": 61, "N": 83, "K": 59}, copies))
    assert is_right(run(ring_ir(align=align, layouts=layouts, guarded=False), {"M": 64, "N": 32, "K": 96}))


def test_what_is_drawn_at_random_depends_on_the_seed_alone():
    """What a hook sees of shared memory on the way."""

    def seen(copies):
        found = []
        ir, sizes = ring_ir(), {"M": 32, "N": 32, "K": 128}
        interpret(ir, problem(ir, sizes), sizes, copies=copies,
                  hook=lambda m, op, values: found.append(int((m.memory.view(np.uint16) == BITS).sum())))  # fmt: skip
        return found

    assert seen(3) == seen(3) != seen(4)
    assert seen("random") == seen(0)
    lazy, eager, some = seen("lazy"), seen("eager"), seen(3)
    assert all(a >= b >= c for a, b, c in zip(lazy, some, eager, strict=True)) and lazy != some != eager


@pytest.mark.parametrize("copies", ["late", -1, 1.5, True, None])
def test_other_times_of_arrival_are_refused(copies):
    ir, sizes = ring_ir(), {"M": 32, "N": 32, "K": 32}
    with pytest.raises(BadCopies, match="PV528"):
        interpret(ir, problem(ir, sizes), sizes, copies=copies)


def changed(ir: KernelIR, kind: type, **fields) -> KernelIR:
    return rewritten(ir, lambda op: replace(op, **fields) if isinstance(op, kind) else op)


@pytest.mark.parametrize(("change", "lazily", "eagerly"), [
    (lambda ir: changed(ir, WaitCopies, pending=2), False, True),
    (lambda ir: rewritten(ir, lambda op: None if isinstance(op, WaitCopies) else op), False, True),
    (lambda ir: rewritten(ir, lambda op: None if isinstance(op, CommitCopies) else op), False, True),
    (lambda ir: changed(ir, WaitCopies, pending=0), True, True),
    (lambda ir: changed(ir, LoadMatrix, buffer=(var("c2") + 1) % 3), False, False),
    (lambda ir: changed(ir, AsyncCopy, buffer=(var("c2") + 3) % 3), False, False),
])  # fmt: skip
def test_a_wait_for_too_little_shows_when_copies_are_late(change, lazily, eagerly):
    ir, sizes = change(ring_ir()), {"M": 32, "N": 32, "K": 200}
    late, early = run(ir, sizes), run(ir, sizes, "eager")
    assert is_right(late) == lazily and (lazily or np.isnan(late["C"]).any())
    assert is_right(early) == eagerly


def test_a_copy_that_leaves_its_tile_is_refused():
    ir = rewritten(ring_ir(), lambda op: replace(op, buffer=op.buffer + 1) if isinstance(op, AsyncCopy) else op)
    with pytest.raises(OutOfBounds, match="the buffers of shared_A"):
        run(ir, {"M": 32, "N": 32, "K": 200})


# ---- groups, thread by thread

THREADS, ROWS, WIDE = 64, 80, 13


@st.composite
def programs(draw):
    """Copies to places of their own, commits and waits, each by the threads with low <= linearId < high."""
    found = []
    for _ in range(draw(st.integers(1, 14))):
        low = draw(st.sampled_from((0, 0, 0, 5, 32, 40)))
        high = draw(st.sampled_from((64, 64, 64, 50, 41)))
        kind = draw(st.sampled_from(("copy", "copy", "commit", "wait")))
        more = draw(st.integers(0, 3)) if kind == "wait" else draw(st.integers(0, 20))
        found.append((kind, low, high, more))
    return found


def kernel_of(program, align: int) -> KernelIR:
    """Copy n goes to rows 64 n and on of the tile; its thread t takes 8 values from A[t + shift, 8 (t mod 2)]."""
    body = []
    for n, (kind, low, high, more) in enumerate(program):
        if kind == "copy":
            index, place = (T + more, 8 * (T % 2)), (THREADS * n + (7 * T + more) % THREADS, aff(0))
            op = AsyncCopy("A", index, 1, "tile", place, guarded=True)
        else:
            op = CommitCopies() if kind == "commit" else WaitCopies(more)
        body.append(When((T - low, high - 1 - T), (op,), uniform=False))
    rows = THREADS * len(program)
    layout = IndexMap((("row", rows), ("k", 8)), (("chunk", ROW + K // 8),))
    tensor, tile = GlobalTensor("A", (ROWS, WIDE), (0, 1), align=align), SharedTile("tile", 0, rows, layout, (0, 1))
    return KernelIR(
        "k", (), (tensor,), (tile,), (), THREADS, (), {"linearId": (0, THREADS - 1)}, (aff(2), aff(1), aff(1)),
        body=tuple(body),
    )  # fmt: skip


def simulated(program, a: np.ndarray):
    """After each step: chunk -> what was issued to it, and the chunks that have been waited for; thread by thread."""
    groups = {t: [[]] for t in range(THREADS)}  # of each thread, the last one still open
    issued, done, states = {}, set(), []
    for n, (kind, low, high, more) in enumerate(program):
        for t in range(low, high):
            if kind == "copy":
                row, first = t + more, 8 * (t % 2)
                values = [a[row, first + v] if row < ROWS and first + v < WIDE else 0 for v in range(8)]
                chunk = THREADS * n + (7 * t + more) % THREADS
                issued[chunk] = np.array(values, np.float16)
                groups[t][-1].append(chunk)
            elif kind == "commit":
                groups[t].append([])
            else:
                closed = groups[t][:-1]
                for group in closed[: max(len(closed) - more, 0)]:
                    done.update(group)
        states.append((dict(issued), set(done)))
    return states


@examples(100)
@given(programs(), st.sampled_from((8, 4, 2, 1)), st.sampled_from(ARRIVALS))
def test_groups_and_waits_thread_by_thread(program, align, copies):
    a = padded(np.arange(ROWS * WIDE, dtype=np.float16).reshape(ROWS, WIDE) / 8, (0, 1), align)
    states, found = simulated(program, a), []
    interpret(kernel_of(program, align), {"A": a}, {}, copies=copies,
              hook=lambda m, op, values: found.append((m.path[0], m.memory.copy())))  # fmt: skip
    for step, memory in found:
        issued, done = states[step]
        for block in range(2):
            for chunk, values in issued.items():
                here = memory[block, chunk]
                if chunk in done or copies == "eager":
                    assert np.array_equal(here, values)
                elif copies == "lazy":
                    assert (here.view(np.uint16) == BITS).all()
                else:  # at random: nothing of it, or all
                    assert (here.view(np.uint16) == BITS).all() or np.array_equal(here, values)


# ---- matrices, lane by lane


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_matrices_as_the_manual_says(count, transposed, seed):
    """PTX: rows of matrix j are named by lanes 8 j to 8 j + 7; a lane has two values of row lane / 4 of each, or,
    transposed, of column lane / 4."""
    rng = np.random.default_rng(seed)
    a, b, c = (int(x) for x in rng.integers(1, 40, 3))
    instructions = 2
    lines = IndexMap(
        (("lane", 32), ("n", instructions)),
        (("row", (a * LANE + b * N + c) % 64), ("k", 8 * ((LANE // 3 + N + c) % 4))),
    )
    values = 2 * count * instructions
    own = IndexMap((("lane", 32), ("i", values)), (("row", LANE), ("k", var("i"))))  # wrong, and nobody's business
    load = LoadMatrix(Element("r", (aff(0),)), "tile", (aff(0), aff(0)), "a", own, lines, count, transposed)
    layout = IndexMap((("row", 64), ("k", 32)), (("chunk", 4 * ROW + (K // 8 + ROW) % 4),))
    ir = KernelIR(
        "k", (), (), (SharedTile("tile", 0, 256, layout, (0, 1)),), (RegisterArray("r", "half", (1,), values),), 64,
        (("lane", T % 32),), {"linearId": (0, 63), "lane": (0, 31)}, (aff(3), aff(1), aff(1)), body=(load,),
    )  # fmt: skip
    m = Machine(ir, {}, {}, np.array([[0, 1, 2], [0] * 3, [0] * 3]), EFFECTS)
    m.memory[...] = rng.permutation(m.memory.size).reshape(m.memory.shape) % 60000
    m.run()

    def element(block: int, lane: int, n: int, place: int) -> float:
        row, k = (a * lane + b * n + c) % 64, 8 * ((lane // 3 + n + c) % 4)
        return m.memory[block, 4 * row + (k // 8 + row) % 4, place]

    for block in range(3):
        for warp in range(2):
            for lane in range(32):
                for i in range(values):
                    n, matrix, half = i // (2 * count), i % (2 * count) // 2, i % 2
                    line, place = lane // 4, 2 * (lane % 4) + half
                    if transposed:
                        line, place = place, line
                    assert m.registers["r"][block, warp, lane, 0, i] == element(block, 8 * matrix + line, n, place)


@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("macro", ["m16n16k16", "m16n16k8"])
def test_lines_that_are_another_lanes_are_wrong(operand, macro):
    """The ownership map stays as it is, and is not asked."""

    def shifted(op):
        if not isinstance(op, LoadMatrix) or op.operand != operand:
            return op
        outputs = tuple((name, e.subs({"lane": (LANE + 1) % 32})) for name, e in op.lines.outputs)
        return replace(op, lines=IndexMap(op.lines.inputs, outputs))

    tensors = run(rewritten(ring_ir(macro=macro), shifted), {"M": 32, "N": 32, "K": 64})
    assert not np.isnan(tensors["C"]).any() and not is_right(tensors)


def test_a_barrier_is_no_wait():
    """A copy that all threads have issued, and that a barrier follows, is still on its way."""
    ir = rewritten(ring_ir(), lambda op: Barrier() if isinstance(op, WaitCopies) else op)
    assert np.isnan(run(ir, {"M": 32, "N": 32, "K": 64})["C"]).all()
