"""Launches of kernels whose copy engine moves boxes: which arrays it is given, and who else gets the others.

The driver is that of `test_run_on_device`, which runs the interpreter on what the kernel's parameters point to; a
tensor map says in plain numbers what the driver was told about the matrix.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler import making
from polyvolta.cuda.errors import WrongGpu
from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
from polyvolta.cuda.run import launch as launches
from polyvolta.cuda.run import tensor_maps
from polyvolta.cuda.run.cubin import arch_of
from polyvolta.cuda.run.device_function import NotADeviceFunction
from polyvolta.cuda.run.gpu import Limits, check_block
from polyvolta.cuda.run.tensor_maps import KINDS, NUMBERS, BadTensorMap
from polyvolta.cuda.target.hopper import SM_90A
from tests.compiler import test_run_on_device
from tests.compiler.library_on_device import Tensor, fresh, use
from tests.compiler.test_run import error, made
from tests.compiler.test_run_on_device import as_numpy
from tests.compiler.test_run_on_device import driver as driver  # noqa: PLC0414  # a fixture
from tests.cuda.hopper_kernels import product as by_hand
from tests.cuda.persistent import compiled as lasting

M, N, K = pv.sizes("M N K")
OPTIONS = pv.Options(block_tile=(64, 64, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=2, fragments=1,
                     prefetch=1, split_k=1, group=8, partial="guard")  # fmt: skip
LAYOUTS = list(product(("row", "col"), repeat=3))


@cache
def compiled(a: str = "row", b: str = "col", c: str = "row", partial: str = "guard", bias: bool = False) -> pv.Kernel:
    """A @ B, plus a bias vector, by boxes."""
    out = pv.tensor("A", (M, K), layout=a) @ pv.tensor("B", (K, N), layout=b)
    out = out + pv.tensor("bias", (N,)) if bias else out
    return pv.compile(pv.output(out, "C", layout=c), target=SM_90A, options=replace(OPTIONS, partial=partial))


@cache
def residual() -> pv.Kernel:
    """relu(A @ B + R), all of it by boxes."""
    D = pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col") + pv.tensor("R", (M, N)))
    return pv.compile(pv.output(D, "D"), target=SM_90A, options=OPTIONS)


class Driver(test_run_on_device.Driver):
    """Finds matrices where maps say, too."""

    def there(self, ir: KernelIR, t: GlobalTensor, shape: tuple[int, ...], values: dict[str, Any]) -> np.ndarray:
        mapped = [m for m in ir.maps if m.tensor == t.name]
        for m in mapped:
            pointer, run, lines, stride, box_run, box_lines, swizzle, kind, *_ = values[m.name]
            assert (lines, run) == tuple(shape[d] for d in t.order)
            assert (box_lines, box_run, swizzle, kind) == (m.box.lines, m.box.run, NUMBERS[m.box.swizzle.bytes],
                                                           KINDS[t.kind])  # fmt: skip
            found = as_numpy(pointer, shape, stride // 2, t.order)
            if t.name in values:
                assert found.ctypes.data == values[t.name]
        return found if mapped else super().there(ir, t, shape, values)


@pytest.fixture
def torch(driver, monkeypatch):
    """The library, and a driver that encodes what it is told as 64-bit numbers."""
    driver.__class__ = Driver
    driver.encoded = 0

    def encode(at, kind, rank, pointer, extents, strides, box, *modes):
        driver.encoded += 1
        numbers = (pointer, *extents, *strides, *box, modes[2], kind)
        (ctypes.c_uint64 * len(numbers)).from_address(at)[:] = numbers
        return 0

    monkeypatch.setattr(tensor_maps, "_function", lambda: encode)
    tensor_maps._encoded.cache_clear()
    yield use(monkeypatch)
    tensor_maps._encoded.cache_clear()


def values(
    shape: tuple[int, ...], layout: str = "row", ld: int | None = None, offset: int = 0, seed: int = 0
) -> Tensor:
    """Random values on the "GPU", lines `ld` values apart, by default the next multiple of 8."""
    lines, run = shape if layout == "row" else shape[::-1]
    there = fresh((lines, run), (-(-run // 8) * 8 if ld is None else ld, 1), offset)
    there[...] = np.random.default_rng(seed).standard_normal((lines, run)).astype(np.float16)
    return Tensor(there if layout == "row" else there.T)


def right(c: Tensor, a: Tensor, b: Tensor) -> bool:
    return error(c.array, a.array, b.array) <= 5e-4


def by_boxes(driver) -> list[bool]:
    """Of the variants that were loaded: whether boxes bring something."""
    return [bool(v.ir.maps) for v in driver.variants]


# ---- calls


@pytest.mark.parametrize("layouts", LAYOUTS, ids=".".join)
def test_all_layouts_by_boxes_and_by_copies(torch, driver, layouts):
    """Odd sizes; the second call of each kind is a plan's."""
    a_layout, b_layout, c_layout = layouts
    kernel = compiled(*layouts)
    for seed, (ld, offset, boxed) in enumerate([(None, 0, True), (83, 0, False), (None, 4, False), (104, 8, True)]):
        for again in range(2):
            seeds = {"seed": 10 * seed + again}
            a = values((70, 77), a_layout, ld, offset, **seeds)
            b = values((77, 75), b_layout, **seeds)
            c = kernel(a, b)
            assert right(c, a, b)
            assert c.array.flags[f"{'C' if c_layout == 'row' else 'F'}_CONTIGUOUS"]
        assert by_boxes(driver)[-1] == boxed
    assert len(driver.variants) == len(kernel._plans) and len(driver.launches) == 8


