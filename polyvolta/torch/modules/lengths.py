"""How long the rows of a traced module's values are, from the weights that they meet.

A Linear says how long the rows are that it takes and gives; operands of a pointwise operation have rows of one length,
but for single numbers. So what is known goes on to what is not, along the operations and against them, until nothing
changes.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import fx, nn

from polyvolta.torch.modules.table import PRODUCTS

Lengths = dict[fx.Node, int | None]


def lengths_of(module: nn.Module, graph: fx.Graph) -> Lengths:
    """The length of the rows of each node's value, None where nothing says it. Cost: quadratic in nodes at worst."""
    known: Lengths = {}
    changed = True
    while changed:
        changed = False
        for node in graph.nodes:
            for at, length in _said(module, node, known):
                if length is not None and known.get(at) is None:
                    known[at], changed = length, True
    return known


def _said(module: nn.Module, node: fx.Node, known: Lengths) -> Iterator[tuple[fx.Node, int | None]]:
    """What one node says of itself and of its operands."""
    values = [x for x in node.all_input_nodes if _weight(module, x) is None]
    if node.op == "call_module" and type(inner := module.get_submodule(str(node.target))) is nn.Linear:
        yield node, inner.out_features
        yield values[0], inner.in_features
    elif node.op == "call_function" and node.target in PRODUCTS:
        shapes = [w.shape for x in node.all_input_nodes if (w := _weight(module, x)) is not None and w.dim() == 2]
        if len(shapes) == 1 and len(values) == 1:
            first, last = shapes[0] if node.target is not nn.functional.linear else shapes[0][::-1]
            yield node, last
            yield values[0], first
    elif node.op in ("call_module", "call_function", "call_method") and _weight(module, node) is None:
        found = [known.get(x) for x in (*values, node)]
        length = next((n for n in found if n not in (None, 1)), None)
        for x in (*values, node):
            yield x, length


def _weight(module: nn.Module, node: fx.Node) -> torch.Tensor | None:
    """The parameter or buffer that a node is, or its transpose."""
    if node.op == "get_attr":
        *above, name = str(node.target).split(".")
        return getattr(module.get_submodule(".".join(above)), name)
    turns = node.target in ("t",) or (node.target is getattr and node.args[1] in ("T", "mT"))
    if turns and isinstance(node.args[0], fx.Node) and (inner := _weight(module, node.args[0])) is not None:
        return inner.t()
    return None
