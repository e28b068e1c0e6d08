"""What functions with fractions have of isl's rarer names, and that `hasattr` says what they have not."""

import pytest

import polyvolta.isl as ours

HALF = "[N, M] -> { [i] -> [(i + N)/2] : i > 0 }"
TUPLES = ["[N] -> { [i] -> [(i)/2, (i)] }", "[N, M] -> { A[(N)/2, (3)] }", "[N] -> { [B[(N)/2] -> C[(3)]] }",
          "[N] -> { [A[i] -> D[j]] -> [B[(i)/2] -> C[(3)]] }"]  # fmt: skip


def told(m, f, name):
    """What a method gives as a set or a function, or that it is an error."""
    try:
        return getattr(f, name)()
    except m.Error:
        return None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("drop_unused_params", "[N] -> { [i] -> [(N + i)/2] : i >= 1 }"),
        ("to_union_pw_aff", "[N, M] -> { [i] -> [(N + i)/2] : i >= 1 }"),
        ("get_aggregate_domain", "[N, M] -> { [i] : i >= 1 }"),
    ],
)
def test_a_function(name, text):
    f = getattr(ours.PwAff(HALF), name)()
    assert str(f) == text and f.param_names == tuple(["N", "M"][: 1 + text.startswith("[N, M]")])


def test_a_function_beside_islpy():
    isl = pytest.importorskip("islpy")
    for name in ("drop_unused_params", "to_union_pw_aff", "get_aggregate_domain"):
        found, wanted = getattr(ours.PwAff(HALF), name)(), getattr(isl.PwAff(HALF), name)()
        assert getattr(type(wanted)(str(found)), "is_equal" if "domain" in name else "plain_is_equal")(wanted)
        assert len(found.param_names) == wanted.get_space().dim(isl.dim_type.param)


def test_coefficients_by_name():
    f = ours.Aff("[n] -> { [i, j] -> [(i + 2n + 3)/2] }")
    assert {k: str(v) for k, v in f.get_coefficients_by_name(ours.dim_type.in_).items()} == {"i": "1/2", 1: "3/2"}
    other = f.set_coefficients_by_name({"j": ours.Val("1/3"), 1: 5})
    assert str(other) == "[n] -> { [i, j] -> [(3*i + 2*j + 6*n + 30)/6] }"
    assert isinstance(f.set_coefficients_by_name({"n": 0}), ours.Aff)
    with pytest.raises(ours.Error, match="no dimension is called 'k'"):
        f.set_coefficients_by_name({"k": 3})


def test_coefficients_by_name_beside_islpy():
    isl = pytest.importorskip("islpy")
    f, g = (m.Aff("[n] -> { [i, j] -> [(i + 2n + 3)/2] }") for m in (ours, isl))
    found, wanted = (h.get_coefficients_by_name(m.dim_type.in_) for h, m in ((f, ours), (g, isl)))
    assert {k: str(v) for k, v in found.items()} == {k: str(v) for k, v in wanted.items()}
    found, wanted = (h.set_coefficients_by_name({"j": m.Val("1/3"), 1: 5}) for h, m in ((f, ours), (g, isl)))
    assert isl.Aff(str(found)).plain_is_equal(wanted)


@pytest.mark.parametrize("text", TUPLES)
def test_tuples_beside_islpy(text):
    isl = pytest.importorskip("islpy")
    f, g = ours.MultiPwAff(text), isl.MultiPwAff(text)
    assert f.range_is_wrapping() == g.range_is_wrapping()
    for name in ("from_range", "factor_range", "as_set", "range_factor_range", "range_factor_domain"):
        found, wanted = told(ours, f, name), told(isl, g, name)
        if name.startswith("range") and found is not None and f.inp.of_params:
            continue  # which isl refuses without inputs
        assert (found is None) == (wanted is None), name
        assert found is None or type(wanted)(str(found)).is_equal(wanted), name


def test_tuples():
    f = ours.MultiPwAff("[N, M] -> { A[(N)/2, (3)] }")
    assert str(f.as_set()) == "[N, M] -> { A[floor(N/2), 3] : N mod 2 = 0 }"
    assert str(f.from_range()) == "[N, M] -> { [] -> A[(N)/2, (3)] }"
    assert f.drop_unused_params().param_names == ("N",)
    assert str(ours.MultiPwAff("{ [B[1/2] -> C[(3)]] }").factor_range()) == "{ C[(3)] }"


def test_hasattr_says_what_a_tuple_of_fractions_has_not():
    f = ours.MultiPwAff("{ [i] -> [(i)/2, (i)] }")
    assert hasattr(f, "get_at") and not hasattr(f, "foo") and not hasattr(f, "_x") and not hasattr(f, "cells")
    with pytest.raises(AttributeError, match="has no attribute 'ad'"):
        _ = f.ad
    with pytest.raises(AttributeError, match="a value is a fraction or NaN"):
        _ = f.cells
    assert hasattr(f, "factor_domain") == hasattr(ours.MultiPwAff("{ [i] -> [i] }"), "factor_domain")
    assert hasattr(f, "union_prefer")
    with pytest.raises(ours.NotAffine, match="a value is a fraction or NaN"):
        f.union_prefer(f)
    g = ours.PwAff("{ [i] -> [(i)/2] }")
    assert hasattr(g, "get_pieces") and not hasattr(g, "foo") and not hasattr(g, "cells")
