"""Hopper's printed kernels, compiled for the host and run: bit for bit what the interpreter computes; defects are seen.

Boxes, products of warpgroups, phases and roles as the PTX manual has them (`gpu/`), of kernels of the matrix
(`benchmarks/combinations.py`): all layouts of A, B and the result, tiles of all swizzles, fp16 and bf16, epilogues,
several results, sums. `benchmarks/host_campaign.py --target sm_90a` has all of them.
"""

import random
import re
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from itertools import product

import cases
import pytest
from arrays import Library
from cases import Case
from combinations import combinations
from idioms import LAYOUTS

from polyvolta.cuda.mutants import broken
from tests.cuda.host import needs_compiler
from tests.cuda.host.compare import Both, Different
from tests.cuda.host.launch import WrongText

pytestmark = needs_compiler

MOST = 2**18  # multiply-adds
BFLOAT16 = find_spec("ml_dtypes") is not None  # whether numpy has it


def sample(seed):
    """A kernel for each layout of A, B and the result, of other idioms and tiles each."""
    pick = random.Random(seed)
    groups = [[c for c in combinations("sm_90a") if (c.a, c.b, c.c) == x and known(c)] for x in product(*[LAYOUTS] * 3)]
    taken = []
    for group in groups:
        new = [c for c in group if all(c.idiom != t.idiom and c.block != t.block for t in taken[-6:])]
        taken.append(pick.choice(new or group))
    return taken


def known(c):
    """Whether it can be run here, in little time."""
    return (c.dtype == "float16" or BFLOAT16) and c.block[0] * c.block[1] <= 128 * 128


@cache
def compiled(c):
    return c.compile()


def verdict_of(c, case, seeds):
    """A case in the interpreter and, with several seeds, on the host; the verdict of the last one."""
    run = Both(seeds)
    try:
        return cases.run(compiled(c), c, case, Library(), run, lambda a: a)
    finally:
        run.close()


SAMPLE = sample(15)


def test_the_sample_has_all_layouts_swizzles_and_both_types():
    assert len({(c.a, c.b, c.c) for c in SAMPLE}) == 8
    assert {c.dtype for c in SAMPLE} == {"float16", "bfloat16"} or not BFLOAT16
    assert len({c.idiom for c in SAMPLE}) >= 6
    assert len({c.block for c in SAMPLE}) >= 6
    missing, left = {32, 64, 128}, iter(sorted(SAMPLE, key=lambda c: c.block[2]))  # tiles of few k have narrow lines
    while missing:  # the last one is needed where some never come
        missing -= {m.box.swizzle.bytes for m in compiled(next(left)).ir.maps}


@pytest.mark.parametrize("c", SAMPLE, ids=lambda c: c.name)
def test_the_text_computes_what_the_interpreter_does(c):
    pick = random.Random(c.name)
    case = cases.draw(c, f"host {c.name}", pick.choice(("boxed", "boxed", "full")), MOST)
    verdict = verdict_of(c, case, pick.sample(range(12), 4))
    assert verdict.good, f"{case}: {verdict}"


def combination(idiom):
    """A kernel like the matrix's in fp16, A by rows, B by columns, of two warpgroups, one tile a block."""
    found = next(c for c in combinations("sm_90a") if c.idiom.name == idiom and (c.a, c.b) == ("row", "col"))
    tiles = {"block": (128, 64, 64), "warp": (64, 64, 64), "macro": "m64n64k16", "buffers": 3}
    ways = {"occupancy": 1, "persistent": False, "dependent": False, "swap": False}
    return replace(found, c="row", dtype="float16", group=1, **tiles, **ways)


EDGES = (
    ("residual gelu", 8, {"M": 1, "N": 1, "K": 1}),
    ("sum of two", 8, {"M": 129, "N": 40, "K": 0, "L": 65}),
    ("sum of two", 8, {"M": 65, "N": 8, "K": 63, "L": 0}),
    ("bias relu", 8, {"M": 130, "N": 39, "K": 0}),  # lines of the result end within 16 bytes: threads store it
    ("bias relu", 4, {"M": 130, "N": 39, "K": 57}),  # nothing that copy engines take
)


@pytest.mark.parametrize(("idiom", "align", "sizes"), EDGES)
def test_sizes_that_nothing_divides_and_empty_sums(idiom, align, sizes):
    case = Case(sizes, (align,) * 8, "coarse", seed=3)
    verdict = verdict_of(combination(idiom), case, (1, 5, 8))
    assert verdict.good, f"{case}: {verdict}"


# ---- defects

BIAS = combination("bias relu")
CASE = Case({"M": 130, "N": 72, "K": 300}, (8,) * 4, "normal", seed=1)


def failures(name, seeds, watch=True):
    """What is wrong with a mutant of a kernel, by seed, beside what the interpreter makes of the kernel."""
    run = Both(seeds, instead=broken(compiled(BIAS), name), watch=watch, failed={})
    try:
        cases.run(compiled(BIAS), BIAS, CASE, Library(), run, lambda a: a)
    finally:
        run.close()
    return run.failed


MUTANTS = {
    "boxes are not waited for": "before that was waited for|no barrier after a box|before it was written",
    "free slots are not waited for": "gets more than its 1 arrivals|no barrier after a (product|box)|while a box comes",
    "slots are not released": "deadlock.*phase 0 of the barrier at byte .* misses 2 of 2 arrivals",
    "released before products are done": "written, no barrier after a product of warpgroup|deadlock",
    "no fence of accumulators": "products before any wgmma.fence",
    "no wait for the last products": "an accumulator is read, and products that may write it were not waited for",
    "bytes short": "deadlock.*0 of 1 arrivals, -16 bytes",
    "no barrier behind the beginning": "no barrier has begun|no barrier of threads between",
    "stores unfenced": r"read by an engine, no proxy fence after thread \d+ wrote it",
    "no barrier before boxes are stored": "is read, no barrier after thread|before it was written",
    "stored boxes are not waited for": "ends while boxes that it has stored",
    "descriptor of twice the stride": "no barrier after a box|before it was written|wgmma reads|waited for",
    "map without swizzle": "other values",
    "piece in its neighbour's place": "other values|outside of|written twice",
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_seen_with_every_seed(name):
    found = failures(name, (1, 6, 11))
    assert len(found) == 3
    for wrong in found.values():
        assert isinstance(wrong, WrongText | Different) and re.search(MUTANTS[name], str(wrong)), wrong


@pytest.mark.parametrize("name", ["boxes are not waited for", "products are waited for a tile late"])
def test_races_make_wrong_numbers_with_some_seed(name):
    """Nobody watches; only what is computed tells, or nobody can go on. With other seeds it goes right."""
    assert 0 < len(failures(name, range(12), watch=False)) < 12
