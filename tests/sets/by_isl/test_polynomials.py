"""isl's methods of quasi-polynomials beside islpy: the same calls, and the same values at the points of a box."""

import pickle
from fractions import Fraction
from itertools import product

import pytest

import polyvolta.isl as own
from polyvolta.sets import PolyvoltaError
from polyvolta.sets.counting import quasipoly
from tests.sets.by_isl.polynomial_values import both, same_values

isl = pytest.importorskip("islpy")

Q = {
    "a": "[n] -> { S[i, j] -> i^2 * n + 1/2 * j + 3 }",
    "b": "[n] -> { S[i, j] -> i - n }",
    "d": "[n] -> { S[i, j] -> i * floor((i + j)/3) + floor(j/2)^2 }",
    "e": "[n] -> { [A[i] -> B[j]] -> i^2 * j + n }",
    "h": "[n] -> { S[i, j] -> n^2 }",
    "c": "[n] -> { S[i, j] -> 3/2 }",
}


def polynomial(lib, name):
    return lib.PwQPolynomial(Q.get(name, name)).get_pieces()[0][1]


CALLS = {
    "add": lambda q, lib, D: q("a").add(q("b")), "sub": lambda q, lib, D: q("a").sub(q("d")),
    "mul": lambda q, lib, D: q("b").mul(q("d")), "neg": lambda q, lib, D: q("d").neg(),
    "+": lambda q, lib, D: q("a") + q("b"), "number": lambda q, lib, D: 2 * (q("b") + 1) - q("a") * 3,
    "pow": lambda q, lib, D: q("b").pow(3), "pow0": lambda q, lib, D: q("b").pow(0),
    "scale_val": lambda q, lib, D: q("a").scale_val(lib.Val("3/2")),
    "scale_down_val": lambda q, lib, D: q("a").scale_down_val(lib.Val(4)),
    "zero": lambda q, lib, D: lib.QPolynomial.zero_on_domain(q("a").get_domain_space()),
    "one": lambda q, lib, D: lib.QPolynomial.one_on_domain(q("a").get_domain_space()),
    "val": lambda q, lib, D: lib.QPolynomial.val_on_domain(q("a").get_domain_space(), lib.Val("-7/3")),
    "var": lambda q, lib, D: lib.QPolynomial.var_on_domain(q("a").get_domain_space(), D.set, 1),
    "var param": lambda q, lib, D: lib.QPolynomial.var_on_domain(q("a").get_domain_space(), D.param, 0),
    "infty": lambda q, lib, D: lib.QPolynomial.infty_on_domain(q("a").get_domain_space()).add(q("a")),
    "neginfty": lambda q, lib, D: lib.QPolynomial.infty_on_domain(q("a").get_domain_space()).scale_val(-3),
    "nan": lambda q, lib, D: lib.QPolynomial.nan_on_domain(q("a").get_domain_space()).add(q("b")),
    "infty by one": lambda q, lib, D: lib.QPolynomial.infty_on_domain(q("a").get_domain_space()).mul(q("a")),
    "add_dims in": lambda q, lib, D: q("a").add_dims(D.in_, 1),
    "add_dims": lambda q, lib, D: q("d").add_dims(D.param, 1),
    "insert in": lambda q, lib, D: q("a").insert_dims(D.in_, 1, 1),
    "insert": lambda q, lib, D: q("d").insert_dims(D.param, 0, 1),
    "drop": lambda q, lib, D: q("b").drop_dims(D.in_, 1, 1),
    "drop used": lambda q, lib, D: q("b").drop_dims(D.in_, 0, 1),
    "drop param": lambda q, lib, D: q("d").drop_dims(D.param, 0, 1),
    "move": lambda q, lib, D: q("d").move_dims(D.param, 0, D.in_, 0, 1),
    "move back": lambda q, lib, D: q("a").move_dims(D.in_, 1, D.param, 0, 1),
    "set_dim_name": lambda q, lib, D: q("d").set_dim_name(D.in_, 0, "k"),
    "set_dim_name param": lambda q, lib, D: q("a").set_dim_name(D.param, 0, "m"),
    "align": lambda q, lib, D: q("a").align_params(lib.Set("[z, n] -> { [i] }").space),
    "project": lambda q, lib, D: q("h").project_domain_on_params(),
    "homogenize": lambda q, lib, D: q("a").homogenize(),
    "domain_reverse": lambda q, lib, D: q("e").domain_reverse(),
    "gist": lambda q, lib, D: q("b").gist(lib.Set("[n] -> { S[i, j] : i = n + 5 }")),
    "gist fixed": lambda q, lib, D: q("a").gist(lib.Set("[n] -> { S[i, j] : i = 5 }")),
    "gist_params": lambda q, lib, D: q("a").gist_params(lib.Set("[n] -> { : n = 5 }")),
    "from_aff": lambda q, lib, D: lib.QPolynomial.from_aff(lib.Aff("[n] -> { S[i] -> [(i + 2*floor((i + n)/2))] }")),
    "from_constraint": lambda q, lib, D: lib.QPolynomial.from_constraint(
        lib.Constraint.alloc_equality(lib.Set("{ [i, j] }").space).set_coefficient_val(D.set, 0, 2)
        .set_coefficient_val(D.set, 1, -3).set_constant_val(1), D.set, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_of_a_polynomial(name):
    theirs, ours = both(lambda lib, D: CALLS[name](lambda text: polynomial(lib, text), lib, D))
    assert isinstance(ours, own.QPolynomial)
    same_values(theirs, ours)


ASKED = {
    "dims": lambda q, lib, D: [q("d").dim(getattr(D, k)) for k in ("param", "in_", "out", "div", "all")],
    "const": lambda q, lib, D: [str(q(n).get_constant_val()) for n in Q],
    "sgn": lambda q, lib, D: [q(n).sgn() for n in Q],
    "isa_aff": lambda q, lib, D: [q(n).isa_aff() for n in Q],
    "is_zero": lambda q, lib, D: [q(n).is_zero() for n in Q] + [q("a").sub(q("a")).is_zero()],
    "involves": lambda q, lib, D: [q(n).involves_dims(getattr(D, k), 0, 1) for n in Q for k in ("param", "in_")],
    "dict": lambda q, lib, D: {n: (str(k), at) for n, (k, at) in q("a").get_var_dict().items()},
    "plain": lambda q, lib, D: [q(n).plain_is_equal(q(m)) for n in Q for m in Q if "e" not in (n, m)],
    "sums": lambda q, lib, D: q("a").plain_is_equal(q("b").add(q("a")).sub(q("b"))),
    "list": lambda q, lib, D: q("a").to_list().n_qpolynomial(),
    "endless": lambda q, lib, D: [
        (f.is_infty(), f.is_neginfty(), f.is_nan(), f.sgn(), f.isa_aff())
        for make in ("infty_on_domain", "neginfty_on_domain", "nan_on_domain")
        for f in [getattr(lib.QPolynomial, make)(q("a").get_domain_space())]
    ],
    "terms": lambda q, lib, D: sorted(
        (str(t.get_coefficient_val()), [t.get_exp(D.set, k) for k in range(2)], t.get_exp(D.param, 0),
         sorted(t.get_exp(D.div, k) for k in range(t.dim(D.div))),
         [t.dim(k) for k in (D.set, D.param, D.div, D.all)])
        for n in "abdhc" for kept in [q(n)] for t in kept.get_terms()),
    "eval": lambda q, lib, D: [
        str(q(text).eval(lib.Set("{ [5, -3] }").sample_point())) for text in ("{ [i, j] -> 1/2 * i^2 + floor(j/2) }",)],
    "divs": lambda q, lib, D: sorted(
        [str(v.get_coefficient_val(D.in_, k)) for k in range(2)] + [str(v.get_denominator_val())]
        for kept in [q("d")] for t in kept.get_terms()[:1] for at in range(t.dim(D.div)) for v in [t.get_div(at)]),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_of_a_polynomial(name):
    theirs, ours = both(lambda lib, D: ASKED[name](lambda text: polynomial(lib, text), lib, D))
    assert ours == theirs


F = {
    "f": "[n] -> { S[i, j] -> i^2 * n + j : 0 <= i <= n and 0 <= j < 4; S[i, j] -> i * j : i < 0 }",
    "g": "[n] -> { S[i, j] -> i^2 * n + j }",
    "w": "{ [A[i] -> B[j]] -> i^2 + j : 0 <= i <= 5 and 0 <= j <= i }",
    "z": "[n] -> { S[i, j] -> 0 : i > 0 }",
    "h": "[n] -> { S[i, j] -> n^2 : 0 <= i <= n }",
    "s": "[n] -> { S[i] -> n * floor(i/3) : 0 <= i <= 3 }",
    "t": "[n] -> { S[i] -> i * floor((i + n)/2) * floor(i/3) - floor(n/2) : -2 <= i <= 3 }",
}
PIECEWISE = {
    "f - f": lambda q, lib, D: q("f").sub(q("f")), "f - g": lambda q, lib, D: q("f") - q("g"),
    "mul": lambda q, lib, D: q("f").mul(q("g")), "pow": lambda q, lib, D: q("f").pow(2),
    "scale_val": lambda q, lib, D: q("f").scale_val(lib.Val("1/2")),
    "scale_down_val": lambda q, lib, D: q("f").scale_down_val(lib.Val(-4)),
    "scale 0": lambda q, lib, D: q("f").scale_val(0),
    "zero": lambda q, lib, D: lib.PwQPolynomial.zero(q("f").get_space()),
    "alloc": lambda q, lib, D: lib.PwQPolynomial.alloc(
        lib.Set("[n] -> { S[a, b] : a > n }"), polynomial(lib, "[n] -> { S[i, j] -> i^2 }")),
    "from_qpolynomial": lambda q, lib, D: lib.PwQPolynomial.from_qpolynomial(polynomial(lib, "[n] -> { S[i] -> n }")),
    "from_pw_aff": lambda q, lib, D: lib.PwQPolynomial.from_pw_aff(lib.PwAff("[n] -> { S[i] -> [i // 2] : i > n }")),
    "add_dims": lambda q, lib, D: q("f").add_dims(D.in_, 1),
    "add param": lambda q, lib, D: q("s").add_dims(D.param, 1),
    "insert": lambda q, lib, D: q("s").insert_dims(D.in_, 0, 1),
    "insert p": lambda q, lib, D: q("s").insert_dims(D.param, 0, 1),
    "drop": lambda q, lib, D: q("h").drop_dims(D.in_, 1, 1),
    "drop 0": lambda q, lib, D: q("f").drop_dims(D.in_, 1, 1),
    "drop param": lambda q, lib, D: q("f").drop_dims(D.param, 0, 1),
    "unused": lambda q, lib, D: q("[n] -> { [i] -> i : i > 0 }").drop_unused_params(),
    "used": lambda q, lib, D: q("f").drop_unused_params(),
    "move": lambda q, lib, D: q("f").move_dims(D.param, 0, D.in_, 0, 1),
    "move back": lambda q, lib, D: q("f").move_dims(D.in_, 1, D.param, 0, 1),
    "name": lambda q, lib, D: q("f").set_dim_name(D.in_, 0, "k"),
    "param": lambda q, lib, D: q("f").set_dim_name(D.param, 0, "m"),
    "fix": lambda q, lib, D: q("f").fix_val(D.in_, 1, 2),
    "fix set": lambda q, lib, D: q("f").fix_val(D.set, 0, lib.Val(1)),
    "fix param": lambda q, lib, D: q("f").fix_val(D.param, 0, 2),
    "first": lambda q, lib, D: q("w").intersect_domain_wrapped_domain(lib.Set("{ A[i] : i > 2 }")),
    "second": lambda q, lib, D: q("w").intersect_domain_wrapped_range(lib.Set("{ B[i] : i > 2 }")),
    "intersect_params": lambda q, lib, D: q("f").intersect_params(lib.Set("[n] -> { : n > 3 }")),
    "intersect": lambda q, lib, D: q("f").intersect_domain(lib.Set("[n] -> { S[a, b] : a > 1 or b < n }")),
    "subtract": lambda q, lib, D: q("f").subtract_domain(lib.Set("[n] -> { S[a, b] : a > 1 }")),
    "project": lambda q, lib, D: q("h").project_domain_on_params(),
    "reset": lambda q, lib, D: q("f").reset_domain_space(lib.Set("[n] -> { T[a, b] }").space),
    "reverse": lambda q, lib, D: q("w").domain_reverse(),
    "copy": lambda q, lib, D: q("f").copy().reset_user().coalesce(),
    "split_dims": lambda q, lib, D: q("t").split_dims(D.set, 0, 1),
    "split_periods": lambda q, lib, D: q("s").split_periods(2), "periods": lambda q, lib, D: q("t").split_periods(3),
    "to_polynomial": lambda q, lib, D: q("s").to_polynomial(0),
    "as": lambda q, lib, D: q("g").as_qpolynomial(), "as 0": lambda q, lib, D: q("z").as_qpolynomial(),
    "union": lambda q, lib, D: q("f").to_union_pw_qpolynomial().extract_pw_qpolynomial(q("f").get_space()),
    "extract": lambda q, lib, D: lib.UnionPwQPolynomial(F["s"]).extract_pw_qpolynomial(q("f").get_space()),
}  # fmt: skip


@pytest.mark.parametrize("name", PIECEWISE)
def test_of_polynomials_by_pieces(name):
    theirs, ours = both(lambda lib, D: PIECEWISE[name](lambda text: lib.PwQPolynomial(F.get(text, text)), lib, D))
    same_values(theirs, ours)


@pytest.mark.parametrize("sign", [-1, 0, 1])
@pytest.mark.parametrize("name", ["s", "t"])
def test_polynomials_near_those_with_floors(name, sign):
    f = own.PwQPolynomial(F[name])
    near = f.to_polynomial(sign)
    assert "floor" not in str(near)
    for n, i in product(range(-4, 5), range(-3, 5)):
        off = near(n=n, i=i) - f(n=n, i=i)
        assert off * sign >= 0 and abs(off) <= 20


ASKED_OF_PIECES = {
    "isa": lambda q, lib, D: [q(n).isa_qpolynomial() for n in F],
    "n_piece": lambda q, lib, D: [q(n).n_piece() for n in "fgwz"],
    "is_zero": lambda q, lib, D: [q(n).is_zero() for n in F],
    "find": lambda q, lib, D: [q("f").find_dim_by_name(k, n) for k in (D.param, D.in_) for n in "ijkn"],
    "has_equal_space": lambda q, lib, D: [q(n).has_equal_space(q(m)) for n in F for m in F],
    "involves": lambda q, lib, D: [q(n).involves_dims(D.in_, 0, 1) for n in F] + [
        q(text).involves_dims(D.in_, 1, 1) for text in ("{ [i, j] -> i : i > 0 }", "{ [i, j] -> i : j > 0 }")],
    "params": lambda q, lib, D: [q(n).involves_dims(D.param, 0, 1) for n in "fghst"],
    "nan": lambda q, lib, D: [q(n).involves_nan() for n in F],
    "dict": lambda q, lib, D: [sorted((n, at) for n, (_, at) in q(k).get_var_dict().items()) for k in F],
    "eval": lambda q, lib, D: [str(q("w").eval(lib.Set(f"{{ [A[{i}] -> B[{j}]] }}").sample_point()))
                               for i in range(-1, 4) for j in range(-1, 4)],
    "domain": lambda q, lib, D: [q(n).domain().is_equal(lib.Set(str(q(n).domain()))) for n in F],
    "list": lambda q, lib, D: q("f").to_list().n_pw_qpolynomial(),
    "union": lambda q, lib, D: [
        (u.n_pw_qpolynomial(), u.get_pw_qpolynomial_list().n_pw_qpolynomial(), u.find_dim_by_name(D.param, "n"),
         u.every_pw_qpolynomial(lambda f: f.n_piece() == 1), u.dim(D.param), u.get_var_names(D.param))
        for u in [lib.UnionPwQPolynomial("[n] -> { S[i] -> i * n : i > 0; T[j] -> j^2 : j < n; S[i] -> 5 : i < 0 }")]],
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED_OF_PIECES)
def test_what_is_asked_of_polynomials_by_pieces(name):
    theirs, ours = both(lambda lib, D: ASKED_OF_PIECES[name](lambda text: lib.PwQPolynomial(F.get(text, text)), lib, D))
    assert ours == theirs


U = "[n] -> { S[i] -> i * n : i > 0; T[i] -> i^2 : i < n; S[i] -> 5 : i < 0; [A[i] -> B[j]] -> i + j : i < n }"
UNIONS = {
    "add": lambda u, lib, D: u.add(u),
    "sub": lambda u, lib, D: u.sub(lib.UnionPwQPolynomial("{ S[i] -> 2; V[i] -> 1 }")),
    "mul": lambda u, lib, D: u.mul(lib.UnionPwQPolynomial("{ S[i] -> 2 * i }")), "neg": lambda u, lib, D: u.neg(),
    "separate": lambda u, lib, D: u.add_pw_qpolynomial(lib.PwQPolynomial("{ V[i] -> i }")),
    "align": lambda u, lib, D: u.align_params(lib.Set("[z] -> { : }").space),
    "gist": lambda u, lib, D: u.intersect_domain(lib.UnionSet("{ S[i] : i > 2 }")).gist(
        lib.UnionSet("{ S[i] : i > 2 }")),
    "domain": lambda u, lib, D: u.intersect_domain(lib.UnionSet("[n] -> { S[i] : i > n; T[i] : i = 1 }")),
    "domain_union_set": lambda u, lib, D: u.intersect_domain_union_set(lib.UnionSet("[n] -> { S[i] : i > n }")),
    "subtract": lambda u, lib, D: u.subtract_domain(lib.UnionSet("[n] -> { S[i] : i > n }")),
    "space": lambda u, lib, D: u.intersect_domain_space(lib.Set("{ S[i] }").space),
    "not space": lambda u, lib, D: u.subtract_domain_space(lib.Set("{ S[i] }").space),
    "params": lambda u, lib, D: u.intersect_params(lib.Set("[n] -> { : n > 3 }")),
    "first": lambda u, lib, D: u.intersect_domain_wrapped_domain(lib.UnionSet("{ A[i] : i > 2 }")),
    "second": lambda u, lib, D: u.intersect_domain_wrapped_range(lib.UnionSet("{ B[i] : i > 2; C[i] }")),
    "reverse": lambda u, lib, D: u.domain_reverse(), "name": lambda u, lib, D: u.set_dim_name(D.param, 0, "m"),
    "drop": lambda u, lib, D: u.drop_dims(D.param, 0, 1), "unused": lambda u, lib, D: u.drop_unused_params(),
    "zero": lambda u, lib, D: lib.UnionPwQPolynomial.zero(lib.Set("[n] -> { : }").space),
    "zero_space": lambda u, lib, D: lib.UnionPwQPolynomial.zero_space(lib.Set("[n] -> { : }").space),
    "zero_ctx": lambda u, lib, D: lib.UnionPwQPolynomial.zero_ctx(lib.DEFAULT_CONTEXT),
    "scale": lambda u, lib, D: u.scale_val(3).scale_down_val(2), "coalesce": lambda u, lib, D: u.copy().coalesce(),
    "from": lambda u, lib, D: lib.UnionPwQPolynomial.from_pw_qpolynomial(
        lib.PwQPolynomial("[n] -> { S[i] -> i : i < n }")),
}  # fmt: skip


@pytest.mark.parametrize("name", UNIONS)
def test_of_polynomials_of_several_tuples(name):
    theirs, ours = both(lambda lib, D: UNIONS[name](lib.UnionPwQPolynomial(U), lib, D))
    assert ours.get_var_names(own.dim_type.param) == theirs.get_var_names(isl.dim_type.param)
    for text in ("S[i]", "T[i]", "V[i]", "[A[i] -> B[j]]", "[B[i] -> A[j]]"):
        params = f"[{', '.join(ours.param_names)}] -> " if ours.param_names else ""
        one = isl.PwQPolynomial(f"{params}{{ {text} -> 1 }}")
        part = theirs.extract_pw_qpolynomial(one.get_space())
        mine = ours.extract_pw_qpolynomial(own.Set(f"{{ {text} }}").space)
        assert (part.n_piece() == 0) == (not mine.pieces)
        same_values(part, mine)


GISTS = [  # the tables `pwqp_gist_tests` of isl's own tests and others: the function, the context, and the gist
    ("{ [i] -> i }", "{ [k] : exists a : k = 2a }", "{ [i] -> i }"),
    ("{ [i] -> i + [ (i + [i/3])/2 ] }", "{ [10] }", "{ [i] -> 16 }"),
    ("{ [i] -> ([(i)/2]) }", "{ [k] : exists a : k = 2a+1 }", "{ [i] -> -1/2 + 1/2 * i }"),
    ("{ [i] -> i^2 : i != 0 }", "{ [i] : i != 0 }", "{ [i] -> i^2 }"),
    ("{ [i] -> i^2 : i > 0; [i] -> i^2 : i < 0 }", "{ [i] : i != 0 }", "{ [i] -> i^2 }"),
    ("{ [i] -> ([(i)/2])*[i/3] }", "{ [k] : exists a : k = 6a+1 }", "{ [i] -> (1/6 - 1/3 * i + 1/6 * i^2) }"),
    ("{ [i] -> ([(i)/4]) }", "{ [k] : exists a : k = 2a+1 }", "{ [i] -> floor((i)/4) }"),
    ("{ [i] -> ([(i)/4]) }", "{ [k] : 0 <= k < 4 }", "{ [i] -> 0 }"),
    (
        "[n] -> { [i, j] -> i*j+n }",
        "[n] -> { [i, j] : i = 2j+n }",
        "[n] -> { [i, j] -> (n + -1/2 * n * i + 1/2 * i^2) }",
    ),
    ("[n] -> { [i, j] -> i*j+n }", "[n] -> { [i, j] : i = 5 and 2j = n }", "[n] -> { [i, j] -> 7/2 * n }"),
]


@pytest.mark.parametrize(("text", "context", "gist"), GISTS)
def test_gists_are_as_simple_as_isls(text, context, gist):
    found = own.PwQPolynomial(text).gist(own.Set(context))
    assert found.sub(own.PwQPolynomial(gist)).is_zero()
    theirs = isl.PwQPolynomial(text).gist(isl.Set(context))
    assert theirs.sub(isl.PwQPolynomial(gist)).is_zero() or str(theirs) == gist


ZEROS = [  # of isl's own tests: two functions that are the same
    ("{ [i] -> ([([i/2] + [i/2])/5]) }", "{ [i] -> ([(2 * [i/2])/5]) }"),
    ("{ [x] -> ([x/2] + [(x+1)/2]) }", "{ [x] -> x }"),
    ("{ [i] -> ([i/2]) : i >= 0; [i] -> ([i/3]) : i < 0 }", "{ [i] -> ([i/2]) : i >= 0; [i] -> ([i/3]) : i < 0 }"),
]


@pytest.mark.parametrize(("one", "other"), ZEROS)
def test_functions_of_isls_own_tests_that_are_the_same(one, other):
    assert own.PwQPolynomial(one).coalesce().sub(own.PwQPolynomial(other)).is_zero()
    assert not own.PwQPolynomial(one).coalesce().sub(own.PwQPolynomial(other) + 1).is_zero()


def test_dimensions_that_move_and_are_fixed_in_isls_own_tests():
    f = own.PwQPolynomial("{ [i, j, k] -> 1 + 9 * [i/5] + 7 * [j/11] + 4 * [k/13] }")
    moved = f.move_dims(own.dim_type.param, 0, own.dim_type.in_, 1, 1)
    assert moved.sub(own.PwQPolynomial("[j] -> { [i, k] -> 1 + 9 * [i/5] + 7 * [j/11] + 4 * [k/13] }")).is_zero()
    f = own.PwQPolynomial("{ [a, b, c] -> (([(2*[a/3]+b)/5]) * ([(2*[c/3]+b)/5])) }")
    fixed = own.PwQPolynomial("{ [a, b, c] -> (([(2*[a/3]+1)/5]) * ([(2*[c/3]+1)/5])) : b = 1 }")
    assert f.fix_val(own.dim_type.set, 1, own.Val.one()).sub(fixed).is_zero()
    text = "{ [U,V] -> 1/3 * U + 2/3 * V - [(U + 2V)/3] + [U/2] : U + 2V + 3 >= 0 and - U -2V  >= 0"
    f = own.PwQPolynomial(text + " and - U + 10 >= 0 and U  >= 0; [U,V] -> U^2 : U >= 100 }")
    split = f.split_periods(2)
    assert split.n_piece() > f.n_piece()
    for u, v in product(range(-1, 12), range(-8, 3)):
        assert split.eval((u, v)) == f.eval((u, v))


def test_lifted_pieces_and_polynomials_on_domains():
    seen = []
    f = own.PwQPolynomial("[n] -> { S[i] -> n * floor(i/3) : 0 <= i <= 13 and exists a : i = 2a; S[i] -> i : i > 20 }")
    f.foreach_lifted_piece(lambda s, q: seen.append((s, q)))
    assert [s.space.out.name for s, _ in seen].count("lifted") <= 1 and len(seen) == 2
    for s, q in seen:
        assert s.space.key == q.home.key
    assert sum(s.count(n=1) for s, _ in seen if s.is_bounded()) == 7
    domain = own.Set("[n] -> { S[i, q0] : 0 <= i <= 5 and 0 <= q0 <= 3 }")
    polynomial(own, "[n] -> { S[i, q0] -> i * floor((i + q0)/3) + floor(q0/2)^2 }").as_polynomial_on_domain(
        domain, lambda s, q: seen.append((s, q)))  # fmt: skip
    where, plain = seen[-1]
    assert where.dim(own.dim_type.set) == 4 and plain.dim(own.dim_type.div) == 0 and where.count(n=0) == 24
    for p in where.points(n=0):
        assert plain.evaluate(dict(zip(where.dims(), p))) == p[0] * ((p[0] + p[1]) // 3) + (p[1] // 2) ** 2


WRONG = [
    lambda q: q("a").add(q("e")), lambda q: q("a").pow(-1), lambda q: q("a").scale_down_val(0),
    lambda q: q("a").as_aff(),
    lambda q: q("b").project_domain_on_params(), lambda q: q("a").domain_reverse(),
    lambda q: q("a").gist(own.Set("{ T[i] }")), lambda q: q("a").add_dims(own.dim_type.set, 1),
    lambda q: q("d").get_terms()[0].get_div(9), lambda q: q("a").involves_dims(own.dim_type.set, 0, 1),
    lambda q: own.QPolynomial.var_on_domain(q("a").get_domain_space(), own.dim_type.set, 5),
    lambda q: own.QPolynomial.zero_on_domain("{ [i] }"), lambda q: own.QPolynomial.from_term(3),
    lambda q: own.PwQPolynomial.alloc(own.Set("{ T[i] }"), q("a")), lambda q: own.PwQPolynomial.alloc(5, q("a")),
    lambda q: own.PwQPolynomial(F["f"]).as_qpolynomial(), lambda q: own.PwQPolynomial.from_qpolynomial(F["f"]),
    lambda q: own.PwQPolynomial(F["f"]).intersect_domain(own.Set("{ T[i] }")), lambda q: own.PwQPolynomial.zero(3),
    lambda q: own.PwQPolynomial(F["w"]).intersect_domain_wrapped_range(own.Set("{ A[i] }")),
    lambda q: own.PwQPolynomial(F["f"]).intersect_domain_wrapped_range(own.Set("{ A[i] }")),
    lambda q: own.PwQPolynomial(F["f"]).project_domain_on_params(), lambda q: own.PwQPolynomial(F["f"]).from_range(),
    lambda q: own.PwQPolynomial(F["f"]).reset_domain_space(own.Set("[n] -> { T[a] }").space),
    lambda q: own.PwQPolynomial(F["w"]).eval(own.Set("{ T[3] }").sample_point()),
    lambda q: own.PwQPolynomial(F["w"]).eval((1,)),
    lambda q: own.PwQPolynomial(F["f"]).eval((1, 2)), lambda q: own.PwQPolynomial(F["s"]).split_periods("x"),
]  # fmt: skip


@pytest.mark.parametrize("call", WRONG)
def test_what_is_wrong_is_refused(call):
    with pytest.raises(PolyvoltaError):
        call(lambda name: polynomial(own, name))


def test_the_space_of_a_union_is_that_of_the_parameters():
    text = "[n] -> { A[i] -> i : 0 <= i < n; B[] -> n }"
    for module in (own, isl):
        space = module.UnionPwQPolynomial(text).get_space()
        assert space.is_params() and space.dim(module.dim_type.param) == 1
    assert own.UnionPwQPolynomial("{ }").get_space().is_params()


def test_a_union_of_one_tuple_is_one():
    """What its methods give, too, but for what is in one space."""
    text = "[n] -> { A[i] -> i : 0 <= i < n }"
    for module in (own, isl):
        u, f, D = module.UnionPwQPolynomial(text), module.PwQPolynomial(text), module.dim_type
        context = module.UnionSet("{ A[i] : i > 2 }")
        for found in (
            u,
            u.add(u),
            u.sub(u),
            u.neg(),
            u.mul(u),
            u.scale_val(module.Val(2)),
            f.to_union_pw_qpolynomial(),
            u.intersect_domain(context),
            u.gist(context),
            module.UnionPwQPolynomial.from_pw_qpolynomial(f),
        ):
            assert isinstance(found, module.UnionPwQPolynomial) and found.get_space().is_params()
            assert found.get_space().dim(D.out) == 0 and found.get_space().dim(D.param) == 1
        one = u.get_pw_qpolynomial_list().get_at(0)
        for found in (one, u.extract_pw_qpolynomial(f.get_space())):
            assert not isinstance(found, module.UnionPwQPolynomial) and found.get_space().dim(D.in_) == 1
    u = own.UnionPwQPolynomial(text)
    assert pickle.loads(pickle.dumps(u)) == u == own.PwQPolynomial(text) and u.has_equal_space(u + u)
    with pytest.raises(PolyvoltaError, match="a UnionPwQPolynomial is needed"):
        u.has_equal_space(3)


def test_values_are_reckoned_with_in_plain_integers(monkeypatch):
    """A point's coordinates are numbers with isl's methods, with which every sum takes ten times as long."""
    seen = []
    evaluate = quasipoly.QPolynomial.evaluate
    monkeypatch.setattr(
        quasipoly.QPolynomial, "evaluate", lambda q, values: seen.append(dict(values)) or evaluate(q, values)
    )
    f = own.PwQPolynomial("[n] -> { [i, j] -> i*j + n*floor(i/2) - 1/3*j^2 : 0 <= i < n }")
    point = own.Set("[n] -> { [i, j] : n = 10 and i = 7 and j = 2 }").sample_point()
    assert str(f.eval(point)) == "128/3"
    assert seen == [{"n": 10, "i": 7, "j": 2}]
    assert {type(v) for v in seen[0].values()} == {int}


@pytest.mark.parametrize("value", ["1/2", "-7/3", "2"])
@pytest.mark.parametrize("text", ["{ [x] -> x^2 - 1/3 * x }", "{ [x] -> 5/2 }"])
def test_points_with_fractions_have_the_value_of_a_polynomial_everywhere(text, value):
    """Of one with a domain, which holds integer points, it is refused."""
    found = []
    for lib in (own, isl):
        f = lib.PwQPolynomial(text)
        point = lib.Point.zero(f.get_domain_space()).set_coordinate_val(lib.dim_type.set, 0, lib.Val(value))
        found.append((str(f.eval(point)), str(f.get_pieces()[0][1].eval(point))))
    assert found[0] == found[1]
    assert str(own.PwQPolynomialFold("{ [x] -> max(x, x^2) }").eval(point_at(value))) == str(
        max(Fraction(value), Fraction(value) ** 2)
    )
    if "/" in value:
        with pytest.raises(PolyvoltaError, match="an integer point is needed"):
            own.PwQPolynomial("{ [x] -> x^2 : x >= 1 }").eval(point_at(value))


def point_at(value):
    return own.Point.zero(own.Set("{ [x] }").space).set_coordinate_val(own.dim_type.set, 0, own.Val(value))
