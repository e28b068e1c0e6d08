"""Whether a union covers a conjunct, against all points of a window."""

import random
import sys

import numpy as np
import pytest

from polyvolta.sets import Set, budget
from polyvolta.sets.conjuncts import cover
from polyvolta.sets.conjuncts.conjunct import lifted
from polyvolta.sets.conjuncts.frame import Frame
from polyvolta.sets.engine.simplex import Tableau
from polyvolta.sets.operations import algebra

I, J = np.meshgrid(np.arange(-5, 6), np.arange(-5, 6), indexing="ij")


def _row(rng):
    """A random row as text and as a table."""
    a, b, c = rng.randint(-3, 3), rng.randint(-3, 3), rng.randint(-6, 6)
    kind, m = rng.random(), rng.randint(2, 4)
    if kind < 0.6:
        return f"{a}i + {b}j >= {c}", a * I + b * J >= c
    if kind < 0.7:
        return f"{a}i + {b}j = {c}", a * I + b * J == c
    return f"({a}i + {b}j) mod {m} <= {m // 2}", (a * I + b * J) % m <= m // 2


def _piece(rng, rows):
    texts, tables = zip(*[_row(rng) for _ in range(rows)], strict=True)
    return f"[i, j] : -5 <= i, j <= 5 and {' and '.join(texts)}", np.logical_and.reduce(tables)


@pytest.mark.parametrize("seed", range(2))
def test_covers_what_it_has_all_points_of(seed):
    rng, answers = random.Random(seed), []
    for _ in range(10):
        whole, table = _piece(rng, rng.randint(1, 3))
        texts, tables = zip(*[_piece(rng, 1) for _ in range(rng.randint(2, 5))], strict=True)
        union = Set(f"{{ {'; '.join(texts)} }}")
        left = table & ~np.logical_or.reduce(tables)
        assert Set(f"{{ {whole} }}").is_subset(union) == (not left.any()), (whole, texts)
        answers.append(left.any())
    assert len(set(answers)) == 2


@pytest.mark.parametrize(("whole", "pieces", "yes"), [
    # between the pieces are rational points alone
    ("0 <= i <= 9 and 0 <= j <= 9", "2i <= 7 and 2j <= 7; 2i >= 7; 2j >= 7 and i >= 0", True),
    ("i = 3j and 0 <= j <= 9", "0 <= i <= 8; 8 <= j; 9 <= i <= 23 and 0 <= j", True),
    ("i = 3j and 0 <= j <= 9", "0 <= i <= 8; 8 <= j; 10 <= i <= 23 and 0 <= j", False),
    ("exists e, f : i = 2e + 3f and 0 <= f <= e and 0 <= j <= i", "i mod 2 = 0; j <= i and i >= 5", True),
    ("exists e, f : i = 2e + 3f and 0 <= f <= e and 0 <= j <= i", "i mod 2 = 0; j <= i and i >= 6", False),
    ("2i = 1", "i > 0; j > 0", True),
])  # fmt: skip
def test_covers_by_integers(whole, pieces, yes):
    union = "; ".join(f"[i, j] : {p}" for p in pieces.split(";"))
    assert Set(f"{{ [i, j] : {whole} }}").is_subset(Set(f"{{ {union} }}")) == yes


def test_points_of_a_frame_have_the_values_of_floors():
    frame = Frame(Set("{ [i] : floor(i/2) mod 2 = 1 and i > 9; [i] : i mod 5 = 2 }").parts[0][1])
    m = frame.members[0]
    found = frame.sample(m.eqs, m.ineqs)
    assert found is not None and m.holds(found) and found == lifted(frame.divs, found[1:2])
    assert frame.sample(m.eqs, [*m.ineqs, (9, -1, *[0] * len(frame.divs))]) is None


def test_where_one_piece_after_the_other_cuts_once_nothing_branches(monkeypatch):
    calls = []
    search = cover._Search._strays
    monkeypatch.setattr(cover._Search, "_strays", lambda self, *a: calls.append(a) or search(self, *a))
    steps = "; ".join(f"[i, j] : {k} <= i < {k + 3} and j >= 0" for k in range(0, 30, 3))
    assert Set("{ [i, j] : 0 <= i < 30 and 0 <= j <= i }").is_subset(Set(f"{{ {steps} }}"))
    assert len(calls) == 1


def _depth():
    frame, found = sys._getframe(), 0
    while frame:
        frame, found = frame.f_back, found + 1
    return found


def test_a_vertex_says_what_it_said_before_and_parts_of_parts_nest_no_calls(monkeypatch):
    asked, depths = [], set()
    reaches, search = Tableau.reaches, cover._Search._strays
    monkeypatch.setattr(Tableau, "reaches", lambda tab, row: asked.append(row) or reaches(tab, row))
    monkeypatch.setattr(cover._Search, "_strays", lambda self, *a: depths.add(_depth()) or search(self, *a))
    n = 12  # between the intervals are rational points, so each of them leaves two parts
    whole = Set(f"{{ [i] : 0 <= i < {3 * n} and i mod 3 <= 1 }}")
    for last, yes in (n, True), (n - 1, False):
        union = Set(f"{{ {'; '.join(f'[i] : {3 * k} <= i <= {3 * k + 1}' for k in range(last))} }}")
        assert whole.is_subset(union) == yes
    assert len(asked) < 8 * n and len(depths) == 1


@pytest.mark.parametrize(
    "text", ("4*i + j >= 3 and i + 5 <= 3*j and 5*j <= -2*i - 6", "2*j <= i and 5*i + 4*j >= 1 and 4*i <= 5*j + 1")
)
def test_what_has_no_point_is_a_part_of_any_piece(text):
    """It takes a search to see that it has none, which the question whether a row holds at all points asks."""
    ((_, (none,)),) = Set(f"{{ [i, j] : {text} }}").parts
    ((_, (other,)),) = Set("{ [i, j] : i >= 90 and j = 2*i }").parts
    assert algebra.covered(none, (other,)) and none.is_empty


@pytest.mark.parametrize("seed", range(2))
def test_a_point_that_is_missed_is_one_of_the_conjunct_and_of_no_piece(seed):
    rng, missed = random.Random(seed + 7), 0
    for _ in range(10):
        whole, table = _piece(rng, rng.randint(1, 3))
        texts, tables = zip(*[_piece(rng, 1) for _ in range(rng.randint(2, 5))], strict=True)
        left = table & ~np.logical_or.reduce(tables)
        for _, cs in Set(f"{{ {whole} }}").parts:
            pieces = [c for text in texts for _, ds in Set(f"{{ {text} }}").parts for c in ds]
            found = [x for c in cs if (x := cover.stray(pieces, c)) is not None]
            assert bool(found) == left.any(), (whole, texts)
            assert all(left[i + 5, j + 5] for i, j in found)
            missed += len(found)
    assert missed


def test_pieces_that_numbers_put_apart_take_no_steps():
    """Of 400 intervals a piece meets two at most."""
    union = Set("{ " + "; ".join(f"[i, j] : {5 * k} <= i <= {5 * k + 4} and 0 <= j <= i" for k in range(400)) + " }")
    parts = Set("{ " + "; ".join(f"[i, j] : {5 * k + 2} <= i <= {5 * k + 6} and 0 <= j < i" for k in range(399)) + " }")
    with budget(40_000):
        assert parts.is_subset(union)
