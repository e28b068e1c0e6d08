"""isl's constraints as values: an expression that is 0, or at least 0.

A text says constraints shorter, and `equate`, `lower_bound` and the like say them of dimensions. This is for programs
that were written for isl, and for those that look at the constraints of a piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import NotAffine, NotSupported, SpaceMismatch, UnknownName, kind_of, nearest, need_function
from ..functions.rational import RationalPwAff
from ..operations.bounds import with_row
from ..values import kinds
from ..values.aff import Aff, var
from ..values.named import Named, by_isl
from ..values.space import Space, whole
from .arguments import checks_arguments
from .explicit import listed, unsigned, without_floors
from .functions.methods import expression
from .objects.lists import gives_list
from .objects.values import Val

if TYPE_CHECKING:
    from ..conjuncts.conjunct import Conjunct
    from ..conjuncts.normal import Div
    from ..engine.rows import Row
    from ..values.map import Map
    from ..values.relation import Relation


R = TypeVar("R", bound="Relation")


def _numerator(f: Any) -> Aff:  # noqa: ANN401
    """The expression that has the sign of a function everywhere: of a quotient by a number what is divided.

    Raises
    ------
    NotAffine : it has cases, or is NaN.
    """
    if not isinstance(f, RationalPwAff):
        return expression(f)
    if not f.nan.is_empty():
        raise NotAffine("a constraint is no NaN", where=str(f))
    return expression(f.num)


@checks_arguments
@dataclass(frozen=True, slots=True, repr=False)
class Constraint(metaclass=Named):
    """`expr = 0`, or `expr >= 0`; immutable.

    Parameters
    ----------
    expr : of the names of dimensions and parameters.
    equal : whether it is 0.
    space : whose dimensions it speaks of, and parameters where it knows them; else other names are those of parameters.
    param_names : those parameters whose positions are known.

    >>> from polyvolta.sets import Set
    >>> box = Set.universe("[x, y]")
    >>> c = Constraint.ineq_from_names(box.space, {1: -1, "x": 1})
    >>> print(c, "and", box.add_constraint(c).add_constraint(Constraint.eq_from_names(box.space, {"x": 2, "y": -1})))
    x - 1 >= 0 and { [x, y] : y = 2*x and x >= 1 }
    >>> c.is_equality(), c.get_coefficients_by_name(), c.get_coefficient_val(kinds.dim_type.set, 0)
    (False, {'x': 1, 1: -1}, 1)
    >>> print(Constraint.equality_alloc(box.space).set_coefficient_val(kinds.dim_type.set, 1, 3).set_constant_val(-6))
    3*y - 6 = 0
    """

    expr: Aff
    equal: bool
    space: Space
    param_names: tuple[str, ...] = ()

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    # ---- what makes one

    @classmethod
    def equality_alloc(cls, space: Space) -> Constraint:
        """0 = 0; see `Constraint`."""
        return cls(Aff((), 0), True, space, space.param_names or ())

    @classmethod
    def inequality_alloc(cls, space: Space) -> Constraint:
        """0 >= 0; see `Constraint`."""
        return cls(Aff((), 0), False, space, space.param_names or ())

    @classmethod
    def eq_from_names(cls, space: Space, coefficients: Mapping[Any, int] | None = None) -> Constraint:
        """The equality with some coefficients by name, and the constant by 1; see `Constraint`."""
        return cls.equality_alloc(space).set_coefficients_by_name(coefficients or {})

    @classmethod
    def ineq_from_names(cls, space: Space, coefficients: Mapping[Any, int] | None = None) -> Constraint:
        """The inequality with some coefficients by name, and the constant by 1; see `Constraint`."""
        return cls.inequality_alloc(space).set_coefficients_by_name(coefficients or {})

    @classmethod
    def equality_from_aff(cls, f: Any) -> Constraint:  # noqa: ANN401
        """That a function of one expression is 0; see `Constraint`."""
        return cls(_numerator(f), True, Space(None, f.space.inp, f.param_names), f.param_names)

    @classmethod
    def inequality_from_aff(cls, f: Any) -> Constraint:  # noqa: ANN401
        """That a function of one expression is at least 0; see `Constraint`."""
        return cls(_numerator(f), False, Space(None, f.space.inp, f.param_names), f.param_names)

    alloc_equality, alloc_inequality = equality_alloc, inequality_alloc

    # ---- reading and changing

    def __str__(self) -> str:
        return f"{self.expr} {'=' if self.equal else '>='} 0"

    def __repr__(self) -> str:
        return f"Constraint({str(self)!r})"

    def is_equality(self) -> bool:
        """Whether it says that the expression is 0; see `Constraint`."""
        return self.equal

    def get_constant_val(self) -> Val:
        """The constant of the expression; see `Constraint`."""
        return Val(self.expr.const)

    def is_lower_bound(self, kind: Any, pos: int) -> bool:  # noqa: ANN401
        """Whether it bounds a dimension from below; see `Constraint`."""
        return self._times(kind, pos) != 0 if self.equal else self._times(kind, pos) > 0

    def is_upper_bound(self, kind: Any, pos: int) -> bool:  # noqa: ANN401
        """Whether it bounds a dimension from above; see `Constraint`."""
        return self._times(kind, pos) != 0 if self.equal else self._times(kind, pos) < 0

    def _times(self, kind: Any, pos: int) -> int:  # noqa: ANN401
        return self.expr.coefficient(kinds.spread(self, kind, pos)[0])

    def get_coefficients_by_name(self, kind: Any = None) -> dict[Any, Val]:  # noqa: ANN401
        """The coefficients but 0 by name, of one kind if it is given, and the constant by 1; see `Constraint`."""
        names = sorted(self.expr.names()) if kind is None else kinds.of_kind(self, kind)
        found: dict[Any, Val] = {n: Val(self.expr.coefficient(n)) for n in names if self.expr.coefficient(n)}
        return {**found, **({1: Val(self.expr.const)} if self.expr.const else {})}

    def set_constant_val(self, value: int) -> Constraint:
        """With another constant; see `Constraint`."""
        return self.set_coefficients_by_name({1: value})

    def set_coefficient_val(self, kind: Any, pos: int, value: int) -> Constraint:  # noqa: ANN401
        """With another coefficient of a dimension; see `Constraint`."""
        return self.set_coefficients_by_name({kinds.spread(self, kind, pos)[0]: value})

    def set_coefficients_by_name(self, coefficients: Mapping[Any, int]) -> Constraint:
        """With other coefficients by name, and another constant by 1; see `Constraint`.

        Raises
        ------
        UnknownName : a coefficient is of no name of the space, or no integer.
        """
        expr, known = self.expr, (*self.param_names, *self.space.dims)
        complete = self.space.param_names is not None  # else another name is that of a parameter
        for name, value in coefficients.items():
            number = whole(value)
            if number is None or not (isinstance(name, str) or name == 1):
                raise UnknownName(f"{name!r}: {value!r} is no name with a coefficient", where=str(self.space))
            if isinstance(name, str):
                if complete and name not in known:
                    raise UnknownName(f"no parameter or dimension is called {name!r}", where=str(self.space),
                                      hint=nearest(name, known))  # fmt: skip
                expr = expr + var(name) * (number - expr.coefficient(name))
            else:
                expr = expr + (number - expr.const)
        return replace(self, expr=expr)

    def is_div_constraint(self) -> bool:
        """Whether it says what a div is, which no constraint does here: floors are expressions; see `Constraint`."""
        return False

    def cmp_last_non_zero(self, other: Constraint) -> int:
        """How far its last dimension with a coefficient is behind that of another one, or how these compare.

        Dimensions are counted as parameters, inputs, outputs and floors; of the same one the sizes of the coefficients
        are compared, -1, 0 or 1; see `Constraint`.
        """
        (at, number), (its, other_number) = self._last(), other._last()
        return at - its or (abs(number) > abs(other_number)) - (abs(number) < abs(other_number))

    def _last(self) -> tuple[int, int]:
        """The position and the coefficient of the last that is in it, of nothing before the first and 0."""
        names = (*self.param_names, *self.space.dims)
        found = [(names.index(a) if a in names else len(names), v) for a, v in self.expr.terms]
        return max(found, key=lambda term: term[0], default=(-1, 0))

    def drop_all_locals(self) -> Constraint:
        """Without the floors in its expression; see `Constraint`."""
        return replace(
            self, expr=Aff(tuple([(a, v) for a, v in self.expr.terms if isinstance(a, str)]), self.expr.const)
        )

    def negate(self) -> Constraint:
        """What holds where this inequality does not; see `Constraint`.

        Raises
        ------
        NotSupported : it is an equality, whose negation is two inequalities.
        """
        if self.equal:
            raise NotSupported("the negation of an equality is two inequalities", where=str(self))
        return replace(self, expr=-self.expr - 1)


# ---- methods of sets and relations


def add_constraint(self: Relation, c: Constraint) -> Any:  # noqa: ANN401
    """The points, of its one space, at which a constraint holds; names that are no dimensions are parameters.

    Raises
    ------
    UnknownName : the constraint speaks of a dimension or parameter that is not there.
    SpaceMismatch : it is no `Constraint`.
    """
    if not isinstance(c, Constraint):
        kind = type(self).__name__
        hint = f'a text says constraints, too: {kind[0].lower()} & {kind}("{{ {self.space} : ... }}")'
        raise SpaceMismatch(f"add_constraint needs a Constraint, not {kind_of(c)}", where=str(self), hint=hint)
    names = (*self.param_names, *self.space.dims)
    for name in sorted(c.expr.names()):
        if name not in names:
            raise UnknownName(f"no parameter or dimension is called {name!r}", where=str(self),
                              hint=nearest(name, names))  # fmt: skip
    return with_row(self, "eq" if c.equal else "ge", c.expr)


def add_constraints(self: Relation, some: Iterable[Constraint]) -> Any:  # noqa: ANN401
    """The points, of its one space, at which some constraints hold; `SpaceMismatch` where these are none."""
    if not isinstance(some, Iterable):
        raise SpaceMismatch(f"add_constraints needs a list of Constraints, not {kind_of(some)}", where=str(self),
                            hint="s.add_constraint(c) adds one")  # fmt: skip
    for c in some:
        self = add_constraint(self, c)
    return self


def get_constraints(self: Relation) -> list[Constraint]:
    """The constraints of its one piece, floors for isl's divs; of no points the one that no point meets, 1 = 0.

    An equality has isl's sign: of floors, then outputs, inputs and parameters, the coefficient of the last is positive.
    Where a dimension is a floor there are two bounds instead of the floor, as in isl; see `explicit`.

    Raises
    ------
    SpaceMismatch : there are several pieces, each with constraints of its own.
    NotSupported : a constraint is of an existential that no floor says.
    """
    return _listed(self, listed)


def short_constraints(self: Relation) -> list[Constraint]:
    """The constraints of `get_constraints`, where a dimension that is a floor is equal to it."""
    return _listed(self, lambda c, first: (c.divs, *without_floors(c, first)))


Rows = tuple[Sequence["Div"], Sequence["Row"], Sequence["Row"]]


def _listed(self: Relation, rows: Callable[[Conjunct, int], Rows]) -> list[Constraint]:
    found = self.known_divs()
    if len(found.parts) != 1 or len(found.parts[0][1]) > 1:
        raise SpaceMismatch("constraints are those of one piece", where=str(self), hint="s.get_basic_sets() lists them")
    ((space, pieces),) = found.parts
    if not pieces:
        return [Constraint(Aff((), 1), True, space, found.param_names)]
    names = (*found.param_names, *space.dims)
    divs, eqs, ineqs = rows(pieces[0], 1 + len(names))
    columns = _columns(divs, names)
    of_kinds = [*((True, unsigned(r[::-1])[::-1]) for r in eqs), *((False, r) for r in ineqs)]
    known = space.knowing(found.param_names)
    return [Constraint(_expression(r, columns), equal, known, found.param_names) for equal, r in of_kinds]


def _columns(divs: Sequence[Div], names: tuple[str, ...]) -> list[Aff]:
    """What the columns of rows stand for."""
    columns = [var(n) for n in names]
    for div in divs:
        if div is None:
            raise NotSupported("a constraint is of an existential that no floor says")
        columns.append(_expression(div[1], columns) // div[0])
    return columns


def _expression(row: Any, columns: list[Aff]) -> Aff:  # noqa: ANN401
    return sum((col * v for v, col in zip(row[1:], columns) if v), Aff((), row[0]))


def foreach_constraint(self: Relation, f: Callable[[Constraint], object]) -> None:
    """Call a function with each constraint of its one piece."""
    need_function(f)
    for c in get_constraints(self):
        f(c)


def n_constraint(self: Relation) -> int:
    """The number of constraints of its one piece."""
    return len(get_constraints(self))


def has_defining_equality(self: Map, kind: Any, pos: int) -> Constraint | None:  # noqa: ANN401
    """An equality of the one piece that says a dimension by those before it, without floors; None without one."""
    names = (*self.param_names, *self.space.dims)
    at = names.index(kinds.spread(self, kind, pos)[0])
    for c in get_constraints(self):
        said = [names.index(atom) if isinstance(atom, str) else len(names) for atom, _ in c.expr.terms]
        if c.equal and max(said, default=-1) == at:
            return c
    return None


def hull_of_constraints(self: R, given: Sequence[Relation]) -> R:
    """One piece around the points, of those constraints of some values that hold on all of them; an equality is two."""
    from .basic import narrowed

    if self.is_empty():
        return narrowed(type(self).empty(self.space))
    hull = type(self).universe(self.space)
    for piece in (piece for value in given for piece in value.pieces):
        everything = type(self).universe(piece.space)
        for c in get_constraints(piece):
            halves = [with_row(everything, "ge", e) for e in ((c.expr, -c.expr) if c.equal else (c.expr,))]
            for half in halves:
                hull = hull & half if self.is_subset(half) else hull
    return narrowed(hull)


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set Map", "add_constraint", add_constraint),
    ("Set Map", "add_constraints", add_constraints),
    ("Set Map", "get_constraints get_constraint_list", gives_list(get_constraints)),
    ("Set Map", "foreach_constraint", foreach_constraint),
    ("Set Map", "n_constraint", n_constraint),
    ("Set", "unshifted_simple_hull_from_set_list", hull_of_constraints),
    ("Map", "unshifted_simple_hull_from_map_list", hull_of_constraints),
    ("Map", "has_defining_equality", has_defining_equality),
    ("Set Map", "total_dim", lambda self: len(self.param_names) + len(self.space.dims)),
)
"""Classes, isl's names, and the method."""
