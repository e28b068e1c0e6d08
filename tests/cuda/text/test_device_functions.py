"""What the device functions of a kernel's text do, compiled for the host, against the relations that they print."""

import ctypes
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polyvolta.cuda.ir.kernel_ir import SharedTile
from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.layouts.fragments import OperandTile, cyclic_stores, plan_operands
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.text.helpers import exchange as exchange_text
from polyvolta.cuda.text.helpers import global_memory, mma, shared, values
from polyvolta.cuda.text.helpers.device_function import DeviceFunctions
from polyvolta.cuda.text.helpers.pointwise import pointwise
from polyvolta.cuda.text.printer import PRELUDE
from polyvolta.graph.functions.formula import Call, Input, Number
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.graph.functions.table import FUNCTIONS
from tests.cuda import ampere
from tests.cuda.host import needs_compiler
from tests.cuda.macros import COMPOSITIONS, macro_mma
from tests.cuda.text.device_on_host import library

LANES = range(32)
ORDERS = ((0, 1), (1, 0))
HALF8 = ctypes.c_uint16 * 8


def compiled(functions, arch="sm_70"):
    """The functions alone as a text for Volta, or another target: its machine code."""
    needed = DeviceFunctions()
    for f in functions:
        needed.name(f)
    text = [PRELUDE, *needed.texts(), 'extern "C" __global__ void k() {}']
    return compile_cubin("\n".join(text), arch, name="k")


# ---- global memory

ACCESSES = [(2, "run", a, g) for a in (8, 4, 2, 1) for g in (False, True)]
ACCESSES += [(1, "run", a, g) for a in (8, 4, 2, 1) for g in (False, True)]
ACCESSES += [(rank, along, 1, g) for rank, along in ((2, "line"), (2, "one"), (1, "one")) for g in (False, True)]
LINES, LENGTH = 11, 13  # of the tensor, in a larger array


@pytest.fixture(scope="module")
def accesses(tmp_path_factory):
    """Every load and store, called with all arguments."""
    loads = [global_memory.load(*a) for a in ACCESSES]
    stores = [global_memory.store(*a) for a in ACCESSES if a[1] != "one"]
    wrappers = []
    for f in (*loads, *stores):
        rank = 2 if "long long line" in f.parameters else 1
        where = "M, line, run, ld" if rank == 2 else "M, run"
        where += {2: ", lines, length", 1: ", length"}[rank] if f.name.endswith("guarded") else ""
        call = f"*v = {f.name}({where})" if f.result == "half8" else f"{f.name}({where}, *v)"
        head = f"void call_{f.name}(fp16 *M, long long line, int run, int ld, int lines, int length, half8 *v)"
        wrappers.append((f, f"{head} {{ {call}; }}"))
    return library(tmp_path_factory.mktemp("accesses"), wrappers)


def elements(rank, along, line, run):
    """The index of each of eight values."""
    step = {"run": (0, 1), "line": (1, 0), "one": (0, 0)}[along]
    return [(line + i * step[0] if rank == 2 else 0, run + i * step[1]) for i in range(8)]


def call(lib, name, memory, line, run, ld, value):
    pointer = memory.ctypes.data_as(ctypes.c_void_p)
    extents = (ctypes.c_int(LINES), ctypes.c_int(LENGTH))
    getattr(lib, f"call_{name}")(pointer, ctypes.c_longlong(line), run, ld, *extents, ctypes.byref(value))


def places(rank, along, guarded):
    """Where an access may be: within the tensor, or anywhere in the started tiles."""
    lines = range(LINES + 6) if rank == 2 else [0]
    for line, run in product(lines, range(0, LENGTH + 8, 8 if along == "run" else 1)):
        inside = [r < LENGTH and (rank == 1 or n < LINES) for n, r in elements(rank, along, line, run)]
        if guarded or all(inside):
            yield line, run, inside


@needs_compiler
@pytest.mark.parametrize("access", ACCESSES, ids=str)
def test_a_load_takes_the_values_inside_and_zeros(accesses, access):
    rank, along, align, guarded = access
    ld = 24 + align  # a multiple of the alignment, and of nothing more
    memory = np.arange(1, 1 + 40 * ld, dtype=np.uint16)
    seen = 0
    for line, run, inside in places(rank, along, guarded):
        found = HALF8()
        call(accesses, global_memory.load(*access).name, memory, line, run, ld, found)
        want = [1 + n * ld + r if ok else 0 for (n, r), ok in zip(elements(rank, along, line, run), inside)]
        assert list(found) == want, (line, run)
        seen += 1
    assert seen


