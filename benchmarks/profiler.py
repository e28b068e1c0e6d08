"""What the observers count against the hardware's counters: phases of shared memory, requests and sectors of global.

    python benchmarks/profiler.py                           on a machine with a GPU and Nsight Compute (`ncu`)
    python benchmarks/profiler.py --record counters.csv     the same, and keeps what ncu wrote
    python benchmarks/profiler.py --counters counters.csv   compares with what ncu wrote elsewhere; needs no GPU

Every case is one kernel, launched once under ncu and interpreted once under the observers "bank_conflicts" and
"coalescing", on the same data. Some kernels are broken on purpose so that there are conflicts to count. The table
has for each case and each quantity one number where both agree, and "observed / hardware" where they don't; the exit
status is 1 then.

The counters, by what they are compared with:

shared loads, stores    `smsp__inst_executed_op_shared_*_pred_on_any`: warp-wide instructions, if a lane takes part.
                        Others, whose condition no lane fulfils, are executed, too, and reach no memory.
phases                  `smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_*`: how often shared memory served.
requests, sectors       `l1tex__t_requests_*`, `l1tex__t_sectors_pipe_lsu_mem_global_op_*`: of instructions that reach
                        the L1 cache, and of the 32-byte sectors that these ask it for.

The compiler makes one load of two from the same places between which no barrier of the block stands: a bias for two
fragments of the same columns, say. Such loads are counted here, too, and stand in the table as "512 - 32": what
the operations ask for, less what they ask for again.

`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_*` is printed in a table of its own beside the extra phases: it also
counts cycles in which the data stage was busy with something else, and differs from run to run.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import idioms
import numpy as np
from combinations import Combination
from idioms import idiom_called

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Barrier, GlobalLoad

WIDE, NARROW = ((128, 128, 32), (64, 64, 32)), ((64, 64, 32), (32, 32, 32))
EVEN = {"M": 256, "N": 256, "K": 128, "L": 128, "H": 64}

SECTOR = 32  # bytes

COUNTERS = {
    "shared loads": "smsp__inst_executed_op_shared_ld_pred_on_any",
    "phases of loads": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld",
    "shared stores": "smsp__inst_executed_op_shared_st_pred_on_any",
    "phases of stores": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st",
    "global load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld",
    "sectors loaded": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
    "global store requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st",
    "sectors stored": "l1tex__t_sectors_pipe_lsu_mem_global_op_st",
}
"""Quantity -> the counter that measures it; its sum over all units."""
CONFLICTS = {
    "conflicts of loads": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld",
    "conflicts of stores": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st",
}
"""Beside these: what the hardware calls bank conflicts, which is more than the banks' doing."""


@dataclass(frozen=True)
class Case:
    """One kernel on arrays of one size; `mutant` names what is broken in it on purpose."""

    combination: Combination
    sizes: Mapping[str, int]
    mutant: str = ""

    @property
    def name(self) -> str:
        sizes = "x".join(str(self.sizes[n]) for n in ("M", "N", "K"))
        return f"{self.combination.name}, {sizes}" + (f", {self.mutant}" if self.mutant else "")

    def kernel(self) -> pv.Kernel:
        """The kernel, broken if it is to be."""
        from polyvolta.cuda.mutants import broken

        kernel = self.combination.compile()
        return broken(kernel, self.mutant) if self.mutant else kernel

    def arguments(self) -> dict:
        """Arrays in the layouts of the tensors, and numbers."""
        c, rng, out = self.combination, np.random.default_rng(1), {}
        for name, text in c.idiom.tensors.items():
            shape = [1 if d == "1" else self.sizes[d] for d in text.split()[0]]
            array = rng.standard_normal(shape).astype(np.float16)
            out[name] = np.asfortranarray(array) if c.layout_of(name) == "col" else array
        return out | dict.fromkeys(c.idiom.scalars, 0.5)


def case(idiom: str, layouts: str, macro: str, tiles: tuple, *, split_k: int = 1, buffers: int = 1,
         sizes: Mapping[str, int] | None = None, mutant: str = "") -> Case:  # fmt: skip
    """A case by words: layouts of A, B and the result such as "row col row"."""
    a, b, c = layouts.split()
    combination = Combination(idiom_called(idiom), a, b, c, macro, split_k, *tiles, buffers)
    return Case(combination, EVEN | dict(sizes or {}), mutant)


