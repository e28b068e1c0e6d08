"""The compiler and its cache beside `cuda.core`, which has both: what each does, and what each takes.

    python benchmarks/kept_libraries.py [--arch sm_70]

Wants `cuda-core` with `cuda-bindings` 12.9 or 13, and NVRTC; neither a GPU nor a driver. A cell "not here" says that a
package is missing. Prints Markdown tables: the compilers (processor time of one compile, of a fresh process),
the caches' properties, the caches' times: processor time of the first hit, then time that passed.

The third cache is what an adapter over `FileStreamProgramCache` comes to: our frame of key, checksum and log around
each entry, and errors of the disk taken for absence.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from polyvolta.cuda.run import nvrtc
from polyvolta.sets import code_cache

COPY = 'extern "C" __global__ void copy(const float *from, float *to) { to[threadIdx.x] = from[threadIdx.x]; }'
HERE = Path(__file__)
Found = tuple[bytes, str] | None


# ---- three caches behind one face: write(key, image, log), read(key)


class Ours:
    """`code_cache`, in a folder and of a size."""

    def __init__(self, folder: Path, size: int = 256 << 20) -> None:
        os.environ["POLYVOLTA_CACHE_DIR"], os.environ["POLYVOLTA_CACHE_SIZE"] = str(folder), str(size)

    write = staticmethod(code_cache.write)
    read = staticmethod(code_cache.read)


class Theirs:
    """`FileStreamProgramCache` as it is: it keeps the cubin, not the log."""

    def __init__(self, folder: Path, size: int = 256 << 20) -> None:
        from cuda.core.utils import FileStreamProgramCache

        self.store = FileStreamProgramCache(folder, max_size_bytes=size)

    def write(self, key: bytes, image: bytes, log: str) -> None:
        self.store[key] = image

    def read(self, key: bytes) -> Found:
        found = self.store.get(key)
        return None if found is None else (found, "")


class Adapter:
    """`FileStreamProgramCache` with our frame, which tells torn and changed entries; the disk's errors are absence."""

    def __init__(self, folder: Path, size: int = 256 << 20) -> None:
        from cuda.core.utils import FileStreamProgramCache

        try:
            self.store = FileStreamProgramCache(folder, max_size_bytes=size)
        except OSError:
            self.store = {}

    def write(self, key: bytes, image: bytes, log: str) -> None:
        try:
            self.store[key] = code_cache._pack(key, image, log)
        except OSError:
            pass

    def read(self, key: bytes) -> Found:
        try:
            data = self.store.get(key)
        except OSError:
            return None
        return None if data is None else code_cache._unpack(key, data)


def _name(make: Callable) -> str:
    return next(n for n, c in CACHES.items() if c is make)


CACHES = {"code_cache": Ours, "FileStreamProgramCache": Theirs, "with an adapter": Adapter}


# ---- what a cache does; each answers in words


def files(folder: Path) -> list[Path]:
    """The entries' files, whichever cache wrote them."""
    return [p for p in folder.rglob("*") if p.is_file() and p.parent.name != "tmp"]


def keys(count: int) -> list[bytes]:
    return [code_cache.key_of(str(n)) for n in range(count)]


def torn(make: Callable, folder: Path) -> str:
    """Every truncation, and every byte with one bit flipped: how many are read as an entry."""
    cache, (key,) = make(folder), keys(1)
    cache.write(key, b"machine code" * 10, "log")
    (file,) = files(folder)
    whole, passed = file.read_bytes(), [0, 0]
    for at in range(len(whole)):
        file.write_bytes(whole[:at])
        passed[0] += cache.read(key) is not None
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        passed[1] += cache.read(key) is not None
    return f"{passed[0]} of {len(whole)} truncated, {passed[1]} of {len(whole)} changed served as machine code"


def log_kept(make: Callable, folder: Path) -> str:
    """Whether ptxas's log, which alone knows of spills, comes with a hit."""
    cache, (key,) = make(folder), keys(1)
    cache.write(key, b"code", "0 bytes spill stores")
    return "yes" if cache.read(key) == (b"code", "0 bytes spill stores") else "no"


def too_large(make: Callable, folder: Path) -> str:
    """What an entry beyond the cache's size does to the others."""
    cache, all_keys = make(folder, 10_000), keys(6)
    for key in all_keys[:5]:
        cache.write(key, bytes(1000), "")
    cache.write(all_keys[5], bytes(20_000), "")
    return f"{sum(cache.read(k) is not None for k in all_keys[:5])} of 5 others left"


def clock_set_back(make: Callable, folder: Path) -> str:
    """Whether entries are kept that are written after a clock was set back, beside a full cache of the future."""
    cache, all_keys = make(folder, 10_000), keys(17)
    for key in all_keys[:9]:
        cache.write(key, bytes(1000), "")
    for file in files(folder):
        os.utime(file, (2**31, 2**31))
    kept = 0
    for key in all_keys[9:]:
        cache.write(key, bytes(1000), "")
        kept += cache.read(key) is not None
    return f"{kept} of 8 new ones kept"


