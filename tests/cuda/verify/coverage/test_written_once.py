"""Proofs that every output element is written once, against counts of concrete runs over all blocks."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polyvolta.cuda.ir.kernel_ir import GlobalStore, When
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.machine.access import instructions
from polyvolta.cuda.verify.coverage.written_once import PROOF, WrittenOnce
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.sets import aff, var
from tests.cuda.verify.edited import KERNELS, changed, concrete, found, kernel, paths


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel(name):
    assert found(WrittenOnce, kernel(name).ir) == {}


def counted(ir, sizes, tensor):
    """How often each element is written, by the accesses of all blocks."""
    t, counts = ir.tensor(tensor), Counter()
    shape = [sizes[d] if isinstance(d, str) else d for d in t.dims]
    ld = -(-shape[t.order[-1]] // 8) * 8
    grid = [e.evaluate(sizes) for e in ir.grid]
    for block in product(*map(range, grid)):
        machine = concrete(ir, sizes, block, forgiving=True)
        for step in machine.steps():
            for access in instructions(machine, step.reach):
                if access.array == tensor and access.kind == "write":
                    active = np.ones((ir.warps, 32), bool) if access.active is None else access.active[0]
                    for first in access.address[0][active]:
                        for value in range(int(first) // 2, (int(first) + access.width) // 2):
                            at = dict(zip(t.order, divmod(value, ld), strict=True))
                            counts[at[0], at[1]] += 1
    return counts


def agrees(ir, finding):
    """Whether a concrete run of the counter-example's sizes writes its element never, or more than once."""
    tensor, _, at = finding.address.partition("[")
    element = tuple(int(x) for x in at.rstrip("]").split(","))
    times = counted(ir, {n: finding.point[n] for n in ir.sizes}, tensor)[element]
    return times == 0 if "nobody" in finding.what else times > 1


def edits():
    for name in ("plain", "split K", "two outputs", "sum"):
        ir = kernel(name).ir
        for n, path in enumerate(paths(ir, GlobalStore)):
            op = dict(walk(ir.body))[path]
            i, j = op.index
            yield f"{name}-{n}-removed", replace(ir, body=replaced(ir.body, path, ()))
            yield f"{name}-{n}-one row further", changed(ir, path, index=(i + 1, j))
            yield f"{name}-{n}-eight columns further", changed(ir, path, index=(i, j + 8))
            yield (
                f"{name}-{n}-half of the warps",
                replace(ir, body=replaced(ir.body, path, (When((-(var("warp") % 2),), (op,), False),))),
            )
            yield f"{name}-{n}-overlapping", changed(ir, path, index=(i, j - 8 * (var("lane") % 2)))


@pytest.mark.parametrize("edit", [e[0] for e in edits()])
def test_broken_stores(edit):
    """At a store to the output, with an element that a concrete run writes never or twice."""
    ir = next(ir for name, ir in edits() if name == edit)
    finding = found(WrittenOnce, ir)[PROOF]
    assert agrees(ir, finding), finding
    if paths(ir, GlobalStore):
        assert isinstance(dict(walk(ir.body)).get(finding.path), GlobalStore) or "removed" in edit


def test_grids():
    """Too few blocks, too many, blocks that do the same; the other kernels' grids are right for all sizes."""
    ir = kernel("plain").ir
    x, y, z = ir.grid
    missing = found(WrittenOnce, replace(ir, grid=(x, var("M") // 32, z)))[PROOF]
    assert "nobody" in missing.what and missing.point["M"] % 32
    twice = found(WrittenOnce, replace(ir, grid=(x, y, aff(2))))[PROOF]
    assert "by block (0, 0, 0) and by block (0, 0, 1)" in twice.what
    swapped = replace(ir, grid=(y, x, z))
    finding = found(WrittenOnce, swapped)[PROOF]
    assert finding.point["M"] != finding.point["N"]
    assert found(WrittenOnce, replace(ir, grid=(x + 1, y, z))) == {}  # blocks of which no element is inside


def test_all_parts_of_a_split_store():
    """The sum is one warp's to store: if all do, each element is written by as many as there are parts."""
    ir = kernel("split K").ir
    conditions = [p for p, s in walk(ir.body) if isinstance(s, When) and "warpIdx_z" in str(s.conditions[0])]
    for path in conditions:
        if any(isinstance(x, GlobalStore) for x in dict(walk(ir.body))[path].body):
            every = changed(ir, path, conditions=(var("warpIdx_z"),))
            finding = found(WrittenOnce, every)[PROOF]
            assert "a second time" in finding.what and agrees(every, finding)
            return
    raise AssertionError("no condition on the part")


def test_what_is_told():
    client = WrittenOnce(kernel("two outputs").ir)
    run(client.ir, [client])
    relation = client.shown(PROOF).relation
    assert relation.count("32*blockIdx.y <= i < 32*blockIdx.y + 32 and 32*blockIdx.x <= j < 32*blockIdx.x + 32") == 2
    assert "128 threads write each of 32 x 32 elements once" in relation


def test_no_block_at_all():
    """What no block does is right of no block; but nobody writes the output."""
    for name in ("plain", "numbers", "two outputs"):
        ir = kernel(name).ir
        for n in (0, 1):
            empty = replace(ir, grid=(*ir.grid[:n], aff(0), *ir.grid[n + 1 :]))
            client = WrittenOnce(empty)
            assert run(empty, [client]).findings == {}
            case = client.shown(PROOF).counter_example
            assert case is not None and "no block runs" in case.what
            assert all(case.sizes[d] >= 1 for t in ir.tensors if t.written for d in t.dims if isinstance(d, str))
            counts = counted(empty, dict.fromkeys(ir.sizes, 40), case.address.split("[")[0])
            assert not any(counts.values())