CASES = (
    case("plain", "row col row", "m16n16k8", WIDE),
    case("plain", "row row row", "m32n32k8", WIDE),
    case("plain", "col row row", "m32n32k8", WIDE),
    case("plain", "col col row", "m16n16k8", WIDE),
    case("plain", "row row row", "m16n16k8", NARROW, buffers=2),
    case("bias relu", "row col row", "m16n16k8", NARROW, split_k=4, buffers=2),
    case("residual gelu", "row row col", "m32n32k8", WIDE),
    case("prologue A", "col col row", "m32n32k8", NARROW, split_k=2),
    case("gated", "row col col", "m16n16k8", NARROW, buffers=2),
    case("sum of two", "col row row", "m16n16k8", ((96, 48, 24), (48, 48, 24)), sizes={"M": 192, "N": 192}),
    case("plain", "row col row", "m16n16k8", WIDE, sizes={"M": 200, "N": 168, "K": 104}),
    case("plain", "row row row", "m32n32k8", NARROW, sizes={"M": 130, "N": 100, "K": 70}),
    case("plain", "row col row", "m16n16k8", NARROW, sizes={"M": 67, "N": 71, "K": 45}),
    case("plain", "row col row", "m16n16k8", WIDE, mutant="swizzle dropped"),
    case("plain", "col row row", "m32n32k8", WIDE, mutant="swizzle dropped"),
    case("plain", "row row row", "m16n16k8", WIDE, mutant="swizzle for another interleave"),
    case("bias relu", "row col row", "m32n32k8", WIDE, mutant="exchange with bank conflicts"),
)


# ---- the hardware's side -----------------------------------------------------------------------------------


def launch_all(cases: Iterable[Case]) -> None:
    """Under ncu: launch each kernel once, and check its result where it has to be right."""
    for c in cases:
        given = c.arguments()
        results = c.kernel()(**given)
        doubles = {n: np.asarray(a, np.float64) for n, a in given.items()}
        exact = idioms.expected(c.combination.idiom, doubles, np)
        for result, wanted in zip(results if isinstance(results, tuple) else (results,), exact, strict=True):
            error = np.linalg.norm(result - wanted) / np.linalg.norm(wanted)
            print(f"{c.name}: relative error {error:.1e}", flush=True)
            assert error < 2e-3, c.name


