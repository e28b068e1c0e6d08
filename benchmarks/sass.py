"""Instruction counts of the main loop of sm_70 machine code, from the disassembly.

    python benchmarks/sass.py [--nvdisasm PATH]

Needs an nvdisasm that still reads sm_70 (CUDA 12's; also inside the Triton 3.1 wheel). The main loop is the
shortest backward branch around all HMMA instructions; one trip is one k tile. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

import polyvolta as pv

TILES = [((128, 128, 32), (64, 64, 32)), ((64, 64, 32), (32, 32, 32)), ((64, 128, 64), (32, 64, 64))]
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?\w+\s+)?([A-Z][\w.]*)([^;]*);")
KINDS = {
    "HMMA.884": r"HMMA\.884",
    "LDS.128": r"LDS\.(U\.)?128",
    "LDG.128": r"LDG\.E\.128",
    "STS.128": r"STS\.128",
    "BAR": r"BAR",
    "other LDS/LDG/STS": r"(LDS|LDG|STS)",
    "local memory": r"(LDL|STL)",
}


def main_loop(text: str) -> list[str]:
    """The opcodes of the innermost loop that holds all HMMA instructions."""
    labels: dict[str, int] = {}
    code: list[tuple[str, str]] = []
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_?\w+):", line):
            labels[label[1]] = len(code)
        elif found := LINE.search(line):
            code.append((found[2], found[3]))
    tensor = [k for k, (op, _) in enumerate(code) if op.startswith("HMMA")]
    loops = []
    for k, (op, rest) in enumerate(code):
        target = re.search(r"\(?(\.L_?\w+)\)?", rest)
        if op.startswith("BRA") and target and labels.get(target[1], k + 1) <= k:
            start = labels[target[1]]
            if start <= tensor[0] and tensor[-1] <= k:
                loops.append((k - start, start, k))
    _, start, end = min(loops)
    return [op for op, _ in code[start : end + 1]]


def counts(ops: list[str]) -> Counter:
    found: Counter = Counter()
    for op in ops:
        kind = next((name for name, pattern in KINDS.items() if re.match(pattern, op)), "other")
        found[kind] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default=shutil.which("nvdisasm"))
    args = parser.parse_args()
    if not args.nvdisasm:
        print("no nvdisasm found; give its path with --nvdisasm", file=sys.stderr)
        return 2
    names = [*KINDS, "other"]
    print("| block tile / warp tile | registers | spills | " + " | ".join(names) + " | HMMA share |")
    print("|---" * (len(names) + 4) + "|")
    for block, warp in TILES:
        M, N, K = pv.sizes("M N K")
        product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
        kernel = pv.compile(product, options=pv.Options(block_tile=block, warp_tile=warp))
        found = kernel.resources()
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(kernel.cubin())
            file.flush()
            text = subprocess.run([args.nvdisasm, "-c", file.name], capture_output=True, text=True, check=True).stdout
        c = counts(main_loop(text))
        share = c["HMMA.884"] / sum(c.values())
        spills = f"{found.spill_stores} + {found.spill_loads}"
        print(
            f"| {block} / {warp} | {found.registers} | {spills} | "
            + " | ".join(str(c[n]) for n in names)
            + f" | {share:.0%} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
