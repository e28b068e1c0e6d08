"""Operations that change a tensor, in a traced module: each becomes one that makes a new tensor.

`h.relu_()` gives h, with other values from then on. So whoever reads h afterwards, by whatever name, is made to read
the result of the operation, which is then as pure as any other. Names are what passes a tensor on as it is: a change
itself, Identity, a Dropout that drops nothing. Tensors that others have, too, inputs and weights, are not for this: a
module's kernels change nothing of the caller's.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

from torch import fx, nn

CHANGED = "changes"  # in a node's `meta`: what it changed, which its own arguments still have as it was before
_OPERATORS = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow)
_TURNS = ("t", "T", "mT")


class Proxy(fx.Proxy):
    """A traced value that notes `x += y` as what it is; torch.fx's own has `x = x + y` for it."""

    def __iadd__(self, other: Any) -> Any:
        return self._changed(operator.iadd, other)

    def __isub__(self, other: Any) -> Any:
        return self._changed(operator.isub, other)

    def __imul__(self, other: Any) -> Any:
        return self._changed(operator.imul, other)

    def __itruediv__(self, other: Any) -> Any:
        return self._changed(operator.itruediv, other)

    def __ipow__(self, other: Any) -> Any:
        return self._changed(operator.ipow, other)

    def _changed(self, function: Any, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, other), {})


class SharedChange(Exception):
    """An operation that changes a tensor that isn't the module's to change.

    Attributes
    ----------
    node, tensor : the operation; the input or weight.
    """

    def __init__(self, node: fx.Node, tensor: fx.Node) -> None:
        super().__init__(node, tensor)
        self.node, self.tensor = node, tensor


def without_changes(module: nn.Module, graph: fx.Graph) -> None:
    """Let what comes after a change of a tensor read its result; `graph` is rewritten.

    Raises
    ------
    SharedChange : of an input or a weight.

    >>> class Twice(nn.Module):
    ...     def forward(self, x):
    ...         h = g = x + 1
    ...         h *= 2
    ...         return g
    >>> from polyvolta.torch.modules.tracer import Tracer
    >>> graph = Tracer().trace(Twice())
    >>> without_changes(Twice(), graph)
    >>> [x.name for node in graph.nodes if node.op == "output" for x in node.all_input_nodes]
    ['imul']
    """
    order = {node: n for n, node in enumerate(graph.nodes)}
    names: dict[fx.Node, list[fx.Node]] = {}  # all of one tensor, the first what made it
    for node in order:
        if (x := _passed_on(module, node)) is not None:
            _joined(names, x, node)
        elif (x := _changed(module, node)) is not None:
            made = names.get(x, [x])[0]
            if made.op in ("placeholder", "get_attr"):
                raise SharedChange(node, made)
            for name in names.get(x, [x]):
                name.replace_all_uses_with(node, lambda user, at=order[node]: order[user] > at)
            node.meta[CHANGED] = x
            _joined(names, x, node)


def _joined(names: dict[fx.Node, list[fx.Node]], x: fx.Node, name: fx.Node) -> None:
    names[name] = names.setdefault(x, [x])
    names[name].append(name)


def _passed_on(module: nn.Module, node: fx.Node) -> fx.Node | None:
    """What a node gives as it is, or a view of."""
    if node.op == "call_module" and isinstance(module.get_submodule(str(node.target)), nn.Identity | nn.Dropout):
        return first(node)
    if node.target is nn.functional.dropout or node.target in _TURNS:
        return first(node)
    return first(node) if node.target is getattr and node.args[1] in _TURNS else None


def _changed(module: nn.Module, node: fx.Node) -> fx.Node | None:
    """What a node changes."""
    match node.op:
        case "call_module":
            changes = bool(getattr(module.get_submodule(str(node.target)), "inplace", False))
        case "call_method":
            changes = _is_marked(str(node.target))
        case "call_function":
            changes = node.target in _OPERATORS or _told_to(node)  # torch.relu_ and such are refused: no table has them
        case _:
            return None
    return first(node) if changes else None


def _is_marked(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _told_to(node: fx.Node) -> bool:
    """Whether a function is called with inplace=True, by name or in its place."""
    if "inplace" in node.kwargs:
        return bool(node.kwargs["inplace"])
    try:
        given = inspect.signature(node.target).bind(*node.args, **node.kwargs)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False  # of a builtin, which has none
    return bool(given.arguments.get("inplace", False))


def first(node: fx.Node) -> fx.Node | None:
    """A call's first operand."""
    x = next(iter((*node.args, *node.kwargs.values())), None)
    return x if isinstance(x, fx.Node) else None
