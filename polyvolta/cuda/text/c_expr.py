"""Quasi-affine expressions as C: floors of what cannot be negative are `/`, remainders `%`, exclusive-ors `^`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.ints import Ints
from polyvolta.sched.loops.notation.expressions import CSpeller, Term
from polyvolta.sets import Aff, aff, var, xor
from polyvolta.sets.values.aff import Atom, Floor, Xor
from polyvolta.sets.values.digits import Part
from polyvolta.sets.values.simplify import Range, floordiv_within, interval, simplify

ALL_BOUNDED = Ints()


class NotPrintable(CudaError):
    """An expression for which C's truncating division is not the floor: its argument may be negative."""

    id = "PV513"


class KernelSpeller(CSpeller):
    """C for kernels: what is divided must be known not to be negative, for there are no slow divisions.

    Parameters
    ----------
    ints : in which order quotients and sums are computed.
    """

    def __init__(
        self, ranges: Mapping[str, Range], names: Mapping[str, str] | None = None, ints: Ints = ALL_BOUNDED
    ) -> None:
        super().__init__(ranges, names)
        self.ints = ints

    def parts(self, e: Aff) -> list[Part]:
        return self.ints.parts(e)

    def terms(self, e: Aff) -> tuple[Sequence[Term], int]:
        """A remainder of what may be negative is found here: its parts of one kind are seen where it is not."""
        for atom, c in e.terms:
            if isinstance(atom, Floor) and c < 0 and not self.unsigned(atom.num):
                for m in (m for m in range(atom.den, 1, -1) if atom.den % m == c % m == 0):
                    num = atom.num // (atom.den // m)
                    rest = e - Aff(((atom, c),)) + c // m * num
                    if len(rest.terms) == len(e.terms) - len(num.terms) - 1:
                        terms, const = self.terms(rest)
                        text = self.remainder(num, m)
                        return [*terms, (text if c == -m else f"({text})", -c // m)], const
        return super().terms(e)

    def turns(self, num: Aff, den: int) -> bool:
        return False

    def quotient(self, num: Aff, den: int) -> tuple[str, bool]:
        num, den = self.ints.dividend(num, den)
        return f"{self._dividend(num)} / {den}", False

    def remainder(self, num: Aff, den: int) -> str:
        """Of what may be negative, but not far: as many times the divisor is added as makes it not so."""
        if not self.unsigned(num):
            num = _opened(num)
            low, _ = interval(num, self.ranges)
            if low is not None and low < 0:
                num = num + -(low // den) * den
        return f"{self._dividend(num)} % {den}"

    def _term(self, atom: Atom, c: int) -> tuple[str, int]:
        """Sums in an exclusive-or stand in parentheses, which C does not need and readers do."""
        if not isinstance(atom, Xor):
            return super()._term(atom, c)
        left, right = (f"({x})" if is_sum(x) else x for x in map(self.text, (atom.left, atom.right)))
        return f"({left} ^ {right})", c

    def _dividend(self, num: Aff) -> str:
        if not self.unsigned(num):
            raise NotPrintable(
                f"{num} may be negative, so / and % would not round down",
                where=str(dict(self.ranges)),
                hint="make it a sum of what is never negative; in an ownership map, 7 - x for x < 8 is xor(x, 7, 3)",
            )
        return self.operand(num)


def _opened(e: Aff) -> Aff:
    """A sum with what is whole in its quotients outside of them: (2 * c + x + 1) / 2 is c + (x + 1) / 2."""
    total = aff(e.const)
    for atom, c in e.terms:
        term = Aff(((atom, c),))
        if isinstance(atom, Floor):
            whole = Aff(tuple((a, n // atom.den) for a, n in atom.num.terms if n % atom.den == 0))
            if whole.terms:
                term = c * whole + Aff(((Floor(atom.num - atom.den * whole, atom.den), c),))
        total = total + term
    return total


def is_sum(text: str) -> bool:
    """Whether there is a + or - outside of parentheses.

    >>> is_sum("lane / 8 % 2 + 4"), is_sum("2 * (i + 4)")
    (True, False)
    """
    while (inner := re.sub(r"\([^()]*\)", "", text)) != text:
        text = inner
    return " + " in text or " - " in text


def c_expr(e: Aff, ranges: Mapping[str, Range]) -> str:
    """C for an expression; `ranges` must show that what is divided cannot be negative.

    >>> from polyvolta.sets import var
    >>> c_expr(128 * var("y") + 8 * (var("t") % 4) + var("t") // 4, {"t": (0, 127)})
    '128 * y + t / 4 + 8 * (t % 4)'
    """
    speller = KernelSpeller(ranges)
    if len(e.terms) == 1 and isinstance(e.terms[0][0], Xor) and e.terms[0][1] == 1 and not e.const:
        return speller.text(e)[1:-1]  # an exclusive-or alone needs no parentheses
    return speller.text(e)


def in_steps(
    e: Aff, steps: Mapping[str, int], ranges: Mapping[str, Range], shifts: Mapping[str, Aff] | None = None
) -> Aff:
    """An expression simplified under the knowledge that each name in `steps` is a multiple of its step.

    `shifts` are added to such names first: while ranges are known, so a remainder of the sum is seen to be the shift's.

    >>> from polyvolta.sets import var
    >>> print(in_steps((var("row") + var("l")) // 2 % 4, {"row": 16}, {"l": (0, 15)}))
    floor(l/2) mod 4
    >>> print(in_steps(var("row") // 2 % 4, {"row": 16}, {"l": (0, 15)}, {"row": var("l")}))
    floor(l/2) mod 4
    """
    counts = dict.fromkeys(steps, (0, None))
    put = {n: s * var(n) + (shifts or {}).get(n, 0) for n, s in steps.items()}
    counted = simplify(e, {**ranges, **counts}, put)
    whole = aff(0)
    for atom, c in counted.terms:
        if isinstance(atom, str) and atom in steps and c % steps[atom] == 0:
            whole = whole + c // steps[atom] * var(atom)
            counted = counted - c * var(atom)
    return whole + counted.subs({n: var(n) // s for n, s in steps.items()})


def narrowed(e: Aff, ranges: Mapping[str, Range]) -> Aff:
    """An expression in which an exclusive-or with a small number touches the low bits alone.

    What is above those bits, such as the constant of an unrolled loop, is then added, not combined: a compiler can
    make it a part of a load's offset.

    >>> from polyvolta.sets import var, xor
    >>> print(narrowed(xor(var("k") // 8, var("l") % 2, 2), {"k": (0, None), "l": (0, 31)}))
    2*floor(k/16) + (l mod 2 ^ floor(k/8) mod 2)
    """
    total = aff(e.const)
    for atom, c in e.terms:
        if not isinstance(atom, Xor):
            total = total + Aff(((atom, c),))
            continue
        left, right = (narrowed(x, ranges) for x in (atom.left, atom.right))
        highs = [interval(x, ranges)[1] for x in (left, right)]
        bits = min((h.bit_length() for h in highs if h is not None), default=atom.bits)
        above, low = [], []
        for x in (left, right):
            quotient = floordiv_within(x, 2**bits, ranges)
            above.append(2**bits * quotient)
            low.append(simplify(x - 2**bits * quotient, ranges))
        both = [a for a in above if a != aff(0)]
        if bits >= atom.bits or len(both) > 1:
            total = total + c * xor(left, right, atom.bits)
        else:
            total = total + c * (sum(both, aff(0)) + xor(low[0], low[1], bits))
    return total
