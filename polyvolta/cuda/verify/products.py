"""What a macro-MMA adds to an accumulator, from where its operands' values come from.

Each instruction of a macro-MMA multiplies, in every quad-pair, an 8x4 by a 4x8 matrix that lie in the lanes' fragments
as `gathers` says. With tags in the place of numbers it is to be seen that the rows of the left matrix are rows of the
product's left operand, each with one i for all its k; that columns of the right one have one j; that the k of both are
the same, pair by pair; and that the accumulator's value at row r and column c of the quad-pair has only ever been
element (i, j) of the result. Then it is the values at those k more of a sum (`sums`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.kernel_ir import LANES, Mma
from polyvolta.cuda.lockstep.operations import gathers
from polyvolta.cuda.verify.expressions import Meaning, Side
from polyvolta.cuda.verify.sums import added
from polyvolta.cuda.verify.symbolic import Here
from polyvolta.cuda.verify.values import UNKNOWN, Sum, Table, Tags, element_text
from polyvolta.sets import Aff

QUAD_PAIRS = 4
QUAD_PAIR = np.arange(LANES) % 16 // 4
SPAN = 40  # the k of one instruction lie within so many places: they are the bits of a number


def multiplied(table: Table, meaning: Meaning, here: Here, d: Tags, a: Tags, b: Tags) -> Tags:
    """The accumulator fragments [warp, lane, value] after a macro-MMA; as they were where its operands make no sense."""
    warps = np.arange(len(d.kind))
    if here.mask is not None:
        warps = warps[here.mask.any(1)]
        for warp in warps[~here.mask[warps].all(1)]:
            here.refute("sums", "only some lanes of the warp take part in a macro-MMA", warp=int(warp))
    product = _find(table, meaning, here, warps, a[warps], b[warps])
    if product is None:
        return d
    result = d.copy()
    product.run(result)
    return result


@dataclass(slots=True)
class _Fragment:
    """An operand's fragments in the warps that take part: their tags, skeleton, row or column, and depth."""

    array: str
    tags: Tags
    kind: int
    side: Side
    line: np.ndarray
    depth: np.ndarray


def _kind(table: Table, here: Here, warps: np.ndarray, array: str, tags: Tags) -> int | None:
    """The skeleton of all values of an operand's fragments."""
    first = int(tags.kind.flat[0])
    bad = tags.kind == UNKNOWN
    if not bad.any():
        bad = tags.kind != first
    if not bad.any():
        return first
    warp, lane, value = (int(x) for x in np.argwhere(bad)[0])
    if tags.kind[warp, lane, value] == UNKNOWN:
        for proof in ("fresh", "result"):
            here.refute(proof, f"value {value} of {array} was never loaded", warp=int(warps[warp]), lane=lane)
        return None
    texts = [element_text(table[int(tags.kind[at])], tags.at[at]) for at in ((warp, lane, value), (0, 0, 0))]
    what = f"value {value} of {array} is {texts[0]}, others are such as {texts[1]}"
    for proof in ("fresh", "result"):
        here.refute(proof, what, warp=int(warps[warp]), lane=lane)
    return None


def _find(table: Table, meaning: Meaning, here: Here, warps: np.ndarray, a: Tags, b: Tags) -> _Product | None:
    """The graph's product that two operands belong to, with rows, columns and depths of their values."""
    op = here.op
    assert isinstance(op, Mma)
    arrays = op.a.array, op.b.array
    kinds = [_kind(table, here, warps, array, tags) for array, tags in zip(arrays, (a, b), strict=True)]
    if kinds[0] is None or kinds[1] is None:
        return None
    texts = [element_text(table[int(x.kind[0, 0, 0])], x.at[0, 0, 0]) for x in (a, b)]
    found = meaning.pair(table[kinds[0]], table[kinds[1]])
    if found is None:
        what = f"{texts[0]} is multiplied by {texts[1]}: no product of the graph does that"
        here.refute("result", what, warp=int(warps[0]), lane=0)
        return None
    if found[0].bases[1] != found[1].bases[1]:
        for proof in ("fresh", "sums"):
            what = f"{texts[0]} is multiplied by {texts[1]}, of another k tile"
            here.refute(proof, what, warp=int(warps[0]), lane=0)
        return None
    sides = [
        _Fragment(array, tags, kind, side, tags.at[..., side.columns[0][0]], tags.at[..., side.columns[1][0]])
        for array, tags, kind, side in zip(arrays, (a, b), kinds, found, strict=True)
    ]
    made = _Product(table, meaning, here, warps, sides[0], sides[1])
    made.check_leaves()
    made.check_end()
    return made


