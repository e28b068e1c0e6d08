"""What a macro-MMA adds to an accumulator, from where its operands' values come from.

Each instruction of a macro-MMA multiplies, in every unit of lanes that has a product of its own, two matrices that lie
in the lanes' fragments as `gathers` says. With tags in the place of numbers it is to be seen that the rows of the left
matrix are rows of the product's left operand, each with one i for all its k; that columns of the right one have one j;
that the k of both are the same, pair by pair; and that the accumulator's value at row r and column c of the unit has
only ever been element (i, j) of the result. Then it is the values at those k more of a sum (`sums`).

All but the last depends on the operands' fragments alone, which are the same in every trip, tile by tile. So a pair of
fragments is looked at once, and what it adds to each value of an accumulator is kept: an element of the result and a
set of k.

A warpgroup multiplies matrices that lie in shared memory, and no lane has them: a "fragment" is such a matrix then, row
by row of A, column by column of B, and the accumulators are those of 128 threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import LANES, Element, Op, Wgmma
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.values.declared import operands
from polyvolta.cuda.verify.values.expressions import Meaning, Side
from polyvolta.cuda.verify.values.gathering import Gathers, gathers, of_matrices
from polyvolta.cuda.verify.values.sums import Problem, added, report
from polyvolta.cuda.verify.values.values import UNKNOWN, Sum, Table, Tags, element_text
from polyvolta.sets import Aff

LARGEST_HALF = 65504.0
"""Of fp16; bf16 has larger numbers."""


@dataclass(slots=True)
class _Fragment:
    """An operand's fragments in the warps that take part: their tags, skeleton, row or column, and depth.

    `held` says whether lanes hold them; if not, they are the rows or columns of matrices, in each warpgroup.
    """

    array: str
    tags: Tags
    kind: int
    side: Side
    line: np.ndarray
    depth: np.ndarray
    held: bool

    def lane(self, line: int) -> int:
        """The lane to be named for a fragment's line."""
        return line if self.held else 0


@dataclass(frozen=True, slots=True)
class _Arrays:
    """What a product is about: accumulators and operands by name, values of a thread's accumulators, and threads."""

    result: str
    sides: tuple[str, str]
    width: int
    threads: int = LANES

    @property
    def held(self) -> bool:
        return self.threads == LANES


@dataclass(frozen=True, slots=True)
class _Addend:
    """What a macro-MMA of two fragments adds to each value of an accumulator.

    Parameters
    ----------
    product : the graph's.
    base : of the row and the column in the result.
    depth : of k, symbolic.
    place : the element of the result, int32 [warp, lane, value, 2].
    sets, which : tuples of k, and for each value the number of one, [warp, lane, value].
    reaches : if beyond the k range something else than 0 may be added: the largest k, what is wrong about that, and the
        warp and the lane that have it.
    """

    product: int
    base: tuple[Aff, Aff]
    depth: Aff
    place: np.ndarray
    sets: tuple[tuple[int, ...], ...]
    which: np.ndarray
    reaches: tuple[int, str, int, int] | None


