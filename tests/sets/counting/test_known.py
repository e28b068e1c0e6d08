"""Polynomials simplified by what is known: the same values at its points, and written as isl writes them."""

from itertools import product

import pytest

from polyvolta.sets import PwQPolynomial, Set

CASES = [
    ("[n] -> { n^2 : n > 3 }", "[n] -> { : n = 5 }"),
    ("[n] -> { n^2 : n = 5 }", "[n] -> { : n > 3 }"),
    ("[n, m] -> { (n^2 + m) : n > 3 }", "[n, m] -> { : n = 2m }"),
    ("[n, m] -> { (n^2 + m) : n > 3 }", "[n, m] -> { : m = 2n }"),
    ("[n, m] -> { (n^2 + m * n) : n > 3 }", "[n, m] -> { : 3m = 2n }"),
    ("[n, m] -> { (floor(n/2) + m) : n > 3 }", "[n, m] -> { : n = 2m }"),
    ("[n, m] -> { (n * m) : n > 3 and m = 3 }", "[n, m] -> { : n > 2 }"),
    ("[n, m] -> { (floor(n/2)^2 * m) : n > 3 }", "[n, m] -> { : n mod 4 = 3 }"),
    ("[n, m] -> { (floor((n + m)/3) * n) : n > 3 }", "[n, m] -> { : m = 2n + 1 }"),
    ("[n, m] -> { (floor((n + floor(m/2))/3) * n) : n > 3 }", "[n, m] -> { : m mod 2 = 1 and (2n + m) mod 6 = 5 }"),
    ("[n, m] -> { (floor(n/2) + m) : n > 3 }", "[n, m] -> { : 0 <= n < 2 or n = 5 }"),
    ("[n] -> { [i] -> (i^2 + n) : 0 <= i < n }", "[n] -> { [i] : i = 2n - 4 }"),
    ("[n] -> { [i, j] -> (i^2 + j * n) : 0 <= i < n }", "[n] -> { [i, j] : i = j and n = 7 }"),
    ("[n] -> { [i] -> (i^2 + n) : i = 2; [i] -> n : i = 3 }", "[n] -> { [i] : i < 3 }"),
    ("[n] -> { S[i, j] -> (i * j) : 0 <= i < n }", "[n] -> { S[i, j] : i + j = n and i - j = 2n mod 4 }"),
]


@pytest.mark.parametrize("text, context", CASES)
def test_values_are_the_same_where_it_is_known(text, context):
    q, some = PwQPolynomial(text), Set(context)
    params = not some.space.dims
    found = q.gist_params(some) if params else q.gist(some)
    names = (*some.param_names, *some.space.dims)
    tried = 0
    for at in product(range(-3, 13), repeat=len(names)):
        values = dict(zip(names, at, strict=True))
        if some.contains(at[len(some.param_names) :], **{p: values[p] for p in some.param_names}):
            assert found.eval_with_dict(values) == q.eval_with_dict(values)
            tried += 1
    assert tried


@pytest.mark.parametrize("text, context, wanted", [
    (*CASES[0], "[n] -> { 25 }"), (*CASES[1], "[n] -> { 25 : n = 5 }"),
    (*CASES[2], "[n, m] -> { (1/2 * n + n^2) : n >= 4 }"), (*CASES[3], "[n, m] -> { (2 * n + n^2) : n >= 4 }"),
    (*CASES[4], "[n, m] -> { 5/3 * n^2 : n >= 4 }"), (*CASES[5], "[n, m] -> { n : n >= 4 }"),
    (*CASES[6], "[n, m] -> { 3 * n : m = 3 and n >= 4 }"), (*CASES[10], "[n, m] -> { (2 + m) : n >= 4 }"),
    (*CASES[11], "[n] -> { [i] -> (16 - 15 * n + 4 * n^2) : 0 <= i < n }"),
    (*CASES[12], "[n] -> { [i, j] -> (7 * i + i^2) : 0 <= i <= 6 }"), (*CASES[13], "[n] -> { [2] -> (4 + n) }"),
])  # fmt: skip
def test_polynomials_are_written_as_by_isl(text, context, wanted):
    q, some = PwQPolynomial(text), Set(context)
    assert str(q.gist(some) if some.space.dims else q.gist_params(some)) == wanted
