"""Random loops, decoded from bytes: any bounds and conditions that the loop AST can say, no loop longer than four."""

from dataclasses import dataclass, field

from polyvolta.sched.loops.ast import AnyOf, Block, Call, Extreme, For, If
from polyvolta.sched.loops.scan import Scan
from polyvolta.sets import aff, var
from tests.sets.draw import Source

PARAMS = {"N": (0, 1, 3, 6), "M": (-4, -1, 2, 5)}


@dataclass
class Loops:
    """Draws loops and keeps what is true of their variables."""

    source: Source
    ranges: dict = field(default_factory=lambda: {"N": (0, None)})

    def expression(self, names, depth=2):
        """A quasi-affine expression with small numbers."""
        s = self.source
        e = aff(s.of((0, 1, -1, 2, -3, 5)))
        for _ in range(s.of((1, 1, 2, 3))):
            part = var(s.of(names))
            if depth and s.below(3) == 2:
                inner, d = self.expression(names, depth - 1), s.of((2, 3, 4))
                part = inner // d if s.below(2) else inner % d
            e = e + part * s.of((1, 1, -1, 2, -2, 3))
        return e

    def bound(self, names):
        """A bound: an expression, or the least or greatest of several."""
        s = self.source
        if s.below(4) == 3:
            return Extreme(s.of(("min", "max")), tuple(self.bound(names) for _ in range(s.of((2, 3)))))
        return self.expression(names)

    def condition(self, names, depth=1):
        s = self.source
        if depth and s.below(4) == 3:
            cases = (tuple(self.condition(names, 0) for _ in range(s.of((1, 2)))) for _ in range(s.of((2, 3))))
            return AnyOf(tuple(cases))
        return s.of(("ge", "ge", "eq")), self.expression(names)

    def block(self, names, depth):
        """One to three statements."""
        return tuple(self.statement(names, depth) for _ in range(self.source.of((1, 2, 1, 3))))

    def statement(self, names, depth):
        s = self.source
        kind = s.of(("for", "call", "for", "if", "mark")) if depth else "call"
        match kind:
            case "call":
                return Call(s.of(("S", "T")), tuple(self.expression(names) for _ in range(s.below(4))))
            case "if":
                conditions = tuple(self.condition(names) for _ in range(s.of((1, 2, 3))))
                other = self.block(names, depth - 1) if s.below(2) else ()
                return If(conditions, self.block(names, depth - 1), (), other)
            case "mark":
                return Block("here", self.block(names, depth - 1))
        v, low, size = f"c{len(names) - len(PARAMS)}", s.of((0, 0, 1, -3)), s.of((3, 4, 1))
        lower = (aff(low), *(self.bound(names) for _ in range(s.of((0, 0, 1)))))
        upper = (*(self.bound(names) for _ in range(s.of((0, 1, 2)))), aff(low + size - 1))
        a, b = self.ranges.get(v, (low, low + size - 1))
        self.ranges[v] = min(a, low), max(b, low + size - 1)
        body = self.block((*names, v), depth - 1)
        return For(v, lower, upper, s.of((1, 1, 2, 3)), s.below(8) == 7, body)


def loops(data):
    """The loops that some bytes stand for, as `scan` would return them."""
    drawn = Loops(Source(data))
    body = drawn.block(tuple(PARAMS), 4)
    return Scan(body, {}, drawn.ranges)
