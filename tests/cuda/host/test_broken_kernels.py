"""Printed kernels with a defect are refused: what is watched sees it, with every seed; or results differ, with some."""

from collections import Counter

import cases
import combinations
import pytest
from arrays import Library
from cases import Case
from combinations import Combination

from tests.cuda.host import needs_compiler
from tests.cuda.host.compare import Both, Different
from tests.cuda.host.launch import WrongText
from tests.cuda.host.ptx import Untranslatable

pytestmark = needs_compiler

IDIOM = combinations.idiom_called("plain")
VOLTA = Combination(IDIOM, "row", "row", "row", "m32n32k8", 1, (32, 64, 16), (32, 32, 16))
AMPERE = Combination(IDIOM, "row", "row", "row", "m16n16k16", 1, (32, 64, 32), (32, 32, 32), 3, target="sm_80")
KERNELS = {c: c.compile() for c in (VOLTA, AMPERE)}
FULL = Case({"M": 64, "N": 64, "K": 160}, (8, 8, 8), "normal", seed=1)
ODD = Case({"M": 33, "N": 71, "K": 87}, (8, 8, 8), "normal", seed=1)
RACE = "no barrier after|before it was written"


@pytest.fixture
def texts():
    """Compiled texts of a test, forgotten afterwards."""
    kept = Both(())
    yield kept.texts
    kept.close()


def run(c, case, change, seeds, texts, watch=True):
    """A case of a kernel whose text is changed: in the interpreter, and on the host with each seed."""
    assert change(KERNELS[c].source) != KERNELS[c].source
    cases.run(KERNELS[c], c, case, Library(), Both(seeds, texts, change, watch), lambda a: a)


def replaced(old, new, at=0):
    """The text with one occurrence of something replaced."""

    def change(text):
        parts = text.split(old)
        assert len(parts) > at + 1, f"the text has no {old!r}"
        return old.join(parts[: at + 1]) + new + old.join(parts[at + 1 :])

    return change


BARRIERS = [(c, at) for c in KERNELS for at in range(KERNELS[c].source.count("__syncthreads();"))]
NAMED = [f"{c.target}-{at}" for c, at in BARRIERS]


@pytest.mark.parametrize(("c", "at"), BARRIERS, ids=NAMED)
def test_a_barrier_that_is_missing_is_seen(c, at, texts):
    for seed in range(4):
        with pytest.raises(WrongText, match=f"{RACE}|copies it"):
            run(c, FULL, replaced("__syncthreads();", ";", at), [seed], texts)


RACES = {
    **{f"no barrier {name}": (c, replaced("__syncthreads();", ";", at)) for name, (c, at) in zip(NAMED, BARRIERS)},
    "a group too many on its way": (AMPERE, replaced("wait_group 1", "wait_group 2")),
    "no wait": (AMPERE, replaced("wait_copies_but_1();", ";")),
    "no commit": (AMPERE, lambda text: text.replace("commit_copies();", ";")),
    "a distance one too far": (AMPERE, lambda text: text.replace("(c2 + 2) % 3", "(c2 + 3) % 3")),
}


@pytest.mark.parametrize("defect", RACES)
def test_a_race_makes_wrong_numbers_with_some_seed(defect, texts):
    """Nobody watches; only what is computed tells."""
    c, change = RACES[defect]
    found = Counter()
    for seed in range(12):
        try:
            run(c, FULL, change, [seed], texts, watch=False)
            found["right"] += 1
        except Different:
            found["wrong"] += 1
    assert found["wrong"] > 0, found


