"""The cone of nonnegative forms: what its generators say against evaluation at every point."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.sched.scheduler import farkas
from polyvolta.sched.scheduler.farkas import cone
from polyvolta.sets import Map, Set

SIDE = range(-2, 6)


def conjunct(text):
    ((_, (c,)),) = (Set if "->" not in text.split("{")[1] else Map)(text).parts
    return c


def value(form, point):
    return form[0] + sum(c * x for c, x in zip(form[1:], point, strict=True))


def points(c):
    """The integer points of a conjunct within a box that holds all those drawn here."""
    return [p for p in product(SIDE, repeat=c.n) if _holds(c, p)]


def _holds(c, point):
    columns = [1, *point]
    for den, row in c.divs:
        columns.append(sum(a * x for a, x in zip(row, columns)) // den)
    rows = [sum(a * x for a, x in zip(row, columns, strict=True)) for row in (*c.eqs, *c.ineqs)]
    return not any(rows[: len(c.eqs)]) and all(r >= 0 for r in rows[len(c.eqs) :])


@st.composite
def polytopes(draw):
    """Bounded sets in two or three dimensions: a box, cut by other rows, equalities and strides."""
    n = draw(st.integers(2, 3))
    names = "xyz"[:n]
    parts = []
    for x in names:
        low = draw(st.integers(-2, 2))
        parts.append(f"{low} <= {x} <= {low + draw(st.integers(0, 3))}")
    linear = st.tuples(*[st.integers(-2, 2)] * n, st.integers(-3, 3))
    kinds = draw(st.lists(st.sampled_from([">=", ">=", "="]), max_size=2))
    for kind in kinds:
        *coefficients, const = draw(linear)
        parts.append(" + ".join(f"({a}{x})" for a, x in zip(coefficients, names)) + f" + {const} {kind} 0")
    if draw(st.booleans()):
        parts.append(f"{names[0]} mod {draw(st.integers(2, 3))} = 0")
    return Set("{ [" + ", ".join(names) + "] : " + " and ".join(parts) + " }")


forms = st.tuples(st.integers(-6, 6), *[st.integers(-3, 3)] * 3)


@given(polytopes(), st.lists(forms, min_size=1, max_size=6))
@settings(max_examples=120, deadline=None)
def test_a_form_in_the_cone_is_nonnegative_at_all_points_and_the_converse_where_vertices_are_integral(s, drawn):
    for _, conjuncts in s.parts:
        for c in conjuncts:
            found, here = cone(c), points(c)
            assert not (found.empty and here)
            for form in drawn:
                form = form[: c.n + 1]
                values = [value(form, p) for p in here]
                if found.nonnegative(form):
                    assert min(values, default=0) >= 0
                elif found.integral:
                    assert min(values) < 0
                if found.vanishes(form):
                    assert not any(values)
                elif found.integral:
                    assert any(values)
                if found.nonnegative(form) and here and found.attains(form):
                    assert max(values) > 0
                assert found.positive(form) == found.nonnegative((form[0] - 1, *form[1:]))


def test_a_box_with_many_vertices_is_described_by_its_factors():
    c = conjunct("{ [a, b, c, d, e] : 0 <= a <= 2 and 1 <= b <= 3 and -1 <= c <= 0 and 0 <= d <= e <= 2 }")
    found = cone(c)
    assert found.base is not None and len(found.moves) == 4
    assert found.integral and not found.empty
    here = [p for p in product(range(3), range(1, 4), range(-1, 1), range(3), range(3)) if p[3] <= p[4]]
    for signs in product((-2, 0, 1), repeat=5):
        low = min(value((0, *signs), p) for p in here)
        assert found.least((0, *signs)) == low
        assert found.nonnegative((-low, *signs)) and not found.nonnegative((-low - 1, *signs))
        assert found.vanishes((0, *signs)) == (not any(signs))


def test_parameters_are_dimensions_and_distances_may_be_bounded_by_them_or_by_a_constant():
    c = conjunct("[N] -> { S[i] -> T[j] : 0 <= i < N and j = N - 1 - i }")
    found = cone(c)
    assert found.nonnegative((-1, 1, -1, 0)) and not found.nonnegative((-2, 1, -1, 0))  # i <= N - 1
    assert not found.nonnegative((0, 0, -1, 1)) and not found.bounded((0, 0, -1, 1))  # j - i has any sign
    assert found.vanishes((1, -1, 1, 1)) and found.bounded((7, -1, 1, 1))
    assert found.attains((0, 0, 1, 0))


def test_what_only_integers_satisfy_is_outside_the_cone_of_a_rational_vertex():
    c = conjunct("{ [x, y] : 0 <= x and 0 <= y and 2x + 2y <= 7 and x - 3y <= 1 and 3x - 2y >= -1 }")
    found = cone(c)
    assert not found.integral
    form = (0, 0, 1)
    assert found.nonnegative(form) and not found.positive(form)
    tight = max(c0 for c0 in range(-9, 9) if all(value((-c0, 3, -1), p) >= 0 for p in points(c)))
    assert not found.nonnegative((-tight - 1, 3, -1))


def test_strides_of_equalities_tighten_the_cone():
    c = conjunct("{ S[i] -> S[j] : j = i + 2 and exists q : i = 3q and 1 <= i <= 8 }")
    assert cone(c).integral
    assert cone(c).nonnegative((-3, 1, 0)) and cone(c).nonnegative((6, -1, 0))


def test_a_set_without_points_has_no_generators():
    assert cone(conjunct("{ [x, y] : x >= y + 1 and 2y >= x and x <= 1 }")).empty


def test_divs_that_would_make_too_many_generators_are_left_out(monkeypatch):
    text = "[a, b] -> { S[i] -> S[j] : i < j and j <= floor((a + 2b)/3) + floor((i + b)/2) and i >= floor((a + b)/5) }"
    c = conjunct(text)
    whole = cone.__wrapped__(c)
    monkeypatch.setattr(farkas, "EFFORT", 0)
    found = cone.__wrapped__(c)
    assert found.relaxed and not whole.relaxed and not found.integral
    assert found.positive((0, 0, 0, -1, 1)) and not found.attains((0, 0, 0, -1, 1))
    below = (0, 2, 7, 3, -6)  # 6j <= 2 (a + 2b) + 3 (i + b)
    assert whole.nonnegative(below) and not found.nonnegative(below)
