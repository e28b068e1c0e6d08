"""Compiled code on disk: the same text for the same target by the same compiler is compiled once.

An entry is a file named after the SHA-256 of everything that the machine code depends on. Inside stand that key, the
compiler's log, the code (a cubin, or the library of a nest in C), and in front of them a checksum: bytes, nothing that
is executed or unpickled when read. A file whose checksum doesn't fit, torn by a crash or a full disk, counts as absent
and is replaced.

Several processes may use one folder, on several machines over NFS, too. A file appears whole, because it's written
under a name of its own and renamed; of two processes that compile the same text the second one's file replaces an
equal one, or where a file in use can't be replaced, as on Windows, the first one's stays; a file that another process
deletes while it is read stays readable, or is absent. The folder keeps to a size: when a new entry makes it larger,
those go that have not been used for longest (each use sets the file's times). Times are compared with the new file's,
so by the clock that set them; a file of the future, from before a clock was set back, counts as the oldest.

Environment: `POLYVOLTA_CACHE_DIR` is the folder, by default the user's cache folder, which nobody else may enter;
`POLYVOLTA_CACHE_SIZE` how large it may get, such as 100M or 2G, by default 256M; 0 switches the cache off. A folder
that can't be written serves what it has, and a warning says so once. What is read is run: let only those write the
folder whom you trust.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import struct
import sys
import warnings
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from polyvolta.sets.errors import PolyvoltaError

DEFAULT_SIZE = 256 << 20
KEEP = 0.75  # of the size that stays when entries are deleted, so that not every new one deletes
ASTRAY_SECONDS = 3600  # off a new file's time: a temporary file so old was left behind, a file so young is of the past
ENTRIES, TEMPORARY = ".pvcubin", ".tmp"  # how the names of files end
MAGIC = b"polyvolta cubin 1\n"
_HEAD = struct.Struct("<32s32sQQ")  # checksum of the rest, key, bytes of log, bytes of code
File = tuple[str, os.stat_result]
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class BadCacheSize(PolyvoltaError, ValueError):
    """`POLYVOLTA_CACHE_SIZE` is no size."""

    id = "PV508"


class CacheWarning(UserWarning):
    """A cache folder that can't be written; what is compiled is compiled again by the next process."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a cache holds: its folder (None: switched off), entries, their bytes, the most bytes it may hold."""

    folder: Path | None
    entries: int
    bytes: int
    limit: int


