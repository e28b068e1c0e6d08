"""A report in a notebook: a table, and below it each refutation with its case and its places; no scripts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from polyvolta.cuda.verify.report.records import SIGNS, Proof, Proofs, outcome, unknown_in_words
from polyvolta.cuda.verify.report.show import (
    code_lines,
    common_sizes,
    facts,
    marked_node,
    overall,
    places,
    same_case,
    shortened,
    summary,
    tree_lines,
)

MONO = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em"
COLOURS = {
    "proved": "#2a8a4a",
    "refuted": "#d1382f",
    "not decided": "#a06a00",
}  # of enough contrast on light and dark pages
CELL = "text-align:left;vertical-align:top;padding:.1em .8em .1em 0"
TABLE = "border-collapse:collapse;font-size:inherit"


def html(report: Proofs) -> str:
    """The report for a notebook.

    >>> from polyvolta.cuda.verify.report.records import Proof, Proofs
    >>> "C = A @ B" in html(Proofs("kern0: C = A @ B", (Proof("bounds", "in", "", True, 0.5, "all M >= 1"),)))
    True
    """
    sizes = common_sizes(report)
    head = f"<b>{escape(report.kernel)}</b>" + (f"<br>for {escape(sizes)}" if sizes else "")
    said = f'<br><span style="color:{COLOURS[overall(report)]}">{escape(summary(report))}</span>'
    rows = "".join(_row(report, p, sizes) for p in report.proofs)
    titles = "".join(f'<th style="{CELL}">{t}</th>' for t in ("", "proof", "statement, and the relation", "ms"))
    table = f'<table style="{TABLE}"><tr>{titles}</tr>{rows}</table>' if rows else ""
    return f"<div>{head}{said}{table}{''.join(_refutation(report, p) for p in report.refuted)}</div>"


def _row(report: Proofs, p: Proof, common: str) -> str:
    became = outcome(p)
    colour = f"color:{COLOURS[became]}"
    said = escape(p.statement if p.proved else f"{became}: {p.statement}")
    if p.sizes != common:
        said += f"<br><i>for {escape(p.sizes)}</i>"
    if p.relation:
        short = f'<span style="{MONO};opacity:.65">{escape(shortened(p.relation))}</span>'
        said += f'<br><span title="{escape(p.relation)}">{short}</span>'
    if p.reason:
        said += "<br>" + escape(unknown_in_words(p, report)).replace("\n", "<br>")
    cells = (
        f'<b style="{colour}">{SIGNS[became][0]}</b>',
        f'<span style="{colour}">{escape(p.id)}</span>',
        said,
        f"{1000 * p.seconds:.0f}",
    )
    return _cells(*cells)


def _cells(*cells: str) -> str:
    return "<tr>" + "".join(f'<td style="{CELL}">{c}</td>' for c in cells) + "</tr>"


def _refutation(report: Proofs, p: Proof) -> str:
    title = f'<p><b style="color:{COLOURS["refuted"]}">{SIGNS["refuted"][0]} {escape(p.id)}</b> '
    out = title + f"refuted: {escape(p.statement)}"
    found = p.counter_example
    if found is None:
        return out + "</p>"
    if (same := same_case(report, p)) is not None:
        return out + f"<br><b>{escape(found.what)}</b><br>in the same case as {escape(same.id)}, above</p>"
    out += f"<br><b>{escape(found.what)}</b></p>"
    names = "".join(
        f'<tr><td style="{CELL};opacity:.65">{name}</td><td style="{CELL}">{escape(value)}</td></tr>'
        for name, value in facts(found)
    )
    out += f'<table style="{TABLE}">{names}</table>' if names else ""
    for title, place in places(found):
        lines = (
            f"<b>&gt; {n:>5} | {escape(line)}</b>" if here else f"  {n:>5} | {escape(line)}"
            for n, line, here in code_lines(report.source, place)
        )
        out += _block(escape(title), lines)
    node = marked_node(found)
    if node is not None and report.schedule is not None:
        *above, here = map(escape, tree_lines(report.schedule, node))
        out += _block("in the schedule tree", (*above, f"<b>{here}</b>"))
    return out


def _block(title: str, lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return f'<span style="opacity:.65">{title}</span><pre style="{MONO};margin:.2em 0 .8em 1em">{text}</pre>'
