"""Ownership and exchange: proved where a simulation in numbers comes out right, refuted where it does not."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.cli import gallery
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import ExchangeLoad, ExchangeStore, FragmentLoad, GlobalStore, Mma
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.layouts.exchange import moves, plan_exchange
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.verify.report.records import NoMeaning, Verdict
from polyvolta.cuda.verify.values.exchanges import wrong_exchange
from polyvolta.cuda.verify.values.ownership import PROVERS, manual, table, wrong_macro
from polyvolta.sets import aff, var, xor
from tests.cuda.macros import INTERLEAVES, macro_mma

SMALL = {"block_tile": (32, 32, 32), "warp_tile": (16, 32, 32)}
PAIRS = [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")]
QUAD_PAIR = np.arange(32) % 16 // 4


@cache
def compiled(idiom: str = "matmul", layouts=("row", "col"), **options) -> Kernel:
    return pv.compile(gallery.idiom(idiom, layouts), options=pv.Options(**(SMALL | options)))


def asked(proof: str, kernel: Kernel) -> Verdict:
    return PROVERS[proof](kernel.ir, kernel.graph, kernel.stages)


@pytest.mark.parametrize("proof", PROVERS)
@pytest.mark.parametrize("layouts", PAIRS[1:3])
@pytest.mark.parametrize("idiom", gallery.IDIOMS)
def test_every_idiom_is_proved(idiom, layouts, proof):
    for options in ({}, {"split_k": 2, "buffers": 2}, {"macro_mma": "m32n32k8", "warp_tile": (32, 32, 32)}):
        assert asked(proof, compiled(idiom, layouts, **options)).counter_example is None


# ---- macro-MMAs


def turned(own: IndexMap, lanes: int, values: int) -> IndexMap:
    """A map in which lane l and value i have what lane l ^ lanes and value i ^ values had."""
    (lane, _), (value, count) = own.inputs
    table = {lane: xor(var(lane), aff(lanes), 5), value: xor(var(value), aff(values % count), count.bit_length() - 1)}
    return replace(own, outputs=tuple((n, e.subs(table)) for n, e in own.outputs))


def is_product(macro: MacroMma) -> bool:
    """Whether the instructions, run on numbers by the hardware's ownership maps, multiply two matrices."""
    rng = np.random.default_rng(1)
    m, n, k = macro.shape
    left, right = rng.integers(1, 1000, (m, k)), rng.integers(1, 1000, (k, n))
    lane = np.arange(32)[:, None]

    def fragment(own, matrix):
        row, col = own.evaluate({"lane": lane, "i": np.arange(own.inputs[1][1])})
        return np.broadcast_to(matrix[row, col], (32, own.inputs[1][1]))

    a, b = fragment(macro.a, left), fragment(macro.b, right)
    d = np.zeros((32, macro.values[2]), np.int64)
    layouts = dict(zip("ab", macro.instruction.layouts))
    for step in macro.steps:
        for pair in range(4):
            small = {"a": np.zeros((8, 4), np.int64), "b": np.zeros((4, 8), np.int64)}
            for name, values, held in (("a", step.a, a), ("b", step.b, b)):
                for at in np.flatnonzero(QUAD_PAIR == pair):
                    for i, v in enumerate(values):
                        small[name][manual(name, layouts[name], at, i)] = held[at, v]
            product = small["a"] @ small["b"]
            for at in np.flatnonzero(QUAD_PAIR == pair):
                for i, v in enumerate(step.d):
                    d[at, v] += product[manual("d", "", at, i)]
    row, col = macro.d.evaluate({"lane": lane, "i": np.arange(macro.values[2])})
    result = np.full((m, n), -1)
    result[row, col] = d
    return bool((result == left @ right).all())


@pytest.mark.parametrize("layouts", PAIRS)
@pytest.mark.parametrize("name", INTERLEAVES)
def test_macro_mmas_are_products(name, layouts):
    macro = macro_mma(name, *layouts)
    assert wrong_macro(macro) is None and is_product(macro)


