"""Conditions that plainly imply or exclude one another: by terms equal but for a number, by a name's one number, or by
the divisors of remainders.

n >= 3 implies n >= 2, and excludes n <= 1; n >= 3 or n = 0 implies n >= 0; n = 4 excludes n mod 3 = 0
n mod 8 = 7 implies n mod 4 = 3, and excludes n mod 6 = 4
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import gcd, inf

from polyvolta.sched.loops.ast import AnyOf, Condition
from polyvolta.sets import Aff
from polyvolta.sets.values.aff import Floor
from polyvolta.sets.values.digits import mod_parts


def implies(a: Condition, b: Condition) -> bool:
    """Whether one condition plainly implies another one: it is the same but for a number, or each of its cases is."""
    if a == b:
        return True
    if isinstance(b, AnyOf):
        cases = a.alternatives if isinstance(a, AnyOf) else ((a,),)
        return all(any(ensures(case, other) for other in b.alternatives) for case in cases)
    if isinstance(a, AnyOf):
        return False
    there = _at(a, b)
    if there is not None:
        return there >= 0 if b[0] == "ge" else there == 0
    if b[0] != "ge":
        return _alike(a, b, lambda den, other: None if den % other else other) == 0
    gaps = [b[1] - a[1]] + ([b[1] + a[1]] if a[0] == "eq" else [])
    return any(gap.is_constant and gap.const >= 0 for gap in gaps)


def _at(a: Condition, b: Condition) -> int | None:
    """What a condition says of a number, where another one says which number a name is: (N + 1) mod 4 is 1 at N = 0."""
    if isinstance(a, AnyOf) or isinstance(b, AnyOf) or a[0] != "eq" or len(a[1].terms) != 1:
        return None
    ((name, v),) = a[1].terms
    if not isinstance(name, str) or v not in (1, -1) or b[1].names() != {name}:
        return None
    there = b[1].subs({name: -v * a[1].const})
    return there.const if there.is_constant else None


def ensures(some: Sequence[Condition], others: Sequence[Condition]) -> bool:
    """Whether all of some conditions together plainly imply all others."""
    return all(any(implies(c, d) for c in some) for d in others)


def excludes(a: Condition, b: Condition) -> bool:
    """Whether two conditions plainly never hold at once: n >= 3 and n <= 1, or n = 0; or n = 1 and n = 0."""
    if isinstance(a, AnyOf) or isinstance(b, AnyOf):
        return False
    for there, (kind, _) in ((_at(a, b), b), (_at(b, a), a)):
        if there is not None:
            return there < 0 if kind == "ge" else there != 0
    if a[0] == b[0] == "eq":
        return bool(_alike(a, b, gcd)) or any(e.is_constant and e.const for e in (a[1] + b[1], a[1] - b[1]))
    sums = [a[1] + b[1]] + ([b[1] - a[1]] if a[0] == "eq" else []) + ([a[1] - b[1]] if b[0] == "eq" else [])
    return any(e.is_constant and e.const < 0 for e in sums)


def covers(a: Condition, b: Condition) -> bool:
    """Whether one of two conditions plainly holds wherever the other does not: n >= 3 and n <= 2; n % 3 = 0, >= 1."""
    rows = [row for row in (_at_least(a), _at_least(b)) if row is not None]
    if len(rows) < 2:
        return False
    whole = rows[0] + rows[1]
    return whole.is_constant and whole.const >= -1


def _at_least(c: Condition) -> Aff | None:
    """What is at least 0 where a condition holds, and nowhere else; None of alternatives, and of most equalities.

    A remainder is 0 where it is 0 at most, and n mod 4 is 3 where it is 3 at least.
    """
    if isinstance(c, AnyOf):
        return None
    if c[0] == "ge":
        return c[1]
    digit = _digit(c[1])
    if digit is None:
        return None
    v, _, den, const = digit
    return -v * c[1] if const == 0 else v * c[1] if const == -v * (den - 1) else None


@lru_cache(maxsize=1024)
def _digit(e: Aff) -> tuple[int, Aff, int, int] | None:
    """(v, num, den, const) of an expression v*(num mod den) + const; None of another one."""
    parts = mod_parts(e) if any(isinstance(atom, Floor) for atom, _ in e.terms) else ()
    digits = [(v, num, den) for v, num, den, _ in parts if den is not None]
    if len(digits) != 1 or any(rest.terms for _, _, _, rest in parts):
        return None
    return *digits[0], sum(rest.const for _, _, _, rest in parts)


def _alike(a: Condition, b: Condition, common: Callable[[int, int], int | None]) -> int | None:
    """What is left of what is 0 where a remainder is as one condition says, where it is as another one does.

    It is modulo what is common to both divisors, if anything is: of i mod 8 = 3 and i mod 4 = 1 it is 2 modulo 4.
    None where it depends on more.
    """
    mine, other = _multiple(a), _multiple(b)
    den = None if mine is None or other is None else common(mine[1], other[1])
    if mine is None or other is None or den is None:
        return None
    for gap in (other[0] - mine[0], other[0] + mine[0]):
        if not any(v % den for _, v in gap.terms):
            return gap.const % den
    return None


def _multiple(c: Condition) -> tuple[Aff, int] | None:
    """An expression that is a multiple of a number where a condition holds, and nowhere else, and the number."""
    digit = _digit(c[1]) if not isinstance(c, AnyOf) and c[0] == "eq" else None
    if digit is None:
        return None
    v, num, den, const = digit
    rest = const // v
    return (num + rest, den) if v * rest == const and -den < rest <= 0 else None


def tied(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Conditions with one equality for two of them that leave one value: n = 3 for n >= 3 and n <= 3."""
    out: list[Condition] = []
    for c in conditions:
        if isinstance(c, AnyOf):
            out.append(AnyOf(tuple(tied(case) for case in c.alternatives)))
            continue
        at = next((k for k, d in enumerate(out) if _opposite(c, d)), None)
        if at is None:
            out.append(c)
        else:
            out[at] = "eq", c[1]
    return tuple(out)


