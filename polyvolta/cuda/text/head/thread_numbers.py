"""A thread's numbers, linearId, lane, warp and so on; and the same again where a further product starts.

    int linearId = threadIdx.x;              linearId = again(threadIdx.x);
    int lane = linearId % 32;                lane = linearId % 32;

A sum of products has a loop over k tiles for each. Where a thread's copies and fragments lie depends on its numbers,
much of it alike in all loops: the compiler would compute it once, and keep it across the loops before the one that
needs it. A main loop has no registers to spare for that. Addresses would be computed anew in each of its trips, or
values spilled. So each later loop has numbers of its own, by an instruction that the compiler does not look into.
"""

from __future__ import annotations

from polyvolta.cuda.ir.kernel_ir import AsyncCopy, KernelIR
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.roles import WARP
from polyvolta.cuda.text.scope import Scope
from polyvolta.sets import Aff

AGAIN = DeviceFunction(
    "again",
    "int",
    ("int x",),
    ("int same;", 'asm volatile("mov.b32 %0, %1;" : "=r"(same) : "r"(x));', "return same;"),
    "x, in a way that the compiler does not know it for what it was",
)


def renewed(ir: KernelIR) -> frozenset[int]:
    """The numbers of a body's statements before which a thread's numbers are taken again.

    These are the ones with the first copies for a product, where those of another product are over. Copies are
    asynchronous ones: loops whose copies go through registers have fewer of them to spare already, and are told
    nothing.
    """
    found, over = set(), False
    for k, s in enumerate(ir.body):
        ops = list(operations((s,)))
        if over and any(isinstance(op, AsyncCopy) for op in ops):
            found.add(k)
            over = False
        over = over or any(op.product is not None for op in ops)
    return frozenset(found)


def numbers(scope: Scope, variable: bool) -> list[str]:
    """The lines that say what a thread's numbers are; `variable`: they are taken again somewhere."""
    kind = "int" if variable else "const int"
    derived = [f"  {kind} {name} = {_derived(scope, e)};" for name, e in scope.ir.derived]
    return [f"  {kind} linearId = threadIdx.x;", *derived]


def numbers_again(scope: Scope) -> list[str]:
    """The lines that take them again."""
    about = "  // the thread's numbers again: nothing that depends on them is kept across the loop before"
    first = f"  linearId = {scope.call(AGAIN, 'threadIdx.x')};"
    return [about, first, *(f"  {name} = {_derived(scope, e)};" for name, e in scope.ir.derived), ""]


def _derived(scope: Scope, e: Aff) -> str:
    """The number of a thread's warp as what a lane of it says, which compilers take for the same in all of them."""
    text = scope.c(e)
    return f"__shfl_sync(0xffffffffu, {text}, 0)" if scope.warpgroups and e == WARP else text
