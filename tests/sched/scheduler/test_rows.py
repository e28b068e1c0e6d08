"""The rows of bands against a search of all small rows.

One statement of two iterators with constant distances: a row (a, b) has distance a*x + b*y over a dependence (x, y). It
is valid when none is negative, and costs the largest of them, then |a| + |b|, then |b|, then |a|, negative ones more
than positive ones. So a row without any distance is better than all others.
"""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.sched.scheduler.bands import complement, find_band, most_parallel
from polyvolta.sched.scheduler.farkas import cone
from polyvolta.sched.scheduler.problem import Edge, Problem
from polyvolta.sets import Map

SMALL = range(-7, 8)
vectors = st.tuples(st.integers(0, 3), st.integers(-3, 3)).filter(lambda v: v > (0, 0))


def edge(x, y):
    m = Map(f"[N] -> {{ S[i, j] -> S[i + {x}, j + {y}] : 0 <= i < N - {x} and 4 <= j < N - 4 }}")
    return Edge(0, 0, cone(m.parts[0][1][0]), True)


def cost(row, distances):
    """What a row costs, smaller is better; None for one that is not valid."""
    far = [row[0] * x + row[1] * y for x, y in distances]
    if min(far) < 0:
        return None
    a, b = row
    size = (max(far), abs(a) + abs(b))
    if not any(far):  # then its opposite has no distance either
        return (False, *size, abs(b), row < (0, 0))
    return (True, *size, b < 0, abs(b), a < 0, abs(a))


@given(st.lists(vectors, min_size=1, max_size=4, unique=True))
@settings(max_examples=80, deadline=None)
def test_each_row_is_the_cheapest_that_is_new(distances):
    found = find_band((2,), 1, tuple(edge(*v) for v in distances), ((),))
    prior = ()
    for (form,) in found.rows:
        assert form[:2] == (0, 0)
        row = form[2:]
        normals = complement(prior, 2)
        new = [r for r in product(SMALL, repeat=2) if any(r[0] * h[0] + r[1] * h[1] for h in normals)]
        best = min(c for r in new if (c := cost(r, distances)) is not None)
        assert cost(row, distances) == best
        prior = (*prior, row)
    assert found.width == 2  # with forward distances there is always a second row
    flags = [not any(r[0] * x + r[1] * y for x, y in distances) for r in prior]
    assert list(found.coincident) == flags


def test_rows_without_dependences_are_the_iterators():
    found = find_band((2, 1), 1, (), ((), ()))
    assert found.rows == (((0, 0, 1, 0), (0, 0, 1)), ((0, 0, 0, 1), (0, 0, 0)))
    assert found.parallel == found.width == 2


BOX = "0 <= i, j, k, l < N"
PAIRS = (
    (0, 1, "k = i and l = j"),
    (0, 1, "k = j and l = i"),
    (0, 1, "k = i and l = N - 1 - j"),
    (0, 1, "k = i"),
    (0, 1, "k = i + 1 and l = j - 1"),
    (1, 0, "k = i + 1 and l = j"),
    (1, 0, "k = i + 1"),
    (0, 0, "k = i and l = j + 1"),
    (1, 1, "k = i + 1 and l = j - 2"),
)


def edge_between(source, sink, condition, valid):
    m = Map(f"[N] -> {{ S[i, j] -> T[k, l] : {BOX} and {condition} }}")
    return Edge(source, sink, cone(m.parts[0][1][0]), True, valid)


edges_between = st.lists(
    st.tuples(st.sampled_from(PAIRS), st.booleans()).map(lambda e: edge_between(*e[0], e[1])), min_size=1, max_size=4
)


@given(edges_between, st.booleans())
@settings(max_examples=60, deadline=None)
def test_rows_with_constant_distances_are_the_best_near_ones(edges, negative):
    fresh = (((1, 0), (0, 1)),) * 2
    base, other = (Problem((2, 2), 1, edges, "valid", negative) for _ in range(2))
    near = Problem((2, 2), 1, edges, "near", negative, base).solve(fresh)
    constant = Problem((2, 2), 1, edges, "constant", negative, other).solve(fresh)
    if constant is not None:
        assert constant == near
    elif near is not None:
        assert not all(e.cone.bounded(e.delta(near[0], (2, 2))) for e in edges)


@given(edges_between, st.booleans())
@settings(max_examples=60, deadline=None)
def test_how_many_members_are_parallel_is_known_before_the_band_is(edges, negative):
    given_ = (2, 2), 1, tuple(edges), ((), ())
    most = most_parallel(*given_, negative=negative)
    assert most in (None, find_band(*given_, True, negative).parallel)


def test_a_loop_that_none_can_share_is_seen_without_an_integer_program():
    """What S[i, k] makes T[i] uses, and where K <= 0 what I[i] made: so T is no later than I in K, and S between them,
    and no row with k is valid for all three."""
    texts = {
        (0, 1): "[N, K] -> { I[i] -> S[i, k] : k = 0 and 0 <= i < N and 0 < K }",
        (1, 1): "[N, K] -> { S[i, k] -> S[i, k + 1] : 0 <= i < N and 0 <= k < K - 1 }",
        (1, 2): "[N, K] -> { S[i, k] -> T[i] : 0 <= i < N and k = K - 1 and 0 <= k }",
        (0, 2): "[N, K] -> { I[i] -> T[i] : 0 <= i < N and K <= 0 }",
    }
    cones = {arc: cone(Map(text).parts[0][1][0]) for arc, text in texts.items()}
    some = [Edge(*arc, found, True) for arc, found in cones.items()]
    depths, k = (1, 2, 1), ((), ((0, 1),), ())
    assert not Problem(depths, 2, some, "valid").may_have(k)
    assert Problem(depths, 2, some[:3], "valid").solve(k) is not None  # where K is positive there is one
    assert Problem(depths, 2, some, "near").solve(k) is None  # which the integer program says
