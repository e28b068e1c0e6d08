"""Whether inputs have two outputs, and outputs two inputs: against lists of pairs."""

import itertools
import random

import pytest

from polyvolta.sets import Map, Set, budget


def pairs(m):
    """The pairs of a relation of [i, j] to [k] within a box, with the tuples they are of."""
    box = itertools.product(range(-1, 5), range(-1, 5), range(-4, 12))
    return {(s.out.name, p) for p in box for s, c in m.parts
            if m._of((), [(s, c)]).contains(p)}  # fmt: skip


def piece(rng):
    """A conjunction of three numbers, with a floor or an existential now and then."""
    a, b, c, d = (rng.randrange(-2, 4) for _ in range(4))
    forms = [
        f"k = {a}i + {b}j + {c}",
        f"{abs(a) + 1}k <= i + {b}j and i + {b}j <= {abs(a) + 1}k + {abs(c)}",
        f"k = floor((i + {a}j)/{abs(b) + 1}) + {c}",
        f"exists e : k = {abs(a) + 1}e + {b}i and 0 <= e - j <= {abs(d)}",
    ]
    return f"0 <= i <= {abs(c) + 1} and 0 <= j <= {abs(d)} and -4 <= k < 12 and {rng.choice(forms)}"


@pytest.mark.parametrize("block", range(4))
def test_single_values_and_injectivity_as_the_pairs_say(block):
    rng = random.Random(block)
    several = one = 0
    for _ in range(40):
        tuples = rng.choices(["A", "B"], weights=(4, 1), k=rng.choice((1, 1, 2, 3)))
        m = Map("{ " + "; ".join(f"[i, j] -> {name}[k] : {piece(rng)}" for name in tuples) + " }")
        found = pairs(m)
        inputs = {p[:2] for _, p in found}
        outputs = {(name, p[2]) for name, p in found}
        assert m.is_single_valued() == (len(inputs) == len(found)), m
        assert m.is_injective() == (len(outputs) == len(found)), m
        several, one = several + (len(inputs) < len(found)), one + (len(inputs) == len(found))
    assert several > 5 and one > 5


def test_pieces_of_several_spaces():
    """An input has two outputs of different tuples; inputs of different tuples are never the same one."""
    assert not Map("{ A[i] -> B[i]; A[i] -> C[i] : i > 7 }").is_single_valued()
    assert Map("{ A[i] -> B[i] : i <= 7; A[i] -> C[i] : i > 7 }").is_single_valued()
    one = Map("[N] -> { A[i] -> C[i]; B[i, j] -> C[j + N]; A[i, j] -> C[0] }")
    assert one.is_single_valued() and not one.is_injective()


def test_existentials_are_not_projected_for_it():
    """Relations that take seconds to compose with their reverse: at once, as the numbers of steps say."""
    many = Map(
        "[n] -> { [i, j] -> [k, l] : exists (a, b, c : i < 2j and i <= n and j < 2i and j <= n and 3 + i + 2j <= 3n"
        " and 3 + 2i + j <= 3n and k < 2l and k <= n and k <= 3l - 4 and l < 2k and l <= n and 13 + 4l <= 11k"
        " and k = i + 3a + c and l = j + 3b + c and a, b, c >= 0 and a + b + c > 0) }"
    )
    gaps = Set("{ [i] : exists a, b : 0 <= i <= 10 and 3b > 2a and 8b < 5i - 5a and 2b > 2i - 5a }")
    with budget(20_000):
        assert not many.is_injective() and not many.is_single_valued()
    with budget(20_000):
        assert not gaps.is_singleton()


def test_pieces_whose_inputs_numbers_put_apart_are_not_compared():
    one = Map("{ " + "; ".join(f"[i] -> [floor((i + {k})/4)] : {4 * k} <= i < {4 * k + 4}" for k in range(120)) + " }")
    with budget(3_000):
        assert one.is_single_valued()
    two = one | Map("{ [i] -> [7] : 200 <= i < 203 }")
    assert not two.is_single_valued()
