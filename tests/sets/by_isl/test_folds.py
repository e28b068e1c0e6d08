"""Bounds of quasi-polynomials, by enumeration and beside islpy, and isl's folds, which they are."""

import pickle
from itertools import product

import pytest

import polyvolta.isl as own
from polyvolta.sets import NotSupported, PolyvoltaError, SetSyntaxError, SpaceMismatch, Unbounded
from tests.sets.by_isl.polynomial_values import both, same_values

isl = pytest.importorskip("islpy")

OF_ISL = [  # isl's table `bound_tests`: whether it must be tight, the kind, the polynomial and the bound
    (False, "max", "{ [m, n] -> -m * n }", "{ max(infty) }"),
    (True, "max", "{ [[a, b, c, d] -> [e]] -> 0 }", "{ [a, b, c, d] -> max(0) }"),
    (True, "max", "{ [[x] -> [x]] -> 1 : exists a : x = 2 a }", "{ [x] -> max(1) : x mod 2 = 0 }"),
    (True, "min", "{ [x=5:10] -> (x + 2)^2 }", "{ min(49) }"),
    (True, "max", "{ [0:10] -> 1 }", "{ max(1) }"),
    (True, "max", "{ [[m] -> [0:m]] -> m^2 }", "{ [m] -> max(m^2) : m >= 0 }"),
    (True, "max", "{ [[a=0:1] -> [b=0:1]] -> (floor((a + b)/2)) }", "{ [a=0:1] -> max(a) }"),
]


@pytest.mark.parametrize(("tight", "kind", "text", "bound"), OF_ISL)
def test_isls_own_table_of_bounds(tight, kind, text, bound):
    found, is_tight = own.PwQPolynomial(text).bound(own.fold[kind])
    expected = own.PwQPolynomialFold(bound)
    assert is_tight or not tight
    assert found.get_domain_space() == expected.get_domain_space()
    for point in product(range(-2, 4), repeat=found.dim(own.dim_type.in_)):
        assert found.eval(point) == expected.eval(point)


def test_a_domain_with_other_names_of_dimensions_has_bounds():
    f = own.PwQPolynomial("{ [[a] -> [b]] -> 1 }").intersect_domain(own.Set("{ [[c] -> [c]] }"))
    assert f.bound(own.fold.max)[0].eval((3,)) == 1


BOUNDS = [  # text, kinds whose bound is tight
    ("[n] -> { [i] -> i^2 : 0 <= i <= n }", "max min"),
    ("[n] -> { [i, j] -> i * j : 0 <= i <= n and 0 <= j <= i }", "max min"),
    ("[n] -> { [i] -> i * (n - i) : 0 <= i <= n }", "max min"),
    ("[n] -> { [i] -> i * (n - i) : 0 <= i <= n and i mod 3 = 1 }", "min"),
    ("[n] -> { [[a] -> [i]] -> i * a : 0 <= i <= n and -2 <= a <= 2 }", "max min"),
    ("[n] -> { [i] -> floor(i/2) * n : 0 <= i <= 10 }", "max min"),
    ("[n] -> { [i] -> n * floor((i + n)/3) - i : 0 <= i <= n }", ""),
    ("[n] -> { [i] -> n : 0 <= i < n; [i] -> 2n : -5 <= i < 0 }", "max min"),
    ("[n] -> { [i] -> 10 - i^2 : 2i <= n and i >= 0 }", "max min"),
    ("[n] -> { [i] -> i^3 - n * i^2 : 0 <= i <= n }", "max"),
    ("{ [A[i] -> B[j, k]] -> 1/2 * i * j - k^2 : 0 <= j <= 4 and -1 <= 2k <= j and 0 <= i < 5 }", "max min"),
    ("{ [i, j] -> i^2 * j - 3 * j^2 : 0 <= i <= 5 and 0 <= j <= i }", "max min"),
    ("[n, m] -> { [i] -> n * i : 0 <= i <= m }", "max min"),
    ("[n, m] -> { S[i, j] -> (i - j)^2 : 0 <= i < n and 0 <= j < m }", "max"),
]


