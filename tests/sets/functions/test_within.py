"""Gists of functions: the same values in the context, fewer cells and floors."""

import random

import pytest

from polyvolta.sets import OutsideDomain, PwAff, Set

SHORT = [
    # two cells whose values agree, in a context that both halves of it say
    ("[N] -> { [x] -> [-x - 3] : 0 <= x < N and x <= 4; [x] -> [-x - 3] : 0 <= x < N and x > 4 }",
     "[N] -> { [x] : 0 <= x < N and x mod 4 = 3 }", "[N] -> { [x] -> [(-x - 3)] }"),
    # a point: the floor is a number
    ("{ [x] -> [x mod 2] : x = 2; [x] -> [x + 2] : x != 2 }", "{ [x] : x = 2 }", "{ [x] -> [(0)] }"),
    # a stride: 4 floor(x/4) is x - 3
    ("{ [x] -> [4*floor(x/4)] : x >= 0 }", "{ [x] : x mod 4 = 3 }", "{ [x] -> [(x - 3)] : x >= 0 }"),
    # different expressions, equal where it counts
    ("{ [x] -> [x] : x >= 0; [x] -> [-x] : x < 0 }", "{ [x] : x >= 0 }", "{ [x] -> [(x)] }"),
    # the context is two pieces, the cells fill them
    ("{ [x] -> [2x] : x != 1; [x] -> [0] : x = 1 }", "{ [x] : x != 1 }", "{ [x] -> [(2*x)] }"),
    # all residues but one
    ("{ [x] -> [2] : 0 <= x <= 9 and x mod 3 = 1; [x] -> [x] : 0 <= x <= 9 and not x mod 3 = 1 }",
     "{ [x] : 0 <= x <= 9 }", "{ [x] -> [(2)] : x mod 3 = 1; [x] -> [(x)] : (x + 1) mod 3 <= 1 }"),
    # a range makes the remainder a difference
    ("{ [x] -> [(-x) mod 4] : x >= -2 }", "{ [x] : -2 <= x <= -1 }", "{ [x] -> [(-x)] }"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "context", "short"), SHORT)
def test_short(function, context, short):
    assert str(PwAff(function).gist(Set(context))) == short


def at(f, point, n):
    named = dict(zip(("N", *f.inp.dims), (n, *point)))
    try:
        return f(**{k: v for k, v in named.items() if k in f.names})
    except OutsideDomain:
        return None


def test_cells_that_turn_out_to_be_empty_are_no_obstacle():
    """Beyond the context a cell has no point, not even a rational one (campaign, seed 20261129)."""
    one = "-3 <= i <= 4 and -3 <= j <= 4"
    first, second = "j >= 3 and N <= 0", "(i + 2*floor((N + 3j + 3)/2)) mod 4 = 0 and (N - 2j - 5) mod 4 = 0"
    pieces = f"[i, j] -> [N - 2] : {one} and {first}; [i, j] -> [N] : {one} and not ({first}) and {second}"
    f = PwAff(f"[N] -> {{ {pieces} }}")
    short = f.gist(Set(f"[N] -> {{ [i, j] : {one} and i >= 0 }}"))
    for n in (-3, 0, 1, 2, 5):
        for point in [(i, j) for i in range(5) for j in range(-3, 5)]:
            assert at(f, point, n) == at(short, point, n), (point, n)


def condition(draw, names):
    row = " + ".join(f"{draw.choice([1, -1, 2, 3])}{v}" for v in draw.sample(names, draw.choice([1, len(names)])))
    d = draw.choice([2, 3, 4])
    const = draw.randint(-4, 4)
    return draw.choice([f"{row} >= {const}", f"({row}) mod {d} = {draw.randrange(d)}", f"{names[0]} != {abs(const)}"])


def value(draw, names):
    row = " + ".join(f"{draw.choice([1, -1, 2, 3])}{v}" for v in names)
    d = draw.choice([2, 3, 4])
    return draw.choice([row, f"floor(({row})/{d}) + {names[0]}", f"({row} + 1) mod {d}"])


@pytest.mark.parametrize("seed", range(2))
def test_random_functions_keep_their_values(seed):
    draw = random.Random(seed)
    for _ in range(6):
        dims = ["x", "y"][: draw.choice([1, 2])]
        names = dims + draw.choice([[], ["N"]])
        tests = [condition(draw, names) for _ in range(draw.choice([1, 2]))]
        inside = " and ".join(draw.choice([f"0 <= {v} < N", f"{v} >= 0"]) for v in dims)
        pieces, before = [], ""
        for t in (*tests, "0 = 0"):
            pieces.append(f"[{', '.join(dims)}] -> [{value(draw, names)}] : {inside} {before} and {t}")
            before += f" and not ({t})"
        f = PwAff("[N] -> { " + "; ".join(pieces) + " }")
        known = draw.choice([tests[0], f"not ({tests[0]})", condition(draw, names), f"{tests[-1]} or {dims[0]} >= 3"])
        context = Set(f"[N] -> {{ [{', '.join(dims)}] : {known} }}")
        short = f.gist(context)
        for n in (-1, 0, 2, 3, 7):
            side = range(-2, 7)
            for point in [(x, y) for x in side for y in side] if len(dims) == 2 else [(x,) for x in range(-4, 12)]:
                if context.contains(point, **({"N": n} if "N" in context.param_names else {})):
                    assert at(f, point, n) == at(short, point, n), (f, context, point, n)
