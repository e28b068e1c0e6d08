"""Maps of digits: their inverses, ranges and projections have the points of enumeration, and plain texts.

A map is drawn as text, python evaluates that text at every point of its box, and the rows of an answer are evaluated at
these and at points beside them.
"""

import random
from itertools import product

import numpy as np
import pytest

from polyvolta.sets import Map, Set
from polyvolta.sets.conjuncts import conjunct
from tests.sets.tables import holds

OUTPUTS = 3  # at most


def drawn(rng: random.Random) -> tuple[str, list[range], list[str]]:
    """(the domain, the range of every input, the outputs) of a map of digits; the texts are python's too."""
    names = "abcd"[: rng.randint(1, 4)]
    box = [range(low, low + rng.choice((1, 2, 3, 4, 5, 8))) for low in (rng.choice((0, 0, 0, -1, 2)) for _ in names)]
    outputs = []
    for _ in range(rng.randint(1, OUTPUTS)):
        terms, weight = [str(rng.choice((0, 0, 0, 1, -3)))], rng.choice((1, 1, 2, 4))
        for at in rng.sample(range(len(names)), rng.randint(1, len(names))):
            x, d = names[at], rng.choice((2, 2, 3, 4))
            atom, wide = rng.choice(
                ((x, len(box[at])), (f"floor({x}/{d})", -(-len(box[at]) // d)), (f"({x} mod {d})", d))
            )
            sign = rng.choice("+++-")
            terms.append(f"{sign} {weight}*{atom}")
            weight *= wide * rng.choice((1, 1, 1, 2)) if rng.random() < 0.9 else 1
        outputs.append(" ".join(terms))
    where = " and ".join(f"{r[0]} <= {x} <= {r[-1]}" for x, r in zip(names, box))
    if rng.random() < 0.2:
        where += f" and ({' + '.join(names)}) mod {rng.choice((2, 3))} = {rng.choice((0, 1))}"
    return where, box, outputs


def value(text: str, at: dict[str, int]) -> int:
    """What python makes of a text of the notation."""
    text = text.replace("floor(", "(").replace("/", "//").replace("mod", "%").replace(" = ", " == ")
    return eval(text, {}, at)  # noqa: S307


def points_of(where: str, box: list[range], outputs: list[str]) -> list[tuple[int, ...]]:
    """Every (inputs, outputs)."""
    names = "abcd"[: len(box)]
    every = [dict(zip(names, p)) for p in product(*box)]
    return [(*at.values(), *[value(o, at) for o in outputs]) for at in every if value(where, at)]


def beside(rng: random.Random, points: set[tuple[int, ...]], n: int) -> np.ndarray:
    """The points and others near to them, one row each, 1 in front."""
    some = rng.sample(sorted(points), min(len(points), 60)) or [(0,) * n]
    more = {tuple(v + rng.choice((0, 0, 0, -1, 1, 2, -4, 8)) for v in p) for p in some for _ in range(8)}
    return np.array([(1, *p) for p in sorted(points | more)], np.int64)


def check(rng: random.Random, relation: Map | Set, points: set[tuple[int, ...]], n: int) -> None:
    """The relation, asked by its rows, has exactly these points."""
    asked = beside(rng, points, n)
    found = np.zeros(len(asked), bool)
    for _, conjuncts in relation.parts:
        for c in conjuncts:
            if c.divs.count(None) < 2:
                found |= holds(c, asked)
            else:  # too many existentials for a search by numpy
                found |= np.array([conjunct.holds(c, p[1:]) for p in asked.tolist()])
    want = np.array([tuple(p[1:]) in points for p in asked.tolist()])
    assert (found == want).all(), (str(relation), asked[found != want][:3].tolist())


def compare(seed: int) -> None:
    """All that is asked of one map."""
    rng = random.Random(seed)
    where, box, outputs = drawn(rng)
    n, m = len(box), len(outputs)
    text = f"{{ A[{','.join('abcd'[:n])}] -> [{', '.join(outputs)}] : {where} }}"
    pairs = points_of(where, box, outputs)
    read = Map(text)
    inverse = read.reverse()
    check(rng, read, set(pairs), n + m)
    check(rng, inverse, {(*p[n:], *p[:n]) for p in pairs}, n + m)
    check(rng, Map(str(inverse)), {(*p[n:], *p[:n]) for p in pairs}, n + m)
    check(rng, read.range(), {p[n:] for p in pairs}, m)
    check(rng, inverse.range(), {p[:n] for p in pairs}, n)
    check(rng, inverse.coalesce(), {(*p[n:], *p[:n]) for p in pairs}, n + m)
    check(rng, Set(str(read.range())), {p[n:] for p in pairs}, m)
    lost = rng.randrange(n)
    left = inverse.project_out("abcd"[lost])
    check(rng, left, {(*p[n:], *[v for k, v in enumerate(p[:n]) if k != lost]) for p in pairs}, n + m - 1)
    together = read.apply_range(inverse)
    if len(pairs) <= 40:
        check(rng, together, {(*p[:n], *q[:n]) for p in pairs for q in pairs if p[n:] == q[n:]}, 2 * n)


@pytest.mark.parametrize("seed", range(60))
def test_points(seed: int) -> None:
    compare(seed)


@pytest.mark.parametrize(
    "text, want",
    [
        ("A[i,j] -> [32i + 8j] : 0 <= j < 4", "[i0] -> A[floor(i0/32), floor(i0/8) mod 4] : i0 mod 8 = 0"),
        (
            "A[i,j] -> [32i + 8j] : 0 <= i < 16 and 0 <= j < 4",
            "[i0] -> A[floor(i0/32), floor(i0/8) mod 4] : i0 mod 8 = 0 and 0 <= i0 <= 511",
        ),
        (
            "A[a,b,c] -> [128a + 8b + 32c] : 0 <= b < 4 and 0 <= c < 4",
            "[i0] -> A[floor(i0/128), floor(i0/8) mod 4, floor(i0/32) mod 4] : i0 mod 8 = 0",
        ),
        (
            "A[a,b,c] -> [32a + b + 16c] : 0 <= b < 8 and 0 <= c < 2",
            "[i0] -> A[floor(i0/32), i0 mod 16, floor(i0/16) mod 2] : i0 mod 16 <= 7",
        ),
        (
            "T[t,r] -> C[floor(t/4) + 8*floor(r/2), 2*(t mod 4) + (r mod 2)] : 0 <= t < 16 and 0 <= r < 4",
            "C[i0, i1] -> T[floor(i1/2) + 4*(i0 mod 8), 2*floor(i0/8) + (i1 mod 2)] : 0 <= i0 <= 15 and "
            "i0 mod 8 <= 3 and 0 <= i1 <= 7",
        ),
    ],
)
def test_text_of_inverses(text: str, want: str) -> None:
    assert str(Map(f"{{ {text} }}").reverse()) == f"{{ {want} }}"


def test_text_of_an_output_beside_a_congruence() -> None:
    text = str(Map("{ S[i,j] -> A[3i, j - 1] : (i + j) mod 2 = 1 }"))
    assert text == "{ S[i, j] -> A[3*i, j - 1] : (i + j) mod 2 = 1 }"


@pytest.mark.parametrize(
    "nested, want",
    [
        ("floor((8*floor(i/32) + (i mod 8))/32)", "floor(i/128)"),
        ("floor((8*floor(i/32) + (floor(i/4) mod 8))/64)", "floor(i/256)"),
        ("floor((8*floor(i/32) + 2*(floor(i/8) mod 4) + (i mod 2))/16)", "floor(i/64)"),
    ],
)
def test_text_of_sums_of_digits(nested: str, want: str) -> None:
    text = f"{{ [i] -> [{nested}] }}"
    assert str(Map(text)) == f"{{ [i] -> [{want}] }}"
    for i in range(-300, 600):
        assert value(nested, {"i": i}) == value(want, {"i": i})


@pytest.mark.parametrize(
    "text, want",
    [
        ("T[t,r] -> C[floor(t/4) + 4*floor(r/4), 4*(t mod 4) + (r mod 4)] : 0 <= t < 32 and 0 <= r < 8",
         "C[i0, i1] : 0 <= i0 <= 11 and 0 <= i1 <= 15"),
        ("A[i] -> [floor(i/4) mod 4, 4*floor(i/16) + (i mod 4)]", "[i0, i1] : 0 <= i0 <= 3"),
        ("A[a,b,c] -> [a + 4b + 16c] : 0 <= a < 4 and 0 <= b < 4 and 0 <= c < 3", "[i0] : 0 <= i0 <= 47"),
    ],
)  # fmt: skip
def test_text_of_ranges(text: str, want: str) -> None:
    assert str(Map(f"{{ {text} }}").range()) == f"{{ {want} }}"
