"""The symbolic machine on random programs: every operation that a concrete run comes to is seen, in that run's state.

Programs have loops of several bounds and steps, unrolled ones too, and conditions on sizes, threads and loops with and
without `orelse`, in each other. The state is the last operation's name, so that ways fork, meet and come round again.
"""

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cli.gallery import idiom
from polyvolta.cuda.ir.kernel_ir import Barrier, Loop, When
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.sets import aff, var

SIZES = [(M, K) for M in (1, 2, 4, 5) for K in (0, 1, 3, 6)]


class Last:
    """The name of the last operation."""

    def __init__(self, name=""):
        self.name = name

    def copy(self):
        return Last(self.name)

    def key(self):
        return self.name


class Watcher:
    """Writes down under which conditions each operation is seen in each state."""

    proofs = ()

    def __init__(self):
        self.seen, self.ends = {}, []

    def start(self, ir):
        return Last()

    def step(self, state, here):
        mask = None if here.mask is None else here.mask.tobytes()
        at = here.path, tuple(sorted(here.loops.items())), mask, state.name
        self.seen.setdefault(at, []).append(here.condition)
        state.name = here.op.statement

    def next_trip(self, state, loop, here):
        pass

    def leave(self, state, loop, last, here):
        assert last is None or (here.holds(var(loop.var) - last) and here.holds(last - var(loop.var)))

    def finish(self, state, here):
        self.ends.append((state.name, here.condition))


class Programs:
    """Random bodies; symbols and unrolled loops' variables around are handed down."""

    def __init__(self, seed):
        self.rng, self.loops = random.Random(seed), 0

    def body(self, depth, symbols=("M", "K", "blockIdx.x"), numbers=("warp", "lane")):
        return tuple(self.statement(depth, symbols, numbers) for _ in range(self.rng.randint(1, 3)))

    def statement(self, depth, symbols, numbers):
        rng, kind = self.rng, self.rng.random()
        if depth == 0 or kind < 0.35:
            return Barrier("warp", f"s{rng.randint(0, 2)}")
        if kind < 0.7:
            conditions = tuple(self.condition(symbols, numbers) for _ in range(rng.randint(1, 2)))
            orelse = self.body(depth - 1, symbols, numbers) if rng.random() < 0.5 else ()
            return When(conditions, self.body(depth - 1, symbols, numbers), False, "", orelse)
        self.loops += 1
        name = f"v{self.loops}"
        if kind < 0.78:
            inner = self.body(depth - 1, symbols, (*numbers, name))
            return Loop(name, (aff(0),), (aff(rng.randint(0, 2)),), rng.randint(1, 2), True, inner)
        lower = tuple(self.bound(symbols, 0.3) for _ in range(rng.choice([1, 1, 2])))
        upper = tuple(self.bound(symbols, 0.9) for _ in range(rng.choice([1, 1, 2])))
        return Loop(
            name, lower, upper, rng.choice([1, 1, 2, 3]), False, self.body(depth - 1, (*symbols, name), numbers)
        )

    def condition(self, symbols, numbers):
        rng, e = self.rng, aff(self.rng.randint(-6, 6))
        for name in rng.sample(symbols, rng.randint(0, 2)):
            e = e + rng.choice([-2, -1, 1, 2]) * var(name)
        if rng.random() < 0.4:
            e = e + rng.choice([-1, 1]) * var(rng.choice(numbers))
        return e + (var(rng.choice(symbols)) % 2 if rng.random() < 0.2 else 0)

    def bound(self, symbols, symbolic):
        rng, e = self.rng, aff(self.rng.randint(-1, 2))
        if rng.random() < symbolic:
            e = e + (var(rng.choice(symbols)) + rng.randint(0, 2)) // rng.randint(1, 3)
        return e


@cache
def kernel():
    options = pv.Options(block_tile=(32, 32, 16), warp_tile=(32, 16, 16), macro_mma="m16n16k8")
    ir = pv.compile(idiom("matmul"), options=options).ir
    return replace(ir, registers=(), tiles=(), grid=((var("M") + 3) // 4, aff(1), aff(1)))


def around(body, path):
    """The loops around a statement: name -> whether it is run in numbers; unrolled ones are, and those of few trips."""
    found = {}
    for k in path:
        s = body[k]
        if isinstance(s, Loop):
            names = frozenset().union(*(e.names() for e in (*s.lower, *s.upper)))
            found[s.var] = s.unroll or all(found.get(n, False) for n in names)
        body = (*s.body, *s.orelse) if isinstance(s, When) else getattr(s, "body", ())
    return found


def happened(ir, where):
    """Of one block each operation, as the watcher writes it down, with the values of all symbols; and the last name."""
    blocks = np.array([where[f"blockIdx.{axis}"] for axis in "xyz"]).reshape(3, 1)
    machine = Machine(ir, {}, {n: where[n] for n in ir.sizes}, blocks, dict.fromkeys(EFFECTS, lambda *_: None),
                      faults=lambda *_: True)  # who waits for whom is not the question
    last = ""
    for step in machine.steps():
        loops = around(ir.body, step.path)
        unrolled = tuple(sorted((n, machine.values[n]) for n, flat in loops.items() if flat))
        mask = None if step.mask is None else step.mask[0].tobytes()
        point = where | {n: machine.values[n] for n, flat in loops.items() if not flat}
        yield (step.path, unrolled, mask, last), point
        last = step.op.statement
    yield None, last


def contains(condition, point):
    return any(all(e.evaluate(point) >= 0 for e in piece) for piece in condition.pieces)


@pytest.mark.parametrize("seed", range(24))
def test_every_state_in_which_an_operation_happens_is_seen(seed):
    program = (Barrier("warp", "s0"), *Programs(seed).body(3))
    ir, watcher = replace(kernel(), body=program), Watcher()
    run(ir, [watcher])
    operations = 0
    for M, K in SIZES:
        for x in range(-(-M // 4)):
            where = {"M": M, "N": 1, "K": K, "blockIdx.x": x, "blockIdx.y": 0, "blockIdx.z": 0}
            for at, point in happened(ir, where):
                if at is None:
                    assert any(name == point and contains(c, where) for name, c in watcher.ends)
                else:
                    assert any(contains(c, point) for c in watcher.seen.get(at, ())), (at, point)
                    operations += 1
    assert operations >= len(SIZES)
