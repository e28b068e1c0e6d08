"""Instruction counts of the main loop of machine code, from the disassembly.

    python benchmarks/sass.py [--nvdisasm PATH]                     sm_70
    python benchmarks/sass.py --target sm_80                        or another target
    python benchmarks/sass.py --target sm_80 --cubin a.cubin ...    kernels that others compiled

Needs an nvdisasm that still reads sm_70 (CUDA 12's; also inside the Triton 3.1 wheel). Prints a Markdown table of one
trip of the main loop, which is one k tile, and for sm_70 one of a macro-MMA step of it.

The main loop is the shortest backward branch around a run of HMMA instructions. What is counted is the path through it
that a full tile takes: of all paths from its head to the backward branch the one with the most memory accesses and
HMMA instructions, and of those the shortest; code for partial tiles, which is never reached, is not on it. The steps
are what lies between the first HMMA and the last one: fragment loads whose addresses are constants apart, and
nothing else, is what they should hold.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polyvolta as pv

LINE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(@!?\w+\s+)?([A-Z][\w.]*)([^;]*);")
KINDS = {
    "HMMA.884": r"HMMA\.884",
    "LDS.128": r"LDS\.(U\.)?128",
    "LDS.64": r"LDS\.(U\.)?64",
    "LDG.128": r"LDG\.E\.128",
    "STS.128": r"STS\.128",
    "BAR": r"BAR",
    "narrower": r"(LDS|LDG|STS)",
    "local": r"(LDL|STL)",
}
MATRICES = {  # of targets with ldmatrix
    "HMMA": r"HMMA",
    "LDSM": r"LDSM",
    "LDGSTS": r"LDGSTS",
    "LDG": r"LDG\.",
    "STS": r"STS",
    "BAR": r"BAR",
    "waits": r"(DEPBAR|LDGDEPBAR|WARPSYNC)",
    "integers": r"U?(IMAD|IADD3?|VIADD\w*|LEA|LOP3|SHF|IMNMX|VIMNMX\w*|SEL|PRMT|ISETP|PLOP3|MOV|R2UR)\b",
    "branches": r"(BRA|CALL|BSSY|BSYNC|EXIT)",
    "local": r"(LDL|STL)",
}
M, N, K = pv.sizes("M N K")  # type: ignore[misc]


@dataclass(frozen=True)
class Instruction:
    """One line: its opcode, whether a predicate may skip it, and where it branches to."""

    op: str
    predicated: bool
    target: int | None = None

    @property
    def work(self) -> bool:
        """Whether a full tile needs it."""
        return bool(re.match(r"HMMA|LDG\.E\.128|LDGSTS|STS|LDS|BAR", self.op))


def instructions(text: str) -> list[Instruction]:
    """The code of a disassembly, branch targets as positions in it."""
    labels: dict[str, int] = {}
    found: list[tuple[str, bool, str | None]] = []
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_?\w+):", line):
            labels[label[1]] = len(found)
        elif code := LINE.search(line):
            target = re.search(r"\.L_?\w+", code[3]) if code[2].startswith("BRA") else None
            conditional = code[1] is not None or bool(re.search(r"\b!?U?P\d,", code[3]))
            found.append((code[2], conditional, target[0] if target else None))
    return [Instruction(op, p, labels.get(t) if t else None) for op, p, t in found]


def loops(code: list[Instruction]) -> Iterator[tuple[int, int]]:
    """(first, last) of each innermost loop with HMMA instructions."""
    spans = [(x.target, k) for k, x in enumerate(code) if x.target is not None and x.target <= k]
    spans = [s for s in spans if any(x.op.startswith("HMMA") for x in code[s[0] : s[1]])]
    for s in spans:
        if not any(t != s and s[0] <= t[0] and t[1] <= s[1] for t in spans):
            yield s


def full_path(code: list[Instruction], first: int, last: int) -> list[str]:
    """The opcodes that a full tile executes in one trip: most work first, then fewest instructions."""
    best: dict[int, tuple[tuple[int, int], int | None]] = {first: ((0, 0), None)}
    for k in range(first, last + 1):
        if k not in best:
            continue
        (work, cost), _ = best[k]
        x, value = code[k], (work + code[k].work, cost - 1)
        after = [k + 1] if x.target is None or x.predicated else []
        after += [x.target] if x.target is not None and x.target > k else []
        for n in after:
            if first <= n <= last and (n not in best or best[n][0] < value):
                best[n] = value, k
    path, k = [], last
    while k is not None:
        path.append(code[k].op)
        k = best[k][1]
    return path[::-1]


def counts(ops: list[str], kinds: dict[str, str] = KINDS) -> Counter[str]:
    """How many instructions of each kind."""
    return Counter(next((name for name, pattern in kinds.items() if re.match(pattern, op)), "other") for op in ops)


def steps(path: list[str]) -> list[str]:
    """What lies between the first HMMA and the last one."""
    tensor = [k for k, op in enumerate(path) if op.startswith("HMMA")]
    return path[tensor[0] : tensor[-1] + 1]


def paths(cubin: bytes, nvdisasm: str) -> list[list[str]]:
    """The full path of each main loop of a cubin."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run([nvdisasm, "-c", file.name], capture_output=True, text=True, check=True).stdout
    code = instructions(text)
    return [full_path(code, *span) for span in loops(code)]


