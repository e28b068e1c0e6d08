"""Observers of kernels of roles: silent where a kernel is right, and with the place where a part of it is left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import Barrier, BoxStore, KernelIR
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.machine.asynchrony.phases import PhaseAt
from polyvolta.cuda.machine.errors import Deadlock
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.machine.observe.order.clocks import Clocks
from polyvolta.cuda.machine.observe.races import role_at
from polyvolta.cuda.machine.observe.watch import OBSERVERS, Watch
from polyvolta.cuda.mutants import broken, roles
from polyvolta.cuda.mutants.model import edited, without
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text.places import Places
from polyvolta.cuda.text.printer import print_cuda

M, N, K = pv.sizes("M N K")
A, B, R, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("R", (M, N)), pv.tensor("bias", (N,))
P, Q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N))
TILES = pv.Options(block_tile=(128, 64, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=3, group=1)
KINDS = ("lazy", "eager", 3)


def by_layouts(a: str, b: str, c: str) -> object:
    return pv.output(pv.tensor("A", (M, K), layout=a) @ pv.tensor("B", (K, N), layout=b), layout=c)


@cache
def kernel_of(name: str = "product") -> Kernel:
    outputs = {
        "product": lambda: A @ B, "residual": lambda: pv.relu(A @ B + R), "bias": lambda: A @ B + bias,
        "sum": lambda: A @ B + P @ Q, "two results": lambda: (A @ B, pv.relu(A @ B)),
    }.get(name, lambda: by_layouts(*name.split(".")))  # fmt: skip
    return pv.compile(outputs(), target=SM_90A, options=TILES)


def arrays(kernel: Kernel, sizes: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """Views whose lines start at multiples of 16 bytes, as maps want them."""
    rng, numbers, found = np.random.default_rng(0), dict(zip("MNK", sizes, strict=True)), {}
    for t in kernel.graph.inputs:
        shape = [numbers[str(d)] for d in t.dims]
        whole = rng.integers(-8, 9, [-(-n // 8) * 8 for n in shape]) / 8
        whole = np.array(whole, np.float16, order="F" if t.layout == "col" else "C")
        found[t.name] = whole[tuple(slice(n) for n in shape)]
    return found


# ---- kernels that are right

WHOLE = [
    ("row.row.row", (136, 72, 200), "lazy"), ("row.col.col", (130, 72, 135), "eager"),
    ("col.row.col", (136, 66, 100), 3), ("col.col.row", (70, 66, 330), "lazy"),
    ("residual", (136, 72, 136), "lazy"), ("residual", (129, 66, 70), "eager"), ("residual", (136, 72, 330), 3),
    ("bias", (136, 70, 136), "eager"), ("sum", (136, 72, 264), "lazy"), ("sum", (130, 64, 72), 3),
    ("two results", (136, 72, 136), "eager"), ("product", (1, 1, 1), "lazy"), ("sum", (8, 8, 8), "eager"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sizes", "copies"), WHOLE)
def test_nothing_is_wrong_with_a_whole_kernel(name, sizes, copies):
    kernel = kernel_of(name)
    given = arrays(kernel, sizes)
    seen = kernel.interpret(**given, observe="all", copies=copies)
    assert not [f for f in seen.findings if f.observer != "bank_conflicts"]
    assert seen.races is not None and seen.uninitialised is not None and seen.values is not None
    assert seen.phases is not None  # in a variant with roles


@pytest.mark.parametrize("name", ["product", "residual", "sum"])
def test_nothing_is_wrong_where_there_is_no_k(name):
    """Below a call, which would take the variant without boxes."""
    ir = kernel_of(name).ir
    results = {t.name: np.ones((128, 64), "f2") for t in ir.tensors if t.written}
    tensors = arrays(kernel_of(name), (128, 64, 0)) | results
    watch = Watch(ir, [n for n in OBSERVERS if n != "values"])
    interpret(ir, tensors, {"M": 128, "N": 64, "K": 0}, watch=watch)
    found = watch.seen(Places(ir, kernel_of(name).schedule))
    assert not [f for seen in found.values() for f in seen.findings]
    assert found["counts"].hmma == 0


# ---- kernels that are broken


@pytest.mark.parametrize("name", [m.name for m in roles.MUTANTS if m.observers])
def test_the_observers_see_a_mutant_under_some_order(name):
    mutant = next(m for m in roles.MUTANTS if m.name == name)
    kernel, saw = broken(kernel_of(), name), set()
    late = name == "a free slot that is another one"  # a producer that stands still while a slot is filled and emptied
    given = arrays(kernel, (128, 64, 768 if late else 320))
    for copies in (3, 5) if late else KINDS:
        seen = kernel.interpret(**given, observe="all", copies=copies)
        assert len(str(seen)) > 100
        saw |= {f.observer for f in seen.findings}
        if set(mutant.observers) <= saw:
            return
    raise AssertionError(f"seen by {saw} alone")


def left_out(name: str) -> Kernel:
    """The product without the operations of a statement."""
    kernel = kernel_of()
    at = [path for path, s in walk(kernel.ir.body) if getattr(s, "statement", "") == name]
    ir = edited(kernel.ir, at, without)
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


LEFT_OUT = {
    "fence_C": ("unfenced", "consumer 0, warp 0, lane 0 has a box stored from", "has written, and no fence", "eager"),
    "sync_C": ("read after write", "consumer 0, warp 0, lane 0 has a box stored from",
               "consumer 0, warp 0, lane 16 writes there is over", "eager"),
    "full": ("write after read", "producer, warp 8, lane 0 has a box copied to",
             "consumer 0 multiplies there is over", "eager"),
    "done": ("write after read", "producer, warp 8, lane 0 has a box copied to",
             "consumer 0 multiplies there is over", "eager"),
    "ready": ("registers not ready", "consumer 0 multiplies with hmma_C[0][0]", "no fence of registers came before",
              "eager"),
    "empty": ("write after read", "producer, warp 8, lane 0 has a box copied to", "multiplies there is over", "eager"),
    "end_C": ("copy without a wait", "consumer 0, warp 0, lane 0 has a box stored from", "nobody waits for it",
              "eager"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_is_a_race_that_names_roles_and_places(name):
    kind, who, other, copies = LEFT_OUT[name]
    kernel = left_out(name)
    seen = kernel.interpret(**arrays(kernel, (128, 64, 320)), observe="races", copies=copies)
    found = [r for r in seen.races.rows if r.kind == kind and who in r.what and other in r.what]
    assert found, [str(f) for f in seen.findings]
    lines = kernel.source.split("\n")
    for place in (found[0].place, found[0].other):
        assert lines[place.line - 1].strip() == place.text
        assert place.statement in {"write_C", "put_C", "box_A", "box_B", "S"}
    assert kind in seen.races.tables[0].rows[seen.races.rows.index(found[0])]
    drawn = seen.picture("races")
    assert f"A race: {seen.races.rows[0].kind}" in drawn or len(seen.races.rows) > 1


def test_releases_that_are_left_out_let_nobody_go_on():
    """No race: the producer waits. With as many tiles as slots nothing is wrong."""
    kernel = left_out("release")
    with pytest.raises(Deadlock):
        kernel.interpret(**arrays(kernel, (128, 64, 320)), observe="races")
    seen = kernel.interpret(**arrays(kernel, (128, 64, 320)), observe="all")
    (end,) = seen.phases.rows
    assert "producer at Await empty with c2 = 3 waits for phase 0 of empty[0]" in end.what
    assert end.blocks == 1 and not seen.races.rows and "phases: nobody can go on" in str(seen)
    assert not [f for f in seen.findings if f.observer == "uninitialised"]
    few = kernel.interpret(**arrays(kernel, (128, 64, 192)), observe="all")
    assert few.ok


@pytest.mark.parametrize("copies", KINDS)
def test_a_race_is_seen_whatever_happens_first(copies):
    """Barriers order, and not what happened to be earlier."""
    kernel = left_out("sync_C")
    given = arrays(kernel, (128, 64, 64))
    seen = kernel.interpret(**given, observe="all", copies=copies)
    assert {f.observer for f in seen.findings} == {"races"}
    assert np.array_equal(seen.result, pv.reference(kernel.graph.roots[0], **given))


def test_two_threads_may_not_store_a_box_twice():
    def other_row(op):
        return (replace(op, index=(op.index[0] * 0, op.index[1])),)

    kernel = kernel_of()
    at = [path for path, s in walk(kernel.ir.body) if isinstance(s, BoxStore)]
    changed = replace(kernel, ir=edited(kernel.ir, at, other_row), _variants={}, _loaded={}, _configs={})
    seen = changed.interpret(**arrays(kernel, (128, 64, 64)), observe=("races", "uninitialised", "values"))
    (race,) = seen.races.rows
    assert race.kind == "write after write" and race.address == "C[0, 0]" and race.count == 64 * 64
    assert "consumer" in race.what and race.byte is None
    assert [r.count for r in seen.uninitialised.rows] == [64 * 64]
    assert seen.values.rows[0].stored == 2 * 64 * 64


def test_values_that_a_box_stores_elsewhere_say_from_where():
    kernel = broken(kernel_of(), "piece in its neighbour's place")
    seen = kernel.interpret(**arrays(kernel, (128, 136, 64)), observe="values")
    (wrong,) = seen.values.rows
    assert wrong.moved == "C[i, j] holds what belongs to C[i, j - 64]"
    assert wrong.place.statement == "write_C" and wrong.warp in (0, 4) and wrong.lane == 0
    assert wrong.element[0] // 64 == wrong.warp // 4 and wrong.element[1] == 64


def test_a_statement_has_its_role():
    ir: KernelIR = kernel_of().ir
    of = {getattr(s, "statement", ""): role_at(ir, path) for path, s in walk(ir.body)}
    assert [of[n] for n in ("init", "sync_init", "full", "S", "write_C", "empty", "box_B")] == [
        "", "", "consumer", "consumer", "consumer", "producer", "producer"]  # fmt: skip


def test_coalescing_counts_boxes():
    seen = kernel_of().interpret(**arrays(kernel_of(), (128, 64, 128)), observe=("coalescing", "counts"))
    rows = {r.place.statement: r for r in seen.coalescing.rows}
    assert [(n, r.requests, r.asked, r.sectors) for n, r in rows.items()] == [
        ("write_C", 2, 128 * 64 * 2, 128 * 64 * 2 // 32),
        ("box_A", 2, 128 * 128 * 2, 128 * 128 * 2 // 32),
        ("box_B", 2, 128 * 64 * 2, 128 * 64 * 2 // 32),
    ]
    assert "boxes with lines of 128 bytes" in seen.picture("coalescing")
    assert seen.counts.instructions["UTMALDG"] == 4 and seen.counts.instructions["UTMASTG"] == 2
    assert re.search(r"UTMALDG +4 .*boxes to shared memory", str(seen))


# ---- clocks, against paths of a graph


class Events:
    """Events of threads, and which of them come before which: by paths."""

    def __init__(self) -> None:
        self.after: list[list[int]] = []
        self.last: dict[int, int] = {}

    def add(self, threads: list[int], *earlier: int) -> int:
        self.after.append([*earlier, *(self.last[t] for t in threads if t in self.last)])
        self.last |= dict.fromkeys(threads, len(self.after) - 1)
        return len(self.after) - 1

    def before(self, one: int, other: int) -> bool:
        seen, left = set(), [other]
        while left:
            if (n := left.pop()) == one:
                return True
            if n not in seen:
                seen.add(n)
                left += self.after[n]
        return False


@pytest.mark.parametrize("seed", range(6))
def test_clocks_know_what_paths_say(seed):
    rng = np.random.default_rng(seed)
    clocks, events, threads = Clocks(KernelIR("k", (), (), (), (), 64, (), {}), 1), Events(), 64
    some = rng.choice(threads, 6, replace=False).tolist()
    phases = [0, 0]
    arrived: dict[tuple[int, int], list[int]] = {}
    touched: list[tuple[int, int, int]] = []  # thread, number, event

    def one(thread: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0]), np.array([thread])

    def at(thread: int, slot: int, number: int) -> PhaseAt:
        return PhaseAt("row", *one(thread), np.array([slot]), np.array([number]))

    for _ in range(80):
        thread, slot = int(rng.choice(some)), int(rng.integers(2))
        what: Callable | int = int(rng.integers(5))
        if what == 0:
            arrived.setdefault((slot, phases[slot]), []).append(events.add([thread]))
            clocks.arrive(at(thread, slot, phases[slot]))
            phases[slot] += int(rng.integers(3) == 0)
        elif what == 1 and phases[slot]:
            clocks.wait(at(thread, slot, phases[slot] - 1))
            events.add([thread], *arrived.get((slot, phases[slot] - 1), []))
        elif what == 2:
            warp = thread // 32
            mask = np.zeros((1, 2, 32), bool)
            mask[0, warp] = True
            clocks.meet("warp", mask)
            events.add(list(range(32 * warp, 32 * warp + 32)))
        else:
            touched.append((thread, int(clocks.know[0, thread, thread]), events.add([thread])))
        here = events.add([thread])
        for other, number, event in touched:
            assert (clocks.know[0, thread, other] >= number) == events.before(event, here)


def test_barriers_of_the_kernel_are_there():
    """What the tests above leave out is there to be left out."""
    names = {getattr(s, "statement", "") for _, s in walk(kernel_of().ir.body)}
    assert set(LEFT_OUT) | {"release"} <= names
    assert any(isinstance(s, Barrier) and s.scope == "warpgroup" for _, s in walk(kernel_of().ir.body))
