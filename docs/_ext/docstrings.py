"""The package's docstrings as reStructuredText.

They are plain English with backticks, numpydoc's sections and examples; what else stands in them means itself. So all
marks but backticks are escaped, an indented block after a blank line is shown as it stands, and a section becomes a
field: of definitions where its lines have the form `name : what it is`, else of paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DEFINITIONS = ("Parameters", "Attributes", "Raises", "Warns")
_LITERAL = re.compile(r"(``.*?``|`[^`]*`)")
_MARK = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")
_NAMES = re.compile(r"(?P<names>[\w*.]+(?:, [\w*.]+)*) : (?P<text>\S.*)")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _escaped(line: str) -> str:
    parts = _LITERAL.split(line)
    return "".join(p if k % 2 else _MARK.sub(r"\\\1", p) for k, p in enumerate(parts))


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines without a blank one; an item of a list begins one of its own."""
    found: list[str] = []
    for line in lines:
        item = line.lstrip().startswith("- ") and not (found and found[0].startswith(">>>"))
        if found and (item or not line.strip()):
            yield found
            found = []
        if line.strip():
            found.append(line)
    if found:
        yield found


def prose(lines: list[str]) -> list[str]:
    """Paragraphs, lists and examples; trees, tables and whatever else is indented, as it stands.

    >>> print(*prose(["Two |x| of:", "", "    a  *b", "", "- one", "  more", "- two"]), sep="\\n")
    Two \\|x\\| of:
    <BLANKLINE>
    ::
    <BLANKLINE>
        a  *b
    <BLANKLINE>
    - one
      more
    <BLANKLINE>
    - two
    <BLANKLINE>
    """
    found: list[str] = []
    in_list = verbatim = False
    for paragraph in _paragraphs(lines):
        first = _indent(paragraph[0])
        item = paragraph[0].lstrip().startswith("- ") and (first == 0 or in_list)
        if paragraph[0].startswith((">>>", "...")):
            found += [*paragraph, ""]
            in_list = verbatim = False
        elif item or in_list and first:
            found += [*map(_escaped, paragraph), ""]
            in_list, verbatim = True, False
        elif any(_indent(line) for line in paragraph):  # one with what is before it, if that is verbatim, too
            found += [] if verbatim and first else ["::", ""]
            found += [*("    " * (not first) + line for line in paragraph), ""]
            in_list, verbatim = False, True
        else:
            found += [*map(_escaped, paragraph), ""]
            in_list = verbatim = False
    return found


def _named(names: str, title: str) -> str:
    return ", ".join(f":py:exc:`~.{n}`" if title == "Raises" else f"``{n}``" for n in names.split(", "))


def section(title: str, body: list[str]) -> list[str]:
    """A field of one of numpydoc's sections."""
    while body and not body[-1].strip():
        body.pop()
    found = [f":{title}:"]
    if title not in DEFINITIONS:
        return [*found, *("    " + line if line else "" for line in prose(body)), ""]
    k = 0
    while k < len(body):
        entry = [body[k], *takewhile(lambda x: not x.strip() or _indent(x) > 0, body[k + 1 :])]
        k += len(entry)
        match = _NAMES.fullmatch(entry[0])
        rest = [line[min(_indent(line), 4) :] for line in entry[1:]]
        if match:
            found += ["    " + _named(match["names"], title)]
            rest = [match["text"], *rest]
        elif re.fullmatch(r"[\w*.]+(?:, [\w*.]+)*", entry[0]):
            found += ["    " + _named(entry[0], title)]
        else:
            found += ["    " + line for line in prose(entry)]
            found.append("")
            continue
        found += ["        " + line if line else "" for line in prose(rest)]
        found.append("")
    return [*found, ""]


def restructured(lines: list[str]) -> list[str]:
    """A docstring in this package's form as reStructuredText."""
    starts = [k for k in range(len(lines) - 1)
              if re.fullmatch(r"[A-Z][A-Za-z ]+", lines[k]) and re.fullmatch(r"-{3,}", lines[k + 1])]  # fmt: skip
    found = prose(lines[: starts[0]] if starts else lines)
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        body = lines[start + 2 : end]
        after = next((k for k in range(1, len(body)) if body[k].strip() and not body[k - 1].strip()
                      and not _indent(body[k])), len(body))  # fmt: skip
        found += ["", *section(lines[start], body[:after]), *prose(body[after:])]
    return found


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
