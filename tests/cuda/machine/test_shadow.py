"""The shadow of a memory against happens-before by brute force: every pair of accesses, and the orders between them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.cuda.machine.shadow import READ_AFTER_WRITE, WRITE_AFTER_READ, WRITE_AFTER_WRITE, Shadow

THREADS, SLOTS = 96, 3
SOME = (0, 1, 5, 32, 33, 64)  # threads of three warps: with so few of them and of slots, everything meets


@st.composite
def accesses(draw):
    """A warp-wide read or write: which slots some threads take, one or two each."""
    who = draw(st.lists(st.sampled_from(SOME), min_size=1, max_size=3, unique=True))
    slots = {t: draw(st.lists(st.integers(0, SLOTS - 1), min_size=1, max_size=2)) for t in who}
    return draw(st.sampled_from(("read", "write"))), slots


barriers = st.one_of(
    st.just(("block", frozenset({0, 1, 2}))),
    st.tuples(st.just("warp"), st.sets(st.integers(0, 2), min_size=1).map(frozenset)),
)
programs = st.lists(st.one_of(accesses(), accesses(), barriers), min_size=1, max_size=9)


def ordered(program, first, thread, second, other) -> bool:
    """Whether step `first` of a thread happens before step `second` of another, by reachability and nothing cleverer.

    Each (step, thread) is a node; a thread's steps follow one another; a barrier joins those whom it lets wait.
    """
    reached = {thread}  # threads that know of the access
    for kind, who in program[first + 1 : second]:
        if kind == "block" and reached:
            return True
        if kind == "warp":
            reached |= {t for t in SOME if t // 32 in who and any(r // 32 == t // 32 for r in reached)}
    return other in reached


def races(program):
    """Every racing pair: (kind, slot, step, thread, earlier step, earlier thread)."""
    found = set()
    touched = [
        (step, thread, slot, kind)
        for step, (kind, who) in enumerate(program)
        if kind in ("read", "write")
        for thread, slots in who.items()
        for slot in set(slots)
    ]
    names = {
        ("write", "read"): READ_AFTER_WRITE,
        ("read", "write"): WRITE_AFTER_READ,
        ("write",) * 2: WRITE_AFTER_WRITE,
    }
    for step, thread, slot, kind in touched:
        for before, other, place, earlier in touched:
            if place != slot or other == thread or before > step or (earlier, kind) not in names:
                continue
            if before == step or not ordered(program, before, other, step, thread):
                found.add((names[earlier, kind], slot, step, thread, before, other))
    return found


def play(shadow, program):
    """The conflicts that a shadow finds, in the form of `races`."""
    found = set()
    threads = np.arange(THREADS).reshape(1, 3, 32, 1)
    for step, (kind, who) in enumerate(program):
        if kind in ("read", "write"):
            slots, mask = np.zeros((1, 3, 32, 2), int), np.zeros((3, 32), bool)
            for t, mine in who.items():
                slots[0, t // 32, t % 32] = mine if len(mine) == 2 else mine * 2
                mask[t // 32, t % 32] = True
            for conflicts in getattr(shadow, kind)(slots, threads, mask, step):
                for c in conflicts:
                    found.add((c.kind, c.slot, c.place, c.thread, c.other_place, c.other_thread))
        else:
            mask = np.zeros((3, 32), bool)
            mask[sorted(who)] = True
            shadow.barrier(kind, None if mask.all() else mask)
    return found


@settings(max_examples=500, deadline=None)
@given(programs)
def test_first_conflicts_are_all_found_and_all_that_is_found_is_a_race(program):
    expected, found = races(program), play(Shadow(1, SLOTS, THREADS), program)
    assert found <= expected
    for slot in range(SLOTS):
        # the first step at which a slot races is found; of a write that races with a reader and a writer, one of both
        here = {(step, kind == READ_AFTER_WRITE, thread, at) for kind, s, step, thread, at, _ in expected if s == slot}
        first = min((step for step, *_ in here), default=None)
        late = {(read, thread) for step, read, thread, at in here if step == first and at < step}
        now = {(read, thread) for step, read, thread, at in here if step == first and at == step}
        seen = {(kind == READ_AFTER_WRITE, thread) for kind, s, step, thread, *_ in found if (s, step) == (slot, first)}
        assert late <= seen <= late | now
        assert bool(seen) == bool(late | now)


@settings(max_examples=100, deadline=None)
@given(programs, programs)
def test_equal_keys_are_equal_futures(before, after):
    """A shadow after a block barrier is a new one, whatever was before; a copy goes its own way."""
    shadow = Shadow(1, SLOTS, THREADS)
    play(shadow, before)
    copy, key = shadow.copy(), shadow.key()
    copy.barrier("block", None)
    fresh = Shadow(1, SLOTS, THREADS)
    assert copy.key() == fresh.key()
    assert play(copy, after) == play(fresh, after)
    assert copy.key() == fresh.key()
    assert shadow.key() == key


def test_blocks_are_apart():
    """Two blocks use the same slots; only the block whose barrier was left out races."""
    shadow = Shadow(2, 64, 64)
    thread = np.arange(64).reshape(1, 2, 32, 1)
    assert shadow.write(thread, thread, None, 0) == ()
    one = np.ones((2, 2, 32), bool)
    one[1] = False
    shadow.barrier("block", one)
    (found,) = shadow.read((thread + 32) % 64, thread, None, 1)
    assert found.kind == READ_AFTER_WRITE
    assert set(found.block) == {1} and sorted(found.slot) == list(range(64))


def test_a_barrier_that_part_of_a_warp_reaches_orders_nothing():
    shadow = Shadow(1, 32, 32)
    thread = np.arange(32).reshape(1, 1, 32, 1)
    shadow.write(thread, thread, None, 0)
    mask = np.ones((1, 32), bool)
    mask[0, 7] = False
    shadow.barrier("warp", mask)
    shadow.barrier("block", mask)
    (found,) = shadow.read(31 - thread, thread, None, 1)
    assert len(found) == 32
    shadow.barrier("warp", None)
    assert shadow.read(thread, thread, None, 2) == ()
