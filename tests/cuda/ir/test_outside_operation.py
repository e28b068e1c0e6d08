"""An operation that the package doesn't know: who says what it touches is seen by every reader that asks.

`MovePair` takes two values of a tile to another tile, without registers in between. Its meaning is entered where
meaning is, in the machine's effects and in the printer's texts; bounds, races, reads of what nobody wrote, banks,
counts, steps, pictures and well-formedness know it by its accesses alone. The kernel reverses the rows of a matrix by
it, across the warps of a block: C[i, k] = A[63 - i, k].
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from polyvolta.cuda.ir.accesses import Access, Operation
from polyvolta.cuda.ir.kernel_ir import (
    Barrier,
    Element,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    GlobalTensor,
    KernelIR,
    Loop,
    RegisterArray,
    SharedStore,
    SharedTile,
)
from polyvolta.cuda.ir.walk import arrays_of, put
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.machine.access import reaches
from polyvolta.cuda.machine.errors import NotAChunk, NotHere, OutOfBounds
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.machine.observe.watch import Watch
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.machine.stepping import trace
from polyvolta.cuda.pictures.banks import shared_tile
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.text.c_expr import NotPrintable
from polyvolta.cuda.text.operations import TEXTS
from polyvolta.cuda.text.places import Places
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.cuda.verify.accesses.races import RaceWatch
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sched.nodes import Domain, Leaf
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Set, aff, var

T, C, WARP, ROW, K, Z = var("linearId"), var("c0"), var("warp"), var("row"), var("k"), aff(0)


@dataclass(frozen=True, slots=True)
class MovePair(Operation):
    """Each thread takes two values, side by side, from one tile to another."""

    source: str
    taken: tuple[Aff, ...]
    target: str
    put: tuple[Aff, ...]
    statement: str = ""

    def accesses(self, ir):
        run = ir.tile(self.source).order[-1]
        return (
            Access("shared", "read", self.source, self.taken, values=2, width=2, item=2, along=run),
            Access("shared", "write", self.target, self.put, values=2, width=2, item=2, along=run),
        )


@dataclass(frozen=True, slots=True)
class CopyChunk(Operation):
    """Each thread takes eight values of a tensor to a tile, past the registers; outside of the tensor they are 0."""

    tensor: str
    taken: tuple[Aff, ...]
    tile: str
    put: tuple[Aff, ...]
    guarded: bool = False
    statement: str = ""

    def accesses(self, ir):
        return (
            Access("global", "read", self.tensor, self.taken, 8, 8, 2, along=1, guarded=self.guarded),
            Access("shared", "write", self.tile, self.put, 8, 8, 2, along=1),
        )


def copy_chunk(m, op, mask):
    taken, put_ = found = reaches(m, op, mask)
    values = np.zeros((*m.shape, 8), np.float16)
    inside = np.ones(values.shape, bool) if taken.inside is None else taken.inside
    values[inside] = m.tensors[op.tensor].values[taken.elements[inside]]
    active = ... if put_.mask is None else put_.mask
    m.memory.reshape(-1, 8)[put_.rows(m.shape, m.memory.shape[1], 0)[active]] = values[active]
    return found


def move_pair(m, op, mask):
    taken, put_ = found = reaches(m, op, mask)
    pairs = m.memory.reshape(-1, 2)
    rows = [at.rows(m.shape, m.memory.shape[1], 0) for at in (taken, put_)]
    active = ... if put_.mask is None else put_.mask
    pairs[rows[1][active]] = pairs[rows[0][active]]
    return found


def text(printer, op):
    (row, k), (to_row, to_k) = ([printer.c(e) for e in index] for index in (op.taken, op.put))
    return f"((unsigned *){op.target})[4 * ({to_row}) + ({to_k}) / 2] = " \
           f"((const unsigned *){op.source})[4 * ({row}) + ({k}) / 2]"


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """What an operation means is entered where the meanings are, and nowhere else."""
    monkeypatch.setitem(EFFECTS, MovePair, move_pair)
    monkeypatch.setitem(TEXTS, MovePair, text)
    monkeypatch.setitem(EFFECTS, CopyChunk, copy_chunk)
    monkeypatch.setitem(TEXTS, CopyChunk, lambda printer, op: f"copy({op.tile}, {op.tensor})")


LAYOUT = IndexMap((("row", 64), ("k", 8)), (("chunk", ROW),))
OWN = IndexMap((("lane", 32), ("i", 8)), (("row", var("lane")), ("k", var("i"))))
MOVE = MovePair("there", (63 - T, 2 * C), "back", (T, 2 * C), "move")
STORE = SharedStore(Element("a", (Z,)), "there", (T, Z), statement="store")
SYNC = Barrier("block", "sync")
BODY = (
    GlobalLoad(Element("a", (Z,)), "A", (T, Z), 1, statement="load"),
    STORE,
    SYNC,
    Loop("c0", (aff(0),), (aff(3),), 1, True, (MOVE,)),
    SYNC,
    FragmentLoad(Element("c", (Z,)), "back", (32 * WARP, Z), "a", OWN, statement="fetch"),
    GlobalStore(Element("c", (Z,)), "C", (T, Z), 1, statement="write"),
)
SCHEDULE = Schedule(Domain(Set("{ move[i] : 0 <= i < 4 }"), Leaf()))


def kernel(*body, **changes) -> KernelIR:
    return KernelIR(
        "reverse", (), (GlobalTensor("A", (64, 8), (0, 1)), GlobalTensor("C", (64, 8), (0, 1), True)),
        (SharedTile("there", 0, 64, LAYOUT, (0, 1)), SharedTile("back", 64, 64, LAYOUT, (0, 1))),
        (RegisterArray("a", "half", (1,)), RegisterArray("c", "half", (1,))), 64,
        (("lane", T % 32), ("warp", T // 32)), {"linearId": (0, 63), "c0": (0, 3)}, (aff(1),) * 3,
        body=body or BODY,
    )  # fmt: skip


def moving(**changes) -> KernelIR:
    """The kernel with another move."""
    loop = BODY[3]
    return kernel(*BODY[:3], replace(loop, body=(replace(MOVE, **changes),)), *BODY[4:])


def arrays() -> dict[str, np.ndarray]:
    return {"A": np.arange(512).reshape(64, 8).astype(np.float16), "C": np.zeros((64, 8), np.float16)}


COPY = CopyChunk("A", (T, Z), "there", (T, Z), statement="copy")


def watched(ir: KernelIR, *names: str) -> list:
    given, watch = arrays(), Watch(ir, names)
    interpret(ir, given, {}, watch=watch)
    seen = watch.seen(Places(ir, SCHEDULE))
    return [seen[name] for name in names]


def test_the_kernel_does_what_it_should_and_nothing_is_found():
    given = arrays()
    interpret(kernel(), given, {})
    assert (given["C"] == given["A"][::-1]).all()
    for seen in watched(kernel(), "races", "uninitialised", "bounds", "divergence"):
        assert seen.findings == ()


@pytest.mark.parametrize(("without", "kind", "later", "earlier"), [
    (2, "read after write", "move", "store"), (4, "read after write", "fetch", "move"),
])  # fmt: skip
def test_a_missing_barrier_is_a_race_of_it(without, kind, later, earlier):
    """Rows come from the other warp, so that each barrier is needed; the fetch reads rows of its own warp."""
    body = list(BODY)
    if without == 4:  # a warp takes the rows that the other one moved
        body[5] = replace(body[5], origin=(32 - 32 * WARP, Z))
    del body[without]
    (races,) = watched(kernel(*body), "races")
    found = {(r.kind, r.place.statement, r.other.statement) for r in races.rows}
    assert (kind, later, earlier) in found


def test_a_barrier_between_its_reads_and_an_overwriting_store_is_missed():
    """It reads `there`, and a second store to `there` follows without a barrier."""
    (races,) = watched(kernel(*BODY[:4], STORE, *BODY[4:]), "races")
    assert {(r.kind, r.place.statement, r.other.statement) for r in races.rows} == {
        ("write after read", "store", "move")
    }


def test_what_it_reads_before_anybody_wrote_is_found():
    (seen,) = watched(kernel(BODY[0], *BODY[2:]), "uninitialised")
    first = seen.rows[0]
    assert (first.place.statement, first.array, first.count) == ("move", "there", 4 * 64)
    assert first.where == "byte 1008 of shared memory in there"  # row 63, which thread 0 takes


def test_what_it_does_not_write_is_missed_by_who_reads_it():
    loop = replace(BODY[3], upper=(aff(2),))  # three pairs of four
    (seen,) = watched(kernel(*BODY[:3], loop, *BODY[4:]), "uninitialised")
    assert [(r.place.statement, r.array, r.count) for r in seen.rows] == [("fetch", "back", 64)]


def test_banks_are_counted_for_both_of_its_accesses():
    """Lanes reach words 16 bytes apart: banks 0, 4, ..., 28, each of four lanes. Twice, in 2 warps, for 4 pairs."""
    (seen,) = watched(kernel(), "bank_conflicts")
    rows = {(r.place.statement, r.array): r for r in seen.rows}
    for array, kind in (("there", "read"), ("back", "write")):
        row = rows["move", array]
        assert (row.kind, row.width, row.worst, row.accesses, row.served) == (kind, 4, 4, 8, 32)


def test_its_instructions_are_counted():
    (seen,) = watched(kernel(), "counts")
    assert (seen.instructions["LDS.32"], seen.instructions["STS.32"]) == (8, 8)
    assert seen.shared_memory.read == 64 * 8 * 2 * 2 and seen.shared_memory.written == 64 * 8 * 2 * 2


@pytest.mark.parametrize(("changes", "error", "said"), [
    ({"taken": (64 - T, 2 * C)}, OutOfBounds, r"MovePair move: there\[64, 0\] is outside of there\[64, 8\]"),
    ({"put": (T, 2 * C + 2)}, OutOfBounds, r"MovePair move: back\[0, 8\] is outside of back\[64, 8\]"),
    ({"put": (T, 2 * C + 1)}, NotAChunk, "MovePair move: the values that a lane stores at once aren't one aligned run"),
    ({"taken": (T, 2 * C - 1)}, OutOfBounds, r"there\[0, -1\]"),
])  # fmt: skip
def test_places_outside_and_between_boundaries_are_refused(changes, error, said):
    with pytest.raises(error, match=said):
        interpret(moving(**changes), arrays(), {})


def test_places_outside_are_observed_where_observers_ask():
    (seen,) = watched(moving(taken=(64 - T, 2 * C)), "bounds")
    (finding, *_) = seen.findings
    assert "MovePair move: there[64, 0]" in finding.what and finding.places[0].statement == "move"


def test_steps_say_what_it_touches():
    steps = [s for s in trace(kernel(), SCHEDULE, arrays(), {}) if s.statement == "move"]
    assert len(steps) == 4
    assert [words for _, words in steps[1].does] == [
        "back[0:32, 2:4] = there[32:64, 2:4]", "back[32:64, 2:4] = there[0:32, 2:4]",
    ]  # fmt: skip
    read, write = steps[1].reads[0], steps[1].writes[0]
    assert (read.space, read.array, read.bytes, read.chunks) == ("shared", "there", 128, tuple(range(32, 64)))
    assert (write.array, write.bytes, write.chunks) == ("back", 128, tuple(range(32)))
    kinds = [(a.kind, a.width, int(a.address[0, 0, 1])) for a in steps[1].accesses]
    assert kinds == [("read", 4, 16 * 62 + 4), ("write", 4, 1024 + 16 + 4)]


def test_pictures_show_it():
    for tile, verb in (("there", "loads"), ("back", "stores")):
        svg = shared_tile(kernel(), tile, "move", warp=1)
        assert f"{tile}: what warp 1 {verb} in move" in svg and "4-way bank conflicts" in svg


def test_it_is_printed_and_rewritten_as_any_other():
    source = print_cuda(kernel())
    assert "((unsigned *)back)[4 * (linearId) + (2 * c0) / 2] = " in source
    assert put(MOVE, lambda e: e.subs({"c0": 3})) == replace(MOVE, taken=(63 - T, aff(6)), put=(T, aff(6)))
    assert arrays_of(MOVE, kernel()) == ({"there"}, {"back"})


@pytest.mark.parametrize(("changes", "said"), [
    ({"taken": (var("nobody"), 2 * C)}, "MovePair: taken is nobody, and nobody has no value there"),
    ({"source": "nowhere"}, "MovePair: no tile is called 'nowhere'"),
    ({"put": (T,)}, "MovePair: back has 2 dimensions, not 1"),
    ({"target": "nowhere"}, "MovePair: no tile is called 'nowhere'"),
])  # fmt: skip
def test_it_is_checked_for_a_meaning(changes, said):
    check(kernel())
    with pytest.raises(IllFormed, match="PV549") as refused:
        check(moving(**changes))
    assert said in refused.value.message


@dataclass(frozen=True, slots=True)
class Worded(Operation):
    """A move that says other words of itself, or of the access by which it writes."""

    move: MovePair = MOVE
    words: tuple[tuple[str, str | Aff], ...] = ()
    waits: str | None = "thread"
    fences: str | None = None
    statement: str = "move"

    @property
    def together(self):
        return self.waits

    @property
    def orders(self):
        return self.fences

    def accesses(self, ir):
        read, write = self.move.accesses(ir)
        return read, replace(write, **dict(self.words))


@pytest.mark.parametrize(("changes", "said"), [
    ({"words": (("kind", "store"),)}, "an access to back has kind 'store', where 'read' or 'write' belongs"),
    ({"words": (("space", "smem"),)}, "has space 'smem', where 'registers' or 'shared' or 'global' belongs"),
    ({"words": (("proxy", "tma"),)}, "has proxy 'tma', where 'generic' or 'async' belongs"),
    ({"words": (("when", "later"),)}, "has when 'later', where 'issue' or 'completion' belongs"),
    ({"words": (("array", "nowhere"),)}, "no tile is called 'nowhere'"),
    ({"words": (("array", "A"), ("space", "registers"))}, "no register array is called 'A'"),
    ({"words": (("slot", var("nobody")),)}, "the place in back is nobody, and nobody has no value there"),
    ({"waits": "grid"},
     "it has together 'grid', where 'thread' or 'warp' or 'warpgroup' or 'role' or 'block' or 'cluster' belongs"),
    ({"waits": None}, "it has together None"),
    ({"fences": "grid"},
     "it has orders 'grid', where None or 'warp' or 'warpgroup' or 'role' or 'block' or 'cluster' belongs"),
])  # fmt: skip
def test_words_that_nobody_knows_are_refused(changes, said):
    """A store of the kind "store" would count as a read, and its missing barrier as one that nobody needs."""
    loop = BODY[3]
    of = lambda op: kernel(*BODY[:3], replace(loop, body=(op,)), *BODY[4:])  # noqa: E731
    check(of(Worded()))
    check(of(Worded(words=(("proxy", "async"), ("when", "completion")), waits="block", fences="warp")))
    with pytest.raises(IllFormed, match="PV549") as refused:
        check(of(Worded(**changes)))
    assert said in refused.value.message and "statement (3, 0) of reverse" in str(refused.value)


def test_operations_with_a_rule_of_their_own_are_asked_for_their_words_too(monkeypatch):
    own = SharedStore.accesses
    monkeypatch.setattr(SharedStore, "accesses", lambda op, ir: tuple(replace(a, kind="store") for a in own(op, ir)))
    with pytest.raises(IllFormed, match="SharedStore: an access to a has kind 'store'"):
        check(kernel())


# ---- an operation on two kinds of memory


def copying(**changes) -> KernelIR:
    """The kernel whose first tile is filled past the registers."""
    return kernel(replace(COPY, **changes), *BODY[2:])


def test_a_copy_past_the_registers_is_seen_in_both_memories():
    given = arrays()
    interpret(copying(), given, {})
    assert (given["C"] == given["A"][::-1]).all()
    sectors, banks, counts = watched(copying(), "coalescing", "bank_conflicts", "counts")
    (row,) = (r for r in sectors.rows if r.place.statement == "copy")
    assert (row.array, row.kind, row.width, row.requests, row.sectors) == ("A", "read", 16, 2, 32)
    (row,) = (r for r in banks.rows if r.place.statement == "copy")
    assert (row.array, row.kind, row.width, row.worst) == ("there", "write", 16, 1)
    assert counts.instructions["LDG.128"] == 2 and counts.global_memory.read == 64 * 16
    (races,) = watched(kernel(COPY, *BODY[3:]), "races")
    assert {(r.place.statement, r.other.statement) for r in races.rows} == {("move", "copy")}


def test_a_picture_of_a_copy_needs_no_tensors():
    svg = shared_tile(copying(), "there", "copy", warp=1)
    assert "there: what warp 1 stores in copy" in svg and "free of bank conflicts" in svg


def test_a_thread_that_is_refused_in_one_memory_takes_no_part_in_the_other():
    """Row 64 is outside of A, so thread 63 doesn't write row 63 of the tile either."""
    bounds, seen = watched(copying(taken=(T + 1, Z)), "bounds", "uninitialised")
    assert "CopyChunk copy: A[64, 0]" in bounds.findings[0].what
    (row,) = (r for r in seen.rows if r.array == "there")
    assert (row.where, row.count) == ("byte 1008 of shared memory in there", 4)


