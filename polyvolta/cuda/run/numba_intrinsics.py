"""The intrinsics of numba's that the helpers for its users are made of: types, and the LLVM code of a call.

An intrinsic is an instruction in inline assembly behind a function of words, numbers and arrays. numba and llvmlite are
imported when the first one is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.target.instruction import Instruction
from polyvolta.cuda.target.matrix_load import LDMATRIX, MatrixLoad

WORD = 2  # 16-bit values in a word
COPIED = (16, 8, 4)
"""Bytes that an asynchronous copy moves."""


class NumbaMissing(CudaError, ImportError):
    """numba-cuda isn't installed, or doesn't import."""

    id = "PV509"


def require_numba() -> None:
    """Raise unless numba-cuda can be imported; no GPU is needed."""
    try:
        import numba_cuda  # noqa: F401  # numba alone has a `numba.cuda` of its own, which lacks what is needed here
        from numba import cuda  # noqa: F401
        from numba.cuda.extending import intrinsic  # noqa: F401
    except Exception as wrong:  # a numba-cuda and a numpy that don't fit raise what they will
        raise NumbaMissing(
            f"numba-cuda doesn't import: {wrong}", hint='pip install "polyvolta[cuda12]" (or cuda13)'
        ) from wrong


def _asm(builder: Any, results: Sequence[Any], text: str, constraints: str, arguments: Sequence[Any]) -> Any:
    """A call of an instruction in inline assembly."""
    from llvmlite import ir

    returns = results[0] if len(results) == 1 else ir.LiteralStructType(results)
    kind = ir.FunctionType(returns if results else ir.VoidType(), [a.type for a in arguments])
    return builder.call(ir.InlineAsm(kind, text, constraints, side_effect=True), arguments)


def _spread(builder: Any, values: Any, count: int) -> list[Any]:
    return [builder.extract_value(values, n) for n in range(count)]


def _gathered(context: Any, builder: Any, kind: Any, struct: Any) -> Any:
    return context.make_tuple(builder, kind, _spread(builder, struct, len(kind)))


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _place(context: Any, builder: Any, kinds: Any, args: Sequence[Any], width: int = 16) -> Any:
    """The address of the n-th `width` bytes of an array, of arguments (array, n, ...)."""
    from llvmlite import ir
    from numba.cuda import types

    start = builder.ptrtoint(_data(context, builder, kinds[0], args[0]), ir.IntType(64))
    number = context.cast(builder, args[1], kinds[1], types.int64)
    return builder.add(start, builder.mul(number, ir.Constant(ir.IntType(64), width)))


@cache
def product(made: Instruction) -> Any:
    """The intrinsic of a tensor-core instruction: words of A and B, fp32 values of C and of the result."""
    require_numba()
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    a, b, d = made.values
    counts = (a // WORD, b // WORD, d)
    of_a, of_b, of_d = (
        types.UniTuple(t, n) for t, n in zip((types.uint32, types.uint32, types.float32), counts, strict=True)
    )
    places = iter(f"${n}" for n in range(2 * d + sum(counts[:2])))
    outs, left, right, ins = (", ".join(next(places) for _ in range(n)) for n in (d, *counts))
    text = f"{made.name} {{{outs}}}, {{{left}}}, {{{right}}}, {{{ins}}};"
    constraints = ",".join(["=f"] * d + ["r"] * sum(counts[:2]) + ["f"] * d)

    @intrinsic
    def instruction(typing: Any, a: Any, b: Any, c: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            parts = [v for x, n in zip(args, counts) for v in _spread(builder, x, n)]
            results = _asm(builder, [ir.FloatType()] * d, text, constraints, parts)
            return _gathered(context, builder, of_d, results)

        return of_d(of_a, of_b, of_d), code

    return instruction


@cache
def intrinsics() -> dict[str, Any]:
    """The helpers that move and convert values: intrinsics of numba's, with types and the LLVM code of a call."""
    require_numba()
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    word, f32 = ir.IntType(32), ir.FloatType()
    words4 = types.UniTuple(types.uint32, 4)
    made: dict[str, Any] = {}

    @intrinsic
    def address(typing: Any, array: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.bitcast(
                _data(context, builder, sig.args[0], args[0]), context.get_value_type(sig.return_type)
            )

        return types.CPointer(array.dtype)(array), code

    @intrinsic
    def load_128(typing: Any, array: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = _place(context, builder, sig.args, args)
            loaded = _asm(builder, [word] * 4, "ld.v4.u32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}", [place])
            return _gathered(context, builder, words4, loaded)

        return words4(array, number), code

    @intrinsic
    def store_128(typing: Any, array: Any, number: Any, words: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = _place(context, builder, sig.args, args)
            values = [context.cast(builder, v, t, types.uint32)
                      for v, t in zip(_spread(builder, args[2], 4), sig.args[2])]  # fmt: skip
            _asm(builder, [], "st.v4.u32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}", [place, *values])
            return context.get_dummy_value()

        return types.none(array, number, words), code

    @intrinsic
    def pack_half2(typing: Any, low: Any, high: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            text = "{.reg .b16 l, h; cvt.rn.f16.f32 l, $1; cvt.rn.f16.f32 h, $2; mov.b32 $0, {l, h};}"
            return _asm(builder, [word], text, "=r,f,f", args)

        return types.uint32(types.float32, types.float32), code

    @intrinsic
    def unpack_half2(typing: Any, packed: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            text = "{.reg .b16 l, h; mov.b32 {l, h}, $2; cvt.f32.f16 $0, l; cvt.f32.f16 $1, h;}"
            return _gathered(context, builder, sig.return_type, _asm(builder, [f32] * 2, text, "=f,=f,r", args))

        return types.UniTuple(types.float32, 2)(types.uint32), code

    @intrinsic
    def pack_bfloat2(typing: Any, low: Any, high: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _asm(builder, [word], "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", args)

        return types.uint32(types.float32, types.float32), code

    @intrinsic
    def unpack_bfloat2(typing: Any, packed: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            text = "{.reg .b32 l, h; shl.b32 l, $2, 16; and.b32 h, $2, 0xffff0000; mov.b32 $0, l; mov.b32 $1, h;}"
            return _gathered(context, builder, sig.return_type, _asm(builder, [f32] * 2, text, "=f,=f,r", args))

        return types.UniTuple(types.float32, 2)(types.uint32), code

    for helper in (address, load_128, store_128, pack_half2, unpack_half2, pack_bfloat2, unpack_bfloat2):
        made[helper.__name__] = helper
    return made


def transfers() -> dict[str, Any]:
    """The names of what moves matrices and copies, and what makes each."""
    made: dict[str, Any] = {}
    for count in LDMATRIX.counts:
        for transposed in (False, True):
            name = f"load_matrix_x{count}{'_transposed' if transposed else ''}"
            made[name] = partial(matrix_load, LDMATRIX, count, transposed)
    for width in COPIED:
        made[f"copy_async_{width}"] = partial(async_copy, width)
    made["commit_copies"] = partial(waiting, "cp.async.commit_group;")
    return made


SHARED = "{.reg .u64 there; cvta.to.shared.u64 there, $%d; %s}"
"""An instruction with an address in shared memory, of which numba has a generic one."""


@cache
def matrix_load(load: MatrixLoad, count: int, transposed: bool) -> Any:
    """The intrinsic (array, n): a word of each of `count` matrices, of which the lane names chunk n as a line."""
    require_numba()
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    words = types.UniTuple(types.uint32, count)
    registers = ", ".join(f"${n}" for n in range(count))
    text = SHARED % (count, f"{load.name(count, transposed)} {{{registers}}}, [there];")
    constraints = ",".join(["=r"] * count + ["l", "~{memory}"])

    @intrinsic
    def load_matrix(typing: Any, array: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = _place(context, builder, sig.args, args)
            found = _asm(builder, [ir.IntType(32)] * count, text, constraints, [place])
            if count == 1:
                return context.make_tuple(builder, words, [found])
            return _gathered(context, builder, words, found)

        return words(array, number), code

    return load_matrix


@cache
def async_copy(width: int) -> Any:
    """The intrinsic (shared, n, array, m, bytes): to the n-th `width` bytes from the m-th, the first ones and zeros."""
    require_numba()
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    level = "cg" if width == 16 else "ca"  # past the first-level cache go 16 bytes alone
    text = SHARED % (0, f"cp.async.{level}.shared.global [there], [$1], {width}, $2;")

    @intrinsic
    def copy_async(typing: Any, shared: Any, to: Any, array: Any, number: Any, given: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            there = _place(context, builder, sig.args, args, width)
            here = _place(context, builder, sig.args[2:], args[2:], width)
            size = context.cast(builder, args[4], sig.args[4], types.int32)
            _asm(builder, [], text, "l,l,r,~{memory}", [there, here, size])
            return context.get_dummy_value()

        return types.none(shared, to, array, number, given), code

    return copy_async


@cache
def waiting(text: str) -> Any:
    """The intrinsic () of an instruction about copies that has no operands."""
    require_numba()
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    @intrinsic
    def instruction(typing: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            _asm(builder, [], text, "~{memory}", [])
            return context.get_dummy_value()

        return types.none(), code

    return instruction
