"""Relations of rational points: by example, beside formulas in Fractions, and beside isl, where it keeps `rat:`."""

import copy
import pickle
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given

import polyvolta.isl as own
from polyvolta.sets import Map, RationalMap, RationalSet, Set, SetSyntaxError, SpaceMismatch, Unbounded, dim_type
from tests.sets.brute import examples
from tests.sets.rationals.test_rational_laws import COARSE, SEEDS, above, drawn, first, second, to_try, value

HALF = Map("{ rat: [i] -> [j] : 2j = i }")
POINTS = [(x, y) for x in COARSE for y in COARSE]


@pytest.mark.parametrize("read", [
    Map, RationalMap, own.Map, own.UnionMap, own.BasicMap, own.Map.read_from_str, own.BasicMap.read_from_str,
    own.UnionMap.read_from_str, Map.read_from_str,
])  # fmt: skip
def test_a_text_that_says_so_is_a_relation_of_rational_points(read):
    assert type(read("{ rat: [i] -> [j] : 2i = j }")) is RationalMap


@pytest.mark.parametrize(("text", "printed"), [
    ("{ rat: [i] -> [j] : 2i = j }", "{ rat: [i] -> [2*i] }"),
    ("{ rat: [i] -> [j] : i = 2j }", "{ rat: [i] -> [j] : 2*j = i }"),
    ("[N] -> { rat: S[i] -> [j, 3, N] : 0 < i = 2j }", "[N] -> { rat: S[i] -> [j, 3, N] : i > 0 and 2*j = i }"),
    ("{ rat: A[i] -> B[i + 1] : i < 3; rat: C[] -> A[j] }", "{ rat: A[i] -> B[i + 1] : i < 3; rat: C[] -> A[j] }"),
    ("{ rat: [[i] -> A[j]] -> [k] : i < j <= k }", "{ rat: [[i] -> A[j]] -> [k] : j > i and k >= j }"),
    ("{ rat: [i] -> [j] : 1 < i < 1 }", "{ rat: [i] -> [j] : false }"),
])  # fmt: skip
def test_texts_are_read_as_they_are_printed(text, printed):
    m = Map(text)
    assert str(m) == printed
    again = RationalMap(str(m))
    assert again == m and hash(again) == hash(m) and pickle.loads(pickle.dumps(m)) == m == copy.deepcopy(m)
    assert m.wrap().unwrap() == m and m.reverse().reverse() == m and RationalMap(m.to_str()) == m


def test_operations_by_example():
    assert str(HALF.apply_range(HALF)) == "{ rat: [i] -> [j] : 4*j = i }"  # isl's result has integers alone
    assert HALF.apply_range(HALF.reverse()).is_equal(Set("{ rat: [i] }").identity())
    assert HALF.apply_domain(HALF).is_equal(HALF.reverse().apply_range(HALF).reverse())
    assert HALF.domain() == HALF.range() == Set("{ rat: [i] }")
    odd = Set("{ rat: [1]; rat: [3] }")
    assert odd.apply(HALF).is_equal(Set("{ rat: [i] : 2i = 1 or 2i = 3 }")) and HALF.contains((1, Fraction(1, 2)))
    assert HALF.intersect_domain(odd).range() == odd.apply(HALF)
    assert HALF.intersect_range(odd).domain().is_equal(Set("{ rat: [2]; rat: [6] }"))
    assert HALF.is_bijective() and not Map("{ rat: [i, j] -> [i + j] }").is_injective()
    assert not Map("{ rat: [i] -> [j] : i < j }").is_single_valued() and not (~HALF).is_single_valued()
    assert str(HALF.deltas()) == "{ rat: [i] }"
    assert str(Map("{ rat: [i] -> [j] : i < j < i + 1/2 }").deltas()) == "{ rat: [i] : i > 0 and 2*i < 1 }"
    most = Map("{ rat: [i] -> [j] : 0 <= 2j <= i <= 3 }").lexmax()
    assert str(most) == "{ rat: [i] -> [j] : 0 <= i <= 3 and 2*j = i }"
    assert Map("{ rat: [i] -> [j] : i < j <= 3 }").lexmin().is_empty()
    with pytest.raises(Unbounded):
        Map("{ rat: [i] -> [j] : i <= j }").lexmax()
    tall = Map("{ rat: [i] -> [j] : 0 <= i < 1 and j > 0; rat: [i] -> [j] : i = 1 and j > 0 }")
    assert str(tall.coalesce()) == "{ rat: [i] -> [j] : 0 <= i <= 1 and j > 0 }"
    assert str(tall.gist(Map("{ rat: [i] -> [j] : j > i }"))) == "{ rat: [i] -> [j] : 0 <= i < 1; rat: [1] -> [j] }"
    assert Map("{ rat: A[] -> B[] }").gist(Map("{ rat: A[] -> B[] : false }")).is_equal(Map("{ rat: A[] -> B[] }"))


