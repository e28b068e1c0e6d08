"""Kernels of random formulas: whatever `compile` makes, `verify` proves.

    python benchmarks/provable.py [--cases 300] [--seed 1] [--jobs 1] [--minutes 30] [--csv FILE]
    python benchmarks/provable.py --target sm_90a     for another target, whose names of cases end in "@sm_90a"
    python benchmarks/provable.py --show 1:17         one case, with its whole report
    python benchmarks/provable.py --plans 20000       formulas alone: plans against float64, and both as combinations

A case draws pointwise formulas over the results of up to three products, with biases, residuals, scalars and numbers
(0, -0, 1, -1, large and small ones among them), prologues of the products' operands, layouts, tiles and options; on
sm_90a, of tensors as they are, tiles of warpgroups and the ways in which blocks go through the result. It is
compiled, and every statement about the kernel must be proved. What isn't is shrunk, to the smallest formula and the
plainest options that are not proved either, and listed; the exit status is 1 then. A graph that `compile` refuses is
`refused`, with a named error; any other exception is `crashed`.

A formula is a tree of texts, and its text is read three times: with polyvolta's functions it builds a graph, with
numpy's it is the expected result in float64 (`combinations.Arrays`, which shares no code with the package). With
`--plans` no kernel is made: the graph's plan, which decides what shares an accumulator, is computed in float64 and
compared with the expected result, and the verifier's combinations (`algebra`) of both are held against one another.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import workers
from combinations import Arrays, Graphs
from families import FAMILIES, Warpgroups
from matrix import write_csv

import polyvolta as pv
from polyvolta.cuda.verify.values.expressions import Element, Meaning
from polyvolta.graph.dag import Graph
from polyvolta.graph.functions.formula import Input, show, substitute
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.plans.plans import Plan
from polyvolta.graph.statements import Access
from polyvolta.sets import PolyvoltaError

# ---- formulas ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """A text with holes, and what goes there."""

    text: str
    parts: tuple[Tree, ...] = ()

    def __str__(self) -> str:
        return self.text.format(*self.parts)

    @property
    def size(self) -> int:
        return 1 + sum(p.size for p in self.parts)

    @property
    def is_number(self) -> bool:
        """Whether there is no array and no scalar in it."""
        return not self.parts and self.text.strip("()-").replace("e-", "").replace("e", "")[0].isdigit()


SHAPES = {
    "A": "MK", "B": "KN", "P": "ML", "Q": "LN", "U": "MH", "V": "HN", "Z": "KN",
    "a": "M1", "k": "K", "b": "N", "c": "K1", "p": "ML", "q": "1N", "u": "M1", "v": "H1",
    "bias": "N", "column": "M1", "row": "1N", "R": "MN", "T": "MN",
}  # fmt: skip
"""Tensors by name, a size a letter."""
SCALARS = {"alpha": 2.5, "beta": -0.75}
PRODUCTS = (("A", "B"), ("P", "Q"), ("U", "V"), ("A", "Z"))
BESIDE = {"A": ("a", "k"), "B": ("b", "c"), "P": ("p", "u"), "Q": ("q",), "U": ("u",), "V": ("v", "b"), "Z": ("c",)}
"""What a prologue may have beside a factor."""
PLAIN = ("0", "-0.0", "1", "-1", "2", "0.5", "-3", "1 / 3", "0.1", "7")
FAR = ("1e-8", "3e10", "2.0**40", "2.0**-50", "2.0**63", "1e30", "1e-30", "-1e38")
FUNCTIONS = (
    "f.relu({})", "f.tanh({})", "f.sigmoid({})", "f.square({})", "abs({})", "f.sqrt({})", "f.exp({})", "f.sign({})",
    "f.leaky_relu({}, 0.125)", "f.clamp({}, -1, 4)", "f.maximum({}, {})", "f.minimum({}, {})",
    "f.where({} > {}, {}, {})", "f.where(f.not_equal({}, 0), {}, {})", "f.pointwise(f.blend, {}, {})",
    "f.pointwise(lambda x, y: (x - 0) * 2 - y, {}, {})",
)  # fmt: skip
LINEAR = ("({} + {})", "({} - {})", "({} + {})", "({} - {})", "(-{})", "({} * {})", "({} / {})")


def blend(x: Any, y: Any) -> Any:
    """A user's function."""
    return 0.25 * x - (y - x) + 0


class PvFunctions(Graphs):
    """Formulas as graphs."""

    blend = staticmethod(blend)


