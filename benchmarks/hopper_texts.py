"""Kernels for Hopper that tests write by hand, on a GPU: results beside float64's, times beside torch.mm's.

    python benchmarks/hopper_texts.py --write DIR     prints and compiles them; no GPU needed
    python benchmarks/hopper_texts.py --run DIR       launches them; needs torch, CUDA's bindings, an H100 or H200

    python benchmarks/hopper_texts.py --run DIR       launches them; needs torch, CUDA bindings and an H100 or H200
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

SIZES = [
    (64, 64, 64),
    (128, 256, 64),
    (8, 8, 8),
    (1000, 1048, 520),
    (1001, 1043, 517),
    (136, 264, 1032),
    (77, 3001, 999),
]
TYPES = {"half": "float16", "bfloat16": "bfloat16"}
MOST = {"half": 5e-4, "bfloat16": 4e-3}
"""Relative L2 error of a result that was rounded once."""
LARGE = (4096, 4096, 4096)
KERNELS = [
    # stages, warpgroups, block tile, layouts of A, B, C; whether the first product begins the sum; kind
    (4, 2, (128, 256, 64), ("row", "col", "row"), True, "half"),
    (4, 2, (128, 256, 64), ("row", "col", "row"), False, "half"),
    (5, 2, (128, 128, 64), ("row", "col", "row"), True, "half"),
    (5, 2, (128, 128, 64), ("row", "col", "row"), True, "bfloat16"),
    (5, 2, (128, 128, 64), ("row", "row", "row"), True, "half"),
    (5, 2, (128, 128, 64), ("col", "col", "row"), True, "half"),
    (5, 2, (128, 128, 64), ("col", "row", "col"), True, "half"),
    (3, 2, (256, 128, 64), ("row", "col", "row"), True, "half"),
    (4, 3, (192, 128, 64), ("row", "col", "row"), True, "half"),
    (6, 1, (64, 64, 64), ("row", "col", "row"), True, "half"),
    (1, 1, (64, 64, 64), ("row", "col", "row"), False, "half"),
    (5, 1, (64, 96, 64), ("row", "row", "row"), True, "half"),
    (5, 1, (64, 96, 64), ("row", "row", "row"), False, "bfloat16"),
    (3, 1, (64, 16, 32), ("row", "row", "row"), True, "half"),
]


def write(folder: Path) -> None:
    """Print and compile all kernels."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from polyvolta.cuda.ir.arguments import direct_tensors
    from polyvolta.cuda.run.nvrtc import compile_cubin
    from polyvolta.cuda.text.printer import print_cuda
    from tests.cuda.hopper_kernels import product
    from tests.cuda.text.hopper_variants import beginning, of_kind

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (stages, groups, block, layouts, begins, kind) in enumerate(KERNELS):
        ir = product(stages, groups, block, layouts, reuse=stages > 1)
        ir = of_kind(beginning(ir) if begins else ir, kind)
        text = print_cuda(ir)
        cubin = compile_cubin(text, "sm_90a", name=f"kernel{number}")
        used = cubin.resources(ir.name)
        (folder / f"kernel{number}.cu").write_text(text)
        (folder / f"kernel{number}.cubin").write_bytes(cubin.image)
        pointers = [a for t in direct_tensors(ir) for a in (["pointer", t.name], ["ld", t.name])]
        maps = [["map", m.tensor, *m.box.extents, m.box.swizzle.number] for m in ir.maps]
        tile, zeros = "x".join(map(str, block)), "" if begins else " z"
        rows.append({
            "name": f"{tile} w{groups} s{stages} {'.'.join(layouts)} {kind[:4]}{zeros}",
            "entry": ir.name, "kind": kind,
            "block": block, "threads": ir.threads, "shared": ir.shared_bytes, "file": f"kernel{number}.cubin",
            "orders": {t.name: t.order for t in ir.tensors},
            "arguments": [*(["size", n] for n in ir.sizes), *pointers, *maps],
        })  # fmt: skip
        remarks = [line for line in cubin.log.splitlines() if "(C7" in line]
        print(f"{rows[-1]['name']:40} {used.registers} registers, {used.spill_stores} bytes spilled", *remarks)
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
                values.append(encoded(arrays[name], self.row["orders"][name], self.row["kind"], *box))
                kinds.append(None)
            elif kind == "pointer":
                values.append(arrays[name].data_ptr())
                kinds.append(ctypes.c_void_p)
            else:
                values.append(sizes[name] if kind == "size" else arrays[name].stride(self.row["orders"][name][0]))
                kinds.append(ctypes.c_int)
        bm, bn, _ = self.row["block"]
        grid = -(-sizes["N"] // bn), -(-sizes["M"] // bm), 1
        arguments = (tuple(values), tuple(kinds))

        def launch() -> None:
            stream = torch.cuda.current_stream().cuda_stream
            called(driver.cuLaunchKernel, self.function, *grid, self.row["threads"], 1, 1, self.row["shared"], stream,
                   arguments, 0)  # fmt: skip

        return launch


def encoded(array: Any, order: list[int], kind: str, run: int, lines: int, swizzle: int) -> Any:
    """The copy engine's map of a matrix."""
    from cuda.bindings import driver

    line_dim, run_dim = order
    types = driver.CUtensorMapDataType
    value = types.CU_TENSOR_MAP_DATA_TYPE_FLOAT16 if kind == "half" else types.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
    whole, strides = [array.shape[run_dim], array.shape[line_dim]], [2 * array.stride(line_dim)]
    uint64, uint32 = driver.cuuint64_t, driver.cuuint32_t
    return called(
        driver.cuTensorMapEncodeTiled, value, 2, array.data_ptr(), [uint64(x) for x in whole],
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


def poisoned(rows: int, cols: int, order: list[int], dtype: Any, filled: bool) -> tuple[Any, Any]:
    """A matrix in the middle of NaNs, its lines at multiples of 16 bytes; and all that memory."""
    import torch

    shape = (rows, cols) if order[0] == 0 else (cols, rows)
    memory = torch.full((shape[0] + 2, -(-shape[1] // 8) * 8 + 16), torch.nan, device="cuda", dtype=dtype)
    view = memory[1:-1, 8 : 8 + shape[1]]
    if filled:
        view.copy_(torch.randn(shape, device="cuda"))
    return (view if order[0] == 0 else view.T), memory


def right(kernel: Launched, m: int, n: int, k: int) -> float:
    """The relative L2 error of a product; inf where something else was written, or not all."""
    import torch

    orders = kernel.row["orders"]
    dtype = getattr(torch, TYPES[kernel.row["kind"]])
    a, _ = poisoned(m, k, orders["A"], dtype, True)
    b, _ = poisoned(k, n, orders["B"], dtype, True)
    c, memory = poisoned(m, n, orders["C"], dtype, False)
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
        is_right = max(errors) < MOST[row["kind"]]
        wrong += not is_right
        print(f"{row['name']:40}", " ".join(f"{e:.1e}" for e in errors), "" if is_right else "WRONG", flush=True)
        kernels += [kernel] if is_right else []
    m, n, k = LARGE
    for kernel in kernels:
        orders, dtype = kernel.row["orders"], getattr(torch, TYPES[kernel.row["kind"]])
        shapes = {"A": (m, k), "B": (k, n), "C": (m, n)}
        made = {x: torch.randn(s if orders[x][0] == 0 else s[::-1], device="cuda").to(dtype) for x, s in shapes.items()}
        made = {x: t if orders[x][0] == 0 else t.T for x, t in made.items()}
        ours = kernel.launcher({"M": m, "N": n, "K": k}, made)
        out = torch.empty((m, n), device="cuda", dtype=dtype)
        took = times({"ours": ours, "mm": lambda: torch.mm(made["A"], made["B"], out=out)})  # noqa: B023
        speed = {x: 2e-6 * m * n * k / t for x, t in took.items()}
        print(f"{kernel.row['name']:40} {speed['ours']:6.1f} TFLOP/s, torch.mm {speed['mm']:6.1f}: "
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
