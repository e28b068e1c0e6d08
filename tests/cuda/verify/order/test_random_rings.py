"""Rings at random: what happens-before says of them for all K is what all interleavings say, tile count by count."""

import os
import random
from dataclasses import replace

import pytest

from polyvolta.cuda.verify.order.happens_before import HappensBefore
from tests.cuda.verify.order.interleavings import broken
from tests.cuda.verify.rings import BK, Ring, ring

MANY = int(os.environ.get("RANDOM_RINGS", "120"))
BATCHES = 6
USUAL = ["wait", "sync", "copy", "commit", "compute"]
MULTIPLES = (1, 8, BK, 48, 2 * BK)
"""What K may have to be a multiple of: with 48 there is no kernel of four k tiles."""


def made(rng: random.Random) -> Ring:
    """A ring: near those that work, or of any order."""
    stages = rng.randint(1, 5)
    distance = max(0, stages - 1 + rng.choice((0, 0, 0, -1, 1)))
    pending = max(0, distance - 1 + rng.choice((0, 0, 0, -1, 1)))
    peeled = rng.random() < 0.3
    if rng.random() < 0.15:
        return Ring(stages, distance, max(0, distance - 1 + rng.choice((0, 0, 1, -1))), ("strips",), peeled=peeled)
    trip = list(USUAL)
    if rng.random() < 0.5:
        rng.shuffle(trip)
    if rng.random() < 0.3:
        n = trip.index("copy")
        trip[n : n + 1] = rng.choice((["copy A", "copy B"], ["copy A", "commit", "copy B"]))
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        if rng.random() < 0.5:
            trip.insert(rng.randint(0, len(trip)), rng.choice(("sync", "wait", "commit")))
        else:
            trip.remove(rng.choice([w for w in trip if w in ("sync", "wait", "commit")] or [trip[0]]))
    return Ring(stages, distance, pending, tuple(trip), rng.random() < 0.3, rng.random() < 0.8, peeled=peeled)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_verdict_is_that_of_all_interleavings(batch):
    rng, good = random.Random(batch), 0
    for n in range(MANY // BATCHES):
        r, multiple = made(rng), MULTIPLES[n % len(MULTIPLES)]
        order = HappensBefore(replace(ring(r), context=(("K", multiple),)))
        cases = [f.case for f in (order.late, order.early) if f is not None]
        for case in cases:
            assert case.sizes["K"] % multiple == 0 and broken(r, -(-case.sizes["K"] // BK)), (r, case)
        if not cases:
            good += 1
            some = {-(-K // BK) for K in range(0, (2 * r.stages + 4) * BK, multiple)}
            assert not any(broken(r, tiles) for tiles in some), r
    assert good
