"""Rings of asynchronous copies: what is where when, groups and waits, refusals, trees."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.passes.decompose import decompose
from polyvolta.compiler.rule.values import BUFFERS
from polyvolta.compiler.signature import context_of, tensors_of
from polyvolta.compiler.tiling import farthest
from polyvolta.cuda.build.promotion import pipeline
from polyvolta.cuda.build.promotion.assemble import awaited, prefetched, promote
from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Barrier,
    CommitCopies,
    GlobalLoad,
    LoadMatrix,
    Loop,
    Mma,
    SharedStore,
    WaitCopies,
    When,
)
from polyvolta.cuda.ir.walk import operations, replaced, walk
from polyvolta.cuda.target.registry import target_of
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan
from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.tree import Extension
from polyvolta.sets import Map
from tests.cuda.build.ring_trace import traced

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P = pv.tensor("P", (M, K))
U, V = pv.tensor("U", (M, L), layout="col"), pv.tensor("V", (L, N))
SMALL = {"block_tile": (32, 64, 32), "warp_tile": (16, 32, 32)}
RINGS = [(s, d, f) for s in BUFFERS for d in range(farthest(s, asynchronous=True) + 1) for f in (1, 2)]
NAMES = [f"{s} buffers, {d} ahead, {f} sets of fragments" for s, d, f in RINGS]
SOME = [(1, 0, 1), (1, 0, 2), (2, 1, 1), (2, 1, 2), (3, 1, 2), (3, 2, 1), (3, 2, 2), (5, 4, 2)]
EVERY = [(s, farthest(s, asynchronous=True), f) for s in BUFFERS for f in (1, 2)]
IDIOMS = {
    "plain": A @ B,
    "a prologue of A": pv.relu(A + P) @ B,
    "a prologue of B": A @ pv.relu(B),
    "prologues of both": pv.relu(A + P) @ pv.relu(B),
}
COPIED = {"plain": {"A", "B"}, "a prologue of A": {"B"}, "a prologue of B": {"A"}, "prologues of both": set()}
DEPTHS = (0, 1, 31, 32, 33, 64, 65, 96, 200)


@cache
def kernel_of(idiom, buffers, ahead, fragments, **more):
    options = pv.Options(**SMALL, buffers=buffers, prefetch=ahead, fragments=fragments, **dict(more))
    return pv.compile(IDIOMS[idiom], target="sm_80", options=options)


@cache
def promotion_of(buffers, ahead, fragments):
    """The promotion before anything is prefetched, with commits for so many tiles ahead; its context."""
    target = target_of("sm_80")
    graph = Graph.of(A @ B)
    given = pv.Options(**SMALL, buffers=max(buffers, 2), fragments=fragments)
    options = replace(pv.compile(A @ B, target=target, options=given).options, buffers=buffers, prefetch=ahead)
    idiom = plan(graph)
    context = context_of(graph, idiom, {})
    macro = target.macro_mma(options.macro_mma)
    trees = decompose(graph, options, macro.shape, context)
    return promote(*trees, idiom, tensors_of(graph), options, macro, context, target.shared_bytes, True), context


# ---- what is where when


@pytest.mark.parametrize(("buffers", "ahead", "fragments"), RINGS, ids=NAMES)
def test_each_strip_is_multiplied_once_in_order_from_what_has_arrived(buffers, ahead, fragments):
    """By a trace of one thread: nothing read before it has arrived and a barrier, nothing overwritten that is read or
    on its way, every wait for its tile and for no later group."""
    kernel = kernel_of("plain", buffers, ahead, fragments)
    for k in DEPTHS:
        trace = traced(kernel, {"M": 64, "N": 64, "K": k})
        tiles = -(-k // 32)
        assert set(trace.products) == {("hmma_C", (0, 0))} or not tiles
        for strips in trace.products.values():
            assert strips == [(tile, s) for tile in range(tiles) for s in (0, 1)]
        in_ring(trace, tiles, buffers, ahead)


def in_ring(trace, tiles, buffers, ahead):
    """The groups, waits and barriers of a loop in which something is copied asynchronously.

    Behind the last tile as many tiles of zeros follow as copies are ahead, which are waited for like any other, and
    then as many empty groups; also where there is no tile at all.
    """
    brought = tiles + ahead
    assert trace.groups == [frozenset({t} if t < brought else ()) for t in range(brought + ahead)]
    assert [made - pending for pending, made in trace.pending] == [t + 1 for t in range(brought)]
    assert trace.barriers == brought * (2 if buffers == 1 else 1)
    assert all(arrived and visible for _, _, visible, arrived in trace.buffers.values())


@pytest.mark.parametrize("idiom", [name for name in IDIOMS if name != "plain"])
@pytest.mark.parametrize(("buffers", "ahead", "fragments"), dict.fromkeys(SOME + EVERY), ids=str)
def test_operands_with_a_prologue_go_through_registers_in_the_same_loop(idiom, buffers, ahead, fragments):
    """Where the other operand is copied asynchronously barriers go on for the copies behind the last tile; where none
    is, there are as many as tiles. What goes through registers is loaded and stored for the tiles that there are."""
    kernel = kernel_of(idiom, buffers, ahead, fragments)
    ops = list(operations(kernel.ir.body))
    copied = {op.tensor for op in ops if isinstance(op, AsyncCopy)}
    assert copied == COPIED[idiom]
    assert {op.tensor for op in ops if isinstance(op, GlobalLoad)} == {t.name for t in kernel.graph.inputs} - copied
    assert any(isinstance(op, SharedStore) for op in ops)
    assert any(isinstance(op, WaitCopies) for op in ops) == bool(copied)
    for k in DEPTHS:
        trace = traced(kernel, {"M": 64, "N": 64, "K": k})
        tiles = -(-k // 32)
        assert len(trace.products) == 1 or not tiles
        for strips in trace.products.values():
            assert strips == [(tile, s) for tile in range(tiles) for s in (0, 1)]
        assert set(trace.stored.values()) == ({tuple(range(tiles))} if tiles else set())
        if copied:
            in_ring(trace, tiles, buffers, ahead)
        else:
            assert not trace.groups and not trace.pending
            assert trace.barriers == tiles * (2 if buffers == 1 else 1)


@pytest.mark.parametrize(("buffers", "ahead", "fragments"), SOME, ids=str)
@pytest.mark.parametrize("what", ["plain", "split", "padded", "sum"])
def test_kernels_compute_the_product(what, buffers, ahead, fragments):
    """Interpreted for sizes around the tiles."""
    rng, expr = np.random.default_rng(7), A @ B + U @ V if what == "sum" else A @ B
    options = {"split": {"split_k": 2}, "padded": {"partial": "pad"}}.get(what, {})
    given = pv.Options(**SMALL, buffers=buffers, prefetch=ahead, fragments=fragments, **options)
    kernel = pv.compile(expr, target="sm_80", options=given)
    for m, n, k in [(33, 70, 101), (32, 64, 64), (5, 64, 0)]:
        shapes = {"A": (m, k), "B": (k, n), "U": (m, 40), "V": (40, n)}
        arrays = {t.name: rng.integers(-3, 4, shapes[t.name]).astype(np.float16) for t in kernel.graph.inputs}
        arrays = {name: np.asfortranarray(x) if name in "BU" else x for name, x in arrays.items()}
        np.testing.assert_array_equal(kernel.interpret(**arrays), pv.reference(expr, **arrays).astype(np.float16))


@pytest.mark.parametrize("target", ["sm_70", "sm_75"])
@pytest.mark.parametrize(("buffers", "ahead"), [(1, 0), (1, 1), (2, 0), (2, 1), (3, 2), (4, 2)], ids=str)
@pytest.mark.parametrize("idiom", ["plain", "a prologue of A"])
def test_two_sets_of_fragments_where_all_copies_go_through_registers(target, buffers, ahead, idiom):
    options = pv.Options(**SMALL, buffers=buffers, prefetch=ahead, fragments=2)
    kernel = pv.compile(IDIOMS[idiom], target=target, options=options)
    strips = 32 // kernel.target.macro_mma(kernel.options.macro_mma).shape[2]
    for k in DEPTHS:
        trace = traced(kernel, {"M": 64, "N": 64, "K": k})
        for found in trace.products.values():
            assert found == [(tile, s) for tile in range(-(-k // 32)) for s in range(strips)]
        assert trace.barriers == -(-k // 32) * (2 if buffers == 1 else 1)


@pytest.mark.parametrize("depth", [1, 16, 32, 48, 64, 96, 200])
@pytest.mark.parametrize("fragments", [1, 2])
def test_sums_of_a_known_length(depth, fragments):
    """Also where there is one tile, or none of what a ring is filled with."""
    given = pv.tensor("A", (40, depth)), pv.tensor("B", (depth, 70), layout="col")
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((40, depth), (depth, 70)))
    for buffers in (1, 2, 4):
        options = pv.Options(**SMALL, buffers=buffers, fragments=fragments)
        kernel = pv.compile(given[0] @ given[1], target="sm_80", options=options)
        found = kernel.interpret(A=a, B=np.asfortranarray(b))
        np.testing.assert_array_equal(found, (a.astype(float) @ b).astype(np.float16))


# ---- the trace itself finds what is wrong


def broken(kernel, kind, change):
    """The kernel with some operations changed, or left out where `change` gives None."""
    body = kernel.ir.body
    for at, op in sorted(walk(body), key=lambda found: found[0], reverse=True):
        if isinstance(op, kind):
            new = change(op)
            body = replaced(body, at, () if new is None else (new,))
    return partial(_with, kernel, replace(kernel.ir, body=body))


def _with(kernel, ir):
    class Changed:
        options, target, graph = kernel.options, kernel.target, kernel.graph

    Changed.ir = ir
    return Changed


WRONG = {
    "waits for too little": (WaitCopies, lambda op: replace(op, pending=op.pending + 1), "before tile 0 has arrived"),
    "no wait": (WaitCopies, lambda op: None, "before tile 0 has arrived"),
    "no barrier": (Barrier, lambda op: None if op.scope == "block" else op, "before a barrier"),
    "copies to another slot": (
        AsyncCopy, lambda op: replace(op, buffer=(op.buffer + 1) % 3), "overwritten|has arrived|before a barrier"),
    "reads another slot": (
        LoadMatrix, lambda op: replace(op, buffer=(op.buffer + 1) % 3), "has arrived|a barrier|tiles and strips"),
    "stores to another slot": (
        SharedStore, lambda op: replace(op, buffer=(op.buffer + 1) % 3), "overwritten|a barrier|tiles and strips"),
    "no store": (SharedStore, lambda op: None, "a barrier"),
}  # fmt: skip
CASES = [(idiom, name) for idiom in IDIOMS for name, (kind, *_) in WRONG.items()
         if (kind is not SharedStore or idiom != "plain") and (COPIED[idiom] or kind not in (WaitCopies, AsyncCopy))
         ]  # fmt: skip


@pytest.mark.parametrize(("idiom", "name"), CASES)
def test_the_trace_finds_a_kernel_broken(idiom, name):
    kind, change, message = WRONG[name]
    kernel = kernel_of(idiom, 3, 2, 2)
    with pytest.raises((AssertionError, KeyError)) as found:
        trace = traced(broken(kernel, kind, change)(), {"M": 64, "N": 64, "K": 300})
        wanted = [(tile, s) for tile in range(10) for s in (0, 1)]
        assert all(strips == wanted for strips in trace.products.values()), "tiles and strips"
    assert isinstance(found.value, KeyError) or any(part in str(found.value) for part in message.split("|"))


# ---- pending groups


@pytest.mark.parametrize(("buffers", "ahead", "fragments"), RINGS, ids=NAMES)
def test_what_may_be_pending_is_counted_from_the_tree(buffers, ahead, fragments):
    waits = {op.pending for op in operations(kernel_of("plain", buffers, ahead, fragments).ir.body)
             if isinstance(op, WaitCopies)}  # fmt: skip
    assert waits == {max(ahead - 1, 0)}


def test_without_commits_beyond_the_last_tile_a_wait_leaves_nothing_pending():
    """The wait of the last tile has no later group behind it, so that it must be for all."""
    promotion, context = promotion_of(3, 2, 1)
    tree = prefetched(promotion, context, 2)
    (at,) = (path for path, node in tree.walk() if isinstance(node, Extension) and "wait" in str(node.extension))
    node = tree.node(at)
    found = {s.out.name: (s, c) for s, c in node.extension.parts}
    found["commit"] = found["commit"][0], found["wait"][1]
    short = tree.replace(at, Extension(Map._of(node.extension.param_names, list(found.values())), node.child))
    pending = [awaited(promotion, t).movements["wait"].ops[0].pending for t in (tree, short)]
    assert pending == [1, 0]


# ---- refusals


@pytest.mark.parametrize(("buffers", "fragments"), [(s, f) for s in BUFFERS for f in (1, 2)], ids=str)
def test_copies_as_far_ahead_as_there_are_buffers_are_refused_by_the_pass(buffers, fragments):
    promotion, context = promotion_of(buffers, farthest(buffers, True), fragments)
    for ahead in range(farthest(buffers, True) + 1):
        prefetched(promotion, context, ahead)
    slot = rf"both touch shared_A\[[0-{buffers - 1}]\]"
    for ahead in (buffers, buffers + 1):
        with pytest.raises(IllegalTransformation, match=f"must run (before|between) .* in iteration .*: {slot}"):
            prefetched(promotion, context, ahead)


@pytest.mark.parametrize("fragments", [1, 2])
@pytest.mark.parametrize(
    ("statement", "by", "message"),
    [
        ("wait", 1, r"(wait in iteration 0 must run before|sync_read must run between wait)"),
        ("sync_read", 1, "sync_read must run between"),
        ("commit", 1, r"commit in iteration 0 must run before wait in iteration 0: .* groups of copies\[0\]"),
        ("copy_A", 1, "copy_A in iteration 0 must run before commit in iteration 0"),
    ],
)
def test_one_statement_of_a_ring_a_tile_later_is_refused(monkeypatch, fragments, statement, by, message):
    """With two buffers nothing is left to spare: each wait, barrier and commit is where it must be."""
    promotion, context = promotion_of(2, 1, fragments)
    step = by if fragments == 1 else 2 * by
    kept = pipeline.prefetch
    prefetched(promotion, context, 1)

    def late(schedule, at, shifts, *rest):
        return kept(schedule, at, {**shifts, statement: shifts.get(statement, 0) + step}, *rest)

    monkeypatch.setattr(pipeline, "prefetch", late)
    with pytest.raises(IllegalTransformation, match=message):
        prefetched(promotion, context, 1)


def test_fragments_two_strips_ahead_are_refused(monkeypatch):
    """They take turns in two sets of registers."""
    promotion, context = promotion_of(3, 2, 2)
    kept = pipeline.prefetch

    def early(schedule, at, shifts, *rest):
        return kept(schedule, at, {s: 2 * n if n == -1 else n for s, n in shifts.items()}, *rest)

    monkeypatch.setattr(pipeline, "prefetch", early)
    with pytest.raises(IllegalTransformation, match=r"S in iteration \d+ must run before frag_.*hmma_[AB]\[[01]\]"):
        prefetched(promotion, context, 2)


# ---- trees


def test_the_trees_of_two_targets_differ_by_what_the_chips_do_differently():
    """With one set of fragments: the copies, and where the barrier stands; the rest of the statements are the same."""
    trees = {}
    for target, macro in (("sm_75", "m16n32k16"), ("sm_80", "m16n32k16")):
        options = pv.Options(**SMALL, macro_mma=macro, buffers=3, fragments=1, group=1)
        trees[target] = pv.compile(A @ B, target=target, options=options).stages["promoted"]
    names = {t: {s.out.name for _, n in tree.walk() if isinstance(n, Extension) for s, _ in n.extension.parts}
             for t, tree in trees.items()}  # fmt: skip
    assert names["sm_75"] - names["sm_80"] == {"load_A", "load_B", "store_A", "store_B"}
    assert names["sm_80"] - names["sm_75"] == {"copy_A", "copy_B", "commit", "wait"}


def test_one_set_of_fragments_where_strips_cannot_take_turns():
    options = pv.Options(block_tile=(32, 64, 48), warp_tile=(16, 32, 48))
    kernel = pv.compile(A @ B, target="sm_80", options=options)
    assert kernel.options.fragments == 1
    with pytest.raises(pv.PolyvoltaError, match="fragments=2 take turns by strips, and block_tile has 3 of 16 along K"):
        pv.compile(A @ B, target="sm_80", options=pv.Options(**{**SMALL, "block_tile": (32, 64, 48),
                                                                "warp_tile": (16, 32, 48)}, fragments=2))  # fmt: skip


GOLDEN = Path(__file__).parent / "golden_trees"
KEPT = {
    "plain": (A @ B, {}),
    "one set of fragments, four buffers": (A @ B, {"buffers": 4, "fragments": 1}),
    "one buffer": (A @ B, {"buffers": 1}),
    "a prologue, K split": (pv.relu(A + P) @ B, {"buffers": 2, "split_k": 2, **SMALL}),
    "two products": (A @ B + U @ V, {"buffers": 3, "block_tile": (64, 64, 64), "warp_tile": (32, 32, 64)}),
}


@pytest.mark.parametrize("name", KEPT)
def test_prefetched_trees_are_those_that_were_looked_at(name):
    """Written by `python -m tests.cuda.build.test_async_rings`."""
    kept = GOLDEN / f"{name.replace(',', '').replace(' ', '_')}.txt"
    assert tree_text(name) == kept.read_text(encoding="utf-8")


def tree_text(name):
    expr, options = KEPT[name]
    kernel = pv.compile(expr, target="sm_80", options=pv.Options(group=1, **options))
    last = list(kernel.stages)[-1]
    return f"{kernel.stages[last]}\n"


def test_commits_are_one_a_trip_and_copies_have_one_version():
    """Zero-filled: nothing of a copy depends on where it is, and none stands under a condition."""
    body = kernel_of("plain", 4, 3, 2).ir.body
    loops = [list(operations((s,))) for s in body if isinstance(s, Loop)]
    found = [[op for op in ops if isinstance(op, CommitCopies)] for ops in loops]
    assert [len(commits) for commits in found if commits] == [1, 1, 1]  # fills the ring, multiplies, empty groups
    copies = [(at, op) for at, op in walk(body) if isinstance(op, AsyncCopy)]
    assert sorted(op.tensor for _, op in copies) == ["A", "A", "B", "B"] and all(op.guarded for _, op in copies)
    assert not any(isinstance(op, AsyncCopy) for w in conditions(body) for op in operations((w,)))


def conditions(body):
    """All conditional statements."""
    for s in body:
        if isinstance(s, When):
            yield s
        yield from conditions(s.body if isinstance(s, Loop | When) else ())


@pytest.mark.parametrize("depth", [96, 8192])
@pytest.mark.parametrize("fragments", [1, 2])
def test_of_a_known_length_the_trips_that_fill_the_ring_alone_are_unrolled(depth, fragments):
    given = pv.tensor("A", (40, depth)), pv.tensor("B", (depth, 70), layout="col")
    options = pv.Options(**SMALL, buffers=3, fragments=fragments)
    kernel = pv.compile(given[0] @ given[1], target="sm_80", options=options)
    filling, multiplying = [], []
    for s in kernel.ir.body:
        ops = list(operations((s,)))
        if isinstance(s, Loop) and any(isinstance(op, AsyncCopy) for op in ops):
            (multiplying if any(isinstance(op, Mma) for op in ops) else filling).append(s.unroll)
    assert (filling, multiplying) == ([True], [False])


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for title in KEPT:
        kept = GOLDEN / f"{title.replace(',', '').replace(' ', '_')}.txt"
        kept.write_text(tree_text(title), encoding="utf-8")
