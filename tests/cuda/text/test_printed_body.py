"""The body as printed against the IR: every argument, condition and bound, for many threads and loop values."""

import random
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Barrier,
    CommitCopies,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    LoadMatrix,
    Loop,
    Mma,
    Pointwise,
    Scale,
    SharedStore,
    TakeRun,
    WaitCopies,
    When,
    Zero,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.sets import aff
from tests.cuda.text.golden_texts import CASES
from tests.cuda.text.printed_lines import (
    body,
    called,
    element,
    moving,
    place,
    pointed,
    split,
    turning,
    value,
    without_numbers,
)
from tests.cuda.text.ring_kernels import RINGS, ring_kernel


@dataclass(frozen=True)
class Strip:
    """Unrolled loops around a macro-MMA."""

    loop: Loop


def points(s, names):
    """The operation in unrolled loops with the names that it has in each turn."""
    if not isinstance(s, Loop):
        yield s, names
        return
    low, high = (max(e.const for e in s.lower), min(e.const for e in s.upper))
    for turn in range(low, high + 1, s.step):
        yield from points(s.body[0], {**names, s.var: turn})


def printed_strip(ir, line, strip, names):
    """What a strip's call multiplies, and what the loops do: (d, a, b) each time."""
    function, _, inside = line.removesuffix(";").removesuffix(")").partition("(")
    single = {r.name for r in ir.registers if set(r.shape) <= {1}}
    given = []
    for text in split(inside):
        array, index = element(text, names)
        rest = () if array in single else ir.register(array).shape[len(index) :]
        given.append(np.array([(array, (*index, *at)) for at in np.ndindex(*rest)] + [None], object)[:-1])
    d, a, b = given
    meant = []
    for op, at in points(strip.loop, names):
        elements = ((e.array, () if e.array in single else tuple(i.evaluate(at) for i in e.index))
                    for e in (op.d, op.a, op.b))  # fmt: skip
        meant.append(tuple(elements))
        assert function == "hmma_" + "_".join(op.macro.instruction.layouts)
    assert len(d) == len(a) * len(b)
    got = [(d[i * len(b) + j], a[i], b[j]) for i in range(len(a)) for j in range(len(b))]
    return sorted(got), sorted(meant)


def multiplied(s):
    """The macro-MMA that is all that unrolled loops hold, if its instructions may be in any order: one call."""
    while isinstance(s, Loop) and s.unroll and len(s.body) == 1:
        (s,) = s.body
    return s if isinstance(s, Mma) and not s.macro.instruction.volatile else None


def walk(stmts):
    """The IR in the order of the text: heads, operations, and what closes."""
    for s in stmts:
        match s:
            case Loop() if multiplied(s):
                yield Strip(s)
            case Loop():
                yield s
                yield from walk(s.body)
                yield "}"
            case When():
                yield s
                yield from walk(s.body)
                if s.orelse:
                    yield "} else {"
                    yield from walk(s.orelse)
                yield "}"
            case _:
                yield s


def in_memory_order(ir, name, index):
    order = ir.tile(name).order if name.startswith("shared") else ir.tensor(name).order
    return tuple(index[d] for d in order)


def in_ring(line, rings, names):
    """A line with the tiles that rings are at in some trip."""
    for name, tiles in rings.items():
        for d in range(len(tiles)):
            tile, offset = tiles[(d + names.get("trips", 0)) % len(tiles)]
            line = re.sub(rf"\b{name}\[{d}\]", f"{tile} + {offset}", line)
    return line


