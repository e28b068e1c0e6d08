"""What tests of whole promotions start from: a graph's kernel IR and stages, without a printer, and a run of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import polyvolta as pv
from polyvolta.compiler.options import Options
from polyvolta.compiler.passes.decompose import decompose
from polyvolta.compiler.signature import context_of, multiples_of, tensors_of
from polyvolta.cuda.build.lower import lower
from polyvolta.cuda.build.promotion.assemble import prefetched, promote
from polyvolta.cuda.build.promotion.model import Promotion
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.target.registry import target_of
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule

M, N, K, L = pv.sizes("M N K L")
SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}
WIDE = {"block_tile": (64, 32, 16), "warp_tile": (32, 32, 16), "macro_mma": "m32n32k8"}


@dataclass(frozen=True)
class Built:
    """A kernel, with what it was made from."""

    outputs: list
    graph: Graph
    options: Options
    promotion: Promotion
    tree: Schedule
    ir: KernelIR


def build(outputs, limit: int = 96 * 1024, **options) -> Built:
    """The kernel of some expressions; `partial="pad"` makes sizes multiples of the block's tile."""
    outputs = [outputs] if not isinstance(outputs, list) else outputs
    graph, chosen = Graph.of(outputs), Options(**options)
    idiom = plan(graph, chosen.accumulators)
    context = context_of(graph, idiom, multiples_of(graph, idiom, chosen))
    macro = target_of().macro_mma(chosen.macro_mma)
    fine, contracted = decompose(graph, chosen, macro.shape, context)
    tensors = tensors_of(graph)
    promotion = promote(fine, contracted, idiom, tensors, chosen, macro, context, limit)
    tree = prefetched(promotion, context, chosen.prefetch)
    scanned = scan(tree, context, {"linearId": chosen.threads_on(target_of())}, parted=False)
    ir = lower("kern", tree, scanned, promotion, tuple(tensors.values()), graph.params, graph.scalars)
    return Built(outputs, graph, chosen, promotion, tree, ir)


def run(built: Built, sizes: dict[str, int] | None = None, seed: int = 0, scalars=None, data=None):
    """Outputs of the kernel and of numpy in float64, by name, on random values, or on given ones by tensor."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for t in built.ir.tensors:
        shape = tuple(d if isinstance(d, int) else (sizes or {})[d] for d in t.dims)
        values = rng.standard_normal(shape) if not t.written else np.full(shape, np.nan)
        if data is not None and t.name in data:
            values = np.broadcast_to(data[t.name], shape)
        arrays[t.name] = np.array(values, np.float16, order="C" if t.order == tuple(range(len(shape))) else "F")
    any_address = replace(built.ir, tensors=tuple(replace(t, align=1) for t in built.ir.tensors))
    interpret(any_address, arrays, sizes or {}, scalars or {})
    inputs = {t.name: arrays[t.name] for t in built.ir.tensors if not t.written}
    wanted = pv.reference(built.outputs, **inputs, **(scalars or {}))
    wanted = list(wanted.values()) if isinstance(wanted, dict) else list(wanted)
    names = [t.name for t in built.ir.tensors if t.written]
    return {n: (arrays[n], w) for n, w in zip(names, wanted, strict=True)}


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """The relative L2 error."""
    return float(np.linalg.norm(found.astype(np.float64) - wanted) / max(np.linalg.norm(wanted), 1e-30))