def test_beside_relations_of_integers():
    box = Map("{ [i] -> [j] : 0 <= i, j <= 3 }")
    assert type(HALF & box) is Map is type(box & HALF) and (HALF & box).is_equal(Map("{ [0] -> [0]; [2] -> [1] }"))
    assert HALF.integer_points().is_equal(Map("{ [i] -> [j] : i = 2j }")) and Map("{ [2] -> [1] }") <= HALF
    assert not HALF <= box and not HALF.is_disjoint(box) and HALF.is_rational() and not box.is_rational()
    assert (box - HALF).count() == 14 and Map("{ rat: [2] -> [1] }").is_equal(Map("{ [2] -> [1] }"))


def test_several_tuples_and_isls_names():
    m = Map("[N] -> { rat: A[i] -> B[2i]; rat: C[i] -> B[i] : i < N }")
    assert m.tuple_names == ("A", "C") and m.range().is_equal(Set("[N] -> { rat: B[i] }"))
    assert m.intersect_domain(Set("{ rat: C[1] }")).is_equal(Map("[N] -> { rat: C[1] -> B[1] : N > 1 }"))
    assert m.apply_range(Map("{ rat: B[i] -> [i] : i > 0; rat: D[] -> [0] }")).domain().is_equal(
        Set("[N] -> { rat: A[i] : i > 0; rat: C[i] : 0 < i < N }"))  # fmt: skip
    assert m.fix(N=0).only("C").project_out_all_params() == Map("{ rat: C[i] -> B[i] : i < 0 }")
    assert m.get_basic_maps() == list(m.pieces) and m.n_basic_map() == 2
    one = Map("[N] -> { rat: A[i, j] -> B[k] }")
    assert [one.dim(k) for k in (dim_type.param, dim_type.in_, dim_type.out)] == [1, 2, 1]
    assert one.get_var_names(dim_type.in_) == ["i", "j"] and one.get_tuple_name(dim_type.out) == "B"
    moved = one.rename_domain("T").rename_range(None).move_dims("j", to="params")
    assert str(moved) == "[N, j] -> { rat: T[i] -> [k] }"


@pytest.mark.parametrize(("call", "error", "said"), [
    (lambda: HALF | Map("{ [i] -> [i] }"), SpaceMismatch, r"not a RationalMap and a Map(.|\n)*integer_points"),
    (lambda: HALF.intersect_domain(Set("{ [i] }")), SpaceMismatch, "needs a RationalSet, not a Set"),
    (lambda: HALF.intersect_domain(Set("{ rat: A[i] }")), SpaceMismatch, "one tuple on both"),
    (lambda: HALF.apply_range(Map("{ [i] -> [i] }")), SpaceMismatch, "needs a RationalMap, not a Map"),
    (lambda: HALF.apply_range(Map("{ rat: A[i] -> [i] }")), SpaceMismatch, "one tuple on both"),
    (lambda: Set("{ rat: [i] }").apply(Map("{ [i] -> [i] }")), SpaceMismatch, "needs a RationalMap, not a Map"),
    (lambda: Set("{ rat: [i] }").unwrap(), SpaceMismatch, "unwrap needs a wrapped tuple"),
    (lambda: Map("{ rat: A[i] -> B[i] }").deltas(), SpaceMismatch, "of one space"),
    (lambda: Set("{ rat: [i] -> [j] }"), SetSyntaxError, r"a map, not a set(.|\n)*Map\("),
    (lambda: Map("{ rat: [i] }"), SetSyntaxError, r"a set, not a map"),
    (lambda: Map("{ rat: [i] -> [j]; [i] -> [j] }"), SetSyntaxError, "expected 'rat:'"),
    (lambda: Map("{ rat: [i] -> [i mod 2] }"), SetSyntaxError, "a remainder of rational points"),
    (lambda: RationalMap(HALF), SetSyntaxError, "it is a RationalMap already"),
    (lambda: Map(HALF), SetSyntaxError, "integer_points"),
    (lambda: HALF.transitive_closure(), AttributeError, r"a Map has: m\.integer_points\(\)\.transitive_closure"),
])  # fmt: skip
def test_what_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()


