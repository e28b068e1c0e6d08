"""What a compiled kernel would buy in the set core: whole operations on rows, in Python and in numba, side by side.

    python benchmarks/compiled.py [--repeat 400]

Two operations that nearly every question about a set comes down to, each as `polyvolta.sets` does it with tuples of
Python's integers, and by one call of a cached numba kernel on a matrix of 64-bit integers that gives up where a
number may not fit:

tidy   inequalities divided by the gcd of their coefficients, the strongest of parallel ones, in order
empty  whether a system of inequalities has a rational point: a fraction-free simplex, Bland's rule

The kernel's time is also given with the way from tuples to a matrix and back, without which nothing in the package
could call it. Prints Markdown; the last lines say what loading numba and a cached kernel costs a process.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numba
import numpy as np
from sets import TILED

from polyvolta.sets import Set
from polyvolta.sets.engine.rows import Row, strongest
from polyvolta.sets.engine.simplex import Tableau

LIMIT = 1 << 30  # entries beyond may give products beyond 64 bits


@numba.njit(cache=True)
def gcd(a: int, b: int) -> int:
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


@numba.njit(cache=True)
def tidy_kernel(rows: np.ndarray) -> tuple[bool, np.ndarray]:
    """(whether one never holds, the tightened strongest rows in order)."""
    m, n = rows.shape
    out = np.empty((m, n), np.int64)
    count = 0
    for i in range(m):
        g = 0
        for j in range(1, n):
            g = gcd(g, rows[i, j])
        if g == 0:
            if rows[i, 0] < 0:
                return True, out[:0]
            continue
        for j in range(n):
            out[count, j] = rows[i, j] // g
        at = count
        for k in range(count):
            same = True
            for j in range(1, n):
                if out[k, j] != out[count, j]:
                    same = False
                    break
            if same:
                at = k
                break
        if at < count:
            out[at, 0] = min(out[at, 0], out[count, 0])
        else:
            count += 1
    for i in range(1, count):  # by insertion: there are few
        k = i
        while k:
            j = 0
            while j < n - 1 and out[k, j] == out[k - 1, j]:
                j += 1
            if out[k, j] >= out[k - 1, j]:
                break
            for c in range(n):
                out[k, c], out[k - 1, c] = out[k - 1, c], out[k, c]
            k -= 1
    return False, out[:count]


@numba.njit(cache=True)
def empty_kernel(given: np.ndarray) -> int:
    """1 where the inequalities have no rational point, 0 where they have one, -1 where a number may not fit.

    A row (den, const, columns) is a basic variable; `basic` and `cols` say which: x_v is v, the k-th slack ~k.
    """
    m, n = given.shape[0], given.shape[1] - 1
    rows = np.zeros((m + n, n + 2), np.int64)
    basic = np.zeros(m + n, np.int64)
    cols = np.arange(-2, n)
    where = np.full(n, -1)  # the row of a variable that is basic
    count = 0
    for s in range(m):
        den = 1
        for v in range(n):
            if given[s, 1 + v] and where[v] >= 0:
                other = rows[where[v], 0]
                den = den // gcd(den, other) * other
        new = rows[count]
        new[:] = 0
        new[0], new[1] = den, given[s, 0] * den
        for j in range(2, n + 2):
            if cols[j] >= 0:
                new[j] += given[s, 1 + cols[j]] * den
        for v in range(n):
            if given[s, 1 + v] and where[v] >= 0:
                f = given[s, 1 + v] * (den // rows[where[v], 0])
                for j in range(1, n + 2):
                    new[j] += f * rows[where[v], j]
        for j in range(n + 2):
            if abs(new[j]) > LIMIT:
                return -1
        basic[count] = ~s
        r = count
        count += 1
        while rows[r, 1] < 0:
            j, lowest = 0, 1 << 60
            for k in range(2, n + 2):
                c = rows[r, k]
                if c and cols[k] >= 0:
                    j = k
                    break
                if c > 0 and cols[k] < lowest:
                    j, lowest = k, cols[k]
            if not j:
                return 1
            up = rows[r, j] > 0
            i, best_c, best_v = -1, 0, 0
            for k in range(count):
                c = rows[k, j]
                if c and basic[k] < 0 and (c < 0) == up and k != r:
                    c, v = abs(c), rows[k, 1]
                    if i >= 0:
                        order = v * best_c - best_v * c
                        if order > 0 or (order == 0 and basic[k] > basic[i]):
                            continue
                    i, best_c, best_v = k, c, v
            if i < 0 or best_v * abs(rows[r, j]) >= -rows[r, 1] * best_c:
                i = r
            c = rows[i, j]
            old = rows[i, 0]
            sign = -1 if c > 0 else 1
            for k in range(n + 2):
                rows[i, k] *= sign
            rows[i, 0], rows[i, j] = abs(c), -sign * old
            p = rows[i, 0]
            for k in range(count):
                f = rows[k, j]
                if k == i or not f:
                    continue
                g = gcd(f, p)
                f, q = f // g, p // g
                shared = 0
                for c in range(n + 2):
                    if c == 0:
                        rows[k, c] *= q
                    elif c == j:
                        rows[k, c] = f * rows[i, j]
                    else:
                        rows[k, c] = q * rows[k, c] + f * rows[i, c]
                    if abs(rows[k, c]) > LIMIT:
                        return -1
                    shared = gcd(shared, rows[k, c])
                if shared > 1:
                    for c in range(n + 2):
                        rows[k, c] //= shared
            enter, leave = cols[j], basic[i]
            cols[j], basic[i] = leave, enter
            if enter >= 0:
                where[enter] = i
            if leave >= 0:
                where[leave] = -1
            if i == r:
                break
    return 0


def matrix(rows: Sequence[Row]) -> np.ndarray:
    """The rows as a matrix; OverflowError where an entry has more than 64 bits."""
    return np.array(rows, np.int64)


def tidy(rows: Sequence[Row]) -> list[Row] | None:
    best = strongest(rows)
    return None if best is None else sorted([(c, *key) for key, c in best.items()])


def tidy_compiled(rows: Sequence[Row]) -> list[Row] | None:
    never, out = tidy_kernel(matrix(rows))
    return None if never else [tuple(row) for row in out.tolist()]


def empty(rows: Sequence[Row]) -> bool:
    tab = Tableau(len(rows[0]) - 1)
    for row in rows:
        tab.add_ineq(row)
        if tab.empty:
            return True
    return False


def empty_compiled(rows: Sequence[Row]) -> bool:
    found = empty_kernel(matrix(rows))
    return empty(rows) if found < 0 else bool(found)


def median(f: Callable[[], object], repeat: int) -> float:
    """Median microseconds of processor time."""
    times = []
    for _ in range(repeat):
        start = time.thread_time_ns()
        f()
        times.append((time.thread_time_ns() - start) / 1e3)
    return statistics.median(times)


def line(name: str, rows: list[Row], ways: tuple[Callable, Callable, Callable], repeat: int) -> str:
    """A row of the table: Python, numba from tuples to tuples, the kernel."""
    ours, compiled, kernel = ways
    if ours(rows) != compiled(rows):
        raise RuntimeError(f"{name}: the kernel has another result")
    ready = matrix(rows)
    mine, theirs = median(lambda: ours(rows), repeat), median(lambda: compiled(rows), repeat)
    bare = median(lambda: kernel(ready), repeat)
    return f"| {name} | {len(rows)} | {mine:.1f} | {theirs:.1f} | {bare:.1f} | {mine / theirs:.1f} |"


def process(*command: str) -> float:
    """Seconds of processor time of a Python of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def systems() -> dict[str, list[Row]]:
    """Some inequalities of the sizes that tiled programs have."""
    ((_, (feasible,)),) = Set(TILED).parts
    return {
        "tiles of a product, 9 columns": list(feasible.ineqs),
        "the same, no rational point": [*feasible.ineqs, (-200, -1, 0, 0, 128, 0, 0, 0, 0, 0)],
        "twice that, 18 columns": [
            *[(r[0], *r[1:], *[0] * 9) for r in feasible.ineqs],
            *[(r[0], *[0] * 9, *r[1:]) for r in feasible.ineqs],
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=400)
    parser.add_argument("--load", action="store_true", help="load the cached kernels, call one and end")
    args = parser.parse_args()
    if args.load:
        empty_compiled([(0, 1)])
        return
    print("| operation | rows | Python | numba, from tuples to tuples | of that the kernel | Python over numba |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, rows in systems().items():
        for what, ours, compiled, kernel in (
            ("tidy", tidy, tidy_compiled, tidy_kernel),
            ("empty", empty, empty_compiled, empty_kernel),
        ):
            print(line(f"{what}: {name}", rows, (ours, compiled, kernel), args.repeat))
    loaded = process(__file__, "--load")
    plain = process("-c", "import sets; from polyvolta.sets import Set; Set('{ [i] : i > 0 }').is_empty()")
    print(f"\na process that imports polyvolta.sets and islpy: {plain:.2f} s of processor time; ", end="")
    print(f"that loads numba and the cached kernels besides: {loaded:.2f} s")


if __name__ == "__main__":
    main()
