"""The stride of a loop: in which steps, from where, one or several shadows have values of its column.

Congruences a*c + f = 0 mod d make the stride: c = r mod d. Loops over several shadows step through the coarsest grid
that has all of theirs; a shadow of one value is on any grid that has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, lcm

from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import Congruence, Key, System, coefficient, negated, plus, without


def stride(known: Known, shadow: System, col: int) -> tuple[int, Row, list[Congruence]]:
    """(step, residue, why) of a column: by the congruences `why` its values are residue modulo step."""
    step, residue, why = 1, ((), 0), []
    for key, whole, e in shadow.mods:
        a, const, d = coefficient(key, col), whole, e
        if not a:
            continue
        rest = without(key, col)
        g = gcd(a, d)
        if g > 1:
            if (const % g or any(v % g for _, v in rest)) and not known.implies_mod(rest, const, g):
                continue
            a, d = a // g, d // g
            rest, const = known.columns.quotient(g, rest, const)
        back = -pow(a, -1, d) % d
        one = (d, residue_of(known, plus(back, rest, 0, ()), back * const, d))
        both = _both((step, residue), one)
        if both is not None:
            step, residue = both
            why.append((key, whole, e))
        elif d > step:
            step, residue = one
            why = [(key, whole, e)]
    return step, residue, why


def distinct(system: System) -> list[Congruence]:
    """The congruences of a system without those that others say where equalities make columns numbers.

    Of N = 2, c = 2 mod 3 and N - c = 0 mod 3 the last one is left out. Cost: a sum for each congruence.
    """
    numbers = {key[0][0]: -key[0][1] * const for key, const in system.eqs if len(key) == 1}
    if len(system.mods) < 2 or not numbers:
        return system.mods
    found: dict[Congruence, Congruence] = {}
    for row in sorted(system.mods, key=lambda row: len(row[0])):
        key, const, d = row
        there, plain = [t for t in key if t[0] in numbers], System()
        plain.mod(tuple([t for t in key if t[0] not in numbers]), const + sum([v * numbers[c] for c, v in there]), d)
        for said in [row] if plain.empty else plain.mods:  # none where numbers say it
            found.setdefault(said, row)
    return [row for row in system.mods if row in found.values()]


def grid(known: Known, shadow: System, col: int) -> tuple[int, Row]:
    """(step, residue) of a column; a step of 0 where it has one value, the residue."""
    for key, const in shadow.eqs:
        v = coefficient(key, col)
        if v in (1, -1):
            rest = without(key, col)
            return 0, ((negated(rest), -const) if v == 1 else (rest, const))
    return stride(known, shadow, col)[:2]


def _both(a: tuple[int, Row], b: tuple[int, Row]) -> tuple[int, Row] | None:
    """Both congruences as one, if they plainly agree and that is linear."""
    (d, r), (e, s) = a, b
    g = gcd(d, e)
    key, const = plus(1, s[0], -1, r[0]), s[1] - r[1]
    if const % g or any(v % g for _, v in key):
        return None
    whole = lcm(d, e)
    t = pow(d // g, -1, e // g) if e > g else 0
    image = plus(1, r[0], d * t, tuple([(c, v // g) for c, v in key]))
    return whole, _reduced(image, r[1] + d * t * (const // g), whole)


def residue_of(known: Known, key: Key, const: int, d: int) -> Row:
    """A residue in fewer columns, where those of others are known: of N - c0 modulo 3 where c0 is 2 modulo 6."""
    told = known.modulo(key, const, d)
    return _reduced(*(told if len(told[0]) < len(key) else (key, const)), d)


def _reduced(key: Key, const: int, d: int) -> Row:
    """A residue with small coefficients."""
    return tuple([(c, r if 2 * r <= d else r - d) for c, v in key for r in (v % d,) if r]), const % d


def stepping(known: Known, shadows: Sequence[System], col: int) -> list[Congruence]:
    """The congruences that all of some shadows share, and the stride that all their values of a column have."""
    out = System(mods=[row for row in shadows[0].mods if all(row in s.mods for s in shadows)])
    step, (key, const) = stride_of_all(known, shadows, col)
    if step > 1:
        out.mod(plus(1, ((col, 1),), -1, key), -const, step)
    return out.mods


def common_stride(known: Known, each: Sequence[tuple[int, Row]]) -> tuple[int, Row]:
    """The coarsest grid that has all of some residues; a step of 0 is a single value."""
    step, residue = each[0]
    for d, other in each[1:]:
        whole, shift = known.grid(plus(1, other[0], -1, residue[0]))
        step = gcd(step, d, whole, shift + other[1] - residue[1])
    return (step, residue_of(known, *residue, step)) if step > 1 else (1, ((), 0))


def stride_of_all(known: Known, shadows: Sequence[System], col: int) -> tuple[int, Row]:
    """The coarsest grid that has all values of a column of some shadows, each where it has any.

    Of c1 = c0 mod 3 and c1 = 2 at c0 = 5 it is c0 modulo 3: the second has values where 2 is on it alone. What a shadow
    says of what is outside is asked only if the others have a grid that is left for it: a few reductions.
    """
    each = [grid(known, s, col) for s in shadows]
    found, most = common_stride(known, each), gcd(*[d for d, _ in each])
    if found[0] in (0, most) or most < 2:
        return found
    at = next(k for k, (d, _) in enumerate(each) if d)
    key, const = each[at][1]
    step = most
    for k, (_, other) in enumerate(each):
        if k != at:
            there = known.given(_beside(shadows[k], col, most))
            whole, shift = there.grid(plus(1, other[0], -1, key))
            step = gcd(step, whole, shift + other[1] - const)
    return (step, residue_of(known, key, const, step)) if step > found[0] else found


def _beside(shadow: System, col: int, d: int) -> System:
    """What a shadow says of residues of what is not a column, modulo a number where it says more."""
    rows = (*shadow.mods, *[(*row, d) for row in shadow.eqs])
    return System(mods=[row for row in rows if not coefficient(row[0], col)])
