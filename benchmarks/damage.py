"""Kernels that mean nothing: an IR damaged at random is refused with a name, or judged; nothing else may come out.

    python benchmarks/damage.py [--cases 2000] [--seed 1] [--jobs 1] [--minutes 30]
    python benchmarks/damage.py --show "split K 1:17"

Each case takes a small kernel and damages its IR: any field of any part of it (`MacroMma` and formulas too) becomes
another number, name, tuple, expression, part or type; entries of tuples vanish, double and change places; whole
statements move. Unlike `changes.py`, which makes kernels that are wrong, this makes things that aren't kernels.

`verify` may give a report or raise `IllFormed`; the printer may give a text or raise an error of the package. What else
comes is listed by where it was raised, and the exit status is 1. `late` are cases of more than a minute.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

import workers
from combinations import Combination
from concrete import KERNELS
from idioms import idiom_called

from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.well_formed import IllFormed
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.cuda.verify.verify import verify
from polyvolta.graph.functions.formula import Call, Formula, Input, Number
from polyvolta.sets import Aff, PolyvoltaError, aff, var

LIMIT_S = 60
NAMES = (
    "",
    "a b",
    "int",
    "A",
    "B",
    "M",
    "K",
    "lane",
    "warp",
    "shared_A",
    "exchange",
    "hmma_C",
    "run_C",
    "nobody",
    "c2",
)
NUMBERS = (-(10**12), -129, -8, -1, 0, 1, 2, 3, 5, 7, 8, 16, 31, 33, 64, 1000, 10**12)
OTHERS = (None, True, 1.5, "A", (), (0,), aff(3), var("lane"), Input(0), {}, [], float("nan"), 0, "16")
Path = tuple[str | int, ...]


@cache
def whole(name: str) -> Kernel:
    """One of the small kernels of `concrete.py`."""
    idiom, layouts, macro, split_k, (block, warp), buffers, partial, _ = KERNELS[name]
    a, b, c = layouts.replace("-", ".").split(".")
    return Combination(idiom_called(idiom), a, b, c, macro, split_k, block, warp, buffers, partial).compile()


def parts(part: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every part of an IR with its place, whatever its type; expressions are whole."""
    yield at, part
    if is_dataclass(part) and not isinstance(part, Aff | Formula):
        for f in fields(part):
            if f.init:
                yield from parts(getattr(part, f.name), (*at, f.name))
    elif isinstance(part, tuple):
        for n, x in enumerate(part):
            yield from parts(x, (*at, n))


def put(part: Any, at: Path, new: Any) -> Any:
    """The part with something else at a place."""
    if not at:
        return new
    first, *rest = at
    if isinstance(first, int):
        return (*part[:first], put(part[first], tuple(rest), new), *part[first + 1 :])
    return replace(part, **{first: put(getattr(part, first), tuple(rest), new)})


def damaged(ir: KernelIR, rng: random.Random) -> tuple[KernelIR, str]:
    """(damaged IR, what was done), one to three things."""
    words = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = [(at, part) for at, part in parts(ir) if at]
        depth = rng.choice(range(1, 7))
        at, part = rng.choice([p for p in places if len(p[0]) == depth] or places)
        new = something(part, rng, places)
        try:
            ir = put(ir, at, new)
        except (PolyvoltaError, TypeError, ValueError):
            continue  # a part that can't be made
        words.append(f"{'.'.join(map(str, at))}: {_short(part)} -> {_short(new)}")
    return ir, "; ".join(words)


