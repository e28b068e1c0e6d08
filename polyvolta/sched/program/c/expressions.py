"""Expressions of C in Python, computed as C computes them.

Where Python computes otherwise, the text says so (`float(a[i]) * 0.1` of an element of single precision, which C
multiplies as a double), or the expression is refused: the division of integers, arithmetic in single precision of
numbers that are no elements.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Mapping, Sequence
from struct import pack, unpack
from typing import Any

from polyvolta.sched.errors import NotAffineProgram
from polyvolta.sched.program.c.types import INTEGERS, NARROW, Kind, Name, Number, words_of

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
LOGICAL = {"&&": "and", "||": "or"}
RESERVED = ("range", "float", "abs")  # what the nest in Python is written with
MATH = {"sqrt": 1, "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1, "sin": 1, "cos": 1,
        "tan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asin": 1, "acos": 1, "atan": 1, "asinh": 1, "acosh": 1, "atanh": 1,
        "cbrt": 1, "erf": 1, "erfc": 1, "pow": 2, "atan2": 2, "hypot": 2, "fmod": 2, "copysign": 2}  # fmt: skip
NUMPY = {"fmin": 2, "fmax": 2, "floor": 1, "ceil": 1, "trunc": 1}  # Python's ignore no NaN, and make integers
SINGLE = {"fabsf": 1, "sqrtf": 1, "fminf": 2, "fmaxf": 2}
QUOTIENTS = {"floord": "//", "modd": "%"}  # macros, as `to_c` prints them
WHOLE = ("abs", "labs", "llabs")


def line(lines: Sequence[str], at: int, column: int = 0) -> str:
    """Where in a text something stands: the line's number, `:column` if it is known, and the line."""
    place = f"{at}:{column}" if column else str(at)
    return f"line {place}\n    {lines[at - 1].strip() if 0 < at <= len(lines) else ''}"


def functions() -> dict[str, object]:
    """What the functions of a text stand for whose meaning in Python's built-ins is another."""
    import numpy as np

    return {"pow": math.pow, **{name: getattr(np, name) for name in NUMPY}}


