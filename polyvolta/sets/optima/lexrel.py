"""Lexicographic optima of relations.

The optimum of one conjunct is parametric integer programming (`lexopt`): parameters and inputs are its
parameters, outputs its unknowns, and the conjunct's own existentials come last, where they cannot influence
the order. The optimum of a union keeps from each piece's optimum what no other piece beats (`unions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from ..budgets import bounded, spend
from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct, Row, defining_rows, moved_divs, shared_divs
from ..conjuncts.project import with_known_divs
from ..engine import lexopt, periodic, strips
from ..engine.progressions import along
from ..engine.simplex import Tableau
from ..errors import BudgetExceeded, Unbounded
from ..functions.cells import Cell, Piece
from ..functions.extreme import Extreme
from ..hulls.coalesce import plainly_coalesced
from ..values.aff import Aff, Floor
from ..values.build import affs_of, expression
from ..values.space import Space
from . import triangular
from .domains import without_needless_floors
from .extent import endless
from .unions import Valued, best, fused

if TYPE_CHECKING:
    from ..values.relation import Relation

R = TypeVar("R", bound="Relation")
MOST_SLICES = 4  # values of a variable, for each of which an optimum is found where one for all takes long, and
FOR_SLICES = 5_000  # steps for that: where many optima are compared, cuts are the shorter way


def _programme(c: Conjunct, n_fixed: int) -> tuple[list[Row], list[Row], list[Row], int, tuple]:
    """The rows of `c` with what depends on the first `n_fixed` dimensions alone in front.

    Returns equalities, inequalities, what defines the leading divs, the number of parameters, and the leading divs.
    """
    base = 1 + c.n
    if not c.divs:
        return list(c.eqs), list(c.ineqs), [], n_fixed, ()
    lead: list[int] = []
    for k, div in enumerate(c.divs):
        if div is None or any(div[1][1 + n_fixed : base]):
            continue
        if all(base + j - base in lead for j in range(k) if base + j < len(div[1]) and div[1][base + j]):
            lead.append(k)
    rest = [k for k in range(len(c.divs)) if k not in lead]
    columns = [
        *range(1 + n_fixed),
        *(base + k for k in lead),
        *range(1 + n_fixed, base),
        *(base + k for k in rest),
    ]
    eqs = [tuple(r[col] for col in columns) for r in c.eqs]
    ineqs = [tuple(r[col] for col in columns) for r in c.ineqs]
    width = base + len(c.divs)
    divs = []
    for k in lead:
        den, row = c.divs[k]  # pyright: ignore[reportGeneralTypeIssues]
        wide = list(row) + [0] * (width - len(row))
        divs.append((den, tuple(wide[col] for col in columns[: 1 + n_fixed + len(lead)])))
    given: list[Row] = []  # over constant and parameters
    for k, div in enumerate(c.divs):
        if div is not None:
            rows = [tuple([r[col] for col in columns]) for r in defining_rows(div, base + k, width)]
            (given if k in lead else ineqs).extend(r[: 1 + n_fixed + len(lead)] if k in lead else r for r in rows)
    return eqs, ineqs, given, n_fixed + len(lead), tuple(divs)


def conjunct_optimum(c: Conjunct, n_fixed: int, sign: int) -> list[tuple[tuple, tuple[Row, ...], lexopt.Piece]]:
    """The optimum of the dimensions after the first `n_fixed`: pieces with all their divs and the values."""
    pieces, eqs, ineqs, lead, n_var = _substituted(c, n_fixed, sign)
    if pieces is None:
        solve = lexopt.lexmin if sign < 0 else lexopt.lexmax
        own = [(den, row[: 1 + n_fixed + k]) for k, (den, row) in enumerate(lead)]
        lead = ()
        try:
            pieces = solve(n_fixed, n_var, eqs, ineqs, own, c.n - n_fixed, lambda: _narrowed(c, n_fixed, sign))
        except lexopt.Answered as answer:
            pieces = answer.pieces
    return [((*lead, *piece.divs), piece.values[: c.n - n_fixed], piece) for piece in pieces]


def _substituted(c: Conjunct, n_fixed: int, sign: int) -> tuple:
    """The pieces of an optimum by back substitution or None; the rows, leading divs and variables of the programme."""
    eqs, ineqs, given, n_par, lead = _programme(c, n_fixed)
    n_var, n_wanted = c.n + len(c.divs) - n_par, c.n - n_fixed
    pieces = triangular.optimum(n_par, n_var, eqs, ineqs, given, n_wanted, sign)
    if pieces is None and n_fixed:  # where there are no parameters, a search by numbers is as fast
        eqs, ineqs, given, lead = _determined(n_fixed, n_par, eqs, ineqs, given, lead)
        n_par = n_fixed + len(lead)
        pieces = triangular.optimum(n_par, n_var, eqs, ineqs, given, n_wanted, sign)
    return pieces, eqs, ineqs, lead, n_var


def _narrowed(c: Conjunct, n_fixed: int, sign: int) -> list[lexopt.Piece] | None:
    """The optimum where some dimension has one integer between its least and its greatest rational value, with that;
    else by slices. Two linear programs a dimension; the rest may take long as before, but has fewer dimensions."""
    n = c.n + len(c.divs)
    tab = _of_rationals(c)
    rows = []
    for k in range(n) if n_fixed else ():
        unit = tuple([int(j == k) for j in range(n)])
        least, most = tab.minimum((0, *unit)), tab.maximum((0, *unit))
        if least is not None and most is not None and least != most:
            low = -(-least[0] // least[1])
            if most[0] // most[1] < low:
                return []
            if most[0] // most[1] == low:
                rows.append((-low, *unit))
    if not rows:
        return _sliced(c, n_fixed, sign)
    fixed = cj.normalise(c.n, c.divs, [*c.eqs, *rows], c.ineqs)
    return [] if fixed is None else [_joint(p) for p in _best([conjunct_optimum(fixed, n_fixed, sign)], n_fixed, sign)]


def _of_rationals(c: Conjunct) -> Tableau:
    """A tableau of the rational points, with the floors' own rows."""
    tab = Tableau(c.n + len(c.divs))
    for row in c.eqs:
        tab.add_eq(row)
    for row in c.all_ineqs():
        tab.add_ineq(row)
    return tab


