"""How long a run takes, said before it takes it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from polyvolta.cuda.ir.block_order import PLAIN
from polyvolta.cuda.machine import forecast, interpreter
from polyvolta.cuda.machine.forecast import executions
from polyvolta.cuda.machine.interpreter import BadPatience, TooLong, interpret
from tests.cuda.machine.observe.small import operands, product


class Counting:
    """Watches which places run."""

    def __init__(self):
        self.runs = Counter()

    def start(self, m):
        pass

    def step(self, m, step):
        self.runs[step.path] += 1

    def end(self, m):
        pass

    def fault(self, m, wrong, threads):
        return False


@pytest.mark.parametrize("split_k", [1, 2])
@pytest.mark.parametrize("buffers", [1, 2])
@pytest.mark.parametrize("sizes", [(32, 32, 16), (45, 70, 100), (33, 33, 1), (64, 64, 0), (8, 33, 3500)])
def test_what_is_counted_beforehand_is_what_runs(sizes, buffers, split_k):
    kernel = product(split_k=split_k, buffers=buffers)
    named = dict(zip("MNK", sizes, strict=True))
    ir = kernel.variant(A=1, B=1, C=1).ir
    watch = Counting()
    interpret(ir, {**operands(kernel, *sizes), "C": np.zeros(sizes[:2], "f2")}, named, watch=watch)
    grid = [e.evaluate(named) for e in ir.grid]
    blocks = PLAIN.blocks(grid, 0, grid[0] * grid[1] * grid[2])
    found = executions(ir, named, blocks)
    assert found == watch.runs
    assert sum(found.values()) > 0


def slow(monkeypatch, seconds, batch=2):
    """An interpreter whose first operation takes so many seconds and all others the same."""
    now = [0.0]

    def tick():
        now[0] += seconds
        return now[0]

    monkeypatch.setattr(interpreter, "BATCH_BYTES", batch * interpreter._block_bytes(product().ir))
    monkeypatch.setattr(interpreter, "perf_counter", tick)


def test_a_run_of_minutes_says_so_and_goes_on(monkeypatch):
    slow(monkeypatch, 1.5)
    arrays = operands(product(), 64, 96, 32)
    with pytest.warns(RuntimeWarning) as caught:
        result = product().interpret(**arrays)
    batch = executions(product().ir, {"M": 64, "N": 96, "K": 32}, PLAIN.blocks([3, 2, 1], 0, 2))
    minutes = 1.5 * 3 * sum(batch.values()) / 60  # three batches of two blocks
    (said,) = caught.list
    assert f"takes about {minutes:.0f} minutes; " in str(said.message)
    assert "M = " in str(said.message)
    assert said.filename == __file__
    assert np.array_equal(result, arrays["A"].astype("f4") @ arrays["B"].astype("f4"))


def test_a_run_of_hours_ends_before_they_pass(monkeypatch):
    slow(monkeypatch, 60)
    kernel, stores = product(), []
    with pytest.raises(TooLong) as caught:
        kernel.interpret(**operands(kernel, 64, 96, 64), hook=lambda m, op, v: stores.append(op))
    assert len(stores) == 1  # one operation was enough
    text = str(caught.value)
    assert "takes about" in text
    assert "longer than 10 minutes" in text
    assert "patience=" in text


@pytest.mark.parametrize("observe", [(), "all"])
def test_patience_moves_the_limit(monkeypatch, observe, recwarn):
    slow(monkeypatch, 2.0, 100)
    arrays = operands(product(), 32, 32, 16)
    with pytest.raises(TooLong, match="longer than 5 seconds"):
        product().interpret(**arrays, patience=5, observe=observe)
    whole = np.asarray(product().interpret(**arrays, patience=1e9, observe=observe))
    assert np.array_equal(whole, arrays["A"].astype("f4") @ arrays["B"].astype("f4"))


def test_the_smaller_sizes_that_it_suggests_take_less(monkeypatch):
    """Every operation takes a second: the suggested sizes have at most `patience` operations."""
    slow(monkeypatch, 1.0, 1)
    sizes = {"M": 256, "N": 256, "K": 256}
    patience = 4 * sum(executions(product().ir, {"M": 64, "N": 64, "K": 64}, PLAIN.blocks([1, 1, 1], 0, 1)).values())
    with pytest.raises(TooLong) as caught:
        interpret(
            product().ir,
            {**operands(product(), 256, 256, 256), "C": np.zeros((256, 256), "f2")},
            sizes,
            patience=patience + 10,
        )
    assert "M = 64, N = 64, K = 64 would take about" in str(caught.value).replace("K = 64, N = 64", "N = 64, K = 64")


def test_a_run_of_seconds_says_nothing(recwarn):
    product().interpret(**operands(product(), 64, 64, 64))
    assert not recwarn.list


@pytest.mark.parametrize("wrong", [-1, "10", float("nan"), True])
def test_patience_is_a_number_of_seconds(wrong):
    with pytest.raises(BadPatience, match="a number of seconds"):
        product().interpret(**operands(product(), 32, 32, 16), patience=wrong)


def test_after_the_moment_nobody_measures(monkeypatch):
    """No call for each operation is left."""
    calls, steps = [], []

    def once(self, step):
        calls.append(step)
        self.measuring = False

    monkeypatch.setattr(forecast.Forecast, "step", once)
    product().interpret(**operands(product(), 32, 32, 64), hook=lambda m, op, v: steps.append(op))
    assert len(calls) == 1 < len(steps)
