"""Polynomials where equalities hold, beside islpy: names that others determine are written out."""

import pytest

import polyvolta.isl as own

ALIKE = [
    ("[a] -> { [c] -> c^2 : c = a }", "[a] -> { [c] -> a * c : c = a }"),
    ("[n] -> { [i, j] -> i * j : i = 2j and j = n }", "[n] -> { [i, j] -> 2 * n * j : i = 2j and j = n }"),
    ("{ [i, j] -> floor(j/2) : 3j = 2i }", "{ [i, j] -> floor(i/3) : 3j = 2i }"),
    ("[n] -> { [i] -> i * floor(i/4) : i = 2n }", "[n] -> { [i] -> 2 * n * floor(n/2) : i = 2n }"),
    ("[n, m] -> { [i] -> m * i : m = n }", "[n, m] -> { [i] -> n * i : m = n }"),
    ("{ [i, j] -> i * j : i = j and (i < 3 or i > 6) }", "{ [i, j] -> i^2 : i = j and (i < 3 or i > 6) }"),
]


@pytest.mark.parametrize("texts", ALIKE)
def test_equal_ones_are_written_alike(texts):
    isl = pytest.importorskip("islpy")
    for lib in (isl, own):
        a, b = map(lib.PwQPolynomial, texts)
        assert a.plain_is_equal(b) and (a - b).is_zero(), lib
    assert str(own.PwQPolynomial(texts[0]) - own.PwQPolynomial(texts[1])).endswith("-> 0 }")
    assert a == own.PwQPolynomial(str(a))


@pytest.mark.parametrize("lib", ["islpy", "polyvolta.isl"])
def test_sets_and_folds_say_it_later_too(lib):
    lib = pytest.importorskip(lib)
    p, at = lib.PwQPolynomial("[a] -> { [c] -> c^2 }"), lib.Set("[a] -> { [c] : c = a }")
    assert p.intersect_domain(at).plain_is_equal(lib.PwQPolynomial("[a] -> { [c] -> a^2 : c = a }"))


def test_folds_too():
    fold = own.PwQPolynomialFold("[a] -> { [c] -> max(c^2, a) : c = a }")
    assert fold.plain_is_equal(own.PwQPolynomialFold("[a] -> { [c] -> max(a * c, c) : c = a }"))


TEXTS = ["[n] -> { [i] -> i^2 : i = 2*floor(n/3) }", "{ [i] -> i^2 : i = 3 or i = 5 }", "{ [i, j] -> j : i = 3 }",
         "{ [i] -> i^2 : i = 3; T[i] -> i : i = 5 }"]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_value_speaks_of_names_that_stand_in_the_tuple(text):
    p = own.PwQPolynomial(text)
    assert p == own.PwQPolynomial(str(p))
