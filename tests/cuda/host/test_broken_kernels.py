"""Printed kernels with a defect are refused: what is watched sees it, with every seed; or results differ, with some."""

import re

import cases
import idioms
import pytest
from arrays import Library
from cases import Case
from combinations import Combination

from tests.cuda.host import needs_compiler
from tests.cuda.host.compare import Both, Different
from tests.cuda.host.launch import WrongText
from tests.cuda.host.ptx import Untranslatable

pytestmark = needs_compiler

IDIOM = idioms.idiom_called("plain")
VOLTA = Combination(IDIOM, "row", "row", "row", "m32n32k8", 1, (32, 64, 16), (32, 32, 16))
AMPERE = Combination(IDIOM, "row", "row", "row", "m16n16k16", 1, (32, 64, 32), (32, 32, 32), 3, target="sm_80")
KERNELS = {c: c.compile() for c in (VOLTA, AMPERE)}
FULL = Case({"M": 64, "N": 64, "K": 160}, (8, 8, 8), "normal", seed=1)
EIGHTS = Case({"M": 33, "N": 72, "K": 88}, (8, 8, 8), "normal", seed=1)  # each chunk is inside or outside
ODD = Case({"M": 33, "N": 71, "K": 87}, (8, 8, 8), "normal", seed=1)
RACE = "no barrier after|before it was written"


def failures(c, case, change, seeds, watch=True):
    """What is wrong, by seed, with a kernel whose text is changed; of each seed with which something is."""
    assert change(KERNELS[c].source) != KERNELS[c].source
    both = Both(seeds, change=change, watch=watch, failed={})
    try:
        cases.run(KERNELS[c], c, case, Library(), both, lambda a: a)
    finally:
        both.close()
    return both.failed


def replaced(old, new, at=0):
    """The text with one occurrence of something replaced."""

    def change(text):
        parts = text.split(old)
        assert len(parts) > at + 1, f"the text has no {old!r}"
        return old.join(parts[: at + 1]) + new + old.join(parts[at + 1 :])

    return change


BARRIERS = [(c, at) for c in KERNELS for at in range(KERNELS[c].source.count("__syncthreads();"))]
BARRIERS.remove((AMPERE, 2))  # of the trips after the last one, which only wait: no tile is read or written after it
NAMED = [f"{c.target}-{at}" for c, at in BARRIERS]


RACES = {
    **{f"no barrier {name}": (c, replaced("__syncthreads();", ";", at)) for name, (c, at) in zip(NAMED, BARRIERS)},
    "a group too many on its way": (AMPERE, replaced("wait_group 1", "wait_group 2")),
    "no wait": (AMPERE, replaced("wait_copies_but_1();", ";")),
    "no commit": (AMPERE, lambda text: text.replace("commit_copies();", ";")),
    "a distance one too far": (AMPERE, lambda text: re.sub(r"(ring_[AB])\[2\]", r"\1[0]", text)),
}


@pytest.mark.parametrize("defect", RACES)
def test_a_race_is_seen_with_every_seed(defect):
    c, change = RACES[defect]
    found = failures(c, FULL, change, range(4))
    assert len(found) == 4
    for seen in found.values():
        assert isinstance(seen, WrongText) and re.search(f"{RACE}|copies it", str(seen)), seen


@pytest.mark.parametrize("defect", RACES)
def test_a_race_makes_wrong_numbers_with_some_seed(defect):
    """Nobody watches; only what is computed tells."""
    c, change = RACES[defect]
    found = failures(c, FULL, change, range(12), watch=False)
    assert found and all(isinstance(wrong, Different) for wrong in found.values())


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
    "words exchanged": (VOLTA, FULL, "(d, a[0].x, a[0].y", "(d, a[0].y, a[0].x", "other values"),
    "half a copy": (AMPERE, FULL, "16, %2;", "8, %2;", "cp.async of 8 bytes"),
    "half the source": (AMPERE, EIGHTS, "? 16 : 0", "? 8 : 0", "other values"),
    "all of the source": (AMPERE, EIGHTS, "line < lines && run < length ? 16 : 0", "16", "outside of"),
    "a source too large": (AMPERE, EIGHTS, "? 16 : 0", "? 18 : 0", "cp.async of 16 bytes, 18 of them"),
    "a negative source": (AMPERE, EIGHTS, "? 16 : 0", "? 16 : -2", "cp.async of 16 bytes,"),
    "no line's guard": (AMPERE, EIGHTS, "line < lines && run < length ?", "run < length ?", "outside of"),
    "no run's guard": (AMPERE, EIGHTS, "line < lines && run < length ?", "line < lines ?", "outside of|other values"),
    "the last barrier for some": (AMPERE, FULL, "__syncthreads();\n    }\n", "if (warp) __syncthreads();\n    }\n",
                                  "deadlock|barrier of line"),
    "no line's guard of single values": (AMPERE, ODD, "line < lines && run + i <", "run + i <", "outside of"),
    "A transposed": (AMPERE, FULL, "x4.shared", "x4.trans.shared", "other values"),
    "B not transposed": (AMPERE, FULL, "x4.trans.shared", "x4.shared", "other values"),
    "lines that are none": (AMPERE, FULL, "shared_address(tile)", "8 + shared_address(tile)", "no multiple of 16"),
    "another line": (AMPERE, FULL, "64 * (lane % 16)", "64 * (lane % 16 ^ 1)", "other values"),
    "matrices exchanged": (AMPERE, FULL, "(v.x, v.y, v.z, v.w, ", "(v.x, v.z, v.y, v.w, ", "other values"),
    "bf16 for fp16": (AMPERE, FULL, "f32.f16.f16.f32", "f32.bf16.bf16.f32", "other values"),
    "a slot that is read": (AMPERE, FULL, "ring_A[2]", "ring_A[0]", f"{RACE}|copies it"),
    "a ring that stands still": (AMPERE, FULL, "turn_ring_of_3(ring_A);", ";", f"{RACE}|copies it|other values"),
    "another block": (AMPERE, FULL, "place / height", "place % height", "written twice|other values"),
}  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect):
    c, case, old, new, said = DEFECTS[defect]
    found = failures(c, case, replaced(old, new), range(2))
    assert found and all(re.search(said, str(wrong)) for wrong in found.values()), found


REFUSED = {
    "another instruction": ("cp.async.wait_group 1;", "cp.async.mbarrier.wait_group 1;", "no function"),
    "another modifier": ("cp.async.cg.shared.global", "cp.async.cg.shared::cluster.global", "no function"),
    "an instruction of later ones": ("cp.async.wait_group 1;", "cp.async.bulk.wait_group 1;", "sm_80 has no"),
    "memory that is not said": ('"r"(bytes) : "memory"', '"r"(bytes)', 'without "memory"'),
    "not volatile": ('asm volatile("ldmatrix', 'asm("ldmatrix', "without volatile"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_statement_that_is_wrong_is_refused(what):
    old, new, said = REFUSED[what]
    with pytest.raises(Untranslatable, match=said):
        failures(AMPERE, FULL, replaced(old, new), [0])


def test_a_message_says_where():
    (wrong,) = failures(AMPERE, FULL, replaced("wait_copies_but_1();", ";"), [0]).values()
    assert re.search(r"block \(.*shared memory at byte \d+(?s:.*)line \d+: .*swizzled", str(wrong))
