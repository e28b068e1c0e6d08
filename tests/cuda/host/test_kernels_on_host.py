"""Printed kernels, compiled for the host and run, a fiber a thread: bit for bit what the interpreter computes.

A sample of each target's matrix of kernels (`benchmarks/combinations.py`): idioms, macro-MMAs, all layouts, splits of
K, buffers and prefetch distances, padding; on odd sizes, on views at any address, with K = 0. Each run has a seed, from
which the threads' order follows and when copies arrive (see `launch`), and every access is watched.
`benchmarks/host_campaign.py` has all combinations, `test_broken_kernels` texts with a defect.
"""

import random
from importlib.util import find_spec

import cases
import combinations
import pytest
from arrays import Library
from cases import Case
from idioms import IDIOMS

from tests.cuda.host import needs_compiler
from tests.cuda.host.compare import Both

pytestmark = needs_compiler

TARGETS = ("sm_70", "sm_75", "sm_80")


def small(c):
    """Whether it takes little time, and can be run here: numpy has bfloat16 from ml_dtypes."""
    known = c.dtype == "float16" or find_spec("ml_dtypes") is not None
    return known and c.block[0] * c.block[1] * c.split_k <= 64 * 64


def sample(seed, count, rings_too=1):
    """Combinations at random of each target, of as many idioms as possible, and some rings."""
    pick = random.Random(seed)
    for target in TARGETS:
        matrix, rings = (list(filter(small, f(target))) for f in (combinations.combinations, combinations.rings))
        for idiom in pick.sample(IDIOMS, count):
            yield pick.choice([c for c in matrix if c.idiom == idiom])
        yield from pick.sample(rings, rings_too)


def both(c, case, seeds, texts):
    """Run a case in the interpreter and, with several seeds, on the host; the verdict of the last one."""
    return cases.run(c.compile(), c, case, Library(), Both(seeds, texts), lambda a: a)


@pytest.fixture
def texts():
    """Compiled texts of a test, forgotten afterwards."""
    kept = Both(())
    yield kept.texts
    kept.close()


@pytest.mark.parametrize("c", list(sample(seed=14, count=6)), ids=lambda c: c.name)
def test_the_text_computes_what_the_interpreter_does(c, texts):
    pick = random.Random(c.name)
    case = cases.draw(c, f"host {c.name}", pick.choice(("odd", "full", "special")), 2**18)
    verdict = both(c, case, pick.sample(range(12), 3), texts)
    assert verdict.good, f"{case}: {verdict}"


EDGES = (
    {"M": 1, "N": 1, "K": 1, "L": 1, "H": 1},
    {"M": 7, "N": 17, "K": 33, "L": 1, "H": 65},
    {"M": 33, "N": 7, "K": 17, "L": 0, "H": 7},
    {"M": 17, "N": 33, "K": 0, "L": 0, "H": 0},
)


EACH = [(c, *edge) for c in sample(seed=15, count=1, rings_too=0) for edge in zip((8, 4, 2, 1), EDGES)]


@pytest.mark.parametrize("edge", EACH, ids=lambda e: f"{e[0].name} {e[1]}")  # one list: a third of it has all targets
def test_sizes_that_nothing_divides_at_any_address(edge, texts):
    c, align, sizes = edge
    pick = random.Random(f"{c.name} {align}")
    places = (align, *(pick.choice((8, 4, 2, 1)) for _ in range(11)))
    case = Case({n: sizes[n] for n in c.idiom.sizes}, places, "coarse", seed=align)
    verdict = both(c, case, pick.sample(range(12), 2), texts)
    assert verdict.good, f"{case}: {verdict}"
