"""Loops in which one operand goes through registers and the other past them, whenever copies arrive."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import AsyncCopy, GlobalLoad
from polyvolta.cuda.ir.walk import operations

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L), layout="col"), pv.tensor("Q", (L, N))
SMALL = {"block_tile": (32, 32, 32), "warp_tile": (16, 32, 32)}
IDIOMS = {
    "relu(A) @ B": (pv.relu(A) @ B, "B"),
    "A @ relu(B)": (A @ pv.relu(B), "A"),
    "relu(A) @ relu(B)": (pv.relu(A) @ pv.relu(B), ""),
    "A @ B + relu(P) @ Q": (A @ B + pv.relu(P) @ Q, "ABQ"),
    "(P - 1) @ Q + A @ (B + 1)": ((P - 1) @ Q + A @ (B + 1), "AQ"),  # no zeros beyond K
}
RINGS = {"sm_80": [(1, 1), (2, 2), (3, 1), (5, 1), (8, 2)], "sm_75": [(1, 2), (2, 1), (3, 2)]}
DEPTHS = (0, 1, 31, 32, 33, 100)
OBSERVERS = ("races", "bounds", "uninitialised")


@cache
def kernel_of(idiom, target, buffers, **more):
    given = pv.Options(**SMALL, buffers=buffers, **more)
    return pv.compile(IDIOMS[idiom][0], target=target, options=given)


def arrays_of(kernel, sizes, rng):
    """Small integers, whose sums are exact."""
    shapes = {"A": "MK", "B": "KN", "P": "ML", "Q": "LN"}
    out = {}
    for t in kernel.graph.inputs:
        values = rng.integers(-3, 4, [sizes[d] for d in shapes[t.name]]).astype(np.float16)
        out[t.name] = np.asfortranarray(values) if t.name in "BP" else values
    return out


def product(idiom, arrays):
    """In doubles, without anything of the compiler."""
    x = {name: a.astype(float) for name, a in arrays.items()}
    relu = lambda a: np.maximum(a, 0)  # noqa: E731
    return {
        "relu(A) @ B": lambda: relu(x["A"]) @ x["B"],
        "A @ relu(B)": lambda: x["A"] @ relu(x["B"]),
        "relu(A) @ relu(B)": lambda: relu(x["A"]) @ relu(x["B"]),
        "A @ B + relu(P) @ Q": lambda: x["A"] @ x["B"] + relu(x["P"]) @ x["Q"],
        "(P - 1) @ Q + A @ (B + 1)": lambda: (x["P"] - 1) @ x["Q"] + x["A"] @ (x["B"] + 1),
    }[idiom]().astype(np.float16)


@pytest.mark.parametrize(("target", "buffers", "split_k", "arrival"), [
    (t, *r, arrival) for t, rings in RINGS.items() for r in rings
    for arrival in (("lazy", "eager", "random") if t == "sm_80" else ("lazy",))
])  # fmt: skip
@pytest.mark.parametrize("idiom", IDIOMS)
@pytest.mark.parametrize("at", range(len(DEPTHS)))
def test_whenever_copies_arrive_the_sum_is_right(idiom, target, buffers, split_k, arrival, at):
    """Lengths around the tiles, another one for each product, and observers have nothing to say."""
    kernel = kernel_of(idiom, target, buffers, split_k=split_k)
    copied = {op.tensor for op in operations(kernel.ir.body) if isinstance(op, AsyncCopy)}
    assert copied == (set(IDIOMS[idiom][1]) if target == "sm_80" else set())
    assert {op.tensor for op in operations(kernel.ir.body) if isinstance(op, GlobalLoad)} >= (
        {t.name for t in kernel.graph.inputs} - copied)  # fmt: skip
    sizes = {"M": 33, "N": 24, "K": DEPTHS[at], "L": DEPTHS[at - 2]}
    arrays = arrays_of(kernel, sizes, np.random.default_rng(buffers))
    if arrival == "lazy":
        seen = kernel.interpret(**arrays, copies=arrival, observe=OBSERVERS)
        assert seen.ok, seen
        found = seen.result
    else:
        found = kernel.interpret(**arrays, copies=arrival)
    np.testing.assert_array_equal(found, product(idiom, arrays))


PROVED = [("relu(A) @ B", 8, 1), *((idiom, *ring) for idiom in IDIOMS for ring in ((3, 1), (2, 2)))]


@pytest.mark.parametrize(("idiom", "buffers", "split_k"), PROVED)
def test_rings_of_both_kinds_of_operands_are_proved(idiom, buffers, split_k):
    report = kernel_of(idiom, "sm_80", buffers, split_k=split_k).verify()
    assert report.ok and not report.undecided, report
