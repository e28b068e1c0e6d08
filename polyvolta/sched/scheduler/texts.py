"""isl's texts of schedule constraints: a set and relations by their keys, in quotes or without.

{ domain: "[N] -> { S[i] : 0 <= i < N }", validity: "{ S[i] -> S[i + 1] }", proximity: "{ S[i] -> S[i + 1] }" }

# a comment
domain: [N] -> { S[i] : 0 <= i
  and i < N }
validity: { S[i] -> S[i + 1] }
"""

from __future__ import annotations

import re
from typing import Any

from polyvolta.sched.errors import TreeSyntaxError
from polyvolta.sets import Map, Set, nearest
from polyvolta.sets.text.tokens import syntax_error

ARGUMENTS = {
    "domain": "program", "context": "context", "validity": "validity", "proximity": "proximity",
    "coincidence": "coincidence", "condition": "conditional_validity_condition",
    "conditional_validity": "conditional_validity",
}  # fmt: skip
"""What isl calls the arguments of `schedule`."""

KEY = re.compile(r"[\s,]*[\"']?([A-Za-z_]\w*)[\"']?\s*:\s*")
VALUE = re.compile(r"\"([^\"]*)\"|'([^']*)'|((?:\[[^\[\]]*\]\s*->\s*)?\{[^{}]*\}|[^\n]*)")
COMMENT = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)


def says_constraints(value: object) -> bool:
    """Whether something is a text with a key for the domain, and no program's.

    >>> says_constraints('domain: "{ S[i] }"'), says_constraints("def f(A): ..."), says_constraints(3)
    (True, False, False)
    """
    return isinstance(value, str) and re.search(r"\bdomain[\"']?\s*:", value) is not None


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of `schedule` that a text says.

    Raises
    ------
    TreeSyntaxError : it says none, one twice, or no domain.
    SetSyntaxError : a set or relation is none.

    >>> for name, value in arguments_of('{ domain: "{ S[i] }", condition: "{ S[i] -> S[i + 1] }" }').items():
    ...     print(name, value)
    program { S[i] }
    conditional_validity_condition { S[i] -> S[i + 1] }
    """
    text = COMMENT.sub(lambda found: " " * len(found[0]), text)  # what stands behind keeps its place, for errors
    at, end = 0, len(text.rstrip())
    if text.lstrip()[:1] == "{" and text[end - 1 : end] == "}":
        at, end = text.index("{") + 1, end - 1
    found: dict[str, Any] = {}
    while text[at:end].strip(" \t\n,"):
        key = KEY.match(text, at, end)
        value = key and VALUE.match(text, key.end(), end)
        if key is None or value is None:
            raise _mistake(text, end - len(text[at:end].lstrip()), "expected 'key: \"value\"'")
        argument = ARGUMENTS.get(key[1])
        if argument is None or argument in found:
            hint = "" if argument else nearest(key[1], ARGUMENTS) or f"known: {', '.join(ARGUMENTS)}"
            raise _mistake(text, key.start(1), f"{'a second' if argument else 'unknown'} key {key[1]!r}", hint)
        said = next(g for g in value.groups() if g is not None)
        found[argument] = (Set if key[1] in ("domain", "context") else Map)(said)
        at = value.end()
    if "program" not in found:
        raise _mistake(text, 0, "schedule constraints have a domain", 'domain: "{ S[i] : 0 <= i < 8 }"')
    return found


def _mistake(text: str, at: int, message: str, hint: str = "") -> TreeSyntaxError:
    wrong = syntax_error(text, at, message, hint)
    return TreeSyntaxError(wrong.message, where=wrong.where, hint=wrong.hint)
