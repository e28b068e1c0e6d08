"""Printing constraints: equalities and bounds as a reader says them.

The bounds of one dimension are chained, `0 <= i < N`, and stand in the order of the dimensions; an equality says what
its latest dimension is, and a stride is `i mod 16 = 0`, and so is 3i mod 16 = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..values.aff import Aff, Floor, aff, var
from ..values.digits import congruence, mod_parts, vanishing
from .show_expressions import ISL, Style, show_aff, show_atom


@dataclass(slots=True)
class _Bounds:
    """What is said of one multiple of one dimension: (constant-free bound, the bound) on either side."""

    low: list[Aff] = field(default_factory=list)
    high: list[Aff] = field(default_factory=list)


def constraint_texts(
    atoms: Iterable[tuple[str, Aff]], names: Sequence[str], style: Style = ISL, n_params: int = 0
) -> list[str]:
    """One text per equality and chain of bounds: parameters first, then equalities, then dimensions in order.

    Parameters
    ----------
    atoms : ("eq", e) for e = 0 and ("ge", e) for e >= 0.
    names : the dimensions in order, of which the first `n_params` are parameters.
    """
    order = dict(zip(names, range(len(names)), strict=True))

    def place(e: Aff) -> int:
        return max((order.get(n, len(order)) for n in e.names()), default=-1)

    texts: list[tuple[bool, bool, int, int, str]] = []
    bounds: dict[tuple[int, str], dict[int, _Bounds]] = {}
    for kind, e in atoms:
        at = place(e)
        if kind == "eq" or vanishing(e):
            last = style.equalities_last
            texts.append((at >= n_params, last, len(order) + at if last else at, 0, _equality(e, order, style)))
            continue
        main, c, rest = _main_term(e, order, style)
        if not main:
            texts.append((at >= n_params, True, at, 1, _inequality(e, style)))
            continue
        where = order.get(main, at)
        found = bounds.setdefault((where, main), {}).setdefault(abs(c), _Bounds())
        if c > 0:
            found.low.append(-rest)
        else:
            found.high.append(rest)
    for (where, main), scales in bounds.items():
        for scale, text in _chains(main, scales, style):
            texts.append((where >= n_params, True, where, 0 if scale == 1 else 1, text))
    return list(dict.fromkeys(t[-1] for t in sorted(texts, key=lambda t: t[:-1])))


def _main_term(e: Aff, order: dict[str, int], style: Style) -> tuple[str, int, Aff]:
    """The latest dimension (or a lone remainder) of an inequality, its coefficient, and the rest; else ""."""
    parts = mod_parts(e) if style.mod else []
    mods = [(c, num, den) for c, num, den, _ in parts if den is not None]
    rest = next((r for _, _, den, r in parts if den is None), aff(0))
    if mods and not any(isinstance(a, str) for a, _ in rest.terms):
        c, num, den = max(mods, key=lambda p: max((order.get(n, len(order)) for n in p[1].names()), default=-1))
        remainder = num % den
        return show_aff(remainder, style), c, e - remainder * c
    direct = [a for a, _ in e.terms if isinstance(a, str)]
    if not direct and len(e.terms) == 1:
        ((atom, c),) = e.terms
        return show_atom(atom, style), c, aff(e.const)
    if not direct:
        return "", 0, e
    main = max(direct, key=lambda n: order.get(n, len(order)))
    c = e.coefficient(main)
    return main, c, e - var(main) * c


def _chains(main: str, scales: dict[int, _Bounds], style: Style) -> Iterator[tuple[int, str]]:
    """The bounds of one dimension, two by two: `0 <= i < N`; those at a constant distance belong together."""
    zeros = [b for b in scales.values() if aff(0) in b.low]
    for b in list(scales.values()):  # 0 <= i and 128*i < N are 0 <= 128*i < N
        if zeros and b is not zeros[0] and b.high and not b.low and not zeros[0].high and zeros[0].low == [aff(0)]:
            zeros[0].low.clear()
            b.low.append(aff(0))
            break
    for scale, b in sorted(scales.items()):
        subject = main if scale == 1 else f"{scale}{style.times}{main if main.isidentifier() else f'({main})'}"
        pairs: list[tuple[Aff | None, Aff | None]] = []
        low, high = sorted(b.low, key=_simplicity), sorted(b.high, key=_simplicity)
        for lower in list(low):
            partner = next((h for h in high if h.terms == lower.terms), None)
            if partner is not None and (lower.terms or len(low) == len(high)):
                pairs.append((lower, partner))
                low.remove(lower)
                high.remove(partner)
        count = min(len(low), len(high))
        pairs = [
            *zip(low[:count], high[:count], strict=True),
            *pairs,
            *((x, None) for x in low[count:]),
            *((None, x) for x in high[count:]),
        ]
        for lower, upper in pairs:
            yield scale, _chain(subject, lower, upper, style)


def _simplicity(e: Aff) -> tuple[int, str]:
    return (len(e.terms), str(e))


def _chain(subject: str, lower: Aff | None, upper: Aff | None, style: Style) -> str:
    text = subject
    if upper is not None:
        strict = bool(upper.terms) and upper.const == -1
        text += f" < {show_aff(upper + 1, style)}" if strict else f" {style.le} {show_aff(upper, style)}"
    if lower is None:
        return text
    if upper is None and not lower.terms:
        return f"{subject} {style.ge} {lower.const}"
    if upper is None and lower.terms and all(c < 0 for _, c in lower.terms):
        return f"{show_aff(lower.const - lower, style)} + {subject} {style.ge} {lower.const}"
    if lower.terms and lower.const == 1:
        return f"{show_aff(lower - 1, style)} < {text}"
    return f"{show_aff(lower, style)} {style.le} {text}"


def _equality(e: Aff, order: dict[str, int], style: Style) -> str:
    """`x = ...` for a dimension, `x mod 4 = ...` for a remainder, else terms = number."""
    e = congruence(e)
    floors = [(a, c) for a, c in e.terms if isinstance(a, Floor)]
    if not style.mod and len(floors) == 1:  # the paper writes a stride as 16⌊i/16⌋ = i
        (atom, c) = floors[0]
        left, right = Aff(((atom, abs(c)),)), (e - Aff(((atom, c),))) * (-1 if c > 0 else 1)
        return f"{show_aff(left, style)} = {show_aff(right, style)}"
    inside = frozenset().union(*(Aff(((a, 1),)).names() for a, _ in e.terms if not isinstance(a, str)))
    units = [a for a, c in e.terms if isinstance(a, str) and abs(c) == 1]
    main = max((a for a in units if a not in inside), key=lambda n: order.get(n, len(order)), default=None)
    if main is None:
        for m, num, den, _ in mod_parts(e) if style.mod else ():
            if den is not None and abs(m) == 1:
                remainder = num % den
                return f"{show_aff(remainder, style)} = {show_aff((e - remainder * m) * -m, style)}"
        main = max(units, key=lambda n: order.get(n, len(order)), default=None)
    if main is not None:
        c = e.coefficient(main)
        return f"{main} = {show_aff((e - var(main) * c) * -c, style)}"
    if len({c > 0 for _, c in e.terms}) == 1:
        sign = 1 if e.terms[0][1] > 0 else -1
        return f"{show_aff((e - e.const) * sign, style)} = {-e.const * sign}"
    return _inequality(e, style).replace(style.le, "=")


def _inequality(e: Aff, style: Style) -> str:
    """`small <= big` with only positive coefficients on either side."""
    plus = Aff(tuple((a, c) for a, c in e.terms if c > 0), max(e.const, 0))
    minus = Aff(tuple((a, -c) for a, c in e.terms if c < 0), max(-e.const, 0))
    if minus.is_constant:
        return f"{show_aff(plus, style)} {style.ge} {minus.const}"
    return f"{show_aff(minus, style)} {style.le} {show_aff(plus, style)}"
