"""Roles that take turns at a block's tiles: what is said of any two tiles of some remainders, against graphs of
instances of the first few; proofs; and what mutants are refuted with."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from polyvolta.cuda.ir.kernel_ir import Await, Tiles
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.mutants import MUTANTS, broken
from polyvolta.cuda.mutants.engines import tiles as of_tiles
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.verify.engine.turns import in_turn, whole_of
from polyvolta.cuda.verify.order.proofs import RoleOrder, orders_of
from tests.cuda.persistent import IN_TURN, compiled
from tests.cuda.verify.order.instances import Instances
from tests.cuda.verify.order.test_tiles import THREADS, answers, points


def parameters(order: RoleOrder, count: int, turns: tuple[int, int]) -> dict[str, int]:
    """What the names of an order are for two tiles, with so many k tiles in a loop."""
    ir, sizes = order.flight.rows.ir, {"M": 1, "N": 1, "K": 64 * count}
    of = {c.name: c.num.evaluate(sizes) // c.den for c in order.flight.rows.counts.counted}
    each = next(s for _, s in walk(ir.body) if isinstance(s, Tiles)).counters[0][1].evaluate(sizes)
    one, later = turns
    return {**of, "turn": one, "turn.later": later, "tiles": one * each, "tiles.later": later * each}


@pytest.mark.parametrize("name", ["product", "residual"])
def test_what_orders_any_two_tiles_orders_them_among_others(name):
    """Each pair of phases of the closures, of all pairs of four tiles, is one of the graph; and next ones are there."""
    ir, seen, chained = compiled(name, options=IN_TURN).ir, 0, 0
    orders = {tuple(t.least for t in of.flight.rows.view.turns): of for of in orders_of(ir)}
    assert sorted(orders) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    slots = {r.name: r.slots for r in ir.barriers}
    for count in (1, 4):
        graph = Instances(ir, {"M": 1, "N": 1, "K": 64 * count}, THREADS, 4)
        at = lambda row, n: ("phase", row, n % slots[row], n // slots[row])  # noqa: E731
        for turns in combinations(range(4), 2):
            of = orders[turns[0] % 2, turns[1] % 2]
            for (x, n), (y, m) in points(of.meetings.closure, parameters(of, count, turns)):
                if x in slots and y in slots and n[0] >= 0:
                    assert graph.before(at(x, *n), at(y, *m)), (x, n, y, m, count, turns)
                    seen, chained = seen + 1, chained + (x == y == "order")
    assert seen > 100 and chained > 20


@pytest.mark.parametrize("name", ["product", "residual"])
def test_all_that_is_said_of_a_kernel_is_proved(name):
    report = compiled(name, options=IN_TURN).verify()
    assert report.ok and len(report.proofs) == 21
    assert "turn.later" in report["barriers_between"].relation


def test_a_kernel_for_each_remainder_has_the_statements_where_they_stand():
    ir = compiled("residual", options=IN_TURN).ir
    parts, stmts = in_turn(ir), dict(walk(ir.body))
    assert len(parts) == 2 and all(whole_of(part) is ir for part in parts)
    for rest, part in enumerate(parts):
        mine = dict(walk(part.body))
        assert all(type(s) is type(stmts[at]) for at, s in mine.items())
        left = {at[:2] for at in stmts if at not in mine}
        assert left == {(at[0], at[1]) for at, s in stmts.items() if isinstance(s, Tiles) and (rest - s.first) % s.step}
    assert in_turn(compiled("product").ir) == (compiled("product").ir,)


@pytest.mark.parametrize("name", [m.name for m in of_tiles.OF_TURNS])
def test_a_mutant_is_refuted(name):
    kernel = compiled("product", options=IN_TURN)
    report = broken(kernel, name).verify(MUTANTS[name].proofs)
    for proof in MUTANTS[name].proofs:
        case = report[proof].counter_example
        assert case is not None and case.what, (proof, str(report))


def test_a_place_that_a_warpgroup_uses_again_is_two_tiles_further():
    wrong = broken(compiled("product", options=IN_TURN), "results are waited for by one thread")
    case = wrong.verify("not_overwritten")["not_overwritten"].counter_example
    assert case.iteration["turn"] in (2, 3) and "consumer1's warp 4" in case.what


def test_one_turn_that_is_not_waited_for_chains_nothing():
    """Of two warpgroups one doesn't wait for its turn: no phase of theirs is behind another one by tiles between."""
    ir = compiled("product", options=IN_TURN).ir
    at = places(ir, Await, where=lambda op: op.phase.barriers == "order")
    wrong = edited(ir, at[:1], lambda op: ())
    for of in orders_of(wrong):
        assert of.meetings.beyond.is_empty()
    assert answers(replace(wrong, resident=1), "phases")["phases"] is not None
