"""Wrong values that are stored: which, where, by whom; and no alarm where rounding explains a difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import ExchangeLoad, GlobalStore
from polyvolta.cuda.machine import interpreter
from polyvolta.cuda.mutants import broken as mutant
from tests.cuda.machine.observe.small import OPTIONS, K, M, N, broken, line_of, operands, product

A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))


def changed(block, warp, lane, change):
    """A hook that changes the largest value of a lane's first run, in one block, before it is stored."""
    done = []

    def hook(machine, op, values):
        at = np.flatnonzero((machine.blocks.T == block).all(1))
        if isinstance(op, ExchangeLoad) and at.size and not done:
            run = machine.element(op.target)[at[0], warp, lane]
            done.append(n := np.argmax(np.abs(run)))
            run[n] = change(run[n])

    return hook


def test_whole_kernels_have_no_wrong_values():
    seen = product().interpret(**operands(product(), 70, 70, 40), observe="values")
    assert seen.ok
    (row,) = seen.values.results
    assert (row.tensor, row.elements, row.wrong, row.unknown) == ("C", 4900, 0, 0)
    assert "4,900" in str(seen)


@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("change", [lambda x: np.nextafter(np.float16(x), np.float16(np.inf)), lambda x: np.nan])
def test_one_wrong_value_is_found_be_it_the_next_one_in_fp16(layout, change):
    kernel = pv.compile(pv.output(A @ B, layout=layout), options=OPTIONS)
    given = operands(kernel, 72, 80, 40)
    whole = kernel.interpret(**given)
    seen = kernel.interpret(**given, observe="values", hook=changed((1, 1, 0), 0, 5, change))
    (at,) = np.argwhere(~((seen.result == whole) | (np.isnan(seen.result) & np.isnan(whole))))
    (row,) = seen.values.rows
    assert row.element == tuple(at)
    assert (row.block, row.warp, row.lane, row.wrong) == ((1, 1, 0), 0, 5, 1)
    assert row.expected == whole[tuple(at)]  # sums of data on a coarse grid are exact
    assert np.isclose(row.found, float(seen.result[tuple(at)]), rtol=0, equal_nan=True)
    (finding,) = seen.findings
    assert finding.count == 1
    assert f"C[{at[0]}, {at[1]}] is " in finding.what
    text = kernel.source.split("\n")[finding.places[0].line - 1]
    assert text.strip().startswith("store_global")
    assert seen.values.results[0].wrong == 1


def test_every_wrong_element_is_counted(monkeypatch):
    kernel = mutant(product(), "two lanes of A change places")
    given = operands(kernel, 70, 70, 40)
    wrong = np.count_nonzero(kernel.interpret(**given) != product().interpret(**given))
    seen = kernel.interpret(**given, observe="values")
    assert seen.values.results[0].wrong == wrong > 0
    assert sum(r.stored for r in seen.values.rows) == 4900
    monkeypatch.setattr(interpreter, "BATCH_BYTES", 2 * interpreter._block_bytes(product().ir, True))
    batches = kernel.interpret(**given, observe="values")
    assert batches.values == seen.values


def test_what_belongs_elsewhere_is_told():
    kernel = mutant(product(), "neighbours' runs exchanged")
    (row,) = kernel.interpret(**operands(kernel, 32, 32, 16), observe="values").values.rows
    assert row.moved == "C[i, j] holds what belongs to C[i, j xor 8]"
    assert row.moved in row.what
    assert row.place.line == line_of(kernel, "store_global_128(C")
    kernel = mutant(product(), "two lanes of A change places")
    (row,) = kernel.interpret(**operands(kernel, 32, 32, 16), observe="values").values.rows
    assert row.moved.startswith("C[i, j] holds what belongs to C[i xor ")
    kernel = mutant(product(), "k loop ends one trip early")
    (row,) = kernel.interpret(**operands(kernel, 32, 32, 48), observe="values").values.rows
    assert row.moved == ""


