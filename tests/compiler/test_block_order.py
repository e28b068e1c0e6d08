"""Kernels whose blocks start in groups of rows: the same results, the same grid, and everybody says the same."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.arguments import TooLarge
from polyvolta.compiler.rule.values import GROUPS, BadOption
from polyvolta.cuda.ir.block_order import HIGHEST, BlockOrder
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.run.device_function import device_text
from polyvolta.cuda.verify.verify import verify

TILES = {"block_tile": (32, 32, 32), "warp_tile": (16, 32, 32)}
M, N, K = pv.sizes("M N K")


@cache
def kernel(group=None, **options):
    graph = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    return pv.compile(graph, "sm_70", pv.Options(**(TILES | options), group=group))


def arrays(m, n, k):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    return a.astype(np.float16), np.asfortranarray(b.astype(np.float16))


def lines_of(source):
    """The first lines of a kernel that compute a block's place."""
    body = source[source.index("extern __shared__") :]
    return re.findall(r"const (?:unsigned|int) (group\w*|place\w*|height\w*|blockIdx_[xy]) = (.*);", body)


@pytest.mark.parametrize("group", [2, 3, 8, 64])
def test_the_text_computes_the_places_of_the_order(group):
    """Every line as Python, in grids of all kinds; no number is beyond an int, nor below 0."""
    lines = lines_of(kernel(group).source)
    assert [name for name, _ in lines] == ["group", "place", "height", "blockIdx_x", "blockIdx_y"]
    code = [(name, re.sub(r"(\d)u\b", r"\1", text).replace("/", "//")) for name, text in lines]
    code = [(n, t.replace("gridDim.", "gridDim_").replace("blockIdx.", "hardware_")) for n, t in code]
    order = BlockOrder(group)
    for columns, rows in [(1, 1), (1, 9), (7, 1), (3, 8), (5, 17), (4, 63)]:
        for y in range(rows):
            for x in range(columns):
                names = {"gridDim_x": columns, "gridDim_y": rows, "hardware_x": x, "hardware_y": y, "min": min}
                for name, text in code:
                    names[name] = eval(text, {}, names)  # noqa: S307
                    assert 0 <= names[name] < 2**31
                assert (names["blockIdx_x"], names["blockIdx_y"]) == order.place(columns * y + x, columns, rows)


def test_a_group_may_have_as_many_rows_as_an_order_takes():
    assert GROUPS == tuple(range(1, HIGHEST + 1))


def test_row_by_row_is_the_plain_text():
    assert kernel().source == kernel(1).source
    assert kernel().options.group == 1 and kernel().ir.block_order.plain
    assert "gridDim" not in kernel().source and "MARK" not in str(kernel().schedule)
    assert "grouped" not in kernel().stages


def test_the_tree_and_the_text_say_the_order():
    k = kernel(3)
    assert "MARK: blocks in groups of 3 rows" in str(k.schedule)
    assert list(k.stages)[-1] == "grouped"
    assert "blocks in groups of 3" in " ".join(k.source[: k.source.index("typedef")].split())


def test_names_that_the_user_has_give_way():
    graph = pv.tensor("group", (M, K)) @ pv.tensor("place", (K, N), layout="col")
    source = pv.compile(graph, "sm_70", pv.Options(**TILES, group=2)).source
    assert [name for name, _ in lines_of(source)][:2] == ["group_2", "place_2"]


def test_results_and_grid_are_those_of_the_plain_order():
    a, b = arrays(200, 170, 40)
    assert np.array_equal(kernel(3).interpret(a, b), kernel().interpret(a, b))
    sizes = {"M": 200, "N": 170, "K": 40}
    assert kernel(3).launch_config(**sizes) == kernel().launch_config(**sizes)


def test_blocks_start_in_the_order():
    """Of a machine's blocks each is at the place that its number has; observers say places."""
    seen = []
    a, b = arrays(200, 170, 40)
    kernel(3).interpret(a, b, hook=lambda m, op, values: seen.append(m.blocks.T.tolist()))
    expected = [[*BlockOrder(3).place(n, 6, 7), 0] for n in range(42)]
    assert seen[0] == expected


