"""Sets of rational points by example: isl's own tests, isl itself where it is right, text, errors."""

import copy
import pickle
import subprocess
import sys
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta import sched
from polyvolta.sets import (
    BudgetExceeded,
    EmptySet,
    Map,
    NotSupported,
    PolyvoltaError,
    PwAff,
    RationalSet,
    Set,
    SetSyntaxError,
    SpaceMismatch,
    Unbounded,
    UnknownName,
    budget,
    dim_type,
)
from tests.sets.brute import examples

HALF = Fraction(1, 2)


# ---- what is printed


@pytest.mark.parametrize("text", [
    "{ rat: A[i] : false; rat: C[i] : i >= 0 and 2*i <= 3 }",
    "{ rat: A[i] : false; rat: C[i] : false }",
    "[N] -> { rat: [] : false; rat: C[i] : 2*i = N }",
])  # fmt: skip
def test_a_space_without_points_is_printed_beside_others(text):
    assert str(RationalSet(text)) == text and len(RationalSet(text).parts) == 2


# ---- what isl's own tests say


def test_isl_coalesces_overlapping_intervals():
    assert str(Set("{ rat: [0:2]; rat: [1:3] }").coalesce()) == "{ rat: [i0] : 0 <= i0 <= 3 }"


@pytest.mark.parametrize(("text", "least"), [
    ("{ rat: [i] : 1 <= 2i <= 9 }", "{ rat: [i] : 2i = 1 }"),
    ("{ rat: [i] : 1 <= 2i <= 9 or i >= 10 }", "{ rat: [i] : 2i = 1 }"),
    ("{ rat: [i] : 21 <= 2i <= 29 or i = 5 }", "{ rat: [5] }"),
])  # fmt: skip
def test_isl_least_points(text, least):
    assert Set(text).lexmin() == Set(least)


@pytest.mark.parametrize(("some", "more", "answer"), [
    ("{ [i] : 0 <= i <= 10 }", "{ rat: [i] : 0 <= i <= 10 }", True),
    ("{ rat: [i] : 0 <= i <= 10 }", "{ [i] : 0 <= i <= 10 }", False),
    ("{ rat: [0] }", "{ [i] : 0 <= i <= 10 }", True),
    ("{ rat: [(1)/2] }", "{ [i] : 0 <= i <= 10 }", False),
])  # fmt: skip
def test_isl_compares_rational_with_integer_points(some, more, answer):
    assert Set(some).is_subset(Set(more)) is answer is (Set(more) >= Set(some))


@pytest.mark.parametrize(("text", "dual"), [
    ("{ rat: [i] : 0 <= i <= 10 }", "{ rat: coefficients[[cst] -> [a]] : cst >= 0 and 10a + cst >= 0 }"),
    ("{ rat: [i] : FALSE }", "{ rat: coefficients[[cst] -> [a]] }"),
    ("{ rat: [i] : }", "{ rat: coefficients[[cst] -> [0]] : cst >= 0 }"),
    ("{ [0:,1,2:3] }", "{ rat: coefficients[[c_cst] -> [a, b, c]] : a >= 0 and 2c >= -c_cst - b and "
     "3c >= -c_cst - b }"),
    ("[M, N] -> { [x = (1 - N):-1, -4x:(M - 4x)] }", "{ rat: coefficients[[c_cst, c_M = 0:, c_N = 0:] -> "
     "[a, b = -c_M:]] : 4b >= -c_N + a and 4b >= -c_cst - 2c_N + a }"),
    ("{ rat : [x, y] : 1 <= 2x <= 9 and 2 <= 3y <= 16 }", "{ rat: coefficients[[c_cst] -> [c_x, c_y]] : "
     "4c_y >= -6c_cst - 3c_x and 4c_y >= -6c_cst - 27c_x and 32c_y >= -6c_cst - 3c_x and 32c_y >= -6c_cst - 27c_x }"),
    ("{ [x, y, z] : 3y <= 2x - 2 and y >= -2 + 2x and 2y >= 2 - x }", "{ rat: coefficients[[cst] -> [a, b, c]] }"),
])  # fmt: skip
def test_isl_coefficients(text, dual):
    found = Set(text).coefficients()
    assert found.is_equal(Set(dual)) and found == Set(dual) == Set.coefficients(Set(text))


