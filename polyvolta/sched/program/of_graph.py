"""Programs from graphs of operations.

The operations of a graph are statements already, with sets and relations; here they get an order, one after another,
each in the order of its iterators, and their expression trees become Python text:

    mul_acc(C[i, j], A[i, k], B[k, j])   C[i, j] += A[i, k] * B[k, j]
    relu(add(C[i, j], bias[j]))          D[i, j] = relu(C[i, j] + bias[j])

A product adds to what its array holds, so that the arrays of products start at 0. Results that are no outputs of the
graph are local. An expression of more than `LARGEST` parts, written out, becomes the call of a function of what it
reads: what is used several times is written as often, so that a text may be exponentially longer than its expression.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING, Any

from polyvolta.sched.errors import BadProgram
from polyvolta.sched.program.from_map import textual_order
from polyvolta.sched.program.model import Access, Program, Statement
from polyvolta.sched.tree import Domain, Schedule
from polyvolta.sets import Set
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.graph.dag import Graph

LARGEST = 200  # operations and leaves of an expression that is written out
OPERATORS: dict[str, type[ast.operator]] = {"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult}


def of(statements: Graph | Iterable[Any], name: str = "program") -> Program:
    """The program of a graph, or of some statements of graphs.

    Parameters
    ----------
    statements : of a graph, outputs are known, and other results are local; of statements alone, all results stay.

    Raises
    ------
    BadProgram : there is no statement, or two have one name; or it is something else.

    Cost: linear in the statements.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.dag import Graph
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
    >>> print(of(Graph.of(pv.relu(A @ B))))
    program(A, B, D, M, N, K)
      S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
        C[i, j] += A[i, k] * B[k, j]
        reads  C[i, j]; A[i, k]; B[k, j]
        writes C[i, j]
      S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
        D[i, j] = relu(C[i, j])
        reads  C[i, j]
        writes D[i, j]
      local C
      order
        SEQUENCE
          FILTER: S1[i, j, k]
            BAND: S1[i, j, k] → [i, j, k]
          FILTER: S2[i, j]
            BAND: S2[i, j] → [i, j]
    """
    graph: Any = statements if hasattr(statements, "outputs") else None
    found = getattr(statements, "statements", statements)
    listed = tuple(found) if isinstance(found, Iterable) else (found,)
    for s in listed:
        if not (hasattr(s, "reads") and hasattr(s, "write")):
            message = f"a program is made of a graph or of its statements, not of {kind_of(s)}"
            raise BadProgram(message, where=repr(s), hint="Program.parse reads relations, nest a function")
    if not listed:
        raise BadProgram("a program has at least one statement")
    functions: dict[str, Callable[..., Any] | None] = {
        f: None for s in listed for f, _ in getattr(s, "definitions", ())
    }
    made = tuple(_statement(s, functions) for s in listed)
    params = tuple(dict.fromkeys(p for s in made for p in s.domain.param_names))
    domain = Set._of(params, [p for s in made for p in s.domain.align_params(params).parts])
    arrays = tuple(dict.fromkeys(a.array for s in made for a in s.accesses))
    written = tuple(dict.fromkeys(a.array for s in made for a in s.writes))
    if graph is not None:
        outputs = tuple(t.name for t in graph.outputs)
        local = tuple(a for a in written if a not in outputs)
        arguments = (*(t.name for t in graph.arguments), *outputs)
    else:
        local, arguments = (), arrays
    meaning: dict[str, object] = {}
    if functions:
        from polyvolta.graph.functions.meaning import MEANING

        meaning = {f: own or MEANING[f] for f, own in functions.items() if own or f in MEANING}
        for s in listed:
            meaning |= {f: _defined(formula) for f, formula in getattr(s, "definitions", ())}
    order = Schedule(Domain(domain, textual_order(domain)))
    context = Set("{ : }").align_params(params)
    return Program(name, made, order, context, (*arguments, *params), local, meaning)


def _defined(formula: Any) -> Callable[..., Any]:
    """A user's own function of numbers."""
    from polyvolta.graph.functions.meaning import evaluate

    return lambda *operands: evaluate(formula, operands, "float64")


def _statement(s: Any, functions: dict[str, Callable[..., Any] | None]) -> Statement:
    reads = tuple(Access(a.tensor, a.relation) for a in s.reads)
    return Statement(
        s.name,
        tuple(s.iterators),
        s.domain,
        reads,
        (Access(s.write.tensor, s.write.relation),),
        (),
        _body(s, functions),
    )


def _body(s: Any, functions: dict[str, Callable[..., Any] | None]) -> str | None:
    """The operation as a Python statement; None when it is not known."""
    tree = getattr(s, "tree", None)
    if tree is None:
        return None
    written = s.write.element
    target = _element(written)
    if s.is_matmul and tree.operands[0] is written:
        left, right = (_value(s, x, functions) for x in tree.operands[1:])
        made: ast.stmt = ast.AugAssign(target, ast.Add(), ast.BinOp(left, ast.Mult(), right))
    else:
        made = ast.Assign([target], _value(s, tree, functions))
    return ast.unparse(ast.fix_missing_locations(made))


def _value(s: Any, e: Any, functions: dict[str, Callable[..., Any] | None]) -> ast.expr:
    """A side of a statement, written out or as the call of a function that computes it."""
    if not _is_long(e):
        return _text(e, functions)
    from polyvolta.graph.statements import formula_of

    accesses, scalars, formula = formula_of(s, e)
    taken = {*functions, *scalars, *s.domain.param_names, s.write.tensor, *(a.tensor for a in s.reads)}
    name = next(n for n in (f"compute_{s.name}{'_' * p}" for p in count()) if n not in taken)
    functions[name] = _defined(formula)
    operands = [*(_element(a.element) for a in accesses), *(ast.Name(x, ast.Load()) for x in scalars)]
    return ast.Call(ast.Name(name, ast.Load()), operands, [])


def _is_long(e: Any) -> bool:
    """Whether more than `LARGEST` parts are written for a tree. Cost: linear in its distinct nodes."""
    from polyvolta.graph.terms import Apply, postorder

    parts: dict[Any, int] = {}
    for node in postorder(e):
        inner = node.operands if isinstance(node, Apply) else ()
        parts[node] = min(1 + sum(parts[x] for x in inner), LARGEST + 1)
    return parts[e] > LARGEST


def _text(e: Any, functions: dict[str, Callable[..., Any] | None]) -> ast.expr:
    """A tree as Python's."""
    from polyvolta.graph.terms import Element, Scalar, Value

    match e:
        case Element():
            return _element(e)
        case Value(value):
            return ast.Constant(int(value) if value.is_integer() else value)
        case Scalar(own):
            return ast.Name(own, ast.Load())
    name, operands = e.function, [_text(x, functions) for x in e.operands]
    if name == "mul_acc":
        return ast.BinOp(operands[0], ast.Add(), ast.BinOp(operands[1], ast.Mult(), operands[2]))
    if name in OPERATORS and len(operands) == 2:
        return ast.BinOp(operands[0], OPERATORS[name](), operands[1])
    if name == "neg":
        return ast.UnaryOp(ast.USub(), operands[0])
    functions[name] = None
    return ast.Call(ast.Name(name, ast.Load()), operands, [])


def _element(element: Any) -> ast.Subscript | ast.Name:
    """`C[i, j]`; a tensor without dimensions is a scalar."""
    found = ast.parse(str(element), mode="eval").body
    assert isinstance(found, ast.Subscript | ast.Name)
    return found