def undeletable(make: Callable, folder: Path) -> str:
    """A full cache whose oldest files belong to others: what becomes of a write."""
    cache, all_keys = make(folder, 10_000), keys(12)
    for key in all_keys[:4]:
        cache.write(key, bytes(1000), "")
    others, unlink = set(files(folder)), Path.unlink
    for path in others:
        os.utime(path, (500, 500))

    def refusing(path: Path, missing_ok: bool = False) -> None:
        if path in others:
            raise PermissionError(13, "another's", str(path))
        unlink(path, missing_ok)

    Path.unlink = refusing  # type: ignore[method-assign]
    try:
        for n, key in enumerate(all_keys[4:]):
            cache.write(key, bytes(1000), "")
            os.utime(max(files(folder), key=lambda p: p.stat().st_mtime), (1000 + n, 1000 + n))
    except OSError as wrong:
        return f"{type(wrong).__name__} out of a write"
    finally:
        Path.unlink = unlink  # type: ignore[method-assign]
    total = sum(p.stat().st_size for p in files(folder))
    return f"size kept: {total} of 10000 bytes" if total <= 10_000 else f"size exceeded: {total} of 10000 bytes"


def read_only(make: Callable, folder: Path) -> str:
    """What another user, who may read the folder and not write it, gets of it."""
    if os.name != "posix" or os.getuid():
        return "root alone can ask"
    (key,) = keys(1)
    make(folder).write(key, b"machine code", "log")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    os.seteuid(65534)
    try:
        cache = make(folder)
        served = "served" if cache.read(key) else "not served"
        cache.write(code_cache.key_of("another"), b"x", "")
    except OSError as wrong:
        return f"{served}; {type(wrong).__name__} out of a write"
    finally:
        os.seteuid(0)
    return f"{served}; a write does nothing"


def no_folder(make: Callable, folder: Path) -> str:
    """A file stands where the folder should."""
    folder.rmdir()
    folder.write_text("no folder")
    try:
        make(folder).write(keys(1)[0], b"x", "")
    except OSError as wrong:
        return f"{type(wrong).__name__} out of a write"
    return "no cache"


def shared(make: Callable, folder: Path) -> str:
    """Four processes read, write and evict in a folder that is too small for them."""
    with ThreadPoolExecutor(4) as pool:
        answers = {*pool.map(lambda seed: _asked("writer", _name(make), folder, seed), range(4))}
    left = sum(p.stat().st_size for p in files(folder))
    return f"{', '.join(sorted(answers))}; {left} of 15000 bytes"


def writer(of: str, folder: str, seed: str) -> str:
    """Of `shared`: one of the processes."""
    random.seed(int(seed))
    make = CACHES[of]
    cache, wrong, all_keys = make(Path(folder), 15_000), 0, keys(8)
    try:
        for _ in range(300):
            n = random.randrange(8)
            found = cache.read(all_keys[n])
            wrong += found is not None and found[0] != bytes([n]) * 3000
            if found is None or random.random() < 0.5:
                cache.write(all_keys[n], bytes([n]) * 3000, f"log {n}")
    except Exception as error:
        return f"{type(error).__name__} in a process"
    return f"{wrong} wrong"


PROPERTIES = {
    "torn or changed files": torn,
    "the compiler's log comes with a hit": log_kept,
    "an entry larger than the cache": too_large,
    "a clock set back": clock_set_back,
    "files of others that may not be deleted": undeletable,
    "a folder of another user, to be read only": read_only,
    "a file in the folder's place": no_folder,
    "four processes in a folder too small": shared,
}


# ---- times


def milliseconds(f: Callable[[], object], repeat: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """The fastest of some calls, after one."""
    f()
    taken = []
    for _ in range(repeat):
        start = clock()
        f()
        taken.append(1e3 * (clock() - start))
    return min(taken)


def times(make: Callable, folder: Path) -> str:
    """First hit of a process beside 1000 entries of 20 kB, imports included; then a hit and a write; in ms."""
    cache, all_keys = make(folder), keys(1000)
    for key in all_keys:
        cache.write(key, bytes(20_000), "log")
    first = float(_asked("first_hit", _name(make), folder))
    hit = milliseconds(lambda: cache.read(all_keys[0]), 200)
    return f"{first:.1f} | {hit:.2f} | {milliseconds(lambda: cache.write(all_keys[1], bytes(20_000), 'log'), 50):.2f}"


def first_hit(of: str, folder: str) -> str:
    """Of `times`: in a process of its own, in ms, from opening the cache, imports included."""
    start = time.process_time()
    assert CACHES[of](Path(folder)).read(keys(1)[0]) is not None
    return str(1e3 * (time.process_time() - start))


def _asked(question: str, of: str, *more: object) -> str:
    """What a function of this module answers in a process of its own; the last error's name if it dies."""
    command = [sys.executable, str(HERE), "--ask", question, of, *(str(m) for m in more if m is not None)]
    done = subprocess.run(command, capture_output=True, text=True, env=_paths())
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1].split(":")[0]