@pytest.mark.parametrize(("text", "tight"), BOUNDS)
@pytest.mark.parametrize("kind", ["max", "min"])
def test_bounds_by_enumeration(text, tight, kind):
    f = own.PwQPolynomial(text)
    found, is_tight = f.bound(own.fold[kind])
    assert is_tight or kind not in tight.split()
    kept = found.dim(own.dim_type.in_)
    for params in product(range(-1, 5), repeat=len(f.param_names)):
        given = dict(zip(f.param_names, params))
        best = {}
        for where, q in f.pieces:
            for p in where.points(**given):
                value = q.evaluate({**given, **dict(zip(where.dims(), p))})
                best[p[:kept]] = getattr(own.Val(value), kind)(best.get(p[:kept], value))
        for point, value in best.items():
            bound = own.Val(found(**given, **dict(zip(found.domain().dims() if kept else (), point))))
            assert bound == value if is_tight else getattr(bound, kind)(value) == bound
        assert len(best) == (found.domain().count(**given) if not found.domain().is_empty() else 0)


def test_what_has_no_bound_is_infinite():
    three = (("{ [i] -> i : i > 0 }", "max"), ("{ [i] -> -i^2 }", "min"), ("[n] -> { [i] -> n * i : i > 0 }", "min"))
    for text, kind in three:
        f, tight = own.PwQPolynomial(text).bound(own.fold[kind])
        assert not tight and f(**dict.fromkeys(f.param_names, 1)) in (own.Val.infty(), own.Val.neginfty())
    assert own.PwQPolynomial("{ [i] -> i : i > 0 }").bound(own.fold.min)[0]() == 1
    assert not own.PwQPolynomial("{ [i] -> 0 }").bound(own.fold.min)[0].pieces


EXTREMES = [
    ("{ [A[i] -> B[j]] -> i^2 + j : 0 <= i <= 5 and 0 <= j <= i }", 30, 0),
    ("[n] -> { [i] -> i^2 : 0 <= i <= n <= 10 }", 100, 0),
    ("{ [i] -> -i^2 : 2 <= i <= 3 }", -4, -9), ("{ [i] -> 0 }", 0, 0),
    ("{ [i] -> 1/2 * i : 2 <= i <= 3 }", own.Val("3/2"), 1),
    ("{ [x = 2:9, y] -> floor((x + 1)/4)^3 - floor((2x)/3)^2 }", -1, -28),
]  # fmt: skip


@pytest.mark.parametrize(("text", "greatest", "least"), EXTREMES)
def test_the_greatest_and_the_least_value(text, greatest, least):
    f = own.PwQPolynomial(text)
    assert (f.max(), f.min()) == (greatest, least)
    if "y" not in text:
        g = isl.PwQPolynomial(text)
        assert (str(g.max()), str(g.min())) == (str(greatest), str(least))


def test_no_greatest_value_is_an_error():
    with pytest.raises(Unbounded):
        own.PwQPolynomial("{ [i] -> i : i > 0 }").max()
    with pytest.raises(NotSupported):
        own.PwQPolynomialFold("{ [i] -> max(i, 3) : i > 0 }").min()


