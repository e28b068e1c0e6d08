"""A GPU and a library that are none, for courses: times are a formula, results right but where a test says."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import polyvolta as pv
from polyvolta.evaluation.spelling import read_options

SM_80 = pv.targets["sm_80"]
FAST, MIDDLE, SLOW, ILLEGAL = (
    read_options(f"{m}x{m}x32/16x32x32 m16n32k16 {more}")
    for m, more in ((32, "buffers=3"), (32, "buffers=2"), (32, "buffers=4"), (64, "buffers=8 occupancy=8"))
)
US = {FAST: 10.0, MIDDLE: 12.5, SLOW: 20.0}
SIZES = ((128, 256, 64), (256, 256, 128))


@dataclass
class FakeGpu:
    """Microseconds of ours by options, of theirs by name; results of some kernels are wrong at some sizes."""

    wrong: dict = field(default_factory=dict)
    name: str = "a fake"
    arch: str = "sm_90"
    asked: list = field(default_factory=list)

    def arrays(self, sizes):
        self.asked.append(sizes)
        return {"sizes": sizes}

    def exact(self, b, arrays):
        return None

    def load(self, kernel, code):
        assert code == kernel.compiled(self.arch)

    def error(self, kernel, b, arrays, right):
        return math.inf if arrays["sizes"] in self.wrong.get(kernel.options, ()) else 2e-4

    def bound(self, kernel, b, arrays):
        return US[kernel.options] * (1 if kernel.ir.dependent == SM_80.dependent_launch else 1.25)

    def graph(self, launch, count):
        assert 5 <= count <= 20
        return launch

    def microseconds(self, graph, count, replays=2):
        return [graph] * replays


class FakeLibrary:
    name = "theirs 1.0"

    def chain(self, b, arrays):
        return 15.0

    def more(self, b, arrays, gpu, count):
        return {} if b.name == "relu_gemm" else {"one": 14.0, "other": 11.0}


class Given:
    """Choices that are given."""

    def __init__(self, first, guesses, space=()):
        self.given = first, guesses, space

    def first(self, b, target, sizes):
        return self.given[0]

    def guesses(self, b, target, sizes):
        return self.given[1]

    def space(self, b, target, sizes):
        return self.given[2]
