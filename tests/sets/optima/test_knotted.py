"""Optima over existentials that many bounds hold: they stay existentials, and the answer is found in few steps."""

from itertools import product

import pytest

from polyvolta.sets import Set, budget


def first(p, q, r, s):
    """The least o of the first set, by trial."""
    found = None
    for a in range(-1, min(q, s, r + 1) // 3 + 1):
        for b in range(-3, min(s + 1, r + 1, q) + 1):
            if 3 * a >= max(-s - 2, -r) and b >= max(-s, -r - 1) and (2 * a - 3 * b + 3) % 3 == 0:
                o = (2 * a - 3 * b + 3) // 3
                found = o if found is None else min(found, o)
    return found


def second(p, q, r, s):
    found = None
    for a in range(max(-q - 3, -r), min(p, q, r + 2) + 1):
        for b in range(-4, 5):
            if max(-q - 2, -p) <= 2 * b <= min(p, q + 3, r + 3):
                for c in range(-4, 5):
                    if -p - 1 <= 3 * c <= min(q, r) + a:
                        o = 2 * a - b + 3 * c
                        found = o if found is None else min(found, o)
    return found


KNOTS = [
    ("[p, q, r, s] -> { [o] : exists a, b : 3a <= q and 3a <= s and 3a <= r + 1 and 3a >= -s - 2 and 3a >= -r and "
     "b <= s + 1 and b <= r + 1 and b <= q and b >= -s and b >= -r - 1 and 3o = 2a - 3b + 3 and o >= -100 }", first),
    ("[p, q, r, s] -> { [o] : exists a, b, c : a <= q and a <= p and a <= r + 2 and a >= -q - 3 and a >= -r and "
     "2b <= p and 2b <= q + 3 and 2b <= r + 3 and 2b >= -q - 2 and 2b >= -p and 3c <= q + a and 3c <= r + a and "
     "3c >= -p - 1 and o = 2a - b + 3c }", second),
]  # fmt: skip


@pytest.mark.parametrize(("text", "least"), KNOTS)
def test_lexmin(text, least):
    with budget(60_000):
        found = Set(text).lexmin()
    for p, q, r, s in product(range(-1, 3), repeat=4):
        wanted = least(p, q, r, s)
        have = [o for o in range(-20, 21) if found.contains((o,), p=p, q=q, r=r, s=s)]
        assert have == ([] if wanted is None else [wanted]), (p, q, r, s)