@needs_compiler
@pytest.mark.parametrize("access", [a for a in ACCESSES if a[1] != "one"], ids=str)
def test_a_store_touches_the_values_inside_alone(accesses, access):
    rank, along, align, guarded = access
    ld = 24 + align
    for line, run, inside in places(rank, along, guarded):
        memory = np.zeros(40 * ld, np.uint16)
        call(accesses, global_memory.store(*access).name, memory, line, run, ld, HALF8(*range(1, 9)))
        want = np.zeros_like(memory)
        for i, ((n, r), ok) in enumerate(zip(elements(rank, along, line, run), inside)):
            if ok:
                want[n * ld + r] = 1 + i
        np.testing.assert_array_equal(memory, want, err_msg=str((line, run)))


def test_offsets_are_computed_in_64_bits():
    """A line's number is long long, so that line * ld is."""
    for access in ACCESSES:
        if access[0] == 2:
            assert "long long line" in global_memory.load(*access).parameters


# ---- shared memory


MACROS = ("m16n16k8", "m32n32k8")
KNOWN = COMPOSITIONS | ampere.COMPOSITIONS
OPERANDS = list(product(MACROS, ORDERS, ORDERS, (16, 32, 64)))
OPERANDS += list(product(ampere.COMPOSITIONS, [(0, 1)], [(1, 0)], (32, 64)))


def number(element, columns):
    return element[0] * columns + element[1]


def planned(name, a_order, b_order, depth):
    """Both operands of a plan: (tile, operand, ownership, access)."""
    sizes = (64, depth), (depth, 64)
    tiles = [
        OperandTile(dims, size, order, cyclic_stores(size, order, 64))
        for dims, size, order in zip((("i", "k"), ("k", "j")), sizes, (a_order, b_order))
    ]
    (plan,) = plan_operands(KNOWN[name], [tuple(tiles)])
    for tile, layout, operand, own in zip(tiles, (plan.a, plan.b), "ab", (plan.macro.a, plan.macro.b)):
        chunks = tile.size[0] * tile.size[1] // 8
        yield SharedTile("tile", 0, chunks, layout.layout, tile.order), operand, own, layout.access


@pytest.fixture(scope="module")
def tiles(tmp_path_factory):
    """The store and the fragment load of every operand, as store_N and load_N."""
    wrappers = []
    for n, (tile, operand, own, access) in enumerate(t for case in OPERANDS for t in planned(*case)):
        width = own.inputs[1][1]
        single = values.vector(width) == width
        fragment = f"*({values.declared('*' if single else '(*)', width)})v"
        store, load = shared.store(tile, operand), shared.fragment_load(tile, operand, own, access, shared.extents(own))
        wrappers.append((store, f"void store_{n}(half8 *t, half8 *v, int line, int run) {{ NAME(t, *v, line, run); }}"))
        head = f"void load_{n}(half8 *v, half8 *t, int line, int run, int lane)"
        wrappers.append((load, f"{head} {{ NAME({fragment}, t, line, run, lane); }}"))
    return library(tmp_path_factory.mktemp("tiles"), wrappers)


@needs_compiler
@pytest.mark.parametrize("case", OPERANDS, ids=lambda c: "-".join(map(str, c)))
def test_what_is_stored_in_a_tile_comes_into_fragments_by_ownership(tiles, case):
    """Store every chunk of a tile, load every fragment: value i is element origin + ownership(lane, i)."""
    for n, (tile, _, own, _) in enumerate(planned(*case), 2 * OPERANDS.index(case)):
        store, load = getattr(tiles, f"store_{n}"), getattr(tiles, f"load_{n}")
        steps, width = shared.extents(own), own.inputs[1][1]
        (_, d0), (_, d1) = tile.layout.inputs
        memory = np.full(d0 * d1, 0xFFFF, np.uint16)
        buffer = memory.ctypes.data_as(ctypes.c_void_p)
        line, run = tile.order
        sizes = d0, d1
        for at in product(range(sizes[line]), range(0, sizes[run], 8)):
            index = at if run == 1 else at[::-1]
            step = 1 if run == 1 else d1
            store(buffer, ctypes.byref(HALF8(*(number(index, d1) + step * i for i in range(8)))), *at)
        assert sorted(memory) == list(range(d0 * d1))
        fragment = (ctypes.c_uint16 * width)()
        owned = [[own.evaluate({"lane": lane, "i": i}) for i in range(width)] for lane in LANES]
        for origin in product(range(0, d0, steps[0]), range(0, d1, steps[1])):
            for lane in LANES:
                load(fragment, buffer, origin[line], origin[run], lane)
                assert list(fragment) == [number((origin[0] + x, origin[1] + y), d1) for x, y in owned[lane]]


