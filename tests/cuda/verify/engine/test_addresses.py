"""Addresses and operand gathering: the verifier's and the machine's, which share no code, agree."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.ir.memories import LANES
from polyvolta.cuda.machine.operations import gathers as of_machine
from polyvolta.cuda.target.instruction import LANE, I, Instruction, owned
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.engine.watching import Stateless
from polyvolta.cuda.verify.values.gathering import gathers, held
from tests.cuda.macros import MACRO_MMAS
from tests.cuda.verify.edited import KERNELS, concrete, kernel


class Seen(Stateless):
    """Keeps where each operation goes in shared memory: its instructions' first bytes, -1 of who takes no part."""

    proofs = ()

    def __init__(self) -> None:
        self.found = defaultdict(set)

    def step(self, state, here):
        for n, x in enumerate(here.addresses):
            first = x.instructions + np.zeros((here.ir.warps, LANES, 1), np.int64)
            for k in range(first.shape[-1]):
                taking = first[..., k] if here.mask is None else np.where(here.mask, first[..., k], -1)
                self.found[here.path].add((n, k, taking.tobytes()))
            size = x.access.item
            once = np.unique(x.pieces(size))
            assert x.values().shape[-1] == x.access.values
            outside = np.zeros(x.slot.shape, bool) if x.outside is None else x.outside
            assert not (outside if here.mask is None else outside & here.mask).any()
            assert np.array_equal(once, np.unique(x.values(size)))
            assert np.array_equal(x.values().reshape(*first.shape[:2], -1, x.access.width)[..., 0], x.instructions)


@pytest.mark.parametrize("name", KERNELS)
def test_both_judges_go_to_the_same_places(name):
    ir = kernel(name).ir
    sizes = dict.fromkeys(ir.sizes, 64)
    seen, machine = Seen(), concrete(ir, sizes)
    run(ir, [seen], sizes)
    reached = defaultdict(set)
    for step in machine.steps():
        for n, at in enumerate(r for r in step.reach if r.access.space == "shared"):
            for k, unit in enumerate(at.units):
                first = np.broadcast_to(np.asarray(unit) * at.width, machine.shape).astype(np.int64)
                taking = first if at.mask is None else np.where(at.mask, first, -1)
                reached[step.path].add((n, k, taking[0].tobytes()))
    assert reached and all(places <= seen.found[path] for path, places in reached.items())


# ---- operands


@pytest.mark.parametrize("layouts", [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")])
@pytest.mark.parametrize("name", MACRO_MMAS)
def test_both_judges_gather_the_same_operands(name, layouts):
    macro = MACRO_MMAS[name](*layouts)
    mine = gathers(macro)
    assert mine.wrong is None and len(mine.steps) == len(macro.steps)
    for g, (values, a, b, d) in zip(mine.steps, of_machine(macro), strict=True):
        assert np.array_equal(np.arange(macro.values[2])[g.values], np.arange(macro.values[2])[values])
        assert all(map(np.array_equal, (g.a, g.b, g.d), (a, b, d)))


def warp_wide(**changed) -> Instruction:
    """mma.m16n8k16, as the PTX manual has it, with other maps."""
    group, thread = LANE // 4, LANE % 4
    return Instruction(
        (16, 8, 16),
        ("row", "col"),
        changed.get("a", owned(8, row=group + 8 * (I // 2 % 2), k=2 * thread + I % 2 + 8 * (I // 4))),
        changed.get("b", owned(4, k=2 * thread + I % 2 + 8 * (I // 2), col=group)),
        changed.get("d", owned(4, row=group + 8 * (I // 2), col=2 * thread + I % 2)),
    )


def test_an_instruction_of_a_whole_warp():
    for operand, shape in (("a", (1, 16, 16)), ("b", (1, 16, 8)), ("d", (1, 16, 8))):
        who = held(warp_wide(), operand)
        assert who.wrong is None and who.lane.shape == shape
        at = np.stack([np.zeros_like(who.lane), *np.indices(shape)[1:]], -1)
        assert np.array_equal(who.elements[who.lane, who.value], at)


def test_elements_of_nobody_and_of_several():
    half = owned(2, row=LANE // 4, col=2 * (LANE % 4) + I)
    assert held(warp_wide(d=half), "d").wrong == ("d[8, 0] of mma.m16n8k16 is no lane's", None)
    twice = owned(4, k=2 * (LANE % 4) + I % 2 + 8 * (I // 2), col=LANE // 8)
    assert held(warp_wide(b=twice), "b").wrong == ("b[0, 0] of mma.m16n8k16 is 2 values", 4)
    beyond = owned(4, row=LANE // 4 + 8 * (I // 2) + 1, col=2 * (LANE % 4) + I % 2)
    what, lane = held(warp_wide(d=beyond), "d").wrong
    assert what == "value 2 of lane 28 is d[16, 0], which mma.m16n8k16 has not" and lane == 28
    macro = MACRO_MMAS["m16n16k8"]("row", "col")
    quad = replace(macro.instruction, d=replace(macro.instruction.d, inputs=(("lane", LANES), ("i", 4))))
    assert gathers(replace(macro, instruction=quad)).wrong[0].endswith("in quad-pair 0 of mma.m8n8k4 is no lane's")


def test_steps_that_take_values_a_fragment_has_not():
    macro = MACRO_MMAS["m16n16k8"]("row", "col")
    step = macro.steps[0]
    for wrong in (replace(step, a=step.a[:2]), replace(step, b=(0, 1, 2, 99))):
        assert "takes values" in gathers(replace(macro, steps=(wrong,))).wrong[0]
