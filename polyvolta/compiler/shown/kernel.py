"""A kernel as a page: what it computes, its launch and resources, its options, its stages, its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.compiler.shown.options import as_html
from polyvolta.compiler.shown.stages import stepper, tile
from polyvolta.display.page import Html, code, facts, fold, heading, said
from polyvolta.graph.shown.notebook import outputs, tensors
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from polyvolta.compiler.compiled import Compiled


def page(kernel: Compiled) -> str:
    """The page of a kernel: nothing is compiled for it, and its stages aren't compared, so it's there in a moment."""
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


def brief(kernel: Compiled, called: str) -> str:
    """What a kernel among others is; `called` is what gives it, whose page has the rest."""
    o = kernel.options
    return "".join((
        facts([*launch(kernel), *machine_code(kernel, called)]),
        fold(f"options: block tile {tile(o.block_tile)}, warp tile {tile(o.warp_tile)}, {o.macro_mma}", as_html(o)),
        said(f"{called} shows its stages and its text", "faint"),
    ))  # fmt: skip


def launch(kernel: Compiled) -> list[tuple[str, object]]:
    """What a launch has, by the sizes' names."""
    ir = kernel.ir
    grid = ", ".join(str(e) for e in ir.grid)
    places = f"at most {ir.resident}, for ({grid}) tiles" if ir.resident else f"({grid})"
    clusters = (("cluster", ir.cluster),) if any(n > 1 for n in ir.cluster) else ()
    warps = f"{ir.threads} threads, {ir.warps} warp{'s' * (ir.warps > 1)}"
    return [("blocks", Html(code(places))), ("a block", warps), *clusters,
            ("shared memory", f"{ir.shared_bytes:,} bytes a block")]  # fmt: skip


def machine_code(kernel: Compiled, called: str = "kernel") -> list[tuple[str, object]]:
    """What the machine code takes where it is in memory or in the cache; why there is none where there can't be."""
    from polyvolta.cuda.arch import code_for
    from polyvolta.cuda.run.nvrtc import known_cubin

    arch = kernel.target.name
    try:
        found = known_cubin(kernel.source, code_for(arch, arch), name=kernel.name)
    except PolyvoltaError as missing:
        return [("machine code", f"none: {missing.message}")]
    if found is None:
        return [("machine code", Html(f"{code(f'{called}.resources()')} compiles it and says what it takes"))]
    return [*found.resources(kernel.name).of_a_thread(kernel.target.registers)]


def _stages(kernel: Compiled) -> str:
    notes = getattr(kernel.stages, "notes", {})  # broken kernels may have trees in a plain mapping
    return said("kernel.stages marks what each pass changed", "faint") + stepper(kernel.stages, notes, changes=False)


def _source(kernel: Compiled) -> str:
    return kernel.source._html()  # type: ignore[attr-defined]  # made a `Cuda` when the kernel was
