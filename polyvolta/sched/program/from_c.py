"""Loop nests written in C: `Program.from_c(text)`.

    void gemm(int M, int N, int K, double A[M][K], double B[K][N], double C[M][N]) {
      for (int i = 0; i < M; i++)                     for i in range(M):
        for (int j = 0; j < N; j++)             =>        for j in range(N):
          for (int k = 0; k < K; k++)                         for k in range(K):
            C[i][j] += A[i][k] * B[k][j];                         C[i, j] += A[i, k] * B[k, j]
    }

pycparser reads the text; what it says is written as a nest in Python, of which `nests` makes the program. So what is an
affine nest, and what is refused and why, is the same for both languages. Where C means something else than Python, as
in the division of integers, it is refused; elements of single precision stay single beside a number, as numpy's.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from struct import pack, unpack
from typing import Any

from polyvolta.sched.errors import NoReader, NotAffineProgram
from polyvolta.sched.program.model import Program
from polyvolta.sched.program.nests.nest import nest_from_source
from polyvolta.sets import Set
from polyvolta.sets.errors import kind_of

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[^\n]*$", re.M)
FUNCTIONS = {"fabs": "abs", "fabsf": "abs", "abs": "abs", "fmin": "min", "fmax": "max", "min": "min", "max": "max",
             "sqrtf": "sqrt", "expf": "exp", "logf": "log", "powf": "pow", "sinf": "sin", "cosf": "cos"}  # fmt: skip
SYMBOLS = {"&&": "and", "||": "or", **{op: op for op in ("+", "-", "*", "<", "<=", ">", ">=", "==", "!=")}}
INTEGERS = {"int", "long", "short", "char", "signed", "unsigned", "size_t"}


def from_c(text: str, name: str | None = None, *, context: str | Set | None = None) -> Program:
    """The program of a function in C.

    Parameters
    ----------
    text : C after the preprocessor (`cc -E -P`), with one function or more; comments, `#include` and `#pragma` are left
        out. What the function takes are sizes (integers), arrays and numbers.
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
    ... }''')  # doctest: +SKIP
    >>> print(matmul)  # doctest: +SKIP
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
    reader = _Function(_chosen(_parsed(text, lines), name), lines)
    try:
        return nest_from_source("\n".join(reader.out), context=context)
    except NotAffineProgram as error:
        found = re.search(r"^<text>, line (\d+)$", error.where, re.M)
        at = reader.origin[int(found[1]) - 1] if found else None
        if at is None:
            raise
        rest = error.where.replace(found[0], "in Python", 1)  # type: ignore[index]
        raise NotAffineProgram(error.message, where=f"{_line(lines, at)}\n{rest}", hint=error.hint) from None


def _parsed(text: str, lines: list[str]) -> Any:  # noqa: ANN401 - pycparser's tree
    """What pycparser makes of a text."""
    try:
        from pycparser import c_parser
    except ImportError:
        raise NoReader("reading C needs pycparser", hint='pip install "polyvolta[c]"') from None

    def blank(m: re.Match) -> str:
        if m.re is DIRECTIVE and m[1] not in ("include", "pragma", "line"):
            at = text[: m.start()].count("\n") + 1
            hint = "run the preprocessor first: cc -E -P"
            raise NotAffineProgram(f"#{m[1]} is the preprocessor's", where=_line(lines, at), hint=hint)
        return "".join(c if c == "\n" else " " for c in m[0])

    plain = DIRECTIVE.sub(blank, COMMENT.sub(blank, text))
    try:
        return c_parser.CParser().parse(plain, "C")
    except Exception as error:  # pycparser's ParseError has moved between its versions
        found = re.match(r"C:(?:(\d+):)?(?:\d+:)? ?(.*)", str(error))
        where = _line(lines, int(found[1])) if found and found[1] else ""
        raise NotAffineProgram(f"this is no C: {found[2] if found else error}", where=where) from None


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


def _line(lines: list[str], at: int) -> str:
    return f"line {at}\n    {lines[at - 1].strip() if 0 < at <= len(lines) else ''}"


class _Function:
    """Writes one function as Python.

    Attributes
    ----------
    out : the lines of Python; `origin` has the line of C that each comes from.
    integers : the names that hold integers.
    """

    def __init__(self, node: Any, lines: list[str]) -> None:  # noqa: ANN401
        self.lines, self.integers = lines, set()
        self.out: list[str] = []
        self.origin: list[int | None] = []
        taken = node.decl.type.args
        names = [p.name for p in (taken.params if taken else ()) if p.name]
        for p in taken.params if taken else ():
            self.declared(p)
        self.write(node.decl, "", f"def {self.named(node.decl, node.decl.name)}({', '.join(names)}):")
        self.block(node.body, "    ")
        if len(self.out) == 1:
            self.write(node.decl, "    ", "pass")

    def refused(self, node: Any, message: str, hint: str = "") -> NotAffineProgram:  # noqa: ANN401
        return NotAffineProgram(message, where=_line(self.lines, node.coord.line if node.coord else 0), hint=hint)

    def write(self, node: Any, pad: str, text: str) -> None:  # noqa: ANN401
        self.out.append(pad + text)
        self.origin.append(node.coord.line if node.coord else None)

    def named(self, node: Any, name: str) -> str:  # noqa: ANN401
        if keyword.iskeyword(name):
            raise self.refused(node, f"{name} is a word of Python", "call it otherwise")
        return name

    def declared(self, node: Any) -> None:  # noqa: ANN401
        """What a declaration says of its name."""
        kind = node.type
        while type(kind).__name__ in ("ArrayDecl", "PtrDecl"):
            kind = kind.type
        words = getattr(getattr(kind, "type", None), "names", [])
        if node.name and {*words} & INTEGERS:
            self.integers.add(self.named(node, node.name))

    # ---- statements

    def block(self, node: Any, pad: str) -> None:  # noqa: ANN401
        """A statement, or all of a block; nothing becomes `pass`."""
        at = len(self.out)
        for inner in (node.block_items or ()) if type(node).__name__ == "Compound" else (node,):
            self.statement(inner, pad)
        if len(self.out) == at:
            self.write(node, pad, "pass")

    def statement(self, node: Any, pad: str) -> None:  # noqa: ANN401
        match type(node).__name__:
            case "For":
                self.loop(node, pad)
            case "If":
                self.write(node, pad, f"if {self.text(node.cond)}:")
                self.block(node.iftrue, pad + "    ")
                if node.iffalse is not None:
                    self.write(node, pad, "else:")
                    self.block(node.iffalse, pad + "    ")
            case "Compound":
                self.block(node, pad)
            case "Assignment":
                value = self.text(node.rvalue)
                if node.op not in ("=", "+=", "-=", "*=", "/="):
                    raise self.refused(node, f"{node.op} has no translation to a nest")
                if node.op == "/=" and self.whole(node.lvalue):
                    raise self.divided(node)
                self.write(node, pad, f"{self.text(node.lvalue)} {node.op} {value}")
            case "UnaryOp" if node.op in ("p++", "++", "p--", "--"):
                self.write(node, pad, f"{self.text(node.expr)} {node.op[-1]}= 1")
            case "Decl":
                if type(node.type).__name__ != "TypeDecl":
                    raise self.refused(node, f"the array {node.name} is made in the nest", "pass it as an argument")
                self.declared(node)
                if node.init is not None:
                    self.write(node, pad, f"{self.named(node, node.name)} = {self.text(node.init)}")
            case "EmptyStatement" | "Pragma":
                pass
            case "Return" if node.expr is None:
                self.write(node, pad, "return")
            case other:
                raise self.refused(node, f"{other} has no translation to a nest", "loops, conditions, assignments")

    def loop(self, node: Any, pad: str) -> None:  # noqa: ANN401
        """A loop that counts."""
        hint = "for (i = 0; i < N; i++)"
        first = node.init.decls[0] if type(node.init).__name__ == "DeclList" else node.init
        if type(first).__name__ == "Decl" and len(node.init.decls) == 1:
            self.declared(first)
            name, start = first.name, first.init
        elif type(first).__name__ == "Assignment" and first.op == "=" and type(first.lvalue).__name__ == "ID":
            name, start = first.lvalue.name, first.rvalue
        else:
            raise self.refused(node, "a loop sets one iterator at its start", hint)
        self.integers.add(name)
        step, (op, stop) = self.step(node, name), self.end(node, name)
        if start is None or op not in (("<", "<=") if step > 0 else (">", ">=")):
            raise self.refused(node, f"a loop in steps of {step} has no end that it surely reaches", hint)
        beyond = {"<=": " + 1", ">=": " - 1"}.get(op, "")
        last = f", {step}" if step != 1 else ""
        self.write(node, pad, f"for {self.named(node, name)} in range({self.text(start)}, {stop}{beyond}{last}):")
        self.block(node.stmt, pad + "    ")

    def end(self, node: Any, name: str) -> tuple[str, str]:  # noqa: ANN401
        """How the iterator is compared, and with what."""
        cond = node.cond
        if type(cond).__name__ == "BinaryOp":
            for mine, other, turned in ((cond.left, cond.right, False), (cond.right, cond.left, True)):
                if type(mine).__name__ == "ID" and mine.name == name:
                    return cond.op.translate(str.maketrans("<>", "><")) if turned else cond.op, self.text(other)
        raise self.refused(node, f"a loop compares its iterator {name} with its end", "for (i = 0; i < N; i++)")

    def step(self, node: Any, name: str) -> int:  # noqa: ANN401
        """What the iterator moves by."""
        match node.next, type(node.next).__name__:
            case n, "UnaryOp" if n.op in ("p++", "++", "p--", "--") and getattr(n.expr, "name", "") == name:
                return 1 if "+" in n.op else -1
            case n, "Assignment" if n.op in ("+=", "-=") and getattr(n.lvalue, "name", "") == name:
                by, sign = self.text(n.rvalue), n.op[0]
            case n, "Assignment" if n.op == "=" and type(n.rvalue).__name__ == "BinaryOp" and n.rvalue.op in "+-" and (
                getattr(n.lvalue, "name", "") == getattr(n.rvalue.left, "name", None) == name
            ):
                by, sign = self.text(n.rvalue.right), n.rvalue.op
            case _:
                by, sign = "", "+"
        if not re.fullmatch(r"[1-9]\d*", by):
            raise self.refused(node, f"the iterator {name} moves by a number", "i++, or i += 2")
        return int(sign + by)

    # ---- expressions

    def whole(self, node: Any) -> bool:  # noqa: ANN401
        """Whether an expression is an integer."""
        match type(node).__name__:
            case "Constant":
                return "int" in node.type
            case "ID":
                return node.name in self.integers
            case "ArrayRef":
                return self.whole(node.name)
            case "UnaryOp":
                return self.whole(node.expr)
            case "BinaryOp":
                return self.whole(node.left) and self.whole(node.right)
            case "TernaryOp":
                return self.whole(node.iftrue) and self.whole(node.iffalse)
        return False

    def divided(self, node: Any) -> NotAffineProgram:  # noqa: ANN401
        hint = "name the quotient as a loop's iterator, or write a double"
        return self.refused(node, "the division of integers rounds towards zero in C, and a nest rounds down", hint)

    def text(self, node: Any) -> str:  # noqa: ANN401
        """An expression in Python, in brackets where it is not one word."""
        found: Callable | None = getattr(self, f"of_{type(node).__name__}", None)
        if found is None:
            raise self.refused(node, f"{type(node).__name__} has no translation to a nest")
        return found(node)

    def of_ID(self, node: Any) -> str:  # noqa: ANN401, N802
        return self.named(node, node.name)

    def of_Constant(self, node: Any) -> str:  # noqa: ANN401, N802
        if "int" in node.type:
            digits = node.value.rstrip("uUlL")
            return str(int(digits, 8 if re.fullmatch("0[0-7]+", digits) else 0))
        if node.type in ("float", "double", "long double"):
            number = float(node.value.rstrip("fFlL"))
            return repr(unpack("f", pack("f", number))[0] if node.type == "float" else number)
        raise self.refused(node, f"{node.value} is no number")

    def of_ArrayRef(self, node: Any) -> str:  # noqa: ANN401, N802
        subscripts: list[str] = []
        while type(node).__name__ == "ArrayRef":
            subscripts.insert(0, self.text(node.subscript))
            node = node.name
        return f"{self.text(node)}[{', '.join(subscripts)}]"

    def of_BinaryOp(self, node: Any) -> str:  # noqa: ANN401, N802
        left, right = self.text(node.left), self.text(node.right)
        if node.op in "/%" and self.whole(node):
            raise self.divided(node)
        if node.op not in SYMBOLS and node.op != "/":
            raise self.refused(node, f"{node.op} has no translation to a nest")
        return f"({left} {SYMBOLS.get(node.op, node.op)} {right})"

    def of_UnaryOp(self, node: Any) -> str:  # noqa: ANN401, N802
        if node.op not in ("-", "+", "!"):
            raise self.refused(node, f"{node.op} has no translation to a nest")
        return f"({'not ' if node.op == '!' else node.op}{self.text(node.expr)})"

    def of_TernaryOp(self, node: Any) -> str:  # noqa: ANN401, N802
        return f"({self.text(node.iftrue)} if {self.text(node.cond)} else {self.text(node.iffalse)})"

    def of_Cast(self, node: Any) -> str:  # noqa: ANN401, N802
        words = {*getattr(node.to_type.type.type, "names", ())}
        if words & {"double", "float"} and words <= {"double", "float", "long"}:
            return f"float({self.text(node.expr)})" if self.whole(node.expr) else self.text(node.expr)
        raise self.refused(node, "a cast to something else than double has no translation to a nest")

    def of_FuncCall(self, node: Any) -> str:  # noqa: ANN401, N802
        args = ", ".join(map(self.text, node.args.exprs if node.args else ()))
        return f"{FUNCTIONS.get(node.name.name, node.name.name)}({args})"
