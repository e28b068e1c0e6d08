"""The other side of `children.Child`: a process that makes one object, and calls its methods as it is told.

    python -m polyvolta.tuner.processes.child

Messages are pickles on stdin and stdout, which nobody else writes to: what the process prints goes to stderr. When the
parent is gone the process ends at once, even amid a call that never returns, such as the wait for a kernel that hangs.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from queue import SimpleQueue
from typing import Any, BinaryIO

from polyvolta.sets.errors import PolyvoltaError
from polyvolta.tuner.errors import Foreign


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Read (factory, arguments), then (method, arguments) again and again; answer each."""
    calls: SimpleQueue[tuple[Any, tuple]] = SimpleQueue()
    threading.Thread(target=_read, args=(asked, calls), daemon=True).start()
    served: list[Any] = []
    while True:
        what, arguments = calls.get()
        try:
            if served:
                answer = getattr(served[0], what)(*arguments)
            else:
                served, answer = [what(*arguments)], None
            content = pickle.dumps((True, answer))
        except Exception as wrong:
            content = pickle.dumps((False, wrong if isinstance(wrong, PolyvoltaError) else Foreign.of(wrong)))
        answers.write(content)
        answers.flush()


def _read(asked: BinaryIO, calls: SimpleQueue) -> None:
    """Messages as they come; at their end the process ends."""
    try:
        while True:
            calls.put(pickle.load(asked))
    except BaseException:  # the end, or a message that is none: nothing follows
        os._exit(0)


def main() -> None:
    """Serve on what stdin and stdout were; from then on stdout is stderr."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdin = open(os.devnull)
    serve(asked, answers)


if __name__ == "__main__":
    main()
