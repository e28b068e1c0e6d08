"""Kernels for Hopper that tests write by hand, on a GPU: results beside float64's, times beside torch.mm's.

    python benchmarks/hopper_texts.py --write DIR     prints and compiles them; no GPU needed
    python benchmarks/hopper_texts.py --run DIR       launches them; needs torch, CUDA's bindings and an H100 or H200

What is written is all that a launch needs: texts, cubins, and the kernels' arguments as a JSON file. So it shows the text
and nothing else, before there are passes that make such kernels and a launcher for them. Matrices are views with
poison around them; sizes are such that tiles don't divide them.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from pathlib import Path
from typing import Any

SIZES = [(64, 64, 64), (128, 256, 64), (8, 8, 8), (1000, 1048, 520), (1001, 1043, 517), (136, 264, 1032), (77, 3001, 4099)]
LARGE = (4096, 4096, 4096)
KERNELS = [
    # stages, warpgroups, block tile, layouts of A, B, C
    (4, 2, (128, 256, 64), ("row", "col", "row")),
    (5, 2, (128, 128, 64), ("row", "col", "row")),
    (5, 2, (128, 128, 64), ("row", "row", "row")),
    (5, 2, (128, 128, 64), ("col", "col", "row")),
    (5, 2, (128, 128, 64), ("col", "row", "col")),
    (3, 2, (256, 128, 64), ("row", "col", "row")),
    (4, 3, (192, 128, 64), ("row", "col", "row")),
    (6, 1, (64, 64, 64), ("row", "col", "row")),
    (1, 1, (64, 64, 64), ("row", "col", "row")),
    (5, 1, (64, 96, 64), ("row", "col", "row")),
    (5, 1, (64, 96, 64), ("row", "row", "row")),
    (3, 1, (64, 16, 32), ("row", "row", "row")),
]


def write(folder: Path) -> None:
    """Print and compile all kernels."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from polyvolta.cuda.ir.arguments import direct_tensors
    from polyvolta.cuda.run.nvrtc import compile_cubin
    from polyvolta.cuda.text.printer import print_cuda
    from tests.cuda.hopper_kernels import product

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (stages, groups, block, layouts) in enumerate(KERNELS):
        ir = product(stages, groups, block, layouts, reuse=stages > 1)
        text = print_cuda(ir)
        cubin = compile_cubin(text, "sm_90a", name=f"kernel{number}")
        used = cubin.resources(ir.name)
        (folder / f"kernel{number}.cu").write_text(text)
        (folder / f"kernel{number}.cubin").write_bytes(cubin.image)
        pointers = [a for t in direct_tensors(ir) for a in (["pointer", t.name], ["ld", t.name])]
        maps = [["map", m.tensor, *m.box.extents, m.box.swizzle.number] for m in ir.maps]
        rows.append({
            "name": f"{'x'.join(map(str, block))} w{groups} s{stages} {'.'.join(layouts)}", "entry": ir.name,
            "block": block, "threads": ir.threads, "shared": ir.shared_bytes, "file": f"kernel{number}.cubin",
            "orders": {t.name: t.order for t in ir.tensors},
            "arguments": [*(["size", n] for n in ir.sizes), *pointers, *maps],
        })  # fmt: skip
        remarks = [line for line in cubin.log.splitlines() if "(C7" in line]
        print(f"{rows[-1]['name']:36} {used.registers} registers, {used.spill_stores} bytes spilled", *remarks)
    (folder / "kernels.json").write_text(json.dumps(rows))


