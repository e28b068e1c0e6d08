"""Sets and maps by example, and the errors of their methods."""

import itertools
import subprocess
import sys

import pytest

from polyvolta.sets import Map, RationalSet, Set, SpaceMismatch, UnknownName

A, B = Set("{ [i] : 0 <= i < 10 }"), Set("{ [i] : 5 <= i < 20 }")


def test_the_algebra_of_two_intervals():
    assert (A & B).is_equal(Set("{ [i] : 5 <= i < 10 }"))
    assert (A | B).is_equal(Set("{ [i] : 0 <= i < 20 }"))
    assert (A - B).is_equal(Set("{ [i] : 0 <= i < 5 }"))
    assert (A ^ B).is_equal((A - B) | (B - A))
    assert A.complement().is_disjoint(A) and (A.complement() | A).is_equal(Set("{ [i] }"))
    assert (A & B).is_strict_subset(A) and not A.is_strict_subset(A)


def test_integers_are_not_rationals():
    assert Set("{ [x, y] : 3x - 3y + 2 >= 0 and -3x + 3y - 1 >= 0 }").is_empty()
    assert Set("{ [i] : exists a, b : 2a = 6b + 1 and i = a }").is_empty()
    assert Set("{ [i] : exists a, b : i = 6a + 10b }").is_equal(Set("{ [i] : i mod 2 = 0 }"))
    assert Set("{ [i] : exists a, b : i = 3a + 5b and 0 <= a and 0 <= b and i = 7 }").is_empty()
    assert Set("{ [i] : i mod 16 = 0 }").is_subset(Set("{ [i] : i mod 8 = 0 }"))
    assert (Set("{ [i] : i mod 6 = 2 }") & Set("{ [i] : i mod 4 = 0 }")).is_equal(Set("{ [i] : i mod 12 = 8 }"))


def test_equality_is_structural_and_hashes():
    one, other = Set("{ [i] : i >= 0 and 2i <= 19 }"), Set("{ [i] : i < 10 and 0 <= i }")
    assert one == other and len({one, other}) == 1 and A != B
    halves = Set("{ [i] : 0 <= i < 5; [i] : 5 <= i < 10 }")
    assert halves != A and halves.is_equal(A)


def test_a_tile_map():
    tile = Map("{ S[i] -> [floor(i/32), i mod 32] }")
    assert tile.is_bijective()
    assert tile.reverse().is_equal(Map("{ [b, p] -> S[32b + p] : 0 <= p < 32 }"))
    assert tile.apply_range(tile.reverse()).is_equal(Set("{ S[i] }").identity())
    assert tile(Set("{ S[i] : 40 <= i < 70 }")).is_equal(Set("{ [b, p] : 40 <= 32b + p < 70 and 0 <= p < 32 }"))


def test_a_fragment_layout_and_its_inverse():
    layout = Map(
        "{ T[t, r] -> C[i, j] : 0 <= t < 32 and 0 <= r < 4 and "
        "i = floor(t/4) + 8*floor(r/2) and j = 2*(t mod 4) + (r mod 2) }"
    )
    assert layout.is_bijective()
    assert layout.range().is_equal(Set("{ C[i, j] : 0 <= i < 16 and 0 <= j < 8 }"))
    inverse = layout.reverse().as_affs()
    assert [str(e) for e in inverse] == ["floor(j/2) + 4*(i mod 8)", "2*floor(i/8) + (j mod 2)"]
    for t, r, i, j in layout.points():
        assert [e.evaluate({"i": i, "j": j}) for e in inverse] == [t, r]


def test_several_tuples_in_one_set():
    both = Set("[N] -> { S1[i] : 0 <= i < N; S2[i, j] : 0 <= i, j < N }")
    assert both.tuple_names == ("S1", "S2")
    assert both.count(N=3) == 3 + 9
    assert (both - Set("{ S2[i, j] }")).is_equal(both.only("S1"))
    time = Map("{ S1[i] -> [i, 0]; S2[i, j] -> [i, j + 1] }")
    assert both.apply(time).is_equal(Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j <= N }"))
    assert time.intersect_domain(both).is_injective() and time.is_single_valued()
    assert not time.is_injective()  # S1[i] and S2[i, -1]


def test_parameters():
    s = Set("[N] -> { [i, j] : 0 <= i < N and i <= j < 2i }")
    assert s.params().is_equal(Set("[N] -> { : N >= 2 }"))
    assert s.fix(N=3).count(N=3) == 3
    assert s.intersect_params(Set("[N] -> { : N = 2 }")).project_out_params("N").is_equal(Set("{ [1, 1] }"))
    assert (s & Set("[M] -> { [i, j] : j < M }")).param_names == ("N", "M")