def test_a_guarded_copy_writes_zeros_and_says_so():
    ir, given = copying(taken=(T + 16, Z), guarded=True), arrays()
    interpret(ir, given, {})
    assert (given["C"][16:] == given["A"][:15:-1]).all() and not given["C"][:16].any()
    (step,) = (s for s in trace(ir, SCHEDULE, arrays(), {}) if s.statement == "copy")
    assert [words for _, words in step.does] == [
        "there[0:32, 0:8] = A[16:48, 0:8]", "there[32:64, 0:8] = A[48:64, 0:8]  (0 outside of A)",
    ]  # fmt: skip
    ir = copying(taken=(T + 32, Z), guarded=True)
    (step,) = (s for s in trace(ir, SCHEDULE, arrays(), {}) if s.statement == "copy")
    assert step.does[1] == ((1,), "there[32:64, 0:8] = 0  (all outside of A)")


@dataclass(frozen=True, slots=True)
class Elsewhen(SharedStore):
    """A store that isn't the thread's own, or not done when the thread goes on."""

    proxy: str = "async"
    when: str = "completion"

    def accesses(self, ir):
        reads, writes = SharedStore.accesses(self, ir)
        return reads, replace(writes, proxy=self.proxy, when=self.when)


@pytest.mark.parametrize("changes", [{}, {"proxy": "generic"}, {"when": "issue"}])
def test_what_is_done_elsewhere_or_later_is_undecided(changes, monkeypatch):
    """No reader takes an access for done at once that says it isn't."""
    monkeypatch.setitem(EFFECTS, Elsewhen, EFFECTS[SharedStore])
    later = Elsewhen(STORE.source, STORE.tile, STORE.index, statement="store", **changes)
    ir = kernel(BODY[0], later, *BODY[2:])
    if later.proxy != "generic":  # what is done later by the thread itself is for the proof of the order
        with pytest.raises(Undecided, match="not known here"):
            run(ir, [RaceWatch(ir)])
    now = Elsewhen(STORE.source, STORE.tile, STORE.index, statement="store", proxy="generic", when="issue")
    run(kernel(BODY[0], now, *BODY[2:]), [RaceWatch(ir)])