def printed_and_meant(ir, line, op, names, pointers):
    """What a line says and what the operation says: two tuples that must be equal."""
    at = lambda exprs: tuple(e.evaluate(names) for e in exprs)  # noqa: E731
    single = {r.name for r in ir.registers if set(r.shape) <= {1}}  # printed without an index
    of = lambda e: (e.array, () if e.array in single else at(e.index))  # noqa: E731
    assigned, _, call = line.rpartition(" = ") if re.match(r"\w+(\[[^=]*\])* = ", line) else ("", "", line)
    function, _, inside = call.removesuffix(";").removesuffix(")").partition("(")
    args = split(inside)
    target = (element(assigned, names),) if assigned else ()
    read = lambda texts: tuple(value(a, names) for a in texts)  # noqa: E731
    match op:
        case Zero(t):
            return (function, element(args[0], names)), ("hmma_zero", of(t))
        case Scale(t, factor):
            got = (function, element(args[0], names), float(args[1].removesuffix("f")))
            return got, ("hmma_scale", of(t), factor)
        case GlobalLoad() | GlobalStore():
            t = ir.tensor(op.tensor)
            rank = len(t.dims)
            store = isinstance(op, GlobalStore)
            kind = "one" if op.along is None else "run" if op.along == t.order[-1] else "line"
            kind = {"run": str(16 * t.align), "line": "strided", "one": "broadcast"}[kind]
            name = f"{'store' if store else 'load'}_{'global' if rank == 2 else 'vector'}_{kind}"
            name += "_guarded" if op.guarded else ""
            where = args[0], read(args[1 : 1 + rank])
            where = pointed(pointers[args[0]], args[1:3], names) if args[0] in pointers else where
            got = (function, *where, args[1 + rank : len(args) - store])
            rest = ([t.ld] if rank == 2 else []) + ([str(t.dims[d]) for d in t.order] if op.guarded else [])
            meant = (name, op.tensor, at(in_memory_order(ir, op.tensor, op.index)), rest)
            if store:
                packed = ir.register(op.source.array).kind == "float"
                text = re.fullmatch(r"pack_(?:half8|bf16x8)\((.*)\)", args[-1])[1] if packed else args[-1]
                return (*got, element(text, names)), (*meant, of(op.source))
            return (*got, *target), (*meant, of(op.target))
        case SharedStore(source, tile, index, buffer):
            t = ir.tile(tile)
            got = (place(args[0], names), element(args[1], names), read(args[2:]))
            start = buffer.evaluate(names) * t.chunks
            return got, ((tile, start), of(source), at(in_memory_order(ir, tile, index)))
        case AsyncCopy(tensor, index, _, tile, local, buffer, guarded):
            t, stored = ir.tensor(tensor), ir.tile(tile)
            assert function == f"copy_global_{16 * t.align}" + "_guarded" * guarded
            assert args[0].startswith("chunk_")
            if op.pieces(t.align):
                *args, last = args
                assert last == "lane"
            chunk, behind = called(args[0])
            started, *near = split(chunk)
            (there,) = stored.layout.evaluate(dict(zip((n for n, _ in stored.layout.inputs), at(local))))
            named = (n for n, _ in (stored.layout.inputs[d] for d in stored.order))
            (found,) = stored.layout.evaluate(dict(zip(named, read(near))))
            where = args[1], read(args[2:4])
            where = pointed(pointers[args[1]], args[2:4], names) if args[1] in pointers else where
            left = tuple(x - a for a, x in zip(read(args[2:4]), read(args[5:])))
            got = (place(started, names), found + value(behind or "0", names), *where, (args[4], *left))
            spare = at(aff(str(t.dims[d])) - index[d] for d in t.order) if guarded else ()
            rest = (t.ld, *spare)
            start = buffer.evaluate(names) * stored.chunks
            return got, ((tile, start), there, tensor, at(in_memory_order(ir, tensor, index)), rest)
        case FragmentLoad() | LoadMatrix():
            t, tile, origin, operand, buffer = op.target, op.tile, op.origin, op.operand, op.buffer
            start = buffer.evaluate(names) * ir.tile(tile).chunks
            assert function.startswith(f"hmma_load_{operand}_")
            got = (element(args[0], names), place(args[1], names), read(args[2:4]), args[4])
            meant = (of(t), (tile, start), at(in_memory_order(ir, tile, origin)), "lane")
            if isinstance(op, LoadMatrix):
                return tuple((x[0], named_lines(ir.tile(tile), op, x[1], x[2]), x[3]) for x in (got, meant))
            return got, meant
        case Mma(d, a, b, macro):
            got = (function, *(element(x, names) for x in args))
            return got, ("hmma_" + "_".join(macro.instruction.layouts), of(d), of(a), of(b))
        case ExchangeStore(source, buffer, slot, exchange):
            got = (place(args[0], names), element(args[1], names), args[2])
            return got, ((buffer, slot.evaluate(names) * exchange.chunks), of(source), "lane")
        case ExchangeLoad(t, buffer, slot, exchange, number, parts):
            args = args if target else args[1:]
            target = target or (element(split(inside)[0], names),)
            rounds = read(args[1:-1])
            meant = (of(t), (buffer, slot.evaluate(names) * exchange.chunks), args[-1])
            assert ("sum" in function) == (parts > 1)
            assert rounds == (at((number,)) if exchange.rounds > 1 else ())
            return (*target, place(args[0], names), "lane"), meant
        case TakeRun(t, source, runs, number):
            assert len(args) == (3 if runs.rounds > 1 else 2)
            got = (*(element(a, names) for a in args[:2]), *read(args[2:]))
            return got, (of(t), of(source), *(at((number,)) if runs.rounds > 1 else ()))
        case Pointwise(t, name, _, operands, inside_):
            args = args if target else args[1:]
            target = target or (element(split(inside)[0], names),)
            count = ()
            if inside_ is not None:
                *args, text = args
                count = (min(8, max(0, value(text, names))),)
            got = (function.removesuffix("_inside"), *target, *count)
            got += tuple(x if x in ir.scalars else element(x, names) for x in args)
            extents, first = at(inside_.extents) if inside_ else (), at(inside_.index) if inside_ else ()
            inner = [
                all(x + (v if d == inside_.along else 0) < n for d, (x, n) in enumerate(zip(first, extents)))
                for v in range(8)
            ] if inside_ else []  # fmt: skip
            meant = (name, of(t), *((sum(inner),) if inside_ else ()))
            assert inner == sorted(inner, reverse=True)
            return got, meant + tuple(x if isinstance(x, str) else of(x) for x in operands)
        case CommitCopies():
            return line, "commit_copies();"
        case WaitCopies(pending):
            return line, f"wait_copies_but_{pending}();" if pending else "wait_copies();"
        case Barrier(scope):
            return line, "__syncthreads();" if scope == "block" else "__syncwarp();"
    raise TypeError(type(op).__name__)