# ---- the compilers


def by_core(source: str, arch: str) -> tuple[bytes, str]:
    """A cubin and its log by `cuda.core.Program`, with the options of `nvrtc.compile_cubin`."""
    from cuda.core import Program, ProgramOptions

    log = io.StringIO()
    options = ProgramOptions(name="copy.cu", arch=arch, std="c++17", ptxas_options=["-v"], no_cache=True)
    code = Program(source, "c++", options).compile("cubin", logs=log).code
    return bytes(code), log.getvalue()


def compilers(arches: list[str], text: Path | None) -> None:
    """Which architectures each compiles for, whether the machine code is the same, and how long it takes."""
    print("| | nvrtc.py | cuda.core.Program | same machine code |\n|---|---|---|---|")
    for arch in arches:  # each in a process of its own: the bindings take a library that is loaded already
        found = [_asked("compiled", name, arch, text).split() for name in COMPILERS]
        same = found[0][0] == found[1][0] if len(found[0]) == len(found[1]) == 3 else ""
        print(f"| {arch}, bytes and ms a compile | " + " | ".join(" ".join(f[-2:]) for f in found) + f" | {same} |")
    fresh = [_started(code) for code in ("from polyvolta.cuda import nvrtc; nvrtc._nvrtc_for('sm_90')",
                                         "from cuda.core import Program; from cuda.bindings import nvrtc; "
                                         "nvrtc.nvrtcVersion()")]  # fmt: skip
    print(f"| ms to import and load, beside numpy | {fresh[0]:.0f} | {fresh[1]:.0f} | |")


def compiled(by: str, arch: str, text: str = "") -> str:
    """Of `compilers`: the machine code's hash, its bytes, milliseconds a compile; or what was raised."""
    source, run = Path(text).read_text() if text else COPY, COMPILERS[by]
    try:
        image, log = run(source, arch)
    except Exception as wrong:
        return type(wrong).__name__
    assert "bytes spill stores" in log
    took = milliseconds(lambda: run(source, arch), 5, time.process_time)
    return f"{hashlib.sha256(image).hexdigest()} {len(image)} {took:.0f}"


def by_ctypes(source: str, arch: str) -> tuple[bytes, str]:
    """A cubin and its log by `nvrtc`, without its cache."""
    chosen = nvrtc._nvrtc_for(arch)
    options = [f"--gpu-architecture={arch}", "--std=c++17", "--ptxas-options=-v", "--no-cache"]
    image, _, log = nvrtc._compile(chosen, source, options, "copy.cu", arch)
    return image, log


COMPILERS = {"nvrtc.py": by_ctypes, "cuda.core.Program": by_core}


def _started(statement: str) -> float:
    """The fastest of 7 fresh processes, in ms, of a statement after numpy and the package were imported."""
    code = f"""
import time, numpy, polyvolta.cuda.errors
start = time.process_time()
{statement}
print(time.process_time() - start)"""
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_paths()) for _ in range(7)
    ]
    return 1e3 * min(float(r.stdout) for r in runs)


def _paths() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def table(heading: str, rows: dict[str, Callable]) -> None:
    """One row for a property, one column for a cache, each in a folder of its own."""
    print(f"\n| {heading} | " + " | ".join(CACHES) + " |\n" + "|---" * (1 + len(CACHES)) + "|")
    for name, f in rows.items():
        print(f"| {name} | " + " | ".join(_cell(f, make) for make in CACHES.values()) + " |", flush=True)


def _cell(f: Callable, make: Callable) -> str:
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        folder = Path(root) / "cache"
        folder.mkdir()
        try:
            return f(make, folder)
        except ImportError:
            return "not here"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", nargs="+", default=["sm_70", "sm_75", "sm_80", "sm_90a"])
    parser.add_argument("--text", type=Path, help="CUDA C++ to compile; a copy of 32 floats if missing")
    parser.add_argument("--ask", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.ask:
        question, *more = args.ask
        print({"compiled": compiled, "writer": writer, "first_hit": first_hit}[question](*more))
        return
    compilers(args.arch, args.text)
    table("a cache", PROPERTIES)
    print("\n| ms, beside 1000 entries of 20 kB | first hit of a process | a hit | a write |\n|---|---|---|---|")
    for name, make in CACHES.items():
        print(f"| {name} | {_cell(times, make)} |", flush=True)


if __name__ == "__main__":
    main()
