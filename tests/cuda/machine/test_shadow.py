"""The shadow of a memory against happens-before by brute force: every pair of accesses, and the orders between them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.cuda.machine.shadow import (
    NO_WAIT,
    READ_AFTER_WRITE,
    READ_BEFORE_ARRIVAL,
    WRITE_AFTER_READ,
    WRITE_AFTER_WRITE,
    WRITE_BEFORE_ARRIVAL,
    Shadow,
)
from tests.sets.brute import examples

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


@examples(500)
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


# ---- asynchronous copies

copies = st.one_of(
    accesses(), accesses(), barriers,
    accesses().map(lambda step: ("issue", step[1])),
    st.tuples(st.just("wait"), st.lists(st.sampled_from(SOME), min_size=1, unique=True)),
)  # fmt: skip


def arrival(program, step: int, thread: int) -> float:
    """The step at which a thread waits for all that it has issued."""
    waits = (n for n, (kind, who) in enumerate(program) if n > step and kind == "wait" and thread in who)
    return next(waits, float("inf"))


def races_with_copies(program):
    """Every racing pair: (kind, slot, step, thread). A copy is a write at any time until it is waited for."""
    found = set()
    touched = [
        (step, thread, slot, kind)
        for step, (kind, who) in enumerate(program)
        if kind in ("read", "write", "issue")
        for thread, slots in who.items()
        for slot in set(slots)
    ]
    for step, thread, slot, kind in touched:
        for before, other, place, earlier in touched:
            if place != slot or before > step or (before, other) == (step, thread) or kind == earlier == "read":
                continue
            start = before
            if earlier == "issue" and before < step:
                start = arrival(program, before, other)
                if start > step:
                    found.add((READ_BEFORE_ARRIVAL if kind == "read" else WRITE_BEFORE_ARRIVAL, slot, step, thread))
                    continue
            if other == thread or before < step and ordered(program, int(start), other, step, thread):
                continue
            names = READ_AFTER_WRITE if kind == "read" else WRITE_AFTER_READ if earlier == "read" else WRITE_AFTER_WRITE
            found.add((names, slot, step, thread))
    return found


def play_copies(shadow, program):
    """The conflicts that a shadow finds, in the form of `races_with_copies`, and what is on its way in the end."""
    found, issued = set(), {t: [] for t in SOME}
    threads = np.arange(THREADS).reshape(1, 3, 32, 1)

    def arrays(who):
        slots, mask = np.zeros((1, 3, 32, 2), int), np.zeros((3, 32), bool)
        for t, mine in who.items():
            slots[0, t // 32, t % 32] = mine if len(mine) == 2 else mine * 2
            mask[t // 32, t % 32] = True
        return slots, threads, mask

    for step, (kind, who) in enumerate(program):
        if kind == "wait":
            for t in who:
                for slots in issued.pop(t):
                    shadow.complete(*arrays({t: slots}))
                issued[t] = []
        elif kind in ("block", "warp"):
            mask = np.zeros((3, 32), bool)
            mask[sorted(who)] = True
            shadow.barrier(kind, None if mask.all() else mask)
        else:
            for conflicts in getattr(shadow, kind)(*arrays(who), step):
                found |= {(c.kind, c.slot, c.place, c.thread) for c in conflicts}
            if kind == "issue":
                for t, slots in who.items():
                    issued[t].append(slots)
    return found, {(c.kind, c.slot, c.place, c.thread) for some in shadow.unfinished() for c in some}


@examples(400)
@given(st.lists(copies, min_size=1, max_size=10))
def test_copies_race_with_all_that_comes_before_they_are_waited_for(program):
    shadow = Shadow(1, SLOTS, THREADS)
    (found, left), expected = play_copies(shadow, program), races_with_copies(program)
    for slot in range(SLOTS):
        here = {(step, thread) for _, s, step, thread in expected if s == slot}
        first = min((step for step, _ in here), default=len(program))
        seen = {(kind, step, thread) for kind, s, step, thread in found if s == slot and step <= first}
        wanted = {(kind, step, thread) for kind, s, step, thread in expected if s == slot and step == first}
        assert seen <= wanted
        two = WRITE_AFTER_WRITE  # of threads that write a slot in one step, the last one has the others against it
        assert {t for _, _, t in wanted} - {t for k, _, t in wanted if k == two} <= {t for _, _, t in seen}
        assert bool(seen) == bool(wanted)
        if not here:
            way = {(NO_WAIT, slot, n, t) for n, (kind, who) in enumerate(program) if kind == "issue"
                   for t, slots in who.items() if slot in slots and arrival(program, n, t) == float("inf")}  # fmt: skip
            assert {x for x in left if x[1] == slot} == way


def test_a_copy_takes_its_place_across_barriers_and_is_a_write_where_it_is_waited_for():
    shadow = Shadow(1, 32, 32)
    thread = np.arange(32).reshape(1, 1, 32, 1)
    assert shadow.issue(thread, thread, None, 0) == ()
    key = shadow.key()
    shadow.barrier("block", None)
    assert shadow.key() == key  # a barrier is no wait
    (found,) = shadow.copy().read(thread, thread, None, 1)
    assert found.kind == READ_BEFORE_ARRIVAL and len(found) == 32  # even by the thread itself
    shadow.complete(thread, thread, None)
    assert shadow.unfinished() == () and shadow.read(thread, thread, None, 2) == ()
    (found,) = shadow.copy().read(31 - thread, thread, None, 3)
    assert found.kind == READ_AFTER_WRITE and set(found.other_place) == {0}
    shadow.barrier("warp", None)
    assert shadow.read(31 - thread, thread, None, 4) == ()


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
