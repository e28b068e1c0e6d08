"""Path conditions against brute force: what they say of a few names in a small box is what all its points say."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.sets import Aff, aff, var

NAMES = ("M", "K", "b", "k")
LIMIT = 6
BOX = frozenset(e for n in NAMES for e in (var(n), LIMIT - var(n)))
numbers = st.integers(-4, 4)


@st.composite
def expressions(draw) -> Aff:
    """Such as K - 2 k - 1 or M - 3 floor((b + 1)/3), and constants."""
    e = aff(draw(st.integers(-6, 6)))
    for n in draw(st.lists(st.sampled_from(NAMES), max_size=2)):
        e = e + draw(numbers) * var(n)
    if draw(st.booleans()):
        e = e + draw(numbers) * ((var(draw(st.sampled_from(NAMES))) + draw(numbers)) // draw(st.integers(2, 3)))
    return e


@st.composite
def conditions(draw) -> Condition:
    """The union of one to three conjunctions, none of them empty."""
    whole = Condition(NAMES, (BOX,))
    parts = [whole.given(*draw(st.lists(expressions(), max_size=3))) for _ in range(draw(st.integers(1, 3)))]
    out = parts[0]
    for part in parts[1:]:
        out = out.union(part)
    return out


GRID = dict(zip(NAMES, np.indices((LIMIT + 1,) * len(NAMES))))
"""The box's points, one array for each name."""


def points(condition: Condition) -> list[dict[str, int]]:
    """All points of the box at which a condition holds, in order."""
    inside = np.zeros((LIMIT + 1,) * len(NAMES), bool)
    for piece in condition.pieces:
        inside |= np.logical_and.reduce([np.broadcast_to(e.evaluate(GRID) >= 0, inside.shape) for e in piece])
    return [dict(zip(NAMES, p)) for p in np.argwhere(inside).tolist()]


def places(condition: Condition) -> set[tuple[int, ...]]:
    """The same points as a set."""
    return {tuple(p.values()) for p in points(condition)}


@settings(max_examples=40, deadline=None)
@given(conditions(), st.lists(expressions(), min_size=1, max_size=2))
def test_questions_are_answered_as_all_points_answer_them(condition, more):
    found = points(condition)
    values = [[e.evaluate(p) for e in more] for p in found]
    assert condition.is_empty == (not found)
    assert condition.possible(*more) == any(min(v) >= 0 for v in values)
    assert condition.holds(more[0]) == all(v[0] >= 0 for v in values)
    distinct = {v[0] for v in values}
    if found:
        assert condition.value(more[0]) == (distinct.pop() if len(distinct) == 1 else None)
    narrowed = condition.given(*more)
    assert points(narrowed) == [p for p, v in zip(found, values) if min(v) >= 0]
    point = condition.point(*more)
    assert (point is None) == narrowed.is_empty
    assert point is None or point == points(narrowed)[0]


@settings(max_examples=6, deadline=None)
@given(conditions(), conditions())
def test_a_condition_is_within_another_or_in_their_widening(one, other):
    ours, theirs = places(one), places(other)
    assert one.within(other) == (ours <= theirs)
    joined = places(one.union(other))
    assert ours | theirs <= joined
    assert joined <= places(one.widened(other, [var("K") - 1]))


@settings(max_examples=40, deadline=None)
@given(conditions(), numbers)
def test_names_are_replaced_and_forgotten(condition, shift):
    found = points(condition)
    moved = condition.subs({"k": var("k") - shift})
    assert all(moved.possible(*(e for n, v in p.items() for e in _is(n, v + shift * (n == "k")))) for p in found[:5])
    assert moved.is_empty == condition.is_empty
    without = condition.without("k")
    assert without.names == ("M", "K", "b")
    assert all(without.possible(*(e for n in without.names for e in _is(n, p[n]))) for p in found[:5])


def _is(name: str, value: int) -> tuple[Aff, Aff]:
    return var(name) - value, value - var(name)
