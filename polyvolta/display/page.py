"""Fragments of HTML, made of texts: every function escapes what it is given as text, and returns what is a fragment.

A fragment goes into others as it is; `framed` makes of it what a notebook shows, with the style sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2s
from html import escape
from itertools import count
from typing import Any

from polyvolta.display.fragment import Html
from polyvolta.display.style import SHEET

_NUMBERS = count()
MOST = 60  # rows of a table that is cut


def framed(*fragments: str) -> str:
    """What a notebook shows: fragments below one another, with their style sheet."""
    return f'<div class="pv"><style>{SHEET}</style>{"".join(fragments)}</div>'


def heading(text: str, more: str = "") -> str:
    """A heading, and faint words behind it.

    >>> heading("a < b")
    '<div class="pv-head"><b>a &lt; b</b></div>'
    """
    said = f' <span class="pv-faint">{escape(more)}</span>' if more else ""
    return f'<div class="pv-head"><b>{escape(text)}</b>{said}</div>' if text else ""


def said(text: str, kind: str = "") -> str:
    """A paragraph; `kind` is a class of the style sheet: "faint", "good", "bad", "unsure"."""
    return f'<p{_class(kind)}>{escape(text)}</p>' if text else ""


def words(text: object, kind: str) -> str:
    """Words in a line, of such a class."""
    return f"<span{_class(kind)}>{escape(str(text))}</span>"


def code(text: object) -> str:
    """Monospaced words in a line."""
    return f"<code>{escape(str(text))}</code>"


def block(text: str, boxed: bool = False) -> str:
    """Monospaced lines with their indentation; what is too wide scrolls."""
    return f"<pre{_class('box' if boxed else '')}>{escape(text)}</pre>"


def fold(summary: str, fragment: str, open: bool = False) -> str:  # noqa: A002
    """What is shown when its summary, a text, is clicked."""
    return (f'<details class="pv-fold"{" open" if open else ""}><summary>{escape(summary)}</summary>'
            f"<div>{fragment}</div></details>")  # fmt: skip


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "", note: str = "", most: int | None = None
) -> str:
    """A table of texts and fragments.

    Parameters
    ----------
    columns : headings; one that starts with ">" is of numbers, which end below one another. () for none.
    rows : what `cell` takes, one for each column.
    title, note : above and below.
    most : rows, of more the first and the last.

    >>> table((), [("a<b", 3)])
    '<div class="pv-scroll"><table><tbody><tr><td>a&lt;b</td><td>3</td></tr></tbody></table></div>'
    """
    sides = [_class("n") if c.startswith(">") else "" for c in columns]
    lines = [[cell(x) for x in row] for row in rows]
    sides = sides or [""] * max(map(len, lines), default=0)
    body = [f"<tr>{''.join(f'<td{s}>{x}</td>' for s, x in zip(sides, line, strict=True))}</tr>" for line in lines]
    if most is not None and len(body) > most:
        left = len(body) - most
        body[most - 1 : -1] = [f'<tr><td colspan="{len(sides)}"{_class("faint")}>... {left + 1} more ...</td></tr>']
    heads = "".join(f"<th{s}>{escape(c.removeprefix('>'))}</th>" for c, s in zip(columns, sides))
    head = f"<thead><tr>{heads}</tr></thead>" if any(columns) else ""
    whole = f'<div class="pv-scroll"><table>{head}<tbody>{"".join(body)}</tbody></table></div>' if body else ""
    return heading(title) + whole + said(note, "faint")


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Names with what they are, one below the other; what is None or empty is left out."""
    rows = "".join(f"<tr><th>{escape(n)}</th><td>{cell(v)}</td></tr>" for n, v in pairs if v not in (None, "", ()))
    return f'<div class="pv-scroll"><table><tbody>{rows}</tbody></table></div>' if rows else ""


def cell(value: Any) -> str:
    """What stands in a cell: a fragment as it is, what shows itself as that, a text escaped, others as code.

    >>> cell("a < b"), cell(Html("<b>")), cell(True), cell((4, 2)), cell(2048)
    ('a &lt; b', '<b>', 'yes', '4 × 2', '2048')
    """
    match value:
        case Html():
            return str(value)
        case _ if hasattr(value, "_html"):
            return value._html()
        case bool():
            return "yes" if value else "no"
        case str() | int() | float():
            return escape(str(value))
        case None:
            return ""
        case tuple() if value and all(isinstance(x, int | str) and not isinstance(x, bool) for x in value):
            return escape((" × " if all(isinstance(x, int) for x in value) else ", ").join(map(str, value)))
        case tuple() if value and all(isinstance(x, bool) for x in value):
            return ", ".join(map(cell, value))
        case tuple() | list():
            return "<br>".join(map(cell, value))
    return code(value)


def steps(panels: Sequence[tuple[str, str]], first: int = 0) -> str:
    """Panels of which one is seen at a time, chosen by its label, by arrow keys, or by going on from another one.

    Parameters
    ----------
    panels : labels, texts, with fragments.
    first : which one is seen first.

    Names of buttons are to be unlike those of other steps on the page: they come from what is shown, and of the same
    shown twice from a count.
    """
    if len(panels) < 2:
        return "".join(fragment for _, fragment in panels)
    digest = blake2s("\0".join(f"{a}\0{b}" for a, b in panels).encode(), digest_size=4).hexdigest()
    name = f"pv-{digest}-{next(_NUMBERS)}"
    out = []
    for k, (label, fragment) in enumerate(panels):
        near = ((k - 1, "◂ before"), (k + 1, "next ▸"))
        turns = "".join(f'<label for="{name}-{n}">{t}</label>' for n, t in near if 0 <= n < len(panels))
        out.append(f'<input type="radio" name="{name}" id="{name}-{k}"{" checked" * (k == first)}>'
                   f'<label for="{name}-{k}">{escape(label)}</label>'
                   f'<div class="pv-step">{fragment}<div class="pv-turn pv-faint">{turns}</div></div>')  # fmt: skip
    return f'<div class="pv-steps">{"".join(out)}</div>'


def _class(kind: str) -> str:
    return f' class="pv-{kind}"' if kind else ""
