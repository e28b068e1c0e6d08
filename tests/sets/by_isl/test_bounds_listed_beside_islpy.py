"""Constraints where a dimension is a floor: bounds, as isl has them, and what is left without some."""

import random

import pytest

import polyvolta.isl as ours

TILES = [
    "[n] -> { S[i, a] : 4a <= i <= 4a + 3 and 0 <= i < n }",
    "{ S[i, a] : 4a - 2 <= i <= 4a + 1 }",
    "[n] -> { S[t, x] : 32t <= x <= 32t + 31 and 0 <= x < n }",
    "[n] -> { S[a, b, i, j] : 4a <= i <= 4a + 3 and 4b <= j <= 4b + 3 and 0 <= i < n and 0 <= j < n }",
    "[n] -> { S[i, j] : 2j <= 3i + n <= 2j + 1 and 0 <= i < n }",
    "[n] -> { S[i, j, k] : 4j <= i <= 4j + 3 and 3k <= j <= 3k + 2 }",
]


def rows(piece, is_ours):
    """The constraints, by coefficients of names and 1."""
    found = set()
    for c in piece.get_constraints():
        numbers = c.get_coefficients_by_name()
        number = int if is_ours else lambda v: v.to_python()
        found.add((c.is_equality(), frozenset((str(n), number(v)) for n, v in numbers.items() if number(v))))
    return found


@pytest.mark.parametrize("text", TILES)
def test_bounds_are_those_of_isl(text):
    isl = pytest.importorskip("islpy")
    wanted, found = rows(isl.BasicSet(text), False), rows(ours.BasicSet(text), True)
    assert wanted <= found and not any(equal for equal, _ in found)


DROPS = [
    ("[n] -> { [i, j, k] : i = k + 1 and i mod 3 = 1 and 3 <= j < k + 4 }", "not_involving", "set", 2, 1),
    ("[n] -> { [i, j, k] : i = k + 1 and i mod 3 = 1 and 3 <= j < k + 4 }", "involving", "set", 2, 1),
    ("[n] -> { [i, j, k] : j mod 2 = 1 and j <= k + 3n and k mod 2 = 0 and i = k - 1 }", "involving", "set", 2, 1),
    ("[n] -> { S[i] : i mod 4 = 1 and 0 <= i < n and n > 8 }", "not_involving", "set", 0, 1),
    ("{ S[i] -> [a] : 4a <= i <= 4a + 3 and a > 3 }", "involving", "in_", 0, 1),
    ("{ S[i] -> [a] : 4a <= i <= 4a + 3 and a > 3 }", "not_involving", "out", 0, 1),
    ("[n] -> { S[i] -> [a] : 4a <= i <= 4a + 3 and a > n }", "involving", "param", 0, 1),
    ("[n] -> { S[i] -> [a] : 4a <= i <= 4a + 3 and a < n }", "involving", "in_", 0, 1),
    ("[n] -> { S[i, j] : i = j and 0 <= i < n and j >= 4 }", "involving", "set", 0, 1),
    ("[n] -> { S[i, j] : i = j and 0 <= i < n and j >= 4 }", "involving", "set", 1, 1),
    ("[n] -> { S[i, j] : exists a: j = 32a and 0 <= a and j <= i < j + 32 and i < n }", "involving", "param", 0, 1),
    ("[n] -> { S[i, j] : exists a: j = 32a and 0 <= a and j <= i < j + 32 and i < n }", "involving", "set", 0, 1),
    ("[n] -> { S[i, j] : exists a: j = 32a and 0 <= a and j <= i < j + 32 and i < n }", "not_involving", "set", 1, 1),
]


@pytest.mark.parametrize(("text", "which", "kind", "first", "n"), DROPS)
def test_what_is_left_is_isls(text, which, kind, first, n):
    isl = pytest.importorskip("islpy")
    name = "Map" if "->" in text.partition("{")[2] else "Set"
    found, wanted = (getattr(getattr(m, name)(text), f"drop_constraints_{which}_dims")(
        getattr(m.dim_type, kind), first, n) for m in (ours, isl))  # fmt: skip
    assert wanted.is_equal(getattr(isl, name)(str(found)))


def test_equalities_of_floors_say_their_bounds():
    """A multiple of a floor is one, between bounds; a remainder is between 0 and what it is of."""
    (piece,) = ours.Set("[n] -> { S[i, j] : j = 32*floor(i/32) and 0 <= i < n }").get_basic_sets()
    assert {"i - j >= 0", "j - i + 31 >= 0", "-(j mod 32) = 0"} <= {str(c) for c in piece.get_constraints()}
    (piece,) = ours.Set("{ S[i, k] : k = i mod 4 }").get_basic_sets()
    assert {"k >= 0", "3 - k >= 0"} <= {str(c) for c in piece.get_constraints()}


def test_random_pieces_are_what_they_list_and_within_what_is_left():
    isl, rng = pytest.importorskip("islpy"), random.Random(5)
    tried = 0
    while tried < 60:
        d, m = rng.randint(2, 5), rng.choice([1, 1, 2, 3])
        a, b, c = (rng.randint(-2, 3) for _ in range(3))
        bound = rng.choice(["j >= n", f"i <= {rng.randint(3, 20)}", "k > 2 and k < n", f"i >= {d}n", f"j < {c}"])
        text = f"[n] -> {{ [i, j, k] : exists e: j = {m}e + {b} and {d}e <= {a}k + i < {d}e + {d} and {bound} }}"
        pieces = ours.Set(text).get_basic_sets()
        if len(pieces) != 1:
            continue
        tried += 1
        whole = isl.Set(text)
        said = " and ".join(map(str, pieces[0].get_constraints())) or "1 = 1"
        assert isl.Set(f"[n] -> {{ [i, j, k] : {said} }}").is_equal(whole), text
        kinds = ours.dim_type.cst, ours.dim_type.param, ours.dim_type.set, ours.dim_type.div
        eqs, ineqs = pieces[0].equalities_matrix(*kinds), pieces[0].inequalities_matrix(*kinds)
        back = ours.BasicSet.from_constraint_matrices(pieces[0].get_space(), eqs, ineqs, *kinds)
        assert isl.Set(str(back)).is_equal(whole)
        for k in range(3):
            left = pieces[0].drop_constraints_involving_dims(ours.dim_type.set, k, 1)
            rest = pieces[0].drop_constraints_not_involving_dims(ours.dim_type.set, k, 1)
            assert all(whole.is_subset(isl.Set(str(s))) for s in (left, rest)), text
            if not left.involves_locals() and not rest.involves_locals():
                assert isl.Set(str(left & rest)).is_equal(whole), text
