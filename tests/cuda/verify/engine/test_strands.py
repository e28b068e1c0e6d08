"""Roles as one program: an execution, by running both event by event with numbers; what isn't one is undecided."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import (
    ZERO,
    Arrive,
    Await,
    BoxCopy,
    KernelIR,
    Loop,
    Op,
    Phase,
    Roles,
    Wgmma,
    When,
)
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.engine.strands import one_execution, role_of
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.values.contents import Contents
from polyvolta.sets import aff, var

M, N, K, L = pv.sizes("M N K L")
OPTIONS = {"block_tile": (128, 64, 64), "warp_tile": (64, 64, 64), "macro_mma": "m64n64k16", "fragments": 1,
           "split_k": 1, "group": 1}  # fmt: skip
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
P, Q = pv.tensor("P", (M, L)), pv.tensor("Q", (L, N))
KERNELS = {"product": (A @ B, 3), "two slots": (A @ B, 2), "sum": (A @ B + P @ Q, 3)}


def of_depths(*depths: int):
    """A sum of products of depths that are numbers: one k tile has no loop."""
    return sum(pv.tensor(f"A{n}", (M, k)) @ pv.tensor(f"B{n}", (k, N)) for n, k in enumerate(depths))


KERNELS |= {"loop, tile": (of_depths(72, 17), 2), "tiles": (of_depths(17, 27, 64, 9), 2),
            "tile, loop": (of_depths(17, 200), 3), "tile, loop, tile": (of_depths(64, 200, 1), 2)}
NUMBERS = [name for name in KERNELS if "tile" in name]
SIZES = [*((name, d) for name in ("product", "two slots", "sum")
           for d in [(0, 0), (1, 0), (64, 65), (300, 130), (0, 70), (65, 400)]), *((name, (0, 0)) for name in NUMBERS)]


def kernel(name: str):
    outputs, buffers = KERNELS[name]
    return pv.compile(outputs, target=SM_90A, options=pv.Options(**OPTIONS, buffers=buffers))


def events(body, at, values, thread, places, first=0):
    """What a thread does: (path, operation, values), in order; conditions and loops with numbers."""
    for k, s in enumerate(body, first):
        path = (*at, k)
        match s:
            case Loop():
                low = max(e.evaluate(values) for e in s.lower)
                for v in range(low, min(e.evaluate(values) for e in s.upper) + 1, s.step):
                    yield from events(s.body, path, {**values, s.var: v}, thread, places)
            case When():
                if all(e.evaluate(values) >= 0 for e in s.conditions):
                    yield from events(s.body, path, values, thread, places)
                else:
                    yield from events(s.orelse, path, values, thread, places, len(s.body))
            case Roles():
                count = 0
                for role in s.roles:
                    if role.first <= thread // 32 < role.first + role.warps:
                        yield from events(role.body, path, values, thread, places, count)
                    count += len(role.body)
            case Op():
                yield places.get(path, path), s, values


def threads(ir: KernelIR) -> list[int]:
    return [0, 1, 127, 128, 255, 256, 257]


def values_of(ir: KernelIR, thread: int, sizes: dict[str, int]) -> dict[str, int]:
    found = {"linearId": thread, "blockIdx.x": 0, "blockIdx.y": 0, "blockIdx.z": 0, **sizes}
    for name, e in ir.derived:
        found[name] = e.evaluate(found)
    return found


@pytest.mark.parametrize("name,depths", SIZES)
def test_every_thread_does_what_it_does_in_its_role(name, depths):
    ir = kernel(name).ir
    made = one_execution(ir)
    for thread in threads(ir):
        values = values_of(ir, thread, {"M": 200, "N": 70, "K": depths[0], "L": depths[1]})
        own = [(at, frozenset(v.items())) for at, _, v in events(ir.body, (), values, thread, {})]
        other = [(at, frozenset(v.items())) for at, _, v in events(made.body, (), values, thread, made.places)]
        assert list(dict.fromkeys(other)) == own  # a product stands there with the zeros that it begins with


@pytest.mark.parametrize("name,depths", SIZES)
def test_nobody_waits_in_the_order_of_the_program(name, depths):
    """All threads side by side through the one program, in its order; each wait finds its phase complete."""
    ir = kernel(name).ir
    made = one_execution(ir)
    sizes = {"M": 200, "N": 70, "K": depths[0], "L": depths[1]}
    line = [list(events(made.body, (), values_of(ir, t, sizes), t, {})) for t in threads(ir)]
    arrivals, missing = Counter(), Counter()
    for step in _merged(line, made.body):
        for op, v in step:
            match op:
                case Await(phase=Phase(barriers=row, number=n)):
                    number = n.evaluate(v)
                    needed = ir.phases(row).arrivals
                    assert number < 0 or (arrivals[row, number], missing[row, number]) == (needed, 0)
                case Arrive(phase=Phase(barriers=row, number=n), bytes=size):
                    arrivals[row, n.evaluate(v)] += 1
                    missing[row, n.evaluate(v)] += size
                case BoxCopy(phase=Phase(barriers=row, number=n)):
                    missing[row, n.evaluate(v)] -= ir.box_map(op.map).bytes


def _merged(line, body):
    """The threads' events, step by step of the program: those of one place and trip together."""
    at = [0] * len(line)
    while any(a < len(one) for a, one in zip(at, line)):
        heads = [one[a] for a, one in zip(at, line) if a < len(one)]
        first = min((_key(p, v, body) for p, _, v in heads))
        step = []
        for n, one in enumerate(line):
            if at[n] < len(one) and _key(one[at[n]][0], one[at[n]][2], body) == first:
                step.append(one[at[n]][1:])
                at[n] += 1
        yield step


