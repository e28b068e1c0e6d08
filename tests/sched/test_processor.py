"""PolyBench tiled for a processor: our schedules and the programs by hand leave the bits of the loops as written."""

import shutil

import numpy as np
import pytest

from examples.polybench import KERNELS
from examples.polybench.by_hand import by_hand
from examples.polybench.processor import RECIPES
from polyvolta.sched import compile_c, schedule, violations

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.mark.parametrize("name", list(RECIPES))
@needs_compiler
def test_ours_and_the_ones_by_hand_compute_the_same_bits(name):
    kernel = KERNELS[name]
    program = kernel.program
    tree = RECIPES[name](program, schedule(program))
    assert list(violations(tree)) == []
    expected = kernel.arguments()
    program(**expected)
    for run in filter(None, (compile_c(tree, program), by_hand(program))):
        arguments = kernel.arguments()
        run(**arguments)
        for array in kernel.data:
            assert np.array_equal(arguments[array], expected[array]), array
