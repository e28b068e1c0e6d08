"""Box hulls: the smallest box of constant size, at a parametric offset, around each image of a map.

This is what memory promotion asks: which tile of an array do the instances of one block touch? For an output x each
constraint `a*x + g >= 0`, with g an expression of inputs and parameters, measures how far x lies above `-g/a`. Where
that distance keeps between two numbers over the whole map, it gives an offset and a size, and the smallest size is
taken. Linear programs find the numbers, over all pieces of the map together; other outputs are projected out when a
constraint on x mentions them.

Outputs may lie on a grid: x = r mod s, with r an expression of inputs and parameters again. The affine hull of the
map (module `lattice`) knows s and r; the distance is then counted in steps of s, from the first point of the grid.

The box contains every image. Whether it is full is a question of equality that the caller can ask of `Box.relation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd, isqrt, lcm
from typing import TYPE_CHECKING, Any

from ..budgets import spend
from ..conjuncts import conjunct as cj
from ..conjuncts import lattice
from ..conjuncts import project as pj
from ..conjuncts.conjunct import Conjunct, Div, defining_rows
from ..conjuncts.frame import Frame, Member
from ..engine.integer import solve_equalities
from ..engine.rows import Row, dot, negate, normal_ineq
from ..errors import Unbounded
from ..optima.extent import integer_minimum
from ..values.aff import Aff, linear, var
from ..values.build import RowBuilder, affs_of, expression
from ..values.shape import is_map

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set


Extent = tuple[int, Aff, int]  # of an output: size, offset, stride


@dataclass(frozen=True, slots=True)
class Box:
    """For each input the points `offset, offset + stride, ...` below `offset + size`, in each output dimension.

    Parameters
    ----------
    offset : one expression of inputs and parameters per output dimension, itself on the grid.
    size : one positive number per output dimension, the extent: from the first point to the last, inclusive.
    stride : one positive number per output dimension, 1 where every integer may be in the box.
    """

    offset: tuple[Aff, ...]
    size: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def count(self) -> tuple[int, ...]:
        """The points per output dimension: what an array needs that holds the box, compressed by the stride."""
        return tuple([(size - 1) // stride + 1 for size, stride in zip(self.size, self.stride, strict=True)])

    def relation(self, of: Map | Set) -> Map | Set:
        """The box as a map (a set) in the space of `of`, on its domain (for its parameter values)."""
        space = of.space
        names = (*of.param_names, *space.dims)
        constraints = []
        for dim, low, size, stride in zip(space.out.dims, self.offset, self.size, self.stride, strict=True):
            constraints += [("ge", var(dim) - low), ("ge", low + (size - 1) - var(dim))]
            if stride > 1:
                constraints.append(("eq", (var(dim) - low) % stride))
        c = RowBuilder(names).conjunct(constraints)
        whole = type(of)._of(of.param_names, [(space, (cj.sure(c),))])
        if is_map(whole) and is_map(of):
            return whole.intersect_domain(of.domain())
        return whole.intersect_params(of.params())


def box_hull(self: Map | Set) -> Box:
    """The box hull of a map's images, or of a set for each choice of parameters: `offset`, `size`, `stride`.

    Each image is inside, and of the boxes whose offset one constraint gives it is the smallest, up to the rounding
    of rational optima. An output of one value, which no equality says, is that value in the constraints on the others.
    A few linear programs per constraint on an output; isl calls it the simple fixed box hull.

    Raises
    ------
    Unbounded : an output dimension's extent is not bounded by a number; or there is no point.
    BudgetExceeded : a projection or the linear programs took too many steps.

    >>> from polyvolta.sets import Map
    >>> box = box_hull(Map("[N] -> { [b] -> A[i] : b = floor(i/32) and 0 <= i < N }"))
    >>> print(*box.offset, box.size)
    32*b (32,)
    >>> box = box_hull(Map("{ [b] -> A[i, j] : 16b + 3 <= i < 16b + 16 and i mod 4 = 1 and j = floor(b/3) }"))
    >>> print(*box.offset, box.size, box.stride, box.count)
    16*b + 5 floor(b/3) (9, 1) (4, 1) (3, 1)
    """
    found, known = _extents(self)
    pinned = [
        dim for dim, (size, _, _) in zip(self.space.out.dims, found, strict=True) if size == 1 and dim not in known
    ]
    if pinned and any(size > 1 for size, _, _ in found):
        again = _extents(_restricted(self, pinned, found))[0]
        found = [min(each, key=lambda extent: extent[0]) for each in zip(found, again, strict=True)]
    sizes, offsets, strides = zip(*found, strict=True) if found else ((), (), ())
    return Box(offsets, sizes, strides)


def _restricted(self: Map | Set, dims: Sequence[str], found: Sequence[Extent]) -> Map | Set:
    """With the values of the outputs that have one each as equalities."""
    values = dict(zip(self.space.out.dims, [offset for _, offset, _ in found], strict=True))
    c = RowBuilder((*self.param_names, *self.space.dims)).conjunct([("eq", var(dim) - values[dim]) for dim in dims])
    pinned: Any = type(self)._of(self.param_names, [(self.space, (cj.sure(c),))])
    return self & pinned


def _extents(self: Map | Set) -> tuple[list[Extent], set[str]]:
    """The size, the offset and the stride of each output, and which of them an equality says; as `box_hull`."""
    space = self.space
    n_head = len(self.param_names) + space.n_in
    names = (*self.param_names, *space.dims)
    pieces = [c for c in self.parts[0][1] if lattice.of_conjunct(c) is not None]
    if not pieces:
        raise Unbounded("an empty relation has no box", where=str(self))
    origin, basis = lattice.joined([grid for grid in map(lattice.of_conjunct, pieces) if grid is not None])
    found: list[Extent] = []
    known: set[str] = set()
    shared: Frame | None = None  # for all outputs of which no row involves another one
    for k, dim in enumerate(space.out.dims):
        columns = [*range(n_head), n_head + k]
        grid = tuple([origin[j] for j in columns]), lattice.echelon([tuple([b[j] for j in columns]) for b in basis])
        stride, residue = _residue(n_head, grid, (*names[:n_head], dim))
        if not stride and residue is not None:
            found.append((1, residue, 1))
            known.add(dim)
            continue
        alone = _alone(pieces, n_head, k)
        if alone is pieces:
            shared = shared or Frame(pieces)
            bounds = _bounds(shared, n_head, n_head + k, stride or 1, residue or Aff((), 0), names)
        else:
            bounds = _bounds(Frame(alone), n_head, n_head, stride or 1, residue or Aff((), 0), (*names[:n_head], dim))
        best = _smallest(list(bounds))
        if best is None:
            raise Unbounded(f"the extent of {dim} is not bounded by a number", where=str(self))
        found.append((*best, stride or 1))
    return found, known


def residue_class(self: Map | Set, known: Sequence[str], dim: str, stated: bool = False) -> tuple[int, Aff]:
    """(s, r) such that a dimension is r mod s at every point, r an expression of the known names; r itself if s is 0.

    The greatest s of the affine hull of all points; (1, 0) where there is none, or no such expression can be read off.
    Of no points it is (0, 0).

    Parameters
    ----------
    stated : the greatest such s whose prime factors are of strides that pieces have by themselves: those that only
        two pieces together have, as two points do, whose difference is a stride of both, are left out.

    >>> from polyvolta.sets import Set
    >>> residue_class(Set("[N] -> { [i, j] : (i - j) mod 6 = 1 and j mod 4 = N mod 4 }"), ["N"], "i")
    (2, Aff('1 - N'))
    >>> residue_class(Set("{ [3]; [7] }"), [], "i0"), residue_class(Set("{ [3]; [7] }"), [], "i0", stated=True)
    ((4, Aff('3')), (1, Aff('0')))
    """
    names = (*self.param_names, *self.space.dims)
    grids = [grid for c in self.parts[0][1] if (grid := lattice.of_conjunct(c)) is not None]
    if not grids:
        return 0, Aff((), 0)
    columns = [names.index(n) for n in (*known, dim)]
    grid = _onto(columns, lattice.joined(grids))
    stride, residue = _residue(len(known), grid, (*known, dim))
    if residue is None:
        stride, residue = _linear_residue(grid, known)
    if stated and stride:
        stride = gcd(stride, lcm(*[_strides(_onto(columns, g)) for g in grids]))
    if stride == 1:
        return 1, Aff((), 0)
    return stride, residue - residue.const // stride * stride if stride else residue


def _onto(columns: Sequence[int], grid: lattice.Lattice) -> lattice.Lattice:
    """What a lattice is in some columns."""
    origin, basis = grid
    return tuple([origin[j] for j in columns]), lattice.echelon([tuple([b[j] for j in columns]) for b in basis])


def _strides(grid: lattice.Lattice) -> int:
    """The product of the strides of a lattice: of how many integer points in its affine span it has one."""
    n = len(grid[0])
    span = solve_equalities(n, [(0, *row[1:]) for row in lattice.equalities(n, grid)])
    assert span is not None  # it has the origin
    return lattice.index(grid)[1] // lattice.index((grid[0], span[1]))[1]


def _linear_residue(grid: lattice.Lattice, known: Sequence[str]) -> tuple[int, Aff]:
    """The greatest s of which the last coordinate is r mod s on the grid, r linear in the others.

    For each basis vector an equation modulo s that the coefficients of r satisfy; a solution for each divisor.
    """
    origin, basis = grid
    n, stride = len(known), grid[1][-1][-1] if grid[1] and not any(grid[1][-1][:-1]) else 1
    small = [d for d in range(1, isqrt(stride) + 1) if stride % d == 0]
    spend(isqrt(stride) // 64)
    for s in [*(stride // d for d in small), *reversed(small)]:
        rows = [(-b[n], *b[:n], *[s * int(j == k) for j in range(len(basis))]) for k, b in enumerate(basis)]
        found = solve_equalities(n + len(basis), rows)
        if found is not None:
            factors = [(v + s // 2) % s - s // 2 for v in found[0][:n]]
            return s, linear(dict(zip(known, factors, strict=True)), origin[n] - dot(factors, origin[:n]))
    return 1, Aff((), 0)


def _residue(n_head: int, grid: lattice.Lattice, names: Sequence[str]) -> tuple[int, Aff | None]:
    """(s, r) such that the last coordinate is r mod s on the grid, r an expression of the others; 0 for equal.

    (1, None) where no such expression can be read off.
    """
    x = 1 + n_head
    last = grid[1][-1] if grid[1] else (0,) * x
    stride = 0 if any(last[:-1]) else abs(last[-1])
    if stride == 1:
        return 1, None
    c = lattice.conjunct(n_head + 1, grid)
    table = affs_of(c, names)
    leaning = _leaning(c.n, c.divs, {x})
    for row in c.eqs:
        if abs(row[x]) != 1:
            continue
        sign = -row[x]
        rest = [sign * v for v in row]
        rest[x] = 0
        if any(rest[col] % stride if stride else rest[col] for col in leaning):
            continue
        return stride, expression(tuple([0 if col in leaning else v for col, v in enumerate(rest)]), table)
    return 1, None


def _alone(pieces: list[Conjunct], n_head: int, k: int) -> list[Conjunct]:
    """The pieces as they are when no row on output k involves another one or an existential, else projected."""
    x = 1 + n_head + k
    drop = [n_head + j for j in range(pieces[0].n - n_head) if j != k]
    for c in pieces:
        hidden = _leaning(c.n, c.divs, {1 + d for d in drop}) | {1 + d for d in drop}
        with_x = _leaning(c.n, c.divs, {x}) | {x}
        if any(any(r[col] for col in with_x) and any(r[col] for col in hidden) for r in (*c.eqs, *c.ineqs)):
            done = (pj.project(c, tuple(drop)) for c in pieces)
            return [c for c in done if c is not None]
    return pieces


def _bounds(
    frame: Frame, n_head: int, at: int, stride: int, residue: Aff, names: Sequence[str]
) -> Iterator[tuple[int, Aff]]:
    """All (size, offset) that rows on dimension `at` give."""
    x = 1 + at
    outputs = set(range(1 + n_head, 1 + frame.n))
    hidden = (_leaning(frame.n, frame.divs, outputs) | outputs) - {x}
    unit = tuple([int(j == x) for j in range(1, frame.width)])
    seen: dict[Row, None] = {unit: None}  # a constant offset, or a row's
    for member in frame.members:
        for row in _spelt_out(frame, member, hidden):
            if row[x] and not any(row[col] for col in hidden):
                seen[row[1:] if row[x] > 0 else negate(row[1:])] = None
    table = affs_of(Conjunct(frame.n, tuple(frame.divs), (), ()), names)
    for key in seen:
        lows, highs = [], []
        for member in frame.members:
            tab = member.tableau([(0, *key)])
            low = tab.minimum((0, *key))
            high = None if low is None else tab.maximum((0, *key))
            if low is None or high is None:
                break
            if key == unit:  # at least these are exact
                rows = (frame.width - 1, member.eqs, (*member.ineqs, *frame.given))
                lows.append(integer_minimum(*rows, (0, *unit)))
                highs.append(-integer_minimum(*rows, (0, *negate(unit))))
            else:
                lows.append(-(-low[0] // low[1]))
                highs.append(high[0] // high[1])
        else:
            low, a = min(lows), key[at]
            g = expression((-low, *key[:at], 0, *key[at + 1 :]), table)  # a*x + g >= 0 on all pieces
            offset = residue - stride * ((a * residue + g) // (a * stride))
            yield stride * ((max(highs) - low) // (a * stride)) + 1, offset


def _smallest(bounds: Sequence[tuple[int, Aff]]) -> tuple[int, Aff] | None:
    """The bounds of least size, of several those whose offset reads first; None where there are none."""
    least = min([size for size, _ in bounds], default=0)
    found = [b for b in bounds if b[0] == least]
    return min(found, key=lambda b: str(b[1])) if len(found) > 1 else found[0] if found else None


def _leaning(n: int, divs: Sequence[Div], on: set[int]) -> set[int]:
    """The columns of the divs that depend on some columns, and of the unknown ones."""
    found: set[int] = set()
    for k, div in enumerate(divs):
        if div is None or any(v and (col in on or col in found) for col, v in enumerate(div[1])):
            found.add(1 + n + k)
    return found


def _spelt_out(frame: Frame, member: Member, hidden: set[int]) -> Iterator[Row]:
    """The rows of a member, its inequalities freed of the hidden known divs.

    An over-approximation: each such div, q = floor(e/d), is eliminated as a rational between (e - d + 1)/d
    and e/d, after Fourier and Motzkin. Equalities stay.

    >>> from polyvolta.sets import Set
    >>> ((_, cs),) = Set("[N] -> { [i] : 0 <= i and i + 3*floor(i/3) < N }").parts
    >>> frame = Frame(cs)
    >>> list(_spelt_out(frame, frame.members[0], {3}))
    [(0, 0, 1, 0), (1, 1, -2, 0)]
    """
    rows = list(member.ineqs)
    for col in sorted(hidden, reverse=True):
        div = frame.divs[col - 1 - frame.n] if col > frame.n else None
        if div is None or not any(r[col] for r in rows):
            continue
        rows += defining_rows(div, col, frame.width)
        low, high = [r for r in rows if r[col] > 0], [r for r in rows if r[col] < 0]
        rows = [r for r in rows if not r[col]]
        rows += [tuple([-b[col] * x + a[col] * y for x, y in zip(a, b, strict=True)]) for a in low for b in high]
        spend(len(low) * len(high) // 64)
    yield from dict.fromkeys(r for r in map(normal_ineq, rows) if type(r) is tuple)
    yield from member.eqs
