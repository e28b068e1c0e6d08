"""The order of blocks that compute several tiles: what is said of any two tiles, against graphs of instances of a few;
proofs; and what mutants are refuted with."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Arrive, KernelIR, Loop, Tiles, When
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.mutants import MUTANTS, NothingToBreak, broken
from polyvolta.cuda.mutants.engines import tiles as of_tiles
from polyvolta.cuda.mutants.model import edited
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.proofs import OF_ROLES, PROVERS, order_of
from polyvolta.cuda.verify.order.roles import BOX, PRODUCT
from polyvolta.sets import Map, aff
from tests.cuda.persistent import TILES, WIDE, compiled
from tests.cuda.verify.order.instances import Instances

THREADS = [0, 1, 128, 129, 256, 257]
NAMES = {**PROVERS, **OF_ROLES}
KERNELS = ("product", "residual", "sum", "operands")


@cache
def ir_of(name: str) -> KernelIR:
    return compiled("product", options=WIDE).ir if name == "wide" else compiled(name).ir


def answers(ir: KernelIR, *names: str) -> dict[str, object]:
    """What each proof says, or some of them: None, a case, or that it isn't decided."""
    out: dict[str, object] = {}
    for name in names or NAMES:
        try:
            out[name] = NAMES[name](ir, None, None).counter_example
        except Undecided as unknown:
            out[name] = unknown
    return out


# ---- relations


def points(relation: Map, given: dict[str, int]) -> set[tuple]:
    """((tuple, values), (tuple, values)) of all pairs."""
    out = set()
    for space, pieces in relation.parts:
        one = Map._of(relation.param_names, [(space, pieces)])
        n = len(space.inp.dims)
        for point in one.points(**{p: given[p] for p in one.param_names}):
            flat = [v for part in point for v in (part if isinstance(part, tuple) else (part,))]
            out.add(((space.inp.name, tuple(flat[:n])), (space.out.name, tuple(flat[n:]))))
    return out


