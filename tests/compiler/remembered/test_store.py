"""Tuning results on disk: what is kept is found, by several processes at a time, whatever is wrong with the file."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import polyvolta as pv
from polyvolta.compiler.remembered import find
from polyvolta.compiler.remembered.entries import DIED, FAILED, TIMED, Timed, best_of
from polyvolta.compiler.remembered.key import Key, called, key_of
from polyvolta.compiler.remembered.store import FORMAT, Store, TuningFileWarning
from polyvolta.cuda.devices import Gpu
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.graph.dag import Graph

KEY = Key("NVIDIA Fake", "sm_80", "t0 @ t1", (512, 256), "0.1.0")
ROOT = Path(__file__).resolve().parents[3]


def option(group):
    return pv.Options(block_tile=(128, 128, 32), warp_tile=(64, 64, 32), group=group)


def timed(group, final=False):
    return Timed(option(group), TIMED, 1e-6 * group, final)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache")


@pytest.fixture(autouse=True)
def silent():
    """A warning that a test doesn't expect is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", TuningFileWarning)
        yield


def test_what_is_added_is_found_by_its_key_alone(store):
    assert not store.exists and store.entries(KEY) == () and store.finished(KEY) is None
    store.add(KEY, [timed(9), timed(4), Timed(option(2), FAILED, note="no")])
    store.add(KEY, [timed(7, final=True)])
    other = Store(store.folder)
    assert [e.options.group for e in other.entries(KEY)] == [7, 4, 9, 2]  # the last rounds' first
    assert other.entries(KEY)[-1] == Timed(option(2), FAILED, note="no")
    assert best_of(other.entries(KEY)).options == option(7)
    for change in ({"gpu": "x"}, {"target": "sm_75"}, {"expression": "x"}, {"sizes": (512,)}, {"version": "0.2.0"}):
        assert other.entries(replace(KEY, **change)) == ()
    assert store.folder.stat().st_mode & 0o077 == 0


def test_a_later_outcome_of_a_candidate_replaces_an_earlier_one(store):
    store.add(KEY, [Timed(option(3), DIED), timed(5, final=True)])
    store.add(KEY, [timed(3, final=True), timed(5)])
    assert store.entries(KEY) == (timed(3, final=True), timed(5))


def test_a_run_that_came_to_its_end_says_who_won(store):
    store.add(KEY, [timed(3), timed(5, final=True)])
    store.finish(KEY, 16, timed(5))
    found = Store(store.folder).finished(KEY)
    assert (found.budget, found.winner) == (16, timed(5, final=True))
    store.add(KEY, [timed(2, final=True)])
    store.finish(KEY, 32, timed(2))
    assert Store(store.folder).finished(KEY).budget == 32


def test_switched_off_it_is_the_objects_own(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "0")
    store = Store.here()
    store.add(KEY, [timed(3)])
    store.finish(KEY, 1, timed(3))
    assert store.entries(KEY) == (timed(3),) and store.finished(KEY).budget == 1
    assert not any(tmp_path.iterdir())
    assert Store.here().entries(KEY) == ()
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "1M")
    assert Store.here().folder == tmp_path


# ---- files that can't be used


def another_format(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")
        db.commit()


def another_program(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE mine (x)")
        db.commit()


def cut_off(path):
    """The header says how many pages there are."""
    path.write_bytes(path.read_bytes()[:5000])


def garbage(path):
    path.write_bytes(b"these bytes are no database" * 100)


def a_page_torn(path):
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)


def a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [another_format, another_program, cut_off, garbage, a_page_torn, a_folder])
def test_a_file_that_is_not_as_it_should_be_is_left_alone_and_worked_around(store, spoil):
    store.add(KEY, [timed(3)])
    path = store.files[0]
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    spoiled = Store(store.folder)
    with pytest.warns(TuningFileWarning, match=r"tuned.sqlite .*; it stays as it is") as said:
        spoiled.add(KEY, [timed(5)])
        spoiled.add(KEY, [timed(6)])
        spoiled.finish(KEY, 2, timed(5))
        assert {5, 6} <= {e.options.group for e in spoiled.entries(KEY)}
    assert len(said) == 1  # once
    assert (path.read_bytes() if path.is_file() else None) == before
    assert store.files[1].exists()
    with pytest.warns(TuningFileWarning):
        assert Store(store.folder).finished(KEY).winner == timed(5)


def test_what_another_version_wrote_is_there_again_for_it(store):
    """Two versions take turns in one folder: each finds what it wrote."""
    store.add(KEY, [timed(3)])
    another_format(store.files[0])
    with pytest.warns(TuningFileWarning, match="another version"):
        Store(store.folder).add(KEY, [timed(5)])
    with closing(sqlite3.connect(store.files[0])) as db:
        db.execute(f"PRAGMA user_version = {FORMAT}")
        db.commit()
    assert {e.options.group for e in Store(store.folder).entries(KEY)} == {3, 5}


