"""The order of kernels with roles: relations against graphs of instances, proofs, and what mutants are refuted with."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import Barrier, KernelIR, Op, ProxyFence, When
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.mutants import MUTANTS, NothingToBreak, roles
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.cuda.verify.order.proofs import OF_ROLES, PROVERS, RoleOrder
from polyvolta.cuda.verify.order.roles import BOX, PRODUCT
from polyvolta.cuda.verify.report.records import NoMeaning
from polyvolta.sets import Map, var
from tests.cuda.hopper_kernels import product
from tests.cuda.ir.ring_example import exact, problem
from tests.cuda.verify.order.instances import Instances

M, N, K, L = pv.sizes("M N K L")
A, B, P, Q = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("P", (M, L)), pv.tensor("Q", (L, N))
THREADS = [0, 1, 128, 129, 256, 257]
NAMES = {**PROVERS, **OF_ROLES}


def compiled(outputs, buffers: int) -> KernelIR:
    options = pv.Options(block_tile=(128, 64, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=buffers,
                         fragments=1, split_k=1, group=1)  # fmt: skip
    return pv.compile(outputs, target=SM_90A, options=options)


@cache
def kernel_of(name: str):
    outputs, buffers = {"two": (A @ B, 2), "three": (A @ B, 3), "sum": (A @ B + P @ Q, 3)}[name]
    return compiled(outputs, buffers)


@cache
def ir_of(name: str) -> KernelIR:
    if name.startswith("by hand"):
        stages, warpgroups = int(name[-1]), 2
        return product(stages, warpgroups, (128, 64, 64))
    return kernel_of(name).ir


KERNELS = ("two", "three", "sum", *(f"by hand, {n}" for n in (1, 2, 4)))


def sizes(ir: KernelIR, most: int = 6) -> list[dict[str, int]]:
    """Sizes with few tiles, of a sum all pairs."""
    ones = dict.fromkeys(ir.sizes, 1)
    some = (0, 1, 3) if "L" in ir.sizes else range(most + 1)
    found = [{**ones, "K": 64 * k} for k in some]
    return [{**s, "L": 64 * n} for s in found for n in some] if "L" in ir.sizes else found


def numbers(order: RoleOrder, of: dict[str, int]) -> dict[str, int]:
    """The numbers of tiles at some sizes."""
    return {c.name: c.num.evaluate(of) // c.den for c in order.flight.rows.counts.counted}


def pairs(relation: Map, given: dict[str, int]) -> set[tuple]:
    """((tuple, values), (tuple, values)) of all pairs."""
    out = set()
    for space, pieces in relation.parts:
        one = Map._of(relation.param_names, [(space, pieces)])
        n = len(space.inp.dims)
        for x, y in _points(one, given, n):
            out.add(((space.inp.name, x), (space.out.name, y)))
    return out


def _points(one: Map, given: dict[str, int], n: int):
    for point in one.points(**{p: given[p] for p in one.param_names}):
        flat = [v for part in point for v in (part if isinstance(part, tuple) else (part,))]
        yield tuple(flat[:n]), tuple(flat[n:])


# ---- relations


@pytest.mark.parametrize("name", KERNELS)
def test_the_order_of_phases_is_that_of_a_graph_of_instances(name):
    ir = ir_of(name)
    order = RoleOrder(ir)
    slots = {r.name: r.slots for r in ir.barriers}
    for of in sizes(ir):
        graph = Instances(ir, of, THREADS)
        at = lambda row, n: ("phase", row, n % slots[row], n // slots[row])  # noqa: E731
        told = {(at(x, *n), at(y, *m)) for (x, n), (y, m) in pairs(order.meetings.closure, numbers(order, of))
                if x in slots and y in slots and n[0] >= 0}  # fmt: skip
        number, _ = graph.order
        phases = [n for n in number if n[0] == "phase"]
        assert told == {(x, y) for x in phases for y in phases if graph.before(x, y)}


@pytest.mark.parametrize("name", KERNELS)
def test_boxes_and_products_are_in_the_order_of_a_graph_of_instances(name):
    ir = ir_of(name)
    order = RoleOrder(ir)
    rows, meetings = order.flight.rows, order.meetings
    parties = [(p, t) for t in THREADS for p in rows.parties if p.mask.flat[t]]
    seen = 0
    for of in sizes(ir, 4):
        graph, tiles = Instances(ir, of, THREADS), numbers(order, of)
        for one in rows.of(BOX, PRODUCT):
            for other in rows.of(BOX, PRODUCT):
                for p, t in ((p, t) for p, t in parties if p.takes(one)):
                    for q, u in ((q, u) for q, u in parties if q.takes(other)):
                        told = pairs(meetings.in_order(one, p, other, q, t == u), tiles)
                        wanted = _in_order(graph, one, t, other, u)
                        assert {(x, y) for (_, x), (_, y) in told} == wanted, (one.name, other.name, t, u, of)
                        seen += len(wanted)
    assert seen


def _in_order(graph: Instances, one, t: int, other, u: int) -> set[tuple]:
    """Values of the loops of two events' instances of which the one is over before the other begins."""
    return {
        (x, y) for x, over in _of(graph, one, t).items() for y, (begin, _) in _of(graph, other, u).items()
        if graph.before(over[1], begin)
    }  # fmt: skip