class Products:
    """The macro-MMAs of a kernel on tags."""

    def __init__(self, table: Table, meaning: Meaning) -> None:
        self.table, self.meaning = table, meaning
        self._addends: dict[tuple, _Addend | None] = {}

    def multiplied(self, here: Here, d: Tags, a: Tags, b: Tags) -> Tags:
        """The accumulator fragments [warp, lane, value] after a macro-MMA; as before, if its operands make no sense.

        Parameters
        ----------
        d, a, b : what the product of the operation at which the machine stands takes, [warp, lane, value].

        Raises
        ------
        Undecided : the operation has no product of register elements.
        """
        warps = np.arange(len(d.kind))
        if here.mask is not None:
            warps = warps[here.mask.any(1)]
            for warp in warps[~here.mask[warps].all(1)]:
                here.refute("sums", "only some lanes of the warp take part in a macro-MMA", warp=int(warp))
            a, b = a[warps], b[warps]
        macro, of = operands(cast(Op, here.op), here.accesses)
        key = (id(macro), warps.tobytes(), *(x.tobytes() for t in (a, b) for x in (t.kind, t.at)))
        if key not in self._addends:
            result, *sides = (x.array for x in of)
            arrays = _Arrays(result, (sides[0], sides[1]), macro.values[2])
            self._addends[key] = self._addend(here, arrays, gathers(macro), warps, a, b)
        addend = self._addends[key]
        if addend is None:
            return d
        self._ends(here, addend)
        if here.mask is None:
            return self._sum(here, warps, d, addend)
        result = d.copy()
        part = self._sum(here, warps, d[warps], addend)
        result.kind[warps], result.at[warps] = part.kind, part.at
        return result

    def of_warpgroups(self, here: Here, groups: np.ndarray, d: Tags, a: Tags, b: Tags) -> Tags:
        """The accumulators [warp, lane, value] of warpgroups after a product; as before, if its operands make no sense.

        Parameters
        ----------
        groups : the first warp of each.
        d : of all their warps, likewise.
        a, b : the operands, [warpgroup, row, k] and [warpgroup, column, k].
        """
        op = cast(Wgmma, here.op)
        key = (id(op.macro), groups.tobytes(), *(x.tobytes() for t in (a, b) for x in (t.kind, t.at)))
        if key not in self._addends:
            made = of_matrices(op.macro)
            left = op.a.array if isinstance(op.a, Element) else op.a.tile
            arrays = _Arrays(op.d[0].array, (left, op.b.tile), d.kind.shape[-1], op.macro.d.inputs[0][1])
            self._addends[key] = self._addend(here, arrays, made, groups, a, b)
        addend = self._addends[key]
        if addend is None:
            return d
        self._ends(here, addend)
        place, which = addend.place.reshape(*d.kind.shape, 2), addend.which.reshape(d.kind.shape)
        return self._sum(here, np.repeat(groups, WARPS), d, replace(addend, place=place, which=which))

    def _ends(self, here: Here, addend: _Addend) -> None:
        """Beyond the product's k range 0 is added."""
        if addend.reaches is not None:
            most, text, warp, lane = addend.reaches
            beyond = addend.depth + most - self.meaning.products[addend.product].depth
            if not here.holds(-beyond - 1):
                report(Problem(("sums",), text, (beyond,)), here, warp, lane)

    # ---- the operands

    def _addend(
        self, here: Here, arrays: _Arrays, instructions: Gathers, warps: np.ndarray, a: Tags, b: Tags
    ) -> _Addend | None:
        """What two fragments' product is; None if it is none of the graph's, which is then said."""
        sides = arrays.sides
        kinds = [self._kind(here, warps, arrays, array, tags) for array, tags in zip(sides, (a, b), strict=True)]
        kind_a, kind_b = kinds
        if kind_a is None or kind_b is None:
            return None
        found = self.meaning.pair(self.table[kind_a], self.table[kind_b])
        if found is None or found[0].bases[1] != found[1].bases[1]:
            texts = [element_text(self.table[int(x.kind[0, 0, 0])], x.at[0, 0, 0]) for x in (a, b)]
            what = f"{texts[0]} is multiplied by {texts[1]}"
            why, proofs = "of another k tile", ("fresh", "sums")
            if found is None:
                why, proofs = "which no product of the graph does", ("result",)
            for proof in proofs:
                here.refute(proof, f"{what}, {why}", warp=int(warps[0]), lane=0)
            return None
        left, right = (
            _Fragment(array, tags, kind, side, tags.at[..., side.columns[0][0]], tags.at[..., side.columns[1][0]],
                      arrays.held)
            for array, tags, kind, side in zip(sides, (a, b), (kind_a, kind_b), found, strict=True)
        )
        for f in (left, right):
            for wrong, what in _strays(f):
                warp, lane, value = (int(x) for x in np.argwhere(wrong)[0])
                text = f"{f.array} has {self._text(f, warp, lane, value)}, which {what}"
                here.refute("result", text, warp=int(warps[warp]), lane=f.lane(lane))
        product, base = left.side.product, (left.side.bases[0], right.side.bases[0])
        if instructions.wrong is not None:
            what, lane = instructions.wrong
            here.refute("sums", what, warp=int(warps[0]), lane=lane)
            return None
        place, sets, which = self._products(here, arrays, instructions, warps, left, right)
        if self.meaning.products[product].turned:  # lines of the left operand are columns of the result
            base, place = (base[1], base[0]), np.ascontiguousarray(place[..., ::-1])
        return _Addend(product, base, left.side.bases[1], place, sets, which, self._reaches(warps, left, right))

    def _kind(self, here: Here, warps: np.ndarray, arrays: _Arrays, array: str, tags: Tags) -> int | None:
        """The skeleton of all values of an operand's fragments."""
        first = int(tags.kind.flat[0])
        wrong = tags.kind != first
        if not wrong.any() and first != UNKNOWN:
            return first
        wrong = wrong if first != UNKNOWN else tags.kind == UNKNOWN
        warp, lane, value = at = tuple(int(x) for x in np.argwhere(wrong)[0])
        what = f"value {value} of {array} was never loaded"
        if tags.kind[at] != UNKNOWN:
            texts = [element_text(self.table[int(tags.kind[x])], tags.at[x]) for x in (at, (0, 0, 0))]
            what = f"value {value} of {array} is {texts[0]}, others are such as {texts[1]}"
        for proof in ("fresh", "result"):
            here.refute(proof, what, warp=int(warps[warp]), lane=lane if arrays.held else 0)
        return None

    def _text(self, f: _Fragment, warp: int, lane: int, value: int) -> str:
        """A value of an operand in words."""
        return element_text(self.table[f.kind], f.tags.at[warp, lane, value])

    def _reaches(self, warps: np.ndarray, left: _Fragment, right: _Fragment) -> tuple[int, str, int, int] | None:
        """How far k goes, if what is added beyond the product's k range isn't 0 for certain.

        It is where both factors are 0, or where one is and the other one is a number that 16 bits have: rounded to
        them, a larger one is infinite.
        """
        one, other = left.side, right.side
        if one.vanishes and other.vanishes:
            return None
        for x, y in ((one, other), (other, one)):
            if x.vanishes and y.rest is not None and abs(y.rest) <= LARGEST_HALF:
                return None
        f = right if one.vanishes else left
        most = int(f.depth.max())
        warp, lane, value = (int(x) for x in np.argwhere(f.depth == most)[0])
        text = f"{self._text(f, warp, lane, value)} is beyond the sum's k and isn't 0 there"
        if one.vanishes or other.vanishes:
            text += ", and where it is infinite the sum becomes NaN"
        return most, text, int(warps[warp]), f.lane(lane)

    # ---- the instructions

    def _products(
        self,
        here: Here,
        arrays: _Arrays,
        gathers: Gathers,
        warps: np.ndarray,
        left: _Fragment,
        right: _Fragment,
    ) -> tuple[np.ndarray, tuple[tuple[int, ...], ...], np.ndarray]:
        """For each value of the accumulator its element of the result, and the k that are added to it."""
        count, threads, width, result = len(warps), arrays.threads, arrays.width, arrays.result
        place = np.zeros((count, threads, width, 2), np.int32)
        taken: list[list[tuple[int, ...]]] = []
        which: list[np.ndarray] = []
        for g in gathers.steps:
            values = g.values
            row, k = (x.reshape(count, -1).take(g.a, 1) for x in (left.line, left.depth))
            col, l = (x.reshape(count, -1).take(g.b, 1) for x in (right.line, right.depth))
            # row, k: [warp, unit, row, k]; col, l: [warp, unit, k, column]
            fits = (row == row[..., :1]).all() and (k == k[:, :, :1]).all() and (col == col[:, :, :1]).all()
            if not (fits and (l == l[..., :1]).all() and (k[:, :, 0] == l[..., 0]).all()):
                self._refute_pair(here, warps, (left, right), (g.a, g.b), (row, k, col, l))
            shape = (count, row.shape[1], row.shape[2], col.shape[3])
            i = np.broadcast_to(row[..., :1], shape).reshape(count, -1).take(g.d, 1)  # [warp, lane, value]
            j = np.broadcast_to(col[:, :, :1], shape).reshape(count, -1).take(g.d, 1)
            now, before = np.stack((i, j), -1), place[..., values, :]
            found, own = _sets(k[:, :, 0])
            number = np.full((count, threads, width), -1)
            number[..., values] = own[:, g.unit]
            done = np.any([w[..., values] >= 0 for w in which], 0) if which else np.zeros(i.shape, bool)
            wrong = done & (now != before).any(-1)
            if wrong.any():
                warp, lane, value = at = tuple(int(x) for x in np.argwhere(wrong)[0])
                what = f"value {value} of {result} is made of rows and columns {before[at]} and {now[at]} of a tile"
                here.refute("sums", what, warp=int(warps[warp]), lane=lane)
            place[..., values, :] = now
            taken.append(found)
            which.append(number)
        sets, numbers = _merged(taken, which)
        if () in sets:
            warp, lane, value = (int(x) for x in np.argwhere(numbers == sets.index(()))[0])
            what = f"no instruction adds to value {value} of {result}"
            here.refute("sums", what, warp=int(warps[warp]), lane=lane)
        return place, sets, numbers

    def _refute_pair(
        self, here: Here, warps: np.ndarray, fragments: Any, places: Any, found: tuple[np.ndarray, ...]
    ) -> None:
        """Say which two values are multiplied although they don't belong together."""
        (left, right), (at_a, at_b), (row, k, col, l) = fragments, places, found
        wrong = k[:, :, :, None, :] != np.moveaxis(l, 2, 3)[:, :, None]  # [warp, unit, row, column, k]
        why = "which has another k"
        if not wrong.any():
            wrong = (row != row[..., :1])[:, :, :, None, :] | np.moveaxis(col != col[:, :, :1], 2, 3)[:, :, None]
            why = "into a value that sums another row or column"
        warp, unit, r, c, at = (int(x) for x in np.argwhere(wrong)[0])
        lane, value = divmod(int(at_a[unit, r, at]), left.tags.kind.shape[-1])
        other = divmod(int(at_b[unit, at, c]), right.tags.kind.shape[-1])
        texts = self._text(left, warp, lane, value), self._text(right, warp, *other)
        what = f"lane {lane}'s {texts[0]} is multiplied by lane {other[0]}'s {texts[1]}, {why}"
        if not left.held:
            what = f"{texts[0]} is multiplied by {texts[1]}, {why}"
        here.refute("sums", what, warp=int(warps[warp]), lane=left.lane(lane))

    # ---- the accumulator

    def _sum(self, here: Here, warps: np.ndarray, d: Tags, addend: _Addend) -> Tags:
        """Accumulator fragments with something added."""
        codes = (d.kind + 1) * len(addend.sets) + addend.which
        count = np.bincount(codes.ravel())
        made, empty = np.zeros(len(count), np.int32), np.zeros(len(count), bool)
        for code in np.flatnonzero(count):
            kind, k = divmod(int(code), len(addend.sets))
            made[code], empty[code] = self._added(here, warps, kind - 1, addend, addend.sets[k])
        before = d.at[..., :2]
        wrong = (before != addend.place).any(-1)
        if wrong.any():
            wrong &= ~empty[codes]
            if wrong.any():
                self._refute_place(here, warps, before, addend, np.argwhere(wrong)[0])
        return Tags(made[codes], addend.place)

    def _refute_place(self, here: Here, warps: np.ndarray, before: np.ndarray, addend: _Addend, spot: Any) -> None:
        """Say which elements of the result come together in one accumulator."""
        at = tuple(int(x) for x in spot)
        places = [
            ", ".join(str(b + int(x)) for b, x in zip(addend.base, numbers[at], strict=True))
            for numbers in (before, addend.place)
        ]
        name = self.meaning.names[addend.product]
        what = f"an accumulator that sums {name}[{places[0]}] is added a product of {name}[{places[1]}]"
        here.refute("sums", what, warp=int(warps[at[0]]), lane=at[1])

    def _added(self, here: Here, warps: np.ndarray, kind: int, addend: _Addend, k: tuple[int, ...]) -> tuple[int, bool]:
        """The skeleton with the product at some k more, and whether there was nothing before."""
        total = self.table[kind] if kind != UNKNOWN else None
        if not isinstance(total, Sum):
            here.refute("sums", "an accumulator is added to that was never set to 0", warp=int(warps[0]), lane=0)
            total = self.table[self.table.zero]
            assert isinstance(total, Sum)
        if not k:
            return self.table.number(total), not total.terms
        made, problem = added(total, addend.base, addend.product, addend.depth, k, self.meaning, here)
        report(problem, here, int(warps[0]))
        return self.table.number(made), not total.terms


