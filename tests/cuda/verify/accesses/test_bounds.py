"""Proofs that accesses are within bounds, against the interpreter's own checks of concrete runs."""

from dataclasses import replace
from itertools import product

import pytest

import polyvolta as pv
from polyvolta.compiler import signature
from polyvolta.compiler.arguments import LARGEST as LARGEST_ARGUMENT
from polyvolta.compiler.arguments import TooLarge
from polyvolta.cuda.ir.kernel_ir import (
    Element,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    Loop,
    Mma,
    SharedStore,
    When,
)
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.machine.interpreter import OutOfBounds
from polyvolta.cuda.verify.accesses.bounds import PROOF, Bounds
from polyvolta.cuda.verify.accesses.integers import INT, LARGEST, overflow
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.sets import aff, var
from tests.cuda.verify.edited import KERNELS, changed, concrete, found, kernel, paths


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel(name):
    ir = kernel(name).ir
    assert found(Bounds, ir) == {}
    assert overflow(ir) is None


def confirmed(ir, finding):
    """Whether the interpreter refuses the kernel, too, for the sizes and the block of a counter-example."""
    sizes = {n: finding.point[n] for n in ir.sizes}
    block = tuple(finding.point[f"blockIdx.{axis}"] for axis in "xyz")
    with pytest.raises(OutOfBounds) as error:
        concrete(ir, sizes, block).run()
    return str(error.value)


def global_edits():
    for name in ("plain", "split K", "two outputs", "padded"):
        ir = kernel(name).ir
        for path in (*paths(ir, GlobalLoad), *paths(ir, GlobalStore)):
            op = dict(walk(ir.body))[path]
            for d in range(len(op.index)):
                for step in (-1, 1):
                    if not (op.guarded and step > 0):  # the guard takes care of that
                        index = tuple(e + (step if k == d else 0) for k, e in enumerate(op.index))
                        yield pytest.param(name, path, {"index": index}, id=f"{name}-{path}-{d}{step:+}")
            if op.guarded:
                yield pytest.param(name, path, {"guarded": False}, id=f"{name}-{path}-unguarded")


@pytest.mark.parametrize(("name", "path", "fields"), list(global_edits()))
def test_accesses_to_tensors(name, path, fields):
    """An index off by one, in each dimension and direction, and each guard dropped."""
    ir = changed(kernel(name).ir, path, **fields)
    finding = found(Bounds, ir)[PROOF]
    tensor = dict(walk(ir.body))[path].tensor
    assert finding.path == path and finding.address.startswith(f"{tensor}[")
    message = confirmed(ir, finding) if not dict(walk(ir.body))[path].guarded else tensor
    assert tensor in message
    at = [int(x) for x in finding.address[len(tensor) + 1 : -1].split(",")]
    dims = [finding.point[d] if isinstance(d, str) else d for d in ir.tensor(tensor).dims]
    assert any(not 0 <= x < n for x, n in zip(at, dims, strict=True))


def test_sizes_that_are_numbers():
    """Refuted exactly where some block of the one grid that there is leaves a tensor."""
    ir = kernel("numbers").ir
    answers = set()
    for path in (*paths(ir, GlobalLoad), *paths(ir, GlobalStore)):
        op = dict(walk(ir.body))[path]
        for d, step in product(range(2), (-1, 24)):
            edited = changed(ir, path, index=tuple(e + (step if k == d else 0) for k, e in enumerate(op.index)))
            wrong = set()
            for block in product(*(range(e.const) for e in ir.grid)):
                machine = concrete(edited, {}, block)
                machine.faults = lambda _m, e, _t: wrong.add(type(e)) or True  # noqa: B023
                machine.run()
            if not (op.guarded and step < 0):  # what is below 0 a guard of the text doesn't see
                assert (PROOF in found(Bounds, edited)) == (OutOfBounds in wrong)
                answers.add(OutOfBounds in wrong)
            else:
                assert PROOF in found(Bounds, edited)
    assert answers == {True, False}


