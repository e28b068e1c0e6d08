"""Names of other libraries on what is here: errors say what there is, and nothing that is there is in the way."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.compiled import Compiled
from polyvolta.compiler.shown.elsewhere import ELSEWHERE
from polyvolta.graph.errors import BadSize, NoTranspose
from polyvolta.graph.expr import Expr
from polyvolta.graph.functions.elsewhere import EXPRESSIONS, PACKAGE, of_expression
from polyvolta.graph.functions.table import FUNCTIONS

M, N, K = pv.sizes("M N K")
A = pv.tensor("A", (M, K))
PRODUCT = A @ pv.tensor("B", (K, N), layout="col")
TABLES = {"expression": (EXPRESSIONS, PRODUCT), "package": ((*PACKAGE, *EXPRESSIONS), pv)}


@pytest.mark.parametrize(("thing", "name", "here"), [
    (PRODUCT, "sum", "a kernel adds up products alone"), (PRODUCT, "reshape", "values keep their places"),
    (A, "relu", "pv.relu(x) is a function"), (A, "max", "pv.maximum"), (A, "mT", "layout 'col'"),
    (pv, "einsum", "A @ B is the product"), (pv, "jit", "pv.compile(x)"), (pv, "Set", "pv.sets"),
    (pv, "relue", "did you mean 'relu'?"),
], ids=str)  # fmt: skip
def test_a_missing_name_says_what_is_here(thing, name, here):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; ") as missing:
        getattr(thing, name)
    assert here in str(missing.value) and missing.value.name == name
    assert not hasattr(thing, name)


def test_names_of_nobody_say_no_more():
    for thing in (A, PRODUCT, pv.compile(PRODUCT)):
        for name in ("nothing_of_the_kind", "_private", "__array__"):
            with pytest.raises(AttributeError, match=f"^'{type(thing).__name__}' object has no attribute '{name}'$"):
                getattr(thing, name)


def test_what_goes_wrong_in_a_property_is_said(monkeypatch):
    """Python asks `__getattr__` then, too, which knows nothing of it."""
    empty = object.__new__(Compiled)  # as when it is unpickled
    with pytest.raises(AttributeError, match="stages"):
        empty.schedule  # noqa: B018
    for thing, kind, name in ((PRODUCT, Expr, "dtype"), (pv.compile(PRODUCT), Compiled, "schedule")):
        monkeypatch.setattr(kind, name, property(lambda _: [].nothing_here))
        with pytest.raises(AttributeError, match="^'list' object has no attribute 'nothing_here'$"):
            getattr(thing, name)


def test_private_names_cost_no_tables():
    """Doctest, mocks and importers ask each module for some."""
    code = "import sys, polyvolta as pv; hasattr(pv, '__wrapped__'); print('polyvolta.graph' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_is_called_a_function_is_one():
    for name in FUNCTIONS:
        assert (name in pv.__all__) == (of_expression(name) == f"pv.{name}(x) is a function"), name


def test_a_transpose_still_says_what_to_declare():
    with pytest.raises(NoTranspose, match="A_t"):
        A.T  # noqa: B018
    assert not hasattr(A, "T")


@pytest.mark.parametrize(("name", "here"), [
    ("ptx", "cubin()"), ("grid", "launch_config("), ("tree", "stages"), ("benchmark", "bind("), ("regs", "resources()"),
])
def test_so_does_a_kernel(name, here):
    with pytest.raises(AttributeError, match=re.escape(here)):
        getattr(pv.compile(PRODUCT), name)


def test_no_row_is_of_what_is_there_and_what_is_named_is():
    kernel = pv.compile(PRODUCT)
    for rows, thing in (*TABLES.values(), (ELSEWHERE, kernel)):
        for names, here in rows:
            assert not {*names.split()} & {*getattr(thing, "__all__", dir(thing))}, (thing, names)
            for name in re.findall(r"pv\.(\w+)", here):
                assert name in pv.__all__, here
    for _, here in ELSEWHERE:
        for name in re.findall(r"(?<![\w.])(\w+)(?=\(|\[)", here):
            assert name in ("kernel", "print") or hasattr(kernel, name), here


def test_copies_are_none_the_worse():
    kernel = pv.compile(PRODUCT)
    for thing in (PRODUCT, kernel):
        assert copy.copy(thing) == copy.deepcopy(thing) == pickle.loads(pickle.dumps(thing)) == thing


@pytest.mark.parametrize(("call", "hint"), [
    (lambda: pv.sizes("M", "N", "K"), 'write sizes("M N K")'), (lambda: pv.sizes(M, N), 'write sizes("M N")'),
    (lambda: pv.tensor("A", M, 4), 'pv.tensor("A", (M, 4))'),
    (lambda: pv.tensor("A", (M, 4), "col"), 'pv.tensor("A", (M, 4), layout="col")'),
    (lambda: pv.tensor("A", (M,), "row", np.float16), 'pv.tensor("A", (M,), layout="row", dtype="float16")'),
    (lambda: pv.tensor("A", [M, 4], (4, M)), 'such as layout="col", dtype="bfloat16"'),
])
def test_several_where_one_belongs(call, hint):
    with pytest.raises(BadSize) as wrong:
        call()
    assert wrong.value.hint == hint


@pytest.mark.parametrize(("name", "taken"), [
    ("h100", "sm_90a"), ("NVIDIA A100", "sm_80"), ("hopper", "sm_90a"), ("rtx 4090", "sm_80"), ("compute_75", "sm_75"),
    ("9.0", "sm_90a"), ("V100", "sm_70"), ("B200", "sm_80"), ("Tesla V100-SXM2-16GB", "sm_70"),
    ("NVIDIA A100-SXM4-80GB", "sm_80"), ("NVIDIA H100 80GB HBM3", "sm_90a"), ("NVIDIA RTX A6000", "sm_80"),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", "sm_80"), ("NVIDIA RTX 2000 Ada Generation", "sm_80"), ("RTX 5090", "sm_80"),
])
def test_a_target_by_the_name_of_a_chip_is_refused_with_the_one_to_take(name, taken):
    with pytest.raises(pv.PolyvoltaError, match=f"take '{taken}'"):
        pv.compile(PRODUCT, name)
