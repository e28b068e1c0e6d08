"""Runs a loop AST: yields (statement, instance) in the order in which the loops visit them."""

from polyvolta.sched.codegen.ast import Call, For, If


def run(body, values):
    for node in body:
        match node:
            case Call(statement, args):
                yield statement, tuple(a.evaluate(values) for a in args)
            case If(conditions, inner):
                kinds = {"ge": lambda v: v >= 0, "eq": lambda v: v == 0}
                if all(kinds[kind](e.evaluate(values)) for kind, e in conditions):
                    yield from run(inner, values)
            case For(v, lower, upper, step, _, inner):
                low = max(e.evaluate(values) for e in lower)
                high = min(e.evaluate(values) for e in upper)
                for x in range(low, high + 1, step):
                    yield from run(inner, {**values, v: x})