def test_a_full_tile_that_is_not_full():
    """The condition of the version without guards, loosened by one: each of its conjuncts is needed."""
    ir = kernel("plain").ir
    seen = 0
    for path, s in walk(ir.body):
        if isinstance(s, When) and s.orelse:
            for k in range(len(s.conditions)):
                loose = tuple(e + (n == k) for n, e in enumerate(s.conditions))
                broken = changed(ir, path, conditions=loose)
                finding = found(Bounds, broken)[PROOF]
                assert finding.path[: len(path)] == path
                assert confirmed(broken, finding)
                seen += 1
    assert seen >= 5


def other_edits():
    """Indices of tiles, buffers, exchanges and registers."""
    ir = kernel("two buffers").ir
    load, store = paths(ir, FragmentLoad)[0], paths(ir, SharedStore)[0]
    origin = dict(walk(ir.body))[load].origin
    yield "a fragment beyond", load, {"origin": (origin[0] + 16, origin[1])}
    yield "a fragment before", load, {"origin": (origin[0], origin[1] - 8)}
    yield "a third buffer", store, {"buffer": aff(2)}
    yield "no such buffer", load, {"buffer": var("c2") % 2 - 1}
    index = dict(walk(ir.body))[store].index
    yield "a chunk beyond", store, {"index": (index[0] + 8, index[1])}
    yield "a slot beyond", paths(ir, ExchangeStore)[0], {"slot": var("warp") + 1}
    yield "a slot before", paths(ir, ExchangeLoad)[0], {"slot": var("warp") - 1}
    mma = paths(ir, Mma)[0]
    yield "an accumulator beyond", mma, {"d": Element("hmma_C", (aff(0), aff(1)))}


@pytest.mark.parametrize("edit", [e[0] for e in other_edits()])
def test_shared_memory_and_registers(edit):
    (path, fields) = next((path, fields) for what, path, fields in other_edits() if what == edit)
    ir = changed(kernel("two buffers").ir, path, **fields)
    finding = found(Bounds, ir)[PROOF]
    assert finding.path == path
    assert confirmed(ir, replace(finding, point={"M": 32, "N": 32, "K": 64} | dict.fromkeys(BLOCKS, 0)))


BLOCKS = [f"blockIdx.{axis}" for axis in "xyz"]


def test_parts_of_a_split_beyond_the_exchange():
    ir = kernel("split K").ir
    path = paths(ir, ExchangeLoad)[0]
    finding = found(Bounds, changed(ir, path, stride=3))[PROOF]
    assert finding.path == path and "slot" in finding.what and finding.warp is not None


def test_ranges_that_the_text_relies_on():
    """A promise of a name's range that isn't kept: of a thread's, of an unrolled loop's and of a k tile's."""
    ir = kernel("plain").ir
    assert ir.ranges["c2"] == (-1, None)
    for name, wrong in (("lane", (0, 15)), ("c9", (1, 1)), ("c2", (0, None)), ("blockIdx.x", (1, None))):
        finding = found(Bounds, replace(ir, ranges={**ir.ranges, name: wrong}))
        if name in ir.ranges:
            assert finding[PROOF].address == name


def test_overflow():
    """Up to the largest size that a kernel takes nothing overflows; with tiles beyond 2^13 the ends of tiles would."""
    assert LARGEST == LARGEST_ARGUMENT
    ir = kernel("plain").ir
    path = paths(ir, GlobalStore)[0]
    op = dict(walk(ir.body))[path]
    far = (op.index[0] + 2**13, op.index[1])
    assert overflow(changed(ir, path, index=far)).value > INT
    assert overflow(changed(ir, path, index=far), LARGEST // 2) is None
    times = changed(ir, path, index=(4 * op.index[0], op.index[1]))
    assert overflow(times, 2**28) is None
    client = Bounds(times)
    run(client.ir, [client])
    verdict = client.shown(PROOF)
    assert f"sizes up to {LARGEST}" in verdict.statement and not verdict.sizes
    case = verdict.counter_example
    assert 4 * 32 * case.block[1] + 2**9 > INT and case.sizes["M"] > 32 * case.block[1] > 2**28
    assert case.what.startswith("the int 128*blockIdx.y + ") and str(INT) in case.what


def product_of_depth(depth):
    options = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16))
    return pv.compile(pv.tensor("A", (8, depth)) @ pv.tensor("B", (depth, 8)), options=options)