@pytest.mark.parametrize("changes", [{}, {"when": "issue"}])
def test_what_is_done_by_somebody_else_is_refused(changes, monkeypatch):
    monkeypatch.setitem(EFFECTS, Elsewhen, EFFECTS[SharedStore])
    later = Elsewhen(STORE.source, STORE.tile, STORE.index, statement="store", **changes)
    with pytest.raises(NotHere, match="done at"):
        interpret(kernel(BODY[0], later, *BODY[2:]), arrays(), {})


def test_what_is_done_later_is_there_for_nobody_until_it_is_waited_for(monkeypatch):
    """The machine may do it at once; observers hold it for done any time before a wait, and there is none."""
    monkeypatch.setitem(EFFECTS, Elsewhen, EFFECTS[SharedStore])
    later = Elsewhen(STORE.source, STORE.tile, STORE.index, statement="store", proxy="generic")
    ir, given = kernel(BODY[0], later, *BODY[2:]), arrays()
    interpret(ir, given, {})
    assert (given["C"] == given["A"][::-1]).all()
    races, unwritten = watched(ir, "races", "uninitialised")
    kinds = {(r.kind, r.place.statement, r.other.statement) for r in races.rows}
    assert kinds == {("read before arrival", "move", "store"), ("copy without a wait", "store", "store")}
    assert {r.place.statement for r in unwritten.rows} == {"move"}


def test_an_operation_without_a_text_is_named(monkeypatch):
    monkeypatch.delitem(TEXTS, MovePair)
    with pytest.raises(NotPrintable, match="a MovePair has no text"):
        print_cuda(kernel())
