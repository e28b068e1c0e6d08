"""How far a command is, and for how long it will go on: a bar on stderr, where that is a terminal.

Results go to stdout, so the bar is there when they go to a file or a pipe, too, and never among them. It is gone when
the work is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from polyvolta.cli import terminal

if TYPE_CHECKING:
    from rich.console import Console


class Bar:
    """A bar, in a `with` block.

    Parameters
    ----------
    what : what is done at first; how much of it there is isn't known before `reach`.
    err : where it is shown.
    now : gives the time in seconds.
    """

    def __init__(
        self, what: str = "loading", err: Console | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        err = err or terminal.console(stderr=True)
        self._now, self.is_shown = now, err.is_terminal
        columns = TextColumn("{task.description}"), BarColumn(bar_width=20), TextColumn("{task.fields[left]}")
        self._bar = Progress(*columns, console=err, transient=True, disable=not self.is_shown)
        self._task = self._bar.add_task(what, total=None, left="")
        self._what, self._since, self.share = what, now(), ""

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def reach(self, what: str, done: float, of: float, detail: str = "") -> None:
        """So much of something is done.

        Parameters
        ----------
        what : the time left is told from when it was another thing.
        detail : which part of it is next.
        """
        if what != self._what:
            self._what, self._since = what, self._now()
        left = remaining(self._now() - self._since, done, of)
        count = f"{done} of {of}" if isinstance(of, int) else f"{done / of:.0%}" if of else ""
        self.share = f"{count}, {left}" if left else count
        words = f"{what} {detail}".rstrip()
        self._bar.update(self._task, description=words, completed=done, total=of, left=self.share)

    def pulse(self, what: str) -> None:
        """Something begins of which nobody knows how much it is."""
        self._what, self._since, self.share = what, self._now(), ""
        self._bar.update(self._task, description=what, total=None, left="")


def remaining(seconds: float, done: float, of: float) -> str:
    """How long the rest takes at the same pace.

    >>> remaining(50, 20, 100), remaining(1, 0, 100), remaining(7200, 50, 100)
    ('3:20 left', '', '2:00:00 left')
    """
    if not done or done >= of:
        return ""
    rest = round(seconds * (of - done) / done)
    minutes, rest = divmod(rest, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"