@dataclass(slots=True)
class _Product:
    """A product of the graph at one macro-MMA."""

    table: Table
    meaning: Meaning
    here: Here
    warps: np.ndarray
    left: _Fragment
    right: _Fragment

    @property
    def number(self) -> int:
        return self.left.side.product

    @property
    def base(self) -> tuple[Aff, Aff]:
        """Of the result's row and column."""
        return self.left.side.bases[0], self.right.side.bases[0]

    @property
    def depth(self) -> Aff:
        """Of k."""
        return self.left.side.bases[1]

    def text(self, fragment: _Fragment, warp: int, lane: int, value: int) -> str:
        """A value of an operand in words."""
        return element_text(self.table[fragment.kind], fragment.tags.at[warp, lane, value])

    def check_leaves(self) -> None:
        """All leaves of a value are at one row and depth, those of stretched tensors at 0."""
        for f in (self.left, self.right):
            for columns in f.side.columns:
                for c in columns[1:]:
                    wrong = f.tags.at[..., c] != f.tags.at[..., columns[0]]
                    self._refute_leaves(f, wrong, "reads its operands at different places")
            for c in f.side.zeros:
                self._refute_leaves(f, f.tags.at[..., c] != 0, "isn't at 0 where the tensor is stretched")

    def _refute_leaves(self, f: _Fragment, wrong: np.ndarray, what: str) -> None:
        if wrong.any():
            warp, lane, value = (int(x) for x in np.argwhere(wrong)[0])
            text = f"{f.array} has {self.text(f, warp, lane, value)}, which {what}"
            self.here.refute("result", text, warp=int(self.warps[warp]), lane=lane)

    def check_end(self) -> None:
        """Beyond the product's k range one factor is 0, and the other a finite number that can't spoil that."""
        one, other = self.left.side, self.right.side
        if one.vanishes and other.vanishes:
            return
        for x, y in ((one, other), (other, one)):
            if x.vanishes and y.rest is not None and np.isfinite(y.rest):
                return
        extent = self.meaning.products[self.number].depth
        f = self.right if one.vanishes else self.left
        most = int(f.depth.max())
        if self.here.holds(extent - 1 - self.depth - most):
            return
        warp, lane, value = (int(x) for x in np.argwhere(f.depth == most)[0])
        what = f"{self.text(f, warp, lane, value)} is beyond k = {extent} - 1 and isn't 0 there, which spoils the sum"
        where = (self.depth + most - extent,)
        self.here.refute("sums", what, where=where, warp=int(self.warps[warp]), lane=lane)

    def run(self, d: Tags) -> None:
        """Every instruction of the macro-MMA."""
        op, count = self.here.op, len(self.warps)
        assert isinstance(op, Mma)
        for values, at_a, at_b, at_d in gathers(op.macro):
            row, k = (x.reshape(count, -1).take(at_a, 1) for x in (self.left.line, self.left.depth))
            col, l = (x.reshape(count, -1).take(at_b, 1) for x in (self.right.line, self.right.depth))
            # row, k: [warp, quad-pair, row, k]; col, l: [warp, quad-pair, k, column]
            fits = (row == row[..., :1]).all() and (k == k[:, :, :1]).all() and (col == col[:, :, :1]).all()
            if not (fits and (l == l[..., :1]).all() and (k[:, :, 0] == l[..., 0]).all()):
                self._refute_pair(at_a, at_b, row, k, col, l)
            shape = (count, QUAD_PAIRS, row.shape[2], col.shape[3])
            i = np.broadcast_to(row[..., :1], shape).reshape(count, -1).take(at_d, 1)  # [warp, lane, value]
            j = np.broadcast_to(col[:, :, :1], shape).reshape(count, -1).take(at_d, 1)
            self._add(d, values, np.stack((i, j), -1), k[:, :, 0])

    def _refute_pair(
        self, at_a: np.ndarray, at_b: np.ndarray, row: np.ndarray, k: np.ndarray, col: np.ndarray, l: np.ndarray
    ) -> None:
        """Say which two values are multiplied although they don't belong together."""
        wrong = k[:, :, :, None, :] != np.moveaxis(l, 2, 3)[:, :, None]  # [warp, quad-pair, row, column, k]
        what = "which has another k"
        if not wrong.any():
            wrong = (row != row[..., :1])[:, :, :, None, :] | np.moveaxis(col != col[:, :, :1], 2, 3)[:, :, None]
            what = "into a value that sums another row or column"
        warp, pair, r, c, at = (int(x) for x in np.argwhere(wrong)[0])
        lane, value = divmod(int(at_a[pair, r, at]), self.left.tags.kind.shape[-1])
        other = divmod(int(at_b[pair, at, c]), self.right.tags.kind.shape[-1])
        texts = self.text(self.left, warp, lane, value), self.text(self.right, warp, *other)
        what = f"lane {lane}'s {texts[0]} is multiplied by lane {other[0]}'s {texts[1]}, {what}"
        self.here.refute("sums", what, warp=int(self.warps[warp]), lane=lane)

    def _add(self, d: Tags, values: Any, place: np.ndarray, k: np.ndarray) -> None:
        """One instruction's products: at `place` [warp, lane, value, 2] of the result, at k [warp, quad-pair, 4]."""
        taken, which = _sets(k)
        rows = d.kind[self.warps]
        kinds = rows[..., values]
        known, old = np.unique(kinds, return_inverse=True)
        both = old.reshape(kinds.shape) * len(taken) + which[:, QUAD_PAIR][..., None]
        pairs, inverse = np.unique(both, return_inverse=True)
        inverse = inverse.reshape(kinds.shape)
        made, empty = np.empty(len(pairs), np.int32), np.empty(len(pairs), bool)
        for n, pair in enumerate(pairs):
            kind, set_ = divmod(int(pair), len(taken))
            made[n], empty[n] = self._added(int(known[kind]), taken[set_])
        coordinates = d.at[self.warps]
        before = coordinates[..., values, :2]
        wrong = ~empty[inverse] & (before != place).any(-1)
        if wrong.any():
            warp, lane, value = at = tuple(int(x) for x in np.argwhere(wrong)[0])
            old_place, new_place = (
                ", ".join(str(b + int(x)) for b, x in zip(self.base, places[at], strict=True))
                for places in (before, place)
            )
            name = self.meaning.arrays[self.number]
            what = f"an accumulator that sums {name}[{old_place}] is added a product of {name}[{new_place}]"
            self.here.refute("sums", what, warp=int(self.warps[warp]), lane=lane)
        rows[..., values] = made[inverse]
        coordinates[..., values, :2] = place
        d.kind[self.warps], d.at[self.warps] = rows, coordinates

    def _added(self, kind: int, k: tuple[int, ...]) -> tuple[int, bool]:
        """The skeleton with the product at some k more, and whether there was nothing before."""
        total = self.table[kind] if kind != UNKNOWN else None
        if not isinstance(total, Sum):
            self.here.refute("sums", "an accumulator is added to that was never set to 0", warp=int(self.warps[0]))
            return kind, True
        made, problem = added(total, self.base, self.number, self.depth, k, self.meaning, self.here)
        if problem is not None:
            for proof in problem.proofs:
                self.here.refute(proof, problem.what, where=problem.where)
        return self.table.number(made), not total.terms


def _sets(k: np.ndarray) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """The different rows of k [warp, quad-pair, 4], in ascending order each, and the number of each [warp, quad-pair]."""
    ordered = np.sort(k, -1).astype(np.int64)
    least = ordered[..., :1]
    apart = ordered - least
    if apart.max() >= 1 << 12:  # never in one tile: told apart without numbers that stand for them
        rows, which = np.unique(ordered.reshape(-1, k.shape[-1]), axis=0, return_inverse=True)
        return [tuple(map(int, r)) for r in rows], which.reshape(k.shape[:2])
    code = least[..., 0]
    for n in range(1, k.shape[-1]):
        code = code << 12 | apart[..., n]
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    rows = ordered.reshape(-1, k.shape[-1])[first]
    return [tuple(map(int, r)) for r in rows], which.reshape(k.shape[:2])
