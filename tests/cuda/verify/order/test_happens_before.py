"""Happens-before of rings: what is proved for any K, and what single mistakes are refuted with."""

from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Barrier, CommitCopies, Loop, SharedStore, WaitCopies, When
from polyvolta.cuda.ir.walk import operations, replaced, walk
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.happens_before import HappensBefore, asynchronous
from polyvolta.cuda.verify.order.program import ALWAYS, Event, events_of
from polyvolta.cuda.verify.order.relations import earlier
from polyvolta.sets import Map, Set, var
from tests.cuda.verify.edited import kernel
from tests.cuda.verify.rings import BK, Ring, ring


def cases(ir) -> dict:
    order = HappensBefore(ir)
    return {name: f for name in ("late", "early") if (f := getattr(order, name)) is not None}


def words(ir) -> str:
    return "; ".join(f"{name}: {f.case.what}" for name, f in cases(ir).items())


@pytest.mark.parametrize("stages", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("strips", [False, True])
def test_rings_of_every_length_are_proved_for_any_number_of_tiles(stages, strips):
    trip = ("strips",) if strips else Ring().trip
    pending = stages - 2
    assert not cases(ring(Ring(stages, stages - 1, pending, trip)))
    late = cases(ring(Ring(stages, stages - 1, pending + 1, trip)))["late"].case
    assert "the newest" in late.what and late.sizes["K"] == 1
    assert not cases(ring(Ring(stages, stages - 1, max(pending - 1, 0), trip)))  # waits for more than it must


def test_which_wait_covers_a_copy_is_a_relation():
    ir = ring(Ring(4, 3, 2))
    covers = HappensBefore(ir).order.covers
    due = Map("[K] -> { copy1[c] -> wait1[w] : -3 <= c and 32c + 96 < K and c + 3 <= w and 0 <= w and 32w < K }")
    assert covers.is_equal(due)


def test_a_distance_one_too_far():
    found = cases(ring(Ring(3, 3, 2)))
    assert found and all(f.case.sizes["K"] == 3 * BK + 1 for f in found.values())


def test_a_barrier_less():
    ir = ring(Ring())
    bare = edited(ir, places(ir, Barrier, where=lambda s: s.scope == "block"), lambda s: ())
    found = cases(bare)
    assert set(found) == {"late", "early"}
    late, early = found["late"].case, found["early"].case
    assert "no barrier" in late.what and "no barrier" in early.what
    assert early.iteration["c2"] == 1 and "at c2 = 0" in early.what and early.sizes["K"] == 3 * BK + 1


def test_a_commit_less_and_a_wait_less():
    ir = ring(Ring())
    assert "no commit closes" in words(edited(ir, places(ir, CommitCopies), lambda s: ()))
    assert "nobody waits" in words(edited(ir, places(ir, WaitCopies), lambda s: ()))


def test_trips_without_a_group():
    """Without empty groups in the last trips a wait leaves the last tiles on their way."""
    assert "the newest group may be" in words(ring(Ring(groups=False)))
    assert not cases(ring(Ring(groups=False, pending=0)))


def test_a_barrier_before_the_wait_orders_nobody_behind_it():
    assert "no barrier" in words(ring(Ring(trip=("sync", "wait", "copy", "commit", "compute"))))


def test_places_are_those_of_the_two_accesses():
    ir = ring(Ring(pending=2))
    found = cases(ir)["late"]
    by_path = dict(walk(ir.body))
    assert by_path[found.at].statement == "frag_A" and by_path[found.other].statement == "copy_A"


def test_an_exchange_where_the_ring_was():
    """It needs the barrier behind the loop, since the last fragments are read by others."""
    ir = ring(Ring(overlaid=True))
    assert not cases(ir)
    flying = Ring(3, 2, 1, overlaid=True)
    far = ring(replace(flying, distance=2, pending=0))
    assert not cases(far)


def test_a_copy_on_its_way_when_the_exchange_begins():
    """Tiles that nobody reads are on their way at the end; where the exchange lies there, that is a race."""
    ir = ring(Ring(overlaid=True))
    loop = next(at for at, s in walk(ir.body) if isinstance(s, Loop) and s.var == "c2")
    more = lambda s: (replace(s, upper=(s.upper[0],), body=tuple(map(unbounded, s.body))),)  # noqa: E731
    found = cases(edited(ir, [loop], more))
    assert found and "exchange_C" in {dict(walk(ir.body))[f.at].statement for f in found.values()}


def padded(r: Ring, multiple: int = BK):
    """A ring whose K is a multiple."""
    return replace(ring(r), context=(("K", multiple),))


def test_a_size_that_is_a_multiple_is_counted_in_these_and_said_as_it_is():
    """In the relations the number of k tiles is a parameter; in words and cases K is K."""
    found = HappensBefore(padded(Ring(4, 3, 2)))
    assert found.relations.params == ("K",) and found.relations.columns == ("K.by32",)
    due = Map("[K] -> { copy1[c] -> wait1[w] : K mod 32 = 0 and -3 <= c and 32c + 96 < K and c + 3 <= w < K/32 }")
    assert found.relations.in_sizes(found.order.covers).is_equal(due)
    assert str(found.order.covers).startswith("[K.by32] -> ") and "mod" not in str(found.order.covers)
    assert found.late is None and found.early is None
    assert found.relation.startswith("happens-before is [K] -> ") and ".by" not in found.relation


@pytest.mark.parametrize("multiple, least", [(1, 97), (8, 104), (32, 128), (48, 144), (64, 128)])
def test_cases_are_of_the_smallest_size_that_is_such_a_multiple(multiple, least):
    found = cases(padded(Ring(3, 3, 2), multiple))
    assert found and all(f.case.sizes["K"] == least for f in found.values())


def test_of_several_multiples_all_are_known():
    ir = replace(ring(Ring(3, 3, 2)), context=(("K", 32), ("M", 16), ("K", 48)))
    assert HappensBefore(ir).relations.columns == ("K.by96",)
    assert cases(ir)["late"].case.sizes == {"M": 16, "N": 1, "K": 192}


def test_three_products_with_long_rings_of_whole_tiles():
    """Three loops over k tiles, each of another size, with loops before and behind: dozens of events."""
    M, N, K, L, H = pv.sizes("M N K L H")
    products = [pv.tensor(f"A{n}", (M, k)) @ pv.tensor(f"B{n}", (k, N)) for n, k in enumerate((K, L, H))]
    tiles = (16, 16, 16)
    options = pv.Options(block_tile=tiles, warp_tile=tiles, buffers=5, partial="pad", fragments=1)
    ir = pv.compile(products[0] + products[1] + products[2], "sm_80", options).ir
    assert not cases(ir)
    second = [at for at, s in walk(ir.body) if isinstance(s, WaitCopies)][2]
    short = cases(edited(ir, [second], lambda s: (replace(s, pending=s.pending + 1),)))["late"].case
    assert "the newest" in short.what and all(short.sizes[n] % 16 == 0 for n in "KLH")


@pytest.mark.parametrize("buffers", [2, 3, 4])
def test_a_second_product_begins_behind_the_last_barrier_of_the_first(buffers):
    """Its tiles lie where the first one's do, other threads copy to them, and that loop's end keeps the two apart."""
    M, N, K, L = pv.sizes("M N K L")
    one = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))
    other = pv.tensor("P", (M, L), layout="col") @ pv.tensor("Q", (L, N), layout="col")
    options = pv.Options(block_tile=(64, 32, 32), warp_tile=(32, 32, 32), buffers=buffers)
    ir = pv.compile(one + other, "sm_80", options).ir
    assert not cases(ir)
    last = next(k for k, s in enumerate(ir.body) if any(op.product is not None for op in operations((s,)))) + 1
    for kind in (Barrier, WaitCopies) if buffers > 2 else ():  # with two they are in the last trip that multiplies
        (at,) = (at for at, s in walk(ir.body) if at[0] == last and isinstance(s, kind))
        found = cases(edited(ir, [at], lambda s: ()))
        assert "early" in found
        assert "copies over what" in found["early"].case.what