def named_lines(tile, op, start, origin):
    """The chunks of shared memory that the lanes of a load name, its origin in memory order."""
    line, run = (origin[tile.order.index(d)] for d in range(2))
    chunks = []
    for lane in range(op.lines.inputs[0][1]):
        for n in range(op.lines.inputs[1][1]):
            i, j = op.lines.evaluate({"lane": lane, "n": n})
            (chunk,) = tile.layout.evaluate(dict(zip((x for x, _ in tile.layout.inputs), (line + i, run + j))))
            chunks.append(start[1] + chunk)
    return start[0], tuple(chunks)


def compare_loop(line, s, names):
    head = re.fullmatch(r"for \(int (\w+) = (.*?); \w+ (<=?) (.*?); \w+ \+= (\d+)\) \{", line)
    low, high = (tuple(e.evaluate(names) for e in bounds) for bounds in (s.lower, s.upper))
    strict = head[3] == "<"
    assert (head[1], value(head[2], names), value(head[4], names) - strict, int(head[5])) == (
        s.var, max(low), min(high), s.step)  # fmt: skip


def some_names(ir, rng):
    """Sizes, a thread and loop values, such as they may be together or not: expressions must agree all the same."""
    multiples = dict(ir.context)
    names = {n: multiples.get(n, 1) * rng.randint(1, 1000) for n in ir.sizes}
    names |= {f"blockIdx.{axis}": rng.randint(0, 4) for axis in "xyz"}
    names["linearId"] = rng.randrange(ir.threads)
    for name, e in ir.derived:
        names[name] = e.evaluate(names)
    return names


