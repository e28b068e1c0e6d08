"""An IR damaged anywhere is refused with `IllFormed`, or judged: a sample of benchmarks/damage.py."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from damage import damaged, outcome, parts, put

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Pointwise
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.target.checks import BadTarget
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.sets import aff
from tests.cuda.verify.edited import changed, kernel, paths

CASES = 40


@pytest.fixture(scope="module")
def small():
    M, N, K = pv.sizes("M N K")
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))
    options = pv.Options(block_tile=(16, 16, 16), warp_tile=(16, 16, 16), macro_mma="m16n16k8")
    return pv.compile(pv.relu(product + pv.tensor("bias", (N,))), options=options)


def test_damage_is_refused_or_judged(small):
    counts = Counter()
    for number in range(CASES):
        ir, what = damaged(small.ir, random.Random(f"tests {number}"))
        verdict, story = outcome(small, ir)
        assert verdict in ("refused", "judged"), f"{number}: {what}\n{story}"
        counts[verdict] += ir != small.ir
    assert min(counts["refused"], counts["judged"]) > CASES // 10, counts


@pytest.mark.parametrize("wrong", [None, 1.5, object(), [], frozenset(), b"A"], ids=lambda x: type(x).__name__)
def test_no_field_takes_another_type(small, wrong):
    """Every single field, with what no declaration has; parts of instructions refuse already to be made with it."""
    places = [at for at, _ in parts(small.ir) if at and at[-1] not in ("layout", "along", "inside", "factor")]
    optional = {at for at, part in parts(small.ir) if at and part is None}
    for at in random.Random(0).sample(places, 150):
        if at in optional or (wrong is None and at[0] == "ranges"):
            continue
        with pytest.raises((IllFormed, BadTarget), match="PV549|PV519"):
            check(put(small.ir, at, wrong))


@pytest.mark.parametrize("name", ["", "two words", "x;", "int", "9", "ä", "a.b"])
def test_names_are_checked_before_they_are_printed(name):
    ir = kernel("split K").ir
    (path, *_) = paths(ir, Pointwise)
    wrong = [replace(ir, name=name), changed(ir, path, name=name)]
    wrong += [replace(ir, registers=(replace(ir.registers[0], name=name), *ir.registers[1:]))]
    wrong += [replace(ir, tensors=(replace(ir.tensors[0], name=name), *ir.tensors[1:]))]
    for one in wrong:
        with pytest.raises(IllFormed, match="PV549"):
            print_cuda(one)


def test_two_things_of_one_name():
    ir = kernel("split K").ir
    for one in (
        replace(ir, registers=(replace(ir.registers[0], name="A"), *ir.registers[1:])),
        replace(ir, tiles=(replace(ir.tiles[0], name=ir.tiles[1].name), *ir.tiles[1:])),
        replace(ir, derived=(("M", aff(0)), *ir.derived)),
        replace(ir, scalars=("ldA",)),
    ):
        with pytest.raises(IllFormed, match="something else is called so"):
            check(one)