def _of(graph: Instances, event, thread: int) -> dict[tuple, tuple]:
    """An event's instances in a thread: values of its loops -> where it begins, and what says that it is over."""
    out = {}
    for path, _, values in graph.programs[thread]:
        if path == event.path and all(values.get(t, 0) == v for t, v in event.touches[0].loops.items()):
            loops = tuple(values[d] for d in event.dims)
            begin = next(b for _, _, _, b, _, place in graph.touches
                         if place == path and b[1] == thread and graph.programs[thread][b[2]][2] == values)  # fmt: skip
            over = next(o for _, _, _, b, o, _ in graph.touches if b == begin)
            out[loops] = begin, over
    return out


# ---- proofs


def refuted(ir: KernelIR) -> dict[str, object]:
    return {n: v.counter_example for n, of in NAMES.items() if (v := of(ir, None, None)).counter_example is not None}


@pytest.mark.parametrize("name", KERNELS)
def test_whole_kernels_are_proved(name):
    assert refuted(ir_of(name)) == {}


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("reuse", [False, True])
def test_rings_of_all_lengths_are_proved(stages, reuse):
    assert refuted(product(stages, 2, (256, 64, 32), reuse=reuse)) == {}


def without(ir: KernelIR, statement: str) -> KernelIR:
    return edited(ir, places(ir, Barrier, where=lambda op: op.statement == statement), lambda s: ())


def test_an_exchange_where_the_ring_was_waits_for_all_warpgroups():
    ir = product(3, 2, (128, 64, 32), reuse=True)
    assert refuted(ir) == {}
    case = refuted(without(ir, "ring_read"))["not_overwritten"]
    assert "consumer's warp" in case.what and "multiplies there" in case.what and "exchange" in case.address
    own = product(3, 2, (128, 64, 64), reuse=True)  # where each warpgroup's rows of A were
    assert refuted(without(own, "ring_read")) == {}
    apart = product(3, 2, (128, 64, 64))
    assert set(refuted(without(apart, "wait_C"))) == {"barriers_between"}
    assert set(refuted(without(ir, "wait_C"))) == {"barriers_between"}


def test_what_is_written_where_boxes_come_next_is_fenced():
    """The exchange stands before the ring: threads write where boxes are copied to, behind a barrier and no fence."""
    ir = product(3, 2, (128, 64, 64), reuse=True)
    *before, split = ir.body
    consumer, producer = split.roles
    stores = consumer.body[-1:]
    early = replace(split, roles=(replace(consumer, body=consumer.body[:-1]), producer))
    every = tuple(When((32 * 8 - 1 - var("linearId"),), stores, uniform=False) for _ in (0,))
    moved = replace(ir, body=(*before[:1], *every, *before[1:], early))
    found = refuted(moved)
    assert "proxies" in found and "no fence of that thread" in found["proxies"].what
    fenced = replace(moved, body=(*before[:1], *every, ProxyFence(), *before[1:], early))
    assert "proxies" not in refuted(fenced)


def test_the_report_has_what_is_proved():
    report = kernel_of("three").verify(tuple(NAMES))
    assert report.ok and {p.id for p in report.proofs} == set(NAMES)
    assert "full[n], n = 3*phase + slot" in report["phases"].relation
    assert "24576 bytes" in report["phases"].relation and "T0 = floor((K + 63)/64)" in report["phases"].relation


def test_kernels_without_roles_have_no_use_for_these():
    plain = pv.compile(A @ B, target="sm_70")
    assert not {p.id for p in plain.verify(("bounds",)).proofs} & set(PROVERS)
    with pytest.raises(NoMeaning, match="all threads run one program"):
        plain.verify("phases")


# ---- mutants

IN_STEP = ("no barrier before boxes are stored",)
"""Of which the machine alone shows nothing, as warps of a warpgroup go in step."""
OF_RESULTS = ("stores unfenced", "no barrier before boxes are stored", "stored boxes are not waited for")