def something(part: Any, rng: random.Random, places: list[tuple[Path, Any]]) -> Any:
    """What is put in a part's place."""
    if rng.random() < 0.08:
        return rng.choice(OTHERS)
    if rng.random() < 0.1:
        return rng.choice(places)[1]
    match part:
        case bool():
            return not part
        case int():
            return rng.choice((*NUMBERS, part + 1, part - 1, 2 * part))
        case str():
            return rng.choice((*NAMES, part + "_", *(p for _, p in places if isinstance(p, str))))
        case Aff():
            return rng.choice((
                part + 1, part - 1000, -part, 3 * part, part // 7, part % 5, aff(-1), aff(10**12), var("nobody"),
                part + var("nobody"), part + var("lane"), part + var("K"), 10**9 * part,
            ))  # fmt: skip
        case Input() | Number() | Call():
            return rng.choice((Input(-1), Input(99), Call("nothing", (part,)), Call("relu", ()), Call("add", (part,)),
                               Number(float("nan")), Number(1e300), Call("neg", (part,))))  # fmt: skip
        case tuple() if part:
            n, m = rng.randrange(len(part)), rng.randrange(len(part))
            swapped = list(part)
            swapped[n], swapped[m] = swapped[m], swapped[n]
            return rng.choice(((*part[:n], *part[n + 1 :]), (*part, part[n]), tuple(swapped), (), part[:1], part * 3))
        case dict():
            made = dict(part)
            name = rng.choice(list(made) or ["lane"])
            made.pop(name, None)
            if rng.random() < 0.7:
                made[name] = rng.choice(((0, None), (5, 2), (-3, 7), (0, 10**12), None, (1,), "x", (None, None)))
            return made
    return rng.choice([p for _, p in places if type(p) is type(part)] + [None])


def _short(x: Any) -> str:
    text = str(x).replace("\n", " ")
    return text if len(text) <= 70 else f"{text[:67]}..."


def case_called(task: str) -> tuple[Kernel, KernelIR, str]:
    """The kernel, its damaged IR and what was done."""
    name, text = task.rsplit(" ", 1)
    kernel = whole(name)
    return kernel, *damaged(kernel.ir, random.Random(f"{name} {text}"))


def outcome(kernel: Kernel, ir: KernelIR) -> tuple[str, str]:
    """(verdict, story): refused, judged; or leaked, with where it was raised first in the story's last line."""
    verdict = "judged"
    for what, act in (("verify", lambda: verify(ir, kernel.graph, kernel.stages)), ("print", lambda: print_cuda(ir))):
        try:
            act()
        except IllFormed:
            verdict = "refused"
        except TimeoutError:
            return "late", what
        except PolyvoltaError as error:
            if what == "verify":
                return f"leaked {type(error).__name__}", f"{what}: " + workers.Failure.now().trace
        except Exception as error:
            return f"leaked {type(error).__name__}", f"{what}: " + workers.Failure.now().trace
    return verdict, ""


def one(task: str) -> dict[str, str]:
    """What became of a case."""
    kernel, ir, what = case_called(task)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(LIMIT_S)
    try:
        verdict, story = outcome(kernel, ir)
    finally:
        signal.alarm(0)
    return {"verdict": verdict, "what": what, "story": story}


def _late(*_: Any) -> None:
    raise TimeoutError(f"more than {LIMIT_S} s")


def raised_at(story: str) -> str:
    """The innermost place in the package that a traceback goes through."""
    lines = [x.strip() for x in story.splitlines() if "polyvolta/" in x and x.strip().startswith("File")]
    return lines[-1].split("polyvolta/")[-1] if lines else "?"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=600, help="no case is begun after these")
    parser.add_argument("--show", help="one case, with its error")
    args = parser.parse_args()
    if args.show:
        print(*one(args.show).values(), sep="\n")
        return 0
    names = list(KERNELS)
    tasks = [f"{names[n % len(names)]} {args.seed}:{n}" for n in range(args.cases)]
    counts, wrong, until = Counter(), {}, time.monotonic() + 60 * args.minutes
    for task, answer, _ in workers.run(one, tasks, args.jobs, 2 * LIMIT_S, until):
        if isinstance(answer, workers.Failure):
            answer = {"verdict": "leaked here", "what": "", "story": answer.trace}
        counts[answer["verdict"].split()[0]] += 1
        if answer["verdict"] not in ("judged", "refused"):
            wrong.setdefault((answer["verdict"], raised_at(answer["story"])), []).append((task, answer))
    print("| verdict | cases |\n|---|---|")
    for verdict, number in counts.most_common():
        print(f"| {verdict} | {number} |")
    for (verdict, place), cases in sorted(wrong.items(), key=lambda x: -len(x[1])):
        task, answer = cases[0]
        print(f"{len(cases)} {verdict} at {place}\n    {task}: {answer['what']}\n    "
              f"{(answer['story'].strip().splitlines() or [''])[-1][:200]}", file=sys.stderr)  # fmt: skip
    return 1 if any(v.startswith("leaked") for v, _ in wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
