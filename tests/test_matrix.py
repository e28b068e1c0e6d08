"""A sample of the matrix of kernels (`benchmarks/combinations.py`), drawn anew by a fixed seed.

The laws: every combination compiles; on any sizes, from arrays anywhere in memory, the interpreter computes what
numpy computes in float64; nothing around an array changes; what lies around inputs does not matter; no kernel that the
default rule chooses spills registers. `python benchmarks/matrix.py --interpret` has all combinations.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import arrays
import cases
import combinations
import matrix
import numpy as np
import pytest
from arrays import Library
from cases import Case
from combinations import Combination
from families import FAMILIES, HOPPER, Family, Warpgroups
from idioms import IDIOMS, LAYOUTS, OF_ONE_MATRIX, Idiom, expected, graph, idioms_of

import polyvolta as pv

LATER = ("sm_75", "sm_80")


def small(target: str = "sm_70") -> list[Combination]:
    """The combinations of a target that the interpreter is done with soon."""
    return [c for c in combinations.combinations(target) if c.block[0] * c.block[1] * c.split_k <= 64 * 64]


def sample(seed: int, count: int, target: str = "sm_70") -> list[Combination]:
    """Combinations at random, of as many idioms as possible."""
    pick, among, known = random.Random(seed), small(target), idioms_of(FAMILIES[target])
    idioms = pick.sample(known, len(known)) * (count // len(known) + 1)
    return [pick.choice([c for c in among if c.idiom == i]) for i in idioms[:count]]


def ringed(seed: int, count: int, target: str) -> list[Combination]:
    """Rings at random, with copies ahead by some tiles."""
    return random.Random(seed).sample([c for c in combinations.rings(target) if c.ahead], count)


def name(value: object) -> str | None:
    return value.name if isinstance(value, Combination) else None


# ---- the harness itself: what it must find, it finds


def fake(defect: str):
    """A kernel in numpy with a defect."""

    class Fake:
        def interpret(self, out, A, B, **how):
            result = A.astype(np.float64) @ B.astype(np.float64)
            out[...] = result
            last = out[-1:, -1:]
            match defect:
                case "unwritten":
                    last[...] = np.array(arrays.OUTPUT_POISON, np.uint16).view(np.float16)
                case "nan":
                    last[...] = np.nan
                case "one wrong":
                    last[...] += 16
                case "all a bit off":
                    out[...] = result * 1.002
                case "behind":
                    np.lib.stride_tricks.as_strided(last, (2,), (2 * out.strides[0],))[1] = 0
                case "before":
                    np.lib.stride_tricks.as_strided(out, (2,), (-2,))[1] = 0
                case "input":
                    B[0, 0] += 1

    return Fake()


PLAIN = next(c for c in small() if c.idiom.name == "plain" and c.c == "row")


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        ("unwritten", "1 not written"),
        ("nan", "1 NaN"),
        ("one wrong", "1 far off"),
        ("all a bit off", "error"),
        ("behind", "changed"),
        ("before", "changed"),
        ("input", "words of B changed"),
    ],
)
def test_the_harness_finds_a_planted_defect(defect: str, said: str) -> None:
    case = Case({"M": 33, "N": 17, "K": 40}, (4, 2, 1), "normal", seed=3)
    assert cases.interpret(fake("none"), PLAIN, case).good
    verdict = cases.interpret(fake(defect), PLAIN, case)
    assert not verdict.good
    assert said in str(verdict)


OF_WARPS = [f for f in FAMILIES.values() if not isinstance(f, Warpgroups)]


@pytest.mark.parametrize("family", OF_WARPS, ids=lambda f: f.target)
def test_the_matrix_has_every_layout_macro_mma_and_split_of_every_idiom(family: Family) -> None:
    everything = combinations.combinations(family.target)
    assert len({c.name for c in everything}) == len(everything) >= 900
    for idiom in IDIOMS:
        mine = [c for c in everything if c.idiom == idiom]
        layouts = 2 if idiom.name == "one tensor twice" else 4
        pairs = set(product(family.macros, combinations.SPLITS))
        left_out = len(pairs) // family.skipped if family.skipped else 0
        assert len({(c.a, c.b, c.macro, c.split_k) for c in mine}) == layouts * (len(pairs) - left_out), idiom.name
        assert {(c.macro, c.split_k) for c in mine} == pairs or layouts == 2, idiom.name
        assert {c.dtype for c in mine} == set(family.dtypes), idiom.name
    assert {(c.block, c.warp) for c in everything} <= set(family.tiles)
    assert len({(c.block, c.warp) for c in everything}) >= 16 and {c.buffers for c in everything} == {*family.buffers}


def test_the_matrix_of_warpgroups_has_every_layout_of_every_idiom_and_all_ways_with_all_widths() -> None:
    everything = [c for c in combinations.combinations("sm_90a") if c.cluster is None]
    assert len({c.name for c in everything}) == len(everything) >= 300
    for idiom in idioms_of(HOPPER):
        mine = [c for c in everything if c.idiom == idiom]
        layouts = [x for x in product(LAYOUTS, LAYOUTS, LAYOUTS) if idiom.name != "one tensor twice" or x[0] == x[1]]
        assert {(c.a, c.b, c.c) for c in mine} == set(layouts) and len(mine) == HOPPER.each * len(layouts), idiom.name
        assert {c.dtype for c in mine} == {*HOPPER.dtypes}, idiom.name
        for way in ("persistent", "dependent", "swap"):
            assert {getattr(c, way) for c in mine} == {False, True}, (idiom.name, way)
    ways = set(product((False, True), repeat=3))
    assert {(c.macro, c.persistent, c.swap) for c in everything} == {*product(HOPPER.macros, *[(False, True)] * 2)}
    for what, values in (("group", HOPPER.groups), ("occupancy", HOPPER.occupancies)):
        for value in values:
            mine = [c for c in everything if getattr(c, what) == value]
            assert {(c.persistent, c.dependent, c.swap) for c in mine} == ways, (what, value)
    tiles = {(*(t[1::-1] + t[2:] if c.swap else t for t in (c.block, c.warp)), c.macro) for c in everything}
    assert tiles == set(HOPPER.plans) and {macro for *_, macro in HOPPER.plans} == set(HOPPER.macros)
    assert {c.buffers for c in everything} == {*HOPPER.buffers}


TOGETHER = [c for c in combinations.combinations("sm_90a") if c.cluster is not None]


def test_each_idiom_of_warpgroups_is_there_in_clusters_and_in_turns() -> None:
    assert len({c.name for c in TOGETHER}) == len(TOGETHER)
    for idiom in idioms_of(HOPPER):
        mine = [c for c in TOGETHER if c.idiom == idiom]
        ways = [way for way in HOPPER.together if way[1] == 1 or idiom.results == 1]  # one accumulator is added up
        assert [(c.cluster, c.split_k, c.pingpong) for c in mine] == ways, idiom.name
    for way in HOPPER.together:
        mine = [c for c in TOGETHER if (c.cluster, c.split_k, c.pingpong) == way]
        for what in ("a", "b", "c", "dtype", "dependent"):
            assert len({getattr(c, what) for c in mine}) == 2, (way, what)
        assert len({c.block for c in mine}) >= 5, way


ALONE = [c for c in combinations.combinations("sm_90a") if c.cluster is None]


@pytest.mark.parametrize("c", random.Random(22).sample(ALONE, 4), ids=name)
def test_a_name_of_hopper_s_says_the_kernel(c: Combination) -> None:
    kernel, (*_, ways) = c.compile(), c.name.partition("/b")
    o, letters = kernel.options, ways.split("/")[1:]
    assert (o.macro_mma, o.block_tile, o.warp_tile, o.buffers) == (c.macro, c.block, c.warp, c.buffers)
    assert (o.persistent, o.dependent_launch, o.swap) == tuple(x in letters for x in "pdx")
    assert o.occupancy == (2 if "o2" in letters else 1)
    assert kernel.boxed, c.name


@pytest.mark.parametrize("idiom", (*IDIOMS, *OF_ONE_MATRIX), ids=lambda i: i.name)
def test_the_reference_computes_what_a_formula_says(idiom: Idiom) -> None:
    rng = np.random.default_rng(5)
    sizes = dict(zip("MNKLH", (5, 6, 7, 3, 4)))
    values = {
        n: rng.standard_normal([1 if d == "1" else sizes[d] for d in text.split()[0]])
        for n, text in idiom.tensors.items()
    } | dict.fromkeys(idiom.scalars, 0.75)
    exact = expected(idiom, values, np)
    got = pv.reference(graph(idiom, "row", "col", "row"), **values)
    for e, g in zip(exact, got if isinstance(got, tuple) else (got,), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-12)


# ---- kernels


@pytest.mark.parametrize("c", sample(seed=11, count=len(IDIOMS)), ids=name)
def test_interpreted_on_random_sizes(c: Combination) -> None:
    kernel = c.compile()
    for kind in ("odd", "full", "special"):
        case = cases.draw(c, f"ci {c.name}", kind, 2**19)
        verdict = cases.interpret(kernel, c, case)
        assert verdict.good, f"{case}: {verdict}"


@pytest.mark.parametrize("c", [c for t in LATER for c in (*sample(14, 6, t), *ringed(15, 2, t))], ids=name)
def test_interpreted_for_later_chips(c: Combination) -> None:
    kernel = c.compile()
    for kind, copies in (("odd", "lazy"), ("full", 7)):
        case = cases.draw(c, f"ci {c.name}", kind, 2**18)
        verdict = cases.interpret(kernel, c, case, copies=copies)
        assert verdict.good, f"{case}: {verdict}"


@pytest.mark.parametrize("c", [*sample(23, 8, "sm_90a"), *random.Random(24).sample(combinations.rings("sm_90a"), 2)],
                         ids=name)  # fmt: skip
def test_interpreted_for_hopper(c: Combination) -> None:
    kernel = c.compile()
    for kind, copies in (("boxed", "lazy"), ("odd", "eager"), ("full", 7)):
        case = cases.draw(c, f"ci {c.name}", kind, 2**18)
        verdict = cases.interpret(kernel, c, case, copies=copies)
        assert verdict.good, f"{case}: {verdict}"


@pytest.mark.parametrize("c", [next(c for c in random.Random(n).sample(TOGETHER, len(TOGETHER)) if (
    c.cluster, c.split_k, c.pingpong) == way) for n, way in enumerate(HOPPER.together[:4])], ids=name)  # fmt: skip
def test_interpreted_in_clusters_and_in_turns(c: Combination) -> None:
    kernel, case = c.compile(), cases.draw(c, f"ci {c.name}", "boxed", 2**18)
    options, letters = kernel.options, c.name.split("/")
    assert options.pingpong == ("t" in letters) == bool(c.pingpong)
    assert options.cluster == c.cluster and (c.cluster == (1, 1) or f"c{c.cluster[0]}x{c.cluster[1]}" in letters)
    verdict = cases.interpret(kernel, c, case, copies=5)
    assert verdict.good, f"{case}: {verdict}"


@pytest.mark.parametrize("copies", ["lazy", "eager", 3])
@pytest.mark.parametrize("c", [*sample(16, 3, "sm_80"), *ringed(17, 1, "sm_80")], ids=name)
def test_observers_find_nothing_whenever_copies_arrive(c: Combination, copies: str | int) -> None:
    sizes = {n: 3 * c.step[2] + 8 if n in "KLH" else 40 for n in c.idiom.sizes}
    verdict = cases.interpret(c.compile(), c, Case(sizes, (8,) * 12, "coarse", seed=2), True, copies)
    assert verdict.good, str(verdict)


EDGES = (
    {"M": 1, "N": 1, "K": 1, "L": 1, "H": 1},
    {"M": 7, "N": 17, "K": 33, "L": 1, "H": 65},
    {"M": 33, "N": 7, "K": 17, "L": 0, "H": 7},
    {"M": 17, "N": 33, "K": 0, "L": 0, "H": 0},
    {"M": 65, "N": 31, "K": 100, "L": 9, "H": 33},
)


@pytest.mark.parametrize("sizes", EDGES, ids=lambda s: "x".join(map(str, s.values())))
@pytest.mark.parametrize("c", [*sample(seed=12, count=4), *sample(18, 1, "sm_75"), *sample(19, 2, "sm_80")], ids=name)
def test_interpreted_on_sizes_that_nothing_divides(c: Combination, sizes: dict[str, int]) -> None:
    align = tuple(random.Random(str(sizes)).choices((8, 4, 2, 1), k=12))
    case = Case({n: sizes[n] for n in c.idiom.sizes}, align, "coarse", seed=1)
    verdict = cases.interpret(c.compile(), c, case)
    assert verdict.good, str(verdict)


@pytest.mark.parametrize("align", [8, 4, 2, 1])
@pytest.mark.parametrize("layouts", ["row.row-row", "row.col-col", "col.row-row", "col.col-col"])
def test_views_at_any_address(layouts: str, align: int) -> None:
    words = layouts.replace("-", ".").split(".")
    c = replace(PLAIN, a=words[0], b=words[1], c=words[2], macro="m32n32k8", block=(32, 64, 16), warp=(32, 32, 16))
    case = Case({"M": 34, "N": 70, "K": 21}, (align,) * 3, "normal", seed=align)
    verdict = cases.interpret(c.compile(), c, case)
    assert verdict.good, str(verdict)


TURNED = [("sm_75", "row.col-row"), ("sm_80", "row.row-col"), ("sm_80", "col.col-row")]


@pytest.mark.parametrize("align", [8, 4, 2, 1])
@pytest.mark.parametrize(("target", "layouts"), TURNED)
def test_views_at_any_address_for_later_chips(target: str, layouts: str, align: int) -> None:
    a, b, c = layouts.replace("-", ".").split(".")
    plain = next(x for x in small(target) if x.idiom.name == "plain")
    c = replace(plain, a=a, b=b, c=c, macro="m16n32k16", block=(32, 64, 16), warp=(16, 32, 16), buffers=2, group=None)
    case = Case({"M": 34, "N": 70, "K": 37}, (align,) * 3, "normal", seed=align)
    verdict = cases.interpret(c.compile(), c, case)
    assert verdict.good, str(verdict)


def test_empty_results() -> None:
    kernel = PLAIN.compile()
    for m, n in ((0, 5), (5, 0), (0, 0)):
        a, b = np.zeros((m, 4), np.float16), np.zeros((4, n), np.float16)
        got = kernel.interpret(np.asarray(a, order="C"), np.asarray(b, order="F" if PLAIN.b == "col" else "C"))
        assert got.shape == (m, n)


@pytest.mark.parametrize("c", [*sample(seed=13, count=6), *sample(20, 1, "sm_75"), *sample(21, 2, "sm_80")], ids=name)
def test_machine_code(c: Combination) -> None:
    found = c.compile().resources()
    assert 0 < found.registers <= 255
    assert found.shared_bytes <= FAMILIES[c.target].shared


VOLTAS = product(["sm_70"], ["plain", "bias relu", "gated", "sum, prologues, residual"], ["col.row-row", "row.col-row"])
LATERS = [
    ("sm_75", "plain", "row.col-row"),
    ("sm_75", "gated", "col.row-col"),
    ("sm_80", "bias relu", "row.row-row"),
    ("sm_80", "gated", "row.col-row"),
    ("sm_90a", "gated, one relu of A", "row.col-row"),
    ("sm_90a", "sigmoid of A and B", "col.row-col"),
]


@pytest.mark.parametrize(("target", "idiom", "layouts"), [*VOLTAS, *LATERS])
def test_the_default_rule_chooses_nothing_that_spills(target: str, idiom: str, layouts: str) -> None:
    a, b, c = layouts.replace("-", ".").split(".")
    found = matrix.default_one((idiom, a, b, c, 0, target))
    assert (found["spills"], found["local"]) == (0, 0), found["options"]


def test_the_reference_of_arrays_sees_no_padding() -> None:
    values = np.ones((3, 5), np.float16)
    g = arrays.guarded(Library(), values, "col", 2, np.random.default_rng(0))
    assert np.array_equal(g.array, values)
    assert np.isnan(g.buffer.view(np.float16)).sum() == g.buffer.size - values.size
    assert g.array.ctypes.data % 4 == 0 and g.array.ctypes.data % 8 != 0