@pytest.mark.parametrize(("dual", "points"), [
    ("{ rat: coefficients[[cst] -> [a]] : cst >= 0 and 10a + cst >= 0 }", "{ rat: [i] : 0 <= i <= 10 }"),
    ("{ rat: coefficients[[cst] -> [a]] : FALSE }", "{ rat: [i] }"),
    ("{ rat: coefficients[[cst] -> [a]] }", "{ rat: [i] : FALSE }"),
    ("{ rat: coefficients[[c_cst, c_N] -> S[c_i]] : c_cst = 0 and c_N = c_i }", "[N] -> { rat: S[-N] }"),
])  # fmt: skip
def test_isl_solutions(dual, points):
    assert Set(dual).solutions() == Set(points)


def test_points_inside_a_set_of_integer_points():
    corners = Set("{ rat: A[0, 1]; rat: B[2] }")
    assert corners <= Set("[N] -> { A[i, j] : 0 <= i < j; B[i] }") and not corners <= Set("{ A[i, j] : 0 <= i < j }")
    assert corners <= Set("{ A[0, 1]; B[2]; C[] }") and not corners.is_equal(Set("{ A[0, 1]; B[2]; C[] }"))
    assert corners.is_equal(Set("{ A[0, 1]; B[2] }")) and Set("{ A[0, 1]; B[2] }").is_equal(corners)
    assert Set("{ rat: [i, j] : i = j = 3 }") <= Set("{ [3, i] }") and not Set("{ rat: [i, i] }") <= Set("{ [i, j] }")
    assert not Set("[N] -> { rat: [0] : N > 0 }") <= Set("{ [0] }") and not Set("{ rat: [0] }") <= Set("[N] -> { [N] }")
    assert Set("{ rat: [i] : 3 < i < 3 }") <= Set("{ [7] }")


# ---- beside isl, where it is right: closed sets


def closed(random, dims, params, n):
    """A text of closed rational polyhedra in a box."""
    names = [*params, *dims]
    pieces = []
    for _ in range(n):
        rows = [f"-3 <= {x} <= 3" for x in names]
        for _ in range(random.randint(1, 3)):
            terms = " + ".join(f"{random.randint(-3, 3)}{x}" for x in names)
            rows.append(f"{terms} + {random.randint(-4, 4)} {random.choice(['<=', '>=', '>=', '='])} 0")
        pieces.append(f"rat: S[{', '.join(dims)}] : {' and '.join(rows)}")
    head = f"[{', '.join(params)}] -> " if params else ""
    return f"{head}{{ {'; '.join(pieces)} }}"


@given(st.integers(0, 2**32))
@examples(300)
def test_isl_says_the_same_of_closed_sets(seed):
    isl = pytest.importorskip("islpy")
    random = Random(seed)
    dims, params = random.choice([("ij", ""), ("ij", "N"), ("ijk", ""), ("i", "NM")])
    one, other = (closed(random, dims, params, random.randint(1, 2)) for _ in range(2))
    a, b, x, y = Set(one), Set(other), isl.Set(one), isl.Set(other)
    read = lambda s: RationalSet("{ rat: S[" + ",".join(dims) + "] : false }" if s.is_empty() else str(s))  # noqa: E731
    assert a.is_equal(read(x)) and b.is_equal(read(y))
    assert (a & b).is_equal(read(x.intersect(y))) and (a | b).is_equal(read(x.union(y)))
    last = len(dims) - 1
    assert a.project_out(last).rename("S").is_equal(read(x.project_out(isl.dim_type.set, last, 1).set_tuple_name("S")))
    assert a.is_empty() is x.is_empty() and a.is_disjoint(b) is (a & b).is_empty()
    if not params and len(a.pieces) == 1:  # isl takes parameters for integers here, and values that it compares
        assert a.lexmin().is_equal(read(x.lexmin())) and a.lexmax().is_equal(read(x.lexmax()))
    if len(a.pieces) == len(x.get_basic_sets()) == 1:
        dual = x.get_basic_sets()[0].coefficients()
        assert a.coefficients().is_equal(RationalSet(str(dual)))
        assert a.coefficients().solutions().is_equal(RationalSet(str(dual.solutions())))


