"""isl's notation: what it means, and what is said of a text that is none."""

from fractions import Fraction
from itertools import product

import pytest

from polyvolta.sets import BudgetExceeded, Map, MultiPwAff, PwAff, Set, SetSyntaxError
from polyvolta.sets.text.expressions import parse_aff

SAME = [
    ("{ [i] : 0 <= i < 10 }", "{ [i] : i >= 0 and 9 >= i }"),
    ("{ [i] : 3i + 2(i - 1) = 8 }", "{ [2] }"),
    ("{ [i, j] : 0 <= i, j < 4 }", "{ [i, j] : 0 <= i < 4 and 0 <= j < 4 }"),
    ("{ [i] : not (i < 0 or i >= 3) }", "{ [i] : 0 <= i <= 2 }"),
    ("{ [i] : i != 3 and 0 <= i < 5 }", "{ [0]; [1]; [2]; [4] }"),
    ("{ [i] : i mod 4 = 1 and 0 <= i < 8 }", "{ [1]; [5] }"),
    ("{ [i] : i % 4 = 1 and 0 <= i < 8 }", "{ [i] : exists q : i = 4q + 1 and 0 <= q < 2 }"),
    ("{ [i] : 4 = ceil(i/3) }", "{ [i] : 10 <= i <= 12 }"),
    ("{ [i] : floor((i + 1)/2) = 2 }", "{ [3]; [4] }"),
    ("{ [i] : floor(i/2 + 1/3) = 1 }", "{ [2]; [3] }"),
    ("{ [i] : floord(-i, 3) = -1 }", "{ [1]; [2]; [3] }"),
    ("{ [i] : 2i // 3 = 2 }", "{ [3]; [4]; [5] }"),
    ("{ [i] : (2i) // 3 = 1 }", "{ [2] }"),
    ("{ [i] : i = max(3, 5) - min(1, 2) + abs(-4) }", "{ [8] }"),
    ("{ [i] : min(i, 10 - i) >= 4 }", "{ [4]; [5]; [6] }"),
    ("{ [i] : exists (a, b : i = 3a + 5b and 0 <= a <= 1 and b = 1) }", "{ [5]; [8] }"),
    ("{ [i] : 0 <= i < 6 and not exists e : i = 2e }", "{ [1]; [3]; [5] }"),
    ("{ [i] : exists e : 0 <= e < 3 and not (exists f : 2f = e) and i = e }", "{ [1] }"),
    ("{ [i] : false or true and i = 1 }", "{ [1] }"),
    ("{ [i, i] : 0 <= i < 2 }", "{ [0, 0]; [1, 1] }"),
    ("{ [i, j = i + 1] : i = 4 }", "{ [4, 5] }"),
    ("{ [i, *] : i = 0 }", "{ [i, j] : i = 0 }"),
    ("[N] -> { [N] }", "[N] -> { [i] : i = N }"),
    ("{ [i] : 0 ≤ i ∧ i ≤ 3 ∧ ¬(i ≠ 2) ∨ ∃ e : i = 7e ∧ e = 1 }", "{ [2]; [7] }"),
    ("{ [i] : ⌊i/4⌋ = 2 && i <> 9 || i == 0 }", "{ [0]; [8]; [10]; [11] }"),
    ("{ [i] : 5 >= i > 3 }", "{ [4]; [5] }"),
    ("{ [i] : i > 0 & i < 3 | i = 7 }", "{ [1]; [2]; [7] }"),
    (r"{ [i] : i > 0 /\ i < 3 \/ i = 7 }", "{ [1]; [2]; [7] }"),
    ("{ [0:2] }", "{ [i] : 0 <= i <= 2 }"),
    ("{ S[a = 0:2, a:3, :, 5:, :a] }", "{ S[a, b, c, d, e] : 0 <= a <= 2 and a <= b <= 3 and d >= 5 and e <= a }"),
    ("[s = 0:23, t = s:] -> { [i = s:t] }", "[s, t] -> { [i] : 0 <= s <= 23 and s <= i <= t }"),
    ("{ [(1 : 3)] }", "{ [1]; [2]; [3] }"),
    ("{ [i = 0:9, (i : 3i)] : i < 2 }", "{ [0, 0]; [1, 1]; [1, 2]; [1, 3] }"),
    ("[in] -> { [i = 0:in] : in = 1 }", "[in] -> { [i] : in = 1 and 0 <= i <= 1 }"),
    ("{ [is, in] : is < in }", "{ [i, j] : i < j }"),
    ("{ [i] : 2i mod 4 = 2 and 0 <= i < 8 }", "{ [1]; [5] }"),
    ("{ [i] : i*2 mod 4 = 2 and 0 <= i < 4 }", "{ [1]; [3] }"),
    ("{ [i] : i = (3)*2 or i = (1 + 2)*2 - 7 }", "{ [6]; [-1] }"),
    ("{ [i] : i = floor(7/2)*2 or i = min(2, 3)*-2 or i = [9/2]*2 }", "{ [6]; [-4]; [8] }"),
    ("{ [i] : i = -(3)*2*2 or 3 = (1)*i or i = (0)*i + 1 }", "{ [-12]; [3]; [1] }"),
    ("{ [i] : i = 2*7 mod 4 mod 5 or i = 2*-3 mod 5 or i = 2*3*3 mod 4 }", "{ [1]; [-6]; [18] }"),
    ("{ [i, j] : j = 3 and i = 2*j*3 mod 4 }", "{ [2, 3] }"),
    ("{ [i] : i = -3 mod 5 or i = -(3 mod 5) }", "{ [2]; [-3] }"),
    ("{ [i] : i/2 <= 5/2 and i >= 4 }", "{ [4]; [5] }"),
    ("{ [i, j] : 0 <= i < j/2 and j = 3 }", "{ [0, 3]; [1, 3] }"),  # isl asks for a difference of 1
    ("{ [i, j] : 0 <= i <= 2 and i != j/2 and j = 3 }", "{ [0, 3]; [1, 3]; [2, 3] }"),
    ("{ [i] : 1/2 i = 3 or (i + 1)/3 = 1/2 }", "{ [6] }"),
    ("{ [i, j] : j = 3 and (3i)/2 <= j and i >= 1 }", "{ [1, 3]; [2, 3] }"),
    ("{ [5/2] }", "{ [i] : false }"),
    ("{ [i, i/2] : 0 <= i <= 3 }", "{ [0, 0]; [2, 1] }"),
    ("{ [i] : [i/2] = 1 }", "{ [2]; [3] }"),
    ("{ [i] : ceild(i, 3) = 1 }", "{ [1]; [2]; [3] }"),
    ("{ [i] : max(i/2, 1) = 3/2 }", "{ [3] }"),
    ("{ [i] : i = 2^10 }", "{ [1024] }"),
    ("{ [i] : i = Max(3, Min(9, 5)) or i = FLOOR(7/2)*Ceil(3/2) or i = 17 Mod 10 }", "{ [5]; [6]; [7] }"),
    (
        "{ [i] : i = FloorD(7, 2) or i = (19) MOD (10) or (i >= 0 Implies 4 <= i <= 5) }",
        "{ [i] : i < 0 or i = 3 or 4 <= i <= 5 or i = 9 }",
    ),
    (
        "[Max, Mod] -> { Floor[i = Max, j = 2Mod] : i < Mod }",
        "[Max, Mod] -> { Floor[i, j] : i = Max and j = Mod + Mod and i < Mod }",
    ),
    ("{ [-3^2 : 1 - 2^3] }", "{ [i] : -9 <= i <= -7 }"),
    ("{ [i] : i >= 0 implies 4 <= i <= 5 }", "{ [i] : i < 0 or 4 <= i <= 5 }"),
    ("{ [i] : not (i >= 0 implies i >= 3) }", "{ [0]; [1]; [2] }"),
    ("{ [i] : 0 <= i <= 9 and (i > 3 => i > 7) }", "{ [0]; [1]; [2]; [3]; [8]; [9] }"),
    ("{ [i] : not not i = 3 }", "{ [3] }"),
    ("{ [i, j] : 0 <= i, j < 2 and [i, j] << [1, 0] }", "{ [0, 0]; [0, 1] }"),
    ("{ [i, j] : 0 <= i, j < 2 and not (i, j << 1, 0) }", "{ [1, 0]; [1, 1] }"),
    ("{ [i, j] : 0 <= i, j < 2 and [1, 0] <<= [i, j] }", "{ [1, 0]; [1, 1] }"),
    ("{ [i, j] : 0 <= i, j < 2 and i, j >> 0, 1 }", "{ [1, 0]; [1, 1] }"),
    ("{ [i] : exists (e0 = floor(i/2) : 2e0 = i and 0 <= e0 <= 1) }", "{ [0]; [2] }"),
    ("{ [i] : exists (a, b = 2a : i = b and 0 <= a < 2) }", "{ [0]; [2] }"),
    ("{ [x_1, x'] : x_1 = 1 and x' = 2 }", "{ [1, 2] }"),
    ("[N = 5] -> { [i] : 3 <= i < N }", "[N] -> { [i] : N = 5 and 3 <= i < 5 }"),
    ("[N = 5, M = N + 1] -> { [M] }", "[N, M] -> { [6] : N = 5 and M = 6 }"),
    ("{ [i] : i = 1 # a remark\n or i = 2 }", "{ [1]; [2] }"),
    ("{ T[[i] -> [[j] -> [k]]] : i = j and j = k }", "{ T[[i] -> [[i] -> [i]]] }"),
    ("{ A[]; B[i] : false }", "{ A[] }"),
    ("{ : }", "{ : 1 = 1 }"),
    ("{ }", "{ [i] : false }"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_ways_to_say_it(one, other):
    assert Set(one).is_equal(Set(other))


@pytest.mark.parametrize(("text", "plain"), [
    ("{ [a] -> [a + 1, i0] }", "{ [a] -> [a + 1, z] }"), ("{ [i] -> [i, i'] }", "{ [i] -> [i, z] }"),
    ("{ S[i0, i1] -> S[i1, i1'] : i1' >= 1 }", "{ S[i0, i1] -> S[i1, z] : z >= 1 }"),
    ("{ [i] -> [i, i, i', i''] }", "{ [i] -> [i, i, y, z] }"),
    ("[n] -> { A[] -> [n, n'] }", "[n] -> { A[] -> [n, z] }"),
    ("{ [a, 3] -> [*, i0, i1] }", "{ [a, 3] -> [x, y, z] }"), ("{ [[i] -> [i]] -> [i'] }", "{ [[i] -> [i]] -> [z] }"),
])  # fmt: skip
def test_a_name_that_a_text_has_yet_to_say_is_new(text, plain):
    """What stands for an entry without a name has none that comes later, which is what prints here, too."""
    m = Map(text)
    assert m.is_equal(Map(plain)) and Map(str(m)) == m and m.fix({m.dims()[-1]: 7}).is_equal(Map(plain).fix(z=7))
    isl = pytest.importorskip("islpy")
    assert isl.Map(text).is_equal(isl.Map(plain)) and isl.Map(str(m)).is_equal(isl.Map(plain))


def test_maps_in_two_ways():
    tile = Map("{ S[i] -> [floor(i/8), i mod 8] }")
    assert tile.is_equal(Map("{ S[i] -> [b, p] : i = 8b + p and 0 <= p < 8 }"))
    assert Map("{ A[i] → B[⌊i/2⌋] }").is_equal(Map("{ A[i] -> B[j] : 2j <= i <= 2j + 1 }"))
    assert Map("{ A[i] -> B[i] }").wrap().is_equal(Set("{ [A[i] -> B[j]] : i = j }"))


def test_expressions():
    assert str(parse_aff("2i + 3*(j - 1) - floor((i + 2j)/4)", "ij")) == "2*i + 3*j - floor((i + 2*j)/4) - 3"


WRONG = [
    ("{ [i : i > 0 }", "expected ',' or ']', found ':'", 5),
    ("{ [i] : i > 0", "expected 'and', 'or', ';' or '}', found the end of the text", 13),
    ("{ [i] : 0 <= < 3 }", "expected an expression, found '<'", 13),
    ("{ [i] : i }", "expected a comparison such as '<=' or '=', found '}'", 10),
    ("{ [i, j] : i*j > 3 }", "not affine: a product of i and j", 12),
    ("{ [i] : i mod 0 = 1 }", "division by zero", 14),
    ("{ [i] -> [j] }", "this is a map, not a set", 6),
    ("[N, N] -> { [i] }", "expected a parameter that is not listed twice, found 'N'", 4),
    ("[N] { [i] }", "expected '->' after the parameters, found '{'", 4),
    ("[N -> { [i] }", "expected ',' or ']', found '->'", 3),
    ("[i] : i > 0", "expected '[parameters] -> {' or '{', found '['", 0),
    ("[N] -> { [i] : i < N*i }", "not affine: a product of N and i", 20),
    ("{ [i] : exists e : e*max(i, 2) = 3 }", "not affine: a product", 20),
    ("{ [i, j] : (i)*(j) = 3 }", "not affine: a product of i and j", 14),
    ("{ [i] : (2)i = 4 }", "expected a comparison such as '<=' or '=', found 'i'", 11),
    ("[N] -> { [i] : i mod N = 1 }", "not affine: a division by N", 21),
    ("{ [i] : i/-2 = 1 }", "division by a negative number", 10),
    ("{ [i] : i // (1/2) = 1 }", "division by a fraction", 13),
    ("{ [i] : (i/2) mod 3 = 1 }", "a remainder of a quotient", 14),
    ("{ [i] : flor(i/2) = 1 }", "unknown function 'flor'", 8),
    ("{ [i] : i > 0 adn i < 3 }", "unknown name 'adn'", 14),
    ("{ [i] : exists j : i = j ore i = 3 }", "expected 'and', 'or', ';' or '}', found 'ore'", 25),
    ("{ [i] : [i, 2] < [3, 4] }", "tuples have no '<'", 24),
    ("{ [i] : i, 2 << 3 }", "'<<' compares 2 expressions with 1", 18),
    ("{ [i] : i > 2.5 }", "'.' has no meaning here", 13),
    ("{ rat: [i] : i mod 5 = 2 }", "a remainder of rational points", 15),
    ("{ S(i, j) : i > 0 }", "expected '[', found '('", 3),
    ("{ [mod] }", "expected a dimension, found 'mod'", 3),
    ("{ [min, max] }", "expected a dimension, found 'min'", 3),
    ("[exists] -> { [i] }", "expected the name of a parameter, found 'exists'", 1),
    ("{ %[i] }", "expected a tuple such as 'S[i, j]', found '%'", 2),
    ("{ [i] : i > 0 # and so on }", "expected 'and', 'or', ';' or '}', found the end of the text", 27),
    ("", "expected '{', found the end of the text", 0),
    ("{ [i] : exists i : i > 0 }", "expected a name that is not in use, found 'i'", 15),
    ("{ [i] : i > $ }", "'$' has no meaning here", 12),
    ("{ [i] : (i > 0 and (i + 3 < 4 }", "expected ')', found '}'", 30),
    ("{ S[i] i > 3 }", "expected ':', '->', ';' or '}', found 'i'", 7),
    ("S[i]", "expected '{', found 'S'", 0),
    ("{ [i] } rest", "expected the end of the text, found 'rest'", 8),
]


@pytest.mark.parametrize(("text", "message", "column"), WRONG)
def test_a_syntax_error_shows_the_place(text, message, column):
    with pytest.raises(SetSyntaxError) as caught:
        Set(text)
    first, line, caret, *_ = str(caught.value).splitlines()
    assert first == f"[PV101] {message.strip()}"
    assert line == f"  {text}"
    assert caret == "  " + " " * column + "^"


def test_a_syntax_error_in_full():
    with pytest.raises(SetSyntaxError) as caught:
        Map("[rows] -> { S[i]\n -> A[i] : 0 <= i < row }")
    assert str(caught.value) == (
        "[PV101] unknown name 'row'\n"
        "  line 2:  -> A[i] : 0 <= i < row }\n"
        "                              ^\n"
        "hint: did you mean 'rows'?"
    )


def test_a_map_where_a_set_stands():
    with pytest.raises(SetSyntaxError, match="this is a set, not a map"):
        Map("{ [i] : i > 0 }")
    with pytest.raises(SetSyntaxError, match="not from an int"):
        Set(3)


def test_a_formula_too_large_is_refused_at_once():
    with pytest.raises(BudgetExceeded, match="more than 4096 alternatives"):
        dims = [f"i{k}" for k in range(13)]
        Set(f"{{ [{', '.join(dims)}] : {' and '.join(f'{d} != 0' for d in dims)} }}")
    with pytest.raises(BudgetExceeded, match="more than 4096 cases"):
        Set("{ [i] : " + "min(" * 30 + "i" + ", 3)" * 30 + " > 0 }")


DEEP = [
    "({})",
    "({}) + 0 > 0 and 1",
    "floor((2*{} + 1)/3)",
    "min({}, 1)",
    "[[i] -> {}]",
    "not (exists e : e > i and {})",
]


@pytest.mark.parametrize("nest", DEEP)
def test_deep_nesting_is_refused(nest):
    left, right = nest.split("{}")
    for depth in (150, 3000):
        with pytest.raises(SetSyntaxError):
            Set("{ [i] : " + left * depth + "i > 0" + right * depth + " }")
        with pytest.raises(SetSyntaxError):
            Set("{ " + left * depth + "[i]" + right * depth + " }")


def test_long_texts_are_not_deep():
    for n in (10, 3000):
        assert Set("{ [i] : " + " and ".join(["i >= 0"] * n) + " }") == Set("{ [i] : i >= 0 }")
        assert Set("{ [i] : " + "not " * (2 * n) + "i >= 0 }") == Set("{ [i] : i >= 0 }")
        assert Set("{ [i] : " + " + ".join(["i"] * n) + " >= 0 }") == Set("{ [i] : i >= 0 }")
        assert len(Set("{ [i] : " + " and ".join(f"i != {k}" for k in range(n)) + " }").pieces) == 2


def test_long_lines_are_cut_around_the_mistake():
    with pytest.raises(SetSyntaxError) as caught:
        Set("{ [i] : " + " and ".join(["i >= 0"] * 1000) + " $ " + " and i >= 0" * 100 + " }")
    _, line, caret, *_ = str(caught.value).splitlines()
    assert len(line) < 200 and line[caret.index("^")] == "$"
    with pytest.raises(SetSyntaxError, match="a number of 5000 digits"):
        Set("{ [i] : i < " + "9" * 5000 + " }")


@pytest.mark.parametrize(
    "text", ["{ and[i] }", "{ True[i] }", "{ mod[i] -> or[i] }", "{ [not[i] -> exists[j]] -> max[] }", "{ floor[i] }"]
)
def test_words_of_the_notation_name_tuples(text):
    kind = Map if text.count("->") in (1, 2) else Set
    assert str(kind(text)) == text and kind(str(kind(text))) == kind(text)


def test_capital_words():
    """isl's words are so in any case; these are the spellings of people and of Omega."""
    said = Set("{ [y] : Exists (a : 2a = y) And Not (y > 9 Or y < 3) }")
    assert said.is_equal(Set("{ [4]; [6]; [8] }")) and Set("[NaN] -> { [i = NaN] }").param_names == ("NaN",)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{ [min, max] }", "'min' is a word of the notation"),
        ("{ S[exists] }", "'exists' is a word of the notation"),
        ("[exists] -> { [i] }", "'exists' is a word of the notation"),
        ("{ [i] : i < 10**2 }", "a power of a number is written 10^2"),
        ("{ A[infty] }", "'infty' is no integer: leave out the points without a value"),
        ("{ [[i] -> B[i, NaN]] }", "'NaN' is no integer: leave out the points without a value"),
    ],
)
def test_hints(text, hint):
    with pytest.raises(SetSyntaxError) as caught:
        Set(text)
    assert caught.value.hint == hint


