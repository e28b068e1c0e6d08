"""How a report looks: in a terminal, as plain text, and what a refutation shows of the kernel.

A proof takes a line for its name, its statement and its time, and below, shortened, the relation that it is about.
What is not decided says why, and where. A refutation says what happens, to whom and where: the sizes, the thread and
the loop variables of one concrete case, the line of the CUDA text with its neighbours, and the node of the schedule
tree with the nodes above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyvolta.cuda.text.places import Place
from polyvolta.cuda.verify.report.records import (
    SIGNS,
    WIDTH,
    CounterExample,
    Proof,
    Proofs,
    assignments,
    cut,
    outcome,
    unknown_in_words,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table
    from rich.text import Text

    from polyvolta.sched.tree import Path, Schedule

RELATION = 140  # characters shown of a relation; `report[name].relation` has all of it
CONTEXT = 2  # lines of the CUDA text before and after


def rich_report(report: Proofs) -> RenderableType:
    """The report for a console: a head line, a table, and below it each refutation."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [head(report)]
    if report.proofs:
        parts += [Text(), table(report)]
    for p in report.refuted:
        parts += [Text(), refutation(report, p)]
    return Group(*parts)


def plain(report: Proofs, width: int = WIDTH) -> str:
    """The same without colours."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=width, color_system=None, highlight=False, markup=False, emoji=False).print(
        rich_report(report)
    )
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))


def summary(report: Proofs) -> str:
    """How many statements hold, in words.

    >>> summary(Proofs("kern0: C = A @ B", (Proof("bounds", "", "", True, 0.5, "all M >= 1"),)))
    '1 statement proved in 0.50 s'
    """
    count = len(report.proofs)
    if not count:
        return "no statement was to be proved"
    statements = f"{count} statement{'s' * (count != 1)}"
    if report.ok:
        return f"{statements} proved in {report.seconds:.2f} s"
    parts = [f"{len(ps)} {word}" for word, ps in (("refuted", report.refuted), ("not decided", report.undecided)) if ps]
    first, *rest = parts
    number, word = first.split(" ", 1)
    return ", ".join([f"{number} of {statements} {word}", *rest, f"{report.seconds:.2f} s"])


def overall(report: Proofs) -> str:
    """What became of all proofs together: a key of `SIGNS`."""
    return "proved" if report.ok else "refuted" if report.refuted or not report.proofs else "not decided"


def common_sizes(report: Proofs) -> str:
    """The sizes that most proofs cover, said once at the top."""
    found = [p.sizes for p in report.proofs]
    return max(dict.fromkeys(found), key=found.count, default="")


def head(report: Proofs) -> Text:
    """The kernel, the sizes, and whether all is proved."""
    from rich.text import Text

    text = Text()
    text.append(report.kernel, style="bold")
    sizes = common_sizes(report)
    if sizes:
        text.append(f"\nfor {sizes}")
    text.append("\n")
    text.append(summary(report), style=SIGNS[overall(report)][1])
    return text


def table(report: Proofs) -> Table:
    """A row for each proof."""
    from rich.table import Table
    from rich.text import Text

    out = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=False)
    out.add_column("", no_wrap=True)
    out.add_column("proof", no_wrap=True)
    out.add_column("statement, and the relation that it is about", ratio=1, overflow="fold")
    out.add_column("ms", justify="right", no_wrap=True)
    common = common_sizes(report)
    for p in report.proofs:
        sign, style = SIGNS[outcome(p)]
        said = Text.assemble((p.statement, "") if p.proved else (f"{outcome(p)}: {p.statement}", style.split()[-1]))
        if p.sizes != common:
            said.append(f"\nfor {p.sizes}", style="italic")
        if p.relation:
            said.append(f"\n{shortened(p.relation)}", style="dim")
        if p.reason:
            said.append(f"\n{unknown_in_words(p, report)}")
        out.add_row(Text(sign, style=style), Text(p.id, style=style), said, f"{1000 * p.seconds:.0f}")
    return out


def shortened(text: str, most: int = RELATION) -> str:
    """The beginning of a long text, cut between words.

    >>> shortened("{ A[i] : 0 <= i < 8 and i mod 2 = 0 and i != 4 }", 24)
    '{ A[i] : 0 <= i < 8 ...'
    """
    return cut(" ".join(text.split()), most)


# ---- a refutation


def refutation(report: Proofs, proof: Proof) -> RenderableType:
    """What is wrong, in which case, and where in the text and in the tree."""
    from rich.console import Group
    from rich.text import Text

    sign, style = SIGNS["refuted"]
    parts = [Text.assemble((f"{sign} {proof.id}", style), (f" refuted: {proof.statement}", "red"))]
    found = proof.counter_example
    if found is None:
        return parts[0]
    if (same := same_case(report, proof)) is not None:
        return Group(*parts, Text(f"  {found.what}", style="bold"), Text(f"  in the same case as {same.id}, above"))
    parts.append(Text(f"  {found.what}", style="bold"))
    parts += [Text.assemble((f"  {name:<10}", "dim"), value) for name, value in facts(found)]
    for title, place in places(found):
        parts += [Text(f"  {title}", style="dim"), code(report.source, place)]
    node = marked_node(found)
    if node is not None and report.schedule is not None:
        parts += [Text("  in the schedule tree", style="dim"), Branch(report.schedule, node)]
    return Group(*parts)


def same_case(report: Proofs, proof: Proof) -> Proof | None:
    """The first refuted statement of the report with the same case and places, if it isn't this one."""
    first = next(p for p in report.refuted if _case(p) == _case(proof))
    return first if first.id != proof.id else None


