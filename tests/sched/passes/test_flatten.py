"""Flattening two loops, and fences that run every few iterations: by enumeration."""

from __future__ import annotations

from itertools import product

import pytest

from polyvolta.sched import Band, Domain, Filter, Member, Schedule, Sequence
from polyvolta.sched.errors import BadArgument, BadPath, BadTile, IllegalTransformation
from polyvolta.sched.passes import flatten, prefetch, strip_mine
from polyvolta.sets import Map, Set, var
from tests.sched.passes.brute import times

NEST = "{ S[i, j] : 0 <= i < 5 and 0 <= j < 3; T[i] : 0 <= i < 5 }"
I, J = var("i"), var("j")


def tree(domain=NEST, inner=J):
    members = Member((("S", I), ("T", I))), Member((("S", inner), ("T", I - I)))
    return Schedule(Domain(Set(domain), Band(members, Sequence((Filter(("T",)), Filter(("S",)))))))


def order(schedule):
    found = times(schedule)
    return sorted(found, key=found.get)


def test_flattening_changes_no_order_and_strip_mining_makes_two_loops_of_it_again():
    flat = flatten(tree(), (0,), 3)
    assert len(flat.band((0,)).members) == 1
    assert order(flat) == order(tree())
    again = strip_mine(flat, (0,), {0: 3}, nested=False)
    assert len(again.band((0,)).members) == 2
    assert order(again) == order(tree())


def test_a_longer_loop_than_there_are_iterations_is_one_with_gaps():
    assert order(flatten(tree(), (0,), 7)) == order(tree())


@pytest.mark.parametrize("length", [2, 1, 0, -3, "3", 2.5])
def test_iterations_beyond_the_length_are_refused(length):
    with pytest.raises(BadTile):
        flatten(tree(), (0,), length)


def test_an_inner_loop_that_starts_below_zero_is_refused():
    with pytest.raises(BadTile, match="the inner loop of S does not stay between 0 and 8: j - 1"):
        flatten(tree(inner=J - 1), (0,), 9)


def test_what_is_no_band_of_two_loops_is_refused():
    one = flatten(tree(), (0,), 3)
    with pytest.raises(BadPath, match="a band of two loops"):
        flatten(one, (0,), 3)


# ---- fences every few iterations


def pipeline(period, tiles=4):
    """A store and a fence for each period, a use in each iteration; the store's ring has `slots`."""
    text = f"{{ store[t] : 0 <= t < {tiles}; fence[t] : 0 <= t < {tiles}; use[x] : 0 <= x < {period * tiles} }}"
    member = Member((("store", period * var("t")), ("fence", period * var("t")), ("use", var("x"))))
    children = tuple(Filter((s,)) for s in ("store", "fence", "use"))
    return Schedule(Domain(Set(text), Band((member,), Sequence(children))))


def touches(period, slots):
    store = Map(f"{{ [x] -> ring[floor(x/{period}) mod {slots}] : x mod {period} = 0 }}")
    use = Map(f"{{ [x] -> ring[floor(x/{period}) mod {slots}] }}")
    return {"store": ((), store), "fence": ((), ()), "use": (use, ())}


def legal(period, slots, by, places, tiles=9):
    """By running: each use finds its tile stored, a fence after the store, and none stores into what was read since."""
    events = []
    for s, shift in by.items():
        for t in range(tiles * (period if s == "use" else 1)):
            x = t if s == "use" else period * t
            events.append((x + shift, places.index(s), s, x // period))
    held, fenced, read = {}, set(), set()
    for *_, s, t in sorted(events):
        slot = t % slots
        if s == "store":
            if slot in read:
                return False
            held[slot] = t
            fenced.discard(slot)
        elif s == "fence":
            fenced, read = set(held), set()
        else:
            if held.get(slot) != t or slot not in fenced:
                return False
            read.add(slot)
    return True


@pytest.mark.parametrize("period", [1, 2, 3])
@pytest.mark.parametrize("slots", [2, 3])
def test_fences_of_a_period_are_judged_as_by_running(period, slots):
    """Every shift of store and fence by some iterations, in both orders of fence and use."""
    judged = set()
    orders = ("fence", "store", "use"), ("use", "store", "fence")
    for ahead, early, places in product(range(period * (slots + 1) + 1), range(2 * period), orders):
        by = {"store": -ahead, "fence": -early, "use": 0}
        wanted = legal(period, slots, by, places)
        before = ("store", "fence", "use")
        at = [before.index(s) for s in places]
        try:
            prefetch(pipeline(period), (0,), by, at, touches(period, slots), {"fence": ("ring",)}, None, period)
            found = True
        except IllegalTransformation:
            found = False
        assert not found or wanted, (by, places)  # what is let through is right
        judged.add((found, wanted))
    assert {(True, True), (False, False)} <= judged


def test_a_fence_outside_of_its_turn_is_refused():
    text = "{ fence[t] : 0 <= t < 4; use[x] : 0 <= x < 8 }"
    member = Member((("fence", 2 * var("t") + 1), ("use", var("x"))))
    odd = Schedule(Domain(Set(text), Band((member,), Sequence((Filter(("fence",)), Filter(("use",)))))))
    uses = {"fence": ((), ()), "use": (("ring",), ())}
    with pytest.raises(BadArgument, match="fence runs in iterations that are no multiples of 2"):
        prefetch(odd, (0,), {}, (0, 1), uses, {"fence": ("ring",)}, None, 2)
    with pytest.raises(BadTile, match="a period is a positive number of iterations"):
        prefetch(odd, (0,), {}, (0, 1), uses, {"fence": ("ring",)}, None, 0)
