"""Mutants around the products: prologues, epilogues, who stores which part of a result, and the grid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import CHUNK, GlobalLoad, GlobalStore, KernelIR, Pointwise, Stmt, When
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, differing, edited, in_k_loops, places, without
from polyvolta.sets import aff, var, xor


def _vector_loads(ir: KernelIR) -> list:
    """Loads of vectors by the epilogue."""
    vectors = places(ir, GlobalLoad, where=lambda op: len(op.index) == 1 and op.along == 0)
    return [at for at in vectors if at not in in_k_loops(ir, GlobalLoad)]


def _other_columns(ir: KernelIR) -> KernelIR:
    """A vector's values of the next eight columns."""
    return edited(ir, _vector_loads(ir), lambda s: (replace(s, index=(s.index[0] + CHUNK,)),))


def _first_columns(ir: KernelIR) -> KernelIR:
    """A vector's values of the first block's columns in every block."""
    first = {f"blockIdx.{axis}": 0 for axis in "xy"}
    return edited(ir, _vector_loads(ir), lambda s: (replace(s, index=(s.index[0].subs(first),)),))


def _no_inside(ir: KernelIR) -> KernelIR:
    """Prologues that are applied outside of the tensor, too."""
    at = places(ir, Pointwise, where=lambda op: op.inside is not None)
    return edited(ir, at, lambda s: (replace(s, inside=None),))


def _same_operand(ir: KernelIR) -> KernelIR:
    """Formulas of two operands with the first one twice."""

    def change(s: Any) -> tuple[Stmt]:
        return (replace(s, operands=(*s.operands[:-1], s.operands[0])),)

    return edited(ir, places(ir, Pointwise, where=lambda op: len(op.operands) > 1), change)


def _result_stores(ir: KernelIR) -> list:
    at = places(ir, GlobalStore)
    if not at or ir.warps == 1:
        raise NothingToBreak(f"{ir.name} has no two warps that store", where=ir.about)
    return at


def _same_tile(ir: KernelIR) -> KernelIR:
    """Warps that store where the first one does."""
    first = {f"warpIdx_{axis}": 0 for axis in "xyz"}
    change = lambda s: (replace(s, index=tuple(e.subs(first) for e in s.index)),)  # noqa: E731
    return edited(ir, _result_stores(ir), change)


def _not_stored(ir: KernelIR) -> KernelIR:
    """The first warp stores nothing."""
    return edited(ir, _result_stores(ir), lambda s: (When((var("warp") - 1,), (s,), uniform=False),))


def _never_stored(ir: KernelIR) -> KernelIR:
    """The last output is computed, and not stored."""
    last = [t.name for t in ir.tensors if t.written][-1]
    return edited(ir, places(ir, GlobalStore, where=lambda op: op.tensor == last), without)


def _other_lane(ir: KernelIR) -> KernelIR:
    """Lanes that store their run where their neighbour's belongs."""
    neighbour = {"lane": xor(var("lane"), aff(1), 5)}
    change = lambda s: (replace(s, index=tuple(e.subs(neighbour) for e in s.index)),)  # noqa: E731
    return edited(ir, places(ir, GlobalStore), change)


def _short_grid(ir: KernelIR) -> KernelIR:
    """A grid without the blocks that have only part of a tile: sizes divided and rounded down."""

    def rounded(e: Any) -> Any:
        return e if e.is_constant else sum((c * (atom.num - atom.num.const) // atom.den for atom, c in e.terms), aff(0))

    return differing(ir, replace(ir, grid=tuple(map(rounded, ir.grid))))


MUTANTS = (
    Mutant(
        "vector eight columns on",
        "the epilogue adds the vector's values of the next eight columns, beyond the last ones at the end",
        ("bounds",), ("bounds",), (GlobalLoad,), _other_columns,
    ),
    Mutant(
        "vector of the first block",
        "the epilogue of every block adds the vector's values of the first block's columns",
        ("result",), ("values",), (), _first_columns,
    ),
    Mutant(
        "prologue outside of the tensor",
        "a prologue makes something else of the zeros around a tensor, and that is multiplied, too",
        ("sums",), ("values",), (), _no_inside,
    ),
    Mutant(
        "one operand twice",
        "a formula of several operands gets the first one in place of the last one",
        ("result",), ("values",), (), _same_operand,
    ),
    Mutant(
        "warps store one tile",
        "all warps of a block store their results where the first one's belong",
        ("written_once",), ("uninitialised",), (GlobalStore,), _same_tile,
    ),
    Mutant(
        "a warp stores nothing",
        "the first warp's part of each block's result isn't stored",
        ("written_once",), ("uninitialised",), (), _not_stored,
    ),
    Mutant(
        "output never stored",
        "the last output is computed, and no block stores it",
        ("written_once", "result"), ("uninitialised",), (), _never_stored,
    ),
    Mutant(
        "neighbours' runs exchanged",
        "each lane stores its run of the result where its neighbour's belongs",
        ("result",), ("values",), (GlobalStore,), _other_lane,
    ),
    Mutant(
        "grid rounded down",
        "there are no blocks for the last, partial tiles of the result",
        ("written_once",), ("uninitialised",), (), _short_grid,
    ),
)  # fmt: skip
