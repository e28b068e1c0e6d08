"""Schedule trees in colours, for terminals: `rich.print(schedule)`.

The words are those of the paper's notation. Behind a band stand its flags, faint, which that notation leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.tree import Path, Schedule
from polyvolta.sched.views.paper import Row, notes, rows
from polyvolta.sched.views.words import Vocabulary

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

COLOURS = {
    "kind": "bold",
    "tuple": "cyan",
    "param": "italic yellow",
    "mapped": "magenta",
    "word": "dim",
    "sign": "dim",
}


def rich_tree(schedule: Schedule) -> Tree:
    """The tree with guide lines; every node is a label of one line for each statement."""
    from rich.tree import Tree

    words = Vocabulary(schedule)
    branches: dict[Path, Tree] = {}
    for row in rows(schedule):
        label = coloured(row, words)
        if row.at in branches or not row.at:
            branches[row.at] = Tree(label, guide_style="dim")
        else:
            branches[row.at] = branches[row.at[:-1]].add(label)
    return branches[()]


def coloured(row: Row, words: Vocabulary, flags: bool = True) -> Text:
    """The lines of a node; with `flags` also what its band is."""
    from rich.text import Text

    text = Text()
    for k, line in enumerate(row.lines):
        text.append("\n" * bool(k))
        for kind, word in words.words(line):
            text.append(word, style=COLOURS.get(kind, ""))
    if flags and (said := notes(row.node)):
        text.append(f"   {', '.join(said)}", style="dim italic")
    return text
