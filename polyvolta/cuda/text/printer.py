"""The kernel IR as CUDA C++: one self-contained text that compiles without a header.

The text is for people: loops and conditions say which statements of the tree they hold, every operation is one
call of a device function, and every index is printed from an expression of the IR. fp16 is a storage type here (fp16
is an unsigned short, half8 a 128-bit vector): values are moved, or converted by an instruction. So is bf16, in a kernel
of that kind: what is written here and in the device functions for fp16 is said in its words, see `helpers.kinds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.ir.well_formed import check
from polyvolta.cuda.text.engines import persistent
from polyvolta.cuda.text.head.block_order import place_of_block
from polyvolta.cuda.text.head.kernel_head import arguments, banner, opening
from polyvolta.cuda.text.head.thread_numbers import numbers, numbers_again, renewed
from polyvolta.cuda.text.helpers.device_function import wrapped
from polyvolta.cuda.text.helpers.engines import boxes, phases
from polyvolta.cuda.text.helpers.kinds import in_kind
from polyvolta.cuda.text.helpers.values import declared
from polyvolta.cuda.text.scope import Scope, single
from polyvolta.cuda.text.statements import MARK, statement

PRELUDE = """\
typedef unsigned short fp16;  // a storage type: fp16 values are only moved here, or converted by an instruction
typedef uint2 half4;          // four fp16 values, one 64-bit access
typedef uint4 half8;          // eight fp16 values, one 128-bit access"""
PRELUDES = {
    "half": PRELUDE,
    "bfloat16": """\
typedef unsigned short bf16;  // a storage type: bf16 values are only moved here, or converted by an instruction
typedef uint2 bf16x4;         // four bf16 values, one 64-bit access
typedef uint4 bf16x8;         // eight bf16 values, one 128-bit access""",
}
"""By the kernel's kind."""

BOX_ALIGN = 1024  # bytes: a box with the widest swizzle starts at a multiple of its pattern


@dataclass(frozen=True, slots=True)
class Printed:
    """A kernel's text.

    Parameters
    ----------
    text : CUDA C++.
    lines : for each statement of the body, by its path (see `ir.walk`), the number of its first line, counted from 1.
    """

    text: str
    lines: Mapping[IrPath, int]


def print_cuda(ir: KernelIR) -> str:
    """The kernel's text; see `printed`."""
    return printed(ir).text


def printed(ir: KernelIR) -> Printed:
    """The kernel's text, and where in it each statement is.

    Raises
    ------
    IllFormed : the IR means nothing.
    NotPrintable : an index whose floor is not C's division, or an operation between kinds that have no conversion.
    """
    check(ir)
    scope = Scope(ir)
    kernel = _kernel(scope)
    marked = "\n\n".join([banner(ir), _prelude(scope), *scope.functions.texts(), kernel]) + "\n"
    lines: dict[IrPath, int] = {}
    texts = []
    for number, line in enumerate(marked.split("\n"), 1):
        text, *paths = line.split(MARK)
        texts.append(text)
        lines.update({tuple(map(int, path.split("."))): number for path in paths})
    return Printed("\n".join(texts), lines)


def _prelude(scope: Scope) -> str:
    """The types that the text has words for, of four values only where a device function does."""
    ir = scope.ir
    four = in_kind("half4", ir.kind)
    used = any(four in line for f in scope.functions.names for line in (*f.parameters, *f.body))
    lines = [line for line in PRELUDES[ir.kind].splitlines() if used or four not in line]
    return "\n".join([*lines, *[phases.TYPE] * bool(ir.barriers), *[boxes.TYPE] * bool(ir.maps)])


def _kernel(scope: Scope) -> str:
    """The kernel's definition, statements marked."""
    ir = scope.ir
    align = f" __align__({BOX_ALIGN})" if ir.maps else ""
    lines = [*_signature(scope), scope.typed(f"  extern __shared__{align} half8 shared_memory[];")]
    for t in ir.tiles:
        start = f" + {t.start}" if t.start else ""
        copies = f"{t.buffers} buffers of " if t.buffers > 1 else ""
        pointer = scope.typed("half8 *const")
        lines.append(f"  {pointer} {t.name} = shared_memory{start};  // {copies}{t.chunks} chunks of 8 values")
    lines += phases.declared(ir.barriers)
    starts = renewed(ir)
    lines += ["", *numbers(scope, variable=bool(starts))]
    body = []
    for k, s in enumerate(ir.body):
        with scope.followed_by(k < len(ir.body) - 1):
            body += ["", *(numbers_again(scope) if k in starts else []), *statement(scope, s, 1, (k,))]
    if ir.resident:
        lines += persistent.extents(scope)
    else:
        lines += place_of_block(ir.block_order, lambda name: any(name in x for x in body), scope.free, ir.cluster)
    lines.append("")
    for r in ir.registers:
        shape = "" if single(r) else "".join(f"[{n}]" for n in r.shape)
        if scope.kinds[r.name] == "half":
            lines.append(f"  {scope.typed(declared(f'{r.name}{shape}', r.width))};")
        else:
            lines.append(f"  float {r.name}{shape}[{r.width}];")
    return "\n".join([*lines, *_prefetched(scope), *body, "}"])


def _signature(scope: Scope) -> list[str]:
    """The definition up to its brace: sizes, scalars, each tensor with its leading dimension, and tensor maps."""
    *lines, head = opening(scope.ir).splitlines()
    return [*lines, *wrapped(f"{head}{', '.join(map(scope.typed, arguments(scope.ir)))}) {{", "    ")]


def _prefetched(scope: Scope) -> list[str]:
    """The maps, asked for by one thread before the first box is."""
    if not scope.ir.maps:
        return []
    calls = [f"    {scope.call(boxes.PREFETCH, m.name)};" for m in scope.ir.maps]
    return ["", "  if (linearId == 0) {", *calls, "  }"]
