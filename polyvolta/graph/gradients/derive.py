"""The gradient of a graph in reverse: from a gradient of each output to one of each input.

A graph is products of what is computed from inputs, and pointwise operations on the products. So its gradient has two
steps. For C = f(P, bias), P = A @ B, and dC the gradient of C:

    first    dP = dC * f'(P, bias)     of the product's shape, P computed once more: an epilogue after the same product
    then     dA = dP @ B^T, dB = A^T @ dP     one product for each that an operand enters, and their sum; a prologue's
                                              derivative is an epilogue here, and a prologue of the other side stays one

Both are graphs as kernels are made for, and are told in a graph's own language. What isn't: an input that broadcasts
has the sum of a larger gradient, over the dimensions along which it is repeated. Of the larger one there is a kernel,
or a pointwise expression where no product enters; the sum is for who calls. A transposed input is a tensor of its own,
whose array is the transposed view of the same memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Dim
from polyvolta.graph.expr import Constant, Expr, MatMul, Pointwise, walk
from polyvolta.graph.functions.derivatives import DERIVATIVES
from polyvolta.graph.gradients.rewrite import (
    computed,
    has_product,
    product,
    total,
    transposed,
    turned_tensor,
    written_out,
)
from polyvolta.graph.names import fresh_names
from polyvolta.graph.outputs import Output
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.tensors import Tensor

_BEFORE, _AFTER = 0, 1  # what a gradient has come to: the first step, or the second
Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Gradients:
    """The gradient of a graph; `gradients` makes it.

    Attributes
    ----------
    seeds : for each output of the graph a tensor of its shape, its gradient.
    shared : the first step: outputs of one kernel, each named, that further expressions read as tensors; () where
        nothing needs the products themselves.
    shared_tensors : these tensors.
    parts : by the name of an input what its gradient is the sum of: expressions of inputs, seeds and shared tensors,
        each of the input's shape or of one from which it follows by summing over dimensions. An input without parts
        has the gradient 0.
    turned : by the name of a transposed tensor the name of what it is the transpose of.
    """

    seeds: tuple[Tensor, ...]
    shared: tuple[Output, ...]
    shared_tensors: tuple[Tensor, ...]
    parts: dict[str, tuple[Expr, ...]]
    turned: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{o.name} = {o.expr}" for o in self.shared]
        for name, parts in self.parts.items():
            lines.append(f"gradient of {name}: {' and '.join(map(str, parts)) or 0}")
        return "\n".join(lines)


def gradients(graph: Graph) -> Gradients:
    """The gradient of a graph's outputs with respect to each of its inputs; scalars have none.

    Raises
    ------
    Unsupported : a graph that no kernel is made for.

    Cost: linear in nodes times the largest number of shapes that a node is broadcast to.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("bias", (N,))
    >>> print(gradients(Graph.of(pv.relu(A @ B + bias))))
    d_P = where(A @ B + bias > 0, d_D, 0)
    gradient of A: d_P @ B_t
    gradient of B: A_t @ d_P
    gradient of bias: d_P
    """
    plan(graph)  # what it takes has products of pointwise operands, and broadcasts no product
    return _Backward(graph).run()


@dataclass(slots=True)
class _Backward:
    """A walk from outputs to inputs.

    Attributes
    ----------
    sums : for each node what its gradient is so far, by step and by the shape to which the node was broadcast there.
    shared : expressions of the first step -> the tensors that stand for them.
    """

    graph: Graph
    sums: dict[Expr, dict[tuple[int, Shape], Expr]] = field(default_factory=dict)
    shared: dict[Expr, Tensor] = field(default_factory=dict)
    turned: dict[Tensor, Tensor] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def run(self) -> Gradients:
        graph = self.graph
        self.taken |= {t.name for t in (*graph.arguments, *graph.outputs)} | set(graph.params)
        roots = written_out(graph.roots)
        inputs = [t for t in graph.inputs if t.dims]
        for t in inputs:
            self.turned[t] = turned_tensor(t, self._name(f"{t.name}_t"))
        seeds = tuple(Tensor(self._name(f"d_{t.name}"), t.dims, t.layout, t.dtype) for t in graph.outputs)
        for root, seed in zip(roots, seeds, strict=True):
            self._add(root, (_BEFORE, root.shape), seed)
        for node in reversed(walk(roots)):
            self._through(node)
        parts = {t.name: tuple(self._parts(t)) for t in inputs}
        outputs = tuple(Output(e, t.name) for e, t in self.shared.items())
        names = {new.name: old.name for old, new in self.turned.items()}
        return Gradients(seeds, outputs, tuple(self.shared.values()), parts, names)

    def _name(self, wanted: str) -> str:
        """A free name like `wanted`."""
        name = next(fresh_names(chain([wanted], (f"{wanted}{n}" for n in count(2))), self.taken))
        self.taken.add(name)
        return name

    def _add(self, node: Expr, key: tuple[int, Shape], gradient: Expr) -> None:
        known = self.sums.setdefault(node, {})
        known[key] = total(known.get(key), gradient)

    def _through(self, node: Expr) -> None:
        """From a node's gradient to shares of its operands'."""
        match node:
            case MatMul(left=left, right=right) if node in self.sums:
                (gradient,) = self.sums[node].values()
                d = self._stored(gradient, node.shape)
                self._add(left, (_AFTER, left.shape), MatMul(d, transposed(right, self.turned)))
                self._add(right, (_AFTER, right.shape), MatMul(transposed(left, self.turned), d))
            case Pointwise(function=f, arguments=arguments):
                for (step, shape), gradient in self.sums.get(node, {}).items():
                    for x, derivative in zip(arguments, DERIVATIVES[f], strict=True):
                        if derivative is not None and not isinstance(x, Constant):
                            share = product(gradient, computed(derivative, arguments))
                            self._add(x, (step, shape), share)

    def _stored(self, gradient: Expr, shape: Shape) -> Expr:
        """What stands for a gradient of the first step: a tensor, where a product enters it."""
        if not has_product(gradient):
            return gradient
        if gradient not in self.shared:
            self.shared[gradient] = Tensor(self._name("d_P"), shape, "row", self.graph.dtype)
        return self.shared[gradient]

    def _parts(self, t: Tensor) -> Iterator[Expr]:
        for (step, shape), gradient in self.sums.get(t, {}).items():
            yield self._stored(gradient, shape) if step == _BEFORE else gradient


def summed_over(part: Sequence[Dim], shape: Sequence[Dim]) -> tuple[int, ...]:
    """The dimensions of a part over which it is summed to have a tensor's shape, but for dimensions of 1.

    >>> from polyvolta.graph.dims import Size
    >>> M, N = Size("M"), Size("N")
    >>> summed_over((M, N), (N,)), summed_over((M, N), (M, 1)), summed_over((M, N), (M, N))
    ((0,), (1,), ())
    """
    beyond = len(part) - len(shape)
    return tuple(
        axis for axis, dim in enumerate(part) if axis < beyond or (shape[axis - beyond] == 1 and dim != 1)
    )
