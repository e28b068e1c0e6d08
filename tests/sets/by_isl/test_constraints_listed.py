"""The constraints that a set lists: an equality stays one where its strides follow from it."""

from itertools import product
from random import Random

import pytest

import polyvolta.isl as ours

LISTED = [
    ("{ [n, m] : n = 2m + 3 }", ["2*m - n + 3 = 0"]),
    ("{ [i, j] : 2i = 3j + 2 }", ["3*j - 2*i + 2 = 0"]),
    ("{ [n, i, j] : 3n + 3i + 4j = 4 and i >= 0 }", ["4*j + 3*i + 3*n - 4 = 0", "i >= 0"]),
    ("{ [i, j] : i mod 3 = 1 and j = floor(i/3) }", ["3*j - i + 1 = 0"]),
    ("{ [i] : i mod 3 = 1 }", ["1 - (i mod 3) = 0"]),
    ("{ [i, j] : i mod 3 = 1 and j = 3*floor(i/3) }", None),  # 3 j's are no remainder
]


@pytest.mark.parametrize(("text", "listed"), LISTED)
def test_constraints_by_hand(text, listed):
    (piece,) = ours.Set(text).get_basic_sets()
    found = piece.get_constraints()
    terms = lambda cs: {tuple(sorted(c.split())) for c in cs}  # noqa: E731 - in any order
    assert listed is None or terms(map(str, found)) == terms(listed)
    dims = ", ".join(piece.space.dims)
    back = ours.Set(f"{{ [{dims}] : {' and '.join(map(str, found))} }}")
    for point in product(range(-4, 5), repeat=len(piece.space.dims)):
        assert (point in back) == (point in piece)


def test_what_is_listed_is_the_set_as_isl_reads_both():
    isl, rng = pytest.importorskip("islpy"), Random(11)
    for _ in range(40):
        sums = [" + ".join(f"{rng.randint(-4, 4)}{v}" for v in "nij") for _ in range(rng.randint(1, 2))]
        said = [f"{e} {rng.choice(['=', '=', '>='])} {rng.randint(-4, 4)}" for e in sums]
        text = f"[n] -> {{ [i, j] : {' and '.join(said)} }}"
        pieces = ours.Set(text).get_basic_sets()
        if len(pieces) == 1:
            found = " and ".join(map(str, pieces[0].get_constraints())) or "1 = 1"
            assert isl.Set(f"[n] -> {{ [i, j] : {found} }}").is_equal(isl.Set(text)), text