def key_of(*parts: str) -> bytes:
    """The key of what depends on these texts: 32 bytes; no two different sequences of texts are one.

    >>> key_of("ab", "c") == key_of("a", "bc")
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(struct.pack("<Q", len(data)))
        digest.update(data)
    return digest.digest()


def limit() -> int:
    """How many bytes the cache may hold; 0: it is switched off.

    Raises
    ------
    BadCacheSize : the environment says something else than a size.
    """
    text = os.environ.get("POLYVOLTA_CACHE_SIZE", "").strip()
    if not text:
        return DEFAULT_SIZE
    match = re.fullmatch(r"(\d{1,18}(?:\.\d{0,9})?)\s*([KMGT]?)i?B?", text, re.IGNORECASE)
    if match is None:
        raise BadCacheSize(f"POLYVOLTA_CACHE_SIZE is {text!r}, no size", hint="such as 500M or 2G; 0: no cache")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def folder() -> Path:
    """Where the entries lie, whether it exists or not.

    Raises
    ------
    RuntimeError : the user has no home, and no variable says a folder.
    """
    if chosen := os.environ.get("POLYVOLTA_CACHE_DIR"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "polyvolta" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "polyvolta"
    chosen = os.environ.get("XDG_CACHE_HOME", "")  # a relative one is to be ignored, says its standard
    return (Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache") / "polyvolta"


def read(key: bytes) -> tuple[bytes, str] | None:
    """The code and the log of a key; None where there is no whole entry. Never raises for what lies on the disk.

    Cost: about 0.1 ms.
    """
    if not limit():
        return None
    try:
        path = _path(key)
        data = path.read_bytes()
    except (OSError, RuntimeError):  # no such file, no such home
        return None
    found = _unpack(key, data)
    if found is not None:
        try:
            os.utime(path)
        except OSError:
            pass  # another process deleted it, or the folder is read-only
    return found


def write(key: bytes, image: bytes, log: str) -> None:
    """Add an entry, then delete the least recently used ones beyond the limit. Never raises for the disk's sake.

    Warns
    -----
    CacheWarning : the folder can't be written; once a process.
    """
    most = limit()
    data = _pack(key, image, log)
    if len(data) > most:
        return
    try:
        path = _path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.stem}.{os.getpid()}.{secrets.token_hex(4)}{TEMPORARY}")
    except (OSError, RuntimeError) as wrong:
        _warn(wrong)
        return
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as wrong:
        _delete(temporary)
        if not path.exists():  # else another process has written it, and uses it
            _warn(wrong)
        return
    _shrink(path, most)


_warned: set[str] = set()  # folders of which it was said


def _warn(wrong: Exception) -> None:
    """Say that nothing is kept; of each folder once."""
    try:
        where = str(folder())
    except RuntimeError:
        where = "the cache folder"
    if where not in _warned:
        _warned.add(where)
        reason = getattr(wrong, "strerror", None) or wrong
        words = f"{where} can't be written ({reason}): no machine code is kept; POLYVOLTA_CACHE_DIR names another"
        warnings.warn(words, CacheWarning, stacklevel=4)


def usage() -> Usage:
    """What the cache holds now."""
    most = limit()
    if not most:
        return Usage(None, 0, 0, 0)
    try:
        where = folder()
    except RuntimeError:
        return Usage(None, 0, 0, 0)
    sizes = [s.st_size for _, s in _files(where)[0]]
    return Usage(where, len(sizes), sum(sizes), most)


def clear() -> None:
    """Delete every entry, and what was to become one."""
    if (where := usage().folder) is not None:
        for path, _ in chain(*_files(where)):
            _delete(path)


def _path(key: bytes) -> Path:
    return folder() / f"{key.hex()}{ENTRIES}"


def _pack(key: bytes, image: bytes, log: str) -> bytes:
    text = log.encode()
    rest = key + struct.pack("<QQ", len(text), len(image)) + text + image
    return MAGIC + hashlib.sha256(rest).digest() + rest


def _unpack(key: bytes, data: bytes) -> tuple[bytes, str] | None:
    start = len(MAGIC)
    if not data.startswith(MAGIC) or len(data) < start + _HEAD.size:
        return None
    checksum, stored, log_size, image_size = _HEAD.unpack_from(data, start)
    body = data[start + _HEAD.size :]
    if stored != key or log_size + image_size != len(body):
        return None
    if hashlib.sha256(data[start + 32 :]).digest() != checksum:
        return None
    return body[log_size:], body[:log_size].decode(errors="replace")


def _files(where: Path) -> tuple[list[File], list[File]]:
    """The entries of a folder, and what is to become one: paths, and what the system says of each; one look at all."""
    found: dict[str, list[File]] = {ENTRIES: [], TEMPORARY: []}
    try:
        with os.scandir(where) as files:
            for file in files:
                try:
                    found.get(os.path.splitext(file.name)[1], []).append((file.path, file.stat()))
                except OSError:
                    continue  # deleted meanwhile
    except OSError:
        pass  # no such folder, or one that may not be listed
    return found[ENTRIES], found[TEMPORARY]


def _delete(path: str | Path) -> bool:
    """Delete a file that may be gone; whether it is."""
    try:
        Path(path).unlink(missing_ok=True)
    except OSError:
        return False  # open in another process on Windows, another user's, or on a read-only file system
    return True


_unseen: dict[Path, int] = {}  # bytes written to a folder since all of it was looked at


def _shrink(new: Path, most: int) -> None:
    """Delete what was left behind, and if a folder holds more than `most` bytes the least recently used entries.

    A process looks at a whole folder when it first writes there, and again after each 1/16 of `most`: with many entries
    that takes longer than the writing.

    Parameters
    ----------
    new : the entry just written; it stays.
    """
    try:
        now, size = new.stat().st_mtime, new.stat().st_size
    except OSError:
        return  # another process deletes here
    unseen = _unseen.get(new.parent, most) + size
    _unseen[new.parent] = unseen if 16 * unseen <= most else 0
    if _unseen[new.parent]:
        return

    def age(entry: File) -> float:
        seconds = now - entry[1].st_mtime
        return seconds if seconds > -ASTRAY_SECONDS else float("inf")

    entries, temporary = _files(new.parent)
    for path, stat in temporary:
        if abs(now - stat.st_mtime) > ASTRAY_SECONDS:
            _delete(path)
    total = sum(s.st_size for _, s in entries)
    if total <= most:
        return
    for path, stat in sorted(entries, key=age, reverse=True):
        if total <= KEEP * most:
            return
        if path != str(new) and _delete(path):
            total -= stat.st_size
