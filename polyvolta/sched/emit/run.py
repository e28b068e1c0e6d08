"""What a loop AST means: `run` interprets it and lists the instances in the order in which they run.

The interpreter is a dozen lines and has no cleverness, so that it can serve as the definition:

    Call   evaluates its arguments: one instance
    For    takes the values max(lower), max(lower) + step, ... up to min(upper), one after another; without an upper
           bound all of them, which `run` refuses to list
    If     runs its body where every condition holds, and its other branch elsewhere
    Block  runs its body

The printers of C and Python are held to it: their texts, executed, call the same instances in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from operator import index

from polyvolta.sched.emit.given import loops
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Bound, Call, Choice, Condition, For, If
from polyvolta.sched.loops.notation.names import free_names
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, BudgetExceeded, NotAffine, Unbounded, UnknownName, nearest
from polyvolta.sets.errors import kind_of

LIMIT = 10_000_000

Instance = tuple[str, tuple[int, ...]]


def run(
    scan: Scan | Schedule | Ast | Sequence[Ast],
    params: Mapping[str, int] | None = None,
    /,
    *,
    limit: int = LIMIT,
    **more: int,
) -> list[Instance]:
    """The instances (statement, values of its iterators) in the order in which loops run them.

    Names that band members are mapped to, such as `blockIdx.x`, take all their values one after another, outside of
    all loops, unless they are given one.

    Parameters
    ----------
    scan : what `scan` returns, or loops alone; a tree is scanned.
    params : values of the parameters, by name; as keywords, too.
    limit : steps after which the run is given up; an iteration of a loop and a call are one each.

    Raises
    ------
    UnknownName : a parameter has no value.
    BadArgument : a value is given of what is no parameter; or there are no loops to run.
    NotAffine : a value is no integer.
    Unbounded : a loop that never ends is reached.
    BudgetExceeded : more steps than `limit`.

    Cost: the number of iterations and calls, a few microseconds each.

    >>> from polyvolta.sched.loops.ast import Call, For
    >>> from polyvolta.sets import aff, var
    >>> loop = For("c0", (aff(0),), (var("N") - 1,), 2, False, (Call("S", (var("c0") + 1,)),))
    >>> run(loop, N=5)
    [('S', (1,)), ('S', (3,)), ('S', (5,))]
    """
    scan = loops(scan, "run")
    body, extents = scan.body, scan.extents
    if params is not None and not isinstance(params, Mapping):
        raise BadArgument(f"values of parameters are a mapping, not {kind_of(params)}", hint='such as {"N": 4}, or N=4')
    values = _integers({**(params or {}), **more})
    if scan.params is not None:
        known = [*scan.params, *extents]
        for name in values:
            if name not in known:
                where = f"parameters: {', '.join(known)}" if known else ""
                raise BadArgument(f"the loops have no parameter {name}", where=where, hint=nearest(name, known))
    mapped = [n for n in extents if n not in values]
    needed = free_names(body) | {n for m in mapped for n in extents[m].names()}
    for name in sorted(needed - {*values, *mapped}):
        raise UnknownName(
            f"the parameter {name} has no value", hint=nearest(name, [v for v in values if v not in needed])
        )
    sizes = [extents[n].evaluate(values) for n in mapped]
    interpreter = _Interpreter(limit)
    out: list[Instance] = []
    for at in product(*map(range, sizes)):  # type: ignore[arg-type]
        out += interpreter.block(body, {**values, **dict(zip(mapped, at, strict=True))})
    return out


def _integers(given: Mapping[str, object]) -> dict[str, int]:
    """The values as Python integers."""
    values = {}
    for name, value in given.items():
        try:
            values[name] = index(value)  # type: ignore[arg-type]
        except TypeError:
            raise NotAffine(f"the value of {name} is an integer, not {value!r}") from None
    return values


class _Interpreter:
    """Runs loops and counts steps."""

    def __init__(self, limit: int) -> None:
        self.left = self.limit = limit

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise BudgetExceeded(
                f"the loops take more than {self.limit} steps", hint="smaller sizes, or a larger limit="
            )

    def block(self, body: Sequence[Ast], values: Mapping[str, int]) -> Iterator[Instance]:
        for node in body:
            match node:
                case Call(statement, args):
                    self.spend()
                    yield statement, tuple([e.evaluate(values) for e in args])  # type: ignore[misc]
                case For(v, lower, upper, step, _, inner):
                    if not upper:
                        raise Unbounded(
                            f"the loop {v} never ends: there are infinitely many instances to list",
                            where="".join(f"{name} = {x} " for name, x in values.items()).rstrip(),
                            hint="intersect the domain of the tree with a range",
                        )
                    first = max([bound(e, values) for e in lower])
                    last = min([bound(e, values) for e in upper])
                    for x in range(first, last + 1, step):
                        self.spend()
                        yield from self.block(inner, {**values, v: x})
                case If(conditions, inner, other=other):
                    yield from self.block(inner if all(holds(c, values) for c in conditions) else other, values)
                case Block(_, inner):
                    yield from self.block(inner, values)


def bound(b: Bound, values: Mapping[str, int]) -> int:
    """The value of a bound of a loop."""
    if isinstance(b, Aff):
        return b.evaluate(values)  # type: ignore[return-value]
    if isinstance(b, Choice):
        return bound(b.then if all(holds(c, values) for c in b.conditions) else b.other, values)
    return (min if b.kind == "min" else max)(bound(t, values) for t in b.terms)


def holds(condition: Condition, values: Mapping[str, int]) -> bool:
    """Whether a condition holds."""
    if isinstance(condition, AnyOf):
        return any(all(holds(c, values) for c in case) for case in condition.alternatives)
    kind, e = condition
    value = e.evaluate(values)
    return value == 0 if kind == "eq" else value >= 0  # type: ignore[operator]