@pytest.mark.parametrize("multiprocessors", [2, 3, 132])
def test_of_persistent_blocks_there_are_as_many_as_the_gpu_has_room_for(torch, driver, monkeypatch, multiprocessors):
    monkeypatch.setattr(launches, "multiprocessors", lambda device: multiprocessors)
    monkeypatch.setattr(launches, "current_device", lambda: 0)
    D = pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col") + pv.tensor("R", (M, N)))
    kernel = pv.compile(pv.output(D, "D"), target=SM_90A, options=replace(OPTIONS, persistent=True))
    assert kernel.launch_config(M=150, N=136, K=72).grid == (9, 1, 1)
    for seed in range(2):
        a, b = values((150, 72), seed=seed), values((72, 136), "col", seed=seed + 2)
        r = values((150, 136), seed=seed + 4)
        d = kernel(a, b, r)
        exact = np.maximum(a.array.astype(float) @ b.array.astype(float) + r.array.astype(float), 0)
        assert np.abs(d.array - exact).max() <= 2e-2
    bound = kernel.bind(a, b, r, out=d)
    bound()
    assert [grid for grid, *_ in driver.launches] == [(min(multiprocessors, 9), 1, 1)] * 3
    odd = kernel(values((150, 72)), values((72, 75), "col"), values((150, 75)))  # lines that boxes don't store
    assert odd.array.shape == (150, 75) and driver.launches[-1][0] == (min(multiprocessors, 6), 1, 1)


@pytest.mark.parametrize(("room", "clusters"), [(None, 3), (2, 2), (9, 3)])
def test_of_persistent_clusters_there_are_as_many_as_the_driver_says(torch, driver, monkeypatch, room, clusters):
    asked = []
    monkeypatch.setattr(launches, "multiprocessors", lambda device: 7)
    monkeypatch.setattr(launches, "current_device", lambda: 0)
    monkeypatch.setattr(launches, "clusters_at_once", lambda *given: asked.append(given) or room)
    options = replace(OPTIONS, persistent=True, cluster=(2, 1))
    kernel = lasting.__wrapped__("product", ("row", "col", "row"), options, 66)  # with no plans of launches yet
    a, b = values((150, 72)), values((72, 136), "col", seed=2)
    assert right(kernel(a, b), a, b)
    assert asked == [(0, 0, (1, 2, 1), 160, kernel.ir.shared_bytes)]
    assert [grid for grid, *_ in driver.launches] == [(clusters, 2, 1)]


@pytest.mark.parametrize(("m", "n", "k"), [(40, 33, 0), (1, 70, 72), (70, 1, 8), (1, 1, 1), (65, 130, 1)])
def test_small_and_empty_extents(torch, driver, m, n, k):
    """The engine takes no matrix without elements."""
    kernel = compiled()
    for _ in range(2):
        a, b = values((m, k)), values((k, n), "col")
        c = kernel(a, b)
        assert (c.array == 0).all() if k == 0 else right(c, a, b)
    assert by_boxes(driver) == [k > 0]


