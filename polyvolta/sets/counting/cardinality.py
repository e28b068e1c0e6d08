"""How many points a parametric set has, and how many outputs a map has for each input, in closed form.

Points in several pieces are made to count once (module `disjoint`), each piece is summed by itself (module
`summation`), and the leaves of all sums are added: where two of them overlap, their polynomials add up (module
`quasipoly`). First the values of the parameters for which a piece has a point at all are projected out and joined
to the piece: they are bounds that the sums then need not find by themselves. Polynomials are loaded when something is
counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.project import project, with_known_divs
from ..hulls.gist import gist_conjunct
from ..values.build import RowBuilder, affs_of, expression
from ..values.space import PARAMS, Space
from .count import check_bounded
from .disjoint import counted_once

if TYPE_CHECKING:
    from ..values.relation import Relation
    from .quasipoly import Piece, PwQPolynomial, QPolynomial


def cardinality(self: Relation) -> PwQPolynomial:
    """The number of points as a function of the parameters; of a map, the number of outputs of each input.

    Exact: the value is what `count` says of the same parameters. Few milliseconds for nests of a few loops; see
    `summation` for what it costs and where it comes from (Clauss 1996; Verdoolaege et al. 2007, whose `card` it is).

    Raises
    ------
    Unbounded : a dimension that is counted is unbounded.
    NotSupported : a piece needs too many residues.

    >>> from polyvolta.sets import Map, Set
    >>> print(Set("[N] -> { [i, j, k] : 0 <= i <= j <= k < N }").cardinality())
    [N] -> { (1/3 * N + 1/2 * N^2 + 1/6 * N^3) : N >= 1 }
    >>> print(Set("[N] -> { [t] : exists i : t = floor(i/32) and 0 <= i < N }").cardinality())
    [N] -> { floor((N + 31)/32) : N >= 1 }
    >>> print(Map("[N] -> { S[i] -> A[j] : 0 <= j <= i < N }").cardinality())
    [N] -> { S[i] -> (1 + i) : 0 <= i < N }
    """
    from ..values.set import Set
    from .overlay import added, merged
    from .quasipoly import PwQPolynomial, QPolynomial

    n_par = len(self.param_names)
    pieces: list[Piece] = []
    for space, cs in self.known_divs().parts:
        n_keep = n_par + space.n_in
        target = Space(None, space.inp or PARAMS)
        names = (*self.param_names, *space.dims)
        sums: dict[Conjunct, QPolynomial] = {}
        for c, sign in counted_once(cs):
            for where, what in _counted(c, names, n_keep):
                sums[where] = sums.get(where, QPolynomial({})) + sign * what
        pieces += [(Set._of(self.param_names, [(target, (where,))]), what) for where, what in sums.items() if what]
    return PwQPolynomial(self.param_names, merged(added(pieces)))


def _counted(c: Conjunct, names: tuple[str, ...], n_keep: int) -> list[tuple[Conjunct, QPolynomial]]:
    """What one conjunct adds, and where."""
    from .quasipoly import QPolynomial
    from .summation import leaves

    if c.is_empty:
        return []
    check_bounded(c, names, n_keep)
    shadow = project(c, tuple(range(n_keep, c.n)))
    out = []
    for live in with_known_divs(shadow) if shadow is not None else ():
        here = cj.conjoin(c, cj.reindex(live, c.n, tuple(range(n_keep))))
        for atoms, terms in leaves(here, names, n_keep) if here is not None and not here.is_empty else ():
            where = RowBuilder(names[:n_keep]).conjunct(atoms)
            extra = where and gist_conjunct(where, (live,))
            where = extra and cj.conjoin(extra, live)
            if where is not None and not where.is_empty:
                out.append((where, _reduced(where, names[:n_keep], QPolynomial(terms))))
    return out


def _reduced(c: Conjunct, names: tuple[str, ...], what: QPolynomial) -> QPolynomial:
    """The polynomial with those dimensions replaced that an equality of the conjunct says are numbers or parameters."""
    table = affs_of(c, names)
    for row in c.eqs:
        last = max((k for k in range(1, 1 + c.n) if row[k]), default=0)
        if last and abs(row[last]) == 1 and not any(row[1 + c.n :]):
            value = [-row[last] * v for v in row]
            value[last] = 0
            what = what.subs({names[last - 1]: expression(value, table)})
    return what
