"""One at a time on a GPU: times that two tuners take side by side on one are neither's.

A lock is on a file that all processes of a machine find, named after the GPU's own number. The system gives it back
when its holder ends, however it does. Where there is no such file to be had, nobody waits for anybody.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from polyvolta.cuda.devices import Gpu

PAUSE = 0.05  # seconds between two looks
NO_LOCK = -1
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # the folder is everybody's


def taken(gpus: Sequence[Gpu], folder: str | None = None) -> tuple[Gpu, int]:
    """The first GPU that nobody holds, and the file that is held now; waits for one.

    Parameters
    ----------
    gpus : at least one.
    folder : for the files; the system's for temporary ones if missing.
    """
    files = [_opened(Path(folder or tempfile.gettempdir()) / f"polyvolta-{gpu.uuid}.lock") for gpu in gpus]
    while True:
        for gpu, file in zip(gpus, files, strict=True):
            if file == NO_LOCK or _locked(file):
                for other in files:
                    if other not in (file, NO_LOCK):
                        os.close(other)
                return gpu, file
        time.sleep(PAUSE)


def _opened(path: Path) -> int:
    """The file, made if need be; one that another user made may only be read."""
    with suppress(OSError):
        return os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o666)
    with suppress(OSError):
        return os.open(path, os.O_RDONLY | NO_LINK)
    return NO_LOCK


def _locked(file: int) -> bool:
    """Whether the lock on a file could be taken at once; True, too, where files have no locks."""
    try:
        import fcntl
    except ImportError:  # Windows, whose locks are of bytes
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