# ---- text


@pytest.mark.parametrize("text", [
    "{ rat: [i] : i >= 0 and 2*i <= 9 }", "{ rat: [i] : 0 < i < 1 }", "{ rat: [3] }", "{ rat: : }", "{ rat: S[] }",
    "[N] -> { rat: : 2*N = 1 }", "[N] -> { rat: S[N + 1, j] : j != 0 }", "{ rat: [[i] -> B[j]] : i <= j }",
    "{ rat: A[i] : i > 0; rat: B[j] : 3*j = 1 }", "{ rat: [i] : false }", "{ }", "[N] -> { rat: [i] : N < 3*i <= 2*N }",
    "[N] -> { rat: A[i]; rat: : N > 0 }",
    "{ rat: [i, j] : i >= 0 and i + 2j > 0 and 2i + j > 0 and j >= 0 }", "{ rat: rat[rat] : rat = 1/3 }",
])  # fmt: skip
def test_what_is_printed_is_read_again(text):
    s = RationalSet(text)
    again = RationalSet(str(s))
    assert again == s and hash(again) == hash(s) and eval(repr(s), {"RationalSet": RationalSet}) == s
    assert pickle.loads(pickle.dumps(s)) == s == copy.deepcopy(s)
    assert "{" in s._repr_html_()


@pytest.mark.parametrize(("text", "printed"), [
    ("{ rat: [i] : 0 <= 2i <= 9 }", "{ rat: [i] : i >= 0 and 2*i <= 9 }"),
    ("{ rat: [i] : 4i <= 9 and 2i < 9 and i >= 0 and i >= -1 }", "{ rat: [i] : i >= 0 and 4*i <= 9 }"),
    ("{ rat: [i, j] : i <= j <= i and j < 3 and i >= 0 }", "{ rat: [i, j] : 0 <= i < 3 and j = i }"),
    ("{ rat: [i] : 0 <= i <= 0 }", "{ rat: [0] }"),
    ("{ rat: [i] : not (i <= 3/2) }", "{ rat: [i] : 2*i > 3 }"),
    ("{ rat: [i] : i != 1 }", "{ rat: [i] : i > 1; rat: [i] : i < 1 }"),
    ("{ rat: [i] : 0 < i and i >= 0 and 2i <= 6 and 6i < 18 }", "{ rat: [i] : 0 < i < 3 }"),
    ("{ rat: [i] : exists e : 0 < e < 1/3 and i = 2e }", "{ rat: [i] : i > 0 and 3*i < 2 }"),
    ("{ rat: [i] : not exists e : 0 < e < i }", "{ rat: [i] : i <= 0 }"),
    ("{ rat: [i, j] : [i, 2] << [2, j] }", "{ rat: [i, j] : i < 2; rat: [2, j] : j > 2 }"),
    ("{ rat: [i] : i = floor(7/2) + 7 mod 4 }", "{ rat: [6] }"),
    ("{ rat: [i, j] : j = (i > 1/2 ? i : 3) }", "{ rat: [i, j] : 2*i > 1 and j = i; rat: [i, 3] : 2*i <= 1 }"),
    ("[N = 3/2] -> { rat: [N] }", "[N] -> { rat: [N'] : 2*N = 3 and 2*N' = 3 }"),
])  # fmt: skip
def test_texts_mean_rational_points(text, printed):
    assert str(Set(text)) == printed


