"""Reports as data frames: with pandas where it is, else with what stands for it."""

import sys
from types import ModuleType

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.remembered.entries import Timed
from polyvolta.graph.arrays.frames import NoPandas, frame
from polyvolta.tuner.table import Table

M, N, K = pv.sizes("M N K")
PRODUCT = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))


class Frame:
    """What is used of a DataFrame."""

    def __init__(self, rows, columns):
        assert all(row.keys() == set(columns) for row in rows)
        self.columns, self._rows = columns, rows

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, name):
        return [row[name] for row in self._rows]


@pytest.fixture
def pandas(monkeypatch):
    try:
        import pandas
    except ImportError:
        pandas = ModuleType("pandas")
        pandas.DataFrame = Frame
        monkeypatch.setitem(sys.modules, "pandas", pandas)
    return pandas


@pytest.fixture(scope="module")
def kernel():
    return pv.compile(PRODUCT, target="sm_70", options=pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16)))


def test_proofs(pandas, kernel):
    report = kernel.verify(("dependences", "bank_conflicts"))
    made = report.to_pandas()
    assert list(made["id"]) == ["dependences", "bank_conflicts"] and list(made["outcome"]) == ["proved"] * 2
    assert list(made["seconds"]) == [p.seconds for p in report.proofs] and list(made["counter_example"]) == ["", ""]
    assert list(made.columns)[:3] == ["id", "outcome", "statement"]


def test_observations(pandas, kernel):
    a, b = np.ones((5, 6), np.float16), np.ones((6, 4), np.float16)
    seen = kernel.interpret(a, b, observe=("races", "counts"))
    assert len(seen.to_pandas()) == len(seen.findings) == 0
    assert list(seen.to_pandas().columns) == ["observer", "what", "count", "places"]
    table = next(t for t in seen.tables if t.rows)
    assert len(table.to_pandas()) == len(table.rows)
    first = table.columns[0].removeprefix(">")
    assert list(table.to_pandas()[first]) == [row[0] for row in table.rows]


def test_what_tuning_found(pandas, kernel):
    table = Table((Timed(kernel.options, "timed", 1.5e-6, True), Timed(kernel.options, "too slow", note="why")))
    made = table.to_pandas()
    assert list(made["outcome"]) == ["timed", "too slow"] and list(made["final"]) == [True, False]
    assert made["seconds"][0] == 1.5e-6 and list(made["block_tile"]) == [kernel.options.block_tile] * 2


def test_of_variants(pandas):
    kernel = pv.compile(PRODUCT, target="sm_70", over={"M": (64, 128), "N": 64, "K": 64}, variants=1)
    made = kernel.verify("dependences").to_pandas()
    assert list(made["variant"]) == [-1, 0] and list(made["id"]) == ["decisions", "dependences"]


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NoPandas, match="pip install pandas"):
        frame(("a",), [{"a": 1}])
