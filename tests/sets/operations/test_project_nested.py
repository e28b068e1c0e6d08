"""Dimensions that go, where floors of them are in others: any value that was left out is looked up."""

import random
from itertools import product

import pytest

from polyvolta.sets import Map, Set

SIDE = range(-4, 5)


def drawn(rng):
    """Text and value of a condition on i, which goes, j and k: a floor of j and k and of a floor of i, and bounds."""
    a, b, m, n = rng.choice([1, 1, 2, -1]), rng.randint(-2, 2), rng.choice([2, 3, 4]), rng.choice([2, 3, 5])
    c, d, wide = rng.choice([2, 3, -2, 1]), rng.choice([0, 1, 2, -1]), rng.randint(2, 5)
    low, high, kind = rng.randint(-4, 0), rng.randint(1, 6), rng.choice(["=", "<=", "mod"])
    inner = f"floor(({a}i + {b})/{m})"
    outer = f"floor(({c}*{inner} + {d}j + k)/{n})"
    side = {"=": f"{outer} = j", "<=": f"{outer} <= j and {wide}*{inner} >= k + j", "mod": f"({outer} + k) mod 3 = 1"}
    text = f"{low} <= i <= {high} and -4 <= j <= 4 and -4 <= k <= 4 and {side[kind]}"

    def value(i, j, k):
        e = (a * i + b) // m
        f = (c * e + d * j + k) // n
        said = {"=": f == j, "<=": f <= j and wide * e >= k + j, "mod": (f + k) % 3 == 1}
        return low <= i <= high and said[kind]

    return text, value


@pytest.mark.parametrize("seed", range(2))
def test_floors_of_floors_of_what_goes(seed):
    rng = random.Random(seed)
    for _ in range(12):
        text, value = drawn(rng)
        left = Set(f"{{ [i, j, k] : {text} }}").project_out("i")
        through = Map(f"{{ [j, k] -> [i] : {text} }}").domain()
        for j, k in product(SIDE, SIDE):
            wanted = any(value(i, j, k) for i in range(-4, 7))
            assert left.contains((j, k)) == wanted == through.contains((j, k)), (text, j, k)


@pytest.mark.parametrize("seed", range(2))
def test_floors_of_floors_in_compositions(seed):
    """A middle dimension goes, of whose floors each map has some."""
    rng = random.Random(10 + seed)
    for _ in range(8):
        text, value = drawn(rng)
        m, s = rng.choice([2, 3]), rng.randint(-1, 1)
        first = Map(f"{{ [x] -> [i] : floor((2x + i)/{m}) = {s} and -4 <= x <= 4 }}")
        both = first.apply_range(Map(f"{{ [i] -> [j, k] : {text} }}"))
        for x, j, k in product(range(-4, 5), range(-4, 5, 2), range(-4, 5)):
            wanted = any(value(i, j, k) for i in range(-4, 7) if (2 * x + i) // m == s)
            assert both.contains((x, j, k)) == wanted, (text, m, s, x, j, k)


@pytest.mark.parametrize("seed", range(3))
def test_two_that_go_as_one(seed):
    """e + 4f, or a multiple of it, where e takes as many values as there are between two multiples, more or fewer."""
    rng = random.Random(20 + seed)
    for _ in range(25):
        step, wide, first = rng.choice([2, 3, 4, 5, -3, -2]), rng.randint(0, 5), rng.randint(-1, 1)
        low, high = rng.randint(-2, 0), rng.randint(0, 3)
        (a, b), c, d = rng.choice([(2, 3), (3, 2), (3, 5), (5, 3), (4, 3)]), rng.randint(-2, 2), rng.randint(-2, 2)
        other = rng.choice([step, step, step, step + 1])
        ends = [f"e >= {first}", f"e <= {first + wide}", f"f >= {low}", f"f <= {high}"]
        open_end = rng.choice([None, None, None, 0, 1, 2, 3])
        said = " and ".join(row for k, row in enumerate(ends) if k != open_end)
        left = Set(
            f"{{ [i, j] : exists e, f : {said} and {a}*(e + {step}f) >= i + {c} and {b}*(e + {other}f) <= j + {d} }}"
        )
        es = range(first if open_end != 0 else -60, (first + wide if open_end != 1 else 60) + 1)
        fs = range(low if open_end != 2 else -30, (high if open_end != 3 else 30) + 1)
        pairs = {(e + step * f, e + other * f) for e, f in product(es, fs)}
        for i, j in product(range(-13, 17, 2), range(-12, 16)):
            wanted = any(a * x >= i + c and b * y <= j + d for x, y in pairs)
            assert left.contains((i, j)) == wanted, (said, step, other, i, j)


@pytest.mark.parametrize("step", [2, 3, -3, 5])
@pytest.mark.parametrize("coarse", [(0, 2), (-1, None), (None, 1)])
def test_digits_without_a_gap_are_one_number(step, coarse):
    """Where e takes |step| values or more, one piece says x <= 3 (e + step f) <= x + 1; so it does with -3."""
    low, high = coarse
    ends = " and ".join([f"f >= {low}"] * (low is not None) + [f"f <= {high}"] * (high is not None))
    fs = range(-40 if low is None else low, 41 if high is None else high + 1)
    for first, many, times in product((-1, 0, 1), (abs(step) - 1, abs(step), abs(step) + 1), (3, -3)):
        last = first + many - 1
        s = Set(f"{{ [x] : exists e, f : {first} <= e <= {last} and {ends} and x <= {times}*(e + {step}f) <= x + 1 }}")
        values = {times * (e + step * f) for e, f in product(range(first, last + 1), fs)}
        flat = s.known_divs()
        assert len(flat.pieces) == 1 or many < abs(step)
        assert [x for x in range(-40, 41) if flat.contains((x,))] == [
            x for x in range(-40, 41) if x in values or x + 1 in values
        ]