def test_cases_are_of_rational_points():
    s = Set("{ rat: [i, j] : j = max(i, 1 - i) }")
    assert (Fraction(1, 4), Fraction(3, 4)) in s and (Fraction(3, 4),) * 2 in s and (HALF, HALF) in s
    assert (Fraction(1, 4), Fraction(1, 4)) not in s and s.is_equal(Set("{ rat: [i, abs(i - 1/2) + 1/2] }"))


@pytest.mark.parametrize(("text", "said", "column"), [
    ("{ rat: [i]; [j] }", "expected 'rat:', found '['", 12),
    ("{ [i]; rat: [j] }", "expected 'rat:', found '['", 2),
    ("{ rat: [i] -> [j] }", "this is a map, not a set", 11),
    ("{ rat: [i] : i mod 2 = 0 }", "a remainder of rational points", 15),
    ("{ rat: [i] : i = floor(i/2) }", "a floor of rational points", 26),
    ("{ rat: [i] : i // 2 = 1 }", "a floor of rational points", 20),
    ("{ rat: }", "expected a tuple such as 'S[i, j]', or ':', found '}'", 7),
    ("{ rat: [i]; rat: ; }", "expected a tuple such as 'S[i, j]', or ':', found ';'", 17),
])  # fmt: skip
def test_texts_that_say_something_else(text, said, column):
    with pytest.raises(SetSyntaxError) as refused:
        Set(text)
    assert (refused.value.message, refused.value.at) == (said, column)


def test_a_text_of_integer_points_is_none_of_rational_ones():
    with pytest.raises(SetSyntaxError, match="expected 'rat:'"):
        RationalSet("{ [i] : i > 0 }")
    assert type(Set("[rat] -> { [1 : rat > 3; rat : rat <= 3] }")) is Set and type(Set("{ rat[i] }")) is Set
    assert type(Set("{ rat: [i] }")) is RationalSet is type(Set("# what\n{ # is\n rat # here\n : [i] }"))


# ---- operations by example


def test_the_complement_of_a_closed_set_is_open():
    s = Set("{ rat: [i] : 0 <= 2i <= 9 }")
    assert str(~s) == "{ rat: [i] : i < 0; rat: [i] : 2*i > 9 }" and ~~s == s
    assert s.is_rational() and not Set("{ [i] }").is_rational()
    assert s.lexmin() == Set("{ rat: [0] }") and s.sample_point() in s
    assert (s - Set("{ rat: [2] }")).coalesce().is_equal(s - Set("{ rat: [2] }"))


def test_a_least_value_that_is_not_attained():
    assert Set("{ rat: [i] : 0 < i < 1 }").lexmin().is_empty()
    assert Set("{ rat: [i, j] : 0 <= i <= 1 and i < j <= 2 }").lexmin().is_empty()
    assert Set("{ rat: [i, j] : 0 <= i <= 1 and i < j <= 2 }").lexmax() == Set("{ rat: [1, 2] }")
    halves = Set("[N] -> { rat: [i] : N <= i <= 1; rat: [i] : 0 < i <= 1 }").lexmin()
    assert halves.is_equal(Set("[N] -> { rat: [N] : N <= 0 }")) or halves.is_equal(
        Set("[N] -> { rat: [i] : i = N <= 0 }")
    )
    with pytest.raises(Unbounded, match="no lexicographically least point"):
        Set("{ rat: [i, j] : i = 1 and j <= 3 }").lexmin()