EXCHANGED = (*MACROS, "128", "64 of four", "32, two values")
EXCHANGES = list(product(EXCHANGED, ("half",), ORDERS, (1,))) + list(product(EXCHANGED, ("float",), ORDERS, (1, 4)))


@pytest.fixture(scope="module")
def exchanges(tmp_path_factory):
    """Both functions of every exchange, as store_N and load_N."""
    wrappers = []
    for n, (name, kind, order, parts) in enumerate(EXCHANGES):
        macro = KNOWN[name].of()
        plan, width = plan_exchange(macro, kind, order), macro.values[2]
        head = f"void store_{n}(half8 *buffer, float *acc, int lane)"
        wrappers.append(
            (exchange_text.store(plan, width), f"{head} {{ NAME(buffer, *(float (*)[{width}])acc, lane); }}")
        )
        head = f"void load_{n}(void *v, half8 *buffer, int round, int lane)"
        result = "*(half8 *)v = NAME(" if kind == "half" else "NAME(*(float (*)[8])v, "
        call = f"{result}buffer, {'round, ' if plan.rounds > 1 else ''}lane)"
        wrappers.append((exchange_text.load(plan, parts, 2), f"{head} {{ {call}; }}"))
    return library(tmp_path_factory.mktemp("exchanges"), wrappers)


@needs_compiler
@pytest.mark.parametrize("case", EXCHANGES, ids=lambda c: "-".join(map(str, c)))
def test_an_exchange_gives_every_lane_its_runs(exchanges, case):
    """Fragments of all lanes in, runs out: value v of lane l in round r is element owns(l, r) and v along."""
    name, kind, order, parts = case
    store, load = (getattr(exchanges, f"{f}_{EXCHANGES.index(case)}") for f in ("store", "load"))
    macro = KNOWN[name].of()
    plan, width = plan_exchange(macro, kind, order), macro.values[2]
    rows, cols, _ = macro.shape
    memory = np.zeros((2 * parts, plan.chunks, 16), np.uint8)
    for part, lane in product(range(parts), LANES):
        owned = [macro.d.evaluate({"lane": lane, "i": i}) for i in range(width)]
        acc = (ctypes.c_float * width)(*(number(e, cols) * (part + 1) for e in owned))
        store(memory[2 * part].ctypes.data_as(ctypes.c_void_p), acc, lane)
    seen = []
    for lane, round_ in product(LANES, range(plan.rounds)):
        run = (HALF8 if kind == "half" else ctypes.c_float * 8)()
        load(run, memory.ctypes.data_as(ctypes.c_void_p), round_, lane)
        row, col = plan.owns.evaluate({"lane": lane, "round": round_})
        owned = [(row, col + v) if plan.along == 1 else (row + v, col) for v in range(8)]
        assert list(run) == [number(e, cols) * sum(range(1, parts + 1)) for e in owned]
        seen += owned
    assert sorted(seen) == list(product(range(rows), range(cols)))


# ---- pointwise


X, Y, Z = Input(0), Input(1), Input(2)
FORMULAS = {
    "relu_add": Call("relu", (Call("add", (X, Y)),)),
    "swish": Call("mul", (X, Call("sigmoid", (X,)))),
    "left": Call("sub", (Call("sub", (X, Y)), Call("sub", (Y, Z)))),
    "ratios": Call("div", (Call("div", (X, Number(-3.0))), Call("div", (Number(2), Call("mul", (Y, Z)))))),
    "signs": Call("sub", (Call("neg", (Call("add", (X, Number(-2))),)), Call("neg", (Y,)))),
    "choice": Call("add", (Call("relu", (X,)), Call("mul", (Call("where", (Y, X, Z)), Call("less", (X, Y)))))),
    "clamp": Call("minimum", (Call("maximum", (X, Number(-1))), Number(float("inf")))),
    "scaled": Call("add", (Call("mul", (Z, X)), Call("leaky_relu", (Y, Number(0.01))))),
}
FORMULAS |= {f"only_{n}": Call(n, (X, Y, Z)[: f.arity]) for n, f in FUNCTIONS.items()}
FORMULAS |= {
    f"of_{n}": Call(n, (Call("sub", (X, Y)), Call("add", (Y, Z)), Call("relu", (Z,)))[: f.arity])
    for n, f in FUNCTIONS.items()
}


