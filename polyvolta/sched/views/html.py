"""Schedule trees in notebooks: nodes that fold, without scripts.

The text stays the one that `print` shows. Names of statements are bold, parameters and mapped names slanted, signs
faint: everything by weight, slant and opacity, in the page's own colour, so that it reads on a light and on a dark page
alike. What the paper's notation leaves out of a band stands behind it.
"""

from __future__ import annotations

from html import escape

from polyvolta.sched.tree import Node, Path, Schedule
from polyvolta.sched.views.paper import Row, notes, rows
from polyvolta.sched.views.words import Vocabulary

MARKUP = {
    "kind": '<span style="letter-spacing:.04em;font-weight:600">{}</span>',
    "tuple": "<b>{}</b>",
    "param": "<i>{}</i>",
    "mapped": '<i style="text-decoration:underline dotted">{}</i>',
    "word": '<span style="opacity:.6">{}</span>',
    "sign": '<span style="opacity:.6">{}</span>',
}
FRAME = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em;line-height:1.5"
CHILD = "margin-left:.55em;padding-left:.75em;border-left:1px solid color-mix(in srgb, currentColor 22%, transparent)"
LINE = "white-space:pre-wrap"


def html(schedule: Schedule) -> str:
    """The tree as nested `<details>`. Linear.

    >>> html(Schedule.parse('{ domain: "{ S[i] : 0 <= i < 8 }" }')).count("<b>S</b>")
    1
    """
    words = Vocabulary(schedule)
    found = {row.at: row for row in rows(schedule)}
    return f'<div style="{FRAME}">{_node(schedule.root, (), found, words)}</div>'


def _node(node: Node, at: Path, found: dict[Path, Row], words: Vocabulary) -> str:
    own = marked_up(found[at], words)
    below = "".join(_node(c, (*at, k), found, words) for k, c in enumerate(node.children) if (*at, k) in found)
    if not below:
        return f'<div style="{LINE};padding-left:1.1em">{own}</div>'
    summary = f'<summary style="cursor:pointer;{LINE}">{own}</summary>'
    return f'<details open style="margin:0">{summary}<div style="{CHILD}">{below}</div></details>'


def marked_up(row: Row, words: Vocabulary, flags: bool = True) -> str:
    """The lines of a node with its words set apart; with `flags` also what its band is."""
    lines = ["".join(MARKUP.get(kind, "{}").format(escape(word)) for kind, word in words.words(ln)) for ln in row.lines]
    said = notes(row.node) if flags else []
    more = f'<span style="opacity:.55;font-style:italic">   {escape(", ".join(said))}</span>' if said else ""
    return "\n".join(lines) + more