def test_rows_that_take_less_than_a_facet():
    corner = Set("{ rat: [i, j] : i, j >= 0 and i + j > 0 }")
    assert corner.is_equal(Set("{ rat: [i, j] : i, j >= 0 and i + 2j > 0 }")) and (0, 0) not in corner
    assert corner.is_equal(Set("{ rat: [i, j] : i, j >= 0 }") - Set("{ rat: [0, 0] }"))
    assert (corner | Set("{ rat: [0, 0] }")).coalesce() == Set("{ rat: [i, j] : i, j >= 0 }")
    assert len(Set("{ rat: [i, j] : i > 0 and j >= 0 and i + j > 0 }").pieces) == 1
    assert str(Set("{ rat: [i, j] : i > 0 and j >= 0 and i + j > 0 }")) == "{ rat: [i, j] : i > 0 and j >= 0 }"


def test_coalescing_joins_what_is_convex_and_nothing_else():
    assert len(Set("{ rat: [i, j] : 0 <= j <= i <= 9; rat: [i, j] : 0 <= i < j <= 9 }").coalesce().pieces) == 1
    assert len(Set("{ rat: [i] : 0 <= i < 1; rat: [i] : 1 < i <= 2 }").coalesce().pieces) == 2
    assert len(Set("{ rat: [i] : 0 <= i < 1; rat: [i] : 1 < i <= 2; rat: [1] }").coalesce().pieces) == 1
    assert len(Set("{ rat: A[0:2]; rat: B[1:3] }").coalesce().pieces) == 2


def test_names_and_parameters():
    s = RationalSet("[N] -> { rat: S[i, j] : 0 <= i <= j <= N }")
    assert s.contains((0, HALF), N=1) and not s.contains((0, HALF), N=Fraction(1, 3)) and s.fix(N=1).contains((0, HALF))
    assert s.sample_point(N=0) == (0, 0) and s.project_out("j") == RationalSet("[N] -> { rat: S[i] : 0 <= i <= N }")
    assert s.rename("T").space.out.name == "T" and s.rename_dims(i="k").dims() == ("k", "j")
    assert s.project_out_param("N").is_equal(RationalSet("{ rat: S[i, j] : 0 <= i <= j }"))
    assert (s & RationalSet("[M] -> { rat: S[i, j] : i = M }")).param_names == ("N", "M")
    assert s.fix({1: HALF}).is_equal(s & RationalSet("{ rat: S[i, 1/2] }"))
    line = RationalSet("{ rat: S[i, j] : j = 2i and 0 < i <= 1 }")
    turned = RationalSet("{ rat: S[j, i] : 0 < i <= 1 and j = 2i }")
    assert line.move_dims("i", to="params").move_dims("i", to="out") == turned
    both = s | RationalSet("{ rat: T[] }")
    assert both.tuple_names == ("S", "T") and both.only("T").is_equal(RationalSet("{ rat: T[] }"))
    assert both.fix(i=0).only("T") == both.only("T") and [p.tuple_names for p in both.pieces] == [("S",), ("T",)]


