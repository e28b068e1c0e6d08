"""What intervals say of unions of boxes, against convex hulls by isl and what rows say without them."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations, pairwise, product

import pytest

from polyvolta.sets import Set, budget
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.frame import Frame
from polyvolta.sets.hulls import boxes
from polyvolta.sets.hulls import coalesce as coalescing
from polyvolta.sets.hulls.intervals import clusters, touching
from polyvolta.sets.hulls.slices import Slices
from polyvolta.sets.hulls.widening import widened
from tests.sets.hulls.polygons import is_convex


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
    isl = pytest.importorskip("islpy")
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


SIDES = [(0, 0), (0, 1), (0, 2), (1, 3), (0, 4), (2, 4), (3, 4), (4, 5)]
RECTANGLES = list(product(SIDES, SIDES))


def inside(rectangle):
    return set(product(*[range(low, high + 1) for low, high in rectangle]))


def test_two_rectangles_are_one_where_their_points_are_one():
    """All pairs of a few: a union is said where the points of both are those of a rectangle, and nowhere else."""
    for a, b in product(RECTANGLES, RECTANGLES):
        points = inside(a) | inside(b)
        around = tuple([(min(column), max(column)) for column in zip(*points, strict=True)])
        assert boxes.union(a, b) == (around if inside(around) == points else None)


def test_two_rectangles_are_apart_where_their_union_is_not_convex():
    """Of rectangles of two numbers at least in each dimension intervals say all there is to say."""
    seen = {True: 0, False: 0}
    for a, b in combinations(RECTANGLES, 2):
        convex = is_convex(inside(a) | inside(b))
        seen[convex] += 1
        if all(low < high for low, high in a + b):
            assert boxes.apart(a, b) == boxes.apart(b, a) == (not convex)
        else:
            assert not (convex and (boxes.apart(a, b) or boxes.apart(b, a)))
    assert min(seen.values()) > 500


def test_what_is_no_box_stays_among_boxes_that_are_joined():
    triangle, *rest = "[i, j] : 0 <= i <= j <= 5", "[i, j] : 7 <= i <= 8 and j = 0", "[i, j] : 9 <= i <= 11 and j = 0"
    for texts in (triangle, *rest), (*rest, triangle), (rest[0], triangle, rest[1]):
        pieces = Set(f"{{ {'; '.join(texts)} }}").parts[0][1]
        found = boxes.joined(pieces)
        assert sorted(map(str, map(boxes.box, found))) == ["((7, 11), (0, 0))", "None"]
        assert set(found) & set(pieces)


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
    isl = pytest.importorskip("islpy")
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


WINDMILL = ((0, 5), (0, 5)), ((4, 9), (4, 9)), ((0, 1), (7, 9)), ((8, 9), (0, 2))
"""Boxes that hold all corners around the first two."""


def test_corners_that_no_box_holds():
    rng = random.Random(5)
    seen = {True: 0, False: 0}
    for _ in range(400):
        n_dims = rng.choice([1, 2, 2, 3])
        a, b, *others = (box(text(rng, n_dims)) for _ in range(rng.randint(3, 6)))
        whole = boxes.around(a, b)
        wanted = any(not boxes.held(corner, others) for corner in product(*whole))
        assert boxes.Corners(others).lacks(whole) == wanted, (whole, others)
        seen[wanted] += 1
    assert min(seen.values()) > 20, seen


def test_dimensions_in_which_boxes_are_alike_have_no_corners():
    """There are 2^40 of them, all held."""
    wide = [(*own, *[(0, 9)] * 38) for own in WINDMILL]
    with budget(1000):
        assert not boxes.Corners(wide).lacks(boxes.around(*wide[:2]))
        assert boxes.Corners(wide[2:]).lacks(boxes.around(*wide[2:]))


def test_a_box_of_many_corners_costs_little():
    """Around two boxes are 2^20 corners, all held by others, but not all of its points."""
    names = [f"i{k}" for k in range(20)]
    alike = " and ".join(f"0 <= {x} <= 9" for x in names[2:])
    cells = [f"[{', '.join(names)}] : {a} <= i0 <= {b} and {c} <= i1 <= {d} and {alike}" for (a, b), (c, d) in WINDMILL]
    with budget(20_000):
        assert len(Set(f"{{ {'; '.join(cells)} }}").coalesce().pieces) == 4


def test_what_a_budget_ends_before_a_comparison_stays(monkeypatch):
    cells = [f"[i, j] : {a} <= i <= {b} and {c} <= j <= {d}" for (a, b), (c, d) in WINDMILL]
    union = Set(f"{{ {'; '.join(cells)} }}")
    monkeypatch.setattr(coalescing, "EFFORT", 0)
    coalescing._coalesced.cache_clear()
    assert union.coalesce().is_equal(union) and not union.coalesce().is_empty()


def scattered(seed: int, count: int, width: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return sorted({(rng.randint(0, width), rng.randint(0, width)) for _ in range(count)})


@pytest.mark.parametrize(("count", "width", "pieces"), [(500, 60, 187), (96, 60, 74), (96, 12, 22)])
def test_many_points_take_few_steps(count, width, pieces):
    """458 points took all 400,000 steps and had no answer; isl has 312 pieces."""
    points = scattered(1, count, width)
    with budget(60_000):
        found = Set("{ " + "; ".join(f"[{i}, {j}]" for i, j in points) + " }").coalesce()
    assert sorted(found.points()) == points
    assert len(found.pieces) <= pieces


def test_many_boxes_take_few_steps():
    """Of 150 that partly overlap isl makes 127; it took 200,000 steps to make 101."""
    rng = random.Random(3)
    cells = [(a, a + rng.randint(0, 4), b, b + rng.randint(0, 4)) for a, b in scattered(3, 150, 60)]
    with budget(20_000):
        found = Set("{ " + "; ".join(f"[i, j] : {a} <= i <= {b} and {c} <= j <= {d}" for a, b, c, d in cells) + " }")
        found = found.coalesce()
    wanted = {(i, j) for a, b, c, d in cells for i in range(a, b + 1) for j in range(c, d + 1)}
    assert set(found.points()) == wanted
    assert len(found.pieces) < 110


@pytest.mark.parametrize("points", ["[0, 0]; [3, 5]; [7, 1]", "[0, 0]; [3, 5]; [6, 10]", "[i, j, 2i] : i = 0 or i = 2"])
def test_points_make_no_line_in_strides(points):
    """As isl's, which leaves them; a line with a unit step is one."""
    found = Set(f"{{ {points} }}").coalesce()
    assert not any(c.divs for _, cs in found.parts for c in cs)
    assert found.is_equal(Set(f"{{ {points} }}"))
    assert str(Set("{ [0, 0]; [1, 5] }").coalesce()) == "{ [i0, i1] : i1 = 5*i0 and 0 <= i0 <= 1 }"


