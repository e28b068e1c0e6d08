"""The words of a line in the paper's notation, for views that set them apart.

BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/32⌋]
kind  tuple         mapped      mapped
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from polyvolta.sched.nodes import relations
from polyvolta.sched.tree import Band, Domain, Expansion, Extension, Node, Schedule

Kind = Literal["kind", "tuple", "param", "mapped", "name", "word", "number", "sign", "text"]

WORD = re.compile(r"(?P<name>[A-Za-z_][\w.]*'*)|(?P<number>\d+)|(?P<sign>→|->|∧|≤|≥|<=|>=|[:;<>=])|(?P<text>\s+|.)")
HEAD = re.compile(r"[A-Z]{3,}(?=:|$)")
CONNECTIVES = frozenset(
    {"and", "or", "not", "exists", "mod", "true", "false", "isolate", "separate", "atomic", "unroll"}
)


class Vocabulary:
    """The names that a tree's lines mention and what they are."""

    def __init__(self, *trees: Schedule) -> None:
        self.params: set[str] = set()
        self.mapped: set[str] = set()
        self.statements: set[str] = set()
        for tree in trees:
            for _, node in tree.walk():
                self._learn(node)

    def _learn(self, node: Node) -> None:
        for r in relations(node):
            self.params |= set(r.param_names)
            if isinstance(node, Domain | Extension | Expansion):
                self.statements |= {str(s.out.name) for s, _ in r.parts}
        if isinstance(node, Band):
            self.mapped |= {m.name for m in node.members if m.name}
            self.statements |= set(node.statements)

    def words(self, line: str) -> Iterator[tuple[Kind, str]]:
        """The pieces of a line, which together are the line."""
        head = HEAD.match(line)
        if head:
            yield "kind", head[0]
            if head[0] == "MARK":
                yield "sign", ":"
                yield "name", line[head.end() + 1 :]
                return
        for m in WORD.finditer(line, head.end() if head else 0):
            text = m.group()
            if m["name"] is None:
                yield ("number" if m["number"] else "sign" if m["sign"] else "text"), text
            elif text in self.mapped:
                yield "mapped", text
            elif text in self.statements and line[m.end() : m.end() + 1] == "[":
                yield "tuple", text
            elif text in CONNECTIVES:
                yield "word", text
            else:
                yield ("param" if text in self.params else "name"), text
