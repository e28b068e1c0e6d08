"""`kernel.verify()` as users have it: every kernel comes with its proofs, for all sizes, by name, in one order."""

import random

import combinations
import pytest

import polyvolta as pv
from polyvolta.cli.gallery import IDIOMS, idiom
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.verify.report.asked import PROOFS, UnknownProof

LITTLE = [c for c in combinations.combinations() if c.block[0] * c.block[1] <= 32 * 64]
OF_HOPPER = ("layouts", "phases", "deadlock", "in_flight", "proxies", "grids")
OWN = [name for name in PROOFS if name not in OF_HOPPER]
"""The proofs that a kernel of warps has a use for."""
SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}


@pytest.fixture(scope="module")
def small():
    return pv.compile(idiom("matmul"), options=pv.Options(**SMALL))


@pytest.mark.parametrize("name", IDIOMS)
def test_the_default_kernel_of_every_idiom_is_proved(name):
    kernel = pv.compile(idiom(name))
    report = kernel.verify()
    assert report.ok, report
    assert [p.id for p in report.proofs] == OWN
    loose = ", L >= 0" if "L" in kernel.ir.sizes else ""
    assert {p.sizes for p in report.proofs} == {f"all M >= 1, N >= 1, K >= 0{loose}"}
    assert all(p.statement and p.relation and p.seconds >= 0 for p in report.proofs)
    assert repr(report).endswith(f"; {len(OWN)} statements proved in {report.seconds:.2f} s>")


@pytest.mark.parametrize(
    "name, options",
    [
        ("epilogue", {"split_k": 2, **SMALL}),
        ("sum", {"accumulators": "separate", "buffers": 2, **SMALL}),
        ("prologue", {"split_k": 4, "buffers": 2, "partial": "pad", **SMALL}),
        ("matmul", {"macro_mma": "m32n32k8", "block_tile": (64, 32, 16), "warp_tile": (32, 32, 16), "buffers": 2}),
    ],
)
@pytest.mark.parametrize("layouts", [("row", "col"), ("col", "row")])
def test_options_change_the_kernel_and_not_that_it_is_right(name, options, layouts):
    report = pv.compile(idiom(name, layouts), options=pv.Options(**options)).verify()
    assert report.ok, report


@pytest.mark.parametrize("c", random.Random(6).sample(LITTLE, 6), ids=lambda c: c.name)
def test_no_alarm_on_a_sample_of_the_matrix(c):
    """`python benchmarks/verify.py --matrix` has all of it."""
    report = c.compile().verify()
    assert report.ok, report
    assert len(report.proofs) == len(OWN)


@pytest.mark.parametrize(
    "align, said", [(4, "in values: A and ldA of 4, B and ldB of 8, C and ldC of 4"), (1, "in values: B and ldB of 8")]
)
def test_variants_for_narrower_accesses_are_proved_too(small, align, said):
    report = small.variant(A=align, C=align).verify()
    assert report.ok, report
    assert report["alignment"].statement.endswith(said)


@pytest.mark.parametrize("layouts", [("row", "col"), ("col", "row"), ("row", "row")])
@pytest.mark.parametrize("depth", [16, 32, 64])
@pytest.mark.parametrize("align", [4, 2, 1])
def test_copies_in_pieces_are_free_of_conflicts(layouts, depth, align):
    """Neighbouring lanes' chunks are 16 bytes apart, and their pieces take turns with the banks between."""
    tiles = {"block_tile": (64, 64, depth), "warp_tile": (32, 32, depth)}
    kernel = pv.compile(idiom("matmul", layouts), target="sm_80", options=pv.Options(**tiles)).variant(A=align, B=align)
    report = kernel.verify()
    assert report.ok, report
    assert report["bank_conflicts"].relation.count(f"{16 * align if align > 1 else 128} bits a lane, 1-way") >= 2


@pytest.mark.parametrize(("depth", "bits"), [(20, 64), (22, 32)])
def test_copies_of_lines_of_a_known_length_are_proved(depth, bits):
    """A length that is a multiple of 4 or 2 values, and not of 8."""
    M, N = pv.sizes("M N")
    product = pv.tensor("A", (M, depth)) @ pv.tensor("B", (depth, N), layout="col")
    report = pv.compile(product, target="sm_80").verify()
    assert report.ok, report
    copied = [x for x in report["bank_conflicts"].relation.split("; ") if x.startswith("copy_")]
    assert len(copied) == 2 and all(x.endswith(f"{bits} bits a lane, 1-way") for x in copied)


def test_known_sizes_are_the_ones_that_a_proof_covers():
    N = pv.sizes("N")
    product = pv.tensor("A", (40, 24)) @ pv.tensor("B", (24, N), layout="col")
    report = pv.compile(product, options=pv.Options(**SMALL)).verify()
    assert report.ok, report
    assert report["bounds"].sizes == "all N >= 1, with A[40, 24], B[24, N], C[40, N]"


def test_only_what_is_asked_for_is_proved(small):
    assert [p.id for p in small.verify("bounds").proofs] == ["bounds"]
    assert [p.id for p in small.verify(("bounds", "fresh")).proofs] == ["fresh", "bounds"]
    with pytest.raises(UnknownProof, match="did you mean 'bank_conflicts'"):
        small.verify("bank_conflict")


def test_a_broken_kernel_is_refuted_where_it_is_broken(small):
    wrong = broken(small, "no barrier after the stores")
    report = wrong.verify()
    assert not report.ok
    assert [p.id for p in report.refuted] == ["barriers_between"]
    case = report["barriers_between"].counter_example
    assert {case.place.statement[:4], case.other.statement[:5]} == {"frag", "store"}
    assert wrong.source.split("\n")[case.place.line - 1].strip() == case.place.text
    assert set(case.sizes) == {"M", "N", "K"} and case.warp is not None and case.lane is not None
    assert "<-- here" in str(report) and "✗ barriers_between" in report._repr_html_()


def test_what_is_no_set_is_not_written_as_one(small):
    report = small.verify(("barriers_between", "not_overwritten", "barriers_reached", "written_once", "sectors"))
    for name in ("barriers_between", "not_overwritten", "barriers_reached"):
        assert "{" not in report[name].relation, report[name].relation
    assert (
        "have a barrier between (in the text: 2 of the block and 2 of the warp); reads: shared_A: "
        in report["barriers_between"].relation
    )
    assert "in the grid (floor((N + 31)/32), floor((M + 31)/32), 1)" in report["written_once"].relation
    assert "up to one more where the address or leading dimension is no multiple of 16" in report["sectors"].statement