def unbounded(s):
    """Copies in every trip, of tiles beyond the last one, too."""
    if isinstance(s, When) and any(getattr(x, "statement", "") == "copy_A" for _, x in walk(s.body)):
        return replace(s, conditions=s.conditions[1:])
    return s


def test_groups_of_some_threads_only():
    """A warp that commits nothing has nothing to wait for; what it copies never arrives for certain."""
    ir = ring(Ring())
    half = lambda s: (When((-var("warp"),), (s,), uniform=False),)  # noqa: E731
    assert "no commit closes" in words(edited(ir, places(ir, CommitCopies), half))
    found = cases(edited(ir, places(ir, CommitCopies), half))["late"].case
    assert "warp 1, lane" in found.what.split("reads what")[1] or found.warp == 1


def test_a_barrier_of_some_threads_orders_nobody():
    ir = ring(Ring())
    half = lambda s: (When((-var("warp"),), (s,), uniform=False),)  # noqa: E731
    at = places(ir, Barrier, where=lambda s: s.scope == "block")
    assert set(cases(edited(ir, at, half))) == {"late", "early"}


def test_full_and_partial_versions_are_one():
    """Copies with and without guards, by a condition on the sizes, are one event; no size is in the order then."""
    ir = ring(Ring())
    both = lambda s: (  # noqa: E731
        When((var("M") - 32 * var("blockIdx.y") - 32,), (replace(s, guarded=False),), orelse=(s,)),
    )
    parted = edited(ir, [at for at, s in walk(ir.body) if getattr(s, "statement", "") == "copy_A"], both)
    order = HappensBefore(parted)
    assert order.relations.params == ("K",) and order.late is None and order.early is None


