"""Sizes, tensors, expressions, statements and graphs as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polyvolta.display.drawing import Box, drawn
from polyvolta.display.formulas import Built, Formula, Name, latex, mathml, row
from polyvolta.display.page import Html, block, code, fold, heading, said, table, words
from polyvolta.graph.expr import Expr, shape_text
from polyvolta.graph.shown.mathematics import definitions, lines, named, shape
from polyvolta.graph.tensors import Tensor, inputs_of

if TYPE_CHECKING:
    from polyvolta.graph.dag import Graph

MOST = 14  # lines of an expression
LAYOUTS = {"row": "row-major", "col": "column-major"}


def formulas(expr: Expr, name: str = "") -> list[Formula]:
    """The lines of an expression, the whole last; with a name, behind it."""
    out = []
    for own, formula in lines(expr):
        left = own or name
        out.append(row(named(left), "=", formula) if left else formula)
    if len(out) > MOST:
        out[MOST // 2 : -MOST // 2] = [row("⋯")]
    return [*out, *definitions(expr)]


def expression(expr: Expr, name: str = "") -> str:
    """An expression: as mathematics, its shape and type, and its tensors."""
    whole = "".join(map(mathml, formulas(expr, name)))
    kind = f"<p>{_python(expr, name)} {words(f'{_shape(expr)}{expr.dtype}', 'faint')}</p>"
    return whole + kind + tensors(inputs_of([expr]))


def as_latex(expr: Expr) -> str:
    """The same as LaTeX, between dollars."""
    return "\n".join(f"$$ {latex(f)} $$" for f in formulas(expr))


def tensor(t: Tensor) -> str:
    """A tensor's name, shape, type and layout."""
    if not t.dims:
        whole = mathml(row(Name(t.name), "∈", Name(t.dtype, True)))
        return whole + said("a number, given when the kernel is called", "faint")
    return mathml(row(Name(t.name), "∈", Built("sup", (Name(t.dtype, True), shape(t.dims))))) + said(_lies(t), "faint")


def tensors(given: Iterable[Tensor]) -> str:
    """A table of tensors."""
    rows = [(Html(code(t.name)), Html(mathml(shape(t.dims), False)) if t.dims else "a number", t.dtype, _lies(t))
            for t in given]  # fmt: skip
    return table(("tensor", "shape", "elements", "in memory"), rows) if rows else ""


def graph(g: Graph) -> str:
    """A graph: drawn, then its statements and its tensors."""
    boxes: dict[Any, Box] = {("in", t.name): Box((_titled(t),), True) for t in g.inputs}
    made: dict[str, Any] = {t.name: ("in", t.name) for t in g.inputs}
    edges = []
    for s, result in zip(g.statements, g.results, strict=True):
        boxes[s.name] = Box((s.name, *_broken(str(s).partition(": ")[2])))
        for a in dict.fromkeys(a.tensor for a in s.reads if a.tensor != s.write.tensor):
            edges.append((made[a], s.name, "" if made[a] == ("in", a) else a))
        made[result.name] = s.name
    for t in g.outputs:
        boxes["out", t.name] = Box((_titled(t),), True)
        edges.append((made[t.name], ("out", t.name), ""))
    picture = f'<div class="pv-scroll">{drawn(boxes, edges, "the graph")}</div>'
    domains = "\n".join(f"{s.name}: {s.domain}" for s in g.statements)
    arrays = [*g.arguments, *g.outputs]
    return picture + fold("statements", block(f"{g}\n\ninstances\n{domains}")) + fold("tensors", tensors(arrays))


def outputs(g: Graph) -> str:
    """What a graph computes, as mathematics."""
    pairs = [(e, t.name) for t, e in zip(g.outputs, g.roots, strict=True)]
    whole = "".join(mathml(f) for e, name in pairs for f in formulas(e, name))
    return whole + "".join(f"<p>{_python(e, name)}</p>" for e, name in pairs)


def output(expr: Expr, name: str | None, layout: str) -> str:
    """An output with a name or a layout of its own."""
    return heading("an output", f"stored {LAYOUTS[layout]}") + expression(expr, name or "")


def _python(expr: Expr, name: str) -> str:
    """The expression as it is written in a program, for who reads that, and for pages without mathematics."""
    return code(f"{name} = {expr}" if name else str(expr))


def _lies(t: Tensor) -> str:
    if not t.dims:
        return ""
    return "contiguous" if len(t.dims) == 1 else LAYOUTS[t.layout]


def _shape(expr: Expr) -> str:
    return " × ".join(map(str, expr.shape)) + ", " if expr.shape else "a number, "


def _titled(t: Tensor) -> str:
    return shape_text(t).replace(",)", ")")


def _broken(text: str, width: int = 64) -> list[str]:
    """A long statement in several lines."""
    from textwrap import wrap

    return wrap(text, width, break_long_words=False, max_lines=4, placeholder=" ...") or [""]
