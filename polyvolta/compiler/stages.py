"""The schedule trees of a compilation, by stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polyvolta.display.shown import Shown
from polyvolta.display.text import filled
from polyvolta.sched.tree import Schedule
from polyvolta.sets import UnknownName, nearest


class Stages(Shown, Mapping[str, Schedule]):
    """Stage name -> schedule tree, in order, to be read; an unknown stage suggests the nearest.

    A notebook shows them one after the other, each with what its pass changed.

    Attributes
    ----------
    notes : what the pass to each stage did, a sentence by stage.
    """

    __slots__ = ("_trees", "notes")

    def __init__(self, trees: Mapping[str, Schedule], notes: Mapping[str, str] | None = None) -> None:
        self._trees = dict(trees)
        self.notes = {stage: said for stage, said in (notes or {}).items() if stage in self._trees}

    def __getitem__(self, name: str) -> Schedule:
        if name not in self._trees:
            raise UnknownName(f"no stage is called {name!r}", hint=nearest(name, self))
        return self._trees[name]

    def __contains__(self, name: object) -> bool:
        return name in self._trees

    def get(self, name: str, default: Any = None) -> Any:
        """The tree of a stage, or the default."""
        return self._trees.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._trees)

    def __len__(self) -> int:
        return len(self._trees)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._trees)

    def __repr__(self) -> str:
        return filled(f"<Stages {', '.join(self)}>")

    def __str__(self) -> str:
        wide = max(map(len, self), default=0) + 2
        lines = (filled(self.notes.get(stage, "") or "-", " " * wide, f"{stage:{wide}}") for stage in self)
        return "\n".join(lines)

    def _html(self) -> str:
        from polyvolta.compiler.shown.stages import stepper

        return stepper(self, self.notes)