def _case(proof: Proof) -> CounterExample | None:
    """A counter-example without what happens in it."""
    found = proof.counter_example
    return None if found is None else replace(found, what="", address="")


def places(found: CounterExample) -> Iterator[tuple[str, Place]]:
    """The places of a counter-example, each with a title."""
    for first, place in (("at", found.place), ("and at", found.other)):
        if place is not None:
            statement = f", statement {place.statement}" if place.statement else ""
            yield f"{first} line {place.line} of the CUDA text{statement}", place


def marked_node(found: CounterExample) -> Path | None:
    """The tree's node that a counter-example belongs to."""
    return found.node if found.node is not None else found.place.node if found.place else None


def facts(found: CounterExample) -> Iterator[tuple[str, str]]:
    """What names the case: (name, value)."""
    if found.sizes:
        yield "sizes", assignments(found.sizes)
    if found.block is not None:
        yield "block", f"blockIdx ({', '.join(map(str, found.block))})"
    thread = [f"{n} {v}" for n, v in (("warp", found.warp), ("lane", found.lane)) if v is not None]
    if thread:
        yield "thread", ", ".join(thread)
    if found.iteration:
        yield "iteration", assignments(found.iteration)
    if found.address:
        yield "address", found.address


def code_lines(source: str, place: Place) -> list[tuple[int, str, bool]]:
    """The place's line of the text and its neighbours: number, text, whether it is the one."""
    lines = source.split("\n")
    first, last = max(1, place.line - CONTEXT), min(len(lines), place.line + CONTEXT)
    found = [(n, lines[n - 1], n == place.line) for n in range(first, last + 1)]
    margin = min((len(t) - len(t.lstrip()) for _, t, _ in found if t.strip()), default=0)
    return [(n, t[margin:], here) for n, t, here in found]


def code(source: str, place: Place) -> Text:
    """The lines with a marker before the one, and carets under what is called there."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis")
    for n, line, here in code_lines(source, place):
        text.append("\n" * bool(text))
        text.append(f"  {'>' if here else ' '} {n:>5} | ", style="bold red" if here else "dim")
        text.append(line, style="bold" if here else "")
        if here:
            text.append(f"\n{' ' * 10}| ", style="dim")
            text.append(carets(line), style="bold red")
    return text


def carets(line: str) -> str:
    """Carets under the first word of a line.

    >>> print("  mma(c, a, b);", carets("  mma(c, a, b);"), sep="\\n")
      mma(c, a, b);
      ^^^
    """
    body = line.lstrip()
    word = len(body) - len(body.lstrip("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
    return " " * (len(line) - len(body)) + "^" * (word or len(body))


def tree_lines(schedule: Schedule, at: Path, most: int = WIDTH - 8) -> list[str]:
    """The node at a path, marked, and the nodes above it, each with its first line, or what fits of it.

    >>> from polyvolta.sched.tree import Schedule
    >>> tree = '{ domain: "{ S[i] : 0 <= i < 8 }", child: { schedule: "[{ S[i] -> [(i)] }]", child: { mark: "m" } } }'
    >>> print(*tree_lines(Schedule.parse(tree), (0,)), sep="\\n")
    DOMAIN: S[i] : 0 ≤ i ≤ 7
      BAND: S[i] → [i]   <-- here
    """
    from polyvolta.sched.views.paper import MARKER, rows

    found = []
    for row in rows(schedule, leaf=at):
        if row.at == at[: len(row.at)]:
            line = "  " * row.depth + row.lines[0] + (" ..." if len(row.lines) > 1 else "")
            mark = MARKER if row.at == at else ""
            found.append(cut(line, most - len(mark)) + mark)
    return found


@dataclass(frozen=True, slots=True)
class Branch:
    """The same for a console, as wide as that is, with the marked node set apart."""

    schedule: Schedule
    at: Path

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        text = Text(no_wrap=True, overflow="ellipsis")
        for k, line in enumerate(lines := tree_lines(self.schedule, self.at, min(options.max_width, WIDTH) - 8)):
            last = k == len(lines) - 1
            text.append("  > " if last else "    ", style="bold red")
            text.append(line + "\n" * (not last), style="bold" if last else "dim")
        yield text
