"""Printing expressions: in isl's notation, in the paper's, and how the symbols of a notation are written.

An expression says `i mod 32` where it is `i - 32*floor(i/32)`. The paper's style writes `⌊i/64⌋`, `∧` and `≤`
instead, without mod, and has an ASCII fallback.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..values.aff import Aff, Atom, Floor, Xor
from ..values.digits import mod_parts


@dataclass(frozen=True, slots=True, eq=False)
class Style:
    """How symbols are written; `mod` says whether remainders are recognised, `inline` whether a dimension that is a
    function of others stands in the tuple as that function. Two styles are equal only if they are the same object."""

    floor: tuple[str, str, str] = ("floor(", "/", ")")
    times: str = "*"
    le: str = "<="
    ge: str = ">="
    land: str = " and "
    mod: bool = True
    arrow: str = "->"
    equalities_last: bool = False
    inline: bool = True


ISL = Style()
NAMED = Style(inline=False)  # each dimension by its name: others speak of them, or a tree shares them
PAPER = Style(("⌊", "/", "⌋"), "", "≤", "≥", " ∧ ", False, "→", True)
PAPER_ASCII = Style(mod=False, equalities_last=True)
_NOTHING = Aff(())


def show_aff(e: Aff, style: Style = ISL) -> str:
    """An expression as text.

    >>> from polyvolta.sets.values.aff import var
    >>> show_aff(var("i") - 64 * (var("i") // 64), PAPER)
    'i - 64⌊i/64⌋'
    """
    if not e.terms:
        return str(e.const)
    if len(e.terms) == 1 and e.terms[0][1] == 1 and not e.const:
        return show_atom(e.terms[0][0], style)
    terms, const = _mod_terms(e, style) if style.mod else ([(show_atom(a, style), c) for a, c in e.terms], e.const)
    first_positive = 0 if terms[0][1] > 0 else next((k for k, (_, c) in enumerate(terms) if c > 0), None)
    if first_positive:
        terms.insert(0, terms.pop(first_positive))
    text = ""
    for body, c in terms:
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        factor = "" if abs(c) == 1 else f"{abs(c)}{style.times}"
        text += sign + factor + body
    if const > 0 and first_positive is None:
        return f"{const} - {text[1:]}"
    if const:
        text += f" {'-' if const < 0 else '+'} {abs(const)}"
    return text


def show_atom(atom: Atom, style: Style) -> str:
    """A name, a floor or an exclusive-or as text."""
    return atom if isinstance(atom, str) else _call(atom, style)


@lru_cache(maxsize=1 << 12)
def _call(atom: Floor | Xor, style: Style) -> str:
    match atom:
        case Floor(num, den):
            opening, slash, closing = style.floor
            inner = show_aff(num, style)
            return f"{opening}{inner if _plain(num) else f'({inner})'}{slash}{den}{closing}"
        case Xor(left, right, _):
            return f"({show_aff(left, style)} ^ {show_aff(right, style)})"


def _plain(e: Aff) -> bool:
    """Whether an expression is a single atom, which needs no parentheses."""
    return len(e.terms) == 1 and not e.const and e.terms[0][1] == 1


def _mod_terms(e: Aff, style: Style) -> tuple[list[tuple[str, int]], int]:
    """The terms, with `c*num - c*den*floor(num/den)` gathered to `c*(num mod den)`, and the constant."""
    parts = mod_parts(e) if len(e.terms) > 1 else []
    if not parts or parts[-1][2] is None:
        return [(show_atom(a, style), c) for a, c in e.terms], e.const
    rest = parts[0][3] if parts[0][2] is None else _NOTHING
    out, const = [(show_atom(a, style), c) for a, c in rest.terms], rest.const
    for c, num, den, _ in parts:
        if den is None:
            continue
        if c < 0 and const == (1 - den) * c:  # 3 - ((i + 3) mod 4) is (-i) mod 4
            c, num, const = -c, -num - 1, 0
            num = num + (num.const % den - num.const)
        num = _without_multiples(num, den)
        inner = show_aff(num, style)
        body = f"{inner if _plain(num) else f'({inner})'} mod {den}"
        out.append((f"({body})", c))
    if len(out) == 1 and out[0][1] == 1 and not const and not rest.terms:
        return [(out[0][0][1:-1], 1)], 0
    return out, const


def _without_multiples(num: Aff, den: int) -> Aff:
    """What has the same remainder: `3*floor(i/4) + (i mod 4)` is `i mod 4` where it is divided by 3."""
    parts = mod_parts(num) if len(num.terms) > 1 else []
    rest = parts[0][3] if len(parts) > 1 and parts[0][2] is None else _NOTHING
    return num - Aff(tuple([(a, c) for a, c in rest.terms if c % den == 0]))
