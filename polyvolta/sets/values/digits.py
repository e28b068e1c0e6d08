"""Reading an expression as mixed-radix digits.

The atoms x, floor(x/4), floor(x/16) with divisors that divide one another are the digits of x in disguise:

    floor(x/d) = (floor(x/d) mod r) + r * floor(x/(d*r))

Substituting from the finest to the coarsest turns any combination of such atoms into one of digits
`floor(x/d) mod r`, uniquely. `8*floor(x/8) - 12*floor(x/16)` is `8*(floor(x/8) mod 2) + 4*floor(x/16)`: what
a person would have written, and what an interval analysis can bound tightly because digits are independent.
"""

from __future__ import annotations

from math import gcd

from .aff import Aff, Atom, Floor, linear

Part = tuple[int, Aff, int | None, Aff]
_ZERO = Aff(())


def mod_parts(e: Aff) -> list[Part]:
    """An expression as a rest (1, 0, None, rest) and remainders (c, num, den, 0).

    The expression is the sum of these, a remainder being c * (num mod den). A chain of atoms is split in digits when
    that leaves fewer terms than before, or terms of one sign where they were of both. A remainder of a sum,
    c*num - c*den*floor(num/den), is recognised when all its terms are there.
    """
    if len(e.terms) == 2:
        digit = _digit(e)
        if digit is not None:
            return [(1, _ZERO, None, Aff((), e.const)), digit] if e.const else [digit]
    floors = [(a, c) for a, c in e.terms if isinstance(a, Floor)]
    if not floors or len(e.terms) == 1:
        return [(1, _ZERO, None, e)] if e.terms or e.const else []
    found: list[Part] = []
    rest, changed = dict(e.terms), False
    for atom, c in floors:  # all terms of its sum and no others of them: of (i mod 4) mod 3 none is a digit by itself
        if _based(atom)[0] is None and c % atom.den == 0:
            m = -c // atom.den
            if len(atom.num.terms) > 1 and all(rest.get(a, 0) == m * k for a, k in atom.num.terms):
                left = linear(rest, e.const) + Aff(((atom, -c),)) - atom.num * m
                rest, e, changed = dict(left.terms), left, True
                found.append((m, atom.num, atom.den, _ZERO))
    for chain in _chains(e):
        digits = _digits(chain)
        mods = [d for d in digits if d[2] is not None]
        mixed = len({c > 0 for _, _, c in chain}) > 1
        if mods and (len(digits) < len(chain) or mixed and len({d[0] > 0 for d in digits}) == 1):
            changed = True
            for atom, _, _ in chain:
                del rest[atom]
            for c, atom, den in digits:
                if den is None:
                    rest[atom] = c
                else:
                    found.append((c, Aff(((atom, 1),)), den, _ZERO))
    for atom, _ in sorted(floors, key=_length):
        c = rest.get(atom, 0)
        if not c or _based(atom)[0] is not None or c % atom.den:
            continue
        m, num = -c // atom.den, atom.num
        if all(_covers(rest.get(a, 0), m * k) for a, k in num.terms):
            left = linear(rest, e.const) + Aff(((atom, -c),)) - num * m
            rest, e, changed = dict(left.terms), left, True
            found.append((m, num, atom.den, _ZERO))
    if not changed:
        return [(1, _ZERO, None, e)]
    left = linear(rest, e.const)
    return [(1, _ZERO, None, left), *found] if left.terms or left.const else found


def _based(atom: Atom) -> tuple[Atom | None, int]:
    """(x, d) for floor(x/d) of an atom x, (x, 1) for another atom; x is None for a floor of a sum."""
    if not isinstance(atom, Floor):
        return atom, 1
    num = atom.num
    if len(num.terms) != 1 or num.const or num.terms[0][1] != 1:
        return None, 1
    return num.terms[0][0], atom.den


