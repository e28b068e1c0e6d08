"""What is made of rows: a page of tables, and the figures beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from polyvolta.evaluation.errors import BadRecords
from polyvolta.evaluation.figures import Roof, drawn
from polyvolta.evaluation.records import Row
from polyvolta.evaluation.tables import CELLS, of_behind, of_choices, over_library, targets_of

CSV, PAGE = "evaluation.csv", "evaluation.md"


def page(rows: Sequence[Row]) -> str:
    """All tables of all targets, as Markdown."""
    return "\n\n".join(part for target in targets_of(rows) for part in _of_target(rows, target)) + "\n"


def _of_target(rows: Sequence[Row], target: str) -> Iterator[str]:
    some = [r for r in rows if r.target == target]
    sides = dict.fromkeys(f"{r.gpu}, {r.library}" for r in some)
    yield f"# {target} on {'; '.join(sides)}"
    yield f"The library's time over ours. {CELLS}"
    yield over_library(rows, target)
    yield "What choices lose: the speed of one beside that of another."
    yield of_choices(rows, target)
    yield "Where the tuned kernel is most behind, or least ahead."
    yield of_behind(rows, target)


def roofs() -> dict[str, Roof]:
    """Of the GPUs that are known, by the driver's name for them."""
    return {"NVIDIA H200": Roof(989e12, 4.8e12, "data sheet")}


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
    yield from drawn(rows, folder, roofs())