class Doubles(Arrays):
    """Formulas in float64."""

    blend = staticmethod(blend)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def leaky_relu(self, x: Any, slope: float) -> Any:
        return np.where(x < 0, slope * x, x)

    def clamp(self, x: Any, low: float, high: float) -> Any:
        return np.minimum(np.maximum(x, low), high)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return np.where(condition, a, b)


@dataclass(frozen=True)
class Case:
    """Formulas, layouts and options."""

    outputs: tuple[Tree, ...]
    columns: frozenset[str] = frozenset()  # tensors in column-major layout; "result" for the outputs
    options: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)  # sizes that are numbers
    target: str = "sm_70"

    def __str__(self) -> str:
        texts = ", ".join(map(str, self.outputs))
        more = [f"columns {' '.join(sorted(self.columns))}"] if self.columns else []
        more += [f"{n}={v}" for n, v in (*self.options.items(), *self.numbers.items())]
        more += [self.target] if self.target != "sm_70" else []
        return " | ".join([texts, *more])

    @property
    def size(self) -> int:
        return sum(t.size for t in self.outputs) * 100 + len(self.columns) + 3 * len(self.options) + len(self.numbers)

    @property
    def is_far(self) -> bool:
        """Whether a number is so large or small that float64 loses others beside it."""
        return any(number in str(t) for t in self.outputs for number in FAR)

    def graph(self) -> Graph:
        """The graph."""
        names = {n: self.numbers[n] if n in self.numbers else pv.sizes(n) for n in "MNKLH"} | {"1": 1}
        tensors = {
            n: pv.tensor(n, tuple(names[s] for s in shape), layout="col" if n in self.columns else "row")
            for n, shape in SHAPES.items()
        }
        space = {**tensors, **{s: pv.scalar(s) for s in SCALARS}, "f": PvFunctions()}
        made = dict.fromkeys(eval(str(t), space) for t in self.outputs)
        layout = "col" if "result" in self.columns else "row"
        return Graph.of([pv.output(e, layout=layout) for e in made])

    def kernel(self) -> pv.Kernel:
        """The kernel."""
        return pv.compile(self.graph(), target=self.target, options=pv.Options(**self.options))


