"""Arithmetic of functions step by step, as programs do it that build an access or a bound, beside islpy."""

import random

import pytest

import polyvolta.isl as ours
from polyvolta.sets.functions.piecewise import Piecewise
from polyvolta.sets.functions.pwaff import PwAff

isl = pytest.importorskip("islpy")

FUNCTIONS = ["{ S[i, j] -> [(i)] }", "[N] -> { S[i, j] -> [(N + 2j)] }", "[N, M] -> { S[i, j] -> [(M - 3)] }",
             "[M, N] -> { S[x, y] -> [(x + floor((y + N)/4))] }", "{ S[a, b] -> [(7)] }"]  # fmt: skip


def step(m, rng, f, others):
    """One more operation of a function, the same in both libraries for the same numbers."""
    number, other = rng.choice([-6, -3, -1, 2, 3, 4, 12]), others[rng.randrange(len(others))]
    match rng.randrange(9):
        case 0:
            return f + other
        case 1:
            return f - other
        case 2:
            return f.scale_val(m.Val(number))
        case 3:
            return f.neg()
        case 4:
            return f.scale_down_val(m.Val(abs(number)))
        case 5:
            return f.floor()
        case 6:
            return f.add_constant_val(m.Val(number))
        case 7:
            return f.scale_down_val(m.Val(number**2)).ceil()
        case _:
            return f.mod_val(m.Val(abs(number)))


@pytest.mark.parametrize("kind", ["Aff", "PwAff"])
@pytest.mark.parametrize("seed", range(40))
def test_chains_of_operations(seed, kind):
    """Parameters differ in functions of cases alone, of which isl brings them together."""
    texts = FUNCTIONS if kind == "PwAff" else [f"[N, M] -> {t[t.index('{') :]}" for t in FUNCTIONS]
    made = [[getattr(m, kind)(text) for text in texts] for m in (ours, isl)]
    mine, theirs = (fs[seed % len(fs)] for fs in made)
    for k in range(12):
        mine, theirs = (
            step(m, random.Random(100 * seed + k), f, fs)
            for m, f, fs in zip((ours, isl), (mine, theirs), made, strict=True)
        )
        assert kind == "PwAff" or isinstance(mine, ours.Aff)
        assert isl.PwAff(str(mine)).is_equal(theirs if kind == "PwAff" else isl.PwAff.from_aff(theirs))


@pytest.mark.parametrize("number", ["7", "12", "2/3", "1/4"])
@pytest.mark.parametrize("text", [*FUNCTIONS, "{ S[i, j] -> [(i)/6] }", "{ S[i, j] -> [(i)] : i > j }"])
def test_quotients_by_numbers(text, number):
    mine, theirs = (m.PwAff(text).scale_down_val(m.Val(number)) for m in (ours, isl))
    assert isl.PwAff(str(mine)).is_equal(theirs)
    assert mine.is_equal(-ours.PwAff(text).scale_down_val(ours.Val(f"-{number}"))), "isl takes no such number"


@pytest.mark.parametrize("number", ["3", "-3"])
def test_a_quotient_is_nan_where_the_function_is(number):
    f = ours.PwAff("{ S[i, j] -> [(i)] : i > j; S[i, j] -> [NaN] : i < j }").scale_down_val(ours.Val(number))
    assert str(f.eval((6, 2))) == ("2" if number == "3" else "-2")
    assert str(f.eval((2, 6))) == "NaN"
    assert str(ours.PwAff("{ S[i, j] -> [(i)] }").scale_down_val(ours.Val(0)).eval((6, 2))) == "NaN"


def test_a_quotient_by_a_number_with_parameters_has_them():
    f, by = "[N] -> { S[i, j] -> [(i + N)] }", "[M, K] -> { S[i, j] -> [(3)] }"
    mine, theirs = (m.Aff(f).div(m.Aff(by)) for m in (ours, isl))
    assert set(mine.param_names) == {"N", "M", "K"}
    assert isl.PwAff(str(mine)).is_equal(isl.PwAff.from_aff(theirs))


def test_a_quotient_by_a_number_cuts_nothing(monkeypatch):
    """Nor is it asked where the function is NaN, of which there is nothing."""
    f = ours.Aff("[N] -> { S[i, j] -> [(2i + N)] }")
    monkeypatch.setattr(PwAff, "intersect_domain", None)
    assert str(f.scale_down_val(ours.Val(-4)).floor()) == "[N] -> { S[i, j] -> [(floor((-N - 2*i)/4))] }"


def test_functions_of_the_same_names_are_not_aligned(monkeypatch):
    f, g = ours.PwAff("[N] -> { S[i] -> [(i)] }"), ours.PwAff("[N] -> { S[i] -> [(N)] }")
    monkeypatch.setattr(Piecewise, "align_params", None)
    assert f._aligned(g, "a sum") == (f, g)
    assert str(f + g) == "[N] -> { S[i] -> [(N + i)] }"


def test_functions_of_other_names_are():
    f, g = ours.PwAff("[N] -> { S[i] -> [(i)] }"), ours.PwAff("[M] -> { S[j] -> [(M + 2j)] }")
    assert str(f + g) == "[N, M] -> { S[i] -> [(M + 3*i)] }"
    assert (
        str(ours.PwAff("[N] -> { S[i] -> [(i)] }") + ours.PwAff("[N] -> { S[j] -> [(2j)] }"))
        == "[N] -> { S[i] -> [(3*i)] }"
    )


def test_cells_of_one_value_stand_together():
    f = ours.PwAff("{ [i] -> [(1)] : i > 5; [i] -> [(2)] : 0 <= i <= 5; [i] -> [(1)] : i < 0 }")
    assert [len(s.pieces) for s, _ in (f + 0).pieces] == [2, 1]


def test_coefficients_of_expressions_and_constraints():
    for m in (ours, isl):
        f = m.Aff("[N] -> { S[i, j] -> [(3i - N + 5)] }")
        kinds = m.dim_type
        found = [f.get_coefficient_val(*at) for at in ((kinds.in_, 0), (kinds.in_, 1), (kinds.param, 0))]
        found.append(f.get_constant_val())
        assert [int(str(v)) for v in found] == [3, 0, -1, 5]
        (c,) = m.BasicSet("{ [i, j] : 2i - 3j >= 0 }").get_constraints()
        assert [int(str(c.get_coefficient_val(kinds.set, k))) for k in (0, 1)] == [2, -3]
