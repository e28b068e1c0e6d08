"""The search for few tilings and boxes of sizes, against brute force."""

from itertools import combinations

import numpy as np
import pytest

from polyvolta.compiler.variants.ranges import Ranges
from polyvolta.compiler.variants.search import BOXES, Box, _joined, best_few, boxes_of, losses_of
from polyvolta.compiler.variants.tree import WORTH, roundest

RANGES = Ranges(("M", "N", "K"), ((64, 8192), (64, 8192), (512, 512)))


def sample(ranges=RANGES):
    return np.array([list(sizes.values()) for sizes in ranges.sample()])


def tiled(points, sides=((64, 64), (128, 64), (64, 128), (128, 128), (256, 128))):
    """Seconds as of a GPU of 100 places whose blocks take longer the larger they are, but less for each element."""
    columns = []
    for rows, cols in sides:
        blocks = -(-points[:, 0] // rows) * -(-points[:, 1] // cols)
        columns.append(-(-blocks // 100) * (rows * cols) ** 0.8 * (points[:, 2] + 100))
    return np.stack(columns, axis=1).astype(float)


def total(losses, columns):
    return losses[:, list(columns)].min(axis=1).sum()


@pytest.mark.parametrize("few", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_few_are_as_good_as_the_best_of_all(few, seed):
    """Exchanges of one may end in a local optimum: for these tables they don't by more than a hundredth."""
    times = np.random.default_rng(seed).lognormal(0, 0.5, (40, 9))
    losses = losses_of(times)
    chosen = best_few(losses, few)
    assert len(set(chosen)) == len(chosen) == few
    best = min(total(losses, columns) for columns in combinations(range(9), few))
    assert total(losses, chosen) <= best * 1.01 + 1e-9
    if few == 1:
        assert total(losses, chosen) == best


def test_no_more_are_taken_than_help():
    assert best_few(losses_of(np.array([[1.0, 2.0, 1.0], [1.0, 3.0, 1.0]])), 3) == [0]


def test_regions_that_are_boxes_are_found_exactly():
    """Where the fastest of three is so in a box each, the boxes' choice is the argmin at every point."""
    points = sample()
    best = np.where(points[:, 0] <= 512, 0, np.where(points[:, 1] <= 1024, 1, 2))
    times = 1.0 + 0.3 * (np.arange(5) != best[:, None]) + 0.05 * np.arange(5)
    boxes = boxes_of(points, losses_of(times), 3)
    assert {c for box in boxes for c in [box.choice]} == {0, 1, 2} and len(boxes) == 3
    for box in boxes:
        assert (times[box.members].argmin(axis=1) == box.choice).all()
    ends = {end for box in boxes for pair in box.bounds[:2] for end in pair}
    assert {512, 513, 1024, 1025} <= ends


@pytest.mark.parametrize("few", [1, 2, 3, 5])
def test_boxes_share_out_the_points_and_take_what_is_best_for_each(few):
    points = sample()
    losses = losses_of(tiled(points))
    boxes = boxes_of(points, losses, few)
    assert sorted(n for box in boxes for n in box.members) == list(range(len(points)))
    chosen = sorted({box.choice for box in boxes})
    assert len(chosen) <= few and len(boxes) <= BOXES * few
    for box in boxes:
        sums = losses[box.members].sum(axis=0)
        assert box.choice == min(chosen, key=lambda c: (sums[c], c))  # noqa: B023  # called at once
        for axis, (low, high) in enumerate(box.bounds):
            along = points[box.members, axis]
            assert (low is None or low <= along.min()) and (high is None or along.max() <= high)


def test_more_variants_are_never_slower_and_come_near_the_best_for_each_point():
    points = sample()
    losses = losses_of(tiled(points))
    means = []
    for few in (1, 2, 3, 5):
        boxes = boxes_of(points, losses, few)
        means.append(sum(losses[box.members, box.choice].sum() for box in boxes) / len(points))
    assert means[0] == pytest.approx(losses.mean(axis=0).min())
    assert means == sorted(means, reverse=True)
    for few, mean in zip((1, 2, 3, 5), means, strict=True):  # what no boxes could better
        assert mean >= losses[:, best_few(losses, few)].min(axis=1).mean() - 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_two_boxes_are_as_good_as_the_best_of_all_pairs_and_cuts(seed):
    """Of each axis, number and pair of tilings; and three boxes are better than two where that is possible."""
    rng = np.random.default_rng(seed)
    points = rng.integers(1, 1000, (30, 2))
    losses = losses_of(tiled(np.column_stack([8 * points, np.full(30, 64)])) * rng.lognormal(0, 0.1, (30, 5)))
    best = losses.sum(axis=0).min()
    for axis in range(2):
        for last in points[:, axis]:
            below = points[:, axis] <= last
            sums = [losses[part].sum(axis=0).min() for part in (below, ~below)]
            best = min(best, sum(sums))
    found = boxes_of(points, losses, 2, most=2)
    total = sum(losses[box.members, box.choice].sum() for box in found)
    assert total == pytest.approx(best, abs=2 * WORTH * len(points))
    more = boxes_of(points, losses, 3, most=3)
    assert sum(losses[box.members, box.choice].sum() for box in more) <= total + 1e-9


def test_a_cut_that_is_worth_little_is_left_out():
    points = np.array([[n] for n in range(1, 101)])
    times = np.ones((100, 2))
    times[0, 0] = 1 + 50 * WORTH  # half of what a line is worth
    times[1:, 1] = 2
    assert [box.bounds for box in boxes_of(points, losses_of(times), 2)] == [((None, None),)]


@pytest.mark.parametrize("low", [1, 5, 64, 100, 127, 1000])
def test_the_roundest_number_is_divided_by_the_largest_power(low):
    for high in range(low, low + 150, 7):
        def power(n):
            return n & -n

        best = max(range(low, high + 1), key=lambda n: (power(n), -n))
        assert roundest(low, high) == best


def test_cuts_are_found_that_help_only_together():
    """A chequered table: no first cut lowers anything."""
    points = np.array([[x, y] for x in range(1, 9) for y in range(1, 9)])
    best = (points[:, 0] <= 4) ^ (points[:, 1] <= 4)
    times = 1.0 + (np.arange(2) != best[:, None])
    boxes = boxes_of(points, losses_of(times), 2)
    assert len(boxes) == 4 and all((best[box.members] == box.choice).all() for box in boxes)


def test_boxes_side_by_side_of_one_choice_are_one():
    def box(x, y, choice):
        return Box((x, y), np.array([0]), choice)

    parts = [box((None, 4), (None, 8), 0), box((5, 9), (None, 8), 0), box((10, None), (None, 8), 1)]
    joined = _joined([*parts, box((None, 9), (9, None), 0), box((10, None), (9, None), 0)])
    assert [(b.bounds, b.choice) for b in joined] == [
        (((None, 9), (None, None)), 0), (((10, None), (None, 8)), 1), (((10, None), (9, None)), 0)
    ]  # fmt: skip