class Drawing:
    """Random cases for a target."""

    def __init__(self, seed: str, target: str = "sm_70") -> None:
        self.rng, self.target = random.Random(seed), target
        self.far = self.rng.random() < 0.25
        pairs = self.rng.sample(PRODUCTS, self.rng.choice((1, 2, 2, 2, 3, 3)))
        self.simple = simple = self.rng.random() < 0.5
        self.products = [Tree("({} @ {})", tuple(self.factor(x, simple) for x in pair)) for pair in pairs]

    def factor(self, name: str, simple: bool) -> Tree:
        """An operand of a product."""
        made = Tree(name)
        if simple or self.rng.random() < 0.4:
            return made
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            other = Tree(self.rng.choice((*BESIDE[name], name, "alpha", self.number())))
            made = self.call(lambda made=made, other=other: self.rng.choice((made, made, other)))
        return made if name in str(made) else Tree("({} + {})", (made, Tree(name)))

    def number(self) -> str:
        text = self.rng.choice(PLAIN + FAR if self.far else PLAIN)
        return f"({text})"

    def leaf(self) -> Tree:
        if self.rng.random() < 0.6:
            return self.rng.choice(self.products)
        others = ("bias", "column", "row", "R", "T", *SCALARS)
        return Tree(self.rng.choice(others) if self.rng.random() < 0.5 else self.number())

    def call(self, part: Any) -> Tree:
        """An operation on drawn parts, not on numbers alone."""
        text = self.rng.choice(LINEAR if self.rng.random() < 0.75 else FUNCTIONS)
        while True:
            parts = tuple(part() for _ in range(text.count("{}")))
            if text.startswith("f.where({} >") and all(p.is_number for p in parts[:2]):
                continue
            if not all(p.is_number for p in parts):
                return Tree(text, parts)

    def tree(self, depth: int) -> Tree:
        if depth == 0 or self.rng.random() < 0.15:
            return self.leaf()
        return self.call(lambda: self.tree(depth - 1))

    def sum(self) -> Tree:
        """A sum of all products with factors and neutral operations around."""
        made = None
        for product in self.products:
            for _ in range(self.rng.choice((0, 1, 1, 2))):
                text = self.rng.choice(("({} * {})", "({} / {})", "({} - {})", "({} + {})", "(-{})", "({1} - {0})"))
                other = Tree(self.number() if self.rng.random() < 0.7 else self.rng.choice(("bias", "R", "alpha")))
                if "/" in text and not other.is_number:
                    text = "({} + {})"
                product = Tree(text, (product, other)) if "-{}" not in text else Tree(text, (product,))
            made = product if made is None else Tree(self.rng.choice(("({} + {})", "({} - {})")), (made, product))
        assert made is not None
        return made if self.rng.random() < 0.3 else self.call(lambda: self.rng.choice((made, made, self.leaf())))

    def case(self) -> Case:
        rng = self.rng
        count = rng.choice((1, 1, 1, 1, 2))
        outputs = tuple(self.sum() if rng.random() < 0.5 else self.tree(rng.choice((1, 2, 3, 4))) for _ in range(count))
        columns = frozenset(n for n in (*SHAPES, "result") if rng.random() < 0.5 and len(SHAPES.get(n, "MN")) == 2)
        numbers = {n: rng.choice((8, 16, 40, 64, 129)) for n in "MNKLH" if rng.random() < 0.08}
        options = self.of_warps
        if isinstance(FAMILIES.get(self.target), Warpgroups):
            options = self.of_warpgroups if self.simple else self.alone
        return Case(outputs, columns, options(), numbers, self.target)

    def alone(self) -> dict[str, Any]:
        """Small tiles, and the macro-MMA that the rule chooses."""
        return {"block_tile": (32, 32, 32), "warp_tile": (16, 32, 32), "swap": False}

    def of_warpgroups(self) -> dict[str, Any]:
        """Tiles of one or two warpgroups, and ways through the result."""
        rng = self.rng
        wide = 16 * rng.choice((1, 2, 3, 4, 8))
        warp = (64 * rng.choice((1, 1, 2)), wide * rng.choice((1, 1, 2)), 16 * rng.choice((1, 2, 4)))
        block = (warp[0] * rng.choice((1, 1, 2)), warp[1] * rng.choice((1, 1, 2)), warp[2])
        swap = rng.random() < 0.3
        if swap:
            block, warp = ((y, x, z) for x, y, z in (block, warp))
        made = {"block_tile": block, "warp_tile": warp, "macro_mma": f"m64n{wide}k16", "swap": swap}
        made |= {"buffers": rng.choice((2, 3, 4)), "group": rng.choice((1, 8))}
        made |= {name: rng.random() < 0.3 for name in ("persistent", "dependent_launch")}
        return made

    def of_warps(self) -> dict[str, Any]:
        rng = self.rng
        side = rng.choice((16, 16, 32))
        warp = (side * rng.choice((1, 1, 2)), side * rng.choice((1, 1, 2)), 8 * rng.choice((1, 2, 2, 3, 4)))
        made: dict[str, Any] = {
            "macro_mma": "m16n16k8" if side == 16 else "m32n32k8",
            "warp_tile": warp,
            "block_tile": (warp[0] * rng.choice((1, 1, 2)), warp[1] * rng.choice((1, 1, 2)), warp[2]),
            "split_k": rng.choice((1, 1, 1, 2)),
            "buffers": rng.choice((1, 2)),
        }
        if rng.random() < 0.25:
            made["partial"] = "pad"
        if rng.random() < 0.25:
            made["accumulators"] = "separate"
        return made


# ---- kernels -----------------------------------------------------------------------------------------------


def judged(case: Case) -> tuple[str, str]:
    """(verdict, story): proved, or "refuted: result, ..." and "undecided: ..." of all statements; refused, crashed."""
    try:
        kernel = case.kernel()
    except PolyvoltaError as error:
        return "refused", f"{type(error).__name__}: {error}"
    except Exception:
        return "crashed", "compile: " + workers.Failure.now().trace
    try:
        report = kernel.verify()
    except Exception:
        return "crashed", "verify: " + workers.Failure.now().trace
    words = []
    for name, proofs in (("refuted", report.refuted), ("undecided", report.undecided)):
        if proofs:
            words.append(f"{name}: {', '.join(p.id for p in proofs)}")
    return "; ".join(words) or "proved", "" if report.ok else str(report)


def shrunk(case: Case, verdict: str, until: float) -> Case:
    """The smallest case found that has the same verdict."""
    best, found = case, True
    while found and time.monotonic() < until:
        found = False
        for smaller in sorted(smaller_than(best), key=lambda c: c.size):
            if time.monotonic() > until:
                break
            if smaller.size < best.size and judged(smaller)[0] == verdict:
                best, found = smaller, True
                break
    return best


