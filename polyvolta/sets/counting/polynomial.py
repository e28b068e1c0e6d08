"""Polynomials with rational coefficients, and their sums over a range of integers.

A polynomial is a dict from monomials to coefficients that are not 0; a monomial is a frozenset of pairs (variable,
power), the empty one is the constant. Variables are whatever hashes: columns of a system of rows in `summation`,
names and floors in `quasipoly`.

The sum of a power is a polynomial again. Faulhaber's

    F_e(n) = 1^e + 2^e + ... + n^e = 1/(e+1) * sum over j of (-1)^j * C(e+1, j) * B_j * n^(e+1-j)

with Bernoulli's numbers B_j satisfies F_e(n) - F_e(n-1) = n^e for every integer n, negative ones too. So the sum of
x^e over low <= x <= high is F_e(high) - F_e(low - 1) whenever low <= high + 1: it is 0, as it should, for the empty
range high = low - 1, and wrong for ranges emptier than that.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any

from ..budgets import spend

Monomial = frozenset[tuple[Any, int]]
Poly = dict[Monomial, Fraction]

_ONE: Monomial = frozenset()


def constant(value: Fraction | int) -> Poly:
    """The polynomial that is a number.

    >>> constant(0), constant(2) == {frozenset(): 2}
    ({}, True)
    """
    return {_ONE: Fraction(value)} if value else {}


def affine(row: Sequence[int]) -> Poly:
    """The polynomial `const + c1*x1 + ...` of a row, whose variables are the columns 1, 2, ..."""
    terms = {frozenset(((k, 1),)): Fraction(c) for k, c in enumerate(row) if k and c}
    return {**constant(row[0]), **terms}


def plus(p: Poly, q: Poly, factor: Fraction | int = 1) -> Poly:
    """p + factor * q; linear."""
    out = dict(p)
    for m, c in q.items():
        value = out.get(m, 0) + c * factor
        if value:
            out[m] = value
        else:
            out.pop(m, None)
    return out


def scaled(p: Poly, factor: Fraction | int) -> Poly:
    """factor * p."""
    return {m: c * factor for m, c in p.items()} if factor else {}


def times(p: Poly, q: Poly) -> Poly:
    """p * q; a step of the budget per sixteen pairs of terms."""
    spend(1 + len(p) * len(q) // 16)
    out: Poly = {}
    for m, a in p.items():
        for n, b in q.items():
            key = _product(m, n)
            out[key] = out.get(key, 0) + a * b
    return {m: c for m, c in out.items() if c}


def _product(m: Monomial, n: Monomial) -> Monomial:
    if not m or not n:
        return m or n
    powers = dict(m)
    for x, e in n:
        powers[x] = powers.get(x, 0) + e
    return frozenset(powers.items())


def powers_of(p: Poly, x: Hashable) -> list[Poly]:
    """The polynomials c0, c1, ... without x for which p = c0 + c1*x + c2*x^2 + ..."""
    out: list[Poly] = [{}]
    for m, c in p.items():
        e = next((k for y, k in m if y == x), 0)
        while len(out) <= e:
            out.append({})
        out[e][m - {(x, e)}] = c
    return out


def composed(coefficients: Sequence[Poly], x: Poly) -> Poly:
    """c0 + c1*x + c2*x^2 + ... by Horner's rule."""
    out: Poly = {}
    for c in reversed(coefficients):
        out = plus(times(out, x), c)
    return out


def substituted(p: Poly, x: Hashable, value: Poly) -> Poly:
    """The polynomial with a variable replaced by a polynomial."""
    return composed(powers_of(p, x), value)


def summed(p: Poly, x: Hashable, low: Poly, high: Poly) -> Poly:
    """The sum of p over the integers low <= x <= high, by Faulhaber; exact where low <= high + 1.

    >>> n = affine((0, 1))
    >>> triangle = summed(affine((0, 0, 1)), 2, constant(1), n)
    >>> plus(triangle, triangle) == times(n, affine((1, 1)))
    True
    """
    total: list[Poly] = []
    for e, c in enumerate(powers_of(p, x)):
        if c:
            for k, f in enumerate(faulhaber(e)):
                while len(total) <= k:
                    total.append({})
                total[k] = plus(total[k], c, f)
    return plus(composed(total, high), composed(total, plus(low, constant(-1))), -1)


@lru_cache(maxsize=64)
def faulhaber(e: int) -> tuple[Fraction, ...]:
    """The coefficients of F_e, the sum of the e-th powers of 1..n, constant first; O(e^2).

    >>> print(*faulhaber(2))
    0 1/6 1/2 1/3
    """
    out = [Fraction(0)] * (e + 2)
    for j in range(e + 1):
        out[e + 1 - j] = Fraction((-1) ** j * comb(e + 1, j), e + 1) * _bernoulli(j)
    return tuple(out)


@lru_cache(maxsize=64)
def _bernoulli(n: int) -> Fraction:
    """Bernoulli's number B_n, with B_1 = -1/2."""
    if n == 0:
        return Fraction(1)
    return -sum((comb(n + 1, k) * _bernoulli(k) for k in range(n)), Fraction(0)) / (n + 1)
