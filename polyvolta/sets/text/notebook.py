"""How sets, maps and expressions look in a notebook.

The text stays the one that `print` shows, so that it can be copied into a program; names of parameters are slanted,
names of tuples bold, keywords and punctuation faint, and each piece stands on a line of its own. Everything is said
by weight, slant and opacity, not by colours, and reads on a light and on a dark page alike.
"""

from __future__ import annotations

import re
from html import escape

from .tokens import FUNCTIONS, KEYWORDS

WORD = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_.]*'*)(?P<tuple>\[)?|(?P<mark>->|→|[{}:;∧])|.", re.DOTALL)
MOST_LINES = 60


def html(text: str) -> str:
    """What `print` shows of a relation or an expression, marked up.

    >>> html("[N] -> { S[i] : i < N }").count("<i>N</i>")
    2
    """
    head, lines = _lines(text)
    params = frozenset(re.findall(r"[A-Za-z_][A-Za-z0-9_.]*'*", head))
    if len(lines) > MOST_LINES:
        lines[MOST_LINES - 1 : -1] = [f"... {len(lines) - MOST_LINES} more pieces ..."]
    indent = "\n" + " " * (text.find("{") + 2)
    body = indent.join(_marked(line, params) for line in lines)
    if len(lines) == 1:
        return f"<code>{body}</code>"
    return f'<pre style="margin:0;background:none;color:inherit;white-space:pre-wrap">{body}</pre>'


def _lines(text: str) -> tuple[str, list[str]]:
    """The parameters' part of a text, and the text cut behind every `;` between two pieces."""
    head = text[: text.find("{")] if "{" in text else ""
    lines, depth, start = [], 0, 0
    for k, t in enumerate(text):
        depth += (t in "([{") - (t in ")]}")
        if t == ";" and depth == 1:
            lines.append(text[start : k + 1])
            start = k + 2
    return head, [*lines, text[start:]]


def _marked(line: str, params: frozenset[str]) -> str:
    out = []
    for m in WORD.finditer(line):
        name, text = m["name"], escape(m.group())
        if name is None:
            out.append(f'<span style="opacity:.55">{text}</span>' if m["mark"] else text)
        elif m["tuple"]:
            out.append(f"<b>{escape(name)}</b>[")
        elif name in params:
            out.append(f"<i>{escape(name)}</i>")
        elif name in KEYWORDS and name not in FUNCTIONS:
            out.append(f'<span style="opacity:.55">{text}</span>')
        else:
            out.append(text)
    return "".join(out)
