"""The kernel IR as CUDA C++: one self-contained text that compiles without a header.

The text is for people: loops and conditions say which statements of the tree they hold, every operation is one
call of a helper, and every index is printed from an expression of the IR. fp16 is a storage type here (half is
an unsigned short, half8 a 128-bit vector): values are moved, or converted by an instruction.
"""

from __future__ import annotations

import re

from polyvolta.cuda import helpers as h
from polyvolta.cuda.c_expr import c_expr
from polyvolta.cuda.kernel_ir import (
    Barrier,
    Element,
    FragmentLoad,
    GlobalLoad,
    KernelIR,
    Loop,
    Mma,
    Op,
    SharedStore,
    Stmt,
    StoreAccumulator,
    When,
    Zero,
    operations,
)
from polyvolta.sets import Aff, var
from polyvolta.sets.aff import Floor

KERNEL_NAMES = re.compile(
    r"linearId|lane|warp|warpIdx_[xyz]|half8?|exchange|shared_memory|i|c\d+|(private|shared|hmma|store|load|mma|pack)_\w+"
)
"""Names that a kernel's text uses, so that tensors and sizes can't be called so."""

PRELUDE = """\
typedef unsigned short half;  // a storage type: fp16 values are only moved here, or converted by an instruction
typedef uint4 half8;          // eight fp16 values, one 128-bit access"""


def print_cuda(ir: KernelIR) -> str:
    """The kernel's text.

    Raises
    ------
    NotPrintable : an index whose floor is not C's division.
    """
    parts = [_banner(ir), PRELUDE, *_helpers(ir), _kernel(ir)]
    return "\n\n".join(parts) + "\n"


def _banner(ir: KernelIR) -> str:
    args = ", ".join(f"{t.name}[{', '.join(map(str, t.dims))}] {h.layout_name(t.order)}-major" for t in ir.tensors)
    grid = ", ".join(c_expr(e, ir.ranges) for e in ir.grid)
    lines = [
        f"{ir.name}: {args}; fp16 in memory, fp32 accumulation.",
        f"grid ({grid}), block ({ir.threads}, 1, 1), {ir.shared_bytes} bytes of dynamic shared memory.",
    ]
    lines.append(
        "; ".join([f"{n} is a multiple of {m}" for n, m in ir.context] + ["pointers are aligned to 16 bytes."])
    )
    return "\n".join(f"// {line}" for line in lines)


def _helpers(ir: KernelIR) -> list[str]:
    """One helper for each kind of operation in the kernel, in order of first use."""
    out: dict[str, str] = {}
    orders = {t.name: t.order for t in ir.tensors}
    operands = operands_of(ir)
    for op in operations(ir.body):
        match op:
            case GlobalLoad():
                out.setdefault("load", h.LOAD_GLOBAL)
            case SharedStore(_, tile):
                t = ir.tile(tile)
                out.setdefault(f"store {tile}", h.store_shared(t, orders[t.of], operands[tile]))
            case FragmentLoad(_, tile):
                t = ir.tile(tile)
                extents = tuple(1 + max(e.evaluate({"lane": lane, "i": i}) for lane in range(32) for i in range(8))
                                for e in op.ownership.exprs)  # fmt: skip
                out.setdefault(f"fragment {tile}", h.fragment_load(op, t, orders[t.of], extents))
            case Mma(macro=macro):
                out.setdefault("mma", h.mma(macro))
                fragment = (macro.shape[0], macro.shape[1])
            case StoreAccumulator(exchange=exchange):
                out.setdefault("pack", h.PACK)
                out.setdefault("result", h.store_result(exchange, fragment))
    return list(out.values())


def operands_of(ir: KernelIR) -> dict[str, str]:
    """For each tile which operand of the mma it feeds."""
    return {op.tile: op.operand for op in operations(ir.body) if isinstance(op, FragmentLoad)}


def _kernel(ir: KernelIR) -> str:
    args = [f"int {n}" for n in ir.sizes]
    args += [f"half *__restrict__ {t.name}" if t.written else f"const half *__restrict__ {t.name}" for t in ir.tensors]
    lines = [f'extern "C" __global__ void __launch_bounds__({ir.threads}) {ir.name}({", ".join(args)}) {{']
    lines.append("  extern __shared__ half8 shared_memory[];")
    start = 0
    for t in ir.tiles:
        note = f"{t.chunks} chunks of 8 values"
        lines.append(f"  half8 *const {t.name} = shared_memory{f' + {start}' if start else ''};  // {note}")
        start += t.chunks
    lines += ["", "  const int linearId = threadIdx.x;"]
    lines += [f"  const int {name} = {c_expr(e, ir.ranges)};" for name, e in ir.derived]
    lines.append("")
    for r in ir.registers:
        shape = "".join(f"[{n}]" for n in r.shape)
        lines.append(f"  half8 {r.name}{shape};" if r.kind == "half8" else f"  float {r.name}{shape}[8];")
    printer = _Printer(ir)
    for s in ir.body:
        lines.append("")
        lines += printer.stmt(s, 1)
    return "\n".join([*lines, "}"])


