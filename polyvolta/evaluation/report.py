"""What is made of rows: a page of tables, and the figures beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from polyvolta.cuda.target.chips import chips, is_named
from polyvolta.cuda.target.registry import targets
from polyvolta.display.code import Markdown
from polyvolta.evaluation.errors import BadRecords
from polyvolta.evaluation.figures import Roof, drawn
from polyvolta.evaluation.records import Row
from polyvolta.evaluation.tables import CELLS, gone_through, of_behind, of_choices, over_library, targets_of

CSV, PAGE = "evaluation.csv", "evaluation.md"


def page(rows: Sequence[Row]) -> Markdown:
    """All tables of all targets, as Markdown."""
    return Markdown("\n\n".join(part for target in targets_of(rows) for part in _of_target(rows, target)) + "\n")


def _of_target(rows: Sequence[Row], target: str) -> Iterator[str]:
    some = [r for r in rows if r.target == target]
    sides = dict.fromkeys(f"{r.gpu}, {r.library}" for r in some)
    yield f"# {target} on {'; '.join(sides)}"
    yield f"The library's time over ours. {CELLS}"
    yield over_library(rows, target)
    yield f"What choices lose: the speed of one beside that of another. {gone_through(rows, target)}".rstrip()
    yield of_choices(rows, target)
    yield "Where the tuned kernel is most behind, or least ahead."
    yield of_behind(rows, target)


def roof(gpu: str, target: str) -> Roof | None:
    """What a GPU does at most, by the driver's name for it, with a target's widest products; None if it isn't known.

    >>> roof("NVIDIA H200", "sm_90a").text, roof("NVIDIA H200", "sm_80").text, roof("unknown", "sm_80")
    ('1071 TFLOP/s at 1.98 GHz, 4.8 TB/s', '680 TFLOP/s at 1.98 GHz, 4.8 TB/s', None)
    """
    found = [name for name in chips if is_named(gpu, name)]
    if not found or target not in targets:
        return None
    chip, products = chips[max(found, key=len)], targets[target]
    widest = next(iter(products.families[0])) if products.families else products.macro_mmas[0]
    scope = widest.instructions[0].scope.name
    operations = 2 * chip.rate(scope) * chip.multiprocessors * chip.clock
    speeds = f"{1e-12 * operations:.0f} TFLOP/s at {1e-9 * chip.clock:.2f} GHz"
    return Roof(operations, chip.dram_bandwidth, f"{speeds}, {1e-12 * chip.dram_bandwidth:.1f} TB/s")


def written(rows: Sequence[Row], folder: Path) -> Iterator[Path]:
    """Write the page and draw the figures; the files, each when it is there.

    Raises
    ------
    BadRecords : the page can't be written.
    NoFigures : see `figures.drawn`; the page is there by then.
    """
    path = folder / PAGE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(page(rows), encoding="utf-8")
    except OSError as wrong:
        raise BadRecords(f"{path} can't be written: {wrong.strerror}", hint="another folder") from wrong
    yield path
    yield from drawn(rows, folder, roof)