def test_a_step_of_a_trace_is_about_the_place():
    a, b = arrays(200, 170, 40)
    steps = list(kernel(3).trace(a, b, block=(1, 4)))
    assert {step.block for step in steps} == {(1, 4, 0)}
    stored = [str(step) for step in steps if step.op.statement == "write_C"]
    assert stored and all("C[128" in text or "C[14" in text for text in stored)


def test_a_wrong_order_gives_wrong_results():
    class Wrong(BlockOrder):
        def within(self, place, height):
            return place // self.group, place % self.group

    k = kernel(3)
    a, b = arrays(200, 170, 40)
    wrong = replace(k, ir=replace(k.ir, block_order=Wrong(3)))
    out = np.full((200, 170), np.nan, np.float16)
    wrong.interpret(a, b, out=out)
    assert np.isnan(out).any()


def test_all_is_proved():
    assert kernel(8).verify().ok


def test_pictures_have_every_block():
    picture = str(pv.pictures.output_tiles(kernel(3), M=200, N=170))
    assert len(re.findall(r"<title>block \(\d+, \d+\)", picture)) >= 42


def test_a_device_function_computes_its_place_itself():
    text = device_text(kernel(3).ir, kernel(3).source)
    assert "gridDim.x * blockIdx.y + blockIdx.x" in text


@pytest.mark.parametrize("group", [0, 65, "8", True, 2.0])
def test_other_groups_are_refused(group):
    with pytest.raises(BadOption, match="group is 1 to 64"):
        pv.Options(group=group)


def test_more_blocks_than_an_int_counts_are_refused():
    k = kernel(8)
    assert k.launch_config(M=2**20, N=2**20, K=64).grid == (2**15, 2**15, 1)
    sizes = {"M": 2**20, "N": 2**21 + 32, "K": 64}
    with pytest.raises(TooLarge, match="in groups of 8 rows, are more than 2147483647") as wrong:
        k.launch_config(**sizes)
    assert "group=1" in str(wrong.value)
    assert kernel().launch_config(**sizes).grid == (2**16 + 1, 2**15, 1)


def test_an_order_of_no_rows_is_ill_formed():
    with pytest.raises(IllFormed, match="groups of 0 rows"):
        check(replace(kernel().ir, block_order=BlockOrder(0)))


def test_the_target_chooses():
    target = replace(pv.targets["sm_70"], group=4)
    graph = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    assert pv.compile(graph, target).options.group == 4
    assert pv.compile(graph, target, pv.Options(group=1)).options.group == 1
    assert next(pv.Options.space(graph, target)).group == 4


def test_the_proof_says_the_order_and_refutes_another():
    k = kernel(3)
    assert "each place of the grid is one block's" in k.verify("written_once")["written_once"].relation
    assert "place of the grid" not in kernel().verify("written_once")["written_once"].relation

    class Wrong(BlockOrder):
        def within(self, place, height):
            return place // self.group, place % self.group

    report = verify(replace(k.ir, block_order=Wrong(3)), k.graph, k.stages, "written_once")
    found = report["written_once"].counter_example
    assert not report.ok and re.search(r"both at place|outside", found.what)


@pytest.mark.parametrize(
    "other",
    [
        {"place": lambda self, number, columns, rows: (0 * number, 0 * number)},
        {"height": lambda self, group, rows: self.group},
    ],
)
def test_an_order_that_makes_something_else_of_parts_that_are_right(other):
    """The lemmas are about the parts; what is made of them is seen in small grids."""
    wrong = type("Wrong", (BlockOrder,), other)(3)
    assert all(lemma.holds for lemma in wrong.proof())
    k = kernel(3)
    report = verify(replace(k.ir, block_order=wrong), k.graph, k.stages, "written_once")
    assert re.search(r"both at place|outside", report["written_once"].counter_example.what)


def test_an_order_that_is_right_by_other_means_is_undecided():
    class Mirrored(BlockOrder):
        """Right to left: a bijection, and none that the lemmas are about."""

        def place(self, number, columns, rows):
            x, y = super().place(number, columns, rows)
            return columns - 1 - x, y

        def counted(self, column, row, height):
            return -column

    report = verify(replace(kernel(3).ir, block_order=Mirrored(3)), kernel(3).graph, kernel(3).stages, "written_once")
    assert not report.ok and report.undecided
