"""Projection: removing existentials from a conjunct, exactly over the integers.

`eliminate` removes one existential e at a time from

    a_i e + alpha_i >= 0   (a_i > 0)        -b_j e + beta_j >= 0   (b_j > 0)

Over the integers an e exists when ceil(-alpha_i / a_i) <= floor(beta_j / b_j) for every pair. A pair with a
unit coefficient is Fourier and Motzkin's affine row b_j alpha_i + a_i beta_j >= 0, and so is one where that row's
left side has no value from 0 up to (a_i - 1)(b_j - 1) - 1: from there on an e surely exists, as Pugh's dark shadow
says. Any other is affine in one new known div, floor(alpha_i / a_i) or floor(beta_j / b_j), as long as that bound
holds no other existential. So a single existential can go, at the price of divs and never of a case split; it stays
where that takes many. Several that are knotted together by non-unit coefficients stay, too; `with_known_divs` unties
those by parametric lexmin, at the price of pieces.

Source: W. Pugh, "The Omega test" (CACM 1992), for the dark shadow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress, count, permutations
from math import gcd
from operator import add

from ..budgets import remembered, spend
from ..engine import lexopt, simplex
from ..engine.cone import generators
from ..engine.integer import pushed
from ..engine.rows import complement, dot, falls, negate, picker
from ..errors import Unbounded
from . import conjunct as cj
from .conjunct import Beside, Conjunct, Div, Row, defining_rows, normalise
from .plain import given_by

COSTLY = 24  # more rows, a div as four of them, than an existential less is worth: each doubles what a search may split
CONE = 4  # existentials of which a common direction is looked for: a cone may have as many rays as pairs of its rows
ROWS_WORTH_PRUNING = 10  # where elimination has added rows, a linear program per row pays for itself


@remembered(1 << 12)
def project(c: Conjunct, drop: tuple[int, ...]) -> Conjunct | None:
    """The conjunct over the other dimensions; `drop` are positions of dimensions, ascending.

    Exact: the result has a point exactly where `c` has one above it. It may keep unknown divs.
    """
    if not drop:
        return c
    return (None if c.divs else _without(c, drop)) or _project(c, drop)


def _without(c: Conjunct, drop: tuple[int, ...]) -> Conjunct | None:
    """The projection along dimensions that nothing speaks of but one equality each, with a unit coefficient; else None.

    What is left is in normal form already: each equality gives its last dimension, and none can say a quotient. So a
    function, whose outputs equalities give, is projected to its arguments. O(size).
    """
    gone = picker([1 + d for d in drop])
    for row in c.ineqs:
        if any(gone(row)):
            return None
    if len(c.ineqs) == 1 and not any(c.ineqs[0][1:]):  # the one that no point satisfies
        return None
    eqs = list(c.eqs)
    for d in reversed(drop):
        users = [r for r in eqs if r[1 + d]]
        if users:
            if len(users) > 1 or users[0][1 + d] not in (1, -1):
                return None
            eqs.remove(users[0])
    given = given_by(eqs)
    if given is None or any(row[col] for col, _ in given for row in c.ineqs):
        return None
    take = picker([0, *[1 + d for d in range(c.n) if d not in drop]])
    return Conjunct(c.n - len(drop), (), tuple(map(take, eqs)), tuple(map(take, c.ineqs)))


@remembered(1 << 12)
def differences(c: Conjunct, n_fixed: int) -> Conjunct | None:
    """The differences y - x of the pairs (x, y) that stand behind the first dimensions, which are kept; exact.

    The second of a pair is the first and the difference, so no equality says which that is. Whether there is a pair is
    asked of the differences, which are fewer dimensions, where no existential is left of them.
    """
    first, n = 1 + n_fixed, (c.n - n_fixed) // 2
    second, end = first + n, first + 2 * n

    def moved(row: Row) -> Row:
        y = row[second:end]
        return (*row[:first], *map(add, row[first:second], y), *row[second:]) if any(y) else row

    divs = tuple([d and (d[0], moved(d[1])) for d in c.divs])
    pairs = Conjunct(c.n, divs, tuple(map(moved, c.eqs)), tuple(map(moved, c.ineqs)))
    found = _project(pairs, tuple(range(n_fixed, n_fixed + n)))
    return None if found is None or (found if found.known else c).is_empty else found


@remembered(1 << 12)
def compose(
    a: Conjunct | Beside,
    b: Conjunct | Beside,
    n: int,
    first: tuple[int, ...],
    second: tuple[int, ...],
    drop: tuple[int, ...],
) -> Conjunct | None:
    """Both over `n` dimensions, theirs standing at `first` and `second`, without the dimensions `drop`.

    Exact, as `project`; the conjunction between is never brought to its normal form.
    """
    found = (*cj.members(a, first), *cj.members(b, second))
    owners = [m for m in found if m[0].divs]
    if len(owners) > 1:  # some may be shared
        return _project(cj.juxtaposed(cj.placed(cj.whole(a), n, first), cj.placed(cj.whole(b), n, second)), drop)
    gone = frozenset(drop)
    kept = [d for d in range(n) if d not in gone]
    owner, known, tainted = None, [], []
    if owners:
        ((owner, places),) = owners
        known, tainted = _split(owner, [d for d, place in enumerate(places) if place in gone])
    eqs: list[Row] = []
    ineqs: list[Row] = []
    spelt_out: list[Row] = []
    divs: list[Div] = []
    for c, places in found:
        base, end = 1 + c.n, 1 + c.n + len(c.divs)  # a zero stands at the end
        source = [end] * n
        for d, place in enumerate(places, 1):
            source[place] = d
        own = [base + k for k in known] if c is owner else [end] * len(known)
        others = [base + k for k in tainted] if c is owner else [end] * len(tainted)
        at = source.__getitem__
        take = picker((0, *map(at, kept), *own, *map(at, drop), *others))
        eqs += [take((*r, 0)) for r in c.eqs]
        ineqs += [take((*r, 0)) for r in c.ineqs]
        if c is not owner:
            continue
        for k in tainted:
            if (div := c.divs[k]) is not None:
                spelt_out += [take((*r, 0)) for r in defining_rows(div, base + k, end)]
        for k in known:
            den, row = _known(c, k)
            divs.append((den, take((*row, *(0,) * (end + 1 - len(row))))))
    divs += [None] * (len(drop) + len(tainted))
    return eliminate(cj.made(len(kept), divs, eqs, ineqs + spelt_out))


def _known(c: Conjunct, k: int) -> tuple[int, Row]:
    """A div that is known."""
    div = c.divs[k]
    assert div is not None
    return div


def _split(c: Conjunct, lost: Iterable[int]) -> tuple[list[int], list[int]]:
    """The divs that remain functions of the point without the dimensions `lost`, and the others."""
    known: list[int] = []
    tainted: list[int] = []
    columns = {1 + d for d in lost}
    for k, div in enumerate(c.divs):
        if div is None or not columns.isdisjoint(compress(count(), div[1])):
            tainted.append(k)
            columns.add(1 + c.n + k)
        else:
            known.append(k)
    return known, tainted


def _project(c: Conjunct, drop: tuple[int, ...]) -> Conjunct | None:
    gone = frozenset(drop)
    kept = [1 + d for d in range(c.n) if d not in gone]
    base = 1 + c.n
    width = base + len(c.divs)
    # Known divs that lean on a dropped dimension become unknown, with their definition spelt out as rows.
    known, tainted = _split(c, gone)
    ineqs = list(c.ineqs)
    for k in tainted:
        if (div := c.divs[k]) is not None:
            ineqs += defining_rows(div, base + k, width)
    lost = []  # of the others, any value will do
    for col in [1 + d for d in drop]:
        for r in (*c.eqs, *ineqs):
            if r[col]:
                lost.append(col)
                break
    # column order of the result: kept dims, known divs, then lost dims and tainted divs as unknown divs
    unknown = lost + [base + k for k in tainted]
    take = picker((0, *kept, *[base + k for k in known], *unknown))
    divs: list[Div] = []
    for k in known:
        den, row = _known(c, k)
        divs.append((den, take((*row, *(0,) * (width - len(row))))))
    divs += [None] * len(unknown)
    return eliminate(cj.made(len(kept), divs, map(take, c.eqs), map(take, ineqs)))


def eliminate(c: Conjunct | None) -> Conjunct | None:
    """The same set with as few unknown divs as one-at-a-time elimination leaves."""
    before = 0 if c is None else len(c.ineqs)
    while c is not None and not c.known:
        step = _best_step(c)
        if step is not None:
            c = _remove(c, *step)
            continue
        fewer = _joined_digits(c) or _without_rising(c)
        if fewer is None:
            break
        c = fewer
    if c is not None and len(c.ineqs) >= max(ROWS_WORTH_PRUNING, before + 1):
        c = prune(c)
    return c


def _joined_digits(c: Conjunct) -> Conjunct | None:
    """Two existentials as one, if there are such: all rows have e + 4f, or a multiple of it, and e takes 4 values.

    Rows that bound one of them alone are excepted. They say from where to where e + 4f goes, without a gap.
    """
    base, width = 1 + c.n, 1 + c.n + len(c.divs)
    unknown = [base + k for k, d in enumerate(c.divs) if d is None]
    for fine, coarse in permutations(unknown, 2):
        users = [r for r in (*c.eqs, *c.ineqs) if r[fine] or r[coarse]]
        ends: dict[tuple[int, int], int] = {}  # (column, sign) -> its least or greatest value
        step = 0
        for row in users:
            if row.count(0) == width - 1 - bool(row[0]):
                ends[fine if row[fine] else coarse, row[fine] + row[coarse]] = -row[0] * (row[fine] + row[coarse])
            elif not row[fine] or step not in (0, row[coarse] // row[fine]) or row[coarse] % row[fine]:
                break
            else:
                step = row[coarse] // row[fine]
                if not step:
                    break
        else:
            least, most = ends.get((fine, 1)), ends.get((fine, -1))
            if least is None or most is None or not 0 < abs(step) <= most - least + 1:
                continue
            rows = [r for r in c.ineqs if r not in users or r.count(0) < width - 1 - bool(r[0])]
            for sign in (1, -1):
                other = ends.get((coarse, sign if step > 0 else -sign))
                if other is not None:
                    row = [0] * width
                    row[0], row[fine] = -sign * (ends[fine, sign] + step * other), sign
                    rows.append(tuple(row))
            eqs, ineqs = ([(*r[:coarse], 0, *r[coarse + 1 :]) for r in found] for found in (c.eqs, rows))
            return cj.made(c.n, c.divs, eqs, ineqs)
    return None


def _without_rising(c: Conjunct) -> Conjunct | None:
    """Without what existentials say nothing by, along a direction in which no row of them falls; None without one.

    Rows that rise along it go: with a point where the others hold there is one far off where all of them do. So there
    are an e and an f with `x <= 4e + 4f <= x + 2` and `y <= -4e` as soon as there are some with the first two. Where no
    row changes along it, in these along e = -f, one existential is as good as both. A cone in as many dimensions as
    there are existentials, at most 4.
    """
    base = 1 + c.n
    unknown = [base + k for k, d in enumerate(c.divs) if d is None]
    if not 1 < len(unknown) <= CONE:
        return None
    take = picker(unknown)
    parts = [take(r) for r in c.ineqs]
    flat = dict.fromkeys(map(take, c.eqs))
    lines, rays = generators(len(unknown), [*flat, *map(negate, flat), *filter(any, dict.fromkeys(parts))])
    if rays:
        along = [sum(entries) for entries in zip(*rays, strict=True)]
        kept = [r for r, part in zip(c.ineqs, parts, strict=True) if not dot(part, along)]
        return cj.made(c.n, c.divs, c.eqs, kept)
    line = next((list(v) for v in lines if len(v) - v.count(0) > 1), None)
    if line is None:
        return None
    eqs, ineqs = ([*map(list, rows)] for rows in (c.eqs, c.ineqs))
    while len(line) - line.count(0) > 1:  # Euclid's algorithm on its entries, so that it goes along one existential
        at = min((k for k, v in enumerate(line) if v), key=lambda k: abs(line[k]))
        other = next(k for k, v in enumerate(line) if v and k != at)
        q = line[other] // line[at]
        line[other] -= q * line[at]
        for row in (*eqs, *ineqs):
            row[unknown[at]] += q * row[unknown[other]]
    return cj.made(c.n, c.divs, map(tuple, eqs), map(tuple, ineqs))


def _best_step(c: Conjunct) -> tuple[int, list, list] | None:
    """The unknown div that goes at the least cost: (column, lower rows, upper rows)."""
    base = 1 + c.n
    unknown = [base + k for k, d in enumerate(c.divs) if d is None]
    best, best_cost = None, None
    for col in unknown:
        if any(r[col] for r in c.eqs):
            continue
        others = [u for u in unknown if u != col]
        lower = [r for r in c.ineqs if r[col] > 0]
        upper = [r for r in c.ineqs if r[col] < 0]
        cost = len(lower) * len(upper) - len(lower) - len(upper)
        spend(1 + len(lower) * len(upper) // 4)
        for low in lower:
            for up in upper:
                kind = _pair_kind(low, up, col, others)
                if kind is None:
                    cost = None
                    break
                cost += 4 * (kind == "div")
            if cost is None:
                break
        if cost is not None and cost <= COSTLY and (best_cost is None or cost < best_cost):
            best, best_cost = (col, lower, upper), cost
    return best


def _pair_kind(low: Row, up: Row, col: int, others: Sequence[int]) -> str | None:
    a, b = low[col], -up[col]
    if a == 1 or b == 1:
        return "rows"
    shadow, room = [b * x + a * y for x, y in zip(low, up, strict=True)], (a - 1) * (b - 1)
    step = gcd(*shadow[1:])
    if not step and shadow[0] >= room:
        return "free"
    if step and shadow[0] // step == (shadow[0] - room) // step:
        return "rows"
    if not any(low[u] for u in others) or not any(up[u] for u in others):
        return "div"
    return None


def _remove(c: Conjunct, col: int, lower: list[Row], upper: list[Row]) -> Conjunct | None:
    """Eliminate the unknown div in `col`, for which `_best_step` found every pair to be exact."""
    base, width = 1 + c.n, 1 + c.n + len(c.divs)
    others = [base + k for k, d in enumerate(c.divs) if d is None and base + k != col]
    rows: list[Sequence[int]] = []
    new_divs: dict[tuple[int, Row], int] = {}

    def div_of(den: int, row: Sequence[int]) -> int:
        value = tuple(0 if k == col else v for k, v in enumerate(row))
        return new_divs.setdefault((den, value), width + len(new_divs))

    for low in lower:
        for up in upper:
            a, b = low[col], -up[col]
            kind = _pair_kind(low, up, col, others)
            if kind == "rows":
                rows.append([b * x + a * y for x, y in zip(low, up, strict=True)])
            elif kind == "div":
                use_low = not any(low[u] for u in others)
                den, bound, other, factor = (a, low, up, b) if use_low else (b, up, low, a)
                at = div_of(den, bound)
                row = list(other) + [0] * (at + 1 - width)
                row[col] = 0
                row[at] = factor
                rows.append(row)
    if not new_divs:
        take = picker([k for k in range(width) if k != col])
        divs = [d for k, d in enumerate(c.divs) if base + k != col]
        left = [take(r) for r in c.ineqs if not r[col]]
        return cj.made_stronger(c.n, divs, list(map(take, c.eqs)), left, list(map(take, rows)))
    rows[:0] = [r for r in c.ineqs if not r[col]]
    width += len(new_divs)
    wide = lambda row: (*row, *(0,) * (width - len(row)))  # noqa: E731
    order = [k for k, d in enumerate(c.divs) if d is not None]  # known divs stand before unknown ones
    columns = [*range(base), *[base + k for k in order], *range(width - len(new_divs), width), *others]
    take = picker(columns)
    divs: list[Div] = [(den, take(wide(row))) for den, row in (_known(c, k) for k in order)]
    divs += [(den, take(wide(row))) for den, row in new_divs]
    divs += [None] * len(others)
    return cj.made(c.n, divs, [take(wide(r)) for r in c.eqs], [take(wide(r)) for r in rows])


@remembered(1 << 12)
def prune(c: Conjunct) -> Conjunct | None:
    """Drop inequalities that the others imply over the rationals: one small linear program each."""
    if c.is_empty:
        return None
    if not c.eqs and _all_needed(c):
        return c
    flags = simplex.redundant_rows(c.n + len(c.divs), c.eqs, c.ineqs, given=c.div_rows())
    kept = [r for r, gone in zip(c.ineqs, flags, strict=True) if not gone]
    return c if len(kept) == len(c.ineqs) else normalise(c.n, c.divs, c.eqs, kept)


def _all_needed(c: Conjunct) -> bool:
    """Whether for each inequality a point is found at once at which it alone fails; `c` has no equality, but points."""
    n, rows = c.n + len(c.divs), c.all_ineqs()
    # a variable with coefficients of one sign only goes as far as all rows with it want: they say nothing of the others
    free = [k for k, column in enumerate(zip(*rows, strict=True)) if k and (min(column) >= 0 or max(column) <= 0)]
    of_free = picker(free)
    core = [r for r in rows if not any(of_free(r))]
    for row in c.ineqs:
        if not falls(row, rows):
            others = core if row in core else rows
            if pushed(n, [complement(row), *[r for r in others if r is not row]], 3) is None:
                return False
    return True


def _with_moduli(n_param: int, n: int, eqs: Iterable[Row], ineqs: Iterable[Row]) -> tuple[tuple[Row, ...], ...]:
    """The rows with new variables z_k >= |x_k| before the variables x: these have a least value, whatever the x do."""
    split, gap = 1 + n_param, (0,) * n
    wide_eqs = [(*r[:split], *gap, *r[split:]) for r in eqs]
    wide = [(*r[:split], *gap, *r[split:]) for r in ineqs]
    for k in range(n):
        for sign in (1, -1):
            row = [0] * (split + 2 * n)
            row[split + k], row[split + n + k] = 1, sign
            wide.append(tuple(row))
    return tuple(wide_eqs), tuple(wide)


def with_known_divs(c: Conjunct) -> tuple[Conjunct, ...]:
    """Disjoint conjuncts without unknown divs whose union is `c`; exact, by parametric lexmin."""
    return (c,) if c.known else _with_known_divs(c)


@remembered(1 << 12)
def _with_known_divs(c: Conjunct) -> tuple[Conjunct, ...]:
    base = 1 + c.n
    known = [base + k for k, d in enumerate(c.divs) if d is not None]
    unknown = [base + k for k, d in enumerate(c.divs) if d is None]
    columns = [*range(base), *known, *unknown]
    divs = []
    for k, col in enumerate(known):
        den, row = _known(c, col - base)
        divs.append((den, tuple([row[at] for at in columns[: base + k]])))
    eqs = tuple([tuple([r[col] for col in columns]) for r in c.eqs])
    ineqs = tuple([tuple([r[col] for col in columns]) for r in c.ineqs])
    try:
        pieces = lexopt.lexmin(c.n, len(unknown), eqs, ineqs, divs, 0)
    except Unbounded:
        wide = _with_moduli(c.n + len(divs), len(unknown), eqs, ineqs)
        wide_eqs, wide_ineqs = wide
        pieces = lexopt.lexmin(c.n, 2 * len(unknown), wide_eqs, wide_ineqs, divs, 0)
    out: Iterable[Conjunct | None] = (normalise(c.n, p.divs, p.eqs, p.ineqs) for p in pieces)
    return tuple(p for p in out if p is not None)
