"""What the control around a statement says of single names: between which numbers they keep."""

from __future__ import annotations

from collections.abc import Mapping

from polyvolta.cuda.ir.kernel_ir import Loop
from polyvolta.sets import Aff

Ranges = dict[str, tuple[int | None, int | None]]  # inclusive; None: not known


def of_loop(loop: Loop) -> Ranges:
    """Between which values a loop's variable keeps, where numbers say; another loop may have the same name."""
    lows, highs = ([b.const for b in bounds if b.is_constant] for bounds in (loop.lower, loop.upper))
    return {loop.var: (max(lows), min(highs, default=None))} if lows else {}


def of_conditions(conditions: tuple[Aff, ...], ranges: Mapping) -> Ranges:
    """What conditions say of single names."""
    out: Ranges = {}
    for e in conditions:
        if len(e.terms) != 1:
            continue
        ((name, c),) = e.terms
        if isinstance(name, str) and c in (1, -1):
            low, high = out.get(name) or ranges.get(name) or (None, None)
            if c == 1:
                low = -e.const if low is None else max(low, -e.const)
            else:
                high = e.const if high is None else min(high, e.const)
            out[name] = low, high
    return out
