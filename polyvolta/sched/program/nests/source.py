"""The text of a Python function, and errors that point into it.

    [PV305] the bound is not affine: a product of i and N
      nest.py, line 12
          for k in range(i * N):
                         ^^^^^
      hint: ...

Python itself keeps the text of functions that stand in files, in notebook cells and in test modules. Where there is
none (`exec` of a string, the prompt), the text can be given to `nest_from_source`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass

from polyvolta.sched.errors import NotAffineProgram
from polyvolta.sets.errors import kind_of


@dataclass(frozen=True, slots=True)
class Source:
    """A function's text.

    Parameters
    ----------
    function : its syntax tree, whose line and column numbers are those of `lines`.
    lines : the text; `lines[0]` is line `first` of the file.
    """

    function: ast.FunctionDef
    lines: tuple[str, ...]
    file: str
    first: int

    def text(self, node: ast.AST) -> str:
        """What is written there, on one line."""
        return ast.unparse(node)

    def error(self, node: ast.AST, message: str, hint: str = "") -> NotAffineProgram:
        """The error that points at a part of the function."""
        return NotAffineProgram(message, where=self.marked(node), hint=hint)

    def marked(self, node: ast.AST) -> str:
        """The line of a node with the node underlined, its first line if it has several."""
        at = node.lineno - 1  # type: ignore[attr-defined]
        line = self.lines[at].rstrip()
        start = _column(line, node.col_offset)  # type: ignore[attr-defined]
        last = at == node.end_lineno - 1  # type: ignore[attr-defined]
        end = _column(line, node.end_col_offset) if last else len(line)  # type: ignore[attr-defined]
        margin = len(line) - len(line.lstrip())
        caret = " " * (start - margin) + "^" * max(end - start, 1)
        return f"{self.file}, line {self.first + at}\n    {line.lstrip()}\n    {caret}"


def _column(line: str, offset: int) -> int:
    """The position of a character that is given by its bytes, as syntax trees do."""
    return len(line.encode()[:offset].decode(errors="ignore"))


def source_of(function: Callable[..., object]) -> Source:
    """The source of a Python function.

    Raises
    ------
    NotAffineProgram : it is no function of Python, or its text is not to be had.
    """
    if not inspect.isfunction(function):
        raise NotAffineProgram(
            f"nest reads a Python function, not {type(function).__name__}",
            where=repr(function),
            hint="put @nest above a `def`",
        )
    hint = "give the text: nest_from_source('''def ...''')"
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise NotAffineProgram(
            f"the source of {function.__name__} is not available: it was not defined in a file or a notebook",
            where=function.__code__.co_filename,
            hint=hint,
        ) from None
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    found = parse_source("".join(lines), file, first)
    if found.function.name != function.__name__ or _names(found.function) != _arguments(function):
        raise NotAffineProgram(
            f"the source of {function.__name__} is not what was loaded: the file has changed, or it is a lambda",
            where=f"{file}, line {first}",
            hint=hint,
        )
    return found


def parse_source(text: str, file: str = "<text>", first: int = 1) -> Source:
    """The source in a text that is one function, at any indentation.

    Raises
    ------
    NotAffineProgram : the text is no Python, or not one function.
    """
    if not isinstance(text, str):
        hint = "nest(f) reads a function" if callable(text) else ""
        raise NotAffineProgram(f"the text of a nest is a str, not {kind_of(text)}", where=repr(text), hint=hint)
    opening = next((line for line in text.splitlines() if line.strip()), "")
    inside = opening[:1].isspace()
    try:
        tree = ast.parse("if 1:\n" + text if inside else text)
    except SyntaxError as error:
        raise no_python(error, text, file, first, inside) from None
    body: list[ast.stmt] = tree.body[0].body if inside else tree.body  # type: ignore[attr-defined]
    if inside:
        ast.increment_lineno(tree, -1)
    function = body[0] if len(body) == 1 else None
    if not isinstance(function, ast.FunctionDef):
        what = "another statement" if len(body) == 1 else f"{len(body)} statements"
        raise NotAffineProgram(
            f"the text of a nest is one function, not {what}",
            where=f"{file}, line {first}",
            hint="def gemm(A, B, C, M, N, K): for i in range(M): ...",
        )
    return Source(function, tuple(text.splitlines()), file, first)


def no_python(error: SyntaxError, text: str, file: str = "<text>", first: int = 1, shift: int = 0) -> NotAffineProgram:
    """The error of Python's reader, at its line of a text, which it saw `shift` lines further down."""
    at = (error.lineno or 1) - shift
    lines = text.splitlines()
    line = lines[at - 1] if 0 < at <= len(lines) else error.text or ""
    margin = len(line) - len(line.lstrip())
    caret = " " * max((error.offset or 1) - 1 - margin, 0) + "^"
    where = f"{file}, line {first + at - 1}\n    {line.strip()}\n    {caret}"
    return NotAffineProgram(f"this is no Python: {error.msg}", where=where)


def _names(function: ast.FunctionDef) -> tuple[str, ...]:
    a = function.args
    return tuple(x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs))


def _arguments(function: Callable[..., object]) -> tuple[str, ...]:
    code = inspect.unwrap(function).__code__  # type: ignore[attr-defined]
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
