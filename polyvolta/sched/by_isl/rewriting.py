"""Functions and sets over the loop variables of a place as expressions in them: isl's `expr_from_*` and its like.

    S[i, j] reads A[i + j], at S(c0 + c1, c2):      [c0, c1, c2] -> A[c0 + c1 + c2]     =>    A[c0 + c1 + c2]

A function by cases becomes a choice, among the cases that the place has: `c0 <= 3 ? c0 : 3`.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.by_isl.expressions import AstExpr
from polyvolta.sched.by_isl.kinds import ast_expr_op_type
from polyvolta.sched.by_isl.places import Place
from polyvolta.sched.by_isl.reading import Spelled, read
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import AnyOf, Condition
from polyvolta.sched.loops.notation.names import in_c
from polyvolta.sets import Aff, MultiPwAff, PwAff, Set, Space, var
from polyvolta.sets.values.aff import Floor

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
        self.spell = Spelled(place.scan.ranges, in_c(place.scan)) if place else Spelled({})
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
        """
        table = self._table(f.space.inp.dims if f.space.inp is not None else (), f.space)
        pieces: list[Piece] = [(w, e if isinstance(e, tuple) else (e,)) for w, e in f.pieces]
        if len(pieces) > 1:
            known = self._known(pieces[0][0])
            pieces = [(w, e) for w, e in pieces if known is None or not (w & known).is_empty()]
            pieces = [(w if known is None else w.gist(known), e) for w, e in pieces]
        if not pieces:
            raise BadArgument("the function has no value here", where=str(f))
        return [self._value(pieces, k, table) for k in range(len(pieces[0][1]))]

    def holds(self, some: Set) -> AstExpr:
        """Whether the loop variables, or the parameters, are in a set."""
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

    def _value(self, pieces: Sequence[Piece], k: int, table: dict[str, Aff]) -> AstExpr:
        """One output: the last case is what holds where no other does."""
        texts = [self._read(e[k].subs(table) if table else e[k]) for _, e in pieces]
        if all(e == texts[0] for e in texts):
            return texts[0]
        found = texts[-1]
        for (where, _), e in zip(pieces[-2::-1], texts[-2::-1], strict=True):
            found = self._condition(_alternatives(where, table)).of(ast_expr_op_type.select, e, found)
        return found

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


def _alternatives(some: Set, table: dict[str, Aff]) -> list[tuple[Condition, ...]]:
    """A set as conditions, of which it has all of one alternative."""
    found: list[tuple[Condition, ...]] = []
    for part in some.known_divs().get_basic_sets():
        conditions: list[Condition] = []
        for c in part.get_constraints():
            e = c.expr.subs(table) if table else c.expr
            conditions.append(("eq" if c.equal else "ge", e))
        found.append(tuple(conditions))
    return found
