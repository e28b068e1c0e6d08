"""Points between two pieces, which say that no conjunct is their union: all of them are looked up in a box."""

import random
from itertools import product

import pytest

from polyvolta.sets import Map, Set
from polyvolta.sets.conjuncts.conjunct import lifted
from polyvolta.sets.conjuncts.frame import Frame, Member
from polyvolta.sets.hulls import between
from tests.sets.hulls.polygons import SIDE, is_convex


def drawn_piece(rng, strides):
    """The text of a polygon in the box, perhaps with a residue, and what it holds of."""
    rows = [[rng.randint(-2, 2), rng.randint(-2, 2), rng.randint(-3, 6)] for _ in range(rng.randint(1, 3))]
    mod = (rng.randint(1, 2), rng.randint(0, 1), rng.choice([2, 3]), rng.randint(0, 1)) if strides else None
    text = " and ".join(f"{a}i + {b}j + {c} >= 0" for a, b, c in rows) + " and -4 <= i <= 8 and -4 <= j <= 8"
    if mod:
        text += f" and ({mod[0]}i + {mod[1]}j) mod {mod[2]} <= {mod[3]}"
    points = {
        (i, j)
        for i, j in product(SIDE, SIDE)
        if all(a * i + b * j + c >= 0 for a, b, c in rows) and (not mod or (mod[0] * i + mod[1] * j) % mod[2] <= mod[3])
    }
    return text, points


def ends(in_a, in_b):
    return [(p, q) for p, q in product(in_a, in_b) if (p[0] - q[0]) % 2 == (p[1] - q[1]) % 2 == 0]


@pytest.mark.parametrize("strides", [False, True])
def test_points_and_gaps_are_what_they_are_called(strides):
    """A gap is said only of pieces between which a point of neither lies, midway between points of both."""
    rng, gaps, hulls = random.Random(strides), 0, 0
    for _ in range(300):
        (a, in_a), (b, in_b) = drawn_piece(rng, strides), drawn_piece(rng, strides)
        if not in_a or not in_b:
            continue
        pair = [Set(f"{{ [i, j] : {text} }}").pieces for text in (a, b)]
        if any(len(p) != 1 for p in pair):
            continue
        cs = [p[0].parts[0][1][0] for p in pair]
        frame = Frame(cs)
        for c, m, points in zip(cs, frame.members, (in_a, in_b), strict=True):
            inside, beside = between.walked(c)
            assert inside and points.issuperset(inside) and points.isdisjoint(beside)
            m.points += [lifted(frame.divs, x) for x in inside]
        if between.gap(*frame.members, between.strides(frame.members)):
            gaps += 1
            mids = [((p[0] + q[0]) // 2, (p[1] + q[1]) // 2) for p, q in ends(in_a, in_b)]
            assert any(m not in in_a and m not in in_b for m in mids)
            if not frame.divs:
                assert len(Set(f"{{ [i, j] : {a}; [i, j] : {b} }}").coalesce().pieces) == 2
        elif not frame.divs and between.further(*frame.members):
            hulls += 1
            assert not is_convex(in_a | in_b)
    assert gaps > 20 and (strides or hulls > 0)


@pytest.mark.parametrize("strides", [False, True])
def test_strays_are_in_neither_piece(strides):
    """Beside points of two pieces one of a hull, here of a box, is found only where the box has one of neither."""
    rng, found, full = random.Random(5 + strides), 0, 0
    for _ in range(200):
        (a, in_a), (b, in_b) = drawn_piece(rng, strides), drawn_piece(rng, strides)
        pair = [Set(f"{{ [i, j] : {text} }}").pieces for text in (a, b)]
        if not in_a or not in_b or any(len(p) != 1 for p in pair):
            continue
        cs = [p[0].parts[0][1][0] for p in pair]
        frame = Frame(cs)
        for c, m in zip(cs, frame.members, strict=True):
            m.points += [lifted(frame.divs, x) for x in between.walked(c)[0]]
        corner = rng.choice(sorted(in_a | in_b))
        size = rng.choice([0, 1, 2])
        pad = (0,) * len(frame.divs)
        sides = [(-x, int(k == 0), int(k == 1)) for k, x in enumerate(corner)]
        sides += [(x + size, -int(k == 0), -int(k == 1)) for k, x in enumerate(corner)]
        box = Member(frame, (), [(*r, *pad) for r in sides])
        inside = set(product(range(corner[0], corner[0] + size + 1), range(corner[1], corner[1] + size + 1)))
        if inside <= in_a | in_b:
            full += 1
            assert not between.stray(box, *frame.members, ((1, 0), (0, 1)))
        found += between.stray(box, *frame.members, ((1, 0), (0, 1)))
    assert found > 20 and full > 20


def test_cells_of_functions_are_told_apart():
    """The graphs of nine functions in their cells: as many pieces, each of which is where it was."""
    text = "; ".join(f"[i, j] -> [{k}i + {k * k}j] : {10 * k} <= i < {10 * k + 10} and 0 <= j <= i" for k in range(9))
    graphs = Map(f"{{ {text} }}")
    fused = graphs.coalesce()
    assert len(fused.pieces) == len(graphs.pieces) and fused.is_equal(graphs)


def test_parts_of_one_piece_have_nothing_between_them():
    """A piece, with floors that equalities tie dimensions by, is cut in two along a row."""
    rng, cut = random.Random(3), 0
    while cut < 30:
        a, b, c, d, e = (rng.randint(-2, 3) for _ in range(5))
        ties = rng.choice([
            f"j = {a}floor(i/3) + {b}", f"2j + {a}i = 3*floor((i + {c})/2)", f"(i + {a}j) mod 4 <= 1",
            f"i mod 3 = {abs(b)} and j = floor((i + {c})/4)", f"j mod 2 = i mod 3 and j <= i + {c}",
        ])  # fmt: skip
        whole = f"-4 <= i <= 8 and -4 <= j <= 8 and {ties}"
        pair = [Set(f"{{ [i, j] : {whole} and {d}i + {e}j {way} {c} }}").pieces for way in (">=", "<")]
        if any(len(p) != 1 or p[0].is_empty() for p in pair) or len(Set(f"{{ [i, j] : {whole} }}").pieces) > 1:
            continue
        cut += 1
        frame = Frame([p[0].parts[0][1][0] for p in pair])
        for m, p in zip(frame.members, pair, strict=True):
            m.points += [lifted(frame.divs, x) for x in between.walked(p[0].parts[0][1][0])[0]]
        assert between.gap(*frame.members, between.strides(frame.members)) is None, (whole, d, e)


@pytest.mark.parametrize(("along", "beside"), [((4, 6), (8, 8)), ((4, 4), (8, 4)), ((3, 1), (0, 2)), ((3, 5), (6, 8))])
def test_two_rows_of_a_grid_are_one_piece(along, beside):
    """Midway between points of both may lie a point of neither, which is none of the grid: equalities tie i and j."""
    row = "exists q: i = {}q + {} and j = {}q + {}"
    texts = [row.format(along[0], k * beside[0], along[1], k * beside[1]) for k in (0, 1)]
    rows = Set(f"{{ [i, j] : {texts[0]}; [i, j] : {texts[1]} }}")
    grid = rows.coalesce()
    assert len(grid.pieces) == 1
    points = {(along[0] * q + k * beside[0], along[1] * q + k * beside[1]) for q in range(-20, 20) for k in (0, 1)}
    assert all(grid.contains(p) == (p in points) for p in product(range(-12, 13), repeat=2))