class Expressions:
    """Writes expressions as Python.

    Parameters
    ----------
    lines : the text of C.
    known : what each typedef stands for.

    Attributes
    ----------
    names : what the names that are declared here are.
    """

    def __init__(self, lines: Sequence[str], known: Mapping[str, Any]) -> None:
        self.lines, self.known = lines, known
        self.names: dict[str, Name] = {}
        self.counting = False  # in a bound or a subscript, which are not negative

    def refused(self, node: Any, message: str, hint: str = "") -> NotAffineProgram:  # noqa: ANN401
        return NotAffineProgram(message, where=line(self.lines, node.coord.line if node.coord else 0), hint=hint)

    def divided(self, node: Any) -> NotAffineProgram:  # noqa: ANN401
        hint = "name the quotient as a loop's iterator, write floord(i, 2), which rounds down, or a double"
        hint = "whether it is 0 can be asked: i % 2 == 0" if node.op == "%" else hint
        return self.refused(node, "the division of integers rounds towards zero in C, and a nest rounds down", hint)

    def unrounded(self, node: Any) -> NotAffineProgram:  # noqa: ANN401
        hint = "write doubles, or begin with an element: a[i] * 2.0f * s"
        message = "single precision of what is no element of an array is a double in Python"
        return self.refused(node, message, hint)

    def named(self, node: Any, name: str) -> str:  # noqa: ANN401
        if keyword.iskeyword(name) or name in RESERVED:
            raise self.refused(node, f"{name} is a word of Python", "call it otherwise")
        return name

    def value(self, node: Any) -> Number:  # noqa: ANN401
        """An expression where a number is wanted."""
        found: Callable[[Any], Number] | None = getattr(self, f"of_{type(node).__name__}", None)
        if found is None:
            raise self.refused(node, f"{type(node).__name__} has no translation to a nest")
        return found(node)

    def integer(self, node: Any, what: str) -> str:  # noqa: ANN401
        """An expression where an integer is wanted, such as a bound."""
        before, self.counting = self.counting, True
        made = self.value(node)
        self.counting = before
        if made.kind not in INTEGERS:
            raise self.refused(node, f"the {what} {made.text} is no integer", "a nest counts in integers")
        return made.text

    def truth(self, node: Any) -> str:  # noqa: ANN401
        """An expression where it counts whether it is 0."""
        match type(node).__name__:
            case "BinaryOp" if node.op in LOGICAL:
                return f"({self.operand(node.left)} {LOGICAL[node.op]} {self.operand(node.right)})"
            case "BinaryOp" if node.op in ("==", "!=") and _is_remainder(node.left) and _is_zero(node.right):
                return self.divisible(node.left, node.op)
            case "BinaryOp" if node.op == "%":
                return self.divisible(node, "!=")
            case "BinaryOp" if node.op in COMPARISONS:
                _, left, right = self.joined(node, self.value(node.left), self.value(node.right))
                return f"({left} {node.op} {right})"
            case "UnaryOp" if node.op == "!":
                return f"(not {self.truth(node.expr)})"
        return self.value(node).text

    def divisible(self, node: Any, op: str) -> str:  # noqa: ANN401
        """Whether a remainder is 0, which doesn't hang on how a quotient is rounded."""
        left, right = self.value(node.left), self.value(node.right)
        if left.kind not in INTEGERS or right.kind not in INTEGERS:
            raise self.refused(node, f"a remainder of {left.text} and {right.text}", "C has it of integers alone")
        return f"({left.text} % {right.text} {op} 0)"

    def operand(self, node: Any) -> str:  # noqa: ANN401
        """A part of a condition; `and` of numbers is one of the numbers in Python, so that they are compared."""
        return self.truth(node) if _is_truth(node) or _is_remainder(node) else f"({self.value(node).text} != 0)"

    def joined(self, node: Any, left: Number, right: Number) -> tuple[Kind, str, str]:  # noqa: ANN401
        """What C computes of two numbers is, and both so that Python computes it."""
        kinds = {left.kind, right.kind}
        if kinds <= {*INTEGERS}:
            return ("many" if "many" in kinds else "int"), left.text, right.text
        if "double" in kinds:
            if "rounded" in kinds:
                raise self.unrounded(node)
            a, b = (n.double if n.kind == "float" else n.text for n in (left, right))
            return "double", a, b
        if "float" in kinds:
            if "many" in kinds:
                hint = "integers that are elements make a double of it in numpy; write (double) before them"
                raise self.refused(node, "an integer of an array beside an element of single precision", hint)
            return "float", left.text, right.text
        raise self.unrounded(node)

    def either(self, node: Any, *numbers: Number) -> tuple[Kind, list[str]]:  # noqa: ANN401
        """What one of several numbers is, and each of them so."""
        kinds = {n.kind for n in numbers}
        if kinds <= {*INTEGERS}:
            return ("many" if "many" in kinds else "int"), [n.text for n in numbers]
        if "double" in kinds:
            if "rounded" in kinds:
                raise self.unrounded(node)
            return "double", [n.text if n.kind == "double" else n.double for n in numbers]
        if any(n.kind in INTEGERS and not re.fullmatch(r"\d{1,7}", n.text) for n in numbers):
            raise self.unrounded(node)
        kind: Kind = "rounded" if "rounded" in kinds else "float" if kinds == {"float"} else "single"
        return kind, [n.double if n.kind in INTEGERS else n.text for n in numbers]

    def check_signed(self, node: Any) -> None:  # noqa: ANN401
        """Refuse a difference of data that is never negative in C."""
        if not self.counting and self.unsigned(node):
            raise self.refused(node, "a difference of unsigned numbers is never negative in C", "declare them int")

    def unsigned(self, node: Any) -> bool:  # noqa: ANN401
        """Whether an expression has a part that is unsigned."""
        match type(node).__name__:
            case "ID":
                return node.name in self.names and "unsigned" in self.names[node.name].words
            case "Constant":
                return "unsigned" in node.type
        return any(self.unsigned(inner) for _, inner in node.children())

    # ---- one for each kind of node

    def of_ID(self, node: Any) -> Number:  # noqa: ANN401, N802
        name = self.named(node, node.name)
        if name not in self.names:
            raise self.refused(node, f"unknown name {name!r}: it is not declared", "declare it, or pass it")
        return Number(name, self.names[name].kind)

    def of_Constant(self, node: Any) -> Number:  # noqa: ANN401, N802
        if "int" in node.type:
            digits = node.value.rstrip("uUlL")
            return Number(str(int(digits, 8 if re.fullmatch("0[0-7]+", digits) else 0)), "int")
        if node.type == "long double":
            raise self.refused(node, f"{node.value} is of more than double precision", "write a double")
        if node.type not in ("float", "double"):
            raise self.refused(node, f"{node.value} is no number")
        hexadecimal = node.value[:2].lower() == "0x"
        digits = node.value.rstrip("fF") if not hexadecimal or node.type == "float" else node.value
        number = float.fromhex(digits) if hexadecimal else float(digits)
        return self.single(node, number) if node.type == "float" else Number(repr(number), "double")

    def single(self, node: Any, number: float) -> Number:  # noqa: ANN401
        """A number rounded to single precision."""
        try:
            return Number(repr(unpack("f", pack("f", number))[0]), "single")
        except OverflowError:
            raise self.refused(node, f"{number} is beyond single precision", "write a double") from None

    def of_ArrayRef(self, node: Any) -> Number:  # noqa: ANN401, N802
        subscripts: list[str] = []
        while type(node).__name__ == "ArrayRef":
            subscripts.insert(0, self.integer(node.subscript, "subscript"))
            node = node.name
        base = self.value(node)
        return Number(f"{base.text}[{', '.join(subscripts)}]", base.kind)

    def of_BinaryOp(self, node: Any) -> Number:  # noqa: ANN401, N802
        if _is_truth(node):
            return Number(f"(1 if {self.truth(node)} else 0)", "int")
        left, right = self.value(node.left), self.value(node.right)
        if node.op in "/%" and left.kind in INTEGERS and right.kind in INTEGERS:
            raise self.divided(node)
        if node.op not in ("+", "-", "*", "/"):
            raise self.refused(node, f"{node.op} has no translation to a nest")
        kind, a, b = self.joined(node, left, right)
        if node.op == "-" and kind in INTEGERS:
            self.check_signed(node)
        return Number(f"({a} {node.op} {b})", kind)

    def of_UnaryOp(self, node: Any) -> Number:  # noqa: ANN401, N802
        if node.op not in ("-", "+", "!"):
            raise self.refused(node, f"{node.op} has no translation to a nest")
        if node.op == "!":
            return Number(f"(1 if {self.truth(node)} else 0)", "int")
        made = self.value(node.expr)
        if node.op == "-" and made.kind in INTEGERS:
            self.check_signed(node)
        zero = "0 " if made.kind == "many" else ""  # integers have no -0.0, and a local is a double where C is made
        return Number(f"({zero}{node.op}{zero[1:]}{made.text})", made.kind)

    def of_TernaryOp(self, node: Any) -> Number:  # noqa: ANN401, N802
        kind, (a, b) = self.either(node, self.value(node.iftrue), self.value(node.iffalse))
        return Number(f"({a} if {self.truth(node.cond)} else {b})", kind)

    def of_Cast(self, node: Any) -> Number:  # noqa: ANN401, N802
        words, array = words_of(node.to_type, self.known)
        made = self.value(node.expr)
        if array or words not in (("double",), ("float",)):
            hint = "(double) and (float) have one" if not {*words} <= NARROW else "assign it to an element of an array"
            raise self.refused(node, f"a cast to {' '.join(words)} has no translation to a nest", hint)
        if words == ("double",):
            if made.kind == "rounded":
                raise self.unrounded(node)
            return Number(made.text if made.kind == "double" else made.double, "double")
        if made.kind in ("float", "single", "rounded"):
            return made
        if type(node.expr).__name__ == "Constant":
            return self.single(node, float(made.text))
        return Number(f"float({made.text})", "rounded")

    def of_FuncCall(self, node: Any) -> Number:  # noqa: ANN401, N802
        name = node.name.name if type(node.name).__name__ == "ID" else "of an expression"
        args = [self.value(a) for a in (node.args.exprs if node.args else ())]
        wanted = {**MATH, **NUMPY, **SINGLE, "fabs": 1, **dict.fromkeys(WHOLE, 1)}.get(name)
        if name in ("min", "max") and len(args) > 1:  # macros, as `to_c` prints them
            kind, texts = self.either(node, *args)
            return Number(f"{name}({', '.join(texts)})", kind)
        if name in QUOTIENTS and len(args) == 2:
            if any(a.kind not in INTEGERS for a in args) or not re.fullmatch("[1-9][0-9]*", args[1].text):
                raise self.refused(node, f"{name} divides an integer by a positive number", "such as floord(i, 2)")
            return Number(f"({args[0].text} {QUOTIENTS[name]} {args[1].text})", self.joined(node, *args)[0])
        if wanted is None:
            hint = f"{name[:-1]} computes in doubles" if name[:-1] in MATH and name[-1:] == "f" else ""
            hint = "floor(x + 0.5) rounds halves up" if name == "round" else hint
            raise self.refused(node, f"unknown function {name!r}", hint or f"known: {', '.join((*MATH, *NUMPY))}")
        if len(args) != wanted:
            raise self.refused(node, f"{name} is of {wanted}, not of {len(args)}")
        if name in WHOLE:
            if args[0].kind not in INTEGERS:
                raise self.refused(node, f"{name} of a floating number drops its fraction in C", "fabs does not")
            return Number(f"abs({args[0].text})", args[0].kind)
        if name in SINGLE:
            return self.in_single(node, name, args)
        if any(a.kind == "rounded" for a in args):
            raise self.unrounded(node)
        python = "abs" if name == "fabs" else name
        return Number(f"{python}({', '.join(a.text if name in MATH else a.double for a in args)})", "double")

    def in_single(self, node: Any, name: str, args: list[Number]) -> Number:  # noqa: ANN401
        """A function that rounds to single precision."""
        kinds = {a.kind for a in args}
        if not kinds <= {"float", "single"} or len(args) > 1 and "float" not in kinds:
            raise self.unrounded(node)
        if name == "sqrtf":
            return Number(f"sqrt({args[0].text})", "rounded")  # a root that is rounded twice is rounded right
        python = "abs" if name == "fabsf" else name[:-1]
        return Number(f"{python}({', '.join(a.text for a in args)})", "float" if "float" in kinds else "single")


def _is_truth(node: Any) -> bool:  # noqa: ANN401
    """Whether an expression is a comparison, or made of such."""
    name = type(node).__name__
    return name == "BinaryOp" and node.op in (*COMPARISONS, *LOGICAL) or name == "UnaryOp" and node.op == "!"


def _is_remainder(node: Any) -> bool:  # noqa: ANN401
    return type(node).__name__ == "BinaryOp" and node.op == "%"


def _is_zero(node: Any) -> bool:  # noqa: ANN401
    return type(node).__name__ == "Constant" and node.value == "0"