def _digit(e: Aff) -> Part | None:
    """Two terms c*floor(x/d) - c*r*floor(x/(d*r)), which are one digit c*(floor(x/d) mod r)."""
    (fine, c), (coarse, m) = e.terms
    if type(fine) is str is type(coarse):
        return None
    (x, d), (y, wide) = _based(fine), _based(coarse)
    if wide < d:
        fine, c, coarse, m, d, wide = coarse, m, fine, c, wide, d
    if x is None or wide % d or c * (wide // d) != -m or x != y:
        return None
    return c, Aff(((fine, 1),)), wide // d, _ZERO


def _length(term: tuple[Floor, int]) -> int:
    return -len(term[0].num.terms)


def _covers(have: int, need: int) -> bool:
    return have != 0 and (have > 0) == (need > 0) and abs(have) >= abs(need)


def _chains(e: Aff) -> list[list[tuple[Atom, int, int]]]:
    """Groups of atoms floor(base/d) whose divisors divide one another: (atom, d, coefficient)."""
    groups: dict[Atom, list[tuple[int, int, Atom]]] = {}
    for atom, c in e.terms:
        base, den = _based(atom)
        if base is not None:
            groups.setdefault(base, []).append((den, c, atom))
    chains = []
    for members in groups.values():
        if len(members) < 2:
            continue
        members.sort(key=lambda m: m[0])
        chain = [(members[0][2], *members[0][:2])]
        for den, c, atom in members[1:]:
            if den % chain[-1][1] == 0:
                chain.append((atom, den, c))
        if len(chain) > 1:
            chains.append(chain)
    return chains


def _digits(chain: list[tuple[Atom, int, int]]) -> list[tuple[int, Atom, int | None]]:
    """The chain, whose coefficients are not 0, as (coefficient, atom, radix), radix None for the top digit.

    A digit is as wide as the chain says: were the next one to continue it with the right weight, the atom between them
    would have no coefficient.
    """
    digits: list[tuple[int, Atom, int | None]] = []
    carried = 0
    for k, (atom, den, c) in enumerate(chain):
        value = c + carried
        radix = chain[k + 1][1] // den if k + 1 < len(chain) else None
        if radix is not None:
            carried = value * radix
        if value:
            digits.append((value, atom, radix))
    return digits


# ---- congruences


def vanishing(e: Aff) -> bool:
    """Whether an inequality e >= 0 says that a remainder is at most 0.

    >>> from polyvolta.sets import var
    >>> vanishing(-(var("i") % 6)), vanishing(1 - var("i") % 6)
    (True, False)
    """
    if not any(c > 0 and isinstance(a, Floor) for a, c in e.terms) or len(e.terms) < 2:
        return False
    parts = mod_parts(-e)
    return len(parts) == 1 and parts[0][2] is not None and parts[0][0] > 0


def congruence(e: Aff) -> Aff:
    """What an equality says of the remainder of a sum, by the multiple that reads best: 2x mod 5 = 3 is x mod 5 = 4.

    A coefficient that has no factor in common with d has an inverse modulo d: the sum times this says the same, and so
    it does with coefficients of d/2 at most. Other equalities e = 0 stay as they are.

    >>> from polyvolta.sets import var
    >>> print(congruence((2 * var("i") - 3 * var("j")) % 7 - 1))
    ((i + 2*j) mod 7) - 4
    """
    atom, c = next(((a, c) for a, c in e.terms if isinstance(a, Floor)), (None, 0))
    if atom is None or abs(c) != atom.den or all(k in (1, -1) for _, k in atom.num.terms):
        return e
    num, den, rest = atom.num, atom.den, e - Aff(((atom, c),))
    if c > 0:
        rest = rest * -1
    if rest.terms != num.terms or not 0 <= num.const - rest.const < den:
        return e
    scales = [1, *(sign * pow(k, -1, den) for _, k in num.terms if gcd(k, den) == 1 for sign in (1, -1))]
    near = lambda k: k - den if 2 * k > den else k  # noqa: E731
    multiples = [Aff(tuple([(a, near(k * u % den)) for a, k in num.terms])) for u in scales]
    best = min(range(len(scales)), key=lambda k: sum([abs(v) + (v < 0) for _, v in multiples[k].terms]))
    return multiples[best] % den - scales[best] * -rest.const % den if best else e