def absolute(a):
    return [abs(a)]


def halves_and_thirds(a):
    total = Fraction(a, 2) + (a > 3) * Fraction(a, 3)
    return [int(total)] if a > 0 and total.denominator == 1 else []


CASES = [  # the outputs of a map { [a] -> [...] }, and what they are
    ("a - 1 : a > 0", lambda a: [a - 1] if a > 0 else []),
    ("a > 0 ? a : -a", absolute),
    ("(a : a > 0; -a : a <= 0)", absolute),
    ("a : a > 0; -a : a <= 0", absolute),
    ("b = (a >= 0 ? a : -a)", absolute),
    ("(a > 0 ? 1 : -1) + 2a", lambda a: [2 * a + (1 if a > 0 else -1)]),
    ("a > 2 ? 7 : a < -2 ? 8 : 9", lambda a: [7 if a > 2 else 8 if a < -2 else 9]),
    ("a > -3 and a mod 2 = 0 ? a : 0", lambda a: [a if a > -3 and a % 2 == 0 else 0]),
    ("a > 0 ? a/2 : 0", lambda a: [a // 2] if a > 0 and a % 2 == 0 else [0] if a <= 0 else []),
    ("a > 0 ? max(a, 2) : min(a, -2)", lambda a: [max(a, 2) if a > 0 else min(a, -2)]),
    ("max(a, 1) + (a > 0 ? 3 : abs(a))", lambda a: [max(a, 1) + (3 if a > 0 else abs(a))]),
    ("a : a > 0; 2a : a > 1; 5 : a > 2", lambda a: [(a > 0) * a + (a > 1) * 2 * a + (a > 2) * 5] if a > 0 else []),
    ("a/2 : a > 0; a/3 : a > 3", halves_and_thirds),
    ("a - 1 : exists b : a = 3b", lambda a: [a - 1] if a % 3 == 0 else []),
    ("a:a + 2", lambda a: [a, a + 1, a + 2]),
    ("(-1:1) : a > 2", lambda a: [-1, 0, 1] if a > 2 else []),
    ("a > 0 ? a : 1:2", lambda a: range(a if a > 0 else 1, 3)),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_entries_by_cases_and_ranges(text, expected):
    here = {(a, b) for a in range(-5, 6) for b in expected(a)}
    assert set(Map(f"{{ [a] -> [{text}] : -5 <= a <= 5 }}").wrap().points()) == here
    if not text.startswith("b ="):
        beside = Map(f"{{ A[a] -> B[({text}), a + 1] : -5 <= a <= 5 }}")
        assert set(beside.wrap().points()) == {(a, b, a + 1) for a, b in here}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("{ [i] : ((i > 1 ? 1 : 2)) >= 2 }", "{ [i] : i <= 1 }"),
        ("{ [i] : (((i > 1 ? 1 : 2)) >= 2 and (i > 0 or i < -3)) }", "{ [1]; [i] : i < -3 }"),
        ("{ [i] : (((i > 1 ? 1 : (i > 0 ? 5 : 3)) > 3 ? i : 7)) = 7 }", "{ [i] : i > 1 or i <= 0 }"),
        ("{ [i] : ((i > 1 and (i < 4)) ? 1 : (2)) = 1 }", "{ [i] : 1 < i < 4 }"),
    ],
)
def test_choices_in_several_parentheses(text, plain):
    assert Set(text).is_equal(Set(plain))


def test_choices_in_formulas_and_functions():
    found = Set("{ [a] : (a > 2 ? a : 3) < 5 and -9 <= a and not ((a = 1 ? 0 : 1) = 0) }")
    assert {p for (p,) in found.points()} == {a for a in range(-9, 9) if (a if a > 2 else 3) < 5 and a != 1}
    f = PwAff("{ [a] -> [a > 3 ? floor(a/2) : -a] }")
    assert [f(a=a) for a in (-2, 3, 4, 7)] == [2, -3, 2, 3]
    assert MultiPwAff("{ [a] -> [a : a > 0; 7 : a < 0] }").domain().is_equal(Set("{ [a] : a != 0 }"))
    with pytest.raises(SetSyntaxError, match="a choice by a condition with 'exists'"):
        Set("{ [a] : ((exists b : a = b + 2 * floor(b/3)) ? a : 3) < 5 }")


def test_an_existential_of_a_condition_that_several_cases_deny():
    """The condition stands in the formula once for each case of the minimum, its existential being one."""
    text = "{ [i, j] -> [(3i : ceil(j/2) <= j; min(j, 1) : not (exists e : i < 4 and 0 <= e <= 6))] }"
    m = Map(text)
    for i, j in product(range(-2, 7), range(-8, 4)):
        values = ([3 * i] if j >= 0 else []) + ([min(j, 1)] if i >= 4 else [])
        found = {p[0] for p in m.intersect_domain(Set(f"{{ [{i}, {j}] }}")).range().points()}
        assert found == ({sum(values)} if values else set())


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("[{ S[i] -> [(i)] }]", "{ S[i] -> [i] }"),
        ("[N] -> L_0[{ S[i, j] -> [(i)]; T[i] -> [(N)] }, { S[i, j] -> [(j)]; T[i] -> [(0)] }]",
         "[N] -> { S[i, j] -> L_0[i, j]; T[i] -> L_0[N, 0] }"),
        ("[ { S[i] -> [(i)] : i > 0; S[i] -> [(0)] : i <= 0 } , { S[i] -> [(i // 2)] : i < 9 } ] ",
         "{ S[i] -> [i, floor(i/2)] : 0 < i < 9; S[i] -> [0, floor(i/2)] : i <= 0 }"),
        ("[N] -> ([] : { S[i] : i < N; T[] })", "[N] -> { S[i] -> [] : i < N; T[] -> [] }"),
        ("[N] -> A[{ S[i] -> [(i)]; U[] -> [(N)] }, { T[i] -> [(i)]; U[] -> [(3)] }]", "[N] -> { U[] -> A[N, 3] }"),
        ("[{ S[i] -> [(i)] }, { S[i, j] -> [(j)] }]", "{ }"),  # no point has both values
    ],
)  # fmt: skip
def test_functions_of_several_tuples_value_by_value(text, same):
    assert Map(text).is_equal(Map(same)) and Map(text).param_names == Map(same).param_names


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("[]", "a tuple of no functions has no domain", 0),
        ("[{ S[i] -> [(i)] }, ]", "expected '{ S[i] -> [(i)]; ... }'", 20),
        ("[{ S[i] -> [(i)] } { S[i] -> [(i)] }]", "expected ',' or ']'", 19),
        ("[N] -> [{ S[i] -> [(i)] }, { S[i] -> [(j)] }]", "unknown name 'j'", 39),
        ("[{ S[i] -> [(i), (i)] }]", "a member gives one number for each point", 1),
        ("[{ S[i] -> [j] : j > i }]", "a member gives one number for each point", 1),
        ("[{ S[i] -> [(i)] }] x]", "expected the end of the text", 20),
        ("[{ S[i] -> [(i)] }] x", "expected", 1),
    ],
)
def test_mistakes_in_functions_of_several_tuples(text, message, at):
    with pytest.raises(SetSyntaxError) as wrong:
        Map(text)
    assert wrong.value.message.startswith(message), wrong.value.message
    assert wrong.value.at == at, wrong.value.at


def test_primes_inside_a_name_are_its_own():
    """As a program has them that makes names of others; those at its end tell two apart."""
    s = Set("[n'o] -> { S[x_'prox'_, x] : 0 <= x_'prox'_ < n'o and x = 2x_'prox'_ }")
    assert s.dims() == ("x_'prox'_", "x") and s.param_names == ("n'o",) and Set(str(s)) == s
    assert s.fix(x=4).contains((2, 4), **{"n'o": 3}) and Set("{ [x] }").rename_dims(x="a'b").dims() == ("a'b",)
    m = Map("{ [a'b] -> [a'b'] : a'b' = a'b + 1 }")
    assert m.range().dims() == ("a'b",) and Map(str(m)) == m
