"""Optima of unions of graphs of functions, against the least and the greatest value at each point."""

import random
from itertools import product

import pytest

from polyvolta.sets import Map, Set, budget
from polyvolta.sets.optima import unions

SIDE = range(-7, 15)


def affine(rng):
    a, b, c = rng.randint(-2, 2), rng.randint(-2, 2), rng.randint(-5, 5)
    return f"{a}N + {b}i + {c}", lambda n, i: a * n + b * i + c


def drawn_function(rng):
    """Text and value, None where it is not defined, of a min or max within bounds or without."""
    (e, f), (g, h) = affine(rng), affine(rng)
    name, choose = rng.choice([("min", min), ("max", max)])
    low, high = rng.randint(-4, 3), rng.randint(3, 11)
    bounded = rng.random() < 0.6
    text = f"[i] -> [{name}({e}, {g})]" + (f" : {low} <= i <= {high}" if bounded else "")
    return text, lambda n, i: choose(f(n, i), h(n, i)) if not bounded or low <= i <= high else None


@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_several_functions(seed):
    rng = random.Random(seed)
    functions = [drawn_function(rng) for _ in range(rng.randint(3, 6))]
    union = Map(f"[N] -> {{ {'; '.join(text for text, _ in functions)} }}")
    for best, choose in ((union.lexmin(), min), (union.lexmax(), max)):
        table = {}
        for piece in best.intersect_domain(Map("[N] -> { [i] -> [0] : -7 <= i <= 14 }").domain()).pieces:
            at = piece.intersect_params(Map("[N] -> { [i] -> [i] : -7 <= N <= 14 }").params())
            for n in SIDE:
                for i, value in at.fix(N=n).points():
                    assert table.setdefault((n, i), value) == value
        for n, i in product(SIDE, SIDE):
            values = [v for _, f in functions if (v := f(n, i)) is not None]
            assert table.get((n, i)) == (choose(values) if values else None)


def test_the_pieces_of_the_best_do_not_multiply():
    """One had 132 pieces before what it beats was looked at all at once."""
    best = Map(
        "[N] -> { [i, j] -> [min(max(2j + 5, -2j + N - 4), i + N + 4)] : 3 <= i <= 10 and 3 <= j <= 13;"
        "[i, j] -> [max(min(-j + i - 5, -i + 2j + 1), 2i - 2j - 1)] : 0 <= i <= 9 and 0 <= j <= 13;"
        "[i, j] -> [max(max(-j + N - 5, j - N - 3), -2N - 4)];"
        "[i, j] -> [min(max(2N + i, -j + N - 3), -2i + j - 2)] }"
    ).lexmax()
    assert len(best.pieces) < 70
    assert best.is_single_valued()


NEIGHBOURS = [  # (a set of a, what its least point is where): two cells of the search that say the same are one piece
    ("[N] -> { [a] : exists x, y : 0 <= x < N and 0 <= y < N and a = y + 3N - 3x - 3 and 2x - 3y + 4 >= 0 }",
     lambda n: 0 if n >= 1 else None),
    ("[N] -> { [a] : exists x, y, z : 0 <= x, y, z < N and a = x + y - 3z - 2 and a + N + x + 2 >= 0 }",
     lambda n: -2 * n if n >= 1 else None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "least"), NEIGHBOURS)
def test_cells_with_one_value_are_one_piece(text, least):
    best = Set(text).lexmin()
    assert len(best.pieces) == 1
    for n in range(-3, 12):
        assert [v for (v,) in best.fix(N=n).points()] == ([] if least(n) is None else [least(n)])


def test_what_beats_in_two_ranges_is_told_once():
    """The outputs (6, 6) win below the other piece's domain and within it: one piece; the values are looked up."""
    a = "0 <= i < 7 and -2 <= j < N"
    b = "0 <= i < 7 and 0 <= j < 7 and 2j >= N + 4"
    best = Set(f"[N, M] -> {{ [i, j] : {a}; [i, j] : {b} }}").lexmax()
    assert len(best.pieces) == 2
    for n in range(-6, 15):
        points = [(i, j) for i in range(7) for j in range(-2, n)]
        points += [(i, j) for i in range(7) for j in range(7) if 2 * j >= n + 4]
        assert list(best.points(N=n, M=0)) == [max(points)]


def test_an_equality_of_floors_alone_gives_no_input():
    """i odd and i mod 3 = 1 hold two floors equal, in a row that has none of the inputs."""
    m = Map(
        "{ [i] -> [k] : -3 <= i <= 4 and -3 <= k <= 4 and (i + i mod 2 <= 0 or i <= 0 or"
        " (-i + 3k - 4((i + k) mod 2) - 1) mod 6 - k <= -4) }"
    )
    outputs = {}
    for i, k in product(range(-3, 5), range(-3, 5)):
        if i <= 0 or (-i + 3 * k - 4 * ((i + k) % 2) - 1) % 6 - k <= -4:
            outputs.setdefault(i, []).append(k)
    for f, choose in ((m.lexmin_pw_multi_aff(), min), (m.lexmax_pw_multi_aff(), max)):
        assert {(i, k) for i, k in f.as_map().points()} == {(i, choose(ks)) for i, ks in outputs.items()}


