"""The cache of code: what is written is what is read, whatever happens to the files, and whoever else is at it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyvolta.cuda.run import nvrtc
from polyvolta.sets import code_cache as cache

KEY = cache.key_of("a text", "sm_70", "NVRTC 12.9")


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A cache of each test's own."""
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("POLYVOLTA_CACHE_SIZE", raising=False)
    return tmp_path / "cache"


def entry(own):
    (path,) = own.glob("*.pvcubin")
    return path


TEXTS = st.text("ab\0\n é€\U0001f600", max_size=3)  # few signs: texts often begin alike, or are the same


@given(image=st.binary(max_size=200), log=TEXTS)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read(image, log):
    cache.write(KEY, image, log)
    assert cache.read(KEY) == (image, log)
    assert cache.read(cache.key_of("another")) is None


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))
def test_keys_differ_where_texts_do(one, other):
    assert (cache.key_of(*one) == cache.key_of(*other)) == (one == other)


def test_every_torn_or_changed_file_counts_as_absent_and_is_replaced(own):
    cache.write(KEY, b"machine code", "log")
    whole = entry(own).read_bytes()
    for size in range(len(whole)):
        entry(own).write_bytes(whole[:size])
        assert cache.read(KEY) is None, size
    for at in range(len(whole)):
        entry(own).write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        assert cache.read(KEY) is None, at
    entry(own).write_bytes(whole + b"x")
    assert cache.read(KEY) is None
    cache.write(KEY, b"machine code", "log")
    assert cache.read(KEY) == (b"machine code", "log")


def test_a_file_under_anothers_name_is_not_its_entry(own):
    cache.write(KEY, b"machine code", "log")
    other = cache.key_of("other")
    entry(own).rename(own / f"{other.hex()}.pvcubin")
    assert cache.read(other) is None


def test_the_size_is_kept_and_what_was_not_used_for_longest_goes(own, monkeypatch):
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "10K")
    keys = [cache.key_of(str(n)) for n in range(12)]
    for n, key in enumerate(keys[:8]):
        cache.write(key, bytes(1000), "")
        os.utime(own / f"{key.hex()}.pvcubin", (1000 + n, 1000 + n))
    assert cache.read(keys[0]) is not None  # used again: now the newest
    for key in keys[8:]:
        cache.write(key, bytes(1000), "")
        time.sleep(0.002)
    left = [n for n, key in enumerate(keys) if cache.read(key)]
    assert 0 in left and 11 in left and not {1, 2} & {*left}
    assert cache.usage().bytes <= 10 << 10 and cache.usage().entries == len(left)
    cache.clear()
    assert cache.usage().entries == 0


def test_an_entry_larger_than_the_cache_is_not_kept(own, monkeypatch):
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "1K")
    cache.write(KEY, bytes(2000), "")
    assert cache.read(KEY) is None and not own.exists()


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("100", 100), ("3K", 3072), ("1.5M", 3 << 19), ("2g", 2 << 30), ("1 GiB", 1 << 30), ("", 256 << 20)],
)
def test_sizes(monkeypatch, text, size):
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", text)
    assert cache.limit() == size


@pytest.mark.parametrize("text", ["lots", "-1", "1X", "K", "9" * 400])
def test_what_is_no_size_is_said(monkeypatch, text):
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", text)
    with pytest.raises(cache.BadCacheSize) as caught:
        cache.read(KEY)
    assert caught.value.id == "PV508" and "500M" in caught.value.hint


def test_switched_off_nothing_is_written(own, monkeypatch):
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "0")
    cache.write(KEY, b"x", "")
    assert cache.read(KEY) is None and not own.exists() and cache.usage().folder is None


def test_the_default_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("POLYVOLTA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.folder() == tmp_path / "polyvolta"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.folder() == Path.home() / ".cache" / "polyvolta"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.folder() == tmp_path / "local" / "polyvolta" / "Cache"


def test_a_folder_that_cannot_be_written_is_no_cache(own):
    own.parent.mkdir(exist_ok=True)
    own.write_text("a file stands where the folder should")
    with pytest.warns(cache.CacheWarning, match="POLYVOLTA_CACHE_DIR"):
        cache.write(KEY, b"x", "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.write(KEY, b"x", "")  # said once
    assert cache.read(KEY) is None and cache.usage().entries == 0


def test_files_left_behind_under_temporary_names_go(own, monkeypatch):
    cache.write(KEY, b"x", "")
    old, young = own / "old.1.tmp", own / "young.2.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    monkeypatch.setattr(cache, "_unseen", {})  # as in another process: it looks at the whole folder
    cache.write(cache.key_of("more"), b"x", "")
    assert not old.exists() and young.exists()
    cache.clear()
    assert not [*own.iterdir()]


def test_a_clock_that_is_set_back_makes_no_entry_stay_for_ever(own, monkeypatch):
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "10K")
    keys = [cache.key_of(str(n)) for n in range(16)]
    for key in keys[:8]:
        cache.write(key, bytes(1000), "")
        os.utime(own / f"{key.hex()}.pvcubin", (2**31, 2**31))
    for key in keys[8:]:
        cache.write(key, bytes(1000), "")
        assert cache.read(key), "a new entry stays"
        time.sleep(0.002)
    assert not [key for key in keys[:8] if (own / f"{key.hex()}.pvcubin").exists()]


def test_files_of_others_that_may_not_be_deleted_count(own, monkeypatch):
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "10K")
    keys = [cache.key_of(str(n)) for n in range(12)]
    others = {own / f"{key.hex()}.pvcubin" for key in keys[:4]}
    unlink = Path.unlink

    def refusing(path, missing_ok=False):
        if path in others:
            raise PermissionError(path)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing)
    for n, key in enumerate(keys):
        cache.write(key, bytes(1000), "")
        os.utime(own / f"{key.hex()}.pvcubin", (1000 + n, 1000 + n))
    assert all(map(cache.read, keys[:4])) and cache.usage().bytes <= 10 << 10