def parameters(ir: KernelIR, count: int, turns: tuple[int, int]) -> dict[str, int]:
    """The numbers of tiles with so many k tiles in a loop, of two tiles of a block."""
    order = order_of(ir)
    sizes = {"M": 1, "N": 1, "K": 64 * count}
    of = {c.name: c.num.evaluate(sizes) // c.den for c in order.flight.rows.counts.counted}
    loop = next(s for _, s in walk(ir.body) if isinstance(s, Tiles))
    each = loop.counters[0][1].evaluate(sizes)
    return {**of, "turn": turns[0], "turn.later": turns[1], "tiles": turns[0] * each, "tiles.later": turns[1] * each}


@pytest.mark.parametrize("name", ["product", "residual", "sum"])
def test_what_orders_any_two_tiles_orders_them_among_others(name):
    """Each pair of phases of the closure, of all pairs of four tiles, is one of the graph."""
    ir, seen = ir_of(name), 0
    closure = order_of(ir).meetings.closure
    slots = {r.name: r.slots for r in ir.barriers}
    for count in (0, 1, 2, 4):
        graph = Instances(ir, {"M": 1, "N": 1, "K": 64 * count}, THREADS, 4)
        at = lambda row, n: ("phase", row, n % slots[row], n // slots[row])  # noqa: E731
        for turns in combinations(range(4), 2):
            for (x, n), (y, m) in points(closure, parameters(ir, count, turns)):
                if x in slots and y in slots and n[0] >= 0:
                    assert graph.before(at(x, *n), at(y, *m)), (x, n, y, m, count, turns)
                    seen += 1
    assert seen > 100


@pytest.mark.parametrize("name", ["product", "sum"])
def test_the_first_tiles_are_ordered_as_a_graph_of_instances_is(name):
    ir = ir_of(name)
    slots = {r.name: r.slots for r in ir.barriers}
    for turns in (1, 2):
        order = order_of(ir, turns)
        for count in (0, 1, 2, 4):
            sizes = {"M": 1, "N": 1, "K": 64 * count}
            graph = Instances(ir, sizes, THREADS, turns)
            given = {c.name: c.num.evaluate(sizes) // c.den for c in order.flight.rows.counts.counted}
            at = lambda row, n: ("phase", row, n % slots[row], n // slots[row])  # noqa: E731
            told = {(at(x, *n), at(y, *m)) for (x, n), (y, m) in points(order.meetings.closure, given)
                    if x in slots and y in slots and n[0] >= 0}  # fmt: skip
            phases = [n for n in graph.order[0] if n[0] == "phase" and n[-1] >= 0]
            assert told == {(x, y) for x in phases for y in phases if graph.before(x, y)}


def test_boxes_and_products_of_any_two_tiles_are_ordered_among_others():
    ir, seen = ir_of("product"), 0
    order = order_of(ir)
    rows, meetings = order.flight.rows, order.meetings
    parties = [(p, t) for t in THREADS for p in rows.parties if p.mask.flat[t]]
    for count in (1, 2, 4):
        graph = Instances(ir, {"M": 1, "N": 1, "K": 64 * count}, THREADS, 3)
        for turns in combinations(range(3), 2):
            given = parameters(ir, count, turns)
            for one in rows.of(BOX, PRODUCT):
                for other in rows.of(BOX, PRODUCT):
                    for p, t in ((p, t) for p, t in parties if p.takes(one)):
                        for q, u in ((q, u) for q, u in parties if q.takes(other)):
                            for (_, x), (_, y) in points(meetings.in_order(one, p, other, q, t == u), given):
                                over = _instance(graph, one, t, turns[one.tile], x)[1]
                                begin = _instance(graph, other, u, turns[other.tile], y)[0]
                                assert graph.before(over, begin)
                                seen += 1
    assert seen


def _instance(graph: Instances, event, thread: int, turn: int, values: tuple[int, ...]) -> tuple:
    """Where an event's instance begins in a thread, and what says that it is over."""
    for _, _, _, begin, over, path in graph.touches:
        if path == event.path and begin[1] == thread:
            own = graph.programs[thread][begin[2]][2]
            unrolled = event.touches[0].loops.items()
            if own["turn"] == turn and tuple(own[d] for d in event.dims) == values \
                    and all(own[t] == v for t, v in unrolled):
                return begin, over
    raise AssertionError("no such instance")


# ---- proofs


@pytest.mark.parametrize("name", (*KERNELS, "wide"))
def test_the_order_of_whole_kernels_is_proved(name):
    assert answers(ir_of(name)) == dict.fromkeys(NAMES)


@pytest.mark.parametrize("name", ["product", "residual"])
def test_all_that_is_said_of_a_kernel_is_proved(name):
    report = compiled(name).verify()
    assert report.ok and len(report.proofs) == 22
    assert "each number of a place is one block's of g" in report["written_once"].relation
    assert "tiles.later" in report["barriers_between"].relation


def test_fixed_sizes_are_no_other_matter():
    A, B = pv.tensor("A", (1024, 192)), pv.tensor("B", (192, 2048))
    assert pv.compile(A @ B, target=SM_90A, options=TILES).verify().ok


# ---- mutants


@pytest.mark.parametrize("name", [m.name for m in of_tiles.MUTANTS])
@pytest.mark.parametrize("kernel", ["product", "residual"])
def test_a_mutant_is_refuted_with_a_tile_and_sizes(name, kernel):
    whole = compiled(kernel)
    try:
        wrong = broken(whole, name)
    except NothingToBreak:
        return
    report = wrong.verify(MUTANTS[name].proofs)
    for proof in MUTANTS[name].proofs:
        case = report[proof].counter_example
        assert case is not None, (proof, str(report))
        if name != "tiles computed twice":
            assert set(case.sizes) == {"M", "N", "K"} and "turn" in case.iteration
            grid = [e.evaluate(case.sizes) for e in whole.ir.grid]
            assert grid[0] * grid[1] > whole.ir.resident * case.iteration["turn"]


def without_release(ir: KernelIR) -> KernelIR:
    """The release behind the loop over k tiles, of the last one, is left out."""
    def last(s) -> bool:
        return isinstance(s, When) and [type(op) for op in operations(s.body)] == [Arrive]

    stmts = dict(walk(ir.body))
    loops = [at for at, s in stmts.items() if isinstance(s, Loop) and not s.unroll]
    at = [at for at, s in stmts.items() if last(s) and not any(at[: len(x)] == x for x in loops)]
    return edited(ir, at[:1], lambda s: ())


def test_the_release_of_a_tiles_last_step_is_missed_in_the_next_tile():
    ir = without_release(ir_of("product"))
    case = answers(ir, "deadlock")["deadlock"]
    assert case.iteration["turn"] == 1 and "which never gets what it needs" in case.what
    kept = replace(ir, resident=1)  # of one block: so many tiles in a small grid
    assert answers(kept, "deadlock")["deadlock"].sizes["N"] < case.sizes["N"]


def test_the_counter_of_one_role_in_steps_of_one_more():
    def ahead(s: Tiles) -> tuple[Tiles]:
        return (replace(s, counters=tuple((n, e + 1) for n, e in s.counters)),)

    ir = ir_of("product")
    at = [at for at, s in walk(ir.body) if isinstance(s, Tiles)]
    found = answers(edited(ir, at[:1], ahead), "phases", "deadlock", "barriers_between", "not_overwritten")
    assert getattr(found["deadlock"], "iteration", {}).get("turn") == 1
    assert None not in found.values()
    both = answers(edited(ir, at, ahead), "phases", "deadlock")  # the phase of a number that all leave out is nobody's
    assert None not in both.values()


WATCHED = (
    *(m.name for m in of_tiles.MUTANTS), "boxes are not waited for", "released before products are done",
    "products in no group", "boxes a phase before", "free slots a phase before", "another slot is released",
    "an arrival less for free slots", "the producer leaves early", "the consumers leave early",
)  # fmt: skip


@pytest.mark.parametrize("name", WATCHED)
def test_nothing_is_proved_that_a_graph_of_instances_refutes(name):
    ir = ir_of("product")
    try:
        wrong = MUTANTS[name].ir(ir)
    except NothingToBreak:
        return
    found = answers(wrong, "deadlock", "phases", "barriers_between", "not_overwritten")
    for turns, count in [(1, 1), (2, 1), (2, 4), (3, 2), (4, 1)]:
        graph = Instances(wrong, {"M": 1, "N": 1, "K": 64 * count}, THREADS, turns)
        if graph.stuck:
            assert found["deadlock"] is not None
            continue
        if graph.miscounted:
            assert found["phases"] is not None
        if graph.races and not graph.miscounted:
            assert found["barriers_between"] is not None or found["not_overwritten"] is not None


def test_counters_of_other_numbers_are_no_matter_of_one_that_stands_still():
    """A counter that nothing adds to is 0: no parameter stands for it."""
    ir = MUTANTS["counters of tiles stand still"].ir(ir_of("product"))
    assert all(e == aff(0) for s in (s for _, s in walk(ir.body) if isinstance(s, Tiles)) for _, e in s.counters)
    assert answers(ir, "phases")["phases"].sizes["K"] == 1


def test_a_sum_in_the_tiles_that_the_rule_takes_is_proved():
    """Whether its order is closed exactly hangs on which of its meetings are closed over first."""
    m, n, k, depth = pv.sizes("M N K L")
    a, p = pv.tensor("A", (m, k)), pv.tensor("P", (m, depth))
    b, q = pv.tensor("B", (k, n), layout="col"), pv.tensor("Q", (depth, n), layout="col")
    kernel = pv.compile(a @ b + p @ q, target="sm_90a", options=pv.Options(persistent=True))
    assert kernel.verify(["barriers_between", "phases"]).ok