def product(a: str = "row", b: str = "col", left: str = "A", right: str = "B") -> Any:
    return pv.tensor(left, (M, K), layout=a) @ pv.tensor(right, (K, N), layout=b)


LAYOUTS = [(a, b) for a in ("row", "col") for b in ("row", "col")]


def idioms(target: str) -> Iterator[tuple[str, Any]]:
    """The default kernels of the idioms."""
    relu = pv.relu(pv.tensor("A", (M, K)))
    yield "relu(A @ B + bias)", pv.compile(pv.relu(product() + pv.tensor("bias", (N,))), target)
    yield "relu(A) @ B", pv.compile(relu @ pv.tensor("B", (K, N), layout="col"), target)
    yield "A @ B + P @ Q", pv.compile(product() + product(left="P", right="Q"), target)
    yield "2-way split K", pv.compile(product(), target, options=pv.Options(block_tile=(64, 64, 32), split_k=2))


def kernels(target: str) -> Iterator[tuple[str, Any]]:
    """The default kernels of each layout and idiom, then all macro-MMAs with the default tiles."""
    for a, b in LAYOUTS:
        yield f"{a}.{b}", pv.compile(product(a, b), target)
    for a, b in LAYOUTS:
        for macro in sorted(pv.targets[target].macro_names):
            yield f"{a}.{b} {macro}", pv.compile(product(a, b), target, options=pv.Options(macro_mma=macro))
    yield "whole tiles (padding)", pv.compile(product(), target, options=pv.Options(partial="pad"))
    if target == "sm_70":
        yield "two buffers", pv.compile(product(), target, options=pv.Options(buffers=2))
    yield from idioms(target)


def of_volta(nvdisasm: str) -> None:
    """Both tables of sm_70."""
    names = [*KINDS, "other"]
    trips = ["| kernel | tiles | registers | spills | " + " | ".join(names) + " | all | HMMA share |"]
    trips.append("|---" * (len(names) + 6) + "|")
    inner = ["| kernel | macro-MMAs | HMMA | LDS.128 | LDS.64 | LDG + STS | other, within steps | other, around |"]
    inner.append("|---" * 8 + "|")
    for label, kernel in kernels("sm_70"):
        for path in paths(kernel.cubin(), nvdisasm):
            c, s = counts(path), counts(steps(path))
            share = f"{len(path)} | {c['HMMA.884'] / len(path):.1%}"
            cells = " | ".join(str(c[n]) for n in names)
            trips.append(f"| {label} | {_compiled(kernel)} | {cells} | {share} |")
            count = c["HMMA.884"] // {"m16n16k8": 8, "m32n32k8": 32}[kernel.options.macro_mma]
            per = [f"{x / count:.2f}" for x in (c["HMMA.884"], c["LDS.128"], c["LDS.64"])]
            copies = (c["LDG.128"] + c["STS.128"] + c["narrower"]) / count
            outside = (c["other"] - s["other"]) / count
            inner.append(f"| {label} | {count} | {' | '.join(per)} | {copies:.2f} | {s['other']} | {outside:.2f} |")
    print("One trip of the main loop, one k tile:\n", *trips, "", sep="\n")
    print("A macro-MMA of it, on average (other, within steps: of the whole trip):\n", *inner, sep="\n")


def _compiled(kernel: Any) -> str:
    """The cells of tiles, registers and spills."""
    found, options = kernel.resources(), kernel.options
    tiles = " / ".join("x".join(map(str, t)) for t in (options.block_tile, options.warp_tile))
    return f"{tiles}, {options.macro_mma} | {found.registers} | {found.spill_stores} + {found.spill_loads}"


def of_matrices(target: str, cubins: list[str], nvdisasm: str) -> None:
    """The table of a target with ldmatrix, or of cubins."""
    names = [*MATRICES, "other"]
    rows = ["| kernel | tiles | registers | spills | " + " | ".join(names) + " | all | HMMA share |"]
    rows.append("|---" * (len(names) + 6) + "|")
    if cubins:
        found = ((Path(name).stem, "| | ", Path(name).read_bytes()) for name in cubins)
    else:
        found = ((label, _compiled(k), k.cubin()) for label, k in kernels(target))
    for label, compiled, cubin in found:
        for path in paths(cubin, nvdisasm):
            c = counts(path, MATRICES)
            cells = " | ".join(str(c[n]) for n in names)
            rows.append(f"| {label} | {compiled} | {cells} | {len(path)} | {c['HMMA'] / len(path):.1%} |")
    print("One trip of the main loop, one k tile:\n", *rows, sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default=shutil.which("nvdisasm"))
    parser.add_argument("--target", default="sm_70")
    parser.add_argument("--cubin", nargs="*", default=[])
    args = parser.parse_args()
    if not args.nvdisasm:
        print("no nvdisasm found; give its path with --nvdisasm", file=sys.stderr)
        return 2
    if args.target == "sm_70" and not args.cubin:
        of_volta(args.nvdisasm)
    else:
        of_matrices(args.target, args.cubin, args.nvdisasm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