def as_map(f):
    return Map(f"{{ rat: [i] -> [j] : {f.text} }}")


@given(SEEDS)
@examples(100)
def test_sides_and_compositions_have_the_points_that_formulas_say(seed):
    f, g = drawn(seed, 2, n=2)
    m, k = as_map(f), as_map(g)
    composed, sides = m.apply_range(k), (m.domain(), m.reverse().range())
    random = Random(seed)
    for x, z in random.sample(POINTS, 12):
        places = [-Fraction(c + a * x, b) for (a, b), c in f.rows if b]
        places += [-Fraction(c + b * z, a) for (a, b), c in g.rows if a]
        between = any(f.at((x, y)) and g.at((y, z)) for y in to_try(places))
        assert composed.contains((x, z)) is between
        assert all(s.contains((x,)) is above(f, x) for s in sides)
        assert m.reverse().contains((z, x)) is f.at((x, z)) is m.contains((x, z))
    assert m.is_single_valued() is not any(several(f, x) for x in first(f))


def several(f, x):
    """Whether more than one point is above x: two places where a comparison changes, or a whole gap between places."""
    found = [y for y in second(f, x) if f.at((x, y))]
    places = [y for y in found if any(b and value((a, b), c, (x, y)) == 0 for (a, b), c in f.rows)]
    return len(places) > 1 or len(places) < len(found)


@given(SEEDS)
@examples(60)
def test_least_outputs_and_gists(seed):
    f, g = drawn(seed, 2, n=2, box=True)
    least, m, k = as_map(f).lexmin(), as_map(f), as_map(g)
    gist = m.gist(k)
    assert (gist & k).is_equal(m & k) and m.wrap().gist(k.wrap()).is_equal(gist.wrap())
    for x in COARSE:
        found = [y for y in second(f, x) if f.at((x, y))]
        lowest = min(found, default=None)  # a place where a comparison changes, or else nothing is least
        is_least = lowest is not None and any(b and value((a, b), c, (x, lowest)) == 0 for (a, b), c in f.rows)
        for y in found:
            assert least.contains((x, y)) is (is_least and y == lowest)


@given(SEEDS)
@examples(60)
def test_isl_says_the_same_of_closed_relations(seed):
    isl = pytest.importorskip("islpy")
    f, g = drawn(seed, 2, n=2, depth=0, operators="<= >= =", box=True)
    texts = [f"{{ rat: [i] -> [j] : {h.text} }}" for h in (f, g)]
    (a, b), (x, y) = map(Map, texts), map(isl.Map, texts)  # but of lexmin, for which isl takes inputs for integers

    def same(ours, its):
        assert ours.is_empty() if its.is_empty() else ours.is_equal(type(ours)(str(its)))

    same(a & b, x & y)
    same(a | b, x | y)
    same(a.reverse(), x.reverse())
    same(a.domain(), x.domain())
    same(a.range(), x.range())
    same(a.wrap(), x.wrap())
    same(a.deltas(), x.deltas())
    same(a.intersect_domain(b.range()), x.intersect_domain(y.range()))
    assert isinstance(a.domain(), RationalSet) and a.is_empty() is x.is_empty()
