"""How far tuning is: a bar on a terminal, or calls of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from polyvolta.compiler.remembered.entries import Timed

Reported = Callable[[int, int, Timed | None], None]


@dataclass(slots=True)
class Progress:
    """Says what was timed; use it in a `with` block.

    Parameters
    ----------
    wanted : whether a terminal shows a bar on stderr; or a function that is called with how many candidates are done,
        of how many, and the last of them (None: the best are racing).
    total : candidates.
    done : of these, how many were timed before.
    """

    wanted: bool | Reported
    total: int
    done: int = 0
    best: float | None = None
    _bar: Any = None
    _task: Any = None

    def __enter__(self) -> Self:
        if self.wanted is True:
            self._bar = _bar()
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("compiling", total=self.total, completed=self.done)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def one(self, entry: Timed) -> None:
        """Another candidate is done."""
        self.done += 1
        if entry.seconds is not None:
            self.best = min(entry.seconds, self.best or entry.seconds)
        if callable(self.wanted):
            self.wanted(self.done, self.total, entry)
        text = "timing" if self.best is None else f"timing, best {1e6 * self.best:.2f} us"
        self._show(text)

    def racing(self, count: int) -> None:
        """The best take turns."""
        if callable(self.wanted):
            self.wanted(self.done, self.total, None)
        self._show(f"the best {count} take turns")

    def say(self, text: str) -> None:
        """A line above the bar."""
        if self._bar is not None:
            self._bar.console.print(text)

    def _show(self, text: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, description=text)


def _bar() -> Any:
    """A bar on stderr, if that is a terminal or a notebook."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        return None
    far = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    times = TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()
    return Bar(*far, *times, console=console, transient=True)
