"""Segments between two pieces over a point of neither: all points are looked up, and one piece in two has none."""

import random
from itertools import product
from math import gcd

import pytest

from polyvolta.sets import Set
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import lifted
from polyvolta.sets.conjuncts.frame import Frame
from polyvolta.sets.engine.rows import dot
from polyvolta.sets.hulls import coalesce, parting, pieces

SIDE = range(-4, 9)
BOX = " and -4 <= i <= 8 and -4 <= j <= 8"


def drawn_rows(rng, floors):
    """The text of a conjunction, and what it says of a point."""
    texts, parts = [], []
    for _ in range(rng.randint(1, 4)):
        a, b, c, d = rng.randint(-2, 2), rng.randint(-2, 2), rng.randint(-3, 6), rng.choice([2, 3, 4])
        kind = rng.choice(["row", "row", "equal", *(["floor", "mod"] if floors else [])])
        if kind == "row":
            texts.append(f"{a}i + {b}j + {c} >= 0")
            parts.append(lambda i, j, a=a, b=b, c=c: a * i + b * j + c >= 0)
        elif kind == "equal":
            if rng.random() < 0.7:
                continue
            texts.append(f"{a}i + {b}j + {c} = 0")
            parts.append(lambda i, j, a=a, b=b, c=c: a * i + b * j + c == 0)
        elif kind == "floor":
            texts.append(f"{a}*floor((i + {b}j)/{d}) + j + {c} >= 0")
            parts.append(lambda i, j, a=a, b=b, c=c, d=d: a * ((i + b * j) // d) + j + c >= 0)
        else:
            texts.append(f"({a}i + {b}j) mod {d} <= {d // 2 if c > 2 else 0}")
            parts.append(lambda i, j, a=a, b=b, d=d, c=c: (a * i + b * j) % d <= (d // 2 if c > 2 else 0))
    return " and ".join(texts or ["true"]), lambda i, j: all(part(i, j) for part in parts)


def pieces_of(texts):
    """The conjuncts of a union that is not changed, if there are as many as texts and each has a point."""
    found = [Set(f"{{ [i, j] : {text} }}").parts for text in texts]
    cs = [c for parts in found for _, pieces in parts for c in pieces]
    ok = len(cs) == len(texts) and all(c.known for c in cs) and not any(c.is_empty for c in cs)
    return cs if ok else None


def found_between(cs):
    """The points that are found between two conjuncts."""
    frame = Frame(cs)
    starts = [lifted(frame.divs, cj.sample(c)) for c in cs]
    return [x[1:3] for x in parting.parting(*frame.members, *starts)]


def between(p, q):
    """The integer points between two."""
    g = gcd(q[0] - p[0], q[1] - p[1])
    return {(p[0] + (q[0] - p[0]) // g * j, p[1] + (q[1] - p[1]) // g * j) for j in range(1, g)}


@pytest.mark.parametrize("floors", [False, True])
def test_points_are_of_neither_and_between(floors):
    rng, seen = random.Random(11 + floors), 0
    for _ in range(250):
        (a, says_a), (b, says_b) = drawn_rows(rng, floors), drawn_rows(rng, floors)
        cs = pieces_of([a + BOX, b + BOX])
        if cs is None:
            continue
        in_a, in_b = ({p for p in product(SIDE, SIDE) if says(*p)} for says in (says_a, says_b))
        found = found_between(cs)
        seen += bool(found)
        for z in found[:6]:
            assert z not in in_a and z not in in_b and set(z) <= set(SIDE)
            assert any(z in between(p, q) for p in in_a for q in in_b if p != q)
    assert seen > 30


@pytest.mark.parametrize("floors", [False, True])
def test_what_is_learnt_of_rows_is_so(floors):
    """A row of one piece is implied by the other one after the search where it is at least 0 at all of its points."""
    rng, denied = random.Random(51 + floors), 0
    for _ in range(60):
        (a, says_a), (b, says_b) = drawn_rows(rng, floors), drawn_rows(rng, floors)
        cs = pieces_of([a + BOX, b + BOX])
        if cs is None:
            continue
        frame = Frame(cs)
        list(parting.parting(*frame.members, *[lifted(frame.divs, cj.sample(c)) for c in cs]))
        for m, other, says in zip(frame.members, frame.members[::-1], (says_a, says_b)):
            points = [lifted(frame.divs, p) for p in product(SIDE, SIDE) if says(*p)]
            for row in other.statements:
                found = all(dot(row, p) >= 0 for p in points)
                assert m.implies(row) == found
                denied += not found
    assert denied > 100


@pytest.mark.parametrize("floors", [False, True])
def test_points_of_endless_pieces_are_of_neither(floors):
    """Nor is a box, far larger than the walks are long, covered by both beside one."""
    rng, seen = random.Random(21 + floors), 0
    for _ in range(250):
        (a, says_a), (b, says_b) = drawn_rows(rng, floors), drawn_rows(rng, floors)
        cs = pieces_of([a, b])
        for z in () if cs is None else found_between(cs):
            assert not says_a(*z) and not says_b(*z)
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("floors", [False, True])
@pytest.mark.parametrize("box", ["", BOX])
def test_one_piece_in_two_has_no_point_between(floors, box):
    """Whatever row divides a conjunction, or lets both parts overlap, all points between are in one of them."""
    rng, asked = random.Random(31 + floors), 0
    for _ in range(250):
        whole, _ = drawn_rows(rng, floors)
        a, b, c, over = rng.randint(-3, 3), rng.randint(-3, 3), rng.randint(-3, 6), rng.choice([1, 1, 0, -2])
        form = f"{a}i + {b}j" if not floors or rng.random() < 0.5 else f"{a}*floor((i + {b}j)/3) + j"
        cs = pieces_of([f"{whole}{box} and {form} >= {c}", f"{whole}{box} and {form} <= {c - over}"])
        if cs is not None:
            asked += 1
            assert found_between(cs) == []
    assert asked > 40


@pytest.mark.parametrize("floors", [False, True])
def test_coalesce_says_the_same_without_it(floors, monkeypatch):
    """Bit for bit: what is told apart could not have been fused, nor widened."""
    rng, cases = random.Random(41 + floors), []
    for _ in range(120):
        texts = [drawn_rows(rng, floors)[0] + rng.choice(["", BOX]) for _ in range(rng.randint(2, 4))]
        cases.append(Set("{ " + "; ".join(f"[i, j] : {text}" for text in texts) + " }"))

    def told():
        coalesce._coalesced.cache_clear()
        return [str(s.coalesce()) for s in cases]

    quick = told()
    monkeypatch.setattr(pieces, "settled", lambda a, b, opened: True)
    monkeypatch.setattr(coalesce, "_fixed", lambda frame, pieces: False)
    slow = told()
    coalesce._coalesced.cache_clear()
    assert quick == slow


@pytest.mark.parametrize("seed", range(8))
def test_parts_of_one_conjunct_are_not_several(seed):
    """A conjunct cut in up to four by rows over its floors, where each part speaks of two floors still."""
    rng = random.Random(seed)
    for _ in range(12):
        d, e, a, b, c = rng.choice([2, 3, 4]), rng.choice([2, 3, 6]), *(rng.randint(-3, 3) for _ in range(3))
        whole = (
            f"{a}*floor(i/{d}) + {b}*floor((i + j)/{e}) + j >= {c} and (i + 3j) mod {e} <= {rng.randint(0, e - 1)}{BOX}"
        )
        cuts = [f"{rng.randint(-2, 2)}*floor(i/{d}) + j", f"i - {rng.choice([0, d])}*floor(i/{d})"]
        signs = [f"{cuts[0]} {x} and {cuts[1]} {y}" for x in (">= 1", "< 1") for y in (">= 1", "< 1")]
        conjuncts = [c for sign in signs for _, cs in Set(f"{{ [i, j] : {whole} and {sign} }}").parts for c in cs]
        pieces = [c for c in conjuncts if not c.is_empty]
        if len(pieces) > 1 and all(len(c.divs) > 1 for c in pieces):
            rng.shuffle(pieces)
            assert not parting.several(pieces), (whole, signs)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[i] : i mod 4 = 0; [i] : i mod 4 = 2", False),
        ("[i, j] : j mod 2 = 0 and i = 0; [i, j] : j mod 2 = 0 and i = 3; [i, j] : j mod 2 = 0 and i = 6", False),
        ("[i] : i mod 3 = 0 and 0 <= i <= 9; [i] : i mod 3 = 1 and 0 <= i <= 9", False),
        (
            "[i] : i mod 3 = 0 and 0 <= i <= 9; [i] : i mod 3 = 1 and 20 <= i <= 99",
            False,
        ),  # on other grids
        ("[i] : i mod 3 = 0 and 0 <= i <= 9; [i] : i mod 3 = 0 and 20 <= i <= 99", True),
        ("[i, j] : i mod 2 = 0 and 0 <= j <= 3; [i, j] : i mod 2 = 0 and 5 <= j <= 8; [i, 4] : i mod 2 = 0", False),
        ("[i, j] : i mod 2 = 0 and 0 <= j <= 3; [i, j] : i mod 2 = 0 and 6 <= j <= 8; [i, 4] : i mod 2 = 0", True),
    ],
)
def test_several_beside_strides(text, found):
    pieces = Set(f"{{ {text} }}").parts[0][1]
    assert parting.several(pieces) == found
    assert not found or len(Set(f"{{ {text} }}").coalesce().parts[0][1]) > 1


def test_pieces_that_stand_far_from_the_first_are_looked_at_where_there_are_many():
    """All that stand near the first one are one with it."""
    slabs = [f"[i, j] : {3 * k} <= i + j <= {3 * k + 2} and 0 <= j <= 9" for k in range(36)]
    ((_, cs),) = Set("{ " + "; ".join(slabs) + " }").parts
    assert not parting.several(cs) and parting.several([c for k, c in enumerate(cs) if k != 11])
