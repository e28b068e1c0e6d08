"""A kernel that starts while the grids before still run reaches no global memory before they are over.

The wait for them is to be one statement of the kernel's program itself, not of a loop, a condition or a role, so that
each thread takes it once; and whatever reaches global memory is to stand behind it, for a thread runs its program in
order. What engines are asked for, boxes, they do behind their asking.
"""

from __future__ import annotations

from polyvolta.cuda.ir.engines.grids import AwaitGrids, ReleaseGrids
from polyvolta.cuda.ir.kernel_ir import KernelIR, Op
from polyvolta.cuda.ir.walk import IrPath, operations, walk
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Verdict
from polyvolta.graph.dag import Graph


def grids(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Accesses to global memory stand behind the wait for the grids before."""
    if not any(isinstance(op, AwaitGrids | ReleaseGrids) for op in operations(ir.body)) and not ir.dependent:
        raise NoMeaning("it starts when the grids before are over")
    waits = [k for k, s in enumerate(ir.body) if isinstance(s, AwaitGrids)]
    first = waits[0] if waits else len(ir.body)
    text = "every thread waits for the end of the grids before, and reaches global memory behind that alone"
    reaching = [at for at, s in walk(ir.body) if isinstance(s, Op) and _global(ir, s)]
    early = [at for at in reaching if at[0] < first]
    relation = f"the wait is statement {first} of the program; {len(reaching)} operations reach global memory"
    if not early:
        return Verdict(text, f"{relation}, from statement {min(at[0] for at in reaching)} on" if reaching else relation)
    return Verdict(text, relation, _case(ir, early[0], bool(waits)), early[0])


def _global(ir: KernelIR, op: Op) -> bool:
    return any(a.space == "global" for a in op.accesses(ir))


def _case(ir: KernelIR, at: IrPath, waits: bool) -> CounterExample:
    op = next(s for path, s in walk(ir.body) if path == at)
    (tensor, *_) = (a.array for a in op.accesses(ir) if a.space == "global")  # type: ignore[union-attr]
    some = any(isinstance(x, AwaitGrids) for x in operations(ir.body))
    why = "which comes later" if waits else "which not every thread does" if some else "and nothing does"
    sizes = {n: dict(ir.context).get(n, 1) for n in ir.sizes}
    return CounterExample(f"a thread reaches {tensor} before it has waited for the grids before, {why}", sizes)


PROVERS = {"grids": grids}