@settings(max_examples=25)
@given(
    st.sampled_from(PAIRS),
    st.sampled_from("abd"),
    st.sampled_from([0, 0, 1, 2, 4, 8, 16, 3]),
    st.sampled_from([0, 0, 1, 2, 4]),
)
def test_turned_ownership_is_refuted_where_the_product_is_wrong(layouts, operand, lanes, values):
    macro = macro_mma("m16n16k8", *layouts)
    macro = replace(macro, **{operand: turned(getattr(macro, operand), lanes, values)})
    assert (wrong_macro(macro) is None) == is_product(macro)


def test_what_is_wrong_with_a_macro_mma():
    macro = macro_mma("m16n16k8")
    said = {
        "crossed": replace(macro, steps=tuple(replace(s, b=macro.steps[0].b) for s in macro.steps)),
        "twice": replace(macro, steps=(*macro.steps, macro.steps[0])),
        "missing": replace(macro, steps=macro.steps[:1]),
        "narrow": replace(macro, d=replace(macro.d, outputs=(("row", aff(0)), macro.d.outputs[1]))),
        "manual": replace(macro, instruction=replace(macro.instruction, a=turned(macro.instruction.a, 16, 0))),
    }
    words = {name: wrong_macro(m) for name, m in said.items()}
    assert all(words.values())
    assert "multiplies A[0, 4] by B[0, 0] for D[0, 0]" in words["crossed"][0]
    assert words["twice"][0] == "D[0, 0] gets the product of k = 0 2 times"
    assert words["missing"][0] == "D[0, 0] gets the product of k = 4 0 times"
    assert "D[0, 0] is value 0 of lane 0" in words["narrow"][0]
    assert words["manual"] == (
        "value 0 of lane 0 is a(0, 0) of mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32, not a[4, 0]",
        0,
    )


def test_each_quad_pair_needs_its_own_copy():
    macro = macro_mma("m16n16k8")
    held = table(macro.a)
    copies = {(int(r), int(k)): 0 for r, k in held.reshape(-1, 2)}
    for r, k in held.reshape(-1, 2):
        copies[int(r), int(k)] += 1
    assert set(copies.values()) == {2} and len(copies) == 16 * 8  # two quad-pairs share each row


def test_a_fragment_that_is_loaded_by_other_lanes():
    for name, at in (("two lanes of A change places", "a"), ("a lane of B has its neighbour's values", "b")):
        kernel = broken(compiled(), name)
        found = asked("ownership", kernel)
        op = dict(walk(kernel.ir.body))[found.at]
        assert isinstance(op, FragmentLoad) and op.operand == at
        assert found.counter_example.lane in (0, 1)
        assert "is loaded from" in found.counter_example.what


def test_a_kernel_that_multiplies_nothing():
    kernel = compiled()
    empty = replace(kernel, ir=replace(kernel.ir, body=()))
    for proof in PROVERS:
        with pytest.raises(NoMeaning, match="has no"):
            asked(proof, empty)


# ---- exchanges


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(INTERLEAVES)),
    st.sampled_from(["half", "float"]),
    st.sampled_from([(0, 1), (1, 0)]),
    st.sampled_from(["store", "load", "owns", "words", "pieces", "along"]),
    st.integers(0, 31),
)
def test_exchanges_are_refuted_where_elements_go_astray(name, kind, order, part, lanes):
    macro = macro_mma(name)
    exchange = plan_exchange(macro, kind, order)
    if part in ("store", "load", "owns"):
        own = getattr(exchange, part)
        by = {"lane": xor(var("lane"), aff(lanes), 5)}
        changed = replace(own, outputs=tuple((n, e.subs(by)) for n, e in own.outputs))
    elif part == "along":
        changed = exchange.along if lanes % 2 else 1 - exchange.along
    else:
        whole = getattr(exchange, part)
        changed = (*whole[lanes % len(whole) :], *whole[: lanes % len(whole)])
    new = replace(exchange, **{part: changed})
    assert wrong_exchange(exchange, macro) is None
    assert (wrong_exchange(new, macro) is None) == (moves(new, macro) if part != "along" else lanes % 2 == 1)


