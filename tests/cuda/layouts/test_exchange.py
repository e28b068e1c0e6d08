"""Accumulator exchanges: what is stored arrives, once, where the plan says, without a bank conflict."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.cuda.layouts.bank_model import phases
from polyvolta.cuda.layouts.exchange import NoExchange, conflicts, moves, plan_exchange
from polyvolta.cuda.layouts.lane_bits import by_bits, divides_naturals
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.registry import targets
from polyvolta.cuda.text.c_expr import c_expr
from polyvolta.sets import aff, var
from tests.cuda import ampere
from tests.cuda.macros import COMPOSITIONS, MACRO_MMAS, interleaved, macro_mma

BYTES = {"half": 2, "float": 4}
ROW, COL = (0, 1), (1, 0)
ALL = list(product(MACRO_MMAS, BYTES, (ROW, COL)))


def run_through(ex, macro, fragment):
    """[row, col] -> what arrives there when every lane stores its values and loads its runs, in plain Python."""
    per_vector = 16 // BYTES[ex.kind]
    buffer = {}
    for lane in range(32):
        for piece, place in zip(ex.pieces, ex.store.evaluate({"lane": lane}), strict=True):
            for k, i in enumerate(piece):
                at = place * len(piece) + k
                assert at not in buffer, "two values in one place"
                buffer[at] = fragment[macro.d.evaluate({"lane": lane, "i": i})]
    assert sorted(buffer) == list(range(ex.chunks * 16 // BYTES[ex.kind])), "the buffer has gaps"
    arrived = {}
    for lane, r in product(range(32), range(ex.rounds)):
        vectors = ex.load.evaluate({"lane": lane, "round": r})
        values = [buffer[v * per_vector + k] for v in vectors for k in range(per_vector)]
        row, col = ex.owns.evaluate({"lane": lane, "round": r})
        for v in range(8):
            place = (row + v, col) if ex.along == 0 else (row, col + v)
            assert place not in arrived, "an element comes twice"
            arrived[place] = values[ex.words[v]]
    return arrived


@pytest.mark.parametrize(("name", "kind", "order"), ALL)
def test_everything_arrives(name, kind, order):
    macro = MACRO_MMAS[name]()
    ex = plan_exchange(macro, kind, order)
    fragment = np.random.default_rng(0).standard_normal(macro.shape[:2])
    arrived = run_through(ex, macro, fragment)
    assert len(arrived) == fragment.size
    assert all(fragment[place] == value for place, value in arrived.items())


@pytest.mark.parametrize(("name", "kind", "order"), ALL)
def test_nothing_conflicts(name, kind, order):
    ex = plan_exchange(MACRO_MMAS[name](), kind, order)
    lanes, width = np.arange(32), len(ex.pieces[0]) * BYTES[kind]
    for k in range(len(ex.pieces)):
        places = np.broadcast_to(ex.store.exprs[k].evaluate({"lane": lanes}), 32)
        assert set(phases(width * places, width)) == {1}
    for e, r in product(ex.load.exprs, range(ex.rounds)):
        assert set(phases(16 * e.evaluate({"lane": lanes, "round": r}), 16)) == {1}


@pytest.mark.parametrize(("name", "kind", "order"), ALL)
def test_neighbouring_lanes_take_neighbouring_runs(name, kind, order):
    """A round's runs follow one another line by line, so global stores are coalesced."""
    macro = MACRO_MMAS[name]()
    ex = plan_exchange(macro, kind, order)
    line, run = order
    assert ex.along == run
    for r in range(ex.rounds):
        owned = [ex.owns.evaluate({"lane": lane, "round": r}) for lane in range(32)]
        numbers = [at[line] * macro.shape[run] + at[run] for at in owned]
        assert numbers == [8 * (32 * r + lane) for lane in range(32)]


