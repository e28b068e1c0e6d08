"""Random formulas over results of products: texts that are read as graphs, and as numbers in float64."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from families import FAMILIES, Warpgroups
from idioms import Arrays, Graphs

import polyvolta as pv
from polyvolta.graph.dag import Graph


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
