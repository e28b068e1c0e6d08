"""A place in finished loops: which instances run there and what expressions are in its loop variables.

The relation of a place is read off the loops. Each call below it says which instance runs for values of the loop
variables, `{ [c0, c1] -> S[c0, c1 + 1] : bounds, conditions }`; the loops that are not around the place are projected
out, and the rest is turned round. So it has the instances of the place alone, and the loops that there are.

A function of the loop variables is written as an expression there, isl's `expr_from_*` and its like: S[i, j] reads
A[i + j], which at S(c0 + c1, c2) is `[c0, c1, c2] -> A[c0 + c1 + c2]`, written `A[c0 + c1 + c2]`. One by cases becomes
a choice among the cases that the place has: `c0 <= 3 ? c0 : 3`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import gcd

from polyvolta.sched.by_isl.ast.expressions import AstExpr
from polyvolta.sched.by_isl.ast.reading import Spelled, read
from polyvolta.sched.by_isl.kinds import ast_expr_op_type
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import AnyOf, Ast, Bound, Call, Choice, Condition, Extreme, For, If, branches
from polyvolta.sched.loops.notation.names import in_c
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.tree import Band, Domain, Extension, Schedule
from polyvolta.sched.wrapped import plain_tuple
from polyvolta.sets import (
    Aff,
    BudgetExceeded,
    EmptySet,
    Map,
    MultiPwAff,
    PwAff,
    Set,
    Space,
    Tuple,
    Unbounded,
    aff,
    var,
)
from polyvolta.sets.by_isl.constraints import short_constraints
from polyvolta.sets.functions.members import MultiFunction
from polyvolta.sets.functions.piecewise import check_function
from polyvolta.sets.functions.rational import RationalPwAff
from polyvolta.sets.values.aff import Floor
from polyvolta.sets.values.shape import need_set


@dataclass(frozen=True, slots=True)
class Place:
    """A node of loops with what stands around it.

    Parameters
    ----------
    scan : all loops, as they were before any callback.
    node : the node; None for the whole.
    around : the nodes around it, outermost first; with `node` itself where its body is meant.
    flat : whether the loops are those of a relation, whose times are one tuple; a tree's are a tuple for each band.
    context : what is known of the parameters.
    outer : where `scan` as a whole stands, if other loops are around; their variables are its parameters.
    """

    scan: Scan
    node: Ast
    around: tuple[Ast, ...]
    flat: bool
    context: Set | None = None
    outer: Place | None = None

    @property
    def own(self) -> tuple[For, ...]:
        """The loops of `scan` around, outermost first."""
        return tuple(n for n in self.around if isinstance(n, For))

    @property
    def loops(self) -> tuple[For, ...]:
        """All loops around, outermost first."""
        return (*(self.outer.loops if self.outer else ()), *self.own)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions around."""
        own = tuple(c for n in self.around if isinstance(n, If) for c in n.conditions)
        return (*(self.outer.conditions if self.outer else ()), *own)

    @property
    def params(self) -> list[str]:
        """The parameters, without loop variables."""
        around = {v.var for v in self.outer.loops} if self.outer else set()
        return [p for p in self.scan.params or () if p not in around]

    def known(self) -> Set:
        """What the loops and conditions around say of their variables, as of parameters."""
        facts = [*map(_loop, self.loops), *(all_of([c]) for c in self.conditions)]
        names = [*self.params, *(v.var for v in self.loops)]
        found = Set(f"[{', '.join(names)}] -> {{ : {' and '.join(facts)} }}")
        return found if self.context is None else found & self.context

    def tied(self) -> Set:
        """The values of the loop variables around in the space of `schedule`, as parameters of their names."""
        return Set(f"[{', '.join(v.var for v in self.loops)}] -> {{ {self._nested()} }}")

    def schedule(self) -> Map:
        """Instances that run here -> values of the loop variables around."""
        return _turned(self, self._nested())

    def space(self) -> Space:
        """The space of those values."""
        return Set(f"{{ {self._nested()} }}").space

    def flat_schedule(self) -> Map:
        """The same with one tuple for all loops around."""
        return _turned(self, f"[{', '.join(v.var for v in self.loops)}]")

    def _nested(self) -> str:
        """The tuple of the values: `[c0, c1]`, or `[[[] -> [c0]] -> [c1]]` below bands whose members all have loops."""
        loops = self.own
        flat = f"[{', '.join(v.var for v in loops)}]"
        if self.outer is not None:
            return f"[{self.outer._nested()} -> {flat}]"
        tree = self.scan.tree
        if self.flat or tree is None:
            return flat
        last = self.node
        groups: list[list[tuple[object, int]]] = []
        for k in range(len(last.at) + isinstance(last, For)):
            node = tree.node(last.at[:k])
            if isinstance(node, Band):
                members = last.member + 1 if last.at[:k] == last.at and isinstance(last, For) else len(node.members)
                if members < len(node.members):
                    return flat  # within a band
                groups.append([(last.at[:k], m) for m in range(members)])
        if [key for group in groups for key in group] != [(v.at, v.member) for v in loops]:
            return flat  # some members have no loop
        text, names = "[]", iter(loops)
        for group in groups:
            text = f"[{text} -> [{', '.join(next(names).var for _ in group)}]]"
        return text