F = "[n] -> { [i] -> max(i, n, 3) : i > 0; [i] -> max(5) : i < 0 }"
G = "[n] -> { [i] -> max(i^2) : i > 1; [i] -> max(n, 1/2 * i) : i < -1 }"
FOLDS = {
    "add": lambda f, g, lib, D: f.add(g), "fold": lambda f, g, lib, D: f.fold(g),
    "copy": lambda f, g, lib, D: f.copy().coalesce(),
    "disjoint": lambda f, g, lib, D: f.add_disjoint(lib.PwQPolynomialFold("[n] -> { [i] -> max(7) : i = 0 }")),
    "scale": lambda f, g, lib, D: f.scale_val(2), "opposite": lambda f, g, lib, D: f.scale_val(-2),
    "scale_down": lambda f, g, lib, D: g.scale_down_val(lib.Val(3)),
    "gist": lambda f, g, lib, D: f.fix_val(D.in_, 0, 4),
    "intersect": lambda f, g, lib, D: f.intersect_domain(lib.Set("[n] -> { [i] : i > 2 or i = n }")),
    "params": lambda f, g, lib, D: f.intersect_params(lib.Set("[n] -> { : n > 0 }")),
    "subtract": lambda f, g, lib, D: f.subtract_domain(lib.Set("[n] -> { [i] : i > 2 }")),
    "move": lambda f, g, lib, D: f.move_dims(D.param, 0, D.in_, 0, 1),
    "drop": lambda f, g, lib, D: g.drop_dims(D.in_, 0, 1),
    "name": lambda f, g, lib, D: f.set_dim_name(D.in_, 0, "k"),
    "zero": lambda f, g, lib, D: lib.PwQPolynomialFold.zero(f.get_space(), lib.fold.max),
    "project": lambda f, g, lib, D: lib.PwQPolynomialFold(
        "[n] -> { [i] -> max(n, 1) : i > n }").project_domain_on_params(),
    "reset": lambda f, g, lib, D: f.reset_space(lib.PwQPolynomial("[n] -> { T[i] -> 1 }").get_space()),
    "unused": lambda f, g, lib, D: lib.PwQPolynomialFold("[n] -> { [i] -> max(i, 1) }").drop_unused_params(),
    "alloc": lambda f, g, lib, D: lib.PwQPolynomialFold.alloc(
        lib.fold.max, lib.Set("[n] -> { [i] : i > 0 }"),
        lib.QPolynomialFold.alloc(lib.fold.max, f_of(lib, "[n] -> { [i] -> i^2 }"))),
    "of polynomial": lambda f, g, lib, D: lib.PwQPolynomialFold.from_pw_qpolynomial(
        lib.fold.min, lib.PwQPolynomial("{ [i] -> i : i > 0 }")),
    "of fold": lambda f, g, lib, D: lib.PwQPolynomialFold.from_qpolynomial_fold(
        lib.QPolynomialFold.alloc(lib.fold.max, f_of(lib, "{ [i] -> i^2 }")).scale_val(-1)),
    "bound": lambda f, g, lib, D: lib.PwQPolynomialFold("[n] -> { [i] -> max(i, n - i) : 0 <= i <= n }").bound()[0],
    "set": lambda f, g, lib, D: lib.Set("[n] -> { [i] : 0 < i <= n }").apply_pw_qpolynomial_fold(
        lib.PwQPolynomialFold("[n] -> { [i] -> max(i, 2 * n) }"))[0],
    "map": lambda f, g, lib, D: lib.Map("[n] -> { A[j] -> [i] : 0 < i <= j }").apply_pw_qpolynomial_fold(
        lib.PwQPolynomialFold("[n] -> { [k] -> max(k, 2 * n) }"))[0],
}  # fmt: skip


def of_pieces(f):
    """How many polynomials there are."""
    seen = []
    f.foreach_piece(lambda s, q: q.foreach_qpolynomial(seen.append))
    return len(seen)


def f_of(lib, text):
    return lib.PwQPolynomial(text).get_pieces()[0][1]


@pytest.mark.parametrize("name", FOLDS)
def test_folds_have_the_values_of_isls(name):
    theirs, ours = both(lambda lib, D: FOLDS[name](lib.PwQPolynomialFold(F), lib.PwQPolynomialFold(G), lib, D))
    assert ours.get_type().name == theirs.get_type().name
    same_values(theirs, ours, (-3, -1, 0, 1, 2, 4))


