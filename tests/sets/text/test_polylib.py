"""PolyLib's matrices as texts of sets and relations, typed by hand; what they mean beside islpy."""

import pytest

import polyvolta.isl as ours
from polyvolta.sets import Map, Set, SetSyntaxError

SQUARE = "3 4\n0 1 -1 0\n1 1 0 -1\n1 -1 0 163\n"
TWO = "2\n\n2 3\n1 1 0\n1 -1 1\n\n2 3\n1 1 -5\n1 -1 9\n"
EVEN = "3 6 2 0 1 1\n0 1 0 -2 0 0\n1 0 1 0 0 -1\n1 0 -1 0 1 0\n"
DOUBLE = "2 6 1 1 0 2\n0 1 -2 0 0 0\n1 0 1 0 1 -1\n"


@pytest.mark.parametrize(
    ("text", "means"),
    [
        (SQUARE, "{ [i, i] : 1 <= i <= 163 }"),
        (TWO, "{ [i] : 0 <= i <= 1 or 5 <= i <= 9 }"),
        (EVEN, "[p0] -> { [i, j] : i mod 2 = 0 and 1 <= j <= p0 }"),
        ("# both\n1 3 # rows, columns\n\n  # the row\n1 2 -1\n", "{ [i] : i >= 1 }"),
        ("0 4", "{ [i, j] }"),
        ("1 3\n1 0 -1", "{ [i] : false }"),
        ("2\n1 4 1 0 0 1\n1 1 0 0\n0 3 1 0 0 0\n", "[p0] -> { [i] }"),
    ],
)
def test_a_matrix_is_a_set(text, means):
    assert Set(text).is_equal(Set(means)) and ours.Set.read_from_str(None, text).is_equal(Set(means))


def test_a_matrix_with_inputs_is_a_relation():
    assert Map(DOUBLE).is_equal(Map("[p0, p1] -> { [i] -> [2i] : i + p1 >= 1 }"))
    with pytest.raises(SetSyntaxError, match="this is a map"):
        Set(DOUBLE)
    with pytest.raises(SetSyntaxError, match="this is a set"):
        Map(SQUARE)


def test_a_basic_set_is_one_matrix():
    assert ours.BasicSet(SQUARE).is_equal(Set(SQUARE))
    assert not ours.BasicSet("2 3\n1 1 0\n1 -1 9").convex_hull().is_empty()
    with pytest.raises(ours.Error):
        ours.BasicSet(TWO)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1 2 3\n", "expected the numbers of rows and columns"),
        ("2 3\n1 1 0\n", "expected a row of 3 numbers"),
        ("1 3\n2 1 0", "expected a row of 3 numbers"),
        ("1 3\n1 1 a", "expected integers"),
        ("1 3\n1 1 0\n1 1 0", "expected the end of the text"),
        ("1 5 1 0 0 1\n1 1 0 0 0", "of 5 columns 3 are dimensions, not 2"),
        ("0\n", "at least one matrix"),
    ],
)
def test_a_matrix_in_error_is_refused(text, error):
    with pytest.raises(SetSyntaxError, match=error):
        Set(text)


@pytest.mark.parametrize("text", [SQUARE, TWO, EVEN, DOUBLE, "2 5 1 0 0 2\n1 1 0 0 0\n1 -1 1 1 0\n"])
def test_matrices_mean_what_they_mean_to_isl(text):
    isl = pytest.importorskip("islpy")
    kind = "Map" if text is DOUBLE else "Set"
    theirs, mine = getattr(isl, kind)(text), getattr(ours, kind)(text)
    assert getattr(ours, kind)(str(theirs)).is_equal(mine)