def test_stores_of_the_threads_own_between_copies():
    """An operand that goes through registers: its stores are no copies, and meet none."""
    ir = kernel("two buffers").ir
    assert not asynchronous(ir) and places(ir, SharedStore)
    assert cases(ring(Ring())) == {}


def test_the_order_of_the_program_is_that_of_the_text():
    inner = lambda name, *at: Event(name, "read", (), ("k", "j")[: len(at) - 1], at, ALWAYS)  # noqa: E731
    x, y, z = inner("x", 0, 3, 1), inner("y", 0, 3, 2), inner("z", 0, 4)
    way = lambda a, b: [[str(e) for e in c] for c in earlier(a, b)]  # noqa: E731
    later, same = ["k' - k - 1"], ["k - k'", "k' - k"]
    assert way(x, y) == [later, [*same, "j' - j - 1"], [*same, "j - j'", "j' - j"]]
    assert way(y, x) == way(x, y)[:2]
    assert way(x, z) == [later, same] and way(z, x) == [later]


def test_a_closure_that_is_not_exact_is_undecided(monkeypatch):
    order = HappensBefore(ring(Ring()))
    monkeypatch.setattr(Map, "transitive_closure", lambda self: (self, False))
    with pytest.raises(Undecided, match="no exact transitive closure"):
        order.late  # noqa: B018


def test_a_wait_that_leaves_any_number_is_undecided():
    ir = ring(Ring())
    many = edited(ir, places(ir, WaitCopies), lambda s: (replace(s, pending=1000),))
    with pytest.raises(Undecided, match="1000 groups"):
        HappensBefore(many).late  # noqa: B018


def test_events_are_few():
    """Accesses of one kind that follow one another are one event, whatever is unrolled."""
    kinds = [e.kind for e in events_of(ring(Ring(trip=("strips",))))]
    assert kinds.count("copy") == 1 and kinds.count("read") <= 4 and kinds.count("wait") == 1


def test_a_loop_in_steps_has_every_second_instance():
    ir = ring(Ring())
    at, loop = next((at, s) for at, s in walk(ir.body) if isinstance(s, Loop) and s.var == "c2")
    twice = HappensBefore(replace(ir, body=replaced(ir.body, at, (replace(loop, step=2),))))
    (wait,) = (e for e in twice.events if e.kind == "wait")
    due = Set("[K] -> { wait1[c] : 0 <= c and 32c < K and c mod 2 = 0 }")
    assert twice.relations.instances(wait).is_equal(due)
