"""Schedules of small programs beside isl's: PolyBench, stencils, recurrences, reductions, chains; and isl's own inputs.

    python benchmarks/schedules.py [PATH ...] [--repeat 5] [--only 01,35]     # needs islpy: pip install -e ".[bench]"

Both libraries get the same union relations, what is valid and coincident (all dependences) and what is to be near (uses
of values), and make a tree of bands. A PATH is a file of isl's schedule constraints (`.sc`), or a folder of them;
without one, the inputs are the 30 kernels of `examples/polybench` and the nests below. `harness.py` says how is
measured; ours includes the check of the result against the dependences, which isl leaves to its caller. Prints a
Markdown table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import harness
import islpy as isl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.polybench import KERNELS  # noqa: E402
from polyvolta.sched import Program, dependences, nest_from_source, schedule  # noqa: E402
from polyvolta.sets import Map, Set  # noqa: E402

NESTS = """
def copy(A, B, N):
    for i in range(N):
        B[i] = A[i]

def transpose(A, B, M, N):
    for i in range(M):
        for j in range(N):
            B[j, i] = A[i, j]

def pointwise(A, B, C, D, N):
    for i in range(N):
        B[i] = 2 * A[i]
    for i in range(N):
        C[i] = B[i] + 1
    for i in range(N):
        D[i] = C[i] * B[i]

def backwards(A, B, C, N):
    for i in range(N):
        B[i] = A[i]
    for i in range(N):
        C[i] = B[N - 1 - i]

def prefix(A, B, N):
    for i in range(1, N):
        B[i] = B[i - 1] + A[i]

def row_sums(A, s, M, N):
    for i in range(M):
        s[i] = 0.0
        for j in range(N):
            s[i] = s[i] + A[i, j]

def filter(x, h, y, N, K):
    for i in range(N):
        y[i] = 0.0
        for k in range(K):
            y[i] = y[i] + h[k] * x[i + k]

def convolution(A, W, B, M, N, K):
    for i in range(M):
        for j in range(N):
            B[i, j] = 0.0
            for p in range(K):
                for q in range(K):
                    B[i, j] = B[i, j] + W[p, q] * A[i + p, j + q]

def blur(A, B, C, M, N):
    for i in range(M):
        for j in range(1, N - 1):
            B[i, j] = A[i, j - 1] + A[i, j] + A[i, j + 1]
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            C[i, j] = B[i - 1, j] + B[i, j] + B[i + 1, j]

def heat(A, T, N):
    for t in range(T):
        for i in range(1, N - 1):
            A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]

def wavefront(A, N):
    for i in range(1, N):
        for j in range(1, N):
            A[i, j] = A[i - 1, j] + A[i, j - 1]

def pascal(A, N):
    for i in range(1, N):
        A[i, 0] = 1
        for j in range(1, i):
            A[i, j] = A[i - 1, j - 1] + A[i - 1, j]

def subsequence(a, b, L, M, N):
    for i in range(1, M):
        for j in range(1, N):
            L[i, j] = max(L[i - 1, j], L[i, j - 1], L[i - 1, j - 1] + a[i] * b[j])

def product_relu(A, B, C, D, M, N, K):
    for i in range(M):
        for j in range(N):
            C[i, j] = 0.0
            for k in range(K):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
    for i in range(M):
        for j in range(N):
            D[i, j] = max(C[i, j], 0.0)

def triangular_solve(L, x, b, N):
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
        x[i] = x[i] / L[i, i]

def softmax(A, m, s, P, M, N):
    for i in range(M):
        m[i] = A[i, 0]
        for j in range(1, N):
            m[i] = max(m[i], A[i, j])
    for i in range(M):
        s[i] = 0.0
        for j in range(N):
            s[i] = s[i] + A[i, j] - m[i]
    for i in range(M):
        for j in range(N):
            P[i, j] = (A[i, j] - m[i]) / s[i]

def normalise(A, m, v, B, M, N):
    for i in range(M):
        m[i] = 0.0
        v[i] = 0.0
        for j in range(N):
            m[i] = m[i] + A[i, j]
        for j in range(N):
            v[i] = v[i] + (A[i, j] - m[i]) * (A[i, j] - m[i])
        for j in range(N):
            B[i, j] = (A[i, j] - m[i]) / v[i]
"""

KEYS = ("validity", "proximity", "coincidence")
Texts = dict[str, str]
"""A domain, and relations by the names of isl's constraints."""


def programs() -> Iterator[tuple[str, Program]]:
    """The kernels of PolyBench, then the nests above."""
    for name, kernel in KERNELS.items():
        yield name, kernel.program
    for source in re.findall(r"^def.*?(?=^def|\Z)", NESTS, flags=re.MULTILINE | re.DOTALL):
        program = nest_from_source(source)
        yield source[4 : source.index("(")], program


def texts_of(program: Program) -> Texts:
    """A program's constraints: all dependences are valid and coincident, uses of values near."""
    found = dependences(program)
    every, uses = (_union(d.relation for d in found if d.kind in kinds) for kinds in (("RAW", "WAR", "WAW"), ("RAW",)))
    return {"domain": str(program.domain), "validity": every, "proximity": uses, "coincidence": every}


def _union(relations: Iterable[Map]) -> str:
    out = Map("{ }")
    for r in relations:
        out = out | r
    return str(out)


def texts_in(path: Path) -> Iterator[tuple[str, Texts]]:
    """The inputs of a file of isl's, or of all in a folder."""
    for file in sorted(path.glob("*.sc")) if path.is_dir() else [path]:
        text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE)
        cut = re.split(r"^(domain|context|validity|proximity|coincidence): *", text, flags=re.MULTILINE)
        yield file.stem, dict(zip(cut[1::2], cut[2::2]))


# ---- the two sides


def read(texts: Texts) -> tuple[Set, dict[str, Map | Set]]:
    known = {k: Map(texts[k]) for k in KEYS if k in texts}
    if "context" in texts:
        return Set(texts["domain"]), {**known, "context": Set(texts["context"])}
    return Set(texts["domain"]), known


def scheduled(domain: Set, known: dict):
    return schedule(domain, **known)


def isl_read(texts: Texts) -> tuple:
    constraints = isl.ScheduleConstraints.on_domain(isl.UnionSet(texts["domain"]))
    if "context" in texts:
        constraints = constraints.set_context(isl.Set(texts["context"]))
    for k in KEYS:
        if k in texts:
            constraints = getattr(constraints, f"set_{k}")(isl.UnionMap(texts[k]))
    return (constraints,)


def isl_scheduled(constraints):
    return constraints.compute_schedule()


def row(number: int, name: str, texts: Texts) -> harness.Row:
    ours = harness.Side(lambda: read(texts), scheduled)
    return harness.Row(f"{number:02} {name}", ours, harness.Side(lambda: isl_read(texts), isl_scheduled))


def rows(paths: Iterable[str]) -> list[harness.Row]:
    inputs = [found for path in paths for found in texts_in(Path(path))]
    inputs = inputs or [(name, texts_of(program)) for name, program in programs()]
    return [row(k, name, texts) for k, (name, texts) in enumerate(inputs, 1)]


if __name__ == "__main__":
    given = [a for a in sys.argv[1:] if Path(a).exists()]
    sys.argv[1:] = [a for a in sys.argv[1:] if a not in given]
    harness.main(__doc__, rows(given), repeat=5)