def test_pieces_that_are_not_near_are_in_no_conjunct_within_the_union():
    """So a search leaves them alone, and what is made of them: its convex hull has theirs in it."""
    isl = pytest.importorskip("islpy")
    rng, told = random.Random(11), 0
    for _ in range(60):
        union = Set(f"{{ {'; '.join(text(rng, 2) for _ in range(rng.randint(3, 9)))} }}")
        ((space, cs),) = union.parts
        found = boxes.fewer(cs)
        if not found.hulls or found.near is None:
            continue
        known = [isl.Set(str(union._of((), [(space, (c,))]))) for c in (*found.pieces, *found.hulls)]
        for k, j in combinations(range(len(known)), 2):
            if not found.near[k] >> j & 1:
                hull = isl.Set.from_basic_set(known[k].union(known[j]).convex_hull())
                assert not hull.is_subset(isl.Set(str(union)))
                told += 1
    assert told > 30


def are_parted(a, b):
    return any(low > most + 1 or least > high + 1 for (low, high), (least, most) in zip(a, b, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_boxes_that_touch_and_their_clusters(seed):
    rng = random.Random(seed)
    for _ in range(40):
        found = [box(text(rng, 2)) for _ in range(rng.randint(1, 9))]
        near = touching(found)
        assert near == [sum(1 << j for j, b in enumerate(found) if not are_parted(a, b)) for a in found]
        reached = list(near)
        for _ in found:
            reached = [sum({1 << j for k, m in enumerate(reached) if r >> k & 1 for j in range(9) if m >> j & 1})
                       for r in reached]  # fmt: skip
        of = clusters(near)
        for a, b in product(range(len(found)), repeat=2):
            assert (of[a] == of[b]) == bool(reached[a] >> b & 1)


def test_boxes_far_from_one_another_are_not_compared(monkeypatch):
    """A hundred squares, gaps of two between neighbours: 4,950 pairs, of which 1,200 were searched point by point."""
    calls = []
    for name in ("apart", "covered", "points"):
        own = getattr(boxes, name)
        monkeypatch.setattr(boxes, name, lambda *args, own=own: calls.append(1) or own(*args))
    cells = product(range(10), repeat=2)
    squares = "; ".join(f"[i, j] : {10 * a} <= i < {10 * a + 8} and {10 * b} <= j < {10 * b + 8}" for a, b in cells)
    assert len(Set(f"{{ {squares} }}").coalesce().pieces) == 100
    assert not calls