def _strays(f: _Fragment) -> Iterator[tuple[np.ndarray, str]]:
    """Values of a fragment whose leaves don't agree on a row and a depth, or aren't at 0 where they should be."""
    for columns in f.side.columns:
        for c in columns[1:]:
            if (wrong := f.tags.at[..., c] != f.tags.at[..., columns[0]]).any():
                yield wrong, "reads its operands at different places"
    for c in f.side.zeros:
        if (wrong := f.tags.at[..., c] != 0).any():
            yield wrong, "isn't at 0 where the tensor is stretched"


def _sets(k: np.ndarray) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """The different rows of k [warp, unit, k], each in ascending order, and the number of each row."""
    rows = np.sort(k, -1).reshape(-1, k.shape[-1])
    if (rows == rows[0]).all():  # as it mostly is
        return [tuple(rows[0].tolist())], np.zeros(k.shape[:2], np.int64)
    rows, which = np.unique(rows, axis=0, return_inverse=True)
    return [tuple(map(int, r)) for r in rows], which.reshape(k.shape[:2])


def _merged(
    taken: list[list[tuple[int, ...]]], which: list[np.ndarray]
) -> tuple[tuple[tuple[int, ...], ...], np.ndarray]:
    """The k that several instructions add to each value: for each the number of a set, -1 for none."""
    code = np.zeros(which[0].shape, np.int64)
    for sets, numbers in zip(taken, which, strict=True):
        code = code * (len(sets) + 1) + numbers + 1
    known, inverse = np.unique(code, return_inverse=True)
    merged = []
    for number in map(int, known):
        parts: list[tuple[int, ...]] = []
        for sets in reversed(taken):
            number, own = divmod(number, len(sets) + 1)
            parts.append(sets[own - 1] if own else ())
        merged.append(tuple(k for part in reversed(parts) for k in part))
    return tuple(merged), inverse.reshape(code.shape)
