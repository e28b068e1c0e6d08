"""PolyBench: from the loop nest to tiled loops that compute the same.

Every dependence of a program, be it through a value or through the reuse of memory, is respected by its schedule. So
every instance reads exactly the numbers that it reads in the original order and computes on them with the same
operations: results are equal bit by bit, not only up to rounding. Against numpy, whose sums have another order, they
are equal up to rounding.
"""

import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from examples.polybench import KERNELS
from examples.polybench.tiling import arranged, shape, tiled
from polyvolta.sched import dependences, execute, schedule, violations

NAMES = tuple(KERNELS)
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@cache
def found(name):
    """The tree that the scheduler finds, and the same tiled by 32."""
    program = KERNELS[name].program
    tree = schedule(program, dependences=dependences(program))
    return tree, tiled(tree, 32)


@cache
def original(name):
    """The arrays that the Python function leaves behind."""
    arguments = KERNELS[name].arguments()
    KERNELS[name].program(**arguments)
    return {a: arguments[a] for a in KERNELS[name].data}


def executed(name, tree, **options):
    arguments = KERNELS[name].arguments()
    execute(KERNELS[name].program, tree, **arguments, **options)
    return {a: arguments[a] for a in KERNELS[name].data}


def assert_same_bits(got, expected):
    for array in expected:
        assert np.array_equal(got[array], expected[array]), array


@pytest.mark.parametrize("name", NAMES)
def test_a_nest_computes_its_formula(name):
    kernel = KERNELS[name]
    expected = kernel.reference(**kernel.arguments())
    assert set(expected) == set(kernel.outputs)
    for array in kernel.outputs:
        np.testing.assert_allclose(original(name)[array], expected[array], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_give_full_and_partial_tiles(name):
    sizes = KERNELS[name].sizes.values()
    assert any(s > 32 for s in sizes) and all(s % 32 for s in sizes)


@pytest.mark.parametrize("name", NAMES)
def test_schedule_and_tiles_respect_every_dependence(name):
    for tree in found(name):
        assert list(violations(tree)) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_the_docs_has_the_bands_that_are_found(name):
    page = (Path(__file__).parents[2] / "docs" / "measurements.md").read_text(encoding="utf-8")
    said = re.search(rf"^\| {name} \| \d+ \| \d+ \| ([^|]+) \|", page, re.M)[1]
    assert said == shape(KERNELS[name].program, found(name)[0])


@pytest.mark.parametrize("name", NAMES)
def test_tiled_by_32_computes_the_same_bits(name):
    assert_same_bits(executed(name, found(name)[1]), original(name))


@pytest.mark.parametrize("name", ["gemm", "lu", "trmm", "covariance", "jacobi-2d", "fdtd-2d"])
def test_full_tiles_apart_and_short_strides_inside_compute_the_same_bits(name):
    assert_same_bits(executed(name, arranged(KERNELS[name].program, found(name)[0], 32)), original(name))


@needs_compiler
@pytest.mark.parametrize("name", ["gemm", "lu", "symm", "correlation"])
def test_compiled_code_computes_the_same_bits(name):
    assert_same_bits(executed(name, found(name)[1], using="c"), original(name))


@needs_compiler
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("jacobi-2d", {"T": 70, "N": 140}),
        ("seidel-2d", {"T": 70, "N": 140}),
        ("fdtd-2d", {"T": 70, "M": 140, "N": 130}),
        ("heat-3d", {"T": 40, "N": 110}),
    ],
)
def test_skewed_tiles_that_are_full_in_every_dimension_compute_the_same_bits(name, sizes):
    kernel = KERNELS[name]
    results = []
    for tree in (kernel.program.schedule, found(name)[1]):
        arguments = kernel.arguments(sizes)
        execute(kernel.program, tree, **arguments, using="c")
        results.append({a: arguments[a] for a in kernel.data})
    assert_same_bits(*results)
