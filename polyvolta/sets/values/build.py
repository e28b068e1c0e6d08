"""From expressions to rows: `RowBuilder` gives every floor of an `Aff` a known div column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

from ..conjuncts.conjunct import Conjunct, Div, Row, normalise
from ..errors import UnknownName, nearest
from .aff import Aff, Atom, Floor, linear

Constraint = tuple[str, Aff]  # ("eq", e) for e = 0, ("ge", e) for e >= 0; of rational points ("gt", e) for e > 0


class RowBuilder:
    """Collects constraints on named dimensions and makes a conjunct of them.

    Parameters
    ----------
    names : the dimensions, in column order.
    unknown : names of existentials, which become unknown divs.
    """

    def __init__(self, names: Sequence[str], unknown: Sequence[str] = ()) -> None:
        self.names, self.unknown = tuple(names), tuple(unknown)
        self.column: dict[Atom, int] = {name: 1 + k for k, name in enumerate((*self.names, *self.unknown))}
        self.floors: dict[Floor, int] = {}
        self.divs: list[tuple[int, dict[int, int]]] = []

    def sparse(self, e: Aff) -> dict[int, int]:
        row = {0: e.const}
        column = self.column.get
        for atom, c in e.terms:
            row[column(atom) or self.column_of(atom)] = c
        return row

    def column_of(self, atom: object) -> int:
        if isinstance(atom, str):
            if atom not in self.column:
                raise UnknownName(f"{atom!r} is not a dimension here", hint=nearest(atom, (*self.names, *self.unknown)))
            return self.column[atom]
        assert isinstance(atom, Floor), "exclusive-ors are written out before rows are built"
        if atom not in self.floors:
            definition = self.sparse(atom.num)
            self.floors[atom] = len(self.column) + 1 + len(self.divs)
            self.divs.append((atom.den, definition))
        return self.floors[atom]

    def conjunct(self, constraints: Iterable[Constraint]) -> Conjunct | None:
        """The conjunction of `e = 0` and `e >= 0`; None when plainly contradictory.

        A floor of an existential is no function of the point: it becomes an unknown div with its two rows.
        """
        rows = [(kind, self.sparse(e.without_xor())) for kind, e in constraints]
        n, m = len(self.names), len(self.unknown)
        first = 1 + n + m
        tainted = set(range(1 + n, first))
        for k, (_, definition) in enumerate(self.divs):
            if tainted & definition.keys():
                tainted.add(first + k)
        order = [*range(1 + n), *(first + k for k in range(len(self.divs)) if first + k not in tainted)]
        order += sorted(tainted)
        place = {col: k for k, col in enumerate(order)}

        def dense(sparse: dict[int, int]) -> Row:
            row = [0] * len(order)
            for col, v in sparse.items():
                row[place[col]] = v
            return tuple(row)

        eqs = [dense(row) for kind, row in rows if kind == "eq"]
        ineqs = [dense(row) for kind, row in rows if kind == "ge"]
        divs: list[Div] = []
        for k, (den, definition) in enumerate(self.divs):
            if first + k in tainted:
                low = {**definition, first + k: -den}
                high = {col: -v for col, v in low.items()}
                high[0] = high.get(0, 0) + den - 1
                ineqs += [dense(low), dense(high)]
            else:
                divs.append((den, dense(definition)))
        return normalise(n, [*divs, *[None] * len(tainted)], eqs, ineqs)


def row_of(e: Aff, names: Sequence[str]) -> Row | None:
    """The row (const, dims) of an expression in named dimensions; None where it has floors.

    >>> from polyvolta.sets import var
    >>> row_of(2 * var("j") - 1, ("i", "j")), row_of(var("j") // 2, ("j",))
    ((-1, 0, 2), None)
    """
    row = [e.const, *(0,) * len(names)]
    for atom, c in e.terms:
        if not isinstance(atom, str):
            return None
        row[1 + names.index(atom)] = c
    return tuple(row)


class _Table(dict[int, Aff]):
    """The expressions of columns; those that are names are made when they are asked for."""

    __slots__ = ("names",)
    names: Sequence[str]

    def __missing__(self, col: int) -> Aff:
        if not 1 <= col <= len(self.names):
            raise KeyError(col)
        found = self[col] = Aff(((self.names[col - 1], 1),))
        return found


def affs_of(c: Conjunct, names: Sequence[str]) -> dict[int, Aff]:
    """For every column of a conjunct the expression it stands for, unknown divs left out."""
    return _with_divs({k: Aff(((name, 1),)) for k, name in enumerate(names, 1)}, c)


def affs_asked(c: Conjunct, names: Sequence[str]) -> dict[int, Aff]:
    """`affs_of` for those who read few columns, by `[]` alone."""
    table = _Table()
    table.names = names
    return _with_divs(table, c)


def _with_divs(table: dict[int, Aff], c: Conjunct) -> dict[int, Aff]:
    base = 1 + c.n
    for k, div in enumerate(c.divs):
        if div is not None:
            table[base + k] = expression(div[1], table).floordiv(div[0])
    return table


def expression(row: Sequence[int], table: Mapping[int, Aff]) -> Aff:
    """The expression that a row stands for, columns read from `table`."""
    return gathered(row[0], [(col, row[col]) for col in compress(range(1, len(row)), row[1:])], table)


def gathered(const: int, terms: Sequence[tuple[int, int]], table: Mapping[int, Aff]) -> Aff:
    """The expression `const + sum c * column` of some terms (column, c), columns read from `table`."""
    if len(terms) == 1:
        ((col, c),) = terms
        e = table[col] * c
        return e + const if const else e
    sums: dict[Atom, int] = {}
    for col, c in terms:
        e = table[col]
        const += c * e.const
        for atom, k in e.terms:
            sums[atom] = sums.get(atom, 0) + c * k
    return linear(sums, const)