def _turned(place: Place, values: str) -> Map:
    """The relation of a place to a tuple of its loop variables."""
    outer = place.loops
    head = f"[{', '.join(place.params)}] -> " if place.params else ""
    known = [*map(_loop, outer), *(all_of([c]) for c in place.conditions)]
    found = Map("{ }")
    inside = [(place.node, outer, known)]
    for node, loops, facts in inside:  # which grows
        if isinstance(node, Call):
            one = Map(f"{head}{_instances(place, node, loops, facts)}")
            if len(loops) > len(outer):
                one = one.project_out(*range(len(outer), len(loops)))
            one = one.reverse()
            found = found | one
            continue
        for n in node.body:
            if isinstance(n, For):
                inside.append((n, (*loops, n), [*facts, _loop(n)]))
            elif isinstance(n, If):
                inside += [(b, loops, [*facts, all_of(b.conditions)]) for b in branches(n) if b.body]
            else:
                inside.append((n, loops, facts))
    if place.context is not None:
        found = found.intersect_params(place.context)
    flat = f"[{', '.join(v.var for v in outer)}]"
    return found if flat == values else found.apply_range(Map(f"{{ {flat} -> {values} }}"))


def _instances(place: Place, call: Call, loops: Sequence[For], facts: Sequence[str]) -> str:
    """The loop variables -> the instance of a call, as a text; its dimensions are called as in the tree if they can."""
    names = [v.var for v in loops]
    values, facts = [f"({e})" for e in call.args], list(facts)
    own = _tuple(place.scan.tree, call)
    others = {*names, *place.params}
    if len({*own.dims}) == len(values) and others.isdisjoint(own.dims):
        facts += [f"{d} = {e}" for d, e in zip(own.dims, values, strict=True)]
        values = own.dims
    said = f" : {' and '.join(facts)}" if facts else ""
    return f"{{ [{', '.join(names)}] -> {_written(own, iter(values))}{said} }}"


def _tuple(tree: Schedule | None, call: Call) -> Tuple:
    """The tuple of the instances of a call, as the tree's domain or an extension of it has it."""
    for _, node in tree.walk() if tree is not None else ():
        if isinstance(node, Domain | Extension):
            instances = node.domain if isinstance(node, Domain) else node.extension
            for space, _ in instances.parts:
                if (space.out.name or "") == call.statement:
                    return plain_tuple(space.out)
    return Tuple(call.statement, tuple(f"i{k}" for k in range(len(call.args))))


def _written(some: Tuple, values: Iterator[str]) -> str:
    """A tuple with values in the place of its dimensions."""
    if some.inner is None:
        inside = ", ".join(next(values) for _ in some.dims)
    else:
        inside = " -> ".join(_written(t, values) for t in (some.inner.inp, some.inner.out) if t is not None)
    return f"{some.name or ''}[{inside}]"


def _loop(loop: For) -> str:
    """What holds of the variable of a loop."""
    v = loop.var
    facts = [*(_side(v, ">=", b) for b in loop.lower), *(_side(v, "<=", b) for b in loop.upper)]
    if loop.step > 1:
        facts.append(_value(Extreme("max", loop.lower), f"({v} - {{0}}) mod {loop.step} = 0"))
    return " and ".join(facts)


