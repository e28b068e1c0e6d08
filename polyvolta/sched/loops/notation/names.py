"""The names in loops, and how a language spells those that are none in it.

for (int c0 = 0; c0 < int; c0 += 1)       =>      for (int c0 = 0; c0 < int_; c0 += 1)
  for(c0, N');                                      _for(c0, N_);
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from keyword import iskeyword, kwlist

from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Bound, Call, Choice, Condition, Extreme, For, If, nodes, within
from polyvolta.sched.loops.notation.widths import Loops
from polyvolta.sched.wrapped import word

KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main "
    "asm typeof linux unix _Bool _Complex _Imaginary bool true false nullptr NULL "
    "floord modd floordiv floormod min max".split()
)
"""C's own, those of gcc, and the macros of a text of loops."""

RESERVED = KEYWORDS.union(kwlist)
"""What no text of loops calls anything, in C or in Python."""


def in_c(loops: Loops) -> dict[str, str]:
    """How C spells the names of loops, of their parameters and statements, that are none in it.

    Names that members are mapped to, such as `threadIdx.x`, are what they are.

    >>> from polyvolta.sched.loops.result import Scan
    >>> from polyvolta.sets import var
    >>> in_c(Scan((Call("for", (var("N'"), var("c0"))),)))
    {"N'": 'N_', 'for': '_for'}
    >>> in_c(Scan((Call("lambda", (var("in"), var("c0"))),)))  # words of Python alone
    {}
    """
    if loops.plain:
        return {}
    called = set(map(word, statements(loops.body))) - {""}  # of isl's only statement without a name
    names = (free_names(loops.body) | {*variables(loops.body)}).difference(loops.extents)
    return spelled(sorted(names | called), (*KEYWORDS, *loops.extents), python=False)


def plain(names: Iterable[str]) -> bool:
    """Whether all are names in C and in Python, and mean nothing else there."""
    return all(name.isidentifier() and name not in RESERVED for name in names)


def spelled(names: Sequence[str], taken: Collection[str] = (), python: bool = True) -> dict[str, str]:
    """Other spellings of the names that are no identifiers or are taken; by words of Python, too, if it reads them."""
    table: dict[str, str] = {}
    others = [name for name in names if not name.isidentifier() or (python and iskeyword(name)) or name in taken]
    used = {*names, *taken} if others else set()
    for name in others:
        new = re.sub(r"\W", "_", name)
        if not new[:1].isidentifier() or iskeyword(new):
            new = f"_{new}"
        while new in used:
            new += "_"
        used.add(new)
        table[name] = new
    return table


def variables(body: Sequence[Ast]) -> list[str]:
    """The loop variables, each once, in the order in which they appear."""
    return list(dict.fromkeys([node.var for node in nodes(body) if isinstance(node, For)]))


def statements(body: Sequence[Ast]) -> set[str]:
    """The statements that are called."""
    return {node.statement for node in nodes(body) if isinstance(node, Call)}


def free_names(body: Sequence[Ast]) -> set[str]:
    """The names that an AST uses and that no loop of it binds."""
    found: set[str] = set()
    for node in body:
        match node:
            case Call(args=args):
                found.update(*(e.names() for e in args))
            case If(conditions):
                found |= _condition_names(conditions) | free_names(within(node))
            case For(v, lower, upper, body=inner):
                found |= _bound_names((*lower, *upper)) | (free_names(inner) - {v})
            case Block(body=inner):
                found |= free_names(inner)
    return found


def _bound_names(bounds: Sequence[Bound]) -> set[str]:
    found: set[str] = set()
    for b in bounds:
        match b:
            case Extreme(_, terms):
                found |= _bound_names(terms)
            case Choice(conditions, then, other):
                found |= _condition_names(conditions) | _bound_names((then, other))
            case _:
                found |= b.names()
    return found


def _condition_names(conditions: Sequence[Condition]) -> set[str]:
    found: set[str] = set()
    for c in conditions:
        if isinstance(c, AnyOf):
            found.update(*map(_condition_names, c.alternatives))
        else:
            found |= c[1].names()
    return found