def _key(path, values, body):
    """The time of an event: places and values of loops, outermost first."""
    out, stmts = [], body
    for k in path:
        s = stmts[k] if k < len(stmts) else None
        out.append(k)
        if isinstance(s, Loop):
            out.append(values[s.var])
            stmts = s.body
        elif isinstance(s, When):
            stmts = (*s.body, *s.orelse)
    return tuple(out)


@pytest.mark.parametrize("name", NUMBERS)
def test_sums_of_known_depths_are_proved(name):
    report = kernel(name).verify(("fresh", "sums", "result", "bounds"))
    assert report.ok, report


def test_roles_are_known_by_paths():
    ir = kernel("product").ir
    found = {at: role.name for at, s in walk(ir.body) if isinstance(s, Op) and (role := role_of(ir, at)) is not None}
    assert set(found.values()) == {"consumer", "producer"}
    assert all(found[at] == "producer" for at, s in walk(ir.body) if isinstance(s, BoxCopy))


def test_phases_are_numbered_in_one_line():
    made = one_execution(kernel("product").ir)
    numbers = {(s.phase.barriers, str(s.phase.number)) for _, s in walk(made.body) if isinstance(s, Await | Arrive)}
    assert numbers >= {("full", "c2"), ("empty", "c2 - 3"), ("empty", "c2 - 1")}
    assert all(s.phase.slot == ZERO for _, s in walk(made.body) if isinstance(s, Await | Arrive | BoxCopy))


def test_a_kernel_without_roles_is_its_own_program():
    ir = pv.compile(A @ B, target="sm_70").ir
    made = one_execution(ir)
    assert made.body is ir.body and not made.places


def broken(change, kind=Await, row="full") -> tuple[KernelIR, Contents]:
    made = kernel("product")
    at = places(made.ir, kind, where=lambda s: s.phase.barriers == row)
    ir = edited(made.ir, at, lambda s: (change(s),))
    return ir, Contents(ir, made.graph)


@pytest.mark.parametrize("row, later", [("full", 1), ("empty", 1), ("empty", 3)])
def test_a_wait_for_what_comes_later_is_undecided(row, later):
    def change(s):
        return replace(s, phase=replace(s.phase, number=s.phase.number + later))

    ir, client = broken(change, row=row)
    with pytest.raises(Undecided, match="isn't complete then"):
        run(ir, [client])


def test_bytes_that_never_come_are_undecided():
    ir, client = broken(lambda s: replace(s, bytes=s.bytes + 16), Arrive)
    with pytest.raises(Undecided, match="isn't complete then"):
        run(ir, [client])


def test_roles_in_different_loops_are_undecided():
    made = kernel("product")
    loop = next(at for at, s in walk(made.ir.body) if isinstance(s, Loop) and any(isinstance(x, Await) for x in s.body))
    ir = edited(made.ir, [loop], lambda s: (replace(s, upper=(*s.upper, var("M"))),))
    with pytest.raises(Undecided, match="loops that aren't the same"):
        one_execution(ir)


def test_whether_a_product_adds_may_not_depend_on_the_thread():
    made = kernel("product")
    ir = edited(made.ir, places(made.ir, Wgmma), lambda s: (replace(s, adds=(var("lane") - aff(1),)),))
    with pytest.raises(Undecided, match="depends on the thread"):
        one_execution(ir)