def _side(v: str, sign: str, bound: Bound) -> str:
    """That a variable is on its side of a bound: of one of some terms, or of each, which needs no order of them."""
    if isinstance(bound, Aff):
        return f"{v} {sign} {bound}"
    if isinstance(bound, Choice):
        then, other = _side(v, sign, bound.then), _side(v, sign, bound.other)
        return f"({all_of(bound.conditions)} and {then} or {_not(bound.conditions)} and {other})"
    joint = " and " if (bound.kind == "max") == (sign == ">=") else " or "
    return f"({joint.join(_side(v, sign, term) for term in bound.terms)})"


def _value(bound: Bound, fact: str) -> str:
    """A fact of the value of a bound, which has `{0}` in the place of it."""
    cases = _cases(bound)
    texts = [" and ".join([*where, fact.format(f"({e})")]) for where, e in cases]
    return f"({' or '.join(f'({t})' for t in texts)})"


def _cases(bound: Bound) -> list[tuple[list[str], Aff]]:
    """What a bound is, and where."""
    if isinstance(bound, Aff):
        return [([], bound)]
    if isinstance(bound, Choice):
        then, other = all_of(bound.conditions), _not(bound.conditions)
        return [*(([then, *w], e) for w, e in _cases(bound.then)), *(([other, *w], e) for w, e in _cases(bound.other))]
    sign = ">=" if bound.kind == "max" else "<="
    found = _cases(bound.terms[0])
    for term in bound.terms[1:]:
        more = _cases(term)
        found = [
            case
            for w, e in found
            for u, f in more
            for case in (([*w, *u, f"({e}) {sign} ({f})"], e), ([*w, *u, f"({f}) {sign} ({e})"], f))
        ]
    return found


def all_of(conditions: Sequence[Condition]) -> str:
    """All of some conditions as a text of isl's."""
    return f"({' and '.join(map(_one, conditions)) or '1 = 1'})"


def _one(c: Condition) -> str:
    if isinstance(c, AnyOf):
        return f"({' or '.join(map(all_of, c.alternatives)) or '1 = 0'})"
    return f"({c[1]}) {'>=' if c[0] == 'ge' else '='} 0"


def _not(conditions: Sequence[Condition]) -> str:
    """Where one of some conditions does not hold."""
    found = []
    for c in conditions:
        if isinstance(c, AnyOf):
            found.append(f"({' and '.join(map(_not, c.alternatives)) or '1 = 1'})")
        else:
            found += [f"({c[1]}) <= -1"] if c[0] == "ge" else [f"({c[1]}) >= 1", f"({c[1]}) <= -1"]
    return f"({' or '.join(found) or '1 = 0'})"


Piece = tuple[Set, tuple[Aff, ...]]