@pytest.mark.parametrize(
    ("name", "kind", "order", "values"),
    [
        ("m16n16k8", "half", ROW, 4),  # the paper's: 64 bits
        ("m16n16k8", "half", COL, 2),
        ("m16n16k8", "float", ROW, 4),
        ("m16n16k8", "float", COL, 2),
        *[("m32n32k8", kind, order, 4) for kind in BYTES for order in (ROW, COL)],
    ],
)
def test_pieces_are_as_wide_as_what_a_lane_has_of_a_run(name, kind, order, values):
    macro = MACRO_MMAS[name]()
    ex = plan_exchange(macro, kind, order)
    held = {}
    for i in range(macro.values[2]):
        at = macro.d.evaluate({"lane": 5, "i": i})
        held.setdefault((at[order[0]], at[order[1]] // 8), []).append(i)
    assert {len(v) for v in held.values()} == {values}
    assert sorted(ex.pieces) == sorted(map(tuple, held.values()))


@pytest.mark.parametrize(("name", "kind", "order"), ALL)
def test_pieces_go_to_one_place_and_constants(name, kind, order):
    """The places of a lane's pieces are the first one's, with a few numbers: exclusive-or and sum."""
    ex = plan_exchange(MACRO_MMAS[name](), kind, order)
    first, *others = (np.broadcast_to(e.evaluate({"lane": np.arange(32)}), 32) for e in ex.store.exprs)
    flips = {tuple(set((first ^ other).tolist())) for other in others}
    assert all(len(f) == 1 for f in flips)


@pytest.mark.parametrize(("name", "kind", "order"), ALL)
def test_the_plan_fits_its_buffer(name, kind, order):
    macro = MACRO_MMAS[name]()
    ex = plan_exchange(macro, kind, order)
    m, n, _ = macro.shape
    assert 16 * ex.chunks == m * n * BYTES[kind]
    assert ex.rounds == m * n // 256
    assert plan_exchange(macro, kind, order) is ex


OTHERS = [(n, r, c) for n, p in COMPOSITIONS.items() for r in p.orders(0) for c in p.orders(1)]


@pytest.mark.parametrize(("name", "rows", "cols"), OTHERS[1::5])
def test_other_interleaves_have_exchanges_too(name, rows, cols):
    macro = macro_mma(name, "row", "col", interleaved(name, rows, cols))
    for kind, order in product(BYTES, (ROW, COL)):
        ex = plan_exchange(macro, kind, order)
        assert moves(ex, macro)
        assert conflicts(ex) == 1


def test_the_simulation_notices_what_is_wrong():
    macro = MACRO_MMAS["m16n16k8"]()
    ex = plan_exchange(macro, "half", ROW)
    assert moves(ex, macro)
    assert not moves(replace(ex, words=tuple(range(8))), macro)
    elsewhere = IndexMap(ex.owns.inputs, (("row", 15 - ex.owns["row"]), ("col", ex.owns["col"])))
    assert not moves(replace(ex, owns=elsewhere), macro)
    same_place = IndexMap(ex.store.inputs, (("piece0", ex.store.exprs[0]), ("piece1", ex.store.exprs[0])))
    assert not moves(replace(ex, store=same_place), macro)
    plain = IndexMap(ex.store.inputs, (("piece0", 2 * var("lane")), ("piece1", 2 * var("lane") + 1)))
    assert conflicts(replace(ex, store=plain)) == 2

# ---- any ownership map


def fragment(own, shape):
    """A macro-MMA with another accumulator map, of which an exchange reads nothing else."""
    return replace(MACRO_MMAS["m16n16k8"](), d=own, shape=(*shape, 8))


def permuted(bits, shape):
    """The map that takes the bits of lane and value, the lowest first, to given places in the element's number."""
    rows, cols = shape
    count = rows * cols // 32
    lane, i = var("lane"), var("i")
    source = [lane // 2**b % 2 for b in range(5)] + [i // 2**b % 2 for b in range((count - 1).bit_length())]
    place = sum((2**at * bit for at, bit in zip(bits, source, strict=True)), aff(0))
    return IndexMap((("lane", 32), ("i", count)), (("row", place // cols), ("col", place % cols))).simplified()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_distribution_of_bits_is_exchanged(data):
    """Lanes and values that are any bits of the element's number: everything arrives, and conflicts are as said."""
    shape = data.draw(st.sampled_from([(16, 16), (32, 8), (8, 32), (32, 32), (16, 32)]))
    order = data.draw(st.sampled_from([ROW, COL]))
    kind = data.draw(st.sampled_from(sorted(BYTES)))
    bits = data.draw(st.permutations(range((shape[0] * shape[1] - 1).bit_length())))
    macro = fragment(permuted(bits, shape), shape)
    ex = plan_exchange.__wrapped__(macro, kind, order)
    elements = np.arange(shape[0] * shape[1]).reshape(shape)
    arrived = run_through(ex, macro, elements)
    assert {place: int(v) for place, v in arrived.items()} == {p: int(elements[p]) for p in np.ndindex(*shape)}
    assert conflicts(ex) == worst_phase(ex)


def worst_phase(ex):
    """The degree of the worst phase of all stores and loads, by the scalar bank model."""
    width, worst = len(ex.pieces[0]) * BYTES[ex.kind], 1
    for e in ex.store.exprs:
        places = np.broadcast_to(e.evaluate({"lane": np.arange(32)}), 32)
        worst = max(worst, *phases(width * places, width))
    for e, r in product(ex.load.exprs, range(ex.rounds)):
        worst = max(worst, *phases(16 * np.broadcast_to(e.evaluate({"lane": np.arange(32), "round": r}), 32), 16))
    return worst


ODD = {
    "rotated rows": lambda d: {"row": (d["row"] + d["col"]) % 16, "col": d["col"]},
    "rotated columns": lambda d: {"row": d["row"], "col": (d["col"] + 3 * d["row"]) % 16},
    "reversed": lambda d: {"row": 15 - d["row"], "col": 15 - d["col"]},
    "times 5": lambda d: {"row": 5 * d["row"] % 16, "col": 7 * d["col"] % 16},
}


@pytest.mark.parametrize(("name", "kind", "order"), list(product(ODD, BYTES, (ROW, COL))))
def test_maps_that_are_not_made_of_bits_are_exchanged(name, kind, order):
    d = MACRO_MMAS["m16n16k8"]().d
    macro = fragment(IndexMap(d.inputs, tuple(ODD[name](d).items())), (16, 16))
    ex = plan_exchange(macro, kind, order)
    elements = np.arange(256).reshape(16, 16)
    arrived = run_through(ex, macro, elements)
    assert {place: int(v) for place, v in arrived.items()} == {p: int(elements[p]) for p in np.ndindex(16, 16)}
    assert conflicts(ex) == worst_phase(ex)


@pytest.mark.parametrize(
    ("name", "order", "values"), [("128", ROW, 2), ("128", COL, 1), ("64 of four", ROW, 4), ("32, two values", COL, 1)]
)
def test_accumulators_of_m16n8k16(name, order, values):
    """Two neighbours of a row, of a column one value: pieces of 16 bits in fp16, and still no conflict."""
    macro = ampere.COMPOSITIONS[name].of()
    for kind in BYTES:
        ex = plan_exchange(macro, kind, order)
        assert conflicts(ex) == 1 and moves(ex, macro)
    assert {len(p) for p in plan_exchange(macro, "half", order).pieces} == {values}


def test_fragments_that_have_no_exchange():
    macro = MACRO_MMAS["m16n16k8"]()
    rotated = IndexMap(macro.d.inputs, (("row", (macro.d["row"] + var("i")) % 16), ("col", macro.d["col"])))
    with pytest.raises(NoExchange, match="(?s)m16n16k8 has no exchange.*one value of one lane"):
        plan_exchange(replace(macro, d=rotated), "half", ROW)
    twice = IndexMap(macro.d.inputs, (("row", macro.d["row"]), ("col", aff(0))))
    with pytest.raises(NoExchange):
        plan_exchange(replace(macro, d=twice), "half", ROW)
    with pytest.raises(NoExchange, match="16x8 elements are no whole runs of 8 values for all 32 lanes"):
        plan_exchange(fragment(ampere.M16N8K16.d, (16, 8)), "half", ROW)


ALL_TARGETS = [c for t in targets.values() for c in t.macro_mmas]


@pytest.mark.parametrize("composition", ALL_TARGETS, ids=lambda c: f"{c.instructions[0].title} {c.name}")
def test_every_plan_of_every_target_can_be_printed_and_conflicts_nowhere(composition):
    """Places are never computed by dividing what may be negative, which C rounds another way, whatever interleave."""
    ranges = {"lane": (0, 31)}
    for side, kind, order in product((0, 1), BYTES, (ROW, COL)):
        for bits in composition.orders(side)[:6]:
            interleave = replace(composition.interleave, **{("rows", "cols")[side]: bits})
            ex = plan_exchange(composition.of(*composition.layouts[0], interleave), kind, order)
            for f in (ex.store, ex.load, ex.owns):
                assert all(c_expr(e, {**ranges, "round": (0, ex.rounds - 1)}) for e in f.exprs)
            if bits == composition.interleave.sides[side]:
                assert conflicts(ex) == 1


@given(weights=st.permutations([1, 2, 4, 8, 16]), flips=st.lists(st.integers(0, 31), min_size=5, max_size=5))
def test_expressions_made_of_bits_have_the_values(weights, flips):
    lanes = np.arange(32)
    for weight in (weights, flips):
        values = np.zeros(32, np.int64)
        for b, w in enumerate(weight):
            values ^= w * (lanes >> b & 1)
        made = by_bits(values)
        assert weight is flips or made is not None
        if made is not None:
            assert np.array_equal(np.broadcast_to(made.evaluate({"lane": lanes}), 32), values)
            assert divides_naturals(made) and c_expr(made, {"lane": (0, 31)})


def test_what_is_not_made_of_bits_has_no_such_expression():
    assert by_bits(np.arange(32) * 3) is None
    assert by_bits(np.arange(32) + 1) is None
