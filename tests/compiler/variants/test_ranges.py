"""Ranges of sizes: what is refused, and the sample."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.variants.ranges import POINTS, BadRange, Ranges, ranges_of
from polyvolta.graph.dag import Graph

M, N, K = pv.sizes("M N K")
GRAPH = Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)))
FINE = {"M": (64, 8192), "N": (64, 8192), "K": (64, 8192)}


@pytest.mark.parametrize(
    "over, words",
    [
        ({}, "over is empty"),
        ([("M", (1, 2))], "a range for each size, by name"),
        (7, "a range for each size, by name"),
        ({**FINE, "L": (1, 2)}, "no size 'L'"),
        ({**FINE, "n": (1, 2)}, "did you mean 'N'"),
        ({**FINE, 5: (1, 2)}, "no size 5"),
        ({"M": (64, 8192)}, "no range for N, K"),
        ({**FINE, "M": (8192, 64)}, "the range of M is empty: 8192 is more than 64"),
        ({**FINE, "M": (-1, 64)}, "-1 is negative"),
        ({**FINE, "M": -64}, "-64 is negative"),
        ({**FINE, "M": (0, 64)}, "nothing to compute for 0"),
        ({**FINE, "K": (64,)}, "two ints"),
        ({**FINE, "K": (64, 128, 256)}, "two ints"),
        ({**FINE, "K": ()}, "two ints"),
        ({**FINE, "K": (64, 128.0)}, "two ints"),
        ({**FINE, "K": (True, 128)}, "two ints"),
        ({**FINE, "K": "64"}, "two ints"),
        ({**FINE, "K": None}, "two ints"),
        ({**FINE, "K": (64, 2**31)}, "at most"),
    ],
)
def test_bad_ranges_are_refused(over, words):
    with pytest.raises(BadRange, match=words) as caught:
        ranges_of(GRAPH, over)
    assert caught.value.id == "PV421" and (caught.value.hint or "at most" in words)


def test_a_graph_without_sizes_has_no_ranges():
    with pytest.raises(BadRange, match="all sizes of the graph are numbers"):
        ranges_of(Graph.of(pv.tensor("A", (8, 8)) @ pv.tensor("B", (8, 8))), FINE)


def test_ints_of_any_kind_are_taken_in_the_order_of_the_graph():
    ranges = ranges_of(GRAPH, {"K": np.int64(512), "N": [np.int32(8), 16], "M": (4, 4)})
    assert ranges == Ranges(("M", "N", "K"), ((4, 4), (8, 16), (512, 512)))
    assert ranges.domain.is_equal(pv.sets.Set("{ [M, N, K] : M = 4 and K = 512 and 8 <= N <= 16 }"))


BOUNDS = (((64, 8192),) * 3, ((1, 100), (512, 512), (1000, 1003)), ((7, 7),), ((1, 2**31 - 2**14),))


@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_sample_is_within_the_same_each_time_and_has_the_corners(bounds):
    ranges = Ranges(("M", "N", "K")[: len(bounds)], bounds)
    sample = ranges.sample()
    assert sample == ranges.sample() and 1 <= len(sample) <= POINTS + 2 ** len(bounds)
    assert len({tuple(s.values()) for s in sample}) == len(sample)
    for sizes in sample:
        assert all(low <= sizes[n] <= high for n, (low, high) in zip(ranges.names, bounds))
    for corner in ([low for low, _ in bounds], [high for _, high in bounds]):
        assert dict(zip(ranges.names, corner)) in sample


def test_the_sample_is_spread_evenly_by_logarithms():
    """Each octave along each axis, and each pair of octaves, has its share of the points."""
    sample = Ranges(("M", "N"), ((64, 8192), (64, 8192))).sample()[4:]
    octaves = np.array([[np.log2(size / 64 * 1.01) // 1 for size in sizes.values()] for sizes in sample]).astype(int)
    for axis in range(2):
        counts = np.bincount(octaves[:, axis], minlength=7)[:7]
        assert counts.min() > 0.8 * len(sample) / 7
    pairs = np.bincount(7 * np.minimum(octaves[:, 0], 6) + np.minimum(octaves[:, 1], 6), minlength=49)
    assert pairs.min() >= 4