def test_nothing_is_launched_for_a_result_without_elements(torch, driver):
    assert compiled()(values((0, 8)), values((8, 5), "col")).shape == (0, 5)
    assert not driver.launches and not driver.encoded


def test_a_plan_encodes_maps_of_the_arrays_of_each_call_once(torch, driver):
    kernel = compiled()
    pairs = [(values((40, 24), seed=s), values((24, 50), "col", seed=s)) for s in range(3)]
    plans = len(kernel._plans)
    for turn in range(3):
        for a, b in pairs:
            assert right(kernel(a, b), a, b)
        assert driver.encoded == 2 * len(pairs), turn
    assert len(kernel._plans) == plans + 1 and len(driver.launches) == 9


def test_an_array_that_moves_within_16_bytes_has_a_plan_of_its_own(torch, driver):
    kernel = compiled()
    for offset in (0, 1, 0, 4, 8, 4, 1):
        a, b = values((40, 24), ld=32, offset=offset, seed=offset), values((24, 50), "col")
        assert right(kernel(a, b), a, b)
    assert sorted(by_boxes(driver)) == [False, False, True]


def test_a_vector_and_a_result_that_are_not_aligned_are_accessed_narrowly_beside_boxes(torch, driver):
    kernel = compiled(bias=True)
    a, b, out = values((40, 24)), values((24, 50), "col"), values((40, 50), ld=51, offset=1)
    bias = Tensor(fresh((50,), (1,), 1))
    bias.array[...] = np.arange(50)
    for _ in range(2):
        assert kernel(a, b, bias, out=out) is out
        exact = a.array.astype(np.float64) @ b.array + bias.array
        assert np.abs(out.array - exact).max() <= 5e-2
    mapped = {m.tensor for m in driver.variants[0].ir.maps}
    assert {"A", "B"} <= mapped and len(driver.variants) == 1
    widths = {t.name: t.align for t in driver.variants[0].ir.tensors}
    assert widths["bias"] == 1 and ("C" in mapped or widths["C"] == 1)


@pytest.mark.parametrize(("astray", "mapped"), [
    ("", "ABDR"), ("D", "AB"), ("R", "ABD"), ("RD", "AB"), ("AD", ""),
])  # fmt: skip
def test_what_an_epilogue_reads_and_writes_has_boxes_where_the_engine_takes_it(torch, driver, astray, mapped):
    """Products keep their boxes as long as their operands have them; threads that store a result read what is added."""
    kernel = residual()
    assert kernel.boxed == {"A", "B", "R", "D"}
    for seed in range(2):
        shapes = {"A": (70, 40), "B": (40, 56), "R": (70, 56), "D": (70, 56)}
        a, b, r, d = (
            values(s, "col" if n == "B" else "row", offset=3 * (n in astray), seed=seed) for n, s in shapes.items()
        )
        assert kernel(a, b, r, out=d) is d
        exact = np.maximum(a.array.astype(np.float64) @ b.array + r.array, 0)
        assert np.linalg.norm(d.array - exact) <= 5e-4 * np.linalg.norm(exact)
    (variant,) = driver.variants
    assert {m.tensor for m in variant.ir.maps} == set(mapped)
    assert kernel.variant(**dict.fromkeys(astray, 1)).boxed == set(mapped)


def test_padded_copies_are_taken_and_what_needs_none_may_lie_anywhere(torch, driver):
    kernel = compiled(partial="pad")
    for k, offset, boxed in ((77, 1, True), (128, 0, True), (128, 1, False), (0, 0, False)):
        a, b = values((64, k), offset=offset), values((k, 64), "col")
        c = kernel(a, b)
        assert (c.array == 0).all() if k == 0 else right(c, a, b)
        assert by_boxes(driver)[-1] == boxed


def test_host_arrays_are_judged_where_they_lie_in_the_end(torch, driver):
    """Copied to the GPU, lines of 77 values are 77 apart, and those of 80 start at multiples of 16 bytes."""
    kernel = compiled()
    for k, offset, boxed in ((77, 0, False), (80, 1, True)):
        a, b = values((40, k), offset=offset).array, values((k, 50), "col").array
        assert error(kernel(a, b), a, b) <= 5e-4 and by_boxes(driver)[-1] == boxed