def with_loops(names, loops, rng):
    for s in loops:
        low, high = max(e.evaluate(names) for e in s.lower), min(e.evaluate(names) for e in s.upper)
        trips = rng.randint(0, max((high - low) // s.step, 0))
        names[s.var] = low + s.step * trips
        names["trips"] = names.get("trips", 0) if s.unroll else trips
    return names


def near(names, e, rng):
    """The same with a size changed so that a condition `e >= 0` just holds or just does not."""
    for size, c in e.terms:
        if isinstance(size, str) and size.isupper() and c in (1, -1):
            changed = names[size] - c * (e.evaluate(names) - rng.choice((-1, 0)))
            return {**names, size: changed} if changed > 0 else names
    return names


def check(ir, source, tries=8):
    lines = without_numbers(ir, body(source), some_names(ir, random.Random(0)))
    (lines, pointers), parts = moving(lines), list(walk(ir.body))
    lines, rings = turning(lines)
    assert lines[-1] == "}"
    assert len(lines) - 1 == len(parts)
    rng, loops = random.Random(0), []
    for line, part in zip(lines, parts):
        if isinstance(part, str):
            assert line == part
            if part == "}":
                loops.pop()
            continue
        around = [s for s in loops if isinstance(s, Loop)]
        conditions = [e for s in loops if isinstance(s, When) and not s.orelse for e in s.conditions]
        seen, wanted = 0, 5 * tries if isinstance(part, When) else tries
        for _ in range(20 * wanted):
            names = with_loops(some_names(ir, rng), around, rng)
            if any(e.evaluate(names) < 0 for e in conditions):
                continue
            seen += 1
            match part:
                case Loop():
                    compare_loop(line, part, names)
                case Strip():
                    got, meant = printed_strip(ir, line, part, names)
                    assert got == meant, line
                case When():
                    names = near(names, rng.choice(part.conditions), rng)
                    test = re.fullmatch(r"if \((.*)\) \{", line)[1]
                    assert bool(value(test, names)) == all(e.evaluate(names) >= 0 for e in part.conditions), line
                case _:
                    got, meant = printed_and_meant(ir, in_ring(line, rings, names), part, names, pointers)
                    assert got == meant, f"{line}\n{part}\n{names}"
            if seen == wanted:
                break
        assert seen
        if isinstance(part, Loop | When):
            loops.append(part)


@pytest.mark.parametrize("name", CASES)
def test_every_printed_argument_is_the_irs(name):
    kernel = CASES[name].kernel()
    check(kernel.ir, kernel.source)


def test_accesses_are_as_wide_as_the_tensors_alignment():
    kernel = CASES["epilogue_gelu_residual"].kernel()
    for align, bits in ((8, 128), (4, 64), (2, 32), (1, 16)):
        ir = replace(kernel.ir, tensors=tuple(replace(t, align=align) for t in kernel.ir.tensors))
        source = print_cuda(ir)
        check(ir, source, 3)
        wide = {int(b) for b in re.findall(r"(?:load|store)_global_(\d+)", source)}
        assert wide == {bits}


@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_rings(ring):
    ir = ring_kernel(**ring)
    check(ir, print_cuda(ir), 4)


def test_every_kind_of_operation_was_seen():
    kernels = [case.kernel().ir for case in CASES.values()] + [ring_kernel()]
    assert {type(op) for ir in kernels for op in operations(ir.body)} == {
        Zero, Scale, GlobalLoad, GlobalStore, SharedStore, FragmentLoad, Mma, ExchangeStore, ExchangeLoad, Pointwise,
        Barrier, LoadMatrix, AsyncCopy, CommitCopies, WaitCopies, TakeRun,
    }  # fmt: skip
