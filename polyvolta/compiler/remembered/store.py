"""Tuning results on disk: a file of SQLite's in the cache folder, which several processes may use at a time.

A result is written when it is there, in a transaction that takes the file's lock at once and waits for others, so a
process that is stopped, or killed, leaves what it had found out. Connections live for one transaction; nothing is kept
open. The journal is SQLite's own, not a log in shared memory, which folders of other machines don't have.

What can't be used is worked around and left as it is. The file is the first of `tuned.sqlite`, `tuned.2.sqlite`, ...
that is whole, of this format and can be written; what the others hold is read, too, as far as it can be. So a file that
is cut off, of another format, locked for long or read-only keeps what it has, and what comes is written beside it.
Where nothing can be written, as in a read-only folder, results are kept for as long as the `Store` is. A warning says
so, once for each file.

The folder is that of `code_cache`, and `POLYVOLTA_CACHE_SIZE=0` switches this off, too. What is read are options and
times, nothing that is run.
"""

from __future__ import annotations

import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from polyvolta.compiler.remembered.entries import OUTCOMES, TIMED, Timed, options_of, text_of
from polyvolta.compiler.remembered.key import Key
from polyvolta.sets import code_cache

FORMAT = 1
APPLICATION = 0x70765475  # "pvTu", in the file's header
MOST_FILES = 5
READ_SECONDS, WRITE_SECONDS = 1.0, 10.0  # that a file may be locked by others
TABLES = (
    "CREATE TABLE entries (key TEXT, options TEXT, outcome TEXT, seconds REAL, final INTEGER, note TEXT, stamp REAL,"
    " PRIMARY KEY (key, options)) WITHOUT ROWID",
    "CREATE TABLE finished (key TEXT PRIMARY KEY, budget INTEGER, options TEXT, stamp REAL) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)
_T = TypeVar("_T")


class TuningFileWarning(UserWarning):
    """A file of tuning results that can't be used as it should; says what was done instead."""


class _OtherFormat(Exception):
    """A file of another format, or of another program."""


class _Damaged(Exception):
    """A file that SQLite opens, and whose content doesn't hang together."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that came to its end: how many candidates it was to try, and the options that won."""

    budget: int
    winner: Timed
    stamp: float


@dataclass(slots=True)
class Store:
    """Tuning results in a folder; None: those of this object alone.

    Never raises for what lies on the disk.
    """

    folder: Path | None
    patience: float = WRITE_SECONDS
    _avoided: set[Path] = field(default_factory=set)
    _kept: dict[str, dict[str, tuple]] = field(default_factory=dict)
    _ended: dict[str, tuple] = field(default_factory=dict)
    _said: set[Path] = field(default_factory=set)
    _whole: set[Path] = field(default_factory=set)

    @classmethod
    def here(cls) -> Store:
        """That of the cache folder, where caching isn't switched off.

        Raises
        ------
        BadCacheSize : the environment's limit is no size.
        """
        try:
            return cls(code_cache.folder() if code_cache.limit() else None)
        except RuntimeError:  # no home
            return cls(None)

    @property
    def files(self) -> tuple[Path, ...]:
        """Where results may lie, in the order in which files are taken."""
        if self.folder is None:
            return ()
        names = ["tuned.sqlite", *(f"tuned.{n}.sqlite" for n in range(2, MOST_FILES + 1))]
        return tuple(self.folder / name for name in names)

    @property
    def exists(self) -> bool:
        """Whether there is anything to be read; a look at the folder, no more."""
        return bool(self._kept) or any(path.exists() for path in self.files)

    # ---- reading

    def entries(self, key: Key) -> tuple[Timed, ...]:
        """What is known of each candidate of a computation, the fastest first."""
        query = "SELECT options, outcome, seconds, final, note, stamp FROM entries WHERE key = ?"
        rows = [*self._read(query, key), *self._kept.get(key.text, {}).values()]
        rows = [r for r in rows if isinstance(r[5], float)]
        newest = {row[0]: row for row in sorted(rows, key=lambda r: r[5])}
        found = filter(None, map(_entry, newest.values()))
        return tuple(sorted(found, key=lambda e: (e.seconds is None, not e.final, e.seconds or 0.0)))

    def finished(self, key: Key) -> Finished | None:
        """The last run that came to its end; None where there is none."""
        rows = self._read("SELECT budget, options, stamp FROM finished WHERE key = ?", key)
        rows += [self._ended[key.text]] if key.text in self._ended else []
        rows = [r for r in rows if isinstance(r[0], int) and isinstance(r[2], float)]
        by_options = {text_of(e.options): e for e in self.entries(key)} if rows else {}
        for budget, options, stamp in sorted(rows, key=lambda r: -r[2]):
            if (winner := by_options.get(options)) is not None:
                return Finished(budget, winner, stamp)
        return None

    def _read(self, query: str, key: Key) -> list[tuple]:
        rows: list[tuple] = []
        for path in self.files:
            if path.exists():
                rows += self._tried(path, lambda p: _rows(p, query, key.text), "what it holds isn't found") or []
        return rows

    # ---- writing

    def add(self, key: Key, entries: Iterable[Timed]) -> None:
        """Add what was found out, in the place of what was known of the same candidates."""
        stamp = time.time()
        rows = [(text_of(e.options), e.outcome, e.seconds, int(e.final), e.note, stamp) for e in entries]

        def into(db: sqlite3.Connection) -> None:
            db.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
                           [(key.text, *row) for row in rows])  # fmt: skip

        if rows and not self._written(into):
            self._kept.setdefault(key.text, {}).update({row[0]: row for row in rows})

    def finish(self, key: Key, budget: int, winner: Timed) -> None:
        """Say that a run came to its end."""
        row = budget, text_of(winner.options), time.time()
        if not self._written(lambda db: db.execute("INSERT OR REPLACE INTO finished VALUES (?, ?, ?, ?)",
                                                   (key.text, *row))):  # fmt: skip
            self._ended[key.text] = row

    def _written(self, into: Callable[[sqlite3.Connection], object]) -> bool:
        """Run a transaction on the first file that takes it; whether there is one."""
        for path in self.files:
            if path in self._avoided:
                continue
            done = self._tried(path, lambda p: self._transaction(p, into), "results go elsewhere")
            if done:
                return True
            self._avoided.add(path)
        return False

    def _transaction(self, path: Path, into: Callable[[sqlite3.Connection], object]) -> bool:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _connection(path, "rwc", self.patience) as db:
            db.execute("BEGIN IMMEDIATE")  # the lock at once: of two that read first, one would have to give up
            if not _version(db):
                for statement in TABLES:
                    db.execute(statement)
            elif path not in self._whole and (found := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise _Damaged(found)
            into(db)
            db.execute("COMMIT")
        self._whole.add(path)
        return True

    def _tried(self, path: Path, action: Callable[[Path], _T], instead: str) -> _T | None:
        """What an action on a file gives; None, after a warning, where the file isn't as it should be."""
        try:
            return action(path)
        except (sqlite3.Error, OSError, _OtherFormat, _Damaged) as wrong:
            what = path if path.exists() else path.parent  # where no file can be made it is the folder's fault
            if what not in self._said:
                self._said.add(what)
                reason = " ".join(_reason(wrong).split())
                warnings.warn(f"{what} {reason}; it stays as it is, and {instead}", TuningFileWarning, stacklevel=2)
            return None


def _entry(row: tuple) -> Timed | None:
    """A row as a value; None where it makes no sense."""
    options, outcome, seconds, final, note, _ = row
    found = options_of(options)
    if found is None or outcome not in OUTCOMES:
        return None
    has_time = isinstance(seconds, float) and seconds > 0
    return Timed(found, outcome, seconds, bool(final), str(note)) if has_time == (outcome == TIMED) else None


def _reason(wrong: Exception) -> str:
    """What is the matter with a file."""
    name = getattr(wrong, "sqlite_errorname", "")
    if isinstance(wrong, _OtherFormat):
        return f"holds tuning results of another version, or is no file of them ({wrong})"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "is locked by another process"
    if isinstance(wrong, _Damaged) or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"is damaged ({wrong})"
    return f"can't be written or read ({wrong})"


@contextmanager
def _connection(path: Path, mode: str, seconds: float) -> Iterator[sqlite3.Connection]:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    with closing(sqlite3.connect(address, timeout=seconds, uri=True, isolation_level=None)) as db:
        yield db


def _version(db: sqlite3.Connection) -> int:
    """The format; 0 for a file without content.

    Raises
    ------
    _OtherFormat : neither that nor ours.
    """
    (application,), (version,) = (
        db.execute(f"PRAGMA {what}").fetchone() for what in ("application_id", "user_version")
    )
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (application, version) != (APPLICATION, FORMAT) and (application, version, tables) != (0, 0, 0):
        raise _OtherFormat(f"format {version}, this one writes {FORMAT}")
    return version


def _rows(path: Path, query: str, *values: Any) -> list[tuple]:
    with _connection(path, "rw", READ_SECONDS) as db:  # which reads what may only be read, and clears up after crashes
        return db.execute(query, values).fetchall() if _version(db) else []
