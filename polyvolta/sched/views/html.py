"""Schedule trees in notebooks: nodes that fold, without scripts.

The text stays the one that `print` shows. Names of statements are bold, parameters and mapped names slanted, signs
faint: everything by weight, slant and opacity, in the page's own colour, so that it reads on a light and on a dark page
alike. What the paper's notation leaves out of a band stands behind it.

Indentation is of blanks that nothing takes away, neither nbconvert nor a page without the style sheet. A line that is
too long goes on below itself. Of an extension that is long the statements stand there, and the whole folds out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape

from polyvolta.display.text import hanging
from polyvolta.sched.tree import Extension, Node, Path, Schedule
from polyvolta.sched.views.paper import Row, notes, rows
from polyvolta.sched.views.words import HEAD, Vocabulary

MARKUP = {
    "kind": "<b>{}</b>",
    "tuple": "<b>{}</b>",
    "param": "<i>{}</i>",
    "mapped": '<i style="text-decoration:underline dotted">{}</i>',
    "word": '<span class="pv-faint">{}</span>',
    "sign": '<span class="pv-faint">{}</span>',
}
LONGEST = 112  # columns of a line
STEP = 2  # columns that a node stands right of the one above
SHORT = 2  # lines of an extension that is not folded
BLANK = "\N{NO-BREAK SPACE}"


def html(schedule: Schedule) -> str:
    """The tree as nested `<details>`. Linear.

    >>> html(Schedule.parse('{ domain: "{ S[i] : 0 <= i < 8 }" }')).count("<b>S</b>")
    1
    """
    words = Vocabulary(schedule)
    found = {row.at: row for row in rows(schedule)}
    return f'<div class="pv-tree">{_node(schedule.root, (), found, words)}</div>'


def _node(node: Node, at: Path, found: dict[Path, Row], words: Vocabulary) -> str:
    row, more = found[at], ""
    short = shortened(row)
    if short is not row:
        whole, row = f"<code>{marked_up(row, words)}</code>", short
        indent = f'<span class="pv-in">{BLANK * (STEP * len(at) + STEP)}</span>'
        more = f'<details><summary><code>{indent}<span class="pv-faint">all of it</span></code></summary>'
        more += f'<div class="pv-leaf">{whole}</div></details>'
    own = f"<code>{marked_up(row, words)}</code>"
    below = "".join(_node(c, (*at, k), found, words) for k, c in enumerate(node.children) if (*at, k) in found)
    if not below and not more:
        return f'<div class="pv-leaf">{own}</div>'
    return f"<details open><summary>{own}</summary>{more}{below}</details>"


def shortened(row: Row) -> Row:
    """Of a long extension its statements alone; any other node as it is."""
    if not isinstance(row.node, Extension) or len(wrapped(row).lines) <= SHORT:
        return row
    names = list(dict.fromkeys(str(s.out.name) for s, _ in row.node.extension.parts))
    shown = names if len(names) <= 8 else [*names[:5], "...", names[-1]]
    return replace(row, lines=(f"EXTENSION: {', '.join(shown)}",))


def wrapped(row: Row, width: int = LONGEST) -> Row:
    """The node with lines that are too long in several, the rest of each below its beginning."""
    head = HEAD.match(row.lines[0])
    indent = head.end() + 2 if head else 0
    room = max(width - STEP * row.depth, 40)
    return replace(row, lines=tuple(x for line in row.lines for x in hanging(line, room, indent + 2)))


def marked_up(row: Row, words: Vocabulary, flags: bool = True, margin: str = "", look: str = "") -> str:
    """The lines of a node, indented, with its words set apart.

    Parameters
    ----------
    flags : whether what its band is stands behind it.
    margin : in front of each line.
    look : attributes of the element around each line's words.
    """
    lines = ["".join(MARKUP.get(kind, "{}").format(escape(word)) for kind, word in words.words(ln))
             for ln in wrapped(row).lines]  # fmt: skip
    said = notes(row.node) if flags else []
    more = f'<i class="pv-faint">{BLANK * 3}{escape(", ".join(said))}</i>' if said else ""
    indent = margin.replace(" ", BLANK) + BLANK * (STEP * row.depth)
    lines[-1] += more
    if look:
        lines = [re.sub("^( *)(.*)$", rf"\1<span {look}>\2</span>", line, flags=re.DOTALL) for line in lines]
    lines = [re.sub("^ +", lambda m: BLANK * len(m.group()), line) for line in lines]
    return f'<span class="pv-in">{indent}</span>' + f"<br>{indent}".join(lines)