def test_overflow_with_sizes_that_are_numbers(monkeypatch):
    """They have a launch's limit; beyond, where ints overflow whatever the sizes are, nothing is proved."""
    assert product_of_depth(LARGEST).verify("bounds").ok
    with pytest.raises(TooLarge, match=rf"PV405.*{LARGEST + 1}(.|\n)*A\(8, {LARGEST + 1}\)"):
        product_of_depth(LARGEST + 1)
    monkeypatch.setattr(signature, "LARGEST", INT)
    case = product_of_depth(INT).verify("bounds")["bounds"].counter_example
    assert case.what.endswith(f"and an int holds {INT} at most") and case.sizes == {}


def test_quotients_and_remainders_overflow_inside():
    """What is divided is computed first; a remainder is small however large its argument is."""
    ir = kernel("plain").ir
    path = paths(ir, SharedStore)[0]
    assert overflow(changed(ir, path, buffer=(2**20 * var("c2")) % 2)) is None  # it is the number 0
    found = overflow(changed(ir, path, buffer=(2**20 * var("c2") + var("c2")) % 3))
    assert found.value > INT and var("c2").names() <= set(found.point)
    assert overflow(changed(ir, path, buffer=(2**20 * var("c2") + var("c2")) % 3), 256) is None


def test_more_threads_in_a_later_trip():
    """Threads that take part in later trips only are looked at, too."""
    ir = kernel("plain").ir
    path = paths(ir, SharedStore)[0]
    op = dict(walk(ir.body))[path]
    far = replace(op, index=(op.index[0] + 8, op.index[1]))
    few = When((32 * var("c2") + 63 - var("linearId"),), (far,), False)  # beyond the tile from thread 48 on
    finding = found(Bounds, replace(ir, body=replaced(ir.body, path, (few,))))[PROOF]
    assert finding.path == (*path, 0)
    assert 48 <= 32 * finding.warp + finding.lane <= 32 * finding.point["c2"] + 63


def test_what_is_told():
    client = Bounds(kernel("plain").ir)
    run(client.ir, [client])
    relation = client.shown(PROOF).relation
    assert "A[M, K] at [32*blockIdx.y + (0 .. 31), 16*c2 + (16 .. 31)], guarded unless the tile is full" in relation
    assert "hmma_C[1, 1]" in relation


@pytest.mark.parametrize(
    ("kind", "field", "first"),
    [(SharedStore, "index", -1), (SharedStore, "source", -1), (FragmentLoad, "origin", 0), (FragmentLoad, "target", 0)],
)
def test_places_that_only_the_second_trip_reaches(kind, field, first):
    """What is right in the first trip isn't taken for right in the others."""
    ir = kernel("plain").ir
    path = paths(ir, kind)[0]
    place = getattr(dict(walk(ir.body))[path], field)
    away = 64 * ((var("c2") - first) % 2)
    beyond = (
        replace(place, index=(place.index[0] + away,)) if isinstance(place, Element) else (place[0] + away, place[1])
    )
    broken = changed(ir, path, **{field: beyond})
    finding = found(Bounds, broken)[PROOF]
    assert finding.path == path and finding.point["c2"] == first + 1
    assert confirmed(broken, finding)


def test_a_range_that_only_trips_without_operations_leave():
    """The text's conditions divide by what the names' ranges allow, also in a trip in which none of them holds."""
    ir = kernel("plain").ir
    path = next(p for p, s in walk(ir.body) if isinstance(s, Loop) and s.var == "c2")
    loop = dict(walk(ir.body))[path]
    idle = changed(ir, path, body=(When((var("c2") - 3,), loop.body),))
    ranges = {**ir.ranges, "c2": (1, None)}
    assert "leaves its range 1" in found(Bounds, replace(idle, ranges=ranges))[PROOF].what
