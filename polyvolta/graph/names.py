"""Which names a user may give to sizes and tensors.

A name ends up in three languages: in a set's text (`{ S[i, j] -> A[i, j] }`), in CUDA C++ (`const half* A`) and in
Python, where a call gives arrays by name. It must be an identifier of all and a reserved word of none, and what the
C++ standard keeps for compilers (`__x`, `_X`) is refused as well, since CUDA's own headers and builtins use those.

What the compiler knows without a header was found out by trying every word that occurs in NVRTC 12.9's own headers as
a parameter, a function and a kernel (`tests/cuda/text/test_names.py` does that again): besides the keywords they are
names with a few beginnings, and the words of `CUDA_RESERVED`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterator

from polyvolta.graph.errors import BadName

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

C_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept bitand
    bitor bool catch char8_t char16_t char32_t class co_await co_return co_yield compl concept
    const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export false friend
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    reflexpr reinterpret_cast requires static_assert static_cast synchronized template this thread_local
    throw true try typeid typename typeof using virtual wchar_t xor xor_eq""".split()
)

NOT_FREE = frozenset(("main", "NULL"))
"""Identifiers that compilers of C++ refuse or replace, though they are no keywords."""

CUDA_RESERVED = frozenset(
    """threadIdx blockIdx blockDim gridDim warpSize warpIdx laneIdx clusterIdx clusterDim dim3 half half2
    nv_half nv_half2 bfloat16 nv_bfloat16 size_t ptrdiff_t clock clock64 assert printf malloc free memcpy
    memset int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t uchar ushort uint
    ulong clock_t va_list va_start va_end va_copy va_arg libraryPropertyType CUuuid MAJOR_VERSION MINOR_VERSION
    PATCH_LEVEL""".split()
    + [f"{base}{n}" for base in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
                                 "longlong", "ulonglong", "float", "double") for n in (1, 2, 3, 4)]
)  # fmt: skip
CUDA_BEGINNINGS = re.compile(r"cuda[A-Z]|CUDA_|CUDART|CU_|NV_")
"""Of macros, types, enumerators and functions that NVRTC declares by itself, some hundreds of them."""

GIVEN = {
    "tensor": 'pass the tensor\'s name first, as in pv.tensor("A", (M, K))',
    "output": 'pass the output\'s name after its expression, as in pv.output(A @ B, "C")',
    "size": 'such as M, N = pv.sizes("M N")',
    "kernel": 'such as pv.compile(..., name="matmul")',
}
"""How a name is given, by what it names."""

SET_WORDS = frozenset(
    "and or not exists implies mod floor ceil floord ceild min max abs infty NaN true false rat".split()
)


def check_name(name: object, role: str) -> str:
    """`name` itself where it can name a `role` ("size", "tensor", "output").

    Raises
    ------
    BadName : not a string, not an identifier of C, or reserved in C++, CUDA, Python or the notation of sets.

    >>> check_name("bias", "tensor")
    'bias'
    >>> check_name("threadIdx", "tensor")
    Traceback (most recent call last):
        ...
    polyvolta.graph.errors.BadName: [PV205] 'threadIdx' can't name a tensor: CUDA reserves it
    hint: try 'threadIdx_'
    """
    what = f"{'an' if role[0] in 'aeiou' else 'a'} {role}"
    if not isinstance(name, str):
        raise BadName(
            f"{name!r} can't name {what}: a name is a str, not {type(name).__name__}",
            hint=GIVEN.get(role, f"a text of ASCII letters, digits and _, such as {role!r}"),
        )
    if not _IDENTIFIER.fullmatch(name):
        fixed = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
        fixed = f"_{fixed}".lower() if fixed[:1].isdigit() else fixed
        raise BadName(
            f"{name!r} can't name {what}: it is no C identifier",
            where=_marked(name),
            hint="use ASCII letters, digits and _, with no digit first"
            + (f", for example {fixed!r}" if fixed and reserved(fixed) is None else ""),
        )
    if (why := reserved(name)) is not None:
        raise BadName(f"{name!r} can't name {what}: {why}", hint=_instead(name))
    return name


def reserved(name: str) -> str | None:
    """Who reserves `name`, as words for a message; None where nobody does.

    >>> reserved("mod"), reserved("A")
    ('it is a word of the notation of sets', None)
    """
    if name in C_KEYWORDS:
        return "it is a keyword of C++"
    if name in NOT_FREE:
        return "it is the name of C++ programs themselves" if name == "main" else "it is a macro of C++"
    if name in CUDA_RESERVED or CUDA_BEGINNINGS.match(name):
        return "CUDA reserves it"
    if keyword.iskeyword(name):
        return "it is a keyword of Python"
    if name in SET_WORDS:
        return "it is a word of the notation of sets"
    if "__" in name or re.match(r"_[A-Z]", name) or name == "_":
        return "C++ keeps such underscores for compilers"
    return None


def _instead(name: str) -> str:
    """A hint with a name like a reserved one."""
    plain = re.sub("_{2,}", "_", name).strip("_")
    free = (n for n in (plain, f"{plain}_", f"my_{plain}") if _IDENTIFIER.fullmatch(n) and reserved(n) is None)
    return f"try {found!r}" if (found := next(free, None)) else "choose another name"


def fresh_names(wanted: Iterator[str], taken: Collection[str]) -> Iterator[str]:
    """Those of `wanted` that are free: not in `taken` and reserved by nobody.

    >>> list(fresh_names(iter("i j k l".split()), {"j"}))
    ['i', 'k', 'l']
    """
    return (name for name in wanted if name not in taken and reserved(name) is None)


def _marked(name: str) -> str:
    """The name with a caret under its first character that C doesn't allow there."""
    bad = next((p for p, c in enumerate(name) if not re.match(r"[A-Za-z_]" if p == 0 else r"[A-Za-z0-9_]", c)), 0)
    return f"{name!r}\n{' ' * (bad + 1)}^" if name.isprintable() else repr(name)
