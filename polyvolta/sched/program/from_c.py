"""Loop nests written in C: `Program.from_c(text)`.

    void gemm(int M, int N, int K, double A[M][K], double B[K][N], double C[M][N]) {
      for (int i = 0; i < M; i++)                     for i in range(M):
        for (int j = 0; j < N; j++)             =>        for j in range(N):
          for (int k = 0; k < K; k++)                         for k in range(K):
            C[i][j] += A[i][k] * B[k][j];                         C[i, j] += A[i, k] * B[k, j]
    }

pycparser reads the text; what it says is written as a nest in Python, of which `nests` makes the program. So what is an
affine nest, and what is refused and why, is the same for both languages. Where C means something else than Python, the
nest says what C means, as `fmax` of a NaN, or it is refused, as the division of integers; see `c.expressions`.
"""

from __future__ import annotations

import re
from typing import Any

from polyvolta.sched.errors import NoReader, NotAffineProgram
from polyvolta.sched.loops.notation.c import MACROS
from polyvolta.sched.program.c.expressions import functions, line
from polyvolta.sched.program.c.function import Function
from polyvolta.sched.program.c.types import PRELUDE, typedefs
from polyvolta.sched.program.model import Program
from polyvolta.sched.program.nests.nest import nest_from_source
from polyvolta.sets import Set
from polyvolta.sets.errors import kind_of

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
OWN = {MACROS[name] for name in ("floord", "modd", "min", "max")}  # macros whose calls `c.expressions` reads
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[^\n]*$", re.M)


def from_c(text: str, name: str | None = None, *, context: str | Set | None = None) -> Program:
    """The program of a function in C.

    Parameters
    ----------
    text : C after the preprocessor (`cc -E -P`), with one function or more; comments, `#include`, `#pragma` and the
        macros `floord`, `modd`, `min` and `max`, word by word as `to_c` writes them, are left out. What the function
        takes are sizes (integers), arrays and numbers.
    name : the function, if there are several.
    context : what may be assumed of the parameters.

    Raises
    ------
    NoReader : pycparser is not installed.
    NotAffineProgram : this is no C, or a part of it is no affine nest; shows the line.

    >>> matmul = from_c('''
    ... void matmul(int N, double A[N][N], double B[N][N], double C[N][N]) {
    ...   for (int i = 0; i < N; i++)
    ...     for (int j = 0; j < N; j++)
    ...       for (int k = 0; k < N; k++)
    ...         C[i][j] += A[i][k] * B[k][j];
    ... }''')
    >>> print(matmul)
    matmul(N, A, B, C)
      S[i, j, k] : 0 ≤ i < N ∧ 0 ≤ j < N ∧ 0 ≤ k < N
        C[i, j] += A[i, k] * B[k, j]
        reads  C[i, j]; A[i, k]; B[k, j]
        writes C[i, j]
      order
        BAND: S[i, j, k] → [i, j, k]
    """
    if not isinstance(text, str):
        raise NotAffineProgram(f"the text of a nest in C is a str, not {kind_of(text)}", where=repr(text))
    lines = text.splitlines()
    tree = _parsed(text, lines)
    reader = Function(_chosen(tree, name), lines, typedefs(tree))
    try:
        return nest_from_source("\n".join(reader.out), functions(), context=context)
    except NotAffineProgram as error:
        found = re.search(r"^<text>, line (\d+)$", error.where, re.M)
        at = reader.origin[int(found[1]) - 1] if found else None
        if at is None:
            raise
        rest = error.where.replace(found[0], "in Python", 1)  # type: ignore[index]
        raise NotAffineProgram(error.message, where=f"{line(lines, at)}\n{rest}", hint=error.hint) from None


def _parsed(text: str, lines: list[str]) -> Any:  # noqa: ANN401 - pycparser's tree
    """What pycparser makes of a text."""
    try:
        from pycparser import c_parser
    except ImportError:
        raise NoReader("reading C needs pycparser", hint='pip install "polyvolta[c]"') from None

    def blank(m: re.Match) -> str:
        if m.re is DIRECTIVE and m[1] not in ("include", "pragma", "line") and " ".join(m[0].split()) not in OWN:
            at = text[: m.start()].count("\n") + 1
            hint = "run the preprocessor first: cc -E -P"
            raise NotAffineProgram(f"#{m[1]} is the preprocessor's", where=line(lines, at), hint=hint)
        return "".join(c if c == "\n" else " " for c in m[0])

    plain = DIRECTIVE.sub(blank, COMMENT.sub(blank, text))
    try:
        return c_parser.CParser().parse(PRELUDE + plain, "C")
    except Exception as error:  # pycparser's ParseError has moved between its versions
        found = re.match(r"(?:C:)?(?:(\d+):)?(?:(\d+):)? ?(.*)", str(error))
        at, column, said = found.groups() if found else (None, None, str(error))
        end = (len(lines), len(lines[-1]) + 1) if lines else (1, 1)
        where = line(lines, *((int(at), int(column or 0)) if at else end))
        hint = "C as a compiler takes it, after the preprocessor (cc -E -P), types of its own by typedef"
        raise NotAffineProgram(f"this is no C: {said}", where=where, hint=hint) from None


def _chosen(tree: Any, name: str | None) -> Any:  # noqa: ANN401
    """The function of that name, or the only one."""
    found = {node.decl.name: node for node in tree.ext if type(node).__name__ == "FuncDef"}
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name not in found:
        what = f"no function is called {name!r}" if name else f"the text has {len(found)} functions"
        hint = "from_c(text, name)" if found else "void f(int N, double A[N]) { for ... }"
        raise NotAffineProgram(what, where=", ".join(found), hint=hint)
    return found[name]