@pytest.mark.parametrize(("call", "error", "said"), [
    (lambda s: s | Set("{ [i] }"), SpaceMismatch, r"not a RationalSet and a Set(.|\n)*integer_points"),
    (lambda s: Set("{ [i] }") | s, SpaceMismatch, r"two Sets, not a Set and a RationalSet(.|\n)*integer_points"),
    (lambda s: s - Set("{ [i] }"), SpaceMismatch, "a difference needs two RationalSets"),
    (lambda s: s & Map("{ [i] -> [i] }"), SpaceMismatch, "not a RationalSet and a Map"),
    (lambda s: s & RationalSet("{ rat: [i, j] }"), SpaceMismatch, "operands of one space"),
    (lambda s: s <= 3, SpaceMismatch, "not a RationalSet and an int"),
    (lambda s: s.fix(k=3), UnknownName, "no parameter or dimension is called 'k'"),
    (lambda s: s.fix(i=0.5), SpaceMismatch, "an integer or Fraction, not to 0.5"),
    (lambda s: s.fix(3), SpaceMismatch, "names or a mapping"),
    (lambda s: s.lower_bound("i", "i // 2"), SetSyntaxError, "a floor of rational points"),
    (lambda s: s.upper_bound("i", "max(i, 2)"), SetSyntaxError, "single expression"),
    (lambda s: s.upper_bound("i", 0.5), SpaceMismatch, "a bound is a number"),
    (lambda s: s.contains((0.5,), N=1), SpaceMismatch, r"a point is 1 integer or Fraction here, not \(0.5,\)"),
    (lambda s: s.contains((1, 2), N=1), SpaceMismatch, "a point is 1 integer or Fraction"),
    (lambda s: s.contains((1,)), Unbounded, "the parameter N has no value"),
    (lambda s: s.contains((1,), M=2), UnknownName, "no parameter is called 'M'"),
    (lambda s: s.fix(i=-1).sample_point(N=0), EmptySet, "no point"),
    (lambda s: s.solutions(), SpaceMismatch, "solutions are of coefficients"),
    (lambda s: Set("{ [i] : i mod 2 = 0 }").coefficients(), NotSupported, "without floors and existentials"),
    (lambda s: bool(s), SpaceMismatch, "no truth value"),
    (lambda s: len(s), SpaceMismatch, r"no length(.|\n)*integer_points\(\)\.count"),
    (lambda s: list(s), SpaceMismatch, "not iterated"),
    (lambda s: RationalSet(s), SetSyntaxError, "it is a RationalSet already"),
    (lambda s: Set(s), SetSyntaxError, r"integer_points\(\)"),
    (lambda s: Map("{ [i] -> [i] }")(s), SpaceMismatch, r"needs a Set, not a RationalSet(.|\n)*integer_points"),
    (lambda s: PwAff("{ [i] -> [i] }").intersect_domain(s), SpaceMismatch, "needs a Set, not a RationalSet"),
    (lambda s: sched.Domain(s), PolyvoltaError, "a domain is a Set, not a RationalSet"),
    (lambda s: sched.schedule(s), PolyvoltaError, "not a RationalSet"),
    (lambda s: sched.Context(s), PolyvoltaError, "a context is a Set, not a RationalSet"),
    (lambda s: sched.order_before(TREE, (0,), s), PolyvoltaError, "a part are listed, not a RationalSet"),
    (lambda s: sched.scan(TREE, context=s), PolyvoltaError, "not a RationalSet"),
    (lambda s: sched.Schedule.parse('{ domain: "{ rat: S[i] : 0 <= i <= 9 }" }'), PolyvoltaError, "not a RationalSet"),
])  # fmt: skip
def test_errors(call, error, said):
    with pytest.raises(error, match=said):
        call(RationalSet("[N] -> { rat: [i] : 0 <= i <= N }"))


TREE = sched.Schedule(sched.Domain(Set("{ S[i] : 0 <= i <= 9 }")))


def test_what_a_set_has_is_named():
    s = RationalSet("{ rat: [i] }")
    with pytest.raises(AttributeError, match=r"but a Set has: s\.integer_points\(\)\.count"):
        s.count  # noqa: B018
    with pytest.raises(AttributeError, match="a RationalSet has no attribute 'cout'$"):
        s.cout  # noqa: B018
    assert RationalSet.read_from_str("{ rat: [i] }") == s == Set.read_from_str("{ rat: [i] }")


@pytest.mark.parametrize(
    "text", ["[N] -> { rat: S[i, j] : 2i <= 9 and j <= N; rat: S[i, j] : i = 20 }", "{ rat: [i] : 2i = 1 }"]
)
def test_its_dimensions_and_pieces_are_asked_for_as_isls(text):
    """The methods that a program asks rows of coefficients with, whose values are isl's."""
    isl = pytest.importorskip("islpy")
    ours, other = RationalSet(text), isl.Set(text)
    for kind in ("param", "set", "in_"):
        assert ours.dim(getattr(dim_type, kind)) == other.dim(getattr(isl.dim_type, kind)), kind
    for kind in ("param", "set"):
        mine, its = getattr(dim_type, kind), getattr(isl.dim_type, kind)
        names = other.get_var_names(its)
        assert ours.get_var_names(mine) == names
        assert [ours.get_dim_name(mine, k) for k in range(len(names))] == names
        for n in (*names, "q"):
            assert ours.find_dim_by_name(mine, n) == other.find_dim_by_name(its, n)
    for name in ("n_dim", "tuple_dim", "n_param", "get_tuple_name", "has_tuple_name", "n_basic_set"):
        assert getattr(ours, name)() == getattr(other, name)(), name
    assert list(ours.get_var_dict()) == list(other.get_var_dict()) and ours.get_space() == ours.space
    assert RationalSet(ours.to_str()) == ours and ours.get_basic_sets() == list(ours.pieces)


