"""Conjuncts: one conjunction of affine equalities and inequalities over integers, with divs.

A conjunct over n dimensions (parameters, then inputs, then outputs) has rows

    (const, dim_1 .. dim_n, div_1 .. div_d)

an equality row means `row . (1, x, q) = 0`, an inequality `>= 0`. A div is an integer existential. A *known*
div is `floor(row / den)` of the columns before it: it is a function of the point, so it may be copied into
another conjunct, negated around and counted without care. An *unknown* div is any other existential; it is
None in `divs`. Known divs never depend on unknown ones.

`normalise` brings a conjunct to one form (module `normal`), so that equal spellings are equal objects. It is
syntactic and cheap, so equal sets can still differ; `Relation.is_equal` is the mathematics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from itertools import compress, count
from operator import mul

from ..budgets import remembered
from ..engine import integer
from ..engine.rows import Row, cornered, dot, picker, unbounded
from .normal import Div, defining_rows, normal_form, strengthened


class Conjunct:
    """A normalised conjunction over `n` dimensions; make one with `normalise`. Immutable."""

    __slots__ = ("_hash", "_plain", "divs", "eqs", "ineqs", "n")

    def __init__(self, n: int, divs: tuple[Div, ...], eqs: tuple[Row, ...], ineqs: tuple[Row, ...]) -> None:
        self.n, self.divs, self.eqs, self.ineqs = n, divs, eqs, ineqs
        self._hash: int | None = None
        self._plain: bool | None = None  # whether it plainly has a point

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew from its rows, for another process hashes None otherwise."""
        return Conjunct, (self.n, self.divs, self.eqs, self.ineqs)

    def __repr__(self) -> str:
        return f"Conjunct(n={self.n!r}, divs={self.divs!r}, eqs={self.eqs!r}, ineqs={self.ineqs!r})"

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.n, self.divs, self.eqs, self.ineqs))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Conjunct)
            and self.ineqs == other.ineqs
            and self.eqs == other.eqs
            and self.divs == other.divs
            and self.n == other.n
        )

    @property
    def known(self) -> bool:
        """Whether every div is a function of the dimensions."""
        return None not in self.divs

    def known_divs(self) -> list[tuple[int, Row]]:
        """The divs of a conjunct that has no others."""
        assert self.known
        return [div for div in self.divs if div is not None]

    def div_rows(self) -> list[Row]:
        """The two inequalities that define each known div."""
        width = 1 + self.n + len(self.divs)
        rows = []
        for k, div in enumerate(self.divs):
            if div is not None:
                rows += defining_rows(div, 1 + self.n + k, width)
        return rows

    def all_ineqs(self) -> list[Row]:
        """The inequalities, those that define the divs included."""
        return [*self.ineqs, *self.div_rows()]

    @property
    def is_empty(self) -> bool:
        """Whether no integer point satisfies it. Exact; a search only where it is not plain; memoised.

        >>> from polyvolta.sets import Set
        >>> [c.is_empty for _, cs in Set("[N] -> { S[i, j] : 0 <= i < N and j = i + 1 }").parts for c in cs]
        [False]
        """
        if self._plain is None:
            if self.eqs:
                self._plain = far_out(self)
            else:
                self._plain = self.n == 2 and not self.divs and cornered(self.ineqs)
        return not self._plain and _point(self) is None


def far_out(c: Conjunct) -> bool:
    """Whether it plainly has points far out.

    Rows hold where some columns are as large as it takes, and equalities say other columns, of which nothing else
    speaks, in terms of the rest. So it is of domains whose sizes are parameters, and of most dependences. O(size), no
    search; a False says nothing.
    """
    if c.divs:
        return False
    if c.eqs:
        last = [max(compress(count(), eq)) for eq in c.eqs]
        given = picker(last)
        for eq, col in zip(c.eqs, last, strict=True):
            if eq[col] not in (1, -1) or given(eq).count(0) < len(last) - 1:
                return False
        for row in c.ineqs:
            if any(given(row)):
                return False
    return unbounded(c.ineqs)


@lru_cache(maxsize=64)
def universe(n: int) -> Conjunct:
    """The conjunct without constraints."""
    return Conjunct(n, (), (), ())


@lru_cache(maxsize=64)
def nothing(n: int) -> Conjunct:
    """The conjunct that no point satisfies."""
    return Conjunct(n, (), (), ((-1,) + (0,) * n,))


@remembered(1 << 12)
def _point(c: Conjunct) -> tuple[int, ...] | None:
    if c.eqs or c.divs:
        point = integer.sample(c.n + len(c.divs), c.eqs, c.all_ineqs())
    else:
        point = integer.pushed(c.n, c.ineqs)
        if point is None:
            point = integer.sample(c.n, (), c.ineqs, tidy=True, tried=True)
    return None if point is None else tuple(point[: c.n])


def sample(c: Conjunct) -> tuple[int, ...] | None:
    """An integer point (the dimensions' values) or None; that by which it is known not to be empty, if it is."""
    return _point(c)