def profile(only: str) -> str:
    """What ncu writes of all launches, as CSV."""
    metrics = ",".join(f"{counter}.sum" for counter in (*COUNTERS.values(), *CONFLICTS.values()))
    inside = [sys.executable, os.path.abspath(__file__), "--launch", "--only", only]
    command = ["ncu", "--csv", "--clock-control", "none", "--metrics", metrics, *inside]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"ncu ended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def launches(text: str) -> list[dict[str, int]]:
    """What ncu wrote: for each launch in order its counters by name, without the ending.

    Lines before the table, which the program under ncu and ncu itself have printed, are skipped.

    Raises
    ------
    ValueError : there is no table, or a counter has no value on this GPU.

    >>> launches('hello\\n"ID","Kernel Name","Metric Name","Metric Value"\\n"0","kern0","a__b.sum","1,024"\\n')
    [{'a__b': 1024}]
    """
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        raise ValueError(f"ncu wrote no table:\n{text[-2000:]}")
    found: dict[int, dict[str, int]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        if not (row["ID"] or "").isdigit():
            continue  # what was printed behind the table
        name, value = row["Metric Name"], row["Metric Value"].replace(",", "")
        if not value.isdigit():
            raise ValueError(f"{name} of launch {row['ID']} is {value!r}, no number")
        found.setdefault(int(row["ID"]), {})[name.rpartition(".")[0]] = int(value)
    return [found[n] for n in sorted(found)]


# ---- the interpreter's side --------------------------------------------------------------------------------


def observed(c: Case) -> dict[str, int]:
    """What the observers count, by the names of `COUNTERS` and `CONFLICTS`."""
    seen = c.kernel().interpret(**c.arguments(), observe=("bank_conflicts", "coalescing"))
    out: dict[str, int] = {}
    for kind, many in (("read", "loads"), ("write", "stores")):
        shared = [r for r in seen.bank_conflicts.rows if r.kind == kind]
        out[f"shared {many}"] = sum(r.accesses for r in shared)
        out[f"phases of {many}"] = sum(r.served for r in shared)
        out[f"conflicts of {many}"] = sum(r.extra for r in shared)
    for kind, one, done in (("read", "load", "loaded"), ("write", "store", "stored")):
        rows = [r for r in seen.coalescing.rows if r.kind == kind]
        out[f"global {one} requests"] = sum(r.requests for r in rows)
        out[f"sectors {done}"] = sum(r.sectors for r in rows)
    return out


def repeated(c: Case) -> dict[str, int]:
    """Requests and sectors of global loads that a warp has made before, since the last barrier of its block."""
    kernel, given = c.kernel(), c.arguments()
    sizes = {n: c.sizes[n] for n in kernel.ir.sizes}
    requests = sectors = 0
    for block in np.ndindex(kernel.launch_config(**sizes).grid):
        seen: set[tuple] = set()
        for step in kernel.trace(**given, block=block):
            if isinstance(step.op, Barrier) and step.op.scope == "block":
                seen.clear()
            if not isinstance(step.op, GlobalLoad):
                continue
            for access in step.accesses:
                for warp, lanes in enumerate(step.active if access.active is None else access.active[0]):
                    places = access.address[0, warp][lanes]
                    key = access.array, access.width, warp, lanes.tobytes(), places.tobytes()
                    if lanes.any() and key in seen:
                        requests += 1
                        sectors += len(np.unique(places // SECTOR))
                    seen.add(key)
    return {"global load requests": requests, "sectors loaded": sectors}


# ---- both --------------------------------------------------------------------------------------------------


def cell(ours: int, again: int, theirs: int) -> str:
    """One number where both agree, else both; `again` of ours the compiler leaves out.

    >>> cell(4096, 0, 4096), cell(4096, 96, 4000), cell(4096, 0, 4100)
    ('4,096', '4,096 - 96', '**4,096 / 4,100**')
    """
    text = f"{ours:,} - {again:,}" if again else f"{ours:,}"
    return text if ours - again == theirs else f"**{text} / {theirs:,}**"


def compared(cases: Iterable[Case], counters: Iterable[Mapping[str, int]]) -> tuple[str, int]:
    """The two tables, and how many numbers differ in the first."""
    head = "| kernel |" + "".join(f" {q} |" for q in COUNTERS)
    lines, more = [head, "|---|" + "---:|" * len(COUNTERS)], []
    wrong = 0
    for c, theirs in zip(cases, counters, strict=True):
        ours, again = observed(c), repeated(c)
        cells = [cell(ours[q], again.get(q, 0), theirs[name]) for q, name in COUNTERS.items()]
        wrong += sum("/" in x for x in cells)
        lines.append(f"| {c.name} | {' | '.join(cells)} |")
        noisy = [f"{ours[q]:,} | {theirs[name]:,}" for q, name in CONFLICTS.items()]
        more.append(f"| {c.name} | {' | '.join(noisy)} |")
    second = ["| kernel | extra phases of loads | counter | extra phases of stores | counter |",
              "|---|---:|---:|---:|---:|", *more]  # fmt: skip
    return "\n".join([*lines, "", *second]), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="words that a case's name must have, separated by commas")
    parser.add_argument("--launch", action="store_true", help="launch the kernels, nothing else (what ncu watches)")
    parser.add_argument("--counters", help="a file that ncu has written, instead of running it")
    parser.add_argument("--record", help="a file for what ncu writes")
    args = parser.parse_args()
    words = [w.strip() for w in args.only.split(",") if w.strip()]
    cases = [c for c in CASES if all(w in c.name for w in words)]
    if args.launch:
        launch_all(cases)
        return 0
    if args.counters:
        with open(args.counters) as file:
            text = file.read()
    else:
        text = profile(args.only)
    if args.record:
        with open(args.record, "w") as file:
            file.write(text)
    counters = launches(text)
    if len(counters) != len(cases):
        raise SystemExit(f"{len(cases)} cases, and ncu saw {len(counters)} launches")
    table, wrong = compared(cases, counters)
    print(table)
    print(f"\n{len(cases)} kernels, {len(cases) * len(COUNTERS)} numbers, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
