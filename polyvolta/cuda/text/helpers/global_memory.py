"""Loads and stores of eight fp16 values in global memory.

Of a matrix, element (line, run) lies at `line * ld + run`: lines are rows where it is row-major. Eight values along
a line move in accesses as wide as the tensor's alignment allows; eight values across lines, or one value eight
times, move one by one. A guarded access compares each value's place with the extents; offsets are computed in 64
bits, since a matrix may have more than 2^31 elements.
"""

from __future__ import annotations

from functools import cache

from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.values import JOIN_HALF8, SPLIT_HALF8, WORDS

BITS = {8: 128, 4: 64, 2: 32, 1: 16}


@cache
def load(rank: int, along: str, align: int, guarded: bool) -> DeviceFunction:
    """The load of eight values of a matrix (rank 2) or a vector.

    Parameters
    ----------
    along : "run": consecutive values, `align` in an access; "line": one value of each of eight lines; "one": the
        same value eight times.
    """
    kind = "matrix" if rank == 2 else "vector"
    what = "global" if rank == 2 else "vector"
    at = _place(rank)
    name = {"run": str(BITS[align]), "line": "strided", "one": "broadcast"}[along]
    shown = {
        "run": "matrix[line, run .. run+7]" if rank == 2 else "vector[at .. at+7]",
        "line": "matrix[line .. line+7, run]",
        "one": "matrix[line, run], eight times" if rank == 2 else "vector[at], eight times",
    }[along]
    if not guarded:
        body, needs = _plain_load(along, align, at)
        how = f", in {_accesses(align, 'load')}" if along == "run" else ""
        about = f"{shown}{', lines ld apart' if rank == 2 else ''}{how}"
        return DeviceFunction(f"load_{what}_{name}", "half8", parameters(rank, "const "), body, about, needs)
    inner = load(rank, along, align, False)
    body, needs = _guarded_load(rank, along, align, inner)
    return DeviceFunction(
        f"load_{what}_{name}_guarded",
        "half8",
        (*parameters(rank, "const "), *extents(rank)),
        body,
        f"{shown}, with zeros for what is outside of the {kind}",
        needs,
    )


@cache
def store(rank: int, along: str, align: int, guarded: bool) -> DeviceFunction:
    """The store of eight values, `along` "run" or "line"; see `load`."""
    kind = "matrix" if rank == 2 else "vector"
    what = "global" if rank == 2 else "vector"
    at = _place(rank)
    name = {"run": str(BITS[align]), "line": "strided"}[along]
    shown = {
        "run": "matrix[line, run .. run+7]" if rank == 2 else "vector[at .. at+7]",
        "line": "matrix[line .. line+7, run]",
    }[along]
    split = ("fp16 part[8];", "split_half8(part, value);", "#pragma unroll", "for (int i = 0; i < 8; i += 1)")
    each = {"run": f"{at} + i", "line": "(line + i) * ld + run"}[along]
    array = "matrix" if rank == 2 else "vector"
    if not guarded:
        how = f", in {_accesses(align, 'store')}" if along == "run" else ""
        if along == "line" or align == 1:
            body, needs = (*split, f"  {array}[{each}] = part[i];"), (SPLIT_HALF8,)
        else:
            body, needs = _wide_store(align, f"{array} + {at}"), ()
        about = f"{shown} = value{', lines ld apart' if rank == 2 else ''}{how}"
        return DeviceFunction(
            f"store_{what}_{name}", "void", (*parameters(rank, ""), "half8 value"), body, about, needs
        )
    inner = store(rank, along, align, False)
    test, whole = _tests(rank, along)
    call = f"{inner.name}({array}, {'line, run, ld' if rank == 2 else 'at'}, value);"
    short = (f"if ({whole})", f"  return {call}") if along == "run" and align > 1 else ()
    return DeviceFunction(
        f"store_{what}_{name}_guarded",
        "void",
        (*parameters(rank, ""), *extents(rank), "half8 value"),
        (*short, *split, f"  if ({test})", f"    {array}[{each}] = part[i];"),
        f"{shown} = value, but for what is outside of the {kind}",
        (*((inner,) if short else ()), SPLIT_HALF8),
    )


