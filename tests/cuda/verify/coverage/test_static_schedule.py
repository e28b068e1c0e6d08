"""The proofs about trees: dependences and partition, against enumeration at small sizes, and on broken trees."""

import re
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

import polyvolta as pv
from polyvolta.cli import gallery
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.verify.coverage.schedule import PROVERS, of_instances, tile_sizes
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.report.records import CounterExample, Verdict
from polyvolta.sched.tree import Domain, Filter
from polyvolta.sets import Set

SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}
OPTIONS = {
    "plain": {},
    "split": {"split_k": 2, "buffers": 2},
    "pad": {"partial": "pad"},
    "large": {"macro_mma": "m32n32k8", "warp_tile": (32, 32, 16), "block_tile": (64, 32, 16)},
}


@cache
def compiled(idiom: str, options: str = "plain") -> Kernel:
    return pv.compile(gallery.idiom(idiom), options=pv.Options(**(SMALL | OPTIONS[options])))


def asked(proof: str, kernel: Kernel) -> Verdict:
    return PROVERS[proof](kernel.ir, kernel.graph, kernel.stages)


def case(proof: str, kernel: Kernel) -> CounterExample:
    found = asked(proof, kernel).counter_example
    assert found is not None
    return found


@pytest.mark.parametrize("proof", PROVERS)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("idiom", gallery.IDIOMS)
def test_every_idiom_is_proved(idiom, options, proof):
    verdict = asked(proof, compiled(idiom, options))
    assert verdict.counter_example is None
    assert "S" in verdict.relation


@pytest.mark.parametrize("proof", PROVERS)
def test_sizes_that_are_numbers(proof):
    a, b = pv.tensor("A", (40, 24)), pv.tensor("B", (24, 7))
    kernel = pv.compile(pv.relu(a @ b), options=pv.Options(**SMALL))
    assert asked(proof, kernel).counter_example is None
    assert "i <= 39" in asked(proof, kernel).relation


def test_a_split_k_says_that_sums_are_made_in_parts():
    assert "in 2 parts, which the kernel adds" in asked("dependences", compiled("matmul", "split")).statement
    assert "parts" not in asked("dependences", compiled("matmul")).statement


# ---- partition, by enumeration


def times_in_tiles(kernel: Kernel, stage: str, statement: str, **sizes: int) -> dict[tuple[int, ...], int]:
    """Each scalar instance -> the number of macro tiles that it is in."""
    tile = tile_sizes(kernel.ir, kernel.graph)[statement]
    domain = next(s.domain for s in kernel.graph.statements if s.name == statement)
    found = dict.fromkeys(domain.points(**sizes), 0)
    for base in kernel.stages[stage].domain.only(statement).points(**sizes):
        for inside in product(*map(range, tile)):
            point = tuple(b + x for b, x in zip(base, inside))
            if point in found:
                found[point] += 1
    return found


@pytest.mark.parametrize("stage", ["contracted", "promoted"])
def test_partition_is_what_enumeration_says(stage):
    kernel = compiled("epilogue")
    for statement, sizes in (("S1", (17, 3, 9)), ("S2", (33, 16, 1))):
        counts = times_in_tiles(kernel, stage, statement, **dict(zip("MNK", sizes)))
        assert set(counts.values()) == {1}


def shown_instance(text: str) -> tuple[str, tuple[int, ...]]:
    name, values = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
    return name, tuple(map(int, values.split(", ")))


def with_domain(kernel: Kernel, change) -> Kernel:
    """The kernel with another domain in every tree from the contracted one on."""
    stages, on = {}, False
    for name, tree in kernel.stages.items():
        on = on or name == "contracted"
        stages[name] = tree.replace((), replace(tree.root, domain=change(tree.domain))) if on else tree
    return replace(kernel, stages=type(kernel.stages)(stages))


def test_tiles_that_begin_one_row_down_miss_an_instance():
    kernel = broken(compiled("matmul"), "macro tiles one row down")
    found = case("partition", kernel)
    statement, instance = shown_instance(found.address)
    assert times_in_tiles(kernel, "contracted", statement, **found.sizes)[instance] == 0


