"""Numbers of lanes as expressions in the lanes' bits.

Places in an exchange buffer are made of bits of the lane's number: moved by the ownership map, combined with one
another by the swizzle. Composing expressions of the two and simplifying them gives a form that people read, mostly; now
and then it gives floors of what may be negative, floor((-31*floor(lane/4))/2), which C's division can't say. Then the
form is made anew, of the numbers: what each bit of the lane flips.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES
from polyvolta.sets import Aff, aff, var, xor
from polyvolta.sets.values.aff import Floor, Xor
from polyvolta.sets.values.simplify import interval

LANE, BITS = "lane", (LANES - 1).bit_length()


def divides_naturals(e: Aff) -> bool:
    """Whether all floors in an expression of the lane are of what is never negative.

    >>> lane = var("lane")
    >>> divides_naturals(8 * (lane // 4) - 3 * (lane // 8)), divides_naturals((-3 * (lane // 4)) // 2)
    (True, False)
    """
    for atom, _ in e.terms:
        match atom:
            case Floor(num):
                low, _ = interval(num, {LANE: (0, LANES - 1)})
                if low is None or low < 0 or not divides_naturals(num):
                    return False
            case Xor(left, right):
                if not (divides_naturals(left) and divides_naturals(right)):
                    return False
    return True


def by_bits(values: np.ndarray) -> Aff | None:
    """An expression of the lane with these values, one for each lane; None if they don't flip bit by bit.

    What bits flip that no others do is a sum; the rest is an exclusive-or of two.

    >>> lane = np.arange(32)
    >>> print(by_bits(lane // 4 * 2 + lane % 2 * 64))
    2*floor(lane/4) + 64*(lane mod 2)
    >>> print(by_bits((lane % 4) ^ (lane // 8)))
    (lane mod 4 ^ floor(lane/8))
    >>> by_bits(lane // 3) is None
    True
    """
    first = int(values[0])
    flips = [int(values[2**b]) ^ first for b in range(BITS)]
    lanes = np.arange(LANES)
    made = reduce(np.bitwise_xor, [flip * (lanes >> b & 1) for b, flip in enumerate(flips)], np.full(LANES, first))
    if (made != values).any():
        return None
    layers: list[list[int]] = [[], []]
    for b, flip in enumerate(flips):
        layer = next((x for x in layers if not any(flip & flips[other] for other in x)), None)
        if layer is None:
            return None
        layer.append(b)
    one, other = ([(b, flips[b]) for b in layer] for layer in layers)
    if any(first & flip for flip in flips):
        return None
    apart = [(b, f) for b, f in one if not any(f & g for _, g in other)]
    meeting = [(b, f) for b, f in one if (b, f) not in apart]
    if not other:
        return _summed(apart) + first
    bits = reduce(or_, (f for _, f in (*meeting, *other))).bit_length()
    return _summed(apart) + xor(_summed(meeting), _summed(other), bits) + first


def _summed(flips: Sequence[tuple[int, int]]) -> Aff:
    """The sum of what some bits of the lane flip; bits that follow one another, with doubled weights, as one number."""
    e, todo = aff(0), dict(flips)
    for b in sorted(todo):
        if b not in todo or not todo[b]:
            continue
        weight, count = todo[b], 1
        while todo.get(b + count) == weight << count:
            del todo[b + count]
            count += 1
        part = var(LANE) // 2**b
        e = e + weight * (part if b + count == BITS else part % 2**count)
    return e