def smaller_than(case: Case) -> Iterator[Case]:
    """Cases with something less."""
    for n, tree in enumerate(case.outputs):
        rest = (*case.outputs[:n], *case.outputs[n + 1 :])
        if rest:
            yield replace(case, outputs=rest)
        for one in smaller_trees(tree):
            yield replace(case, outputs=(*case.outputs[:n], one, *case.outputs[n + 1 :]))
    for n in case.columns:
        yield replace(case, columns=case.columns - {n})
    for n in case.options:
        if n in ("split_k", "buffers", "partial", "accumulators", "persistent", "dependent_launch", "group"):
            yield replace(case, options={k: v for k, v in case.options.items() if k != n})
    for n in case.numbers:
        yield replace(case, numbers={k: v for k, v in case.numbers.items() if k != n})


def smaller_trees(tree: Tree) -> Iterator[Tree]:
    """The parts of a tree, and the tree with a smaller part."""
    if "@" not in tree.text:
        yield from tree.parts
    for n, part in enumerate(tree.parts):
        for one in smaller_trees(part):
            yield Tree(tree.text, (*tree.parts[:n], one, *tree.parts[n + 1 :]))


# ---- plans -------------------------------------------------------------------------------------------------


def plan_differs(case: Case) -> str:
    """What is wrong with a case's plan: a value, or the verifier's combination; "" if nothing is."""
    graph = case.graph()
    made = plan(graph, case.options.get("accumulators", "auto"))
    rng = np.random.default_rng(7)
    length = {"M": 2, "N": 3, "K": 2, "L": 3, "H": 1, "1": 1, **dict.fromkeys(case.numbers, 2)}
    space: dict[str, Any] = {n: rng.uniform(-2, 2, [length[s] for s in shape]) for n, shape in SHAPES.items()}
    space |= {n: np.float64(v) for n, v in SCALARS.items()}
    with np.errstate(all="ignore"):
        texts = dict.fromkeys(map(str, case.outputs))
        expected = [eval(text, {**space, "f": Doubles(np)}) for text in texts]
    computed = computed_by(made, space)
    for output, want in zip(graph.outputs, expected, strict=False):  # of equal ones the graph has one
        got = computed[output.name]
        if not case.is_far and not np.allclose(got, want, rtol=1e-7, atol=1e-7, equal_nan=True):
            return f"{output.name} is {got}, and {want} is due"
    return combination_differs(made, Meaning(graph))


