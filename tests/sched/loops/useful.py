"""What in some loops does nothing, found by running them: an oracle of quality.

    a condition     that held whenever the others beside it did
    an alternative  without which a condition would have held as often
    a loop          that never ran twice in a row
    a bound         that was never the only one to be met

At sizes on both sides of every tile what is found is redundant, as far as these sizes show; what is not found is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from polyvolta.sched.emit.run import bound, holds
from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Call, Condition, For, If
from polyvolta.sched.loops.scan import Scan


def useless(scan: Scan, values: Sequence[Mapping[str, int]]) -> list[str]:
    """What did nothing at any of the values, as text."""
    seen = Seen()
    for v in values:
        names = [n for n in scan.extents if n not in v]
        for at in product(*[range(scan.extents[n].evaluate(v)) for n in names]):
            seen.block(scan.body, {**v, **dict(zip(names, at, strict=True))})
    return [what for what, used in seen.used.values() if not used]


class Seen:
    """Of each part whether it ever did anything; parts are told apart by their place in the loops."""

    def __init__(self) -> None:
        self.used: dict[tuple, tuple[str, bool]] = {}

    def note(self, key: tuple, what: str, used: bool) -> None:
        self.used[key] = (what, used or self.used.get(key, ("", False))[1])

    def block(self, body: Sequence[Ast], values: Mapping[str, int]) -> None:
        for node in body:
            match node:
                case Call():
                    pass
                case Block(_, inner):
                    self.block(inner, values)
                case If(conditions, inner, other=other):
                    self.block(inner if self.tested(id(node), conditions, values) else other, values)
                case For():
                    self.loop(node, values)

    def tested(self, key: int, conditions: Sequence[Condition], values: Mapping[str, int]) -> bool:
        truth = [holds(c, values) for c in conditions]
        for k, c in enumerate(conditions):
            rest = all(t for j, t in enumerate(truth) if j != k)
            self.note((key, k), f"condition {c}", rest and not truth[k])
            for n, case in enumerate(c.alternatives if isinstance(c, AnyOf) else ()):
                others = AnyOf((*c.alternatives[:n], *c.alternatives[n + 1 :]))
                alone = rest and truth[k] and not holds(others, values)
                self.note((key, k, n), f"alternative {case}", alone)
        return all(truth)

    def loop(self, node: For, values: Mapping[str, int]) -> None:
        lows, highs = [bound(e, values) for e in node.lower], [bound(e, values) for e in node.upper]
        first, last = max(lows), min(highs)
        for side, ends, best in (("lower", lows, first), ("upper", highs, last)):
            for k, end in enumerate(ends if len(ends) > 1 else ()):
                what = f"{side} bound {getattr(node, side)[k]} of {node.var}"
                self.note((id(node), side, k), what, ends.count(best) == 1 and end == best)
        self.note((id(node),), f"loop {node.var} from {node.lower} to {node.upper}", first + node.step <= last)
        for x in range(first, last + 1, node.step):
            self.block(node.body, {**values, node.var: x})
