"""The kernel's arguments: the graph's inputs and outputs, and nothing else that a call hands over.

All other proofs speak of tensors by their names, with the shapes that the kernel says they have. That these are the
graph's is decided here: a kernel that has no argument for an output, takes a row-major matrix for a column-major one,
or its scalars in another order, may do everything right with arrays that nobody gives it.

The graph's tensors are read here once more, and not with the compiler's function for it: that one may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR, Op, Stmt
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.verify.report.records import CounterExample, Verdict
from polyvolta.graph.dag import Graph
from polyvolta.graph.tensors import Tensor
from polyvolta.sched.tree import Schedule

PROOF = "arguments"
STATEMENT = "the arguments are the graph's inputs and outputs, with their shapes and layouts, its sizes and its scalars"
DTYPES = {"half": "", "bfloat16": ", bfloat16"}  # what is said of a kind; fp16 goes without saying


def arguments(ir: KernelIR, graph: Graph, stages: Mapping[str, Schedule]) -> Verdict:
    """Whether the kernel takes what the graph has: the same tensors, sizes and scalars, in the same order."""
    said = [f"sizes ({', '.join(graph.params)})"] * bool(graph.params)
    said += [f"scalars ({', '.join(graph.scalars)})"] * bool(graph.scalars)
    said += [_text(t) for t in asked(graph)]
    said += [f"{m.name}, of {m.tensor}: {m.box.lines} lines of {m.box.run} values, {m.box.swizzle}" for m in ir.maps]
    what, tensor = next(_differences(ir, graph), ("", ""))
    at = next((at for at, s in walk(ir.body) if tensor and tensor in _tensors(ir, s)), None)
    return Verdict(STATEMENT, "; ".join(said), CounterExample(what, address=tensor) if what else None, at)


def _tensors(ir: KernelIR, s: Stmt) -> tuple[str, ...]:
    """The tensors that a statement touches by itself."""
    return tuple(a.array for a in s.accesses(ir) if a.space == "global") if isinstance(s, Op) else ()


def asked(graph: Graph) -> tuple[GlobalTensor, ...]:
    """The graph's inputs and outputs as arguments of a kernel.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> graph = Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    >>> print(*map(_text, asked(graph)), sep="; ")
    A[M, K], row-major; B[K, N], column-major; C[M, N], row-major, written
    """
    return tuple(_argument(t, False) for t in graph.inputs) + tuple(_argument(t, True) for t in graph.outputs)


def _argument(t: Tensor, written: bool) -> GlobalTensor:
    dims = tuple(d if isinstance(d, int) else str(d) for d in t.dims)
    lines_first = {1: (0,), 2: (0, 1) if t.layout == "row" else (1, 0)}
    kinds = {"float16": "half", "bfloat16": "bfloat16"}
    return GlobalTensor(t.name, dims, lines_first[len(dims)], written, kind=kinds[t.dtype])


def _text(t: GlobalTensor) -> str:
    layout = f", {'row' if t.order == (0, 1) else 'column'}-major" if len(t.dims) == 2 else ""
    return f"{t.name}[{', '.join(map(str, t.dims))}]{layout}{DTYPES[t.kind]}{', written' if t.written else ''}"


def _differences(ir: KernelIR, graph: Graph) -> Iterator[tuple[str, str]]:
    """What the kernel takes and the graph doesn't have, or the other way round; and of which tensor that is."""
    for what, own, wanted in (("sizes", ir.sizes, graph.params), ("scalars", ir.scalars, graph.scalars)):
        if own != wanted:
            yield f"the kernel's {what} are ({', '.join(own)}), the graph's ({', '.join(wanted)})", ""
    own, wanted = [_text(t) for t in ir.tensors], [_text(t) for t in asked(graph)]
    for n, (a, b) in enumerate(zip(own, wanted), 1):
        if a != b:
            yield f"tensor {n} of the kernel is {a}, and that of the graph {b}", ir.tensors[n - 1].name
    for n in range(len(own), len(wanted)):
        yield f"the kernel has no tensor {n + 1}; the graph has {wanted[n]}", ""
    for n in range(len(wanted), len(own)):
        yield f"tensor {n + 1} of the kernel is {own[n]}; the graph has {len(wanted)} tensors", ir.tensors[n].name
    extents = {str(d) for t in graph.outputs for d in t.dims}
    for size in graph.params:
        low, high = ir.ranges.get(size, (0, None))
        multiple = dict(ir.context).get(size, 1)  # arrays are padded to the next one
        least = multiple if size in extents else 0
        if low > least or high is not None:
            upper = f"{low} or more" if high is None else f"{low} .. {high}"
            yield f"the text counts on {size} being {upper}; a call may have any from {least} on", ""


PROVERS = {PROOF: arguments}
"""Proof -> the function that decides it."""