def computed_by(made: Plan, space: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays by name as a plan computes them, in float64."""
    held: dict[str, Any] = dict(space)
    for c in made.contractions:
        left, right = (
            evaluate(side.formula, [_placed(space, a, side.index) for a in side.accesses]
                     + [space[s] for s in side.scalars], np.float64)
            for side in (c.left, c.right)
        )  # fmt: skip
        with np.errstate(all="ignore"):
            before = 0.0 if c.factor is None else c.factor * held[c.accumulator]
            depth = max(left.shape[1], right.shape[0])
            shape = (left.shape[0], depth), (depth, right.shape[1])
            held[c.accumulator] = before + np.broadcast_to(left, shape[0]) @ np.broadcast_to(right, shape[1])
    for s in made.steps:
        parts = [_placed(held, a, s.statement.iterators) for a in s.accesses] + [held[x] for x in s.scalars]
        held[s.statement.write.tensor] = evaluate(s.formula, parts, np.float64)
    return held


def _placed(held: Mapping[str, Any], access: Access, axes: tuple[str, ...]) -> np.ndarray:
    """What an access reads, with an axis for each iterator."""
    array = held[access.tensor][tuple(0 if p.isdigit() else slice(None) for p in access.index)]
    own = [axes.index(p) for p in access.index if not p.isdigit()]
    return np.expand_dims(np.transpose(array, np.argsort(own)), [n for n in range(len(axes)) if n not in own])


def combination_differs(made: Plan, meaning: Meaning) -> str:
    """Whether the verifier takes what a plan computes for another formula than the graph's."""
    forms, held = meaning.forms, {}
    products = {c.statement.write.tensor: c.accumulator for c in made.contractions}
    joined = {array for array, a in products.items() if list(products.values()).count(a) > 1}
    for c in made.contractions:
        array = c.statement.write.tensor
        one = forms.atom(array, summed=array in joined)
        before = () if c.factor is None else tuple((a, f * Fraction(c.factor)) for a, f in held[c.accumulator])
        held[c.accumulator] = forms.combined(before, one)
    formulas = {array: Input(n) for n, array in enumerate(held)}
    leaves: dict[Any, int] = {}
    for s in made.steps:
        parts = []
        for a in s.accesses:
            if a.tensor not in formulas:
                places = tuple("0" if p.isdigit() else s.statement.write.index.index(p) for p in a.index)
                parts.append(Input(len(held) + leaves.setdefault(Element(a.tensor, places), len(leaves))))
            else:
                parts.append(formulas[a.tensor])
        parts += [Input(len(held) + leaves.setdefault(x, len(leaves))) for x in s.scalars]
        formulas[s.statement.write.tensor] = substitute(s.formula, dict(enumerate(parts)))
    operands = [*held.values(), *map(forms.atom, leaves)]
    for name, output in meaning.outputs.items():
        asked = [
            forms.atom(x) if meaning.number(x) is None else forms.atom(x.tensor, summed=x.tensor in joined)
            for x in output.leaves
        ]
        if forms.of(formulas[name], operands) != forms.of(output.formula, asked):
            names = [*held, *map(str, leaves)]
            return f"{name} is {show(formulas[name], names)}, no combination as the graph's"
    return ""


# ---- the program

BAD = ("refuted", "undecided", "crashed", "late")


def case_called(task: str) -> Case:
    """The case of a name, "seed:number", or "seed:number@target"."""
    seed, _, target = task.partition("@")
    return Drawing(seed, target or "sm_70").case()


def one(task: str) -> dict[str, str]:
    """What became of a case."""
    case = case_called(task)
    verdict, story = judged(case)
    least = ""
    if verdict not in ("proved", "refused"):
        least = str(shrunk(case, verdict, time.monotonic() + 60))
    return {"verdict": verdict, "what": str(case), "least": least, "story": story}


def plans(seed: int, count: int) -> int:
    """Formulas without kernels; how many are wrong."""
    counts, wrong = Counter(), 0
    for n in range(count):
        case = case_called(f"{seed}:{n}")
        try:
            differs = plan_differs(case)
        except PolyvoltaError as refused:
            counts[f"refused, {refused.id}"] += 1
            continue
        counts["differs" if differs else "agrees"] += 1
        if differs:
            wrong += 1
            print(f"{seed}:{n} {case}\n    {differs}", file=sys.stderr)
    print("".join(f"{name}: {number}\n" for name, number in counts.most_common()), end="")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default="sm_70", choices=("sm_70", "sm_90a"), help="what kernels are made for")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=600, help="no case is begun after these")
    parser.add_argument("--plans", type=int, help="so many formulas without kernels")
    parser.add_argument("--show", help="one case, with its report")
    parser.add_argument("--csv", help="write one line for each case to this file")
    args = parser.parse_args()
    if args.plans:
        return 1 if plans(args.seed, args.plans) else 0
    if args.show:
        case = case_called(args.show)
        print(case, *judged(case), sep="\n")
        return 0
    target = f"@{args.target}" if args.target != "sm_70" else ""
    tasks = [f"{args.seed}:{n}{target}" for n in range(args.cases)]
    records, until = [], time.monotonic() + 60 * args.minutes
    for task, answer, seconds in workers.run(one, tasks, args.jobs, 300, until):
        if isinstance(answer, workers.Failure):
            answer = {"verdict": "late", "what": answer.line, "least": "", "story": answer.trace}
        records.append({"case": task, **answer, "seconds": round(seconds, 2)})
        if answer["verdict"].startswith(BAD):
            print(f"[{len(records)}] {task} {answer['verdict']}: {answer['what']}\n    least: {answer['least']}",
                  file=sys.stderr, flush=True)  # fmt: skip
    print("| verdict | cases |\n|---|---|")
    for verdict, number in Counter(r["verdict"] for r in records).most_common():
        print(f"| {verdict} | {number} |")
    refusals = Counter(r["story"].split(":")[0] for r in records if r["verdict"] == "refused")
    print("refused with", ", ".join(f"{number} {name}" for name, number in refusals.most_common()) or "nothing")
    write_csv(args.csv, [{k: v for k, v in r.items() if k != "story"} for r in records])
    workers.report([(f"{r['case']} {r['verdict']}: {r['least']}", r["story"]) for r in records
                    if r["verdict"].startswith(BAD)])  # fmt: skip
    return 1 if any(r["verdict"].startswith(BAD) for r in records) else 0


if __name__ == "__main__":
    sys.exit(main())
