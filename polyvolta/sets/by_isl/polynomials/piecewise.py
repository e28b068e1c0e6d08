"""isl's methods of quasi-polynomials by pieces, beside those that change where they have values (`pieces`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from ...conjuncts import conjunct as cj
from ...counting.quasipoly import PwQPolynomial, QPolynomial
from ...errors import SpaceMismatch, UnknownName, kind_of, need_function
from ...operations.bounds import with_row
from ...optima.extent import is_bounded
from ...values import kinds
from ...values.aff import Aff, var
from ...values.shape import need_set
from ...values.space import PARAMS, Space, Tuple, fresh, whole
from ..objects.values import DEFAULT_CONTEXT
from ..relations import same
from .placed import PlacedPolynomial, alone, divs, is_alone, whole_of
from .within import with_atom

if TYPE_CHECKING:
    from ...values.set import Set


def placed_pieces(self: PwQPolynomial) -> list[tuple[Any, PlacedPolynomial]]:
    """The pairs of a set and what the polynomial is there."""
    return [(s, PlacedPolynomial(q, s)) for s, q in self.pieces]


def foreach_piece(self: Any, f: Callable[[Any, Any], object]) -> None:  # noqa: ANN401
    """Call a function with each set and what the value is there."""
    need_function(f, "two arguments")
    for where, value in self.get_pieces():
        f(where, value)


def every_piece(self: Any, f: Callable[[Any, Any], bool]) -> bool:  # noqa: ANN401
    """Whether a function holds of each set and what the value is there."""
    need_function(f, "two arguments")
    return all(f(where, value) for where, value in self.get_pieces())


def eval_with_dict(self: PwQPolynomial, values: Mapping[str, int]) -> int | Fraction:
    """The value at a point, given by the names of the parameters and dimensions."""
    if not isinstance(values, Mapping) or not all(isinstance(n, str) for n in values):
        what = "names that are no texts" if isinstance(values, Mapping) else kind_of(values)
        raise UnknownName(f"a point is a mapping from names to numbers, not {what}", where=str(self),
                          hint='f.eval_with_dict({"N": 10}), or f(N=10)')  # fmt: skip
    return self(**values)


# ---- what makes one


def alloc(where: Set, value: Any) -> PwQPolynomial:  # noqa: ANN401
    """What is a polynomial on a set, and 0 elsewhere.

    Raises
    ------
    SpaceMismatch : the polynomial lies in another tuple.
    """
    need_set(where, "PwQPolynomial.alloc")
    if not isinstance(value, PlacedPolynomial):
        raise SpaceMismatch(f"a QPolynomial is needed, not {kind_of(value)}", where=str(value))
    return whole_of(value).intersect_domain(where)  # type: ignore[attr-defined]


def from_qpolynomial(value: Any) -> PwQPolynomial:  # noqa: ANN401
    """What is a polynomial everywhere."""
    if not isinstance(value, PlacedPolynomial):
        raise SpaceMismatch(f"a QPolynomial is needed, not {kind_of(value)}", where=str(value))
    return whole_of(value)


def zero(space: Any) -> PwQPolynomial:  # noqa: ANN401
    """What is 0 in the space of a function; a set's is, as in isl, that of one of parameters alone."""
    if not isinstance(space, Space):
        raise SpaceMismatch(f"a Space is needed, not {kind_of(space)}", where=str(space), hint="s.space")
    return PwQPolynomial(space.param_names or (), [], Space(None, space.inp or PARAMS))


def itself_if(value: Any) -> PwQPolynomial:  # noqa: ANN401
    """A polynomial by pieces, which that of several tuples is, too."""
    if not isinstance(value, PwQPolynomial):
        raise SpaceMismatch(f"a PwQPolynomial is needed, not {kind_of(value)}", where=str(value))
    return value


# ---- pieces in parts


Parts = Iterator[tuple["Set", QPolynomial]]


def refined(self: PwQPolynomial, parts: Callable[[Set, QPolynomial], Parts]) -> PwQPolynomial:
    """The polynomial whose pieces are taken apart."""
    found = [p for s, q in self.pieces for p in parts(s, q) if not p[0].is_empty()]
    return self._with_pieces(self.param_names, found, self.home)


