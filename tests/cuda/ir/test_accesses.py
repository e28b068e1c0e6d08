"""What each operation says of itself, beside what is written here by hand: its accesses, its work, its words."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields

import pytest

from polyvolta.cuda.ir.accesses import Access, Operation, Work
from polyvolta.cuda.ir.engines import boxes, grids, phases, warpgroups
from polyvolta.cuda.ir.kernel_ir import (
    OPERATIONS,
    AsyncCopy,
    Barrier,
    CommitCopies,
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    GlobalTensor,
    Inside,
    LoadMatrix,
    Mma,
    Op,
    Pointwise,
    RegisterArray,
    Runs,
    Scale,
    SharedLoad,
    SharedStore,
    SharedTile,
    StoreMatrix,
    TakeRun,
    WaitCopies,
    Zero,
)
from polyvolta.cuda.ir.memories import Arrays
from polyvolta.cuda.ir.walk import arrays_of, elements, put
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.graph.functions.formula import Call, Input, Number
from polyvolta.sets import aff, var, xor
from tests.cuda.macros import macro_mma

T, C, LANE, I, R, Z = var("linearId"), var("c2"), var("lane"), var("i"), var("round"), aff(0)
MACRO = macro_mma("m16n16k8", "row", "col")
LAYOUT = IndexMap((("row", 16), ("k", 32)), (("chunk", 4 * var("row") + var("k") // 8),))
OWN = IndexMap((("lane", 32), ("i", 8)), (("row", LANE % 16), ("k", I)))
STORE = IndexMap((("lane", 32),), (("piece0", 2 * LANE), ("piece1", 2 * LANE + 1)))
LOAD = IndexMap((("lane", 32), ("round", 2)), (("vector0", LANE + 32 * R),))
OWNS = IndexMap((("lane", 32), ("round", 2)), (("row", LANE // 2), ("col", 8 * (LANE % 2))))
HALVES = Exchange("half", ((0, 1, 4, 5), (2, 3, 6, 7)), STORE, LOAD, tuple(range(8)), OWNS, 1, 2, 32)
TWO = IndexMap((("lane", 32), ("round", 2)), (("vector0", 2 * LANE), ("vector1", 2 * LANE + 1)))
PAIRS = IndexMap((("lane", 32),), tuple((f"piece{n}", 4 * LANE + n) for n in range(4)))
FLOATS = Exchange("float", ((0, 1), (2, 3), (4, 5), (6, 7)), PAIRS, TWO, tuple(range(8)), OWNS, 1, 2, 64)
LINES = IndexMap((("lane", 32), ("n", 1)), (("row", LANE % 16), ("k", 8 * (LANE // 16))))
NAMED = IndexMap((("lane", 32), ("i", 8)), (("row", LANE % 16), ("k", 8 * (LANE // 16) + I)))
TWICE = IndexMap((("lane", 32), ("n", 2)), (("row", 8 * (LANE // 8 % 2) + 16 * var("n")), ("k", 8 * (LANE % 8))))
NAMED_TWICE = IndexMap(
    (("lane", 32), ("i", 16)), (("row", 8 * (LANE // 8 % 2) + 16 * (I // 8) + I % 8), ("k", 8 * (LANE % 8)))
)
TURNED = IndexMap((("lane", 32), ("i", 8)), (("d0", 2 * xor(I // 2, LANE // 8, 2) + I % 2), ("d1", Z)))
IR = Arrays(
    (
        GlobalTensor("A", ("M", "K"), (0, 1)),
        GlobalTensor("B", ("K", "N"), (1, 0), align=2),
        GlobalTensor("bias", ("N",), (0,)),
        GlobalTensor("C", ("M", "N"), (0, 1), True, 4),
        GlobalTensor("D", ("M", "N"), (0, 1), align=1),
    ),
    (
        SharedTile("shared_A", 0, 64, LAYOUT, (0, 1), 2),
        SharedTile("exchange", 128, 256),
        SharedTile("shared_B", 384, 64, LAYOUT, (1, 0), 3),
    ),
    (
        RegisterArray("private_A", "half", (2,)),
        RegisterArray("hmma_A", "half", (2,), 8),
        RegisterArray("hmma_B", "half", (1,), 8),
        RegisterArray("hmma_C", "float", (2, 1), 8),
        RegisterArray("run", "float", (1,)),
        RegisterArray("run_half", "half", (1,)),
    ),
)
STAGING, A, B = Element("private_A", (C,)), Element("hmma_A", (C,)), Element("hmma_B", (Z,))
D, RUN, HALF = Element("hmma_C", (C, Z)), Element("run", (Z,)), Element("run_half", (Z,))


def half(kind: str, array: str, *index) -> Access:
    """All eight values of an fp16 element."""
    return Access("registers", kind, array, index, values=8, width=8, item=2)


def single(kind: str, array: str, *index) -> Access:
    """All eight values of an fp32 element."""
    return Access("registers", kind, array, index, values=8, width=8, item=4)


def in_memory(space: str, kind: str, array: str, index, width: int, item: int = 2, **more) -> Access:
    return Access(space, kind, array, index, values=8, width=width, item=item, **more)


INDEX = (T, 8 * C)
CASES = {
    "zero": (Zero(D), [single("write", "hmma_C", C, Z)]),
    "scale": (Scale(D, 0.5), [single("read", "hmma_C", C, Z), single("write", "hmma_C", C, Z)]),
    "a load as wide as can be": (
        GlobalLoad(STAGING, "A", INDEX, 1),
        [in_memory("global", "read", "A", INDEX, 8, along=1), half("write", "private_A", C)],
    ),
    "a guarded load of a narrower tensor": (
        GlobalLoad(STAGING, "B", INDEX, 0, True),
        [in_memory("global", "read", "B", INDEX, 2, along=0, guarded=True), half("write", "private_A", C)],
    ),
    "a load across lines": (
        GlobalLoad(STAGING, "B", INDEX, 1),
        [in_memory("global", "read", "B", INDEX, 1, along=1), half("write", "private_A", C)],
    ),
    "one value for all eight": (
        GlobalLoad(HALF, "bias", (T,), None),
        [in_memory("global", "read", "bias", (T,), 1), half("write", "run_half", Z)],
    ),
    "a formula": (
        Pointwise(STAGING, "f", Input(0), (RUN, "alpha", HALF), Inside((T, C), (var("M"), var("K")), 1)),
        [single("read", "run", Z), half("read", "run_half", Z), half("write", "private_A", C)],
    ),
    "a chunk": (
        SharedStore(STAGING, "shared_A", INDEX, C % 2),
        [half("read", "private_A", C), in_memory("shared", "write", "shared_A", INDEX, 8, along=1, slot=C % 2)],
    ),
    "a fragment": (
        FragmentLoad(A, "shared_A", (Z, 8 * C), "a", OWN, 4, C % 2),
        [in_memory("shared", "read", "shared_A", (Z, 8 * C), 4, own=OWN, slot=C % 2), half("write", "hmma_A", C)],
    ),
    "a product": (
        Mma(D, A, B, MACRO),
        [single("read", "hmma_C", C, Z), half("read", "hmma_A", C), half("read", "hmma_B", Z),
         single("write", "hmma_C", C, Z)],
    ),
    "pieces of fp16": (
        ExchangeStore(D, "exchange", T // 32, HALVES),
        [single("read", "hmma_C", C, Z),
         in_memory("shared", "write", "exchange", (), 4, slot=T // 32, slot_chunks=32, places=STORE)],
    ),
    "pieces of fp32": (
        ExchangeStore(D, "exchange", Z, FLOATS),
        [single("read", "hmma_C", C, Z),
         in_memory("shared", "write", "exchange", (), 2, 4, slot=Z, slot_chunks=64, places=PAIRS)],
    ),
    "a run": (
        ExchangeLoad(HALF, "exchange", T // 32, HALVES, C),
        [in_memory("shared", "read", "exchange", (), 8, slot=T // 32, slot_chunks=32, places=LOAD, given=(C,)),
         half("write", "run_half", Z)],
    ),
    "a run of three parts": (
        ExchangeLoad(RUN, "exchange", C, FLOATS, Z, 3, 2),
        [*(in_memory("shared", "read", "exchange", (), 4, 4, slot=C + 2 * p, slot_chunks=64, places=TWO, given=(Z,))
           for p in range(3)),
         single("write", "run", Z)],
    ),
    "a lane's own run": (
        TakeRun(RUN, D, Runs(IndexMap((("round", 1), ("v", 8)), (("value", var("v")),)), OWNS, 1, 1), Z),
        [single("read", "hmma_C", C, Z), single("write", "run", Z)],
    ),
    "a guarded store": (
        GlobalStore(RUN, "C", INDEX, 1, True),
        [single("read", "run", Z), in_memory("global", "write", "C", INDEX, 4, along=1, guarded=True)],
    ),
    "a store across lines": (
        GlobalStore(HALF, "C", INDEX, 0),
        [half("read", "run_half", Z), in_memory("global", "write", "C", INDEX, 1, along=0)],
    ),
    "a barrier": (Barrier(), []),
    "matrices": (
        LoadMatrix(A, "shared_A", (Z, 8 * C), "a", OWN, LINES, buffer=C % 2),
        [in_memory("shared", "read", "shared_A", (Z, 8 * C), 8, own=NAMED, slot=C % 2, opcode="LDSM.16.M88.4"),
         half("write", "hmma_A", C)],
    ),
    "matrices two at a time, transposed": (
        LoadMatrix(B, "shared_B", (8 * C, T), "b", OWN, TWICE, 2, True),
        [Access("shared", "read", "shared_B", (8 * C, T), 16, 8, 2, own=NAMED_TWICE, opcode="LDSM.16.MT88.2", lanes=16),
         half("write", "hmma_B", Z)],
    ),
    "matrices stored": (
        StoreMatrix(A, "shared_A", (Z, 8 * C), OWN, LINES, buffer=C % 2),
        [half("read", "hmma_A", C),
         in_memory("shared", "write", "shared_A", (Z, 8 * C), 8, own=NAMED, slot=C % 2, opcode="STSM.16.M88.4")],
    ),
    "matrices stored two at a time, transposed, of fp32": (
        StoreMatrix(D, "shared_B", (8 * C, T), OWN, TWICE, 2, True),
        [single("read", "hmma_C", C, Z),
         Access("shared", "write", "shared_B", (8 * C, T), 16, 8, 2, own=NAMED_TWICE, opcode="STSM.16.MT88.2",
                lanes=16)],
    ),
    "a load of a fragment's values": (
        GlobalLoad(HALF, "C", INDEX, None, True, own=OWN),
        [Access("global", "read", "C", INDEX, 8, 2, 2, own=OWN, guarded=True), half("write", "run_half", Z)],
    ),
    "an asynchronous copy": (
        AsyncCopy("A", INDEX, 1, "shared_A", (T, 8 * C), C % 2),
        [in_memory("global", "read", "A", INDEX, 8, along=1, when="completion", opcode="LDGSTS.128"),
         in_memory("shared", "write", "shared_A", (T, 8 * C), 8, along=1, slot=C % 2, when="completion",
                   opcode="LDGSTS.128")],
    ),
    "a guarded asynchronous copy of a narrower tensor": (
        AsyncCopy("B", INDEX, 0, "shared_B", INDEX, guarded=True),
        [in_memory("global", "read", "B", INDEX, 2, along=0, guarded=True, when="completion", opcode="LDGSTS.32"),
         in_memory("shared", "write", "shared_B", INDEX, 2, along=0, when="completion", opcode="LDGSTS.32")],
    ),
    "an asynchronous copy of single values": (
        AsyncCopy("D", INDEX, 1, "shared_A", INDEX),
        [in_memory("global", "read", "D", INDEX, 1, along=1, when="completion"),
         in_memory("shared", "write", "shared_A", INDEX, 8, along=1, when="completion")],
    ),
    "a chunk that comes back": (
        SharedLoad(STAGING, "shared_A", INDEX, C % 2),
        [in_memory("shared", "read", "shared_A", INDEX, 8, along=1, slot=C % 2), half("write", "private_A", C)],
    ),
    "an asynchronous copy whose lanes begin with other pieces": (
        AsyncCopy("B", INDEX, 0, "shared_B", INDEX, turn=IndexMap((("lane", 32),), (("first", LANE // 8),))),
        [in_memory("global", "read", "B", INDEX, 2, along=0, own=TURNED, when="completion", opcode="LDGSTS.32"),
         in_memory("shared", "write", "shared_B", INDEX, 2, along=0, own=TURNED, when="completion",
                   opcode="LDGSTS.32")],
    ),
    "a group of copies": (CommitCopies(), []),
    "a wait for copies": (WaitCopies(2), []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_operation_touches_what_is_written_here(name):
    op, expected = CASES[name]
    assert list(op.accesses(IR)) == expected


def test_no_operation_is_left_out():
    """Those of engines and phases stand in `test_engine_accesses`."""
    engines = {*grids.OPERATIONS, *phases.OPERATIONS, *boxes.OPERATIONS, *warpgroups.OPERATIONS}
    assert {type(op) for op, _ in CASES.values()} == set(OPERATIONS) - engines


@pytest.mark.parametrize("name", CASES)
def test_reads_stand_before_writes_and_each_is_proxied_and_timed(name):
    found = CASES[name][0].accesses(IR)
    assert [a.writes for a in found] == sorted(a.writes for a in found)
    later = "completion" if "asynchronous" in name else "issue"
    assert {(a.proxy, a.when) for a in found} <= {("generic", later)}
    assert all(a.lanes == (16 if "two at a time" in name and a.space == "shared" else 32) for a in found)
    assert all(a.values % a.width == 0 and a.bytes == a.width * a.item for a in found)
    for a in found:
        if a.places is not None:
            assert len(a.places.outputs) == a.instructions and len(a.given) == len(a.places.inputs) - 1


@pytest.mark.parametrize(("op", "expected"), [
    (CASES["a fragment"][0], ({"shared_A"}, {"hmma_A"})),
    (CASES["a product"][0], ({"hmma_A", "hmma_B", "hmma_C"}, {"hmma_C"})),
    (CASES["a formula"][0], ({"run", "run_half"}, {"private_A"})),
    (CASES["a run of three parts"][0], ({"exchange"}, {"run"})),
    (CASES["a guarded store"][0], ({"run"}, {"C"})),
    (CASES["matrices"][0], ({"shared_A"}, {"hmma_A"})),
    (CASES["an asynchronous copy"][0], ({"A"}, {"shared_A"})),
    (CommitCopies(), (set(), set())),
    (Barrier("warp"), (set(), set())),
])  # fmt: skip
def test_arrays_touched_are_those_of_the_accesses(op, expected):
    assert arrays_of(op, IR) == expected


def test_who_takes_part_together_and_what_is_ordered():
    together = {name: op.together for name, (op, _) in CASES.items()}
    warps = {"a product", "pieces of fp16", "pieces of fp32", "a run", "a run of three parts",
             "matrices", "matrices two at a time, transposed", "matrices stored",
             "matrices stored two at a time, transposed, of fp32"}  # fmt: skip
    assert {n for n, who in together.items() if who == "warp"} == warps
    assert {n for n, who in together.items() if who == "block"} == {"a barrier"}
    assert [Barrier(scope).together for scope in ("block", "warp")] == ["block", "warp"]
    assert [Barrier(scope).orders for scope in ("block", "warp")] == ["block", "warp"]
    assert {op.orders for op, _ in CASES.values() if not isinstance(op, Barrier)} == {None}


def test_copies_are_closed_into_groups_and_waited_for_by_what_says_so():
    assert {n for n, (op, _) in CASES.items() if op.commits} == {"a group of copies"}
    assert {n: op.awaits for n, (op, _) in CASES.items() if op.awaits is not None} == {"a wait for copies": 2}
    assert WaitCopies(0).awaits == 0
    assert CommitCopies().work(IR) == Work({"LDGDEPBAR": 1}) and WaitCopies(1).work(IR) == Work({"DEPBAR": 1})


def test_products_and_exchanges_say_what_they_are():
    assert {n: op.product for n, (op, _) in CASES.items() if op.product} == {"a product": MACRO}
    assert {n: op.plan for n, (op, _) in CASES.items() if op.plan} == {
        "pieces of fp16": HALVES, "pieces of fp32": FLOATS, "a run": HALVES, "a run of three parts": FLOATS,
    }  # fmt: skip


def test_the_work_of_a_warp():
    """m16n16k8: 2 x 16 x 16 x 8 flops in four mma.m8n8k4 of 8 x 8 x 4 by each of four quad-pairs."""
    doubled = Call("mul", (Call("add", (Input(0), Input(1))), Number(2)))
    assert Zero(D).work(IR) == Work({"CLEAR": 8})
    assert Scale(D, 0.5).work(IR) == Work({"FP32": 8})
    assert Pointwise(HALF, "f", doubled, (STAGING, RUN)).work(IR) == Work({"F2F": 16, "FP32": 16})
    once = Call("mul", (Input(0), Call("pow", (Input(1), Number(0)))))  # operand 1 doesn't count, nor the product
    assert Pointwise(RUN, "f", once, (RUN, STAGING)).work(IR) == Work({"F2F": 0, "FP32": 0})
    count = len(MACRO.steps)
    assert 2 * 8 * 8 * 4 * 4 * count == 2 * 16 * 16 * 8
    work = Mma(D, A, B, MACRO).work(IR)
    assert work.flops == 2 * 16 * 16 * 8 and work.instructions == {"HMMA.884.F32": 4 * count}
    assert work.read == count * 32 * (4 * 2 + 4 * 2 + 8 * 4) and work.written == count * 32 * 8 * 4
    assert ExchangeStore(D, "exchange", Z, HALVES).work(IR) == Work({"F2F": 8})
    assert ExchangeStore(D, "exchange", Z, FLOATS).work(IR) == Work()
    assert ExchangeLoad(RUN, "exchange", Z, FLOATS, Z, 3, 2).work(IR) == Work({"FP32": 16})
    assert GlobalStore(RUN, "C", INDEX, 1).work(IR) == Work({"F2F": 8})
    assert GlobalStore(HALF, "C", INDEX, 1).work(IR) == Work()
    assert [Barrier(s).work(IR).instructions for s in ("block", "warp", "role")] == [
        {"BAR.SYNC": 1}, {"WARPSYNC": 1}, {"BAR.SYNC": 1},
    ]  # fmt: skip


@pytest.mark.parametrize(("op", "reads", "writes", "words"), [
    (Zero(D), (), ("d",), "d = 0"),
    (Scale(D, 0.5), ("d",), ("d",), "d *= 0.5"),
    (Mma(D, A, B, MACRO), ("d", "a", "b"), ("d",), "d += a @ b"),
    (Pointwise(HALF, "f", Input(0), (RUN, "alpha", HALF)), ("x", "y"), ("z",), "z = f(x, alpha, y)"),
    (ExchangeLoad(RUN, "exchange", C, FLOATS, Z, 2, 2), ("x", "y"), ("z",), "z = x + y"),
    (GlobalLoad(STAGING, "A", INDEX, 1), ("A[0, 0:8]",), ("r",), "r = A[0, 0:8]"),
    (Barrier(), (), (), "waits for all warps of the block"),
    (Barrier("warp"), (), (), "its lanes wait for one another"),
    (Barrier("role"), (), (), "waits for all warps of its role"),
    (Barrier("warpgroup"), (), (), "waits for all warps of its warpgroup"),
    (CASES["an asynchronous copy"][0], ("A[0, 0:8]",), ("t",), "t = A[0, 0:8]"),
    (CASES["matrices"][0], ("t",), ("r",), "r = t"),
    (CommitCopies(), (), (), "its copies since the last commit become a group"),
    (WaitCopies(2), (), (), "waits for all groups of its copies but the newest 2"),
    (WaitCopies(0), (), (), "waits for all its copies"),
])  # fmt: skip
def test_an_operation_in_words(op, reads, writes, words):
    assert op.sentence(reads, writes) == words


def test_guards_go_and_nothing_else_does():
    for op, _ in CASES.values():
        plain = op.unguarded()
        changed = {f.name for f in fields(op) if getattr(op, f.name) != getattr(plain, f.name)}
        assert changed <= {"guarded", "inside"} and not getattr(plain, "guarded", False)
        assert getattr(plain, "inside", None) is None
    assert CASES["a formula"][0].unguarded() != CASES["a formula"][0] != CASES["a guarded load of a narrower tensor"][0]


def test_expressions_and_elements_are_found_in_fields_of_any_operation():
    def moved(e):
        return e.subs({"c2": C + 1})

    op = CASES["a formula"][0]
    assert put(op, moved) == Pointwise(
        Element("private_A", (C + 1,)), "f", Input(0), (RUN, "alpha", HALF),
        Inside((T, C + 1), (var("M"), var("K")), 1),
    )  # fmt: skip
    assert put(CASES["a run"][0], moved).round == C + 1
    assert [list(elements(CASES[n][0])) for n in ("a formula", "a product", "a barrier")] == [
        [STAGING, RUN, HALF], [D, A, B], [],
    ]  # fmt: skip


def test_an_operation_is_a_frozen_record_without_a_dictionary():
    for op, _ in CASES.values():
        assert isinstance(op, Op) and isinstance(op, Operation) and not hasattr(op, "__dict__")
        with pytest.raises(FrozenInstanceError):
            op.statement = "other"


def test_an_operation_that_does_not_say_what_it_touches_cannot_be_made():
    @dataclass(frozen=True, slots=True)
    class Silent(Operation):
        statement: str = ""

    with pytest.raises(TypeError, match="accesses"):
        Silent()


def test_accesses_in_words():
    assert [str(a) for a in CASES["a chunk"][0].accesses(IR)] == [
        "read registers private_A[c2]: 8 values by 8",
        "write shared shared_A[linearId, 8*c2] slot c2 mod 2: 8 values by 8, along 1",
    ]
    (text, _) = map(str, CASES["a run"][0].accesses(IR))
    assert text == f"read shared exchange slot floor(linearId/32): 8 values by 8, at place {LOAD}, round c2"
    (text, _) = map(str, CASES["a guarded load of a narrower tensor"][0].accesses(IR))
    assert text == "read global B[linearId, 8*c2]: 8 values by 2, along 0, guarded"