def changed(name: str, kernel: str) -> KernelIR:
    return MUTANTS[name].ir(ir_of(kernel))


@pytest.mark.parametrize("name", [m.name for m in roles.MUTANTS])
def test_the_proofs_refute_a_mutant_and_name_the_place(name):
    broken = changed(name, "three")
    found = refuted(broken)
    assert set(MUTANTS[name].proofs) <= set(found), found
    for proof in MUTANTS[name].proofs:
        case = found[proof]
        assert case.what and set(case.sizes) == {"M", "N", "K"} and case.warp is not None
        assert "consumer" in case.what or "producer" in case.what or "phase" in case.what or "barriers" in case.what


@pytest.mark.parametrize("name", [m.name for m in roles.MUTANTS if m.name not in OF_RESULTS])
def test_what_is_refuted_is_what_a_graph_of_instances_shows(name):
    """Counts, deadlocks and races of sizes with few tiles; of phases that mean others a race may be another one."""
    ir = changed(name, "two")
    found = refuted(ir)
    graphs = [Instances(ir, of, THREADS) for of in sizes(ir)]
    assert ("deadlock" in found) == any(g.stuck for g in graphs)
    if any(g.miscounted for g in graphs):
        assert "phases" in found
    if "deadlock" not in found:
        races = any(g.races for g in graphs)
        assert ("barriers_between" in found or "not_overwritten" in found) == races


@pytest.mark.parametrize("name", [m.name for m in roles.MUTANTS if m.observers and m.name not in IN_STEP])
def test_the_machine_sees_a_mutant_under_some_order(name):
    ir, of = changed(name, "three"), {"M": 128, "N": 64, "K": 520}
    for copies in ("lazy", "eager", *range(8)):
        tensors = problem(ir, of)
        try:
            interpret(ir, tensors, of, copies=copies)
        except CudaError:
            return
        if not np.array_equal(tensors["C"], exact(tensors)):
            return
    raise AssertionError("nothing was seen")


def test_a_mutant_of_what_the_kernel_has_not_is_refused():
    for name in OF_RESULTS:
        with pytest.raises(NothingToBreak):
            changed(name, "by hand, 2")


CASES = {
    "slots are not released": ("deadlock", {"K": 193}, "waits for phase 0 of empty[0], which never gets what it needs"),
    "bytes short": ("phases", {"K": 1}, "gets 1 arrivals and 24576 bytes; it waits for 1 and 24560"),
    "free slots are not waited for": ("not_overwritten", {"K": 193}, "has a box copied to shared_A"),
    "free slots a phase later": ("deadlock", {"K": 1}, "phase 0 of full[0] is complete only behind itself"),
    "the producer leaves early": ("deadlock", {"K": 1}, "waits for phase 0 of full[0]"),
    "no barrier behind the beginning": ("phases", {"K": 1}, "no barrier of the block is between"),
    "a free slot that is another one": ("phases", {"K": 129}, "phase 0 of empty[0] may be complete before it"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_the_smallest_one(name):
    proof, of, words = CASES[name]
    case = refuted(changed(name, "three"))[proof]
    assert {n: case.sizes[n] for n in of} == of and words in case.what


STATEMENTS = ("init", "full", "ready", "S", "close", "done", "release", "finish", "zero_C", "put_C", "fence_C",
              "write_C", "commit_C", "end_C", "empty", "expect", "box_A", "box_B")  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_whatever_a_kernel_leaves_out_is_refuted(statement):
    """Printed and proved as any kernel, even one without products, whose waits have no accumulators to hand back."""
    kernel = kernel_of("three")
    ir = edited(kernel.ir, places(kernel.ir, Op, where=lambda op: op.statement == statement), lambda s: ())
    report = replace(kernel, ir=ir, source=print_cuda(ir)).verify()
    assert report.refuted and all(p.counter_example.what for p in report.refuted)


def test_accumulators_come_back_behind_a_wait_for_all_products():
    """The wait behind the loop covers all of them, as the newest group is an empty one; compilers don't know that."""
    ir = changed("no wait for all products", "three")
    assert set(refuted(ir)) == {"in_flight"}
    assert refuted(ir)["in_flight"].what.endswith("products and no wait for all of them hands them back")
    assert "wait_products(" in kernel_of("three").source and "wait_products(" not in print_cuda(ir)
    of = {"M": 128, "N": 64, "K": 200}
    for copies, right in (("eager", True), ("lazy", False), (3, False)):
        tensors = problem(ir, of)
        interpret(ir, tensors, of, copies=copies)
        assert np.array_equal(tensors["C"], exact(tensors)) == right
