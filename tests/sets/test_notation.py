"""isl's notation as isl itself writes it: what islpy prints must be read here as the same points.

Optional: needs islpy, which is an oracle only.
"""

import itertools
import random

import pytest

from polyvolta.sets import Map, Set

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


def expression(rng: random.Random, names: list[str], depth: int = 2) -> str:
    pick = rng.randrange(9 if depth else 3)
    a = rng.choice(names)
    sub = lambda: expression(rng, names, depth - 1)  # noqa: E731
    return [
        lambda: f"{rng.randint(-3, 4)}{a}",
        lambda: a,
        lambda: str(rng.randint(-4, 5)),
        lambda: f"{sub()} + {sub()}",
        lambda: f"{sub()} - {rng.randint(1, 3)}*({sub()})",
        lambda: f"floor(({sub()})/{rng.randint(2, 5)})",
        lambda: f"({sub()}) mod {rng.randint(2, 5)}",
        lambda: f"{rng.randint(2, 3)} * {a} mod {rng.randint(2, 5)}",
        lambda: f"{rng.choice(['min', 'max'])}({sub()}, {sub()})",
    ][pick]()


def formula(rng: random.Random, names: list[str], depth: int = 2) -> str:
    sub = lambda: formula(rng, names, depth - 1)  # noqa: E731
    op = lambda: rng.choice(["<=", "<", ">=", ">", "=", "!="])  # noqa: E731
    e = lambda: expression(rng, names)  # noqa: E731
    pick = rng.randrange(9 if depth else 4)
    return [
        lambda: f"{e()} {op()} {e()}",
        lambda: f"{e()} <= {rng.choice(names)} {op()} {e()}",
        lambda: f"{rng.choice(names)}, {rng.choice(names)} {op()} {e()}",
        lambda: f"{', '.join(names[:2])} {rng.choice(['<<', '<<=', '>>', '>>='])} {e()}, {e()}",
        lambda: f"{sub()} and {sub()}",
        lambda: f"({sub()} or {sub()})",
        lambda: f"not ({sub()})",
        lambda: f"({sub()} implies {sub()})",
        lambda: f"(exists e{depth} : {formula(rng, [*names, f'e{depth}'], 0)})",
    ][pick]()


def drawn(seed: int) -> tuple[str, int, bool, int]:
    """A random text, its number of dimensions, whether it is a map, and how many of the dimensions are inputs."""
    rng = random.Random(seed)
    is_map = rng.random() < 0.4
    names, n = ["N", "i", "j"], 2
    if is_map:
        tuples = f"[i] -> [{rng.choice(['j', 'j', 'j = ' + expression(rng, ['N', 'i'])])}]"
    else:
        tuples = rng.choice(["[i, j]", "[i, j]", f"[i, j = {expression(rng, ['N', 'i'])}]"])
    parts = [f"{tuples} : {formula(rng, names)}" for _ in range(rng.randint(1, 2))]
    return f"[N] -> {{ {'; '.join(parts)} }}", n, is_map, 1 if is_map else 0


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


def test_tuples_as_isl_writes_them():
    for text in ("{ [[i] -> [j]] -> [i, j] }", "{ T[[i] -> [[j] -> [k]]] -> A[] }", "{ [i, *] -> [*] }"):
        theirs = str(isl.Map(text))
        assert Map(theirs).is_equal(Map(text))
    for text in ("[N = 5] -> { [i] : i < N }", "{ A[] }", "[n] -> { : n > 3 }", "{ T[[i] -> [[j] -> [k]]] }"):
        assert Set(str(isl.Set(text))).is_equal(Set(text))


def test_the_box_is_enumerated_as_brute_force_does():
    text = "[N] -> { [i, j] : 0 <= i < N and j = 2i }"
    brute = {(N, i, j) for N, i, j in itertools.product(PARAMETERS, BOX, BOX) if 0 <= i < N and j == 2 * i}
    assert members(text, 2, False) == brute == mine(text, 2, False)