def test_pieces_and_samples():
    s = Set("{ [i] : 0 <= i < 3; [i] : i = 7 }")
    assert len(s.pieces) == 2 and (s.pieces[0] | s.pieces[1]).is_equal(s)
    assert s.sample().is_subset(s) and s.sample().count() == 1
    assert Set("{ [i] : false }").sample().is_empty()


def test_renaming():
    assert Set("{ S[i] : i > 3 }").rename("R") == Set("{ R[i] : i > 3 }")
    assert Set("{ S[i] }").rename(None) == Set("{ [i] }")
    assert str(Set("{ S[i] }").rename("mod")) == "{ mod[i] }" and str(Map("{ S[i] -> [] }").rename_range("and")) == (
        "{ S[i] -> and[] }"
    )


def test_operators_that_compare():
    part = Set("{ [i] : 0 <= i < 5 }")
    assert part <= A and part < A and A >= part and A > part and A <= A and A >= A
    assert not (A <= part or A < A or A > A or part >= A)
    m, n = Map("{ [i] -> [i] : i > 0 }"), Map("{ [i] -> [i] }")
    assert m <= n and m < n and n >= m and n > m
    assert (~A).is_equal(A.complement()) and (~m).is_equal(m.complement())
    for wrong in (lambda: A <= 3, lambda: A > m, lambda: m < A):
        with pytest.raises(SpaceMismatch, match="a comparison needs two"):
            wrong()


def test_a_relation_is_no_container_of_python():
    for r in (A, Map("{ [i] -> [i] }")):
        for use, hint in ((bool, "is_empty"), (len, r"count\(\)"), (list, r"points\(\)")):
            with pytest.raises(SpaceMismatch, match=hint):
                use(r)


def test_projecting_a_wrapped_relation():
    wrapped = Map("{ S[i, j] -> A[i + j] : 0 <= i, j < 2 }").wrap()
    assert wrapped.project_out("j").is_equal(Set("{ [S[i] -> A[k]] : 0 <= i < 2 and i <= k <= i + 1 }"))


S, T = Set("{ S[i, j] : 0 <= i, j < 4 }"), Map("{ T[i] -> [i] }")
ERRORS = [
    (lambda: S & T, SpaceMismatch, "an intersection needs two Sets, not a Set and a Map"),
    (
        lambda: S.apply(T),
        SpaceMismatch,
        "no tuple of the set is in the map's domain\n  set: S[i, j]\n  map: T[i]",
    ),
    (
        lambda: T.apply_range(T),
        SpaceMismatch,
        "nothing of the first map's range is in the second map's domain",
    ),
    (lambda: S.apply(S), SpaceMismatch, "a set is applied to a Map"),
    (lambda: T.intersect_domain(T), SpaceMismatch, "a restriction of the domain needs a Set"),
    (lambda: S.intersect_params(S), SpaceMismatch, "a context has no dimensions"),
    (lambda: Map("{ [i] -> [i, 0] }").deltas(), SpaceMismatch, "differences need as many inputs as outputs"),
    (lambda: (S | Set("{ R[] }")).project_out(0), SpaceMismatch, "needs a single space\n  S[i, j]; R[]"),
    (lambda: S.project_out("k"), UnknownName, "no dimension is called 'k'"),
    (lambda: Set("{ [row] }").project_out("rows"), UnknownName, "did you mean 'row'?"),
    (
        lambda: S.project_out(2),
        UnknownName,
        "position 2 is out of range\n  S[i, j]\nhint: there are 2 dimensions",
    ),
    (lambda: S.fix(l=3), UnknownName, "no parameter or dimension is called 'l'"),
    (lambda: S.fix(i=1.5), SpaceMismatch, "i is fixed to an integer, not to 1.5"),
    (lambda: S.project_out_params("N"), UnknownName, "no parameter is called 'N'"),
]


@pytest.mark.parametrize("text", ["{ A[i] }", "{ A[i]; B[j] }"])
def test_a_condition_on_parameters_is_no_set_of_a_union(text):
    """It is `{ [] }` here, and would leave nothing; isl's unions take it for a condition, other than `{ [] }`."""
    some, given, both = Set(text), Set("[n] -> { : n > 0 }"), Map.from_domain(Set(text))
    calls = (
        lambda: some & given,
        lambda: given & some,
        lambda: some.gist(given),
        lambda: both.intersect_domain(given),
        lambda: both.gist_domain(given),
        lambda: both.reverse().intersect_range(given),
    )
    for call in calls:
        with pytest.raises(SpaceMismatch, match="condition on parameters") as caught:
            call()
        assert "intersect_params restricts the parameters" in caught.value.hint
    assert (Set("{ A[i]; [] }") & given).is_equal(given) and Set("{ A[i]; B[j] }").subtract(given).is_equal(
        Set("{ A[i]; B[j] }")
    )


