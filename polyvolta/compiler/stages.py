"""The schedule trees of a compilation, by stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polyvolta.sched.tree import Schedule
from polyvolta.sets import UnknownName, nearest


class Stages(Mapping[str, Schedule]):
    """Stage name -> schedule tree, in order, to be read; an unknown stage suggests the nearest."""

    __slots__ = ("_trees",)

    def __init__(self, trees: Mapping[str, Schedule]) -> None:
        self._trees = dict(trees)

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
        return f"<Stages {', '.join(self)}>"