def uses(c: Conjunct, dim: int) -> bool:
    """Whether a constraint or a div speaks of a dimension."""
    return any(r[1 + dim] for r in (*c.eqs, *c.ineqs)) or any(d is not None and d[1][1 + dim] for d in c.divs)


def holds(c: Conjunct, point: Sequence[int]) -> bool:
    """Whether a point, the dimensions' values, is in the conjunct; a search only where divs are unknown."""
    columns = [1, *point]
    unknown = []
    for div in c.divs:
        if div is None:
            unknown.append(len(columns))
        columns.append(0 if div is None else sum([v * x for v, x in zip(div[1], columns, strict=False)]) // div[0])
    if not unknown:
        return not any(dot(r, columns) for r in c.eqs) and all(dot(r, columns) >= 0 for r in c.ineqs)
    eqs, ineqs = ([(dot(r, columns), *[r[k] for k in unknown]) for r in rows] for rows in (c.eqs, c.ineqs))
    return not integer.is_empty(len(unknown), eqs, ineqs)


def lifted(divs: Sequence[Div], point: Sequence[int]) -> Row:
    """A point (1, x, q) with the values of known divs; an unknown one counts as 0.

    >>> lifted([(4, (1, 1))], [7])
    (1, 7, 2)
    """
    columns = [1, *point]
    for div in divs:
        columns.append(0 if div is None else sum(map(mul, div[1], columns)) // div[0])
    return tuple(columns)


def normalise(n: int, divs: Iterable[Div], eqs: Iterable[Row], ineqs: Iterable[Row]) -> Conjunct | None:
    """The normal form of a conjunction (see `normal`), or None when it is plainly contradictory.

    Exact; no linear program, tens of microseconds for a typical conjunct.
    """
    return _normalised(n, tuple(divs), tuple(map(tuple, eqs)), tuple(map(tuple, ineqs)))


def sure(c: Conjunct | None) -> Conjunct:
    """A conjunct that is known to have no plain contradiction."""
    assert c is not None
    return c


def made(n: int, divs: Sequence[Div], eqs: Iterable[Row], ineqs: Iterable[Row]) -> Conjunct | None:
    """`normalise` without a memo, for what is remembered as part of something larger."""
    form = normal_form(n, divs, eqs, ineqs)
    return None if form is None else Conjunct(n, *form)


def made_stronger(
    n: int, divs: Sequence[Div], eqs: Sequence[Row], ineqs: Sequence[Row], more: Sequence[Row]
) -> Conjunct | None:
    """`made` of rows in normal form and more inequalities."""
    form = strengthened(n, divs, eqs, ineqs, more)
    return None if form is None else Conjunct(n, *form)


@remembered(1 << 12)
def _normalised(n: int, divs: tuple[Div, ...], eqs: tuple[Row, ...], ineqs: tuple[Row, ...]) -> Conjunct | None:
    return made(n, divs, eqs, ineqs)


@remembered(1 << 12)
def reindex(c: Conjunct, n: int, places: tuple[int, ...]) -> Conjunct:
    """The conjunct over `n` dimensions, its own dimension d standing at position `places[d]` (injective)."""
    if n == c.n and places == tuple(range(n)):
        return c
    moved = placed(c, n, places)
    if list(places) == sorted(places):  # columns of zeros between the others: still normal
        return moved
    normal = made(n, moved.divs, moved.eqs, moved.ineqs)
    return nothing(n) if normal is None else normal  # another order of dimensions may show a contradiction


def placed(c: Conjunct, n: int, places: tuple[int, ...]) -> Conjunct:
    """`reindex`, not normalised."""
    if n == c.n and places == tuple(range(n)):
        return c
    base, end = 1 + c.n, 1 + c.n + len(c.divs)
    source = [end] * n  # a zero behind the row, where no dimension goes
    for d, place in enumerate(places):
        source[place] = 1 + d
    take = picker((0, *source, *range(base, end)))
    divs: list[Div] = []
    for k, div in enumerate(c.divs):
        divs.append(div and (div[0], take((*div[1], *(0,) * (end + 1 - len(div[1]))))[: 1 + n + k]))
    eqs, ineqs = (tuple([take((*r, 0)) for r in rows]) for rows in (c.eqs, c.ineqs))
    return Conjunct(n, tuple(divs), eqs, ineqs)


def conjoin(a: Conjunct, b: Conjunct) -> Conjunct | None:
    """Both at once, over the same dimensions; None when plainly contradictory."""
    if a is b or not (b.eqs or b.ineqs):
        return a
    if not (a.eqs or a.ineqs):
        return b
    return _conjoin(a, b)


@remembered(1 << 12)
def _conjoin(a: Conjunct, b: Conjunct) -> Conjunct | None:
    if a.eqs and b.eqs:
        both = juxtaposed(a, b)
        return made(both.n, both.divs, both.eqs, both.ineqs)
    if b.eqs:
        a, b = b, a
    if not b.divs:
        pad = (0,) * len(a.divs)
        return made_stronger(a.n, a.divs, a.eqs, a.ineqs, [r + pad for r in b.ineqs] if pad else b.ineqs)
    both = juxtaposed(a, b)
    if len(both.divs) > len(a.divs):
        return made(both.n, both.divs, both.eqs, both.ineqs)
    return made_stronger(a.n, both.divs, both.eqs, a.ineqs, both.ineqs[len(a.ineqs) :])


def plainly_meet(a: Conjunct, b: Conjunct) -> bool:
    """Whether a common point is found at once; a False says nothing."""
    if a.eqs or a.divs or b.eqs or b.divs:
        return False
    return integer.pushed(a.n, (*a.ineqs, *b.ineqs)) is not None


def juxtaposed(a: Conjunct, b: Conjunct) -> Conjunct:
    """`conjoin`, not normalised: b's divs stand behind those of a, but for those that a has too."""
    if not b.divs:
        pad = (0,) * len(a.divs)
        eqs, ineqs = ([r + pad for r in rows] for rows in (b.eqs, b.ineqs)) if pad else (b.eqs, b.ineqs)
        return Conjunct(a.n, a.divs, (*a.eqs, *eqs), (*a.ineqs, *ineqs))
    divs, columns = shared_divs(a, b)
    base, width = 1 + a.n, 1 + a.n + len(divs)
    pad = (0,) * (width - base - len(a.divs))
    move = lambda r: moved_divs(r, base, columns, width)  # noqa: E731
    eqs, ineqs = [*map(move, b.eqs)], [*map(move, b.ineqs)]
    return Conjunct(a.n, divs, (*[r + pad for r in a.eqs], *eqs), (*[r + pad for r in a.ineqs], *ineqs))


class Beside:
    """Conjuncts beside one another, each at its places among `n` dimensions: a conjunction that is not written down.

    A composition reads their rows where they are. At most one of them has divs.
    """

    __slots__ = ("members", "n")

    def __init__(self, n: int, members: tuple[Placed, ...]) -> None:
        self.n, self.members = n, members

    def __hash__(self) -> int:
        return hash(self.members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beside) and self.n == other.n and self.members == other.members

    @property
    def whole(self) -> Conjunct:
        """The conjunction, not normalised."""
        return reduce(juxtaposed, [placed(c, self.n, places) for c, places in self.members])

    @property
    def eqs(self) -> tuple[Row, ...]:
        """Its equalities."""
        return self.whole.eqs

    @property
    def ineqs(self) -> tuple[Row, ...]:
        """Its inequalities."""
        return self.whole.ineqs


Placed = tuple[Conjunct, tuple[int, ...]]  # a conjunct, and where each of its dimensions stands


def members(c: Conjunct | Beside, places: tuple[int, ...]) -> tuple[Placed, ...]:
    """The conjuncts that are meant together, dimension d of the whole standing at `places[d]`."""
    if isinstance(c, Conjunct):
        return ((c, places),)
    return tuple([(d, tuple(map(places.__getitem__, at))) for d, at in c.members])


def beside(n: int, found: tuple[Placed, ...]) -> Conjunct | Beside:
    """Some conjuncts together, not normalised; written down where two have divs, which may be the same."""
    together = Beside(n, found)
    return together if sum([bool(c.divs) for c, _ in found]) < 2 else together.whole


def whole(c: Conjunct | Beside) -> Conjunct:
    """What may be several conjuncts as one, not normalised."""
    return c if isinstance(c, Conjunct) else c.whole


def shared_divs(a: Conjunct, b: Conjunct) -> tuple[tuple[Div, ...], list[int]]:
    """The divs of both in one list, a's first, and in which column each of b's stands; known ones are shared."""
    base, divs, columns = 1 + a.n, list(a.divs), []
    found = {(d[0], trimmed(d[1], base)): base + k for k, d in enumerate(a.divs) if d is not None}
    for div in b.divs:
        at = base + len(divs)
        if div is not None:
            div = (div[0], trimmed(moved_divs(div[1], base, columns, at), base))
            at = found.setdefault(div, at)
        columns.append(at)
        if at == base + len(divs):
            divs.append(div)
    return tuple(divs), columns


def trimmed(row: Row, base: int) -> Row:
    """The row without the zeros at its end, behind the dimensions."""
    end = len(row)
    while end > base and not row[end - 1]:
        end -= 1
    return row[:end]


def moved_divs(row: Row, base: int, columns: Sequence[int], width: int) -> Row:
    """The row over `width` columns, its entry `base + k` in column `columns[k]`."""
    if len(row) == base or not any(row[base:]):
        return row[:base] + (0,) * (width - base)
    out = [*row[:base], *[0] * (width - base)]
    for v, at in zip(row[base:], columns, strict=False):
        if v:
            out[at] += v
    return tuple(out)
