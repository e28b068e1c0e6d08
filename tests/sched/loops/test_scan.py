"""Scanning: the loops visit exactly the instances of the tree, in its order. Oracle: enumeration and sorting."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.sched import Band, Domain, Filter, Member, Schedule, Sequence
from polyvolta.sched.emit.run import run
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.passes import shift, tile
from polyvolta.sets import Set, var


def nest(domain: str, *exprs, statement="S", permutable=True):
    members = tuple(Member(((statement, e),)) for e in exprs)
    return Schedule(Domain(Set(domain), Band(members, permutable=permutable)))


def instances(schedule, **params):
    body = scan(schedule, Set(f"[{', '.join(params)}] -> {{ : }}")).body
    return [args for _, args in run(body, params)]


i, j, k = var("i"), var("j"), var("k")


def test_a_box_is_scanned_in_order():
    got = instances(nest("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < 3 }", i, j), N=4)
    assert got == list(product(range(4), range(3)))


def test_interchange_reverses_the_nesting():
    got = instances(nest("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }", j, i), N=4)
    assert got == sorted(((a, b) for a in range(4) for b in range(a + 1)), key=lambda p: (p[1], p[0]))


@given(n=st.integers(0, 9), m=st.integers(1, 7), s=st.integers(1, 4), t=st.integers(1, 4))
def test_tiles_of_a_triangle(n, m, s, t):
    schedule = tile(nest("[N] -> { S[i, j] : 0 <= i < N and i <= j < N + 2 }", i, j), (0,), (s, t))
    points = [(a, b) for a in range(n) for b in range(a, n + 2)]
    key = lambda p: (p[0] // s, p[1] // t, p[0], p[1])  # noqa: E731
    assert instances(schedule, N=n) == sorted(points, key=key)


@given(n=st.integers(0, 40), step=st.integers(1, 6), size=st.sampled_from([4, 12, 24]))
def test_strides_become_steps(n, step, size):
    schedule = tile(nest(f"[N] -> {{ S[i] : 0 <= i < N and i mod {step} = 0 }}", i), (0,), (size,))
    assert instances(schedule, N=n) == [(a,) for a in range(n) if a % step == 0]


def two_loops(first, second):
    """S over one nest, then T over another, each (domain constraints, expression)."""
    domain = Set(f"{{ S[i, j] : {first[0]}; T[i, j] : {second[0]} }}")
    bands = [Band((Member(((s, e),)),)) for s, (_, e) in (("S", first), ("T", second))]
    return Schedule(Domain(domain, Sequence((Filter(("S",), bands[0]), Filter(("T",), bands[1])))))


def test_sibling_loops_do_not_share_strides_or_ranges():
    """The loops of S and T are both called c0, with different steps and ranges."""
    schedule = two_loops(("0 <= i < 16 and i mod 4 = 0 and j = 0", i), ("0 <= i < 4 and 0 <= j < 4", 4 * i + j))
    found = scan(schedule, Set("{ : }"))
    got = list(run(found.body, {}))
    assert got == [("S", (x, 0)) for x in (0, 4, 8, 12)] + [("T", p) for p in product(range(4), repeat=2)]


def test_ranges_cover_all_loops_of_a_name():
    schedule = two_loops(("-5 <= i <= 7 and j = 0", i), ("0 <= i <= 15 and j = 0", i))
    assert scan(schedule, Set("{ : }")).ranges["c0"] == (-5, 15)


def test_a_mapped_dimension_with_a_stride_is_refused():
    member = Member((("S", i),), True, "blockIdx.x")
    schedule = Schedule(Domain(Set("{ S[i] : 0 <= i < 16 and i mod 2 = 0 }"), Band((member,))))
    with pytest.raises(NotScannable, match="in steps of 1"):
        scan(schedule, Set("{ : }"))


def test_a_given_extent_leaves_a_guard():
    member = Member((("S", i),), True, "t")
    schedule = Schedule(Domain(Set("{ S[i] : 0 <= i < 10 }"), Band((member,))))
    body = scan(schedule, Set("{ : }"), {"t": 16}).body
    assert [p for t in range(16) for p in run(body, {"t": t})] == [("S", (t,)) for t in range(10)]


def test_parameters_may_be_negative():
    schedule = nest("[N] -> { S[i, j] : N <= i < N + 3 and 2*j <= i <= 2*j + 1 }", i, j)
    for n in range(-5, 6):
        assert instances(schedule, N=n) == [(x, x // 2) for x in range(n, n + 3)]


@given(a=st.integers(-3, 3), b=st.integers(-3, 3), c=st.integers(-5, 5), n=st.integers(0, 6))
def test_skewed_loops(a, b, c, n):
    schedule = nest("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }", i + a * j + c, j + b)
    points = list(product(range(n), repeat=2))
    assert instances(schedule, N=n) == sorted(points, key=lambda p: (p[0] + a * p[1], p[1]))


@given(n=st.integers(3, 6), early=st.integers(-2, 2))
def test_a_shifted_statement_runs_ahead(n, early):
    domain = Set("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }")
    band = Band((Member((("S", i), ("T", i))),), Sequence((Filter(("T",)), Filter(("S",)))))
    schedule = shift(Schedule(Domain(domain, band)), (0,), 0, {"T": early})
    context = Set("[N] -> { : N >= 3 }")
    got = list(run(scan(schedule, context).body, {"N": n}))
    order = [("T", (x,)) for x in range(n)] + [("S", (x,)) for x in range(n)]
    assert got == sorted(order, key=lambda p: (p[1][0] + (early if p[0] == "T" else 0), p[0] == "S"))


def test_no_single_trip_loop_and_no_redundant_guard_in_the_matmul():
    M, N, K = pv.sizes("M N K")
    whole = pv.Options(partial="pad")  # tiles are whole, so that nothing is at an edge
    kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"), options=whole)
    assert kernel.source.count("if (") == 3  # two for the prefetch, one for the prologue of the pipeline
    assert "<= 0;" not in kernel.source


def test_a_loop_that_does_not_begin_is_refused():
    with pytest.raises(NotScannable, match="no lower bound"):
        instances(nest("{ S[i] : i <= 0 }", i))


def test_two_statements_in_one_leaf_run_in_any_order():
    domain = Set("{ S[i] : 0 <= i < 3; T[i] : 0 <= i < 3 }")
    schedule = Schedule(Domain(domain, Band((Member((("S", i), ("T", i))),))))
    assert run(scan(schedule)) == [(s, (x,)) for x in range(3) for s in "ST"]


def test_parameters_that_a_band_alone_mentions():
    tree = Schedule(Domain(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < 3 }"), Band((
        Member((("S", i + var("M")),)), Member((("S", var("K") - j),))))))  # fmt: skip
    assert scan(tree).params == ("N", "M", "K")
    assert instances(tree, N=2, M=5, K=7) == [(0, 2), (0, 1), (0, 0), (1, 2), (1, 1), (1, 0)]
    band = '{ schedule: "[M] -> [{ S[i] -> [((i + M) mod 2)] }]" }'
    read = Schedule.parse(f'{{ domain: "{{ S[i] : 0 <= i < 5 }}", child: {band} }}')
    assert instances(read, M=1) == [(1,), (3,), (0,), (2,), (4,)]