DEFECTS = {
    "a warp's barrier missing": (VOLTA, FULL, "__syncwarp();", ";", RACE),
    "a guard too late": (VOLTA, ODD, "run + 8 <= length", "run + 7 <= length", "outside of"),
    "an access too wide": (VOLTA, FULL, "8 * (linearId % 2)", "8 * (linearId % 2) + 4", f"aligned|outside of|{RACE}"),
    "a result that is written twice": (VOLTA, FULL, "blockIdx_y + 8 * round", "blockIdx_y", "written twice"),
    "a barrier for some": (VOLTA, FULL, "__syncthreads();", "if (warp) __syncthreads();", "deadlock|barrier of line"),
    "an mma for some": (VOLTA, FULL, "mma_m8n8k4_row_row(d, ", "if (threadIdx.x) mma_m8n8k4_row_row(d, ",
                        "deadlock|other lanes"),
    "lanes exchanged": (VOLTA, FULL, "lane = linearId % 32", "lane = linearId % 32 ^ 1", "other values"),
    "mma of another layout": (VOLTA, FULL, "k4.row.row", "k4.row.col", "other values"),
    "words exchanged": (VOLTA, FULL, "(d, a.x, a.y", "(d, a.y, a.x", "other values"),
    "a group too many on its way": (AMPERE, FULL, "wait_group 1", "wait_group 2", "copies it"),
    "no wait": (AMPERE, FULL, "wait_copies_but_1();", ";", "copies it"),
    "half a copy": (AMPERE, FULL, ", 16;", ", 8;", "cp.async of 8 bytes"),
    "half the source": (AMPERE, ODD, "2 * min(", "min(", "other values"),
    "all of the source": (AMPERE, ODD, "2 * min(max(inside, 0), 8)", "16", "outside of"),
    "a source too large": (AMPERE, ODD, "2 * min(max(inside, 0), 8)", "2 * max(inside, 0)", "cp.async of 16 bytes,"),
    "a negative source": (AMPERE, ODD, "min(max(inside, 0), 8)", "min(inside, 8)", "cp.async of 16 bytes,"),
    "no line's guard": (AMPERE, ODD, "line < lines ? length - run : 0", "length - run", "outside of"),
    "A transposed": (AMPERE, FULL, "x4.shared", "x4.trans.shared", "other values"),
    "B not transposed": (AMPERE, FULL, "x4.trans.shared", "x4.shared", "other values"),
    "lines that are none": (AMPERE, FULL, "own = 16 * ", "own = 8 * ", "no multiple of 16"),
    "another line": (AMPERE, FULL, "64 * (lane % 16)", "64 * (lane % 16 ^ 1)", "other values"),
    "matrices exchanged": (AMPERE, FULL, "(v.x, v.y, v.z, v.w, ", "(v.x, v.z, v.y, v.w, ", "other values"),
    "bf16 for fp16": (AMPERE, FULL, "f32.f16.f16.f32", "f32.bf16.bf16.f32", "other values"),
    "a slot that is read": (AMPERE, FULL, "shared_A + 128 * ((c2 + 2) % 3)", "shared_A + 128 * (c2 % 3)", RACE),
    "another block": (AMPERE, FULL, "place / height", "place % height", "written twice|other values"),
}  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect, texts):
    c, case, old, new, said = DEFECTS[defect]
    with pytest.raises((WrongText, Different), match=said):
        run(c, case, replaced(old, new), range(3), texts)


REFUSED = {
    "another instruction": ("cp.async.wait_group 1;", "cp.async.bulk.wait_group 1;", "no function"),
    "another modifier": ("cp.async.cg.shared.global", "cp.async.cg.shared::cluster.global", "no function"),
    "memory that is not said": ('"l"(from) : "memory"', '"l"(from)', 'without "memory"'),
    "not volatile": ('asm volatile("ldmatrix', 'asm("ldmatrix', "without volatile"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_statement_that_is_wrong_is_refused(what, texts):
    old, new, said = REFUSED[what]
    with pytest.raises(Untranslatable, match=said):
        run(AMPERE, FULL, replaced(old, new), [0], texts)


def test_a_message_says_where(texts):
    with pytest.raises(WrongText, match=r"block \(.*shared memory at byte \d+(?s:.*)line \d+: .*swizzled"):
        run(AMPERE, FULL, replaced("wait_copies_but_1();", ";"), [0], texts)
