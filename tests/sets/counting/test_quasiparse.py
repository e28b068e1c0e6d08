"""Texts of quasi-polynomials: the values are those that Python computes, and what is printed reads back."""

from fractions import Fraction

import pytest

from polyvolta.sets import PwAff, PwQPolynomial, Set, SetSyntaxError, UnionPwQPolynomial

TEXTS = [
    ("[n] -> { n }", lambda n: n),
    ("[n] -> { 2n^2 - 3 n + 1/3 n }", lambda n: 2 * n * n - 3 * n + Fraction(n, 3)),
    ("[n] -> { ((1/2 * n + 1/2 * n^2)) : n > 0 }", lambda n: n * (n + 1) // 2 if n > 0 else 0),
    ("[n] -> { (2n + 1)^3 - n mod 2 }", lambda n: (2 * n + 1) ** 3 - n % 2),
    ("[n] -> { -n + 2 * (n - 1) * (n - 2) + (n + 1) mod 3 : n mod 2 = 0 }",
     lambda n: -n + 2 * (n - 1) * (n - 2) + (n + 1) % 3 if n % 2 == 0 else 0),
    ("[n] -> { -(n)^2 * floor((3n + 1)/4) : n < -1; n/2 : n > 1 }",
     lambda n: -n * n * ((3 * n + 1) // 4) if n < -1 else Fraction(n, 2) if n > 1 else 0),
    ("[n] -> { n : n > 0; n^2 : n < 4 }", lambda n: (n if n > 0 else 0) + (n * n if n < 4 else 0)),
    ("[n = 3] -> { n * (n - 1)^0 }", lambda n: n if n == 3 else 0),
    ("[n] -> { }", lambda n: 0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), TEXTS)
def test_values_of_polynomials_of_a_parameter(text, value):
    f = PwQPolynomial(text)
    for n in range(-8, 9):
        assert f.eval_with_dict({"n": n}) == value(n) if f.param_names else True
    assert PwQPolynomial(str(f)) == f == UnionPwQPolynomial.read_from_str(None, text)


def test_polynomials_of_points():
    f = PwQPolynomial("[n] -> { S[i, j = 2i] -> (i + 2j) * floor((n + i)/3) : exists e : i = 2e; T[] -> n }")
    for i in range(-4, 5):
        for n in range(-3, 4):
            assert f.only("S")(i=i, j=2 * i, n=n) == (5 * i * ((n + i) // 3) if i % 2 == 0 else 0)
    assert f.only("T")(n=7) == 7 and f.domain().is_equal(Set("[n] -> { S[i, j] : j = 2i and i mod 2 = 0; T[] }"))


def test_what_is_counted_reads_back():
    for text in (
        "[N] -> { [i, j] : 0 <= j <= i < N }", "[N, M] -> { [i, j] : 0 <= 3j <= i < N and j < M }",
        "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= 2i <= N }",
    ):  # fmt: skip
        counted = Set(text).cardinality()
        assert PwQPolynomial(str(counted)) == counted


def test_islpys_own_examples():
    f = PwAff("[n] -> { [(0)] : n <= 4 and n >= 1; [(-1 + n - floor((3n)/4))] : n >= 5 }")
    assert PwQPolynomial.from_pw_aff(f).eval_with_dict({"n": 10}) == 2
    triangle, box = Set("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n and j <= i }"), 1
    for k in range(2):
        box = box * PwQPolynomial.from_pw_aff(triangle.dim_max(k) - triangle.dim_min(k) + 1)
    assert (box.eval_with_dict({"n": 10}), triangle.cardinality().eval_with_dict({"n": 10})) == (100, 55)
    seen = []
    PwQPolynomial("[n] -> { n }").foreach_piece(lambda s, q: seen.extend(c for _, c in q.terms))
    assert seen == [1]


@pytest.mark.parametrize(("text", "message"), [
    ("[n] -> { max(n, 3) }", "a polynomial has no cases"),
    ("[n] -> { n * }", "expected an expression, found '}'"),
    ("[n] -> { n^n }", "expected an exponent of at most 64, found 'n'"),
    ("[n] -> { n^65 }", "expected an exponent of at most 64, found '65'"),
    ("[n] -> { [j] -> k }", "unknown name 'k'"),
    ("[n] -> { n(n + 1) }", "expected an operator, ':', ';' or '}', found '('"),
    ("[n] -> { n / 0 }", "division by zero"),
    ("[n] -> { (n }", "expected ')', found '}'"),
    ("[n] -> { n } n", "expected the end of the text, found 'n'"),
    ("[n] -> { " + "(" * 200 + "n" + ")" * 200 + " }", "the text is nested too deeply"),
])  # fmt: skip
def test_mistakes(text, message):
    with pytest.raises(SetSyntaxError) as wrong:
        PwQPolynomial(text)
    assert wrong.value.message == message
