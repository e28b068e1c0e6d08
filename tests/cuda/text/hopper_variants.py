"""Variants of the Hopper kernels that tests write by hand: other ways to begin a sum, other kinds of elements."""

from __future__ import annotations

from dataclasses import replace

from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop, Stmt, Wgmma, WgmmaWait, When, Zero
from polyvolta.cuda.ir.walk import inner, operations, replaced, walk
from polyvolta.cuda.target.warpgroup import WGMMA
from polyvolta.sets import var


def beginning(ir: KernelIR) -> KernelIR:
    """The first k tile's first product begins the sum, and zeros are written behind the loop where it has no trip."""
    (at,) = (path for path, s in walk(ir.body) if isinstance(s, Loop) and _zeros(s) and len(inner(s)) == 1)
    zeros = dict(walk(ir.body))[at]
    (loop_at,) = (path for path, s in walk(ir.body) if isinstance(s, Loop) and s.var == "t" and _products(s))
    loop = dict(walk(ir.body))[loop_at]
    (bound,) = loop.upper
    first, seen = {}, set()
    for path, s in walk(loop.body):
        if isinstance(s, Wgmma) and s.d not in seen:
            seen.add(s.d)
            first[path] = replace(s, adds=(var("t") - 1,))
    body = loop.body
    for path, s in first.items():
        body = replaced(body, path, (s,))
    ir = replace(ir, body=replaced(ir.body, loop_at, (replace(loop, body=body),)))
    (wait,) = (p for p, s in walk(ir.body) if isinstance(s, WgmmaWait) and p[:-1] == loop_at[:-1])
    none = When((-bound - 1,), (zeros,))
    ir = replace(ir, body=replaced(ir.body, wait, (dict(walk(ir.body))[wait], none)))
    return replace(ir, body=replaced(ir.body, at, ()))


def _zeros(s: Stmt) -> bool:
    return all(isinstance(op, Zero) for op in operations((s,)))


def _products(s: Stmt) -> bool:
    return any(isinstance(op, Wgmma) for op in operations((s,)))


def of_kind(ir: KernelIR, kind: str) -> KernelIR:
    """The kernel for "half" or "bfloat16"."""
    layouts = tuple("row" if t.order == (0, 1) else "col" for t in ir.tensors[:2])
    body = ir.body
    for path, s in walk(ir.body):
        if isinstance(s, Wgmma):
            macro = WGMMA.of(s.macro.shape[1]).of(*layouts, kind=kind)
            body = replaced(body, path, (replace(s, macro=macro),))
        elif hasattr(s, "exchange"):
            body = replaced(body, path, (replace(s, exchange=replace(s.exchange, kind=kind)),))
    tensors = tuple(replace(t, kind=kind) for t in ir.tensors)
    registers = tuple(r if r.kind == "float" else replace(r, kind=kind) for r in ir.registers)
    return replace(ir, body=body, tensors=tensors, registers=registers)
