"""What intervals say of unions of boxes, against convex hulls by isl and what rows say without them."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise, product

import islpy as isl
import pytest

from polyvolta.sets import Set
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.frame import Frame
from polyvolta.sets.hulls import boxes
from polyvolta.sets.hulls import coalesce as coalescing
from polyvolta.sets.hulls.slices import Slices
from polyvolta.sets.hulls.widening import widened


def text(rng, n_dims):
    """A box, some of whose dimensions are one number or have no bound on a side."""
    rows = []
    for x in "ijk"[:n_dims]:
        low = rng.randint(0, 4)
        high = low + rng.choice([0, 0, 1, 2, 3, 4])
        rows.append(rng.choice([f"{low} <= {x} <= {high}"] * 8 + [f"{x} >= {low}", f"{x} <= {high}"]))
    return f"[{', '.join('ijk'[:n_dims])}] : {' and '.join(rows)}"


def box(text):
    return boxes.box(Set(f"{{ {text} }}").parts[0][1][0])


@pytest.mark.parametrize("seed", range(4))
def test_two_boxes_are_one_or_have_a_point_of_neither_between(seed):
    rng = random.Random(seed)
    seen = {"one": 0, "apart": 0}
    for _ in range(150):
        n_dims = rng.choice([1, 2, 3])
        texts = [text(rng, n_dims), text(rng, n_dims)]
        union = Set(f"{{ {'; '.join(texts)} }}")
        a, b = map(box, texts)
        both = boxes.union(a, b)
        if both is not None:
            fused = union._of((), [(union.space, boxes.joined(union.parts[0][1]))])
            assert len(fused.pieces) == 1 and fused.is_equal(union)
            assert box(str(fused)[2:-2]) == both
            seen["one"] += 1
        if boxes.apart(a, b):
            theirs = isl.Set(str(union))
            assert both is None and not isl.Set.from_basic_set(theirs.convex_hull()).is_subset(theirs)
            seen["apart"] += 1
    assert min(seen.values()) > 30


def test_two_layers_are_not_told_apart():
    layers = "{ [i, j] : 4 <= i <= 6 and j = 3; [i, j] : i = 1 and j = 2 }"
    assert not boxes.apart(*[box(t) for t in layers[2:-2].split("; ")])
    assert boxes.apart(box("[i, j] : 4 <= i <= 6 and j = 3"), box("[i, j] : 1 <= i <= 2 and 2 <= j <= 3"))
    squares = (
        "[i, j] : 0 <= i <= 3 and 0 <= j <= 4",
        "[i, j] : 0 <= i <= 4 and 0 <= j <= 3",
    )
    assert not boxes.apart(*map(box, squares))  # a square without a corner
    assert len(Set(f"{{ {'; '.join(squares)} }}").coalesce().pieces) == 1


@pytest.mark.parametrize(
    ("rows", "found"),
    [("i = 3 and j <= 2", ((3, 3), (-boxes.inf, 2))), ("i <= j", None), ("i mod 2 = 0", None), ("2i + 3j = 1", None)],
)
def test_boxes_are_bounded_by_numbers(rows, found):
    assert box(f"[i, j] : {rows}") == found


@pytest.mark.parametrize("seed", range(6))
def test_a_box_that_was_cut_is_one_again(seed):
    """64 cells in any order: where neighbours were one as they came, 16 were left of them."""
    rng = random.Random(seed)
    cuts = [sorted({0, 20, *rng.sample(range(1, 20), 3)}) for _ in range(3)]
    cells = [
        " and ".join(f"{low} <= {x} < {high}" for x, (low, high) in zip("ijk", cell, strict=True))
        for cell in product(*[list(pairwise(c)) for c in cuts])
    ]
    rng.shuffle(cells)
    union = Set(f"{{ {'; '.join(f'[i, j, k] : {c}' for c in cells)} }}")
    fused = union.coalesce()
    assert fused.is_equal(union) and fused.is_equal(union.simple_hull())
    assert len(fused.pieces) == 1


def drawn(rng, n_dims):
    lows = [rng.randint(0, 7) for _ in range(n_dims)]
    return tuple([(low, low + rng.choice([0, 0, 1, 2, 3, 4])) for low in lows])


def in_hull(z, a, b):
    """Whether at some t from 0 to 1 a point is in the box that is as far from A to B."""
    low, high = Fraction(0), Fraction(1)
    for x, (p, q), (r, s) in zip(z, a, b, strict=True):
        for const, slope in ((x - p, p - r), (q - x, s - q)):
            if slope:
                low, high = (
                    (max(low, Fraction(-const, slope)), high)
                    if slope > 0
                    else (low, min(high, Fraction(-const, slope)))
                )
            elif const < 0:
                return False
    return low <= high


def grid(own, room=0):
    return product(*[range(low - room, high + room + 1) for low, high in own])


@pytest.mark.parametrize("seed", range(4))
def test_all_points_between_two_boxes(seed):
    """Two boxes are apart where their hull has a further point, as all points say; else the hull is their union."""
    rng = random.Random(seed)
    seen = {True: 0, False: 0}
    while min(seen.values()) < 60:
        n_dims = rng.choice([1, 2, 2, 3])
        a, b = drawn(rng, n_dims), drawn(rng, n_dims)
        whole = boxes.around(a, b)
        if whole in (a, b):
            continue
        further = {z for z in grid(whole) if in_hull(z, a, b) and not boxes.held(z, (a, b))}
        assert boxes.apart(a, b) is bool(further) is boxes.apart(b, a)
        assert further.issuperset(boxes.points(a, b))
        if not further:
            hull = boxes.hull(a, b)
            assert all(cj.holds(hull, z) == boxes.held(z, (a, b)) for z in grid(whole, room=2))
        seen[bool(further)] += 1


def test_boxes_without_an_end():
    rows, columns = ((0, boxes.inf), (0, 0)), ((0, 0), (0, 1))
    assert boxes.apart(rows, columns) and not list(boxes.points(rows, columns))
    assert boxes.apart(((0, boxes.inf), (0, 0)), ((0, boxes.inf), (1, 1))) is False
    assert boxes.apart(((0, 0), (0, 0)), ((1000, 1000), (1, boxes.inf))) is True
    assert boxes.apart(((0, 0), (0, 0)), ((1001 * 60, 1001 * 60), (0, 1))) is True
    assert boxes.apart(((0, 0), (0, 0)), ((997 * 61, 997 * 61), (1, 1))) is False  # nothing between, g = 1


def with_n(rng):
    rows = []
    for x in "ij":
        low = rng.choice([str(rng.randint(0, 6)), f"N + {rng.randint(-3, 3)}"])
        high = rng.choice([str(rng.randint(5, 12)), f"N + {rng.randint(0, 8)}"])
        rows.append(f"{low} <= {x} <= {high}")
    return f"[i, j] : {' and '.join(rows)}"


@pytest.mark.parametrize("seed", range(3))
def test_slices_tell_apart_what_no_conjunct_joins(seed):
    """In pieces with a parameter: what slices tell apart has a convex hull, by isl, with further points."""
    rng = random.Random(seed)
    seen = 0
    for _ in range(60):
        union = Set(f"[N] -> {{ {'; '.join(with_n(rng) for _ in range(2))} }}")
        cs = [c for c in union.parts[0][1] if not c.is_empty]
        if len(cs) < 2:
            continue
        frame = Frame(cs)
        slices = Slices(frame)
        if slices.apart(*frame.members):
            theirs = isl.Set(str(union))
            assert not isl.Set.from_basic_set(theirs.convex_hull()).is_subset(theirs)
            assert slices.several([(frame.members[0], frame.members[1])])
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("seed", range(3))
def test_what_slices_call_fixed_is_not_widened(seed):
    rng = random.Random(seed)
    seen = 0
    for _ in range(25):
        union = Set(f"[N] -> {{ {'; '.join(with_n(rng) for _ in range(4))} }}")
        cs = tuple([c for c in union.parts[0][1] if not c.is_empty])
        frame = Frame(cs)
        if Slices(frame).fixed(frame.members):
            assert widened(cs) is None
            seen += 1
    assert seen > 8


def test_a_box_around_two_is_one_where_others_have_the_rest():
    parts = "0 <= i <= 9 and 0 <= j <= 3", "0 <= i <= 5 and 2 <= j <= 9", "5 <= i <= 9 and 3 <= j <= 9"
    cross = f"{{ {'; '.join(f'[i, j] : {p}' for p in parts)} }}"
    assert str(Set(cross).coalesce()) == "{ [i, j] : 0 <= i <= 9 and 0 <= j <= 9 }"


@pytest.mark.parametrize("seed", range(4))
def test_as_few_as_without_intervals(seed, monkeypatch):
    """What intervals say is no reason for more pieces."""
    rng = random.Random(seed)
    texts = []
    for _ in range(12):
        n_dims = rng.choice([1, 2, 2, 3])
        texts.append(f"{{ {'; '.join(text(rng, n_dims) for _ in range(rng.randint(2, 6)))} }}")
    fewer = [Set(t).coalesce() for t in texts]
    monkeypatch.setattr(boxes, "box", lambda *_: None)
    coalescing._coalesced.cache_clear()
    for t, mine in zip(texts, fewer, strict=True):
        assert mine.is_equal(Set(t))
        assert len(mine.pieces) <= len(Set(t).coalesce().pieces)
