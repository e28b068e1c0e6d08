"""Values of piecewise polynomials at points, against Python's own arithmetic, and what is asked of how many pieces."""

from fractions import Fraction

import pytest

from polyvolta.sets import PolyvoltaError, PwQPolynomial, QPolynomial, Set, var
from polyvolta.sets.counting import quasipoly

SIDE = 5
TILES = [(a, b) for a in range(SIDE) for b in range(SIDE)]
TEXT = "; ".join(
    f"[i, j] -> 1/2 * i^2 + {a}/3 * i * j - {b} * floor(i/3) : {4 * a} <= i < {4 * a + 4} and 4*{b} <= j < 4*{b} + 4"
    for a, b in TILES
)


def value(i, j):
    a, b = i // 4, j // 4
    return Fraction(i * i, 2) + Fraction(a * i * j, 3) - b * (i // 3) if 0 <= a < SIDE and 0 <= b < SIDE else 0


def test_a_point_is_looked_at_once_for_all_pieces_of_a_tuple(monkeypatch):
    f, asked = PwQPolynomial(f"{{ {TEXT} }}"), []
    own = quasipoly.coordinates
    monkeypatch.setattr(quasipoly, "coordinates", lambda *args: asked.append(args) or own(*args))
    for i, j in [(0, 0), (3, 7), (19, 19), (20, 3), (-1, 4), (11, 8)]:
        found = f.eval((i, j))
        assert Fraction(*map(int, str(found).split("/"))) == f(i=i, j=j) == value(i, j)
    assert len(asked) == 12


def test_pieces_are_compared_until_values_differ(monkeypatch):
    """25 pieces of 16 points: every two were compared at all of them, 9,600 values; one does to tell two apart."""
    calls = [0]
    own = QPolynomial.evaluate

    def counted(self, values):
        calls[0] += 1
        return own(self, values)

    monkeypatch.setattr(QPolynomial, "evaluate", counted)
    assert len(PwQPolynomial(f"{{ {TEXT} }}").pieces) == 25
    assert calls[0] < 25 * 24 * 3


def test_pieces_over_other_parameters_are_asked_one_by_one():
    n = QPolynomial.of(var("i"))
    here, there = Set("[N] -> { [i] : 0 <= i < N }"), Set("[N] -> { [i] : i >= N }")
    f = PwQPolynomial(("N",), [(here, n), (there, n * 2)])
    assert [f(i=i, N=3) for i in (-1, 0, 2, 3, 4)] == [0, 0, 2, 6, 8]
    with pytest.raises(PolyvoltaError, match="no parameter is called 'N'"):
        PwQPolynomial(("N",), [(here, n), (Set("{ [i] : i < -1 }"), n)])(i=1, N=3)


def test_coordinates_are_integers():
    f = PwQPolynomial(f"{{ {TEXT} }}")
    with pytest.raises(PolyvoltaError, match="an integer point is needed"):
        f.eval((Fraction(1, 2), 0))