class Rewriting:
    """Writes expressions at a place of loops, or of parameters alone.

    Parameters
    ----------
    place : where; None outside of callbacks.
    context : what is known of the parameters.
    """

    def __init__(self, place: Place | None, context: Set | None) -> None:
        self.place, self.context = place, context
        if place:
            self.spell = Spelled(place.scan.ranges, in_c(place.scan), place.known)
        else:
            self.spell = Spelled({}, known=lambda: context)
        self.facts: list[Condition] = list(place.conditions) if place else []
        if place:
            self.spell.scope = {v.var: v for v in place.loops}
        if context is not None:
            said = _alternatives(context, {})
            self.facts += said[0] if len(said) == 1 else []

    def values(self, f: PwAff | MultiPwAff) -> list[AstExpr]:
        """The outputs of a function.

        Raises
        ------
        BadArgument : its inputs are not the loop variables of the place; it has no value here.
        SpaceMismatch : it is no function.
        """
        if not isinstance(f, (RationalPwAff, MultiFunction)):
            check_function(f, "an expression")
        table = self._table(f.space.inp.dims if f.space.inp is not None else (), f.space)
        over, f = (f.den, f.num) if isinstance(f, RationalPwAff) else (1, f)
        pieces: list[Piece] = [(w, e if isinstance(e, tuple) else (e,)) for w, e in f.pieces]
        known = self._known(pieces[0][0]) if pieces else None
        if len(pieces) > 1:
            pieces = [(w, e) for w, e in pieces if known is None or not (w & known).is_empty()]
        pieces = [(w, tuple(_settled(one, w if known is None else w & known) for one in e)) for w, e in pieces]
        if len(pieces) > 1:
            pieces = [(w if known is None else w.gist(known), e) for w, e in pieces]
        if not pieces and self.place is not None and self.place.schedule().is_empty():
            return [AstExpr(0)] * len(f.space.out.dims)  # what stands here never runs
        if not pieces:
            raise BadArgument("the function has no value here", where=str(f))
        return [self._value(pieces, k, table, over) for k in range(len(pieces[0][1]))]

    def holds(self, some: Set) -> AstExpr:
        """Whether the loop variables, or the parameters, are in a set; `SpaceMismatch` if it is none."""
        need_set(some, "a condition")
        table = self._table(some.space.dims, some.space)
        known = self._known(some)
        if (some if known is None else some & known).is_empty():
            return AstExpr(0)
        rest = some if known is None else some.gist(known)
        return self._condition(_alternatives(rest, table))

    def _table(self, dims: Sequence[str], space: Space) -> dict[str, Aff]:
        """What the dimensions of a domain are: the loop variables, by their order."""
        loops = self.place.loops if self.place else ()
        if dims and len(dims) != len(loops):
            raise BadArgument(f"there are {len(loops)} loops here, and {len(dims)} inputs", where=str(space),
                              hint="pull an access back along the inverse of build.get_schedule()")  # fmt: skip
        return {d: var(v.var) for d, v in zip(dims, loops, strict=False)}

    def _known(self, like: Set) -> Set | None:
        """The values of the loop variables at the place, or of the parameters."""
        if self.place is None or not like.space.dims:
            return self.context
        here = self.place.schedule().range()
        return here if self.context is None else here.intersect_params(self.context)

    def _value(self, pieces: Sequence[Piece], k: int, table: dict[str, Aff], over: int = 1) -> AstExpr:
        """One output over a number: the last case is what holds where no other does."""
        texts = [self._quotient(e[k].subs(table) if table else e[k], over) for _, e in pieces]
        if all(e == texts[0] for e in texts):
            return texts[0]
        found = texts[-1]
        for (where, _), e in zip(pieces[-2::-1], texts[-2::-1], strict=True):
            found = self._condition(_alternatives(where, table)).of(ast_expr_op_type.select, e, found)
        return found

    def _quotient(self, e: Aff, over: int) -> AstExpr:
        """An expression over a number, in lowest terms; as in isl it is exact only where the number divides it."""
        factor = gcd(over, e.const, *[c for _, c in e.terms])
        if factor > 1:
            e, over = Aff(tuple((a, c // factor) for a, c in e.terms), e.const // factor), over // factor
        return self._read(e) if over == 1 else self._read(e).of(ast_expr_op_type.div, AstExpr(over))

    def _read(self, e: Aff) -> AstExpr:
        with self.spell.assuming(self.facts):
            return read(self.spell.text(self._divided(e)))

    def _divided(self, e: Aff) -> Aff:
        """The expression without the quotients that the steps of the loops leave exact: 32*floor(c0/32) is c0."""
        for atom, c in e.terms:
            if isinstance(atom, Floor) and c % atom.den == 0:
                rest = self.spell.remains(atom.num, atom.den)
                if rest is not None:
                    e = e - c * (atom.num // atom.den) + c // atom.den * (atom.num - rest)
        return e

    def _condition(self, alternatives: Sequence[tuple[Condition, ...]]) -> AstExpr:
        """Whether all of one alternative holds."""
        if not all(alternatives):
            return AstExpr(1)
        conditions = alternatives[0] if len(alternatives) == 1 else (AnyOf(tuple(alternatives)),)
        with self.spell.assuming(self.facts):
            return read(self.spell.conditions(conditions))


def _settled(e: Aff, there: Set) -> Aff:
    """An expression whose floors are numbers where they have one value at the points that it is for.

    isl's, too, is right there alone: n mod 7 is n for 0 <= n <= 5.
    """
    out = Aff((), e.const)
    for atom, c in e.terms:
        value = Aff(((atom, 1),))
        if isinstance(atom, Floor):
            value = _settled(atom.num, there) // atom.den
            with suppress(Unbounded, EmptySet, BudgetExceeded):
                f = PwAff.on(there, value)
                least = f.min_val()
                value = aff(least) if least == f.max_val() else value
        out = out + c * value
    return out


def _alternatives(some: Set, table: dict[str, Aff]) -> list[tuple[Condition, ...]]:
    """A set as conditions, of which it has all of one alternative."""
    found: list[tuple[Condition, ...]] = []
    for part in some.known_divs().pieces:
        conditions: list[Condition] = []
        for c in short_constraints(part):
            e = c.expr.subs(table) if table else c.expr
            conditions.append(("eq" if c.equal else "ge", e))
        found.append(tuple(conditions))
    return found
