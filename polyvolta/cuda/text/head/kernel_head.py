"""What a kernel's text says before its first statement: the comment about its arguments, the launch bounds."""

from __future__ import annotations

from polyvolta.cuda.ir.kernel_ir import KernelIR, Pointwise
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.text.c_expr import KernelSpeller
from polyvolta.cuda.text.helpers.device_function import GLUE, comment
from polyvolta.cuda.text.helpers.shared import layout_name
from polyvolta.graph.functions.formats import KINDS

ONE_BLOCK = "// one block on a multiprocessor is enough: to fit in more, ptxas would spill a few values"


def opening(ir: KernelIR) -> str:
    """The kernel's definition up to its first argument.

    Told only how many threads a block has, ptxas aims at several blocks on a multiprocessor where a few registers less
    would do for one more, and spills for it. Fused kernels say that one block is enough. Plain products keep the
    paper's bounds: of those that the default rule chooses none spills (`benchmarks/matrix.py --defaults`). Where
    several blocks are to share a multiprocessor, each gets its part of the registers.
    """
    products = {op.statement for op in operations(ir.body) if op.product is not None}
    plain = len(products) <= 1 and not any(isinstance(op, Pointwise) for op in operations(ir.body))
    blocks = f", {ir.occupancy}" if ir.occupancy > 1 or not plain else ""
    first = f'extern "C" __global__ void __launch_bounds__({ir.threads}{blocks}) {ir.name}('
    return first if plain or ir.occupancy > 1 else f"{ONE_BLOCK}\n{first}"


def banner(ir: KernelIR) -> str:
    """The comment that a kernel's text opens with: what it computes, arguments, grid, what is required of them."""
    args = []
    for t in ir.tensors:
        layout = f" {layout_name(t.order)}-major" if t.ld else ""
        args.append(f"{t.name}[{', '.join(map(str, t.dims))}]{layout}")
    about = f"{ir.about.encode('ascii', 'replace').decode()}; " if ir.about else ""
    grid = f"({', '.join(KernelSpeller(known(ir)).text(e) for e in ir.grid)})"
    block = f"({ir.threads}, 1, 1)"
    order = "" if ir.block_order.plain else f"; blocks in {ir.block_order}"
    lines = [
        f"{ir.name}: {about}{KINDS[ir.kind].short} in memory, fp32 accumulation.",
        f"{', '.join(a.replace(' ', GLUE) for a in args)}.",
        f"grid {grid}, block {block}, {ir.shared_bytes} bytes of dynamic shared memory{order}.",
    ]
    lines += ["; ".join(f"{n} is a multiple of {m}" for n, m in ir.context) + "."] if ir.context else []
    lines += _alignments(ir)
    return "\n".join(line for text in lines for line in comment(text))


def _alignments(ir: KernelIR) -> list[str]:
    """What is required of pointers and leading dimensions of tensors that are accessed many values at a time."""
    touched = (a for op in operations(ir.body) for a in op.accesses(ir) if a.space == "global")
    wide = {a.array for a in touched if a.width > 1}
    tensors = [t for t in ir.tensors if t.name in wide and t.align > 1]
    out = []
    for align in sorted({t.align for t in tensors}, reverse=True):
        names = [t.name for t in tensors if t.align == align]
        lds = [t.ld for t in tensors if t.align == align and t.ld]
        runs = (t.dims[t.order[-1]] for t in tensors if t.align == align and t.whole)
        lds += dict.fromkeys(n for n in runs if isinstance(n, str))
        more = f"; {', '.join(lds)} are multiples of {align}" if lds else ""
        out.append(f"{', '.join(names)} are aligned to {2 * align} bytes{more}.")
    return out


def known(ir: KernelIR) -> dict[str, tuple[int, int | None]]:
    """The ranges of a kernel's names; sizes and block indices are never negative."""
    return {**dict.fromkeys((*ir.sizes, *(f"blockIdx.{axis}" for axis in "xyz")), (0, None)), **ir.ranges}
