"""Accesses against what the CUDA text's helper functions do, spelled out lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import ExchangeLoad, ExchangeStore, FragmentLoad, GlobalLoad, GlobalStore, SharedStore
from polyvolta.cuda.machine.access import instructions, warp_accesses
from polyvolta.cuda.machine.interpreter import interpret
from tests.cuda.machine.observe.small import OPTIONS, K, M, N, operands, product


class Collector:
    """Keeps the accesses of every step: (operation, loop variables, the access)."""

    def __init__(self):
        self.seen = []

    def start(self, m):
        self.machine = m

    def step(self, m, step):
        values = {n: v for n, v in m.values.items() if isinstance(v, int)}
        found = list(instructions(m, step.reach))
        again = list(warp_accesses(m, step.op, step.mask))
        assert [np.array_equal(x.address, y.address) for x, y in zip(found, again, strict=True)] == [True] * len(found)
        self.seen += [(step.op, values, a) for a in found]

    def end(self, m):
        pass

    def fault(self, m, wrong, threads):
        return False


def collected(kernel, sizes, arrays):
    shape = sizes["M"], sizes["N"]
    watch = Collector()
    interpret(kernel.ir, {**arrays, "C": np.zeros(shape, "f2")}, sizes, watch=watch)
    return watch.seen


def lanes(access, block, warp):
    """(lane, address) of those that take part."""
    return [
        (n, int(access.address[block, warp, n]))
        for n in range(32)
        if access.active is None or access.active[block, warp, n]
    ]


@pytest.mark.parametrize("align", [8, 4, 2, 1])
def test_a_guarded_load_is_wide_where_it_is_whole_and_single_elsewhere(align):
    """load_global_128_guarded: `if (line < lines && run + 8 <= length)`, else eight times `line < lines && ...`."""
    kernel, (m, k) = product().variant(A=align, B=1, C=1), (21, 8 + align)
    array = np.zeros((m, 32), "f2")[:, :k]
    seen = collected(kernel, {"M": m, "N": 8, "K": k}, {"A": array, "B": np.zeros((k, 8), "f2", order="F")})
    got = [a for op, _, a in seen if isinstance(op, GlobalLoad) and op.tensor == "A"]
    wide, single = [], [[] for _ in range(8)]
    for thread in range(64):  # of 128: the copy's other half is masked; row thread // 2, chunk thread % 2
        line, run = thread // 2, 8 * (thread % 2)
        if line < m and run + 8 <= k and align > 1:
            wide += [(thread, part, 2 * (line * 32 + run + part * align)) for part in range(8 // align)]
        else:
            for v in range(8):
                if line < m and run + v < k:
                    single[v].append((thread, 2 * (line * 32 + run + v)))
    at = 0
    for part in range(8 // align if align > 1 else 0):
        a, at = got[at], at + 1
        assert a.width == 2 * align
        assert [(w * 32 + n, part, x) for w in range(4) for n, x in lanes(a, 0, w)] == [w for w in wide if w[1] == part]
    for v in range(8):
        if single[v]:
            a, at = got[at], at + 1
            assert a.width == 2
            assert [(w * 32 + n, x) for w in range(4) for n, x in lanes(a, 0, w)] == single[v]
    assert at == len(got)
    assert all((a.space, a.kind, a.array) == ("global", "read", "A") for a in got)


def test_values_across_lines_and_broadcasts_are_loaded_one_by_one():
    row, column = pv.tensor("row", (N,)), pv.tensor("column", (M, 1))
    kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)) + row + column, options=OPTIONS)
    kernel = kernel.variant(column=1)
    sizes = {"M": 32, "N": 32, "K": 16}
    arrays = {"A": np.zeros((32, 16), "f2"), "B": np.zeros((16, 32), "f2"), "row": np.zeros(32, "f2"),
              "column": np.zeros((32, 1), "f2"), "D": np.zeros((32, 32), "f2")}  # fmt: skip
    watch = Collector()
    interpret(kernel.ir, arrays, sizes, watch=watch)
    seen = {op.tensor: [a.width for o, _, a in watch.seen if o is op] for op, _, _ in watch.seen
            if isinstance(op, GlobalLoad | GlobalStore)}  # fmt: skip
    assert seen == {"A": [16], "B": [16], "row": [16], "column": [2], "D": [16]}
    column_access = next(a for op, _, a in watch.seen if isinstance(op, GlobalLoad) and op.tensor == "column")
    assert lanes(column_access, 0, 0) == [(n, 2 * (n // 2)) for n in range(32)]  # a lane pair a row


def test_shared_memory_is_reached_where_the_layout_says():
    """By the printed texts: `tile[...] = v` of the store, `part[...]` of the fragments, `piece` of the exchange."""
    kernel = product()
    seen = collected(kernel, {"M": 32, "N": 32, "K": 16}, operands(kernel, 32, 32, 16))
    ops = {t: [(op, v, a) for op, v, a in seen if isinstance(op, t)] for t in
           (SharedStore, FragmentLoad, ExchangeStore, ExchangeLoad)}  # fmt: skip
    assert {t.__name__: {a.width for _, _, a in x} for t, x in ops.items()} == {
        "SharedStore": {16}, "FragmentLoad": {16}, "ExchangeStore": {8}, "ExchangeLoad": {16},
    }  # fmt: skip

    def chunk(tile, line, k):
        """Of a tile of 32 lines of 16 along k: two chunks a line, those of A swizzled by bit 2 of the line."""
        return 2 * line + (k // 8 ^ line // 4 % 2) if tile == "shared_A" else 64 + 2 * line + k // 8

    for op, values, a in ops[SharedStore]:
        expected = [(t % 32, 16 * chunk(op.tile, t // 2, 8 * (t % 2))) for t in range(64)]
        assert lanes(a, 0, 0) + lanes(a, 0, 1) == expected, values
        assert lanes(a, 0, 2) + lanes(a, 0, 3) == []
    own = {"a": lambda n: n // 16 * 8 + n % 8, "b": lambda n: n // 16 * 4 + n % 4 + n // 8 % 2 * 8}
    for op, values, a in ops[FragmentLoad]:
        for warp in range(4):
            first = 16 * (warp // 2 if op.operand == "a" else warp % 2)
            expected = [(n, 16 * chunk(op.tile, first + own[op.operand](n), 8 * values["c8"])) for n in range(32)]
            assert lanes(a, 0, warp) == expected, (values, warp)
    start = 16 * kernel.ir.tile("exchange").start
    for warp in range(4):  # each in its own 512 bytes, all of which are written once and read once
        for kind, width in ((ExchangeStore, 8), (ExchangeLoad, 16)):
            bytes_ = sorted(x - start for _, _, a in ops[kind] for _, x in lanes(a, 0, warp))
            assert bytes_ == list(range(512 * warp, 512 * warp + 512, width))
