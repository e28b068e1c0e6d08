"""Layouts as text: expressions from digits and bits, and the notation `(a ^ b)`.

A sum of digits is written by *fields*: digits of one coordinate that lie next to one another in the output as in the
input are one `floor(x/4) mod 8`. Bits under exclusive-or are fields of one coordinate each, too, shifted to where they
act: `chunk` in bits 0 to 2 and `floor(row/2) mod 4` in bits 0 and 1 make `(chunk ^ floor(row/2) mod 4)`. Fields that
share a position go into one exclusive-or, the others are terms of a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ..text.expressions import Expressions, parse_aff
from ..values.aff import Aff, aff, total, var, xor
from .digitsum import Axis, Digit, Term

if TYPE_CHECKING:
    from ..values.set import Set

UNKNOWN_WIDTH = 64  # of a written exclusive-or: reading a layout finds the width from the digits


# ---- from digits to expressions


def unit_sum(axes: Sequence[Axis], terms: Sequence[Term]) -> Aff:
    """The sum of stride * unit as a short expression. O(n^2) for n digits."""
    if all(len(t.unit) == 1 and not t.flip for t in terms):
        return total(_fields(axes, terms))
    pieces, plain = [], []
    runs, rest = _runs([t for t in terms if t.radix == 2])
    plain += [t for t in terms if t.radix != 2]
    for run in runs:
        e, left = _knotted(axes, run)
        pieces.append(e)
        plain += left
    for t in rest:
        if len(t.unit) == 1:
            plain.append(t)
        else:
            pieces.append(_knotted(axes, [t])[0])
    return total([*_fields(axes, plain), *pieces])


def _runs(terms: Sequence[Term]) -> tuple[list[list[Term]], list[Term]]:
    """Bits whose strides double, as far as each stride is there once; and the others."""
    by_stride: dict[int, list[Term]] = {}
    for t in terms:
        by_stride.setdefault(t.stride, []).append(t)
    runs: list[list[Term]] = []
    for stride in sorted(s for s, ts in by_stride.items() if len(ts) == 1):
        run = next((r for r in runs if 2 * r[-1].stride == stride), None)
        if run is None:
            runs.append(list(by_stride[stride]))
        else:
            run += by_stride[stride]
    return runs, [t for ts in by_stride.values() if len(ts) > 1 for t in ts]


def _knotted(axes: Sequence[Axis], run: Sequence[Term]) -> tuple[Aff, list[Term]]:
    """The exclusive-ors of a run of bits as expressions, and the bits that stand under none."""
    low = run[0].stride
    at: dict[tuple[int, Fraction], list[int]] = {}  # a diagonal: where one coordinate, shifted by so much, acts
    for k, t in enumerate(run):
        for d in t.unit:
            at.setdefault((d.axis, Fraction(d.stride, 2**k)), []).append(k)
    e, left = aff(0), []
    for group in _overlapping([(span, key) for key, places in at.items() for span in _spans(places)]):
        first, last = min(s[0] for s, _ in group), max(s[1] for s, _ in group)
        flips = [t.flip for t in run[first:last]]
        if len(group) == 1 and len(set(flips)) == 1:  # a field, or one flipped as a whole
            left += run[first:last]
            continue
        made = aff(0)
        for (start, end), (axis, ratio) in sorted(group, key=lambda g: (g[0][0] - g[0][1], g)):
            field = _field(axes, axis, int(ratio * 2**start), 2 ** (end - start))
            made = xor(made, field * 2 ** (start - first), last - first)
        mask = sum(f << k for k, f in enumerate(flips))
        e = e + xor(made, mask, last - first) * (low * 2**first)
    return e, left


def _spans(places: Sequence[int]) -> list[tuple[int, int]]:
    """Maximal intervals [start, end) of the places."""
    out: list[list[int]] = []
    for k in places:
        if out and out[-1][1] == k:
            out[-1][1] = k + 1
        else:
            out.append([k, k + 1])
    return [(a, b) for a, b in out]


def _overlapping(spans: list) -> list[list]:
    """Groups of spans that share a place with another of the group."""
    groups: list[list] = []
    reach = -1
    for span, key in sorted(spans, key=lambda s: s[0]):
        if span[0] >= reach:
            groups.append([])
        groups[-1].append((span, key))
        reach = max(reach, span[1])
    return groups


def _fields(axes: Sequence[Axis], terms: Iterable[Term]) -> list[Aff]:
    """Single digits times strides, those that continue one another written as one."""
    fields: list[tuple[int, Digit, bool]] = []
    for stride, (d,), flip in sorted(terms, key=lambda t: t.unit):
        if fields:
            c, last, flipped = fields[-1]
            end = last.stride * last.radix
            if (last.axis, end, c * last.radix, flipped) == (d.axis, d.stride, stride, flip):
                fields[-1] = (c, Digit(d.axis, last.stride, last.radix * d.radix), flip)
                continue
        fields.append((stride, d, flip))
    out = []
    for c, d, flip in fields:
        e = _field(axes, *d)
        out.append((d.radix - 1 - e if flip else e) * c)
    return out


def _field(axes: Sequence[Axis], axis: int, stride: int, radix: int) -> Aff:
    name, low, extent = axes[axis]
    e = (var(name) - low) // stride
    return e if stride * radix >= extent else e % radix


# ---- from text


class _Written(Expressions):
    """Expressions in which a parenthesis may hold exclusive-ors."""

    def factor(self) -> Aff:
        if self.toks[self.k] != "(":
            return super().factor()
        self.k += 1
        self.deeper()
        value = self.expression()
        while self.eat("^"):
            value = xor(self.whole(value), self.whole(self.expression()), UNKNOWN_WIDTH)
        self.expect(")")
        self.depth -= 1
        return value

    def number(self, sign: int = 1) -> Aff:
        if self.toks[self.k + 1] != "^":  # else no power: `x mod 2 ^ 4` is an exclusive-or
            return super().number(sign)
        self.k += 1
        return aff(sign * int(self.toks[self.k - 1]))

    def single(self) -> Aff:
        """An integer expression without cases."""
        found = self.cases([self.whole(self.expression())])
        if len(found) != 1:
            raise self.wrong("expected a single expression", "min, max and abs have several cases")
        return found[0][1][0]

    def names(self) -> list[str]:
        """`[i, j]`."""
        self.expect("[")
        found: list[str] = []
        while not self.eat("]"):
            found.append(self.name("a dimension"))
            if not self.at("]"):
                self.expect(",")
        return found

    def tuple_name(self) -> str | None:
        return None if self.at("[") else self.name("a tuple such as 'S[i, j]'")


def read_text(text: str) -> tuple[tuple[str | None, str | None], Mapping[str, Aff], Set]:
    """`{ T[t] -> C[row = (t ^ 3)] : 0 <= t < 8 }`: the tuples' names, the outputs, the domain.

    Raises
    ------
    SetSyntaxError : the text is not in isl's notation, with `^` in parentheses.
    """
    from ..values.set import Set

    p = _Written(text)
    p.expect("{")
    first = p.tuple_name()
    ins = p.names()
    p.scope = {n: var(n) for n in ins}
    p.expect("->")
    second = p.tuple_name()
    p.expect("[")
    outputs: dict[str, Aff] = {}
    while not p.eat("]"):
        name = f"i{len(outputs)}"
        if p.toks[p.k + 1] == "=":
            name = p.name("a dimension")
            p.expect("=")
        elif p.toks[p.k] in ins and p.toks[p.k + 1] in (",", "]"):
            name = p.toks[p.k]
        outputs[name] = p.single()
        if not p.at("]"):
            p.expect(",")
    if not p.at(":", "}"):
        raise p.wrong("expected ':' or '}'")
    body = text[text.index(":") :] if ":" in text else "}"
    return (first, second), outputs, Set(f"{{ [{', '.join(ins)}] {body}")


def read_affs(outputs: Iterable[Aff | int | str], names: Sequence[str]) -> list[Aff]:
    """Expressions from expressions, numbers and texts.

    Raises
    ------
    SetSyntaxError : a text is no expression in these names.
    """
    return [_expression(e, names) if isinstance(e, str) else aff(e) for e in outputs]


def _expression(text: str, names: Sequence[str]) -> Aff:
    if "^" not in text:
        return parse_aff(text, names)
    p = _Written(f"({text})", names)
    e = p.single()
    p.expect_end()
    return e