def test_tiles_that_overlap():
    kernel = compiled("epilogue")
    closer = Set("[M, N] -> { S2[i, j] : i mod 8 = 0 and j mod 16 = 0 and 0 <= i < M and 0 <= j < N }")
    kernel = with_domain(kernel, lambda d: d.only("S1") | closer)
    found = case("partition", kernel)
    assert "overlap" in found.what
    statement, instance = shown_instance(found.address)
    counts = times_in_tiles(kernel, "contracted", statement, **found.sizes)
    assert max(counts.values()) > 1 and statement == "S2" and len(instance) == 2


def test_a_macro_instance_that_the_last_tree_lacks():
    kernel = compiled("matmul")
    last = list(kernel.stages)[-1]
    root = kernel.stages[last].root
    assert isinstance(root, Domain)
    fewer = root.domain & Set("{ S[i, j, k] : i >= 16 }")
    tree = kernel.stages[last].replace((), replace(root, domain=fewer))
    stages = type(kernel.stages)({**kernel.stages, last: tree})
    found = case("partition", replace(kernel, stages=stages))
    assert shown_instance(found.address)[1][0] < 16


# ---- dependences, by enumeration


def test_a_filter_of_some_instances_is_not_decided():
    kernel = compiled("epilogue")
    tree = kernel.stages["contracted"]
    at = next(at for at in tree.find(Filter) if tree.node(at).statements == ("S2",))
    some = tree.replace(at, replace(tree.node(at), instances=Set("{ S2[i, j] : i >= 16 }")))
    with pytest.raises(Undecided, match="some instances"):
        of_instances(some, kernel.graph, tile_sizes(kernel.ir, kernel.graph))


@pytest.mark.parametrize("reverse", [False, True])
def test_dependences_are_what_enumeration_says(reverse):
    kernel = compiled("matmul")
    if reverse:
        kernel = broken(kernel, "k tiles backwards")
    last = list(kernel.stages)[-1]
    tree = of_instances(kernel.stages[last], kernel.graph, tile_sizes(kernel.ir, kernel.graph))
    bands = [tree.band(at) for at in tree.bands()]
    members = [m.of("S") for b in bands for m in b.members if "S" in dict(m.exprs)]

    def in_order(k: int, later: int) -> bool:
        first, second = ([e.evaluate({"i": 0, "j": 0, "k": x}) for e in members] for x in (k, later))
        return first < second or k // 8 == later // 8  # of one macro tile

    assert all(in_order(k, x) for x in range(40) for k in range(x)) != reverse
    found = asked("dependences", kernel).counter_example
    assert (found is not None) == reverse
    if found is not None:
        k, later = (int(x) for x in re.findall(r"S\[0, 0, (\d+)\]", found.what))
        assert k < later < found.sizes["K"] and not in_order(k, later)
        assert kernel.stages[last].band(found.node)


def test_parts_of_a_sum_that_the_kernel_does_not_add_are_out_of_order():
    kernel = broken(compiled("matmul", "split"), "a part of a split K dropped")
    assert "warpIdx_z" in case("dependences", kernel).what


def test_another_warp_takes_the_accumulators_over():
    kernel = compiled("epilogue")
    last = list(kernel.stages)[-1]
    tree = kernel.stages[last]

    def turned(e):
        return 1 - e

    for at in tree.bands():
        band = tree.band(at)
        if "S2" in band.statements and any(m.name == "warpIdx_y" for m in band.members):
            members = tuple(
                m.map(lambda s, e: turned(e) if s == "S2" else e) if m.name == "warpIdx_y" else m for m in band.members
            )
            tree = tree.replace(at, replace(band, members=members))
    stages = type(kernel.stages)({**kernel.stages, last: tree})
    found = case("dependences", replace(kernel, stages=stages))
    assert "S2 takes C over in another warpIdx_y" in found.what
