"""How expressions are computed in 32-bit ints: quotients before sums of what has no bound.

Expressions are of integers and have one form: c2 + floor((K + 63)/64) divided by 3 is floor((K + 64*c2 + 63)/192). As
ints the two differ. K + 64*c2 + 63 may be beyond 2^31 where K is the depth of one product and c2 counts the tiles of
another one; the number of both products' tiles is far below. So where a dividend adds up several terms of which no
bound is known, what can be divided first is divided first; where a number of tiles is taken modulo the slots of a ring,
it is divided by them as that number; and of a sum that is to be at least 1, each part is asked on its own.

Both who writes the text and who proves that no int of it overflows ask here, and get the same answer at any place:
what is decided depends on the kernel's names alone, not on what conditions around say of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd

from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop
from polyvolta.cuda.ir.walk import walk
from polyvolta.sets import Aff, aff
from polyvolta.sets.values.aff import Floor
from polyvolta.sets.values.digits import Part, mod_parts
from polyvolta.sets.values.simplify import interval

_ZERO = aff(0)


@dataclass(frozen=True, slots=True)
class Ints:
    """What decides how a kernel's expressions are computed.

    Parameters
    ----------
    wide : names of which no upper bound is known.
    least : the least values of names.

    >>> from polyvolta.sets import var
    >>> K, c2 = var("K"), var("c2")
    >>> ints = Ints(frozenset({"K", "c2"}), {"K": 0, "c2": 0})
    >>> num, den = ints.dividend(K + 64 * c2 + 63, 192)
    >>> print(num, den)
    c2 + floor((K + 63)/64) 3
    >>> print(*ints.dividend(K + 191, 192))
    K + 191 192
    """

    wide: frozenset[str] = frozenset()
    least: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, ir: KernelIR) -> Ints:
        """Those of a kernel."""
        least = {n: low for n, (low, _) in ir.ranges.items() if low is not None}
        wide = {*ir.sizes, *(n for n, (_, high) in ir.ranges.items() if high is None)}
        starts: dict[str, list[int | None]] = {}
        for _, s in walk(ir.body):
            if isinstance(s, Loop):
                starts.setdefault(s.var, []).append(max((e.const for e in s.lower if e.is_constant), default=None))
                wide |= {s.var} if not any(e.is_constant for e in s.upper) else set()
        least |= {n: min(lows) for n, lows in starts.items() if None not in lows}  # type: ignore[type-var]
        return cls(frozenset(wide), least)

    def dividend(self, num: Aff, den: int) -> tuple[Aff, int]:
        """(x, d) with floor(num/den) = floor(x/d) and x a smaller sum, if num adds up several terms without a bound."""
        many = [c for atom, c in num.terms if self._wide(Aff(((atom, 1),)))]
        for g in sorted({gcd(c, den) for c in many} - {1}, reverse=True) if len(many) > 1 else ():
            whole = Aff(tuple((a, c // g) for a, c in num.terms if c % g == 0))
            rest = num - g * whole
            if self._wide(whole) and self._wide(rest):
                return whole + rest.floordiv(g), den // g
        return num, den

    def parts(self, e: Aff) -> list[Part]:
        """An expression as a rest and remainders, as `mod_parts` gives them, of what `dividend` makes smaller, too."""
        found: list[Part] = []
        for atom, c in e.terms:
            if not isinstance(atom, Floor):
                continue
            num, den = self.dividend(atom.num, atom.den)
            left = e - Aff(((atom, c),)) + c // den * num
            if den < atom.den and c % den == 0 and len(left.terms) == len(e.terms) - len(num.terms) - 1:
                e = left
                found.append((-c // den, num, den, _ZERO))
        return [*mod_parts(e), *found]

    def cases(self, e: Aff) -> tuple[str, tuple[Aff, ...]]:
        """Conditions of which "any" or "all" hold, each `x >= 0`, just if `e >= 0`; one condition: e itself.

        A sum of what isn't negative is at least 1 if one of its parts is, and 0 if all are.

        >>> from polyvolta.sets import var
        >>> ints = Ints(frozenset({"K", "L"}), {"K": 0, "L": 0, "c": 0})
        >>> word, found = ints.cases(var("K") + var("L") + 16 * var("c") - 1)
        >>> print(word, *found, sep="; ")
        any; K - 1; L + 16*c - 1
        >>> word, found = ints.cases(-var("K") - var("L"))
        >>> print(word, *found, sep="; ")
        all; -K; -L
        """
        total = e - e.const
        sign = {-1: 1, 0: -1}.get(e.const, 0)
        terms = [Aff((term,)) for term in total.terms]
        many = [t for t in terms if self._wide(t)]
        known = {n: (low, None) for n, low in self.least.items()}
        lows = [interval(sign * t, known)[0] for t in terms] if sign and len(many) > 1 else [None]
        if any(low is None or low < 0 for low in lows):
            return "all", (e,)
        *others, last = many
        grouped = (*others, total - sum(others, _ZERO))
        return ("any", "all")[sign < 0], tuple(x + e.const for x in grouped)

    def _wide(self, e: Aff) -> bool:
        return not e.names().isdisjoint(self.wide)