def test_a_file_that_is_empty_is_filled(store):
    store.folder.mkdir()
    store.files[0].touch()
    assert store.entries(KEY) == ()
    store.add(KEY, [timed(3)])
    assert Store(store.folder).entries(KEY) == (timed(3),)
    assert not store.files[1].exists()


def test_a_file_that_is_locked_for_long_is_worked_around(store):
    store.add(KEY, [timed(3)])
    with closing(sqlite3.connect(store.files[0], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = Store(store.folder, patience=0.1)
        with pytest.warns(TuningFileWarning, match="is locked by another process") as said:
            waiting.add(KEY, [timed(5)])
            waiting.add(KEY, [timed(6)])
        assert len(said) == 1
        other.execute("ROLLBACK")
    assert {e.options.group for e in Store(store.folder).entries(KEY)} == {3, 5, 6}


def test_a_file_that_is_locked_shortly_is_waited_for(store):
    import threading

    store.add(KEY, [timed(3)])
    other = sqlite3.connect(store.files[0], isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.2, lambda: other.execute("ROLLBACK")).start()
    store.add(KEY, [timed(5)])
    other.close()
    assert len(store.entries(KEY)) == 2
    assert not store.files[1].exists()


def test_a_folder_that_can_not_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "cache")
    with pytest.warns(TuningFileWarning, match="can't be written") as said:
        store.add(KEY, [timed(3)])
        store.finish(KEY, 1, timed(3))
    assert len(said) == 1
    assert store.finished(KEY).winner == timed(3)


READ_ONLY = """
import os, sys, warnings
from pathlib import Path
from tests.compiler.remembered.test_store import KEY, Store, timed
os.setgid(65534)
os.setuid(65534)  # only then: modules may be where nobody else may look
store = Store(Path(sys.argv[1]))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    store.add(KEY, [timed(5)])
    store.add(KEY, [timed(6)])
print(sorted(e.options.group for e in store.entries(KEY)), len(said), store.files[1].exists())
"""


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs another user")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_read_only(what):
    """A file, or all of the folder, that the user may only read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chmod(folder, 0o755 if what == "folder" else 0o777)
        Store(folder).add(KEY, [timed(3)])
        os.chmod(folder / "tuned.sqlite", 0o444)
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", READ_ONLY, name]
        done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=ROOT)
        assert done.stdout == f"[3, 5, 6] {1 if what == 'file' else 2} {what == 'file'}\n", done.stderr
        assert Store(folder).entries(KEY)[0] == timed(3)


def test_rows_that_make_no_sense_are_passed_over(store):
    store.add(KEY, [timed(3)])
    with closing(sqlite3.connect(store.files[0])) as db:
        for n, (options, outcome, seconds) in enumerate(
            [("{}x", TIMED, 1.0), ('{"block_tile": 3}', TIMED, 1.0), ('{"buffers": 1}', "great", 1.0),
             ('{"buffers": 2}', TIMED, None), ('{"buffers": 3}', TIMED, -1.0), ('{"buffers": 4}', FAILED, 1.0)]
        ):  # fmt: skip
            db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, 0, '', ?)", (KEY.text, options, outcome, seconds, n))
        db.commit()
    assert store.entries(KEY) == (timed(3),)


# ---- several processes

WRITES = """
import sys
from pathlib import Path
from tests.compiler.remembered.test_store import KEY, Store, timed
store, first = Store(Path(sys.argv[1])), int(sys.argv[2])
for n in range(first, first + 16):
    store.add(KEY, [timed(n)])
    store.entries(KEY)
store.finish(KEY, first, timed(first))
"""


def test_several_processes_write_at_a_time(store):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    running = [subprocess.Popen([sys.executable, "-c", WRITES, str(store.folder), str(1 + 16 * n)], env=env, cwd=ROOT)
               for n in range(3)]  # fmt: skip
    assert [p.wait(60) for p in running] == [0, 0, 0]
    assert {e.options.group for e in store.entries(KEY)} == set(range(1, 49))
    assert store.finished(KEY).budget in (1, 17, 33)
    assert not store.files[1].exists()


def test_a_process_that_is_killed_amid_a_write_leaves_the_file_whole(store):
    store.add(KEY, [timed(3)])
    code = f"""
import os, sqlite3
db = sqlite3.connect({str(store.files[0])!r}, isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.executemany("INSERT INTO entries VALUES (?, ?, '', 1, 0, '', 0)", [(str(n), "x" * 5000) for n in range(50)])
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert Path(f"{store.files[0]}-journal").exists()
    assert store.entries(KEY) == (timed(3),)
    store.add(KEY, [timed(5)])
    assert len(store.entries(KEY)) == 2
    with closing(sqlite3.connect(store.files[0])) as db:
        assert db.execute("SELECT count(*) FROM entries").fetchone() == (2,)


# ---- keys

M, N, K, m, n, k = pv.sizes("M N K m n k")


def key(expression, target="sm_80", **sizes):
    return key_of(Graph.of(expression), target, sizes, "NVIDIA Fake")


def product(a="A", b="B", dims=(M, N, K), layout="col", **kind):
    rows, cols, depth = dims
    return pv.tensor(a, (rows, depth), **kind) @ pv.tensor(b, (depth, cols), layout=layout, **kind)


def test_names_are_no_part_of_a_key():
    sizes = {"M": 1, "N": 2, "K": 3}
    assert key(product(), **sizes) == key(product("X", "Y", (m, n, k)), m=1, n=2, k=3)
    renamed = pv.output(product("X", "Y"), "Result")
    assert key(product(), **sizes) == key(renamed, **sizes)
    f, g = (pv.pointwise(fun, product()) for fun in (lambda x: x * x + 1, lambda y: y * y + 1))
    assert key(f, **sizes) == key(g, **sizes)


def test_all_else_is():
    sizes = {"M": 64, "N": 64, "K": 64}
    A = pv.tensor("A", (M, K))
    others = [
        product(), product(layout="row"), product(dtype="bfloat16"), pv.relu(product()), product() + 1, product() + 2,
        pv.output(product(), layout="col"), product() + pv.tensor("v", (N,)), product() + pv.tensor("v", (M, 1)),
        product() + pv.tensor("P", (M, N)), product(dims=(M, M, K)), product(dims=(64, N, K)), product(dims=(M, N, M)),
        pv.pointwise(lambda x: x * x + 1, product()), pv.pointwise(lambda x: x * x + 2, product()),
        pv.scalar("s") * product(),
        A @ pv.tensor("B", (K, K)) @ pv.tensor("C", (K, N)), [product(), pv.relu(product())], [pv.relu(product())],
        pv.relu(product()) - pv.tanh(product()), pv.tanh(product()) - pv.relu(product()),
    ]  # fmt: skip
    keys = [key(e, **sizes).text for e in others]
    keys += [key(product(), **{**sizes, "M": 65}).text, key(product(), "sm_90a", **sizes).text]
    relu, in_a_list = 3, 18  # of one expression
    assert [keys.index(text) for text in keys] == [relu if n == in_a_list else n for n in range(len(keys))]


# ---- what compile finds


@pytest.fixture
def tuned(tmp_path, monkeypatch):
    """A folder in which a product at some sizes was tuned for sm_80 on the GPU at hand."""
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "1M")
    monkeypatch.setattr(find, "gpu_here", lambda: Gpu(0, "NVIDIA Fake", "sm_80", "GPU-0"))
    best = pv.compile(product(), "sm_80", pv.Options(block_tile=(64, 64, 32), group=3)).options
    store = Store.here()
    it = key(product(), M=128, N=256, K=512)
    store.add(it, [Timed(best, TIMED, 1e-6)])
    return store, it, best


def test_compile_finds_the_winner_and_of_a_stopped_run_the_best_so_far(tuned):
    store, it, best = tuned
    sizes = {"M": 128, "N": 256, "K": 512}
    assert pv.compile(product(), "sm_80", sizes=sizes).options == best
    slower = pv.compile(product(), "sm_80", pv.Options(block_tile=(64, 64, 32), group=4)).options
    store.add(it, [Timed(slower, TIMED, 2e-6, final=True)])
    store.finish(it, 2, Timed(slower, TIMED, 2e-6))
    assert pv.compile(product(), "sm_80", sizes=sizes).options == slower


def test_compile_does_without(tuned, monkeypatch):
    store, it, best = tuned
    sizes = {"M": 128, "N": 256, "K": 512}
    other = pv.compile(product(), "sm_80", sizes={**sizes, "K": 4096}).options
    assert other != best
    garbage(store.files[0])
    with pytest.warns(TuningFileWarning):
        found = pv.compile(product(), "sm_80", sizes=sizes).options
    assert found != best
    shutil.rmtree(store.folder)
    assert pv.compile(product(), "sm_80", sizes=sizes).options == found
    monkeypatch.setattr(find, "gpu_here", lambda: pytest.fail("asked, though there is no file"))
    assert pv.compile(product(), "sm_80", sizes=sizes).options == found


def test_options_that_are_no_longer_legal_are_not_taken(tuned):
    store, it, best = tuned
    wrong = replace(best, buffers=8, block_tile=(256, 256, 64), warp_tile=(64, 64, 64))
    store.add(it, [Timed(pv.Options(**{n: getattr(wrong, n) for n in pv.Options().__match_args__ if hasattr(wrong, n)}),
                         TIMED, 1e-9)])  # fmt: skip
    assert best_of(store.entries(it)).options == wrong
    assert pv.compile(product(), "sm_80", sizes={"M": 128, "N": 256, "K": 512}).options not in (wrong, best)


def test_targets_of_one_name_that_differ_have_results_of_their_own():
    assert called(pv.targets["sm_90a"]) == "sm_90a" == called(replace(SM_90A))
    other = replace(SM_90A, multiprocessors=SM_90A.multiprocessors - 1)
    assert "sm_90a" != called(other) == called(replace(other))
