"""Quasi-affine expressions and their simplifier."""

import numpy as np

from polyvolta.sets import Aff, Map, Set
from polyvolta.sets.text.expressions import parse_aff
from polyvolta.sets.values.simplify import simplify
from tests.sets.draw import expression
from tests.sets.laws import family, same
from tests.sets.tables import HIGH, LOW, WINDOW, axes, value

NAMES = ("i", "j")
AT = {"i": np.arange(-40, 41)[:, None], "j": np.arange(-9, 10)[None, :]}
BOX = {"i": np.arange(LOW, HIGH + 1)[:, None], "j": np.arange(0, 16)[None, :]}
PLACE = Set(f"{{ [i, j] : {LOW} <= i <= {HIGH} and 0 <= j <= 15 }}")
RANGES = {"i": (LOW, HIGH), "j": (0, 15)}


class Exp:
    """A drawn expression: as the library reads it, `e`, and its values."""

    def __init__(self, source):
        self.drawn = expression(source, NAMES, 3)
        self.e = parse_aff(self.drawn.isl)

    def __repr__(self):
        return self.drawn.isl


AFFS = family("expressions", Exp, Exp, weight=1.3)


def agrees(e, expected):
    """Check an expression against a function of the names."""
    assert isinstance(e, Aff) and (value(e, AT) == expected(AT)).all(), f"wrong values: {e}"


@AFFS.law
def expression_parsing(a, b):
    agrees(a.e, a.drawn.value)


@AFFS.law
def expression_printing(a, b):
    agrees(parse_aff(str(a.e)), a.drawn.value)


@AFFS.law
def expression_arithmetic(a, b):
    agrees(2 * a.e - b.e + 3, lambda at: 2 * a.drawn.value(at) - b.drawn.value(at) + 3)


@AFFS.law
def expression_quotient(a, b):
    agrees((a.e + b.e) // 4, lambda at: (a.drawn.value(at) + b.drawn.value(at)) // 4)


@AFFS.law
def expression_remainder(a, b):
    agrees((a.e - b.e) % 6, lambda at: (a.drawn.value(at) - b.drawn.value(at)) % 6)


@AFFS.law
def expression_substituted(a, b):
    agrees(a.e.subs({"i": b.e}), lambda at: a.drawn.value({**at, "i": b.drawn.value(at)}))


@AFFS.law
def expression_evaluated(a, b):
    assert (a.e.evaluate(AT) == a.drawn.value(AT)).all()


@AFFS.law
def simplified_within_ranges(a, b):
    found = simplify(a.e, RANGES)
    assert (value(found, BOX) == a.drawn.value(BOX)).all(), f"wrong values: {found}"


@AFFS.law
def simplified_within_a_set(a, b):
    found = simplify(a.e + b.e, PLACE)
    assert (value(found, BOX) == a.drawn.value(BOX) + b.drawn.value(BOX)).all(), f"wrong values: {found}"


@AFFS.law
def simplified_sum(a, b):
    found = simplify((8 * a.e + b.e % 8) // 8, RANGES)
    assert (value(found, BOX) == a.drawn.value(BOX)).all(), f"wrong values: {found}"


@AFFS.law
def map_from_expressions(a, b):
    i, j, out = axes(0, 3)
    same(Map.from_affs("S[i, j]", [a.e]), np.broadcast_to(a.drawn.value({"i": i, "j": j}) == out, (len(WINDOW),) * 3))
