"""Pictures of kernels with asynchronous copies and `ldmatrix`, whole and broken."""

import re
from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import AsyncCopy, Barrier, CommitCopies, LoadMatrix, WaitCopies
from polyvolta.cuda.pictures import ownership, pipeline, shared_tile
from polyvolta.cuda.pictures.k_tiles import course, k_loops, unordered
from polyvolta.cuda.pictures.svg import RED
from polyvolta.sets import var
from tests.cuda.ir.ir_example import rewritten
from tests.cuda.ir.ring_example import ring_ir
from tests.cuda.pictures.reading import groups, words

THREE = """
    -2: copy 0 to 0
    -1: copy 1 to 1
     0: wait 0 of 0, barrier, copy 2 to 2, fetch 0 of 0, mma 0, fetch 0 of 0, mma 0
     1: wait 1 of 1, barrier, copy 3 to 0, fetch 1 of 1, mma 1, fetch 1 of 1, mma 1
     2: wait 2 of 2, barrier, fetch 2 of 2, mma 2, fetch 2 of 2, mma 2
     3: wait 3 of 0, barrier, fetch 3 of 0, mma 3, fetch 3 of 0, mma 3
"""


def told(found):
    """Events in words, a line for each trip."""
    lines = {}
    for e in found:
        tiles = "".join(f" {t}" for t in sorted(e.tiles))
        buffer = "" if e.buffer is None else f" {'to' if e.kind == 'copy' else 'of'} {e.buffer}"
        lines.setdefault(e.trip, []).append(f"{e.kind}{tiles}{buffer}")
    return [f"{trip}: {', '.join(what)}" for trip, what in lines.items()]


def followed(ir, tiles=4):
    at, loop = k_loops(ir)[0]
    return course(ir, at, loop, {"M": 32, "N": 32, "K": 32 * tiles})


def without(kind, **fields):
    """The ring without operations of a kind."""
    return rewritten(ring_ir(), lambda op: None if isinstance(op, kind) and all(
        getattr(op, n) == v for n, v in fields.items()) else op)  # fmt: skip


def changed(ir, kind, **fields):
    return rewritten(ir, lambda op: replace(op, **fields) if isinstance(op, kind) else op)


def test_the_order_of_a_trip():
    found = followed(ring_ir())
    assert told(found.events) == [line.strip() for line in THREE.strip().splitlines()] and found.tiles == 4
    assert not unordered(found.events) and not found.wrong() and not found.left_out()


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_rings_of_any_length_have_a_slot_for_each_row(stages):
    svg = pipeline(ring_ir(stages=stages), 6)
    rows = [w for w in words(svg) if w.startswith("global → shared")]
    assert rows == [f"global → shared, buffer {b}" for b in range(stages)]
    assert RED not in svg and "a thread waits for its own copies; the tile that has arrived" in words(svg)
    found = followed(ring_ir(stages=stages), 6)
    assert not unordered(found.events) and not found.wrong() and not found.left_out()
    titles = [g.title for g in groups(svg)]
    assert sum(t.startswith("wait: ") and "k tile" in t for t in titles) == 2 * 6  # a line, and a box in the slot's row


def test_a_wait_for_too_little_leaves_the_slot_empty():
    found = followed(changed(ring_ir(), WaitCopies, pending=2))
    assert {found.events[n].kind for n in found.wrong()} == {"fetch", "mma"} and found.left_out() == [0, 1, 2, 3]
    svg = pipeline(changed(ring_ir(), WaitCopies, pending=2), 4)
    assert "never multiplied: k tile 0, 1, 2, 3" in words(svg) and RED in svg
    assert followed(without(CommitCopies)).left_out() == [0, 1, 2, 3]


def test_without_the_barrier_reads_race_with_arrivals_and_copies_with_reads():
    found = followed(without(Barrier, scope="block"))
    kinds = {(found.events[a].kind, found.events[b].kind) for a, b in unordered(found.events)}
    assert kinds == {("wait", "fetch"), ("fetch", "copy")}
    assert "no barrier between a store and a load of one buffer" in words(pipeline(without(Barrier, scope="block"), 4))


def test_a_slot_of_another_tile_is_seen():
    """Copies go one slot further: into the one that is read, and reads find a tile of an earlier trip, or none."""
    found = followed(changed(ring_ir(), AsyncCopy, buffer=(var("c2") + 3) % 3), 6)
    assert found.wrong() and found.left_out()


