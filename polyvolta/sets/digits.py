"""Reading an expression as mixed-radix digits.

The atoms x, floor(x/4), floor(x/16) with divisors that divide one another are the digits of x in disguise:

    floor(x/d) = (floor(x/d) mod r) + r * floor(x/(d*r))

Substituting from the finest to the coarsest turns any combination of such atoms into one of digits
`floor(x/d) mod r`, uniquely. `8*floor(x/8) - 12*floor(x/16)` is `8*(floor(x/8) mod 2) + 4*floor(x/16)`: what
a person would have written, and what an interval analysis can bound tightly because digits are independent.
"""

from __future__ import annotations

from .aff import Aff, Atom, Floor, aff

Part = tuple[int, Aff, int | None, Aff]


def mod_parts(e: Aff) -> list[Part]:
    """An expression as a rest (1, 0, None, rest) and remainders (c, num, den, 0).

    The expression is the sum of these, a remainder being c * (num mod den). A chain of atoms is split in digits
    when that leaves fewer terms than before, or terms of one sign; a remainder of a sum, c*num - c*den*
    floor(num/den), is recognised when all its terms are there.
    """
    rest, found = e, []
    for chain in _chains(e):
        digits = _digits(chain)
        mods = [d for d in digits if d[2] is not None]
        if mods and (len(digits) < len(chain) or len({c > 0 for c, *_ in digits}) == 1):
            rest = rest - sum((_atom_aff(b, d) * c for b, d, c in chain), aff(0))
            rest = rest + sum((num * c for c, num, den in digits if den is None), aff(0))
            found += [(c, num, den, aff(0)) for c, num, den in mods]
    for atom, c in sorted(rest.terms, key=lambda t: -len(t[0].num.terms) if isinstance(t[0], Floor) else 0):
        if not isinstance(atom, Floor) or len(atom.num.terms) < 2 and not atom.num.const:
            continue
        if c % atom.den or rest.coefficient(atom) != c:
            continue
        m, num = -c // atom.den, Aff(atom.num.terms)
        if all(_covers(rest.coefficient(a), m * k) for a, k in num.terms):
            rest = rest + Aff(((atom, -c),)) - atom.num * m
            found.append((m, atom.num, atom.den, aff(0)))
    parts: list[Part] = [(1, aff(0), None, rest)] if rest.terms or rest.const else []
    return parts + found


def _covers(have: int, need: int) -> bool:
    return have != 0 and (have > 0) == (need > 0) and abs(have) >= abs(need)


def _atom_aff(base: Atom, den: int) -> Aff:
    return Aff(((base, 1),)) // den


def _chains(e: Aff) -> list[list[tuple[Atom, int, int]]]:
    """Groups of atoms floor(base/d) whose divisors divide one another: (base, d, coefficient)."""
    groups: dict[Atom, list[tuple[int, int]]] = {}
    for atom, c in e.terms:
        base, den = atom, 1
        if isinstance(atom, Floor):
            num = atom.num
            if len(num.terms) != 1 or num.const or num.terms[0][1] != 1:
                continue
            base, den = num.terms[0][0], atom.den
        groups.setdefault(base, []).append((den, c))
    chains = []
    for base, members in groups.items():
        members.sort()
        chain = [(base, *members[0])]
        for den, c in members[1:]:
            if den % chain[-1][1] == 0:
                chain.append((base, den, c))
        if len(chain) > 1:
            chains.append(chain)
    return chains


def _digits(chain: list[tuple[Atom, int, int]]) -> list[tuple[int, Aff, int | None]]:
    """The chain as (coefficient, number, radix), radix None for the top digit."""
    digits: list[tuple[int, Aff, int | None]] = []
    carried = 0
    for k, (base, den, c) in enumerate(chain):
        value = c + carried
        radix = chain[k + 1][1] // den if k + 1 < len(chain) else None
        if radix is not None:
            carried = value * radix
        if not value:
            continue
        last = digits[-1] if digits else None
        number = _atom_aff(base, den)
        if last is not None and last[2] is not None and last[1] // last[2] == number and value == last[0] * last[2]:
            merged = None if radix is None else last[2] * radix
            digits[-1] = (last[0], last[1], merged)
        else:
            digits.append((value, number, radix))
    return digits
