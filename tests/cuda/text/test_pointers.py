"""Pointers that move on with a loop: start, steps and rest are the index, and only where they can be."""

import random

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Element,
    GlobalLoad,
    GlobalTensor,
    KernelIR,
    Loop,
    RegisterArray,
    When,
)
from polyvolta.cuda.ir.memories import Arrays
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.text.pointers import ending, moving
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.sets import aff, var
from tests.cuda.text.golden_texts import CASES, K, M, N
from tests.cuda.text.golden_texts import product as matmul

TENSORS = {"A": GlobalTensor("A", ("M", "K"), (0, 1)), "B": GlobalTensor("B", ("K", "N"), (1, 0))}
ARRAYS = Arrays(tuple(TENSORS.values()), (), (RegisterArray("part", "half", (4,)),))
T, C2, C3 = var("linearId"), var("c2"), var("c3")
PART = Element("part", (C3,))


def load(*index, tensor="A", guarded=False):
    return GlobalLoad(PART, tensor, index, 1, guarded)


def unrolled(*body):
    return Loop("c3", (aff(0),), (aff(3),), 1, True, body)


def k_loop(*body, lower=-1):
    return Loop("c2", (aff(lower),), (var("K"),), 1, False, body)


@pytest.mark.parametrize("name", CASES)
def test_start_steps_and_rest_are_the_index(name):
    ir, rng, seen = CASES[name].kernel().ir, random.Random(0), 0
    tensors = {t.name: t for t in ir.tensors}
    for loop in (s for s in ir.body if isinstance(s, Loop)):
        moved = moving(loop, ir)
        inside = list(operations(loop.body))
        own = [op for op in inside if isinstance(op, AsyncCopy) or (isinstance(op, GlobalLoad) and not op.guarded)]
        assert set(moved) == {op for op in own if len(op.index) == 2 and not loop.unroll}
        for op, (pointer, rest) in moved.items():
            assert pointer.tensor == op.tensor
            for _ in range(20):
                names = {n: rng.randint(0, 200) for e in op.index for n in e.names()}
                trip = rng.randint(0, 50)
                names["c2"] = loop.lower[0].const + loop.step * trip
                at = [
                    s.evaluate(names) + d * trip + r.evaluate(names)
                    for s, d, r in zip(pointer.start, pointer.step, rest)
                ]
                assert at == [op.index[d].evaluate(names) for d in tensors[op.tensor].order]
            assert not any("c2" in e.names() for e in (*pointer.start, *rest))
            seen += 1
    assert seen >= 2


def test_loads_that_keep_their_index():
    moves = load(T, 32 * C2)
    assert set(moving(k_loop(unrolled(moves)), ARRAYS)) == {moves}
    stays = [load(T, 32 * C2, guarded=True), load(T + 16 * C3, 8 * T), load(T, (C2 + T) // 2),
             load((T + C3) // 4, 32 * C2)]  # fmt: skip
    for op in stays:
        assert moving(k_loop(unrolled(op)), ARRAYS) == {}
    assert moving(unrolled(load(T, 8 * C3)), ARRAYS) == {}


def test_an_inner_loop_has_its_own_pointers():
    op = load(T + C2, 32 * var("c4"))
    inner = Loop("c4", (aff(0),), (var("K"),), 1, False, (op,))
    assert moving(k_loop(inner), ARRAYS) == {}
    assert set(moving(inner, ARRAYS)) == {op}


def test_loads_of_one_start_share_a_pointer():
    first, second, other = load(T + 8 * C3, 32 * C2), load(T + 8 * C3 + 4 * C3, 32 * C2), load(T + 1, 32 * C2)
    pointers = [p for p, _ in moving(k_loop(unrolled(first, second, other)), ARRAYS).values()]
    assert pointers[0] == pointers[1] != pointers[2]


def test_shared_pointers_are_declared_and_advanced_once():
    """At the end of the loop where no condition is around all loads."""
    loop = k_loop(unrolled(load(T + 8 * C3, 32 * C2)), unrolled(load(T + 4 * C3, 32 * C2)))
    ranges = {"linearId": (0, 31), "c2": (-1, None), "c3": (0, 3)}
    registers = (RegisterArray("part", "half", (4,)),)
    ir = KernelIR("kern0", ("M", "K"), (TENSORS["A"],), (), registers, 32, (), ranges, (aff(1),) * 3, body=(loop,))
    source = print_cuda(ir)
    assert source.count("const fp16 *from_A = A + (long long)linearId * ldA - 32;") == 1
    assert source.count("from_A += 32;\n  }\n}") == source.count("from_A += ") == 1
    assert source.count("load_global_128(from_A, ") == 2


def test_the_condition_that_a_pointer_may_move_under_stays_false():
    op = load(T, 32 * C2 + 32)
    for conditions, inside in (((var("K") - 32 * C2 - 33,), True), ((C2,), False), ((var("K") - C2 // 2,), False)):
        when = When(conditions, (op,))
        loop = k_loop(when)
        assert (ending(loop, moving(loop, ARRAYS)) is when) == inside
    twice = k_loop(When((var("K") - C2,), (op,)), When((var("M") - C2,), (load(T + 1, 32 * C2),)))
    assert ending(twice, moving(twice, ARRAYS)) is None


def test_steps_across_lines_are_computed_in_64_bits():
    source = pv.compile(matmul("col", "row")).source
    assert "(long long)(linearId / 16) * ldA" in source
    assert "from_A += 32LL * ldA;" in source


def test_a_pointer_keeps_off_users_names():
    both = pv.tensor("A", (M, K)) @ pv.tensor("from_A", (K, N), layout="col")
    assert "const fp16 *from_A_2 = A + " in pv.compile(both).source
    squares = pv.tensor("A", (N, N))
    source = pv.compile(squares @ squares).source
    assert "const fp16 *from_A = A + " in source
    assert "const fp16 *from_A_2 = A + " in source
