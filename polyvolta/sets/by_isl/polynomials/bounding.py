"""isl's bounds of polynomials: the greatest or the least values over what a dimension may be.

Of a function of pairs, `{ [A[i] -> B[j]] -> i * j }`, the second points are what is bounded over, for each first one;
of others all points are, for each choice of the parameters. A bound is tight that some value has; see
`counting.bounds` for which are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...budgets import metered
from ...counting.bounds import FEW, Candidate, greatest, never_negative
from ...counting.overlay import in_space, merged, over_both, overlaid
from ...counting.quasipoly import PwQPolynomial, QPolynomial
from ...errors import NotSupported, Unbounded
from ...optima.extent import is_bounded
from ...values.shape import need_map, need_set
from ...values.space import PARAMS, Space, Tuple
from ..objects.values import Val
from .folds import Fold, PwQPolynomialFold, extreme, fold, itself_as_fold, kind_from
from .unions import united

if TYPE_CHECKING:
    from ...values.map import Map
    from ...values.set import Set

Known = dict[QPolynomial, bool]
"""Polynomials, of which the greatest bounds the values, and whether each is one of the values somewhere."""


def bound(self: PwQPolynomial, kind: Any) -> tuple[PwQPolynomialFold, bool]:  # noqa: ANN401
    """What bounds the values from above, or from below, and whether some value is equal to it everywhere."""
    found = bounded(kind_from(kind), self.param_names, [(s, (q,)) for s, q in self.pieces], self.home)
    return _alike(self, *found)


def bound_of_fold(self: PwQPolynomialFold) -> tuple[PwQPolynomialFold, bool]:
    """What bounds the values from the side that they do; see `PwQPolynomial.bound`."""
    return _alike(self, *bounded(self.kind, self.param_names, [(s, q.values) for s, q in self.pieces], self.home))


def _alike(f: Any, found: PwQPolynomialFold, tight: bool) -> tuple[PwQPolynomialFold, bool]:  # noqa: ANN401
    """The bound of a union as a union."""
    return united(found) if f._is_union else found, tight


def bounded(
    kind: fold, params: tuple[str, ...], pieces: Iterable[tuple[Set, tuple[QPolynomial, ...]]], home: Space | None
) -> tuple[PwQPolynomialFold, bool]:
    """The fold that bounds the values of some polynomials on sets, and whether it is tight."""
    sign = 1 if kind is fold.max else -1
    found: list[tuple[Set, Known]] = []
    params, (alike,) = over_both(params, [(s, Fold(kind, values)) for s, values in pieces])
    for s, f in alike:
        kept = _kept(s.space.out)
        flat = s._of(s.param_names, [(Space(None, Tuple(None, s.dims())), s.parts[0][1])])
        inner = flat.move_dims(*kept.dims, to="params") if kept.dims else flat
        for q in f.values:
            found += [(_placed(c, kept, params), {c.value: c.exact}) for c in greatest(inner, q * sign)]
    cells = [(s, _undominated(s, known)) for s, known in overlaid(found, _either)]
    tight = all(exact for _, known in cells for exact in known.values())
    folds = merged((s, Fold(kind, [q * sign for q in known])) for s, known in cells)
    return PwQPolynomialFold.of(kind, params, folds, home and Space(None, _kept(home.out))), tight


def _kept(tup: Tuple) -> Tuple:
    """The tuple for whose points there is a bound each: the first of pairs, or that of nothing."""
    return tup.inner.source if tup.inner is not None else PARAMS


def _placed(c: Candidate, kept: Tuple, params: tuple[str, ...]) -> Set:
    """Where a candidate is one: in the tuple for whose points there is a bound."""
    where = c.where.move_dims(*kept.dims, to="out") if kept.dims else c.where
    return in_space(where.align_params(params), Space(None, kept))


def _either(a: Known, b: Known) -> Known:
    return {**a, **{q: exact or a.get(q, False) for q, exact in b.items()}}


def _undominated(where: Set, known: Known) -> Known:
    """The polynomials without those that are never above another one there; those stay first that are exact."""
    left = sorted(known, key=lambda q: not known[q])
    for q in reversed(left):
        if any(never_negative(p - q, where) for p in left if p is not q):
            left = [p for p in left if p is not q]
    return {q: known[q] for q in left}


# ---- over all points, and all parameters


def overall(name: str) -> Callable[[Any], Any]:
    """A method for the greatest or the least value of a polynomial at the points of its pieces; 0 of none.

    Raises
    ------
    Unbounded : there is none.
    NotSupported : it is not found.
    """
    kind = fold[name]

    def method(self: PwQPolynomial) -> Any:  # noqa: ANN401
        sign = 1 if kind is fold.max else -1
        values: list[Any] = []
        for s, q in self.pieces:
            candidates = greatest(_flat(s), q * sign)
            best = max((c.value._terms.get(frozenset(), 0) for c in candidates), default=None)
            if best is None:
                continue
            if not Val(best).is_rat():
                raise Unbounded(f"there is no {name}imum", where=str(self))
            if not any(c.exact and c.value == QPolynomial.of(best) for c in candidates):
                raise NotSupported(f"the {name}imum is not found", where=str(self), hint="f.bound(fold.max) bounds it")
            values.append(best * sign)
        return Val(extreme(kind, values))

    method.__doc__ = f"The {name}imum of the values at the points of the pieces, for all parameters; 0 of none."
    return method


def _flat(s: Set) -> Set:
    """The points with their parameters, which are dimensions."""
    return s._of((), [(Space(None, Tuple(None, (*s.param_names, *s.dims()))), s.parts[0][1])])


def overall_of_fold(name: str) -> Callable[[Any], Any]:
    """A method for the greatest or the least value of a fold at the points of its pieces; 0 of none.

    Raises
    ------
    NotSupported : it is the least of the greatest, or the other way round, of more than a few points.
    """

    def method(self: PwQPolynomialFold) -> Any:  # noqa: ANN401
        if self.kind is fold[name]:
            choices = [PwQPolynomial(self.param_names, [(s, q)]) for s, f in self.pieces for q in f.values]
            return Val(extreme(self.kind, [getattr(f, name)() for f in choices]))
        values = []
        for s, f in self.pieces:
            flat = _flat(s)
            points = list(islice(flat.points(), FEW + 1)) if is_bounded(flat) else None
            if points is None or len(points) > FEW:
                raise NotSupported(f"the {name}imum is that of too many points", where=str(self))
            values += [f.evaluate(dict(zip(flat.dims(), p))) for p in points]
        return Val(extreme(fold[name], values))

    method.__doc__ = f"The {name}imum of the values at the points of the pieces, for all parameters; 0 of none."
    return method


# ---- through sets and relations


def apply_to_set(self: Set, f: PwQPolynomialFold) -> tuple[PwQPolynomialFold, bool]:
    """What bounds the values of a fold at the points of a set, and whether it is tight; see `PwQPolynomial.bound`."""
    need_set(self, "apply_pw_qpolynomial_fold")
    return itself_as_fold(f).intersect_domain(self).bound()  # type: ignore[attr-defined]


def apply_to_map(self: Map, f: PwQPolynomialFold) -> tuple[PwQPolynomialFold, bool]:
    """For each input what bounds the values of a fold at its outputs, and whether it is tight."""
    need_map(self, "apply_pw_qpolynomial_fold")
    params = tuple(dict.fromkeys((*self.param_names, *f.param_names)))
    pieces = []
    for space, cs in self.parts:
        one = self._of(self.param_names, [(space, cs)])
        for s, q in [(s, q) for s, q in itself_as_fold(f).pieces if s.space.out.key == space.out.key]:
            pairs = one.intersect_range(s).wrap().align_params(params)
            if not pairs.is_empty():
                names = dict(zip(s.dims(), pairs.dims()[space.n_in :]))
                pieces.append((pairs, q.subs(names).values))
    return _alike(f, *bounded(f.kind, params, pieces, None))


METHODS: tuple[tuple[str, str, Any], ...] = (
    ("PwQPolynomial", "bound", metered(bound)),
    ("PwQPolynomialFold", "bound", metered(bound_of_fold)),
    *(("PwQPolynomial", name, metered(overall(name))) for name in ("max", "min")),
    *(("PwQPolynomialFold", name, metered(overall_of_fold(name))) for name in ("max", "min")),
    ("Set", "apply_pw_qpolynomial_fold apply_union_pw_qpolynomial_fold", metered(apply_to_set)),
    ("Map", "apply_pw_qpolynomial_fold apply_union_pw_qpolynomial_fold", metered(apply_to_map)),
)
"""Classes, isl's names, and the method."""
