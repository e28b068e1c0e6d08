"""Targets and their macro-MMAs as tables, macro-MMAs also drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polyvolta.display.page import Html, code, facts, heading, table

if TYPE_CHECKING:
    from polyvolta.cuda.target.instruction import Instruction
    from polyvolta.cuda.target.macro_mma import Composition, MacroMma
    from polyvolta.cuda.target.target import Target
    from polyvolta.cuda.target.warpgroup import WarpgroupMma


def target_facts(t: Target) -> list[tuple[str, object]]:
    """What a target is, in words."""
    families = [f"{f.title}, N = {f.columns[0]} to {f.columns[-1]}" for f in t.families]
    copies = f"asynchronous, of {', '.join(map(str, t.copies))} bytes" if t.copies else "through registers"
    return [
        ("threads of a block", f"at most {t.threads}"),
        ("registers", f"{t.registers} a thread, {t.block_registers:,} a block"),
        ("shared memory", f"{t.shared_bytes:,} bytes a block"),
        ("multiprocessors", t.multiprocessors),
        ("macro-MMAs", ", ".join((*t.macro_names, *families))),
        ("elements", ", ".join(t.kinds)),
        ("block tile", t.block_tile),
        ("copies to shared memory", copies),
        ("buffers, sets of fragments", f"{t.buffers}, {t.fragments}"),
        ("clusters", f"of at most {t.cluster} blocks" if t.cluster > 1 else "none"),
        ("dependent launches", t.dependent_launch),
    ]


def target(t: Target) -> str:
    """A target: what it has, and a table of its macro-MMAs."""
    return heading(t.name, "a target") + facts(target_facts(t)) + _compositions(t.macro_mmas)


def targets(known: Iterable[Target]) -> str:
    """A table of targets."""
    rows = [(Html(code(t.name)), f"{t.shared_bytes:,}", t.registers, t.multiprocessors,
             ", ".join((*t.macro_names, *(f.title for f in t.families)))) for t in known]  # fmt: skip
    return table(("target", ">shared bytes a block", ">registers a thread", ">multiprocessors", "macro-MMAs"), rows)


def _compositions(found: Iterable[Composition]) -> str:
    rows = [(Html(code(m.name)), _instructions(m), m.values, ", ".join(".".join(pair) for pair in m.layouts))
            for m in found]  # fmt: skip
    return table(("macro-MMA", "made of", "values a lane: A × B × D", "layouts of A, B"), rows)


def _instructions(m: Composition | WarpgroupMma) -> str:
    return ", ".join(dict.fromkeys(i.title for i in m.instructions))


def composition(m: Composition | WarpgroupMma) -> str:
    """What makes macro-MMAs for layouts."""
    return heading(m.name, "a macro-MMA, for every pair of layouts; `of` makes one") + facts(composition_facts(m))


def composition_facts(m: Composition | WarpgroupMma) -> list[tuple[str, object]]:
    """What it is, in words."""
    return [("made of", _instructions(m)), ("m, n, k", m.shape), ("values a lane: A × B × D", m.values),
            ("layouts of A, B", ", ".join(".".join(pair) for pair in m.layouts)),
            ("elements", ", ".join(m.kinds))]  # fmt: skip


def macro_facts(m: MacroMma) -> list[tuple[str, object]]:
    """What a macro-MMA is, in words."""
    loads = m.loads.name if m.loads is not None and hasattr(m.loads, "name") else ""
    return [("m, n, k", m.shape), ("instructions", f"{len(m.steps)} of {m.instruction.name}"), ("loads", loads),
            ("operations", f"{m.flops} of a warp, in {m.slots} issue slots"), *_maps(m)]  # fmt: skip


def macro(m: MacroMma) -> str:
    """A macro-MMA."""
    return heading(m.name, "a macro-MMA; pv.pictures.ownership draws who owns what") + facts(macro_facts(m))


def instruction_facts(i: Instruction) -> list[tuple[str, object]]:
    """What an instruction is, in words."""
    return [("m, n, k", i.shape), ("of a", i.scope.name), ("types", ", ".join(i.types)),
            ("layouts of A, B", ".".join(i.layouts)), ("values: A × B × D", i.values), ("issue slots", i.slots),
            *_maps(i)]  # fmt: skip


def _maps(of: Instruction | MacroMma) -> list[tuple[str, object]]:
    return [(name, Html(code(getattr(of, side)))) for name, side in (("A", "a"), ("B", "b"), ("D", "d"))]