def test_several_results_have_rows_of_their_own():
    c = A @ B
    kernel = pv.compile((c, pv.relu(c) + 1), options=OPTIONS)
    one_more = broken(kernel, lambda s: replace(s, tensor=kernel.ir.tensors[-2].name)
                      if isinstance(s, GlobalStore) and s.tensor == kernel.ir.tensors[-1].name else s)  # fmt: skip
    given = operands(kernel, 40, 40, 24)
    assert kernel.interpret(**given, observe="values").ok
    seen = one_more.interpret(**given, observe=("values", "uninitialised"))
    assert [r.wrong > 0 for r in seen.values.results] == [True, False]
    assert {f.observer for f in seen.findings} == {"values", "uninitialised"}


def test_padding_has_no_right_value():
    kernel = pv.compile(pv.relu(A @ B) + 1, options=replace(OPTIONS, partial="pad"))
    given = operands(kernel, 33, 40, 20)
    seen = kernel.interpret(**given, observe="values")
    assert seen.ok
    assert seen.values.results[0].elements == 33 * 40
    hook = changed((0, 0, 0), 0, 0, lambda x: x + 50)
    assert kernel.interpret(**given, observe="values", hook=hook).values.rows[0].element[0] == 0


def test_an_empty_result_has_no_wrong_values():
    seen = product().interpret(np.zeros((0, 8), "f2"), np.zeros((8, 4), "f2", order="F"), observe="values")
    assert seen.ok
    assert seen.values.results == ()


# ---- rounding, NaN and infinity


@pytest.mark.parametrize("expr", [
    A @ B, pv.sigmoid(A) @ (B * 0.3), pv.tanh(0.1 * (A @ B)), 2 * (A @ B) - pv.relu(A) @ B, 1 / (A @ B),
    pv.gelu(A @ B), pv.exp(A @ B), pv.where(A @ B > 0, 1, A @ B),
], ids=str)  # fmt: skip
def test_rounding_is_no_finding(expr):
    kernel = pv.compile(expr, options=pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16)))
    rng = np.random.default_rng(0)
    for scale in (1, 1e-3, 30):
        a, b = ((scale * rng.standard_normal(s)).astype(np.float16) for s in ((40, 100), (100, 48)))
        seen = kernel.interpret(a, b, observe="values")
        assert seen.ok, str(seen.findings)
        (row,) = seen.values.results
        assert row.unknown < row.elements / 2


def test_sums_that_cancel_are_no_finding():
    kernel = pv.compile(pv.sigmoid(A) @ B, options=OPTIONS)
    a = np.full((32, 64), 0.3, np.float16)
    b = (np.tile([[1000.0], [-1000.0]], (32, 32)) + np.arange(32)).astype(np.float16)
    assert kernel.interpret(a, b, observe="values").ok


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_have_to_be_where_they_belong(special):
    kernel = pv.compile(pv.relu(A @ B), options=OPTIONS)
    given = operands(kernel, 32, 32, 32)
    given["A"][5, 7] = special
    given["B"][7, 9] = 0
    assert kernel.interpret(**given, observe="values").ok

    def hook(machine, op, values):  # never a NaN or an infinity in a register
        for register in machine.registers.values():
            register[~np.isfinite(register)] = 1

    seen = kernel.interpret(**given, observe="values", hook=hook)
    assert not seen.ok
    assert {r.element[0] for r in seen.values.rows} == {5}


def test_a_result_beyond_fp16_is_infinite():
    kernel = pv.compile(300 * (A @ B), options=OPTIONS)
    given = {"A": np.full((32, 16), 16, np.float16), "B": np.ones((16, 32), np.float16)}  # 76,800
    seen = kernel.interpret(**given, observe="values")
    assert seen.ok
    assert np.isposinf(seen.result).all()
    seen = kernel.interpret(**given, observe="values", hook=changed((0, 0, 0), 1, 0, lambda x: 0))
    assert [(r.found, r.expected, r.wrong) for r in seen.values.rows] == [(0.0, 76800.0, 1)]


def test_nothing_is_said_where_an_operand_may_be_beyond_fp16():
    kernel = pv.compile(pv.exp(A) @ B, options=OPTIONS)
    given = {"A": np.ones((32, 16), np.float16), "B": np.ones((16, 32), np.float16)}
    given["A"][3, 4] = 12
    seen = kernel.interpret(**given, observe="values")
    assert seen.ok
    assert seen.values.results[0].unknown == 32