@needs_compiler
def test_pointwise_functions_are_their_formulas(tmp_path):
    """Every function, alone and on sums, on NaN, infinities, zeros and numbers: as numpy computes it."""
    functions = [pointwise(n, f, ("float", "float", "scalar alpha"), "float", True) for n, f in FORMULAS.items()]
    head = "(float *y, float *x0, float *x1, float alpha, int count)"
    body = "{ NAME(*(float (*)[8])y, *(float (*)[8])x0, *(float (*)[8])x1, alpha, count); }"
    lib = library(tmp_path, [(f, f"void call_{f.name}{head} {body}") for f in functions])
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -1.5, 0.25, 3.0, 700.0], np.float32)
    x0, x1 = (g.reshape(-1, 8) for g in np.meshgrid(special, special))
    for f, formula in zip(functions, FORMULAS.values()):
        for a, b, alpha, count in zip(
            x0, np.ascontiguousarray(x1), [0.5, np.nan, -2.0, 0.0] * 2, [8, 7, 4, 1, 0, -3, 9, 8]
        ):
            y = np.full(8, 77, np.float32)
            pointers = [v.ctypes.data_as(ctypes.c_void_p) for v in (y, np.ascontiguousarray(a), b)]
            getattr(lib, f"call_{f.name}")(*pointers, ctypes.c_float(alpha), count)
            want = np.broadcast_to(evaluate(formula, (a, b, np.float32(alpha))), 8).copy()
            want[max(count, 0) :] = 0
            np.testing.assert_allclose(y, want, rtol=2e-5, atol=1e-6, err_msg=f"{f}\n{a} {b} {alpha}")


def test_what_is_used_twice_is_computed_once():
    squared = Call("square", (Call("exp", (X,)),))
    text = str(pointwise("twice", Call("add", (squared, squared)), ("float",), "float", False))
    assert text.count("expf(") == 1
    assert "const float t1 = t0 * t0;" in text and "y[i] = __fadd_rn(t1, t1);" in text


@pytest.mark.parametrize("name", ["i", "y", "count", "x0", "t0", "packed1"])
def test_scalars_called_like_what_the_function_has(name):
    squared = Call("square", (Call("exp", (X,)),))
    formula = Call("add", (Call("add", (squared, squared)), Call("mul", (Y, Z))))
    text = str(pointwise("scaled", formula, ("float", "half", f"scalar {name}"), "float", True))
    assert re.search(r"half8 packed1, float x2,\s+int count\) {", text)
    assert "x1[i] * x2) : 0.0f;" in text


def test_names_of_c_are_no_names_of_operations():
    for name in ("double", "tanh", "exp", "register"):
        assert pointwise(name, X, ("half",), "half", False).name == f"{name}_of"
    assert pointwise("relu_add", X, ("half",), "half", False).name == "relu_add"


# ---- all of them compile


def test_everything_compiles_for_volta():
    functions = [global_memory.load(*a) for a in ACCESSES]
    functions += [global_memory.store(*a) for a in ACCESSES if a[1] != "one"]
    kinds = product(("half", "float"), ("half", "float"), (False, True))
    functions += [
        pointwise(n, f, (k, k, "scalar alpha"), t, m) for (k, t, m), (n, f) in zip(list(kinds) * 20, FORMULAS.items())
    ]
    for case in OPERANDS:
        for tile, operand, own, access in planned(*case):
            functions += [
                shared.store(tile, operand),
                shared.fragment_load(tile, operand, own, access, shared.extents(own)),
            ]
    for name, kind, order, parts in EXCHANGES:
        macro = KNOWN[name].of()
        plan = plan_exchange(macro, kind, order)
        functions += [exchange_text.store(plan, macro.values[2]), exchange_text.load(plan, parts, 2)]
    pairs = product(MACROS, ("row", "col"), ("row", "col"))
    functions += [mma.mma(macro_mma(name, a, b)) for name, a, b in pairs]
    functions += [mma.zero(8), mma.zero(32), mma.scale(8)]
    assert compiled(functions).image.startswith(b"\x7fELF")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_macro_mmas_of_every_width_compile_for_ampere(arch):
    """Fragments of 2 to 32 values, whose registers hold neighbours or not, and accumulators that are scattered."""
    macros = [made.of() for made in ampere.COMPOSITIONS.values()]
    scattered = replace(macros[0], steps=tuple(replace(s, d=s.d[::-1]) for s in macros[0].steps))
    assert compiled([mma.mma(m) for m in (*macros, scattered)], arch).image.startswith(b"\x7fELF")
