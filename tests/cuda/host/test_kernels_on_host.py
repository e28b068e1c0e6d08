"""Printed kernels, compiled for the host and run, a fiber a thread: bit for bit what the interpreter computes.

A sample of the matrix of kernels (`benchmarks/combinations.py`): idioms, both macro-MMAs, all layouts, splits of K,
buffers and prefetch distances, padding; on odd sizes, on views at any address, with K = 0. Each run has a seed, from
which the threads' order follows (see `launch`), and every access is watched. `benchmarks/host_campaign.py` has all
combinations.

Texts with a defect are refused: that they are, with watching and by their results alone, is tested, too.
"""

import random
from collections import Counter

import cases
import combinations
import pytest
from arrays import Library
from cases import Case
from combinations import IDIOMS

from tests.cuda.host import launch, needs_compiler
from tests.cuda.host.compare import Both, Different

pytestmark = needs_compiler

MATRIX = [c for c in combinations.combinations() if c.block[0] * c.block[1] * c.split_k <= 64 * 64]
RINGS = [c for c in combinations.rings() if c.block[0] * c.block[1] * c.split_k <= 64 * 64]


def sample(seed, count):
    """Combinations at random, of as many idioms as possible, and some rings."""
    pick = random.Random(seed)
    idioms = pick.sample(IDIOMS, count)
    return [pick.choice([c for c in MATRIX if c.idiom == i]) for i in idioms] + pick.sample(RINGS, count // 8)


@pytest.fixture
def texts():
    """Compiled texts of a test, forgotten afterwards."""
    both = Both(())
    yield both.texts
    both.close()


def both(kernel, case, combination, seeds, texts, **how):
    """Run a case in the interpreter and, with several seeds, on the host; the verdict of the last one."""
    return cases.run(kernel, combination, case, Library(), Both(seeds, texts, **how), lambda a: a)


# ---- kernels are right


@pytest.mark.parametrize("c", sample(seed=14, count=16), ids=lambda c: c.name)
def test_the_text_computes_what_the_interpreter_does(c, texts):
    kernel, pick = c.compile(), random.Random(c.name)
    case = cases.draw(c, f"host {c.name}", pick.choice(("odd", "full", "special")), 2**18)
    verdict = both(kernel, case, c, pick.sample(range(12), 3), texts)
    assert verdict.good, f"{case}: {verdict}"


EDGES = (
    {"M": 1, "N": 1, "K": 1, "L": 1, "H": 1},
    {"M": 7, "N": 17, "K": 33, "L": 1, "H": 65},
    {"M": 33, "N": 7, "K": 17, "L": 0, "H": 7},
    {"M": 17, "N": 33, "K": 0, "L": 0, "H": 0},
)


@pytest.mark.parametrize("c", sample(seed=15, count=2), ids=lambda c: c.name)
def test_sizes_that_nothing_divides_at_any_address(c, texts):
    kernel, pick = c.compile(), random.Random(c.name)
    for align, sizes in zip((8, 4, 2, 1), EDGES):
        places = (align, *(pick.choice((8, 4, 2, 1)) for _ in range(11)))
        case = Case({n: sizes[n] for n in c.idiom.sizes}, places, "coarse", seed=align)
        verdict = both(kernel, case, c, pick.sample(range(12), 2), texts)
        assert verdict.good, f"{case}: {verdict}"


# ---- and wrong ones are found


IDIOM = combinations.idiom_called("plain")
PLAIN = combinations.Combination(IDIOM, "row", "row", "row", "m32n32k8", 1, (32, 64, 16), (32, 32, 16))
KERNEL = PLAIN.compile()
FULL = Case({"M": 64, "N": 64, "K": 64}, (8, 8, 8), "normal", seed=1)
ODD = Case({"M": 33, "N": 71, "K": 23}, (8, 8, 8), "normal", seed=1)


def replaced(old, new, at=0):
    """The text with one occurrence of something replaced."""

    def change(text):
        parts = text.split(old)
        assert len(parts) > at + 1, f"the text has no {old!r}"
        return old.join(parts[: at + 1]) + new + old.join(parts[at + 1 :])

    return change


BARRIERS = KERNEL.source.count("__syncthreads();")


@pytest.mark.parametrize("at", range(BARRIERS))
def test_a_barrier_that_is_missing_is_seen(at, texts):
    change = replaced("__syncthreads();", ";", at)
    for seed in range(4):
        with pytest.raises(launch.WrongText, match=r"no barrier after|before it was written"):
            both(KERNEL, FULL, PLAIN, [seed], texts, change=change)


@pytest.mark.parametrize("at", range(BARRIERS))
def test_a_barrier_that_is_missing_makes_wrong_numbers_with_some_seed(at, texts):
    change, found = replaced("__syncthreads();", ";", at), Counter()
    for seed in range(12):
        try:
            both(KERNEL, FULL, PLAIN, [seed], texts, change=change, watch=False)
            found["right"] += 1
        except Different:
            found["wrong"] += 1
    assert found["wrong"] > 0, found


DEFECTS = {
    "a warp's barrier missing": ("__syncwarp();", ";", r"no barrier after|before it was", FULL),
    "a guard too late": ("run + 8 <= length", "run + 7 <= length", r"outside of", ODD),
    "an access too wide": ("8 * (linearId % 2)", "8 * (linearId % 2) + 4", r"aligned|outside of|before it was", FULL),
    "a result that is written twice": ("blockIdx_y + 8 * round", "blockIdx_y", r"written twice", FULL),
    "a barrier for some": ("__syncthreads();", "if (warp) __syncthreads();", r"deadlock|barrier of line", FULL),
    "an mma for some": ("mma_m8n8k4_row_row(d, ", "if (threadIdx.x) mma_m8n8k4_row_row(d, ", r"deadlock|other", FULL),
    "lanes exchanged": ("lane = linearId % 32", "lane = linearId % 32 ^ 1", r"other values", FULL),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect, texts):
    old, new, said, case = DEFECTS[defect]
    with pytest.raises((launch.WrongText, Different), match=said):
        both(KERNEL, case, PLAIN, range(3), texts, change=replaced(old, new))


def test_a_message_says_where(texts):
    with pytest.raises(launch.WrongText) as wrong:
        both(KERNEL, FULL, PLAIN, [0], texts, change=replaced("__syncthreads();", ";", 0))
    assert "block (" in str(wrong.value)
    assert "shared memory at byte" in str(wrong.value)
