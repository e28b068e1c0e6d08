"""The kernel IR as text: its arguments and memories, and its program as an outline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from polyvolta.cuda.ir.kernel_ir import Loop, Roles, Tiles, When
from polyvolta.display.page import Html, block, code, facts, fold, heading, table
from polyvolta.display.text import columns, hanging

if TYPE_CHECKING:
    from polyvolta.cuda.ir.kernel_ir import KernelIR


def as_text(ir: KernelIR) -> str:
    """The whole IR, in lines that fit where that can be."""
    head = [f"{ir.name}({', '.join((*ir.sizes, *ir.scalars, *(t.name for t in ir.tensors)))})"]
    head += [f"  computes  {ir.about}"] if ir.about else []
    head += [f"  {name:9} {text}" for name, text in _parts(ir)]
    lines = [x for line in head for x in hanging(line, columns(), 12)]
    body = (x for line in outline(ir) for x in hanging(line, columns(), len(line) - len(line.lstrip()) + 4))
    return "\n".join([*lines, *body])


def as_html(ir: KernelIR) -> str:
    """The same as a page."""
    arrays = [(t.name, "global", "x".join(map(str, t.dims)), f"{t.kind}, {t.align} at once") for t in ir.tensors]
    arrays += [(t.name, "shared", f"{t.bytes:,} bytes", f"{t.buffers} buffers, layout {t.layout or 'of its exchange'}")
               for t in ir.tiles]  # fmt: skip
    arrays += [(b.name, "shared", f"{b.slots} barriers", f"{b.arrivals} arrivals") for b in ir.barriers]
    arrays += [(r.name, "registers", "x".join(map(str, r.shape)), f"{r.width} values of {r.kind} each")
               for r in ir.registers]  # fmt: skip
    names = [(Html(code(n)), Html(code(e))) for n, e in ir.derived]
    rows = [(Html(code(n)), *rest) for n, *rest in arrays]
    return (heading(ir.name, ir.about or "kernel IR") + facts([("blocks", Html(code(", ".join(map(str, ir.grid))))),
            ("a block", f"{ir.threads} threads, {ir.shared_bytes:,} bytes of shared memory")])
            + fold("memories", table(("array", "where", "size", ""), rows)) + fold("names", table((), names))
            + block("\n".join(_lines(ir, ir.body, 0)), boxed=True))  # fmt: skip


def _parts(ir: KernelIR) -> Iterator[tuple[str, str]]:
    yield "blocks", f"({', '.join(map(str, ir.grid))}) of {ir.threads} threads"
    yield "shared", ", ".join(f"{t.name} {t.bytes:,} bytes" for t in ir.tiles) or "none"
    if ir.barriers:
        yield "barriers", ", ".join(f"{b.name}[{b.slots}]" for b in ir.barriers)
    yield "registers", ", ".join(f"{r.name}{''.join(f'[{n}]' for n in r.shape)}" for r in ir.registers) or "none"


def outline(ir: KernelIR) -> list[str]:
    """The program: loops and conditions as such, of an operation its statement and what it writes and reads."""
    return [*_lines(ir, ir.body, 1)]


def _lines(ir: KernelIR, body: Sequence[Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for s in body:
        match s:
            case Loop():
                low = str(s.lower[0]) if len(s.lower) == 1 else f"max({', '.join(map(str, s.lower))})"
                high = str(s.upper[0]) if len(s.upper) == 1 else f"min({', '.join(map(str, s.upper))})"
                step = f" by {s.step}" if s.step != 1 else ""
                yield f"{indent}for {s.var} = {low} .. {high}{step}{', unrolled' * s.unroll}"
                yield from _lines(ir, s.body, depth + 1)
            case When():
                yield f"{indent}when {' and '.join(f'{e} >= 0' for e in s.conditions)}"
                yield from _lines(ir, s.body, depth + 1)
                if s.orelse:
                    yield f"{indent}else"
                    yield from _lines(ir, s.orelse, depth + 1)
            case Roles():
                for role in s.roles:
                    yield f"{indent}{role.name}: warps {role.first} to {role.first + role.warps - 1}"
                    yield from _lines(ir, role.body, depth + 1)
            case Tiles():
                yield f"{indent}for each tile {s.turn} of the block, from {s.first} by {s.step}"
                yield from _lines(ir, s.body, depth + 1)
            case _:
                yield indent + _operation(ir, s)


def _operation(ir: KernelIR, op: Any) -> str:
    found = op.accesses(ir)
    writes, reads = (", ".join(dict.fromkeys(a.array for a in found if a.kind == kind)) for kind in ("write", "read"))
    said = f"{writes} <- {reads}" if reads else writes
    return "  ".join(x for x in (op.statement, type(op).__name__, said) if x)
