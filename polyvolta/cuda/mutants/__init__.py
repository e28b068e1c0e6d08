"""Kernels broken on purpose: what the proofs and the observers have to notice.

A proof that never fails proves nothing. `MUTANTS` are ways to break a kernel, each with what has to find it;
`broken(kernel, name)` is the kernel broken so, with its text printed anew.

>>> import polyvolta as pv
>>> from polyvolta.cuda.mutants import broken
>>> M, N, K = pv.sizes("M N K")
>>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
>>> text = broken(kernel, "no barrier after the stores").source
>>> kernel.source.count("__syncthreads()"), text.count("__syncthreads()")
(2, 1)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from polyvolta.cuda.errors import UnknownMutant as UnknownMutant
from polyvolta.cuda.errors import unknown_mutant
from polyvolta.cuda.mutants import (
    accumulators,
    arguments,
    barriers,
    blocks,
    boxes,
    copies,
    layouts,
    pipeline,
    results,
    rings,
    roles,
    transfers,
    trees,
)
from polyvolta.cuda.mutants.engines import clusters, grids, prologues, tiles
from polyvolta.cuda.mutants.model import Mutant as Mutant
from polyvolta.cuda.mutants.model import NotAKernel as NotAKernel
from polyvolta.cuda.mutants.model import NothingToBreak as NothingToBreak
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.sets.errors import kind_of

K = TypeVar("K")
SOME = 4  # mutants that apply, which an error about one that doesn't names

MUTANTS: dict[str, Mutant] = {
    m.name: m
    for module in (
        arguments, barriers, pipeline, layouts, copies, accumulators, results, rings, transfers, roles, blocks, boxes,
        tiles, grids, clusters, prologues, trees,
    )
    for m in module.MUTANTS
}  # fmt: skip
"""Every mutant by name."""


def broken(kernel: K, name: str) -> K:
    """The kernel, broken on purpose.

    Parameters
    ----------
    kernel : a compiled kernel.
    name : of the mutant, one of `MUTANTS`.

    Raises
    ------
    NotAKernel : it is no compiled kernel, such as its IR alone.
    UnknownMutant : there is none of that name; suggests the nearest.
    NothingToBreak : the kernel has nothing of the kind that the mutant breaks; names some mutants that apply to it.

    Cost: that of printing.
    """
    if not all(hasattr(kernel, part) for part in ("ir", "source", "stages")):
        several = hasattr(kernel, "variants")
        hint = "each of its variants is one: kernel.variants[0]" if several else \
               "pv.compile(...) makes a kernel; MUTANTS[name].ir changes an IR alone"
        raise NotAKernel(f"{kind_of(kernel)} where a kernel should be", hint=hint)
    mutant = mutant_of(name)
    try:
        return _changed(kernel, mutant)
    except NothingToBreak as wrong:
        if some := list(islice(applying(kernel, name), SOME)):
            hint = f"mutants that apply: {', '.join(map(repr, some))}"
            raise NothingToBreak(wrong.message, where=wrong.where, hint=hint) from None
        raise


def applying(kernel: Any, near: str = "") -> Iterator[str]:
    """The names of the mutants that apply to a kernel, those first that have words of `near`.

    Cost: for each one asked for some changes of the kernel's IR, milliseconds each.
    """
    words = set(near.split())
    for name in sorted(MUTANTS, key=lambda name: -len(words & set(name.split()))):
        try:
            _broken_parts(kernel, MUTANTS[name])
        except NothingToBreak:
            continue
        yield name


def mutant_of(name: str) -> Mutant:
    """The mutant of a name.

    Raises
    ------
    UnknownMutant : there is none; suggests the nearest, or those with its words.
    """
    if name not in MUTANTS:
        raise unknown_mutant(name, MUTANTS)
    return MUTANTS[name]


def _broken_parts(kernel: Any, mutant: Mutant) -> dict[str, Any]:
    """What a mutant changes: the stages, or the IR."""
    if mutant.trees is not None:
        return {"stages": type(kernel.stages)(mutant.trees(kernel.stages))}
    assert mutant.ir is not None
    return {"ir": mutant.ir(kernel.ir)}


def _changed(kernel: Any, mutant: Mutant) -> Any:
    parts = _broken_parts(kernel, mutant)
    if (ir := parts.get("ir")) is None:
        return replace(kernel, **parts)
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})