def drawn_expression(rng):
    a, b, c, d = rng.randint(-1, 2), rng.randint(-1, 1), rng.randint(-2, 2), rng.choice([1, 1, 2, 3])
    return f"floor(({a}i + {b}j + {c})/{d})", lambda i, j: (a * i + b * j + c) // d


def drawn_piece(rng):
    """Text and values, None where there are none, of two outputs on a line or a plane, in a residue or in all."""
    outputs = [drawn_expression(rng) for _ in range(2)]
    if rng.random() < 0.3:  # often alike in the first
        outputs[0] = ("0", lambda i, j: 0)
    low, line, (r, d) = rng.randint(-2, 2), rng.choice([None, None, 0, 1]), rng.choice([(0, 1), (0, 2), (1, 2), (1, 3)])
    text = f"[i, j] -> [{outputs[0][0]}, {outputs[1][0]}] : {low} <= i and (i + j) mod {d} = {r}"
    text += "" if line is None else f" and j = i + {line}"

    def values(i, j):
        there = low <= i and (i + j) % d == r and (line is None or j == i + line)
        return tuple(f(i, j) for _, f in outputs) if there else None

    return text, values


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 6, 7])
def test_the_best_of_several_pairs(seed):
    """Lexicographically, with floors in values and residues and lines of inputs."""
    rng, box = random.Random(seed), range(-3, 5)
    pieces = [drawn_piece(rng) for _ in range(rng.randint(2, 5))]
    union = Map(f"{{ {'; '.join(text for text, _ in pieces)} }}")
    inside = Set("{ [i, j] : -3 <= i, j <= 4 }")
    for best, choose in ((union.lexmin(), min), (union.lexmax(), max)):
        wanted = set()
        for i, j in product(box, box):
            values = [v for _, f in pieces if (v := f(i, j)) is not None]
            wanted |= {(i, j, *choose(values))} if values else set()
        assert set(best.intersect_domain(inside).wrap().flatten().points()) == wanted


STRIDED = [  # (text of a piece, its values at N and x)
    ("(x + i) mod 3 = 0 and 0 <= i <= N", lambda n, x: (i for i in range(n + 1) if (x + i) % 3 == 0)),
    ("x mod 2 = 0 and -3 <= i <= 7", lambda n, x: range(-3, 8) if x % 2 == 0 else ()),
    ("i mod 5 = 2 and x <= i <= 12", lambda n, x: (i for i in range(x, 13) if i % 5 == 2)),
]  # fmt: skip


def test_the_best_of_pieces_with_different_strides():
    """In inputs, in outputs and in both; at each input the values of all pieces are looked at."""
    best = Map(f"[N] -> {{ {'; '.join(f'[x] -> [i] : {text}' for text, _ in STRIDED)} }}").lexmax()
    inside = Set("{ [x] : -4 <= x <= 13 }")
    for n in (-1, 6, 15):
        found = {x: [i for _, values in STRIDED for i in values(n, x)] for x in range(-4, 14)}
        wanted = {(x, max(values)) for x, values in found.items() if values}
        assert set(best.fix(N=n).intersect_domain(inside).points()) == wanted


def test_the_same_values_of_several_pieces_are_compared_once():
    """The next point that touches the same line, of nine that each touches: most pairs say it in the same way."""
    near, n = list(product(range(3), repeat=2)), 11
    text = "; ".join(f"[i, j] -> [i + {a}, floor((j + {b})/8)] : 0 <= i < N and 0 <= j < N" for a, b in near)
    touched = Map(f"[N] -> {{ {text} }}")
    same = touched.apply_range(touched.reverse()) & Map("{ [i, j] -> [k, l] : k > i or (k = i and l > j) }")
    with budget(5_500):
        soon = same.lexmin()
    lines = {(i, j): {(i + a, (j + b) // 8) for a, b in near} for i, j in product(range(n), repeat=2)}
    wanted = set()
    for p, own in lines.items():
        later = [q for q, others in lines.items() if q > p and own & others]
        wanted |= {(*p, *min(later))} if later else set()
    assert set(soon.fix(N=n).wrap().flatten().points()) == wanted


def test_comparisons_are_remembered(monkeypatch):
    m = Map("[N] -> { [i] -> [2i + N] : i < N; [i] -> [3i] : i >= 0; [i] -> [i + 5] : i <= 2N }")
    first = m.lexmax()
    monkeypatch.setattr(unions, "_occurs", None)
    assert m.lexmax() == first