def test_bound_launches_have_maps_of_their_own(torch, driver):
    kernel = compiled()
    pairs = [(values((40, 24), seed=s), values((24, 50), "col", seed=s), values((40, 50))) for s in range(2)]
    launches = [kernel.bind(a, b, out=c, stream=7) for a, b, c in pairs]
    for a, _, _ in pairs:
        a.array[...] *= 2
    for launch in (*launches, *launches):
        launch()
    assert all(right(c, a, b) for a, b, c in pairs)
    assert [stream for *_, stream, _ in driver.launches] == [7] * 4 and by_boxes(driver) == [True] * 2
    astray = values((40, 24), offset=2)
    kernel.bind(astray, pairs[0][1], out=pairs[0][2])()
    assert right(pairs[0][2], astray, pairs[0][1]) and by_boxes(driver)[-1] is False


# ---- without a GPU


@pytest.mark.parametrize(("ld", "offset", "boxed"), [(None, 0, True), (83, 0, False), (None, 3, False)])
def test_the_interpreter_runs_what_a_gpu_would(ld, offset, boxed):
    kernel = compiled("row", "row")
    a, b = values((70, 77), ld=ld, offset=offset).array, values((77, 75)).array
    names: set[str] = set()
    c = kernel.interpret(a, b, hook=lambda machine, op, values: names.add(type(op).__name__))
    assert error(c, a, b) <= 5e-4
    assert ("BoxCopy" in names) == boxed and ("AsyncCopy" in names or "GlobalLoad" in names) == (not boxed)
    steps = {type(step.op).__name__ for step, _ in zip(kernel.trace(a, b), range(2000), strict=False)}
    assert ("BoxCopy" in steps) == boxed
    seen = kernel.interpret(a, b, observe="counts")
    assert error(seen.result, a, b) <= 5e-4


@pytest.mark.parametrize("layouts", LAYOUTS[:4], ids=".".join)
def test_default_options_for_all_layouts_odd_sizes_and_views(layouts):
    a_layout, b_layout, _ = layouts
    A, B = pv.tensor("A", (M, K), layout=a_layout), pv.tensor("B", (K, N), layout=b_layout)
    kernel = pv.compile(pv.relu(A @ B), target=SM_90A)
    assert kernel.options.macro_mma == "m64n256k16" and kernel.ir.threads == kernel.options.threads_on(SM_90A) == 288
    for m, n, k, ld, offset in ((130, 258, 65, None, 0), (77, 301, 99, None, 16), (77, 75, 136, 141, 3)):
        a, b = values((m, k), a_layout, ld, offset).array, values((k, n), b_layout).array
        exact = np.maximum(a.astype(np.float64) @ b, 0)
        c = kernel.interpret(a, b)
        assert np.linalg.norm(c - exact) <= 5e-4 * np.linalg.norm(exact)


def test_the_variant_is_proved_like_any_kernel():
    variant = compiled().variant(A=4)
    assert variant.target == SM_90A and variant.name == compiled().name and not variant.boxed
    assert [t.align for t in variant.ir.tensors] == [4, 8, 8]
    assert compiled().variant(A=4) is variant and compiled().variant(A=8) is compiled()
    assert variant.verify(("bounds", "written_once", "alignment")).ok


def test_a_variant_without_boxes_keeps_what_was_given_and_means_the_same_there():
    given = {"group": 3, "occupancy": 2, "accumulators": "one", "block_tile": (128, 64, 64), "buffers": 3}
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    kernel = pv.compile(pv.relu(product), target=SM_90A, options=pv.Options(**given, partial="pad"))
    assert kernel.boxed and kernel.options.partial == "pad" and kernel.options.occupancy == 2
    found = kernel.variant(A=4).options
    assert (found.group, found.occupancy, found.accumulators) == (3, 2, "one")
    assert found.partial == "guard" and found.macro_mma in SM_90A.macro_names  # of any size that arrays are padded to
    rule = pv.compile(pv.relu(product), target=SM_90A, options=pv.Options(macro_mma="m16n32k16", group=3, occupancy=2))
    assert (found.block_tile, found.warp_tile, found.buffers) == (
        rule.options.block_tile, rule.options.warp_tile, rule.options.buffers)  # fmt: skip
    plain = kernel.taking(["C", "D"])
    assert plain.options == kernel.options and plain.boxed == {"A", "B"}


