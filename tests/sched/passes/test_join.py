"""Joining two nested bands: the inverse of splitting, with the flags that the dependences allow."""

from dataclasses import replace

import pytest

from polyvolta.sched import Program, dependences, join, schedule, split, tile
from polyvolta.sched.errors import BadPath

STENCIL = """
def stencil(A, T, N):
    for t in range(T):
        for i in range(1, N):
            A[i] = A[i - 1] + A[i]
"""
SWEEPS = """
def sweeps(A, T, N):
    for t in range(T):
        for i in range(1, N - 1):
            A[i] = A[i - 1] + A[i + 1]
"""


def test_joining_undoes_splitting():
    tree = schedule(Program.from_source(STENCIL))
    assert tree.band((0,)).permutable
    assert join(split(tree, (0,), 1), (0,)) == tree


def test_the_joined_band_is_permutable_only_if_the_dependences_allow_it():
    program = Program.from_source(SWEEPS)
    as_written = split(program.schedule, (0,), 1)  # [t] around [i]: A[i + 1] of the sweep before points backwards
    apart = replace(as_written, dependences=tuple(dependences(program)))
    joined = join(apart, (0,))
    assert len(joined.band((0,)).members) == 2
    assert not joined.band((0,)).permutable
    assert join(split(schedule(program), (0,), 1), (0,)).band((0,)).permutable  # skewed by the scheduler


def test_without_dependences_nobody_knows():
    tree = Program.from_source(STENCIL).schedule
    assert not join(split(tree, (0,), 1), (0,)).band((0,)).permutable


def test_what_cannot_be_joined_is_said():
    tree = schedule(Program.from_source(STENCIL))
    with pytest.raises(BadPath, match="below this one is a Leaf"):
        join(tree, (0,))
    with pytest.raises(BadPath):
        join(tree, (0, 0))
    tiled = tile(tree, (0,), (4, 4))
    assert len(join(tiled, (0,)).band((0,)).members) == 4