def _sliced(c: Conjunct, n_fixed: int, sign: int) -> list[lexopt.Piece] | None:
    """`_by_slices` within `FOR_SLICES`; None beyond."""
    try:
        return bounded(FOR_SLICES, _by_slices, c, n_fixed, sign)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return None


def _by_slices(c: Conjunct, n_fixed: int, sign: int) -> list[lexopt.Piece] | None:
    """The optimum as the best of those that a conjunct has for each value of a variable, by back substitution.

    With a variable at a number the rest is often plain where together it takes long chains of cuts. None where it
    isn't, and where all variables have many values.
    """
    n = c.n + len(c.divs)
    tab = _of_rationals(c)
    few: list[tuple[int, int, Row]] = []  # how many values, the least one, of which variable
    for k in range(n_fixed, n) if n_fixed else ():
        unit = (0, *[int(j == k) for j in range(n)])
        least, most = tab.minimum(unit), tab.maximum(unit)
        if least is not None and most is not None:
            low = -(-least[0] // least[1])
            count = most[0] // most[1] - low + 1
            if 1 < count <= MOST_SLICES:
                few.append((count, low, unit))
    if not few:
        return None
    count, low, unit = min(few)
    rows = [(-v, *unit[1:]) for v in range(low, low + count)]
    found = []
    for s in filter(None, [cj.normalise(c.n, c.divs, [*c.eqs, row], c.ineqs) for row in rows]):
        pieces, _, _, lead, _ = _substituted(s, n_fixed, sign)
        if pieces is None:
            return None
        found.append([((*lead, *p.divs), p.values, p) for p in pieces])
    return [_joint(p) for p in _best(found, n_fixed, sign)]


def _determined(n_fixed: int, n_par: int, eqs: list[Row], ineqs: list[Row], given: list[Row], lead: tuple) -> tuple:
    """The rows with the forms of variables that the parameters determine, each a floor of these and so a div."""
    forms = strips.determined(n_par, eqs, ineqs)
    end = n_par + 1

    def wide(row: Row) -> Row:
        return (*row[:end], *(0,) * len(forms), *row[end:])

    eqs, ineqs, given = ([wide(r) for r in rows] for rows in (eqs, ineqs, given))
    for k, (form, den, row) in enumerate(forms):
        eqs.append((*(0,) * (end + k), -1, *(0,) * (len(forms) - k - 1), *form))
        given += defining_rows((den, row), end + k, end + len(forms))
        lead = (*lead, (den, row))
    return eqs, ineqs, given, lead


def folded_optimum(c: Conjunct, n_fixed: int, sign: int, names: Sequence[str], space: object) -> list[Piece]:
    """As `optimum_cells`, but minima and maxima stay whole where that is possible."""
    eqs, ineqs, given, n_par, lead = _programme(c, n_fixed)
    n_var, n_wanted = c.n + len(c.divs) - n_par, c.n - n_fixed
    pieces = triangular.folded(n_par, n_var, eqs, ineqs, given, n_wanted, sign)
    if pieces is None:
        cells = optimum_cells(c, n_fixed, sign, names, space)
        return [(without_needless_floors(d), tuple(Extreme((e,)) for e in values)) for d, values in cells]
    return _named(pieces, lead, n_fixed, sign, names)


def foremost(c: Conjunct, row: Row, n_fixed: int, sign: int, names: Sequence[str]) -> list[Piece] | None:
    """The least or greatest value of a row (const, dims) by back substitution; None where that doesn't give it.

    The value is the first of the variables. A dimension that has a unit coefficient comes last, so that it is defined
    by the value and the others; they are eliminated like existentials.
    """
    last = [d for d in range(n_fixed, c.n) if row[1 + d]]
    at = max(last, key=lambda d: (row[1 + d] in (1, -1), d), default=c.n - 1)
    order = [*range(n_fixed), *[d for d in range(n_fixed, c.n) if d != at], at]
    places = [0] * c.n
    for place, d in enumerate(order):
        places[d] = place + (place >= n_fixed)
    moved = cj.placed(c, c.n + 1, tuple(places))
    value = (row[0], *[row[1 + d] for d in order[:n_fixed]], -1, *[row[1 + d] for d in order[n_fixed:]])
    whole = Conjunct(moved.n, moved.divs, (*moved.eqs, (*value, *(0,) * len(moved.divs))), moved.ineqs)
    eqs, ineqs, given, n_par, lead = _programme(whole, n_fixed)
    pieces = triangular.folded(n_par, whole.n + len(whole.divs) - n_par, eqs, ineqs, given, 1, sign)
    return None if pieces is None else _named(pieces, lead, n_fixed, sign, names)


def _named(
    pieces: list[tuple[lexopt.Piece, list[tuple[Row, ...]]]], lead: tuple, n_fixed: int, sign: int, names: Sequence[str]
) -> list[Piece]:
    """What `triangular.folded` gives as domains and expressions."""
    out = []
    for piece, options in pieces:
        divs = (*lead, *piece.divs)
        domain = cj.normalise(n_fixed, divs, piece.eqs, piece.ineqs)
        if domain is not None:
            table = affs_of(Conjunct(n_fixed, divs, (), ()), names)
            found = ([tidy(expression(v, table)) for v in values] for values in options)
            out.append((domain, tuple([Extreme(tuple(v), -sign if len(v) > 1 else 0) for v in found])))
    return out


def optimum_cells(c: Conjunct, n_fixed: int, sign: int, names: Sequence[str], space: object) -> list[Cell]:
    """The optimum of the dimensions after the first `n_fixed`, called `names`: disjoint domains and expressions."""
    cells = []
    for divs, values, piece in _bounded_optimum(c, n_fixed, sign, space):
        domain = cj.normalise(n_fixed, divs, piece.eqs, piece.ineqs)
        if domain is not None:
            table = affs_of(Conjunct(n_fixed, divs, (), ()), names)
            cells.append((domain, tuple([tidy(expression(v, table)) for v in values])))
    return cells


def union_cells(cs: Sequence[Conjunct], n_fixed: int, sign: int, names: Sequence[str], space: Space) -> list[Cell]:
    """As `optimum_cells`, of several conjuncts together; domains with the same values may overlap."""
    cells = []
    for domain, divs, values in union_optimum(cs, n_fixed, sign, space):
        table = affs_of(Conjunct(n_fixed, divs, (), ()), names)
        told = tuple([tidy(expression(v, table)) for v in values])
        cells += [(d, told) for d in with_known_divs(domain)]
    return cells


def tidy(e: Aff) -> Aff:
    """An equal expression that writes `i - floor(3i/4)`, which is ceil(i/4), as floor((i + 3)/4).

    >>> from polyvolta.sets import var
    >>> print(tidy(var("i") - 3 * var("i") // 4))
    floor((i + 3)/4)
    """
    for atom, c in e.terms:
        if c == -1 and isinstance(atom, Floor):
            num, den = atom.num, atom.den
            other = ((e + Aff(((atom, 1),))) * den - num + (den - 1)).floordiv(den)
            if _reading(other) < _reading(e):
                return tidy(other)
    return e


def _reading(e: Aff) -> tuple[int, int]:
    """How many terms, and how many of them negative, a reader meets."""
    return len(e.terms), sum(c < 0 for _, c in e.terms)


def _bounded_optimum(c: Conjunct, n_fixed: int, sign: int, space: object) -> list:
    try:
        return conjunct_optimum(c, n_fixed, sign)
    except Unbounded:
        what = "lexicographically least" if sign < 0 else "lexicographically greatest"
        dims = space.dims if isinstance(space, Space) else ()
        at = endless(c, n_fixed, sign)
        side = "lower" if sign < 0 else "upper"
        loose = "" if at is None or not dims else f"\n{dims[at - c.n + len(dims)]} has no {side} bound"
        raise Unbounded(
            f"there is no {what} point", where=f"{space}{loose}", hint="bound the dimensions first"
        ) from None


def lexmin(self: R) -> R:
    """The lexicographically smallest point (of each image, for a map), for each parameter values.

    Exact: m parametric integer programs and, for a union, m^2 comparisons of their pieces.

    Raises
    ------
    Unbounded : some parameters have points but no smallest one.

    >>> from polyvolta.sets import Map
    >>> print(Map("[N] -> { [i] -> [j] : i <= 4j and j < N }").lexmin())
    [N] -> { [i] -> [floor((i + 3)/4)] : i <= 4*N - 4 }
    """
    return optimum(self, -1)


def lexmax(self: R) -> R:
    """The lexicographically largest point (of each image, for a map); see `lexmin`.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i, j] : 0 <= j <= i < N }").lexmax())
    [N] -> { [N - 1, N - 1] : N >= 1 }
    """
    return optimum(self, 1)


def sample(self: R) -> R:
    """One point, as a set or map that holds just it; empty when there is none. Exact, one search.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [x, y] : 3x + 5y = 1 and 0 <= x < 9 }").sample())
    { [2, -1] }
    """
    for space, cs in self.parts:
        for c in cs:
            point = cj.sample(c)
            if point is not None:
                return self._of(self.param_names, [(space, (_at(point),))])
    return self._of(self.param_names, [(s, ()) for s, _ in self.parts])


def _at(point: Sequence[int]) -> Conjunct:
    """The conjunct of one point; its rows are in normal form already."""
    n = len(point)
    rows = [(-v, *(0,) * d, 1, *(0,) * (n - d - 1)) for d, v in enumerate(point)]
    return Conjunct(n, (), tuple(sorted(rows)), ())


def optimum(relation: R, sign: int) -> R:
    """lexmin (sign -1) or lexmax (+1) of a relation, as a relation."""
    n_par = len(relation.param_names)
    parts = []
    for space, cs in relation.parts:
        parts.append((space, optimum_pieces(cs, n_par + space.n_in, sign, space)))
    return relation._of(relation.param_names, parts)


def optimum_pieces(cs: Sequence[Conjunct], n_fixed: int, sign: int, space: object) -> tuple[Conjunct, ...]:
    """The optimum of several conjuncts together in the dimensions behind the first `n_fixed`; `space` is for errors."""
    if n_fixed and len(cs) > 1:
        pieces = map(_joint, union_optimum(cs, n_fixed, sign, space))
        pinned = [_pinned(cs[0].n - n_fixed, n_fixed, p.divs, p.values, p) for p in pieces]
        return tuple([c for c in pinned if c is not None])
    found = [_bounded_optimum(c, n_fixed, sign, space) for c in cs]
    if not n_fixed:  # of points in one space the first or the last one
        points = [_point(values) for pieces in found for _, values, _ in pieces]
        return (_at(min(points) if sign < 0 else max(points)),) if points else ()
    return _pinned_alike(cs[0].n - n_fixed, n_fixed, found[0]) if found else ()


def union_optimum(cs: Sequence[Conjunct], n_fixed: int, sign: int, space: object) -> Sequence[Valued]:
    """The optimum of several conjuncts together: inputs and values. Inputs with the same values may overlap."""
    return _best([_bounded_optimum(c, n_fixed, sign, space) for c in cs], n_fixed, sign)


def _best(found: list[list], n_fixed: int, sign: int) -> Sequence[Valued]:
    """The best of some optima, each in pieces."""
    union = best([fused(_valued(n_fixed, pieces)) for pieces in found], sign)
    return _told_anew(union, found, sign) if n_fixed == 1 else union


def _told_anew(union: Sequence[Valued], found: list[list], sign: int) -> Sequence[Valued]:
    """An optimum of one parameter or input that the pieces `found` have together; as `union` says it, or shorter."""
    effort = sum([1 + len(p.divs) + len(p.eqs) + len(p.ineqs) for p in map(_joint, union)])
    if effort <= periodic.SHORT:
        return union
    leaves = []
    for pieces in found:
        lines = [(along(divs, p.eqs, p.ineqs), values) for divs, values, p in pieces]
        leaves.append([(at, values) for at, values in lines if at is not None])
        if len(leaves[-1]) < len(lines):
            return union
    told = periodic.best(leaves, sign)
    if told is None or periodic.cost(told) >= effort:
        return union
    return _valued(1, [(piece[0], piece[3], lexopt.Piece(*piece)) for piece in told])


def _valued(n_fixed: int, pieces: list) -> list[Valued]:
    """The pieces of an optimum that have inputs."""
    out = []
    for divs, values, piece in pieces:
        domain = cj.normalise(n_fixed, divs, piece.eqs, piece.ineqs)
        if domain is not None:
            floors = any(any(row[1 + n_fixed :]) for row in values)
            out.append(
                Valued(domain, divs if floors else (), tuple([v if floors else v[: 1 + n_fixed] for v in values]))
            )
    return out


def _joint(p: Valued) -> lexopt.Piece:
    """Inputs and values with all their divs."""
    n, width = p.domain.n, 1 + p.domain.n
    divs, columns = shared_divs(p.domain, Conjunct(n, p.divs, (), ()))
    pad = (0,) * (len(divs) - len(p.domain.divs))
    eqs, ineqs = (tuple([(*r, *pad) for r in rows]) for rows in (p.domain.eqs, p.domain.ineqs))
    values = [moved_divs(v, width, columns, width + len(divs)) for v in p.values]
    return lexopt.Piece(divs, eqs, ineqs, tuple(values))  # pyright: ignore[reportArgumentType]


def _pinned_alike(n_out: int, n_fixed: int, pieces: list) -> tuple[Conjunct, ...]:
    """The pieces of an optimum as conjuncts, those without floors and with the same values as one, by rows at hand."""
    alike: dict[tuple, list[Conjunct]] = {}
    for at, (divs, values, piece) in enumerate(pieces):
        c = _pinned(n_out, n_fixed, divs, values, piece)
        if c is not None:
            floors = c.divs or any(any(row[1 + n_fixed :]) for row in values)
            key = (at,) if floors else tuple([row[: 1 + n_fixed] for row in values])
            alike.setdefault(key, []).append(c)
    return tuple([c for cs in alike.values() for c in plainly_coalesced(tuple(cs))])


def _point(values: tuple[Row, ...]) -> tuple[int, ...]:
    """The point of values that hang on nothing."""
    assert not any(any(row[1:]) for row in values)  # numbers, and no div of numbers
    return tuple([row[0] for row in values])


def _pinned(n_out: int, n_fixed: int, divs: tuple, values: tuple[Row, ...], piece: lexopt.Piece) -> Conjunct | None:
    """The conjunct `domain of the piece, and the free dimensions equal their values`."""
    n, gap = n_fixed + n_out, (0,) * n_out

    def wide(row: Row) -> Row:
        return (*row[: 1 + n_fixed], *gap, *row[1 + n_fixed :])

    eqs = [wide(r) for r in piece.eqs]
    for k, value in enumerate(values):
        row = list(wide(value))
        row[1 + n_fixed + k] = -1
        eqs.append(tuple(row))
    return cj.normalise(n, [d and (d[0], wide(d[1])) for d in divs], eqs, [wide(r) for r in piece.ineqs])
