"""Quasi-affine expressions as C: floors of what cannot be negative are `/`, remainders `%`, exclusive-ors `^`."""

from __future__ import annotations

from collections.abc import Mapping

from polyvolta.cuda.errors import CudaError
from polyvolta.sets import Aff, var
from polyvolta.sets.aff import Atom, Floor, Xor
from polyvolta.sets.digits import mod_parts
from polyvolta.sets.simplify import Range, interval, simplify


class NotPrintable(CudaError):
    """An expression for which C's truncating division is not the floor: its argument may be negative."""

    id = "PV513"


def c_expr(e: Aff, ranges: Mapping[str, Range]) -> str:
    """C for an expression; `ranges` must show that what is divided cannot be negative.

    >>> from polyvolta.sets import var
    >>> c_expr(128 * var("y") + 8 * (var("t") % 4) + var("t") // 4, {"t": (0, 127)})
    '128 * y + t / 4 + 8 * (t % 4)'
    """
    terms: list[tuple[str, int]] = []
    const = 0
    for c, num, den, rest in mod_parts(e):
        if den is None:
            terms += [(_factor(a, k, ranges), k) for a, k in rest.terms]
            const = rest.const
        else:
            text = f"{_operand(num, ranges)} % {den}"
            terms.append((text if abs(c) == 1 else f"({text})", c))
    if not terms:
        return str(const)
    if terms[0][1] < 0:
        first = next((k for k, (_, c) in enumerate(terms) if c > 0), None)
        if first is not None:
            terms.insert(0, terms.pop(first))
    text = ""
    for body, c in terms:
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        text += sign + (body if abs(c) == 1 else f"{abs(c)} * {body}")
    return text + (f" {'-' if const < 0 else '+'} {abs(const)}" if const else "")


def _factor(atom: Atom, c: int, ranges: Mapping[str, Range]) -> str:
    """An atom as it stands behind its coefficient: a quotient needs parentheses unless that is 1."""
    text = _atom(atom, ranges)
    return f"({text})" if abs(c) != 1 and isinstance(atom, Floor) else text


def _operand(num: Aff, ranges: Mapping[str, Range]) -> str:
    """What stands before `/` or `%`."""
    low, _ = interval(num, ranges)
    if low is None or low < 0:
        raise NotPrintable(f"{num} may be negative, so / and % would not round down", where=str(dict(ranges)))
    text = c_expr(num, ranges)
    single = len(num.terms) == 1 and not num.const and num.terms[0][1] == 1
    return text if single else f"({text})"


def _atom(atom: Atom, ranges: Mapping[str, Range]) -> str:
    match atom:
        case str():
            return atom
        case Floor(num, den):
            return f"{_operand(num, ranges)} / {den}"
        case Xor(left, right, _):
            return f"({c_expr(left, ranges)} ^ {c_expr(right, ranges)})"


def in_steps(e: Aff, steps: Mapping[str, int], ranges: Mapping[str, Range]) -> Aff:
    """An expression simplified under the knowledge that each name in `steps` is a multiple of its step.

    >>> from polyvolta.sets import var
    >>> print(in_steps((var("row") + var("l")) // 2 % 4, {"row": 16}, {"l": (0, 15)}))
    floor(l/2) mod 4
    """
    counts = dict.fromkeys(steps, (0, None))
    counted = simplify(e, {**ranges, **counts}, {n: s * var(n) for n, s in steps.items()})
    whole = sum((c // steps[a] * var(a) for a, c in counted.terms if a in steps and c % steps[a] == 0), Aff((), 0))
    rest = Aff(tuple((a, c) for a, c in counted.terms if not (a in steps and c % steps[a] == 0)), counted.const)
    return whole + rest.subs({n: var(n) // s for n, s in steps.items()})
