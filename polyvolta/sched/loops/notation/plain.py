"""C text of loops whose bounds are plain: in one pass, without the object that writes all others (`c.CPrinter`).

    for (int c0 = 0; c0 < (M + 127) / 128; c0 += 1)
      for (int c1 = 0; c1 < min(128, M - 128 * c0); c1 += 1)
        S(128 * c0 + c1);

A text is mostly made once. What that costs is not what is computed but how much code and how many objects it is spread
over, none of which are near then, so this is one function beside that of sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyvolta.sched.loops.ast import FROM_ZERO, Ast, Call, For
from polyvolta.sched.loops.notation.expressions import UNKNOWN, summed
from polyvolta.sets import Aff
from polyvolta.sets.values.aff import Floor
from polyvolta.sets.values.simplify import Range


def written(body: Sequence[Ast], ranges: Mapping[str, Range], kind: str, pad: str, out: list[str]) -> bool:
    """Write some loops and calls as `c.CPrinter` does; whether they are plain, else nothing that is written counts.

    Plain are a call of sums of names, and a loop that is not unrolled, with one lower bound that is such a sum and one
    or two upper ones; one alone may be a floor of a sum that is not negative. Names are what they are called.

    Parameters
    ----------
    ranges : what is known of the values of names, bounds inclusive.
    kind : how a loop begins: `for (int `.
    """
    for node in body:
        if type(node) is Call:
            text = ""
            for e in node.args:
                arg = summed(e.terms, e.const)
                if arg is None:
                    return False
                text = f"{text}, {arg}" if text else arg
            out.append(f"{pad}{node.statement}({text});")
            continue
        if type(node) is not For or node.unroll:
            return False
        lower, upper, name, inner, low, other = node.lower, node.upper, node.var, node.body, "0", None
        if lower is not FROM_ZERO:
            e = lower[0]
            if len(lower) != 1 or type(e) is not Aff or (low := summed(e.terms, e.const)) is None:
                return False
        if len(upper) == 1:
            (e,) = upper
        elif len(upper) == 2:
            e, other = upper if isinstance(upper[1], Aff) and upper[1].terms else upper[::-1]  # numbers stand first
        else:
            return False
        if type(e) is not Aff:
            return False
        if other is None:
            below = e.const == -1 if e.terms else low == "0" and node.step == 1
            high = summed(e.terms, e.const + below) or _quotient(e, e.const + below, ranges)
            if high is None:
                return False
        elif type(other) is Aff and other.terms:
            below = other.const == -1 or e.const == -1 and e.terms != ()
            one, two = summed(e.terms, e.const + below), summed(other.terms, other.const + below)
            if one is None or two is None:
                return False
            high = f"min({one}, {two})"
        else:
            return False
        sign = "<" if below else "<="
        head = f"{pad}{kind}{name} = {low}; {name} {sign} {high}; {name} += {node.step})"
        out.append(head if len(inner) == 1 else f"{head} {{")
        if not written(inner, ranges, kind, pad + "  ", out):
            return False
        if len(inner) != 1:
            out.append(f"{pad}}}")
    return True


def _quotient(e: Aff, const: int, ranges: Mapping[str, Range]) -> str | None:
    """A floor alone, of a sum of names times positive numbers that is not negative; None for others."""
    floor, c = e.terms[0]
    if const or c != 1 or len(e.terms) != 1 or type(floor) is not Floor:
        return None
    terms, least = floor.num.terms, floor.num.const
    text = summed(terms, least)
    for name, c in terms:
        low = ranges.get(name, UNKNOWN)[0]  # type: ignore[call-overload]
        if text is None or low is None or c < 0:
            return None
        least += c * low
    if least < 0:
        return None
    return f"{text} / {floor.den}" if text == terms[0][0] else f"({text}) / {floor.den}"
