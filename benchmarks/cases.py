"""One run of one kernel of the matrix: sizes and data at random, everything poisoned, the result judged.

All that is random follows from a text, such as "7 bias relu/row.col-row/... odd", so every case can be run again by
itself, wherever it stood among others.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from arrays import PRECISIONS, Library, Verdict, guarded, judge, random_values
from combinations import Combination
from families import FAMILIES, Warpgroups
from idioms import expected

ODD = (1, 2, 3, 7, 9, 15, 17, 31, 33, 63, 65, 100, 127, 129, 200, 255, 257, 500, 513, 1000, 1023, 1025, 2049, 4095)
KINDS = ("odd", "full", "special", "narrow", "odd")
BOXED = ("boxed", "full", "odd", "boxed", "special", "narrow")
"""Kinds of cases in turn, of kernels that reach arrays by boxes; those that copy engines don't take go to variants."""
FEW = 4096  # results with fewer values are computed from coarse numbers: one rounding more would show in their error


@dataclass(frozen=True)
class Case:
    """What a run is given.

    Parameters
    ----------
    sizes : by name.
    align : what the arrays' places are multiples of, for each tensor and then each output; 0 is a plain array.
    data : see `random_values`.
    seed : of the data.
    """

    sizes: dict[str, int]
    align: tuple[int, ...]
    data: str
    seed: int

    def __str__(self) -> str:
        sizes = " ".join(f"{n}={v}" for n, v in self.sizes.items())
        return f"{sizes} align {','.join(map(str, self.align))} {self.data}"


def kinds_of(combination: Combination) -> tuple[str, ...]:
    """What kinds of cases a kernel's take turns; see `draw`."""
    return BOXED if isinstance(FAMILIES[combination.target], Warpgroups) else KINDS


def work_of(sizes: dict[str, int], combination: Combination) -> int:
    """Multiply-adds of the thread blocks that are started, roughly."""
    m, n, k = combination.step
    rows, columns = sizes.get("M", sizes["N"]), sizes["N"]
    depth = sum(-(-sizes.get(s, 0) // k) * k for s in ("K", "L", "H")) or -(-sizes["N"] // k) * k
    return -(-rows // m) * m * -(-columns // n) * n * depth


def draw(combination: Combination, text: str, kind: str, most: int) -> Case:
    """A case at random.

    Parameters
    ----------
    text : what the randomness follows from.
    kind : "odd": sizes around tiles and from a list of odd ones, arrays at places of any alignment; "full": multiples
        of the tiles in plain arrays; "narrow": as odd, everything aligned to single values; "boxed": as odd, everything
        as copy engines take it, and mostly lines of results that they store: whole units of 8 values;
        "special": as odd, some values not finite, where what comes of these does not hang on underflow.
    most : multiply-adds of the blocks that are started, at most (see `work_of`).
    """
    if combination.partial == "pad" or combination.idiom.results > 1:  # 0 times infinity, in padding; underflow
        kind = {"special": "odd"}.get(kind, kind)
    pick = random.Random(f"{text} {kind}")
    steps = dict(zip("MNK", combination.step)) | dict.fromkeys("LH", combination.step[2])
    names = combination.idiom.sizes
    for attempt in range(200):
        shrink = 1 + attempt // 8
        if kind == "full":
            sizes = {n: steps[n] * pick.randint(1, max(1, 4 // shrink)) for n in names}
        else:
            sizes = {n: _odd(pick, steps[n], shrink) for n in names}
            sizes |= {n: 0 for n in names if n in "KLH" and pick.random() < 0.02}
        if kind == "boxed" and pick.random() < 0.75:
            along = "N" if combination.c == "row" or "M" not in names else "M"
            sizes[along] = -(-sizes[along] // 8) * 8
        if work_of(sizes, combination) <= most:
            break
    else:
        sizes = dict.fromkeys(names, 1) if kind != "full" else {n: steps[n] for n in names}
    results = len(combination.idiom.tensors) + 2
    align = tuple({"full": 0, "narrow": 1, "boxed": 8}.get(kind, pick.choice((8, 8, 4, 2, 1))) for _ in range(results))
    few = sizes.get("M", sizes["N"]) * sizes["N"] < FEW
    coarse = few or pick.random() < 0.1
    data = "special" if kind == "special" else "coarse" if coarse else "normal"
    return Case(sizes, align, data, pick.randrange(2**31))


def _odd(pick: random.Random, step: int, shrink: int) -> int:
    near = step * pick.randint(1, 3) + pick.choice((-1, 0, 1, 8))
    return pick.choice([s for s in ODD if s <= 4096 // shrink**2] + [near] * 6)


def limit_of(combination: Combination, case: Case) -> float:
    """The largest error that is right.

    The result's rounding alone is up to 2^-11 of a single value (2^-8 of bfloat16), and the rounding of a prologue's
    results as much: in a result of few values nothing averages it.
    """
    limit = PRECISIONS[combination.dtype].limit
    few = case.sizes.get("M", case.sizes["N"]) * case.sizes["N"] < FEW
    return 4 * limit if few and combination.idiom.rounded else limit


def run(kernel: Any, combination: Combination, case: Case, library: Library, call: Callable, as_array: Any) -> Verdict:
    """Run a kernel once.

    Parameters
    ----------
    library : where the arrays lie.
    call : `call(kernel, inputs by name, scalars by name, out)` runs it, and waits for it.
    as_array : makes of the library's view what is passed to the kernel.
    """
    idiom, rng, precision = combination.idiom, np.random.default_rng(case.seed), PRECISIONS[combination.dtype]
    library = replace(library, precision=precision)
    shapes = {n: [1 if d == "1" else case.sizes[d] for d in t.split()[0]] for n, t in idiom.tensors.items()}
    inputs = {
        name: guarded(library, random_values(shape, case.data, rng, precision), combination.layout_of(name), align, rng)
        for (name, shape), align in zip(shapes.items(), case.align)
    }
    scalars = {name: float(rng.choice((0.5, -1.5, 2.0))) for name in idiom.scalars}
    doubles = {name: library.double(g.array) for name, g in inputs.items()}
    with np.errstate(all="ignore"):
        results = expected(idiom, {**doubles, **scalars}, library.xp)
    outputs = [
        guarded(library, tuple(r.shape), combination.c, align, rng)
        for r, align in zip(results, case.align[len(inputs) :])
    ]
    out = [as_array(o.array) for o in outputs]
    call(kernel, {n: as_array(g.array) for n, g in inputs.items()}, scalars, tuple(out) if len(out) > 1 else out[0])
    return judge(library, inputs, outputs, results, limit_of(combination, case))


def interpret(
    kernel: Any, combination: Combination, case: Case, observe: bool = False, copies: str | int = "lazy"
) -> Verdict:
    """Run a kernel in the interpreter; with `observe` all observers watch, and must find nothing.

    Parameters
    ----------
    copies : when asynchronous copies arrive, see `Kernel.interpret`.
    """

    def call(kernel: Any, inputs: dict[str, Any], scalars: dict[str, float], out: Any) -> None:
        with np.errstate(all="ignore"):
            seen = kernel.interpret(**inputs, **scalars, out=out, observe="all" if observe else (), copies=copies)
        if observe and (found := [str(f) for f in seen.findings]):
            raise RuntimeError("\n".join(found))

    return run(kernel, combination, case, Library(), call, lambda a: a)