def test_a_read_only_file_system_serves_what_it_has(own, monkeypatch):
    cache.write(KEY, b"machine code", "log")

    def refuse(*args, **more):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(cache, "open", refuse, raising=False)
    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    cache.write(cache.key_of("another"), b"x", "")
    assert cache.read(KEY) == (b"machine code", "log")
    cache.clear()
    assert cache.usage().entries == 1


def test_an_entry_in_use_that_cannot_be_replaced_stays(own, monkeypatch):
    """As on Windows, where a file that is open is neither replaced nor deleted."""
    cache.write(KEY, b"machine code", "log")

    def refuse(*args):
        raise PermissionError(13, "in use")

    monkeypatch.setattr(os, "replace", refuse)
    cache.write(KEY, b"machine code", "log")
    assert cache.read(KEY) == (b"machine code", "log")
    assert [*own.iterdir()] == [entry(own)]


def test_without_a_home_there_is_no_cache(monkeypatch):
    def nobody():
        raise RuntimeError("Could not determine home directory.")

    for name in ("POLYVOLTA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", nobody)
    cache.write(KEY, b"x", "")
    cache.clear()
    assert cache.read(KEY) is None and cache.usage() == cache.Usage(None, 0, 0, 0)


# ---- several processes

WRITER = """
import random, sys
from polyvolta.sets import code_cache as cache
random.seed(int(sys.argv[1]))
for _ in range(300):
    n = random.randrange(8)
    key = cache.key_of(str(n))
    found = cache.read(key)
    assert found in (None, (bytes([n]) * 3000, f"log {n}")), n
    if found is None or random.random() < 0.5:
        cache.write(key, bytes([n]) * 3000, f"log {n}")
"""


def test_processes_share_a_folder_that_is_too_small_for_all(own):
    """Each reads whole entries or none, while the others replace and delete them."""
    env = {**os.environ, "POLYVOLTA_CACHE_SIZE": "15K"}
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(n)], env=env, stderr=subprocess.PIPE, text=True)
               for n in range(4)]  # fmt: skip
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert not [*own.glob("*.tmp")]
    assert sum(p.stat().st_size for p in own.glob("*.pvcubin")) <= 5 * 3200  # one more than fit at the very most


def test_a_writer_that_is_killed_leaves_no_broken_entry(own):
    code = WRITER.replace("range(300)", "range(10**9)")
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code, "1"], env=os.environ) as process:
            time.sleep(0.4)
            process.kill()
        for n in range(8):
            assert cache.read(cache.key_of(str(n))) in (None, (bytes([n]) * 3000, f"log {n}"))


# ---- behind the compiler

COPY = 'extern "C" __global__ void copy(const float *from, float *to) { to[threadIdx.x] = from[threadIdx.x]; }'


def test_a_text_is_compiled_once_for_all_processes(own, monkeypatch):
    nvrtc.compile_cubin.cache_clear()
    first = nvrtc.compile_cubin(COPY, name="copy")
    nvrtc.compile_cubin.cache_clear()  # as in another process
    monkeypatch.setattr(nvrtc, "_compile", lambda *a: pytest.fail("compiled again"))
    again = nvrtc.compile_cubin(COPY, name="copy")
    assert (again, again.resources("copy")) == (first, first.resources("copy"))
    nvrtc.compile_cubin.cache_clear()


@pytest.mark.parametrize("change", ["text", "target", "compiler"])
def test_another_text_target_or_compiler_is_another_entry(own, monkeypatch, change):
    nvrtc.compile_cubin.cache_clear()
    nvrtc.compile_cubin(COPY, name="copy")
    nvrtc.compile_cubin.cache_clear()
    text, target = COPY, "sm_70"
    if change == "text":
        text += "\n"
    elif change == "target":
        target = "sm_75"
    else:
        monkeypatch.setattr(nvrtc._Nvrtc, "identity", "another")
    nvrtc.compile_cubin(text, target, name="copy")
    assert cache.usage().entries == 2
    nvrtc.compile_cubin.cache_clear()


def test_builds_of_one_version_and_one_size_are_told_apart(tmp_path):
    one, other = (tmp_path / f"libnvrtc.so.{n}" for n in (1, 2))
    for path, build in ((one, b"a"), (other, b"b")):
        path.write_bytes(b"\x7fELF" + build * 20 + bytes(300_000))
    assert nvrtc._build(str(one)) != nvrtc._build(str(other))
    assert nvrtc._build(str(one)).startswith("300024 bytes")
    assert nvrtc._build("libnvrtc.so.99") == "build unknown"
