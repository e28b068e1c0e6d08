"""What statements access, read from their bodies: for a tree that stands alone.

`C[i, j] += A[i, k] * B[k, j]` of S[i, j, k] reads C[i, j], A[i, k] and B[k, j] and writes C[i, j]. It is read as the
text of a nest is (`nests.bodies`), so that choices by affine conditions are exact, and what is not affine is refused.
A name that some body assigns without a subscript is an array without dimensions.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from polyvolta.sched.errors import BadProgram
from polyvolta.sched.program.model import Access
from polyvolta.sched.program.nests.bodies import assignment
from polyvolta.sched.program.nests.build import access
from polyvolta.sched.program.nests.scope import Scope, usual
from polyvolta.sched.program.nests.source import Source
from polyvolta.sets import Set, nearest

Assignments = ast.Assign | ast.AugAssign | ast.AnnAssign


def accesses_of_bodies(
    domain: Set, bodies: Mapping[str, str], functions: Mapping[str, object]
) -> dict[str, tuple[tuple[Access, ...], tuple[Access, ...]]]:
    """By statement, what its body reads and what it writes.

    Parameters
    ----------
    functions : what names in the bodies stand for, besides Python's built-ins and those of `math`.

    Raises
    ------
    NotAffineProgram : a body that is something else than assignments of elements, or has a part that is not affine.
    BadProgram : a body that is no Python, a subscript with a name that is no iterator and no parameter.

    >>> found = accesses_of_bodies(Set("{ S[i] : 0 < i < 9 }"), {"S": "A[i] = 2 * A[i - 1]"}, {})
    >>> reads, writes = found["S"]
    >>> print(*(a.relation for a in reads), *(a.relation for a in writes))
    { S[i] -> A[i - 1] : 1 <= i <= 8 } { S[i] -> A[i] : 1 <= i <= 8 }
    """
    sources = {s: _source(s, text) for s, text in bodies.items()}
    names = [n for x in sources.values() for n in ast.walk(x.function) if isinstance(n, ast.Name)]
    assigned = tuple(dict.fromkeys(n.id for n in names if isinstance(n.ctx, ast.Store)))
    ranks: dict[str, int] = {}
    found = {}
    for space, _ in domain.parts:
        name = str(space.out.name)
        if name in sources:
            scope = _scope(sources[name], space.out.dims, domain.param_names, assigned, {**usual(), **functions})
            scope.ranks = ranks
            found[name] = _accesses(scope, domain.only(name))
    return found


def _accesses(scope: Scope, domain: Set) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """What the assignments of one body read and write."""
    params, reads, writes = domain.param_names, {}, {}
    for node in scope.source.function.body:
        if isinstance(node, ast.Pass):
            continue
        if not isinstance(node, Assignments):
            raise scope.source.error(node, "a body is made of assignments", "such as C[i, j] += A[i, k] * B[k, j]")
        made = assignment(node, scope)
        foreign = next((p for p in scope.params if p not in params), None)
        if foreign is not None:
            raise BadProgram(
                f"a subscript has {foreign}, which is no iterator and no parameter of the domain",
                where=ast.unparse(node),
                hint=nearest(foreign, (*scope.loops, *params)),
            )
        reads |= dict.fromkeys(access(e, domain, params) for e in made.reads)
        writes |= dict.fromkeys([access(made.write, domain, params)])
    return tuple(a for a in reads if not a.relation.is_empty()), tuple(writes)


def _source(statement: str, text: str) -> Source:
    """A body as the text of a function."""
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise BadProgram(f"the body of {statement} is no Python: {error.msg}", where=text) from None
    none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.FunctionDef(name=statement, args=none, body=body, decorator_list=[])
    return Source(function, tuple(text.splitlines()), f"the body of {statement}", 1)


def _scope(
    source: Source,
    iterators: tuple[str, ...],
    params: tuple[str, ...],
    assigned: tuple[str, ...],
    outside: Mapping[str, object],
) -> Scope:
    """The names of a body: all are arguments that are no iterators, not assigned and not known from outside."""
    nodes = list(ast.walk(source.function))
    arrays = set()
    for node in (n for n in nodes if isinstance(n, ast.Subscript)):
        base = node.value
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name):
            arrays.add(base.id)
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    modules = {id(n.value) for n in nodes if isinstance(n, ast.Attribute)}
    names = [n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in called | modules]
    inside = {*iterators, *assigned}
    arguments = tuple(n for n in dict.fromkeys([*names, *params]) if n not in inside)
    return Scope(source, arguments, outside, frozenset(arrays), assigned, frozenset(iterators), list(iterators),
                 dict.fromkeys(params))  # fmt: skip
