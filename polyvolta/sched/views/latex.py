r"""Schedule trees typeset as in the paper's figures.

    DOMAIN: $S[i, j, k] : 0 \le i < M \land 0 \le j < N \land 0 \le k < K$ \\
    \hspace*{0.3cm}BAND: $S[i, j, k] \rightarrow [\lfloor{i/128}\rfloor, \lfloor{j/128}\rfloor, \lfloor{k/32}\rfloor]$

A statement `S1` is set S with an index, names of several letters (blockIdx.y, load_A) upright italics. The lines want
no package; shaded ones (`Diff.to_latex`) want `xcolor` and `\mybox`, which `PREAMBLE` defines as the paper does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyvolta.sched.tree import Schedule
from polyvolta.sched.views.paper import Row, rows
from polyvolta.sched.views.words import Vocabulary

STEP = 0.3  # cm that a level of the tree is indented by
PREAMBLE = r"""\documentclass{article}
\usepackage[landscape,margin=1.5cm]{geometry}
\usepackage{xcolor}
\definecolor{shadecolor}{gray}{0.87}
\newcommand{\mybox}[1]{\par\noindent
  \hspace*{-\fboxsep}\colorbox{shadecolor}{\parbox{\linewidth}{#1}}\hspace*{-\fboxsep}}
\setlength{\parindent}{0pt}
\begin{document}
\footnotesize
"""
END = "\n\\end{document}\n"
SIGNS = {
    "→": r"\rightarrow ", "->": r"\rightarrow ", "∧": r"\land ", "≤": r"\le ", "≥": r"\ge ", "⌊": r"\lfloor{",
    "⌋": r"}\rfloor ", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "^": r"\oplus ",
}  # fmt: skip
LOOP_TYPES = frozenset({"separate", "atomic", "unroll"})
ESCAPED = {c: "\\" + c for c in "_%&#${}"} | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}


def latex(schedule: Schedule, document: bool = False) -> str:
    """The tree as LaTeX: lines for a figure, or with `document` a whole document that compiles by itself. Linear.

    >>> print(latex(Schedule.parse('{ domain: "[N] -> { S1[i] : 0 <= i < N }", child: { mark: "a" } }')), end="")
    DOMAIN: $S_1[i] : 0 \\le i < N$ \\\\
    \\hspace*{0.3cm}MARK: \\textit{a}
    """
    words = Vocabulary(schedule)
    lines = [line for row in rows(schedule) for line in typeset(row, words)]
    return whole(" \\\\\n".join(lines)) if document else " \\\\\n".join(lines) + "\n"


def whole(body: str) -> str:
    """A document of a body."""
    return PREAMBLE + body + END


def typeset(row: Row, words: Vocabulary) -> list[str]:
    """The lines of a node."""
    out = []
    for k, line in enumerate(row.lines):
        space = rf"\hspace*{{{STEP * row.depth:.1f}cm}}" if row.depth else ""
        if k:  # below what the first line begins with
            space += rf"\phantom{{{row.lines[0].split(':')[0]}: }}"
        out.append(space + _line(line.lstrip(), words))
    return out


def _line(line: str, words: Vocabulary) -> str:
    pieces = list(words.words(line))
    head = ""
    if pieces and pieces[0][0] == "kind":
        head = pieces.pop(0)[1]
        if pieces and pieces[0] == ("sign", ":"):
            pieces.pop(0)
            head += ": "
    if head.startswith("MARK"):
        return head + r"\textit{" + _plain("".join(w for _, w in pieces).strip()) + "}"
    body = re.sub(r" +", " ", "".join(_math(kind, word) for kind, word in pieces)).strip()
    body = body.replace(r"\rfloor ]", r"\rfloor]").replace(r"\rfloor ,", r"\rfloor,")
    return f"{head}${body}$" if body else head


def _math(kind: str, word: str) -> str:
    if kind == "word":
        return rf"\mathrm{{{word}}}" if word in LOOP_TYPES else rf"\;\mathrm{{{word}}}\;"
    if kind in ("tuple", "param", "mapped", "name"):
        return _name(word, indexed=kind != "mapped")
    return SIGNS.get(word, word)


def _name(word: str, indexed: bool) -> str:
    """A name: one letter, one letter with an index, or a word."""
    plain = word.rstrip("'")
    primes = word[len(plain) :]
    if len(plain) == 1 and plain != "_":
        return plain + primes
    found = re.fullmatch(r"([A-Za-z])_?(\d+)", plain)
    if indexed and found:
        return f"{found[1]}_{{{found[2]}}}{primes}" if len(found[2]) > 1 else f"{found[1]}_{found[2]}{primes}"
    return rf"\textit{{{_plain(plain)}}}{primes}"


def _plain(text: str) -> str:
    """Text outside formulas: what LaTeX has a meaning for is escaped, signs become formulas."""
    return "".join(
        ESCAPED.get(c) or (c if c.isascii() or c not in SIGNS else f"${SIGNS[c].strip('{} ')}$") for c in text
    )


def shaded(groups: Sequence[tuple[bool, Sequence[str]]]) -> str:
    r"""Runs of lines, those that are marked in a `\mybox` each."""
    out = []
    for changed, lines in groups:
        body = " \\\\\n".join(lines)
        out.append(f"\\mybox{{{body}}}" if changed else body)
    text = ""
    for k, part in enumerate(out):
        last = k + 1 == len(out)
        follows = "\n" if last or groups[k][0] or groups[k + 1][0] else " \\\\\n"
        text += part + ("\\par" if groups[k][0] and not last else "") + follows
    return text
