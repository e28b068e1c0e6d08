"""Proofs that copies cover their tiles, with each copy of each kernel broken."""

from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.ir.kernel_ir import ExchangeStore, Loop, SharedStore, When
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.coverage.copies import PROOF, Copies
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.verify import verify
from polyvolta.sets import var
from tests.cuda.verify.edited import KERNELS, changed, concrete, found, kernel, paths, without


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel(name):
    assert found(Copies, kernel(name).ir) == {}


def test_what_is_told_is_so():
    """The relation's map, evaluated, meets every chunk of the tile once."""
    ir = kernel("two buffers").ir
    client = Copies(ir)
    run(ir, [client])
    relation = client.shown(PROOF).relation
    assert "shared_A: { [linearId] -> [8*(linearId mod 4), floor(linearId/4)] : 0 <= linearId < 64 }" in relation
    assert "64 chunks of [0 <= i < 32, 0 <= k < 16]" in relation
    t = np.arange(64)
    assert len({(8 * (x % 4), x // 4) for x in t}) == 64


def edits(name):
    """Each store of a kernel, edited."""
    ir = kernel(name).ir
    for path in paths(ir, SharedStore):
        op = dict(walk(ir.body))[path]
        short = When((var("linearId") - 2,), (op,), False)
        yield "two threads short", path, replace(ir, body=replaced(ir.body, path, (short,)))
        d = 1 - dict(enumerate(ir.tile(op.tile).order))[1]
        moved = tuple(e + (1 if k == d else 0) for k, e in enumerate(op.index))
        yield "one line further", path, changed(ir, path, index=moved)
        halved = tuple(e // 16 * 8 if k != d else e for k, e in enumerate(op.index))
        yield "overlapping", path, changed(ir, path, index=halved)


@pytest.mark.parametrize("name", ["plain", "two buffers", "prologue", "sum", "idle threads"])
def test_broken_copies(name):
    """Refuted at the store, in every form; a copy that isn't there at all is another proof's to refute."""
    for what, path, ir in edits(name):
        findings = found(Copies, ir)
        assert PROOF in findings, what
        finding = findings[PROOF]
        assert finding.path[: len(path)] == path, what
        assert finding.address.startswith(dict(walk(kernel(name).ir.body))[path].tile)


def test_the_chunk_is_the_one_that_nobody_stores():
    """The counter-example's chunk is one that a concrete run leaves alone."""
    ir = kernel("plain").ir
    path = paths(ir, SharedStore)[0]
    op = dict(walk(ir.body))[path]
    short = replace(ir, body=replaced(ir.body, path, (When((61 - var("linearId"),), (op,), False),)))
    finding = found(Copies, short)[PROOF]
    assert "2 of 64 chunks" in finding.what
    chunk = int(finding.what.split()[1].rstrip(","))
    machine = concrete(short, {"M": 32, "N": 32, "K": 16})
    poison = machine.memory.view(np.uint16).copy()
    machine.run()
    assert (machine.shared[op.tile].view(np.uint16)[0, chunk] == poison[0, chunk]).all()


def test_a_round_of_an_unrolled_copy_left_out():
    """The last round of a copy in rounds: the chunks of its lines are stored by nobody."""
    ir = kernel("larger macro-MMA").ir
    rounds = [p for p, s in walk(ir.body) if isinstance(s, Loop) and any(isinstance(x, SharedStore) for x in s.body)]
    for path in rounds:
        loop = dict(walk(ir.body))[path]
        fewer = changed(ir, path, upper=(loop.upper[0] - 1,))
        assert "stored by nobody" in found(Copies, fewer)[PROOF].what
    assert rounds


def test_two_names_of_one_place():
    """A copy that is stored by one name and loaded by another is looked at where it is loaded."""
    ir = kernel("two buffers").ir
    tile, path = ir.tiles[0], next(p for p in paths(ir, SharedStore))
    same = replace(changed(ir, path, tile="alias"), tiles=(*ir.tiles, replace(tile, name="alias")))
    assert dict(walk(ir.body))[path].tile == tile.name
    assert found(Copies, same) == {}
    op = dict(walk(same.body))[path]
    short = replace(same, body=replaced(same.body, path, (When((var("linearId") - 2,), (op,), False),)))
    finding = found(Copies, short)[PROOF]
    assert finding.path == (*path, 0) and finding.address.startswith("alias")


def test_a_layout_that_takes_two_chunks_for_one():
    """A swizzle that isn't a bijection stores two pieces of the tile to one chunk."""
    ir = kernel("plain").ir
    tile = ir.tiles[0]
    names = [n for n, _ in tile.layout.inputs]
    layout = IndexMap(tile.layout.inputs, (("chunk", 2 * (var(names[0]) // 2) + var(names[1]) // 8),))
    worse = replace(ir, tiles=(replace(tile, layout=layout), *ir.tiles[1:]))
    finding = found(Copies, worse)[PROOF]
    assert "a second time" in finding.what and finding.lane is not None


@pytest.mark.parametrize("name", ["plain", "two buffers", "prologue", "sum", "split K"])
def test_an_exchange_that_goes_to_a_tile_of_an_operand(name):
    """Pieces of accumulators are no copies of the operand's elements; who reads what lies there refutes it."""
    ir = kernel(name).ir
    (path, *_) = paths(ir, ExchangeStore)
    for tile in [t.name for t in ir.tiles if t.layout is not None]:
        wrong = changed(ir, path, buffer=tile)
        assert found(Copies, wrong) == {}
        report = verify(wrong, kernel(name).graph, kernel(name).stages)
        assert {"sums", "result"} & {p.id for p in report.refuted}, tile


@pytest.mark.parametrize("tile", ["shared_A", "shared_B"])
def test_a_tile_that_is_never_stored_to(tile):
    """Nothing is stored of one operand: what is loaded of it is no copy at all."""
    ir = kernel("two buffers").ir
    for path in reversed(paths(ir, SharedStore, tile=tile)):
        ir = without(ir, path)
    assert found(Copies, ir)[PROOF].what == f"{tile} is loaded, and nothing was ever stored there"
