"""Running loops by isl's names, from the C texts of their expressions."""

import polyvolta.isl as isl


class C(int):
    """A number that is divided as C does it, toward zero."""

    def __floordiv__(self, other):
        return C(abs(self) // abs(other) * (1 if (self < 0) == (other < 0) else -1))

    def __mod__(self, other):
        return C(int(self) - int(self // other) * int(other))


for _name in ("add", "sub", "mul", "neg", "radd", "rsub", "rmul"):
    setattr(C, f"__{_name}__", lambda self, *other, f=getattr(int, f"__{_name}__"): C(f(self, *other)))  # noqa: B008


def runs(node, values=None):
    """What some loops run, in order: the node of each call, the values of its loop variables, name and arguments."""
    values, kind = values or {}, node.get_type()
    python = lambda e: e.to_C_str().replace("&&", "and").replace("||", "or").replace("/", "//")  # noqa: E731
    names = {**values, "floord": lambda a, b: C(int(a) // b), "min": min, "max": max}
    if kind == isl.ast_node_type.block:
        for child in node.block_get_children():
            yield from runs(child, values)
    elif kind == isl.ast_node_type.for_:
        name, at = node.for_get_iterator().to_C_str(), eval(python(node.for_get_init()), names)
        while eval(python(node.for_get_cond()), {**names, name: C(at)}):
            yield from runs(node.for_get_body(), {**values, name: C(at)})
            at += int(node.for_get_inc().to_C_str())
    elif kind == isl.ast_node_type.if_:
        if eval(python(node.if_get_cond()), names):
            yield from runs(node.if_get_then(), values)
        elif node.if_has_else():
            yield from runs(node.if_get_else(), values)
    elif kind == isl.ast_node_type.mark:
        yield from runs(node.mark_get_node(), values)
    else:
        call = node.user_get_expr()
        args = [int(eval(python(call.get_op_arg(k)), names)) for k in range(1, call.get_op_n_arg())]
        yield node, values, call.get_op_arg(0).to_C_str(), args
