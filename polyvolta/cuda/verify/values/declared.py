"""Products and exchanges as operations declare them: the macro-MMA or the plan, and which arrays it is about.

An operation is a matrix product if it has a `product`, and goes through an exchange buffer if it has a `plan`, whatever
its class is. Which arrays these are about is read off the accesses: a product's first ones read d, a and b; what stores
to a buffer reads registers and writes shared memory, and what loads from one does the opposite. An operation that has a
product or a plan and touches something else is one about which nothing is decided here.

A warpgroup's product has its operands in shared memory, and its accumulators are several elements: fragments side by
side, of which each warp has its share. What a warp has is a macro-MMA's result for it, as one lies in an exchange.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import LANES, Access, Element, Exchange, KernelIR, Op, Wgmma
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.verify.engine.symbolic import Undecided
from polyvolta.cuda.verify.values.gathering import table


@dataclass(frozen=True, slots=True)
class Product:
    """d += a @ b of register arrays, by name; of a warpgroup b is a tile, and a may be one."""

    path: IrPath
    macro: MacroMma
    d: str
    a: str
    b: str
    op: Op

    @property
    def of_warpgroup(self) -> bool:
        return isinstance(self.op, Wgmma)

    @property
    def warp(self) -> MacroMma:
        """The macro-MMA whose result is what a warp has in one element of d.

        Raises
        ------
        Undecided : warps, or elements, don't have theirs alike.
        """
        return share(self.macro, len(self.op.d)) if isinstance(self.op, Wgmma) else self.macro


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A store to an exchange buffer, or a load from one.

    Parameters
    ----------
    plan : what lies where in it.
    registers : the array whose values are stored, or that the loaded ones go to.
    shared : the access to the buffer; of a load of several parts the first.
    """

    path: IrPath
    plan: Exchange
    registers: str
    shared: Access


def statements(ir: KernelIR) -> Iterator[tuple[IrPath, Op]]:
    """Every operation with its path, in program order."""
    return ((at, s) for at, s in walk(ir.body) if isinstance(s, Op))


def operands(op: Op, accesses: Sequence[Access]) -> tuple[MacroMma, tuple[Access, Access, Access]]:
    """The macro-MMA of a product, and its reads of d, a and b.

    Raises
    ------
    Undecided : the operation has no product, or one whose operands are no register elements that fit it.
    """
    what, macro = f"the product of a {type(op).__name__}", op.product
    if macro is None:
        raise Undecided(f"a {type(op).__name__} is multiplied with, and says of no product what it is")
    found = tuple(accesses[:3])
    if len(found) < 3 or any(x.space != "registers" or x.writes for x in found):
        raise Undecided(f"{what} isn't one of three register elements d, a and b, which it reads first")
    d, a, b = found
    for name, x, values in zip("abd", (a, b, d), macro.values, strict=True):
        if x.values != values:
            raise Undecided(f"{what} takes {x.values} values of {x.array} for {name}, where {macro.name} has {values}")
    return macro, (d, a, b)


def products(ir: KernelIR) -> list[Product]:
    """The matrix products of a kernel.

    Raises
    ------
    Undecided : the operands of one are no register elements that fit it.
    """
    found = []
    for at, op in statements(ir):
        if isinstance(op, Wgmma):
            a = op.a.array if isinstance(op.a, Element) else op.a.tile
            found.append(Product(at, op.macro, op.d[0].array, a, op.b.tile, op))
        elif op.product is not None:
            macro, of = operands(op, op.accesses(ir))
            d, a, b = (x.array for x in of)
            found.append(Product(at, macro, d, a, b, op))
    return found


@lru_cache(maxsize=64)
def share(macro: MacroMma, elements: int) -> MacroMma:
    """A warpgroup's product as the one of the first warp and the first of so many elements; all others are like it.

    Raises
    ------
    Undecided : they aren't.
    """
    (thread, threads), (value, values) = macro.d.inputs
    width, warps = values // elements, threads // LANES
    own = table(macro.d).reshape(warps, LANES, elements, width, 2)
    first = own[:, :1, :, :1]
    if values % elements or (own - first != (own - first)[:1, :, :1]).any():
        raise Undecided(f"the warps of a warpgroup have results of {macro.name} that lie there in different ways")
    rows, columns = (int(x) for x in own[0, :, 0].reshape(-1, 2).max(0) + 1)
    d = IndexMap(((thread, LANES), (value, width)), macro.d.outputs)
    return replace(macro, shape=(rows, columns, macro.shape[2]), d=d)


def exchanged(ir: KernelIR, at: IrPath, op: Op) -> Exchanged | None:
    """How an operation goes through an exchange buffer; None if it doesn't.

    Raises
    ------
    Undecided : it has a plan, and moves something else than one register element to or from one buffer.
    """
    if op.plan is None:
        return None
    found = op.accesses(ir)
    shared, registers = ([a for a in found if a.space == space] for space in ("shared", "registers"))
    fits = len(shared) + len(registers) == len(found) and len(registers) == 1 and len({a.array for a in shared}) == 1
    if not fits or any(a.places is None or a.writes == registers[0].writes for a in shared):
        raise Undecided(f"a {type(op).__name__} has an exchange's plan, and isn't a store to its buffer or a load")
    return Exchanged(at, op.plan, registers[0].array, shared[0])