def _opposite(a: Condition, b: Condition) -> bool:
    if isinstance(a, AnyOf) or isinstance(b, AnyOf) or (a[0], b[0]) != ("ge", "ge"):
        return False
    whole = a[1] + b[1]
    return whole.is_constant and whole.const == 0


def where(c: Condition, known: Sequence[Condition]) -> tuple[Condition, ...]:
    """A condition where others hold: of alternatives what these do not say, and none where one of them is left.

    Inside of n >= 3, n >= 3 and m >= 1 or m <= 0 is no condition.
    """
    if not isinstance(c, AnyOf):
        return (c,)
    out: list[tuple[Condition, ...]] = []
    for case in c.alternatives:
        if not any(excludes(d, x) for x in case for d in known):
            out.append(tuple(x for x in case if not any(implies(d, x) for d in known)))
    single = [case[0] for case in out if len(case) == 1]
    if not all(out) or any(covers(x, y) for k, x in enumerate(single) for y in single[:k]):
        return ()
    return (AnyOf(tuple(out)),) if len(out) > 1 else out[0] if out else (c,)


def under(c: Condition, known: Sequence[Condition]) -> tuple[Condition, ...]:
    """A condition where others hold, of alternatives without what those of another one say.

    Inside of n = 0 or n >= 3, n = 0 or n >= 3 and i = 1 is n = 0 or i = 1: of the alternatives around it the first one
    says the first one inside, and the second one says what is left out. None where all of them say one inside.
    """
    for around in known:
        if not isinstance(around, AnyOf) or not isinstance(c, AnyOf):
            continue
        undecided = [case for case in around.alternatives if not any(ensures(case, inner) for inner in c.alternatives)]
        if not undecided:
            return ()
        left = [
            tuple(d for d in inner if not all(ensures(case, (d,)) for case in undecided)) for inner in c.alternatives
        ]
        if not all(left):
            return ()
        c = AnyOf(tuple(left))
    return (c,)


def needed(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Conditions without those that another one plainly implies: n >= 2 beside n = 3 or n >= 3."""
    plain = [c for c in conditions if not isinstance(c, AnyOf)]
    conditions = tuple(d for c in conditions for d in where(c, plain))
    out = list(conditions)
    for c in conditions:
        seldom = not isinstance(c, AnyOf) and c[0] == "eq"  # tested first, for it says the most
        if not seldom and any(implies(o, c) for o in out if o is not c):
            out.remove(c)
    return tuple(out)


def unsaid(some: Sequence[Condition], others: Sequence[Condition]) -> tuple[Condition, ...]:
    """Some conditions without the inequalities that one of others says, too: all that they imply or exclude it does.

    Of conditions in one another, as of an unrolled loop, the innermost one is left: n >= 1, n >= 2, ...
    """
    least = {d[1].terms: d[1].const for d in others if not isinstance(d, AnyOf) and d[0] == "ge"}
    return tuple([c for c in some if isinstance(c, AnyOf) or c[0] != "ge" or least.get(c[1].terms, inf) > c[1].const])


def weaker(some: Sequence[Condition], others: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions of each of two lists that the other list plainly implies, once each.

    None that one condition decides and alternatives ask more often: tested before it they cost more than they save.
    """
    found = [c for c in some if any(_cheaper(d, c) for d in others)]
    found += [d for d in others if d not in found and any(_cheaper(c, d) for c in some)]
    return tuple(c for c in found if not any(d is not c and d != c and implies(d, c) for d in found))


def _cheaper(a: Condition, b: Condition) -> bool:
    """Whether one condition plainly implies another one that is no more to test."""
    return implies(a, b) and (isinstance(a, AnyOf) or not isinstance(b, AnyOf))


def mentions(condition: Condition, name: str) -> bool:
    if isinstance(condition, AnyOf):
        return any(mentions(c, name) for case in condition.alternatives for c in case)
    return name in condition[1].names()


def periodic(e: Aff) -> bool:
    """Whether an expression is of remainders alone: with floors as fractions nothing is left of it."""
    sums: dict[str, Fraction] = {}
    rest = [(e, Fraction(1))]
    while rest:
        inner, by = rest.pop()
        for atom, v in inner.terms:
            if isinstance(atom, Floor):
                rest.append((atom.num, by * v / atom.den))
            else:
                name = str(atom)
                sums[name] = sums.get(name, 0) + by * v
    return not any(sums.values())


def cases_of(conditions: Sequence[Condition]) -> Iterator[tuple[Condition, ...]]:
    """Conditions without alternatives, all of which hold in one of some cases."""
    each = [c.alternatives if isinstance(c, AnyOf) else ((c,),) for c in conditions]
    for some in product(*each):
        case = tuple(c for part in some for c in part)
        if any(isinstance(c, AnyOf) for c in case):
            yield from cases_of(case)
        else:
            yield case