@pytest.mark.parametrize("fragments", [1, 2])
@pytest.mark.parametrize("buffers", [2, 4])
def test_rings_of_the_compilers_own_begin_with_their_first_trips(fragments, buffers):
    M, N, K = pv.sizes("M N K")
    options = pv.Options(block_tile=(32, 32, 32), warp_tile=(16, 32, 32), buffers=buffers, fragments=fragments)
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    ir = pv.compile(product, target="sm_80", options=options).ir
    found = followed(ir, 7)
    assert not unordered(found.events) and not found.wrong() and not found.left_out()
    copied = [(e.trip, *e.tiles, e.buffer) for e in found.events if e.kind == "copy"]
    last = 7 + buffers - 1  # behind the last k tile copies bring zeros, which nobody fetches
    assert copied == [(tile - buffers + 1, tile, tile % buffers) for tile in range(last)]
    assert {t for e in found.events if e.kind == "wait" for t in e.tiles} == {*range(7 + (fragments == 2))}
    assert {t for e in found.events if e.kind in ("fetch", "mma") for t in e.tiles} == {*range(7)}
    svg = pipeline(ir, 6)
    assert RED not in svg and "behind the last k tile: zeros, which nobody fetches" in words(svg)


# ---- ldmatrix


@pytest.mark.parametrize("layouts", [("row", "col"), ("col", "row")])
@pytest.mark.parametrize("macro", ["m16n16k16", "m16n16k8"])
def test_fragments_are_drawn_as_their_matrices_are_distributed(layouts, macro):
    ir = ring_ir(layouts=layouts, macro=macro)
    svg = ownership(ir)
    assert RED not in svg and "the lane that names the line of eight elements that begins there" in words(svg)
    lines = re.findall(r"([AB])\[(\d+), (\d+)\]: the line of eight that lane (\d+) names", svg)
    count = 32 if macro == "m16n16k16" else 16
    for name, k in (("A", 1), ("B", 0)):
        mine = {int(lane): (int(r), int(c)) for n, r, c, lane in lines if n == name}
        assert sorted(mine) == list(range(count))
        run = k if layouts["AB".index(name)] == ("row" if name == "A" else "col") else 1 - k
        assert {place[run] % 8 for place in mine.values()} == {0} and len({*mine.values()}) == count


@pytest.mark.parametrize("operand", "ab")
def test_a_flag_that_is_turned_over_shows_where_values_go_instead(operand):
    turned = rewritten(ring_ir(), lambda op: replace(op, transposed=not op.transposed)
                       if isinstance(op, LoadMatrix) and op.operand == operand else op)  # fmt: skip
    svg = ownership(turned)
    # of 256 elements those stay that a matrix has where row / 2 and column, or the other way round, agree: 8 of 64
    assert f"elements of {operand.upper()} not loaded where the product takes them from: 224" in words(svg)


def test_the_lines_of_matrices_in_their_banks():
    said = words(shared_tile(ring_ir(), "shared_A", "frag_A"))
    assert "LDSM.16.M88.4: 128 bits a lane, 4 phases of 8 lanes: free of bank conflicts" in said
    assert "lanes 24 to 31 name the lines of matrix 3" in said
    said = words(shared_tile(ring_ir(layouts=("col", "row"), macro="m16n16k8"), "shared_B", "frag_B"))
    assert "LDSM.16.MT88.2: 128 bits a lane, 2 phases of 8 lanes: free of bank conflicts" in said
    assert "lanes 8 to 15 name the lines of matrix 1" in said and "phase 2" not in said


def test_a_copy_in_its_banks():
    said = words(shared_tile(ring_ir(), "shared_B", "copy_B", warp=1))
    assert "shared_B: what warp 1 copies in copy_B" in said
    assert "LDGSTS.128: 128 bits a lane, 4 phases of 8 lanes: free of bank conflicts" in said
    said = words(shared_tile(ring_ir(align=4), "shared_B", "copy_B", part=1))
    assert "LDGSTS.64: 64 bits a lane, 2 phases of 16 lanes: free of bank conflicts" in said
    said = words(shared_tile(ring_ir(align=4, turn=None), "shared_B", "copy_B", part=1))
    assert "LDGSTS.64: 64 bits a lane, 2 phases of 16 lanes" in said and "2-way bank conflicts" in said
