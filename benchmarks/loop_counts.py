"""What loops in C test, counted as they run: of the codes of both libraries for `loops.py`, in one program."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from loop_cases import Input

MOST = 100_000_000  # tests at which a run is stopped
COMPILING = 120  # seconds at which compiling is
ENUMERATED = 1_000_000  # instances of a tree that are enumerated
WORD = 2**64 - 1

Calls = tuple[int, int]  # how many, and a number that says which

HEAD = r"""
#include <stdio.h>
#include <setjmp.h>
#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))
#define min(x, y) ((x) < (y) ? (x) : (y))
#define max(x, y) ((x) > (y) ? (x) : (y))
#define modd(n, d) (((n) % (d) + (d)) % (d))
#define floordiv(n, d) ((n) / (d) - ((n) % (d) != 0 && ((n) < 0) != ((d) < 0)))
#define floormod(n, d) ((n) - (d) * floordiv(n, d))
typedef long long whole;
static whole tests, calls; static unsigned long long all; static jmp_buf out;
static void many(void) { longjmp(out, 1); }
#define TEST(x) ((++tests > MOST ? many() : (void)0), (x))
static void call(whole id, int n, const whole *v) {
  unsigned long long h = id * 0x9E3779B97F4A7C15ull;
  for (int k = 0; k < n; k++) { h ^= v[k] + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2); h *= 0xff51afd7ed558ccdull; }
  all += h ^ (h >> 31); calls++;
}
#define CALL(id, ...) do { whole v[] = {__VA_ARGS__}; call(id, sizeof v / sizeof *v, v); } while (0)
"""


def counting(code: str) -> str:
    """Loops with their tests counted."""
    lines = []
    for line in code.splitlines():
        loop = re.match(r"(\s*)for \((\w+ )+(\w+) = (.*?); (.*); (.*)\)( \{)?$", line)
        test = re.match(r"(\s*(?:\} )?(?:else )?)if \((.*)\)( \{)?$", line)
        if loop:
            pad, _, name, low, cond, step, brace = loop.groups()
            line = f"{pad}for (whole {name} = {low}; TEST({cond}); {step}){brace or ''}"
        elif test:
            line = f"{test[1]}if ({counted(test[2])}){test[3] or ''}"
        elif line.startswith("#"):
            continue
        lines.append(line)
    return "\n".join(lines)


def counted(condition: str) -> str:
    """A condition with each of its comparisons counted."""
    for mark in ("||", "&&"):
        parts = split(condition, mark)
        if len(parts) > 1:
            return f" {mark} ".join(f"({counted(p)})" for p in parts)
    text = condition.strip()
    if text.startswith("(") and split(text[1:-1], ")") == [text[1:-1]] and re.search("&&|\\|\\|", text):
        return f"({counted(text[1:-1])})"
    return f"TEST({text})"


def split(text: str, mark: str) -> list[str]:
    """The text cut at a mark outside of brackets; whole if brackets do not fit."""
    out, depth, start, k = [], 0, 0, 0
    while k < len(text):
        if depth == 0 and text.startswith(mark, k):
            out.append(text[start:k])
            k = start = k + len(mark)
            continue
        depth += {"(": 1, ")": -1}.get(text[k], 0)
        k += 1
    return [*out, text[start:]]


def measure(some: Sequence[Input], compiler: str) -> None:
    """Compile the codes of some inputs, run them, and note the counts."""
    ids: dict[str, int] = {}
    text = [HEAD.replace("MOST", str(MOST))]
    for k, one in enumerate(some):
        names = list(dict.fromkeys(re.findall(r"^\s*(?:\S.*\) )?(\w+)\(", one.ours + "\n" + one.isls, re.M)))
        names = [n for n in names if n not in ("for", "if", "define", "floord", "min", "max")]
        takes = ", ".join(f"whole {p}" for p in one.params) or "void"
        for side, code in (("ours", one.ours), ("isls", one.isls)):
            text += [f"#define {n}(...) CALL({ids.setdefault(n, len(ids) + 1)}, ##__VA_ARGS__)" for n in names]
            text += [f"static void {side}{k}({takes}) {{", counting(code), "}"]
            text += [f"#undef {n}" for n in names]
    text.append("int main(void) {")
    for k, one in enumerate(some):
        for p in one.points:
            for side in ("ours", "isls"):
                run = f"{side}{k}({', '.join(map(str, p))});"
                text.append(f"tests = calls = all = 0; if (!setjmp(out)) {{ {run} }} else calls = -1;")
                text.append('printf("%lld %lld %llu\\n", tests, calls, all);')
    text += ["return 0; }"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "loops.c"), Path(folder, "loops")
        source.write_text("\n".join(text))
        command = [compiler, "-O1", "-w", "-o", program, source]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILING)
            said = done.returncode and done.stderr.strip().splitlines()[-1]
        except subprocess.TimeoutExpired:
            said = f"not compiled in {COMPILING} s"
        if said:
            if len(some) > 1:
                for one in some:
                    measure([one], compiler)
            else:
                some[0].why = f"C: {said}"
            return
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = iter([tuple(map(int, line.split())) for line in lines])
    for one in some:
        for p in one.points:
            ours, isls = next(rows), next(rows)
            stopped = ours[1] == -1, isls[1] == -1
            if not all(stopped):  # of two that are stopped nothing is known
                one.counts.append((ours[0], isls[0]))
            if not any(stopped) and ours[1:] != isls[1:] and not one.why:
                at = dict(zip(one.params, p, strict=True))
                one.why = f"{whose(one, at, ids, ours[1:], isls[1:])} at {at}: {ours[1]} calls, isl's {isls[1]}"
        if not one.counts:
            one.why = f"both make more than {MOST} tests"


def whose(one: Input, at: Mapping[str, int], ids: Mapping[str, int], ours: Calls, isls: Calls) -> str:
    """Whose calls are not the instances of a tree, which are enumerated one by one."""
    from tests.sched.loops.oracle import Meaning

    if max(ours[0], isls[0]) > ENUMERATED:
        return "DIFFERENT calls"
    total = calls = 0
    for (name, point), n in Meaning(one.tree, at).order.instances.items():
        h = ids.get(name, 0) * 0x9E3779B97F4A7C15 & WORD
        for v in point:
            h = (h ^ (v + 0x9E3779B97F4A7C15 + (h << 6) + (h >> 2)) & WORD) * 0xFF51AFD7ED558CCD & WORD
        total += n * (h ^ h >> 31)
        calls += n
    right = calls, total & WORD
    if ours == right:
        return "isl's is wrong"
    return "OURS IS WRONG" if isls == right else "BOTH ARE WRONG"
