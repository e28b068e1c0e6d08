"""Texts that are programs: a `str` in every respect, which a notebook shows with its words in colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from polyvolta.display.shown import Shown

_C = (
    "alignas auto break case const constexpr continue default do else enum extern for goto if inline namespace "
    "operator reinterpret_cast restrict return sizeof static static_cast struct switch template typedef typename union "
    "using volatile while asm __restrict__ __global__ __device__ __shared__ __forceinline__ __launch_bounds__ "
    "__cluster_dims__ "
    "__grid_constant__ __align__ nullptr true false"
)
_TYPES = (
    "bool char double float int long short signed unsigned void size_t ptrdiff_t half half2 uint2 uint4 int2 int4 "
    "float2 float4 __half __half2 __nv_bfloat16 CUtensorMap int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t "
    "uint64_t"
)
_PYTHON = (
    "and as assert async await break class continue def del elif else except finally for from global if import in is "
    "lambda match nonlocal not or pass raise return try while with yield True False None"
)
_WORDS = {"c": (frozenset(_C.split()), frozenset(_TYPES.split())), "python": (frozenset(_PYTHON.split()), frozenset())}
_STRING = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
_REST = r"(?P<number>\b\d[\w.]*)|(?P<name>[A-Za-z_]\w*)(?P<called>\s*\()?|(?P<other>\n|[^\S\n]+|.)"
_TOKENS = {
    "c": re.compile(rf"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<command>^[ \t]*#[^\n]*)|"
                    rf"(?P<string>{_STRING})|{_REST}", re.S | re.M),
    "python": re.compile(rf"(?P<comment>#[^\n]*)|(?P<command>^\s*@[\w.]+)|"
                         rf'(?P<string>"""(?:\\.|.)*?"""|{_STRING})|{_REST}', re.S | re.M),
}  # fmt: skip


def marked(text: str, language: str) -> str:
    """A program as HTML, its words in spans.

    Parameters
    ----------
    language : "c", of which CUDA is one, or "python".

    >>> marked("if (a < 3) go(b); // x", "c").count("span class")
    4
    """
    return "".join(_spans(text, language))


def _spans(text: str, language: str) -> Iterator[str]:
    keywords, types = _WORDS[language]
    for m in _TOKENS[language].finditer(text):
        kind, word, rest = m.lastgroup or "other", m.group(), ""
        if (name := m["name"]) is not None:
            word, rest = name, m["called"] or ""
            kind = "keyword" if name in keywords else "type" if name in types else "call" if rest else "other"
        yield (escape(word) if kind == "other" else f'<span class="pv-{kind}">{escape(word)}</span>') + rest


class Code(Shown, str):
    """A program's text: print it, write it, compare it as any `str`."""

    __slots__ = ()
    language = "c"
    called = "C"

    def __repr__(self) -> str:
        lines = self.count("\n") + (not self.endswith("\n"))
        return f"<{self.called}, {lines} line{'s' * (lines != 1)}; print it>"

    def __str__(self) -> str:
        return str.__str__(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _html(self) -> str:
        return f'<pre class="pv-box"><code>{marked(self, self.language)}</code></pre>'


class Cuda(Code):
    """CUDA C++."""

    __slots__ = ()
    called = "CUDA C++"


class Python(Code):
    """Python."""

    __slots__ = ()
    language, called = "python", "Python"


class Markdown(str):
    """A text in Markdown, which notebooks set."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        lines = self.count("\n") + (not self.endswith("\n"))
        return f"<Markdown, {lines} line{'s' * (lines != 1)}; print it>"
