"""From what was read of a nest to a program: sets, relations and the tree of the original order.

A loop is a band of one member, whose expression is its iterator, or minus the iterator where the loop counts down;
directly nested loops are one band. What stands one below the other is a sequence. A condition has no node: it is in the
domains of its statements.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from polyvolta.sched.errors import NotAffineProgram
from polyvolta.sched.program.assuming import assuming
from polyvolta.sched.program.model import Access, Program, Statement
from polyvolta.sched.program.nests.bodies import Assignment, Element
from polyvolta.sched.program.nests.scope import Scope
from polyvolta.sched.program.nests.values import Value, both, compare, equals
from polyvolta.sched.tree import Band, Filter, Leaf, Member, Node, Schedule, Sequence
from polyvolta.sets import Map, Set, var
from polyvolta.sets.text.formulas import Tree, clauses, conjuncts
from polyvolta.sets.values.space import PARAMS, Space, Tuple, distinct


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement as it was read: the iterators around it, the conditions on them, and what it does."""

    iterators: tuple[str, ...]
    given: tuple[Tree, ...]
    assignment: Assignment
    node: ast.stmt


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop in the order of a nest."""

    iterator: str
    up: bool
    body: Order


Order = list["int | Loop"]  # what runs one after another: numbers of drafts, and loops


def build(
    scope: Scope,
    drafts: list[Draft],
    order: Order,
    assumed: list[Tree],
    context: str | Set | None,
    name: str,
    function: Callable[..., object] | None,
) -> Program:
    """The program of some drafts in an order.

    Raises
    ------
    NotAffineProgram : no statement ever runs, or one has a subscript that is negative wherever it runs.
    """
    params = tuple(p for p in scope.arguments if p in scope.params)
    given = _context(params, assumed, context, scope)
    domains = [_domain(d, params) for d in drafts]
    live = [k for k, d in enumerate(domains) if not d.is_empty()]
    if not live:
        if not drafts:
            raise scope.source.error(
                scope.source.function, "the nest has no statement", "such as C[i, j] += A[i, k] * B[k, j]"
            )
        raise scope.source.error(
            drafts[0].node,
            f"no statement of the nest ever runs{', this one for example' * (len(drafts) > 1)}",
            "whatever the parameters, a range around it is empty or a condition false",
        )
    taken = {*scope.arguments, *scope.local, *scope.iterators, *scope.functions}
    names = dict(zip(live, statement_names(len(live), taken), strict=True))
    statements = {k: _statement(drafts[k], domains[k], names[k], params, scope) for k in live}
    parts = [p for s in statements.values() for p in s.domain.parts]
    tree = _tree(order, {k: s.name for k, s in statements.items()})
    return Program(
        name,
        tuple(statements.values()),
        Schedule(assuming(Set._of(params, parts), given, tree)),
        given,
        scope.arguments,
        tuple(v for v in scope.local if any(a.array == v for s in statements.values() for a in s.accesses)),
        scope.functions,
        function,
    )


def statement_names(number: int, taken: Iterable[str]) -> list[str]:
    """S, or S1 to Sn; with another letter where an array, a parameter or an iterator has such a name.

    >>> statement_names(2, ["A", "N"]), statement_names(1, ["S"])
    (['S1', 'S2'], ['T'])
    """
    letters = (*"STUVWXYZ", *(f"S{'_' * n}" for n in range(1, 99)))
    prefix = next(p for p in letters if not any(re.fullmatch(rf"{p}\d*", n) for n in taken))
    return [prefix] if number == 1 else [f"{prefix}{n}" for n in range(1, number + 1)]


# ---- sets


def _set(space: Tuple, params: tuple[str, ...], tree: Tree) -> Set:
    """The points for which a formula holds."""
    found = conjuncts(clauses(tree), (*params, *space.dims))
    return Set._of(params, [(Space(None, space), tuple(c for c in found if not c.is_empty))])


def _domain(d: Draft, params: tuple[str, ...]) -> Set:
    found = _set(Tuple(None, d.iterators), params, both(d.given))
    return found.coalesce() if len(found.pieces) > 1 else found


def _context(params: tuple[str, ...], assumed: list[Tree], context: str | Set | None, scope: Scope) -> Set:
    found = _set(PARAMS, params, both(assumed))
    if context is None:
        return found
    more = context if isinstance(context, Set) else Set(context)
    foreign = [p for p in more.param_names if p not in params]
    if foreign or more.space.dims:
        raise NotAffineProgram(
            f"the context is a set of the parameters {', '.join(params) or '(there are none)'}",
            where=str(more),
            hint='such as "[N] -> { : N >= 1 }"',
        )
    return (found & more.align_params(params)).align_params(params)


def _statement(d: Draft, domain: Set, name: str, params: tuple[str, ...], scope: Scope) -> Statement:
    space = Tuple(name, d.iterators)
    own = Set._of(params, [(Space(None, space), domain.parts[0][1])])
    for e in (*d.assignment.reads, d.assignment.write):
        for v in e.subscripts:
            _check_sign(e, v, own, d, params, scope)
    reads = dict.fromkeys(access(e, own, params) for e in d.assignment.reads)
    return Statement(
        name,
        d.iterators,
        own,
        tuple(a for a in reads if not a.relation.is_empty()),
        (access(d.assignment.write, own, params),),
        (),
        d.assignment.body,
    )


def access(e: Element, domain: Set, params: tuple[str, ...]) -> Access:
    """The relation of one access, by the cases of its subscripts and conditions."""
    space = domain.space.out
    taken = (*params, *space.dims)
    outs = distinct((f"e{k}" for k in range(len(e.subscripts))), taken)
    pins = [equals(v, var(o)) for v, o in zip(e.subscripts, outs, strict=True)]
    found = conjuncts(clauses(both([*e.given, *pins])), (*taken, *outs))
    relation = Map._of(params, [(Space(space, Tuple(e.array, outs)), found)]).intersect_domain(domain)
    return Access(e.array, relation.coalesce() if len(relation.pieces) > 1 else relation)


def _check_sign(e: Element, v: Value, domain: Set, d: Draft, params: tuple[str, ...], scope: Scope) -> None:
    """Refuse a subscript that is below zero at some instance whatever the parameters are."""
    space = Tuple(None, d.iterators)
    below = _set(space, params, both([*d.given, *e.given, compare(v, "<", Value.of(0))]))
    if not below.is_empty() and domain.params().is_subset(below.params()):
        text = scope.source.text(e.node)
        raise scope.source.error(
            e.node,
            f"a subscript of {text} is negative at the loop's first or last iterations",
            "Python would count it from the end; change the bounds of the loop",
        )


# ---- the order


def _tree(order: Order, names: dict[int, str]) -> Node:
    found = [n for n in (_node(x, names) for x in order) if n is not None]
    if len(found) == 1:
        return found[0][1]
    return Sequence(tuple(Filter(statements, node) for statements, node in found))


def _node(x: int | Loop, names: dict[int, str]) -> tuple[tuple[str, ...], Node] | None:
    """The statements of an item, and their tree; None where there are none."""
    if isinstance(x, int):
        return ((names[x],), Leaf()) if x in names else None
    inside = [n for n in (_node(y, names) for y in x.body) if n is not None]
    if not inside:
        return None
    statements = tuple(s for ss, _ in inside for s in ss)
    child = inside[0][1] if len(inside) == 1 else Sequence(tuple(Filter(ss, n) for ss, n in inside))
    member = Member(tuple((s, var(x.iterator) * (1 if x.up else -1)) for s in statements))
    if isinstance(child, Band):
        return statements, Band((member, *child.members), child.child)
    return statements, Band((member,), child)