def test_kernels_without_boxes_are_made_once(monkeypatch):
    """However it comes about that no operand has boxes, it is one kernel; so are results without, by either way."""
    made = []
    whole = making.lower
    monkeypatch.setattr(making, "lower", lambda *a: made.append(a[0]) or whole(*a))
    R = pv.tensor("R", (M, N))
    D = pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col") + R)
    kernel = pv.compile(pv.output(D, "D"), target=SM_90A, options=OPTIONS)
    assert kernel.boxed == {"A", "B", "R", "D"} and len(made) == 1
    asked = [{"A"}, {"B"}, {"A", "B"}, {"A", "D"}, {"B", "R", "D"}, {"A", "B", "R", "D"}]
    without = {id(kernel.taking(plain)) for plain in asked}
    without.add(id(kernel.taking({"D"}).taking({"A"})))
    assert len(without) == 1 and len(made) == 3  # without any boxes, and without the result's
    assert kernel.taking({"D"}).boxed == {"A", "B"}  # what is taken from where the result is put has no boxes, either
    assert kernel.taking({"D", "R"}) is kernel.taking({"D"}) and len(made) == 3
    assert kernel.taking({"R"}) is not kernel.taking({"D"}) and len(made) == 4
    other = pv.compile(pv.output(D, "D"), target=SM_90A, options=OPTIONS)
    assert other.taking({"D", "R"}) is other.taking({"D"})  # in the other order, too


def test_a_kernel_made_by_hand_says_what_it_takes():
    kernel = made(by_hand(2, 1, (64, 64, 64)))
    with pytest.raises(BadTensorMap, match="doesn't take A"):
        kernel.variant(A=4)


def test_maps_are_no_arguments_of_device_functions():
    with pytest.raises(NotADeviceFunction, match="tensor maps"):
        compiled().device_function()


# ---- machine code


def test_machine_code_is_of_the_one_architecture():
    kernel = compiled()
    assert [arch_of(kernel.compiled(arch).image) for arch in (None, "sm_90", "sm_90a")] == ["sm_90a"] * 3
    assert arch_of(kernel.variant(A=4).compiled("sm_90").image) == "sm_90a"
    used = kernel.resources()
    assert used.shared_bytes == kernel.ir.shared_bytes and used.spill_stores == 0
    with pytest.raises(pv.PolyvoltaError, match="sm_100 doesn't have") as found:
        kernel.compiled("sm_100")
    assert "'sm_80'" in found.value.hint


@pytest.mark.parametrize(("gpu", "why"), [("sm_80", "it is older"), ("sm_100", "of that GPU alone")])
def test_another_gpu_is_refused_and_what_runs_there_named(gpu, why):
    ir = compiled().ir
    check_block("kern0", "sm_90a", Limits("sm_90", 1024, 232448, 65536), ir.threads, ir.shared_bytes)
    with pytest.raises(WrongGpu, match=why) as found:
        check_block("kern0", "sm_90a", Limits(gpu, 1024, 232448, 65536), ir.threads, ir.shared_bytes)
    assert "of sm_80" in found.value.hint


@pytest.mark.parametrize("sizes", [(100, 75, 99), (75, 72, 64), (72, 100, 40)])
@pytest.mark.parametrize("layout", ["row", "col"])
def test_results_of_a_known_size_have_boxes_if_lines_are_whole_chunks(sizes, layout):
    """Boxes are clipped by chunks when they are stored, and by values when they are read."""
    m, n, k = sizes
    product = pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n), layout="col")
    kernel = pv.compile(pv.output(product, "C", layout=layout), target=SM_90A, options=OPTIONS)
    assert kernel.boxed == {"A", "B", *(["C"] if (n if layout == "row" else m) % 8 == 0 else [])}
    a, b = values((m, k)).array, values((k, n), "col").array
    assert error(kernel.interpret(a, b), a, b) <= 5e-4
