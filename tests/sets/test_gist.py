"""Gist: what is left to say in a context."""

import pytest

from polyvolta.sets import Set

CASES = [
    (
        "[N] -> { [i] : 0 <= i < N and i < 10 }",
        "[N] -> { [i] : i >= 0 and N <= 10 }",
        "[N] -> { [i] : i < N }",
    ),
    ("{ [i] : i mod 16 = 0 }", "{ [i] : i mod 16 = 0 }", "{ [i] }"),
    ("{ [i] : 0 <= i < 8 }", "{ [i] : 0 <= i < 4 }", "{ [i] }"),
    ("{ [i] : 0 <= i < 8 }", "{ [i] : i >= 9 }", "{ [i] : false }"),
    ("{ [i, j] : i = j and 0 <= i < 8 }", "{ [i, j] : 0 <= j < 8 }", "{ [i, j] : j = i }"),
    ("{ [i] : i = 3 }", "{ [i] : 3 <= i <= 4 }", "{ [3] }"),
    ("[M] -> { [b] : 0 <= b and 128b + 127 < M }", "[M] -> { [b] : 0 <= b and M mod 128 = 0 }", None),
    ("{ [i] : 0 <= i < 9; [i] : i = 20 }", "{ [i] : 0 <= i < 9 }", "{ [i] }"),
]


@pytest.mark.parametrize(("this", "context", "left"), CASES)
def test_a_gist_agrees_in_its_context(this, context, left):
    a, c = Set(this), Set(context)
    found = a.gist(c)
    assert (found & c).is_equal(a & c)
    if left is not None:
        assert found.is_equal(Set(left)) or str(found) == left


def test_a_tiled_domain_says_only_what_cuts():
    domain = Set(
        "[M] -> { [b, p] : b >= 0 and 0 <= p < 128 and 128b + p < M }",
    )
    context = Set("[M] -> { [b, p] : b >= 0 and 0 <= p < 128 }")
    assert str(domain.gist(context)) == "[M] -> { [b, p] : p < M - 128*b }"
    assert str(domain.gist(domain)) == "[M] -> { [b, p] }"