def split_dims(self: PwQPolynomial, kind: Any, first: int, n: int) -> PwQPolynomial:  # noqa: ANN401
    """The same function, its pieces in parts on which some dimensions are at least 0, or less."""

    def parts(s: Set, q: QPolynomial) -> Parts:
        dims = kinds.spread(s, kinds.dim_type.set if kind.name == "in_" else kind, first, n)
        for signs in product((1, -1), repeat=len(dims)):
            part = s
            for d, sign in zip(dims, signs):
                part = with_row(part, "ge", var(d) if sign > 0 else -var(d) - 1)
            yield part, q

    return refined(self, parts)


def split_periods(self: PwQPolynomial, most: int) -> PwQPolynomial:
    """The same function; of a floor that has at most so many values, a piece for each."""
    number = whole(most)
    if number is None:
        raise UnknownName(f"a number of values is needed, not {kind_of(most)}", where=str(self))

    def parts(s: Set, q: QPolynomial) -> Parts:
        for f in divs(q):
            values = _values(s, Aff(((f, 1),)), number)
            for v in values or ():
                here = with_row(s, "eq", Aff(((f, 1),)) - v)
                if not here.is_empty():
                    yield from parts(here, with_atom(q, f, QPolynomial.of(v)))
            if values is not None:
                return
        yield s, q

    return refined(self, parts)


def _values(s: Set, e: Aff, most: int) -> range | None:
    """The values of an expression at the points of a set, for all parameters; None of more than so many."""
    flat = type(s)._of((), [(Space(None, Tuple(None, (*s.param_names, *s.dims()))), s.parts[0][1])])
    if not is_bounded(flat):
        return None
    low, high = flat.min(e), flat.max(e)
    return range(low, high + 1) if high - low < most else None  # type: ignore[operator, arg-type]


def to_polynomial(self: PwQPolynomial, sign: int) -> PwQPolynomial:
    """Without floors: at least the function if the sign is positive, at most if it is negative, near it if it is 0.

    A floor of e/d lies between e/d - (d - 1)/d and e/d. Where the signs of what it is multiplied with are known, one of
    the two bounds the product; the pieces are parts on which they are. Of several floors in a product the signs must be
    known, too: where one is not 0 its two bounds have its sign.
    """

    def parts(s: Set, q: QPolynomial) -> Parts:
        terms = [[a for a, e in m for _ in range(e)] for m in q._terms]
        floors = [[a for a in m if not isinstance(a, str)] for m in terms]
        atoms = {a for m, f in zip(terms, floors) if f for a in m if isinstance(a, str) or len(f) > 1}
        ordered = sorted(atoms, key=str) if sign else []
        ways = [((1, 1), (0, 0), (-1, 1)) if a in sum(floors, []) else ((1, 0), (-1, 1)) for a in ordered]
        for choice in product(*ways):
            part = s
            for a, (way, least) in zip(ordered, choice):
                e = Aff(((a, 1),))
                part = with_row(part, "ge", way * e - least) if way else with_row(part, "eq", e)
            yield part, _bounded(q, {a: way for a, (way, _) in zip(ordered, choice)}, (sign > 0) - (sign < 0))

    return refined(self, parts)


def _bounded(q: QPolynomial, signs: dict[Any, int], sign: int) -> QPolynomial:
    """A polynomial without floors that bounds one whose atoms have signs, or is near it if `sign` is 0."""
    out = QPolynomial({})
    for m, c in q._terms.items():
        term, way = QPolynomial.of(c), sign * (1 if c > 0 else -1)  # which way the product of the atoms is to err
        for atom, e in m:
            way *= signs.get(atom, 1) ** e
        for atom, e in m:
            factor = _rounded(atom, way * signs.get(atom, 1))  # its size errs as that of the product does
            for _ in range(e):
                term = term * (factor if signs.get(atom, 1) else 0)
        out = out + term
    return out


