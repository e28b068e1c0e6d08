"""Ints of 32 bits: quotients before sums are the same values, and no int of a ring overflows at the largest sizes."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest

import polyvolta as pv
from polyvolta.compiler.arguments import LARGEST
from polyvolta.cuda.ir.ints import Ints
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.verify.accesses.integers import overflow
from polyvolta.sets import Aff, aff, var

NAMES = ("K", "L", "c", "t")
INTS = Ints(frozenset({"K", "L", "c"}), dict.fromkeys(NAMES, 0))


def some(rng: random.Random, depth: int = 2) -> Aff:
    """A sum, of quotients, too, that isn't negative where the names aren't."""
    total = aff(rng.randrange(100))
    for name in rng.sample(NAMES, rng.randint(1, 4)):
        inner = some(rng, depth - 1) if depth and rng.random() < 0.4 else var(name)
        total = total + rng.choice((1, 2, 3, 16, 64)) * (inner // rng.choice((1, 4, 64)))
    return total


def points(rng: random.Random) -> list[dict[str, int]]:
    return [{n: rng.choice((0, 0, 1, rng.randrange(100), rng.randrange(10**6))) for n in NAMES} for _ in range(40)]


@pytest.mark.parametrize("seed", range(60))
def test_the_order_of_quotients_and_sums_is_none_of_the_value(seed):
    rng = random.Random(seed)
    num, den = some(rng), rng.choice((3, 64, 192, 256))
    whole, by = INTS.dividend(num, den)
    slot = some(rng) + rng.choice((1, 7)) * (num % den) + rng.choice((5, 1024)) * ((some(rng) // 64 + var("c")) % 3)
    parts = INTS.parts(slot)
    for at in points(rng):
        assert whole.evaluate(at) // by == num.evaluate(at) // den
        told = (c * (n.evaluate(at) % d) if d else rest.evaluate(at) for c, n, d, rest in parts)
        assert sum(told) == slot.evaluate(at)


@pytest.mark.parametrize("seed", range(60))
def test_cases_hold_together_or_one_of_them_where_the_condition_does(seed):
    rng = random.Random(seed)
    total = some(rng)
    total = total - total.const
    for e in (total - 1, -total, total - 2, 3 - total, total - 2 * var("L") - 1):
        word, cases = INTS.cases(e)
        for at in points(rng):
            assert (e.evaluate(at) >= 0) == {"any": any, "all": all}[word](c.evaluate(at) >= 0 for c in cases)


def test_sums_are_taken_apart_where_that_is_of_use():
    K, L, c, t = map(var, NAMES)
    assert INTS.dividend(K + 64 * c + 63, 192) == (c + (K + 63) // 64, 3)
    assert INTS.dividend(K + 64 * t + 63, 192) == (K + 64 * t + 63, 192)  # t is small
    assert INTS.dividend(K + c, 3) == (K + c, 3)  # there is nothing to divide first
    number = c + (K + 63) // 64
    assert INTS.parts(1024 * (number % 3) + t) == [(1, aff(0), None, t), (1024, number, 3, aff(0))]
    assert INTS.cases(K + c - 1) == ("any", (K - 1, c - 1)) and INTS.cases(-K - L) == ("all", (-K, -L))
    for e in (K + c - 2, K - c - 1, K + t - 1, K - 1, 1 - K - L):
        assert INTS.cases(e) == ("all", (e,))


# ---- the text of sums of products


class Int(int):
    """An int of C: it overflows."""

    def _made(self, value: int) -> Int:
        assert -(2**31) <= value < 2**31, f"{value} is no int"
        return Int(value)

    def __add__(self, other: int) -> Int:
        return self._made(int(self) + int(other))

    def __sub__(self, other: int) -> Int:
        return self._made(int(self) - int(other))

    def __mul__(self, other: int) -> Int:
        return self._made(int(self) * int(other))

    def __floordiv__(self, other: int) -> Int:
        assert self >= 0
        return self._made(int(self) // int(other))

    def __mod__(self, other: int) -> Int:
        assert self >= 0
        return self._made(int(self) % int(other))

    def __neg__(self) -> Int:
        return self._made(-int(self))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: int) -> Int:
        return self._made(int(other) - int(self))


@cache
def source(products: int) -> str:
    M, N, *depths = pv.sizes("M N K L R")[: 2 + products]
    total = sum(pv.tensor(f"A{n}", (M, k)) @ pv.tensor(f"B{n}", (k, N)) for n, k in enumerate(depths))
    kernel = pv.compile(total, target=SM_90A)
    assert overflow(kernel.ir) is None
    return kernel.source


def trips(text: str, size: str) -> list[tuple[str, str, str]]:
    """The first slot and parity, and the bodies, of the loops over the k tiles of a size, in a text."""
    turning = r"(?:, slot = ([^;]*?), parity = ([^;]*?))?"
    parts = re.split(rf"for \(int c2 = 0{turning}; c2 < \((\w+) \+ 63\) / 64; c2 \+= 1\)", text)
    heads = zip(parts[1::4], parts[2::4], parts[3::4], parts[4::4], strict=True)
    return [(slot, parity, body) for slot, parity, name, body in heads if name == size]


def value(text: str, names: dict[str, int]) -> int:
    return eval(text.replace("||", "or").replace("/", "//"), {}, {n: Int(v) for n, v in names.items()})


@pytest.mark.parametrize("products", [2, 3])
def test_no_int_of_a_ring_overflows_at_the_largest_depths(products):
    """Slots, parities, and what accumulators count on, at the first and last tiles of each product."""
    depths = dict(zip("KLR", [LARGEST, LARGEST - 5, LARGEST - 64]))
    for before, (name, depth) in enumerate(list(depths.items())[:products]):
        consumer, producer = trips(" ".join(source(products).split()), name)
        for c2 in (0, 1, (depth + 63) // 64 - 1):
            number = sum((depths[n] + 63) // 64 for n in "KLR"[:before]) + c2
            at = {"c2": c2, **depths}
            for (first, even, body), row, behind in ((consumer, "full", 0), (producer, "empty", 1)):
                begun = number - c2
                turns = first is not None
                assert not turns or (value(first, depths), value(even, depths)) == (begun % 4, begun // 4 % 2)
                ((slot, parity),) = re.findall(rf"await_phase\({row} \+ (.*?), (.*?)\);", body)
                turned = {**at, "slot": number % 4, "parity": number // 4 % 2}
                assert value(slot, turned) == number % 4 and value(parity, turned) == (number // 4 + behind) % 2
            (adds,) = re.findall(r",\s+([^,]* >= 1\)?)\);", consumer[2])
            for c8 in (0, 3):
                assert value(adds, {"c8": c8, **at}) == (number + c8 > 0)
