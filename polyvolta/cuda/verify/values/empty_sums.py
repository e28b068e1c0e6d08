"""Sums over no k at all: where K is 0, tags of other sums describe them as well.

A kernel for any K leaves its k loop in two ways: with accumulators that hold sums over all k, and, where K is 0, with
accumulators as they were. Nothing else differs, and the sum over no k is 0. So on the second way the accumulators may
be said to hold the same sums as on the first; then the two are one state, and with three products in a row there is one
way through the program, not eight.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from polyvolta.cuda.verify.values.values import UNKNOWN, Sum, Table, Tags


@dataclass(slots=True)
class Finished:
    """The register arrays with sums in them as one way has left a loop; the ways that added nothing wait for it."""

    registers: dict[str, Tags] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a way that has added nothing may say of its sums: what `finished` has, for products with `empty` sums."""

    finished: Finished
    empty: frozenset[int]
    table: Table


def settle(registers: dict[str, Tags], waiting: Waiting) -> None:
    """Say sums as another way says them where the products that this one lacks are sums over no k."""
    for name, theirs in waiting.finished.registers.items():
        mine = registers[name]
        if mine.kind.shape != theirs.kind.shape or np.array_equal(mine.kind, theirs.kind):
            continue
        pairs = np.unique(np.stack((mine.kind.ravel(), theirs.kind.ravel())), axis=1)
        if all(_same(int(a), int(b), mine, theirs, waiting) for a, b in pairs.T):
            registers[name] = theirs.copy()


def _same(mine: int, theirs: int, own: Tags, other: Tags, waiting: Waiting) -> bool:
    """Whether values with the one skeleton are values with the other one, at the other one's coordinates."""
    where = (own.kind == mine) & (other.kind == theirs)
    a, b = (waiting.table[n] if n != UNKNOWN else None for n in (mine, theirs))
    if mine != theirs:
        if not isinstance(a, Sum) or not isinstance(b, Sum) or a.narrowed != b.narrowed:
            return False
        kept, other_kept = (tuple(t for t in s.terms if not (t.product in waiting.empty and t.whole)) for s in (a, b))
        if kept != other_kept or (kept and a.base != b.base):
            return False
        if not kept:
            return True
    width = min(own.at.shape[-1], other.at.shape[-1])
    return bool((own.at[where][:, :width] == other.at[where][:, :width]).all())
