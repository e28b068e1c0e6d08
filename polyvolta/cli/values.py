"""What commands say to programs: with `--json` one document on stdout, of the same facts that people are shown.

Names are the API's. What has no number, such as a time that wasn't taken, is null. Errors are documents on stderr then,
with the exit codes of always.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from polyvolta.cli import terminal

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.compiler.options import Options
    from polyvolta.cuda.machine.stepping import TraceStep
    from polyvolta.cuda.target.target import Target
    from polyvolta.cuda.verify.report.records import CounterExample, Proofs
    from polyvolta.evaluation.records import Row
    from polyvolta.sets.errors import PolyvoltaError
    from polyvolta.tuner.table import Tuned


def write(value: object) -> None:
    """One document on stdout."""
    terminal.write(text_of(value) + "\n")


def text_of(value: object) -> str:
    """A value as JSON in ASCII.

    >>> print(text_of({"seconds": float("nan"), "tile": (128, 64)}))
    {
     "seconds": null,
     "tile": [
      128,
      64
     ]
    }
    """
    return json.dumps(plain(value), indent=1, allow_nan=False)


def plain(value: Any) -> Any:
    """A value of dicts, lists, texts and numbers that JSON has."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(v) for name, v in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(v) for v in value]
    return str(value)


def options(given: Options) -> dict[str, Any]:
    """All options, by name."""
    from polyvolta.compiler.tiling import OPTIONS

    return {name: getattr(given, name) for name in OPTIONS}


def kernel(made: Kernel) -> dict[str, Any]:
    """What is computed, for which target, with which options."""
    graph = made.graph
    expressions = {t.name: str(e) for t, e in zip(graph.outputs, graph.roots, strict=True)}
    return {"kernel": made.name, "outputs": expressions, "target": made.target.name, "options": options(made.options)}


def stages(made: Kernel, ascii: bool) -> list[dict[str, Any]]:
    """Each stage: its name, what the pass did, the tree, and the numbers of the lines that it changed, from 0."""
    out, before = [], ""
    for name, schedule in made.stages.items():
        tree = schedule.show(ascii)
        marks = terminal.changed(before, tree)
        lines = [n for n, mark in enumerate(marks) if mark]
        out.append({"stage": name, "about": made.stages.notes.get(name, ""), "tree": tree, "changed": lines})
        before = tree
    return out


def report(proofs: Proofs) -> dict[str, Any]:
    """Every proof with its outcome, and the case in which a statement is wrong."""
    from polyvolta.cuda.verify.report.records import outcome

    found = [{
        "id": p.id, "outcome": outcome(p), "statement": p.statement, "relation": p.relation, "sizes": p.sizes,
        "seconds": p.seconds, "reason": p.reason, "counter_example": _case(p.counter_example),
    } for p in proofs.proofs]  # fmt: skip
    return {"ok": proofs.ok, "seconds": proofs.seconds, "proofs": found}


def _case(found: CounterExample | None) -> dict[str, Any] | None:
    if found is None:
        return None
    place = None if found.place is None else {"line": found.place.line}
    names = ("what", "sizes", "block", "warp", "lane", "iteration", "address")
    return {**{name: getattr(found, name) for name in names}, "place": place}


def tuned(found: Tuned, sizes: Mapping[str, int], seconds: float) -> dict[str, Any]:
    """The winner, and how every candidate fared; seconds all of it took, and a launch of each."""
    rows = [{"options": options(e.options), "outcome": e.outcome, "seconds": e.seconds, "final": e.final,
             "note": e.note} for e in found.table]  # fmt: skip
    return {**kernel(found.kernel), "sizes": dict(sizes), "seconds": seconds, "candidates": rows}


def step(taken: TraceStep) -> dict[str, Any]:
    """A step of a block: its number, tree node, line and text, loop variables, and what each group of warps does."""
    does = [{"warps": warps, "does": text} for warps, text in taken.does]
    line = None if taken.place is None else taken.place.line
    return {"number": taken.number, "node": taken.node, "statement": taken.statement, "line": line,
            "cuda": taken.cuda, "loops": taken.loops, "does": does}  # fmt: skip


def rows(measured: Sequence[Row]) -> list[dict[str, Any]]:
    """What was measured, a size each."""
    return [asdict(row) for row in measured]


def target(made: Target) -> dict[str, Any]:
    """What a target has, and what kernels for it may take."""
    names = ("name", "shared_bytes", "registers", "block_registers", "multiprocessors", "kinds", "block_tile",
             "buffers", "fragments", "dependent_launch")  # fmt: skip
    mmas = [*made.macro_names, *(family.title for family in made.families)]
    return {**{name: getattr(made, name) for name in names}, "macro_mmas": mmas}


def error(wrong: PolyvoltaError) -> dict[str, Any]:
    """An error: its id, what, where, and what to try instead."""
    return {"error": {"id": wrong.id, "kind": type(wrong).__name__, "message": wrong.message, "where": wrong.where,
                      "hint": wrong.hint}}  # fmt: skip
