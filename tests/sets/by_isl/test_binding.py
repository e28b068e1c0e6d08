"""Dimensions that become parameters, and back, by isl's names: by hand, and against the points."""

import pytest

from polyvolta.sets import Map, MultiPwAff, PwAff, Set, SpaceMismatch


@pytest.mark.parametrize(("text", "names", "bound"), [
    ("{ A[M, N] : M mod 2 = 0 and N mod 8 = 3 }", "{ A[M, N] }", "[M, N] -> { : M mod 2 = 0 and N mod 8 = 3 }"),
    ("{ B[N, M] : M mod 2 = 0 and N mod 8 = 3 }", "{ B[N, M] }", "[M, N] -> { : M mod 2 = 0 and N mod 8 = 3 }"),
    ("[M] -> { D[x, N] : x > N and M >= 5 }", "{ D[M, N] }", "[M, N] -> { : M > N and M >= 5 }"),
])  # fmt: skip
def test_a_set_bound_to_names(text, names, bound):
    assert Set(text).bind(names).is_equal(Set(bound)) and Set(text).bind(Set(names)).is_equal(Set(bound))


def test_a_set_and_back():
    s = Set("[K] -> { A[i, j] : 0 <= i < j < K and j mod 3 = 1 }")
    bound = s.bind("{ A[P, Q] }")
    assert set(bound.param_names) == {"K", "P", "Q"} and bound.is_params()
    assert bound.unbind_params("{ A[P, Q] }").is_equal(s)
    assert bound.unbind_params("{ A[Q] }").is_equal(Set("[K, P] -> { A[Q] : 0 <= P < Q < K and Q mod 3 = 1 }"))
    assert Set("[M] -> { : M > 2 }").unbind_params("{ D[T, U] }").is_equal(Set("[M] -> { D[T, U] : M > 2 }"))


def test_relations_and_functions_at_a_point():
    m = Map("[M] -> { C[x, N] -> [x + floor(N/2)]; E[x] -> [M] }")
    assert m.bind_domain("{ C[M, N] }").is_equal(Set("[M, N] -> { [M + floor(N/2)] }"))
    assert m.bind_domain("{ E[Q] }").is_equal(Set("[M, Q] -> { [M] }"))
    pairs = Map("{ B[a, b] -> A[b + 1, a]; C[] -> A[5, 7]; D[] -> E[] }")
    assert pairs.bind_range("{ A[M, N] }").is_equal(
        Set("[M, N] -> { B[N, b] : M = b + 1; C[] : M = 5 and N = 7 }"))  # fmt: skip
    assert pairs.bind_range("{ Z[M] }").is_empty()
    f = MultiPwAff("{ B[N, M] -> [M + floor(N/2), N] : N > 0 }")
    assert f.bind_domain("{ B[N, M] }").is_equal(MultiPwAff("[N, M] -> { [M + floor(N/2), N] : N > 0 }"))
    g = MultiPwAff("[M] -> { [C[N] -> B[x]] -> [x + M + floor(N/2)] }")
    assert g.bind_domain_wrapped_domain("{ C[N] }").is_equal(MultiPwAff("[M, N] -> { B[x] -> [x + M + floor(N/2)] }"))
    assert f.bind("{ [P, Q] }").is_equal(Set("[P, Q] -> { B[N, M] : N > 0 and Q = N and P = M + floor(N/2) }"))


def test_a_value_bound_to_a_parameter():
    assert PwAff("{ B[x] -> [floor(x/2)] }").bind_id("M").is_equal(Set("[M] -> { B[x] : M = floor(x/2) }"))
    assert PwAff("[M] -> { [M] : M >= 0; [-M] : M < 0 }").bind_id("M").is_equal(Set("[M] -> { : M >= 0 }"))


def test_functions_of_parameters_with_inputs_of_these_names():
    f = PwAff("[M, N] -> { [M + floor(N/2)] }")
    assert f.unbind_params_insert_domain("{ B[N, M] }").is_equal(PwAff("{ B[N, M] -> [M + floor(N/2)] }"))
    assert f.unbind_params_insert_domain("{ C[A, N] }").is_equal(PwAff("[M] -> { C[A, N] -> [M + floor(N/2)] }"))
    g = MultiPwAff("[M, N] -> { T[M, N // 2] : N > 0 }")
    assert g.unbind_params_insert_domain("{ A[M, N] }").is_equal(MultiPwAff("{ A[M, N] -> T[M, N // 2] : N > 0 }"))
    s = Set("[M, N] -> { T[i] : M < i < N }")
    assert s.unbind_params_insert_domain("{ A[N] }").is_equal(Map("[M] -> { A[N] -> T[i] : M < i < N }"))


def test_dimensions_are_called_as_the_parameters_were():
    assert str(Set("[N] -> { : N > 3 }").unbind_params("{ B[N] }")) == "{ B[N] : N >= 4 }"
    s = Set("[N] -> { A[i] : i < N; C[i] }")
    assert str(s.only("A").unbind_params_insert_domain("{ B[N] }")) == "{ B[N] -> A[i] : i < N }"
    assert s.unbind_params_insert_domain("{ B[N] }").is_equal(Map("{ B[N] -> A[i] : i < N; B[N] -> C[i] }"))
    own = Set("[M] -> { A[N] : M < N }").unbind_params_insert_domain("{ B[N] }")
    assert own.is_equal(Map("[M] -> { B[N] -> A[i] : M < i }"))


@pytest.mark.parametrize("text", ["[N] -> { A[i] : i < N }", "[N] -> { A[] : 0 < N }", "[N] -> { [i] : i < N; B[] }"])
def test_points_are_not_lost_where_parameters_become_dimensions(text):
    with pytest.raises(SpaceMismatch, match="unbind_params needs a set of parameters alone"):
        Set(text).unbind_params("{ B[N] }")


def test_what_is_no_tuple():
    for wrong in (None, 3, ["M", "N"], Set("{ A[i]; B[j] }")):
        with pytest.raises(SpaceMismatch, match="dimensions are bound to a tuple's names"):
            Set("{ A[i, j] }").bind(wrong)