def _accesses(align: int, what: str) -> str:
    count = {8: "one", 4: "two", 2: "four", 1: "eight"}[align]
    return f"{count} {BITS[align]}-bit {what}{'s' if align < 8 else ''}"


def parameters(rank: int, const: str) -> tuple[str, ...]:
    if rank == 2:
        return f"{const}fp16 *__restrict__ matrix", "long long line", "int run", "int ld"
    return f"{const}fp16 *__restrict__ vector", "int at"


def extents(rank: int) -> tuple[str, ...]:
    return ("int lines", "int length") if rank == 2 else ("int length",)


def _place(rank: int) -> str:
    return "line * ld + run" if rank == 2 else "at"


def _plain_load(along: str, align: int, at: str) -> tuple[tuple[str, ...], tuple[DeviceFunction, ...]]:
    array = "vector" if at == "at" else "matrix"
    match along, align:
        case "run", 8:
            return (f"return *(const half8 *)({array} + {at});",), ()
        case "run", 4:
            return (f"const half4 *p = (const half4 *)({array} + {at});",
                    "return make_uint4(p[0].x, p[0].y, p[1].x, p[1].y);"), ()  # fmt: skip
        case "run", 2:
            return (f"const unsigned *p = (const unsigned *)({array} + {at});",
                    "return make_uint4(p[0], p[1], p[2], p[3]);"), ()  # fmt: skip
        case "run", 1:
            return (f"return join_half8({array} + {at});",), (JOIN_HALF8,)
        case "one", _:
            return (f"const unsigned twice = {array}[{at}] * 0x10001u;",
                    "return make_uint4(twice, twice, twice, twice);"), ()  # fmt: skip
    loop = ("fp16 part[8];", "#pragma unroll", "for (int i = 0; i < 8; i += 1)")
    return (*loop, f"  part[i] = {array}[(line + i) * ld + run];", "return join_half8(part);"), (JOIN_HALF8,)


def _guarded_load(
    rank: int, along: str, align: int, inner: DeviceFunction
) -> tuple[tuple[str, ...], tuple[DeviceFunction, ...]]:
    array, at = ("matrix" if rank == 2 else "vector"), _place(rank)
    test, whole = _tests(rank, along)
    call = f"{inner.name}({array}, {'line, run, ld' if rank == 2 else 'at'})"
    if along == "one":
        return (f"return {test} ? {call} : make_uint4(0, 0, 0, 0);",), (inner,)
    each = {"run": f"{at} + i", "line": "(line + i) * ld + run"}[along]
    single = (
        "fp16 part[8];",
        "#pragma unroll",
        "for (int i = 0; i < 8; i += 1)",
        f"  part[i] = {test} ? {array}[{each}] : (fp16)0;",
        "return join_half8(part);",
    )
    if along == "run" and align > 1:
        return (f"if ({whole})", f"  return {call};", *single), (inner, JOIN_HALF8)
    return single, (JOIN_HALF8,)


def _tests(rank: int, along: str) -> tuple[str, str]:
    """Whether value i is inside, and whether all are."""
    if rank == 1:
        return ("at + i < length" if along == "run" else "at < length"), "at + 8 <= length"
    one = {
        "run": "line < lines && run + i < length",
        "line": "line + i < lines && run < length",
        "one": "line < lines && run < length",
    }
    return one[along], "line < lines && run + 8 <= length"


def _wide_store(align: int, place: str) -> tuple[str, ...]:
    match align:
        case 8:
            return (f"*(half8 *)({place}) = value;",)
        case 4:
            return (f"half4 *p = (half4 *)({place});",
                    "p[0] = make_uint2(value.x, value.y), p[1] = make_uint2(value.z, value.w);")  # fmt: skip
    stores = ", ".join(f"p[{k}] = value.{word}" for k, word in enumerate(WORDS))
    return f"unsigned *p = (unsigned *)({place});", f"{stores};"
