"""Progressions, and functions of one parameter told anew, against enumeration."""

from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets.engine.lexopt import lexmin
from polyvolta.sets.engine.periodic import best, told
from polyvolta.sets.engine.progressions import Progressions, along
from tests.sets.brute import examples

NEAR, FAR = range(-40, 41), 400
SMALL = st.integers(-6, 6)


def at(row, point):
    assert len(row) == len(point) + 1
    return row[0] + sum(c * x for c, x in zip(row[1:], point, strict=True))


def extended(n, divs):
    """A value of the parameter and its floors."""
    point = [n]
    for den, row in divs:
        point.append(at(row, point) // den)
    return tuple(point)


@st.composite
def systems(draw):
    """Floors of one parameter, rows over it and them that are to be >= 0 or = 0, and one more row."""
    divs = []
    for k in range(draw(st.integers(0, 3))):
        divs.append((draw(st.sampled_from([2, 3, 4, 6])), (draw(SMALL), *[draw(SMALL) for _ in range(k + 1)])))
    row = st.tuples(st.integers(-20, 20), *[SMALL] * (1 + len(divs)))
    rows = draw(st.lists(st.tuples(st.sampled_from([False, False, False, True]), row), max_size=3))
    return divs, rows, draw(row)


def holds(rows, point):
    return all(at(row, point) == 0 if equality else at(row, point) >= 0 for equality, row in rows)


def points_of(lines, reach):
    """The points with a parameter in reach."""
    out = []
    for k, (low, high) in enumerate(lines.intervals):
        base = [c[k] for c in lines.columns]
        for t in range(-reach if low is None else low, (reach if high is None else high) + 1):
            point = tuple(b + t * s for b, s in zip(base, lines.step, strict=True))
            if point[0] in NEAR:
                out.append(point)
    return sorted(out)


@examples(300)
@given(systems())
def test_progressions_hold_the_points_of_rows(system):
    divs, rows, question = system
    lines = Progressions([[0]], (1,), [(None, None)])
    for den, row in divs:
        lines = lines.with_div(den, row)
        assert lines is not None
    for equality, row in rows:
        lines = lines and lines.where(row, equality)
    wide = [extended(n, divs) for n in range(-FAR, FAR + 1)]
    inside = [p for p in wide if holds(rows, p)]
    assert [p for p in inside if p[0] in NEAR] == (points_of(lines, FAR) if lines else [])
    if lines is not None:
        assert holds(rows, lines.point()) and lines.point() == extended(lines.point()[0], divs)
        some, less = lines.signs(question)
        assert some >= any(at(question, p) >= 0 for p in inside) and less >= any(at(question, p) < 0 for p in inside)
        if inside and abs(inside[0][0]) < FAR and abs(inside[-1][0]) < FAR:  # these are all points
            assert some == any(at(question, p) >= 0 for p in inside)
            assert less == any(at(question, p) < 0 for p in inside)
        left = lines.remainder(4, question)
        assert left is None or {at(question, p) % 4 for p in inside} <= {left}
        listed = lines.listed(50)
        assert points_of(listed, FAR) == points_of(lines, FAR)


def values_at(pieces, n):
    """What pieces say at a parameter; each div is one of the parameter and divs before it."""
    out = []
    for divs, eqs, ineqs, values in pieces:
        point = extended(n, divs)
        if all(at(r, point) == 0 for r in eqs) and all(at(r, point) >= 0 for r in ineqs):
            out.append(tuple(at(r, point) for r in values))
    return out


@st.composite
def functions(draw):
    """Leaves (divs, rows, values) with disjoint domains: residues modulo a period, on both sides of an end."""
    period, end = draw(st.sampled_from([1, 2, 3, 4, 6, 9])), draw(st.integers(-8, 8))
    divs = [(period, (0, 1))]
    leaves = []
    for low, high in ((None, end), (end + 1, end + draw(st.integers(1, 30))), (end + 31, None)):
        for r in range(period):
            kind = draw(st.sampled_from(["none", "constant", "line", "free"]))
            if kind == "none":
                continue
            slope = {"constant": 0, "line": 1}.get(kind, draw(st.integers(-2, 2)))
            rows = [(True, (-r, 1, -period))]
            rows += [(False, (-low, 1, 0))] if low is not None else []
            rows += [(False, (high, -1, 0))] if high is not None else []
            leaves.append((divs, rows, ((draw(st.integers(0, 2)), slope, 0), (1, 0, draw(st.integers(-1, 1))))))
    return leaves


def lines_of(leaves):
    out = []
    for divs, rows, values in leaves:
        lines = along(divs, [r for equality, r in rows if equality], [r for equality, r in rows if not equality])
        if lines is not None:
            out.append((lines, values))
    return out


def expected(leaves, n):
    out = []
    for divs, rows, values in leaves:
        point = extended(n, divs)
        if holds(rows, point):
            out.append(tuple(at(r, point) for r in values))
    return out


@examples(200)
@given(functions())
def test_a_function_told_anew_is_the_same_function(leaves):
    pieces = told(lines_of(leaves))
    assert pieces is not None
    for n in range(-60, 90):
        assert values_at(pieces, n) == expected(leaves, n), n


def test_the_better_of_two_functions():
    told_of = []

    @examples(200)
    @given(functions(), functions(), st.sampled_from([(1, max), (-1, min)]))
    def check(one, other, order):
        sign, pick = order
        pieces = best([lines_of(one), lines_of(other)], sign)
        told_of.append(pieces is not None)
        for n in range(-60, 90) if pieces is not None else ():
            found = expected(one, n) + expected(other, n)
            assert values_at(pieces, n) == ([pick(found)] if found else []), n

    check()
    assert sum(told_of) >= len(told_of) // 4, (sum(told_of), len(told_of))  # where None, nothing was looked at


def test_the_better_of_two_functions_of_equal_slopes_is_always_told():
    def leaf(r, value):
        return [(2, (0, 1))], [(True, (-r, 1, -2))], ((value, 1, 0),)

    pieces = best([lines_of([leaf(0, 5), leaf(1, 0)]), lines_of([leaf(0, 3), leaf(1, 4)])], 1)
    assert pieces == [(((2, (0, 1)),), (), (), ((5, 0, 2),))]  # N + 5 of an even N, N + 4 of an odd one


def test_runs_of_residues_are_one_piece_each():
    """A ramp and a level in a period of 12."""
    divs = [(12, (0, 1))]
    ramp = [(divs, [(False, (0, 1, -12)), (False, (7, -1, 12))], ((3, 2, -24),))]
    ramp.append((divs, [(False, (-8, 1, -12))], ((3, 0, 0),)))
    pieces = told(lines_of(ramp))
    assert len(pieces) == 2 and all(divs == ((12, (0, 1)),) for divs, *_ in pieces)
    assert told([]) == []


def test_leaves_that_became_one_are_told_whole():
    """3z <= i <= 12z + 4 in a strip, for any i >= -2: the search splits at 3 and 10, values of no interest."""
    rows = (-4, 1, 9, 12), (1, 0, -2, -3), (1, 0, 2, 3), (2, 0, 1, 0), (3, 0, -1, 0)
    (piece,) = lexmin(1, 2, (), rows, (), 0)
    assert piece.ineqs == ((2, 1),) and piece.divs == ()