ASKED = {
    "n": lambda f, lib, D: (f.n_piece(), f.is_zero(), f.isa_qpolynomial_fold(), f.involves_nan()),
    "find": lambda f, lib, D: f.find_dim_by_name(D.in_, "i"),
    "dims": lambda f, lib, D: [f.dim(k) for k in (D.param, D.in_, D.out)],
    "types": lambda f, lib, D: [int(k.value) for k in (lib.fold.min, lib.fold.max, lib.fold.list)],
    "list": lambda f, lib, D: (f.to_list().n_pw_qpolynomial_fold(), sorted(n for n, _ in f.get_var_dict().items())),
    "union": lambda f, lib, D: f.to_union_pw_qpolynomial_fold().n_pw_qpolynomial_fold(),
    "equal": lambda f, lib, D: [f.plain_is_equal(f), f.has_equal_space(f)],
    "pieces": lambda f, lib, D: of_pieces(f),
    "every": lambda f, lib, D: f.every_piece(lambda s, q: q.get_type() == lib.fold.max),
    "one": lambda f, lib, D: [
        (q.is_empty(), q.is_nan(), str(q.eval(lib.Set("{ [2] }").sample_point())), q.plain_is_equal(q))
        for q in [lib.QPolynomialFold.alloc(lib.fold.max, f_of(lib, "{ [i] -> i^2 }"))
                  .fold(lib.QPolynomialFold.alloc(lib.fold.max, f_of(lib, "{ [i] -> i + 7 }")))]],
    "none": lambda f, lib, D: lib.QPolynomialFold.empty(lib.fold.max, lib.Set("{ [i] }").space).is_empty(),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_of_folds(name):
    theirs, ours = both(lambda lib, D: ASKED[name](lib.PwQPolynomialFold(F), lib, D))
    assert ours == theirs


def test_texts_copies_and_mistakes():
    f = own.PwQPolynomialFold(F)
    assert own.PwQPolynomialFold.read_from_str(None, str(f)) == f == pickle.loads(pickle.dumps(f))
    u = own.UnionPwQPolynomialFold(F)
    assert u == f == pickle.loads(pickle.dumps(u)) and type(u) is type(pickle.loads(pickle.dumps(u)))
    assert type(f) is not type(u) is type(f.to_union_pw_qpolynomial_fold()) and hash(f) == hash(f.copy()) == hash(u)
    assert str(own.PwQPolynomialFold("{ S[i] -> 0 }")) == "{ S[i] -> 0 }"
    assert str(own.PwQPolynomialFold("{ [i] -> max(i + 1, 2 * i, i + 1) }")) == "{ [i] -> max((1 + i), 2 * i) }"
    for text in ("{ [i] -> i }", "{ [i] -> max(i) : i > 0; [i] -> min(i) : i < 0 }", "{ [i] -> max(i }", None):
        with pytest.raises(SetSyntaxError):
            own.PwQPolynomialFold(text)
    with pytest.raises(NotSupported):
        f.fold(own.PwQPolynomialFold("[n] -> { [i] -> min(i) }"))
    for wrong in (lambda: f.fold(5), lambda: own.QPolynomialFold.alloc("max", 3), lambda: f.as_qpolynomial_fold()):
        with pytest.raises(SpaceMismatch):
            wrong()
    with pytest.raises(PolyvoltaError):
        own.PwQPolynomial("{ [i] -> i }").bound(own.fold.list)
    with pytest.raises(AttributeError, match="bounds"):
        f.bounds  # noqa: B018


def test_bounds_of_several_tuples():
    f = own.UnionPwQPolynomial("[n] -> { S[i] -> i : 0 <= i < n; T[i] -> i^2 : 0 <= i <= 7 }")
    bound, tight = f.bound(own.fold.max)
    assert tight and [bound(n=n) for n in (0, 5, 60)] == [49, 49, 59]
    f = own.UnionPwQPolynomial("{ [S[i] -> A[j]] -> i * j : 0 <= j < i; [T[i] -> A[j]] -> i^2 : 0 <= j <= 7 }")
    bound, tight = f.bound(own.fold.max)
    assert tight and bound.n_pw_qpolynomial_fold() == 2
    assert bound.extract_pw_qpolynomial_fold(own.Set("{ S[i] }").space).eval((5,)) == 20


def test_printers_write_folds():
    f = own.PwQPolynomialFold("{ [i] -> max(i, 3) }")
    printer = own.Printer.to_str(None).print_pw_qpolynomial_fold(f).print_str("; ")
    assert printer.print_pw_qpolynomial_fold_list(f.to_list()).get_str() == f"{f}; ({f})"
