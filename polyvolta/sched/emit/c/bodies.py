"""Bodies of statements in C: the arithmetic of Python on numbers and elements, bit for bit.

Python and C agree on what a sum or a product of doubles is, and in which order a sum of several terms is added. Where
they differ, the translation says what Python says: `/` of integers is a fraction, `//` and `%` round down, a chain
`a < b < c` compares twice. Elements of single precision stay single when they meet a number of Python's own, and
become double beside numpy's doubles and integers, as numpy 2 has it. What C cannot say, such as a call of a Python
function, is refused with a caret.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from polyvolta.sched.emit.bodies import affine, body_of_call
from polyvolta.sched.errors import NotTranslatable
from polyvolta.sched.loops.ast import Call
from polyvolta.sched.loops.notation.expressions import CSpeller
from polyvolta.sets import Aff

if TYPE_CHECKING:
    from polyvolta.sched.emit.interface import Interface
    from polyvolta.sched.program.model import Program

# integers and doubles of Python's own, which take on the precision of what they meet, and numpy's, which do not
Kind = Literal["int", "long", "weak", "float", "double"]
WHOLE = ("int", "long")
KINDS: dict[str, Kind] = {"float": "float", "double": "double"}

PRIMARY, UNARY, FACTOR, SUM, SHIFT, ORDER, EQUAL, AND, OR, CHOICE = 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
ONE = ("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
       "asin", "acos", "atan", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "fabs", "trunc")  # fmt: skip
OTHER = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
         "arctanh": "atanh", "absolute": "fabs", "abs": "fabs", "floor": "floor", "ceil": "ceil"}  # fmt: skip
TWO = {"pow": "pow", "power": "pow", "float_power": "pow", "atan2": "atan2", "arctan2": "atan2", "hypot": "hypot",
       "fmod": "fmod", "copysign": "copysign", "fmin": "fmin", "fmax": "fmax"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """An expression of C: how tightly its outermost operator binds, and what kind of number it is."""

    text: str
    binds: int
    kind: Kind

    def within(self, binds: int) -> str:
        """The text as an operand of an operator."""
        return self.text if self.binds >= binds else f"({self.text})"


class Translator:
    """Translates the bodies of a program.

    Parameters
    ----------
    types : the C type of each array and scalar.
    strong : the scalars that are numpy's; others are Python's own.
    """

    def __init__(
        self,
        program: Program,
        face: Interface,
        types: Mapping[str, str],
        names: Mapping[str, str],
        strong: Collection[str] = (),
    ) -> None:
        self.program, self.face, self.types, self.names, self.strong = program, face, types, names, strong
        self.used: set[str] = set()

    def lines(self, call: Call, speller: CSpeller) -> list[str]:
        """The lines of C that a call stands for."""
        body, values = body_of_call(call, self.program)
        return [_Body(self, speller, values, statement).line() for statement in body]


class _Body:
    """One statement with the values of its iterators."""

    def __init__(self, whole: Translator, speller: CSpeller, values: Mapping[str, Aff], statement: ast.stmt) -> None:
        self.whole, self.speller, self.values, self.statement = whole, speller, values, statement

    def refused(self, node: ast.AST, message: str, hint: str = "") -> NotTranslatable:
        text = ast.unparse(self.statement)
        part = ast.unparse(node)
        at = text.find(part)
        where = f"{text}\n{' ' * at}{'^' * len(part)}" if at >= 0 else text
        return NotTranslatable(f"{message} has no translation to C", where=where, hint=hint)

    def line(self) -> str:
        match self.statement:
            case ast.Assign(targets=[target], value=value):
                return f"{self.place(target).text} = {self.stored(target, self.visit(value))};"
            case ast.AugAssign(target=target, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, value=value):
                place, number = self.place(target), self.visit(value)
                whole = place.kind in WHOLE and number.kind in WHOLE and not isinstance(op, ast.Div)
                wider = place.kind == "float" and number.kind in ("double", "long")
                if whole or place.kind not in WHOLE and not wider:
                    sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(op)]
                    return f"{place.text} {sign}= {self.cast(number, place.kind).text};"
                return f"{place.text} = {self.stored(target, self.binary(self.statement, place, op, number))};"
            case ast.AugAssign(target=target, op=op, value=value):
                made = self.binary(self.statement, self.place(target), op, self.visit(value))
                return f"{self.place(target).text} = {self.stored(target, made)};"
            case ast.Pass():
                return ";"
        raise self.refused(self.statement, "this statement")

    def place(self, node: ast.expr) -> Text:
        """What is assigned to."""
        if not isinstance(node, ast.Name | ast.Subscript):
            raise self.refused(node, "this target")
        return self.visit(node)

    def stored(self, target: ast.expr, value: Text) -> str:
        kind = self.place(target).kind
        local = isinstance(target, ast.Name) and target.id in self.whole.face.local
        if local and kind == "float" and value.kind == "double":  # Python's names take on the precision of their value
            hint = "scalars that are Python's own, such as float(s), stay single beside single precision"
            raise self.refused(target, f"a double in {ast.unparse(target)}, a local of single precision,", hint)
        return value.text if kind in WHOLE else self.cast(value, kind).text

    # ---- expressions

    def visit(self, node: ast.expr) -> Text:  # noqa: PLR0911
        match node:
            case ast.Constant(value=bool(truth)):
                return Text(str(int(truth)), PRIMARY, "int")
            case ast.Constant(value=int(number)):
                if number >= 2**63:
                    raise self.refused(node, "an integer of more than 64 bits", "a number such as 1e20 is a double")
                return Text(str(number), PRIMARY, "int")
            case ast.Constant(value=float(number)):
                return self.number(number)
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Subscript():
                return self.element(node)
            case ast.UnaryOp(op=ast.USub(), operand=x):
                value = self.visit(x)
                return Text(f"-{value.within(UNARY + 1)}", UNARY, value.kind)
            case ast.UnaryOp(op=ast.UAdd(), operand=x):
                return self.visit(x)
            case ast.UnaryOp(op=ast.Not(), operand=x):
                return Text(f"!{self.visit(x).within(UNARY)}", UNARY, "int")
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, self.visit(left), op, self.visit(right))
            case ast.Compare():
                return self.compare(node)
            case ast.BoolOp(op=op, values=parts):
                if any(not isinstance(p, ast.Compare | ast.BoolOp | ast.UnaryOp) for p in parts):
                    raise self.refused(node, "`and` and `or` of numbers", "write comparisons")
                binds, sign = (AND, " && ") if isinstance(op, ast.And) else (OR, " || ")
                return Text(sign.join(self.visit(p).within(binds + 1) for p in parts), binds, "int")
            case ast.IfExp(test=test, body=body, orelse=orelse):
                kind, (a, b) = self.joined(self.visit(body), self.visit(orelse))
                return Text(f"{self.visit(test).within(OR)} ? {a.within(OR)} : {b.within(CHOICE)}", CHOICE, kind)
            case ast.Call():
                return self.call(node)
        raise self.refused(node, "this expression")

    def number(self, value: float) -> Text:
        if math.isinf(value) or math.isnan(value):
            self.whole.used.add("math")
            text = "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
            return Text(text, UNARY if value < 0 else PRIMARY, "weak")
        text = repr(value)
        return Text(text, PRIMARY, "weak")

    def name(self, node: ast.expr, name: str) -> Text:
        face = self.whole.face
        if name in self.values:
            return self.integer(self.values[name])
        if name in face.functions:
            value = face.functions[name]
            if isinstance(value, int | float):
                return self.number(value) if isinstance(value, float) else Text(str(int(value)), PRIMARY, "int")
            raise self.refused(node, f"{name} as a value")
        text = self.whole.names.get(name, name)
        if name in face.params:
            return Text(text, PRIMARY, "int")
        if name in face.ranks:
            raise self.refused(node, f"the array {name} as a whole")
        kind = KINDS.get(self.whole.types.get(name, "double"), "long")
        if name in face.cells:
            return Text(f"{text}[0]", PRIMARY, kind)
        if name in face.scalars and name not in self.whole.strong:
            own: dict[Kind, Kind] = {"double": "weak", "long": "int"}
            return Text(text, PRIMARY, own.get(kind, kind))
        return Text(text, PRIMARY, kind)

    def integer(self, e: Aff) -> Text:
        text = self.speller.text(e)
        return Text(text, PRIMARY if text.isidentifier() or text.isdigit() else SUM, "int")

    def element(self, node: ast.Subscript) -> Text:
        subscripts: list[ast.expr] = []
        base: ast.expr = node
        while isinstance(base, ast.Subscript):
            inside = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
            subscripts[:0] = inside
            base = base.value
        face = self.whole.face
        if not isinstance(base, ast.Name):
            raise self.refused(base, "this array")
        name = self.whole.names.get(base.id, base.id)
        kind = KINDS.get(self.whole.types.get(base.id, "double"), "long")
        if base.id in face.cells and not subscripts:
            return Text(f"{name}[0]", PRIMARY, kind)
        if len(subscripts) != face.ranks.get(base.id):
            raise self.refused(node, f"a part of {base.id}")
        return Text(name + "".join(f"[{self.subscript(s)}]" for s in subscripts), PRIMARY, kind)

    def subscript(self, node: ast.expr) -> str:
        e = affine(node, self.values)
        if e is not None:
            if abs(e.const) >= 2**63 or any(abs(c) >= 2**63 for _, c in e.terms):
                raise self.refused(node, "an integer of more than 64 bits")
            return self.speller.text(e)
        made = self.visit(node)
        if made.kind not in WHOLE:
            raise self.refused(node, "a subscript that is no integer")
        return made.text

    # ---- operators

    def joined(self, *values: Text) -> tuple[Kind, list[Text]]:
        """The kind of a number that comes of several, and each of them converted where C would not do it."""
        kinds: set[Kind] = {v.kind for v in values}
        kind: Kind = next(k for k in ("double", "float", "weak", "long", "int") if k in kinds)
        if kind in ("float", "weak") and "long" in kinds:
            kind = "double"
        if kind == "double" and "float" in kinds:  # C would make integers single
            return kind, [self.as_double(v) if v.kind in WHOLE else v for v in values]
        return kind, [self.cast(v, kind) for v in values]

    def as_double(self, value: Text) -> Text:
        return Text(f"(double){value.within(UNARY)}", UNARY, "double")

    def cast(self, value: Text, kind: Kind) -> Text:
        """A number of Python's own takes on single precision; C does the other conversions itself."""
        if kind == "float" and value.kind in ("weak", "int"):
            if value.kind == "weak" and value.binds == PRIMARY and value.text[:1].isdigit():
                return Text(f"{value.text}f", PRIMARY, "float")
            return Text(f"(float){value.within(UNARY)}", UNARY, "float")
        return value

    def binary(self, node: ast.AST, left: Text, op: ast.operator, right: Text) -> Text:
        whole = left.kind in WHOLE and right.kind in WHOLE
        kind, (a, b) = self.joined(left, right)
        match op:
            case ast.Add() | ast.Sub():
                sign = "+" if isinstance(op, ast.Add) else "-"
                return Text(f"{a.within(SUM)} {sign} {b.within(SUM + 1)}", SUM, kind)
            case ast.Mult():
                return Text(f"{a.within(FACTOR)} * {b.within(FACTOR + 1)}", FACTOR, kind)
            case ast.Div():
                if whole:
                    made = f"(double){a.within(UNARY)} / {b.within(FACTOR + 1)}"
                    return Text(made, FACTOR, "weak" if kind == "int" else "double")
                return Text(f"{a.within(FACTOR)} / {b.within(FACTOR + 1)}", FACTOR, kind)
            case ast.FloorDiv() | ast.Mod() if whole:
                division = isinstance(op, ast.FloorDiv)
                if b.text.isdigit():
                    macro = "floord" if division else "modd"
                else:  # the divisor may be negative
                    macro = "floordiv" if division else "floormod"
                    self.speller.used.add("floordiv")
                self.speller.used.add(macro)
                return Text(f"{macro}({a.text}, {b.text})", PRIMARY, kind)
            case ast.Pow():
                self.whole.used.add("math")
                if whole:
                    raise self.refused(node, "a power of integers", "write it as a product")
                return Text(f"{'powf' if kind == 'float' else 'pow'}({a.text}, {b.text})", PRIMARY, kind)
            case ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.LShift() | ast.RShift() if whole:
                sign = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}[type(op)]
                return Text(f"({a.within(PRIMARY)} {sign} {b.within(PRIMARY)})", PRIMARY, kind)
        raise self.refused(node, f"{type(op).__name__} of numbers that are no integers")

    def compare(self, node: ast.Compare) -> Text:
        signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
        values = [self.visit(x) for x in (node.left, *node.comparators)]
        texts = []
        for a, op, b in zip(values, node.ops, values[1:], strict=False):
            if type(op) not in signs:
                raise self.refused(node, "this comparison")
            _, (x, y) = self.joined(a, b)
            texts.append(f"{x.within(SHIFT)} {signs[type(op)]} {y.within(SHIFT)}")
        return Text(" && ".join(texts), AND if len(texts) > 1 else EQUAL, "int")

    def call(self, node: ast.Call) -> Text:
        name = ast.unparse(node.func)
        f = self.resolved(node.func)
        if f is None:
            raise self.refused(node.func, f"the unknown function {name}")
        if node.keywords:
            raise self.refused(node, "an argument by name")
        if f is float and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            return self.number(float(node.args[0].value))  # type: ignore[arg-type]
        args = [self.visit(a) for a in node.args]
        if f in (builtins.min, builtins.max) and len(args) > 1:
            kind, values = self.joined(*args)
            macro = "min" if f is builtins.min else "max"
            self.speller.used.add(macro)
            whole = values[0].text
            for v in values[1:]:
                whole = f"{macro}({whole}, {v.text})"
            return Text(whole, PRIMARY, kind)
        if f is float and len(args) == 1:
            return Text(f"(double){args[0].within(UNARY)}", UNARY, "weak")
        if f is int and len(args) == 1:
            return Text(f"(long){args[0].within(UNARY)}", UNARY, "int")
        if f is builtins.abs and len(args) == 1 and args[0].kind in WHOLE:
            self.speller.used.add("max")
            return Text(f"max({args[0].text}, -{args[0].within(UNARY + 1)})", PRIMARY, args[0].kind)
        return self.mathematical(node, f, args)

    def resolved(self, node: ast.expr) -> object | None:
        """The object that `f` or `module.f` is."""
        if isinstance(node, ast.Attribute):
            base = self.resolved(node.value)
            return None if base is None else getattr(base, node.attr, None)
        return self.whole.face.functions.get(node.id) if isinstance(node, ast.Name) else None

    def mathematical(self, node: ast.Call, f: object, args: list[Text]) -> Text:
        """A function of C's library, for math's function or numpy's of that name."""
        origin = "builtins" if f is builtins.abs else _origin(f)
        known = getattr(f, "__name__", "")
        library = known if known in ONE else OTHER.get(known) if len(args) == 1 else TWO.get(known)
        ints = origin == "math" and known in ("floor", "ceil", "trunc")
        if not origin or library is None or len(args) != (2 if known in TWO else 1):
            raise self.refused(node.func, f"a call of {ast.unparse(node.func)}", "using='python' runs any function")
        self.whole.used.add("math")
        kind, values = self.joined(*args)
        single = kind == "float" and origin != "math"
        if kind in WHOLE or origin == "math":
            kind = "weak" if origin == "math" else "double"
        elif origin == "numpy" and kind == "weak":
            kind = "double"
        text = f"{library}{'f' if single else ''}({', '.join(v.text for v in values)})"
        return Text(f"(long){text}", UNARY, "int") if ints else Text(text, PRIMARY, kind)


def _origin(f: object) -> str:
    """The module, math or numpy, whose function this is, or nothing."""
    name = getattr(f, "__name__", "")
    if getattr(math, name, None) is f:
        return "math"
    if type(f).__name__ == "ufunc":
        return "numpy"
    return ""