def test_what_is_wrong_with_an_exchange():
    macro = macro_mma("m16n16k8")
    exchange = plan_exchange(macro)
    assert wrong_exchange(replace(exchange, chunks=8), macro)[0] == "piece 0 of lane 4 lies outside of the buffer"
    same = replace(exchange.store, outputs=(exchange.store.outputs[0], ("piece1", exchange.store["piece0"])))
    assert wrong_exchange(replace(exchange, store=same), macro)[0] == "piece 1 of lane 0 lies where another one does"
    short = replace(exchange, pieces=(exchange.pieces[0], exchange.pieces[0]))
    assert "pieces" in wrong_exchange(short, macro)[0]
    above = replace(exchange.load, outputs=(("vector0", exchange.load["vector0"] + 64),))
    assert "outside of the buffer" in wrong_exchange(replace(exchange, load=above), macro)[0]
    assert wrong_exchange(replace(exchange, words=(0,) * 8), macro)[0] == "a run takes word 0 8 times"
    large = plan_exchange(macro_mma("m32n32k8"))
    assert "comes to no lane" in wrong_exchange(replace(large, rounds=3), macro_mma("m32n32k8"))[0]


def test_arrays_that_lead_nowhere():
    kernel = compiled()

    def renamed(kind, field, name):
        def change(op):
            return (replace(op, **{field: replace(getattr(op, field), array=name) if field != "buffer" else name}),)

        other = replace(kernel.ir.register("hmma_C"), name="other")
        ir = replace(kernel.ir, registers=(*kernel.ir.registers, other))
        return replace(kernel, ir=edited(ir, places(ir, kind), change))

    said = [
        ("ownership", renamed(FragmentLoad, "target", "other"), "no product takes other"),
        ("exchange", renamed(ExchangeStore, "source", "other"), "no product has its result in other"),
        ("exchange", renamed(ExchangeStore, "buffer", "other"), "nothing is stored to exchange"),
    ]
    for proof, broken_kernel, words in said:
        assert words in asked(proof, broken_kernel).counter_example.what


def test_a_fragment_of_another_macro_mma():
    kernel, large = compiled(), macro_mma("m32n32k8")
    ir = edited(kernel.ir, places(kernel.ir, FragmentLoad, where=lambda op: op.operand == "a"),
                lambda op: (replace(op, ownership=large.a),))  # fmt: skip
    found = asked("ownership", replace(kernel, ir=ir)).counter_example
    assert found.what == "hmma_A has 16 values a lane, not 8"


@pytest.mark.parametrize("name", ["exchange transposed", "words out of order", "pieces out of order"])
def test_kernels_with_another_exchange(name):
    kernel = broken(compiled(), name)
    found = asked("exchange", kernel)
    assert found.counter_example is not None
    assert isinstance(dict(walk(kernel.ir.body))[found.at], ExchangeStore | ExchangeLoad)


def test_a_buffer_that_is_loaded_by_another_plan():
    kernel = compiled()
    other = plan_exchange(macro_mma("m16n16k8"), "half", (1, 0))
    ir = edited(kernel.ir, places(kernel.ir, ExchangeLoad), lambda op: (replace(op, exchange=other),))
    found = asked("exchange", replace(kernel, ir=ir))
    assert "loaded by another exchange" in found.counter_example.what
    stmts = dict(walk(ir.body))
    assert isinstance(stmts[found.at], ExchangeLoad) and isinstance(stmts[found.other], ExchangeStore)


def test_runs_that_are_stored_elsewhere():
    kernel = compiled()

    def moved(op):
        return (replace(op, index=(op.index[0] + var("lane") // 16, op.index[1])),)

    found = asked("exchange", replace(kernel, ir=edited(kernel.ir, places(kernel.ir, GlobalStore), moved)))
    assert "lane 16 stores its run to C 1 rows beyond where it belongs" in found.counter_example.what
    assert found.counter_example.address == "C[9, 0]" and found.counter_example.sizes


def test_one_product_of_several_is_enough():
    kernel = compiled("sum")
    first = places(kernel.ir, Mma)[0]
    crossed = macro_mma("m16n16k8", "col", "col")
    ir = edited(kernel.ir, [first], lambda op: (replace(op, macro=crossed),))
    found = asked("ownership", replace(kernel, ir=ir))
    assert isinstance(dict(walk(ir.body))[found.at], FragmentLoad)
