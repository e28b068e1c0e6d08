"""Pictures: what is drawn, where it stands, and what is said when there is nothing to draw with."""

import sys

import pytest

from polyvolta.sets import BudgetExceeded, Map, NotPlottable, Set, Unbounded
from polyvolta.sets.text.plot import outline

TRIANGLE = Set("[N] -> { S[i, j] : 0 <= j <= i < N }")


@pytest.fixture
def ax():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots()
    yield ax
    figure.canvas.draw()  # everything that was added can be drawn
    plt.close(figure)


def dots(ax):
    return sorted(tuple(map(float, p)) for c in ax.collections for p in c.get_offsets())


def test_every_point_is_a_dot(ax):
    assert TRIANGLE.plot(ax, N=4) is ax
    assert dots(ax) == sorted(TRIANGLE.points(N=4))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("i", "j")
    assert all(float(t).is_integer() for t in ax.get_xticks())


def test_points_of_two_pieces_are_drawn_once(ax):
    union = Set("{ [x, y] : 0 <= x <= 4 and 0 <= y <= 3 and (x + y) mod 2 = 0; [x, y] : 0 <= x, y <= 2 }")
    union.plot(ax)
    assert dots(ax) == sorted(union.points())
    assert ax.get_legend() is None
    assert len(ax.patches) == 4  # a face and an edge for each piece


def test_tuples_of_one_dimension_have_lines_of_their_own(ax):
    Set("{ A[i] : 0 <= i < 3; B[i] : 2 <= i < 4 }").plot(ax)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["A[i]", "B[i]"]
    assert dots(ax) == [(0, 0), (1, 0), (2, 0), (2, 1), (3, 1)]


def test_tuples_have_a_legend_beside_the_points(ax):
    Set("{ A[i, j] : 0 <= i, j < 3; B[i, j] : 2 <= i, j < 4 }").plot(ax)
    ax.figure.canvas.draw()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["A", "B"]
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_axes_are_checked(ax):
    with pytest.raises(NotPlottable, match="not an int"):
        Set("{ [i] : 0 <= i < 3 }").plot(ax=3)


def test_maps_are_arrows(ax):
    from matplotlib.patches import FancyArrowPatch

    steps = Map("{ [i, j] -> [i + 1, j] : 0 <= i < 2 and 0 <= j < 2; [i, j] -> [i, j + 2] : 0 <= i < 2 and j = 0 }")
    steps.plot(ax)
    assert len([p for p in ax.patches if isinstance(p, FancyArrowPatch)]) == 6
    assert dots(ax) == sorted(set(steps.domain().points()) | set(steps.range().points()))


def test_a_map_between_lines(ax):
    Map("{ S[i] -> T[floor(i/4)] : 0 <= i < 8 }").plot(ax)
    assert dots(ax) == sorted([*((i, 0) for i in range(8)), (0, 1), (1, 1)])
    assert [t.get_text() for t in ax.get_yticklabels()][0] == "S[i]"


def test_a_point_mapped_to_itself_gets_a_ring(ax):
    Map("{ [i, j] -> [i, j] : 0 <= i, j < 2 }").plot(ax)
    assert not ax.patches and len(ax.collections) == 5


def test_the_empty_set_is_an_empty_picture(ax):
    Set("{ [i, j] : false }").plot(ax)
    Set("{ }").plot(ax)
    assert dots(ax) == []


def corners(text: str) -> set:
    s = Set(text)
    return {(round(x, 6), round(y, 6)) for x, y in outline(s.parts[0][1][0], list(s.points()))}


def test_outlines():
    assert corners("{ [i, j] : 0 <= i <= 3 and 0 <= 2j <= 3i + 1 }") == {(0, 0), (3, 0), (3, 5), (0, 0.5)}
    assert corners("{ [i, j] : 0 <= i <= 7 and i mod 3 = 1 and j = 2 }") == {(1, 2), (7, 2)}
    assert corners("{ [i, j] : 0 <= i <= 4 and 0 <= j <= 4 and (i + j) mod 4 = 0 }") == {(0, 0), (4, 0), (4, 4), (0, 4)}
    assert corners("{ [3, 4] }") == {(3, 4)}


def test_what_cannot_be_drawn(ax):
    with pytest.raises(NotPlottable, match="one or two dimensions"):
        Set("{ [i, j, k] }").plot(ax)
    with pytest.raises(NotPlottable, match="one or two dimensions"):
        Set("{ A[i]; B[i, j] }").plot(ax)
    with pytest.raises(NotPlottable, match="of one dimension, or of two"):
        Map("{ [i, j] -> [i] }").plot(ax)
    with pytest.raises(Unbounded):
        Set("{ [i, j] : i >= 0 and 0 <= j < 3 }").plot(ax)
    with pytest.raises(Unbounded, match="N has no value"):
        TRIANGLE.plot(ax)
    with pytest.raises(BudgetExceeded, match="more than 10000 points"):
        TRIANGLE.plot(ax, N=200)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(NotPlottable, match="pip install 'polyvolta\\[plot\\]'"):
        TRIANGLE.plot(N=3)