def test_an_operation_has_a_budget():
    random, dims = Random(1), "vwxyz"
    rows = [" + ".join(f"{random.randint(-9, 9)}{d}" for d in dims) + " < 20" for _ in range(30)]
    s = RationalSet(f"{{ rat: [{', '.join(dims)}] : {' and '.join(rows)} }}")
    said = r"project_out of 1 piece \(28 rows, 5 columns\) .* used up its budget"
    with pytest.raises(BudgetExceeded, match=said), budget(3000):
        s.project_out("v", "w")


def test_sets_of_integer_points_load_none_of_it():
    code = "import sys; from polyvolta.sets import Set; Set('{ [i] : i > 0 }') & Set('{ rat[i] }').rename(None)\n"
    code += "print([m for m in sys.modules if 'rationals' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


PULLED = [
    ("{ rat: B[i, j] : 0 <= i and 0 <= j <= 3 - i }", "{ A[a, b] -> B[a/2, b/6] }", lambda m, a, b: (a / 2, b / 6)),
    ("{ rat: B[i, j] : 2i = 1 and j > i; rat: B[i, j] : i > 7 }", "{ A[a, b] -> B[(a + 1)/3, 2 - b] }",
     lambda m, a, b: ((a + 1) / 3, 2 - b)),
    ("[n] -> { rat: B[i, j] : n <= 3i < j }", "[m] -> { A[n, b] -> B[n + m, (3b - n)/4] }",
     lambda m, a, b: (a + m, (3 * b - a) / 4)),
    ("{ rat: B[i, j] : i + j < 3 }", "{ A[a, b] -> B[1/2, a] }", lambda m, a, b: (Fraction(1, 2), a)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "function", "value"), PULLED)
def test_a_preimage_has_the_points_that_lead_there(text, function, value):
    import polyvolta.isl as own

    s = own.Set(text)
    pulled = s.preimage_multi_aff(own.MultiAff(function))
    numbers = [Fraction(k, 2) for k in range(-6, 7, 3)] + [Fraction(1, 3), 22]
    for m, a, b in product((0, Fraction(3, 2)), numbers, numbers):
        params = {"n": 2, "m": m}
        here, there = ({p: params[p] for p in x.param_names} for x in (s, pulled))
        assert pulled.contains((a, b), **there) == s.contains(value(m, Fraction(a), Fraction(b)), **here)


def test_a_preimage_beside_islpy():
    isl = pytest.importorskip("islpy")
    import polyvolta.isl as own

    texts = [str(lib.Set(PULLED[0][0]).preimage_multi_aff(lib.MultiAff(PULLED[0][1]))) for lib in (isl, own)]
    assert RationalSet(texts[0]).is_equal(RationalSet(texts[1]))


def test_a_preimage_is_one_under_an_affine_function():
    import polyvolta.isl as own

    s = own.Set("{ rat: B[i] : i > 0 }")
    for text in ("{ A[a] -> B[floor(a/2)] }", "{ A[a] -> B[a] : a > 0 }"):
        with pytest.raises(NotSupported):
            s.preimage(own.PwMultiAff(text))
    with pytest.raises(SpaceMismatch):
        s.preimage(own.MultiAff("{ A[a] -> C[a] }"))
