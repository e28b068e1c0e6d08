"""Existentials between bounds with coefficients: without a floor where there is room for one, by trial of values."""

from itertools import product

import pytest

from polyvolta.sets import Set


@pytest.mark.parametrize("a, b", [(3, 3), (2, 3), (4, 6), (3, 1)])
@pytest.mark.parametrize("const", range(-7, 8))
def test_an_existential_between_bounds_that_are_in_step_needs_no_floor(a, b, const):
    # what lies between the bounds grows in steps that leave room for one e, or none
    found = Set(f"{{ [x, y] : exists e : y <= {a}e and {b}e <= {b * a}x + {b}*floor(y/{a}) + {const} }}")
    line = Set(f"{{ [x, y] : exists e : y + {const} <= {a}e <= {a}x + y }}")
    for x, y in product(range(-3, 4), range(-7, 8)):
        most = b * a * x + b * (y // a) + const
        assert found.contains((x, y)) == any(y <= a * e and b * e <= most for e in range(-60, 60)), (x, y)
        assert line.contains((x, y)) == any(y + const <= a * e <= a * x + y for e in range(-60, 60)), (x, y)
    if const % a == (1 if a > 1 else 0):  # a x - const leaves a - 1 over: room for one e as soon as it is not negative
        assert "floor" not in str(line) and "exists" not in str(line)


def test_isls_existential_that_goes_without_a_floor():
    assert str(Set("{ [m, w] : exists a : w - 2m - 5 <= 3a <= m - 2w }")) == "{ [m, w] : w <= m + 1 }"
