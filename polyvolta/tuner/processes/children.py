"""Processes that may hang or die without harm: each holds one object, whose methods are called from here with a limit.

A kernel that never ends can't be stopped from within its process, nor can a compiler that doesn't. So both run in
processes of their own. They are started anew, not forked: threads, locks and GPU contexts of this one don't come along;
nor is the user's program imported again, as `multiprocessing` would. They get no Ctrl-C, which is this process's to
handle.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Self

from polyvolta.tuner.errors import Died, Foreign, Hangs

START_SECONDS = 120.0  # until an object is there: imports, on a machine that is busy
END_SECONDS = 10.0
LONGEST = 1e9  # seconds that a queue can be waited for, and no one will
ALONE = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # numpy's threads: there is a process for each core
LINES = 5  # of what a process said last


class Child:
    """A process that holds what `factory(*arguments)` makes there; use it in a `with` block.

    Parameters
    ----------
    factory : found by its module and name, there as here.
    arguments : are sent there.
    """

    def __init__(self, factory: Callable[..., Any], *arguments: Any) -> None:
        self._said = tempfile.TemporaryFile()
        paths = os.pathsep.join(p or os.getcwd() for p in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "polyvolta.tuner.processes.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._said, env={**os.environ, "PYTHONPATH": paths}, start_new_session=True,
        )  # fmt: skip
        self._answers: SimpleQueue[tuple[bool, Any] | None] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self._pending = 1
        self._send(factory, arguments)

    def _send(self, what: Any, arguments: tuple) -> None:
        content = pickle.dumps((what, arguments))  # whole, before anything is written
        with suppress(OSError, ValueError):  # it died: whoever waits for the answer is told
            self._process.stdin.write(content)  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]

    def _read(self) -> None:
        try:
            while True:
                self._answers.put(pickle.load(self._process.stdout))  # type: ignore[arg-type]
        except (EOFError, OSError, ValueError):  # it ended, or was ended here
            self._answers.put(None)
        except Exception as wrong:  # an answer that nobody can read
            self._answers.put((False, Foreign.of(wrong)))

    def ready(self, limit: float | None = None) -> Self:
        """Wait until the object is made.

        Raises
        ------
        Hangs, Died, and what the factory raised.
        """
        if self._pending:
            self._pending = 0
            self._answer(START_SECONDS if limit is None else limit, "start")
        return self

    def ask(self, method: str, *arguments: Any, limit: float) -> Any:
        """What the object's method returns, within so many seconds.

        Raises
        ------
        Hangs : it took longer. The process is ended.
        Died : the process ended.
        PolyvoltaError : the method's own; `Foreign` for another error.
        """
        self.ready()
        self._send(method, arguments)
        return self._answer(limit, method)

    def _answer(self, limit: float, what: str) -> Any:
        try:
            answer = self._answers.get(timeout=min(limit, LONGEST))
        except Empty:
            self.close()
            raise Hangs(f"{what} took longer than {limit:g} s") from None
        if answer is None:
            self._answers.put(None)  # for whoever asks next
            with suppress(subprocess.TimeoutExpired):  # what it wrote to is closed, it ends
                self._process.wait(END_SECONDS)
            self.close()
            raise Died(f"the process ended with {self._process.returncode} amid {what}", where=self._last())
        fine, value = answer
        if not fine:
            raise value
        return value

    def _last(self) -> str:
        """What the process said last."""
        self._said.seek(0)
        return "\n".join(self._said.read().decode(errors="replace").strip().splitlines()[-LINES:])

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def close(self) -> None:
        """End the process, whatever it does; once is enough."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # in a driver's call that can't be interrupted
            self._process.wait(END_SECONDS)
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
