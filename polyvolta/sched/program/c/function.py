"""A function of C, statement by statement, as lines of Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from polyvolta.sched.program.c.expressions import Expressions
from polyvolta.sched.program.c.types import INTEGERS, NARROW, Name, Number, words_of


class Function(Expressions):
    """Writes one function as Python.

    Attributes
    ----------
    out : the lines of Python; `origin` has the line of C that each comes from.
    """

    def __init__(self, node: Any, lines: Sequence[str], known: Mapping[str, Any]) -> None:  # noqa: ANN401
        super().__init__(lines, known)
        self.out: list[str] = []
        self.origin: list[int | None] = []
        taken = node.decl.type.args
        params = [p for p in (taken.params if taken else ()) if type(p).__name__ != "Typename"]
        for p in params:
            if type(p).__name__ != "Decl" or not p.name:
                raise self.refused(node.decl, "what a function takes is declared with its type", "void f(int N, ...)")
            self.declared(p, "argument")
        head = ", ".join(p.name for p in params)
        self.write(node.decl, "", f"def {self.named(node.decl, node.decl.name)}({head}):")
        self.block(node.body, "    ")
        if len(self.out) == 1:
            self.write(node.decl, "    ", "pass")

    def write(self, node: Any, pad: str, text: str) -> None:  # noqa: ANN401
        self.out.append(pad + text)
        self.origin.append(node.coord.line if node.coord else None)

    def declared(self, node: Any, role: Literal["argument", "local", "iterator"]) -> None:  # noqa: ANN401
        """Take what a declaration says of its name."""
        name = self.named(node, node.name)
        if name in self.names:
            raise self.refused(node, f"{name} is declared again inside, where it hides another", "call it otherwise")
        words, array = words_of(node.type, self.known)
        if words not in (("double",), ("float",)) and not {*words} <= NARROW:
            raise self.refused(node, f"{name} is of type {' '.join(words)}", "a nest has integers, float and double")
        if array and role != "argument":
            raise self.refused(node, f"the array {name} is made in the nest", "pass it as an argument")
        self.names[name] = Name(words, "array" if array else role)

    # ---- statements

    def block(self, node: Any, pad: str) -> None:  # noqa: ANN401
        """A statement, or all of a block; nothing becomes `pass`. What is declared inside ends with it."""
        at, outside = len(self.out), dict(self.names)
        for inner in (node.block_items or ()) if type(node).__name__ == "Compound" else (node,):
            self.statement(inner, pad)
        if len(self.out) == at:
            self.write(node, pad, "pass")
        self.names = outside

    def statement(self, node: Any, pad: str) -> None:  # noqa: ANN401
        match type(node).__name__:
            case "For":
                outside = dict(self.names)
                self.loop(node, pad)
                self.names = outside
            case "If":
                self.write(node, pad, f"if {self.truth(node.cond)}:")
                self.block(node.iftrue, pad + "    ")
                if node.iffalse is not None:
                    self.write(node, pad, "else:")
                    self.block(node.iffalse, pad + "    ")
            case "Compound":
                self.block(node, pad)
            case "Assignment":
                self.assignment(node, pad)
            case "UnaryOp" if node.op in ("p++", "++", "p--", "--"):
                target = self.value(node.expr)
                self.stored(node, node.expr, target)
                self.write(node, pad, f"{target.text} {node.op[-1]}= 1")
            case "Decl":
                self.declared(node, "local")
                if node.init is not None:
                    made = self.stored(node, node, self.value(node.init))
                    self.write(node, pad, f"{node.name} = {made}")
            case "EmptyStatement" | "Pragma":
                pass
            case "Return" if node.expr is None:
                self.write(node, pad, "return")
            case other:
                raise self.refused(node, f"{other} has no translation to a nest", "loops, conditions, assignments")

    def assignment(self, node: Any, pad: str) -> None:  # noqa: ANN401
        value, target = self.value(node.rvalue), self.value(node.lvalue)
        if node.op == "=":
            self.write(node, pad, f"{target.text} = {self.stored(node, node.lvalue, value)}")
            return
        if node.op not in ("+=", "-=", "*=", "/="):
            raise self.refused(node, f"{node.op} has no translation to a nest")
        if node.op == "/=" and target.kind in INTEGERS and value.kind in INTEGERS:
            raise self.divided(node)
        kind, left, right = self.joined(node, target, value)
        made = self.stored(node, node.lvalue, Number(f"({left} {node.op[0]} {right})", kind))
        whole = left == target.text  # else it is computed in doubles, and rounded when it is stored
        self.write(node, pad, f"{target.text} {node.op} {right}" if whole else f"{target.text} = {made}")

    def stored(self, node: Any, target: Any, value: Number) -> str:  # noqa: ANN401
        """A value as the target keeps it; elements convert as in C, and locals are doubles."""
        name = getattr(target, "name", "")
        known = self.names.get(name) if isinstance(name, str) else None
        if known is None or known.role == "array":
            if value.kind == "rounded" and self.value(target).kind != "float":
                raise self.unrounded(node)
            return value.text
        words = " ".join(known.words)
        if known.whole and value.kind not in INTEGERS:
            hint = "declare it double, or assign to an element of an array of integers"
            raise self.refused(node, f"{name} is {words}, and drops the fraction of what is assigned", hint)
        if known.whole and not {*known.words} <= {"int", "signed"}:
            raise self.refused(node, f"{name} is {words}, and a local of a nest is int or double", "declare it int")
        if known.whole:
            return value.text
        arrays = {a.words for a in self.names.values() if a.role == "array" and not a.whole}
        if words == "float" or arrays == {("float",)}:
            hint = "write the expression out, or assign to an element of an array"
            raise self.refused(node, f"{name} is {words}, and a local has the precision of the arrays' elements", hint)
        if value.kind == "rounded":
            raise self.unrounded(node)
        return value.text if value.kind == "double" else value.double

    # ---- loops

    def loop(self, node: Any, pad: str) -> None:  # noqa: ANN401
        """A loop that counts."""
        hint = "for (i = 0; i < N; i++)"
        first = node.init.decls[0] if type(node.init).__name__ == "DeclList" else node.init
        if type(first).__name__ == "Decl" and len(node.init.decls) == 1:
            self.declared(first, "iterator")
            name, start = first.name, first.init
        elif type(first).__name__ == "Assignment" and first.op == "=" and type(first.lvalue).__name__ == "ID":
            name, start = first.lvalue.name, first.rvalue
            self.value(first.lvalue)
        else:
            raise self.refused(node, "a loop sets one iterator at its start", hint)
        words = self.names[name].words
        if not self.names[name].whole:
            raise self.refused(node, f"the iterator {name} is {' '.join(words)}", "a loop counts in integers")
        self.names[name] = Name(words, "iterator")
        step, (op, stop) = self.step(node, name), self.end(node, name)
        if start is None or op not in (("<", "<=") if step > 0 else (">", ">=")):
            raise self.refused(node, f"a loop in steps of {step} has no end that it surely reaches", hint)
        if step < 0 and op == ">=" and "unsigned" in words:
            raise self.refused(node, f"the iterator {name} is unsigned, and never less than 0", "declare it int")
        beyond = {"<=": " + 1", ">=": " - 1"}.get(op, "")
        last = f", {step}" if step != 1 else ""
        begin = self.integer(start, "start")
        self.write(node, pad, f"for {self.named(node, name)} in range({begin}, {stop}{beyond}{last}):")
        self.block(node.stmt, pad + "    ")

    def end(self, node: Any, name: str) -> tuple[str, str]:  # noqa: ANN401
        """How the iterator is compared, and with what."""
        cond = node.cond
        if type(cond).__name__ == "BinaryOp":
            for mine, other, turned in ((cond.left, cond.right, False), (cond.right, cond.left, True)):
                if type(mine).__name__ == "ID" and mine.name == name:
                    op = cond.op.translate(str.maketrans("<>", "><")) if turned else cond.op
                    return op, self.integer(other, "end")
        raise self.refused(node, f"a loop compares its iterator {name} with its end", "for (i = 0; i < N; i++)")

    def step(self, node: Any, name: str) -> int:  # noqa: ANN401
        """What the iterator moves by."""
        match node.next, type(node.next).__name__:
            case n, "UnaryOp" if n.op in ("p++", "++", "p--", "--") and getattr(n.expr, "name", "") == name:
                return 1 if "+" in n.op else -1
            case n, "Assignment" if n.op in ("+=", "-=") and getattr(n.lvalue, "name", "") == name:
                by, sign = self.value(n.rvalue).text, n.op[0]
            case n, "Assignment" if (
                n.op == "="
                and type(n.rvalue).__name__ == "BinaryOp"
                and n.rvalue.op in "+-"
                and (getattr(n.lvalue, "name", "") == getattr(n.rvalue.left, "name", None) == name)
            ):
                by, sign = self.value(n.rvalue.right).text, n.rvalue.op
            case _:
                by, sign = "", "+"
        if not re.fullmatch(r"[1-9]\d*", by):
            raise self.refused(node, f"the iterator {name} moves by a number", "i++, or i += 2")
        return int(sign + by)
