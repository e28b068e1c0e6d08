"""`nest`: a Python loop nest as a program.

    @nest
    def gemm(A, B, C, M, N, K):
        for i in range(M):
            for j in range(N):
                for k in range(K):
                    C[i, j] += A[i, k] * B[k, j]

    print(gemm)                   # the program: instances, accesses, order
    gemm(A, B, C, 64, 64, 64)     # still the function

The function's text is read, not run. Loops go over ranges with affine bounds and constant steps, conditions are
affine, statements assign elements `A[i, j]` or scalars; what is something else is refused with the line. An `assert` on
parameters in front of the loops says what may be assumed of them.

Statements are called S1, S2, ... in the order of the text, a single one S. Arrays are taken to be distinct, and
subscripts to stay inside their arrays; one that is negative wherever its statement runs is refused, for Python would
count it from the array's end. A statement that never runs is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import overload

from polyvolta.sched.program.model import Program
from polyvolta.sched.program.nests.affine import condition, integer
from polyvolta.sched.program.nests.bodies import assignment
from polyvolta.sched.program.nests.build import Draft, Loop, Order, build
from polyvolta.sched.program.nests.scope import Scope, surroundings, usual
from polyvolta.sched.program.nests.source import Source, no_python, parse_source, source_of
from polyvolta.sched.program.nests.values import Value, compare, equals, negated
from polyvolta.sets import Set, aff, var
from polyvolta.sets.text.formulas import Tree

REFUSED = {
    ast.While: ("a while loop has no affine bounds", "write `for i in range(...)`"),
    ast.Break: ("a loop that is left early runs as often as the data say", "put the condition into the bounds"),
    ast.Continue: ("`continue` is not read", "turn the condition round and put the rest below it"),
    ast.Return: ("a nest returns no value: its results are in its arrays", "write to an array that is an argument"),
    ast.FunctionDef: ("a function inside a nest", "define it outside"),
    ast.With: ("`with` is no part of a nest", ""),
    ast.Try: ("`try` is no part of a nest", ""),
    ast.Delete: ("`del` is no part of a nest", ""),
    ast.Raise: ("`raise` is no part of a nest", ""),
    ast.Match: ("`match` is no part of a nest", "write if and elif"),
    ast.Import: ("`import` is no part of a nest", "import outside"),
    ast.ImportFrom: ("`import` is no part of a nest", "import outside"),
    ast.Global: ("a nest has no variables outside", "pass an array"),
    ast.Nonlocal: ("a nest has no variables outside", "pass an array"),
}


@overload
def nest(function: Callable[..., object], /) -> Program: ...
@overload
def nest(
    *, context: str | Set | None = None, name: str | None = None
) -> Callable[[Callable[..., object]], Program]: ...
def nest(
    function: Callable[..., object] | None = None,
    /,
    *,
    context: str | Set | None = None,
    name: str | None = None,
) -> Program | Callable[[Callable[..., object]], Program]:
    """The program that a Python function of loops is: a decorator, `@nest` or `@nest(context="[N] -> { : N > 0 }")`.

    Parameters
    ----------
    context : what may be assumed of the parameters, besides what asserts in the function say.
    name : what the program is called, if not like the function.

    Raises
    ------
    NotAffineProgram : a part of the function is not affine, which is shown; or its text is not to be had.

    Cost: linear in the text, and a few emptiness tests for each access.

    >>> from polyvolta.sched import nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> print(chain)
    chain(A, N)
      S[i] : 1 ≤ i < N
        A[i] = A[i - 1]
        reads  A[i - 1]
        writes A[i]
      order
        BAND: S[i] → [i]
    """
    if function is None:
        return lambda f: nest_of(f, context, name)
    return nest_of(function, context, name)


def nest_of(function: Callable[..., object], context: str | Set | None, name: str | None) -> Program:
    """See `nest`."""
    return _read(source_of(function), surroundings(function), context, name, function)


def nest_from_source(
    text: str, names: Mapping[str, object] | None = None, *, context: str | Set | None = None, name: str | None = None
) -> Program:
    """The program of a function's text; see `nest`.

    Parameters
    ----------
    names : what names that are not the function's own stand for, besides Python's built-ins and those of `math`.

    Raises
    ------
    NotAffineProgram : the text is no function, or a part of it is not affine, which is shown.

    >>> gemm = nest_from_source('''
    ... def gemm(A, B, C, M, N, K):
    ...     for i in range(M):
    ...         for j in range(N):
    ...             for k in range(K):
    ...                 C[i, j] += A[i, k] * B[k, j]
    ... ''')
    >>> print(gemm.domain)
    [M, N, K] -> { S[i, j, k] : 0 <= i < M and 0 <= j < N and 0 <= k < K }
    """
    source = parse_source(text)
    names_given: set[str] = set()
    for x in (y for y in ast.walk(source.function.args) if isinstance(y, ast.arg)):
        if x.arg in names_given:
            raise source.error(x, f"a second argument is called {x.arg}")
        names_given.add(x.arg)
    outside = {**usual(), **(names or {})}
    space = dict(outside)
    module = ast.Module([source.function], [])
    source.function.decorator_list.clear()
    for node in ast.walk(source.function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    source.function.returns = None
    try:
        exec(compile(module, source.file, "exec"), space)  # noqa: S102 - the user's own function, defined and not run
    except SyntaxError as error:
        raise no_python(error, text) from None
    except Exception as error:  # whatever the text of a default value does
        raise source.error(source.function, f"a default value: {error}") from None
    return _read(source, outside, context, name, space[source.function.name])  # type: ignore[arg-type]


def _read(
    source: Source,
    outside: Mapping[str, object],
    context: str | Set | None,
    name: str | None,
    function: Callable[..., object],
) -> Program:
    walk = _Walk(Scope.of(source, outside))
    order = walk.block(source.function.body, ())
    if walk.scope.undecided:  # now it is known what the parameters are
        known = walk.scope.params
        walk = _Walk(Scope.of(source, outside))
        walk.scope.params.update(known)
        order = walk.block(source.function.body, ())
    return build(walk.scope, walk.drafts, order, walk.assumed, context, name or source.function.name, function)


class _Walk:
    """Reads the statements of the function, top down; collects drafts of the program's statements."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.drafts: list[Draft] = []
        self.assumed: list[Tree] = []

    def refused(self, node: ast.AST, message: str, hint: str = "") -> Exception:
        return self.scope.source.error(node, message, hint)

    def block(self, body: list[ast.stmt], given: tuple[Tree, ...]) -> Order:
        """The statements of a block, under conditions."""
        out: Order = []
        for node in body:
            out += self.statement(node, given)
        return out

    def statement(self, node: ast.stmt, given: tuple[Tree, ...]) -> Order:
        match node:
            case ast.For():
                return self.loop(node, given)
            case ast.If():
                holds = condition(node.test, self.scope)
                return [*self.block(node.body, (*given, holds)), *self.block(node.orelse, (*given, negated(holds)))]
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                made = assignment(node, self.scope)
                self.drafts.append(Draft(tuple(self.scope.loops), given, made, node))
                return [len(self.drafts) - 1]
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return []
            case ast.Return(value=None) if node is self.scope.source.function.body[-1]:
                return []
            case ast.Return(value=None):
                raise self.refused(node, "a nest that is left early", "put the rest below the opposite condition")
            case ast.Assert():
                self.assertion(node, given)
                return []
            case ast.Expr(value=ast.Call()):
                raise self.refused(node, "a call that assigns nothing", "write C[i, j] = f(...)")
            case ast.Expr():
                raise self.refused(node, "an expression that assigns nothing")
        message, hint = REFUSED.get(type(node), (f"{type(node).__name__} is no part of a nest", ""))
        raise self.refused(node, message, hint)

    def assertion(self, node: ast.Assert, given: tuple[Tree, ...]) -> None:
        """What is asserted of parameters alone, in front of all loops, may be assumed."""
        if given or self.scope.loops or self.drafts:
            raise self.refused(node, "an assertion inside the nest", "assert what holds of parameters in front of it")
        self.assumed.append(condition(node.test, self.scope, "assertion"))

    def loop(self, node: ast.For, given: tuple[Tree, ...]) -> Order:
        scope = self.scope
        if node.orelse:
            raise self.refused(node.orelse[0], "a loop with `else`", "put it behind the loop")
        if not isinstance(node.target, ast.Name):
            raise self.refused(node.target, "a loop has one iterator", "for i in range(...)")
        name = node.target.id
        if name in scope.loops:
            raise self.refused(
                node.target, f"the iterator {name} of a loop around this one is assigned", "take another name"
            )
        if name in scope.arguments:
            raise self.refused(node.target, f"the argument {name} is assigned by a loop", "take another name")
        bounds, step = self.range(node.iter, name)
        scope.loops.append(name)
        body = self.block(node.body, (*given, *bounds))
        scope.loops.pop()
        return [Loop(name, step > 0, body)] if body else []

    def range(self, node: ast.expr, name: str) -> tuple[tuple[Tree, ...], int]:
        """What the bounds of a loop say of its iterator, and its step."""
        match node:
            case ast.Call(func=ast.Name(id="range")) if "range" in (*self.scope.known, *self.scope.iterators):
                raise self.refused(node.func, "range is an argument or assigned in the nest", "take another name")
            case ast.Call(func=ast.Name(id="range")) if self.scope.outside.get("range") is range:
                pass
            case _:
                raise self.refused(
                    node, f"a loop goes over a range, not over {ast.unparse(node)}", "for i in range(...)"
                )
        if node.keywords or not 1 <= len(node.args) <= 3 or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.refused(node, "a range has one to three bounds", "range(stop), range(start, stop, step)")
        values = [integer(a, self.scope, "step" if k == 2 else "bound") for k, a in enumerate(node.args)]
        start, stop = (Value.of(0), values[0]) if len(values) == 1 else (values[0], values[1])
        step = 1
        if len(values) == 3:
            constant = values[2].constant
            if constant is None:
                raise self.refused(node.args[2], "the step is not a number", "steps are constant, such as 2 or -1")
            if not constant:
                raise self.refused(node.args[2], "the step is zero")
            step = constant
        here = Value.of(var(name))
        up = step > 0
        trees = [compare(here, ">=" if up else "<=", start), compare(here, "<" if up else ">", stop)]
        if abs(step) > 1:
            trees.append(equals((here - start).mod(abs(step)), aff(0)))
        return tuple(trees), step
