"""torch.fx on a module: its operations, where in the program they stand, and whether its mode matters to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import fx, nn

from polyvolta.torch.errors import UnsupportedModule
from polyvolta.torch.modules.inplace import Proxy


class Tracer(fx.Tracer):
    """torch.fx's, which notes where in the program each operation stands, and what changes a tensor.

    Arguments of the module's forward with defaults have these, and are no inputs.
    """

    record_stack_traces = True
    proxy_buffer_attributes = True

    def proxy(self, node: fx.Node) -> fx.Proxy:
        return Proxy(node, self)

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        made, args = super().create_args_for_root(root_fn, is_module, concrete_args)
        self.defaults: dict[str, Any] = {}
        for n, x in enumerate(args):
            if isinstance(x, fx.Proxy) and x.node.op == "placeholder" and x.node.args:
                args[n] = self.defaults[str(x.node.target)] = x.node.args[0]
                self.graph.erase_node(x.node)
        return made, args


def operations(module: nn.Module) -> tuple[Tracer, fx.Graph]:
    """A module's operations; tensors that its forward makes, which torch.fx keeps in the module, are taken away again.

    Raises
    ------
    UnsupportedModule : there are such.
    """
    before = {*vars(module)}
    tracer = Tracer()
    try:
        graph = tracer.trace(module)
    finally:
        own = [n for n in {*vars(module)} - before if n.startswith("_tensor_constant")]
        for name in own:
            delattr(module, name)
    if own:
        node = next(n for n in graph.nodes if n.op == "get_attr" and n.target in own)
        raise UnsupportedModule(
            "its forward makes a tensor, which would be made once and kept",
            where="\n".join(lines_of(node.next)) or f"{type(module).__name__}.forward",
            hint="register_buffer in __init__, or a number",
        )
    return tracer, graph


def reads_training(module: nn.Module, text: str) -> bool:
    """Whether a module's code does otherwise in the other mode; leaves alone are no code of its."""
    modes = [(m, m.training) for m in module.modules()]
    try:
        for m, training in modes:
            m.training = not training
        return str(operations(module)[1]) != text
    except Exception:  # whatever its code raises in the other mode
        return True
    finally:
        for m, training in modes:
            m.training = training


def lines_of(node: fx.Node) -> list[str]:
    """Where in the program it stands, of the last frame."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in .+((?:\n(?! *File ).+)?)', node.stack_trace or "")
    own = str(Path(torch.__file__).parent)
    frames = [f for f in frames if not f[0].startswith(own)]
    return [f"{path}:{line}: {text.strip()}".removesuffix(": ") for path, line, text in frames[-1:]]
