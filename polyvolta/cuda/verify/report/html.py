"""A report in a notebook: a table, and below it each refutation with its case and its places; no scripts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from polyvolta.cuda.verify.report.records import KINDS, SIGNS, Proof, Proofs, outcome, unknown_in_words
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
from polyvolta.display.fragment import Html
from polyvolta.display.page import facts as listed
from polyvolta.display.page import heading, said, table, words


def html(report: Proofs) -> str:
    """The report for a notebook, a fragment.

    >>> from polyvolta.cuda.verify.report.records import Proof, Proofs
    >>> "C = A @ B" in html(Proofs("kern0: C = A @ B", (Proof("bounds", "in", "", True, 0.5, "all M >= 1"),)))
    True
    """
    sizes = common_sizes(report)
    head = heading(report.kernel) + said(f"for {sizes}" if sizes else "", "faint")
    proofs = table(("", "proof", "statement, and the relation", ">ms"), [_row(report, p, sizes) for p in report.proofs])
    refuted = "".join(_refutation(report, p) for p in report.refuted)
    return head + said(summary(report), KINDS[overall(report)]) + proofs + refuted


def _row(report: Proofs, p: Proof, common: str) -> tuple[str, ...]:
    """Sign, name, what is said, and the time."""
    became = outcome(p)
    lines = [escape(p.statement if p.proved else f"{became}: {p.statement}")]
    if p.sizes != common:
        lines.append(f"<i>for {escape(p.sizes)}</i>")
    if p.relation:
        short = f'<span class="pv-mono pv-faint">{escape(shortened(p.relation))}</span>'
        lines.append(f'<span title="{escape(p.relation)}">{short}</span>')
    if p.reason:
        lines += escape(unknown_in_words(p, report)).split("\n")
    sign, name = (Html(words(text, KINDS[became])) for text in (SIGNS[became][0], p.id))
    return sign, name, Html("<br>".join(lines)), f"{1000 * p.seconds:.0f}"


def _refutation(report: Proofs, p: Proof) -> str:
    """What is refuted, in which case, and where: lines of the text, and of the schedule tree."""
    name = words(f"{SIGNS['refuted'][0]} {p.id}", "bad")
    out = f"<p><b>{name}</b> refuted: {escape(p.statement)}"
    found = p.counter_example
    if found is None:
        return out + "</p>"
    out += f"<br><b>{escape(found.what)}</b>"
    if (same := same_case(report, p)) is not None:
        return out + f"<br>in the same case as {escape(same.id)}, above</p>"
    out += "</p>" + listed(facts(found))
    for title, place in places(found):
        lines = (
            f"<b>&gt; {n:>5} | {escape(line)}</b>" if here else f"  {n:>5} | {escape(line)}"
            for n, line, here in code_lines(report.source, place)
        )
        out += _block(title, lines)
    node = marked_node(found)
    if node is not None and report.schedule is not None:
        *above, here = map(escape, tree_lines(report.schedule, node))
        out += _block("in the schedule tree", (*above, f"<b>{here}</b>"))
    return out


def _block(title: str, lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return said(title, "faint") + f'<pre class="pv-box">{text}</pre>'
