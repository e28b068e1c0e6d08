"""What a kernel's text says before its first statement: the comment about its arguments, the launch bounds."""

from __future__ import annotations

from polyvolta.cuda.ir.arguments import direct_tensors
from polyvolta.cuda.ir.engines.clusters import ALONE
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
    would do for one more, and spills for it. Fused kernels, and blocks of one warp, say that one block is enough. Other
    plain products keep the paper's bounds: of those that the default rule chooses none spills (`benchmarks/matrix.py
    --defaults`). Where several blocks are to share a multiprocessor, each gets its part of the registers. Those of
    warpgroups have accumulators for all registers that there are, and say how many blocks share a multiprocessor, one
    or more.
    """
    products = {op.statement for op in operations(ir.body) if op.product is not None}
    alone = any(op.together == "warpgroup" for op in operations(ir.body))
    plain = len(products) <= 1 and not any(isinstance(op, Pointwise) for op in operations(ir.body))
    roomy = not plain or ir.warps == 1
    blocks = f", {ir.occupancy}" if ir.occupancy > 1 or alone or roomy else ""
    extents = f" __cluster_dims__({', '.join(map(str, ir.cluster))})" if ir.cluster != ALONE else ""
    first = f'extern "C" __global__ void{extents} __launch_bounds__({ir.threads}{blocks}) {ir.name}('
    return first if not roomy or alone or ir.occupancy > 1 else f"{ONE_BLOCK}\n{first}"


def arguments(ir: KernelIR) -> list[str]:
    """The kernel's parameters in C, in the words of fp16."""
    args = [f"int {n}" for n in ir.sizes] + [f"float {n}" for n in ir.scalars]
    for t in direct_tensors(ir):
        args.append(f"{'' if t.written else 'const '}fp16 *__restrict__ {t.name}")
        args += [f"int {t.ld}"] if t.ld else []
    return args + [f"const __grid_constant__ TensorMap {m.name}" for m in ir.maps]


def banner(ir: KernelIR) -> str:
    """The comment that a kernel's text opens with: what it computes, arguments, grid, what is required of them."""
    args = []
    for t in ir.tensors:
        layout = f" {layout_name(t.order)}-major" if t.ld else ""
        args.append(f"{t.name}[{', '.join(map(str, t.dims))}]{layout}")
    about = f"{ir.about.encode('ascii', 'replace').decode()}; " if ir.about else ""
    grid = f"({', '.join(KernelSpeller(known(ir)).text(e) for e in ir.grid)})"
    block = f"({ir.threads}, 1, 1)"
    order = "" if ir.block_order.plain else f"; {'blocks' if ir.cluster == ALONE else 'clusters'} in {ir.block_order}"
    if ir.cluster != ALONE:
        block += f", clusters of ({', '.join(map(str, ir.cluster))})"
    lines = [
        f"{ir.name}: {about}{KINDS[ir.kind].short} in memory, fp32 accumulation.",
        f"{', '.join(a.replace(' ', GLUE) for a in args)}.",
        f"grid {grid}, block {block}, {ir.shared_bytes} bytes of dynamic shared memory{order}.",
    ]
    lines += ["; ".join(f"{n} is a multiple of {m}" for n, m in ir.context) + "."] if ir.context else []
    lines += _alignments(ir) + _maps(ir)
    return "\n".join(line for text in lines for line in comment(text))


def _alignments(ir: KernelIR) -> list[str]:
    """What is required of pointers and leading dimensions of tensors that are accessed many values at a time."""
    touched = (a for op in operations(ir.body) for a in op.accesses(ir) if a.space == "global")
    wide = {a.array for a in touched if a.width > 1}
    tensors = [t for t in direct_tensors(ir) if t.name in wide and t.align > 1]
    out = []
    for align in sorted({t.align for t in tensors}, reverse=True):
        names = [t.name for t in tensors if t.align == align]
        lds = [t.ld for t in tensors if t.align == align and t.ld]
        runs = (t.dims[t.order[-1]] for t in tensors if t.align == align and t.whole)
        lds += dict.fromkeys(n for n in runs if isinstance(n, str))
        are, multiples = ("are" if len(names) > 1 else "is"), ("are multiples" if len(lds) > 1 else "is a multiple")
        more = f"; {', '.join(lds)} {multiples} of {align}" if lds else ""
        out.append(f"{', '.join(names)} {are} aligned to {2 * align} bytes{more}.")
    return out


def _maps(ir: KernelIR) -> list[str]:
    """What the host encodes in the copy engine's maps."""
    out = []
    for m in ir.maps:
        lines, run = (ir.tensor(m.tensor).dims[d] for d in ir.tensor(m.tensor).order)
        box = f"boxes of {m.box.lines} lines of {m.box.run} values, {m.box.swizzle}"
        out.append(f"{m.name}: {m.tensor}, {lines} lines of {run} values, in {box}.".replace(" ", GLUE, 1))
    return out


def known(ir: KernelIR) -> dict[str, tuple[int, int | None]]:
    """The ranges of a kernel's names; sizes and block indices are never negative."""
    return {**dict.fromkeys((*ir.sizes, *(f"blockIdx.{axis}" for axis in "xyz")), (0, None)), **ir.ranges}
