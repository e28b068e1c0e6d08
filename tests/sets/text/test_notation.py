"""isl's notation as isl itself writes it: what islpy prints must be read here as the same points.

Optional: needs islpy, which is an oracle only.
"""

import itertools
import random

import pytest

from polyvolta.sets import Map, Set, SetSyntaxError
from tests.sets.texts import drawn

isl = pytest.importorskip("islpy")

BOX = range(-3, 5)
PARAMETERS = (-1, 0, 3)


def members(text: str, n: int, is_map: bool, n_in: int = 0) -> frozenset:
    """The points in the box, parameter N first, by isl."""
    dims = [f"x{k}" for k in range(n)]
    tuples = f"[{', '.join(dims[:n_in])}] -> [{', '.join(dims[n_in:])}]" if is_map else f"[{', '.join(dims)}]"
    bounds = " and ".join([*(f"{BOX[0]} <= {d} <= {BOX[-1]}" for d in dims), "-1 <= N <= 3"])
    kind = isl.Map if is_map else isl.Set
    boxed = kind(text).intersect(kind(f"[N] -> {{ {tuples} : {bounds} }}"))
    wrapped = boxed.wrap().flatten() if is_map else boxed
    found = []
    wrapped = wrapped.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, 1)
    wrapped.foreach_point(lambda p: found.append(_values(p, n + 1)))
    return frozenset(p for p in found if p[0] in PARAMETERS)


def _values(point, n: int) -> tuple[int, ...]:
    return tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(n))


def mine(text: str, n: int, is_map: bool, n_in: int = 0) -> frozenset:
    """The points in the box, by evaluating the set read here."""
    relation = Map(text).wrap() if is_map else Set(text)
    dims = [f"x{k}" for k in range(n)]
    bounds = " and ".join(f"{BOX[0]} <= {d} <= {BOX[-1]}" for d in dims)
    shape = f"[[{', '.join(dims[:n_in])}] -> [{', '.join(dims[n_in:])}]]" if is_map else f"[{', '.join(dims)}]"
    found = set()
    for N in PARAMETERS:
        boxed = relation.intersect(Set(f"[N] -> {{ {shape} : {bounds} and N = {N} }}"))
        found |= {(N, *p) for p in boxed.points(N=N)}
    return frozenset(found)


@pytest.mark.parametrize("block", range(8))
def test_what_isl_reads_and_prints_is_read_here(block):
    for seed in range(40 * block, 40 * block + 40):
        text, n, is_map, n_in = drawn(seed)
        theirs = (isl.Map if is_map else isl.Set)(text)
        expected = members(text, n, is_map, n_in)
        assert mine(text, n, is_map, n_in) == expected, text
        assert mine(str(theirs), n, is_map, n_in) == expected, str(theirs)


@pytest.mark.parametrize("block", range(4))
def test_what_is_printed_here_reads_back(block):
    for seed in range(1000 + 40 * block, 1000 + 40 * block + 40):
        text, n, is_map, n_in = drawn(seed)
        kind = Map if is_map else Set
        first = kind(text)
        again = kind(str(first))
        assert again.is_equal(first), text
        assert members(str(first), n, is_map, n_in) == mine(text, n, is_map, n_in), str(first)


def test_isl_reads_products_and_remainders_as_we_do():
    for body in (
        "2 * i mod 4 = 2", "2i mod 4 = 2", "2i // 4 = 2", "i * 3 / 2 = 3", "i = -3 mod 5", "-i mod 4 = -1",
        "3 * i/2 <= 4", "2 * i * 3 mod 5 = 2", "i = 3 * 7 mod 2", "i = 2^3 mod 3", "(i + 1)/2 // 3 = 1",
        "i <= 5/2", "(i + 1)/2 >= 2", "i * 1/2 <= 3", "i = floor(5/2) + 1/2", "[i/3 + 1/2] = 1", "ceild(i, 2) = 1",
        "floord(i, 2) = 1", "i/2 = 2", "5 + -3 mod 5 = i", "i > 0 && i < 3 || i = 7", "!(i > 0)", "2 * 3i = 6",
    ):  # fmt: skip
        text = f"[N] -> {{ [i] : {body} }}"
        assert mine(text, 1, False) == members(text, 1, False), text


def product_of(rng: random.Random, depth: int = 0) -> str:
    """A sum of products, remainders and quotients; isl does not take all of them."""
    atoms = ["i", "i", f"floor(i/{rng.randint(2, 3)})", "max(i, 2)", str(rng.randint(0, 4))]
    text = ""
    for k in range(rng.randint(1, 2)):
        text += rng.choice([" + ", " - "]) if k else ""
        text += rng.choice(["", "", "-", "- "])
        text += f"({product_of(rng, depth + 1)})" if depth < 2 and rng.random() < 0.2 else rng.choice(atoms)
        for _ in range(rng.randint(0, 3)):
            n = rng.randint(1, 5)
            text += rng.choice([f" mod {n}", f"*{n}", f"*-{n}", f"/{n}", f"*({n})", f"*{rng.choice(atoms)}"])
    return text


def test_isl_reads_any_product_and_remainder_as_we_do():
    rng, read = random.Random(5), 0
    while read < 400:
        text = f"[N] -> {{ [i, j] : j = {product_of(rng)} }}"
        try:
            expected = members(text, 2, False)
        except isl.Error:
            continue  # such as 2 mod 3 * 4
        try:
            found = mine(text, 2, False)
        except SetSyntaxError as error:
            assert "a remainder of a quotient" in str(error), text
            continue
        read += 1
        assert found == expected, text


def test_tuples_as_isl_writes_them():
    for text in ("{ [[i] -> [j]] -> [i, j] }", "{ T[[i] -> [[j] -> [k]]] -> A[] }", "{ [i, *] -> [*] }"):
        theirs = str(isl.Map(text))
        assert Map(theirs).is_equal(Map(text))
    for text in ("[N = 5] -> { [i] : i < N }", "{ A[] }", "[n] -> { : n > 3 }", "{ T[[i] -> [[j] -> [k]]] }"):
        assert Set(str(isl.Set(text))).is_equal(Set(text))
    for text in ("{ : ; S[2] }", "[N] -> { S[i] : 0 <= i < N; : N > 3 }", "[N] -> { : N > 3; : N < 0 }"):
        assert Set(str(isl.UnionSet(str(Set(text))))).is_equal(Set(text))


def test_the_box_is_enumerated_as_brute_force_does():
    text = "[N] -> { [i, j] : 0 <= i < N and j = 2i }"
    brute = {(N, i, j) for N, i, j in itertools.product(PARAMETERS, BOX, BOX) if 0 <= i < N and j == 2 * i}
    assert members(text, 2, False) == brute == mine(text, 2, False)
