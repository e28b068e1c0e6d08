"""What a tuning result is kept under: everything that decides which options are fastest, and nothing else.

Names decide nothing: `A @ B` and `X @ Y` are one computation, and so are sizes that are called M, N, K or m, n, k. So
an expression is written with numbers in the place of names, in the order in which tensors and sizes first appear;
common parts are written once.

    t0(s0, s1) float16 row; t1(s1, s2) float16 col; n2 = t0 @ t1; out n2 row
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from polyvolta.cuda.target.registry import targets
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Dim
from polyvolta.graph.expr import Constant, Expr, Pointwise, walk
from polyvolta.graph.functions.formula import Call, Formula, Input, nodes
from polyvolta.graph.tensors import Tensor
from polyvolta.version import VERSION

if TYPE_CHECKING:
    from polyvolta.cuda.target.target import Target


@dataclass(frozen=True, slots=True)
class Key:
    """A computation on a GPU.

    Attributes
    ----------
    gpu : the GPU's name, such as "NVIDIA H200".
    target : what the target that the kernels are for is `called`.
    expression : what is computed, without names; see the module.
    sizes : the values of the symbolic sizes, in the order in which these first appear.
    version : of the package that made the kernels.
    """

    gpu: str
    target: str
    expression: str
    sizes: tuple[int, ...]
    version: str

    @property
    def text(self) -> str:
        """The key as one text; no two keys have the same."""
        return json.dumps([self.gpu, self.target, self.expression, list(self.sizes), self.version])


def called(target: Target) -> str:
    """What a target's results are kept under: its name, and of one that isn't registered its data, too, shortened."""
    if targets.get(target.name) == target:
        return target.name
    return f"{target.name} {hashlib.sha256(repr(astuple(target)).encode()).hexdigest()[:12]}"


def key_of(graph: Graph, target: str, sizes: Mapping[str, int], gpu: str) -> Key:
    """The key of a graph at some sizes.

    Parameters
    ----------
    sizes : a value for each symbolic size of the graph; others are not looked at.

    >>> import polyvolta as pv
    >>> M, N, m, n = pv.sizes("M N m n")
    >>> one = Graph.of(pv.relu(pv.tensor("A", (M, 64)) @ pv.tensor("B", (64, N), layout="col")))
    >>> other = Graph.of(pv.relu(pv.tensor("X", (m, 64)) @ pv.tensor("Y", (64, n), layout="col")))
    >>> key = key_of(one, "sm_80", {"M": 512, "N": 256}, "NVIDIA A100")
    >>> key == key_of(other, "sm_80", {"m": 512, "n": 256}, "NVIDIA A100"), key.sizes
    (True, (512, 256))
    >>> print(key.expression)
    t0(s0, 64) float16 row; t1(64, s1) float16 col; n2 = t0 @ t1; n3 = relu(n2); out n3 row
    """
    text, names = canonical(graph)
    return Key(gpu, target, text, tuple(int(sizes[n]) for n in names), VERSION)


def canonical(graph: Graph) -> tuple[str, tuple[str, ...]]:
    """A graph without names, and the names of its sizes in the order in which the text numbers them."""
    numbers: dict[Expr, str] = {}
    sizes: dict[str, str] = {}
    parts: list[str] = []

    def dim(d: Dim) -> str:
        return str(d) if isinstance(d, int) else sizes.setdefault(d.name, f"s{len(sizes)}")

    for node in walk(graph.roots):
        if isinstance(node, Constant):
            numbers[node] = node.value.hex()
            continue
        name = f"{'t' if isinstance(node, Tensor) else 'n'}{len(numbers)}"
        if isinstance(node, Tensor):
            shape = ", ".join(map(dim, node.dims))
            parts.append(f"{name}({shape}) {node.dtype} {node.layout}")
        else:
            parts.append(f"{name} = {_operation(node, [numbers[x] for x in node.operands])}")
        numbers[node] = name
    parts += [f"out {numbers[e]} {t.layout}" for e, t in zip(graph.roots, graph.outputs, strict=True)]
    return "; ".join(parts), tuple(sizes)


def _operation(node: Expr, operands: list[str]) -> str:
    """A product or a pointwise operation of named operands; a user's function by what it computes."""
    if not isinstance(node, Pointwise):
        return " @ ".join(operands)
    if node.definition is None:
        return f"{node.function}({', '.join(operands)})"
    return f"[{_formula(node.definition)}]({', '.join(operands)})"


def _formula(formula: Formula) -> str:
    """A formula, each part of it written once."""
    numbers: dict[Formula, str] = {}
    parts = []
    for f in nodes(formula):
        match f:
            case Input(position=p):
                numbers[f] = f"x{p}"
            case Call(function=name, arguments=arguments):
                numbers[f] = f"f{len(numbers)}"
                parts.append(f"{numbers[f]} = {name}({', '.join(numbers[a] for a in arguments)})")
            case _:
                numbers[f] = f.value.hex()
    return ", ".join([*parts, numbers[formula]])
