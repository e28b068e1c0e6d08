"""Tensor-core helpers for a user's own `@cuda.jit` kernels.

Each is an instruction or two behind a Python function: values travel as words, unsigned 32-bit numbers that hold two
values of 16 bits each, in tuples that stay in registers. Which thread has which element is said by the maps that the
compiler itself uses, as functions of integers; none of them is typed in here.

    address(a)                      pointer to an array's first element, for `kernel.device_function()`
    load_128(a, n), store_128(a, n, words)
                                    eight 16-bit values at once, number 8 n and on of an array in any memory: four words
    pack_half2(low, high), unpack_half2(word)
                                    two fp32 values as a word of fp16, rounded to nearest even, and back
    pack_bfloat2(low, high), unpack_bfloat2(word)
                                    the same of bf16, from sm_80 on
    mma_m8n8k4_row_col(a, b, c), ... an instruction of a registered target, by shape and layouts (and type, unless that
                                    is fp16): c + a @ b, here in each quad-pair, with a and b of 2 words, c and the
                                    result of 8 fp32 values; mma_m16n8k16_row_col_bf16 has 4 words, 2, and 4 values
    load_matrix_x4(s, n), load_matrix_x4_transposed(s, n), ... x2, x1
                                    `ldmatrix`, from sm_75 on: the lane names the line of 8 values that is number n of
                                    shared array s, and gets a word of each matrix
    copy_async_16(s, n, a, m, bytes), ... 8, 4
                                    `cp.async`, from sm_80 on: 16 bytes, number m of global array a, to number n of
                                    shared array s, some time later; of the source the first `bytes`, then zeros
    commit_copies()                 the thread's copies since the last commit are a group

    macro_mma(macro), zeros(macro)  a macro-MMA as a function (a, b, c) of its fragments; a c of zeros
    indices(map)                    an index map as a function of integers; its result is a tuple
    place_of_block(order)           a function (): column and row, in tiles, of what a block computes of the result
    swizzled_store(tile)            a function (shared, *index, words): one chunk of a tile at a tile-local index
    swizzled_copy(tile)             a function (shared, *index, a, m): the same by `copy_async_16`, from number m of a
    fragment_load(tile, load)       a function (shared, *origin, lane): a lane's fragment as words
    wait_copies(pending)            a function (): waits for the thread's groups of copies, all but the newest `pending`
    with_shared(kernel, bytes, *a)  a `@cuda.jit` kernel whose launches may take more than 48 KiB of shared memory

The functions of the second half are made for something: a macro-MMA, a tile of a kernel (`kernel.ir.tile(name)`), an
index map, the order of a kernel's blocks (`kernel.ir.block_order`). Make them outside of the kernel that calls them.
Shared memory is an array of float16 as large as the tile and aligned to 16 bytes: `cuda.shared.array(8 * tile.chunks,
float16, 16)`.

numba is imported when the first helper is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, BlockOrder, FragmentLoad, LoadMatrix, SharedTile
from polyvolta.cuda.run.numba_intrinsics import WORD, transfers, waiting
from polyvolta.cuda.run.numba_intrinsics import NumbaMissing as NumbaMissing
from polyvolta.cuda.run.numba_intrinsics import intrinsics as _intrinsics
from polyvolta.cuda.run.numba_intrinsics import product as _product
from polyvolta.cuda.run.numba_intrinsics import require_numba as require_numba
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import Instruction
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.registry import targets
from polyvolta.cuda.text.head.block_order import python_lines
from polyvolta.sets import Aff, UnknownName, nearest
from polyvolta.sets.values.aff import Floor, Xor

INTRINSICS = ("address", "load_128", "store_128", "pack_half2", "unpack_half2", "pack_bfloat2", "unpack_bfloat2")
MADE = ("macro_mma", "zeros", "indices", "place_of_block", "swizzled_store", "swizzled_copy", "fragment_load",
        "wait_copies", "with_shared")  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in INTRINSICS:
        return _intrinsics()[name]
    if name.startswith("__"):
        raise AttributeError(name)
    products, moves = instructions(), transfers()
    if name in products:
        return _product(products[name])
    if name in moves:
        return moves[name]()
    known = [*INTRINSICS, *products, *moves, *MADE]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {nearest(name, known)}")


# ---- instructions


def instructions() -> dict[str, Instruction]:
    """The tensor-core instructions of all registered targets, by the names of their helpers.

    >>> [name for name in instructions() if "row_col" in name]  # doctest: +NORMALIZE_WHITESPACE
    ['mma_m8n8k4_row_col', 'mma_m16n8k8_row_col', 'mma_m16n8k16_row_col', 'mma_m16n8k16_row_col_bf16',
     'mma_m16n8k8_row_col_bf16']
    """
    found = (i for target in targets.values() for macro in target.macro_mmas for i in macro.instructions)
    return {"_".join(("mma", i.family, *i.layouts, *(i.types[:1] if i.types[0] != "f16" else ()))): i for i in found}


# ---- functions made for something


def _function(name: str, arguments: Sequence[str], lines: Sequence[str], known: dict[str, Any]) -> Any:
    """A device function from its text."""
    require_numba()
    from numba import cuda

    text = f"def {name}({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in lines)
    scope = dict(known)
    exec(compile(text, f"<polyvolta {name}>", "exec"), scope)  # noqa: S102 - the text is made here, of integers
    return cuda.jit(device=True, forceinline=True)(scope[name])


def python_text(e: Aff) -> str:
    """An expression as Python, and so as numba reads it.

    >>> from polyvolta.sets import var
    >>> python_text(3 * (var("x") // 4) - var("y") + 1)
    '1 + -1 * y + 3 * (x // 4)'
    """
    parts = [str(e.const)] if e.const or not e.terms else []
    for atom, c in e.terms:
        match atom:
            case Floor(num, den):
                text = f"(({python_text(num)}) // {den})" if len(num.terms) > 1 or num.const else _floor(num, den)
            case Xor(left, right, _):
                text = f"(({python_text(left)}) ^ ({python_text(right)}))"
            case _:
                text = str(atom)
        parts.append(text if c == 1 else f"{c} * {text}")
    return " + ".join(parts)


def _floor(num: Aff, den: int) -> str:
    return f"({python_text(num)} // {den})"


def _names(count: int, start: str) -> list[str]:
    return [f"{start}{n}" for n in range(count)]


def _renamed(f: IndexMap, names: Sequence[str]) -> list[str]:
    """The outputs of a map as Python, its inputs called so."""
    from polyvolta.sets import var

    return [python_text(e) for e in f.at(*map(var, names))]


def indices(f: IndexMap) -> Any:
    """An index map as a device function: integers in, a tuple of integers out.

    For an ownership map such as that of a macro-MMA's A, `macro.a`, that is `(row, k) = f(lane, i)`.
    """
    names = _names(len(f.inputs), "x")
    return _function("indices", names, [f"return ({', '.join(_renamed(f, names))},)"], {})


def place_of_block(order: BlockOrder) -> Any:
    """A device function without arguments: (column, row) of the tile of the result that the caller's block computes.

    Of a kernel whose blocks are in groups of rows that isn't (blockIdx.x, blockIdx.y). The tile starts at row
    `row * kernel.options.block_tile[0]` and column `column * kernel.options.block_tile[1]`; with the option `swap` the
    two numbers come the other way round.

    Parameters
    ----------
    order : of a kernel's blocks, `kernel.ir.block_order`.
    """
    require_numba()
    from numba import cuda

    return _function("place_of_block", (), python_lines(order), {"cuda": cuda})


def macro_mma(macro: MacroMma) -> Any:
    """A macro-MMA as a device function `d = f(a, b, c)`: operands as tuples of words, c and d of fp32 values."""
    instruction = _product(macro.instruction)
    lines = []
    for number in range(macro.values[2]):
        lines.append(f"d{number} = c[{number}]")
    for step in macro.steps:
        words = ["".join(f"{_word(x, *pair)}, " for pair in zip(values[::WORD], values[1::WORD], strict=True))
                 for x, values in (("a", step.a), ("b", step.b))]  # fmt: skip
        d = ", ".join(f"d{v}" for v in step.d)
        lines.append(f"{d} = instruction(({words[0]}), ({words[1]}), ({d}))")
    lines.append(f"return ({', '.join(_names(macro.values[2], 'd'))},)")
    return _function(f"mma_{macro.name}", ("a", "b", "c"), lines, {"instruction": instruction})


def _word(name: str, low: int, high: int) -> str:
    """The word with two values of a tuple of words, as Python.

    >>> _word("a", 2, 3), _word("a", 1, 4)
    ('a[1]', '(a[0] >> 16 | a[2] << 16)')
    """
    if low % WORD == 0 and high == low + 1:
        return f"{name}[{low // WORD}]"
    first = f"{name}[{low // WORD}] >> 16" if low % WORD else f"{name}[{low // WORD}] & 0xFFFF"
    second = f"({name}[{high // WORD}] & 0xFFFF0000)" if high % WORD else f"{name}[{high // WORD}] << 16"
    return f"({first} | {second})"


def zeros(macro: MacroMma) -> Any:
    """A device function without arguments: an accumulator fragment of zeros."""
    require_numba()
    from numba.cuda.types import float32

    return _function("zeros", (), [f"return ({', '.join(['float32(0)'] * macro.values[2])})"], {"float32": float32})


def swizzled_store(tile: SharedTile) -> Any:
    """A device function `f(shared, *index, words)` that stores one chunk, eight 16-bit values, of a tile.

    Parameters
    ----------
    tile : of a kernel; `index`, local to the tile and in its dimensions' order, is the chunk's first element.

    Raises
    ------
    UnknownName : the tile has no layout: it is an exchange buffer.
    """
    layout = _layout(tile)
    names = _names(len(layout.inputs), "x")
    (chunk,) = _renamed(layout, names)
    lines = [f"store_128(shared, {chunk}, words)"]
    return _function("swizzled_store", ("shared", *names, "words"), lines, {"store_128": _intrinsics()["store_128"]})


def swizzled_copy(tile: SharedTile) -> Any:
    """A device function `f(shared, *index, array, n)` that issues the copy of a chunk of a tile from the n-th 16 bytes.

    Raises
    ------
    UnknownName : the tile has no layout: it is an exchange buffer.
    """
    layout = _layout(tile)
    names = _names(len(layout.inputs), "x")
    (chunk,) = _renamed(layout, names)
    lines = [f"copy(shared, {chunk}, array, n, {CHUNK_BYTES})"]
    known = {"copy": transfers()["copy_async_16"]()}
    return _function("swizzled_copy", ("shared", *names, "array", "n"), lines, known)


def wait_copies(pending: int) -> Any:
    """A device function without arguments: waits for all of the thread's groups of copies but the newest `pending`."""
    return waiting(f"cp.async.wait_group {int(pending)};")


def fragment_load(tile: SharedTile, load: FragmentLoad | LoadMatrix) -> Any:
    """A device function `f(shared, *origin, lane)` that loads a lane's operand fragment, as a tuple of words.

    Parameters
    ----------
    tile : of a kernel.
    load : a kernel's operation on that tile: it says who owns what, and how many values one access loads. Where
        these are fewer than eight, this loads the eight around them and takes the part that is wanted. One by
        `ldmatrix` is made by all lanes of a warp together.

    Raises
    ------
    UnknownName : the tile has no layout: it is an exchange buffer.
    """
    layout = _layout(tile)
    names = _names(len(layout.inputs), "x")
    if isinstance(load, LoadMatrix):
        return _matrix_load(layout, load, names)
    count = load.ownership.inputs[1][1]
    lines, words = [], []
    for first in range(0, count, load.access):
        own = _renamed_at(load.ownership, first)
        index = [f"({x} + {o})" for x, o in zip(names, own)]
        lines.append(f"{', '.join(_names(len(names), f'p{first}_'))}, = {', '.join(index)},")
        places = _names(len(names), f"p{first}_")
        (chunk,) = _renamed(layout, places)
        lines.append(f"v{first} = load_128(shared, {chunk})")
        if load.access == CHUNK:
            words += [f"v{first}[{n}]" for n in range(CHUNK // WORD)]
        else:  # the part of the chunk in which the values lie
            lines.append(f"h{first} = {places[tile.order[-1]]} % {CHUNK} // {load.access}")
            words += _part_of_chunk(first, load.access)
    if load.access < WORD:
        words = [f"({low} | {high} << 16)" for low, high in zip(words[::2], words[1::2], strict=True)]
    lines.append(f"return ({', '.join(words)},)")
    known = {"load_128": _intrinsics()["load_128"]}
    return _function("fragment_load", ("shared", *names, "lane"), lines, known)


def _matrix_load(layout: IndexMap, load: LoadMatrix, names: Sequence[str]) -> Any:
    """The load of a fragment by `ldmatrix`, one instruction after the other."""
    from polyvolta.sets import aff, var

    lines, words = [], []
    for n in range(load.instructions):
        own = [python_text(e) for e in load.lines.at(var("lane"), aff(n))]
        places = _names(len(names), f"p{n}_")
        lines.append(f"{', '.join(places)}, = {', '.join(f'({x} + {o})' for x, o in zip(names, own))},")
        (chunk,) = _renamed(layout, places)
        lines.append(f"v{n} = load_matrix(shared, {chunk})")
        words += [f"v{n}[{r}]" for r in range(load.count)]
    lines.append(f"return ({', '.join(words)},)")
    name = f"load_matrix_x{load.count}{'_transposed' if load.transposed else ''}"
    return _function("fragment_load", ("shared", *names, "lane"), lines, {"load_matrix": transfers()[name]()})


def _part_of_chunk(first: int, access: int) -> list[str]:
    """The words of part number h of a chunk v, as Python; a single value in the low half of one."""
    part = f"h{first}"
    if access < WORD:
        return [f"(v{first}[{part} // 2] >> 16 * ({part} % 2) & 0xFFFF)"]
    words = []
    for n in range(access // WORD):
        *others, last = range(n, CHUNK // WORD, access // WORD)
        chosen = f"v{first}[{last}]"
        for k, at in reversed(list(enumerate(others))):
            chosen = f"(v{first}[{at}] if {part} == {k} else {chosen})"
        words.append(chosen)
    return words


def _renamed_at(ownership: IndexMap, value: int) -> list[str]:
    from polyvolta.sets import aff, var

    return [python_text(e) for e in ownership.at(var("lane"), aff(value))]


def _layout(tile: SharedTile) -> IndexMap:
    if tile.layout is None:
        raise UnknownName(f"tile {tile.name} has no layout", hint="an operand's tile has one, such as shared_A")
    return tile.layout


# ---- launches


def with_shared(kernel: Any, shared_bytes: int, *args: Any) -> Any:
    """A `@cuda.jit` kernel whose launches may take so much dynamic shared memory; numba by itself asks for 48 KiB.

    Parameters
    ----------
    kernel : the user's, with or without types.
    shared_bytes : dynamic shared memory of a block, such as that of `launch_config`.
    args : of a launch; the kernel is compiled for their types. Of a kernel that is specialized already: none.

    Returns
    -------
    The kernel, specialized for the types: `it[grid, block, stream, shared_bytes](*args)` launches it on the device
    that was current here.

    Raises
    ------
    NumbaMissing, NoGpu
    LaunchFailed : the device doesn't have as much for a block.

    Cost: compiling, once for the same types; then 20 us.
    """
    require_numba()
    from polyvolta.cuda.run import launch

    device = launch.current_device()
    special = kernel if kernel.specialized else kernel.specialize(*args)
    for compiled in special.overloads.values():
        function = compiled._codelibrary.get_cufunc()  # as numba does to set the carve-out
        launch.allow_shared(function.handle, function.name, device, shared_bytes)
    return special
