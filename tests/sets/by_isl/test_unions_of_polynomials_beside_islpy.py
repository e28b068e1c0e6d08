"""Unions of polynomials and of folds meet sets of other tuples, and of parameters alone, as isl's do."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

POLYNOMIALS = ["[n] -> { A[i] -> i; B[k] -> k }", "[n] -> { A[i] -> i * n : i > 3 }", "{ A[i] -> i }",
               "[n] -> { [A[i] -> B[j]] -> i * j; C[i] -> n }"]  # fmt: skip
SETS = ["[n] -> { : n > 3 }", "{ : }", "{ : false }", "[m] -> { : m > 0 }", "{ B[i] }", "{ B[] }", "{ }", "{ [] }",
        "{ A[i] : i > 5; C[k] }", "{ A[i] : i > 5 }", "[n] -> { A[i] : i > n; B[k] : k < 3 }",
        "{ [A[i] -> B[j]] : i > j }"]  # fmt: skip
METHODS = ["intersect_domain", "subtract_domain", "gist", "intersect_domain_union_set", "subtract_domain_union_set",
           "intersect_domain_wrapped_domain", "intersect_domain_wrapped_range"]  # fmt: skip


def same(found, wanted):
    """Whether both are 0 nowhere else, and their difference everywhere; islpy reads no union of nothing."""
    if found.pieces and wanted.n_pw_qpolynomial():
        left = isl.UnionPwQPolynomial(str(found)).sub(wanted)
        assert left.every_pw_qpolynomial(lambda f: f.coalesce().is_zero()), (found, wanted)
    assert found.n_pw_qpolynomial() == wanted.n_pw_qpolynomial(), (found, wanted)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("text", POLYNOMIALS)
def test_sets_of_any_tuples(text, name):
    for where in SETS:
        found, wanted = (getattr(m.UnionPwQPolynomial(text), name)(m.UnionSet(where)) for m in (ours, isl))
        assert isinstance(found, ours.UnionPwQPolynomial)
        same(found, wanted)
        assert (str(found) in ("{ }", "[n] -> { }", "[n, m] -> { }", "[m] -> { }")) == (
            wanted.n_pw_qpolynomial() == 0), where  # fmt: skip


@pytest.mark.parametrize("text", POLYNOMIALS)
@pytest.mark.parametrize("at", ["{ A[3] }", "{ B[4] }", "{ D[] }", "{ [5] }", "[n] -> { A[5] : n = 7 }"])
def test_values_at_points_of_any_tuple(text, at):
    def value(m):
        u = m.UnionPwQPolynomial(text).align_params(m.Set("[n] -> { : }").get_space())
        point = m.Set(at).align_params(m.Set("[n] -> { : n = 7 }").get_space()).fix_val(m.dim_type.param, 0, m.Val(7))
        return str(u.eval(point.sample_point()))

    assert value(ours) == value(isl)


def test_points_of_other_tuples_have_the_value_0():
    for m in (ours, isl):
        assert m.UnionPwQPolynomial("[n] -> { A[i] -> n }").eval(m.Set("{ B[3] }").sample_point()).is_zero()
        with pytest.raises(m.Error):
            m.PwQPolynomial("{ A[i] -> i }").eval(m.Set("{ B[3] }").sample_point())


FOLDS = ["[n] -> { A[i] -> max(i, n) }", "{ A[i] -> max(i) : i > 2 }", "{ [A[i] -> B[j]] -> max(i, j) }"]


def folds(m, text):
    """A union of a fold and what is 9 on B: islpy reads no union of folds."""
    f = m.PwQPolynomialFold(text).to_union_pw_qpolynomial_fold()
    nine = m.PwQPolynomialFold(text.partition("{")[0] + "{ B[k] -> max(9) }").to_union_pw_qpolynomial_fold()
    return f.fold(nine)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("text", FOLDS)
def test_folds_on_sets_of_any_tuples(text, name):
    for where in SETS:
        found, wanted = (getattr(folds(m, text), name)(m.UnionSet(where)) for m in (ours, isl))
        assert isinstance(found, ours.UnionPwQPolynomialFold) and found.get_space().is_params()
        assert found.n_pw_qpolynomial_fold() == wanted.n_pw_qpolynomial_fold(), (where, found, wanted)
        domain = isl.UnionSet("{ }")
        each = []
        wanted.foreach_pw_qpolynomial_fold(lambda f, each=each: each.append(f.domain()))
        for d in each:
            domain = domain.union(d.to_union_set())
        assert isl.UnionSet(str(found.domain())).is_equal(domain), (where, found, wanted)


def test_bounds_of_unions_are_unions():
    u = ours.UnionPwQPolynomial("[n] -> { A[i] -> i : 0 <= i < n; B[i] -> n }")
    bound, _ = u.intersect_domain(ours.UnionSet("[n] -> { : n > 3 }")).bound(ours.fold.max)
    assert isinstance(bound, ours.UnionPwQPolynomialFold) and bound(n=7) == 7 and bound(n=3) == 0
    there, _ = ours.UnionSet("{ C[i] }").apply_union_pw_qpolynomial_fold(bound)
    assert isinstance(there, ours.UnionPwQPolynomialFold) and str(there) == "[n] -> { }"
    assert not isinstance(ours.PwQPolynomial("{ A[i] -> i : 0 < i < 9 }").bound(ours.fold.max)[0], type(bound))