class _Printer:
    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir
        self.orders = {t.name: t.order for t in ir.tensors}
        self.operands = operands_of(ir)
        self.multiples = dict(ir.context)

    def c(self, e: Aff) -> str:
        return c_expr(e, self.ir.ranges)

    def stmt(self, s: Stmt, depth: int) -> list[str]:
        pad = "  " * depth
        match s:
            case Loop():
                head = f"for (int {s.var} = {self.extreme(s.lower, 'max')}; {self.upto(s)}; {s.var} += {s.step}) {{"
                lines = [f"{pad}// {s.comment}"] if s.comment else []
                lines += [f"{pad}#pragma unroll"] if s.unroll else []
                return [*lines, pad + head, *self.body(s.body, depth), pad + "}"]
            case When():
                test = " && ".join(self.condition(e) for e in s.conditions)
                lines = [f"{pad}// {s.comment}"] if s.comment else []
                return [*lines, f"{pad}if ({test}) {{", *self.body(s.body, depth), pad + "}"]
            case _:
                return [pad + line for line in self.op(s)]

    def body(self, stmts: tuple[Stmt, ...], depth: int) -> list[str]:
        return [line for s in stmts for line in self.stmt(s, depth + 1)]

    def extreme(self, bounds: tuple[Aff, ...], fn: str) -> str:
        text = self.c(bounds[0])
        for b in bounds[1:]:
            text = f"{fn}({text}, {self.c(b)})"
        return text

    def upto(self, loop: Loop) -> str:
        (first, *more) = loop.upper
        if not more and not first.is_constant and first.const == -1:
            return f"{loop.var} < {self.c(first + 1)}"
        return f"{loop.var} <= {self.extreme(loop.upper, 'min')}"

    def condition(self, e: Aff) -> str:
        """`e >= 0` with positive terms on both sides; a size known to be a multiple stands undivided."""
        for atom, c in e.terms:
            if isinstance(atom, Floor) and len(atom.num.terms) == 1 and not atom.num.const:
                ((size, k),) = atom.num.terms
                if k == 1 and self.multiples.get(size, 1) % atom.den == 0:
                    e = (e - Aff(((atom, c),))) * atom.den + c * var(size)
                    break
        plus = Aff(tuple((a, c) for a, c in e.terms if c > 0), max(e.const, 0))
        minus = Aff(tuple((a, -c) for a, c in e.terms if c < 0), max(-e.const, 0))
        return f"{self.c(plus)} >= {self.c(minus)}"

    def element(self, e: Element) -> str:
        return e.array + "".join(f"[{self.c(i)}]" for i in e.index)

    def in_memory_order(self, index: tuple[Aff, ...], tensor: str) -> tuple[str, str]:
        line, run = (index[d] for d in self.orders[tensor])
        return self.c(line), self.c(run)

    def op(self, op: Op) -> list[str]:
        match op:
            case Zero(target):
                name = self.element(target)
                return ["#pragma unroll", "for (int i = 0; i <= 7; i += 1)", f"  {name}[i] = 0.0f;"]
            case GlobalLoad(target, tensor, index):
                line, run = self.in_memory_order(index, tensor)
                t = self.ir.tensor(tensor)
                return [f"{self.element(target)} = load_global_128({tensor}, {line}, {run}, {t.dims[t.order[-1]]});"]
            case SharedStore(source, tile, index):
                of = self.ir.tile(tile).of
                line, run = self.in_memory_order(index, of)
                helper = h.store_shared_name(self.operands[tile], self.orders[of])
                return [f"{helper}({tile}, {self.element(source)}, {line}, {run});"]
            case FragmentLoad(target, tile, origin, operand):
                of = self.ir.tile(tile).of
                line, run = self.in_memory_order(origin, of)
                helper = h.fragment_load_name(operand, self.orders[of])
                return [f"{self.element(target)} = {helper}({tile}, {line}, {run}, lane);"]
            case Mma(d, a, b, macro):
                return [f"{h.mma_name(macro)}({self.element(d)}, {self.element(a)}, {self.element(b)});"]
            case StoreAccumulator(source, tensor, index, buffer):
                t = self.ir.tensor(tensor)
                line, run = self.in_memory_order(index, tensor)
                ld = t.dims[t.order[-1]]
                own = f"{buffer} + {op.exchange.chunks} * warp"
                args = (tensor, line, run, ld, self.element(source), own, "lane")
                return [f"{h.STORE_RESULT}({', '.join(map(str, args))});"]
            case Barrier():
                return ["__syncthreads();"]
        raise TypeError(type(op).__name__)
