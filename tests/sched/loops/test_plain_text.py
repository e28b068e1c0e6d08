"""The pass that writes plain loops and calls writes what the printer of all loops does, and leaves it the others."""

import pytest

from polyvolta.sched import scan
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.ast import FROM_ZERO, Block, Call, Extreme, For, If
from polyvolta.sched.loops.notation.c import CPrinter
from polyvolta.sched.loops.notation.plain import written
from polyvolta.sets import aff, var
from tests.sched.campaign import data_of
from tests.sched.loops.draw import tree

M, N, n, c0 = var("M"), var("N"), var("n"), var("c0")
RANGES = {"M": (1, None), "N": (1, None), "c0": (0, None)}
S = Call("S", (c0, 2 * N - 3 * c0 + 1))


def texts(body, ranges):
    """The lines by the pass, None where it leaves them, and those by the printer."""
    lines = []
    plain = written(body, ranges, "for (int ", "", lines)
    printer = CPrinter(ranges)
    printer.block(body, "")
    return lines if plain else None, printer.out


def loop(*upper, lower=FROM_ZERO, step=1, body=(S,), unroll=False):
    return For("c0", lower, upper, step, unroll, body)


@pytest.mark.parametrize(
    "node",
    [
        S,
        Call("T", ()),
        loop(N - 1),
        loop(N),
        loop(aff(9)),
        loop(aff(9), step=2),
        loop(aff(9), lower=(aff(3),)),
        loop(N - 1, lower=(2 * M - 1,), step=4),
        loop((N - 1) // 32),
        loop(N // 32 - 1),
        loop((2 * N + M) // 32),
        loop(aff(31), N - 32 * M - 1),
        loop(N - 1, aff(31)),
        loop(n - 2 * c0, n - c0 - M),  # a positive term stands first
        loop(N - 1, M),
        loop(N, M),
        loop(N - 1, body=(S, loop(N, body=(S, S)), S)),
        loop(N - 1, body=()),
    ],
)
def test_plain_loops_are_written_as_the_printer_does(node):
    found, usual = texts((node, node), RANGES)
    assert found == usual


@pytest.mark.parametrize(
    "node",
    [
        loop(N - 1, unroll=True),
        loop(),
        loop(n // 32),  # which may be negative
        loop((M - N) // 32),
        loop(3 - c0 - n),
        loop(N // 32 + 1),
        loop(aff(3), aff(4)),
        loop(N, M, aff(3)),
        loop(Extreme("min", (N, M))),
        loop(N, Extreme("max", (N, M))),
        loop(N, lower=(aff(0), M)),
        loop(N, lower=(M // 2,)),
        loop(N, body=(Call("S", (N // 2,)),)),
        If((("ge", N - 5),), (S,)),
        Block("here", (S,)),
    ],
)
def test_other_loops_are_left(node):
    assert texts((node,), RANGES)[0] is None


def test_drawn_trees_have_the_texts_that_the_printer_writes():
    plain = 0
    for number in range(60):
        try:
            found = scan(tree(data_of(41, number)).schedule)
        except NotScannable:
            continue
        if found.plain:
            lines, usual = texts(found.body, found.ranges)
            assert lines in (None, usual)
            plain += lines is not None
    assert plain > 5