class Launched:
    """A kernel of the folder on the device.

    Parameters
    ----------
    row : its entry in the JSON file.
    """

    def __init__(self, folder: Path, row: dict[str, Any]) -> None:
        from cuda.bindings import driver

        self.row = row
        self.module = called(driver.cuModuleLoadData, (folder / row["file"]).read_bytes())
        self.function = called(driver.cuModuleGetFunction, self.module, row["entry"].encode())
        most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        called(driver.cuFuncSetAttribute, self.function, most, row["shared"])

    def launcher(self, sizes: dict[str, int], arrays: dict[str, Any]) -> Any:
        """A function that launches the kernel on torch's current stream."""
        import ctypes

        import torch
        from cuda.bindings import driver

        values: list[Any] = []
        kinds: list[Any] = []
        for kind, name, *box in self.row["arguments"]:
            if kind == "map":
                values.append(encoded(arrays[name], self.row["orders"][name], *box))
                kinds.append(None)
                continue
            array, order = arrays.get(name), self.row["orders"].get(name)
            number = {"size": lambda: sizes[name], "pointer": lambda: array.data_ptr(),
                      "ld": lambda: array.stride(order[0])}[kind]()  # fmt: skip
            values.append(number)
            kinds.append(ctypes.c_void_p if kind == "pointer" else ctypes.c_int)
        bm, bn, _ = self.row["block"]
        grid = -(-sizes["N"] // bn), -(-sizes["M"] // bm), 1
        arguments = (tuple(values), tuple(kinds))

        def launch() -> None:
            stream = torch.cuda.current_stream().cuda_stream
            called(driver.cuLaunchKernel, self.function, *grid, self.row["threads"], 1, 1, self.row["shared"], stream,
                   arguments, 0)  # fmt: skip

        return launch


def encoded(array: Any, order: list[int], run: int, lines: int, swizzle: int) -> Any:
    """The copy engine's map of a matrix."""
    from cuda.bindings import driver

    line_dim, run_dim = order
    half = driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT16
    whole, strides = [array.shape[run_dim], array.shape[line_dim]], [2 * array.stride(line_dim)]
    uint64, uint32 = driver.cuuint64_t, driver.cuuint32_t
    return called(
        driver.cuTensorMapEncodeTiled, half, 2, array.data_ptr(), [uint64(x) for x in whole],
        [uint64(x) for x in strides], [uint32(run), uint32(lines)], [uint32(1), uint32(1)],
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE, driver.CUtensorMapSwizzle(swizzle),
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )  # fmt: skip


def called(function: Any, *arguments: Any) -> Any:
    """A call of the driver; its result."""
    error, *result = function(*arguments)
    if int(error):
        raise SystemExit(f"{function.__name__}: {error}")
    return result[0] if len(result) == 1 else result


def poisoned(rows: int, cols: int, order: list[int], filled: bool) -> tuple[Any, Any]:
    """A matrix in the middle of NaNs, its lines at multiples of 16 bytes; and all that memory."""
    import torch

    shape = (rows, cols) if order[0] == 0 else (cols, rows)
    memory = torch.full((shape[0] + 2, -(-shape[1] // 8) * 8 + 16), torch.nan, device="cuda", dtype=torch.float16)
    view = memory[1:-1, 8 : 8 + shape[1]]
    if filled:
        view.copy_(torch.randn(shape, device="cuda"))
    return (view if order[0] == 0 else view.T), memory


def right(kernel: Launched, m: int, n: int, k: int) -> float:
    """The relative L2 error of a product; inf where something else was written, or not all."""
    import torch

    orders = kernel.row["orders"]
    a, _ = poisoned(m, k, orders["A"], True)
    b, _ = poisoned(k, n, orders["B"], True)
    c, memory = poisoned(m, n, orders["C"], False)
    around = memory.clone()
    kernel.launcher({"M": m, "N": n, "K": k}, {"A": a, "B": b, "C": c})()
    torch.cuda.synchronize()
    exact = a.double() @ b.double()
    error = ((c.double() - exact).norm() / exact.norm()).item()
    c.fill_(torch.nan)
    return error if error == error and bool(torch.equal(memory.isnan(), around.isnan())) else float("inf")


def times(kernels: dict[str, Any], rounds: int = 30, repeat: int = 20) -> dict[str, float]:
    """Medians of CUDA graphs' replays that take turns, in microseconds a launch."""
    import torch

    graphs = {}
    for name, launch in kernels.items():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            launch()
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for _ in range(repeat):
                launch()
    found: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(rounds):
        for name in random.sample(list(graphs), len(graphs)):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graphs[name].replay()
            end.record()
            torch.cuda.synchronize()
            found[name].append(1000 * start.elapsed_time(end) / repeat)
    return {name: statistics.median(some) for name, some in found.items()}


def run(folder: Path) -> int:
    """Check all kernels, then time those that are right; the exit status."""
    import torch

    torch.zeros(1, device="cuda")
    rows = json.loads((folder / "kernels.json").read_text())
    kernels, wrong = [], 0
    for row in rows:
        kernel = Launched(folder, row)
        errors = [right(kernel, *size) for size in SIZES]
        wrong += max(errors) > 1e-3
        print(f"{row['name']:36}", "  ".join(f"{e:.2e}" for e in errors), "" if max(errors) < 1e-3 else "WRONG", flush=True)
        kernels += [kernel] if max(errors) < 1e-3 else []
    m, n, k = LARGE
    for kernel in kernels:
        orders = kernel.row["orders"]
        shapes = {"A": (m, k), "B": (k, n), "C": (m, n)}
        made = {x: torch.randn(s if orders[x][0] == 0 else s[::-1], device="cuda").half() for x, s in shapes.items()}
        made = {x: t if orders[x][0] == 0 else t.T for x, t in made.items()}
        ours = kernel.launcher({"M": m, "N": n, "K": k}, made)
        out = torch.empty((m, n), device="cuda", dtype=torch.float16)
        took = times({"ours": ours, "mm": lambda: torch.mm(made["A"], made["B"], out=out)})  # noqa: B023
        speed = {x: 2e-6 * m * n * k / t for x, t in took.items()}
        print(f"{kernel.row['name']:36} {speed['ours']:6.1f} TFLOP/s, torch.mm {speed['mm']:6.1f}: "
              f"{took['mm'] / took['ours']:.3f}", flush=True)  # fmt: skip
    return int(wrong > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--run", type=Path)
    options = parser.parse_args()
    if options.write:
        write(options.write)
    if options.run:
        sys.exit(run(options.run))
