"""A kernel as a page: what it computes, its launch and resources, its options, its stages, its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.compiler.shown.options import as_html
from polyvolta.compiler.shown.stages import tile
from polyvolta.display.page import Html, code, facts, fold, heading, said
from polyvolta.graph.shown.notebook import outputs, tensors
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.compiler.compiled import Compiled


def page(kernel: Compiled) -> str:
    """The page of a kernel. Cost: that of machine code where its compiler is there, and of comparing the stages."""
    graph, o, ir = kernel.graph, kernel.options, kernel.ir
    lines = kernel.source.count("\n")
    parts = [
        heading(kernel.name, f"a kernel for {kernel.target.name}"),
        outputs(graph),
        facts([*launch(kernel), *machine_code(kernel)]),
        fold("tensors", tensors([*graph.arguments, *graph.outputs])),
        fold(f"options: block tile {tile(o.block_tile)}, warp tile {tile(o.warp_tile)}, {o.macro_mma}", as_html(o)),
        fold(f"stages: {len(kernel.stages)} schedule trees, from {next(iter(kernel.stages), 'none')} to the last",
             _stages(kernel)),
        fold(f"CUDA C++: {lines} lines, {ir.threads} threads a block", _source(kernel)),
    ]  # fmt: skip
    return "".join(parts)


def launch(kernel: Compiled) -> list[tuple[str, object]]:
    """What a launch has, by the sizes' names."""
    ir = kernel.ir
    grid = ", ".join(str(e) for e in ir.grid)
    places = f"at most {ir.resident}, for ({grid}) tiles" if ir.resident else f"({grid})"
    clusters = (("cluster", ir.cluster),) if any(n > 1 for n in ir.cluster) else ()
    warps = f"{ir.threads} threads, {ir.warps} warp{'s' * (ir.warps > 1)}"
    return [("blocks", Html(code(places))), ("a block", warps), *clusters,
            ("shared memory", f"{ir.shared_bytes:,} bytes a block")]  # fmt: skip


def machine_code(kernel: Compiled) -> list[tuple[str, object]]:
    """What the machine code takes; why there is none where there is none."""
    try:
        return [*kernel.resources().of_a_thread(kernel.target.registers)]
    except PolyvoltaError as missing:
        return [("machine code", f"none: {missing.message}")]


def _stages(kernel: Compiled) -> str:
    shown = getattr(kernel.stages, "_html", None)  # broken kernels may have trees in a plain mapping
    return shown() if shown else said(", ".join(kernel.stages))


def _source(kernel: Compiled) -> str:
    return kernel.source._html()  # type: ignore[attr-defined]  # made a `Cuda` when the kernel was
