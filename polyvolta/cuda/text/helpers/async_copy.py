"""Asynchronous copies from global to shared memory, `cp.async`: issued by a thread, grouped, waited for.

Eight values go from a tensor to a chunk of a tile, in pieces as wide as the tensor's alignment allows: 16 bytes past
the first-level cache, 8 or 4 through it; a single value is too small, and is loaded and stored. An instruction has an
operand for how many bytes it reads; those that are missing arrive as zeros. So a guard is no branch: what is outside of
the tensor is not read. It reads all of a piece or nothing, which is a predicate to the machine, where another number
takes five instructions: the tensor's extent is a multiple of a piece, too (`GlobalTensor.whole`).

Source: PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import gcd

from polyvolta.cuda.ir.kernel_ir import AsyncCopy, KernelIR, Loop
from polyvolta.cuda.ir.memories import CHUNK, TENSOR_ITEM, SharedTile
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.text.c_expr import c_expr
from polyvolta.cuda.text.helpers import global_memory, shared
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.matrix_load import SHARED_ADDRESS
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.simplify import Range, simplify

SINGLE = 4
"""Chunks whose values a thread has on their way at once where each is loaded on its own: 32 loads hide a latency."""


def chunk(tile: SharedTile, operand: str) -> DeviceFunction:
    """Where a chunk of a tile is."""
    return _chunk(tile.layout, tile.order, operand)


@cache
def _chunk(layout: IndexMap, order: tuple[int, ...], operand: str) -> DeviceFunction:
    line, run, place, ranges = shared.chunk_at(layout, order)
    return DeviceFunction(
        f"chunk_{operand}_{shared.layout_name(order)}_swizzled",
        "half8 *",
        ("half8 *tile", f"int {line}", f"int {run}"),
        (f"return tile + {c_expr(place, ranges)};",),
        f"where the chunk is that starts at [{line}, {run}] of the tile:\n{layout}",
    )


Place = tuple[Aff, ...]


def behind(
    tile: SharedTile, start: Place, rest: Place, ranges: Mapping[str, Range], strides: Mapping[str, int]
) -> tuple[Place, Aff]:
    """Of the place start + rest another start, and how many chunks further that place is, for all threads alike.

    Swizzles repeat: the further start has nothing of `rest`, or what is left of it by the least number of lines after
    which they do. If they never do, it is the place itself.

    Parameters
    ----------
    start, rest : of a chunk in the tile; the latter in variables of unrolled loops alone.
    ranges : of the names.
    strides : what these variables are multiples of.

    >>> from polyvolta.sets import var, xor
    >>> i, k, c, t = var("i"), var("k"), var("c5"), var("linearId")
    >>> layout = IndexMap((("i", 128), ("k", 64)), (("chunk", 8 * i + xor(i % 8, k // 8, 3)),))
    >>> tile = SharedTile("shared_A", 0, 1024, layout, (0, 1))
    >>> ranges = {"linearId": (0, 63), "c5": (0, 15)}
    >>> for lines in (8, 4):
    ...     (line, run), further = behind(tile, (t // 8, 8 * (t % 8)), (lines * c, aff(0)), ranges, {})
    ...     print(line, "/", further)
    floor(linearId/8) / 64*c5
    floor(linearId/8) + 4*(c5 mod 2) / 64*floor(c5/2)
    """
    assert tile.layout is not None
    counted: dict[str, Range] = {}
    for n, s in strides.items():
        low, high = ranges[n]
        counted[n] = None if low is None else low // s, None if high is None else high // s
    known = {**ranges, **counted}
    moving = tuple(r.subs({n: s * var(n) for n, s in strides.items()}) for r in rest)
    back = {n: var(n) // s for n, s in strides.items()}
    names = frozenset().union(*(r.names() for r in rest))
    steps = [gcd(*(c for _, c in r.terms)) for r in moving]
    for period in (1, 2, 4, 8):
        left = tuple(simplify(r % (period * s), known) if s else r for r, s in zip(moving, steps, strict=True))
        first = tuple(s + r for s, r in zip(start, left, strict=True))
        (there,) = tile.layout.at(*(s + r for s, r in zip(start, moving, strict=True)))
        (here,) = tile.layout.at(*first)
        apart = simplify(simplify(there, known) - simplify(here, known), known)
        if apart.names() <= names:
            return tuple(e.subs(back) for e in first), apart.subs(back)
    return tuple(s + r for s, r in zip(start, rest, strict=True)), aff(0)


@cache
def instruction(width: int, guarded: bool) -> DeviceFunction:
    """The copy of 16, 8 or 4 bytes; with `guarded` of the first `bytes`, and zeros.

    Past the first-level cache (.cg) go 16 bytes alone.
    """
    level = "cg" if width == 16 else "ca"
    operand = ", %2" if guarded else ""
    size = ', "r"(bytes)' if guarded else ""
    return DeviceFunction(
        f"copy_async_{width}{'_guarded' if guarded else ''}",
        "void",
        ("void *to", "const void *from", *(("int bytes",) if guarded else ())),
        (
            f'asm volatile("cp.async.{level}.shared.global [%0], [%1], {width}{operand};"',
            f'             :: "r"(shared_address(to)), "l"(from){size} : "memory");',
        ),
        f"{width} bytes from global to shared memory, some time later"
        + (": the first ones, so many, and zeros" if guarded else ""),
        (SHARED_ADDRESS,),
    )


WIDE_PRODUCT = DeviceFunction(
    "wide_product",
    "long long",
    ("int a", "int b"),
    ("long long product;", 'asm("mul.wide.s32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));', "return product;"),
    "a * b in 64 bits, by the instruction for it: the compiler would widen a factor outside of a loop, and have the\n"
    "product of two wide ones inside",
)


@cache
def copy(rank: int, align: int, guarded: bool, pieces: IndexMap | None = None) -> DeviceFunction:
    """The copy of eight values of a matrix (rank 2) or a vector to a chunk, in accesses of `align` values.

    Parameters
    ----------
    pieces : { [lane, n] -> [value] }, the order of a lane's pieces: the function takes the lane; None: one after the
        other.
    """
    matrix = rank == 2
    wide = matrix and align == CHUNK  # of several pieces the compiler keeps what they share, and lacks registers
    place = "wide_product(line, ld) + run" if wide else "line * ld + run"
    array, at = ("matrix", place) if matrix else ("vector", "at")
    what, first = ("global", "run") if matrix else ("vector", "at")
    whole = "matrix[line, run .. run+7]" if matrix else "vector[at .. at+7]"
    name = f"copy_{what}_{global_memory.BITS[align]}{'_guarded' if guarded else ''}"
    source = ("const fp16 *__restrict__ matrix", "int line", "int run", "int ld")
    parameters = ("half8 *chunk", *(source if wide else global_memory.parameters(rank, "const ")),
                  *(global_memory.extents(rank) if guarded else ()), *(("int lane",) if pieces else ()))  # fmt: skip
    lines_apart = ", lines ld apart" if matrix else ""
    zeros = f", with zeros for what is outside of the {array}" if guarded else ""
    if align == 1:
        load = global_memory.load(rank, "run", align, guarded)
        names = ["line", "run", "ld", "lines", "length"] if matrix else ["at", "length"]
        call = f"{load.name}({', '.join([array, *(names if guarded else names[: 3 if matrix else 1])])})"
        about = f"{whole} to a chunk of shared memory{lines_apart}{zeros}; single values are not copied asynchronously"
        return DeviceFunction(name, "void", parameters, (f"*chunk = {call};",), about, (load,))
    width = TENSOR_ITEM * align
    single = instruction(width, guarded)
    body = []
    inside = "line < lines && " if matrix else ""
    if align == CHUNK:
        bytes_ = f", {inside}{first} < length ? {width} : 0" if guarded else ""
        body.append(f"{single.name}(chunk, {array} + {at}{bytes_});")
    else:
        bytes_ = f", {inside}{first} + i < length ? {width} : 0" if guarded else ""
        call = f"  {single.name}((fp16 *)chunk + i, {array} + {at} + i{bytes_});"
        body += ["#pragma unroll", *_each(align, pieces, call)]
    moved = "one piece" if align == CHUNK else f"{CHUNK // align} pieces of {width} bytes"
    about = f"{whole} to a chunk of shared memory{lines_apart}, in {moved}{zeros}"
    if pieces:
        about += f"; the lanes' pieces lie in different banks:\n{pieces}"
    needs = (WIDE_PRODUCT, single) if wide else (single,)
    return DeviceFunction(name, "void", parameters, tuple(body), about, needs)


def _each(align: int, pieces: IndexMap | None, call: str) -> list[str]:
    """A loop around a call, with i for the first value of each piece."""
    if pieces is None:
        return [f"for (int i = 0; i < {CHUNK}; i += {align})", call]
    (value,) = pieces.exprs
    return [f"for (int n = 0; n < {CHUNK // align}; n += 1) {{", f"  const int i = {c_expr(value, pieces.ranges)};",
            call, "}"]  # fmt: skip


def unrolling(loop: Loop, ir: KernelIR) -> str:
    """The request to unroll a loop: whole, but one of copies that go value by value by some trips only.

    These are loads and stores, and a compiler that sees many loads makes all of them first, whatever registers it
    takes.
    """
    copies = [op for op in loop.body if isinstance(op, AsyncCopy)]
    single = len(copies) == len(loop.body) and any(ir.tensor(op.tensor).align == 1 for op in copies)
    return f"#pragma unroll {SINGLE}" if single else "#pragma unroll"


COMMIT = DeviceFunction(
    "commit_copies",
    "void",
    (),
    ('asm volatile("cp.async.commit_group;");',),
    "the thread's copies since the last commit are a group",
)


@cache
def wait(pending: int) -> DeviceFunction:
    """The wait for all groups but the newest `pending`."""
    newest = f"groups of copies, but for the newest {pending}" if pending else "groups of copies"
    return DeviceFunction(
        f"wait_copies_but_{pending}" if pending else "wait_copies",
        "void",
        (),
        (f'asm volatile("cp.async.wait_group {pending};" ::: "memory");',),
        f"waits for all of the thread's {newest}",
    )