def _rounded(atom: Any, way: int) -> QPolynomial:  # noqa: ANN401
    """What bounds a floor, and those in it, from above or below, or is near it if `way` is 0; a name is itself."""
    if isinstance(atom, str):
        return QPolynomial.of(var(atom))
    out = QPolynomial.of(atom.num.const - (atom.den - 1 if way < 0 else 0))
    for inner, c in atom.num.terms:
        out = out + _rounded(inner, way * (1 if c > 0 else -1)) * c
    return out * Fraction(1, atom.den)


def foreach_lifted_piece(self: Any, f: Callable[[Any, Any], object]) -> None:  # noqa: ANN401
    """Call a function with sets without existentials, and what the value is there.

    A piece with floors or existentials lies in a tuple `lifted[S[i] -> local[q]]`, of which these are dimensions.
    """
    need_function(f, "two arguments")
    for s, value in self.get_pieces():
        for space, cs in s.parts:
            for c in cs:
                f(*_lifted(s, space, c, value) if c.divs else (type(s)._of(s.param_names, [(space, (c,))]), value))


def _lifted(s: Set, space: Space, c: cj.Conjunct, value: Any) -> tuple[Set, Any]:  # noqa: ANN401
    taken = {*s.param_names, *space.dims}
    new: list[str] = []
    for k in range(len(c.divs)):
        new.append(fresh(f"q{k}", {*taken, *new}))
    local = Tuple("local", tuple(new))
    tup = Tuple("lifted", (*space.dims, *new), Space(space.out, local))
    plain = cj.normalise(c.n + len(c.divs), (), c.eqs, c.all_ineqs())
    where = type(s)._of(s.param_names, [(Space(None, tup), () if plain is None else (plain,))])
    return where, value._in(where)


def involves_nan(self: Any) -> bool:  # noqa: ANN401
    """Whether a value is NaN."""
    return any(value.is_nan() for _, value in self.get_pieces())


def with_other_tuple(self: PwQPolynomial, other: PwQPolynomial) -> PwQPolynomial:
    """The sum with a polynomial of points of a tuple of which this one has none, as isl's; `f + g` takes any.

    Raises
    ------
    SpaceMismatch : both have points of one tuple.
    """
    mine, theirs = ({domain.space.out.key for domain, _ in f.pieces} for f in (self, other))
    if mine & theirs:
        raise SpaceMismatch("both are of points of one tuple", where=f"{self}\n{other}",
                            hint="f + g is their sum")  # fmt: skip
    return self + other


_OF_ONE = "PwQPolynomial"
_BOTH = "PwQPolynomial PwQPolynomialFold"
METHODS: tuple[tuple[str, str, Any], ...] = (
    (_OF_ONE, "get_pieces", placed_pieces),
    (_BOTH, "foreach_piece", foreach_piece),
    (_BOTH, "every_piece", every_piece),
    (_BOTH, "involves_nan", involves_nan),
    (_BOTH, "foreach_lifted_piece", foreach_lifted_piece),
    (_OF_ONE, "add", same("__add__")),
    (_OF_ONE, "add_disjoint", same("__add__")),
    (_OF_ONE, "add_pw_qpolynomial", with_other_tuple),
    (_OF_ONE, "sub", same("__sub__")),
    (_OF_ONE, "mul", same("__mul__")),
    (_OF_ONE, "neg", same("__neg__")),
    (_OF_ONE, "pow", same("__pow__")),
    (_OF_ONE, "eval_with_dict", eval_with_dict),
    (_OF_ONE, "get_aggregate_domain", lambda self: self.domain()),
    (_OF_ONE, "alloc", alloc),
    (_OF_ONE, "from_qpolynomial", from_qpolynomial),
    (_OF_ONE, "from_pw_qpolynomial", itself_if),
    (_OF_ONE, "zero zero_space", zero),
    (_OF_ONE, "zero_ctx", lambda context=DEFAULT_CONTEXT: PwQPolynomial((), [])),
    (_OF_ONE, "isa_qpolynomial", is_alone),
    (_OF_ONE, "as_qpolynomial", alone),
    (_OF_ONE, "split_dims", split_dims),
    (_OF_ONE, "split_periods", split_periods),
    (_OF_ONE, "to_polynomial", to_polynomial),
)
"""Classes, isl's names, and the method."""