def test_points_of_different_tuples_are_disjoint():
    """isl says so of sets, too, where an intersection is refused; other comparisons say that they differ."""
    assert Set("{ A[i] }").is_disjoint(Set("{ B[i] }")) and Set("{ A[i] }").is_disjoint(Set("[N] -> { A[i, j] }"))
    assert Map("{ A[i] -> [i] }").is_disjoint(Map("{ B[i] -> [i] }"))
    assert RationalSet("{ rat: A[i] }").is_disjoint(RationalSet("{ rat: [i] }"))
    assert RationalSet("{ rat: A[i] }").is_disjoint(Set("{ [i] }"))
    assert not Set("{ A[i]; C[] }").is_disjoint(Set("{ B[i]; C[] }"))
    with pytest.raises(SpaceMismatch, match="two Sets, not a Set and a Map"):
        Set("{ A[i] }").is_disjoint(Map("{ B[i] -> [i] }"))


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_an_error_says_what_and_where(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"[{kind.id}] ")


def test_the_floor_stands_alone():
    """On what shows things in notebooks and on the version, which know nothing of sets."""
    check = (
        "import sys, polyvolta.sets; from polyvolta.sets import Set, Map; str(Map('{ [i] -> [i] }').lexmin().domain());"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('numpy', 'sympy', 'numba', 'islpy') or"
        " m.startswith('polyvolta.') and m.split('.')[1] not in ('sets', 'display', 'version')];"
        " assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", check], check=True)


def test_a_quotient_that_goes_leaves_no_row_of_what_is_solved_for():
    text = "[N] -> { [j] : j mod 2 = 0 and j = -2*floor(N/3) - 2 }"  # the equality says that j is even
    s = Set(text)
    assert str(s) == "[N] -> { [-2*floor(N/3) - 2] }"
    assert s == Set("[N] -> { [j] : j = -2*floor(N/3) - 2 }")
    for n in range(-7, 8):
        assert [*s.points(N=n)] == [(-2 * (n // 3) - 2,)]
    even, twice = Set("{ [i, j] : j mod 2 = 0 }"), Set("{ [i, j] : j = -2*floor(i/2) - 2 }")
    assert even & twice == twice == twice & even


def test_a_row_that_rounding_leaves_of_a_floor_alone_is_one_of_what_it_rounds():
    """252 to 257 without 257, whose predecessor is a multiple of 256: floor((k + 255)/256) <= 1 is k <= 256."""
    s = Set("{ [k] : 252 <= k <= 257 and 256*floor((-1 + k)/256) <= -2 + k }")
    assert [*s.points()] == [(k,) for k in range(252, 257)]
    assert str(s) == "{ [k] : 252 <= k <= 256 }" and s == Set("{ [k] : 252 <= k <= 256 }")
    for low in range(-9, 10):
        s = Set(f"{{ [k] : {low} <= k <= {low + 5} and 8*floor((k - 1)/8) <= k - 2 }}")
        assert [*s.points()] == [(k,) for k in range(low, low + 6) if (k - 1) % 8]


@pytest.mark.parametrize("den", [2, 3, 8])
def test_a_floor_is_the_tile_that_rows_say(den: int):
    """With `0 <= i - 8b <= 7` floor((i + k)/8) is b or b + 1: a dimension where the rows leave one value of it."""
    known = Set(f"[b] -> {{ [i, j] : 0 <= i - {den}b < {den} and 2j <= 5*floor(i/{den}) + i }}")
    assert known.parts == Set(f"[b] -> {{ [i, j] : 0 <= i - {den}b < {den} and 2j <= 5b + i }}").parts
    for low, high, k in itertools.product(range(-1, 2), range(den - 2, den + 1), (-den, 0, 1, den - 1)):
        for sign in (1, -1):
            e = f"floor(({sign}i + {k})/{den})"
            s = Set(f"[b, c] -> {{ [i, j] : {low} <= i - {den}b - {2 * den}c <= {high} and j = i + 2*{e} + b }}")
            for b, c in ((-1, 2), (3, -2)):
                points = [i for i in range(-60, 61) if low <= i - den * b - 2 * den * c <= high]
                assert [*s.points(b=b, c=c)] == [(i, i + 2 * ((sign * i + k) // den) + b) for i in points]
